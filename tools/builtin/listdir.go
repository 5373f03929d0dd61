package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"vitrine/tools"
)

const (
	// maxEntries bounds how many entries are looked at, in all folders together; the rest is not counted.
	maxEntries = 200_000
	dirBatch   = 1000
	// maxNameCost bounds an entry in characters of JSON.
	maxNameCost = 700
)

type listIn struct {
	Path   string `json:"path,omitempty" jsonschema:"the folder, relative to the folder of the program; that itself when left out"`
	Depth  int    `json:"depth,omitempty" min:"1" max:"8" jsonschema:"how many levels of folders; 1 when left out"`
	Offset int    `json:"offset,omitempty" min:"0" jsonschema:"how many entries to leave out in front"`
}

type listOut struct {
	Path string `json:"path"`
	// Entries says which of how many these are, and how to go on.
	Entries string `json:"entries"`
	// Names end in / for folders; a link tells where it leads, other kinds what they are.
	Names []string `json:"names"`
}

func (f *folder) listDir() tools.Tool {
	return tools.New(toolListDir, "Lists a folder of the project by name: folders end in /, links tell where they lead and are not followed. "+
		"Characters that do not show are spelled out: <U+202E>, <0xFF>.", tools.ReadOnly, f.list)
}

func (f *folder) list(ctx context.Context, _ tools.Call, in listIn) (tools.Output, error) {
	if in.Path == "" {
		in.Path = "."
	}
	to, err := f.resolve(in.Path)
	if err != nil {
		return tools.Output{}, err
	}
	l := listing{folder: f, left: maxEntries}
	if info, err := f.root.Lstat(filepath.FromSlash(to)); err == nil && !info.IsDir() {
		return tools.Output{}, &tools.Error{Code: tools.CodeInvalidArgument, Field: "path", Expected: "a folder",
			Message: fmt.Sprintf("%s is no folder but a %s", shownName(in.Path), fileKind(info.Mode()))}
	}
	if err := l.walk(ctx, to, "", max(in.Depth, 1)); err != nil {
		if ctx.Err() != nil {
			return tools.Output{}, ctx.Err()
		}
		if errors.Is(err, errOurs) {
			return tools.Output{}, f.ours(in.Path)
		}
		return tools.Output{}, f.failed(in.Path, err)
	}
	total := fmt.Sprint(len(l.names))
	if l.partial {
		total = "more than " + total
	}
	if in.Offset > 0 && in.Offset >= len(l.names) {
		return tools.Output{}, &tools.Error{Code: tools.CodeInvalidArgument, Field: "offset", Expected: "below " + total,
			Message: fmt.Sprintf("%s has %s entries", shownName(in.Path), total)}
	}
	out := listOut{Path: to, Names: []string{}, Entries: "none: the folder is empty"}
	room := min(maxFilesData-200, maxFilesData-costOf(to))
	for _, name := range l.names[in.Offset:] {
		name = clipName(name)
		size := costOf(name) + len(`"",`)
		if size > room && len(out.Names) > 0 {
			break
		}
		room -= size
		out.Names = append(out.Names, name)
	}
	if n := len(out.Names); n > 0 {
		out.Entries = fmt.Sprintf("%d-%d of %s", in.Offset+1, in.Offset+n, total)
		if in.Offset+n < len(l.names) {
			out.Entries += fmt.Sprintf(", use offset=%d for the next", in.Offset+n)
		}
	}
	summary := total + " entries"
	if total == "1" {
		summary = "1 entry"
	}
	return tools.Output{Data: out, Summary: summary}, nil
}

// clipName bounds an entry: its names spelled out and what a link says may take more than a result has room for.
func clipName(name string) string {
	n, _ := tools.Fit(name, maxNameCost)
	if n == len(name) {
		return name
	}
	return fmt.Sprintf("%s [the entry has %d bytes]", name[:n], len(name))
}

// errOurs says that a folder is the program's own, under another name.
var errOurs = errors.New("the program's own")

// listing collects names, each folder's in order, a folder's own before its entries.
type listing struct {
	*folder
	names   []string
	left    int
	partial bool
}

// walk lists the folder at, whose names begin with prefix. Links are never followed, so it ends.
func (l *listing) walk(ctx context.Context, at, prefix string, depth int) error {
	entries, err := l.entries(ctx, at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		child := path.Join(at, e.Name())
		name := prefix + shownName(e.Name()) + l.mark(child, e)
		l.names = append(l.names, name)
		if !e.IsDir() || depth <= 1 || l.isPrivate(child) {
			continue
		}
		if err := l.walk(ctx, child, prefix+shownName(e.Name())+"/", depth-1); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.names[len(l.names)-1] += " (" + reason(err) + ")"
		}
	}
	return nil
}

// mark says what kind of entry it is.
func (l *listing) mark(at string, e fs.DirEntry) string {
	switch m := e.Type(); {
	case m.IsDir() && l.isPrivate(at):
		return "/ (the program's own)"
	case l.isPrivate(at):
		return " (the program's own)"
	case m.IsDir():
		return "/"
	case m&fs.ModeSymlink != 0:
		target, err := l.root.Readlink(filepath.FromSlash(at))
		if err != nil {
			return " (link)"
		}
		return " -> " + shownName(filepath.ToSlash(target))
	case !m.IsRegular():
		return " (" + kindOf(m) + ")"
	}
	return ""
}

// entries reads one folder, in pieces, sorted by name.
func (l *listing) entries(ctx context.Context, at string) (all []fs.DirEntry, err error) {
	dir, err := l.root.OpenFile(filepath.FromSlash(at), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if info, err := dir.Stat(); err != nil {
		return nil, err
	} else if l.private.isFolder(info) {
		return nil, errOurs
	}
	for {
		batch, err := dir.ReadDir(min(dirBatch, max(l.left, 1)))
		if l.left -= len(batch); l.left <= 0 && len(batch) > 0 {
			l.partial = true
			break
		}
		all = append(all, batch...)
		switch {
		case errors.Is(err, io.EOF):
			slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			return all, nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

func fileKind(m fs.FileMode) string {
	if m.IsRegular() {
		return "file: " + toolReadFile + " reads it"
	}
	return kindOf(m.Type())
}

// reason is a note about a folder that cannot be read.
func reason(err error) string {
	if errors.Is(err, errOurs) {
		return "the program's own"
	}
	if errors.Is(err, fs.ErrPermission) {
		return "cannot be read: permission denied"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return "cannot be read: " + tools.CleanLine(err.Error(), 100)
}
