package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
)

// deltas makes a stream of entries of tool_calls, one string for each delta.
func deltas(entries ...string) string {
	lines := make([]string, 0, len(entries)+2)
	for _, e := range entries {
		lines = append(lines, `{"choices":[{"index":0,"delta":{"tool_calls":[`+e+`]}}]}`)
	}
	return data(append(lines, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")...)
}

// entry makes one entry: index below 0 and empty texts are left out.
func entry(index int, id, name, args string) string {
	m, f := map[string]any{}, map[string]any{}
	if index >= 0 {
		m["index"] = index
	}
	if id != "" {
		m["id"] = id
	}
	if name != "" {
		f["name"] = name
	}
	if args != "" {
		f["arguments"] = args
	}
	m["function"] = f
	b, _ := json.Marshal(m)
	return string(b)
}

func TestCalls(t *testing.T) {
	read := func(id, args string) string { return id + " read_file " + args }
	for name, c := range map[string]struct {
		in   string
		want []string // "id name arguments"
	}{
		"plain": {deltas(entry(0, "c1", "read_file", ""), entry(0, "", "", `{"pa`), entry(0, "", "", `th":"a"}`)), []string{read("c1", `{"path":"a"}`)}},
		// B095
		"id and name each time": {deltas(entry(0, "c1", "read_file", `{"pa`), entry(0, "c1", "read_file", `th":"a`), entry(0, "c1", "read_file", `"}`)), []string{read("c1", `{"path":"a"}`)}},
		"name in pieces":        {deltas(entry(0, "c1", "read_", ""), entry(0, "c1", "file", `{"path":"a"}`)), []string{read("c1", `{"path":"a"}`)}},
		"name in pieces, no id": {deltas(entry(0, "c1", "read_", ""), entry(0, "", "file", `{"path":"a"}`)), []string{read("c1", `{"path":"a"}`)}},
		"name grows":            {deltas(entry(0, "c1", "read_", ""), entry(0, "c1", "read_file", `{"path":"a"}`)), []string{read("c1", `{"path":"a"}`)}},
		"name grows, no index":  {deltas(entry(-1, "c1", "read_", ""), entry(-1, "c1", "read_file", `{"path":"a"}`)), []string{read("c1", `{"path":"a"}`)}},
		// B097
		"two in a delta, no index": {deltas(entry(-1, "c1", "web_search", `{"q":1}`) + "," + entry(-1, "c2", "web_search", `{"q":2}`)), []string{`c1 web_search {"q":1}`, `c2 web_search {"q":2}`}},
		"all at index 0":           {deltas(entry(0, "c1", "web_search", `{"q":1}`), entry(0, "c2", "web_search", `{"q":2}`)), []string{`c1 web_search {"q":1}`, `c2 web_search {"q":2}`}},
		"index null":               {deltas(strings.Replace(entry(-1, "c1", "a", `{}`), "{", `{"index":null,`, 1), strings.Replace(entry(-1, "c2", "b", `{}`), "{", `{"index":null,`, 1)), []string{"c1 a {}", "c2 b {}"}},
		"same name, no ids":        {deltas(entry(0, "", "web_search", `{"q":1}`), entry(0, "", "web_search", `{"q":2}`)), []string{`call_0 web_search {"q":1}`, `call_1 web_search {"q":2}`}},
		// Rule 1, with the arguments in pieces.
		"index 0, pieces":    {deltas(entry(0, "c1", "a", ""), entry(0, "", "", `{"x":1}`), entry(0, "c2", "b", ""), entry(0, "", "", `{"y":2}`)), []string{`c1 a {"x":1}`, `c2 b {"y":2}`}},
		"index 0, no args":   {deltas(entry(0, "c1", "a", ""), entry(0, "c2", "b", ""), entry(0, "", "", `{}`)), []string{`c1 a `, `c2 b {}`}},
		"index 0, name late": {deltas(entry(0, "c1", "a", `{}`), entry(0, "c2", "", ""), entry(0, "", "b", `{}`)), []string{`c1 a {}`, `c2 b {}`}},
		// Rule 2
		"no index":           {deltas(entry(-1, "c1", "a", ""), entry(-1, "", "", `{"x":`), entry(-1, "", "", `1}`), entry(-1, "c2", "b", `{}`)), []string{`c1 a {"x":1}`, `c2 b {}`}},
		"no index, id again": {deltas(entry(-1, "c1", "a", `{"x":`), entry(-1, "c2", "b", `{}`), entry(-1, "c1", "", `1}`)), []string{`c1 a {"x":1}`, `c2 b {}`}},
		// Rule 3
		"head 0, tail 1":           {deltas(entry(0, "c1", "a", `{"x":1}`), entry(0, "c2", "b", ""), entry(1, "", "", `{"y"`), entry(1, "", "", `:2}`)), []string{`c1 a {"x":1}`, `c2 b {"y":2}`}},
		"head 0, tail 1, started":  {deltas(entry(0, "c1", "a", `{"x":1}`), entry(0, "c2", "b", `{"y"`), entry(1, "", "", `:2}`)), []string{`c1 a {"x":1}`, `c2 b {"y":2}`}},
		"one call, tail elsewhere": {deltas(entry(0, "c1", "a", ""), entry(1, "", "", `{"x":1}`)), []string{`c1 a {"x":1}`}},
		// Rule 4
		"three indexes":         {deltas(entry(0, "c1", "a", ""), entry(0, "c1", "a", `{"x":1}`), entry(1, "c1", "a", ""), entry(1, "c1", "a", `{"x":1}`), entry(2, "c1", "a", `{"x":1}`)), []string{`c1 a {"x":1}`}},
		"index counts pieces":   {deltas(entry(0, "c1", "a", ""), entry(1, "c1", "a", `{"x":`), entry(2, "c1", "", `1}`)), []string{`c1 a {"x":1}`}},
		"repeated at the end":   {deltas(entry(0, "c1", "a", `{"x":`), entry(0, "", "", `1}`), entry(0, "c1", "a", `{"x":1}`)), []string{`c1 a {"x":1}`}},
		"junk behind, same id":  {deltas(entry(0, "c1", "a", `{"x":1}`), entry(0, "c1", "", `}`)), []string{`c1 a {"x":1}}`}},
		"blanks behind":         {deltas(entry(0, "c1", "a", `{"x":1}`), entry(0, "c1", "a", "\n")), []string{"c1 a {\"x\":1}\n"}},
		"junk behind, by index": {deltas(entry(0, "c1", "a", `{"x":1}`), entry(0, "", "", `}`)), []string{`c1 a {"x":1}}`}},
		// Rule 5
		"arguments first":           {deltas(entry(0, "", "", `{"x":`), entry(0, "", "", `1}`), entry(0, "c1", "a", "")), []string{`c1 a {"x":1}`}},
		"arguments first, second":   {deltas(entry(0, "c0", "z", `{}`), entry(1, "", "", `{"x":1}`), entry(1, "c1", "a", "")), []string{`c0 z {}`, `c1 a {"x":1}`}},
		"arguments first, no index": {deltas(entry(-1, "", "", `{"x":1}`), entry(-1, "c1", "a", "")), []string{`c1 a {"x":1}`}},
		"name after, no ids":        {deltas(entry(-1, "", "", `{"x":1}`), entry(-1, "", "a", "")), []string{`call_0 a {"x":1}`}},
		"never a name":              {deltas(entry(0, "", "", `{"x":1}`)), []string{`call_0  {"x":1}`}},
		"id late":                   {deltas(entry(0, "", "a", `{"x":`), entry(0, "c1", "", `1}`)), []string{`c1 a {"x":1}`}},
		"new id each time":          {deltas(entry(0, "c1", "a", ""), entry(0, "c2", "", `{"x":`), entry(0, "c3", "", `1}`)), []string{`c1 a {"x":1}`}},
		// Rule 6
		"interleaved": {deltas(entry(0, "c1", "a", "")+","+entry(1, "c2", "b", ""), entry(1, "", "", `{"y":`)+","+entry(0, "", "", `{"x":`), entry(0, "", "", `1}`)+","+entry(1, "", "", `2}`)), []string{`c1 a {"x":1}`, `c2 b {"y":2}`}},
		// Rule 7
		"object":           {deltas(`{"index":0,"id":"c1","function":{"name":"a","arguments":{"x": {"y" : 1}}}}`), []string{`c1 a {"x":{"y":1}}`}},
		"object twice":     {deltas(`{"index":0,"id":"c1","function":{"name":"a","arguments":{}}}`, `{"index":0,"function":{"arguments":{"x":1}}}`), []string{`c1 a {"x":1}`}},
		"null":             {deltas(`{"index":0,"id":"c1","function":{"name":"a","arguments":null}}`), []string{`c1 a `}},
		"list":             {deltas(`{"index":0,"id":"c1","function":{"name":"a","arguments":[1]}}`), []string{`c1 a [1]`}},
		"one without list": {data(`{"choices":[{"delta":{"tool_calls":{"id":"c1","function":{"name":"a","arguments":"{}"}}}}]}`, end), []string{`c1 a {}`}},
		"function_call":    {data(`{"choices":[{"delta":{"function_call":{"name":"a","arguments":"{\"x\""}}}]}`, `{"choices":[{"delta":{"function_call":{"arguments":":1}"}}}]}`, end), []string{`call_0 a {"x":1}`}},
		// Rule 8
		"no ids":                 {deltas(entry(0, "", "a", `{}`), entry(1, "", "a", `{}`)), []string{"call_0 a {}", "call_1 a {}"}},
		"made-up id is taken":    {deltas(entry(0, "call_1", "a", `{}`), entry(1, "", "a", `{}`)), []string{"call_1 a {}", "call_2 a {}"}},
		"one id for two":         {deltas(entry(0, "c", "a", `{"x":1}`), entry(1, "c", "b", `{"y":2}`)), []string{`c a {"x":1}`, `call_1 b {"y":2}`}},
		"one id, same tool":      {deltas(entry(0, "c", "a", `{"x":1}`), entry(1, "c", "a", ""), entry(1, "", "", `{"x":2}`)), []string{`c a {"x":1}`, `call_1 a {"x":2}`}},
		"one id, no index":       {deltas(entry(-1, "c", "a", `{"x":1}`) + "," + entry(-1, "c", "a", `{"x":2}`)), []string{`c a {"x":1}`, `call_1 a {"x":2}`}},
		"no id, no index, two":   {deltas(entry(-1, "", "a", "") + "," + entry(-1, "", "b", "")), []string{"call_0 a ", "call_1 b "}},
		"no id, no index, later": {deltas(entry(-1, "", "a", `{}`), entry(-1, "", "b", `{}`)), []string{"call_0 a {}", "call_1 b {}"}},
		"id is a number":         {deltas(`{"index":0,"id":7,"function":{"name":"a","arguments":"{}"}}`), []string{"7 a {}"}},
		"id is an object":        {deltas(`{"index":0,"id":{},"function":{"name":"a","arguments":"{}"}}`), []string{"call_0 a {}"}},
		"nothing at all":         {deltas(`{}`, `{"index":0}`, `{"index":1,"id":"c","function":{}}`, `{"index":2,"function":null}`), nil},
		// B053: names pass as they came.
		"odd names": {deltas(entry(0, "c1", "functions.read_file", `{}`), entry(1, "c2", "read_file ", `{}`), entry(2, "c3", strings.Repeat("n", 5000), `{}`), entry(3, "c4", "\x1b[31m", `{}`)),
			[]string{"c1 functions.read_file {}", "c2 read_file  {}", "c3 " + strings.Repeat("n", 5000) + " {}", "c4 \x1b[31m {}"}},
		// Arguments that are no object, or none yet, are handed on as they are.
		"broken arguments": {deltas(entry(0, "c1", "a", `not json`), entry(1, "c2", "b", `{"s":"}{\"`)), []string{`c1 a not json`, `c2 b {"s":"}{\"`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, call := range whole(t, c.in).ToolCalls {
				got = append(got, call.ID+" "+call.Name+" "+call.Arguments)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Rule 3: a piece that may belong to two calls is an error, not a guess.
func TestAmbiguousCalls(t *testing.T) {
	for name, in := range map[string]string{
		"two open calls":     deltas(entry(0, "c1", "a", ""), entry(1, "c2", "b", ""), entry(2, "", "", `{"x":1}`)),
		"no open call":       deltas(entry(0, "c1", "a", `{}`), entry(1, "", "", `{"x":1}`)),
		"two without a name": deltas(entry(0, "c1", "a", ""), entry(1, "", "", `{"x":1}`), entry(2, "", "", `{"x":1}`)),
		"contested index":    deltas(entry(0, "c1", "a", `{"x":`), entry(0, "c2", "b", ""), entry(0, "", "", `1}`)),
	} {
		t.Run(name, func(t *testing.T) {
			if _, e := wants(t, in); e.Kind != llm.ErrProtocol || !e.Retryable {
				t.Errorf("got %v", e)
			}
		})
	}
}

// What the screen is told adds up to what is run.
func TestCallDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "calls")
		var heads, tails []string
		var want []string
		for i := range n {
			args := fmt.Sprintf(`{"text":%q}`, rapid.StringMatching(`[a-z{}"\\世]{0,12}`).Draw(t, "text"))
			want = append(want, args)
			heads = append(heads, entry(i, fmt.Sprint("c", i), "tool", ""))
			for r := []rune(args); len(r) > 0; {
				k := rapid.IntRange(1, len(r)).Draw(t, "piece")
				tails = append(tails, entry(i, "", "", string(r[:k])))
				r = r[k:]
			}
		}
		told := make([]string, n)
		d := &decoder{onEnd: func() {}, tell: func(c llm.Chunk) bool {
			if c.CallDelta != nil {
				told[c.CallDelta.Index] += c.CallDelta.Arguments
			}
			return true
		}}
		done, err := d.decode(strings.NewReader(deltas(append(heads, tails...)...)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range done.ToolCalls {
			got = append(got, c.Arguments)
		}
		if d := cmp.Diff(want, got) + cmp.Diff(want, told); d != "" {
			t.Fatal(d)
		}
	})
}

// Rule 20: fields that we do not know are kept for the way back.
func TestCallExtra(t *testing.T) {
	r := whole(t, deltas(
		`{"index":0,"id":"c1","type":"function","extra_content":{"google":{"thought_signature":"<a&b>"}},"none":null,"function":{"name":"f","arguments":"{}"}}`,
		`{"index":0,"more":1.50}`))
	if got, want := string(r.ToolCalls[0].Extra), `{"extra_content":{"google":{"thought_signature":"<a&b>"}},"more":1.50}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestObjectScanner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[ \n]{0,2}[\{\["\\a:1,\]\} ]{0,14}[ \n]{0,2}`).Draw(t, "s")
		var o object
		o.feed([]byte(s))
		isObject := json.Valid([]byte(s)) && strings.HasPrefix(strings.TrimSpace(s), "{")
		if isObject && !o.closed() {
			t.Fatalf("%q is a whole object", s)
		}
	})
	for s, want := range map[string]bool{`{}`: true, ` {"a":"}"} `: true, `{"a":"\"}"}`: true, `{`: false, `{}{}`: false, `{}x`: false, ``: false, `[]`: false, `"{}"`: false, `{"a":[{}]}`: true} {
		var o object
		o.feed([]byte(s))
		if o.closed() != want {
			t.Errorf("%q: %v", s, o.closed())
		}
	}
}
