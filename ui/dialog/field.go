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

// Keys are the keys of dialogs.
type Keys struct {
	Up, Down, PageUp, PageDown, Top, Bottom key.Binding
	Accept, Close, Rename, Delete, Copy     key.Binding
	NewLine, Outside, Star, Search          key.Binding
	Edit                                    input.Keys
}

// DefaultKeys are the program's own. Letters belong to filters, so lists move by arrows, Ctrl+N and Ctrl+P.
func DefaultKeys() Keys {
	bind := func(help string, desc words.Text, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, string(desc)))
	}
	return Keys{
		Up:       bind("Up", "up", "up", "ctrl+p"),
		Down:     bind("Down", "down", "down", "ctrl+n"),
		PageUp:   bind("PgUp", "page up", "pgup"),
		PageDown: bind("PgDn", "page down", "pgdown"),
		Top:      bind("g Home", "top", "home", "g"),
		Bottom:   bind("G End", "bottom", "end", "G"),
		Accept:   bind("Enter", "take it", "enter"),
		Close:    bind("Esc", "close", "esc"),
		Rename:   bind("Ctrl+R", "rename", "ctrl+r"),
		Delete:   bind("Ctrl+D", "delete", "ctrl+d"),
		Star:     bind("Ctrl+T", "star", "ctrl+t"),
		Search:   bind("Ctrl+F", "search all sessions", "ctrl+f"),
		Copy:     bind("y", "copy all", "y"),
		NewLine:  bind("Ctrl+J", "new line", "ctrl+j", "shift+enter", "alt+enter"),
		Outside:  bind("Ctrl+G", "open $EDITOR", "ctrl+g"),
		Edit:     input.DefaultKeys(),
	}
}

// field is a line of text in a row of a dialog.
type field struct {
	edit *input.Editor
	x, y int // the cursor in the rows drawn last
}

func newField(keys input.Keys, text string) field {
	cells := func(c string) (string, int) { return c, paint.Metrics{}.Width(c) }
	f := field{edit: input.New(keys, cells, paint.CleanLine)}
	f.edit.SetText(text)
	return f
}

// draw gives the field's text in at most w cells, the end that holds the cursor, and notes the cursor as seen from at.
func (f *field) draw(s line.Style, x, y, w int) line.Span {
	f.edit.SetCells(s.Cells)
	f.edit.SetWidth(max(w-1, 1))
	rows, cx, _ := f.edit.View(1)
	f.x, f.y = x+cx, y
	return line.Say(theme.Strong, rows[0].Text)
}

// Prompt asks for a line of text.
type Prompt struct {
	kind        Kind
	title, hint string
	does        string // what Enter does
	keys        Keys
	field       field
	first       string // the text that it was opened with
}

// NewPrompt makes a prompt with a text to start from.
func NewPrompt(kind Kind, title, hint, text string, keys Keys) *Prompt {
	f := newField(keys.Edit, text)
	return &Prompt{kind: kind, title: title, hint: hint, keys: keys, field: f, first: f.edit.Text()}
}

// Does names what Enter does.
func (p *Prompt) Does(word string) *Prompt {
	p.does = word
	return p
}

// Key handles a key.
func (p *Prompt) Key(k tea.KeyPressMsg) Result {
	switch {
	case key.Matches(k, p.keys.Close):
		return p.Deny()
	case key.Matches(k, p.keys.Accept):
		return Entered{p.kind, p.field.edit.Text()}
	}
	p.field.edit.Key(k)
	return nil
}

// Paste puts text into the field.
func (p *Prompt) Paste(text string) { p.field.edit.Insert(paint.CleanLine(text)) }

// Wheel does nothing: there is one line.
func (p *Prompt) Wheel(int) {}

// Size is two rows, or three where the hint and the keys have no room beside each other.
func (p *Prompt) Size(s line.Style, maxW, maxH int) (w, h int) {
	w, h = min(64, maxW), 2
	if s.Metrics.Width(" "+p.hint+"  "+p.enter(s)) > w {
		h = 3
	}
	return w, min(h, maxH)
}

// enter is what Enter does.
func (p *Prompt) enter(s line.Style) string {
	if p.does == "" {
		return s.T("Enter %s", s.T("ok##Enter does")) + " "
	}
	return s.T("Enter %s", p.does) + " "
}

// Rows draws title and field, and what the keys do.
func (p *Prompt) Rows(s line.Style, w, h int) []string {
	head := " " + p.title + "  "
	at := s.Metrics.Width(head)
	does := p.does
	if does == "" {
		does = s.T("ok##Enter does")
	}
	keys := s.T("Enter %s   Esc close", does) + " "
	if s.Metrics.Width(" "+p.hint+"  "+keys) > w { // the status line has Esc
		keys = p.enter(s)
	}
	rows := []string{
		s.Row(theme.OnRaised, w, []line.Span{line.Bold(theme.Strong, head), p.field.draw(s, at, 0, w-at-1)}),
		s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, " "+p.hint)}, line.Say(theme.Faint, keys)),
	}
	if h > 2 && s.Metrics.Width(" "+p.hint+"  "+keys) > w {
		rows[1] = s.Row(theme.OnRaised, w, []line.Span{line.Say(theme.Faint, " "+p.hint)})
		rows = append(rows, s.Row(theme.OnRaised, w, nil, line.Say(theme.Faint, keys)))
	}
	return clip(rows, h)
}

// Cursor is in the field.
func (p *Prompt) Cursor() (x, y int, ok bool) { return p.field.x, p.field.y, true }

// Deny leaves it.
func (p *Prompt) Deny() Result {
	text := p.field.edit.Text()
	return Left{p.kind, text, text != p.first}
}
