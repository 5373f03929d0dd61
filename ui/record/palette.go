package record

import "image/color"

// maxColors is how many colours a picture of a GIF has, beside the one that nothing is drawn with.
const maxColors = 255

// pair is a colour on another one. What is drawn of it are the two and the steps between them.
type pair struct{ fg, bg color.RGBA }

// steps are how many shades a pair may have, with its ends. More than the first look hardly better, and make a file a third larger.
var steps = [...]int{5, 4, 3, 2}

// palette gives the colours of pairs their numbers.
type palette struct {
	colors []color.RGBA
	shades int // of a pair
	index  map[color.RGBA]uint8
	ramps  map[pair]*[256]uint8
	exact  bool // all colours are there as they are
}

// newPalette takes as many shades of the pairs as there is room for. When not even their ends have room the palette is not exact:
// it has colours that lie evenly, and the nearest are taken.
func newPalette(pairs []pair) *palette {
	for _, n := range steps {
		p := &palette{shades: n, exact: true, index: map[color.RGBA]uint8{}, ramps: map[pair]*[256]uint8{}}
		if p.fill(pairs) {
			return p
		}
	}
	p := &palette{shades: 4, index: map[color.RGBA]uint8{}, ramps: map[pair]*[256]uint8{}}
	for i := range cubeR * cubeG * cubeB {
		r, g, b := i/(cubeG*cubeB), i/cubeB%cubeG, i%cubeB
		p.colors = append(p.colors, color.RGBA{uint8(r * 255 / (cubeR - 1)), uint8(g * 255 / (cubeG - 1)), uint8(b * 255 / (cubeB - 1)), 0xff})
	}
	return p
}

// The sides of the cube of colours; eyes tell most greens apart.
const cubeR, cubeG, cubeB = 6, 7, 6

func (p *palette) fill(pairs []pair) bool {
	for _, c := range pairs {
		for q := range p.shades {
			shade := between(c.bg, c.fg, q, p.shades-1)
			if _, ok := p.index[shade]; ok {
				continue
			}
			if len(p.colors) == maxColors {
				return false
			}
			p.index[shade] = uint8(len(p.colors))
			p.colors = append(p.colors, shade)
		}
	}
	return true
}

// ramp gives the number of the colour for each degree of covering.
func (p *palette) ramp(c pair) *[256]uint8 {
	if r, ok := p.ramps[c]; ok {
		return r
	}
	if len(p.ramps) > 1<<12 {
		clear(p.ramps)
	}
	r := new([256]uint8)
	for v := range r {
		q := (v*(p.shades-1) + 127) / 255
		r[v] = p.nearest(between(c.bg, c.fg, q, p.shades-1))
	}
	p.ramps[c] = r
	return r
}

// nearest is the number of a colour, or of the one that is most like it.
func (p *palette) nearest(c color.RGBA) uint8 {
	if i, ok := p.index[c]; ok {
		return i
	}
	if p.exact { // it was not counted: there is none but the nearest
		best, away := 0, 1<<30
		for i, o := range p.colors {
			dr, dg, db := int(c.R)-int(o.R), int(c.G)-int(o.G), int(c.B)-int(o.B)
			if d := 3*dr*dr + 4*dg*dg + 2*db*db; d < away {
				best, away = i, d
			}
		}
		return uint8(best)
	}
	side := func(v uint8, n int) int { return (int(v)*(n-1) + 127) / 255 }
	return uint8(side(c.R, cubeR)*cubeG*cubeB + side(c.G, cubeG)*cubeB + side(c.B, cubeB))
}

// pairs collects which pairs of colours are drawn, in order, as long as one palette may do for all.
type pairs struct {
	seen map[pair]bool
	list []pair
}

// full says that one palette will not do.
func (p *pairs) full() bool { return len(p.list) > maxColors }

func (p *pairs) add(c pair) {
	if p.seen == nil {
		p.seen = map[pair]bool{}
	}
	if !p.full() && !p.seen[c] {
		p.seen[c] = true
		p.list = append(p.list, c)
	}
}

// cell adds what a cell is drawn with.
func (p *pairs) cell(c *cell) {
	if c.width == 0 {
		return
	}
	p.add(pair{c.fg, c.bg})
	if c.under || c.gone {
		p.add(pair{c.line, c.bg})
	}
}
