package offline

import (
	"strings"
)

// fact is one thing that was told. Subject and value are empty when it has no verb that is known.
type fact struct {
	text     phrase // as told, without "remember that" and the full stop
	subject  phrase
	relation string // the verb, with the preposition that follows it
	value    phrase
	all      keywords
	about    keywords // of the subject
	says     keywords // of the value
	memory   bool     // from the memory block
	todo     bool     // asked for as a todo
	loose    bool     // not understood as a statement
}

// verbs separate a subject from what is said of it. Of those that begin at the same place the longest is taken.
var verbs = []string{"has been moved to", "have been moved to", "was moved to", "is moved to", "moved to", "has moved to", "changed to", "has changed to",
	"is changed to", "was changed to", "has been changed to", "was postponed to", "is postponed to", "rescheduled to", "is now", "are now", "will now be", "will be", "is called", "are called",
	"is named", "is due", "are", "is", "was", "were", "am", "lives", "live", "works", "work", "likes", "like", "loves", "love", "hates", "hate",
	"prefers", "prefer", "has", "have", "uses", "use", "needs", "need", "wants", "want", "starts", "start", "ends", "end", "begins", "begin",
	"costs", "cost", "means", "takes", "take", "owns", "own", "runs", "equals", "happens", "happen", "opens", "closes", "speaks", "speak", "drives", "drive",
	"comes", "come", "goes", "go", "knows", "know", "weighs", "belongs", "lies", "sits", "stands", "expires", "contains", "supports",
	"名字叫", "名叫", "叫做", "叫", "定在了", "定在", "定于", "安排在", "改到了", "改到", "改成了", "改成", "改为", "推迟到", "提前到", "换成", "变成", "位于", "现在是", "就是", "是", "在", "住在",
	"喜欢", "讨厌", "需要", "使用", "负责", "等于", "'m"}

var weakVerbs = []string{"'s", "为", "有", "要", "用", "会", "住", ":", "="}

// updates are verbs that say that something changed, whatever it was before.
var updates = []string{"moved to", "changed to", "postponed to", "rescheduled to", "is now", "are now", "will now be", "改到", "改成", "改为", "推迟到", "提前到", "换成", "变成", "现在是"}

var prepositions = []string{"on", "at", "in", "by", "with", "from", "to", "for", "under", "near", "behind", "after", "before", "between", "of", "在", "于"}

// parseFact understands a statement; ok is false when it has no known verb with something on both sides.
func parseFact(p phrase) (fact, bool) {
	p = p.trim(",;:").trimRight(".!。~")
	f := fact{text: p, all: keywordsOf(p)}
	at, verb := firstVerb(p.f)
	if at < 0 {
		return f, false
	}
	before, rest := p.at(at)
	_, after := rest.at(len(verb))
	f.subject, f.value = before.trim(","), after.trim("")
	f.relation = verb
	for _, x := range prepositions {
		if _, ok := f.value.cut(x); ok {
			f.relation += " " + x
			break
		}
	}
	f.about, f.says = keywordsOf(f.subject), keywordsOf(f.value)
	_, me := f.about["@me"]
	isMe := me && len(f.about) == 1 && f.relation == verb && (verb == "am" || verb == "'m") && looksLikeName(f.value)
	if isMe || isNameVerb(verb) {
		f.about["@name"] = keyword{weight: weightName}
		f.all["@name"] = keyword{weight: weightName}
	}
	return f, true
}

// firstVerb finds where the verb of s is and how it reads. Weak verbs, which are often parts of other words, count only where
// no other one is.
func firstVerb(s string) (at int, verb string) {
	for _, table := range [][]string{verbs, weakVerbs} {
		if at, verb = earliest(s, table); at >= 0 {
			return at, verb
		}
	}
	return -1, ""
}

// earliest finds the first of words that stands in s with something on both sides, the longest of those at one place.
func earliest(s string, words []string) (at int, word string) {
	at = -1
	for _, v := range words {
		i := occurrence(s, v)
		if i < 0 {
			continue
		}
		if at < 0 || i < at || i == at && len(v) > len(word) {
			at, word = i, v
		}
	}
	return at, word
}

// occurrence finds v in s as a verb: with something on both sides, not in front of a noun (喜欢的颜色), and no colon of a time of day
// or an address.
func occurrence(s, v string) int {
	for from := 0; ; {
		i := indexWord(s[from:], v)
		if i < 0 {
			return -1
		}
		i += from
		after := s[i+len(v):]
		odd := strings.HasPrefix(after, "的") || v == ":" && !strings.HasPrefix(after, " ") && isASCII(after)
		if !odd && strings.TrimSpace(after) != "" && strings.TrimSpace(s[:i]) != "" {
			return i
		}
		from = i + len(v)
	}
}

func isNameVerb(v string) bool {
	return v == "is called" || v == "is named" || strings.HasPrefix(v, "叫") || strings.HasPrefix(v, "名")
}

// looksLikeName reports one to three words that begin with a capital letter.
func looksLikeName(p phrase) bool {
	words := strings.Fields(p.s)
	if len(words) == 0 || len(words) > 3 {
		return false
	}
	for _, w := range words {
		if w[0] < 'A' || w[0] > 'Z' {
			return false
		}
	}
	return true
}

// statement makes a fact of a clause that tells something; ok is false when it tells nothing to be kept.
func statement(c phrase) (f fact, ok bool) {
	c = polite(c)
	rest, told := strip(c, rememberStarts)
	if told && imperative(c) {
		// "Could you remember that ...?" is an order whatever it ends in.
		rest = rest.trimRight("?!.。")
		rest, _ = rest.cutEndAny([]string{"好吗", "可以吗", "行吗", "好不好", "ok", "okay", "will you", "please"})
		if _, asks := rest.cutAny(questionStarts); asks {
			return fact{}, false
		}
	} else if told && isQuestion(rest) || !told && isQuestion(c) {
		return fact{}, false
	}
	if told {
		rest, _ = strip(rest, []string{"that", "this"})
	}
	if rest = rest.trim(".!?。,:-"); rest.empty() || rest.trim("吗了没呢吧").empty() {
		return fact{}, false
	}
	f, ok = parseFact(callMe(rest))
	switch {
	case told:
		return f, true
	case ok:
		return f, !vague(f.subject)
	}
	_, own := rest.cutAny(determiners)
	return f, isRule(rest) || own && len(f.all) > 2
}

// imperative reports an order to remember, which no question begins with.
func imperative(c phrase) bool {
	_, ok := c.cutAny([]string{"remember that", "note that", "keep in mind that", "请记住", "记住", "请记下", "记下"})
	return ok
}

// callMe turns "call me Ada" into "my name is Ada".
func callMe(p phrase) phrase {
	for _, x := range [][2]string{{"call me", "my name is "}, {"叫我", "我叫"}} {
		if rest, ok := p.cut(x[0]); ok && !rest.trim(".!").empty() {
			rest = rest.trim("")
			return phrase{x[1] + rest.s, x[1] + rest.f}
		}
	}
	return p
}

// vague reports a subject that means something only beside the sentence before it.
func vague(p phrase) bool {
	switch strings.TrimSpace(p.f) {
	case "it", "this", "that", "these", "those", "you", "they", "he", "she", "what", "你", "您", "这", "那", "它", "这个", "那个", "他", "她":
		return true
	}
	return false
}

// isRule reports sentences that say how something has always to be done.
func isRule(p phrase) bool {
	for _, w := range []string{"always", "never", "must", "only", "do not", "don't"} {
		if indexWord(p.f, w) >= 0 {
			return true
		}
	}
	for _, w := range []string{"不要", "必须", "总是", "永远", "禁止", "务必", "只能", "不得"} {
		if strings.Contains(p.f, w) {
			return true
		}
	}
	return false
}

// newest drops statements that a later one of the same subject and verb replaces. The order is kept.
func newest(facts []fact) []fact {
	var out []fact
	for i, f := range facts {
		replaced := false
		for _, later := range facts[i+1:] {
			if replaces(later, f) {
				replaced = true
				break
			}
		}
		if !replaced {
			out = append(out, f)
		}
	}
	return out
}

// replaces reports whether later says anew what f said.
func replaces(later, f fact) bool {
	if f.text.f == later.text.f {
		return true
	}
	if sameRole(later, f) {
		return true
	}
	if len(f.about) == 0 || later.about.overlap(f.about) < 1 || f.todo != later.todo {
		return false
	}
	if kindIn(f.subject) != kindIn(later.subject) && kindIn(f.subject) != kindAny && kindIn(later.subject) != kindAny {
		return false
	}
	if f.about["@name"].weight > 0 && f.about["@me"].weight > 0 && later.about["@name"].weight > 0 {
		return true
	}
	for _, u := range updates {
		if strings.Contains(later.relation, u) {
			return true
		}
	}
	if was, is := timeSlot(f), timeSlot(later); was != 0 && was&^is == 0 && isPlain(f.relation) && isPlain(later.relation) {
		return true // tomorrow, then on Friday
	}
	return plainVerb(f.relation) == plainVerb(later.relation) && !keepsBoth(f.relation)
}

// sameRole reports two statements that give the same role to somebody: "Ann is the lead", "Bob is the lead".
func sameRole(a, b fact) bool {
	if plainVerb(a.relation) != "is" || plainVerb(b.relation) != "is" || a.says.overlap(b.says) < 1 {
		return false
	}
	_, ok := a.value.cutAny([]string{"the", "my", "our"})
	_, ok2 := b.value.cutAny([]string{"the", "my", "our"})
	return ok && ok2
}

// isPlain reports a verb that only says where or when something is.
func isPlain(relation string) bool {
	v := plainVerb(relation)
	return v == "is" || strings.HasPrefix(v, "is ") || v == "在"
}

// The parts of a time that a value may give.
const (
	slotClock = 1 << iota
	slotDate
)

// timeSlot tells which parts of a time the value gives: on Friday and at noon hold both.
func timeSlot(f fact) int {
	if kindOfValue(f.value) != kindTime {
		return 0
	}
	slot, date := 0, false
	for _, w := range strings.Fields(f.value.f) {
		w = strings.Trim(w, ".,")
		clock := strings.Contains(w, ":") || strings.HasSuffix(w, "am") || strings.HasSuffix(w, "pm") || w == "noon" || w == "midnight" || w == "o'clock" || w == "lunch" ||
			strings.Contains(w, "点")
		if clock {
			slot |= slotClock
		}
		date = date || timeWords[w] && !clock || !clock && strings.ContainsAny(w, "0123456789") || strings.ContainsAny(w, "周月日号天年")
	}
	if date || slot == 0 {
		slot |= slotDate
	}
	return slot
}

// keepsBoth reports verbs of which several statements hold at once: one likes both tea and cake.
func keepsBoth(relation string) bool {
	v, _, _ := strings.Cut(relation, " ")
	switch v {
	case "like", "likes", "love", "loves", "hate", "hates", "has", "have", "use", "uses", "need", "needs", "want", "wants", "know", "knows", "speak", "speaks",
		"own", "owns", "喜欢", "讨厌", "需要", "使用", "有", "用", "要", "会":
		return true
	}
	return false
}

// plainVerb makes verbs that mean the same equal.
func plainVerb(relation string) string {
	for _, x := range sameVerbs {
		for _, v := range x.verbs {
			if rest, ok := strings.CutPrefix(relation, v); ok && (rest == "" || rest[0] == ' ') {
				return x.plain + rest
			}
		}
	}
	return relation
}

var sameVerbs = []struct {
	plain string
	verbs []string
}{
	{"is", []string{"is due", "is called", "is named", "are called", "will be", "are", "was", "were", "am", "'m", "'s", ":", "=", "叫做", "名叫", "名字叫", "叫", "为", "就是", "是", "等于"}},
	{"在", []string{"定在了", "定在", "定于", "安排在"}},
}

// told gives the fact as said to the one who told it: "my name is Ada" becomes "your name is Ada". Only the subject is
// changed, so that the value reads as it was given.
func (f fact) told() string {
	if f.subject.empty() {
		return f.text.s
	}
	for _, w := range []string{"The ", "There ", "Our ", "We ", "Everyone ", "Every ", "All ", "A ", "An "} {
		if strings.HasPrefix(f.text.s, w) {
			f.text.s = strings.ToLower(w) + f.text.s[len(w):]
			f.subject.s = strings.TrimSpace(f.text.s[:max(len(f.subject.s), len(w))])
		}
	}
	s := strings.TrimSpace(f.subject.s)
	tail := f.text.s[strings.Index(f.text.s, s)+len(s):]
	words := strings.Split(s, " ")
	for i, w := range words {
		if to, ok := flips[strings.ToLower(w)]; ok {
			words[i] = to
		}
	}
	s = strings.Join(words, " ")
	for _, am := range []string{" am ", "'m "} {
		if rest, ok := strings.CutPrefix(tail, am); ok {
			tail = " are " + rest
		}
	}
	return strings.ReplaceAll(s, "我", "你") + tail
}

var flips = map[string]string{"my": "your", "i": "you", "i'm": "you're", "mine": "yours", "me": "you", "myself": "yourself", "i've": "you've"}
