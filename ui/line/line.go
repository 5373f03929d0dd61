// Package line joins styled pieces of text to rows of an exact width: what the bars and the dialogs of the screen are made of.
//
// A row that was made is kept by its owner and joined into frames as it is; nothing here is called for a frame in which
// nothing changed.
package line

import (
	"strings"

	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Style is how to draw.
type Style struct {
	Theme   *theme.Theme
	Metrics paint.Metrics
	// Phase is that of the spinners.
	Phase int
}

// Span is one styled piece of a row. Its text is ready to be shown: see Style.Text for text from outside.
type Span struct {
	Role theme.Role
	Bold bool
	Text string
}

// Say is a piece in its usual weight.
func Say(role theme.Role, text string) Span { return Span{Role: role, Text: text} }

// Bold is a bold piece.
func Bold(role theme.Role, text string) Span { return Span{Role: role, Bold: true, Text: text} }

// Weight is a piece that is bold on a condition.
func Weight(role theme.Role, bold bool, text string) Span {
	return Span{Role: role, Bold: bold, Text: text}
}

// T is one of our texts in the screen's language; see package words.
func (s Style) T(t words.Text, args ...any) string { return s.Theme.T(t, args...) }

// N is one of our texts in the singular or the plural.
func (s Style) N(n int, one words.One, many words.Text, args ...any) string {
	return s.Theme.N(n, one, many, args...)
}

// Tell is a text of another part of the program, an error or a notice, in the screen's language and fit for one row.
func (s Style) Tell(text string) string { return s.Text(s.Theme.Lang().Tell(text)) }

// Cells is how an editor shows a cluster.
func (s Style) Cells(cluster string) (shown string, width int) {
	shown = s.Metrics.Safe(cluster)
	return shown, s.Metrics.Width(shown)
}

// Text makes text from outside fit for a place of one row.
func (s Style) Text(text string) string { return s.Metrics.Safe(paint.CleanLine(text)) }

// Width is what the pieces take.
func (s Style) Width(spans ...Span) int {
	n := 0
	for _, p := range spans {
		n += s.Metrics.Width(p.Text)
	}
	return n
}

// Row joins the pieces to exactly w cells: left ones from the left, right ones at the right end. The left is cut where it
// does not fit; a right that has no room at all is left out.
func (s Style) Row(bg theme.Bg, w int, left []Span, right ...Span) string {
	if w <= 0 {
		return ""
	}
	rightW := s.Width(right...)
	if rightW >= w {
		right, rightW = nil, 0
	}
	room := w - rightW
	if rightW > 0 {
		room-- // a blank between the two
	}
	var b strings.Builder
	for _, p := range left {
		if room <= 0 {
			break
		}
		text := p.Text
		n := s.Metrics.Width(text)
		if n > room {
			text = s.Metrics.Fit(text, room)
			n = room
		}
		b.WriteString(s.Theme.Paint(p.Role, bg, p.Bold, text))
		room -= n
	}
	if rightW > 0 {
		room++
	}
	b.WriteString(s.Theme.Paint(theme.Text, bg, false, paint.Spaces(room)))
	for _, p := range right {
		b.WriteString(s.Theme.Paint(p.Role, bg, p.Bold, p.Text))
	}
	return b.String()
}

// Whole keeps of hints, which stand three blanks apart, as many of the first ones as have room.
func (s Style) Whole(hints string, room int) string {
	for s.Metrics.Width(hints) > room {
		i := strings.LastIndex(hints, "   ")
		if i < 0 {
			break
		}
		hints = strings.TrimRight(hints[:i], " ")
	}
	return hints
}

// Clauses leaves out the last parts of a sentence, behind a comma or a semicolon, that have no room; the first one stays.
func (s Style) Clauses(text string, room int) string {
	short := text
	for s.Metrics.Width(short) > room {
		i := max(strings.LastIndex(short, ", "), strings.LastIndex(short, "; "), strings.LastIndex(short, "，"), strings.LastIndex(short, "；"))
		if i <= 0 {
			return text
		}
		short = short[:i]
	}
	return short
}

// Blank is an empty row.
func (s Style) Blank(bg theme.Bg, w int) string {
	return s.Theme.Paint(theme.Text, bg, false, paint.Spaces(w))
}

// Divide gives each part of a whole its share of a bar's cells, in order; a part that is there has one cell at least. What is
// over of the cells is free.
func Divide(cells, whole int, parts ...int) []int {
	out := make([]int, len(parts))
	all := 0
	for _, n := range parts {
		all += max(n, 0)
	}
	whole = max(whole, all, 1)
	taken, sum := 0, 0
	for i, n := range parts {
		if n <= 0 {
			continue
		}
		sum += n
		end := min(max((sum*cells+whole/2)/whole, taken+1), cells)
		out[i] = max(end-taken, 0)
		taken = max(taken, end)
	}
	return out
}
