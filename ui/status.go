package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vitrine/runtime"
	"vitrine/ui/line"
	"vitrine/ui/paint"
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
		if message.role == theme.Text {
			message.text = s.Clauses(message.text, w-2)
		}
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
	sep, slot := "   ", stateSlot
	facts := f.list(s, w)
	switch {
	case w < 60:
		sep = "  "
	case w < 90:
		sep, slot = "  ", stateSlotNarrow
	}
	state := stateSpan(s, f)
	since, waits := f.quiet(s, slot)
	state.Text += since
	left := []line.Span{state}
	for i, fact := range facts {
		if i == 0 {
			fact = paint.Spaces(slot-s.Width(left...)) + sep + fact
		} else {
			fact = sep + fact
		}
		left = append(left, line.Say(theme.Text, fact))
	}
	right := tail(s, hints, w-s.Width(left...)-2)
	for all := tail(s, hints, w); f.needsYou() && right != all && len(left) > 1; {
		left = left[:len(left)-1] // how to answer is more than what was used
		right = tail(s, hints, w-s.Width(left...)-2)
	}
	if waits != "" { // for how long is more than a hint
		waits = sep + waits
		if less := tail(s, hints, w-s.Width(left...)-s.Metrics.Width(waits)-2); less != "" {
			left, right = append(left, line.Say(theme.Text, waits)), less
		}
	}
	if doing := sep + f.doing(s); f.doing(s) != "" && s.Width(left...)+s.Metrics.Width(doing)+s.Metrics.Width(right)+2 <= w {
		left = append(left, line.Say(theme.Text, doing)) // it comes and goes, so it stands last and takes nothing's place
	}
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

// needsYou says that the run stands still until the user says something.
func (f statusFacts) needsYou() bool {
	return f.asking || f.paused || f.run.active && f.run.state == runtime.StateWaitingApproval
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
	case f.needsYou():
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

// What counts up keeps its place: every fact has the room that it will need, with numbers at its right end.
const (
	stateSlot       = 3 + len("waiting 12 s") // with the glyph
	stateSlotNarrow = 3 + len("streaming")
	tokensSlot      = len("~32.4k")
	longSpan        = 125 * time.Second // a duration as wide as they get
)

// set puts a number at the right end of its room.
func set(s line.Style, number string, room int) string {
	return paint.Spaces(room-s.Metrics.Width(number)) + number
}

// list gives the facts that fit the width, in order: where runs stand still, and what the run has used.
func (f statusFacts) list(s line.Style, w int) []string {
	facts := f.used(s, w)
	if f.breaks != "" {
		facts = append([]string{f.breaks}, facts...)
	}
	return facts
}

// quiet tells for how long nothing came from the model: beside the word for that where its room has place for it, else behind the
// facts, where what comes and goes moves nothing.
func (f statusFacts) quiet(s line.Style, room int) (beside, behind string) {
	since, alive, ok := f.run.quiet(f.now)
	if !ok || f.needsYou() || f.folding || f.extra != "" {
		return "", ""
	}
	l := s.Theme.Lang()
	if room == stateSlotNarrow {
		if alive {
			return "", l.T("alive, silent %s", passed(l, since))
		}
		return "", l.T("silent %s", passed(l, since))
	}
	took := passed(l, since)
	switch n := int(since.Seconds()); {
	case n >= 600:
		took = l.Ago(since)
	case n >= 60:
		took = fmt.Sprintf("%d:%02d", n/60, n%60)
	}
	if alive {
		behind = l.T("server alive")
	}
	return " " + took, behind
}

// doing is the tool that runs, where the line says only that one does.
func (f statusFacts) doing(s line.Style) string {
	r := f.run
	if !r.active || f.asking || f.paused || f.folding || f.extra != "" || r.state != runtime.StateExecuting && r.state != runtime.StateRetryingTool {
		return ""
	}
	return s.Text(r.tool)
}

// used is what the run has used, and of how much.
func (f statusFacts) used(s line.Style, w int) []string {
	if !f.elapsed || f.run.active && f.run.retry != nil {
		return nil
	}
	r, l := f.run, s.Theme.Lang()
	tokens, estimated := r.used()
	step, calls := l.T("step %d", r.step), l.T("calls %d", r.calls)
	of := words.Text("%s of %s")
	if w < 90 {
		of = "%s/%s"
	}
	took, room := l.Duration(r.elapsed(f.now)), s.Metrics.Width(l.Duration(longSpan))
	if s.Metrics.Width(took) > room {
		took = strings.ReplaceAll(took, " ", "")
	}
	took = set(s, took, room)
	if f.limits.Deadline > 0 {
		took = l.T(of, took, l.Duration(f.limits.Deadline))
	}
	used := l.T("%s tokens", set(s, theme.Tokens(tokens, estimated), tokensSlot))
	cost := theme.Money(r.spent.Cost)
	if r.spent.Cost == nil {
		cost = l.T("cost %s", theme.Unknown)
	}
	if f.limits.Cost != nil {
		cost = l.T(of, cost, theme.Money(f.limits.Cost))
	}
	counted := func(t words.Text, n, most int) string {
		return l.T(t, set(s, strconv.Itoa(n), len(strconv.Itoa(most))), most)
	}
	switch {
	case w >= 140:
		if f.limits.Steps > 0 {
			step = counted("step %s of %d", r.step, f.limits.Steps)
		}
		if f.limits.Calls > 0 {
			calls = counted("calls %s of %d", r.calls, f.limits.Calls)
		}
		if f.limits.Tokens > 0 {
			used = l.T("%s of %s tokens", set(s, theme.Tokens(tokens, estimated), tokensSlot), theme.Tokens(f.limits.Tokens, false))
		}
		facts := []string{step, calls, took}
		if r.sum == 0 {
			facts = append(facts, r.apart(s, w >= 200)...)
		}
		facts = append(facts, used, cost)
		if u := r.spent; w >= 200 && u.Reasoning != nil { // few models report it: it takes no place that others had
			facts = append(facts, l.T("%s reasoning", theme.Tokens(*u.Reasoning, false)))
		}
		return facts
	case w >= 90:
		if f.limits.Steps > 0 {
			step = counted("step %s of %d", r.step, f.limits.Steps)
		}
		if w >= wideWidth && r.sum == 0 {
			return slices.Concat([]string{step, took}, r.apart(s, false), []string{cost})
		}
		return []string{step, took, used, cost}
	}
	if f.limits.Steps > 0 {
		step = counted("step %s/%d", r.step, f.limits.Steps)
	}
	if w < 60 {
		return []string{step}
	}
	return []string{step, took, cost}
}
