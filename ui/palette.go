package ui

import (
	"strconv"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/ui/dialog"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// Here is the palette: every action with its key. The commands come first; what only keys do, in the input and in the panes, is done as
// if its key had been pressed there, also where the configuration gives it none.

// deed is an action of the palette that is no command.
type deed struct {
	title words.Text
	key   func(*keymap) *key.Binding
	// press is the program's own key for it, in where: a pane, or paneNone for the pane that has the focus, the chat when none has.
	press tea.KeyPressMsg
	where pane
	// run does it without a key.
	run func(m *Model) tea.Cmd
}

func sign(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }

// deeds lists them.
func deeds() []deed {
	named := func(code rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: code} }
	return []deed{
		{"Go to the next pane", func(k *keymap) *key.Binding { return &k.keys.NextPane }, named(tea.KeyTab), paneNone, func(m *Model) tea.Cmd { m.page().moveFocus(1); return nil }},
		{"Go to the pane before", func(k *keymap) *key.Binding { return &k.keys.PrevPane }, named(tea.KeyTab), paneNone, func(m *Model) tea.Cmd { m.page().moveFocus(-1); return nil }},
		{"Go to the input", func(k *keymap) *key.Binding { return &k.keys.ToInput }, sign('i'), paneNone, nil},
		{"Show this pane alone, or all of them", func(k *keymap) *key.Binding { return &k.keys.Zoom }, sign('z'), paneNone, nil},
		{"Go to the turn before", func(k *keymap) *key.Binding { return &k.keys.TurnBefore }, sign('['), paneNone, nil},
		{"Go to the turn after", func(k *keymap) *key.Binding { return &k.keys.TurnAfter }, sign(']'), paneNone, nil},
		{"Go to the top", func(k *keymap) *key.Binding { return &k.keys.Top }, sign('g'), paneNone, nil},
		{"Go to the bottom, and follow", func(k *keymap) *key.Binding { return &k.keys.Bottom }, sign('G'), paneNone, nil},
		{"Half a page up", func(k *keymap) *key.Binding { return &k.keys.HalfUp }, sign('u'), paneNone, nil},
		{"Half a page down", func(k *keymap) *key.Binding { return &k.keys.HalfDown }, sign('d'), paneNone, nil},
		{"A page up", func(k *keymap) *key.Binding { return &k.keys.PageUp }, named(tea.KeyPgUp), paneNone, nil},
		{"A page down", func(k *keymap) *key.Binding { return &k.keys.PageDown }, named(tea.KeyPgDown), paneNone, nil},
		{"Scroll the chat up a page", func(k *keymap) *key.Binding { return &k.keys.ChatPageUp }, named(tea.KeyPgUp), paneInput, nil},
		{"Scroll the chat down a page", func(k *keymap) *key.Binding { return &k.keys.ChatPageDown }, named(tea.KeyPgDown), paneInput, nil},
		{"Scroll the chat up a line", func(k *keymap) *key.Binding { return &k.keys.ChatLineUp }, tea.KeyPressMsg{Code: tea.KeyUp, Mod: tea.ModAlt}, paneInput, nil},
		{"Scroll the chat down a line", func(k *keymap) *key.Binding { return &k.keys.ChatLineDown }, tea.KeyPressMsg{Code: tea.KeyDown, Mod: tea.ModAlt}, paneInput, nil},
		{"Choose the one above", func(k *keymap) *key.Binding { return &k.keys.Up }, sign('k'), paneNone, nil},
		{"Choose the one below", func(k *keymap) *key.Binding { return &k.keys.Down }, sign('j'), paneNone, nil},
		{"Select several messages", func(k *keymap) *key.Binding { return &k.keys.Several }, sign('V'), paneChat, nil},
		{"Copy what is selected", func(k *keymap) *key.Binding { return &k.keys.CopyAnswer }, sign('y'), paneChat, nil},
		{"Go from a message to its trace, and back", func(k *keymap) *key.Binding { return &k.keys.TraceOf }, sign('t'), paneNone, nil},
		{"Open what is selected: an event as JSON", func(k *keymap) *key.Binding { return &k.keys.Open }, named(tea.KeyEnter), paneTrace, nil},
		{"Open or close what is selected, toggle a todo", func(k *keymap) *key.Binding { return &k.keys.Toggle }, named(tea.KeySpace), paneNone, nil},
		{"Unfold what is selected", func(k *keymap) *key.Binding { return &k.keys.Unfold }, named(tea.KeyRight), paneNone, nil},
		{"Fold up what is selected", func(k *keymap) *key.Binding { return &k.keys.Fold }, named(tea.KeyLeft), paneNone, nil},
		{"Show all of a fold", func(k *keymap) *key.Binding { return &k.keys.Whole }, sign('v'), paneNone, nil},
		{"Find the next place", func(k *keymap) *key.Binding { return &k.keys.FindNext }, sign('n'), paneChat, nil},
		{"Find the place before", func(k *keymap) *key.Binding { return &k.keys.FindBefore }, sign('N'), paneChat, nil},
		{"Stop the tool call that runs", func(k *keymap) *key.Binding { return &k.keys.StopCall }, sign('x'), paneTrace, nil},
		{"Begin a new line of the input", func(k *keymap) *key.Binding { return &k.keys.NewLine }, tea.KeyPressMsg{Code: 'j', Mod: tea.ModCtrl}, paneInput, nil},
		{"Bring back the input before", func(k *keymap) *key.Binding { return &k.keys.Older }, named(tea.KeyUp), paneInput, nil},
		{"Go on to the input after", func(k *keymap) *key.Binding { return &k.keys.Newer }, named(tea.KeyDown), paneInput, nil},
		{"Name a file of the folder", func(k *keymap) *key.Binding { return &k.keys.Mention }, sign('@'), paneInput, nil},
		{"Write the input in your editor", func(k *keymap) *key.Binding { return &k.keys.Outside }, tea.KeyPressMsg{Code: 'g', Mod: tea.ModCtrl}, paneInput, nil},
		{"Open a paste of the input", func(k *keymap) *key.Binding { return &k.dialog.Edit.OpenPaste }, tea.KeyPressMsg{}, paneInput, func(m *Model) tea.Cmd { return m.page().openPaste() }},
		{"Undo in the input", func(k *keymap) *key.Binding { return &k.dialog.Edit.Undo }, tea.KeyPressMsg{}, paneInput, func(m *Model) tea.Cmd { m.page().edit.Undo(); return m.page().changedInput() }},
		{"Redo in the input", func(k *keymap) *key.Binding { return &k.dialog.Edit.Redo }, tea.KeyPressMsg{}, paneInput, func(m *Model) tea.Cmd { m.page().edit.Redo(); return m.page().changedInput() }},
		{"To the shell, until fg", func(k *keymap) *key.Binding { return &k.keys.Suspend }, tea.KeyPressMsg{}, paneNone, func(*Model) tea.Cmd { return tea.Suspend }},
	}
}

// besides are keys of commands that stand with the other keys.
func (k *keymap) besides(c *command) key.Binding {
	switch c.title {
	case "Stop the run":
		return k.keys.Escape
	case "Copy the last block of code":
		return k.keys.CopyCode
	case "Edit an earlier input in a new session":
		return k.keys.EditInput
	case "Search the history":
		return k.keys.History
	case "Filter the trace":
		return k.keys.Filter
	}
	return key.Binding{}
}

// deedID tells the actions that are no commands apart from those.
const deedID = "key "

// openPalette lists all that can be done.
func (m *Model) openPalette() tea.Cmd {
	now := &keymap{keys: m.env.keys, dialog: m.env.dkeys}
	items := make([]dialog.Item, 0, len(m.env.commands))
	add := func(id string, title words.Text, slash, keys string) {
		// Titles name no keys: Tab is a tab there, whatever key goes to the next pane.
		items = append(items, dialog.Item{ID: id, Label: m.env.opts.Lang.T(title), Terms: string(title), Cells: []dialog.Cell{
			{Text: slash, Left: true, Role: theme.Faint}, {Text: keys, Role: theme.Faint},
		}})
	}
	for i, c := range m.env.commands {
		if c.apart {
			continue
		}
		keys := c.label(m.env.keys.Chord)
		if b := now.besides(&c); keys == "" && b.Enabled() {
			keys = b.Help().Key
		}
		slash := ""
		if c.slash != "" {
			slash = "/" + c.slash
		}
		add(strconv.Itoa(i), c.title, slash, keys)
	}
	for i, d := range deeds() {
		keys := ""
		if b := d.key(now); b.Enabled() {
			keys = b.Help().Key
		}
		add(deedID+strconv.Itoa(i), d.title, "", keys)
	}
	return m.page().show(dialog.NewPicker(kindPalette, m.T("COMMANDS"), "", items, false, m.env.dkeys).Ranked(), "")
}

// chosenFromPalette does what was chosen.
func (m *Model) chosenFromPalette(id string) tea.Cmd {
	n, isDeed := strings.CutPrefix(id, deedID)
	i, err := strconv.Atoi(n)
	switch all := deeds(); {
	case err != nil:
		return nil
	case isDeed && i < len(all):
		return m.deed(all[i])
	case !isDeed && i < len(m.env.commands):
		return m.env.commands[i].run(m, "")
	}
	return nil
}

// deed does an action as its key would, in the pane that it belongs to. A question that waits is never answered by it.
func (m *Model) deed(d deed) tea.Cmd {
	p := m.page()
	if d.run != nil {
		return d.run(m)
	}
	where := d.where
	if where == paneNone {
		if where = p.focus; where == paneInput || where == paneQuestion {
			where = paneChat
		}
	}
	if where != paneInput {
		m.env.panes.show(where, m.w)
	}
	p.focusOn(where)
	keys := m.env.keys
	m.env.keys = DefaultKeyMap()
	cmd := p.Update(d.press)
	m.env.keys = keys
	return m.asked(cmd, p)
}
