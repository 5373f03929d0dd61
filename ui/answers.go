package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/dialog"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here is decided what the answers of dialogs mean, and what is asked before something is lost.

// result takes what came of a dialog.
func (m *Model) result(p *page, r dialog.Result) tea.Cmd {
	switch r := r.(type) {
	case nil:
		return nil
	case dialog.Copied:
		return p.copyText(r.Text)
	case dialog.Closed:
		p.dialog, p.behind = p.behind, nil
		return nil
	case dialog.Edited:
		return p.edited(r)
	case dialog.Left:
		return p.left(r)
	case dialog.Outward:
		return p.openOutside(r.Kind, r.Text)
	case dialog.Inspected:
		return m.inspected(p, r)
	case dialog.Picked:
		from := p.dialog
		p.dialog = nil
		cmd := m.picked(p, r, from)
		if r.Kind == kindTools || r.Act == dialog.ActStar {
			p.dialog = from // it shows the new rule
		}
		if p.dialog != nil && (r.Act == dialog.ActRename || r.Act == dialog.ActDelete) {
			p.behind = from // who changes their mind is back in the list
		}
		return cmd
	case dialog.Sought:
		return m.env.after(seekAfter, soughtMsg{p.id, r.Text})
	case dialog.Entered:
		p.dialog, p.behind = nil, nil
		return m.entered(p, r)
	case dialog.Chosen:
		back := p.behind
		p.dialog, p.behind = nil, nil
		if r.Kind == kindDelete && r.Choice == "no" {
			p.dialog = back
			return nil
		}
		return m.chosen(p, r)
	}
	return nil
}

func (m *Model) picked(p *page, r dialog.Picked, from dialog.Dialog) tea.Cmd {
	switch r.Kind {
	case kindPalette:
		return m.chosenFromPalette(r.ID)
	case kindHistory:
		p.focusOn(paneInput)
		p.part()
		p.history.add(p.typed()) // it is one of those that can be brought back, in its turn
		i, err := strconv.Atoi(r.ID)
		if err != nil || i >= len(p.recall) {
			return nil
		}
		return p.setInput(p.recall[i])
	case kindModels:
		return m.env.set(p.id, "change the model", runtime.Setting{Model: &r.ID})
	case kindPins:
		return m.env.set(p.id, "unpin", runtime.Setting{Unpin: r.ID})
	case kindTools:
		return p.nextRule(r.ID)
	case kindUntil:
		return p.step(runtime.Break{Tool: r.ID})
	case kindSearch:
		if d, ok := from.(*dialog.Search); ok {
			return m.openHit(r.ID, d.Text())
		}
	case kindSessions:
		return m.pickedSession(p, r)
	}
	return nil
}

func (m *Model) pickedSession(p *page, r dialog.Picked) tea.Cmd {
	switch r.Act {
	case dialog.ActStar:
		return m.star(p, r.ID)
	case dialog.ActSearch:
		return m.openSearch(r.ID)
	case dialog.ActRename:
		title := ""
		if open := m.find(r.ID); open != nil {
			title = open.title
		}
		return p.show(dialog.NewPrompt(kindRename, m.T("RENAME"), m.T("the title of %s", r.ID), title, m.env.dkeys).Does(m.T("rename##Enter does")), r.ID)
	case dialog.ActDelete:
		if m.find(r.ID) != nil {
			return p.tell(theme.Text, p.T("the session is open in a tab; close that first"))
		}
		return p.show(dialog.NewAsk(kindDelete, m.T("DELETE"), m.T("%s, with all its messages", r.ID), []dialog.Choice{
			{Key: "n", ID: "no", Label: m.T("keep it")}, {Key: "y", ID: "yes", Label: m.T("delete it for good")},
		}, m.env.dkeys), r.ID)
	}
	return m.openTab(r.ID)
}

func (m *Model) entered(p *page, r dialog.Entered) tea.Cmd {
	if r.Kind == kindFind {
		return p.seekFor(r.Text, 0)
	}
	if r.Kind == kindExport {
		return m.export(r.Text)
	}
	if r.Kind == kindFilter {
		p.columns.traced().SetFilter(r.Text)
		return p.traceMore()
	}
	if r.Kind == kindUntil {
		return p.step(runtime.Break{Tool: strings.TrimSpace(r.Text)})
	}
	if r.Kind == kindDeny {
		if !p.waits(p.subject) {
			return p.gone(r.Text)
		}
		p.keepDraft(r.Kind, r.Text) // should it not be taken
		return p.decide(runtime.Decision{Call: p.subject, Reason: strings.TrimSpace(r.Text)})
	}
	if m.find(p.subject) != nil {
		return m.env.set(p.subject, "rename the session", runtime.Setting{Title: &r.Text})
	}
	return m.env.renameStored(p.id, p.subject, r.Text)
}

func (m *Model) chosen(p *page, r dialog.Chosen) tea.Cmd {
	switch r.Kind {
	case kindDelete:
		if r.Choice == "yes" {
			return m.env.deleteSession(p.id, p.subject)
		}
	case kindClose:
		return m.closeTab(p, ending(r.Choice))
	case kindClear:
		return m.clear(p, ending(r.Choice))
	case kindQuit:
		return m.quitBy(ending(r.Choice))
	}
	return nil
}

// askClose closes the tab; during a run it asks what becomes of that.
func (m *Model) askClose() tea.Cmd {
	p := m.page()
	if !p.busy() || p.held != 0 {
		return m.closeTab(p, endWait)
	}
	return p.show(dialog.NewAsk(kindClose, m.T("CLOSE"), m.T("a run is on in %s", p.name()), endings(m.env.opts.Lang, "close the tab; the run goes on to its end"), m.env.dkeys), p.id)
}

// askClear starts a new session in the tab; the old one stays in the picker.
func (m *Model) askClear() tea.Cmd {
	p := m.page()
	if !p.busy() || p.held != 0 {
		return m.clear(p, endWait)
	}
	return p.show(dialog.NewAsk(kindClear, m.T("NEW SESSION"), m.T("a run is on in %s", p.name()), endings(m.env.opts.Lang, "let it go on to its end"), m.env.dkeys), p.id)
}

func (m *Model) clear(p *page, how ending) tea.Cmd {
	if p.id == "" {
		return nil
	}
	var first tea.Cmd
	switch {
	case !p.busy() || p.held != 0:
	case how == endCancel:
		first = m.env.cancel(p.id)
	case how == endLeave:
		first = m.env.set(p.id, "leave the run", runtime.Setting{Leave: true})
	default:
		m.quit.background[p.id] = true
	}
	return tea.Batch(first, m.env.newTab(m.open(), p.id))
}

// askQuit leaves; during runs it asks what becomes of them.
func (m *Model) askQuit() tea.Cmd {
	running := m.running()
	if len(running) == 0 || m.quit.leaving {
		return m.leave(false)
	}
	fact := m.T("a run is on")
	if len(running) > 1 {
		fact = m.T("%d runs are on", len(running))
	}
	return m.page().show(dialog.NewAsk(kindQuit, m.T("QUIT"), fact, endings(m.env.opts.Lang, "wait for the end, then quit"), m.env.dkeys), "")
}

func (m *Model) quitBy(how ending) tea.Cmd {
	switch how {
	case endWait:
		if len(m.running()) == 0 {
			return m.leave(false)
		}
		m.quit.waiting = true
		return m.page().tell(theme.Text, m.T("quits when the runs have ended; Esc stays"))
	case endLeave:
		return m.leave(true)
	}
	return m.leave(false)
}

// listed fills the session picker.
func (m *Model) listed(msg sessionsMsg) tea.Cmd {
	p := m.find(msg.id)
	if p == nil {
		return nil
	}
	picker, ok := p.dialog.(*dialog.Picker)
	if !ok || picker.Kind() != kindSessions {
		return nil
	}
	if msg.err != nil {
		p.dialog = nil
		return p.fail("list the sessions", msg.err)
	}
	items := make([]dialog.Item, 0, len(msg.rows))
	if p.subject == offerID {
		slices.SortStableFunc(msg.rows, func(a, b runtime.SessionInfo) int { return rank(a) - rank(b) })
	}
	if p.subject != offerID {
		slices.SortStableFunc(msg.rows, func(a, b runtime.SessionInfo) int { return starRank(a) - starRank(b) })
	}
	for _, r := range msg.rows {
		items = append(items, m.sessionItem(r))
	}
	picker.SetItems(items)
	return nil
}

// starRank puts starred sessions first.
func starRank(r runtime.SessionInfo) int {
	if r.Starred {
		return 0
	}
	return 1
}

func (m *Model) sessionItem(r runtime.SessionInfo) dialog.Item {
	name := r.Title
	if name == "" { // as its tab says, and told apart from others
		name = m.T(untitled) + "  " + r.ID
	}
	if r.Starred {
		name = m.env.style.Theme.Glyphs.Star + " " + name
	}
	turns := m.env.style.N(r.TurnCount, "%d turn", "%d turns", r.TurnCount)
	state, role := m.sessionState(r)
	return dialog.Item{ID: r.ID, Label: name, Terms: r.Model, Cells: []dialog.Cell{
		{Text: turns, Role: theme.Faint}, {Text: state, Left: true, Role: role}, {Text: ago(m.env.opts.Lang, m.env.now, r.UpdatedAt), Role: theme.Faint},
	}}
}

// sessionState says what a stored session is doing.
func (m *Model) sessionState(r runtime.SessionInfo) (string, theme.Role) {
	g := m.env.style.Theme.Glyphs
	p := m.find(r.ID)
	state := runtime.State(r.RunState)
	unfinished := state != "" && !state.Terminal()
	switch {
	case r.HeldBy != 0 && !r.Own:
		return m.T("in pid %d", r.HeldBy), theme.Faint
	case p != nil && p.busy(), m.quit.background[r.ID]:
		return g.BusyStill + " " + m.T("running"), theme.Accent
	case r.Waits, state == runtime.StateWaitingApproval:
		return g.Question + " " + m.T("needs you"), theme.Warn
	case unfinished:
		return g.Stopped + " " + m.T("interrupted"), theme.Warn
	case state == runtime.StateFailed:
		return g.Failed + " " + m.T("failed"), theme.Error
	case p != nil:
		return m.T("open##state"), theme.Faint
	}
	return "", theme.Faint
}

func ago(l words.Lang, now, then time.Time) string {
	if then.IsZero() {
		return theme.Unknown
	}
	return l.Ago(now.Sub(then))
}

// deleted ends a deletion.
func (m *Model) deleted(msg deletedMsg) tea.Cmd {
	p := m.find(msg.id)
	if p == nil {
		p = m.page()
	}
	if msg.err != nil {
		return p.fail("delete the session", msg.err)
	}
	return p.tell(theme.Text, p.T("deleted %s", msg.target))
}
