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
	"vitrine/trace"
)

// twoUnknown is a run that was left with two calls whose outcome nobody knows.
func twoUnknown(t *testing.T) (b *bed, first, second string) {
	t.Helper()
	b = newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a","wait_ms":1000}`}, scripted.Call{Name: "fire", Args: `{"text":"b","wait_ms":1000}`}).When("go"))
	b.crash(500 * time.Millisecond)
	for id, c := range b.store.sessions["s"].calls {
		if strings.Contains(c.Arguments, `"b"`) {
			at := b.clk.Now().Add(-time.Hour)
			c.Status, c.StartedAt = runtime.CallStarted, &at
			b.store.sessions["s"].calls[id] = c
			second = id
		} else {
			first = id
		}
	}
	return b, first, second
}

// A word on one of several calls is kept over a crash: it is not asked for again, and counts when the run goes on.
func TestWordsOnOutcomesAreKept(t *testing.T) {
	b, first, second := twoUnknown(t)
	yes := true
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		if got := b.snap(ctx).Outcomes; len(got) != 0 {
			t.Errorf("words that nobody gave: %v", got)
		}
		for _, word := range []runtime.Outcome{runtime.OutcomeNot, runtime.OutcomeHappened} { // who changes their mind
			b.set(ctx, runtime.Setting{Outcomes: map[string]runtime.Outcome{first: word}})
		}
		for id, word := range map[string]runtime.Outcome{"nobody": runtime.OutcomeNot, second: "perhaps"} {
			if err := b.eng.Set(ctx, "s", runtime.Setting{Outcomes: map[string]runtime.Outcome{id: word}}); err == nil {
				t.Errorf("%s for %s is taken", word, id)
			}
		}
	})
	b.crashNow(10 * time.Second)
	b.run(func(ctx context.Context) {
		snap := b.snap(ctx)
		if d := cmp.Diff(map[string]runtime.Outcome{first: runtime.OutcomeHappened}, snap.Outcomes); d != "" || snap.Running {
			t.Errorf("after the crash: %s", d)
		}
		var open *runtime.OutcomeError
		if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); !errors.As(err, &open) || len(open.Calls) != 1 || open.Calls[0].ID != second {
			t.Fatalf("going on with one word: %v", err)
		}
		b.set(ctx, runtime.Setting{Resume: &yes, Outcomes: map[string]runtime.Outcome{second: runtime.OutcomeNot}})
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end %+v", end)
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Outcomes: map[string]runtime.Outcome{second: runtime.OutcomeNot}}); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("a word on a run that is over: %v", err)
		}
	})
	calls := b.store.sessions["s"].calls
	if calls[first].Status != runtime.CallDone || calls[second].Status != runtime.CallNotRun || len(b.ran) != 0 {
		t.Errorf("first %s, second %s, ran %q", calls[first].Status, calls[second].Status, b.ran)
	}
	var told []string
	for _, e := range b.named(trace.Approval) {
		if d := e.Data.(trace.ApprovalData); d.ID == first && e.RunID != "" && e.Turn == 1 && e.Step == 1 {
			told = append(told, d.Phase+" "+d.Answer)
		}
	}
	if d := cmp.Diff([]string{"decided not", "decided happened"}, told); d != "" {
		t.Errorf("the trace: %s", d)
	}
	b.checkHistory("s")
}

// "Again" is said of one start: when that is cut too, the user is asked anew, and nothing runs by the old word.
func TestAgainCountsOnce(t *testing.T) {
	b, first, second := twoUnknown(t)
	yes := true
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Outcomes: map[string]runtime.Outcome{first: runtime.OutcomeAgain}})
		b.set(ctx, runtime.Setting{Resume: &yes, Outcomes: map[string]runtime.Outcome{second: runtime.OutcomeNot}})
	})
	b.crashNow(1500 * time.Millisecond) // in the second start
	b.run(func(ctx context.Context) {
		snap := b.snap(ctx)
		if open := runtime.UnknownCalls(snap.Calls); len(snap.Outcomes) != 0 || len(open) != 1 || open[0].ID != first {
			t.Fatalf("after the second crash: words %v, open %+v", snap.Outcomes, open)
		}
		var open *runtime.OutcomeError
		if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); !errors.As(err, &open) {
			t.Fatalf("it goes on by a word on the start before: %v", err)
		}
		if len(b.ran) != 0 {
			t.Errorf("ran %q", b.ran)
		}
	})
}

// The clock is set back between the word and the second start, as far as the first start too: the word does not count for the second.
func TestAgainCountsOnceThoughTheClockIsSetBack(t *testing.T) {
	yes := true
	for name, back := range map[string]func(start time.Time) time.Time{
		"days":             func(start time.Time) time.Time { return start.Add(-100 * time.Hour) },
		"before the word":  func(start time.Time) time.Time { return start.Add(time.Minute) },
		"to the old start": func(start time.Time) time.Time { return start },
	} {
		t.Run(name, func(t *testing.T) {
			b, first, second := twoUnknown(t)
			b.clk.Go(func() {
				b.eng = runtime.NewEngine(b.cfg)
				ctx := context.Background()
				b.snap(ctx)
				b.set(ctx, runtime.Setting{Outcomes: map[string]runtime.Outcome{first: runtime.OutcomeAgain}})
			})
			b.crashNow(time.Second)
			b.clockAt(back(*b.store.sessions["s"].calls[first].StartedAt))
			b.clk.Go(func() {
				b.eng = runtime.NewEngine(b.cfg)
				ctx := context.Background()
				if got := b.snap(ctx).Outcomes; got[first] != runtime.OutcomeAgain {
					t.Errorf("the word before it was used: %v", got)
				}
				b.set(ctx, runtime.Setting{Resume: &yes, Outcomes: map[string]runtime.Outcome{second: runtime.OutcomeNot}})
			})
			b.crashNow(500 * time.Millisecond) // in the second start
			b.run(func(ctx context.Context) {
				snap := b.snap(ctx)
				if open := runtime.UnknownCalls(snap.Calls); len(snap.Outcomes) != 0 || len(open) != 1 || open[0].ID != first {
					t.Fatalf("after the second crash: words %v, open %+v", snap.Outcomes, open)
				}
				var open *runtime.OutcomeError
				if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); !errors.As(err, &open) {
					t.Fatalf("it goes on by a word on the start before: %v", err)
				}
				if len(b.ran) != 0 {
					t.Errorf("ran %q", b.ran)
				}
			})
		})
	}
}
