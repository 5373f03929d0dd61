package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

// faults fails at a point while it is told to.
type faults struct {
	point atomic.Value // string
	err   atomic.Value // error
	left  atomic.Int64
}

func (f *faults) set(point string, err error, times int64) {
	f.point.Store(point)
	f.err.Store(err)
	f.left.Store(times)
}

func (f *faults) hit(point string) error {
	if p, _ := f.point.Load().(string); p != point || f.left.Add(-1) < 0 {
		return nil
	}
	err, _ := f.err.Load().(error)
	return err
}

func withFaults(f *faults) func(*Config) {
	return func(c *Config) { c.Faults = runtime.NewFaults(f.hit) }
}

func wantCause(t *testing.T, err error, cause Cause) *CommitError {
	t.Helper()
	var ce *CommitError
	if !errors.As(err, &ce) {
		t.Fatalf("got %v, want a commit error", err)
	}
	if ce.Cause != cause {
		t.Errorf("cause %q, want %q (%v)", ce.Cause, cause, err)
	}
	return ce
}

func TestFailedCommitIsRetried(t *testing.T) {
	for _, c := range []struct {
		name, point string
		err         error
		cause       Cause
		in          bool // the transaction turns out to be in
	}{
		{"disk full before", "commit.before", syscall.ENOSPC, CauseDiskFull, false},
		{"input/output before", "commit.before", syscall.EIO, CauseIO, false},
		{"input/output after", "commit.after", syscall.EIO, CauseIO, true},
		{"disk full after", "commit.after", syscall.ENOSPC, CauseDiskFull, true},
		{"something after", "commit.after", errors.New("no idea"), CauseOther, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &faults{}
			r := open(t, dbPath(t), withFaults(f))
			row := r.openSession(t, "s1")
			r.say(t, row, "one")
			tx := r.tx(row)
			tx.NewTurn = true
			tx.Messages = []runtime.MessageRow{user("two")}
			tx.Events = []trace.Event{{Data: trace.RunStartData{Input: "two"}}, {Data: trace.AnswerData{Text: "x"}}}

			const failures = 3
			f.set(c.point, c.err, failures)
			_, err := r.Commit(t.Context(), tx)
			ce := wantCause(t, err, c.cause)
			if !errors.Is(err, c.err) || !strings.Contains(ce.Error(), r.Path()) {
				t.Errorf("the error hides something: %v", err)
			}
			if n := len(r.published()); n != 1 {
				t.Errorf("%d events published, want the first one only", n)
			}
			// The disk stays bad for a while: whoever asks hears so, again and again.
			for range failures - 1 {
				_, _, err := r.Applied(t.Context(), "s1", tx.ID)
				wantCause(t, err, c.cause)
			}
			got, in, err := r.Applied(t.Context(), "s1", tx.ID)
			if err != nil || in != c.in {
				t.Fatalf("applied %v, %v, want %v", in, err, c.in)
			}
			want := runtime.Committed{FirstN: 2, LastN: 2, FirstSeq: 2, Turn: 2}
			if !in {
				got = r.commit(t, tx)
			}
			diff(t, want, got)
			diff(t, want, r.commit(t, tx)) // once more changes nothing
			diff(t, []string{"one", "two"}, r.texts(t, "s1"))
			stored, err := r.Events(t.Context(), "s1", "", 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, stored, r.published())
		})
	}
}

// A commit that failed and is in answers a second Commit as it would have answered the first, and publishes then.
func TestCommitAgainPublishesWhatWasMissed(t *testing.T) {
	f := &faults{}
	r := open(t, dbPath(t), withFaults(f))
	row := r.openSession(t, "s1")
	tx := r.tx(row)
	tx.Events = []trace.Event{{Data: trace.TodoData{ID: "t"}}}
	f.set("commit.after", syscall.EIO, 1)
	_, err := r.Commit(t.Context(), tx)
	wantCause(t, err, CauseIO)
	diff(t, runtime.Committed{FirstSeq: 1}, r.commit(t, tx))
	if n := len(r.published()); n != 1 {
		t.Errorf("published %d events, want 1", n)
	}
}

func TestAppliedRemembersSixteen(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s1")
	for i := range 40 {
		tx := r.tx(row)
		tx.ID = fmt.Sprint("t", i)
		r.commit(t, tx)
	}
	for i := range 40 {
		_, in, err := r.Applied(t.Context(), "s1", fmt.Sprint("t", i))
		if err != nil || in != (i >= 40-recentBound) {
			t.Errorf("applied t%d: %v, %v", i, in, err)
		}
	}
}

func TestFaultsAtPublication(t *testing.T) {
	f := &faults{}
	r := open(t, dbPath(t), withFaults(f))
	row := r.openSession(t, "s1")
	f.set("publish.before", syscall.EIO, 1)
	r.say(t, row, "stored, not shown")
	f.set("publish.after", syscall.EIO, 1)
	r.say(t, row, "stored and shown")
	if n := len(r.published()); n != 1 {
		t.Errorf("published %d events, want 1", n)
	}
	if n := len(r.noticed()); n != 2 {
		t.Errorf("notices: %q", r.noticed())
	}
	diff(t, []string{"stored, not shown", "stored and shown"}, r.texts(t, "s1"))
}

// A real full disk: the database may not grow any more. The failure is SQLite's own.
func TestDiskFullInsideSQLite(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s1")
	r.say(t, row, "one")
	exec(t, r, "PRAGMA max_page_count = 1")
	tx := r.tx(row)
	tx.Messages = []runtime.MessageRow{user(strings.Repeat("x", 1<<20))}
	_, err := r.Commit(t.Context(), tx)
	wantCause(t, err, CauseDiskFull)
	// The connection was opened anew, and with it the limit is gone: space came back.
	if _, in, err := r.Applied(t.Context(), "s1", tx.ID); err != nil || in {
		t.Errorf("applied: %v, %v", in, err)
	}
	r.commit(t, tx)
	if got := r.texts(t, "s1"); len(got) != 2 || len(got[1]) != 1<<20 {
		t.Errorf("%d messages", len(got))
	}
}

// While there are no connections reads fail, writes fail with their cause, and all is well again when the file is.
func TestReconnectFailsAndRecovers(t *testing.T) {
	f := &faults{}
	path := dbPath(t)
	r := open(t, path, withFaults(f))
	row := r.openSession(t, "s1")
	away := path + ".away"
	f.set("commit.before", syscall.EIO, 1)
	tx := r.tx(row)
	hook := func(tx *txn) error { return os.Rename(path, away) }
	if err := r.do(t.Context(), hook); err == nil {
		t.Fatal("no error from a failing commit")
	}
	// The file is away and the commit failed: the connections were kept, for what they can still read.
	if r.conns == nil {
		t.Fatal("the connections to the moved file were dropped")
	}
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	r.commit(t, tx)

	// Now they are lost for real.
	r.last = r.conns
	if err := r.swap(nil, errReconnecting).close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Todos(t.Context(), "s1"); !errors.Is(err, errReconnecting) {
		t.Errorf("read without connections: %v", err)
	}
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	_, err := r.Commit(t.Context(), r.tx(row))
	wantCause(t, err, CauseFileGone)
	if err := copyFile(filepath.Join(filepath.Dir(path), "other.db"), path, func(to string) error {
		other, err := tryOpen(to)
		if err != nil {
			return err
		}
		return other.Close(context.Background())
	}); err != nil {
		t.Fatal(err)
	}
	_, err = r.Commit(t.Context(), r.tx(row))
	wantCause(t, err, CauseFileGone)
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	r.say(t, row, "back")
	diff(t, []string{"back"}, r.texts(t, "s1"))
}

// copyFile makes a file with made and copies it to path.
func copyFile(from, to string, made func(string) error) error {
	if err := made(from); err != nil {
		return err
	}
	body, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, body, 0o600)
}

// One refused job in a batch takes nothing else with it, and the batch is one transaction.
func TestBatchIsolatesRefusals(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s1")
	c := clock.Real()
	gate, held := clock.NewLatch(c), clock.NewLatch(c)
	g := clock.NewGroup(c)
	g.Go(func() {
		err := r.do(context.Background(), func(*txn) error {
			held.Open()
			return gate.Wait(context.Background())
		})
		if err != nil {
			t.Error(err)
		}
	})
	if err := held.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	const jobs = 100
	var refusedCount atomic.Int64
	for i := range jobs {
		g.Go(func() {
			tx := runtime.Tx{ID: fmt.Sprint("b", i), SessionID: "s1", Fence: row.Fence, Messages: []runtime.MessageRow{user(fmt.Sprint(i))}}
			if i%10 == 3 {
				tx.InboxRemove = []string{"not there"}
			}
			_, err := r.Commit(context.Background(), tx)
			if i%10 == 3 {
				if !errors.Is(err, runtime.ErrConstraint) || !errors.Is(err, runtime.ErrNotFound) {
					t.Errorf("job %d: %v", i, err)
				}
				refusedCount.Add(1)
			} else if err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
	}
	for r.queue.Len() < jobs-1 { // one is in the hand of the writer goroutine, which waits for its turn
		goruntime.Gosched()
	}
	gate.Open()
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(r.texts(t, "s1")); got != jobs-10 || refusedCount.Load() != 10 {
		t.Errorf("%d messages, %d refused", got, refusedCount.Load())
	}
	rows, err := r.Messages(t.Context(), "s1", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range rows {
		if m.N != int64(i+1) {
			t.Fatalf("message %d has number %d", i, m.N)
		}
	}
}

// A caller can leave while its job waits, not once it was taken.
func TestCancelBeforeAndAfterTaken(t *testing.T) {
	sim := clock.NewSim(at(0))
	path := dbPath(t)
	sim.Run(func() {
		r, err := tryOpen(path, func(c *Config) { c.Clock = sim })
		if err != nil {
			t.Error(err)
			return
		}
		row, err := r.OpenSession(context.Background(), "s1", "ann", true)
		if err != nil {
			t.Error(err)
			return
		}
		taken, gate := clock.NewLatch(sim), clock.NewLatch(sim)
		g := clock.NewGroup(sim)
		takenCtx, cancelTaken := sim.WithCancel(context.Background())
		g.Go(func() {
			err := r.do(takenCtx, func(t *txn) error {
				taken.Open()
				if err := gate.Wait(context.Background()); err != nil {
					return err
				}
				_, err := t.exec("UPDATE sessions SET title = 'taken'")
				return err
			})
			if err != nil {
				t.Errorf("a job that was taken: %v", err)
			}
		})
		if err := taken.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		waitCtx, cancelWaiting := sim.WithCancel(context.Background())
		g.Go(func() {
			tx := runtime.Tx{ID: "never", SessionID: "s1", Fence: row.Fence, Messages: []runtime.MessageRow{user("never")}}
			if _, err := r.Commit(waitCtx, tx); !errors.Is(err, context.Canceled) {
				t.Errorf("a job that waited: %v", err)
			}
		})
		if err := sim.Sleep(context.Background(), time.Millisecond); err != nil { // behind which it waits
			t.Error(err)
			return
		}
		cancelTaken()
		cancelWaiting()
		if err := sim.Sleep(context.Background(), time.Second); err != nil {
			t.Error(err)
		}
		gate.Open()
		if err := g.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		if rows, err := r.Window(context.Background(), "s1"); err != nil || len(rows) != 0 {
			t.Errorf("window %v, %v", rows, err)
		}
		if list, err := r.Sessions(context.Background(), "ann"); err != nil || list[0].Title != "taken" {
			t.Errorf("sessions %v, %v", list, err)
		}
		full, cancelFull := sim.WithCancel(context.Background())
		cancelFull()
		for range queueBound {
			r.queue.TryPut(&job{run: func(*txn) error { return nil }, done: clock.NewLatch(sim)})
		}
		if err := r.do(full, func(*txn) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a full queue and a done context: %v", err)
		}
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// The store under the simulated clock: the same seed of events gives the same order, twice.
func TestSimulatedCommitsAreDeterministic(t *testing.T) {
	play := func() (out []string) {
		sim := clock.NewSim(at(0))
		sim.Run(func() {
			r, err := tryOpen(dbPath(t), func(c *Config) { c.Clock, c.NewID = sim, ids("id") })
			if err != nil {
				t.Error(err)
				return
			}
			g := clock.NewGroup(sim)
			for s := range 5 {
				g.Go(func() {
					id := fmt.Sprint("s", s)
					row, err := r.OpenSession(context.Background(), id, "ann", true)
					if err != nil {
						t.Error(err)
						return
					}
					for i := range 10 {
						tx := runtime.Tx{ID: fmt.Sprint(id, "-", i), SessionID: id, Fence: row.Fence, NewTurn: true,
							Messages: []runtime.MessageRow{user(fmt.Sprint(i))}, Events: []trace.Event{{Data: trace.RunStartData{Input: fmt.Sprint(i)}}}}
						if _, err := r.Commit(context.Background(), tx); err != nil {
							t.Error(err)
							return
						}
						if err := sim.Sleep(context.Background(), time.Duration((s*7+i*3)%5)*time.Millisecond); err != nil {
							t.Error(err)
						}
					}
				})
			}
			if err := g.Wait(context.Background()); err != nil {
				t.Error(err)
			}
			for _, e := range r.published() {
				out = append(out, fmt.Sprintf("%s %d %v %v", e.SessionID, e.Seq, e.TS, e.Data))
			}
			if err := r.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return out
	}
	first := play()
	if len(first) != 50 {
		t.Errorf("%d events", len(first))
	}
	diff(t, first, play())
}

// Two stores on one file in one process: locks are per open file, so they exclude each other as processes do, also under the
// simulated clock, where a wait in the kernel would stop the world.
func TestTwoStoresUnderTheSimulatedClock(t *testing.T) {
	sim := clock.NewSim(at(0))
	path := dbPath(t)
	sim.Run(func() {
		ctx := context.Background()
		g := clock.NewGroup(sim)
		var stores []*rig
		for range 2 {
			r, err := tryOpen(path, func(c *Config) { c.Clock = sim })
			if err != nil {
				t.Error(err)
				return
			}
			stores = append(stores, r)
		}
		for i, r := range stores {
			g.Go(func() {
				id := fmt.Sprint("s", i)
				row, err := r.OpenSession(ctx, id, "ann", true)
				if err != nil {
					t.Error(err)
					return
				}
				for n := range 20 {
					err := r.do(ctx, func(*txn) error { return sim.Sleep(ctx, time.Millisecond) }) // keeps the lock for a while
					if err != nil {
						t.Error(err)
					}
					tx := runtime.Tx{ID: fmt.Sprint(n), SessionID: id, Fence: row.Fence, Messages: []runtime.MessageRow{user("x")}}
					if c, err := r.Commit(ctx, tx); err != nil || c.FirstN != int64(n+1) {
						t.Errorf("commit %d: %+v, %v", n, c, err)
					}
				}
			})
		}
		if err := g.Wait(ctx); err != nil {
			t.Error(err)
		}
		for _, r := range stores {
			if err := r.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// A lock that never comes free ends in a commit error after its time, and the commit after that works.
func TestBusyLockEnds(t *testing.T) {
	for _, which := range []string{"turn", "write"} {
		t.Run(which, func(t *testing.T) {
			sim := clock.NewSim(at(0))
			path := dbPath(t)
			sim.Run(func() {
				ctx := context.Background()
				r, err := tryOpen(path, func(c *Config) { c.Clock = sim })
				if err != nil {
					t.Error(err)
					return
				}
				row, err := r.OpenSession(ctx, "s1", "ann", true)
				if err != nil {
					t.Error(err)
					return
				}
				lock, err := openLock(filepath.Join(locksDir(path), which))
				if err != nil {
					t.Error(err)
					return
				}
				if ok, err := lock.try(true); err != nil || !ok {
					t.Errorf("lock: %v, %v", ok, err)
				}
				start := sim.Now()
				_, err = r.Commit(ctx, runtime.Tx{ID: "a", SessionID: "s1", Fence: row.Fence})
				wantCause(t, err, CauseBusy)
				if d := sim.Now().Sub(start); d < 5*time.Second || d > 6*time.Second {
					t.Errorf("waited %v", d)
				}
				if err := lock.close(); err != nil {
					t.Error(err)
				}
				if _, err := r.Commit(ctx, runtime.Tx{ID: "a", SessionID: "s1", Fence: row.Fence}); err != nil {
					t.Error(err)
				}
				if err := r.Close(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestCausesOfCodes(t *testing.T) {
	for err, want := range map[error]Cause{
		syscall.ENOSPC:                     CauseDiskFull,
		syscall.EDQUOT:                     CauseDiskFull,
		syscall.EROFS:                      CauseReadOnly,
		os.ErrPermission:                   CauseReadOnly,
		syscall.EIO:                        CauseIO,
		os.ErrNotExist:                     CauseIO,
		errLockBusy:                        CauseBusy,
		context.DeadlineExceeded:           CauseBusy,
		&FileGoneError{Path: "x"}:          CauseFileGone,
		io.EOF:                             CauseOther,
		fmt.Errorf("x: %w", syscall.EROFS): CauseReadOnly,
	} {
		if got := causeOf(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
