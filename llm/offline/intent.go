package offline

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// intentKind is what a clause wants.
type intentKind int

const (
	intentNone intentKind = iota
	intentCalc
	intentSearch
	intentTodo
	intentTell   // something to be remembered
	intentAsk    // about what was told
	intentAskAll // all that was told
	intentGreet
	intentThank
	intentBye
	intentHelp
	intentFile // something done with files
	intentLong // a long answer to try the screen with
)

// intent is one thing that a message wants.
type intent struct {
	kind   intentKind
	text   string // expression, query, text of the todo, topic, content of a file
	action string // of a todo; of files the tool's name
	path   string // of a file
	lang   lang   // in which files were asked for
	fact   fact
	ask    phrase
	lookup string // what to search for when nothing was told; empty: nothing
	count  int    // tokens of a long answer
	before int    // how many facts of the same message stand in front
}

// maxIntents bounds what one message can want, maxCalls the calls of one reply.
const (
	maxIntents = 12
	maxCalls   = 8
)

// intentsOf understands a message.
func intentsOf(text string) []intent {
	if in, ok := fileRequest(text); ok {
		return []intent{in}
	}
	var out []intent
	told := 0
	for _, c := range clauses(text) {
		for _, in := range clauseIntents(c) {
			if n := len(out); in.kind == intentAsk && n > 0 && len(keywordsOf(in.ask).required()) == 0 {
				// "I forgot the code word, what is it?"
				switch last := out[n-1]; last.kind {
				case intentNone:
					in.ask = newPhrase(last.ask.s + " " + in.ask.s)
					out = out[:n-1]
				case intentAsk:
					continue
				case intentTell:
					in.ask = newPhrase(last.fact.subject.s + " " + in.ask.s)
				}
			}
			in.before = told
			if in.kind == intentTell {
				told++
			}
			if len(out) < maxIntents {
				out = append(out, in)
			}
		}
	}
	return settle(out)
}

// settle drops greetings and the like beside real requests, and what was not understood beside what was.
func settle(ins []intent) []intent {
	real := false
	for _, in := range ins {
		real = real || in.kind != intentNone && in.kind != intentGreet && in.kind != intentThank && in.kind != intentBye
	}
	var out []intent
	seen := map[intentKind]bool{}
	for _, in := range ins {
		social := in.kind == intentGreet || in.kind == intentThank || in.kind == intentBye || in.kind == intentNone
		if social && (real || seen[in.kind]) {
			continue
		}
		seen[in.kind] = true
		out = append(out, in)
	}
	return out
}

// clauseIntents understands one clause. The order of the rules decides what a clause that fits several means.
func clauseIntents(c phrase) []intent {
	if rest, ok := greeted(c); ok {
		if ins := clauseIntents(rest); ins[0].kind != intentNone {
			return ins
		}
		return []intent{{kind: intentGreet}}
	}
	p := polite(c)
	if !strings.ContainsFunc(p.f, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return []intent{{kind: intentNone, ask: p}}
	}
	if in, ok := social(p); ok {
		return []intent{in}
	}
	if in, ok := longAnswer(p); ok {
		return []intent{in}
	}
	if ins, ok := todoRequest(p); ok {
		return ins
	}
	if in, ok := searchRequest(p); ok {
		return []intent{in}
	}
	_, orders := p.cutAny(rememberStarts)
	f, tells := statement(c)
	if orders && tells {
		return []intent{{kind: intentTell, fact: f}}
	}
	_, own := p.cutAny(determiners)
	if exprs := expressions(p); len(exprs) > 0 && !(tells && own && f.relation != ":") {
		var ins []intent
		for _, e := range exprs {
			ins = append(ins, intent{kind: intentCalc, text: e})
		}
		return ins
	}
	switch {
	case tells:
		return []intent{{kind: intentTell, fact: f}}
	case (isQuestion(p) || orders) && !made(p):
		return []intent{question(p)}
	}
	return []intent{{kind: intentNone, ask: p}}
}

var greetings = []string{"hello there", "hello", "hi there", "hi", "hey there", "hey", "good morning", "good afternoon", "good evening", "greetings", "howdy",
	"你好呀", "你好啊", "你好", "您好", "大家好", "嗨", "哈喽", "早上好", "上午好", "下午好", "晚上好", "早安"}

// greeted drops a greeting in front of something else; ok says that there was one.
func greeted(c phrase) (rest phrase, ok bool) {
	rest, ok = c.cutAny(greetings)
	if !ok || rest.f == "" || !strings.ContainsAny(rest.f[:1], " ,.!~:") && !strings.HasPrefix(rest.f, "。") {
		return c, false
	}
	rest = rest.trim(",.!~:。")
	return rest, !rest.empty()
}

// made reports a wish for something that rules cannot make.
func made(p phrase) bool {
	_, ok := p.cutAny([]string{"tell me a", "tell me an", "give me a", "give me an", "give me some"})
	return ok
}

// social understands greetings, thanks, farewells and questions about this program.
func social(p phrase) (intent, bool) {
	f := strings.Trim(p.f, " ?!.,。~")
	for _, x := range socialTable {
		if slices.Contains(x.words, f) {
			return intent{kind: x.kind}, true
		}
	}
	for _, w := range []string{"thanks ", "thank you ", "谢谢", "多谢"} {
		if strings.HasPrefix(f, w) {
			return intent{kind: intentThank}, true
		}
	}
	return intent{}, false
}

var socialTable = []struct {
	kind  intentKind
	words []string
}{
	{intentGreet, greetings},
	{intentGreet, []string{"how are you", "how are you doing", "what's up", "how do you do", "你好吗", "最近怎么样", "早"}},
	{intentThank, []string{"thanks", "thank you", "thanks a lot", "thank you very much", "thx", "cheers", "great", "nice", "cool", "ok", "okay", "perfect", "well done", "good", "谢谢", "多谢", "谢谢你", "感谢", "好的", "好", "太好了", "很好", "明白了", "知道了"}},
	{intentBye, []string{"bye", "goodbye", "good bye", "see you", "see you later", "good night", "再见", "拜拜", "晚安", "回头见"}},
	{intentHelp, []string{"help", "help me", "what can you do", "what can i do", "what can i do here", "what do you do", "who are you", "what are you", "what is your name", "what's your name", "how does this work",
		"what is this", "how do i use this", "how do i connect a model", "how do i connect a real model", "how can i connect a model", "how to connect a model", "are you a real model", "are you an ai",
		"which model are you", "what model are you", "what can i try", "what should i try", "commands", "show help",
		"帮助", "你能做什么", "你会做什么", "你可以做什么", "你会什么", "你能干什么", "你是谁", "你是什么", "你叫什么", "你叫什么名字", "怎么用", "怎么使用", "如何使用", "有什么功能", "能做什么", "你是什么模型", "怎么连接模型", "如何连接模型", "怎么连接真实模型", "如何连接真实模型"}},
}

// longAnswer understands requests for text to try the screen with.
func longAnswer(p phrase) (intent, bool) {
	f := strings.Trim(p.f, " ?!.。")
	words := strings.Fields(f)
	if len(words) >= 3 && (words[0] == "stream" || words[0] == "write" || words[0] == "print" || words[0] == "generate" || words[0] == "produce") {
		for i := 1; i+1 < len(words); i++ {
			n, err := strconv.Atoi(strings.ReplaceAll(words[i], ",", ""))
			if unit := words[i+1]; err == nil && n > 0 && (strings.HasPrefix(unit, "token") || strings.HasPrefix(unit, "word")) {
				return intent{kind: intentLong, count: min(n, maxLong)}, true
			}
		}
	}
	for _, w := range longStarts {
		if strings.HasPrefix(f, w) {
			return intent{kind: intentLong, count: defaultLong}, true
		}
	}
	for _, verb := range []string{"流式输出", "输出", "生成", "写", "打印", "流式"} {
		rest, ok := strings.CutPrefix(f, verb)
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, " 一篇段个大约")
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		unit := strings.TrimLeft(rest[len(digits):], " 个")
		if n, err := strconv.Atoi(digits); err == nil && n > 0 && (strings.HasPrefix(unit, "token") || strings.HasPrefix(unit, "字") || strings.HasPrefix(unit, "词") || strings.HasPrefix(unit, "令牌")) {
			return intent{kind: intentLong, count: min(n, maxLong)}, true
		}
	}
	return intent{}, false
}

var longStarts = []string{"write a long", "write me a long", "give me a long answer", "a long answer", "long answer", "write something long", "stream a long", "stream something", "show me some markdown", "show some markdown",
	"demo answer", "write a longer", "markdown demo", "写一个长", "写一段长", "写一篇长", "写个长", "写长一点", "给我一个长", "给我写一个长", "给我写一篇长", "长一点的回答", "来一个长", "来一段长", "长回答", "写一个比较长", "写一篇比较长", "写一个很长", "写一篇很长", "写一段很长"}

var searchStarts = []string{"search for information about", "search for information on", "search the docs for", "search the documents for", "search the corpus for", "search for", "search about", "search",
	"look up", "look for information about", "look for information on", "lookup", "find information about", "find information on", "find documents about", "find documents on", "find out about", "find docs about", "google",
	"define", "explain what", "explain to me what", "explain to me", "explain",
	"查一下", "查一查", "查查", "查找一下", "查找", "查询一下", "查询", "搜索一下", "搜索", "搜一下", "搜一搜", "搜寻", "检索", "解释一下", "解释", "介绍一下", "介绍"}

// searchRequest understands an order to look something up.
func searchRequest(p phrase) (intent, bool) {
	rest, ok := strip(p, searchStarts)
	if !ok {
		return intent{}, false
	}
	q := topic(rest)
	return intent{kind: intentSearch, text: q.s}, !q.empty()
}

// topic takes quotes, articles and words of asking off.
func topic(p phrase) phrase {
	p = p.trim("?!.,。\"':~")
	p, _ = p.cutAny([]string{"what is", "what are", "what", "关于", "有关", "什么是", "什么叫"})
	p = p.trim("?!.,。\"':")
	for _, end := range []string{" is", " are", " means", " mean", "是什么意思", "是什么", "的意思", "的资料", "的信息", "的内容", "吗", "呢"} {
		if rest, ok := p.cutEnd(end); ok {
			p = rest.trim("?!.,。\"':")
		}
	}
	if rest, ok := p.cutAny([]string{"a", "an", "the"}); ok && !rest.empty() {
		p = rest.trim("\"'")
	}
	return p
}

// question understands a question that no tool answers by itself.
func question(p phrase) intent {
	if t, ok := topicOf(p); ok {
		in := intent{kind: intentAskAll, ask: t}
		if _, about := p.cut("tell me about"); about && lookable(t) {
			in.lookup = topic(t).s
		}
		return in
	}
	in := intent{kind: intentAsk, ask: p}
	for _, start := range []string{"what is", "what's", "what are", "whats", "tell me what", "do you know what", "what does", "how does", "how do", "什么是", "什么叫", "什么叫做"} {
		rest, ok := p.cut(start)
		if !ok {
			continue
		}
		for _, end := range []string{"mean", "work", "works"} {
			rest = rest.trimRight("?!. ")
			rest, _ = rest.cutEnd(end)
		}
		rest = rest.trim("?!.\"'")
		if _, indefinite := rest.cutAny([]string{"a", "an"}); indefinite || strings.HasPrefix(start, "什么") && !strings.ContainsAny(rest.f, "我咱你") {
			return intent{kind: intentSearch, text: topic(rest).s, ask: p}
		}
		if lookable(rest) {
			in.lookup = topic(rest).s
		}
		return in
	}
	for _, end := range []string{"是什么意思", "是什么东西", "是什么", "是啥", "指什么", "指的是什么"} {
		rest, ok := p.trimRight("?!.。").cutEnd(end)
		if ok && isTerm(rest) && lookable(rest) {
			in.lookup = topic(rest).s
		}
	}
	return in
}

// isTerm reports a topic that the documents are known to have.
func isTerm(p phrase) bool {
	for _, w := range terms {
		if strings.Contains(p.f, w) {
			return true
		}
	}
	return false
}
