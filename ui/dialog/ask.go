package dialog

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/ui/line"
	"vitrine/ui/theme"
)

// Choice is one answer to a question.
type Choice struct {
	// Key is the letter that takes it, ID what the result says.
	Key, ID string
	Label   string
}

// Ask is a question with a few answers.
type Ask struct {
	kind    Kind
	title   string // the state in capitals
	fact    string
	choices []Choice
	at      int
	keys    Keys
}

// NewAsk makes a question: what it is about, the fact, and the answers.
func NewAsk(kind Kind, title, fact string, choices []Choice, keys Keys) *Ask {
	return &Ask{kind: kind, title: title, fact: fact, choices: choices, keys: keys}
}

// Key takes a letter, or moves and takes.
func (a *Ask) Key(k tea.KeyPressMsg) Result {
	switch {
	case key.Matches(k, a.keys.Close):
		return a.Deny()
	case key.Matches(k, a.keys.Accept):
		return Chosen{a.kind, a.choices[a.at].ID}
	case key.Matches(k, a.keys.Up):
		a.step(-1)
	case key.Matches(k, a.keys.Down):
		a.step(1)
	default:
		for _, c := range a.choices {
			if k.String() == c.Key {
				return Chosen{a.kind, c.ID}
			}
		}
	}
	return nil
}

func (a *Ask) step(d int) { a.at = min(max(a.at+d, 0), len(a.choices)-1) }

// Paste does nothing: a paste is no answer.
func (a *Ask) Paste(string) {}

// Wheel moves the choice.
func (a *Ask) Wheel(lines int) { a.step(lines) }

// Size is a row for the question, one for each answer, one for the keys, and where there is room for it what these need to be whole.
func (a *Ask) Size(s line.Style, maxW, maxH int) (w, h int) {
	w, h = min(64, maxW), len(a.choices)+2
	if whole := len(a.fold(s, w)) + 1; whole <= maxH {
		h = whole
	}
	return w, min(h, maxH)
}

// askRow is a row of the question, or of an answer from 0 on.
type askRow struct {
	choice int
	first  bool
	text   string
}

// fold divides question and answers into rows of w cells.
func (a *Ask) fold(s line.Style, w int) []askRow {
	var rows []askRow
	add := func(choice, first, rest int, text string) {
		for i, span := range s.Metrics.Spans(text, max(first, 1), max(rest, 1)) {
			rows = append(rows, askRow{choice, i == 0, text[span.Start:span.End]})
		}
	}
	add(-1, w-4-s.Metrics.Width(a.title+"  "), w-4, s.Text(a.fact))
	for i, c := range a.choices {
		add(i, w-5, w-5, s.Text(c.Label))
	}
	return rows
}

// Rows draws the question.
func (a *Ask) Rows(s line.Style, w, h int) []string {
	folded := a.fold(s, w)
	if len(folded) >= h { // no room for that
		folded = []askRow{{-1, true, s.Text(a.fact)}}
		for i, c := range a.choices {
			folded = append(folded, askRow{i, true, s.Text(c.Label)})
		}
	}
	rows := make([]string, 0, len(folded)+1)
	for _, r := range folded {
		bg, mark, role := theme.OnRaised, " ", theme.Text
		switch {
		case r.choice < 0 && r.first:
			rows = append(rows, s.Row(bg, w, []line.Span{line.Say(theme.Warn, " "+s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, a.title+"  "), line.Say(role, r.text)}))
			continue
		case r.choice < 0:
			rows = append(rows, s.Row(bg, w, []line.Span{line.Say(role, "   "+r.text)}))
			continue
		case r.choice == a.at:
			bg, role = theme.OnRow, theme.Strong
		}
		key := " "
		if r.first {
			key = a.choices[r.choice].Key
			if r.choice == a.at {
				mark = s.Theme.Glyphs.Here
			}
		}
		rows = append(rows, s.Row(bg, w, []line.Span{line.Say(theme.Accent, mark), line.Bold(theme.Accent, key), line.Weight(role, r.choice == a.at, "  "+r.text)}))
	}
	rows = append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, " "+s.T("Enter choose   Esc back"))}))
	return clip(rows, h)
}

// Cursor is nowhere.
func (a *Ask) Cursor() (x, y int, ok bool) { return 0, 0, false }

// Deny leaves everything as it is.
func (a *Ask) Deny() Result { return Closed{a.kind} }
