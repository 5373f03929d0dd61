package openai

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/runtime/clock"
)

const testKey = "sk-test-1234567890"

func ask(t testing.TB, c llm.Client) (llm.Reply, error) {
	t.Helper()
	return llmtest.Record(t, c.Stream(t.Context(), llmtest.SuiteRequest()))
}

// failure asks and wants an *llm.Error.
func failure(t testing.TB, c llm.Client) *llm.Error {
	t.Helper()
	_, err := ask(t, c)
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *llm.Error", err)
	}
	return e
}

// over serves with any handler.
func over(t testing.TB, h http.HandlerFunc) (*httptest.Server, *Client) {
	t.Helper()
	srv := httptest.NewServer(h)
	c := New(Config{BaseURL: srv.URL + "/v1", Key: testKey})
	t.Cleanup(func() {
		c.Close()
		srv.Close()
	})
	return srv, c
}

// B098: a connection that drops in the middle, and half a call; the retry above asks again, at most as often as it may.
func TestDrop(t *testing.T) {
	text := llmtest.Stream(llmtest.Text("one "), llmtest.Text("two "), llmtest.Text("three"))
	call := llmtest.Stream(llmtest.CallHead(0, "c1", "todo"), llmtest.CallArguments(0, `{"action":"list"}`))
	for name, r := range map[string]llmtest.Reply{
		"closed": text.Cut(llmtest.Close), "reset": text.Cut(llmtest.Reset), "ended": text,
		"call, closed": call.Cut(llmtest.Close), "call, reset": call.Cut(llmtest.Reset), "call, ended": call,
	} {
		t.Run(name, func(t *testing.T) {
			srv, c := serve(t, r)
			reply, err := ask(t, c)
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.ErrCut || !e.Retryable || e.Host == "" || len(reply.ToolCalls) != 0 {
				t.Errorf("got %+v, %v", reply, err)
			}
			if !strings.HasPrefix("one two three", reply.Text) {
				t.Errorf("text %q", reply.Text)
			}
			srv.Push(r, r, llmtest.Answer("whole"))
			retry := llm.Retry(c, llm.RetryConfig{Max: 2, Base: time.Millisecond, Clock: clock.Real()})
			if reply, err = ask(t, retry); err != nil || reply.Text != "whole" || len(reply.Retries) != 2 {
				t.Errorf("got %+v, %v", reply, err)
			}
			srv.Push(r, r, r)
			if _, err = ask(t, retry); !errors.As(err, &e) || srv.Left() != 0 {
				t.Errorf("error %v, %d replies left", err, srv.Left())
			}
		})
	}
}

// doneMarks are replies that [DONE] ends, whatever comes behind it.
func doneMarks() map[string]llmtest.Reply {
	return map[string]llmtest.Reply{
		"held open":      llmtest.Stream(llmtest.Text("all"), llmtest.Finish("stop"), llmtest.DoneMark()).Hold(),
		"no blank line":  llmtest.Stream(llmtest.Text("all"), llmtest.Finish("stop"), llmtest.Raw("data: [DONE]\n")).Hold(),
		"bytes behind":   llmtest.Stream(llmtest.Text("all"), llmtest.Finish("stop"), llmtest.DoneMark(), llmtest.Raw(strings.Repeat("junk\n", 1<<14))).Hold(),
		"error behind":   llmtest.Stream(llmtest.Text("all"), llmtest.Finish("stop"), llmtest.DoneMark(), llmtest.Event(`{"error":"late"}`)).Hold(),
		"reset":          llmtest.Stream(llmtest.Text("all"), llmtest.Finish("stop"), llmtest.DoneMark()).Cut(llmtest.Close),
		"without reason": llmtest.Stream(llmtest.Text("all"), llmtest.DoneMark()).Hold(),
	}
}

// B100: [DONE] ends the reply, whatever the connection does; TestDoneMarkTime says when.
func TestDoneMark(t *testing.T) {
	for name, r := range doneMarks() {
		t.Run(name, func(t *testing.T) {
			_, c := serve(t, r)
			if reply, err := ask(t, c); err != nil || reply.Text != "all" {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
}

// inBubble runs f with a server and a client under simulated time.
func inBubble(t *testing.T, f func(t *testing.T, srv *llmtest.Server, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		srv := llmtest.NewPipeServer()
		transport := srv.Transport()
		c := New(Config{BaseURL: srv.URL(), Key: testKey, Transport: transport})
		defer func() {
			c.Close()
			srv.Close()
		}()
		f(t, srv, c)
	})
}

// B100: finished within 100 ms after [DONE], with the connection held open.
func TestDoneMarkTime(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *llmtest.Server, c *Client) {
		srv.Push(llmtest.Stream(llmtest.Text("all").After(time.Second), llmtest.Finish("stop"), llmtest.DoneMark()).Hold())
		began := time.Now()
		reply, err := ask(t, c)
		if took := time.Since(began) - time.Second; err != nil || reply.Text != "all" || took < 0 || took > 100*time.Millisecond {
			t.Errorf("got %+v, %v, %s after [DONE]", reply, err, took)
		}
	})
	for name, r := range doneMarks() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, srv *llmtest.Server, c *Client) {
				srv.Push(r)
				began := time.Now()
				reply, err := ask(t, c)
				if took := time.Since(began); err != nil || reply.Text != "all" || took > 100*time.Millisecond {
					t.Errorf("got %+v, %v, %s after [DONE]", reply, err, took)
				}
			})
		})
	}
}

// A reason without [DONE] on a connection that stays open: usage may follow for a while, then the reply is whole.
func TestReasonWithoutMark(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *llmtest.Server, c *Client) {
		srv.Push(llmtest.Stream(llmtest.Text("all"), llmtest.Finish("stop"), llmtest.Usage(9, 2, -1).After(time.Second)).Hold())
		began := time.Now()
		reply, err := ask(t, c)
		if took := time.Since(began); err != nil || reply.Text != "all" || *reply.Usage.Prompt != 9 || took != afterFinish {
			t.Errorf("got %+v, %v after %s", reply, err, took)
		}
		srv.Push(llmtest.Stream(llmtest.Raw("<html><h1>Sign in</h1>\n")).Hold())
		if e := failure(t, c); e.Kind != llm.ErrProtocol || e.Message != "the answer is no chat completion: Sign in" {
			t.Errorf("got %v", e)
		}
	})
}

// Rule 38: the first byte has its own limit, and the stream as a whole has none.
func TestTimes(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *llmtest.Server, c *Client) {
		for name, r := range map[string]llmtest.Reply{"silent": llmtest.Silent(), "header only": llmtest.Stream().Hold(), "late header": llmtest.Answer("x").After(301 * time.Second)} {
			srv.Push(r)
			began := time.Now()
			if e := failure(t, c); e.Kind != llm.ErrTimeout || !e.Retryable || e.Message != "no answer within 5m0s" || time.Since(began) != DefaultFirstByteTimeout {
				t.Errorf("%s: got %v after %s", name, e, time.Since(began))
			}
		}
		var steps []llmtest.Step
		for range 100 {
			steps = append(steps, llmtest.Text("x").After(299*time.Second))
		}
		srv.Push(llmtest.Stream(append(steps, llmtest.Finish("stop"), llmtest.DoneMark())...))
		if reply, err := ask(t, c); err != nil || len(reply.Text) != 100 {
			t.Errorf("got %+v, %v", reply, err)
		}
		srv.Push(llmtest.Stream(llmtest.Comment("wait").After(299*time.Second), llmtest.Text("x").After(299*time.Second), llmtest.Finish("stop")))
		if reply, err := ask(t, c); err != nil || reply.Text != "x" {
			t.Errorf("got %+v, %v", reply, err)
		}
	})
}

// Rule 14: comments are signs of life for the watchdog; so are the pieces of a long line.
func TestWatchdogSeesLife(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *llmtest.Server, c *Client) {
		watched := llm.Watchdog(c, llm.WatchdogConfig{Silence: time.Minute, Clock: clock.Real()})
		event := string(llmtest.Stream(llmtest.Text("whole")).Bytes())
		srv.Push(llmtest.Stream(
			llmtest.Comment("PROCESSING").After(50*time.Second), llmtest.Comment("PROCESSING").After(50*time.Second),
			llmtest.Text("").After(50*time.Second), llmtest.Usage(1, 1, -1).After(50*time.Second),
			llmtest.Raw(event[:10]).After(50*time.Second), llmtest.Raw(event[10:20]).After(50*time.Second), llmtest.Raw(event[20:]).After(50*time.Second),
			llmtest.Finish("stop").After(50*time.Second), llmtest.DoneMark()))
		if reply, err := ask(t, watched); err != nil || reply.Text != "whole" {
			t.Errorf("got %+v, %v", reply, err)
		}
		srv.Push(llmtest.Stream(llmtest.Text("half")).Hold())
		began := time.Now()
		if e := failure(t, watched); e.Kind != llm.ErrTimeout || e.Message != "no data for 1m0s" || time.Since(began) != time.Minute {
			t.Errorf("got %v after %s", e, time.Since(began))
		}
	})
}

// B101: a line without end fails with bounded memory.
func TestLongLineMemory(t *testing.T) {
	sent := &atomic.Int64{}
	_, c := over(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"")
		block := strings.Repeat("x", 1<<20)
		for range 200 {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
			sent.Add(1 << 20)
		}
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	e := failure(t, c)
	runtime.ReadMemStats(&after)
	if e.Kind != llm.ErrTooLarge || e.Retryable || e.Message != "a line of the stream is longer than 16 MiB" {
		t.Errorf("got %v", e)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > maxEvent+64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if sent.Load() > 100<<20 {
		t.Errorf("%d MiB were read", sent.Load()>>20)
	}
}

// B110: a refused parameter is dropped, once, and remembered; usage is tolerated when it is missing.
func TestHabits(t *testing.T) {
	half := 0.5
	req := llmtest.SuiteRequest()
	req.Temperature, req.MaxTokens = &half, 100
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Content: "x", Extra: json.RawMessage(`{"vitrine_origin":"HOST","reasoning_content":"r1"}`)},
		llm.Message{Role: llm.RoleUser, Content: "go on"})
	has := func(name string) func(llmtest.Request) bool {
		return func(r llmtest.Request) bool { return r.Fields[name] != nil }
	}
	streams := func(r llmtest.Request) bool { return string(r.Fields["stream"]) == "true" }
	instructed := func(r llmtest.Request) bool { return strings.Contains(string(r.Body), `"role":"system"`) }
	replays := func(r llmtest.Request) bool { return strings.Contains(string(r.Body), "reasoning_content") }
	not := func(f func(llmtest.Request) bool) func(llmtest.Request) bool {
		return func(r llmtest.Request) bool { return !f(r) }
	}
	for name, c := range map[string]struct {
		refuses []func(llmtest.Request) bool
		bodies  []string
		status  int
		asks    int // requests for the first of two replies; the second takes one
	}{
		"nothing":                   {nil, nil, 0, 1},
		"stream_options":            {[]func(llmtest.Request) bool{has("stream_options")}, []string{`{"error":{"message":"Unknown parameter: stream_options"}}`}, 400, 2},
		"stream_options, FastAPI":   {[]func(llmtest.Request) bool{has("stream_options")}, []string{`{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted","type":"value_error.extra"}]}`}, 422, 2},
		"temperature":               {[]func(llmtest.Request) bool{has("temperature")}, []string{`{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model.","param":"temperature","code":"unsupported_value"}}`}, 400, 2},
		"max_tokens":                {[]func(llmtest.Request) bool{has("max_tokens")}, []string{`{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`}, 400, 2},
		"both limits":               {[]func(llmtest.Request) bool{has("max_tokens"), has("max_completion_tokens")}, []string{`{"error":{"message":"Unknown parameter: max_tokens"}}`, `{"error":{"message":"Unknown parameter: max_completion_tokens"}}`}, 400, 3},
		"no stream":                 {[]func(llmtest.Request) bool{streams}, []string{`{"error":{"message":"Your organization must be verified to stream this model.","param":"stream","code":"unsupported_value"}}`}, 400, 2},
		"no stream, words":          {[]func(llmtest.Request) bool{streams}, []string{`{"error":"Streaming is not supported for this model"}`}, 501, 2},
		"no system":                 {[]func(llmtest.Request) bool{instructed}, []string{`{"object":"error","message":"System role not supported","code":400}`}, 400, 2},
		"no system, llama.cpp":      {[]func(llmtest.Request) bool{instructed}, []string{`{"error":{"message":"Jinja Exception: System role not supported","code":500}}`}, 500, 2},
		"no system, Gemini":         {[]func(llmtest.Request) bool{instructed}, []string{`{"error":{"message":"Developer instruction is not enabled for models/gemma-3-27b-it","code":400,"status":"INVALID_ARGUMENT"}}`}, 400, 2},
		"reasoning wanted":          {[]func(llmtest.Request) bool{not(replays)}, []string{`{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}`}, 400, 2},
		"reasoning and temperature": {[]func(llmtest.Request) bool{has("temperature"), not(replays)}, []string{`{"error":{"message":"temperature is deprecated"}}`, `{"error":{"message":"missing reasoning_content"}}`}, 400, 3},
	} {
		t.Run(name, func(t *testing.T) {
			srv, client := serve(t)
			srv.Handle(func(r llmtest.Request) llmtest.Reply {
				for i, refuses := range c.refuses {
					if refuses(r) {
						return llmtest.Refuse(c.status, c.bodies[i])
					}
				}
				return llmtest.Answer("ok")
			})
			mine := req
			mine.Messages = append([]llm.Message(nil), req.Messages...)
			mine.Messages[2].Extra = json.RawMessage(strings.Replace(string(req.Messages[2].Extra), "HOST", client.base.Host, 1))
			for _, want := range []int{c.asks, c.asks + 1} {
				reply, err := llmtest.Record(t, client.Stream(t.Context(), mine))
				if n := len(srv.Requests()); err != nil || reply.Text != "ok" || n != want || len(reply.Retries) != 0 {
					t.Fatalf("got %+v, %v after %d requests, want %d", reply, err, n, want)
				}
			}
		})
	}
	t.Run("reasoning refused again", func(t *testing.T) {
		srv, client := serve(t)
		srv.Handle(func(r llmtest.Request) llmtest.Reply {
			return llmtest.Refuse(400, `{"error":{"message":"what about reasoning_content"}}`)
		})
		mine := req
		mine.Messages = append([]llm.Message(nil), req.Messages...)
		mine.Messages[2].Extra = json.RawMessage(`{"reasoning_content":"r"}`)
		_, err := llmtest.Record(t, client.Stream(t.Context(), mine))
		if n := len(srv.Requests()); err == nil || n != 3 {
			t.Errorf("error %v after %d requests", err, n)
		}
	})
	// A value that is too large is no parameter to drop.
	t.Run("too many tokens wanted", func(t *testing.T) {
		srv, client := serve(t, llmtest.Refuse(400, `{"error":{"message":"max_tokens is too large: 100. This model has at most 10.","param":"max_tokens","code":"invalid_value"}}`))
		if _, err := llmtest.Record(t, client.Stream(t.Context(), req)); err == nil || len(srv.Requests()) != 1 {
			t.Errorf("error %v after %d requests", err, len(srv.Requests()))
		}
	})
}

// B112: the status, a short clean text, the host; never a decoder's words, the key or an escape sequence.
func TestErrorBodies(t *testing.T) {
	for name, c := range map[string]struct {
		reply   llmtest.Reply
		kind    llm.ErrorKind
		message string
	}{
		"page":            {llmtest.Page(502, "text/html", "<html><h1>Bad Gateway</h1>"+strings.Repeat("<p>filler</p>", 2000)), llm.ErrServer, ""},
		"short page":      {llmtest.Page(502, "text/html", "<html><h1>Bad Gateway</h1>"), llm.ErrServer, "Bad Gateway"},
		"string":          {llmtest.Refuse(400, `{"error":"plain text"}`), llm.ErrRejected, "plain text"},
		"bare string":     {llmtest.Refuse(400, `"no such field"`), llm.ErrRejected, "no such field"}, // rule 36
		"empty":           {llmtest.Page(500, "text/plain", " "), llm.ErrServer, "internal server error"},
		"page of 200":     {llmtest.Page(200, "text/html", "<html><h1>Welcome</h1>"), llm.ErrProtocol, "the answer is no chat completion: Welcome"},
		"detail":          {llmtest.Refuse(401, `{"detail":"bad key"}`), llm.ErrAuth, "bad key"},
		"detail in lists": {llmtest.Refuse(422, `{"detail":[{"loc":["body","messages",0],"msg":"field required"}]}`), llm.ErrRejected, "messages: field required"},
		"escapes":         {llmtest.Refuse(400, `{"error":{"message":"\u001b[31mred\u001b[0m \u0007alarm"}}`), llm.ErrRejected, "red alarm"},
		"key":             {llmtest.Refuse(401, `{"error":{"message":"Incorrect API key provided: `+testKey+`"}}`), llm.ErrAuth, "Incorrect API key provided: ***"},
		"key, no JSON":    {llmtest.Page(401, "text/plain", "no: Bearer "+testKey), llm.ErrAuth, "no: Bearer ***"},
		"other shape":     {llmtest.Refuse(400, `{"reason":"odd"}`), llm.ErrRejected, `{"reason":"odd"}`},
		"broken JSON":     {llmtest.Refuse(400, `{"error":`), llm.ErrRejected, `{"error":`},
		"wrapped":         {llmtest.Refuse(400, `{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 9 tokens\"}}"}}}`), llm.ErrContext, "Provider returned error: prompt is too long: 9 tokens"},
		"deep":            {llmtest.Refuse(400, `{"error":{"error":{"error":{"error":{"error":{"error":"deep"}}}}}}`), llm.ErrRejected, `{"error":{"error":{"error":{"error":{"error":{"error":"deep"}}}}}}`},
		"model":           {llmtest.Refuse(404, `{"error":{"message":"The model 'x' does not exist","code":"model_not_found"}}`), llm.ErrNotFound, "The model 'x' does not exist"},
		"overloaded":      {llmtest.Refuse(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), llm.ErrServer, "Overloaded"},
		"late":            {llmtest.Refuse(408, `{"error":"late"}`), llm.ErrTimeout, "late"},
		"conflict":        {llmtest.Refuse(409, `{"error":"busy"}`), llm.ErrRejected, "busy"},
		"payment":         {llmtest.Refuse(402, `{"error":"pay"}`), llm.ErrQuota, "pay"},
		"quota":           {llmtest.Refuse(429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`), llm.ErrQuota, "You exceeded your current quota"},
		"quota in words":  {llmtest.Refuse(429, `{"error":{"message":"Insufficient balance"}}`), llm.ErrQuota, "Insufficient balance"},
		"rate":            {llmtest.Refuse(429, `{"error":{"message":"slow down"}}`), llm.ErrRate, "slow down"},
		"too much":        {llmtest.Page(413, "text/plain", " "), llm.ErrContext, "request entity too large"},
		"too much said":   {llmtest.Refuse(413, `{"error":"body over 1 MB"}`), llm.ErrRejected, "body over 1 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, client := serve(t, c.reply)
			e := failure(t, client)
			if e.Kind != c.kind || c.message != "" && e.Message != c.message {
				t.Errorf("got %q %q", e.Kind, e.Message)
			}
			all := e.Error()
			if len([]rune(e.Message)) > 300 || strings.Contains(all, "invalid character") || strings.Contains(all, testKey) || strings.ContainsRune(all, 0x1B) || !strings.Contains(all, "127.0.0.1") {
				t.Errorf("got %q", all)
			}
			if name == "page" && !strings.HasPrefix(all, client.base.Host+": HTTP 502: Bad Gateway filler") {
				t.Errorf("got %q", all)
			}
		})
	}
}

// Rule 30: a prompt that is too long, in the words of many servers.
func TestTooLong(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   llm.ErrorKind
	}{
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, 4000 in the completion). Please reduce max_tokens.","code":"context_length_exceeded"}}`, llm.ErrContext},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ErrContext},
		{400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}]`, llm.ErrContext},
		{400, `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, llm.ErrContext},
		{500, `{"error":{"message":"the request exceeds the available context size"}}`, llm.ErrContext},
		{403, `{"error":{"message":"prompt is too long"}}`, llm.ErrContext},
		{403, `{"error":{"message":"forbidden"}}`, llm.ErrAuth},
		{413, `{"error":{"message":"Request too large for model llama in organization x on tokens per minute (TPM)"}}`, llm.ErrContext},
		{400, `{"error":{"message":"Too many tokens, please wait before trying again."}}`, llm.ErrRate},
		{429, `{"error":{"message":"Too many tokens, please wait before trying again."}}`, llm.ErrRate},
		{400, `{"error":{"message":"max_tokens must be positive"}}`, llm.ErrRejected},
	} {
		_, client := serve(t, llmtest.Refuse(c.status, c.body))
		if e := failure(t, client); e.Kind != c.kind {
			t.Errorf("%d %s: kind %q, want %q", c.status, c.body, e.Kind, c.kind)
		}
	}
}

// Rule 33: servers that send no Retry-After say with their limits when those begin anew, OpenRouter in the body of the error too. Of a
// limit that is not used up nothing is read, and what the server says of the wait itself comes first.
func TestLimitsBeginAnew(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		body   string
		header map[string]string
		want   time.Duration
	}{
		"OpenRouter":  {"", map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767268830000"}, 30 * time.Second},
		"in the body": {`{"error":{"message":"free","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1767312000000"}}}}`, nil, 12 * time.Hour},
		"as numbers":  {`{"error":{"message":"free","metadata":{"headers":{"X-RateLimit-Remaining":0,"X-RateLimit-Reset":1767312000000}}}}`, nil, 12 * time.Hour},
		"seconds":     {"", map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767268860"}, time.Minute},
		"OpenAI":      {"", map[string]string{"X-RateLimit-Remaining-Requests": "5", "X-RateLimit-Reset-Requests": "8h", "X-RateLimit-Remaining-Tokens": "0", "X-RateLimit-Reset-Tokens": "6m0s"}, 6 * time.Minute},
		"draft":       {"", map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": "7"}, 7 * time.Second},
		"time":        {"", map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": "2026-01-01T12:00:09Z"}, 9 * time.Second},
		"some left":   {"", map[string]string{"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "900"}, 0},
		"past":        {"", map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767260000"}, 0},
		"nonsense":    {"", map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}, 0},
		"Retry-After": {"", map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "900", "Retry-After": "2"}, 2 * time.Second},
		"words":       {`{"error":{"message":"try again in 3s"}}`, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "900"}, 3 * time.Second},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		f := parseFault([]byte(c.body))
		f.wait(429, h, now)
		if got := f.err(429, func(s string) string { return llm.CleanText(s) }).RetryAfter; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if f = parseFault([]byte(c.body)); c.body == "" {
			if f.wait(500, h, now); f.after != 0 && h.Get("Retry-After") == "" {
				t.Errorf("%s: %s for an error that is no limit's", name, f.after)
			}
		}
	}
}

// Rule 33: when to come back, in both forms and in words.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"none":           {nil, 0},
		"seconds":        {map[string]string{"Retry-After": "20"}, 20 * time.Second},
		"fraction":       {map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond},
		"zero":           {map[string]string{"Retry-After": "0"}, 0},
		"negative":       {map[string]string{"Retry-After": "-3"}, 0},
		"huge":           {map[string]string{"Retry-After": "1e300"}, maxWait},
		"not a number":   {map[string]string{"Retry-After": "NaN"}, 0},
		"words":          {map[string]string{"Retry-After": "soon"}, 0},
		"date":           {map[string]string{"Retry-After": "Thu, 01 Jan 2026 12:01:00 GMT"}, time.Minute},
		"past":           {map[string]string{"Retry-After": "Thu, 01 Jan 2026 11:59:00 GMT"}, 0},
		"server's clock": {map[string]string{"Retry-After": "Thu, 01 Jan 2026 10:01:00 GMT", "Date": "Thu, 01 Jan 2026 10:00:00 GMT"}, time.Minute},
		"milliseconds":   {map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, 1500 * time.Millisecond},
		"with a unit":    {map[string]string{"Retry-After": "1m30s"}, 90 * time.Second},
		"time of JSON":   {map[string]string{"Retry-After": "2026-01-01T13:00:00Z"}, time.Hour},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for in, want := range map[string]time.Duration{
		"Rate limit reached. Please try again in 1.2s. Visit":           1200 * time.Millisecond,
		"Please try again in 6m0s":                                      6 * time.Minute,
		"try again in 20ms":                                             20 * time.Millisecond,
		"quota will reset after 12h34m16s":                              12*time.Hour + 34*time.Minute + 16*time.Second,
		"limit resets in 2 days, 3 hours":                               51 * time.Hour,
		"please retry after 5 minutes":                                  5 * time.Minute,
		"try again later":                                               0,
		"you sent 20 s of audio":                                        0,
		"try again in " + strings.Repeat("9", 400) + "s":                0,
		"try again in 99999999999999999999h (" + strings.Repeat("x", 9): maxWait,
	} {
		if got := waitInText(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	// B074: a quota that is gone for hours is told, not waited for.
	srv, c := serve(t, llmtest.Refuse(429, `{"error":{"message":"quota will reset after 12h34m16s"}}`))
	retry := llm.Retry(c, llm.RetryConfig{Max: 2, Clock: clock.Real()})
	if e := failure(t, retry); e.Kind != llm.ErrQuota || !strings.Contains(e.Message, "try again in 12h34m16s") || len(srv.Requests()) != 1 {
		t.Errorf("got %v after %d requests", e, len(srv.Requests()))
	}
	srv.Push(llmtest.Refuse(503, "").RetryAfter("90"))
	if e := failure(t, retry); e.RetryAfter != 90*time.Second || len(srv.Requests()) != 2 {
		t.Errorf("got %v after %d requests", e, len(srv.Requests()))
	}
}

// The key goes to the host that the user named and to no other, and neither does the conversation.
func TestRedirects(t *testing.T) {
	var stolen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer other.Close()
	for status, want := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		for _, to := range []string{other.URL, "/moved"} {
			_, c := over(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/moved" {
					body, _ := io.ReadAll(r.Body)
					if r.Header.Get("Authorization") != "Bearer "+testKey || len(body) == 0 {
						t.Errorf("the request arrived without its parts: %v", r.Header)
					}
					_, _ = io.WriteString(w, data(`{"choices":[{"delta":{"content":"moved"}}]}`, end))
					return
				}
				http.Redirect(w, r, to, status)
			})
			if want && to == "/moved" {
				if reply, err := ask(t, c); err != nil || reply.Text != "moved" {
					t.Errorf("%d to %s: got %+v, %v", status, to, reply, err)
				}
				continue
			}
			e := failure(t, c)
			if e.Kind != llm.ErrRejected || e.Status != status || e.Retryable || !strings.Contains(e.Message, "redirects to") {
				t.Errorf("%d to %s: got %v", status, to, e)
			}
		}
	}
	_, c := over(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	})
	if e := failure(t, c); e.Status != 307 {
		t.Errorf("a loop gives %v", e)
	}
	if stolen.Load() != 0 {
		t.Error("a request went to another host")
	}
	from, _ := http.NewRequest("POST", "http://h/v1", nil)
	for to, ok := range map[string]bool{"https://h/v1": true, "https://sub.h/v1": false, "http://h:81/v1": false, "http://h/v2": true} {
		r, _ := http.NewRequest("POST", to, nil)
		if err := checkRedirect(r, []*http.Request{from}); (err == nil) != ok {
			t.Errorf("%s: %v", to, err)
		}
	}
	r, _ := http.NewRequest("POST", "http://h/v1", nil)
	secure, _ := http.NewRequest("POST", "https://h/v1", nil)
	if checkRedirect(r, []*http.Request{secure}) == nil {
		t.Error("it left https")
	}
}

// No way of printing shows the key.
func TestNoKeyInPrint(t *testing.T) {
	cfg := Config{BaseURL: "https://user:hunter22@h/v1?api-key=query-secret", Key: testKey, Header: http.Header{"X-Api-Key": {"header-secret"}}}
	c := New(cfg)
	wrapped := struct{ Config Config }{cfg}
	var printed strings.Builder
	for _, v := range []any{cfg, &cfg, wrapped, c, []Config{cfg}, map[string]Config{"a": cfg}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			fmt.Fprintf(&printed, verb+"\n", v)
		}
	}
	printed.WriteString(cfg.String() + cfg.GoString() + fmt.Sprint(New(Config{BaseURL: ":"}), Config{BaseURL: ":"}))
	slog.New(slog.NewTextHandler(&printed, nil)).Info("x", "cfg", cfg)
	b, err := json.Marshal(Config{Key: testKey, Header: cfg.Header})
	if err != nil {
		t.Fatal(err)
	}
	printed.Write(b)
	for _, secret := range []string{testKey, fmt.Sprintf("%x", testKey), "header-secret"} {
		if strings.Contains(printed.String(), secret) {
			t.Errorf("%q is in\n%s", secret, printed.String())
		}
	}
	if got := cfg.String(); got != "openai.Config{BaseURL: https://h/v1, Key: set}" {
		t.Errorf("got %s", got)
	}
	// Nor does an error, whatever a server echoes.
	srv, _ := serve(t)
	with := New(Config{BaseURL: strings.Replace(srv.URL(), "http://", "http://user:hunter22@", 1) + "?api-key=query-secret", Header: cfg.Header})
	defer with.Close()
	srv.Push(llmtest.Refuse(400, `{"error":{"message":"`+testKey+` user:hunter22 hunter22 query-secret header-secret"}}`))
	if e := failure(t, with); e.Message != "*** *** *** *** ***" {
		t.Errorf("got %q", e.Message)
	}
	r := srv.Requests()[0]
	if r.Header.Get("X-Api-Key") != "header-secret" || !strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
		t.Errorf("headers %v", r.Header)
	}
	srv.Close()
	e := failure(t, with)
	if all := fmt.Sprintf("%v %+v %v", e, e, errors.Unwrap(e)); strings.Contains(all, "hunter22") || strings.Contains(all, "query-secret") {
		t.Errorf("got %s", all)
	}
}

func TestConnect(t *testing.T) {
	refused := httptest.NewServer(nil)
	refused.Close()
	ended := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		_ = conn.Close()
	}
	closing, plainClient := over(t, ended)
	_ = plainClient
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	fails := func(err error) http.RoundTripper {
		return roundTrip(func(*http.Request) (*http.Response, error) { return nil, err })
	}
	// says is a server that answers with these bytes whatever comes, via asks it as a proxy.
	says := func(text string) string {
		raw, _ := over(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		})
		return raw.URL
	}
	via := func(proxy string) *http.Transport {
		tr := newTransport(time.Second)
		where, _ := url.Parse(proxy)
		where.User = url.UserPassword("u", "hunter22")
		tr.Proxy = http.ProxyURL(where)
		return tr
	}
	const away = "https://example.invalid/v1"
	for name, c := range map[string]struct {
		cfg     Config
		kind    llm.ErrorKind
		retry   bool
		message string
	}{
		"https only":   {Config{BaseURL: says("\x15\x03\x01\x00\x02\x02F")}, llm.ErrConnect, false, "speaks https, not http; the base URL may have to begin with https://"},
		"no HTTP":      {Config{BaseURL: says("SSH-2.0-OpenSSH_9.6\r\n")}, llm.ErrConnect, false, "what answers there is no web server"},
		"no proxy":     {Config{BaseURL: away, Transport: via(refused.URL)}, llm.ErrConnect, true, "the proxy was not reached: connection refused; HTTPS_PROXY and HTTP_PROXY name the proxy"},
		"proxy's key":  {Config{BaseURL: away, Transport: via(says("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"))}, llm.ErrConnect, false, "the proxy answered HTTP 407: proxy authentication required; HTTPS_PROXY"},
		"behind proxy": {Config{BaseURL: away, Transport: via(says("HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n"))}, llm.ErrConnect, true, "the proxy answered HTTP 503"},
		"refused":      {Config{BaseURL: refused.URL}, llm.ErrConnect, true, "connection refused"},
		"odd dial":     {Config{Transport: fails(&net.OpError{Op: "dial", Err: errors.New("no route\x1b[31m")})}, llm.ErrConnect, true, "no route"},
		"reset":        {Config{Transport: fails(&net.OpError{Op: "readfrom", Net: "tcp", Err: &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{}, Err: os.NewSyscallError("read", syscall.ECONNRESET)}})}, llm.ErrConnect, true, "connect: the server broke the connection off without an answer: connection reset by peer"},
		"closed":       {Config{BaseURL: closing.URL}, llm.ErrConnect, true, "the server closed the connection without an answer"},
		"certificate":  {Config{BaseURL: secure.URL}, llm.ErrConnect, false, "nobody that this system trusts signed the server's certificate; its certificate has to be one"},
		"not secure":   {Config{BaseURL: strings.Replace(closing.URL, "http:", "https:", 1)}, llm.ErrConnect, false, "speaks http, not https; the base URL may have to begin with http://"},
		"no host":      {Config{Transport: fails(&net.OpError{Err: &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}})}, llm.ErrConnect, true, "the host was not found"},
		"slow":         {Config{Transport: fails(&net.OpError{Op: "dial", Err: timeoutError{}})}, llm.ErrConnect, true, "no connection in time"},
		"bad URL":      {Config{BaseURL: "localhost:11434/v1"}, llm.ErrConnect, false, "the base URL is no http or https address"},
		"worse URL":    {Config{BaseURL: "http://[::1"}, llm.ErrConnect, false, "the base URL is no http or https address"},
		"key of lines": {Config{BaseURL: refused.URL, Key: "sk-\nx"}, llm.ErrAuth, false, "the API key holds control characters"},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.ConnectTimeout = time.Second
			client := New(c.cfg)
			defer client.Close()
			e := failure(t, client)
			if e.Kind != c.kind || e.Retryable != c.retry || !strings.Contains(e.Error(), c.message) || strings.Contains(e.Error(), "hunter22") ||
				strings.Contains(e.Message, "dial") || strings.ContainsRune(e.Message, 0x1B) {
				t.Errorf("got %v, retryable %v", e, e.Retryable)
			}
			if _, err := client.Models(t.Context()); err == nil {
				t.Error("models were listed")
			}
		})
	}
}

// A connection of HTTP/2 that died without a word fails its request long before an answer has to begin, and the next one goes over a new
// connection.
func TestDeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := &http.Protocols{}
		two.SetUnencryptedHTTP2(true)
		srv := &http.Server{Protocols: two, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("spoken with %s", r.Proto)
			}
			_, _ = io.WriteString(w, data(`{"choices":[{"delta":{"content":"ok"}}]}`, end))
		})}
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		go func() { _ = srv.Serve(l) }()
		defer srv.Close()
		dead := &atomic.Bool{}
		tr := newTransport(time.Second)
		tr.Protocols = two
		tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			l.conns <- there
			return &deafConn{Conn: here, dead: dead}, nil
		}
		client := New(Config{BaseURL: "http://h/v1", Transport: tr})
		defer client.Close()
		if _, err := ask(t, client); err != nil {
			t.Fatal(err)
		}
		dead.Store(true) // what is sent over the connection of before is lost
		began := time.Now()
		var e *llm.Error
		if _, err := ask(t, client); !errors.As(err, &e) || e.Kind != llm.ErrConnect || !e.Retryable || time.Since(began) > time.Minute {
			t.Errorf("over a dead connection: %v after %s", err, time.Since(began))
		}
		dead.Store(false)
		if _, err := ask(t, client); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

// pipes listens to what is sent to it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// deafConn loses what is written while it is dead, and says nothing of it.
type deafConn struct {
	net.Conn
	dead *atomic.Bool
}

func (c *deafConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// An error of the network is told without the two addresses.
func TestPlainNetworkErrors(t *testing.T) {
	err := error(&readError{&net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{}, Err: os.NewSyscallError("read", syscall.ECONNRESET)}})
	x := New(Config{}).begin(t.Context(), generic(habits{}))
	defer x.end()
	if got := x.fail(err).(*llm.Error).Message; got != "the connection broke within the reply: connection reset by peer" {
		t.Error(got)
	}
	for in, want := range map[string]string{
		"readfrom tcp 1.2.3.4:5->[::1]:80: write tcp 1.2.3.4:5->[::1]:80: write: broken pipe": "broken pipe",
		"proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused":                 "connection refused", "unexpected EOF": "unexpected EOF",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q is %q", in, got)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func TestRequestOnTheWire(t *testing.T) {
	var seen []*http.Request
	var bodies []string
	srv, _ := over(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen, bodies = append(seen, r), append(bodies, string(b))
		_, _ = io.WriteString(w, data(end))
	})
	for base, path := range map[string]string{
		"/v1": "/v1/chat/completions", "/v1/": "/v1/chat/completions", "": "/chat/completions", "/v1/chat/completions": "/v1/chat/completions",
		"/v1/chat/completions/": "/v1/chat/completions", "/v1?api-version=2#f": "/v1/chat/completions?api-version=2", " ": "/chat/completions",
	} {
		seen = nil
		c := New(Config{BaseURL: srv.URL + base, Key: " " + testKey + "\n"})
		if _, err := ask(t, c); err != nil {
			t.Fatal(err)
		}
		c.Close()
		r := seen[0]
		want := http.Header{"Authorization": {"Bearer " + testKey}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"},
			"User-Agent": {"vitrine"}, "Accept-Encoding": {"gzip"}, "Content-Length": {fmt.Sprint(len(bodies[0]))}}
		if d := cmp.Diff(want, r.Header); r.RequestURI != path || r.Method != "POST" || d != "" {
			t.Errorf("%s: %s %s (-want +got):\n%s", base, r.Method, r.RequestURI, d)
		}
	}
	seen = nil
	c := New(Config{BaseURL: srv.URL})
	defer c.Close()
	if _, err := ask(t, c); err != nil || seen[0].Header["Authorization"] != nil {
		t.Errorf("without a key: %v, %v", seen[0].Header, err)
	}
	if u, err := parseBase(""); err != nil || u.String() != DefaultBaseURL {
		t.Errorf("default: %v, %v", u, err)
	}
}

// Rule 37: compressed answers are net/http's affair.
func TestGzip(t *testing.T) {
	_, c := over(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, data(`{"choices":[{"delta":{"content":"small"}}]}`, end, "[DONE]"))
		_ = z.Close()
	})
	if reply, err := ask(t, c); err != nil || reply.Text != "small" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

// A connection whose answer was read to its end is used again.
func TestKeepAlive(t *testing.T) {
	var conns atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, data(`{"choices":[{"delta":{"content":"x"}}]}`, end, "[DONE]"))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	c := New(Config{BaseURL: srv.URL})
	defer c.Close()
	for range 5 {
		if _, err := ask(t, c); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// Cancelling closes the connection, wherever the request is.
func TestCancelEverywhere(t *testing.T) {
	for name, r := range map[string]llmtest.Reply{
		"before the header": llmtest.Silent(),
		"after the header":  llmtest.Stream().Hold(),
		"in the stream":     llmtest.Stream(llmtest.Text("x")).Hold(),
		"in an error":       llmtest.Stream(llmtest.Raw("{")).Hold().Status(500),
	} {
		t.Run(name, func(t *testing.T) {
			left := make(chan struct{})
			srv, c := serve(t)
			srv.Handle(func(llmtest.Request) llmtest.Reply { return r.OnLeave(func() { close(left) }) })
			ctx, cancel := context.WithCancel(t.Context())
			srv.OnRequest(func() { time.AfterFunc(5*time.Millisecond, cancel) })
			_, err := llmtest.Record(t, c.Stream(ctx, llmtest.SuiteRequest()))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			<-left
		})
	}
}

// An error whose body never ends is told with what came of it.
func TestEndlessError(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *llmtest.Server, c *Client) {
		srv.Push(llmtest.Stream(llmtest.Raw("it broke ")).Hold().Status(500))
		began := time.Now()
		if e := failure(t, c); e.Kind != llm.ErrServer || e.Message != "it broke" || time.Since(began) != errorBody {
			t.Errorf("got %v after %s", e, time.Since(began))
		}
	})
}

func TestModels(t *testing.T) {
	srv, c := serve(t)
	srv.SetModels(llmtest.Models("a", "b"))
	got, err := c.Models(t.Context())
	if d := cmp.Diff([]llm.ModelInfo{{ID: "a"}, {ID: "b"}}, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for name, r := range map[string]llmtest.Reply{
		"unauthorized": llmtest.Refuse(401, ""), "page": llmtest.Page(200, "text/html", "<html>"), "no list": llmtest.Page(200, "", "{}"),
		"cut": llmtest.Stream(llmtest.Raw("{")).Cut(llmtest.Close),
	} {
		srv.SetModels(r)
		var e *llm.Error
		if _, err := c.Models(t.Context()); !errors.As(err, &e) || e.Host == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Models(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRequestThatCannotBeEncoded(t *testing.T) {
	_, c := serve(t)
	req := llmtest.SuiteRequest()
	req.Tools[0].Schema = json.RawMessage(`{`)
	_, err := llmtest.Record(t, c.Stream(t.Context(), req))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrRejected || e.Message != "the request cannot be encoded" {
		t.Errorf("error %v", err)
	}
}

// The reply of one request goes into the next as the server wants it back.
func TestRoundTrip(t *testing.T) {
	srv, c := serve(t, llmtest.Stream(llmtest.Reasoning("hm"),
		llmtest.Calls(map[string]any{"index": 0, "id": "c1", "extra_content": map[string]any{"google": map[string]any{"thought_signature": "sig"}},
			"function": map[string]any{"name": "calculator", "arguments": `{"expression":"1"}`}}),
		llmtest.Finish("tool_calls"), llmtest.DoneMark()), llmtest.Answer("1"))
	srv.Strict()
	req := llmtest.SuiteRequest()
	reply, err := llmtest.Record(t, c.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, reply.Message(), llm.Message{Role: llm.RoleTool, ToolCallID: "c1", Content: "1"})
	if _, err := llmtest.Record(t, c.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	sent := string(srv.Requests()[1].Body)
	if !strings.Contains(sent, `"extra_content":{"google":{"thought_signature":"sig"}}`) || strings.Contains(sent, "hm") || strings.Contains(sent, originField) {
		t.Errorf("sent %s", sent)
	}
}
