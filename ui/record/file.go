package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// draft is a file that is written beside its place and takes it when it is complete. Until then what stands there stays.
type draft struct {
	path string // as the user named it
	to   string // the same without links
	file *os.File
	lock *flock.Flock // of the file, until it has its place; nil where there are no locks
	buf  *bufio.Writer
}

// Disk is between a file and what is written to it. Tests let it fail.
type Disk func(io.Writer) io.Writer

// newDraft begins a file. The error names the path and the cause.
func newDraft(path string, fault Disk) (*draft, error) {
	d := &draft{path: path, to: path}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		d.to = to
	}
	switch info, err := os.Stat(d.to); {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("cannot write %s: it is no file", path)
	case err == nil:
		f, err := os.OpenFile(d.to, os.O_WRONLY, 0)
		if err != nil {
			return nil, failed(path, err)
		}
		_ = f.Close() // nothing was written
	case !errors.Is(err, fs.ErrNotExist):
		return nil, failed(path, err)
	}
	f, lock, err := makeDraft(d.to)
	if err != nil {
		return nil, failed(path, err)
	}
	var to io.Writer = f
	if fault != nil {
		to = fault(f)
	}
	d.file, d.lock, d.buf = f, lock, bufio.NewWriterSize(to, 64<<10)
	return d, nil
}

// failed names the file as the user did, and the cause alone.
func failed(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

func (d *draft) Write(p []byte) (int, error) {
	n, err := d.buf.Write(p)
	if err != nil {
		err = failed(d.path, err)
	}
	return n, err
}

// flush brings all that was written into the file.
func (d *draft) flush() error {
	if err := d.buf.Flush(); err != nil {
		return failed(d.path, err)
	}
	return nil
}

// finish closes the file, complete on the disk; it has not taken its place yet.
func (d *draft) finish() error {
	err := d.flush()
	if err == nil {
		if e := d.file.Sync(); e != nil {
			err = failed(d.path, e)
		}
	}
	if e := d.file.Close(); err == nil && e != nil && !errors.Is(e, os.ErrClosed) {
		err = failed(d.path, e)
	}
	return err
}

// place gives the file its name.
func (d *draft) place() error {
	if err := os.Rename(d.file.Name(), d.to); err != nil {
		return failed(d.path, err)
	}
	d.unlock()
	return nil
}

func (d *draft) unlock() {
	if d.lock != nil {
		_ = d.lock.Close() // nothing was written through it
		d.lock = nil
	}
}

// drop leaves nothing behind. It may be called after place.
func (d *draft) drop() {
	_ = d.file.Close()           // it may be closed
	_ = os.Remove(d.file.Name()) // it may have its place
	d.unlock()
}

// growing is a file that is read, perhaps, after the program was killed: each line is written at once, and a part of one is taken
// back.
type growing struct {
	path string
	file *os.File
	to   io.Writer // the file
	size int64
	err  error // the first one; nothing is written after it
}

// newGrowing makes a file that was not there.
func newGrowing(path string, fault Disk) (*growing, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, failed(path, err)
	}
	g := &growing{path: path, file: f, to: f}
	if fault != nil {
		g.to = fault(f)
	}
	return g, nil
}

// Write takes whole lines.
func (g *growing) Write(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.to.Write(p)
	if err != nil {
		g.err = failed(g.path, err)
		if n > 0 {
			_ = g.file.Truncate(g.size) // a reader leaves a last line out that is not whole
		}
		return 0, g.err
	}
	g.size += int64(n)
	return n, nil
}

func (g *growing) close() error {
	err := g.err
	if err == nil {
		if e := g.file.Sync(); e != nil {
			err = failed(g.path, e)
		}
	}
	if e := g.file.Close(); err == nil && e != nil {
		err = failed(g.path, e)
	}
	return err
}

// oneLine is text of an error or a title in one row.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
