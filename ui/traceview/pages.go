package traceview

import (
	"slices"

	"vitrine/trace"
)

// A View holds the events of a session from some seq on, and takes older ones in front as they are wanted. Another one can show a
// stretch that is far from those: it takes newer ones too, and nothing that happens now. Both are kept short by whole turns.

const (
	// pastEvents is how many events a stretch holds, and one turn more: some pages of what is read at once.
	pastEvents = 8000
	// mostSought bounds the pages that are read by themselves for a filter that finds little.
	mostSought = 20
)

// LoadStretch replaces everything with events from first to last of a session, which need not be its newest. The first belongs to
// the beginning of a turn.
func (v *View) LoadStretch(events []trace.Event, first, last int64) {
	v.tree, v.past, v.follow = trace.Tree{}, true, false
	for _, e := range events {
		v.tree.Apply(e)
	}
	v.low, v.high, v.sought = first, last, 0
	v.changed()
}

// Past says that it shows a stretch that is not the session's end.
func (v *View) Past() bool { return v.past }

// Low and High are the first and the last seq that were read.
func (v *View) Low() int64 { return v.low }

// High is the last one.
func (v *View) High() int64 { return v.high }

// Full says that no more turns fit in front.
func (v *View) Full() bool { return !v.past && len(v.tree.Roots) >= keptTurns }

// WantsOlder says from which seq on, and below which, older events are to be read: the first row is on the screen, or a filter leaves
// rows free.
func (v *View) WantsOlder() (low, below int64, ok bool) {
	v.flatten()
	if v.low <= 1 {
		return 0, 0, false
	}
	switch free := v.filter.on() && len(v.lines) < v.room(); {
	case free && v.sought >= mostSought:
		return 0, 0, false
	case !free && (v.offset > 0 || v.index() > 0 && !v.scrolled):
		return 0, 0, false
	}
	return v.low, v.tree.Edge(v.low), true
}

// AtEnd says that the last row is selected, or on the screen after it was scrolled.
func (v *View) AtEnd() bool {
	v.flatten()
	return v.index() >= len(v.lines)-1 || v.scrolled && v.offset >= len(v.lines)-v.room()
}

// Prepend puts the events from first on in front, up to where WantsOlder said. What is selected stays, and what is seen.
func (v *View) Prepend(events []trace.Event, first int64) {
	v.flatten()
	top := ""
	if v.offset < len(v.lines) {
		top = v.lines[v.offset].node.ID
	}
	v.tree.Before(events)
	v.low = first
	v.sought++
	if v.halted.run != "" {
		v.tree.Halt(v.halted.run, v.halted.unknown...)
	}
	if over := v.far(func(low, _ int64) bool { return low > v.low+pastEvents }); v.past && over > 0 {
		v.tree.DropLast(over)
		_, v.high = v.tree.Roots[len(v.tree.Roots)-1].Seqs()
	}
	v.changed()
	v.flatten()
	if at := slices.IndexFunc(v.lines, func(l line) bool { return l.node.ID == top }); at >= 0 {
		v.offset = at
	}
	if !v.scrolled {
		v.reveal()
	}
}

// Append puts the events up to last behind a stretch.
func (v *View) Append(events []trace.Event, last int64) {
	v.flatten()
	if n := v.tree.Node(v.selected); n != nil {
		for n = n.Parent; n != nil; n = n.Parent {
			v.open[n.ID] = true // the newest turn is open by itself, and is not the newest now
		}
	}
	for _, e := range events {
		v.tree.Apply(e)
	}
	v.high = last
	if over := v.far(func(_, high int64) bool { return high < v.high-pastEvents }); over > 0 {
		v.flatten()
		before := len(v.lines)
		v.tree.DropFirst(over)
		v.low, _ = v.tree.Roots[0].Seqs()
		v.changed()
		v.flatten()
		v.offset = max(0, v.offset-max(before-len(v.lines), 0))
	}
	v.changed()
}

// far counts the turns that are too far from what was read last; one stays.
func (v *View) far(is func(low, high int64) bool) int {
	n := 0
	for _, r := range v.tree.Roots {
		if is(r.Seqs()) {
			n++
		}
	}
	return min(n, len(v.tree.Roots)-1)
}
