// Package input is the text editor of the screen: the input at the bottom and the one-line fields of dialogs.
//
// It edits by grapheme cluster, wraps by cells and tells where the real cursor belongs, so that input methods and wide text
// work. It knows nothing of colours: its owner asks for rows and styles them. The text that it holds is clean: what comes in
// by keys or by paste passes a cleaner, which drops control and direction characters; line breaks become line feeds, tabs stay.
package input

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// MaxBytes bounds the text; what would go beyond it is refused.
const MaxBytes = 1 << 20

// tabCells is what a tab takes on the screen.
const tabCells = 4

// Cells tells how a cluster is shown and how many cells that takes.
type Cells func(cluster string) (shown string, width int)

// Row is one row of the screen: plain text and the cells that it takes.
type Row struct {
	Text  string
	Width int
}

// span is one wrapped row: text[start:end], and whether a line feed (or the end of the text) ends it.
type span struct {
	start, end int
	hard       bool
}

// Editor is a text with a cursor. It is not safe for concurrent use.
type Editor struct {
	keys   Keys
	cells  Cells
	clean  func(string) string
	text   string
	at     int // byte offset of the cursor, at the boundary of a cluster
	width  int
	top    int    // first row shown
	goal   int    // the column that Up and Down keep; -1: none
	killed string // what the last kill removed
	spans  []span // nil: to be laid out again
}

// New makes an empty editor. clean drops what must not be shown; it must keep line feeds and tabs.
func New(keys Keys, cells Cells, clean func(string) string) *Editor {
	return &Editor{keys: keys, cells: cells, clean: clean, width: 1, goal: -1}
}

// SetCells changes how clusters are shown.
func (e *Editor) SetCells(c Cells) { e.cells, e.spans = c, nil }

// SetWidth gives the cells of a row. The cursor may stand one cell behind them.
func (e *Editor) SetWidth(w int) {
	if w = max(w, 1); w != e.width {
		e.width, e.spans = w, nil
	}
}

// Text is what was typed.
func (e *Editor) Text() string { return e.text }

// Empty says that there is no text.
func (e *Editor) Empty() bool { return e.text == "" }

// SetText replaces the text and puts the cursor at its end.
func (e *Editor) SetText(s string) {
	e.text, e.at = "", 0
	e.changed()
	e.Insert(s)
}

// Go puts the cursor at a byte of the text, or behind the cluster that it is in.
func (e *Editor) Go(at int) { e.at, e.goal = e.boundary(min(max(at, 0), len(e.text))), -1 }

// Insert puts s at the cursor, cleaned, and reports whether there was room for it.
func (e *Editor) Insert(s string) bool {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	s = e.cleaned(s)
	if len(e.text)+len(s) > MaxBytes {
		return false
	}
	e.text = e.text[:e.at] + s + e.text[e.at:]
	e.at = e.boundary(e.at + len(s))
	e.changed()
	return true
}

// cleaned is what of s may stand at the cursor. It is cleaned behind the line before it: a mark that an input method sends
// alone belongs to the letter that it follows.
func (e *Editor) cleaned(s string) string {
	line := e.text[strings.LastIndexByte(e.text[:e.at], '\n')+1 : e.at]
	if c, ok := strings.CutPrefix(e.clean(line+s), line); ok {
		return c
	}
	return e.clean(s)
}

// boundary is the first boundary of a cluster at or behind the offset: what was typed may have joined its neighbours.
func (e *Editor) boundary(off int) int {
	line := strings.LastIndexByte(e.text[:off], '\n') + 1
	pos := line
	for g := graphemes.FromString(e.text[line:]); pos < off && g.Next(); {
		pos += len(g.Value())
	}
	return pos
}

func (e *Editor) changed() { e.spans, e.goal = nil, -1 }

// prev and next are the neighbouring boundaries of the cursor.
func (e *Editor) prev() int {
	if e.at == 0 {
		return 0
	}
	line := strings.LastIndexByte(e.text[:e.at-1], '\n') + 1
	pos, last := line, line
	for g := graphemes.FromString(e.text[line:]); pos < e.at && g.Next(); {
		last = pos
		pos += len(g.Value())
	}
	return last
}

func (e *Editor) next() int {
	if g := graphemes.FromString(e.text[e.at:]); g.Next() {
		return e.at + len(g.Value())
	}
	return e.at
}

// cut removes the text between two offsets and leaves the cursor at the first.
func (e *Editor) cut(from, to int) string {
	from, to = min(from, to), max(from, to)
	s := e.text[from:to]
	e.text = e.text[:from] + e.text[to:]
	e.at = e.boundary(from)
	e.changed()
	return s
}

func (e *Editor) cell(cluster string) (string, int) {
	if cluster == "\t" {
		return strings.Repeat(" ", tabCells), tabCells
	}
	return e.cells(cluster)
}

// layout wraps the text: at spaces where it can, inside of a word where it must. Spaces that do not fit hang behind the row.
func (e *Editor) layout() []span {
	if e.spans != nil {
		return e.spans
	}
	var (
		spans                 []span
		start, off, width     int
		breakAt, widthAtBreak int
	)
	for g := graphemes.FromString(e.text); g.Next(); {
		c := g.Value()
		if c == "\n" {
			spans = append(spans, span{start, off, true})
			off++
			start, width, breakAt = off, 0, 0
			continue
		}
		_, w := e.cell(c)
		blank := c == " " || c == "\t"
		if width+w > e.width && width > 0 && !blank {
			if breakAt > start {
				spans = append(spans, span{start, breakAt, false})
				start, width = breakAt, width-widthAtBreak
			}
			if width+w > e.width && width > 0 {
				spans = append(spans, span{start, off, false})
				start, width = off, 0
			}
			breakAt = 0
		}
		off += len(c)
		width += w
		if blank {
			breakAt, widthAtBreak = off, width
		}
	}
	e.spans = append(spans, span{start, len(e.text), true})
	return e.spans
}

// Height is how many rows the text takes.
func (e *Editor) Height() int { return len(e.layout()) }

// place gives the row and column of the cursor.
func (e *Editor) place() (row, col int) {
	spans := e.layout()
	for i, s := range spans {
		if e.at < s.end || e.at == s.end && (s.hard || i == len(spans)-1) {
			return i, min(e.columns(e.text[s.start:e.at]), e.width)
		}
	}
	return len(spans) - 1, 0
}

func (e *Editor) columns(s string) int {
	n := 0
	for g := graphemes.FromString(s); g.Next(); {
		_, w := e.cell(g.Value())
		n += w
	}
	return n
}

// offset is the boundary in a row that is nearest to a column from the left.
func (e *Editor) offset(s span, col int) int {
	off, n := s.start, 0
	for g := graphemes.FromString(e.text[s.start:s.end]); g.Next(); {
		_, w := e.cell(g.Value())
		if n+w > col {
			return off
		}
		n += w
		off += len(g.Value())
	}
	if !s.hard && off == s.end && off > s.start { // the end of a wrapped row is the start of the next
		at := e.at
		e.at = off
		off = e.prev()
		e.at = at
	}
	return off
}

// View gives at most h rows around the cursor, and where the cursor is in them.
func (e *Editor) View(h int) (rows []Row, x, y int) {
	spans := e.layout()
	r, c := e.place()
	h = min(max(h, 1), len(spans))
	e.top = min(max(e.top, r-h+1), r, len(spans)-h)
	e.top = max(e.top, 0)
	for _, s := range spans[e.top : e.top+h] {
		rows = append(rows, e.row(s))
	}
	return rows, c, r - e.top
}

func (e *Editor) row(s span) Row {
	var b strings.Builder
	n := 0
	for g := graphemes.FromString(e.text[s.start:s.end]); g.Next(); {
		shown, w := e.cell(g.Value())
		if n+w > e.width { // hanging spaces, or a cluster wider than the row
			break
		}
		b.WriteString(shown)
		n += w
	}
	return Row{Text: b.String(), Width: n}
}
