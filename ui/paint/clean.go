package paint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

const (
	// tabWidth is how many spaces a tab becomes.
	tabWidth = 4
	// maxMarks and maxJoiners bound how much can be stacked on one character: more is no writing but an attack on the row.
	maxMarks   = 8
	maxJoiners = 6

	replacement  = "\uFFFD"
	dottedCircle = "\u25CC" // carries a mark that has no letter to stand on

	zwnj = '\u200C'
	zwj  = '\u200D'
	vs15 = '\uFE0E'
	vs16 = '\uFE0F'
)

// Clean makes text that came from a model, a tool, a file or a paste safe to show: control characters but the line feed,
// whole escape sequences, direction controls, invisible format characters, noncharacters and tags are left out; a tab
// becomes spaces, CR and CRLF a line feed, invalid UTF-8 U+FFFD. Joiners and variation selectors stay where writing needs
// them. A mark at the start of a line is put on a dotted circle, so that it cannot join what is shown before it.
//
// It works line by line: Clean(a+"\n"+b) is Clean(a)+"\n"+Clean(b). Clean text is returned as it is, without allocation.
func Clean(s string) string { return clean(s, false) }

// CleanSource is Clean, but tabs stay: for text that is kept to be copied or read as Markdown. It is cleaned again, or its
// tabs are expanded, when it is shown.
func CleanSource(s string) string { return clean(s, true) }

func clean(s string, tabs bool) string {
	i := dirty(s, tabs)
	if i < 0 {
		return s
	}
	// What stands before the first suspect is copied; the line it stands in is read again for its marks and joiners.
	start := strings.LastIndexByte(s[:i], '\n') + 1
	c := cleaner{src: s, at: start, lineStart: true, tabs: tabs}
	c.out.Grow(len(s))
	c.out.WriteString(s[:start])
	for c.at < len(s) {
		c.step()
	}
	if c.out.Len() == len(s) && c.out.String() == s {
		return s
	}
	return c.out.String()
}

// CleanLine is Clean for a place of one row: line ends become a space, and none stand at the ends.
func CleanLine(s string) string {
	s = Clean(s)
	if strings.IndexByte(s, '\n') < 0 {
		return s
	}
	s = strings.Trim(s, "\n")
	return strings.ReplaceAll(s, "\n", " ")
}

// dirty gives the place of the first byte that needs a closer look, or -1.
func dirty(s string, tabs bool) int {
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b < 0x20 && b != '\n' && !(tabs && b == '\t') || b == 0x7f {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !plain(r, n) {
			return i
		}
		i += n
	}
	return -1
}

// plain says that a character beyond ASCII is an ordinary one, whatever stands around it. It may say no too often.
func plain(r rune, size int) bool {
	switch {
	case r == utf8.RuneError && size == 1:
		return false
	case r < 0xa0 || r == 0xad:
		return false
	case r < 0x300:
		return true
	case r >= 0x3041 && r <= 0x3096, r >= 0x30a0 && r <= 0x30ff, r >= 0x3400 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3:
		return true // kana, Han, Hangul
	case r >= 0xff01 && r <= 0xff9d:
		return true
	}
	return !unicode.In(r, unicode.M, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) &&
		!nonCharacter(r) && !startsNoCluster(r) && !prepends(r)
}

type cleaner struct {
	src       string
	at        int
	out       strings.Builder
	tabs      bool // tabs stay
	lineStart bool // nothing is shown on this line yet
	prev      rune // the last character kept on this line, 0 at its start
	marks     int  // marks kept since the last letter
	joiners   int  // joiners kept in this cluster
}

func (c *cleaner) step() {
	r, n := utf8.DecodeRuneInString(c.src[c.at:])
	if r == utf8.RuneError && n == 1 {
		c.at++
		c.keep('\uFFFD')
		return
	}
	switch {
	case r == '\n', r == 0x2028, r == 0x2029:
		c.at += n
		c.newline()
	case r == '\r':
		c.at += n
		if !strings.HasPrefix(c.src[c.at:], "\n") {
			c.newline()
		}
	case r == '\t':
		c.at += n
		if c.tabs {
			c.keep('\t')
			break
		}
		for range tabWidth {
			c.keep(' ')
		}
	case r == 0x1b || r < 0x20 || r >= 0x7f && r < 0xa0:
		c.at = SkipControl(c.src, c.at)
	default:
		next, size := utf8.DecodeRuneInString(c.src[c.at+n:])
		if size == 0 {
			next = 0
		}
		c.at += n
		c.char(r, next)
	}
}

func (c *cleaner) newline() {
	c.out.WriteByte('\n')
	c.lineStart, c.prev, c.marks, c.joiners = true, 0, 0, 0
}

func (c *cleaner) keep(r rune) {
	c.out.WriteRune(r)
	if c.prev != zwj {
		c.joiners = 0
	}
	c.lineStart, c.prev, c.marks = false, r, 0
}

// char takes one character that is no control.
func (c *cleaner) char(r, next rune) {
	switch {
	case r == zwj:
		if c.joiners < maxJoiners && (pictographic(c.prev) || c.prev == vs16) && pictographic(next) ||
			c.joiners < maxJoiners && joinScript(c.prev) && joinScript(next) && unicode.IsLetter(next) {
			c.mark(r)
			c.joiners++
		}
	case r == zwnj:
		if joinScript(c.prev) && joinScript(next) && unicode.IsLetter(next) {
			c.mark(r)
		}
	case hidden(r) || nonCharacter(r):
	case r == vs15 || r == vs16:
		if c.prev > ' ' && c.prev != vs15 && c.prev != vs16 && c.prev != zwj {
			c.mark(r)
		}
	case variation(r):
		if unicode.Is(unicode.Han, c.prev) {
			c.mark(r)
		}
	case prepends(r):
		// Such a sign takes what follows into its own cluster, which renderers then count as nothing.
		c.keep(utf8.RuneError)
	case unicode.In(r, unicode.Mn, unicode.Me):
		if c.marks < maxMarks {
			c.base(r)
			c.mark(r)
		}
	default:
		c.base(r)
		c.keep(r)
	}
}

// mark keeps a character that belongs to the one before it.
func (c *cleaner) mark(r rune) {
	c.out.WriteRune(r)
	c.prev = r
	c.marks++
}

// base puts the dotted circle under a character that would join what a pane shows to its left.
func (c *cleaner) base(r rune) {
	if c.lineStart && startsNoCluster(r) {
		c.out.WriteString(dottedCircle)
		c.lineStart = false
	}
}

// startsNoCluster says that r joins a space before it.
func startsNoCluster(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case unicode.In(r, unicode.M), r == 0xe33, r == 0xeb3, r >= 0xff9e && r <= 0xff9f, r >= 0x1f3fb && r <= 0x1f3ff:
		s := " " + string(r)
		return len(graphemes.FromString(s).First()) == len(s)
	}
	return false
}

// hidden characters direct or format text without being seen.
func hidden(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x180e, r == 0xfeff:
		return true
	case r >= 0x17b4 && r <= 0x17b5, r >= 0x180b && r <= 0x180f:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfff0 && r <= 0xfffb, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a:
		return true
	case r >= 0x13430 && r <= 0x1345f:
		return true
	case r >= 0xe0000 && r <= 0xe00ff, r >= 0xe01f0 && r <= 0xe0fff:
		return true
	}
	return false
}

func variation(r rune) bool { return r >= 0xfe00 && r <= 0xfe0d || r >= 0xe0100 && r <= 0xe01ef }

func nonCharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }

// prepends says that r joins the character after it.
func prepends(r rune) bool {
	switch {
	case r < 0x600:
		return false
	case r <= 0x605, r == 0x6dd, r == 0x70f, r == 0x890, r == 0x891, r == 0x8e2, r == 0xd4e:
		return true
	case r < 0x11000:
		return false
	case r == 0x110bd, r == 0x110cd, r == 0x111c2, r == 0x111c3, r == 0x113d1, r == 0x1193f, r == 0x11941, r == 0x11a3a, r == 0x11d46, r == 0x11f02:
		return true
	}
	return r >= 0x11a84 && r <= 0x11a89
}

// pictographic is true for characters that emoji sequences are made of.
func pictographic(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0xa9 || r == 0xae || r == 0x3030 || r == 0x303d
}

// joinScript is true for scripts whose letters join, so that a joiner changes what is read.
func joinScript(r rune) bool {
	switch {
	case r < 0x600:
		return false
	case r <= 0xdff:
		return true
	case r >= 0x1000 && r <= 0x109f, r >= 0x1780 && r <= 0x18af, r >= 0x1b00 && r <= 0x1bff:
		return true
	case r >= 0xa840 && r <= 0xa8ff, r >= 0xa980 && r <= 0xa9ff, r >= 0xfb50 && r <= 0xfdcf, r >= 0xfe70 && r <= 0xfefc:
		return true
	}
	return r >= 0x11000 && r <= 0x11fff
}
