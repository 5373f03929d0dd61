package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"unicode/utf8"

	"vitrine/runtime"
)

const sessionColumns = `id, user_id, title, model, settings, summary, turn_count, next_n, next_seq, window_from, keep_n,
	holder, epoch, created_at, updated_at`

// OpenSession implements runtime.Store. With *HeldError comes the row as it is stored, to be read.
func (s *Store) OpenSession(ctx context.Context, id, user string, create bool) (runtime.SessionRow, error) {
	var out runtime.SessionRow
	err := s.do(ctx, func(t *txn) error {
		var err error
		out, err = s.openSession(t, id, user, create)
		return err
	})
	if err != nil {
		if !errors.Is(err, runtime.ErrHeld) {
			out = runtime.SessionRow{}
		}
		return out, fmt.Errorf("open session %s: %w", id, err)
	}
	return out, nil
}

func (s *Store) openSession(t *txn, id, user string, create bool) (runtime.SessionRow, error) {
	row, err := t.session(id)
	if errors.Is(err, runtime.ErrNotFound) && create {
		if id == "" || !utf8.ValidString(id) || !utf8.ValidString(user) {
			return row, constraint("a session needs an id, and it and the user in valid UTF-8")
		}
		delete(t.heads, id)
		now := micros(s.cfg.Clock.Now())
		_, err = t.exec("INSERT INTO sessions (id, user_id, holder, epoch, created_at, updated_at) VALUES (?, ?, ?, 1, ?, ?)",
			id, user, s.holderID, now, now)
		if err != nil {
			return row, sqlError("create", err)
		}
		return t.session(id)
	}
	if err != nil {
		return row, err
	}
	if row.UserID != user {
		return runtime.SessionRow{}, runtime.ErrOtherUser
	}
	if row.Fence.Holder == s.holderID {
		return row, nil
	}
	if err := s.heldElsewhere(id, row.Fence.Holder); err != nil {
		return row, err
	}
	delete(t.heads, id)
	// Within this transaction nobody else can take it, so the condition only says what was seen.
	ok, err := t.execOne("UPDATE sessions SET holder = ?, epoch = epoch + 1 WHERE id = ? AND holder = ? AND epoch = ?",
		s.holderID, id, row.Fence.Holder, row.Fence.Epoch)
	if err != nil {
		return row, sqlError("take over", err)
	}
	if !ok {
		return row, runtime.ErrFenced
	}
	row.TakenOver = row.Fence.Holder != ""
	row.Fence = runtime.Fence{Holder: s.holderID, Epoch: row.Fence.Epoch + 1}
	return row, nil
}

// Owns is runtime.ErrFenced when the session is not under f any more. It only reads.
func (s *Store) Owns(ctx context.Context, id string, f runtime.Fence) error {
	db, err := s.reader()
	if err != nil {
		return err
	}
	var one int
	err = db.QueryRowContext(ctx, "SELECT 1 FROM sessions WHERE id = ? AND holder = ? AND epoch = ?", id, f.Holder, f.Epoch).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("session %s: %w", id, runtime.ErrFenced)
	}
	if err != nil {
		return sqlError("look at the holder of session "+id, err)
	}
	return nil
}

// heldElsewhere is *HeldError when a living process other than this one is the holder.
func (s *Store) heldElsewhere(id, holder string) error {
	if holder == "" || holder == s.holderID {
		return nil
	}
	alive, info, err := probeHolder(holdersDir(s.path), holder)
	if err != nil {
		return err
	}
	if alive {
		return &runtime.HeldError{SessionID: id, PID: info.PID, Holder: holder}
	}
	return nil
}

// session reads a session's row; ErrNotFound when there is none.
func (t *txn) session(id string) (runtime.SessionRow, error) {
	var r runtime.SessionRow
	var settings, summary sql.NullString
	var created, updated int64
	err := t.row("SELECT "+sessionColumns+" FROM sessions WHERE id = ?", []any{id}, &r.ID, &r.UserID, &r.Title, &r.Model,
		&settings, &summary, &r.TurnCount, &r.NextN, &r.NextSeq, &r.WindowFrom, &r.KeepN, &r.Fence.Holder, &r.Fence.Epoch,
		&created, &updated)
	if err != nil {
		return r, found(err)
	}
	r.Settings, r.Summary = rawJSON(settings), rawJSON(summary)
	r.CreatedAt, r.UpdatedAt = fromMicros(created), fromMicros(updated)
	return r, nil
}

// ReleaseSession implements runtime.Store.
func (s *Store) ReleaseSession(ctx context.Context, id string, f runtime.Fence) error {
	err := s.do(ctx, func(t *txn) error {
		ok, err := t.execOne("UPDATE sessions SET holder = '' WHERE id = ? AND holder = ? AND epoch = ? AND holder <> ''",
			id, f.Holder, f.Epoch)
		if err == nil && !ok {
			err = t.fenced(id)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("release session %s: %w", id, err)
	}
	return nil
}

// DeleteSession implements runtime.Library. Everything of the session goes in one transaction. *HeldError when another
// process has it open.
func (s *Store) DeleteSession(ctx context.Context, id, user string) error {
	err := s.do(ctx, func(t *txn) error {
		row, err := t.session(id)
		if err != nil {
			return err
		}
		if row.UserID != user {
			return runtime.ErrOtherUser
		}
		if err := s.heldElsewhere(id, row.Fence.Holder); err != nil {
			return err
		}
		for _, query := range []string{"DELETE FROM tabs WHERE session_id = ?", "DELETE FROM sessions WHERE id = ?"} {
			if _, err := t.exec(query, id); err != nil {
				return sqlError("delete", err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	s.dropAside(ctx, id)
	return nil
}

// sessionsQuery lists the sessions of a user, the last changed one first, behind a given one. The last top-level run is the
// unfinished one when there is any; it waits for the user as runtime.UnknownCalls tells, or for a word on a call that may run.
const sessionsQuery = `SELECT s.id, s.user_id, s.title, s.model, s.turn_count, s.next_n - 1, s.created_at, s.updated_at,
		coalesce(r.state, ''), coalesce(r.reason, ''), s.holder, s.rowid,
		r.id IS NOT NULL AND r.finished_at IS NULL AND (r.state = 'waiting_approval' OR EXISTS (SELECT 1 FROM tool_calls c
			WHERE c.run_id = r.id AND c.result IS NULL AND (c.status = 'unknown' OR c.status = 'started' AND c.effect = 'side_effect'))),
		EXISTS (SELECT 1 FROM stars WHERE session_id = s.id)
	FROM sessions s LEFT JOIN runs r ON r.ord = (SELECT max(ord) FROM runs WHERE session_id = s.id AND parent_run = '')
	WHERE s.user_id = ? AND (s.updated_at, s.rowid) < (?, ?) ORDER BY s.updated_at DESC, s.rowid DESC LIMIT ?`

// infoRow is a row of the list with what its page needs.
type infoRow struct {
	runtime.SessionInfo
	holder  string
	updated int64
	rowid   int64
}

func scanInfo(from row) (infoRow, error) {
	var r infoRow
	var created int64
	err := from.Scan(&r.ID, &r.UserID, &r.Title, &r.Model, &r.TurnCount, &r.Messages, &created, &r.updated, &r.RunState,
		&r.RunReason, &r.holder, &r.rowid, &r.Waits, &r.Starred)
	r.CreatedAt, r.UpdatedAt = fromMicros(created), fromMicros(r.updated)
	return r, err
}

// Sessions implements runtime.Library: the sessions of a user, the last changed one first.
func (s *Store) Sessions(ctx context.Context, user string) ([]runtime.SessionInfo, error) {
	var updated, rowid int64 = 1<<63 - 1, 1<<63 - 1
	rows, err := pages(ctx, s, scanInfo, noLimit, func(last *infoRow, limit int) (string, []any) {
		if last != nil {
			updated, rowid = last.updated, last.rowid
		}
		return sessionsQuery, []any{user, updated, rowid, limit}
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions of %s: %w", user, err)
	}
	pids := map[string]int{"": 0}
	var out []runtime.SessionInfo
	for _, r := range rows {
		pid, known := pids[r.holder]
		if !known {
			if alive, info, err := probeHolder(holdersDir(s.Path()), r.holder); err != nil {
				return nil, fmt.Errorf("list sessions of %s: %w", user, err)
			} else if alive {
				pid = info.PID
			}
			pids[r.holder] = pid
		}
		r.HeldBy, r.Own = pid, r.holder == s.holderID
		out = append(out, r.SessionInfo)
	}
	return out, nil
}
