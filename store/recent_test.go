package store

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vitrine/runtime"
	"vitrine/trace"
)

// The last transactions are remembered as they were given, whatever their numbers, and no other.
func TestRecent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type given struct {
			c      runtime.Committed
			events int
		}
		var r recent
		var ids []string
		all := map[string]given{}
		for i := range rapid.IntRange(0, 40).Draw(t, "transactions") {
			id := fmt.Sprint(rapid.StringMatching(`[a-z0-9-]{1,4}`).Draw(t, "id"), "-", i)
			n := rapid.Int64Range(0, 1<<40)
			g := given{runtime.Committed{FirstN: n.Draw(t, "first"), LastN: n.Draw(t, "last"), FirstSeq: n.Draw(t, "seq"), Turn: int(n.Draw(t, "turn"))}, i}
			r, ids, all[id] = r.with(id, g.c, g.events), append(ids, id), g
		}
		for i, id := range ids {
			c, events, ok, err := r.find(id)
			if err != nil || ok != (i >= len(ids)-recentBound) || ok && (given{c, events}) != all[id] {
				t.Fatalf("%s, %d of %d: %v, %d, %v, %v", id, i, len(ids), c, events, ok, err)
			}
		}
		for _, id := range []string{"", "x", "1", "-0"} {
			if _, _, ok, err := r.find(id); ok || err != nil {
				t.Fatalf("found %q: %v", id, err)
			}
		}
		if n := strings.Count(string(r), "\n"); n >= recentBound {
			t.Fatalf("%d lines", n+1)
		}
	})
}

// What one process has committed another one knows: while the first is there, and after it took the session over, beside its own.
func TestRecentOfAnotherProcess(t *testing.T) {
	path := dbPath(t)
	first, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	row := first.openSession(t, "s1")
	var txs []runtime.Tx
	var given []runtime.Committed
	put := func(r *rig, row runtime.SessionRow) {
		tx := r.tx(row)
		tx.Messages = []runtime.MessageRow{user("x"), user("y")}
		tx.Events = []trace.Event{{Data: trace.TodoData{}}}
		txs, given = append(txs, tx), append(given, r.commit(t, tx))
	}
	other := open(t, path)
	check := func(what string) {
		t.Helper()
		for i, tx := range txs {
			c, in, err := other.Applied(t.Context(), "s1", tx.ID)
			if err != nil || in != (i >= len(txs)-recentBound) || in && c != given[i] {
				t.Errorf("%s: transaction %d of %d: %v, %v, %v, given %v", what, i, len(txs), c, in, err, given[i])
			}
		}
	}
	for range 20 {
		put(first, row)
		check("beside the other")
	}
	first.close(t)
	row = other.openSession(t, "s1")
	for range 10 {
		put(other, row)
		check("taken over")
	}
	again := txs[len(txs)-12] // of the first process
	again.Fence = row.Fence
	diff(t, given[len(txs)-12], other.commit(t, again))
	if n := len(other.texts(t, "s1")); n != 60 {
		t.Errorf("%d messages", n)
	}
}

// What hardly ever changes of a run is written when it does: whatever changed, in place or not, also where the transaction that
// would have written it did not come to be, and after another process has changed it.
func TestRunChangesAreWritten(t *testing.T) {
	path := dbPath(t)
	f := &faults{}
	r := open(t, path, withFaults(f))
	row := r.openSession(t, "s1")
	cost := 1.5
	checks := &runtime.Checks{Tool: "a"}
	run := runtime.RunRow{ID: "run", SessionID: "s1", Turn: 1, State: runtime.StateWaitingModel, StartedAt: at(1),
		Budget: runtime.Budget{Steps: 8, Cost: &cost}, Versions: runtime.Versions{Model: "m", Prompt: "p", Tools: "t"}}
	commit := func(r *rig, row runtime.SessionRow) {
		tx := r.tx(row)
		tx.NewTurn = run.Step == 0
		was := run
		tx.Run = &was
		r.commit(t, tx)
	}
	check := func(what string) {
		t.Helper()
		got, err := r.Runs(t.Context(), "s1", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 {
			t.Fatalf("%s: %d runs", what, len(got))
		}
		diff(t, run, got[0])
	}
	changes := []struct {
		what   string
		change func()
	}{
		{"nothing", func() {}},
		{"steps", func() { run.Budget.Steps++ }},
		{"deadline", func() { run.Budget.Deadline = time.Second }},
		{"cost, in place", func() { cost = 2.5 }},
		{"cost, another one", func() { run.Budget.Cost = ptr(3.5) }},
		{"no cost", func() { run.Budget.Cost = nil }},
		{"model", func() { run.Versions.Model = "n" }},
		{"tools", func() { run.Versions.Tools = "u" }},
		{"prompt", func() { run.Versions.Prompt = "q" }},
		{"checks", func() { run.Versions.Checks = checks }},
		{"checks, in place", func() { checks.Tool = "b" }},
		{"no checks", func() { run.Versions.Checks = nil }},
		{"agent", func() { run.Agent = "x" }},
		{"error", func() { run.Error = "e" }},
		{"no error", func() { run.Error = "" }},
	}
	commit(r, row)
	check("made")
	for _, c := range changes {
		run.Step++
		c.change()
		commit(r, row)
		check(c.what)
	}

	// Refused: the change is still to be written.
	run.Budget.Calls = 7
	tx := r.tx(row)
	tx.Run, tx.InboxRemove = ptr(run), []string{"no"}
	if _, err := r.Commit(t.Context(), tx); !errors.Is(err, runtime.ErrConstraint) {
		t.Fatal(err)
	}
	commit(r, row)
	check("after a refusal")

	// Failed, so that nobody knows, before and after it was in.
	for i, point := range []string{"commit.before", "commit.after"} {
		run.Budget.Tokens = 100 + i
		tx := r.tx(row)
		tx.Run = ptr(run)
		f.set(point, syscall.EIO, 1)
		if _, err := r.Commit(t.Context(), tx); err == nil {
			t.Fatal("no failure")
		}
		commit(r, row)
		check("after a failure at " + point)
	}

	// Another process changes it meanwhile.
	if err := r.ReleaseSession(t.Context(), "s1", row.Fence); err != nil {
		t.Fatal(err)
	}
	here := run
	other := open(t, path)
	theirs := other.openSession(t, "s1")
	run.Versions.Model = "theirs"
	commit(other, theirs)
	check("changed by another process")
	if err := other.ReleaseSession(t.Context(), "s1", theirs.Fence); err != nil {
		t.Fatal(err)
	}
	run = here
	commit(r, r.openSession(t, "s1"))
	check("changed back")
}
