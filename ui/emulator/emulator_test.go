package emulator

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// A terminal that counts code points gives a family three places, a flag two, and a heart one.
func TestCodePoints(t *testing.T) {
	for _, c := range []struct {
		text       string
		grapheme   int
		codePoints int
	}{
		{"abc", 3, 3}, {"部署", 4, 4}, {"e\u0301", 1, 1}, {"👨\u200d👩\u200d👧", 2, 6}, {"❤\ufe0f", 2, 1}, {"🇩🇪", 2, 2}, {"💅🏻", 2, 4}, {"한글", 4, 4},
	} {
		for method, want := range map[ansi.Method]int{ansi.GraphemeWidth: c.grapheme, ansi.WcWidth: c.codePoints} {
			term := New(20, 2, method)
			term.Write(c.text + "|")
			s := term.Screen()
			x, _, ok := s.Find("|")
			if !ok || x != want || x != method.StringWidth(c.text) {
				t.Errorf("%q takes %d places, not %d, where method is %v: %q", c.text, x, want, method, s.Row(0))
			}
		}
	}
}

func TestScreen(t *testing.T) {
	term := New(10, 3, ansi.GraphemeWidth)
	term.Write("部署 x\r\n\x1b[1mbold\x1b[m\x1b]2;在 title\a\x1b]2;no end 在")
	s := term.Screen()
	if s.Row(0) != "部署 x" || s.Text(0, 4, 0) != "部署" || s.Text(4, 7, 0) != " x " || s.Cell(0, 0) != "部" || s.Cell(1, 0) != "" || s.Cell(99, 0) != "" || s.Cell(0, -1) != "" {
		t.Errorf("%q %q", s.Row(0), s.Cell(1, 0))
	}
	if x, y, ok := s.Find("x"); !ok || x != 5 || y != 0 {
		t.Errorf("x is at %d,%d %v", x, y, ok)
	}
	if x, _, ok := s.Find("署"); !ok || x != 2 {
		t.Errorf("署 is at %d", x)
	}
	if s.Style(0, 1).Attrs == 0 || s.Style(0, 0).Attrs != 0 || s.Style(0, 99).Attrs != 0 {
		t.Error("the style of a cell is wrong")
	}
	if s.String() != "部署 x\nbold\n\n" {
		t.Errorf("%q", s.String())
	}
	term.Write("\x1b[?25l")
	if _, _, ok := term.Screen().Cursor(); ok {
		t.Error("a hidden cursor has a place")
	}
	other := New(10, 3, ansi.GraphemeWidth)
	other.Write("部署 y\r\n\x1b[1mbold")
	if d := s.Diff(other.Screen()); !strings.Contains(d, "column 5 of row 0") {
		t.Errorf("%q", d)
	}
	if d := s.Diff(New(9, 3, ansi.GraphemeWidth).Screen()); d != "the sizes differ" {
		t.Errorf("%q", d)
	}
	// The colour of nothing is not seen, its background is.
	a, b := New(4, 1, ansi.GraphemeWidth), New(4, 1, ansi.GraphemeWidth)
	a.Write("\x1b[31m    \x1b[m")
	if d := a.Screen().Diff(b.Screen()); d != "" {
		t.Errorf("%q", d)
	}
	b.Write("\x1b[41m    \x1b[m")
	if d := a.Screen().Diff(b.Screen()); d == "" {
		t.Error("a background is not seen")
	}
}

// A recording holds questions to its terminal: nobody reads the answers, and nobody waits for that.
func TestQuestionsAreNotAnswered(t *testing.T) {
	term := New(10, 2, ansi.GraphemeWidth)
	term.Write("\x1b[c\x1b[>c\x1b[5n\x1b[6n\x1b[?6n\x1b[?2027$p\x1b]11;?\a\x1b[?2048h\x1b[?1004hon")
	term.Resize(12, 3)
	if s := term.Screen(); s.Row(0) != "on" {
		t.Errorf("%q", s.Row(0))
	}
}
