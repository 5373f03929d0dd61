package ui

import (
	"fmt"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/sidebar"
	"vitrine/ui/theme"
)

// columns are the panes of a page.
type columns struct {
	chat    *plainPane
	trace   *plainPane
	side    *sidebar.View
	todoIDs []string
	said    bool // there are messages
}

func newColumns(e *env) columns {
	th, m := e.style.Theme, e.style.Metrics
	return columns{chat: &plainPane{th: th, m: m}, trace: &plainPane{th: th, m: m, bg: theme.OnPanel}, side: sidebar.New(th, m)}
}

func (c *columns) restyle(e *env) {
	th, m := e.style.Theme, e.style.Metrics
	c.chat.SetTheme(th)
	c.chat.SetMetrics(m)
	c.trace.SetTheme(th)
	c.trace.SetMetrics(m)
	c.side.SetTheme(th)
	c.side.SetMetrics(m)
}

func (c *columns) load(s runtime.Snapshot, events []trace.Event) {
	c.said = len(s.Messages) > 0
	c.todoIDs = c.todoIDs[:0]
	for _, t := range s.Todos {
		c.todoIDs = append(c.todoIDs, t.ID)
	}
	c.chat.Load(s, events)
	c.trace.Load(runtime.Snapshot{}, events)
	c.side.Load(s)
}

func (c *columns) apply(e trace.Event) {
	switch d := e.Data.(type) {
	case trace.RunStartData:
		c.said = true
	case trace.TodoData:
		if d.Action == "added" {
			c.todoIDs = append(c.todoIDs, d.ID)
		}
	}
	c.chat.Apply(e)
	c.trace.Apply(e)
	c.side.Apply(e)
}

func (c *columns) empty() bool                     { return !c.said }
func (c *columns) older(rows []runtime.MessageRow) {}
func (c *columns) follow()                         {}
func (c *columns) focus(which pane)                { c.side.SetFocus(which == paneTodos) }

func todosText(c columns, w int) string {
	done, all := c.side.Counts()
	switch {
	case all == 0:
		return ""
	case w < middleWidth:
		return fmt.Sprintf("todos %d/%d", done, all)
	}
	return fmt.Sprintf("todos %d of %d", done, all)
}
