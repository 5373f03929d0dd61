package store

import (
	"testing"

	"vitrine/runtime"
)

// An approval is kept with its run, over a restart, and goes with its session.
func TestApprovals(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	row := r.openSession(t, "s")
	decided := at(9)
	want := []runtime.ApprovalRow{
		{ID: "a1", RunID: "r", CallID: "c1", Question: "q", Answer: "allow", AskedAt: at(8), DecidedAt: &decided},
		{ID: "a2", RunID: "r", CallID: "c2", Question: "q2", Answer: "deny", Reason: "not now", AskedAt: at(8), DecidedAt: &decided},
	}
	tx := r.tx(row)
	tx.Approvals = want
	r.commit(t, tx)
	tx = r.tx(row)
	tx.Approvals = []runtime.ApprovalRow{{ID: "b1", RunID: "other", CallID: "c3", AskedAt: at(8)}}
	r.commit(t, tx)
	r.close(t)
	r = open(t, path)
	got, err := r.Approvals(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, want, got)
}
