package trace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

const (
	// lockWait is how long another process may hold the file's lock before that counts as a failure.
	lockWait = 2 * time.Second
	// firstPause and lastPause are the waits between two looks at the lock.
	firstPause = time.Millisecond
	lastPause  = 20 * time.Millisecond
)

// appendLines adds lines to the file, under its lock, in one write that begins with a line feed if the file does not end in
// one: a crash, of this process or another, may have left half a line. It says how many bytes of lines are in the file.
// The file is opened each time, so that one that was moved away is made anew.
func (w *Writer) appendLines(ctx context.Context, lines []byte) (n int, err error) {
	if w.cfg.Fault != nil {
		if err := w.cfg.Fault("jsonl.before"); err != nil {
			return 0, fmt.Errorf("write trace %s: %w", w.cfg.Path, err)
		}
	}
	f, err := openTrace(w.cfg.Path)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := f.Close(); cerr != nil && err == nil {
			err = fmt.Errorf("close trace: %w", cerr)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at trace: %w", err)
	}
	var first []byte
	if info.Mode().IsRegular() { // a device or a pipe has neither an end nor readers that need the lock
		unlock, err := w.lock(ctx)
		if err != nil {
			return 0, err
		}
		defer unlock()
		if first, err = missingFeed(f); err != nil {
			return 0, err
		}
	}
	n, err = f.Write(slices.Concat(first, lines))
	n = max(n-len(first), 0)
	if err != nil {
		return n, fmt.Errorf("write trace: %w", err)
	}
	if w.cfg.Fault != nil {
		_ = w.cfg.Fault("jsonl.after") // the lines are in; failing now would write them twice
	}
	return n, nil
}

// openTrace opens the file to append to it, making it and its folder if they are missing.
func openTrace(path string) (*os.File, error) {
	open := func() (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600) }
	f, err := open()
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("make folder of trace: %w", err)
		}
		f, err = open()
	}
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	return f, nil
}

// makeFolder makes a folder that is missing; one of ours keeps itself out of the user's commits.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// lock takes the lock of the file, which is one beside it: some systems would keep readers from a file that is locked.
func (w *Writer) lock(ctx context.Context) (unlock func(), err error) {
	l := flock.New(w.cfg.Path+".lock", flock.SetPermissions(0o600))
	end := w.cfg.Clock.Now().Add(lockWait)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ok, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock trace: %w", err)
		}
		if ok {
			return func() { _ = l.Unlock() }, nil
		}
		if !w.cfg.Clock.Now().Before(end) {
			return nil, fmt.Errorf("lock trace %s: another process holds it", w.cfg.Path)
		}
		if err := w.cfg.Clock.Sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("lock trace: %w", err)
		}
	}
}

// missingFeed is a line feed if the file has bytes and does not end in one.
func missingFeed(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at trace: %w", err)
	}
	if info.Size() == 0 {
		return nil, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return nil, fmt.Errorf("read end of trace: %w", err)
	}
	if last[0] == '\n' {
		return nil, nil
	}
	return newline, nil
}
