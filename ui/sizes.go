package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime/clock"
)

// sizeTime is the least time between two sizes.
const sizeTime = 2 * frameTime

// sizeGate lets one new size of the terminal through in a while. Each one makes the renderer paint everything again, and a
// window that is dragged gives a hundred a second; of those in between only the last counts.
type sizeGate struct {
	clk     clock.Clock
	last    time.Time
	waiting bool
	size    tea.WindowSizeMsg
}

// holdMsg asks for releaseMsg after a wait; that one becomes the held size.
type (
	holdMsg    struct{ wait time.Duration }
	releaseMsg struct{}
)

// filter stands before the program's own handling of messages.
func (g *sizeGate) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	now := g.clk.Now()
	switch msg := msg.(type) {
	case releaseMsg:
		g.waiting, g.last = false, now
		return g.size
	case tea.WindowSizeMsg:
		wait := sizeTime - now.Sub(g.last)
		if !g.waiting && wait <= 0 {
			g.last = now
			return msg
		}
		g.size = msg
		if g.waiting {
			return nil
		}
		g.waiting = true
		return holdMsg{wait}
	}
	return msg
}
