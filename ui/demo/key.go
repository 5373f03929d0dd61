package demo

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Key gives the key of a name: modifiers and a key joined by +, as Bubble Tea writes them.
func Key(name string) (tea.KeyPressMsg, error) {
	var k tea.KeyPressMsg
	rest := name
	for {
		mod, after, ok := strings.Cut(rest, "+")
		if !ok || after == "" {
			break
		}
		switch mod {
		case "ctrl":
			k.Mod |= tea.ModCtrl
		case "alt":
			k.Mod |= tea.ModAlt
		case "shift":
			k.Mod |= tea.ModShift
		default:
			return k, fmt.Errorf("key %q: there is no modifier %q; there are ctrl, alt and shift, as in ctrl+x", name, mod)
		}
		rest = after
	}
	if code, ok := namedKey(rest); ok {
		k.Code = code
		if code == tea.KeySpace && k.Mod == 0 {
			k.Text = " "
		}
		return k, nil
	}
	runes := []rune(rest)
	if len(runes) != 1 {
		return k, fmt.Errorf("key %q: there is no key %q; a key is a character, or enter, esc, tab, space, backspace, delete, up, down, left, "+
			"right, home, end, pgup or pgdown, as in ctrl+x", name, rest)
	}
	k.Code = runes[0]
	if k.Mod&^tea.ModShift == 0 {
		k.Text = rest
	}
	return k, nil
}

func namedKey(name string) (rune, bool) {
	switch name {
	case "enter":
		return tea.KeyEnter, true
	case "esc":
		return tea.KeyEscape, true
	case "tab":
		return tea.KeyTab, true
	case "space":
		return tea.KeySpace, true
	case "backspace":
		return tea.KeyBackspace, true
	case "delete":
		return tea.KeyDelete, true
	case "up":
		return tea.KeyUp, true
	case "down":
		return tea.KeyDown, true
	case "left":
		return tea.KeyLeft, true
	case "right":
		return tea.KeyRight, true
	case "home":
		return tea.KeyHome, true
	case "end":
		return tea.KeyEnd, true
	case "pgup":
		return tea.KeyPgUp, true
	case "pgdown":
		return tea.KeyPgDown, true
	}
	return 0, false
}
