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

// unfinishedRun is the condition of the index runs_unfinished, word for word, so that the index serves it.
const unfinishedRun = "parent_run = '' AND state NOT IN ('succeeded', 'failed', 'cancelled', 'exhausted')"

// Queries whose plans matter.
const (
	unfinishedQuery = "SELECT " + runColumns + " FROM runs INDEXED BY runs_unfinished WHERE session_id = ? AND " + unfinishedRun
	runsQuery       = "SELECT " + runColumns + " FROM runs WHERE session_id = ? ORDER BY ord DESC LIMIT ?"
)

// putRun inserts the transaction's run or updates what can change of it.
func (t *txn) putRun(tx runtime.Tx, turn int) error {
	if tx.Run == nil {
		return nil
	}
	r := *tx.Run
	if r.SessionID != "" && r.SessionID != tx.SessionID {
		return constraint("run of session %s in a transaction of session %s", r.SessionID, tx.SessionID)
	}
	if r.Turn == 0 {
		r.Turn = turn
	}
	var parts [3]string
	for i, v := range []any{r.Usage, r.Budget, r.Versions} {
		text, err := toJSON(v)
		if err != nil {
			return err
		}
		parts[i] = clean(text)
	}
	ok, err := t.execOne("INSERT INTO runs ("+runColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, state = excluded.state, reason = excluded.reason,
			step = excluded.step, usage = excluded.usage, budget = excluded.budget, versions = excluded.versions,
			error = excluded.error, finished_at = excluded.finished_at
		WHERE session_id = excluded.session_id`,
		r.ID, tx.SessionID, r.ParentRun, clean(r.Agent), r.Turn, string(r.State), string(r.Reason), r.Step, parts[0], parts[1],
		parts[2], clean(r.Error), micros(either(r.StartedAt, tx.At)), microsOrNull(r.FinishedAt))
	if err != nil {
		return sqlError("store the run", err)
	}
	if !ok {
		return constraint("run %s belongs to another session", r.ID)
	}
	return nil
}

func scanRun(rows *sql.Rows) (runtime.RunRow, error) {
	var r runtime.RunRow
	var usage, budget, versions string
	var started int64
	var finished sql.NullInt64
	err := rows.Scan(&r.ID, &r.SessionID, &r.ParentRun, &r.Agent, &r.Turn, &r.State, &r.Reason, &r.Step, &usage, &budget,
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
