package ui

import (
	"strconv"
	"strings"

	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// tabMark is the sign behind a tab's title.
type tabMark int

const (
	markNone tabMark = iota
	markRunning
	markDone // and nobody has looked yet
	markNeedsYou
	markFailed
)

// tabLabel is what the bar shows of one tab.
type tabLabel struct {
	title string
	mark  tabMark
}

// tabBar draws the top row and remembers where its tabs are, for the mouse.
type tabBar struct {
	row  string
	hits []tabHit
}

// tabHit is a stretch of the row; index -1 is the sign for a new tab.
type tabHit struct{ from, to, index int }

const (
	untitled     = words.Text("new##untitled")
	longestTitle = 24
	leastTitle   = 4
	// Where there is room for some titles that say something, there are rather fewer of them than shorter ones.
	legibleTitle = 8
	activeTitle  = 16
	legibleRoom  = 50
)

// draw makes the row. right is what stands at its end, the most important last; before it a recording, which never gives way.
func (b *tabBar) draw(s line.Style, w int, tabs []tabLabel, active int, working bool, recording string, right []string) {
	wide := w >= wideWidth
	lead, gap := " "+s.Theme.Brand(s.Phase, working)+"  ", 2
	if wide {
		lead, gap = " "+s.Theme.Brand(s.Phase, working)+" vitrine   ", 3
	}
	left := []line.Span{line.Say(theme.Accent, lead)}
	if wide {
		left = []line.Span{line.Say(theme.Accent, " "+s.Theme.Brand(s.Phase, working)), line.Bold(theme.Strong, " vitrine   ")}
	}
	at := s.Metrics.Width(lead)
	room := w - at - 1
	if recording != "" {
		room -= s.Metrics.Width(recording) + 3
	}
	titles, first, last := b.fit(s, room, gap, tabs, active, &right)
	tellApart(s, tabs, titles)
	b.hits = b.hits[:0]
	if first > 0 {
		spans := append(hiddenSpans(s, tabs[:first]), line.Say(theme.Text, " "))
		n := s.Width(spans...)
		left = append(left, spans...)
		b.hits = append(b.hits, tabHit{at, at + n, nextHidden(tabs, first-1, -1)})
		at += n
	}
	for i := first; i < last; i++ {
		spans := tabSpans(s, i, titles[i], tabs[i].mark, i == active)
		n := s.Width(spans...)
		b.hits = append(b.hits, tabHit{at, at + n, i})
		left = append(append(left, spans...), line.Say(theme.Text, paint.Spaces(gap)))
		at += n + gap
	}
	if last < len(tabs) {
		spans := hiddenSpans(s, tabs[last:])
		left = append(left, spans...)
		b.hits = append(b.hits, tabHit{at, at + s.Width(spans...), nextHidden(tabs, last, 1)})
	} else if wide {
		b.hits = append(b.hits, tabHit{at, at + 2, -1})
		left = append(left, line.Say(theme.Faint, " +"))
	}
	text := ""
	if len(right) > 0 {
		text = strings.Join(right, "   ") + " "
	}
	tail := []line.Span{line.Say(theme.Faint, text)}
	if recording != "" {
		tail = []line.Span{line.Say(theme.Error, recording), line.Say(theme.Faint, "   "+text)}
	}
	b.row = s.Row(theme.OnBase, w, left, tail...)
}

// fit finds titles, and what of the right, that go into room; where even short ones do not, a stretch around the active tab.
func (b *tabBar) fit(s line.Style, room, gap int, tabs []tabLabel, active int, right *[]string) (titles []string, first, last int) {
	titles = make([]string, len(tabs))
	shortest, own := leastTitle, leastTitle
	if room >= legibleRoom {
		shortest, own = legibleTitle, activeTitle
	}
	size := func(longest int) int {
		n := 0
		for i, t := range tabs {
			title := t.title
			if title == "" {
				title = s.T(untitled)
			}
			title = s.Text(title)
			most := longest
			if i == active {
				most = max(longest, own)
			}
			if s.Metrics.Width(title) > most {
				title = strings.TrimRight(s.Metrics.Fit(title, most), " ")
			}
			titles[i] = title
			n += s.Width(tabSpans(s, i, title, t.mark, i == active)...) + gap
		}
		return n
	}
	for {
		rightW := s.Metrics.Width(strings.Join(*right, "   ")) + 3
		if len(*right) == 0 {
			rightW = 0
		}
		least := shortest
		if len(*right) > 0 {
			least = 12 // before titles get shorter than this, the right goes
		}
		for longest := longestTitle; longest >= least; longest -= 2 {
			if size(longest) <= room-rightW {
				return titles, 0, len(tabs)
			}
		}
		if len(*right) == 0 {
			break
		}
		*right = (*right)[1:]
	}
	size(shortest)
	first, last = active, min(active+1, len(tabs))
	width := func() int {
		n := 7 // the two signs that something was cut, with what hides there
		for i := first; i < last; i++ {
			n += s.Width(tabSpans(s, i, titles[i], tabs[i].mark, i == active)...) + gap
		}
		return n
	}
	for grown := true; grown; {
		grown = false
		if last < len(tabs) {
			if last++; width() > room {
				last--
			} else {
				grown = true
			}
		}
		if first > 0 {
			if first--; width() > room {
				first++
			} else {
				grown = true
			}
		}
	}
	return titles, first, last
}

func tabSpans(s line.Style, i int, title string, mark tabMark, active bool) []line.Span {
	role, here := theme.Faint, " "
	if active {
		role, here = theme.Strong, s.Theme.Glyphs.Here
	}
	return append([]line.Span{line.Say(theme.Accent, here), line.Weight(role, active, strconv.Itoa(i+1)+" "+title)}, markSpans(s, mark)...)
}

// markSpans is the sign of a mark behind a blank; none for no mark.
func markSpans(s line.Style, mark tabMark) (spans []line.Span) {
	g := s.Theme.Glyphs
	switch mark {
	case markRunning:
		spans = append(spans, line.Say(theme.Accent, " "+s.Theme.Spinner(s.Phase)))
	case markDone:
		spans = append(spans, line.Say(theme.Accent, " "+g.Done))
	case markNeedsYou:
		spans = append(spans, line.Say(theme.Warn, " "+g.Question))
	case markFailed:
		spans = append(spans, line.Say(theme.Error, " "+g.Failed))
	}
	return spans
}

// urgency orders marks by how much they want to be seen.
func urgency(m tabMark) int {
	return map[tabMark]int{markRunning: 1, markDone: 2, markFailed: 3, markNeedsYou: 4}[m]
}

// hiddenSpans stands for tabs that have no room: that there are some, and the most urgent of their marks.
func hiddenSpans(s line.Style, tabs []tabLabel) []line.Span {
	most := markNone
	for _, t := range tabs {
		if urgency(t.mark) > urgency(most) {
			most = t.mark
		}
	}
	return append([]line.Span{line.Say(theme.Faint, s.Theme.Glyphs.Cut)}, markSpans(s, most)...)
}

// nextHidden is the most urgent of the tabs from one on in a direction, the nearest of those.
func nextHidden(tabs []tabLabel, from, d int) int {
	best := from
	for i := from; i >= 0 && i < len(tabs); i += d {
		if urgency(tabs[i].mark) > urgency(tabs[best].mark) {
			best = i
		}
	}
	return best
}

// at gives the tab under a column: its index, -1 for the sign of a new tab; ok is false beside them.
func (b *tabBar) at(x int) (index int, ok bool) {
	for _, h := range b.hits {
		if x >= h.from && x < h.to {
			return h.index, true
		}
	}
	return 0, false
}
