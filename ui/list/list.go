// Package list is a scrolling column of blocks of different heights.
//
// Only blocks that are seen are rendered, and each once for a version, a width and a look; heights of blocks that were never
// seen are estimates. The place in the list is a block and a row in it, so that what the reader looks at stays where it is
// when blocks grow, when older ones are put in front and when the width changes. The list follows new output only while its
// end is on the screen. It has no locks and does no input or output.
package list

// Item is one block.
type Item interface {
	// Version changes when the block would render differently at the same width.
	Version() uint64
	// Render gives the rows, each exactly w cells wide. None is allowed: such a block is not seen.
	Render(w int, selected bool) []string
	// Estimate guesses how many rows there are without rendering.
	Estimate(w int) int
}

// Forgetter is an item that keeps something to render faster, and is told when it went out of sight.
type Forgetter interface{ Forget() }

// maxCached bounds the rows that are kept of blocks out of sight.
const maxCached = 1500

type entry struct {
	item     Item
	rows     []string
	version  uint64
	gen      uint64
	width    int
	selected bool
	cached   bool
	// height is the last known number of rows, exact when known is set.
	height int
	known  bool
}

// List is the column. Make it with New.
type List struct {
	entries []entry
	gap     func(above, below Item) int
	w, h    int
	gen     uint64
	// topItem and topRow are the first row on the screen; the gap rows before a block count as -1, -2 and so on, so that the
	// block stays where it is when the gap comes or goes.
	topItem, topRow int
	follow          bool
	still           bool // the end is not followed, though it be on the screen
	selected        int
	seen            int // how many items there were when the end was last on the screen
	cachedRows      int

	out     []string
	placed  []place
	dirty   bool
	shown   []shown
	started bool
}

// place tells which block a row of the screen shows.
type place struct{ item, row int }

type shown struct {
	item    int
	version uint64
}

// New makes an empty list that follows its end. gap gives the blank rows between two neighbours; nil is none.
func New(gap func(above, below Item) int) *List {
	if gap == nil {
		gap = func(Item, Item) int { return 0 }
	}
	return &List{gap: gap, follow: true, selected: -1, dirty: true}
}

// Len is the number of blocks.
func (l *List) Len() int { return len(l.entries) }

// Item gives a block.
func (l *List) Item(i int) Item { return l.entries[i].item }

// Append puts a block at the end.
func (l *List) Append(items ...Item) { l.Insert(len(l.entries), items...) }

// Prepend puts blocks in front. What is on the screen stays.
func (l *List) Prepend(items ...Item) { l.Insert(0, items...) }

// Insert puts blocks before the i-th. What is on the screen stays, unless they are put into it.
func (l *List) Insert(i int, items ...Item) {
	if len(items) == 0 {
		return
	}
	i = max(0, min(i, len(l.entries)))
	n := len(items)
	grown := make([]entry, 0, len(l.entries)+n+8)
	grown = append(grown, l.entries[:i]...)
	for _, it := range items {
		grown = append(grown, entry{item: it})
	}
	tail := len(l.entries) - i
	l.entries = append(grown, l.entries[i:]...)
	if i <= l.topItem && i < l.seen {
		l.seen += n // older ones; what comes between the screen and the end is new
	}
	if i < l.topItem || i == l.topItem && tail > 0 && l.topRow >= 0 {
		l.topItem += n
	}
	if l.selected >= i {
		l.selected += n
	}
	l.dirty = true
}

// Remove takes the i-th block away.
func (l *List) Remove(i int) {
	if i < 0 || i >= len(l.entries) {
		return
	}
	l.drop(i)
	l.entries = append(l.entries[:i], l.entries[i+1:]...)
	switch {
	case l.topItem > i:
		l.topItem--
	case l.topItem == i:
		l.topRow = 0
	}
	switch {
	case l.selected > i:
		l.selected--
	case l.selected == i:
		l.selected = -1
	}
	if l.seen > i {
		l.seen--
	}
	l.dirty = true
}

// Clear takes all blocks away and follows again.
func (l *List) Clear() {
	l.entries, l.cachedRows = nil, 0
	l.topItem, l.topRow, l.follow, l.still, l.selected, l.seen = 0, 0, true, false, -1, 0
	l.dirty = true
}

// SetSize gives the list its room; negative is 0.
func (l *List) SetSize(w, h int) {
	w, h = max(w, 0), max(h, 0)
	if w == l.w && h == l.h {
		return
	}
	if w != l.w && l.started && !l.follow && l.topItem < len(l.entries) && l.topRow > 0 {
		// The same part of the block stays at the top.
		e := &l.entries[l.topItem]
		before := max(e.height, 1)
		l.w, l.h = w, h
		l.render(l.topItem)
		l.topRow = l.topRow * e.height / before
	}
	l.w, l.h = w, h
	l.dirty = true
}

// Invalidate renders everything again when it is next seen: the look changed.
func (l *List) Invalidate() {
	l.gen++
	l.dirty = true
}

// Selected is the selected block, or -1.
func (l *List) Selected() int { return l.selected }

// Select marks a block and brings it on the screen; -1 marks none.
func (l *List) Select(i int) {
	i = max(-1, min(i, len(l.entries)-1))
	if i == l.selected {
		return
	}
	l.selected = i
	l.dirty = true
	if i >= 0 {
		l.Show(i)
	}
}

// render makes sure that the rows of a block are those of now, and gives them.
func (l *List) render(i int) []string {
	e := &l.entries[i]
	v, sel := e.item.Version(), i == l.selected
	if e.cached && e.version == v && e.gen == l.gen && e.width == l.w && e.selected == sel {
		return e.rows
	}
	if e.cached {
		l.cachedRows -= len(e.rows)
	}
	e.rows = e.item.Render(l.w, sel)
	e.version, e.gen, e.width, e.selected, e.cached = v, l.gen, l.w, sel, true
	e.height, e.known = len(e.rows), true
	l.cachedRows += len(e.rows)
	return e.rows
}

// extent gives the row where the gap before a block begins, 0 or less, and the row after its last one.
func (l *List) extent(i int) (start, end int) {
	n := len(l.render(i))
	if n == 0 {
		return 0, 0
	}
	return -l.gapBefore(i), n
}

// gapBefore is the number of blank rows between a block and the nearest one before it that is seen.
func (l *List) gapBefore(i int) int {
	for j := i - 1; j >= 0; j-- {
		e := &l.entries[j]
		if !e.known || e.height > 0 || e.item.Version() != e.version {
			if len(l.render(j)) == 0 {
				continue
			}
			return max(0, l.gap(e.item, l.entries[i].item))
		}
	}
	return 0
}

// guess is rows without rendering.
func (l *List) guess(i int) int {
	e := &l.entries[i]
	if e.known && e.width == l.w {
		return e.height + 1
	}
	return max(1, e.item.Estimate(l.w)) + 1
}

func (l *List) drop(i int) {
	e := &l.entries[i]
	if !e.cached {
		return
	}
	l.cachedRows -= len(e.rows)
	e.rows, e.cached = nil, false
	if f, ok := e.item.(Forgetter); ok {
		f.Forget()
	}
}

// evict forgets the rows of blocks far from the screen.
func (l *List) evict(first, last int) {
	if l.cachedRows <= maxCached {
		return
	}
	near := last - first + 8
	for i := range l.entries {
		if i < first-near || i > last+near {
			l.drop(i)
		}
	}
}
