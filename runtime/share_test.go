package runtime_test

import (
	"context"
	"testing"
	"time"

	"vitrine/llm/scripted"
	"vitrine/runtime"
)

// What a run started counts against its budget, in a process after a crash too: here a run that was killed had started another one,
// which had used most of it.
func TestBudgetCountsWhatARunStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		used   runtime.RunUsage
		reason string
	}{
		"steps":      {runtime.RunUsage{Steps: 7}, "steps"},
		"calls":      {runtime.RunUsage{Calls: 19}, "calls"},
		"tokens":     {runtime.RunUsage{Prompt: 90_000, Completion: 10_000}, "tokens"},
		"cost":       {runtime.RunUsage{Cost: dollars(0.5)}, "cost"},
		"its time":   {runtime.RunUsage{Active: time.Hour}, ""},
		"not much":   {runtime.RunUsage{Steps: 1, Calls: 1, Prompt: 10, Cost: dollars(0.1)}, ""},
		"one before": {runtime.RunUsage{Steps: 5, Calls: 18}, ""},
	} {
		b := crashBed(t, "put", "x")
		b.cfg.Limits.Budget.Cost, b.cfg.Limits.Budget.Deadline = dollars(0.5), 10*time.Minute
		b.crash(500 * time.Millisecond)
		s := b.store.sessions["s"]
		root := s.runs[s.order[0]]
		child := runtime.RunRow{ID: "child", SessionID: "s", ParentRun: root.ID, Turn: 1, State: runtime.StateSucceeded, Budget: root.Budget, Usage: tc.used}
		s.runs[child.ID], s.order = child, append(s.order, child.ID)
		b.model.Add(scripted.Text("done").When("go"))
		yes := true
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, runtime.Setting{Resume: &yes})
			end := b.await(ctx, 0)
			if want := map[bool]string{true: "succeeded", false: "exhausted"}[tc.reason == ""]; end.State != want || end.Reason != tc.reason {
				t.Errorf("%s: %+v", name, end)
			}
			if end.Calls > 2 || end.Steps > 2 || end.Cost != nil {
				t.Errorf("%s: the run tells as its own what another one used: %+v", name, end)
			}
		})
		b.checkHistory("s")
	}
}
