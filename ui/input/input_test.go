package input_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"vitrine/ui/input"
	"vitrine/ui/paint"
)

func editor(width int) *input.Editor {
	m := paint.Metrics{Grapheme: true}
	e := input.New(input.DefaultKeys(), func(c string) (string, int) { s := m.Safe(c); return s, m.Width(s) }, paint.Clean)
	e.SetWidth(width)
	return e
}

func press(e *input.Editor, keys ...tea.KeyPressMsg) {
	for _, k := range keys {
		e.Key(k)
	}
}

func typed(e *input.Editor, text string) {
	for _, r := range text {
		press(e, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

var (
	left      = tea.KeyPressMsg{Code: tea.KeyLeft}
	right     = tea.KeyPressMsg{Code: tea.KeyRight}
	end       = tea.KeyPressMsg{Code: tea.KeyEnd}
	home      = tea.KeyPressMsg{Code: tea.KeyHome}
	del       = tea.KeyPressMsg{Code: tea.KeyDelete}
	backspace = tea.KeyPressMsg{Code: tea.KeyBackspace}
)

func ctrl(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Mod: tea.ModCtrl} }

// B005: the cursor stands by cells, not by characters.
func TestCursorInWideText(t *testing.T) {
	e := editor(40)
	typed(e, "한글中文日本語ABC")
	if _, x, _ := e.View(1); x != 17 {
		t.Errorf("after typing the cursor is at %d, want 17", x)
	}
	press(e, left, left, left)
	if _, x, _ := e.View(1); x != 14 {
		t.Errorf("after three times Left it is at %d, want 14", x)
	}
	press(e, del)
	if got := e.Text(); got != "한글中文日本語BC" {
		t.Errorf("Delete left %q", got)
	}
}

// B007: a line as wide as the editor makes no empty row, and its end can be reached and left.
func TestLineAsWideAsTheEditor(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 20), strings.Repeat("中", 10)} {
		e := editor(20)
		typed(e, text)
		rows, x, y := e.View(5)
		if len(rows) != 1 || x != 20 || y != 0 {
			t.Errorf("%q: %d rows, cursor %d,%d; want 1 row, 20,0", text, len(rows), x, y)
		}
		if e.Down() {
			t.Error("Down went below the only row")
		}
		press(e, end)
		typed(e, text[:len("中")][:utf8.RuneLen([]rune(text)[0])])
		if got := utf8.RuneCountInString(e.Text()); got != utf8.RuneCountInString(text)+1 {
			t.Errorf("%d characters, want %d", got, utf8.RuneCountInString(text)+1)
		}
		rows, _, _ = e.View(5)
		for i, r := range rows {
			if r.Width == 0 {
				t.Errorf("row %d of %d is empty", i, len(rows))
			}
		}
	}
}

// B008: format and direction characters of a paste are dropped, those that would take the next sign along become U+FFFD; the editor goes on.
func TestPasteOfFormatCharacters(t *testing.T) {
	for s, kept := range map[string]string{"\u0602": "\ufffd", "\uFEFF": "", "\u2066": "", "\U000E0001": "", "\uFFFE": "", "\u0602١": "\ufffd١", "a\u2066b\u2069": "ab"} {
		e := editor(20)
		e.Insert(s)
		if got := e.Text(); got != kept {
			t.Errorf("of %+q stays %+q, want %+q", s, got, kept)
		}
		e.View(3)
		press(e, end)
		typed(e, "ok")
		if got := e.Text(); got != kept+"ok" {
			t.Errorf("after %+q the text is %+q", s, got)
		}
		press(e, backspace, backspace, home, end)
	}
}

// B010: Backspace, as 0x7F or as 0x08, takes one cluster.
func TestBackspaceTakesOneCluster(t *testing.T) {
	for _, k := range []tea.KeyPressMsg{backspace, ctrl('h')} {
		e := editor(20)
		e.Insert("中文👨‍👩‍👧e\u0301")
		for _, want := range []string{"中文👨‍👩‍👧", "中文", "中", "", ""} {
			press(e, k)
			if e.Text() != want {
				t.Errorf("text %q, want %q", e.Text(), want)
			}
		}
	}
}

func TestEditing(t *testing.T) {
	for _, c := range []struct {
		name, text string
		keys       []tea.KeyPressMsg
		want       string
		then       string // typed at the end, to see where the cursor is
	}{
		{"insert in the middle", "ac", []tea.KeyPressMsg{left}, "abc", "b"},
		{"word left", "one two", []tea.KeyPressMsg{{Code: 'b', Mod: tea.ModAlt}}, "one xtwo", "x"},
		{"word right", "one two", []tea.KeyPressMsg{home, {Code: 'f', Mod: tea.ModAlt}}, "onex two", "x"},
		{"start and end of a line", "a\nbc", []tea.KeyPressMsg{home}, "a\nxbc", "x"},
		{"start of the text", "a\nbc", []tea.KeyPressMsg{{Code: tea.KeyHome, Mod: tea.ModCtrl}}, "xa\nbc", "x"},
		{"delete a word", "one two  ", []tea.KeyPressMsg{ctrl('w')}, "one x", "x"},
		{"delete the word after", "one two", []tea.KeyPressMsg{home, {Code: 'd', Mod: tea.ModAlt}}, "x two", "x"},
		{"kill to the start", "a\nbcd", []tea.KeyPressMsg{left, ctrl('u')}, "a\nxd", "x"},
		{"kill to the end", "abc", []tea.KeyPressMsg{home, right, ctrl('k')}, "ax", "x"},
		{"kill the line feed", "a\nb", []tea.KeyPressMsg{{Code: tea.KeyHome, Mod: tea.ModCtrl}, end, ctrl('k')}, "axb", "x"},
		{"yank", "one two", []tea.KeyPressMsg{ctrl('w'), home, ctrl('y')}, "twoxone ", "x"},
		{"delete at the end", "a", []tea.KeyPressMsg{del}, "ax", "x"},
		{"keys with Alt are no text", "a", []tea.KeyPressMsg{{Code: 'q', Mod: tea.ModAlt}}, "ax", "x"},
	} {
		e := editor(40)
		e.SetText(c.text)
		press(e, c.keys...)
		typed(e, c.then)
		if e.Text() != c.want {
			t.Errorf("%s: %q, want %q", c.name, e.Text(), c.want)
		}
	}
}

func TestUpAndDownKeepTheColumn(t *testing.T) {
	e := editor(10)
	e.SetText("中文中文中\nab\nlonger one")
	if up := e.Up(); !up || !e.Up() {
		t.Fatal("Up stopped early")
	}
	typed(e, "|")
	if want := "中文中文中|\nab\nlonger one"; e.Text() != want {
		t.Errorf("%q, want %q", e.Text(), want)
	}
	press(e, backspace)
	e.SetText("one two three fours")
	rows, _, y := e.View(9)
	if len(rows) != 3 || rows[0].Text != "one two " || rows[1].Text != "three " || y != 2 {
		t.Fatalf("rows %v, cursor in row %d", rows, y)
	}
	press(e, tea.KeyPressMsg{Code: tea.KeyHome, Mod: tea.ModCtrl})
	first, one, two, last := e.Up(), e.Down(), e.Down(), e.Down()
	if first || !one || !two || last {
		t.Error("three rows are two steps apart")
	}
}

func TestViewScrollsToTheCursor(t *testing.T) {
	e := editor(10)
	e.SetText("1\n2\n3\n4\n5")
	rows, _, y := e.View(3)
	if rows[0].Text != "3" || y != 2 {
		t.Errorf("shows %v, cursor %d", rows, y)
	}
	for range 4 {
		e.Up()
	}
	if rows, _, y = e.View(3); rows[0].Text != "1" || y != 0 {
		t.Errorf("shows %v, cursor %d", rows, y)
	}
}

func TestLineEndsAndBounds(t *testing.T) {
	e := editor(10)
	e.Insert("a\r\nb\rc")
	if e.Text() != "a\nb\nc" {
		t.Errorf("%q", e.Text())
	}
	if e.Insert(strings.Repeat("x", input.MaxBytes)) {
		t.Error("a paste beyond the bound was taken")
	}
	if e.Text() != "a\nb\nc" {
		t.Error("a refused paste changed the text")
	}
	if len(input.DefaultKeys().Bindings()) < 10 {
		t.Error("the help lacks keys")
	}
}

func TestMarksThatAreTypedAloneJoin(t *testing.T) {
	e := editor(10)
	typed(e, "e")
	typed(e, "\u0301")
	typed(e, "x")
	if e.Text() != "e\u0301x" {
		t.Errorf("%+q", e.Text())
	}
	press(e, left, backspace)
	if e.Text() != "x" {
		t.Errorf("%+q", e.Text())
	}
}

// Whatever is typed and wherever the cursor goes: rows fit, the cursor is in or right behind its row, and joining the rows gives
// the text.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(1, 30).Draw(t, "width")
		e := editor(w)
		pieces := []string{"a", " ", "中", "e\u0301", "👨‍👩‍👧", "\n", "long-word", "\t", "🇩🇪", "ا", "\u0301", "\x1b[31m"}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				press(e, left)
			case 1:
				press(e, right)
			case 2:
				press(e, backspace)
			case 3:
				e.Up()
			case 4:
				e.Down()
			case 5:
				press(e, home)
			default:
				e.Insert(rapid.SampledFrom(pieces).Draw(t, "piece"))
			}
			h := rapid.IntRange(1, 6).Draw(t, "height")
			rows, x, y := e.View(h)
			if len(rows) > h || y < 0 || y >= len(rows) || x < 0 || x > w {
				t.Fatalf("cursor %d,%d in %d rows of %d", x, y, len(rows), w)
			}
			for _, r := range rows {
				if r.Width > w || (paint.Metrics{Grapheme: true}).Width(r.Text) != r.Width {
					t.Fatalf("row %q is %d wide, of %d", r.Text, r.Width, w)
				}
			}
			if !utf8.ValidString(e.Text()) || strings.ContainsAny(e.Text(), "\x1b\r") {
				t.Fatalf("text %q", e.Text())
			}
		}
	})
}
