package paint

import (
	"bytes"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Painter turns frames into what brings a terminal from one to the next: rows whose string is as it was are not looked at, and
// of the others only the cells that differ are written. It writes nothing itself. It belongs to one goroutine.
type Painter struct {
	cfg    PainterConfig
	w, h   int
	method ansi.Method
	synced bool
	rows   []string  // what was painted last; nil when that is not known
	cells  []uv.Cell // what the terminal shows, row by row; a wide character is followed by zero cells
	row    []uv.Cell // room for one row
	last   tea.View
	whole  bool // the next frame begins with an empty screen
	begun  bool
	shown  bool // the cursor
	core   bool // the terminal was told to count by cluster
	shape  int  // of the cursor, as the terminal was told; 0: its own

	buf  bytes.Buffer
	pen  uv.Style
	link uv.Link
	x, y int // where the terminal writes next; x is -1 where terminals may differ

	given, taken uv.Style // the style converted last, and what became of it
}

// PainterConfig is what a Painter knows of its terminal.
type PainterConfig struct {
	Profile colorprofile.Profile
	// Plain says that the terminal does not fill what it erases with the background colour.
	Plain bool
	// Old is for terminals that know what the VT220 knew: nothing else is written.
	Old bool
	// Bare asks the terminal for nothing but cells: no other screen, keys, mouse or title. It is for recordings, which nobody types
	// into.
	Bare bool
}

// NewPainter makes a painter of a terminal that counts by code point and has no size yet.
func NewPainter(cfg PainterConfig) *Painter { return &Painter{cfg: cfg, method: ansi.WcWidth} }

// SetMethod says how the terminal counts cells. What it shows is painted again.
func (p *Painter) SetMethod(m ansi.Method) {
	if p.method != m {
		p.method = m
		p.Invalidate()
	}
}

// Method is how the terminal counts cells.
func (p *Painter) Method() ansi.Method { return p.method }

// SetSync says whether the terminal shows a frame at once when it is marked (mode 2026).
func (p *Painter) SetSync(on bool) { p.synced = on }

// Resize makes the next frame a whole one: terminals keep of the old one what they like.
func (p *Painter) Resize(w, h int) {
	w, h = max(w, 0), max(h, 0)
	if w != p.w || h != p.h {
		p.w, p.h = w, h
		p.cells, p.row = make([]uv.Cell, w*h), make([]uv.Cell, w)
	}
	p.Invalidate()
}

// Size is the terminal's size in cells.
func (p *Painter) Size() (w, h int) { return p.w, p.h }

// Invalidate forgets what the terminal shows: the next frame is a whole one.
func (p *Painter) Invalidate() { p.whole, p.rows = true, nil }

// Stale says that v is not what was painted last. Without a size nothing is ever painted.
func (p *Painter) Stale(v tea.View) bool {
	if p.cfg.Old || p.cfg.Bare {
		v.WindowTitle, v.MouseMode = "", tea.MouseModeNone
	}
	return p.w > 0 && p.h > 0 && (!p.begun || p.whole || v.Content != p.last.Content || v.WindowTitle != p.last.WindowTitle || v.MouseMode != p.last.MouseMode ||
		!samePlace(v.Cursor, p.last.Cursor))
}

func samePlace(a, b *tea.Cursor) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Position == b.Position
}

// Frame gives what brings the terminal from the last frame to v; the first one enters the screen that Leave leaves. The bytes hold
// until the next call.
func (p *Painter) Frame(v tea.View) []byte {
	if p.w == 0 || p.h == 0 {
		return nil
	}
	p.buf.Reset()
	p.pen, p.link, p.x, p.y = uv.Style{}, uv.Link{}, -1, -1
	first := !p.begun
	if first {
		p.begun, p.shown = true, true
		p.Invalidate()
		p.buf.WriteString(p.enter())
	}
	if p.cfg.Old || p.cfg.Bare {
		v.WindowTitle, v.MouseMode = "", tea.MouseModeNone
	}
	if core := p.method == ansi.GraphemeWidth && !p.cfg.Old; core != p.core {
		p.core = core
		if core {
			p.buf.WriteString(ansi.SetModeUnicodeCore)
		} else {
			p.buf.WriteString(ansi.ResetModeUnicodeCore)
		}
	}
	if first && v.WindowTitle != "" || v.WindowTitle != p.last.WindowTitle {
		p.buf.WriteString(ansi.SetWindowTitle(v.WindowTitle))
	}
	if first && v.MouseMode != tea.MouseModeNone || !first && v.MouseMode != p.last.MouseMode {
		p.buf.WriteString(mouse(v.MouseMode))
	}
	head := p.buf.Len()
	if p.whole {
		p.clear()
	}
	p.draw(v.Content)
	p.usePen(uv.Style{})
	p.useLink(uv.Link{})
	moved := p.buf.Len() > head
	p.settle(v.Cursor, moved, head)
	p.last = v
	return p.buf.Bytes()
}

// settle puts the cursor where it belongs. It is not seen flying about while cells are written, from head on.
func (p *Painter) settle(c *tea.Cursor, moved bool, head int) {
	if c != nil && !p.cfg.Old && shape(c) != p.shape {
		p.shape = shape(c)
		p.buf.WriteString(ansi.SetCursorStyle(p.shape))
	}
	if c != nil && (moved || !p.shown || !samePlace(c, p.last.Cursor)) {
		p.moveTo(min(max(c.X, 0), p.w-1), min(max(c.Y, 0), p.h-1))
	}
	show := c != nil
	before, after := "", ""
	if p.shown && (!show || moved && !p.synced) {
		before = ansi.ResetModeTextCursorEnable
		p.shown = false
	}
	if show && !p.shown {
		after = ansi.SetModeTextCursorEnable
	}
	p.shown = show
	if p.synced && moved {
		before, after = ansi.SetModeSynchronizedOutput+before, after+ansi.ResetModeSynchronizedOutput
	}
	p.buf.WriteString(after)
	if before != "" {
		body := append([]byte(before), p.buf.Bytes()[head:]...)
		p.buf.Truncate(head)
		p.buf.Write(body)
	}
}

// shape is the number that terminals know a cursor's look by.
func shape(c *tea.Cursor) int {
	n := 2*int(c.Shape) + 1
	if !c.Blink {
		n++
	}
	return n
}

// clear empties the terminal's screen.
func (p *Painter) clear() {
	p.whole, p.rows = false, nil
	p.buf.WriteString(ansi.EraseEntireScreen)
	for i := range p.cells {
		p.cells[i] = uv.EmptyCell
	}
}

// draw brings the terminal's cells to content.
func (p *Painter) draw(content string) {
	before, rows := p.rows, strings.Split(content, "\n")
	p.rows = rows
	for _, row := range rows {
		if open(row) { // styles reach from row to row: they are read as one, and not known again
			p.rows = nil
			break
		}
	}
	var lines []uv.Line
	if p.rows == nil {
		lines = uv.NewStyledString(content).Lines(p.method)
	}
	for y := range p.h {
		switch {
		case lines != nil && y < len(lines):
			p.lay(lines[y])
		case lines != nil || y >= len(rows):
			if before != nil && y >= len(before) {
				continue
			}
			p.lay(nil)
		case before != nil && y < len(before) && rows[y] == before[y]:
			continue
		default:
			p.lay(first(uv.NewStyledString(rows[y]).Lines(p.method)))
		}
		p.drawRow(y)
	}
}

func first(lines []uv.Line) uv.Line {
	if len(lines) == 0 {
		return nil
	}
	return lines[0]
}

// open says that a row's style may reach into the next one: it does not end in a reset, or it holds a link.
func open(row string) bool {
	i := strings.LastIndexByte(row, ansi.ESC)
	return i >= 0 && !strings.HasPrefix(row[i:], "\x1b[m") && !strings.HasPrefix(row[i:], "\x1b[0m") || strings.Contains(row, "\x1b]")
}

// lay puts the cells of a line into the row, as wide as the screen and in the colours that the terminal has.
func (p *Painter) lay(line uv.Line) {
	x := 0
	for i := range line {
		c := &line[i]
		if c.Width <= 0 {
			continue
		}
		if x+c.Width > p.w { // half of it has no room: its colours have
			for ; x < p.w; x++ {
				p.row[x] = uv.Cell{Content: " ", Width: 1, Style: p.converted(&c.Style), Link: p.linkOf(c)}
			}
			break
		}
		p.row[x] = *c
		p.row[x].Style, p.row[x].Link = p.converted(&c.Style), p.linkOf(c)
		for i := 1; i < c.Width; i++ {
			p.row[x+i] = uv.Cell{}
		}
		x += c.Width
	}
	for ; x < p.w; x++ {
		p.row[x] = uv.EmptyCell
	}
}

// linkOf is the link of a cell; old terminals have none.
func (p *Painter) linkOf(c *uv.Cell) uv.Link {
	if p.cfg.Old {
		return uv.Link{}
	}
	return c.Link
}

// converted is a style in the colours that the terminal has.
func (p *Painter) converted(s *uv.Style) uv.Style {
	if *s != p.given {
		p.given, p.taken = *s, uv.ConvertStyle(*s, p.cfg.Profile)
	}
	return p.taken
}

// bridge is how many cells that are as they were are written again rather than jumped over: a jump takes as many bytes.
const bridge = 3

// drawRow writes those cells of the row that differ from row y of the screen.
func (p *Painter) drawRow(y int) {
	old := p.cells[y*p.w : (y+1)*p.w]
	for x := 0; x < p.w; {
		if p.row[x] == old[x] {
			x++
			continue
		}
		if x == p.w-1 && x > 0 && old[x].Width == 1 && !sure(old[x].Content) {
			x-- // where it took two cells the terminal moved it back over the one before
		}
		for x > 0 && p.row[x].Width == 0 {
			x-- // the whole character
		}
		for end := p.runEnd(old, x); x < end; {
			p.moveTo(x, y)
			x += p.put(old, x, end)
		}
	}
	copy(old, p.row)
}

// runEnd is where the cells that are to be written from x on end.
func (p *Painter) runEnd(old []uv.Cell, x int) int {
	end := x + 1
	for x = end; x < p.w && x <= end+bridge; x++ {
		c := &p.row[x]
		if *c != old[x] || c.Width == 0 && x == end {
			end = x + 1
		} else if c.Width != 1 || len(c.Content) != 1 || c.Style != p.row[end-1].Style {
			break
		}
	}
	for end < p.w && (p.row[end].Width == 0 || !sure(p.lead(end-1).Content)) {
		end++ // what such a character may have spilled on is written again
	}
	if end == p.w-1 && !sure(p.row[end].Content) {
		end++ // it may stand over the cell before it too
	}
	return end
}

// lead is the cell of the row that holds the character of a cell.
func (p *Painter) lead(x int) *uv.Cell {
	for x > 0 && p.row[x].Width == 0 {
		x--
	}
	return &p.row[x]
}

// Blanks from here on are erased rather than written.
const (
	eraseRest = 4
	eraseSome = 12
)

// put writes the cell at x, or erases the blanks that begin there, and says how many cells that were.
func (p *Painter) put(old []uv.Cell, x, end int) int {
	c := &p.row[x]
	if n := p.halved(old, x, p.blanks(x, end)); p.worth(n, x) {
		p.useLink(uv.Link{})
		p.usePen(uv.Style{Bg: c.Style.Bg})
		if x+n == p.w {
			p.buf.WriteString("\x1b[K")
		} else {
			p.csi(n, 'X')
			p.csi(n, 'C')
			p.x += n
		}
		return n
	}
	p.usePen(c.Style)
	p.useLink(c.Link)
	certain := sure(c.Content)
	if c.Width > 1 && !certain { // where it is given one cell only, nothing old shows in the other
		p.csi(c.Width, 'X')
	}
	p.buf.WriteString(c.Content)
	p.x += c.Width
	if p.x >= p.w || !certain {
		p.x = -1
	}
	return max(c.Width, 1)
}

// halved leaves of n blanks those out that stand on one half of a wide character: to erase it leaves the other half with tmux,
// and what is written there then takes the erased cell's colour away. A blank that is written takes both halves.
func (p *Painter) halved(old []uv.Cell, x, n int) int {
	switch {
	case n > 0 && old[x].Width == 0:
		return 0
	case n > 0 && x+n < p.w && old[x+n].Width == 0:
		return n - 1
	}
	return n
}

// worth says that n blanks from x on are to be erased. The coloured end of a row is written: tmux loses the colour of such cells
// when the screen is copied.
func (p *Painter) worth(n, x int) bool {
	if x+n == p.w {
		return n >= eraseRest && p.row[x].Style.Bg == nil
	}
	return n >= eraseSome
}

// blanks counts the cells from x to end that erasing gives as well.
func (p *Painter) blanks(x, end int) int {
	first := &p.row[x]
	if s := &first.Style; s.Attrs&^(uv.AttrBold|uv.AttrFaint|uv.AttrItalic) != 0 || s.Underline != uv.UnderlineNone || p.cfg.Plain && s.Bg != nil {
		return 0
	}
	n := 0
	for x+n < end {
		c := &p.row[x+n]
		if c.Content != " " || c.Style.Bg != first.Style.Bg || c.Link.URL != "" || c.Style.Underline != uv.UnderlineNone ||
			c.Style.Attrs&^(uv.AttrBold|uv.AttrFaint|uv.AttrItalic) != 0 {
			break
		}
		n++
	}
	return n
}

func (p *Painter) usePen(s uv.Style) {
	if s == p.pen {
		return
	}
	p.buf.WriteString(uv.StyleDiff(&p.pen, &s))
	p.pen = s
}

func (p *Painter) useLink(l uv.Link) {
	if l == p.link {
		return
	}
	if l.URL == "" {
		p.buf.WriteString(ansi.ResetHyperlink())
	} else {
		p.buf.WriteString(ansi.SetHyperlink(l.URL, l.Params))
	}
	p.link = l
}

// moveTo brings the terminal to a cell.
func (p *Painter) moveTo(x, y int) {
	switch {
	case p.y == y && p.x == x:
	case p.y == y && p.x >= 0 && x > p.x:
		p.csi(x-p.x, 'C')
	case p.y == y: // no column by its number: old terminals do not know that
		p.buf.WriteByte('\r')
		if x > 0 {
			p.csi(x, 'C')
		}
	case x == 0 && p.y >= 0 && y == p.y+1:
		p.buf.WriteString("\r\n")
	default:
		p.buf.WriteString("\x1b[")
		if y > 0 || x > 0 {
			p.number(y + 1)
		}
		if x > 0 {
			p.buf.WriteByte(';')
			p.number(x + 1)
		}
		p.buf.WriteByte('H')
	}
	p.x, p.y = x, y
}

// csi writes a control sequence with one number.
func (p *Painter) csi(n int, final byte) {
	p.buf.WriteString("\x1b[")
	if n != 1 {
		p.number(n)
	}
	p.buf.WriteByte(final)
}

func (p *Painter) number(n int) {
	var room [20]byte
	p.buf.Write(strconv.AppendInt(room[:0], int64(n), 10))
}
