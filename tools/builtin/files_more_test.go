package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

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
	list := Files(Deps{Root: root, Results: newBench(t, dir)})
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
		{"unix", "a\n", "a\r\nb\r\n", "unix  +1 -0, same as read\n   1   a\n   2 + b\n"},
		{"inner", "a\rb\n", "a\rc\r\n", "inner  +1 -1, same as read\n   1 - a<U+000D>b\n   1 + a<U+000D>c\n"},
		{"open", "a\n", "a", "open  +1 -1, same as read\n   1 - a\n   1 + a\n       No newline at end of file\n"},
		{"fresh", "", "a\r\n", "fresh  new file, +1\n   1 + a<U+000D>\n"},
		{"blanks", "", "a\u00a0b\u3164\ufe0f\u2800\u115f\u2003\u200b\tz 长🙂\n",
			"blanks  new file, +1\n   1 + a<U+00A0>b<U+3164><U+FE0F><U+2800><U+115F><U+2003><U+200B>\tz 长🙂\n"},
	} {
		if got := show(c.name, c.old, c.content); got != c.want {
			t.Errorf("%s: %q\nwant %q", c.name, got, c.want)
		}
	}
}

// file is a file name and its lines for property tests, with an end for each line but perhaps the last.
type endedLine struct{ text, end string }

func joinEnded(lines []endedLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + l.end)
	}
	return b.String()
}

// Whatever is changed in a file, and with whatever line ends the model writes, each line that stays keeps its own end, the words
// are the model's, and no end appears that the file has not. B142
func TestLineEndsStayB142(t *testing.T) {
	b := newBench(t, t.TempDir())
	rapid.Check(t, func(r *rapid.T) {
		ends := rapid.SampledFrom([][]string{{"\n"}, {"\r\n"}, {"\n", "\r\n"}, {"\n", "\r\n", "\r\r\n"}}).Draw(r, "ends")
		var old, want []endedLine
		n := rapid.SampledFrom([]int{1, 3, 10, 400}).Draw(r, "lines")
		change := rapid.SampledFrom([]int{2, 5, 50}).Draw(r, "one in")
		kept := map[string]string{}
		for i := range n {
			l := endedLine{fmt.Sprint("line ", i), rapid.SampledFrom(ends).Draw(r, "end")}
			if i == n-1 && i > 0 && rapid.Bool().Draw(r, "open") {
				l.end = ""
			}
			old = append(old, l)
			fresh := endedLine{text: fmt.Sprint("new ", i)}
			switch k := rapid.IntRange(0, 3*change).Draw(r, "change"); k {
			case 0:
				want = append(want, fresh)
			case 1:
			case 2:
				want = append(want, fresh, l)
				kept[l.text] = l.end
			default:
				want = append(want, l)
				kept[l.text] = l.end
			}
		}
		model := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "the model's")
		var given strings.Builder
		for i, l := range want {
			given.WriteString(l.text)
			if i < len(want)-1 || l.end != "" || strings.HasPrefix(l.text, "new") {
				given.WriteString(model)
			}
		}
		name := fmt.Sprint("f", b.calls)
		b.put(name, joinEnded(old))
		b.must("read_file", "path", name)
		b.must("write_file", "path", name, "content", given.String())
		got := b.get(name)
		if strings.Join(bareLines(got), "\n") != strings.Join(bareLines(given.String()), "\n") || strings.HasSuffix(got, "\n") != strings.HasSuffix(given.String(), "\n") {
			r.Fatalf("wrote %q, is %q", given.String(), got)
		}
		for l := range strings.SplitAfterSeq(got, "\n") {
			if l == "" {
				continue
			}
			bare := bareLine(l)
			end := l[len(bare):]
			if was, ok := kept[bare]; ok && was != "" && end != was {
				r.Fatalf("%q had %q, has %q, in %q from %q", bare, was, end, got, joinEnded(old))
			}
			if end != "" && !slices.Contains(ends, end) {
				r.Fatalf("%q is no end of the file: %q from %q", end, got, joinEnded(old))
			}
		}
		b.results = map[string][]json.RawMessage{}
	})
}

// What a write leaves is what the same write leaves as it is, so that a probe can compare: whatever texts come together. B142
func TestLineEndsAgainB142(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab\r\n\n\ufeff")))
		old, given := text.Draw(r, "old"), text.Draw(r, "given")
		once := inForm([]byte(old), given)
		if again := inForm([]byte(once), given); again != once {
			r.Fatalf("%q over %q is %q, then %q", given, old, once, again)
		}
		if same := inForm([]byte(old), old); same != old {
			r.Fatalf("%q over itself is %q", old, same)
		}
	})
}

// Whatever lines and names a file has, a result fits into the prompt whole, so that path and version are in it, and reading on at
// the offset that it names comes to the end. B139
func TestResultsFitB139(t *testing.T) {
	b := newBench(t, t.TempDir())
	piece := rapid.SampledFrom([]string{"\x01", "\x1b", "\xff", "\\", "\"", "<", "\u2028", "长", "🙂", "a\u0301", "x", "\t", "\r"})
	rapid.Check(t, func(r *rapid.T) {
		part := rapid.SampledFrom([]string{"d", "\x01", "<", "长"}).Draw(r, "folder")
		dir := strings.Repeat(part, rapid.SampledFrom([]int{1, 20, 60}).Draw(r, "length"))
		var content strings.Builder
		n := rapid.IntRange(1, 6).Draw(r, "lines")
		for range n {
			content.WriteString(strings.Repeat(piece.Draw(r, "piece"), rapid.SampledFrom([]int{0, 1, 100, 499, 500, 600}).Draw(r, "times")) + "\n")
		}
		name := dir + "/" + fmt.Sprint("f", b.calls)
		b.put(name, content.String())
		offset := 1
		for range n + 1 {
			got := b.must("read_file", "path", name, "offset", offset)
			if got["path"] != name || got["version"] == nil {
				r.Fatalf("%v", got)
			}
			next := regexp.MustCompile(`use offset=(\d+)`).FindStringSubmatch(got["lines"].(string))
			if next == nil {
				offset = 0
				break
			}
			if to, _ := strconv.Atoi(next[1]); to > offset {
				offset = to
			} else {
				r.Fatalf("from %d on to %d", offset, to)
			}
		}
		if offset != 0 {
			r.Fatal("no end")
		}
		b.must("list_dir", "path", dir)
		b.results = map[string][]json.RawMessage{}
	})
}

// Paths and entries that would not fit into a result are refused and cut.
func TestLongNames(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.put("a", "x\n")
	for _, name := range []string{strings.Repeat("\x01", 255), strings.Repeat("\xfe", 255)} {
		if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o600); err != nil {
			t.Skip("no such names here: ", err)
		}
	}
	if err := os.Symlink(strings.Repeat("to/", 1300), filepath.Join(b.dir, "link")); err != nil {
		t.Skip("no links here: ", err)
	}
	seen, offset := "", 0
	for range 4 {
		got := b.must("list_dir", "offset", offset)
		names := got["names"].([]any)
		seen += fmt.Sprint(names)
		if offset += len(names); offset >= 4 {
			break
		}
	}
	for _, want := range []string{"<U+0001><U+0001>", "[the entry has 2040 bytes]", "<0xFE><0xFE>", "[the entry has 1530 bytes]", "link -> to/to/", "[the entry has 3908 bytes]"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not in %s", want, seen)
		}
	}
	long := strings.Repeat(strings.Repeat("d", 199)+"/", 3)
	last := strings.Repeat("f", 200)
	b.must("write_file", "path", long+last, "content", strings.Repeat("\x01", 600))
	b.must("read_file", "path", long+last)
	b.must("list_dir", "path", long)
	b.everywhere(long+last+"f", tools.CodeInvalidArgument)
	b.everywhere(strings.Repeat("\x01", 134), tools.CodeInvalidArgument)
}
