package ui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"vitrine/runtime/config"
	"vitrine/ui/dialog"
	"vitrine/ui/words"
)

// Here the keys of the configuration come over those of the program. Every binding of KeyMap, of the input's editor and of dialogs has a
// name there, and every command of commandTable too. What is bound is checked against what matches at the same time.

// scope is where keys of actions are matched.
type scope int

const (
	everywhere scope = iota
	inInput
	inEditor
	inPanes
	inAsked
	inPaused
	inBoth // in a question of either kind
	inDialog
	ofChord
)

// action is one thing that a key can be bound to.
type action struct {
	name    string
	scope   scope
	binding *key.Binding
	command *command // for a command: its letter is in binding, a key of its own in command.direct
	places  bool     // the place of a key in the list says which tab is meant
	kept    bool     // it needs a key
}

// keymap is every key of the screen.
type keymap struct {
	keys     KeyMap
	dialog   dialog.Keys
	commands []command
}

func defaultKeymap() *keymap {
	return &keymap{keys: DefaultKeyMap(), dialog: dialog.DefaultKeys(), commands: commandTable()}
}

// actions lists what can be bound.
func (m *keymap) actions() []action {
	k, d, e := &m.keys, &m.dialog, &m.dialog.Edit
	list := []action{
		{name: "next_pane", binding: &k.NextPane}, {name: "previous_pane", binding: &k.PrevPane}, {name: "escape", binding: &k.Escape, kept: true},
		{name: "stop", binding: &k.Stop, kept: true}, {name: "palette", binding: &k.Palette}, {name: "chord", binding: &k.Chord},
		{name: "tabs", binding: &k.Tab, places: true}, {name: "previous_tab", binding: &k.TabBefore}, {name: "next_tab", binding: &k.TabAfter},
		{name: "suspend", binding: &k.Suspend}, {name: "chat_line_up", binding: &k.ChatLineUp}, {name: "chat_line_down", binding: &k.ChatLineDown},
	}
	in := func(s scope, names []string, bindings ...*key.Binding) {
		for i, name := range names {
			list = append(list, action{name: name, scope: s, binding: bindings[i]})
		}
	}
	list = append(list, action{name: "send", scope: inInput, binding: &k.Send, kept: true})
	in(inInput, []string{"new_line", "older", "newer", "search_history", "editor", "key_help", "chat_page_up", "chat_page_down"}, &k.NewLine, &k.Older, &k.Newer, &k.History, &k.Outside,
		&k.Help, &k.ChatPageUp, &k.ChatPageDown)
	in(inEditor, []string{"left", "right", "word_left", "word_right", "line_start", "line_end", "text_start", "text_end"}, &e.Left, &e.Right, &e.WordLeft, &e.WordRight, &e.Home, &e.End,
		&e.Start, &e.Finish)
	in(inEditor, []string{"delete_before", "delete_under", "delete_word", "delete_word_after", "delete_to_start", "delete_to_end", "put_back", "undo", "redo", "open_paste"}, &e.Backspace,
		&e.Delete, &e.DeleteWord, &e.DeleteWordRight, &e.KillLeft, &e.KillRight, &e.Yank, &e.Undo, &e.Redo, &e.OpenPaste)
	in(inPanes, []string{"up", "down", "half_page_up", "half_page_down", "page_up", "page_down", "top", "bottom", "open", "toggle", "unfold", "fold", "turn_before", "turn_after"}, &k.Up, &k.Down, &k.HalfUp,
		&k.HalfDown, &k.PageUp, &k.PageDown, &k.Top, &k.Bottom, &k.Open, &k.Toggle, &k.Unfold, &k.Fold, &k.TurnBefore, &k.TurnAfter)
	in(inPanes, []string{"trace_of", "edit_input", "copy", "copy_code", "zoom", "to_input", "pane_help", "find", "find_next", "find_before", "whole", "stop_call", "filter_trace", "select_several"}, &k.TraceOf, &k.EditInput, &k.CopyAnswer, &k.CopyCode,
		&k.Zoom, &k.ToInput, &k.PaneHelp, &k.Find, &k.FindNext, &k.FindBefore, &k.Whole, &k.StopCall, &k.Filter, &k.Several)
	in(inAsked, []string{"yes", "no", "always", "again"}, &k.Yes, &k.No, &k.Always, &k.Again)
	in(inBoth, []string{"give_up", "edit_arguments"}, &k.GiveUp, &k.Edit)
	in(inPaused, []string{"step", "run_on", "run_until", "answer", "show_request"}, &k.Step, &k.RunOn, &k.Until, &k.Answer, &k.Request)
	in(inDialog, []string{"list_up", "list_down", "list_page_up", "list_page_down", "list_top", "list_bottom", "take", "close_dialog", "list_rename", "list_delete", "copy_all", "dialog_new_line", "dialog_editor", "list_star", "list_search"},
		&d.Up, &d.Down, &d.PageUp, &d.PageDown, &d.Top, &d.Bottom, &d.Accept, &d.Close, &d.Rename, &d.Delete, &d.Copy, &d.NewLine, &d.Outside, &d.Star, &d.Search)
	list = append(list, action{name: "chord_tabs", scope: ofChord, binding: &k.ChordTab, places: true})
	for i := range m.commands {
		c := &m.commands[i]
		list = append(list, action{name: c.name(), scope: ofChord, binding: &c.chord, command: c})
	}
	return list
}

// name is the command's in the configuration: its slash command's, else its title with _ for blanks.
func (c *command) name() string {
	if c.slash != "" {
		return c.slash
	}
	title := strings.ReplaceAll(strings.ToLower(string(c.title)), "'", "")
	return strings.Join(strings.FieldsFunc(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "_")
}

// CheckKeys says what is wrong with the keys of a configuration, each with its place.
func CheckKeys(bindings []config.KeyBinding) error {
	return defaultKeymap().bind(bindings)
}

// bind puts keys in the place of the program's own. What is wrong is told at once and changes nothing.
func (m *keymap) bind(bindings []config.KeyBinding) error {
	var errs []error
	fail := func(action, key, place, why string, args ...any) {
		errs = append(errs, &config.Error{Name: "keys." + action, Value: key, Place: place, Allowed: fmt.Sprintf(why, args...)})
	}
	all := m.actions()
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.name
	}
	placed := map[string]string{} // where a key was bound by the file, by action and key
	for _, b := range bindings {
		i := slices.Index(names, b.Action)
		if i < 0 {
			hint := "vitrine doctor --sample-config lists the actions"
			if s := config.Suggest(b.Action, names); s != "" {
				hint = "did you mean " + s + "?"
			}
			fail(b.Action, "", b.Place, "is no action; %s", hint)
			continue
		}
		a := all[i]
		var keys []string
		bad := false
		for _, k := range b.Keys {
			text, why := a.key(k.Key, m.keys.Chord)
			if why != "" {
				fail(b.Action, k.Key, k.Place, "%s", why)
				bad = true
				continue
			}
			keys = append(keys, text)
			placed[b.Action+" "+text] = k.Place
		}
		switch {
		case bad:
		case len(keys) == 0 && a.kept:
			fail(b.Action, "", b.Place, "needs a key; without one there would be no way to do it")
		case a.places && len(keys) > 9:
			fail(b.Action, "", b.Place, "takes nine keys at most; the first is that of the first tab")
		default:
			a.set(keys)
		}
	}
	if len(errs) == 0 {
		errs = m.conflicts(placed)
	}
	return errors.Join(errs...)
}

// set binds keys, or takes the action off the keyboard.
func (a action) set(keys []string) {
	if a.command != nil {
		letters, direct := []string{}, []string{}
		for _, k := range keys {
			if l, ok := strings.CutPrefix(k, chordWord); ok {
				letters = append(letters, l)
			} else {
				direct = append(direct, k)
			}
		}
		rebind(&a.command.chord, letters)
		rebind(&a.command.direct, direct)
		return
	}
	rebind(a.binding, keys)
}

func rebind(b *key.Binding, keys []string) {
	desc := b.Help().Desc
	if len(keys) == 0 {
		b.Unbind()
		return
	}
	b.SetKeys(withTwins(keys)...)
	label := keyLabel(keys[0])
	if len(keys) > 1 && len(label)+len(keyLabel(keys[1])) < 12 {
		label += " " + keyLabel(keys[1])
	}
	b.SetHelp(label, desc)
	b.SetEnabled(true)
}

// withTwins adds the second name that some keys have: Alt with a capital letter is told apart by terminals in two ways.
func withTwins(keys []string) []string {
	out := slices.Clone(keys)
	for _, k := range keys {
		if l, ok := strings.CutPrefix(k, "alt+"); ok && len(l) == 1 && l != strings.ToLower(l) {
			out = append(out, "alt+shift+"+strings.ToLower(l))
		}
	}
	return out
}

// conflicts are keys that two actions would have at the same time; only those that the file bound are told.
func (m *keymap) conflicts(placed map[string]string) (errs []error) {
	together := [][]scope{{everywhere, inInput, inEditor}, {everywhere, inPanes}, {everywhere, inAsked, inBoth}, {everywhere, inPaused, inBoth}, {inDialog}, {ofChord}}
	all := m.actions()
	told := map[string]bool{}
	for _, scopes := range together {
		owner := map[string]action{}
		for _, a := range all {
			for _, k := range a.within(scopes) {
				first, taken := owner[k]
				if !taken {
					owner[k] = a
					continue
				}
				name, other := a.name, first.name
				place := placed[name+" "+a.written(k)]
				if place == "" {
					name, other = other, name
					place = placed[first.name+" "+first.written(k)]
				}
				if place == "" || told[name+k] { // ours alone do no harm: the first one wins
					continue
				}
				told[name+k] = true
				errs = append(errs, &config.Error{Name: "keys." + name, Value: strings.Replace(a.written(k), chordWord, strings.ToLower(m.keys.Chord.Help().Key)+" ", 1), Place: place,
					Allowed: fmt.Sprintf("is the key of %s too; give one of them another key, or none", other)})
			}
		}
	}
	return errs
}

// within are the keys of an action that are matched in these scopes.
func (a action) within(scopes []scope) []string {
	if a.command != nil && slices.Contains(scopes, everywhere) {
		return a.command.direct.Keys()
	}
	if !slices.Contains(scopes, a.scope) || !a.binding.Enabled() {
		return nil
	}
	keys := a.binding.Keys()
	if a.scope == ofChord && a.command != nil { // letters in both cases are one
		keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return strings.ToLower(k) != k && slices.Contains(keys, strings.ToLower(k)) })
	}
	return keys
}

// written is a key as the file has it.
func (a action) written(k string) string {
	if a.command != nil && slices.Contains(a.command.chord.Keys(), k) {
		return chordWord + k
	}
	return k
}

// chordWord stands for the chord's key in front of a command's letter.
const chordWord = "chord "

// key reads a key of the configuration for an action; why says what is wrong with it.
func (a action) key(text string, chord key.Binding) (name, why string) {
	first, letter, two := strings.Cut(strings.TrimSpace(text), " ")
	if two {
		start, why := parseKey(first)
		if a.command == nil {
			return "", "a key behind another is for commands only"
		}
		if start != "chord" && (why != "" || !slices.Contains(chord.Keys(), start)) {
			return "", fmt.Sprintf("does not begin with the key of the chord; write %s", strings.ToLower(chord.Help().Key)+" "+strings.TrimSpace(letter))
		}
		if letter, why = parseKey(strings.TrimSpace(letter)); why != "" {
			return "", why
		}
		return chordWord + letter, ""
	}
	if name, why = parseKey(first); why != "" {
		return "", why
	}
	typed := utf8.RuneCountInString(name) == 1 || name == "space"
	if typed && (a.command != nil || a.scope == everywhere || a.scope == inInput && a.name != "key_help" || a.scope == inEditor) {
		if a.command != nil {
			return "", fmt.Sprintf("is text in the input; take one with ctrl or alt, or %s", strings.ToLower(chord.Help().Key)+" "+name)
		}
		return "", "is text in the input; take one with ctrl or alt"
	}
	return name, ""
}

// plainKeys are the names of keys that are no characters.
func plainKeys() []string {
	return []string{"enter", "tab", "esc", "space", "backspace", "delete", "insert", "up", "down", "left", "right", "home", "end", "pgup", "pgdown"}
}

// parseKey reads the name of a key as terminals send it; why says why it cannot be bound.
func parseKey(text string) (name, why string) {
	if text == "chord" {
		return text, "is no key"
	}
	rest, mods := text, map[string]bool{}
	for {
		i := strings.IndexByte(rest, '+')
		if i <= 0 || i == len(rest)-1 {
			break
		}
		mod := strings.ToLower(rest[:i])
		mod = cmp.Or(map[string]string{"control": "ctrl", "option": "alt", "meta": "alt", "cmd": "super", "win": "super"}[mod], mod)
		if !slices.Contains([]string{"ctrl", "alt", "shift", "super", "hyper"}, mod) {
			return "", fmt.Sprintf("there is no key of the name %q; ctrl, alt and shift stand before a + and the key", rest[:i])
		}
		mods[mod], rest = true, rest[i+1:]
	}
	base := strings.ToLower(rest)
	base = cmp.Or(map[string]string{"escape": "esc", "return": "enter", "pageup": "pgup", "pagedown": "pgdown", "del": "delete", "ins": "insert", "plus": "+"}[base], base)
	single := utf8.RuneCountInString(rest) == 1
	switch {
	case mods["super"], mods["hyper"]:
		return "", "belongs to the desktop; it is never bound"
	case mods["ctrl"] && mods["shift"]:
		return "", "ctrl with shift is the terminal's own; it is never bound"
	case len(base) > 1 && base[0] == 'f' && strings.Trim(base[1:], "0123456789") == "":
		return "", "is a function key, which terminals and desktops keep for themselves; it is never bound"
	case mods["ctrl"] && (single && strings.Contains(`bsq\him[@ `, base) || base == "space"):
		return "", "it is never bound; tmux, the terminal or an input method needs it, or it is Tab, Enter, Esc or Backspace under another name"
	case !single && !slices.Contains(plainKeys(), base):
		return "", fmt.Sprintf("is no key; keys are letters, with ctrl+, alt+ or shift+ before them, and %s", strings.Join(plainKeys(), " "))
	case mods["ctrl"] && single && !(base[0] >= 'a' && base[0] <= 'z' || strings.Contains("]^_/", base)):
		return "", "is a key that terminals cannot send; with ctrl go letters, and the keys with names"
	case mods["ctrl"] && slices.Contains([]string{"enter", "tab", "esc", "insert"}, base), mods["shift"] && slices.Contains([]string{"space", "esc", "backspace"}, base):
		return "", "is a key that most terminals cannot send; take one with alt, or a letter with ctrl"
	}
	if single && mods["shift"] {
		delete(mods, "shift")
		rest = strings.ToUpper(rest)
	}
	if single && !mods["ctrl"] {
		base = rest // the case of a letter counts
	}
	if r, _ := utf8.DecodeRuneInString(base); single && (unicode.IsControl(r) || !unicode.IsPrint(r)) {
		return "", "is no key"
	}
	for _, mod := range []string{"shift", "alt", "ctrl"} {
		if mods[mod] {
			base = mod + "+" + base
		}
	}
	return base, ""
}

// keyLabel is a key as it is shown: ctrl+p is Ctrl+P.
func keyLabel(k string) string {
	parts := strings.Split(k, "+")
	if strings.HasSuffix(k, "+") {
		parts = append(strings.Split(strings.TrimSuffix(k, "+"), "+"), "+")
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	}
	for i, p := range parts {
		name := map[string]string{"pgup": "PgUp", "pgdown": "PgDn", "delete": "Del"}[p]
		switch {
		case name != "":
			parts[i] = name
		case len(parts) > 1 || utf8.RuneCountInString(p) > 1:
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "+")
}

// tabOf is the place of a key among those of a binding, for bindings whose keys are tabs.
func tabOf(k tea.KeyPressMsg, b key.Binding) int { return slices.Index(b.Keys(), k.String()) }

// label names what a command's keys are; empty when it has none.
func (c *command) label(chord key.Binding) string {
	if k := c.direct.Help().Key; c.direct.Enabled() && k != "" {
		return k
	}
	if k := c.chord.Help().Key; k != "" && c.chord.Enabled() && chord.Enabled() {
		return chord.Help().Key + " " + strings.ToUpper(k)
	}
	return ""
}

// names are the keys that texts name, in the program's own words, and what they are now: nil when all are ours.
func (m *keymap) names(l words.Lang, dialogs bool) *words.Keys {
	was, out := defaultKeymap(), map[string]string{}
	none := l.T("(no key)")
	note := func(ours string, now string) {
		if now == "" {
			now = none
		}
		if ours != "" && ours != now {
			out[ours] = now
		}
	}
	now := m.actions()
	for i, a := range was.actions() {
		b := now[i]
		switch {
		case a.command != nil:
			note(a.command.label(was.keys.Chord), b.command.label(m.keys.Chord))
		case dialogs == (a.scope == inDialog) && (a.scope == everywhere || a.scope == inInput || a.scope == inDialog || a.name == "open_paste"):
			ours, _, _ := strings.Cut(a.binding.Help().Key, " ")
			theirs, _, _ := strings.Cut(b.binding.Help().Key, " ")
			if !b.binding.Enabled() {
				theirs = ""
			}
			note(ours, theirs)
		}
	}
	return words.NewKeys(out)
}

// SampleKeys is the part of the sample file with every action and its keys.
func SampleKeys() string {
	var b strings.Builder
	b.WriteString(config.SampleKeysHead)
	for _, a := range defaultKeymap().actions() {
		keys := a.binding.Keys()
		if a.command != nil {
			keys = nil
			for _, k := range a.within([]scope{ofChord}) {
				keys = append(keys, "ctrl+x "+k)
			}
		}
		keys = sampled(a, keys)
		value := `""`
		switch len(keys) {
		case 0:
		case 1:
			value = fmt.Sprintf("%q", keys[0])
		default:
			value = "[" + strings.Join(quoted(keys), ", ") + "]"
		}
		fmt.Fprintf(&b, "# %s = %s\n", a.name, value)
	}
	return b.String()
}

// sampled are those of the keys that a file may ask for, each once.
func sampled(a action, keys []string) []string {
	var out []string
	for _, k := range keys {
		name, why := a.key(k, DefaultKeyMap().Chord)
		if why == "" && !slices.ContainsFunc(out, func(o string) bool { n, _ := a.key(o, DefaultKeyMap().Chord); return n == name }) {
			out = append(out, k)
		}
	}
	return out
}

func quoted(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = fmt.Sprintf("%q", k)
	}
	return out
}
