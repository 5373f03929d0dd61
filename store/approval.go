package store

import (
	"context"
	"database/sql"

	"vitrine/runtime"
)

// addApprovals keeps the user's words on calls.
func (t *txn) addApprovals(tx runtime.Tx) error {
	for _, a := range tx.Approvals {
		_, err := t.exec(`INSERT INTO approvals (id, session_id, run_id, call_id, question, answer, reason, asked_at, decided_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, a.ID, tx.SessionID, a.RunID, a.CallID, clean(a.Question), clean(a.Answer), clean(a.Reason),
			micros(either(a.AskedAt, tx.At)), microsOrNull(a.DecidedAt))
		if err != nil {
			return sqlError("keep an approval", err)
		}
	}
	return nil
}

const approvalsQuery = "SELECT id, run_id, call_id, question, answer, reason, asked_at, decided_at FROM approvals WHERE run_id = ? ORDER BY ord"

func scanApproval(from row) (runtime.ApprovalRow, error) {
	var a runtime.ApprovalRow
	var asked int64
	var decided sql.NullInt64
	err := from.Scan(&a.ID, &a.RunID, &a.CallID, &a.Question, &a.Answer, &a.Reason, &asked, &decided)
	a.AskedAt, a.DecidedAt = fromMicros(asked), fromMicrosOrNull(decided)
	return a, err
}

// Approvals implements runtime.Memory.
func (s *Store) Approvals(ctx context.Context, runID string) ([]runtime.ApprovalRow, error) {
	out, err := all(ctx, s, scanApproval, approvalsQuery, runID)
	return out, readingRun("approvals", runID, err)
}
