package ui

import (
	"strconv"

	"charm.land/bubbles/v2/key"

	"vitrine/ui/words"
)

// KeyMap holds every key of the program as values: they feed the matching and the help screen alike, so that no key can be
// in one and not in the other. Letters of the Ctrl+X chord belong to the commands, see commandTable.
type KeyMap struct {
	// Keys that work everywhere.
	NextPane, PrevPane, Escape, Stop, Palette, Chord, Tab, TabBefore, TabAfter, Suspend key.Binding
	// Keys of the input.
	Send, NewLine, Older, Newer, History, Slash, Mention, Help, Outside key.Binding
	ChatPageUp, ChatPageDown, ChatLineUp, ChatLineDown                  key.Binding
	// Keys of the panes.
	Up, Down, HalfUp, HalfDown, PageUp, PageDown, Top, Bottom key.Binding
	Open, Toggle, Unfold, Fold, TurnBefore, TurnAfter         key.Binding
	TraceOf, CopyAnswer, CopyCode, Zoom, ToInput, PaneHelp    key.Binding
	// EditInput goes on from before an input, in a new tab.
	EditInput                                          key.Binding
	Find, FindNext, FindBefore, Whole, Filter, Several key.Binding
	// ChordTab is the chord with a digit: that tab.
	ChordTab key.Binding
	// Keys of a question above the input.
	Yes, No, GiveUp, Always, Again, Edit key.Binding
	// Keys of the debugger's question.
	Step, RunOn, Until, Answer, Request key.Binding
	// StopCall stops one call, from the trace.
	StopCall key.Binding
}

// HelpGroup is one part of the help screen.
type HelpGroup struct {
	Name     words.Text
	Bindings []key.Binding
}

func bind(help string, desc words.Text, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, string(desc)))
}

// DefaultKeyMap is the program's own; the configuration's keys come over it, see keymap.
func DefaultKeyMap() KeyMap {
	return KeyMap{
		NextPane:  bind("Tab", "next pane, Shift: back", "tab"),
		PrevPane:  bind("Shift+Tab", "pane before", "shift+tab"),
		Escape:    bind("Esc", "close; cancel", "esc"),
		Stop:      bind("Ctrl+C", "stop, then quit", "ctrl+c"),
		Palette:   bind("Ctrl+P", "commands", "ctrl+p"),
		Chord:     bind("Ctrl+X", "waits, shows letters", "ctrl+x"),
		Tab:       bind("Alt+1 to 9", "that tab", altDigits()...),
		TabBefore: bind("Alt+,", "tab before", "alt+,"),
		TabAfter:  bind("Alt+.", "tab after", "alt+."),
		Suspend:   bind("Ctrl+Z", "to the shell, till fg", "ctrl+z"),

		Send:         bind("Enter", "send, or queue", "enter"),
		NewLine:      bind("Ctrl+J", "new line, or Shift+Enter", "ctrl+j", "shift+enter", "alt+enter"),
		Older:        bind("Up", "input before", "up"),
		Newer:        bind("Down", "input after", "down"),
		History:      bind("Ctrl+R", "search history", "ctrl+r"),
		Outside:      bind("Ctrl+G", "open $EDITOR", "ctrl+g"),
		Mention:      bind("@", "file of the folder", "@"),
		Slash:        bind("/", "command", "/"),
		Help:         bind("?", "help, in an empty input", "?"),
		ChatPageUp:   bind("PgUp", "chat up", "pgup"),
		ChatPageDown: bind("PgDn", "chat down", "pgdown"),
		ChatLineUp:   bind("Alt+Up", "chat up a line", "alt+up"),
		ChatLineDown: bind("Alt+Down", "chat down a line", "alt+down"),

		Up:         bind("k Up", "up", "k", "up"),
		Down:       bind("j Down", "down", "j", "down"),
		HalfUp:     bind("u", "half a page up", "u", "ctrl+u"),
		HalfDown:   bind("d", "half a page down", "d", "ctrl+d"),
		PageUp:     bind("PgUp", "page up", "pgup"),
		PageDown:   bind("PgDn", "page down", "pgdown"),
		Top:        bind("g", "top", "g", "home"),
		Bottom:     bind("G", "bottom, follow", "G", "end"),
		Open:       bind("Enter", "open: JSON of an event", "enter"),
		Toggle:     bind("Space", "toggle a todo, a fold", "space"),
		Unfold:     bind("Right", "open", "right", "l"),
		Fold:       bind("Left", "close", "left", "h"),
		TurnBefore: bind("[", "turn before", "["),
		TurnAfter:  bind("]", "turn after", "]"),
		TraceOf:    bind("t", "its trace, and back", "t"),
		CopyAnswer: bind("y", "copy it, or the answer", "y"),
		EditInput:  bind("e", "edit input, new tab", "e"),
		CopyCode:   bind("Y", "copy its last code", "Y"),
		Find:       bind("/", "find in the session", "/"),
		FindNext:   bind("n", "found after", "n"),
		FindBefore: bind("N", "found before", "N"),
		Filter:     bind("f", "filter the trace", "f"),
		Several:    bind("V", "select several, y copies", "V"),
		Whole:      bind("v", "all of a fold, a question", "v"),
		Zoom:       bind("z", "this pane alone", "z"),
		ToInput:    bind("i", "to the input", "i"),
		PaneHelp:   bind("?", "help", "?"),

		ChordTab: bind("1 to 9", "that tab", "1", "2", "3", "4", "5", "6", "7", "8", "9"),

		Yes:    bind("y", "yes: once, resume, fold", "y"),
		No:     bind("n", "no: deny, no fold", "n"),
		GiveUp: bind("x", "give up, stop", "x"),
		Always: bind("a", "always, this session", "a"),
		Again:  bind("r", "run it again", "r"),
		Edit:   bind("e", "edit the arguments", "e"),

		Step:    bind("s", "step to the next call", "s"),
		RunOn:   bind("c", "run on", "c"),
		Until:   bind("u", "run until a tool", "u"),
		Answer:  bind("a", "answer for the tool", "a"),
		Request: bind("v", "all that is sent", "v", "enter"),

		StopCall: bind("x", "stop the call (trace)", "x"),
	}
}

func altDigits() []string {
	keys := make([]string, 0, 9)
	for i := 1; i <= 9; i++ {
		keys = append(keys, "alt+"+strconv.Itoa(i))
	}
	return keys
}

// Groups gives the help screen's parts in order; the chord's letters follow from the commands.
func (k KeyMap) Groups() []HelpGroup {
	return []HelpGroup{
		{"always##keys", []key.Binding{k.NextPane, k.Palette, k.Tab, k.TabBefore, k.TabAfter, k.Escape, k.Stop, k.Chord, k.Suspend}},
		{"input", []key.Binding{
			k.Send, k.NewLine, k.Older, k.Newer, k.History, k.Outside, k.Mention, k.Slash, k.Help,
			k.ChatPageUp, k.ChatPageDown, k.ChatLineUp, k.ChatLineDown,
		}},
		{"panes", []key.Binding{
			k.Down, k.Up, k.HalfDown, k.HalfUp, k.PageDown, k.PageUp, k.Top, k.Bottom, k.Open, k.Toggle, k.Fold, k.Unfold,
			k.TurnBefore, k.TurnAfter, k.TraceOf, k.CopyAnswer, k.CopyCode, k.EditInput,
			k.Several, k.Find, k.FindNext, k.FindBefore, k.Filter, k.Whole, k.StopCall, k.Zoom, k.ToInput,
		}},
		{"asked", []key.Binding{k.Yes, k.No, k.Always, k.Edit, k.Whole, k.Again, k.GiveUp}},
		{"paused", []key.Binding{k.Step, k.RunOn, k.Until, k.Edit, k.Answer, k.Request, k.GiveUp}},
	}
}
