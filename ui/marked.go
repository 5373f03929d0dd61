package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/paint"
)

// Here rows of trace and todos are selected with the mouse. Their text is made for the screen, so a selection is of what is seen: it goes
// along when its rows are scrolled, and ends when they say something else or leave the pane.

// marked is what is selected so in a page.
type marked struct {
	pane     pane
	down, on bool
	from, to [2]int   // column and row of the pane, where it began and where the pointer is
	says     []string // what the rows said, from the upper one on
}

// pressRows is the button over a pane of rows.
func (p *page) pressRows(which pane, e tea.Mouse) {
	at := p.within(which, e)
	p.marked = marked{pane: which, down: true, from: at, to: at}
}

// within is the cell of a pane that is next to the pointer.
func (p *page) within(which pane, e tea.Mouse) [2]int {
	r := p.rectOf(which)
	return [2]int{max(0, min(e.X-r.x, r.w-1)), max(0, min(e.Y-r.y, r.h-1))}
}

func (p *page) rectOf(which pane) rect {
	if which == paneTodos {
		return p.lay.todos
	}
	return p.lay.trace
}

// markTo takes the selection to the pointer.
func (p *page) markTo(e tea.Mouse) {
	k := &p.marked
	if to := p.within(k.pane, e); k.on || to != k.from {
		k.on, k.to = true, to
		k.says = k.says[:0]
		a, b := k.ends()
		rows := p.plainRows(k.pane)
		for y := a[1]; y <= b[1] && y < len(rows); y++ {
			k.says = append(k.says, said(rows[y]))
		}
	}
}

// said is what a row says.
func said(row string) string { return strings.TrimRight(ansi.Strip(row), " ") }

// plainRows are the rows of a pane without the selection.
func (p *page) plainRows(which pane) []string {
	if which == paneTodos {
		return p.columns.side.Rows()
	}
	return p.columns.traced().Rows()
}

// ends gives the first and the last selected cell.
func (k *marked) ends() (a, b [2]int) {
	if k.to[1] < k.from[1] || k.to[1] == k.from[1] && k.to[0] < k.from[0] {
		return k.to, k.from
	}
	return k.from, k.to
}

// find goes along with the selected rows; it is false when they are not there any more.
func (k *marked) find(rows []string) bool {
	a, b := k.ends()
	there := func(y int) bool {
		if y < 0 || y+len(k.says) > len(rows) || len(k.says) != b[1]-a[1]+1 {
			return false
		}
		for i, want := range k.says {
			if said(rows[y+i]) != want {
				return false
			}
		}
		return true
	}
	if there(a[1]) {
		return true
	}
	for by := range len(rows) {
		for _, y := range []int{a[1] - by, a[1] + by} {
			if there(y) {
				k.from[1] += y - a[1]
				k.to[1] += y - a[1]
				return true
			}
		}
	}
	return false
}

// markedCells gives the selected cells of a row.
func (p *page) markedCells(y int, row string) []paint.Cell {
	a, b := p.marked.ends()
	from, to := 1, p.lay.w // behind the column of signs
	if y == a[1] {
		from = max(a[0], 1)
	}
	if y == b[1] {
		to = b[0] + 1
	}
	text := said(row)
	return slices.DeleteFunc(p.env.style.Metrics.Cells(text, 0, len(text), 0, paint.Origin{}), func(c paint.Cell) bool {
		return c.At+c.Width <= from || c.At >= to
	})
}

// showMarked shows in reverse what is selected of the rows of a pane.
func (p *page) showMarked(which pane, rows []string) []string {
	if !p.marked.on || p.marked.pane != which {
		return rows
	}
	if !p.marked.find(rows) {
		p.marked.on = false
		return rows
	}
	on, off := p.env.style.Theme.Reverse()
	if on == "" {
		return rows
	}
	out := slices.Clone(rows)
	for a, b := p.marked.ends(); a[1] <= b[1]; a[1]++ {
		if cells := p.markedCells(a[1], out[a[1]]); len(cells) > 0 {
			last := cells[len(cells)-1]
			out[a[1]] = p.env.style.Metrics.Between(out[a[1]], cells[0].At, last.At+last.Width, on, off)
		}
	}
	return out
}

// markedText is what is selected of trace or todos.
func (p *page) markedText() string {
	k := &p.marked
	if !k.on || p.rectOf(k.pane).empty() {
		return ""
	}
	rows := p.plainRows(k.pane)
	if !k.find(rows) {
		k.on = false
		return ""
	}
	var lines []string
	for a, b := k.ends(); a[1] <= b[1]; a[1]++ {
		line := ""
		for _, c := range p.markedCells(a[1], rows[a[1]]) {
			line += c.Text
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// selecting says that the mouse has selected text.
func (p *page) selecting() bool {
	return p.columns.seen().Selecting() || p.marked.on && !p.rectOf(p.marked.pane).empty()
}

// unselect takes what the mouse selected away.
func (p *page) unselect() {
	p.columns.seen().Unselect()
	p.marked = marked{}
}

// selected is the text that the mouse selected.
func (p *page) selected() string {
	if text := p.columns.seen().SelectedText(); text != "" {
		return text
	}
	return p.markedText()
}
