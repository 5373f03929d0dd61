package ui

import (
	"strconv"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/ui/dialog"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// command is one thing that the user can ask for. The slash commands, the palette, the letters of the chord and the help are
// all made of commandTable.
type command struct {
	title words.Text
	slash string     // without the slash; empty: none
	arg   words.Text // what may follow, for the completion
	chord key.Binding
	// direct is a key without the chord, which only the configuration gives.
	direct key.Binding
	run    func(m *Model, arg string) tea.Cmd
	// apart keeps it out of the palette.
	apart bool
}

func letter(l string, desc words.Text) key.Binding { return bind(l, desc, l, strings.ToUpper(l)) }

func commandTable() []command {
	return []command{
		{title: "All commands", chord: letter("p", "commands"), run: func(m *Model, _ string) tea.Cmd { return m.openPalette() }, apart: true},
		{title: "New tab", slash: "new", chord: letter("n", "new"), run: func(m *Model, _ string) tea.Cmd { return m.newTab() }},
		{title: "Close this tab", slash: "close", chord: letter("w", "close"), run: func(m *Model, _ string) tea.Cmd { return m.askClose() }},
		{title: "Open the tab again that was closed last", chord: letter("z", "reopen"), run: func(m *Model, _ string) tea.Cmd { return m.reopenTab() }},
		{title: "Rename this session", slash: "rename", arg: "title", chord: letter("r", "rename"), run: (*Model).rename},
		{title: "Open a session", slash: "sessions", arg: "words", chord: letter("s", "sessions"), run: (*Model).openSessions},
		{title: "Search all sessions", slash: "search", arg: "words", chord: letter("g", "search all"), run: (*Model).openSearch},
		{title: "Find in this session", chord: letter("f", "find"), run: (*Model).findHere},
		{title: "Star this session, or unstar it", slash: "star", run: func(m *Model, _ string) tea.Cmd { return m.star(m.page(), m.page().id) }},
		{title: "Export this session", slash: "export", arg: "file or format", run: (*Model).export},
		{title: "Filter the trace", slash: "filter", arg: "words", run: (*Model).filterTrace},
		{title: "Add a todo, or toggle one by its number", slash: "todo", arg: "text or number", run: (*Model).todo},
		{title: "Send the last input again", slash: "retry", run: func(m *Model, _ string) tea.Cmd { return m.page().retry() }},
		{title: "Choose the model", slash: "model", arg: "name", run: (*Model).chooseModel},
		{title: "Start a new session in this tab", slash: "clear", run: func(m *Model, _ string) tea.Cmd { return m.askClear() }},
		{title: "Fold the context now", slash: "compact", arg: "undo", chord: letter("k", "fold"), run: (*Model).fold},
		{title: "Undo the last fold", chord: letter("u", "undo"), run: func(m *Model, _ string) tea.Cmd { return m.undoFold() }},
		{title: "Show the context of the next request", chord: letter("c", "context"), run: func(m *Model, _ string) tea.Cmd { return m.openContext() }},
		{title: "Pin a sentence, which no fold loses", slash: "pin", arg: "text", run: (*Model).pin},
		{title: "Take a pin away", slash: "unpin", arg: "number or text", run: (*Model).unpin},
		{title: "What tools may do in this session", slash: "tools", run: (*Model).openTools},
		{title: "Go to what waits for you", chord: letter("a", "what waits"), run: func(m *Model, _ string) tea.Cmd { return m.nextWaiting() }},
		{title: "Break at the next call, or a tool's", slash: "break", arg: "tool", chord: letter("b", "break at the next call"), run: (*Model).setBreak},
		{title: "Stop the run", run: func(m *Model, _ string) tea.Cmd { return m.page().cancelRun() }},
		{title: "Show or hide the trace", chord: letter("t", "trace"), run: func(m *Model, _ string) tea.Cmd { return m.togglePane(paneTrace) }},
		{title: "Show or hide the todos", chord: letter("o", "todos"), run: func(m *Model, _ string) tea.Cmd { return m.togglePane(paneTodos) }},
		{title: "Copy the last answer", chord: letter("y", "copy"), run: func(m *Model, _ string) tea.Cmd { return m.page().copyAnswer() }},
		{title: "Copy the last block of code", run: func(m *Model, _ string) tea.Cmd { return m.page().copyCode() }},
		{title: "Edit an earlier input in a new session", run: func(m *Model, _ string) tea.Cmd { return m.page().editInput(true) }},
		{title: "Search the history", run: func(m *Model, _ string) tea.Cmd { return m.page().openHistory() }},
		{title: "Tab before", chord: bind(",", "tab before", ","), run: func(m *Model, _ string) tea.Cmd { return m.step(-1) }},
		{title: "Tab after", chord: bind(".", "tab after", "."), run: func(m *Model, _ string) tea.Cmd { return m.step(1) }},
		{title: "Move this tab left", chord: bind("<", "move the tab left", "<"), run: func(m *Model, _ string) tea.Cmd { return m.moveTab(-1) }},
		{title: "Move this tab right", chord: bind(">", "move the tab right", ">"), run: func(m *Model, _ string) tea.Cmd { return m.moveTab(1) }},
		{title: "Mouse on or off", chord: letter("m", "mouse"), run: func(m *Model, _ string) tea.Cmd { return m.toggleMouse() }},
		{title: "The next look: dark, light, contrast, 16 colours", chord: letter("l", "look"), run: func(m *Model, _ string) tea.Cmd { return m.nextLook() }},
		{title: "Record the screen, or end the recording", slash: "record", arg: "file", chord: letter("v", "record"), run: func(m *Model, arg string) tea.Cmd { return m.record(arg) }},
		{title: "Help", slash: "help", chord: letter("h", "help"), run: func(m *Model, _ string) tea.Cmd { return m.openHelp() }},
		{title: "Quit", slash: "quit", chord: letter("q", "quit"), run: func(m *Model, _ string) tea.Cmd { return m.askQuit() }},
	}
}

// The dialogs of the screen.
const (
	kindPalette  dialog.Kind = "palette"
	kindSessions dialog.Kind = "sessions"
	kindModels   dialog.Kind = "models"
	kindHistory  dialog.Kind = "history"
	kindRename   dialog.Kind = "rename"
	kindDelete   dialog.Kind = "delete"
	kindClose    dialog.Kind = "close"
	kindClear    dialog.Kind = "clear"
	kindQuit     dialog.Kind = "quit"
	kindEvent    dialog.Kind = "event"
	kindHelp     dialog.Kind = "help"
	kindFind     dialog.Kind = "find"
	kindFilter   dialog.Kind = "filter"
	kindExport   dialog.Kind = "export"
	kindSearch   dialog.Kind = "search"
	kindPins     dialog.Kind = "pins"
	kindContext  dialog.Kind = "context"
	kindPart     dialog.Kind = "part"
	kindFold     dialog.Kind = "fold"
	kindApprove  dialog.Kind = "approve"
	kindDeny     dialog.Kind = "deny"
	kindTools    dialog.Kind = "tools"
	kindEdit     dialog.Kind = "edit"
	kindAnswer   dialog.Kind = "answer"
	kindUntil    dialog.Kind = "until"
)

// ending is what becomes of a run whose tab goes away.
type ending string

const (
	endWait   ending = "wait"
	endLeave  ending = "leave"
	endCancel ending = "cancel"
)

func endings(l words.Lang, wait words.Text) []dialog.Choice {
	return []dialog.Choice{
		{Key: "w", ID: string(endWait), Label: l.T(wait)},
		{Key: "l", ID: string(endLeave), Label: l.T("leave it as it is, to be resumed later")},
		{Key: "c", ID: string(endCancel), Label: l.T("cancel it")},
	}
}

// openHelp shows the keys, made of the bindings that match them.
func (m *Model) openHelp() tea.Cmd {
	var groups []dialog.Group
	for _, g := range m.env.keys.Groups() {
		groups = append(groups, dialog.Group{Name: m.T(g.Name), Bindings: g.Bindings})
	}
	chord := dialog.Group{Name: m.env.keys.Chord.Help().Key}
	own := dialog.Group{Name: m.T("command##keys")}
	slash := dialog.Group{Name: "/"}
	for _, c := range m.env.commands {
		if c.chord.Enabled() {
			chord.Bindings = append(chord.Bindings, c.chord)
		}
		if c.direct.Enabled() {
			own.Bindings = append(own.Bindings, key.NewBinding(key.WithKeys(c.direct.Keys()...), key.WithHelp(c.direct.Help().Key, string(c.title))))
		}
		if c.slash != "" {
			name := "/" + c.slash
			title := m.env.opts.Lang.T(c.title)
			slash.Bindings = append(slash.Bindings, key.NewBinding(key.WithKeys(name), key.WithHelp(name, strings.ToLower(title[:1])+title[1:])))
		}
	}
	chord.Bindings = append(chord.Bindings, m.env.keys.ChordTab)
	if !m.env.keys.Chord.Enabled() {
		chord.Bindings = nil
	}
	groups = append(groups, own, chord, slash, dialog.Group{Name: m.T("edit##keys"), Bindings: m.env.dkeys.Edit.Bindings()})
	return m.page().show(dialog.NewHelp(kindHelp, groups, m.env.dkeys), "")
}

// newTab opens a new session in a tab at the end.
func (m *Model) newTab() tea.Cmd { return m.env.newTab(m.open(), "") }

// rename renames the session, by the argument or by asking.
func (m *Model) rename(arg string) tea.Cmd {
	p := m.page()
	if !p.writable() {
		return p.tell(theme.Error, p.whyNot())
	}
	if arg != "" {
		return m.env.set(p.id, "rename the session", runtime.Setting{Title: &arg})
	}
	return p.show(dialog.NewPrompt(kindRename, m.T("RENAME"), m.T("the title of this session"), p.title, m.env.dkeys).Does(m.T("rename##Enter does")), p.id)
}

// openSessions lists what is stored.
func (m *Model) openSessions(arg string) tea.Cmd {
	p := m.page()
	about := ""
	if m.offered() {
		about = offerID // they are on top
		m.forgetOffer()
	}
	picker := dialog.NewPicker(kindSessions, m.T("SESSIONS"), m.T("reading"), nil, true, m.env.dkeys)
	if arg != "" {
		picker.Paste(arg)
	}
	cmd := p.show(picker, about)
	return tea.Batch(cmd, m.env.listSessions(p.id))
}

// addingTodo says what a setting was to do.
const addingTodo words.Text = "add the todo"

// todo adds a todo, or toggles one by its number; without an argument it goes to the pane.
func (m *Model) todo(arg string) tea.Cmd {
	p := m.page()
	if arg == "" {
		m.env.panes.show(paneTodos, m.w)
		p.focusOn(paneTodos)
		return nil
	}
	if !p.writable() {
		return p.tell(theme.Error, p.whyNot())
	}
	n, err := strconv.Atoi(arg)
	if err != nil {
		return m.env.set(p.id, addingTodo, runtime.Setting{AddTodo: arg})
	}
	id, ok := p.todoID(n)
	if !ok {
		return p.tell(theme.Error, p.T("there is no todo %s", arg))
	}
	return m.env.set(p.id, "toggle the todo", runtime.Setting{ToggleTodo: id})
}

// togglePane shows or hides a pane; the focus leaves one that goes.
func (m *Model) togglePane(which pane) tea.Cmd {
	m.env.panes.toggle(which, m.w)
	keep := m.env.saveTabs(m.tabs())
	for _, p := range m.pages {
		if !m.env.panes.shows(p.focus, m.w) && p.focus != paneQuestion {
			p.focusOn(paneInput)
		}
	}
	return keep
}

func (m *Model) toggleMouse() tea.Cmd {
	m.env.mouse = !m.env.mouse
	if m.env.mouse {
		return m.page().tell(theme.Text, m.T("mouse on: the wheel scrolls, dragging selects"))
	}
	return m.page().tell(theme.Text, m.T("mouse off: the terminal selects"))
}

// nextLook goes from the terminal's look through all others and back.
func (m *Model) nextLook() tea.Cmd {
	e := m.env
	word := map[theme.Name]words.Text{theme.Dark: "dark", theme.Light: "light", theme.Contrast: "contrast", theme.Sixteen: "the terminal's 16 colours", "": "as the terminal says"}
	next := map[theme.Name]theme.Name{"": theme.Dark, theme.Dark: theme.Light, theme.Light: theme.Contrast, theme.Contrast: theme.Sixteen, theme.Sixteen: ""}
	e.look = next[e.look]
	e.pickLook()
	m.restyle()
	return m.page().tell(theme.Text, m.T("look: %s", m.T(word[e.look])))
}
