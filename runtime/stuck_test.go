package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm/scripted"
	"vitrine/runtime"
)

// crowd is one reply with n calls.
func crowd(n int, tool string, args func(i int) string) scripted.Step {
	calls := make([]scripted.Call, n)
	for i := range calls {
		calls[i] = scripted.Call{Name: tool, Args: args(i)}
	}
	return scripted.Calls(calls...).When("go")
}

// B059, B061: the model reads a notice only between its replies. However many results of one reply are alike, that reply earns the
// notice, which goes with its last result; only a model that goes on for two more replies is stopped, and one that does not is not.
func TestCircleInOneReplyB059B061(t *testing.T) {
	same := func(int) string { return `{"text":"a"}` }
	failing := func(i int) string { return fmt.Sprintf(`{"text":"fail","wait_ms":%d}`, i+1) }
	for name, c := range map[string]struct {
		reply scripted.Step
		n     int
	}{
		"equal calls":             {crowd(5, "read", same), 5},
		"equal calls one by one":  {crowd(5, "fire", same), 5},
		"one error of many calls": {crowd(7, "read", failing), 7},
		"26 refused":              {crowd(26, "fire", func(i int) string { return fmt.Sprintf(`{"text":{"n":%d}}`, i) }), 26},
	} {
		for again := range 4 { // replies after the first one
			b := newBed(t, c.reply.Times(1+again), scripted.Text("done").When("go"))
			b.cfg.Limits.Budget.Calls, b.cfg.Limits.ContextTokens = 200, 60000
			b.run(func(ctx context.Context) {
				end := b.ask(ctx, "s", "go")
				if again < 2 && end.State != "succeeded" {
					t.Errorf("%s, %d more: %+v", name, again, end)
				}
				if again >= 2 && (end.State != "exhausted" || end.Reason != "no_progress" || len(b.model.Requests()) != 3) {
					t.Errorf("%s, %d more: %+v after %d requests", name, again, end, len(b.model.Requests()))
				}
			})
			if d := cmp.Diff([]int{c.n}, b.told()); d != "" {
				t.Errorf("%s, %d more: told at %s", name, again, d)
			}
			if again > 0 && len(b.model.Requests()) > 1 && !strings.Contains(fmt.Sprint(b.model.Requests()[1].Messages), "You repeat yourself") {
				t.Errorf("%s: the second request lacks the notice", name)
			}
			b.checkHistory("s")
		}
	}
}

// A circle that a reply itself leaves is told of, and what comes after it counts anew: nobody is stopped for what they left.
func TestCircleLeftInTheSameReply(t *testing.T) {
	some := func(texts ...string) scripted.Step {
		return crowd(len(texts), "read", func(i int) string { return fmt.Sprintf(`{"text":%q}`, texts[i]) })
	}
	b := newBed(t, some("a", "a", "a", "b", "b"), some("b"), some("c"), some("c"), some("c"), some("c"), some("c", "d", "d"), some("d"), some("e"), scripted.Text("done").When("go"))
	b.cfg.Limits.Budget = runtime.Budget{}
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if d := cmp.Diff([]int{5, 6, 9, 14}, b.told()); d != "" {
		t.Errorf("told at %s", d)
	}
}
