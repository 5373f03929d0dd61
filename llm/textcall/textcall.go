// Package textcall reads tool calls out of text, as models write them in the forms that they were trained on: what a server leaves in the
// text that has no parser for its model. All of a text must be calls of tools that exist, or it counts as text: what a model only
// writes about is not to be run, and nothing is guessed.
package textcall

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"vitrine/llm"
)

// Openings are what calls begin with, in the forms that begin with something of their own. Read knows them all.
func Openings() []string {
	return []string{
		"<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<function=", "<|tool_calls_section_begin|>", "<|tool_call_begin|>",
		"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<|tool_call|>", "<minimax:tool_call>", "<function_calls>", "<invoke name=",
		"<｜DSML｜", "<|channel|>commentary to=",
	}
}

// marks stand around calls and between them and say nothing of their own.
func marks() []string {
	return []string{
		"<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[/TOOL_CALLS]", "<|python_tag|>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
		"<|tool_call_end|>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁end｜>", "<|tool_call|>", "<minimax:tool_call>",
		"</minimax:tool_call>", "<function_calls>", "</function_calls>", "</function>", "</invoke>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|call|>",
		"<|start|>assistant", "<｜end▁of▁sentence｜>", "</s>",
	}
}

// Call is a call of a tool that exists. Arguments is a JSON object.
type Call struct{ Name, Arguments string }

// Read reads calls from the beginning of text on. rest is what it could not read, from the first byte that belongs to no call; text of
// nothing but calls leaves none.
func Read(text string, tools []llm.ToolSpec) (calls []Call, rest string) {
	return read(reader{text: strings.ReplaceAll(text, "｜DSML｜", "")}, tools)
}

// ReadBare reads calls of text that is JSON objects and nothing else; none when it is anything else.
func ReadBare(text string, tools []llm.ToolSpec) []Call {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return nil
	}
	calls, rest := read(reader{text: text, alone: true}, tools)
	if rest != "" {
		return nil
	}
	return calls
}

func read(r reader, tools []llm.ToolSpec) (calls []Call, rest string) {
	r.tools = map[string]llm.ToolSpec{}
	for _, t := range tools {
		r.tools[t.Name] = t
	}
	for {
		r.skip()
		before := r.text
		if r.text == "" || !r.call() {
			return r.calls, before
		}
	}
}

// reader is what is left of a text, and what was read.
type reader struct {
	text  string
	alone bool // nothing marks the calls, so that an object may have nothing but what calls have
	tools map[string]llm.ToolSpec
	calls []Call
}

// skip leaves out space and marks.
func (r *reader) skip() {
	for {
		r.text = strings.TrimLeft(r.text, " \t\r\n")
		if !slices.ContainsFunc(marks(), r.take) {
			return
		}
	}
}

// take takes a prefix off.
func (r *reader) take(prefix string) bool {
	rest, ok := strings.CutPrefix(r.text, prefix)
	r.text = rest
	return ok
}

// until takes what stands before an end, and the end.
func (r *reader) until(end string) (string, bool) {
	head, rest, ok := strings.Cut(r.text, end)
	if ok {
		r.text = rest
	}
	return head, ok
}

// call reads one call, or one list of them, in whichever form.
func (r *reader) call() bool {
	switch {
	case strings.HasPrefix(r.text, "{"), strings.HasPrefix(r.text, "["):
		value, ok := r.value()
		return ok && r.object(value)
	case r.take("<function="):
		name, ok := r.until(">")
		return ok && r.named(name, "<parameter=", ">")
	case r.take(`<invoke name="`):
		name, ok := r.until(`">`)
		return ok && r.named(name, `<parameter name="`, `">`)
	case r.take("<|tool_call_begin|>"):
		name, ok := r.until("<|tool_call_argument_begin|>")
		return ok && r.args(name)
	case r.take("<｜tool▁call▁begin｜>"):
		r.take("function<｜tool▁sep｜>")
		at := strings.IndexAny(r.text, "\n{<")
		if at < 0 {
			return false
		}
		name := r.text[:at]
		r.text = r.text[at:]
		r.take("<｜tool▁sep｜>")
		return r.args(name)
	case r.take("<|channel|>commentary to="):
		head, ok := r.until("<|message|>")
		name, _, _ := strings.Cut(strings.TrimSpace(head), " ")
		name, _, _ = strings.Cut(name, "<")
		return ok && r.args(name)
	}
	return r.bare()
}

// bare reads a name without anything before it, as it stands behind a mark.
func (r *reader) bare() bool {
	n := len(name().FindString(r.text))
	if n == 0 {
		return false
	}
	called := r.text[:n]
	r.text = strings.TrimLeft(r.text[n:], " \t\r\n")
	switch {
	case r.take("[CALL_ID]"):
		_, ok := r.until("[ARGS]")
		return ok && r.args(called)
	case r.take("[ARGS]"), strings.HasPrefix(r.text, "{"):
		return r.args(called)
	}
	return r.pairs(called)
}

var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.:-]+`) })

// value reads one JSON value.
func (r *reader) value() (json.RawMessage, bool) {
	dec := json.NewDecoder(strings.NewReader(r.text))
	var v json.RawMessage
	if dec.Decode(&v) != nil {
		return nil, false
	}
	r.text = r.text[dec.InputOffset():]
	return v, true
}

// args reads the arguments of a call as JSON, in a fence or not.
func (r *reader) args(name string) bool {
	r.text = strings.TrimLeft(r.text, " \t\r\n")
	fenced := r.take("```json") || r.take("```")
	v, ok := r.value()
	if fenced {
		r.text = strings.TrimLeft(r.text, " \t\r\n")
		r.take("```")
	}
	return ok && r.add(name, v)
}

// object reads calls that say everything as JSON.
func (r *reader) object(value json.RawMessage) bool {
	list := []json.RawMessage{value}
	if value[0] == '[' && json.Unmarshal(value, &list) != nil {
		return false
	}
	for _, entry := range list {
		c, ok := readObject(entry, r.alone)
		if !ok || !r.add(c.Name, c.args()) {
			return false
		}
	}
	return len(list) > 0
}

// object is a call as JSON.
type object struct {
	ID         json.RawMessage `json:"id"`
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
	Function   *object         `json:"function"`
}

func (o object) args() json.RawMessage {
	if o.Arguments != nil {
		return o.Arguments
	}
	return o.Parameters
}

// readObject reads a call, with alone one that has nothing but what calls have.
func readObject(raw json.RawMessage, alone bool) (object, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if alone {
		dec.DisallowUnknownFields()
	}
	var o object
	if dec.Decode(&o) != nil {
		return object{}, false
	}
	if o.Function != nil {
		o = *o.Function
	}
	return o, o.Name != "" && o.args() != nil
}

// add takes a call in, when there is such a tool and the arguments are an object, or text that is one.
func (r *reader) add(called string, args json.RawMessage) bool {
	t, ok := r.tool(called)
	args = bytes.TrimSpace(args)
	var text string
	if ok && json.Unmarshal(args, &text) == nil {
		args = bytes.TrimSpace([]byte(text))
	}
	var b bytes.Buffer
	if !ok || !bytes.HasPrefix(args, []byte("{")) || json.Compact(&b, args) != nil {
		return false
	}
	r.calls = append(r.calls, Call{t.Name, b.String()})
	return true
}

// tool finds a tool by its name, with what some models put around it.
func (r *reader) tool(called string) (llm.ToolSpec, bool) {
	called = strings.TrimPrefix(strings.Trim(called, " \t\r\n\"'"), "functions.")
	if i := strings.LastIndexByte(called, ':'); i > 0 && strings.Trim(called[i+1:], "0123456789") == "" {
		called = called[:i]
	}
	t, ok := r.tools[called]
	return t, ok
}

// named reads what follows a name: an object, or parameters of which each has a beginning and an end.
func (r *reader) named(called, begin, between string) bool {
	r.text = strings.TrimLeft(r.text, " \t\r\n")
	if strings.HasPrefix(r.text, "{") {
		return r.args(called)
	}
	fields := map[string]string{}
	for r.take(begin) {
		head, ok := r.until(between)
		if !ok {
			return false
		}
		key, _, _ := strings.Cut(head, `" `) // what says of itself that it is text is read by the schema all the same
		if fields[key], ok = r.until("</parameter>"); !ok {
			return false
		}
		r.text = strings.TrimLeft(r.text, " \t\r\n")
	}
	closed := func(end string) bool { return strings.HasPrefix(r.text, end) } // else more parameters may have been meant
	return slices.ContainsFunc([]string{"</function>", "</invoke>", "</tool_call>"}, closed) && r.addFields(called, fields)
}

// pairs reads the arguments of a call as keys and values in tags.
func (r *reader) pairs(called string) bool {
	fields := map[string]string{}
	for r.take("<arg_key>") {
		key, ok := r.until("</arg_key>")
		r.text = strings.TrimLeft(r.text, " \t\r\n")
		if !ok || !r.take("<arg_value>") {
			return false
		}
		if fields[strings.TrimSpace(key)], ok = r.until("</arg_value>"); !ok {
			return false
		}
		r.text = strings.TrimLeft(r.text, " \t\r\n")
	}
	return strings.HasPrefix(r.text, "</tool_call>") && r.addFields(called, fields)
}

// addFields makes an object of values that are written as text: what the tool takes as text stays so, the rest is JSON.
func (r *reader) addFields(called string, fields map[string]string) bool {
	t, ok := r.tool(called)
	if !ok {
		return false
	}
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(t.Schema, &schema) // without one all is text
	args := map[string]any{}
	for key, value := range fields {
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
		args[key] = value
		if p, known := schema.Properties[key]; known && p.Type != "string" && json.Valid([]byte(value)) {
			args[key] = json.RawMessage(value)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	return enc.Encode(args) == nil && r.add(called, b.Bytes())
}
