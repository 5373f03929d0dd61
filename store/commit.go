package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"vitrine/runtime"
)

// txRing is how many transactions of a session are remembered for Applied.
const txRing = 16

// Commit implements runtime.Store. It is idempotent among the last transactions of a session: one that is in already
// answers what it was given then, and changes nothing.
func (s *Store) Commit(ctx context.Context, tx runtime.Tx) (runtime.Committed, error) {
	if tx.ID == "" || tx.SessionID == "" {
		return runtime.Committed{}, constraint("a transaction needs an id and a session")
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
	var c runtime.Committed
	var events int
	err := t.row("SELECT first_n, last_n, first_seq, turn, events FROM txs WHERE session_id = ? AND tx_id = ?",
		[]any{sessionID, txID}, &c.FirstN, &c.LastN, &c.FirstSeq, &c.Turn, &events)
	if errors.Is(err, sql.ErrNoRows) {
		return runtime.Committed{}, false, nil
	}
	if err != nil {
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
	c, txs, err := t.fence(tx)
	if err != nil {
		return c, err
	}
	steps := []func() error{
		func() error { return t.putRun(tx, c.Turn) },
		func() error { return t.addMessages(tx, c.FirstN, s.cfg.NewID) },
		func() error { return t.putCalls(tx) },
		func() error { return t.changeTodos(tx) },
		func() error { return t.addArtifacts(tx) },
		func() error { return t.changeInbox(tx) },
		func() error { return t.fold(tx) },
		func() error { return t.changePins(tx) },
		func() error { return t.addApprovals(tx) },
		func() error { return t.addEvents(tx, c) },
		func() error { return t.remember(tx, c, txs) },
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
	nextN, nextSeq int64
	turns          int
	txs            int64
	updated        int64
}

// headBound is how many heads are remembered; beyond it all are forgotten.
const headBound = 1024

// updatedEvery is how far a session's updated_at may be behind while a run goes on: the index over it is a page of each commit.
const updatedEvery = time.Second

// midway says that tx belongs to a run that neither begins nor ends with it.
func midway(tx runtime.Tx) bool { return tx.Run != nil && !tx.Run.State.Terminal() && !tx.NewTurn }

// fence takes the session's next numbers for tx, if its holder and epoch still are the session's. It says how many transactions
// the session has had, this one included.
func (t *txn) fence(tx runtime.Tx) (runtime.Committed, int64, error) {
	if tx.Fence.Holder == "" {
		return runtime.Committed{}, 0, t.fenced(tx.SessionID)
	}
	after, err := t.advance(tx)
	if errors.Is(err, sql.ErrNoRows) {
		return runtime.Committed{}, 0, t.fenced(tx.SessionID)
	}
	if err != nil {
		return runtime.Committed{}, 0, sqlError("advance the session", err)
	}
	t.heads[tx.SessionID] = after
	c := runtime.Committed{Turn: after.turns}
	if n := int64(len(tx.Messages)); n > 0 {
		c.FirstN, c.LastN = after.nextN-n, after.nextN-1
	}
	if n := int64(len(tx.Events)); n > 0 {
		c.FirstSeq = after.nextSeq - n
	}
	return c, after.txs, nil
}

// advance moves the session's numbers on; sql.ErrNoRows when the fence does not hold.
func (t *txn) advance(tx runtime.Tx) (after head, err error) {
	messages, events, turns := int64(len(tx.Messages)), int64(len(tx.Events)), 0
	if tx.NewTurn {
		turns = 1
	}
	if was, ok := t.heads[tx.SessionID]; ok && tx.Title == nil && tx.Model == nil && tx.Settings == nil {
		// The row stands where this process left it, or the update finds none: what RETURNING would tell is known, and telling
		// costs more than all the rest of the statement.
		after = head{was.nextN + messages, was.nextSeq + events, was.turns + turns, was.txs + 1, was.updated}
		set, args := "UPDATE sessions SET next_n = ?, next_seq = ?, turn_count = ?, tx_count = ?", []any{after.nextN, after.nextSeq, after.turns, after.txs}
		if at := micros(tx.At); !midway(tx) || at >= was.updated+updatedEvery.Microseconds() {
			after.updated = max(at, was.updated)
			set, args = set+", updated_at = max(updated_at, ?)", append(args, at)
		}
		ok, err := t.execOne(set+` WHERE id = ? AND holder = ? AND epoch = ? AND next_n = ? AND next_seq = ? AND turn_count = ? AND tx_count = ?`,
			append(args, tx.SessionID, tx.Fence.Holder, tx.Fence.Epoch, was.nextN, was.nextSeq, was.turns, was.txs)...)
		if err != nil || ok {
			return after, err
		}
	}
	settings, err := cleanJSON(tx.Settings)
	if err != nil {
		return head{}, fmt.Errorf("settings: %w", err)
	}
	err = t.row(`UPDATE sessions SET next_n = next_n + ?, next_seq = next_seq + ?, turn_count = turn_count + ?,
			tx_count = tx_count + 1, title = coalesce(?, title), model = coalesce(?, model), settings = coalesce(?, settings),
			updated_at = max(updated_at, ?)
		WHERE id = ? AND holder = ? AND epoch = ? RETURNING next_n, next_seq, turn_count, tx_count, updated_at`,
		[]any{messages, events, turns, cleanOrNull(tx.Title), cleanOrNull(tx.Model), settings, micros(tx.At),
			tx.SessionID, tx.Fence.Holder, tx.Fence.Epoch}, &after.nextN, &after.nextSeq, &after.turns, &after.txs, &after.updated)
	return after, err
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

// remember notes the transaction for Applied, over the oldest one.
func (t *txn) remember(tx runtime.Tx, c runtime.Committed, txs int64) error {
	slot, there := txs%txRing, false
	var err error
	if txs > txRing { // the ring is full; REPLACE costs twice the UPDATE
		there, err = t.execOne(`UPDATE txs SET tx_id = ?, first_n = ?, last_n = ?, first_seq = ?, events = ?, turn = ?
			WHERE session_id = ? AND slot = ?`, tx.ID, c.FirstN, c.LastN, c.FirstSeq, len(tx.Events), c.Turn, tx.SessionID, slot)
	}
	if err == nil && !there {
		_, err = t.exec(`INSERT OR REPLACE INTO txs (session_id, slot, tx_id, first_n, last_n, first_seq, events, turn)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, tx.SessionID, slot, tx.ID, c.FirstN, c.LastN, c.FirstSeq, len(tx.Events), c.Turn)
	}
	if err != nil {
		return sqlError("remember the transaction", err)
	}
	return nil
}

// cleanOrNull is a text column that stays as it is when the text is nil.
func cleanOrNull(s *string) any {
	if s == nil {
		return nil
	}
	return clean(*s)
}
