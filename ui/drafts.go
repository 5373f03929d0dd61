package ui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/ui/input"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here what is in the inputs is kept over restarts: of each session that this process holds, at most once a second, and when its
// tab is closed or the program is left. A kill takes the last second of typing. What was sent is not brought back. While nothing can be
// stored, what was typed and what was entered is kept aside, so that a kill takes no more then.

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

	since  time.Time // when storing it began that has not ended well; zero: none
	aside  []string  // what is kept aside; nil: nothing
	asides bool      // something is kept aside in a moment
	put    bool      // this page keeps something aside, or did
	under  string    // the session that it keeps it for while it has none
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
	return p.draft.known && p.writable() && (p.typed() != p.draft.saved || p.draft.aside != nil)
}

// keep has what was typed kept in a moment. While an input is being stored it waits: only then it is known what was sent.
func (p *page) keep() tea.Cmd {
	aside := p.keepAside()
	if p.draft.waits || p.sending.on || !p.unkept() {
		return aside
	}
	p.draft.waits = true
	return tea.Batch(aside, p.env.after(keepEvery, keepMsg{p.id}))
}

// keepNow keeps it.
func (p *page) keepNow() tea.Cmd {
	if p.sending.on || !p.unkept() {
		p.draft.waits, p.draft.since = false, time.Time{}
		return nil
	}
	if p.draft.since.IsZero() {
		p.draft.since = p.env.now
	}
	return p.env.keepDraft(p.id, runtime.Draft{Text: p.typed(), At: p.env.now})
}

// kept is the end of that. When it failed it is tried again, and nothing is said: whatever else is stored says why.
func (p *page) kept(msg keptMsg) tea.Cmd {
	if msg.err != nil {
		return p.env.after(keepAgain, keepMsg{p.id})
	}
	p.draft.saved, p.draft.waits, p.draft.since, p.draft.aside = msg.text, false, time.Time{}, nil
	return nil
}

// keptUnder is the session for which what was typed is kept aside: a page that has none yet has the name of the one to come.
func (p *page) keptUnder() string { return cmp.Or(p.id, p.draft.under) }

// forgetAside takes away what the page kept aside for a session to come that became another one.
func (p *page) forgetAside(id string) tea.Cmd {
	if under := p.draft.under; p.draft.put && under != id {
		return func() tea.Msg {
			_ = p.env.opts.Drafts.KeepAside(p.env.ctx, under, runtime.Aside{}) // at worst it comes back once more
			return nil
		}
	}
	return nil
}

// unstored is what was typed and entered that waits to be stored, and since when; nil: nothing, or it is another process's session.
func (p *page) unstored() (texts []string, since time.Time) {
	s := p.sending
	switch {
	case p.env.opts.Drafts == nil || p.held != 0 || p.keptUnder() == "":
		return nil, since
	case s.on && s.apart:
		texts, since = append(append([]string{s.text}, s.next...), p.typed()), s.since
	case s.on:
		texts, since = []string{s.text, s.draft}, s.since
	case p.loaded && !p.draft.known: // what was kept could not be read
		texts = []string{p.typed()}
	case p.loaded && !p.draft.since.IsZero():
		texts, since = []string{p.typed()}, p.draft.since
	case !p.loaded && (p.broken == "" || p.reopens): // it may have been opened before
		texts = []string{p.typed()}
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
	return texts, since
}

// keepAside has what cannot be stored kept aside in a moment.
func (p *page) keepAside() tea.Cmd {
	texts, _ := p.unstored()
	if p.draft.asides || len(texts) == 0 || slices.Equal(texts, p.draft.aside) {
		return nil
	}
	p.draft.asides = true
	return p.env.after(keepEvery, asideMsg{p.id})
}

// asideNow keeps it aside, unless it has been stored or has just begun to be.
func (p *page) asideNow() tea.Cmd {
	texts, since := p.unstored()
	p.draft.asides = false
	if len(texts) == 0 || p.env.now.Sub(since) < keepEvery {
		return nil
	}
	p.draft.asides, p.draft.put = true, true
	a := runtime.Aside{Texts: texts, At: p.env.now, Whole: p.draft.known}
	under := p.keptUnder()
	return func() tea.Msg {
		return asideKeptMsg{p.id, texts, p.env.opts.Drafts.KeepAside(p.env.ctx, under, a)}
	}
}

// unsafeText is said while what was typed cannot even be kept aside.
const unsafeText words.Text = "what was typed is not kept, and is lost if the program ends: %s"

// asideKept is the end of that. That it failed is said until it does not any more.
func (p *page) asideKept(msg asideKeptMsg) tea.Cmd {
	if msg.err != nil {
		say := p.tellFor(2*keepAgain, theme.Error, p.T(unsafeText, p.env.opts.Lang.Tell(msg.err.Error())))
		return tea.Batch(say, p.env.after(keepAgain, asideMsg{p.id}))
	}
	p.draft.asides, p.draft.aside = false, msg.texts
	return nil
}

// last is what is to be kept when the tab goes away, with what is still being stored; nil: nothing.
func (p *page) last() *runtime.Draft {
	text := p.typed()
	if s := p.sending; s.on && s.apart {
		text = strings.TrimRight(strings.Join(append(append([]string{s.text}, s.next...), text), "\n"), "\n")
	}
	if texts, _ := p.unstored(); !p.loaded && len(texts) > 0 && !slices.Equal(texts, p.draft.aside) {
		return &runtime.Draft{At: p.env.now, Aside: []runtime.Aside{{Texts: texts, At: p.env.now, Whole: p.draft.known}}}
	}
	if !p.draft.known || !p.writable() || text == p.draft.saved && p.draft.aside == nil {
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
	texts := []string{d.Text}
	at := []time.Time{d.At}
	for _, a := range d.Aside {
		if a.Own && p.draft.put {
			continue // it is in the input, or on its way to the engine
		}
		if a.Whole && !a.At.Before(d.At) {
			texts, at = nil, nil // it had been brought back
		}
		for _, t := range a.Texts {
			texts, at = append(texts, t), append(at, a.At)
		}
		p.draft.aside = append(p.draft.aside, a.Texts...) // until it is stored
	}
	var back []string
	for i, t := range texts {
		if t != "" && !WasSent(runtime.Draft{Text: t, At: at[i]}, s) {
			back = append(back, t)
		}
	}
	if len(back) == 0 {
		return nil
	}
	return p.putBefore(back...)
}

// WasSent says that a draft is an input that was stored after it: the program ended before it could be taken away.
func WasSent(d runtime.Draft, s runtime.Snapshot) bool {
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

// keepLast keeps what was typed in a session when its tab goes away: aside, if it cannot be stored.
func (e *env) keepLast(ctx context.Context, id string, d runtime.Draft) error {
	if len(d.Aside) > 0 {
		return e.opts.Drafts.KeepAside(ctx, id, d.Aside[0])
	}
	err := e.opts.Drafts.SaveDraft(ctx, id, d)
	if err == nil || d.Text == "" || errors.Is(err, runtime.ErrFenced) || errors.Is(err, runtime.ErrNotFound) {
		return err
	}
	if e.opts.Drafts.KeepAside(ctx, id, runtime.Aside{Texts: []string{d.Text}, At: d.At, Whole: true}) == nil {
		return nil
	}
	return err
}

// keepDraft stores what was typed in a session.
func (e *env) keepDraft(id string, d runtime.Draft) tea.Cmd {
	return func() tea.Msg { return keptMsg{id, d.Text, e.opts.Drafts.SaveDraft(e.ctx, id, d)} }
}
