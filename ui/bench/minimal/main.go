// Minimal is the smallest Bubble Tea program with an input line, at the frame rate of the real one. The bench starts both by
// turns: what the terminal library costs is not ours to answer for.
package main

import (
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
)

type model struct{ text string }

func (m model) Init() tea.Cmd { return nil }

func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		if k.String() == "ctrl+c" {
			return m, tea.Quit
		}
		m.text += k.Text
	}
	return m, nil
}

func (m model) View() tea.View {
	v := tea.NewView("❯ " + m.text)
	v.AltScreen = true
	return v
}

func main() {
	if _, err := tea.NewProgram(model{}, tea.WithFPS(120)).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
