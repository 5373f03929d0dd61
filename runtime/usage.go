package runtime

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// EncodeUsage is json.Marshal of u, for the store, which has it written with each commit of a run: by hand, because reflection
// would take as long as the statement. It fails where Marshal does: for a cost that is no number.
func EncodeUsage(u RunUsage) ([]byte, error) {
	e := usageEncoder{b: make([]byte, 0, 320)}
	e.b = append(e.b, '{')
	e.int("Steps", int64(u.Steps))
	e.int("Calls", int64(u.Calls))
	e.int("Prompt", int64(u.Prompt))
	e.int("Completion", int64(u.Completion))
	e.bool("Estimated", u.Estimated)
	e.optional("Cached", u.Cached)
	e.optional("Reasoning", u.Reasoning)
	e.any("Cost", u.Cost)
	if u.Unpriced {
		e.bool("Unpriced", true)
	}
	e.int("Active", int64(u.Active))
	if u.Guards != nil {
		e.guards(u.Guards)
	}
	e.b = append(e.b, '}')
	if e.err != nil {
		return nil, fmt.Errorf("encode what a run used: %w", e.err)
	}
	return e.b, nil
}

// usageEncoder appends the fields of objects.
type usageEncoder struct {
	b   []byte
	err error
}

func (e *usageEncoder) key(name string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(append(append(e.b, '"'), name...), `":`...)
}

func (e *usageEncoder) int(name string, v int64) {
	e.key(name)
	e.b = strconv.AppendInt(e.b, v, 10)
}

func (e *usageEncoder) bool(name string, v bool) {
	e.key(name)
	e.b = strconv.AppendBool(e.b, v)
}

// some is int for a field that is left out when it is 0.
func (e *usageEncoder) some(name string, v int) {
	if v != 0 {
		e.int(name, int64(v))
	}
}

func (e *usageEncoder) optional(name string, v *int) {
	if v != nil {
		e.int(name, int64(*v))
		return
	}
	e.key(name)
	e.b = append(e.b, "null"...)
}

// any leaves the value to package json.
func (e *usageEncoder) any(name string, v any) {
	e.key(name)
	text, err := json.Marshal(v)
	if err != nil {
		e.err = err
	}
	e.b = append(e.b, text...)
}

// text appends a string; what is not plain is left to package json.
func (e *usageEncoder) text(s string) {
	for i := range len(s) {
		if c := s[i]; c < '0' || c > 'z' || c > '9' && c < 'A' || c == '\\' || c == '`' {
			text, err := json.Marshal(s)
			if err != nil {
				e.err = err
			}
			e.b = append(e.b, text...)
			return
		}
	}
	e.b = append(append(append(e.b, '"'), s...), '"')
}

func (e *usageEncoder) guards(g *Guards) {
	e.key("Guards")
	e.b = append(e.b, '{')
	e.some("Rejections", g.Rejections)
	e.some("Repairs", g.Repairs)
	e.some("Unknown", g.Unknown)
	if g.Misshapen {
		e.bool("Misshapen", true)
	}
	if len(g.Unavailable) > 0 {
		e.any("Unavailable", g.Unavailable)
	}
	e.some("Judged", g.Judged)
	if s := &g.Stuck; s.Keys != nil || s.Code != "" || s.Codes != 0 || s.Due || s.Told || s.Grace != 0 {
		e.stuck(s)
	}
	e.b = append(e.b, '}')
}

func (e *usageEncoder) stuck(s *stuck) {
	e.key("Stuck")
	e.b = append(e.b, '{')
	if len(s.Keys) > 0 {
		e.key("Keys")
		for i, k := range s.Keys {
			e.b = append(e.b, "[,"[min(i, 1)])
			e.text(k)
		}
		e.b = append(e.b, ']')
	}
	if s.Code != "" {
		e.key("Code")
		e.text(s.Code)
	}
	e.some("Codes", s.Codes)
	if s.Due {
		e.bool("Due", true)
	}
	if s.Told {
		e.bool("Told", true)
	}
	e.some("Grace", s.Grace)
	e.b = append(e.b, '}')
}
