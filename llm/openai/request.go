package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"vitrine/llm"
)

// originField names, within Message.Extra, the endpoint that a reply came from. It never reaches the wire: it says to
// whom the other fields may be sent back.
const originField = "vitrine_origin"

// wireRequest is the body of a request. The order of its fields is the order on the wire, so that servers that cache
// prefixes see the same bytes first.
type wireRequest struct {
	Model               string         `json:"model"`
	Tools               []wireTool     `json:"tools,omitempty"`
	Messages            []wireMessage  `json:"messages"`
	Temperature         *float64       `json:"temperature,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireToolSpec `json:"function"`
}

type wireToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type wireMessage struct {
	Role       llm.Role   `json:"role"`
	Content    *string    `json:"content"` // null only beside calls
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	extra      map[string]json.RawMessage
}

// MarshalJSON adds the extra fields.
func (m wireMessage) MarshalJSON() ([]byte, error) {
	type plain wireMessage
	return withExtra(plain(m), m.extra)
}

type wireCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function wireCallFunction `json:"function"`
	extra    map[string]json.RawMessage
}

type wireCallFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// MarshalJSON adds the extra fields.
func (c wireCall) MarshalJSON() ([]byte, error) {
	type plain wireCall
	return withExtra(plain(c), c.extra)
}

// withExtra encodes v, a struct, and then extra, with sorted keys.
func withExtra(v any, extra map[string]json.RawMessage) ([]byte, error) {
	b, err := marshal(v)
	if err != nil || len(extra) == 0 {
		return b, err
	}
	b = b[:len(b)-1]
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		key, err := marshal(name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, ','), key...), ':'), extra[name]...)
	}
	return append(b, '}'), nil
}

// encode makes the body of a request for a server with the given habits.
func encode(req llm.Request, h habits, origin string) ([]byte, error) {
	w := wireRequest{Model: req.Model, Stream: true, Temperature: req.Temperature}
	if h.noTemperature {
		w.Temperature = nil
	}
	switch h.limit {
	case limitMaxTokens:
		w.MaxTokens = req.MaxTokens
	case limitMaxCompletionTokens:
		w.MaxCompletionTokens = req.MaxTokens
	}
	if !h.noStreamOptions {
		w.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	known := map[string]bool{}
	for _, t := range req.Tools {
		known[t.Name] = true
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: wireToolSpec{t.Name, t.Description, schema}})
	}
	b := builder{habits: h, origin: origin, tools: known, ids: map[string]string{}, used: map[string]bool{}}
	for _, m := range req.Messages {
		b.add(m)
	}
	w.Messages = b.messages()
	body, err := marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}

// builder turns messages into what every server accepts: one system message in front, no two neighbours of role user or
// of role assistant, and ids that are unique in the whole history.
type builder struct {
	habits habits
	origin string
	tools  map[string]bool
	system []string
	out    []wireMessage
	ids    map[string]string // the ids of the latest calls, as they are on the wire
	used   map[string]bool
}

func (b *builder) messages() []wireMessage {
	if len(b.system) == 0 {
		return b.out
	}
	all := strings.Join(b.system, "\n\n")
	return append([]wireMessage{{Role: llm.RoleSystem, Content: &all}}, b.out...)
}

func (b *builder) add(m llm.Message) {
	text := m.Content
	switch m.Role {
	case llm.RoleSystem:
		if text != "" {
			b.system = append(b.system, text)
		}
	case llm.RoleUser:
		b.merge(wireMessage{Role: m.Role, Content: &text})
	case llm.RoleTool:
		id, ok := b.ids[m.ToolCallID]
		if !ok {
			id = wireID(m.ToolCallID)
		}
		b.out = append(b.out, wireMessage{Role: m.Role, Content: &text, ToolCallID: id})
	case llm.RoleAssistant:
		b.assistant(m)
	}
}

// merge appends m, or adds its text to a neighbour that speaks for the same side.
func (b *builder) merge(m wireMessage) {
	if n := len(b.out); n > 0 && b.out[n-1].Role == m.Role && len(b.out[n-1].ToolCalls) == 0 {
		last := &b.out[n-1]
		if m.Content != nil && *m.Content != "" {
			both := *m.Content
			if *last.Content != "" {
				both = *last.Content + "\n\n" + both
			}
			last.Content = &both
		}
		last.ToolCalls, last.extra = m.ToolCalls, m.extra
		return
	}
	b.out = append(b.out, m)
}

func (b *builder) assistant(m llm.Message) {
	if m.Content == "" && len(m.ToolCalls) == 0 {
		return // refused by some servers, and it says nothing
	}
	w := wireMessage{Role: m.Role}
	if m.Content != "" {
		w.Content = &m.Content
	}
	extra, mine := b.extra(m.Extra)
	w.extra = extra
	if len(m.ToolCalls) > 0 {
		clear(b.ids)
	}
	for _, c := range m.ToolCalls {
		call := wireCall{ID: b.id(c.ID), Type: "function"}
		call.Function = wireCallFunction{Name: b.name(c.Name), Arguments: arguments(c.Arguments)}
		if mine {
			call.extra = fieldsOf(c.Extra, "id", "type", "function", "index")
		}
		w.ToolCalls = append(w.ToolCalls, call)
	}
	b.merge(w)
}

// extra gives the fields of a reply to send back, and whether it came from this endpoint. Reasoning goes back only where
// a server insisted on it; others refuse it.
func (b *builder) extra(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	fields := fieldsOf(raw, "role", "content", "tool_calls", "tool_call_id")
	if from, ok := fields[originField]; ok {
		var s string
		if json.Unmarshal(from, &s) != nil || s != b.origin {
			return nil, false
		}
		delete(fields, originField)
		if !b.habits.replay {
			delete(fields, "reasoning")
			delete(fields, "reasoning_content")
		}
	}
	return fields, true
}

// fieldsOf reads an object of extra fields without those that are ours to write.
func fieldsOf(raw json.RawMessage, reserved ...string) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	for _, name := range reserved {
		delete(fields, name)
	}
	for name, value := range fields {
		fields[name] = tidy(value)
	}
	return fields
}

// maxID is the longest id that OpenAI takes.
const maxID = 40

// id gives the wire id of a call: its own, unless an earlier call had that one or it is too long.
func (b *builder) id(id string) string {
	w := wireID(id)
	for n := 2; b.used[w]; n++ {
		w = wireID(id + "_" + strconv.Itoa(n))
	}
	b.used[w] = true
	b.ids[id] = w
	return w
}

func wireID(id string) string {
	switch id = strings.ToValidUTF8(id, "\uFFFD"); {
	case id == "":
		return "call"
	case len(id) > maxID:
		sum := sha256.Sum256([]byte(id))
		return "call_" + hex.EncodeToString(sum[:16])
	}
	return id
}

// maxName is the longest name of a function that OpenAI takes.
const maxName = 64

// name gives a name that a server accepts. Names of the tools go as they are; a name that the model made up is stored as
// it came, and must not make every later request fail.
func (b *builder) name(s string) string {
	if b.tools[s] {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s[:min(len(s), maxName)])
	if len(s) > maxName {
		s = s[:maxName]
	}
	if s == "" {
		return "unknown"
	}
	return s
}

// arguments gives text that is a JSON object for certain; what is none was never executed and goes as an empty one.
func arguments(s string) string {
	trimmed := strings.TrimSpace(s)
	if !strings.HasPrefix(trimmed, "{") || !json.Valid([]byte(trimmed)) {
		return "{}"
	}
	return string(tidy(json.RawMessage(strings.ToValidUTF8(trimmed, "\uFFFD"))))
}
