package record

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// kind is what a piece of a terminal's output is.
type kind uint8

const (
	text    kind = iota // one character
	control             // one control character
	csi                 // a control sequence: ESC [ ... final
	command             // a string that the terminal interprets: ESC ] ... ST, and its like
	escape              // any other escape sequence
)

// maxHeld bounds what is held back because its end has not come, in bytes: a sequence that is longer is broken.
const maxHeld = 64 << 10

// next gives the kind and the length of the piece that s begins with; n is 0 when its end has not come yet.
func next(s string) (k kind, n int) {
	switch b := s[0]; {
	case b == ansi.ESC:
		return nextEscape(s)
	case b < 0x20 || b == 0x7f:
		return control, 1
	case b < utf8.RuneSelf:
		return text, 1
	case !utf8.FullRuneInString(s):
		return text, 0
	}
	_, n = utf8.DecodeRuneInString(s)
	return text, n
}

func nextEscape(s string) (k kind, n int) {
	if len(s) == 1 {
		return escape, 0
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			switch b := s[i]; {
			case b >= 0x40 && b <= 0x7e:
				return csi, i + 1
			case b < 0x20 || b > 0x3f: // no byte of a sequence: it ends broken
				return csi, i
			}
		}
		return csi, 0
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(s); i++ {
			switch s[i] {
			case '\a':
				return command, i + 1
			case ansi.ESC:
				if i+1 == len(s) {
					return command, 0
				}
				if s[i+1] == '\\' {
					return command, i + 2
				}
				return command, i // another sequence ends it
			}
		}
		return command, 0
	}
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	switch {
	case i == len(s):
		return escape, 0
	case s[i] < 0x20:
		return escape, i
	}
	return escape, i + 1
}

// joiner puts characters and sequences that were cut between two events together again, makes bytes that are no UTF-8 U+FFFD, and
// leaves out what switches character sets or asks the terminal who it is, for players differ in what they make of it, and what was
// copied.
type joiner struct{ held string }

// take gives what can be written now.
func (j *joiner) take(s string) string {
	if j.held != "" {
		s, j.held = j.held+s, ""
	}
	var b strings.Builder
	from := 0 // what was not copied yet
	for at := 0; at < len(s); {
		k, n := next(s[at:])
		if n == 0 && len(s)-at <= maxHeld {
			j.held = s[at:]
			s = s[:at]
			break
		}
		n = max(n, 1)
		if piece := s[at : at+n]; unwanted(k, piece) {
			b.WriteString(s[from:at])
			from = at + n
		} else if k == text && n == 1 && piece[0] >= utf8.RuneSelf {
			b.WriteString(s[from:at])
			b.WriteRune(utf8.RuneError)
			from = at + n
		} else if k == csi && n > maxDigits {
			b.WriteString(s[from:at])
			b.WriteString(shortened(piece))
			from = at + n
		}
		at += n
	}
	if from > 0 {
		b.WriteString(s[from:])
		s = b.String()
	}
	return strings.ToValidUTF8(s, "\uFFFD") // within sequences
}

// maxDigits is how long a number in a sequence may be: no terminal is as large, and an emulator would repeat a character as often as it
// is told.
const maxDigits = 4

// shortened is a sequence whose numbers are no longer than maxDigits: longer ones are cut.
func shortened(s string) string {
	var b strings.Builder
	digits := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			digits = 0
		} else if digits++; digits > maxDigits {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// rest gives what was held back and will not be whole any more: of a character its replacement, of a sequence nothing.
func (j *joiner) rest() string {
	held := j.held
	j.held = ""
	if held == "" || held[0] == ansi.ESC {
		return ""
	}
	return "\uFFFD"
}

// unwanted is true for shifts, charset designations, the question who is there, and what goes to the clipboard.
func unwanted(k kind, s string) bool {
	switch k {
	case control:
		return s[0] == 0x05 || s[0] == 0x0e || s[0] == 0x0f
	case command:
		return strings.HasPrefix(s, "\x1b]52;")
	case escape:
		return len(s) >= 3 && strings.IndexByte("()*+-./%", s[1]) >= 0 || len(s) == 2 && strings.IndexByte("nNoO|}~Z", s[1]) >= 0
	}
	return false
}
