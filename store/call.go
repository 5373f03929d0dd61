package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"vitrine/runtime"
)

const callColumns = `id, run_id, session_id, step, reply, ord, call_id, name, arguments, raw_arguments, effect, status,
	side_effect, result, started_at, finished_at`

const callsQuery = "SELECT " + callColumns + ` FROM tool_calls WHERE run_id = ? AND (step, reply, ord) > (?, ?, ?)
	ORDER BY step, reply, ord LIMIT ?`

const insertCallCommand = "INSERT INTO tool_calls (" + callColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (run_id, step, reply, ord) DO UPDATE SET status = excluded.status, effect = excluded.effect,
		side_effect = excluded.side_effect, result = excluded.result, started_at = coalesce(excluded.started_at, started_at), finished_at = excluded.finished_at
	WHERE session_id = excluded.session_id AND id = excluded.id`

// Of +? see advanceCommand.
const endCallCommand = `UPDATE tool_calls SET status = ?, effect = ?, side_effect = ?, result = ?, started_at = coalesce(?, started_at),
	finished_at = ? WHERE run_id = ? AND step = +? AND reply = +? AND ord = +? AND id = ? AND session_id = ?`

// putCalls inserts the transaction's calls or updates what can change of them. Arguments never change: edited ones make a
// new row.
func (t *txn) putCalls(tx runtime.Tx) error {
	for _, c := range tx.Calls {
		if c.SessionID != "" && c.SessionID != tx.SessionID {
			return constraint("call of session %s in a transaction of session %s", c.SessionID, tx.SessionID)
		}
		result, err := cleanJSON(c.Result)
		if err != nil {
			return fmt.Errorf("result of call %s: %w", c.ID, err)
		}
		ok := false
		if c.FinishedAt != nil { // it was stored when it was made, as good as always: cheaper than an INSERT that finds it so
			ok, err = t.execOne(endCallCommand,
				string(c.Status), string(c.Effect), c.SideEffect, result, microsOrNull(c.StartedAt), microsOrNull(c.FinishedAt), c.RunID, c.Step,
				c.Reply, c.Ord, c.ID, tx.SessionID)
		}
		if err == nil && !ok {
			ok, err = t.insertCall(tx.SessionID, c, result)
		}
		if err != nil {
			return sqlError("store a call", err)
		}
		if !ok {
			return constraint("call %s belongs to another run", c.ID)
		}
	}
	return nil
}

func (t *txn) insertCall(sessionID string, c runtime.CallRow, result sql.NullString) (bool, error) {
	return t.execOne(insertCallCommand,
		c.ID, c.RunID, sessionID, c.Step, c.Reply, c.Ord, clean(c.CallID), clean(c.Name), clean(c.Arguments),
		clean(c.RawArguments), string(c.Effect), string(c.Status), c.SideEffect, result, microsOrNull(c.StartedAt), microsOrNull(c.FinishedAt))
}

func scanCall(from row) (runtime.CallRow, error) {
	var c runtime.CallRow
	var result sql.NullString
	var started, finished sql.NullInt64
	err := from.Scan(&c.ID, &c.RunID, &c.SessionID, &c.Step, &c.Reply, &c.Ord, &c.CallID, &c.Name, &c.Arguments,
		&c.RawArguments, &c.Effect, &c.Status, &c.SideEffect, &result, &started, &finished)
	c.Result, c.StartedAt, c.FinishedAt = rawJSON(result), fromMicrosOrNull(started), fromMicrosOrNull(finished)
	return c, err
}

// Results implements tools.ResultReader.
func (s *Store) Results(ctx context.Context, sessionID string, names []string, limit int) ([]json.RawMessage, error) {
	if len(names) == 0 || limit <= 0 {
		return nil, nil
	}
	args := []any{sessionID}
	for _, n := range names {
		args = append(args, n)
	}
	query := `SELECT result FROM tool_calls WHERE run_id IN (SELECT id FROM runs WHERE session_id = ?) AND status = 'done' AND name IN (?` + strings.Repeat(", ?", len(names)-1) +
		`) AND json_extract(result, '$.ok') ORDER BY finished_at DESC, step DESC, reply DESC, ord DESC LIMIT ?`
	out, _, err := list(ctx, s, func(from row) (json.RawMessage, error) {
		var result sql.NullString
		err := from.Scan(&result)
		return rawJSON(result), err
	}, query, append(args, limit)...)
	return out, reading("results", sessionID, err)
}

// Calls gives the calls of a run, in the order in which they were asked for.
func (s *Store) Calls(ctx context.Context, runID string) ([]runtime.CallRow, error) {
	step, reply, ord := -1, -1, -1
	out, err := pages(ctx, s, scanCall, noLimit, func(last *runtime.CallRow, limit int) (string, []any) {
		if last != nil {
			step, reply, ord = last.Step, last.Reply, last.Ord
		}
		return callsQuery, []any{runID, step, reply, ord, limit}
	})
	return out, readingRun("calls", runID, err)
}
