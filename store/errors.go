package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"vitrine/runtime"
)

// Cause is why a commit's outcome is unknown, as far as it is known.
type Cause string

// The causes.
const (
	CauseDiskFull Cause = "disk full"
	CauseIO       Cause = "input/output error"
	CauseBusy     Cause = "database is busy"
	CauseReadOnly Cause = "read-only"
	CauseCorrupt  Cause = "database is damaged"
	CauseFileGone Cause = "database file is gone"
	CauseOther    Cause = "database error"
)

// CommitError is a commit whose outcome is unknown: it may turn out to be stored. Ask Applied, and if it is not in, commit
// the same transaction again.
type CommitError struct {
	Cause Cause
	Path  string
	Err   error
}

// Error names the cause and the database.
func (e *CommitError) Error() string {
	return fmt.Sprintf("commit to %s: %s: %v", e.Path, e.Cause, e.Err)
}

// Unwrap is the error beneath.
func (e *CommitError) Unwrap() error { return e.Err }

// FileGoneError says that the database file was deleted or renamed under the program, or that another file took its place.
type FileGoneError struct {
	Path     string
	Replaced bool
}

// Error says what is seen at the path.
func (e *FileGoneError) Error() string {
	if e.Replaced {
		return e.Path + " is another file than the one that was opened"
	}
	return e.Path + " was deleted or renamed while it was open"
}

// OpenError is a database that was not opened. Nothing was changed.
type OpenError struct {
	Path string
	// What is wrong, and what to do about it.
	What, Do string
	Err      error
}

// Error is one line: path, what is wrong, what to do.
func (e *OpenError) Error() string {
	text := "cannot open database " + e.Path + ": " + e.What
	if e.Err != nil && code(e.Err) != sqlite3.SQLITE_NOTADB { // of which What says as much
		text += ": " + plain(e.Err)
	}
	if e.Do != "" {
		text += "; " + e.Do
	}
	return text
}

// Unwrap is the error beneath, which may be nil.
func (e *OpenError) Unwrap() error { return e.Err }

// plain is a path error without its path, which the line names already.
func plain(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// NewerError says that a database was made by a newer program.
type NewerError struct {
	Path         string
	Version, Max int
}

// Error names the path and both versions.
func (e *NewerError) Error() string {
	return fmt.Sprintf("cannot open database %s: it has version %d and this program knows versions up to %d; "+
		"use a newer vitrine, or set AGENT_DB_PATH to another file", e.Path, e.Version, e.Max)
}

// refused says that a job failed for a reason of its own: it alone is rolled back, and trying again cannot help.
func refused(err error) bool {
	for _, known := range []error{runtime.ErrNotFound, runtime.ErrHeld, runtime.ErrFenced, runtime.ErrConstraint, runtime.ErrOtherUser, runtime.ErrStale} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// constraint makes an error of ErrConstraint.
func constraint(format string, args ...any) error {
	return fmt.Errorf("%w: %w", runtime.ErrConstraint, fmt.Errorf(format, args...))
}

// code is the primary SQLite result code in err, 0 when there is none.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// noRoomForMemory says that the file of shared memory beside the database could not grow: the disk is full.
func noRoomForMemory(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}

// sqlError says what was being done, and turns what SQLite refuses for good into ErrConstraint.
func sqlError(doing string, err error) error {
	switch code(err) {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return constraint("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// commitError classes an infrastructure failure by its code.
func commitError(path string, err error) error {
	var known *CommitError
	if errors.As(err, &known) {
		return err
	}
	return &CommitError{Cause: causeOf(err), Path: path, Err: &told{err}}
}

// told is an error of SQLite in words alone: its codes are for us, not for who reads it.
type told struct{ err error }

// Error leaves the codes behind the words out.
func (t *told) Error() string { return withoutCodes(t.err.Error()) }

// Is and As look into what is told of; there is no Unwrap, so that the words are the end of the chain.
func (t *told) Is(target error) bool { return errors.Is(t.err, target) }
func (t *told) As(target any) bool   { return errors.As(t.err, target) }

// withoutCodes cuts what the driver puts behind the words: " (5) (SQLITE_BUSY)".
func withoutCodes(s string) string {
	out := ""
	for {
		before, rest, found := strings.Cut(s, " (")
		inside, after, closed := strings.Cut(rest, ")")
		if !found || !closed {
			return out + s
		}
		out += before
		if strings.Trim(inside, "0123456789") != "" && !strings.HasPrefix(inside, "SQLITE_") {
			out += " (" + inside + ")"
		}
		s = after
	}
}

func causeOf(err error) Cause {
	var gone *FileGoneError
	switch {
	case errors.As(err, &gone):
		return CauseFileGone
	case errors.Is(err, errLockBusy), errors.Is(err, context.DeadlineExceeded):
		return CauseBusy
	}
	if noRoomForMemory(err) {
		return CauseDiskFull
	}
	switch code(err) {
	case sqlite3.SQLITE_FULL:
		return CauseDiskFull
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return CauseIO
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return CauseBusy
	case sqlite3.SQLITE_READONLY:
		return CauseReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return CauseCorrupt
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return CauseDiskFull
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return CauseReadOnly
	case errors.Is(err, syscall.EIO), errors.Is(err, fs.ErrNotExist):
		return CauseIO
	}
	return CauseOther
}
