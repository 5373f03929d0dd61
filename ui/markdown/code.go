package markdown

import (
	"strings"

	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// coder makes the rows of a code block line by line, so that a long block that streams is not made anew each time.
type coder struct {
	style   Style
	grammar grammar
	state   state
	at      int // in the chunk: what stands before it is in rows
	rows    []string
}

// fencedChunk renders a fenced block at the top level. Its complete lines are kept in c.code while it is open.
func (r *renderer) fencedChunk(part string, c *chunk) {
	end := len(part)
	if c.bodyEnd >= 0 {
		end = c.bodyEnd - c.start
	}
	if r.telling {
		if body := strings.TrimSuffix(part[min(c.body-c.start, end):end], "\n"); body != "" || c.body-c.start < end {
			r.code(strings.Split(body, "\n"), c.lang)
		}
		return
	}
	k := c.code
	if k == nil || k.style != r.style {
		k = &coder{style: r.style, grammar: grammarOf(c.lang), at: min(c.body-c.start, end)}
		c.code = k
	}
	for k.at < end {
		i := strings.IndexByte(part[k.at:end], '\n')
		if i < 0 {
			break
		}
		k.rows = append(k.rows, r.codeLine(k.grammar, &k.state, part[k.at:k.at+i])...)
		k.at += i + 1
	}
	r.rows = k.rows
	if k.at < end {
		state := k.state // the line may still grow: the kept state is that before it
		r.rows = append(r.rows[:len(r.rows):len(r.rows)], r.codeLine(k.grammar, &state, part[k.at:end])...)
	}
}

// code renders the lines of a code block.
func (r *renderer) code(lines []string, lang string) {
	g := grammarOf(lang)
	var st state
	for _, line := range lines {
		r.codeRows(g, &st, line)
	}
}

// codeLine gives the rows of one line at the top level.
func (r *renderer) codeLine(g grammar, st *state, line string) []string {
	one := renderer{style: r.style}
	one.codeRows(g, st, line)
	return one.rows
}

func (r *renderer) codeRows(g grammar, st *state, line string) {
	m, src := r.style.Metrics, line
	line = m.Safe(paint.Clean(expand(line)))
	from := r.origin(src, line, tabStop)
	indent := r.blanks(codeIndent)
	if r.push(indent, indent, codeIndent) {
		defer r.pop()
	}
	in := &inline{}
	for _, t := range g.tokens(st, line) {
		in.runs = append(in.runs, run1{t.end, look{role: t.role}})
	}
	at := 0
	spans := m.Chop(line, r.room(r.style.inner()))
	joins := r.breaks(line, spans, from)
	for i, sp := range spans {
		var row string
		row, at = r.span(in, line, sp, at)
		r.emit(row, sp.Width)
		r.say(0, line, sp, from, joins, i)
	}
}

// expand turns tabs into spaces up to the next fourth column.
func expand(line string) string {
	if strings.IndexByte(line, '\t') < 0 {
		return line
	}
	var b strings.Builder
	col := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			col++
			continue
		}
		n := tabStop(col)
		b.WriteString(paint.Spaces(n))
		col += n
	}
	return b.String()
}

// tabStop is how many spaces a tab is behind so many columns.
func tabStop(col int) int { return 4 - col%4 }

// token is a piece of a line of code, up to end.
type token struct {
	end  int
	role theme.Role
}
