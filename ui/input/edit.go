package input

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"vitrine/ui/words"
)

// Keys are the keys of an editor.
type Keys struct {
	Left, Right, WordLeft, WordRight, Home, End, Start, Finish          key.Binding
	Backspace, Delete, DeleteWord, DeleteWordRight, KillLeft, KillRight key.Binding
	Yank, Undo, Redo, OpenPaste                                         key.Binding
}

// DefaultKeys are the usual ones of a line editor.
func DefaultKeys() Keys {
	bind := func(help string, desc words.Text, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, string(desc)))
	}
	return Keys{
		Left:            bind("Left", "left##move", "left"),
		Right:           bind("Right", "right", "right", "ctrl+f"),
		WordLeft:        bind("Ctrl+Left", "word left", "ctrl+left", "alt+left", "alt+b"),
		WordRight:       bind("Ctrl+Right", "word right", "ctrl+right", "alt+right", "alt+f"),
		Home:            bind("Ctrl+A", "start of the line", "home", "ctrl+a"),
		End:             bind("Ctrl+E", "end of the line", "end", "ctrl+e"),
		Start:           bind("Ctrl+Home", "start of the text", "ctrl+home", "alt+<"),
		Finish:          bind("Ctrl+End", "end of the text", "ctrl+end", "alt+>"),
		Backspace:       bind("Backspace", "delete before", "backspace", "ctrl+h", "shift+backspace"),
		Delete:          bind("Del", "delete under", "delete", "ctrl+d"),
		DeleteWord:      bind("Ctrl+W", "delete the word before", "ctrl+w", "alt+backspace", "ctrl+backspace"),
		DeleteWordRight: bind("Alt+D", "delete the word after", "alt+d", "alt+delete", "ctrl+delete"),
		KillLeft:        bind("Ctrl+U", "delete to the start", "ctrl+u"),
		KillRight:       bind("Ctrl+K", "delete to the end", "ctrl+k"),
		Yank:            bind("Ctrl+Y", "put back what was deleted", "ctrl+y"),
		Undo:            bind("Ctrl+_", "undo, or Ctrl+/", "ctrl+_", "ctrl+/", "ctrl+7", "alt+z"),
		Redo:            bind("Alt+Y", "do it again", "alt+y", "alt+Z", "alt+shift+z"),
		OpenPaste:       bind("Ctrl+O", "open the paste here", "ctrl+o"),
	}
}

// Bindings lists them for a help screen.
func (k Keys) Bindings() []key.Binding {
	return []key.Binding{
		k.Left, k.Right, k.WordLeft, k.WordRight, k.Home, k.End, k.Start, k.Finish,
		k.Backspace, k.Delete, k.DeleteWord, k.DeleteWordRight, k.KillLeft, k.KillRight, k.Yank, k.Undo, k.Redo, k.OpenPaste,
	}
}

// Key handles a key and reports whether it was one of the editor's.
func (e *Editor) Key(k tea.KeyPressMsg) bool {
	if e.move(k) || e.remove(k) {
		return true
	}
	if k.Text == "" || k.Mod&(tea.ModCtrl|tea.ModAlt|tea.ModMeta|tea.ModSuper) != 0 {
		return false
	}
	e.Insert(k.Text)
	return true
}

func (e *Editor) move(k tea.KeyPressMsg) bool {
	var to int
	switch {
	case key.Matches(k, e.keys.Left):
		to = e.prev()
	case key.Matches(k, e.keys.Right):
		to = e.next()
	case key.Matches(k, e.keys.WordLeft):
		to = e.wordLeft()
	case key.Matches(k, e.keys.WordRight):
		to = e.wordRight()
	case key.Matches(k, e.keys.Home):
		to = e.lineStart()
	case key.Matches(k, e.keys.End):
		to = e.lineEnd()
	case key.Matches(k, e.keys.Start):
		to = 0
	case key.Matches(k, e.keys.Finish):
		to = len(e.text)
	default:
		return false
	}
	e.at, e.goal, e.last = to, -1, stepOther
	return true
}

func (e *Editor) remove(k tea.KeyPressMsg) bool {
	switch {
	case key.Matches(k, e.keys.Backspace):
		e.cut(e.prev(), e.at)
	case key.Matches(k, e.keys.Delete):
		e.cut(e.at, e.next())
	case key.Matches(k, e.keys.DeleteWord):
		e.kill(e.wordLeft())
	case key.Matches(k, e.keys.DeleteWordRight):
		e.kill(e.wordRight())
	case key.Matches(k, e.keys.KillLeft):
		e.kill(e.lineStart())
	case key.Matches(k, e.keys.KillRight):
		to := e.lineEnd()
		if to == e.at { // at the end: the line feed itself
			to = e.next()
		}
		e.kill(to)
	case key.Matches(k, e.keys.Yank):
		if e.killed != "" && len(e.text)+len(e.killed) <= maxTyped && e.size()+len(e.marked(e.killed)) <= MaxBytes {
			e.step(stepOther)
			e.put(e.killed)
		}
	case key.Matches(k, e.keys.Undo):
		e.Undo()
	case key.Matches(k, e.keys.Redo):
		e.Redo()
	default:
		return false
	}
	return true
}

func (e *Editor) kill(to int) {
	e.last = stepOther
	if s := e.cut(to, e.at); s != "" {
		e.killed = s
	}
}

func (e *Editor) lineStart() int { return strings.LastIndexByte(e.text[:e.at], '\n') + 1 }

func (e *Editor) lineEnd() int {
	if i := strings.IndexByte(e.text[e.at:], '\n'); i >= 0 {
		return e.at + i
	}
	return len(e.text)
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_'
}

// kind tells words apart: those of scripts without blanks from others, and chips, each of which is one.
type kind int

const (
	noWord kind = iota
	word
	unbrokenWord
	chipWord
)

func kindOf(r rune) kind {
	switch {
	case isChip(r):
		return chipWord
	case unicode.IsMark(r):
		return word
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return unbrokenWord
	case wordRune(r):
		return word
	}
	return noWord
}

func (e *Editor) wordLeft() int {
	at, in := e.at, noWord
	for at > 0 {
		r, n := utf8.DecodeLastRuneInString(e.text[:at])
		k := kindOf(r)
		if in != noWord && (k != in && !unicode.IsMark(r) || in == chipWord) {
			break
		}
		if !unicode.IsMark(r) || in == noWord {
			in = k
		}
		at -= n
	}
	return e.boundary(at)
}

func (e *Editor) wordRight() int {
	at, in := e.at, noWord
	for at < len(e.text) {
		r, n := utf8.DecodeRuneInString(e.text[at:])
		k := kindOf(r)
		if in != noWord && (k != in && !unicode.IsMark(r) || in == chipWord) {
			break
		}
		in = max(in, k)
		at += n
	}
	return e.boundary(at)
}

// Up and Down move the cursor by a row, keeping the column. They report false at the first and last row.
func (e *Editor) Up() bool { return e.vertical(-1) }

// Down is Up's counterpart.
func (e *Editor) Down() bool { return e.vertical(1) }

func (e *Editor) vertical(d int) bool {
	r, c := e.place()
	spans := e.layout()
	if r+d < 0 || r+d >= len(spans) {
		return false
	}
	if e.goal < 0 {
		e.goal = c
	}
	e.at = e.offset(spans[r+d], e.goal)
	return true
}
