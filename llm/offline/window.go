package offline

import (
	"encoding/json"
	"slices"
	"strings"

	"vitrine/llm"
	"vitrine/llm/attach"
)

// memoryMark begins the runtime's memory block.
const memoryMark = "[RUNTIME CONTEXT]"

// maxMemory bounds how many entries of one field of the memory are read.
const maxMemory = 100

// window is a request as the rules see it.
type window struct {
	asked   string   // the last message of the user
	earlier []string // those before it, in order
	memory  memory
	results []result
	tools   map[string]bool
}

// result is a call since the last user message, with its answer.
type result struct {
	call llm.ToolCall
	body
	raw string // the answer as it came, when it has not the usual shape
}

// body is the usual shape of an answer, as far as the rules read it.
type body struct {
	OK    bool            `json:"ok"`
	Data  json.RawMessage `json:"data"`
	Error *failure        `json:"error"`
}

// failure is why a tool failed.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// memory is the content of the memory block, and of a summary.
type memory struct {
	Pinned     entries `json:"pinned"`
	Goals      entries `json:"goals"`
	Facts      entries `json:"facts"`
	Todos      entries `json:"todos"`
	Unresolved entries `json:"unresolved"`
}

// entries are sentences; objects in their place give their text.
type entries []string

// UnmarshalJSON takes strings and objects with a text, and skips anything else.
func (e *entries) UnmarshalJSON(data []byte) error {
	*e = nil
	var raw []json.RawMessage
	if json.Unmarshal(data, &raw) != nil {
		return nil // a field of another shape holds nothing to recall
	}
	for _, r := range raw[:min(len(raw), maxMemory)] {
		var s string
		var o struct {
			Text, Fact, Content, Value string
		}
		if json.Unmarshal(r, &s) != nil && json.Unmarshal(r, &o) == nil {
			s = o.Text + o.Fact + o.Content + o.Value
		}
		if s = strings.TrimSpace(clean(s)); s != "" {
			*e = append(*e, s)
		}
	}
	return nil
}

// windowOf reads a request.
func windowOf(req llm.Request) window {
	w := window{tools: map[string]bool{}}
	for _, t := range req.Tools {
		w.tools[t.Name] = true
	}
	last := -1
	for i, m := range req.Messages {
		switch {
		case m.Role == llm.RoleSystem:
			if mem, ok := memoryIn(m.Content); ok {
				w.memory = mem
			}
		case fromUser(m):
			if last >= 0 {
				w.earlier = append(w.earlier, w.asked)
			}
			last, w.asked = i, attach.Text(m.Content)
		}
	}
	w.results = resultsIn(req.Messages[last+1:])
	return w
}

// fromUser reports real input; what the runtime says in the user's role is none.
func fromUser(m llm.Message) bool {
	return m.Role == llm.RoleUser && m.Kind != llm.KindNotice
}

// memoryIn finds the memory block in a system message, also where it was joined to other text.
func memoryIn(content string) (mem memory, ok bool) {
	for at := len(content); ; {
		at = strings.LastIndex(content[:at], memoryMark)
		if at < 0 {
			return memory{}, false
		}
		if brace := strings.IndexByte(content[at:], '{'); brace >= 0 {
			if json.NewDecoder(strings.NewReader(content[at+brace:])).Decode(&mem) == nil {
				return mem, true
			}
		}
	}
}

// resultsIn pairs the calls of messages with their answers.
func resultsIn(messages []llm.Message) []result {
	var out []result
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			out = append(out, result{call: c})
		}
		if m.Role != llm.RoleTool {
			continue
		}
		i := slices.IndexFunc(out, func(r result) bool { return r.call.ID == m.ToolCallID && r.raw == "" && !r.OK && r.Error == nil })
		if i < 0 {
			continue
		}
		if json.Unmarshal([]byte(m.Content), &out[i].body) != nil || !out[i].OK && out[i].Error == nil {
			out[i].body, out[i].raw = body{}, "?"+m.Content
		}
	}
	return slices.DeleteFunc(out, func(r result) bool { return r.raw == "" && !r.OK && r.Error == nil })
}

// facts is all that was told before the last message, oldest first.
func (w window) facts() []fact {
	out := w.memory.statements()
	for _, text := range w.earlier {
		out = append(out, factsIn(text)...)
	}
	return out
}

// statements gives the memory's sentences as facts.
func (m memory) statements() []fact {
	var out []fact
	for _, s := range slices.Backward(m.Todos) {
		f, _ := parseFact(newPhrase(s))
		f.memory, f.todo = true, true
		out = append(out, f)
	}
	for _, field := range []entries{m.Goals, m.Pinned, m.Facts} {
		// New entries stand in front, and the last statement wins: so from the end.
		for _, s := range slices.Backward(field) {
			if isTopics(s) {
				continue
			}
			out = append(out, remembered(s)...)
		}
	}
	return out
}

// remembered gives the facts of one entry of the memory, which is a sentence as told or as reported.
func remembered(s string) []fact {
	var out []fact
	p := reported(newPhrase(s))
	for _, in := range intentsOf(p.s) {
		if in.kind == intentTell {
			out = append(out, in.fact)
		}
	}
	if len(out) == 0 {
		f, _ := parseFact(p)
		out = append(out, f)
	}
	for i := range out {
		out[i].memory = true
	}
	return out
}

// reported drops the words of a summary about who said it.
func reported(p phrase) phrase {
	p, _ = p.cutAny([]string{"the user said that", "the user told me that", "the user says that", "user said that", "the user said", "user said", "user:", "用户说过", "用户说", "用户提到", "用户:"})
	p = p.trim(",:")
	for _, x := range [][2]string{{"the user's", "my"}, {"user's", "my"}, {"the user is", "i am"}, {"用户的", "我的"}, {"用户", "我"}} {
		if rest, ok := p.cut(x[0]); ok {
			return phrase{x[1] + rest.s, x[1] + rest.f}
		}
	}
	return p
}

// factsIn gives what one message tells.
func factsIn(text string) []fact {
	var out []fact
	for _, in := range intentsOf(text) {
		switch in.kind {
		case intentTell:
			out = append(out, in.fact)
		case intentNone:
			if f, _ := parseFact(in.ask); len(f.all) > 1 {
				f.loose = true
				out = append(out, f)
			}
		case intentTodo:
			if in.action == todoAdd {
				f, _ := parseFact(newPhrase(in.text))
				f.todo = true
				out = append(out, f)
			}
		}
	}
	return out
}

// lang is the language of the last message, or of the last one before it that shows one.
func (w window) lang() lang {
	if l, ok := detect(w.asked); ok {
		return l
	}
	for _, s := range slices.Backward(w.earlier) {
		if l, ok := detect(s); ok {
			return l
		}
	}
	return english
}
