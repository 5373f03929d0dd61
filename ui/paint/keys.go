package paint

import (
	"bytes"
	"os"
	"time"

	"vitrine/runtime/clock"
)

const (
	// answerRest is how long the rest of an answer may take, and mostAnswer how long one is.
	answerRest = time.Second
	mostAnswer = 1 << 10
	// leadTime is how long the library waits for what follows an escape.
	leadTime = 50 * time.Millisecond
	// reportRest is how long the rest of a mouse report is waited for behind an escape, mouseRecent how long after the last report.
	reportRest  = 200 * time.Millisecond
	mouseRecent = 300 * time.Millisecond
)

// Keys reads what is typed, for Bubble Tea. What the terminal answers may come in pieces over a slow line, with as much time in
// between as it likes; Bubble Tea would take the rest of it for text. So an answer that has begun is held back until it is whole, and
// is forgotten when its rest does not come. So are reports of the mouse. Keys and pastes pass as they are. It belongs to one goroutine at a time.
type Keys struct {
	// File is the terminal; all but Read is its own.
	*os.File
	// Clock tells how long an answer takes.
	Clock clock.Clock

	out    []byte    // to be handed on
	held   []byte    // an answer that has begun
	since  time.Time // when
	cut    bool      // its first bytes were handed on
	lead   []byte    // what was handed on last, when an answer may begin so
	leadAt time.Time
	paste  bool      // within a paste
	mouse  time.Time // when the last mouse report came
	tail   []byte    // the last bytes handed on, where a paste may begin or end
}

// Read gives what was typed. It may give nothing, without an error.
func (k *Keys) Read(b []byte) (int, error) {
	if len(k.out) == 0 {
		n, err := k.File.Read(b)
		if n == 0 {
			return 0, err
		}
		if k.escapes(b[:n]) && n < len(b) && readable(k.File, reportRest) {
			more, _ := k.File.Read(b[n:]) // an error comes again
			n += more
		}
		k.take(b[:n], k.Clock.Now())
	}
	n := copy(b, k.out)
	k.out = k.out[n:]
	return n, nil
}

// escapes says that what came ends with an escape that may begin a mouse report: others came just before. Alone it is the Esc key.
func (k *Keys) escapes(b []byte) bool {
	now := k.Clock.Now()
	if bytes.Contains(b, []byte(reportStart)) {
		k.mouse = now
	}
	return now.Sub(k.mouse) < mouseRecent && (b[len(b)-1] == 0x1b || bytes.HasSuffix(b, []byte("\x1b[")))
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
			if i >= handed {
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
			if first == 0 || now.Sub(k.leadAt) < leadTime {
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

// hand hands a byte on, and sees where pastes begin and end.
func (k *Keys) hand(c byte) {
	k.out = append(k.out, c)
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
