package offline

import (
	"encoding/json"
	"fmt"
	"strings"

	"vitrine/llm"
)

// reply is one answer of the model.
type reply struct {
	text  string
	calls []llm.ToolCall
}

// maxEcho bounds what of the user's text an answer repeats, in runes.
const maxEcho = 2000

// respond answers a request. It depends on the request alone.
func respond(req llm.Request) reply {
	if wantsSummary(req) {
		return reply{text: summarize(req)}
	}
	w := windowOf(req)
	a := answerer{window: w, lang: w.lang()}
	a.t = textsOf(a.lang)
	ins := intentsOf(w.asked)
	if len(ins) == 1 && ins[0].kind == intentFile {
		a.lang, a.t = ins[0].lang, textsOf(ins[0].lang)
		r := a.files(ins[0])
		r.text = clean(r.text)
		return r
	}
	if len(w.results) == 0 {
		if r := a.plan(ins); len(r.calls) > 0 {
			return r
		}
	}
	text := clean(a.answer(ins))
	if strings.TrimSpace(text) == "" {
		text = a.t.unknown // all there is to say is an empty result
	}
	return reply{text: text}
}

// answerer makes the text of one answer.
type answerer struct {
	window
	lang lang
	t    texts
}

// plan gives the calls that the intents need, with a word about them when there are several.
func (a answerer) plan(ins []intent) reply {
	var r reply
	var doing []string
	for _, in := range ins {
		name, args, what := a.call(in)
		if name == "" || !a.tools[name] || len(r.calls) == maxCalls {
			continue
		}
		r.calls = append(r.calls, llm.ToolCall{Name: name, Arguments: args})
		doing = append(doing, what)
	}
	if len(r.calls) > 1 {
		r.text = clean(fmt.Sprintf(a.t.commentary, strings.Join(doing, a.t.and)) + a.t.stop)
	}
	return r
}

// call gives the call that an intent needs, and how a commentary puts it; name is empty when it needs none.
func (a answerer) call(in intent) (name, args, what string) {
	switch in.kind {
	case intentCalc:
		return toolCalculator, object("expression", in.text), fmt.Sprintf(a.t.doCalc, quoteMath(in.text))
	case intentAsk, intentAskAll:
		if in.lookup == "" || a.knows(in) {
			return "", "", ""
		}
		return toolSearch, object("query", in.lookup), fmt.Sprintf(a.t.doSearch, in.lookup)
	case intentSearch:
		if !in.ask.empty() && a.knows(in) {
			return "", "", ""
		}
		return toolSearch, object("query", in.text), fmt.Sprintf(a.t.doSearch, clip(in.text, 80))
	case intentTodo:
		switch in.action {
		case todoList:
			return toolTodo, object("action", todoList), a.t.doList
		case todoComplete:
			return toolTodo, object("action", todoComplete, "text", in.text), fmt.Sprintf(a.t.doComplete, clip(in.text, 80))
		}
		return toolTodo, object("action", todoAdd, "text", in.text), fmt.Sprintf(a.t.doAdd, clip(in.text, 80))
	}
	return "", "", ""
}

// knows reports that what an intent asks for was told.
func (a answerer) knows(in intent) bool {
	facts := a.known(in)
	if in.kind == intentAskAll {
		return len(recallAll(in.ask, facts)) > 0
	}
	_, ok := recall(in.ask, facts)
	return ok
}

// known is what was told before an intent: in earlier messages, and in the same one in front of it.
func (a answerer) known(in intent) []fact {
	facts := a.facts()
	if in.before == 0 {
		return facts
	}
	n := 0
	for _, other := range intentsOf(a.asked) {
		if other.kind == intentTell && n < in.before {
			facts = append(facts, other.fact)
			n++
		}
	}
	return facts
}

// object writes a JSON object of strings in the given order.
func object(pairs ...string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, s := range pairs {
		if i > 0 {
			b.WriteByte(",:"[i%2])
		}
		b.WriteString(quoteJSON(clean(s)))
	}
	b.WriteByte('}')
	return b.String()
}

func quoteJSON(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// answer puts the parts of an answer together: each intent's, with the results of the calls it made.
func (a answerer) answer(ins []intent) string {
	var parts []string
	rest := a.results
	take := func(name string) (result, bool) {
		for i, r := range rest {
			if r.call.Name == name {
				rest = append(rest[:i:i], rest[i+1:]...)
				return r, true
			}
		}
		return result{}, false
	}
	var noted []string
	for _, in := range ins {
		if in.kind == intentTell {
			noted = append(noted, clip(in.fact.told(), maxEcho))
			continue
		}
		name, _, _ := a.call(in)
		if name == "" {
			parts = append(parts, a.plain(in))
			continue
		}
		r, ok := take(name)
		switch {
		case ok && (in.kind == intentAsk || in.kind == intentAskAll) && r.OK:
			parts = append(parts, a.t.lookup+"\n\n"+a.shown(r))
		case ok:
			parts = append(parts, a.shown(r))
		case in.kind == intentAsk || in.kind == intentAskAll:
			parts = append(parts, a.plain(in))
		case !a.tools[name]:
			parts = append(parts, fmt.Sprintf(a.t.noTool, name))
		}
	}
	if len(noted) > 0 {
		sep := "; "
		if a.lang == chinese {
			sep = "；"
		}
		parts = append([]string{fmt.Sprintf(a.t.noted, strings.Join(noted, sep))}, parts...)
	}
	for _, r := range rest {
		parts = append(parts, a.shown(r))
	}
	if len(parts) == 0 {
		return a.t.unknown
	}
	return strings.Join(parts, "\n\n")
}

// plain answers an intent that needs no tool.
func (a answerer) plain(in intent) string {
	switch in.kind {
	case intentGreet:
		return a.t.greet
	case intentThank:
		return a.t.thank
	case intentBye:
		return a.t.bye
	case intentHelp:
		return a.t.help
	case intentLong:
		return longText(a.lang, in.count)
	case intentAsk, intentSearch:
		f, ok := recall(in.ask, a.known(in))
		if !ok {
			return a.t.notTold
		}
		return a.said(f)
	case intentAskAll:
		facts := recallAll(in.ask, a.known(in))
		switch len(facts) {
		case 0:
			return a.t.nothing
		case 1:
			return a.said(facts[0])
		}
		lines := []string{a.t.list, ""}
		for _, f := range facts {
			lines = append(lines, "- "+clip(f.told(), maxEcho))
		}
		return strings.Join(lines, "\n")
	}
	return a.t.unknown
}

// said gives a fact back to who told it.
func (a answerer) said(f fact) string {
	text := clip(f.told(), maxEcho)
	switch {
	case f.todo:
		return fmt.Sprintf(a.t.toldTodo, text)
	case f.memory:
		return fmt.Sprintf(a.t.toldMemory, text)
	case f.subject.empty():
		return fmt.Sprintf(a.t.toldQuote, text)
	}
	return fmt.Sprintf(a.t.told, text)
}

// shown says what came of a call.
func (a answerer) shown(r result) string {
	var args struct {
		Expression, Query, Action, Text, Path string
	}
	// Arguments that cannot be read leave the words about them out.
	_ = json.Unmarshal([]byte(r.call.Arguments), &args)
	switch {
	case r.raw != "":
		return clip(strings.TrimPrefix(r.raw, "?"), maxEcho)
	case !r.OK:
		return fmt.Sprintf(a.t.failed, a.doing(r.call.Name, args.Expression, args.Query, args.Action, args.Text, args.Path), a.why(*r.Error))
	}
	d := decode(r.Data)
	switch r.call.Name {
	case toolCalculator:
		return quoteMath(args.Expression + " = " + a.number(d))
	case toolSearch:
		return a.documents(args.Query, d)
	case toolTodo:
		return a.todoDone(args.Action, args.Text, d)
	case toolList, toolRead, toolWrite:
		if text, ok := a.fileDone(r); ok {
			return text
		}
	}
	return clip(string(r.Data), maxEcho)
}

// doing names what a call was to do.
func (a answerer) doing(tool, expression, query, action, text, path string) string {
	switch tool {
	case toolList, toolRead, toolWrite:
		return fmt.Sprintf(a.t.fileDoing[tool], path)
	case toolCalculator:
		return fmt.Sprintf(a.t.calc, quoteMath(expression))
	case toolSearch:
		return fmt.Sprintf(a.t.search, query)
	case toolTodo:
		if text == "" {
			text = action
		}
		return fmt.Sprintf(a.t.todo, text)
	}
	return tool
}

// why says why a call failed.
func (a answerer) why(e failure) string {
	said := strings.TrimRight(strings.TrimSpace(e.Message), ".。")
	known := a.t.why[e.Code]
	switch {
	case said == "":
		if known == "" {
			return e.Code
		}
		return known
	case known == "" || e.Code == "not_found":
		return said
	case a.lang == chinese:
		return known + "（" + said + "）"
	}
	return known + " (" + said + ")"
}

// quoteMath keeps Markdown from taking two stars for emphasis.
func quoteMath(s string) string {
	if strings.Count(s, "*") > 1 {
		return "`" + s + "`"
	}
	return s
}
