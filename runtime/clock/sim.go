package clock

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Sim is the simulated clock. Whoever calls Run, Settle or Advance drives it, one at a time, and is no participant then.
//
// Beside participants, the driving goroutine may, between drives, call Go, AfterFunc, TryPut, TryGet, Close, Open and
// cancel functions: these make others ready, who run at the next drive. It must not wait.
type Sim struct {
	mu      sync.Mutex
	changed *sync.Cond // for the driver and Halt: current or a task's done changed
	now     time.Time
	seq     int64 // orders timers, tasks, contexts and waits by age
	timers  timerHeap
	ready   []*task
	tasks   map[int64]*task // all that were started or are to be, until they end
	current *task           // who runs; nil when nobody does
	driver  string          // the method that drives; empty when none does
	main    *task           // Run's function: nobody is started any more after it ended
	foreign map[<-chan struct{}]*foreignGroup
	failure *Panic
	halted  bool
	halting bool // Halt ends one after the other; the driver keeps out
}

// Panic is what Run, Settle and Advance panic with when a participant did.
type Panic struct {
	Value any
	Stack []byte // the participant's
}

func (p *Panic) Error() string {
	return fmt.Sprintf("a participant panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap gives errors.Is and errors.As the panic's value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// task is one participant.
type task struct {
	id      int64
	f       func()
	begun   bool
	done    bool
	exited  bool          // ended by runtime.Goexit
	resume  chan struct{} // has room for one
	waiting *simParker    // nil when not parked
	origin  place         // who asked for it
}

// NewSim makes a simulated clock that stands at start.
func NewSim(start time.Time) *Sim {
	s := &Sim{now: start.Round(0), tasks: map[int64]*task{}, foreign: map[<-chan struct{}]*foreignGroup{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Now is the simulated time.
func (s *Sim) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Sleep lets d go by; with d of 0 or less all who are ready now run first.
func (s *Sim) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	p := &simParker{s: s, what: "sleep", until: s.now.Add(max(d, 0))}
	var t *simTimer
	if d > 0 {
		t = s.schedule(d, func() { s.wakeLocked(p, false) })
	} else {
		p.yields = true
	}
	s.mu.Unlock()
	err := p.park(ctx)
	if err != nil && t != nil {
		t.Stop()
	}
	return err
}

// Go makes f ready to run as a participant, after those who are ready now. After Halt it does nothing.
func (s *Sim) Go(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spawn(f, here())
}

func (s *Sim) spawn(f func(), origin place) *task {
	if s.halted {
		return nil
	}
	s.seq++
	t := &task{id: s.seq, f: f, origin: origin, resume: make(chan struct{}, 1)}
	s.tasks[t.id] = t
	s.ready = append(s.ready, t)
	return t
}

// Run runs f as a participant and drives the others and the time until f returned; the others keep their state for the
// next drive. It panics with a list of who waits where when nothing can ever happen, and with a *Panic when a participant
// panicked. A Goexit in f (as by FailNow) goes on in the caller, unless Halt caused it.
func (s *Sim) Run(f func()) {
	exit := false
	s.drive("Run", func() {
		main := s.spawn(f, here())
		if main == nil {
			panic("clock: Run after Halt")
		}
		s.main = main
		for s.settle(); !main.done; s.settle() {
			if len(s.timers) == 0 {
				panic(s.report())
			}
			s.fire()
		}
		exit = main.exited && !s.halted
	})
	if exit {
		runtime.Goexit()
	}
}

// Settle drives until nobody is ready, without moving time.
func (s *Sim) Settle() { s.drive("Settle", s.settle) }

// Advance moves time by d; what falls due on the way is fired at its time, and all is settled before and after each.
func (s *Sim) Advance(d time.Duration) {
	s.drive("Advance", func() {
		end := s.now.Add(d)
		s.settle()
		for len(s.timers) > 0 && !s.timers[0].at.After(end) {
			s.fire()
			s.settle()
		}
		if s.now.Before(end) {
			s.now = end
		}
	})
}

// Idle reports whether nobody runs or is ready.
func (s *Sim) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current == nil && len(s.ready) == 0
}

// Next is the time of the next timer, if there is one.
func (s *Sim) Next() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.timers) == 0 {
		return time.Time{}, false
	}
	return s.timers[0].at, true
}

// Halt ends every participant as if the process died: who waits now ends now, who is ready to start never starts, timers
// never fire, later Go calls do nothing. They end by runtime.Goexit, so deferred calls run, and a wait in one of them ends
// it too. Halt returns when all have ended. A participant may call it, which then goes on to its own next wait; else
// nobody may be driving.
func (s *Sim) Halt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.halted {
		return
	}
	s.halted, s.halting = true, true
	s.timers, s.ready = nil, nil
	caller := s.current
	for _, t := range inOrder(s.tasks) {
		if t == caller {
			continue
		}
		if !t.begun {
			t.done = true
			delete(s.tasks, t.id)
			continue
		}
		s.current = t
		t.resume <- struct{}{}
		for !t.done {
			s.changed.Wait()
		}
	}
	s.current, s.halting = caller, false
	s.changed.Broadcast()
}

// drive calls f with the mutex held, as the one driver.
func (s *Sim) drive(method string, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driver != "" {
		panic(fmt.Sprintf("clock: %s during %s: a participant cannot drive its own clock", method, s.driver))
	}
	s.driver = method
	defer func() { s.driver, s.main = "", nil }()
	f()
}

// settle drives until nobody is ready or Run's function ended. It panics when a participant did.
func (s *Sim) settle() {
	for {
		s.dispatch()
		for s.current != nil || s.halting {
			s.changed.Wait()
		}
		if p := s.failure; p != nil {
			s.failure = nil
			panic(p)
		}
		if s.main != nil && s.main.done || len(s.ready) == 0 && !s.pollForeign() {
			return
		}
	}
}

// dispatch lets the next ready participant run, if nobody does.
func (s *Sim) dispatch() {
	if s.current != nil || s.driver == "" || s.failure != nil || s.halted || s.main != nil && s.main.done || len(s.ready) == 0 {
		s.changed.Broadcast()
		return
	}
	t := s.ready[0]
	s.ready[0] = nil
	s.ready = s.ready[1:]
	s.current = t
	if t.begun {
		t.resume <- struct{}{}
		return
	}
	t.begun = true
	go s.live(t)
}

// live is a participant's goroutine.
func (s *Sim) live(t *task) {
	returned := false
	defer func() {
		value := recover()
		var failure *Panic
		if value != nil {
			failure = &Panic{Value: value, Stack: debug.Stack()}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failure == nil {
			s.failure = failure
		}
		t.done, t.exited = true, !returned && value == nil
		delete(s.tasks, t.id)
		s.current = nil
		s.dispatch()
	}()
	t.f()
	returned = true
}
