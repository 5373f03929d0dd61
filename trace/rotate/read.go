package rotate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// openTries is how often the set is opened again when it was moved meanwhile.
const openTries = 100

// errMoving says that the set was moved each time that it was opened.
var errMoving = errors.New("it is moved all the time")

// Open opens the files of the set as one stream, the oldest first. What is appended meanwhile to the newest is read too; a file
// that is begun later is not. It fails with fs.ErrNotExist when there is none.
func (f File) Open() (io.ReadCloser, error) {
	path := target(f.Path)
	for range openTries {
		s, err := f.openSet(path)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", f.What, err)
		}
		if len(s.files) == 0 {
			return nil, fmt.Errorf("open %s: %w", f.What, &fs.PathError{Op: "open", Path: f.Path, Err: fs.ErrNotExist})
		}
		// The newest was opened first. When it still has its name, the others moved by one place at most, and none was passed over.
		if at(s.files[0], s.files[0].Name()) {
			return s.start(), nil
		}
		if err := s.Close(); err != nil {
			return nil, fmt.Errorf("close %s: %w", f.What, err)
		}
	}
	return nil, fmt.Errorf("open %s: %w", f.What, errMoving)
}

// Size is how many files of the set there are, and their bytes.
func (f File) Size() (files int, bytes int64, err error) {
	path := target(f.Path)
	for i := range f.count() {
		info, err := os.Stat(numbered(path, i))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return files, bytes, fmt.Errorf("look at %s: %w", f.What, err)
		}
		if info.Mode().IsRegular() {
			files++
			bytes += info.Size()
		}
	}
	return files, bytes, nil
}

// count is how many files there may be.
func (f File) count() int { return max(f.Files, 1) }

// set is the open files of a set.
type set struct {
	io.Reader
	files []*os.File // the newest first
}

func (f File) openSet(path string) (*set, error) {
	s := &set{}
	for i := range f.count() {
		in, err := os.Open(numbered(path, i))
		if errors.Is(err, fs.ErrNotExist) {
			continue // between two moves, or after a crash in there
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		if n := len(s.files); n > 0 && same(s.files[n-1], in) { // it moved on in between
			if err := in.Close(); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			continue
		}
		s.files = append(s.files, in)
	}
	return s, nil
}

// same says that both are one file.
func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// start makes one stream of the files.
func (s *set) start() *set {
	var all []io.Reader
	for _, in := range slices.Backward(s.files) {
		all = append(all, in)
	}
	s.Reader = io.MultiReader(all...)
	return s
}

// Close closes all files.
func (s *set) Close() error {
	var errs []error
	for _, in := range s.files {
		errs = append(errs, in.Close())
	}
	return errors.Join(errs...)
}
