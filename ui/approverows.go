package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Here the questions on calls are drawn.

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
	state, what := "APPROVE  ", s.Text(d.Tool)+" "+effectWords(tools.Effect(d.Effect))
	place := ""
	if p.question() == questionHeld {
		state, what = "PAUSED  ", "before "+s.Text(d.Tool)+", "+effectWords(tools.Effect(d.Effect))
		if p.run.step > 0 {
			place = fmt.Sprintf("step %d ", p.run.step)
		}
	}
	if d.Of > 1 {
		place = fmt.Sprintf("%d of %d ", d.Place, d.Of)
	}
	add([]line.Span{line.Say(theme.Accent, mark), line.Say(theme.Warn, s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, state),
		line.Say(theme.Text, what)}, line.Say(theme.Faint, place))
	keys := p.keyRows("")
	body := p.approveBody(d)
	room := max(p.lay.h/3-1-len(keys), 0)
	for i, spans := range body {
		if room == 1 && len(body) > 1 {
			add(spans, line.Say(theme.Faint, fmt.Sprintf("%d more: v ", len(body)-1)))
			break
		}
		if i == room-1 && len(body) > room {
			add([]line.Span{line.Say(theme.Faint, fmt.Sprintf("   %d more rows: v shows all", len(body)-i))})
			break
		}
		if i < room {
			add(spans)
		}
	}
	for _, k := range keys {
		add(k)
	}
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
	keys := p.keyRows("")
	for i, a := range arguments(json.RawMessage(c.Arguments)) {
		if i == max(min(p.lay.h/3-2-len(keys), 2), 0) {
			break
		}
		add([]line.Span{line.Say(theme.Faint, "   "+s.Text(a.name)+"  "), line.Say(theme.Text, s.Text(a.value))})
	}
	if more == "" {
		more = "what became of it? "
	}
	add([]line.Span{line.Say(theme.Text, "   "+s.Text(c.Name)+" ran, perhaps: did it?")}, line.Say(theme.Faint, more))
	for _, k := range keys {
		add(k)
	}
}
