package ui

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/theme"
)

// Here an earlier input is edited: a session of its own takes what came before it, and has the input as its draft.

// branchedMsg is a session that was made so.
type branchedMsg struct {
	id   string
	from string
	got  runtime.Branched
	err  error
}

// editInput goes on from before the selected input; with newest from before the newest one when nothing is selected.
func (p *page) editInput(newest bool) tea.Cmd {
	n, ok := p.columns.chat.UserMessage(newest)
	switch {
	case p.env.opts.Branch == nil:
		return p.tell(theme.Error, p.T("sessions cannot be branched here"))
	case !ok && newest:
		return p.tell(theme.Text, p.T("nothing was said yet"))
	case !ok:
		return p.tell(theme.Text, p.T("j and k choose one of your inputs to edit"))
	}
	return p.env.branch(p.id, n)
}

// branch makes a session of what one had before an input, under an id that is free.
func (e *env) branch(id string, n int64) tea.Cmd {
	style := e.style
	title := func(old string, turn int) string {
		if strings.TrimSpace(old) == "" {
			old = id
		}
		return style.T("%s, from turn %d", old, turn)
	}
	return func() tea.Msg {
		rows, err := e.opts.Library.Sessions(e.ctx, e.opts.User)
		if err != nil {
			return branchedMsg{from: id, err: err}
		}
		taken := []string{id}
		for _, r := range rows {
			taken = append(taken, r.ID)
		}
		msg := branchedMsg{from: id}
		for range mostIDs {
			msg.id = e.opts.NewSessionID(taken)
			msg.got, msg.err = e.opts.Branch.Branch(e.ctx, runtime.Branch{From: id, User: e.opts.User, To: msg.id, N: n, At: e.clk.Now(), Title: title})
			if !errors.Is(msg.err, runtime.ErrConstraint) {
				break
			}
			taken = append(taken, msg.id) // another user has it
		}
		return msg
	}
}

// branched opens the new session in a tab of its own.
func (m *Model) branched(msg branchedMsg) tea.Cmd {
	if msg.err != nil {
		p := m.page()
		return p.fail("branch the session", msg.err)
	}
	p := newPage(m.env, msg.id)
	m.pages = append(m.pages, p)
	cmds := []tea.Cmd{m.env.open(msg.id, false), m.goTo(len(m.pages) - 1)}
	p.focusOn(paneInput)
	text := m.T("a session of its own, from turn %d; the one before stays as it is", msg.got.Turns+1)
	if n := msg.got.LeftArtifacts; n > 0 {
		text += "; " + m.T("%d older outputs of tools stay in the session before", n)
	}
	if n := msg.got.LeftTurns; n > 0 {
		text += "; " + m.env.style.N(n, "the trace of 1 turn stays there", "the trace of the first %d turns stays there", n)
	}
	if msg.got.Turns > 0 {
		text += "; " + m.T("what it cost until then counts there")
	}
	return tea.Batch(append(cmds, p.tell(theme.Text, text))...)
}
