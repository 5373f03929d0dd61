package ui

import (
	"slices"
	"strings"
	"time"

	"vitrine/runtime"
	"vitrine/ui/line"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// say is a line for the user in the place of the status; it goes away by itself.
type say struct {
	text string
	role theme.Role
	gen  int
}

// statusFacts is what the status line tells when it has nothing to say.
type statusFacts struct {
	run     runState
	limits  Limits
	now     time.Time
	elapsed bool // there is, or was, a run
	extra   string
	wait    []string // a wait before another attempt, told at length and shorter
	folding bool
	asking  bool   // it waits for the user
	paused  bool   // the run stands still for the debugger
	breaks  string // where runs stand still; empty: nowhere
}

// statusRow draws the last row. What is told of a wait gives way to the hint of Esc.
func statusRow(s line.Style, w int, message say, f statusFacts, hints []string) string {
	if message.text != "" {
		glyph := ""
		switch message.role {
		case theme.Error:
			glyph = s.Theme.Glyphs.Failed + " "
		case theme.Warn:
			glyph = s.Theme.Glyphs.Question + " "
		}
		return s.Row(theme.OnBase, w, []line.Span{line.Say(message.role, " "+glyph+s.Text(message.text))}, line.Say(theme.Faint, tail(s, hints, w-s.Metrics.Width(message.text)-6)))
	}
	if f.wait != nil {
		last := tail(s, hints[max(len(hints)-1, 0):], w)
		f.extra = fitting(s, f.wait, w-s.Metrics.Width(last)-5)
	}
	left := []line.Span{stateSpan(s, f)}
	sep := "   "
	facts := f.list(s.Theme.Lang(), w)
	if w < 90 {
		sep = "  "
	}
	for i, fact := range facts {
		between := sep
		if i == 0 {
			between = "   "
		}
		left = append(left, line.Say(theme.Text, between+fact))
	}
	right := tail(s, hints, w-s.Width(left...)-2)
	for right == "" && len(left) > 1 && len(hints) > 0 {
		left = left[:len(left)-1]
		right = tail(s, hints[len(hints)-1:], w-s.Width(left...)-2)
	}
	return s.Row(theme.OnBase, w, left, line.Say(theme.Faint, right))
}

// fitting is the longest of the texts that fits, or the shortest, cut.
func fitting(s line.Style, texts []string, room int) string {
	for _, t := range texts {
		if t = s.Text(t); s.Metrics.Width(t) <= room {
			return t
		}
	}
	return s.Metrics.Cut(s.Text(texts[len(texts)-1]), max(room, 0), s.Theme.Glyphs.Cut)
}

// tail gives as many hints as have room, the last ones first.
func tail(s line.Style, hints []string, room int) string {
	for len(hints) > 0 {
		text := strings.Join(hints, "   ") + " "
		if s.Metrics.Width(text) <= room {
			return text
		}
		hints = hints[1:]
	}
	return ""
}

func stateSpan(s line.Style, f statusFacts) line.Span {
	g := s.Theme.Glyphs
	word := f.run.word(s.Theme.Lang(), f.now)
	switch {
	case f.extra != "":
		word = f.extra
	case f.asking:
		word = s.T("needs you")
	case f.paused:
		word = s.T("paused")
	case f.folding:
		word = s.T("folding")
	}
	switch {
	case f.asking, f.paused:
		return line.Say(theme.Warn, " "+g.Question+" "+word)
	case f.run.active && f.run.state == runtime.StateWaitingApproval:
		return line.Say(theme.Warn, " "+g.Question+" "+word)
	case f.run.active, f.folding:
		return line.Say(theme.Accent, " "+s.Theme.Spinner(s.Phase)+" "+s.Text(word))
	}
	switch f.run.state {
	case runtime.StateSucceeded:
		return line.Say(theme.Text, " "+g.Done+" "+word)
	case runtime.StateFailed:
		return line.Say(theme.Error, " "+g.Failed+" "+word)
	case runtime.StateExhausted:
		return line.Say(theme.Error, " "+g.Failed+" "+word+reasonText(s, f.run.reason))
	case runtime.StateCancelled:
		return line.Say(theme.Text, " "+g.Stopped+" "+word)
	}
	return line.Say(theme.Text, " "+s.Text(word))
}

func reasonText(s line.Style, reason string) string {
	if reason == "" {
		return ""
	}
	return s.T(": ##before a reason") + s.Tell(strings.ReplaceAll(reason, "_", " "))
}

// list gives the facts that fit the width, in order: where runs stand still, and what the run has used.
func (f statusFacts) list(l words.Lang, w int) []string {
	facts := f.used(l, w)
	if f.breaks != "" {
		facts = append([]string{f.breaks}, facts...)
	}
	return facts
}

// used is what the run has used, and of how much.
func (f statusFacts) used(l words.Lang, w int) []string {
	if !f.elapsed || f.run.active && f.run.retry != nil {
		return nil
	}
	r := f.run
	tokens, estimated := r.used()
	step, calls := l.T("step %d", r.step), l.T("calls %d", r.calls)
	of := words.Text("%s of %s")
	if w < 90 {
		of = "%s/%s"
	}
	took := l.Duration(r.elapsed(f.now))
	if f.limits.Deadline > 0 {
		took = l.T(of, took, l.Duration(f.limits.Deadline))
	}
	used := l.T("%s tokens", theme.Tokens(tokens, estimated))
	cost := theme.Money(r.spent.Cost)
	if r.spent.Cost == nil {
		cost = l.T("cost %s", theme.Unknown)
	}
	if f.limits.Cost != nil {
		cost = l.T(of, cost, theme.Money(f.limits.Cost))
	}
	switch {
	case w >= 140:
		if f.limits.Steps > 0 {
			step = l.T("step %d of %d", r.step, f.limits.Steps)
		}
		if f.limits.Calls > 0 {
			calls = l.T("calls %d of %d", r.calls, f.limits.Calls)
		}
		if f.limits.Tokens > 0 {
			used = l.T("%s of %s tokens", theme.Tokens(tokens, estimated), theme.Tokens(f.limits.Tokens, false))
		}
		return slices.Concat([]string{step, calls, took}, r.apart(l, w >= 200), []string{used, cost})
	case w >= 90:
		if f.limits.Steps > 0 {
			step = l.T("step %d of %d", r.step, f.limits.Steps)
		}
		if parts := r.apart(l, false); w >= wideWidth && len(parts) > 0 && r.sum == 0 {
			return slices.Concat([]string{step, took}, parts, []string{cost})
		}
		return []string{step, took, used, cost}
	}
	if f.limits.Steps > 0 {
		step = l.T("step %d/%d", r.step, f.limits.Steps)
	}
	if w < 60 {
		return []string{step}
	}
	return []string{step, took, cost}
}
