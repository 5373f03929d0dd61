package ui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/dialog"
	"vitrine/ui/sidebar"
	"vitrine/ui/theme"
)

// paneKey takes a key of a pane that has the focus.
func (p *page) paneKey(k tea.KeyPressMsg) tea.Cmd {
	keys := p.env.keys
	switch {
	case key.Matches(k, keys.ToInput):
		p.leaveQuestion()
	case key.Matches(k, keys.PaneHelp):
		p.want.help = true
	case key.Matches(k, keys.Zoom):
		if p.env.panes.zoom == p.focus {
			p.env.panes.zoom = paneNone
		} else {
			p.env.panes.zoom = p.focus
		}
	case key.Matches(k, keys.CopyAnswer):
		if text := p.selected(); text != "" {
			return p.copyText(text)
		}
		if text := p.columns.seen().CopySelected(); text != "" && p.focus == paneChat {
			if p.columns.seen().Several() {
				p.deselect()
			}
			return p.copyText(text)
		}
		return p.copyAnswer()
	case key.Matches(k, keys.CopyCode):
		return p.copyCode()
	case p.focus == paneChat:
		return p.chatKey(k)
	case p.focus == paneTrace:
		return p.traceKey(k)
	case p.focus == paneTodos:
		return p.todoKey(k)
	}
	return nil
}

// mover is what the panes have in common: a selection that moves.
type mover interface {
	Move(n int)
	HalfPage(n int)
	Page(n int)
	Top()
	Bottom()
}

// moveKey moves the selection of a pane.
func (p *page) moveKey(k tea.KeyPressMsg, v mover) bool {
	keys := p.env.keys
	switch {
	case key.Matches(k, keys.Up):
		v.Move(-1)
	case key.Matches(k, keys.Down):
		v.Move(1)
	case key.Matches(k, keys.HalfUp):
		v.HalfPage(-1)
	case key.Matches(k, keys.HalfDown):
		v.HalfPage(1)
	case key.Matches(k, keys.PageUp):
		v.Page(-1)
	case key.Matches(k, keys.PageDown):
		v.Page(1)
	case key.Matches(k, keys.Top):
		v.Top()
	case key.Matches(k, keys.Bottom):
		v.Bottom()
	default:
		return false
	}
	return true
}

func (p *page) traceKey(k tea.KeyPressMsg) tea.Cmd {
	keys, v := p.env.keys, p.columns.traced()
	switch {
	case key.Matches(k, keys.Down, keys.HalfDown, keys.PageDown, keys.TurnAfter) && p.meetTrace():
	case key.Matches(k, keys.Bottom) && v.Past():
		p.columns.pastTrace = nil
		p.columns.trace.Bottom()
	case p.moveKey(k, v):
	case key.Matches(k, keys.Open):
		if text := v.JSON(); text != "" {
			return p.show(dialog.NewText(kindEvent, p.T("EVENT"), text, p.env.dkeys), "")
		}
		v.Toggle()
	case key.Matches(k, keys.Toggle):
		v.Toggle()
	case key.Matches(k, keys.Unfold):
		v.Unfold()
	case key.Matches(k, keys.Fold):
		v.Fold()
	case key.Matches(k, keys.TurnBefore):
		if !v.TurnBefore() {
			v.Top()
		}
	case key.Matches(k, keys.TurnAfter):
		v.TurnAfter()
	case key.Matches(k, keys.TraceOf):
		return p.chatOf()
	case key.Matches(k, keys.Filter):
		return p.askFilter()
	case key.Matches(k, keys.StopCall):
		return p.stopCall()
	}
	return p.traceMore()
}

// chatKey takes a key of the chat: j and k go from block to block, the others scroll.
func (p *page) chatKey(k tea.KeyPressMsg) tea.Cmd {
	keys, v := p.env.keys, p.columns.seen()
	switch {
	case key.Matches(k, keys.Down, keys.HalfDown, keys.PageDown) && p.meetEnd():
	case key.Matches(k, keys.Up):
		v.SelectPrev()
	case key.Matches(k, keys.Down):
		v.SelectNext()
	case key.Matches(k, keys.HalfUp):
		v.ScrollHalf(-1)
	case key.Matches(k, keys.HalfDown):
		v.ScrollHalf(1)
	case key.Matches(k, keys.PageUp):
		v.ScrollPages(-1)
	case key.Matches(k, keys.PageDown):
		v.ScrollPages(1)
	case key.Matches(k, keys.Top):
		v.Home()
	case key.Matches(k, keys.Bottom):
		p.leavePast()
		p.columns.chat.Deselect()
		p.columns.chat.End()
	case key.Matches(k, keys.Open), key.Matches(k, keys.Toggle), key.Matches(k, keys.Unfold), key.Matches(k, keys.Fold):
		if !p.openBlock(k) {
			return p.tell(theme.Text, p.T("j and k choose a call, a thought or a fold to open"))
		}
	case key.Matches(k, keys.Whole):
		cmd, ok := p.whole()
		if !ok {
			return p.tell(theme.Text, p.T("j and k choose a fold to see the whole of"))
		}
		return cmd
	case key.Matches(k, keys.TurnBefore):
		return p.jumpTurn(-1)
	case key.Matches(k, keys.TurnAfter):
		return p.jumpTurn(1)
	case key.Matches(k, keys.Several):
		if v.SelectMore() {
			return p.tell(theme.Text, p.T("j and k take in more; y copies, Esc ends it"))
		}
	case key.Matches(k, keys.TraceOf):
		return p.traceOf()
	case key.Matches(k, keys.EditInput):
		return p.editInput(false)
	case key.Matches(k, keys.Find):
		return p.askFind()
	case key.Matches(k, keys.FindNext):
		return p.found(1)
	case key.Matches(k, keys.FindBefore):
		return p.found(-1)
	}
	return p.readMore()
}

// openBlock opens or closes the selected block of the chat.
func (p *page) openBlock(k tea.KeyPressMsg) bool {
	switch v := p.columns.seen(); {
	case key.Matches(k, p.env.keys.Unfold):
		return v.Open(true)
	case key.Matches(k, p.env.keys.Fold):
		return v.Open(false)
	default:
		return v.Toggle()
	}
}

// todoMover gives the sidebar half pages.
type todoMover struct {
	*sidebar.View
	half int
}

func (t todoMover) HalfPage(n int) { t.Move(n * t.half) }

func (p *page) todoKey(k tea.KeyPressMsg) tea.Cmd {
	keys, side := p.env.keys, p.columns.side
	switch {
	case p.moveKey(k, todoMover{side, max(p.lay.todos.h/2, 1)}):
	case key.Matches(k, keys.Open), key.Matches(k, keys.Toggle):
		id, ok := side.Selected()
		switch {
		case !ok:
			return p.tell(theme.Text, p.T("there is no todo yet; /todo TEXT adds one"))
		case !p.writable():
			return p.tell(theme.Error, p.whyNot())
		}
		return p.env.set(p.id, "toggle the todo", runtime.Setting{ToggleTodo: id})
	}
	return nil
}

// scroll moves what a pane shows.
func (p *page) scroll(which pane, lines int) tea.Cmd {
	switch which {
	case paneChat:
		if lines < 0 || !p.meetEnd() {
			p.columns.seen().ScrollRows(lines)
		}
		return p.readMore()
	case paneTrace:
		if lines < 0 || !p.meetTrace() {
			p.columns.traced().Scroll(lines)
		}
		return p.traceMore()
	case paneTodos:
		p.columns.side.Scroll(lines)
	}
	return nil
}

// deselect takes the selection in a pane away.
func (p *page) deselect() { p.columns.seen().Deselect() }

// todoID gives the n-th todo, counted from 1.
func (p *page) todoID(n int) (string, bool) {
	if n < 1 || n > len(p.columns.todoIDs) {
		return "", false
	}
	return p.columns.todoIDs[n-1], true
}

func (p *page) copyAnswer() tea.Cmd {
	if text := p.selected(); text != "" {
		return p.copyText(text)
	}
	return p.copyText(p.columns.chat.CopyAnswer())
}

func (p *page) copyCode() tea.Cmd { return p.copyText(p.columns.seen().CopyCode()) }
