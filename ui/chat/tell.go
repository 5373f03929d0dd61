package chat

import (
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/markdown"
	"vitrine/ui/paint"
)

// Here the rows of blocks are told as text, for copying. A block is rendered once more for it, with the view taking notes.

// told is what span says of itself where lines are told.
type told struct {
	off   bool         // it only decorates
	skip  int          // the cells of it that only decorate, at its beginning
	on    bool         // it belongs to the text, though it stands at the right
	cells []paint.Cell // of its text, from its first cell; nil: the text as it is shown
	join  *string      // what stands between its row and the next; nil: a line feed
}

// quiet is a piece that is not copied, such as a sign.
func (s span) quiet() span {
	s.off = true
	return s
}

// behind is a piece of which the first cells are not copied.
func (s span) behind(cells int) span {
	s.skip = cells
	return s
}

// loud is a piece at the right that is copied.
func (s span) loud() span {
	s.on = true
	return s
}

// wrappedRow is a row of a wrapped text. cells and join are known where lines are told.
type wrappedRow struct {
	text  string
	cells []paint.Cell
	join  *string
}

// in makes a piece of the row, behind blanks that are not copied.
func (r wrappedRow) in(s span, blanks int) span {
	s.text = paint.Spaces(blanks) + r.text
	if r.join == nil {
		return s
	}
	s.join, s.cells = r.join, make([]paint.Cell, 0, len(r.cells))
	for _, c := range r.cells {
		c.At += blanks
		s.cells = append(s.cells, c)
	}
	return s
}

// wrapped gives the rows of plain text beside the margins.
func (c *common) wrapped(w int, text string) []wrappedRow {
	ml, mr := margins(w)
	return c.wrap(text, max(1, min(w-ml-mr, markdown.ProseWidth)))
}

// wrap gives the rows of plain text at a width.
func (c *common) wrap(text string, w int) []wrappedRow {
	m := c.look.m
	shown := m.Safe(paint.Clean(text))
	spans := m.Spans(shown, w, w)
	rows := make([]wrappedRow, len(spans))
	for i, sp := range spans {
		rows[i].text = shown[sp.Start:sp.End]
	}
	if !c.view.telling {
		return rows
	}
	from := m.Origin(paint.CleanSource(text), shown, nil)
	joins := m.Breaks(shown, spans, from)
	for i, sp := range spans {
		rows[i].cells, rows[i].join = m.Cells(shown, sp.Start, sp.End, 0, from), &joins[i]
	}
	return rows
}

// mostGap bounds the blanks that are copied between columns.
const mostGap = 3

// note takes the text of a row that is made: of the pieces from the left, which take used cells of at most space, and of those at the
// right, from column at.
func (c *common) note(left []span, space int, right []span, at int) {
	m := c.look.m
	ml, _ := margins(c.view.w)
	var l paint.Line
	l.Join = "\n"
	add := func(p span, from, most int) {
		cells := p.cells
		if cells == nil {
			text := p.text
			if m.Width(text) > most {
				text = m.Fit(text, most)
			}
			cells = m.Cells(text, 0, len(text), 0, paint.Origin{})
		}
		for _, cell := range cells {
			if cell.At+cell.Width > most {
				break
			}
			if cell.At < p.skip {
				continue
			}
			cell.At += from
			if n := len(l.Cells); n > 0 {
				if before := l.Cells[n-1].At + l.Cells[n-1].Width; before < cell.At {
					l.Cells = append(l.Cells, paint.Cell{At: before, Width: cell.At - before, Text: paint.Spaces(min(cell.At-before, mostGap))})
				}
			}
			l.Cells = append(l.Cells, cell)
		}
		if p.join != nil {
			l.Join = *p.join
		}
	}
	used := 0
	for _, p := range left {
		if !p.off {
			add(p, ml+used, space-used)
		}
		used += min(m.Width(p.text), space-used)
	}
	for _, p := range right {
		if p.on {
			add(p, at, m.Width(p.text))
		}
		at += m.Width(p.text)
	}
	if l.Join != "" {
		for n := len(l.Cells); n > 0 && l.Cells[n-1].Text == " "; n-- {
			l.Cells = l.Cells[:n-1]
		}
	}
	c.view.told = append(c.view.told, l)
}

// lines gives the text of each row of a block.
func (v *View) lines(b block) []paint.Line {
	if t, ok := b.(*textBlock); ok {
		if t.md.Empty() {
			return nil
		}
		return t.md.Lines(t.style(v.w))
	}
	v.telling, v.told = true, nil
	rows := b.Render(v.w, false)
	out := v.told
	v.telling, v.told = false, nil
	if len(out) == len(rows) {
		return out
	}
	out = make([]paint.Line, len(rows)) // not all of its rows are shown
	ml, _ := margins(v.w)
	for i, r := range rows {
		text := ansi.Strip(r)
		text = text[min(ml, len(text)):]
		out[i] = paint.Line{Cells: v.look.m.Cells(text, 0, len(text), ml, paint.Origin{}), Join: "\n"}
	}
	return out
}
