package clock

import (
	"context"
	"maps"
	"slices"
	"time"
)

// simCtx is a context of the simulated clock. It hands out a cancel context of package context (embedded), so that
// contexts derived from it and context.Cause behave as ever; what it adds is that the clock knows who waits with it, and
// makes them ready before Done closes.
type simCtx struct {
	context.Context                    // derived from source
	stop            context.CancelFunc // of that one
	s               *Sim
	source          *source
	deadline        time.Time // in simulated time; zero is none
	timer           *simTimer
	dependants      map[int64]dependant // waits and child contexts, by age
	leave           func()              // takes it off its parent
}

// dependant is what hangs on a context: a wait or a child.
type dependant struct {
	wake  func() // for a wait
	child *simCtx
}

// simKey is the key under which a simCtx finds itself through wrappers.
type simKey struct{ s *Sim }

func (c *simCtx) Value(key any) any {
	if key == (simKey{c.s}) {
		return c
	}
	return c.Context.Value(key)
}

// String names it: the default format would read fields that change.
func (c *simCtx) String() string { return "clock.Sim context" }

// source stands between a simCtx and its parent: it ends when the clock says so and not when the parent does, and passes
// values on. Package context hooks the derived context up through AfterFunc, which it looks for, and so learns of the end
// within the call that causes it, with the right error.
type source struct {
	values   context.Context
	deadline time.Time
	done     chan struct{}
	err      error // set before done closes
	then     func()
}

func (s *source) Value(key any) any     { return s.values.Value(key) }
func (s *source) Done() <-chan struct{} { return s.done }

func (s *source) Deadline() (time.Time, bool) {
	if !s.deadline.IsZero() {
		return s.deadline, true
	}
	return s.values.Deadline()
}

func (s *source) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// AfterFunc is called once, by context.WithCancel in newContext.
func (s *source) AfterFunc(f func()) func() bool {
	s.then = f
	return func() bool { return false }
}

func (s *source) end(err error) {
	if s.Err() != nil {
		return
	}
	s.err = err
	close(s.done)
	s.then()
}

// WithCancel is context.WithCancel for waits in this package.
func (s *Sim) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	return s.newContext(parent, time.Time{})
}

// WithTimeout is context.WithTimeout in simulated time.
func (s *Sim) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return s.newContext(parent, s.Now().Add(d))
}

func (s *Sim) newContext(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	above, foreign := s.find(parent)
	if above != nil && !above.deadline.IsZero() && (deadline.IsZero() || above.deadline.Before(deadline)) {
		deadline = above.deadline
	}
	src := &source{values: parent, deadline: deadline, done: make(chan struct{})}
	std, stop := context.WithCancel(src)
	c := &simCtx{Context: std, stop: stop, s: s, source: src, deadline: deadline, dependants: map[int64]dependant{}}

	s.mu.Lock()
	defer s.mu.Unlock()
	cancel := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.cancel(context.Canceled)
	}
	if err := parent.Err(); err != nil {
		c.cancel(err)
		return c, cancel
	}
	s.seq++
	id := s.seq
	switch {
	case above != nil:
		above.dependants[id] = dependant{child: c}
		c.leave = func() { delete(above.dependants, id) }
	case foreign:
		unwatch := s.watch(parent, id, func() { c.cancel(parent.Err()) })
		// A participant may be in a library call that waits for Done: that cannot wait until all are idle.
		stop := context.AfterFunc(parent, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, x := range c.tree(nil) {
				x.close(parent.Err())
			}
		})
		c.leave = func() { stop(); unwatch() }
	}
	// A timer of its own is needed only when the one above does not fire first.
	if !deadline.IsZero() && (above == nil || !deadline.Equal(above.deadline)) {
		if d := deadline.Sub(s.now); d > 0 {
			c.timer = s.schedule(d, func() { c.cancel(context.DeadlineExceeded) })
		} else {
			c.cancel(context.DeadlineExceeded)
		}
	}
	return c, cancel
}

// cancel makes all who wait ready, oldest first, here and then in the contexts below, and after that closes Done of all.
// The clock's mutex is held.
func (c *simCtx) cancel(err error) {
	all := c.tree(nil)
	for _, x := range all {
		x.release()
	}
	for _, x := range all {
		x.close(err)
	}
}

// tree appends c and the contexts below it, parents first.
func (c *simCtx) tree(all []*simCtx) []*simCtx {
	all = append(all, c)
	for _, d := range inOrder(c.dependants) {
		if d.child != nil {
			all = d.child.tree(all)
		}
	}
	return all
}

// release takes c off its parent and its timer, and makes ready who waits.
func (c *simCtx) release() {
	if c.leave != nil {
		c.leave()
		c.leave = nil
	}
	if c.timer != nil {
		c.timer.stopLocked()
	}
	for _, d := range inOrder(c.dependants) {
		if d.wake != nil {
			d.wake()
		}
	}
}

func (c *simCtx) close(err error) {
	c.source.end(err)
	c.stop()
}

// find gives the context of this clock that ends together with ctx, or reports that ctx can end but is none of ours.
func (s *Sim) find(ctx context.Context) (own *simCtx, foreign bool) {
	done := ctx.Done()
	if done == nil {
		return nil, false
	}
	if c, ok := ctx.Value(simKey{s}).(*simCtx); ok && c.Done() == done {
		return c, false
	}
	return nil, true
}

// foreignGroup is what hangs on contexts of package context that share one Done.
type foreignGroup struct {
	ctx     context.Context
	members map[int64]func()
}

// watch has f called, with the mutex held, once the driver sees that ctx is done; what it returns takes that back.
func (s *Sim) watch(ctx context.Context, id int64, f func()) (unwatch func()) {
	key := ctx.Done()
	g := s.foreign[key]
	if g == nil {
		g = &foreignGroup{ctx: ctx, members: map[int64]func(){}}
		s.foreign[key] = g
	}
	g.members[id] = f
	return func() {
		delete(g.members, id)
		if len(g.members) == 0 && s.foreign[key] == g {
			delete(s.foreign, key)
		}
	}
}

// pollForeign cancels what hangs on foreign contexts that are done, oldest first. The driver does it when nobody is ready
// and not as it happens, so that the order does not depend on the scheduler. It reports whether there was any.
func (s *Sim) pollForeign() bool {
	due := map[int64]func(){}
	for _, g := range s.foreign {
		if g.ctx.Err() != nil {
			maps.Copy(due, g.members)
		}
	}
	for _, f := range inOrder(due) {
		f()
	}
	return len(due) > 0
}

// inOrder gives the values of m by age.
func inOrder[V any](m map[int64]V) []V {
	values := make([]V, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[id])
	}
	return values
}
