package clock

import (
	"context"
	"sync"
	"time"
)

// Latch is a fact that comes true once; any number of goroutines may wait for it.
type Latch struct {
	clock Clock

	mu      sync.Mutex
	open    bool
	waiters list[parker]
}

// NewLatch makes a closed latch.
func NewLatch(c Clock) *Latch { return &Latch{clock: c} }

// Open opens the latch and lets all who wait go on, in the order in which they came. Opening twice does nothing.
func (l *Latch) Open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = true
	wakeAll(&l.waiters)
}

// IsOpen reports whether Open was called.
func (l *Latch) IsOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Wait waits until the latch is open or ctx is done, whose cause it then returns. An open latch wins over a done context.
func (l *Latch) Wait(ctx context.Context) error {
	return wait(ctx, l.clock, "latch", &l.mu, &l.waiters, func() bool { return l.open })
}

// Group counts goroutines so that they can be joined. It may be used again after it was empty.
type Group struct {
	clock Clock

	mu      sync.Mutex
	n       int
	waiters list[parker]
}

// NewGroup makes an empty group.
func NewGroup(c Clock) *Group { return &Group{clock: c} }

// Go starts f as a participant that Wait waits for.
func (g *Group) Go(f func()) {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
	g.clock.Go(func() {
		defer g.leave()
		f()
	})
}

func (g *Group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.n == 0 {
		wakeAll(&g.waiters)
	}
}

// Wait waits until the group is empty or ctx is done, whose cause it then returns. An empty group wins over a done context.
func (g *Group) Wait(ctx context.Context) error {
	return wait(ctx, g.clock, "group", &g.mu, &g.waiters, func() bool { return g.n == 0 })
}

// wait parks in l until woken; whoever makes holds true wakes all of l under mu.
func wait(ctx context.Context, c Clock, what string, mu *sync.Mutex, l *list[parker], holds func() bool) error {
	mu.Lock()
	if holds() {
		mu.Unlock()
		return nil
	}
	p := c.newParker(what, time.Time{})
	l.push(p)
	mu.Unlock()

	err := p.park(ctx)
	if err == nil {
		return nil
	}
	mu.Lock()
	defer mu.Unlock()
	if holds() {
		return nil
	}
	l.remove(p)
	return err
}

func wakeAll(l *list[parker]) {
	for p, ok := l.pop(); ok; p, ok = l.pop() {
		p.wake()
	}
}
