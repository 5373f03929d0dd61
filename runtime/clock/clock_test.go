package clock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// both runs f under the real clock, its time made by synctest, and under the simulated one.
func both(t *testing.T, f func(t *testing.T, c Clock)) {
	t.Helper()
	t.Run("real", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, Real()) })
	})
	t.Run("sim", func(t *testing.T) {
		s := NewSim(start)
		defer s.Halt()
		s.Run(func() { f(t, s) })
	})
}

// settled lets all others run until they wait, on either clock.
func settled(c Clock) { _ = c.Sleep(context.Background(), time.Nanosecond) }

func equal(t *testing.T, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func is(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got error %v, want %v", got, want)
	}
}

func TestSleep(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		bg := context.Background()
		begin := c.Now()
		is(t, c.Sleep(bg, 3*time.Second), nil)
		equal(t, c.Now().Sub(begin), 3*time.Second)
		is(t, c.Sleep(bg, 0), nil)
		is(t, c.Sleep(bg, -time.Hour), nil)
		equal(t, c.Now().Sub(begin), 3*time.Second)

		ctx, cancel := c.WithTimeout(bg, time.Second)
		defer cancel()
		is(t, c.Sleep(ctx, time.Minute), context.DeadlineExceeded)
		equal(t, c.Now().Sub(begin), 4*time.Second)
		is(t, c.Sleep(ctx, time.Minute), context.DeadlineExceeded)

		ctx, cancel = c.WithCancel(bg)
		c.AfterFunc(time.Second, cancel)
		is(t, c.Sleep(ctx, time.Minute), context.Canceled)
		equal(t, c.Now().Sub(begin), 5*time.Second)
	})
}

func TestAfterFunc(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		q := NewQueue[string](c, 10)
		put := func(s string) func() { return func() { q.TryPut(s) } }
		begin := c.Now()
		c.AfterFunc(3*time.Second, put("c"))
		stopped := c.AfterFunc(2*time.Second, put("never"))
		fired := c.AfterFunc(time.Second, put("a"))
		c.AfterFunc(2*time.Second, put("b"))
		equal(t, stopped.Stop(), true)
		equal(t, stopped.Stop(), false)
		var got []string
		for range 3 {
			s, err := q.Get(context.Background())
			is(t, err, nil)
			got = append(got, fmt.Sprint(s, c.Now().Sub(begin)))
		}
		equal(t, got, []string{"a1s", "b2s", "c3s"})
		equal(t, fired.Stop(), false)
		c.AfterFunc(-time.Second, put("now"))
		s, _ := q.Get(context.Background())
		equal(t, s, "now")
		equal(t, c.Now().Sub(begin), 3*time.Second)
	})
}

func TestContexts(t *testing.T) {
	type key struct{}
	both(t, func(t *testing.T, c Clock) {
		bg := context.WithValue(context.Background(), key{}, "v")
		root, cancelRoot := c.WithCancel(bg)
		equal(t, root.Value(key{}), any("v"))
		equal(t, root.Value("other"), any(nil))
		_, has := root.Deadline()
		equal(t, has, false)
		is(t, root.Err(), nil)

		long, cancelLong := c.WithTimeout(root, time.Hour)
		defer cancelLong()
		d, has := long.Deadline()
		equal(t, has, true)
		equal(t, d.Sub(c.Now()).Round(time.Second), time.Hour)
		// A child cannot outlive its parent.
		short, cancelShort := c.WithTimeout(context.WithValue(long, key{}, "w"), 2*time.Hour)
		defer cancelShort()
		d2, _ := short.Deadline()
		equal(t, d2.Equal(d), true)
		equal(t, short.Value(key{}), any("w"))
		detached, cancelDetached := c.WithCancel(context.WithoutCancel(long))
		std, cancelStd := context.WithCancel(long)
		defer cancelStd()
		below, cancelBelow := c.WithTimeout(std, 5*time.Hour)
		defer cancelBelow()

		settled(c)
		is(t, c.Sleep(short, 3*time.Hour), context.DeadlineExceeded)
		for _, x := range []context.Context{long, short, std, below} {
			<-x.Done()
			is(t, x.Err(), context.DeadlineExceeded)
			is(t, context.Cause(x), context.DeadlineExceeded)
		}
		is(t, root.Err(), nil)
		is(t, detached.Err(), nil)
		cancelDetached()
		is(t, detached.Err(), context.Canceled)
		cancelRoot()
		cancelRoot()
		is(t, root.Err(), context.Canceled)
		is(t, long.Err(), context.DeadlineExceeded)

		late, cancelLate := c.WithTimeout(root, time.Second)
		defer cancelLate()
		is(t, late.Err(), context.Canceled)
		past, cancelPast := c.WithTimeout(bg, -1)
		defer cancelPast()
		is(t, past.Err(), context.DeadlineExceeded)
	})
}

func TestContextCauseOfParent(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		boom := errors.New("boom")
		parent, cancel := context.WithCancelCause(context.Background())
		child, cancelChild := c.WithCancel(parent)
		defer cancelChild()
		c.AfterFunc(time.Second, func() { cancel(boom) })
		l := NewLatch(c)
		is(t, l.Wait(context.WithValue(child, boom, 1)), boom)
		is(t, child.Err(), context.Canceled)
		is(t, context.Cause(child), boom)
		is(t, l.Wait(parent), boom)

		parent, cancel = context.WithCancelCause(context.Background())
		c.AfterFunc(time.Second, func() { cancel(boom) })
		is(t, c.Sleep(parent, time.Hour), boom)
	})
}

func TestQueueOrder(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		bg := context.Background()
		q := NewQueue[int](c, 3)
		g := NewGroup(c)
		g.Go(func() {
			for i := range 100 {
				if err := q.Put(bg, i); err != nil {
					t.Errorf("put %d: %v", i, err)
				}
			}
			q.Close()
			q.Close()
		})
		settled(c)
		equal(t, q.Len(), 3)
		equal(t, q.TryPut(-1), false)
		var got []int
		for {
			v, err := q.Get(bg)
			if err != nil {
				is(t, err, ErrClosed)
				break
			}
			got = append(got, v)
		}
		is(t, g.Wait(bg), nil)
		want := make([]int, 100)
		for i := range want {
			want[i] = i
		}
		equal(t, got, want)
		is(t, q.Put(bg, 1), ErrClosed)
		equal(t, q.TryPut(1), false)
		_, ok := q.TryGet()
		equal(t, ok, false)
	})
}

func TestQueueServesWaitersInOrder(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		bg := context.Background()
		q := NewQueue[int](c, 1)
		var mu sync.Mutex
		got := map[string]int{}
		g := NewGroup(c)
		for i := range 5 {
			g.Go(func() {
				v, err := q.Get(bg)
				is(t, err, nil)
				mu.Lock()
				defer mu.Unlock()
				got[fmt.Sprint("getter ", i)] = v
			})
			settled(c)
		}
		for i := range 5 {
			is(t, q.Put(bg, i), nil)
		}
		is(t, g.Wait(bg), nil)
		equal(t, got, map[string]int{"getter 0": 0, "getter 1": 1, "getter 2": 2, "getter 3": 3, "getter 4": 4})

		for i := range 5 {
			g.Go(func() { is(t, q.Put(bg, i), nil) })
			settled(c)
		}
		for i := range 5 {
			v, err := q.Get(bg)
			is(t, err, nil)
			equal(t, v, i)
		}
		is(t, g.Wait(bg), nil)
	})
}

func TestQueueCloseWakesAll(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		bg := context.Background()
		empty, full := NewQueue[int](c, 1), NewQueue[int](c, 1)
		full.TryPut(1)
		g := NewGroup(c)
		for range 3 {
			g.Go(func() {
				_, err := empty.Get(bg)
				is(t, err, ErrClosed)
			})
			g.Go(func() { is(t, full.Put(bg, 2), ErrClosed) })
		}
		settled(c)
		empty.Close()
		full.Close()
		is(t, g.Wait(bg), nil)
		v, err := full.Get(bg)
		is(t, err, nil)
		equal(t, v, 1)
		_, err = full.Get(bg)
		is(t, err, ErrClosed)
	})
}

func TestQueueCancel(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		bg := context.Background()
		q := NewQueue[int](c, 1)
		ctx, cancel := c.WithTimeout(bg, time.Second)
		defer cancel()
		_, err := q.Get(ctx)
		is(t, err, context.DeadlineExceeded)
		// One who gave up takes nothing and puts nothing.
		is(t, q.Put(bg, 1), nil)
		_, err = q.Get(ctx)
		is(t, err, context.DeadlineExceeded)
		equal(t, q.Len(), 1)
		is(t, q.Put(ctx, 9), context.DeadlineExceeded)
		ctx, cancel = c.WithTimeout(bg, time.Second)
		defer cancel()
		is(t, q.Put(ctx, 2), context.DeadlineExceeded)
		v, ok := q.TryGet()
		equal(t, ok, true)
		equal(t, v, 1)
		equal(t, q.Len(), 0)
	})
}

func TestQueueNeedsABound(t *testing.T) {
	defer func() { equal(t, recover(), any("clock: a queue needs a bound of at least 1, not 0")) }()
	NewQueue[int](Real(), 0)
}

func TestLatch(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		bg := context.Background()
		l := NewLatch(c)
		equal(t, l.IsOpen(), false)
		g := NewGroup(c)
		for range 3 {
			g.Go(func() { is(t, l.Wait(bg), nil) })
		}
		ctx, cancel := c.WithTimeout(bg, time.Second)
		defer cancel()
		is(t, l.Wait(ctx), context.DeadlineExceeded)
		is(t, g.Wait(ctx), context.DeadlineExceeded)
		l.Open()
		l.Open()
		equal(t, l.IsOpen(), true)
		is(t, g.Wait(bg), nil)
		is(t, l.Wait(ctx), nil) // an open latch wins
		is(t, g.Wait(ctx), nil)
	})
}

func TestGroupIsUsedAgain(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		bg := context.Background()
		g := NewGroup(c)
		is(t, g.Wait(bg), nil)
		begin := c.Now()
		for round := range 3 {
			for i := range 4 {
				g.Go(func() { is(t, c.Sleep(bg, time.Duration(i)*time.Second), nil) })
			}
			is(t, g.Wait(bg), nil)
			equal(t, c.Now().Sub(begin), time.Duration(round+1)*3*time.Second)
		}
	})
}

// TestCancelOrHandOver has both happen at one moment: whatever wins, no value is lost.
func TestCancelOrHandOver(t *testing.T) {
	both(t, func(t *testing.T, c Clock) {
		bg := context.Background()
		for range 50 {
			q := NewQueue[int](c, 1)
			ctx, cancel := c.WithTimeout(bg, time.Second)
			c.AfterFunc(time.Second, func() { q.TryPut(7) })
			v, err := q.Get(ctx)
			settled(c)
			if err == nil {
				equal(t, v, 7)
				equal(t, q.Len(), 0)
			} else {
				is(t, err, context.DeadlineExceeded)
				equal(t, q.Len(), 1)
			}
			cancel()
		}
	})
}

// TestRealRaces is the same without synctest, with real goroutines, for the race detector.
func TestRealRaces(t *testing.T) {
	c := Real()
	bg := context.Background()
	q := NewQueue[int](c, 2)
	var mu sync.Mutex
	var put, got []int
	producers, consumers := NewGroup(c), NewGroup(c)
	for p := range 4 {
		producers.Go(func() {
			for i := range 500 {
				ctx, cancel := c.WithCancel(bg)
				if i%3 == 0 {
					c.Go(cancel)
				}
				if q.Put(ctx, p*1000+i) == nil {
					mu.Lock()
					put = append(put, p*1000+i)
					mu.Unlock()
				}
				cancel()
			}
		})
		consumers.Go(func() {
			for i := 0; ; i++ {
				ctx, cancel := c.WithCancel(bg)
				if i%3 == 0 {
					c.Go(cancel)
				}
				v, err := q.Get(ctx)
				cancel()
				if errors.Is(err, ErrClosed) {
					return
				}
				if err == nil {
					mu.Lock()
					got = append(got, v)
					mu.Unlock()
				}
			}
		})
	}
	is(t, producers.Wait(bg), nil)
	q.Close()
	is(t, consumers.Wait(bg), nil)
	slices.Sort(put)
	slices.Sort(got)
	equal(t, got, put)
}

func TestQueueFastPathDoesNotAllocate(t *testing.T) {
	bg := context.Background()
	q := NewQueue[int](Real(), 4)
	for range 4 {
		q.TryPut(1)
	}
	if n := testing.AllocsPerRun(100, func() {
		_, _ = q.Get(bg)
		_ = q.Put(bg, 1)
	}); n != 0 {
		t.Errorf("%v allocations for a Get and a Put that do not wait", n)
	}
}

func BenchmarkQueue(b *testing.B) {
	bg := context.Background()
	b.Run("real", func(b *testing.B) {
		q := NewQueue[int](Real(), 64)
		for b.Loop() {
			_ = q.Put(bg, 1)
			_, _ = q.Get(bg)
		}
	})
	b.Run("real hand-off", func(b *testing.B) {
		q, r := NewQueue[int](Real(), 1), NewQueue[int](Real(), 1)
		Real().Go(func() {
			for v, err := q.Get(bg); err == nil; v, err = q.Get(bg) {
				_ = r.Put(bg, v)
			}
		})
		for b.Loop() {
			_ = q.Put(bg, 1)
			_, _ = r.Get(bg)
		}
		q.Close()
	})
	b.Run("sim hand-off", func(b *testing.B) {
		s := NewSim(start)
		s.Run(func() {
			q, r := NewQueue[int](s, 1), NewQueue[int](s, 1)
			s.Go(func() {
				for v, err := q.Get(bg); err == nil; v, err = q.Get(bg) {
					_ = r.Put(bg, v)
				}
			})
			for b.Loop() {
				_ = q.Put(bg, 1)
				_, _ = r.Get(bg)
			}
			q.Close()
		})
		s.Settle()
	})
}

// A panic of what the clock starts is given to the handler, with the stack of where it was.
func TestNewRealTakesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 4)
		c := NewReal(func(value any, stack []byte) {
			got <- fmt.Sprint(value, " ", strings.Contains(string(stack), "brokenPart"))
		})
		c.Go(brokenPart)
		equal(t, <-got, "lost true")
		c.AfterFunc(time.Second, brokenPart)
		equal(t, <-got, "lost true")
		c.Go(func() { got <- "whole" })
		equal(t, <-got, "whole")
	})
}

func brokenPart() { panic("lost") }
