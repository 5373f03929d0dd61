package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/dialog"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Here the user is asked whether a call may run, and what became of one whose outcome nobody knows.

// approvals is what waits for the user's word in a session.
type approvals struct {
	waiting  []trace.ApprovalData // in call order
	later    bool                 // the question was put aside
	unknown  []runtime.CallRow    // calls whose outcome nobody knows
	outcomes map[string]runtime.Outcome
}

// approval follows a question, or its answer.
func (p *page) approval(d trace.ApprovalData) tea.Cmd {
	a := &p.approve
	before := p.question()
	at := slices.IndexFunc(a.waiting, func(w trace.ApprovalData) bool { return w.ID == d.ID })
	switch {
	case d.Phase == "asked" && at >= 0:
		a.waiting[at] = d
	case d.Phase == "asked":
		if len(a.waiting) == 0 {
			a.later = false
		}
		a.waiting = append(a.waiting, d)
	case at >= 0:
		a.waiting = slices.Delete(a.waiting, at, at+1)
	}
	slices.SortStableFunc(a.waiting, func(x, y trace.ApprovalData) int { return x.Place - y.Place })
	p.unfocusQuestion()
	if p.question() != before || d.Phase == "asked" {
		return p.rest()
	}
	return nil
}

// unfocusQuestion takes the focus from a question that is gone.
func (p *page) unfocusQuestion() {
	if p.focus == paneQuestion && p.question() == noQuestion {
		p.focusOn(paneInput)
	}
}

// takeCalls finds what waits for the user in a session as stored.
func (a *approvals) takeCalls(s runtime.Snapshot, events []trace.Event) {
	*a = approvals{outcomes: map[string]runtime.Outcome{}}
	if s.Run == nil || s.HeldBy != 0 {
		return
	}
	if !s.Running {
		a.unknown = runtime.UnknownCalls(s.Calls)
	}
	for _, c := range s.Calls {
		if c.Status != runtime.CallWaiting || c.Result != nil {
			continue
		}
		d := trace.ApprovalData{Phase: "asked", ID: c.ID, CallID: c.CallID, Tool: c.Name, Effect: string(c.Effect), Arguments: json.RawMessage(c.Arguments)}
		for _, e := range events {
			if was, ok := e.Data.(trace.ApprovalData); ok && was.ID == c.ID && was.Phase == "asked" {
				d.Preview = was.Preview
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
		return p.tell(theme.Text, "that call does not wait any more")
	}
	a.waiting = slices.Delete(a.waiting, at, at+1)
	p.unfocusQuestion()
	change, what := runtime.Setting{Decide: []runtime.Decision{d}}, deciding
	if p.interrupted != nil {
		yes := true
		change.Resume, what = &yes, resuming
		p.interrupted = nil
	}
	return tea.Batch(p.rest(), p.env.set(p.id, what, change))
}

// approveKey takes a key of the question whether a call may run.
func (p *page) approveKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	keys, d := p.env.keys, p.approve.waiting[0]
	switch {
	case key.Matches(k, keys.Yes):
		return p.decide(runtime.Decision{Call: d.ID, Allow: true}), true
	case key.Matches(k, keys.Always) && p.focus == paneQuestion: // never by the first letter of a message
		return p.decide(runtime.Decision{Call: d.ID, Allow: true, Always: true}), true
	case key.Matches(k, keys.No):
		return p.show(dialog.NewPrompt(kindDeny, "DENY", "why, for the model; may be empty", "", p.env.dkeys), d.ID), true
	case key.Matches(k, keys.Whole):
		return p.show(dialog.NewText(kindApprove, "APPROVE  "+d.Tool, approvalText(d), p.env.dkeys), ""), true
	}
	return nil, false
}

// putAside takes the question away until the user comes back to it; the run waits.
func (p *page) putAside() tea.Cmd {
	p.approve.later = true
	p.focusOn(paneInput)
	return p.tell(theme.Text, "the run waits for you; Ctrl+X A or Tab asks again")
}

// outcomeKey takes a key of the question what became of a call.
func (p *page) outcomeKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
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
		return p.settle(false, nil), true
	default:
		return nil, false
	}
	a := &p.approve
	a.outcomes[a.unknown[0].ID] = word
	if a.unknown = a.unknown[1:]; len(a.unknown) > 0 {
		return p.rest(), true
	}
	return p.settle(true, a.outcomes), true
}

// settle goes on with the interrupted run, or gives it up.
func (p *page) settle(yes bool, words map[string]runtime.Outcome) tea.Cmd {
	p.interrupted, p.calm, p.approve = nil, false, approvals{}
	p.focusOn(paneInput)
	what := givingUp
	if yes {
		what = resuming
	}
	return p.env.set(p.id, what, runtime.Setting{Resume: &yes, Outcomes: words})
}

// nextWaiting goes to the next question over all tabs, the one of this tab last.
func (m *Model) nextWaiting() tea.Cmd {
	for i := 1; i <= len(m.pages); i++ {
		at := (m.active + i) % len(m.pages)
		p := m.pages[at]
		if p.held != 0 || len(p.approve.waiting) == 0 && p.question() == noQuestion {
			continue
		}
		p.approve.later = false
		p.focusOn(paneQuestion)
		if at == m.active {
			return nil
		}
		return m.goTo(at)
	}
	return m.page().tell(theme.Text, "nothing waits for you")
}

// argument is one of a call's arguments as it is shown: every character can be seen.
type argument struct{ name, value string }

func arguments(raw json.RawMessage) []argument {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return []argument{{"", paint.Reveal(string(raw))}}
	}
	var out []argument
	for d.More() {
		name, err := d.Token()
		var val json.RawMessage
		if err != nil || d.Decode(&val) != nil {
			return []argument{{"", paint.Reveal(string(raw))}}
		}
		text := string(val)
		var s string
		if len(val) > 0 && val[0] == '"' && json.Unmarshal(val, &s) == nil {
			text = s
		}
		out = append(out, argument{paint.Reveal(fmt.Sprint(name)), paint.Reveal(text)})
	}
	return out
}

// effectWords say in a few words what a call may change.
func effectWords(e tools.Effect) string {
	switch e {
	case tools.ReadOnly:
		return "only reads"
	case tools.OwnData:
		return "changes this session"
	case tools.SideEffect:
		return "has effects that are not taken back"
	}
	return "changes something outside"
}

// approvalText is all that there is to see before a call runs.
func approvalText(d trace.ApprovalData) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", d.Tool, effectWords(tools.Effect(d.Effect)))
	for _, a := range arguments(d.Arguments) {
		fmt.Fprintf(&b, "\n%s\n  %s\n", a.name, strings.ReplaceAll(a.value, "\n", "\n  "))
	}
	if d.Preview != "" {
		b.WriteString("\nWhat it would do\n" + paint.RevealLines(d.Preview) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// approveRows draw the question: the arguments exactly, what the tool says that it would do, the keys. It takes a third of the
// screen at most; v shows the rest.
func (p *page) approveRows(add func([]line.Span, ...line.Span), mark string) {
	s, d := p.env.style, p.approve.waiting[0]
	place := ""
	if d.Of > 1 {
		place = fmt.Sprintf("%d of %d ", d.Place, d.Of)
	}
	add([]line.Span{line.Say(theme.Accent, mark), line.Say(theme.Warn, s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, "APPROVE  "),
		line.Say(theme.Text, s.Text(d.Tool)+" "+effectWords(tools.Effect(d.Effect)))}, line.Say(theme.Faint, place))
	body := p.approveBody(d)
	room := max(p.lay.h/3-2, 0)
	for i, spans := range body {
		if i == room-1 && len(body) > room {
			add([]line.Span{line.Say(theme.Faint, fmt.Sprintf("   %d more rows: v shows all", len(body)-i))})
			break
		}
		if i < room {
			add(spans)
		}
	}
	a, always, hide := "a", " always here  ", " later"
	switch {
	case p.lay.w < 60:
		always, hide = " always  ", ""
	case p.focus != paneQuestion:
		a = "Tab a"
	}
	add([]line.Span{line.Bold(theme.Accent, " y"), line.Say(theme.Text, " once  "), line.Bold(theme.Accent, a), line.Say(theme.Text, always),
		line.Bold(theme.Accent, "n"), line.Say(theme.Text, " deny  "), line.Bold(theme.Accent, "v"), line.Say(theme.Text, " all  "),
		line.Bold(theme.Accent, "Esc"), line.Say(theme.Text, hide)})
}

func (p *page) approveBody(d trace.ApprovalData) [][]line.Span {
	const indent = "   "
	s := p.env.style
	args := arguments(d.Arguments)
	column := 0
	for _, a := range args {
		column = min(max(column, s.Metrics.Width(s.Text(a.name))), 16)
	}
	room := max(p.lay.w-len(indent)-column-3, 8)
	var body [][]line.Span
	for _, a := range args {
		var rows []string
		for _, part := range strings.Split(a.value, "\n") {
			rows = append(rows, s.Metrics.Wrap(s.Text(part), room)...)
		}
		if d.Preview != "" && len(rows) > 1 { // the preview tells it better
			rows = []string{s.Metrics.Fit(rows[0], room-1) + s.Theme.Glyphs.Cut}
		}
		name := s.Text(a.name)
		for _, r := range rows {
			body = append(body, []line.Span{line.Say(theme.Faint, indent+s.Metrics.Fit(name, column)+"  "), line.Say(theme.Text, r)})
			name = ""
		}
	}
	if d.Preview == "" {
		return body
	}
	for _, l := range strings.Split(paint.RevealLines(strings.TrimRight(d.Preview, "\n")), "\n") {
		role := theme.Text
		switch sign := strings.TrimLeft(l, " 0123456789"); {
		case strings.HasPrefix(sign, "+"):
			role = theme.Accent
		case strings.HasPrefix(sign, "-"):
			role = theme.Error
		}
		for _, r := range s.Metrics.Wrap(s.Text(l), max(p.lay.w-len(indent)-1, 8)) {
			body = append(body, []line.Span{line.Say(role, indent+r)})
		}
	}
	return body
}

// outcomeRow asks what became of a call.
func (p *page) outcomeRow(add func([]line.Span, ...line.Span)) {
	s := p.env.style
	c := p.approve.unknown[0]
	more := ""
	if n := len(p.approve.unknown) + len(p.approve.outcomes); n > 1 {
		more = fmt.Sprintf("%d of %d ", len(p.approve.outcomes)+1, n)
	}
	gap := "  "
	if p.lay.w < 60 {
		gap = " "
	}
	for i, a := range arguments(json.RawMessage(c.Arguments)) {
		if i == 2 {
			break
		}
		add([]line.Span{line.Say(theme.Faint, "   "+s.Text(a.name)+"  "), line.Say(theme.Text, s.Text(a.value))})
	}
	lead := "   Resume: "
	if p.lay.w < 60 {
		lead = " "
	}
	add([]line.Span{line.Say(theme.Text, lead+s.Text(c.Name)+" ran?"+gap), line.Bold(theme.Accent, "y"), line.Say(theme.Text, " yes"+gap),
		line.Bold(theme.Accent, "n"), line.Say(theme.Text, " no"+gap), line.Bold(theme.Accent, "r"), line.Say(theme.Text, " again"+gap),
		line.Bold(theme.Accent, "x"), line.Say(theme.Text, " give up")}, line.Say(theme.Faint, more))
}
