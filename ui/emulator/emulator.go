// Package emulator is a terminal without a window: bytes go in, and a Screen of cells comes out. It counts wide clusters as whole
// graphemes or code point by code point, as terminals of both kinds do.
package emulator

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// Terminal is an emulator. What a program asks of it is not answered. It is safe for concurrent use.
type Terminal struct {
	mu     sync.Mutex
	emu    *vt.Emulator
	method ansi.Method
}

// keptRows is how many rows that scrolled away are kept; nobody reads them.
const keptRows = 1

// New makes an empty terminal of at least one cell.
func New(w, h int, method ansi.Method) *Terminal {
	emu := vt.NewEmulator(max(w, 1), max(h, 1))
	emu.SetScrollbackSize(keptRows)
	if answers, ok := emu.InputPipe().(io.Closer); ok {
		_ = answers.Close() // an answer that nobody reads would block the one who writes
	}
	return &Terminal{emu: emu, method: method}
}

// SetMethod says how cells are counted from here on.
func (t *Terminal) SetMethod(method ansi.Method) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.method = method
}

// Write shows what a program writes: whole sequences and characters.
func (t *Terminal) Write(s string) {
	s = untitled(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.method != ansi.GraphemeWidth {
		s = codePoints(s)
	}
	_, _ = t.emu.Write([]byte(s)) // it fails only when it is closed
}

// Resize changes the size in cells; the least is 1x1.
func (t *Terminal) Resize(w, h int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emu.Resize(max(w, 1), max(h, 1))
}

// Size is the width and height in cells.
func (t *Terminal) Size() (w, h int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.Width(), t.emu.Height()
}

// Screen copies what the terminal shows.
func (t *Terminal) Screen() Screen {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Screen{w: t.emu.Width(), h: t.emu.Height()}
	s.cells = make([]uv.Cell, s.w*s.h)
	for y := range s.h {
		for x := range s.w {
			if c := t.emu.CellAt(x, y); c != nil {
				s.cells[y*s.w+x] = *c
			}
		}
	}
	if !t.emu.CursorHidden() {
		at := t.emu.CursorPosition()
		s.cursor = &at
	}
	return s
}

// Read lets f look at the cells as they are, without a copy; nothing is written meanwhile. The cursor is outside of the screen while
// it is hidden. Cells and at are f's for the call only, and not to be changed.
func (t *Terminal) Read(f func(w, h int, at func(x, y int) *uv.Cell, cursor uv.Position)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cursor := uv.Pos(-1, -1)
	if !t.emu.CursorHidden() {
		cursor = t.emu.CursorPosition()
	}
	f(t.emu.Width(), t.emu.Height(), t.emu.CellAt, cursor)
}

// untitled takes the window's title out, which no cell shows: the emulator takes the byte 9C, which many Chinese characters
// have, for the end of it and would print the rest.
func untitled(s string) string {
	for {
		from := strings.Index(s, titleStart)
		if from < 0 {
			return s
		}
		n := strings.IndexByte(s[from:], '\a')
		if n < 0 {
			return s[:from]
		}
		s = s[:from] + s[from+n+1:]
	}
}

// titleStart begins a sequence that sets the window's title; a BEL ends it.
const titleStart = "\x1b]2;"

// codePoints rewrites what is sent to an emulator that counts clusters so that it shows what a terminal that counts code
// points shows: a NUL, which terminals ignore, ends each cluster after one character with width, and a character of which
// the two think differently gives way to one of the width that it has there.
func codePoints(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	var state byte
	for rest := s; rest != ""; {
		seq, width, n, next := ansi.DecodeSequenceWc(rest, state, nil)
		if n <= 0 {
			break
		}
		rest, state = rest[n:], next
		if width == 0 && utf8.RuneCountInString(seq) != 1 || isASCII(seq) {
			b.WriteString(seq)
			continue
		}
		for _, r := range seq {
			writeCodePoint(&b, r)
		}
	}
	return b.String()
}

func writeCodePoint(b *strings.Builder, r rune) {
	char := string(r)
	w := ansi.WcWidth.StringWidth(char)
	switch {
	case w == 0:
		if r != variationSelector && r != zeroWidthJoiner { // these would change the width of what they follow
			b.WriteString(char)
		}
		return
	case ansi.GraphemeWidth.StringWidth(char) == w:
	case w == 1:
		char = "\uFFFD"
	default:
		char = "\u25A1 " // a square, and a blank for the second cell
	}
	b.WriteString("\x00" + char)
}

const (
	zeroWidthJoiner   = '\u200D'
	variationSelector = '\uFE0F'
)

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Screen is what a terminal shows at a moment. It does not change.
type Screen struct {
	w, h   int
	cells  []uv.Cell
	cursor *uv.Position
}

// Size is the width and height in cells.
func (s Screen) Size() (w, h int) { return s.w, s.h }

// Cell is the cluster at a place; it is empty for the second half of a wide one and outside of the screen.
func (s Screen) Cell(x, y int) string {
	if x < 0 || y < 0 || x >= s.w || y >= s.h {
		return ""
	}
	return s.cells[y*s.w+x].Content
}

// Whole is the cell at a place, with its width; that of the second half of a wide one is 0. It is the zero value outside of the
// screen.
func (s Screen) Whole(x, y int) uv.Cell {
	if x < 0 || y < 0 || x >= s.w || y >= s.h {
		return uv.Cell{}
	}
	return s.cells[y*s.w+x]
}

// With is the screen with other cells: change gets a copy of them, row by row.
func (s Screen) With(change func(cells []uv.Cell)) Screen {
	s.cells = slices.Clone(s.cells)
	change(s.cells)
	return s
}

// Style is how the cell at a place is drawn.
func (s Screen) Style(x, y int) uv.Style {
	if x < 0 || y < 0 || x >= s.w || y >= s.h {
		return uv.Style{}
	}
	return s.cells[y*s.w+x].Style
}

// Cursor is where the cursor stands; ok is false while it is hidden.
func (s Screen) Cursor() (x, y int, ok bool) {
	if s.cursor == nil {
		return 0, 0, false
	}
	return s.cursor.X, s.cursor.Y, true
}

// Row is the text of a row without blanks at its end.
func (s Screen) Row(y int) string { return strings.TrimRight(s.Text(0, s.w, y), " ") }

// Text is what stands in a row between two columns, to exclusive.
func (s Screen) Text(from, to, y int) string {
	var b strings.Builder
	for x := from; x < to; x++ {
		if c := s.Cell(x, y); c != "" {
			b.WriteString(c)
		} else if !s.Second(x, y) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Second says that the cell is the second half of a wide cluster.
func (s Screen) Second(x, y int) bool {
	return x > 0 && s.Cell(x, y) == "" && x < s.w && y >= 0 && y < s.h && s.cells[y*s.w+x].Width == 0 && s.cells[y*s.w+x-1].Width > 1
}

// Has says that some row shows the text.
func (s Screen) Has(text string) bool {
	_, _, ok := s.Find(text)
	return ok
}

// Find gives the first row that shows the text, and in it the column.
func (s Screen) Find(text string) (x, y int, ok bool) {
	for y := range s.h {
		row := s.Row(y)
		if i := strings.Index(row, text); i >= 0 {
			x := 0
			for seen := 0; x < s.w && (seen < i || s.Second(x, y)); x++ {
				seen += len(s.Text(x, x+1, y))
			}
			return x, y, true
		}
	}
	return 0, 0, false
}

// String is all rows, each ended by a line feed.
func (s Screen) String() string {
	var b strings.Builder
	for y := range s.h {
		b.WriteString(s.Row(y) + "\n")
	}
	return b.String()
}

// Diff names the first cell in which two screens look different; empty when they look the same.
func (s Screen) Diff(o Screen) string {
	if s.w != o.w || s.h != o.h {
		return "the sizes differ"
	}
	for y := range s.h {
		for x := range s.w {
			if a, b := visible(s.cells[y*s.w+x]), visible(o.cells[y*s.w+x]); !a.Equal(&b) {
				return rowDiff(s, o, x, y)
			}
		}
	}
	return ""
}

// visible takes from a blank what cannot be seen of it: its foreground.
func visible(c uv.Cell) uv.Cell {
	if c.Content != "" && c.Content != " " {
		return c
	}
	if c.Style.Attrs&uv.AttrReverse == 0 && c.Style.Underline == 0 && c.Style.Attrs&uv.AttrStrikethrough == 0 {
		c.Style.Fg, c.Style.Attrs = nil, 0
	}
	if c.Content == "" && c.Width <= 1 {
		c.Content = " "
	}
	return c
}

func rowDiff(a, b Screen, x, y int) string {
	cell := func(s Screen) string {
		c := s.cells[y*s.w+x]
		return fmt.Sprintf("%q %+v", c.Content, c.Style)
	}
	return fmt.Sprintf("column %d of row %d: %s and %s\n%s\n%s", x, y, cell(a), cell(b), a.Row(y), b.Row(y))
}

// Region is what a part of the screen shows, its rows joined by line feeds.
func (s Screen) Region(x, y, w, h int) string {
	rows := make([]string, 0, max(h, 0))
	for row := max(y, 0); row < min(y+h, s.h); row++ {
		rows = append(rows, strings.TrimRight(s.Text(x, min(x+w, s.w), row), " "))
	}
	return strings.Join(rows, "\n")
}
