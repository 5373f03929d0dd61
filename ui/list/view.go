package list

// View gives the rows on the screen, at most the height, from the top. The slice is the same as before when nothing changed;
// it must not be changed.
func (l *List) View() []string {
	if !l.dirty && !l.changed() {
		return l.out
	}
	l.layout()
	return l.out
}

// changed says that a block that matters to the screen has another version.
func (l *List) changed() bool {
	for _, s := range l.shown {
		if l.entries[s.item].item.Version() != s.version {
			return true
		}
	}
	return false
}

func (l *List) layout() {
	l.dirty, l.started = false, true
	if l.follow {
		l.toEnd()
	} else {
		l.settle()
	}
	out := make([]string, 0, l.h)
	placed := l.placed[:0]
	l.shown = l.shown[:0]
	blank := -1
	i, from := l.topItem, l.topRow
	for ; i < len(l.entries) && len(out) < l.h; i++ {
		rows := l.render(i)
		l.shown = append(l.shown, shown{i, l.entries[i].version})
		start, end := l.extent(i)
		if i > l.topItem {
			from = start
		}
		for r := from; r < end && len(out) < l.h; r++ {
			if r < 0 {
				out = append(out, "")
				placed = append(placed, place{blank, 0})
				continue
			}
			out = append(out, rows[r])
			placed = append(placed, place{i, r})
		}
	}
	// While the end is followed an empty block there may begin to show. Other blocks out of sight are not looked at.
	for j := i; l.follow && j < len(l.entries); j++ {
		l.shown = append(l.shown, shown{j, l.entries[j].version})
	}
	// A gap at the very top is there only while the block above it is. It may be that of a later block, behind empty ones.
	gapOnTop := len(placed) > 0 && placed[0].item == blank
	for j := l.topItem - 1; gapOnTop && j >= 0; j-- {
		l.shown = append(l.shown, shown{j, l.entries[j].version})
		if l.entries[j].height > 0 {
			break
		}
	}
	l.out, l.placed = out, placed
	if l.follow {
		l.seen = len(l.entries)
	}
	l.evict(l.topItem, i)
}

// toEnd puts the last row at the bottom, or the first at the top when there is less than a screen.
func (l *List) toEnd() {
	left := l.h
	l.topItem, l.topRow = 0, 0
	for i := len(l.entries) - 1; i >= 0; i-- {
		start, end := l.extent(i)
		if end-start >= left {
			l.topItem, l.topRow = i, end-left
			return
		}
		left -= end - start
	}
}

// settle moves the top into the block that it is in, and follows when no row is left below the screen.
func (l *List) settle() {
	if len(l.entries) == 0 {
		l.topItem, l.topRow, l.follow = 0, 0, true
		return
	}
	l.topItem = max(0, min(l.topItem, len(l.entries)-1))
	start, end := l.extent(l.topItem)
	l.topRow = max(start, min(l.topRow, end-1))
	if l.below(1) == 0 {
		l.follow = !l.still
		l.toEnd()
	}
}

// below counts the rows under the screen, up to limit.
func (l *List) below(limit int) int {
	n := -l.h
	for i, from := l.topItem, l.topRow; i < len(l.entries) && n < limit; i++ {
		start, end := l.extent(i)
		if i > l.topItem {
			from = start
		}
		n += end - from
	}
	return max(0, min(n, limit))
}

// ScrollRows moves by n rows, down when positive. At the end the list follows.
func (l *List) ScrollRows(n int) {
	if n == 0 || len(l.entries) == 0 {
		return
	}
	l.now()
	if n > 0 {
		if l.follow {
			return
		}
		n = l.below(n)
		for n > 0 {
			_, end := l.extent(l.topItem)
			left := max(0, end-l.topRow)
			if n < left || l.topItem == len(l.entries)-1 {
				l.topRow += n
				break
			}
			n -= left
			l.topItem++
			l.topRow, _ = l.extent(l.topItem)
		}
		l.settle()
		l.dirty = true
		return
	}
	if l.up(-n) {
		l.follow = false
		l.dirty = true
	}
}

// up moves the top by n rows towards the beginning; it tells whether it moved at all.
func (l *List) up(n int) (moved bool) {
	for n > 0 {
		start, _ := l.extent(l.topItem)
		if room := l.topRow - start; room > 0 {
			step := min(n, room)
			l.topRow -= step
			n -= step
			moved = true
			continue
		}
		if l.topItem == 0 {
			break
		}
		l.topItem--
		_, l.topRow = l.extent(l.topItem)
	}
	return moved
}

// ScrollPages moves by n screens, less one row that stays as a hold for the eye.
func (l *List) ScrollPages(n int) { l.ScrollRows(n * max(1, l.h-1)) }

// ScrollHalf moves by n half screens.
func (l *List) ScrollHalf(n int) { l.ScrollRows(n * max(1, l.h/2)) }

// Home goes to the first row.
func (l *List) Home() {
	l.now()
	if l.AtTop() {
		l.follow, l.dirty = false, true
		return
	}
	l.topItem, l.topRow, l.follow, l.dirty = 0, 0, false, true
}

// End goes to the last row and follows.
func (l *List) End() {
	if !l.follow {
		l.follow, l.dirty = true, true
	}
}

// Show brings a block on the screen with the least movement.
func (l *List) Show(i int) {
	if i < 0 || i >= len(l.entries) || l.h == 0 {
		return
	}
	l.now()
	first, last := -1, -1
	for y, p := range l.placed {
		if p.item == i {
			if first < 0 {
				first = y
			}
			last = y
		}
	}
	height := len(l.render(i))
	if first >= 0 && (last-first+1 == height || last-first+1 == l.h) {
		return
	}
	if first >= 0 && l.placed[first].row == 0 || first < 0 && i > l.topItem {
		// It begins on the screen or below it: bring its end up, but not its beginning out of sight.
		l.topItem, l.topRow = i, 0
		if room := l.h - height; room > 0 {
			l.up(room)
		}
	} else {
		l.topItem, l.topRow = i, 0
	}
	l.follow = false
	l.settle()
	l.dirty = true
}

// ToTop puts the beginning of a block at the top of the screen, as far as there are rows to fill it.
func (l *List) ToTop(i int) {
	if i < 0 || i >= len(l.entries) {
		return
	}
	l.now()
	l.topItem, l.topRow, l.follow, l.dirty = i, 0, false, true
	l.settle()
}

// now brings the place up to date before it is moved.
func (l *List) now() {
	if l.dirty || l.changed() {
		l.layout()
	}
}

// Following says that the end is on the screen and new output will be shown.
func (l *List) Following() bool { return l.follow }

// AtTop says that the first row is on the screen: older blocks may be asked for.
func (l *List) AtTop() bool { return l.topItem == 0 && l.topRow <= 0 }

// New counts the blocks that came since the end was last seen.
func (l *List) New() int {
	if l.follow {
		return 0
	}
	return max(0, len(l.entries)-l.seen)
}

// PagesUp tells about how many screens the end is away, rounded up; 0 while following.
func (l *List) PagesUp() int {
	if l.follow || l.h == 0 {
		return 0
	}
	n := -l.topRow - l.h
	for i := l.topItem; i < len(l.entries); i++ {
		n += l.guess(i)
	}
	return max(1, (n+l.h-1)/l.h)
}

// At gives the block and its row that is on a row of the screen; ok is false on blank rows.
func (l *List) At(y int) (item, row int, ok bool) {
	l.now()
	if y < 0 || y >= len(l.placed) || l.placed[y].item < 0 {
		return 0, 0, false
	}
	return l.placed[y].item, l.placed[y].row, true
}

// Visible gives the first and the last block on the screen; ok is false when there is none.
func (l *List) Visible() (first, last int, ok bool) {
	l.now()
	for _, p := range l.placed {
		if p.item < 0 {
			continue
		}
		if !ok {
			first = p.item
		}
		last, ok = p.item, true
	}
	return first, last, ok
}

// ShowRow brings a row of a block on the screen, with some of what stands before it, unless it is there.
func (l *List) ShowRow(i, row int) {
	if i < 0 || i >= len(l.entries) || l.h == 0 {
		return
	}
	l.now()
	for _, p := range l.placed {
		if p.item == i && p.row == row {
			return
		}
	}
	l.topItem, l.topRow, l.follow, l.dirty = i, row, false, true
	l.up(l.h / 3)
	l.settle()
}

// RowsOf gives the rows of a block.
func (l *List) RowsOf(i int) []string { return l.render(i) }

// Top is the first row on the screen.
func (l *List) Top() (item, row int) {
	l.now()
	return l.topItem, l.topRow
}

// SetTop puts a row at the top of the screen, as far as there are rows to fill it.
func (l *List) SetTop(item, row int) {
	l.topItem, l.topRow, l.follow, l.dirty = item, row, false, true
	l.settle()
}

// Mark selects a block and leaves the screen where it is.
func (l *List) Mark(i int) {
	if i != l.selected {
		l.selected, l.dirty = min(i, len(l.entries)-1), true
	}
}

// Hold keeps what is on the screen where it is when blocks are put behind it.
func (l *List) Hold() {
	if l.now(); l.follow {
		l.follow, l.dirty = false, true
	}
}

// Still has the end not followed, so that what is pointed at stays where it is, until it is called with false.
func (l *List) Still(on bool) {
	l.now()
	l.still = on
	if on && l.follow {
		l.follow, l.dirty = false, true
	}
}

// Near is At, but on a blank row it gives the row below that (side -1) or, where there is none, the last one (side 1). ok is false only
// when nothing is on the screen.
func (l *List) Near(y int) (item, row, side int, ok bool) {
	l.now()
	for i := max(y, 0); i < len(l.placed); i++ {
		if l.placed[i].item < 0 {
			side = -1
			continue
		}
		return l.placed[i].item, l.placed[i].row, side, true
	}
	for i := len(l.placed) - 1; i >= 0; i-- {
		if l.placed[i].item >= 0 {
			return l.placed[i].item, l.placed[i].row, 1, true
		}
	}
	return 0, 0, 0, false
}

// AtEnd says that the last row is on the screen.
func (l *List) AtEnd() bool {
	l.now()
	return l.follow || len(l.entries) == 0 || l.below(1) == 0
}
