package dialog

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Item is one row of a picker.
type Item struct {
	ID    string
	Label string
	// Cells stand on the right, one column each.
	Cells []Cell
	// Terms are words that find the item beside those that are shown.
	Terms string
	// Off says why it cannot be taken; such an item is shown and not picked.
	Off string
}

// Cell is a column of an item.
type Cell struct {
	Text string
	// Left sets it to the left of its column; numbers stand right.
	Left bool
	Role theme.Role
}

// Picker is a list that typing filters.
type Picker struct {
	kind    Kind
	title   string
	empty   string
	keys    Keys
	items   []Item
	shown   []int
	at, top int
	page    int // rows of the list drawn last
	manage  bool
	ranked  bool
	hint    string // of the last row
	field   field
}

// NewPicker makes a picker. empty is said when there is nothing; manage adds renaming and deleting.
func NewPicker(kind Kind, title, empty string, items []Item, manage bool, keys Keys) *Picker {
	p := &Picker{kind: kind, title: title, empty: empty, items: items, manage: manage, keys: keys, page: 10, field: newField(keys.Edit, "")}
	p.filter()
	return p
}

// Ranked puts what fits the filter best first: an item with a cell that begins with a slash and the first word, then those
// with words that begin like those of the filter, then the rest. Otherwise items keep their order.
func (p *Picker) Ranked() *Picker {
	p.ranked = true
	return p
}

// Hint says in a last row what Enter does, where that is not plain.
func (p *Picker) Hint(text string) *Picker {
	p.hint = text
	return p
}

// Kind tells what it picks.
func (p *Picker) Kind() Kind { return p.kind }

// SetItems replaces the items and keeps the filter and, by id, the place.
func (p *Picker) SetItems(items []Item) {
	id := p.id()
	p.items = items
	p.filter()
	for i, n := range p.shown {
		if items[n].ID == id {
			p.at = i
		}
	}
}

func (p *Picker) id() string {
	if p.at < len(p.shown) {
		return p.items[p.shown[p.at]].ID
	}
	return ""
}

// filter keeps the items that have every word of the field.
func (p *Picker) filter() {
	words := strings.Fields(strings.ToLower(p.field.edit.Text()))
	p.shown = p.shown[:0]
	ranks := make(map[int]int, len(p.items))
	for i, it := range p.items {
		hay := strings.ToLower(it.Label + " " + it.ID + " " + it.Terms)
		for _, c := range it.Cells {
			hay += " " + strings.ToLower(c.Text)
		}
		if containsAll(hay, words) {
			p.shown = append(p.shown, i)
			ranks[i] = rank(" "+hay, words)
		}
	}
	if p.ranked {
		slices.SortStableFunc(p.shown, func(a, b int) int { return ranks[a] - ranks[b] })
	}
	p.at, p.top = min(p.at, max(len(p.shown)-1, 0)), 0
}

// rank is 0 for the name of a command, 1 for beginnings of words, 2 for the rest.
func rank(hay string, words []string) int {
	if len(words) > 0 && strings.Contains(hay, " /"+words[0]) {
		return 0
	}
	for _, w := range words {
		if !strings.Contains(hay, " "+w) {
			return 2
		}
	}
	return 1
}

func containsAll(hay string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(hay, w) {
			return false
		}
	}
	return true
}

// Key moves, picks, or filters.
func (p *Picker) Key(k tea.KeyPressMsg) Result {
	switch {
	case key.Matches(k, p.keys.Close):
		return p.Deny()
	case key.Matches(k, p.keys.Accept):
		return p.pick(ActOpen)
	case p.manage && key.Matches(k, p.keys.Rename):
		return p.pick(ActRename)
	case p.manage && key.Matches(k, p.keys.Star):
		return p.pick(ActStar)
	case p.manage && key.Matches(k, p.keys.Search):
		return Picked{p.kind, p.field.edit.Text(), ActSearch}
	case p.manage && key.Matches(k, p.keys.Delete):
		return p.pick(ActDelete)
	case !p.manage && key.Matches(k, p.keys.Rename): // the key that searches in shells goes on to the next
		p.step(1)
	case key.Matches(k, p.keys.Up):
		p.step(-1)
	case key.Matches(k, p.keys.Down):
		p.step(1)
	case key.Matches(k, p.keys.PageUp):
		p.step(-p.page)
	case key.Matches(k, p.keys.PageDown):
		p.step(p.page)
	default:
		before := p.field.edit.Text()
		p.field.edit.Key(k)
		if p.field.edit.Text() != before {
			p.at = 0
			p.filter()
		}
	}
	return nil
}

func (p *Picker) pick(a Act) Result {
	if p.at >= len(p.shown) || a == ActOpen && p.items[p.shown[p.at]].Off != "" {
		return nil
	}
	return Picked{p.kind, p.id(), a}
}

func (p *Picker) step(d int) { p.at = min(max(p.at+d, 0), max(len(p.shown)-1, 0)) }

// Paste filters by the pasted text.
func (p *Picker) Paste(text string) {
	p.field.edit.Insert(paint.CleanLine(text))
	p.filter()
}

// Wheel moves the choice.
func (p *Picker) Wheel(lines int) { p.step(lines) }

// Size is a row for each item and one for the title.
func (p *Picker) Size(_ line.Style, maxW, maxH int) (w, h int) {
	h = max(len(p.items), 1) + 1
	if p.manage || p.hint != "" {
		h++
	}
	return min(64, maxW), min(h, maxH)
}

// Rows draws title, filter and list.
func (p *Picker) Rows(s line.Style, w, h int) []string {
	head := " " + p.title + "  "
	at := s.Metrics.Width(head)
	list := h - 1
	hinted := (p.manage || p.hint != "") && (h > 3 || len(p.items) <= h-2)
	if hinted {
		list--
	}
	p.page = max(list, 1)
	p.top = min(max(p.top, p.at-p.page+1), p.at)
	count := s.T("%d of %d", len(p.shown), len(p.items)) + " "
	if len(p.shown) > p.page { // there is more than what is seen
		count = s.T("%d-%d of %d", p.top+1, min(p.top+p.page, len(p.shown)), len(p.shown)) + " "
	}
	rows := []string{s.Row(theme.OnRaised, w,
		[]line.Span{line.Bold(theme.Strong, head), p.field.draw(s, at, 0, w-at-s.Metrics.Width(count)-1)}, line.Say(theme.Faint, count))}
	widths, longest := p.widths(s), p.longest(s)
	for i := p.top; i < min(p.top+list, len(p.shown)); i++ {
		rows = append(rows, p.item(s, p.items[p.shown[i]], i == p.at, widths, longest, w))
	}
	if len(p.shown) == 0 && list > 0 {
		text := p.empty
		if len(p.items) > 0 {
			text = s.T("nothing fits; Backspace takes a letter back")
		}
		rows = append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, " "+text)}))
	}
	for len(rows) < list+1 {
		rows = append(rows, s.Blank(theme.OnRaised, w))
	}
	if hinted {
		hint := " " + p.hint
		if p.hint == "" {
			hint = " " + s.T("Ctrl+R rename   Ctrl+T star   Ctrl+F search   Ctrl+D delete")
		}
		if p.hint == "" && s.Metrics.Width(hint) > w {
			hint = " " + s.T("Ctrl+R name Ctrl+T star Ctrl+F search")
		}
		rows = append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, s.Clauses(hint, w-1))}))
	}
	return clip(rows, h)
}

// widths are those of the columns over all items, so that filtering moves nothing.
func (p *Picker) widths(s line.Style) []int {
	var widths []int
	for _, it := range p.items {
		for i, c := range it.Cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], s.Metrics.Width(s.Text(c.Text)))
		}
	}
	return widths
}

// longest is the width of the longest label over all items.
func (p *Picker) longest(s line.Style) int {
	n := 0
	for _, it := range p.items {
		n = max(n, s.Metrics.Width(s.Text(it.Label)))
	}
	return n
}

func (p *Picker) item(s line.Style, it Item, here bool, widths []int, longest, w int) string {
	bg, mark, role := theme.OnRaised, " ", theme.Text
	if here {
		bg, mark, role = theme.OnRow, s.Theme.Glyphs.Here, theme.Strong
	}
	if it.Off != "" {
		role = theme.Faint
	}
	var right []line.Span
	for i, c := range it.Cells {
		text := s.Text(c.Text)
		if c.Left {
			text = s.Metrics.Fit(text, widths[i])
		} else {
			text = s.Metrics.FitRight(text, widths[i])
		}
		right = append(right, line.Say(c.Role, "  "+text))
	}
	right = append(right, line.Say(theme.Text, " "))
	// Columns go, from the left, where the label would have no room: what a row is called is more than what is told of it.
	for len(right) > 1 && w-1-s.Width(right...) < min(24, w/2, longest) {
		right = right[1:]
	}
	return s.Row(bg, w, []line.Span{line.Say(theme.Accent, mark), line.Weight(role, here, s.Text(it.Label))}, right...)
}

// Cursor is in the filter.
func (p *Picker) Cursor() (x, y int, ok bool) { return p.field.x, p.field.y, true }

// Deny closes it.
func (p *Picker) Deny() Result { return Closed{p.kind} }
