// Package demo plays the screen without a terminal and without Bubble Tea's event loop, so that a play is deterministic: the
// same script gives the same bytes.
//
// A Driver stands where Bubble Tea stands for a person. It calls Init, Update and View of the root model itself, runs the
// commands as participants of a simulated clock, hands their messages back in order, draws frames through the
// painter of the program (ui/paint), and feeds the bytes to a terminal emulator (ui/emulator), which counts wide
// clusters as whole graphemes or code point by code point. What a terminal would show is a Screen. Time goes by only in
// Advance, Wait and the calls that type; so an hour of a session plays in a moment.
package demo

import (
	"fmt"
	"image/color"
	"reflect"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vitrine/runtime/clock"
	"vitrine/ui"
	"vitrine/ui/emulator"
	"vitrine/ui/paint"
)

// FrameTime is the least time between two frames: 120 a second, as in the program. A key takes as long.
const FrameTime = time.Second / 120

// Config is what a Driver is made of. Clock, Options, Width and Height are needed.
type Config struct {
	// Clock is also given to the screen, in the place of Options.Clock.
	Clock   *clock.Sim
	Options ui.Options
	// Width and Height are the size of the terminal at the start, in cells.
	Width, Height int
	// Profile is how many colours the terminal has; the zero value is true colour.
	Profile colorprofile.Profile
	// Grapheme makes a terminal that confirms mode 2027 and counts a cluster as one; else it counts code points.
	Grapheme bool
	// Light is the terminal's background.
	Light bool
	// Bare writes nothing but cells to Output, for a recording.
	Bare bool
	// Captions keeps the last row of the terminal for Caption; the program has the rows above it.
	Captions bool
	// Output gets what is written to the terminal for each frame, with the time. It may be nil.
	Output func(at time.Time, frame string)
}

// Driver plays one screen. It is used by the goroutine that drives the clock, and by no participant; only Screen may be
// called by others.
type Driver struct {
	cfg   Config
	clk   *clock.Sim
	model *ui.Model
	paint *paint.Painter
	term  *emulator.Terminal
	frame time.Time // when the last frame was painted
	count int       // of the frames painted so far

	caption string

	mu   sync.Mutex // guards what participants leave for the driver
	msgs []tea.Msg
	quit bool
	clip string
}

// New starts the screen on a terminal and settles: what can happen without time going by has happened.
func New(cfg Config) *Driver {
	if cfg.Profile == colorprofile.Unknown {
		cfg.Profile = colorprofile.TrueColor
	}
	cfg.Options.Clock = cfg.Clock
	if cfg.Options.Env == nil {
		cfg.Options.Env = func(string) string { return "" }
	}
	method := ansi.WcWidth
	if cfg.Grapheme {
		method = ansi.GraphemeWidth
	}
	d := &Driver{
		cfg: cfg, clk: cfg.Clock, model: ui.New(cfg.Options),
		paint: painterOf(cfg, method), term: emulator.New(cfg.Width, cfg.Height, method),
	}
	start := []tea.Msg{d.window(cfg.Width, cfg.Height), tea.ColorProfileMsg{Profile: cfg.Profile}}
	if cfg.Grapheme {
		start = append(start, tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	}
	d.paint.Resize(cfg.Width, cfg.Height)
	d.post(start...)
	d.run(d.model.Init())
	d.settle()
	return d
}

func painterOf(cfg Config, method ansi.Method) *paint.Painter {
	p := paint.NewPainter(paint.PainterConfig{Profile: cfg.Profile, Bare: cfg.Bare})
	p.SetMethod(method)
	return p
}

// Close ends what the screen waits for. The engine is not the Driver's to end, unless the user left.
func (d *Driver) Close() {
	d.model.Close()
	d.clk.Settle()
}

// Send hands messages to the screen as a terminal would, and settles. No time goes by.
func (d *Driver) Send(msgs ...tea.Msg) {
	d.post(msgs...)
	d.settle()
}

// Resize changes the terminal's size; one below 1x1 reaches the screen only, since no terminal has it.
func (d *Driver) Resize(w, h int) {
	d.term.Resize(w, h)
	d.paint.Resize(w, h)
	d.Send(d.window(w, h))
}

// window is the size that the program has of a terminal's.
func (d *Driver) window(w, h int) tea.WindowSizeMsg {
	if d.cfg.Captions {
		h = max(h-1, 1)
	}
	return tea.WindowSizeMsg{Width: w, Height: h}
}

// Caption writes the row under the program; empty takes it away. Without Config.Captions there is no such row.
func (d *Driver) Caption(text string) {
	d.caption = text
	d.settle()
}

// frameOf is the frame of now, with the row of captions.
func (d *Driver) frameOf() tea.View {
	v := d.model.View()
	if d.cfg.Captions {
		w, h := d.term.Size()
		v.Content = withCaption(v.Content, d.caption, w, h)
	}
	return v
}

// withCaption puts the row under the rows that the program drew.
func withCaption(content, caption string, w, h int) string {
	if h < 2 {
		return content
	}
	rows := strings.Split(content, "\n")
	for len(rows) < h-1 {
		rows = append(rows, "")
	}
	row := ansi.Truncate(" "+caption, w, "")
	row += strings.Repeat(" ", max(0, w-ansi.StringWidth(row)))
	if caption == "" {
		return strings.Join(append(rows[:h-1], row), "\n")
	}
	return strings.Join(append(rows[:h-1], "\x1b[1;7m"+row+"\x1b[0m"), "\n")
}

// Leave is what gives a terminal back that showed the output.
func (d *Driver) Leave() string { return string(d.paint.Leave()) }

// Front tells of the tab in front.
func (d *Driver) Front() ui.Front { return d.model.Front() }

// Type presses the keys of a text, one for each cluster and each a frame after the other. A line feed is Ctrl+J.
func (d *Driver) Type(text string) { d.TypeAt(text, func() time.Duration { return FrameTime }) }

// TypeAt is Type with a time of its own after each key.
func (d *Driver) TypeAt(text string, gap func() time.Duration) {
	for text != "" {
		cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		text = text[len(cluster):]
		k := tea.KeyPressMsg{Code: tea.KeyExtended, Text: cluster}
		switch r := []rune(cluster); {
		case cluster == "\n":
			k = tea.KeyPressMsg{Code: 'j', Mod: tea.ModCtrl}
		case len(r) == 1:
			k.Code = r[0]
		}
		d.Send(k)
		d.Advance(gap())
	}
}

// Press presses keys by their names, such as "enter", "ctrl+x", "alt+1" or "a", each a frame after the other. It panics at a
// name that means no key: a script is written by hand.
func (d *Driver) Press(names ...string) {
	for _, name := range names {
		k, err := Key(name)
		if err != nil {
			panic(err)
		}
		d.Send(k)
		d.Advance(FrameTime)
	}
}

// Paste pastes a text as a terminal does, in brackets.
func (d *Driver) Paste(text string) {
	d.Send(tea.PasteMsg{Content: text})
	d.Advance(FrameTime)
}

// Enter types a text and presses Enter.
func (d *Driver) Enter(text string) {
	d.Type(text)
	d.Press("enter")
}

// Advance lets time go by. It ends early when the user has left.
func (d *Driver) Advance(dur time.Duration) {
	d.until(d.clk.Now().Add(dur), func() bool { return d.Ended() })
}

// Show lets time go by until the terminal shows the frame of now, which may have been held back; at most a few frames.
func (d *Driver) Show() {
	for d.stale() && !d.Ended() {
		d.Advance(FrameTime)
	}
}

// Wait lets time go by until the screen shows the text, at most for limit. The error is a *TimeoutError.
func (d *Driver) Wait(limit time.Duration, text string) error {
	return d.WaitFor(limit, fmt.Sprintf("%q", text), func(s Screen) bool { return s.Has(text) })
}

// WaitFor lets time go by until ok is true of a painted screen, at most for limit; what says in a few words what is waited
// for. The error is a *TimeoutError.
func (d *Driver) WaitFor(limit time.Duration, what string, ok func(Screen) bool) error {
	seen, good := -1, false
	d.until(d.clk.Now().Add(limit), func() bool {
		if n := d.count; n != seen {
			seen, good = n, ok(d.Screen())
		}
		return good || d.Ended()
	})
	if !good && !ok(d.Screen()) {
		return &TimeoutError{What: what, Limit: limit, Ended: d.Ended(), Screen: d.Screen().String()}
	}
	return nil
}

// TimeoutError is what was waited for and did not come.
type TimeoutError struct {
	What  string
	Limit time.Duration
	// Ended is set when the user had left.
	Ended  bool
	Screen string
}

// Error shows the screen as it stood.
func (e *TimeoutError) Error() string {
	why := fmt.Sprintf("did not come within %v", e.Limit)
	if e.Ended {
		why = "did not come before the screen was left"
	}
	return fmt.Sprintf("%s %s; the screen shows:\n%s", e.What, why, e.Screen)
}

// Screen is what the terminal shows. It is safe for concurrent use.
func (d *Driver) Screen() Screen { return d.term.Screen() }

// Repaint is what a terminal of the same size would show if the frame of now were painted on it from nothing.
func (d *Driver) Repaint() Screen {
	w, h := d.term.Size()
	method := d.paint.Method()
	t := emulator.New(w, h, method)
	p := painterOf(d.cfg, method)
	p.Resize(w, h)
	t.Write(string(p.Frame(d.frameOf())))
	return t.Screen()
}

// View is the frame of now as the screen made it: styled rows, joined by line feeds.
func (d *Driver) View() string { return d.model.View().Content }

// Ended says that the user has left the screen.
func (d *Driver) Ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.quit
}

// Clipboard is the text that was copied last.
func (d *Driver) Clipboard() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clip
}

// Farewell is the line that the screen leaves on the terminal.
func (d *Driver) Farewell() string { return d.model.Farewell() }

// Now is the time of the play.
func (d *Driver) Now() time.Time { return d.clk.Now() }

// until lets time go by to end, or until stop is true between two events.
func (d *Driver) until(end time.Time, stop func() bool) {
	for d.settle(); !stop(); d.settle() {
		now := d.clk.Now()
		if !now.Before(end) {
			return
		}
		next := end
		if at, ok := d.clk.Next(); ok && at.Before(next) {
			next = at
		}
		// A frame that was held back is due before the next event.
		if due := d.frame.Add(FrameTime); d.stale() && now.Before(due) && due.Before(next) {
			next = due
		}
		d.clk.Advance(next.Sub(now))
	}
}

// settle runs all that is ready, hands messages over, and paints when a frame is due. No time goes by.
func (d *Driver) settle() {
	for {
		d.clk.Settle()
		d.mu.Lock()
		msgs := d.msgs
		d.msgs = nil
		d.mu.Unlock()
		if len(msgs) == 0 {
			break
		}
		for _, msg := range msgs {
			d.update(msg)
		}
	}
	if d.stale() && !d.clk.Now().Before(d.frame.Add(FrameTime)) {
		d.frame = d.clk.Now()
		d.count++
		v := d.frameOf()
		w, h := d.paint.Size()
		d.model.Painted(d.frame, v, w, h)
		out := string(d.paint.Frame(v))
		d.term.Write(out)
		if d.cfg.Output != nil && out != "" {
			d.cfg.Output(d.frame, out)
		}
	}
}

// stale says that the terminal does not show the frame of now.
func (d *Driver) stale() bool { return d.paint.Stale(d.frameOf()) }

// update hands a message to the model, as Bubble Tea does.
func (d *Driver) update(msg tea.Msg) {
	if d.Ended() {
		return
	}
	if _, left := msg.(tea.QuitMsg); left {
		d.mu.Lock()
		d.quit = true
		d.mu.Unlock()
		return
	}
	_, cmd := d.model.Update(msg)
	d.model.View() // Bubble Tea takes the frame after each message, and the model counts on it
	d.run(cmd)
}

func (d *Driver) post(msgs ...tea.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.msgs = append(d.msgs, msgs...)
}

// run starts a command as a participant.
func (d *Driver) run(cmd tea.Cmd) {
	if cmd != nil {
		d.clk.Go(func() { d.took(cmd()) })
	}
}

// took handles what a command brought. The types that Bubble Tea does not export are told by their names.
func (d *Driver) took(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
		return
	case tea.BatchMsg:
		for _, cmd := range msg {
			d.run(cmd)
		}
		return
	}
	v := reflect.ValueOf(msg)
	switch v.Type().String() {
	case "tea.sequenceMsg":
		for _, cmd := range v.Convert(reflect.TypeFor[[]tea.Cmd]()).Interface().([]tea.Cmd) {
			if cmd != nil {
				d.took(cmd())
			}
		}
		return
	case "tea.setClipboardMsg", "tea.setPrimaryClipboardMsg":
		d.mu.Lock()
		d.clip = v.String()
		d.mu.Unlock()
	case "tea.backgroundColorMsg":
		bg := color.Color(color.Black)
		if d.cfg.Light {
			bg = color.White
		}
		d.post(tea.BackgroundColorMsg{Color: bg})
	}
	d.post(msg)
}
