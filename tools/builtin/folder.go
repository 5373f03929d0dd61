package builtin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"vitrine/tools"
)

// Names of the file tools.
const (
	toolReadFile  = "read_file"
	toolWriteFile = "write_file"
	toolListDir   = "list_dir"
)

const (
	// maxPath bounds a path that a model gives, in bytes, maxPathCost one that stands in a result, in characters of JSON;
	// maxLinks how many links lead to a file.
	maxPath     = 4096
	maxPathCost = 800
	maxLinks    = 40
	// maxFilesData bounds what a result of these tools holds, in characters of JSON. With what stands around it the prompt takes
	// it whole: of a result that is cut nobody knows path and version any more.
	maxFilesData = 1600
	// knownResults is how many of a session's newest results are searched for what the model has seen of a file.
	knownResults = 500
)

// folder is what the file tools work in. Paths of models are relative to it, with slashes, and never lead out of it: os.Root
// keeps to that whatever happens meanwhile, and what resolve does before it makes the refusals clear.
type folder struct {
	root    *os.Root
	results tools.ResultReader
	private private
	fault   func(point string) error
	called  string // what the model is told that the root is; empty: its name
}

// name is what the model is told that the root is.
func (f *folder) name() string { return cmp.Or(f.called, f.root.Name()) }

// Files makes read_file, list_dir and write_file in d.Root. What d.Private names, and all below it, is neither shown nor touched.
// What a session's model has seen of a file is found in its stored results, so that it is known in each process.
func Files(d Deps) []tools.Tool {
	f := &folder{root: d.Root, results: d.Results, private: privateIn(d.Root, d.Private), fault: d.Fault, called: d.Called}
	return []tools.Tool{f.listDir(), f.readFile(), f.writeFile()}
}

// refuse is an error about a path.
func (f *folder) refuse(p, why string) *tools.Error {
	return &tools.Error{
		Code: tools.CodeInvalidArgument, Field: "path", Expected: "a path inside " + f.name() + ", with slashes",
		Message: fmt.Sprintf("%s %s; the file tools work inside %s only", shownName(p), why, f.name()),
	}
}

func (f *folder) ours(p string) error { return f.refuse(p, "is the program's own data") }

// inside gives an absolute path relative to the root; ok is false when it lies elsewhere.
func (f *folder) inside(p string) (rel string, ok bool) {
	rel, err := filepath.Rel(f.root.Name(), filepath.FromSlash(p))
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// clean checks the words of a path and gives it relative to the root. Nothing is opened.
func (f *folder) clean(p string) (string, *tools.Error) {
	switch {
	case p == "":
		return "", f.refuse(p, "is no path")
	case len(p) > maxPath:
		return "", f.refuse(p[:60], "is too long for a path")
	case strings.ContainsRune(p, 0):
		return "", f.refuse(p, "holds a zero byte")
	case strings.Contains(p, `\`):
		return "", f.refuse(p, "holds a backslash")
	case strings.HasPrefix(p, "~"):
		return "", f.refuse(p, "names a home folder")
	case strings.Contains(p, "://"), strings.HasPrefix(p, "file:"):
		return "", f.refuse(p, "is a URL")
	}
	if path.IsAbs(p) || filepath.IsAbs(filepath.FromSlash(p)) {
		rel, ok := f.inside(path.Clean(p))
		if !ok {
			return "", f.refuse(p, "lies outside")
		}
		p = rel
	}
	p = path.Clean(p)
	if !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", f.refuse(p, "lies outside")
	}
	return p, nil
}

// resolve gives the path without links that p leads to, which need not be there. A link that leads out of the root, or into
// what is private, is refused.
func (f *folder) resolve(p string) (string, error) {
	rel, bad := f.clean(p)
	if bad != nil {
		return "", bad
	}
	var done []string
	rest := strings.Split(rel, "/")
	for links := 0; len(rest) > 0; {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", f.refuse(p, "leads outside through a link")
			}
			done = done[:len(done)-1]
			continue
		}
		at := path.Join(append(done[:len(done):len(done)], c)...)
		info, err := f.root.Lstat(filepath.FromSlash(at))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", f.failed(p, err)
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, c)
			continue
		}
		if links++; links > maxLinks {
			return "", f.refuse(p, "goes through too many links")
		}
		target, err := f.root.Readlink(filepath.FromSlash(at))
		if err != nil {
			return "", f.failed(p, err)
		}
		target = filepath.ToSlash(target)
		if path.IsAbs(target) || filepath.IsAbs(filepath.FromSlash(target)) {
			var ok bool
			if target, ok = f.inside(path.Clean(target)); !ok {
				return "", f.refuse(p, "leads outside through a link")
			}
			done = nil
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	to := path.Join(done...)
	if to == "" {
		to = "."
	}
	if costOf(to) > maxPathCost {
		return "", f.refuse(to[:60], "is too long for a path")
	}
	if f.isPrivate(to) || f.leadsIntoPrivate(to) {
		return "", f.ours(p)
	}
	return to, nil
}

// failed tells the model what the system said of a path, without the system's own words for where it is.
func (f *folder) failed(p string, err error) error {
	code, what := tools.CodeInternal, ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, what = tools.CodeNotFound, "is not there"
	case errors.Is(err, fs.ErrPermission):
		code, what = tools.CodeDenied, "may not be opened: permission denied"
	case errors.Is(err, syscall.ENOTDIR):
		code, what = tools.CodeNotFound, "goes through a file that is no folder"
	case errors.Is(err, syscall.ENAMETOOLONG):
		code, what = tools.CodeInvalidArgument, "has a name that is too long"
	default:
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		what = "cannot be used: " + err.Error()
	}
	return &tools.Error{Code: code, Field: "path", Message: fmt.Sprintf("%s %s (inside %s)", shownName(p), tools.CleanLine(what, 200), f.name())}
}

// open opens a regular file for reading. Nothing of another kind is opened or waited for: a pipe or a device would never end.
func (f *folder) open(p, to string) (*os.File, fs.FileInfo, error) {
	info, err := f.root.Lstat(filepath.FromSlash(to))
	if err != nil {
		return nil, nil, f.failed(p, err)
	}
	if err := f.regular(p, info); err != nil {
		return nil, nil, err
	}
	file, err := f.root.OpenFile(filepath.FromSlash(to), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, f.failed(p, err)
	}
	if info, err = file.Stat(); err == nil {
		err = f.regular(p, info) // it may be another file by now
	}
	if err == nil && f.private.holds(info) {
		err = f.ours(p)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func (f *folder) regular(p string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	what := kindOf(info.Mode().Type())
	if info.IsDir() {
		what += ": " + toolListDir + " lists it"
	}
	return &tools.Error{Code: tools.CodeInvalidArgument, Field: "path", Expected: "a regular file",
		Message: fmt.Sprintf("%s is no regular file but a %s", shownName(p), what)}
}

// kindOf names a type of file.
func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeDir != 0:
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe (FIFO)"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeCharDevice != 0:
		return "character device"
	case m&fs.ModeDevice != 0:
		return "block device"
	}
	return "special file"
}

// versionOf names a content. It tells contents apart, whatever the file's times say.
func versionOf(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:8]) }

// known is the version of a file that the session's model has seen last, by reading or by writing it; empty when it has not.
func (f *folder) known(ctx context.Context, session, to string) (string, error) {
	list, err := f.results.Results(ctx, session, []string{toolReadFile, toolWriteFile}, knownResults)
	if err != nil {
		return "", fmt.Errorf("look for what was read of %s: %w", shownName(to), err)
	}
	for _, raw := range list {
		var seen struct {
			Data struct {
				Path    string `json:"path"`
				Version string `json:"version"`
			} `json:"data"`
		}
		if json.Unmarshal(raw, &seen) == nil && seen.Data.Path == to && seen.Data.Version != "" {
			return seen.Data.Version, nil
		}
	}
	return "", nil
}
