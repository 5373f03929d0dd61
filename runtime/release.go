package runtime

import (
	"context"
	"errors"
	"fmt"
)

// release gives the session up for other processes.
func (s *session) release() error {
	s.mu.Lock()
	wasOpen, lost := s.opened, s.lost
	s.opened = false
	s.mu.Unlock()
	if !wasOpen || lost {
		return nil
	}
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	if err := s.eng.cfg.Store.ReleaseSession(ctx, s.id, s.row.Fence); err != nil && !errors.Is(err, ErrFenced) {
		return fmt.Errorf("release session %s: %w", s.id, err)
	}
	return nil
}

// closeIdle waits for the run to end, then releases the session. No further turn starts meanwhile.
func (s *session) closeIdle(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	r := s.cur
	s.mu.Unlock()
	if err := s.quiet(ctx, r); err != nil {
		return fmt.Errorf("wait for the work of session %s: %w", s.id, err)
	}
	return s.do(ctx, s.release)
}

// quiet ends the fold between turns, if one is on, and waits for it and for the end of run r, nil for none.
func (s *session) quiet(ctx context.Context, r *run) error {
	s.mu.Lock()
	stop, ended := s.stopFold, s.foldEnded
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	if ended != nil {
		if err := ended.Wait(ctx); err != nil {
			return err
		}
	}
	if r != nil {
		return r.ended.Wait(ctx)
	}
	return nil
}

// shut ends the session with the engine: the run is stopped, the session released, the actor ends.
func (s *session) shut(reason Reason) {
	s.mu.Lock()
	s.shutting = true
	r := s.cur
	s.mu.Unlock()
	s.giveUp()
	if r != nil {
		r.stop(reason)
	}
	s.eng.done.Go(func() {
		if err := s.quiet(context.Background(), r); err != nil {
			return
		}
		last := func() {
			if err := s.release(); err != nil {
				s.tell(err)
			}
			s.mailbox.Close()
		}
		if err := s.mailbox.Put(context.Background(), last); err != nil {
			return // closed already
		}
	})
}
