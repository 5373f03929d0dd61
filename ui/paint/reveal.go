package paint

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Runs of this many spaces are told by their count; in front of a line of code only what would push it out of sight is.
const (
	mostSpaces = 3
	mostIndent = 40
	// tabMark stands for a tab, with spaces to tabWidth columns: code keeps its shape, and a tab is never taken for spaces.
	tabMark = '⇥'
)

// Reveal spells out what a reader of a text could not see in it, for somebody who is to say whether it may run: controls,
// direction and invisible characters and blanks other than the space as <U+202E>, bytes that are no text as <0xFF>, runs of
// four spaces and more by their count, and in a word that mixes Latin with look-alike scripts the letters that are not Latin.
// A literal "<U+" is spelled out too, so that each text is shown in one way only. Line feeds stay.
func Reveal(s string) string { return reveal(s, false) }

// RevealLines is Reveal for what a tool wrote to be read, such as a diff: indentation stays, tabs are arrows with room behind
// them, and what is spelled out already stays so.
func RevealLines(s string) string { return reveal(s, true) }

func reveal(s string, lines bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case r == '\n':
			b.WriteByte('\n')
		case r == ' ':
			n = len(s[i:]) - len(strings.TrimLeft(s[i:], " "))
			indent := lines && n <= mostIndent && indents(s, i)
			if n <= mostSpaces || indent {
				b.WriteString(s[i : i+n])
			} else {
				fmt.Fprintf(&b, "<%d spaces>", n)
			}
		case lines && r == '\t':
			n = len(s[i:]) - len(strings.TrimLeft(s[i:], "\t"))
			if n <= mostSpaces || n*tabWidth <= mostIndent && indents(s, i) {
				b.WriteString(strings.Repeat(string(tabMark)+strings.Repeat(" ", tabWidth-1), n))
			} else {
				fmt.Fprintf(&b, "<%d tabs>", n)
			}
		case lines && r == tabMark:
			spell(&b, r)
		case !lines && strings.HasPrefix(s[i:], "<U+"), !lines && strings.HasPrefix(s[i:], "<0x"), unseen(r):
			spell(&b, r)
		case unicode.IsLetter(r):
			n = len(s[i:]) - len(strings.TrimLeftFunc(s[i:], inWord))
			spellWord(&b, s[i:i+n])
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func spell(b *strings.Builder, r rune) { fmt.Fprintf(b, "<U+%04X>", r) }

// indents says that only the sign of a diff, a line's number or nothing stands before i on its line.
func indents(s string, i int) bool {
	return strings.Trim(s[strings.LastIndexByte(s[:i], '\n')+1:i], " \t+-0123456789") == ""
}

// unseen characters show nothing, or nothing of their own.
func unseen(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return !unicode.IsPrint(r) || hidden(r) || variation(r) || r == vs15 || r == vs16 || nonCharacter(r) || prepends(r) || unicode.In(r, unicode.Me)
}

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc)) && !unseen(r)
}

// spellWord writes a word; in one with Latin letters those of scripts that look alike are spelled out.
func spellWord(b *strings.Builder, w string) {
	latin := strings.ContainsFunc(w, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
	for _, r := range w {
		if latin && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic) {
			spell(b, r)
			continue
		}
		b.WriteRune(r)
	}
}
