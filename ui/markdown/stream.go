// Package markdown shows Markdown in rows of a terminal.
//
// A Stream takes text as it arrives. The source is divided into chunks that can be rendered on their own: a paragraph, one
// item of a list, a code block. Only the last chunk is open; each call of Rows renders it again, and the others once for a
// style. What is half received there is healed first, so that a table or an emphasis does not show as signs for a moment.
// Goldmark reads prose, lists, quotes and tables; the rows are made here, each exactly as wide as asked, with the roles of
// package theme. Raw HTML is text. The source stays, for copying.
package markdown

import (
	"strings"

	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// ProseWidth is the most cells that prose takes: longer rows are hard to read.
const ProseWidth = 76

// Style is how and how wide rows are made. It is comparable.
type Style struct {
	Theme   *theme.Theme
	Metrics paint.Metrics
	Bg      theme.Bg
	// Role is the colour of prose; the zero value (theme.Rule) stands for theme.Text.
	Role theme.Role
	// Width is that of a whole row; Left and Right are blank cells in it beside the text.
	Width, Left, Right int
}

// inner is what is left for the text.
func (s Style) inner() int { return max(1, s.Width-s.Left-s.Right) }

func (s Style) role() theme.Role {
	if s.Role == theme.Rule {
		return theme.Text
	}
	return s.Role
}

// Stream is a text that may still grow. The zero value is an empty one. It is not safe for concurrent use.
type Stream struct {
	src      strings.Builder // cleaned: complete lines only, until Finish
	tail     string          // the raw line that is not complete
	scan     scanner
	finished bool
	refs     refs

	rows   []string // of all chunks but the open one
	rowsOf int      // how many chunks they are of
	style  Style
	starts []int // the first row of each chunk, for BlockAt

	telling bool // a copy of a stream that is asked for its lines
	lines   []paint.Line
}

// Render gives the rows of a whole text.
func Render(text string, style Style) []string {
	var s Stream
	s.Append(text)
	s.Finish()
	return s.Rows(style)
}

// Append adds text that arrived.
func (s *Stream) Append(text string) {
	if s.finished {
		s.finished = false
	}
	i := strings.LastIndexByte(text, '\n')
	if i < 0 {
		s.tail += text
		return
	}
	s.take(s.tail + text[:i+1])
	s.tail = text[i+1:]
}

// Finish says that no more will come: what is open is shown as it is.
func (s *Stream) Finish() {
	if s.tail != "" {
		s.take(s.tail)
		s.tail = ""
	}
	s.finished = true
	if s.refs.late {
		// A link was used before its target came.
		s.rows, s.rowsOf, s.refs.late = nil, 0, false
	}
}

// Forget drops the rows that were made; the next call of Rows makes them again.
func (s *Stream) Forget() {
	s.rows, s.rowsOf, s.starts = nil, 0, nil
	if c := s.scan.last(); c != nil {
		c.code = nil
	}
}

// Reset forgets everything.
func (s *Stream) Reset() { *s = Stream{} }

// take cleans complete lines and divides them.
func (s *Stream) take(text string) {
	start := s.src.Len()
	s.src.WriteString(paint.CleanSource(text))
	src := s.src.String()
	for start < len(src) {
		end, next := len(src), len(src)
		if i := strings.IndexByte(src[start:], '\n'); i >= 0 {
			end, next = start+i, start+i+1
		}
		s.scan.line(src, start, end, next)
		s.refs.line(src[start:end])
		start = next
	}
}

// Source is the cleaned text, with its tabs.
func (s *Stream) Source() string {
	if s.tail == "" {
		return s.src.String()
	}
	return s.src.String() + paint.CleanSource(s.tail)
}

// Empty says that nothing can be seen yet.
func (s *Stream) Empty() bool {
	return strings.TrimSpace(s.src.String()) == "" && strings.TrimSpace(s.tail) == ""
}

// Estimate guesses the number of rows at a width.
func (s *Stream) Estimate(w int) int {
	n := s.src.Len() + len(s.tail)
	return 1 + n/max(1, min(w, ProseWidth)*3/4)
}

// Rows gives the rows, each style.Width cells wide. They are valid until the next call of a method.
func (s *Stream) Rows(style Style) []string {
	if style.Width <= 0 {
		return nil
	}
	style.Left = max(0, min(style.Left, style.Width-1))
	style.Right = max(0, min(style.Right, style.Width-1-style.Left))
	if style != s.style {
		s.style, s.rows, s.rowsOf, s.starts = style, nil, 0, nil
	}
	closed := len(s.scan.chunks)
	if !s.finished {
		closed--
	}
	src := s.src.String()
	for ; s.rowsOf < closed; s.rowsOf++ {
		c := &s.scan.chunks[s.rowsOf]
		rows, lines := s.render(src[c.start:c.end], c, false)
		s.place(c, rows, lines)
		c.code = nil
	}
	if s.finished {
		return s.rows
	}
	return s.open(src)
}

// place adds the rows of a chunk with its gap.
func (s *Stream) place(c *chunk, rows []string, lines []paint.Line) {
	if len(rows) > 0 && len(s.rows) > 0 {
		for range c.gap {
			s.rows = append(s.rows, s.blank())
		}
		s.tell(c.gap, nil)
	}
	s.tell(0, lines)
	s.starts = append(s.starts[:s.rowsOf], len(s.rows))
	s.rows = append(s.rows, rows...)
}

func (s *Stream) blank() string {
	st := s.style
	return st.Theme.Paint(theme.Text, st.Bg, false, paint.Spaces(st.Left)) + st.Theme.Paint(theme.Text, st.Bg, false, paint.Spaces(st.Width-st.Left))
}

// open gives all rows with those of the chunk that may still grow, which the incomplete line is a part of.
func (s *Stream) open(src string) []string {
	tail := paint.CleanSource(s.tail)
	keep := scanner{blank: s.scan.blank, closed: s.scan.closed}
	text := "" // of the open chunk, so that the rest of a long source is not copied
	if last := s.scan.last(); last != nil {
		text = src[last.start:]
		keep.chunks = append(keep.chunks, last.from(0))
	}
	if tail != "" && !s.hold(tail) {
		start := len(text)
		text += tail
		keep.line(text, start, len(text), len(text))
	}
	rows := s.rows
	for i := range keep.chunks {
		c := &keep.chunks[i]
		made, lines := s.render(text[c.start:c.end], c, true)
		if len(made) == 0 {
			continue
		}
		if len(rows) > 0 {
			for range c.gap {
				rows = append(rows, s.blank())
			}
			s.tell(c.gap, nil)
		}
		s.tell(0, lines)
		rows = append(rows, made...)
		if i == 0 && len(s.scan.chunks) > 0 {
			s.scan.last().code = c.code
		}
	}
	s.rows = rows[:len(s.rows)] // with the room that was made for the open rows
	return rows
}

// hold says that the incomplete line is not shown yet because the next bytes decide what it is.
func (s *Stream) hold(tail string) bool {
	last := s.scan.last()
	trimmed := strings.TrimSpace(tail)
	if last != nil && last.kind == fenced && last.bodyEnd < 0 {
		return trimmed != "" && run(trimmed, last.fence[0]) == len(trimmed)
	}
	return undecided(trimmed)
}

// Block is a part of the text as its author divided it.
type Block struct {
	// Start and End are its place in Source.
	Start, End int
	// Code is set for code blocks; Lang is their language, Text what stands between the fences.
	Code bool
	Lang string
	Text string
}

// Blocks gives the parts of what was received in complete lines; after Finish, of all.
func (s *Stream) Blocks() []Block {
	out := make([]Block, 0, len(s.scan.chunks))
	src := s.src.String()
	for i := range s.scan.chunks {
		out = append(out, block(src, &s.scan.chunks[i]))
	}
	return out
}

func block(src string, c *chunk) Block {
	b := Block{Start: c.start, End: c.end}
	switch c.kind {
	case fenced:
		end := c.bodyEnd
		if end < 0 {
			end = c.end
		}
		b.Code, b.Lang, b.Text = true, c.lang, src[min(c.body, end):end]
	case indent:
		b.Code, b.Text = true, strings.Join(unindent(src[c.start:c.end]), "\n")+"\n"
	}
	return b
}

// BlockAt gives the block that a row of the last call of Rows belongs to.
func (s *Stream) BlockAt(row int) (Block, bool) {
	n := 0
	for n < len(s.starts) && s.starts[n] <= row {
		n++
	}
	if row < 0 || n == 0 || len(s.scan.chunks) < n {
		return Block{}, false
	}
	if row >= len(s.rows) && n < len(s.scan.chunks) {
		n++
	}
	return block(s.src.String(), &s.scan.chunks[n-1]), true
}
