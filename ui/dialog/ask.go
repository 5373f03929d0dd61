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

// Size is a row for the question, one for each answer, one for the keys.
func (a *Ask) Size(_ line.Style, maxW, maxH int) (w, h int) {
	return min(64, maxW), min(len(a.choices)+2, maxH)
}

// Rows draws the question.
func (a *Ask) Rows(s line.Style, w, h int) []string {
	rows := []string{s.Row(theme.OnRaised, w, []line.Span{
		line.Say(theme.Warn, " "+s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, a.title+"  "), line.Say(theme.Text, s.Text(a.fact))})}
	for i, c := range a.choices {
		bg, mark, role := theme.OnRaised, " ", theme.Text
		if i == a.at {
			bg, mark, role = theme.OnRow, s.Theme.Glyphs.Here, theme.Strong
		}
		rows = append(rows, s.Row(bg, w, []line.Span{line.Say(theme.Accent, mark), line.Bold(theme.Accent, c.Key), line.Weight(role, i == a.at, "  "+s.Text(c.Label))}))
	}
	rows = append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, " "+s.T("Enter choose   Esc back"))}))
	return clip(rows, h)
}

// Cursor is nowhere.
func (a *Ask) Cursor() (x, y int, ok bool) { return 0, 0, false }

// Deny leaves everything as it is.
func (a *Ask) Deny() Result { return Closed{a.kind} }
