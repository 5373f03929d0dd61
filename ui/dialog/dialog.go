// Package dialog holds the dialogs of the screen: a picker that filters as one types, a question with a few answers, a field
// for a line of text, a text to read, and the help.
//
// A dialog belongs to a tab. It takes keys and hands back a typed Result when it has one; what the result means is decided in
// one place by the owner, and so is when the dialog goes away. Dialogs do no input or output and keep no styles: a Style comes
// with every call that draws, so a change of theme needs no word to them. Rows are exactly as wide as asked for.
package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"vitrine/ui/line"
	"vitrine/ui/paint"
)

// Kind says what a dialog is about, so that its result can be told apart from those of others of the same form.
type Kind string

// Dialog is one open dialog.
type Dialog interface {
	// Key handles a key; the result is nil while the dialog has nothing to say.
	Key(k tea.KeyPressMsg) Result
	// Paste takes pasted text.
	Paste(text string)
	// Wheel scrolls by lines, down when positive.
	Wheel(lines int)
	// Size is how many cells and rows it would like, given the most it can have.
	Size(s line.Style, maxW, maxH int) (w, h int)
	// Rows draws it: h rows of w cells at most.
	Rows(s line.Style, w, h int) []string
	// Cursor is where the real cursor stands in the rows drawn last.
	Cursor() (x, y int, ok bool)
	// Deny is the answer of somebody who wants none of it.
	Deny() Result
}

// Result is what came of a dialog.
type Result interface{ result() }

// Closed: it was closed without an answer.
type Closed struct{ Kind Kind }

// Picked is an item of a picker.
type Picked struct {
	Kind Kind
	ID   string
	// Act is what to do with it.
	Act Act
}

// Act is what a picker's key asks for.
type Act string

// The acts.
const (
	ActOpen   Act = "open"
	ActRename Act = "rename"
	ActDelete Act = "delete"
	ActStar   Act = "star"
	// ActSearch looks for what was typed elsewhere: the ID is that.
	ActSearch Act = "search"
)

// Entered is a line of text.
type Entered struct {
	Kind Kind
	Text string
}

// Chosen is an answer to a question.
type Chosen struct {
	Kind   Kind
	Choice string
}

// Copied is a text that the user wants on the clipboard; the dialog stays.
type Copied struct{ Text string }

func (Closed) result()  {}
func (Picked) result()  {}
func (Entered) result() {}
func (Chosen) result()  {}
func (Copied) result()  {}

// Clean is paint.Clean for editors: tabs stay, so that pasted code keeps them.
func Clean(text string) string {
	if !strings.ContainsRune(text, '\t') {
		return paint.Clean(text)
	}
	parts := strings.Split(text, "\t")
	for i, p := range parts {
		parts[i] = paint.Clean(p)
	}
	return strings.Join(parts, "\t")
}

// clip keeps the first h rows.
func clip(rows []string, h int) []string { return rows[:min(len(rows), max(h, 0))] }
