package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// A summary of the longest entries stays within a fourth of the context; what went is told as dropped, the oldest first.
func TestSummaryIsBounded(t *testing.T) {
	long := func(kind string, n int) []string {
		var out []string
		for i := range 5 {
			out = append(out, fmt.Sprintf("%s %d %d: %s", kind, n, i, strings.Repeat("很长的记录", 50)))
		}
		return out
	}
	folds := 0
	b := newBed(t, foldModel(func(llm.Request) scripted.Step { return scripted.Text(strings.Repeat("many words of an answer ", 100)) }, func(n int) string {
		folds = n
		out, err := json.Marshal(map[string][]string{"goals": long("goal", n), "facts": long("fact", n), "todos": {}, "unresolved": long("open", n)})
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}))
	b.cfg.Limits.ContextTokens, b.cfg.Limits.RawTurns = 4000, 2
	b.run(func(ctx context.Context) {
		for i := range 8 {
			b.ask(ctx, "s", fmt.Sprintf("question %d %s", i, strings.Repeat("with words ", 80)))
		}
	})
	committed := 0
	for _, ev := range b.named(trace.Compact) {
		d := ev.Data.(trace.CompactData)
		if d.Phase != "merged" || ev.Seq == 0 {
			continue
		}
		committed++
		for _, c := range d.Changes {
			if len(c.Added)+len(c.Kept) > 5 {
				t.Errorf("%s: %+v", c.Field, c)
			}
		}
	}
	var s prompt.Summary
	if err := json.Unmarshal(b.store.sessions["s"].row.Summary, &s); err != nil {
		t.Fatal(err)
	}
	if n := prompt.Estimate(prompt.Block(nil, s)); n > 4000/4+100 || s.Entries() == 0 || committed == 0 || folds == 0 {
		t.Errorf("the memory has %d tokens in %d entries after %d folds", n, s.Entries(), committed)
	}
	if !strings.HasPrefix(s.Goals[0], fmt.Sprintf("goal %d 0", committed)) && !strings.HasPrefix(s.Goals[0], fmt.Sprintf("goal %d 0", folds)) {
		t.Errorf("the newest goal is %.20s", s.Goals[0])
	}
}

// However the summariser fails, all stays as it was, the turn goes on, and the user is told why, in one line.
func TestSummariserFails(t *testing.T) {
	for name, step := range map[string]scripted.Step{
		"refuses":      scripted.Fail(&llm.Error{Kind: llm.ErrRejected, Status: 400, Message: "no\nsummaries here"}),
		"is cut":       scripted.Text("half a").FailAfter(1, &llm.Error{Kind: llm.ErrCut, Message: "cut"}),
		"never ends":   scripted.Text("half a").NoDone(1),
		"talks on":     scripted.Text(strings.Repeat("on and on ", 10_000)).ChunkSize(1000),
		"context full": scripted.Fail(&llm.Error{Kind: llm.ErrContext, Status: 400, Message: "too long"}),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
				if asksSummary(r) {
					return step
				}
				return scripted.Text("ok")
			}).Times(-1))
			b.cfg.Limits.RawTurns = 2
			b.run(func(ctx context.Context) {
				for i := range 3 {
					if end := b.ask(ctx, "s", fmt.Sprintf("q%d", i)); end.State != "succeeded" {
						t.Errorf("end = %+v", end)
					}
				}
			})
			row := b.store.sessions["s"].row
			var said trace.CompactData
			for _, ev := range b.named(trace.Compact) {
				if d := ev.Data.(trace.CompactData); ev.Seq > 0 && d.Phase == "failed" {
					said = d
				}
			}
			if row.WindowFrom != 1 || row.Summary != nil || said.Detail == "" || strings.Contains(said.Detail, "\n") {
				t.Errorf("row %+v, said %+v", row, said)
			}
		})
	}
}

// The summary's call waits and tries again like any other, and shows it.
func TestSummaryIsTriedAgain(t *testing.T) {
	tries := 0
	b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
		if !asksSummary(r) {
			return scripted.Text("ok")
		}
		if tries++; tries == 1 {
			return scripted.Text("half a").FailAfter(1, nil)
		}
		return scripted.Text(fact("remembered"))
	}).Times(-1))
	b.cfg.Model = llm.Retry(b.model, llm.RetryConfig{Max: 2, Base: time.Second, Clock: b.clk, Rand: func() float64 { return 0.5 }})
	b.cfg.Limits.RawTurns = 2
	b.run(func(ctx context.Context) {
		for i := range 3 {
			b.ask(ctx, "s", fmt.Sprintf("q%d %s", i, strings.Repeat("with words ", 30)))
		}
	})
	resets := 0
	for _, ev := range b.named(trace.Delta) {
		if d := ev.Data.(trace.DeltaData); d.Kind == "summary" && d.Reset {
			resets++
		}
	}
	if len(b.store.sessions["s"].folds) != 1 || b.count(trace.Retry) != 1 || resets != 1 {
		t.Errorf("%d folds, %d retries, %d resets", len(b.store.sessions["s"].folds), b.count(trace.Retry), resets)
	}
}

// A fold that is cancelled changes nothing: within a turn the turn ends with it, between turns the queue goes on.
func TestCancelAFold(t *testing.T) {
	for _, between := range []bool{false, true} {
		b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
			if asksSummary(r) {
				return scripted.Hang()
			}
			return scripted.Text("ok")
		}).Times(-1))
		b.cfg.Limits.RawTurns = 2
		b.run(func(ctx context.Context) {
			for i := range 2 {
				b.ask(ctx, "s", fmt.Sprintf("q%d %s", i, strings.Repeat("with words ", 30)))
			}
			sleep := func() {
				if err := b.clk.Sleep(ctx, time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			if between {
				b.cfg.Limits.RawTurns = 20
				if err := b.eng.Set(ctx, "s", runtime.Setting{Compact: true}); err != nil {
					t.Fatal(err)
				}
				sleep()
				for name, c := range map[string]runtime.Setting{"compact": {Compact: true}, "undo": {UndoFold: true}, "pin": {Pin: "x"}, "unpin": {Unpin: "x"}} {
					if err := b.eng.Set(ctx, "s", c); err == nil {
						t.Errorf("%s while a fold runs is taken", name)
					}
				}
			}
			if err := b.eng.Submit(ctx, "s", "the next question"); err != nil {
				t.Fatal(err)
			}
			sleep()
			b.eng.Cancel("s")
			if between {
				sleep()
				b.eng.Cancel("s") // the queued turn wants a fold itself
			}
			end := b.await(ctx, 2)
			if end.State != "cancelled" {
				t.Errorf("between turns %v: %+v", between, end)
			}
		})
		if row := b.store.sessions["s"].row; row.WindowFrom != 1 || row.Summary != nil || len(b.store.sessions["s"].folds) != 0 {
			t.Errorf("between turns %v: %+v", between, row)
		}
		b.checkHistory("s")
	}
}

// A window that another writer moved meanwhile refuses the fold; it is told, and nothing of it is stored.
func TestStaleFold(t *testing.T) {
	b := newBed(t, foldModel(nil, func(int) string { return fact("remembered") }))
	b.cfg.Limits.RawTurns = 2
	b.store.fail = func(tx runtime.Tx, after bool) error {
		if tx.Fold != nil && !after {
			return runtime.ErrStale
		}
		return nil
	}
	b.run(func(ctx context.Context) {
		for i := range 3 {
			if end := b.ask(ctx, "s", fmt.Sprintf("q%d %s", i, strings.Repeat("with words ", 30))); end.State != "succeeded" {
				t.Errorf("end = %+v", end)
			}
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Compact: true}); err != nil {
			t.Fatal(err)
		}
		if err := b.clk.Sleep(ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
	})
	refused, committed := 0, 0
	for _, ev := range b.named(trace.Compact) {
		switch d := ev.Data.(trace.CompactData); {
		case d.Phase == "refused" && ev.Seq > 0:
			refused++
		case d.Phase == "committed":
			committed++
		}
	}
	if refused != 2 || committed != 0 || len(b.store.sessions["s"].pins) != 0 {
		t.Errorf("%d refused, %d committed", refused, committed)
	}
}

// A fold that the disk does not take is not told as committed, between turns and within one.
func TestFoldIsNotStored(t *testing.T) {
	for _, between := range []bool{false, true} {
		b := newBed(t, foldModel(nil, func(int) string { return fact("remembered") }))
		b.cfg.Limits.RawTurns, b.cfg.Limits.ParkLimit = 2, 2*time.Second
		broken := true
		b.store.fail = func(tx runtime.Tx, after bool) error {
			if tx.Fold != nil && !after && broken {
				return errDisk
			}
			return nil
		}
		b.run(func(ctx context.Context) {
			for i := range 2 {
				b.ask(ctx, "s", fmt.Sprintf("q%d %s", i, strings.Repeat("with words ", 30)))
			}
			if between {
				if err := b.eng.Set(ctx, "s", runtime.Setting{Compact: true}); err != nil {
					t.Fatal(err)
				}
			} else if err := b.eng.Submit(ctx, "s", "third"); err != nil {
				t.Fatal(err)
			}
			if err := b.clk.Sleep(ctx, time.Minute); err != nil {
				t.Fatal(err)
			}
			for _, ev := range b.store.sessions["s"].events {
				if d, ok := ev.Data.(trace.CompactData); ok && d.Phase == "committed" {
					t.Errorf("between turns %v: it is told as committed", between)
				}
			}
			broken = false
		})
		if row := b.store.sessions["s"].row; row.WindowFrom != 1 || row.Summary != nil {
			t.Errorf("between turns %v: %+v", between, row)
		}
		told := 0
		for _, ev := range b.named(trace.Error) {
			if d := ev.Data.(trace.ErrorData); d.Code == "not_saved" || d.Code == "internal" {
				told++
			}
		}
		if told == 0 {
			t.Errorf("between turns %v: nobody is told", between)
		}
	}
}

// What cannot be read of the memory fails the opening with a word on what.
func TestBrokenMemory(t *testing.T) {
	b := newBed(t, scripted.Text("ok").Times(-1))
	b.run(func(ctx context.Context) { b.ask(ctx, "s", "hi") })
	for _, what := range []string{"pins", "folds", "last request"} {
		b.cfg.Memory = brokenMemory{b.store, what}
		b.run(func(ctx context.Context) {
			if _, err := b.eng.Open(ctx, "s", true); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	b.cfg.Memory = b.store
	b.store.sessions["s"].row.Summary = []byte(`{"goals":`)
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err == nil || !strings.Contains(err.Error(), "summary") {
			t.Errorf("open: %v", err)
		}
	})
	if (&runtime.RefusedError{Why: "no"}).Error() != "no" {
		t.Error("a refusal does not say why")
	}
}

type brokenMemory struct {
	*memStore
	what string
}

func (m brokenMemory) Pins(ctx context.Context, id string) ([]runtime.PinRow, error) {
	if m.what == "pins" {
		return nil, errDisk
	}
	return m.memStore.Pins(ctx, id)
}

func (m brokenMemory) Folds(ctx context.Context, id string, limit int) ([]runtime.FoldRow, error) {
	if m.what == "folds" {
		return nil, errDisk
	}
	return m.memStore.Folds(ctx, id, limit)
}

func (m brokenMemory) LastSent(ctx context.Context, id string) (string, time.Time, error) {
	if m.what == "last request" {
		return "", time.Time{}, errDisk
	}
	return m.memStore.LastSent(ctx, id)
}
