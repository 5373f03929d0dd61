package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"vitrine/runtime/clock"
	"vitrine/trace/rotate"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// framesPerSecond is how often Bubble Tea's own renderer looks for a new frame: a key is seen within 8 ms.
const framesPerSecond = 120

// ErrTerminal: the terminal cannot show the screen.
var ErrTerminal = errors.New("the screen needs a terminal that can place the cursor")

// Run shows the screen until the user leaves, a signal asks to end, or ctx is done. It leaves the terminal as it was,
// whatever happened, and shuts the engine down: runs that a signal or a fault interrupts are left to be resumed. A fault
// of ours comes back as *PanicError.
func Run(ctx context.Context, opts Options) error {
	return run(ctx, opts, func(m tea.Model) tea.Model { return m })
}

func run(ctx context.Context, opts Options, wrap func(tea.Model) tea.Model) error {
	opts = opts.withDefaults()
	if err := usable(opts.Env("TERM")); err != nil {
		return err
	}
	ending, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	early, stopEarly := signal.NotifyContext(ctx, os.Interrupt) // until the model watches, and for no gap where it does again
	defer stopEarly()
	m := New(opts)
	defer m.Close()
	m.env.ending, m.env.early = ending, early
	m.env.themed(func(o *theme.Options) { o.ASCII, o.NoLinks = asciiOnly(opts.Env), !paint.KnowsLinks(opts.Env) })
	m.terminal(sizeOf(opts)) // the first frame is whole; Update's commands would be lost here
	g := &guard{inner: wrap(m)}
	err := show(ctx, opts, m, g)
	if g.fault != nil {
		g.fault.Path, g.fault.logErr = logPanic(opts, g.fault)
		err = g.fault
	} else if ctx.Err() != nil {
		err = nil // who ended ctx knows why
	}
	if g.fault != nil && g.fault.Where == inBackground {
		return err // a part that the engine would wait for may be gone; the store survives the end of the process
	}
	if shut := m.shutDown(); err == nil {
		err = shut
	}
	if line := m.Farewell(); line != "" && err == nil {
		fmt.Fprintln(opts.Output, line)
	}
	if err != nil && g.fault == nil {
		return fmt.Errorf("leave the screen: %w", err)
	}
	return err
}

// Prepare makes what the first frame needs once for the process, for who has something else to wait for meanwhile: the table of the
// widths of signs, which is the library's, takes a twentieth of a start. It may run beside anything.
func Prepare() { _ = paint.Metrics{}.Width("部") }

// show runs the screen on the terminal until it ends, and gives the terminal back.
func show(ctx context.Context, opts Options, m *Model, g *guard) (err error) {
	keys := &paint.Keys{File: opts.Input, Clock: opts.Clock}
	if opts.Stock || !paint.Own {
		var in io.Reader = opts.Input
		if paint.Own { // other consoles are the library's own affair
			in = keys
		}
		p := tea.NewProgram(g, append(stockOptions(opts.Clock), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(opts.Output))...)
		_, err := p.Run()
		// A first frame may have hidden the cursor on the main screen, before the other one was entered.
		_, _ = io.WriteString(opts.Output, ansi.ShowCursor)
		return err
	}
	env := append(os.Environ(), "TERM="+opts.Env("TERM"))
	profile := colorprofile.Detect(opts.Output, env)
	t := paint.NewTerminal(paint.TerminalConfig{
		In: opts.Input, Out: opts.Output, Clock: opts.Clock, Env: opts.Env,
		Painter: paint.PainterConfig{Profile: profile, Plain: strings.HasPrefix(opts.Env("TERM"), "screen"), Old: paint.OldTerminal(opts.Env("TERM"))},
		Painted: m.Painted,
	})
	m.env.terminal = t
	defer func() { err = errors.Join(err, m.endRecording()) }()
	p := tea.NewProgram(g, append(ownOptions(opts.Clock, t, g), tea.WithContext(ctx), tea.WithInput(keys),
		tea.WithColorProfile(profile), tea.WithWindowSize(m.w, m.h))...)
	if err := t.Start(); err != nil {
		return errors.Join(err, t.Close())
	}
	keys.Ahead = t.TypedAhead()
	stop := t.Watch(p.Send)
	_, err = p.Run()
	err = errors.Join(err, t.Close()) // first: the watch may wait for a terminal that takes nothing
	stop()
	return err
}

// sizeOf is the terminal's size. One that does not know its own is taken to be as large as the environment says, or 80x24.
func sizeOf(opts Options) tea.WindowSizeMsg {
	w, h, err := term.GetSize(opts.Output.Fd())
	if err == nil && w > 0 && h > 0 {
		return tea.WindowSizeMsg{Width: w, Height: h}
	}
	return tea.WindowSizeMsg{Width: positive(opts.Env("COLUMNS"), 80), Height: positive(opts.Env("LINES"), 24)}
}

// positive is a number above zero, or other.
func positive(text string, other int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return other
}

// stockOptions are those of a program that Bubble Tea paints, but for its terminal.
func stockOptions(clk clock.Clock) []tea.ProgramOption {
	gate := &sizeGate{clk: clk}
	return []tea.ProgramOption{tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(), tea.WithFilter(gate.filter)}
}

// ownOptions are those of a program that t paints. Bubble Tea's ticker, which cannot be switched off, has then nothing to do.
func ownOptions(clk clock.Clock, t *paint.Terminal, g *guard) []tea.ProgramOption {
	gate := &sizeGate{clk: clk}
	g.show = t.Show
	filter := func(m tea.Model, msg tea.Msg) tea.Msg {
		if msg = gate.filter(m, msg); msg != nil {
			msg = t.Filter(msg)
		}
		return msg
	}
	return []tea.ProgramOption{tea.WithoutRenderer(), tea.WithFPS(1), tea.WithoutSignalHandler(), tea.WithFilter(filter), tea.WithOutput(io.Discard)}
}

// shutDown ends the engine when the model did not come to it; runs are left to be resumed.
func (m *Model) shutDown() error {
	if m.quit.done {
		return m.quit.err
	}
	ctx, cancel := m.env.clk.WithTimeout(context.Background(), saveWithin)
	defer cancel()
	return m.env.opts.Agent.Shutdown(ctx, true)
}

// usable refuses terminals that cannot place the cursor. An empty TERM is usual on Windows only.
func usable(name string) error {
	if name == "dumb" || name == "" && goruntime.GOOS != "windows" {
		return fmt.Errorf("%w, and TERM is %q; vitrine run \"...\" works in any", ErrTerminal, name)
	}
	return nil
}

// asciiOnly is true where the braille signs would not be shown: the Linux console, old terminals, and a locale without UTF-8.
func asciiOnly(env func(string) string) bool {
	if env("TERM") == "linux" || paint.OldTerminal(env("TERM")) {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}

// logPanic appends the stack to the log and gives its path.
func logPanic(opts Options, f *PanicError) (string, error) {
	path := opts.LogPath
	if path == "" {
		path = filepath.Join(os.TempDir(), "vitrine.log")
	}
	text := fmt.Sprintf("%s panic in %s: %v\n%s\n", opts.Clock.Now().UTC().Format(time.RFC3339), f.Where, f.Value, f.Stack)
	return path, rotate.AppendLog(opts.Clock, path, text)
}
