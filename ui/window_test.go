package ui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
)

func TestTabsComeBack(t *testing.T) {
	d := newDriver(t, 160, 44, func(_ *Options, f *fake) {
		a, b := f.session("ann-window-1"), f.session("ann-window-2")
		a.row.Title, b.row.Title = "deploy plan", "cost table"
		b.msgs = []runtime.MessageRow{{N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: "what does it cost?"}}
		b.row.NextN = 2
		b.todos = []tools.Todo{{ID: "t", Text: "ask finance"}}
		f.tabs = runtime.Tabs{Sessions: []string{"ann-window-1", "ann-window-2"}, Active: 1}
	})
	d.sees("1 deploy plan", "❯2 cost table", "what does it cost?", "ask finance")
	d.press("up")
	if got := d.m.page().edit.Text(); got != "what does it cost?" {
		t.Errorf("Up brings %q", got)
	}
	d.press("ctrl+c", "ctrl+x", "n")
	d.short()
	if want := []string{"ann-window-1", "ann-window-2", "ann-window-3"}; !slices.Equal(d.f.tabs.Sessions, want) || d.f.tabs.Active != 2 {
		t.Errorf("kept %+v, want %q", d.f.tabs, want)
	}
}

func TestTypingBeforeTheTabsAreThere(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.session("old")
		f.tabs = runtime.Tabs{Sessions: []string{"old"}}
	})
	m := New(d.m.env.opts)
	defer m.Close()
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	for _, r := range "early" {
		m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	if !strings.Contains(m.View().Content, "early") {
		t.Error("the first frame takes no keys")
	}
	m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	m.Update(tea.KeyPressMsg{Code: '!', Text: "!"})
	if !strings.Contains(ansi.Strip(m.View().Content), "STORING  early") {
		t.Error("Enter before the session is open loses the text")
	}
	m.Update(tabsMsg{tabs: d.f.tabs})
	if p := m.page(); p.id != "old" || p.edit.Text() != "!" || !p.sending.ahead || p.sending.text != "early" {
		t.Errorf("page %q holds %q, and %+v is to be sent", p.id, p.edit.Text(), p.sending)
	}
}

func TestSessionOption(t *testing.T) {
	d := newDriver(t, 160, 44, func(o *Options, f *fake) {
		f.session("kept")
		f.tabs = runtime.Tabs{Sessions: []string{"kept"}}
		o.Session = "mine"
	})
	if d.id() != "mine" || len(d.m.pages) != 2 || d.f.sessions["mine"] == nil {
		t.Errorf("in front: %q of %q", d.id(), d.m.open())
	}
}

func TestTabThatIsGone(t *testing.T) {
	d := newDriver(t, 160, 44, func(_ *Options, f *fake) { f.tabs = runtime.Tabs{Sessions: []string{"gone"}} })
	d.sees("session gone is not there any more")
	if d.id() != "ann-window-1" {
		t.Errorf("the tab shows %q", d.id())
	}
}

func TestTabKeysAndClicks(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.press("ctrl+x", "n", "ctrl+x", "n")
	d.short()
	at := func(want int) {
		t.Helper()
		if d.m.active != want {
			t.Fatalf("tab %d is active, want %d", d.m.active+1, want+1)
		}
	}
	at(2)
	d.press("alt+1")
	at(0)
	d.press("alt+,")
	at(2)
	d.press("alt+.")
	at(0)
	d.press("ctrl+x", "2")
	at(1)
	d.press("alt+9")
	at(1)
	d.sees("there is no tab 9")
	first := d.m.pages[0].id
	d.press("ctrl+x", "<")
	if d.m.pages[1].id != first {
		t.Error("the tab did not move")
	}
	at(0)
	d.press("ctrl+x", "<")
	d.sees("the tab is at the end")
	row := d.grid()[0]
	x := len([]rune(row[:strings.Index(row, "3 new")]))
	d.send(tea.MouseClickMsg{X: x, Y: 0, Button: tea.MouseLeft})
	d.settle()
	at(2)
	x = len([]rune(row[:strings.Index(row, " +")])) + 1
	d.send(tea.MouseClickMsg{X: x, Y: 0, Button: tea.MouseLeft})
	d.short()
	if len(d.m.pages) != 4 {
		t.Errorf("the sign for a new tab made %d tabs", len(d.m.pages))
	}
}

func TestTabMarks(t *testing.T) {
	d := newDriver(t, 160, 44)
	first := d.id()
	d.enter("go")
	d.press("ctrl+x", "n")
	d.short()
	if !strings.ContainsAny(d.grid()[0], "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		t.Errorf("no sign of a run: %q", d.grid()[0])
	}
	d.f.stream(first, "done")
	d.f.answer(first)
	d.short()
	if !strings.Contains(d.grid()[0], "1 go ✓") {
		t.Errorf("no sign of the end: %q", d.grid()[0])
	}
	d.press("alt+1")
	if strings.Contains(d.grid()[0], "1 go ✓") {
		t.Error("a tab that was looked at is marked as unseen")
	}
	d.enter("again")
	d.press("alt+2")
	d.f.end(first, "failed", "model", "it failed")
	d.short()
	if !strings.Contains(d.grid()[0], "1 go ✗") {
		t.Errorf("no sign of the failure: %q", d.grid()[0])
	}
}

func TestManyTabsFit(t *testing.T) {
	for _, w := range []int{40, 60, 100, 160} {
		d := newDriver(t, w, 24)
		for range 14 {
			d.press("ctrl+x", "n")
		}
		d.short()
		for i := range d.m.pages {
			p := d.m.pages[i]
			p.title = strings.Repeat("标题 title ", 3)
		}
		for _, k := range []string{"alt+1", "alt+7", "alt+,"} {
			d.press(k)
			d.straight(d.m.View().Content)
			if row := d.grid()[0]; !strings.Contains(row, "❯") {
				t.Errorf("%d: the active tab is not shown: %q", w, row)
			}
		}
	}
}

func TestCloseDuringARun(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{"w", "close ann-window-1"}, {"l", "leave ann-window-1"}, {"c", "cancel ann-window-1"},
	} {
		d := newDriver(t, 100, 30)
		d.enter("go")
		d.press("ctrl+x", "w")
		d.sees("CLOSE", "a run is on in go")
		if len(d.m.pages) != 1 || d.id() != "ann-window-1" {
			t.Fatal("it was closed before the answer")
		}
		d.press(c.key)
		d.short()
		if !d.did(c.want) || !d.did("close ann-window-1") {
			t.Errorf("%s: %q", c.key, d.f.order)
		}
		if c.key == "w" && (d.did("cancel ann-window-1") || len(d.m.running()) != 1) {
			t.Errorf("%s: the run does not go on: %q", c.key, d.f.order)
		}
		if d.id() == "ann-window-1" {
			t.Errorf("%s: the tab is still there", c.key)
		}
	}
}

func TestQuitDuringARun(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("go")
	d.enter("/quit")
	d.sees("QUIT", "a run is on")
	d.press("esc")
	if d.quit || d.f.shut > 0 {
		t.Fatal("Esc quits")
	}
	d.press("ctrl+x", "q", "w")
	d.sees("quits when the runs have ended")
	d.press("esc")
	d.sees("stays open")
	d.press("ctrl+x", "q", "w")
	d.f.answer(d.id())
	d.short()
	if !d.quit || d.f.left {
		t.Errorf("quit %v, left %v", d.quit, d.f.left)
	}
	if got := d.m.Farewell(); got != "1 tab kept: vitrine --continue" {
		t.Errorf("the farewell is %q", got)
	}

	d = newDriver(t, 100, 30)
	d.enter("go")
	d.press("ctrl+x", "q", "l")
	d.short()
	if !d.quit || !d.f.left {
		t.Errorf("left to be resumed: quit %v, left %v", d.quit, d.f.left)
	}
	d = newDriver(t, 100, 30)
	d.enter("go")
	d.press("ctrl+x", "q", "c")
	d.short()
	if !d.quit || d.f.left || d.f.shut != 1 {
		t.Errorf("cancel: quit %v, left %v", d.quit, d.f.left)
	}
}

func TestSessionPicker(t *testing.T) {
	d := newDriver(t, 100, 30, func(_ *Options, f *fake) {
		f.session("a").row.Title = "deploy plan"
		f.session("b").row.Title = "deploy notes"
		f.sessions["b"].run = &runtime.RunRow{ID: "r", State: runtime.StateWaitingModel}
		f.session("c").row.Title = "old deploys"
		f.sessions["c"].held = 4711
		f.session("d").row.Title = "needs an answer"
		f.sessions["d"].run = &runtime.RunRow{ID: "r2", State: runtime.StateWaitingApproval}
	})
	d.sees("UNFINISHED  2 other sessions")
	d.press("esc")
	d.seesNot("UNFINISHED")
	d.enter("/sessions")
	d.sees("SESSIONS", "deploy plan", "interrupted", "in pid 4711", "needs you", "5 of 5")
	d.typed("deploy")
	d.sees("3 of 5")
	d.typed(" pl")
	d.press("enter")
	d.short()
	if d.id() != "a" || len(d.m.pages) != 2 {
		t.Fatalf("opened %q", d.id())
	}
	d.enter("/sessions old")
	d.press("enter")
	d.short()
	d.sees("READ ONLY", "open in process 4711")
	d.enter("hello")
	if d.m.page().edit.Text() != "hello" {
		t.Error("the text is lost in a session that is held elsewhere")
	}
	d.sees("read only")
	d.f.sessions["c"].held = 0
	d.enter("")
	d.short()
	d.seesNot("READ ONLY")
	d.press("enter")
	d.short()
	if !d.did(`submit c "hello"`) {
		t.Errorf("%q", d.f.order)
	}

	d.enter("/sessions needs")
	d.press("ctrl+d")
	d.sees("DELETE")
	d.press("n", "esc")
	d.enter("/sessions needs")
	d.press("ctrl+d", "y")
	d.short()
	if !d.did("delete d") {
		t.Errorf("%q", d.f.order)
	}
	d.enter("/sessions plan")
	d.press("ctrl+d")
	d.sees("open in a tab")
	// Who changes their mind about a name, or about deleting, is back in the list.
	d.enter("/sessions notes")
	for _, k := range [][]string{{"ctrl+r", "RENAME", "esc"}, {"ctrl+d", "DELETE", "esc"}, {"ctrl+d", "DELETE", "n"}} {
		d.press(k[0])
		d.sees(k[1])
		d.press(k[2])
		d.sees("SESSIONS", "deploy notes")
		d.seesNot(k[1])
	}
	d.press("esc")
	d.seesNot("SESSIONS")
	d.enter("/sessions notes")
	d.press("ctrl+r")
	d.typed("release notes")
	d.press("enter")
	d.short()
	if d.f.sessions["b"].row.Title != "release notes" || !d.did("close b") {
		t.Errorf("renamed to %q; %q", d.f.sessions["b"].row.Title, d.f.order)
	}
}

func TestFollowingAnotherProcess(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.session("c").held = 4711
		o.Session = "c"
	})
	d.sees("READ ONLY")
	// What the other process does is not on this one's bus.
	quiet := trace.NewBus(d.sim)
	d.f.bus, quiet = quiet, d.f.bus
	d.f.mu.Lock()
	d.f.begin("c", "from elsewhere")
	d.f.mu.Unlock()
	d.pass(1500 * time.Millisecond)
	d.sees("from elsewhere")
	_ = quiet
}

func TestAllHeldMakesANewTab(t *testing.T) {
	d := newDriver(t, 100, 30, func(_ *Options, f *fake) {
		f.session("c").held = 4711
		f.tabs = runtime.Tabs{Sessions: []string{"c"}}
	})
	if len(d.m.pages) != 2 || d.m.page().held != 0 {
		t.Errorf("tabs %q, in front %q", d.m.open(), d.id())
	}
}

func TestInterruptedRun(t *testing.T) {
	make := func(d *Options, f *fake) {
		s := f.session("s")
		s.run = &runtime.RunRow{ID: "r", Turn: 4, Step: 2, State: runtime.StateExecuting, StartedAt: start.Add(-72 * time.Hour)}
		s.notice = "the last turn was interrupted"
		d.Session = "s"
	}
	d := newDriver(t, 100, 30, make)
	d.sees("INTERRUPTED", "turn 4, step 2", "3 d ago", "y resume", "x give up")
	if !strings.Contains(d.grid()[0], "?") {
		t.Errorf("the tab is not marked: %q", d.grid()[0])
	}
	// A key at once is text: the question waits until the input was quiet.
	d.press("y")
	if d.m.page().edit.Text() != "y" || d.did("resume s true") {
		t.Fatal("the question took a key of the input")
	}
	d.press("backspace")
	d.pass(600 * time.Millisecond)
	d.answer("y")
	d.short()
	if !d.did("resume s true") {
		t.Fatalf("%q", d.f.order)
	}
	d.seesNot("INTERRUPTED")
	d.sees(" waiting ")

	d = newDriver(t, 100, 30, make)
	d.pass(calmAfter)
	d.press("tab")
	if d.m.page().focus != paneQuestion {
		t.Fatalf("Tab goes to %v", d.m.page().focus)
	}
	d.press("x")
	d.short()
	if !d.did("resume s false") {
		t.Fatalf("%q", d.f.order)
	}
}

// B044: queued inputs are shown, taken back, or sent once and in order, whatever ends the turn.
func TestQueuedInput(t *testing.T) {
	for _, how := range []string{"finish", "fail", "cancel"} {
		d := newDriver(t, 100, 30)
		id := d.id()
		d.enter("first")
		d.enter("second")
		d.enter("third")
		d.sees("second", "third")
		if n := len(d.m.page().inbox); n != 2 {
			t.Fatalf("%d are queued", n)
		}
		switch how {
		case "finish":
			d.f.stream(id, "fine")
			d.f.answer(id)
		case "fail":
			d.f.end(id, "failed", "model", "HTTP 500")
		case "cancel":
			d.press("esc")
		}
		d.short()
		if n := len(d.m.page().inbox); n != 1 || d.m.page().inbox[0].Text != "third" {
			t.Fatalf("%s: queued now: %+v", how, d.m.page().inbox)
		}
		d.f.answer(id)
		d.short()
		if n := len(d.m.page().inbox); n != 0 {
			t.Fatalf("%s: %d still queued", how, n)
		}
		var sent []string
		for _, m := range d.f.sessions[id].msgs {
			if m.Kind == llm.KindUser {
				sent = append(sent, m.Content)
			}
		}
		if want := []string{"first", "second", "third"}; !slices.Equal(sent, want) {
			t.Errorf("%s: sent %q, want %q", how, sent, want)
		}
	}
}

// B044: a queued input comes back into the input with Up; after a restart it is there again.
func TestQueuedInputComesBack(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("first")
	d.enter("second")
	d.press("up")
	d.short()
	if got := d.m.page().edit.Text(); got != "second" || len(d.m.page().inbox) != 0 {
		t.Fatalf("the input holds %q, queued %d", got, len(d.m.page().inbox))
	}
	d.press("enter")
	d.short()
	d.m.page().reload()
	d.send(openedMsg{id: id, snap: func() runtime.Snapshot { s, _ := d.f.Open(d.m.env.ctx, id, false); return s }()})
	d.sees("second")
	if len(d.m.page().inbox) != 1 {
		t.Errorf("queued after reading again: %d", len(d.m.page().inbox))
	}
}

func TestTypedTextIsNeverLost(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.f.fail["submit"] = errors.New("the disk is full")
	d.enter("precious words")
	if got := d.m.page().edit.Text(); got != "precious words" {
		t.Fatalf("after a failure the input holds %q", got)
	}
	d.sees("not sent: the disk is full")
	delete(d.f.fail, "submit")
	d.press("enter")
	d.short()
	if d.m.page().edit.Text() != "" || !d.did(`submit ann-window-1 "precious words"`) {
		t.Errorf("%q", d.f.order)
	}
	d.f.answer(d.id())
	d.short()

	d.enter("/nonsense 1")
	d.sees("there is no command /nonsense")
	if got := d.m.page().edit.Text(); got != "/nonsense 1" {
		t.Errorf("the input holds %q", got)
	}
	d.press("ctrl+c")
	d.f.fail["set"] = errors.New("the database is locked")
	d.enter("/rename deploy")
	d.sees("rename the session: the database is locked")
	d.press("up")
	if got := d.m.page().edit.Text(); got != "/rename deploy" {
		t.Errorf("Up brings %q", got)
	}
}

func TestRetry(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("/retry")
	d.sees("there is no input to send again")
	d.enter("ask me")
	d.enter("/retry")
	d.sees("/retry is for after it")
	d.f.end(d.id(), "failed", "model", "it failed")
	d.short()
	d.f.order = nil
	d.enter("/retry")
	if !d.did(`submit ann-window-1 "ask me"`) {
		t.Errorf("%q", d.f.order)
	}
	d.f.end(d.id(), "failed", "model", "it failed")
	d.short()
	d.press("up")
	if got := d.m.page().edit.Text(); got != "ask me" {
		t.Errorf("Up brings %q", got)
	}
}

func TestClear(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("hello")
	d.f.answer(d.id())
	d.short()
	d.enter("/clear")
	d.short()
	if len(d.m.pages) != 1 || d.id() != "ann-window-2" || !d.did("close ann-window-1") {
		t.Errorf("tabs %q, %q", d.m.open(), d.f.order)
	}
	d.enter("/sessions hello")
	d.press("enter")
	d.short()
	if d.id() != "ann-window-1" {
		t.Error("the old session is not in the picker")
	}
}

// /clear in a run asks what becomes of that; each answer does it, and none changes nothing.
func TestClearInARun(t *testing.T) {
	for key, want := range map[string]struct {
		order      string
		background bool
	}{"w": {"", true}, "c": {"cancel ann-window-1", false}, "l": {"leave ann-window-1", false}, "esc": {"", false}} {
		d := newDriver(t, 100, 30)
		d.enter("hello")
		d.enter("/clear")
		d.sees("NEW SESSION", "a run is on")
		d.press(key)
		d.short()
		if now := d.id(); (now == "ann-window-1") != (key == "esc") {
			t.Errorf("%s: the tab shows %s", key, now)
		}
		if want.order != "" && !d.did(want.order) || want.order == "" && (d.did("cancel ann-window-1") || d.did("leave ann-window-1")) {
			t.Errorf("%s: %q", key, d.f.order)
		}
		if d.m.quit.background["ann-window-1"] != want.background {
			t.Errorf("%s: the run in the background is %v", key, d.m.quit.background)
		}
	}
}

// What may not be done in a session that another process holds is refused with the reason, and nothing is asked of the engine.
func TestReadOnlyRefuses(t *testing.T) {
	d := newDriver(t, 120, 30, func(o *Options, f *fake) {
		s := f.session("c")
		f.begin("c", "a question elsewhere")
		s.held = 4711
		o.Session = "c"
	})
	d.pass(1500 * time.Millisecond)
	for _, text := range []string{"/compact", "/compact undo", "/pin x", "/unpin", "/tools", "/break", "/todo x", "/rename y", "/model"} {
		d.enter(text)
		if text == "/rename y" || text == "/model" {
			d.press("esc")
			continue // they need no more than the name, or a list
		}
		d.sees("read only: the session is open in process 4711")
		d.pass(7 * time.Second)
	}
	for _, s := range d.f.settings {
		if s.Title == nil && s.Model == nil {
			t.Errorf("it was set: %+v", s)
		}
	}
}

// What fails outside is told of, with what it was.
func TestFailuresAreTold(t *testing.T) {
	d := newDriver(t, 120, 30)
	d.f.fail["delete"] = errors.New("the disk is away")
	d.f.session("old").row.Title = "an old one"
	d.enter("/sessions old")
	d.short()
	d.press("ctrl+d", "y")
	d.short()
	d.sees("delete the session: the disk is away")
	d.f.fail["savetabs"] = errors.New("the disk is full")
	d.press("ctrl+x", "n")
	d.short()
	d.sees("keep which tabs are open: the disk is full")
}

func TestCompletion(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.typed("/")
	d.sees("/new", "Enter run   Tab fill in")
	d.typed("se")
	d.sees("/sessions words")
	d.seesNot("/new ")
	d.press("tab")
	if got := d.m.page().edit.Text(); got != "/sessions " {
		t.Fatalf("Tab fills in %q", got)
	}
	d.press("ctrl+c")
	d.typed("/re")
	d.press("down", "enter")
	d.sees("there is no input to send again")
	d.typed("/etc/hosts is a file")
	d.press("enter")
	d.short()
	if !d.did(`submit ann-window-1 "/etc/hosts is a file"`) {
		t.Errorf("%q", d.f.order)
	}
}

func TestModels(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, _ *fake) { o.Models = []string{"gpt-4o-mini", "offline"} })
	d.enter("/model")
	d.sees("MODEL", "offline")
	d.press("down", "enter")
	d.short()
	if d.f.sessions[d.id()].row.Model != "offline" || !strings.HasSuffix(d.grid()[0], "offline") {
		t.Errorf("the bar is %q", d.grid()[0])
	}
	d.enter("/model other")
	if d.f.sessions[d.id()].row.Model != "other" {
		t.Error("the model did not change")
	}
}

func TestHistoryKeepsDrafts(t *testing.T) {
	d := newDriver(t, 100, 30)
	for _, s := range []string{"one", "two"} {
		d.enter(s)
		d.f.answer(d.id())
		d.short()
	}
	d.typed("draft")
	d.press("up", "up")
	if got := d.m.page().edit.Text(); got != "one" {
		t.Errorf("Up Up brings %q", got)
	}
	d.press("down", "down")
	if got := d.m.page().edit.Text(); got != "draft" {
		t.Errorf("Down Down brings %q", got)
	}
	d.press("ctrl+x", "n")
	d.short()
	if d.m.page().edit.Text() != "" {
		t.Error("the draft followed into another tab")
	}
	d.press("alt+1")
	if got := d.m.page().edit.Text(); got != "draft" {
		t.Errorf("the draft of the tab is %q", got)
	}
	d.press("ctrl+r")
	d.sees("HISTORY")
	d.typed("two")
	d.press("enter")
	if got := d.m.page().edit.Text(); got != "two" {
		t.Errorf("the history gives %q", got)
	}
}

func TestNoticesAndUnsaved(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.send(noticeMsg{notice: Notice{ID: "trace", Text: "TRACING STOPPED  the disk is full"}})
	d.sees("TRACING STOPPED")
	d.send(noticeMsg{notice: Notice{ID: "trace"}})
	d.seesNot("TRACING STOPPED")
	d.enter("hello")
	d.f.mu.Lock()
	d.f.emit(d.id(), false, trace.ErrorData{Message: "not saved", Why: "the disk is full", Todo: "again in 2 s; this tab waits", Code: "not_saved"})
	d.f.mu.Unlock()
	d.short()
	d.sees("NOT SAVED", "the disk is full", "this tab waits")
	// When it is tried again stands at the right, whatever the cause leaves of the row.
	for _, why := range []string{"the disk is full", strings.Repeat("a long cause ", 20)} {
		d.f.mu.Lock()
		d.f.emit(d.id(), false, trace.ErrorData{Message: "not saved", Why: why, Todo: "again in 2 s; this tab waits", Code: "not_saved"})
		d.f.mu.Unlock()
		d.short()
		for i, row := range d.grid() {
			if strings.Contains(row, "NOT SAVED") && (!strings.HasSuffix(row, "  again in 2 s") || strings.TrimSpace(d.grid()[i+1]) != "this tab waits") {
				t.Errorf("%q\n%q", row, d.grid()[i+1])
			}
		}
	}
	d.f.answer(d.id())
	d.short()
	d.seesNot("NOT SAVED")
	d.f.mu.Lock()
	d.f.emit(d.id(), false, trace.ErrorData{Message: "not saved", Code: "not_saved"})
	d.f.emit(d.id(), false, trace.ErrorData{Message: "saved again", Code: "saved"})
	d.f.mu.Unlock()
	d.short()
	d.seesNot("NOT SAVED")
}

func TestRetryWaitCountsDown(t *testing.T) {
	d := newDriver(t, 120, 30)
	d.enter("hello")
	d.f.mu.Lock()
	d.f.emit(d.id(), false, trace.StateData{State: "retrying_model"})
	d.f.emit(d.id(), false, trace.RetryData{Attempt: 1, Max: 3, WaitMS: 3000, Cause: "localhost:11434 refused"})
	d.f.mu.Unlock()
	d.short()
	if s := d.status(); !strings.Contains(s, "NO CONNECTION  again in 3 s, 2 of 3  localhost:11434 refused") || !strings.Contains(s, "Esc cancel") {
		t.Errorf("status %q", s)
	}
	d.pass(time.Second)
	if s := d.status(); !strings.Contains(s, "again in 2 s") {
		t.Errorf("status %q", s)
	}
}

func TestSuggestions(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, _ *fake) {
		o.Banner = []string{"OFFLINE MODEL  fixed rules: no key, no network, no cost", "To connect one: OPENAI_BASE_URL or OPENAI_API_KEY"}
	})
	d.sees("OFFLINE MODEL", "TRY", "Down, Enter")
	d.press("down", "down", "up", "enter")
	d.short()
	if !d.did(`submit ann-window-1 "what is (17+5)*3?"`) {
		t.Errorf("%q", d.f.order)
	}
	d.seesNot("OFFLINE MODEL", "TRY")
}
