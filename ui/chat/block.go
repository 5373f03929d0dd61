package chat

import (
	"strings"
	"time"

	"vitrine/ui/list"
	"vitrine/ui/markdown"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Ref says what a block, or a row of the trace, belongs to. The zero Ref is nothing.
type Ref struct {
	Turn int
	// Step is 0 for the whole turn.
	Step int
	// Call is the row of a tool call; empty for the whole step.
	Call string
}

// block is one thing in the chat.
type block interface {
	list.Item
	touch()
	ref() Ref
	// source is what is copied.
	source() string
	marked(on bool)
	setDim(on bool)
	dimmed() bool
	// number is that of the message that it shows, resultNumber that of a call's result; 0 when it is not known.
	number() int64
	resultNumber() int64
	// pick tells whether it is one of several that are selected.
	pick(on bool)
}

// common is what all blocks have.
type common struct {
	look    *look
	version uint64
	at      Ref
	mark    bool // the trace's selection points here
	picked  bool // it is one of several that are selected
	n       int64
	view    *View
}

func (c *common) Version() uint64     { return c.version }
func (c *common) touch()              { c.version++ }
func (c *common) ref() Ref            { return c.at }
func (c *common) number() int64       { return c.n }
func (c *common) resultNumber() int64 { return 0 }

func (c *common) pick(on bool) {
	if c.picked != on {
		c.picked = on
		c.touch()
	}
}
func (c *common) dimmed() bool { return c.look == c.view.dim }

// setDim tells whether the block is out of the window.
func (c *common) setDim(on bool) {
	if on == c.dimmed() {
		return
	}
	c.look = c.view.look
	if on {
		c.look = c.view.dim
	}
	c.touch()
}

func (c *common) marked(on bool) {
	if c.mark != on {
		c.mark = on
		c.touch()
	}
}

// margins are the cells beside a block's text: the column of markers, one of air, and the last column.
func margins(w int) (left, right int) {
	switch {
	case w >= 12:
		return 2, 1
	case w >= 3:
		return 1, 0
	}
	return 0, 0
}

// lead is the sign in the marker column of a block's row; ok is false when there is none.
func (c *common) lead(selected bool, row int) (sign string, ok bool) {
	switch {
	case selected && row == 0 && c.view.focused:
		return c.view.look.paint(theme.Accent, false, c.look.th.Glyphs.Here), true
	case c.picked:
		return c.view.look.paint(theme.Accent, false, c.look.th.Glyphs.Here), true
	case c.mark:
		return c.view.look.paint(theme.Accent, false, c.look.th.Glyphs.Edge), true
	}
	return "", false
}

// row makes one row of w cells: a sign in the marker column or a blank, then pieces from the left and, at the right end before
// the last column, one piece. What does not fit is cut, the left first.
func (c *common) row(w int, sign string, left []span, right ...span) string {
	m := c.look.m
	ml, mr := margins(w)
	var b strings.Builder
	if ml > 0 {
		if sign == "" {
			sign = c.look.paint(theme.Text, false, " ")
		}
		b.WriteString(sign)
		b.WriteString(c.look.paint(theme.Text, false, paint.Spaces(ml-1)))
	}
	room := w - ml - mr
	rw := 0
	for _, p := range right {
		rw += m.Width(p.text)
	}
	if rw >= room {
		right, rw = nil, 0
	}
	space := room - rw
	if rw > 0 {
		space--
	}
	used := 0
	for _, p := range left {
		text := p.text
		n := m.Width(text)
		if used+n > space {
			text = m.Fit(text, space-used)
			n = space - used
		}
		used += n
		b.WriteString(c.look.paint(p.role, p.bold, text))
	}
	if c.view.telling {
		c.note(left, space, right, ml+room-rw)
	}
	b.WriteString(c.look.paint(theme.Text, false, paint.Spaces(room-used-rw)))
	for _, p := range right {
		b.WriteString(c.look.paint(p.role, p.bold, p.text))
	}
	b.WriteString(c.look.paint(theme.Text, false, paint.Spaces(mr)))
	return b.String()
}

// span is a styled piece of a row; its text is safe.
type span struct {
	role theme.Role
	bold bool
	text string
	told
}

func say(role theme.Role, text string) span { return span{role: role, text: text} }

// textBlock is text of the model: an answer, or what it says beside its calls.
type textBlock struct {
	common
	md     markdown.Stream
	answer bool
	fixed  bool
}

func (b *textBlock) source() string     { return b.md.Source() }
func (b *textBlock) Estimate(w int) int { return b.md.Estimate(w) }
func (b *textBlock) Forget()            { b.md.Forget() }

func (b *textBlock) Render(w int, selected bool) []string {
	if b.md.Empty() {
		return nil
	}
	ml, _ := margins(w)
	rows := b.md.Rows(b.style(w))
	first, one := b.lead(selected, 0)
	if !one || ml == 0 || len(rows) == 0 {
		return rows
	}
	// The sign takes the place of the first blank cell of each row it stands in.
	out := append([]string(nil), rows...)
	for i := range out {
		sign, ok := first, true
		if i > 0 {
			sign, ok = b.lead(selected, i)
		}
		if ok {
			out[i] = sign + b.look.paint(theme.Text, false, paint.Spaces(ml-1)) + withoutMargin(out[i], b.look.paint(theme.Text, false, paint.Spaces(ml)))
		}
	}
	return out
}

// style is how the text is shown.
func (b *textBlock) style(w int) markdown.Style {
	ml, mr := margins(w)
	style := markdown.Style{Theme: b.look.th, Metrics: b.look.m, Bg: theme.OnBase, Width: w, Left: ml, Right: mr}
	if b.fixed {
		style.Role = theme.Faint
	}
	return style
}

// withoutMargin takes the blank cells at the left of a row away.
func withoutMargin(row, margin string) string { return strings.TrimPrefix(row, margin) }

// set replaces the text, if it is another one.
func (b *textBlock) set(text string) {
	if b.md.Source() != paint.CleanSource(text) {
		b.md.Reset()
		b.md.Append(text)
	}
	b.md.Finish()
	b.touch()
}

// mostShort bounds, in bytes, a text of which one row is shown.
const mostShort = 1000

func short(s string) string {
	if len(s) > mostShort {
		return strings.ToValidUTF8(s[:mostShort], "")
	}
	return s
}

// details are the dimmed rows of an opened block.
func (c *common) details(w int, text string) []string {
	var rows []string
	all := c.wrapped(max(1, w-2), text)
	for i, t := range all {
		sign := ""
		if c.mark {
			sign, _ = c.lead(false, i+1)
		}
		if i == mostOpened {
			return append(rows, c.row(w, sign, []span{say(theme.Faint, "  "+c.look.th.Glyphs.Cut+" "+c.look.th.N(len(all)-i, "%d more row", "%d more rows", len(all)-i)).quiet()}))
		}
		rows = append(rows, c.row(w, sign, []span{t.in(say(theme.Faint, ""), 2)}))
	}
	return rows
}

// footBlock is the end of a turn: what it took, and how it ended when not well.
type footBlock struct {
	common
	glyph string // of the theme, by name: empty for an end that was well
	role  theme.Role
	state string
	hint  string
	facts []string // most important last
}

func (b *footBlock) source() string {
	return strings.TrimSpace(b.state + "   " + strings.Join(b.facts, "   "))
}
func (b *footBlock) Estimate(int) int { return 1 }

func (b *footBlock) Render(w int, selected bool) []string {
	m := b.look.m
	ml, mr := margins(w)
	sign, _ := b.lead(selected, 0)
	var left []span
	if b.state != "" {
		left = append(left, say(b.role, b.sign()+" "+b.look.line(b.state)))
	}
	facts := b.facts
	room := w - ml - mr
	for _, p := range left {
		room -= m.Width(p.text) + 3
	}
	for len(facts) > 1 && m.Width(strings.Join(facts, "   ")) > room {
		facts = facts[:len(facts)-1]
	}
	rows := []string{b.row(w, sign, left, say(theme.Faint, strings.Join(facts, "   ")).loud())}
	if b.hint != "" {
		for _, t := range b.wrapped(max(1, w-2), b.hint) {
			rows = append(rows, b.row(w, "", []span{t.in(say(theme.Faint, ""), 2)}))
		}
	}
	return rows
}

func (b *footBlock) sign() string {
	g := b.look.th.Glyphs
	switch b.glyph {
	case "stopped":
		return g.Stopped
	case "failed":
		return g.Failed
	case "question":
		return g.Question
	}
	return g.Done
}

// noteBlock tells of something that happened to the session: a repaired history, a fold that was not to be, an error.
type noteBlock struct {
	common
	kind  string // error notice repaired away
	role  theme.Role
	text  string
	right string
	more  []string // what is safe, and what to do
	live  bool
}

func (b *noteBlock) source() string {
	return strings.TrimSpace(strings.Join(append([]string{b.text}, b.more...), "\n"))
}
func (b *noteBlock) Estimate(int) int { return 1 + len(b.more) }

func (b *noteBlock) Render(w int, selected bool) []string {
	g := b.look.th.Glyphs
	glyph := say(b.role, g.Closed+" ").quiet()
	switch {
	case b.live:
		glyph = say(theme.Accent, b.look.th.Spinner(b.look.phase)+" ").quiet()
	case b.kind == "error":
		glyph.text = g.Failed + " "
	case b.kind == "notice":
		glyph.text = g.Question + " "
	case b.kind == "repaired":
		glyph.text = g.Stopped + " "
	}
	var rows []string
	room := max(1, w-2)
	if b.right != "" {
		room = max(1, room-b.look.m.Width(b.right)-2)
	}
	for i, t := range b.wrapped(room, b.text) {
		sign, _ := b.lead(selected, i)
		if i > 0 {
			rows = append(rows, b.row(w, sign, []span{t.in(say(b.role, ""), 2)}))
			continue
		}
		var right []span
		if b.right != "" {
			right = append(right, say(theme.Faint, b.look.line(b.right)))
		}
		rows = append(rows, b.row(w, sign, []span{glyph, t.in(say(b.role, ""), 0)}, right...))
	}
	for _, line := range b.more {
		for _, t := range b.wrapped(max(1, w-2), line) {
			rows = append(rows, b.row(w, "", []span{t.in(say(theme.Text, ""), 2)}))
		}
	}
	return rows
}

// retryBlock is a model call that failed and will be tried again.
type retryBlock struct {
	common
	cause   string
	attempt int
	max     int
	until   time.Time
}

func (b *retryBlock) source() string   { return b.cause }
func (b *retryBlock) Estimate(int) int { return 1 }

func (b *retryBlock) Render(w int, selected bool) []string {
	sign, _ := b.lead(selected, 0)
	when := b.look.th.T("again now")
	if left := b.until.Sub(b.look.now); left > 0 {
		s := int((left + time.Second - 1) / time.Second)
		when = b.look.th.T("again in %s", b.look.th.T("%d s", s))
	}
	left := []span{
		say(theme.Accent, b.look.th.Spinner(b.look.phase)+" ").quiet(),
		{role: theme.Warn, bold: true, text: b.look.th.T("RETRYING")},
		say(theme.Text, "  "+b.look.line(b.look.th.Tell(short(b.cause)))),
	}
	if b.max > 0 {
		whole := when + b.look.th.T(", %d of %d", min(b.attempt+1, b.max), b.max)
		room := w - b.look.m.Width(whole) - 5 // of the margins, and between the two
		for _, p := range left {
			room -= b.look.m.Width(p.text)
		}
		if room >= 0 { // what happened matters more than how often it may
			when = whole
		}
	}
	return []string{b.row(w, sign, left, say(theme.Faint, " "+when))}
}

// queuedBlock is input that waits for its turn.
type queuedBlock struct {
	common
	id   string
	text string
}

func (b *queuedBlock) source() string   { return b.text }
func (b *queuedBlock) Estimate(int) int { return 1 }

func (b *queuedBlock) Render(w int, selected bool) []string {
	sign, ok := b.lead(selected, 0)
	if !ok {
		sign = b.look.paint(theme.Faint, false, b.look.th.Glyphs.Todo)
	}
	return []string{b.row(w, sign, []span{say(theme.Faint, b.look.line(short(b.text)))}, say(theme.Faint, " "+b.look.th.T("queued")))}
}
