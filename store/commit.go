package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"vitrine/runtime"
)

// Commit implements runtime.Store. It is idempotent among the last transactions of a session: one that is in already
// answers what it was given then, and changes nothing.
func (s *Store) Commit(ctx context.Context, tx runtime.Tx) (runtime.Committed, error) {
	if err := checkTxID(tx.ID); err != nil {
		return runtime.Committed{}, err
	}
	if tx.SessionID == "" {
		return runtime.Committed{}, constraint("a transaction needs a session")
	}
	var out runtime.Committed
	err := s.submit(ctx, &job{asked: tx.ID, run: func(t *txn) error {
		var err error
		out, err = s.apply(t, tx)
		return err
	}})
	if err != nil {
		return runtime.Committed{}, fmt.Errorf("commit to session %s: %w", tx.SessionID, err)
	}
	return out, nil
}

// Applied implements runtime.Store. When the transaction is in and its commit had failed here, its events are published now.
func (s *Store) Applied(ctx context.Context, sessionID, txID string) (runtime.Committed, bool, error) {
	var out runtime.Committed
	var found bool
	err := s.submit(ctx, &job{asked: txID, run: func(t *txn) error {
		var err error
		out, found, err = s.applied(t, sessionID, txID)
		return err
	}})
	if err != nil {
		return runtime.Committed{}, false, fmt.Errorf("look for transaction %s of session %s: %w", txID, sessionID, err)
	}
	return out, found, nil
}

// applied looks a transaction up, and has events published that its failed commit left out.
func (s *Store) applied(t *txn, sessionID, txID string) (runtime.Committed, bool, error) {
	var last string
	err := t.row("SELECT recent FROM sessions WHERE id = ?", []any{sessionID}, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return runtime.Committed{}, false, nil
	}
	if err != nil {
		return runtime.Committed{}, false, err
	}
	c, events, found, err := recent(last).find(txID)
	if err != nil || !found {
		return runtime.Committed{}, false, err
	}
	if events > 0 && s.unknown[txID] {
		missed, err := t.events(sessionID, c.FirstSeq, events)
		if err != nil {
			return runtime.Committed{}, false, err
		}
		t.publish(missed...)
	}
	return c, true, nil
}

// apply makes the changes of tx, in the order of its fields.
func (s *Store) apply(t *txn, tx runtime.Tx) (runtime.Committed, error) {
	if !tx.Fresh {
		if c, found, err := s.applied(t, tx.SessionID, tx.ID); err != nil || found {
			return c, err
		}
	}
	t.job.wrote = tx.ID
	tx.At = either(tx.At, s.cfg.Clock.Now())
	c, err := t.fence(tx)
	if err != nil {
		return c, err
	}
	steps := []func() error{
		func() error { return t.putRun(tx, c) },
		func() error { return t.addMessages(tx, c.FirstN, s.cfg.NewID) },
		func() error { return t.putCalls(tx) },
		func() error { return t.changeTodos(tx) },
		func() error { return t.addArtifacts(tx) },
		func() error { return t.changeInbox(tx) },
		func() error { return t.fold(tx) },
		func() error { return t.changePins(tx) },
		func() error { return t.addApprovals(tx) },
		func() error { return t.addEvents(tx, c) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return runtime.Committed{}, err
		}
	}
	return c, nil
}

// head is where a session stood after its last transaction.
type head struct {
	num            int64 // of the session, for keys
	nextN, nextSeq int64
	turns          int
	txs            int64
	updated        int64
	recent         recent
	run            writtenRun
}

// The statement that moves a session on; what is set between its halves is not in each transaction. SQLite makes a new plan of a
// statement when a parameter that a column is compared with becomes 0 or 1 or is so no longer; of an expression, as +? is one, it
// does not.
const (
	advanceCommand = "UPDATE sessions SET next_n = ?, next_seq = ?, turn_count = ?, tx_count = ?, recent = ?"
	advanceWhere   = " WHERE id = ? AND num = +? AND holder = ? AND epoch = +? AND tx_count = +? AND next_n = +? AND next_seq = +? AND turn_count = +?"
)

// headBound is how many heads are remembered; beyond it all are forgotten.
const headBound = 1024

// updatedEvery is how far a session's updated_at may be behind while a run goes on: the index over it is a page of each commit.
const updatedEvery = time.Second

// midway says that tx belongs to a run that neither begins nor ends with it.
func midway(tx runtime.Tx) bool { return tx.Run != nil && !tx.Run.State.Terminal() && !tx.NewTurn }

// fence takes the session's next numbers for tx, if its holder and epoch still are the session's.
func (t *txn) fence(tx runtime.Tx) (runtime.Committed, error) {
	if tx.Fence.Holder == "" {
		return runtime.Committed{}, t.fenced(tx.SessionID)
	}
	was, known := t.heads[tx.SessionID]
	c, ok, err := runtime.Committed{}, false, error(nil)
	if known {
		c, ok, err = t.advance(tx, was)
	}
	if err == nil && !ok { // not known, or not so any more
		if was, err = t.head(tx); err == nil {
			c, ok, err = t.advance(tx, was)
		}
	}
	if errors.Is(err, sql.ErrNoRows) || err == nil && !ok {
		return runtime.Committed{}, t.fenced(tx.SessionID)
	}
	if err != nil {
		return runtime.Committed{}, sqlError("advance the session", err)
	}
	return c, nil
}

// head reads where the session stands; sql.ErrNoRows when the fence does not hold.
func (t *txn) head(tx runtime.Tx) (h head, err error) {
	var last string
	err = t.row(`SELECT num, next_n, next_seq, turn_count, tx_count, updated_at, recent FROM sessions
		WHERE id = ? AND holder = ? AND epoch = ?`, []any{tx.SessionID, tx.Fence.Holder, tx.Fence.Epoch},
		&h.num, &h.nextN, &h.nextSeq, &h.turns, &h.txs, &h.updated, &last)
	h.recent = recent(last)
	return h, err
}

// advance moves the session on from where it was. It says no when the fence does not hold or the session stands elsewhere. A head is
// forgotten when the session is taken or made, when a change was not stored, and when the database is another one; so between,
// a session that stands at was is in all as this process left it: only who has the fence writes to it.
func (t *txn) advance(tx runtime.Tx, was head) (c runtime.Committed, ok bool, err error) {
	messages, events := int64(len(tx.Messages)), int64(len(tx.Events))
	after := was
	after.nextN, after.nextSeq, after.txs = was.nextN+messages, was.nextSeq+events, was.txs+1
	if tx.NewTurn {
		after.turns++
	}
	c.Turn = after.turns
	if messages > 0 {
		c.FirstN, c.LastN = was.nextN, after.nextN-1
	}
	if events > 0 {
		c.FirstSeq = was.nextSeq
	}
	after.recent = was.recent.with(tx.ID, c, len(tx.Events))
	set := advanceCommand
	args := append(make([]any, 0, 16), after.nextN, after.nextSeq, after.turns, after.txs, string(after.recent))
	if at := micros(tx.At); !midway(tx) || at >= was.updated+updatedEvery.Microseconds() {
		after.updated = max(at, was.updated)
		set, args = set+", updated_at = max(updated_at, ?)", append(args, at)
	}
	if tx.Title != nil || tx.Model != nil || tx.Settings != nil {
		settings, err := cleanJSON(tx.Settings)
		if err != nil {
			return c, false, fmt.Errorf("settings: %w", err)
		}
		set += ", title = coalesce(?, title), model = coalesce(?, model), settings = coalesce(?, settings)"
		args = append(args, cleanOrNull(tx.Title), cleanOrNull(tx.Model), settings)
	}
	ok, err = t.execOne(set+advanceWhere,
		append(args, tx.SessionID, was.num, tx.Fence.Holder, tx.Fence.Epoch, was.txs, was.nextN, was.nextSeq, was.turns)...)
	if ok {
		t.heads[tx.SessionID] = after
	}
	return c, ok, err
}

// fenced is ErrFenced; for a session that does not exist any more it says that too.
func (t *txn) fenced(id string) error {
	var one int
	err := t.row("SELECT 1 FROM sessions WHERE id = ?", []any{id}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: session %s: %w", runtime.ErrFenced, id, runtime.ErrNotFound)
	}
	if err != nil {
		return err
	}
	return runtime.ErrFenced
}

// cleanOrNull is a text column that stays as it is when the text is nil.
func cleanOrNull(s *string) any {
	if s == nil {
		return nil
	}
	return clean(*s)
}
