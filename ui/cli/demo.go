package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vitrine/assets"
	"vitrine/ui/demo"
	"vitrine/ui/record"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// demoOptions are the flags of `vitrine demo`.
type demoOptions struct {
	list, check bool
	records     []string
	speed       float64
	idle        time.Duration
	theme       string
	noFrame     bool
}

// firstDemo is played when none is named.
const firstDemo = "acceptance"

const longDemo words.Text = `Play a demo: a script that types, waits and asserts, against the program itself. Without a name it is acceptance.

It plays in the terminal at the pace of a person; --check only asserts, as fast as it goes; --record writes what a terminal would
show, as asciicast (.cast), GIF (.gif), SVG (.svg) or the screens of all expects as text (.txt), and may be given several times.
Data goes to a temporary folder, and no key is used unless the script says live. A file of yours is played like a built-in demo;
"vitrine demo from ID" makes one of a session, and this is one too:

  [files]                     # what lies in the demo's folder
  "notes.txt" = "Read me."

  [[step]]
  enter = "read notes.txt"    # or type, paste, key = "ctrl+x n", caption, pause = "1s", resize = "80x24", restart, crash = true

  [[step]]
  wait = { state = "succeeded" }
  within = "10s"

  [[step]]
  expect = { answer = "Read me.", text = "notes.txt", pane = "chat", turns = 1 }

size, model, [config], [slow] and [[reply]] tables, with what the model says, stand before the steps. wait and expect look for text or
regexp (with pane, not), state, event (with fields), answer, todo (with done) and turns, all at once.`

func (c *command) demoCommand(o *options) *cobra.Command {
	d := &demoOptions{}
	cmd := &cobra.Command{
		Use: "demo [NAME|FILE]", Short: c.T("Play, check and record demo scripts"), Long: c.T(longDemo),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &UsageError{What: "one demo at a time", Do: "vitrine demo --list names the built-in ones"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.list {
				return c.listDemos()
			}
			name := firstDemo
			if len(args) == 1 {
				name = args[0]
			}
			return c.demo(cmd.Context(), o, d, name)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&d.list, "list", false, c.T("list the built-in demos"))
	f.BoolVar(&d.check, "check", false, c.T("only assert; nothing is shown but what fails"))
	f.StringArrayVar(&d.records, "record", nil, c.T("write a recording: FILE.cast, .gif, .svg or .txt"))
	f.Float64Var(&d.speed, "speed", 1, c.T("how much faster than a person, 0.1 to 100, in recordings too"))
	f.DurationVar(&d.idle, "idle", 0, c.T("the longest pause, such as 2s (default: as the script has it)"))
	d.look(c, f)
	cmd.AddCommand(c.demoExport(o), c.demoFrom(o))
	return cmd
}

// listDemos prints what can be played.
func (c *command) listDemos() error {
	for _, name := range demoNames() {
		s, err := builtinDemo(name)
		if err != nil {
			return err
		}
		c.out.line("%-12s %s", name, s.About)
	}
	return c.out.err
}

func demoNames() (names []string) {
	entries, err := fs.ReadDir(assets.Demos(), ".")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".toml"); ok {
			names = append(names, name)
		}
	}
	return names
}

func builtinDemo(name string) (demo.Script, error) {
	data, err := fs.ReadFile(assets.Demos(), name+".toml")
	if err != nil {
		return demo.Script{}, err
	}
	return parseDemo(name, name+".toml", data)
}

func parseDemo(name, file string, data []byte) (demo.Script, error) {
	s, err := demo.ParseScript(file, data)
	if err != nil {
		return demo.Script{}, &UsageError{What: err.Error()}
	}
	s.Name = name
	return s, nil
}

// readDemo finds a script: a built-in one by its name, else a file.
func readDemo(name string) (demo.Script, error) {
	if slices.Contains(demoNames(), name) {
		return builtinDemo(name)
	}
	data, err := readBounded(name, demoBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return demo.Script{}, &UsageError{What: fmt.Sprintf("there is no demo and no file %q", name), Do: "the built-in demos are " + strings.Join(demoNames(), ", ")}
	case err != nil:
		return demo.Script{}, &UsageError{What: fmt.Sprintf("cannot read %s: %s", name, cause(err))}
	}
	return parseDemo(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), name, data)
}

// demoBytes bounds a script.
const demoBytes = 4 << 20

// demo plays one script.
func (c *command) demo(ctx context.Context, o *options, d *demoOptions, name string) (err error) {
	if err := d.checkPace(); err != nil {
		return err
	}
	if d.check && len(d.records) > 0 {
		return &UsageError{What: "--check and --record exclude each other", Do: "a recording asserts too"}
	}
	script, err := readDemo(name)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "vitrine-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo's data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stage, err := c.demoStage(o, script, dir)
	if err != nil {
		return err
	}
	play := demo.Play{Script: script, Stage: stage, Dir: dir, Light: theme.Name(d.theme) == theme.Light}
	switch {
	case len(d.records) > 0:
		err = c.recordDemo(ctx, play, d, stage.secrets)
	case d.check:
		err = play.Run(ctx)
	default:
		err = c.showDemo(ctx, play, d)
	}
	if err == nil && d.check {
		c.out.line("%s: %s", script.Name, c.lang.N(len(script.Steps), "1 step", "%d steps", len(script.Steps)))
	}
	return demoError(err, record.Hider(stage.secrets))
}

// demoError keeps the screen of a failed step apart from the line that says what failed. It goes into logs: the keys in it are masked.
func demoError(err error, hide func(string) string) error {
	var failed *demo.StepError
	if !errors.As(err, &failed) || failed.Err != nil {
		return err
	}
	failed.What, failed.Screen = hide(failed.What), hide(failed.Screen)
	return &DemoError{failed}
}

// DemoError is a demo whose step failed.
type DemoError struct{ *demo.StepError }

// Error leaves the screen out, which has rows of its own.
func (e *DemoError) Error() string { return e.Headline() + "; the screen shows:" }

// checkPace refuses a speed or a longest pause that there cannot be.
func (d *demoOptions) checkPace() error {
	if !(d.speed >= 0.1 && d.speed <= 100) {
		return &UsageError{What: fmt.Sprintf("--speed %v is not from 0.1 to 100", d.speed)}
	}
	if d.idle < 0 {
		return &UsageError{What: "--idle is less than no time"}
	}
	return nil
}

// recordDemo plays as fast as it goes and writes what a terminal would show.
func (c *command) recordDemo(ctx context.Context, play demo.Play, d *demoOptions, secrets []string) (err error) {
	look, err := c.lookOf(d)
	if err != nil {
		return err
	}
	cfg := record.Config{Width: play.Script.Width, Height: play.Script.Height, Title: play.Script.Title, Secrets: secrets, Look: look}
	cfg.Speed, cfg.Idle = d.speed, d.idle
	if err := d.files(&cfg); err != nil {
		return err
	}
	if err := record.Apart(play.Script.File, d.records...); err != nil {
		return &UsageError{What: err.Error(), Do: "name another file"}
	}
	r, err := record.New(cfg)
	if err != nil {
		return fmt.Errorf("begin the recording: %w", err)
	}
	defer func() {
		if err != nil {
			r.Abort()
		}
	}()
	var last time.Time
	seen := func(at time.Time) { last = at }
	play.Output = func(at time.Time, out string) { seen(at); r.Frame(at, out) }
	play.Resized = func(at time.Time, w, h int) { seen(at); r.Resize(at, w, h) }
	play.Met = func(at time.Time, name string, _ demo.Screen) { seen(at); r.Mark(at, name) }
	if err := play.Run(ctx); err != nil {
		return err
	}
	r.Until(last)
	if err := r.Close(ctx); err != nil {
		return err
	}
	for _, path := range d.records {
		if play.Script.Model == demo.ModelLive { // what it shows nobody has read before
			c.err.line("%s", c.T("vitrine: wrote %s; look at it before you share it: it shows all that was on the screen", path))
		} else {
			c.err.line("%s", c.T("vitrine: wrote %s", path))
		}
	}
	return nil
}

// files takes the names of the recordings by their endings.
func (d *demoOptions) files(cfg *record.Config) error {
	for _, path := range d.records {
		var to *string
		switch strings.ToLower(filepath.Ext(path)) {
		case ".cast":
			to = &cfg.Cast
		case ".gif":
			to = &cfg.GIF
		case ".svg":
			to = &cfg.SVG
		case ".txt":
			to = &cfg.Text
		default:
			return &UsageError{What: fmt.Sprintf("--record %s: the name's ending says what is written", path), Do: "use .cast, .gif, .svg or .txt"}
		}
		if *to != "" {
			return &UsageError{What: fmt.Sprintf("--record %s: one file of a kind", path)}
		}
		*to = path
	}
	return nil
}

// readBounded reads a file that is not larger than most bytes.
func readBounded(path string, most int64) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("it is larger than %d KB", most>>10)
	}
	return data, err
}
