package ui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
)

// questions come into view, each in a driver of its own.
func questionsInView(t *testing.T) map[string]func() *driver {
	live := func(ask func(d *driver, id string)) func() *driver {
		return func() *driver {
			d := newDriver(t, 100, 30)
			d.enter("go")
			ask(d, d.id())
			d.short()
			return d
		}
	}
	stored := func(calls ...runtime.CallRow) func() *driver {
		return func() *driver {
			return newDriver(t, 100, 30, func(o *Options, f *fake) { f.unknown("s", calls...); o.Session = "s" })
		}
	}
	return map[string]func() *driver{
		"approval": live(func(d *driver, id string) {
			d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "shell", Arguments: json.RawMessage(`{}`)})
		}),
		"held call": live(func(d *driver, id string) {
			d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "shell", Cause: causeBreak, Arguments: json.RawMessage(`{}`)})
		}),
		"pause":   live(func(d *driver, id string) { d.f.paused(id, &trace.Pause{Step: 1, Model: "m"}) }),
		"outcome": stored(runtime.CallRow{ID: "c1", RunID: "r", Name: "pay", Arguments: `{}`, Effect: tools.SideEffect, Status: runtime.CallStarted}),
		"resume":  stored(),
	}
}

// sent says that a text was given to the engine.
func (d *driver) sent(text string) bool { return d.did(fmt.Sprintf("submit %s %q", d.id(), text)) }

// Enter just after a question came into view sends nothing, which would take the question's place: the text stays in the input,
// with the reason. Entered again in a rest it is meant.
func TestEnterAsAQuestionComes(t *testing.T) {
	for name, open := range questionsInView(t) {
		for _, text := range []string{"y", "c", "n", "what now?"} {
			for _, after := range []time.Duration{0, 300 * time.Millisecond} {
				d := open()
				question := d.m.page().questionID()
				d.pass(after)
				d.typed(text)
				for range 20 { // Enter that is held down
					d.press("enter")
					d.pass(100 * time.Millisecond)
				}
				if d.sent(text) || d.m.page().edit.Text() != text || d.m.page().questionID() != question || len(d.f.settings) > 0 {
					t.Fatalf("%s, %q: the input holds %q; %q, %+v", name, text, d.m.page().edit.Text(), d.f.order, d.f.settings)
				}
				d.sees("a question has come up: Tab answers it, Enter again sends the text")
				d.pass(time.Second)
				d.press("enter")
				d.short()
				if !d.sent(text) || d.m.page().edit.Text() != "" {
					t.Fatalf("%s, %q: it cannot be sent: %q", name, text, d.f.order)
				}
			}
		}
	}
}

// Keys that follow one another from the moment a question comes into view answer nothing, whichever they are, whatever gives the
// question the focus, and however long they go on; in a rest after that Tab and the letter do.
func TestKeysOnTheirWay(t *testing.T) {
	ways := map[string]func(d *driver){
		"Tab": func(d *driver) { d.press("tab") }, "nothing": func(*driver) {}, "Ctrl+X A": func(d *driver) { d.press("ctrl+x", "a") },
		"a click": func(d *driver) { d.send(tea.MouseClickMsg{X: 5, Y: d.m.page().lay.dock.y, Button: tea.MouseLeft}) },
		"a text":  func(d *driver) { d.typed("fo"); d.press("tab") },
	}
	for name, open := range questionsInView(t) {
		for way, reach := range ways {
			d := open()
			var letters []string
			for _, c := range d.m.page().choices() {
				if k := c.keys.Keys()[0]; len(k) == 1 {
					letters = append(letters, k)
				}
			}
			if way != "Tab" {
				letters = letters[:1]
			}
			for _, letter := range letters {
				for _, pace := range []time.Duration{0, 400 * time.Millisecond} {
					d := open()
					p := d.m.page()
					question, before := p.questionID(), len(d.f.order)
					reach(d)
					for range 8 {
						d.pass(pace)
						d.press(letter)
						d.pass(pace)
						d.press("enter")
					}
					if len(d.f.settings) > 0 || p.questionID() != question || p.dialog != nil || len(d.f.order) > before {
						t.Fatalf("%s, %s, then %s each %v: %q, %+v, asked %q", name, way, letter, pace, d.f.order, d.f.settings, p.questionID())
					}
				}
			}
			d = open()
			reach(d)
			d.press(letters[0])
			if d.m.page().focus == paneQuestion {
				d.sees("that key answered nothing")
			}
			d.pass(time.Second)
			d.press("ctrl+u")
			d.pass(time.Second)
			d.press("ctrl+x", "a", letters[0])
			d.short()
			if len(d.f.settings) != 1 && !d.did("resume s true") {
				t.Errorf("%s, %s: it cannot be answered: %q", name, way, d.f.order)
			}
			if d.m.page().questionID() == "" {
				d.seesNot("answered nothing")
			}
		}
	}
	// Ctrl+C was meant for the run.
	for _, c := range []struct {
		after   time.Duration
		cancels bool
	}{{0, true}, {400 * time.Millisecond, true}, {time.Second, false}} {
		d := questionsInView(t)["approval"]()
		d.pass(c.after)
		d.press("ctrl+c")
		d.short()
		if cancelled := d.did("cancel " + d.id()); cancelled != c.cancels || len(d.f.settings) > 0 == c.cancels {
			t.Errorf("Ctrl+C after %v: %q, %+v", c.after, d.f.order, d.f.settings)
		}
	}
}

// What was begun before the question came, or before it can have been seen, or reads like an answer to it and was typed before it lit, is held back once, however
// late it is entered; a text that was begun later is sent.
func TestTextsBegunBeforeTheQuestion(t *testing.T) {
	ask := func(d *driver) {
		d.f.asked(d.id(), trace.ApprovalData{ID: "c1", Tool: "shell", Arguments: json.RawMessage(`{}`)})
		d.short()
	}
	open := func() *driver { d := newDriver(t, 100, 30); d.enter("go"); return d }
	for _, c := range []struct {
		before, gap, later string
		held               bool
	}{
		{before: "hel", later: "lo", held: true},
		{before: "hello", held: true},
		{gap: "y", held: true},
		{gap: "Yes", held: true},
		{gap: "deny ", held: true},
		{gap: "always here", held: true},
		{gap: "yesterday", held: true},
		{later: "no way"},
	} {
		d := open()
		d.typed(c.before)
		ask(d)
		d.pass(200 * time.Millisecond)
		d.typed(c.gap)
		d.pass(2 * time.Second)
		d.typed(c.later)
		text := strings.TrimSpace(d.m.page().edit.Text())
		d.press("enter")
		d.short()
		if d.sent(text) == c.held {
			t.Errorf("%+v: held back %v", c, !d.sent(text))
		}
		d.pass(time.Second)
		d.press("enter")
		d.short()
		if c.held && !d.sent(text) {
			t.Errorf("%+v: it cannot be sent: %q", c, d.f.order)
		}
	}
	// Who has gone to the question has seen it.
	d := open()
	d.typed("hello")
	ask(d)
	d.pass(time.Second)
	d.press("tab", "tab", "i")
	d.press("enter")
	d.short()
	if !d.sent("hello") {
		t.Errorf("%q", d.f.order)
	}
	// What was begun before and taken out again is not what is sent.
	d = open()
	d.typed("he")
	ask(d)
	d.pass(time.Second)
	d.press("backspace", "backspace")
	d.typed("what now")
	d.press("enter")
	d.short()
	if !d.sent("what now") {
		t.Errorf("%q", d.f.order)
	}
	// The letter taken back, the question lights, and takes it.
	d = open()
	ask(d)
	d.typed("y")
	d.press("enter", "backspace")
	d.pass(time.Second)
	d.answer("y")
	d.short()
	if len(d.f.settings) != 1 || d.sent("y") {
		t.Errorf("%+v, %q", d.f.settings, d.f.order)
	}
}

// A question in a tab that was hidden comes into view with the tab.
func TestEnterAsATabShowsItsQuestion(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("go")
	d.press("ctrl+x", "n")
	d.short()
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "shell", Arguments: json.RawMessage(`{}`)})
	d.pass(time.Minute)
	d.press("alt+1")
	d.typed("y")
	d.press("enter")
	d.pass(time.Second)
	if d.sent("y") || d.m.page().edit.Text() != "y" {
		t.Errorf("the input holds %q; %q", d.m.page().edit.Text(), d.f.order)
	}
}

// A run that was left for the user's word on a call will ask in a moment: an input in between would give it up.
func TestEnterBeforeTheQuestionIsThere(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("go")
	d.f.mu.Lock()
	s := d.f.session(id)
	s.running, s.run.State, s.run.Reason = false, runtime.StateReconciling, runtime.ReasonOutcome
	s.rows = []runtime.CallRow{{ID: "c1", RunID: s.run.ID, Name: "pay", Arguments: `{}`, Status: runtime.CallUnknown}}
	d.f.mu.Unlock()
	d.tell(id, trace.StateData{State: string(runtime.StateReconciling), Reason: string(runtime.ReasonOutcome)})
	d.typed("and then?")
	d.press("enter")
	d.pass(time.Second)
	if d.sent("and then?") {
		t.Fatalf("%q", d.f.order)
	}
	d.sees("pay ran, perhaps", "and then?")
	d.press("enter")
	d.pass(time.Second)
	if d.sent("and then?") {
		t.Fatalf("it was begun before the question came: %q", d.f.order)
	}
	d.press("enter")
	d.pass(time.Second)
	if !d.sent("and then?") {
		t.Fatalf("it cannot be sent: %q", d.f.order)
	}
}
