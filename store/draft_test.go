package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/tools"
)

// draft reads the draft of a session.
func (r *rig) draft(t testing.TB, id string) runtime.Draft {
	t.Helper()
	d, err := r.Draft(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A draft takes the place of the one before, is there in the next process, belongs to who holds the session and goes with it.
func TestDrafts(t *testing.T) {
	path := dbPath(t)
	r, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	row := r.openSession(t, "s1")
	r.openSession(t, "s2")
	diff(t, runtime.Draft{}, r.draft(t, "s1"))
	at := time.Date(2026, 3, 6, 14, 2, 0, 1000, time.UTC)
	for _, d := range []runtime.Draft{{Text: "one", At: at}, {Text: "two 中文\n\x00\xff" + strings.Repeat("x", 1<<20), At: at.Add(time.Second)}, {Text: "three", At: at}} {
		if err := r.SaveDraft(ctx, "s1", d); err != nil {
			t.Fatal(err)
		}
		got := r.draft(t, "s1")
		if got.Text = strings.TrimRight(got.Text, "x"); got.Text != strings.TrimRight(clean(d.Text), "x") || !got.At.Equal(d.At) {
			t.Errorf("%.20q at %v", got.Text, got.At)
		}
		diff(t, runtime.Draft{}, r.draft(t, "s2"))
	}
	other := open(t, path)
	if err := other.SaveDraft(ctx, "s1", runtime.Draft{Text: "not mine", At: at}); !errors.Is(err, runtime.ErrFenced) {
		t.Errorf("by another process: %v", err)
	}
	if err := other.SaveDraft(ctx, "s1", runtime.Draft{}); !errors.Is(err, runtime.ErrFenced) {
		t.Errorf("by another process: %v", err)
	}
	if err := r.SaveDraft(ctx, "none", runtime.Draft{Text: "x", At: at}); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("of no session: %v", err)
	}
	r.say(t, row, "a message leaves it alone")
	diff(t, runtime.Draft{Text: "three", At: at}, other.draft(t, "s1"))
	r.close(t)
	if _, err := r.Draft(ctx, "s1"); !errors.Is(err, runtime.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := r.SaveDraft(ctx, "s1", runtime.Draft{}); !errors.Is(err, runtime.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := other.OpenSession(ctx, "s1", "ann", false); err != nil {
		t.Fatal(err)
	}
	diff(t, runtime.Draft{Text: "three", At: at}, other.draft(t, "s1"))
	if err := other.SaveDraft(ctx, "s1", runtime.Draft{At: at}); err != nil {
		t.Fatal(err)
	}
	diff(t, runtime.Draft{}, other.draft(t, "s1"))
	if err := other.SaveDraft(ctx, "s1", runtime.Draft{Text: "four", At: at}); err != nil {
		t.Fatal(err)
	}
	if err := other.DeleteSession(ctx, "s1", "ann"); err != nil {
		t.Fatal(err)
	}
	diff(t, runtime.Draft{}, other.draft(t, "s1"))
}

// B124: the drafts of open sessions are saved with them when the file is gone.
func TestDraftsSurviveALostFile(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	row := r.openSession(t, "s1")
	want := runtime.Draft{Text: "half a sentence", At: time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)}
	if err := r.SaveDraft(t.Context(), "s1", want); err != nil {
		t.Fatal(err)
	}
	remove(t, path, path+"-wal", path+"-shm")
	tx := r.tx(row)
	tx.Messages = []runtime.MessageRow{user("more")}
	wantCause(t, retried(t, r, tx), CauseFileGone)
	diff(t, want, r.draft(t, "s1"))
}

// The list tells which unfinished runs want the user's word: on a call that may run, or on one whose outcome nobody knows. What has
// a result, can be asked for its outcome or changes nothing wants none, nor does a run that has ended.
func TestSessionsThatWait(t *testing.T) {
	r := open(t, dbPath(t))
	type call struct {
		status runtime.CallStatus
		effect tools.Effect
		result string
	}
	for id, c := range map[string]struct {
		state runtime.State
		calls []call
		waits bool
	}{
		"a": {runtime.StateWaitingApproval, nil, true},
		"b": {runtime.StateReconciling, []call{{runtime.CallUnknown, tools.Probeable, ""}}, true},
		"c": {runtime.StateExecuting, []call{{runtime.CallDone, tools.SideEffect, `{}`}, {runtime.CallStarted, tools.SideEffect, ""}}, true},
		"d": {runtime.StateExecuting, []call{{runtime.CallStarted, tools.SideEffect, `{}`}, {runtime.CallStarted, tools.Probeable, ""}, {runtime.CallStarted, tools.ReadOnly, ""}}, false},
		"e": {runtime.StateWaitingModel, nil, false},
		"f": {runtime.StateCancelled, []call{{runtime.CallUnknown, tools.SideEffect, ""}}, false},
	} {
		row := r.openSession(t, id)
		tx := r.tx(row)
		now := time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)
		tx.Run = &runtime.RunRow{ID: "run-" + id, SessionID: id, Turn: 1, State: c.state, StartedAt: now}
		if c.state.Terminal() {
			tx.Run.FinishedAt = &now
		}
		for i, k := range c.calls {
			kept := runtime.CallRow{ID: id + string(rune('0'+i)), RunID: "run-" + id, SessionID: id, Step: 1, Ord: i, Name: "x", Arguments: "{}", Status: k.status, Effect: k.effect, StartedAt: &now}
			if k.result != "" {
				kept.Result = []byte(k.result)
			}
			tx.Calls = append(tx.Calls, kept)
		}
		r.commit(t, tx)
		for _, s := range r.list(t) {
			if s.ID == id && s.Waits != c.waits {
				t.Errorf("%s: waits %v", id, s.Waits)
			}
		}
	}
	r.openSession(t, "without a run")
	for _, s := range r.list(t) {
		if s.ID == "without a run" && s.Waits {
			t.Error("a session without a run waits")
		}
	}
}

// B118: a database of each version before this one is brought up to it, step by step or at once, and keeps what it holds.
func TestB118EachMigrationStep(t *testing.T) {
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	for from := 1; from < len(steps); from++ {
		path := dbPath(t)
		old, err := openSteps(path, steps[:from])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := old.OpenSession(t.Context(), "s1", "ann", true); err != nil {
			t.Fatal(err)
		}
		if err := old.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := open(t, path)
		row := r.openSession(t, "s1")
		r.say(t, row, "hello")
		diff(t, []string{"hello"}, r.texts(t, "s1"))
		want := runtime.Draft{Text: "from version " + string(rune('0'+from)), At: time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)}
		if err := r.SaveDraft(t.Context(), "s1", want); err != nil {
			t.Fatal(err)
		}
		diff(t, want, r.draft(t, "s1"))
	}
}
