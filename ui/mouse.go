package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Here text is selected with the mouse. It is copied when the button is let go, and stays selected until Esc or the next
// press.

const (
	// pressedAgain is how soon a press counts as one more of those before.
	pressedAgain = 400 * time.Millisecond
	// scrollsEach is how often a pane scrolls while the pointer is held beside it, farBeside from where on it does so faster.
	scrollsEach = 50 * time.Millisecond
	farBeside   = 3
)

// mouse is what the button did last in a page.
type mouse struct {
	x, y      int // the pointer, while the button is down
	times     int // how often it was pressed there at once
	at        time.Time
	scrolling bool // the pointer is held beside the pane
	gen       int  // of the press
}

// besideMsg is time to scroll on, if the pointer is still beside the pane.
type besideMsg struct {
	id  string
	gen int
}

func (m besideMsg) session() string { return m.id }

// press is the button over the chat.
func (p *page) press(e tea.Mouse) tea.Cmd {
	p.columns.seen().Press(e.X-p.lay.chat.x, e.Y-p.lay.chat.y, p.pressed(e))
	return nil
}

// pressed counts how often the button was pressed at once: one, two, three, and from one again.
func (p *page) pressed(e tea.Mouse) int {
	now := p.env.now
	again := p.mouse.times > 0 && e.X == p.mouse.x && e.Y == p.mouse.y && now.Sub(p.mouse.at) <= pressedAgain
	times := 1
	if again {
		times = p.mouse.times%3 + 1
	}
	p.mouse = mouse{x: e.X, y: e.Y, times: times, at: now, gen: p.mouse.gen + 1}
	return times
}

// drag takes a selection to the pointer, while the button is down.
func (m *Model) drag(e tea.Mouse) tea.Cmd {
	p := m.page()
	switch {
	case p.marked.down && (p.marked.pane == onDialog) == (p.dialog != nil):
		m.dirty = true
		p.markTo(e)
		return nil
	case p.inputMark.down && p.dialog == nil:
		m.dirty = true
		p.markTyped(e)
		return nil
	}
	if !p.columns.seen().Dragging() || p.dialog != nil {
		return nil
	}
	m.dirty = true
	p.mouse.x, p.mouse.y = e.X, e.Y
	p.dragOn()
	if p.beside() == 0 || p.mouse.scrolling {
		return nil
	}
	p.mouse.scrolling = true
	return p.scrollBeside()
}

// dragOn takes the selection to where the pointer is; the text may have moved under it.
func (p *page) dragOn() {
	if v := p.columns.seen(); v.Dragging() {
		v.Drag(p.mouse.x-p.lay.chat.x, p.mouse.y-p.lay.chat.y)
	}
}

// beside is how far the pointer is above the chat, negative, or below it.
func (p *page) beside() int {
	r := p.lay.chat
	switch y := p.mouse.y; {
	case y < r.y:
		return y - r.y
	case y >= r.y+r.h:
		return y - r.y - r.h + 1
	}
	return 0
}

// scrollBeside scrolls while the pointer is held beside the chat, as long as there is something to scroll to.
func (p *page) scrollBeside() tea.Cmd {
	v, by := p.columns.seen(), p.beside()
	if !v.Dragging() || p.dialog != nil || by == 0 {
		p.mouse.scrolling = false
		return nil
	}
	lines := 1
	if max(by, -by) >= farBeside {
		lines = 3
	}
	if by < 0 {
		lines = -lines
	}
	if !p.busy() && (by < 0 && v.AtTop() || by > 0 && v.AtEnd()) {
		p.mouse.scrolling = false
		return nil
	}
	cmd := p.scroll(paneChat, lines)
	p.dragOn()
	return tea.Batch(cmd, p.env.after(scrollsEach, besideMsg{p.id, p.mouse.gen}))
}

// released copies what was selected.
func (m *Model) released() tea.Cmd {
	p := m.page()
	v := p.columns.seen()
	if p.marked.down {
		p.marked.down = false
		if text := p.markedText(); text != "" {
			return p.copyText(text)
		}
		p.marked = marked{}
		return nil
	}
	if p.inputMark.down {
		p.inputMark.down = false
		if text := p.typedText(); text != "" {
			return p.copyText(text)
		}
		return nil
	}
	if !v.Dragging() {
		return nil
	}
	if !v.Release() {
		return nil
	}
	text := v.SelectedText()
	if text == "" {
		v.Unselect()
		return nil
	}
	return p.copyText(text)
}
