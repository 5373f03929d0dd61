package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

// begin opens s, submits text and lets d pass.
func (b *bed) begin(ctx context.Context, text string, d time.Duration) {
	b.t.Helper()
	if _, err := b.eng.Open(ctx, "s", true); err != nil {
		b.t.Fatal(err)
	}
	if err := b.eng.Submit(ctx, "s", text); err != nil {
		b.t.Fatal(err)
	}
	if err := b.clk.Sleep(ctx, d); err != nil {
		b.t.Fatal(err)
	}
}

func TestCancel(t *testing.T) {
	slow := scripted.Text("one two three four").ChunkSize(4).Pace(time.Second)
	tests := map[string]struct {
		steps   []scripted.Step
		closing string
		partial bool
		results []string
	}{
		"before the first token": {[]scripted.Step{scripted.Text("x").Delay(time.Minute)}, "[cancelled]", false, nil},
		"in the stream":          {[]scripted.Step{slow}, "[interrupted]", true, nil},
		"in a hang":              {[]scripted.Step{scripted.Hang()}, "[cancelled]", false, nil},
		"in a tool": {[]scripted.Step{scripted.Calls(
			scripted.Call{Name: "fire", Args: `{"text":"a","wait_ms":60000}`},
			scripted.Call{Name: "fire", Args: `{"text":"b"}`})}, "[cancelled]", false, []string{"interrupted", "not_run"}},
		"in one of two": {[]scripted.Step{scripted.Calls(
			scripted.Call{Name: "read", Args: `{"text":"a"}`},
			scripted.Call{Name: "read", Args: `{"text":"b","wait_ms":60000}`})}, "[cancelled]", false, []string{`"ok":true`, "interrupted"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range tc.steps {
				tc.steps[i] = tc.steps[i].When("go")
			}
			b := newBed(t, append(tc.steps, scripted.Text("fine"))...)
			b.run(func(ctx context.Context) {
				b.begin(ctx, "go", 1500*time.Millisecond)
				b.eng.Cancel("s")
				b.eng.Cancel("s") // a second Esc does no harm
				if end := b.await(ctx, 0); end.State != "cancelled" {
					t.Errorf("end = %+v", end)
				}
				b.eng.Cancel("s")
				if name == "in the stream" {
					for _, r := range b.store.sessions["s"].runs {
						if r.Usage.Prompt == 0 || !r.Usage.Estimated {
							t.Errorf("a stream that was begun cost nothing: %+v", r.Usage)
						}
					}
				}
				last := b.last("s")
				if !strings.Contains(last.Content, tc.closing) || last.Partial != tc.partial {
					t.Errorf("closing = %+v", last)
				}
				b.ask(ctx, "s", "next")
			})
			var results []string
			for _, m := range b.messages("s") {
				if m.Role == llm.RoleTool {
					results = append(results, m.Content)
				}
			}
			for i, want := range tc.results {
				if !strings.Contains(results[i], want) {
					t.Errorf("result %d = %s, want %s", i, results[i], want)
				}
			}
			b.checkHistory("s")
		})
	}
}

// Esc ends a run also while a tool ignores its context.
func TestCancelStubbornTool(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a","wait_ms":3600000}`}))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		before := b.clk.Now()
		b.eng.Cancel("s")
		b.await(ctx, 0)
		if d := b.clk.Now().Sub(before); d > time.Second {
			t.Errorf("the cancel took %v", d)
		}
	})
}

// B044: queued input is sent exactly once in order whatever becomes of the turn, or stays in the queue.
func TestQueue(t *testing.T) {
	tests := map[string]struct {
		first scripted.Step
		act   func(b *bed)
		held  bool
	}{
		"finish":    {scripted.Text("one").Delay(time.Second), nil, false},
		"cancel":    {scripted.Text("one").Delay(time.Minute), func(b *bed) { b.eng.Cancel("s") }, false},
		"http 500":  {scripted.Fail(&llm.Error{Kind: llm.ErrServer, Status: 500}).Delay(time.Second), nil, true},
		"exhausted": {scripted.Fail(&llm.Error{Kind: llm.ErrContext, Status: 400}).Delay(time.Second), nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, tc.first.When("first"), scripted.Text("two").When("second"), scripted.Text("three").When("third"), scripted.Text("four").When("fourth"))
			b.run(func(ctx context.Context) {
				b.begin(ctx, "first", 500*time.Millisecond)
				for _, text := range []string{"second", "third"} {
					if err := b.eng.Submit(ctx, "s", text); err != nil {
						t.Fatal(err)
					}
				}
				if len(b.messages("s")) != 1 {
					t.Error("queued input became a message before its turn")
				}
				if tc.act != nil {
					tc.act(b)
				}
				if tc.held {
					b.await(ctx, 0)
					snap, err := b.eng.Open(ctx, "s", false)
					if err != nil || len(snap.Inbox) != 2 {
						t.Fatalf("inbox after the failure: %+v %v", snap.Inbox, err)
					}
					if err := b.eng.Submit(ctx, "s", "fourth"); err != nil {
						t.Fatal(err)
					}
					b.await(ctx, 3)
				} else {
					b.await(ctx, 2)
				}
			})
			var users []string
			for _, m := range b.messages("s") {
				if m.Kind == llm.KindUser {
					users = append(users, m.Content)
				}
			}
			want := []string{"first", "second", "third"}
			if tc.held {
				want = append(want, "fourth")
			}
			if d := cmp.Diff(want, users); d != "" {
				t.Error(d)
			}
			b.checkHistory("s")
		})
	}
}

func TestWithdraw(t *testing.T) {
	b := newBed(t, scripted.Text("one").Delay(time.Second), scripted.Text("three"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "first", 500*time.Millisecond)
		for _, text := range []string{"second", "third"} {
			if err := b.eng.Submit(ctx, "s", text); err != nil {
				t.Fatal(err)
			}
		}
		id := b.store.sessions["s"].inbox[0].ID
		if text, err := b.eng.Withdraw(ctx, "s", id); err != nil || text != "second" {
			t.Errorf("withdraw: %q %v", text, err)
		}
		if _, err := b.eng.Withdraw(ctx, "s", id); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("withdraw twice: %v", err)
		}
		if _, err := b.eng.Withdraw(ctx, "nobody", id); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("withdraw from nobody: %v", err)
		}
		b.await(ctx, 1)
	})
	if n := b.store.sessions["s"].row.TurnCount; n != 2 {
		t.Errorf("%d turns", n)
	}
}

// Closing a session waits for its run; no further turn starts.
func TestCloseWaits(t *testing.T) {
	b := newBed(t, scripted.Text("one").Delay(time.Second))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "first", 100*time.Millisecond)
		if err := b.eng.Submit(ctx, "s", "second"); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Close(ctx, "s"); err != nil {
			t.Fatal(err)
		}
		if b.last("s").Content != "one" || len(b.store.sessions["s"].inbox) != 1 {
			t.Errorf("closed with %+v", b.last("s"))
		}
		// The queued input waits for the user's word after it was opened again.
		b.model.Add(scripted.Text("two"))
		snap, err := b.eng.Open(ctx, "s", false)
		if err != nil || len(snap.Inbox) != 1 {
			t.Fatalf("%+v %v", snap.Inbox, err)
		}
		yes := true
		if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
			t.Fatal(err)
		}
		b.await(ctx, 1)
	})
}

// A commit error means that the outcome is unknown: the session parks and goes on when the fault is gone.
func TestPark(t *testing.T) {
	for i := range 8 {
		after, point := i%2 == 1, i/2+1
		t.Run(fmt.Sprintf("commit %d, lost after=%v", point, after), func(t *testing.T) {
			b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"x"}`}), scripted.Text("done"))
			n := 0
			b.store.fail = func(_ runtime.Tx, a bool) error {
				if a != after {
					return nil
				}
				if n++; n == point || !after && n > point && n < point+3 {
					return fmt.Errorf("commit to session s: write: %w", errDisk)
				}
				return nil
			}
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			if d := cmp.Diff([]string{"fire:x"}, b.ran); d != "" {
				t.Error(d)
			}
			said := map[string]bool{}
			for _, ev := range b.named(trace.Error) {
				d := ev.Data.(trace.ErrorData)
				if ev.Seq != 0 || d.Stored {
					t.Errorf("an error that could not be stored claims to be: %+v", ev)
				}
				said[d.Code] = true
				if d.Code == "not_saved" && d.Why != errDisk.Error() {
					t.Errorf("the cause is hidden in %q", d.Why)
				}
			}
			if !said["not_saved"] || !said["saved"] {
				t.Errorf("the user was told %v", said)
			}
			b.checkHistory("s")
		})
	}
}

// Nothing else of a parked session is dispatched or committed; a headless run gives up after its limit.
func TestParkLimit(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"x"}`}), scripted.Text("done"))
	b.cfg.Limits.ParkLimit = 30 * time.Second
	n := 0
	b.store.fail = func(_ runtime.Tx, after bool) error {
		if n++; n > 2 {
			return errDisk
		}
		return nil
	}
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", 20*time.Second)
		if len(b.ran) != 0 {
			t.Error("a tool ran although its intent is not stored")
		}
		if err := b.clk.Sleep(ctx, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		evs := b.named(trace.State)
		if d := evs[len(evs)-1].Data.(trace.StateData); d.State != "failed" || d.Reason != "store" {
			t.Errorf("last state = %+v", d)
		}
		if err := b.eng.Submit(ctx, "s", "more"); !errors.Is(err, runtime.ErrNotStored) {
			t.Errorf("submit on a full disk: %v", err)
		}
		b.store.fail = nil
		if end := b.ask(ctx, "s", "again"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	b.checkHistory("s")
}

func TestFenced(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"x","wait_ms":1000}`}), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", 500*time.Millisecond)
		b.store.mu.Lock()
		b.store.sessions["s"].row.Fence.Epoch += 5
		commits := len(b.store.commits)
		b.store.mu.Unlock()
		if err := b.clk.Sleep(ctx, 2*time.Second); err != nil {
			t.Fatal(err)
		}
		if len(b.store.commits) != commits {
			t.Error("a fenced session was written")
		}
		if err := b.eng.Submit(ctx, "s", "x"); !errors.Is(err, runtime.ErrFenced) {
			t.Errorf("submit: %v", err)
		}
	})
}

func TestConstraintEndsTheRun(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"x"}`}), scripted.Text("done"))
	n := 0
	b.store.fail = func(_ runtime.Tx, after bool) error {
		if n++; n == 3 {
			return runtime.ErrConstraint
		}
		return nil
	}
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "go"); end.State != "failed" || end.Reason != "internal" {
			t.Errorf("end = %+v", end)
		}
	})
	b.checkHistory("s")
}

// B037: a panic in a tool fails that call, one in the stream reader that turn; the session goes on.
func TestPanics(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"panic"}`}), scripted.Text("done"),
		scripted.Func(func(llm.Request) scripted.Step { panic("reader panic") }), scripted.Text("fine"))
	var told []string
	b.cfg.OnPanic = func(p *runtime.PanicError) { told = append(told, p.Error()+p.Stack) }
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "one"); end.State != "succeeded" {
			t.Errorf("tool panic: %+v", end)
		}
		if end := b.ask(ctx, "s", "two"); end.State != "failed" || end.Reason != "internal" {
			t.Errorf("reader panic: %+v", end)
		}
		if end := b.ask(ctx, "s", "three"); end.State != "succeeded" {
			t.Errorf("after it: %+v", end)
		}
	})
	if len(told) != 1 || !strings.Contains(told[0], "reader panic") || !strings.Contains(told[0], "goroutine") {
		t.Errorf("told: %v", told)
	}
	b.checkHistory("s")
}

type gate struct {
	clk    clock.Clock
	deny   string
	wait   bool
	seen   []string
	broken bool
}

func (g *gate) Before(ctx context.Context, d runtime.Dispatch) (runtime.Ruling, error) {
	if d.Request != nil {
		g.seen = append(g.seen, "model")
		return runtime.Ruling{}, nil
	}
	g.seen = append(g.seen, d.Call.Name)
	if g.broken {
		return runtime.Ruling{}, errors.New("gate is broken")
	}
	if g.wait {
		if err := clock.NewLatch(g.clk).Wait(ctx); err != nil {
			return runtime.Ruling{}, err
		}
	}
	return runtime.Ruling{Deny: d.Call.Name == g.deny, Reason: "not on a Friday"}, nil
}

func TestGate(t *testing.T) {
	steps := func() []scripted.Step {
		return []scripted.Step{scripted.Calls(
			scripted.Call{Name: "fire", Args: `{"text":"a"}`},
			scripted.Call{Name: "read", Args: `{"text":"b"}`}), scripted.Text("ok")}
	}
	t.Run("deny", func(t *testing.T) {
		b := newBed(t, steps()...)
		g := &gate{clk: b.clk, deny: "fire"}
		b.cfg.Gate = g
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		if d := cmp.Diff([]string{"read:b"}, b.ran); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"model", "fire", "read", "model"}, g.seen); d != "" {
			t.Error(d)
		}
		if m := b.messages("s")[2].Content; !strings.Contains(m, `"denied"`) || !strings.Contains(m, "not on a Friday") {
			t.Errorf("result = %s", m)
		}
		b.checkHistory("s")
	})
	t.Run("cancel while it waits", func(t *testing.T) {
		b := newBed(t, steps()...)
		b.cfg.Gate = &gate{clk: b.clk, wait: true}
		b.run(func(ctx context.Context) {
			b.begin(ctx, "go", time.Second)
			b.eng.Cancel("s")
			b.await(ctx, 0)
		})
		b.checkHistory("s")
	})
	t.Run("broken", func(t *testing.T) {
		b := newBed(t, steps()...)
		b.cfg.Gate = &gate{clk: b.clk, broken: true}
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "failed" {
				t.Errorf("end = %+v", end)
			}
		})
		b.checkHistory("s")
	})
}

func TestRetryIsShown(t *testing.T) {
	b := newBed(t,
		scripted.Text("half a reply").ChunkSize(4).FailAfter(2, &llm.Error{Kind: llm.ErrServer, Status: 503, Retryable: true, Message: "overloaded"}),
		scripted.Text("whole"))
	b.cfg.Model = llm.Retry(b.model, llm.RetryConfig{Max: 2, Base: time.Second, Clock: b.clk, Rand: func() float64 { return 0.5 }})
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	evs := b.named(trace.Retry)
	if len(evs) != 1 || evs[0].Seq != 0 {
		t.Fatalf("retries: %+v", evs)
	}
	if d := evs[0].Data.(trace.RetryData); d.Attempt != 1 || d.Status != 503 || d.WaitMS < 500 || !strings.Contains(d.Cause, "overloaded") {
		t.Errorf("retry = %+v", d)
	}
	if b.last("s").Content != "whole" {
		t.Errorf("answer = %q", b.last("s").Content)
	}
	if d := b.named(trace.LLMCall)[0].Data.(trace.LLMCallData); d.Attempts != 2 {
		t.Errorf("attempts = %d", d.Attempts)
	}
}

// crashAt lets everything stop at a point of the run and starts again on what is stored.
func crashBed(t *testing.T, tool string, text string) *bed {
	b := newBed(t,
		scripted.Calls(scripted.Call{Name: tool, Args: fmt.Sprintf(`{"text":%q,"wait_ms":1000}`, text)}, scripted.Call{Name: "read", Args: `{"text":"after"}`}).When("go"),
		scripted.Text("done").When("go").Delay(time.Second).Times(3), scripted.Text("fine"))
	return b
}

func (b *bed) crash(at time.Duration) {
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			panic(err)
		}
		if err := b.eng.Submit(ctx, "s", "go"); err != nil {
			panic(err)
		}
	})
	b.crashNow(at)
}

// crashNow lets everything stop when at has gone by, and starts again on what is stored.
func (b *bed) crashNow(at time.Duration) {
	b.clk.Advance(at)
	b.clk.Halt()
	b.clockAt(b.clk.Now().Add(72 * time.Hour))
}

// clockAt gives what starts next a clock that shows at.
func (b *bed) clockAt(at time.Time) {
	clk := clock.NewSim(at)
	b.clk = clk
	b.cfg.Clock = clk
	b.model = scripted.New(clk, scripted.Text("done").When("go").Times(3), scripted.Text("fine").Times(-1)).Strict()
	b.cfg.Model = b.model
	b.cfg.Registry = registryOf(b)
	b.cfg.Executor = executorOf(b)
}

// A crash in a stream, in a tool or between commits leaves a session that opens, says so, and goes on after it is given up.
func TestCrashAndGiveUp(t *testing.T) {
	for _, at := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond} {
		for _, tool := range []string{"read", "fire", "note", "put", "save"} {
			t.Run(fmt.Sprintf("%s at %v", tool, at), func(t *testing.T) {
				b := crashBed(t, tool, "x")
				b.crash(at)
				ranBefore := len(b.ran)
				b.run(func(ctx context.Context) {
					snap, err := b.eng.Open(ctx, "s", false)
					if err != nil || snap.Run == nil || snap.Running || !strings.Contains(snap.Notice, "interrupted") {
						t.Fatalf("snapshot = %+v, %v", snap, err)
					}
					if end := b.ask(ctx, "s", "next"); end.State != "succeeded" {
						t.Errorf("end = %+v", end)
					}
				})
				if len(b.ran) != ranBefore {
					t.Errorf("giving up ran %v", b.ran[ranBefore:])
				}
				b.checkHistory("s")
				if b.last("s").Content != "fine" {
					t.Errorf("answer = %+v", b.last("s"))
				}
				if at < time.Second {
					if n := b.count(trace.HistoryRepaired); n != 1 {
						t.Errorf("%d history_repaired events", n)
					}
					want := map[string]string{"fire": "outcome_unknown", "put": "outcome_unknown", "save": "outcome_unknown", "read": "interrupted", "note": "interrupted"}[tool]
					if m := b.messages("s")[2].Content; !strings.Contains(m, want) {
						t.Errorf("result of %s = %s, want %s", tool, m, want)
					}
				}
			})
		}
	}
}

func TestCrashAndResume(t *testing.T) {
	tests := []struct {
		tool, text, result string
		ran                []string
		refused            bool
	}{
		{"read", "x", `"echo":"x"`, []string{"read:x", "read:after"}, false},
		{"note", "x", `"echo":"x"`, []string{"note:x", "read:after"}, false},
		{"put", "x", `"echo":"x"`, []string{"put:x", "read:after"}, false},
		{"save", "happened", "probed", []string{"read:after"}, false},
		{"save", "not yet", `"echo"`, []string{"save:not yet", "read:after"}, false},
		{"save", "unsure", "", nil, true},
		{"fire", "x", "", nil, true},
	}
	for _, tc := range tests {
		t.Run(tc.tool+" "+tc.text, func(t *testing.T) {
			b := crashBed(t, tc.tool, tc.text)
			b.crash(500 * time.Millisecond)
			yes := true
			b.run(func(ctx context.Context) {
				if _, err := b.eng.Open(ctx, "s", false); err != nil {
					t.Fatal(err)
				}
				err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes})
				if tc.refused && tc.tool == "fire" {
					var open *runtime.OutcomeError
					if !errors.As(err, &open) || len(open.Calls) != 1 || open.Calls[0].Name != "fire" || !strings.Contains(err.Error(), "fire") {
						t.Errorf("resume of an unknowable call: %v", err)
					}
					return
				}
				if tc.refused {
					if serr := b.clk.Sleep(ctx, time.Second); serr != nil || err != nil {
						t.Fatal(serr, err)
					}
					snap, err := b.eng.Open(ctx, "s", false)
					if err != nil || snap.Running || snap.Run == nil || snap.Run.State != runtime.StateReconciling || len(runtime.UnknownCalls(snap.Calls)) != 1 {
						t.Errorf("a probe that cannot tell does not wait: %+v %v", snap.Run, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err == nil {
					t.Error("a running turn is resumed")
				}
				if end := b.await(ctx, 0); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			if tc.refused {
				return
			}
			slices.Sort(b.ran) // read-only calls run side by side
			slices.Sort(tc.ran)
			if d := cmp.Diff(tc.ran, b.ran); d != "" {
				t.Error(d)
			}
			if m := b.messages("s")[2].Content; !strings.Contains(m, tc.result) {
				t.Errorf("result = %s, want %s", m, tc.result)
			}
			b.checkHistory("s")
		})
	}
}

// An unknown outcome is the user's to judge: it happened, it did not, run it again.
func TestOutcomeByTheUser(t *testing.T) {
	tests := map[runtime.Outcome]struct {
		ran    []string
		result string
		status runtime.CallStatus
	}{
		runtime.OutcomeHappened: {[]string{"read:after"}, "took effect", runtime.CallDone},
		runtime.OutcomeNot:      {[]string{"read:after"}, "did not take effect", runtime.CallNotRun},
		runtime.OutcomeAgain:    {[]string{"fire:x", "read:after"}, `"echo":"x"`, runtime.CallDone},
	}
	for word, tc := range tests {
		for _, tool := range []string{"fire", "save"} {
			text := map[string]string{"fire": "x", "save": "unsure"}[tool]
			b := crashBed(t, tool, text)
			b.crash(500 * time.Millisecond)
			yes := true
			b.run(func(ctx context.Context) {
				if _, err := b.eng.Open(ctx, "s", false); err != nil {
					t.Fatal(err)
				}
				if tool == "save" { // it is probed first, and the probe cannot tell
					if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
						t.Fatal(err)
					}
					if err := b.clk.Sleep(ctx, time.Second); err != nil {
						t.Fatal(err)
					}
				}
				snap, err := b.eng.Open(ctx, "s", false)
				if err != nil {
					t.Fatal(err)
				}
				words := map[string]runtime.Outcome{}
				for _, c := range runtime.UnknownCalls(snap.Calls) {
					words[c.ID] = word
				}
				if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes, Outcomes: words}); err != nil {
					t.Fatal(err)
				}
				if end := b.await(ctx, 0); end.State != "succeeded" {
					t.Errorf("%s %s: %+v", word, tool, end)
				}
			})
			want := slices.Clone(tc.ran)
			if want[0] == "fire:x" {
				want[0] = tool + ":" + text
			}
			if d := cmp.Diff(want, b.ran); d != "" {
				t.Errorf("%s %s: %s", word, tool, d)
			}
			result := strings.Replace(tc.result, `"x"`, `"`+text+`"`, 1)
			if m := b.messages("s")[2].Content; !strings.Contains(m, result) {
				t.Errorf("%s %s: result %s", word, tool, m)
			}
			for _, c := range b.store.sessions["s"].calls {
				if c.Name == tool && c.Status != tc.status {
					t.Errorf("%s %s: status %s", word, tool, c.Status)
				}
			}
			b.checkHistory("s")
		}
	}
}

func TestDeclineStartsTheQueue(t *testing.T) {
	b := crashBed(t, "fire", "x")
	b.crash(500 * time.Millisecond)
	b.store.sessions["s"].inbox = []runtime.InboxRow{{ID: "q1", SessionID: "s", Text: "queued"}}
	no := false
	b.run(func(ctx context.Context) {
		snap, err := b.eng.Open(ctx, "s", false)
		if err != nil || len(snap.Inbox) != 1 {
			t.Fatal(err)
		}
		if err := b.clk.Sleep(ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
		if len(b.store.sessions["s"].inbox) != 1 {
			t.Error("queued input did not wait for the user's word")
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &no}); err != nil {
			t.Fatal(err)
		}
		b.await(ctx, 1)
	})
	b.checkHistory("s")
	if len(b.store.sessions["s"].inbox) != 0 {
		t.Error("the queue did not start")
	}
}

// Leaving a run keeps what is known and lets the next process go on.
func TestLeaveAndResume(t *testing.T) {
	b := newBed(t, scripted.Calls(
		scripted.Call{Name: "read", Args: `{"text":"quick"}`},
		scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":5000}`}).When("go"), scripted.Text("done").When("go"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		if err := b.eng.Set(ctx, "s", runtime.Setting{Leave: true}); err != nil {
			t.Fatal(err)
		}
		if err := b.clk.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		snap, err := b.eng.Open(ctx, "s", false)
		if err != nil || snap.Run == nil || snap.Running {
			t.Fatalf("%+v %v", snap.Run, err)
		}
	})
	if b.count(trace.RunEnd) != 0 {
		t.Fatal("the run was ended")
	}
	yes := true
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", false); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
			t.Fatal(err)
		}
		b.await(ctx, 0)
	})
	if d := cmp.Diff([]string{"read:quick", "read:slow"}, b.ran); d != "" {
		t.Error(d)
	}
	b.checkHistory("s")
}

// Whatever the faults, the cancels and the crashes: each request was valid (the scripted model is strict), each stored
// history is, and no tool with effects ran twice for one call.
func TestRandomLives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var steps []scripted.Step
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "kind") {
			case 0:
				steps = append(steps, scripted.Text("some words of text").ChunkSize(3).Pace(50*time.Millisecond))
			case 1:
				steps = append(steps, scripted.Text(""))
			case 2:
				steps = append(steps, scripted.Text("cut here").ChunkSize(2).Cut(2))
			case 3:
				steps = append(steps, scripted.Calls(scripted.Call{Name: "nope", Args: `{`}))
			default:
				var calls []scripted.Call
				for i := range rapid.IntRange(1, 4).Draw(rt, "calls") {
					name := rapid.SampledFrom([]string{"read", "note", "fire", "put"}).Draw(rt, "tool")
					calls = append(calls, scripted.Call{ID: fmt.Sprintf("c%d", i), Name: name, Args: fmt.Sprintf(`{"text":"t%d","wait_ms":%d}`, i, rapid.IntRange(0, 300).Draw(rt, "wait"))})
				}
				steps = append(steps, scripted.TextAndCalls("x", calls...))
			}
		}
		steps = append(steps, scripted.Text("end").Times(-1))
		b := newBed(t, steps...)
		fails := rapid.SliceOfN(rapid.Bool(), 0, 30).Draw(rt, "fails")
		n := 0
		b.store.fail = func(runtime.Tx, bool) error {
			if n++; n <= len(fails) && fails[n-1] {
				return errDisk
			}
			return nil
		}
		cancels := rapid.SliceOfN(rapid.IntRange(0, 2000), 0, 4).Draw(rt, "cancels")
		b.run(func(ctx context.Context) {
			if _, err := b.eng.Open(ctx, "s", true); err != nil {
				rt.Fatal(err)
			}
			for i := range 4 {
				if err := b.eng.Submit(ctx, "s", fmt.Sprintf("turn %d", i)); err != nil {
					rt.Fatal(err)
				}
				if i < len(cancels) {
					if err := b.clk.Sleep(ctx, time.Duration(cancels[i])*time.Millisecond); err != nil {
						rt.Fatal(err)
					}
					b.eng.Cancel("s")
				}
			}
			if err := b.clk.Sleep(ctx, 10*time.Minute); err != nil {
				rt.Fatal(err)
			}
		})
		// What a dead endpoint held back stays in the queue; nothing is lost.
		if turns, queued := b.store.sessions["s"].row.TurnCount, len(b.store.sessions["s"].inbox); turns+queued != 4 {
			rt.Fatalf("%d turns and %d queued of 4", turns, queued)
		}
		b.checkHistory("s")
		seqs := int64(0)
		for _, ev := range b.store.sessions["s"].events {
			if ev.Seq != seqs+1 {
				rt.Fatalf("seq %d after %d", ev.Seq, seqs)
			}
			seqs = ev.Seq
		}
	})
}

// A call that was started before a crash was counted then: at the cap it still runs again.
func TestResumeAtTheCap(t *testing.T) {
	for _, tool := range []string{"put", "read", "note"} {
		b := newBed(t, scripted.Calls(scripted.Call{Name: tool, Args: `{"text":"x","wait_ms":1000}`}).When("go"))
		b.cfg.Limits.Budget.Calls = 1
		b.crash(500 * time.Millisecond)
		yes := true
		b.run(func(ctx context.Context) {
			if _, err := b.eng.Open(ctx, "s", false); err != nil {
				t.Fatal(err)
			}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
				t.Fatal(err)
			}
			if end := b.await(ctx, 0); end.State != "succeeded" || end.Calls != 1 || end.DurationMS > 60_000 {
				t.Errorf("%s: %+v", tool, end)
			}
		})
		if d := cmp.Diff([]string{tool + ":x"}, b.ran); d != "" {
			t.Error(d)
		}
		b.checkHistory("s")
	}
}

// Esc right after the resume: what an earlier process had started is not "not run".
func TestCancelAfterResume(t *testing.T) {
	for tool, want := range map[string]runtime.CallStatus{"put": runtime.CallUnknown, "save": runtime.CallUnknown, "read": runtime.CallInterrupted} {
		b := newBed(t, scripted.Calls(scripted.Call{Name: tool, Args: `{"text":"x","wait_ms":1000}`}).When("go"))
		b.crash(500 * time.Millisecond)
		yes := true
		b.cfg.Faults = runtime.NewFaults(func(point string) error {
			if point == "effect.before" {
				b.eng.Cancel("s") // the last moment before the tool starts again
			}
			return nil
		})
		b.run(func(ctx context.Context) {
			if _, err := b.eng.Open(ctx, "s", false); err != nil {
				t.Fatal(err)
			}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
				t.Fatal(err)
			}
			b.await(ctx, 0)
		})
		for _, c := range b.store.sessions["s"].calls {
			if c.Status != want || (want == runtime.CallUnknown) != (c.SideEffect == "unknown") {
				t.Errorf("%s: status %s, side effect %s", tool, c.Status, c.SideEffect)
			}
		}
		b.checkHistory("s")
	}
}

// Leaving between the end of a tool and its checkpoint keeps the result: a tool with effects is not run again.
func TestLeaveKeepsKnownResults(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"x","wait_ms":1000}`}).When("go"), scripted.Text("done").When("go"))
	b.cfg.Faults = runtime.NewFaults(func(point string) error {
		if point == "effect.after" {
			leaveNow(b)
		}
		return nil
	})
	b.run(func(ctx context.Context) { b.begin(ctx, "go", 3*time.Second) })
	b.cfg.Faults = nil
	yes := true
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", false); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
			t.Fatal(err)
		}
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if d := cmp.Diff([]string{"fire:x"}, b.ran); d != "" {
		t.Error(d)
	}
	b.checkHistory("s")
}

// leaveNow asks the engine to leave the run, from inside of it.
func leaveNow(b *bed) {
	done := clock.NewLatch(b.clk)
	b.clk.Go(func() {
		if err := b.eng.Set(context.Background(), "s", runtime.Setting{Leave: true}); err != nil {
			b.t.Error(err)
		}
		done.Open()
	})
	if err := done.Wait(context.Background()); err != nil {
		b.t.Error(err)
	}
}
