package llmtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// condition is what a script says of a request: tests joined by "and", all of which must hold. A test is one of
//
//	has PLACE, lacks PLACE          the place is there, and is not null; or not
//	PLACE is JSON                   it has this value
//	PLACE matches REGEXP            the value as text: a string itself, anything else as JSON
//	any PLACE is|matches ...        for one of the values that a place with [*] has; otherwise for all of them
//
// and not before any of these. A place is a path into the body, such as messages[-1].role or tools[*].function.name; or
// header.NAME, query.NAME, path, or body, which is the whole of it. Conditions cannot hold " and " within.
type condition []test

type test struct {
	not, any bool
	place    string
	op       string // has lacks is matches
	value    any
	re       *regexp.Regexp
}

func parseCondition(s string) (condition, error) {
	var c condition
	for part := range strings.SplitSeq(s, " and ") {
		t, err := parseTest(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		c = append(c, t)
	}
	return c, nil
}

func parseTest(s string) (t test, err error) {
	whole := s
	s, t.not = strings.CutPrefix(s, "not ")
	s, t.any = strings.CutPrefix(s, "any ")
	word, rest, _ := strings.Cut(s, " ")
	if word == "has" || word == "lacks" {
		t.op, t.place = word, strings.TrimSpace(rest)
		if t.place == "" || strings.Contains(t.place, " ") {
			return t, fmt.Errorf("%q names no place", whole)
		}
		return t, nil
	}
	t.place = word
	t.op, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	switch t.op {
	case "is":
		if err = json.Unmarshal([]byte(rest), &t.value); err != nil {
			return t, fmt.Errorf("%q is no JSON in %q", rest, whole)
		}
	case "matches":
		if t.re, err = regexp.Compile(rest); err != nil {
			return t, fmt.Errorf("%q: %w", whole, err)
		}
	default:
		return t, fmt.Errorf("%q is no condition", whole)
	}
	return t, nil
}

func (c condition) holds(r Request) bool {
	for _, t := range c {
		if t.holds(r) == t.not {
			return false
		}
	}
	return true
}

func (t test) holds(r Request) bool {
	values := r.at(t.place)
	switch t.op {
	case "has":
		return len(values) > 0
	case "lacks":
		return len(values) == 0
	}
	for _, v := range values {
		if t.one(v) == t.any {
			return t.any
		}
	}
	return !t.any && len(values) > 0
}

func (t test) one(v any) bool {
	if t.op == "is" {
		return reflect.DeepEqual(v, t.value)
	}
	s, ok := v.(string)
	if !ok {
		s = compactJSON(v)
	}
	return t.re.MatchString(s)
}

// at gives the values at a place, without nulls.
func (r Request) at(place string) (values []any) {
	group, name, _ := strings.Cut(place, ".")
	text := func(list []string) {
		for _, s := range list {
			values = append(values, s)
		}
	}
	switch {
	case place == "body":
		return []any{string(r.Body)}
	case place == "path":
		return []any{r.Path}
	case group == "header" && name != "":
		text(r.Header.Values(name))
		return values
	case group == "query" && name != "":
		text(r.Query[name])
		return values
	}
	var body any
	if json.Unmarshal(r.Body, &body) != nil {
		return nil
	}
	values = []any{body}
	for _, step := range steps.FindAllString(place, -1) {
		values = walk(values, step)
	}
	return values
}

var steps = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)

// walk goes one step further from each value.
func walk(from []any, step string) (to []any) {
	keep := func(v any) {
		if v != nil {
			to = append(to, v)
		}
	}
	for _, v := range from {
		switch v := v.(type) {
		case map[string]any:
			keep(v[step])
		case []any:
			if step == "[*]" {
				for _, entry := range v {
					keep(entry)
				}
				continue
			}
			i, err := strconv.Atoi(strings.Trim(step, "[]"))
			if i < 0 {
				i += len(v)
			}
			if err == nil && i >= 0 && i < len(v) {
				keep(v[i])
			}
		}
	}
	return to
}
