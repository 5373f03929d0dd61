package ui

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"charm.land/bubbles/v2/key"

	"vitrine/runtime/config"
	"vitrine/ui/words"
)

// file reads the keys of a configuration file.
func keysOf(t *testing.T, text string) ([]config.KeyBinding, error) {
	t.Helper()
	cfg, err := config.Load(config.Inputs{Login: "ann", FilePath: "c.toml", File: []byte(text)})
	if err != nil {
		return nil, err
	}
	return cfg.Keys, CheckKeys(cfg.Keys)
}

// Every binding and every command has a name of its own, and what the sample file says of them binds them as they are.
func TestEveryActionCanBeBound(t *testing.T) {
	m := defaultKeymap()
	seen := map[string]bool{}
	bound := map[*key.Binding]bool{}
	for _, a := range m.actions() {
		if a.name == "" || seen[a.name] || strings.ToLower(a.name) != a.name || strings.ContainsAny(a.name, " ,.") {
			t.Errorf("%q is no name for an action, or that of two", a.name)
		}
		seen[a.name] = true
		bound[a.binding] = true
	}
	for _, group := range []any{&m.keys, &m.dialog, &m.dialog.Edit} {
		v := reflect.ValueOf(group).Elem()
		for i := range v.NumField() {
			if b, ok := v.Field(i).Addr().Interface().(*key.Binding); ok && !bound[b] && b != &m.keys.Slash && b != &m.keys.Mention {
				t.Errorf("%s cannot be bound", v.Type().Field(i).Name)
			}
		}
	}
	var file strings.Builder
	for line := range strings.Lines(SampleKeys()) {
		if row, ok := strings.CutPrefix(line, "# "); ok && (strings.Contains(row, " = ") || strings.HasPrefix(row, "[keys]")) {
			file.WriteString(row)
		}
	}
	text := file.String()
	bindings, err := keysOf(t, text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(bindings) != len(m.actions()) {
		t.Errorf("the sample has %d of %d actions", len(bindings), len(m.actions()))
	}
	for _, a := range m.actions() {
		n := defaultKeymap()
		one := config.KeyBinding{Action: a.name, Place: "c.toml:1:1"}
		if err := n.bind([]config.KeyBinding{one}); (err != nil) != a.kept {
			t.Errorf("taking %s off the keyboard: %v", a.name, err)
		}
	}
}

// What is wrong is told with its place and with what to do.
func TestWrongKeysAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[keys]\nsnd = \"ctrl+t\"":                    "keys.snd: is no action; did you mean send? (c.toml:2:1)",
		"[keys]\nxyzzy = \"ctrl+t\"":                  "vitrine doctor --sample-config lists the actions (c.toml:2:1)",
		"[keys]\nsend = \"ctl+t\"":                    `keys.send=ctl+t: there is no key of the name "ctl"`,
		"[keys]\nsend = \"foo\"":                      `keys.send=foo: is no key; keys are letters,`,
		"[keys]\nsend = \"f5\"":                       "is a function key",
		"[keys]\n\nsend = [\"enter\",\n  \"ctrl+m\"]": `keys.send=ctrl+m: it is never bound; tmux, the terminal or an input method needs it`,
		"[keys]\nsend = \"ctrl+shift+a\"":             "ctrl with shift is the terminal's own; it is never bound (c.toml:2:8)",
		"[keys]\nsend = \"super+a\"":                  "belongs to the desktop",
		"[keys]\nsend = \"ctrl+1\"":                   "is a key that terminals cannot send",
		"[keys]\nsend = \"ctrl+enter\"":               "is a key that most terminals cannot send; take one with alt",
		"[keys]\nsend = \"a\"":                        "is text in the input; take one with ctrl or alt (c.toml:2:8)",
		"[keys]\ncompact = \"k\"":                     `is text in the input; take one with ctrl or alt, or ctrl+x k`,
		"[keys]\ncompact = \"ctrl+t k\"":              `does not begin with the key of the chord; write ctrl+x k`,
		"[keys]\nsend = \"ctrl+x k\"":                 "a key behind another is for commands only",
		"[keys]\nsend = \"\"":                         "needs a key; without one there would be no way to do it",
		"[keys]\nsend = []":                           "needs a key",
		"[keys]\npalette = \"ctrl+r\"":                `keys.palette=ctrl+r: is the key of search_history too; give one of them another key, or none (c.toml:2:11)`,
		"[keys]\ncompact = \"ctrl+r\"":                "is the key of search_history too",
		"[keys]\ncompact = \"ctrl+x n\"":              `keys.compact="ctrl+x n": is the key of new too; give one of them another key, or none (c.toml:2:11)`,
		"[keys]\nyes = \"n\"":                         "is the key of no too",
		"[keys]\nsend = 5":                            `must be a key in quotes`,
		"[keys]\nsend = [5]":                          `must be a key in quotes`,
		"keys = 5":                                    "must be a table of actions, [keys]",
		"[keys]\ntabs = [\"alt+q\",\"alt+w\",\"alt+e\",\"alt+r\",\"alt+t\",\"alt+u\",\"alt+i\",\"alt+o\",\"alt+p\",\"alt+a\"]": "takes nine keys at most",
		"[keys]\nsend = \"alt+s\"\nsend = \"alt+d\"": "c.toml:3:1",
	} {
		_, err := keysOf(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{
		"keys.send = \"alt+s\"", "keys = { send = \"ALT+S\", palette = [\"ctrl+t\", \"alt+x\"] }", "[keys]\nsend = [ # comment\n \"alt+s\", # another\n]",
		"[keys]\nsearch_history = \"\"\npalette = \"ctrl+r\"", "[keys]\nchord = \"ctrl+t\"\ncompact = \"ctrl+t k\"", "[keys]\nnew = \"alt+n\"\ncompact = [\"chord n\", \"alt+k\"]",
		"[keys]\nyes = \"j\"\nup = \"shift+k\"", "[keys]\nsuspend = \"\"",
	} {
		if _, err := keysOf(t, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The user's keys are matched, and hints, help, palette, chord and answers name them and not ours, in both languages.
func TestTheUsersKeys(t *testing.T) {
	bindings, err := keysOf(t, `[keys]
palette = "alt+x"
next_pane = "ctrl+t"
chord = "alt+c"
compact = ["alt+k", "chord j"]
show_or_hide_the_trace = "chord i"
close_dialog = "alt+q"
search_history = ""
escape = "ctrl+]"
send = "alt+s"
down = "s"
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range []words.Lang{words.English, words.Chinese} {
		d := newDriver(t, 90, 30, func(o *Options, _ *fake) { o.Keys, o.Lang = bindings, lang })
		d.frames = d.straight
		d.sees("Alt+X ", "Alt+C I ")
		d.seesNot("Ctrl+P", "Ctrl+X")
		d.typed("hello")
		d.press("enter")
		if len(d.f.settings) > 0 || d.m.page().edit.Text() != "hello" {
			t.Error("Enter sends still")
		}
		d.press("alt+s")
		d.short()
		if got := d.lastSubmit(); got != "hello" {
			t.Errorf("sent %q", got)
		}
		d.sees("Ctrl+] ")
		d.press("ctrl+]")
		d.short()
		if !slices.Contains(d.f.order, "cancel "+d.id()) {
			t.Error("the key of escape does not cancel")
		}
		d.pass(1e10)
		d.press("alt+x")
		d.sees("Alt+K", "Alt+C I", "Alt+Q ")
		d.seesNot("Ctrl+X", "Esc")
		d.press("alt+q")
		d.press("alt+c", "h")
		d.sees("Alt+X", "Ctrl+T")
		d.seesNot("Ctrl+P", "Ctrl+R   ", "Ctrl+X")
		d.press("alt+q")
		d.press("alt+c")
		d.sees("Alt+C", "Ctrl+] ")
		d.press("?")
		d.sees("Alt+C ?")
		d.press("ctrl+p", "ctrl+r", "tab") // ours do nothing now
		if d.m.page().dialog != nil || d.m.page().focus != paneInput {
			t.Error("a key that was given away works still")
		}
		d.press("ctrl+t")
		if d.m.page().focus == paneInput {
			t.Error("the key of next_pane does not move the focus")
		}
	}
}

// The tabs' keys stand for tabs in their order.
func TestTheUsersTabKeys(t *testing.T) {
	bindings, err := keysOf(t, "[keys]\ntabs = [\"alt+q\", \"alt+w\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(t, 100, 30, func(o *Options, _ *fake) { o.Keys = bindings })
	d.press("ctrl+x", "n")
	d.short()
	d.press("alt+q")
	if d.m.active != 0 {
		t.Errorf("tab %d", d.m.active+1)
	}
	d.press("alt+1")
	d.press("alt+w")
	if d.m.active != 1 {
		t.Errorf("tab %d", d.m.active+1)
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"ctrl+a", "alt+,", "shift+x", "+", "ctrl++", "enter", "中", "ctrl+中", "\x00", "alt+", "f12"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, why := parseKey(s)
		if (name == "") == (why == "") && s != "chord" {
			t.Fatalf("%q: %q %q", s, name, why)
		}
		if why == "" {
			if again, why := parseKey(name); why != "" || again != name {
				t.Fatalf("%q is %q, which is %q %s", s, name, again, why)
			}
			_ = fmt.Sprint(keyLabel(name))
		}
	})
}
