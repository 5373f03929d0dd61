package record

import (
	"fmt"
	"image"
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

// The sizes of the fonts in pixels, so that Go Mono is a cell wide and a Han character nearly two; the small one is for letters that
// are too wide for one cell.
const (
	monoSize  = 15
	hanSize   = 16
	smallSize = 10
	baseline  = 14 // of a cell, in pixels from its top
)

// maxGlyphs bounds how many drawn characters are kept.
const maxGlyphs = 4096

// face is a font at a size.
type face struct {
	font *sfnt.Font
	face font.Face
}

// fonts draw characters into cells. They belong to one goroutine.
type fonts struct {
	mono       [4]face // regular, bold, italic, both
	han, small face
	buf        sfnt.Buffer
	glyphs     map[glyph][]uint8
	missing    map[string]bool
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
	fallback, err := opentype.ParseReaderAt(assets.FallbackFont())
	if err != nil {
		return nil, fmt.Errorf("read the fallback font: %w", err)
	}
	if f.han, err = newFace(fallback, hanSize); err != nil {
		return nil, err
	}
	f.small, err = newFace(fallback, smallSize)
	return f, err
}

func newFace(parsed *sfnt.Font, size float64) (face, error) {
	made, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return face{}, fmt.Errorf("make a font of %v pixels: %w", size, err)
	}
	return face{parsed, made}, nil
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
		if s, ok := shapeOf(r); ok {
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
		switch accent := accents[r]; {
		case invisible(r):
		case f.has(r):
			f.letter(r, g, pix)
		case accent != 0:
			f.letter(accent, g, pix)
		default:
			f.missing[g.text] = true // the letter without it
		}
	}
}

// accents are the signs that look like marks which the fonts lack.
var accents = map[rune]rune{'\u0300': '`', '\u0301': '´', '\u0302': 'ˆ', '\u0303': '˜', '\u0304': '¯', '\u0306': '˘', '\u0307': '˙', '\u0308': '¨', '\u030a': '˚', '\u030c': 'ˇ', '\u0327': '¸'}

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
		case i > 0 && !unicode.Is(unicode.M, r), i == 0 && !f.has(r):
			return false
		}
	}
	return true
}

// invisible is true for joiners and for what chooses between looks of a character.
func invisible(r rune) bool { return r == '\u200c' || r == '\u200d' || r >= 0xfe00 && r <= 0xfe0f }

func (f *fonts) has(r rune) bool {
	for _, c := range []*face{&f.mono[0], &f.han} {
		if i, err := c.font.GlyphIndex(&f.buf, r); err == nil && i != 0 {
			return true
		}
	}
	return false
}

// choose gives the face that has a character, and whether its bold look is to be made.
func (f *fonts) choose(r rune, g glyph) (c *face, embolden bool) {
	style := 0
	if g.bold {
		style++
	}
	if g.italic {
		style += 2
	}
	c = &f.mono[style]
	if i, err := c.font.GlyphIndex(&f.buf, r); err == nil && i != 0 {
		return c, false
	}
	return &f.han, g.bold
}

// letter draws a character of a font into its cells; what is wider is cut off.
func (f *fonts) letter(r rune, g glyph, pix []uint8) {
	c, embolden := f.choose(r, g)
	w := int(g.width) * cellW
	left := fixed.Int26_6(0)
	if c == &f.han {
		advance, _ := c.face.GlyphAdvance(r)
		if advance > fixed.I(w+1) {
			c = &f.small
			advance, _ = c.face.GlyphAdvance(r)
		}
		left = max(0, (fixed.I(w)-advance)/2)
	}
	dot := fixed.Point26_6{X: left &^ 63, Y: fixed.I(baseline)} // whole pixels: sharper, and the same for every place
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
