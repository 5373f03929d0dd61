package demo

import (
	"bytes"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// painter turns views into what is written to the terminal: the cells that differ from the frame before. It does what Bubble
// Tea's renderer does for a view on the alternate screen.
type painter struct {
	buf    bytes.Buffer
	cells  uv.ScreenBuffer
	out    *uv.TerminalRenderer
	last   tea.View
	rows   []string // what the cells hold; nil when that is not known
	begun  bool
	sized  bool // the size changed since the last frame
	cursor bool // it is shown
}

func newPainter(profile colorprofile.Profile, method ansi.Method) *painter {
	p := &painter{cells: uv.NewScreenBuffer(0, 0)}
	p.cells.Method = method
	p.out = uv.NewTerminalRenderer(&p.buf, []string{"TERM=xterm-256color"})
	p.out.SetColorProfile(profile)
	p.out.SetTabStops(-1)
	p.out.SetScrollOptim(true)
	return p
}

func (p *painter) method() ansi.Method { return p.cells.Method }

// resize makes the next frame a whole one, since terminals keep of the old one what they like.
func (p *painter) resize(w, h int) {
	w, h = max(w, 0), max(h, 0)
	p.out.Erase()
	p.cells.Touched = nil
	p.cells.Resize(w, h)
	p.out.Resize(w, h)
	p.sized, p.rows = true, nil
}

// stale says that v is not what was painted last.
func (p *painter) stale(v tea.View) bool {
	return !p.begun || p.sized || v.Content != p.last.Content || v.WindowTitle != p.last.WindowTitle || !samePlace(v.Cursor, p.last.Cursor)
}

func samePlace(a, b *tea.Cursor) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Position == b.Position
}

// frame gives what brings the terminal from the last view to v.
func (p *painter) frame(v tea.View) string {
	titled := v.WindowTitle != p.last.WindowTitle
	p.last, p.sized = v, false
	if p.cells.Width() == 0 || p.cells.Height() == 0 {
		return ""
	}
	if !p.begun {
		p.begun, p.cursor = true, true
		p.out.EnterAltScreen()
		_, _ = p.out.WriteString(ansi.SetModeBracketedPaste) // it goes to memory
	}
	if titled {
		_, _ = p.out.WriteString(ansi.SetWindowTitle(v.WindowTitle))
	}
	p.draw(v.Content)
	p.out.Render(p.cells.RenderBuffer)
	if v.Cursor != nil {
		p.out.MoveTo(v.Cursor.X, v.Cursor.Y)
	}
	_ = p.out.Flush() // it goes to memory
	body := p.buf.String()
	p.buf.Reset()
	// The cursor does not fly about while the frame is written.
	hide, show := "", ""
	if p.cursor && (v.Cursor == nil || body != "") {
		hide = ansi.ResetModeTextCursorEnable
	}
	if v.Cursor != nil && (!p.cursor || body != "") {
		show = ansi.SetModeTextCursorEnable
	}
	p.cursor = v.Cursor != nil
	return hide + body + show
}

// draw puts a view into the cells. Bubble Tea draws all rows again each time; here rows that are as they were are only marked as
// touched, which leads to the same bytes and saves most of the time of a play.
func (p *painter) draw(content string) {
	before, rows := p.rows, strings.Split(content, "\n")
	p.rows = rows
	if slices.ContainsFunc(rows, open) {
		p.rows = nil
	}
	w := p.cells.Width()
	if p.rows == nil || len(before) != len(rows) {
		p.cells.Clear()
		uv.NewStyledString(content).Draw(p.cells, p.cells.Bounds())
		return
	}
	for y := range p.cells.Height() {
		p.cells.TouchLine(0, y, w)
		if y < len(rows) && rows[y] != before[y] {
			uv.NewStyledString(rows[y]).Draw(p.cells, uv.Rect(0, y, w, 1))
		}
	}
}

// open says that a row's style may reach into the next one: it does not end in a reset, or it holds a link.
func open(row string) bool {
	i := strings.LastIndexByte(row, ansi.ESC)
	return i >= 0 && !strings.HasPrefix(row[i:], "\x1b[m") && !strings.HasPrefix(row[i:], "\x1b[0m") || strings.Contains(row, "\x1b]")
}
