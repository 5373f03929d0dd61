package ui

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/chat"
	"vitrine/ui/theme"
	"vitrine/ui/traceview"
)

// Here what is not loaded is read: older messages and events in front of those that are, and stretches far from them, which stand in
// the place of the newest until one goes back to these.

// stretchSize is how many messages are read around a place, on each side.
const stretchSize = 60

// What a stretch was read for.
type reason int

const (
	toShow reason = iota
	toGrowUp
	toGrowDown
)

// stretchMsg is a part of the session that was read.
type stretchMsg struct {
	id   string
	why  reason
	gen  int
	n    int64
	at   chat.Ref // of a row of the trace to which n belongs
	part runtime.Stretch
	err  error
}

// tracePartMsg is a part of the session's events that was read for a view of the trace: those from first to last. Ref is the block of
// the chat whose row is to be shown, when the view is to be made.
type tracePartMsg struct {
	id          string
	why         reason
	view        *traceview.View
	first, last int64
	at          chat.Ref
	events      []trace.Event
	err         error
}

func (m stretchMsg) session() string   { return m.id }
func (m tracePartMsg) session() string { return m.id }

// stretch reads around a message.
func (e *env) stretch(id string, gen int, n int64, at chat.Ref) tea.Cmd {
	return func() tea.Msg {
		part, err := e.opts.Finder.Around(e.ctx, id, n, stretchSize, stretchSize)
		return stretchMsg{id: id, why: toShow, gen: gen, n: n, at: at, part: part, err: err}
	}
}

// grow reads what comes before or after a stretch.
func (e *env) grow(id string, gen int, why reason, n int64) tea.Cmd {
	before, after := olderMessages, 0
	if why == toGrowDown {
		before, after = 0, olderMessages
	}
	return func() tea.Msg {
		part, err := e.opts.Finder.Around(e.ctx, id, n, before, after)
		return stretchMsg{id: id, why: why, gen: gen, n: n, part: part, err: err}
	}
}

// turnStretch reads around the beginning of a turn.
func (e *env) turnStretch(id string, gen int, at chat.Ref) tea.Cmd {
	return func() tea.Msg {
		n, err := e.opts.Finder.TurnStart(e.ctx, id, at.Turn)
		if err != nil {
			return stretchMsg{id: id, gen: gen, at: at, err: err}
		}
		return e.stretch(id, gen, n, at)()
	}
}

// traceTurn reads the events of a turn, and what comes after them.
func (e *env) traceTurn(id string, at chat.Ref) tea.Cmd {
	return func() tea.Msg {
		first, last, err := e.opts.Finder.TurnSeqs(e.ctx, id, at.Turn)
		if err != nil {
			return tracePartMsg{id: id, why: toShow, at: at, err: err}
		}
		return e.tracePart(id, toShow, nil, first, max(last, first+newestEvents-1), at)()
	}
}

// tracePart reads events for a view of the trace.
func (e *env) tracePart(id string, why reason, v *traceview.View, first, last int64, at chat.Ref) tea.Cmd {
	return func() tea.Msg {
		events, err := e.opts.Library.Events(e.ctx, id, "", first-1, int(last-first+1))
		if n := len(events); n > 0 {
			last = min(last, events[n-1].Seq)
		}
		return tracePartMsg{id: id, why: why, view: v, first: first, last: last, at: at, events: events, err: err}
	}
}

// seen is the chat that is on the screen.
func (c *columns) seen() *chat.View {
	if c.past != nil {
		return c.past
	}
	return c.chat
}

// traced is the trace that is on the screen.
func (c *columns) traced() *traceview.View {
	if c.pastTrace != nil {
		return c.pastTrace
	}
	return c.trace
}

// goToMessage shows a message of the session, wherever it is, with the words of a query in it.
func (p *page) goToMessage(n int64) tea.Cmd {
	p.env.panes.show(paneChat, p.lay.w)
	c := &p.columns
	switch {
	case c.past != nil && c.past.Holds(n):
		c.past.ShowMessage(n, p.seek.query)
	case c.chat.Holds(n) || p.env.opts.Finder == nil:
		c.past = nil
		c.chat.ShowMessage(n, p.seek.query)
	default:
		c.gen++
		return p.env.stretch(p.id, c.gen, n, chat.Ref{})
	}
	return p.readMore()
}

// stretched takes a part of the session.
func (p *page) stretched(msg stretchMsg) tea.Cmd {
	c := &p.columns
	if msg.gen != c.gen {
		return nil // something else was asked for since
	}
	c.paging = false
	if errors.Is(msg.err, runtime.ErrNotFound) && msg.why == toShow {
		return p.tell(theme.Text, p.T("the chat does not have that turn"))
	}
	if msg.err != nil {
		return p.fail("read older messages", msg.err)
	}
	if oldest := c.chat.Oldest(); oldest > 0 { // from there on the newest have it
		rows := msg.part.Messages
		for len(rows) > 0 && rows[len(rows)-1].N >= oldest {
			rows = rows[:len(rows)-1]
		}
		msg.part.Messages, msg.part.Newest = rows, min(msg.part.Newest, oldest-1)
	}
	switch {
	case msg.why == toShow && len(msg.part.Messages) == 0:
		c.past = nil
		c.chat.Home()
	case msg.why == toShow:
		c.past = chat.New(p.env.style.Theme, p.env.style.Metrics)
		c.past.SetSize(p.lay.chat.w, p.lay.chat.h)
		c.past.SetFocus(p.focus == paneChat)
		c.past.SetQuery(p.seek.query)
		c.past.LoadStretch(msg.part)
		c.past.ShowMessage(msg.n, p.seek.query)
		if msg.at != (chat.Ref{}) {
			c.past.SelectRef(msg.at)
		}
		c.point(p.focus)
	case c.past == nil:
	case msg.why == toGrowUp:
		c.past.Prepend(msg.part.Messages)
	case msg.why == toGrowDown:
		c.past.Extend(msg.part)
	}
	return p.afterRead()
}

// afterRead goes on with what waited for more of the session.
func (p *page) afterRead() tea.Cmd {
	if d := p.columns.jump; d != 0 {
		p.columns.jump = 0
		return p.jumpTurn(d)
	}
	return p.readMore()
}

// readMore reads older messages when the oldest one is in view, and newer ones at the end of a stretch.
func (p *page) readMore() tea.Cmd {
	c := &p.columns
	switch {
	case c.paging:
		return nil
	case c.past == nil:
		if n, ok := c.wantsOlder(); ok {
			return p.env.older(p.id, n)
		}
	case c.past.WantsOlder():
		return p.growPast(toGrowUp)
	case c.past.WantsNewer() && c.past.Last()+1 < c.chat.Oldest():
		return p.growPast(toGrowDown)
	}
	return nil
}

func (p *page) growPast(why reason) tea.Cmd {
	c := &p.columns
	c.paging = true
	c.gen++
	if why == toGrowUp {
		return p.env.grow(p.id, c.gen, why, c.past.Oldest())
	}
	return p.env.grow(p.id, c.gen, why, c.past.Last()+1)
}

// meetEnd goes from the end of a stretch to the newest messages, when nothing lies between; it tells whether it did.
func (p *page) meetEnd() bool {
	c := &p.columns
	if c.past == nil || !c.past.AtEnd() || c.past.Last()+1 < c.chat.Oldest() {
		return false
	}
	c.past = nil
	c.chat.SetSize(p.lay.chat.w, p.lay.chat.h)
	c.chat.Deselect()
	c.chat.Home()
	c.point(p.focus)
	return true
}

// leavePast goes back to the newest messages.
func (p *page) leavePast() {
	if c := &p.columns; c.past != nil {
		c.past, c.paging = nil, false
		c.gen++
		c.point(p.focus)
	}
}

// jumpTurn goes to the turn before or after, also where that is not loaded.
func (p *page) jumpTurn(d int) tea.Cmd {
	c := &p.columns
	v := c.seen()
	switch {
	case v.JumpTurn(d):
	case c.paging:
		c.jump = d
		return nil
	case d < 0 && v.Oldest() > 1 && c.past != nil:
		c.jump = d
		return p.growPast(toGrowUp)
	case d < 0 && v.Oldest() > 1:
		c.jump, c.paging = d, true
		return p.env.older(p.id, v.Oldest())
	case d > 0 && c.past != nil && v.Last()+1 < c.chat.Oldest():
		c.jump = d
		return p.growPast(toGrowDown)
	case d > 0 && c.past != nil:
		c.past = nil
		c.chat.Deselect()
		c.chat.Home()
		c.chat.JumpTurn(d)
	}
	return p.readMore()
}

// traceOf goes to what stands in the trace for what is selected in the chat, or seen at its top.
func (p *page) traceOf() tea.Cmd {
	c := &p.columns
	at := chat.Ref{Turn: c.seen().TurnAt(0)}
	if ref, ok := c.seen().Selected(); ok {
		at = ref
	}
	if at.Turn == 0 {
		return p.tell(theme.Text, p.T("that belongs to no turn"))
	}
	switch {
	case c.traced().SelectRef(at.Turn, at.Step, at.Call):
	case c.trace.SelectRef(at.Turn, at.Step, at.Call):
		c.pastTrace = nil
	case p.env.opts.Finder != nil:
		return p.env.traceTurn(p.id, at)
	default:
		return p.tell(theme.Text, p.T("the trace does not hold that turn any more"))
	}
	return p.showTrace()
}

func (p *page) showTrace() tea.Cmd {
	p.env.panes.show(paneTrace, p.lay.w)
	p.focusOn(paneTrace)
	return p.traceMore()
}

// chatOf goes back from a row of the trace to what it stands for in the chat.
func (p *page) chatOf() tea.Cmd {
	c := &p.columns
	at := c.ref()
	if at == (chat.Ref{}) {
		return p.tell(theme.Text, p.T("that belongs to no turn"))
	}
	p.env.panes.show(paneChat, p.lay.w)
	p.focusOn(paneChat)
	switch {
	case c.seen().SelectRef(at):
	case c.chat.SelectRef(at):
		c.past = nil
	case p.env.opts.Finder == nil:
		return p.tell(theme.Text, p.T("the chat does not have that turn"))
	default:
		c.gen++
		return p.env.turnStretch(p.id, c.gen, at)
	}
	return p.readMore()
}

// traceMore reads what the trace wants.
func (p *page) traceMore() tea.Cmd {
	c := &p.columns
	c.point(p.focus)
	v := c.traced()
	if c.tracing {
		return nil
	}
	if low, below, ok := v.WantsOlder(); ok {
		c.tracing = true
		if v.Full() {
			return p.env.tracePart(p.id, toShow, v, max(below-newestEvents, 1), below-1, chat.Ref{})
		}
		return p.env.tracePart(p.id, toGrowUp, v, max(low-newestEvents, 1), below-1, chat.Ref{})
	}
	if v.Past() && v.AtEnd() && v.High()+1 < c.trace.Low() {
		c.tracing = true
		return p.env.tracePart(p.id, toGrowDown, v, v.High()+1, min(v.High()+newestEvents, c.trace.Low()-1), chat.Ref{})
	}
	return nil
}

// tracedPart takes events for the trace.
func (p *page) tracedPart(msg tracePartMsg) tea.Cmd {
	c := &p.columns
	if msg.view != nil {
		c.tracing = false
	}
	if errors.Is(msg.err, runtime.ErrNotFound) {
		return p.tell(theme.Text, p.T("the trace does not hold that turn any more"))
	}
	if msg.err != nil {
		return p.fail("read events", msg.err)
	}
	if msg.view != nil && msg.view != c.traced() {
		return nil // another one is shown since
	}
	switch msg.why {
	case toGrowUp:
		msg.view.Prepend(msg.events, msg.first)
	case toGrowDown:
		msg.view.Append(msg.events, msg.last)
	default:
		v := traceview.New(p.env.style.Theme, p.env.style.Metrics)
		v.SetSize(p.lay.trace.w, p.lay.trace.h)
		v.SetFocus(p.focus == paneTrace)
		v.LoadStretch(msg.events, msg.first, msg.last)
		if msg.view != nil {
			v.SetFilter(msg.view.Filter())
			v.Bottom()
		}
		c.pastTrace = v
		if msg.at != (chat.Ref{}) && !v.SelectRef(msg.at.Turn, msg.at.Step, msg.at.Call) {
			v.Top()
		}
		if msg.view == nil {
			return p.showTrace()
		}
	}
	return p.traceMore()
}

// meetTrace goes from the end of a stretch of the trace to its newest part, when nothing lies between; it tells whether it did.
func (p *page) meetTrace() bool {
	c := &p.columns
	if c.pastTrace == nil || !c.pastTrace.AtEnd() || c.pastTrace.High()+1 < c.trace.Low() {
		return false
	}
	c.trace.SetFilter(c.pastTrace.Filter())
	c.pastTrace = nil
	c.trace.SetSize(p.lay.trace.w, p.lay.trace.h)
	c.trace.Top()
	return true
}
