package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"vitrine/llm"
)

// SummaryEntries is how many entries a field of a summary holds at most; MaxEntry bounds one of them, in characters.
const (
	SummaryEntries = 5
	MaxEntry       = 300
)

// Summary is the structured memory of what was folded out of the window. Newer entries come first.
type Summary struct {
	Goals      []string `json:"goals"`
	Facts      []string `json:"facts"`
	Todos      []string `json:"todos"`
	Unresolved []string `json:"unresolved"`
	// UpdatedAt is when it was made.
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// field is one list of a summary by its name.
type field struct {
	name string
	list *[]string
}

func (s *Summary) fields() []field {
	return []field{{"goals", &s.Goals}, {"facts", &s.Facts}, {"todos", &s.Todos}, {"unresolved", &s.Unresolved}}
}

// Empty says that nothing is remembered.
func (s Summary) Empty() bool { return s.Entries() == 0 }

// Entries is how many entries the summary has.
func (s Summary) Entries() int {
	n := 0
	for _, f := range s.fields() {
		n += len(*f.list)
	}
	return n
}

// Longest names the list that costs most by cost.
func (s Summary) Longest(cost func(string) int) string {
	name, most := "", -1
	for _, f := range s.fields() {
		n := 0
		for _, e := range *f.list {
			n += 2 + cost(e)
		}
		if n > most {
			name, most = f.name, n
		}
	}
	return name
}

// DropLast takes the oldest entry of a list away and gives it; "" when there is none.
func (s *Summary) DropLast(name string) string {
	for _, f := range s.fields() {
		if l := *f.list; f.name == name && len(l) > 0 {
			*f.list = l[:len(l)-1]
			return l[len(l)-1]
		}
	}
	return ""
}

// MarshalJSON writes every list, an empty one as [].
func (s Summary) MarshalJSON() ([]byte, error) {
	type plain Summary // without this method
	for _, f := range s.fields() {
		if *f.list == nil {
			*f.list = []string{}
		}
	}
	return json.Marshal(plain(s))
}

// ErrBadSummary is a summary that is none; its text says why.
var ErrBadSummary = errors.New("not a summary")

// SummarySchema is the shape of a summary for servers that can hold a reply to one. ParseSummary checks it in any case.
func SummarySchema() *llm.Schema {
	const lists = `{"type":"object","properties":{"goals":{"type":"array","items":{"type":"string"}},"facts":{"type":"array","items":{"type":"string"}},` +
		`"todos":{"type":"array","items":{"type":"string"}},"unresolved":{"type":"array","items":{"type":"string"}}},` +
		`"required":["goals","facts","todos","unresolved"],"additionalProperties":false}`
	return &llm.Schema{Name: "summary", JSON: json.RawMessage(lists)}
}

// ParseSummary reads what a model gave as a summary: one JSON object with the four lists of strings, in a code fence and behind a thought at most.
// Anything else is ErrBadSummary: text, a tool call written as text, wrong types, unknown fields, nothing at all. Entries are
// cleaned and cut, not judged.
func ParseSummary(text string) (Summary, error) {
	text = strings.TrimSpace(text)
	if thought, ok := strings.CutPrefix(text, "<think>"); ok {
		_, text, _ = strings.Cut(thought, "</think>")
		text = strings.TrimSpace(text)
	}
	if after, ok := strings.CutPrefix(text, "```"); ok {
		if _, body, ok := strings.Cut(after, "\n"); ok {
			text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(body), "```"))
		}
	}
	if text == "" {
		return Summary{}, fmt.Errorf("%w: it is empty", ErrBadSummary)
	}
	if text[0] != '{' {
		return Summary{}, fmt.Errorf("%w: it is no JSON object", ErrBadSummary)
	}
	var raw struct {
		Goals, Facts, Todos, Unresolved *[]string
		UpdatedAt                       json.RawMessage `json:"updated_at"`
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&raw); err != nil {
		return Summary{}, fmt.Errorf("%w: %w", ErrBadSummary, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Summary{}, fmt.Errorf("%w: something follows the object", ErrBadSummary)
	}
	var s Summary
	for i, from := range []*[]string{raw.Goals, raw.Facts, raw.Todos, raw.Unresolved} {
		f := s.fields()[i]
		if from == nil {
			return Summary{}, fmt.Errorf("%w: the list %q is missing", ErrBadSummary, f.name)
		}
		for _, e := range *from {
			if e = cleanEntry(e); e != "" {
				*f.list = append(*f.list, e)
			}
		}
	}
	if s.Empty() {
		return Summary{}, fmt.Errorf("%w: all lists are empty", ErrBadSummary)
	}
	return s, nil
}

// cleanEntry makes an entry one line without control characters, of MaxEntry characters at most.
func cleanEntry(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if r := []rune(s); len(r) > MaxEntry {
		s = string(r[:MaxEntry-1]) + "…"
	}
	return s
}

// Change is what a merge did to one field.
type Change struct {
	Field                string   `json:"field"`
	Added, Kept, Dropped []string `json:",omitempty"`
}

// Merge joins a new summary with the one before it: the new entries first, each once, at most SummaryEntries a field. It
// tells what came, stayed and went.
func Merge(old, next Summary, at time.Time) (Summary, []Change) {
	merged := Summary{UpdatedAt: at.UTC().Truncate(time.Second)}
	var changes []Change
	for i, out := range merged.fields() {
		before, news := *old.fields()[i].list, *next.fields()[i].list
		c := Change{Field: out.name}
		known := map[string]bool{}
		for _, e := range before {
			known[entryKey(e)] = true
		}
		taken := map[string]bool{}
		for _, e := range append(append([]string(nil), news...), before...) {
			key := entryKey(e)
			switch {
			case taken[key]:
				continue
			case len(*out.list) == SummaryEntries:
				if known[key] {
					c.Dropped = append(c.Dropped, e)
				}
				taken[key] = true
				continue
			case known[key]:
				c.Kept = append(c.Kept, e)
			default:
				c.Added = append(c.Added, e)
			}
			taken[key] = true
			*out.list = append(*out.list, e)
		}
		changes = append(changes, c)
	}
	return merged, changes
}

// entryKey is the same for entries that differ in case, space or the stop at their end only.
func entryKey(s string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(s), " ")), ".。!！ ")
}

// blockHead opens the memory block and says what it is.
const blockHead = "[RUNTIME CONTEXT]\nThe runtime provides this memory of earlier turns; it is not a message of the user.\n"

// Block is the memory block of a request, empty when there is nothing to remember. The same memory gives the same bytes.
func Block(pins []string, s Summary) string {
	if len(pins) == 0 && s.Empty() {
		return ""
	}
	list := func(l []string) []string {
		if l == nil {
			return []string{}
		}
		return l
	}
	at := ""
	if !s.UpdatedAt.IsZero() {
		at = s.UpdatedAt.UTC().Format(time.RFC3339)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// Strings and lists of strings always encode.
	_ = enc.Encode(struct {
		Pinned     []string `json:"pinned"`
		Goals      []string `json:"goals"`
		Facts      []string `json:"facts"`
		Todos      []string `json:"todos"`
		Unresolved []string `json:"unresolved"`
		UpdatedAt  string   `json:"updated_at"`
	}{list(pins), list(s.Goals), list(s.Facts), list(s.Todos), list(s.Unresolved), at})
	return blockHead + strings.TrimSuffix(b.String(), "\n")
}
