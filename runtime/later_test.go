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
	"vitrine/tools"
	"vitrine/trace"
)

// Here a call comes to run under another policy than the one that asked about it, let it run or began it. The policy of that moment
// decides.

// under is a policy with one rule.
func under(tool string, r runtime.Rule) *runtime.Policy {
	p := runtime.DefaultPolicy()
	p.Tools = map[string]runtime.Rule{tool: r}
	return p
}

// deniedByPolicy wants every call of the tool to have been told to the model as denied by the configuration, and the user to have
// been told of it so often.
func (b *bed) deniedByPolicy(tool string, notices int) {
	b.t.Helper()
	told := 0
	for _, m := range b.messages("s") {
		if m.ToolName == tool {
			if !strings.Contains(m.Content, `"denied"`) || !strings.Contains(m.Content, "the configuration forbids this tool") {
				b.t.Errorf("the model is told %s", m.Content)
			}
			told++
		}
	}
	if told == 0 {
		b.t.Error("the model is told nothing")
	}
	n := b.notices("policy_denies")
	if len(n) != notices {
		b.t.Errorf("notices %+v", n)
	}
	for _, d := range n {
		if !strings.Contains(d.Message, tool) || d.Why != "the configuration forbids this tool" {
			b.t.Errorf("notice %+v", d)
		}
	}
	b.checkHistory("s")
}

// A question that was stored under "ask" and is answered under "deny": no word is taken, neither one call's nor the session's.
func TestAStoredQuestionUnderADeny(t *testing.T) {
	result := "mine"
	for name, word := range map[string]runtime.Decision{
		"allow": {Allow: true}, "always": {Allow: true, Always: true}, "arguments": {Arguments: `{"text":"b"}`}, "result": {Result: &result}, "none": {},
	} {
		for _, headless := range []bool{true, false} {
			b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("done").When("go"))
			b.cfg.Limits.Headless = headless
			var id string
			b.run(func(ctx context.Context) {
				b.begin(ctx, "go", time.Second)
				id = b.waiting(ctx)
			})
			b.cfg.Policy = under("fire", runtime.RuleDeny)
			yes := true
			b.run(func(ctx context.Context) {
				b.snap(ctx)
				say := runtime.Setting{Resume: &yes}
				if word.Call = id; name != "none" {
					say.Decide = []runtime.Decision{word}
				}
				b.set(ctx, say)
				if end := b.await(ctx, 0); end.State != "succeeded" {
					t.Errorf("%s: end = %+v", name, end)
				}
				if own := b.store.sessions["s"].row.Settings; strings.Contains(string(own), "fire") {
					t.Errorf("%s: settings %s", name, own)
				}
			})
			if len(b.ran) != 0 || len(b.questions()) != 0 {
				t.Errorf("%s, headless %v: ran %v, asked %+v", name, headless, b.ran, b.questions())
			}
			b.deniedByPolicy("fire", 1)
		}
	}
}

// One of two questions is forbidden meanwhile; the other one stands and is answered.
func TestOneOfTwoQuestionsUnderADeny(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "put", Args: `{"text":"b"}`}).When("go"), scripted.Text("done").When("go"))
	b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Second) })
	b.cfg.Policy = under("fire", runtime.RuleDeny)
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
		q := b.questions()
		if len(q) != 1 || q[0].Tool != "put" {
			t.Fatalf("asked %+v", q)
		}
		b.decide(ctx, runtime.Decision{Call: q[0].ID, Allow: true})
		b.await(ctx, 0)
	})
	if d := cmp.Diff([]string{"put:b"}, b.ran); d != "" {
		t.Error(d)
	}
	b.deniedByPolicy("fire", 1)
}

// A session's own rule, set while the question stands, counts like the configuration's.
func TestARuleOfTheSessionWhileAQuestionStands(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("done").When("go"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.set(ctx, runtime.Setting{ToolRule: &runtime.ToolRule{Tool: "fire", Rule: runtime.RuleDeny}})
		b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Allow: true})
		b.await(ctx, 0)
	})
	if n := b.notices("policy_denies"); len(b.ran) != 0 || len(n) != 1 || n[0].Why != "this session's rules forbid this tool" {
		t.Errorf("ran %v, notices %+v", b.ran, n)
	}
	b.checkHistory("s")
}

// The word was stored, and then the process died: before the next call of the batch was begun, or before any was.
func TestAnApprovalBeforeACrashUnderADeny(t *testing.T) {
	for name, c := range map[string]struct {
		at     func(runtime.Tx) bool
		ran    []string
		begun  bool // the first one had been started
		denied int
	}{
		"one of two words": {func(tx runtime.Tx) bool { return len(tx.Approvals) > 0 }, nil, false, 2},
		"between the two": {func(tx runtime.Tx) bool {
			return len(tx.Messages) > 0 && tx.Messages[0].ToolName == "put" && tx.Run.State == runtime.StateExecuting
		}, []string{"put:a"}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			two := scripted.Calls(scripted.Call{Name: "put", Args: `{"text":"a"}`}, scripted.Call{Name: "note", Args: `{"text":"n"}`}, scripted.Call{Name: "put", Args: `{"text":"b"}`})
			b := asking(t, two.When("go"))
			died := false
			b.store.fail = func(tx runtime.Tx, after bool) error {
				if after && c.at(tx) {
					died = true
					return latchFor(b).Wait(context.Background()) // the process ends here
				}
				return nil
			}
			b.clk.Go(func() {
				b.eng = runtime.NewEngine(b.cfg)
				ctx := context.Background()
				b.begin(ctx, "go", time.Second)
				var words []runtime.Decision
				for _, q := range b.questions() {
					words = append(words, runtime.Decision{Call: q.ID, Allow: true})
				}
				if err := b.eng.Set(ctx, "s", runtime.Setting{Decide: words}); err != nil {
					t.Error(err)
				}
			})
			b.crashNow(time.Minute)
			b.store.fail = nil
			if d := cmp.Diff(c.ran, b.ran); !died || d != "" {
				t.Fatalf("before the crash: died %v, ran %s", died, d)
			}
			b.cfg.Policy = under("put", runtime.RuleDeny)
			yes := true
			b.run(func(ctx context.Context) {
				b.snap(ctx)
				b.set(ctx, runtime.Setting{Resume: &yes})
				b.await(ctx, 0)
			})
			if d := cmp.Diff(append(c.ran, "note:n"), b.ran); d != "" {
				t.Error(d)
			}
			if n := b.notices("policy_denies"); len(n) != c.denied {
				t.Errorf("notices %+v", n)
			}
			b.checkHistory("s")
		})
	}
}

// What had been started before a crash is not run again under a deny, and the model is told what is known of it.
func TestAStartedCallUnderADeny(t *testing.T) {
	for _, c := range []struct{ tool, text, told, user string }{
		{"read", "x", `"interrupted"`, "is not run again"}, {"note", "x", `"interrupted"`, "is not run again"},
		{"put", "x", `"outcome_unknown"`, "is not run again"}, {"save", "happened", "probed", ""},
		{"save", "not", `"denied"`, "does not run"},
	} {
		b := crashBed(t, c.tool, c.text)
		b.crash(500 * time.Millisecond)
		b.cfg.Policy = under(c.tool, runtime.RuleDeny)
		yes := true
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, runtime.Setting{Resume: &yes})
			b.await(ctx, 0)
		})
		for _, ran := range b.ran {
			if strings.HasPrefix(ran, c.tool+":"+c.text) {
				t.Errorf("%s %s: ran %v", c.tool, c.text, b.ran)
			}
		}
		if r := b.results(); !strings.Contains(r[0], c.told) {
			t.Errorf("%s %s: the model is told %s", c.tool, c.text, r[0])
		}
		if n := b.notices("policy_denies"); c.user == "" && len(n) != 0 || c.user != "" && (len(n) == 0 || !strings.Contains(n[0].Message, c.user)) {
			t.Errorf("%s %s: notices %+v", c.tool, c.text, n)
		}
		b.checkHistory("s")
	}
}

// The debugger held a call under "auto"; what it lets go under another policy is that policy's.
func TestAHeldCallUnderAnotherPolicy(t *testing.T) {
	for _, rule := range []runtime.Rule{runtime.RuleDeny, runtime.RuleAsk, runtime.RuleAuto} {
		for _, headless := range []bool{true, false} {
			b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}), scripted.Text("done"))
			b.run(func(ctx context.Context) {
				b.arm(ctx, runtime.Break{Tool: "fire"})
				b.begin(ctx, "go", time.Second)
			})
			b.cfg.Policy, b.cfg.Limits.Headless, b.events = under("fire", rule), headless, nil
			yes := true
			b.run(func(ctx context.Context) {
				b.snap(ctx)
				say := runtime.Setting{Resume: &yes}
				if !headless {
					say.Step = &runtime.Step{Call: b.waiting(ctx)}
				}
				b.set(ctx, say)
				if rule == runtime.RuleAsk {
					if q := b.questions(); len(q) != 1 || q[0].Cause != "" || len(b.ran) != 0 {
						t.Fatalf("headless %v: asked %+v, ran %v", headless, q, b.ran)
					}
					b.set(ctx, b.says(headless, runtime.Decision{Call: b.waiting(ctx), Allow: true}))
				}
				b.await(ctx, 0)
			})
			if rule == runtime.RuleDeny {
				b.deniedByPolicy("fire", 1)
			}
			if ran := len(b.ran) == 1; ran == (rule == runtime.RuleDeny) {
				t.Errorf("%s, headless %v: ran %v", rule, headless, b.ran)
			}
		}
	}
}

// says is a word on a call that waits; where nobody looks the run was left meanwhile.
func (b *bed) says(headless bool, d runtime.Decision) runtime.Setting {
	s := runtime.Setting{Decide: []runtime.Decision{d}}
	if headless {
		yes := true
		s.Resume = &yes
	}
	return s
}

// A run without the screen names what still waits, not what the words that came along have decided.
func TestOnlyWhatWaitsIsAsked(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "fire", Args: `{"text":"b"}`}).When("go"), scripted.Text("done").When("go"))
	b.cfg.Limits.Headless = true
	var ids []string
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		for _, q := range b.questions() {
			ids = append(ids, q.ID)
		}
	})
	if len(ids) != 2 {
		t.Fatalf("asked about %v", ids)
	}
	for i, want := range [][]string{{ids[1]}, nil} {
		b.events = nil
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, b.says(true, runtime.Decision{Call: ids[i], Allow: i == 0}))
		})
		var asked []string
		for _, ev := range b.named(trace.Approval) {
			if d := ev.Data.(trace.ApprovalData); d.Phase == "asked" {
				asked = append(asked, d.ID)
			}
		}
		if d := cmp.Diff(want, asked); d != "" {
			t.Errorf("after word %d: %s", i, d)
		}
	}
	if d := cmp.Diff([]string{"fire:a"}, b.ran); d != "" {
		t.Error(d)
	}
}

// A call that was stored for a tool that only read then, and is to run now that the tool has an effect: the user is asked, and a crash
// in it leaves an outcome that nobody knows, as with every tool of that effect.
func TestAStoredCallOfAToolWithAnotherEffect(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "read", Args: `{"text":"b","wait_ms":1000}`}).When("go"), scripted.Text("done").When("go"))
	b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Second) })
	change := func() {
		all := b.tools()
		for i, tool := range all {
			if tool.Name() == "read" {
				all[i] = tools.New("read", "reads, and counts who did", tools.SideEffect, func(ctx context.Context, _ tools.Call, in echoArgs) (tools.Output, error) {
					b.ran = append(b.ran, "read:"+in.Text)
					return tools.Output{}, b.clk.Sleep(ctx, time.Second)
				})
			}
		}
		b.cfg.Registry = tools.NewRegistry(all...)
		b.cfg.Executor = executorOf(b)
	}
	change()
	yes := true
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		b.set(ctx, runtime.Setting{Resume: &yes, Decide: []runtime.Decision{{Call: b.waiting(ctx), Allow: true}}})
		q := b.questions()
		if len(q) != 1 || q[0].Tool != "read" || q[0].Effect != string(tools.SideEffect) || len(b.ran) != 1 {
			t.Errorf("asked %+v, ran %v", q, b.ran)
			return
		}
		b.set(ctx, runtime.Setting{Decide: []runtime.Decision{{Call: q[0].ID, Allow: true}}})
	})
	b.crashNow(1500 * time.Millisecond)
	change()
	if d := cmp.Diff([]string{"fire:a", "read:b"}, b.ran); d != "" {
		t.Fatal(d)
	}
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes})
		if open, ok := errors.AsType[*runtime.OutcomeError](err); !ok || len(open.Calls) != 1 || open.Calls[0].Name != "read" {
			t.Errorf("resumed after a crash in it: %v", err)
		}
	})
}
