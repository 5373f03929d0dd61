package chat

import (
	"encoding/json"
	"strings"

	"vitrine/ui/paint"
)

// entries is one field of a summary.
type entries struct {
	name string
	list []string
}

// fieldNames are the fields of a summary in their order.
func fieldNames() []string { return []string{"goals", "facts", "todos", "unresolved"} }

// readSummary reads the fields of a stored summary; none of what is no summary.
func readSummary(raw json.RawMessage) []entries {
	var m map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	var out []entries
	for _, name := range fieldNames() {
		var list []string
		if json.Unmarshal(m[name], &list) != nil {
			continue
		}
		for i := range list {
			list[i] = paint.CleanLine(list[i])
		}
		out = append(out, entries{name, list})
	}
	return out
}

func entriesOf(s []entries, name string) []string {
	for _, f := range s {
		if f.name == name {
			return f.list
		}
	}
	return nil
}

// partial reads as much of a summary as has streamed. open says that the last entry is not finished; ok is false for a text
// that is no summary.
func partial(text string) (fields []entries, open, ok bool) {
	at := strings.IndexByte(text, '{')
	if at < 0 {
		return nil, false, strings.TrimSpace(strings.TrimLeft(text, "`jsonJSON \n\r\t")) == ""
	}
	p := scan{text: text, at: at + 1}
	for p.skip(", \n\r\t"); !p.end(); p.skip(", \n\r\t") {
		if p.text[p.at] == '}' {
			return fields, false, true
		}
		name, whole, is := p.str()
		if !is {
			return fields, false, false
		}
		p.skip(": \n\r\t")
		if !whole || p.end() {
			return fields, false, true
		}
		if p.text[p.at] != '[' {
			if _, whole, is = p.str(); !is {
				return fields, false, false
			} else if !whole {
				return fields, false, true
			}
			continue
		}
		p.at++
		fields = append(fields, entries{name: name})
		f := &fields[len(fields)-1]
		for p.skip(", \n\r\t"); !p.end() && p.text[p.at] != ']'; p.skip(", \n\r\t") {
			entry, whole, is := p.str()
			if !is {
				return fields, false, false
			}
			f.list = append(f.list, entry)
			if !whole {
				return fields, true, true
			}
		}
		p.at++
	}
	return fields, false, true
}

// scan goes through a text that may end anywhere.
type scan struct {
	text string
	at   int
}

func (p *scan) end() bool { return p.at >= len(p.text) }

func (p *scan) skip(set string) {
	for !p.end() && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

// str reads a JSON string; whole says that it was closed, is that there was one at all.
func (p *scan) str() (s string, whole, is bool) {
	if p.end() || p.text[p.at] != '"' {
		return "", false, false
	}
	from := p.at + 1
	for p.at = from; !p.end(); p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			return unquote(p.text[from : p.at-1]), true, true
		}
	}
	p.at = len(p.text)
	return unquote(p.text[from:]), false, true
}

// unquote reads the inside of a JSON string; an escape that was cut at the end is left out.
func unquote(raw string) string {
	const longest = 12 // of an escape, a pair of surrogates
	raw = paint.CleanLine(raw)
	var s string
	for cut := 0; cut <= longest && cut <= len(raw); cut++ {
		if json.Unmarshal([]byte(`"`+raw[:len(raw)-cut]+`"`), &s) == nil {
			return paint.CleanLine(s)
		}
	}
	return raw
}
