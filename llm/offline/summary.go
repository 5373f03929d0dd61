package offline

import (
	"encoding/json"
	"slices"
	"strings"

	"vitrine/llm"
	"vitrine/llm/attach"
)

// summaryMark is the line of a system message that asks for a summary instead of an answer.
const summaryMark = "[SUMMARIZE]"

// A summary has at most this many entries a field, of at most this many runes.
const (
	maxEntries = 5
	maxEntry   = 300
)

// wantsSummary reports a request for a summary.
func wantsSummary(req llm.Request) bool {
	for _, m := range req.Messages {
		if m.Role != llm.RoleSystem || !strings.Contains(m.Content, summaryMark) {
			continue
		}
		for line := range strings.Lines(m.Content) {
			if strings.TrimSpace(line) == summaryMark {
				return true
			}
		}
	}
	return false
}

// summarize makes the new summary, as JSON, from the old one and the messages that the first user message holds. New entries
// stand in front.
func summarize(req llm.Request) string {
	i := slices.IndexFunc(req.Messages, fromUser)
	if i < 0 {
		return summaryJSON(memory{})
	}
	old, messages := transcript(clean(req.Messages[i].Content))
	var facts []fact
	for _, s := range slices.Backward(old.Facts) {
		facts = append(facts, remembered(s)...)
	}
	sum := memory{Goals: old.Goals, Todos: old.Todos, Unresolved: old.Unresolved}
	for n, m := range messages {
		if m.Role != llm.RoleUser {
			continue
		}
		for _, in := range intentsOf(attach.Text(m.Content)) {
			switch {
			case in.kind == intentTell && isGoal(in.fact.text):
				sum.Goals = front(sum.Goals, in.fact.text.s)
			case in.kind == intentTell:
				facts = append(facts, in.fact)
			case in.kind == intentTodo && in.action == todoAdd:
				sum.Todos = front(sum.Todos, in.text)
			case in.kind == intentTodo && in.action == todoComplete:
				sum.Todos = slices.DeleteFunc(sum.Todos, func(s string) bool { return strings.Contains(fold(s), fold(in.text)) })
			case in.kind == intentAsk && unanswered(messages[n+1:]):
				sum.Unresolved = front(sum.Unresolved, in.ask.s)
			}
		}
	}
	for _, f := range newest(facts) {
		sum.Facts = front(sum.Facts, f.text.s)
	}
	if len(sum.Goals)+len(sum.Facts)+len(sum.Todos)+len(sum.Unresolved) == 0 {
		sum.Goals = front(nil, topics(messages))
	}
	return summaryJSON(sum)
}

// Bounds of what is said of small talk, so that it is shorter than the talk.
const (
	maxTopics = 3
	maxTopic  = 24 // runes
)

// topics says what the user's messages began with, newest first, in their language; empty when there are none.
func topics(messages []llm.Message) string {
	var list []string
	var said strings.Builder
	for _, m := range slices.Backward(messages) {
		line := strings.Join(strings.Fields(clip(strings.TrimSpace(attach.Text(m.Content)), 2*maxTopic)), " ")
		if m.Role != llm.RoleUser || line == "" || len(list) == maxTopics {
			continue
		}
		said.WriteString(line + "\n")
		list = append(list, clip(line, maxTopic))
	}
	if len(list) == 0 {
		return ""
	}
	l, _ := detect(said.String())
	if l == chinese {
		return zhTexts.topics + strings.Join(list, "；")
	}
	return enTexts.topics + strings.Join(list, "; ")
}

// isTopics reports an entry that topics made. It names what was asked, and answers nothing.
func isTopics(entry string) bool {
	return strings.HasPrefix(entry, enTexts.topics) || strings.HasPrefix(entry, zhTexts.topics)
}

// front puts s first, once.
func front(list entries, s string) entries {
	s = clip(strings.TrimSpace(s), maxEntry)
	list = slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == s })
	if s == "" {
		return list
	}
	return slices.Insert(list, 0, s)
}

func summaryJSON(m memory) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	few := func(e entries) []string {
		return append([]string{}, e[:min(len(e), maxEntries)]...)
	}
	err := enc.Encode(struct {
		Goals      []string `json:"goals"`
		Facts      []string `json:"facts"`
		Todos      []string `json:"todos"`
		Unresolved []string `json:"unresolved"`
	}{few(m.Goals), few(m.Facts), few(m.Todos), few(m.Unresolved)})
	if err != nil {
		return "{}" // lists of strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// isGoal reports a statement of what is wanted.
func isGoal(p phrase) bool {
	_, ok := p.cutAny([]string{"i want to", "i want", "we want to", "we want", "i need to", "we need to", "my goal", "our goal", "the goal", "i am trying to", "i'm trying to", "i plan to", "we plan to",
		"我想", "我要", "我们要", "我们想", "我的目标", "我们的目标", "目标是", "我打算", "我们打算", "我希望", "我计划"})
	return ok
}

// unanswered reports that the next reply did not answer.
func unanswered(after []llm.Message) bool {
	for _, m := range after {
		switch m.Role {
		case llm.RoleUser:
			return true
		case llm.RoleAssistant:
			for _, no := range []string{enTexts.notTold[:20], zhTexts.notTold[:30], "[interrupted]", "[cancelled]"} {
				if strings.Contains(m.Content, no) {
					return true
				}
			}
			if m.Content != "" {
				return false
			}
		}
	}
	return true
}

// transcript finds the old summary and the messages in the text of a request. It takes JSON, whole or in lines, and lines that
// name the role ("user: ...", "[3] assistant: ...", "用户：...") with more lines behind.
func transcript(text string) (old memory, messages []llm.Message) {
	var t transcriber
	for text != "" {
		if trimmed := strings.TrimLeft(text, " \t"); trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
			dec := json.NewDecoder(strings.NewReader(trimmed))
			var raw json.RawMessage
			if dec.Decode(&raw) == nil && t.json(raw, 0) {
				text = trimmed[dec.InputOffset():]
				continue
			}
		}
		line, rest, _ := strings.Cut(text, "\n")
		t.line(line)
		text = rest
	}
	return t.old, t.messages
}

type transcriber struct {
	old      memory
	messages []llm.Message
}

// json takes a value that is a summary, a message, or holds such; ok is false when it is neither.
func (t *transcriber) json(raw json.RawMessage, depth int) (ok bool) {
	if depth > 4 {
		return false
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for _, r := range list {
			ok = t.json(r, depth+1) || ok
		}
		return ok
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	var m llm.Message
	if fields["role"] != nil {
		if json.Unmarshal(raw, &m) == nil {
			t.messages = append(t.messages, m)
		}
		return true
	}
	if fields["facts"] != nil || fields["goals"] != nil || fields["todos"] != nil || fields["unresolved"] != nil {
		if json.Unmarshal(raw, &t.old) != nil {
			t.old = memory{}
		}
		return true
	}
	for _, key := range []string{"summary", "old_summary", "old", "memory", "messages", "folded"} {
		if fields[key] != nil {
			ok = t.json(fields[key], depth+1) || ok
		}
	}
	return ok
}

// line takes a line of text.
func (t *transcriber) line(s string) {
	p := newPhrase(s)
	head := p.trimLeft("[]#*-<>(0123456789.")
	for _, x := range roles {
		rest, ok := head.cut(x.word)
		if !ok {
			continue
		}
		// What stands between the role and the colon is a number, a name or a bracket.
		i := strings.IndexAny(rest.f, ":>]")
		if i < 0 && !rest.empty() || i > 24 {
			continue
		}
		if i >= 0 {
			_, rest = rest.at(i)
		}
		t.messages = append(t.messages, llm.Message{Role: x.role, Content: rest.trimLeft(":>]*").s})
		return
	}
	if n := len(t.messages); n > 0 {
		t.messages[n-1].Content += "\n" + s
	}
}

var roles = []struct {
	word string
	role llm.Role
}{
	{"user", llm.RoleUser}, {"assistant", llm.RoleAssistant}, {"tool", llm.RoleTool}, {"system", llm.RoleSystem},
	{"用户", llm.RoleUser}, {"助手", llm.RoleAssistant}, {"工具", llm.RoleTool}, {"系统", llm.RoleSystem},
}
