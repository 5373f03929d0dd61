package input

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// A large paste is a chip: one character of the text, which stands for the whole and is moved over and deleted as one. Outside of the
// editor a chip is its text between two marks; both are private characters, which no text from outside brings in.
const (
	firstChip = '\U0010F000'
	lastChip  = '\U0010F7FF'
	openMark  = '\U0010FFFC'
	closeMark = '\U0010FFFD'

	// chipLines and chipBytes are from where on a paste is a chip, largeBytes from where on any text is that is put in: each key
	// has to lay out again what it changes.
	chipLines  = 16
	chipBytes  = 2 << 10
	largeBytes = 64 << 10
	// keptFactor bounds what chips that undo may bring back take, in texts of the largest size.
	keptFactor = 2
)

// Chip is a paste as it is labelled.
type Chip struct {
	// Number counts the pastes of a text from 1.
	Number, Lines, Bytes int
}

// Label gives what is shown of a chip, in the widths that it may have, the longest first.
type Label func(Chip) []string

func isChip(r rune) bool { return r >= firstChip && r <= lastChip }

// foreign drops the characters that are ours from a text of somebody else.
func foreign(s string) string {
	ours := func(r rune) bool { return isChip(r) || r == openMark || r == closeMark }
	if strings.IndexFunc(s, ours) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if ours(r) {
			return -1
		}
		return r
	}, s)
}

// Foreign makes a text that came from elsewhere one that an editor may be set to: none of it is a mark.
func Foreign(s string) string { return foreign(s) }

// Plain is a text of an editor without the marks around its pastes: what is sent.
func Plain(marked string) string {
	if strings.IndexByte(marked, 0xF4) < 0 { // the first byte of our characters
		return marked
	}
	return strings.NewReplacer(string(openMark), "", string(closeMark), "").Replace(marked)
}

// Typed is a text of an editor with one character in the place of each paste: what was typed beside them.
func Typed(marked string) string {
	var b strings.Builder
	for {
		i := strings.IndexRune(marked, openMark)
		if i < 0 {
			break
		}
		j := strings.IndexRune(marked[i:], closeMark)
		if j < 0 {
			break
		}
		b.WriteString(marked[:i])
		b.WriteRune('\uFFFC')
		marked = marked[i+j+utf8.RuneLen(closeMark):]
	}
	if b.Len() == 0 {
		return marked
	}
	b.WriteString(marked)
	return b.String()
}

// Brief is a text of an editor for a list: each paste is its label.
func Brief(marked string, label func(Chip) string) string {
	n := 0
	var b strings.Builder
	for {
		i := strings.IndexRune(marked, openMark)
		j := strings.IndexRune(marked, closeMark)
		if i < 0 || j < i {
			return b.String() + marked
		}
		n++
		b.WriteString(marked[:i])
		b.WriteString(label(chipOf(n, marked[i+utf8.RuneLen(openMark):j])))
		marked = marked[j+utf8.RuneLen(closeMark):]
	}
}

func chipOf(n int, text string) Chip {
	return Chip{Number: n, Lines: strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1, Bytes: len(text)}
}

// SetLabel says how chips are shown; without it they are not made.
func (e *Editor) SetLabel(l Label) { e.label = l; e.relay() }

// Paste puts a text from outside at the cursor, as a chip when it is large, and reports whether there was room for it.
func (e *Editor) Paste(s string) bool {
	s = e.clean(lineFeeds(foreign(s)))
	if e.label == nil || len(s) < chipBytes && strings.Count(s, "\n") < chipLines {
		return e.Insert(s)
	}
	if e.size()+len(s) > MaxBytes {
		return false
	}
	e.step(stepOther)
	e.put(e.chip(s))
	return true
}

// chip gives the character of a text.
func (e *Editor) chip(text string) string {
	for i, c := range e.chips {
		if c == text {
			return string(firstChip + rune(i))
		}
	}
	if len(e.chips) > int(lastChip-firstChip) {
		e.forget()
	}
	e.chips = append(e.chips, text)
	return string(firstChip + rune(len(e.chips)-1))
}

// forget drops what only undo would bring back, and numbers the chips of the text anew.
func (e *Editor) forget() {
	e.back, e.ahead, e.killed, e.last = nil, nil, "", stepOther
	old := e.chips
	e.chips = nil
	at := utf8.RuneCountInString(e.text[:e.at])
	e.text = strings.Map(func(r rune) rune {
		if !isChip(r) {
			return r
		}
		e.chips = append(e.chips, old[r-firstChip])
		return firstChip + rune(len(e.chips)-1)
	}, e.text)
	e.at = len(string([]rune(e.text)[:at]))
	e.changed()
}

// hoard says that chips take more than they may.
func (e *Editor) hoard() bool {
	n := 0
	for _, c := range e.chips {
		n += len(c)
	}
	return n > keptFactor*MaxBytes
}

// size is how many bytes the text has, those of its chips included.
func (e *Editor) size() int {
	n := len(e.text)
	if strings.IndexByte(e.text, 0xF4) >= 0 {
		for _, r := range e.text {
			if isChip(r) {
				n += len(e.chips[r-firstChip])
			}
		}
	}
	return n
}

// marked writes a text with its chips between marks.
func (e *Editor) marked(text string) string {
	if strings.IndexByte(text, 0xF4) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !isChip(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteRune(openMark)
		b.WriteString(e.chips[r-firstChip])
		b.WriteRune(closeMark)
	}
	return b.String()
}

// unmarked is the way back. What is large without a mark becomes a chip too.
func (e *Editor) unmarked(s string) string {
	var b strings.Builder
	loose := func(text string) {
		text = e.clean(lineFeeds(foreign(text)))
		if e.label != nil && len(text) > largeBytes {
			text = e.chip(text)
		}
		b.WriteString(text)
	}
	for {
		i := strings.IndexRune(s, openMark)
		j := strings.IndexRune(s, closeMark)
		if i < 0 || j < i {
			loose(s)
			return b.String()
		}
		loose(s[:i])
		text := e.clean(lineFeeds(foreign(s[i:j])))
		if e.label != nil && text != "" {
			text = e.chip(text)
		}
		b.WriteString(text)
		s = s[j+utf8.RuneLen(closeMark):]
	}
}

// OpenChip puts the text of a chip in its place: of the one behind or before the cursor, else of the only one. ok is false when there is
// none to open; room is false when it is too large to be edited here.
func (e *Editor) OpenChip() (ok, room bool) {
	at := -1
	if r, _ := utf8.DecodeLastRuneInString(e.text[:e.at]); isChip(r) {
		at = e.at - utf8.RuneLen(r)
	} else if r, _ := utf8.DecodeRuneInString(e.text[e.at:]); isChip(r) {
		at = e.at
	} else if i := strings.IndexFunc(e.text, isChip); i >= 0 && strings.LastIndexFunc(e.text, isChip) == i {
		at = i
	}
	if at < 0 {
		return false, true
	}
	r, n := utf8.DecodeRuneInString(e.text[at:])
	text := e.chips[r-firstChip]
	if len(e.text)+len(text) > maxTyped {
		return true, false
	}
	e.step(stepOther)
	e.text = e.text[:at] + text + e.text[at+n:]
	e.at = e.boundary(at + len(text))
	e.changed()
	return true, true
}

// Chips counts the chips in the text.
func (e *Editor) Chips() int {
	n := 0
	for _, r := range e.text {
		if isChip(r) {
			n++
		}
	}
	return n
}

// shownChip is what a row of w cells shows of a chip.
func (e *Editor) shownChip(r rune, w int) (string, int) {
	labels := e.label(chipOf(int(r-firstChip)+1, e.chips[r-firstChip]))
	for i, l := range labels {
		n := 0
		for g := graphemes.FromString(l); g.Next(); {
			_, c := e.cells(g.Value())
			n += c
		}
		if n <= w || i == len(labels)-1 {
			return l, n
		}
	}
	return "", 0
}

// behindChip drops what would join a chip that stands before the cursor.
func (e *Editor) behindChip(s string) string {
	if r, _ := utf8.DecodeLastRuneInString(e.text[:e.at]); !isChip(r) {
		return s
	}
	return strings.TrimLeftFunc(s, func(r rune) bool { return unicode.In(r, unicode.M, unicode.Cf) || r >= 0x1F3FB && r <= 0x1F3FF })
}

// Rechip makes chips again of the pastes of a text before, where they still stand in a text after it was edited elsewhere.
func Rechip(before, after string) string {
	var b strings.Builder
	for {
		i := strings.IndexRune(before, openMark)
		j := strings.IndexRune(before, closeMark)
		if i < 0 || j < i {
			return b.String() + after
		}
		text := before[i+utf8.RuneLen(openMark) : j]
		before = before[j+utf8.RuneLen(closeMark):]
		head, rest, ok := strings.Cut(after, text)
		if !ok || text == "" {
			continue
		}
		b.WriteString(head)
		b.WriteRune(openMark)
		b.WriteString(text)
		b.WriteRune(closeMark)
		after = rest
	}
}

// lineFeeds makes line breaks line feeds, also those that a terminal's keyboard protocol writes as keys: Ctrl+J, Enter with Shift. So
// they come in a paste through tmux.
func lineFeeds(s string) string {
	if strings.Contains(s, "\x1b[") {
		s = strings.NewReplacer("\x1b[106;5u", "\n", "\x1b[27;5;106~", "\n", "\x1b[13;2u", "\n", "\x1b[27;2;13~", "\n", "\x1b[13u", "\n").Replace(s)
	}
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
