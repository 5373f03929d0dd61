package ui

import (
	"fmt"
	"runtime/debug"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// PanicError is a fault of the screen, or of the program behind it. Its stack is in the log.
type PanicError struct {
	// Where is the part that failed: Init, Update, View, a command or the background.
	Where string
	Value any
	Stack []byte
	// Path is the log.
	Path   string
	logErr error
}

// inBackground is where a goroutine failed that is not of the screen.
const inBackground = "the background"

// Error is one line that names the log.
func (p *PanicError) Error() string {
	value := strings.Join(strings.Fields(fmt.Sprint(p.Value)), " ")
	if len(value) > 200 {
		value = value[:200]
	}
	what := "the screen"
	if p.Where == inBackground {
		what = "the program"
	}
	stack := "the stack is in " + p.Path
	if p.logErr != nil {
		stack = fmt.Sprintf("its stack could not be written (%v)", p.logErr)
	}
	return fmt.Sprintf("%s failed in %s: %s; %s; what was stored is kept", what, p.Where, value, stack)
}

// guard keeps a panic of the model, or of one of its commands, from leaving the terminal as it is: it notes the fault and
// quits, and Bubble Tea restores the terminal as after any other end.
type guard struct {
	inner tea.Model
	fault *PanicError
	view  tea.View
	// show gets each frame, and whether a key or a size led to it; nil: Bubble Tea paints.
	show func(v tea.View, soon bool)
}

// faultMsg is a panic in a command.
type faultMsg struct{ fault *PanicError }

func newFault(where string, value any) *PanicError {
	return &PanicError{Where: where, Value: value, Stack: debug.Stack()}
}

// Init starts the model.
func (g *guard) Init() (cmd tea.Cmd) {
	return g.safely("Init", true, func() tea.Cmd { return g.inner.Init() })
}

// Update hands the message on, as long as there was no fault.
func (g *guard) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if f, ok := msg.(faultMsg); ok && g.fault == nil {
		g.fault = f.fault
	}
	if g.fault != nil {
		return g, tea.Quit
	}
	return g, g.safely("Update", awaited(msg), func() (cmd tea.Cmd) {
		g.inner, cmd = g.inner.Update(msg)
		return cmd
	})
}

// awaited says that somebody sits and waits for the frame that msg leads to.
func awaited(msg tea.Msg) bool {
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg, tea.MouseWheelMsg, tea.WindowSizeMsg, tea.BackgroundColorMsg:
		return true
	}
	return false
}

// safely calls f and makes the frame, which somebody may wait for; a panic of either quits.
func (g *guard) safely(where string, soon bool, f func() tea.Cmd) (cmd tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			g.fault, cmd = newFault(where, v), tea.Quit
		}
	}()
	cmd = shield(f())
	where = "View"
	g.view = g.inner.View()
	if g.show != nil {
		g.show(g.view, soon)
	}
	return cmd
}

// View gives the frame made last.
func (g *guard) View() tea.View { return g.view }

// shield brings a panic of a command, or of the commands that it starts, back as a message.
func shield(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if v := recover(); v != nil {
				msg = faultMsg{newFault("a command", v)}
			}
		}()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = shield(batch[i])
			}
		}
		return msg
	}
}
