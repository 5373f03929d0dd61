package tools

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxProblems is how many problems an error tells of.
const maxProblems = 8

// problem is one thing that is wrong with the arguments.
type problem struct {
	path, expected, message string
}

// checker compares a value with a schema. Every problem is found, not only the first.
type checker struct {
	problems []problem
	// changed says that a value was put in another spelling.
	changed bool
}

func (c *checker) add(path, expected, format string, args ...any) {
	c.problems = append(c.problems, problem{path, expected, fmt.Sprintf(format, args...)})
}

func (c *checker) mismatch(path, expected string, v any) {
	c.add(path, expected, "%s: expected %s, received %s", place(path), expected, show(v))
}

func place(path string) string {
	if path == "" {
		return "the arguments"
	}
	return "field " + strconv.Quote(CleanLine(path, 80))
}

// check gives v as the schema has it. What another spelling says without loss is taken: see convert.
func (c *checker) check(n *node, v any, path string) any {
	v = c.convert(n, v)
	if !n.allows(v) {
		c.mismatch(path, strings.Join(n.types, " or "), v)
		return v
	}
	if len(n.enum) > 0 && !slices.ContainsFunc(n.enum, func(e any) bool { return sameScalar(e, v) }) {
		c.mismatch(path, "one of "+enumText(n.enum), v)
		return v
	}
	switch v := v.(type) {
	case string:
		c.length(path, "characters", utf8.RuneCountInString(v), n.minLen, n.maxLen)
	case json.Number:
		c.number(n, v, path)
	case []any:
		c.length(path, "items", len(v), n.minItems, n.maxItems)
		if n.items != nil {
			for i := range v {
				v[i] = c.check(n.items, v[i], fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case map[string]any:
		c.object(n, v, path)
	}
	return v
}

func (c *checker) length(path, unit string, got int, least, most *int) {
	if least != nil && got < *least {
		c.add(path, fmt.Sprintf("at least %d %s", *least, unit), "%s: expected at least %d %s, received %d", place(path), *least, unit, got)
	}
	if most != nil && got > *most {
		c.add(path, fmt.Sprintf("at most %d %s", *most, unit), "%s: expected at most %d %s, received %d", place(path), *most, unit, got)
	}
}

func (c *checker) number(n *node, v json.Number, path string) {
	f, err := v.Float64()
	if err != nil {
		c.mismatch(path, "a number within the range of 64-bit floating point", v)
		return
	}
	if n.min != nil && f < *n.min {
		c.mismatch(path, "at least "+formatFloat(*n.min), v)
	}
	if n.max != nil && f > *n.max {
		c.mismatch(path, "at most "+formatFloat(*n.max), v)
	}
}

func (c *checker) object(n *node, v map[string]any, path string) {
	if len(n.types) == 0 && len(n.fields) == 0 {
		return // anything is taken here, at any depth
	}
	for _, name := range n.required {
		if _, ok := v[name]; !ok {
			at := join(path, name)
			want := strings.Join(n.fields[name].types, " or ")
			c.add(at, want, "%s is required (%s) and missing", place(at), want)
		}
	}
	// The order of reports must not depend on that of a map.
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		at, field := join(path, name), n.fields[name]
		switch {
		case field != nil && v[name] == nil && !field.allows(nil) && !slices.Contains(n.required, name):
			// null in an optional field says that it is not given.
			delete(v, name)
			c.changed = true
		case field != nil:
			v[name] = c.check(field, v[name], at)
		case n.rest != nil:
			v[name] = c.check(n.rest, v[name], at)
		case len(n.order) == 0:
			c.add(at, "no fields", "%s is unknown; no fields are taken", place(at))
		default:
			known := strings.Join(n.order, ", ")
			c.add(at, "one of the fields "+known, "%s is unknown; the fields are %s", place(at), known)
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// convert puts a value into the type that the schema wants where nothing can be lost or guessed; strings are never made
// where a string is allowed:
//
//	"12", 12.0, 1.2e1 → 12        for integer, when exactly an integer
//	"1.5"             → 1.5       for number
//	"true", "false"   → boolean
//	"[…]"             → array     when the text is one JSON array
func (c *checker) convert(n *node, v any) any {
	if len(n.types) == 0 {
		return v
	}
	switch x := v.(type) {
	case json.Number:
		if n.has("integer") && !n.has("number") {
			if whole, ok := wholeNumber(x); ok && whole != x {
				c.changed = true
				return whole
			}
		}
	case string:
		if w, ok := n.fromString(x); ok {
			c.changed = true
			return w
		}
	}
	return v
}

func (n *node) fromString(s string) (any, bool) {
	if n.has("string") || s == "" || s != strings.TrimSpace(s) {
		return nil, false
	}
	kind, f := scanJSON(s)
	if f != nil {
		return nil, false
	}
	switch {
	case kind == "boolean" && n.has("boolean"):
		return s == "true", true
	case kind == "number" && n.has("number"):
		return json.Number(s), true
	case kind == "number" && n.has("integer"):
		return wholeNumber(json.Number(s))
	case kind == "array" && n.has("array"):
		v, err := decodeJSON([]byte(s))
		return v, err == nil
	}
	return nil, false
}

// wholeNumber gives a number that is exactly an integer in plain digits.
func wholeNumber(x json.Number) (json.Number, bool) {
	s := string(x)
	if !strings.ContainsAny(s, ".eE") {
		return x, true
	}
	// A huge exponent would make a huge integer; nothing that long fits a field.
	if _, exp, ok := strings.Cut(strings.ToLower(s), "e"); ok {
		if e, err := strconv.Atoi(exp); err != nil || e > 30 || e < -30 {
			return x, false
		}
	}
	if len(s) > 100 {
		return x, false
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() {
		return x, false
	}
	return json.Number(r.Num().String()), true
}

func (n *node) has(t string) bool { return slices.Contains(n.types, t) }

// allows compares types only.
func (n *node) allows(v any) bool {
	if len(n.types) == 0 {
		return true
	}
	t := typeName(v)
	if t == "integer" && n.has("number") {
		return true
	}
	return n.has(t)
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			return "integer"
		}
	}
	return "number"
}

// sameScalar compares an entry of an enum with a value.
func sameScalar(e, v any) bool {
	a, ok := e.(json.Number)
	if !ok {
		return e == v
	}
	b, ok := v.(json.Number)
	if !ok {
		return false
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

func enumText(enum []any) string {
	words := make([]string, len(enum))
	for i, e := range enum {
		words[i] = show(e)
	}
	return strings.Join(words, ", ")
}

// show names a received value and its type, shortened.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(CleanLine(v, 60))
	case json.Number:
		return CleanLine(v.String(), 40)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return fmt.Sprintf("an array of %d items", len(v))
	case map[string]any:
		return fmt.Sprintf("an object of %d fields", len(v))
	}
	return fmt.Sprint(v)
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// err gives the problems as one error: all of them in the message, the first one's place in Field and Expected.
func (c *checker) err() *Error {
	if len(c.problems) == 0 {
		return nil
	}
	parts := make([]string, 0, maxProblems+1)
	for i, p := range c.problems {
		if i == maxProblems {
			parts = append(parts, fmt.Sprintf("and %d more", len(c.problems)-i))
			break
		}
		parts = append(parts, p.message)
	}
	return &Error{Code: CodeInvalidArgument, Message: strings.Join(parts, "; "), Field: CleanLine(c.problems[0].path, 200),
		Expected: c.problems[0].expected}
}
