package ui

import (
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/dialog"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// wheelLines is how far one notch of the wheel scrolls.
const wheelLines = 3

// key routes a key: the open dialog, the chord, the keys that work everywhere, the page.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	p, keys := m.page(), m.env.keys
	if !m.chord && p.aheadOfStop(k) {
		return p.tell(theme.Warn, p.T(stepSoonText))
	}
	again := p.ask.again && key.Matches(k, keys.Step)
	p.touched()
	p.ask.again = again
	if key.Matches(k, keys.Suspend) {
		return tea.Suspend
	}
	if d := p.dialog; d != nil {
		p.marked = marked{}
		if key.Matches(k, keys.Stop) {
			return m.result(p, d.Deny())
		}
		return m.result(p, d.Key(k))
	}
	if m.chord {
		m.chord = false
		return m.chordKey(k)
	}
	if !m.stop.at.IsZero() && !key.Matches(k, keys.Stop) { // whoever types on does not leave
		if m.stop.at = (time.Time{}); p.said.text == p.T(stopAgainText) {
			p.said.text = ""
		}
	}
	switch {
	case key.Matches(k, keys.Stop):
		return m.stopKey()
	case key.Matches(k, keys.Escape):
		return m.escape()
	case key.Matches(k, keys.Chord):
		m.chord = true
		return nil
	case key.Matches(k, keys.Palette):
		return m.openPalette()
	case key.Matches(k, keys.Tab):
		return m.goTo(tabOf(k, keys.Tab))
	case key.Matches(k, keys.TabBefore):
		return m.step(-1)
	case key.Matches(k, keys.TabAfter):
		return m.step(1)
	}
	for i := range m.env.commands {
		if c := &m.env.commands[i]; key.Matches(k, c.direct) {
			return c.run(m, "")
		}
	}
	return m.asked(p.Update(k), p)
}

// asked does what a page asked the root for.
func (m *Model) asked(cmd tea.Cmd, p *page) tea.Cmd {
	want := p.want
	p.want = request{}
	switch {
	case want.help:
		return tea.Batch(cmd, m.openHelp())
	case want.command != nil:
		return tea.Batch(cmd, want.command.run(m, want.arg))
	}
	return cmd
}

// chordKey takes the letter after Ctrl+X.
func (m *Model) chordKey(k tea.KeyPressMsg) tea.Cmd {
	if key.Matches(k, m.env.keys.Escape) || key.Matches(k, m.env.keys.Stop) {
		return nil
	}
	if key.Matches(k, m.env.keys.ChordTab) {
		return m.goTo(tabOf(k, m.env.keys.ChordTab))
	}
	for i := range m.env.commands {
		if c := &m.env.commands[i]; key.Matches(k, c.chord) {
			return c.run(m, "")
		}
	}
	return m.page().tell(theme.Text, m.T("Ctrl+X %s means nothing; ? lists the keys", k.String()))
}

// T is one of our texts in the screen's language; see package words.
func (m *Model) T(t words.Text, args ...any) string { return m.env.style.T(t, args...) }

// chordGap stands between the letters of the chord.
const chordGap = "  "

// chordHint is what the status line shows after Ctrl+X.
func (m *Model) chordHint() string {
	parts := []string{m.env.keys.Chord.Help().Key}
	for _, c := range m.env.commands {
		if h := c.chord.Help(); h.Key != "" {
			parts = append(parts, m.env.opts.Lang.Key(h.Key)+" "+m.env.opts.Lang.Kept(h.Desc))
		}
	}
	h := m.env.keys.ChordTab.Help()
	return strings.Join(append(parts, m.env.opts.Lang.Key(h.Key)+" "+m.env.opts.Lang.Kept(h.Desc), m.T("Esc back")), chordGap)
}

// escape does the one thing that Esc does now; escapeDoes names it.
func (m *Model) escape() tea.Cmd {
	p := m.page()
	switch m.escapeDoes() {
	case "close":
		p.complete.close(p.edit.Text())
		p.files.close(p.edit.Raw())
	case unselect:
		p.unselect()
	case "take back":
		_, cmd := p.unchoose()
		return cmd
	case "back":
		if p.seek.on {
			p.endSeek()
			return nil
		}
		if p.focus == paneChat && p.columns.seen().Several() {
			p.deselect()
			return nil
		}
		p.try = -1
		p.leaveQuestion()
		p.deselect()
	case "later":
		return p.putAside()
	case "unzoom":
		m.env.panes.zoom = paneNone
	case "stay":
		m.quit.waiting = false
		return p.tell(theme.Text, p.T("stays open"))
	case "hide":
		m.forgetOffer()
	case "cancel":
		return p.cancelRun()
	}
	return nil
}

// unselect is what Esc does to a selection of the mouse.
const unselect words.Text = "unselect"

func (m *Model) escapeDoes() words.Text {
	p := m.page()
	atInput := p.focus == paneInput || p.focus == paneQuestion && !p.ask.byUser
	q := p.question()
	switch {
	case p.complete.open(), p.files.open(), p.files.stop != nil:
		return "close"
	case p.selecting():
		return unselect
	case p.answering():
		return "take back"
	case (q == questionApprove || q == questionHeld || q == questionPause) && (p.focus == paneQuestion || atInput && p.edit.Empty()):
		return "later"
	case p.try >= 0 || !atInput:
		return "back"
	case m.env.panes.zoom != paneNone:
		return "unzoom"
	case m.quit.waiting:
		return "stay"
	case p.busy() && p.held == 0: // what another process does is its own
		return "cancel"
	case m.offered():
		return "hide"
	case p.seek.on:
		return "back"
	}
	return ""
}

// clearedText is said until Up has brought the text back.
const clearedText words.Text = "cleared; Up brings it back"

// stopAgainText is said until another key comes, or for as long as a second Ctrl+C leaves.
const stopAgainText words.Text = "press Ctrl+C again to quit"

// stopKey is Ctrl+C without a dialog: it denies what is asked, else cancels the run, else clears the input, else leaves when it comes
// twice. One that was on its way when the question came was meant for the run.
func (m *Model) stopKey() tea.Cmd {
	p := m.page()
	if p.question() == questionApprove && p.ask.settled && !m.quit.leaving {
		return p.decide(runtime.Decision{Call: p.approve.waiting[0].ID})
	}
	if p.busy() && p.held == 0 && !m.quit.leaving {
		return p.cancelRun()
	}
	if !p.edit.Empty() && (!p.sending.on || p.sending.apart) && !m.quit.leaving {
		return tea.Batch(p.clearInput(), p.tell(theme.Text, p.T(clearedText)))
	}
	if !m.stop.at.IsZero() && m.env.now.Sub(m.stop.at) <= stopAgain {
		m.stop.at = time.Time{}
		return m.askQuit()
	}
	m.stop.at = m.env.now
	m.stop.gen++
	return tea.Batch(p.tellFor(stopAgain, theme.Text, p.T(stopAgainText)), m.env.after(stopAgain, forgetStopMsg{m.stop.gen}))
}

func (m *Model) paste(text string) tea.Cmd {
	p := m.page()
	if p.dialog != nil {
		p.dialog.Paste(text)
		if d, ok := p.dialog.(*dialog.Search); ok {
			return m.result(p, dialog.Sought{Kind: d.Kind(), Text: d.Text()})
		}
		return nil
	}
	m.chord = false
	p.touched()
	return p.paste(text)
}

// wheel scrolls the pane under the pointer.
func (m *Model) wheel(e tea.Mouse) tea.Cmd {
	lines := 0
	switch e.Button {
	case tea.MouseWheelUp:
		lines = -wheelLines
	case tea.MouseWheelDown:
		lines = wheelLines
	default:
		return nil
	}
	p := m.page()
	p.touched()
	if p.dialog != nil {
		p.dialog.Wheel(lines)
		return nil
	}
	cmd := p.scroll(p.lay.at(e.X, e.Y), lines)
	p.dragOn()
	return cmd
}

// click selects a tab, or gives the focus to the pane under the pointer.
func (m *Model) click(e tea.Mouse) tea.Cmd {
	p := m.page()
	if e.Button != tea.MouseLeft {
		return nil
	}
	p.unselect()
	if p.dialog != nil {
		if p.laid.at.has(e.X, e.Y) {
			p.pressRows(onDialog, e, false)
		}
		return nil
	}
	if p.lay.tabs.has(e.X, e.Y) {
		i, ok := m.bar.at(e.X)
		switch {
		case !ok:
			return nil
		case i < 0:
			return m.newTab()
		}
		return m.goTo(i)
	}
	switch at := p.lay.at(e.X, e.Y); at {
	case paneChat:
		p.focusOn(at)
		return p.press(e)
	case paneTrace:
		p.focusOn(at)
		opened := p.columns.traced().Click(e.Y - p.lay.trace.y)
		p.pressRows(at, e, opened)
		return p.traceMore()
	case paneInput:
		p.leaveQuestion()
		return p.pressInput(e)
	case paneTodos:
		p.focusOn(at)
		p.pressRows(at, e, false)
	case paneQuestion:
		p.pressRows(at, e, false)
		if p.question() != noQuestion {
			p.goToQuestion()
		}
	}
	return nil
}
