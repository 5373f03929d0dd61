package llmtest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func script(t *testing.T, text string) *Script {
	t.Helper()
	s, err := ParseScript("s", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A script plays request by request what it says.
func TestScript(t *testing.T) {
	s := script(t, `
# A server with every habit.
always
  reject 422 {"detail":"no temperature"} if has temperature
request
  require messages[-1].role is "user"
  status 201
  header X-Test: a: b
  reasoning "hm\n"
  text "Hel"
  text "lo"
  times 2
  call 0 c1 calculator
  call 1 - todo
  args 0 "{\"a\": 1}"
  finish tool_calls
  usage 10 2 -
  comment PING
  data {"odd":true}
  raw "x\n"
  done
request 2
  body {"ok":true}
request repeat
  status 503
  body no
`)
	srv := NewServer()
	defer srv.Close()
	s.Serve(srv)
	if s.Left() != 3 {
		t.Errorf("%d left", s.Left())
	}
	if status, _, body, _ := post(t, srv, `{"temperature":0,"messages":[{"role":"user"}]}`); status != 422 || body != `{"detail":"no temperature"}` {
		t.Errorf("refused: %d %s", status, body)
	}
	if status, _, body, _ := post(t, srv, `{"messages":[{"role":"tool"}]}`); status != 400 || !strings.Contains(body, `the script requires: messages[-1].role is \"user\"`) {
		t.Errorf("required: %d %s", status, body)
	}
	status, h, body, err := post(t, srv, fine)
	want := string(Stream(Reasoning("hm\n"), Text("Hel"), Text("lo"), Text("lo"), CallHead(0, "c1", "calculator"), CallHead(1, "", "todo"), CallArguments(0, `{"a": 1}`),
		Finish("tool_calls"), Usage(10, 2, -1), Comment("PING"), Event(`{"odd":true}`), Raw("x\n"), DoneMark()).Bytes())
	if d := cmp.Diff(want, body); err != nil || status != 201 || h.Get("X-Test") != "a: b" || d != "" {
		t.Errorf("%d %v %v (-want +got):\n%s", status, h, err, d)
	}
	for left := range 2 {
		if s.Left() != 2-left {
			t.Errorf("%d left", s.Left())
		}
		if _, h, body, _ := post(t, srv, fine); body != `{"ok":true}` || h.Get("Content-Type") != "application/json" {
			t.Errorf("got %s %v", body, h)
		}
	}
	for range 3 {
		if status, _, body, _ := post(t, srv, fine); status != 503 || body != "no" {
			t.Errorf("got %d %s", status, body)
		}
	}
	if d := cmp.Diff([]string{`messages[-1].role is "user"`}, s.Problems()); d != "" || s.Left() != 0 {
		t.Errorf("%d left, problems:\n%s", s.Left(), d)
	}
	short := script(t, "request\n text \"a\"\n")
	short.Serve(srv)
	_, _, _, _ = post(t, srv, fine)
	if status, _, _, _ := post(t, srv, fine); status != 500 || len(short.Problems()) != 1 {
		t.Errorf("beyond the end: %d, %v", status, short.Problems())
	}
}

// How it is sent: in small writes, with other line ends, with waits, cut, held, silent.
func TestScriptShapes(t *testing.T) {
	srv := NewServer()
	defer srv.Close()
	play := func(text string) (string, error) {
		script(t, "request\n"+text).Serve(srv)
		_, _, body, err := post(t, srv, fine)
		return body, err
	}
	if body, err := play("text \"ab\"\ncrlf\nsplit 3\ndone"); err != nil || body != strings.ReplaceAll(string(Stream(Text("ab"), DoneMark()).Bytes()), "\n", "\r\n") {
		t.Errorf("%q %v", body, err)
	}
	for _, end := range []string{"close", "reset"} {
		if _, err := play("text \"ab\"\n" + end); err == nil {
			t.Errorf("%s leaves the answer whole", end)
		}
	}
	began := time.Now()
	if body, err := play("wait 20ms\ntext \"a\"\nwait 10ms\nwait 10ms\ntext \"b\""); err != nil || time.Since(began) < 40*time.Millisecond || !strings.Contains(body, `"b"`) {
		t.Errorf("%q %v after %s", body, err, time.Since(began))
	}
	for _, end := range []string{"hold", "silent"} {
		script(t, "request\ntext \"a\"\n"+end).Serve(srv)
		c := http.Client{Transport: srv.Transport(), Timeout: 50 * time.Millisecond}
		resp, err := c.Post(srv.URL()+"/chat/completions", "", strings.NewReader(fine))
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != (end == "hold") {
			t.Errorf("%s: %v", end, err)
		}
		c.CloseIdleConnections()
	}
}

// The demands of a script stand guard over what other replies there are.
func TestScriptGuards(t *testing.T) {
	srv := NewServer()
	defer srv.Close()
	s := script(t, "always\nreject 422 no if has stream_options\nrequire has model\nrequest\ntext \"x\"")
	s.Guard(srv)
	srv.Push(Answer("a"))
	srv.Handle(func(Request) Reply { return Answer("b") })
	for body, want := range map[string]int{`{"stream_options":{},"model":"m"}`: 422, `{}`: 400} {
		if status, _, _, _ := post(t, srv, body); status != want {
			t.Errorf("%s: %d", body, status)
		}
	}
	for _, want := range []string{"a", "b"} {
		if status, _, body, _ := post(t, srv, fine); status != 200 || !strings.Contains(body, `"`+want+`"`) {
			t.Errorf("%d %s", status, body)
		}
	}
	if len(s.Problems()) != 1 || s.Left() != 1 {
		t.Errorf("%v, %d left", s.Problems(), s.Left())
	}
}

func TestScriptStreams(t *testing.T) {
	got := script(t, "request\ntext \"a\"\ncrlf\nrequest 3\ndone").Streams()
	if len(got) != 2 || string(got[1]) != "data: [DONE]\n\n" || !strings.HasSuffix(string(got[0]), "}\r\n\r\n") {
		t.Errorf("%q", got)
	}
}

func TestScriptErrors(t *testing.T) {
	for in, want := range map[string]string{
		"text \"a\"":                             "s:1: text stands outside of a request",
		"\n# x\nrequest\nsay a":                  "s:4: say is no command",
		"request 0":                              `s:1: "0" is neither`,
		"request\ntext a":                        "s:2: a is no text in quotes",
		"request\ncall x c1 f":                   `s:2: "x c1 f" is not INDEX ID NAME`,
		"request\nargs 0 x":                      `s:2: "0 x" is not INDEX and a text`,
		"request\nusage 1 2 3 4":                 `is not PROMPT COMPLETION CACHED`,
		"request\nusage a":                       `is not PROMPT COMPLETION CACHED`,
		"request\nwait soon":                     `"soon" is no duration`,
		"request\nstatus ok":                     `"ok" is no number from 100 on`,
		"request\nheader x":                      `"x" is not NAME: VALUE`,
		"request\ntimes 0":                       `"0" is no number from 1 on`,
		"request\nsplit 0":                       `"0" is no number from 1 on`,
		"request\ndone x":                        `"x" is too much`,
		"request\nhold x":                        `"x" is too much`,
		"request\ncrlf x":                        `"x" is too much`,
		"always x":                               `"x" is too much`,
		"always\nreject 400 {}":                  `is not STATUS BODY if CONDITION`,
		"always\nreject 200 {} if has a":         `is not STATUS BODY if CONDITION`,
		"always\nrequire has":                    `"has" names no place`,
		"always\nrequire has a b":                `names no place`,
		"always\nrequire a is b":                 `"b" is no JSON`,
		"always\nrequire a matches (":            `error parsing regexp`,
		"always\nrequire a equals b":             `is no condition`,
		"always\nreject 400 x if has a and nope": `is no condition`,
	} {
		if _, err := ParseScript("s", in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

func TestCondition(t *testing.T) {
	r := Request{
		Header: http.Header{"Api-Key": {"k"}}, Path: "/v1/chat/completions", Query: map[string][]string{"api-version": {"2"}},
		Body: []byte(`{"a":{"b":[{"c":1},{"c":"x"},{"d":null}]},"n":null,"t":true,"s":"text"}`),
	}
	for in, want := range map[string]bool{
		"has a": true, "lacks a": false, "has n": false, "lacks n": true, "has a.b[0].c": true, "has a.b[-2].c": true, "has a.b[2].d": false, "has a.b[9]": false, "has a.b[x]": false, "has t.x": false,
		"t is true": true, "t is 1": false, "a.b[0].c is 1": true, `s is "text"`: true, "s matches ^te": true, "s matches ^x": false, "a.b[0] matches \"c\":1": true, "z is 1": false, "not z is 1": true,
		"a.b[*].c is 1": false, "any a.b[*].c is 1": true, "any a.b[*].c is 2": false, "not any a.b[*].c matches x": false, "a.b[*].c matches [1x]": true,
		`header.api-key is "k"`: true, "has header.authorization": false, `query.api-version is "2"`: true, "lacks query.x": true, "path matches /v1/": true, "body matches \"s\":": true,
		"has a and t is true": true, "has a and t is false": false, "not has a": false, "has z and has a": false,
	} {
		c, err := parseCondition(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.holds(r); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
	if c, _ := parseCondition("has a"); c.holds(Request{Body: []byte("no")}) {
		t.Error("a body that is no JSON has a field")
	}
}

func TestLoadScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.txt")
	if _, err := LoadScript(path); err == nil {
		t.Error("a file that is not there was read")
	}
	if err := os.WriteFile(path, []byte("request\ntext \"a\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := LoadScript(path); err != nil || s.Left() != 1 {
		t.Errorf("%v", err)
	}
}

// Other paths have an answer of their own, and requests tell theirs.
func TestElsewhere(t *testing.T) {
	srv := NewServer()
	defer srv.Close()
	c := http.Client{Transport: srv.Transport()}
	defer c.CloseIdleConnections()
	base := strings.TrimSuffix(srv.URL(), "/v1")
	get := func(path string) int {
		resp, err := c.Post(base+path, "application/json", strings.NewReader(fine))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	srv.Push(Answer("x"))
	if get("/nowhere") != 404 || get("/deep/er/chat/completions?a=b") != 200 {
		t.Error("other statuses")
	}
	if r := srv.Requests()[0]; r.Path != "/deep/er/chat/completions" || r.Query.Get("a") != "b" {
		t.Errorf("got %s %v", r.Path, r.Query)
	}
	srv.SetElsewhere(Page(200, "application/json", "{}"))
	if get("/nowhere") != 200 {
		t.Error("the answer elsewhere was not changed")
	}
}

// FuzzScript: a script is read or refused, and plays without a panic.
func FuzzScript(f *testing.F) {
	f.Add("always\nreject 400 x if has a\nrequest 2\ntext \"a\"\ntimes 2\nsplit 3\ncrlf\n")
	f.Add("request repeat\nrequire any a[*].b is 1 and not c matches x\nusage - 1")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 || strings.Contains(text, "times") && len(text) > 200 {
			return
		}
		s, err := ParseScript("s", text)
		if err != nil {
			return
		}
		for range 3 {
			s.answer(Request{Body: []byte(`{"a":[{"b":1}],"c":"x"}`)})
		}
		_, _ = s.Problems(), s.Left()
	})
}
