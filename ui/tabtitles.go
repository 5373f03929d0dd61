package ui

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"vitrine/ui/line"
)

// tellApart gives titles that were cut where those of other tabs say the same what tells them apart, from further on in them.
func tellApart(s line.Style, tabs []tabLabel, titles []string) {
	for i, cut := range titles {
		head, was := strings.CutSuffix(cut, s.Theme.Glyphs.Cut)
		if !was || cut == s.Text(tabs[i].title) {
			continue
		}
		title, differs := s.Text(tabs[i].title), 0
		for j, t := range tabs {
			if j != i && strings.HasPrefix(t.title, head) {
				if n := samePrefix(title, s.Text(t.title)); n < len(title) {
					differs = max(differs, n)
				}
			}
		}
		if differs > 0 {
			titles[i] = windowed(s, title, differs, s.Metrics.Width(cut))
		}
	}
}

func samePrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// windowed is at most w cells of a title in which what begins at a byte can be seen, with what has room before it.
func windowed(s line.Style, title string, at, w int) string {
	mark := s.Theme.Glyphs.Cut
	room := w - s.Metrics.Width(mark)
	all, lead := 0, 0 // cells of the title, and of what is before the byte
	var widths []int
	var clusters []string
	off := 0
	for g := graphemes.FromString(title); g.Next(); {
		n := s.Metrics.Width(g.Value())
		clusters, widths = append(clusters, g.Value()), append(widths, n)
		if off += len(g.Value()); off <= at {
			lead += n
		}
		all += n
	}
	from := 0
	for from < len(clusters) && all > room && lead > room/2 {
		all, lead = all-widths[from], lead-widths[from]
		from++
	}
	return strings.TrimRight(s.Metrics.Fit(mark+strings.TrimLeft(strings.Join(clusters[from:], ""), " "), w), " ")
}
