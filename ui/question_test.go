package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
)

// asked puts calls before the user.
func (f *fake) asked(id string, ds ...trace.ApprovalData) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, d := range ds {
		d.Phase, d.CallID = "asked", d.ID
		if len(ds) > 1 {
			d.Place, d.Of = i+1, len(ds)
		}
		f.emit(id, true, d)
	}
	f.emit(id, false, trace.StateData{State: string(runtime.StateWaitingApproval)})
}

func (f *fake) paused(id string, pause *trace.Pause) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emit(id, false, trace.StateData{State: string(runtime.StateBuilding), Pause: pause})
}

// unknown makes a session whose run was left in the middle of calls.
func (f *fake) unknown(id string, calls ...runtime.CallRow) {
	s := f.session(id)
	s.row.Title = "deploy plan"
	s.run = &runtime.RunRow{ID: "r", SessionID: id, Turn: 4, Step: 2, State: runtime.StateReconciling, StartedAt: start.Add(-72 * time.Hour), Budget: fakeBudget()}
	s.rows = calls
}

// After a crash between two words the first one is not asked for again, and they go together.
func TestOutcomeWordsThatAreKept(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.unknown("s", runtime.CallRow{ID: "c1", RunID: "r", Name: "pay", Arguments: `{"to":"ann"}`, Effect: tools.SideEffect, Status: runtime.CallStarted},
			runtime.CallRow{ID: "c2", RunID: "r", Name: "mail", Arguments: `{"to":"bob"}`, Effect: tools.SideEffect, Status: runtime.CallStarted})
		f.session("s").words = map[string]runtime.Outcome{"c1": runtime.OutcomeNot}
		o.Session = "s"
	})
	d.pass(time.Second)
	d.sees("mail ran, perhaps", "2 of 2")
	d.answer("r")
	d.short()
	got := d.f.settings[len(d.f.settings)-1]
	if got.Resume == nil || got.Outcomes["c1"] != runtime.OutcomeNot || got.Outcomes["c2"] != runtime.OutcomeAgain {
		t.Errorf("it goes on with %+v", got)
	}
}

// Two calls whose outcome nobody knows are asked about one after the other, and the words go together.
func TestOutcomesAreAskedInOrder(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.unknown("s", runtime.CallRow{ID: "c1", RunID: "r", Name: "pay", Arguments: `{"to":"ann"}`, Effect: tools.SideEffect, Status: runtime.CallStarted},
			runtime.CallRow{ID: "c2", RunID: "r", Name: "mail", Arguments: `{"to":"bob"}`, Effect: tools.SideEffect, Status: runtime.CallStarted})
		o.Session = "s"
	})
	d.pass(time.Second)
	d.sees("pay ran, perhaps", "1 of 2", "ann")
	d.press("y", "n") // two keys at once are text
	if got := d.m.page().edit.Text(); got != "yn" {
		t.Fatalf("the input holds %q", got)
	}
	d.press("ctrl+u")
	d.pass(time.Second)
	d.answer("y")
	d.sees("mail ran, perhaps", "2 of 2", "bob")
	if got := d.f.settings[len(d.f.settings)-1]; got.Resume != nil || got.Outcomes["c1"] != runtime.OutcomeHappened || len(got.Outcomes) != 1 {
		t.Errorf("the first word is kept as %+v", got)
	}
	d.pass(time.Second)
	d.answer("n")
	d.short()
	if got := d.f.settings[len(d.f.settings)-1].Outcomes; got["c1"] != runtime.OutcomeHappened || got["c2"] != runtime.OutcomeNot {
		t.Errorf("outcomes %v", got)
	}
}

// A question that takes the place of one that was just answered takes no key for half a second, also with the focus.
func TestKeysDoNotSpillOver(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("go")
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "one", Arguments: json.RawMessage(`{}`)}, trace.ApprovalData{ID: "c2", Tool: "two", Arguments: json.RawMessage(`{}`)})
	d.pass(calmAfter)
	d.press("tab", "y", "y", "y")
	if n := len(d.m.page().approve.waiting); n != 1 {
		t.Fatalf("%d wait", n)
	}
	if got := d.m.page().edit.Text(); got != "" {
		t.Errorf("the input holds %q", got)
	}
	d.pass(calmAfter)
	d.press("y")
	if n := len(d.m.page().approve.waiting); n != 0 {
		t.Fatalf("%d wait", n)
	}
	if d.m.page().focus != paneInput {
		t.Error("the focus stays on a question that is gone")
	}
}

// The ways to the question and from it: Tab means it, Esc and Tab lead to the input for good, a click goes there.
func TestWaysToTheQuestion(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		f.session("s").run = &runtime.RunRow{ID: "r", Turn: 4, State: runtime.StateExecuting, StartedAt: start}
		o.Session = "s"
	})
	d.sees("Tab answers")
	d.pass(time.Second)
	p := d.m.page()
	if p.focus != paneQuestion || p.ask.byUser {
		t.Fatalf("focus %v", p.focus)
	}
	d.press("tab")
	if p.focus != paneQuestion || !p.ask.byUser {
		t.Fatalf("Tab leads to %v", p.focus)
	}
	d.press("esc")
	d.pass(5 * time.Second)
	if p.focus != paneInput {
		t.Fatalf("the question takes the focus again from %v", p.focus)
	}
	d.send(tea.MouseClickMsg{X: 5, Y: p.lay.dock.y, Button: tea.MouseLeft})
	if p.focus != paneQuestion || !p.ask.byUser {
		t.Fatalf("a click leads to %v", p.focus)
	}
	d.press("shift+tab")
	d.pass(5 * time.Second)
	if p.focus != paneInput {
		t.Fatalf("Shift+Tab leads to %v", p.focus)
	}
	d.press("tab", "up") // what is not for the question goes to the input
	if p.focus != paneInput {
		t.Fatalf("Up leads to %v", p.focus)
	}
	d.press("tab", "?")
	d.sees("KEYS")
	d.press("esc", "tab")
	d.typed("hello")
	if got := p.edit.Text(); got != "hello" {
		t.Errorf("the input holds %q", got)
	}
}

// A letter over a question that has lit by itself stands in the input until Enter gives it to the question; whatever else is
// pressed makes it the beginning of a text, and Esc and Tab take it out again.
func TestLetterAndEnter(t *testing.T) {
	open := func() *driver {
		d := newDriver(t, 100, 30, func(o *Options, f *fake) {
			f.session("s").run = &runtime.RunRow{ID: "r", Turn: 4, State: runtime.StateExecuting, StartedAt: start}
			o.Session = "s"
		})
		d.pass(time.Second)
		d.sees("a letter, then Enter answers")
		return d
	}
	for _, c := range []struct {
		keys    []string
		text    string
		resumes bool
	}{
		{keys: []string{"y"}, text: "y"},
		{keys: []string{"y", "enter"}, resumes: true},
		{keys: []string{"y", "left", "e", "end"}, text: "ey"},
		{keys: []string{"y", "space", "backspace", "enter"}, resumes: true}, // it stands alone again
		{keys: []string{"y", "backspace", "enter"}},
		{keys: []string{"y", "esc"}},
		{keys: []string{"y", "tab"}},
		{keys: []string{"y", "shift+tab", "esc"}, text: "y"}, // from a pane back to the input
		{keys: []string{"y", "tab", "y"}, resumes: true},
		{keys: []string{"y", "ctrl+x", "n"}}, // another tab: it answers nothing there or here
		{keys: []string{"y", "e", "enter"}},  // a message
		{keys: []string{"y", "ctrl+j", "enter"}},
		{keys: []string{"z", "enter"}},
	} {
		d := open()
		d.press(c.keys...)
		d.pass(time.Minute)
		if got := d.m.pages[len(d.m.pages)-1].edit.Text(); got != c.text || d.did("resume s true") != c.resumes {
			t.Errorf("%q: the input holds %q; %q", c.keys, got, d.f.order)
		}
	}
	d := open()
	d.press("y")
	d.sees("Enter resume  Esc takes it back  or type on", "Enter answers", "Esc take back")
	d.press("e")
	d.sees("y resume", "Tab answers")
	// The question went, or another one took its place: the letter is text, and is not sent over that one before it can be seen.
	d = newDriver(t, 160, 30)
	d.enter("go")
	d.f.asked(d.id(), trace.ApprovalData{ID: "c1", Tool: "one", Arguments: json.RawMessage(`{}`)})
	d.pass(time.Second)
	d.press("y")
	d.f.mu.Lock()
	d.f.emit(d.id(), true, trace.ApprovalData{Phase: "allowed", ID: "c1"})
	d.f.mu.Unlock()
	d.f.asked(d.id(), trace.ApprovalData{ID: "c2", Tool: "two", Arguments: json.RawMessage(`{}`)})
	d.short()
	d.sees("APPROVE  two", "Tab answers")
	d.press("enter")
	d.short()
	if got := d.m.page().edit.Text(); got != "y" || d.did(fmt.Sprintf("submit %s %q", d.id(), "y")) {
		t.Errorf("the input holds %q; %q", got, d.f.order)
	}
	d.pass(time.Second)
	d.press("enter")
	d.short()
	if len(d.f.settings) != 0 || !d.did(fmt.Sprintf("submit %s %q", d.id(), "y")) {
		t.Errorf("%+v, %q", d.f.settings, d.f.order)
	}
}

// Who steps with the focus on the question has the next stop under the keys, until anything else is touched; Tab means it then
// as before. An approval is not taken along.
func TestStepsFollow(t *testing.T) {
	stop := func(d *driver, step int) {
		d.f.session(d.id()).pause = &trace.Pause{Step: step, Model: "m", Messages: 2, Tokens: 100}
		d.f.paused(d.id(), d.f.session(d.id()).pause)
		d.short()
	}
	open := func() *driver {
		d := newDriver(t, 100, 30)
		d.enter("go")
		stop(d, 1)
		d.pass(calmAfter)
		d.press("tab", "s")
		d.short()
		d.f.paused(d.id(), nil)
		d.pass(2 * time.Second)
		return d
	}
	d := open()
	p := d.m.page()
	if p.focus != paneInput {
		t.Fatalf("focus %v while the run is on", p.focus)
	}
	stop(d, 2)
	for _, other := range []string{"c", "x", "u", "tab"} {
		d.press(other)
	}
	d.press("s")
	if n := len(d.f.settings); n != 1 || d.did("cancel "+d.id()) || p.dialog != nil || !p.edit.Empty() {
		t.Fatalf("%d settings, %q: a key that was on its way answered", n, d.f.order)
	}
	d.pass(calmAfter)
	d.press("s")
	d.short()
	if n := len(d.f.settings); n != 2 {
		t.Fatalf("%d settings", n)
	}
	d.f.paused(d.id(), nil)
	d.short()
	stop(d, 3)
	d.pass(calmAfter)
	d.press("s")
	d.short()
	if n := len(d.f.settings); n != 3 {
		t.Fatalf("%d settings", n)
	}
	for name, touch := range map[string]func(d *driver){
		"a key": func(d *driver) { d.press("pgup") }, "a paste": func(d *driver) { d.send(tea.PasteMsg{Content: "x"}); d.press("backspace") },
		"the wheel": func(d *driver) { d.send(tea.MouseWheelMsg{X: 5, Y: 5, Button: tea.MouseWheelUp}) },
	} {
		d := open()
		touch(d)
		stop(d, 2)
		if p := d.m.page(); p.focus != paneInput {
			t.Errorf("after %s the stop takes the focus", name)
		}
	}
	d = open()
	d.f.asked(d.id(), trace.ApprovalData{ID: "c1", Tool: "one", Arguments: json.RawMessage(`{}`)})
	d.short()
	if p := d.m.page(); p.focus != paneInput {
		t.Error("an approval takes the focus")
	}
}

// Steps go as fast as the user presses their key: each stop takes it at once, one that is pressed before the run has come to its stop
// is no letter of the input, and no other question takes it.
func TestStepsInARow(t *testing.T) {
	d := newDriver(t, 100, 30)
	id, p := d.id(), d.m.page()
	d.enter("go")
	stop := func(step int) {
		if step%2 == 0 {
			d.f.asked(id, trace.ApprovalData{ID: fmt.Sprint("c", step), Tool: "look", Arguments: json.RawMessage(`{}`), Cause: causeBreak})
		} else {
			d.f.paused(id, &trace.Pause{Step: step, Model: "m", Messages: 2, Tokens: 100})
		}
		d.short()
	}
	gone := func() {
		d.f.paused(id, nil)
		d.short()
	}
	stop(1)
	d.pass(calmAfter)
	d.press("tab")
	for n := 1; n < 9; n++ {
		d.press("s")
		if got := len(d.f.settings); got != n {
			t.Fatalf("%d steps after %d keys", got, n)
		}
		d.press("s", "s") // before the next stop
		d.sees("the run is not at its next stop yet")
		gone()
		stop(n + 1)
		d.seesNot("the run is not at its next stop yet")
	}
	d.press("s")
	gone()
	d.f.asked(id, trace.ApprovalData{ID: "c", Tool: "pay", Arguments: json.RawMessage(`{}`)})
	d.short()
	steps := len(d.f.settings)
	d.press("s", "s")
	d.pass(calmAfter)
	if len(d.f.settings) != steps || p.edit.Text() != "" || p.question() != questionApprove {
		t.Errorf("an approval took the key of a step: %d settings, input %q", len(d.f.settings), p.edit.Text())
	}
	d.press("s", "o") // what begins a message after a rest is one
	if got := p.edit.Text(); got != "so" {
		t.Errorf("the input holds %q", got)
	}
	d = newDriver(t, 100, 30)
	d.enter("go")
	id, p = d.id(), d.m.page()
	stop(1)
	d.pass(calmAfter)
	d.press("tab", "s")
	gone()
	d.pass(calmAfter)
	if d.press("s"); p.edit.Text() != "s" {
		t.Errorf("the input holds %q", p.edit.Text())
	}
	// Two calls that are held at once are stepped over in a row too.
	d = newDriver(t, 100, 30)
	d.enter("go")
	id = d.id()
	held := trace.ApprovalData{ID: "c1", Tool: "look", Arguments: json.RawMessage(`{}`), Cause: causeBreak}
	second := held
	second.ID = "c2"
	d.f.asked(id, held, second)
	d.pass(calmAfter)
	d.press("tab", "s", "s")
	if n := len(d.f.settings); n != 2 {
		t.Errorf("%d steps", n)
	}
	// After anything else the key is one that was on its way.
	d = newDriver(t, 100, 30)
	d.enter("go")
	id = d.id()
	stop(1)
	d.pass(calmAfter)
	d.press("tab", "s")
	gone()
	stop(2)
	d.send(tea.MouseWheelMsg{X: 5, Y: 5, Button: tea.MouseWheelUp})
	d.press("s")
	d.sees("the question has just come up")
	if n := len(d.f.settings); n != 1 {
		t.Errorf("%d steps", n)
	}
}

// What the debugger sends for each key, before a model call and before a tool call, in this process and in the next.
func TestDebuggerKeys(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		for _, before := range []string{"model", "tool"} {
			open := func() *driver {
				return newDriver(t, 100, 30, func(o *Options, f *fake) {
					s := f.session("s")
					o.Session = "s"
					s.row.TurnCount, s.brk = 1, runtime.Break{Next: true}
					s.run, s.running = &runtime.RunRow{ID: "r", Turn: 1, Step: 1, State: runtime.StateWaitingApproval, StartedAt: start}, !restarted
					if before == "model" {
						s.pause = &trace.Pause{Step: 1, Model: "m", Messages: 2, Tokens: 100}
					} else {
						s.rows = []runtime.CallRow{{ID: "c1", RunID: "r", Name: "look", Arguments: `{"x":1}`, Status: runtime.CallWaiting}}
						f.emit("s", true, trace.ApprovalData{Phase: "asked", ID: "c1", Tool: "look", Arguments: json.RawMessage(`{"x":1}`), Cause: causeBreak})
					}
					f.view.Tools = []runtime.ToolInfo{{Name: "look"}, {Name: "shell", Effect: tools.SideEffect}}
				})
			}
			for key, want := range map[string]runtime.Break{"s": {Next: true}, "c": {}, "u": {Tool: "shell"}} {
				d := open()
				d.sees("PAUSED  before")
				d.pass(calmAfter)
				d.press("tab", key)
				d.short()
				if key == "u" {
					d.sees("RUN UNTIL", "look", "shell", "has effects")
					d.typed("she")
					d.press("enter")
					d.short()
				}
				got := d.f.settings[len(d.f.settings)-1]
				call := map[string]string{"model": "", "tool": "c1"}[before]
				if got.Step == nil || got.Step.Then != want || got.Step.Call != call || (got.Resume != nil) != restarted {
					t.Errorf("%s, restarted %v: %s sends %+v", before, restarted, key, got)
				}
				d.seesNot("PAUSED")
			}
			d := open()
			d.pass(calmAfter)
			d.press("tab", "x")
			d.short()
			if restarted != d.did("resume s false") || restarted == d.did("cancel s") {
				t.Errorf("%s, restarted %v: x: %q", before, restarted, d.f.order)
			}
			d = open()
			d.pass(calmAfter)
			d.press("tab", "v")
			d.short()
			d.sees(map[string]string{"model": "CONTEXT", "tool": "PAUSED  before look"}[before])
		}
	}
}

// A word that could not be taken leaves the question; so does one for a run that does not stand still any more.
func TestDebuggerWordFails(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("go")
	d.f.session(id).pause = &trace.Pause{Step: 1, Model: "m", Messages: 2, Tokens: 100}
	d.f.paused(id, d.f.session(id).pause)
	d.short()
	d.f.fail["set"] = errors.New("the store is away")
	d.pass(calmAfter)
	d.press("tab", "s")
	d.short()
	d.sees("PAUSED  before the model call", "the store is away")
	d.f.fail = map[string]error{}
	if p := d.m.page(); p.focus != paneQuestion || !p.ask.byUser {
		t.Error("the question that stands again has lost the focus")
	}
	d.pass(calmAfter)
	d.press("tab", "u")
	d.short()
	d.f.session(id).pause = nil
	d.f.paused(id, nil) // it went on meanwhile
	d.short()
	d.sees("RUN UNTIL")
	d.typed("x")
	d.press("enter")
	d.short()
	d.sees("does not stand still any more")
}

// The tool to run until is asked for by name when no tool is known.
func TestRunUntilUnknownTools(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.f.noView = true
	d.enter("go")
	d.f.paused(id, &trace.Pause{Step: 1, Model: "m", Messages: 2, Tokens: 100})
	d.short()
	d.pass(calmAfter)
	d.press("tab", "u")
	d.short()
	d.sees("RUN UNTIL", "the next call of this tool")
	d.typed("shell")
	d.press("enter")
	d.short()
	if got := d.f.settings[len(d.f.settings)-1]; got.Step == nil || got.Step.Then.Tool != "shell" {
		t.Errorf("%+v", got)
	}
}

// Breaks are set and taken away, and what a session that is held elsewhere says of them counts nothing here.
func TestBreaks(t *testing.T) {
	d := newDriver(t, 160, 30)
	for _, c := range []struct {
		text string
		want runtime.Break
		says string
	}{
		{"/break", runtime.Break{Next: true}, "break: next call"}, {"/break", runtime.Break{}, ""}, {"/break shell", runtime.Break{Tool: "shell"}, "break: shell"},
		{"/break next", runtime.Break{Next: true}, "break: next call"}, {"/break off", runtime.Break{}, ""},
	} {
		d.enter(c.text)
		d.pass(7 * time.Second)
		if got := d.f.session(d.id()).brk; got != c.want {
			t.Errorf("%s sets %+v", c.text, got)
		}
		if s := d.status(); c.says != "" && !strings.Contains(s, c.says) || c.says == "" && strings.Contains(s, "break") {
			t.Errorf("%s: status %q", c.text, s)
		}
	}
	d = newDriver(t, 160, 30, func(o *Options, f *fake) {
		f.session("c").held, f.session("c").brk = 4711, runtime.Break{Next: true}
		o.Session = "c"
	})
	d.press("ctrl+x", "b")
	d.sees("read only")
	d.pass(7 * time.Second)
	d.seesNot("break: next")
}

// Arguments that are refused, or whose call is gone, stay before the user.
func TestEditKeepsTheText(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("go")
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "look", Arguments: json.RawMessage(`{"x":1}`)})
	d.short()
	d.pass(calmAfter)
	d.press("tab", "e")
	d.sees("EDIT", `"x": 1`)
	for text, why := range map[string]string{
		"[1]": "one JSON object", `{"x":`: "row 1, column 6: unexpected end", "{\n \"x\" 1}": "row 2, column 6: invalid character", "": "unexpected end",
	} {
		d.clearEditor()
		d.send(tea.PasteMsg{Content: text})
		d.press("enter")
		d.sees(why)
	}
	d.f.fail["set"] = errors.New("x is not a number\nat /x")
	d.clearEditor()
	d.send(tea.PasteMsg{Content: `{"x":"y"}`})
	d.press("enter")
	d.short()
	d.sees("EDIT", "x is not a number; at /x", `{"x":"y"}`)
	d.press("ctrl+c") // closes, and keeps it
	d.sees("kept")
	d.press("e")
	d.sees(`{"x":"y"}`)
	d.f.fail = map[string]error{}
	d.f.end(id, "cancelled", "user", "[cancelled]")
	d.short()
	d.press("enter")
	d.sees("does not wait any more", `{"x":"y"}`)
	d.press("esc")
	d.seesNot("EDIT")
}

func (d *driver) clearEditor() {
	d.press("ctrl+home")
	for range 12 {
		d.press("ctrl+k")
	}
}

// x in the trace needs a call that runs, and a session of one's own; one that has ended meanwhile is said to have.
func TestStopCallKey(t *testing.T) {
	d := newDriver(t, 160, 40)
	id := d.id()
	d.enter("go")
	d.f.toolStart(id, "long", `{}`)
	d.short()
	d.press("tab", "tab")
	d.sees("x: stop it")
	d.press("x")
	d.short()
	if got := d.f.settings[len(d.f.settings)-1].StopCall; got != d.f.session(id).run.ID+"-call1" {
		t.Errorf("stops %q", got)
	}
	d.f.fail["set"] = fmt.Errorf("call: %w", runtime.ErrNotFound)
	d.press("x")
	d.short()
	d.sees("that call does not run any more")
	d.press("k", "x")
	d.sees("x stops a tool call that runs")
	d.f.mu.Lock()
	d.f.emit(id, false, trace.ProgressData{ID: d.f.session(id).run.ID + "-call1", Text: "page 3 of 9"})
	d.f.mu.Unlock()
	d.short()
	d.press("G")
	d.sees("page 3 of 9")
}

// When the holder ends in a run, the page says that the session is free, and nothing turns any more.
func TestHolderEnds(t *testing.T) {
	d := newDriver(t, 160, 30, func(o *Options, f *fake) {
		s := f.session("c")
		f.begin("c", "a question elsewhere")
		s.held = 4711
		o.Session = "c"
	})
	d.f.mu.Lock()
	d.f.emit("c", true, trace.LLMCallData{Model: "mock", LatencyMS: 100, StartedAt: d.sim.Now()})
	d.f.mu.Unlock()
	d.pass(1500 * time.Millisecond)
	if !d.m.page().busy() {
		t.Fatal("nothing runs")
	}
	d.f.sessions["c"].held = 4712 // another one took it
	d.pass(4 * time.Second)
	d.sees("READ ONLY  open in process 4712")
	d.f.mu.Lock()
	d.f.sessions["c"].held, d.f.sessions["c"].running = 0, false
	d.f.mu.Unlock()
	d.f.fail["sessions"] = errors.New("the disk is away")
	d.pass(4 * time.Second)
	d.sees("the disk is away")
	d.f.fail = map[string]error{}
	d.pass(4 * time.Second)
	d.sees("FREE  process 4712 has left it; Enter takes it")
	if d.m.page().busy() {
		t.Error("a run of a process that is gone goes on")
	}
	d.typed("hello")
	d.press("enter")
	d.short()
	d.sees("INTERRUPTED", "hello")
	d.seesNot("FREE")
}

// A context that ends the program ends the offers, and what cannot be read is not told of.
func TestOffersThatFail(t *testing.T) {
	d := newDriver(t, 100, 30, func(_ *Options, f *fake) { f.fail["sessions"] = context.Canceled })
	d.seesNot("UNFINISHED")
}

// Arguments are edited as what they are: escapes for what would not show, look-alikes too, and the same value comes back.
func TestEditableIsExact(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1}`:                     "{\n  \"a\": 1\n}",
		"{\"a\":\"x\u202ey\"}":        "{\n  \"a\": \"x\\u202ey\"\n}",
		"{\"a\":\"\U000e0100\"}":      "{\n  \"a\": \"\\udb40\\udd00\"\n}",
		"{\"a\":\"c\u0430t \u0444\"}": "{\n  \"a\": \"c\\u0430t \u0444\"\n}",
		"{\"a\":\"部署 é\u00a0\"}":      "{\n  \"a\": \"部署 é\\u00a0\"\n}",
		`{"a":`:                       `{"a":`,
	} {
		got := editable(json.RawMessage(raw))
		if got != want {
			t.Errorf("%q becomes %q", raw, got)
		}
		var a, b any
		if json.Unmarshal([]byte(raw), &a) == nil && (json.Unmarshal([]byte(got), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b)) {
			t.Errorf("%q means %v, not %v", got, b, a)
		}
	}
}

// What is taken closes the dialog and goes to the engine, with a run that was interrupted taken up.
func TestEditAndAnswerAreSent(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		d := newDriver(t, 100, 30, func(o *Options, f *fake) {
			s := f.session("s")
			o.Session = "s"
			s.run, s.running = &runtime.RunRow{ID: "r", Turn: 1, Step: 1, State: runtime.StateWaitingApproval, StartedAt: start}, !restarted
			s.rows = []runtime.CallRow{{ID: "c1", RunID: "r", Name: "look", Arguments: `{"x":1}`, Status: runtime.CallWaiting}, {ID: "c2", RunID: "r", Name: "look", Arguments: `{"x":2}`, Status: runtime.CallWaiting}}
			for _, c := range s.rows {
				f.emit("s", true, trace.ApprovalData{Phase: "asked", ID: c.ID, Tool: "look", Arguments: json.RawMessage(c.Arguments), Cause: causeBreak})
			}
		})
		d.pass(calmAfter)
		d.press("tab", "e")
		d.clearEditor()
		d.send(tea.PasteMsg{Content: `{"x":3}`})
		d.press("enter")
		d.short()
		d.seesNot("EDIT")
		got := d.f.settings[len(d.f.settings)-1]
		if len(got.Decide) != 1 || got.Decide[0].Call != "c1" || got.Decide[0].Arguments != `{"x":3}` || (got.Resume != nil) != restarted {
			t.Errorf("restarted %v: %+v", restarted, got)
		}
		d.pass(time.Second)
		d.press("a")
		d.sees("ANSWER")
		d.typed("by hand")
		d.press("enter")
		d.short()
		got = d.f.settings[len(d.f.settings)-1]
		if len(got.Decide) != 1 || got.Decide[0].Result == nil || *got.Decide[0].Result != "by hand" {
			t.Errorf("restarted %v: %+v", restarted, got)
		}
	}
}

// Nothing waits: the key says so; a session that waits elsewhere is not one's own question.
func TestNothingWaits(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.press("ctrl+x", "a")
	d.sees("nothing waits for you")
	d = newDriver(t, 100, 30, func(o *Options, f *fake) { f.session("c").held = 4711; o.Session = "c" })
	d.f.mu.Lock()
	d.f.emit("c", true, trace.ApprovalData{Phase: "asked", ID: "c1", Tool: "look"})
	d.f.mu.Unlock()
	d.pass(1500 * time.Millisecond)
	d.sees("where it waits for an answer")
	d.press("ctrl+x", "a")
	d.sees("nothing waits for you")
}

// The picker that an offer led to has what waits on top.
func TestOfferedSessionsOnTop(t *testing.T) {
	d := newDriver(t, 100, 30, func(_ *Options, f *fake) {
		f.session("a").row.Title = "aaa"
		f.session("b").row.Title = "bbb"
		f.session("b").run = &runtime.RunRow{ID: "r", State: runtime.StateWaitingModel}
		f.session("c").row.Title = "ccc"
		f.session("c").run, f.session("c").held = &runtime.RunRow{ID: "r2", State: runtime.StateWaitingModel}, 4711
	})
	d.sees("UNFINISHED  1 other session has a run to go on with")
	order := func() string {
		d.press("ctrl+x", "s")
		d.short()
		var got string
		for _, row := range d.grid() {
			for _, name := range []string{"aaa", "bbb", "ccc"} {
				if strings.Contains(row, name) {
					got += name[:1]
				}
			}
		}
		d.press("esc")
		return got
	}
	if got := order(); got != "bac" {
		t.Errorf("order %s", got)
	}
	d.seesNot("UNFINISHED")
	if got := order(); got != "abc" {
		t.Errorf("order %s, later", got)
	}
}
