package record

import (
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The fonts have the letters of Korean but not its 11,172 syllables, which are put together here, as they are made up in Unicode: a
// consonant, a vowel and perhaps a consonant below. The consonants are those of a font, fitted into their parts of the two cells; the
// vowels are strokes.

// The syllables of Unicode in their order, and the letters that they are made of.
const (
	firstSyllable = 0xac00
	lastSyllable  = 0xd7a3
	vowelCount    = 21
	finalCount    = 28 // with none
	initials      = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
	finals        = "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
)

// The places in a syllable's two cells, in pixels from their upper left corner.
const (
	hangulLeft, hangulRight  = 1.5, 16.5
	hangulTop, hangulBottom  = 1.5, 16.5
	hangulStroke, boldStroke = 1.3, 2.2
)

// box is a part of the cells.
type box struct{ x0, y0, x1, y1 float64 }

// syllable draws a Korean syllable. Its points are those of a shape that stands in the middle of two cells.
func (f *fonts) syllable(r rune, bold bool) (shape, bool) {
	if r < firstSyllable || r > lastSyllable {
		return shape{}, false
	}
	i := int(r - firstSyllable)
	initial, vowel, final := i/(vowelCount*finalCount), i/finalCount%vowelCount, i%finalCount
	v := vowelOf(vowel)
	bottom := hangulBottom
	if final > 0 {
		bottom = 9.2
	}
	k := korean{fonts: f, stroke: hangulStroke, shape: shape{alpha: 255}}
	if bold {
		k.stroke, k.shift = boldStroke, 1
	}
	first := box{hangulLeft, hangulTop, hangulRight, bottom}
	if v.bars > 0 {
		width := 4.5 + 2.5*float64(v.bars-1)
		k.upright(v, box{hangulRight - width, hangulTop, hangulRight, bottom})
		first.x1 = hangulRight - width - 0.8
	}
	if v.flat != 0 {
		top := bottom - 5.2
		if v.flat == 'ㅡ' {
			top = bottom - 3
		}
		if final > 0 {
			top = bottom - 2.8
		}
		k.flat(v.flat, box{first.x0, top, first.x1, bottom})
		first.y1 = top - 0.6
	} else if final == 0 { // a letter beside an upright vowel is not as tall as that
		first.y0, first.y1 = 3, 14.5
	}
	if v.bars == 0 {
		first.x0, first.x1 = first.x0+2, first.x1-2
	}
	k.letter([]rune(initials)[initial], first)
	if final > 0 {
		k.letter([]rune(finals)[final-1], box{hangulLeft + 2.5, bottom + 1, hangulRight - 0.5, hangulBottom})
	}
	return k.centred(), true
}

// vowel is what a vowel is made of: a flat stroke with short ones on it, and upright ones with short ones beside them.
type vowel struct {
	flat  rune // ㅗ, ㅛ, ㅜ, ㅠ, ㅡ or none
	bars  int  // upright strokes, at most two
	short int  // short strokes, at most two
	side  int  // where these are: left of the bars, between them, right of them
}

// The sides of upright strokes.
const leftOf, amid, rightOf = -1, 0, 1

// vowelOf takes the number of a vowel in a syllable.
func vowelOf(i int) vowel {
	return [vowelCount]vowel{
		{0, 1, 1, rightOf}, {0, 2, 1, amid}, {0, 1, 2, rightOf}, {0, 2, 2, amid}, // ㅏㅐㅑㅒ
		{0, 1, 1, leftOf}, {0, 2, 1, leftOf}, {0, 1, 2, leftOf}, {0, 2, 2, leftOf}, // ㅓㅔㅕㅖ
		{'ㅗ', 0, 0, 0}, {'ㅗ', 1, 1, rightOf}, {'ㅗ', 2, 1, amid}, {'ㅗ', 1, 0, 0}, {'ㅛ', 0, 0, 0}, // ㅗㅘㅙㅚㅛ
		{'ㅜ', 0, 0, 0}, {'ㅜ', 1, 1, leftOf}, {'ㅜ', 2, 1, leftOf}, {'ㅜ', 1, 0, 0}, {'ㅠ', 0, 0, 0}, // ㅜㅝㅞㅟㅠ
		{'ㅡ', 0, 0, 0}, {'ㅡ', 1, 0, 0}, {0, 1, 0, 0}, // ㅡㅢㅣ
	}[i]
}

// korean collects the parts of a syllable.
type korean struct {
	fonts         *fonts
	stroke, shift float64 // how wide strokes are; letters of the font are drawn again so far to the right
	shape
}

// centred gives what was drawn in the coordinates of a shape.
func (k *korean) centred() shape {
	for _, p := range k.parts {
		for i := range p {
			p[i] = point{round(p[i].x - middle(2)), round(p[i].y)}
		}
	}
	return k.shape
}

// upright draws the upright part of a vowel.
func (k *korean) upright(v vowel, in box) {
	last := in.x1 - k.stroke
	if v.side == rightOf {
		last = in.x0 + 1
	}
	first := last - 3*float64(v.bars-1)
	for i := range v.bars {
		x := first + 3*float64(i)
		k.rect(x, in.y0, x+k.stroke, in.y1)
	}
	for i := range v.short {
		y := (in.y0+in.y1)/2 - k.stroke/2
		if v.short == 2 {
			y += (float64(i) - 0.5) * (in.y1 - in.y0) * 0.3
		}
		switch v.side {
		case leftOf:
			k.rect(in.x0-1, y, first, y+k.stroke)
		case amid:
			k.rect(first+k.stroke, y, last, y+k.stroke)
		case rightOf:
			k.rect(last+k.stroke, y, in.x1, y+k.stroke)
		}
	}
}

// flat draws the flat part of a vowel.
func (k *korean) flat(r rune, in box) {
	y := in.y1 - k.stroke - 0.6
	if r == 'ㅜ' || r == 'ㅠ' {
		y = in.y0
	}
	k.rect(in.x0, y, in.x1, y+k.stroke)
	mid, apart := (in.x0+in.x1)/2-k.stroke/2, (in.x1-in.x0)*0.18
	places := []float64{mid}
	switch r {
	case 'ㅡ':
		return
	case 'ㅛ', 'ㅠ':
		places = []float64{mid - apart, mid + apart}
	}
	for _, x := range places {
		if y == in.y0 {
			k.rect(x, y+k.stroke, x+k.stroke, in.y1)
		} else {
			k.rect(x, in.y0, x+k.stroke, y)
		}
	}
}

// letter fits a consonant of the font into a part.
func (k *korean) letter(r rune, in box) {
	c := &k.fonts.others[0][0]
	at, err := c.font.GlyphIndex(&k.fonts.buf, r)
	if err != nil || at == 0 {
		return
	}
	segments, err := c.font.LoadGlyph(&k.fonts.buf, at, fixed.I(c.size), nil)
	if err != nil {
		return
	}
	parts := flatten(segments)
	edge := box{1e9, 1e9, -1e9, -1e9}
	for _, p := range parts {
		for _, q := range p {
			edge = box{min(edge.x0, q.x), min(edge.y0, q.y), max(edge.x1, q.x), max(edge.y1, q.y)}
		}
	}
	fit := func(v, from, to, low, high float64) float64 {
		if to <= from {
			return low
		}
		return low + (v-from)/(to-from)*(high-low)
	}
	for _, dx := range []float64{0, 0.35 + k.shift} { // smaller letters have thinner strokes
		for _, p := range parts {
			moved := make(polygon, len(p))
			for i, q := range p {
				moved[i] = point{fit(q.x, edge.x0, edge.x1, in.x0, in.x1-0.35-k.shift) + dx, fit(q.y, edge.y0, edge.y1, in.y0, in.y1)}
			}
			k.parts = append(k.parts, moved)
		}
	}
}

// curveSteps is in how many lines a curve of a small letter is cut.
const curveSteps = 4

// flatten gives the contours of a character as polygons.
func flatten(segments sfnt.Segments) (parts []polygon) {
	px := func(p fixed.Point26_6) point { return point{float64(p.X) / 64, float64(p.Y) / 64} }
	for _, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			parts = append(parts, polygon{px(s.Args[0])})
		case sfnt.SegmentOpLineTo:
			parts[len(parts)-1] = append(parts[len(parts)-1], px(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			last := parts[len(parts)-1]
			a, b, c := last[len(last)-1], px(s.Args[0]), px(s.Args[1])
			for i := 1; i <= curveSteps; i++ {
				t := float64(i) / curveSteps
				u := 1 - t
				last = append(last, point{u*u*a.x + 2*u*t*b.x + t*t*c.x, u*u*a.y + 2*u*t*b.y + t*t*c.y})
			}
			parts[len(parts)-1] = last
		}
	}
	return parts
}
