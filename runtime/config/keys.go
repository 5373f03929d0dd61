package config

import (
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// keyTable is the table of the file with the screen's keys.
const keyTable = "keys"

// KeyBinding is an action of the screen and the keys that the file gives it, in place of its own. What the names mean the screen knows:
// here only the form is checked.
type KeyBinding struct {
	Action string
	// Place is where the action stands in the file, as FILE:LINE:COLUMN.
	Place string
	// Keys are its keys; none takes it off the keyboard.
	Keys []PlacedKey
}

// PlacedKey is a key, and where it stands.
type PlacedKey struct{ Key, Place string }

// ofKeys says that a table or key of the file is one of the screen's.
func ofKeys(key string) bool { return key == keyTable || strings.HasPrefix(key, keyTable+".") }

// bindKeys takes an expression of the keys.
func (w *walker) bindKeys(prefix string, n *unstable.Node) {
	key, at := w.key(n)
	if prefix != "" {
		key = prefix + "." + key
	}
	v := n.Value()
	if key == keyTable && v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			w.bindKeys(keyTable, it.Node())
		}
		return
	}
	action, ok := strings.CutPrefix(key, keyTable+".")
	if !ok {
		w.errs = append(w.errs, &Error{Name: key, Place: at, Allowed: "must be a table of actions, [keys]"})
		return
	}
	b := KeyBinding{Action: action, Place: at}
	values := []*unstable.Node{v}
	if v.Kind == unstable.Array {
		values = nil
		for it := v.Children(); it.Next(); {
			if node := it.Node(); node.Kind != unstable.Comment {
				values = append(values, node)
			}
		}
	}
	for _, node := range values {
		if node.Kind != unstable.String {
			w.errs = append(w.errs, &Error{Name: key, Value: string(node.Data), Place: at, Allowed: `must be a key in quotes, as "ctrl+t", or a list of keys; "" for none`})
			return
		}
		place := at
		if node.Raw.Length > 0 {
			place = w.place(node.Raw)
		}
		if text := string(node.Data); text != "" {
			b.Keys = append(b.Keys, PlacedKey{Key: text, Place: place})
		}
	}
	w.keys = append(w.keys, b)
}

// SampleKeysHead begins the part of the sample file with the keys, which the screen lists.
const SampleKeysHead = `
# Keys of the screen: a key, or a list of keys; "" takes an action off the keyboard. Commands have a letter behind the chord's
# key, or a key of their own. Never bound: function keys, ctrl+b s q \ h i m [ space, ctrl+shift, super.
# [keys]
`
