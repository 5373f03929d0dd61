package ui

import (
	"vitrine/runtime"
	"vitrine/tools"
)

// Front is what a script may want to know of the tab in front.
type Front struct {
	Session string
	// State is that of its run: empty when there was none yet; a final one has ended.
	State runtime.State
	// Running says that a run or a fold is on, Waits that the user is asked something.
	Running, Waits bool
	// Turns is how many have begun.
	Turns int
	Todos []tools.Todo
	// Panes are the parts that the screen shows, by their names, which PaneNames lists.
	Panes map[string]Place
}

// Place is a part of the screen, in cells.
type Place struct{ X, Y, W, H int }

// PaneNames are the parts of the screen that Front may tell of.
func PaneNames() []string {
	return []string{"tabs", "meter", "chat", "trace", "todos", "dock", "input", "status"}
}

// Front tells of the tab in front. It is used by the goroutine that calls Update.
func (m *Model) Front() Front {
	p := m.page()
	f := Front{
		Session: p.id, State: p.run.state, Running: p.busy(), Waits: p.needsUser(), Turns: p.run.turn, Todos: p.columns.side.Todos(),
		Panes: map[string]Place{},
	}
	l := p.lay
	for i, r := range []rect{l.tabs, l.meter, l.chat, l.trace, l.todos, l.dock, l.input, l.stat} {
		if !r.empty() {
			f.Panes[PaneNames()[i]] = Place{r.x, r.y, r.w, r.h}
		}
	}
	return f
}
