package ui

import (
	"encoding/json"
	"maps"
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/dialog"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here the user is asked whether a call may run, and what became of one whose outcome nobody knows.

// keepingWord is what keeps a word on one of several calls.
const keepingWord words.Text = "keep the word"

// approvals is what waits for the user's word in a session.
type approvals struct {
	waiting  []trace.ApprovalData // in call order
	unknown  []runtime.CallRow    // calls whose outcome nobody knows
	outcomes map[string]runtime.Outcome
	drafts   map[string]string // what was typed into a dialog about a call and not sent, by the dialog and the call's row
}

// approval follows a question, or its answer.
func (p *page) approval(d trace.ApprovalData) {
	a := &p.approve
	at := slices.IndexFunc(a.waiting, func(w trace.ApprovalData) bool { return w.ID == d.ID })
	switch {
	case d.Phase == "asked" && at >= 0:
		a.waiting[at] = d
	case d.Phase == "asked":
		if len(a.waiting) == 0 {
			p.ask.later = false
		}
		a.waiting = append(a.waiting, d)
	case at >= 0:
		a.waiting = slices.Delete(a.waiting, at, at+1)
	}
	slices.SortStableFunc(a.waiting, func(x, y trace.ApprovalData) int { return x.Place - y.Place })
	p.unfocusQuestion()
}

// takeCalls finds what waits for the user in a session as stored.
func (a *approvals) takeCalls(s runtime.Snapshot, events []trace.Event) {
	*a = approvals{outcomes: map[string]runtime.Outcome{}, drafts: a.drafts}
	maps.Copy(a.outcomes, s.Outcomes)
	if s.Run == nil {
		return
	}
	if !s.Running && s.HeldBy == 0 {
		a.unknown = slices.DeleteFunc(runtime.UnknownCalls(s.Calls), func(c runtime.CallRow) bool { return s.Outcomes[c.ID] != "" })
	}
	for _, c := range s.Calls {
		if c.Status != runtime.CallWaiting || c.Result != nil {
			continue
		}
		d := trace.ApprovalData{Phase: "asked", ID: c.ID, CallID: c.CallID, Tool: c.Name, Effect: string(c.Effect), Arguments: json.RawMessage(c.Arguments)}
		for _, e := range events {
			if was, ok := e.Data.(trace.ApprovalData); ok && was.ID == c.ID && was.Phase == "asked" {
				d.Preview, d.Cause = was.Preview, was.Cause
			}
		}
		a.waiting = append(a.waiting, d)
	}
	for i := range a.waiting {
		a.waiting[i].Place, a.waiting[i].Of = i+1, len(a.waiting)
	}
}

// decide gives the user's word on a call. A run that waited through a restart goes on with it.
func (p *page) decide(d runtime.Decision) tea.Cmd {
	a := &p.approve
	at := slices.IndexFunc(a.waiting, func(w trace.ApprovalData) bool { return w.ID == d.Call })
	if at < 0 {
		return p.tell(theme.Text, p.T("that call does not wait any more"))
	}
	a.waiting = slices.Delete(a.waiting, at, at+1)
	p.ask.steps = p.ask.byUser
	p.unfocusQuestion()
	return p.goOn(runtime.Setting{Decide: []runtime.Decision{d}}, deciding)
}

// goOn gives the user's word to the run that waits for it. One that was interrupted is taken up with it.
func (p *page) goOn(change runtime.Setting, what words.Text) tea.Cmd {
	if p.interrupted != nil {
		yes := true
		change.Resume, what = &yes, resuming
		p.interrupted = nil
	}
	return p.env.set(p.id, what, change)
}

// approveKey takes a key of the question whether a call may run.
func (p *page) approveKey(k tea.KeyPressMsg) tea.Cmd {
	keys, d := p.env.keys, p.approve.waiting[0]
	switch {
	case key.Matches(k, keys.Yes):
		return p.decide(runtime.Decision{Call: d.ID, Allow: true})
	case key.Matches(k, keys.Always):
		return p.decide(runtime.Decision{Call: d.ID, Allow: true, Always: true})
	case key.Matches(k, keys.Edit):
		return p.editCall(d)
	case key.Matches(k, keys.No):
		return p.show(dialog.NewPrompt(kindDeny, p.T("DENY"), p.T("why, for the model; may be empty"), p.approve.drafts[draftOf(kindDeny, d.ID)], p.env.dkeys).Does(p.T("deny##Enter does")), d.ID)
	case key.Matches(k, keys.Whole):
		return p.show(dialog.NewText(kindApprove, p.T("APPROVE")+"  "+d.Tool, approvalText(p.env.opts.Lang, d), p.env.dkeys), "")
	}
	return nil
}

// putAside takes the question away until the user comes back to it; the run waits.
func (p *page) putAside() tea.Cmd {
	p.ask.later = true
	p.focusOn(paneInput)
	return p.tell(theme.Text, p.T("the run waits for you; Ctrl+X A or Tab asks again"))
}

// outcomeKey takes a key of the question what became of a call.
func (p *page) outcomeKey(k tea.KeyPressMsg) tea.Cmd {
	keys := p.env.keys
	var word runtime.Outcome
	switch {
	case key.Matches(k, keys.Yes):
		word = runtime.OutcomeHappened
	case key.Matches(k, keys.No):
		word = runtime.OutcomeNot
	case key.Matches(k, keys.Again):
		word = runtime.OutcomeAgain
	case key.Matches(k, keys.GiveUp):
		return p.settle(false, nil)
	case key.Matches(k, keys.Whole):
		c := p.approve.unknown[0]
		return p.show(dialog.NewText(kindApprove, p.T("RAN, PERHAPS")+"  "+c.Name, approvalText(p.env.opts.Lang, outcomeData(c)), p.env.dkeys), "")
	default:
		return nil
	}
	a := &p.approve
	id := a.unknown[0].ID
	a.outcomes[id] = word
	if a.unknown = a.unknown[1:]; len(a.unknown) > 0 { // kept for when the others are there too
		return p.env.set(p.id, keepingWord, runtime.Setting{Outcomes: map[string]runtime.Outcome{id: word}})
	}
	return p.settle(true, a.outcomes)
}

// settle goes on with the interrupted run, or gives it up.
func (p *page) settle(yes bool, outcomes map[string]runtime.Outcome) tea.Cmd {
	p.interrupted, p.debug.pause, p.approve = nil, nil, approvals{drafts: p.approve.drafts}
	p.focusOn(paneInput)
	what := givingUp
	if yes {
		what = resuming
	}
	return p.env.set(p.id, what, runtime.Setting{Resume: &yes, Outcomes: outcomes})
}

// nextWaiting goes to the next question over all tabs, the one of this tab last.
func (m *Model) nextWaiting() tea.Cmd {
	for i := 1; i <= len(m.pages); i++ {
		at := (m.active + i) % len(m.pages)
		p := m.pages[at]
		if !p.needsUser() {
			continue
		}
		p.goToQuestion()
		if at == m.active {
			return nil
		}
		return m.goTo(at)
	}
	return m.page().tell(theme.Text, m.T("nothing waits for you"))
}
