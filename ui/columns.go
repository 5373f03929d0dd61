package ui

import (
	"time"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/chat"
	"vitrine/ui/sidebar"
	"vitrine/ui/traceview"
	"vitrine/ui/words"
)

// columns are the panes of a page. They are folded from the same events, and point at each other: a row selected in the trace
// marks what it stands for in the chat.
type columns struct {
	chat    *chat.View
	trace   *traceview.View
	side    *sidebar.View
	todoIDs []string
	paging  bool // older messages are on their way
	// past and pastTrace are stretches that stand in the place of chat and trace; nil: none does.
	past      *chat.View
	pastTrace *traceview.View
	gen       int       // of the stretch that was asked for last
	jump      int       // a turn that is gone to once more is read, 1 after, -1 before
	tracing   bool      // older events are on their way
	away      time.Time // when the reader left, until something came after it
}

func newColumns(e *env) columns {
	th, m := e.style.Theme, e.style.Metrics
	return columns{chat: chat.New(th, m), trace: traceview.New(th, m), side: sidebar.New(th, m)}
}

// restyle takes another look.
func (c *columns) restyle(e *env) {
	th, m := e.style.Theme, e.style.Metrics
	c.chat.SetTheme(th)
	c.chat.SetMetrics(m)
	c.trace.SetTheme(th)
	c.trace.SetMetrics(m)
	if c.past != nil {
		c.past.SetTheme(th)
		c.past.SetMetrics(m)
	}
	if c.pastTrace != nil {
		c.pastTrace.SetTheme(th)
		c.pastTrace.SetMetrics(m)
	}
	c.side.SetTheme(th)
	c.side.SetMetrics(m)
}

func (c *columns) load(s runtime.Snapshot, events []trace.Event, u runtime.RunUsage) {
	c.todoIDs = c.todoIDs[:0]
	for _, t := range s.Todos {
		c.todoIDs = append(c.todoIDs, t.ID)
	}
	c.paging, c.tracing, c.past, c.pastTrace, c.jump = false, false, nil, nil, 0
	c.gen++
	c.chat.Load(s, events)
	c.trace.Load(events)
	if s.Run != nil && !s.Running && s.HeldBy == 0 {
		var unknown []string
		for _, call := range runtime.UnknownCalls(s.Calls) {
			unknown = append(unknown, call.ID)
		}
		c.trace.Halt(s.Run.ID, unknown...)
	}
	if s.Run != nil && s.Pause != nil && len(events) > 0 {
		c.paused(s.Run.ID, s.Run.Turn, s.Pause.Step, s.Pause, events[len(events)-1].TS)
	}
	c.side.Load(s)
	c.side.SetPins(c.pinRows(s.Pins))
	c.side.SetUsage(u)
}

// paused shows since when a run stands still before a model call, or goes on when pause is nil: no stored event tells it.
func (c *columns) paused(run string, turn, step int, pause *trace.Pause, at time.Time) {
	d := trace.StateData{State: string(runtime.StateWaitingModel), Pause: pause}
	if pause != nil {
		d.Reason = string(runtime.ReasonPaused)
	}
	c.trace.Apply(trace.Event{TS: at, RunID: run, Turn: turn, Step: step, Name: d.EventName(), Data: d})
}

func (c *columns) apply(e trace.Event) {
	switch d := e.Data.(type) {
	case trace.TodoData:
		if d.Action == "added" {
			c.todoIDs = append(c.todoIDs, d.ID)
		}
	case trace.DeltaData, trace.AnswerData, trace.ToolCallData:
		if !c.away.IsZero() {
			c.chat.NoteAway(c.away)
			c.away = time.Time{}
		}
	}
	c.chat.Apply(e)
	c.trace.Apply(e)
	if d, ok := e.Data.(trace.PinData); ok {
		c.side.Pin(sidebar.Pin{ID: d.ID, Text: d.Text, Turn: c.turnOf(d.N)}, d.Action == "added")
	}
	c.side.Apply(e)
}

// turnOf is the turn of a message, 0 for no message or one that is not known.
func (c *columns) turnOf(n int64) int {
	if n == 0 {
		return 0
	}
	return c.chat.TurnOf(n)
}

func (c *columns) pinRows(pins []runtime.PinRow) []sidebar.Pin {
	out := make([]sidebar.Pin, 0, len(pins))
	for _, p := range pins {
		out = append(out, sidebar.Pin{ID: p.ID, Text: p.Text, Turn: c.turnOf(p.N)})
	}
	return out
}

// older puts a page of older messages in front.
func (c *columns) older(rows []runtime.MessageRow) {
	c.paging = false
	c.chat.Prepend(rows)
}

// wantsOlder says, once, from where on older messages are to be read.
func (c *columns) wantsOlder() (before int64, ok bool) {
	if c.paging || !c.chat.WantsOlder() {
		return 0, false
	}
	c.paging = true
	return c.chat.Oldest(), true
}

// focus tells the panes which of them has the keys.
func (c *columns) focus(which pane) {
	c.chat.SetFocus(which == paneChat)
	c.trace.SetFocus(which == paneTrace)
	if c.past != nil {
		c.past.SetFocus(which == paneChat)
	}
	if c.pastTrace != nil {
		c.pastTrace.SetFocus(which == paneTrace)
	}
	c.side.SetFocus(which == paneTodos)
	c.point(which)
}

// point marks in the chat what is selected in the trace, while that has the focus.
func (c *columns) point(which pane) {
	at := chat.Ref{}
	if which == paneTrace {
		at = c.ref()
	}
	c.seen().Mark(at)
}

// ref is what in the chat the selected row of the trace stands for.
func (c *columns) ref() chat.Ref {
	n := c.traced().Selected()
	if n == nil {
		return chat.Ref{}
	}
	at := chat.Ref{Turn: n.Turn, Step: n.Step}
	for _, e := range n.Events {
		if d, ok := e.Data.(trace.ToolCallData); ok && len(n.Children) == 0 {
			at.Call = d.ID
		}
	}
	return at
}

// tick moves clocks and spinners; those of the trace stand at the time since which the run does. Zero: it does not.
func (c *columns) tick(e *env, stood time.Time) {
	c.chat.Tick(e.style.Phase, e.now)
	now := e.now
	if !stood.IsZero() {
		now = stood
	}
	c.trace.Tick(now, phaseAt(now))
}

// todosText is a word on the todos for widths without their pane.
func todosText(l words.Lang, c columns, w int) string {
	done, all := c.side.Counts()
	switch {
	case all == 0:
		return ""
	case w < middleWidth:
		return l.T("todos %d/%d", done, all)
	}
	return l.T("todos %d of %d", done, all)
}
