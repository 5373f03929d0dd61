package record

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/openai"
	"vitrine/runtime/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-verysecret/0123456789+ab"

func realClock() clock.Clock { return clock.NewReal(nil) }

// outcome is all that a client tells of a request.
type outcome struct {
	Reply llm.Reply
	Err   string
	Kind  llm.ErrorKind
	After time.Duration
}

func ask(ctx context.Context, t testing.TB, c llm.Client, req llm.Request) outcome {
	reply, err := llmtest.Record(t, c.Stream(ctx, req))
	o := outcome{Reply: reply}
	var e *llm.Error
	if errors.As(err, &e) {
		o.Kind, o.After = e.Kind, e.RetryAfter
	}
	if err != nil {
		o.Err = err.Error()
	}
	return o
}

// recorded plays replies to a client that records, one request each, and gives the file and what came out.
func recorded(t testing.TB, requests []llm.Request, replies ...llmtest.Reply) (path string, told []outcome) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "traffic.jsonl")
	r, err := Create(path, realClock(), NewSecrets(key))
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.NewServer()
	srv.Push(replies...)
	c := openai.New(openai.Config{BaseURL: srv.URL(), Key: key, Wrap: r.Over})
	for _, req := range requests {
		told = append(told, ask(t.Context(), t, c, req))
	}
	c.Close()
	srv.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return path, told
}

// replayed sends requests to a recording, without a server.
func replayed(t testing.TB, path string, pace float64, requests ...llm.Request) (told []outcome, left int) {
	t.Helper()
	p, err := Open(path, realClock(), pace, NewSecrets("another-key"))
	if err != nil {
		t.Fatal(err)
	}
	base, model, err := Source(path)
	if err != nil || model != "test-model" {
		t.Fatalf("source: %q, %q, %v", base, model, err)
	}
	c := openai.New(openai.Config{BaseURL: base, Key: "another-key", Transport: p})
	for _, req := range requests {
		told = append(told, ask(t.Context(), t, c, req))
	}
	return told, p.Left()
}

func saying(text string) llm.Request {
	req := llmtest.SuiteRequest()
	req.Messages[1].Content = text
	return req
}

// TestReplayIsTheSame: whatever a server did, the recording does again.
func TestReplayIsTheSame(t *testing.T) {
	whole := llmtest.Answer("Hello 世界 👩‍👩‍👧, this is whole")
	cases := map[string]llmtest.Reply{
		"text":        whole,
		"split":       whole.SplitAt(1, 7, 99, 100, 101, 102, 150, 151, 152, 153, 300),
		"call":        llmtest.Ask(llm.ToolCall{ID: "c1", Name: "calculator", Arguments: `{"expression":"1<2"}`}),
		"reset":       llmtest.Stream(llmtest.Text("half")).Cut(llmtest.Reset),
		"closed":      llmtest.Stream(llmtest.Text("half")).Cut(llmtest.Close),
		"ends early":  llmtest.Stream(llmtest.Text("half")),
		"error":       llmtest.Stream(llmtest.Text("half"), llmtest.Event(`{"error":{"message":"overloaded","code":503}}`)),
		"429":         llmtest.Refuse(429, "").RetryAfter("7"),
		"429 by date": llmtest.Refuse(429, "").RetryAfter("Mon, 02 Jan 2034 15:04:05 GMT").Header("Date", "Mon, 02 Jan 2034 15:04:00 GMT"),
		"429, limits": llmtest.Refuse(429, "").Header("X-RateLimit-Remaining-Tokens", "0").Header("X-RateLimit-Reset-Tokens", "7s"),
		"429, draft":  llmtest.Refuse(429, "").Header("RateLimit-Remaining", "0").Header("RateLimit-Reset", "7"),
		"500 page":    llmtest.Page(502, "text/html", "<html><h1>Bad Gateway</h1></html>"),
		"no stream":   llmtest.Page(200, "application/json", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`),
		"redirect":    llmtest.Page(302, "text/plain", "moved").Header("Location", "https://elsewhere.test/v1"),
		"no UTF-8":    llmtest.Stream(llmtest.Raw("data: {\"choices\":[{\"delta\":{\"content\":\"a\xff\xfeb\"}}]}\n\n"), llmtest.Finish("stop"), llmtest.DoneMark()),
		"empty":       llmtest.Stream(),
	}
	for name, reply := range cases {
		t.Run(name, func(t *testing.T) {
			req := saying(name)
			path, want := recorded(t, []llm.Request{req}, reply)
			got, left := replayed(t, path, 0, req)
			host := regexpHost(want[0].Err)
			for i := range got {
				got[i].Err = strings.ReplaceAll(got[i].Err, regexpHost(got[i].Err), host)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-recorded +replayed:\n%s", d)
			}
			if left != 0 {
				t.Errorf("%d are left", left)
			}
		})
	}
}

// regexpHost is the host that an error starts with, empty when there is none.
func regexpHost(s string) string {
	host, _, _ := strings.Cut(s, ": ")
	if strings.Contains(host, "127.0.0.1") {
		return host
	}
	return ""
}

// TestReplayOfNoAnswer: a server that is not there is not there in the replay either, and one that cannot be spoken to is told of in the same
// words.
func TestReplayOfNoAnswer(t *testing.T) {
	fails := func(text string) func(http.RoundTripper) http.RoundTripper {
		return func(http.RoundTripper) http.RoundTripper { return failing(text) }
	}
	for name, inner := range map[string]func(http.RoundTripper) http.RoundTripper{
		"refused": func(rt http.RoundTripper) http.RoundTripper { return rt },
		"proxy":   fails("the proxy answered HTTP 407: proxy authentication required"), "no proxy": fails("proxyconnect tcp: dial tcp 1.2.3.4:5: connect: connection refused"),
		"reset": fails("read tcp 1.2.3.4:5->1.2.3.4:6: read: connection reset by peer"), "signed": fails("tls: failed to verify certificate: x509: certificate signed by unknown authority"),
		"https": fails("http: server gave HTTP response to HTTPS client"), "no web": fails(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH"`),
	} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		r, err := Create(path, realClock(), Secrets{})
		if err != nil {
			t.Fatal(err)
		}
		req := saying("x")
		c := openai.New(openai.Config{BaseURL: "http://127.0.0.1:1/v1", Wrap: func(rt http.RoundTripper) http.RoundTripper { return r.Over(inner(rt)) }})
		want := ask(t.Context(), t, c, req)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		got, _ := replayed(t, path, 0, req)
		if d := cmp.Diff(want, got[0]); d != "" || want.Kind != llm.ErrConnect || strings.Contains(want.Err, "1.2.3.4") {
			t.Errorf("%s: %s\n-recorded +replayed:\n%s", name, want.Err, d)
		}
	}
}

// failing is a transport that never gets an answer.
type failing string

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New(string(f)) }

// TestLeftStreamHolds: where the program left, the replay waits until it leaves again.
func TestLeftStreamHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	r, err := Create(path, realClock(), Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.NewServer()
	defer srv.Close()
	srv.Push(llmtest.Stream(llmtest.Text("first")).Hold())
	leave := func(c llm.Client) (string, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var text string
		for ch, err := range c.Stream(ctx, saying("x")) {
			if err != nil {
				return text, err
			}
			if text += ch.Text; text != "" {
				cancel()
			}
		}
		return text, nil
	}
	c := openai.New(openai.Config{BaseURL: srv.URL(), Wrap: r.Over})
	text, err := leave(c)
	c.Close()
	if e := r.Close(); text != "first" || !errors.Is(err, context.Canceled) || e != nil {
		t.Fatalf("%q, %v, %v", text, err, e)
	}
	p, err := Open(path, realClock(), 0, Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		got := ask(ctx, t, openai.New(openai.Config{BaseURL: "http://x.test/v1", Transport: p}), saying("x"))
		if took := time.Since(began); got.Reply.Text != "first" || took != time.Minute || got.Err != context.DeadlineExceeded.Error() {
			t.Errorf("replayed: %+v after %v", got, took)
		}
	})
}

// TestDifferenceIsNamed: the first field that differs, and both values.
func TestDifferenceIsNamed(t *testing.T) {
	req := saying("what is 1+1, and what else is there to know about it?")
	path, _ := recorded(t, []llm.Request{req, saying("second")}, llmtest.Answer("2"), llmtest.Answer("3"))
	change := func(f func(*llm.Request)) llm.Request {
		r := saying(req.Messages[1].Content)
		f(&r)
		return r
	}
	half := 0.5
	for name, c := range map[string]struct {
		req  llm.Request
		want string
	}{
		"text":        {change(func(r *llm.Request) { r.Messages[1].Content += " Now?" }), `(number 1): messages[1].content: recorded "…lse is there to know about it?", now "…lse is there to know about it? Now?"`},
		"within":      {change(func(r *llm.Request) { r.Messages[0].Content = "You are a toast." }), `messages[0].content: recorded "You are a test.", now "You are a toast."`},
		"model":       {change(func(r *llm.Request) { r.Model = "other" }), `model: recorded "test-model", now "other"`},
		"temperature": {change(func(r *llm.Request) { r.Temperature = &half }), `temperature: recorded "(nothing)", now "0.5"`},
		"one more": {change(func(r *llm.Request) {
			r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Content: "x"})
		}), `messages[2]: recorded "(nothing)", now "{\"content\":\"x\",\"role\":\"assista…"`},
		"schema": {change(func(r *llm.Request) { r.Tools[0].Schema = json.RawMessage(`{"type":"object"}`) }), `tools[0].function.parameters.properties: recorded`},
	} {
		got, left := replayed(t, path, 0, c.req)
		if !strings.Contains(got[0].Err, c.want) || got[0].Kind != llm.ErrProtocol || left != 2 {
			t.Errorf("%s: %q (%s), %d left, want %q", name, got[0].Err, got[0].Kind, left, c.want)
		}
	}
	got, _ := replayed(t, path, 0, req, saying("second"), req)
	if got[2].Kind != llm.ErrExhausted || got[1].Reply.Text != "3" {
		t.Errorf("past the end: %+v", got)
	}
	// Other requests may come in another order, as from two tabs.
	got, left := replayed(t, path, 0, saying("second"), req)
	if got[0].Reply.Text != "3" || got[1].Reply.Text != "2" || left != 0 {
		t.Errorf("in another order: %+v", got)
	}
}

// TestMadeAnewIsNoDifference: ids and times that each run makes anew are no change, everything around them is.
func TestMadeAnewIsNoDifference(t *testing.T) {
	a := request{Method: "POST", URL: "https://a.test/v1/chat/completions", Body: json.RawMessage(`{"m":"a-0193e3f0-1111-7abc-8def-0123456789ab at 2026-01-02T03:04:05.123Z"}`)}
	b := request{Method: "POST", URL: "http://127.0.0.1:1/other/v1/chat/completions?k=***", Body: json.RawMessage(`{"m":"a-0193e3f1-2222-7abc-8def-0123456789ff at 2027-05-06T07:08:09+02:00"}`)}
	if d := difference(a, b); d != "" {
		t.Error(d)
	}
	b.Body = json.RawMessage(`{"m":"b-0193e3f1-2222-7abc-8def-0123456789ff at 2027-05-06T07:08:09+02:00"}`)
	if d := difference(a, b); !strings.HasPrefix(d, "m: ") {
		t.Errorf("%q", d)
	}
	b.URL = "https://a.test/v1/models"
	if d := difference(a, b); !strings.HasPrefix(d, "path: ") {
		t.Errorf("%q", d)
	}
}

// TestNoKeyInTheFile: a key stands nowhere in a recording, however the server or a message wrote it and wherever it was cut.
func TestNoKeyInTheFile(t *testing.T) {
	quoted, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	ways := []string{key, string(quoted), url.QueryEscape(key), url.PathEscape(key), base64.StdEncoding.EncodeToString([]byte(key)),
		base64.URLEncoding.EncodeToString([]byte("user:" + key)), base64.StdEncoding.EncodeToString([]byte("ab" + key + "cd"))}
	for _, way := range ways {
		req := saying("my key is " + way)
		text := "you said " + way + " and more"
		echo := llmtest.Answer(text).Header("Location", "https://x.test/?key="+url.QueryEscape(key)).Header("Set-Cookie", "k="+key)
		n := bytes.Index(echo.Bytes(), []byte(`sk`)) // somewhere near it
		path, told := recorded(t, []llm.Request{req, req}, echo.SplitAt(max(n, 40), max(n, 40)+3, max(n, 40)+9, 200), llmtest.Refuse(401, `{"error":{"message":"bad key `+url.QueryEscape(key)+`"}}`))
		if told[0].Reply.Text != text {
			t.Fatalf("the client got %q", told[0].Reply.Text)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := string(data)
		list, err := load(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list { // also in the whole that the chunks make
			var all []byte
			for _, c := range e.Response.Chunks {
				all = append(all, c.data()...)
			}
			found += "\n" + string(all)
		}
		for _, form := range []string{key, way, "verysecret", url.QueryEscape(key), base64.RawStdEncoding.EncodeToString([]byte(key))[:20]} {
			if i := strings.Index(found, form); i >= 0 {
				t.Errorf("%q is there: %.200s", form, found[max(0, i-60):])
			}
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
}

// TestFormsFindTheSecret: whatever stands around a secret before it is encoded, one of its forms is found.
func TestFormsFindTheSecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9+/=_-]{12,40}`).Draw(t, "secret")
		before, after := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "before"), rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "after")
		s := NewSecrets(secret)
		text := append(append(append([]byte(nil), before...), secret...), after...)
		for name, enc := range map[string]string{"plain": string(text), "std": base64.StdEncoding.EncodeToString(text), "url": base64.RawURLEncoding.EncodeToString(text), "query": url.QueryEscape(string(text))} {
			if got := string(s.hide([]byte(enc))); len(got) != len(enc) || got == enc {
				t.Fatalf("%s: %q stays %q", name, enc, got)
			}
		}
	})
	const odd = "o?>~~?>?>~secret"
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		if text := enc.EncodeToString([]byte(odd)); string(NewSecrets(odd).hide([]byte(text))) == text {
			t.Errorf("%s stays", text)
		}
	}
	if got := string(NewSecrets("abc", "").hide([]byte("abc"))); got != "abc" {
		t.Errorf("a placeholder was hidden: %q", got)
	}
}

// TestSecretsOfAnAddress: user, password and the values of the query are secret, and no URL in a recording shows them.
func TestSecretsOfAnAddress(t *testing.T) {
	const address = "https://name:pass%2Fword@h.test/v1?api-version=2024&code=querysecret"
	s := NewSecrets(OfURL(address)...)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if got := shownURL(u, s); got != "https://h.test/v1?api-version=%2A%2A%2A&code=%2A%2A%2A" {
		t.Errorf("shown as %s", got)
	}
	if got := string(s.hide([]byte("pass/word pass%2Fword querysecret bmFtZTpwYXNzL3dvcmQ="))); strings.Contains(got, "word") || strings.Contains(got, "query") || strings.Contains(got, "bmFtZT") {
		t.Errorf("hidden as %s", got)
	}
}

// TestPauses: the replay keeps as much of the pauses as it is told to.
func TestPauses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	req := saying("x")
	synctest.Test(t, func(t *testing.T) {
		r, err := Create(path, realClock(), Secrets{})
		if err != nil {
			t.Fatal(err)
		}
		srv := llmtest.NewPipeServer()
		transport := srv.Transport()
		srv.Push(llmtest.Stream(llmtest.Text("a"), llmtest.Text("b").After(3*time.Second), llmtest.Finish("stop").After(2*time.Second), llmtest.DoneMark()).After(time.Second))
		c := openai.New(openai.Config{BaseURL: srv.URL(), Transport: transport, Wrap: r.Over})
		ask(t.Context(), t, c, req)
		c.Close()
		srv.Close()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	for pace, want := range map[float64]time.Duration{0: 0, 1: 6 * time.Second, 0.5: 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			got, _ := replayed(t, path, pace, req)
			if took := time.Since(began).Round(100 * time.Millisecond); took != want || got[0].Reply.Text != "ab" {
				t.Errorf("pace %v: %q in %v, want %v", pace, got[0].Reply.Text, took, want)
			}
		})
	}
}

// TestBounds: a response beyond the bound is kept in part and ends so in the replay; a full file ends the recording, and no
// call fails for it.
func TestBounds(t *testing.T) {
	for _, all := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		r, err := Create(path, realClock(), Secrets{})
		if err != nil {
			t.Fatal(err)
		}
		if r.most = 500; all {
			r.most, r.all = maxResponse, 2000
		}
		srv := llmtest.NewServer()
		srv.Push(llmtest.Answer("ab"), llmtest.Answer(strings.Repeat("long ", 100)))
		c := openai.New(openai.Config{BaseURL: srv.URL(), Wrap: r.Over})
		ask(t.Context(), t, c, saying("1"))
		if got := ask(t.Context(), t, c, saying("2")); got.Err != "" {
			t.Error(got.Err)
		}
		c.Close()
		srv.Close()
		err = r.Close()
		if all != (err != nil && strings.Contains(err.Error(), "full")) {
			t.Errorf("closing: %v", err)
		}
		list, err := load(path)
		if err != nil {
			t.Fatal(err)
		}
		if last := list[len(list)-1]; all && len(list) != 1 || !all && (len(list) != 2 || last.Response.End != endFull) {
			t.Errorf("%d lines", len(list))
		}
		if told, left := replayed(t, path, 0, []llm.Request{saying("1"), saying("2")}[:len(list)]...); !all && !strings.Contains(told[1].Err, "does not hold the rest") || left != 0 {
			t.Errorf("replayed: %+v, %d are left", told, left)
		}
	}
}

// TestFilesAreRefused: nothing is overwritten, and what is no recording is told of.
func TestFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, realClock(), Secrets{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if _, err := Open(path, realClock(), 0, Secrets{}); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("no recording: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Source(path); err == nil || !strings.Contains(err.Error(), "holds no request") {
		t.Errorf("an empty file: %v", err)
	}
}

// FuzzLoad: no file breaks the player.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"n":1,"request":{"method":"POST","url":"http://h/v1/chat/completions","body":{"model":"m"}},"response":{"status":200,"chunks":[{"ms":1,"text":"a"},{"ms":-5,"bytes":"/w=="}],"end":"whole"}}`), []byte(`{"model":"m"}`))
	f.Add([]byte(`{"n":1,"request":{},"failed":{"kind":"dns","text":"x"}}`), []byte(`[]`))
	f.Add([]byte("{\"n\":2,\"response\":{\"end\":\"cut\",\"error\":\"\"}}\n{\"n\":-1,\"response\":{\"end\":\"odd\"}}"), []byte(``))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file, body []byte) {
		path := filepath.Join(dir, "t.jsonl")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Open(path, realClock(), 0, Secrets{})
		if err != nil {
			return
		}
		_, _, _ = Source(path)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what holds must end
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://h/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := p.RoundTrip(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		for _, e := range p.left {
			if d := difference(e.Request, readRequest(req, Secrets{})); len(d) > 4000+len(file) {
				t.Fatalf("a difference of %d bytes", len(d))
			}
		}
	})
}

// TestDifferenceFindsEveryChange: two bodies are the same exactly when no difference is told.
func TestDifferenceFindsEveryChange(t *testing.T) {
	value := func() *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				return rapid.StringN(0, 4, -1).Draw(t, "s")
			case 1:
				return rapid.SampledFrom([]string{"1", "true", "null"}).Draw(t, "word")
			case 2:
				return float64(rapid.IntRange(0, 9).Draw(t, "n"))
			case 3:
				return rapid.Bool().Draw(t, "b")
			}
			return nil
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) any {
			return map[string]any{"model": value().Draw(t, name), "messages": rapid.SliceOfN(value(), 0, 3).Draw(t, name),
				"o": rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), value(), 0, 2).Draw(t, name)}
		}
		a, b := draw("a"), draw("b")
		ja, jb := must(json.Marshal(a)), must(json.Marshal(b))
		same := slices.Equal(ja, jb)
		d := difference(request{Body: ja}, request{Body: jb})
		if same != (d == "") {
			t.Fatalf("%s and %s: %q", ja, jb, d)
		}
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprint("encode: ", err))
	}
	return b
}

// What a header of a profile holds may be a word or a number that JSON is made of: a recording stays readable all the same.
func TestSecretsLeaveJSON(t *testing.T) {
	for _, c := range []struct{ secrets, in, want string }{
		{"true null 4096 hunter22", `{"stream":true,"n":40961,"s":"4096 true hunter22"}`, `{"stream":true,"n":40961,"s":"9999 true ********"}`},
		{"4096", `{"n":4096}`, `{"n":9999}`},
		// Keys that servers without keys are given, and headers of gateways, are words of the protocol and of people.
		{"user", `{"role":"user","user":"u"}`, `{"role":"user","user":"u"}`},
		{"content", `{"content":"my content","a":"{\"content\" : \"content\"}"}`, `{"content":"my *******","a":"{\"content\" : \"*******\"}"}`},
		{"ollama", `{"model":"myollama:1","s":"the key ollama, ollama_x"}`, `{"model":"myollama:1","s":"the key ******, ollama_x"}`},
		{"choices", `data: {"choices":[{"index":0}]}`, `data: {"choices":[{"index":0}]}`},
		{"hunter22", `{"hunter22":"xhunter22y"}`, `{"********":"x********y"}`},
	} {
		if got := string(NewSecrets(strings.Fields(c.secrets)...).hide([]byte(c.in))); got != c.want || !json.Valid([]byte(got[strings.IndexByte(got, '{'):])) {
			t.Errorf("%s: %s, want %s", c.secrets, got, c.want)
		}
	}
}
