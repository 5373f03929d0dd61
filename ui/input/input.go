// Package input is the text editor of the screen: the input at the bottom and the one-line fields of dialogs.
//
// It edits by grapheme cluster, wraps by cells and tells where the real cursor belongs, so that input methods and wide text
// work. It knows nothing of colours: its owner asks for rows and styles them. The text that it holds is clean: what comes in
// by keys or by paste passes a cleaner, which drops control and direction characters; line breaks become line feeds, tabs stay.
//
// A large paste is a chip: one character of the text that is shown as a label. Text gives it with marks around it, so that who keeps
// a text and sets it again has the chip again; Plain takes the marks away, for what is sent.
package input

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// MaxBytes bounds the text with its pastes, maxTyped what of it is not in a chip; what would go beyond is refused.
const (
	MaxBytes = 8 << 20
	maxTyped = 1 << 20
	// marksRoom is what the marks around the chips of a text may take beside it.
	marksRoom = 64 << 10
)

// tabCells is what a tab takes on the screen.
const tabCells = 4

// Cells tells how a cluster is shown and how many cells that takes.
type Cells func(cluster string) (shown string, width int)

// Row is one row of the screen: plain text and the cells that it takes.
type Row struct {
	Text  string
	Width int
	// Labels are the bytes of it that are labels of chips, from and to.
	Labels [][2]int
}

// span is one wrapped row: text[start:end], and whether a line feed (or the end of the text) ends it.
type span struct {
	start, end int
	hard       bool
}

// Editor is a text with a cursor. It is not safe for concurrent use.
type Editor struct {
	keys        Keys
	cells       Cells
	clean       func(string) string
	text        string
	at          int // byte offset of the cursor, at the boundary of a cluster
	width       int
	top         int    // first row shown
	goal        int    // the column that Up and Down keep; -1: none
	killed      string // what the last kill removed
	spans       []span // nil: to be laid out again
	laid        []span // what they were for laidText, when one of them is of use
	laidText    string
	label       Label
	chips       []string // by their characters
	whole       string   // the text with its chips, when it is known
	known       bool
	back, ahead []state
	last        step
	lastAt      int
}

// New makes an empty editor. clean drops what must not be shown; it must keep line feeds and tabs.
func New(keys Keys, cells Cells, clean func(string) string) *Editor {
	return &Editor{keys: keys, cells: cells, clean: clean, width: 1, goal: -1}
}

// SetCells changes how clusters are shown.
func (e *Editor) SetCells(c Cells) { e.cells = c; e.relay() }

// relay has everything laid out again.
func (e *Editor) relay() { e.spans, e.laid, e.laidText = nil, nil, "" }

// SetWidth gives the cells of a row. The cursor may stand one cell behind them.
func (e *Editor) SetWidth(w int) {
	if w = max(w, 1); w != e.width {
		e.width = w
		e.relay()
	}
}

// Text is what was typed, pastes between marks.
func (e *Editor) Text() string {
	if !e.known {
		e.whole, e.known = e.marked(e.text), true
	}
	return e.whole
}

// Raw is the text with one character for each chip, and the cursor's byte in it.
func (e *Editor) Raw() (text string, at int) { return e.text, e.at }

// Replace puts s, cleaned, in the place of some bytes of the raw text.
func (e *Editor) Replace(from, to int, s string) {
	e.step(stepOther)
	e.text = e.text[:from] + e.text[to:]
	e.at = from
	e.changed()
	e.put(e.clean(lineFeeds(foreign(s))))
}

// Empty says that there is no text.
func (e *Editor) Empty() bool { return e.text == "" }

// SetText replaces the text and puts the cursor at its end. The marks that Text gave make chips again; a text from elsewhere goes
// through Foreign before. One that is larger than an editor can hold changes nothing.
func (e *Editor) SetText(marked string) {
	if marked == e.Text() {
		e.at = len(e.text)
		e.changed()
		return
	}
	if len(marked) > MaxBytes+marksRoom {
		return
	}
	e.step(stepOther)
	e.text, e.at = "", 0
	e.changed()
	e.put(e.unmarked(marked))
}

// Go puts the cursor at a byte of the text, or behind the cluster that it is in.
func (e *Editor) Go(at int) { e.at, e.goal = e.boundary(min(max(at, 0), len(e.text))), -1 }

// Insert puts s at the cursor, cleaned, and reports whether there was room for it.
func (e *Editor) Insert(s string) bool {
	s = e.behindChip(e.cleaned(lineFeeds(foreign(s))))
	if len(e.text)+len(s) > maxTyped || e.size()+len(s) > MaxBytes {
		return false
	}
	kind := stepOther
	if len(s) <= utf8.UTFMax && s != "\n" {
		kind = stepTyping
		if r, _ := utf8.DecodeLastRuneInString(e.text[:e.at]); wordRune(r) != wordRune([]rune(s + " ")[0]) && r != utf8.RuneError {
			e.last = stepOther
		}
	}
	e.step(kind)
	e.put(s)
	e.lastAt = e.at
	return true
}

// put inserts what is clean.
func (e *Editor) put(s string) {
	e.text = e.text[:e.at] + s + e.text[e.at:]
	e.at = e.boundary(e.at + len(s))
	e.changed()
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

func (e *Editor) changed() { e.spans, e.goal, e.known, e.whole = nil, -1, false, "" }

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
	if s == "" {
		return ""
	}
	e.step(stepDeleting)
	e.text = e.text[:from] + e.text[to:]
	e.at = e.boundary(from)
	e.changed()
	e.lastAt = e.at
	return s
}

func (e *Editor) cell(cluster string) (string, int) {
	if cluster == "\t" {
		return strings.Repeat(" ", tabCells), tabCells
	}
	if cluster[0] == 0xF4 {
		if r, _ := utf8.DecodeRuneInString(cluster); isChip(r) {
			return e.shownChip(r, e.width)
		}
	}
	return e.cells(cluster)
}

// layout wraps the text: at spaces where it can, inside of a word where it must. Spaces that do not fit hang behind the row. Lines
// that were laid out before at this width keep their rows.
func (e *Editor) layout() []span {
	if e.spans != nil {
		return e.spans
	}
	head, tail := e.untouched()
	spans := append(make([]span, 0, len(e.laid)+4), e.laid[:head]...)
	start := 0
	if head > 0 {
		start = spans[head-1].end + 1
	}
	moved := len(e.text) - len(e.laidText)
	end := len(e.text) + 1
	if tail < len(e.laid) {
		end = e.laid[tail].start + moved
	}
	for start < end {
		next := len(e.text)
		if i := strings.IndexByte(e.text[start:], '\n'); i >= 0 {
			next = start + i
		}
		spans = e.wrap(spans, start, next)
		start = next + 1
	}
	for _, s := range e.laid[tail:] {
		spans = append(spans, span{s.start + moved, s.end + moved, s.hard})
	}
	e.spans, e.laid, e.laidText = spans, spans, e.text
	return spans
}

// untouched says how many rows at the front of those laid out last, and from which on, stand as they were: whole lines before and
// behind what differs.
func (e *Editor) untouched() (head, tail int) {
	a, b := e.laidText, e.text
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	back := 0
	for back < len(a)-same && back < len(b)-same && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	for i, s := range e.laid {
		if s.hard && s.end < same && s.end < len(a) {
			head = i + 1
		}
		if s.end >= same {
			break
		}
	}
	for tail = len(e.laid); tail > head && e.laid[tail-1].start > len(a)-back; tail-- {
	}
	for tail < len(e.laid) && !e.laid[tail-1].hard { // to the beginning of a line
		tail++
	}
	return head, tail
}

// wrap lays out one line, whose line feed or the text's end is at end.
func (e *Editor) wrap(spans []span, start, end int) []span {
	off, width, breakAt, widthAtBreak := start, 0, 0, 0
	for g := graphemes.FromString(e.text[start:end]); g.Next(); {
		c := g.Value()
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
	return append(spans, span{start, end, true})
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
	var labels [][2]int
	n := 0
	for g := graphemes.FromString(e.text[s.start:s.end]); g.Next(); {
		shown, w := e.cell(g.Value())
		if n+w > e.width { // hanging spaces, or a cluster wider than the row
			break
		}
		from := b.Len()
		b.WriteString(shown)
		if r, _ := utf8.DecodeRuneInString(g.Value()); isChip(r) {
			labels = append(labels, [2]int{from, b.Len()})
		}
		n += w
	}
	return Row{Text: b.String(), Width: n, Labels: labels}
}
