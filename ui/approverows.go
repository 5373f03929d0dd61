package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
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
func effectWords(e tools.Effect) words.Text {
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
func approvalText(l words.Lang, d trace.ApprovalData) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", d.Tool, l.T(effectWords(tools.Effect(d.Effect))))
	for _, a := range arguments(d.Arguments) {
		fmt.Fprintf(&b, "\n%s\n  %s\n", a.name, strings.ReplaceAll(a.value, "\n", "\n  "))
	}
	if d.Preview != "" {
		b.WriteString("\n" + l.T("What it would do") + "\n" + paint.RevealLines(d.Preview) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// approveRows draw the question: the arguments exactly, what the tool says that it would do, the keys. It takes a third of the
// screen at most; v shows the rest.
func (p *page) approveRows(add func([]line.Span, ...line.Span), mark string) {
	s, d := p.env.style, p.approve.waiting[0]
	keys := p.keyRows("")
	c, room := p.seenCall(d), max(p.lay.h/3-1-len(keys), 0)
	tool := s.Text(d.Tool)
	effect := s.T(effectWords(tools.Effect(d.Effect)))
	state, what := s.T("APPROVE")+"  ", tool+" "+effect
	place := ""
	if p.question() == questionHeld {
		state, what = s.T("PAUSED")+"  ", s.T("before %s, %s", tool, effect)
		if p.run.step > 0 {
			place = s.T("step %d", p.run.step) + " "
		}
	}
	if room <= leastForArguments && len(c.preview) > 0 && c.name != "" {
		what = tool + " " + c.name // no row is left for it
	}
	if d.Of > 1 {
		place = s.T("%d of %d", d.Place, d.Of) + " "
	}
	add([]line.Span{line.Say(theme.Accent, mark), line.Say(theme.Warn, s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, state),
		line.Say(theme.Text, what)}, line.Say(theme.Faint, place))
	c.draw(s, add, room)
	for _, k := range keys {
		add(k)
	}
}

// leastForArguments is how many rows a preview takes alone.
const leastForArguments = 2

// seenCall is what there is to see of a call that waits: rows of its arguments, and rows of what the tool says that it would do.
type seenCall struct {
	args    [][]line.Span
	whole   [][]line.Span // those of args that show an argument to its end
	name    string        // the first argument that is shown to its end
	preview [][]line.Span
	head    string // the preview's first line, where that is not a line of the diff
	first   int    // the row of the preview in which the first change is
}

// draw shows as much as there is room for: all, or of the arguments what is short, and of a preview what begins at its first
// change. What is not shown is told.
func (c seenCall) draw(s line.Style, add func([]line.Span, ...line.Span), room int) {
	all := len(c.args) + len(c.preview)
	if all <= room || len(c.preview) == 0 {
		drawRows(s, add, append(slices.Clone(c.args), c.preview...), room)
		return
	}
	changes := c.preview[c.first:]
	if room <= leastForArguments {
		for i, spans := range changes[:min(room, len(changes))] {
			if i > 0 {
				add(spans)
				continue
			}
			add(spans, line.Say(theme.Faint, s.T("%d more: v", all-min(room, len(changes)))+" "))
		}
		return
	}
	lead := c.whole[:min(room/3, len(c.whole))]
	drawRows(s, add, lead, len(lead))
	room -= len(lead)
	if above := len(c.args) - len(lead) + c.first; above > 0 {
		text := "   "
		if c.head != "" && c.first > 0 {
			text, above = text+c.head, above-1
		}
		var told []line.Span
		if above > 0 {
			told = append(told, line.Say(theme.Faint, s.N(above, "%d row above: v", "%d rows above: v", above)+" "))
		}
		add([]line.Span{line.Say(theme.Faint, text)}, told...)
		room--
	}
	drawRows(s, add, changes, room)
}

// drawRows shows rows from the top, and says how many more there are.
func drawRows(s line.Style, add func([]line.Span, ...line.Span), rows [][]line.Span, room int) {
	for i, spans := range rows {
		if room == 1 && len(rows) > 1 {
			add(spans, line.Say(theme.Faint, s.T("%d more: v", len(rows)-1)+" "))
			break
		}
		if i == room-1 && len(rows) > room {
			add([]line.Span{line.Say(theme.Faint, "   "+s.N(len(rows)-i, "%d more row: v shows all", "%d more rows: v shows all", len(rows)-i))})
			break
		}
		if i < room {
			add(spans)
		}
	}
}

// once leaves out of the arguments what the head of a diff says in the same words, the file, and with it a text that is cut after its first
// row: the diff tells that.
func (c *seenCall) once(s line.Style, args []argument) {
	file, _, _ := strings.Cut(c.head, "  ")
	named := slices.ContainsFunc(args, func(a argument) bool { return s.Text(a.value) == file })
	if file == "" || !named || c.first == 0 || len(c.args)-len(c.whole) > 1 {
		return
	}
	c.whole = slices.DeleteFunc(c.whole, func(row []line.Span) bool { return row[1].Text == file })
	c.args = c.whole
}

// seenCall makes the rows of a call.
func (p *page) seenCall(d trace.ApprovalData) (c seenCall) {
	const indent = "   "
	s := p.env.style
	args := arguments(d.Arguments)
	column := 0
	for _, a := range args {
		column = min(max(column, s.Metrics.Width(s.Text(a.name))), 16)
	}
	room := max(p.lay.w-len(indent)-column-3, 8)
	for _, a := range args {
		var rows []string
		for _, part := range strings.Split(a.value, "\n") {
			rows = append(rows, s.Metrics.Wrap(s.Text(part), room)...)
		}
		whole := len(rows) == 1
		if d.Preview != "" && !whole && len(rows) > 0 { // the preview tells it better
			rows = []string{s.Metrics.Fit(rows[0], room-1) + s.Theme.Glyphs.Cut}
		}
		name := s.Text(a.name)
		for _, r := range rows {
			row := []line.Span{line.Say(theme.Faint, indent+s.Metrics.Fit(name, column)+"  "), line.Say(theme.Text, r)}
			c.args = append(c.args, row)
			if whole {
				c.whole = append(c.whole, row)
				if c.name == "" {
					c.name = r
				}
			}
			name = ""
		}
	}
	if d.Preview == "" {
		return c
	}
	defer c.once(s, args)
	raw := strings.TrimRight(d.Preview, "\n")
	signs := strings.Split(raw, "\n") // lines stay lines when they are revealed
	found := false
	for i, l := range strings.Split(paint.RevealLines(raw), "\n") {
		role := theme.Text
		switch sign, ofDiff := diffSign(signs[i]); {
		case sign == '+':
			role = theme.Accent
		case sign == '-':
			role = theme.Error
		case i == 0 && !ofDiff:
			l = tellHead(s, l)
			c.head = s.Text(l)
		}
		if role != theme.Text && !found {
			found, c.first = true, len(c.preview)
		}
		for _, r := range s.Metrics.Wrap(s.Text(l), max(p.lay.w-len(indent)-1, 8)) {
			c.preview = append(c.preview, []line.Span{line.Say(role, indent+r)})
		}
	}
	return c
}

// tellHead puts what a tool says of its preview behind two blanks into the screen's language.
func tellHead(s line.Style, l string) string {
	name, what, ok := strings.Cut(l, "  ")
	if !ok {
		return l
	}
	return name + "  " + s.Theme.Tell(what)
}

// diffSign is the sign of a numbered line of a diff: + - or a blank, in the column behind the number. What the line says may
// begin with a sign too, and has no say here. ok is false for what is no such line.
func diffSign(l string) (sign byte, ok bool) {
	l = strings.TrimLeft(l, " ")
	rest := strings.TrimLeft(l, "0123456789")
	if rest == l || len(rest) < 2 || rest[0] != ' ' || len(rest) > 2 && rest[2] != ' ' {
		return 0, false
	}
	switch rest[1] {
	case '+', '-', ' ':
		return rest[1], true
	}
	return 0, false
}

// outcomeRow asks what became of a call, under as many rows of its arguments as there is room for.
func (p *page) outcomeRow(add func([]line.Span, ...line.Span)) {
	s := p.env.style
	c := p.approve.unknown[0]
	place := s.T("what became of it?") + " "
	if n := len(p.approve.unknown) + len(p.approve.outcomes); n > 1 {
		place = s.T("%d of %d", len(p.approve.outcomes)+1, n) + " "
	}
	keys := p.keyRows("")
	args := p.seenCall(outcomeData(c)).args
	room := max(p.lay.h/3-2-len(keys), 0)
	drawRows(s, add, args, room)
	if room == 0 && len(args) > 0 {
		place = s.T("%d more: v", len(args)) + "   " + place
	}
	asks := s.T("%s ran, perhaps: did it?", s.Text(c.Name))
	if p.lay.w < 60 {
		asks = s.T("%s ran?", s.Text(c.Name))
	}
	add([]line.Span{line.Say(theme.Text, "   "+asks)}, line.Say(theme.Faint, place))
	for _, k := range keys {
		add(k)
	}
}

// outcomeData is a call whose outcome nobody knows as one that is asked about.
func outcomeData(c runtime.CallRow) trace.ApprovalData {
	return trace.ApprovalData{ID: c.ID, Tool: c.Name, Effect: string(c.Effect), Arguments: json.RawMessage(c.Arguments)}
}
