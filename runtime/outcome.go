package runtime

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"vitrine/trace"
)

// The user's words on calls whose outcome nobody knows, as they are kept until the run goes on with all of them. A word stands for
// the start that it was given for: with "again" the call is started anew, and a crash in that asks anew.

func (w Outcome) valid() bool { return w == OutcomeHappened || w == OutcomeNot || w == OutcomeAgain }

// noteOutcomes stores words on calls of the interrupted run, which stays where it is.
func (s *session) noteOutcomes(words map[string]Outcome) error {
	u := s.unfinished
	if s.busy() || u == nil {
		return fmt.Errorf("no interrupted run of session %s waits for a word: %w", s.id, ErrNotFound)
	}
	tx := s.tx()
	for _, c := range UnknownCalls(u.calls) {
		w, ok := words[c.ID]
		if !ok {
			continue
		}
		if !w.valid() {
			return fmt.Errorf("%q is no word on a call: happened, not or again", w)
		}
		tx.Approvals = append(tx.Approvals, ApprovalRow{
			ID: s.eng.cfg.NewID(), RunID: u.row.ID, CallID: c.ID, Question: c.startQuestion(), Answer: string(w), AskedAt: tx.At, DecidedAt: &tx.At,
		})
		ev := s.event(trace.ApprovalData{Phase: "decided", ID: c.ID, CallID: c.CallID, Tool: c.Name, Answer: string(w)})
		ev.RunID, ev.Turn, ev.Step = u.row.ID, u.row.Turn, c.Step
		tx.Events = append(tx.Events, ev)
	}
	if len(tx.Approvals) < len(words) {
		return fmt.Errorf("the outcome of a call is known, or it is not of this run: %w", ErrNotFound)
	}
	_, err := s.commit(tx)
	return err
}

// notedOutcomes gives the words that are stored on calls of a run whose outcome is still not known.
func (s *session) notedOutcomes(ctx context.Context, runID string, calls []CallRow) (map[string]Outcome, error) {
	open := UnknownCalls(calls)
	mem := s.eng.cfg.Memory
	if len(open) == 0 || mem == nil {
		return nil, nil
	}
	rows, err := mem.Approvals(ctx, runID)
	if err != nil {
		return nil, fmt.Errorf("read the words on calls of run %s: %w", runID, err)
	}
	words := map[string]Outcome{}
	for _, c := range open {
		for _, a := range rows {
			if a.CallID == c.ID && a.Question == c.startQuestion() && Outcome(a.Answer).valid() && a.DecidedAt != nil {
				words[c.ID] = Outcome(a.Answer)
			}
		}
	}
	return words, nil
}

// outcomes puts the words that are given now over those that are stored, and gives the calls that still want one.
func (s *session) outcomes(u *unfinishedRun, now map[string]Outcome) (words map[string]Outcome, open []CallRow, err error) {
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	noted, err := s.notedOutcomes(ctx, u.row.ID, u.calls)
	if err != nil {
		return nil, nil, err
	}
	words = map[string]Outcome{}
	maps.Copy(words, noted)
	for id, w := range now {
		if w.valid() {
			words[id] = w
		}
	}
	for _, c := range UnknownCalls(u.calls) {
		if !words[c.ID].valid() {
			open = append(open, c)
		}
	}
	return words, open, nil
}

// startQuestion binds a word on a call's outcome to the start that it is about, and not to the time of the word: the clock may have been
// set back since. The start counts in microseconds, as it is stored.
func (c *CallRow) startQuestion() string {
	if c.StartedAt == nil {
		return digest(c.Name, c.Arguments, "started")
	}
	return digest(c.Name, c.Arguments, "started", strconv.FormatInt(c.StartedAt.UnixMicro(), 10))
}

// again starts a call anew: words on the start before do not count for this one, though the clock may show the same.
func (c *call) again(now time.Time) {
	if was := c.row.StartedAt; was != nil && was.UnixMicro() == now.UnixMicro() {
		now = now.Add(time.Microsecond)
	}
	c.row.Status, c.row.StartedAt = CallStarted, &now
}
