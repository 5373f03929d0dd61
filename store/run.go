package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"vitrine/runtime"
)

const runColumns = `id, session_id, parent_run, agent, turn, state, reason, step, usage, budget, versions, error, started_at, finished_at`

// unfinishedRun is the condition of the index runs_unfinished, word for word, so that the index serves it. A run has an end
// just when its state is terminal: putRun sees to that.
const unfinishedRun = "parent_run = '' AND finished_at IS NULL"

// Queries whose plans matter.
const (
	unfinishedQuery = "SELECT " + runColumns + " FROM runs INDEXED BY runs_unfinished WHERE session_id = ? AND " + unfinishedRun
	// Between these two stands what is not in each transaction.
	updateRunCommand = "UPDATE runs SET state = ?, reason = ?, step = ?, usage = ?, last_seq = ?"
	unfinishedWhere  = " WHERE id = ? AND session_id = ? AND finished_at IS NULL"
	runsQuery        = "SELECT " + runColumns + " FROM runs WHERE session_id = ? ORDER BY ord DESC LIMIT ?"
)

// putRun inserts the transaction's run or updates what can change of it.
func (t *txn) putRun(tx runtime.Tx, c runtime.Committed) error {
	if tx.Run == nil {
		return nil
	}
	r := *tx.Run
	if r.SessionID != "" && r.SessionID != tx.SessionID {
		return constraint("run of session %s in a transaction of session %s", r.SessionID, tx.SessionID)
	}
	if r.Turn == 0 {
		r.Turn = c.Turn
	}
	if !r.State.Terminal() {
		r.FinishedAt = nil
	} else if r.FinishedAt == nil {
		r.FinishedAt = &tx.At
	}
	encoded, err := runtime.EncodeUsage(r.Usage)
	if err != nil {
		return constraint("run %s: %w", r.ID, err)
	}
	usage := clean(string(encoded))
	// Most of the time the run is there: an INSERT that finds it so costs twice the UPDATE. The end of one that goes on is not
	// written, so that no index that names it is, and what was written before and is the same is not written again.
	h := t.heads[tx.SessionID]
	set := updateRunCommand
	args := append(make([]any, 0, 12), string(r.State), string(r.Reason), r.Step, usage, h.nextSeq-1)
	var fixed [2]string // budget and versions
	if !h.run.is(r) {
		if fixed, err = encodeFixed(r); err != nil {
			return err
		}
		set, args = set+", agent = ?, budget = ?, versions = ?, error = ?", append(args, clean(r.Agent), fixed[0], fixed[1], clean(r.Error))
	}
	if r.FinishedAt != nil {
		set += ", finished_at = ? WHERE id = ? AND session_id = ?"
		args = append(args, micros(*r.FinishedAt))
	} else {
		set += unfinishedWhere
	}
	ok, err := t.execOne(set, append(args, r.ID, tx.SessionID)...)
	if err == nil && !ok {
		ok, err = t.insertRun(tx, r, usage, h.nextSeq)
	}
	if err != nil {
		return sqlError("store the run", err)
	}
	if !ok {
		return constraint("run %s belongs to another session, or has ended", r.ID)
	}
	h.run = writtenAs(r)
	t.heads[tx.SessionID] = h
	return nil
}

// insertRun adds the run. nextSeq is behind the events of tx: they and all after them may be the run's.
func (t *txn) insertRun(tx runtime.Tx, r runtime.RunRow, usage string, nextSeq int64) (bool, error) {
	fixed, err := encodeFixed(r)
	if err != nil {
		return false, err
	}
	return t.execOne("INSERT INTO runs ("+runColumns+", first_seq, last_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
		r.ID, tx.SessionID, r.ParentRun, clean(r.Agent), r.Turn, string(r.State), string(r.Reason), r.Step, usage, fixed[0],
		fixed[1], clean(r.Error), micros(either(r.StartedAt, tx.At)), microsOrNull(r.FinishedAt),
		nextSeq-int64(len(tx.Events)), nextSeq-1)
}

// encodeFixed makes the columns of a run's budget and versions.
func encodeFixed(r runtime.RunRow) (out [2]string, err error) {
	for i, v := range []any{r.Budget, r.Versions} {
		text, err := toJSON(v)
		if err != nil {
			return out, err
		}
		out[i] = clean(text)
	}
	return out, nil
}

// writtenRun is what hardly ever changes of a run, as it was written last.
type writtenRun struct {
	id, agent, failure string
	budget             runtime.Budget
	cost               float64 // what budget.Cost pointed to
	versions           runtime.Versions
}

func writtenAs(r runtime.RunRow) writtenRun {
	w := writtenRun{id: r.ID, agent: r.Agent, failure: r.Error, budget: r.Budget, versions: r.Versions}
	if r.Budget.Cost != nil {
		w.cost = *r.Budget.Cost
	}
	return w
}

// is says that r has all of it, so that it need not be written. A run with checks, which are not compared, never is.
func (w writtenRun) is(r runtime.RunRow) bool {
	return r.Versions.Checks == nil && w == writtenAs(r)
}

func scanRun(from row) (runtime.RunRow, error) {
	var r runtime.RunRow
	var usage, budget, versions string
	var started int64
	var finished sql.NullInt64
	err := from.Scan(&r.ID, &r.SessionID, &r.ParentRun, &r.Agent, &r.Turn, &r.State, &r.Reason, &r.Step, &usage, &budget,
		&versions, &r.Error, &started, &finished)
	if err != nil {
		return r, err
	}
	err = errors.Join(json.Unmarshal([]byte(usage), &r.Usage), json.Unmarshal([]byte(budget), &r.Budget),
		json.Unmarshal([]byte(versions), &r.Versions))
	if err != nil {
		return r, fmt.Errorf("run %s: %w", r.ID, err)
	}
	r.StartedAt, r.FinishedAt = fromMicros(started), fromMicrosOrNull(finished)
	return r, nil
}

// Unfinished implements runtime.Store.
func (s *Store) Unfinished(ctx context.Context, sessionID string) (runtime.RunRow, []runtime.CallRow, error) {
	runs, _, err := list(ctx, s, scanRun, unfinishedQuery, sessionID)
	if err == nil && len(runs) == 0 {
		err = runtime.ErrNotFound
	}
	if err != nil {
		return runtime.RunRow{}, nil, reading("unfinished run", sessionID, err)
	}
	calls, err := s.Calls(ctx, runs[0].ID)
	return runs[0], calls, err
}

// Runs implements runtime.Library.
func (s *Store) Runs(ctx context.Context, sessionID string, limit int) ([]runtime.RunRow, error) {
	if limit <= 0 {
		return nil, nil
	}
	out, _, err := list(ctx, s, scanRun, runsQuery, sessionID, limit)
	return out, reading("runs", sessionID, err)
}
