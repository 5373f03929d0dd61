package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"vitrine/llm"
	"vitrine/llm/profile"
)

// wireHead and wireTail are the body of a request before and behind its messages. The order of the fields is the order on
// the wire, so that servers that cache prefixes see the same bytes first.
type wireHead struct {
	Model string     `json:"model"`
	Tools []wireTool `json:"tools,omitempty"`
}

type wireTail struct {
	Temperature         *float64       `json:"temperature,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	ResponseFormat      *wireFormat    `json:"response_format,omitempty"`
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

// wireMessage is encoded by hand (append), since a history is long and most of a request.
type wireMessage struct {
	Role       llm.Role
	Content    *string // null only beside calls
	ToolCalls  []wireCall
	ToolCallID string
	extra      map[string]json.RawMessage
	omit       bool // no content rather than null
}

type wireCall struct {
	ID       string
	Function wireCallFunction
	extra    map[string]json.RawMessage
}

type wireCallFunction struct{ Name, Arguments string }

// MarshalJSON gives what append does.
func (m wireMessage) MarshalJSON() ([]byte, error) { return m.append(nil), nil }

func (m wireMessage) append(b []byte) []byte {
	b = appendString(append(b, `{"role":`...), string(m.Role))
	switch {
	case m.Content != nil:
		b = appendString(append(b, `,"content":`...), *m.Content)
	case !m.omit:
		b = append(b, `,"content":null`...)
	}
	for i, c := range m.ToolCalls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"id":`...), c.ID)
		b = appendString(append(b, `,"type":"function","function":{"name":`...), c.Function.Name)
		b = appendString(append(b, `,"arguments":`...), c.Function.Arguments)
		b = append(appendExtra(append(b, '}'), c.extra), '}')
	}
	if len(m.ToolCalls) > 0 {
		b = append(b, ']')
	}
	if m.ToolCallID != "" {
		b = appendString(append(b, `,"tool_call_id":`...), m.ToolCallID)
	}
	return append(appendExtra(b, m.extra), '}')
}

// appendExtra adds fields, in the order of their names, behind others.
func appendExtra(b []byte, extra map[string]json.RawMessage) []byte {
	if len(extra) == 0 {
		return b
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		b = append(appendString(append(b, ','), name), ':')
		b = append(b, compact(extra[name])...)
	}
	return b
}

// The optional fields of a request that our own code sets.
const (
	fieldTemperature   = "temperature"
	fieldStreamOptions = "stream_options"
	fieldStream        = "stream"
)

// added are the names of the fields that the profile adds and no refusal took away, sorted.
func (d dialect) added() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.Body)), func(f string) bool { return !d.sends(f) })
}

// encode makes the body of a request in a dialect.
func encode(req llm.Request, d dialect) ([]byte, error) {
	head := wireHead{Model: req.Model}
	known := map[string]bool{}
	for _, t := range req.Tools {
		known[t.Name] = true
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		head.Tools = append(head.Tools, wireTool{Type: "function", Function: wireToolSpec{t.Name, t.Description, schema}})
	}
	body, err := marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	end, err := marshal(d.tail(req))
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	messages := wireMessages(req.Messages, d, known)
	size := len(body) + len(end) + 64
	for _, m := range req.Messages {
		size += len(m.Content)*9/8 + len(m.Extra) + 256
	}
	body = slices.Grow(body[:len(body)-1], size)
	body = append(body, `,"messages":[`...)
	for i, m := range messages {
		if i > 0 {
			body = append(body, ',')
		}
		body = m.append(body)
	}
	body = append(append(body, `],`...), end[1:len(end)-1]...)
	for _, name := range d.added() {
		body = append(appendString(append(body, ','), name), ':')
		body = append(body, d.Body[name]...)
	}
	return append(body, '}'), nil
}

// tail is what stands behind the messages.
func (d dialect) tail(req llm.Request) wireTail {
	w := wireTail{Stream: d.sends(fieldStream), ResponseFormat: d.wireFormat(req)}
	if d.Temperature && d.sends(fieldTemperature) {
		w.Temperature = req.Temperature
	}
	switch d.limit() {
	case profile.LimitMaxTokens:
		w.MaxTokens = req.MaxTokens
	case profile.LimitMaxCompletionTokens:
		w.MaxCompletionTokens = req.MaxTokens
	}
	if w.Stream && d.StreamUsage && d.sends(fieldStreamOptions) {
		w.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	return w
}

// appendString encodes text as a JSON string. What is no UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
			}
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[from:i]...), "\uFFFD"...)
			from = i + n
		} else if r == '\u2028' || r == '\u2029' { // no line ends for readers that take JSON for a script
			b = append(append(b, s[from:i]...), '\\', 'u', '2', '0', '2', hex[r&0xF])
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}
