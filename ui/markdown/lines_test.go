package markdown

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"vitrine/ui/paint"
)

func told(lines []paint.Line) string {
	var b strings.Builder
	for _, l := range lines {
		for _, c := range l.Cells {
			b.WriteString(c.Text)
		}
		b.WriteString(l.Join)
	}
	return b.String()
}

func linesOf(text string, st Style) []paint.Line {
	var s Stream
	s.Append(text)
	s.Finish()
	return s.Lines(st)
}

// What is copied of rows is the text as it reads: wrapped rows are joined, code keeps its lines and tabs, markers and nesting of lists
// stay, bars and indentation go, and a cluster that is shown in a safe form is copied whole (B022).
func TestB022Lines(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"wrapped", "one two three four five six seven eight nine ten", "one two three four five six seven eight nine ten\n"},
		{"a long word", strings.Repeat("abcdefghij", 8), strings.Repeat("abcdefghij", 8) + "\n"},
		{"Chinese", strings.Repeat("部署计划在星期五，", 6), strings.Repeat("部署计划在星期五，", 6) + "\n"},
		{"two paragraphs", "a **bold** word\nand *more*\n\nb", "a bold word and more\n\nb\n"},
		{"a hard break", "a  \nb", "a\nb\n"},
		{"code", "see\n\n```go\nfunc f() {\n\treturn \"a very long line that the screen has to chop somewhere\"\n}\n```\n", "see\n\nfunc f() {\n\treturn \"a very long line that the screen has to chop somewhere\"\n}\n"},
		{"empty lines of code", "```\na\n\nb\n```\n", "a\n\nb\n"},
		{"indented code", "    a\n    \tb\n", "a\n\tb\n"},
		{"lists", "- one\n- two that is long enough to be wrapped twice at this width\n  - nested\n\n1. first\n2. second", "- one\n- two that is long enough to be wrapped twice at this width\n  - nested\n\n1. first\n2. second\n"},
		{"a quote", "> quoted words that are long enough to wrap", "quoted words that are long enough to wrap\n"},
		{"a table", "| a | b |\n|---|--:|\n| x | 10 |\n", "a    b\nx   10\n"},
		{"clusters", "family 👨‍👩‍👧 flag 🇩🇪 thumb 👍🏽 heart ❤️", "family 👨‍👩‍👧 flag 🇩🇪 thumb 👍🏽 heart ❤️\n"},
		{"a rule", "a\n\n---\n\nb", "a\n\n\n\nb\n"},
	} {
		for _, m := range []paint.Metrics{{}, {Grapheme: true}} {
			st := style(24)
			st.Metrics, st.Left, st.Right = m, 2, 1
			if got := told(linesOf(c.src, st)); got != c.want {
				t.Errorf("%s, %+v:\n got %q\nwant %q", c.name, m, got, c.want)
			}
		}
	}
}

// Lines belong to the rows, one to one, whatever has arrived, and say what stands in their cells.
func TestLinesAreTheRows(t *testing.T) {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"word ", "部署计划", "👨‍👩‍👧", "🇩🇪", "e\u0301", "**", "*", "`", "\n", "\n\n", "- ", "1. ", "> ", "```go\n", "\n```\n", "\tx := 1\n", "    ", "| a | b |\n|---|---|\n| c | d |\n", "# ", "[a](http://x.example) ", "&amp;", "\n---\n", "averyveryverylongwordthatdoesnotfit"}), 1, 40)
	rapid.Check(t, func(rt *rapid.T) {
		st := style(rapid.IntRange(1, 60).Draw(rt, "width"))
		st.Metrics = paint.Metrics{Grapheme: rapid.Bool().Draw(rt, "grapheme")}
		st.Left = min(2, st.Width-1)
		var s Stream
		for _, p := range parts.Draw(rt, "parts") {
			s.Append(p)
			if rapid.IntRange(0, 5).Draw(rt, "look") == 0 {
				s.Rows(st)
			}
		}
		if rapid.Bool().Draw(rt, "finish") {
			s.Finish()
		}
		lines := s.Lines(st)
		rows := s.Rows(st)
		if len(lines) != len(rows) {
			rt.Fatalf("%d lines of %d rows", len(lines), len(rows))
		}
		for i, l := range lines {
			plain, at := ansi.Strip(rows[i]), 0
			for _, c := range l.Cells {
				if c.At < at || c.At+c.Width > st.Width {
					rt.Fatalf("row %d %q: cell %+v behind column %d", i, plain, c, at)
				}
				at = c.At + c.Width
				if shown := cut(st.Metrics, plain, c.At, at); st.Metrics.Grapheme && c.Text != "\t" && c.Text != "" && strings.ReplaceAll(shown, "\u2060", "") != c.Text {
					rt.Fatalf("row %d %q: %+v shows %q", i, plain, c, shown)
				}
			}
		}
	})
}

func cut(m paint.Metrics, row string, from, to int) string {
	before := m.Cut(row, from, "")
	return m.Cut(row[len(before):], to-m.Width(before), "")
}
