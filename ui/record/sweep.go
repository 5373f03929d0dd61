package record

import (
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/gofrs/flock"
)

// A draft is locked from its making until it has its place or is gone, so one that nobody locks was left by a process that was
// killed: who writes a file of the same name takes it away. Where a file system has no locks nothing is taken away, nor on Windows,
// where a locked file cannot be written by its other handle.

// hasLocks says that drafts are locked.
const hasLocks = goruntime.GOOS != "windows"

// draftTries is how often a draft is made anew that another process took for left behind before it was locked.
const draftTries = 5

// The names of drafts: a point, the name of the file, a number.
const (
	draftStart = "."
	draftEnd   = ".part"
)

// makeDraft makes the file that is to take the place of path, beside it, and locks it. Lock is nil where there are no locks.
func makeDraft(path string) (f *os.File, lock *flock.Flock, err error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	sweep(dir, base)
	for range draftTries {
		if f, err = os.CreateTemp(dir, draftStart+base+"-*"+draftEnd); err != nil {
			return nil, nil, err
		}
		if !hasLocks {
			return f, nil, nil
		}
		lock = flock.New(f.Name(), flock.SetFlag(os.O_RDWR))
		locked, err := lock.TryLock()
		switch {
		case locked && isAt(f):
			return f, lock, nil
		case err != nil && isAt(f): // no locks here: nobody sweeps
			return f, nil, nil
		}
		_ = lock.Close() // somebody sweeps the file away
		_ = f.Close()    // nothing was written
	}
	return nil, nil, errors.New("what is prepared beside it is taken away again and again")
}

// isAt says that the file still has its name.
func isAt(f *os.File) bool {
	there, err := os.Lstat(f.Name())
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(info, there)
}

// sweep removes the drafts of a file that were left behind. What cannot be read, locked or removed stays.
func sweep(dir, base string) {
	if !hasLocks {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // who makes a file there will tell
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isDraft(e.Name(), base) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		lock := flock.New(path, flock.SetFlag(os.O_RDWR))
		if locked, err := lock.TryLock(); err == nil && locked {
			_ = os.Remove(path) // it may be gone, or not ours
		}
		_ = lock.Close() // what it locked is gone
	}
}

// isDraft says that a name is one of a draft of the file base.
func isDraft(name, base string) bool {
	rest, ok := strings.CutPrefix(name, draftStart+base+"-")
	number, part := strings.CutSuffix(rest, draftEnd)
	return ok && part && number != "" && strings.Trim(number, "0123456789") == ""
}
