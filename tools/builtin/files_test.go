package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"vitrine/tools"
)

// bench is the file tools in a folder, with a session's stored results.
type bench struct {
	t       testing.TB
	dir     string
	tools   map[string]tools.Tool
	results map[string][]json.RawMessage // by session, the newest first
	fail    error
	calls   int
	fault   func(point string) error
}

func (b *bench) hit(point string) error {
	if b.fault == nil {
		return nil
	}
	return b.fault(point)
}

func (b *bench) Results(_ context.Context, session string, _ []string, limit int) ([]json.RawMessage, error) {
	list := b.results[session]
	return list[:min(limit, len(list))], b.fail
}

func newBench(t testing.TB, dir string, private ...string) *bench {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	b := &bench{t: t, dir: dir, tools: map[string]tools.Tool{}, results: map[string][]json.RawMessage{}}
	for _, tool := range Files(Deps{Root: root, Results: b, Private: private, Fault: b.hit}) {
		b.tools[tool.Name()] = tool
	}
	return b
}

func (b *bench) call(session string) tools.Call {
	b.calls++
	return tools.Call{Key: fmt.Sprint("key-", b.calls), SessionID: session}
}

func args(pairs ...any) json.RawMessage {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return raw
}

// do runs a tool in session s and keeps its result, as the engine does.
func (b *bench) do(name string, pairs ...any) (map[string]any, error) {
	b.t.Helper()
	return b.in("s", name, pairs...)
}

func (b *bench) in(session, name string, pairs ...any) (map[string]any, error) {
	b.t.Helper()
	out, err := b.tools[name].Run(context.Background(), b.call(session), args(pairs...))
	if err != nil {
		return nil, err
	}
	return b.keep(session, out), nil
}

func (b *bench) keep(session string, out tools.Output) map[string]any {
	b.t.Helper()
	res := tools.EncodeResult(tools.NewResult(out, nil))
	if utf8.RuneCount(res) > tools.MaxResultChars {
		b.t.Errorf("a result of %d characters does not fit into the prompt", utf8.RuneCount(res))
	}
	b.results[session] = append([]json.RawMessage{res}, b.results[session]...)
	var v struct{ Data map[string]any }
	if err := json.Unmarshal(res, &v); err != nil {
		b.t.Fatal(err)
	}
	return v.Data
}

func (b *bench) must(name string, pairs ...any) map[string]any {
	b.t.Helper()
	out, err := b.do(name, pairs...)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, pairs, err)
	}
	return out
}

// refused runs a tool that has to refuse, and gives the error.
func (b *bench) refused(code tools.Code, name string, pairs ...any) *tools.Error {
	b.t.Helper()
	_, err := b.do(name, pairs...)
	var te *tools.Error
	if !errors.As(err, &te) || te.Code != code {
		b.t.Fatalf("%s %v: %v, want %s", name, pairs, err, code)
	}
	return te
}

func (b *bench) put(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(name string) string {
	b.t.Helper()
	got, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(got)
}

// clean fails when a file that was only prepared is left.
func (b *bench) clean() {
	b.t.Helper()
	err := filepath.WalkDir(b.dir, func(path string, _ os.DirEntry, err error) error {
		if strings.Contains(path, ".vitrine-") {
			b.t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
}

// everywhere calls each file tool on path and wants each to refuse it.
func (b *bench) everywhere(path string, codes ...tools.Code) {
	b.t.Helper()
	for _, name := range []string{"read_file", "list_dir", "write_file"} {
		pairs := []any{"path", path}
		if name == "write_file" {
			pairs = append(pairs, "content", "x")
		}
		_, err := b.do(name, pairs...)
		var te *tools.Error
		if !errors.As(err, &te) || !slices.Contains(codes, te.Code) || !strings.Contains(te.Message+te.Expected, b.dir) {
			b.t.Errorf("%s %q: %v", name, path, err)
		}
	}
}

// B137: what leads out is refused with the root's name, before anything is opened; what stays inside works.
func TestPathsB137(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "app")
	evil := dir + "-evil"
	for _, d := range []string{dir, evil} {
		if err := os.MkdirAll(filepath.Join(d, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, dir)
	b.put("x", "inside\n")
	if err := os.WriteFile(filepath.Join(evil, "x"), []byte("evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{
		"../../etc/passwd", evil + "/x", "sub/../../app-evil/x", "a\x00b", "~/x", "file:///etc/passwd", `..\..\x`, "/proc/self/root/etc/passwd",
		strings.Repeat("a/", 2500), "/", "..", "http://host/x", "file:x",
	} {
		b.everywhere(p, tools.CodeInvalidArgument)
	}
	for name, pairs := range map[string][]any{"read_file": {"path", ""}, "write_file": {"path", "", "content", "x"}} {
		if e := b.refused(tools.CodeInvalidArgument, name, pairs...); e.Field != "path" || !strings.Contains(e.Message, "is no path") || !strings.Contains(e.Message, dir) {
			t.Errorf("%s of an empty path: %s", name, e)
		}
	}
	for _, p := range []string{"x", "./x", "sub/../x", dir + "/x", dir + "/sub/../x"} {
		if got := b.must("read_file", "path", p); got["path"] != "x" || got["text"] != "1\tinside\n" {
			t.Errorf("%s: %v", p, got)
		}
	}
	b.refused(tools.CodeNotFound, "read_file", "path", "nothing")
	b.refused(tools.CodeNotFound, "read_file", "path", "x/y")
	b.refused(tools.CodeInvalidArgument, "read_file", "path", strings.Repeat("n", 300))
	b.refused(tools.CodeInvalidArgument, "write_file", "path", ".", "content", "x")
	b.refused(tools.CodeNotFound, "write_file", "path", "x/y/z", "content", "x")
	if got, err := os.ReadFile(filepath.Join(evil, "x")); err != nil || string(got) != "evil\n" {
		t.Errorf("outside: %q %v", got, err)
	}
}

func TestReadFileLines(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.put("three", "one\ntwo\nthree")
	b.put("empty", "")
	b.put("dos", "\ufeffa\r\nb\r\n")
	b.put("mixed", "a\r\nb\n")
	b.put("returns", "a\rb\r\r\nc\r")
	b.put("apart", strings.Repeat("x", scanBlock-1)+"\r\nb\r\n") // the first line's end stands in two pieces
	for _, c := range []struct {
		name          string
		pairs         []any
		lines, text   string
		form, version string
	}{
		{name: "three", lines: "1-3 of 3", text: "1\tone\n2\ttwo\n3\tthree\n", form: "no line end after the last line"},
		{name: "three", pairs: []any{"offset", 2, "limit", 1}, lines: "2-2 of 3, use offset=3 for the next", text: "2\ttwo\n", form: "no line end after the last line"},
		{name: "returns", lines: "1-2 of 2", text: "1\ta\rb\n2\tc\r\n", form: "CRLF in 1 lines only; no line end after the last line"},
		{name: "apart", pairs: []any{"offset", 2}, lines: "2-2 of 2", text: "2\tb\n", form: "CRLF line ends"},
		{name: "empty", lines: "no lines: the file is empty"},
		{name: "dos", lines: "1-2 of 2", text: "1\ta\n2\tb\n", form: "byte order mark; CRLF line ends"},
		{name: "mixed", lines: "1-2 of 2", text: "1\ta\n2\tb\n", form: "CRLF in 1 lines only"},
	} {
		got := b.must("read_file", append([]any{"path", c.name}, c.pairs...)...)
		if form, _ := got["form"].(string); got["lines"] != c.lines || got["text"] != c.text || form != c.form || len(got["version"].(string)) != 16 {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	whole, part := b.must("read_file", "path", "three"), b.must("read_file", "path", "three", "offset", 3)
	if whole["version"] != part["version"] {
		t.Error("the version is that of a part")
	}
	if e := b.refused(tools.CodeInvalidArgument, "read_file", "path", "three", "offset", 9); !strings.Contains(e.Message, "3 lines") || e.Field != "offset" {
		t.Error(e)
	}
	b.put("zeros", "a\x00b")
	b.refused(tools.CodeInvalidArgument, "read_file", "path", "zeros")
	b.refused(tools.CodeInvalidArgument, "read_file", "path", ".")
}

// A session's model may replace what it has seen, and only as long as nobody changed it. B145, also in another process, and
// whatever a file's times say.
func TestStaleWritesB145(t *testing.T) {
	dir := t.TempDir()
	b := newBench(t, dir)
	b.put("a", "one\n")

	// Read, the user appends a line, write.
	b.must("read_file", "path", "a")
	b.put("a", "one\nthe user's\n")
	if e := b.refused(tools.CodeConflict, "write_file", "path", "a", "content", "mine\n"); !strings.Contains(e.Message, "changed since it was read") {
		t.Error(e)
	}
	if got := b.get("a"); got != "one\nthe user's\n" {
		t.Errorf("the user's line is gone: %q", got)
	}
	// Read, write, write again.
	b.must("read_file", "path", "a")
	b.must("write_file", "path", "a", "content", "mine\n")
	if got := b.must("write_file", "path", "./a", "content", "mine\nagain\n"); got["change"] != "+1 -0" {
		t.Error(got)
	}
	// Somebody else writes in between: read again.
	b.put("a", "mine\nagain\nother\n")
	b.refused(tools.CodeConflict, "write_file", "path", "a", "content", "x\n")
	// The same times, another content.
	b.must("read_file", "path", "a")
	path := filepath.Join(dir, "a")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b.put("a", "mine\nagain\nOTHER\n")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	// Another process: what was read is known from the store.
	c := newBench(t, dir)
	c.results = b.results
	c.refused(tools.CodeConflict, "write_file", "path", "a", "content", "x\n")
	c.must("read_file", "path", "a")
	d := newBench(t, dir)
	d.results = c.results
	d.must("write_file", "path", "a", "content", "x\n")
	// Other sessions have seen nothing.
	if _, err := d.in("other", "write_file", "path", "a", "content", "y\n"); err == nil {
		t.Error("a session overwrites what another one has read")
	}
	// What is there and was never read stays; what was read and is gone is not made again unasked.
	d.put("never", "x\n")
	if e := d.refused(tools.CodeConflict, "write_file", "path", "never", "content", "y\n"); !strings.Contains(e.Message, "has not been read") {
		t.Error(e)
	}
	d.must("read_file", "path", "never")
	if err := os.Remove(filepath.Join(dir, "never")); err != nil {
		t.Fatal(err)
	}
	if e := d.refused(tools.CodeConflict, "write_file", "path", "never", "content", "y\n"); !strings.Contains(e.Message, "is not now") {
		t.Error(e)
	}
	// The same content is no change, read or not.
	d.put("same", "x\n")
	if got := d.must("write_file", "path", "same", "content", "x\n"); got["change"] != "unchanged" {
		t.Error(got)
	}
	d.fail = errors.New("store closed")
	if _, err := d.do("write_file", "path", "b", "content", "x"); err == nil {
		t.Error("written without knowing what was read")
	}
	d.clean()
}

func TestWriteNewFile(t *testing.T) {
	b := newBench(t, t.TempDir())
	if got := b.must("write_file", "path", "deep/er/new.txt", "content", "a\nb\n"); got["change"] != "new file, +2" || got["path"] != "deep/er/new.txt" {
		t.Error(got)
	}
	if got := b.get("deep/er/new.txt"); got != "a\nb\n" {
		t.Errorf("%q", got)
	}
	b.must("write_file", "path", "empty", "content", "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.tools["write_file"].Run(ctx, b.call("s"), args("path", "late", "content", "x")); err == nil {
		t.Error("written after it was cancelled")
	}
	if _, err := os.Stat(filepath.Join(b.dir, "late")); err == nil {
		t.Error("the file of a cancelled call is there")
	}
	b.clean()
}

// B142: bytes that are no UTF-8 are kept by leaving the file alone; byte order mark and line ends stay; U+FFFD never gets in.
func TestEncodingsB142(t *testing.T) {
	b := newBench(t, t.TempDir())
	far := strings.Repeat("plain\n", 5000) + "caf\xe9\n"
	for name, content := range map[string]string{
		"latin1": "caf\xe9\nx\n", "gbk": "\xc4\xe3\xba\xc3\nx\n", "bom and latin1": "\xef\xbb\xbfcaf\xe9\nx\n", "far": far,
	} {
		b.put(name, content)
		got := b.must("read_file", "path", name)
		if form, _ := got["form"].(string); !strings.Contains(form, "no UTF-8") {
			t.Errorf("%s: %v", name, got)
		}
		if name == "latin1" && got["text"] != "1\tcaf<0xE9>\n2\tx\n" {
			t.Errorf("%v", got["text"])
		}
		for _, text := range []string{"caf\ufffd\ny\n", "café\ny\n"} {
			b.refused(tools.CodeConflict, "write_file", "path", name, "content", text)
		}
		if b.get(name) != content {
			t.Errorf("%s was touched", name)
		}
	}
	for _, c := range []struct{ name, old, write, want string }{
		{"bom", "\ufeffa\nb\n", "a\nc\n", "\ufeffa\nc\n"},
		{"bom given", "\ufeffa\n", "\ufeffb\n", "\ufeffb\n"},
		{"crlf", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		{"crlf given", "a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n"},
		{"both", "\ufeffa\r\n", "b\n", "\ufeffb\r\n"},
		{"lf", "a\n", "b\r\n", "b\n"},
		{"lf, more", "a\n", "a\r\nb\r\nc", "a\nb\nc"},
		{"mixed", "a\r\nb\nc\r\nd\n", "a\nB\nc\nd\ne\n", "a\r\nB\nc\r\nd\ne\n"},
		{"mixed, above", "a\r\nb\n", "new\na\nb\n", "new\r\na\r\nb\n"},
		{"no end", "a\r\nb", "a\nb\n", "a\r\nb\r\n"},
		{"end gone", "a\r\nb\r\n", "a\nb", "a\r\nb"},
		{"a bom given", "a\n", "\ufeffb\n", "b\n"},
		{"emptied", "a\r\n", "", ""},
		{"one line, given", "a", "b\r\nc", "b\r\nc"},
		{"one line", "a", "b\nc", "b\nc"},
		{"had it", "a\ufffd\n", "b\ufffd\n", "b\ufffd\n"},
	} {
		b.put(c.name, c.old)
		b.must("read_file", "path", c.name)
		b.must("write_file", "path", c.name, "content", c.write)
		if got := b.get(c.name); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		b.must("write_file", "path", c.name, "content", c.write+"z") // our own version is known
	}
	b.put("clean", "a\n")
	b.must("read_file", "path", "clean")
	b.refused(tools.CodeInvalidArgument, "write_file", "path", "clean", "content", "b\ufffd\n")
	b.refused(tools.CodeInvalidArgument, "write_file", "path", "fresh", "content", "b\ufffd\n")
	b.put("zeros", "a\x00\n")
	b.refused(tools.CodeConflict, "write_file", "path", "zeros", "content", "b\n")
	b.put("large", strings.Repeat("x", maxOld+1))
	b.refused(tools.CodeInvalidArgument, "write_file", "path", "large", "content", "b\n")
	b.clean()
}

// What the program keeps for itself is neither shown nor touched, however it is spelled.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "keep"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, dir, filepath.Join(dir, "data"), filepath.Join(dir, "keep", "log.*"), filepath.Join(dir, "..", "elsewhere"), dir)
	b.put("data/sessions.db", "secret")
	b.put("keep/log.jsonl", "secret")
	b.put("keep/other", "fine\n")
	b.put("database", "fine\n")
	if err := os.Symlink("data", filepath.Join(b.dir, "link")); err != nil {
		t.Skip("no links here: ", err)
	}
	for _, p := range []string{"data", "data/.", "./data/sessions.db", "DATA/sessions.db", "link/sessions.db", "link", "keep/log.jsonl", "data/new", "keep/LOG.jsonl", "keep/log.1.jsonl"} {
		b.everywhere(p, tools.CodeInvalidArgument)
	}
	b.must("read_file", "path", "database")
	b.must("read_file", "path", "keep/other")
	got := fmt.Sprint(b.must("list_dir", "depth", 3)["names"])
	if strings.Contains(got, "sessions.db") || !strings.Contains(got, "data/ (the program's own)") || !strings.Contains(got, "keep/other") {
		t.Error(got)
	}
}

func TestPreview(t *testing.T) {
	b := newBench(t, t.TempDir())
	show := func(pairs ...any) string {
		t.Helper()
		text, err := b.tools["write_file"].(tools.Previewer).Preview(context.Background(), b.call("s"), args(pairs...))
		if err != nil {
			return "error: " + err.Error()
		}
		return text
	}
	if got := show("path", "n", "content", "a\nb\u202e\n"); got != "n  new file, +2\n   1 + a\n   2 + b<U+202E>\n" {
		t.Errorf("%q", got)
	}
	var old, now []string
	for i := range 30 {
		old = append(old, fmt.Sprint("line ", i+1))
	}
	now = slices.Clone(old)
	now[1], now[20] = "second", "the 21st"
	now = slices.Insert(now, 21, "more")
	b.put("f", strings.Join(old, "\n")+"\n")
	if got := show("path", "f", "content", "x"); !strings.Contains(got, "conflict") {
		t.Error(got)
	}
	b.must("read_file", "path", "f")
	want := "f  +3 -2, same as read\n   1   line 1\n   2 - line 2\n   2 + second\n   3   line 3\n   4   line 4\n   5   line 5\n   ...\n" +
		"  18   line 18\n  19   line 19\n  20   line 20\n  21 - line 21\n  21 + the 21st\n  22 + more\n  23   line 22\n  24   line 23\n  25   line 24\n"
	if got := show("path", "f", "content", strings.Join(now, "\n")+"\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := show("path", "f", "content", strings.Join(old, "\n")+"\n"); got != "f  unchanged\n" {
		t.Errorf("%q", got)
	}
	if b.get("f") != strings.Join(old, "\n")+"\n" {
		t.Error("a preview wrote")
	}
}

// What became of a call that had been started: it wrote, it did not, or nobody can tell.
func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		before, now string // "" is no file
		read        bool
		left        bool // what it prepared is there
		ran, told   bool
	}{
		"written":                     {"old\n", "new\n", true, false, true, true},
		"written with other ends":     {"old\r\n", "new\r\n", true, false, true, true},
		"a new file written":          {"", "new\n", false, false, true, true},
		"not written":                 {"old\n", "old\n", true, false, false, true},
		"a new file not written":      {"", "", false, false, false, true},
		"killed while preparing":      {"old\n", "old\n", true, true, false, true},
		"prepared, changed by others": {"old\n", "other\n", true, true, false, true},
		"changed by others":           {"old\n", "other\n", true, false, false, false},
		"made by others":              {"", "other\n", false, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, t.TempDir())
			if c.before != "" {
				b.put("f", c.before)
			}
			if c.read {
				b.must("read_file", "path", "f")
			}
			call := b.call("s")
			if c.left {
				b.put(tempOf("f", call.Key), "half of it")
			}
			if c.now != "" {
				b.put("f", c.now)
			}
			out, ran, ok, err := b.tools["write_file"].Probe(context.Background(), call, args("path", "f", "content", "new\n"))
			if !ok || ran != c.ran || (err == nil) != c.told {
				t.Fatalf("ran %v, can tell %v, %v", ran, ok, err)
			}
			b.clean()
			if ran {
				b.keep("s", out)
				b.must("write_file", "path", "f", "content", "newer\n") // its version is known
			}
			if !ran && c.told && c.now == c.before {
				b.must("write_file", "path", "f", "content", "new\n")
			}
		})
	}
	b := newBench(t, t.TempDir())
	if _, ran, ok, err := b.tools["write_file"].Probe(context.Background(), b.call("s"), args("path", "../x", "content", "")); ran || !ok || err != nil {
		t.Errorf("a refused path: %v %v %v", ran, ok, err)
	}
	b.fail = errors.New("store closed")
	if _, _, _, err := b.tools["write_file"].Probe(context.Background(), b.call("s"), args("path", "x", "content", "")); err == nil {
		t.Error("a probe without the store can tell")
	}
}

// Whatever is written is what is read, line for line, and a version stands for one content.
func TestWriteReadProperty(t *testing.T) {
	b := newBench(t, t.TempDir())
	rapid.Check(t, func(r *rapid.T) {
		line := rapid.StringOf(rapid.RuneFrom([]rune("ab \t中é\u202e\"\\<")))
		content := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(r, "lines"), "\n")
		name := fmt.Sprint("f", b.calls)
		wrote := b.must("write_file", "path", name, "content", content)
		read := b.must("read_file", "path", name)
		if wrote["version"] != read["version"] || b.get(name) != content {
			r.Fatalf("wrote %q, is %q", content, b.get(name))
		}
		var back []string
		for _, l := range strings.SplitAfter(read["text"].(string), "\n") {
			if _, text, ok := strings.Cut(l, "\t"); ok {
				back = append(back, strings.TrimSuffix(text, "\n"))
			}
		}
		want := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
		if content == "" {
			want = nil
		}
		if !slices.Equal(back, want) {
			r.Fatalf("wrote %q, read %q", want, back)
		}
		b.results = map[string][]json.RawMessage{}
	})
}

// A call that could change nothing, line ends being the file's, says so when it is asked what became of it.
func TestProbeLineEnds(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.put("f", "a\r\nb\n")
	b.must("read_file", "path", "f")
	out, ran, _, err := b.tools["write_file"].Probe(context.Background(), b.call("s"), args("path", "f", "content", "a\nb\n"))
	if !ran || err != nil || out.Summary != "unchanged" {
		t.Errorf("ran %v, %v, %q", ran, err, out.Summary)
	}
	if got := b.must("write_file", "path", "f", "content", "a\nb\n"); !strings.Contains(got["note"].(string), "but for line ends") || b.get("f") != "a\r\nb\n" {
		t.Error(got)
	}
	if got := b.must("write_file", "path", "f", "content", "a\r\nb\n"); got["note"] != "the file held this already" {
		t.Error(got)
	}
}

// B145: what somebody does to the file while the new content is prepared is seen before it takes the old one's place.
func TestChangedMeanwhileB145(t *testing.T) {
	for what, change := range map[string]func(b *bench){
		"changed": func(b *bench) { b.put("f", "the user's\n") },
		"removed": func(b *bench) { _ = os.Remove(filepath.Join(b.dir, "f")) },
		"made":    func(b *bench) { b.put("f", "the user's\n") },
		"no text": func(b *bench) { b.put("f", "\xff") },
	} {
		b := newBench(t, t.TempDir())
		if what != "made" {
			b.put("f", "old\n")
			b.must("read_file", "path", "f")
		}
		want := ""
		b.fault = func(at string) error {
			if at == "write.half" {
				change(b)
				if what != "removed" {
					want = b.get("f")
				}
			}
			return nil
		}
		b.refused(tools.CodeConflict, "write_file", "path", "f", "content", "new\n")
		got, _ := os.ReadFile(filepath.Join(b.dir, "f"))
		if string(got) != want {
			t.Errorf("%s: the file holds %q, not %q", what, got, want)
		}
		b.clean()
	}
}
