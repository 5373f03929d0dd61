package record

import (
	"bytes"
	"compress/lzw"
	"context"
	"image"
	"io"
	"time"
)

// tick is the unit of a GIF's times.
const tick = 10 * time.Millisecond

// maxDelay is the longest that one picture of a GIF can stay, in ticks.
const maxDelay = 65535

// writeGIF makes an animation of a cast. Of each picture only the rectangle that changed is written, and in that only the cells.
func writeGIF(ctx context.Context, src *source, w io.Writer, look Look, progress func(float64)) error {
	const survey = 0.3 // how much of the time the first run takes
	fonts, err := newFonts()
	if err != nil {
		return err
	}
	p := &painter{fonts: fonts, theme: look.Theme.filled(), frame: !look.NoFrame}
	all, err := p.survey(ctx, src, look, func(done float64) { progress(done * survey) })
	if err != nil {
		return err
	}
	f, err := src.film(look, func(done float64) { progress(survey + done*(1-survey)) })
	if err != nil {
		return err
	}
	g := &gifWriter{w: w, paint: p}
	if !all.full() {
		if colors := newPalette(all.list); colors.exact {
			g.shared = colors
		}
	}
	g.head()
	grids := &gridder{theme: p.theme, w: p.w, h: p.h}
	end, err := f.pictures(ctx, func(at time.Duration) error {
		g.show(at, grids.look(f.term))
		return g.err
	})
	if err != nil {
		return err
	}
	g.end(end, look.hold())
	if list := fonts.lacking(); list != "" && look.Missing != nil && g.err == nil {
		look.Missing(list)
	}
	return g.err
}

// hold is how long the last picture stays.
func (l Look) hold() time.Duration {
	switch {
	case l.Hold < 0:
		return 0
	case l.Hold == 0:
		return 2 * time.Second
	}
	return l.Hold
}

// survey runs through a cast for the largest size and the colours.
func (p *painter) survey(ctx context.Context, src *source, look Look, progress func(float64)) (*pairs, error) {
	f, err := src.film(look, progress)
	if err != nil {
		return nil, err
	}
	all := &pairs{}
	p.chrome(all)
	grids := &gridder{theme: p.theme, drawn: all.cell}
	_, err = f.pictures(ctx, func(time.Duration) error {
		p.w, p.h = max(p.w, f.w), max(p.h, f.h)
		if grids.w != f.w || grids.h != f.h {
			*grids = gridder{theme: p.theme, drawn: all.cell, w: f.w, h: f.h}
		}
		grids.look(f.term)
		return nil
	})
	return all, err
}

// gifWriter writes pictures as they come. Each is held until it is known how long it stays.
type gifWriter struct {
	w      io.Writer
	paint  *painter
	shared *palette // nil: each picture has its own
	err    error

	last  grid // the picture that is shown
	held  bytes.Buffer
	since int // when it is shown, in ticks
	room  []uint8
}

// write keeps the first error.
func (g *gifWriter) write(b []byte) {
	if g.err == nil {
		_, g.err = g.w.Write(b)
	}
}

func (g *gifWriter) head() {
	w, h := g.paint.size()
	head := []byte("GIF89a")
	head = append(head, byte(w), byte(w>>8), byte(h), byte(h>>8))
	if g.shared == nil {
		head = append(head, 0x70, 0, 0)
	} else {
		head = append(head, 0xf0|byte(bits(len(g.shared.colors)+1)-1), 0, 0)
		head = append(head, table(g.shared)...)
	}
	// It begins again for ever.
	head = append(head, "\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"...)
	g.write(head)
}

// bits is how many a number needs that is less than n.
func bits(n int) int {
	b := 1
	for 1<<b < n {
		b++
	}
	return b
}

// table is the colours of a palette and the one that is not drawn, filled to a power of two.
func table(p *palette) []byte {
	t := make([]byte, 3<<bits(len(p.colors)+1))
	for i, c := range p.colors {
		v := rgb(c)
		copy(t[3*i:], v[:])
	}
	return t
}

// show adds a picture, when it differs from the last. Where two parts of it changed, one follows the other after the shortest time
// that players keep to, which is less than that between two pictures.
func (g *gifWriter) show(at time.Duration, now grid) {
	first := g.last.cells == nil
	parts := []image.Rectangle{image.Rect(0, 0, now.w, now.h)}
	if !first {
		if parts = changed(g.last, now); len(parts) == 0 {
			g.last = now // what was looked at before does not hold for long
			return
		}
	}
	ticks := int(at / tick)
	for i, cells := range parts {
		if !first {
			g.release(ticks + i*leastDelay - g.since)
		}
		g.since = ticks + i*leastDelay
		g.part(cells, now, first)
	}
	g.last = now
}

// part draws what changed within a rectangle of cells, and holds it until its time is known.
func (g *gifWriter) part(cells image.Rectangle, now grid, first bool) {
	rect := image.Rect(cells.Min.X*cellW, cells.Min.Y*cellH, cells.Max.X*cellW, cells.Max.Y*cellH).Add(g.paint.origin())
	if first {
		w, h := g.paint.size()
		rect = image.Rect(0, 0, w, h)
	}
	colors := g.shared
	if colors == nil {
		colors = g.local(cells, now, first)
	}
	s := newSurface(g.room, rect, uint8(len(colors.colors)))
	g.room = s.pix
	if first {
		s.fill(rect, colors.ramp(pair{g.paint.theme.Ground, g.paint.theme.Ground})[0])
		if g.paint.frame {
			g.paint.window(&s, colors)
		}
	}
	for y := cells.Min.Y; y < cells.Max.Y; y++ {
		for x := cells.Min.X; x < cells.Max.X; x++ {
			if c := &now.cells[y*now.w+x]; c.width > 0 && (first || differs(g.last, now, x, y)) {
				g.paint.cell(&s, x, y, c, colors)
			}
		}
	}
	g.encode(s, colors)
}

// local is a palette for what one picture changes.
func (g *gifWriter) local(cells image.Rectangle, now grid, first bool) *palette {
	var all pairs
	if first {
		g.paint.chrome(&all)
	}
	for y := cells.Min.Y; y < cells.Max.Y; y++ {
		for x := cells.Min.X; x < cells.Max.X; x++ {
			if first || differs(g.last, now, x, y) {
				all.cell(&now.cells[y*now.w+x])
			}
		}
	}
	return newPalette(all.list)
}

// encode holds the picture's data until its time is known.
func (g *gifWriter) encode(s surface, colors *palette) {
	g.held.Reset()
	r, size := s.rect, bits(len(colors.colors)+1)
	d := []byte{0x2c, byte(r.Min.X), byte(r.Min.X >> 8), byte(r.Min.Y), byte(r.Min.Y >> 8), byte(r.Dx()), byte(r.Dx() >> 8), byte(r.Dy()), byte(r.Dy() >> 8), 0}
	if g.shared == nil {
		d[9] = 0x80 | byte(size-1)
		d = append(d, table(colors)...)
	}
	lit := max(2, size)
	g.held.WriteByte(byte(len(colors.colors))) // the colour that is not drawn: release takes it off
	g.held.Write(append(d, byte(lit)))
	blocks := &blockWriter{to: &g.held}
	z := lzw.NewWriter(blocks, lzw.LSB, lit)
	_, err := z.Write(s.pix)
	if e := z.Close(); err == nil {
		err = e
	}
	if g.err == nil {
		g.err = err
	}
	blocks.end()
}

// release writes the picture that was held, with the time for which it stays, in ticks.
func (g *gifWriter) release(ticks int) {
	held := g.held.Bytes()
	g.control(min(ticks, maxDelay), held[0])
	g.write(held[1:])
	for ticks -= maxDelay; ticks > 0; ticks -= maxDelay { // it stays longer: one pixel that is not drawn
		g.control(min(ticks, maxDelay), 0)
		g.write([]byte{0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 0, 2, 2, 0x44, 0x01, 0})
	}
}

// control writes for how long a picture stays, that it stays below the next, and which colour is not drawn.
func (g *gifWriter) control(ticks int, none byte) {
	g.write([]byte{0x21, 0xf9, 4, 1<<2 | 1, byte(ticks), byte(ticks >> 8), none, 0})
}

// leastDelay is the shortest time that players keep to, in ticks.
const leastDelay = 2

// end writes the last picture, which stays for hold after the end of the recording.
func (g *gifWriter) end(at, hold time.Duration) {
	ticks := int((at+hold+tick/2)/tick) - g.since
	g.release(max(ticks, leastDelay))
	g.write([]byte{0x3b})
}

// blockWriter cuts data into the blocks of a GIF, 255 bytes at most.
type blockWriter struct {
	to  *bytes.Buffer
	buf [256]byte
	n   int
}

func (b *blockWriter) Write(p []byte) (int, error) {
	for _, c := range p {
		b.n++
		b.buf[b.n] = c
		if b.n == 255 {
			b.flush()
		}
	}
	return len(p), nil
}

func (b *blockWriter) flush() {
	if b.n > 0 {
		b.buf[0] = byte(b.n)
		b.to.Write(b.buf[:b.n+1])
		b.n = 0
	}
}

// end writes what is left, and the block of no bytes that ends the data.
func (b *blockWriter) end() {
	b.flush()
	b.to.WriteByte(0)
}
