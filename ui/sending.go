package ui

import (
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/ui/input"
	"vitrine/ui/line"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here inputs go to the engine. One that is being stored stays in the input, faint, until it is; who types on meanwhile has the
// input for the next text at once, however long the store takes, and what is entered then is sent in its turn. When one cannot be
// stored, it and what was entered after it are back in the input, in front of what is being typed.

// sending is what becomes of an input that was entered.
type sending struct {
	on    bool
	since time.Time // when it was given to the engine
	text  string
	apart bool     // the input does not hold it, or not any more
	draft string   // what had been typed before an older input was brought back and sent
	next  []string // what was entered meanwhile
	ahead bool     // it was entered before the session was open: the engine does not have it yet
}

// mostNext bounds the inputs that wait for one that is being stored.
const mostNext = 16

// askingWhether is said until the answer is there.
const askingWhether words.Text = "; asking whether it is free now"

// send gives the text to the engine. The input keeps it until it is stored, or somebody types on.
func (p *page) send(text string) tea.Cmd {
	ahead := !p.loaded && p.broken == "" && p.held == 0
	if !p.writable() && !ahead {
		if p.held != 0 {
			return tea.Batch(p.tell(theme.Error, p.whyNot()+p.T(askingWhether)), p.reload())
		}
		if p.reopens { // the text is sent with the next Enter
			return p.reload()
		}
		return p.tell(theme.Error, p.whyNot())
	}
	if !ahead && p.tooSoon(text) {
		return p.holdBack(text)
	}
	if p.sending.on {
		p.part()
		if len(p.sending.next) == mostNext {
			return p.tell(theme.Error, p.T("the inputs before are still being stored; this one stays here"))
		}
		p.sending.next = append(p.sending.next, text)
		if p.holds(text) {
			return p.setInput("")
		}
		return nil
	}
	p.sending = sending{on: true, since: p.env.now, text: text, apart: !p.holds(text), ahead: ahead}
	if !p.sending.apart {
		p.sending.draft = p.history.leave()
	}
	p.complete.close(p.edit.Text())
	p.dropSeek()
	p.leavePast()
	p.columns.chat.End()
	if ahead {
		p.part()
		return nil
	}
	return p.env.submit(p.id, text, maps.Clone(p.files.known))
}

// sendAhead sends what was entered before the session was open, or gives it back when it cannot be sent: it was entered before
// anybody could see what the session asks, or that it is another's.
func (p *page) sendAhead() tea.Cmd {
	was := p.sending
	if !was.ahead {
		return nil
	}
	p.sending = sending{}
	why, role := p.T(askedText), theme.Warn
	switch {
	case p.broken != "", !p.writable():
		why, role = p.whyNot(), theme.Error
	case p.question() != noQuestion, p.ask.coming:
	default:
		was.ahead = false
		p.sending = was
		return p.env.submit(p.id, was.text, maps.Clone(p.files.known))
	}
	return tea.Batch(p.putBefore(append([]string{was.text}, was.next...)...), p.tell(role, why))
}

// holds says that the input holds a text.
func (p *page) holds(text string) bool {
	return strings.TrimSpace(p.edit.Text()) == strings.TrimSpace(text)
}

// part gives the input to who types on while an input is being stored.
func (p *page) part() {
	if s := &p.sending; s.on && !s.apart {
		s.apart = true
		p.edit.Reset(s.draft)
		s.draft, p.try = "", -1
		p.complete.close(p.edit.Text())
		p.measure()
	}
}

// submitted ends a Submit: what was sent leaves the input, or is back there with the reason.
func (p *page) submitted(msg submittedMsg) tea.Cmd {
	was := p.sending
	p.sending = sending{}
	if msg.err != nil {
		failed := p.fail("not sent", msg.err)
		if was.apart {
			return tea.Batch(failed, p.putBefore(append([]string{msg.text}, was.next...)...))
		}
		p.history.add(was.draft)
		return failed
	}
	p.history.record(msg.text)
	p.history.sent = msg.text
	p.said.text = ""
	var cmd tea.Cmd
	if !was.apart && p.holds(msg.text) {
		p.edit.Reset(was.draft)
		cmd = p.setInput(was.draft)
	}
	switch {
	case len(was.next) == 0:
		return cmd
	case p.question() != noQuestion, p.ask.coming: // they were entered before it could be seen
		return tea.Batch(cmd, p.putBefore(was.next...), p.tell(theme.Warn, p.T(askedText)))
	case !p.writable():
		return tea.Batch(cmd, p.putBefore(was.next...), p.tell(theme.Error, p.whyNot()))
	}
	cmd = tea.Batch(cmd, p.send(was.next[0]))
	p.sending.next = was.next[1:]
	return cmd
}

// putBefore puts texts in front of what is in the input.
func (p *page) putBefore(texts ...string) tea.Cmd {
	all := slices.Clone(texts)
	if now := p.edit.Text(); now != "" {
		all = append(all, now)
	}
	joined := strings.Join(all, "\n")
	if len(input.Plain(joined)) > input.MaxBytes {
		for _, t := range texts {
			p.history.record(t)
		}
		return p.tell(theme.Error, p.T("there is no room in the input; Up brings back what was not sent"))
	}
	return p.setInput(joined)
}

// storingRow shows what is being stored while the input holds another text.
func (p *page) storingRow(add func([]line.Span, ...line.Span)) {
	s, st := p.env.style, p.sending
	if !st.on || !st.apart {
		return
	}
	text, _, more := strings.Cut(strings.TrimSpace(input.Brief(st.text, p.env.chipName)), "\n")
	if text = s.Text(text); more {
		text += " " + s.Theme.Glyphs.Cut
	}
	var right []line.Span
	if n := len(st.next); n > 0 {
		right = append(right, line.Say(theme.Faint, "  "+s.T("then %d more", n)+" "))
	}
	add([]line.Span{line.Say(theme.Accent, " "+s.Theme.Spinner(s.Phase)+" "), line.Bold(theme.Strong, s.T("STORING")+"  "), line.Say(theme.Faint, text)}, right...)
}
