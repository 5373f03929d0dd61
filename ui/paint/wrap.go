package paint

import (
	"strings"
	"unicode/utf8"
)

// Span is one row of a wrapped text: the bytes [Start, End) and the cells that they take.
type Span struct{ Start, End, Width int }

// Wrap breaks plain text into rows of at most w cells: at spaces and after hyphens, in Chinese and Japanese at any character,
// but so that closing marks do not begin a row and opening ones do not end it where that can be avoided. Longer words are
// broken hard. Line feeds end rows. The spaces at a break are left out, as is a character wider than w. The result has at
// least one row.
func (m Metrics) Wrap(s string, w int) []string {
	spans := m.Spans(s, w, w)
	rows := make([]string, len(spans))
	for i, sp := range spans {
		rows[i] = s[sp.Start:sp.End]
	}
	return rows
}

// Spans is Wrap as byte ranges, for callers that style the rows; the first row may have another width than the rest.
func (m Metrics) Spans(s string, first, w int) []Span {
	var spans []Span
	w = max(w, 1)
	room := max(first, 1)
	for at := 0; ; {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			return m.wrapLine(spans, s, at, len(s), room, w)
		}
		spans = m.wrapLine(spans, s, at, at+end, room, w)
		at += end + 1
		room = w
	}
}

// wrapLine adds the rows of s[at:end], which has no line feed.
func (m Metrics) wrapLine(spans []Span, s string, at, end, room, w int) []Span {
	line := s[:end]
	row := Span{Start: at, End: at}
	i := m.skipSpaces(line, at)
	if n := i - at; i < end && n < room {
		row.End, row.Width = i, n // indentation stays
	} else {
		row.Start, row.End = i, i
	}
	gap := 0      // the spaces between the row and the next piece
	empty := true // the row has no piece yet
	for i < end {
		p := m.piece(line, i)
		switch {
		case row.Width+gap+p.width <= room:
			row.End, row.Width = p.end, row.Width+gap+p.width
		case p.width <= w:
			if !empty || room < w {
				spans = append(spans, row)
			}
			row, room = Span{p.start, p.end, p.width}, w
		default:
			if !empty {
				spans = append(spans, row)
				room = w
			}
			spans, row = m.hardBreak(spans, line, p, room, w)
			room = w
		}
		gap, empty = p.next-p.end, false
		i = p.next
	}
	return append(spans, row)
}

// hardBreak adds the rows of a piece that is wider than a row, but for the last one.
func (m Metrics) hardBreak(spans []Span, line string, p piece, room, w int) ([]Span, Span) {
	row := Span{Start: p.start, End: p.start}
	for i := p.start; i < p.end; {
		next, n := m.atom(line, i)
		if row.Width+n > room {
			if row.End > row.Start {
				spans = append(spans, row)
				room = w
			}
			row = Span{Start: i, End: i}
		}
		if n > room {
			row = Span{Start: next, End: next} // no row is wide enough for it
		} else {
			row.End, row.Width = next, row.Width+n
		}
		i = next
	}
	return spans, row
}

// Chop breaks one line of code into rows of at most w cells, wherever they end; spaces stay.
func (m Metrics) Chop(line string, w int) []Span {
	w = max(w, 1)
	spans, row := m.hardBreak(nil, line, piece{start: 0, end: len(line)}, w, w)
	return append(spans, row)
}

// piece is what no row should divide, [start, end), and the spaces after it, up to next.
type piece struct{ start, end, next, width int }

func (m Metrics) piece(line string, i int) piece {
	p := piece{start: i, end: i}
	prev := none
	for p.end < len(line) {
		next, n := m.atom(line, p.end)
		k := classify(line, p.end, next, n)
		if k == space || prev != none && breakable(prev, k) {
			break
		}
		p.end, p.width, prev = next, p.width+n, k
	}
	p.next = m.skipSpaces(line, p.end)
	return p
}

// skipSpaces gives the end of the spaces at i, without one that a mark stands on.
func (m Metrics) skipSpaces(line string, i int) int {
	for i < len(line) && line[i] == ' ' {
		if next, _ := m.atom(line, i); next != i+1 {
			break
		}
		i++
	}
	return i
}

// class is how a character behaves at the end of a row.
type class uint8

const (
	none class = iota
	word
	space
	hyphen    // between two letters
	ideograph // a row may end before and after it
	opener    // does not end a row
	closer    // does not begin one
	wideCloser
)

const (
	wideClosers = "、。，．・：；？！）」』】〉》〕〗〙〛｝］％々〻ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ"
	wideOpeners = "（「『【〈《〔〖〘〚｛［"
)

// classify tells the class of the atom s[i:next], n cells wide.
func classify(s string, i, next, n int) class {
	switch b := s[i]; {
	case b == ' ':
		if next == i+1 {
			return space
		}
		return word
	case b == '-':
		if i > 0 && letter(s[i-1]) && next < len(s) && letter(s[next]) {
			return hyphen
		}
		return word
	case b < utf8.RuneSelf:
		switch b {
		case '(', '[', '{':
			return opener
		case ')', ']', '}', ',', '.', ';', ':', '!', '?', '%':
			return closer
		}
		return word
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	switch {
	case r == '‘' || r == '“':
		return opener
	case r == '’' || r == '”' || r == '…':
		return closer
	case n < 2 || r < 0x2e80 || r >= 0xac00 && r <= 0xd7a3:
		return word // Korean has spaces between its words
	case strings.ContainsRune(wideClosers, r):
		return wideCloser
	case strings.ContainsRune(wideOpeners, r):
		return opener
	}
	return ideograph
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// breakable says that a row may end between two characters of these classes.
func breakable(a, b class) bool {
	switch {
	case a == opener || b == closer || b == wideCloser:
		return false
	case a == hyphen || a == ideograph || a == wideCloser || b == ideograph:
		return true
	}
	return false
}
