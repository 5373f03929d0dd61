package dialog

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Group is one part of the help.
type Group struct {
	Name     string
	Bindings []key.Binding
}

// Help lists keys, made of the bindings that match them; typing filters.
type Help struct {
	kind   Kind
	groups []Group
	keys   Keys
	field  field
	top    int
	last   int
	page   int
}

// NewHelp makes the help.
func NewHelp(kind Kind, groups []Group, keys Keys) *Help {
	return &Help{kind: kind, groups: groups, keys: keys, page: 10, field: newField(keys.Edit, "")}
}

// Key scrolls, filters or closes.
func (h *Help) Key(k tea.KeyPressMsg) Result {
	switch {
	case key.Matches(k, h.keys.Close), key.Matches(k, h.keys.Accept):
		return h.Deny()
	case key.Matches(k, h.keys.Up):
		h.Wheel(-1)
	case key.Matches(k, h.keys.Down):
		h.Wheel(1)
	case key.Matches(k, h.keys.PageUp):
		h.Wheel(-h.page)
	case key.Matches(k, h.keys.PageDown):
		h.Wheel(h.page)
	default:
		h.field.edit.Key(k)
		h.top = 0
	}
	return nil
}

// Paste filters by the pasted text.
func (h *Help) Paste(text string) { h.field.edit.Insert(paint.CleanLine(text)) }

// Wheel scrolls.
func (h *Help) Wheel(lines int) { h.top = min(max(h.top+lines, 0), h.last) }

// entry is one key and what it does; the first of a group carries the group's name.
type entry struct{ group, keys, desc string }

func (h *Help) entries(l words.Lang) []entry {
	sought := strings.Fields(strings.ToLower(h.field.edit.Text()))
	var out []entry
	for _, g := range h.groups {
		name := g.Name
		for _, b := range g.Bindings {
			help := b.Help()
			if !b.Enabled() || !containsAll(strings.ToLower(g.Name+" "+help.Key+" "+help.Desc+" "+l.Kept(help.Desc)), sought) {
				continue
			}
			out = append(out, entry{name, l.Key(help.Key), l.Kept(help.Desc)})
			name = ""
		}
	}
	return out
}

const (
	groupCells = 9
	keyCells   = 13
)

// lay puts the entries into as many columns as there is room for, group by group.
func (h *Help) lay(s line.Style, w int) [][]line.Span {
	columns := max((w-groupCells-2)/(keyCells+25), 1)
	cell := (w - groupCells - 2) / columns
	var rows [][]line.Span
	entries := h.entries(s.Theme.Lang())
	for i := 0; i < len(entries); {
		end := i + 1
		for end < len(entries) && entries[end].group == "" {
			end++
		}
		rows = append(rows, gridRows(s, entries[i:end], columns, cell)...)
		i = end
	}
	return rows
}

func gridRows(s line.Style, group []entry, columns, cell int) [][]line.Span {
	n := (len(group) + columns - 1) / columns
	rows := make([][]line.Span, 0, n)
	for r := range n {
		name := ""
		if r == 0 {
			name = group[0].group
		}
		row := []line.Span{line.Say(theme.Accent, s.Metrics.Fit(" "+name, groupCells))}
		for c := range columns {
			if i := c*n + r; i < len(group) {
				row = append(row, line.Say(theme.Strong, s.Metrics.Fit(group[i].keys, keyCells)),
					line.Say(theme.Text, s.Metrics.Fit(s.Clauses(group[i].desc, max(cell-keyCells-1, 1)), max(cell-keyCells-1, 1))+" "))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Size is what the keys need.
func (h *Help) Size(s line.Style, maxW, maxH int) (w, rows int) {
	w = min(92, maxW)
	all := Help{groups: h.groups, field: newField(h.keys.Edit, "")}
	return w, min(len(all.lay(s, w))+1, maxH)
}

// Rows draws them.
func (h *Help) Rows(s line.Style, w, height int) []string {
	title := " " + s.T("KEYS") + "  "
	hint := s.T("Up, Down scroll   Esc close") + " "
	at := s.Metrics.Width(title)
	if room := w - at - 1; s.Metrics.Width(s.T("type to filter")+hint) > room { // the status line has Esc
		hint = s.Whole(strings.TrimRight(hint, " "), room-s.Metrics.Width(s.T("type to filter"))-1) + " "
	}
	rows := []string{s.Row(theme.OnRaised, w,
		[]line.Span{line.Bold(theme.Strong, title), h.field.draw(s, at, 0, w-at-s.Metrics.Width(hint)-1)}, line.Say(theme.Faint, hint))}
	if h.field.edit.Empty() {
		rows[0] = s.Row(theme.OnRaised, w, []line.Span{line.Bold(theme.Strong, title), line.Say(theme.Faint, s.T("type to filter"))}, line.Say(theme.Faint, hint))
	}
	all := h.lay(s, w)
	h.page = max(height-1, 1)
	h.last = max(len(all)-h.page, 0)
	h.top = min(h.top, h.last)
	for _, r := range all[h.top:min(h.top+h.page, len(all))] {
		rows = append(rows, s.Row(theme.OnRaised, w, r))
	}
	if len(all) == 0 {
		rows = append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, " "+s.T("no key for that"))}))
	}
	for len(rows) < height {
		rows = append(rows, s.Blank(theme.OnRaised, w))
	}
	return clip(rows, height)
}

// Cursor is in the filter.
func (h *Help) Cursor() (x, y int, ok bool) { return h.field.x, h.field.y, true }

// Deny closes it.
func (h *Help) Deny() Result { return Closed{h.kind} }
