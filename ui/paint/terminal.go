package paint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"vitrine/runtime/clock"
)

const (
	// pace is the least time between two frames that nobody waits for.
	pace = 8 * time.Millisecond
	// stuckAfter is how long leaving waits for a terminal that takes nothing any more.
	stuckAfter = time.Second
	// answerTime is how long a terminal may take to answer what it was asked; it is waited for at the end only, and only when the
	// program was shorter than askedTime.
	answerTime = 100 * time.Millisecond
	askedTime  = 2 * time.Second
	// rawBound bounds what waits to be written beside frames.
	rawBound = 8 << 20
)

// TerminalConfig is what a Terminal is made of. All fields but In and Env are needed.
type TerminalConfig struct {
	// In is where keys come from; nil, or what is no terminal, stays as it is.
	In      *os.File
	Out     io.Writer
	Clock   clock.Clock
	Painter PainterConfig
	// Env reads the environment; nil: os.Getenv.
	Env func(string) string
	// Painted is told of each frame after it was painted, with the terminal's size. It is called by one goroutine at a time; nil:
	// nobody is.
	Painted func(at time.Time, v tea.View, w, h int)
}

// Terminal is the user's terminal while the screen is on: it takes it over, paints frames on it from a goroutine of its own,
// always the newest one and never a queue of them, and gives it back as it was. Bubble Tea runs without its renderer beside it
// and hands its messages through Filter. It is safe for concurrent use.
type Terminal struct {
	cfg  TerminalConfig
	wake *clock.Queue[struct{}]
	done *clock.Group

	mu    sync.Mutex // guards what waits to be painted
	next  frame
	size  [2]int
	sized bool
	raw   []byte
	asked int // answers that are still to come
	can   struct{ sync, core bool }

	own     sync.Mutex // guards the painter and the terminal; held while something is written
	painter *Painter
	active  bool
	closed  bool
	saved   *term.State
	ahead   int // bytes typed before Start
	began   time.Time
	painted time.Time
	fault   error
}

// frame is a view that waits to be painted.
type frame struct {
	view        tea.View
	w, h        int
	there, soon bool
	// sized says that the terminal had another size meanwhile, and keeps of what it showed what it likes.
	sized bool
}

// NewTerminal makes a terminal that is not taken over yet.
func NewTerminal(cfg TerminalConfig) *Terminal {
	if cfg.Env == nil {
		cfg.Env = os.Getenv
	}
	return &Terminal{
		cfg: cfg, wake: clock.NewQueue[struct{}](cfg.Clock, 1), done: clock.NewGroup(cfg.Clock), painter: NewPainter(cfg.Painter),
	}
}

// Start takes the terminal over. What it can do is asked; its answers come as messages.
func (t *Terminal) Start() error {
	t.own.Lock()
	defer t.own.Unlock()
	if err := t.takeOver(); err != nil {
		return err
	}
	if t.saved != nil {
		t.ahead = typedAhead(t.cfg.In)
	}
	t.began = t.cfg.Clock.Now()
	if !t.cfg.Painter.Old {
		ask := ansi.RequestBackgroundColor
		t.asked = 1
		if answersModes(t.cfg.Env) {
			ask += ansi.RequestModeSynchronizedOutput + ansi.RequestModeUnicodeCore
			t.asked = 3
		}
		t.write([]byte(ask))
	}
	t.done.Go(t.loop)
	return nil
}

// OldTerminal says whether a terminal of this name knows no more than the VT220 did.
func OldTerminal(name string) bool {
	return len(name) > 2 && strings.HasPrefix(name, "vt") && name[2] >= '0' && name[2] <= '9' || strings.HasPrefix(name, "ansi")
}

// KnowsLinks says whether the terminal is known to open links (OSC 8), by what it tells of itself in the environment. Some that do not
// show them as text.
func KnowsLinks(env func(string) string) bool {
	name, program := env("TERM"), env("TERM_PROGRAM")
	if env("TMUX") != "" || env("STY") != "" {
		return false
	}
	for _, known := range []string{"kitty", "alacritty", "foot", "ghostty", "wezterm", "rio", "contour"} {
		if strings.Contains(name, known) {
			return true
		}
	}
	switch program {
	case "iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby":
		return true
	}
	return env("VTE_VERSION") != "" || env("WT_SESSION") != "" || env("KONSOLE_VERSION") != "" || env("DOMTERM") != ""
}

// answersModes says whether the terminal can be asked about modes: some show the question as text, and over slow lines the answer
// comes when nobody waits for it any more.
func answersModes(env func(string) string) bool {
	program, name := env("TERM_PROGRAM"), env("TERM")
	for _, known := range []string{"ghostty", "wezterm", "alacritty", "kitty", "rio"} {
		if strings.Contains(name, known) {
			return true
		}
	}
	if env("WT_SESSION") != "" {
		return true
	}
	return env("SSH_TTY") == "" && !strings.Contains(program, "Apple")
}

// takeOver makes keys come one by one.
func (t *Terminal) takeOver() error {
	if t.cfg.In != nil && term.IsTerminal(t.cfg.In.Fd()) {
		saved, err := term.MakeRaw(t.cfg.In.Fd())
		if err != nil {
			return fmt.Errorf("take the keys of the terminal: %w", err)
		}
		t.saved = saved
	}
	t.active = true
	return nil
}

// TypedAhead is how many bytes were typed before the terminal was started and wait to be read: see Keys.
func (t *Terminal) TypedAhead() int { return t.ahead }

// Show gives the newest frame. One that is needed soon, since a key or a size led to it, is painted at once, any other at most
// every 8 ms. It does not wait for the terminal.
func (t *Terminal) Show(v tea.View, soon bool) {
	t.mu.Lock()
	t.next = frame{view: v, w: t.size[0], h: t.size[1], there: true, soon: soon || t.next.there && t.next.soon, sized: t.sized || t.next.sized}
	t.sized = false
	t.mu.Unlock()
	t.wake.TryPut(struct{}{})
}

// Filter takes from the messages of Bubble Tea what is the terminal's, before they are handled; nil stands for one that was taken
// whole.
func (t *Terminal) Filter(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		t.mu.Lock()
		t.size, t.sized = [2]int{msg.Width, msg.Height}, true
		t.mu.Unlock()
	case tea.RawMsg:
		t.pass(fmt.Sprint(msg.Msg))
		return nil
	case tea.BackgroundColorMsg:
		t.answered()
	case tea.ModeReportMsg:
		t.answered()
		t.mode(msg)
	case tea.SuspendMsg:
		t.note(t.Release())
	case tea.ResumeMsg:
		t.note(t.Restore())
	default:
		// The library does not export the message of a copy, and would write it a second later.
		if v := reflect.ValueOf(msg); v.Kind() == reflect.String && v.Type().String() == "tea.setClipboardMsg" {
			t.pass(ansi.SetSystemClipboard(v.String()))
			return nil
		}
	}
	return msg
}

// mode takes what the terminal says that it can do; the next frame heeds it. It does not wait for a frame that is being written.
func (t *Terminal) mode(msg tea.ModeReportMsg) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch msg.Mode {
	case ansi.ModeSynchronizedOutput:
		t.can.sync = msg.Value == ansi.ModeReset || msg.Value == ansi.ModeSet
	case ansi.ModeUnicodeCore:
		t.can.core = t.can.core || msg.Value == ansi.ModeReset || msg.Value == ansi.ModeSet || msg.Value == ansi.ModePermanentlySet
	}
}

func (t *Terminal) answered() {
	t.mu.Lock()
	t.asked--
	t.mu.Unlock()
}

// pass writes a sequence between two frames. Of those an old terminal gets what it knows.
func (t *Terminal) pass(seq string) {
	if t.cfg.Painter.Old && strings.Contains(seq, "\x1b]") {
		return
	}
	t.mu.Lock()
	if len(t.raw)+len(seq) <= rawBound {
		t.raw = append(t.raw, seq...)
	}
	t.next.soon = true
	t.mu.Unlock()
	t.wake.TryPut(struct{}{})
}

// loop paints until the terminal is given back.
func (t *Terminal) loop() {
	ctx := context.Background()
	for {
		if _, err := t.wake.Get(ctx); err != nil {
			return
		}
		for wait := t.wait(); wait > 0; wait = t.wait() {
			until, cancel := t.cfg.Clock.WithTimeout(ctx, wait)
			_, err := t.wake.Get(until)
			cancel()
			if errors.Is(err, clock.ErrClosed) {
				return
			}
		}
		t.paint()
	}
}

// wait is how long the next frame has time.
func (t *Terminal) wait() time.Duration {
	t.mu.Lock()
	soon := t.next.soon
	t.mu.Unlock()
	if soon {
		return 0
	}
	return pace - t.cfg.Clock.Now().Sub(t.painted)
}

// paint writes what waits.
func (t *Terminal) paint() {
	t.own.Lock()
	defer t.own.Unlock()
	if !t.active {
		return // it waits for Restore
	}
	t.mu.Lock()
	f, raw, can := t.next, t.raw, t.can
	t.next, t.raw = frame{view: f.view, w: f.w, h: f.h}, nil
	t.mu.Unlock()
	t.write(raw)
	if !f.there {
		return
	}
	t.painter.SetSync(can.sync)
	if can.core {
		t.painter.SetMethod(ansi.GraphemeWidth)
	}
	t.painted = t.cfg.Clock.Now()
	if w, h := t.painter.Size(); f.sized || w != f.w || h != f.h {
		t.painter.Resize(f.w, f.h)
	}
	t.write(t.painter.Frame(f.view))
	if t.cfg.Painted != nil {
		t.cfg.Painted(t.painted, f.view, f.w, f.h)
	}
}

// write brings all of b to the terminal. A terminal that is gone ends the program by a signal; until then nothing is written.
func (t *Terminal) write(b []byte) {
	if len(b) == 0 || t.fault != nil {
		return
	}
	for tries := 0; len(b) > 0; tries++ {
		n, err := t.cfg.Out.Write(b)
		b = b[n:]
		if err == nil || errors.Is(err, io.ErrShortWrite) {
			continue
		}
		// Another program may have made the terminal one that does not wait.
		if !busy(err) || tries > int(stuckAfter/pace)*60 || t.cfg.Clock.Sleep(context.Background(), pace) != nil {
			t.fault = fmt.Errorf("write to the terminal: %w", err)
			return
		}
	}
}

// note keeps what went wrong for Close.
func (t *Terminal) note(err error) {
	if err == nil {
		return
	}
	t.own.Lock()
	defer t.own.Unlock()
	t.fault = errors.Join(t.fault, err)
}

// Release gives the terminal back for a while: to the shell, or to the user's editor.
func (t *Terminal) Release() error {
	t.own.Lock()
	defer t.own.Unlock()
	return t.giveBack()
}

func (t *Terminal) giveBack() error {
	if !t.active {
		return nil
	}
	t.active = false
	t.write(t.painter.Leave())
	return t.uncook()
}

// uncook makes the terminal collect lines again, as it did before.
func (t *Terminal) uncook() error {
	if t.saved == nil {
		return nil
	}
	if err := term.Restore(t.cfg.In.Fd(), t.saved); err != nil {
		return fmt.Errorf("give the terminal back: %w", err)
	}
	return nil
}

// Restore takes the terminal over again, also when it was not given back but another program changed it meanwhile, and paints all
// of it.
func (t *Terminal) Restore() error {
	t.own.Lock()
	defer t.own.Unlock()
	if t.closed {
		return nil
	}
	saved := t.saved
	if err := t.takeOver(); err != nil {
		return err
	}
	t.saved = either(saved, t.saved)
	t.write(t.painter.Leave()) // so that it enters again, and nothing is set twice
	t.mu.Lock()
	t.next.there, t.next.soon = true, true
	t.mu.Unlock()
	t.wake.TryPut(struct{}{})
	return nil
}

func either(a, b *term.State) *term.State {
	if a != nil {
		return a
	}
	return b
}

// Close gives the terminal back and ends the painting. It may be called twice. A terminal that takes nothing any more is given
// back without what would have to be written to it.
func (t *Terminal) Close() error {
	t.wake.Close()
	ctx, cancel := t.cfg.Clock.WithTimeout(context.Background(), stuckAfter)
	defer cancel()
	if err := t.done.Wait(ctx); err != nil {
		return errors.Join(fmt.Errorf("the terminal takes nothing any more: %w", err), t.uncook())
	}
	t.own.Lock()
	defer t.own.Unlock()
	t.closed = true
	t.mu.Lock()
	raw := t.raw
	t.raw = nil
	t.mu.Unlock()
	if t.active {
		t.write(raw) // such as a copy made just before
	}
	err := t.giveBack()
	t.mu.Lock()
	asked := t.asked
	t.mu.Unlock()
	if asked > 0 && t.saved != nil && t.cfg.Clock.Now().Sub(t.began) < askedTime {
		_ = t.cfg.Clock.Sleep(context.Background(), answerTime) // nothing ends it
		forgetInput(t.cfg.In)
	}
	return errors.Join(t.fault, err)
}
