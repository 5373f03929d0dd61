package clock

import (
	"context"
	"runtime"
	"time"
)

// simParker is a waiting place under the simulated clock; its fields are guarded by the clock's mutex.
type simParker struct {
	s         *Sim
	what      string
	until     time.Time
	yields    bool // wakes itself as soon as it waits
	woken     bool
	cancelled bool // woken because its context is done
	task      *task
	place     place
	leave     func() // takes it off its context
}

func (s *Sim) newParker(what string, until time.Time) parker {
	return &simParker{s: s, what: what, until: until}
}

func (p *simParker) park(ctx context.Context) error {
	s := p.s
	own, foreign := s.find(ctx)
	s.mu.Lock()
	t := s.current
	if t == nil {
		s.mu.Unlock()
		panic("clock: a " + p.what + " waits outside of a participant")
	}
	if s.halted {
		s.mu.Unlock()
		runtime.Goexit()
	}
	if p.woken {
		s.mu.Unlock()
		return nil
	}
	if ctx.Err() != nil {
		s.mu.Unlock()
		return context.Cause(ctx)
	}
	p.task, t.waiting = t, p
	p.place = here()
	s.seq++
	id := s.seq
	cancel := func() { s.wakeLocked(p, true) }
	switch {
	case own != nil:
		own.dependants[id] = dependant{wake: cancel}
		p.leave = func() { delete(own.dependants, id) }
	case foreign:
		p.leave = s.watch(ctx, id, cancel)
	}
	if p.yields {
		s.wakeLocked(p, false)
	}
	s.current = nil
	s.dispatch()
	s.mu.Unlock()

	<-t.resume

	s.mu.Lock()
	halted, cancelled := s.halted, p.cancelled
	s.mu.Unlock()
	if halted {
		runtime.Goexit()
	}
	if cancelled {
		return context.Cause(ctx)
	}
	return nil
}

func (p *simParker) wake() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.wakeLocked(p, false)
}

// wakeLocked makes the participant that waits in p ready. Only the first wake counts, be it by a hand-off or by a context.
func (s *Sim) wakeLocked(p *simParker, cancelled bool) {
	if p.woken {
		return
	}
	p.woken, p.cancelled = true, cancelled
	if p.task == nil || s.halted {
		return
	}
	if p.leave != nil {
		p.leave()
	}
	p.task.waiting = nil
	s.ready = append(s.ready, p.task)
}
