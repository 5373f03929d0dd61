package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"vitrine/runtime"
)

const (
	// pageRows and pageTime bound one cursor. An open one keeps the log from being moved into the database, so what is long
	// is read in pages, each into memory.
	pageRows = 256
	pageTime = 50 * time.Millisecond
	// noLimit asks for all rows.
	noLimit = math.MaxInt
)

// scanner reads the row at which rows stands.
type scanner[T any] func(r row) (T, error)

// list runs one query and gives its rows. It stops early, and says so, when the cursor has been open for pageTime.
func list[T any](ctx context.Context, s *Store, scan scanner[T], query string, args ...any) (out []T, cut bool, err error) {
	db, err := s.reader()
	if err != nil {
		return nil, false, err
	}
	start := s.cfg.Clock.Now()
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, false, err
		}
		out = append(out, v)
		if s.cfg.Clock.Now().Sub(start) > pageTime {
			return out, true, nil
		}
	}
	return out, false, rows.Err()
}

// pages reads up to limit rows, one cursor after the other. query gives the one that goes on behind last, nil at first, with
// at most limit rows.
func pages[T any](ctx context.Context, s *Store, scan scanner[T], limit int, query func(last *T, limit int) (string, []any)) ([]T, error) {
	var out []T
	var last *T
	for limit > 0 {
		want := min(limit, pageRows)
		text, args := query(last, want)
		page, cut, err := list(ctx, s, scan, text, args...)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		limit -= len(page)
		if !cut && len(page) < want {
			break
		}
		last = &out[len(out)-1]
	}
	return out, nil
}

// row reads one row; ErrNotFound when there is none.
func (s *Store) row(ctx context.Context, query string, args []any, dest ...any) error {
	db, err := s.reader()
	if err != nil {
		return err
	}
	return found(db.QueryRowContext(ctx, query, args...).Scan(dest...))
}

// found turns the absence of a row into ErrNotFound.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return runtime.ErrNotFound
	}
	return err
}

// reading says what was read when it failed.
func reading(what, sessionID string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s of session %s: %w", what, sessionID, err)
}

// readingRun is reading for what belongs to a run.
func readingRun(what, runID string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s of run %s: %w", what, runID, err)
}

// closing closes rows after err.
func closing(rows *sql.Rows, err error) error { return errors.Join(err, rows.Close()) }

// all gives every row of a short list. query has an order and no limit.
func all[T any](ctx context.Context, s *Store, scan scanner[T], query string, args ...any) ([]T, error) {
	var out []T
	for {
		page, cut, err := list(ctx, s, scan, query+" LIMIT ? OFFSET ?", append(slices.Clone(args), pageRows, len(out))...)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if !cut && len(page) < pageRows {
			return out, nil
		}
	}
}
