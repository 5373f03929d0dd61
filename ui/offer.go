package ui

import (
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
)

// Here runs that were left unfinished in sessions of no tab are offered, once, when the program starts.

// offerID names the notice.
const offerID = "unfinished runs"

// offers reads the sessions, once the tabs are known.
func (e *env) offers() tea.Cmd {
	return func() tea.Msg {
		rows, err := e.opts.Library.Sessions(e.ctx, e.opts.User)
		return offersMsg{rows, err}
	}
}

// waiting says that a session has a run to go on with, and that no process holds it.
func waiting(r runtime.SessionInfo) bool {
	state := runtime.State(r.RunState)
	return state != "" && !state.Terminal() && (r.HeldBy == 0 || r.Own)
}

// rank puts sessions with a run to go on with in front.
func rank(r runtime.SessionInfo) int {
	if waiting(r) {
		return 0
	}
	return 1
}

// offer tells of runs that nobody works on. When they cannot be read nothing is said: whatever is asked next says why.
func (m *Model) offer(msg offersMsg) {
	if msg.err != nil {
		return
	}
	n := 0
	for _, r := range msg.rows {
		if waiting(r) && m.find(r.ID) == nil {
			n++
		}
	}
	text := m.T("UNFINISHED  %d other sessions have a run to go on with   Ctrl+X S shows them   Esc hides this", n)
	switch {
	case n == 0:
		return
	case n == 1:
		text = m.T("UNFINISHED  1 other session has a run to go on with   Ctrl+X S shows it   Esc hides this")
	}
	m.notices = append(m.notices, Notice{ID: offerID, Text: text})
}

// offered says that the offer stands.
func (m *Model) offered() bool {
	for _, n := range m.notices {
		if n.ID == offerID {
			return true
		}
	}
	return false
}

// forgetOffer takes the offer away until the next start.
func (m *Model) forgetOffer() {
	kept := m.notices[:0:0]
	for _, n := range m.notices {
		if n.ID != offerID {
			kept = append(kept, n)
		}
	}
	m.notices = kept
}
