package dialog

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// What the inspector asks for.
const (
	ActText Act = "text"
	ActPin  Act = "pin"
	ActFold Act = "fold"
	ActJSON Act = "json"
)

// Inspected is something to do with the context; the dialog stays.
type Inspected struct {
	Kind Kind
	Act  Act
	// Part is the selected one, View the whole.
	Part runtime.ContextPart
	View runtime.ContextView
}

func (Inspected) result() {}

// Context shows what the next request holds, part by part: tokens, what is expected to be cached, what the next fold would do.
type Context struct {
	kind Kind
	keys Keys
	view runtime.ContextView
	pins map[int64]bool // messages that a pin stands in
	at   int
	top  int
	page int
}

// NewContext makes the inspector.
func NewContext(kind Kind, v runtime.ContextView, keys Keys) *Context {
	c := &Context{kind: kind, keys: keys, page: 10}
	c.SetView(v)
	for i, p := range v.Parts {
		if p.N > 0 {
			c.at = i // the first message
			break
		}
	}
	return c
}

// SetView shows another state of the same context.
func (c *Context) SetView(v runtime.ContextView) {
	c.view, c.pins = v, map[int64]bool{}
	for _, p := range v.Pins {
		if p.N > 0 {
			c.pins[p.N] = true
		}
		for _, part := range v.Parts {
			if part.Kind == "user" && strings.Contains(strings.Join(strings.Fields(part.Content), " "), p.Text) {
				c.pins[part.N] = true
			}
		}
	}
	c.step(0)
}

func (c *Context) step(d int) { c.at = min(max(c.at+d, 0), max(len(c.view.Parts)-1, 0)) }

// Key moves, and asks for what its last row names.
func (c *Context) Key(k tea.KeyPressMsg) Result {
	act := Act("")
	switch {
	case key.Matches(k, c.keys.Close), k.String() == "q":
		return c.Deny()
	case key.Matches(k, c.keys.Up), k.String() == "k":
		c.step(-1)
	case key.Matches(k, c.keys.Down), k.String() == "j":
		c.step(1)
	case key.Matches(k, c.keys.PageUp), k.String() == "u":
		c.step(-c.page)
	case key.Matches(k, c.keys.PageDown), k.String() == "d":
		c.step(c.page)
	case key.Matches(k, c.keys.Top):
		c.at = 0
	case key.Matches(k, c.keys.Bottom):
		c.step(len(c.view.Parts))
	case key.Matches(k, c.keys.Accept):
		act = ActText
	case k.String() == "p":
		act = ActPin
	case k.String() == "f":
		act = ActFold
	case k.String() == "o":
		act = ActJSON
	}
	if act == "" || len(c.view.Parts) == 0 {
		return nil
	}
	return Inspected{c.kind, act, c.view.Parts[c.at], c.view}
}

// Paste does nothing.
func (c *Context) Paste(string) {}

// Wheel moves the choice.
func (c *Context) Wheel(lines int) { c.step(lines) }

// Size is a row for each part, one each for head, reserve and keys.
func (c *Context) Size(_ line.Style, maxW, maxH int) (w, h int) {
	return min(84, maxW), min(len(c.view.Parts)+3, maxH)
}

// Columns of the inspector, in cells.
const (
	colNumber = 4
	colKind   = 10
	colTokens = 7
	colCached = 8
	colFate   = 11
)

// narrowContext is the width up to which nothing is told of the cache.
const narrowContext = 52

// wideContext is the width from which a part shows its turn and the head what was reported.
const wideContext = 76

// Rows draws it.
func (c *Context) Rows(s line.Style, w, h int) []string {
	list := max(h-3, 1)
	c.page = list
	c.top = min(max(c.top, c.at-list+1, 0), c.at, max(len(c.view.Parts)-list, 0))
	rows := []string{s.Row(theme.OnRaised, w, []line.Span{line.Bold(theme.Strong, " "+s.T("CONTEXT")+"  "), line.Say(theme.Text, c.fact(s, w))},
		line.Say(theme.Faint, s.Metrics.Pad(s.T("next fold"), colFate)))}
	for i := c.top; i < min(c.top+list, len(c.view.Parts)); i++ {
		rows = append(rows, c.row(s, w, i))
	}
	rows = append(rows, c.reserve(s, w, list))
	keys := " " + s.T("Enter text   p pin   f fold now   o JSON   Esc close")
	if s.Metrics.Width(keys) > w {
		keys = " " + s.T("Enter text   p pin   f fold   o JSON")
	}
	return clip(append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, keys)})), h)
}

// fact says how full the context is, and how much of it the provider should have.
func (c *Context) fact(s line.Style, w int) string {
	m := c.view.Meter
	all, sent := 0, 0
	for _, p := range c.view.Parts {
		all += p.Tokens
		if p.Sent {
			sent += p.Tokens
		}
	}
	text := s.T("%s of %s", theme.Tokens(m.Used(), m.Estimated), theme.Tokens(m.Limit, false))
	if all > 0 && sent > 0 {
		text += s.T(", %d%% expected cached", sent*100/all)
	}
	if m.Cached != nil && w >= wideContext {
		text += s.T(", %.0f%% last time", *m.Cached*100)
	}
	return text
}

// glyph is the meter's sign of a part.
func (c *Context) glyph(s line.Style, p runtime.ContextPart) string {
	switch p.Kind {
	case "system", "tools":
		return s.Theme.Glyphs.MeterFixed
	case "memory":
		return s.Theme.Glyphs.MeterMem
	}
	return s.Theme.Glyphs.MeterWin
}

func (c *Context) row(s line.Style, w, i int) string {
	p := c.view.Parts[i]
	bg, mark, role := theme.OnRaised, " ", theme.Text
	if i == c.at {
		bg, mark, role = theme.OnRow, s.Theme.Glyphs.Here, theme.Strong
	}
	left := []line.Span{line.Say(theme.Accent, mark), line.Say(theme.Text, c.glyph(s, p)+" ")}
	if p.N > 0 {
		left = append(left, line.Say(theme.Faint, fmt.Sprintf("%*d ", colNumber-1, p.N)), line.Say(theme.Faint, s.Metrics.Pad(s.Tell(p.Kind), colKind)))
	}
	title := s.Text(p.Title)
	if p.N == 0 { // what is no message has a title of ours
		title = s.Tell(p.Title)
	}
	if c.pins[p.N] && p.N > 0 {
		left = append(left, line.Say(theme.Accent, s.Theme.Glyphs.Pin+" "))
	}
	left = append(left, line.Weight(role, i == c.at, title))
	cached, fate := s.T("new##to the cache"), s.Tell(string(p.Fate))
	if p.Sent {
		cached = s.T("cached")
	}
	fateRole := theme.Faint
	if p.Fate == runtime.FateLeaves || p.Fate == runtime.FateShortened {
		fateRole = theme.Text
	}
	tokens := theme.Tokens(p.Tokens, false)
	right := []line.Span{line.Say(role, s.Metrics.PadLeft(tokens, colTokens)), line.Say(theme.Faint, "  "+s.Metrics.Pad(cached, colCached-2+1)),
		line.Say(fateRole, " "+s.Metrics.Pad(fate, colFate))}
	if w < narrowContext { // what it is, and what becomes of it, are more than where it was read from
		right[1] = line.Say(theme.Text, " ")
	}
	if p.N > 0 && w >= wideContext {
		right = append([]line.Span{line.Say(theme.Faint, " "+s.T("turn %d", p.Turn))}, right...)
	}
	return s.Row(bg, w, left, right...)
}

// reserve is the row under the parts: what is kept for the reply, when the runtime folds, and what is out of sight.
func (c *Context) reserve(s line.Style, w, list int) string {
	text := "   "
	if n := len(c.view.Parts) - list; n > 0 {
		text += s.T("%d more, ##before another fact", n)
	}
	text += s.T("reserve for the reply")
	when := ""
	switch {
	case !c.view.FoldAuto:
		when = s.T("folds only by hand") + " "
	case c.view.FoldAfter == 0:
		when = s.T("folds next turn") + " "
	default:
		when = s.N(c.view.FoldAfter, "%d turn to a fold", "%d turns to a fold", c.view.FoldAfter) + " "
	}
	tokens := theme.Tokens(c.view.Reserve, false)
	pad := colCached + colFate - s.Metrics.Width(when)
	return s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, text)},
		line.Say(theme.Faint, s.Metrics.PadLeft(tokens, colTokens)+paint.Spaces(max(pad, 2))+" "+when))
}

// Cursor is nowhere.
func (c *Context) Cursor() (x, y int, ok bool) { return 0, 0, false }

// Deny closes it.
func (c *Context) Deny() Result { return Closed{c.kind} }
