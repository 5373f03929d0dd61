package builtin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vitrine/tools"
)

// What the text of a result says of bytes that are no text holds for the whole file, wherever they stand. B142
func TestAlienBytesB142(t *testing.T) {
	b := newBench(t, t.TempDir())
	for name, c := range map[string]struct {
		content string
		alien   bool
	}{
		"long and fine":    {"a" + strings.Repeat("长", 300) + "\n", false},
		"across pieces":    {strings.Repeat("长", scanBlock), false},
		"emoji":            {"x" + strings.Repeat("🙂", scanBlock), false},
		"far in its line":  {strings.Repeat("x", 600) + "\xe9\n", true},
		"open at the end":  {"fine\n\xe9\x95", true},
		"open at a piece":  {strings.Repeat("x", scanBlock-1) + "\xe9" + "xx\n", true},
		"zero, far behind": {strings.Repeat("x\n", binaryHead) + "\x00\n", true},
	} {
		b.put(name, c.content)
		form, _ := b.must("read_file", "path", name)["form"].(string)
		if alien := strings.Contains(form, "no UTF-8"); alien != c.alien {
			t.Errorf("%s: %q", name, form)
		}
		_, err := b.do("write_file", "path", name, "content", "y\n")
		if refused := err != nil; refused != c.alien {
			t.Errorf("%s: read_file says %q, write_file %v", name, form, err)
		}
	}
}

// B137: nothing is opened for a path that is refused: a root that is closed makes no difference.
func TestNothingOpenedB137(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := Files(root, newBench(t, dir))
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"../../etc/passwd", dir + "-evil/x", "sub/../../app-evil/x", "a\x00b", "~/x", "file:///etc/passwd", `..\..\x`,
		"/proc/self/root/etc/passwd", strings.Repeat("a", 5000)} {
		for _, tool := range list {
			pairs := []any{"path", p}
			if tool.Name() == toolWriteFile {
				pairs = append(pairs, "content", "x")
			}
			_, err := tool.Run(context.Background(), tools.Call{SessionID: "s"}, args(pairs...))
			var te *tools.Error
			if !errors.As(err, &te) || te.Code != tools.CodeInvalidArgument || !strings.Contains(te.Message, dir) {
				t.Errorf("%s %.40q: %v", tool.Name(), p, err)
			}
		}
	}
}

// Where the file does not tell what became of a call, the probe does not say that it has not run.
func TestProbeCannotTell(t *testing.T) {
	b := newBench(t, t.TempDir())
	probe := func(call tools.Call, pairs ...any) (ran bool, err error) {
		t.Helper()
		_, ran, ok, err := b.tools["write_file"].Probe(context.Background(), call, args(pairs...))
		if !ok {
			t.Error("no probe")
		}
		return ran, err
	}
	b.put("f", "old\n")
	b.must("read_file", "path", "f")
	call := b.call("s")
	if ran, err := probe(call, "path", "f", "content", "new\n"); ran || err != nil {
		t.Errorf("only started: %v %v", ran, err)
	}
	if _, err := b.tools["write_file"].Run(context.Background(), call, args("path", "f", "content", "new\n")); err != nil {
		t.Fatal(err)
	}
	if ran, err := probe(call, "path", "f", "content", "new\n"); !ran || err != nil {
		t.Errorf("written, not committed: %v %v", ran, err)
	}
	for name, content := range map[string]string{"other text": "the user's\n", "no text": "\xff\n", "zeros": "\x00", "large": strings.Repeat("x", maxOld+1)} {
		b.put("f", content)
		if ran, err := probe(call, "path", "f", "content", "new\n"); ran || err == nil {
			t.Errorf("written, then %s: %v %v", name, ran, err)
		}
	}
	if err := os.Remove(filepath.Join(b.dir, "f")); err != nil {
		t.Fatal(err)
	}
	if ran, err := probe(call, "path", "f", "content", "new\n"); ran || err == nil {
		t.Errorf("written, then taken away: %v %v", ran, err)
	}
	// What it prepared beside a file that cannot be read any more still tells that it did not come to the end.
	b.put("f", "\xff\n")
	b.put(tempOf("f", call.Key), "ne")
	if ran, err := probe(call, "path", "f", "content", "new\n"); ran || err != nil {
		t.Errorf("killed while it prepared: %v %v", ran, err)
	}
	if ran, err := probe(b.call("s"), "path", "fresh", "content", "x"); ran || err != nil {
		t.Errorf("a new file: %v %v", ran, err)
	}
	b.clean()
}

// The counts of a preview take every line, also one that looks like a heading; line ends that stay are not shown.
func TestPreviewExact(t *testing.T) {
	b := newBench(t, t.TempDir())
	show := func(name, old, content string) string {
		t.Helper()
		if old != "" {
			b.put(name, old)
			b.must("read_file", "path", name)
		}
		text, err := b.tools["write_file"].(tools.Previewer).Preview(context.Background(), b.call("s"), args("path", name, "content", content))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, c := range []struct{ name, old, content, want string }{
		{"sql", "-- one\n-- two\nx\n", "++i\nx\n", "sql  +1 -2, same as read\n   1 - -- one\n   2 - -- two\n   1 + ++i\n   2   x\n"},
		{"dos", "a\r\nb\r\n", "a\nc\n", "dos  +1 -1, same as read\n   1   a\n   2 - b\n   2 + c\n"},
		{"unix", "a\n", "a\r\n", "unix  +1 -1, same as read\n   1 - a\n   1 + a<U+000D>\n"},
		{"blanks", "", "a\u00a0b\u3164\ufe0f\u2800\u115f\u2003\u200b\tz 长🙂\n",
			"blanks  new file, +1\n   1 + a<U+00A0>b<U+3164><U+FE0F><U+2800><U+115F><U+2003><U+200B>\tz 长🙂\n"},
	} {
		if got := show(c.name, c.old, c.content); got != c.want {
			t.Errorf("%s: %q\nwant %q", c.name, got, c.want)
		}
	}
}
