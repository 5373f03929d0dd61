package ui

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

// again starts the screen anew over what the fake keeps, as after a kill.
func again(t *testing.T, f *fake, session string) *driver {
	t.Helper()
	return newDriver(t, 100, 30, func(o *Options, fresh *fake) {
		for id, s := range f.sessions {
			fresh.sessions[id] = s
		}
		fresh.drafts, fresh.tabs = f.drafts, f.tabs
		o.Session = session
	})
}

// What was typed is kept at most once a second, and a kill takes the last second of it; typing never waits for that.
func TestDraftsAreKept(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.f.slow = 20 * time.Second
	d.typed("a")
	d.pass(time.Second)
	d.typed("b")
	if got := d.m.page().edit.Text(); got != "ab" {
		t.Fatalf("the input holds %q while the draft is being kept", got)
	}
	d.pass(time.Minute)
	d.f.slow, d.f.saves = 0, 0
	for range 100 { // ten seconds of typing
		d.typed("x")
		d.pass(100 * time.Millisecond)
	}
	if d.f.saves < 9 || d.f.saves > 11 {
		t.Errorf("kept %d times in ten seconds", d.f.saves)
	}
	if kept, typed := len(d.f.drafts[d.id()].Text), len(d.m.page().edit.Text()); typed-kept > 11 {
		t.Errorf("%d of %d characters are kept", kept, typed)
	}
	d.pass(2 * time.Second)
	n := d.f.saves
	d.pass(time.Hour)
	if d.f.saves != n {
		t.Errorf("kept %d times while nothing was typed", d.f.saves-n)
	}
	text := d.m.page().edit.Text()
	e := again(t, d.f, d.id())
	if got := e.m.page().edit.Text(); got != text {
		t.Errorf("after a kill the input holds %q, not %q", got, text)
	}
	if e.m.page().gauge.draft == 0 {
		t.Error("it is not counted")
	}
	e.press("enter")
	e.pass(2 * time.Second)
	if d := e.f.drafts[e.id()]; d.Text != "" {
		t.Errorf("what was sent is kept: %q", d.Text)
	}
}

// What was sent is not brought back, also when the program was killed before that was noted; what was typed since, or is another
// text, is.
func TestDraftsThatWereSent(t *testing.T) {
	for _, c := range []struct {
		kept string
		at   time.Duration // behind the input
		back string
	}{
		{"go", -time.Second, ""}, {"go\n", 0, ""}, {"go", time.Second, "go"}, {"go on", -time.Second, "go on"}, {"", 0, ""},
	} {
		for _, queued := range []bool{false, true} {
			d := newDriver(t, 100, 30, func(o *Options, f *fake) {
				s := f.session("s")
				o.Session = "s"
				if queued {
					s.inbox = []runtime.InboxRow{{ID: "i", SessionID: "s", Text: "go", CreatedAt: start}}
				} else {
					s.msgs = []runtime.MessageRow{{N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: "go", CreatedAt: start}, {N: 2, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "go on", CreatedAt: start}}
				}
				f.drafts["s"] = runtime.Draft{Text: c.kept, At: start.Add(c.at)}
			})
			if got := d.m.page().edit.Text(); got != c.back {
				t.Errorf("%+v, queued %v: the input holds %q", c, queued, got)
			}
			d.pass(2 * time.Second)
			if got := d.f.drafts["s"].Text; got != c.back {
				t.Errorf("%+v, queued %v: kept %q", c, queued, got)
			}
		}
	}
}

// What was typed is kept when its tab is closed, when the program is left and when it is asked to end; each session has its own.
func TestDraftsAreKeptAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(d *driver){
		"quit":  func(d *driver) { d.press("ctrl+x", "q") },
		"close": func(d *driver) { d.press("ctrl+x", "w") },
		"signal": func(d *driver) {
			d.send(endMsg{})
			d.short()
		},
		"clear":   func(d *driver) { d.press("ctrl+p"); d.typed("start a new session in"); d.press("enter") },
		"storing": func(d *driver) { d.park(); d.typed("!"); d.press("enter"); d.typed("more"); d.press("ctrl+x", "q") },
	} {
		d := newDriver(t, 100, 30)
		first := d.id()
		d.typed("of the first")
		d.press("ctrl+x", "n")
		d.short()
		second := d.id()
		d.typed("of the second")
		end(d)
		d.short()
		want := "of the second"
		if name == "storing" {
			want += "!\nmore"
		}
		if got := d.f.drafts[second].Text; got != want {
			t.Errorf("%s: kept %q", name, got)
		}
		if got := d.f.drafts[first].Text; got != "of the first" && (name == "quit" || name == "signal") {
			t.Errorf("%s: kept %q of the other tab", name, got)
		}
		if e := again(t, d.f, second); e.m.page().edit.Text() != want {
			t.Errorf("%s: it comes back as %q", name, e.m.page().edit.Text())
		}
	}
}

// What is no draft is not kept: an older input that was brought back, the letter of an answer, a text in a session that another
// process holds. What had been typed before is.
func TestWhatIsNoDraft(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("one")
	d.f.answer(d.id())
	d.short()
	d.typed("mine")
	d.press("up")
	d.pass(3 * time.Second)
	if got := d.f.drafts[d.id()].Text; got != "mine" {
		t.Errorf("kept %q over an older input", got)
	}
	d.typed("!")
	d.pass(3 * time.Second)
	if got := d.f.drafts[d.id()].Text; got != "one!" {
		t.Errorf("kept %q of an older input that was changed", got)
	}

	d = newDriver(t, 100, 30, func(o *Options, f *fake) { f.unknown("s"); o.Session = "s" })
	d.pass(time.Second)
	d.press("y")
	d.pass(3 * time.Second)
	if got := d.f.drafts["s"].Text; got != "" {
		t.Errorf("kept the answer %q", got)
	}

	d = newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.session("c").held = 4711
		f.drafts["c"] = runtime.Draft{Text: "of the other process", At: start}
		o.Session = "c"
	})
	if got := d.m.page().edit.Text(); got != "" {
		t.Errorf("the other process's draft is here: %q", got)
	}
	d.typed("mine")
	d.pass(3 * time.Second)
	if d.f.saves != 0 {
		t.Errorf("kept %q", d.f.drafts["c"].Text)
	}
	d.f.sessions["c"].held = 0
	d.press("enter") // it is free now
	d.pass(3 * time.Second)
	if got := d.m.page().edit.Text(); got != "of the other process\nmine" || d.f.drafts["c"].Text != got {
		t.Errorf("the input holds %q, kept is %q", got, d.f.drafts["c"].Text)
	}
}

// A draft that cannot be read or kept stops nothing: it is tried again, and one that could not be read is not written over.
func TestDraftsThatFail(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.f.fail["savedraft"] = errors.New("the disk is full")
	d.typed("mine")
	d.pass(time.Minute)
	if d.f.saves < 5 || d.f.saves > 15 {
		t.Errorf("tried %d times in a minute", d.f.saves)
	}
	d.seesNot("the disk is full")
	delete(d.f.fail, "savedraft")
	d.pass(keepAgain)
	if got := d.f.drafts[d.id()].Text; got != "mine" {
		t.Errorf("kept %q", got)
	}
	d = newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.session("s")
		f.drafts["s"] = runtime.Draft{Text: "from before", At: start}
		f.fail["draft"] = errors.New("the disk is away")
		o.Session = "s"
	})
	d.typed("mine")
	d.pass(time.Minute)
	if got := d.f.drafts["s"].Text; got != "from before" {
		t.Errorf("kept %q", got)
	}
}

// The draft of the sign for typing that came before the session was there goes behind what was kept.
func TestDraftAndWhatWasTypedBefore(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.m.page().loaded, d.m.page().draft = false, draft{}
	d.typed("early")
	s, _ := d.f.Open(t.Context(), d.id(), false)
	d.send(openedMsg{id: d.id(), snap: s, draft: &runtime.Draft{Text: "from before", At: start}})
	if got := d.m.page().edit.Text(); got != "from before\nearly" {
		t.Errorf("the input holds %q", got)
	}
	d.send(tea.PasteMsg{Content: "!"})
	d.m.page().event(trace.Event{})
	d.send(openedMsg{id: d.id(), snap: s, draft: &runtime.Draft{Text: "from before", At: start}}) // read again
	if got := d.m.page().edit.Text(); got != "from before\nearly!" {
		t.Errorf("the input holds %q", got)
	}
}

// What was entered and cannot be stored, what waits behind it and what is typed then is kept aside and comes back after a kill, in
// order; what was stored meanwhile does not.
func TestKeptAside(t *testing.T) {
	texts := func(d *driver) string {
		var all []string
		for _, a := range d.f.drafts[d.id()].Aside {
			all = append(all, a.Texts...)
		}
		return strings.Join(all, "|")
	}
	d := newDriver(t, 100, 30)
	for range 50 {
		d.typed("x")
		d.pass(100 * time.Millisecond)
	}
	d.press("ctrl+u")
	d.pass(5 * time.Second)
	if d.f.asides > 0 {
		t.Errorf("%d times while all is stored", d.f.asides)
	}
	latch := d.park()
	d.f.fail["savedraft"] = errors.New("the disk is full")
	d.enter("one")
	d.pass(3 * time.Second)
	if got := texts(d); got != "one" {
		t.Errorf("kept aside: %q", got)
	}
	d.enter("two")
	d.typed("half of 三")
	d.pass(3 * time.Second)
	if got := texts(d); got != "one|two|half of 三" {
		t.Errorf("kept aside: %q", got)
	}
	e := again(t, d.f, d.id())
	if got := e.m.page().edit.Text(); got != "one\ntwo\nhalf of 三" {
		t.Errorf("after a kill the input holds %q", got)
	}
	e.pass(3 * time.Second)
	if got := e.f.drafts[e.id()]; got.Text != "one\ntwo\nhalf of 三" || len(got.Aside) > 0 {
		t.Errorf("it is kept as %+v", got)
	}
	f := again(t, d.f, d.id()) // and killed again before it could be stored
	if got := f.m.page().edit.Text(); got != "one\ntwo\nhalf of 三" {
		t.Errorf("after two kills the input holds %q", got)
	}
	delete(d.f.fail, "savedraft")
	latch.Open()
	d.pass(time.Second)
	if !d.sent("one") || !d.sent("two") {
		t.Fatalf("%q", d.f.order)
	}
	if e := again(t, d.f, d.id()); e.m.page().edit.Text() != "half of 三" {
		t.Errorf("what was stored is back: %q", e.m.page().edit.Text())
	}
	d.pass(10 * time.Second)
	if got := texts(d); got != "" || d.f.drafts[d.id()].Text != "half of 三" {
		t.Errorf("in the end %+v", d.f.drafts[d.id()])
	}
	n := d.f.asides
	d.pass(10 * time.Second)
	if d.f.asides != n {
		t.Errorf("%d times more while all is stored", d.f.asides-n)
	}
}

// A draft that cannot be stored, or whose session cannot be opened or its draft not read, is kept aside; where that fails too the
// screen says that it would be lost.
func TestDraftsKeptAside(t *testing.T) {
	for name, broken := range map[string]func(o *Options, f *fake){
		"not stored": func(_ *Options, f *fake) { f.fail["savedraft"] = errors.New("locked") },
		"not opened": func(_ *Options, f *fake) { f.fail["open"] = errors.New("locked") },
		"not read":   func(_ *Options, f *fake) { f.fail["draft"] = errors.New("locked") },
	} {
		d := newDriver(t, 100, 30, func(o *Options, f *fake) {
			f.session("s")
			f.drafts["s"] = runtime.Draft{Text: "from before", At: start}
			o.Session = "s"
			broken(o, f)
		})
		d.typed("mine")
		d.pass(3 * time.Second)
		d.typed("!")
		d.pass(3 * time.Second)
		d.seesNot("is not kept")
		kept := d.f.drafts["s"]
		if kept.Text != "from before" || len(kept.Aside) != 1 {
			t.Errorf("%s: kept are %+v", name, kept)
			continue
		}
		want := "from before\nmine!"
		if name == "not stored" {
			want = strings.ReplaceAll(want, "\n", "") // it was in the input
		}
		if got := again(t, d.f, "s").m.page().edit.Text(); got != want {
			t.Errorf("%s: after a kill the input holds %q", name, got)
		}
		d.f.fail["aside"] = errors.New("no space left on device")
		d.typed("?")
		for range 30 {
			d.pass(time.Second)
		}
		d.sees("what was typed is not kept, and is lost if the program ends: no space left on device")
		delete(d.f.fail, "aside")
		d.pass(20 * time.Second)
		d.seesNot("is lost if the program ends")
		if name == "not opened" { // what is in the input is not brought back into it
			delete(d.f.fail, "open")
			d.press("enter")
			d.short()
			if got := d.m.page().edit.Text(); got != "from before\nmine!?" {
				t.Errorf("opened late: the input holds %q", got)
			}
		}
	}
}

// What is typed before there is a session is kept for the one to come, while that is made and when it cannot be; Enter makes it when
// the fault is gone, and nothing is there twice.
func TestTextWithoutASession(t *testing.T) {
	for name, c := range map[string]struct {
		fault     func(d *fake, sim *clock.Sim)
		mend      func(d *driver)
		id        string // the session that it is kept for
		tells     string
		elsewhere bool
	}{
		"cannot be made": {func(f *fake, _ *clock.Sim) { f.fail["open"] = errors.New("the disk is full") }, func(d *driver) {
			delete(d.f.fail, "open")
			d.press("enter")
		}, "ann-window-1", "the disk is full; Enter tries again", false},
		"takes long": {func(f *fake, sim *clock.Sim) { f.parkOpen = clock.NewLatch(sim) }, func(d *driver) { d.f.parkOpen.Open() }, "ann-window-1", "", false},
		"taken": {func(f *fake, sim *clock.Sim) { f.parkOpen = clock.NewLatch(sim) }, func(d *driver) {
			d.f.fail["held ann-window-1"] = &runtime.HeldError{SessionID: "ann-window-1", PID: 7}
			d.f.parkOpen.Open()
		}, "ann-window-1", "", true},
		"cannot be listed": {func(f *fake, _ *clock.Sim) { f.fail["sessions"] = errors.New("input/output error") }, func(d *driver) {
			delete(d.f.fail, "sessions")
			d.press("enter")
		}, "", "input/output error; Enter tries again", false},
	} {
		d := newDriver(t, 100, 30, func(o *Options, f *fake) { c.fault(f, o.Clock.(*clock.Sim)) })
		if c.tells != "" {
			d.sees(c.tells)
		}
		d.typed("mine 中文")
		d.pass(3 * time.Second)
		if c.id != "" {
			kept := d.f.drafts[c.id].Aside
			if len(kept) != 1 || kept[0].Texts[0] != "mine 中文" {
				t.Errorf("%s: kept is %+v", name, kept)
			}
			if got := again(t, d.f, "").m.page(); got.id != c.id || got.edit.Text() != "mine 中文" {
				t.Errorf("%s: after a kill %s holds %q", name, got.id, got.edit.Text())
			}
			d.f.drafts[c.id] = runtime.Draft{Aside: kept}
			delete(d.f.sessions, c.id)
		}
		c.mend(d)
		d.pass(3 * time.Second)
		p := d.m.page()
		if !p.loaded || p.edit.Text() != "mine 中文" || len(d.m.pages) != 1 {
			t.Errorf("%s: %s holds %q, loaded %v, %d tabs", name, p.id, p.edit.Text(), p.loaded, len(d.m.pages))
		}
		if got := d.f.drafts[p.id]; got.Text != "mine 中文" || len(got.Aside) > 0 {
			t.Errorf("%s: kept in the end %+v", name, got)
		}
		if want := []string{p.id}; !slices.Equal(d.f.tabs.Sessions, want) {
			t.Errorf("%s: the tabs are kept as %q", name, d.f.tabs.Sessions)
		}
		if c.elsewhere && (p.id == c.id || len(d.f.drafts[c.id].Aside) > 0) {
			t.Errorf("%s: another process's session has %+v", name, d.f.drafts[c.id])
		}
	}
}

// Two new tabs that are asked for while the store is slow are two sessions.
func TestNewTabsWhileTheStoreIsSlow(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.f.parkOpen = clock.NewLatch(d.sim)
	d.press("ctrl+x", "n", "ctrl+x", "n", "ctrl+x", "n")
	d.short()
	d.f.parkOpen.Open()
	d.short()
	if got := d.m.open(); !slices.Equal(got, []string{"ann-window-1", "ann-window-2", "ann-window-3", "ann-window-4"}) {
		t.Errorf("tabs %q", got)
	}
}

// A tab that is closed, or a program that is left, while nothing can be stored keeps what was typed aside.
func TestKeptAsideAtTheEnd(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.f.fail["savedraft"] = errors.New("locked")
	d.typed("mine")
	d.press("ctrl+x", "w")
	d.short()
	if got := d.f.drafts[id].Aside; len(got) != 1 || got[0].Texts[0] != "mine" {
		t.Errorf("closed: %+v", got)
	}
}

// With the real store and engine: typed, killed, started again, sent; and not there any more after that.
func TestWholeProgramDrafts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	kill := func(p *whole) {
		p.m.Close()
		p.sim.Run(func() {
			_ = p.engine.Shutdown(context.Background(), true)
			_ = p.st.Close(context.Background())
		})
	}
	p := newWhole(t, path, start)
	p.typed("what is 1+1? 中文")
	p.pass(2 * time.Second)
	kill(p)
	p = newWhole(t, path, start.Add(time.Hour))
	if got := p.m.page().edit.Text(); got != "what is 1+1? 中文" {
		t.Fatalf("the input holds %q", got)
	}
	p.press("enter")
	p.pass(100 * time.Millisecond)
	kill(p) // before it is noted that it was sent
	p = newWhole(t, path, start.Add(2*time.Hour))
	if got := p.m.page().edit.Text(); got != "" || !strings.Contains(p.screen(), "what is 1+1?") {
		t.Fatalf("the input holds %q", got)
	}
	p.pass(2 * time.Second)
	p.leave()
}
