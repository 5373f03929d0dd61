package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// pieces is the tool_calls of a delta: a list, or the one entry of a server that forgot the list.
type pieces []piece

// UnmarshalJSON never fails: an entry that is no object is left out.
func (ps *pieces) UnmarshalJSON(raw []byte) error {
	list := []json.RawMessage{raw}
	if raw[0] == '[' && json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, entry := range list {
		if p, ok := parsePiece(entry, false); ok {
			*ps = append(*ps, p)
		}
	}
	return nil
}

// wireFunction is the function of a call.
type wireFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// parsePiece reads an entry of tool_calls, or with bare the older function_call, which is a function alone.
func parsePiece(raw json.RawMessage, bare bool) (piece, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return piece{}, false
	}
	var p piece
	if bare {
		p.function(raw)
		return p, true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return piece{}, false
	}
	for name, value := range fields {
		switch name {
		case "index":
			var n *int
			if json.Unmarshal(value, &n) == nil {
				p.index = n
			}
		case "id":
			p.id = identifier(value)
		case "type":
		case "function":
			p.function(value)
		default:
			if string(value) == "null" {
				continue
			}
			if p.extra == nil {
				p.extra = map[string]json.RawMessage{}
			}
			p.extra[name] = tidy(value)
		}
	}
	return p, true
}

func (p *piece) function(raw json.RawMessage) {
	var f wireFunction
	_ = json.Unmarshal(raw, &f) // a field of another type is left out
	p.name = f.Name
	switch {
	case len(f.Arguments) == 0:
	case f.Arguments[0] == '"':
		p.args = unquote(f.Arguments)
	case f.Arguments[0] == '{':
		p.args, p.whole = string(compact(f.Arguments)), true
	case string(f.Arguments) != "null":
		p.args = string(f.Arguments) // no object: who executes says what is wrong
	}
}

// identifier reads an id, which some servers send as a number.
func identifier(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if raw[0] == '{' || raw[0] == '[' {
		return ""
	}
	return string(raw)
}

func compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// tidy gives raw JSON without half characters in its strings, so that it can be sent anywhere. Numbers keep their digits.
func tidy(raw json.RawMessage) json.RawMessage {
	if !strings.Contains(strings.ToLower(string(raw)), `\ud`) {
		return raw
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	b, err := marshal(v)
	if err != nil {
		return raw
	}
	return b
}

// marshal encodes without escaping HTML, which would only cost tokens.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
