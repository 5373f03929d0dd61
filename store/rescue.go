package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"modernc.org/sqlite"
)

// rescue goes on in another file after the database was deleted, renamed or replaced under the program. The old file is
// still open, so the sessions that this process holds can be read from it: they are copied to a new database at the path,
// or beside it when another file stands there. Sessions of other processes are theirs to save; all else went with the file.
func (s *Store) rescue(ctx context.Context, gone *FileGoneError) error {
	old := s.conns
	target, err := s.rescueTarget(ctx)
	if err != nil {
		return err
	}
	f, c, err := s.enter(ctx, target, s.files.holder)
	if err != nil {
		return err
	}
	count, id, err := s.moveTo(ctx, old, c)
	if err != nil {
		if f.holder == s.files.holder {
			f.holder = nil // it stays where it is, with the old files
		}
		return errors.Join(fmt.Errorf("save open sessions to %s: %w", target, err), c.close(), f.close())
	}
	// Into the file itself, where another process that lost the same database looks for the reason of this one.
	if _, err := c.write.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		s.notice("moving the log into %s: %v", target, err)
	}
	if f.holder == s.files.holder {
		s.files.holder = nil
	}
	closing := s.files.close()
	s.files, s.dbID, s.gone = f, id, false
	clear(s.heads) // the sessions have other numbers there
	s.mu.Lock()
	s.path, s.conns = target, c
	s.mu.Unlock()
	if err := errors.Join(closing, old.close()); err != nil {
		s.notice("closing the lost database: %v", err)
	}
	s.notice("%v; the open sessions (%d) were saved to %s", gone, count, target)
	return nil
}

// rescueTarget chooses where to go on: at the path, if nothing stands there or what stands there continues the same lost
// database because another process was first; else in a new file beside it. Before, it completes the lost file: whoever
// moved it has all of it then, and no log lies about that could be taken for that of another database.
func (s *Store) rescueTarget(ctx context.Context) (string, error) {
	var busy, frames, moved int
	err := s.conns.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	if err != nil {
		return "", fmt.Errorf("complete the lost database: %w", err)
	}
	_, err = os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if busy == 0 {
			return s.path, removeDatabase(s.path) // what is left is the empty log and its index
		}
	case err != nil:
		return "", err
	case busy == 0 && s.continues(ctx):
		return s.path, nil
	}
	ext := filepath.Ext(s.path)
	return strings.TrimSuffix(s.path, ext) + "-rescued-" + s.cfg.NewID() + ext, nil
}

// continues says that the database at the path was made by another process in place of the same lost one.
func (s *Store) continues(ctx context.Context) bool {
	if s.inspect(ctx, s.path) != nil {
		return false
	}
	conn, err := sqlite.NewConnector(probeDSN(s.path))
	if err != nil {
		return false
	}
	db := sql.OpenDB(conn)
	from, err := getMeta(ctx, db, metaRescued)
	return errors.Join(err, db.Close()) == nil && from == s.dbID
}

// moveTo copies what this process holds from one database to another, in one transaction, and gives the number of sessions
// and the id of the new database.
func (s *Store) moveTo(ctx context.Context, old, fresh *conns) (count int, id string, err error) {
	w := old.write
	if id, err = getMeta(ctx, fresh.write, metaID); err != nil {
		return 0, "", err
	}
	if _, err = w.ExecContext(ctx, "ATTACH ? AS fresh", writerDSN(fresh.path, s.cfg.LockWait)); err != nil {
		return 0, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rollback(w))
		}
		_, detach := w.ExecContext(ctx, "DETACH fresh")
		err = errors.Join(err, detach)
	}()
	if _, err = w.ExecContext(ctx, "PRAGMA fresh.synchronous = FULL; BEGIN IMMEDIATE"); err != nil {
		return 0, "", err
	}
	held, err := strs(ctx, w, "SELECT id FROM main.sessions WHERE holder = ? AND id NOT IN (SELECT id FROM fresh.sessions)", s.holderID)
	if err != nil {
		return 0, "", err
	}
	if err = copySessions(ctx, w, held); err != nil {
		return 0, "", err
	}
	if _, err = w.ExecContext(ctx, "INSERT OR IGNORE INTO fresh.meta (key, value) VALUES (?, ?)", metaRescued, s.dbID); err != nil {
		return 0, "", err
	}
	_, err = w.ExecContext(ctx, "COMMIT")
	return len(held), id, err
}

// copySessions copies all rows of the sessions, tables that others refer to first.
func copySessions(ctx context.Context, w *sql.Conn, ids []string) error {
	tables := []string{"sessions", "messages", "todos", "runs", "tool_calls", "compactions", "events", "inbox", "pins",
		"approvals", "artifacts", "tabs", "drafts", "stars"}
	for _, table := range tables {
		// ord only gives an order, and num only a place; the new database has its own.
		columns, err := strs(ctx, w, "SELECT name FROM pragma_table_info(?) WHERE name <> 'num' AND NOT (name = 'ord' AND pk = 1)", table)
		if err != nil {
			return err
		}
		key, order := "session_id", columns[0]
		if table == "sessions" {
			key = "id"
		}
		var ordered bool
		err = w.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?) WHERE name = 'ord' AND pk = 1)", table).Scan(&ordered)
		if err != nil {
			return err
		}
		if ordered {
			order = "ord"
		}
		names := strings.Join(columns, ", ")
		if at, keyed := map[string]string{"messages": "n", "events": "seq"}[table]; keyed {
			order = at
			columns[slices.Index(columns, "key")] = "(SELECT num << 32 FROM fresh.sessions WHERE id = session_id) | " + at
		}
		query := fmt.Sprintf("INSERT OR IGNORE INTO fresh.%s (%s) SELECT %s FROM main.%s WHERE %s = ? ORDER BY %s",
			table, names, strings.Join(columns, ", "), table, key, order)
		for _, id := range ids {
			if _, err := w.ExecContext(ctx, query, id); err != nil {
				return fmt.Errorf("copy %s of session %s: %w", table, id, err)
			}
		}
	}
	return nil
}

// strs gives one text column.
func strs(ctx context.Context, w *sql.Conn, query string, args ...any) (out []string, err error) {
	rows, err := w.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, closing(rows, err)
		}
		out = append(out, v)
	}
	return out, closing(rows, rows.Err())
}
