package record

import (
	"image"
	"image/color"
)

// The window around the picture, in pixels.
const (
	barHeight = 30
	padding   = 12
	dotRadius = 6
	dotGap    = 20
	ruleWidth = 1
)

// painter draws cells as numbers of colours.
type painter struct {
	fonts *fonts
	theme Theme
	frame bool // the window
	w, h  int  // of the picture, in cells
}

// size is that of the whole picture in pixels.
func (p *painter) size() (w, h int) {
	w, h = p.w*cellW, p.h*cellH
	if p.frame {
		w, h = w+2*padding, h+barHeight+2*padding
	}
	return w, h
}

// origin is where the first cell lies.
func (p *painter) origin() image.Point {
	if p.frame {
		return image.Pt(padding, barHeight+padding)
	}
	return image.Point{}
}

// chrome are the pairs of colours of the window and of what is blank.
func (p *painter) chrome(to *pairs) {
	ground := pair{p.theme.Ground, p.theme.Ground}
	to.add(ground)
	if p.frame {
		to.add(pair{p.theme.Rule, p.theme.Ground})
		for _, dot := range p.theme.Dots {
			to.add(pair{dot, p.theme.Bar})
		}
	}
}

// surface is a part of the picture as numbers of colours.
type surface struct {
	pix  []uint8
	rect image.Rectangle // in the whole picture
}

// newSurface is filled with one number. The room of old is used again.
func newSurface(old []uint8, rect image.Rectangle, with uint8) surface {
	n := rect.Dx() * rect.Dy()
	if cap(old) < n {
		old = make([]uint8, n)
	}
	s := surface{pix: old[:n], rect: rect}
	for i := range s.pix {
		s.pix[i] = with
	}
	return s
}

func (s *surface) fill(r image.Rectangle, with uint8) {
	r = r.Intersect(s.rect).Sub(s.rect.Min)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := s.pix[y*s.rect.Dx()+r.Min.X : y*s.rect.Dx()+r.Max.X]
		for i := range row {
			row[i] = with
		}
	}
}

// window draws the frame around the cells.
func (p *painter) window(s *surface, colors *palette) {
	w, h := p.size()
	rule := colors.ramp(pair{p.theme.Rule, p.theme.Ground})[255]
	s.fill(image.Rect(0, 0, w, barHeight), colors.ramp(pair{p.theme.Dots[0], p.theme.Bar})[0])
	for _, edge := range []image.Rectangle{
		image.Rect(0, 0, w, ruleWidth), image.Rect(0, h-ruleWidth, w, h), image.Rect(0, 0, ruleWidth, h), image.Rect(w-ruleWidth, 0, w, h),
		image.Rect(0, barHeight-ruleWidth, w, barHeight),
	} {
		s.fill(edge, rule)
	}
	for i, dot := range p.theme.Dots {
		p.dot(s, image.Pt(dotX(i), barHeight/2), colors.ramp(pair{dot, p.theme.Bar}))
	}
}

func dotX(i int) int { return dotGap + i*dotGap }

// dot draws a disc with soft edges: four times four places of each pixel are looked at.
func (p *painter) dot(s *surface, at image.Point, ramp *[256]uint8) {
	const parts = 4
	for y := -dotRadius - 1; y <= dotRadius; y++ {
		for x := -dotRadius - 1; x <= dotRadius; x++ {
			n := 0
			for i := range parts * parts {
				dx, dy := 2*(x*parts+i%parts)+1, 2*(y*parts+i/parts)+1
				if dx*dx+dy*dy <= 4*dotRadius*dotRadius*parts*parts {
					n++
				}
			}
			if n > 0 {
				px := image.Pt(at.X+x, at.Y+y)
				s.fill(image.Rectangle{px, px.Add(image.Pt(1, 1))}, ramp[n*255/(parts*parts)])
			}
		}
	}
}

// The places of lines over letters, in pixels from the top of a cell.
const (
	underlineAt = 16
	strikeAt    = 10
)

// cell draws one cell, or the two of a wide one.
func (p *painter) cell(s *surface, x, y int, c *cell, colors *palette) {
	at := p.origin().Add(image.Pt(x*cellW, y*cellH)).Sub(s.rect.Min)
	w, stride := int(c.width)*cellW, s.rect.Dx()
	ramp := colors.ramp(pair{c.fg, c.bg})
	pix := p.fonts.draw(glyph{c.text, c.width, c.bold, c.italic})
	for row := range cellH {
		from := pix[row*w : (row+1)*w]
		to := s.pix[(at.Y+row)*stride+at.X:][:w]
		for i, v := range from {
			to[i] = ramp[v]
		}
	}
	if !c.under && !c.gone {
		return
	}
	line := colors.ramp(pair{c.line, c.bg})[255]
	for _, l := range []struct {
		on bool
		y  int
	}{{c.under, underlineAt}, {c.gone, strikeAt}} {
		if l.on {
			s.fill(image.Rect(at.X, at.Y+l.y, at.X+w, at.Y+l.y+1).Add(s.rect.Min), line)
		}
	}
}

// changed are the rectangles of cells that differ, in cells and of whole characters: one above the other, two at most, so that what is
// as it was between a clock at the top and a line at the bottom is not written.
func changed(a, b grid) []image.Rectangle {
	var rows []image.Rectangle
	for y := range b.h {
		lo, hi := -1, -1
		for x := range b.w {
			if a.cells[y*b.w+x] != b.cells[y*b.w+x] {
				if lo < 0 {
					lo = x
				}
				hi = x + max(1, int(b.cells[y*b.w+x].width))
			}
		}
		if lo < 0 {
			continue
		}
		rows = append(rows, image.Rect(lo, y, min(hi, b.w), y+1))
	}
	if len(rows) == 0 {
		return nil
	}
	all := union(rows)
	best, least := 0, area(all)*splitWorth/100
	for i := 1; i < len(rows); i++ {
		if n := area(union(rows[:i])) + area(union(rows[i:])); n < least {
			best, least = i, n
		}
	}
	if best == 0 {
		return []image.Rectangle{all}
	}
	return []image.Rectangle{union(rows[:best]), union(rows[best:])}
}

// splitWorth is the share of the area, in percent, below which two rectangles are better than one.
const splitWorth = 80

func union(rects []image.Rectangle) (all image.Rectangle) {
	for _, r := range rects {
		all = all.Union(r)
	}
	return all
}

func area(r image.Rectangle) int { return r.Dx() * r.Dy() }

// differs says that a cell is not as it was. Where the second half of a wide character is another one, so is the first.
func differs(a, b grid, x, y int) bool { return a.cells[y*b.w+x] != b.cells[y*b.w+x] }

// rgb is a colour as a GIF and an SVG write it.
func rgb(c color.RGBA) [3]byte { return [3]byte{c.R, c.G, c.B} }
