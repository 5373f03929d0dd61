package store

import (
	"context"
	"errors"
	"fmt"

	"vitrine/runtime"
)

// Draft implements runtime.Drafts.
func (s *Store) Draft(ctx context.Context, sessionID string) (runtime.Draft, error) {
	var d runtime.Draft
	var at int64
	err := s.row(ctx, "SELECT text, at FROM drafts WHERE session_id = ?", []any{sessionID}, &d.Text, &at)
	switch {
	case err == nil:
		d.At = fromMicros(at)
	case !errors.Is(err, runtime.ErrNotFound):
		return d, reading("draft", sessionID, err)
	}
	d.Aside, err = s.leftAside(ctx, sessionID)
	return d, err
}

// SaveDraft implements runtime.Drafts.
func (s *Store) SaveDraft(ctx context.Context, sessionID string, d runtime.Draft) error {
	err := s.do(ctx, func(t *txn) error {
		query, args := "DELETE FROM drafts WHERE session_id = ?", []any{sessionID}
		if d.Text != "" {
			query = "INSERT INTO drafts (session_id, text, at) VALUES (?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET text = excluded.text, at = excluded.at"
			args = append(args, clean(d.Text), micros(d.At))
		}
		row, err := t.session(sessionID)
		if err != nil {
			return err
		}
		if row.Fence.Holder != s.holderID {
			return runtime.ErrFenced
		}
		if _, err := t.exec(query, args...); err != nil {
			return sqlError("store a draft", err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep the draft of session %s: %w", sessionID, err)
	}
	// It is stored, so whoever waits for that is told so. What cannot be taken away in time is brought back once more at worst.
	_ = s.aside.alone(ctx, func() error {
		s.aside.forget(sessionID)
		return nil
	})
	return nil
}

// KeepAside implements runtime.Drafts.
func (s *Store) KeepAside(ctx context.Context, sessionID string, a runtime.Aside) error {
	for i, t := range a.Texts {
		a.Texts[i] = clean(t)
	}
	if err := s.aside.alone(ctx, func() error { return s.aside.keep(sessionID, a) }); err != nil {
		return fmt.Errorf("keep what was typed in session %s aside: %w", sessionID, err)
	}
	return nil
}

// leftAside is what was kept aside of a session and is nobody's any more, the oldest first.
func (s *Store) leftAside(ctx context.Context, sessionID string) (left []runtime.Aside, err error) {
	err = s.aside.alone(ctx, func() error {
		left = s.aside.left(sessionID, s.holderGone)
		return nil
	})
	return left, err
}

// dropAside takes sessions that are no more out of all files. What stays there when ctx ends harms nobody.
func (s *Store) dropAside(ctx context.Context, sessions ...string) {
	_ = s.aside.alone(ctx, func() error {
		s.aside.drop(s.holderGone, sessions...)
		return nil
	})
}

func (s *Store) holderGone(id string) bool {
	alive, _, err := probeHolder(holdersDir(s.Path()), id)
	return !alive && err == nil
}
