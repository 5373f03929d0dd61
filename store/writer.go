package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"sync/atomic"

	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

const (
	// queueBound is how many jobs may wait; callers beyond it wait themselves.
	queueBound = 1024
	// batchBound is how many jobs share a transaction.
	batchBound = 256
	// unknownBound is how many transactions of unknown outcome are remembered. Beyond it their events are only in the store.
	unknownBound = 4096
)

// Where a job stands. A caller may leave with its job only while that is waiting; once it was taken the outcome is awaited.
const (
	jobWaiting = iota
	jobTaken
	jobLeft
)

// job is one change, run in a savepoint of its own unless it is the only one of its transaction.
type job struct {
	run func(t *txn) error
	// alone, if set, is run in place of run, between two transactions.
	alone func() error
	state atomic.Int32
	done  *clock.Latch // nil when its caller runs it
	// err and events are the writer's until done is open.
	err    error
	events []trace.Event
	broken *any // what run panicked with
	// wrote is the id of a Tx that this job applied, asked the one that it looked for.
	wrote, asked string
}

// do runs a change as one of the writer's jobs and waits for its commit.
func (s *Store) do(ctx context.Context, run func(t *txn) error) error {
	return s.submit(ctx, &job{run: run})
}

func (s *Store) submit(ctx context.Context, j *job) error {
	if s.writeNow(ctx, j) {
		return j.outcome()
	}
	j.done = clock.NewLatch(s.cfg.Clock)
	if err := s.queue.Put(ctx, j); err != nil {
		if errors.Is(err, clock.ErrClosed) {
			return runtime.ErrClosed
		}
		return err
	}
	if err := j.done.Wait(ctx); err != nil {
		if j.state.CompareAndSwap(jobWaiting, jobLeft) {
			return err
		}
		if err := j.done.Wait(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return j.outcome()
}

// outcome is what the caller of a job gets.
func (j *job) outcome() error {
	if j.broken != nil {
		panic(*j.broken)
	}
	return j.err
}

// writeNow runs j at once, in its caller's goroutine, when nobody writes and nothing waits: two hand-overs between goroutines would
// take as long as the statements. It says no when j has to wait for its turn.
func (s *Store) writeNow(ctx context.Context, j *job) bool {
	if ctx.Err() != nil || s.queue.Len() > 0 {
		return false
	}
	if _, free := s.turn.TryGet(); !free {
		return false
	}
	defer s.turn.TryPut(struct{}{})
	if s.closing.Load() {
		return false
	}
	s.runBatch(take(nil, j))
	return true
}

// writeAll is the writer goroutine: it runs the jobs that had to wait.
func (s *Store) writeAll() {
	for {
		j, err := s.queue.Get(context.Background())
		// Whoever gives the turn back gives it to this goroutine before anybody else can take it.
		if _, turnErr := s.turn.Get(context.Background()); err != nil || turnErr != nil {
			break // which keeps the turn: nobody writes any more
		}
		batch := take(nil, j)
		for len(batch) < batchBound {
			j, ok := s.queue.TryGet()
			if !ok {
				break
			}
			batch = take(batch, j)
		}
		s.runBatch(batch)
		s.turn.TryPut(struct{}{})
	}
	if err := s.shut(); err != nil {
		s.notice("closing the database %s: %v", s.path, err)
	}
}

// take adds j to the batch unless its caller has left.
func take(batch []*job, j *job) []*job {
	if j.state.CompareAndSwap(jobWaiting, jobTaken) {
		return append(batch, j)
	}
	return batch
}

// runBatch runs the jobs in one transaction, publishes and answers. Those that are to run alone divide it.
func (s *Store) runBatch(batch []*job) {
	if i := slices.IndexFunc(batch, func(j *job) bool { return j.alone != nil }); i >= 0 {
		s.runBatch(batch[:i])
		batch[i].err = batch[i].alone()
		batch[i].answer()
		s.runBatch(batch[i+1:])
		return
	}
	if len(batch) == 0 {
		return
	}
	err := s.commitBatch(context.Background(), batch)
	if err != nil {
		err = commitError(s.path, err)
		for _, j := range batch {
			j.err, j.events = err, nil
			if j.wrote != "" && len(s.unknown) < unknownBound {
				s.unknown[j.wrote] = true
			}
		}
	} else {
		s.announce(batch)
	}
	for _, j := range batch {
		j.answer()
	}
}

// answer lets the caller go on that waits for the job, if it does.
func (j *job) answer() {
	if j.done != nil {
		j.done.Open()
	}
}

// announce publishes what the jobs did. A fault here is not the commit's: what is stored is stored.
func (s *Store) announce(batch []*job) {
	var events []trace.Event
	for _, j := range batch {
		delete(s.unknown, j.asked)
		if j.err == nil {
			events = append(events, j.events...)
		}
	}
	if len(events) == 0 {
		return
	}
	if err := s.cfg.Faults.Hit("publish.before"); err != nil {
		s.notice("events were stored and not shown: %v", err)
		return
	}
	s.publish(events)
	if err := s.cfg.Faults.Hit("publish.after"); err != nil {
		s.notice("after showing events: %v", err)
	}
}

// commitBatch brings the batch to the disk. An error means that the outcome of all of it is unknown.
func (s *Store) commitBatch(ctx context.Context, batch []*job) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if err := s.files.gate.acquire(ctx, s.cfg.Clock, s.cfg.LockWait); err != nil {
		return err
	}
	err := s.transact(ctx, batch)
	err = errors.Join(err, s.files.gate.release())
	if err != nil && causeOf(err) != CauseFileGone {
		s.reconnect(ctx)
	}
	return err
}

// ready makes sure that there are connections, to the file that stands at the path. A file that is gone is reported once;
// the call after that saves what this process holds into a new one.
func (s *Store) ready(ctx context.Context) error {
	if s.conns == nil {
		if s.reconnect(ctx); s.conns == nil {
			return s.lost
		}
	}
	err := s.conns.check()
	var gone *FileGoneError
	switch {
	case err == nil:
		s.gone = false
		return nil
	case !errors.As(err, &gone):
		return err
	case !s.gone:
		s.gone = true
		return err
	}
	return s.rescue(ctx, gone)
}

// transact runs the jobs between BEGIN and COMMIT.
func (s *Store) transact(ctx context.Context, batch []*job) error {
	if len(s.heads) > headBound {
		clear(s.heads)
	}
	return s.conns.write.Raw(func(c any) error {
		t := &txn{ctx: ctx, conn: c.(driver.Conn), stmts: s.conns.stmts, heads: s.heads, args: s.args}
		err := s.transactOn(t, batch)
		if err != nil || slices.ContainsFunc(batch, func(j *job) bool { return j.err != nil }) {
			clear(s.heads) // some tell of changes that are not in, or perhaps not
		}
		s.args = t.args[:0]
		clear(s.args[:cap(s.args)]) // else it would hold on to texts
		return err
	})
}

func (s *Store) transactOn(t *txn, batch []*job) error {
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	run := t.run
	if len(batch) == 1 {
		run = t.runAlone
	}
	for _, j := range batch {
		t.job = j
		j.err, j.events, j.wrote = nil, nil, ""
		if err := run(); err != nil {
			return errors.Join(err, t.rollback())
		}
	}
	if len(batch) == 1 && batch[0].err != nil {
		return t.rollback() // refused, and nothing else is in it
	}
	if err := s.cfg.Faults.Hit("commit.before"); err != nil {
		return errors.Join(err, t.rollback())
	}
	if _, err := t.exec("COMMIT"); err != nil {
		return errors.Join(err, t.rollback())
	}
	return s.cfg.Faults.Hit("commit.after")
}

// reconnect opens the connections anew after a failure, so that nothing of the failed transaction lingers in them. When that
// fails too there are none, and the next transaction tries again. Connections to a file that is gone from its path are kept:
// what they can still read is to be saved.
func (s *Store) reconnect(ctx context.Context) {
	var gone *FileGoneError
	if s.conns != nil && errors.As(s.conns.check(), &gone) {
		return
	}
	if s.conns != nil {
		s.last = s.conns
	}
	closing := s.swap(nil, errReconnecting).close()
	// Nothing is opened that is not the file of before: its log, if it still lies there, would go into a strange database.
	err := s.last.check()
	var c *conns
	if err == nil {
		c, err = openConns(ctx, s.path, s.cfg.LockWait)
	}
	if err == nil {
		if err = errors.Join(s.sameDatabase(ctx, c), c.warm(ctx)); err != nil {
			err = errors.Join(err, c.close())
			c = nil
		}
	}
	if err != nil {
		err = commitError(s.path, errors.Join(err, closing))
	}
	s.swap(c, err)
}

// errReconnecting is what readers get for the moment in which there are no connections.
var errReconnecting = errors.New("the database is being opened anew")

// swap puts new connections, or why there are none, in the place of the old ones, which it returns.
func (s *Store) swap(c *conns, lost error) *conns {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.conns
	s.conns, s.lost = c, lost
	return old
}

// sameDatabase says whether c leads to the database that was opened first.
func (s *Store) sameDatabase(ctx context.Context, c *conns) error {
	id, err := getMeta(ctx, c.write, metaID)
	if err == nil && id != s.dbID {
		err = &FileGoneError{Path: s.path, Replaced: true}
	}
	return err
}
