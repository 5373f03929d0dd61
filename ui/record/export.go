package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Files are what is made from a cast; an empty path is not wanted.
type Files struct{ GIF, SVG, Text string }

// Export makes files from a cast on the disk, each complete or not there. When it fails, or ctx ends, what was there before is as
// it was. An error of the cast names the line.
func Export(ctx context.Context, cast string, files Files, look Look) error {
	if files == (Files{}) {
		return errors.New("export: no file is asked for")
	}
	if err := Apart(cast, files.GIF, files.SVG, files.Text); err != nil {
		return err
	}
	made, err := render(ctx, cast, cast, files, look)
	defer drop(made)
	if err != nil {
		return err
	}
	return place(ctx, made)
}

// SameError is a file that would be written over the recording or script that it is made of, or over another one that is made with it.
type SameError struct{ Path, Other string }

// Error names both as they were named.
func (e *SameError) Error() string {
	return fmt.Sprintf("%s would be written over %s", e.Path, e.Other)
}

// Apart says that files can be written beside what they are made of, source, and beside each other; an empty path is none. The error is
// a *SameError.
func Apart(source string, paths ...string) error {
	before := []string{source}
	for _, path := range paths {
		if path == "" {
			continue
		}
		for _, other := range before {
			if sameFile(path, other) {
				return &SameError{path, other}
			}
		}
		before = append(before, path)
	}
	return nil
}

// sameFile says that two paths lead to one place, links followed.
func sameFile(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(ia, ib)
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

func drop(files []*draft) {
	for _, f := range files {
		f.drop()
	}
}

// render makes the files from the cast at path, which errors call name, complete but without their names yet. What was made is
// returned with an error too.
func render(ctx context.Context, path, name string, files Files, look Look) (made []*draft, err error) {
	if files == (Files{}) {
		return nil, nil
	}
	src, err := openSource(path, name)
	if err != nil {
		return nil, err
	}
	defer src.close()
	look.Missing = once(look.Missing)
	for _, kind := range []struct {
		path  string
		write func(context.Context, *source, io.Writer, Look, func(float64)) error
	}{{files.GIF, writeGIF}, {files.SVG, writeSVG}, {files.Text, writeText}} {
		if kind.path == "" {
			continue
		}
		d, err := newDraft(kind.path, look.Disk)
		if err != nil {
			return made, err
		}
		made = append(made, d)
		if err := kind.write(ctx, src, d, look, look.progress(kind.path)); err != nil {
			return made, src.explain(err)
		}
		if err := d.finish(); err != nil {
			return made, err
		}
	}
	return made, nil
}

// once tells a list only once, though several files lack the same characters.
func once(tell func(string)) func(string) {
	if tell == nil {
		return nil
	}
	told := map[string]bool{}
	return func(characters string) {
		if !told[characters] {
			told[characters] = true
			tell(characters)
		}
	}
}

// explain adds the cast's name to what is wrong in it.
func (s *source) explain(err error) error {
	var wrong *CastError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return err
}

// progress tells how far a file is; it may be called often, and Progress is only when a hundredth more is done.
func (l Look) progress(path string) func(float64) {
	last := -1
	return func(done float64) {
		if n := int(done * 100); l.Progress != nil && n > last {
			last = n
			l.Progress(path, done)
		}
	}
}
