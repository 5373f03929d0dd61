package ui

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/colorprofile"

	"vitrine/runtime/clock"
	"vitrine/ui/dialog"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// env is what root and pages share: the ports, the clock and the look. Only the root changes it, in Update.
type env struct {
	opts     Options
	clk      clock.Clock
	ctx      context.Context // ends when the program leaves
	ending   context.Context // ends when somebody outside asks to leave; nil: nobody can
	early    context.Context // ends at the first interrupt since the start
	terminal *paint.Terminal // nil: Bubble Tea paints
	outside  atomic.Int32    // editors that interrupts are for
	keys     KeyMap
	dkeys    dialog.Keys
	commands []command
	// dialogKeys are the keys that texts of dialogs name; the theme has those of all others.
	dialogKeys *words.Keys
	dialogs    *theme.Theme
	style      line.Style
	panes      panes
	now        time.Time
	// light is what the terminal said of its background; look is the user's choice over it, empty: none.
	light     bool
	look      theme.Name
	mouse     bool
	recording recording
	recorded  time.Time // since when the screen is recorded; zero: it is not
	// starred are the sessions that the user has marked, closed the tabs that can be opened again, the last one last.
	starred map[string]bool
	closed  []closedTab
	copied  atomic.Pointer[string] // the file with the last copy
}

// phaseLength is how long a spinner shows one of its signs; all turn together.
const phaseLength = 100 * time.Millisecond

// slideLength is how often what slides is drawn: rows sink one each 60 ms.
const slideLength = 20 * time.Millisecond

func newEnv(ctx context.Context, opts Options) *env {
	k := defaultKeymap()
	if k.bind(opts.Keys) != nil { // who starts the program has told of it
		k = defaultKeymap()
	}
	e := &env{
		opts: opts, clk: opts.Clock, ctx: ctx, keys: k.keys, dkeys: k.dialog, commands: k.commands, dialogKeys: k.names(opts.Lang, true),
		panes: defaultPanes(), mouse: true,
	}
	e.style.Theme = theme.New(theme.Options{Name: opts.Look, Profile: colorprofile.TrueColor, Reduced: opts.Still, Lang: opts.Lang, Keys: k.names(opts.Lang, false)})
	e.look = opts.Look
	e.touch()
	return e
}

// touch takes the time of this Update.
func (e *env) touch() {
	e.now = e.clk.Now()
	e.style.Phase = phaseAt(e.now)
}

// phaseAt is the phase of the spinners at a time.
func phaseAt(now time.Time) int { return int(now.UnixMilli() / phaseLength.Milliseconds() % 1000) }

// themed makes the theme again with one thing changed.
func (e *env) themed(change func(*theme.Options)) {
	o := e.style.Theme.Options()
	change(&o)
	if o != e.style.Theme.Options() {
		e.style.Theme = theme.New(o)
	}
}

// pickLook sets the colours by the user's choice, else by the terminal's background.
func (e *env) pickLook() {
	e.themed(func(o *theme.Options) {
		switch {
		case e.look != "":
			o.Name = e.look
		case e.light:
			o.Name = theme.Light
		default:
			o.Name = theme.Dark
		}
	})
}

func (e *env) metrics(m paint.Metrics) { e.style.Metrics = m }

// dialogTheme is the theme for dialogs, whose texts name keys of their own.
func (e *env) dialogTheme() *theme.Theme {
	o := e.style.Theme.Options()
	if o.Keys == e.dialogKeys {
		return e.style.Theme
	}
	if o.Keys = e.dialogKeys; e.dialogs == nil || e.dialogs.Options() != o {
		e.dialogs = theme.New(o)
	}
	return e.dialogs
}
