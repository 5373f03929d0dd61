package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// doing applies settings and lets what they start come to an end.
func (b *bed) doing(ctx context.Context) func(c runtime.Setting) error {
	return func(c runtime.Setting) error {
		err := b.eng.Set(ctx, "s", c)
		if serr := b.clk.Sleep(ctx, time.Minute); serr != nil {
			b.t.Fatal(serr)
		}
		return err
	}
}

// Folds are taken back one by one, the newest first, and after any number of undos the next fold is as good as the first.
func TestUndoOneByOne(t *testing.T) {
	for undos := range 4 {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(undos, " undone, restart ", restart), func(t *testing.T) {
				n := 0
				b := newBed(t, foldModel(nil, func(int) string { n++; return fact(fmt.Sprint("fact ", n)) }))
				b.cfg.Limits.RawTurns = 50
				b.run(func(ctx context.Context) {
					set := b.doing(ctx)
					for i := range 4 {
						b.ask(ctx, "s", fmt.Sprintf("question %d %s", i, strings.Repeat("with words ", 40)))
						if i > 0 {
							if err := set(runtime.Setting{Compact: true}); err != nil {
								t.Fatal(err)
							}
						}
					}
					state := b.store.sessions["s"]
					if len(state.folds) != 3 || state.row.WindowFrom != 7 {
						t.Fatalf("%d folds, from %d", len(state.folds), state.row.WindowFrom)
					}
					for i := range undos {
						if err := set(runtime.Setting{UndoFold: true}); err != nil {
							t.Fatal(err)
						}
						if want := int64(5 - 2*i); state.row.WindowFrom != want {
							t.Errorf("the window begins at %d after %d undos, want %d", state.row.WindowFrom, i+1, want)
						}
					}
					if restart {
						if err := b.eng.Shutdown(ctx, true); err != nil {
							t.Fatal(err)
						}
						b.eng = runtime.NewEngine(b.cfg)
						if _, err := b.eng.Open(ctx, "s", false); err != nil {
							t.Fatal(err)
						}
					}
					b.ask(ctx, "s", "the last question "+strings.Repeat("with words ", 40))
					if err := set(runtime.Setting{Compact: true}); err != nil {
						t.Fatal(err)
					}
					if len(state.folds) != 4 || state.row.WindowFrom != 9 {
						last := b.named(trace.Compact)
						t.Errorf("%d folds, from %d: %+v", len(state.folds), state.row.WindowFrom, last[len(last)-1].Data)
					}
				})
				b.checkHistory("s")
			})
		}
	}
}

// What is asked of the summariser fits a context that has become smaller, however long messages and the arguments of calls are,
// and chunks that were summarised first are not forgotten with the next.
func TestSummariserRequestsFit(t *testing.T) {
	asked, most := 0, 0
	var all strings.Builder
	b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
		if asksSummary(r) {
			asked++
			most = max(most, estimate(r))
			for _, m := range r.Messages {
				all.WriteString(m.Content)
			}
			return scripted.Text(fact(fmt.Sprint("fact ", asked))) // of its chunk only
		}
		if m := r.Messages[len(r.Messages)-1]; m.Role == llm.RoleUser && strings.HasPrefix(m.Content, "write") {
			return scripted.Calls(scripted.Call{ID: "c1", Name: "put", Args: `{"text":"begin ` + strings.Repeat("部署 <b> & ", 500) + ` end"}`})
		}
		return scripted.Text("答：" + strings.Repeat("部署在周五。", 900))
	}).Times(-1))
	b.cfg.Limits.RawTurns, b.cfg.Limits.ContextTokens = 50, 64_000
	b.run(func(ctx context.Context) {
		for i := range 3 {
			if end := b.ask(ctx, "s", fmt.Sprint("write ", i)); end.State != "succeeded" {
				t.Fatalf("turn %d: %+v", i, end)
			}
		}
		if err := b.eng.Shutdown(ctx, true); err != nil {
			t.Fatal(err)
		}
		b.cfg.Limits.ContextTokens = 4000
		b.eng = runtime.NewEngine(b.cfg)
		if end := b.ask(ctx, "s", "last"); end.State != "succeeded" {
			t.Fatalf("last: %+v", end)
		}
	})
	if limit := 4000 - 4000/8; most > limit || most == 0 {
		t.Errorf("a request of the summariser has %d tokens, %d fit", most, limit)
	}
	if asked < 4 || !strings.Contains(all.String(), "begin ") || !strings.Contains(all.String(), " end") || !strings.Contains(all.String(), "<b> &") {
		t.Errorf("%d chunks; a call's beginning, middle or end is missing", asked)
	}
	summary := string(b.store.sessions["s"].row.Summary)
	for i := asked - 5; i < asked; i++ {
		if !strings.Contains(summary, fmt.Sprint("fact ", i+1)) {
			t.Errorf("chunk %d of %d is forgotten: %s", i+1, asked, summary)
		}
	}
}

// A session that is closed in a fold between turns ends the fold first: nothing of it is stored, no queued turn starts any
// more, and the session can be opened again.
func TestCloseInAFold(t *testing.T) {
	hang := true
	b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
		if asksSummary(r) && hang {
			return scripted.Hang()
		}
		return scripted.Text("ok")
	}).Times(-1))
	b.cfg.Limits.RawTurns = 50
	b.run(func(ctx context.Context) {
		for i := range 2 {
			b.ask(ctx, "s", fmt.Sprintf("question %d %s", i, strings.Repeat("with words ", 40)))
		}
		if err := b.doing(ctx)(runtime.Setting{Compact: true}); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Submit(ctx, "s", "queued"); err != nil {
			t.Fatal(err)
		}
		before := b.clk.Now()
		if err := b.eng.Close(ctx, "s"); err != nil {
			t.Fatal(err)
		}
		if d := b.clk.Now().Sub(before); d > time.Second {
			t.Errorf("closing took %s", d)
		}
		if state := b.store.sessions["s"]; state.row.TurnCount != 2 || len(state.folds) != 0 {
			t.Errorf("%d turns, %d folds", state.row.TurnCount, len(state.folds))
		}
		p := phases(b.named(trace.Compact))
		if len(p) == 0 || p[len(p)-1] != "failed" {
			t.Errorf("phases %v", p)
		}
		snap, err := b.eng.Open(ctx, "s", false)
		if err != nil || len(snap.Inbox) != 1 {
			t.Errorf("opened again: %v, queued %+v", err, snap.Inbox)
		}
	})
}
