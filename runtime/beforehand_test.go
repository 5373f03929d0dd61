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
	"vitrine/tools"
	"vitrine/trace"
)

// previewing gives the bed's tool "fire" a preview.
func (b *bed) previewing(f func(ctx context.Context, text string) (string, error)) {
	all := b.tools()
	for i, t := range all {
		if t.Name() == "fire" {
			all[i] = tools.New("fire", "has an effect", tools.SideEffect, func(_ context.Context, _ tools.Call, in echoArgs) (tools.Output, error) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.ran = append(b.ran, "fire:"+in.Text)
				return tools.Output{Data: in.Text}, nil
			}, tools.WithPreview(func(ctx context.Context, _ tools.Call, in echoArgs) (string, error) { return f(ctx, in.Text) }))
		}
	}
	b.cfg.Registry = tools.NewRegistry(all...)
	b.cfg.Executor = executorOf(b)
}

// Esc while a tool says what a call would do, deaf to everything: the run has ended within 100 ms.
func TestEscInADeafPreview(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("fine"))
	b.previewing(func(context.Context, string) (string, error) {
		return "late", b.clk.Sleep(context.Background(), time.Hour)
	})
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.eng.Cancel("s")
		if err := b.clk.Sleep(ctx, 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if b.count(trace.RunEnd) != 1 {
			t.Fatal("the run goes on 100 ms after Esc")
		}
		if end := b.await(ctx, 0); end.State != "cancelled" {
			t.Errorf("end = %+v", end)
		}
		if end := b.ask(ctx, "s", "next"); end.State != "succeeded" {
			t.Errorf("the next turn: %+v", end)
		}
	})
	b.clk.Halt() // what is deaf is left behind
	if len(b.ran) != 0 {
		t.Errorf("ran %v", b.ran)
	}
	b.checkHistory("s")
}

// A tool that cannot say what a call would do keeps nobody from being asked: the question says so, and the other calls' previews
// stand beside it.
func TestPreviewsThatFail(t *testing.T) {
	b := asking(t, scripted.Calls(
		scripted.Call{Name: "fire", Args: `{"text":"deaf"}`}, scripted.Call{Name: "fire", Args: `{"text":"panic"}`},
		scripted.Call{Name: "fire", Args: `{"text":"well"}`}, scripted.Call{Name: "fire", Args: `{"text":"refused"}`}).When("go"), scripted.Text("done"))
	b.previewing(func(ctx context.Context, text string) (string, error) {
		switch text {
		case "deaf":
			return "late", b.clk.Sleep(context.Background(), time.Hour)
		case "panic":
			panic("in a preview")
		case "refused":
			return "", &tools.Error{Code: tools.CodeConflict, Message: "it has changed"}
		}
		return "+1 well", b.clk.Sleep(ctx, 4*time.Second)
	})
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", 6*time.Second)
		q := b.questions()
		if len(q) != 4 {
			t.Fatalf("%d questions after 6 s", len(q))
		}
		for i, want := range []string{"cannot be shown: the tool did not say it within 5s", "cannot be shown: the tool failed inside", "+1 well", "it would fail: conflict: it has changed"} {
			if !strings.Contains(q[i].Preview, want) || strings.Contains(q[i].Preview, "in a preview") {
				t.Errorf("question %d shows %q, want %q", i+1, q[i].Preview, want)
			}
		}
		for _, d := range q {
			b.decide(ctx, runtime.Decision{Call: d.ID, Allow: true})
		}
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	b.clk.Halt()
	if len(b.ran) != 4 {
		t.Errorf("ran %v", b.ran)
	}
	b.checkHistory("s")
}

// probed gives the bed's tool "save" another probe.
func (b *bed) probed(f func(ctx context.Context) error) {
	all := b.tools()
	for i, t := range all {
		if t.Name() == "save" {
			all[i] = tools.New("save", "can be asked", tools.Probeable, func(context.Context, tools.Call, echoArgs) (tools.Output, error) { return tools.Output{}, nil },
				tools.WithProbe(func(ctx context.Context, _ tools.Call, _ echoArgs) (tools.Output, bool, error) {
					return tools.Output{}, false, f(ctx)
				}))
		}
	}
	b.cfg.Registry = tools.NewRegistry(all...)
	b.cfg.Executor = executorOf(b)
}

// A probe that panics, or never answers, cannot tell: the user is asked what became of the call.
func TestProbesThatFail(t *testing.T) {
	for name, f := range map[string]func(clk clock.Clock) error{
		"panic": func(clock.Clock) error { panic("in a probe") },
		"deaf":  func(clk clock.Clock) error { return clk.Sleep(context.Background(), time.Hour) },
	} {
		b := crashBed(t, "save", "x")
		b.crash(500 * time.Millisecond)
		b.probed(func(context.Context) error { return f(b.clk) })
		yes := true
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, runtime.Setting{Resume: &yes})
			if err := b.clk.Sleep(ctx, 2*time.Minute); err != nil {
				t.Fatal(err)
			}
			snap := b.snap(ctx)
			if snap.Running || snap.Run == nil || snap.Run.State != runtime.StateReconciling || len(runtime.UnknownCalls(snap.Calls)) != 1 {
				t.Fatalf("%s: the user is not asked: %+v", name, snap.Run)
			}
			b.set(ctx, runtime.Setting{Resume: &yes, Outcomes: map[string]runtime.Outcome{runtime.UnknownCalls(snap.Calls)[0].ID: runtime.OutcomeHappened}})
			if end := b.await(ctx, 0); end.State != "succeeded" {
				t.Errorf("%s: %+v", name, end)
			}
		})
		b.clk.Halt()
		b.checkHistory("s")
	}
}

// Esc while a deaf probe is asked ends the run within 100 ms, with what is known of the call; a program that ends leaves the run to
// be resumed.
func TestEscInADeafProbe(t *testing.T) {
	for _, leave := range []bool{false, true} {
		b := crashBed(t, "save", "x")
		b.crash(500 * time.Millisecond)
		b.probed(func(context.Context) error { return b.clk.Sleep(context.Background(), time.Hour) })
		yes := true
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, runtime.Setting{Resume: &yes})
			if leave {
				if err := b.eng.Set(ctx, "s", runtime.Setting{Leave: true}); err != nil {
					t.Fatal(err)
				}
			} else {
				b.eng.Cancel("s")
			}
			if err := b.clk.Sleep(ctx, 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			snap := b.snap(ctx)
			if leave && (snap.Running || snap.Run == nil || snap.Run.State == runtime.StateReconciling) {
				t.Errorf("left: running %v, %+v", snap.Running, snap.Run)
			}
			if !leave && (snap.Run != nil || b.count(trace.RunEnd) != 1) {
				t.Errorf("cancelled: %+v", snap.Run)
			}
		})
		b.clk.Halt()
		if !leave {
			if got := b.results(); !strings.Contains(got[0], "outcome_unknown") {
				t.Errorf("results %v", got)
			}
			b.checkHistory("s")
		}
	}
}

// While the preview of an edited call is being made its old row waits no more: a second edit of it is refused, not dropped. The other
// question keeps the preview that it has, and nobody makes it again.
func TestASecondEditWhileTheFirstIsPreviewed(t *testing.T) {
	b := asking(t, twoFires(), scripted.Text("fine"))
	previews := map[string]int{}
	b.previewing(func(ctx context.Context, text string) (string, error) {
		b.mu.Lock()
		previews[text]++
		b.mu.Unlock()
		return "would fire " + text, b.clk.Sleep(ctx, 3*time.Second)
	})
	edit := func(id, text string) runtime.Setting {
		return runtime.Setting{Decide: []runtime.Decision{{Call: id, Arguments: `{"text":"` + text + `"}`}}}
	}
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Minute)
		q := b.questions()
		before := previews["a"]
		b.set(ctx, edit(q[1].ID, "first"))
		if err := b.clk.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Set(ctx, "s", edit(q[1].ID, "second")); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("a second edit of the same row: %v", err)
		}
		b.set(ctx, runtime.Setting{Decide: []runtime.Decision{{Call: q[0].ID, Allow: true}}}) // the other one still takes words
		if err := b.clk.Sleep(ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
		var last []trace.ApprovalData
		for _, ev := range b.named(trace.Approval) {
			if d := ev.Data.(trace.ApprovalData); d.Phase == "asked" {
				last = append(last, d)
			}
		}
		last = last[len(last)-2:]
		if last[0].ID != q[0].ID || last[0].Preview != "would fire a" || last[0].Place != 1 || last[1].Preview != "would fire first" || last[1].Place != 2 {
			t.Errorf("asked again: %+v", last)
		}
		if previews["a"] != before || previews["first"] != 1 || previews["second"] != 0 {
			t.Errorf("previews: %v, of the other one %d before", previews, before)
		}
		if q = b.questions(); len(q) != 1 || string(q[0].Arguments) != `{"text":"first"}` {
			t.Fatalf("questions = %+v", q)
		}
		b.decide(ctx, runtime.Decision{Call: q[0].ID, Allow: true})
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if d := cmp.Diff([]string{"fire:a", "fire:first"}, b.ran); d != "" {
		t.Error(d)
	}
	b.checkHistory("s")
}

// While a tool is asked what the next call would do, which may take seconds, the results of the calls before it are stored: a kill
// in that time leaves none of them unknown, and none runs again.
func TestPreviewsAfterTheResults(t *testing.T) {
	for _, held := range []bool{false, true} {
		steps := []scripted.Step{scripted.Calls(scripted.Call{Name: "note", Args: `{"text":"a"}`}, scripted.Call{Name: "fire", Args: `{"text":"b"}`}).When("go"), scripted.Text("fine")}
		b := asking(t, steps...)
		if held {
			b = newBed(t, steps...)
		}
		b.previewing(func(ctx context.Context, _ string) (string, error) { return "+1", b.clk.Sleep(ctx, 4*time.Second) })
		b.run(func(ctx context.Context) {
			if held {
				b.arm(ctx, runtime.Break{Tool: "fire"})
			}
			b.begin(ctx, "go", 2*time.Second)
			done := 0
			for _, c := range b.store.sessions["s"].calls {
				if c.Result != nil {
					done++
				}
			}
			if done != 1 || len(b.questions()) != 0 {
				t.Errorf("held %v: %d results stored while the preview is made, %d questions", held, done, len(b.questions()))
			}
			if err := b.clk.Sleep(ctx, 4*time.Second); err != nil {
				t.Fatal(err)
			}
			if held {
				b.goOn(ctx, runtime.Break{})
			} else {
				b.decide(ctx, runtime.Decision{Call: b.questions()[0].ID, Allow: true})
			}
			if end := b.await(ctx, 0); end.State != "succeeded" {
				t.Errorf("held %v: end = %+v", held, end)
			}
		})
		b.clk.Halt()
		b.checkHistory("s")
	}
}
