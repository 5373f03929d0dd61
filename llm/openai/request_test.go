package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/profile"
)

func sys(s string) llm.Message {
	return llm.Message{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: s}
}
func memo(s string) llm.Message {
	return llm.Message{Role: llm.RoleSystem, Kind: llm.KindMemory, Content: s}
}
func user(s string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Kind: llm.KindUser, Content: s}
}
func notice(s string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Kind: llm.KindNotice, Content: s}
}
func said(s string, calls ...llm.ToolCall) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Kind: llm.KindAssistant, Content: s, ToolCalls: calls}
}
func result(id, s string) llm.Message {
	return llm.Message{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: id, Name: "f", Content: s}
}
func toolCall(id, args string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "f", Arguments: args} }

// body encodes messages and gives the messages on the wire.
func body(t testing.TB, h habits, messages ...llm.Message) string {
	t.Helper()
	b, err := encode(llm.Request{Model: "m", Messages: messages}, generic(h))
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		t.Fatal(err)
	}
	return string(w.Messages)
}

func TestMessages(t *testing.T) {
	extra := func(raw string, m llm.Message) llm.Message { m.Extra = json.RawMessage(raw); return m }
	signed := toolCall("c1", "{}")
	signed.Extra = json.RawMessage(`{"extra_content":{"s":"<x>"},"id":"no","none":"\ud83d"}`)
	long := strings.Repeat("i", 41)
	for name, c := range map[string]struct {
		in   []llm.Message
		want string
	}{
		"plain":           {[]llm.Message{sys("s"), user("u")}, `[{"role":"system","content":"s"},{"role":"user","content":"u"}]`},
		"memory":          {[]llm.Message{sys("s"), memo("m"), user("u")}, `[{"role":"system","content":"s\n\nm"},{"role":"user","content":"u"}]`},
		"memory alone":    {[]llm.Message{memo("m"), user("u")}, `[{"role":"system","content":"m"},{"role":"user","content":"u"}]`},
		"late system":     {[]llm.Message{sys("s"), user("u"), sys("late"), sys("")}, `[{"role":"system","content":"s\n\nlate"},{"role":"user","content":"u"}]`},
		"no system":       {[]llm.Message{user("u")}, `[{"role":"user","content":"u"}]`},
		"notice":          {[]llm.Message{user("u"), notice("n"), notice("o")}, `[{"role":"user","content":"u\n\nn\n\no"}]`},
		"empty beside":    {[]llm.Message{user(""), notice("n"), notice("")}, `[{"role":"user","content":"n"}]`},
		"HTML as it is":   {[]llm.Message{user("<a> & b")}, `[{"role":"user","content":"<a> & b"}]`},
		"empty reply":     {[]llm.Message{user("u"), said(""), user("v")}, `[{"role":"user","content":"u\n\nv"}]`}, // rule 23
		"replies in rows": {[]llm.Message{user("u"), said("a"), said("b", toolCall("c1", "{}")), result("c1", "r")}, `[{"role":"user","content":"u"},{"role":"assistant","content":"a\n\nb","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"c1"}]`},
		"replies, calls":  {[]llm.Message{user("u"), said("a"), said("", toolCall("c1", "{}")), result("c1", "r")}, `[{"role":"user","content":"u"},{"role":"assistant","content":"a","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"c1"}]`},
		// Rule 22: null only beside calls.
		"calls": {[]llm.Message{user("u"), said("", toolCall("c1", `{"a":1}`), toolCall("c2", "")), result("c1", ""), result("c2", "r")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"","tool_call_id":"c1"},{"role":"tool","content":"r","tool_call_id":"c2"}]`},
		// Rule 8: an id that was used before, on both sides.
		"ids again": {[]llm.Message{user("u"), said("", toolCall("c1", "{}")), result("c1", "r"), said("", toolCall("c1", "{}")), result("c1", "s")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"c1"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1_2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"s","tool_call_id":"c1_2"}]`},
		"ids too long": {[]llm.Message{user("u"), said("", toolCall(long, "{}"), toolCall("", "{}")), result(long, "r"), result("", "r")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"` + wireID(long) + `","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"call","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"` + wireID(long) + `"},{"role":"tool","content":"r","tool_call_id":"call"}]`},
		"an answer alone": {[]llm.Message{user("u"), result("c9", "r")}, `[{"role":"user","content":"u"},{"role":"tool","content":"r","tool_call_id":"c9"}]`},
		"extra": {[]llm.Message{user("u"), extra(`{"b":1,"a":"x","role":"no"}`, said("t", signed)), result("c1", "r")},
			`[{"role":"user","content":"u"},{"role":"assistant","content":"t","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"s":"<x>"},"none":"` + "\uFFFD" + `"}],"a":"x","b":1},{"role":"tool","content":"r","tool_call_id":"c1"}]`},
		"extra from here": {[]llm.Message{user("u"), extra(`{"vitrine_origin":"h","reasoning_content":"r","extra_content":1}`, said("t", signed))},
			`[{"role":"user","content":"u"},{"role":"assistant","content":"t","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"s":"<x>"},"none":"` + "\uFFFD" + `"}],"extra_content":1}]`},
		"extra from elsewhere": {[]llm.Message{user("u"), extra(`{"vitrine_origin":"other","reasoning_content":"r","extra_content":1}`, said("t", signed))},
			`[{"role":"user","content":"u"},{"role":"assistant","content":"t","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`},
		"extra is odd": {[]llm.Message{user("u"), extra(`[1]`, said("t"))}, `[{"role":"user","content":"u"},{"role":"assistant","content":"t"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, body(t, habits{}, c.in...)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	replayed := body(t, habits{Reasoning: profile.ReasoningReply}, user("u"), extra(`{"vitrine_origin":"h","reasoning_content":"r"}`, said("t")))
	if want := `[{"role":"user","content":"u"},{"role":"assistant","content":"t","reasoning_content":"r"}]`; replayed != want {
		t.Errorf("replayed %s", replayed)
	}
}

func TestArguments(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:          `{"a":1}`,
		` {"a": 1} `:       `{"a": 1}`,
		``:                 `{}`,
		`{"a":`:            `{}`,
		`[1]`:              `{}`,
		`null`:             `{}`,
		`"{\"a\":1}"`:      `{}`,
		`{"a":"\ud83d"}`:   `{"a":"` + "\uFFFD" + `"}`, // B182
		`{"a":"\\ud83d"}`:  `{"a":"\\ud83d"}`,
		"{\"a\":\"\xff\"}": "{\"a\":\"\uFFFD\"}",
	} {
		if got := arguments(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	b := builder{dialect: generic(habits{}), tools: map[string]bool{"server.tool": true}}
	for in, want := range map[string]string{
		"read_file": "read_file", "server.tool": "server.tool", "functions.read_file": "functions_read_file", "read_file ": "read_file_",
		"": "unknown", "\x1b[31m": "__31m", "工具": "__", strings.Repeat("n", 5000): strings.Repeat("n", 64),
	} {
		if got := b.name(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestBody(t *testing.T) {
	zero := 0.0
	req := llm.Request{Model: "m", Messages: []llm.Message{user("u")}, Temperature: &zero, MaxTokens: 5,
		Tools: []llm.ToolSpec{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "b"}}}
	const front = `{"model":"m","tools":[{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object"}}},` +
		`{"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"user","content":"u"}],`
	for want, h := range map[string]habits{
		`"temperature":0,"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`:            {},
		`"temperature":0,"max_completion_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`: {Limit: profile.LimitMaxCompletionTokens},
		`"stream":true}`: {Limit: profile.LimitNone, Dropped: []string{"stream_options", "temperature"}},
	} {
		got, err := encode(req, generic(h))
		if d := cmp.Diff(front+want, string(got)); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
	req.Tools[0].Schema = json.RawMessage(`{`)
	if _, err := encode(req, generic(habits{})); err == nil {
		t.Error("a schema that is no JSON was encoded")
	}
}

// B182 and VALID HISTORY: whatever texts, ids, names and arguments a history has, the wire has a valid one, and request N
// is a prefix of request N+1.
func TestHistoryProperty(t *testing.T) {
	odd := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "\xed\xa0\x80", "\xff\xfe", "\xf0\x9f", `\ud83d`, `{"a":"\ud83d"}`, `{"a":1}`, `{"a":`, "null", "c1", "c1_2", "read_file ", strings.Repeat("x", 80), "\x1b[31m",
	}))
	rapid.Check(t, func(t *rapid.T) {
		history := []llm.Message{sys("s")}
		if rapid.Bool().Draw(t, "memory") {
			history = append(history, memo(odd.Draw(t, "memory text")))
		}
		wire := func() string {
			b, err := encode(llm.Request{Model: odd.Draw(t, "model"), Messages: history}, generic(habits{Reasoning: profile.ReasoningReply}))
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(b) {
				t.Fatalf("no valid UTF-8: %q", b)
			}
			var w struct {
				Messages json.RawMessage `json:"messages"`
			}
			if err := json.Unmarshal(b, &w); err != nil {
				t.Fatal(err)
			}
			if err := llmtest.ValidHistory(w.Messages); err != nil {
				t.Fatalf("%v in\n%s", err, w.Messages)
			}
			return string(w.Messages)
		}
		before := ""
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			history = append(history, user(odd.Draw(t, "user")))
			if rapid.Bool().Draw(t, "notice") {
				history = append(history, notice(odd.Draw(t, "notice")))
			}
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				m := said(odd.Draw(t, "text"))
				for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
					m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: fmt.Sprint(odd.Draw(t, "id"), i), Name: odd.Draw(t, "name"), Arguments: odd.Draw(t, "arguments")})
				}
				if rapid.Bool().Draw(t, "extra") {
					m.Extra = json.RawMessage(`{"vitrine_origin":"h","reasoning_content":"\ud83d"}`)
				}
				history = append(history, m)
				for _, c := range m.ToolCalls {
					history = append(history, result(c.ID, odd.Draw(t, "result")))
				}
				now := wire()
				if prefix := strings.TrimSuffix(before, "]"); before != "" && !strings.HasPrefix(now, prefix) {
					t.Fatalf("not a prefix:\n%s\n%s", before, now)
				}
				before = now
			}
			history = append(history, said("the answer"))
		}
	})
}

// Our strings are those of encoding/json, whatever is in them.
func TestAppendString(t *testing.T) {
	same := func(s string) bool {
		want, err := marshal(s)
		got := string(appendString(nil, s))
		if err != nil || !json.Valid([]byte(got)) {
			return false
		}
		return got == strings.ReplaceAll(string(want), `\ufffd`, "\uFFFD")
	}
	for _, s := range []string{"", "plain", "\x00\x1f\b\f\n\r\t", `"\`, "<a> & b", "世界\u2028\u2029\uFFFD", "\xff a \xed\xa0\x80", "\x7f"} {
		if !same(s) {
			t.Errorf("%q gives %s", s, appendString(nil, s))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text"); !same(s) {
			t.Fatalf("%q gives %s", s, appendString(nil, s))
		}
	})
}
