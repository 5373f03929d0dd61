package record

import (
	"fmt"
	"image"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
	"golang.org/x/text/unicode/norm"

	"vitrine/assets"
)

// The sizes of the fonts in pixels, so that Go Mono and the signs are a cell wide, a Han character and an emoji nearly two; the smaller
// ones are for what is too wide for its cells.
const (
	monoSize  = 15
	hanSize   = 16
	emojiSize = 14
	smallSize = 10
	tinySize  = 7
	baseline  = 14 // of a cell, in pixels from its top
)

// maxGlyphs bounds how many drawn characters are kept.
const maxGlyphs = 4096

// face is a font at a size.
type face struct {
	font *sfnt.Font
	face font.Face
	size int // in pixels
}

// fallback is a font of letters that Go Mono lacks, the largest size first: the first is taken in which a letter fits into its cells.
type fallback [3]face

// fonts draw characters into cells. They belong to one goroutine.
type fonts struct {
	mono    [4]face     // regular, bold, italic, both
	others  [3]fallback // Han, emoji, signs
	buf     sfnt.Buffer
	glyphs  map[glyph][]uint8
	missing map[string]bool
}

// glyph is a character as it is drawn.
type glyph struct {
	text         string
	width        int8
	bold, italic bool
}

func newFonts() (*fonts, error) {
	f := &fonts{glyphs: map[glyph][]uint8{}, missing: map[string]bool{}}
	for i, ttf := range [][]byte{gomono.TTF, gomonobold.TTF, gomonoitalic.TTF, gomonobolditalic.TTF} {
		parsed, err := opentype.Parse(ttf)
		if err != nil {
			return nil, fmt.Errorf("read Go Mono: %w", err)
		}
		if f.mono[i], err = newFace(parsed, monoSize); err != nil {
			return nil, err
		}
	}
	for i, from := range []struct {
		name string
		ttf  io.ReaderAt
		size int
	}{
		{"the fallback font", assets.FallbackFont(), hanSize},
		{"the font of emoji", assets.EmojiFont(), emojiSize},
		{"the font of signs", assets.SignsFont(), monoSize},
	} {
		parsed, err := opentype.ParseReaderAt(from.ttf)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", from.name, err)
		}
		for k, size := range []int{from.size, smallSize, tinySize} {
			if f.others[i][k], err = newFace(parsed, size); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

func newFace(parsed *sfnt.Font, size int) (face, error) {
	made, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: float64(size), DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return face{}, fmt.Errorf("make a font of %d pixels: %w", size, err)
	}
	return face{parsed, made, size}, nil
}

// draw gives how much each pixel of a character's cells is covered, row by row. It is not to be changed.
func (f *fonts) draw(g glyph) []uint8 {
	if pix, ok := f.glyphs[g]; ok {
		return pix
	}
	if len(f.glyphs) >= maxGlyphs {
		clear(f.glyphs)
	}
	pix := make([]uint8, int(g.width)*cellW*cellH)
	f.render(g, pix)
	f.glyphs[g] = pix
	return pix
}

func (f *fonts) render(g glyph, pix []uint8) {
	if g.text == " " {
		return
	}
	if r, ok := single(g.text); ok {
		if s, ok := f.shape(r, g); ok {
			s.fill(pix, int(g.width), middle(int(g.width)))
			return
		}
	}
	runes := []rune(norm.NFC.String(g.text))
	if !f.drawable(runes) {
		runes = []rune(norm.NFD.String(g.text)) // the letter and its marks
	}
	if !f.drawable(runes) {
		f.missing[g.text] = true
		placeholder(int(g.width)).fill(pix, int(g.width), 0)
		return
	}
	f.letter(runes[0], g, pix)
	for _, r := range runes[1:] {
		switch {
		case invisible(r), isTone(r):
		case f.has(r):
			f.letter(r, g, pix)
		default:
			f.missing[g.text] = true // the letter without it
		}
	}
}

// shape gives the shape of a character that is drawn as one, and not as a letter of a font.
func (f *fonts) shape(r rune, g glyph) (shape, bool) {
	if s, ok := shapeOf(r); ok {
		return s, true
	}
	if g.width != 2 {
		return shape{}, false
	}
	return f.syllable(r, g.bold)
}

// middle is where the shape of one cell begins in several, in pixels.
func middle(width int) float64 { return float64((width - 1) * cellW / 2) }

// drawable says that a cluster can be drawn as letters: sequences that make one picture cannot.
func (f *fonts) drawable(runes []rune) bool {
	for i, r := range runes {
		switch {
		case invisible(r):
			if r == '\u200d' {
				return false
			}
		case i > 0 && isTone(r):
		case i > 0 && !unicode.Is(unicode.M, r), i == 0 && !f.has(r):
			return false
		}
	}
	return true
}

// invisible is true for joiners and for what chooses between looks of a character.
func invisible(r rune) bool { return r == '\u200c' || r == '\u200d' || r >= 0xfe00 && r <= 0xfe0f }

// isTone is true for what gives an emoji the colour of a skin: there is one colour here.
func isTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

func (f *fonts) has(r rune) bool {
	if f.mono[0].has(&f.buf, r) {
		return true
	}
	_, ok := f.fallback(r)
	return ok
}

// isEmoji says that a character is one of the font of emoji.
func (f *fonts) isEmoji(r rune) bool {
	o, ok := f.fallback(r)
	return ok && o == &f.others[1]
}

func (c *face) has(buf *sfnt.Buffer, r rune) bool {
	i, err := c.font.GlyphIndex(buf, r)
	return err == nil && i != 0
}

// fallback gives the first one that has a character.
func (f *fonts) fallback(r rune) (*fallback, bool) {
	for i := range f.others {
		if o := &f.others[i]; o[0].has(&f.buf, r) {
			return o, true
		}
	}
	return &f.others[0], false
}

// choose gives the face that has a character, where the character begins in its cells, and whether its bold look is to be made.
func (f *fonts) choose(r rune, g glyph) (c *face, left fixed.Int26_6, embolden bool) {
	style := 0
	if g.bold {
		style++
	}
	if g.italic {
		style += 2
	}
	if c = &f.mono[style]; c.has(&f.buf, r) {
		return c, 0, false
	}
	other, _ := f.fallback(r)
	w, advance := fixed.I(int(g.width)*cellW), fixed.Int26_6(0)
	for i := range other {
		c = &other[i]
		if advance, _ = c.face.GlyphAdvance(r); advance <= w+fixed.I(1) {
			break
		}
	}
	return c, max(0, (w-advance)/2) &^ 63, g.bold // whole pixels: sharper, and the same for every place
}

// letter draws a character of a font into its cells; what is wider is cut off.
func (f *fonts) letter(r rune, g glyph, pix []uint8) {
	c, left, embolden := f.choose(r, g)
	w := int(g.width) * cellW
	dot := fixed.Point26_6{X: left, Y: fixed.I(baseline)}
	bounds, mask, from, _, ok := c.face.Glyph(dot, r)
	alpha, isAlpha := mask.(*image.Alpha)
	if !ok || !isAlpha {
		return
	}
	area := bounds.Intersect(image.Rect(0, 0, w, cellH))
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			v := alpha.AlphaAt(x-bounds.Min.X+from.X, y-bounds.Min.Y+from.Y).A
			at := y*w + x
			pix[at] = max(pix[at], v)
			if embolden && x+1 < w {
				pix[at+1] = max(pix[at+1], v)
			}
		}
	}
}

// fill draws a shape into cells, from a column of pixels on.
func (s shape) fill(pix []uint8, width int, from float64) {
	w := width * cellW
	ras := vector.NewRasterizer(w, cellH)
	for _, p := range s.parts {
		for i, at := range p {
			if i == 0 {
				ras.MoveTo(float32(at.x+from), float32(at.y))
			} else {
				ras.LineTo(float32(at.x+from), float32(at.y))
			}
		}
		ras.ClosePath()
	}
	to := &image.Alpha{Pix: pix, Stride: w, Rect: image.Rect(0, 0, w, cellH)}
	ras.Draw(to, to.Rect, image.Opaque, image.Point{})
	if s.alpha < 255 {
		for i, v := range pix {
			pix[i] = uint8(int(v) * int(s.alpha) / 255)
		}
	}
}

// maxListed is how many missing characters are named.
const maxListed = 20

// lacking lists the characters that no font had, with their code points; it is empty when there were none.
func (f *fonts) lacking() string {
	all := make([]string, 0, len(f.missing))
	for text := range f.missing {
		all = append(all, text)
	}
	slices.Sort(all)
	var list []string
	for i, text := range all {
		if i == maxListed {
			list = append(list, "+"+strconv.Itoa(len(all)-maxListed))
			break
		}
		var points []string
		for _, r := range text {
			points = append(points, fmt.Sprintf("U+%04X", r))
		}
		list = append(list, text+" ("+strings.Join(points, " ")+")")
	}
	return strings.Join(list, ", ")
}
