package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
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

// asideFiles are the files beside the database that texts are kept in.
func asideFiles(t testing.TB, path string) []string {
	t.Helper()
	all, err := filepath.Glob(path + "-unsaved-*")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What is kept aside is on the disk at once while the database is locked, for its user alone; it belongs to its process as long as
// that lives, then to whoever opens the session, and goes once something is stored in its place or the session is deleted.
func TestKeptAside(t *testing.T) {
	path := dbPath(t)
	r, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r.openSession(t, "s1")
	r.openSession(t, "s2")
	other := open(t, path)
	at := time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for _, a := range []runtime.Aside{{Texts: []string{"old"}, At: at}, {Texts: []string{"one", "two 中文\n\x00\xff"}, At: at.Add(time.Second), Whole: true}} {
		if err := errors.Join(r.KeepAside(ctx, "s1", a), r.KeepAside(ctx, "s2", a)); err != nil {
			t.Fatal(err)
		}
	}
	files := asideFiles(t, path)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	if info, err := os.Stat(files[0]); err != nil || goruntime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	want := []runtime.Aside{{Texts: []string{"one", clean("two 中文\n\x00\xff")}, At: at.Add(time.Second), Whole: true}}
	want[0].Own = true
	diff(t, want, r.draft(t, "s1").Aside) // its tab was closed, and is opened again
	want[0].Own = false
	if err := r.KeepAside(ctx, "s3", want[0]); err != nil { // which is not there yet
		t.Fatal(err)
	}
	if got := r.draft(t, "s3").Aside; len(got) != 1 {
		t.Errorf("of a session to come: %+v", got)
	}
	if err := r.KeepAside(ctx, "s3", runtime.Aside{}); err != nil || len(r.draft(t, "s3").Aside) > 0 {
		t.Errorf("taken away: %v, %+v", err, r.draft(t, "s3").Aside)
	}
	if got := other.draft(t, "s1").Aside; len(got) > 0 {
		t.Errorf("another process takes what a living one keeps: %+v", got)
	}
	if err := os.WriteFile(files[0]+asideNew, []byte("cut o"), 0o600); err != nil { // killed while it wrote
		t.Fatal(err)
	}
	if err := r.Close(ctx); err != nil {
		t.Fatal(err)
	}
	diff(t, want, other.draft(t, "s1").Aside)
	third := open(t, path)
	third.openSession(t, "s1")
	diff(t, want, third.draft(t, "s1").Aside)
	if err := third.SaveDraft(ctx, "s1", runtime.Draft{Text: "one\ntwo", At: at.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	diff(t, runtime.Draft{Text: "one\ntwo", At: at.Add(time.Minute)}, third.draft(t, "s1"))
	diff(t, want, third.draft(t, "s2").Aside)
	if err := third.DeleteSession(ctx, "s2", "ann"); err != nil {
		t.Fatal(err)
	}
	if got := asideFiles(t, path); len(got) > 0 {
		t.Errorf("there is still %q", got)
	}
}

// Whoever keeps something aside waits for others only as long as they want to: a disk may hang.
func TestKeptAsideTakesTurns(t *testing.T) {
	r := open(t, dbPath(t))
	r.openSession(t, "s1")
	at := time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)
	busy, done := make(chan struct{}), make(chan error, 1)
	release := make(chan struct{})
	go func() {
		done <- r.aside.alone(t.Context(), func() error {
			close(busy)
			<-release
			return nil
		})
	}()
	<-busy
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.KeepAside(ctx, "s1", runtime.Aside{Texts: []string{"typed"}, At: at}); !errors.Is(err, context.Canceled) {
		t.Errorf("while another one works on the files: %v", err)
	}
	if _, err := r.Draft(ctx, "s1"); !errors.Is(err, context.Canceled) {
		t.Errorf("while another one works on the files: %v", err)
	}
	soon, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	if err := r.SaveDraft(soon, "s1", runtime.Draft{Text: "typed", At: at}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("what is stored: %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := r.KeepAside(t.Context(), "s1", runtime.Aside{Texts: []string{"typed"}, At: at}); err != nil {
		t.Error(err)
	}
	if left := r.draft(t, "s1").Aside; len(left) != 1 || left[0].Texts[0] != "typed" {
		t.Errorf("left %v", left)
	}
}

// A file that is broken, or a folder that cannot be written, is no end of anything.
func TestKeptAsideFails(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	r.openSession(t, "s1")
	for name, body := range map[string]string{"a": "{", "b": `{"s1":{"texts":["kept"],"at":"2026-03-06T14:02:00Z"}}`, "c": "[]"} {
		if err := os.WriteFile(path+"-unsaved-"+name+".json", []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.draft(t, "s1").Aside; len(got) != 1 || got[0].Texts[0] != "kept" {
		t.Errorf("%+v", got)
	}
	r.aside.own = filepath.Join(path, "not", "there.json")
	err := r.KeepAside(t.Context(), "s1", runtime.Aside{Texts: []string{"x"}})
	if err == nil || !strings.Contains(err.Error(), "session s1 aside") {
		t.Errorf("error %v", err)
	}
}
