package clock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Queue hands values from producers to consumers, first in, first out. Values go to waiting consumers, and room to waiting
// producers, in the order in which they began to wait. A value that was handed over is never lost: a Get whose context
// ends at that moment still returns it.
type Queue[T any] struct {
	clock Clock

	mu      sync.Mutex
	buf     []T // a ring of n values from head; it grows up to bound
	head, n int
	bound   int
	closed  bool
	getters list[*waiter[T]] // empty unless the ring is empty
	putters list[*waiter[T]] // empty unless the ring is full
}

// waiter is one Get or Put that waits. Its fields are guarded by the queue's mutex.
type waiter[T any] struct {
	parker parker
	value  T
	state  waitState
}

type waitState int

const (
	waits  waitState = iota
	served           // the value was handed over
	closed           // the queue closed instead
)

// NewQueue makes a queue that holds up to bound values; bound must be at least 1.
func NewQueue[T any](c Clock, bound int) *Queue[T] {
	if bound < 1 {
		panic(fmt.Sprintf("clock: a queue needs a bound of at least 1, not %d", bound))
	}
	return &Queue[T]{clock: c, bound: bound}
}

// Put adds v, waiting while the queue is full. It returns ErrClosed when the queue is or gets closed and the cause of ctx
// when that is or gets done; v is then not in the queue.
func (q *Queue[T]) Put(ctx context.Context, v T) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	if q.offer(v) {
		q.mu.Unlock()
		return nil
	}
	w := &waiter[T]{parker: q.clock.newParker("queue put", time.Time{}), value: v}
	q.putters.push(w)
	q.mu.Unlock()

	err := w.parker.park(ctx)

	q.mu.Lock()
	defer q.mu.Unlock()
	switch w.state {
	case served:
		return nil
	case closed:
		return ErrClosed
	}
	q.putters.remove(w)
	return err
}

// TryPut adds v if there is room at once. It reports false when the queue is full or closed.
func (q *Queue[T]) TryPut(v T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed && q.offer(v)
}

// Get takes the oldest value, waiting while there is none. It returns ErrClosed when the queue is closed and drained and
// the cause of ctx when that is or gets done.
func (q *Queue[T]) Get(ctx context.Context) (T, error) {
	var zero T
	if ctx.Err() != nil {
		return zero, context.Cause(ctx)
	}
	q.mu.Lock()
	if v, ok := q.take(); ok {
		q.mu.Unlock()
		return v, nil
	}
	if q.closed {
		q.mu.Unlock()
		return zero, ErrClosed
	}
	w := &waiter[T]{parker: q.clock.newParker("queue get", time.Time{})}
	q.getters.push(w)
	q.mu.Unlock()

	err := w.parker.park(ctx)

	q.mu.Lock()
	defer q.mu.Unlock()
	switch w.state {
	case served:
		return w.value, nil
	case closed:
		return zero, ErrClosed
	}
	q.getters.remove(w)
	return zero, err
}

// TryGet takes the oldest value if there is one.
func (q *Queue[T]) TryGet() (T, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take()
}

// Len is the number of values that wait to be taken.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}

// Close ends the queue: Put fails from now on, Get after the values that are left. Closing twice does nothing.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	for _, l := range []*list[*waiter[T]]{&q.getters, &q.putters} {
		for w, ok := l.pop(); ok; w, ok = l.pop() {
			w.state = closed
			w.parker.wake()
		}
	}
}

// offer gives v to the first waiting consumer or puts it into the ring; it reports whether there was room.
func (q *Queue[T]) offer(v T) bool {
	if w, ok := q.getters.pop(); ok {
		w.value, w.state = v, served
		w.parker.wake()
		return true
	}
	if q.n == q.bound {
		return false
	}
	q.push(v)
	return true
}

// take takes the oldest value and lets the first waiting producer have its room.
func (q *Queue[T]) take() (T, bool) {
	var zero T
	if q.n == 0 {
		return zero, false
	}
	v := q.buf[q.head]
	q.buf[q.head] = zero
	q.head = (q.head + 1) % len(q.buf)
	q.n--
	if w, ok := q.putters.pop(); ok {
		q.push(w.value)
		w.state = served
		w.parker.wake()
	}
	return v, true
}

func (q *Queue[T]) push(v T) {
	if q.n == len(q.buf) {
		grown := make([]T, min(q.bound, max(8, 2*q.n)))
		for i := range q.n {
			grown[i] = q.buf[(q.head+i)%len(q.buf)]
		}
		q.buf, q.head = grown, 0
	}
	q.buf[(q.head+q.n)%len(q.buf)] = v
	q.n++
}

// list keeps waiters in order. The few that wait at a time make a slice good enough.
type list[W comparable] struct{ items []W }

func (l *list[W]) push(w W) { l.items = append(l.items, w) }

func (l *list[W]) pop() (W, bool) {
	var zero W
	if len(l.items) == 0 {
		return zero, false
	}
	w := l.items[0]
	l.items[0] = zero
	if len(l.items) == 1 {
		l.items = l.items[:0] // keeps the room for the next one
	} else {
		l.items = l.items[1:]
	}
	return w, true
}

func (l *list[W]) remove(w W) {
	if i := slices.Index(l.items, w); i >= 0 {
		l.items = slices.Delete(l.items, i, i+1)
	}
}
