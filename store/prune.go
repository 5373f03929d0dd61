package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"

	"vitrine/runtime"
)

const (
	// pruneSessions and pruneMessages bound what one transaction deletes, so that other processes wait for no longer than for
	// any other one. A session is not divided.
	pruneSessions = 20
	pruneMessages = 2000
)

// Prune deletes those sessions of the user that still are as list has them: what was changed since, is held by a process, has
// a star or stands open as a tab stays. It says how many went, with how many messages, also when it fails on the way.
func (s *Store) Prune(ctx context.Context, user string, list []runtime.SessionInfo) (sessions int, messages int64, err error) {
	for len(list) > 0 {
		end, size := 0, int64(0)
		for end < len(list) && end < pruneSessions && (end == 0 || size+list[end].Messages <= pruneMessages) {
			size += list[end].Messages
			end++
		}
		var gone []string
		var rows int64
		err := s.do(ctx, func(t *txn) error {
			gone, rows = nil, 0
			for _, info := range list[:end] {
				n, ok, err := s.pruneOne(t, user, info)
				if err != nil {
					return err
				}
				if ok {
					gone = append(gone, info.ID)
					rows += n
				}
			}
			return nil
		})
		if err != nil {
			return sessions, messages, fmt.Errorf("prune sessions: %w", err)
		}
		s.dropAside(ctx, gone...)
		sessions, messages = sessions+len(gone), messages+rows
		list = list[end:]
	}
	return sessions, messages, nil
}

// pruneOne deletes one session unless something speaks for it, and says how many messages it had.
func (s *Store) pruneOne(t *txn, user string, info runtime.SessionInfo) (messages int64, deleted bool, err error) {
	row, err := t.session(info.ID)
	if errors.Is(err, runtime.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if row.UserID != user || row.Fence.Holder == s.holderID || micros(row.UpdatedAt) != micros(info.UpdatedAt) || row.NextN-1 != info.Messages {
		return 0, false, nil
	}
	if err := s.heldElsewhere(row.ID, row.Fence.Holder); err != nil {
		if errors.Is(err, runtime.ErrHeld) {
			err = nil
		}
		return 0, false, err
	}
	deleted, err = t.execOne("DELETE FROM sessions WHERE id = ? AND id NOT IN (SELECT session_id FROM tabs) AND id NOT IN (SELECT session_id FROM stars)", row.ID)
	if err != nil {
		return 0, false, sqlError("delete", err)
	}
	return row.NextN - 1, deleted, nil
}

// Shrunk is what came of giving space back.
type Shrunk struct {
	// Freed is how many bytes smaller the database is, Left how many within it hold nothing.
	Freed, Left int64
	// Why says why nothing was given back although there is something; it stays for what is stored next.
	Why string
}

// Shrink gives the space that deleted rows left behind back to the disk, by writing the database anew. It does so only while no
// other process has the database open, which would have to wait for it; one that comes meanwhile waits at the door.
// Cancelling ctx ends it and changes nothing.
func (s *Store) Shrink(ctx context.Context) (Shrunk, error) {
	var out Shrunk
	j := &job{}
	j.alone = func() (err error) {
		out, err = s.shrink(ctx)
		return err
	}
	if err := s.submit(ctx, j); err != nil {
		return Shrunk{}, fmt.Errorf("shrink %s: %w", s.Path(), err)
	}
	return out, nil
}

// shrink runs as the writer.
func (s *Store) shrink(ctx context.Context) (out Shrunk, err error) {
	if err := s.ready(ctx); err != nil {
		return out, commitError(s.path, err)
	}
	before, free, err := pageBytes(ctx, s.conns.write)
	if err != nil || free == 0 {
		return out, err
	}
	open, err := openLock(filepath.Join(locksDir(s.path), "open"))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	if err := open.acquire(ctx, s.cfg.Clock, s.cfg.LockWait); errors.Is(err, errLockBusy) {
		return Shrunk{Left: free, Why: "another process is opening it"}, nil
	} else if err != nil {
		return out, err
	}
	// While the open lock is held nobody takes the life lock exclusively, so it is to be had again.
	alone, err := s.alone()
	defer func() {
		_, lerr := s.files.life.try(false)
		err = errors.Join(err, lerr)
	}()
	if err != nil {
		return out, err
	}
	if !alone {
		return Shrunk{Left: free, Why: opener(s.path) + " has it open"}, nil
	}
	switch err := s.rewrite(ctx); {
	case err != nil && ctx.Err() != nil:
		return out, context.Cause(ctx)
	case code(err) == sqlite3.SQLITE_FULL, causeOf(err) == CauseDiskFull:
		return Shrunk{Left: free, Why: "the disk has no room for the copy that it takes"}, nil
	case err != nil && causeOf(err) == CauseBusy:
		return Shrunk{Left: free, Why: "another program has it locked"}, nil
	case err != nil:
		s.reconnect(ctx)
		return out, commitError(s.path, err)
	}
	after, left, err := pageBytes(ctx, s.conns.write)
	return Shrunk{Freed: before - after, Left: left}, err
}

// alone takes the life lock exclusively, which this process holds shared, if no other process has it. Afterwards it may not
// have it at all: not every system turns one into the other.
func (s *Store) alone() (bool, error) {
	if err := s.files.life.release(); err != nil {
		return false, err
	}
	return s.files.life.try(true)
}

// rewrite writes the database anew, without its free pages, and moves the log into it.
func (s *Store) rewrite(ctx context.Context) error {
	if err := s.files.gate.acquire(ctx, s.cfg.Clock, s.cfg.LockWait); err != nil {
		return err
	}
	_, err := s.conns.write.ExecContext(ctx, "VACUUM")
	if err == nil {
		var busy, frames, moved int
		err = s.conns.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	}
	return errors.Join(err, s.files.gate.release())
}

// opener names another process that has the database at path open.
func opener(path string) string {
	for _, info := range livingHolders(holdersDir(path), path) {
		if info.PID != os.Getpid() {
			return fmt.Sprintf("process %d (%s)", info.PID, info.Program)
		}
	}
	return "another process"
}

// pageBytes is the size of a database, and of the pages in it that hold nothing.
func pageBytes(ctx context.Context, q querier) (all, free int64, err error) {
	var size int64
	for _, p := range []struct {
		name string
		to   *int64
	}{{"page_size", &size}, {"page_count", &all}, {"freelist_count", &free}} {
		if err := q.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(p.to); err != nil {
			return 0, 0, fmt.Errorf("read %s: %w", p.name, err)
		}
	}
	return all * size, free * size, nil
}
