package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

// What SQLite says is classed by its codes, and after each failure the store works on.
func TestFailuresInsideSQLite(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	row := r.openSession(t, "s1")
	exec(t, r, "PRAGMA query_only = 1")
	_, err := r.Commit(t.Context(), r.tx(row))
	wantCause(t, err, CauseReadOnly)
	r.say(t, row, "one")

	exec(t, r, "PRAGMA busy_timeout = 1")
	c, err := sqlite.NewConnector(writerDSN(path, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	other := sql.OpenDB(c)
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := tryWrite(t.Context(), r.conns.write); err != nil {
		t.Errorf("somebody else writes, so writing is possible: %v", err)
	}
	_, err = r.Commit(t.Context(), r.tx(row))
	wantCause(t, err, CauseBusy)
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	r.say(t, row, "two")

	for name, run := range map[string]func(*txn) error{
		"exec": func(tx *txn) error { _, err := tx.exec("no SQL"); return err },
		"row":  func(tx *txn) error { return tx.row("no SQL", nil) },
		"one":  func(tx *txn) error { _, err := tx.execOne("no SQL"); return err },
	} {
		err := r.do(t.Context(), run)
		if ce := wantCause(t, err, CauseOther); ce.Unwrap() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	diff(t, []string{"one", "two"}, r.texts(t, "s1"))
}

// A database of ours from which something is missing or in which something is broken gives errors that say where, never a
// panic, and never an empty list in place of what is there.
func TestBrokenContents(t *testing.T) {
	ctx := t.Context()
	for i, c := range []struct {
		name, harm string
		call       func(r *rig, row runtime.SessionRow) error
	}{
		{"calls of a message", "UPDATE messages SET tool_calls = '{'", func(r *rig, _ runtime.SessionRow) error {
			_, err := r.Window(ctx, "s1")
			return err
		}},
		{"usage of a run", "UPDATE runs SET usage = 'x'", func(r *rig, _ runtime.SessionRow) error {
			_, err := r.Runs(ctx, "s1", 1)
			return err
		}},
		{"no messages", "ALTER TABLE messages RENAME TO m", func(r *rig, row runtime.SessionRow) error {
			tx := r.tx(row)
			tx.Messages = []runtime.MessageRow{user("x")}
			_, err := r.Commit(ctx, tx)
			return err
		}},
		{"no messages to keep", "ALTER TABLE messages RENAME TO m; UPDATE sessions SET keep_n = 1, window_from = 2", func(r *rig, _ runtime.SessionRow) error {
			_, err := r.Window(ctx, "s1")
			return err
		}},
		{"no todos", "ALTER TABLE todos RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			tx := r.tx(row)
			tx.Todos = []runtime.TodoChange{{Action: "completed", ID: "x"}}
			_, err := r.Commit(ctx, tx)
			return err
		}},
		{"no runs", "ALTER TABLE runs RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			tx := r.tx(row)
			tx.Run = &runtime.RunRow{ID: "x"}
			_, err := r.Commit(ctx, tx)
			return err
		}},
		{"no calls", "ALTER TABLE tool_calls RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			tx := r.tx(row)
			tx.Calls = []runtime.CallRow{{ID: "x"}}
			_, err := r.Commit(ctx, tx)
			return err
		}},
		{"no calls to read", "ALTER TABLE tool_calls RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			_, _, err := r.Unfinished(ctx, "s1")
			return err
		}},
		{"no inbox", "ALTER TABLE inbox RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			tx := r.tx(row)
			tx.InboxAdd = []runtime.InboxRow{{ID: "x"}}
			_, err := r.Commit(ctx, tx)
			return err
		}},
		{"no inbox to take from", "ALTER TABLE inbox RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			tx := r.tx(row)
			tx.InboxRemove = []string{"x"}
			_, err := r.Commit(ctx, tx)
			return err
		}},
		{"no artifacts", "ALTER TABLE artifacts RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			tx := r.tx(row)
			tx.Artifacts = []runtime.ArtifactRow{{Handle: "x"}}
			_, err := r.Commit(ctx, tx)
			return err
		}},
		{"no events", "ALTER TABLE events RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			tx := r.tx(row)
			tx.Events = []trace.Event{{Data: trace.TodoData{}}}
			_, err := r.Commit(ctx, tx)
			return err
		}},
		{"last transactions that cannot be read", "UPDATE sessions SET recent = 'x y'", func(r *rig, row runtime.SessionRow) error {
			_, _, err := r.Applied(ctx, "s1", "y")
			return err
		}},
		{"a session that cannot be taken", "CREATE TRIGGER x BEFORE UPDATE OF holder ON sessions BEGIN SELECT RAISE(FAIL, 'no'); END",
			func(r *rig, row runtime.SessionRow) error { return r.ReleaseSession(ctx, "s1", row.Fence) }},
		{"a session that cannot be advanced", "CREATE TRIGGER x BEFORE UPDATE OF tx_count ON sessions BEGIN SELECT RAISE(FAIL, 'no'); END",
			func(r *rig, row runtime.SessionRow) error { _, err := r.Commit(ctx, r.tx(row)); return err }},
		{"a session that cannot be made", "CREATE TRIGGER x BEFORE INSERT ON sessions BEGIN SELECT RAISE(FAIL, 'no'); END",
			func(r *rig, row runtime.SessionRow) error {
				_, err := r.OpenSession(ctx, "s2", "ann", true)
				return err
			}},
		{"a session that cannot go", "CREATE TRIGGER x BEFORE DELETE ON sessions BEGIN SELECT RAISE(FAIL, 'no'); END",
			func(r *rig, row runtime.SessionRow) error { return r.DeleteSession(ctx, "s1", "ann") }},
		{"no tabs", "ALTER TABLE tabs RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			return r.SaveTabs(ctx, "ann", runtime.Tabs{Sessions: []string{"s1"}})
		}},
		{"tabs that cannot be written", "CREATE TRIGGER x BEFORE INSERT ON tabs BEGIN SELECT RAISE(FAIL, 'no'); END",
			func(r *rig, row runtime.SessionRow) error {
				return r.SaveTabs(ctx, "ann", runtime.Tabs{Sessions: []string{"s1"}})
			}},
		{"no sessions", "PRAGMA foreign_keys = OFF; ALTER TABLE sessions RENAME TO t", func(r *rig, row runtime.SessionRow) error {
			_, err := r.Sessions(ctx, "ann")
			return err
		}},
	} {
		if testing.Short() && i%4 > 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			path := dbPath(t)
			r, err := tryOpen(path)
			if err != nil {
				t.Fatal(err)
			}
			row := r.openSession(t, "s1")
			tx := r.tx(row)
			tx.Run = &runtime.RunRow{ID: "run", State: runtime.StateExecuting}
			tx.Messages = []runtime.MessageRow{{Kind: llm.KindAssistant, Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "x"}}}}
			r.commit(t, tx)
			if _, err := r.conns.write.ExecContext(ctx, c.harm); err != nil {
				t.Fatal(err)
			}
			err = c.call(r, row)
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			_ = r.Close(context.Background()) // giving up the session may fail too
		})
	}
}

// A database of ours without its tables, and one under a cancelled context, are not opened.
func TestOpenOfAnEmptyShell(t *testing.T) {
	path := dbPath(t)
	write(t, path, "")
	rawDB(t, path, fmt.Sprintf("PRAGMA application_id = %d", appID), "PRAGMA user_version = 1")
	_, err := tryOpen(path)
	oneLine(t, err, path, "AGENT_DB_PATH")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, existing := range []bool{false, true} {
		path := dbPath(t)
		if existing {
			ours(t, path)
		}
		if _, err := Open(ctx, Config{Path: path, Clock: clock.Real(), NewID: ids("x")}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// Sessions that cannot be copied keep the program on the lost file, with an error each time: it can still be read.
func TestRescueThatCannotCopy(t *testing.T) {
	path := dbPath(t)
	r, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	row := r.openSession(t, "s1")
	r.say(t, row, "one")
	exec(t, r, "ALTER TABLE pins RENAME TO lost")
	remove(t, path, path+"-wal", path+"-shm")
	for i := range 3 {
		_, err := r.Commit(t.Context(), r.tx(row))
		var ce *CommitError
		if !errors.As(err, &ce) {
			t.Errorf("commit %d: %v", i, err)
		}
		diff(t, []string{"one"}, r.texts(t, "s1"))
	}
	if err := r.Close(t.Context()); err == nil {
		t.Error("closing says nothing of what was lost")
	}
}

// Faults in the connections' own making end in one error and no leak.
func TestConnectionsThatFail(t *testing.T) {
	if _, err := openConns(t.Context(), filepath.Join(t.TempDir(), "none"), time.Second); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	path := filepath.Join(t.TempDir(), "text")
	write(t, path, strings.Repeat("text", 1000))
	if _, err := openConns(t.Context(), path, time.Second); err == nil {
		t.Error("a text was opened")
	}
	if _, err := probe(t.Context(), path); err == nil {
		t.Error("a text was probed")
	}
	if err := os.Mkdir(path+"-wal", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := probe(t.Context(), path); err == nil {
		t.Error("a folder passed as a log")
	}
}

func TestLocksThatFail(t *testing.T) {
	l, err := openLock(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.try(true); err == nil {
		t.Error("locked a closed file")
	}
	if err := l.acquire(t.Context(), clock.Real(), time.Second); err == nil {
		t.Error("acquired a closed file")
	}
	if err := l.release(); err == nil {
		t.Error("released a closed file")
	}
	if sameFile(l.f, l.path) {
		t.Error("a closed file is the same")
	}
	if err := cleanHolders(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("nothing to clean: %v", err)
	}
	if err := (&OpenError{Path: "p", What: "w"}).Error(); err != "cannot open database p: w" {
		t.Errorf("%s", err)
	}
}

// The zero time is stored as such.
func TestZeroTimes(t *testing.T) {
	if !fromMicros(micros(time.Time{})).IsZero() || fromMicrosOrNull(sql.NullInt64{}) != nil || microsOrNull(nil) != nil {
		t.Error("the zero time changed")
	}
	if got := fromMicros(micros(at(3))); !got.Equal(at(3)) {
		t.Error(got)
	}
}
