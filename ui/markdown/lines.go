package markdown

import (
	"slices"

	"vitrine/ui/paint"
)

// Here rows are told as text, for copying.

// Lines gives the text of each row that Rows gives for the style: markers of lists stay, what only decorates or indents is left out, and
// so are the signs of Markdown, which no row shows. All of the text is rendered for it.
func (s *Stream) Lines(style Style) []paint.Line {
	one := *s
	one.rows, one.rowsOf, one.starts, one.lines, one.telling = nil, 0, nil, nil, true
	one.scan.chunks = slices.Clone(s.scan.chunks)
	for i := range one.scan.chunks {
		one.scan.chunks[i].code = nil
	}
	one.Rows(style)
	return one.lines
}

// tell adds lines, and blank ones before them.
func (s *Stream) tell(blank int, lines []paint.Line) {
	if !s.telling {
		return
	}
	for range blank {
		s.lines = append(s.lines, paint.Line{Join: "\n"})
	}
	s.lines = append(s.lines, lines...)
}

// line adds the line of a row that is emitted, with the markers that begin in it. What they are nested in indents them.
func (r *renderer) line() {
	if !r.telling {
		return
	}
	last := -1
	for i, l := range r.levels {
		if !l.used && l.marker != "" {
			last = i
		}
	}
	var cells []paint.Cell
	at, m := r.style.Left, r.style.Metrics
	for i, l := range r.levels {
		if l.marker != "" && i <= last {
			text := l.marker
			if l.used {
				text = paint.Spaces(l.width)
			}
			cells = append(cells, m.Cells(text, 0, len(text), at, paint.Origin{})...)
		}
		at += l.width
	}
	r.told = append(r.told, paint.Line{Cells: cells, Join: "\n"})
}

// say adds text to the line of the last row: that of the i-th span, which begins from cells behind the levels.
func (r *renderer) say(from int, shown string, sp paint.Span, o paint.Origin, joins []string, i int) {
	if !r.telling {
		return
	}
	l := &r.told[len(r.told)-1]
	at := r.style.Left + r.left + from
	if n := len(l.Cells); n > 0 && from > 0 { // a column of a table
		for x := l.Cells[n-1].At + l.Cells[n-1].Width; x < at; x++ {
			l.Cells = append(l.Cells, paint.Cell{At: x, Width: 1, Text: " "})
		}
	}
	l.Cells = append(l.Cells, r.style.Metrics.Cells(shown, sp.Start, sp.End, at, o)...)
	if i < len(joins) {
		l.Join = joins[i]
	}
}

// breaks is what stands between the rows of a text; it is asked for only where lines are told.
func (r *renderer) breaks(shown string, spans []paint.Span, o paint.Origin) []string {
	if !r.telling {
		return nil
	}
	return r.style.Metrics.Breaks(shown, spans, o)
}

// origin is where the parts of a shown text came from; it is asked for only where lines are told.
func (r *renderer) origin(src, shown string, tab func(runes int) int) paint.Origin {
	if !r.telling {
		return paint.Origin{}
	}
	return r.style.Metrics.Origin(paint.CleanSource(src), shown, tab)
}
