package builtin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"vitrine/llm/attach"
	"vitrine/tools"
)

// Bounds of what the user names in a message.
const (
	// maxListed bounds the list of files, maxWalked the entries that are looked at for it, maxFolders the folders in one another.
	maxListed  = 20_000
	maxWalked  = 200_000
	maxFolders = 32
	// maxAttached is the size in bytes from which not even the beginning of a file is attached.
	maxAttached = 10 << 20
	// maxIgnore bounds what is read of a .gitignore file.
	maxIgnore = 64 << 10
)

// WorkFiles is the working folder as the user sees it who names files of it in a message. It keeps to the same bounds as the file
// tools: nothing outside of the root and nothing of the program's own is read, links included. It is safe for concurrent use.
type WorkFiles struct{ folder *folder }

// NewWorkFiles is over a root; private is as in Deps.
func NewWorkFiles(root *os.Root, private []string) *WorkFiles {
	return &WorkFiles{&folder{root: root, private: privateIn(root, private)}}
}

// Names lists the files of the folder, relative to it and with slashes, in order of depth and name. What .gitignore files leave out,
// repositories' own folders and what is installed or built are not in it; partial says that there are more.
func (w *WorkFiles) Names(ctx context.Context) (names []string, partial bool, err error) {
	l := &namer{folder: w.folder, left: maxWalked}
	todo := []place{{at: "."}}
	for len(todo) > 0 && !l.partial {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		more, err := l.enter(ctx, todo[0])
		if err != nil && todo[0].at == "." {
			return nil, false, err
		}
		todo = append(todo[1:], more...)
	}
	return l.names, l.partial, ctx.Err()
}

// place is a folder to look into, with the rules of those above it.
type place struct {
	at    string
	depth int
	rules []ignoreRule
}

type namer struct {
	*folder
	names   []string
	left    int
	partial bool
}

// enter lists a folder and gives those in it.
func (l *namer) enter(ctx context.Context, p place) (inner []place, err error) {
	dir, err := l.root.Open(filepath.FromSlash(p.at))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // nothing is written
	if info, err := dir.Stat(); err != nil || l.private.isFolder(info) {
		return nil, err
	}
	rules := append(slices.Clip(p.rules), l.ignored(p.at)...)
	var entries []fs.DirEntry
	for {
		batch, err := dir.ReadDir(dirBatch)
		l.left -= len(batch)
		entries = append(entries, batch...)
		if l.left < 0 {
			l.partial = true
		}
		if err != nil || l.partial || ctx.Err() != nil {
			break // what cannot be read is left out
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		at := path.Join(p.at, e.Name())
		switch {
		case !nameable(e.Name()), l.isPrivate(at), leftOut(rules, at, e.IsDir()):
		case e.IsDir():
			if !heavy(e.Name()) && p.depth < maxFolders {
				inner = append(inner, place{at, p.depth + 1, rules})
			}
		case len(l.names) == maxListed:
			l.partial = true
			return nil, nil
		case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0 && l.isFile(at):
			l.names = append(l.names, at)
		}
	}
	return inner, nil
}

// isFile says that a link leads to a file inside.
func (l *namer) isFile(at string) bool {
	to, err := l.resolve(at)
	if err != nil {
		return false
	}
	info, err := l.root.Lstat(filepath.FromSlash(to))
	return err == nil && info.Mode().IsRegular()
}

// nameable names can be typed and shown.
func nameable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl) && !strings.ContainsAny(name, `\"`)
}

// heavy folders hold what is not the user's own work.
func heavy(name string) bool {
	return slices.Contains([]string{".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", ".cache", ".idea", ".gradle", ".terraform"}, name)
}

// Read gives what may be attached of a file: its text, or the beginning of it to the end of a line or a character when it is longer
// than limit bytes; else why nothing is.
func (w *WorkFiles) Read(_ context.Context, name string, limit int) attach.File {
	out := attach.File{Name: name}
	f := w.folder
	to, err := f.resolve(name)
	if err != nil {
		out.Refused = f.whyNot(name, err)
		return out
	}
	out.Name = to
	if info, err := f.root.Lstat(filepath.FromSlash(to)); err == nil && !info.Mode().IsRegular() {
		if out.Refused = attach.NoFile; info.IsDir() {
			out.Refused = attach.Folder
		}
		return out
	}
	file, info, err := f.open(name, to)
	if err != nil {
		out.Refused = f.whyNot(name, err)
		return out
	}
	defer func() { _ = file.Close() }()
	if out.Bytes = info.Size(); out.Bytes > maxAttached {
		out.Refused = attach.TooLarge
		return out
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err != nil {
		out.Refused = attach.Unreadable
		return out
	}
	out.Bytes = max(out.Bytes, int64(len(data)))
	if len(data) > limit {
		data = data[:wholeLines(data, limit)]
	} else {
		out.Bytes = int64(len(data)) // it may have become shorter
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		out.Refused = attach.Binary
		return out
	}
	out.Text = string(data)
	return out
}

// wholeLines is where to cut: behind the last line, else behind the last character that is whole.
func wholeLines(data []byte, limit int) int {
	if i := bytes.LastIndexByte(data[:limit], '\n'); i >= limit/2 {
		return i + 1
	}
	for i := limit; i > 0 && i > limit-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			return i
		}
	}
	return limit
}

// whyNot names the reason of a refusal.
func (f *folder) whyNot(name string, err error) attach.Why {
	var te *tools.Error
	switch {
	case !errors.As(err, &te), err.Error() == f.ours(name).Error():
		return attach.Unreadable
	case te.Code == tools.CodeNotFound:
		return attach.Gone
	case te.Code == tools.CodeInvalidArgument:
		return attach.Outside
	}
	return attach.Unreadable
}
