package chat

import (
	"strings"
	"unicode/utf8"

	"vitrine/llm/attach"
	"vitrine/ui/markdown"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Bounds of an input that is not open: lines, and bytes.
const (
	mostSaid      = 20
	mostSaidBytes = 8 << 10
)

// userBlock is what the user said, with a row for each file that went with it. A long text shows its beginning until it is opened; open,
// the files are shown too.
type userBlock struct {
	common
	text  string // cleaned, with its tabs
	brief string // what of it is shown while it is not open
	more  int    // lines that are not
	files []attach.File
	open  bool
}

func (v *View) userBlock(turn int, n int64, content string) *userBlock {
	text, files := attach.Split(content)
	b := &userBlock{common: v.common(Ref{Turn: turn}), files: files, text: strings.Trim(paint.CleanSource(text), "\n")}
	b.n = n
	b.brief, b.more = beginning(b.text)
	return b
}

// beginning is what is shown of a long text, and how many lines are not.
func beginning(text string) (brief string, more int) {
	at := 0
	for range mostSaid {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 || at+i >= mostSaidBytes {
			at = min(len(text), max(at, mostSaidBytes))
			break
		}
		at += i + 1
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	if at >= len(text) {
		return text, 0
	}
	return strings.TrimSuffix(text[:at], "\n"), strings.Count(text[at:], "\n") + 1
}

func (b *userBlock) source() string { return b.text }

func (b *userBlock) isOpen() bool { return b.open }

func (b *userBlock) toggle() {
	if b.more > 0 || len(b.files) > 0 {
		b.open = !b.open
		b.touch()
	}
}

// shows is the part of the text that is on the screen.
func (b *userBlock) shows() string {
	if b.open {
		return b.text
	}
	return b.brief
}

func (b *userBlock) Estimate(w int) int {
	return 1 + len(b.files) + len(b.shows())/max(1, min(w, markdown.ProseWidth))
}

func (b *userBlock) Render(w int, selected bool) []string {
	m := b.look.m
	ml, mr := margins(w)
	label := ""
	if w >= labelWidth && b.at.Turn > 0 {
		label = b.look.th.T("turn %s", theme.Count(b.at.Turn))
	}
	room := w - ml - mr
	if label != "" {
		room -= m.Width(label) + 4
	}
	text := b.wrap(b.shows(), max(1, min(room, markdown.ProseWidth)))
	rows := make([]string, 0, len(text)+len(b.files)+1)
	edge := b.look.paint(theme.Rule, false, b.look.th.Glyphs.Edge)
	sign := func(i int) string {
		if s, ok := b.lead(selected, i); ok {
			return s
		}
		return edge
	}
	for i, t := range text {
		var right []span
		if i == 0 && label != "" {
			right = append(right, say(theme.Faint, label))
		}
		rows = append(rows, b.row(w, sign(i), []span{t.in(span{role: theme.Strong, bold: true}, 0)}, right...))
	}
	if b.more > 0 && !b.open {
		rows = append(rows, b.row(w, sign(len(rows)), []span{say(theme.Faint, b.look.th.Glyphs.Cut+" "+
			b.look.th.N(b.more, "%s more line", "%s more lines", theme.Count(b.more))).quiet()}))
	}
	for _, f := range b.files {
		rows = append(rows, b.row(w, sign(len(rows)), b.fileSpans(f)))
		if b.open && f.Text != "" {
			rows = append(rows, b.details(w, strings.TrimSuffix(f.Text, "\n"))...)
		}
	}
	return rows
}

func (b *userBlock) fileSpans(f attach.File) []span {
	role, fact, ok := FileFact(b.look.th.Lang(), f)
	mark := "@"
	if !ok {
		mark = b.look.th.Glyphs.Failed
	}
	return []span{say(role, mark+" ").quiet(), say(theme.Text, b.look.line(f.Name)), say(role, "   "+fact)}
}
