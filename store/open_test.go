package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"modernc.org/sqlite"

	"vitrine/runtime"
	"vitrine/runtime/clock"
)

// tree is every file under dir with its rights and the checksum of its bytes.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %x", sha256.Sum256(body))
		}
		out[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// oneLine checks an error that the user sees when opening fails.
func oneLine(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was opened")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%v: does not name %q", err, p)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rawDB runs SQL on a file without the store.
func rawDB(t *testing.T, path string, queries ...string) {
	t.Helper()
	db := rawOpen(t, path)
	for _, q := range queries {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// rawOpen connects to a database past the store.
func rawOpen(t *testing.T, path string) *sql.DB {
	t.Helper()
	c, err := sqlite.NewConnector("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	return sql.OpenDB(c)
}

// ours makes a closed database with one message.
func ours(t *testing.T, path string) {
	t.Helper()
	r, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	r.say(t, r.openSession(t, "s1"), "hello")
	r.close(t)
}

// B122: every place that cannot hold a database gives one line that names path and variable, and changes nothing. B116: so
// does one whose shared memory or file system cannot be used.
func TestOpenRefuses(t *testing.T) {
	network := func(c *Config) { c.DetectFS = func(string) (string, error) { return "NFS", nil } }
	for _, c := range []struct {
		name  string
		make  func(t *testing.T, dir string) (path string)
		parts []string
		cfg   func(*Config)
	}{
		{"a folder", func(t *testing.T, dir string) string { return dir }, []string{"not a file"}, nil},
		{"below a file", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "home"), "x")
			return filepath.Join(dir, "home", "data", "sessions.db")
		}, nil, nil},
		{"directly below a file", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "home"), "x")
			return filepath.Join(dir, "home", "sessions.db")
		}, nil, nil},
		{"a folder that cannot exist", func(t *testing.T, dir string) string { return "/proc/nonexistent/vitrine/sessions.db" }, nil, nil},
		{"a folder in a read-only folder", func(t *testing.T, dir string) string {
			chmod(t, dir, 0o555)
			return filepath.Join(dir, "data", "sessions.db")
		}, []string{"read-only"}, nil},
		{"a read-only folder", func(t *testing.T, dir string) string {
			ours(t, filepath.Join(dir, "data", "sessions.db"))
			chmod(t, filepath.Join(dir, "data"), 0o555)
			return filepath.Join(dir, "data", "sessions.db")
		}, []string{"read-only"}, nil},
		{"a read-only file", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "sessions.db")
			ours(t, path)
			chmod(t, path, 0o444)
			return path
		}, []string{"read-only", "make it writable"}, nil},
		{"a broken link", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "sessions.db")
			if err := os.Symlink(filepath.Join(dir, "nowhere"), path); err != nil {
				t.Fatal(err)
			}
			return path
		}, []string{"link"}, nil},
		{"text", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "notes.txt"), strings.Repeat("this is no database\n", 100))
			return filepath.Join(dir, "notes.txt")
		}, []string{"the file is not a database; set AGENT_DB_PATH"}, nil},
		{"a short text", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "notes.txt"), "hi")
			return filepath.Join(dir, "notes.txt")
		}, []string{"not a database"}, nil},
		{"another program's database", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "other.db")
			rawDB(t, path, "CREATE TABLE bookmarks (url TEXT)")
			return path
		}, []string{"another program"}, nil},
		{"another program's versioned database", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "other.db")
			rawDB(t, path, "CREATE TABLE bookmarks (url TEXT)", "PRAGMA user_version = 1")
			return path
		}, []string{"another program"}, nil},
		{"damaged", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "sessions.db")
			rawDB(t, path, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(body[100:], make([]byte, 400))
			write(t, path, string(body))
			return path
		}, []string{"damaged"}, nil},
		{"a network file system, new", func(t *testing.T, dir string) string { return filepath.Join(dir, "data", "sessions.db") },
			[]string{"network file system (NFS)", "local disk"}, network},
		{"a network file system, existing", func(t *testing.T, dir string) string {
			ours(t, filepath.Join(dir, "data", "sessions.db"))
			return filepath.Join(dir, "data", "sessions.db")
		}, []string{"network file system (NFS)", "local disk"}, network},
		{"a file system that cannot be told", func(t *testing.T, dir string) string { return filepath.Join(dir, "sessions.db") },
			[]string{"cannot be told"}, func(c *Config) {
				c.DetectFS = func(string) (string, error) { return "", errors.New("no answer") }
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := c.make(t, dir)
			before := tree(t, dir)
			change := c.cfg
			if change == nil {
				change = func(*Config) {}
			}
			_, err := tryOpen(path, change)
			oneLine(t, err, append(c.parts, path, "AGENT_DB_PATH")...)
			var oe *OpenError
			if !errors.As(err, &oe) {
				t.Errorf("%T is no OpenError", err)
			}
			diff(t, before, tree(t, dir))
		})
	}
	_, err := tryOpen("")
	oneLine(t, err, "empty", "AGENT_DB_PATH")
}

// chmod takes rights away and gives them back at the end, so that the folder can be removed.
func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Error(err)
		}
	})
}

// B116: shared memory that cannot be mapped stops the start with a line that names folder and setting; what was there stays.
func TestOpenWithoutSharedMemory(t *testing.T) {
	path := dbPath(t)
	ours(t, path)
	if err := os.Mkdir(path+"-shm", 0o700); err != nil {
		t.Fatal(err)
	}
	before := tree(t, filepath.Dir(path))
	_, err := tryOpen(path)
	oneLine(t, err, path, filepath.Dir(path), "AGENT_DB_PATH")
	after := tree(t, filepath.Dir(path))
	for name, sum := range before {
		if after[name] != sum {
			t.Errorf("%s changed", name)
		}
	}
	if err := os.Remove(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	diff(t, []string{"hello"}, r.texts(t, "s1"))

	// The same with a new database: nothing of it stays.
	path = dbPath(t)
	if err := os.MkdirAll(path+"-shm", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = tryOpen(path)
	oneLine(t, err, path, "AGENT_DB_PATH")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database that could not be finished stayed: %v", err)
	}
}

func TestFilesAreOursAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "data", "sess ions?#%.db")
	r := open(t, path)
	r.say(t, r.openSession(t, "s1"), "x")
	dir := filepath.Dir(path)
	for name := range tree(t, dir) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	body, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	if err != nil || string(body) != "*\n" {
		t.Errorf(".gitignore: %q, %v", body, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), ".gitignore")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a .gitignore above the data folder: %v", err)
	}
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Errorf("the log is not beside the database: %v", err)
	}

	// A folder that was there is the user's.
	theirs := filepath.Join(t.TempDir(), "sessions.db")
	open(t, theirs)
	if _, err := os.Stat(filepath.Join(filepath.Dir(theirs), ".gitignore")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a .gitignore in a folder that was there: %v", err)
	}
}

func TestSettingsOfConnections(t *testing.T) {
	r := open(t, dbPath(t))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000",
		"journal_size_limit": "67108864", "query_only": "0", "temp_store": "2"} {
		var got string
		if err := r.conns.write.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("writer's %s is %s, want %s (%v)", pragma, got, want, err)
		}
	}
	if _, err := r.conns.read.Exec("DELETE FROM sessions"); err == nil {
		t.Error("a reader can write")
	}
}

func TestLinksLeadToOneDatabase(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	row := r.openSession(t, "s1")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		t.Fatal(err)
	}
	other := open(t, filepath.Join(link, "sessions.db"))
	if r.Path() != other.Path() {
		t.Errorf("%s and %s", r.Path(), other.Path())
	}
	var held *runtime.HeldError
	got, err := other.OpenSession(t.Context(), "s1", "ann", true)
	if !errors.As(err, &held) || held.PID != os.Getpid() || held.Holder != r.holderID {
		t.Fatalf("open of a held session: %v", err)
	}
	row.UpdatedAt = got.UpdatedAt
	diff(t, row, got)
	if err := other.DeleteSession(t.Context(), "s1", "ann"); !errors.Is(err, runtime.ErrHeld) {
		t.Errorf("delete of a held session: %v", err)
	}
	fresh := open(t, filepath.Join(link, "new", "sessions.db"))
	if want := filepath.Join(filepath.Dir(path), "new", "sessions.db"); fresh.Path() != want {
		t.Errorf("new database at %s, want %s", fresh.Path(), want)
	}
}

// nextSteps are the migrations of the next version.
func nextSteps(t *testing.T) []string {
	t.Helper()
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	return append(steps, "ALTER TABLE sessions ADD COLUMN mood TEXT; CREATE TABLE moods (id TEXT) STRICT")
}

func openSteps(path string, steps []string) (*Store, error) {
	return openWith(context.Background(), Config{Path: path, Clock: clock.Real(), NewID: ids(fmt.Sprint("v", rigs.Add(1)))}, steps)
}

// B119: a newer database is refused with both versions and the path, within a second, and not a byte changes: closed, after
// a crash with a log beside it, and while the newer program runs.
func TestNewerDatabaseIsLeftAlone(t *testing.T) {
	path := dbPath(t)
	newer, err := openSteps(path, nextSteps(t))
	if err != nil {
		t.Fatal(err)
	}
	ours := len(nextSteps(t)) - 1
	check := func(t *testing.T) {
		t.Helper()
		before := tree(t, filepath.Dir(path))
		var err error
		quickest := time.Hour
		for tries := 0; tries < 5 && quickest > time.Second; tries++ { // a stall of the machine is not all of them
			start := time.Now()
			_, err = tryOpen(path)
			quickest = min(quickest, time.Since(start))
		}
		if quickest > time.Second {
			t.Errorf("took %v", quickest)
		}
		var ne *NewerError
		if !errors.As(err, &ne) || ne.Version != ours+1 || ne.Max != ours || ne.Path != path {
			t.Fatalf("got %v", err)
		}
		oneLine(t, err, path, fmt.Sprint("version ", ours+1), fmt.Sprint("up to ", ours), "AGENT_DB_PATH")
		diff(t, before, tree(t, filepath.Dir(path)))
	}
	t.Run("running", check)
	if _, err := newer.OpenSession(t.Context(), "s", "ann", true); err != nil {
		t.Fatal(err)
	}
	t.Run("running, with a log", check)

	// The files as a crash leaves them.
	crashed := filepath.Join(t.TempDir(), "sessions.db")
	for _, ext := range []string{"", "-wal"} {
		if err := copyFile(path+ext, crashed+ext, func(string) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := newer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log after closing: %v", err)
	}
	t.Run("closed", check)
	path = crashed
	t.Run("crashed", check)
}

// B119: an old and a new program at the same time. The new one must not migrate under the old one; it says who is in the way.
func TestMigrationNeedsToBeAlone(t *testing.T) {
	path := dbPath(t)
	old := open(t, path)
	row := old.openSession(t, "s1")
	old.say(t, row, "hello")
	ours := len(nextSteps(t)) - 1
	_, err := openSteps(path, nextSteps(t))
	oneLine(t, err, path, fmt.Sprint("version ", ours), fmt.Sprint("version ", ours+1), fmt.Sprint("process ", os.Getpid()), "close it")
	old.say(t, row, "still here")
	if err := old.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	newer, err := openSteps(path, nextSteps(t))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := newer.Window(t.Context(), "s1")
	if err != nil || len(rows) != 2 {
		t.Errorf("%d messages after migrating, %v", len(rows), err)
	}
	if _, err := newer.OpenSession(t.Context(), "s1", "ann", false); err != nil {
		t.Error(err)
	}
	if err := newer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A migration that fails leaves the database at its version.
func TestMigrationIsOneTransaction(t *testing.T) {
	path := dbPath(t)
	ours(t, path)
	known := len(nextSteps(t)) - 1
	steps := append(nextSteps(t)[:known], "CREATE TABLE half (id TEXT); INSERT INTO nowhere VALUES (1)")
	_, err := openSteps(path, steps)
	oneLine(t, err, path, fmt.Sprint("migrate to version ", known+1))
	r := open(t, path)
	if tables := dump(t, r); tables["half"] != nil {
		t.Error("half a migration stayed")
	}
	diff(t, []string{"hello"}, r.texts(t, "s1"))

	// A new database whose making fails does not stay.
	fresh := dbPath(t)
	if _, err := openSteps(fresh, []string{"CREATE TABLE half (id TEXT); bad"}); err == nil {
		t.Fatal("bad SQL passed")
	}
	for _, ext := range []string{"", "-wal", "-shm"} {
		if _, err := os.Stat(fresh + ext); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s%s stayed: %v", fresh, ext, err)
		}
	}
}

// A database whose making was cut (an empty file, a file without our tables) is made anew.
func TestUnfinishedMakingGoesOn(t *testing.T) {
	for name, make := range map[string]func(path string){
		"empty file": func(path string) { write(t, path, "") },
		"empty WAL database": func(path string) {
			write(t, path, "")
			rawDB(t, path, "PRAGMA journal_mode = WAL")
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := dbPath(t)
			make(path)
			r := open(t, path)
			r.say(t, r.openSession(t, "s1"), "x")
		})
	}
}

// What another process is doing is waited for, up to a bound, and ctx ends the wait.
func TestOpenWaitsItsTurn(t *testing.T) {
	path := dbPath(t)
	ours(t, path)
	lock, err := openLock(filepath.Join(locksDir(path), "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lock.close(); err != nil {
			t.Error(err)
		}
	}()
	if ok, err := lock.try(true); err != nil || !ok {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	sim := clock.NewSim(at(0))
	sim.Run(func() {
		_, err := Open(context.Background(), Config{Path: path, Clock: sim, NewID: ids("x")})
		if err == nil || !errors.Is(err, errLockBusy) || !strings.Contains(err.Error(), "another process is opening it") {
			t.Errorf("got %v", err)
		}
		if d := sim.Now().Sub(at(0)); d < openWait || d > openWait+time.Second {
			t.Errorf("waited %v", d)
		}
		ctx, cancel := sim.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := Open(ctx, Config{Path: path, Clock: sim, NewID: ids("x")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// Side files that cannot be made are an error as clear as any.
func TestOpenWithoutSideFiles(t *testing.T) {
	for _, blocked := range []string{"-locks", "-locks/open", "-locks/life", "-locks/turn", "-locks/write"} {
		t.Run(blocked, func(t *testing.T) {
			path := dbPath(t)
			if strings.Contains(blocked, "/") {
				if err := os.MkdirAll(path+blocked, 0o700); err != nil {
					t.Fatal(err)
				}
			} else {
				write(t, path+blocked, "")
			}
			_, err := tryOpen(path)
			oneLine(t, err, path, "AGENT_DB_PATH")
		})
	}
	for _, blocked := range []string{"holders", "holders/id-000001"} {
		t.Run(blocked, func(t *testing.T) {
			path := dbPath(t)
			full := filepath.Join(filepath.Dir(path), blocked)
			if strings.Contains(blocked, "/") {
				if err := os.MkdirAll(full, 0o700); err != nil {
					t.Fatal(err)
				}
			} else {
				write(t, full, "")
			}
			_, err := tryOpen(path, func(c *Config) { c.NewID = ids("id") })
			oneLine(t, err, path, "AGENT_DB_PATH")
		})
	}
}

// The files of dead processes are cleaned at the next opening; the living stay, and so does what is no holder's.
func TestStaleHoldersAreCleaned(t *testing.T) {
	path := dbPath(t)
	a := open(t, path)
	dir := holdersDir(path)
	write(t, filepath.Join(dir, "dead"), `{"pid":1}`)
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := open(t, path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"folder", a.holderID, b.holderID}
	slices.Sort(want)
	diff(t, want, names)
	if got := livingHolders(dir, a.Path()); len(got) != 2 || got[0].PID != os.Getpid() || got[0].StartedAt.IsZero() {
		t.Errorf("living: %+v", got)
	}
	if got := livingHolders(filepath.Join(dir, "nowhere"), a.Path()); got != nil {
		t.Errorf("living: %+v", got)
	}
}

func TestProbeHolder(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "broken"), "{")
	for _, id := range []string{"", "../x", "missing", "broken"} {
		if alive, info, err := probeHolder(dir, id); alive || err != nil || info != (holderInfo{}) {
			t.Errorf("%q: %v, %+v, %v", id, alive, info, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := probeHolder(dir, "folder"); err == nil {
		t.Error("a folder passed as a holder")
	}
}

func TestHolderFileIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	h, err := newHolder(dir, "me", holderInfo{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newHolder(dir, "me", holderInfo{PID: 2}); !errors.Is(err, errLockBusy) {
		t.Errorf("a second one with the same id: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "me")); err != nil {
		t.Fatal(err)
	}
	if h.inPlace(dir) {
		t.Error("in place without a file")
	}
	if err := h.close(); err != nil {
		t.Error(err)
	}
}

// Faults while opening fail it with one line, and the next opening works.
func TestOpenWithFaults(t *testing.T) {
	for _, point := range []string{"open.locked", "open.made", "open.prepared"} {
		for _, existing := range []bool{false, true} {
			path := dbPath(t)
			if existing {
				ours(t, path)
			}
			f := &faults{}
			f.set(point, syscall.ENOSPC, 1)
			_, err := tryOpen(path, withFaults(f))
			oneLine(t, err, path, "disk is full", "AGENT_DB_PATH")
			r := open(t, path, withFaults(f))
			r.say(t, r.openSession(t, "s1"), "x")
		}
	}
}
