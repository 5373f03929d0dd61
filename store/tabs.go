package store

import (
	"context"
	"errors"
	"fmt"

	"vitrine/runtime"
)

// tabRow is one tab as stored.
type tabRow struct {
	session string
	active  bool
}

func scanTab(from row) (tabRow, error) {
	var t tabRow
	err := from.Scan(&t.session, &t.active)
	return t, err
}

// Tabs implements runtime.Library. Tabs of deleted sessions are gone; when the active one was among them, the first is.
func (s *Store) Tabs(ctx context.Context, user string) (runtime.Tabs, error) {
	rows, err := all(ctx, s, scanTab, "SELECT session_id, active FROM tabs WHERE user_id = ? ORDER BY pos", user)
	if err != nil {
		return runtime.Tabs{}, fmt.Errorf("read tabs of %s: %w", user, err)
	}
	var out runtime.Tabs
	for i, r := range rows {
		out.Sessions = append(out.Sessions, r.session)
		if r.active {
			out.Active = i
		}
	}
	err = s.row(ctx, "SELECT panes FROM screens WHERE user_id = ?", []any{user}, &out.Panes)
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return runtime.Tabs{}, fmt.Errorf("read panes of %s: %w", user, err)
	}
	return out, nil
}

// SaveTabs implements runtime.Library.
func (s *Store) SaveTabs(ctx context.Context, user string, tabs runtime.Tabs) error {
	err := s.do(ctx, func(t *txn) error {
		if _, err := t.exec("DELETE FROM tabs WHERE user_id = ?", user); err != nil {
			return err
		}
		for i, id := range tabs.Sessions {
			_, err := t.exec("INSERT INTO tabs (user_id, pos, session_id, active) VALUES (?, ?, ?, ?)", user, i, id, i == tabs.Active)
			if err != nil {
				return sqlError("store a tab", err)
			}
		}
		_, err := t.exec("INSERT INTO screens (user_id, panes) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE SET panes = excluded.panes",
			user, clean(tabs.Panes))
		return err
	})
	if err != nil {
		return fmt.Errorf("save tabs of %s: %w", user, err)
	}
	return nil
}
