package runtime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// An input that was on its way when a question came does not take the question's place: it is queued, and is the next turn. One that
// is given when the question has stood for half a second is what the user says in place of an answer.
func TestInputAsAQuestionComes(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, 499 * time.Millisecond, 500 * time.Millisecond} {
		late := after >= 500*time.Millisecond
		steps := []scripted.Step{scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go")}
		if !late {
			steps = append(steps, scripted.Text("done").When("go"))
		}
		b := asking(t, append(steps, scripted.Text("fine").When("on its way"))...)
		b.run(func(ctx context.Context) {
			b.begin(ctx, "go", after)
			if len(b.questions()) != 1 {
				t.Fatalf("asked %+v", b.questions())
			}
			if err := b.eng.Submit(ctx, "s", "on its way"); err != nil {
				t.Fatal(err)
			}
			if late {
				b.await(ctx, 1)
				return
			}
			if err := b.clk.Sleep(ctx, time.Hour); err != nil {
				t.Fatal(err)
			}
			if s := b.snap(ctx); len(s.Inbox) != 1 || !s.Running || s.Run.State != runtime.StateWaitingApproval {
				t.Fatalf("after %v: %+v", after, s.Run)
			}
			b.set(ctx, runtime.Setting{Decide: []runtime.Decision{{Call: b.questions()[0].ID, Allow: true}}})
			b.await(ctx, 1)
		})
		ends := b.named(trace.RunEnd)
		first := ends[0].Data.(trace.RunEndData)
		if (first.Reason == string(runtime.ReasonSuperseded)) != late || len(b.ran) != map[bool]int{true: 0, false: 1}[late] || b.last("s").Content != "fine" {
			t.Errorf("after %v: %+v, ran %v, %q", after, first, b.ran, b.last("s").Content)
		}
		b.checkHistory("s")
	}
}

// The same of the question what became of a call, to which a run that goes on comes by itself: half a second later an input gives
// the run up.
func TestInputAsAnOutcomeIsAsked(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second} {
		b := crashBed(t, "save", "unsure")
		b.crash(500 * time.Millisecond)
		yes := true
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
				t.Fatal(err)
			}
			for b.snap(ctx).Running {
				if err := b.clk.Sleep(ctx, time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.clk.Sleep(ctx, after); err != nil {
				t.Fatal(err)
			}
			if err := b.eng.Submit(ctx, "s", "on its way"); err != nil {
				t.Fatal(err)
			}
			s := b.snap(ctx)
			if waits := len(s.Inbox) == 1 && s.Run != nil && len(runtime.UnknownCalls(s.Calls)) == 1; waits != (after == 0) {
				t.Errorf("after %v: %+v, queued %+v", after, s.Run, s.Inbox)
			}
		})
	}
}

// Who follows a session is not told that its turn was interrupted: it may well go on where it is held.
func TestNoticeOfWhoOnlyReads(t *testing.T) {
	b := crashBed(t, "fire", "x")
	b.crash(500 * time.Millisecond)
	for _, held := range []bool{false, true} {
		b.store.held["s"] = held
		b.run(func(ctx context.Context) {
			s, err := b.eng.Open(ctx, "s", false)
			if errors.Is(err, runtime.ErrHeld) != held || s.Run == nil || (s.Notice == "") != held {
				t.Errorf("held %v: %v, notice %q, run %v", held, err, s.Notice, s.Run)
			}
		})
	}
}
