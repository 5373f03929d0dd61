package traceview

import (
	"strings"
	"time"

	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// part is what a half cell of a bar shows.
type part byte

const (
	none part = iota
	waiting
	streaming
	working
)

// shortest is the share of a half cell below which a bar is only a dot.
const shortest = 0.15

// bar draws a node's time on the scale; nodes of other turns have none.
func (v *View) bar(w int, sc scale, n *trace.Node) string {
	root := n
	for root.Parent != nil {
		root = root.Parent
	}
	if root != sc.root || n.Kind == trace.KindError {
		return v.text(paint.Spaces(w), theme.Text, false)
	}
	role := theme.Faint
	if n.Open() {
		role = theme.Accent
	}
	if n.Status == trace.Failed {
		role = theme.Error
	}
	end := n.Until(v.clock(n))
	total := sc.length()
	if total <= 0 {
		total = time.Millisecond
	}
	halves := 2 * w
	place := func(t time.Time) float64 {
		return max(0, min(float64(halves), float64(sc.at(t))*float64(halves)/float64(total)))
	}
	from, to := place(n.Start), place(end)
	first := min(int(from), halves-1)
	if to-from < shortest {
		return v.text(paint.Spaces(first/2)+v.m.Fit(v.th.Glyphs.BarDot, 1)+paint.Spaces(w-first/2-1), role, false)
	}
	last := max(first+1, min(halves, int(to+0.999)))
	cells := make([]part, halves)
	for i := first; i < last; i++ {
		cells[i] = working
		if n.Kind == trace.KindModel {
			cells[i] = waiting
			if !n.FirstToken.IsZero() && float64(i)+0.5 >= place(n.FirstToken) {
				cells[i] = streaming
			}
		}
	}
	return v.text(v.cells(cells), role, false)
}

// cells turns half cells into glyphs.
func (v *View) cells(halves []part) string {
	g := &v.th.Glyphs
	full := map[part]string{waiting: g.BarWait, streaming: g.BarStream, working: g.BarWork}
	start := map[part]string{waiting: g.HalfWaitStart, streaming: g.HalfStreamStart, working: g.HalfWorkStart}
	end := map[part]string{waiting: g.HalfWaitEnd, streaming: g.HalfStreamEnd, working: g.HalfWorkEnd}
	var b strings.Builder
	for i := 0; i < len(halves); i += 2 {
		l, r := halves[i], halves[i+1]
		switch {
		case l == none && r == none:
			b.WriteByte(' ')
		case l == none:
			b.WriteString(start[r])
		case r == none:
			b.WriteString(end[l])
		default:
			b.WriteString(full[r])
		}
	}
	return b.String()
}
