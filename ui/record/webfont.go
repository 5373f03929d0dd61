package record

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	mathbits "math/bits"
	"slices"
	"strings"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"
)

// emUnits is the size of a made font, in its units: a 64th of a pixel each, as the outlines are given.
const emUnits = monoSize * 64

// vertex is a point of a contour; off the curve it pulls it, as TrueType has it.
type vertex struct {
	x, y fixed.Int26_6 // from the left edge of the cell and from the baseline, downwards
	on   bool
}

// outline is a character as closed contours.
type outline [][]vertex

// outline gives a character as letter draws it.
func (f *fonts) outline(r rune, g glyph) (outline, error) {
	c, left, embolden := f.choose(r, g)
	at, err := c.font.GlyphIndex(&f.buf, r)
	if err != nil {
		return nil, fmt.Errorf("find the outline of U+%04X: %w", r, err)
	}
	segments, err := c.font.LoadGlyph(&f.buf, at, fixed.I(c.size), nil)
	if err != nil {
		return nil, fmt.Errorf("read the outline of U+%04X: %w", r, err)
	}
	out := contours(segments, left)
	if embolden { // once more a pixel further: what lies over each other is one area
		out = append(out, contours(segments, left+64)...)
	}
	return out, nil
}

func contours(segments sfnt.Segments, left fixed.Int26_6) (o outline) {
	add := func(p fixed.Point26_6, on bool) {
		o[len(o)-1] = append(o[len(o)-1], vertex{p.X + left, p.Y, on})
	}
	for _, s := range segments {
		if s.Op == sfnt.SegmentOpMoveTo {
			o = append(o, nil)
		}
		switch s.Op {
		case sfnt.SegmentOpMoveTo, sfnt.SegmentOpLineTo:
			add(s.Args[0], true)
		case sfnt.SegmentOpQuadTo:
			add(s.Args[0], false)
			add(s.Args[1], true)
		}
	}
	for i, c := range o {
		if n := len(c); n > 1 && c[0] == c[n-1] { // contours close by themselves
			o[i] = c[:n-1]
		}
	}
	return slices.DeleteFunc(o, func(c []vertex) bool { return len(c) < 3 })
}

// webGlyph is a character of a made font.
type webGlyph struct {
	outline outline
	width   int8 // in cells
}

// webFont is a TrueType font of some characters, each as wide as its cells.
func webFont(glyphs map[rune]webGlyph) []byte {
	order := slices.Sorted(maps.Keys(glyphs))
	var glyf, loca, hmtx bytes.Buffer
	points, outlines := 0, 0
	put := func(o outline, width int8) {
		put32(&loca, glyf.Len())
		box := bounds(o)
		put16(&hmtx, int(width)*cellW*64, box[0])
		n := 0
		for _, c := range o {
			n += len(c)
		}
		points, outlines = max(points, n), max(outlines, len(o))
		writeGlyph(&glyf, o, box)
	}
	put(nil, 1) // what the font lacks
	for _, r := range order {
		put(glyphs[r].outline, glyphs[r].width)
	}
	put32(&loca, glyf.Len())
	n := len(order) + 1
	const up, down = baseline * 64, (cellH - baseline) * 64
	tables := map[string][]byte{
		"cmap": cmapTable(order), "glyf": glyf.Bytes(), "loca": loca.Bytes(), "hmtx": hmtx.Bytes(), "name": nameTable(),
		"head": binary16(1, 0, 1, 0, 0, 0, 0x5f0f, 0x3cf5, 0x000b, emUnits, 0, 0, 0, 0, 0, 0, 0, 0, 0, -down, 2*cellW*64, up, 0, 8, 2, 1, 0),
		"hhea": binary16(1, 0, up, -down, 0, 2*cellW*64, 0, 0, 2*cellW*64, 1, 0, 0, 0, 0, 0, 0, 0, n),
		"maxp": binary16(1, 0, n, points, outlines, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0),
		"post": binary16(3, 0, 0, 0, -64, 64, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
		"OS/2": binary16(4, cellW*64, 400, 5, 0, 500, 500, 0, 0, 500, 500, 0, 0, 64, 256, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x4e4f, 0x4e45, 0x40,
			min(int(first(order)), 0xffff), min(int(last(order)), 0xffff), up, -down, 0, up, down, 0, 0, 0, 0, up/2, up, 0, 0x20, 1),
	}
	return sfntFile(tables)
}

func first(order []rune) rune {
	if len(order) == 0 {
		return 0
	}
	return order[0]
}

func last(order []rune) rune {
	if len(order) == 0 {
		return 0
	}
	return order[len(order)-1]
}

// bounds are the least and the greatest place of an outline, upwards: left, bottom, right, top.
func bounds(o outline) (box [4]int) {
	for i, c := range o {
		for j, v := range c {
			x, y := int(v.x), -int(v.y)
			if i == 0 && j == 0 {
				box = [4]int{x, y, x, y}
			}
			box = [4]int{min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)}
		}
	}
	return box
}

// writeGlyph writes an outline, points as 16 bits each. Glyphs begin at multiples of four bytes.
func writeGlyph(w *bytes.Buffer, o outline, box [4]int) {
	if len(o) == 0 {
		return
	}
	put16(w, len(o), box[0], box[1], box[2], box[3])
	end := -1
	for _, c := range o {
		end += len(c)
		put16(w, end)
	}
	put16(w, 0) // no instructions
	var xs, ys bytes.Buffer
	x, y := 0, 0
	for _, c := range o {
		for _, v := range c {
			flag := byte(0)
			if v.on {
				flag = 1
			}
			w.WriteByte(flag)
			put16(&xs, int(v.x)-x)
			put16(&ys, -int(v.y)-y)
			x, y = int(v.x), -int(v.y)
		}
	}
	w.Write(xs.Bytes())
	w.Write(ys.Bytes())
	for w.Len()%4 != 0 {
		w.WriteByte(0)
	}
}

// cmapTable numbers the characters from 1 on, in order.
func cmapTable(order []rune) []byte {
	var b bytes.Buffer
	put16(&b, 0, 1, 3, 10)
	put32(&b, 12)
	put16(&b, 12, 0)
	put32(&b, 16+12*len(order), 0, len(order))
	for i, r := range order {
		put32(&b, int(r), int(r), i+1)
	}
	return b.Bytes()
}

// nameTable is the least that browsers ask for.
func nameTable() []byte {
	var b, text bytes.Buffer
	const name = "v"
	put16(&b, 0, 4, 6+4*12)
	for _, id := range []int{1, 2, 4, 6} {
		put16(&b, 3, 1, 0x409, id, 2*len(name), text.Len())
		for _, r := range name {
			put16(&text, int(r))
		}
	}
	return append(b.Bytes(), text.Bytes()...)
}

// sfntFile puts tables together.
func sfntFile(tables map[string][]byte) []byte {
	names := slices.SortedFunc(maps.Keys(tables), cmp.Compare)
	n := len(names)
	log := mathbits.Len(uint(n)) - 1
	var head, body bytes.Buffer
	put16(&head, 1, 0, n, 16<<log, log, 16*n-16<<log)
	at := 12 + 16*n
	headAt := 0
	for _, name := range names {
		data := tables[name]
		if name == "head" {
			headAt = at + body.Len()
		}
		head.WriteString(name)
		put32(&head, int(checksum(data)), at+body.Len(), len(data))
		body.Write(data)
		for body.Len()%4 != 0 {
			body.WriteByte(0)
		}
	}
	file := append(head.Bytes(), body.Bytes()...)
	binary.BigEndian.PutUint32(file[headAt+8:], 0xb1b0afba-checksum(file))
	return file
}

func checksum(data []byte) (sum uint32) {
	for len(data) >= 4 {
		sum += binary.BigEndian.Uint32(data)
		data = data[4:]
	}
	var rest [4]byte
	copy(rest[:], data)
	return sum + binary.BigEndian.Uint32(rest[:])
}

func binary16(values ...int) []byte {
	var b bytes.Buffer
	put16(&b, values...)
	return b.Bytes()
}

func put16(b *bytes.Buffer, values ...int) {
	for _, v := range values {
		b.Write([]byte{byte(v >> 8), byte(v)})
	}
}

func put32(b *bytes.Buffer, values ...int) {
	for _, v := range values {
		b.Write([]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
	}
}

// outlines gives a cluster of several characters as one, the marks over the letter, as render draws it.
func (f *fonts) outlines(g glyph) (all outline, err error) {
	runes := []rune(norm.NFC.String(g.text))
	if !f.drawable(runes) {
		runes = []rune(norm.NFD.String(g.text))
	}
	for i, r := range runes {
		switch {
		case invisible(r), i > 0 && isTone(r):
			continue
		case i > 0 && !f.has(r):
			f.missing[g.text] = true
			continue
		}
		o, err := f.outline(r, g)
		if err != nil {
			return nil, err
		}
		all = append(all, o...)
	}
	return all, nil
}

// path writes an outline for a cell.
func (o outline) path() string {
	var b strings.Builder
	px := func(v fixed.Int26_6) string { return number(float64(v) / 64) }
	at := func(v vertex) string { return px(v.x) + " " + px(v.y+baseline*64) }
	for _, c := range o {
		b.WriteString("M" + at(c[0]))
		for i := 1; i < len(c); i++ {
			if c[i].on {
				b.WriteString("L" + at(c[i]))
				continue
			}
			b.WriteString("Q" + at(c[i]) + " " + at(c[(i+1)%len(c)]))
			i++
		}
		b.WriteByte('z')
	}
	return b.String()
}
