package cli

import (
	"context"
	"strings"

	"vitrine/runtime/config"
	"vitrine/ui"
)

// screen opens the terminal's screen.
func (c *command) screen(ctx context.Context, o *options) (err error) {
	cfg, err := c.load(o)
	if err != nil {
		return err
	}
	if err := c.canDraw(); err != nil {
		return err
	}
	c.prog.Clock.Go(ui.Prepare)
	app, err := c.prog.Open(ctx, cfg, c.prog.Clock, OpenOptions{Traffic: o.traffic})
	if err != nil {
		return err
	}
	defer func() { err = c.closeApp(app, err) }()
	c.warn(cfg)
	// The screen takes signals itself, to leave the terminal and its runs in order; a second one ends it at once.
	c.stop.onFirst(func() {})
	faults, closed := c.prog.Crash.screen()
	err = app.Screen(ctx, ScreenOptions{Session: o.session, Continue: o.goOn, Stock: o.renderer == rendererStock, Faults: faults, Hold: c.stop.hold, Lang: c.lang})
	closed()
	if c.stop.stopped() && (err == nil || ctx.Err() != nil) {
		return errInterrupted
	}
	return err
}

// canDraw refuses what is no terminal, or one that cannot place the cursor.
func (c *command) canDraw() error {
	const do = `use vitrine --plain or vitrine run "..." there`
	if c.proc.In != Terminal || c.proc.Out != Terminal {
		return &UsageError{What: "the screen needs a terminal as standard input and output", Do: do}
	}
	switch term := variable(c.proc.Environ, "TERM"); {
	case term == "dumb", term == "" && c.proc.NeedsTerm:
		return &UsageError{What: `the screen needs a terminal that can place the cursor, and TERM is "` + term + `"`, Do: do}
	}
	return nil
}

// warn tells of a setting without effect.
func (c *command) warn(cfg config.Config) {
	if w := cfg.Endpoint().Warning; w != "" {
		c.err.line("vitrine: %s", c.lang.Tell(w))
	}
}

// closeApp closes the app whatever happened and keeps the first error. After a panic in the background it does not: a part
// that others would wait for is gone, and the store survives the end of the process.
func (c *command) closeApp(app *App, err error) error {
	if c.prog.Crash.happened() {
		return err
	}
	ctx, cancel := c.prog.Clock.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if e := app.Close(ctx); err == nil && e != nil {
		return e
	}
	return err
}

func variable(environ []string, name string) string {
	value := ""
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value = v
		}
	}
	return value
}
