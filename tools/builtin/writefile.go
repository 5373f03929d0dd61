package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"vitrine/tools"
)

const (
	// maxContent bounds what is written, in characters, maxOld what is replaced, in bytes.
	maxContent = 1 << 20
	maxOld     = 4 << 20
)

type writeIn struct {
	Path    string `json:"path" jsonschema:"the file, relative to the folder"`
	Content string `json:"content" maxlen:"1048576" jsonschema:"the whole new content"`
}

type writeOut struct {
	// Path is without links; Version names the content that the file has now.
	Path    string `json:"path"`
	Version string `json:"version"`
	Change  string `json:"change"`
	Note    string `json:"note,omitempty"`
}

func (f *folder) writeFile() tools.Tool {
	return tools.New(toolWriteFile, "Writes a whole text file of the project, new or in the place of the old one, which must have been read with "+
		toolReadFile+" and be unchanged since. Mode, byte order mark and line ends stay, in each line the file's own whatever the content has; "+
		"missing folders are made. Of a file with several hard links only this name gets the new content.",
		tools.Probeable, f.write, tools.WithProbe(f.probe), tools.WithPreview(f.preview))
}

// plan is what a write would do.
type plan struct {
	to      string // without links
	info    fs.FileInfo
	old     []byte // nil when there is no file
	content string // as it gets onto the disk
	ends    bool   // the model wrote other line ends
}

func (p plan) isNew() bool { return p.info == nil }

func (p plan) same() bool { return !p.isNew() && string(p.old) == p.content }

// look reads what is there and checks what is to be written.
func (f *folder) look(in writeIn) (plan, error) {
	to, err := f.resolve(in.Path)
	if err != nil {
		return plan{}, err
	}
	p := plan{to: to, content: in.Content}
	if to == "." {
		return plan{}, f.refuse(in.Path, "is the folder itself")
	}
	file, info, err := f.open(in.Path, to)
	if te, ok := errors.AsType[*tools.Error](err); ok && te.Code == tools.CodeNotFound {
		if strings.ContainsRune(in.Content, utf8.RuneError) {
			return plan{}, replacement()
		}
		return p, f.parents(in.Path, to)
	}
	if err != nil {
		return plan{}, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if err := ordinary(in.Path, file); err != nil {
		return plan{}, err
	}
	if info.Mode().Perm()&0o222 == 0 {
		return plan{}, &tools.Error{Code: tools.CodeDenied, Field: "path", Message: shownName(in.Path) + " is read-only for everybody; it is left as it is"}
	}
	if info.Size() > maxOld {
		return plan{}, &tools.Error{Code: tools.CodeInvalidArgument, Field: "path", Expected: "a file of at most " + sizeText(maxOld),
			Message: fmt.Sprintf("%s has %s; that is too much to replace", shownName(in.Path), sizeText(info.Size()))}
	}
	old, err := io.ReadAll(io.LimitReader(file, maxOld+1))
	if err != nil {
		return plan{}, f.failed(in.Path, err)
	}
	if !utf8.Valid(old) || bytes.IndexByte(old, 0) >= 0 {
		return plan{}, &tools.Error{Code: tools.CodeConflict, Field: "path", Expected: "a file in UTF-8",
			Message: shownName(in.Path) + " holds bytes that are no UTF-8 text; writing it would lose them, so it is left as it is"}
	}
	if strings.ContainsRune(in.Content, utf8.RuneError) && !bytes.ContainsRune(old, utf8.RuneError) {
		return plan{}, replacement()
	}
	p.info, p.old = info, old
	p.content = inForm(old, in.Content)
	p.ends = strings.TrimLeft(p.content, bom) != strings.TrimLeft(in.Content, bom)
	return p, nil
}

// replacement refuses what stands for lost characters.
func replacement() error {
	return &tools.Error{Code: tools.CodeInvalidArgument, Field: "content", Expected: "text without U+FFFD",
		Message: "the content holds U+FFFD, which stands for characters that were lost; nothing was written"}
}

// parents says why the folders above a new file cannot be made, if so.
func (f *folder) parents(name, to string) error {
	for dir := path.Dir(to); dir != "."; dir = path.Dir(dir) {
		info, err := f.root.Lstat(filepath.FromSlash(dir))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return f.failed(name, err)
		case !info.IsDir():
			return f.refuse(name, "goes through a "+kindOf(info.Mode().Type()))
		default:
			return nil
		}
	}
	return nil
}

// allowed checks that the model has seen what it replaces.
func (f *folder) allowed(ctx context.Context, session, name string, p plan) error {
	known, err := f.known(ctx, session, p.to)
	if err != nil {
		return err
	}
	conflict := func(why string) error {
		return &tools.Error{Code: tools.CodeConflict, Field: "path", Message: shownName(name) + " " + why + "; nothing was written"}
	}
	switch {
	case p.same():
		return nil
	case p.isNew() && known == "":
		return nil
	case p.isNew():
		return conflict("was there when it was read and is not now: read_file tells, then write it under this name or another one")
	case known == "":
		return conflict("is there and has not been read in this session: read it first")
	case known != versionOf(sha256.Sum256(p.old)):
		return conflict("has changed since it was read: read it again, and keep what others changed")
	}
	return nil
}

func (f *folder) write(ctx context.Context, call tools.Call, in writeIn) (tools.Output, error) {
	p, err := f.look(in)
	if err != nil {
		return tools.Output{}, err
	}
	if err := f.allowed(ctx, call.SessionID, in.Path, p); err != nil {
		return tools.Output{}, err
	}
	out := written(p) // before the file is replaced: nothing that takes long comes after
	if !p.same() {
		if err := f.replace(ctx, call.Key, in, p); err != nil {
			return tools.Output{}, err
		}
	}
	return out, nil
}

// written tells what becomes of a file.
func written(p plan) tools.Output {
	out := writeOut{Path: p.to, Version: versionOf(sha256.Sum256([]byte(p.content))), Change: p.words(p.changes())}
	switch {
	case p.same() && p.ends:
		out.Note = "the file held this already but for line ends, which stay as they are in the file"
	case p.same():
		out.Note = "the file held this already"
	}
	return tools.Output{Data: out, Summary: out.Change}
}

// probe finds out whether a call that had been started has written its file. What it prepared beside it is still there when it
// had not come to that. When the file is neither as the call would leave it nor as the model had read it, nobody can tell. A
// new file that is not there was not written: somebody who took it away again is not thought of.
func (f *folder) probe(ctx context.Context, call tools.Call, in writeIn) (tools.Output, bool, error) {
	if _, never := f.clean(in.Path); never != nil {
		return tools.Output{}, false, nil
	}
	to, err := f.resolve(in.Path)
	if err != nil {
		return tools.Output{}, false, cannotTell(in.Path, err)
	}
	temp := filepath.FromSlash(tempOf(to, call.Key))
	if _, err := f.root.Lstat(temp); err == nil {
		if err := f.root.Remove(temp); err != nil {
			return tools.Output{}, false, fmt.Errorf("remove what a killed call left: %w", err)
		}
		return tools.Output{}, false, nil
	}
	known, err := f.known(ctx, call.SessionID, to)
	if err != nil {
		return tools.Output{}, false, err
	}
	p, err := f.look(in)
	switch {
	case err != nil: // it may have become like that after the call had written it
		return tools.Output{}, false, cannotTell(in.Path, err)
	case p.isNew() && known == "":
		return tools.Output{}, false, nil
	case p.isNew():
		return tools.Output{}, false, fmt.Errorf("%s is gone: whether before the call or after it, nobody can tell", shownName(in.Path))
	case p.same() && known == versionOf(sha256.Sum256(p.old)):
		return written(p), true, nil
	case p.same():
		out := writeOut{Path: p.to, Version: versionOf(sha256.Sum256(p.old)), Change: "written", Note: "found written after the program had stopped"}
		return tools.Output{Data: out, Summary: out.Change}, true, nil
	case known == versionOf(sha256.Sum256(p.old)):
		return tools.Output{}, false, nil
	}
	return tools.Output{}, false, fmt.Errorf("%s is neither as it was read nor as it would be written", shownName(in.Path))
}

func cannotTell(name string, err error) error {
	return fmt.Errorf("what a call did to %s cannot be told: %w", shownName(name), err)
}

// preview is the change as a diff, or why it would be refused.
func (f *folder) preview(ctx context.Context, call tools.Call, in writeIn) (string, error) {
	p, err := f.look(in)
	if err != nil {
		return "", err
	}
	if err := f.allowed(ctx, call.SessionID, in.Path, p); err != nil {
		return "", err
	}
	c := p.changes()
	head := shownName(p.to) + "  " + p.words(c)
	if !p.isNew() && !p.same() {
		head += ", same as read"
	}
	diff, whole := c.diff(shownLines)
	if !whole {
		head += fmt.Sprintf(", of which the first %d lines are shown", shownLines)
	}
	return head + "\n" + numbered(diff), nil
}
