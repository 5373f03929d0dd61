package ui

import (
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"vitrine/ui/paint"
)

// painted is a terminal on which our painter has drawn frame after frame.
type painted struct {
	p    *paint.Painter
	emu  *vt.Emulator
	w, h int
}

// paint draws the frame of now over those before it, and compares the terminal with the frame painted whole.
func (d *driver) paint() {
	d.t.Helper()
	if d.method != ansi.GraphemeWidth || d.w <= 0 || d.h <= 0 {
		return // the emulator counts by cluster
	}
	s := &d.painted
	if s.p == nil {
		s.p, s.emu = paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor}), vt.NewEmulator(d.w, d.h)
		s.p.SetMethod(d.method)
	}
	if s.w != d.w || s.h != d.h {
		s.w, s.h = d.w, d.h
		s.emu.Resize(s.w, s.h)
		s.p.Resize(s.w, s.h)
	}
	v := d.m.View()
	frame := string(s.p.Frame(v))
	_, _ = s.emu.WriteString(frame)
	if bad := differs(repaint(v.Content, s.w, s.h, d.method), s.emu.CellAt); bad != "" {
		d.t.Fatalf("%s\nafter %q", bad, frame)
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
