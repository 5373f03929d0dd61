package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
func (s *session) commit(tx Tx) (Committed, error) { return s.commitSettings(tx, nil) }

// commitSettings is commit with a change of the settings as they are when its turn has come: the run and the actor both make such
// changes, and neither may undo the other's. A nil change is none.
func (s *session) commitSettings(tx Tx, change func(*settings)) (Committed, error) {
	if err := s.writing.Put(context.Background(), struct{}{}); err != nil {
		return Committed{}, ErrClosed
	}
	defer s.writing.TryGet()
	if change != nil {
		v := s.settings()
		change(&v)
		raw, err := json.Marshal(v)
		if err != nil {
			return Committed{}, fmt.Errorf("write the settings of session %s: %w", s.id, err)
		}
		tx.Settings = raw
	}
	tx.Fresh = true
	got, err := s.attempt(tx)
	tx.Fresh = false
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
	if change != nil {
		s.row.Settings = tx.Settings
	}
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

// commit stores tx with the run as it stands and takes its messages into the window.
func (r *run) commit(tx Tx) error { return r.commitAs(tx, r.state.Stored()) }

// commitAs is commit with the state that is to be stored.
func (r *run) commitAs(tx Tx, state State) error { return r.commitWith(tx, state, nil) }

// commitWith is commitAs with a change of the session's settings.
func (r *run) commitWith(tx Tx, state State, change func(*settings)) error {
	r.row.State = state
	r.row.Reason = r.reason
	if state == StateWaitingApproval && r.reason == ReasonNone && r.heldOnly() {
		r.row.Reason = ReasonBreak
	}
	tx.Calls = append(tx.Calls, r.outdated...)
	r.row.Usage.Active, r.row.Usage.Guards = r.active(), nil
	if !state.Terminal() {
		r.row.Usage.Guards = r.guards()
	}
	row := r.row
	tx.Run = &row
	got, err := r.s.commitSettings(tx, change)
	if err != nil {
		r.refused(tx)
		return err
	}
	r.stored(tx)
	for i, m := range tx.Messages {
		m.N = got.FirstN + int64(i)
		r.s.window = append(r.s.window, m)
	}
	return nil
}

// stored takes in that tx is stored.
func (r *run) stored(tx Tx) {
	r.taken, r.outdated = nil, nil
	for i := range r.calls {
		c := &r.calls[i]
		if c.saved && !c.kept.saved && r.record != nil {
			r.record.Calls = append(r.record.Calls, CallRecord{Row: c.row, Result: c.shown, Took: c.took})
		}
		c.kept.saved, c.kept.message = c.saved, c.message
		if !c.ready && c.in(tx) {
			c.kept.status, c.kept.started = c.row.Status, c.row.StartedAt
		}
	}
}

// refused takes back what was to be true with tx: results and events are still to be stored, with the run's end, and a call whose
// intent is not stored was not started.
func (r *run) refused(tx Tx) {
	r.events, r.taken = append(r.taken, r.events...), nil
	for i := range r.calls {
		c := &r.calls[i]
		c.saved, c.message = c.kept.saved, c.kept.message
		if c.ready || !c.in(tx) {
			continue
		}
		if c.row.Status == CallStarted && c.kept.status != CallStarted {
			r.row.Usage.Calls--
		}
		c.row.Status, c.row.StartedAt = c.kept.status, c.kept.started
	}
}

// in says that tx holds the call. Of calls that run just now only the id may be looked at, and they are in none.
func (c *call) in(tx Tx) bool {
	return slices.ContainsFunc(tx.Calls, func(row CallRow) bool { return row.ID == c.row.ID })
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
