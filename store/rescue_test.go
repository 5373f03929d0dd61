package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
)

// turn starts a turn as the engine does, with something in every table, and leaves it unfinished.
func turn(t *testing.T, r *rig, row runtime.SessionRow, text string) {
	t.Helper()
	tx := r.tx(row)
	tx.NewTurn = true
	tx.Run = &runtime.RunRow{ID: "run-" + text, State: runtime.StateExecuting}
	tx.Messages = []runtime.MessageRow{user(text)}
	tx.Calls = []runtime.CallRow{{ID: "call-" + text, RunID: "run-" + text, Ord: 3, Name: "x", Status: runtime.CallStarted}}
	tx.Todos = []runtime.TodoChange{{Action: "added", ID: "todo-" + text, Text: text}}
	tx.Artifacts = []runtime.ArtifactRow{{Handle: "art-" + text, Content: text}}
	tx.InboxAdd = []runtime.InboxRow{{ID: "in-" + text, Text: text}}
	tx.Title = &text
	tx.Events = []trace.Event{{Data: trace.RunStartData{Input: text}}}
	r.commit(t, tx)
}

// retried commits as the engine does: after an error it asks whether the transaction is in, and commits it again if not.
func retried(t *testing.T, r *rig, tx runtime.Tx) (first error) {
	t.Helper()
	_, first = r.Commit(t.Context(), tx)
	if first == nil {
		return nil
	}
	_, in, err := r.Applied(t.Context(), tx.SessionID, tx.ID)
	if err != nil {
		t.Fatalf("applied: %v", err)
	}
	if in {
		t.Fatal("a commit into nowhere is said to be in")
	}
	r.commit(t, tx)
	return first
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// B124: the file is deleted, renamed or replaced in the middle of a turn. The next write notices it, the user is told, the
// session goes on in a new file for two more turns, and after quitting all of it is there.
func TestFileGoneInATurn(t *testing.T) {
	replace := func(t *testing.T, path string) {
		other := filepath.Join(filepath.Dir(path), "other.db")
		ours(t, other)
		move(t, other, path)
	}
	for _, c := range []struct {
		name   string
		gone   func(t *testing.T, path string)
		beside bool // another file stands at the path, so the sessions go beside it
	}{
		{"deleted with its side files", func(t *testing.T, path string) { remove(t, path, path+"-wal", path+"-shm") }, false},
		{"deleted alone", func(t *testing.T, path string) { remove(t, path) }, false},
		{"deleted with its folder", func(t *testing.T, path string) { remove(t, filepath.Dir(path)) }, false},
		{"deleted with locks and holders", func(t *testing.T, path string) {
			remove(t, path, path+"-wal", path+"-shm", locksDir(path), holdersDir(path))
		}, false},
		{"renamed", func(t *testing.T, path string) { move(t, path, path+".away") }, false},
		{"renamed with its side files", func(t *testing.T, path string) {
			for _, ext := range []string{"", "-wal", "-shm"} {
				move(t, path+ext, path+".away"+ext)
			}
		}, false},
		{"replaced", replace, true},
		{"replaced without side files", func(t *testing.T, path string) {
			remove(t, path+"-wal", path+"-shm")
			replace(t, path)
		}, true},
		{"replaced by a text", func(t *testing.T, path string) {
			write(t, path+".txt", strings.Repeat("text", 1000))
			move(t, path+".txt", path)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := dbPath(t)
			r, err := tryOpen(path)
			if err != nil {
				t.Fatal(err)
			}
			row := r.openSession(t, "s1")
			turn(t, r, row, "one")
			idle := r.openSession(t, "idle")
			r.say(t, idle, "idle too")
			before := dump(t, r)
			c.gone(t, path)
			var replaced map[string]string
			if c.beside {
				replaced = map[string]string{path: tree(t, filepath.Dir(path))[path]}
			}

			tx := r.tx(row)
			tx.Messages = []runtime.MessageRow{user("in the turn")}
			first := retried(t, r, tx)
			ce := wantCause(t, first, CauseFileGone)
			var gone *FileGoneError
			if !errors.As(first, &gone) || gone.Path != path || gone.Replaced != c.beside || !strings.Contains(ce.Error(), path) {
				t.Errorf("the error: %v", first)
			}
			notices := r.noticed()
			if len(notices) != 1 || !strings.Contains(notices[0], path) || !strings.Contains(notices[0], r.Path()) {
				t.Errorf("notices: %q", notices)
			}
			if c.beside == (r.Path() == path) || filepath.Dir(r.Path()) != filepath.Dir(path) {
				t.Errorf("went on in %s", r.Path())
			}
			after := dump(t, r)
			for _, table := range []string{"runs", "tool_calls", "todos", "artifacts", "inbox", "events"} {
				diff(t, before[table], after[table])
			}
			r.say(t, row, "two")
			r.say(t, row, "three")
			r.say(t, idle, "still idle")
			want := []string{"one", "in the turn", "two", "three"}
			diff(t, want, r.texts(t, "s1"))
			saved := r.Path()
			r.close(t)

			if c.beside {
				diff(t, replaced[path], tree(t, filepath.Dir(path))[path])
			}
			back := open(t, saved)
			if got := back.openSession(t, "s1"); got.TakenOver || got.TurnCount != 3 || got.Title != "one" {
				t.Errorf("reopened: %+v", got)
			}
			diff(t, want, back.texts(t, "s1"))
			diff(t, []string{"idle too", "still idle"}, back.texts(t, "idle"))
			if _, err := os.Stat(path + ".away"); err == nil {
				away := open(t, path+".away")
				diff(t, []string{"one"}, away.texts(t, "s1")) // whoever moved it has all that was in it
			}
		})
	}
}

// B124: the file comes back before the next commit: nothing is lost and nothing else is made.
func TestFileGoneAndBack(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	row := r.openSession(t, "s1")
	r.say(t, row, "one")
	move(t, path, path+".away")
	tx := r.tx(row)
	tx.Messages = []runtime.MessageRow{user("two")}
	_, err := r.Commit(t.Context(), tx)
	wantCause(t, err, CauseFileGone)
	diff(t, []string{"one"}, r.texts(t, "s1")) // reading goes on meanwhile
	move(t, path+".away", path)
	r.commit(t, tx)
	diff(t, []string{"one", "two"}, r.texts(t, "s1"))
	if len(r.noticed()) != 0 || r.Path() != path {
		t.Errorf("notices %q, path %s", r.noticed(), r.Path())
	}
}

// B124: quitting is a write too. Sessions that were not written to since the file went are saved by it.
func TestFileGoneAtQuit(t *testing.T) {
	path := dbPath(t)
	r, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	r.say(t, r.openSession(t, "s1"), "one")
	remove(t, path, path+"-wal", path+"-shm")
	r.close(t)
	if len(r.noticed()) != 1 {
		t.Errorf("notices: %q", r.noticed())
	}
	back := open(t, path)
	diff(t, []string{"one"}, back.texts(t, "s1"))
}

// B124 with two programs: each saves its own sessions, and both go on in one new database. Readers of a connection that is
// still to be opened never read a strange file.
func TestFileGoneUnderTwo(t *testing.T) {
	path := dbPath(t)
	a, b := open(t, path), open(t, path)
	rowA, rowB := a.openSession(t, "a"), b.openSession(t, "b")
	a.say(t, rowA, "of a")
	b.say(t, rowB, "of b")
	if err := a.SaveTabs(t.Context(), "ann", runtime.Tabs{Sessions: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	remove(t, path, path+"-wal", path+"-shm")
	for r, row := range map[*rig]runtime.SessionRow{a: rowA, b: rowB} {
		tx := r.tx(row)
		tx.Messages = []runtime.MessageRow{user("more")}
		wantCause(t, retried(t, r, tx), CauseFileGone)
	}
	if a.Path() != path || b.Path() != path {
		t.Errorf("went on in %s and %s", a.Path(), b.Path())
	}
	for _, r := range []*rig{a, b} {
		diff(t, []string{"of a", "more"}, r.texts(t, "a"))
		diff(t, []string{"of b", "more"}, r.texts(t, "b"))
	}
	if tabs, err := b.Tabs(t.Context(), "ann"); err != nil || len(tabs.Sessions) != 1 {
		t.Errorf("tabs %v, %v", tabs, err)
	}
	if _, err := b.OpenSession(t.Context(), "a", "ann", false); !errors.Is(err, runtime.ErrHeld) {
		t.Errorf("open of a session that the other one holds: %v", err)
	}
}

// New connections are to the file that was opened, or fail.
func TestReadersArePinned(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	r.say(t, r.openSession(t, "s1"), "mine")
	other := filepath.Join(t.TempDir(), "other.db")
	ours(t, other)
	move(t, path, path+".away")
	var gone *FileGoneError
	r.conns.read.SetMaxIdleConns(0)
	if _, err := r.Window(t.Context(), "s1"); !errors.As(err, &gone) || gone.Replaced {
		t.Errorf("read of a file that is gone: %v", err)
	}
	move(t, other, path)
	if _, err := r.Window(t.Context(), "s1"); !errors.As(err, &gone) || !gone.Replaced {
		t.Errorf("read of a strange file: %v", err)
	}
}

// When the new file cannot be made either, the commit fails again, and works once it can.
func TestRescueThatFailsIsTriedAgain(t *testing.T) {
	path := dbPath(t)
	dir := filepath.Dir(path)
	r := open(t, path)
	row := r.openSession(t, "s1")
	r.say(t, row, "one")
	remove(t, dir)
	write(t, dir, "a file in place of the folder")
	tx := r.tx(row)
	tx.Todos = []runtime.TodoChange{{Action: "added", ID: "t", Text: "x"}}
	for range 3 {
		if _, err := r.Commit(t.Context(), tx); err == nil {
			t.Fatal("committed into nowhere")
		} else if ce := (*CommitError)(nil); !errors.As(err, &ce) {
			t.Errorf("got %v", err)
		}
	}
	remove(t, dir)
	r.commit(t, tx)
	diff(t, []string{"one"}, r.texts(t, "s1"))
	todos, err := r.Todos(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []tools.Todo{{ID: "t", Text: "x", CreatedAt: at(1)}}, todos)
	if _, err := os.Stat(filepath.Join(dir, ".gitignore")); errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder that we made has no .gitignore")
	}
}

// In the new database sessions have other numbers than in the lost one: what is stored next still is theirs, and what a later
// session stores is its own.
func TestRescueGivesOtherNumbers(t *testing.T) {
	path := dbPath(t)
	gone, err := tryOpen(path) // its session has the first number, and goes with the file
	if err != nil {
		t.Fatal(err)
	}
	gone.say(t, gone.openSession(t, "lost"), "lost")
	gone.close(t)
	r, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]runtime.SessionRow{}
	for _, id := range []string{"s1", "s2"} {
		rows[id] = r.openSession(t, id)
		r.say(t, rows[id], "one of "+id)
	}
	remove(t, path, path+"-wal", path+"-shm")
	for _, id := range []string{"s1", "s2"} {
		tx := r.tx(rows[id])
		tx.Messages = []runtime.MessageRow{user("two of " + id)}
		tx.Events = []trace.Event{{RunID: "run-" + id, Data: trace.AnswerData{Text: "two of " + id}}}
		if id == "s1" {
			wantCause(t, retried(t, r, tx), CauseFileGone)
		} else {
			r.commit(t, tx)
		}
	}
	r.say(t, r.openSession(t, "s3"), "one of s3")
	check := func(r *rig) {
		t.Helper()
		for _, id := range []string{"s1", "s2"} {
			diff(t, []string{"one of " + id, "two of " + id}, r.texts(t, id))
			events, err := r.Events(t.Context(), id, "", 0, 10)
			if err != nil || len(events) == 0 || events[len(events)-1].Data.(trace.AnswerData).Text != "two of "+id {
				t.Errorf("events of %s: %+v, %v", id, events, err)
			}
		}
		diff(t, []string{"one of s3"}, r.texts(t, "s3"))
	}
	check(r)
	r.close(t)
	check(open(t, path))
}

// What a refused or failed change would have made of a session is not remembered as its place, nor is what it was before somebody
// else had it.
func TestPlacesAreForgotten(t *testing.T) {
	path := dbPath(t)
	r, other := open(t, path), open(t, path)
	row := r.openSession(t, "s1")
	r.say(t, row, "one")
	if len(r.heads) != 1 {
		t.Fatalf("%d places are known", len(r.heads))
	}
	bad := r.tx(row)
	bad.Messages = []runtime.MessageRow{{N: 77, Kind: llm.KindUser, Role: llm.RoleUser, Content: "no"}}
	if _, err := r.Commit(t.Context(), bad); !errors.Is(err, runtime.ErrConstraint) {
		t.Fatalf("got %v", err)
	}
	if len(r.heads) != 0 {
		t.Errorf("after a refused change %+v is known", r.heads)
	}
	r.say(t, row, "two")
	if err := r.ReleaseSession(t.Context(), "s1", row.Fence); err != nil {
		t.Fatal(err)
	}
	there := other.openSession(t, "s1")
	other.say(t, there, "three")
	if err := other.ReleaseSession(t.Context(), "s1", there.Fence); err != nil {
		t.Fatal(err)
	}
	row = r.openSession(t, "s1")
	if h, known := r.heads["s1"]; known {
		t.Errorf("after another process had the session %+v is known", h)
	}
	r.say(t, row, "four")
	diff(t, []string{"one", "two", "three", "four"}, r.texts(t, "s1"))
}
