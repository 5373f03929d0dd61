package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/bubbles/v2/key"
)

// B040: Ctrl+C does the smallest thing that is to be done, and leaves only when it comes twice.
func TestCtrlC(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()

	d.enter("first")
	d.f.stream(id, "some te")
	d.short()
	d.press("ctrl+c")
	d.short()
	if d.quit || !d.did("cancel "+id) {
		t.Fatalf("a running turn is not cancelled: %q", d.f.order)
	}
	d.sees("stopped")

	d.f.order = nil
	d.enter("second")
	d.f.toolStart(id, "search_mock", `{"query":"x"}`)
	d.short()
	d.sees(" running ", "search_mock")
	d.press("ctrl+c")
	d.short()
	if d.quit || !d.did("cancel "+id) {
		t.Fatalf("a running tool is not cancelled: %q", d.f.order)
	}

	d.press("ctrl+p")
	d.sees("COMMANDS")
	d.press("ctrl+c")
	d.seesNot("COMMANDS")

	d.pass(10 * time.Second)
	d.typed("words worth keeping")
	d.press("ctrl+c")
	if d.quit || d.m.page().edit.Text() != "" {
		t.Fatal("the text is not cleared")
	}
	d.press("up")
	if got := d.m.page().edit.Text(); got != "words worth keeping" {
		t.Fatalf("Up brings %q back", got)
	}
	d.press("ctrl+c")
	d.pass(10 * time.Second)

	d.press("ctrl+c")
	d.sees("press Ctrl+C again to quit")
	d.typed("x") // whoever types on does not leave
	d.seesNot("press Ctrl+C again to quit")
	d.press("backspace", "ctrl+c")
	if d.quit || d.f.shut > 0 {
		t.Fatal("two presses with a key between them quit")
	}
	d.sees("press Ctrl+C again to quit")
	d.pass(3 * time.Second)
	d.seesNot("press Ctrl+C again to quit")
	d.press("ctrl+c")
	if d.quit || d.f.shut > 0 {
		t.Fatal("two presses 3 s apart quit")
	}
	d.sees("press Ctrl+C again to quit")
	d.pass(1900 * time.Millisecond)
	d.press("ctrl+c")
	d.short()
	if !d.quit || d.f.shut != 1 {
		t.Fatalf("two presses within 2 s do not quit (quit %v, shutdowns %d)", d.quit, d.f.shut)
	}
}

// B040: a question that is open is denied by Ctrl+C.
func TestCtrlCDeniesADialog(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("go")
	d.press("ctrl+x", "w")
	d.sees("CLOSE")
	d.press("ctrl+c")
	d.seesNot("CLOSE")
	if len(d.f.order) == 0 || d.did("cancel "+d.id()) || len(d.m.pages) != 1 {
		t.Fatal("denying did something")
	}
}

func (d *driver) did(what string) bool {
	for _, o := range d.f.order {
		if o == what {
			return true
		}
	}
	return false
}

func TestEscape(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.enter("go")
	d.press("ctrl+p", "esc")
	d.seesNot("COMMANDS")
	d.press("tab", "tab")
	if d.m.page().focus != paneTrace {
		t.Fatalf("the focus is on %v", d.m.page().focus)
	}
	d.press("esc")
	if d.m.page().focus != paneInput || d.did("cancel "+d.id()) {
		t.Fatal("Esc in a pane does more than to leave it")
	}
	d.typed("/re")
	d.sees("/retry")
	d.press("esc")
	d.seesNot("Tab fill in")
	if d.did("cancel " + d.id()) {
		t.Fatal("Esc over the completion cancels the run")
	}
	if !strings.Contains(d.status(), "Esc cancel") {
		t.Errorf("the status does not say what Esc does: %q", d.status())
	}
	d.press("esc")
	d.short()
	if !d.did("cancel " + d.id()) {
		t.Fatal("Esc does not cancel the run")
	}
	if d.m.page().edit.Text() != "/re" {
		t.Error("Esc took typed text away")
	}
	if strings.Contains(d.status(), "Esc") {
		t.Errorf("the status offers Esc with nothing to do: %q", d.status())
	}
}

// Every key of the help does something somewhere: each binding has a name, and no two in one place share a key.
func TestKeyMapIsWhole(t *testing.T) {
	k := DefaultKeyMap()
	for _, g := range k.Groups() {
		seen := map[string]string{}
		for _, b := range g.Bindings {
			if b.Help().Key == "" || b.Help().Desc == "" || !b.Enabled() {
				t.Errorf("%s: a binding without help: %v", g.Name, b.Keys())
			}
			for _, name := range b.Keys() {
				if seen[name] != "" {
					t.Errorf("%s: %s is both %q and %q", g.Name, name, seen[name], b.Help().Desc)
				}
				seen[name] = b.Help().Desc
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range commandTable() {
		if c.title == "" || c.run == nil {
			t.Errorf("command %+v is not whole", c)
		}
		for _, name := range c.chord.Keys() {
			if seen[name] {
				t.Errorf("Ctrl+X %s is taken twice", name)
			}
			seen[name] = true
		}
	}
	for _, never := range []string{"ctrl+b", "ctrl+s", "ctrl+q", "ctrl+\\", "ctrl+h", "ctrl+i", "ctrl+m", "ctrl+[", "ctrl+space", "f1"} {
		for _, g := range k.Groups() {
			for _, b := range g.Bindings {
				if key.Matches(keyOf(never), b) {
					t.Errorf("%s is bound to %q", never, b.Help().Desc)
				}
			}
		}
	}
}

func TestChord(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.press("ctrl+x")
	d.sees("Ctrl+X  p commands  n new  w close")
	d.press("esc")
	d.seesNot("Ctrl+X  p commands")
	d.press("ctrl+x", "#")
	d.sees("Ctrl+X # means nothing")
	for _, c := range commandTable() {
		if c.chord.Enabled() && !strings.Contains(d.m.chordHint(), c.chord.Help().Key+" "+c.chord.Help().Desc) {
			t.Errorf("the hint lacks %v", c.chord.Help())
		}
	}
	d.press("ctrl+x", "P")
	d.sees("COMMANDS")
	d.typed("rename")
	d.press("enter")
	d.sees("RENAME")
	d.typed("deploy plan")
	d.press("enter")
	d.short()
	d.sees("1 deploy plan")
}

// The letters above the input break between two of them, at every width.
func TestChordRowsBreakBetweenItems(t *testing.T) {
	for _, w := range []int{60, 80, 100, 120, 140} {
		d := newDriver(t, w, 40)
		d.press("ctrl+x")
		d.straight(d.m.View().Content)
		var items []string
		for _, row := range d.grid() {
			if l := strings.TrimSpace(row); strings.Contains(l, chordGap) {
				items = append(items, strings.Split(l, chordGap)...)
			} else {
				items = append(items, l)
			}
		}
		for _, want := range strings.Split(d.m.chordHint(), chordGap) {
			if !slices.Contains(items, want) {
				t.Errorf("at %d %q is broken:\n%s", w, want, d.screen())
			}
		}
	}
}

// Where there is no room for all letters the first ones stand there, and where the others are.
func TestChordOnASmallScreen(t *testing.T) {
	d := newDriver(t, 40, 12)
	d.press("ctrl+x")
	d.straight(d.m.View().Content)
	d.sees(" Ctrl+X  p commands  n new  w close\n", "⋯  h help  Esc back")
}

// The list of commands says that there are more than it shows, and shows all where there is room.
func TestCompletionSaysHowMany(t *testing.T) {
	all := 0
	for _, c := range commandTable() {
		if c.slash != "" {
			all++
		}
	}
	for _, h := range []int{24, 30, 72} {
		d := newDriver(t, 100, h)
		d.typed("/")
		shown := -1 // the input has one too
		for _, row := range d.grid() {
			if strings.HasPrefix(strings.TrimLeft(row, " ❯"), "/") {
				shown++
			}
		}
		s := d.screen()
		if more := fmt.Sprintf("1 of %d   Enter run", all); strings.Contains(s, more) != (shown < all) {
			t.Errorf("of %d commands %d are shown:\n%s", all, shown, s)
		}
		if h == 72 && shown != all {
			t.Errorf("%d of %d are shown on a high screen", shown, all)
		}
		d.press("down", "down")
		if more := fmt.Sprintf("3 of %d   Enter run", all); strings.Contains(d.screen(), more) != (shown < all) {
			t.Errorf("the place is not told:\n%s", d.screen())
		}
		d.press("up", "up", "up")
		if last := d.m.page().complete.matches[all-1]; !strings.Contains(d.screen(), "❯/"+last.slash) && !strings.Contains(d.screen(), "❯ /"+last.slash) {
			t.Errorf("the chosen command is not in view:\n%s", d.screen())
		}
	}
}

// Typing the beginning of a command's name finds it in the palette before others.
func TestPaletteRanks(t *testing.T) {
	d := newDriver(t, 120, 36)
	d.press("ctrl+p")
	d.typed("ses")
	d.press("enter")
	d.sees("SESSIONS")
	d.seesNot("RENAME")
}

func TestHelpListsEveryKey(t *testing.T) {
	d := newDriver(t, 100, 50)
	d.press("?")
	d.sees("KEYS", "Alt+1 to 9", "stop, then quit", "Ctrl+X")
	if d.m.page().edit.Text() != "" {
		t.Error("? was typed into the input")
	}
	d.typed("history")
	d.sees("Ctrl+R", "search history")
	d.seesNot("Alt+1 to 9")
	d.press("esc")
	d.typed("what?")
	if got := d.m.page().edit.Text(); got != "what?" {
		t.Errorf("the input holds %q", got)
	}
}

func TestNewLines(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.typed("a")
	d.press("ctrl+j")
	d.typed("b")
	d.press("shift+enter")
	d.typed("c")
	d.press("alt+enter")
	d.typed("d")
	if got := d.m.page().edit.Text(); got != "a\nb\nc\nd" {
		t.Fatalf("the input holds %q", got)
	}
	if n := d.m.page().lay.input.h; n != 4 {
		t.Errorf("the input has %d rows", n)
	}
	for range 30 {
		d.press("ctrl+j")
	}
	if n := d.m.page().lay.input.h; n != 10 {
		t.Errorf("the input has %d of 30 rows, want a third", n)
	}
	if !d.m.page().edit.Up() {
		t.Error("the cursor does not move up in the text")
	}
}

func TestFocusOrder(t *testing.T) {
	d := newDriver(t, 160, 44)
	want := []pane{paneChat, paneTrace, paneTodos, paneInput}
	for _, w := range want {
		d.press("tab")
		if got := d.m.page().focus; got != w {
			t.Fatalf("Tab goes to %v, want %v", got, w)
		}
	}
	d.press("shift+tab")
	if got := d.m.page().focus; got != paneTodos {
		t.Errorf("Shift+Tab goes to %v", got)
	}
	d.press("i")
	d.resize(80, 24)
	d.press("tab", "tab")
	if got := d.m.page().focus; got != paneInput {
		t.Errorf("with one pane two Tabs go to %v", got)
	}
	d.press("ctrl+x", "t")
	d.sees("TRACE")
	d.press("ctrl+x", "t")
	d.seesNot("TRACE")
}

func TestTodoToggle(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.f.todo(d.id(), "submit the report")
	d.short()
	d.sees("0 of 1", "submit the report")
	d.press("tab", "tab", "tab", "space")
	d.short()
	d.sees("1 of 1")
	d.press("enter")
	d.short()
	d.sees("0 of 1")
	d.press("esc")
	d.enter("/todo 1")
	d.sees("1 of 1")
	d.enter("/todo 9")
	d.sees("there is no todo 9")
	d.enter("/todo buy milk")
	d.sees("buy milk", "1 of 2", "added to the todos")
	for _, call := range d.f.order {
		if strings.HasPrefix(call, "submit") { // no turn, no model
			t.Errorf("%q", d.f.order)
		}
	}
}
