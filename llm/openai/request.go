package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"vitrine/llm"
	"vitrine/llm/profile"
)

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
	omit       bool // no content rather than null
}

// MarshalJSON adds the extra fields.
func (m wireMessage) MarshalJSON() ([]byte, error) {
	type plain wireMessage
	b, err := withExtra(plain(m), m.extra)
	if err == nil && m.omit && m.Content == nil {
		b = bytes.Replace(b, []byte(`"content":null,`), nil, 1) // the first one: before it is only the role
	}
	return b, err
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

// The optional fields of a request that our own code sets.
const (
	fieldTemperature   = "temperature"
	fieldStreamOptions = "stream_options"
)

// added are the names of the fields that the profile adds and no refusal took away, sorted.
func (d dialect) added() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.Body)), func(f string) bool { return !d.sends(f) })
}

// encode makes the body of a request in a dialect.
func encode(req llm.Request, d dialect) ([]byte, error) {
	w := wireRequest{Model: req.Model, Stream: true}
	if d.Temperature && d.sends(fieldTemperature) {
		w.Temperature = req.Temperature
	}
	switch d.limit() {
	case profile.LimitMaxTokens:
		w.MaxTokens = req.MaxTokens
	case profile.LimitMaxCompletionTokens:
		w.MaxCompletionTokens = req.MaxTokens
	}
	if d.StreamUsage && d.sends(fieldStreamOptions) {
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
	w.Messages = wireMessages(req.Messages, d, known)
	extra := map[string]json.RawMessage{}
	for _, name := range d.added() {
		extra[name] = d.Body[name]
	}
	body, err := withExtra(w, extra)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}
