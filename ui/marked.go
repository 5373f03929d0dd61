package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/chat"
	"vitrine/ui/paint"
)

// Here rows of trace, todos, questions and dialogs are selected with the mouse. Their text is made for the screen, so a selection is of
// what is seen: it goes along when its rows are scrolled, and ends when they say something else or leave the place.

// onDialog is where what is selected of a dialog lies: over all panes.
const onDialog = paneNone

// marked is what is selected so in a page.
type marked struct {
	pane          pane
	down, on      bool
	times         int      // how often the button was pressed at once: cells, words, rows
	at            [2]int   // column and row where it was pressed
	fixed, moving stretch  // where it began and where the pointer is
	says          []string // what the rows said, from the upper one on
}

// laid is a dialog as it was drawn.
type laid struct {
	at   rect
	rows []string
}

// stretch is cells of a row, from the first to the last.
type stretch struct{ y, from, to int }

// pressRows is the button over a place of rows; opened says that it opened or closed something, which is no part of a word.
func (p *page) pressRows(which pane, e tea.Mouse, opened bool) {
	times := p.pressed(e)
	if opened {
		p.mouse.times, times = 0, 1
	}
	at := p.within(which, e)
	p.marked = marked{pane: which, down: true, times: times, at: at, fixed: p.unitAt(which, times, at)}
	if times > 1 {
		p.markTo(e)
	}
}

// within is the cell of a place that is next to the pointer.
func (p *page) within(which pane, e tea.Mouse) [2]int {
	r := p.rectOf(which)
	return [2]int{max(0, min(e.X-r.x, r.w-1)), max(0, min(e.Y-r.y, r.h-1))}
}

func (p *page) rectOf(which pane) rect {
	switch which {
	case onDialog:
		if p.dialog == nil {
			return rect{}
		}
		return p.laid.at
	case paneTodos:
		return p.lay.todos
	case paneQuestion:
		return p.lay.dock
	}
	return p.lay.trace
}

// unitAt is what a cell stands for, by how often the button was pressed there.
func (p *page) unitAt(which pane, times int, at [2]int) stretch {
	u := stretch{at[1], at[0], at[0]}
	rows := p.plainRows(which)
	switch {
	case times == 3:
		u.from, u.to = 1, p.rectOf(which).w-1
	case times == 2 && at[1] < len(rows):
		text := said(rows[at[1]])
		from, cells := 0, p.env.style.Metrics.Cells(text, 0, len(text), 0, paint.Origin{})
		for _, c := range cells {
			if at[0] < c.At+c.Width {
				a, b := chat.WordAt(text, from, from+len(c.Text))
				return u.over(cells, a, b)
			}
			from += len(c.Text)
		}
	}
	return u
}

// over is the cells of the stretch's row that show the bytes from a to b of its text.
func (u stretch) over(cells []paint.Cell, a, b int) stretch {
	at := 0
	for _, c := range cells {
		if at == a {
			u.from = c.At
		}
		if at += len(c.Text); at == b {
			u.to = c.At + max(c.Width, 1) - 1
		}
	}
	return u
}

// markTo takes the selection to the pointer.
func (p *page) markTo(e tea.Mouse) {
	k := &p.marked
	if to := p.within(k.pane, e); k.on || k.times > 1 || to != k.at {
		k.on, k.moving = true, p.unitAt(k.pane, k.times, to)
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

// plainRows are the rows of a place without the selection.
func (p *page) plainRows(which pane) []string {
	switch which {
	case onDialog:
		return p.laid.rows
	case paneTodos:
		return p.columns.side.Rows()
	case paneQuestion:
		return p.asks
	}
	return p.columns.traced().Rows()
}

// ends gives column and row of the first and the last selected cell.
func (k *marked) ends() (a, b [2]int) {
	first, last := k.fixed, k.moving
	if last.y < first.y || last.y == first.y && last.from < first.from {
		first, last = last, first
	}
	if a, b = [2]int{first.from, first.y}, [2]int{last.to, last.y}; first.y == last.y {
		b[0] = max(last.to, first.to)
	}
	return a, b
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
				k.fixed.y, k.moving.y = k.fixed.y+y-a[1], k.moving.y+y-a[1]
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
	wrapped, _ := p.dialog.(interface{ Join(row int) string })
	text := ""
	for a, b := k.ends(); a[1] <= b[1]; a[1]++ {
		line := ""
		for _, c := range p.markedCells(a[1], rows[a[1]]) {
			line += c.Text
		}
		text += strings.TrimRight(line, " ")
		switch {
		case a[1] == b[1]:
		case k.pane == onDialog && wrapped != nil:
			text += wrapped.Join(a[1])
		default:
			text += "\n"
		}
	}
	return strings.Trim(text, "\n")
}

// selecting says that the mouse has selected text.
func (p *page) selecting() bool {
	from, to := p.typedRange()
	return from < to || p.columns.seen().Selecting() || p.marked.on && !p.rectOf(p.marked.pane).empty()
}

// unselect takes what the mouse selected away.
func (p *page) unselect() {
	p.columns.seen().Unselect()
	p.marked, p.inputMark = marked{}, typedMark{}
}

// selected is the text that the mouse selected.
func (p *page) selected() string {
	if text := p.columns.seen().SelectedText(); text != "" {
		return text
	}
	if text := p.markedText(); text != "" {
		return text
	}
	return p.typedText()
}
