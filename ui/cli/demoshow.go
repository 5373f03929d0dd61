package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/pflag"

	"vitrine/runtime/clock"
	"vitrine/ui/demo"
	"vitrine/ui/record"
	"vitrine/ui/theme"
)

// look registers how recordings look.
func (d *demoOptions) look(c *command, f *pflag.FlagSet) {
	f.StringVar(&d.theme, "theme", "dark", c.T("the colours of a recording: dark (the default), light or contrast"))
	f.Lookup("theme").DefValue = ""
	f.BoolVar(&d.noFrame, "no-frame", false, c.T("no window around a picture"))
}

// lookOf is what the flags say of it; progress and warnings go to standard error.
func (c *command) lookOf(d *demoOptions) (record.Look, error) {
	l := record.Look{NoFrame: d.noFrame, Missing: func(characters string) {
		c.err.line("%s", c.T("vitrine: no font has these characters, a frame stands for each: %s", characters))
	}}
	if c.proc.Err == Terminal {
		l.Progress = func(path string, done float64) {
			c.err.raw(fmt.Sprintf("\r%s %3.0f%%", path, 100*done))
			if done >= 1 {
				c.err.raw("\r" + ansi.EraseEntireLine)
			}
		}
	}
	switch name := theme.Name(d.theme); name {
	case theme.Dark, theme.Light, theme.Contrast:
		l.Theme = record.NewTheme(name)
	default:
		return l, &UsageError{What: fmt.Sprintf("--theme is %q", d.theme), Do: "allowed are dark, light and contrast"}
	}
	return l, nil
}

// showDemo plays in the terminal at the pace of a person. Esc, q and Ctrl+C leave it.
func (c *command) showDemo(ctx context.Context, play demo.Play, d *demoOptions) (err error) {
	if err := c.canDraw(); err != nil {
		return &UsageError{What: "a demo plays in a terminal", Do: "use --check or --record there"}
	}
	w, h := mostSize(play.Script)
	if c.proc.Columns > 0 && (c.proc.Columns < w || c.proc.Rows < h) {
		return &UsageError{
			What: fmt.Sprintf("%s needs a terminal of %dx%d, and this one has %dx%d", play.Script.Name, w, h, c.proc.Columns, c.proc.Rows),
			Do:   "make it larger, or use --record",
		}
	}
	ctx, leave := c.prog.Clock.WithCancel(ctx)
	defer leave()
	restore, err := c.takeTerminal(leave)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	p := &pacer{ctx: ctx, clk: c.prog.Clock, out: c.proc.Stdout, speed: d.speed, idle: d.idle}
	play.Output = p.write
	play.Resized = func(at time.Time, _, _ int) {
		p.write(at, ansi.ResetStyle+ansi.EraseEntireDisplay+ansi.CursorHomePosition)
	}
	if err := play.Run(ctx); err != nil {
		if ctx.Err() != nil && !c.stop.stopped() {
			return nil // a key
		}
		return err
	}
	_ = c.prog.Clock.Sleep(ctx, lastLook)
	return p.err
}

// lastLook is how long the last picture of a play stays.
const lastLook = 2 * time.Second

// mostSize is the largest size that the script has.
func mostSize(s demo.Script) (w, h int) {
	w, h = s.Width, s.Height
	for _, step := range s.Steps {
		w, h = max(w, step.Width), max(h, step.Height)
	}
	return w, h
}

// takeTerminal takes the terminal for the play: keys do not show on it, and one of them leaves.
func (c *command) takeTerminal(leave func()) (restore func() error, err error) {
	in, ok := c.proc.Stdin.(*os.File)
	if !ok {
		return nil, &UsageError{What: "a demo plays in a terminal", Do: "use --check or --record there"}
	}
	state, err := term.MakeRaw(in.Fd())
	if err != nil {
		return nil, fmt.Errorf("take the terminal for the demo: %w", err)
	}
	c.out.raw(ansi.SetModeAltScreenSaveCursor + ansi.HideCursor + ansi.EraseEntireDisplay + ansi.CursorHomePosition)
	c.prog.Clock.Go(func() { // it ends with the process: nothing ends a read from a terminal
		var key [16]byte
		for {
			n, err := in.Read(key[:])
			for _, b := range key[:n] {
				if b == 'q' || b == 3 || b == 27 {
					leave()
				}
			}
			if err != nil {
				return
			}
		}
	})
	return func() error {
		// A play that is left has not given back what it set.
		c.out.raw(ansi.ResetStyle + "\x1b[?7h" + ansi.ResetModeUnicodeCore + ansi.SetCursorStyle(0) + ansi.ShowCursor + ansi.ResetModeAltScreenSaveCursor)
		return term.Restore(in.Fd(), state)
	}, nil
}

// pacer writes the frames of a play at the times of a person.
type pacer struct {
	ctx   context.Context
	clk   clock.Clock
	out   io.Writer
	speed float64
	idle  time.Duration
	last  time.Time // of the play
	due   time.Time // when the last frame was due
	err   error
}

// write waits until it is time for a frame. Once left it does not wait any more, and writes nothing.
func (p *pacer) write(at time.Time, out string) {
	if p.due.IsZero() {
		p.last, p.due = at, p.clk.Now()
	}
	gap := at.Sub(p.last)
	if p.idle > 0 {
		gap = min(gap, p.idle)
	}
	p.last = at
	p.due = p.due.Add(time.Duration(float64(gap) / p.speed))
	if wait := p.due.Sub(p.clk.Now()); wait > 0 && p.clk.Sleep(p.ctx, wait) != nil || p.ctx.Err() != nil || p.err != nil {
		return
	}
	if _, err := io.WriteString(p.out, out); err != nil {
		p.err = &OutputError{Err: err}
	}
}
