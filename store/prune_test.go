package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/runtime/clock"
)

// filled makes a database of sessions with n messages of 1000 bytes each, and lets go of it.
func filled(t *testing.T, path string, n int, ids ...string) {
	t.Helper()
	r, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		row := longSession(t, r, id, n, 1000)
		tx := r.tx(row)
		tx.Artifacts = []runtime.ArtifactRow{{Handle: "h-" + id, SessionID: id, Content: strings.Repeat("长", 1000)}}
		r.commit(t, tx)
	}
	r.close(t)
}

func (r *rig) list(t testing.TB) []runtime.SessionInfo {
	t.Helper()
	list, err := r.Sessions(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (r *rig) names(t testing.TB) map[string]bool {
	out := map[string]bool{}
	for _, s := range r.list(t) {
		out[s.ID] = true
	}
	return out
}

// A pruned session leaves nothing behind; what is held, open as a tab, changed since or another user's stays.
func TestPruneLeavesWhatIsInUse(t *testing.T) {
	path := dbPath(t)
	filled(t, path, 3, "bygone", "tab", "elsewhere", "own", "changed", "grown", "kept")
	child := start(t, "hold", path, "elsewhere", 0)
	child.do()
	var word string
	child.read(&word)
	r := open(t, path)
	ctx := t.Context()
	if err := r.SaveTabs(ctx, "ann", runtime.Tabs{Sessions: []string{"tab", "not there"}}); err != nil {
		t.Fatal(err)
	}
	r.openSession(t, "own")
	list := r.list(t)
	row := r.openSession(t, "changed")
	tx := r.tx(row)
	tx.At = time.Now().Add(time.Hour)
	tx.Title = ptr("new")
	r.commit(t, tx)
	if err := r.ReleaseSession(ctx, "changed", row.Fence); err != nil {
		t.Fatal(err)
	}
	for i := range list { // a row of the middle of a run, which may leave updated_at behind by a second
		if list[i].ID == "grown" {
			list[i].Messages--
		}
	}
	var going []runtime.SessionInfo
	for _, s := range list {
		if s.ID != "kept" {
			going = append(going, s)
		}
	}
	going = append(going, runtime.SessionInfo{ID: "never there"})
	if n, m, err := r.Prune(ctx, "bob", going); n != 0 || m != 0 || err != nil {
		t.Errorf("another user's: %d %d %v", n, m, err)
	}
	n, m, err := r.Prune(ctx, "ann", going)
	if n != 1 || m != 3 || err != nil {
		t.Errorf("%d sessions, %d messages, %v", n, m, err)
	}
	diff(t, map[string]bool{"tab": true, "elsewhere": true, "own": true, "changed": true, "grown": true, "kept": true}, r.names(t))
	for table, rows := range dump(t, r) {
		for _, line := range rows {
			if strings.Contains(line, "bygone") {
				t.Errorf("%s still has %.100s", table, line)
			}
		}
	}
	child.end()
}

func TestPruneInPieces(t *testing.T) {
	path := dbPath(t)
	var ids []string
	for i := range 50 {
		ids = append(ids, fmt.Sprint("s", i))
	}
	filled(t, path, 1, ids...)
	commits := 0
	broken := 0
	r := open(t, path, func(c *Config) {
		c.Faults = runtime.NewFaults(func(point string) error {
			if point == "commit.before" {
				if commits++; commits == broken {
					return syscall.EIO
				}
			}
			return nil
		})
	})
	list := r.list(t)
	broken = 2
	n, m, err := r.Prune(t.Context(), "ann", list)
	var failed *CommitError
	if n != pruneSessions || m != pruneSessions || !errors.As(err, &failed) || len(r.list(t)) != 50-pruneSessions {
		t.Errorf("%d sessions, %d messages, %v, %d left", n, m, err, len(r.list(t)))
	}
	commits = 0
	broken = -1
	if n, m, err := r.Prune(t.Context(), "ann", list); n != 30 || m != 30 || err != nil || commits != 3 || len(r.list(t)) != 0 {
		t.Errorf("%d sessions, %d messages, %v, %d commits", n, m, err, commits)
	}
	// A large session is not put together with others.
	list = []runtime.SessionInfo{{ID: "a", Messages: 10}, {ID: "b", Messages: 1e6}, {ID: "c"}}
	commits = 0
	if _, _, err := r.Prune(t.Context(), "ann", list); err != nil || commits != 3 {
		t.Errorf("%d commits, %v", commits, err)
	}
}

// What was deleted is given back to the disk when nobody else has the database open; else it is said who has.
func TestShrink(t *testing.T) {
	path := dbPath(t)
	filled(t, path, 2000, "big")
	filled(t, path, 10, "small")
	before := fileSize(t, path)
	child := start(t, "hold", path, "held", 0)
	child.do()
	var word string
	child.read(&word)
	r := open(t, path)
	var big []runtime.SessionInfo
	for _, s := range r.list(t) {
		if s.ID == "big" {
			big = append(big, s)
		}
	}
	if n, m, err := r.Prune(t.Context(), "ann", big); n != 1 || m != 2000 || err != nil {
		t.Fatalf("%d %d %v", n, m, err)
	}
	got, err := r.Shrink(t.Context())
	if err != nil || got.Freed != 0 || got.Left < 2e6 || got.Why != fmt.Sprintf("process %d (store.test) has it open", child.cmd.Process.Pid) {
		t.Errorf("%+v %v", got, err)
	}
	// It still counts as one that has the database open, and goes on.
	r.say(t, r.openSession(t, "mine"), "hello")
	other := open(t, path)
	other.close(t)
	child.end()
	got, err = r.Shrink(t.Context())
	if err != nil || got.Freed < 2e6 || got.Left != 0 || got.Why != "" {
		t.Errorf("%+v %v", got, err)
	}
	if now := fileSize(t, path); now > before-2e6 || fileSize(t, path+"-wal") != 0 {
		t.Errorf("%d bytes, then %d", before, now)
	}
	if got, err = r.Shrink(t.Context()); err != nil || got != (Shrunk{}) {
		t.Errorf("nothing to give back: %+v %v", got, err)
	}
	r.say(t, r.openSession(t, "mine"), "and on")
	diff(t, map[string]bool{"small": true, "held": true, "mine": true}, r.names(t))
	checkValid(t, r)
	// Its life lock is held as before: a migration is kept out.
	life, err := openLock(filepath.Join(locksDir(r.Path()), "life"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := life.try(true); ok || err != nil {
		t.Errorf("the life lock is free: %v", err)
	}
	if err := life.close(); err != nil {
		t.Error(err)
	}
}

// Work that comes while the database is shrunk waits and is done, in order.
func TestShrinkAmongCommits(t *testing.T) {
	path := dbPath(t)
	filled(t, path, 500, "big")
	r := open(t, path)
	if err := r.DeleteSession(t.Context(), "big", "ann"); err != nil {
		t.Fatal(err)
	}
	row := r.openSession(t, "s")
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			for range 20 {
				tx := r.tx(row)
				tx.Messages = []runtime.MessageRow{user(fmt.Sprint(i))}
				if _, err := r.Commit(context.Background(), tx); err != nil {
					t.Error(err)
				}
			}
		})
		if i%4 == 0 {
			done.Go(func() {
				if _, err := r.Shrink(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	done.Wait()
	if n := len(r.texts(t, "s")); n != 160 {
		t.Errorf("%d messages", n)
	}
	checkValid(t, r)
}

// TestShrinkIsCancelled while it writes: it ends soon, and all is as before.
func TestShrinkIsCancelled(t *testing.T) {
	path, messages := dbPath(t), 4000
	if testing.Short() {
		messages = 1000
	}
	filled(t, path, messages, "big", "stays")
	r := open(t, path)
	if err := r.DeleteSession(t.Context(), "big", "ann"); err != nil {
		t.Fatal(err)
	}
	for wait := time.Millisecond; ; wait *= 2 { // until it is caught at work or done before
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		got, err := r.Shrink(ctx)
		cancel()
		if err == nil {
			if got.Left != 0 {
				t.Errorf("%+v", got)
			}
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if n := len(r.texts(t, "stays")); n != messages {
			t.Fatalf("%d messages", n)
		}
		r.say(t, r.openSession(t, "goes on"), "hello")
	}
	checkValid(t, r)
}

func TestShrinkWhichCannotBe(t *testing.T) {
	path := dbPath(t)
	filled(t, path, 500, "big")
	r := open(t, path, func(c *Config) { c.LockWait = 20 * time.Millisecond })
	if err := r.DeleteSession(t.Context(), "big", "ann"); err != nil {
		t.Fatal(err)
	}
	why := func(want string) {
		t.Helper()
		if got, err := r.Shrink(t.Context()); err != nil || got.Why != want || got.Left == 0 || got.Freed != 0 {
			t.Errorf("%+v %v, want %q", got, err, want)
		}
	}
	lock, err := openLock(filepath.Join(locksDir(r.Path()), "open"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := lock.try(true); !ok || err != nil {
		t.Fatal(ok, err)
	}
	why("another process is opening it")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.shrink(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := lock.close(); err != nil {
		t.Fatal(err)
	}
	// A second store of this process has its own life lock, and no pid of another.
	other := open(t, path)
	why("another process has it open")
	other.close(t)
	gate, err := openTurnstile(locksDir(r.Path()))
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.acquire(t.Context(), clock.Real(), time.Second); err != nil {
		t.Fatal(err)
	}
	why("another program has it locked")
	if err := errors.Join(gate.release(), gate.close()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.shrink(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, err := r.Shrink(t.Context()); err != nil || got.Left != 0 {
		t.Errorf("%+v %v", got, err)
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	var gone *FileGoneError
	if _, err := r.Shrink(t.Context()); !errors.As(err, &gone) {
		t.Error(err)
	}
	if err := os.Rename(path+".moved", path); err != nil {
		t.Fatal(err)
	}
	r.close(t)
	if _, err := r.Shrink(t.Context()); !errors.Is(err, runtime.ErrClosed) {
		t.Error(err)
	}
}
