package markdown

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

var update = flag.Bool("update", false, "write the golden files")

func style(w int) Style {
	return Style{Theme: theme.New(theme.Options{Profile: colorprofile.TrueColor}), Width: w, Bg: theme.OnBase}
}

func plainRows(rows []string) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(ansi.Strip(r), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

const sample = "# Deploy plan\n\nTwelve workers cost **$42.34** a week, *not* more; use `limits.yaml` and ~~never~~ [the price list](https://prices.example/list).\nSecond line of the same paragraph, long enough to be wrapped at the width of prose.\n\n" +
	"- first\n- second with **bold**\n  - nested one\n  - nested two\n\n- third after a blank\n\n1. one\n2. two\n10. ten\n\n- [x] done\n- [ ] not yet\n\n" +
	"> A quote that says\n> something.\n>\n> > deeper\n\n" +
	"| resource | request | limit |\n|---|--:|:-:|\n| cpu | 250m | 1 |\n| memory | 192 MiB | 256 MiB |\n\n" +
	"```go\nfunc main() { // start\n\tprintln(\"hi\")\n}\n```\n\n    indented code\n    two\n\n---\n\nRaw <b>HTML</b> &amp; an entity, https://auto.example/link and \\*escaped\\*.\nEnd  \nof it.\n\n[ref]: https://ref.example/x\n\nSee [ref].\n"

func TestGolden(t *testing.T) {
	for _, w := range []int{20, 40, 80} {
		rows := Render(sample, style(w))
		for _, r := range rows {
			if got := ansi.StringWidth(r); got != w {
				t.Errorf("width %d: %q takes %d", w, r, got)
			}
		}
		golden(t, fmt.Sprintf("sample-%d", w), plainRows(rows))
	}
	golden(t, "sample-styled", strings.Join(Render(sample, style(60)), "\n")+"\n")
}

func TestTableOfWideCharacters(t *testing.T) { // B025
	for _, src := range []string{"| 日本語テキスト | x |\n|---|---|\n| 日本語テキスト | x |", "| a日本語テキスト | x |\n|---|---|\n| a日本語テキスト | x |"} {
		for w := 1; w <= 24; w++ {
			for _, r := range Render(src, style(w)) {
				if got := ansi.StringWidth(r); got != w {
					t.Errorf("width %d: %q takes %d", w, ansi.Strip(r), got)
				}
				if strings.Contains(r, "\uFFFD") {
					t.Errorf("half a character in %q", r)
				}
			}
		}
	}
}

func TestLinks(t *testing.T) { // B016
	for _, c := range []struct{ src, shown, osc string }{
		{"[safe.example](http://evil.example)", "safe.example (http://evil.example)", "http://evil.example"},
		{"https://a.example/x", "https://a.example/x", "https://a.example/x"},
		{"<https://a.example>", "https://a.example", "https://a.example"},
		{"[x](javascript:alert)", "x (javascript:alert)", ""},
		{"www.a.example", "www.a.example", ""},
		{"![pic](https://p.example/i.png)", "pic (https://p.example/i.png)", "https://p.example/i.png"},
		{"&#27;]8;;evil.example&#27;\\safe", "]8;;evil.examplesafe", ""},
		{"\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\", "safe.example", ""},
	} {
		rows := Render(c.src, style(70))
		if got := strings.TrimSpace(ansi.Strip(rows[0])); got != c.shown {
			t.Errorf("%q shows %q, want %q", c.src, got, c.shown)
		}
		want := 0
		if c.osc != "" {
			want = 1
		}
		if got := strings.Count(rows[0], "\x1b]8;;"+c.osc+"\x1b\\"); c.osc != "" && got != want {
			t.Errorf("%q has %d links to %q in %q", c.src, got, c.osc, rows[0])
		}
		if c.osc == "" && strings.Contains(rows[0], "\x1b]8") {
			t.Errorf("%q emits a link: %q", c.src, rows[0])
		}
	}
}

var linkSequence = regexp.MustCompile("\x1b\\]8;([^;]*);([^\x1b]*)\x1b")

// B028: each row that an address is wrapped over opens the whole of it, and the rows are one link; a full stop behind it is no part.
// So in a list and in a cell; a terminal that may not know links gets none.
func TestWrappedLinks(t *testing.T) {
	url := "https://example.test/" + strings.Repeat("path/", 31) + "last"
	if len(url) != 180 {
		t.Fatalf("the address has %d characters", len(url))
	}
	for _, src := range []string{"See " + url + ".", "- see " + url + ".", "| where | what |\n|---|---|\n| " + url + " | it |"} {
		rows := Render(src, style(76))
		var shown strings.Builder
		ids := map[string]bool{}
		for _, r := range rows {
			for i, m := range linkSequence.FindAllStringSubmatchIndex(r, -1) {
				to, id := r[m[4]:m[5]], r[m[2]:m[3]]
				if to == "" {
					continue
				}
				if to != url {
					t.Errorf("%q: row %q opens %q", src, r, to)
				}
				ids[id] = true
				if i%2 == 0 {
					end := strings.Index(r[m[1]:], "\x1b]8;;")
					shown.WriteString(ansi.Strip(r[m[1]+1:][:end-1]))
				}
			}
		}
		if shown.String() != url || len(ids) != 1 || ids[""] {
			t.Errorf("%q: links over %q with the ids %v", src, shown.String(), ids)
		}
	}
	s := style(70)
	s.Theme = theme.New(theme.Options{Profile: colorprofile.TrueColor, NoLinks: true})
	if got := strings.Join(Render("see "+url+" and https://a.example", s), "\n"); strings.Contains(got, "\x1b]8") {
		t.Errorf("a terminal without links gets %q", got)
	}
}

// B028: an address that goes over rows is in each of them a link to the whole of it; the full stop behind it is not part of it: in
// prose, a table and a list.
func TestB028LongAddress(t *testing.T) {
	url := "https://example.test/" + strings.Repeat("a-part/", 22) + "abcde"
	if len(url) != 180 {
		t.Fatal(len(url))
	}
	for name, src := range map[string]string{
		"prose": "See " + url + ".", "alone": url + ".", "table": "| where | what |\n|---|---|\n| " + url + ". | x |", "list": "- item\n  - " + url + ".", "brackets": "<" + url + ">.",
	} {
		for _, w := range []int{80, 400} {
			s := style(w)
			links, shown := 0, ""
			for _, r := range Render(src, s) {
				text := strings.TrimSpace(ansi.Strip(r))
				shown += text
				for _, part := range strings.Split(r, "\x1b]8;")[1:] {
					_, target, _ := strings.Cut(part, ";")
					if target, _, _ = strings.Cut(target, "\x1b\\"); target == "" {
						continue
					}
					links++
					if target != url {
						t.Errorf("%s at %d links to %q", name, w, target)
					}
				}
			}
			if flat := strings.ReplaceAll(shown, " ", ""); !strings.Contains(flat, strings.ReplaceAll(url, " ", "")) && name != "table" {
				t.Errorf("%s at %d does not show the address: %q", name, w, shown)
			}
			if links == 0 {
				t.Errorf("%s at %d has no link", name, w)
			}
		}
	}
	if rows := Render("go to https://example.test/x.", style(80)); !strings.Contains(rows[0], "\x1b]8;;https://example.test/x\x1b\\") || !strings.Contains(ansi.Strip(rows[0]), "/x.") {
		t.Errorf("%q", rows[0])
	}
}

func pieces() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"word ", "two words ", "\n", "\n\n", "# ", "## head\n", "- ", "- item\n", "  - nested\n", "1. ", "2) x\n", "> ", ">", "```", "```go\n", "~~~\n", "`", "``", "**", "*", "_", "~~", "[", "](", ")", "]", "http://a.example/b", "[l]: http://x\n", "[l]",
		"| a | b |\n", "|--|:-:|\n", "| 日本語 | x |\n", "|", "---\n", "===\n", "    code\n", "\t", "<b>", "&amp;", "&#27;", "\\", "你好。", "「", "e\u0301", "\u0301", "👩\u200d👩", "⚠️", "🇵🇱", "क\u094dष", "ำ", "\x1b[31m", "\x9b", "- [ ] t\n", "- [x] d\n", strings.Repeat("x", 50), "func ", "/* ", "*/", "\"", "'", "//",
	})
}

func TestStreamedEqualsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(pieces(), 0, 50).Draw(t, "parts")
		w := rapid.IntRange(1, 90).Draw(t, "w")
		st := style(w)
		st.Metrics.Grapheme = rapid.Bool().Draw(t, "grapheme")
		var s Stream
		for _, p := range parts {
			s.Append(p)
			for _, r := range s.Rows(st) {
				if got := st.Metrics.Width(r); got != w {
					t.Fatalf("while streaming %q takes %d of %d", r, got, w)
				}
			}
		}
		s.Finish()
		all := strings.Join(parts, "")
		got := append([]string(nil), s.Rows(st)...)
		if d := cmp.Diff(Render(all, st), got); d != "" {
			t.Fatalf("%q: %s", all, d)
		}
		for i, r := range got {
			if n := st.Metrics.Width(r); n != w {
				t.Fatalf("%q takes %d of %d", r, n, w)
			}
			if n := ansi.StringWidthWc(r); !st.Metrics.Grapheme && n != w {
				t.Fatalf("by code point %q takes %d of %d", r, n, w)
			}
			if n := ansi.StringWidth(r); n != w {
				t.Fatalf("by cluster %q takes %d of %d", r, n, w)
			}
			s.BlockAt(i)
		}
		if src := s.Source(); src != paint.CleanSource(all) {
			t.Fatalf("the source is %q, want %q", src, paint.CleanSource(all))
		}
		s.Blocks()
	})
}

// Nothing that is shown while a text streams may be signs of Markdown that go away later.
func TestNoFlicker(t *testing.T) {
	src := "Some **bold words** and `code span` and *slant* here.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx := 1\n```\n\n- one\n- two [link](https://l.example) end\n\n## Head\n\nlast"
	st := style(60)
	var s Stream
	for i := range len(src) {
		s.Append(src[i : i+1])
		shown := plainRows(s.Rows(st))
		for _, bad := range []string{"**", "`", "*", "|", "#", "[", "]"} {
			if strings.Contains(shown, bad) {
				t.Fatalf("after %q the screen shows %q:\n%s", src[:i+1], bad, shown)
			}
		}
	}
}

// A sign of arithmetic stays one while the text streams; a word is slanted before its end has come.
func TestArithmeticStreams(t *testing.T) {
	for src, want := range map[string]string{
		"(17+5)*3 = 66":   "(17+5)*3 = 66",
		"so 2**3 = 8":     "so 2**3 = 8",
		"a[1]*y = 6":      "a[1]*y = 6",
		"2 * 3 * 4":       "2 * 3 * 4",
		"an *open slant":  "an open slant",
		"这是**重点":          "这是重点",
		"(*open, **heavy": "(open, heavy",
	} {
		var s Stream
		for i, c := range src {
			s.Append(string(c))
			shown := strings.TrimSuffix(plainRows(s.Rows(style(60))), "\n")
			if !strings.HasPrefix(want, shown) {
				t.Errorf("after %q the screen shows %q", src[:i+len(string(c))], shown)
			}
		}
		if got := strings.TrimSuffix(plainRows(s.Rows(style(60))), "\n"); got != want {
			t.Errorf("%q is shown as %q, want %q", src, got, want)
		}
	}
}

func TestGrowthKeepsClosedRows(t *testing.T) {
	st := style(40)
	var s Stream
	s.Append("first paragraph\n\nsecond **par")
	a := s.Rows(st)
	if got := plainRows(a); got != "first paragraph\n\nsecond par\n" {
		t.Fatalf("%q", got)
	}
	s.Append("agraph**\n")
	if got := plainRows(s.Rows(st)); got != "first paragraph\n\nsecond paragraph\n" {
		t.Fatalf("%q", got)
	}
}

func TestBlocks(t *testing.T) {
	var s Stream
	s.Append("text\n\n```go\nfunc x() {\n\treturn\n}\n```\nafter\n\n    indented\n\n~~~\nopen")
	s.Finish()
	var code []string
	for _, b := range s.Blocks() {
		if b.Code {
			code = append(code, b.Lang+"|"+b.Text)
		}
	}
	want := []string{"go|func x() {\n\treturn\n}\n", "|indented\n", "|open"}
	if d := cmp.Diff(want, code); d != "" {
		t.Error(d)
	}
	rows := s.Rows(style(40))
	if b, ok := s.BlockAt(2); !ok || !b.Code || b.Lang != "go" {
		t.Errorf("BlockAt(2) = %+v in %q", b, plainRows(rows))
	}
	if _, ok := s.BlockAt(-1); ok {
		t.Error("there is no row -1")
	}
}

func TestHostile(t *testing.T) { // B127, as it applies to Markdown
	for name, src := range map[string]string{
		"quotes":   strings.Repeat(">", 100_000) + "x",
		"lists":    strings.Repeat("- ", 100_000) + "x",
		"brackets": strings.Repeat("[", 100_000),
		"stars":    strings.Repeat("*a ", 100_000),
		"ticks":    strings.Repeat("`a``b", 30_000),
		"nested":   nest(400),
		"line":     strings.Repeat("x", 1_000_000),
		"escapes":  strings.Repeat("\x1b]", 300_000),
		"table":    strings.Repeat("|a", 5000) + "\n" + strings.Repeat("|-", 5000) + "\n",
		"depth100": strings.Repeat("> ", 30) + "fine",
	} {
		rows := Render(src, style(80)) // what takes more than linear time does not end here
		for _, r := range rows {
			if w := ansi.StringWidth(r); w != 80 {
				t.Errorf("%s: a row of %d cells", name, w)
				break
			}
		}
	}
}

func nest(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return b.String()
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{sample, "- a\n\n\n  b", "| a |\n|-|\n", "```", "[x]: y\n[x]", "\x1b]8;;", "> - 1. # x", "*a **b* c**"} {
		f.Add(s, 30)
	}
	f.Fuzz(func(t *testing.T, src string, w int) {
		w = ((w%100)+100)%100 + 1
		st := style(w)
		half := len(src) / 2
		var s Stream
		s.Append(src[:half])
		s.Rows(st)
		s.Append(src[half:])
		rows := append([]string(nil), s.Rows(st)...)
		s.Finish()
		for _, r := range append(rows, s.Rows(st)...) {
			if n := st.Metrics.Width(r); n != w {
				t.Fatalf("%q takes %d of %d", r, n, w)
			}
		}
	})
}

func BenchmarkDelta(b *testing.B) {
	st := style(80)
	var s Stream
	for range 600 {
		s.Append("Twelve workers cost **$42.34** a week, and `limits.yaml` says that each of them may use one core; nothing more.\n\n")
	}
	s.Append("An open paragraph ")
	s.Rows(st)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		c := s
		b.StartTimer()
		c.tail += "and a delta"
		c.Rows(st)
	}
}

func BenchmarkWhole50KB(b *testing.B) {
	src := strings.Repeat(sample, 50_000/len(sample))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for range b.N {
		Render(src, style(80))
	}
}

// A table with more columns than its width has words for is laid out row by row, each value beside the name of its column: no word is
// broken into letters, and no column is left out. One that fits stays a table.
func TestATableOfManyColumnsIsReadable(t *testing.T) {
	src := "| one | two | three | four | five | six | seven | eight |\n|---|---|---|---|---|---|---|---|\n" +
		"| alpha beta | gamma delta | epsilon zeta | 四号内容 | theta iota | kappa | lambda | mu |\n| a | b | c | d | e | f | g | h |"
	got := plainRows(Render(src, style(40)))
	for _, want := range []string{"one    alpha beta", "four   四号内容", "eight  mu", "eight  h"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q:\n%s", want, got)
		}
	}
	if got := plainRows(Render(src, style(100))); !strings.Contains(got, "one") || strings.Contains(got, "eight  mu") || len(strings.Split(strings.TrimSpace(got), "\n")) > 6 {
		t.Errorf("where it fits:\n%s", got)
	}
}

// A footnote is no link: its mark stands as it was written.
func TestFootnotesAreText(t *testing.T) {
	got := plainRows(Render("Told[^1] so, see [it][a].\n\n[^1]: The note.\n\n[a]: https://a.example", style(60)))
	if !strings.Contains(got, "Told[^1] so") || strings.Contains(got, "(The)") || !strings.Contains(got, "[^1]: The note.") || !strings.Contains(got, "it (https://a.example)") {
		t.Error(got)
	}
}
