package ui

import (
	"fmt"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime/prompt"
	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// tightShare is how full the context is when the meter warns.
const tightShare = 0.85

// shrinkTime is how long the meter takes to shrink.
const shrinkTime = 400 * time.Millisecond

// gauge is the meter of a page: it shrinks before the eyes of the reader, and counts what is being typed.
type gauge struct {
	now, from trace.Meter
	since     time.Time // when it began to shrink
	draft     int       // tokens of what is in the input
}

// set takes a new measure at a time.
func (g *gauge) set(m trace.Meter, at time.Time) {
	shown := g.at(at, false)
	g.from, g.since = trace.Meter{}, time.Time{}
	if m.Used() < shown.Used() {
		g.from, g.since = shown, at
	}
	g.now = m
}

// shrinking says that it moves at a time.
func (g *gauge) shrinking(at time.Time) bool {
	return !g.since.IsZero() && at.Sub(g.since) < shrinkTime
}

// at is what is shown at a time, without the draft. A meter that does not slide jumps.
func (g *gauge) at(at time.Time, still bool) trace.Meter {
	if still || !g.shrinking(at) {
		return g.now
	}
	rest := 1 - float64(at.Sub(g.since))/float64(shrinkTime)
	rest *= rest // fast, then slower
	between := func(from, to int) int { return to + int(float64(from-to)*rest) }
	m := g.now
	m.System, m.Memory, m.Window = between(g.from.System, m.System), between(g.from.Memory, m.Memory), between(g.from.Window, m.Window)
	return m
}

// meterRow draws how full the context is. draft of it is what is being typed. todos is a word on them for widths without their
// pane; it may be empty.
func meterRow(s line.Style, w int, m trace.Meter, draft int, todos string) string {
	if draft > 0 {
		m.Window += draft
		m.Estimated = true
	}
	cells, at, of := 20, 5, words.Text("%s of %s")
	switch {
	case w >= 140:
		cells, at = 40, 4
	case w < 60:
		cells, at, of = 10, 1, "%s / %s"
	}
	if m.Limit <= 0 {
		// Nobody has measured: the session is still opening, or another process holds it.
		return s.Row(theme.OnBase, w, []line.Span{line.Say(theme.Rule, paint.Spaces(at)+strings.Repeat(s.Theme.Glyphs.MeterFree, cells)),
			line.Say(theme.Faint, "  "+s.T(of, theme.Unknown, theme.Unknown))}, line.Say(theme.Faint, todos+" "))
	}
	left := []line.Span{line.Say(theme.Text, paint.Spaces(at))}
	left = append(left, meterBar(s, cells, m, draft)...)
	left = append(left, line.Say(fullness(m), "  "+s.T(of, theme.Tokens(m.Used(), m.Estimated), theme.Tokens(m.Limit, false))))
	if w >= 140 {
		g := s.Theme.Glyphs
		legend := func(glyph, name string, n int) string { return glyph + " " + name + " " + kilo(n) }
		left = append(left, line.Say(theme.Faint, "    "+strings.Join([]string{
			legend(g.MeterFixed, s.T("system"), m.System), legend(g.MeterMem, s.T("memory"), m.Memory),
			legend(g.MeterWin, s.T("window"), m.Window), legend(g.MeterFree, s.T("free"), max(m.Limit-m.Used(), 0)),
		}, "   ")))
	}
	facts := []string{turnsText(s, m), cachedText(s, m)}
	if todos != "" {
		facts = append(facts, todos)
	}
	for len(facts) > 0 {
		right := strings.Join(facts, "   ") + " "
		if s.Width(left...)+s.Metrics.Width(right)+2 <= w {
			return s.Row(theme.OnBase, w, left, line.Say(theme.Faint, right))
		}
		facts = facts[1:]
	}
	return s.Row(theme.OnBase, w, left)
}

// kilo writes thousands with one decimal, so that the parts line up.
func kilo(n int) string { return fmt.Sprintf("%.1fk", float64(n)/1000) }

func fullness(m trace.Meter) theme.Role {
	switch used := m.Used(); {
	case used > m.Limit:
		return theme.Error
	case float64(used) >= tightShare*float64(m.Limit):
		return theme.Warn
	}
	return theme.Text
}

func turnsText(s line.Style, m trace.Meter) string {
	switch {
	case m.MaxTurns == 0:
		return s.T("%d turns", m.Turns)
	case m.Turns > m.MaxTurns: // within the slack before a fold
		return s.T("%d turns, %d stay", m.Turns, m.MaxTurns)
	}
	return s.T("%d of %d turns", m.Turns, m.MaxTurns)
}

func cachedText(s line.Style, m trace.Meter) string {
	if m.Cached == nil {
		return s.T("%s cached", theme.Unknown)
	}
	return s.T("%.0f%% cached", *m.Cached*100)
}

// meterBar divides the cells among the parts; a part that is there has one cell at least.
func meterBar(s line.Style, cells int, m trace.Meter, draft int) []line.Span {
	g := s.Theme.Glyphs
	role := fullness(m)
	n := line.Divide(cells, m.Limit, m.System, m.Memory, m.Window-draft, draft)
	var spans []line.Span
	free := cells
	for i, part := range []line.Span{line.Say(role, g.MeterFixed), line.Say(role, g.MeterMem), line.Say(role, g.MeterWin), line.Say(theme.Accent, g.MeterWin)} {
		if n[i] > 0 {
			part.Text = strings.Repeat(part.Text, n[i])
			spans = append(spans, part)
			free -= n[i]
		}
	}
	if free > 0 {
		spans = append(spans, line.Say(theme.Rule, strings.Repeat(g.MeterFree, free)))
	}
	return spans
}

// draftSample bounds what is counted of a draft; a longer one is measured by it.
const draftSample = 32 << 10

// draftTokens is what a text would add to the prompt; commands add nothing.
func draftTokens(text string) int {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || strings.HasPrefix(text, "/") {
		return 0
	}
	if len(text) > draftSample {
		return prompt.Estimate(strings.ToValidUTF8(text[:draftSample], "")) * (len(text) / draftSample)
	}
	return prompt.EstimateMessage(llm.Message{Content: text})
}
