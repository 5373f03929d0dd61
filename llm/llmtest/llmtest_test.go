package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"vitrine/llm"
)

func TestMain(m *testing.M) {
	if os.Getenv("LLMTEST_BROKEN") == "" {
		goleak.VerifyTestMain(m)
	}
	os.Exit(m.Run())
}

// post sends a body to a server and reads the whole answer.
func post(t *testing.T, s *Server, body string) (status int, header http.Header, answer string, err error) {
	t.Helper()
	c := http.Client{Transport: s.Transport()}
	defer c.CloseIdleConnections()
	resp, err := c.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(b), err
}

const fine = `{"model":"m","stream":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`

func TestServer(t *testing.T) {
	s := NewServer()
	defer s.Close()
	s.Push(Answer("hello, world"), Refuse(429, "").RetryAfter("3"), Page(502, "text/html", "<h1>x</h1>"),
		Stream(Text("ab")).SplitAt(3, 3, 1<<30), Stream(Raw("x")).Cut(Close), Stream(Raw("x")).Cut(Reset), Reply{})
	if s.Left() != 7 {
		t.Errorf("%d left", s.Left())
	}
	status, h, body, err := post(t, s, fine)
	if err != nil || status != 200 || h.Get("Content-Type") != "text/event-stream" || body != string(Answer("hello, world").Bytes()) || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("got %d %v %q %v", status, h, body, err)
	}
	if status, h, body, _ = post(t, s, fine); status != 429 || h.Get("Retry-After") != "3" || body != `{"error":{"message":"Too Many Requests","type":"test"}}` {
		t.Errorf("got %d %v %q", status, h, body)
	}
	if status, h, body, _ = post(t, s, fine); status != 502 || h.Get("Content-Type") != "text/html" || body != "<h1>x</h1>" {
		t.Errorf("got %d %v %q", status, h, body)
	}
	if _, _, body, err = post(t, s, fine); err != nil || body != string(Stream(Text("ab")).Bytes()) {
		t.Errorf("got %q %v", body, err)
	}
	for range 2 {
		if _, _, _, err = post(t, s, fine); err == nil {
			t.Error("a broken connection gave no error")
		}
	}
	if status, _, body, err = post(t, s, fine); status != 200 || body != "" || err != nil {
		t.Errorf("got %d %q %v", status, body, err)
	}
	if status, _, body, _ = post(t, s, fine); status != 500 || !strings.Contains(body, "no more replies") {
		t.Errorf("got %d %q", status, body)
	}
	s.Handle(func(r Request) Reply { return Answer(r.Last("user") + r.Last("tool") + r.Model) })
	if _, _, body, _ = post(t, s, fine); !strings.Contains(body, `"um"`) {
		t.Errorf("got %q", body)
	}
	requests := s.Requests()
	if r := requests[0]; len(requests) != 9 || string(r.Body) != fine || !r.Stream || r.Model != "m" || len(r.Messages) != 2 || r.Fields["stream"] == nil || r.Header.Get("Content-Type") != "application/json" || r.Problem != nil {
		t.Errorf("%d requests, the first %+v", len(requests), r)
	}
	resp, err := http.Get(s.URL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(b) != `{"data":[{"id":"test-model","object":"model"}],"object":"list"}` {
		t.Errorf("models: %s", b)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A scenario becomes the bytes of a stream.
func TestScenarioOnTheWire(t *testing.T) {
	s := NewServer()
	defer s.Close()
	Scenario{Repeat: true, Plays: []Play{
		{End: EndFail, Status: 503},
		{Text: []string{"half"}, End: EndCut},
		{Reasoning: []string{"r"}, Text: []string{"t"}, Calls: []llm.ToolCall{{Name: "f", Arguments: `{"a":"123456"}`}}, Usage: llm.Usage{Prompt: num(3), Reasoning: num(1), Cached: num(2)}},
	}}.Serve(s)
	if status, _, _, err := post(t, s, fine); status != 503 || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
	if _, _, _, err := post(t, s, fine); err == nil {
		t.Error("a cut reply is whole")
	}
	for range 2 {
		_, _, body, err := post(t, s, fine)
		for _, part := range []string{`"reasoning_content":"r"`, `"content":"t"`, `"name":"f"`, `"arguments":"{\"a\":\"1"`, `"finish_reason":"tool_calls"`, `"cached_tokens":2`, `"reasoning_tokens":1`, "data: [DONE]"} {
			if !strings.Contains(body, part) {
				t.Errorf("%s is missing in %s, %v", part, body, err)
			}
		}
	}
	s.SetModels(Ask(llm.ToolCall{ID: "c", Name: "f", Arguments: "{}"}).Status(500).Header("X-Test", "1").Header("X-More", "2"))
	resp, err := http.Get(s.URL() + "/models")
	if err != nil || resp.StatusCode != 500 || resp.Header.Get("X-Test")+resp.Header.Get("X-More") != "12" {
		t.Errorf("got %+v, %v", resp, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	_, _, _, err = post(t, serverThatHangs(t), fine)
	if err == nil {
		t.Error("a hanging reply is whole")
	}
}

// serverThatHangs makes a server that is closed while it plays a hanging reply.
func serverThatHangs(t *testing.T) *Server {
	s := NewServer()
	Scenario{Plays: []Play{{Text: []string{"x"}, End: EndHang}}}.Serve(s)
	s.OnRequest(func() { time.AfterFunc(5*time.Millisecond, s.Close) })
	t.Cleanup(s.Close)
	return s
}

func TestStrictServer(t *testing.T) {
	s := NewServer().Strict()
	defer s.Close()
	s.Push(Answer("ok"))
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"u"}]}`,
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"}]}`,
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"assistant","content":"a"},{"role":"user","content":"u"}]}`,
		`{"model":"\ud83d","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`,
		"{\"model\":\"\xff\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"u\"}]}",
		`no JSON`, `[]`, `{}`,
	} {
		status, _, answer, err := post(t, s, body)
		if err != nil || status != 400 || !strings.Contains(answer, "invalid history: ") {
			t.Errorf("%s: %d %s %v", body, status, answer, err)
		}
	}
	if status, _, _, _ := post(t, s, fine); status != 200 || s.Left() != 0 || len(s.Requests()) != 9 {
		t.Errorf("a fine request gives %d", status)
	}
}

func TestServerEndsHeldConnections(t *testing.T) {
	left := make(chan struct{}, 4)
	s := NewServer()
	s.Push(Stream(Text("x")).Hold().OnLeave(func() { left <- struct{}{} }), Silent().OnLeave(func() { left <- struct{}{} }),
		Answer("x").After(time.Hour), Stream(Text("x").After(time.Hour)))
	arrived := make(chan struct{}, 4)
	s.OnRequest(func() { arrived <- struct{}{} })
	ended := make(chan error, 4)
	for range 4 {
		go func() {
			_, _, _, err := post(t, s, fine)
			ended <- err
		}()
		<-arrived
	}
	s.Close()
	s.Close()
	for range 4 {
		if err := <-ended; err == nil {
			t.Error("a reply that was never sent has no error")
		}
	}
	<-left
	<-left
	if _, _, _, err := post(t, s, fine); err == nil {
		t.Error("a closed server answers")
	}
	if s.enter() {
		t.Error("a closed server counts requests in")
	}
	s.serveModels(nil, nil) // and plays nothing
	s.serveCompletion(nil, nil)
}

func TestServerSeesClientLeave(t *testing.T) {
	s := NewServer()
	defer s.Close()
	for _, r := range []Reply{Stream(Text("x")).Hold(), Silent(), Answer("x").After(time.Hour), Stream(Text("x"), Text("y").After(time.Hour)), Stream(endless()...)} {
		ctx, cancel := context.WithCancel(t.Context())
		s.OnRequest(func() { time.AfterFunc(5*time.Millisecond, cancel) })
		s.Push(r)
		req, err := http.NewRequestWithContext(ctx, "POST", s.URL()+"/chat/completions", strings.NewReader(fine))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			<-ctx.Done()
			resp.Body.Close()
		} else if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// endless is more than any buffer takes in.
func endless() []Step {
	steps := make([]Step, 64)
	for i := range steps {
		steps[i] = Raw(strings.Repeat("x", 1<<20))
	}
	return steps
}

func TestBrokenUpload(t *testing.T) {
	s := NewServer()
	defer s.Close()
	c := http.Client{Transport: s.Transport()}
	defer c.CloseIdleConnections()
	if _, err := c.Post(s.URL()+"/chat/completions", "", io.MultiReader(strings.NewReader("{"), brokenReader{})); err == nil || len(s.Requests()) != 0 {
		t.Errorf("error %v, %d requests", err, len(s.Requests()))
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestPipeServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewPipeServer()
		s.Push(Stream(Text("x").After(time.Hour), Text("y").After(time.Hour)), Stream(Raw("x")).Cut(Reset))
		began := time.Now()
		if _, _, body, err := post(t, s, fine); err != nil || body != string(Stream(Text("x"), Text("y")).Bytes()) || time.Since(began) != 2*time.Hour {
			t.Errorf("got %q %v after %s", body, err, time.Since(began))
		}
		if _, _, _, err := post(t, s, fine); err == nil || s.URL() != "http://pipe.test/v1" || s.ln.Addr().Network() != "pipe" {
			t.Errorf("a broken connection gave %v", err)
		}
		s.Close()
		if _, _, _, err := post(t, s, fine); err == nil {
			t.Error("a closed server answers")
		}
		p := &pipes{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.dial(ctx, "", ""); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestValidHistory(t *testing.T) {
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{\"x\":1}"}}]}`
	const start = `{"role":"system","content":"s"},{"role":"user","content":"u"}`
	const a, b = `{"role":"tool","tool_call_id":"a","content":"r"}`, `{"role":"tool","tool_call_id":"b","content":"r"}`
	with := func(args, more string) string {
		return start + `,{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":` + args + `}}` + more + `]},` + a
	}
	for _, c := range []struct{ in, problem string }{
		{start, ""},
		{start + "," + call + "," + a + "," + b, ""},
		{start + "," + call + "," + b + "," + a + `,{"role":"assistant","content":"x"},{"role":"user","content":"u"}`, ""},
		{with(`"{\"a\":\"\\\\ud83d\"}"`, ""), ""},
		{with(`"{\"a\":\"\\ud83d\\ude00\"}"`, ""), ""},
		{`{"role":"system","content":"\ud83d\ude00 \\ud83d \u0041"},{"role":"user","content":"\\\\"}`, ""},
		{``, "no messages"},
		{`{"role":"user","content":"u"}`, "messages[0] (user): there must be one system message, in front"},
		{start + `,{"role":"system","content":"s"}`, "messages[2] (system): there must be one system message, in front"},
		{start + `,{"role":"user","content":"u"}`, "messages[2] (user): two user messages in a row"},
		{start + "," + a, `messages[2] (tool): it answers "a", which is not open`},
		{start + "," + call + "," + a, "call b is not answered"},
		{start + "," + call + "," + a + "," + a, `messages[4] (tool): it answers "a", which is not open`},
		{start + "," + call + "," + a + `,{"role":"user","content":"u"}`, "messages[4] (user): call b is not answered"},
		{start + "," + call + "," + a + `,{"role":"assistant","content":"x"}`, "messages[4] (assistant): call b is not answered"},
		{start + "," + call + "," + a + "," + b + "," + call, `messages[5] (assistant): the id "a" of a call is empty or used twice`},
		{start + "," + call + "," + a + "," + b + `,{"role":"user","content":"u"},` + b, `messages[6] (tool): it answers "b", which is not open`},
		{start + `,{"role":"assistant","content":""}`, "messages[2] (assistant): neither text nor calls"},
		{start + `,{"role":"assistant","content":null}`, "messages[2] (assistant): no content"},
		{`{"role":"system","content":"s"},{"role":"user"}`, "messages[1] (user): no content"},
		{start + `,{"role":"narrator","content":"x"}`, "messages[2] (narrator): unknown role"},
		{with(`"{\"a\":"`, ""), "messages[2] (assistant): the arguments of call a are no JSON object"},
		{with(`"[]"`, ""), "messages[2] (assistant): the arguments of call a are no JSON object"},
		{with(`"{\"a\":\"\\ud83d\"}"`, ""), "messages[2] (assistant): the arguments of call a hold half a character"},
		{with(`"{}"`, `,{"id":"","function":{"name":"f","arguments":"{}"}}`), `messages[2] (assistant): the id "" of a call is empty or used twice`},
		{with(`"{}"`, `,{"id":"c","function":{"name":"","arguments":"{}"}}`), "messages[2] (assistant): call c has no name"},
		{`{"role":"system","content":"\ud83d"}`, `the messages hold half a character: \ud83d`},
		{`{"role":"system","content":"\ude00"}`, `the messages hold half a character: \ude00`},
		{`{"role":"system","content":"\ud83d x \ude00"}`, `the messages hold half a character: \ud83d`},
		{`{"role":"system","content":"\ud83d\u0041"}`, `the messages hold half a character: \ud83d`},
		{"{\"role\":\"system\",\"content\":\"\xed\xa0\x80\"}", "the messages are no valid UTF-8"},
	} {
		got := ""
		if err := ValidHistory([]byte("[" + c.in + "]")); err != nil {
			got = err.Error()
		}
		if d := cmp.Diff(c.problem, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.in, d)
		}
	}
	for _, odd := range []string{`{}`, `[{"role":1}]`, ``, with(`{}`, "")} {
		if ValidHistory([]byte(odd)) == nil {
			t.Errorf("%s is taken for a history", odd)
		}
	}
}

func TestEvents(t *testing.T) {
	for want, s := range map[string]Step{
		"data: x\n\n":         Event("x"),
		"data: {\"a\":1}\n\n": Event([]byte(nil)),
		": x\n\n":             Comment("x"),
	} {
		if strings.Contains(want, `"a"`) {
			s = Event(struct {
				A int `json:"a"`
			}{1})
		}
		if s.data != want {
			t.Errorf("got %q, want %q", s.data, want)
		}
	}
	if s := Event(rawJSON(`{"a": 1}`)); s.data != "data: {\"a\": 1}\n\n" {
		t.Errorf("got %q", s.data)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Event(make(chan int))
}

// A scenario played by a client of our own passes the suite; clients that break the contract do not.
func TestContract(t *testing.T) {
	chunks := func(list ...llm.Chunk) []link {
		var out []link
		for _, c := range list {
			out = append(out, link{c, nil})
		}
		return out
	}
	done := llm.Chunk{Done: &llm.Done{Finish: "stop"}}
	calls := func(c ...llm.ToolCall) llm.Chunk { return llm.Chunk{Done: &llm.Done{ToolCalls: c}} }
	minus := -1
	for name, c := range map[string]struct {
		links  []link
		broken string
	}{
		"fine":            {chunks(llm.Chunk{Text: "a"}, llm.Chunk{}, done), ""},
		"fine error":      {[]link{{llm.Chunk{}, &llm.Error{Kind: "cut", Message: "m"}}}, ""},
		"cancelled":       {[]link{{llm.Chunk{}, context.Canceled}}, ""},
		"never ends":      {chunks(llm.Chunk{Text: "a"}), "without Done"},
		"goes on":         {chunks(done, llm.Chunk{Text: "a"}), "follows the end"},
		"done twice":      {chunks(done, done), "follows the end"},
		"invalid text":    {chunks(llm.Chunk{Text: "\xff"}, done), "valid UTF-8"},
		"invalid delta":   {chunks(llm.Chunk{CallDelta: &llm.CallDelta{Arguments: "\xff"}}, done), "valid UTF-8"},
		"invalid call":    {chunks(calls(llm.ToolCall{ID: "a", Name: "\xff"})), "valid UTF-8"},
		"two parts":       {chunks(llm.Chunk{Text: "a", Reasoning: "b"}, done), "several parts"},
		"ids":             {chunks(calls(llm.ToolCall{ID: "a"}, llm.ToolCall{ID: "a"})), "there twice"},
		"no id":           {chunks(calls(llm.ToolCall{})), "empty"},
		"bad extra":       {chunks(calls(llm.ToolCall{ID: "a", Extra: rawJSON("{")})), "no JSON"},
		"bad reply extra": {chunks(llm.Chunk{Done: &llm.Done{Extra: rawJSON("{")}}), "no JSON"},
		"tokens":          {chunks(llm.Chunk{Done: &llm.Done{Usage: llm.Usage{Prompt: &minus}}}), "negative"},
		"chunk and error": {[]link{{llm.Chunk{Text: "a"}, context.Canceled}}, "beside an error"},
		"odd error":       {[]link{{llm.Chunk{}, errors.New("odd")}}, "neither"},
		"no kind":         {[]link{{llm.Chunk{}, &llm.Error{Message: "m"}}}, "no kind"},
		"not clean":       {[]link{{llm.Chunk{}, &llm.Error{Kind: "cut", Message: "a\x1b[1mb"}}}, "not clean"},
	} {
		t.Run(name, func(t *testing.T) {
			probe := &recorder{TB: t}
			Record(probe, func(yield func(llm.Chunk, error) bool) {
				for _, l := range c.links {
					if !yield(l.chunk, l.err) {
						return
					}
				}
			})
			if c.broken == "" && probe.said != "" || !strings.Contains(probe.said, c.broken) {
				t.Errorf("the contract says %q, want %q", probe.said, c.broken)
			}
		})
	}
	probe := &recorder{TB: t}
	check(probe, Play{Text: []string{"a"}, Reasoning: []string{"r"}, Usage: llm.Usage{Prompt: num(1)}, Calls: []llm.ToolCall{{Name: "f"}}}, llm.Reply{})
	for _, part := range []string{"text", "reasoning", "finish", "usage", "calls"} {
		if !strings.Contains(probe.said, part) {
			t.Errorf("%s is not compared: %s", part, probe.said)
		}
	}
}

type link struct {
	chunk llm.Chunk
	err   error
}

type rawJSON = json.RawMessage

// recorder notes what a test would have said.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	var b bytes.Buffer
	b.WriteString(format)
	for _, a := range args {
		if s, ok := a.(string); ok {
			b.WriteString(s)
		}
	}
	r.said += b.String() + "\n"
}
