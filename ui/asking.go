package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/ui/line"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here is decided when a question above the input takes keys, and which.
//
// A letter answers at once only where the user gave the question the focus, by Tab or a click. The question also lights by
// itself, when it was in view and no key came for half a second and the input is empty. A letter goes to the input then, as it
// would begin a message; while it stands there alone Enter gives it to the question. So nothing that is typed answers, at
// whatever pace, and an answer is two keys: Tab and the letter, or the letter and Enter.
//
// Who steps through a run by a key goes on with it as fast as they like: it answers the debugger's next stop at once, no other
// question, and is no letter of the input when it comes before that stop.
//
// Nor does what is typed take the place of an answer before the question can have been seen: it stays in the input then, and the
// next Enter sends it.

// asking is how far the question of a page is with the user.
type asking struct {
	id       string    // of the question in view; empty: none
	since    time.Time // when it came into view
	settled  bool      // it stood in view without a key for long enough to have been seen
	byUser   bool      // the user gave it the focus
	steps    bool      // the user did, for the question before, and touched nothing since
	follows  bool      // it has the focus for that
	again    bool      // it is a stop of the debugger that came of a step: the next step need not wait
	declined string    // the question that the user turned away from, to the input
	later    bool      // it was put aside
	key      time.Time // the last key of the page
	armed    time.Time // the rest that a timer runs for
	gen      int
	letter   tea.KeyPressMsg // one of the answers to a question that had lit by itself, now in the input
	letterOf string          // that question

	coming bool      // a question will come into view in a moment
	before bool      // what is in the input was begun before the question can have been seen
	warned string    // the question over which an input was held back
	backAt time.Time // when one was
}

// question is what stands above the input to be answered.
type question int

const (
	noQuestion question = iota
	questionResume
	questionFold
	questionApprove
	questionHeld  // a call that the debugger stopped
	questionPause // the debugger, before a model call
	questionOutcome
)

func (p *page) question() question {
	switch {
	case p.held != 0:
		return noQuestion
	case p.asking != nil:
		return questionFold
	case len(p.approve.unknown) > 0 && p.interrupted != nil:
		return questionOutcome
	case p.ask.later && p.puttable():
		return noQuestion
	case len(p.approve.waiting) > 0 && p.approve.waiting[0].Cause == causeBreak:
		return questionHeld
	case len(p.approve.waiting) > 0:
		return questionApprove
	case p.debug.pause != nil:
		return questionPause
	case p.interrupted != nil:
		return questionResume
	}
	return noQuestion
}

// puttable says that there is a question that can be put aside.
func (p *page) puttable() bool { return len(p.approve.waiting) > 0 || p.debug.pause != nil }

// needsUser says that a question stands, or was put aside.
func (p *page) needsUser() bool { return p.held == 0 && (p.puttable() || p.question() != noQuestion) }

// needsWord says that calls wait for the user: whether they may run, or what became of them.
func (p *page) needsWord() bool { return len(p.approve.waiting) > 0 || len(p.approve.unknown) > 0 }

// questionID tells questions apart.
func (p *page) questionID() string {
	switch q := p.question(); q {
	case noQuestion:
		return ""
	case questionFold:
		return "fold " + p.asking.ID
	case questionOutcome:
		return "outcome " + p.approve.unknown[0].ID
	case questionApprove, questionHeld:
		return "call " + p.approve.waiting[0].ID
	case questionPause:
		return fmt.Sprintf("pause %s %d", p.run.id, p.debug.pause.Step)
	default:
		return "resume " + p.interrupted.ID
	}
}

// choice is one answer to a question.
type choice struct {
	keys         key.Binding
	label, short words.Text // short where there is little room; empty: as the label
}

// choices are the answers to the question that stands.
func (p *page) choices() []choice {
	k := p.env.keys
	switch p.question() {
	case questionFold:
		return []choice{{keys: k.Yes, label: "fold"}, {keys: k.No, label: "not now"}, {keys: k.Whole, label: "whole"}}
	case questionApprove:
		return []choice{{keys: k.Yes, label: "once"}, {keys: k.Always, label: "always here", short: "always"}, {keys: k.Edit, label: "edit"},
			{keys: k.No, label: "deny"}, {keys: k.Whole, label: "all"}, {keys: k.Escape, label: "later"}}
	case questionHeld:
		return []choice{{keys: k.Step, label: "step"}, {keys: k.RunOn, label: "run on"}, {keys: k.Until, label: "run until", short: "until"}, {keys: k.Edit, label: "edit"},
			{keys: k.Answer, label: "answer"}, {keys: k.GiveUp, label: "stop"}, {keys: k.Whole, label: "all"}, {keys: k.Escape, label: "later"}}
	case questionPause:
		return []choice{{keys: k.Step, label: "step"}, {keys: k.RunOn, label: "run on"}, {keys: k.Until, label: "run until", short: "until"},
			{keys: k.Request, label: "all of it", short: "all"}, {keys: k.GiveUp, label: "stop"}, {keys: k.Escape, label: "later"}}
	case questionOutcome:
		return []choice{{keys: k.Yes, label: "it ran"}, {keys: k.No, label: "it did not"}, {keys: k.Again, label: "run it again", short: "again"}, {keys: k.GiveUp, label: "give up"},
			{keys: k.Whole, label: "all"}}
	case questionResume:
		return []choice{{keys: k.Yes, label: "resume"}, {keys: k.GiveUp, label: "give up"}}
	}
	return nil
}

// keyRows draw the answers' keys, in as many rows as they need.
func (p *page) keyRows(lead string) [][]line.Span {
	s, gap := p.env.style, "  "
	if p.lay.w < 60 {
		gap = " "
	}
	role, bold := theme.Faint, false
	if p.focus == paneQuestion {
		role, bold = theme.Accent, true
	}
	chosen, sure := p.chosen()
	first := []line.Span{line.Say(theme.Text, " "+lead)}
	rows := [][]line.Span{first}
	for _, c := range p.choices() {
		name, label := c.keys.Help().Key, s.T(c.label)
		if c.short != "" && p.lay.w < 60 {
			label = s.T(c.short)
		}
		item := []line.Span{line.Weight(role, bold, name), line.Say(theme.Text, " "+label+gap)}
		last := len(rows) - 1
		if s.Width(rows[last]...)+s.Width(item...)-len(gap) >= p.lay.w && len(rows[last]) > 1 {
			rows = append(rows, []line.Span{line.Say(theme.Text, " ")})
			last++
		}
		rows[last] = append(rows[last], item...)
	}
	if sure { // the same rows, so that nothing shifts
		rows[0] = []line.Span{line.Bold(theme.Accent, " Enter"), line.Say(theme.Strong, " "+s.T(chosen.label)), line.Say(theme.Text, gap+s.T("Esc takes it back")+gap+s.T("or type on"))}
		for i := range rows[1:] {
			rows[i+1] = []line.Span{line.Say(theme.Text, " ")}
		}
	}
	return rows
}

// watch follows which question is in view, and lets one that is take the focus after a rest.
func (p *page) watch(seen bool) tea.Cmd {
	a := &p.ask
	a.before = a.before && !p.edit.Empty()
	if !seen {
		a.id = ""
		if p.focus == paneQuestion && !a.byUser {
			p.focusOn(paneInput)
		}
		return nil
	}
	if id := p.questionID(); id != a.id {
		p.comes(id)
		a.again = a.steps && p.stands()
		switch {
		case p.focus == paneQuestion && (id == "" || !a.byUser):
			p.focusOn(paneInput)
		case a.steps && id != "" && p.stands() && p.restful():
			p.focusOn(paneQuestion) // who steps by a key has the next stop under it
			a.byUser, a.steps, a.follows = true, false, true
		}
	}
	a.before = a.before || a.id != "" && !a.settled && !p.edit.Empty()
	if a.id == "" || !p.restful() {
		return nil
	}
	rest := a.quietSince()
	if rest.Equal(a.armed) {
		return nil
	}
	a.armed = rest
	a.gen++
	return p.env.after(calmAfter-p.env.now.Sub(rest), calmMsg{p.id, a.gen})
}

// restful says that nobody does anything else on the page.
func (p *page) restful() bool {
	return p.focus == paneInput && p.edit.Empty() && p.dialog == nil && !p.sending.on && !p.complete.open() && p.try < 0
}

// calmed gives the question the focus after a rest.
func (p *page) calmed(msg calmMsg) {
	a := &p.ask
	if msg.gen != a.gen || a.id == "" || a.declined == a.id {
		return
	}
	if !p.restful() {
		a.armed = time.Time{}
		return
	}
	p.focusOn(paneQuestion)
}

// goToQuestion is the user's way to the question.
func (p *page) goToQuestion() {
	p.ask.later = false
	p.focusOn(paneQuestion)
	if id := p.questionID(); id != p.ask.id {
		p.comes(id)
	}
	p.ask.byUser, p.ask.follows, p.ask.before = true, false, p.ask.before && !p.ask.settled
}

// comes notes that a question came into view, or that the one before went.
func (p *page) comes(id string) {
	if t := p.said.text; t == p.T(soonText) || t == p.T(stepSoonText) { // which was of that one
		p.said.text = ""
	}
	p.ask.id, p.ask.since, p.ask.settled, p.ask.before = id, p.env.now, false, !p.edit.Empty()
}

// leaveQuestion is the user's way from the question to the input: it does not take the focus again by itself.
func (p *page) leaveQuestion() {
	p.ask.declined = p.questionID()
	p.focusOn(paneInput)
}

// unfocusQuestion takes the focus from a question that is gone.
func (p *page) unfocusQuestion() {
	if p.focus == paneQuestion && p.question() == noQuestion {
		p.focusOn(paneInput)
	}
}

// quietSince is when the question came into view, or the last key after that.
func (a *asking) quietSince() time.Time {
	if a.key.After(a.since) {
		return a.key
	}
	return a.since
}

// touched is anything that the user did on the page, before it takes effect. Keys that follow each other from before the question
// came are of one hand movement, however long it lasts; a dialog may hide it.
func (p *page) touched() {
	a := &p.ask
	a.settled = a.settled || a.id != "" && p.dialog == nil && p.env.now.Sub(a.quietSince()) >= calmAfter
	a.key, a.steps, a.again = p.env.now, false, false
}

// stepSoonText is said of the key of a step that came before the stop that it was for.
const stepSoonText words.Text = "the run is not at its next stop yet: that key did nothing"

// aheadOfStop says that a key is one of several steps in a row, and that the run has not come to its next stop yet, or to another question
// first. It does nothing then; a message that is begun after a rest may have that letter.
func (p *page) aheadOfStop(k tea.KeyPressMsg) bool {
	a := &p.ask
	if !a.steps || !key.Matches(k, p.env.keys.Step) || p.stands() || !p.restful() || p.env.now.Sub(a.key) >= calmAfter {
		return false
	}
	a.key = p.env.now
	return true
}

// soonText is said of a key that came too soon to be an answer.
const soonText words.Text = "the question has just come up: that key answered nothing"

// stands says that the run stands still for the debugger.
func (p *page) stands() bool {
	q := p.question()
	return q == questionHeld || q == questionPause
}

// answers says that a key is one of the question's.
func (p *page) answers(k tea.KeyPressMsg) bool {
	return slices.ContainsFunc(p.choices(), func(c choice) bool { return key.Matches(k, c.keys) })
}

// questionKey takes a key while the question has the focus. What is not for it goes to the input.
func (p *page) questionKey(k tea.KeyPressMsg) tea.Cmd {
	a := &p.ask
	switch {
	case !p.answers(k):
		p.focusOn(paneInput)
		return p.inputKey(k)
	case !a.settled && !(a.again && p.stands()):
		return p.tell(theme.Warn, p.T(soonText))
	case a.byUser || k.Text == "":
		return p.answer(k)
	}
	p.focusOn(paneInput)
	a.letter, a.letterOf = k, a.id
	return p.inputKey(k)
}

// chosen is the answer whose letter stands in the input alone, typed when the question had lit; Enter gives it.
func (p *page) chosen() (c choice, ok bool) {
	a := &p.ask
	if a.letter.Text == "" || a.letter.Text != p.edit.Text() || p.focus != paneInput || a.letterOf != p.questionID() {
		return choice{}, false
	}
	for _, c := range p.choices() {
		if key.Matches(a.letter, c.keys) {
			return c, true
		}
	}
	return choice{}, false
}

// answering says that Enter would answer.
func (p *page) answering() bool {
	_, ok := p.chosen()
	return ok
}

// askedText is said of an input that was entered as a question came: it was meant for neither, or for the question.
const askedText words.Text = "a question has come up: Tab answers it, Enter again sends the text"

// tooSoon says that a text may not be sent, because a question stands that it would take the place of and that may not have been
// seen: there was no rest since it came into view, or not before the text was begun; or that the text was meant as the answer: it
// reads like one, and the question had not lit. Who enters it again after a while means it.
func (p *page) tooSoon(text string) bool {
	a, now := &p.ask, p.env.now
	id := p.questionID()
	switch {
	case a.coming:
		return true
	case id == "":
		return false
	case !a.settled, now.Sub(a.backAt) < calmAfter:
		return true
	}
	return a.warned != id && (a.before || a.letterOf != id && p.readsAsAnswer(text))
}

// readsAsAnswer says that a text is the key of one of the question's answers, or what that is called.
func (p *page) readsAsAnswer(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return slices.ContainsFunc(p.choices(), func(c choice) bool {
		name, _, _ := strings.Cut(c.keys.Help().Desc, ":")
		return slices.Contains([]string{strings.ToLower(c.keys.Help().Key), name, string(c.label), string(c.short), p.T(c.label), p.T(c.short)}, text)
	})
}

// holdBack leaves a text in the input in place of sending it, and says why.
func (p *page) holdBack(text string) tea.Cmd {
	p.ask.warned, p.ask.backAt = p.questionID(), p.env.now
	say := p.tell(theme.Warn, p.T(askedText))
	if p.holds(text) {
		return say
	}
	return tea.Batch(say, p.putBefore(text))
}

// unchoose takes the letter out of the input, and gives it.
func (p *page) unchoose() (k tea.KeyPressMsg, cmd tea.Cmd) {
	k, p.ask.letter = p.ask.letter, tea.KeyPressMsg{}
	return k, p.setInput("")
}

// answer takes a key of the question above the input.
func (p *page) answer(k tea.KeyPressMsg) tea.Cmd {
	keys := p.env.keys
	switch p.question() {
	case questionFold:
		switch {
		case key.Matches(k, keys.Yes):
			return p.answerFold(true)
		case key.Matches(k, keys.No):
			return p.answerFold(false)
		case key.Matches(k, keys.Whole):
			cmd, _ := p.whole()
			return cmd
		}
	case questionApprove:
		return p.approveKey(k)
	case questionHeld, questionPause:
		return p.debugKey(k)
	case questionOutcome:
		return p.outcomeKey(k)
	case questionResume:
		switch {
		case key.Matches(k, keys.Yes):
			return p.settle(true, nil)
		case key.Matches(k, keys.GiveUp):
			return p.settle(false, nil)
		}
	}
	return nil
}
