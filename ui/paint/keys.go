package paint

import (
	"bytes"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"vitrine/runtime/clock"
)

const (
	// answerRest is how long the rest of an answer may take, and mostAnswer how long one is.
	answerRest = time.Second
	mostAnswer = 1 << 10
	// leadTime is how long what follows an escape is waited for; the library waits as long for what it gets.
	leadTime = 50 * time.Millisecond
	// mostLead is how long what may go on is; a key is shorter.
	mostLead = 24
	// reportRest is how long the rest of a mouse report is waited for behind an escape, mouseRecent how long after the last report.
	reportRest  = 200 * time.Millisecond
	mouseRecent = 300 * time.Millisecond
)

// Keys reads what is typed, for Bubble Tea. What the terminal answers may come in pieces over a slow line, with as much time in
// between as it likes; Bubble Tea would take the rest of it for text. So an answer that has begun is held back until it is whole, and
// is forgotten when its rest does not come. So are reports of the mouse. What begins like one, and like a key, waits for the next byte.
// Keys and pastes pass as they are, but for the Esc key, which was waited for and is written so that nobody waits again. It belongs to
// one goroutine at a time.
type Keys struct {
	// File is the terminal; all but Read is its own.
	*os.File
	// Clock tells how long an answer takes.
	Clock clock.Clock
	// Ready waits until there is something to read, at most so long, and says whether there is. Nil asks the file.
	Ready func(most time.Duration) bool
	// Ahead is how many of the first bytes were typed before the terminal gave keys one by one: it made line feeds of their Enter keys.
	Ahead int

	out    []byte    // to be handed on
	held   []byte    // an answer that has begun
	since  time.Time // when
	cut    bool      // its first bytes were handed on
	lead   []byte    // what was handed on last, when an answer may begin so
	leadAt time.Time
	paste  bool      // within a paste
	mouse  time.Time // when the last mouse report came
	tail   []byte    // the last bytes handed on, where a paste may begin or end
	part   []byte    // the beginning of a character, or of the end of a paste
}

// Read gives what was typed. It may give nothing, without an error.
func (k *Keys) Read(b []byte) (int, error) {
	if len(k.out) == 0 {
		// What is handed on may be thrice as long, behind an answer that was held back. All of it must fit: the library waits for the
		// terminal before it reads again, not for what is left here.
		in := b[:max(1, (len(b)-mostAnswer)/utf8.RuneLen(pastedEscape)-len(escKey))]
		n, err := k.File.Read(in)
		if n == 0 {
			return 0, err
		}
		for n < len(in) {
			wait := k.unfinished(in[:n])
			if wait == 0 || !k.ready(wait) {
				break
			}
			more, _ := k.File.Read(in[n:]) // an error comes again
			if more == 0 {
				break
			}
			n += more
		}
		k.entered(in[:n])
		k.take(in[:n], k.Clock.Now())
	}
	n := copy(b, k.out)
	k.out = k.out[n:]
	return n, nil
}

// entered makes Enter keys again of those that were typed ahead.
func (k *Keys) entered(b []byte) {
	b = b[:min(len(b), k.Ahead)]
	k.Ahead -= len(b)
	for i := range b {
		if b[i] == '\n' {
			b[i] = '\r'
		}
	}
}

// ready asks whether more comes in a time.
func (k *Keys) ready(most time.Duration) bool {
	if k.Ready != nil {
		return k.Ready(most)
	}
	return readable(k.File, most)
}

// unfinished says how long to wait for what comes behind the end of b, which may be the beginning of an answer, of a key or of a report
// of the mouse; 0 when it is none. Alone an escape is the Esc key.
func (k *Keys) unfinished(b []byte) time.Duration {
	now := k.Clock.Now()
	if bytes.Contains(b, []byte(reportStart)) {
		k.mouse = now
	}
	i := bytes.LastIndexByte(b, 0x1b)
	if i < 0 || len(b)-i > mostLead {
		return 0
	}
	switch s := string(b[i:]); {
	case s != "\x1b" && s != "\x1bO" && s != "\x1b]" && s != "\x1bP" && (s[1] != '[' || strings.Trim(s[2:], "0123456789;:") != ""):
		return 0
	case now.Sub(k.mouse) < mouseRecent && (s == "\x1b" || s == "\x1b["):
		return reportRest
	}
	return leadTime
}

// take sorts what came at a time.
func (k *Keys) take(b []byte, now time.Time) {
	data, handed := b, 0 // the first bytes that were handed on already
	switch {
	case len(k.held) > 0 && now.Sub(k.since) <= answerRest:
		data = append(k.held, b...)
	case len(k.lead) > 0 && (now.Sub(k.leadAt) <= leadTime || now.Sub(k.leadAt) <= answerRest && bytes.HasPrefix(append(bytes.Clone(k.lead), b...), []byte(reportStart))):
		data, handed = append(k.lead, b...), len(k.lead)
	}
	if k.cut = k.cut && len(data) > len(b); !k.cut && handed == 0 {
		k.lead = nil
	}
	k.held = nil
	for i := 0; i < len(data); {
		n, state := 0, noAnswer
		if data[i] == 0x1b && !k.paste {
			n, state = answer(data[i:])
		}
		switch {
		case state == noAnswer:
			switch {
			case i < handed:
			case data[i] == 0x1b && i+1 == len(data) && !k.paste: // nothing came behind it
				k.out = append(append(k.out, k.part...), escKey...)
				k.part = nil
				k.note(data[i])
			default:
				k.hand(data[i])
			}
			i++
		case state == begun && len(data)-i < mostAnswer:
			k.held, k.since, k.cut = append([]byte(nil), data[i:]...), now, i < handed || k.cut && i == 0
			return
		case state == begun:
			i = len(data)
		default:
			// One whose first bytes the library has made something else of by now is of no use to it.
			first := max(handed-i, 0)
			if k.cut && i == 0 {
				first = len(k.lead)
			}
			if first == 0 || first > 1 && now.Sub(k.leadAt) < leadTime { // an escape alone was the Esc key
				for _, c := range data[i+first : i+n] {
					k.hand(c)
				}
			}
			i += n
		}
	}
	k.cut, k.lead = false, nil
	for _, start := range []string{"\x1b]", "\x1b[", "\x1bP", "\x1b"} {
		if bytes.HasSuffix(data, []byte(start)) && !k.paste {
			k.lead, k.leadAt = []byte(start), now
			break
		}
	}
}

// hand hands a byte on, characters as a whole. The library takes the first half of a character for something else when the other half
// comes late, and waits at an escape within a paste until nothing comes for a while, looking through all that came since with each
// piece: so nothing in a paste is broken, and an escape has another sign there; see Pasted.
func (k *Keys) hand(c byte) {
	within := k.paste
	k.note(c)
	for k.part = append(k.part, c); len(k.part) > 0; {
		n := 0
		switch {
		case within && k.part[0] == 0x1b:
			if len(k.part) < len(pasteEnd) && strings.HasPrefix(pasteEnd, string(k.part)) {
				return
			}
			if n = len(pasteEnd); string(k.part) != pasteEnd {
				n = 1
				k.out = utf8.AppendRune(k.out, pastedEscape)
				break
			}
			k.out = append(k.out, pasteEnd...)
		case !utf8.FullRune(k.part):
			return
		default:
			var r rune
			if r, n = utf8.DecodeRune(k.part); within {
				k.out = utf8.AppendRune(k.out, r) // what is no character is U+FFFD
			} else {
				k.out = append(k.out, k.part[:n]...)
			}
		}
		k.part = k.part[n:]
	}
}

// pastedEscape stands for an escape within a paste; it is no character.
const pastedEscape = '\uFDD0'

// Pasted is the text of a paste whose bytes came through Keys.
func Pasted(text string) string { return strings.ReplaceAll(text, string(pastedEscape), "\x1b") }

// note sees where pastes begin and end.
func (k *Keys) note(c byte) {
	if k.tail = append(k.tail, c); len(k.tail) > len(pasteStart) {
		k.tail = k.tail[1:]
	}
	switch string(k.tail) {
	case pasteStart:
		k.paste = true
	case pasteEnd:
		k.paste = false
	}
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// escKey is the Esc key in the form that ends by itself.
	escKey = "\x1b[27u"
	// reportStart begins a report of the mouse.
	reportStart = "\x1b[<"
)

// How far an answer is.
type answerState int

const (
	noAnswer answerState = iota
	begun
	whole
)

// answer looks for what only a terminal says: the end of a string sequence with a number or a sign of its own, or of a private control
// sequence, or a report of the mouse. n is its length when it is whole.
func answer(s []byte) (n int, state answerState) {
	if len(s) < 3 {
		return 0, noAnswer
	}
	switch {
	case s[1] == ']' && digit(s[2]), s[1] == 'P' && (digit(s[2]) || s[2] == '>' || s[2] == '!'):
		for i := 3; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1, whole
			case s[i] == 0x1b && i+1 == len(s):
				return 0, begun
			case s[i] == 0x1b && s[i+1] == '\\':
				return i + 2, whole
			case s[i] < ' ' || s[i] == 0x7f: // it was broken off
				return i, whole
			}
		}
		return 0, begun
	case s[1] == '[' && (s[2] == '?' || s[2] == '<'):
		for i := 3; i < len(s); i++ {
			switch {
			case s[i] >= 0x40 && s[i] <= 0x7e:
				return i + 1, whole
			case s[i] < ' ' || s[i] > 0x7e:
				return i, whole
			}
		}
		return 0, begun
	}
	return 0, noAnswer
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
