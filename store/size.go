package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modernc.org/sqlite"
)

// sizePage is how many artifacts are measured with one cursor.
const sizePage = 2000

// Size is what a database holds.
type Size struct {
	// Sessions, Messages and Events are counts of all users.
	Sessions, Messages, Events int64
	// Artifacts is how many there are, ArtifactBytes what they hold.
	Artifacts, ArtifactBytes int64
	// File, Log and Free are bytes: of the database, of the log beside it, and within the database of what holds nothing.
	File, Log, Free int64
	// Partial says that the counts leave out what is only in the log, because nobody has the database open and looking into
	// the log would change it.
	Partial bool
}

// Measure says what the database at path holds. Like Inspect it opens nothing for use and changes nothing. The path is as
// Inspect gives it; a database that is not there or empty holds nothing.
func Measure(ctx context.Context, path string) (size Size, err error) {
	if size.File, err = bytesOf(path); err != nil || size.File == 0 {
		return size, err
	}
	if size.Log, err = bytesOf(path + "-wal"); err != nil {
		return size, err
	}
	// Who reads the log needs its index, and the last one to leave clears both away. A living process keeps them.
	name := readerOnlyDSN(path)
	if len(livingHolders(holdersDir(path), path)) == 0 {
		name, size.Partial = probeDSN(path), size.Log > 0
	}
	conn, err := sqlite.NewConnector(name)
	if err != nil {
		return size, fmt.Errorf("connect to %s: %w", path, err)
	}
	db := sql.OpenDB(conn)
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if err := size.count(ctx, db); err != nil {
		return size, fmt.Errorf("measure %s: %w", path, err)
	}
	return size, nil
}

func (s *Size) count(ctx context.Context, db *sql.DB) error {
	h, err := readHeader(ctx, db)
	if err != nil || h.app != appID || h.version == 0 {
		return err
	}
	if _, s.Free, err = pageBytes(ctx, db); err != nil {
		return err
	}
	// Numbers are given out without gaps, so nothing needs to be counted.
	err = db.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(next_n - 1), 0), coalesce(sum(next_seq - 1), 0) FROM sessions").
		Scan(&s.Sessions, &s.Messages, &s.Events)
	if err != nil {
		return err
	}
	for last, more := int64(0), true; more; {
		var count, bytes int64
		err := db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(bytes), 0), coalesce(max(row), 0) FROM (
			SELECT rowid AS row, octet_length(content) AS bytes FROM artifacts WHERE rowid > ? ORDER BY rowid LIMIT ?)`, last, sizePage).
			Scan(&count, &bytes, &last)
		if err != nil {
			return err
		}
		s.Artifacts += count
		s.ArtifactBytes += bytes
		more = count == sizePage
	}
	return nil
}

// bytesOf is 0 for a file that is not there.
func bytesOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
