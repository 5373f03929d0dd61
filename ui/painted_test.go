package ui

import (
	"regexp"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"vitrine/ui/paint"
	"vitrine/ui/paint/termtest"
)

// painted are terminals on which our painter has drawn frame after frame: two kinds that count by cluster, and one that counts code
// point by code point.
type painted struct {
	p    *paint.Painter
	vt   *vt.Emulator
	core *termtest.Terminal
	wc   *termtest.Terminal
	w, h int
}

var titles = regexp.MustCompile(`\x1b\]2;[^\x07]*\x07`)

// paint draws the frame of now over those before it, and compares the terminals with the frame painted whole. While the terminal has
// not said how it counts, both ways must give the same.
func (d *driver) paint() {
	d.t.Helper()
	if d.w <= 0 || d.h <= 0 {
		return
	}
	s := &d.painted
	if s.p == nil {
		s.p, s.vt = paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor}), vt.NewEmulator(d.w, d.h)
		s.core, s.wc = termtest.New(termtest.Config{W: d.w, H: d.h}), termtest.New(termtest.Config{W: d.w, H: d.h, Wc: true})
	}
	method := ansi.WcWidth
	if d.m.env.style.Metrics.Grapheme {
		method = ansi.GraphemeWidth
	}
	s.p.SetMethod(method)
	if s.w != d.w || s.h != d.h {
		s.w, s.h = d.w, d.h
		s.vt.Resize(s.w, s.h)
		s.core.Resize(s.w, s.h)
		s.wc.Resize(s.w, s.h)
		s.p.Resize(s.w, s.h)
	}
	v := d.m.View()
	frame := s.p.Frame(v)
	_, _ = s.vt.Write(titles.ReplaceAll(frame, nil)) // it takes a byte of a Chinese character for the title's end
	_, _ = s.core.Write(frame)
	_, _ = s.wc.Write(frame)
	want := repaint(v.Content, s.w, s.h, method)
	bad := differs(want, s.vt.CellAt)
	if bad == "" {
		bad = differs(want, s.core.CellAt)
	}
	if bad == "" && method == ansi.WcWidth {
		bad = differs(want, s.wc.CellAt)
	}
	if bad != "" {
		d.t.Fatalf("%s\nafter %q", bad, frame)
	}
	if x, y, shown := s.core.Cursor(); v.Cursor != nil && (x != v.Cursor.X || y != v.Cursor.Y) || shown != (v.Cursor != nil) {
		d.t.Fatalf("the cursor is at %d,%d, shown %v", x, y, shown)
	}
}

// While a step works, ten frames a second turn five spinners and count four clocks beside rows of Chinese text. Nothing that stands
// still is written again.
func TestFramesOfWorkAreFewBytes(t *testing.T) {
	d := newDriver(t, 120, 40)
	id := d.id()
	d.f.mu.Lock()
	d.f.begin(id, "部署计划在星期五以前要写完，请把风险列出来")
	d.f.mu.Unlock()
	for range 60 {
		d.f.stream(id, "部署计划在星期五以前要写完，请把风险列出来。\n\n")
	}
	d.pass(2 * frameTime)
	d.paint()
	total := 0
	for range 20 {
		d.pass(phaseLength)
		total += len(d.painted.p.Frame(d.m.View()))
	}
	if mean := total / 20; mean == 0 || mean > 400 {
		t.Errorf("a frame takes %d bytes", mean)
	}
}
