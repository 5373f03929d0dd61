package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// CleanLine makes one safe line of s for a message or a screen: terminal sequences, control and direction characters are
// gone, line breaks and tabs are spaces, invalid UTF-8 is U+FFFD, and at most max characters (runes, cut between grapheme
// clusters, an ellipsis counted in) remain.
func CleanLine(s string, max int) string {
	return cutClusters(strings.TrimSpace(clean(s)), max)
}

// clean strips what a terminal would act on.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case unicode.IsControl(r) || directional(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// directional reports characters that reorder text or hide in it. The joiners stay: emoji and some scripts need them.
func directional(r rune) bool {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0x206A && r <= 0x206F:
		return true
	case r == 0x200E, r == 0x200F, r == 0x061C, r == 0xFEFF:
		return true
	}
	return false
}

// sequence gives the length of the terminal sequence at the start of s, 0 when there is none. A string sequence that does not
// end counts as its introducer only, so that the text behind it stays visible.
func sequence(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	kind := r
	switch {
	case r == 0x1b && len(s) > 1:
		kind = rune(s[1]) + 0x40
		if s[1] < 0x20 || s[1] > 0x7e {
			return 1
		}
		n = 2
	case r < 0x80 || r > 0x9f:
		return 0
	}
	switch kind {
	case 0x9b: // CSI: parameters and intermediates up to a final byte
		for i := n; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC: up to BEL or ST
		return n + stringEnd(s[n:])
	}
	return n
}

// stringEnd gives the length up to and with the terminator, 0 when there is none.
func stringEnd(s string) int {
	end := 0
	for _, term := range [...]string{"\a", "\x1b\\", "\u009c"} {
		if i := strings.Index(s, term); i >= 0 && (end == 0 || i+len(term) < end) {
			end = i + len(term)
		}
	}
	return end
}

// cutClusters shortens s to at most max runes, the ellipsis counted in, between grapheme clusters.
func cutClusters(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	kept, used := 0, 1
	for it := graphemes.FromString(s); it.Next(); {
		used += utf8.RuneCountInString(it.Value())
		if used > max {
			break
		}
		kept += len(it.Value())
	}
	return s[:kept] + "…"
}
