package cli

import (
	"context"
	"sync"
)

// stopper turns signals into a stop in two stages: the first one is offered to the command, which ends its work properly;
// the second, or the first when nobody took it, ends every wait.
type stopper struct {
	cancel context.CancelFunc

	mu    sync.Mutex
	got   Signal
	count int
	soft  func()
	held  int
}

func newStopper(cancel context.CancelFunc) *stopper { return &stopper{cancel: cancel} }

// signal takes one signal.
func (s *stopper) signal(sig Signal) {
	s.mu.Lock()
	if s.held > 0 && sig == Interrupt {
		s.mu.Unlock()
		return
	}
	s.count++
	if s.got == "" {
		s.got = sig
	}
	soft := s.soft
	first := s.count == 1
	s.mu.Unlock()
	if first && soft != nil {
		soft()
		return
	}
	s.cancel()
}

// onFirst makes f take the first signal; one that came before is given at once.
func (s *stopper) onFirst(f func()) {
	s.mu.Lock()
	s.soft = f
	came := s.count > 0
	s.mu.Unlock()
	if came {
		f()
	}
}

// stopped says whether a signal came.
func (s *stopper) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count > 0
}

// hold makes interrupts count for nothing until release is called, once.
func (s *stopper) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held--
	}
}
