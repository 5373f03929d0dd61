package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

// twoFires asks for two calls of one tool that the policy asks about.
func twoFires() scripted.Step {
	return scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "fire", Args: `{"text":"b"}`}).When("go")
}

// "Always" is one transaction: wherever the program dies around it, either both calls wait and the tool still asks, or none waits
// and it may run. What waits is the policy's question: a message ends the turn and is the next one.
func TestAlwaysIsStoredWhole(t *testing.T) {
	for n := 1; ; n++ {
		for _, after := range []bool{false, true} {
			b := asking(t, twoFires())
			hits, died := 0, false
			word := false
			b.store.fail = func(_ runtime.Tx, isAfter bool) error {
				if isAfter != after || !word {
					return nil
				}
				if hits++; hits == n {
					died = true
					return clock.NewLatch(b.clk).Wait(context.Background())
				}
				return nil
			}
			b.clk.Go(func() {
				b.eng = runtime.NewEngine(b.cfg)
				ctx := context.Background()
				b.begin(ctx, "go", time.Second)
				word = true
				_ = b.eng.Set(ctx, "s", runtime.Setting{Decide: []runtime.Decision{{Call: b.questions()[0].ID, Allow: true, Always: true}}})
			})
			b.crashNow(10 * time.Second)
			b.store.fail = nil
			if !died {
				if n < 4 {
					t.Fatalf("only %d commits", n-1)
				}
				return
			}
			name := fmt.Sprintf("commit %d, after %v", n, after)
			ran := len(b.ran)
			b.run(func(ctx context.Context) {
				waits := strings.Count(b.standing(ctx), "fire")
				v, err := b.eng.Context(ctx, "s")
				if err != nil {
					t.Fatal(err)
				}
				for _, info := range v.Tools {
					if info.Name == "fire" && (info.Rule == runtime.RuleAuto) != (waits == 0) {
						t.Errorf("%s: %d calls wait, the rule is %s", name, waits, info.Rule)
					}
				}
				if waits == 0 {
					return
				}
				if waits != 2 {
					t.Errorf("%s: %d calls wait", name, waits)
				}
				yes := true
				b.set(ctx, runtime.Setting{Resume: &yes})
				if err := b.eng.Submit(ctx, "s", "something else"); err != nil {
					t.Fatal(err)
				}
				if err := b.clk.Sleep(ctx, time.Second); err != nil {
					t.Fatal(err)
				}
				if last := b.last("s"); last.Content != "fine" {
					t.Errorf("%s: the message is not answered: %+v", name, last)
				}
				if len(b.ran) != ran {
					t.Errorf("%s: ran %v", name, b.ran)
				}
				b.checkHistory("s")
			})
		}
	}
}

// Who stopped a call is stored with it: what the policy asked stays the policy's after a restart though the tool may run by now,
// what the debugger holds stays the debugger's though the tool is asked about by now, which it is when the debugger lets it go.
func TestWhoStoppedACallSurvives(t *testing.T) {
	for _, debugger := range []bool{false, true} {
		b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("done").When("go"), scripted.Text("fine"))
		fire := func(r runtime.Rule) runtime.Setting {
			return runtime.Setting{ToolRule: &runtime.ToolRule{Tool: "fire", Rule: r}}
		}
		b.run(func(ctx context.Context) {
			if debugger {
				b.arm(ctx, runtime.Break{Tool: "fire"})
				b.set(ctx, fire(runtime.RuleAuto))
			}
			b.begin(ctx, "go", time.Second)
			b.set(ctx, fire(map[bool]runtime.Rule{true: runtime.RuleAsk, false: runtime.RuleAuto}[debugger]))
		})
		if got := b.store.sessions["s"].runs; len(got) != 1 {
			t.Fatalf("%d runs", len(got))
		}
		b.events = nil
		yes := true
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, runtime.Setting{Resume: &yes})
			q := b.questions()
			if len(q) != 1 || (q[0].Cause == "break") != debugger {
				t.Fatalf("debugger %v: asked %+v", debugger, q)
			}
			if err := b.eng.Submit(ctx, "s", "something else"); err != nil {
				t.Fatal(err)
			}
			if err := b.clk.Sleep(ctx, time.Second); err != nil {
				t.Fatal(err)
			}
			if queued := len(b.store.sessions["s"].inbox) > 0; queued != debugger {
				t.Errorf("debugger %v: queued %v", debugger, queued)
			}
			if debugger {
				b.events = nil
				b.goOn(ctx, runtime.Break{}) // a step of the debugger is no approval, and the tool is asked about by now
				if q := b.questions(); len(q) != 1 || q[0].Cause != "" || len(b.ran) != 0 {
					t.Fatalf("asked %+v, ran %v", q, b.ran)
				}
				b.decide(ctx, runtime.Decision{Call: q[0].ID, Allow: true})
				b.await(ctx, 1)
			}
		})
		b.checkHistory("s")
	}
}

// A word on one call, given with "always" on another one of its tool, counts.
func TestADenialBesideAlwaysCounts(t *testing.T) {
	b := asking(t, twoFires(), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		q := b.questions()
		b.decide(ctx, runtime.Decision{Call: q[0].ID, Allow: true, Always: true}, runtime.Decision{Call: q[1].ID, Reason: "not this one"})
		b.await(ctx, 0)
	})
	if d := cmp.Diff([]string{"fire:a"}, b.ran); d != "" || !strings.Contains(b.results()[1], "not this one") {
		t.Errorf("%s %v", d, b.results())
	}
}

// "Always" and a change of the debugger at the same moment: both are kept.
func TestSettingsAtOnce(t *testing.T) {
	b := asking(t, twoFires(), scripted.Text("done"))
	slow := false
	b.store.fail = func(tx runtime.Tx, after bool) error {
		if slow && !after {
			return b.clk.Sleep(context.Background(), 100*time.Millisecond)
		}
		return nil
	}
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		slow = true
		q := b.questions()
		if err := b.eng.Set(ctx, "s", runtime.Setting{Decide: []runtime.Decision{{Call: q[0].ID, Allow: true, Always: true}}}); err != nil {
			t.Fatal(err)
		}
		b.set(ctx, runtime.Setting{Break: &runtime.Break{Tool: "put"}})
		b.await(ctx, 0)
	})
	if got := string(b.store.sessions["s"].row.Settings); got != `{"tools":{"fire":"auto"},"break":{"tool":"put"}}` {
		t.Errorf("settings = %s", got)
	}
}

// refuseOne plays a turn whose n-th commit the store refuses, then a next turn, and says whether there was such a commit.
func refuseOne(t *testing.T, n int) (b *bed, was runtime.Tx, refused bool) {
	t.Helper()
	b = asking(t, scripted.TextAndCalls("I look.",
		scripted.Call{Name: "big", Args: `{"text":"first"}`}, scripted.Call{Name: "big", Args: `{"text":"second","wait_ms":50}`}, scripted.Call{Name: "note", Args: `{"text":"n"}`},
		scripted.Call{Name: "fire", Args: `{"text":"f"}`}, scripted.Call{Name: "fire", Args: `{"text":"g"}`}).When("go"),
		scripted.Calls(scripted.Call{Name: "big", Args: `{"text":"last"}`}).When("go"), scripted.Text("done").When("go"), scripted.Text("fine"))
	at := 0
	b.store.fail = func(tx runtime.Tx, after bool) error {
		if !after {
			if at++; at == n {
				was, refused = tx, true
				return runtime.ErrConstraint
			}
		}
		return nil
	}
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			t.Fatal(err)
		}
		if b.eng.Submit(ctx, "s", "go") != nil {
			return
		}
		for range 100 {
			if err := b.clk.Sleep(ctx, 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			for i, q := range b.questions() {
				d := runtime.Decision{Call: q.ID, Allow: true}
				if i == 0 && string(q.Arguments) == `{"text":"f"}` {
					d = runtime.Decision{Call: q.ID, Arguments: `{"text":"edited"}`}
				}
				_ = b.eng.Set(ctx, "s", runtime.Setting{Decide: []runtime.Decision{d}})
			}
		}
		b.store.fail = nil
		b.ask(ctx, "s", "next")
	})
	return b, was, refused
}

// Whichever commit of a turn the store refuses: nothing that is stored, sent or told names what that commit would have stored. No
// result names an artifact that is not there, none belongs to a call that is not there, no call that never ran reads as one that
// perhaps did, no row that an edit replaced goes on waiting, and no model call is missing in the trace.
func TestRefusedCommitLeavesNoName(t *testing.T) {
	for n := 2; ; n++ { // the first takes the message, or does not
		b, was, refused := refuseOne(t, n)
		if !refused {
			if n < 14 {
				t.Fatalf("the turn has only %d commits", n-1)
			}
			return
		}
		what := fmt.Sprintf("commit %d (%d messages, %d calls)", n, len(was.Messages), len(was.Calls))
		s := b.store.sessions["s"]
		there := map[string]bool{}
		for _, a := range s.artifacts {
			there[a.Handle] = true
		}
		for _, m := range s.messages {
			for id := range s.calls {
				if strings.Contains(m.Content, "a-"+id) && !there["a-"+id] {
					t.Errorf("%s: message %d names an artifact that is not stored", what, m.N)
				}
			}
		}
		events := 0
		for _, ev := range s.events {
			if d, ok := ev.Data.(trace.ToolResultData); ok && d.Artifact != "" && !there[d.Artifact] {
				t.Errorf("%s: an event names an artifact that is not stored", what)
			}
			if ev.Name == trace.LLMCall {
				events++
			}
		}
		if n := len(b.model.Requests()); events != n {
			t.Errorf("%s: %d of %d model calls are in the trace", what, events, n)
		}
		asked := map[string]bool{}
		for _, m := range s.messages {
			for _, c := range m.ToolCalls {
				asked[c.ID] = true
			}
			if m.Role == llm.RoleTool && !asked[m.ToolCallID] {
				t.Errorf("%s: message %d answers a call that is not stored", what, m.N)
			}
		}
		calls := 0
		for _, c := range s.calls {
			if c.Result == nil || c.FinishedAt == nil || c.Status == runtime.CallWaiting || c.Status == runtime.CallPending {
				t.Errorf("%s: %s %s is %s", what, c.Name, c.Arguments, c.Status)
			}
			if c.StartedAt != nil {
				calls++
			}
			if ran := slices.Contains(b.ran, c.Name+":"+textOf(c.Arguments)); !ran && (c.Status == runtime.CallUnknown || c.SideEffect == "unknown" || c.StartedAt != nil) {
				t.Errorf("%s: %s %s never ran and is %s, %s, started %v", what, c.Name, c.Arguments, c.Status, c.SideEffect, c.StartedAt)
			}
		}
		for _, id := range s.order {
			r := s.runs[id]
			if !r.State.Terminal() {
				t.Errorf("%s: the run is %s", what, r.State)
			}
			if r.Turn == 1 && r.Usage.Calls != calls {
				t.Errorf("%s: %d calls are counted, %d were started", what, r.Usage.Calls, calls)
			}
		}
		if len(s.todos) > 1 || slices.Contains(b.ran, "note:n") != (len(s.todos) == 1) {
			t.Errorf("%s: %d todos, ran %v", what, len(s.todos), b.ran)
		}
		b.checkHistory("s")
	}
}

// textOf is the text of a tool's arguments.
func textOf(arguments string) string {
	var in echoArgs
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return ""
	}
	return in.Text
}

// A row that an edit replaced and that an older build left as it was is one that does not run: in the snapshot, in what is
// resumed, and in the store once the run goes on or is given up.
func TestReplacedRowOfAnOlderBuild(t *testing.T) {
	for _, resume := range []bool{true, false} {
		for _, status := range []runtime.CallStatus{runtime.CallWaiting, runtime.CallPending} {
			b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("done").When("go"), scripted.Text("fine"))
			b.run(func(ctx context.Context) {
				b.begin(ctx, "go", time.Second)
				b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Arguments: `{"text":"edited"}`})
			})
			calls := b.store.sessions["s"].calls
			for id, c := range calls {
				if c.Reply == 0 {
					c.Status, c.Result, c.FinishedAt = status, nil, nil
					calls[id] = c
				}
			}
			b.run(func(ctx context.Context) {
				for _, c := range b.snap(ctx).Calls {
					if c.Reply == 0 && (c.Status != runtime.CallNotRun || !strings.Contains(string(c.Result), "changed the arguments")) {
						t.Errorf("the replaced row is %s: %s", c.Status, c.Result)
					}
				}
				if at := b.standing(ctx); at != `fire {"text":"edited"}` {
					t.Errorf("waits: %s", at)
				}
				if resume {
					b.set(ctx, runtime.Setting{Resume: &resume, Decide: []runtime.Decision{{Call: b.waiting(ctx), Allow: true}}})
					b.await(ctx, 0)
				} else {
					b.ask(ctx, "s", "something else")
				}
			})
			if d := cmp.Diff(map[bool][]string{true: {"fire:edited"}}[resume], b.ran); d != "" {
				t.Error(d)
			}
			for _, c := range calls {
				if c.Reply == 0 && (c.Status != runtime.CallNotRun || c.FinishedAt == nil || c.Result == nil) {
					t.Errorf("resume %v: the replaced row is stored as %s", resume, c.Status)
				}
			}
			b.checkHistory("s")
		}
	}
}
