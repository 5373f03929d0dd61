package ui

import (
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/dialog"
	"vitrine/ui/input"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// page is one tab: a session as folded from its events, and what the user does with it.
type page struct {
	env *env
	id  string // empty while it is not known which session it shows

	// What the session is.
	title, model string
	loaded       bool
	known        bool   // it was loaded once
	broken       string // why it could not be opened
	reopens      bool   // and whether that may pass, such as a full disk
	seq          int64  // the last stored event that was taken
	early        []trace.Event
	held         int  // the process that holds it, 0: this one
	free         bool // that process has given it up
	followGen    int
	run          runState
	gauge        gauge
	inbox        []runtime.InboxRow
	pins         []runtime.PinRow
	interrupted  *runtime.RunRow
	approve      approvals
	debug        debugger
	tools        []runtime.ToolInfo // as listed last
	asking       *trace.CompactData // a fold that waits for the user's word
	unsaved      *trace.ErrorData   // an error that could not be stored: what is shown may not be saved
	unseen       bool               // a run ended while the tab was hidden
	seenMark     tabMark            // its sign after the last message

	// What it shows.
	columns columns
	lay     layout
	joined  body

	// What the user does.
	edit      *input.Editor
	history   history
	complete  completion
	try       int // the suggestion of an empty session, -1: none
	focus     pane
	dialog    dialog.Dialog
	behind    dialog.Dialog // comes back when the dialog over it closes
	subject   string        // the session that the dialog is about
	said      say
	sending   sending
	draft     draft // what is kept of the input over restarts
	files     attachments
	recall    []string // what the list of older inputs was made of
	ask       asking
	want      request
	seek      seeking
	mouse     mouse
	marked    marked
	inputMark typedMark
	laid      laid     // the dialog as it was drawn last
	asks      []string // what stood above the input
	goal      goal     // where to go once the session is loaded
}

// request is what a page asks the root for.
type request struct {
	help    bool
	command *command
	arg     string
}

// stopping is said until the run that was cancelled has ended.
const stopping words.Text = "stopping"

// mostEarly bounds the events kept for a page that is still opening; when more come it is read again.
const mostEarly = 10000

func newPage(e *env, id string) *page {
	p := &page{env: e, id: id, model: e.opts.Model, try: -1, edit: input.New(e.dkeys.Edit, e.style.Cells, dialog.Clean)}
	p.edit.SetLabel(e.chipLabels)
	p.columns = newColumns(e)
	return p
}

// restyle takes another look.
func (p *page) restyle() {
	p.edit.SetCells(p.env.style.Cells)
	p.columns.restyle(p.env)
}

// modelName is the model of the session.
func (p *page) modelName() string {
	if p.model == "" {
		return p.env.opts.Model
	}
	return p.model
}

// modelWord is the model for the bar; the offline one has a name in each language.
func (p *page) modelWord() string {
	if name := p.modelName(); name != config.OfflineModel {
		return name
	}
	return p.T("offline")
}

// busy says that a run is on, or a fold between runs.
func (p *page) busy() bool { return p.run.active || p.folding() }

// moves says that something on the page turns or counts.
func (p *page) moves() bool {
	folds, _ := p.columns.chat.Sliding(p.env.now)
	return p.run.active && !p.standing() || folds && p.asking == nil || p.sending.on || p.id == "" || !p.loaded && p.broken == "" ||
		p.gauge.shrinking(p.env.now) || p.unsaved != nil && p.run.active
}

// standing says that the run stands still until somebody answers.
func (p *page) standing() bool {
	if !p.run.active {
		return p.asking != nil
	}
	return p.asking != nil || p.debug.pause != nil || p.run.state == runtime.StateWaitingApproval && len(p.approve.waiting) > 0
}

// stand follows since when the run stands still: that time is not its own, and nothing moves.
func (p *page) stand() { p.run.stand(p.run.active && p.standing(), p.env.now) }

// slides says that something moves faster than spinners turn.
func (p *page) slides() bool {
	_, fast := p.columns.chat.Sliding(p.env.now)
	return (fast || p.gauge.shrinking(p.env.now)) && !p.env.style.Theme.Reduced()
}

// folding says that the context is being folded.
func (p *page) folding() bool { return p.columns.chat.Folding() }

// writable says that this process may change the session now.
func (p *page) writable() bool { return p.loaded && p.held == 0 }

// whyNot says why it may not.
func (p *page) whyNot() string {
	switch {
	case p.broken != "":
		return p.broken
	case !p.loaded:
		return p.T("the session is still opening")
	}
	if p.free {
		return p.T("read only until it is taken")
	}
	return p.T("read only: the session is open in process %d", p.held)
}

// mark is the tab's sign.
func (p *page) mark() tabMark {
	failed := p.run.state == runtime.StateFailed || p.run.state == runtime.StateExhausted
	switch {
	case p.run.active && (p.run.state == runtime.StateWaitingApproval || p.debug.pause != nil), p.needsUser():
		return markNeedsYou
	case p.busy():
		return markRunning
	case p.broken != "", failed && p.unseen:
		return markFailed
	case p.unseen:
		return markDone
	}
	return markNone
}

// opened takes a session as stored.
func (p *page) opened(msg openedMsg) tea.Cmd {
	p.ask.coming = false
	if msg.err != nil {
		p.broken, p.reopens = p.T("cannot open: %s", p.env.opts.Lang.Tell(msg.err.Error())), !errors.Is(msg.err, runtime.ErrNotFound)
		if p.reopens {
			p.broken += p.T("; Enter tries again")
		}
		if p.sending.ahead {
			return p.sendAhead()
		}
		return p.tell(theme.Error, p.broken)
	}
	s := msg.snap
	p.title, p.model = s.Session.Title, s.Session.Model
	p.broken, p.reopens, p.loaded, p.known, p.seq, p.held, p.free = "", false, true, true, s.Seq, s.HeldBy, false
	p.gauge.now, p.gauge.from, p.inbox, p.unsaved = s.Meter, trace.Meter{}, s.Inbox, nil
	if !s.Running {
		p.asking = nil
	}
	p.run, p.interrupted = runState{}, nil
	for _, e := range msg.events {
		p.run.apply(e)
	}
	if p.run.active && (s.Run == nil || s.Run.ID != p.run.id) {
		p.run.active, p.run.over = false, true // its end was told of before the events that were read
	}
	if s.Run != nil {
		p.run.resume(*s.Run, s.Running, p.env.now)
		if !s.Running && s.HeldBy == 0 {
			p.interrupted = s.Run
		}
	}
	p.approve.takeCalls(s, msg.events)
	for _, e := range msg.events {
		p.debug.follow(e)
	}
	p.debug.at, p.debug.pause, p.ask.later = s.Break, s.Pause, false
	p.unfocusQuestion()
	if strings.HasSuffix(p.said.text, p.T(askingWhether)) {
		if p.said.text = ""; p.held != 0 {
			p.said.text = p.whyNot()
		}
	}
	var sent []string
	for _, m := range s.Messages {
		if m.Kind == llm.KindUser {
			sent = append(sent, ownWords(m.Content))
		}
	}
	p.history.load(sent)
	p.columns.load(s, msg.events, msg.used)
	p.pins = s.Pins
	if p.seek.on {
		p.columns.query(p.seek.query)
		p.seek.home.past = nil
	}
	early := p.early
	p.early = nil
	cmds := []tea.Cmd{p.followed(), p.bringBack(msg.draft, s), p.toGoal()}
	for _, e := range early {
		if e.Seq == 0 || e.Seq > s.Seq {
			cmds = append(cmds, p.event(e))
		}
	}
	if s.Notice != "" && p.interrupted == nil && p.held == 0 {
		cmds = append(cmds, p.tell(theme.Text, s.Notice))
	}
	return tea.Batch(append(cmds, p.sendAhead())...)
}

// reload reads the session again: events were missed.
func (p *page) reload() tea.Cmd {
	p.loaded = false
	if p.id == "" {
		p.broken, p.reopens = "", false
		return p.env.newTab(nil, "")
	}
	return p.env.open(p.id, p.reopens) // one that could not be opened may not have been made
}

// event folds one event in.
func (p *page) event(e trace.Event) tea.Cmd {
	if !p.loaded {
		if len(p.early) < mostEarly {
			p.early = append(p.early, e)
		} else if e.Seq > 0 && p.broken == "" {
			p.early = nil
			return p.reload()
		}
		return nil
	}
	if e.Seq > 0 {
		if e.Seq <= p.seq {
			return nil
		}
		p.seq, p.unsaved = e.Seq, nil
	}
	p.run.apply(e)
	p.columns.apply(e)
	p.debugged(e)
	p.pinned(e)
	switch d := e.Data.(type) {
	case trace.StateData:
		if d.Meter != nil {
			p.gauge.set(*d.Meter, e.TS)
		}
		if d.Reason == string(runtime.ReasonOutcome) && p.held == 0 {
			p.ask.coming = true
			return p.env.openSoon(p.id) // the run was left, for a word on a call
		}
		if lost(e) {
			return p.env.lookSoon(p.id)
		}
	case trace.ApprovalData:
		p.approval(d)
	case trace.CompactData:
		return p.compact(e, d)
	case trace.RunStartData:
		p.interrupted = nil
		if p.held != 0 {
			p.history.add(ownWords(d.Input))
			p.history.sent = ownWords(d.Input)
		}
	case trace.RunEndData:
		p.interrupted, p.asking, p.approve, p.ask.later = nil, nil, approvals{}, false
		p.unfocusQuestion()
		p.unseen = true
		if p.said.text == p.T(stopping) {
			p.said.text = ""
		}
	case trace.SessionData:
		p.changed(d)
	case trace.InputQueuedData:
		p.queue(d, e.TS)
	case trace.ErrorData:
		switch {
		case d.Code == "saved":
			p.unsaved = nil
		case !d.Stored:
			p.unsaved = &d
		}
	}
	return nil
}

// changed takes a change of the session itself.
func (p *page) changed(d trace.SessionData) {
	switch d.Action {
	case "renamed", "created":
		if d.Title != "" {
			p.title = d.Title
		}
	case "model":
		p.model = d.Model
	}
}

// queue keeps what waits for its turn.
func (p *page) queue(d trace.InputQueuedData, at time.Time) {
	rest := p.inbox[:0:0]
	for _, r := range p.inbox {
		if r.ID != d.ID {
			rest = append(rest, r)
		}
	}
	if d.Action == "queued" {
		rest = append(rest, runtime.InboxRow{ID: d.ID, SessionID: p.id, Text: d.Text, CreatedAt: at})
	}
	p.inbox = rest
}

// tell shows a line in the place of the status for a while.
func (p *page) tell(role theme.Role, text string) tea.Cmd { return p.tellFor(saidFor, role, text) }

func (p *page) tellFor(d time.Duration, role theme.Role, text string) tea.Cmd {
	p.said = say{text: strings.ReplaceAll(text, "\n", "; "), role: role, gen: p.said.gen + 1}
	return p.env.after(d, expiredMsg{p.id, p.said.gen})
}

// show opens a dialog.
func (p *page) show(d dialog.Dialog, subject string) tea.Cmd {
	p.dialog, p.behind, p.subject = d, nil, subject
	return nil
}

// T is one of our texts in the screen's language; see package words.
func (p *page) T(t words.Text, args ...any) string { return p.env.style.T(t, args...) }

// empty says that nothing was said in the session yet.
func (p *page) empty() bool {
	return p.loaded && p.run.id == "" && p.columns.chat.Empty() && len(p.inbox) == 0
}

// fail tells of something that did not work, with what it was.
func (p *page) fail(what words.Text, err error) tea.Cmd {
	if errors.Is(err, runtime.ErrFenced) && p.held == 0 {
		return tea.Batch(p.tell(theme.Error, p.T("%s: another process has taken the session over", p.T(what))), p.reload())
	}
	if errors.Is(err, runtime.ErrNotFound) {
		return p.tell(theme.Error, p.T("%s: it is not there any more", p.T(what)))
	}
	return p.tell(theme.Error, p.T("%s: %s", p.T(what), p.env.opts.Lang.Tell(err.Error())))
}
