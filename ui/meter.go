package ui

import (
	"fmt"
	"strings"

	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// tightShare is how full the context is when the meter warns.
const tightShare = 0.85

// meterRow draws how full the context is. todos is a word on them for widths without their pane; it may be empty.
func meterRow(s line.Style, w int, m trace.Meter, todos string) string {
	cells, at, of := 20, 5, " of "
	switch {
	case w >= 140:
		cells, at = 40, 4
	case w < 60:
		cells, at, of = 10, 1, " / "
	}
	if m.Limit <= 0 {
		return s.Row(theme.OnBase, w, []line.Span{line.Say(theme.Faint, paint.Spaces(at)+strings.Repeat(s.Theme.Glyphs.MeterFree, cells))}, line.Say(theme.Faint, todos+" "))
	}
	left := []line.Span{line.Say(theme.Text, paint.Spaces(at))}
	left = append(left, meterBar(s, cells, m)...)
	left = append(left, line.Say(fullness(m), "  "+theme.Tokens(m.Used(), m.Estimated)+of+theme.Tokens(m.Limit, false)))
	if w >= 140 {
		g := s.Theme.Glyphs
		legend := func(glyph, name string, n int) string { return glyph + " " + name + " " + kilo(n) }
		left = append(left, line.Say(theme.Faint, "    "+strings.Join([]string{
			legend(g.MeterFixed, "system", m.System), legend(g.MeterMem, "memory", m.Memory),
			legend(g.MeterWin, "window", m.Window), legend(g.MeterFree, "free", max(m.Limit-m.Used(), 0)),
		}, "   ")))
	}
	facts := []string{turnsText(m), cachedText(m)}
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

func turnsText(m trace.Meter) string {
	if m.MaxTurns == 0 {
		return fmt.Sprintf("%d turns", m.Turns)
	}
	return fmt.Sprintf("%d of %d turns", m.Turns, m.MaxTurns)
}

func cachedText(m trace.Meter) string {
	if m.Cached == nil {
		return theme.Unknown + " cached"
	}
	return fmt.Sprintf("%.0f%% cached", *m.Cached*100)
}

// meterBar divides the cells among the parts; a part that is there has one cell at least.
func meterBar(s line.Style, cells int, m trace.Meter) []line.Span {
	g := s.Theme.Glyphs
	role := fullness(m)
	parts := []struct {
		n     int
		glyph string
		role  theme.Role
	}{{m.System, g.MeterFixed, role}, {m.Memory, g.MeterMem, role}, {m.Window, g.MeterWin, role}}
	var spans []line.Span
	total := max(m.Limit, m.Used(), 1)
	taken, sum := 0, 0
	for _, p := range parts {
		if p.n <= 0 {
			continue
		}
		sum += p.n
		end := min(max((sum*cells+total/2)/total, taken+1), cells)
		if end > taken {
			spans = append(spans, line.Say(p.role, strings.Repeat(p.glyph, end-taken)))
		}
		taken = max(taken, end)
	}
	if taken < cells {
		spans = append(spans, line.Say(theme.Rule, strings.Repeat(g.MeterFree, cells-taken)))
	}
	return spans
}
