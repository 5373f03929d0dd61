package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// answerKind is what a question asks for, as far as words show it.
type answerKind int

const (
	kindAny answerKind = iota
	kindTime
	kindPlace
	kindPerson
)

// Weights of keywords: pairs and single characters of CJK text add up to about what a word has.
const (
	weightWord      = 1.0
	weightCJK       = 0.5
	weightSpeaker   = 0.3
	weightName      = 0.6
	weightOptional  = 0.3
	weightLight     = 0.1
	weightHalfLight = 0.35 // a pair of a light and another character
)

// keyword is one thing that a text is about.
type keyword struct {
	weight   float64
	optional bool // a question may have it where the statement has not
}

// keywords are what a text is about, by their normal form. The speaker is "@me" or "@we", a name "@name".
type keywords map[string]keyword

// keywordsOf finds the keywords of p.
func keywordsOf(p phrase) keywords {
	k := keywords{}
	p = replaceSelf(p)
	before := "" // the word in front
	runes, orig := []rune(p.f), []rune(p.s)
	for i := 0; i < len(runes); {
		j := i + 1
		switch {
		case isCJK(runes[i]):
			for j < len(runes) && isCJK(runes[j]) {
				j++
			}
			k.addCJK(runes[i:j])
		case isWordRune(runes[i]):
			for j < len(runes) && (isWordRune(runes[j]) || unicode.IsMark(runes[j]) ||
				runes[j] == '\'' && j+1 < len(runes) && isWordRune(runes[j+1])) {
				j++
			}
			k.addWord(string(runes[i:j]), string(orig[i:j]), before)
			before = string(runes[i:j])
		}
		i = j
	}
	return k
}

// replaceSelf turns the ways to tell one's name into one.
func replaceSelf(p phrase) phrase {
	switch f := strings.TrimRight(p.f, " ?!.。"); f {
	case "who am i", "我是谁", "what am i called", "你知道我是谁吗", "do you know who i am", "tell me who i am":
		return newPhrase("my name")
	}
	return p
}

func (k keywords) addWord(w, orig, before string) {
	w = strings.TrimSuffix(w, "'s")
	switch {
	case w == "name" || w == "names":
		k["@name"] = keyword{weight: weightName}
	case meWords[w]:
		k["@me"] = keyword{weight: weightSpeaker}
	case weWords[w]:
		k["@we"] = keyword{weight: weightSpeaker, optional: true}
	case utf8.RuneCountInString(orig) == 1 && unicode.IsUpper([]rune(orig)[0]) && before != "":
		k[w] = keyword{weight: weightWord}
	case modals[w] && articles[before]:
		k[w] = keyword{weight: weightWord} // the will, my may: names of things here
	case enStop[w] || w == "":
	case (optional[w] || optional[stem(w)]) && (before == "" || enStop[before] || !compound[w] || meWords[before] || stem(before) == "tak"):
		k[stem(w)] = keyword{weight: weightOptional, optional: true}
	default:
		k[stem(w)] = keyword{weight: weightWord}
	}
}

// addCJK adds single characters and pairs of the segments that are left when function words are taken out.
func (k keywords) addCJK(runes []rune) {
	var seg []rune
	flush := func() {
		for i, r := range seg {
			light := zhLight[string(r)]
			k[string(r)] = keyword{weight: pick(light, weightLight, weightCJK)}
			if i > 0 {
				pair := pick(light && zhLight[string(seg[i-1])], weightLight, pick(light || zhLight[string(seg[i-1])], weightHalfLight, weightCJK))
				k[string(seg[i-1:i+1])] = keyword{weight: pair}
			}
		}
		seg = seg[:0]
	}
	for i := 0; i < len(runes); {
		n, key, kw, drop := cjkWord(runes[i:])
		switch {
		case key != "" && compound[key] && len(seg) > 0:
			seg = append(seg, runes[i:i+n]...) // 最喜欢的颜色 is one thing
		case drop && n == 1 && runes[i] == '的':
			// The possessive joins: 团队的口号 and 团队口号 are the same.
		case drop:
			flush()
		case key != "":
			flush()
			k[key] = kw
		default:
			seg = append(seg, runes[i])
		}
		i += max(1, n)
	}
	flush()
}

func pick(yes bool, a, b float64) float64 {
	if yes {
		return a
	}
	return b
}

// cjkWord looks for a word of the tables at the start of runes: its length, and whether it is dropped or becomes key.
func cjkWord(runes []rune) (n int, key string, kw keyword, drop bool) {
	for n = min(6, len(runes)); n > 0; n-- {
		w := string(runes[:n])
		switch {
		case w == "我们" || w == "咱们":
			return n, "@we", keyword{weight: weightSpeaker, optional: true}, false
		case w == "我说" || w == "的" || zhStop[w]:
			return n, "", keyword{}, true
		case w == "我" || w == "用户" || w == "本人":
			return n, "@me", keyword{weight: weightSpeaker}, false
		case w == "名字" || w == "姓名" || w == "叫" || w == "名叫":
			return n, "@name", keyword{weight: weightName}, false
		case optional[w]:
			return n, w, keyword{weight: weightOptional, optional: true}, false
		}
	}
	return 0, "", keyword{}, false
}

// stem cuts endings so that live, lives, living and lived meet. It need not be right, only the same on both sides.
func stem(w string) string {
	if !isASCII(w) {
		return w
	}
	if len(w) > 5 {
		w = strings.Replace(w, "our", "or", 1) // favourite, colour
	}
	for _, end := range []string{"ies", "ing", "ed", "es", "s"} {
		if rest, ok := strings.CutSuffix(w, end); ok && len(rest) >= 3 && !strings.HasSuffix(rest, "s") {
			if end == "ies" {
				return rest + "y"
			}
			w = rest
			break
		}
	}
	if rest, ok := strings.CutSuffix(w, "e"); ok && len(rest) >= 3 {
		w = rest
	}
	return w
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// required are the keywords that a statement must have. Whatever else is asked about makes "name" a word that may be missing:
// the name of the accountant is in "Alice is the accountant".
func (k keywords) required() keywords {
	out := keywords{}
	content := false
	for w, kw := range k {
		if !kw.optional {
			out[w] = kw
			content = content || w != "@me" && w != "@name"
		}
	}
	if content {
		delete(out, "@name")
		return out
	}
	if _, name := out["@name"]; name {
		return out
	}
	for w, kw := range k { // nothing else is there: then what may be missing is what is asked for
		if w != "@we" && kw.weight > 0 {
			out[w] = kw
		}
	}
	return out
}

// only reports whether w is the one keyword.
func (k keywords) only(w string) bool {
	_, ok := k[w]
	return ok && len(k) == 1
}

// covered is how much of the required keywords of k is in other, from 0 to 1; content reports that more than the speaker is
// shared (or that k has no more).
func (k keywords) covered(other keywords) (share float64, content bool) {
	var need, got float64
	need0 := k.required()
	for w, kw := range need0 {
		need += kw.weight
		if _, ok := other[w]; ok {
			got += kw.weight
			content = content || w != "@me" && w != "@we"
		}
	}
	if need == 0 {
		return 0, false
	}
	return got / need, content
}

// overlap is how alike k and other are, from 0 to 1; what may be missing counts only where both have it.
func (k keywords) overlap(other keywords) float64 {
	var both, all float64
	for w, kw := range k {
		if _, ok := other[w]; ok {
			both += kw.weight
			all += kw.weight
		} else if !kw.optional {
			all += kw.weight
		}
	}
	for w, kw := range other {
		if _, ok := k[w]; !ok && !kw.optional {
			all += kw.weight
		}
	}
	if all == 0 {
		return 0
	}
	return both / all
}

// kindIn is what the words of a phrase point at, by the first that is known.
func kindIn(p phrase) answerKind {
	for _, w := range strings.FieldsFunc(p.f, func(r rune) bool { return !isWordRune(r) }) {
		if k, ok := kindOf[w]; ok {
			return k
		}
	}
	runes := []rune(p.f)
	for i := range runes {
		for n := min(5, len(runes)-i); n > 0; n-- {
			w := string(runes[i : i+n])
			if k, ok := kindOf[w]; ok && (n > 1 || w == "谁") {
				return k
			}
		}
	}
	return kindAny
}

// kindOfValue guesses what a value is from how it looks.
func kindOfValue(p phrase) answerKind {
	for _, w := range strings.FieldsFunc(p.f, func(r rune) bool { return !isWordRune(r) && r != '\'' }) {
		if timeWords[w] || timeWords[strings.TrimSuffix(w, "s")] {
			return kindTime
		}
	}
	for _, m := range zhTimeMarks {
		if strings.Contains(p.f, m) {
			return kindTime
		}
	}
	if strings.ContainsFunc(p.f, unicode.IsDigit) {
		return kindTime
	}
	return kindAny
}
