package ui

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/theme"
)

// paneKey takes a key of a pane that has the focus.
func (p *page) paneKey(k tea.KeyPressMsg) tea.Cmd {
	keys := p.env.keys
	switch {
	case key.Matches(k, keys.ToInput):
		p.focusOn(paneInput)
	case key.Matches(k, keys.PaneHelp):
		p.want.help = true
	case key.Matches(k, keys.Zoom):
		if p.env.panes.zoom == p.focus {
			p.env.panes.zoom = paneNone
		} else {
			p.env.panes.zoom = p.focus
		}
	case key.Matches(k, keys.CopyAnswer):
		return p.copyAnswer()
	case key.Matches(k, keys.CopyCode):
		return p.copyCode()
	case p.focus == paneTodos:
		return p.todoKey(k)
	}
	return nil
}

func (p *page) todoKey(k tea.KeyPressMsg) tea.Cmd {
	keys, side := p.env.keys, p.columns.side
	switch {
	case key.Matches(k, keys.Up):
		side.Move(-1)
	case key.Matches(k, keys.Down):
		side.Move(1)
	case key.Matches(k, keys.HalfUp):
		side.Move(-max(p.lay.todos.h/2, 1))
	case key.Matches(k, keys.HalfDown):
		side.Move(max(p.lay.todos.h/2, 1))
	case key.Matches(k, keys.PageUp):
		side.Page(-1)
	case key.Matches(k, keys.PageDown):
		side.Page(1)
	case key.Matches(k, keys.Top):
		side.Top()
	case key.Matches(k, keys.Bottom):
		side.Bottom()
	case key.Matches(k, keys.Open), key.Matches(k, keys.Toggle):
		id, ok := side.Selected()
		switch {
		case !ok:
			return p.tell(theme.Text, "there is no todo yet; /todo TEXT asks for one")
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
	case paneTodos:
		p.columns.side.Scroll(lines)
	}
	return nil
}

// deselect takes the selection in a pane away.
func (p *page) deselect() {}

// todoID gives the n-th todo, counted from 1.
func (p *page) todoID(n int) (string, bool) {
	if n < 1 || n > len(p.columns.todoIDs) {
		return "", false
	}
	return p.columns.todoIDs[n-1], true
}

func (p *page) copyAnswer() tea.Cmd { return p.copyText("") }
func (p *page) copyCode() tea.Cmd   { return p.copyText("") }

// copyText puts a text on the clipboard through the terminal, and says how much it was.
func (p *page) copyText(text string) tea.Cmd {
	if text == "" {
		return p.tell(theme.Text, "there is nothing to copy yet")
	}
	n := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	what := fmt.Sprintf("copied %d lines", n)
	if n == 1 {
		what = "copied 1 line"
	}
	return tea.Batch(tea.SetClipboard(text), p.tell(theme.Text, what))
}
