package clock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOnlyOneRuns(t *testing.T) {
	s := NewSim(start)
	bg := context.Background()
	running, order := 0, []int{} // unguarded on purpose: the race detector and the count both tell
	for i := range 20 {
		s.Go(func() {
			for range 10 {
				running++
				if running != 1 {
					t.Errorf("%d run at once", running)
				}
				runtime.Gosched()
				running--
				_ = s.Sleep(bg, time.Duration(i%3)*time.Second)
			}
			order = append(order, i)
		})
	}
	s.Settle()
	equal(t, len(order), 7) // those of no delay
	equal(t, s.Idle(), true)
	s.Advance(time.Hour)
	equal(t, len(order), 20)
	equal(t, s.Now(), start.Add(time.Hour))
	_, ok := s.Next()
	equal(t, ok, false)
}

func TestWokenAreReadyNotRun(t *testing.T) {
	s := NewSim(start)
	var log []string
	s.Run(func() {
		l := NewLatch(s)
		for i := range 3 {
			s.Go(func() {
				_ = l.Wait(context.Background())
				log = append(log, fmt.Sprint("woken ", i))
			})
		}
		settled(s)
		l.Open()
		s.Go(func() { log = append(log, "started after") })
		log = append(log, "opener goes on")
		_ = s.Sleep(context.Background(), 0)
		log = append(log, "opener again")
	})
	equal(t, log, []string{"opener goes on", "woken 0", "woken 1", "woken 2", "started after", "opener again"})
}

func TestAdvanceFiresOneByOne(t *testing.T) {
	s := NewSim(start)
	var log []string
	say := func(what string) func() {
		return func() {
			log = append(log, fmt.Sprint(what, " ", s.Now().Sub(start)))
			s.Go(func() { log = append(log, "  after "+what) })
		}
	}
	s.AfterFunc(2*time.Second, say("b"))
	s.AfterFunc(time.Second, say("a"))
	s.AfterFunc(2*time.Second, say("c"))
	s.AfterFunc(4*time.Second, say("d"))
	s.Advance(3 * time.Second)
	equal(t, log, []string{"a 1s", "  after a", "b 2s", "  after b", "c 2s", "  after c"})
	at, ok := s.Next()
	equal(t, ok, true)
	equal(t, at, start.Add(4*time.Second))
	s.Advance(0)
	equal(t, s.Now(), start.Add(3*time.Second))
	s.Advance(-time.Second)
	equal(t, s.Now(), start.Add(3*time.Second))
	s.Halt()
}

func TestOutsideCallsMakeReady(t *testing.T) {
	s := NewSim(start)
	bg := context.Background()
	q, l := NewQueue[int](s, 4), NewLatch(s)
	ctx, cancel := s.WithCancel(bg)
	var log []string
	s.Go(func() { v, err := q.Get(bg); log = append(log, fmt.Sprint(v, err)) })
	s.Go(func() { log = append(log, fmt.Sprint(l.Wait(bg))) })
	s.Go(func() { log = append(log, fmt.Sprint(s.Sleep(ctx, time.Hour))) })
	equal(t, s.Idle(), false)
	s.Settle()
	equal(t, s.Idle(), true)
	cancel()
	is(t, ctx.Err(), context.Canceled)
	equal(t, s.Idle(), false) // counted, yet not run
	l.Open()
	q.TryPut(5)
	equal(t, log, []string(nil))
	s.Settle()
	equal(t, log, []string{"context canceled", "<nil>", "5 <nil>"})
	_, ok := s.Next()
	equal(t, ok, false) // the cancelled sleep left no timer
}

func TestWaitOutsideOfAParticipantPanics(t *testing.T) {
	s := NewSim(start)
	defer func() { equal(t, recover(), any("clock: a latch waits outside of a participant")) }()
	_ = NewLatch(s).Wait(context.Background())
}

func TestDriveFromWithinPanics(t *testing.T) {
	s := NewSim(start)
	s.Run(func() {
		defer func() {
			equal(t, recover(), any("clock: Settle during Run: a participant cannot drive its own clock"))
		}()
		s.Settle()
	})
}

func TestDeadlockIsReported(t *testing.T) {
	s := NewSim(start)
	defer s.Halt()
	q := NewQueue[int](s, 1)
	q.TryPut(1)
	s.Go(func() { _ = q.Put(context.Background(), 2) })
	g := NewGroup(s)
	g.Go(func() { _ = NewLatch(s).Wait(t.Context()) })
	s.AfterFunc(time.Second, func() { _, _ = NewQueue[int](s, 1).Get(context.Background()) })
	func() {
		defer func() {
			report := fmt.Sprint(recover())
			for _, want := range []string{"nothing can ever happen at 2026-01-01T00:00:01", "waits: queue put", "(Run) waits: group", "waits: latch", "waits: queue get", "sim_test.go", "TestDeadlockIsReported"} {
				if !strings.Contains(report, want) {
					t.Errorf("report lacks %q:\n%s", want, report)
				}
			}
		}()
		s.Run(func() { _ = g.Wait(context.Background()) })
	}()
	// The clock can go on: what is missing may come from outside.
	_, _ = q.TryGet()
	s.Settle()
	equal(t, q.Len(), 1)
}

func TestReportNamesSleepers(t *testing.T) {
	s := NewSim(start)
	defer s.Halt()
	s.Go(func() { _ = s.Sleep(context.Background(), time.Hour) })
	s.Settle()
	s.Go(func() {})
	if r := s.report(); !strings.Contains(r, "sleep until 01:00:00.000000") {
		t.Error(r)
	}
	equal(t, place{}.String(), "?")
}

func TestPanicReachesTheDriver(t *testing.T) {
	boom := errors.New("boom")
	for name, drive := range map[string]func(*Sim){
		"Run":     func(s *Sim) { s.Run(func() { _ = s.Sleep(context.Background(), time.Hour) }) },
		"Settle":  func(s *Sim) { s.Settle() },
		"Advance": func(s *Sim) { s.Advance(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSim(start)
			defer s.Halt()
			s.Go(func() { explode(boom) })
			func() {
				defer func() {
					p, ok := recover().(*Panic)
					if !ok || !errors.Is(p, boom) || !strings.Contains(p.Error(), "explode") {
						t.Errorf("got %v", p)
					}
				}()
				drive(s)
			}()
			done := false
			s.Go(func() { done = true })
			s.Settle()
			equal(t, done, true)
		})
	}
	is(t, (&Panic{Value: 1}).Unwrap(), nil)
}

func explode(v any) { panic(v) }

func TestGoexitOfRunGoesOn(t *testing.T) {
	s := NewSim(start)
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- returned }()
		s.Run(func() { runtime.Goexit() })
		returned = true
	}()
	equal(t, <-ended, false)
	s.Go(runtime.Goexit) // ends that one only
	s.Settle()
}

func TestRunReturnsWhenItsFunctionDoes(t *testing.T) {
	s := NewSim(start)
	n := 0
	s.Run(func() {
		s.Go(func() { n++ })
		s.AfterFunc(time.Hour, func() { n++ })
	})
	equal(t, n, 0)
	equal(t, s.Now(), start)
	s.Settle()
	equal(t, n, 1)
	s.Run(func() { _ = s.Sleep(context.Background(), 2*time.Hour) })
	equal(t, n, 2)
}

func TestHalt(t *testing.T) {
	for _, from := range []string{"outside", "participant"} {
		t.Run(from, func(t *testing.T) {
			s := NewSim(start)
			bg := context.Background()
			ctx, cancel := s.WithCancel(bg)
			q, full := NewQueue[int](s, 1), NewQueue[int](s, 1)
			full.TryPut(1)
			var ended []string
			waits := map[string]func(){
				"a get":   func() { _, _ = q.Get(ctx) },
				"b put":   func() { _ = full.Put(bg, 1) },
				"c latch": func() { _ = NewLatch(s).Wait(t.Context()) },
				"d sleep": func() { _ = s.Sleep(bg, time.Hour) },
				"e yield": func() {
					for {
						_ = s.Sleep(ctx, time.Second)
					}
				},
			}
			for _, name := range slices.Sorted(mapKeys(waits)) {
				s.Go(func() {
					defer func() {
						ended = append(ended, name)
						s.Go(func() { t.Error("started after Halt") })
						_ = s.Sleep(bg, time.Second)
						t.Error("a wait in a deferred call returned after Halt")
					}()
					waits[name]()
					t.Errorf("%s returned", name)
				})
			}
			s.AfterFunc(2*time.Hour, func() { t.Error("a timer fired after Halt") })
			want := []string{"a get", "b put", "c latch", "d sleep", "e yield"}
			if from == "participant" {
				s.Run(func() {
					settled(s)
					s.Go(func() { t.Error("started after Halt") })
					s.Halt()
					equal(t, ended, want)
					s.Halt()
					_ = s.Sleep(bg, time.Second)
					t.Error("the caller's next wait returned")
				})
			} else {
				s.Settle()
				s.Go(func() { t.Error("started after Halt") })
				s.Halt()
			}
			equal(t, ended, want)
			cancel()
			full.Close()
			timer := s.AfterFunc(time.Second, func() { t.Error("a timer fired after Halt") })
			equal(t, timer.Stop(), false)
			s.Settle()
			s.Advance(3 * time.Hour)
			equal(t, s.Idle(), true)
			defer func() { equal(t, recover(), any("clock: Run after Halt")) }()
			s.Run(func() {})
		})
	}
}

// TestHaltFromAnother has a participant that is not Run's function halt all.
func TestHaltFromAnother(t *testing.T) {
	s := NewSim(start)
	after := false
	s.Run(func() {
		s.Go(func() {
			s.Halt()
			after = true
			_ = s.Sleep(context.Background(), time.Second)
			t.Error("a wait returned after Halt")
		})
		_ = s.Sleep(context.Background(), time.Hour)
		t.Error("a wait returned after Halt")
	})
	equal(t, after, true)
}

func mapKeys[V any](m map[string]V) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestContextsUnderneathEndInTheSameCall(t *testing.T) {
	s := NewSim(start)
	type key struct{}
	ctx, cancel := s.WithCancel(context.Background())
	std, cancelStd := context.WithCancel(context.WithValue(ctx, key{}, 1))
	defer cancelStd()
	own, cancelOwn := s.WithTimeout(context.WithValue(ctx, key{}, 1), time.Hour)
	defer cancelOwn()
	between, cancelBetween := s.WithCancel(std) // one of package context stands between
	defer cancelBetween()
	fired := make(chan struct{})
	context.AfterFunc(own, func() { close(fired) })
	equal(t, fmt.Sprint(own), "clock.Sim context")
	cancel()
	for _, c := range []context.Context{ctx, std, own} {
		is(t, c.Err(), context.Canceled)
	}
	<-fired
	<-between.Done() // closed by package context, in its own time
	_, ok := s.Next()
	equal(t, ok, false)
}

func TestForeignCancelEndsALibraryCall(t *testing.T) {
	s := NewSim(start)
	parent, cancel := context.WithCancel(context.Background())
	s.Run(func() {
		ctx, stop := s.WithTimeout(parent, time.Hour)
		defer stop()
		child, stopChild := s.WithCancel(ctx)
		defer stopChild()
		released := NewLatch(s)
		s.Go(func() {
			is(t, NewLatch(s).Wait(child), context.Canceled)
			released.Open()
		})
		settled(s)
		go cancel()
		<-child.Done() // as a library would, which counts as busy
		is(t, released.Wait(context.Background()), nil)
		if d := s.Now().Sub(start); d > time.Second {
			t.Errorf("time moved by %v", d)
		}
	})
}

func TestAnotherClocksContextIsForeign(t *testing.T) {
	a, b := NewSim(start), NewSim(start)
	ctx, cancel := a.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	child, cancelChild := b.WithCancel(ctx)
	defer cancelChild()
	var got error
	b.Go(func() { got = NewLatch(b).Wait(child) })
	b.Settle()
	is(t, got, nil)
	a.Advance(time.Hour)
	b.Settle()
	is(t, got, context.DeadlineExceeded)
}

func TestContextsAreForgotten(t *testing.T) {
	s := NewSim(start)
	base, stop := context.WithCancel(context.Background())
	defer stop()
	root, cancelRoot := s.WithCancel(base)
	s.Run(func() {
		for range 100 {
			ctx, cancel := s.WithTimeout(root, time.Hour)
			_ = s.Sleep(ctx, time.Second)
			cancel()
			ctx, cancel = s.WithTimeout(base, time.Hour)
			_ = s.Sleep(ctx, time.Second)
			_ = s.Sleep(base, time.Second)
			cancel()
		}
	})
	equal(t, len(root.(*simCtx).dependants), 0)
	equal(t, len(s.foreign), 1)
	cancelRoot()
	equal(t, len(s.foreign), 0)
	equal(t, len(s.timers), 0)
	equal(t, len(s.tasks), 0)
}

// program is a random set of participants that use everything; its log is its schedule.
func program(seed uint64, steps int) (log []string) {
	s := NewSim(start)
	rng := seed
	next := func(n uint64) uint64 { // one source for all: the schedule decides who draws what
		rng = rng*6364136223846793005 + 1442695040888963407
		return (rng >> 33) % n
	}
	bg, stop := context.WithCancel(context.Background())
	defer stop()
	queues := []*Queue[int]{NewQueue[int](s, 1), NewQueue[int](s, 3)}
	latch := NewLatch(s)
	group := NewGroup(s)
	left := steps
	var worker func(id int)
	worker = func(id int) {
		for left > 0 {
			left--
			ctx, cancel := s.WithTimeout(bg, time.Duration(1+next(20))*time.Millisecond)
			if next(4) == 0 {
				ctx, cancel = s.WithCancel(bg)
				s.AfterFunc(time.Duration(next(20))*time.Millisecond, cancel)
			}
			var got any
			op := next(8)
			switch op {
			case 0, 1:
				got = s.Sleep(ctx, time.Duration(next(10))*time.Millisecond)
			case 2, 3:
				got = queues[next(2)].Put(ctx, left)
			case 4, 5:
				v, err := queues[next(2)].Get(ctx)
				got = fmt.Sprint(v, err)
			case 6:
				got = latch.Wait(ctx)
				if next(10) == 0 {
					latch.Open()
				}
			case 7:
				child := 100*id + left
				if next(2) == 0 {
					group.Go(func() { worker(child) })
				}
			}
			log = append(log, fmt.Sprint(s.Now().Sub(start), " ", id, " ", op, " ", got))
			cancel()
		}
	}
	s.Run(func() {
		for i := range 4 {
			group.Go(func() { worker(i + 1) })
		}
		_ = group.Wait(context.Background())
	})
	s.Halt()
	return log
}

func TestSameSeedSameSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		first := program(seed, 150)
		for _, procs := range []int{1, 2, 8} {
			before := runtime.GOMAXPROCS(procs)
			again := program(seed, 150)
			runtime.GOMAXPROCS(before)
			if !slices.Equal(first, again) {
				t.Fatalf("two schedules of seed %d with %d processors", seed, procs)
			}
		}
	})
}

func TestTimersFireByTimeThenAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSim(start)
		type set struct{ after, age int }
		var want, got []set
		for age, after := range rapid.SliceOfN(rapid.IntRange(0, 5), 0, 30).Draw(t, "after") {
			x := set{after, age}
			timer := s.AfterFunc(time.Duration(after)*time.Second, func() {
				if at := s.Now().Sub(start); at != time.Duration(after)*time.Second {
					t.Errorf("fired at %v instead of %ds", at, after)
				}
				got = append(got, x)
			})
			if rapid.Bool().Draw(t, "stop") {
				if !timer.Stop() {
					t.Errorf("a pending timer could not be stopped")
				}
				continue
			}
			want = append(want, x)
		}
		slices.SortStableFunc(want, func(a, b set) int { return a.after - b.after })
		s.Advance(10 * time.Second)
		if !slices.Equal(got, want) {
			t.Errorf("fired %v, want %v", got, want)
		}
	})
}

// TestQueueLosesNothing checks, with random bounds, delays and cancels, that what was put is taken once and in order.
func TestQueueLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSim(start)
		bg := context.Background()
		q := NewQueue[int](s, rapid.IntRange(1, 4).Draw(t, "bound"))
		draw := func(what string) time.Duration {
			return time.Duration(rapid.IntRange(0, 5).Draw(t, what)) * time.Millisecond
		}
		var put, got []int
		producers, consumers := NewGroup(s), NewGroup(s)
		n := rapid.IntRange(1, 3).Draw(t, "producers")
		s.Run(func() {
			for p := range n {
				producers.Go(func() {
					for i := range 15 {
						_ = s.Sleep(bg, draw("before put"))
						ctx, cancel := s.WithTimeout(bg, draw("patience"))
						if q.Put(ctx, p*100+i) == nil {
							put = append(put, p*100+i)
						}
						cancel()
					}
				})
			}
			for range rapid.IntRange(1, 3).Draw(t, "consumers") {
				consumers.Go(func() {
					for {
						_ = s.Sleep(bg, draw("before get"))
						ctx, cancel := s.WithTimeout(bg, draw("patience"))
						v, err := q.Get(ctx)
						cancel()
						if errors.Is(err, ErrClosed) {
							return
						}
						if err == nil {
							got = append(got, v)
						}
					}
				})
			}
			_ = producers.Wait(bg)
			q.Close()
			_ = consumers.Wait(bg)
		})
		for p := range n {
			of := func(all []int) (mine []int) {
				for _, v := range all {
					if v/100 == p {
						mine = append(mine, v)
					}
				}
				return mine
			}
			// Per producer, since a hand-over is logged by its taker when that one runs.
			mine := of(got)
			slices.Sort(mine)
			if !slices.Equal(of(put), mine) {
				t.Fatalf("producer %d put %v, taken were %v", p, of(put), mine)
			}
		}
	})
}

// TestContextTree checks who ends with whom in random trees of contexts of every kind.
func TestContextTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSim(start)
		type node struct {
			ctx    context.Context
			cancel func()
			parent int
			cut    bool // does not end with its parent
			ended  error
		}
		nodes := []node{{ctx: context.Background(), parent: -1}}
		for range rapid.IntRange(1, 12).Draw(t, "size") {
			parent := rapid.IntRange(0, len(nodes)-1).Draw(t, "parent")
			n := node{parent: parent}
			above := nodes[parent].ctx
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				n.ctx, n.cancel = s.WithCancel(above)
			case 1:
				n.ctx, n.cancel = s.WithTimeout(context.WithValue(above, simKey{nil}, 1), time.Hour)
			case 2:
				n.ctx, n.cut = context.WithoutCancel(above), true
			case 3:
				n.ctx, n.cancel = context.WithCancel(above)
			}
			nodes = append(nodes, n)
		}
		for i := range nodes {
			s.Go(func() { nodes[i].ended = NewLatch(s).Wait(nodes[i].ctx) })
		}
		s.Settle()
		victim := rapid.IntRange(0, len(nodes)-1).Draw(t, "victim")
		gone := map[int]bool{}
		if nodes[victim].cancel != nil {
			nodes[victim].cancel()
			gone[victim] = true
		}
		for i, n := range nodes {
			if gone[n.parent] && !n.cut {
				gone[i] = true
			}
		}
		for i, n := range nodes {
			if gone[i] {
				<-n.ctx.Done()
			}
		}
		s.Settle()
		for i, n := range nodes {
			if gone[i] != (n.ended != nil) || gone[i] != (n.ctx.Err() != nil) {
				t.Errorf("node %d: should end: %v, wait ended with %v, context with %v", i, gone[i], n.ended, n.ctx.Err())
			}
		}
		for _, n := range nodes {
			if n.cancel != nil {
				n.cancel()
			}
		}
		s.Halt()
	})
}
