package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
)

// Lack is something that a client cannot do, so that the suite does not ask for it.
type Lack int

// The lacks.
const (
	// NoScript: the client answers by its own rules; what a Scenario says is only a wish. The suite then asks it to say
	// something and to call the calculator tool, and checks the contract alone.
	NoScript Lack = iota
	// NoFaults: it cannot fail or break off.
	NoFaults
	// NoReasoning: it has no reasoning apart from the text.
	NoReasoning
	// NoUsage: it reports no tokens.
	NoUsage
)

// patience bounds what ought to be immediate.
const patience = 10 * time.Second

// Suite checks that a client keeps the contract of llm.Client. factory makes a client that plays a scenario; what it needs
// to be closed goes into t.Cleanup.
func Suite(t *testing.T, factory func(*testing.T, Scenario) llm.Client, lacks ...Lack) {
	s := suite{factory: factory, lacks: lacks}
	if slices.Contains(lacks, NoScript) {
		t.Run("contract", s.ownRules)
		t.Run("cancel", s.cancelOwn)
		t.Run("stop", s.stopEarly)
		t.Run("concurrent", s.concurrentOwn)
		return
	}
	t.Run("replies", s.replies)
	t.Run("in order", s.inOrder)
	t.Run("twice", s.twice)
	t.Run("cancel in the middle", s.cancel)
	t.Run("cancelled before", s.cancelledBefore)
	t.Run("stop", s.stopEarly)
	t.Run("concurrent", s.concurrent)
	t.Run("request unchanged", s.unchanged)
	if !slices.Contains(lacks, NoFaults) {
		t.Run("error before the first chunk", s.fails)
		t.Run("cut", s.cutStream)
	}
}

type suite struct {
	factory func(*testing.T, Scenario) llm.Client
	lacks   []Lack
}

func (s suite) lacksAny(l Lack) bool { return slices.Contains(s.lacks, l) }

// SuiteRequest is a request that every client can answer: it asks for arithmetic and offers a calculator.
func SuiteRequest() llm.Request {
	return llm.Request{
		Model: "test-model",
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: "You are a test."},
			{Role: llm.RoleUser, Kind: llm.KindUser, Content: "what is (17+5)*3?"},
		},
		Tools: []llm.ToolSpec{{
			Name: "calculator", Description: "Computes.",
			Schema: json.RawMessage(`{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"]}`),
		}},
	}
}

func num(n int) *int { return &n }

// plays are the replies that the suite asks for, by name.
func (s suite) plays() map[string]Play {
	one := llm.ToolCall{ID: "c1", Name: "calculator", Arguments: `{"expression":"(17+5)*3"}`}
	two := llm.ToolCall{ID: "c2", Name: "search_mock", Arguments: `{"query":"你好 👩‍👩‍👧"}`}
	plays := map[string]Play{
		"text":           {Text: []string{"Hel", "lo, ", "世界 👩‍👩‍👧", " e\u0301"}},
		"call":           {Calls: []llm.ToolCall{one}},
		"text and call":  {Text: []string{"Let me ", "compute."}, Calls: []llm.ToolCall{one}},
		"parallel calls": {Calls: []llm.ToolCall{one, two}},
		"no arguments":   {Calls: []llm.ToolCall{{ID: "c1", Name: "todo", Arguments: ""}}},
		"no ids":         {Calls: []llm.ToolCall{{Name: "calculator", Arguments: `{}`}, {Name: "todo", Arguments: `{}`}}},
		"bad arguments":  {Calls: []llm.ToolCall{{ID: "c1", Name: "calculator", Arguments: `{"expression":"(1`}}},
		"odd name":       {Calls: []llm.ToolCall{{ID: "c1", Name: " Read_File\x1b[31m", Arguments: `{}`}}}, // B053: names pass as they came
		"empty":          {},
		"length":         {Text: []string{"cut o"}, Finish: llm.FinishLength},
		"filtered":       {Finish: llm.FinishContentFilter},
		"unknown reason": {Text: []string{"x"}, Finish: "eos"},
	}
	if !s.lacksAny(NoUsage) {
		plays["usage"] = Play{Text: []string{"x"}, Usage: llm.Usage{Prompt: num(120), Completion: num(7), Cached: num(64), Reasoning: num(3)}}
		plays["some usage"] = Play{Text: []string{"x"}, Usage: llm.Usage{Prompt: num(9), Completion: num(2)}}
	}
	if !s.lacksAny(NoReasoning) {
		plays["reasoning"] = Play{Reasoning: []string{"hm", "m"}, Text: []string{"ok"}}
	}
	return plays
}

func (s suite) replies(t *testing.T) {
	for name, p := range s.plays() {
		t.Run(name, func(t *testing.T) {
			c := s.factory(t, Scenario{Plays: []Play{p}})
			reply, err := Record(t, c.Stream(t.Context(), SuiteRequest()))
			if err != nil {
				t.Fatalf("error: %v", err)
			}
			check(t, p, reply)
		})
	}
}

// check compares a reply with the play that it should be.
func check(t testing.TB, p Play, got llm.Reply) {
	t.Helper()
	if want := strings.Join(p.Text, ""); got.Text != want {
		t.Errorf("text %q, want %q", got.Text, want)
	}
	if want := strings.Join(p.Reasoning, ""); got.Reasoning != want {
		t.Errorf("reasoning %q, want %q", got.Reasoning, want)
	}
	if want := p.finish(); got.Finish != want {
		t.Errorf("finish %q, want %q", got.Finish, want)
	}
	if d := cmp.Diff(p.Usage, got.Usage); d != "" {
		t.Errorf("usage (-want +got):\n%s", d)
	}
	var want, have []llm.ToolCall
	for i, c := range p.Calls {
		if c.ID == "" && i < len(got.ToolCalls) {
			c.ID = got.ToolCalls[i].ID // made up; that it is there and unique is part of the contract
		}
		want = append(want, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	for _, c := range got.ToolCalls {
		have = append(have, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// inOrder plays several replies in one client.
func (s suite) inOrder(t *testing.T) {
	plays := []Play{{Text: []string{"one"}}, {Calls: []llm.ToolCall{{ID: "a", Name: "todo", Arguments: "{}"}}}, {Text: []string{"three"}}}
	c := s.factory(t, Scenario{Plays: plays})
	for _, p := range plays {
		reply, err := Record(t, c.Stream(t.Context(), SuiteRequest()))
		if err != nil {
			t.Fatalf("error: %v", err)
		}
		check(t, p, reply)
	}
}

// twice iterates one stream twice: each time it is a request of its own.
func (s suite) twice(t *testing.T) {
	plays := []Play{{Text: []string{"one"}}, {Text: []string{"two"}}}
	stream := s.factory(t, Scenario{Plays: plays}).Stream(t.Context(), SuiteRequest())
	for _, p := range plays {
		reply, err := Record(t, stream)
		if err != nil {
			t.Fatalf("error: %v", err)
		}
		check(t, p, reply)
	}
}

func (s suite) fails(t *testing.T) {
	for status, kind := range map[int]llm.ErrorKind{
		400: llm.ErrRejected, 401: llm.ErrAuth, 402: llm.ErrQuota, 403: llm.ErrAuth, 404: llm.ErrNotFound, 422: llm.ErrRejected,
		429: llm.ErrRate, 500: llm.ErrServer, 503: llm.ErrServer,
	} {
		c := s.factory(t, Scenario{Plays: []Play{{End: EndFail, Status: status}, {Text: []string{"well"}}}})
		reply, err := Record(t, c.Stream(t.Context(), SuiteRequest()))
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatalf("%d: error %v, want an *llm.Error", status, err)
		}
		if e.Kind != kind || e.Status != status || e.Retryable != (status == 429 || status >= 500) {
			t.Errorf("%d: kind %q, status %d, retryable %v", status, e.Kind, e.Status, e.Retryable)
		}
		if reply.Text != "" || reply.ToolCalls != nil {
			t.Errorf("%d: a reply beside an error: %+v", status, reply)
		}
		if reply, err = Record(t, c.Stream(t.Context(), SuiteRequest())); err != nil || reply.Text != "well" {
			t.Errorf("%d: the next request gives %q, %v", status, reply.Text, err)
		}
	}
}

// cutStream breaks off, also behind a call that looks complete: no call may come out of it.
func (s suite) cutStream(t *testing.T) {
	for name, p := range map[string]Play{
		"at once":      {End: EndCut},
		"in text":      {Text: []string{"half an "}, End: EndCut},
		"after a call": {Calls: []llm.ToolCall{{ID: "c1", Name: "todo", Arguments: `{"action":"list"}`}}, End: EndCut},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.factory(t, Scenario{Plays: []Play{p}})
			reply, err := Record(t, c.Stream(t.Context(), SuiteRequest()))
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.ErrCut || !e.Retryable {
				t.Errorf("error %v, want a cut that may be retried", err)
			}
			if len(reply.ToolCalls) > 0 || reply.Finish != "" {
				t.Errorf("a cut reply has calls or a reason: %+v", reply)
			}
		})
	}
}

// cancel ends a reply that hangs after its first delta.
func (s suite) cancel(t *testing.T) {
	c := s.factory(t, Scenario{Plays: []Play{{Text: []string{"first"}, End: EndHang}, {Text: []string{"well"}}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got string
	_, err := Record(t, func(yield func(llm.Chunk, error) bool) {
		for ch, err := range c.Stream(ctx, SuiteRequest()) {
			if got += ch.Text; got == "first" {
				cancel()
			}
			if !yield(ch, err) {
				return
			}
		}
	})
	if got != "first" || !errors.Is(err, context.Canceled) {
		t.Errorf("text %q, error %v, want first and the context's error", got, err)
	}
	if reply, err := Record(t, c.Stream(t.Context(), SuiteRequest())); err != nil || reply.Text != "well" {
		t.Errorf("the next request gives %q, %v", reply.Text, err)
	}
}

func (s suite) cancelledBefore(t *testing.T) {
	c := s.factory(t, Scenario{Plays: []Play{{Text: []string{"x"}}}, Repeat: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if reply, err := Record(t, c.Stream(ctx, SuiteRequest())); !errors.Is(err, context.Canceled) || reply.Text != "" {
		t.Errorf("text %q, error %v, want nothing and the context's error", reply.Text, err)
	}
}

// stopEarly leaves the loop at the first chunk with text or a call.
func (s suite) stopEarly(t *testing.T) {
	c := s.factory(t, Scenario{Plays: []Play{{Text: []string{"a", "b", "c"}}}, Repeat: true})
	for ch, err := range c.Stream(t.Context(), SuiteRequest()) {
		if err != nil {
			t.Errorf("error: %v", err)
		}
		if !ch.Empty() {
			break
		}
	}
	if _, err := Record(t, c.Stream(t.Context(), SuiteRequest())); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func (s suite) concurrent(t *testing.T) {
	p := Play{Text: []string{"a", "b", "c"}, Calls: []llm.ToolCall{{ID: "c1", Name: "todo", Arguments: `{"n":1}`}}}
	c := s.factory(t, Scenario{Plays: []Play{p}, Repeat: true})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			reply, err := Record(t, c.Stream(t.Context(), SuiteRequest()))
			if err != nil {
				t.Errorf("error: %v", err)
			}
			check(t, p, reply)
		})
	}
	all.Wait()
}

// unchanged checks that the request is as it was, also where it shares memory with the caller.
func (s suite) unchanged(t *testing.T) {
	c := s.factory(t, Scenario{Plays: []Play{{Text: []string{"x"}}}})
	req := SuiteRequest()
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.RoleAssistant, Kind: llm.KindAssistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "calculator", Arguments: "{}", Extra: json.RawMessage(`{"a":1}`)}}},
		llm.Message{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: "c1", Content: "66"},
		llm.Message{Role: llm.RoleUser, Kind: llm.KindNotice, Content: "go on"})
	before := compactJSON(req)
	if _, err := Record(t, c.Stream(t.Context(), req)); err != nil {
		t.Fatalf("error: %v", err)
	}
	if d := cmp.Diff(before, compactJSON(req)); d != "" {
		t.Errorf("the request was changed:\n%s", d)
	}
}

// ownRules checks a client that follows its own rules: arithmetic is for the calculator, and its result becomes an answer.
func (s suite) ownRules(t *testing.T) {
	c := s.factory(t, Scenario{})
	req := SuiteRequest()
	for range 4 {
		reply, err := Record(t, c.Stream(t.Context(), req))
		if err != nil {
			t.Fatalf("error: %v", err)
		}
		req.Messages = append(req.Messages, reply.Message())
		if len(reply.ToolCalls) == 0 {
			if reply.Text == "" || len(req.Messages) < 4 {
				t.Errorf("an answer without text or without a call before it: %+v", req.Messages)
			}
			return
		}
		for _, call := range reply.ToolCalls {
			if call.Name != "calculator" || !isObject(call.Arguments) {
				t.Errorf("a call of a tool that was not offered, or without arguments: %+v", call)
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: call.ID, Name: call.Name,
				Content: `{"ok":true,"data":{"result":"66"},"truncated":false}`})
		}
	}
	t.Error("no answer after four replies")
}

// cancelOwn cancels at the first sign of a reply.
func (s suite) cancelOwn(t *testing.T) {
	c := s.factory(t, Scenario{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := Record(t, func(yield func(llm.Chunk, error) bool) {
		for ch, err := range c.Stream(ctx, SuiteRequest()) {
			cancel()
			if !yield(ch, err) {
				return
			}
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want none or the context's", err)
	}
	if _, err := Record(t, c.Stream(ctx, SuiteRequest())); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that is cancelled before gives %v", err)
	}
}

func (s suite) concurrentOwn(t *testing.T) {
	c := s.factory(t, Scenario{})
	var all sync.WaitGroup
	replies := make([]string, 16)
	for i := range replies {
		all.Go(func() {
			reply, err := Record(t, c.Stream(t.Context(), SuiteRequest()))
			if err != nil {
				t.Errorf("error: %v", err)
			}
			replies[i] = compactJSON(reply)
		})
	}
	all.Wait()
	for _, r := range replies[1:] {
		if d := cmp.Diff(replies[0], r); d != "" {
			t.Errorf("the same request was answered differently:\n%s", d)
			break
		}
	}
}
