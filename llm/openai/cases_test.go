package openai

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/profile"
	"vitrine/runtime/clock"
)

// B071: whatever stands in a history (two messages of the user in a row, notices, a memory block and instructions in the
// middle, an empty reply, a denied call), a strict server takes it: one system message in front, turns that alternate, the
// user or a tool last.
func TestB071StrictServer(t *testing.T) {
	call := said("", toolCall("c1", "{}"))
	for name, history := range map[string][]llm.Message{
		"two inputs":          {user("a"), user("b")},
		"denied, then words":  {user("a"), call, result("c1", `{"ok":false}`), user("do X instead")},
		"cancelled":           {user("a"), call, result("c1", "interrupted"), said("[cancelled]"), user("b"), user("c")},
		"folded":              {memo("what was"), user("a"), said("x"), notice("check it"), notice("again")},
		"late instructions":   {user("a"), said("x"), user("b"), sys("the mode changed")},
		"words before a call": {user("a"), said("let me see"), call, result("c1", "r")},
		"empty reply":         {user("a"), said(""), notice("say something")},
	} {
		srv, c := serve(t, llmtest.Answer("ok"))
		srv.Strict()
		req := llmtest.SuiteRequest()
		req.Messages = append(req.Messages[:1], history...)
		reply, err := llmtest.Record(t, c.Stream(t.Context(), req))
		if err != nil || reply.Text != "ok" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// B074: a quota that is gone for hours, no money, a wrong key: one request, at once, with the time when it is back.
func TestB074QuotaIsNotWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		reply llmtest.Reply
		kind  llm.ErrorKind
		text  string
	}{
		"code":        {llmtest.Refuse(429, `{"error":{"code":"insufficient_quota","message":"You exceeded your plan."}}`), llm.ErrQuota, "You exceeded your plan."},
		"reset time":  {llmtest.Refuse(429, `{"error":{"message":"Quota exhausted; quota will reset after 12h34m16s."}}`), llm.ErrQuota, "try again in 12h34m16s (2026-01-02 00:34 UTC)"},
		"payment":     {llmtest.Refuse(402, `{"error":{"message":"Insufficient credits"}}`), llm.ErrQuota, "Insufficient credits"},
		"key":         {llmtest.Refuse(401, `{"error":{"message":"bad key"}}`), llm.ErrAuth, "bad key"},
		"of a day":    {llmtest.Refuse(429, `{"error":{"code":429,"message":"Rate limit exceeded: free-models-per-day. Add credits"}}`), llm.ErrQuota, "free-models-per-day"},
		"its reset":   {llmtest.Refuse(429, `{"error":{"code":429,"message":"Rate limit exceeded","metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"4070908800000"}}}}`), llm.ErrQuota, "try again in 8760h0m0s (2027-01-01 12:00 UTC)"},
		"inside":      {llmtest.Stream(llmtest.Event(`{"error":{"code":429,"message":"free-models-per-day","metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"4070908800000"}}}}`)), llm.ErrQuota, "try again in 8760h0m0s"},
		"Retry-After": {llmtest.Refuse(429, "").RetryAfter("7200"), llm.ErrQuota, "try again in 2h0m0s (2026-01-01 14:00 UTC)"},
	} {
		srv, c := serve(t, tc.reply)
		sim := clock.NewSim(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
		sim.Run(func() {
			began := sim.Now()
			e := failure(t, llm.Retry(c, llm.RetryConfig{Max: 5, Clock: sim}))
			if e.Kind != tc.kind || !strings.Contains(e.Error(), tc.text) || len(srv.Requests()) != 1 || sim.Now() != began {
				t.Errorf("%s: %v after %d requests", name, e, len(srv.Requests()))
			}
		})
	}
}

// B076: each wait is told with its cause, its status, its length and which attempt it is of how many.
func TestB076WaitsAreTold(t *testing.T) {
	for name, status := range map[string]int{"429": 429, "refused": 0} {
		inBubble(t, func(t *testing.T, srv *llmtest.Server, c *Client) {
			cause := c.base.Host + ": HTTP 429: Too Many Requests"
			left := 5
			if status == 0 {
				cause = c.base.Host + ": connect: connection refused"
				inner := c.http.Transport
				c.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					if left--; left < 0 {
						return inner.RoundTrip(r)
					}
					return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
				})
			} else {
				for range left {
					srv.Push(llmtest.Refuse(429, ""))
				}
			}
			srv.Push(llmtest.Answer("ok"))
			reply, err := ask(t, llm.Retry(c, llm.RetryConfig{Max: 6, Base: time.Second, Clock: clock.Real()}))
			var want []llm.RetryWait
			for i := range 5 {
				want = append(want, llm.RetryWait{Attempt: i + 1, Max: 7, Wait: time.Second << i, Cause: cause, Status: status})
			}
			if d := cmp.Diff(want, reply.Retries); err != nil || d != "" {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
			}
			c.http.Transport = srv.Transport()
		})
	}
}

// B077: what cannot succeed is asked once; what time may cure is asked again.
func TestB077WhatIsRetried(t *testing.T) {
	for status, again := range map[int]bool{
		400: false, 401: false, 402: false, 403: false, 404: false, 405: false, 413: false, 422: false,
		408: true, 409: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true, 529: true,
	} {
		inBubble(t, func(t *testing.T, srv *llmtest.Server, c *Client) {
			srv.Push(llmtest.Refuse(status, `{"error":{"message":"bad schema"}}`), llmtest.Answer("ok"))
			reply, err := ask(t, llm.Retry(c, llm.RetryConfig{Max: 1, Clock: clock.Real()}))
			if n := len(srv.Requests()); (n == 2) != again || (err == nil) != again || again && reply.Text != "ok" {
				t.Errorf("%d: %d requests, %v", status, n, err)
			}
			if !again && (!strings.Contains(err.Error(), fmt.Sprintf("HTTP %d: bad schema", status)) || !strings.Contains(err.Error(), c.base.Host)) {
				t.Errorf("%d: %v", status, err)
			}
		})
	}
}

// B110: a server that reports tokens only when it is asked to is asked to; one that refuses to be asked is asked once.
func TestB110UsageIsAskedFor(t *testing.T) {
	for refuses, want := range map[bool]int{false: 1, true: 2} {
		srv, c := serve(t)
		srv.Handle(func(r llmtest.Request) llmtest.Reply {
			asked := strings.Contains(string(r.Fields["stream_options"]), `"include_usage":true`)
			switch {
			case asked && refuses:
				return llmtest.Refuse(400, `{"error":{"message":"Unknown parameter: stream_options"}}`)
			case asked:
				return llmtest.Stream(llmtest.Text("ok"), llmtest.Finish("stop"), llmtest.Usage(9, 1, -1), llmtest.DoneMark())
			}
			return llmtest.Stream(llmtest.Text("ok"), llmtest.Finish("stop"), llmtest.DoneMark())
		})
		reply, err := ask(t, c)
		if err != nil || len(srv.Requests()) != want || (reply.Usage.Prompt == nil) != refuses {
			t.Errorf("refuses %v: %+v, %v after %d requests", refuses, reply.Usage, err, len(srv.Requests()))
		}
		if _, err := ask(t, c); err != nil || len(srv.Requests()) != want+1 {
			t.Errorf("refuses %v: %v, %d requests", refuses, err, len(srv.Requests()))
		}
	}
}

// B106: none of the ways in which models write calls is run; each is told of. What only looks like one is an answer.
func TestB106TextIsNotRun(t *testing.T) {
	for text, told := range map[string]bool{
		`<tool_call>{"name":"shell","arguments":{"cmd":"ls"}}</tool_call>`:  true,
		`[TOOL_CALLS][{"name":"shell","arguments":{"cmd":"ls"}}]`:           true,
		`<|python_tag|>{"name":"shell","parameters":{"cmd":"ls"}}`:          true,
		`<function=shell>{"cmd":"ls"}</function>`:                           true,
		"so:\n```json\n{\"name\":\"shell\",\"arguments\":{}}\n```\n":        false,
		`{"name":"shell","arguments":{"cmd":"ls"}}`:                         false,
		"a <b> and [c] and <tool> and [TOOL] and <|python|> are other text": false,
	} {
		_, c := serve(t, llmtest.Answer(text))
		reply, err := ask(t, c)
		if err != nil || len(reply.ToolCalls) > 0 || reply.Text != text || (len(reply.Notes) == 1) != told {
			t.Errorf("%s: %+v, %v", text, reply, err)
		}
	}
}

// A gateway in front of a server gets the headers that its profile names, and no message shows them.
func TestGatewayHeaders(t *testing.T) {
	set, err := profile.Parse([]byte("[profile.gw]\nheaders = { X-Gateway-Key = 'gateway-secret', Authorization = 'Token other-secret' }\nquery = { org = 'query-secret' }\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.NewServer()
	defer srv.Close()
	cfg := Config{BaseURL: srv.URL(), Key: testKey, Profiles: set, Profile: "gw"}
	c := New(cfg)
	defer c.Close()
	srv.Push(llmtest.Refuse(403, `{"error":{"message":"bad gateway-secret, Token other-secret, query-secret"}}`))
	e := failure(t, c)
	if e.Message != "bad ***, ***, ***" {
		t.Errorf("message %q", e.Message)
	}
	if r := srv.Requests()[0]; r.Header.Get("X-Gateway-Key") != "gateway-secret" || r.Header.Get("Authorization") != "Token other-secret" || r.Query.Get("org") != "query-secret" {
		t.Errorf("sent %v %v", r.Header, r.Query)
	}
	if s := fmt.Sprintf("%v %+v %#v", cfg, c, cfg); strings.Contains(s, "secret") {
		t.Errorf("printed %s", s)
	}
}
