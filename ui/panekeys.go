package ui

import (
	"strings"

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
		if text := p.columns.chat.CopySelected(); text != "" && p.focus == paneChat {
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
	keys, v := p.env.keys, p.columns.trace
	switch {
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
		v.TurnBefore()
	case key.Matches(k, keys.TurnAfter):
		v.TurnAfter()
	case key.Matches(k, keys.StopCall):
		return p.stopCall()
	}
	p.columns.point(paneTrace)
	return nil
}

// chatKey takes a key of the chat: j and k go from block to block, the others scroll.
func (p *page) chatKey(k tea.KeyPressMsg) tea.Cmd {
	keys, v := p.env.keys, p.columns.chat
	switch {
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
		v.Deselect()
		v.End()
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
		v.JumpTurn(-1)
	case key.Matches(k, keys.TurnAfter):
		v.JumpTurn(1)
	case key.Matches(k, keys.TraceOf):
		return p.traceOf()
	case key.Matches(k, keys.EditInput):
		return p.editInput(false)
	case key.Matches(k, keys.Find):
		return p.show(dialog.NewPrompt(kindFind, p.T("FIND"), p.T("in the chat, as far as it is loaded"), p.sought, p.env.dkeys), "")
	case key.Matches(k, keys.FindNext):
		return p.find(1)
	case key.Matches(k, keys.FindBefore):
		return p.find(-1)
	}
	return p.readOlder()
}

// openBlock opens or closes the selected block of the chat.
func (p *page) openBlock(k tea.KeyPressMsg) bool {
	switch v := p.columns.chat; {
	case key.Matches(k, p.env.keys.Unfold):
		return v.Open(true)
	case key.Matches(k, p.env.keys.Fold):
		return v.Open(false)
	default:
		return v.Toggle()
	}
}

// traceOf goes to the turn in the trace that is selected, or seen at the top of the chat.
func (p *page) traceOf() tea.Cmd {
	turn := p.columns.chat.TurnAt(0)
	if at, ok := p.columns.chat.Selected(); ok {
		turn = at.Turn
	}
	if !p.columns.trace.SelectTurn(turn) {
		return p.tell(theme.Text, p.T("the trace does not hold that turn any more"))
	}
	p.env.panes.show(paneTrace, p.lay.w)
	p.focusOn(paneTrace)
	return nil
}

// find goes to the next block that holds what was sought.
func (p *page) find(dir int) tea.Cmd {
	switch {
	case p.sought == "":
		return p.tell(theme.Text, p.T("/ asks what to find"))
	case !p.columns.chat.Find(p.sought, dir):
		return p.tell(theme.Text, p.T("not found: %s", p.sought))
	}
	return nil
}

// readOlder reads older messages when the oldest one is in view.
func (p *page) readOlder() tea.Cmd {
	if n, ok := p.columns.wantsOlder(); ok {
		return p.env.older(p.id, n)
	}
	return nil
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
		p.columns.chat.ScrollRows(lines)
		return p.readOlder()
	case paneTrace:
		p.columns.trace.Scroll(lines)
	case paneTodos:
		p.columns.side.Scroll(lines)
	}
	return nil
}

// deselect takes the selection in a pane away.
func (p *page) deselect() { p.columns.chat.Deselect() }

// todoID gives the n-th todo, counted from 1.
func (p *page) todoID(n int) (string, bool) {
	if n < 1 || n > len(p.columns.todoIDs) {
		return "", false
	}
	return p.columns.todoIDs[n-1], true
}

func (p *page) copyAnswer() tea.Cmd { return p.copyText(p.columns.chat.CopyAnswer()) }

func (p *page) copyCode() tea.Cmd { return p.copyText(p.columns.chat.CopyCode()) }

// copyText puts a text on the clipboard through the terminal, and says how much it was.
func (p *page) copyText(text string) tea.Cmd {
	if text == "" {
		return p.tell(theme.Text, p.T("there is nothing to copy yet"))
	}
	n := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	what := p.env.style.N(n, "copied %d line", "copied %d lines", n)
	return tea.Batch(tea.SetClipboard(text), p.tell(theme.Text, what))
}
