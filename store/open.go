package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// What the user can do about a database that cannot be opened.
const (
	doSetPath   = "set AGENT_DB_PATH to another file"
	doSetFolder = "set AGENT_DB_PATH to a file in a folder where you can write"
	doLocal     = "set AGENT_DB_PATH to a file on a local disk"
)

// openWait bounds the wait for another process that is opening the same database.
const openWait = 10 * time.Second

// files are the side files of a database: the locks and this process's holder file.
type files struct {
	life   *fileLock  // held shared for life, exclusively while migrating
	gate   *turnstile // before each transaction
	holder *holder
}

func (f *files) close() error {
	if f == nil {
		return nil
	}
	return errors.Join(f.gate.close(), f.holder.close(), f.life.close())
}

// locksDir is the folder of the lock files of a database.
func locksDir(path string) string { return path + "-locks" }

// resolve checks that the path can hold a database and makes it absolute, links followed. It changes nothing.
func (s *Store) resolve(path string) (string, error) {
	if path == "" {
		return "", &OpenError{Path: `""`, What: "the path is empty", Do: doSetPath}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", &OpenError{Path: path, What: "the working folder is unknown", Err: err, Do: doSetPath}
	}
	info, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return s.resolveNew(abs)
	}
	if err != nil {
		return "", &OpenError{Path: abs, What: "it cannot be reached", Err: err, Do: doSetFolder}
	}
	if !info.Mode().IsRegular() {
		return "", &OpenError{Path: abs, What: "it is not a file", Do: doSetPath}
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", &OpenError{Path: path, What: "its links cannot be followed", Err: err, Do: doSetPath}
	}
	if err := writable(abs, info); err != nil {
		return "", &OpenError{Path: abs, What: "the file is read-only", Err: err, Do: "make it writable, or " + doSetPath}
	}
	return abs, s.checkFolder(abs, filepath.Dir(abs))
}

// resolveNew is resolve for a file that does not exist yet: the nearest folder that does must take it.
func (s *Store) resolveNew(abs string) (string, error) {
	if _, err := os.Lstat(abs); err == nil {
		return "", &OpenError{Path: abs, What: "it is a link to a file that does not exist", Do: doSetPath}
	}
	dir := filepath.Dir(abs)
	for {
		_, err := os.Stat(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", &OpenError{Path: abs, What: "the folder " + dir + " cannot be reached", Err: err, Do: doSetFolder}
		}
		dir = filepath.Dir(dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &OpenError{Path: abs, What: "its links cannot be followed", Err: err, Do: doSetPath}
	}
	rest, err := filepath.Rel(dir, abs)
	if err != nil {
		return "", &OpenError{Path: abs, What: "its folder is unknown", Err: err, Do: doSetPath}
	}
	abs = filepath.Join(real, rest)
	return abs, s.checkFolder(abs, real)
}

// checkFolder refuses a folder that is read-only or on a file system that SQLite cannot work on.
func (s *Store) checkFolder(path, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return &OpenError{Path: path, What: "the folder " + dir + " cannot be reached", Err: err, Do: doSetFolder}
	}
	if !info.IsDir() {
		return &OpenError{Path: path, What: dir + " is not a folder", Do: doSetFolder}
	}
	name, err := s.cfg.DetectFS(dir)
	if err != nil {
		return &OpenError{Path: path, What: "the file system of " + dir + " cannot be told", Err: err, Do: doLocal}
	}
	if name != "" {
		return &OpenError{Path: path, What: "the folder " + dir + " is on a network file system (" + name +
			"), where a database can be damaged", Do: doLocal}
	}
	if err := writable(dir, info); err != nil {
		return &OpenError{Path: path, What: "the folder " + dir + " is read-only", Err: err, Do: doSetFolder}
	}
	return nil
}

// inspect refuses a file that is no database of ours, or a newer one. A missing or empty file passes. It changes nothing.
func (s *Store) inspect(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return openFailed(path, err)
	}
	h, err := probe(ctx, path)
	if err != nil {
		return openFailed(path, err)
	}
	return h.check(path, len(s.steps))
}

// enter opens the database at path, which may not exist, and its side files. The open lock is held meanwhile, so that one
// process at a time makes, migrates and cleans. old is the holder file to keep, if this process has one there.
func (s *Store) enter(ctx context.Context, path string, old *holder) (f *files, c *conns, err error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, nil, openFailed(path, err)
	}
	locks := locksDir(path)
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, nil, openFailed(path, err)
	}
	open, err := openLock(filepath.Join(locks, "open"))
	if err != nil {
		return nil, nil, openFailed(path, err)
	}
	defer func() {
		if err = errors.Join(err, open.close()); err != nil {
			err = errors.Join(err, c.close(), f.close())
			f, c = nil, nil
		}
	}()
	if err := open.acquire(ctx, s.cfg.Clock, openWait); err != nil {
		return nil, nil, &OpenError{Path: path, What: "another process is opening it", Err: err, Do: "try again"}
	}
	if err := s.cfg.Faults.Hit("open.locked"); err != nil {
		return nil, nil, openFailed(path, err)
	}
	f = &files{}
	if f.life, err = openLock(filepath.Join(locks, "life")); err != nil {
		return f, nil, openFailed(path, err)
	}
	if c, err = s.openDatabase(ctx, path, f.life); err != nil {
		return f, nil, err
	}
	if err := s.cfg.Faults.Hit("open.prepared"); err != nil {
		return f, c, openFailed(path, err)
	}
	if f.gate, err = openTurnstile(locks); err != nil {
		return f, c, openFailed(path, err)
	}
	if err := cleanHolders(holdersDir(path)); err != nil {
		return f, c, openFailed(path, err)
	}
	if old != nil && old.inPlace(holdersDir(path)) {
		f.holder = old
		return f, c, nil
	}
	info := holderInfo{PID: os.Getpid(), Program: filepath.Base(os.Args[0]), Database: path, StartedAt: s.cfg.Clock.Now().UTC()}
	if f.holder, err = newHolder(holdersDir(path), s.holderID, info); err != nil {
		return f, c, openFailed(path, err)
	}
	return f, c, nil
}

// openDatabase opens the file, making and migrating it where needed, and takes the life lock shared. A file that it made is
// taken away again when that fails.
func (s *Store) openDatabase(ctx context.Context, path string, life *fileLock) (c *conns, err error) {
	made, err := makeFile(path)
	if err != nil {
		return nil, openFailed(path, err)
	}
	defer func() {
		if err != nil && made {
			err = errors.Join(err, removeDatabase(path))
		}
	}()
	if err = s.cfg.Faults.Hit("open.made"); err != nil {
		return nil, openFailed(path, err)
	}
	if c, err = openConns(ctx, path, s.cfg.LockWait); err != nil {
		return nil, openFailed(path, err)
	}
	if err = s.prepare(ctx, c, life); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// prepare checks, migrates and sets up an open database.
func (s *Store) prepare(ctx context.Context, c *conns, life *fileLock) error {
	h, err := readHeader(ctx, c.write)
	if err != nil {
		return openFailed(c.path, err)
	}
	if err := h.check(c.path, len(s.steps)); err != nil {
		return err
	}
	var mode string
	if err := c.write.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return openFailed(c.path, err)
	}
	if mode != "wal" {
		return &OpenError{Path: c.path, What: "the folder " + filepath.Dir(c.path) + " cannot hold a shared log (journal mode " + mode + ")",
			Do: doLocal}
	}
	if err := tryWrite(ctx, c.write); err != nil {
		return openFailed(c.path, err)
	}
	if h.version < len(s.steps) {
		if err := s.migrateAlone(ctx, c, h.version, life); err != nil {
			return err
		}
	}
	ok, err := life.try(false)
	if err == nil && !ok {
		err = errLockBusy
	}
	if err == nil {
		err = c.warm(ctx)
	}
	if err != nil {
		return openFailed(c.path, err)
	}
	return nil
}

// tryWrite finds out whether writing is possible at all: a log whose index cannot be written is not noticed by reading.
func tryWrite(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	if code(err) == sqlite3.SQLITE_BUSY {
		return nil // somebody writes, so it is
	}
	return errors.Join(err, rollback(conn))
}

// migrateAlone migrates, for which no other process may have the database open.
func (s *Store) migrateAlone(ctx context.Context, c *conns, from int, life *fileLock) error {
	if from > 0 {
		alone, err := life.try(true)
		if err != nil {
			return openFailed(c.path, err)
		}
		if !alone {
			return s.inUse(c.path, from)
		}
	}
	if err := migrate(ctx, c.write, from, s.steps, s.cfg.NewID); err != nil {
		return openFailed(c.path, err)
	}
	if from > 0 {
		return life.release()
	}
	return nil
}

// inUse names who stands in the way of a migration.
func (s *Store) inUse(path string, from int) error {
	who := "another process"
	for _, info := range livingHolders(holdersDir(path), path) {
		who = fmt.Sprintf("process %d (%s)", info.PID, info.Program)
	}
	return &OpenError{Path: path, Do: "close it and start again", What: fmt.Sprintf(
		"it has version %d and must be brought to version %d, but %s has it open", from, len(s.steps), who)}
}

// makeFolder makes the folder of the database. One that we made keeps itself out of version control.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// makeFile makes an empty file for the database, for its owner only; the log and the index get the same rights.
func makeFile(path string) (made bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// removeDatabase removes a database that we made and could not finish.
func removeDatabase(path string) error {
	var errs []error
	for _, p := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// openFailed makes one line of what went wrong while opening.
func openFailed(path string, err error) error {
	var known *OpenError
	var newer *NewerError
	if errors.As(err, &known) || errors.As(err, &newer) {
		return err
	}
	dir := filepath.Dir(path)
	if noRoomForMemory(err) {
		return &OpenError{Path: path, What: "the disk is full", Err: err, Do: "make room, or " + doSetPath}
	}
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		return &OpenError{Path: path, What: "the file is not a database", Err: err, Do: doSetPath}
	case sqlite3.SQLITE_CORRUPT:
		return &OpenError{Path: path, What: "the database is damaged", Err: err, Do: "restore a copy, or " + doSetPath}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return &OpenError{Path: path, What: "another program has it locked", Err: err, Do: "close that program, or " + doSetPath}
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return &OpenError{Path: path, What: "the folder " + dir + " cannot be used for a database", Err: err, Do: doLocal}
	}
	switch causeOf(err) {
	case CauseDiskFull:
		return &OpenError{Path: path, What: "the disk is full", Err: err, Do: "make room, or " + doSetPath}
	case CauseReadOnly:
		return &OpenError{Path: path, What: "there is no right to write in " + dir, Err: err, Do: doSetFolder}
	}
	return &OpenError{Path: path, What: "it failed", Err: err, Do: doSetFolder}
}
