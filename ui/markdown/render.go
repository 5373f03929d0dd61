package markdown

import (
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

const (
	// What nests deeper or is longer than writing ever is, is shown as plain text: parsing it could take very long.
	maxNesting  = 32
	maxBrackets = 2000
	maxSigns    = 8000
	maxChunk    = 256 << 10

	minRoom    = 8 // cells that nesting leaves for the text
	codeIndent = 4
)

// commonMark is the parser of all streams: it is made on first use, never changes and is safe for concurrent use.
var commonMark = sync.OnceValue(newParser)

// newParser reads CommonMark with tables, task lists and struck text, but HTML as the text that it is.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
		),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// render gives the rows of a chunk, whose text is part, and their lines when these are asked for.
func (s *Stream) render(part string, c *chunk, open bool) ([]string, []paint.Line) {
	r := renderer{style: s.style, telling: s.telling}
	switch {
	case c.kind == fenced:
		r.fencedChunk(part, c)
	case c.kind == indent:
		r.code(unindent(part), "")
	default:
		if open {
			part = heal(part)
		}
		if hostile(part) {
			r.plain(part)
			break
		}
		r.src = []byte(part)
		r.number = c.number
		doc := commonMark().Parse(text.NewReader(r.src), parser.WithContext(s.refs.context()))
		r.blocks(doc, true)
	}
	return r.rows, r.told
}

// hostile says that a text is better not parsed.
func hostile(s string) bool {
	if len(s) > maxChunk || strings.Count(s, "[") > maxBrackets {
		return true
	}
	if strings.Count(s, "*")+strings.Count(s, "_")+strings.Count(s, "`")+strings.Count(s, "~") > maxSigns {
		return true
	}
	for line := range strings.Lines(s) {
		depth := 0
		for i := 0; i < len(line); i++ {
			b := line[i]
			if b == '>' || (b == '-' || b == '*' || b == '+' || b == '.' || b == ')') && i+1 < len(line) && line[i+1] == ' ' {
				depth++
			} else if b != ' ' && b != '\t' && (b < '0' || b > '9') {
				break
			}
		}
		if depth > maxNesting {
			return true
		}
	}
	return false
}

// level is what stands to the left of nested text: a marker in its first row, white space or a bar in the others.
type level struct {
	first, rest string // styled
	width       int
	used        bool
	marker      string // as it is copied; empty: it is not
}

type renderer struct {
	style  Style
	src    []byte
	rows   []string
	levels []level
	left   int // the cells of all levels
	number int // of the top list's item, -1 for bullets
	depth  int

	telling bool // lines are asked for
	told    []paint.Line
}

// room is how many cells are left for text of at most limit cells with what stands to its left.
func (r *renderer) room(limit int) int { return max(1, min(r.style.inner(), limit)-r.left) }

// push adds a level, unless it would leave no room for the text; it tells whether it did.
func (r *renderer) push(first, rest string, width int) bool {
	if w := r.style.inner(); w-r.left-width < min(minRoom, w/2+1) {
		return false
	}
	r.levels = append(r.levels, level{first: first, rest: rest, width: width})
	r.left += width
	return true
}

func (r *renderer) pop() {
	n := len(r.levels) - 1
	r.left -= r.levels[n].width
	r.levels = r.levels[:n]
}

// emit adds one row: styled content that takes width cells.
func (r *renderer) emit(content string, width int) {
	r.line()
	var b strings.Builder
	b.WriteString(r.blanks(r.style.Left))
	for i := range r.levels {
		l := &r.levels[i]
		if l.used {
			b.WriteString(l.rest)
		} else {
			b.WriteString(l.first)
			l.used = true
		}
	}
	b.WriteString(content)
	b.WriteString(r.blanks(r.style.Width - r.style.Left - r.left - width))
	r.rows = append(r.rows, b.String())
}

func (r *renderer) blanks(n int) string { return r.paint(look{role: theme.Text}, paint.Spaces(n)) }

func (r *renderer) paint(l look, s string) string {
	if s == "" {
		return ""
	}
	prefix, suffix := r.style.Theme.Style(l.role, r.style.Bg, l.bold)
	if prefix == "" && l.attrs == (theme.Attrs{}) {
		return s
	}
	return prefix + r.style.Theme.Extra(l.attrs) + s + suffix
}

// blocks renders the children of a node. spaced puts a blank row between all; else only where the source has one.
func (r *renderer) blocks(parent ast.Node, spaced bool) {
	before := len(r.rows)
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if len(r.rows) > before && (spaced || n.HasBlankPreviousLines()) {
			r.emit("", 0)
		}
		at := len(r.rows)
		r.block(n)
		if len(r.rows) == at && at > before && spaced {
			r.rows = r.rows[:at-1] // nothing to see, such as a link's target
			r.told = r.told[:min(at-1, len(r.told))]
		}
	}
}

func (r *renderer) block(n ast.Node) {
	r.depth++
	defer func() { r.depth-- }()
	switch n := n.(type) {
	case *ast.Heading:
		in := r.inline(n, look{role: theme.Strong, bold: true})
		r.paragraph(in)
	case *ast.ThematicBreak:
		w := r.room(ProseWidth)
		r.emit(r.paint(look{role: theme.Rule}, strings.Repeat(r.style.Theme.Glyphs.RuleH, w)), w)
	case *ast.CodeBlock:
		r.code(r.lines(n), "")
	case *ast.FencedCodeBlock:
		r.code(r.lines(n), strings.ToLower(string(n.Language(r.src))))
	case *ast.Blockquote:
		bar := r.paint(look{role: theme.Rule}, r.style.Theme.Glyphs.Quote+" ")
		pushed := r.push(bar, bar, 2)
		r.blocks(n, true)
		if pushed {
			r.pop()
		}
	case *ast.List:
		r.list(n)
	case *extast.Table:
		r.table(n)
	default:
		if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
			r.blocks(n, true)
			return
		}
		r.paragraph(r.inline(n, look{role: r.style.role()}))
	}
}

func (r *renderer) list(n *ast.List) {
	number := n.Start
	if r.depth == 1 && r.number >= 0 {
		number = r.number
	}
	before := len(r.rows)
	for it := n.FirstChild(); it != nil; it = it.NextSibling() {
		if len(r.rows) > before && it.HasBlankPreviousLines() {
			r.emit("", 0)
		}
		marker := r.style.Theme.Glyphs.Bullet
		if n.IsOrdered() {
			marker = strconv.Itoa(number) + string(n.Marker)
			number++
		} else if box := task(it); box != nil {
			marker = r.style.Theme.Glyphs.Box
			if box.IsChecked {
				marker = r.style.Theme.Glyphs.Check
			}
		}
		marker += " "
		w := r.style.Metrics.Width(marker)
		pushed := r.push(r.paint(look{role: theme.Faint}, marker), r.blanks(w), w)
		if pushed {
			r.levels[len(r.levels)-1].marker = marker
		}
		at := len(r.rows)
		r.blocks(it, false)
		if len(r.rows) == at {
			r.emit("", 0) // an item without text
		}
		if pushed {
			r.pop()
		}
	}
}

// task gives the box that an item of a task list starts with.
func task(it ast.Node) *extast.TaskCheckBox {
	if c := it.FirstChild(); c != nil {
		if box, ok := c.FirstChild().(*extast.TaskCheckBox); ok {
			return box
		}
	}
	return nil
}

// lines gives the raw lines of a block, without line feeds.
func (r *renderer) lines(n ast.Node) []string {
	segs := n.Lines()
	out := make([]string, 0, segs.Len())
	for i := range segs.Len() {
		seg := segs.At(i)
		out = append(out, strings.TrimRight(string(seg.Value(r.src)), "\n"))
	}
	return out
}

// plain shows a text without reading it as Markdown.
func (r *renderer) plain(s string) {
	m := r.style.Metrics
	for src := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		line := m.Safe(paint.Clean(src))
		from := r.origin(src, line, nil)
		w := r.room(ProseWidth)
		spans := m.Spans(line, w, w)
		joins := r.breaks(line, spans, from)
		for i, sp := range spans {
			r.emit(r.paint(look{role: r.style.role()}, line[sp.Start:sp.End]), sp.Width)
			r.say(0, line, sp, from, joins, i)
		}
	}
}

// unindent takes the four columns of an indented code block away.
func unindent(part string) []string {
	lines := strings.Split(strings.TrimRight(part, " \t\n"), "\n")
	for i, l := range lines {
		col := 0
		for col < 4 && l != "" && (l[0] == ' ' || l[0] == '\t') {
			if l[0] == '\t' {
				col = 4
			} else {
				col++
			}
			l = l[1:]
		}
		lines[i] = l
	}
	return lines
}
