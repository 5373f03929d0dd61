package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// narrowest is the width to which columns shrink before their gaps do.
const narrowest = 5

// cell is one cell of a table with its text in one line.
type cell struct {
	in    *inline
	text  string
	width int
}

// table lays a table out: columns as wide as their text where all fit, else the widest become narrower and their cells take
// several rows.
func (r *renderer) table(n *extast.Table) {
	var rows [][]cell
	cols := 0
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		l := look{role: r.style.role()}
		if row.Kind() == extast.KindTableHeader {
			l = look{role: theme.Strong, bold: true}
		}
		var cells []cell
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, r.cell(c, l))
		}
		cols = max(cols, len(cells))
		rows = append(rows, cells)
	}
	if cols == 0 {
		return
	}
	natural := make([]int, cols)
	for _, cells := range rows {
		for i, c := range cells {
			natural[i] = max(natural[i], c.width, 1)
		}
	}
	room := r.room(r.style.inner())
	widths, gap := fitColumns(natural, room)
	if len(rows) > 1 && cols > 2 && room >= leastRecord && torn(natural, widths) {
		r.records(rows, room)
		return
	}
	for _, cells := range rows {
		r.tableRow(cells, widths, gap, n.Alignments)
	}
}

// leastRecord is the room that a name and a value need beside each other.
const leastRecord = 20

// torn says that columns are so narrow that words in them break into letters, or that some are left out.
func torn(natural, widths []int) bool {
	for i, n := range natural {
		if i >= len(widths) || widths[i] < min(narrowest, n) {
			return true
		}
	}
	return false
}

// records lays a table out that has too many columns for the width: row by row, each value beside the name of its column.
func (r *renderer) records(rows [][]cell, room int) {
	const gap = 2
	names := 0
	for _, c := range rows[0] {
		names = max(names, c.width)
	}
	names = max(min(names, room/3), 1)
	for n, cells := range rows[1:] {
		if n > 0 {
			r.emit("", 0)
		}
		for i, c := range cells {
			if i < len(rows[0]) && c.width > 0 {
				r.tableRow([]cell{rows[0][i], c}, []int{names, room - names - gap}, gap, nil)
			}
		}
	}
}

func (r *renderer) cell(n ast.Node, l look) cell {
	in := r.inline(n, l)
	text := strings.TrimSpace(in.text.String())
	return cell{in: in, text: in.text.String(), width: r.style.Metrics.Width(text)}
}

// fitColumns gives the widths of columns within room, and the gap between them. Columns that find no room at all are left out.
func fitColumns(natural []int, room int) (widths []int, gap int) {
	for _, try := range []struct{ gap, least int }{{3, 1 << 30}, {2, narrowest}, {1, 1}} {
		widths, gap = append([]int(nil), natural...), try.gap
		over := sum(widths) + gap*(len(widths)-1) - room
		for over > 0 {
			i := widest(widths)
			next := max(second(widths, i), widths[i]-over, 1)
			if next == widths[i] {
				next--
			}
			if next < min(try.least, natural[i]) || next < 1 {
				break
			}
			over -= widths[i] - next
			widths[i] = next
		}
		if over <= 0 {
			return widths, gap
		}
	}
	for len(widths) > 1 && sum(widths)+gap*(len(widths)-1) > room {
		widths = widths[:len(widths)-1]
	}
	widths[0] = min(widths[0], room)
	return widths, gap
}

func sum(v []int) int {
	n := 0
	for _, x := range v {
		n += x
	}
	return n
}

func widest(v []int) int {
	at := 0
	for i, x := range v {
		if x > v[at] {
			at = i
		}
	}
	return at
}

// second is the greatest width but that of column i.
func second(v []int, i int) int {
	n := 0
	for j, x := range v {
		if j != i {
			n = max(n, x)
		}
	}
	return n
}

// tableRow adds the rows of one row of cells.
func (r *renderer) tableRow(cells []cell, widths []int, gap int, align []extast.Alignment) {
	m := r.style.Metrics
	spans := make([][]paint.Span, len(widths))
	height := 1
	for i := range widths {
		if i < len(cells) {
			spans[i] = m.Spans(cells[i].text, widths[i], widths[i])
			height = max(height, len(spans[i]))
		}
	}
	at, lefts := make([]int, len(widths)), make([]int, len(widths))
	for y := range height {
		var b strings.Builder
		total := 0
		for i, w := range widths {
			if i > 0 {
				b.WriteString(r.blanks(gap))
				total += gap
			}
			used, content := 0, ""
			if y < len(spans[i]) {
				used = spans[i][y].Width
				content, at[i] = r.span(cells[i].in, cells[i].text, spans[i][y], at[i])
			}
			left := 0
			if i < len(align) {
				switch align[i] {
				case extast.AlignRight:
					left = w - used
				case extast.AlignCenter:
					left = (w - used) / 2
				}
			}
			lefts[i] = left
			b.WriteString(r.blanks(left))
			b.WriteString(content)
			b.WriteString(r.blanks(w - used - left))
			total += w
		}
		r.emit(b.String(), total)
		x := 0
		for i, w := range widths {
			if y < len(spans[i]) {
				r.say(x+lefts[i], cells[i].text, spans[i][y], cells[i].in.from, nil, 0)
			}
			x += w + gap
		}
	}
}
