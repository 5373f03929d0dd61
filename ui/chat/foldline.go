package chat

import (
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Bounds of an opened fold; the whole of it is a text of its own.
const (
	mostDiff   = 14
	mostFolded = 10
	// besideWidth is the width from which the sizes stand beside the count, and what is above the line is named.
	besideWidth = 76
)

// lineBlock is a fold that is over: one line at the boundary between what the model still sees and what it does not. It opens
// into the account.
type lineBlock struct {
	common
	*account
	open bool
}

func (b *lineBlock) source() string   { return b.whole(b.look.th.Lang(), b.view.turnAt) }
func (b *lineBlock) Estimate(int) int { return 1 }
func (b *lineBlock) toggle()          { b.open = !b.open; b.touch() }
func (b *lineBlock) isOpen() bool     { return b.open }

func (b *lineBlock) Render(w int, selected bool) []string {
	g := b.look.th.Glyphs
	sign, _ := b.lead(selected, 0)
	glyph := g.Closed
	if b.open {
		glyph = g.Open
	}
	left := []span{say(theme.Faint, glyph+" ").quiet(), say(theme.Text, b.name(b.look.th.Lang(), b.view.turnAt))}
	if b.count > 0 {
		left = append(left, say(theme.Faint, "   "+b.look.th.N(b.count, "%s message", "%s messages", theme.Count(b.count))))
	}
	right := say(theme.Faint, " "+b.sizes(b.look.th.Lang()))
	if w >= besideWidth {
		left, right = append(left, say(theme.Faint, "   "+b.sizes(b.look.th.Lang()))), say(theme.Faint, "")
		if b.last > 0 && !b.dimmed() {
			right.text = " " + b.look.th.T("out of the model's sight")
		}
	}
	rows := []string{b.row(w, sign, left, right)}
	if !b.open {
		return rows
	}
	return append(rows, b.accountRows(w)...)
}

// accountRows are the rows of the opened line.
func (b *lineBlock) accountRows(w int) []string {
	var rows []string
	add := func(left []span, right ...span) { rows = append(rows, b.row(w, "", left, right...)) }
	for _, t := range flow(b.look.m, splitFacts(b.facts(b.look.th.Lang())), w-5) {
		add([]span{say(theme.Faint, "  "+t)})
	}
	b.diffRows(w, add)
	for i, p := range append(append([]string(nil), b.pinned...), b.unpinned...) {
		word := ""
		if i >= len(b.pinned) {
			word = " " + b.look.th.T("unpinned")
		}
		add([]span{say(theme.Text, "  "+b.look.th.Glyphs.Pin+" "+b.look.line(p))}, say(theme.Faint, word))
	}
	shown := b.leaving
	if len(shown) > mostFolded {
		shown = shown[:mostFolded]
	}
	for _, m := range shown {
		role := theme.Faint
		if m.Kind == "user" {
			role = theme.Text
		}
		add([]span{say(theme.Faint, "  "+b.look.m.Pad(b.look.th.T("turn %d", m.Turn), 8)+" "+b.look.m.Pad(b.look.th.Tell(m.Kind), 10)), say(role, b.look.line(m.Title))},
			say(theme.Faint, " "+theme.Tokens(m.Tokens, false)))
	}
	if n := b.count - len(shown); n > 0 && len(shown) > 0 {
		add([]span{say(theme.Faint, "  "+b.look.th.Glyphs.Cut+" "+b.look.th.N(n, "%s more message", "%s more messages", theme.Count(n)))})
	}
	for i, m := range b.shortened {
		if i == 3 {
			add([]span{say(theme.Faint, "  "+b.look.th.Glyphs.Cut+" "+b.look.th.N(len(b.shortened)-i, "%d more result", "%d more results", len(b.shortened)-i))})
			break
		}
		add([]span{say(theme.Faint, "  "+b.look.th.T("shortened")+"  "+b.look.line(b.look.th.Lang().Kept(m.Title)))}, say(theme.Faint, " "+theme.Tokens(m.Tokens, false)))
	}
	keys := b.look.th.T("v whole   Left close")
	if b.view.newest() == b {
		keys = b.look.th.T("Ctrl+X U undo") + "   " + keys
	}
	add([]span{say(theme.Faint, "  "+keys)})
	return rows
}

// diffRows shows what the memory lost and gained.
func (b *lineBlock) diffRows(w int, add func([]span, ...span)) {
	all := b.diff()
	kept, n := 0, 0
	for _, c := range all {
		if c.sign == " " && len(all) > mostDiff {
			kept++
			continue
		}
		if n++; n > mostDiff {
			continue
		}
		role := theme.Faint
		if c.sign == "+" {
			role = theme.Text
		}
		for i, t := range b.look.m.Wrap(b.look.m.Safe(paint.CleanLine(b.look.th.T("%s: %s", b.look.th.Tell(c.field), c.text))), max(min(w-8, 76), 8)) {
			sign := c.sign
			if i > 0 {
				sign = " "
			}
			add([]span{say(role, "  "+sign+" "+t)})
		}
	}
	if n > mostDiff {
		add([]span{say(theme.Faint, "  "+b.look.th.Glyphs.Cut+" "+b.look.th.N(n-mostDiff, "%d more change", "%d more changes", n-mostDiff))})
	}
	if kept > 0 {
		add([]span{say(theme.Faint, "    "+b.look.th.N(kept, "%d entry as before", "%d entries as before", kept))})
	}
}
