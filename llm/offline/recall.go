package offline

import (
	"cmp"
	"slices"
	"strings"
)

// enough is how much of what a question asks about a statement must have.
const enough = 0.68

// maxListed bounds how many statements an answer lists.
const maxListed = 10

// recall finds the statement that answers the question best; among equals the one that was told last.
func recall(question phrase, facts []fact) (fact, bool) {
	q := keywordsOf(question)
	if len(q.required()) == 0 {
		return fact{}, false
	}
	asked := kindIn(question)
	best, found := rank{}, -1
	facts = newest(facts)
	for i, f := range facts {
		if r, ok := rankOf(q, asked, f); ok && (found < 0 || !r.less(best)) {
			best, found = r, i
		}
	}
	if found < 0 && yesNo(question) {
		// "Is the deploy on Monday?" is answered with what was told of the deploy.
		for i, f := range facts {
			if share, content := f.about.covered(q); share == 1 && content {
				found = i
			}
		}
	}
	if found < 0 {
		return fact{}, false
	}
	return facts[found], true
}

// yesNo reports a question that names its own answer.
func yesNo(p phrase) bool {
	if _, ok := p.cutAny([]string{"is", "are", "was", "were", "does", "do", "did", "has", "have", "will", "am"}); ok {
		return true
	}
	f := strings.TrimRight(p.f, " ?.。!")
	return strings.HasSuffix(f, "吗") || strings.Contains(f, "是不是") || strings.Contains(f, "是否")
}

// rank says how well a statement answers a question. Its parts decide in their order.
type rank struct {
	told    bool // rather than asked for as a todo
	covered int  // tenths of what is asked about
	closely int  // 2: it is about just that, 1: mostly, 0: hardly
	kind    int  // 2: the kind asked for, 1: unknown, 0: another
	overlap int  // hundredths: how little else it is about
}

func (r rank) less(o rank) bool {
	if r.told != o.told {
		return !r.told
	}
	return cmp.Or(cmp.Compare(r.covered, o.covered), cmp.Compare(r.closely, o.closely), cmp.Compare(r.kind, o.kind),
		cmp.Compare(r.overlap, o.overlap)) < 0
}

func rankOf(q keywords, asked answerKind, f fact) (rank, bool) {
	share, content := q.covered(f.all)
	if share < enough || !content {
		return rank{}, false
	}
	if _, named := q.covered(f.about); !named && isPlain(f.relation) && !f.about.only("@me") && q.overlap(f.says) < 0.5 {
		return rank{}, false // the meeting is not what "the check-up is in the meeting room" is about
	}
	if onlyOwnName(q) && !onlyOwnName(f.about) {
		return rank{}, false
	}
	r := rank{told: !f.todo, covered: int(share * 10), kind: 1}
	r.overlap = int(100 * max(q.overlap(f.about), q.overlap(f.says)))
	if len(f.about) == 0 {
		r.overlap = int(100 * q.overlap(f.all))
	}
	switch {
	case r.overlap >= 99:
		r.closely = 2
	case r.overlap >= 50:
		r.closely = 1
	}
	if asked == kindAny {
		return r, true
	}
	k := kindIn(f.subject)
	if k == kindAny {
		k = kindOfValue(f.value)
	}
	switch {
	case k == asked:
		r.kind = 2
	case k != kindAny:
		r.kind = 0
	}
	return r, true
}

// onlyOwnName reports that nothing but the speaker's own name is meant, not that of the speaker's dog.
func onlyOwnName(k keywords) bool {
	_, name := k["@name"]
	_, me := k["@me"]
	if !name || !me {
		return false
	}
	for w, kw := range k {
		if w != "@name" && w != "@me" && !kw.optional {
			return false
		}
	}
	return true
}

// recallAll lists what was told about a topic, newest first; an empty topic is about everything.
func recallAll(topic phrase, facts []fact) []fact {
	q := keywordsOf(topic)
	everything := len(q.required()) == 0 || q.only("@me")
	var out []fact
	for _, f := range slices.Backward(newest(facts)) {
		share, content := q.covered(f.all)
		if everything && !f.loose || content && share >= enough {
			out = append(out, f)
		}
		if len(out) == maxListed {
			break
		}
	}
	return out
}

// topicOf cuts the topic out of a request for all that was told: "what did I tell you about the deploy?".
func topicOf(c phrase) (topic phrase, ok bool) {
	c = polite(c).trimRight("?!.。")
	if rest, found := c.cutAny(listStarts); found {
		rest, _ = strip(rest.trim(""), []string{"about", "regarding", "on", "of"})
		return rest.trim("?!.,。"), true
	}
	for _, end := range zhListEnds {
		if rest, found := c.cutEnd(end); found {
			rest, _ = strip(rest, []string{"关于", "有关", "对于", "你还记得", "你记得", "还记得", "你知道", "我"})
			return rest.trim(",的"), true
		}
	}
	return c, false
}

var listStarts = []string{"what did i tell you", "what have i told you", "what did i say", "what have i said", "what did i mention", "what do you remember",
	"what do you know", "what do you recall", "tell me what you know", "tell me what you remember", "tell me about", "do you remember anything", "do you know anything",
	"what else did i tell you", "recall everything", "list what you remember", "what did we say"}

var zhListEnds = []string{"我告诉过你什么", "我告诉你什么了", "我告诉了你什么", "我跟你说过什么", "我对你说过什么", "我和你说过什么", "我说过什么", "我说了什么", "我提到过什么", "我提过什么",
	"你记得什么", "你还记得什么", "你都记得什么", "你知道什么", "你记住了什么", "告诉过你什么", "的事吗", "的事情吗", "说过什么"}

// lookable reports topics that the documents may know: terms, not things of the one who asks.
func lookable(topic phrase) bool {
	t := topic.trim("?!.。\"'")
	if t.empty() {
		return false
	}
	for _, w := range terms {
		if strings.Contains(t.f, w) {
			return true
		}
	}
	for _, w := range []string{"my", "our", "your", "the", "his", "her", "their", "this", "that", "it", "i", "we", "me", "you", "us"} {
		if _, ok := t.cut(w); ok {
			return false
		}
	}
	for _, w := range []string{"my", "i", "our", "we", "me"} {
		if indexWord(t.f, w) >= 0 {
			return false
		}
	}
	return !strings.ContainsAny(t.f, "我咱你")
}

// terms are topics of the embedded documents that are looked up even with an article in front.
var terms = []string{"context window", "agent loop", "tool call", "compaction", "prompt cach", "prefix cach", "react pattern", "goroutine", "write-ahead", "idempotency key",
	"model context protocol", "token budget", "system prompt", "trace pane", "context meter", "race detector", "prompt injection", "sub-agent", "offline model", "上下文窗口", "工具调用", "智能体循环", "提示缓存", "前缀缓存", "上下文压缩", "协程", "幂等", "系统提示", "子智能体", "追踪面板", "离线模型", "对话压缩"}
