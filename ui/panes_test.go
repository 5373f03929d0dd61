package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// turns plays whole turns with a tool call each.
func (d *driver) turns(n int) {
	for i := range n {
		d.enter(fmt.Sprintf("question %d", i+1))
		d.f.tool(d.id(), "search_mock", fmt.Sprintf(`{"query":"words %d"}`, i+1), `{"ok":true,"data":[1,2,3]}`, "3 hits")
		d.f.stream(d.id(), fmt.Sprintf("answer %d\n\n```go\nfunc f%d() {}\n```\n", i+1, i+1))
		d.f.answer(d.id())
		d.short()
	}
}

func TestCopy(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.press("ctrl+x", "y")
	d.sees("there is nothing to copy yet")
	d.turns(1)
	d.press("ctrl+x", "y")
	if d.clip != "answer 1\n\n```go\nfunc f1() {}\n```" {
		t.Errorf("the clipboard holds %q", d.clip)
	}
	d.sees("copied 5 lines")
	d.press("tab", "Y")
	if d.clip != "func f1() {}" {
		t.Errorf("the clipboard holds %q", d.clip)
	}
	d.sees("copied 1 line")
	d.press("j", "y")
	if d.clip != "question 1" {
		t.Errorf("the clipboard holds %q", d.clip)
	}
}

func TestEventAsJSON(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.turns(2)
	d.press("tab", "tab")
	d.press("G", "enter")
	d.sees("EVENT", `"llm_call"`)
	d.typed("y")
	var events any
	if err := json.Unmarshal([]byte(d.clip), &events); err != nil || !strings.Contains(d.clip, `"run_id"`) {
		t.Errorf("copied %v: %s", err, d.clip)
	}
	d.press("q")
	d.seesNot("EVENT")
	for _, k := range []string{"k", "j", "u", "d", "pgup", "pgdown", "g", "left", "right", "space", "space", "[", "]"} {
		d.press(k)
	}
	d.press("g")
	if n := d.m.page().columns.trace.Selected(); n == nil || n.Turn != 1 {
		t.Errorf("g selects %+v", n)
	}
}

func TestTraceOfATurn(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.turns(3)
	d.press("ctrl+x", "o") // the todos take the place of the trace
	d.sees("TODOS")
	d.press("tab", "[", "[", "t")
	if p := d.m.page(); p.focus != paneTrace || p.columns.trace.Turn() == 0 || d.m.env.panes.right != paneTrace {
		t.Errorf("focus %v, turn %d", p.focus, p.columns.trace.Turn())
	}
	d.sees("TRACE")
}

func TestFindInTheChat(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.turns(8)
	d.press("tab", "n")
	d.sees("/ asks what to find")
	d.press("/")
	d.typed("question 2")
	d.press("enter")
	d.sees("question 2")
	d.press("n", "N")
	d.press("/")
	for range 12 {
		d.press("backspace")
	}
	d.typed("not there")
	d.press("enter")
	d.sees("not found: not there")
}

func TestChatScrolls(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.turns(10)
	d.sees("answer 10")
	d.send(tea.MouseWheelMsg{X: 5, Y: 10, Button: tea.MouseWheelUp})
	for range 4 {
		d.press("pgup")
	}
	d.seesNot("answer 10")
	// The place holds while text comes below.
	d.enter("more")
	d.press("pgup", "pgup")
	before := d.grid()[6][:40]
	d.f.stream(d.id(), strings.Repeat("words and words ", 300))
	d.short()
	if got := d.grid()[6][:40]; got != before {
		t.Errorf("the row moved:\n%s\n%s", before, got)
	}
	for range 12 {
		d.press("pgdown")
	}
	for range 40 {
		d.press("alt+down")
	}
	d.press("alt+up", "alt+down")
	d.sees("words and words")
	d.press("tab", "g")
	d.sees("question 1")
	for _, k := range []string{"j", "k", "u", "d", "pgup", "pgdown", "enter", "left", "right", "space"} {
		d.press(k)
	}
	d.press("G")
	d.sees("words and words")
	// The wheel scrolls what is under it.
	for _, which := range []pane{paneTrace, paneTodos} {
		r := map[pane]rect{paneTrace: d.m.page().lay.trace, paneTodos: d.m.page().lay.todos}[which]
		d.send(tea.MouseWheelMsg{X: r.x + 2, Y: r.y + 2, Button: tea.MouseWheelDown})
		d.send(tea.MouseClickMsg{X: r.x + 2, Y: r.y + 2, Button: tea.MouseLeft})
		if d.m.page().focus != which {
			t.Errorf("a click on %v gives the focus to %v", which, d.m.page().focus)
		}
	}
	d.send(tea.MouseWheelMsg{X: 5, Y: 10, Button: tea.MouseWheelLeft})
	d.send(tea.MouseClickMsg{X: 5, Y: 10, Button: tea.MouseRight})
}

func TestOlderMessages(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		s := f.session("s")
		for i := range 400 {
			kind, role := llm.KindUser, llm.RoleUser
			if i%2 == 1 {
				kind, role = llm.KindAssistant, llm.RoleAssistant
			}
			s.msgs = append(s.msgs, runtime.MessageRow{N: int64(i + 1), Kind: kind, Role: role, Content: fmt.Sprintf("message %d", i+1)})
		}
		s.row.NextN, s.row.TurnCount = 401, 200
		o.Session = "s"
	})
	snap, _ := d.f.Open(t.Context(), "s", false)
	snap.Messages = snap.Messages[300:]
	d.send(openedMsg{id: "s", snap: snap})
	d.sees("message 400")
	d.press("tab")
	for range 12 {
		d.press("g")
	}
	d.press("g")
	d.sees("message 1")
	d.f.fail["sessions"] = errors.New("no")
	d.press("esc")
	d.enter("/sessions")
	d.sees("list the sessions: no")
}

func TestPaneToggles(t *testing.T) {
	d := newDriver(t, 160, 44)
	d.press("ctrl+x", "t")
	d.seesNot("TRACE")
	d.press("ctrl+x", "o")
	d.seesNot("TODOS")
	if w := d.m.page().lay.chat.w; w != 160 {
		t.Errorf("the chat alone is %d wide", w)
	}
	d.press("ctrl+x", "t", "ctrl+x", "o")
	d.sees("TRACE", "TODOS")
	d.press("tab", "tab", "z")
	if l := d.m.page().lay; l.trace.w != 160 || !l.chat.empty() {
		t.Errorf("z gives the trace %+v", l.trace)
	}
	d.press("z")
	if l := d.m.page().lay; l.trace.w != 51 {
		t.Errorf("z again gives the trace %+v", l.trace)
	}
	d.press("z", "i", "ctrl+x", "o")
	d.sees("TODOS", "TRACE")
	d.resize(110, 30)
	d.seesNot("TODOS")
	d.press("ctrl+x", "o")
	d.sees("TODOS")
	d.seesNot("TRACE")
	d.press("ctrl+x", "o")
	d.sees("TRACE")
	d.seesNot("TODOS")
	d.resize(80, 24)
	d.press("ctrl+x", "o")
	d.sees("TODOS")
	d.enter("/todo")
	if d.m.page().focus != paneTodos {
		t.Errorf("/todo gives the focus to %v", d.m.page().focus)
	}
	d.press("enter")
	d.sees("there is no todo yet")
	d.press("z", "esc", "esc")
	if d.m.env.panes.zoom != paneNone {
		t.Error("Esc leaves the pane alone on the screen")
	}
	d.press("ctrl+x", "m")
	if d.m.View().MouseMode != tea.MouseModeNone {
		t.Error("the mouse is still on")
	}
	d.press("ctrl+x", "m")
	d.sees("mouse on")
}

func TestWidthsOfThePanes(t *testing.T) {
	for w, want := range map[int][3]int{160: {82, 51, 25}, 120: {61, 36, 21}, 100: {55, 44, 0}, 99: {99, 0, 0}, 40: {40, 0, 0}} {
		l := arrange(w, 40, 1, 0, defaultPanes())
		if got := [3]int{l.chat.w, l.trace.w, l.todos.w}; got != want {
			t.Errorf("%d: %v, want %v", w, got, want)
		}
	}
	for w := leastWidth; w <= 300; w++ {
		for _, h := range []int{leastHeight, 15, 16, 24, 60} {
			l := arrange(w, h, 30, 30, defaultPanes())
			sum := l.chat.w
			for _, r := range []rect{l.trace, l.todos} {
				if r.w > 0 {
					sum += r.w + 1
				}
			}
			if sum != w || l.chat.w < 20 || l.chat.h < 1 || l.stat.y != h-1 || l.dock.h < 0 || l.input.h < 1 || l.input.y+l.input.h > l.stat.y {
				t.Fatalf("%dx%d: %+v", w, h, l)
			}
		}
	}
}

func TestUsageSums(t *testing.T) {
	var u runtime.RunUsage
	one := 0.5
	u.Add(runtime.RunUsage{Prompt: 10, Completion: 5})
	u.Add(runtime.RunUsage{Prompt: 1, Cost: &one, Estimated: true})
	u.Add(runtime.RunUsage{Cost: &one})
	if u.Prompt+u.Completion != 16 || !u.Estimated || *u.Cost != 1 || one != 0.5 {
		t.Errorf("%+v", u)
	}
}

func TestSessionThatCannotBeOpened(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.session("s")
		f.fail["open"] = errors.New("the file is no database")
		o.Session = "s"
	})
	d.sees("cannot open: the file is no database", "not open")
	d.enter("hello")
	if d.m.page().edit.Text() != "hello" {
		t.Error("the text is lost")
	}
	for _, c := range []string{"/rename x", "/model y", "/todo 1"} {
		d.press("ctrl+c")
		d.enter(c)
		d.sees("cannot open")
	}
	d = newDriver(t, 100, 30, func(_ *Options, f *fake) { f.fail["tabs"] = errors.New("disk") })
	d.sees("read which tabs were open: disk")
	d = newDriver(t, 100, 30, func(_ *Options, f *fake) { f.fail["sessions"] = errors.New("disk") })
	d.sees("list sessions: disk")
}

func TestMissedEventsAreReadAgain(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.turns(1)
	// What came past the bus.
	quiet := trace.NewBus(d.sim)
	d.f.bus, quiet = quiet, d.f.bus
	d.f.mu.Lock()
	d.f.begin(id, "unseen question")
	d.f.mu.Unlock()
	d.short()
	d.seesNot("unseen question")
	d.f.bus = quiet
	d.send(eventsMsg{missed: []string{id}})
	d.settle()
	d.sees("unseen question")
	// Events that come while it is read again are kept.
	p := d.m.page()
	p.loaded = false
	d.f.stream(id, "early words")
	d.short()
	d.send(openedMsg{id: id, snap: func() runtime.Snapshot { s, _ := d.f.Open(t.Context(), id, false); return s }()})
	d.sees("early words")
}

func TestAwayNote(t *testing.T) {
	d := newDriver(t, 100, 30)
	first := d.id()
	d.enter("go")
	d.press("ctrl+x", "n")
	d.short()
	d.pass(time.Minute)
	d.f.stream(first, "came later")
	d.short()
	d.press("alt+1")
	d.sees("new since 14:02", "came later")
}

func TestSignalLeavesRunsToBeResumed(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("go")
	d.send(endMsg{}, endMsg{})
	d.short()
	if !d.quit || !d.f.left || d.f.shut != 1 {
		t.Errorf("quit %v, left %v, shutdowns %d", d.quit, d.f.left, d.f.shut)
	}
	d = newDriver(t, 100, 30)
	d.send(forceMsg{})
	if d.quit = d.m.env.ctx.Err() != nil; !d.quit {
		t.Error("after the time is up it does not leave")
	}
}

func TestStandingWords(t *testing.T) {
	for _, c := range []struct {
		status           int
		cause, word, row string
	}{
		{0, "localhost:11434: connect: connection refused", "NO CONNECTION", "localhost:11434: connection refused"},
		{0, "localhost:11434 refused", "NO CONNECTION", "localhost:11434 refused"},
		{0, "h:1: cut: the stream ended before the reply was complete", "CUT OFF", "the stream ended before the reply was complete"},
		{0, "cut: the stream ended", "CUT OFF", "the stream ended"},
		{0, "h: timeout: no data for 1m0s", "NO ANSWER", "no data for 1m0s"},
		{0, "h: timeout", "NO ANSWER", "h"},
		{0, "h: server: overloaded: later", "SERVER ERROR", "overloaded: later"},
		{0, "h: protocol: no chat completion", "BAD ANSWER", "no chat completion"},
		{429, "h: HTTP 429: slow down", "429 RATE LIMIT", "slow down"},
		{429, "h: HTTP 429: slow down", "429 RATE LIMIT", "all tabs wait  slow down"},
		{0, "h: rate: later", "RATE LIMIT", "later"},
		{503, "h:1: HTTP 503", "503 OVERLOADED", "h:1"},
		{529, "HTTP 529", "529 OVERLOADED", ""},
		{500, "h: HTTP 500: oh", "500 SERVER ERROR", "oh"},
		{408, "HTTP 408: late", "HTTP 408", "late"},
		{0, "", "NO CONNECTION", ""},
	} {
		r := runState{retry: &retryState{until: start, data: trace.RetryData{Attempt: 1, Max: 3, Cause: c.cause, Status: c.status, Shared: strings.HasPrefix(c.row, "all tabs wait")}}}
		want := strings.TrimRight(c.word+"  trying again, 2 of 3  "+c.row, " ")
		if got := r.retryTexts(line.Style{Theme: theme.New(theme.Options{})}, start)[0]; got != want {
			t.Errorf("%d %q: %q, want %q", c.status, c.cause, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 s", time.Millisecond: "1 s", 3 * time.Second: "3 s", 90 * time.Second: "1 m 30 s"} {
		if got := seconds(words.English, d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	for s := range map[runtime.State]bool{
		runtime.StateCreated: true, runtime.StateBuilding: true, runtime.StateRepairing: true, runtime.StateRetryingModel: true,
		runtime.StateValidating: true, runtime.StateWaitingApproval: true, runtime.StateExecuting: true, runtime.StateReconciling: true,
		runtime.StateObserving: true, runtime.StateCheckpointing: true, runtime.StateVerifying: true, runtime.StateSucceeded: true,
		runtime.StateFailed: true, runtime.StateCancelled: true, runtime.StateExhausted: true, runtime.StateWaitingModel: true,
	} {
		if r := (&runState{state: s, active: !s.Terminal()}); r.word(words.English, start) == "ready" {
			t.Errorf("%s has no word", s)
		}
	}
	if env := func(string) string { return "" }; asciiOnly(env) {
		t.Error("no locale means ASCII")
	}
	for lang, want := range map[string]bool{"C": true, "en_US.UTF-8": false, "de_DE.utf8": false, "POSIX": true} {
		if got := asciiOnly(func(n string) string { return map[string]string{"LANG": lang}[n] }); got != want {
			t.Errorf("LANG=%s: %v", lang, got)
		}
	}
}
