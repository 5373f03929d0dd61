package store

import (
	"context"
	"errors"
	"fmt"

	"vitrine/runtime"
	"vitrine/tools"
)

// addArtifacts keeps the transaction's large outputs.
func (t *txn) addArtifacts(tx runtime.Tx) error {
	for _, a := range tx.Artifacts {
		_, err := t.exec(`INSERT INTO artifacts (handle, session_id, run_id, call_id, tool, content, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			a.Handle, tx.SessionID, a.RunID, a.CallID, clean(a.Tool), clean(a.Content), micros(either(a.CreatedAt, tx.At)))
		if err != nil {
			return sqlError("keep an artifact", err)
		}
	}
	return nil
}

// Artifact gives an output that was kept outside the prompt, to its own session only. ErrNotFound when there is none.
func (s *Store) Artifact(ctx context.Context, sessionID, handle string) (runtime.ArtifactRow, error) {
	var a runtime.ArtifactRow
	var created int64
	err := s.row(ctx, `SELECT handle, session_id, run_id, call_id, tool, content, created_at FROM artifacts
		WHERE handle = ? AND session_id = ?`, []any{handle, sessionID},
		&a.Handle, &a.SessionID, &a.RunID, &a.CallID, &a.Tool, &a.Content, &created)
	if err != nil {
		return a, fmt.Errorf("read artifact %s of session %s: %w", handle, sessionID, err)
	}
	a.CreatedAt = fromMicros(created)
	return a, nil
}

// ReadArtifact implements tools.ArtifactReader.
func (s *Store) ReadArtifact(ctx context.Context, sessionID, handle string) (a tools.Artifact, content string, ok bool, err error) {
	row, err := s.Artifact(ctx, sessionID, handle)
	if errors.Is(err, runtime.ErrNotFound) {
		return a, "", false, nil
	}
	if err != nil {
		return a, "", false, err
	}
	return tools.Artifact{Handle: row.Handle, Tool: row.Tool, Bytes: len(row.Content)}, row.Content, true, nil
}

const artifactsQuery = `SELECT handle, tool, octet_length(content) FROM artifacts WHERE session_id = ? ORDER BY rowid DESC LIMIT ?`

func scanArtifact(from row) (tools.Artifact, error) {
	var a tools.Artifact
	err := from.Scan(&a.Handle, &a.Tool, &a.Bytes)
	return a, err
}

// ListArtifacts implements tools.ArtifactReader.
func (s *Store) ListArtifacts(ctx context.Context, sessionID string, limit int) ([]tools.Artifact, error) {
	out, _, err := list(ctx, s, scanArtifact, artifactsQuery, sessionID, min(limit, pageRows))
	return out, reading("artifacts", sessionID, err)
}
