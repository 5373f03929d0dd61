package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// changing is what differs from run to run although the request is the same: ids that are made anew, and times.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)

func settled(s string) string { return changing.ReplaceAllString(s, "*") }

// difference says where two requests differ first, and how; empty when they are the same. The host is no part of it, nor are
// ids and times.
func difference(recorded, now request) string {
	if recorded.Method != now.Method {
		return tell("method", recorded.Method, now.Method)
	}
	if a, b := pathOf(recorded.URL), pathOf(now.URL); a != b {
		return tell("path", a, b)
	}
	if a, b := settled(string(recorded.Body)), settled(string(now.Body)); a == b {
		if a, b := settled(recorded.Text), settled(now.Text); a != b {
			return tell("body", a, b)
		}
		return ""
	}
	a, errA := decode(recorded.Body)
	b, errB := decode(now.Body)
	if errA != nil || errB != nil {
		return tell("body", string(recorded.Body)+recorded.Text, string(now.Body)+now.Text)
	}
	return differ("", a, b)
}

// pathOf is what of the URL belongs to the protocol: what stands behind the base differs from server to server.
func pathOf(address string) string {
	path, _, _ := strings.Cut(address, "?")
	parts := strings.Split(path, "/")
	if strings.HasSuffix(path, "/chat/completions") {
		return "chat/completions"
	}
	return parts[len(parts)-1]
}

func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode a body: %w", err)
	}
	return v, nil
}

// differ walks both values in the order in which a request is written: model and tools before messages.
func differ(at string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		for _, key := range keysOf(x, y) {
			path := strings.TrimPrefix(at+"."+key, ".")
			p, inA := x[key]
			q, inB := y[key]
			if inA != inB {
				return tell(path, shown(p, inA), shown(q, inB))
			}
			if d := differ(path, p, q); d != "" {
				return d
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(x), len(y)) {
			path := at + "[" + strconv.Itoa(i) + "]"
			if i >= len(x) || i >= len(y) {
				return tell(path, shown(nth(x, i), i < len(x)), shown(nth(y, i), i < len(y)))
			}
			if d := differ(path, x[i], y[i]); d != "" {
				return d
			}
		}
		return ""
	case string:
		if y, ok := b.(string); ok {
			if settled(x) == settled(y) {
				return ""
			}
			return tell(at, x, y)
		}
	default:
		if a == b {
			return ""
		}
	}
	one, two := shown(a, true), shown(b, true)
	if one == two { // 1 and "1"
		one, two = fmt.Sprintf("%s as %T", one, a), fmt.Sprintf("%s as %T", two, b)
	}
	return tell(at, one, two)
}

func nth(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// keysOf gives the keys of both, those first that say what is asked of which model.
func keysOf(x, y map[string]any) []string {
	keys := []string{}
	for k := range x {
		keys = append(keys, k)
	}
	for k := range y {
		if _, ok := x[k]; !ok {
			keys = append(keys, k)
		}
	}
	rank := func(k string) int { return slices.Index([]string{"messages", "role", "tools", "model"}, k) }
	slices.SortFunc(keys, func(a, b string) int {
		if d := rank(b) - rank(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return keys
}

func shown(v any, there bool) string {
	if !there {
		return "(nothing)"
	}
	if s, ok := v.(string); ok {
		return s
	}
	b, err := plainJSON(v)
	if err != nil {
		return "(unreadable)"
	}
	return string(b)
}

// around is how much of two texts is shown on each side of the place where they part, in characters.
const around = 30

// tell names the place and both values, each from shortly before they part.
func tell(at, recorded, now string) string {
	a, b := []rune(recorded), []rune(now)
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return fmt.Sprintf("%s: recorded %s, now %s", at, part(a, i), part(b, i))
}

func part(r []rune, at int) string {
	from, to := max(0, at-around), min(len(r), at+around)
	s := string(r[from:to])
	if from > 0 {
		s = "…" + s
	}
	if to < len(r) {
		s += "…"
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return strconv.Quote(s)
}
