package dialog

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime/find"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Sought is a text that was typed into a search: the owner looks for it.
type Sought struct {
	Kind Kind
	Text string
}

func (Sought) result() {}

// SearchRow is one row of what was found.
type SearchRow struct {
	// ID is empty for the head of a group, which is not chosen.
	ID string
	// Text is one line, with Spans of it, in bytes, where the words are; Note stands before it, Right at the right end.
	Text  string
	Spans []find.Span
	Note  string
	Right string
}

// Search is a field and what was found for it, in groups.
type Search struct {
	kind    Kind
	title   string
	hint    string
	status  string
	keys    Keys
	field   field
	rows    []SearchRow
	at, top int // of rows
	page    int
}

// NewSearch makes a search with a text to start from.
func NewSearch(kind Kind, title, hint, text string, keys Keys) *Search {
	return &Search{kind: kind, title: title, hint: hint, keys: keys, field: newField(keys.Edit, text), page: 10}
}

// Kind tells what it searches.
func (s *Search) Kind() Kind { return s.kind }

// Text is what was typed.
func (s *Search) Text() string { return s.field.edit.Text() }

// SetRows shows what was found, and a word on it. What was chosen stays chosen if it is still there.
func (s *Search) SetRows(rows []SearchRow, status string) {
	id := ""
	if s.at < len(s.rows) {
		id = s.rows[s.at].ID
	}
	s.rows, s.status = rows, status
	s.at, s.top = 0, 0
	for i, r := range rows {
		if r.ID != "" && r.ID == id {
			s.at = i
		}
	}
	s.move(0)
}

// move goes by rows that can be chosen.
func (s *Search) move(d int) {
	step := 1
	if d < 0 {
		step = -1
	}
	at := s.at
	for i, left := s.at+d, len(s.rows); left > 0; left-- {
		i = min(max(i, 0), len(s.rows)-1)
		if s.rows[i].ID != "" {
			at = i
			break
		}
		if i == 0 && step < 0 || i == len(s.rows)-1 && step > 0 {
			break
		}
		i += step
	}
	s.at = at
}

// Key moves, takes, or types.
func (s *Search) Key(k tea.KeyPressMsg) Result {
	switch {
	case key.Matches(k, s.keys.Close):
		return s.Deny()
	case key.Matches(k, s.keys.Accept):
		if s.at < len(s.rows) && s.rows[s.at].ID != "" {
			return Picked{s.kind, s.rows[s.at].ID, ActOpen}
		}
	case key.Matches(k, s.keys.Up):
		s.move(-1)
	case key.Matches(k, s.keys.Down):
		s.move(1)
	case key.Matches(k, s.keys.PageUp):
		s.move(-s.page)
	case key.Matches(k, s.keys.PageDown):
		s.move(s.page)
	default:
		before := s.Text()
		s.field.edit.Key(k)
		if s.Text() != before {
			return Sought{s.kind, s.Text()}
		}
	}
	return nil
}

// Paste looks for the pasted text.
func (s *Search) Paste(text string) { s.field.edit.Insert(paint.CleanLine(text)) }

// Wheel moves the choice.
func (s *Search) Wheel(lines int) { s.move(lines) }

// Size takes all the room that there is: what is found comes later.
func (s *Search) Size(_ line.Style, maxW, maxH int) (w, h int) { return min(110, maxW), maxH }

// Rows draws the field and what was found.
func (s *Search) Rows(st line.Style, w, h int) []string {
	head := " " + s.title + "  "
	at := st.Metrics.Width(head)
	status := st.Text(s.status) + " "
	if st.Metrics.Width(status) > w-at-10 {
		status = ""
	}
	rows := []string{st.Row(theme.OnRaised, w,
		[]line.Span{line.Bold(theme.Strong, head), s.field.draw(st, at, 0, max(w-at-st.Metrics.Width(status)-1, 1))}, line.Say(theme.Faint, status))}
	list := max(h-1, 0)
	if h > 4 {
		list--
	}
	s.page = max(list-1, 1)
	if s.top > s.at || s.top+list <= s.at {
		s.top = max(s.at-list+1, 0)
	}
	if s.top == s.at && s.top > 0 && s.rows[s.top-1].ID == "" {
		s.top-- // its head
	}
	for i := s.top; i < min(s.top+list, len(s.rows)); i++ {
		rows = append(rows, s.row(st, s.rows[i], i == s.at, w))
	}
	for len(rows) < list+1 {
		rows = append(rows, st.Blank(theme.OnRaised, w))
	}
	if h > 4 {
		rows = append(rows, st.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, " "+st.Whole(s.hint, w-1))}))
	}
	return clip(rows, h)
}

func (s *Search) row(st line.Style, r SearchRow, here bool, w int) string {
	right := []line.Span{line.Say(theme.Faint, st.Text(r.Right)+" ")}
	if r.ID == "" {
		return st.Row(theme.OnRaised, w, []line.Span{line.Bold(theme.Strong, " "+st.Text(r.Text))}, right...)
	}
	bg, mark, role := theme.OnRaised, " ", theme.Text
	if here {
		bg, mark, role = theme.OnRow, st.Theme.Glyphs.Here, theme.Strong
	}
	left := []line.Span{line.Say(theme.Accent, mark), line.Say(theme.Faint, " "+st.Text(r.Note)+"  ")}
	at := 0
	for _, sp := range r.Spans {
		left = append(left, line.Say(role, st.Text(r.Text[at:sp.From])), line.Bold(theme.Accent, st.Text(r.Text[sp.From:sp.To])))
		at = sp.To
	}
	left = append(left, line.Say(role, st.Text(r.Text[at:])))
	if r.Right == "" {
		right = nil
	}
	return st.Row(bg, w, left, right...)
}

// Cursor is in the field.
func (s *Search) Cursor() (x, y int, ok bool) { return s.field.x, s.field.y, true }

// Deny closes it.
func (s *Search) Deny() Result { return Closed{s.kind} }
