package dialog

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/ui/input"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Editor asks for a text of several lines. It stays open until its owner takes it away, so that a text that is refused can be
// put right.
type Editor struct {
	kind        Kind
	title, fact string
	keys        Keys
	edit        *input.Editor
	first       string // the text that it was opened with
	problem     string // why the text was refused
	page        int
	x, y        int
}

// Edited is the text that Enter gave; the dialog stays.
type Edited struct {
	Kind Kind
	Text string
}

// Left is an editor or a prompt that was left without Enter, with what stood in it.
type Left struct {
	Kind    Kind
	Text    string
	Changed bool
}

// Outward asks for the user's own editor on the text; the dialog stays.
type Outward struct {
	Kind Kind
	Text string
}

func (Edited) result()  {}
func (Left) result()    {}
func (Outward) result() {}

// NewEditor makes an editor with a text to start from.
func NewEditor(kind Kind, title, fact, text string, keys Keys) *Editor {
	cells := func(c string) (string, int) { return c, paint.Metrics{}.Width(c) }
	e := &Editor{kind: kind, title: title, fact: fact, keys: keys, edit: input.New(keys.Edit, cells, Clean), page: 10}
	e.edit.SetText(text)
	e.first = e.edit.Text()
	return e
}

// SetText takes another text in the place of what was typed.
func (e *Editor) SetText(text string) {
	e.edit.SetText(text)
	e.problem = ""
}

// Kind tells what it edits.
func (e *Editor) Kind() Kind { return e.kind }

// Fail says what is wrong with the text, and sets the cursor to that byte of it when it is not negative. Empty: nothing is.
func (e *Editor) Fail(problem string, at int) {
	e.problem = problem
	if at >= 0 {
		e.edit.Go(at)
	}
}

// Key edits, takes or leaves.
func (e *Editor) Key(k tea.KeyPressMsg) Result {
	switch {
	case key.Matches(k, e.keys.Close):
		return e.Deny()
	case key.Matches(k, e.keys.Accept):
		return Edited{e.kind, e.edit.Text()}
	case key.Matches(k, e.keys.Outside):
		return Outward{e.kind, e.edit.Text()}
	case key.Matches(k, e.keys.NewLine):
		e.edit.Insert("\n")
	case key.Matches(k, e.keys.Up):
		e.edit.Up()
	case key.Matches(k, e.keys.Down):
		e.edit.Down()
	case key.Matches(k, e.keys.PageUp):
		e.Wheel(-e.page)
	case key.Matches(k, e.keys.PageDown):
		e.Wheel(e.page)
	default:
		e.edit.Key(k)
	}
	return nil
}

// Paste puts text at the cursor.
func (e *Editor) Paste(text string) {
	if !e.edit.Insert(text) {
		e.problem = tooLarge
	}
}

// Wheel moves the cursor by rows.
func (e *Editor) Wheel(lines int) {
	for ; lines < 0 && e.edit.Up(); lines++ {
	}
	for ; lines > 0 && e.edit.Down(); lines-- {
	}
}

// Size is what the text needs, with a row for the title, one for what is wrong and one for the keys.
func (e *Editor) Size(s line.Style, maxW, maxH int) (w, h int) {
	w = min(100, maxW)
	e.lay(s, w)
	return w, min(e.edit.Height()+3+e.problems(s, w), maxH)
}

func (e *Editor) lay(s line.Style, w int) {
	e.edit.SetCells(s.Cells)
	e.edit.SetWidth(max(w-3, 1))
}

// tooLarge is said of a paste; it is put into the screen's language when it is drawn.
const tooLarge = string(words.Text("the paste is larger than a text may be (1 MB)"))

// mostProblem bounds the rows of what is wrong.
const mostProblem = 3

func (e *Editor) problems(s line.Style, w int) int {
	if e.problem == "" {
		return 0
	}
	return min(len(s.Metrics.Wrap(s.Text(s.Theme.Lang().Kept(e.problem)), max(w-4, 1))), mostProblem) - 1
}

// Rows draws the title, the part of the text around the cursor, what is wrong and the keys.
func (e *Editor) Rows(s line.Style, w, h int) []string {
	e.lay(s, w)
	rows := []string{s.Row(theme.OnRaised, w, []line.Span{line.Bold(theme.Strong, " "+e.title+"  "), line.Say(theme.Text, s.Text(e.fact))})}
	bad := e.problems(s, w) + 1
	list := max(h-2-bad, 1)
	e.page = max(list-1, 1)
	text, x, y := e.edit.View(list)
	e.x, e.y = 1+x, 1+y
	for _, r := range text {
		rows = append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Strong, " "+r.Text)}))
	}
	for len(rows) < list+1 {
		rows = append(rows, s.Blank(theme.OnRaised, w))
	}
	if e.problem == "" {
		rows = append(rows, s.Blank(theme.OnRaised, w))
	} else {
		for i, part := range s.Metrics.Wrap(s.Text(s.Theme.Lang().Kept(e.problem)), max(w-4, 1)) {
			if lead := " " + s.Theme.Glyphs.Failed + " "; i < bad {
				rows = append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Error, []string{lead, "   "}[min(i, 1)]+part)}))
			}
		}
	}
	keys := ""
	for _, t := range []words.Text{
		"Enter use it   Ctrl+J new line   Ctrl+G $EDITOR   Esc back, the text is kept",
		"Enter use it   Ctrl+J new line   Ctrl+G $EDITOR   Esc keeps it",
		"Enter use   Ctrl+J line   Esc keep",
	} {
		if keys = " " + s.T(t); s.Metrics.Width(keys) <= w {
			break
		}
	}
	return clip(append(rows, s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, keys)})), h)
}

// Cursor is in the text.
func (e *Editor) Cursor() (x, y int, ok bool) { return e.x, e.y, true }

// Deny leaves it.
func (e *Editor) Deny() Result {
	text := e.edit.Text()
	return Left{e.kind, text, text != e.first}
}
