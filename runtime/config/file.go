package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// fileValue is one value of the file as it stood there.
type fileValue struct {
	kind  unstable.Kind
	text  string
	place string
}

// parseFile gives the file's values by key. It refuses keys that are none of ours: a misspelt one would silently do nothing.
func parseFile(data []byte, path string) (map[string]fileValue, []KeyBinding, []error) {
	if len(data) == 0 {
		return nil, nil, nil
	}
	// The strict decoder finds what is no TOML, and keys that stand twice; the walk below gives the places of values.
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		return nil, nil, []error{syntaxError(err, path)}
	}
	known := map[string]setting{}
	for _, s := range table() {
		if !s.envOnly {
			known[s.key()] = s
		}
	}
	w := walker{path: path, known: known, found: map[string]fileValue{}}
	w.parser.Reset(data)
	for w.parser.NextExpression() {
		w.expression(w.parser.Expression())
	}
	return w.found, w.keys, w.errs
}

func syntaxError(err error, path string) error {
	var de *toml.DecodeError
	if errors.As(err, &de) {
		row, col := de.Position()
		return &Error{Name: fmt.Sprintf("%s:%d:%d", path, row, col), Allowed: strings.TrimPrefix(de.Error(), "toml: ")}
	}
	return &Error{Name: path, Allowed: err.Error()}
}

type walker struct {
	path   string
	parser unstable.Parser
	known  map[string]setting
	prefix string // the table that the expressions below belong to
	found  map[string]fileValue
	keys   []KeyBinding
	errs   []error
}

func (w *walker) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		key, at := w.key(n)
		w.prefix = key
		if ofTables(key) || key == keyTable && n.Kind == unstable.Table {
			return
		}
		if n.Kind == unstable.ArrayTable || !w.isGroup(key) {
			w.unknown("["+key+"]", key, at)
		}
	case unstable.KeyValue:
		w.keyValue(w.prefix, n)
	}
}

func (w *walker) keyValue(prefix string, n *unstable.Node) {
	key, at := w.key(n)
	if ofTables(prefix) || prefix == "" && ofTables(key) {
		return
	}
	if ofKeys(prefix) || prefix == "" && ofKeys(key) {
		w.bindKeys(prefix, n)
		return
	}
	if prefix != "" {
		if !w.isGroup(prefix) {
			return // told at the table already
		}
		key = prefix + "." + key
	}
	v := n.Value()
	if v.Kind == unstable.InlineTable && w.isGroup(key) {
		for it := v.Children(); it.Next(); {
			w.keyValue(key, it.Node())
		}
		return
	}
	if _, ok := w.known[key]; !ok {
		w.unknown(key, key, at)
		return
	}
	place := at
	if v.Raw.Length > 0 {
		place = w.place(v.Raw)
	}
	w.found[key] = fileValue{kind: v.Kind, text: string(v.Data), place: place}
}

// key is the dotted key of a node and its place.
func (w *walker) key(n *unstable.Node) (string, string) {
	var parts []string
	at := ""
	for it := n.Key(); it.Next(); {
		k := it.Node()
		if at == "" {
			at = w.place(k.Raw)
		}
		parts = append(parts, string(k.Data))
	}
	return strings.Join(parts, "."), at
}

func (w *walker) place(r unstable.Range) string {
	start := w.parser.Shape(r).Start
	return fmt.Sprintf("%s:%d:%d", w.path, start.Line, start.Column)
}

func (w *walker) isGroup(key string) bool {
	for k := range w.known {
		if strings.HasPrefix(k, key+".") {
			return true
		}
	}
	return false
}

func (w *walker) unknown(shown, key, at string) {
	names := make([]string, 0, len(w.known))
	for _, s := range table() {
		if !s.envOnly {
			names = append(names, s.key())
		}
	}
	msg := "is not a key of this file"
	if s := Suggest(key, names); s != "" {
		msg += "; did you mean " + s + "?"
	} else {
		msg += "; vitrine doctor --sample-config lists them"
	}
	w.errs = append(w.errs, &Error{Name: shown, Place: at, Allowed: msg})
}

// fits says whether the value is of the setting's kind.
func (v fileValue) fits(s setting) error {
	want := ""
	switch s.kind {
	case text:
		if v.kind != unstable.String {
			want = "must be a text in quotes"
		}
	case integer:
		if v.kind != unstable.Integer {
			want = "must be a whole number without quotes"
		}
	case number:
		if v.kind != unstable.Integer && v.kind != unstable.Float {
			want = "must be a number without quotes"
		}
	case boolean:
		if v.kind != unstable.Bool {
			want = "must be true or false"
		}
	}
	if want == "" {
		return nil
	}
	e := &Error{Name: s.key(), Place: v.place, Value: v.text, Allowed: want}
	if s.secret {
		e.Value = ""
	}
	return e
}
