package store

import (
	"database/sql"
	"errors"
	"strings"

	"vitrine/runtime"
)

// mostBranchedEvents bounds the events that a branch takes along, the newest ones, so that other sessions need not wait long for the
// writer.
const mostBranchedEvents = 50_000

// copyEvents takes along what happened in the copied turns, for the trace and for what the chat says of them, under the ids of the runs
// that they are of. Those stay the old session's, and so does what they used. It was published when it happened, and is not again.
func (c brancher) copyEvents(out *runtime.Branched) error {
	out.LeftTurns = out.Turns
	bound, err := c.firstSeq()
	if err != nil {
		return err
	}
	low, err := c.lowSeq(bound)
	if err != nil {
		return err
	}
	_, err = c.exec("INSERT INTO events ("+eventColumns+", key) SELECT ?, r, run_id, turn, step, name, at, data, "+keyBefore+` + r FROM (
			SELECT row_number() OVER (ORDER BY key) AS r, * FROM events
			WHERE key > `+keyBefore+" + ? AND key < "+keyBefore+" + ? AND (run_id <> '' OR name = 'compact')) ORDER BY r",
		c.To, c.To, c.From, low, c.From, bound)
	if err != nil {
		return sqlError("copy events", err)
	}
	if err := c.renameInEvents(); err != nil {
		return err
	}
	_, err = c.exec("UPDATE sessions SET next_seq = 1 + coalesce((SELECT seq FROM events WHERE key > "+keyBefore+" AND key < "+keyBehind+" ORDER BY key DESC LIMIT 1), 0) WHERE id = ?",
		c.To, c.To, c.To)
	if err != nil {
		return sqlError("count events", err)
	}
	var first int
	err = c.row("SELECT turn FROM events WHERE key > "+keyBefore+" AND key < "+keyBehind+" AND name = 'run_start' ORDER BY key LIMIT 1", []any{c.To, c.To}, &first)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return sqlError("look for the first turn", err)
	}
	out.LeftTurns = max(first-1, 0)
	return nil
}

// firstSeq is the place of the first event of the turn that is not copied, 0 when the session has none of it: in a branch that was made
// before events were copied.
func (c brancher) firstSeq() (seq int64, err error) {
	err = c.row("SELECT first_seq FROM runs WHERE id = ? AND session_id = ?", []any{c.runID, c.From}, &seq)
	if errors.Is(err, sql.ErrNoRows) && c.runID != "" { // it was copied itself
		err = c.row("SELECT seq FROM events WHERE key > "+keyBefore+" AND key < "+keyBehind+" AND run_id = ? ORDER BY key LIMIT 1", []any{c.From, c.From, c.runID}, &seq)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, sqlError("look for the turn's events", err)
	}
	return seq, nil
}

// lowSeq is the place behind which the copied events begin, so that they are not too many and begin with a turn.
func (c brancher) lowSeq(bound int64) (int64, error) {
	least := bound - 1 - mostBranchedEvents
	if least <= 0 {
		return 0, nil
	}
	var seq int64
	err := c.row("SELECT seq FROM events WHERE key > "+keyBefore+" + ? AND key < "+keyBefore+" + ? AND name = 'run_start' ORDER BY key LIMIT 1",
		[]any{c.From, least, c.From, bound}, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		return bound, nil
	}
	if err != nil {
		return 0, sqlError("look for a turn's beginning", err)
	}
	return seq - 1, nil
}

// renameInEvents has copied events name the copies of folds and large outputs.
func (c brancher) renameInEvents() error {
	if len(c.renamed.pairs) == 0 {
		return nil
	}
	names := strings.NewReplacer(c.renamed.pairs...)
	changed := map[int64]string{}
	err := c.query("SELECT key, data FROM events WHERE key > "+keyBefore+" AND key < "+keyBehind+
		" AND (name = 'compact' OR name IN ('tool_result', 'artifact') AND instr(data, ?) > 0)", []any{c.To, c.To, handlePrefix}, func(from row) error {
		var key int64
		var data string
		if err := from.Scan(&key, &data); err != nil {
			return err
		}
		if now := names.Replace(data); now != data {
			changed[key] = now
		}
		return nil
	})
	if err != nil {
		return sqlError("read copied events", err)
	}
	for key, data := range changed {
		if _, err := c.exec("UPDATE events SET data = ? WHERE key = ?", data, key); err != nil {
			return sqlError("rename in a copied event", err)
		}
	}
	return nil
}
