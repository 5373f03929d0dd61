package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime/config"
	"vitrine/ui/words"
)

// What happens in a tab that is not seen is told outside of the screen too: by the bell, which tmux and most terminals turn into a
// mark or a sound, or as a notification of the desktop, in the two ways that terminals know.

// notify tells of hidden tabs whose work came to an end or to a question since the last message.
func (m *Model) notify() tea.Cmd {
	var cmds []tea.Cmd
	for i, p := range m.pages {
		was, now := p.seenMark, p.mark()
		p.seenMark = now
		if i == m.active || was != markRunning || len(m.env.opts.Notify) == 0 {
			continue
		}
		word := words.Text("")
		switch now {
		case markNeedsYou:
			word = "needs you"
		case markDone:
			word = "done"
		case markFailed:
			word = "failed"
		default:
			continue
		}
		cmds = append(cmds, tea.Raw(notification(m.env.opts.Notify, m.env.style.Text(p.name())+": "+m.T(word))))
	}
	return tea.Batch(cmds...)
}

// notification is what makes the terminal tell of text, in each of the ways.
func notification(ways []config.Notify, text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == ';' {
			return ' '
		}
		return r
	}, text)
	var b strings.Builder
	for _, way := range ways {
		switch way {
		case config.NotifyBell:
			b.WriteString("\a")
		case config.NotifyOSC9:
			b.WriteString("\x1b]9;" + text + "\a")
		case config.NotifyOSC777:
			b.WriteString("\x1b]777;notify;vitrine;" + text + "\a")
		}
	}
	return b.String()
}
