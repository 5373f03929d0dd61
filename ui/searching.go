package ui

import (
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/find"
	"vitrine/ui/dialog"
	"vitrine/ui/theme"
)

// Here all sessions of the user are searched, while one types.

const (
	// seekAfter is how long typing rests before a search begins.
	seekAfter = 150 * time.Millisecond
	// mostHits and hitsEach bound what is shown, of all sessions and of each.
	mostHits = 200
	hitsEach = 5
	// excerptSize is how many characters of a message are shown.
	excerptSize = 160
)

// soughtMsg starts a search, foundMsg is what it found. Text tells them from those of what was typed before.
type (
	soughtMsg struct{ id, text string }
	foundMsg  struct {
		id, text string
		found    runtime.Found
		err      error
	}
	// starsMsg is which sessions are starred, after a change in the picker of a page.
	starsMsg struct {
		id   string
		list []string
		err  error
	}
)

func (e *env) search(page, text string) tea.Cmd {
	return func() tea.Msg {
		found, err := e.opts.Finder.Search(e.ctx, runtime.Search{User: e.opts.User, Text: text, Limit: mostHits, Each: hitsEach, Patience: patience})
		return foundMsg{page, text, found, err}
	}
}

// openSearch opens the search over all sessions.
func (m *Model) openSearch(text string) tea.Cmd {
	p := m.page()
	if m.env.opts.Finder == nil {
		return p.tell(theme.Text, p.T("there is no store to search"))
	}
	d := dialog.NewSearch(kindSearch, p.T("SEARCH"), p.T("Enter opens it   Up, Down choose   Esc close"), text, m.env.dkeys)
	cmd := p.show(d, "")
	if text != "" {
		cmd = tea.Batch(cmd, m.env.search(p.id, text))
	}
	return cmd
}

// searching gives the open search of a page, nil for none.
func (m *Model) searching(page string) (*page, *dialog.Search) {
	p := m.find(page)
	if p == nil {
		return nil, nil
	}
	d, ok := p.dialog.(*dialog.Search)
	if !ok {
		return nil, nil
	}
	return p, d
}

// sought begins a search when typing has come to rest.
func (m *Model) sought(msg soughtMsg) tea.Cmd {
	if _, d := m.searching(msg.id); d != nil && d.Text() == msg.text {
		return m.env.search(msg.id, msg.text)
	}
	return nil
}

// foundAll shows what was found, and goes on while something is not read. Esc ends that.
func (m *Model) foundAll(msg foundMsg) tea.Cmd {
	p, d := m.searching(msg.id)
	if d == nil || d.Text() != msg.text {
		return nil
	}
	if msg.err != nil {
		p.dialog = nil
		return p.fail("search", msg.err)
	}
	q := find.Parse(msg.text)
	f := msg.found
	var status string
	switch {
	case q.Empty():
	case f.Messages == 0 && f.Unread == 0:
		status = p.T("nothing found")
	case f.Messages > 0:
		status = p.env.opts.Lang.N(f.Sessions, "%d in %d session", "%d in %d sessions", f.Messages, f.Sessions)
	}
	if f.Unread > 0 {
		status += "  " + p.T("%s messages to look at", theme.Count(int(f.Unread)))
	}
	d.SetRows(m.hitRows(q, f), strings.TrimSpace(status))
	if f.Unread > 0 || f.Behind > 0 { // the rest is read for the searches to come
		return m.env.search(msg.id, msg.text)
	}
	return nil
}

// hitRows are the rows of what was found, by session.
func (m *Model) hitRows(q find.Query, f runtime.Found) (rows []dialog.SearchRow) {
	last := ""
	s := m.env.style
	for _, h := range f.Hits {
		if h.SessionID != last {
			last = h.SessionID
			name := h.Title
			if name == "" {
				name = h.SessionID
			}
			if h.Starred {
				name = s.Theme.Glyphs.Star + " " + name
			}
			rows = append(rows, dialog.SearchRow{Text: name, Right: ago(m.env.opts.Lang, m.env.now, h.At)})
		}
		who := ""
		switch h.Kind {
		case llm.KindUser:
			who = s.T("you")
		case llm.KindTool:
			who = h.Tool
		}
		text, spans := q.Excerpt(h.Text, excerptSize, s.Theme.Glyphs.Cut)
		right := who
		if h.More > 0 {
			right = strings.TrimSpace(right + "  " + s.T("%d more", h.More))
		}
		rows = append(rows, dialog.SearchRow{ID: hitID(h.SessionID, h.N), Text: text, Spans: spans, Note: s.T("turn %s", strconv.Itoa(h.Turn)), Right: right})
	}
	return rows
}

// hitID names a message.
func hitID(session string, n int64) string { return strconv.FormatInt(n, 10) + " " + session }

// openHit opens the session of a message that was found, at it.
func (m *Model) openHit(id, text string) tea.Cmd {
	n, session, _ := strings.Cut(id, " ")
	at, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return nil
	}
	cmd := m.openTab(session)
	open := m.find(session)
	if open == nil {
		return cmd
	}
	open.goal = goal{at, text}
	if open.loaded {
		return tea.Batch(cmd, open.toGoal())
	}
	return cmd
}

// star marks a session, or takes the mark away.
func (m *Model) star(p *page, id string) tea.Cmd {
	e := m.env
	if e.opts.Finder == nil || id == "" {
		return nil
	}
	on := !e.starred[id]
	return func() tea.Msg {
		err := e.opts.Finder.Star(e.ctx, id, e.opts.User, on)
		if err != nil {
			return starsMsg{id: p.id, err: err}
		}
		list, err := e.opts.Finder.Stars(e.ctx, e.opts.User)
		return starsMsg{p.id, list, err}
	}
}

// stars reads which sessions are starred.
func (e *env) stars(page string) tea.Cmd {
	if e.opts.Finder == nil {
		return nil
	}
	return func() tea.Msg {
		list, err := e.opts.Finder.Stars(e.ctx, e.opts.User)
		return starsMsg{page, list, err}
	}
}

// marked takes which sessions are starred.
func (m *Model) marked(msg starsMsg) tea.Cmd {
	p := m.find(msg.id)
	if msg.err != nil {
		if p == nil {
			p = m.page()
		}
		return p.fail("star the session", msg.err)
	}
	m.env.starred = make(map[string]bool, len(msg.list))
	for _, id := range msg.list {
		m.env.starred[id] = true
	}
	if p == nil {
		return nil
	}
	if picker, ok := p.dialog.(*dialog.Picker); ok && picker.Kind() == kindSessions {
		return m.env.listSessions(p.id)
	}
	return nil
}

// findHere looks for a text in the session, or asks for one.
func (m *Model) findHere(text string) tea.Cmd {
	p := m.page()
	if text == "" {
		return p.askFind()
	}
	return p.seekFor(text, 0)
}

// filterTrace filters the trace by a text, or asks for one.
func (m *Model) filterTrace(text string) tea.Cmd {
	p := m.page()
	cmd := p.showTrace()
	if text == "" {
		return tea.Batch(cmd, p.askFilter())
	}
	p.columns.traced().SetFilter(text)
	return tea.Batch(cmd, p.traceMore())
}
