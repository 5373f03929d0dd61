package ui

import (
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/theme"
)

// Here the tabs come, go and change places.

// restore opens the tabs that were kept, and the session that was asked for in front.
func (m *Model) restore(msg tabsMsg) tea.Cmd {
	first := m.page()
	var cmds []tea.Cmd
	if msg.err != nil {
		cmds = append(cmds, first.tell(theme.Error, m.env.opts.Lang.Tell(msg.err.Error())))
	}
	ids := slices.Clone(msg.tabs.Sessions)
	active := min(max(msg.tabs.Active, 0), max(len(ids)-1, 0))
	if s := m.env.opts.Session; s != "" {
		if active = slices.Index(ids, s); active < 0 {
			ids = append(ids, s)
			active = len(ids) - 1
		}
	}
	cmds = append(cmds, m.env.offers())
	if len(ids) == 0 {
		return tea.Batch(append(cmds, m.env.newTab(nil, ""))...)
	}
	m.env.panes = decodePanes(msg.tabs.Panes)
	m.pages = nil
	for i, id := range ids {
		p := newPage(m.env, id)
		if i == active { // what was typed meanwhile is kept
			p.takeTyped(first)
		}
		m.pages = append(m.pages, p)
	}
	m.active = active
	open := []tea.Cmd{m.env.open(ids[active], ids[active] == m.env.opts.Session)}
	for i, id := range ids {
		if i != active {
			open = append(open, m.env.open(id, false))
		}
	}
	return tea.Batch(append(cmds, open...)...)
}

// takeTyped takes what was typed and entered before the page was there.
func (p *page) takeTyped(from *page) {
	p.edit, p.complete, p.said, p.sending = from.edit, from.complete, from.said, from.sending
	if from.draft.under == p.id {
		p.draft.put, p.draft.aside = from.draft.put, from.draft.aside
	}
}

// opened gives a page its session. One that is gone closes its tab; when all are held by others there is a new one.
func (m *Model) opened(msg openedMsg) tea.Cmd {
	p := m.find(msg.id)
	if p == nil {
		return nil
	}
	if errors.Is(msg.err, runtime.ErrNotFound) {
		m.drop(p)
		return tea.Batch(m.refill(), m.page().tell(theme.Error, m.T("session %s is not there any more", msg.id)))
	}
	again, late := p.known, p.reopens && msg.err == nil
	cmd := p.opened(msg)
	if late { // its session may be new
		cmd = tea.Batch(cmd, m.env.saveTabs(m.tabs()))
	}
	if again || m.env.opts.Continue || m.env.opts.Session != "" {
		return cmd
	}
	for _, p := range m.pages {
		if p.held == 0 {
			return cmd
		}
	}
	return tea.Batch(cmd, m.newTab())
}

// madeTab shows a new session, in place of another or at the end.
func (m *Model) madeTab(msg newTabMsg) tea.Cmd {
	if p := m.page(); msg.err != nil {
		switch {
		case p.id != "":
			return tea.Batch(p.sendAhead(), p.tell(theme.Error, msg.err.Error()))
		case msg.id != "": // it has a name at least, under which what is typed is kept until it can be made
			made := newPage(m.env, msg.id)
			made.takeTyped(p)
			m.pages[slices.Index(m.pages, p)] = made
			return tea.Batch(p.forgetAside(msg.id), made.opened(openedMsg{id: msg.id, err: msg.err}))
		}
		p.broken, p.reopens = p.T("cannot open: %s", m.env.opts.Lang.Tell(msg.err.Error()))+p.T("; Enter tries again"), true
		return tea.Batch(p.sendAhead(), p.tell(theme.Error, p.broken))
	}
	if m.find(msg.id) != nil { // another new tab was faster
		return m.env.newTab(m.open(), msg.replace)
	}
	old := m.find(msg.replace)
	if old == nil { // it was closed meanwhile
		m.pages = append(m.pages, newPage(m.env, msg.id))
		return tea.Batch(m.env.open(msg.id, true), m.goTo(len(m.pages)-1))
	}
	p := newPage(m.env, msg.id)
	if msg.replace == "" {
		p.takeTyped(old)
	}
	m.pages[slices.Index(m.pages, old)] = p
	cmds := []tea.Cmd{m.env.open(msg.id, true), m.env.saveTabs(m.tabs()), old.forgetAside(msg.id)}
	if msg.replace != "" {
		cmds = append(cmds, m.env.closeSession(msg.replace, endWait, old.last()))
	}
	return tea.Batch(cmds...)
}

// openTab goes to the tab of a session, opening one when there is none.
func (m *Model) openTab(id string) tea.Cmd {
	if p := m.find(id); p != nil {
		return m.goTo(slices.Index(m.pages, p))
	}
	delete(m.quit.background, id)
	m.pages = append(m.pages, newPage(m.env, id))
	return tea.Batch(m.env.open(id, false), m.goTo(len(m.pages)-1))
}

// goTo shows a tab. Its page has seen what it shows.
func (m *Model) goTo(i int) tea.Cmd {
	if i < 0 || i >= len(m.pages) {
		return m.page().tell(theme.Text, m.T("there is no tab %d", i+1))
	}
	if i != m.active {
		m.page().columns.away = m.env.now
	}
	m.active = i
	m.page().unseen, m.page().columns.away = false, time.Time{}
	return m.env.saveTabs(m.tabs())
}

func (m *Model) step(d int) tea.Cmd { return m.goTo((m.active + d + len(m.pages)) % len(m.pages)) }

// moveTab exchanges the tab with its neighbour.
func (m *Model) moveTab(d int) tea.Cmd {
	to := m.active + d
	if to < 0 || to >= len(m.pages) {
		return m.page().tell(theme.Text, m.T("the tab is at the end"))
	}
	m.pages[m.active], m.pages[to] = m.pages[to], m.pages[m.active]
	return m.goTo(to)
}

// drop takes a page out.
func (m *Model) drop(p *page) {
	i := slices.Index(m.pages, p)
	m.pages = slices.Delete(m.pages, i, i+1)
	if m.active > i || m.active == len(m.pages) {
		m.active = max(m.active-1, 0)
	}
	if len(m.pages) == 0 {
		m.pages = []*page{newPage(m.env, "")}
	}
	m.page().unseen = false
}

// refill makes a session when the last tab went.
func (m *Model) refill() tea.Cmd {
	if m.page().id == "" {
		return m.env.newTab(nil, "")
	}
	return m.env.saveTabs(m.tabs())
}

// closeTab takes the tab away and gives its session up.
func (m *Model) closeTab(p *page, how ending) tea.Cmd {
	if p.busy() && p.held == 0 && how == endWait {
		m.quit.background[p.id] = true
	}
	noted := m.noteClosed(p)
	give := m.env.closeSession(p.id, how, p.last())
	if p.held != 0 || !p.loaded {
		give = nil
	}
	m.drop(p)
	var told tea.Cmd
	if noted {
		told = m.page().tell(theme.Text, m.T("closed; Ctrl+X Z opens it again"))
	}
	return tea.Batch(m.refill(), give, told)
}

// leave ends the program: the tabs are kept, the engine shuts down. Asked again it does not wait.
func (m *Model) leave(leave bool) tea.Cmd {
	if m.quit.leaving {
		m.cancel()
		return tea.Quit
	}
	m.quit.leaving, m.quit.waiting = true, false
	typed := map[string]runtime.Draft{}
	for _, p := range m.pages {
		if d := p.last(); d != nil {
			typed[p.keptUnder()] = *d
		}
	}
	return m.env.shutdown(m.tabs(), typed, leave)
}

// Farewell is the line to leave on the terminal; empty when there is nothing to come back to.
func (m *Model) Farewell() string {
	n := len(m.open())
	if n == 0 {
		return ""
	}
	return m.env.style.N(n, "%d tab kept: vitrine --continue", "%d tabs kept: vitrine --continue", n)
}

// name is what a tab is called.
func (p *page) name() string {
	if p.title != "" {
		return p.title
	}
	if p.id == "" || p.empty() || !p.loaded {
		return p.T(untitled)
	}
	return strings.TrimSpace(p.id)
}
