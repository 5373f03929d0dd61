package record

import (
	"math"
	"strings"
	"unicode/utf8"
)

// point is a place in a cell, in pixels from its upper left corner.
type point struct{ x, y float64 }

// polygon is closed. All of one shape run the same way round, so that they add up where they lie over each other.
type polygon []point

// shape is a character that is drawn from lines and areas, so that it meets its neighbours and looks the same everywhere.
type shape struct {
	parts []polygon
	// alpha is how much of the ground is covered, up to 255.
	alpha uint8
}

// The size of a cell, in pixels.
const (
	cellW = 9
	cellH = 18
)

// shapeOf gives the shape of a character: boxes, blocks, braille, and the signs of the screen that fonts lack.
func shapeOf(r rune) (shape, bool) {
	s := shape{alpha: 255}
	switch {
	case r >= 0x2500 && r <= 0x257f:
		s.box(r)
	case r >= 0x2580 && r <= 0x259f:
		s.block(r)
	case r >= 0x2800 && r <= 0x28ff:
		s.braille(uint8(r - 0x2800))
	default:
		s.sign(r)
	}
	return s, len(s.parts) > 0 || r == 0x2800
}

func (s *shape) rect(x0, y0, x1, y1 float64) {
	s.parts = append(s.parts, polygon{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}})
}

// disc is a circle that is filled.
func (s *shape) disc(x, y, radius float64) {
	const corners = 20
	p := make(polygon, corners)
	for i := range p {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		p[i] = point{round(x + radius*cos), round(y + radius*sin)}
	}
	s.parts = append(s.parts, p)
}

// round keeps coordinates short where they are written, and the same on every machine.
func round(v float64) float64 { return math.Round(v*64) / 64 }

// line is a stroke from point to point.
func (s *shape) line(width float64, points ...point) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		dx, dy := b.x-a.x, b.y-a.y
		length := math.Hypot(dx, dy)
		nx, ny := -dy/length*width/2, dx/length*width/2
		s.parts = append(s.parts, polygon{
			{round(a.x - nx), round(a.y - ny)}, {round(b.x - nx), round(b.y - ny)}, {round(b.x + nx), round(b.y + ny)}, {round(a.x + nx), round(a.y + ny)},
		})
	}
}

// ring is a circle that is not filled.
func (s *shape) ring(x, y, radius, width float64) {
	const corners = 20
	points := make([]point, corners+1)
	for i := range points {
		sin, cos := math.Sincos(2 * math.Pi * float64(i%corners) / corners)
		points[i] = point{x + radius*cos, y + radius*sin}
	}
	s.line(width, points...)
}

// arms are the four lines of each box character from 2500 on, up, right, down, left: 0 none, 1 light, 2 heavy, 3 double. Those
// that are no crossing of lines are 0.
const arms = "0101 0202 1010 2020 0101 0202 1010 2020 0101 0202 1010 2020 0110 0210 0120 0220 " +
	"0011 0012 0021 0022 1100 1200 2100 2200 1001 1002 2001 2002 1110 1210 2110 1120 " +
	"2120 2210 1220 2220 1011 1012 2011 1021 2021 2012 1022 2022 0111 0112 0211 0212 " +
	"0121 0122 0221 0222 1101 1102 1201 1202 2101 2102 2201 2202 1111 1112 1211 1212 " +
	"2111 1121 2121 2112 2211 1122 1221 2212 1222 2122 2221 2222 0101 0202 1010 2020 " +
	"0303 3030 0310 0130 0330 0013 0031 0033 1300 3100 3300 1003 3001 3003 1310 3130 " +
	"3330 1013 3031 3033 0313 0131 0333 1303 3101 3303 1313 3131 3333 0000 0000 0000 " +
	"0000 0000 0000 0000 0001 1000 0100 0010 0002 2000 0200 0020 0201 1020 0102 2010"

// The middle lines of a cell.
const (
	midX = cellW / 2
	midY = cellH / 2
)

func (s *shape) box(r rune) {
	i := int(r - 0x2500)
	switch {
	case i >= 0x04 && i <= 0x0b:
		s.dashes(i, 3+(i-0x04)/4)
		return
	case i >= 0x4c && i <= 0x4f:
		s.dashes(i, 2)
		return
	case i >= 0x6d && i <= 0x70:
		s.arc(i)
		return
	case i == 0x71:
		s.line(1.2, point{cellW, 0}, point{0, cellH})
		return
	case i == 0x72:
		s.line(1.2, point{0, 0}, point{cellW, cellH})
		return
	case i == 0x73:
		s.line(1.2, point{cellW, 0}, point{0, cellH})
		s.line(1.2, point{0, 0}, point{cellW, cellH})
		return
	}
	var a [4]int
	for k := range a {
		a[k] = int(arms[5*i+k] - '0')
	}
	s.arms(a)
}

// lanes are where the lines of an arm of a weight lie across it, in pixels from the middle one: two for a double one.
func lanes(weight int) [][2]float64 {
	switch weight {
	case 1:
		return [][2]float64{{0, 1}}
	case 2:
		return [][2]float64{{-1, 2}}
	case 3:
		return [][2]float64{{-2, -1}, {2, 3}}
	}
	return nil
}

// arms draws lines from the edges to the middle, and beyond it as far as the lines that cross them are wide.
func (s *shape) arms(a [4]int) {
	reach := func(i, j int) (lo, hi float64) { // of what crosses
		lo, hi = 0, 1
		for _, w := range []int{a[i], a[j]} {
			for _, l := range lanes(w) {
				lo, hi = min(lo, l[0]), max(hi, l[1])
			}
		}
		return lo, hi
	}
	xlo, xhi := reach(0, 2)
	ylo, yhi := reach(1, 3)
	for _, l := range lanes(a[0]) {
		s.rect(midX+l[0], 0, midX+l[1], midY+s.inner(a, l, yhi, 3, 1))
	}
	for _, l := range lanes(a[2]) {
		s.rect(midX+l[0], midY+1-s.inner(a, l, 1-ylo, 3, 1), midX+l[1], cellH)
	}
	for _, l := range lanes(a[3]) {
		s.rect(0, midY+l[0], midX+s.inner(a, l, xhi, 0, 2), midY+l[1])
	}
	for _, l := range lanes(a[1]) {
		s.rect(midX+1-s.inner(a, l, 1-xlo, 0, 2), midY+l[0], cellW, midY+l[1])
	}
}

// inner is how far a lane reaches over the middle: one of a double line stops at the near lane of a double line that crosses on its
// side, so that corners are open.
func (s *shape) inner(a [4]int, lane [2]float64, far float64, before, behind int) float64 {
	double := lane[0] == -2 || lane[0] == 2
	side := a[before]
	if lane[0] > 0 {
		side = a[behind]
	}
	if double && side == 3 {
		return -1
	}
	return far
}

func (s *shape) dashes(i, n int) {
	heavy, upright := i&1 == 1, i&2 == 2
	if n == 2 {
		upright = i >= 0x4e
	}
	width := 1.0
	if heavy {
		width = 3
	}
	length := float64(cellW)
	if upright {
		length = cellH
	}
	step := length / float64(n)
	for k := range n {
		from := math.Round(float64(k)*step) + 1
		to := max(from+1, math.Round(float64(k+1)*step)-1)
		if upright {
			s.rect(midX-(width-1)/2, from, midX+(width+1)/2, to)
		} else {
			s.rect(from, midY-(width-1)/2, to, midY+(width+1)/2)
		}
	}
}

// arc is a round corner: down and right, down and left, up and left, up and right.
func (s *shape) arc(i int) {
	right, down := i == 0x6d || i == 0x70, i == 0x6d || i == 0x6e
	const radius = 4.0
	cx, cy, x, y := midX+0.5, midY+0.5, 1.0, 1.0
	if !right {
		x = -1
	}
	if !down {
		y = -1
	}
	edgeX, edgeY := cellW/2.0+x*cellW/2.0, cellH/2.0+y*cellH/2.0
	points := []point{{cx, edgeY}}
	for k := range 7 {
		sin, cos := math.Sincos(math.Pi / 2 * float64(k) / 6)
		points = append(points, point{cx + x*radius*(1-cos), cy + y*radius*(1-sin)})
	}
	points = append(points, point{edgeX, cy})
	for k := 1; k < len(points); k++ {
		if points[k-1] != points[k] {
			s.line(1, points[k-1], points[k])
		}
	}
}

func (s *shape) block(r rune) {
	const w, h = cellW, cellH
	eighth := func(size float64, n int) float64 { return math.Round(size * float64(n) / 8) }
	switch i := int(r - 0x2580); {
	case i == 0:
		s.rect(0, 0, w, h/2)
	case i <= 0x08:
		s.rect(0, h-eighth(h, i), w, h)
	case i <= 0x0f:
		s.rect(0, 0, eighth(w, 0x10-i), h)
	case i == 0x10:
		s.rect(math.Round(w/2.0), 0, w, h)
	case i <= 0x13:
		s.rect(0, 0, w, h)
		s.alpha = uint8(64 * (i - 0x10))
	case i == 0x14:
		s.rect(0, 0, w, eighth(h, 1))
	case i == 0x15:
		s.rect(w-eighth(w, 1), 0, w, h)
	default:
		// Which quarters are filled: 1 upper left, 2 upper right, 4 lower left, 8 lower right.
		quarters := [10]int{4, 8, 1, 13, 9, 7, 11, 2, 6, 14}[i-0x16]
		mid := math.Round(w / 2.0)
		for q, c := range [4][4]float64{{0, 0, mid, h / 2}, {mid, 0, w, h / 2}, {0, h / 2, mid, h}, {mid, h / 2, w, h}} {
			if quarters&(1<<q) != 0 {
				s.rect(c[0], c[1], c[2], c[3])
			}
		}
	}
}

func (s *shape) braille(dots uint8) {
	at := [8]point{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}
	for i, p := range at {
		if dots&(1<<i) != 0 {
			s.disc(2.5+4*p.x, 3+4*p.y, 1.5)
		}
	}
}

// signs are those of the screen that Go Mono lacks, and a few that models like.
const signs = "❯▸▾✓✗⚑◦◉⋯⇥✔✖✅❌▶◀★⭐⚠〈〉"

func (s *shape) sign(r rune) {
	if !strings.ContainsRune(signs, r) {
		return
	}
	const x, y = midX + 0.5, midY + 0.5
	switch r {
	case '❯':
		s.line(1.8, point{2.2, 4}, point{6.6, y}, point{2.2, 15})
	case '▸', '▶':
		s.parts = append(s.parts, polygon{{2, 5}, {7.5, y}, {2, 14}})
	case '▾':
		s.parts = append(s.parts, polygon{{0.5, 7}, {8.5, 7}, {4.5, 12.5}})
	case '◀':
		s.parts = append(s.parts, polygon{{7, 5}, {7, 14}, {1.5, y}})
	case '✓', '✔', '✅':
		s.line(1.6, point{1.2, 10}, point{3.6, 13}, point{8, 5})
	case '✗', '✖', '❌':
		s.line(1.6, point{1.5, 5.5}, point{7.5, 13})
		s.line(1.6, point{7.5, 5.5}, point{1.5, 13})
	case '⚑':
		s.rect(2, 3, 3, 15)
		s.parts = append(s.parts, polygon{{3, 3.5}, {8, 6.2}, {3, 9}})
	case '◦':
		s.ring(x, y, 2, 1)
	case '◉':
		s.ring(x, y, 3.6, 1)
		s.disc(x, y, 2)
	case '⋯':
		for i := range 3 {
			s.disc(1.6+2.9*float64(i), y, 0.95)
		}
	case '★':
		s.star(x, y, 4.4)
	case '⭐':
		s.star(x, y, 7)
	case '〈': // in the second of its cells, as all opening brackets are
		s.line(1.2, point{11.5, 2}, point{7.5, y}, point{11.5, 17})
	case '〉':
		s.line(1.2, point{-2.5, 2}, point{1.5, y}, point{-2.5, 17})
	case '⚠':
		s.line(1, point{x, 4}, point{8.4, 13.5}, point{0.6, 13.5}, point{x, 4})
		s.rect(4, 7, 5, 11)
		s.rect(4, 12, 5, 13)
	case '⇥':
		s.line(1, point{0.5, y}, point{6.5, y})
		s.line(1, point{4, y - 3}, point{6.8, y}, point{4, y + 3})
		s.rect(7.5, 5, 8.5, 14)
	}
}

// star has five points.
func (s *shape) star(x, y, radius float64) {
	const points = 5
	p := make(polygon, 2*points)
	for i := range p {
		r := radius
		if i%2 == 1 {
			r *= 0.42
		}
		sin, cos := math.Sincos(math.Pi * (float64(i)/points - 0.5))
		p[i] = point{round(x + r*cos), round(y + r*sin)}
	}
	s.parts = append(s.parts, p)
}

// single gives the character of a cluster that is one, beside what chooses between its looks.
func single(cluster string) (rune, bool) {
	r, n := utf8.DecodeRuneInString(cluster)
	rest := cluster[n:]
	return r, n > 0 && (rest == "" || rest == "\uFE0E" || rest == "\uFE0F")
}

// placeholder stands where no font has the character: an empty frame, as wide as that.
func placeholder(width int) shape {
	s := shape{alpha: 255}
	w := float64(width * cellW)
	s.rect(1, 3, w-1, 4)
	s.rect(1, 14, w-1, 15)
	s.rect(1, 4, 2, 14)
	s.rect(w-2, 4, w-1, 14)
	s.rect(w/2-1, 8, w/2+1, 10)
	return s
}
