package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/profile"
)

// generic is how a server is spoken to of which nothing is known.
func generic(h habits) dialect {
	return dialect{profile.Builtin().Choose(profile.Generic, "http://h/v1", "m").Profile, h}
}

// play decodes a stream and checks the contract of its chunks.
func play(t llmtest.Reporter, src io.Reader) (llm.Reply, error) {
	t.Helper()
	return playIn(t, generic(habits{}), llm.Request{}, false, src)
}

// playIn does so in a dialect, with or without the short way.
func playIn(t llmtest.Reporter, how dialect, req llm.Request, slow bool, src io.Reader) (llm.Reply, error) {
	t.Helper()
	return llmtest.Record(t, func(yield func(llm.Chunk, error) bool) {
		d := &decoder{tell: func(c llm.Chunk) bool { return yield(c, nil) }, onEnd: func() {}, dialect: &how, request: &req, slow: slow,
			clean: func(s string) string { return llm.CleanText(s) }}
		done, err := d.decode(src)
		var read *readError
		switch {
		case errors.As(err, &read):
			yield(llm.Chunk{}, &llm.Error{Kind: llm.ErrCut, Message: "read", Retryable: true, Err: err})
		case errors.Is(err, errStopped):
		case err != nil:
			yield(llm.Chunk{}, err)
		default:
			yield(llm.Chunk{Done: done}, nil)
		}
	})
}

// stream joins steps to the bytes of a stream.
func stream(steps ...llmtest.Step) string { return string(llmtest.Stream(steps...).Bytes()) }

// whole decodes a stream that must be whole.
func whole(t testing.TB, s string) llm.Reply {
	t.Helper()
	r, err := play(t, strings.NewReader(s))
	if err != nil {
		t.Fatalf("error %v in\n%s", err, s)
	}
	return r
}

// wants decodes a stream that must end with an error.
func wants(t testing.TB, s string) (llm.Reply, *llm.Error) {
	t.Helper()
	r, err := play(t, strings.NewReader(s))
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *llm.Error, in\n%.300s", err, s)
	}
	return r, e
}

func data(lines ...string) string { return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n" }

const end = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

// B092: tool_calls null or empty, delta null or empty.
func TestEmptyCalls(t *testing.T) {
	for _, odd := range []string{`"delta":{"tool_calls":null}`, `"delta":{"tool_calls":[]}`, `"delta":null`, `"delta":{}`, `"delta":{"content":null}`, `"delta":[]`, `"delta":"x"`} {
		for _, calls := range []string{"null", "[]", "[null]", "{}", `"x"`, "7", `[[]]`} {
			s := data(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"a","tool_calls":`+calls+`}}]}`,
				`{"choices":[{"index":0,`+odd+`}]}`, end, "[DONE]")
			if r := whole(t, s); r.Text != "a" || len(r.ToolCalls) != 0 {
				t.Errorf("%s: got %+v", s, r)
			}
		}
	}
}

// B094: chunks without choices, first, in the middle and last, with usage 9/2; rule 15: usage after the reason.
func TestNoChoices(t *testing.T) {
	for _, odd := range []string{`{"choices":[]}`, `{"id":"x"}`, `{"id":"x","choices":null}`, `{"choices":[],"prompt_filter_results":[{}]}`, `{}`, `null`, `{"choices":[null]}`} {
		s := data(odd, `{"choices":[{"delta":{"content":"a"}}]}`, odd, end, odd, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`, odd, "[DONE]")
		r := whole(t, s)
		if r.Text != "a" || r.Usage.Prompt == nil || *r.Usage.Prompt != 9 || *r.Usage.Completion != 2 || r.Usage.Cached != nil {
			t.Errorf("%s: got %+v", s, r)
		}
	}
}

// B103: an error inside the stream, in all shapes. The text before it is kept by the caller.
func TestErrorInside(t *testing.T) {
	for name, c := range map[string]struct {
		in      string
		message string
		kind    llm.ErrorKind
		status  int
		retry   bool
	}{
		"object with a code":   {data(`{"error":{"message":"overloaded","code":503}}`), "overloaded", llm.ErrServer, 503, true},
		"event":                {"event: error\ndata: {\"message\":\"boom\"}\n\n", "boom", llm.ErrServer, 0, true},
		"event with text":      {"event: error\ndata: it broke\n\n", "it broke", llm.ErrServer, 0, true},
		"event, order swapped": {"data: {\"message\":\"boom\"}\nevent: error\n\n", "boom", llm.ErrServer, 0, true},
		"bare line":            {`{"error":"boom"}` + "\n", "boom", llm.ErrServer, 0, true},
		"bare line, no end":    {`{"error":"boom"}`, "boom", llm.ErrServer, 0, true},
		"string":               {data(`{"error":"text"}`), "text", llm.ErrServer, 0, true},
		"vLLM":                 {data(`{"object":"error","message":"bad prompt","type":"BadRequestError","code":400}`), "bad prompt", llm.ErrRejected, 400, false},
		"code as text":         {data(`{"error":{"message":"slow down","code":"429"}}`), "slow down", llm.ErrRate, 429, true},
		"type only":            {data(`{"error":{"message":"slow","type":"rate_limit_error"}}`), "slow", llm.ErrRate, 0, true},
		"auth":                 {data(`{"error":{"message":"no","type":"authentication_error"}}`), "no", llm.ErrAuth, 0, false},
		"quota":                {data(`{"error":{"message":"no","code":"insufficient_quota"}}`), "no", llm.ErrQuota, 0, false},
		"invalid":              {data(`{"error":{"message":"no","type":"invalid_request_error"}}`), "no", llm.ErrRejected, 0, false},
		"no model":             {data(`{"error":{"message":"no","code":"model_not_found"}}`), "no", llm.ErrNotFound, 0, false},
		"context":              {data(`{"error":{"message":"This model's maximum context length is 8192 tokens","code":400}}`), "This model's maximum context length is 8192 tokens", llm.ErrContext, 400, false},
		"anthropic":            {data(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "Overloaded", llm.ErrServer, 0, true},
		"list":                 {data(`[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`), "bad", llm.ErrRejected, 400, false},
		"bare list":            {`[{"error":{"code":503,"message":"bad"}}]`, "bad", llm.ErrServer, 503, true},
		"with choices":         {data(`{"error":{"code":502,"message":"gone"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`), "gone", llm.ErrServer, 502, true},
		"in the choice":        {data(`{"choices":[{"index":0,"error":{"code":502,"message":"gone"},"delta":{}}]}`), "gone", llm.ErrServer, 502, true},
		"reason only":          {data(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`), "the server broke the reply off", llm.ErrServer, 0, true},
		"aborted":              {data(`{"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}`), "the server broke the reply off, with the reason abort", llm.ErrServer, 0, true},
		"DeepSeek is full":     {data(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"insufficient_system_resource"}]}`), "the server broke the reply off, with the reason insufficient_system_resource", llm.ErrServer, 0, true},
		"Z.ai":                 {data(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"network_error"}]}`), "the server broke the reply off, with the reason network_error", llm.ErrServer, 0, true},
		"detail":               {data(`{"detail":"bad key"}`), "bad key", llm.ErrServer, 0, true},
		"groq":                 {data(`{"choices":[],"x_groq":{"error":"over capacity"}}`), "over capacity", llm.ErrServer, 0, true},
		"a string":             {data(`"upstream gone"`), "upstream gone", llm.ErrServer, 0, true},
		"message and code":     {data(`{"message":"busy","code":503}`), "busy", llm.ErrServer, 503, true},
		"code only":            {data(`{"error":{"code":"server_error"}}`), "server_error", llm.ErrServer, 0, true},
		"nothing said":         {data(`{"error":true}`), `{"error":true}`, llm.ErrServer, 0, true},
		"status only":          {data(`{"error":{"message":"","code":503}}`), "service unavailable", llm.ErrServer, 503, true},
		"not in time":          {data(`{"error":{"message":"late","code":408}}`), "late", llm.ErrTimeout, 408, true},
		"bedrock":              {data(`{"error":{"message":"Too many tokens, please wait before trying again.","code":400}}`), "Too many tokens, please wait before trying again.", llm.ErrRate, 400, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, e := wants(t, stream(llmtest.Text("par"))+c.in)
			if e.Message != c.message || e.Kind != c.kind || e.Status != c.status || e.Retryable != c.retry {
				t.Errorf("got %q %q %d %v", e.Message, e.Kind, e.Status, e.Retryable)
			}
			if r.Text != "par" {
				t.Errorf("the text before is %q", r.Text)
			}
		})
	}
	for _, none := range []string{"null", "{}", `""`, "false", "[]", "0"} {
		if r := whole(t, data(`{"error":`+none+`,"choices":[{"delta":{"content":"a"}}]}`, end)); r.Text != "a" {
			t.Errorf("error: %s is taken for one", none)
		}
	}
}

// B103, B112, rule 36: an answer of 200 that is no stream.
func TestForeign(t *testing.T) {
	page := "<html>\n<head><title>Sign in</title></head>\n<body><h1>Sign in</h1>\nto go on</body></html>\n"
	for name, c := range map[string]struct{ in, message string }{
		"page":           {page, "the answer is no chat completion: Sign in Sign in to go on"},
		"text":           {"upstream connect error or disconnect", "the answer is no chat completion: upstream connect error or disconnect"},
		"colon":          {"no healthy: upstream", "the answer is no chat completion: no healthy: upstream"},
		"data with page": {"data: <html><h1>Bad Gateway</h1></html>\n\n", "the answer is no chat completion: Bad Gateway"},
		"other JSON":     {`{"output":[{"reasoning":"private"}]}`, "the answer is no chat completion"},
		"several lines":  {"{\n\"output\":\n[{\"reasoning\":\"private\"}]}", "the answer is no chat completion"},
		"broken JSON":    {"{\"output\":[{\"reasoning\":\"private\"}", "the answer is no chat completion"},
		"list":           {data(`[{"reasoning":"private"}]`), "the answer is no chat completion"},
		"number":         {data(`42`), "the answer is no chat completion"},
		"no JSON":        {data(`{"choices":[{"delta":{"reasoning":"private`, end), "the server sent an event that is no JSON"},
		"broken before":  {"data: {\"a\":\n\n", "the server sent an event that is no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, e := wants(t, c.in); e.Message != c.message || strings.Contains(e.Error(), "invalid character") || strings.Contains(e.Error(), "private") {
				t.Errorf("got %q", e.Message)
			}
		})
	}
	if _, e := wants(t, `{"error":"Unexpected endpoint or method"}`); e.Message != "Unexpected endpoint or method" {
		t.Errorf("got %q", e.Message)
	}
	// A server that does not stream at all.
	completion := "{\n \"model\": \"m\",\n \"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": \"all at once\",\n" +
		"\"tool_calls\": [{\"id\": \"c1\", \"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{}\"}}]}, \"finish_reason\": \"tool_calls\"}],\n \"usage\": {\"prompt_tokens\": 3}\n}"
	for _, s := range []string{completion, strings.ReplaceAll(completion, "\n", "")} {
		r := whole(t, s)
		if r.Text != "all at once" || len(r.ToolCalls) != 1 || r.ToolCalls[0].ID != "c1" || *r.Usage.Prompt != 3 || r.Model != "m" {
			t.Errorf("got %+v", r)
		}
	}
	if _, e := wants(t, "{\n\"error\":\n\"boom\"}"); e.Message != "boom" {
		t.Errorf("got %q", e.Message)
	}
}

// B098, rule 12: the end of a stream.
func TestEnds(t *testing.T) {
	call := stream(llmtest.CallHead(0, "c1", "f"), llmtest.CallArguments(0, `{"a":1}`))
	text := stream(llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"))
	reset := func(s string) io.Reader {
		return io.MultiReader(strings.NewReader(s), iotest.ErrReader(errors.New("reset")))
	}
	for name, c := range map[string]struct {
		src  io.Reader
		kind llm.ErrorKind // empty: whole
	}{
		"empty":                          {strings.NewReader(""), llm.ErrCut},
		"text, then the end":             {strings.NewReader(text), llm.ErrCut},
		"text, then reset":               {reset(text), llm.ErrCut},
		"call, then the end":             {strings.NewReader(call), llm.ErrCut},
		"call, then reset":               {reset(call), llm.ErrCut},
		"half an event":                  {strings.NewReader(text + `data: {"choices":[{"delta":{"con`), llm.ErrCut},
		"reason, then the end":           {strings.NewReader(text + data(end)), ""},
		"reason, then reset":             {reset(text + data(end)), ""},
		"reason, no blank line":          {strings.NewReader(text + "data: " + end), ""},
		"mark without a reason":          {strings.NewReader(text + data("[DONE]")), ""},
		"mark without a line end":        {strings.NewReader(text + "data: [DONE]"), ""},
		"mark with spaces":               {strings.NewReader(text + "data:  [DONE] \n"), ""},
		"mark alone":                     {strings.NewReader(data("[DONE]")), llm.ErrCut},
		"nothing after the mark counts":  {strings.NewReader(text + data("[DONE]", `{"error":"late"}`, "junk")), ""},
		"no blank line before the mark":  {strings.NewReader(text + "data: " + end + "\ndata: [DONE]\n"), ""},
		"no blank lines at all":          {strings.NewReader(strings.ReplaceAll(text+data(end, "[DONE]"), "\n\n", "\n")), ""},
		"no blank lines, no mark":        {strings.NewReader(strings.ReplaceAll(text+data(end), "\n\n", "\n")), ""},
		"cut in the event after the end": {strings.NewReader(text + data(end) + `data: {"usage":{"pro`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := play(t, c.src)
			var e *llm.Error
			if errors.As(err, &e); c.kind == "" && err != nil || c.kind != "" && (e == nil || e.Kind != c.kind || !e.Retryable) {
				t.Fatalf("error %v, want %q", err, c.kind)
			}
			if err != nil && len(r.ToolCalls) > 0 {
				t.Errorf("calls beside an error: %+v", r)
			}
			if err == nil && r.Text != "abc" {
				t.Errorf("text %q", r.Text)
			}
		})
	}
}

// B104: the reason says one thing, the content another.
func TestReasons(t *testing.T) {
	call := stream(llmtest.CallHead(0, "c1", "f"), llmtest.CallArguments(0, `{}`))
	for name, c := range map[string]struct {
		in    string
		want  llm.Finish
		calls int
	}{
		"stop with a call":     {call + stream(llmtest.Finish("stop")), "stop", 1},
		"empty each time":      {strings.ReplaceAll(stream(llmtest.Text("x"), llmtest.Text("y")), `"finish_reason":null`, `"finish_reason":""`) + data("[DONE]"), "", 0},
		"call without a call":  {stream(llmtest.Finish("tool_calls")), "tool_calls", 0},
		"function_call":        {call + stream(llmtest.Finish("function_call")), "function_call", 1},
		"eos":                  {stream(llmtest.Text("x"), llmtest.Finish("eos")), "eos", 0},
		"two reasons":          {stream(llmtest.Text("x"), llmtest.Finish("tool_calls"), llmtest.Finish("stop")), "stop", 0},
		"length stays":         {call + stream(llmtest.Finish("length"), llmtest.Finish("tool_calls")), "length", 1},
		"length comes later":   {call + stream(llmtest.Finish("tool_calls"), llmtest.Finish("length")), "length", 1},
		"filter stays":         {stream(llmtest.Finish("content_filter"), llmtest.Finish("stop")), "content_filter", 0},
		"other words":          {stream(llmtest.Finish("MAX_TOKENS")), "length", 0},
		"safety":               {stream(llmtest.Finish("SAFETY")), "content_filter", 0},
		"sensitive":            {stream(llmtest.Finish("sensitive")), "content_filter", 0},
		"upper case":           {stream(llmtest.Finish("STOP")), "stop", 0},
		"reason is a number":   {data(`{"choices":[{"delta":{"content":"x"},"finish_reason":7}]}`, "[DONE]"), "", 0},
		"text after the end":   {stream(llmtest.Finish("stop"), llmtest.Text("x")), "stop", 0},
		"second choice is not": {data(`{"choices":[{"index":0,"delta":{"content":"x"}}]}`, `{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}`, end), "stop", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := whole(t, c.in)
			if r.Finish != c.want || len(r.ToolCalls) != c.calls || r.Text == "no" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// Rule 18 and its kin: reasoning under either name, once; never as text.
func TestReasoning(t *testing.T) {
	for name, c := range map[string]struct{ in, reasoning, text, extra string }{
		"reasoning_content": {data(`{"choices":[{"delta":{"reasoning_content":"r1"}}]}`, `{"choices":[{"delta":{"reasoning_content":"r2","content":"t"}}]}`, end), "r1r2", "t",
			`{"reasoning_content":"r1r2","vitrine_origin":"h"}`},
		"reasoning": {data(`{"choices":[{"delta":{"reasoning":"r1"}}]}`, end), "r1", "", `{"reasoning":"r1","vitrine_origin":"h"}`},
		"both":      {data(`{"choices":[{"delta":{"reasoning":"r1","reasoning_content":"r1"}}]}`, end), "r1", "", `{"reasoning_content":"r1","vitrine_origin":"h"}`},
		"parts": {data(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"t"},7]}}]}`, end),
			"r", "t", ""},
		"one part":         {data(`{"choices":[{"delta":{"content":{"type":"text","text":"t"}}}]}`, end), "", "t", ""},
		"objects are none": {data(`{"choices":[{"delta":{"reasoning":{"a":1},"content":{"b":2}}}]}`, end), "", "", ""},
		"refusal":          {data(`{"choices":[{"delta":{"refusal":"I cannot"}}]}`, end), "", "I cannot", ""},
		"older text":       {data(`{"choices":[{"text":"old"}]}`, end), "", "old", ""},
		"extra_content":    {data(`{"choices":[{"delta":{"extra_content":{"google":{"s":"x"}}}}]}`, end), "", "", `{"extra_content":{"google":{"s":"x"}},"vitrine_origin":"h"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := whole(t, c.in)
			if r.Reasoning != c.reasoning || r.Text != c.text || string(r.Extra) != c.extra {
				t.Errorf("got %q %q %s", r.Reasoning, r.Text, r.Extra)
			}
		})
	}
}

// Rule 35: counts in all spellings; what was not reported stays unknown, and reports are not added up.
func TestUsage(t *testing.T) {
	usd := 0.00014
	n := func(i int) *int { return &i }
	for name, c := range map[string]struct {
		in   []string
		want llm.Usage
	}{
		"none":           {nil, llm.Usage{}},
		"null":           {[]string{`null`}, llm.Usage{}},
		"all zero":       {[]string{`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`}, llm.Usage{}},
		"total only":     {[]string{`{"total_tokens":12}`}, llm.Usage{}},
		"OpenAI":         {[]string{`{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":1}}`}, llm.Usage{Prompt: n(9), Completion: n(2), Cached: n(0), Reasoning: n(1)}},
		"null details":   {[]string{`{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":null}`}, llm.Usage{Prompt: n(9), Completion: n(2)}},
		"odd details":    {[]string{`{"prompt_tokens":9,"completion_tokens":"2","prompt_tokens_details":7}`}, llm.Usage{Prompt: n(9)}},
		"DeepSeek":       {[]string{`{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":5}`}, llm.Usage{Prompt: n(9), Completion: n(2), Cached: n(4)}},
		"Anthropic":      {[]string{`{"input_tokens":9,"output_tokens":2,"cache_read_input_tokens":100,"cache_creation_input_tokens":30}`}, llm.Usage{Prompt: n(139), Completion: n(2), Cached: n(100)}},
		"OpenRouter":     {[]string{`{"prompt_tokens":9,"completion_tokens":2,"cost":0.00014}`}, llm.Usage{Prompt: n(9), Completion: n(2), Cost: &usd}},
		"no cost":        {[]string{`{"prompt_tokens":9,"completion_tokens":2,"cost":"much"}`}, llm.Usage{Prompt: n(9), Completion: n(2)}},
		"Moonshot":       {[]string{`{"prompt_tokens":9,"completion_tokens":2,"cached_tokens":3}`}, llm.Usage{Prompt: n(9), Completion: n(2), Cached: n(3)}},
		"cumulative":     {[]string{`{"prompt_tokens":9,"completion_tokens":1}`, `{"prompt_tokens":9,"completion_tokens":2}`, `{"prompt_tokens":9,"completion_tokens":3}`}, llm.Usage{Prompt: n(9), Completion: n(3)}},
		"negative, huge": {[]string{`{"prompt_tokens":-9,"completion_tokens":1e300}`}, llm.Usage{}},
		"fractions":      {[]string{`{"prompt_tokens":9.0,"completion_tokens":2.0}`}, llm.Usage{Prompt: n(9), Completion: n(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			for where, form := range map[string]string{
				"top":    `{"choices":[],"usage":%s}`,
				"alone":  `{"model":"m","usage":%s}`,
				"groq":   `{"choices":[],"x_groq":{"usage":%s}}`,
				"choice": `{"choices":[{"index":0,"delta":{},"usage":%s}]}`,
			} {
				lines := []string{`{"choices":[{"delta":{"content":"x"}}]}`, end}
				for _, u := range c.in {
					lines = append(lines, fmt.Sprintf(form, u))
				}
				if d := cmp.Diff(c.want, whole(t, data(append(lines, "[DONE]")...)).Usage); d != "" {
					t.Errorf("%s (-want +got):\n%s", where, d)
				}
			}
		})
	}
}

// B182: halves of characters in deltas; a pair that was cut into two deltas is whole again.
func TestHalves(t *testing.T) {
	text := func(parts ...string) string {
		lines := make([]string, 0, len(parts)+2)
		for _, p := range parts {
			lines = append(lines, `{"choices":[{"delta":{"content":"`+p+`","reasoning":"`+p+`","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"`+p+`"}}]}}]}`)
		}
		return data(append(lines, end, "[DONE]")...)
	}
	for name, c := range map[string]struct {
		in   string
		want string
	}{
		"alone":            {text(`\ud83d`), "\uFFFD"},
		"alone, then text": {text(`\ud83d`, `x`), "\uFFFDx"},
		"low alone":        {text(`a\ude00b`), "a\uFFFDb"},
		"a pair":           {text(`\uD83D\uDE00`), "😀"},
		"a pair in two":    {text(`a\ud83d`, `\ude00b`), "a😀b"},
		"two highs":        {text(`\ud83d\ud83d\ude00`), "\uFFFD😀"},
		"high, high, low":  {text(`\ud83d`, `\ud83d`, `\ude00`), "\uFFFD😀"},
		"empty between":    {text(`\ud83d`, ``, `\ude00`), "😀"},
		"escapes":          {text(`\ud83d\n\t\"\\\/\u0041\b\f\r`), "\uFFFD\n\t\"\\/A\b\f\r"},
		"escaped slash":    {text(`\\ud83d`), `\ud83d`},
		"raw halves":       {text("a\xed\xa0\x80b"), "a\uFFFDb"},
		"raw bytes":        {text("\xff\xfe", "\xf0\x9f"), "\uFFFD\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			r := whole(t, c.in)
			if r.Text != c.want || r.Reasoning != c.want || r.ToolCalls[0].Arguments != c.want {
				t.Errorf("got %q, %q, %q, want %q", r.Text, r.Reasoning, r.ToolCalls[0].Arguments, c.want)
			}
		})
	}
	// Fields that are kept as they came must not carry halves either.
	r := whole(t, data(`{"choices":[{"delta":{"extra_content":{"a":"\ud83d","n":1.50},"tool_calls":[{"id":"c","function":{"name":"\ud83d"},"extra_content":"\ud83d"}]}}]}`, end))
	if string(r.Extra) != `{"extra_content":{"a":"`+"\uFFFD"+`","n":1.50},"vitrine_origin":"h"}` || string(r.ToolCalls[0].Extra) != `{"extra_content":"`+"\uFFFD"+`"}` || r.ToolCalls[0].Name != "\uFFFD" {
		t.Errorf("got %s, %+v", r.Extra, r.ToolCalls)
	}
}

// Rules 14, 16: comments, line ends of all kinds, a byte order mark, several data lines, fields that say nothing to us.
func TestFraming(t *testing.T) {
	plain := stream(llmtest.Text("a"), llmtest.Comment("PING"), llmtest.Text("b"), llmtest.Finish("stop"), llmtest.DoneMark())
	for name, s := range map[string]string{
		"plain":         plain,
		"CRLF":          strings.ReplaceAll(plain, "\n", "\r\n"),
		"CR":            strings.ReplaceAll(plain, "\n", "\r"),
		"mark":          "\uFEFF" + plain,
		"no space":      strings.ReplaceAll(plain, "data: ", "data:"),
		"ids":           "id: 1\nretry: 10\nevent: message\n" + plain,
		"blank lines":   "\n\n\n" + strings.ReplaceAll(plain, "\n\n", "\n\n\n\n"),
		"several lines": strings.ReplaceAll(plain, `"choices":`, "\ndata: \"choices\":\ndata:"),
		"blank events":  "data\n\ndata:\n\nevent: x\n\n" + plain,
		"bare lines":    strings.ReplaceAll(plain, "data: {", "{"),
	} {
		t.Run(name, func(t *testing.T) {
			if r := whole(t, s); r.Text != "ab" || r.Finish != "stop" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestStopsWhenTold(t *testing.T) {
	s := data(`{"choices":[{"delta":{"reasoning":"\ud83d"}}]}`, `{"choices":[{"delta":{"reasoning":"r\ud83d","content":"t\ud83d","tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}`) + ": x\n" + data(end, "[DONE]")
	for n := range 6 {
		told := 0
		d := &decoder{tell: func(llm.Chunk) bool { told++; return told <= n }, onEnd: func() {}}
		if _, err := d.decode(strings.NewReader(s)); !errors.Is(err, errStopped) || told != n+1 {
			t.Errorf("%d: error %v after %d chunks", n, err, told)
		}
	}
}

// B101: lines of 70 KB and 4 MiB are read; one beyond the limit ends with a clear error.
func TestLongLines(t *testing.T) {
	for _, size := range []int{70 << 10, 4 << 20, maxEvent - 4096} {
		args := `{"content":"` + strings.Repeat("x", size) + `"}`
		r := whole(t, stream(llmtest.CallHead(0, "c1", "write_file"), llmtest.CallArguments(0, args), llmtest.Finish("tool_calls"), llmtest.DoneMark()))
		if len(r.ToolCalls) != 1 || r.ToolCalls[0].Arguments != args {
			t.Errorf("%d: the arguments have %d bytes", size, len(r.ToolCalls[0].Arguments))
		}
	}
	for name, s := range map[string]string{
		"one line":      "data: " + strings.Repeat("x", maxEvent+1),
		"ended line":    "data: " + strings.Repeat("x", maxEvent+1) + "\n\n",
		"several lines": strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 17),
	} {
		r, e := wants(t, stream(llmtest.Text("a"))+s)
		if e.Kind != llm.ErrTooLarge || e.Retryable || e.Message != "a line of the stream is longer than 16 MiB" || r.Text != "a" {
			t.Errorf("%s: got %v, text %q", name, e, r.Text)
		}
	}
	var many strings.Builder // each line is fine, all together are not
	for range maxReply>>20 + 1 {
		many.WriteString(data(`{"choices":[{"delta":{"content":"` + strings.Repeat("x", 1<<20) + `"}}]}`))
	}
	if _, e := wants(t, many.String()); e.Kind != llm.ErrTooLarge {
		t.Errorf("got %v", e)
	}
	calls := make([]string, maxCalls+1)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"f"}}`, i, i)
	}
	if _, e := wants(t, data(`{"choices":[{"delta":{"tool_calls":[`+strings.Join(calls, ",")+`]}}]}`)); e.Kind != llm.ErrTooLarge {
		t.Errorf("got %v", e)
	}
}

// streams are whole streams of many shapes.
func streams(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/streams/*.txt")
	if err != nil || len(names) < 5 {
		t.Fatalf("streams: %v, %v", names, err)
	}
	all := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(b)
	}
	return all
}

// parts hands out a stream in the given pieces, one for each read.
type parts struct{ rest [][]byte }

func (p *parts) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[0])
	if p.rest[0] = p.rest[0][n:]; len(p.rest[0]) == 0 {
		p.rest = p.rest[1:]
	}
	return n, nil
}

// Splitting a stream at any byte gives the same reply; rule 17: also within a character.
func TestSplitAnywhere(t *testing.T) {
	for name, s := range streams(t) {
		t.Run(name, func(t *testing.T) {
			want := whole(t, s)
			for i := range len(s) {
				got, err := play(t, &parts{[][]byte{[]byte(s[:i]), []byte(s[i:])}})
				if d := cmp.Diff(want, got); err != nil || d != "" {
					t.Fatalf("split at %d: %v (-want +got):\n%s", i, err, d)
				}
			}
			got, err := play(t, iotest.OneByteReader(strings.NewReader(s)))
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Fatalf("byte by byte: %v (-want +got):\n%s", err, d)
			}
		})
	}
}

// inPieces cuts s at the given places.
func inPieces(s string, at []int) *parts {
	slices.Sort(at)
	var out [][]byte
	from := 0
	for _, n := range append(at, len(s)) {
		if n > from {
			out = append(out, []byte(s[from:n]))
		}
		from = n
	}
	return &parts{out}
}

// sameInPieces compares a stream as a whole with one that arrives in pieces.
func sameInPieces(t *rapid.T, s string) {
	want, wantErr := play(t, strings.NewReader(s))
	got, err := play(t, inPieces(s, rapid.SliceOfN(rapid.IntRange(0, len(s)), 0, 12).Draw(t, "at")))
	if d := cmp.Diff(want, got); fmt.Sprint(err) != fmt.Sprint(wantErr) || d != "" {
		t.Fatalf("%v, %v (-want +got):\n%s", wantErr, err, d)
	}
}

// Splitting any stream at any bytes gives the same reply: recorded ones, those of all scripts of misbehaving servers, and
// made up ones.
func TestSplitProperty(t *testing.T) {
	var fixed []string
	for _, s := range streams(t) {
		fixed = append(fixed, s)
	}
	names, err := filepath.Glob("testdata/providers/*.txt")
	if err != nil || len(names) < 39 {
		t.Fatalf("scripts: %v, %v", names, err)
	}
	for _, name := range names {
		script, err := llmtest.LoadScript(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range script.Streams() {
			if len(b) < 16<<10 {
				fixed = append(fixed, string(b))
			}
		}
	}
	slices.Sort(fixed)
	rapid.Check(t, func(t *rapid.T) { sameInPieces(t, rapid.SampledFrom(fixed).Draw(t, "stream")) })
	rapid.Check(t, func(t *rapid.T) { sameInPieces(t, drawStream(t)) })
}

// FuzzDecode: whatever comes in, the contract holds, and reading it byte by byte changes nothing.
func FuzzDecode(f *testing.F) {
	for _, s := range streams(f) {
		f.Add([]byte(s))
	}
	for _, s := range []string{
		deltas(entry(0, "c1", "a", ""), entry(0, "c2", "b", ""), entry(1, "", "", `{"y":2}`)),
		deltas(entry(0, "c1", "a", `{"x":1}`), entry(1, "c1", "a", `{"x":1}`), entry(-1, "", "b", "")),
		deltas(`{"index":0,"id":7,"function":{"name":"a","arguments":{"x":1}},"extra_content":"\ud83d"}`),
		"event: error\ndata: it broke\n\n", `{"error":"boom"}`, `[{"error":{"code":503}}]`, "<html>\n<h1>x</h1>", "{\n\"a\":1}",
		data(`{"error":{"message":"\u001b[31m","code":"429"}}`), data(`{"usage":{"prompt_tokens":-1},"x_groq":{"error":1}}`),
		data(`{"choices":[{"delta":{"content":[{"text":"t"},{"thinking":"r"}],"function_call":{"name":"f"}}}]}`, `{"choices":[{"finish_reason":"length","message":{"content":"m"}}]}`),
		stream(llmtest.Text("I `x` {}.\n</thi"), llmtest.Text("nk>\n"), llmtest.Text("{\"a\":1}"), llmtest.Finish("stop")),
		"data: {\"choices\":\r\rdata\r\n:x\r\ndata:\n\n", "data: [DONE]", "\uFEFF: \n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want, err := play(t, bytes.NewReader(b))
		got, err2 := play(t, iotest.OneByteReader(bytes.NewReader(b)))
		if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("errors differ: %v and %v", err, err2)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("replies differ:\n%s", d)
		}
		both(t, string(b))
		thinker := generic(habits{})
		thinker.MayThink = true
		for _, req := range []llm.Request{{}, {Openings: []string{"{", "```", "Final Answer"}}} {
			want, err := playIn(t, thinker, req, false, bytes.NewReader(b))
			got, err2 := playIn(t, thinker, req, false, iotest.HalfReader(bytes.NewReader(b)))
			if (err == nil) != (err2 == nil) || !cmp.Equal(want, got) {
				t.Fatalf("a model that may think: %v and %v, %s", err, err2, cmp.Diff(want, got))
			}
		}
	})
}
