package ui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/runtime/find"
	"vitrine/ui/chat"
	"vitrine/ui/dialog"
	"vitrine/ui/theme"
)

// Here the chat is searched: all of the session, loaded or not. The hits stand in reverse, n and N go from one to the next, and Esc
// goes back to where one was.

const (
	// patience bounds how long a search reads before it tells what it has; it goes on by itself.
	patience = 250 * time.Millisecond
	// mostPlaces bounds the hits that n and N go through, the newest.
	mostPlaces = 10_000
)

// seeking is a search in the chat.
type seeking struct {
	on     bool
	text   string
	query  find.Query
	ns     []int64 // of the messages that were found, ascending
	all    int64
	unread int64
	from   int64 // from here on all was looked at
	at     int   // of ns; -1: none is shown yet
	// answered says that the store has said something.
	answered bool
	gen      int
	want     int64 // the message to begin with, 0: the one nearest to the end of the screen
	home     home
}

// home is where somebody was before a search.
type home struct {
	past  *chat.View
	place chat.Place
	focus pane
}

// placesMsg is what a search in a session found.
type placesMsg struct {
	id     string
	gen    int
	places runtime.Places
	err    error
}

func (m placesMsg) session() string { return m.id }

func (e *env) places(id, text string, gen int) tea.Cmd {
	return func() tea.Msg {
		found, err := e.opts.Finder.Places(e.ctx, runtime.Search{User: e.opts.User, Text: text, Limit: mostPlaces, Patience: patience}, id)
		return placesMsg{id, gen, found, err}
	}
}

// askFind asks what to look for in the chat.
func (p *page) askFind() tea.Cmd {
	return p.show(dialog.NewPrompt(kindFind, p.T("FIND"), p.T("in all of this session"), p.seek.text, p.env.dkeys).Does(p.T("find##Enter does")), "")
}

// seekFor looks for a text, beginning at a message, or with 0 at what is seen.
func (p *page) seekFor(text string, n int64) tea.Cmd {
	q := find.Parse(text)
	if q.Empty() {
		p.endSeek()
		return p.tell(theme.Text, p.T("letters or digits are looked for"))
	}
	s := &p.seek
	if !s.on {
		s.home = home{p.columns.past, p.columns.seen().Place(), p.focus}
	}
	*s = seeking{on: true, text: text, query: q, at: -1, gen: s.gen + 1, want: n, home: s.home}
	p.said.text = ""
	p.env.panes.show(paneChat, p.lay.w)
	p.focusOn(paneChat)
	p.columns.query(q)
	if p.env.opts.Finder == nil {
		p.found(1)
		return nil
	}
	return p.env.places(p.id, text, s.gen)
}

// query shows the hits of a query in what is on the screen.
func (c *columns) query(q find.Query) {
	c.chat.SetQuery(q)
	if c.past != nil {
		c.past.SetQuery(q)
	}
}

// endSeek ends a search and goes back to where one was.
func (p *page) endSeek() {
	s := &p.seek
	if !s.on {
		return
	}
	s.on = false
	s.gen++
	p.columns.query(find.Query{})
	p.columns.past, p.columns.paging = s.home.past, false
	p.columns.gen++
	if s.home.past != nil {
		s.home.past.SetQuery(find.Query{})
	}
	p.columns.seen().GoTo(s.home.place)
	s.home.past = nil
	if f := s.home.focus; f == paneInput || f == paneChat || p.env.panes.shows(f, p.lay.w) {
		p.focusOn(f)
	}
}

// dropSeek ends a search where it stands.
func (p *page) dropSeek() {
	if p.seek.on {
		p.seek.on, p.seek.home = false, home{}
		p.seek.gen++
		p.columns.query(find.Query{})
	}
}

// placed takes what a search found so far.
func (p *page) placed(msg placesMsg) tea.Cmd {
	s := &p.seek
	if msg.gen != s.gen || !s.on {
		return nil
	}
	if msg.err != nil {
		return p.fail("search", msg.err)
	}
	shown := int64(0)
	if s.at >= 0 && s.at < len(s.ns) {
		shown = s.ns[s.at]
	}
	s.answered = true
	s.ns, s.all, s.unread, s.from = msg.places.Ns, msg.places.All, msg.places.Unread, msg.places.From
	var cmds []tea.Cmd
	switch i, ok := slices.BinarySearch(s.ns, shown); {
	case shown > 0 && ok:
		s.at = i
	case p.certain():
		s.at = p.nearest()
		cmds = append(cmds, p.goToMessage(s.ns[s.at]))
	}
	if s.unread > 0 || msg.places.Behind > 0 { // the rest is read for the searches to come
		cmds = append(cmds, p.env.places(p.id, s.text, s.gen))
	}
	return tea.Batch(cmds...)
}

// certain says that the hit to begin with is known: what was not looked at yet is no nearer.
func (p *page) certain() bool {
	s := &p.seek
	if len(s.ns) == 0 || s.unread == 0 || s.want > 0 {
		return len(s.ns) > 0 && (s.unread == 0 || slices.Contains(s.ns, s.want))
	}
	i := p.nearest()
	return s.ns[i] >= s.from && s.ns[i] <= p.columns.seen().BottomN()
}

// nearest is the hit to begin with: the one that was asked for, else the last one that is not behind the screen.
func (p *page) nearest() int {
	s := &p.seek
	bottom := s.want
	if bottom == 0 {
		bottom = p.columns.seen().BottomN()
	}
	i, ok := slices.BinarySearch(s.ns, bottom)
	if !ok {
		i--
	}
	return min(max(i, 0), len(s.ns)-1)
}

// found goes to the next hit, or to the one before, and round at the ends.
func (p *page) found(dir int) tea.Cmd {
	s := &p.seek
	switch {
	case !s.on && s.text == "":
		return p.tell(theme.Text, p.T("/ asks what to find"))
	case !s.on:
		return p.seekFor(s.text, 0)
	case p.env.opts.Finder == nil:
		if !p.columns.chat.Find(s.text, dir) {
			return p.tell(theme.Text, p.T("not found: %s", s.text))
		}
		return nil
	case len(s.ns) == 0:
		return nil // the status line says so
	}
	if s.at < 0 { // it was not waited for
		s.at = p.nearest()
	} else {
		s.at = (s.at + dir + len(s.ns)) % len(s.ns)
	}
	return p.goToMessage(s.ns[s.at])
}

// seekWord is what the status line says of a search; empty for none.
func (p *page) seekWord() string {
	s := &p.seek
	if !s.on || p.env.opts.Finder == nil {
		return ""
	}
	text := p.env.style.Text(s.text)
	word := p.T("looking for %s", text)
	switch n := len(s.ns); {
	case n > 0 && s.at < 0:
		word = p.T("%s found so far: %s", theme.Count(n), text)
	case n > 0 && s.all > int64(n):
		word = p.T("%d of the newest %d of %d: %s", s.at+1, n, s.all, text)
	case n > 0:
		word = p.T("%d of %d", s.at+1, n) + ": " + text
	case s.answered && s.unread == 0:
		word = p.T("not found: %s", text)
	}
	if s.unread > 0 {
		word += "   " + p.T("%s messages to look at", theme.Count(int(s.unread)))
	}
	return word
}

// goal is where to go once a session is loaded: to a message, with what was looked for in it.
type goal struct {
	n    int64
	text string
}

// toGoal goes there.
func (p *page) toGoal() tea.Cmd {
	g := p.goal
	p.goal = goal{}
	switch {
	case g.n == 0:
		return nil
	case g.text != "":
		return p.seekFor(g.text, g.n)
	}
	return p.goToMessage(g.n)
}

// askFilter asks what of the trace to show.
func (p *page) askFilter() tea.Cmd {
	return p.show(dialog.NewPrompt(kindFilter, p.T("FILTER"), p.T("error, tool, fold or a text"), p.columns.traced().Filter(), p.env.dkeys).Does(p.T("filter##Enter does")), "")
}
