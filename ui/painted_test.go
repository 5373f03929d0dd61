package ui

import (
	"regexp"
	"testing"
	"time"

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

// counted paints each frame, and counts the bytes.
func (d *driver) counted() *int {
	p := paint.NewPainter(paint.PainterConfig{Profile: colorprofile.TrueColor})
	p.SetMethod(d.method)
	p.SetSync(true)
	p.Resize(d.w, d.h)
	p.Frame(d.m.View())
	n := new(int)
	d.frames = func(string) { *n += len(p.Frame(d.m.View())) }
	return n
}

// A reply of 100 tokens a second is less than 16 KB a second for the terminal in English and 50 KB in Chinese, with trace and todos
// beside it and the chat full of it; when nothing happens any more nothing is written.
func TestBytesOfAStream(t *testing.T) {
	for name, c := range map[string]struct {
		token string
		most  int
	}{
		"english": {"word ", 16 << 10}, "chinese": {"部署", 50 << 10}, "chinese markdown": {"- **部署** 计划 `x`\n", 50 << 10},
	} {
		d := newDriver(t, 120, 40)
		id := d.id()
		d.f.mu.Lock()
		d.f.begin(id, "部署计划在星期五以前要写完，请把风险列出来")
		d.f.mu.Unlock()
		d.f.todo(id, "给客户写邮件 👍🏽")
		for i := range 400 { // the chat is full before
			d.f.stream(id, c.token)
			if i%40 == 39 {
				d.f.stream(id, "\n\n")
			}
		}
		d.pass(time.Second)
		n := d.counted()
		const seconds = 5
		for i := range 100 * seconds {
			d.f.stream(id, c.token)
			if i%40 == 39 {
				d.f.stream(id, "\n\n")
			}
			d.pass(10 * time.Millisecond)
		}
		t.Logf("%s: %d bytes a second", name, *n/seconds)
		if got := *n / seconds; got == 0 || got > c.most {
			t.Errorf("%s: %d bytes a second", name, got)
		}
		d.f.answer(id)
		d.pass(10 * time.Second)
		*n = 0
		d.pass(10 * time.Minute)
		if *n != 0 {
			t.Errorf("%s: %d bytes are written while nothing happens", name, *n)
		}
	}
}

// While another tab works a frame beside rows of Chinese text is the light in the mark and its spinner: under 100 bytes.
func TestBytesOfASpinner(t *testing.T) {
	d := newDriver(t, 120, 40)
	id := d.id()
	d.enter("写")
	for range 60 {
		d.f.stream(id, "部署计划在星期五以前要写完，请把风险列出来。\n\n")
	}
	d.f.answer(id)
	d.press("ctrl+x", "n")
	d.short()
	d.enter("再来")
	d.press("alt+1")
	d.pass(10 * time.Second)
	n := d.counted()
	frames, inner := 0, d.frames
	d.frames = func(s string) { frames++; inner(s) }
	d.pass(2 * time.Second)
	if frames < 15 {
		t.Fatalf("%d frames in two seconds", frames)
	}
	t.Logf("%d bytes a frame", *n/frames)
	if got := *n / frames; got >= 100 {
		t.Errorf("a frame takes %d bytes", got)
	}
}
