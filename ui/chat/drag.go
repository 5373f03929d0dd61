package chat

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"vitrine/ui/paint"
)

// Here text is selected with the mouse. A selection has two ends, each a place in the text of a block: so it stays on its text when that
// is scrolled, moved or wrapped anew. Where a block says something else in the place of what was selected the selection goes.

// Units of a selection, by how often the button was pressed.
const (
	byCell = 1 + iota
	byWord
	byLine // of the text, whatever the screen made of it
)

// selection is what was selected with the mouse.
type selection struct {
	unit      int
	on        bool // there is one
	down      bool // the button is
	armed     bool // letting it go where it was pressed opens or closes the block
	x, y      int  // where it was pressed
	fixed     end  // where it began
	moving    end  // where the pointer was last
	low, high string
	texts     map[block]*blockText
	follow    bool // the end was followed when it began
	topItem   int  // of the screen then
	topRow    int
}

// end is a piece of a block's text, in bytes: what the pointer was over, a word or a line.
type end struct {
	b        block
	from, to int
}

// blockText is what the rows of a block say.
type blockText struct {
	version uint64
	lines   []paint.Line
	starts  []int // of each row in text
	text    string
}

// mostTexts bounds the blocks whose texts are kept.
const mostTexts = 64

func (v *View) textOf(b block) *blockText {
	if t := v.sel.texts[b]; t != nil && t.version == b.Version() {
		return t
	}
	t := &blockText{version: b.Version(), lines: v.lines(b)}
	var s strings.Builder
	for _, l := range t.lines {
		t.starts = append(t.starts, s.Len())
		for _, c := range l.Cells {
			s.WriteString(c.Text)
		}
		s.WriteString(l.Join)
	}
	t.text = strings.TrimSuffix(s.String(), "\n")
	if v.sel.texts == nil || len(v.sel.texts) >= mostTexts {
		v.sel.texts = map[block]*blockText{}
	}
	v.sel.texts[b] = t
	return t
}

// Press is the button over a cell, pressed n times at once there: the block is selected, or from the second time on the word and the
// line. What can be opened is opened by being pressed twice.
func (v *View) Press(x, y, n int) bool {
	v.Unselect()
	i, row, ok := v.list.At(y)
	if v.anchor >= 0 {
		v.Deselect()
	}
	v.sel.unit, v.sel.down, v.sel.x, v.sel.y = byCell, true, x, y
	v.sel.armed = ok && v.selectable(i) && v.list.Selected() == i
	if n > byCell && ok && !v.opens(i, row) {
		v.sel.unit = min(n, byLine)
	} else if ok && v.selectable(i) {
		v.list.Mark(i)
	}
	if v.sel.fixed, ok = v.endAt(x, y); !ok {
		v.sel.down = false
		return false
	}
	v.sel.moving = v.sel.fixed
	if v.sel.unit > byCell {
		v.begin()
		v.selected()
	}
	return true
}

// opens says that a row of a block opens and closes it.
func (v *View) opens(i, row int) bool {
	t, ok := v.block(i).(toggler)
	if !ok {
		return false
	}
	if u, ok := t.(*userBlock); ok {
		return (u.more > 0 || len(u.files) > 0) && row >= strings.Count(u.shows(), "\n")+1
	}
	return row == 0
}

// Drag takes the selection to a cell, while the button is down. A cell beside the view stands for the nearest row.
func (v *View) Drag(x, y int) {
	if !v.sel.down || !v.sel.on && x == v.sel.x && y == v.sel.y {
		return
	}
	if !v.sel.on {
		v.begin()
	}
	switch {
	case y < 0:
		x, y = -1, 0
	case y >= v.h:
		x, y = math.MaxInt, v.h-1
	}
	if e, ok := v.endAt(x, y); ok {
		v.sel.moving = e
		v.selected()
	}
}

// begin makes what is under the pointer a selection, under which the end is not followed.
func (v *View) begin() {
	v.Deselect()
	v.sel.on, v.sel.armed, v.sel.follow = true, false, v.list.Following()
	v.sel.topItem, v.sel.topRow = v.list.Top()
	v.list.Still(true)
}

// Release is the button let go; it tells whether something is selected.
func (v *View) Release() bool {
	if v.sel.down && v.sel.armed {
		v.Toggle()
	}
	v.letGo()
	return v.sel.on
}

// letGo lets the end be followed again, if it was before and nobody scrolled since.
func (v *View) letGo() {
	if v.sel.down && v.sel.on {
		v.list.Still(false)
		if item, row := v.list.Top(); v.sel.follow && item == v.sel.topItem && row == v.sel.topRow {
			v.list.End()
		}
	}
	v.sel.down, v.sel.armed, v.sel.follow = false, false, false
}

// Dragging says that the button is down.
func (v *View) Dragging() bool { return v.sel.down }

// Selecting says that text is selected with the mouse.
func (v *View) Selecting() bool { return v.sel.on && v.holds() }

// Unselect takes what was selected with the mouse away; it tells whether there was something.
func (v *View) Unselect() bool {
	v.letGo()
	was := v.sel.on
	v.sel = selection{}
	if was {
		v.rows = nil
	}
	return was
}

// endAt is what a cell stands for in the unit of the selection.
func (v *View) endAt(x, y int) (end, bool) {
	i, row, side, ok := v.list.Near(y)
	if !ok {
		return end{}, false
	}
	switch {
	case side < 0:
		x = -1
	case side > 0:
		x = math.MaxInt
	}
	b := v.block(i)
	t := v.textOf(b)
	if len(t.lines) == 0 {
		return end{b: b}, true
	}
	row = min(row, len(t.lines)-1)
	from := t.starts[row]
	to := from
	for _, c := range t.lines[row].Cells {
		if x < c.At {
			break
		}
		from, to = to, to+len(c.Text)
		if x < c.At+c.Width {
			break
		}
		from = to
	}
	from, to = min(from, len(t.text)), min(to, len(t.text))
	switch v.sel.unit {
	case byWord:
		from, to = WordAt(t.text, from, to)
	case byLine:
		from = strings.LastIndexByte(t.text[:from], '\n') + 1
		if k := strings.IndexByte(t.text[to:], '\n'); k >= 0 {
			to += k
		} else {
			to = len(t.text)
		}
	}
	return end{b, from, to}, true
}

// ends gives the place of the first and the last selected byte: blocks, and where in their texts.
func (v *View) ends() (i, from, j, to int, ok bool) {
	a, b := v.sel.fixed, v.sel.moving
	i, j = v.indexOf(a.b), v.indexOf(b.b)
	switch {
	case i < 0 || j < 0:
		return 0, 0, 0, 0, false
	case i == j:
		return i, min(a.from, b.from), j, max(a.to, b.to), true
	case i > j:
		return j, b.from, i, a.to, true
	}
	return i, a.from, j, b.to, true
}

func (v *View) indexOf(b block) int {
	for i := v.list.Len() - 1; i >= 0; i-- {
		if v.block(i) == b {
			return i
		}
	}
	return -1
}

// selected notes what the blocks at both ends say.
func (v *View) selected() {
	v.rows = nil
	i, from, j, to, _ := v.ends()
	low, high := v.textOf(v.block(i)), v.textOf(v.block(j))
	v.sel.low, v.sel.high = low.text[from:], high.text[:to]
	if i == j {
		v.sel.low = low.text[from:to]
	}
}

// holds says that the blocks still say what was selected of them; else the selection goes.
func (v *View) holds() bool {
	i, from, j, to, ok := v.ends()
	if ok {
		low, high := v.textOf(v.block(i)).text, v.textOf(v.block(j)).text
		ok = from <= len(low) && strings.HasPrefix(low[from:], v.sel.low) && (i == j || to <= len(high) && high[:to] == v.sel.high)
	}
	if !ok {
		v.Unselect()
	}
	return ok
}

// aside says that a block is no part of a text that goes over it.
func aside(b block) bool {
	_, ok := b.(*footBlock)
	return ok
}

// part is which bytes of the k-th block's text are selected.
func (v *View) part(k int) (t *blockText, from, to int) {
	i, low, j, high, _ := v.ends()
	if k < i || k > j || i != j && aside(v.block(k)) {
		return nil, 0, 0
	}
	t = v.textOf(v.block(k))
	from, to = 0, len(t.text)
	if k == i {
		from = low
	}
	if k == j {
		to = high
	}
	return t, from, to
}

// SelectedText is what was selected with the mouse: wrapped rows are joined, and what only decorates is left out.
func (v *View) SelectedText() string {
	if !v.Selecting() {
		return ""
	}
	var s strings.Builder
	i, _, j, _, _ := v.ends()
	last := -1
	for k := i; k <= j; k++ {
		t, from, to := v.part(k)
		if t == nil || len(t.lines) == 0 {
			continue
		}
		if last >= 0 {
			s.WriteString(strings.Repeat("\n", 1+v.gapOf(v.block(last), v.block(k))))
		}
		s.WriteString(t.text[from:to])
		last = k
	}
	return strings.Trim(s.String(), "\n")
}

// showSelection shows in reverse what of the rows on the screen is selected.
func (v *View) showSelection(rows []string) {
	if !v.sel.on || !v.holds() {
		return
	}
	on, off := v.look.th.Reverse()
	if on == "" {
		return
	}
	for y := range rows {
		k, row, ok := v.list.At(y)
		if !ok {
			continue
		}
		t, from, to := v.part(k)
		if t == nil || row >= len(t.lines) {
			continue
		}
		if a, b := t.columns(row, from, to); a < b {
			rows[y] = v.look.m.Between(rows[y], a, b, on, off)
		}
	}
}

// columns is where a row shows text[from:to].
func (t *blockText) columns(row, from, to int) (a, b int) {
	at := t.starts[row]
	a = -1
	for _, c := range t.lines[row].Cells {
		next := at + len(c.Text)
		if at < to && (next > from || next == at && at >= from) {
			if a < 0 {
				a = c.At
			}
			b = c.At + c.Width
		}
		at = next
	}
	if a < 0 {
		return 0, 0
	}
	return a, b
}

// kind of a character, as far as words go.
type kind uint8

const (
	blank kind = iota
	letters
	ideographs
	connects // it belongs to a word it stands in, such as a path's
	alone
)

const connectors = "_-./~:@%+#=&?\\$"

func kindOfRune(r rune) kind {
	switch {
	case r == '\n' || unicode.IsSpace(r):
		return blank
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return ideographs
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return letters
	case strings.ContainsRune(connectors, r):
		return connects
	}
	return alone
}

// WordAt is the word around text[from:to], a path or an address as a whole; the character itself where there is none.
func WordAt(text string, from, to int) (int, int) {
	if from == to {
		return from, to
	}
	first, _ := utf8.DecodeRuneInString(text[from:])
	k := kindOfRune(first)
	if k == alone || first == '\n' {
		return from, to
	}
	same := func(r rune) bool {
		switch got := kindOfRune(r); k {
		case letters, connects:
			return got == letters || got == connects
		default:
			return got == k && r != '\n'
		}
	}
	a, b := from, to
	for a > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:a])
		if !same(r) {
			break
		}
		a -= n
	}
	for b < len(text) {
		r, n := utf8.DecodeRuneInString(text[b:])
		if !same(r) {
			break
		}
		b += n
	}
	if k == letters || k == connects { // punctuation at the ends is that of the sentence
		word := text[a:b]
		b = a + len(strings.TrimRight(word, ".:?=&"))
		a = b - len(strings.TrimLeft(text[a:b], ":?=&"))
		if from < a || to > b {
			return from, to
		}
	}
	return a, b
}
