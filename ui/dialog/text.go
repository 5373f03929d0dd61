package dialog

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// Text is a text to read, such as an event as JSON.
type Text struct {
	kind  Kind
	title string
	body  string
	keys  Keys
	top   int
	page  int
	last  int // the greatest top, known after drawing
	rows  []string
	joins []string // what the text has behind each of them
	width int
	wrap  paint.Metrics
}

// NewText makes a reader. The body may come from anywhere: it is cleaned for the screen, and copied as it is.
func NewText(kind Kind, title, body string, keys Keys) *Text {
	return &Text{kind: kind, title: title, body: body, keys: keys, page: 10}
}

// Key scrolls, copies or closes.
func (t *Text) Key(k tea.KeyPressMsg) Result {
	switch {
	case key.Matches(k, t.keys.Close), key.Matches(k, t.keys.Accept), k.String() == "q":
		return t.Deny()
	case key.Matches(k, t.keys.Copy):
		return Copied{t.body}
	case key.Matches(k, t.keys.Up), k.String() == "k":
		t.Wheel(-1)
	case key.Matches(k, t.keys.Down), k.String() == "j":
		t.Wheel(1)
	case key.Matches(k, t.keys.PageUp), k.String() == "u":
		t.Wheel(-t.page)
	case key.Matches(k, t.keys.PageDown), k.String() == "d", k.String() == "space":
		t.Wheel(t.page)
	case key.Matches(k, t.keys.Top):
		t.top = 0
	case key.Matches(k, t.keys.Bottom):
		t.top = t.last
	}
	return nil
}

// Paste does nothing.
func (t *Text) Paste(string) {}

// Wheel scrolls.
func (t *Text) Wheel(lines int) { t.top = min(max(t.top+lines, 0), t.last) }

func (t *Text) lay(s line.Style, w int) {
	if t.rows != nil && t.width == w && t.wrap == s.Metrics {
		return
	}
	body := s.Metrics.Safe(paint.Clean(t.body))
	spans := s.Metrics.Spans(body, max(w-2, 1), max(w-2, 1))
	t.rows = make([]string, len(spans))
	for i, span := range spans {
		t.rows[i] = body[span.Start:span.End]
	}
	t.joins = s.Metrics.Breaks(body, spans, paint.Origin{})
	t.width, t.wrap = w, s.Metrics
}

// Size is what the text needs.
func (t *Text) Size(s line.Style, maxW, maxH int) (w, h int) {
	w = min(100, maxW)
	t.lay(s, w)
	return w, min(len(t.rows)+1, maxH)
}

// Rows draws the title and the part in view.
func (t *Text) Rows(s line.Style, w, h int) []string {
	t.lay(s, w)
	t.page = max(h-1, 1)
	t.last = max(len(t.rows)-t.page, 0)
	t.top = min(t.top, t.last)
	place := s.T("%d-%d of %d   y copy   Esc close", min(t.top+1, len(t.rows)), min(t.top+t.page, len(t.rows)), len(t.rows)) + " "
	if s.Metrics.Width(" "+s.Text(t.title)+"  "+place) > w { // what it is comes before the keys
		place = s.T("%d-%d of %d", min(t.top+1, len(t.rows)), min(t.top+t.page, len(t.rows)), len(t.rows)) + " "
	}
	rows := []string{s.Row(theme.OnRaised, w, []line.Span{line.Bold(theme.Strong, " "+s.Text(t.title))}, line.Say(theme.Faint, place))}
	for _, r := range t.rows[t.top:min(t.top+t.page, len(t.rows))] {
		rows = append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Text, " "+r)}))
	}
	return clip(rows, h)
}

// Join is what the text has between a row drawn last and the next: a line feed, or what was left out where a line was wrapped.
func (t *Text) Join(row int) string {
	if i := t.top + row - 1; i >= 0 && i < len(t.joins) {
		return t.joins[i]
	}
	return "\n"
}

// Cursor is nowhere.
func (t *Text) Cursor() (x, y int, ok bool) { return 0, 0, false }

// Deny closes it.
func (t *Text) Deny() Result { return Closed{t.kind} }
