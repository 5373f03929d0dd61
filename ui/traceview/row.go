package traceview

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// grid is the columns of a row: the marker and the name, the bar, time, tokens, and one cell that stays free.
type grid struct {
	label, bar, time, tokens int
	indent                   int  // of each level
	tight                    bool // times have no blank before their units
}

// toolName is the room of a tool's name like "search_mock", and of the blank that parts it from its bar.
const toolName = 12

// columns divides w cells. The narrower, the less is shown: first the bar goes, then the tokens, then the time.
func columns(w int, l words.Lang) grid {
	g := grid{time: 7, tokens: 7, indent: 2}
	if w < 40 {
		g.indent = 1
	}
	if l == words.Chinese { // its units are wider
		g.time, g.tight = 9, w < 40
	}
	if g.tight {
		g.time = 8 // bars have the room
	}
	room := w - g.time - g.tokens - 1
	switch {
	case room >= 70:
		g.label = 34
	case room >= 19:
		g.label = min(20, max(1+2*g.indent+2+toolName, room*2/3)) // names matter more than bars
	case room >= 8:
		g.label = room
	case w >= 16:
		g.tokens = 0
		g.label = w - g.time - 1
	default:
		g.tokens, g.time = 0, 0
		g.label = max(0, w-1)
	}
	if g.tokens > 0 {
		g.bar = room - g.label
	}
	if g.bar < 3 {
		g.label += g.bar
		g.bar = 0
	}
	return g
}

// Rows gives exactly as many rows as high, each exactly as wide as it was set.
func (v *View) Rows() []string {
	if v.rows != nil && len(v.rows) == v.h {
		return v.rows
	}
	v.flatten()
	room := v.room()
	at := v.index()
	if v.follow && at >= 0 {
		v.offset = max(min(v.offset, at), at-room+1)
		if at == len(v.lines)-1 {
			v.offset = len(v.lines) - room
		}
	}
	v.offset = max(0, min(v.offset, len(v.lines)-room))
	g := columns(v.w, v.th.Lang())
	scale := v.scale(at)
	rows := make([]string, 0, v.h+header)
	rows = append(rows, v.head(g, scale), v.blank())
	for i := v.offset; i < min(len(v.lines), v.offset+room); i++ {
		rows = append(rows, v.row(g, scale, v.lines[i], i == at))
	}
	if len(v.lines) == 0 {
		rows = append(rows, v.plain(v.nothing(), theme.Faint))
	}
	if d := v.detailHeight(); d > 0 {
		for len(rows) < v.h-d {
			rows = append(rows, v.blank())
		}
		rows = append(rows, v.detail(at, d)...)
	}
	for len(rows) < v.h {
		rows = append(rows, v.blank())
	}
	v.rows = rows[:v.h:v.h]
	return v.rows
}

// scale is the time that the bars lie on: the selected node's turn, without what it waited for the user.
type scale struct {
	root       *trace.Node
	start, end time.Time
	waits      []trace.Span // which are left out
}

// at is how far on the scale an instant is.
func (s scale) at(t time.Time) time.Duration {
	d := t.Sub(s.start)
	for _, w := range s.waits {
		if t.After(w.From) {
			d -= min(t.Sub(w.From), w.To.Sub(w.From))
		}
	}
	return d
}

// length is what the scale spans.
func (s scale) length() time.Duration { return s.at(s.end) }

func (v *View) scale(at int) scale {
	if at < 0 {
		return scale{}
	}
	root := v.lines[at].node
	for root.Parent != nil {
		root = root.Parent
	}
	return scale{root: root, start: root.Start, end: root.Until(v.clock(root)), waits: root.Waits()}
}

// clock is the pane's now, never before the newest thing that it knows of.
func (v *View) clock(root *trace.Node) time.Time {
	if v.now.Before(root.Start) {
		return root.Start
	}
	return v.now
}

func (v *View) text(s string, r theme.Role, bold bool) string {
	return v.th.Paint(r, theme.OnPanel, bold, s)
}

func (v *View) blank() string { return v.text(paint.Spaces(v.w), theme.Text, false) }

// plain is one row of text from column 1 on.
func (v *View) plain(s string, r theme.Role) string {
	return v.text(v.m.Fit(" "+s, v.w), r, false)
}

// head names the pane and gives the bars their scale.
func (v *View) head(g grid, sc scale) string {
	turn := ""
	if sc.root != nil {
		turn = "  " + v.th.Tell(sc.root.Title)
	}
	if v.filter.on() {
		turn = "  " + v.th.T("%s: %d found", v.m.Safe(paint.CleanLine(v.filter.text)), v.found)
		g = grid{label: max(v.w-1, 0)}
	}
	label := g.label
	title := " " + v.th.T("TRACE")
	name := v.m.Fit(title, min(label, v.m.Width(title)))
	s := v.text(name, theme.Strong, true) + v.text(v.m.Fit(turn, label-v.m.Width(name)), theme.Faint, false)
	if g.bar > 0 {
		s += v.text(v.ruler(g.bar, sc), theme.Faint, false)
	}
	if g.time > 0 {
		s += v.text(v.m.FitRight(v.th.T("time"), g.time), theme.Faint, false)
	}
	if g.tokens > 0 {
		s += v.text(v.m.FitRight(v.th.T("tokens"), g.tokens), theme.Faint, false)
	}
	return s + v.text(paint.Spaces(v.w-g.label-g.bar-g.time-g.tokens), theme.Text, false)
}

// ruler writes 0, the middle and the end of the scale over the bars.
func (v *View) ruler(w int, sc scale) string {
	if sc.root == nil || w < 7 {
		return paint.Spaces(w)
	}
	d := sc.length()
	end := v.th.Duration(d)
	if v.m.Width(end)+2 > w {
		return paint.Spaces(w)
	}
	mid := ""
	if w >= 14 && d >= time.Second && d < time.Minute {
		mid = fmt.Sprintf("%.1f", d.Seconds()/2)
	}
	left := "0"
	if mid != "" {
		left = v.m.Fit(left, w/2-len(mid)/2-1) + mid
	}
	return v.m.Fit(left, w-v.m.Width(end)) + end
}

// row draws one node.
func (v *View) row(g grid, sc scale, l line, selected bool) string {
	n := l.node
	mark := " "
	if selected {
		mark = v.th.Glyphs.Here
	}
	glyph, role := v.sign(n)
	bold := selected && v.focused
	textRole := theme.Text
	if bold {
		textRole = theme.Strong
	}
	indent := g.indent * l.depth
	left := v.text(v.m.Fit(mark, min(1, g.label)), theme.Accent, false)
	rest := max(0, g.label-1)
	lead := v.m.Fit(paint.Spaces(indent)+glyph, min(rest, indent+1))
	left += v.text(lead, role, false)
	room, gap := max(0, rest-v.m.Width(lead)), 0
	if g.bar > 0 && room > 1 {
		gap = 1
	}
	left += v.text(v.m.Fit(" "+v.name(n), room-gap)+paint.Spaces(gap), textRole, bold)
	if g.bar > 0 {
		left += v.bar(g.bar, sc, n)
	}
	if g.time > 0 {
		took := ""
		if n.Kind != trace.KindError && (n.Parent == nil || n.Status != trace.Waiting) { // what waits has not begun
			took = v.duration(g, n.Duration(v.clock(n)))
		}
		left += v.text(v.m.FitRight(took, g.time), theme.Text, false)
	}
	if g.tokens > 0 {
		tokens := ""
		if t := n.Tokens.Total(); t > 0 {
			tokens = theme.Tokens(t, n.Tokens.Estimated)
		}
		left += v.text(v.m.FitRight(tokens, g.tokens), theme.Text, false)
	}
	return left + v.text(paint.Spaces(v.w-g.label-g.bar-g.time-g.tokens), theme.Text, false)
}

// duration fits its column with a blank before it, where need be without blanks in it and without saying the smaller unit.
func (v *View) duration(g grid, d time.Duration) string {
	took := v.th.Duration(d)
	if g.tight || v.m.Width(took) >= g.time {
		took = strings.ReplaceAll(took, " ", "")
	}
	if _, n := utf8.DecodeLastRuneInString(took); v.m.Width(took) >= g.time {
		took = took[:len(took)-n]
	}
	return took
}

// name is what a row calls its node.
func (v *View) name(n *trace.Node) string {
	name := n.Title
	switch n.Kind {
	case trace.KindModel:
		name = v.th.T("model")
		if n.Attempts > 1 {
			name = v.th.T("model try %d", n.Attempts)
		}
	case trace.KindTool: // a name that others gave
	default:
		name = v.th.Tell(name)
	}
	if takenBack(n) {
		name = v.th.T("fold undone")
	}
	return v.m.Safe(paint.CleanLine(name))
}

// stands says that the turn of a node waits for the user.
func stands(n *trace.Node) bool {
	for n.Parent != nil {
		n = n.Parent
	}
	return n.Status == trace.Waiting
}

// takenBack says that a node is a fold that was undone.
func takenBack(n *trace.Node) bool {
	if n.Kind != trace.KindFold || len(n.Events) == 0 {
		return false
	}
	d, ok := n.Events[len(n.Events)-1].Data.(trace.CompactData)
	return ok && d.Phase == "undone"
}

// sign is the glyph in front of a name: how the node stands, or that it can be opened.
func (v *View) sign(n *trace.Node) (string, theme.Role) {
	g := &v.th.Glyphs
	switch n.Status {
	case trace.Running:
		if n.Parent == nil && v.isOpen(n) {
			return g.Open, theme.Faint
		}
		if n.Kind != trace.KindTool && stands(n) {
			return g.Question, theme.Warn
		}
		return v.th.Spinner(v.phase), theme.Accent
	case trace.Waiting:
		if n.Kind == trace.KindTool {
			if n.Asks() {
				return g.Question, theme.Warn
			}
			return g.Todo, theme.Faint
		}
		return g.Question, theme.Warn
	case trace.Failed:
		return g.Failed, theme.Error
	case trace.Stopped:
		return g.Stopped, theme.Warn
	}
	if len(n.Children) > 0 {
		if v.isOpen(n) {
			return g.Open, theme.Faint
		}
		return g.Closed, theme.Faint
	}
	return g.Done, theme.Faint
}
