package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

// A cancel and a quit right behind it: the run is cancelled, not left to be resumed.
func TestCancelThenQuit(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":5000}`}))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.eng.Cancel("s")
	})
	for _, r := range b.store.sessions["s"].runs {
		if r.State != runtime.StateCancelled || r.Reason != runtime.ReasonUser {
			t.Errorf("the run is %s (%s)", r.State, r.Reason)
		}
	}
	b.checkHistory("s")
}

// A run that is left between the end of its tools and the commit of their results keeps them: nothing runs again.
func TestLeftBetweenResultAndCommit(t *testing.T) {
	for _, at := range []runtime.State{runtime.StateObserving, runtime.StateCheckpointing} {
		b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("done").When("go"))
		left := false
		b.cfg.Bus = publisher(func(evs ...trace.Event) {
			b.Publish(evs...)
			if d, ok := evs[0].Data.(trace.StateData); ok && d.State == string(at) && !left {
				left = true
				if err := b.eng.Set(context.Background(), "s", runtime.Setting{Leave: true}); err != nil {
					t.Error(err)
				}
			}
		})
		b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Second) })
		yes := true
		b.run(func(ctx context.Context) {
			if snap := b.snap(ctx); snap.Run == nil || len(runtime.UnknownCalls(snap.Calls)) > 0 {
				t.Errorf("%s: %+v", at, snap.Calls)
			}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if end := b.await(ctx, 0); end.State != "succeeded" {
				t.Errorf("%s: %+v", at, end)
			}
		})
		if d := cmp.Diff([]string{"fire:a"}, b.ran); d != "" {
			t.Errorf("%s: %s", at, d)
		}
		b.checkHistory("s")
	}
}

// A run that is left with several calls that run takes none of them for ended: all run again when it goes on.
func TestLeaveTakesNoCallForEnded(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"a","wait_ms":5000}`}, scripted.Call{Name: "read", Args: `{"text":"b","wait_ms":5000}`},
		scripted.Call{Name: "read", Args: `{"text":"c","wait_ms":5000}`}).When("go"), scripted.Text("done").When("go"))
	b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Second) })
	for _, c := range b.store.sessions["s"].calls {
		if c.Result != nil || c.Status != runtime.CallStarted {
			t.Errorf("%s is %s: %s", c.Arguments, c.Status, c.Result)
		}
	}
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
		b.await(ctx, 0)
	})
	if len(b.ran) != 3 {
		t.Errorf("ran %v", b.ran)
	}
	b.checkHistory("s")
}

// A run whose wall time is used up when it is resumed ends, and the model is not asked.
func TestResumedPastItsDeadline(t *testing.T) {
	b := newBed(t, scripted.Text("slow").ChunkSize(1).Pace(time.Second).When("go"), scripted.Text("done").When("go"))
	b.cfg.Limits.Budget.Deadline = time.Minute
	b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Second) })
	runs := b.store.sessions["s"].runs
	for id, r := range runs {
		r.Usage.Active = time.Minute
		runs[id] = r
	}
	asked := len(b.model.Requests())
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
		if end := b.await(ctx, 0); end.State != "exhausted" || end.Reason != "deadline" {
			t.Errorf("end = %+v", end)
		}
	})
	if n := len(b.model.Requests()); n != asked {
		t.Errorf("the model was asked %d times more", n-asked)
	}
	b.checkHistory("s")
}

// A run that nobody but the user can go on with says so, to those who follow it.
func TestUnknownOutcomeIsTold(t *testing.T) {
	b := crashBed(t, "save", "unsure")
	b.crash(500 * time.Millisecond)
	b.events = nil
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
	})
	told := false
	for _, ev := range b.named(trace.State) {
		d := ev.Data.(trace.StateData)
		told = told || d.State == "reconciling" && d.Reason == "outcome_unknown"
	}
	if !told {
		t.Errorf("states: %+v", b.named(trace.State))
	}
}

// Before a tool that changes something outside it is asked whether the session still is this process's. One that was taken over
// acts no more; what only looks, or what the store fences anyway, is not kept back, nor is anything by a store that cannot be read.
func TestTakenOverBeforeATool(t *testing.T) {
	for _, c := range []struct {
		says error
		ran  []string
	}{
		{runtime.ErrFenced, []string{"read:r", "note:n"}},
		{errDisk, []string{"read:r", "note:n", "put:p", "save:s", "fire:f"}},
		{nil, []string{"read:r", "note:n", "put:p", "save:s", "fire:f"}},
	} {
		b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"r"}`}, scripted.Call{Name: "note", Args: `{"text":"n"}`}, scripted.Call{Name: "put", Args: `{"text":"p"}`},
			scripted.Call{Name: "save", Args: `{"text":"s"}`}, scripted.Call{Name: "fire", Args: `{"text":"f"}`}), scripted.Text("done"))
		asked := 0
		b.cfg.Owns = func(_ context.Context, id string, f runtime.Fence) error {
			if asked++; id != "s" || f != b.store.sessions["s"].row.Fence {
				t.Errorf("asked of %s, %+v", id, f)
			}
			return c.says
		}
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		if d := cmp.Diff(c.ran, b.ran); d != "" {
			t.Errorf("%v: %s", c.says, d)
		}
		if asked != 3 {
			t.Errorf("%v: asked %d times", c.says, asked)
		}
		if last := b.results()[4]; errors.Is(c.says, runtime.ErrFenced) != (strings.Contains(last, `"not_run"`) && strings.Contains(last, "another process took the session over")) {
			t.Errorf("%v: the model is told %s", c.says, last)
		}
		b.checkHistory("s")
	}
}

// The debugger holds one call after the other, also when the first one does not run at all: what is stored says that the run waits
// for the user, and it stands there again after a restart.
func TestHeldAfterAnAnswerByHand(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "fire", Args: `{"text":"b"}`}).When("go"), scripted.Text("done").When("go"))
	b.run(func(ctx context.Context) {
		b.arm(ctx, runtime.Break{Tool: "fire"})
		b.begin(ctx, "go", time.Second)
		text := "mine"
		b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Result: &text})
		if at := b.standing(ctx); at != `fire {"text":"b"}` {
			t.Errorf("it stands before %s", at)
		}
	})
	for _, r := range b.store.sessions["s"].runs {
		if r.State != runtime.StateWaitingApproval || r.Reason != runtime.ReasonBreak {
			t.Errorf("the run is stored as %s (%s)", r.State, r.Reason)
		}
	}
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
		if at := b.standing(ctx); at != `fire {"text":"b"}` {
			t.Errorf("resumed it stands before %s", at)
		}
		b.goOn(ctx, runtime.Break{})
		b.await(ctx, 0)
	})
	if d := cmp.Diff([]string{"fire:b"}, b.ran); d != "" {
		t.Error(d)
	}
	b.checkHistory("s")
}

// A call that ends with its run is not told to the model as one that the user stopped alone.
func TestCancelIsNotStopOfOneCall(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a","wait_ms":5000}`}))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.eng.Cancel("s")
		b.await(ctx, 0)
	})
	if got := b.results(); len(got) != 1 || strings.Contains(got[0], "alone") || !strings.Contains(got[0], "interrupted") {
		t.Errorf("results %v", got)
	}
}

// A word counts for the arguments that were seen: where the stored ones are others by the time the run goes on, it is asked again.
func TestWordIsBoundToArguments(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"))
	b.store.fail = func(tx runtime.Tx, after bool) error {
		if after && len(tx.Approvals) > 0 {
			return clock.NewLatch(b.clk).Wait(context.Background()) // it dies here
		}
		return nil
	}
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		b.begin(context.Background(), "go", time.Second)
		b.decide(context.Background(), runtime.Decision{Call: b.questions()[0].ID, Allow: true})
	})
	b.crashNow(10 * time.Second)
	b.store.fail = nil
	b.events = nil
	calls := b.store.sessions["s"].calls
	for id, c := range calls {
		c.Arguments = `{"text":"other"}`
		calls[id] = c
	}
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
		if at := b.standing(ctx); at != `fire {"text":"other"}` || len(b.ran) > 0 {
			t.Errorf("it stands before %q, ran %v", at, b.ran)
		}
	})
}

// Where the debugger was set with a screen, a run without one does not stand still, before no call of a tool or of the model.
func TestBreakDoesNotHoldHeadless(t *testing.T) {
	b := newBed(t, twoReads()...)
	b.run(func(ctx context.Context) { b.arm(ctx, runtime.Break{Next: true}) })
	b.cfg.Limits.Headless = true
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Minute)
		if n := b.count(trace.RunEnd); n != 1 {
			t.Fatalf("it stands before %q", b.standing(ctx))
		}
	})
	b.checkHistory("s")
}

// The user's word on a call of which the probe could not tell decides it: it is not probed again, its row says what is known of its
// effect, and with "again" it runs.
func TestWordOnAProbedCall(t *testing.T) {
	for word, want := range map[runtime.Outcome]struct {
		status runtime.CallStatus
		effect string
		ran    []string
	}{
		runtime.OutcomeHappened: {runtime.CallDone, "committed", []string{"read:after"}},
		runtime.OutcomeNot:      {runtime.CallNotRun, "none", []string{"read:after"}},
		runtime.OutcomeAgain:    {runtime.CallDone, "committed", []string{"save:unsure", "read:after"}},
	} {
		b := crashBed(t, "save", "unsure")
		b.crash(500 * time.Millisecond)
		yes := true
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, runtime.Setting{Resume: &yes})
			open := runtime.UnknownCalls(b.snap(ctx).Calls)
			if len(open) != 1 || open[0].SideEffect != "unknown" {
				t.Fatalf("open: %+v", open)
			}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes, Outcomes: map[string]runtime.Outcome{open[0].ID: word}}); err != nil {
				t.Fatal(err)
			}
			if end := b.await(ctx, 0); end.State != "succeeded" {
				t.Errorf("%s: %+v", word, end)
			}
			if c := b.store.sessions["s"].calls[open[0].ID]; c.Status != want.status || c.SideEffect != want.effect {
				t.Errorf("%s: the row is %s, %s", word, c.Status, c.SideEffect)
			}
		})
		if d := cmp.Diff(want.ran, b.ran); d != "" {
			t.Errorf("%s: %s", word, d)
		}
		b.checkHistory("s")
	}
}

// The user's word on one call is stored before the next one begins: a crash in that one does not ask for it again.
func TestWordIsStoredBeforeTheNextCall(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a","wait_ms":1000}`}, scripted.Call{Name: "fire", Args: `{"text":"b","wait_ms":9000}`}).When("go"))
	b.crash(500 * time.Millisecond)
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		yes := true
		open := runtime.UnknownCalls(b.snap(ctx).Calls)
		if len(open) != 1 {
			t.Errorf("open: %+v", open)
			return
		}
		b.set(ctx, runtime.Setting{Resume: &yes, Outcomes: map[string]runtime.Outcome{open[0].ID: runtime.OutcomeHappened}})
	})
	b.crashNow(5 * time.Second)
	b.run(func(ctx context.Context) {
		open := runtime.UnknownCalls(b.snap(ctx).Calls)
		if len(open) != 1 || !strings.Contains(open[0].Arguments, `"b"`) {
			t.Errorf("open: %+v", open)
		}
		for _, c := range b.snap(ctx).Calls {
			if strings.Contains(c.Arguments, `"a"`) && (c.Status != runtime.CallDone || !strings.Contains(string(c.Result), "took effect")) {
				t.Errorf("the word is stored as %s: %s", c.Status, c.Result)
			}
		}
	})
}
