package record

import (
	"image/color"

	uv "github.com/charmbracelet/ultraviolet"

	"vitrine/ui/emulator"
)

// pen is how a cell is drawn, all colours known.
type pen struct {
	fg, bg, line              color.RGBA
	bold, italic, under, gone bool // gone is struck out
}

// cell is what a picture shows at a place. The second half of a wide one has the width 0.
type cell struct {
	text  string
	width int8
	pen
}

// grid is a picture in cells. Its size stays the same, and where the screen is smaller it is blank.
type grid struct {
	w, h  int
	cells []cell
}

// gridder makes pictures of a terminal. They are w by h cells, whatever the size of the terminal.
type gridder struct {
	theme Theme
	w, h  int
	// drawn is told of each cell that is drawn anew; it may be nil.
	drawn func(*cell)

	lastW, lastH int       // of the terminal
	last         []uv.Cell // what it showed
	base         []cell    // the same as it is drawn, without the cursor
	room         [3][]cell // of the last pictures, in turn
	turn         int
}

// look gives what the terminal shows. It holds for the next two calls.
func (g *gridder) look(t *emulator.Terminal) (now grid) {
	t.Read(func(w, h int, at func(x, y int) *uv.Cell, cursor uv.Position) {
		if g.base == nil || w != g.lastW || h != g.lastH {
			g.start(w, h)
		}
		var none uv.Cell
		for y := range min(h, g.h) {
			before := &none
			for x := range min(w, g.w) {
				c := at(x, y)
				if c == nil {
					c = &none
				}
				was, to := &g.last[y*w+x], &g.base[y*g.w+x]
				second := c.Content == "" && c.Width == 0 && before.Width > 1
				if *was != *c || second != (to.width == 0) {
					*was = *c
					g.put(to, c, second, g.w-x)
				}
				before = c
			}
		}
		g.turn = (g.turn + 1) % len(g.room)
		now = grid{w: g.w, h: g.h, cells: append(g.room[g.turn][:0], g.base...)}
		g.room[g.turn] = now.cells
		if cursor.X >= 0 && cursor.X < g.w && cursor.Y >= 0 && cursor.Y < g.h {
			c := now.cursor(cursor.X, cursor.Y, g.theme.Cursor)
			if g.drawn != nil {
				g.drawn(c)
			}
		}
	})
	return now
}

// start begins with a blank picture for a terminal of another size.
func (g *gridder) start(w, h int) {
	g.lastW, g.lastH = w, h
	g.last = make([]uv.Cell, w*h)
	g.base = make([]cell, g.w*g.h)
	for i := range g.base {
		g.put(&g.base[i], &uv.Cell{}, false, 1)
	}
}

// put draws a cell anew; room is how many there are to the edge.
func (g *gridder) put(to *cell, c *uv.Cell, second bool, room int) {
	*to = g.theme.cell(c, second)
	if int(to.width) > room {
		to.text, to.width = " ", 1
	}
	if g.drawn != nil {
		g.drawn(to)
	}
}

// cursor draws the cursor as a block, and gives its cell.
func (g *grid) cursor(x, y int, c color.RGBA) *cell {
	at := &g.cells[y*g.w+x]
	if at.width == 0 && x > 0 {
		at = &g.cells[y*g.w+x-1]
	}
	at.fg, at.bg, at.line = at.bg, c, at.bg
	return at
}

// cell gives a cell of a screen as it is drawn.
func (t *Theme) cell(c *uv.Cell, second bool) cell {
	to := cell{text: c.Content, width: int8(min(max(c.Width, 0), 2))}
	if second {
		return cell{}
	}
	if to.text == "" || to.width == 0 {
		to.text, to.width = " ", 1
	}
	s := c.Style
	has := func(a uint8) bool { return s.Attrs&a != 0 }
	p := pen{
		fg: t.color(s.Fg, t.Text), bg: t.color(s.Bg, t.Ground), bold: has(uv.AttrBold), italic: has(uv.AttrItalic),
		under: s.Underline != uv.UnderlineNone, gone: has(uv.AttrStrikethrough),
	}
	if has(uv.AttrReverse) {
		p.fg, p.bg = p.bg, p.fg
	}
	if has(uv.AttrFaint) {
		p.fg = between(p.fg, p.bg, 1, 2)
	}
	p.line = t.color(s.UnderlineColor, p.fg)
	if has(uv.AttrConceal) {
		p.fg = p.bg
	}
	if !p.under && !p.gone {
		p.line = p.bg
		if to.text == " " { // what cannot be seen makes no difference
			p = pen{fg: p.bg, bg: p.bg, line: p.bg}
		}
	}
	to.pen = p
	return to
}
