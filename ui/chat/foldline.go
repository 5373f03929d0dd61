package chat

import (
	"fmt"

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

func (b *lineBlock) source() string   { return b.whole(b.view.turnAt) }
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
	left := []span{say(theme.Faint, glyph+" "), say(theme.Text, b.name(b.view.turnAt))}
	if b.count > 0 {
		left = append(left, say(theme.Faint, "   "+plural(b.count, "message")))
	}
	right := say(theme.Faint, " "+b.sizes())
	if w >= besideWidth {
		left, right = append(left, say(theme.Faint, "   "+b.sizes())), say(theme.Faint, "")
		if b.last > 0 && !b.dimmed() {
			right.text = " out of the model's sight"
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
	for _, t := range flow(b.look.m, splitFacts(b.facts()), w-5) {
		add([]span{say(theme.Faint, "  "+t)})
	}
	b.diffRows(w, add)
	for i, p := range append(append([]string(nil), b.pinned...), b.unpinned...) {
		word := ""
		if i >= len(b.pinned) {
			word = " unpinned"
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
		add([]span{say(theme.Faint, fmt.Sprintf("  turn %-3d %-10s", m.Turn, m.Kind)), say(role, b.look.line(m.Title))},
			say(theme.Faint, " "+theme.Tokens(m.Tokens, false)))
	}
	if n := b.count - len(shown); n > 0 && len(shown) > 0 {
		add([]span{say(theme.Faint, "  "+b.look.th.Glyphs.Cut+" "+plural(n, "more message"))})
	}
	for i, m := range b.shortened {
		if i == 3 {
			add([]span{say(theme.Faint, "  "+b.look.th.Glyphs.Cut+" "+plural(len(b.shortened)-i, "more result"))})
			break
		}
		add([]span{say(theme.Faint, "  shortened  "+b.look.line(m.Title))}, say(theme.Faint, " "+theme.Tokens(m.Tokens, false)))
	}
	keys := "v whole   Left close"
	if b.view.newest() == b {
		keys = "Ctrl+X U undo   " + keys
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
		for i, t := range b.look.m.Wrap(b.look.m.Safe(paint.CleanLine(c.field+": "+c.text)), max(min(w-8, 76), 8)) {
			sign := c.sign
			if i > 0 {
				sign = " "
			}
			add([]span{say(role, "  "+sign+" "+t)})
		}
	}
	if n > mostDiff {
		add([]span{say(theme.Faint, "  "+b.look.th.Glyphs.Cut+" "+plural(n-mostDiff, "more change"))})
	}
	if kept > 0 {
		word := "entries"
		if kept == 1 {
			word = "entry"
		}
		add([]span{say(theme.Faint, fmt.Sprintf("    %d %s as before", kept, word))})
	}
}
