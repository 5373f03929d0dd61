package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// inputIndent is where the text of the input starts: behind the marker and a blank.
const inputIndent = 2

// View gives the frame. It is composed again only when something was handled since, and then of rows that panes and bars
// keep ready.
func (m *Model) View() tea.View {
	if !m.dirty {
		return m.view
	}
	m.dirty = false
	content, cursor := m.frame()
	v := tea.NewView(m.view.Content)
	if content != m.view.Content {
		v.Content = content
	}
	v.Cursor = cursor
	v.AltScreen = true
	if m.env.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.WindowTitle = "vitrine"
	if name := m.env.style.Text(m.page().name()); name != m.T(untitled) {
		v.WindowTitle += ": " + name
	}
	m.view = v
	return v
}

// frame composes the screen.
func (m *Model) frame() (string, *tea.Cursor) {
	p, s := m.page(), m.env.style
	p.edit.SetWidth(m.w - inputIndent - 1)
	p.lay.w, p.lay.h = m.w, m.h
	asked, letters := p.dockRows(m.w, m.notices), m.chordRows()
	dock := append(asked, letters...)
	l := arrange(m.w, m.h, p.edit.Height(), len(dock), m.env.panes)
	p.lay = l
	if over := len(dock) - l.dock.h; len(letters) > 0 && over > 0 && over < len(asked) { // while letters are shown, what is asked keeps its head
		dock = append(asked[:len(asked)-over:len(asked)-over], letters...)
	}
	if l.tiny {
		return tinyFrame(s, m.w, m.h), nil
	}
	rows := make([]string, 0, m.h)
	m.drawTabs()
	p.columns.tick(m.env, p.run.stood)
	rows = append(rows, m.bar.row, meterRow(s, m.w, p.gauge.at(m.env.now, s.Theme.Reduced()), p.gauge.draft, m.todosWord()))
	rows = append(rows, p.body()...)
	p.asks = dock[len(dock)-l.dock.h:]
	rows = append(rows, p.showMarked(paneQuestion, p.asks)...)
	input, cursor := p.inputRows()
	rows = append(rows, input...)
	if l.airy {
		rows = append(rows, s.Blank(theme.OnBase, m.w))
	}
	rows = append(rows, m.statusRow())
	if p.dialog != nil {
		cursor = p.overlay(rows)
	}
	return strings.Join(rows, "\n"), cursor
}

// tinyFrame says in one line that there is too little room.
func tinyFrame(s line.Style, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	rows := make([]string, h)
	for y := range rows {
		rows[y] = s.Blank(theme.OnBase, w)
	}
	rows[h/2] = s.Theme.Paint(theme.Text, theme.OnBase, false, s.Metrics.Fit(s.T("needs 40x10 or more"), w))
	return strings.Join(rows, "\n")
}

func (m *Model) drawTabs() {
	labels := make([]tabLabel, len(m.pages))
	working := false
	for i, p := range m.pages {
		name := p.name()
		if m.env.starred[p.id] {
			name = m.env.style.Theme.Glyphs.Star + " " + name
		}
		labels[i] = tabLabel{name, p.mark()}
		working = working || p.busy() && !p.standing()
	}
	right := []string{m.env.style.Text(m.page().modelWord())}
	if m.w >= wideWidth && m.env.opts.Folder != "" {
		right = append([]string{m.env.style.Text(m.env.opts.Folder)}, right...)
	}
	m.bar.draw(m.env.style, m.w, labels, m.active, working, m.recordingMark(), right)
}

// todosWord tells of the todos where their pane is not on the screen.
func (m *Model) todosWord() string {
	p := m.page()
	if !p.lay.todos.empty() {
		return ""
	}
	return todosText(m.env.opts.Lang, p.columns, m.w)
}

func (m *Model) statusRow() string {
	p, s := m.page(), m.env.style
	if m.chord {
		hint := m.chordHint()
		if s.Metrics.Width(hint) > m.w-2 {
			hint = s.T("Ctrl+X waits for a letter  Esc back")
		}
		return s.Row(theme.OnBase, m.w, []line.Span{line.Say(theme.Accent, " "+hint)})
	}
	facts := statusFacts{run: p.run, folding: p.folding(), asking: p.asking != nil, limits: p.run.caps(m.env.opts.Limits, p.held != 0), now: m.env.now, elapsed: p.run.active || !p.run.ended.IsZero()}
	if p.held == 0 {
		facts.breaks, facts.paused = breakText(s, p.debug.at), p.debug.pause != nil || len(p.approve.waiting) > 0 && p.approve.waiting[0].Cause == causeBreak
	}
	switch {
	case m.quit.leaving:
		facts.extra = s.T("saving and leaving")
	case p.sending.on:
		facts.extra = s.T("storing the input")
	case p.broken != "":
		facts.extra = s.T("not open")
	case !p.loaded:
		facts.extra = s.T("opening")
	case p.held != 0:
		facts.extra, facts.asking = p.there()
	case p.interrupted != nil && !facts.paused:
		if facts.asking = p.needsWord(); !facts.asking {
			facts.extra = s.T("interrupted")
		}
	case p.run.active && p.run.retry != nil:
		facts.wait = p.run.retryTexts(s, m.env.now)
	}
	said := p.said
	if word := p.seekWord(); word != "" && said.text == "" {
		said.text, said.role = word, theme.Text
	}
	return statusRow(s, m.w, said, facts, m.hints())
}

// chordRows lists the letters of Ctrl+X above the input where the status line has no room for them.
func (m *Model) chordRows() []string {
	s, hint := m.env.style, m.chordHint()
	if !m.chord || s.Metrics.Width(hint) <= m.w-2 {
		return nil
	}
	var rows []string
	add := func(text string) {
		rows = append(rows, s.Row(theme.OnRaised, m.w, []line.Span{line.Say(theme.Accent, " "+text)}))
	}
	text := ""
	for _, item := range strings.Split(hint, chordGap) { // a row ends between two letters
		switch {
		case text == "":
			text = item
		case s.Metrics.Width(text+chordGap+item) > m.w-2:
			add(text)
			text = item
		default:
			text += chordGap + item
		}
	}
	add(text)
	if most := max(m.h/3, 1); len(rows) > most { // the dock has no more room
		rows = rows[:most-1]
		add(s.Theme.Glyphs.Cut + "  " + s.T("h help") + chordGap + s.T("Esc back"))
	}
	return rows
}

// hints name the keys that matter now, the most important last.
func (m *Model) hints() []string {
	s := m.env.style
	first := s.T("Tab panes")
	p := m.page()
	if p.dialog != nil {
		s.Theme = m.env.dialogTheme()
		return []string{s.T("Esc close")} // the keys belong to it
	}
	switch asked := p.question() != noQuestion; {
	case p.answering():
		first = s.T("Enter answers")
	case asked && p.focus != paneQuestion:
		first = s.T("Tab answers")
	case asked && !p.ask.byUser:
		first = s.T("a letter, then Enter answers")
	}
	if p.seek.on {
		first = s.T("n after  N before")
	}
	hints := []string{first, s.T("Ctrl+P commands"), s.T("? help")}
	if m.w < middleWidth {
		hints = []string{s.T("Ctrl+P commands"), s.T("Ctrl+X T trace"), s.T("? help")}
		if p.seek.on {
			hints = []string{first}
		}
	}
	if does := m.escapeDoes(); does != "" {
		hints = append(hints, s.T("Esc %s", s.T(does)))
	}
	none := s.T("(no key)")
	return slices.DeleteFunc(hints, func(h string) bool { return strings.Contains(h, none) })
}

// body joins the panes, row by row.
func (p *page) body() []string {
	l, s := p.lay, p.env.style
	edge := s.Theme.Paint(theme.Rule, theme.OnPanel, false, s.Theme.Glyphs.Edge)
	var parts [][]string
	var blank []string
	for _, c := range []struct {
		at   rect
		bg   theme.Bg
		rows func(r rect) []string
	}{{l.chat, theme.OnBase, p.chatRows}, {l.trace, theme.OnPanel, p.traceRows}, {l.todos, theme.OnPanel, p.todoRows}} {
		if !c.at.empty() {
			parts = append(parts, c.rows(c.at))
			blank = append(blank, s.Blank(c.bg, c.at.w))
		}
	}
	if p.joined.holds(parts, l, s.Theme) {
		return p.joined.rows
	}
	rows := make([]string, l.body.h)
	for y := range rows {
		rows[y] = joined(parts, blank, y-(l.body.h-len(parts[0]))/2, edge)
	}
	p.joined = body{parts: parts, lay: l, theme: s.Theme, rows: rows}
	return rows
}

// body is the joined panes, and what they were joined of: panes hand out the same slice while nothing in them changed.
type body struct {
	parts [][]string
	lay   layout
	theme *theme.Theme
	rows  []string
}

func (b *body) holds(parts [][]string, l layout, t *theme.Theme) bool {
	if len(parts) != len(b.parts) || l != b.lay || t != b.theme {
		return false
	}
	for i, part := range parts {
		if was := b.parts[i]; len(part) != len(was) || len(part) > 0 && &part[0] != &was[0] {
			return false
		}
	}
	return true
}

// joined is one row of all panes; beside them it is blank.
func joined(parts [][]string, blank []string, y int, edge string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString(edge)
		}
		if y < 0 || y >= len(part) {
			b.WriteString(blank[i])
		} else {
			b.WriteString(part[y])
		}
	}
	return b.String()
}

func (p *page) chatRows(r rect) []string {
	switch {
	case p.broken != "" && !p.loaded:
		return noteRows(p.env.style, r.w, r.h, p.broken)
	case p.empty():
		return p.emptyRows(r.w, r.h)
	}
	p.columns.seen().SetSize(r.w, r.h)
	return p.columns.seen().Rows()
}

func (p *page) traceRows(r rect) []string {
	p.columns.traced().SetSize(r.w, r.h)
	return p.showMarked(paneTrace, p.columns.traced().Rows())
}

func (p *page) todoRows(r rect) []string {
	p.columns.side.SetSize(r.w, r.h)
	return p.showMarked(paneTodos, p.columns.side.Rows())
}

// inputRows draws the input, and says where the real cursor stands: in it while it has the focus.
func (p *page) inputRows() ([]string, *tea.Cursor) {
	l, s := p.lay, p.env.style
	text, x, y := p.edit.View(l.input.h)
	rows := make([]string, 0, l.input.h)
	role := theme.Text
	if p.sending.on && !p.sending.apart {
		role = theme.Faint
	}
	for i := range l.input.h {
		mark, body := " ", ""
		var labels [][2]int
		if i == 0 && p.focus != paneQuestion { // it stands where letters go
			mark = s.Theme.Glyphs.Here
		}
		markRole := theme.Faint
		if p.focus == paneInput {
			markRole = theme.Accent
		}
		if i < len(text) {
			body = text[i].Text + paint.Spaces(l.input.w-inputIndent-text[i].Width)
			labels = text[i].Labels
		} else {
			body = paint.Spaces(l.input.w - inputIndent)
		}
		rows = append(rows, s.Theme.Paint(markRole, theme.OnRaised, false, mark+" ")+p.paintInput(role, body, labels))
	}
	rows = p.showTyped(rows)
	if p.focus != paneInput {
		return rows, nil
	}
	return rows, caret(l.input.x+inputIndent+x, l.input.y+y)
}

// paintInput styles a row of the input; labels of pastes are told apart.
func (p *page) paintInput(role theme.Role, body string, labels [][2]int) string {
	th, out, from := p.env.style.Theme, "", 0
	for _, l := range labels {
		out += th.Paint(role, theme.OnRaised, false, body[from:l[0]]) + th.Paint(theme.Accent, theme.OnRaised, false, body[l[0]:l[1]])
		from = l[1]
	}
	return out + th.Paint(role, theme.OnRaised, false, body[from:])
}

// caret is the real cursor at a cell. It is a bar: Bubble Tea gives the user's own shape back for any but a blinking block.
func caret(x, y int) *tea.Cursor {
	c := tea.NewCursor(x, y)
	c.Shape = tea.CursorBar
	return c
}

// Where dialogs lie.
const (
	dialogRow    = 3
	dialogMargin = 4
)

// overlay lays the dialog over the rows and gives the place of its cursor.
func (p *page) overlay(rows []string) *tea.Cursor {
	l, s := p.lay, p.env.style
	s.Theme = p.env.dialogTheme()
	most := l.w
	if l.w >= 60+2*dialogMargin {
		most -= 2 * dialogMargin
	}
	top := min(dialogRow, max(l.h-leastHeight+1, 1))
	w, h := p.dialog.Size(s, most, l.h-top-2)
	x := (l.w - w) / 2
	drawn := p.dialog.Rows(s, w, h)
	p.laid = laid{rect{x, top, w, min(len(drawn), len(rows)-top)}, drawn}
	for i, r := range p.showMarked(onDialog, drawn) {
		if y := top + i; y < len(rows) {
			rows[y] = edged(s, rows[y], x, r, w, l.w)
		}
	}
	if cx, cy, ok := p.dialog.Cursor(); ok {
		return caret(min(x+cx, l.w-1), top+cy)
	}
	return nil
}

// edged lays a row of the dialog over a row of the screen. Where there is room a rule and a blank part what stands beside it, which is
// cut anywhere: without colours the two would read as one.
func edged(s line.Style, under string, x int, row string, w, all int) string {
	if x < dialogMargin || all-x-w < dialogMargin {
		return before(s, under, x) + row + after(s, under, x+w, all)
	}
	blank := s.Blank(theme.OnBase, 1)
	edge := s.Theme.Paint(theme.Rule, theme.OnRaised, false, s.Theme.Glyphs.Edge)
	return before(s, under, x-2) + blank + edge + row + edge + blank + after(s, under, x+w+2, all)
}

// before gives the first w cells of a row, after those from a column on; half of a wide character becomes a blank.
func before(s line.Style, row string, w int) string {
	cut := s.Metrics.Cut(row, w, "")
	return cut + s.Blank(theme.OnBase, w-s.Metrics.Width(cut))
}

func after(s line.Style, row string, from, w int) string {
	cut := ansi.TruncateLeftWc
	if s.Metrics.Grapheme {
		cut = ansi.TruncateLeft
	}
	rest := cut(row, from, "")
	if s.Metrics.Width(rest) > w-from { // a wide character stands across the edge
		rest = cut(row, from+1, "")
	}
	return s.Blank(theme.OnBase, w-from-s.Metrics.Width(rest)) + rest
}
