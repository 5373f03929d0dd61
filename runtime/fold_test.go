package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// asksSummary says that a request is a fold's.
func asksSummary(r llm.Request) bool { return strings.HasPrefix(r.Messages[0].Content, "[SUMMARIZE]") }

// model answers turns with text and folds with what sum says.
func foldModel(text func(r llm.Request) scripted.Step, sum func(n int) string) scripted.Step {
	folds := 0
	return scripted.Func(func(r llm.Request) scripted.Step {
		if asksSummary(r) {
			folds++
			return scripted.Text(sum(folds))
		}
		if text != nil {
			return text(r)
		}
		return scripted.Text("ok")
	}).Times(-1)
}

func fact(s string) string {
	return fmt.Sprintf(`{"goals":[],"facts":[%q],"todos":[],"unresolved":[]}`, s)
}

func phases(evs []trace.Event) []string {
	var out []string
	for _, ev := range evs {
		if ev.Seq > 0 {
			out = append(out, ev.Data.(trace.CompactData).Phase)
		}
	}
	return out
}

// A fact told in the first of six turns stands in the memory block of the sixth request, and nowhere else.
func TestFoldKeepsTheFact(t *testing.T) {
	b := newBed(t, foldModel(nil, func(n int) string { return fact("the deploy is on Friday") }))
	b.cfg.Limits.RawTurns = 2
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "remember: the deploy is on Friday. Never deploy after 15:00.")
		for i := range 5 {
			b.ask(ctx, "s", fmt.Sprintf("question %d", i))
		}
	})
	reqs := b.model.Requests()
	for _, r := range reqs {
		if asksSummary(r) != (r.Schema != nil) {
			t.Errorf("schema %v of %q", r.Schema, r.Messages[0].Content)
		}
	}
	last := reqs[len(reqs)-1]
	raw, inMemory := 0, false
	for _, m := range last.Messages {
		switch {
		case m.Kind == llm.KindMemory:
			inMemory = strings.Contains(m.Content, "the deploy is on Friday") && strings.Contains(m.Content, `"pinned":["Never deploy after 15:00."]`)
		case strings.Contains(m.Content, "Friday"):
			t.Errorf("the fact stands in %s %q", m.Role, m.Content)
		}
		if m.Role == llm.RoleUser {
			raw++
		}
	}
	if !inMemory || raw < 2 || raw > 3 {
		t.Errorf("in memory %v, %d raw turns: %+v", inMemory, raw, last.Messages)
	}
	if d := cmp.Diff([]string{"started", "summarised", "checked", "merged", "committed"}, phases(b.named(trace.Compact))[:5]); d != "" {
		t.Error(d)
	}
	for _, tx := range b.store.commits {
		if tx.Fold != nil && (len(tx.Messages) > 0 || tx.Run != nil) {
			t.Error("a fold shares its transaction")
		}
	}
	if n := len(b.messages("s")); n != 12 {
		t.Errorf("%d messages are stored: a fold deletes nothing", n)
	}
}

// B058, and its kind: a summary that is none is not stored; the run goes on and the user is told why.
func TestBadSummaries(t *testing.T) {
	for name, text := range map[string]string{
		"prose": "Here is what happened.", "tool call": `<tool_call>{"name":"shell"}</tool_call>`, "empty": "", "thought only": "<think>long</think>", "types": `{"goals":1}`,
		"all empty": `{"goals":[],"facts":[],"todos":[],"unresolved":[]}`, "too large": fact(strings.Repeat("large ", 50)),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, foldModel(nil, func(int) string { return text }))
			b.cfg.Limits.RawTurns = 2
			b.run(func(ctx context.Context) {
				for i := range 4 {
					if end := b.ask(ctx, "s", fmt.Sprintf("q%d", i)); end.State != "succeeded" {
						t.Errorf("end = %+v", end)
					}
				}
			})
			if row := b.store.sessions["s"].row; row.WindowFrom != 1 || row.Summary != nil {
				t.Errorf("something was folded: %+v", row)
			}
			said := ""
			for _, ev := range b.named(trace.Compact) {
				if d := ev.Data.(trace.CompactData); ev.Seq > 0 && (d.Phase == "failed" || d.Phase == "refused") {
					said = d.Detail
				}
			}
			if said == "" {
				t.Error("the user is not told why")
			}
			// One try and one repair a turn, not more.
			asked := 0
			for _, r := range b.model.Requests() {
				if asksSummary(r) {
					asked++
				}
			}
			if asked > 4 {
				t.Errorf("the summariser was asked %d times in two turns", asked)
			}
		})
	}
}

// B058: reasoning without a text behind it is no summary.
func TestSummaryOfReasoningOnly(t *testing.T) {
	b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
		if asksSummary(r) {
			return scripted.Text("").Reasoning("I think that much was said")
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
	if row := b.store.sessions["s"].row; row.WindowFrom != 1 || row.Summary != nil {
		t.Errorf("something was folded: %+v", row)
	}
}

// B085: rules of the user survive any number of folds verbatim although the summariser drops them.
func TestRulesSurvive(t *testing.T) {
	b := newBed(t, foldModel(nil, func(n int) string { return fact(fmt.Sprintf("fold %d", n)) }))
	b.cfg.Limits.RawTurns = 2
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "Never touch vendor/. Answer in French. Port is 8443.\n不要在周五上线。")
		for i := range 12 {
			b.ask(ctx, "s", fmt.Sprintf("q%d", i))
			if n := len(b.store.sessions["s"].folds); n == 1 || n == 2 || n == 5 {
				reqs := b.model.Requests()
				last := reqs[len(reqs)-1]
				if len(last.Messages) < 2 || !strings.Contains(last.Messages[1].Content, `"Never touch vendor/.","Answer in French.","Port is 8443."`) || !strings.Contains(last.Messages[1].Content, "不要在周五上线。") {
					t.Errorf("after %d folds the rules are not in %+v", n, last.Messages)
				}
			}
		}
	})
	if n := len(b.store.sessions["s"].pins); n != 4 {
		t.Errorf("%d pins", n)
	}
}

// B056, B080, B086: under token pressure results of completed steps are shortened first, then turns leave, then completed
// steps of the current turn; the pending task stays and every request is valid (the model is strict).
func TestFoldInTheMiddleOfATurn(t *testing.T) {
	n := 0
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		if n++; n <= 12 {
			return scripted.Calls(scripted.Call{Name: "big", Args: fmt.Sprintf(`{"text":"%d"}`, n)})
		}
		return scripted.Text("all done")
	}, func(n int) string { return fact("steps were done") }))
	b.cfg.Limits.ContextTokens = 2500
	b.cfg.Limits.Budget = runtime.Budget{Steps: 40, Calls: 40}
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "the task of this turn"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	for i, r := range b.model.Requests() {
		if asksSummary(r) {
			continue
		}
		if text := fmt.Sprint(r.Messages); !strings.Contains(text, "the task of this turn") {
			t.Errorf("request %d lost the task", i)
		}
	}
	folds := b.store.sessions["s"].folds
	if len(folds) == 0 || len(folds[0].Shorten) == 0 {
		t.Errorf("nothing was shortened first: %+v", folds)
	}
	if last := folds[len(folds)-1]; last.TokensAfter >= last.TokensBefore {
		t.Errorf("a fold without progress: %+v", last.Fold)
	}
	b.checkHistory("s")
}

// B082: what is fixed is too large: no fold helps, and the user is told what takes the room; the model is not asked.
func TestFixedPartTooLarge(t *testing.T) {
	b := newBed(t, foldModel(nil, func(int) string { return fact("x") }))
	b.cfg.Limits.ContextTokens = 700
	b.cfg.System = strings.Repeat("a long system prompt ", 200)
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			t.Fatal(err)
		}
		var big *runtime.TooLargeError
		if err := b.eng.Submit(ctx, "s", "hi"); !errors.As(err, &big) || big.Fixed < 700 {
			t.Errorf("submit: %v", err)
		}
	})
	if n := len(b.model.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// B079, B083: one fold brings the context down; the number of before is forgotten with it.
func TestOneFoldIsEnough(t *testing.T) {
	turn := 0
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		turn++
		use := 60
		for _, m := range r.Messages {
			use += len(m.Content) / 4
		}
		return scripted.Text(strings.Repeat("long answer ", 200)).Usage(use, 400, 0)
	}, func(int) string { return fact("much was said") }))
	b.cfg.Limits.ContextTokens = 3000
	b.run(func(ctx context.Context) {
		for i := range 12 {
			if end := b.ask(ctx, "s", fmt.Sprintf("q%d", i)); end.State != "succeeded" {
				t.Fatalf("turn %d: %+v", i, end)
			}
		}
	})
	runs := map[string]int{}
	for _, f := range b.store.sessions["s"].folds {
		if runs[f.RunID]++; runs[f.RunID] > 1 {
			t.Error("two folds in one turn")
		}
		if f.TokensAfter > f.TokensBefore*3/4 {
			t.Errorf("a fold that brings little: %d to %d", f.TokensBefore, f.TokensAfter)
		}
	}
	if len(runs) == 0 || len(runs) > 8 {
		t.Errorf("%d folds in 12 turns", len(runs))
	}
}

// The provider says that the prompt is too long: one fold, then the request again, never unchanged.
func TestProviderSaysTooLong(t *testing.T) {
	refused := 0
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		if len(r.Messages) > 6 && refused == 0 {
			refused++
			return scripted.Fail(&llm.Error{Kind: llm.ErrContext, Status: 400, Message: "maximum context length is 4096"})
		}
		return scripted.Text(strings.Repeat("words ", 60))
	}, func(int) string { return fact("before") }))
	b.run(func(ctx context.Context) {
		for i := range 5 {
			if end := b.ask(ctx, "s", fmt.Sprintf("question %d %s", i, strings.Repeat("text ", 40))); end.State != "succeeded" {
				t.Errorf("turn %d: %+v", i, end)
			}
		}
	})
	if refused != 1 || len(b.store.sessions["s"].folds) != 1 {
		t.Errorf("refused %d times, %d folds", refused, len(b.store.sessions["s"].folds))
	}
}

func TestFoldByTheUserAndUndo(t *testing.T) {
	b := newBed(t, foldModel(nil, func(int) string { return fact("remembered") }))
	b.cfg.Limits.RawTurns = 3
	b.run(func(ctx context.Context) {
		for i := range 3 {
			b.ask(ctx, "s", fmt.Sprintf("question number %d %s", i, strings.Repeat("with words ", 40)))
		}
		set := func(c runtime.Setting) error {
			err := b.eng.Set(ctx, "s", c)
			if serr := b.clk.Sleep(ctx, time.Second); serr != nil {
				t.Fatal(serr)
			}
			return err
		}
		var refused *runtime.RefusedError
		if err := set(runtime.Setting{UndoFold: true}); !errors.As(err, &refused) {
			t.Errorf("undo of nothing: %v", err)
		}
		if err := set(runtime.Setting{Compact: true}); err != nil {
			t.Fatal(err)
		}
		row := b.store.sessions["s"].row
		if row.WindowFrom != 5 || row.Summary == nil {
			t.Errorf("after the fold: %+v", row)
		}
		if err := set(runtime.Setting{Compact: true}); err != nil { // nothing left to fold: told, not failed
			t.Error(err)
		}
		if err := set(runtime.Setting{UndoFold: true}); err != nil {
			t.Fatal(err)
		}
		row = b.store.sessions["s"].row
		if row.WindowFrom != 1 || row.Summary != nil {
			t.Errorf("after the undo: %+v", row)
		}
		// Automatic folding stays off for one turn.
		b.ask(ctx, "s", "fourth")
		if n := len(b.store.sessions["s"].folds); n != 1 {
			t.Errorf("%d folds after the held turn", n)
		}
		b.ask(ctx, "s", "fifth")
		if n := len(b.store.sessions["s"].folds); n != 2 {
			t.Errorf("%d folds after the next turn", n)
		}
	})
	reqs := b.model.Requests()
	for _, r := range reqs {
		if !asksSummary(r) && strings.Contains(fmt.Sprint(r.Messages), "fourth") && !strings.Contains(fmt.Sprint(r.Messages), "question number 0") {
			if r.Messages[len(r.Messages)-1].Content == "fourth" {
				t.Error("the undone messages are not in the next request")
			}
		}
	}
	b.checkHistory("s")
}

func TestFoldIsAsked(t *testing.T) {
	for _, yes := range []bool{true, false} {
		b := newBed(t, foldModel(nil, func(int) string { return fact("remembered") }))
		b.cfg.Limits.RawTurns, b.cfg.Limits.Fold = 2, runtime.FoldAsk
		b.run(func(ctx context.Context) {
			for i := range 2 {
				b.ask(ctx, "s", fmt.Sprintf("q%d %s", i, strings.Repeat("with words ", 40)))
			}
			if err := b.eng.Submit(ctx, "s", "third"); err != nil {
				t.Fatal(err)
			}
			if err := b.clk.Sleep(ctx, time.Hour); err != nil {
				t.Fatal(err)
			}
			evs := b.named(trace.Compact)
			last := evs[len(evs)-1].Data.(trace.CompactData)
			if last.Phase != "asked" || last.TokensAfter >= last.TokensBefore || last.After == nil {
				t.Errorf("the preview: %+v", last)
			}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Fold: &yes}); err != nil {
				t.Fatal(err)
			}
			if end := b.await(ctx, 2); end.State != "succeeded" {
				t.Errorf("end = %+v", end)
			}
		})
		if got := len(b.store.sessions["s"].folds) == 1; got != yes {
			t.Errorf("said %v, folded %v", yes, got)
		}
	}
}

// Esc in the middle of a fold ends it: everything stays, and its end is told.
func TestCancelInAFold(t *testing.T) {
	for _, asked := range []bool{false, true} {
		b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
			switch {
			case !asksSummary(r):
				return scripted.Text("ok")
			case asked:
				return scripted.Text(fact("remembered"))
			}
			return scripted.Hang()
		}).Times(-1))
		b.cfg.Limits.RawTurns = 2
		if asked {
			b.cfg.Limits.Fold = runtime.FoldAsk
		}
		b.run(func(ctx context.Context) {
			for i := range 2 {
				b.ask(ctx, "s", fmt.Sprintf("q%d %s", i, strings.Repeat("with words ", 40)))
			}
			if err := b.eng.Submit(ctx, "s", "third"); err != nil {
				t.Fatal(err)
			}
			if err := b.clk.Sleep(ctx, time.Minute); err != nil {
				t.Fatal(err)
			}
			b.eng.Cancel("s")
			if end := b.await(ctx, 2); end.State != "cancelled" {
				t.Errorf("end = %+v", end)
			}
		})
		p := phases(b.named(trace.Compact))
		if len(p) == 0 || p[len(p)-1] != "failed" || len(b.store.sessions["s"].folds) != 0 {
			t.Errorf("asked %v: phases %v", asked, p)
		}
		b.checkHistory("s")
	}
}

func TestPins(t *testing.T) {
	b := newBed(t, scripted.Text("ok").Times(-1))
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "hi")
		set := func(c runtime.Setting) error { return b.eng.Set(ctx, "s", c) }
		for range 2 {
			if err := set(runtime.Setting{Pin: "  the port is\n8443 "}); err != nil {
				t.Fatal(err)
			}
		}
		for _, bad := range []string{" ", strings.Repeat("x", 600)} {
			if err := set(runtime.Setting{Pin: bad}); err == nil {
				t.Errorf("pinned %.10q", bad)
			}
		}
		b.ask(ctx, "s", "again")
		if err := set(runtime.Setting{Unpin: "7"}); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("unpin of nothing: %v", err)
		}
		if err := set(runtime.Setting{Unpin: "1"}); err != nil {
			t.Error(err)
		}
		b.ask(ctx, "s", "and again")
	})
	reqs := b.model.Requests()
	if m := reqs[1].Messages[1]; m.Kind != llm.KindMemory || !strings.Contains(m.Content, `"pinned":["the port is 8443"]`) {
		t.Errorf("memory = %+v", m)
	}
	if m := reqs[2].Messages[1]; m.Kind == llm.KindMemory {
		t.Errorf("the pin stayed: %+v", m)
	}
}

// Folding off: the context fills up and the turn says so.
func TestFoldOff(t *testing.T) {
	b := newBed(t, foldModel(func(llm.Request) scripted.Step { return scripted.Text(strings.Repeat("word ", 400)) }, func(int) string { return fact("x") }))
	b.cfg.Limits.RawTurns, b.cfg.Limits.Fold, b.cfg.Limits.ContextTokens = 2, runtime.FoldOff, 2000
	b.run(func(ctx context.Context) {
		var end trace.RunEndData
		for i := range 6 {
			end = b.ask(ctx, "s", fmt.Sprintf("q%d", i))
		}
		if end.State != "exhausted" || end.Reason != "context" {
			t.Errorf("end = %+v", end)
		}
	})
	if len(b.store.sessions["s"].folds) != 0 {
		t.Error("something was folded")
	}
}

// The program stops at the n-th point of a fold, for every n: the store has all of it or nothing, and the session goes on.
func TestCrashInAFold(t *testing.T) {
	for n := 1; ; n++ {
		b := newBed(t, foldModel(nil, func(int) string { return fact("remembered") }))
		b.cfg.Limits.RawTurns = 2
		hits, crashed, armed := 0, false, false
		b.store.fail = func(tx runtime.Tx, after bool) error {
			if tx.Fold != nil || armed {
				if hits++; hits == n {
					crashed = true
					return latchFor(b).Wait(context.Background())
				}
			}
			return nil
		}
		b.clk.Go(func() {
			b.eng = runtime.NewEngine(b.cfg)
			ctx := context.Background()
			for i := range 3 {
				armed = i == 2
				b.ask(ctx, "s", fmt.Sprintf("q%d %s", i, strings.Repeat("with words ", 40)))
			}
		})
		b.clk.Advance(time.Minute)
		b.clk.Halt()
		s := b.store.sessions["s"]
		folded := s.row.WindowFrom > 1
		if folded != (s.row.Summary != nil) || folded != (len(s.folds) == 1) {
			t.Errorf("point %d: half a fold: %+v", n, s.row)
		}
		if !crashed {
			if n < 5 {
				t.Errorf("only %d points", n)
			}
			return
		}
	}
}

// The inspector shows exactly what the next request holds: the parts in order, what was sent before, and what a fold would do.
func TestContextView(t *testing.T) {
	b := newBed(t, foldModel(nil, func(int) string { return fact("remembered") }))
	b.cfg.Limits.RawTurns = 2
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "Never deploy on Friday. "+strings.Repeat("with words ", 40))
		for i := range 3 {
			b.ask(ctx, "s", fmt.Sprintf("q%d", i))
		}
		v, err := b.eng.Context(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		sum := 0
		for _, p := range v.Parts {
			kinds = append(kinds, p.Kind+" "+string(p.Fate))
			sum += p.Tokens
		}
		want := []string{"system stays", "tools stays", "memory rebuilt", "user leaves", "assistant leaves", "user stays", "assistant stays"}
		if d := cmp.Diff(want, kinds); d != "" {
			t.Error(d)
		}
		if diff := sum - v.Meter.Used(); diff < -3 || diff > 3 {
			t.Errorf("the parts are %d tokens, the meter says %d", sum, v.Meter.Used())
		}
		if !v.Parts[3].Sent || v.Parts[len(v.Parts)-1].Sent || len(v.Pins) != 1 || !v.FoldAuto {
			t.Errorf("view = %+v", v)
		}
		b.ask(ctx, "s", "next")
		reqs := b.model.Requests()
		last := reqs[len(reqs)-1].Messages
		if last[0].Content != v.Parts[0].Content {
			t.Error("the system prompt differs from what was shown")
		}
		if _, err := b.eng.Context(ctx, "nobody"); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("context of nobody: %v", err)
		}
	})
}
