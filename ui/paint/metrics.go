// Package paint brings text to a terminal. Its functions make text fit rows: they clean it, measure it as the terminal will, cut,
// pad and wrap it, and keep no state. A Painter turns whole frames into the bytes that change what differs, and a Terminal owns the
// user's terminal while the screen is on: modes, keys, sizes, and a goroutine that paints the newest frame.
//
// The order is always the same: Clean what came from outside, make it Safe for the terminal, then Wrap or Fit it, and
// only then add colour. Widths are those of the renderer: by grapheme cluster once the terminal confirmed mode 2027, by
// code point until then. Some clusters are counted differently the two ways, and some terminals count by cluster without
// saying so; until the mode is confirmed Safe therefore shows a form of them that every terminal counts alike.
package paint

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

// DefaultMark stands where text was cut.
const DefaultMark = "⋯"

// Metrics is how the terminal counts cells. The zero value counts by code point.
type Metrics struct {
	// Grapheme is set once the terminal confirmed mode 2027.
	Grapheme bool
	// Mark stands where Fit cut something; empty is DefaultMark.
	Mark string
}

// maxCluster bounds the bytes of one cluster: a longer one is no writing and is shown as U+FFFD.
const maxCluster = 96

const wordJoiner = "\u2060" // no cluster reaches across it, and it has no width

func (m Metrics) method() ansi.Method {
	if m.Grapheme {
		return ansi.GraphemeWidth
	}
	return ansi.WcWidth
}

func (m Metrics) mark() string {
	if m.Mark == "" {
		return DefaultMark
	}
	return m.Mark
}

// Safe gives the form of clean plain text that the terminal counts as we do. By code point, a flag becomes its two letters,
// and a cluster whose two widths differ loses what only changes the look of its first character: variation selectors,
// skin tones, keycap frames, and a ZWJ with what follows. Where the widths still differ because letters of a script join,
// word joiners keep the letters apart; if even that does not help it becomes U+FFFD. By grapheme, text is shown as it is.
// Safe(Safe(s)) is Safe(s).
func (m Metrics) Safe(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	if i == len(s) {
		return s
	}
	var out strings.Builder
	done := 0 // what stands before it is in out, once something had to change
	for i = max(i-1, 0); i < len(s); {
		if b := s[i]; b < 0x20 || b < utf8.RuneSelf && (i+1 == len(s) || s[i+1] < utf8.RuneSelf) {
			i++
			continue
		}
		c := graphemes.FromString(s[i:]).First()
		if safe := m.safeCluster(c); safe != c {
			out.WriteString(s[done:i])
			out.WriteString(safe)
			done = i + len(c)
		}
		i += len(c)
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

func (m Metrics) safeCluster(c string) string {
	if len(c) > maxCluster {
		return replacement
	}
	if m.Grapheme {
		return c
	}
	first, n := utf8.DecodeRuneInString(c)
	if first >= 0x1f1e6 && first <= 0x1f1ff {
		return flagLetters(c)
	}
	if agree(c) {
		return c
	}
	if len(c) == n {
		return replacement
	}
	var kept strings.Builder
	runes := 0
	for _, r := range c {
		if r == zwj && pictographic(first) {
			break
		}
		if variation(r) || r == vs15 || r == vs16 || r == 0x20e3 || r >= 0x1f3fb && r <= 0x1f3ff && runes > 0 {
			continue
		}
		kept.WriteRune(r)
		runes++
	}
	if k := kept.String(); k != "" && agree(k) {
		return k
	}
	var apart strings.Builder
	for i, r := range c {
		if i > 0 && ansi.StringWidthWc(string(r)) > 0 {
			apart.WriteString(wordJoiner)
		}
		apart.WriteRune(r)
	}
	if a := apart.String(); agree(a) {
		return a
	}
	return replacement
}

// agree says that both ways of counting give the same width, and some.
func agree(s string) bool {
	w := ansi.StringWidthWc(s)
	return w == ansi.StringWidth(s) && (w > 0 || s == wordJoiner)
}

// flagLetters turns regional indicators into the letters that they stand for.
func flagLetters(c string) string {
	var b strings.Builder
	for _, r := range c {
		if r >= 0x1f1e6 && r <= 0x1f1ff {
			b.WriteByte(byte('A' + r - 0x1f1e6))
		}
	}
	return b.String()
}

// Width is how many cells s takes; escape sequences take none.
func (m Metrics) Width(s string) int {
	w := 0
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i = SkipControl(s, i)
			continue
		}
		end, n := m.atom(s, i)
		w += n
		i = end
	}
	return w
}

// atom gives the end and the width of the smallest piece at i that must not be divided.
func (m Metrics) atom(s string, i int) (end, width int) {
	if b := s[i]; b < utf8.RuneSelf && (i+1 == len(s) || s[i+1] < utf8.RuneSelf) {
		if b < 0x20 || b == 0x7f {
			return i + 1, 0
		}
		return i + 1, 1
	}
	c, w := ansi.FirstGraphemeCluster(s[i:], m.method())
	end, width = i+len(c), w
	for strings.HasPrefix(s[end:], wordJoiner) {
		end += len(wordJoiner)
		if end == len(s) || s[end] < utf8.RuneSelf {
			break
		}
		c, w = ansi.FirstGraphemeCluster(s[end:], m.method())
		end, width = end+len(c), width+w
	}
	return end, width
}

// Cut shortens s to at most w cells; where something was cut tail stands at the end, within w. Escape sequences after the
// cut are kept, so that styles end.
func (m Metrics) Cut(s string, w int, tail string) string {
	if len(s) <= w || m.Width(s) <= w {
		return s
	}
	room := w - m.Width(tail)
	if room < 0 {
		room, tail = max(w, 0), ""
	}
	var b strings.Builder
	b.Grow(len(s))
	used, cut := 0, false
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			end := SkipControl(s, i)
			b.WriteString(s[i:end])
			i = end
			continue
		}
		end, n := m.atom(s, i)
		if !cut && used+n > room {
			cut = true
			b.WriteString(tail)
		}
		if !cut {
			b.WriteString(s[i:end])
			used += n
		}
		i = end
	}
	return b.String()
}

const blanks = "                                                                                                                                "

// Spaces gives n spaces, none when n is negative.
func Spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// Pad adds spaces up to w cells. The spaces stand after any style of s: pad plain text first, then colour it.
func (m Metrics) Pad(s string, w int) string {
	if n := w - m.Width(s); n > 0 {
		return s + Spaces(n)
	}
	return s
}

// PadLeft adds spaces in front, for numbers.
func (m Metrics) PadLeft(s string, w int) string {
	if n := w - m.Width(s); n > 0 {
		return Spaces(n) + s
	}
	return s
}

// Fit makes s exactly w cells wide: cut with the mark, or padded. Where only half of a wide character has room stands a
// space. Negative w is 0.
func (m Metrics) Fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	return m.Pad(m.Cut(s, w, m.mark()), w)
}

// FitRight is Fit with the spaces in front.
func (m Metrics) FitRight(s string, w int) string {
	if w <= 0 {
		return ""
	}
	return m.PadLeft(m.Cut(s, w, m.mark()), w)
}
