package store

import (
	"context"

	"vitrine/runtime"
)

// changeInbox queues input and takes queued input away. What is not there cannot be taken: it was sent or withdrawn.
func (t *txn) changeInbox(tx runtime.Tx) error {
	for _, r := range tx.InboxAdd {
		_, err := t.exec("INSERT INTO inbox (id, session_id, text, created_at) VALUES (?, ?, ?, ?)",
			r.ID, tx.SessionID, clean(r.Text), micros(either(r.CreatedAt, tx.At)))
		if err != nil {
			return sqlError("queue input", err)
		}
	}
	for _, id := range tx.InboxRemove {
		ok, err := t.execOne("DELETE FROM inbox WHERE id = ? AND session_id = ?", id, tx.SessionID)
		if err != nil {
			return sqlError("take queued input", err)
		}
		if !ok {
			return constraint("queued input %s: %w", id, runtime.ErrNotFound)
		}
	}
	return nil
}

const inboxQuery = "SELECT id, session_id, text, created_at FROM inbox WHERE session_id = ? ORDER BY ord"

func scanInbox(from row) (runtime.InboxRow, error) {
	var r runtime.InboxRow
	var created int64
	err := from.Scan(&r.ID, &r.SessionID, &r.Text, &created)
	r.CreatedAt = fromMicros(created)
	return r, err
}

// Inbox implements runtime.Store.
func (s *Store) Inbox(ctx context.Context, sessionID string) ([]runtime.InboxRow, error) {
	out, err := all(ctx, s, scanInbox, inboxQuery, sessionID)
	return out, reading("inbox", sessionID, err)
}
