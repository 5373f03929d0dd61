package store

import (
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// appID stands in the header of our databases ("Vitr"), so that another program's database is not taken for ours.
const appID = 0x56697472

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are the embedded ones, in order: the n-th brings a database from version n-1 to n.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migration/*.sql")
	if err != nil {
		return nil, err
	}
	var out []string
	for i, name := range names {
		if want := fmt.Sprintf("migration/%04d.sql", i+1); name != want {
			return nil, fmt.Errorf("migration %s: expected %s", name, want)
		}
		body, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, string(body))
	}
	return out, nil
}

// querier is what reads the header: a connection or a pool.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// header is what a database file says of itself.
type header struct {
	version, app int
	// tables says that it holds something; it is read for version 0 only.
	tables bool
}

// fresh says that the file holds nothing yet: it is new, or its making was cut.
func (h header) fresh() bool { return h.version == 0 && h.app == 0 && !h.tables }

func readHeader(ctx context.Context, q querier) (header, error) {
	var h header
	err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&h.version)
	if err != nil {
		return h, err
	}
	if err = q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&h.app); err != nil || h.version != 0 {
		return h, err
	}
	return h, q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema)").Scan(&h.tables)
}

// check refuses what is not ours and what is newer than this program.
func (h header) check(path string, newest int) error {
	switch {
	case h.fresh():
		return nil
	case h.app != appID:
		return &OpenError{Path: path, What: "it belongs to another program", Do: doSetPath}
	case h.version > newest:
		return &NewerError{Path: path, Version: h.version, Max: newest}
	}
	return nil
}

// probe reads the header of a file that exists, changing nothing. What its log says of it counts more: it is newer.
func probe(ctx context.Context, path string) (h header, err error) {
	log, err := walPageOne(path + "-wal")
	if err != nil {
		return h, err
	}
	conn, err := sqlite.NewConnector(probeDSN(path))
	if err != nil {
		return h, err
	}
	db := sql.OpenDB(conn)
	h, err = readHeader(ctx, db)
	if log != nil {
		h.version, h.app = int(binary.BigEndian.Uint32(log[60:])), int(binary.BigEndian.Uint32(log[68:]))
		if code(err) == sqlite3.SQLITE_CORRUPT && h.app == appID {
			err = nil // moving the log into the file was cut, by a full disk or a kill: the log still has it all
		}
	}
	return h, errors.Join(err, db.Close())
}

// migrate brings the database from version from to the newest, each step in a transaction of its own; a new one at once, which is what
// the first start waits for.
func migrate(ctx context.Context, conn *sql.Conn, from int, steps []string, newID func() string) error {
	if from == 0 && len(steps) > 0 {
		if err := migrateOne(ctx, conn, len(steps), strings.Join(steps, "\n;\n"), newID, true); err != nil {
			return errors.Join(fmt.Errorf("make version %d: %w", len(steps), err), rollback(conn))
		}
		return nil
	}
	for v := from; v < len(steps); v++ {
		if err := migrateOne(ctx, conn, v+1, steps[v], newID, false); err != nil {
			return errors.Join(fmt.Errorf("migrate to version %d: %w", v+1, err), rollback(conn))
		}
	}
	return nil
}

func migrateOne(ctx context.Context, conn *sql.Conn, to int, step string, newID func() string, fresh bool) error {
	head := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", appID, to)
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE; "+step+"\n;"+head); err != nil {
		return err
	}
	if fresh {
		if err := setMeta(ctx, conn, metaID, newID()); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, "COMMIT")
	return err
}

// rollback ends a transaction that failed, if SQLite has not done so already.
func rollback(conn *sql.Conn) error {
	_, err := conn.ExecContext(context.Background(), "ROLLBACK")
	return rolledBack(err)
}

// rolledBack is what went wrong with a ROLLBACK, unless there was no transaction any more.
func rolledBack(err error) error {
	const notInTransaction = 1 // SQLITE_ERROR
	if code(err) == notInTransaction {
		return nil
	}
	return err
}

// Keys of the table meta.
const (
	metaID      = "id"           // made with the database
	metaRescued = "rescued_from" // the id of the lost database that this one continues
)

func setMeta(ctx context.Context, conn *sql.Conn, key, value string) error {
	_, err := conn.ExecContext(ctx, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", key, value)
	return err
}

// getMeta gives a value, "" when there is none.
func getMeta(ctx context.Context, q querier, key string) (string, error) {
	var value string
	err := q.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}
