package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/runtime/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// reply is what one request yielded.
type reply struct {
	Chunks    []llm.Chunk
	Text      string
	Reasoning string
	Done      *llm.Done
	Err       error
	Took      time.Duration
}

func ask(ctx context.Context, clk clock.Clock, c llm.Client, req llm.Request) reply {
	var r reply
	began := clk.Now()
	for ch, err := range c.Stream(ctx, req) {
		if err != nil {
			r.Err = err
			continue
		}
		r.Chunks = append(r.Chunks, ch)
		r.Text += ch.Text
		r.Reasoning += ch.Reasoning
		if ch.Done != nil {
			r.Done = ch.Done
		}
	}
	r.Took = clk.Now().Sub(began)
	return r
}

func user(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{
		{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: "rules"},
		{Role: llm.RoleUser, Kind: llm.KindUser, Content: text},
	}}
}

// sim runs f under a simulated clock.
func sim(f func(clk *clock.Sim)) {
	s := clock.NewSim(start)
	s.Run(func() { f(s) })
}

func TestStepsInOrder(t *testing.T) {
	sim(func(clk *clock.Sim) {
		c := New(clk,
			TextAndCalls("let me see", Call{Name: "calculator", Args: Args(map[string]string{"expression": "1+1"})}, Call{ID: "mine", Name: "todo"}).
				ChunkSize(4).Reasoning("hm, well").Usage(10, 5, -1).ReasoningTokens(2).Model("m-1").Extra(json.RawMessage(`{"a":1}`)),
			Text("2").ChunkSize(0).Finish(llm.FinishLength),
		)
		if got := c.Left(); got != 2 {
			t.Errorf("left = %d", got)
		}
		r := ask(t.Context(), clk, c, user("hi"))
		if r.Err != nil || r.Text != "let me see" || r.Reasoning != "hm, well" {
			t.Fatalf("reply: %+v", r)
		}
		ten, five, two := 10, 5, 2
		want := &llm.Done{Finish: llm.FinishToolCalls, Model: "m-1", Extra: json.RawMessage(`{"a":1}`),
			Usage: llm.Usage{Prompt: &ten, Completion: &five, Reasoning: &two},
			ToolCalls: []llm.ToolCall{
				{ID: "call_1_1", Name: "calculator", Arguments: `{"expression":"1+1"}`},
				{ID: "mine", Name: "todo"},
			}}
		if d := cmp.Diff(want, r.Done); d != "" {
			t.Error(d)
		}
		var args, names string
		for _, ch := range r.Chunks {
			if ch.CallDelta != nil && ch.CallDelta.Index == 0 {
				args += ch.CallDelta.Arguments
				names += ch.CallDelta.Name
			}
		}
		if args != `{"expression":"1+1"}` || names != "calculator" {
			t.Errorf("deltas of the call: %q %q", names, args)
		}
		r = ask(t.Context(), clk, c, user("hi"))
		if r.Text != "2" || r.Done.Finish != llm.FinishLength || len(r.Chunks) != 2 {
			t.Errorf("second reply: %+v", r)
		}
		r = ask(t.Context(), clk, c, user("hi"))
		var e *llm.Error
		if !errors.As(r.Err, &e) || e.Kind != llm.ErrExhausted || e.Retryable {
			t.Errorf("past the end: %v", r.Err)
		}
		if c.Left() != 0 || len(c.Requests()) != 3 {
			t.Errorf("left %d, requests %d", c.Left(), len(c.Requests()))
		}
		c.Add(Text("more"))
		if r = ask(t.Context(), clk, c, user("hi")); r.Text != "more" {
			t.Errorf("added step: %+v", r)
		}
	})
}

func TestWhenServesSeveralSessions(t *testing.T) {
	sim(func(clk *clock.Sim) {
		c := New(clk,
			Text("a1").When("alpha"),
			Text("b1").When("beta").Times(2),
			Text("a2").When("alpha"),
			Text("else").Times(-1),
		)
		for i, tc := range []struct{ in, want string }{
			{"beta?", "b1"}, {"alpha", "a1"}, {"so alpha again", "a2"}, {"alpha", "else"}, {"beta", "b1"}, {"beta", "else"},
		} {
			if r := ask(t.Context(), clk, c, user(tc.in)); r.Text != tc.want {
				t.Errorf("%d: %q answered %q, want %q", i, tc.in, r.Text, tc.want)
			}
		}
		if c.Left() != 0 {
			t.Errorf("left = %d", c.Left())
		}
		// A tool's answer and a notice of the runtime leave the user's last message the one that chooses.
		c.Add(Text("late").When("gamma"))
		req := user("gamma")
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleAssistant, Content: "?"},
			llm.Message{Role: llm.RoleUser, Kind: llm.KindNotice, Content: "repair that"})
		c2 := New(clk, Text("late").When("gamma"))
		if r := ask(t.Context(), clk, c2, req); r.Text != "late" {
			t.Errorf("with a notice last: %+v", r)
		}
	})
}

func TestTimes(t *testing.T) {
	sim(func(clk *clock.Sim) {
		c := New(clk, Text("x").Deltas("a", "b", "c").Delay(time.Second).Pace(100*time.Millisecond))
		r := ask(t.Context(), clk, c, user("hi"))
		if want := time.Second + 3*100*time.Millisecond; r.Took != want {
			t.Errorf("took %v, want %v", r.Took, want)
		}
		if r.Text != "abc" || len(r.Chunks) != 4 {
			t.Errorf("reply: %+v", r)
		}
	})
}

func TestEarlyEnds(t *testing.T) {
	kind := func(err error) llm.ErrorKind {
		var e *llm.Error
		if errors.As(err, &e) {
			return e.Kind
		}
		return ""
	}
	for _, tc := range []struct {
		name   string
		step   Step
		text   string
		kind   llm.ErrorKind
		silent bool
	}{
		{"fail", Fail(&llm.Error{Kind: llm.ErrAuth, Status: 401}), "", llm.ErrAuth, false},
		{"fail nil", Fail(nil), "", llm.ErrServer, false},
		{"cut", Text("abcdef").ChunkSize(2).Cut(2), "abcd", llm.ErrCut, false},
		{"cut at once", Text("abcdef").Cut(0), "", llm.ErrCut, false},
		{"cut before done", Text("abcdef").ChunkSize(2).Cut(99), "abcdef", llm.ErrCut, false},
		{"fail after", Text("abcdef").ChunkSize(1).FailAfter(3, &llm.Error{Kind: llm.ErrServer}), "abc", llm.ErrServer, false},
		{"no done", Text("abcdef").ChunkSize(1).NoDone(3), "abc", "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sim(func(clk *clock.Sim) {
				r := ask(t.Context(), clk, New(clk, tc.step), user("hi"))
				if r.Text != tc.text || kind(r.Err) != tc.kind || r.Done != nil || tc.silent != (r.Err == nil) {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	for _, tc := range []struct {
		name string
		step Step
		want string
	}{
		{"while hanging", Hang(), ""},
		{"while hanging later", Text("abcd").ChunkSize(1).HangAfter(2), "ab"},
		{"before the first chunk", Text("abcd").Delay(time.Hour), ""},
		{"between chunks", Text("abcd").ChunkSize(1).Pace(2 * time.Second), "abc"},
		{"in front of done", Text("abcd").ChunkSize(0).Pace(time.Hour), "abcd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sim(func(clk *clock.Sim) {
				ctx, cancel := clk.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				r := ask(ctx, clk, New(clk, tc.step), user("hi"))
				if !errors.Is(r.Err, context.DeadlineExceeded) || r.Text != tc.want || r.Took != 5*time.Second {
					t.Errorf("%+v", r)
				}
			})
		})
	}
	sim(func(clk *clock.Sim) {
		ctx, cancel := clk.WithCancel(t.Context())
		cancel()
		c := New(clk, Text("x"))
		if r := ask(ctx, clk, c, user("hi")); !errors.Is(r.Err, context.Canceled) {
			t.Errorf("cancelled before: %+v", r)
		}
		if c.Left() != 1 || len(c.Requests()) != 0 {
			t.Error("a cancelled request used up a step")
		}
		// Cancelled by the consumer between two chunks that nothing waits for.
		ctx, cancel = clk.WithCancel(t.Context())
		n := 0
		for _, err := range New(clk, Text("abcd").ChunkSize(1)).Stream(ctx, user("hi")) {
			n++
			if n == 2 {
				cancel()
			}
			if n == 3 && !errors.Is(err, context.Canceled) {
				t.Errorf("third: %v", err)
			}
		}
		if n != 3 {
			t.Errorf("%d chunks after a cancel at 2", n)
		}
		cancel()
	})
}

func TestConsumerStops(t *testing.T) {
	sim(func(clk *clock.Sim) {
		for range New(clk, Text("abcd").ChunkSize(1)).Stream(t.Context(), user("hi")) {
			break
		}
		for range New(clk, Fail(nil)).Stream(t.Context(), user("hi")) {
			break
		}
	})
}

func TestFunc(t *testing.T) {
	sim(func(clk *clock.Sim) {
		c := New(clk,
			Func(func(r llm.Request) Step {
				r.Messages[0].Content = "changed"
				return Text("you said " + r.Messages[1].Content)
			}).Times(2),
			Func(func(llm.Request) Step { return Func(nil).nested() }),
		)
		if r := ask(t.Context(), clk, c, user("hi")); r.Text != "you said hi" {
			t.Errorf("%+v", r)
		}
		ask(t.Context(), clk, c, user("ho"))
		for i, req := range c.Requests() {
			if req.Messages[0].Content != "rules" {
				t.Errorf("request %d was changed", i)
			}
		}
		r := ask(t.Context(), clk, c, user("hi"))
		var e *llm.Error
		if !errors.As(r.Err, &e) || e.Kind != llm.ErrProtocol {
			t.Errorf("nested: %+v", r)
		}
	})
}

func (s Step) nested() Step { s.build = func(llm.Request) Step { return s }; return s }

func TestRequestsAreCopies(t *testing.T) {
	sim(func(clk *clock.Sim) {
		temp := 0.5
		req := user("hi")
		req.Temperature = &temp
		req.Tools = []llm.ToolSpec{{Name: "a", Schema: json.RawMessage(`{}`)}}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Extra: json.RawMessage(`{"x":1}`),
			ToolCalls: []llm.ToolCall{{ID: "1", Name: "a", Arguments: "{}", Extra: json.RawMessage(`{"y":1}`)}}},
			llm.Message{Role: llm.RoleTool, ToolCallID: "1", Content: "{}"})
		want := cloneRequest(req)
		c := New(clk, Text("x").Times(-1))
		ask(t.Context(), clk, c, req)
		*req.Temperature = 9
		req.Messages[1].Content = "changed"
		req.Messages[2].Extra[1] = '?'
		req.Messages[2].ToolCalls[0].Name = "changed"
		req.Tools[0].Schema[0] = '?'
		c.Requests()[0].Messages[1].Content = "changed"
		if d := cmp.Diff(want, c.Requests()[0]); d != "" {
			t.Error(d)
		}
	})
}

func TestConcurrent(t *testing.T) {
	sim(func(clk *clock.Sim) {
		const n = 20
		c := New(clk, Text("one").Pace(time.Millisecond).ChunkSize(1).Times(n))
		g := clock.NewGroup(clk)
		replies := make([]reply, n)
		for i := range n {
			g.Go(func() { replies[i] = ask(t.Context(), clk, c, user("hi")) })
		}
		if err := g.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, r := range replies {
			if r.Text != "one" || r.Err != nil {
				t.Errorf("%d: %+v", i, r)
			}
		}
		if len(c.Requests()) != n || c.Left() != 0 {
			t.Errorf("requests %d, left %d", len(c.Requests()), c.Left())
		}
	})
}

// TestMadeUpIDs: after a restart, when the client counts anew, ids are still unique in the history.
func TestMadeUpIDs(t *testing.T) {
	sim(func(clk *clock.Sim) {
		req := user("hi")
		for range 3 {
			// Each client is that of a new process.
			r := ask(t.Context(), clk, New(clk, Calls(Call{Name: "a", Args: "{}"}, Call{Name: "b", Args: "{}"})).Strict(), req)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, ToolCalls: r.Done.ToolCalls})
			for _, c := range r.Done.ToolCalls {
				req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, ToolCallID: c.ID, Content: "{}"})
			}
		}
		if err := CheckHistory(req); err != nil {
			t.Error(err)
		}
	})
}

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(_ *testing.T, s llmtest.Scenario) llm.Client {
		c := New(clock.Real())
		for i, p := range s.Plays {
			step := Text("").Deltas(p.Text...).Reasoning(strings.Join(p.Reasoning, "")).Finish(p.Finish)
			step.usage = p.Usage
			for _, call := range p.Calls {
				step.calls = append(step.calls, Call{ID: call.ID, Name: call.Name, Args: call.Arguments})
			}
			switch p.End {
			case llmtest.EndFail:
				step = Fail(failure(p.Status))
			case llmtest.EndCut:
				step = step.Cut(1 << 20)
			case llmtest.EndHang:
				step = step.HangAfter(1 << 20)
			}
			if s.Repeat && i == len(s.Plays)-1 {
				step = step.Times(-1)
			}
			c.Add(step)
		}
		return c
	})
}

// failure is what an HTTP client makes of a status.
func failure(status int) *llm.Error {
	kinds := map[int]llm.ErrorKind{401: llm.ErrAuth, 403: llm.ErrAuth, 402: llm.ErrQuota, 404: llm.ErrNotFound, 429: llm.ErrRate}
	e := &llm.Error{Kind: kinds[status], Status: status, Message: "refused", Retryable: status == 429 || status >= 500}
	if e.Kind == "" {
		e.Kind = llm.ErrRejected
		if status >= 500 {
			e.Kind = llm.ErrServer
		}
	}
	return e
}

// TestConcurrentReal runs requests truly side by side, for the race detector.
func TestConcurrentReal(t *testing.T) {
	clk := clock.Real()
	c := New(clk, Text("one").Times(-1)).Strict()
	g := clock.NewGroup(clk)
	for range 8 {
		g.Go(func() {
			for range 50 {
				if r := ask(t.Context(), clk, c, user("hi")); r.Text != "one" {
					t.Errorf("%+v", r)
				}
				c.Left()
			}
		})
	}
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(c.Requests()); n != 400 {
		t.Errorf("%d requests", n)
	}
}

func TestArgsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Args(func() {})
}

func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		n := rapid.IntRange(-1, 5).Draw(t, "n")
		got := pieces(s, n)
		if strings.Join(got, "") != s {
			t.Fatalf("%q in pieces of %d: %q", s, n, got)
		}
		size := n
		if n == 0 {
			size = defaultChunk
		}
		for i, p := range got {
			runes := len([]rune(p))
			if n > 0 && i < len(got)-1 && runes != size || p == "" {
				t.Fatalf("piece %d of %q has %d runes", i, s, runes)
			}
		}
	})
}

// A program that dies in the middle of a reply has not had it: started again on another clock it gets the same one. A reply that was
// cancelled was had.
func TestMoveAfterADeath(t *testing.T) {
	first := clock.NewSim(time.Unix(0, 0))
	c := New(first, Text("one two three").Pace(time.Second).ChunkSize(1), Text("four"))
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "go"}}}
	first.Go(func() {
		for range c.Stream(context.Background(), req) {
		}
	})
	first.Advance(3 * time.Second)
	first.Halt()
	second := clock.NewSim(time.Unix(9, 0))
	c.Move(second)
	read := func() (text string) {
		second.Run(func() {
			for ch, err := range c.Stream(context.Background(), req) {
				if err != nil {
					t.Error(err)
				}
				text += ch.Text
			}
		})
		return text
	}
	if a, b := read(), read(); a != "one two three" || b != "four" {
		t.Errorf("%q, %q", a, b)
	}
	c.Add(Text("five six").Pace(time.Second).ChunkSize(1), Text("seven"))
	ctx, cancel := second.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	second.Run(func() {
		for range c.Stream(ctx, req) {
		}
	})
	if got := read(); got != "seven" {
		t.Errorf("after a cancel: %q", got)
	}
}
