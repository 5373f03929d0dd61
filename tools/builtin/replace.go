package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"vitrine/tools"
)

// How a file gets its new content: it is prepared beside it, under a name that tells whose it is, and takes its place at once.
// Who reads the file finds the old content or the new one, whatever happens. The prepared file is locked as long as its process
// lives, so one that nobody locks was left by a killed process.

// errLocked says that another one has the lock.
var errLocked = errors.New("locked by another one")

// lockTries is how often a prepared file is made anew that somebody took for left behind before it was locked.
const lockTries = 5

// replace puts the new content in the place of the old one.
func (f *folder) replace(ctx context.Context, key string, in writeIn, p plan) (err error) {
	dir := path.Dir(p.to)
	if p.isNew() && dir != "." {
		if err := f.root.MkdirAll(filepath.FromSlash(dir), 0o777); err != nil {
			return f.unwritten(in.Path, "its folder cannot be made", err)
		}
	}
	f.sweep(dir)
	temp := tempOf(p.to, key)
	file, err := f.prepare(temp, p)
	if err != nil {
		return f.unwritten(in.Path, "no file can be made in its folder", err)
	}
	done := false
	defer func() {
		_ = file.Close() // what counts was synced
		if !done {
			err = errors.Join(err, f.remove(temp))
		}
	}()
	if step, err := f.fill(file, p); err != nil {
		return f.unwritten(in.Path, step, err)
	}
	if err := f.unchanged(in.Path, p); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !locks { // there an open file cannot be renamed either
		_ = file.Close()
	}
	if err := f.rename(temp, p.to); err != nil {
		return f.unwritten(in.Path, "it cannot be replaced", err)
	}
	done = true
	if err := f.hit("write.after"); err != nil {
		return err
	}
	return f.settle(dir)
}

func (f *folder) rename(from, to string) error {
	if err := f.hit("write.before"); err != nil {
		return err
	}
	return f.root.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
}

func (f *folder) remove(name string) error {
	if err := f.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unwritten tells the model why a file was not written.
func (f *folder) unwritten(name, step string, err error) error {
	var (
		pe *fs.PathError
		le *os.LinkError
	)
	code := tools.CodeInternal
	why := err.Error()
	switch {
	case errors.Is(err, fs.ErrPermission):
		code, why = tools.CodeDenied, "permission denied"
	case errors.As(err, &pe):
		why = pe.Err.Error()
	case errors.As(err, &le):
		why = le.Err.Error()
	}
	return &tools.Error{Code: code, Field: "path", Message: fmt.Sprintf("%s is not written: %s: %s (inside %s)", shownName(name), step, tools.CleanLine(why, 200), f.root.Name())}
}

// prepare makes the file that is to take the place of another, and locks it.
func (f *folder) prepare(temp string, p plan) (*os.File, error) {
	mode := fs.FileMode(0o600) // until it has that of the old file: nobody else reads it meanwhile
	if p.isNew() {
		mode = 0o666
	}
	for range lockTries {
		if err := f.remove(temp); err != nil { // of an attempt that was killed
			return nil, err
		}
		file, err := f.root.OpenFile(filepath.FromSlash(temp), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, err
		}
		if err := f.hit("write.made"); err != nil {
			return nil, errors.Join(err, file.Close(), f.remove(temp))
		}
		switch err := tryLock(file); {
		case errors.Is(err, errLocked) || err == nil && !f.isAt(file, temp):
			_ = file.Close() // somebody sweeps it away
		default: // without locks nobody does
			return file, nil
		}
	}
	return nil, errors.New("what is prepared there is taken away again and again")
}

// isAt says that the file still has the name.
func (f *folder) isAt(file *os.File, name string) bool {
	there, err := f.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return false
	}
	info, err := file.Stat()
	return err == nil && os.SameFile(info, there)
}

// fill writes the content and makes it last, with mode and owner of the old file; step says what went wrong.
func (f *folder) fill(file *os.File, p plan) (step string, err error) {
	half := len(p.content) / 2
	_, err = file.WriteString(p.content[:half])
	if err == nil {
		err = f.hit("write.half")
	}
	if err == nil {
		_, err = file.WriteString(p.content[half:])
	}
	if err != nil {
		return "its content cannot be stored", err
	}
	if !p.isNew() {
		if err := keepOwner(file, p.info); err != nil { // before the mode, of which it takes bits away
			return "it has another owner or group, and a file in its place cannot be given to them", err
		}
		if err := keepMode(file, p.info); err != nil {
			return "a file in its place cannot be given its mode", err
		}
	}
	return "its content cannot be stored", file.Sync()
}

// unchanged looks once more before the old content goes.
func (f *folder) unchanged(name string, p plan) error {
	now, err := f.look(writeIn{Path: name, Content: p.content})
	if err != nil {
		return err
	}
	if now.to != p.to || now.isNew() != p.isNew() || !bytes.Equal(now.old, p.old) {
		return &tools.Error{Code: tools.CodeConflict, Field: "path", Message: shownName(name) + " changed just now; nothing was written"}
	}
	return nil
}

// settle makes the rename last.
func (f *folder) settle(dir string) error {
	d, err := f.root.Open(filepath.FromSlash(dir))
	if err != nil {
		return fmt.Errorf("open the folder of a file that was written: %w", err)
	}
	if err := errors.Join(syncFolder(d), d.Close()); err != nil {
		return fmt.Errorf("make a file that was written last: %w", err)
	}
	return nil
}

const (
	tempStart = ".vitrine-"
	tempEnd   = ".tmp"
)

// tempOf is the name under which a call prepares its content.
func tempOf(to, key string) string {
	sum := sha256.Sum256([]byte(key))
	id := versionOf(sum)
	return path.Join(path.Dir(to), tempStart+id+"-"+tempMark(id)+tempEnd)
}

// tempMark tells names that tempOf made from others that begin and end so.
func tempMark(id string) string {
	sum := sha256.Sum256([]byte("a file that vitrine prepares: " + id))
	return hex.EncodeToString(sum[:4])
}

// isTemp says that tempOf made the name.
func isTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, tempStart)
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, tempEnd); !ok {
		return false
	}
	id, mark, ok := strings.Cut(rest, "-")
	return ok && mark == tempMark(id)
}

// sweep removes from a folder what killed processes prepared there and nobody asked about. What cannot be removed does no harm.
func (f *folder) sweep(dir string) {
	if !locks {
		return
	}
	d, err := f.root.OpenFile(filepath.FromSlash(dir), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return
	}
	defer func() { _ = d.Close() }() // it was only read
	for left := maxEntries; left > 0; {
		names, err := d.Readdirnames(dirBatch)
		for _, name := range names {
			if isTemp(name) {
				f.removeLeft(path.Join(dir, name))
			}
		}
		if left -= len(names); err != nil {
			return
		}
	}
}

// removeLeft removes a prepared file that no living process has locked.
func (f *folder) removeLeft(name string) {
	info, err := f.root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	file, err := f.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // with the lock
	if tryLock(file) == nil && f.isAt(file, name) {
		_ = f.remove(name)
	}
}

// hit passes a point at which tests make the program fail or end.
func (f *folder) hit(point string) error {
	if f.fault == nil {
		return nil
	}
	return f.fault(point)
}
