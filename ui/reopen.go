package ui

import (
	"encoding/json"
	"slices"

	tea "charm.land/bubbletea/v2"

	"vitrine/ui/theme"
)

// Here a tab that was closed comes back, and which panes are open is kept.

// mostClosed bounds the closed tabs that can be opened again.
const mostClosed = 20

// closedTab is a tab that was closed: which session it showed, where it stood, and where its reader was. What was typed in it is
// kept with the session.
type closedTab struct {
	id    string
	index int
	n     int64 // the message at the top, 0: the end was followed
}

// noteClosed remembers a tab that goes, and says whether there was anything to remember.
func (m *Model) noteClosed(p *page) bool {
	if p.id == "" || !p.known || p.empty() && p.edit.Empty() {
		return false
	}
	c := closedTab{id: p.id, index: slices.Index(m.pages, p)}
	if v := p.columns.seen(); v.Stretch() || !v.Following() {
		c.n = v.SeenN()
	}
	e := m.env
	e.closed = append(slices.DeleteFunc(e.closed, func(o closedTab) bool { return o.id == p.id }), c)
	if over := len(e.closed) - mostClosed; over > 0 {
		e.closed = slices.Delete(e.closed, 0, over)
	}
	return true
}

// reopenTab brings the tab back that was closed last.
func (m *Model) reopenTab() tea.Cmd {
	e := m.env
	for len(e.closed) > 0 {
		c := e.closed[len(e.closed)-1]
		e.closed = e.closed[:len(e.closed)-1]
		if m.find(c.id) != nil {
			continue // it is open again
		}
		delete(m.quit.background, c.id)
		p := newPage(e, c.id)
		p.goal = goal{n: c.n}
		at := min(max(c.index, 0), len(m.pages))
		m.pages = slices.Insert(m.pages, at, p)
		if m.active >= at {
			m.active++
		}
		return tea.Batch(e.open(c.id, false), m.goTo(at))
	}
	return m.page().tell(theme.Text, m.T("no tab was closed"))
}

// keptPanes is which panes are open, as it is stored.
type keptPanes struct {
	Trace bool   `json:"trace"`
	Todos bool   `json:"todos"`
	Right string `json:"right"`
	Alone string `json:"alone"`
}

// encode is the panes as they are kept. What stands alone for a while is not.
func (p panes) encode() string {
	b, err := json.Marshal(keptPanes{!p.noTrace, !p.noTodos, p.right.String(), p.alone.String()})
	if err != nil {
		return ""
	}
	return string(b)
}

// decodePanes reads what was kept; what cannot be read is as at the first start.
func decodePanes(text string) panes {
	p := defaultPanes()
	k := keptPanes{Trace: true, Todos: true}
	if text == "" || json.Unmarshal([]byte(text), &k) != nil {
		return p
	}
	p.noTrace, p.noTodos = !k.Trace, !k.Todos
	for _, which := range []pane{paneTrace, paneTodos, paneNone} {
		if which.String() == k.Right {
			p.right = which
		}
	}
	for _, which := range []pane{paneChat, paneTrace, paneTodos} {
		if which.String() == k.Alone {
			p.alone = which
		}
	}
	return p
}
