package ui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/ui/input"
)

// Here what is in the inputs is kept over restarts: of each session that this process holds, at most once a second, and when its
// tab is closed or the program is left. A kill takes the last second of typing. What was sent is not brought back.

const (
	// keepEvery is how long typing goes on until it is kept, keepAgain how long it takes to try again when that failed.
	keepEvery = time.Second
	keepAgain = 5 * time.Second
)

// draft is what is kept of an input.
type draft struct {
	known bool   // what was kept is in the input
	saved string // what is kept
	waits bool   // it is kept in a moment
}

// typed is what is to be kept. The letter of an answer is not, and an older input that was brought back is known already.
func (p *page) typed() string {
	text := p.edit.Text()
	switch {
	case p.answering():
		return ""
	case p.history.browsing() && text == p.history.entries[p.history.at]:
		return p.history.draft
	}
	return text
}

// unkept says that what was typed is not kept, and may be.
func (p *page) unkept() bool {
	return p.draft.known && p.writable() && p.typed() != p.draft.saved
}

// keep has what was typed kept in a moment. While an input is being stored it waits: only then it is known what was sent.
func (p *page) keep() tea.Cmd {
	if p.draft.waits || p.sending.on || !p.unkept() {
		return nil
	}
	p.draft.waits = true
	return p.env.after(keepEvery, keepMsg{p.id})
}

// keepNow keeps it.
func (p *page) keepNow() tea.Cmd {
	if p.sending.on || !p.unkept() {
		p.draft.waits = false
		return nil
	}
	return p.env.keepDraft(p.id, runtime.Draft{Text: p.typed(), At: p.env.now})
}

// kept is the end of that. When it failed it is tried again, and nothing is said: whatever else is stored says why.
func (p *page) kept(msg keptMsg) tea.Cmd {
	if msg.err != nil {
		return p.env.after(keepAgain, keepMsg{p.id})
	}
	p.draft.saved, p.draft.waits = msg.text, false
	return nil
}

// last is what is to be kept when the tab goes away, with what is still being stored; nil: nothing.
func (p *page) last() *runtime.Draft {
	text := p.typed()
	if s := p.sending; s.on && s.apart {
		text = strings.TrimRight(strings.Join(append(append([]string{s.text}, s.next...), text), "\n"), "\n")
	}
	if !p.draft.known || !p.writable() || text == p.draft.saved {
		return nil
	}
	return &runtime.Draft{Text: text, At: p.env.now}
}

// bringBack puts what was kept into the input, in front of what was typed since the start.
func (p *page) bringBack(d *runtime.Draft, s runtime.Snapshot) tea.Cmd {
	if p.draft.known || p.held != 0 || d == nil {
		return nil
	}
	p.draft.known, p.draft.saved = true, d.Text
	if d.Text == "" || wasSent(*d, s) {
		return nil
	}
	return p.putBefore(d.Text)
}

// wasSent says that a draft is an input that was stored after it: the program ended before it could be taken away.
func wasSent(d runtime.Draft, s runtime.Snapshot) bool {
	same := func(text string, at time.Time) bool {
		return !at.Before(d.At) && strings.TrimSpace(attach.Text(text)) == strings.TrimSpace(input.Plain(d.Text))
	}
	for _, r := range s.Inbox {
		if same(r.Text, r.CreatedAt) {
			return true
		}
	}
	for _, m := range s.Messages {
		if m.Kind == llm.KindUser && same(m.Content, m.CreatedAt) {
			return true
		}
	}
	return false
}

// keepDraft stores what was typed in a session.
func (e *env) keepDraft(id string, d runtime.Draft) tea.Cmd {
	return func() tea.Msg { return keptMsg{id, d.Text, e.opts.Drafts.SaveDraft(e.ctx, id, d)} }
}
