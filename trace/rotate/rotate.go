// Package rotate appends lines to files that never grow past a bound.
//
// A File is a set of files: the one at its path gets the lines; once the next line would not fit, it is renamed (t.jsonl to
// t.1.jsonl, that to t.2.jsonl), a new one is begun, and the oldest goes. All of it happens under one lock between processes,
// after which a writer looks whether the file at the path still is the one that it opened. Lines are never cut or split by
// it, and a reader that follows the path (tail -F) sees each of them: files are renamed, never truncated. Open gives the whole
// set to readers, oldest first.
//
// The trace file and the log of the program are such files.
package rotate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"vitrine/runtime/clock"
)

const (
	// lockWait is how long another process may hold the lock before that counts as a failure.
	lockWait = 2 * time.Second
	// firstPause and lastPause are the waits between two looks at the lock.
	firstPause = time.Millisecond
	lastPause  = 20 * time.Millisecond
	// linkBound is how many links are followed to the file.
	linkBound = 40
)

// File is a set of files that together hold at most MaxBytes times Files bytes, as long as no line is longer than MaxBytes: such
// a line gets a file of its own. It keeps nothing open; its methods are safe for concurrent use,
// also by several processes.
type File struct {
	// Path is the newest file. A link is followed: the set is where it leads to.
	Path string
	// What the file is called in errors, such as trace.
	What string
	// MaxBytes is the size of one file, 0 is no bound; Files is how many there are, the newest included, at least one.
	MaxBytes int64
	Files    int
	// Clock is needed by Append.
	Clock clock.Clock
	// Fault, if any, is called before a full file is moved; its error is that of the move.
	Fault func() error
}

// Append adds lines, each with its line feed, in as few writes as there are files to write to, beginning with a line feed if
// the file does not end in one: a crash, of this process or another, may have left half a line. It says how many bytes of lines
// are in, also when it fails. A full file that cannot be moved is a failure: what is bounded stays so. What is no regular
// file, such as a device or a pipe, gets the lines and nothing else is done about it.
func (f File) Append(ctx context.Context, lines [][]byte) (n int, err error) {
	out, err := f.open(f.Path)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := out.Close(); cerr != nil && err == nil && !errors.Is(cerr, fs.ErrClosed) {
			err = fmt.Errorf("close %s: %w", f.What, cerr)
		}
	}()
	info, err := out.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", f.What, err)
	}
	if !info.Mode().IsRegular() {
		return f.write(out, nil, lines)
	}
	path := target(f.Path)
	unlock, err := f.lock(ctx, path)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if !at(out, path) { // another process moved it while this one waited
		if out, err = f.reopen(out, path); err != nil {
			return 0, err
		}
	}
	for len(lines) > 0 {
		size, feed, err := f.end(out)
		if err != nil {
			return n, err
		}
		count := f.fitting(size+int64(len(feed)), lines)
		if count == 0 {
			if out, err = f.renew(out, path, feed); err != nil {
				return n, err
			}
			continue
		}
		w, err := f.write(out, feed, lines[:count])
		n += w
		if err != nil {
			return n, err
		}
		lines = lines[count:]
	}
	return n, nil
}

// fitting is how many of the lines go into a file of that size; one always goes into an empty file.
func (f File) fitting(size int64, lines [][]byte) (count int) {
	for _, l := range lines {
		if next := size + int64(len(l)); f.MaxBytes <= 0 || next <= f.MaxBytes || size == 0 {
			size = next
			count++
			continue
		}
		break
	}
	return count
}

// write gives how many bytes of lines, without the feed before them, were written.
func (f File) write(out *os.File, feed []byte, lines [][]byte) (n int, err error) {
	n, err = out.Write(slices.Concat(feed, slices.Concat(lines...)))
	n = max(n-len(feed), 0)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", f.What, err)
	}
	return n, nil
}

// end gives the file's size, and a line feed if it has bytes and does not end in one.
func (f File) end(out *os.File) (size int64, feed []byte, err error) {
	info, err := out.Stat()
	if err != nil {
		return 0, nil, fmt.Errorf("look at %s: %w", f.What, err)
	}
	if info.Size() == 0 {
		return 0, nil, nil
	}
	var last [1]byte
	if _, err := out.ReadAt(last[:], info.Size()-1); err != nil {
		return 0, nil, fmt.Errorf("read end of %s: %w", f.What, err)
	}
	if last[0] != '\n' {
		feed = []byte("\n")
	}
	return info.Size(), feed, nil
}

// renew moves the full file away and opens a new one. The old one gets its line feed first, so that the files can be read one
// behind the other.
func (f File) renew(out *os.File, path string, feed []byte) (*os.File, error) {
	if len(feed) > 0 {
		if _, err := f.write(out, feed, nil); err != nil {
			return out, err
		}
	}
	// Some systems move no file that is open.
	if err := errors.Join(out.Close(), f.move(path)); err != nil {
		return out, fmt.Errorf("rotate %s: %w", f.What, err)
	}
	return f.reopen(out, path)
}

// move makes room at path. A number that is free, because a process died while it moved files, is filled before any file goes.
func (f File) move(path string) error {
	if f.Files < 2 {
		if err := f.fault(); err != nil {
			return err
		}
		return os.Remove(path)
	}
	free := 1
	for ; free < f.Files-1; free++ {
		if _, err := os.Lstat(numbered(path, free)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	for i := free; i > 1; i-- {
		if err := os.Rename(numbered(path, i-1), numbered(path, i)); err != nil {
			return err
		}
	}
	if err := f.fault(); err != nil {
		return err
	}
	return os.Rename(path, numbered(path, 1))
}

func (f File) fault() error {
	if f.Fault == nil {
		return nil
	}
	return f.Fault()
}

// open opens a file to append to it, making it and its folder if they are missing.
func (f File) open(path string) (*os.File, error) {
	open := func() (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600) }
	out, err := open()
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("make folder of %s: %w", f.What, err)
		}
		out, err = open()
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.What, err)
	}
	return out, nil
}

// reopen opens the file that stands at path in the place of out. When it fails, out stays, closed.
func (f File) reopen(out *os.File, path string) (*os.File, error) {
	_ = out.Close() // closed already, or nothing was written to it
	fresh, err := f.open(path)
	if err != nil {
		return out, err
	}
	return fresh, nil
}

// lock takes the lock of the file at path, which is one beside it: some systems would keep readers from a file that is locked.
func (f File) lock(ctx context.Context, path string) (unlock func(), err error) {
	l := flock.New(path+".lock", flock.SetPermissions(0o600))
	end := f.Clock.Now().Add(lockWait)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ok, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", f.What, err)
		}
		if ok {
			return func() { _ = l.Unlock() }, nil
		}
		if !f.Clock.Now().Before(end) {
			return nil, fmt.Errorf("lock %s %s: another process holds it", f.What, path)
		}
		if err := f.Clock.Sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("lock %s: %w", f.What, err)
		}
	}
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

// target is where the links at path lead to, which need not exist: a link must stay when the file behind it is moved.
func target(path string) string {
	for range linkBound {
		to, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return path
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return path
}

// at says that path leads to the open file.
func at(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// numbered is the name of the i-th file behind the newest: t.jsonl, t.1.jsonl, t.2.jsonl.
func numbered(path string, i int) string {
	if i == 0 {
		return path
	}
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "." + strconv.Itoa(i) + ext
}
