package ui

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/trace"
)

// While a run stands still for the user nothing on the screen moves, and no frame is drawn; the time until the answer is not the
// run's. With the answer it moves again.
func TestNothingMovesWhileTheRunWaits(t *testing.T) {
	call := trace.ApprovalData{ID: "c1", Tool: "shell", Arguments: json.RawMessage(`{}`)}
	held := call
	held.Cause = causeBreak
	for name, c := range map[string]struct{ ask, answer func(d *driver, id string) }{
		"approval": {func(d *driver, id string) { d.f.asked(id, call) }, func(d *driver, _ string) { d.press("tab", "y") }},
		"held":     {func(d *driver, id string) { d.f.asked(id, held) }, func(d *driver, _ string) { d.press("tab", "c") }},
		"pause": {func(d *driver, id string) { d.f.paused(id, &trace.Pause{Step: 1, Model: "m"}) }, func(d *driver, id string) {
			d.press("tab", "c")
			d.f.paused(id, nil)
		}},
		"put aside": {func(d *driver, id string) { d.f.asked(id, call); d.short(); d.press("esc") }, func(d *driver, _ string) { d.press("ctrl+x", "a"); d.pass(calmAfter); d.press("y") }},
	} {
		d := newDriver(t, 160, 44)
		d.enter("go")
		d.f.stream(d.id(), "I look.")
		d.pass(2 * time.Second)
		c.ask(d, d.id())
		d.pass(10 * time.Second) // what is said goes, the question lights
		before := d.status()
		frames := 0
		d.frames = func(string) { frames++ }
		d.pass(time.Minute)
		if frames != 0 {
			t.Errorf("%s: %d frames in a minute in which nothing happens", name, frames)
		}
		if d.press("pgup"); d.status() != before { // what is drawn anew has the same time
			t.Errorf("%s: %q becomes %q", name, before, d.status())
		}
		d.pass(time.Second)
		if _, on := d.sim.Next(); on {
			t.Errorf("%s: a timer runs", name)
		}
		c.answer(d, d.id())
		d.short()
		frames = 0
		d.pass(time.Second)
		if frames < 5 {
			t.Errorf("%s: %d frames in a second of work", name, frames)
		}
		if s := d.status(); !strings.Contains(s, "   3.") && !strings.Contains(s, "   2.") {
			t.Errorf("%s: the wait is in the time of the run: %q", name, s)
		}
	}
}

// Another tab that works moves beside a question.
func TestWhatMovesBesideAQuestion(t *testing.T) {
	d := newDriver(t, 160, 44)
	first := d.id()
	d.enter("go")
	d.press("ctrl+x", "n")
	d.short()
	d.enter("another")
	d.f.asked(first, trace.ApprovalData{ID: "c1", Tool: "shell", Arguments: json.RawMessage(`{}`)})
	d.short()
	d.press("alt+1")
	d.pass(10 * time.Second)
	frames := 0
	d.frames = func(string) { frames++ }
	d.pass(time.Second)
	if frames < 5 {
		t.Errorf("%d frames while the other tab works", frames)
	}
}

// A session that waits for the user as it was left says so, in its status line and in the list, and not that it was interrupted.
func TestWaitingAfterARestartIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		rows []runtime.CallRow
		want string
	}{
		"approval":    {[]runtime.CallRow{{ID: "c1", RunID: "r", Name: "shell", Arguments: `{}`, Status: runtime.CallWaiting}}, "? needs you"},
		"outcome":     {[]runtime.CallRow{{ID: "c1", RunID: "r", Name: "shell", Arguments: `{}`, Status: runtime.CallUnknown}}, "? needs you"},
		"interrupted": {nil, "interrupted"},
	} {
		for _, later := range []bool{false, true} {
			d := newDriver(t, 120, 30, func(o *Options, f *fake) { f.unknown("s", c.rows...); o.Session = "s" })
			d.pass(time.Second)
			if later {
				d.press("esc")
				d.pass(10 * time.Second)
			}
			s := d.status()
			if !strings.HasPrefix(s, " "+c.want) || name != "interrupted" && strings.Contains(s, "interrupted") {
				t.Errorf("%s, put aside %v: %q", name, later, s)
			}
		}
	}
	d := newDriver(t, 120, 30, func(o *Options, f *fake) {
		f.unknown("s")
		f.session("s").waits = true
	})
	d.enter("/sessions")
	d.sees("deploy plan", "needs you")
	d.seesNot("interrupted")
}

// A fold that waits for the user's word stands still as well.
func TestNothingMovesWhileAFoldIsAsked(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 120, 36, runtime.FoldAsk, false)
	p.ask(firstWords)
	p.ask(secondWords)
	p.say(thirdWords)
	p.until("y fold")
	p.pass(10 * time.Second)
	before, frames := p.screen(), 0
	p.frames = func(string) { frames++ }
	p.pass(time.Minute)
	if frames != 0 || p.screen() != before {
		t.Errorf("%d frames in a minute in which nothing happens", frames)
	}
	if p.m.ticking {
		t.Error("it ticks")
	}
	p.answer("y")
	p.pass(time.Second)
	if frames < 5 {
		t.Errorf("%d frames in a second of work", frames)
	}
	p.pass(10 * time.Second)
	p.leave()
}
