package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"vitrine/runtime"
)

// fold moves the window and notes the compaction, or takes one back. It is a compare-and-set: the newest compaction that was
// not undone and the window's first message have to be those that it was made for.
func (t *txn) fold(tx runtime.Tx) error {
	f := tx.Fold
	if f == nil {
		return nil
	}
	if err := t.foldExpected(tx.SessionID, f); err != nil {
		return err
	}
	summary, err := cleanJSON(f.SummaryAfter)
	if err != nil {
		return fmt.Errorf("summary of fold %s: %w", f.ID, err)
	}
	ok, err := t.execOne("UPDATE sessions SET window_from = ?, keep_n = ?, summary = ? WHERE id = ? AND window_from = ?",
		f.From, f.Keep, summary, tx.SessionID, f.WasFrom)
	if err != nil {
		return sqlError("move the window", err)
	}
	if !ok {
		return runtime.ErrStale
	}
	for _, sh := range f.Shorten {
		if _, err := t.exec(shortenQuery,
			cleanOrNull(sh.Content), sh.Tokens, tx.SessionID, withinKeys(sh.N)); err != nil {
			return sqlError("shorten a result", err)
		}
	}
	if f.Undo {
		ok, err := t.execOne("UPDATE compactions SET undone_at = ? WHERE id = ? AND session_id = ? AND undone_at IS NULL", micros(tx.At), f.ID, tx.SessionID)
		if err != nil {
			return sqlError("take a fold back", err)
		}
		if !ok {
			return runtime.ErrStale
		}
		return nil
	}
	return t.addFold(tx, f, summary)
}

// foldExpected checks the newest compaction.
func (t *txn) foldExpected(sessionID string, f *runtime.Fold) error {
	var last string
	err := t.row(lastFoldQuery, []any{sessionID}, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return sqlError("look for the last fold", err)
	}
	if last != f.LastFold {
		return runtime.ErrStale
	}
	return nil
}

func (t *txn) addFold(tx runtime.Tx, f *runtime.Fold, after sql.NullString) error {
	before, err := cleanJSON(f.SummaryBefore)
	if err != nil {
		return fmt.Errorf("summary before fold %s: %w", f.ID, err)
	}
	short, err := toJSON(f.Shorten)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO compactions (id, session_id, run_id, reason, first_n, last_n, window_from, keep_n, was_from, was_keep,
			shortened, tokens_before, tokens_after, summary_before, summary_after, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		f.ID, tx.SessionID, f.RunID, clean(f.Reason), f.FirstN, f.LastN, f.From, f.Keep, f.WasFrom, f.WasKeep,
		short, f.TokensBefore, f.TokensAfter, before, after, micros(tx.At))
	if err != nil {
		return sqlError("note the fold", err)
	}
	return nil
}

// changePins adds pins and takes pins away.
func (t *txn) changePins(tx runtime.Tx) error {
	for _, p := range tx.PinsAdd {
		_, err := t.exec("INSERT INTO pins (id, session_id, text, source, n, created_at) VALUES (?, ?, ?, ?, ?, ?)",
			p.ID, tx.SessionID, clean(p.Text), clean(p.Source), p.N, micros(either(p.CreatedAt, tx.At)))
		if err != nil {
			return sqlError("pin", err)
		}
	}
	for _, id := range tx.PinsRemove {
		if _, err := t.exec("DELETE FROM pins WHERE id = ? AND session_id = ?", id, tx.SessionID); err != nil {
			return sqlError("unpin", err)
		}
	}
	return nil
}

const (
	lastFoldQuery = "SELECT id FROM compactions WHERE session_id = ? AND undone_at IS NULL ORDER BY ord DESC LIMIT 1"
	shortenQuery  = "UPDATE messages SET prompt_content = ?, tokens = ? WHERE key = " + keyBefore + " + ?"
	pinsQuery     = "SELECT id, session_id, text, source, n, created_at FROM pins WHERE session_id = ? ORDER BY ord"
	foldsQuery    = `SELECT id, run_id, reason, first_n, last_n, window_from, keep_n, was_from, was_keep, shortened, tokens_before,
		tokens_after, summary_before, summary_after, created_at, undone_at FROM compactions WHERE session_id = ? AND ord < ifnull((SELECT ord FROM compactions WHERE id = ?), 9223372036854775807)
		ORDER BY ord DESC LIMIT ?`
)

// lastSentQuery walks back from the newest event; a model call is never far.
const lastSentQuery = `SELECT coalesce(json_extract(data, '$.prefix_id'), ''), at FROM events WHERE key > ` + keyBefore + `
	AND key < ` + keyBehind + ` AND name = 'llm_call' ORDER BY key DESC LIMIT 1`

// LastSent implements runtime.Memory.
func (s *Store) LastSent(ctx context.Context, sessionID string) (id string, at time.Time, err error) {
	var micro int64
	if err := s.row(ctx, lastSentQuery, []any{sessionID, sessionID}, &id, &micro); err != nil {
		return "", at, reading("last request", sessionID, err)
	}
	return id, fromMicros(micro), nil
}

func scanPin(from row) (runtime.PinRow, error) {
	var p runtime.PinRow
	var created int64
	err := from.Scan(&p.ID, &p.SessionID, &p.Text, &p.Source, &p.N, &created)
	p.CreatedAt = fromMicros(created)
	return p, err
}

// Pins implements runtime.Memory.
func (s *Store) Pins(ctx context.Context, sessionID string) ([]runtime.PinRow, error) {
	out, err := all(ctx, s, scanPin, pinsQuery, sessionID)
	return out, reading("pins", sessionID, err)
}

func scanFold(from row) (runtime.FoldRow, error) {
	var f runtime.FoldRow
	var short string
	var before, after sql.NullString
	var created int64
	var undone sql.NullInt64
	err := from.Scan(&f.ID, &f.RunID, &f.Reason, &f.FirstN, &f.LastN, &f.From, &f.Keep, &f.WasFrom, &f.WasKeep, &short,
		&f.TokensBefore, &f.TokensAfter, &before, &after, &created, &undone)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal([]byte(short), &f.Shorten); err != nil {
		return f, fmt.Errorf("shortened results of fold %s: %w", f.ID, err)
	}
	f.SummaryBefore, f.SummaryAfter = rawJSON(before), rawJSON(after)
	f.CreatedAt, f.UndoneAt = fromMicros(created), fromMicrosOrNull(undone)
	return f, nil
}

// Folds implements runtime.Memory.
func (s *Store) Folds(ctx context.Context, sessionID string, limit int) ([]runtime.FoldRow, error) {
	out, err := pages(ctx, s, scanFold, limit, func(last *runtime.FoldRow, limit int) (string, []any) {
		before := ""
		if last != nil {
			before = last.ID
		}
		return foldsQuery, []any{sessionID, before, limit}
	})
	return out, reading("folds", sessionID, err)
}

// Folded implements runtime.Memory.
func (s *Store) Folded(ctx context.Context, sessionID string, first, last int64) ([]runtime.MessageRow, error) {
	out, err := pages(ctx, s, scanMessage, int(max(0, last-first+1)), func(prev *runtime.MessageRow, limit int) (string, []any) {
		if prev != nil {
			first = prev.N + 1
		}
		return windowQuery, windowArgs(sessionID, first, limit)
	})
	return out, reading("folded messages", sessionID, err)
}
