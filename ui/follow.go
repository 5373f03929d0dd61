package ui

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/theme"
)

// Here a session that another process holds is followed: what that stores is read each second, and now and then who holds it.

// lookEvery is how many readings pass until it is asked who holds the session; that reads the list of all.
const lookEvery = 3

// followed goes on reading.
func (p *page) followed() tea.Cmd {
	p.followGen++
	if p.held == 0 {
		return nil
	}
	return p.env.follow(p.id, p.followGen, p.seq, p.followGen%lookEvery == 0)
}

// follow reads what another process did, and perhaps who holds the session.
func (e *env) follow(id string, gen int, after int64, look bool) tea.Cmd {
	return func() tea.Msg {
		if err := e.clk.Sleep(e.ctx, followEvery); err != nil {
			return nil
		}
		msg := followedMsg{id: id, gen: gen}
		if look { // before the events: those of a process that is gone are all there then
			rows, err := e.opts.Library.Sessions(e.ctx, e.opts.User)
			if err != nil {
				msg.err = err
				return msg
			}
			for _, r := range rows {
				if r.ID == id {
					msg.looked, msg.by = true, r.HeldBy
				}
			}
		}
		// Before the events too: what they tell is newer than the state of the run.
		runs, err := e.opts.Library.Runs(e.ctx, id, 1)
		if err != nil {
			msg.err = err
			return msg
		}
		if len(runs) > 0 {
			msg.run = &runs[0]
		}
		msg.events, msg.err = e.opts.Library.Events(e.ctx, id, "", after, newestEvents)
		return msg
	}
}

// follow takes what another process did.
func (p *page) follow(msg followedMsg) tea.Cmd {
	if msg.gen != p.followGen || p.held == 0 {
		return nil
	}
	if msg.err != nil {
		return tea.Batch(p.fail("read the session", msg.err), p.followed())
	}
	stands := msg.run != nil && p.standsThere(*msg.run, msg.events)
	if at := p.debug.pause; at != nil && (!stands || msg.run.ID != p.run.id || msg.run.Step+1 != at.Step) {
		p.pausedThere(nil) // before what came of it
	}
	var cmds []tea.Cmd
	for _, e := range msg.events {
		cmds = append(cmds, p.event(e))
		if e.RunID != "" && e.RunID == p.run.id && p.run.ended.IsZero() {
			p.run.active = true // the other process works on it
		}
	}
	if r := msg.run; r != nil {
		p.run.stored(*r)
		if stands && r.ID == p.run.id {
			p.pausedThere(r.Pause(0))
		}
	}
	if msg.looked {
		if p.free = msg.by == 0; !p.free {
			p.held = msg.by
		}
		if p.free { // nobody works on its run any more, if that has not ended
			p.pausedThere(nil)
			p.run.active = false
			p.columns.trace.Halt(p.run.id)
		}
	}
	return tea.Batch(append(cmds, p.followed())...)
}

// standsThere says that another process works on a run that the debugger holds before a model call; what is known to have come after
// the run was read may tell that it went on.
func (p *page) standsThere(row runtime.RunRow, later []trace.Event) bool {
	return !p.free && row.StandsBeforeModel() && !slices.ContainsFunc(later, func(e trace.Event) bool {
		return e.RunID == row.ID && (e.Step > row.Step || e.Name == trace.RunEnd)
	})
}

// pausedThere takes in what the run of another process stands before, nil for nothing.
func (p *page) pausedThere(pause *trace.Pause) {
	if (pause == nil) == (p.debug.pause == nil) {
		return
	}
	of := cmp.Or(pause, p.debug.pause)
	p.debug.pause = pause
	p.columns.paused(p.run.id, p.run.turn, of.Step, pause, p.env.now)
}

// there says what the run of a session does that another process holds, as far as it is stored; waits: it wants an answer there.
func (p *page) there() (word string, waits bool) {
	r := &p.run
	switch {
	case r.id == "" || r.state.Terminal():
		return "", false
	case p.free:
		return p.T("interrupted"), false
	case r.state == runtime.StateWaitingApproval, r.reason == string(runtime.ReasonOutcome):
		return p.T("waits for an answer there"), true
	case p.debug.pause != nil:
		return p.T("paused there"), true
	case r.active:
		return "", false // its own word says it
	}
	return p.T("as stored: %s", r.word(p.env.opts.Lang, p.env.now)), false // nobody knows yet whether that goes on
}

// heldRow says who holds the session, and what can be done.
func (p *page) heldRow(add addRow) {
	s := p.env.style
	if p.held == 0 {
		return
	}
	head, fact, right := s.T("READ ONLY")+"  ", s.T("open in process %d", p.held), s.T("followed live; Enter asks for it")+" "
	switch {
	case p.free:
		head, fact, right = s.T("FREE")+"  ", s.T("process %d has left it; Enter takes it", p.held), ""
	case len(p.approve.waiting) > 0 && p.approve.waiting[0].Cause == causeBreak, p.debug.pause != nil:
		fact += s.T(", where the debugger holds it")
	case len(p.approve.waiting) > 0:
		fact += s.T(", where it waits for an answer")
	}
	if s.Metrics.Width(head+fact+right)+6 > p.lay.w {
		right = ""
	}
	add([]line.Span{line.Say(theme.Warn, " "+s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, head), line.Say(theme.Text, fact)}, line.Say(theme.Faint, right))
}
