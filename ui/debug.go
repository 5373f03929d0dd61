package ui

import (
	"slices"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/dialog"
	"vitrine/ui/line"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here is the step debugger: where runs stand still, and what the user does then.

// causeBreak is the cause of a question that the debugger asks.
const causeBreak = "break"

// debugger is what a page knows of it.
type debugger struct {
	at    runtime.Break
	pause *trace.Pause // the model call that the run stands before
	names []string     // tools that were seen, sorted
}

// Words for what settings were to do.
const (
	stepping     words.Text = "go on"
	breaking     words.Text = "change where runs stand still"
	stoppingCall words.Text = "stop the call"
)

// follow takes what events tell of it.
func (d *debugger) follow(e trace.Event) {
	switch data := e.Data.(type) {
	case trace.StateData:
		d.pause = data.Pause
	case trace.SessionData:
		if data.Action == "break" {
			d.at = breakOf(data)
		}
	case trace.ToolCallData:
		d.saw(data.Tool)
	case trace.ApprovalData:
		d.saw(data.Tool)
	case trace.RunEndData:
		d.pause = nil
	}
}

// debugged follows the debugger; another question is not put aside with the one before it.
func (p *page) debugged(e trace.Event) {
	before := p.debug.pause
	p.debug.follow(e)
	if p.debug.pause != nil && before == nil {
		p.ask.later = false
	}
	p.unfocusQuestion()
}

func (d *debugger) saw(tool string) {
	if at, known := slices.BinarySearch(d.names, tool); !known && tool != "" {
		d.names = slices.Insert(d.names, at, tool)
	}
}

// breakOf reads how an event tells a break.
func breakOf(d trace.SessionData) runtime.Break {
	switch {
	case d.Tool != "" && d.Title == d.Tool:
		return runtime.Break{Tool: d.Tool}
	case d.Title == "next":
		return runtime.Break{Next: true}
	case d.Title == "model":
		return runtime.Break{Model: true}
	}
	return runtime.Break{Tool: d.Title} // older events have the name alone
}

// breakText says where runs stand still; empty: nowhere.
func breakText(s line.Style, b runtime.Break) string {
	switch {
	case b.Next:
		return s.T("break: next call")
	case b.Model:
		return s.T("break: model call")
	case b.Tool != "":
		return s.T("break: %s", s.Text(b.Tool))
	}
	return ""
}

// setBreak arms the debugger, for every call or those of a tool; without an argument it switches.
func (m *Model) setBreak(arg string) tea.Cmd {
	p := m.page()
	if !p.writable() {
		return p.tell(theme.Error, p.whyNot())
	}
	b, say := runtime.Break{Tool: arg}, p.T("the run stands still before the next call of %s", arg)
	switch {
	case arg == "off", arg == "" && p.debug.at.On():
		b, say = runtime.Break{}, p.T("runs do not stand still any more")
	case arg == "", arg == "next":
		b, say = runtime.Break{Next: true}, p.T("the run waits for you before its next call; Ctrl+X B takes that back")
	}
	return tea.Batch(m.env.set(p.id, breaking, runtime.Setting{Break: &b}), p.tell(theme.Text, say))
}

// debugKey takes a key while the run stands still.
func (p *page) debugKey(k tea.KeyPressMsg) tea.Cmd {
	keys := p.env.keys
	switch {
	case key.Matches(k, keys.Step):
		return p.step(runtime.Break{Next: true})
	case key.Matches(k, keys.RunOn):
		return p.step(runtime.Break{})
	case key.Matches(k, keys.Until):
		return p.env.until(p.id)
	case key.Matches(k, keys.GiveUp):
		if p.interrupted != nil {
			return p.settle(false, nil)
		}
		return p.cancelRun()
	}
	if p.question() == questionPause {
		return p.env.context(p.id)
	}
	d := p.approve.waiting[0]
	switch {
	case key.Matches(k, keys.Edit):
		return p.editCall(d)
	case key.Matches(k, keys.Answer):
		return p.show(dialog.NewEditor(kindAnswer, p.T("ANSWER"), p.T("for %s, which does not run; text or JSON", d.Tool), p.approve.drafts[draftOf(kindAnswer, d.ID)], p.env.dkeys), d.ID)
	case key.Matches(k, keys.Whole):
		return p.show(dialog.NewText(kindApprove, p.T("PAUSED  before %s", d.Tool), approvalText(p.env.opts.Lang, d), p.env.dkeys), "")
	}
	return nil
}

// step lets the run go on, to where it stands still next.
func (p *page) step(then runtime.Break) tea.Cmd {
	st := runtime.Step{Then: then}
	switch p.question() {
	case questionHeld:
		st.Call = p.approve.waiting[0].ID
		p.approve.waiting = p.approve.waiting[1:]
	case questionPause:
		p.debug.pause = nil
	default:
		return p.tell(theme.Text, p.T("the run does not stand still any more"))
	}
	p.ask.steps = p.ask.byUser
	p.unfocusQuestion()
	return p.goOn(runtime.Setting{Step: &st}, stepping)
}

// until reads which tools there are.
func (e *env) until(id string) tea.Cmd {
	return func() tea.Msg {
		v, err := e.opts.Agent.Context(e.ctx, id)
		return untilMsg{id, v.Tools, err}
	}
}

// chooseUntil asks for the tool to run until. When the tools cannot be listed those that were seen are.
func (p *page) chooseUntil(msg untilMsg) tea.Cmd {
	if p.dialog != nil || p.question() != questionHeld && p.question() != questionPause {
		return nil
	}
	effects := map[string]string{}
	if msg.err == nil {
		for _, t := range msg.list {
			p.debug.saw(t.Name)
			effects[t.Name] = p.T(effectWords(t.Effect))
		}
	}
	if len(p.debug.names) == 0 {
		return p.show(dialog.NewPrompt(kindUntil, p.T("RUN UNTIL"), p.T("the next call of this tool"), "", p.env.dkeys).Does(p.T("run##Enter does")), p.id)
	}
	items := make([]dialog.Item, 0, len(p.debug.names))
	for _, name := range p.debug.names {
		items = append(items, dialog.Item{ID: name, Label: name, Cells: []dialog.Cell{{Text: effects[name], Left: true, Role: theme.Faint}}})
	}
	return p.show(dialog.NewPicker(kindUntil, p.T("RUN UNTIL"), "", items, false, p.env.dkeys), p.id)
}

// pauseRows tell what the model would be sent.
func (p *page) pauseRows(add func([]line.Span, ...line.Span), mark string) {
	s, d := p.env.style, p.debug.pause
	add([]line.Span{line.Say(theme.Accent, mark), line.Say(theme.Warn, s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, s.T("PAUSED")+"  "),
		line.Say(theme.Text, s.T("before the model call, %s", s.Text(d.Model)))}, line.Say(theme.Faint, s.T("step %d", d.Step)+" "))
	keys := p.keyRows("")
	fact := func(name words.Text, value string) []line.Span {
		return []line.Span{line.Say(theme.Faint, "   "+s.Metrics.Fit(s.T(name), 7)), line.Say(theme.Text, value)}
	}
	body := [][]line.Span{fact("sent", s.N(d.Messages, "%d message, %s tokens", "%d messages, %s tokens", d.Messages, theme.Tokens(d.Tokens, true)))}
	if d.New > 0 {
		body = append(body, fact("new##messages", s.N(d.New, "%d message since the request before", "%d messages since the request before", d.New)))
	}
	if l := d.Last; l != nil {
		body = append(body, fact("before##last step", stepText(s, l)))
	}
	for i, row := range body {
		if i < p.lay.h/3-1-len(keys) {
			add(row)
		}
	}
	for _, k := range keys {
		add(k)
	}
}

// stepText says what the step before a pause did.
func stepText(s line.Style, d *trace.StepDone) string {
	say := s.N(d.Calls, "step %d: %d call", "step %d: %d calls", d.Step, d.Calls)
	if d.Failed > 0 {
		say += s.T(", %d failed", d.Failed)
	}
	say += s.T(", ##between facts") + s.Theme.Duration(time.Duration(d.ModelMS)*time.Millisecond)
	if d.FirstMS > 0 {
		say += " " + s.T("(first token %s)", s.Theme.Duration(time.Duration(d.FirstMS)*time.Millisecond))
	}
	if d.Tokens > 0 {
		say += s.T(", %s tokens", theme.Tokens(d.Tokens, false))
	}
	return say
}

// stopCall stops the call that is selected in the trace.
func (p *page) stopCall() tea.Cmd {
	id := p.columns.traced().RunningCall()
	switch {
	case id == "":
		return p.tell(theme.Text, p.T("x stops a tool call that runs: choose one"))
	case !p.writable():
		return p.tell(theme.Error, p.whyNot())
	}
	return p.env.set(p.id, stoppingCall, runtime.Setting{StopCall: id})
}
