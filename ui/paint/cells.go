package paint

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Here is what a row says, for copying: which text stands in which of its cells. It is made only of rows that are copied or in which a
// selection ends, never to paint them.

// Cell is text that is copied whole and the cells that show it, Width of them from column At.
type Cell struct {
	At, Width int
	Text      string
}

// Line is the text of a row. Join is what stands between it and the next row's: nothing or a space where the row was only wrapped, a
// line feed where the text has one.
type Line struct {
	Cells []Cell
	Join  string
}

// Len is how many bytes of text the cells of the line have.
func (l Line) Len() int {
	n := 0
	for _, c := range l.Cells {
		n += len(c.Text)
	}
	return n
}

// Origin tells what the parts of a shown text, which was made safe and had its tabs expanded, were in the source. The zero value is for
// a text that is shown as it is.
type Origin struct{ changes []change }

// change says that shown[from:to] stands for text.
type change struct {
	from, to int
	text     string
}

// Origin compares a source with how it is shown. tab says how many spaces a tab became behind that many characters; nil stands for
// what Clean makes of it. Where the two do not belong together nothing is known, and the text is taken as it is shown.
func (m Metrics) Origin(src, shown string, tab func(runes int) int) Origin {
	if src == shown {
		return Origin{}
	}
	var o Origin
	at, runes := 0, 0 // in shown, and the characters of the line
	for i := 0; i < len(src); {
		c := graphemes.FromString(src[i:]).First()
		safe := m.Safe(c)
		switch {
		case c == "\t" && tab != nil:
			safe = Spaces(tab(runes))
			runes += len(safe) - 1
		case c == "\t":
			safe = Spaces(tabWidth)
		}
		if !strings.HasPrefix(shown[at:], safe) {
			return Origin{}
		}
		if safe != c {
			o.changes = append(o.changes, change{at, at + len(safe), c})
		}
		at += len(safe)
		i += len(c)
		runes += utf8.RuneCountInString(c)
	}
	if at != len(shown) {
		return Origin{}
	}
	return o
}

// Add appends the origin of a text that stands at offset of a longer one, behind all that was added before.
func (o *Origin) Add(offset int, of Origin) {
	for _, c := range of.changes {
		o.changes = append(o.changes, change{c.from + offset, c.to + offset, c.text})
	}
}

// Text is the source of shown[from:to]. What stands for one thing belongs to where it begins.
func (o Origin) Text(shown string, from, to int) string {
	var b strings.Builder
	for _, c := range o.changes {
		if c.to <= from {
			continue
		}
		if c.from >= to {
			break
		}
		if c.from >= from {
			b.WriteString(shown[from:c.from])
			b.WriteString(c.text)
		}
		from = min(c.to, to)
	}
	b.WriteString(shown[from:to])
	return strings.ReplaceAll(b.String(), wordJoiner, "") // which only keeps apart what is shown
}

// Cells gives the cells of shown[from:to] in a row where it begins at a column. What stands for one thing is one cell.
func (m Metrics) Cells(shown string, from, to, at int, o Origin) []Cell {
	var cells []Cell
	next := 0 // the change that is not passed yet
	for i := from; i < to; {
		end, n := m.atom(shown[:to], i)
		for next < len(o.changes) && o.changes[next].to <= i {
			next++
		}
		for next < len(o.changes) && o.changes[next].from < end && o.changes[next].to > end && end < to {
			more, w := m.atom(shown[:to], end)
			end, n = more, n+w
		}
		text := o.Text(shown, i, end)
		if k := len(cells); n == 0 && k > 0 {
			cells[k-1].Text += text
		} else {
			cells = append(cells, Cell{at, n, text})
		}
		at += n
		i = end
	}
	return cells
}

// Breaks gives the source that was left out behind each of the rows into which Spans or Chop divided a text: where there is a line
// feed, nothing else.
func (m Metrics) Breaks(shown string, spans []Span, o Origin) []string {
	joins := make([]string, len(spans))
	for i := range spans {
		if i+1 == len(spans) {
			joins[i] = "\n"
			continue
		}
		joins[i] = o.Text(shown, spans[i].End, spans[i+1].Start)
		if n := strings.Count(joins[i], "\n"); n > 0 {
			joins[i] = strings.Repeat("\n", n)
		}
	}
	return joins
}

// Between puts on and off around the cells of a painted row from one column to another, and on again behind each sequence between them,
// since a new style begins without.
func (m Metrics) Between(row string, from, to int, on, off string) string {
	var b strings.Builder
	b.Grow(len(row) + 4*len(on))
	at, inside := 0, false
	for i := 0; i < len(row); {
		if row[i] == 0x1b {
			end := SkipControl(row, i)
			b.WriteString(row[i:end])
			if inside {
				b.WriteString(on)
			}
			i = end
			continue
		}
		end, n := m.atom(row, i)
		if in := at >= from && at < to; n > 0 && in != inside {
			inside = in
			if in {
				b.WriteString(on)
			} else {
				b.WriteString(off)
			}
		}
		b.WriteString(row[i:end])
		at += n
		i = end
	}
	if inside {
		b.WriteString(off)
	}
	return b.String()
}
