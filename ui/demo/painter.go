package demo

import (
	"bytes"

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
	p.sized = true
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
	p.cells.Clear()
	uv.NewStyledString(v.Content).Draw(p.cells, p.cells.Bounds())
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
