package runtime

import (
	"testing"
	"time"

	"vitrine/runtime/clock"
)

// A run and one that it started share the budget while both are on: each counts what the other has used. Another session's, or another
// run's, does not.
func TestAccountOfARunAndItsChild(t *testing.T) {
	s := newSession(&Engine{cfg: EngineConfig{Clock: clock.NewSim(time.Unix(0, 0))}}, "s")
	budget := Budget{Tokens: 1000, Calls: 5, Steps: 5}
	root := newRun(s, RunRow{ID: "root", Budget: budget})
	s.cur = root
	child := newRun(s, RunRow{ID: "child", ParentRun: "root", Budget: budget})
	other := newRun(s, RunRow{ID: "other", ParentRun: "some", Budget: budget})
	for range 3 { // the newest word counts, not the sum of all
		child.row.Usage = RunUsage{Prompt: 600, Completion: 100, Steps: 2, Calls: 3, Active: time.Hour}
		root.row.Usage = RunUsage{Prompt: 200, Steps: 1, Calls: 1}
		for _, r := range []*run{root, child} {
			if u := r.use(); r == child && (u.Steps != 3 || u.Calls != 4) || r.spent() != ReasonNone {
				t.Fatalf("%s: %+v, %s", r.row.ID, u, r.spent())
			}
		}
	}
	if u := root.use(); u.Steps != 3 || u.Calls != 4 || u.Prompt != 800 || u.Active != 0 {
		t.Errorf("root: %+v", u)
	}
	child.row.Usage.Completion += 100
	child.use()
	if got := root.spent(); got != ReasonTokens {
		t.Errorf("root goes on: %q", got)
	}
	if got := child.spent(); got != ReasonTokens {
		t.Errorf("child goes on: %q", got)
	}
	if got := other.spent(); got != ReasonNone || other.use().Prompt != 0 {
		t.Errorf("another run pays: %q", got)
	}
}
