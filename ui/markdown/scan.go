package markdown

import "strings"

// kind is what a chunk of the source is, as far as dividing it goes.
type kind uint8

const (
	prose  kind = iota // anything that goldmark reads on its own: paragraphs, a quote, a table, a heading
	item               // one item of a list at the top level
	fenced             // a fenced code block
	indent             // an indented code block
)

// chunk is a part of the source that can be rendered without the parts after it. All but the last never change.
type chunk struct {
	start, end int // in the source; end is where the next one starts
	kind       kind
	gap        int    // blank rows before it
	fence      string // the opening run of a fenced block
	lang       string
	body       int    // where the code of a fenced block starts
	bodyEnd    int    // where it ends; -1 while it is open
	offset     int    // the column of an item's text
	number     int    // an ordered item's number, -1 for bullets
	marker     byte   // an item's marker
	code       *coder // what is rendered of an open fenced block
}

// from is the chunk as it would be if it started at another place.
func (c chunk) from(start int) chunk {
	by := start - c.start
	c.start, c.end, c.body = c.start+by, c.end+by, c.body+by
	if c.bodyEnd >= 0 {
		c.bodyEnd += by
	}
	return c
}

// scanner divides the source line by line.
type scanner struct {
	chunks []chunk
	blank  bool // the line before was blank
	closed bool // the last chunk ended with its last line
}

// line takes one complete line src[start:end], without its line feed; next is where the next line starts.
func (s *scanner) line(src string, start, end, next int) {
	text := src[start:end]
	last := s.last()
	if last != nil && last.kind == fenced && last.bodyEnd < 0 {
		if closesFence(text, last.fence) {
			last.bodyEnd = start
			s.closed = true
		}
		last.end = next
		return
	}
	col, rest := indentation(text)
	if rest == "" {
		s.blank = true
		if last != nil {
			last.end = next
		}
		return
	}
	if c, ok := s.opens(last, col, rest, start, next); ok {
		s.chunks = append(s.chunks, c)
		s.closed = c.kind == prose && heading(rest)
	} else {
		last.end = next
	}
	s.blank = false
}

// opens says whether a line that is not blank begins a new chunk, and which.
func (s *scanner) opens(last *chunk, col int, rest string, start, next int) (chunk, bool) {
	c := chunk{start: start, end: next, bodyEnd: -1, number: -1}
	if last != nil {
		c.gap = 1
	}
	if last != nil && last.kind == item && col >= last.offset && !s.closed {
		return c, false // it belongs to the item
	}
	if last != nil && last.kind == indent && col >= 4 {
		return c, false
	}
	fresh := last == nil || s.blank || s.closed
	if col >= 4 {
		if !fresh {
			return c, false
		}
		c.kind = indent
		return c, true
	}
	if f := fenceOpening(rest); f != "" {
		c.kind, c.fence, c.lang, c.body = fenced, f, language(rest[len(f):]), next
		return c, true
	}
	if marker, number, width := listMarker(rest); width > 0 && !thematic(rest) {
		inList := last != nil && last.kind == item
		if fresh || inList || interrupts(marker, number, rest[width:]) {
			c.kind, c.offset, c.marker, c.number = item, itemOffset(col, width, rest), marker, number
			if inList && last.marker == marker {
				if !s.blank {
					c.gap = 0
				}
				if number >= 0 {
					c.number = last.number + 1 // as numbered by the list's first item
				}
			}
			return c, true
		}
	}
	return c, fresh || heading(rest)
}

func (s *scanner) last() *chunk {
	if len(s.chunks) == 0 {
		return nil
	}
	return &s.chunks[len(s.chunks)-1]
}

// indentation gives the columns of white space before a line's text, and the text.
func indentation(line string) (col int, rest string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return col, line[i:]
		}
	}
	return col, ""
}

// fenceOpening gives the run of ` or ~ that opens a code block.
func fenceOpening(rest string) string {
	n := run(rest, rest[0])
	if n < 3 || rest[0] != '`' && rest[0] != '~' || rest[0] == '`' && strings.Contains(rest[n:], "`") {
		return ""
	}
	return rest[:n]
}

func closesFence(line, fence string) bool {
	col, rest := indentation(line)
	if col >= 4 || rest == "" || rest[0] != fence[0] {
		return false
	}
	n := run(rest, fence[0])
	return n >= len(fence) && strings.TrimRight(rest[n:], " \t") == ""
}

func run(s string, b byte) int {
	n := 0
	for n < len(s) && s[n] == b {
		n++
	}
	return n
}

func language(info string) string {
	f := strings.FieldsFunc(info, func(r rune) bool { return r == ' ' || r == '\t' || r == '{' || r == '}' || r == ',' })
	if len(f) == 0 {
		return ""
	}
	return strings.ToLower(f[0])
}

// heading says that a line is a heading with number signs.
func heading(rest string) bool {
	n := run(rest, '#')
	return n > 0 && n <= 6 && (len(rest) == n || rest[n] == ' ' || rest[n] == '\t')
}

// listMarker gives the marker of a list item; width is 0 when there is none.
func listMarker(rest string) (marker byte, number, width int) {
	switch rest[0] {
	case '-', '+', '*':
		if len(rest) == 1 || rest[1] == ' ' || rest[1] == '\t' {
			return rest[0], -1, 1
		}
		return 0, -1, 0
	}
	n := 0
	for n < len(rest) && n < 9 && rest[n] >= '0' && rest[n] <= '9' {
		number = number*10 + int(rest[n]-'0')
		n++
	}
	if n == 0 || n == len(rest) || rest[n] != '.' && rest[n] != ')' || n+1 < len(rest) && rest[n+1] != ' ' && rest[n+1] != '\t' {
		return 0, -1, 0
	}
	return rest[n], number, n + 1
}

// interrupts says that an item may follow a paragraph without a blank line.
func interrupts(marker byte, number int, after string) bool {
	if strings.TrimLeft(after, " \t") == "" {
		return false
	}
	return marker == '-' || marker == '+' || marker == '*' || number == 1
}

// itemOffset is the column where an item's text starts: what is indented that far belongs to it.
func itemOffset(col, width int, rest string) int {
	n, text := indentation(rest[width:])
	if text == "" || n > 4 {
		n = 1
	}
	return col + width + n
}

// thematic says that a line is a rule, such as - - -.
func thematic(rest string) bool {
	b, n := rest[0], 0
	if b != '-' && b != '*' && b != '_' {
		return false
	}
	for i := range len(rest) {
		switch rest[i] {
		case b:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}
