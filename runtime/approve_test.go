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

// asking is a bed whose policy asks before everything with effects.
func asking(t *testing.T, steps ...scripted.Step) *bed {
	b := newBed(t, steps...)
	b.cfg.Policy = runtime.DefaultPolicy()
	return b
}

// questions gives the calls that were asked about and not decided, by the newest events.
func (b *bed) questions() []trace.ApprovalData {
	open := map[string]trace.ApprovalData{}
	var order []string
	for _, ev := range b.named(trace.Approval) {
		d := ev.Data.(trace.ApprovalData)
		if _, known := open[d.ID]; d.Phase == "asked" && !known {
			open[d.ID] = d
			order = append(order, d.ID)
		}
		if d.Phase == "decided" {
			delete(open, d.ID)
		}
	}
	var out []trace.ApprovalData
	for _, id := range order {
		if d, ok := open[id]; ok {
			out = append(out, d)
		}
	}
	return out
}

func (b *bed) decide(ctx context.Context, ds ...runtime.Decision) {
	b.t.Helper()
	if err := b.eng.Set(ctx, "s", runtime.Setting{Decide: ds}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.clk.Sleep(ctx, 100*time.Millisecond); err != nil {
		b.t.Fatal(err)
	}
}

// B164: several questions stand at once, in call order; each call gets its own word, and one denial blocks nothing else.
func TestApprovals(t *testing.T) {
	b := asking(t, scripted.Calls(
		scripted.Call{Name: "read", Args: `{"text":"r"}`},
		scripted.Call{Name: "fire", Args: `{"text":"a"}`},
		scripted.Call{Name: "fire", Args: `{"text":"b"}`},
		scripted.Call{Name: "note", Args: `{"text":"n"}`}), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Hour)
		if d := cmp.Diff([]string{"read:r"}, b.ran); d != "" {
			t.Errorf("ran before anybody was asked: %s", d)
		}
		q := b.questions()
		if len(q) != 2 || q[0].Tool != "fire" || string(q[0].Arguments) != `{"text":"a"}` || q[1].Place != 2 || q[1].Of != 2 {
			t.Fatalf("questions = %+v", q)
		}
		b.decide(ctx, runtime.Decision{Call: "nothing", Allow: true}, runtime.Decision{Call: q[0].ID, Allow: true}, runtime.Decision{Call: q[0].ID, Allow: true})
		q = b.questions()
		if len(q) != 1 || string(q[0].Arguments) != `{"text":"b"}` {
			t.Fatalf("questions = %+v", q)
		}
		b.decide(ctx, runtime.Decision{Call: q[0].ID, Reason: "not on a Friday"})
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if d := cmp.Diff([]string{"read:r", "fire:a", "note:n"}, b.ran); d != "" {
		t.Error(d)
	}
	denied := 0
	for _, m := range b.messages("s") {
		if strings.Contains(m.Content, `"denied"`) && strings.Contains(m.Content, "not on a Friday") {
			denied++
		}
	}
	if denied != 1 || len(b.store.sessions["s"].approvals) != 2 {
		t.Errorf("%d denied, %d approvals stored", denied, len(b.store.sessions["s"].approvals))
	}
	// The word is committed before the tool's intent.
	allowed, started := -1, -1
	for i, tx := range b.store.commits {
		for _, a := range tx.Approvals {
			if a.Answer == "allow" {
				allowed = i
			}
		}
		for _, c := range tx.Calls {
			if c.Name == "fire" && c.Status == runtime.CallStarted {
				started = i
			}
		}
	}
	if allowed < 0 || started <= allowed {
		t.Errorf("allowed in commit %d, started in %d", allowed, started)
	}
	b.checkHistory("s")
}

func TestAllowForTheSession(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}), scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"b"}`}), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.decide(ctx, runtime.Decision{Call: b.questions()[0].ID, Allow: true, Always: true})
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
		for _, e := range b.named(trace.Approval) { // the trace tells it from a word on this call alone
			if d := e.Data.(trace.ApprovalData); d.Phase == "decided" && !d.Always {
				t.Errorf("decided: %+v", d)
			}
		}
		v, err := b.eng.Context(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range v.Tools {
			if info.Name == "fire" && (info.Rule != runtime.RuleAuto || !info.Own) || info.Name == "put" && info.Rule != runtime.RuleAsk {
				t.Errorf("%+v", info)
			}
		}
		for _, bad := range []runtime.ToolRule{{Tool: "nope", Rule: runtime.RuleAuto}, {Tool: "fire", Rule: "maybe"}} {
			if err := b.eng.Set(ctx, "s", runtime.Setting{ToolRule: &bad}); err == nil {
				t.Errorf("%+v is taken", bad)
			}
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{ToolRule: &runtime.ToolRule{Tool: "fire"}}); err != nil {
			t.Error(err)
		}
	})
	if len(b.store.sessions["s"].approvals) != 1 {
		t.Error("it was asked again")
	}
}

func TestDeniedByPolicy(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}), scripted.Text("done"))
	b.cfg.Policy.Tools = map[string]runtime.Rule{"fire": runtime.RuleDeny}
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			t.Fatal(err)
		}
		// No session allows what the configuration forbids.
		if err := b.eng.Set(ctx, "s", runtime.Setting{ToolRule: &runtime.ToolRule{Tool: "fire", Rule: runtime.RuleAuto}}); err != nil {
			t.Fatal(err)
		}
		b.ask(ctx, "s", "go")
	})
	if len(b.ran) != 0 || len(b.questions()) != 0 || !strings.Contains(b.messages("s")[2].Content, "denied") {
		t.Errorf("ran %v; %s", b.ran, b.messages("s")[2].Content)
	}
	for _, spec := range b.model.Requests()[0].Tools {
		if spec.Name == "fire" {
			return
		}
	}
	t.Error("the policy took the tool out of the prompt")
}

func TestCancelDuringApproval(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("fine"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.eng.Cancel("s")
		if end := b.await(ctx, 0); end.State != "cancelled" {
			t.Errorf("end = %+v", end)
		}
		b.ask(ctx, "s", "next")
	})
	b.checkHistory("s")
}

// Where nobody can answer the run is left, and goes on with the word in another process; so does one that waited through a
// crash. What was allowed before the crash is not asked again.
func TestApprovalOverRestarts(t *testing.T) {
	for _, headless := range []bool{true, false} {
		b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "read", Args: `{"text":"r"}`}).When("go"), scripted.Text("done").When("go"), scripted.Text("fine"))
		b.cfg.Limits.Headless = headless
		b.run(func(ctx context.Context) {
			b.begin(ctx, "go", time.Minute)
			if snap, err := b.eng.Open(ctx, "s", false); err != nil || snap.Run == nil || snap.Run.State != runtime.StateWaitingApproval || snap.Running == headless {
				t.Fatalf("%+v %v", snap.Run, err)
			}
		})
		if len(b.ran) != 0 {
			t.Fatalf("ran %v", b.ran)
		}
		yes := true
		b.run(func(ctx context.Context) {
			snap, err := b.eng.Open(ctx, "s", false)
			if err != nil || snap.Run == nil {
				t.Fatal(err)
			}
			var words []runtime.Decision
			for _, c := range snap.Calls {
				if c.Status == runtime.CallWaiting {
					words = append(words, runtime.Decision{Call: c.ID, Allow: true})
				}
			}
			if len(words) != 1 {
				t.Fatalf("calls = %+v", snap.Calls)
			}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes, Decide: words}); err != nil {
				t.Fatal(err)
			}
			if end := b.await(ctx, 0); end.State != "succeeded" {
				t.Errorf("end = %+v", end)
			}
		})
		if d := cmp.Diff([]string{"fire:a", "read:r"}, b.ran); d != "" {
			t.Error(d)
		}
		b.checkHistory("s")
	}
}

// A run that waited and is given up says that its calls were not run.
func TestApprovalGivenUp(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("fine"))
	b.cfg.Limits.Headless = true
	b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Minute) })
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "next")
	})
	if len(b.ran) != 0 || !strings.Contains(b.messages("s")[2].Content, "not_run") {
		t.Errorf("ran %v; %s", b.ran, b.messages("s")[2].Content)
	}
	for _, c := range b.store.sessions["s"].calls {
		if c.Status != runtime.CallNotRun {
			t.Errorf("status %s", c.Status)
		}
	}
	b.checkHistory("s")
}

// The rules of a session can be read and changed while a turn runs; what was not begun yet goes by the new ones.
func TestRulesWhileATurnRuns(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":5000}`}, scripted.Call{Name: "fire", Args: `{"text":"b"}`}).When("go"), scripted.Text("fine"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		rule := func() runtime.Rule {
			v, err := b.eng.Context(ctx, "s")
			if err != nil || !v.Running || len(v.Parts) != 0 {
				t.Fatalf("%+v, %v", v, err)
			}
			for _, info := range v.Tools {
				if info.Name == "fire" {
					return info.Rule
				}
			}
			t.Fatal("fire is not listed")
			return ""
		}
		if got := rule(); got != runtime.RuleAuto {
			t.Errorf("at first: %s", got)
		}
		b.set(ctx, runtime.Setting{ToolRule: &runtime.ToolRule{Tool: "fire", Rule: runtime.RuleDeny}})
		if got := rule(); got != runtime.RuleDeny {
			t.Errorf("then: %s", got)
		}
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
		if _, err := b.eng.Context(ctx, "nope"); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("of no session: %v", err)
		}
	})
	if len(b.ran) != 1 {
		t.Errorf("ran %v", b.ran)
	}
}
