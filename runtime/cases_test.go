package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// results gives the tool messages of s, in order.
func (b *bed) results() []string {
	var out []string
	for _, m := range b.messages("s") {
		if m.Role == llm.RoleTool {
			out = append(out, m.Content)
		}
	}
	return out
}

// goesOn sends a plain message and wants one request and its answer, with valid history.
func (b *bed) goesOn(ctx context.Context, text string) {
	b.t.Helper()
	asked := len(b.model.Requests())
	b.model.Add(scripted.Text("fine").When(text))
	if end := b.ask(ctx, "s", text); end.State != "succeeded" || end.Steps != 1 {
		b.t.Errorf("%s: %+v", text, end)
	}
	if n := len(b.model.Requests()) - asked; n != 1 {
		b.t.Errorf("%s took %d requests", text, n)
	}
}

// B059: the same call again and again, two by turns, and one that differs in white space only: the third equal result (the
// second pair) brings a notice, two results later the run stops with its reason; the step limit holds besides, and the next
// message works.
func TestCirclesB059(t *testing.T) {
	read := func(args string) scripted.Step {
		return scripted.Calls(scripted.Call{Name: "read", Args: args}).When("go")
	}
	for name, c := range map[string]struct {
		steps   []scripted.Step
		results int
	}{
		"the same":    {[]scripted.Step{read(`{"text":"a"}`).Times(20)}, 5},
		"white space": {[]scripted.Step{read(`{"text":"a"}`), read(`{ "text":"a"}`), read(`{"text": "a"}`), read("{\n\"text\":\"a\"}"), read(`{"text":"a" }`)}, 5},
		"by turns":    {slices.Repeat([]scripted.Step{read(`{"text":"a"}`), read(`{"text":"b"}`)}, 8), 6},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, c.steps...)
			b.cfg.Limits.Budget.Steps = 20
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "go"); end.State != "exhausted" || end.Reason != "no_progress" {
					t.Errorf("end = %+v", end)
				}
				b.goesOn(ctx, "something else")
			})
			got := b.results()
			noticed := slices.IndexFunc(got, func(s string) bool { return strings.Contains(s, "You repeat yourself") })
			if len(got) != c.results || noticed != c.results-3 {
				t.Errorf("%d results, the notice is in number %d", len(got), noticed+1)
			}
			b.checkHistory("s")
		})
	}
	b := newBed(t, read(`{"text":"a"}`).Times(20))
	b.cfg.Limits.Budget.Steps = 2
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "go"); end.Reason != "steps" || end.Steps != 2 {
			t.Errorf("end = %+v", end)
		}
	})
}

// What changes, or is meant to be done again, is no circle: polling with another result each time, the same reading after an
// edit, and a call that comes twice.
func TestNoFalseAlarm(t *testing.T) {
	call := func(name, text string) scripted.Step {
		return scripted.Calls(scripted.Call{Name: name, Args: fmt.Sprintf(`{"text":%q}`, text)})
	}
	for name, steps := range map[string][]scripted.Step{
		"polling":          {call("read", "1"), call("read", "2"), call("read", "3"), call("read", "4"), call("read", "5"), call("read", "6")},
		"read, edit, read": {call("read", "f"), call("fire", "1"), call("read", "f"), call("fire", "2"), call("read", "f"), call("fire", "3")},
		"twice":            {call("read", "a"), call("read", "a"), call("read", "b"), call("read", "b"), call("read", "a")},
	} {
		b := newBed(t, append(steps, scripted.Text("done"))...)
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
				t.Errorf("%s: %+v", name, end)
			}
		})
		if all := strings.Join(b.results(), ""); strings.Contains(all, "You repeat yourself") {
			t.Errorf("%s is taken for a circle: %s", name, all)
		}
	}
}

// B061: other arguments each time, the same error each time: five in a row bring the notice, two more the end. B089: so does
// the same wrong argument, whose error names field, type and value.
func TestSameFailuresB061B089(t *testing.T) {
	for name, c := range map[string]struct {
		args func(i int) string
		want []string
	}{
		"B061": {func(i int) string { return fmt.Sprintf(`{"text":"fail","wait_ms":%d}`, i+1) }, []string{"not_found"}},
		"B089": {func(i int) string { return fmt.Sprintf(`{"text":{"n":%d}}`, i) }, []string{"invalid_argument", `"field":"text"`, "string", "object"}},
	} {
		i := 0
		b := newBed(t, scripted.Func(func(llm.Request) scripted.Step {
			i++
			return scripted.Calls(scripted.Call{Name: "read", Args: c.args(i)})
		}).Times(26).When("go"))
		b.cfg.Limits.Budget = runtime.Budget{Steps: 30, Calls: 30, Tokens: 1_000_000}
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "exhausted" || end.Reason != "no_progress" {
				t.Errorf("%s: %+v", name, end)
			}
			b.goesOn(ctx, "something else")
		})
		got := b.results()
		if len(got) != 7 || !strings.Contains(got[4], "You repeat yourself") {
			t.Errorf("%s: %d results: %s", name, len(got), got)
		}
		for _, w := range c.want {
			if !strings.Contains(got[0], w) {
				t.Errorf("%s: %q is not in %s", name, w, got[0])
			}
		}
		b.checkHistory("s")
	}
}

// B062, B088: after a circle, a step limit, a failing provider the next message starts afresh, with all that was before, also
// in another process; the message of a limit names it and its setting.
func TestAfterTheStopB062B088(t *testing.T) {
	call := scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"a"}`}).When("go")
	various := scripted.Func(func(r llm.Request) scripted.Step {
		return scripted.Calls(scripted.Call{Name: "read", Args: fmt.Sprintf(`{"text":"%d"}`, len(r.Messages))})
	}).When("go")
	for name, c := range map[string]struct {
		step    scripted.Step
		reason  string
		results int
		why     string
	}{
		"circle":   {call.Times(20), "no_progress", 5, "no progress"},
		"steps":    {various.Times(20), "steps", 5, "AGENT_MAX_TOOL_ITERS"},
		"provider": {scripted.Fail(&llm.Error{Kind: llm.ErrServer, Message: "down"}).When("go"), "model", 0, "down"},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s restart %v", name, restart), func(t *testing.T) {
				b := newBed(t, c.step)
				b.cfg.Limits.Budget.Steps = 5
				stop := func(ctx context.Context) {
					if end := b.ask(ctx, "s", "go"); end.Reason != c.reason {
						t.Errorf("end = %+v", end)
					}
				}
				again := func(ctx context.Context) {
					b.goesOn(ctx, "try something else")
					b.goesOn(ctx, "and more")
				}
				if restart {
					b.run(stop)
					b.run(again)
				} else {
					b.run(func(ctx context.Context) { stop(ctx); again(ctx) })
				}
				if n := len(b.results()); n != c.results {
					t.Errorf("%d results are kept", n)
				}
				told := ""
				for _, ev := range b.named(trace.Error) {
					d := ev.Data.(trace.ErrorData)
					told += d.Message + " " + d.Why
				}
				if !strings.Contains(told, c.why) {
					t.Errorf("the user is told %q", told)
				}
				b.checkHistory("s")
			})
		}
	}
}

// B064, B065: cancelled while the first of three runs, between two, while arguments stream, and while it is asked: each call has
// one result, and started reads differently from not run and from denied.
func TestCancelsB064B065(t *testing.T) {
	three := scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a","wait_ms":1000}`}, scripted.Call{Name: "fire", Args: `{"text":"b","wait_ms":1000}`},
		scripted.Call{Name: "fire", Args: `{"text":"c"}`}).When("go")
	for name, c := range map[string]struct {
		step    scripted.Step
		ask     bool
		at      time.Duration
		results []string
		partial bool
	}{
		"in the first":         {three, false, 500 * time.Millisecond, []string{"interrupted", "not_run", "not_run"}, false},
		"in the second":        {three, false, 1500 * time.Millisecond, []string{`"ok":true`, "interrupted", "not_run"}, false},
		"while it is asked":    {three, true, 500 * time.Millisecond, []string{"not_run", "not_run", "not_run"}, false},
		"while text streams":   {scripted.Text("one two three").ChunkSize(4).Pace(time.Second).When("go"), false, 1500 * time.Millisecond, nil, true},
		"while arguments come": {scripted.TextAndCalls("I look.", scripted.Call{Name: "fire", Args: `{"text":"a"}`}).Delay(time.Second).When("go"), false, 500 * time.Millisecond, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, c.step)
			if c.ask {
				b.cfg.Policy = runtime.DefaultPolicy()
			}
			b.run(func(ctx context.Context) {
				b.begin(ctx, "go", c.at)
				b.eng.Cancel("s")
				if end := b.await(ctx, 0); end.State != "cancelled" {
					t.Errorf("end = %+v", end)
				}
				b.goesOn(ctx, "continue")
			})
			got := b.results()
			if len(got) != len(c.results) {
				t.Fatalf("results: %s", got)
			}
			for i, want := range c.results {
				if !strings.Contains(got[i], want) {
					t.Errorf("result %d = %s, want %s", i, got[i], want)
				}
			}
			closing := ""
			for _, m := range b.messages("s") {
				if m.Kind == llm.KindClosing {
					closing = m.Content
					if m.Partial != c.partial {
						t.Errorf("closing %+v", m)
					}
				}
			}
			if c.partial && (!strings.Contains(closing, "one") || !strings.Contains(closing, "[interrupted]")) {
				t.Errorf("the partial text: %q", closing)
			}
			b.checkHistory("s")
		})
	}
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("fine").Times(2))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.decide(ctx, runtime.Decision{Call: b.questions()[0].ID, Reason: "no"})
		b.await(ctx, 0)
	})
	if got := b.results()[0]; !strings.Contains(got, "denied") || strings.Contains(got, "interrupted") {
		t.Errorf("a denial reads %s", got)
	}
}

// B067, B068: after a crash an effect does not run again by itself; given up, its missing result is added once, however often the
// session is opened, and says that nobody knows.
func TestCrashesB067B068(t *testing.T) {
	b := crashBed(t, "fire", "x")
	b.crash(500 * time.Millisecond)
	before := len(b.messages("s"))
	for range 2 {
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			if err := b.eng.Close(ctx, "s"); err != nil {
				t.Fatal(err)
			}
		})
	}
	if n := len(b.messages("s")); n != before {
		t.Errorf("opening added %d messages", n-before)
	}
	b.run(func(ctx context.Context) { b.goesOn(ctx, "go on") })
	b.run(func(ctx context.Context) { b.goesOn(ctx, "and on") })
	if got := b.results(); len(got) != 2 || !strings.Contains(got[0], "outcome_unknown") || !strings.Contains(got[1], "not_run") {
		t.Errorf("results: %s", got)
	}
	if len(b.ran) != 0 {
		t.Errorf("ran %v", b.ran)
	}
	b.checkHistory("s")
}

// B073: calls with effects of one reply run in their order, and results stand in call order, in each of a hundred runs.
func TestOrderB073(t *testing.T) {
	calls := scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"write"}`}, scripted.Call{Name: "read", Args: `{"text":"list 1"}`},
		scripted.Call{Name: "fire", Args: `{"text":"remove"}`}, scripted.Call{Name: "read", Args: `{"text":"list 2"}`})
	for i := range 100 {
		b := newBed(t, calls, scripted.Text("done"))
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		if d := cmp.Diff([]string{"fire:write", "read:list 1", "fire:remove", "read:list 2"}, b.ran); d != "" {
			t.Fatalf("run %d: %s", i, d)
		}
		for j, want := range []string{"write", "list 1", "remove", "list 2"} {
			if got := b.results()[j]; !strings.Contains(got, want) {
				t.Fatalf("run %d, result %d: %s", i, j, got)
			}
		}
	}
}
