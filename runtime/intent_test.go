package runtime_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"vitrine/llm/scripted"
	"vitrine/runtime"
)

// Esc while the intent to run a call is being stored, which may take long: the call was never run, and that is what is known of it.
func TestEscWhileAnIntentIsStored(t *testing.T) {
	for _, asked := range []bool{false, true} {
		b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("fine"))
		if asked {
			b.cfg.Policy = runtime.DefaultPolicy()
		}
		b.slowIntents()
		b.run(func(ctx context.Context) {
			b.begin(ctx, "go", time.Second)
			if asked {
				b.decide(ctx, runtime.Decision{Call: b.questions()[0].ID, Allow: true})
			}
			b.eng.Cancel("s")
			if end := b.await(ctx, 0); end.State != "cancelled" || end.Calls != 0 {
				t.Errorf("end = %+v", end)
			}
		})
		if got := b.results(); len(b.ran) != 0 || len(got) != 1 || !strings.Contains(got[0], `"not_run"`) || !strings.Contains(got[0], "the user cancelled") {
			t.Errorf("asked %v: ran %v, the model is told %v", asked, b.ran, got)
		}
		for _, c := range b.store.sessions["s"].calls {
			if c.Status != runtime.CallNotRun || c.SideEffect != "none" {
				t.Errorf("asked %v: stored as %s, side effect %s", asked, c.Status, c.SideEffect)
			}
		}
		b.checkHistory("s")
	}
}

// slowIntents makes it take a minute to store that a call starts.
func (b *bed) slowIntents() {
	b.store.fail = func(tx runtime.Tx, after bool) error {
		for _, c := range tx.Calls {
			if !after && c.Status == runtime.CallStarted {
				return b.clk.Sleep(context.Background(), time.Minute)
			}
		}
		return nil
	}
}

// The program ends while the intent is being stored: the call was never run, so nobody is asked what became of it, and it runs once
// when the run goes on, without another question.
func TestLeaveWhileAnIntentIsStored(t *testing.T) {
	for _, asked := range []bool{false, true} {
		b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("done").When("go"))
		if asked {
			b.cfg.Policy = runtime.DefaultPolicy()
		}
		b.slowIntents()
		b.run(func(ctx context.Context) {
			b.begin(ctx, "go", time.Second)
			if asked {
				b.decide(ctx, runtime.Decision{Call: b.questions()[0].ID, Allow: true})
			}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Leave: true}); err != nil {
				t.Fatal(err)
			}
			if err := b.clk.Sleep(ctx, 2*time.Minute); err != nil {
				t.Fatal(err)
			}
		})
		b.store.fail = nil
		yes := true
		b.run(func(ctx context.Context) {
			if snap := b.snap(ctx); len(b.ran) != 0 || snap.Run == nil || len(runtime.UnknownCalls(snap.Calls)) != 0 {
				t.Fatalf("asked %v: ran %v, %+v", asked, b.ran, snap.Calls)
			}
			b.set(ctx, runtime.Setting{Resume: &yes})
			if end := b.await(ctx, 0); end.State != "succeeded" || end.Calls != 1 {
				t.Errorf("asked %v: %+v", asked, end)
			}
		})
		if len(b.ran) != 1 || len(b.questions()) != 0 {
			t.Errorf("asked %v: ran %v, open %+v", asked, b.ran, b.questions())
		}
		b.checkHistory("s")
	}
}
