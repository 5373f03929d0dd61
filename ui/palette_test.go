package ui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vitrine/runtime/config"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/dialog"
)

// The palette has every action: what can be bound to a key is in it, as a command or as what its key does, with its key. Left out is only
// what has a meaning where one types or is asked.
func TestPaletteHasEveryAction(t *testing.T) {
	keys := defaultKeymap()
	there := map[string]bool{}
	for _, d := range deeds() {
		there[d.key(keys).Help().Key+"|"+d.key(keys).Help().Desc] = true
	}
	for i := range keys.commands {
		if b := keys.besides(&keys.commands[i]); b.Enabled() {
			there[b.Help().Key+"|"+b.Help().Desc] = true
		}
	}
	apart := []string{"escape", "stop", "palette", "chord", "tabs", "send", "key_help", "pane_help", "previous_tab", "next_tab", "find", "copy_all"}
	for _, a := range keys.actions() {
		if a.command != nil || a.scope != everywhere && a.scope != inInput && a.scope != inPanes && a.name != "undo" && a.name != "redo" && a.name != "open_paste" ||
			slices.Contains(apart, a.name) {
			continue
		}
		if h := a.binding.Help(); !there[h.Key+"|"+h.Desc] {
			t.Errorf("%s (%s) is not in the palette", a.name, h.Key)
		}
	}
	d := newDriver(t, 120, 36)
	d.press("ctrl+p")
	p := d.m.page().dialog.(*dialog.Picker)
	rows := ansi.Strip(strings.Join(p.Rows(d.m.env.style, 100, 200), "\n"))
	for _, c := range keys.commands {
		if !c.apart && !strings.Contains(rows, string(c.title)) {
			t.Errorf("the command %q is not in the palette", c.title)
		}
	}
	for title, key := range map[string]string{"Go to the turn before": "[", "Copy the last block of code": "Y", "Stop the run": "Esc", "Undo in the input": "Ctrl+_", "Fold the context now": "Ctrl+X K"} {
		if !slices.ContainsFunc(strings.Split(rows, "\n"), func(r string) bool {
			return strings.Contains(r, title) && strings.HasSuffix(strings.TrimRight(r, " "), " "+key)
		}) {
			t.Errorf("%q does not stand with its key %s", title, key)
		}
	}
}

// The names of the user's keys stand where texts name keys, and not in the place of words that only look like them.
func TestKeyNamesInTitles(t *testing.T) {
	d := newDriver(t, 120, 40, func(o *Options, _ *fake) {
		o.Keys = []config.KeyBinding{{Action: "next_pane", Keys: []config.PlacedKey{{Key: "alt+n"}}}}
	})
	if got := d.m.T("Tab panes"); got != "Alt+N panes" {
		t.Errorf("%q", got)
	}
	d.press("ctrl+p")
	d.typed("tab before")
	d.sees("Tab before")
	d.seesNot("Alt+N before")
	d.press("esc", "?")
	d.typed("tab after")
	d.seesNot("Alt+N after")
}

// choose takes an action out of the palette.
func (d *driver) choose(title string) {
	d.t.Helper()
	d.press("ctrl+p")
	d.typed(title)
	d.press("enter")
	d.short()
}

// What is chosen there is done as by its key, from the input too, and where the configuration took the key away.
func TestPaletteDoes(t *testing.T) {
	d := longSession(t, func(o *Options, _ *fake) {
		o.Keys = []config.KeyBinding{{Action: "turn_before"}, {Action: "zoom", Keys: []config.PlacedKey{{Key: "alt+z"}}}}
	})
	p := d.m.page()
	d.choose("Go to the turn before")
	first, ok := p.columns.seen().Selected()
	if !ok || p.focus != paneChat {
		t.Fatalf("nothing is selected: %v", p.focus)
	}
	d.choose("Go to the turn before")
	if at, _ := p.columns.seen().Selected(); at.Turn != first.Turn-1 {
		t.Errorf("from turn %d to %d", first.Turn, at.Turn)
	}
	d.choose("from a message to its trace")
	if p.focus != paneTrace {
		t.Errorf("the focus is on %v", p.focus)
	}
	d.choose("an event as JSON")
	d.sees("EVENT")
	d.press("esc")
	d.choose("Show this pane alone")
	if d.m.env.panes.zoom != paneTrace {
		t.Error("the trace is not alone")
	}
	d.choose("Show this pane alone")
	d.choose("Go to the input")
	d.typed("one two")
	d.choose("Undo in the input")
	if got := p.edit.Text(); got == "one two" {
		t.Errorf("undone: %q", got)
	}
	d.choose("Redo in the input")
	d.choose("new line of the input")
	if got := p.edit.Text(); got != "one two\n" {
		t.Errorf("the input holds %q", got)
	}
	d.choose("Name a file")
	if got := p.edit.Text(); got != "one two\n@" || p.focus != paneInput {
		t.Errorf("the input holds %q", got)
	}
	if d.m.env.keys.TurnBefore.Enabled() {
		t.Error("the user's keys are not back")
	}
}

// A question that waits is answered by nothing of the palette.
func TestPaletteAnswersNothing(t *testing.T) {
	for i := range deeds() {
		if deeds()[i].title == "To the shell, until fg" {
			continue
		}
		d := newDriver(t, 120, 36)
		d.enter("write it")
		d.f.asked(d.id(), trace.ApprovalData{ID: "c1", Tool: "write_file", Effect: string(tools.SideEffect), Arguments: json.RawMessage(`{"path":"a"}`)})
		d.pass(time.Second)
		d.m.page().goToQuestion()
		d.f.order = nil
		d.run(d.m.deed(deeds()[i]))
		d.short()
		for _, o := range d.f.order {
			if strings.Contains(o, "decide") || strings.Contains(o, "set") {
				t.Errorf("%q: %s", deeds()[i].title, o)
			}
		}
		if d.m.page().question() != questionApprove {
			t.Errorf("%q took the question away", deeds()[i].title)
		}
	}
}

// A session is exported whole, also what is not loaded: as what its name says, into a file that was not there.
func TestExportFromTheScreen(t *testing.T) {
	dir := t.TempDir()
	d := longSession(t, func(o *Options, _ *fake) { o.Records = dir })
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	d.enter("/export json")
	d.short()
	d.sees("exported to s.json")
	var doc struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal([]byte(read("s.json")), &doc); err != nil || len(doc.Messages) != 1400 || doc.Messages[0].Content != "question 1" {
		t.Errorf("%v, %d messages", err, len(doc.Messages))
	}
	d.enter("/export json")
	d.short()
	d.sees("s.json is there already; name another file")
	d.enter("/export notes.html")
	d.short()
	if got := read("notes.html"); !strings.Contains(got, "<html") || !strings.Contains(got, "answer 30 needle") {
		t.Errorf("%.200q", got)
	}
	d.enter("/export x.pdf")
	d.sees("a session is exported as .md, .json or .html")
	d.choose("Export this session")
	d.sees("EXPORT  s.md", "a new .md, .json or .html")
	d.press("enter")
	d.short()
	if got := read("s.md"); !strings.Contains(got, "question 700") || !strings.Contains(got, "question 1\n") {
		t.Errorf("%.200q", got)
	}
	d.m.env.opts.Records = filepath.Join(dir, "none")
	d.enter("/export again.md")
	d.short()
	d.sees("export the session: ")
	if got := fileName("../a b/部署"); got != "-a-b-部署" {
		t.Errorf("a file's name: %q", got)
	}
}
