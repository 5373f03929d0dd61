package protocol

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"vitrine/llm"
)

//go:embed json.txt
var jsonRules string

//go:embed react.txt
var reactRules string

// openings are how replies in either form begin; models mix them.
var openings = []string{"{", "[", "```", "**", "thought", "action", "final answer", "思考", "行动", "最终答案"}

// rewrite makes a request that needs no tool calls of the server: the tools stand in the system message, calls and results
// in the text of the messages. The roles are system, user and assistant, and no two neighbours but system messages speak for
// the same side.
func rewrite(req llm.Request, form Form) llm.Request {
	w := writer{form: form}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleAssistant:
			w.add(llm.Message{Role: m.Role, Kind: m.Kind, Content: w.assistant(m), Extra: foreign(m.Extra)}, "\n")
		case llm.RoleTool:
			w.add(llm.Message{Role: llm.RoleUser, Kind: m.Kind, Content: w.result(m)}, "\n")
		case llm.RoleUser:
			w.add(m, "\n\n")
		default:
			w.out = append(w.out, m)
		}
	}
	rules := w.rules(req.Tools)
	if len(w.out) > 0 && w.out[0].Role == llm.RoleSystem {
		w.out[0].Content += "\n\n" + rules
	} else {
		w.out = slices.Insert(w.out, 0, llm.Message{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: rules})
	}
	req.Messages, req.Tools, req.Schema = w.out, nil, nil // a grammar of the reply would forbid the form
	req.Openings = openings
	return req
}

type writer struct {
	form Form
	out  []llm.Message
}

// add appends m, or adds its text to a neighbour that speaks for the same side.
func (w *writer) add(m llm.Message, between string) {
	if m.Content == "" {
		return
	}
	if n := len(w.out); n > 0 && w.out[n-1].Role == m.Role {
		w.out[n-1].Content += between + m.Content
		return
	}
	w.out = append(w.out, m)
}

// assistant writes what the model said in its form.
func (w *writer) assistant(m llm.Message) string {
	var b strings.Builder
	thought := kept(m.Extra)
	if len(m.ToolCalls) == 0 {
		switch {
		case strings.TrimSpace(m.Content) == "":
			return ""
		case w.form == ReAct:
			return w.thought(thought) + "Final Answer: " + m.Content
		}
		return plainJSON(answerFrame{thought, "final", m.Content})
	}
	if m.Content != "" {
		b.WriteString(m.Content + "\n")
	}
	if w.form == ReAct {
		b.WriteString(w.thought(thought))
	}
	for i, c := range m.ToolCalls {
		if i > 0 {
			b.WriteString("\n")
			thought = ""
		}
		b.WriteString(w.call(c, thought))
	}
	return b.String()
}

func (w *writer) thought(t string) string {
	if t == "" {
		return ""
	}
	return "Thought: " + strings.Join(strings.Fields(t), " ") + "\n"
}

type callFrame struct {
	Thought string          `json:"thought,omitempty"`
	Action  string          `json:"action"`
	Name    string          `json:"tool_name"`
	Args    json.RawMessage `json:"tool_args"`
}

type answerFrame struct {
	Thought string `json:"thought,omitempty"`
	Action  string `json:"action"`
	Answer  string `json:"final_answer"`
}

func (w *writer) call(c llm.ToolCall, thought string) string {
	args := strings.TrimSpace(c.Arguments)
	if args == "" {
		args = "{}"
	}
	if w.form == ReAct {
		name := c.Name
		if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7E || !isWord(byte(r)) }) {
			name = plainJSON(name)
		}
		return "Action: " + name + "\nAction Input: " + strings.ReplaceAll(args, "\n", " ")
	}
	raw := json.RawMessage(args)
	if !json.Valid(raw) {
		raw = json.RawMessage(plainJSON(args))
	}
	return plainJSON(callFrame{thought, "tool", c.Name, raw})
}

func (w *writer) result(m llm.Message) string {
	if w.form == ReAct {
		return "Observation: " + m.Content
	}
	raw := json.RawMessage(m.Content)
	if !json.Valid(raw) {
		raw = json.RawMessage(plainJSON(m.Content))
	}
	return plainJSON(map[string]any{"tool_result": struct {
		Name   string          `json:"tool_name"`
		Result json.RawMessage `json:"result"`
	}{m.Name, raw}})
}

// rules tells the model the form and the tools. The same tools give the same bytes.
func (w *writer) rules(tools []llm.ToolSpec) string {
	var b strings.Builder
	if w.form == ReAct {
		b.WriteString(reactRules)
	} else {
		b.WriteString(jsonRules)
	}
	for _, t := range tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		fmt.Fprintf(&b, "\n- %s: %s\n  arguments: %s", t.Name, strings.Join(strings.Fields(t.Description), " "), schema)
	}
	return b.String()
}

// kept gives the thought that stands beside a stored reply.
func kept(extra json.RawMessage) string {
	var fields map[string]json.RawMessage
	var origin, thought string
	if len(extra) == 0 || json.Unmarshal(extra, &fields) != nil || json.Unmarshal(fields[originField], &origin) != nil || origin != originText {
		return ""
	}
	_ = json.Unmarshal(fields[thoughtField], &thought) // another type is none
	return thought
}

// foreign gives extra fields that are not ours.
func foreign(extra json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(extra) > 0 && json.Unmarshal(extra, &fields) == nil && string(fields[originField]) == `"`+originText+`"` {
		return nil
	}
	return extra
}

// plainJSON encodes v, of our own types; a < stays one character.
func plainJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "null" // only invalid raw JSON fails, and what goes in was checked
	}
	return strings.TrimSuffix(b.String(), "\n")
}
