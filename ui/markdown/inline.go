package markdown

import (
	"hash/fnv"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// look is the style of a piece of text.
type look struct {
	role  theme.Role
	bold  bool
	attrs theme.Attrs
	link  string // the target, where the text is the target
}

// inline is the text of a paragraph as it is measured and wrapped, and how its parts look.
type inline struct {
	text strings.Builder
	runs []run1

	telling bool
	from    paint.Origin // of the text, where lines are told
}

// run1 is a part of the text, up to end.
type run1 struct {
	end  int
	look look
}

const wordJoiner = "\u2060"

// add appends text. Where it would join the character before it, which may look different, a word joiner keeps them apart.
func (in *inline) add(m paint.Metrics, s string, l look) {
	if s == "" {
		return
	}
	src := s
	s = m.Safe(paint.Clean(s))
	if s == "" {
		return
	}
	if before := in.text.String(); before != "" && s[0] >= utf8.RuneSelf {
		if joined(before, s) {
			in.text.WriteString(wordJoiner)
		}
	}
	if in.telling {
		in.from.Add(in.text.Len(), m.Origin(paint.CleanSource(src), s, nil))
	}
	in.text.WriteString(s)
	if n := len(in.runs); n > 0 && in.runs[n-1].look == l {
		in.runs[n-1].end = in.text.Len()
		return
	}
	in.runs = append(in.runs, run1{in.text.Len(), l})
}

// joined says that the last character of a and the first of b make one cluster.
func joined(a, b string) bool {
	if a == "" || b == "" || b[0] < utf8.RuneSelf {
		return false
	}
	x, _ := utf8.DecodeLastRuneInString(a)
	y, _ := utf8.DecodeRuneInString(b)
	seam := string(x) + string(y)
	return len(graphemes.FromString(seam).First()) == len(seam)
}

// inline collects the text of a block.
func (r *renderer) inline(n ast.Node, l look) *inline {
	in := &inline{telling: r.telling}
	r.collect(in, n, l)
	return in
}

func (r *renderer) collect(in *inline, parent ast.Node, l look) {
	m := r.style.Metrics
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			r.text(in, n, l)
		case *ast.String:
			in.add(m, strings.ReplaceAll(string(n.Value), "\n", " "), l)
		case *ast.CodeSpan:
			c := l
			c.role = theme.Strong
			in.add(m, strings.ReplaceAll(r.raw(n), "\n", " "), c)
		case *ast.Emphasis:
			e := l
			if n.Level == 1 {
				e.attrs.Italic = true
			} else {
				e.role, e.bold = theme.Strong, true
			}
			r.collect(in, n, e)
		case *extast.Strikethrough:
			e := l
			e.attrs.Strike = true
			r.collect(in, n, e)
		case *ast.Link:
			r.link(in, n, string(n.Destination), l)
		case *ast.Image:
			r.link(in, n, string(n.Destination), l)
		case *ast.AutoLink:
			label := string(n.Label(r.src))
			u := l
			if label == string(n.URL(r.src)) {
				u.link = target(label)
			}
			u.attrs.Underline = true
			in.add(m, label, u)
		case *extast.TaskCheckBox: // shown as the item's marker
		default:
			r.collect(in, n, l)
		}
	}
}

// text adds a piece of plain text and the line break after it.
func (r *renderer) text(in *inline, n *ast.Text, l look) {
	s := string(n.Segment.Value(r.src))
	if !n.IsRaw() {
		s = decode(s)
	}
	if p := n.PreviousSibling(); p != nil && p.Kind() == extast.KindTaskCheckBox {
		s = strings.TrimLeft(s, " ")
	}
	in.add(r.style.Metrics, strings.ReplaceAll(s, "\n", " "), l)
	switch {
	case n.HardLineBreak():
		in.text.WriteByte('\n')
	case n.SoftLineBreak():
		if !between(s, n.NextSibling(), r.src) {
			in.text.WriteByte(' ')
		}
	default:
		return
	}
	if k := len(in.runs); k > 0 {
		in.runs[k-1].end = in.text.Len()
	} else {
		in.runs = append(in.runs, run1{in.text.Len(), l})
	}
}

// between says that a line break stands between two ideographs, where no space belongs.
func between(s string, next ast.Node, src []byte) bool {
	t, ok := next.(*ast.Text)
	if !ok {
		return false
	}
	a, _ := utf8.DecodeLastRuneInString(s)
	b, _ := utf8.DecodeRune(t.Segment.Value(src))
	return ideograph(a) && ideograph(b)
}

func ideograph(r rune) bool {
	return r >= 0x3000 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xff00 && r <= 0xff60
}

// link adds a link's text and, where that is another text, its target.
func (r *renderer) link(in *inline, n ast.Node, dest string, l look) {
	m := r.style.Metrics
	start := in.text.Len()
	r.collect(in, n, l)
	dest = paint.CleanLine(decode(dest))
	shown := strings.TrimSpace(in.text.String()[start:])
	u := l
	u.link, u.role = target(dest), theme.Faint
	switch {
	case dest == "" || shown == dest:
	case shown == "":
		in.add(m, dest, u)
	default:
		plain := l
		plain.role = theme.Faint
		in.add(m, " (", plain)
		in.add(m, dest, u)
		in.add(m, ")", plain)
	}
}

// target gives an address that a terminal may open: of the web, in plain characters. Others are shown only.
func target(s string) string {
	if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
		return ""
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == ';' {
			return ""
		}
	}
	return s
}

// linkID is the same for the rows that an address is wrapped over, so that terminals take them for one.
func linkID(url string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(url)) // it never fails
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// raw is the text under a node as it stands in the source.
func (r *renderer) raw(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*ast.Text); ok {
			b.Write(t.Segment.Value(r.src))
		}
	}
	return b.String()
}

// decode resolves backslash escapes and character references.
func decode(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && punctuation(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
		case s[i] == '&':
			end := strings.IndexByte(s[i:min(len(s), i+40)], ';')
			if end < 0 {
				b.WriteByte('&')
				i++
				continue
			}
			b.WriteString(html.UnescapeString(s[i : i+end+1]))
			i += end + 1
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

func punctuation(b byte) bool {
	return b >= '!' && b <= '/' || b >= ':' && b <= '@' || b >= '[' && b <= '`' || b >= '{' && b <= '~'
}

// paragraph wraps a text and adds its rows.
func (r *renderer) paragraph(in *inline) {
	text := strings.TrimRight(in.text.String(), " \n")
	if text == "" {
		return
	}
	w := r.room(ProseWidth)
	at := 0
	spans := r.style.Metrics.Spans(text, w, w)
	joins := r.breaks(text, spans, in.from)
	for i, sp := range spans {
		var row string
		row, at = r.span(in, text, sp, at)
		r.emit(row, sp.Width)
		r.say(0, text, sp, in.from, joins, i)
	}
}

// span styles one row. at is the run that the row before ended in.
func (r *renderer) span(in *inline, text string, sp paint.Span, at int) (string, int) {
	var b strings.Builder
	for i := sp.Start; i < sp.End; {
		for at < len(in.runs)-1 && in.runs[at].end <= i {
			at++
		}
		end := sp.End
		if at < len(in.runs) {
			end = min(end, max(in.runs[at].end, i+1))
		}
		l := look{role: r.style.role()}
		if at < len(in.runs) {
			l = in.runs[at].look
		}
		for end < sp.End && joined(text[i:end], text[end:sp.End]) {
			_, n := utf8.DecodeRuneInString(text[end:])
			end += n
		}
		piece := text[i:end]
		styled := r.paint(l, piece)
		if l.link != "" && styled != piece && !r.style.Theme.Options().NoLinks && strings.Contains(l.link, piece) {
			id := ""
			if piece != l.link { // a part of it, as other rows have
				id = "id=" + linkID(l.link)
			}
			styled = "\x1b]8;" + id + ";" + l.link + "\x1b\\" + styled + "\x1b]8;;\x1b\\"
		}
		b.WriteString(styled)
		i = end
	}
	return b.String(), at
}
