package ui

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
)

// longSession is a screen on a session of 700 turns of which 60 messages are loaded.
func longSession(t *testing.T, change ...func(*Options, *fake)) *driver {
	t.Helper()
	return newDriver(t, 120, 36, append([]func(*Options, *fake){func(o *Options, f *fake) {
		f.long("s", 700, 60)
		o.Session = "s"
	}}, change...)...)
}

// find looks for a text in the chat.
func (d *driver) find(text string) {
	d.press("ctrl+x", "f")
	for range 40 {
		d.press("backspace")
	}
	d.typed(text)
	d.press("enter")
	d.short()
}

// All of the session is searched, also what is not loaded: hits are counted and stand in reverse, n and N go from one to the next,
// and Esc goes back to where one was.
func TestFindInAllOfTheSession(t *testing.T) {
	d := longSession(t)
	d.sees("answer 700")
	before := d.screen()
	d.find("部署")
	d.sees("7 of 7: 部署", "question 700 部署窗口")
	if !strings.Contains(d.m.View().Content, "\x1b[7m部署\x1b[27m") && !strings.Contains(d.m.View().Content, "\x1b[7m部") {
		t.Error("the hit does not stand out")
	}
	d.press("N")
	d.short()
	d.sees("6 of 7: 部署", "question 600 部署窗口", "turn 600", "G: the newest")
	d.press("N", "N")
	d.short()
	d.sees("4 of 7", "question 400 部署窗口")
	d.press("n", "n", "n", "n")
	d.short()
	d.sees("1 of 7", "question 100 部署窗口")
	d.press("esc")
	d.short()
	if got := d.screen(); got != before {
		t.Errorf("not where it was:\n%s\n%s", before, got)
	}
	// From where one had scrolled to, too.
	d.press("tab", "u", "u", "k")
	before = d.screen()
	d.find("needle")
	d.press("esc")
	d.short()
	if got := d.screen(); got != before {
		t.Errorf("not where it was:\n%s\n%s", before, got)
	}
	d.find("needle")
	d.sees("1 of 1: needle", "answer 30 needle")
	d.press("G")
	d.short()
	d.sees("answer 700")
	d.press("n")
	d.short()
	d.sees("answer 30 needle")
	d.find("not there")
	d.sees("not found: not there")
	d.find("---")
	d.sees("letters or digits are looked for")
	d.f.fail["search"] = errors.New("no")
	d.find("x")
	d.sees("search: no")
}

// While the store is still reading the search says so and goes on.
func TestFindGoesOnReading(t *testing.T) {
	d := longSession(t, func(_ *Options, f *fake) { f.unread = 4 })
	d.find("部署")
	d.sees("7 of 7")
	if d.f.unread != 0 {
		t.Errorf("%d readings are left", d.f.unread)
	}
}

// What is found first is gone to as soon as nothing nearer can come; until then it is counted, and n and N go to it.
func TestFindBeforeAllIsLookedAt(t *testing.T) {
	d := longSession(t)
	p := d.m.page()
	found := func(from, unread int64, ns ...int64) { // the store is not asked again
		p.placed(placesMsg{id: "s", gen: p.seek.gen, places: runtime.Places{Ns: ns, All: int64(len(ns)), From: from, Unread: unread}})
		d.send(soughtMsg{})
	}
	p.seekFor("部署", 0)
	d.send(soughtMsg{})
	d.sees("looking for 部署")
	found(1300, 12345, 199, 399)
	d.sees("2 found so far: 部署", "12,345 messages to look at")
	if p.seek.at >= 0 {
		t.Error("it goes to what may not be the nearest")
	}
	found(1100, 700, 199, 399, 1199)
	d.sees("3 of 3: 部署", "700 messages to look at")
	found(1, 0, 199, 399, 599, 799, 999, 1199)
	d.sees("6 of 6: 部署")
	d.press("esc")
	p.seekFor("部署", 0)
	found(1300, 700, 199, 399)
	d.press("N")
	d.short()
	d.sees("2 of 2: 部署", "question 200 部署窗口")
	found(1, 0, 199, 399, 599)
	d.sees("2 of 3: 部署")
	d.press("esc")
	if cmd := p.placed(placesMsg{id: "s", gen: p.seek.gen, places: runtime.Places{Unread: 5}}); cmd != nil {
		t.Error("what was given up goes on")
	}
}

// Reading up and down around a place pages in both ways, up to the first message and to where the newest begin.
func TestStretchGrowsBothWays(t *testing.T) {
	d := longSession(t)
	d.find("needle")
	d.sees("answer 30 needle")
	for range 40 {
		d.press("u")
		d.short()
	}
	d.sees("question 1 ")
	d.press("esc")
	d.find("question 650")
	d.sees("question 650")
	last := 0
	for range 40 {
		d.press("d")
		d.short()
		top := d.m.page().columns.seen().TurnAt(0)
		if top == 0 {
			top = d.m.page().columns.seen().TurnAt(1)
		}
		if last > 0 && top > last+14 {
			t.Fatalf("half a page goes from turn %d to turn %d", last, top)
		}
		last = top
	}
	d.sees("answer 700")
	d.seesNot("G: the newest")
	if p := d.m.page(); p.columns.past != nil || !p.columns.chat.Following() {
		t.Error("the stretch is still shown")
	}
}

// [ and ] go from turn to turn, also where they are not loaded.
func TestTurnsThatAreNotLoaded(t *testing.T) {
	d := longSession(t)
	d.press("tab")
	for last := 0; ; {
		d.press("[")
		d.short()
		at, ok := d.m.page().columns.seen().Selected()
		if !ok || last > 0 && at.Turn != last-1 {
			t.Fatalf("turn %d after %d\n%s", at.Turn, last, d.screen())
		}
		d.sees(fmt.Sprint("question ", at.Turn))
		if last = at.Turn; last == 600 {
			break
		}
	}
	d.find("question 500")
	for i := range 180 {
		d.press("]")
		d.short()
		if want := fmt.Sprint("question ", 501+i); !strings.Contains(d.screen(), want+" ") {
			t.Fatalf("after %d: no %s\n%s", i, want, d.screen())
		}
	}
}

// t goes from a message to its event in the trace, wherever that is, and back; what is selected there is marked in the chat.
func TestTraceOfAMessageAndBack(t *testing.T) {
	d := longSession(t)
	d.find("needle")
	d.press("t")
	d.short()
	p := d.m.page()
	if n := p.columns.traced().Selected(); p.focus != paneTrace || n == nil || n.Turn != 30 || n.Kind != "model" {
		t.Fatalf("focus %v, selected %+v", p.focus, p.columns.traced().Selected())
	}
	if row := rowWith(d, "answer 30 needle"); !strings.HasPrefix(row, "⡇ answer 30") {
		t.Errorf("not marked: %q", row)
	}
	d.press("[", "[")
	d.short()
	d.press("t")
	d.short()
	if at, ok := p.columns.seen().Selected(); p.focus != paneChat || !ok || at.Turn != 29 {
		t.Errorf("focus %v, turn %d", p.focus, at.Turn)
	}
	d.press("esc", "tab", "tab")
	d.short()
	// From the newest part of the trace up to a turn that the chat has not loaded.
	for range 650 {
		d.press("[")
	}
	d.short()
	turn := p.columns.traced().Turn()
	d.press("t")
	d.short()
	if at, ok := p.columns.seen().Selected(); !ok || at.Turn != turn || turn > 400 {
		t.Errorf("turn %d in the chat, %d in the trace", at.Turn, turn)
	}
	d.sees(fmt.Sprintf("question %d", turn))
}

func rowWith(d *driver, text string) string {
	for _, row := range d.grid() {
		if strings.Contains(row, text) {
			return row
		}
	}
	return ""
}

// The trace reads older events as one goes up, to the first, and its filter finds what is not loaded.
func TestTraceReadsOlderEvents(t *testing.T) {
	d := longSession(t)
	d.press("tab", "tab")
	if low := d.m.page().columns.traced().Low(); low != 801 {
		t.Fatalf("from %d on", low)
	}
	d.press("f")
	d.typed("error")
	d.press("enter")
	d.short()
	d.sees("error: 1 found", "turn 40")
	d.press("f")
	for range 10 {
		d.press("backspace")
	}
	d.press("enter")
	d.short()
	d.seesNot("found")
	for range 5 {
		d.press("g")
		d.short()
	}
	d.sees("turn 1 ")
	d.press("G")
	d.short()
	d.sees("turn 700")
	d.enter("/filter model question")
	d.sees("nothing fits")
}

// The search over all sessions shows what it finds while one types, by session, and opens one at the message.
func TestSearchAllSessions(t *testing.T) {
	d := longSession(t, func(_ *Options, f *fake) {
		other := f.long("other", 3, 0)
		other.msgs[2].Content = "remember the 部署窗口 of Friday"
		other.row.Title = "deploy plan"
		f.starred["other"] = true
		f.unread = 3
	})
	d.press("ctrl+x", "g")
	d.typed("部署 fri")
	d.pass(seekAfter * 2)
	d.sees("1 in 1 session ⡇", "✦ deploy plan", "turn 2", "remember the 部署窗口 of Friday", "you")
	if n := strings.Count(strings.Join(d.f.order, "\n"), "search"); n < 1 || n > 4 {
		t.Errorf("%d searches for what was typed at once and read in parts", n)
	}
	d.press("enter")
	d.short()
	if id := d.id(); id != "other" {
		t.Fatalf("session %s", id)
	}
	d.sees("1 of 1: 部署 fri", "remember the 部署窗口 of Friday")
	d.press("ctrl+x", "g")
	d.typed("needle")
	d.pass(seekAfter * 2)
	d.press("enter")
	d.short()
	d.sees("answer 30 needle")
	d.press("i")
	d.enter("/search zzz")
	d.pass(seekAfter * 2)
	d.sees("nothing found")
	d.press("esc")
	// What is pasted is looked for like what is typed.
	d.press("ctrl+x", "g")
	d.send(tea.PasteMsg{Content: "窗口"})
	d.pass(seekAfter * 2)
	d.sees("SEARCH  窗口", "✦ deploy plan", "部署窗口 of Friday")
	d.press("esc")
	// From the picker, with what was typed there.
	d.enter("/sessions")
	d.typed("question")
	d.press("ctrl+f")
	d.short()
	d.sees("SEARCH  question", "sessions")
	d.press("down", "down", "up", "pgdown", "pgup")
	d.f.fail["search"] = errors.New("no")
	d.typed("s")
	d.pass(seekAfter * 2)
	d.sees("search: no")
}

// A star is set from the picker and by a command, comes first there, and stands in the tab.
func TestStars(t *testing.T) {
	d := newDriver(t, 120, 36, func(_ *Options, f *fake) {
		f.session("zz").row.Title = "last of all"
	})
	d.enter("/sessions")
	d.typed("last")
	d.press("ctrl+t")
	d.short()
	d.sees("✦ last of all")
	for range 4 {
		d.press("backspace")
	}
	picker := d.m.page().dialog
	if rows := picker.Rows(d.m.env.style, 60, 10); !strings.Contains(rows[1], "last of all") {
		t.Errorf("not first: %q", rows[1])
	}
	d.press("enter")
	d.short()
	if !strings.Contains(d.grid()[0], "✦ last of all") {
		t.Error(d.grid()[0])
	}
	d.enter("/star")
	d.short()
	if strings.Contains(d.grid()[0], "✦") || d.f.starred["zz"] {
		t.Error(d.grid()[0])
	}
	d.f.fail["star"] = errors.New("no")
	d.enter("/star")
	d.short()
	d.sees("star the session: no")
}

// A closed tab comes back to its place, with its draft and where one was reading; the one before it next.
func TestReopenTab(t *testing.T) {
	d := longSession(t)
	d.press("ctrl+x", "n")
	d.short()
	d.enter("another")
	d.short()
	d.press("alt+1")
	d.find("question 300")
	d.press("i")
	d.typed("half a sentence")
	d.pass(keepEvery * 2)
	d.press("ctrl+x", "w")
	d.short()
	d.seesNot("question 300")
	d.press("ctrl+x", "z")
	d.short()
	if d.m.active != 0 || d.id() != "s" {
		t.Errorf("tab %d, %s", d.m.active, d.id())
	}
	d.sees("question 300", "half a sentence")
	d.press("ctrl+x", "z")
	d.sees("no tab was closed")
}

// Which panes are open is kept with the tabs, and comes back with them.
func TestPanesAreKept(t *testing.T) {
	d := newDriver(t, 120, 36, func(_ *Options, f *fake) { f.tabs = runtime.Tabs{Sessions: []string{"s"}, Panes: ""}; f.session("s") })
	d.sees("TRACE", "TODOS")
	d.press("ctrl+x", "o")
	d.short()
	kept := d.f.tabs.Panes
	if kept == "" {
		t.Fatal("nothing was kept")
	}
	d = newDriver(t, 120, 36, func(_ *Options, f *fake) { f.tabs = runtime.Tabs{Sessions: []string{"s"}, Panes: kept}; f.session("s") })
	d.sees("TRACE")
	d.seesNot("TODOS")
	for text, want := range map[string]panes{"": defaultPanes(), "{": defaultPanes(), `{"right":"input","alone":"none"}`: defaultPanes()} {
		if got := decodePanes(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	p := panes{noTrace: true, right: paneTodos, alone: paneTrace, covered: paneNone, zoom: paneNone}
	if got := decodePanes(p.encode()); got != p {
		t.Errorf("%+v, want %+v", got, p)
	}
}

// Where tabs have no room the signs for that say what the hidden ones want most, and lead there.
func TestHiddenTabsShowMarks(t *testing.T) {
	d := newDriver(t, 60, 20)
	for i := range 9 {
		if i > 0 {
			d.press("ctrl+x", "n")
			d.short()
		}
		d.enter(fmt.Sprint("session number ", i+1))
		d.f.answer(d.id())
		d.short()
	}
	first := d.m.pages[0].id
	d.press("alt+1")
	d.enter("go on")
	d.press("alt+9")
	d.short()
	if row := d.grid()[0]; !strings.Contains(row, "⋯ ⠿") && !strings.Contains(row, "⋯ ⠋") && !strings.Contains(row, "⋯ ") {
		t.Errorf("running: %q", row)
	}
	d.f.end(first, "failed", "model", "It did not work.")
	d.short()
	row := d.grid()[0]
	if !strings.Contains(row, "⋯ ✗ ") {
		t.Errorf("failed: %q", row)
	}
	x := len([]rune(row[:strings.Index(row, "⋯")]))
	d.send(tea.MouseClickMsg{X: x, Y: 0, Button: tea.MouseLeft})
	d.short()
	if d.id() != first {
		t.Errorf("the sign leads to %s", d.id())
	}
}

// Several blocks are selected with V and copied as their sources; the mouse selects what it goes over.
func TestCopySeveral(t *testing.T) {
	d := newDriver(t, 120, 36)
	d.turns(2)
	d.press("tab", "k", "V", "k", "k")
	d.press("y")
	if want := "question 2\n\n"; !strings.HasPrefix(d.clip, want) || !strings.HasSuffix(d.clip, "func f2() {}\n```") || strings.Contains(d.clip, "⡇") {
		t.Errorf("copied %q", d.clip)
	}
	d.sees("copied ")
	if d.m.page().columns.seen().Several() {
		t.Error("the selection stays")
	}
	rows := d.grid()
	from, to := -1, -1
	for y, r := range rows {
		if strings.HasPrefix(r, "⡇ question 1") {
			from = y
		}
		if strings.HasPrefix(r, "⡇ question 2") || strings.HasPrefix(r, "❯ question 2") {
			to = y
		}
	}
	d.drag(6, from, 6, to)
	if want := "tion 1\n\nsearch_mock   words 1   3 hits\n\nanswer 1\n\nfunc f1() {}\n\nquest"; d.clip != want {
		t.Errorf("dragged %q, not %q", d.clip, want)
	}
	d.press("k", "V", "k", "esc")
	if d.m.page().columns.seen().Several() || d.m.page().focus != paneChat {
		t.Error("Esc does not end the selection alone")
	}
}

// A path of 200 characters that is wrapped beside two panes is copied as one line, by y and by dragging from its first row to its last:
// without what stands beside it, borders, or blanks at the ends (B022).
func TestB022CopyIsTheSource(t *testing.T) {
	path := "/srv/" + strings.Repeat("folder-of-things/", 10) + "file.yaml"
	path += strings.Repeat("x", 200-len(path))
	for name, say := range map[string]func(d *driver){
		"input":  func(d *driver) { d.enter(path); d.f.answer(d.id()) },
		"answer": func(d *driver) { d.enter("where?"); d.f.stream(d.id(), path); d.f.answer(d.id()) },
		"code":   func(d *driver) { d.enter("where?"); d.f.stream(d.id(), "```\n"+path+"\n```\n"); d.f.answer(d.id()) },
	} {
		d := newDriver(t, 120, 36)
		d.f.todo(d.id(), "a todo beside it")
		say(d)
		d.short()
		if w := d.m.page().lay.chat.w; w > 62 || d.m.page().lay.todos.empty() {
			t.Fatalf("the chat is %d wide", w)
		}
		var rows []int
		for y, r := range d.grid() {
			if cut := strings.SplitN(r, " ⡇", 2)[0]; y > 2 && (strings.Contains(cut, "folder-of") || strings.Contains(cut, "xxx") || strings.Contains(cut, "things/")) {
				rows = append(rows, y)
			}
		}
		if len(rows) < 4 {
			t.Fatalf("%s: rows %v\n%s", name, rows, d.screen())
		}
		d.drag(2, rows[0], 60, rows[len(rows)-1])
		if d.clip != path {
			t.Errorf("%s dragged: %q", name, d.clip)
		}
		d.clip = ""
		d.press("k", "j")
		if name == "code" {
			d.press("Y")
		} else {
			d.send(tea.MouseClickMsg{X: 2, Y: rows[0], Button: tea.MouseLeft}, tea.MouseReleaseMsg{X: 2, Y: rows[0], Button: tea.MouseLeft})
			d.press("y")
		}
		d.short()
		if d.clip != path {
			t.Errorf("%s by key: %q", name, d.clip)
		}
		d.sees("copied 1 line")
	}
}

// A tool's output with a NUL and a carriage return is copied as what it says (B023).
func TestB023CopyToolOutput(t *testing.T) {
	d := newDriver(t, 120, 36)
	d.enter("read it")
	d.f.tool(d.id(), "read_file", `{"path":"x"}`, `{"ok":true,"data":"a\u0000b\r\nc"}`, "6 B")
	d.f.answer(d.id())
	d.short()
	d.press("tab", "k")
	for range 3 {
		if at, ok := d.m.page().columns.seen().Selected(); ok && at.Call != "" {
			break
		}
		d.press("k")
	}
	d.press("y")
	d.short()
	if want := "read_file {\"path\":\"x\"}\nab\nc"; d.clip != want {
		t.Errorf("copied %q", d.clip)
	}
}

// What is too long for terminals, and what is copied in one that takes no copies, goes into a file that is named (B023).
func TestB023CopyIntoAFile(t *testing.T) {
	dir := t.TempDir()
	term := "xterm-256color"
	d := newDriver(t, 120, 36, func(o *Options, _ *fake) {
		o.CopyDir, o.Env = dir, func(name string) string { return map[string]string{"TERM": term}[name] }
	})
	big := strings.Repeat("0123456789abcdef\n", 2<<20/17)
	d.send(copiedMsg{}) // of no page
	d.m.page().copyText("")
	d.sees("vitrine")
	d.run(d.m.page().copyText(big))
	d.short()
	d.sees(fmt.Sprintf("only the beginning is copied; all %d lines are in ", strings.Count(big, "\n")))
	if len(d.clip) == 0 || len(d.clip) > mostClipboard || !strings.HasPrefix(big, d.clip) || !strings.HasSuffix(d.clip, "\n") {
		t.Errorf("%d bytes went to the terminal", len(d.clip))
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	if got, err := os.ReadFile(files[0]); err != nil || string(got) != big {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	// A terminal that takes no copies; the bytes of a tool's output without control characters.
	term, d.clip = "linux", ""
	d.run(d.m.page().copyText("a\x00b\r\nc"))
	d.short()
	d.sees("copied 2 lines to ")
	files, _ = filepath.Glob(filepath.Join(dir, "*"))
	if got, _ := os.ReadFile(files[0]); len(files) != 1 || string(got) != "ab\nc" || d.clip != "" {
		t.Errorf("%v %q, terminal %q", files, got, d.clip)
	}
	// No file can be written either: it is said, and nothing ends.
	d.m.env.opts.CopyDir = filepath.Join(dir, "none")
	d.run(d.m.page().copyText("x"))
	d.short()
	d.sees("not copied: this terminal takes no copies")
	term = "xterm"
	d.run(d.m.page().copyText(big))
	d.short()
	d.sees("the beginning is copied")
	d.run(d.m.page().copyText("a\x00b\r\nc"))
	d.short()
	if d.clip != "ab\nc" {
		t.Errorf("copied %q", d.clip)
	}
}
