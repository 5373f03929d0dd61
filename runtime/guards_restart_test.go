package runtime_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
)

// after gives the commit that stores the n-th message of a kind.
func after(n int, kind llm.Kind) func(runtime.Tx) bool {
	return func(tx runtime.Tx) bool {
		for _, m := range tx.Messages {
			if m.Kind == kind {
				n--
			}
		}
		return n == 0
	}
}

// What guards a run goes on counting after the program died and the run was resumed: answers that fail a check, empty replies,
// unknown tools, a tool whose service is not there, a run that goes in circles with and without its notice.
func TestGuardsOutliveTheProgram(t *testing.T) {
	nope := scripted.Calls(scripted.Call{Name: "nope", Args: `{}`}).When("go")
	down, same, no, empty := reads("down").When("go"), reads("a").When("go"), scripted.Text("no").When("go"), scripted.Text("").When("go")
	done := scripted.Text("done").When("go")
	tests := map[string]struct {
		checks *runtime.Checks
		first  []scripted.Step
		dies   func(runtime.Tx) bool
		next   []scripted.Step
		state  string
		reason string
		asked  int    // after the restart
		told   []int  // results with the notice
		says   string // somewhere in the stored results
	}{
		"rejections":       {&runtime.Checks{Regexp: "7"}, []scripted.Step{no.Times(2)}, after(2, llm.KindNotice), []scripted.Step{no.Times(9)}, "failed", "check", 2, nil, ""},
		"repairs":          {nil, []scripted.Step{empty}, after(1, llm.KindNotice), []scripted.Step{empty.Times(9)}, "failed", "empty_reply", 1, nil, ""},
		"unknown":          {nil, []scripted.Step{nope.Times(2)}, after(2, llm.KindTool), []scripted.Step{nope.Times(9)}, "failed", "unknown_tool", 1, []int{3}, ""},
		"unavailable":      {nil, []scripted.Step{down.Times(3)}, after(3, llm.KindTool), []scripted.Step{same, done}, "succeeded", "", 2, []int{3}, "switched off for this run"},
		"nearly":           {nil, []scripted.Step{down.Times(2)}, after(2, llm.KindTool), []scripted.Step{down, same, done}, "succeeded", "", 3, []int{3}, "switched off for this run"},
		"circle, told":     {nil, []scripted.Step{same.Times(3)}, after(3, llm.KindTool), []scripted.Step{same.Times(9)}, "exhausted", "no_progress", 2, []int{3}, ""},
		"circle, one more": {nil, []scripted.Step{same.Times(4)}, after(4, llm.KindTool), []scripted.Step{same.Times(9)}, "exhausted", "no_progress", 1, []int{3}, ""},
		"circle, not told": {nil, []scripted.Step{same.Times(2)}, after(2, llm.KindTool), []scripted.Step{same, done}, "succeeded", "", 2, []int{3}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, tc.first...)
			b.cfg.Checks, b.cfg.Limits.Budget.Steps = tc.checks, 20
			b.dying(tc.dies, tc.next...)
			b.resumed(func(state, reason string) {
				if state != tc.state || reason != tc.reason {
					t.Errorf("it ends %s (%s)", state, reason)
				}
			})
			if n := len(b.model.Requests()); n != tc.asked {
				t.Errorf("asked %d times after the restart", n)
			}
			if d := cmp.Diff(tc.told, b.told()); d != "" {
				t.Errorf("told at %s", d)
			}
			if all := strings.Join(b.results(), " "); !strings.Contains(all, tc.says) {
				t.Errorf("nothing says %q: %s", tc.says, all)
			}
			for _, r := range b.store.sessions["s"].runs {
				if r.Usage.Guards != nil {
					t.Errorf("the run has ended and keeps %+v", r.Usage.Guards)
				}
			}
			b.checkHistory("s")
		})
	}
}

// resumed goes on with the interrupted run and tells how it ends.
func (b *bed) resumed(ends func(state, reason string)) {
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
		end := b.await(ctx, 0)
		ends(end.State, end.Reason)
	})
}

// A server is asked for the schema after the restart too when an answer before it did not have it.
func TestMisshapenOutlivesTheProgram(t *testing.T) {
	b := newBed(t, scripted.Text("one").When("go"))
	b.cfg.Checks = &runtime.Checks{Schema: pointSchema}
	b.dying(after(1, llm.KindNotice), scripted.Text(`{"x":1}`).When("go"))
	b.resumed(func(state, _ string) {
		if state != "succeeded" {
			t.Errorf("it ends %s", state)
		}
	})
	if r := b.model.Requests(); len(r) != 1 || r[0].Schema == nil {
		t.Errorf("the schema is not asked for: %+v", r)
	}
}

// The program dies in the last call of a reply whose results before it were a circle, judged already or only handed over: the notice
// that they earned is given with the last result.
func TestNoticeOutlivesTheProgramWithinAReply(t *testing.T) {
	for _, tool := range []string{"read", "put", "put few"} {
		args, want := []string{`{"text":"a"}`, `{"text":"a"}`, `{"text":"a"}`, `{"text":"b","wait_ms":40000}`}, []int{4}
		tool, few := strings.CutSuffix(tool, " few")
		if few { // two are no circle, and are not judged twice
			args, want = args[1:], nil
		}
		b := newBed(t, crowd(len(args), tool, func(i int) string { return args[i] }))
		b.crash(30 * time.Second)
		b.resumed(func(state, _ string) {
			if state != "succeeded" {
				t.Errorf("%s ends %s", tool, state)
			}
		})
		if d := cmp.Diff(want, b.told()); d != "" {
			t.Errorf("%s: told at %s", tool, d)
		}
		b.checkHistory("s")
	}
}

// A call that was refused when its reply was stored is refused after a restart too: it does not run with other arguments.
func TestRefusedCallIsNotRunAfterARestart(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":{"n":1}}`}, scripted.Call{Name: "nope", Args: `{}`},
		scripted.Call{Name: "put", Args: `{"text":"b","wait_ms":40000}`}).When("go"))
	b.crash(30 * time.Second)
	b.resumed(func(state, _ string) {
		if state != "succeeded" {
			t.Errorf("it ends %s", state)
		}
	})
	if d := cmp.Diff([]string{"put:b"}, b.ran); d != "" {
		t.Errorf("ran %s", d)
	}
	for i, want := range []string{"received an object of 1 fields", "the tools are", `"ok":true`} {
		if got := b.results(); len(got) != 3 || !strings.Contains(got[i], want) {
			t.Errorf("result %d is none of %s: %s", i+1, want, got)
		}
	}
	b.checkHistory("s")
}
