package builtin

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How texts are shown and kept: the model gets a file's text as it is but for bytes that are no text, the user who is asked gets
// all spelled out. What a file has beside its words, a byte order mark and line ends, stays: fileends.go.

const bom = "\ufeff"

// readable writes text for the model: bytes that are no text as <0xFF>, all else as it is, so that it can be written back.
func readable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return spell(s, func(rune) bool { return false })
}

// shown writes text for somebody who looks: besides, what does not show as <U+202E>; tabs stay.
func shown(s string) string {
	if !strings.ContainsFunc(s, unseen) && utf8.ValidString(s) {
		return s
	}
	return spell(s, unseen)
}

func spell(s string, unseen func(rune) bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case unseen(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// unseen characters show nothing of their own, or a blank that is not the space.
func unseen(r rune) bool {
	switch r {
	case '\t', '\n':
		return false
	case 0x2800: // a pattern of no dots
		return true
	}
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// shownName writes a name in one line.
func shownName(s string) string {
	if s = shown(s); strings.ContainsAny(s, "\n\t") { // else nothing is made for it: a listing has many
		s = strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(s)
	}
	if s == "" {
		return `""`
	}
	return s
}
