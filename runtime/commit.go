package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"vitrine/trace"
)

// Waits between attempts of a commit that failed.
const (
	parkFirst = 500 * time.Millisecond
	parkMost  = 5 * time.Second
)

// tx begins a transaction of this session.
func (s *session) tx() Tx {
	return Tx{ID: s.eng.cfg.NewID(), SessionID: s.id, Fence: s.row.Fence, At: s.eng.cfg.Clock.Now()}
}

// event makes an event of this session outside of runs.
func (s *session) event(data trace.Data) trace.Event {
	return trace.Event{TS: s.eng.cfg.Clock.Now().UTC(), SessionID: s.id, Name: data.EventName(), Data: data, Turn: s.row.TurnCount}
}

// publish sends a transient event.
func (s *session) publish(data trace.Data) { s.eng.cfg.Bus.Publish(s.event(data)) }

// commit stores tx. One commit of a session stands at a time, so while one is parked nothing else of the session is stored
// or dispatched. An error of the store means that the outcome is unknown: the session parks, looks whether the transaction
// is in, and otherwise tries it again unchanged until it is. ErrFenced, ErrConstraint, ErrStale and ErrClosed are final; ErrNotStored
// means that nobody wanted to wait any longer.
func (s *session) commit(tx Tx) (Committed, error) {
	if err := s.writing.Put(context.Background(), struct{}{}); err != nil {
		return Committed{}, ErrClosed
	}
	defer s.writing.TryGet()
	got, err := s.attempt(tx)
	if err != nil && !final(err) {
		got, err = s.park(tx, err)
	}
	if errors.Is(err, ErrFenced) {
		s.mu.Lock()
		s.lost = true
		s.mu.Unlock()
		s.tell(err)
	}
	if err != nil {
		return Committed{}, fmt.Errorf("store a change of session %s: %w", s.id, err)
	}
	s.mu.Lock()
	s.seq = max(s.seq, got.FirstSeq+int64(len(tx.Events))-1)
	s.mu.Unlock()
	return got, nil
}

func (s *session) attempt(tx Tx) (Committed, error) {
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	return s.eng.cfg.Store.Commit(ctx, tx)
}

func final(err error) bool {
	return errors.Is(err, ErrFenced) || errors.Is(err, ErrConstraint) || errors.Is(err, ErrClosed) || errors.Is(err, ErrStale)
}

// park waits and tries until tx is stored.
func (s *session) park(tx Tx, cause error) (Committed, error) {
	clk := s.eng.cfg.Clock
	since := clk.Now()
	wait := parkFirst
	for {
		s.publish(trace.ErrorData{
			Message: "not saved", Why: oneLine(innermost(cause)), Code: "not_saved",
			Todo: fmt.Sprintf("again in %d s; this tab waits, text and input stay here until they are stored", int(wait.Round(time.Second)/time.Second)),
		})
		limit := s.eng.cfg.Limits.ParkLimit
		if limit > 0 && clk.Now().Sub(since) >= limit {
			return Committed{}, fmt.Errorf("%w after %s: %w", ErrNotStored, limit, cause)
		}
		if err := clk.Sleep(s.patience, wait); err != nil {
			return Committed{}, fmt.Errorf("%w before the end of the program: %w", ErrNotStored, cause)
		}
		wait = min(2*wait, parkMost)
		got, in, err := s.applied(tx)
		if err == nil && !in {
			got, err = s.attempt(tx)
		}
		if err == nil {
			s.publish(trace.ErrorData{Message: "saved again", Code: "saved"})
			return got, nil
		}
		if final(err) {
			return Committed{}, err
		}
		cause = err
	}
}

func (s *session) applied(tx Tx) (Committed, bool, error) {
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	return s.eng.cfg.Store.Applied(ctx, s.id, tx.ID)
}

// tell shows an error that nobody waits for and that could not be stored.
func (s *session) tell(err error) {
	s.publish(trace.ErrorData{Message: "the session cannot go on", Why: oneLine(err), Code: "internal",
		Todo: "open it again; what was stored is safe"})
}

// innermost is the cause at the end of err's chain: what happened, without what was being done by whom.
func innermost(err error) error {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if next := e.Unwrap(); next != nil {
				err = next
				continue
			}
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				err = all[len(all)-1]
				continue
			}
		}
		return err
	}
}

// oneLine gives an error's text as one clean line.
func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(err.Error(), "\uFFFD"))), " ")
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
