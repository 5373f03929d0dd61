package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxSVG bounds an SVG, in bytes: its rows are in memory until the last is known.
const maxSVG = 64 << 20

// writeSVG makes a film strip: each row of the screen is a strip of all that it showed, which a style moves by whole rows. What a
// row shows more than once, here or in another row, is in the file once.
func writeSVG(ctx context.Context, src *source, w io.Writer, look Look, progress func(float64)) error {
	fonts, err := newFonts()
	if err != nil {
		return err
	}
	p := &painter{theme: look.Theme.filled(), frame: !look.NoFrame}
	if _, err := p.survey(ctx, src, look, func(done float64) { progress(done * 0.3) }); err != nil {
		return err
	}
	f, err := src.film(look, func(done float64) { progress(0.3 + done*0.7) })
	if err != nil {
		return err
	}
	s := &svg{paint: p, fonts: fonts, looks: map[glyph]drawing{}, defs: map[string]int{}, shaped: map[string]bool{}, strips: make([][]step, p.h), classes: map[pen]string{}}
	grids := &gridder{theme: p.theme, w: p.w, h: p.h}
	last := time.Duration(0)
	end, err := f.pictures(ctx, func(at time.Duration) error {
		last = at
		return s.show(at, grids.look(f.term))
	})
	if err != nil {
		return err
	}
	if list := fonts.lacking(); list != "" && look.Missing != nil && s.err == nil {
		look.Missing(list)
	}
	return s.write(w, max(end, last)+max(look.hold(), frameTime))
}

// step is what a row shows from a moment on.
type step struct {
	at  time.Duration
	row int // which of the definitions; 0 is an empty row
}

// svg collects rows.
type svg struct {
	paint   *painter
	defs    map[string]int // a row as it is written: its number
	rows    []string       // the same, in order
	strips  [][]step       // of each row of the screen
	fonts   *fonts
	looks   map[glyph]drawing
	faces   [4]map[rune]webGlyph // what is in the fonts: regular, bold, italic, both
	err     error                // of a font
	shaped  map[string]bool      // shapes that are defined
	glyphs  []string             // the same, as they are written, in order
	classes map[pen]string       // of texts
	order   []pen
	size    int
	last    grid
}

// show adds what changed.
func (s *svg) show(at time.Duration, now grid) error {
	for y := range now.h {
		cells := now.cells[y*now.w : (y+1)*now.w]
		if s.last.cells != nil && slices.Equal(cells, s.last.cells[y*now.w:(y+1)*now.w]) {
			continue
		}
		text := s.row(cells)
		n, ok := s.defs[text]
		if !ok && text != "" {
			n = len(s.defs) + 1
			s.defs[text] = n
			s.rows = append(s.rows, text)
			s.size += len(text)
		}
		s.strips[y] = append(s.strips[y], step{at, n})
		s.size += 64
	}
	if s.size > maxSVG {
		return errors.New("the recording is too long for an SVG: over 64 MB")
	}
	s.last = now
	return nil
}

// row writes the cells of a row: grounds, then shapes, then texts in runs of one look.
func (s *svg) row(cells []cell) string {
	var b strings.Builder
	runs(cells, func(a, c cell) bool { return a.bg == c.bg }, func(from, to int) {
		if bg := cells[from].bg; bg != s.paint.theme.Ground {
			fmt.Fprintf(&b, `<rect x="%d" width="%d" height="%d" fill="%s"/>`, from*cellW, (to-from)*cellW, cellH, hex(bg))
		}
	})
	runs(cells, func(a, c cell) bool { return a.fg == c.fg && s.drawn(a) == s.drawn(c) }, func(from, to int) {
		if s.drawn(cells[from]) {
			s.shapes(&b, cells[from:to], from)
		}
	})
	for from := 0; from < len(cells); {
		to := s.textEnd(cells, from)
		if s.letters(cells[from]) {
			s.text(&b, cells[from:to], from)
		}
		from = to
	}
	s.lines(&b, cells)
	return b.String()
}

// runs calls f for cells that belong together, to exclusive. The second half of a wide character belongs to the first.
func runs(cells []cell, same func(a, b cell) bool, f func(from, to int)) {
	for from := 0; from < len(cells); {
		to := from + 1
		for to < len(cells) && (cells[to].width == 0 || same(cells[from], cells[to])) {
			to++
		}
		f(from, to)
		from = to
	}
}

// textEnd is where the run of texts of one look ends that begins at from. One blank between two words is a part of it.
func (s *svg) textEnd(cells []cell, from int) int {
	first, to := cells[from], from+1
	if !s.letters(first) {
		return to
	}
	for to < len(cells) {
		c := cells[to]
		switch {
		case c.width == 0:
		case s.letters(c) && c.pen == first.pen && plainText(c.text) && plainText(first.text) && c.width == first.width:
		case c.text == " " && c.bg == first.bg && !c.under && !c.gone && to+1 < len(cells) && s.letters(cells[to+1]) && cells[to+1].pen == first.pen && first.width == 1 &&
			cells[to+1].width == 1 && plainText(first.text) && plainText(cells[to+1].text):
		default:
			return to
		}
		to++
	}
	return to
}

// drawing is how a character gets into the file: by one of the fonts that are put into it, as a shape, or, blank, not at all.
type drawing struct {
	letter rune
	shape  string // its name
	left   float64
}

// letters says that a cell shows a text of a font.
func (s *svg) letters(c cell) bool { return c.width > 0 && s.look(c).letter != 0 }

// drawn says that a cell shows a shape.
func (s *svg) drawn(c cell) bool { return c.width > 0 && s.look(c).shape != "" }

// look finds out how a cell is drawn: as in a GIF, on every machine. Fonts of the viewer have no say.
func (s *svg) look(c cell) drawing {
	g := glyph{text: c.text, width: c.width, bold: c.bold, italic: c.italic}
	if g.text == " " || g.width == 0 {
		return drawing{}
	}
	l, ok := s.looks[g]
	if !ok {
		l = s.find(g)
		s.looks[g] = l
	}
	return l
}

func (s *svg) find(g glyph) drawing {
	if r, ok := single(g.text); ok {
		if sh, ok := s.fonts.shape(r, g); ok {
			if r == blankBraille {
				return drawing{}
			}
			name := "c"
			if g.bold && r >= firstSyllable && r <= lastSyllable {
				name = "b"
			}
			return drawing{shape: s.define(name+strconv.FormatInt(int64(r), 36), sh), left: middle(int(g.width))}
		}
	}
	runes := []rune(norm.NFC.String(g.text))
	if !s.fonts.drawable(runes) && !s.fonts.drawable([]rune(norm.NFD.String(g.text))) {
		s.fonts.missing[g.text] = true
		return drawing{shape: s.define("p"+strconv.Itoa(int(g.width)), placeholder(int(g.width)))}
	}
	o, err := s.fonts.outlines(g)
	if s.err = cmp.Or(s.err, err); err != nil || len(o) == 0 {
		return drawing{}
	}
	style := 0
	if g.bold {
		style++
	}
	if g.italic {
		style += 2
	}
	r, ok := single(g.text)
	if !ok && len(runes) == 1 {
		r, ok = runes[0], true
	}
	if ok && !s.fonts.isEmoji(r) { // those a browser may draw with a font of its own, whatever the file says
		if s.faces[style] == nil {
			s.faces[style] = map[rune]webGlyph{}
		}
		if was, ok := s.faces[style][r]; !ok || was.width == g.width {
			s.faces[style][r] = webGlyph{o, g.width}
			return drawing{letter: r}
		}
	}
	name := "k" + strconv.Itoa(len(s.looks)) // a letter with marks, or an emoji
	s.glyphs = append(s.glyphs, fmt.Sprintf(`<path id="%s" d="%s"/>`, name, o.path()))
	return drawing{shape: name}
}

// shapes draws the shapes of a run; each is defined once.
func (s *svg) shapes(b *strings.Builder, cells []cell, x int) {
	fmt.Fprintf(b, `<g fill="%s">`, hex(cells[0].fg))
	for i, c := range cells {
		if l := s.look(c); l.shape != "" {
			fmt.Fprintf(b, `<use href="#%s" x="%s"/>`, l.shape, number(float64((x+i)*cellW)+l.left))
		}
	}
	b.WriteString("</g>")
}

// blankBraille is a character that shows nothing.
const blankBraille = '\u2800'

// define writes a shape once; it gives its name.
func (s *svg) define(name string, sh shape) string {
	if s.shaped[name] {
		return name
	}
	s.shaped[name] = true
	var d strings.Builder
	for _, p := range sh.parts {
		path(&d, p)
	}
	opacity := ""
	if sh.alpha < 255 {
		opacity = ` fill-opacity="` + number(float64(sh.alpha)/255) + `"`
	}
	s.glyphs = append(s.glyphs, fmt.Sprintf(`<path id="%s"%s d="%s"/>`, name, opacity, d.String()))
	return name
}

// path writes a polygon.
func path(b *strings.Builder, p polygon) {
	for i, at := range p {
		if i == 0 {
			b.WriteString("M" + number(at.x) + " " + number(at.y))
			continue
		}
		was := p[i-1]
		switch {
		case at.y == was.y:
			b.WriteString("h" + number(at.x-was.x))
		case at.x == was.x:
			b.WriteString("v" + number(at.y-was.y))
		default:
			b.WriteString("l" + number(at.x-was.x) + " " + number(at.y-was.y))
		}
	}
	b.WriteByte('z')
}

// number writes a number with at most two places.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// text writes a run of letters, exactly as wide as its cells.
func (s *svg) text(b *strings.Builder, cells []cell, x int) {
	var t strings.Builder
	for _, c := range cells {
		if c.text == " " {
			t.WriteByte(' ')
		} else if c.width > 0 {
			t.WriteRune(s.look(c).letter)
		}
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" textLength="%d" class="%s">%s</text>`, x*cellW, baseline, len(cells)*cellW, s.class(cells[0].pen), escaped(t.String()))
}

// plainText says that a cluster is one character for every browser; what is none stands alone.
func plainText(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n == len(s) && r < 0x1f000
}

// escaped makes text safe in XML: what XML cannot hold is replaced.
func escaped(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return html.EscapeString(s)
}

// class names the look of a text; lines and the ground are drawn beside it.
func (s *svg) class(p pen) string {
	p = pen{fg: p.fg, bold: p.bold, italic: p.italic}
	if name, ok := s.classes[p]; ok {
		return name
	}
	name := "t" + strconv.Itoa(len(s.order))
	s.classes[p] = name
	s.order = append(s.order, p)
	return name
}

// lines draws what is under and through texts.
func (s *svg) lines(b *strings.Builder, cells []cell) {
	for _, l := range []struct {
		on func(cell) bool
		y  int
	}{{func(c cell) bool { return c.under }, underlineAt}, {func(c cell) bool { return c.gone }, strikeAt}} {
		runs(cells, func(a, c cell) bool { return l.on(a) == l.on(c) && a.line == c.line }, func(from, to int) {
			if l.on(cells[from]) {
				fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="1" fill="%s"/>`, from*cellW, l.y, (to-from)*cellW, hex(cells[from].line))
			}
		})
	}
}

func hex(c color.RGBA) string {
	full := fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	if full[1] == full[2] && full[3] == full[4] && full[5] == full[6] {
		return "#" + full[1:2] + full[3:4] + full[5:6]
	}
	return full
}

// write puts the file together; it lasts so long and begins again.
func (s *svg) write(w io.Writer, length time.Duration) error {
	if s.err != nil {
		return s.err
	}
	var b bytes.Buffer
	width, height := s.paint.size()
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n<style>\n", width, height, width, height)
	for style, face := range s.faces {
		if face != nil {
			look := [...]string{"", "font-weight:bold;", "font-style:italic;", "font-weight:bold;font-style:italic;"}[style]
			fmt.Fprintf(&b, "@font-face{font-family:v;%ssrc:url(data:font/ttf;base64,%s)}\n", look, base64.StdEncoding.EncodeToString(webFont(face)))
		}
	}
	fmt.Fprintf(&b, "text{font:%dpx v,monospace;white-space:pre}\n", monoSize)
	for i, p := range s.order {
		fmt.Fprintf(&b, ".t%d{fill:%s%s%s}\n", i, hex(p.fg), map[bool]string{true: ";font-weight:bold"}[p.bold], map[bool]string{true: ";font-style:italic"}[p.italic])
	}
	for y, strip := range s.strips {
		s.moves(&b, y, strip, length)
	}
	b.WriteString("</style>\n<defs>\n")
	for _, glyph := range s.glyphs {
		b.WriteString(glyph + "\n")
	}
	for i, row := range s.rows {
		fmt.Fprintf(&b, "<g id=\"r%d\">%s</g>\n", i+1, row)
	}
	b.WriteString("</defs>\n")
	s.chrome(&b, width, height)
	at := s.paint.origin()
	for y, strip := range s.strips {
		if len(strip) == 1 && strip[0].row == 0 {
			continue
		}
		fmt.Fprintf(&b, `<svg x="%d" y="%d" width="%d" height="%d"><g`, at.X, at.Y+y*cellH, s.paint.w*cellW, cellH)
		if len(strip) > 1 {
			fmt.Fprintf(&b, ` class="m%d"`, y)
		}
		b.WriteByte('>')
		for i, step := range strip {
			if step.row == 0 {
				continue
			}
			fmt.Fprintf(&b, `<use href="#r%d"`, step.row)
			if i > 0 {
				fmt.Fprintf(&b, ` y="%d"`, i*cellH)
			}
			b.WriteString("/>")
		}
		b.WriteString("</g></svg>\n")
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// moves writes when the strip of a row is where.
func (s *svg) moves(b *bytes.Buffer, y int, strip []step, length time.Duration) {
	if len(strip) < 2 {
		return
	}
	fmt.Fprintf(b, ".m%d{animation:m%d %ss step-end infinite}\n@keyframes m%d{", y, y, number(length.Seconds()), y)
	for i, step := range strip {
		percent := strconv.FormatFloat(100*step.at.Seconds()/length.Seconds(), 'f', 4, 64)
		if strings.Contains(percent, ".") {
			percent = strings.TrimRight(strings.TrimRight(percent, "0"), ".")
		}
		fmt.Fprintf(b, "%s%%{transform:translateY(%dpx)}", percent, -i*cellH)
	}
	fmt.Fprintf(b, "to{transform:translateY(%dpx)}}\n", -(len(strip)-1)*cellH)
}

// chrome draws the ground and the window.
func (s *svg) chrome(b *bytes.Buffer, w, h int) {
	t := s.paint.theme
	if !s.paint.frame {
		fmt.Fprintf(b, `<rect width="%d" height="%d" fill="%s"/>`+"\n", w, h, hex(t.Ground))
		return
	}
	fmt.Fprintf(b, `<rect x="0.5" y="0.5" width="%d" height="%d" rx="6" fill="%s" stroke="%s"/>`+"\n", w-1, h-1, hex(t.Ground), hex(t.Rule))
	fmt.Fprintf(b, `<path d="M1 %d V7 a6 6 0 0 1 6 -6 H%d a6 6 0 0 1 6 6 V%d z" fill="%s"/>`+"\n", barHeight, w-7, barHeight, hex(t.Bar))
	for i, dot := range t.Dots {
		fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="%d" fill="%s"/>`+"\n", dotX(i), barHeight/2, dotRadius, hex(dot))
	}
}
