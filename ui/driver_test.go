package ui

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"vitrine/runtime/clock"
)

var update = flag.Bool("update", false, "write the golden screens anew")

var start = time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)

// driver plays the screen without a terminal: it calls Init, Update and View itself, runs commands as participants of the
// simulated clock, and draws each frame into cells as the renderer would.
type driver struct {
	t      testing.TB
	sim    *clock.Sim
	f      *fake
	m      *Model
	mu     sync.Mutex
	msgs   []tea.Msg
	method ansi.Method
	quit   bool
	clip   string
	raw    string // what was written to the terminal beside frames
	w, h   int
	frames func(content string) // called for each frame that differs
	last   string
	painted
}

func newDriver(t testing.TB, w, h int, change ...func(*Options, *fake)) *driver {
	t.Helper()
	sim := clock.NewSim(start)
	f := newFake(sim)
	opts := Options{Agent: f, Library: f, Finder: f, Drafts: f, Feed: f, Clock: sim, User: "ann", Model: "gpt-4o-mini", Folder: "~/work/relay",
		Limits: Limits{Steps: 8, Calls: 20, Tokens: 100000}, Env: func(string) string { return "" }}
	for _, c := range change {
		c(&opts, f)
	}
	d := drive(t, sim, opts, w, h)
	d.f = f
	return d
}

// drive starts a screen over any engine.
func drive(t testing.TB, sim *clock.Sim, opts Options, w, h int) *driver {
	t.Helper()
	d := &driver{t: t, sim: sim, m: New(opts), method: ansi.GraphemeWidth}
	t.Cleanup(func() {
		d.m.Close()
		sim.Settle()
	})
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	d.send(tea.ColorProfileMsg{Profile: colorprofile.TrueColor})
	d.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	d.run(d.m.Init())
	d.settle()
	return d
}

func (d *driver) post(msg tea.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.msgs = append(d.msgs, msg)
}

// run starts a command as a participant.
func (d *driver) run(c tea.Cmd) {
	if c == nil {
		return
	}
	d.sim.Go(func() { d.took(c()) })
}

// took handles what a command brought, as Bubble Tea does.
func (d *driver) took(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
		return
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
		return
	case tea.QuitMsg:
		d.mu.Lock()
		d.quit = true
		d.mu.Unlock()
		return
	case tea.RawMsg:
		d.mu.Lock()
		d.raw += fmt.Sprint(msg.Msg)
		d.mu.Unlock()
	}
	// The clipboard's message is not exported; it is a string.
	if v := reflect.ValueOf(msg); v.Kind() == reflect.String && strings.Contains(v.Type().String(), "lipboard") {
		d.mu.Lock()
		d.clip = v.String()
		d.mu.Unlock()
		return
	}
	d.post(msg)
}

func (d *driver) send(msgs ...tea.Msg) {
	for _, msg := range msgs {
		if s, ok := msg.(tea.WindowSizeMsg); ok {
			d.w, d.h = s.Width, s.Height
		}
		d.busy(true)
		_, cmd := d.m.Update(msg)
		d.frame()
		d.busy(false)
		d.run(cmd)
	}
}

// busy says whether Update or View is at work.
func (d *driver) busy(on bool) {
	if d.f != nil {
		d.f.ui.Store(on)
	}
}

func (d *driver) frame() {
	content := d.m.View().Content
	if content != d.last && d.frames != nil {
		d.frames(content)
	}
	d.last = content
}

// settle runs all that is ready, without moving time.
func (d *driver) settle() {
	for {
		d.sim.Settle()
		d.mu.Lock()
		msgs := d.msgs
		d.msgs = nil
		d.mu.Unlock()
		if len(msgs) == 0 {
			return
		}
		d.send(msgs...)
	}
}

// pass lets time go by.
func (d *driver) pass(dur time.Duration) {
	end := d.sim.Now().Add(dur)
	for {
		d.settle()
		next, ok := d.sim.Next()
		if !ok || next.After(end) {
			d.sim.Advance(end.Sub(d.sim.Now()))
			d.settle()
			return
		}
		d.sim.Advance(next.Sub(d.sim.Now()))
	}
}

// short lets what is under way arrive on the screen.
func (d *driver) short() { d.pass(50 * time.Millisecond) }

// press sends keys by name, and settles after each.
func (d *driver) press(names ...string) {
	for _, n := range names {
		d.send(keyOf(n))
		d.settle()
	}
}

// typed sends text as keys.
func (d *driver) typed(text string) {
	for _, r := range text {
		if r == ' ' {
			d.send(tea.KeyPressMsg{Code: tea.KeySpace, Text: " "})
		} else {
			d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	d.settle()
}

func (d *driver) enter(text string) {
	d.typed(text)
	d.press("enter")
	d.short()
}

func (d *driver) resize(w, h int) { d.send(tea.WindowSizeMsg{Width: w, Height: h}) }

func keyOf(name string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	rest := name
	for {
		mod, after, ok := strings.Cut(rest, "+")
		if !ok || after == "" {
			break
		}
		switch mod {
		case "ctrl":
			k.Mod |= tea.ModCtrl
		case "alt":
			k.Mod |= tea.ModAlt
		case "shift":
			k.Mod |= tea.ModShift
		}
		rest = after
	}
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "space": tea.KeySpace}
	if c, ok := special[rest]; ok {
		k.Code = c
		if rest == "space" {
			k.Text = " "
		}
		return k
	}
	k.Code = []rune(rest)[0]
	if k.Mod&^tea.ModShift == 0 {
		k.Text = rest
	}
	return k
}

// grid draws the frame of now into cells, as the renderer does, and gives its rows without styles.
func (d *driver) grid() []string { return d.draw(d.m.View().Content, d.w, d.h) }

func (d *driver) draw(content string, w, h int) []string {
	buf := uv.NewScreenBuffer(w, h)
	buf.Method = d.method
	uv.NewStyledString(content).Draw(buf, buf.Bounds())
	rows := make([]string, h)
	for y := range rows {
		rows[y] = strings.TrimRight(buf.Line(y).String(), " ")
	}
	return rows
}

func (d *driver) screen() string { return strings.Join(d.grid(), "\n") + "\n" }

// sees fails unless the screen holds the text.
func (d *driver) sees(texts ...string) {
	d.t.Helper()
	s := d.screen()
	for _, text := range texts {
		if !strings.Contains(s, text) {
			d.t.Fatalf("the screen does not show %q:\n%s", text, s)
		}
	}
}

func (d *driver) seesNot(texts ...string) {
	d.t.Helper()
	s := d.screen()
	for _, text := range texts {
		if strings.Contains(s, text) {
			d.t.Fatalf("the screen shows %q:\n%s", text, s)
		}
	}
}

// status is the last row.
func (d *driver) status() string {
	g := d.grid()
	return g[len(g)-1]
}

// straight fails when a row is not as wide as the screen, or there are too many.
func (d *driver) straight(content string) {
	d.t.Helper()
	if d.w <= 0 || d.h <= 0 {
		if content != "" {
			d.t.Fatalf("a screen of %dx%d shows %q", d.w, d.h, content)
		}
		return
	}
	rows := strings.Split(content, "\n")
	if len(rows) > d.h {
		d.t.Fatalf("%d rows on a screen of %dx%d", len(rows), d.w, d.h)
	}
	for y, r := range rows {
		if n := d.m.env.style.Metrics.Width(r); n > d.w || n < d.w && len(rows) == d.h {
			d.t.Fatalf("row %d of %dx%d is %d wide: %q", y, d.w, d.h, n, r)
		}
	}
}

func (d *driver) id() string { return d.m.page().id }
