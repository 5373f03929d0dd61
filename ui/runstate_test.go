package ui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/trace"
)

// tell publishes a transient event of the session's run.
func (d *driver) tell(id string, data trace.Data) {
	d.t.Helper()
	d.f.mu.Lock()
	d.f.emit(id, false, data)
	d.f.mu.Unlock()
	d.short()
}

// A run is over when its end is stored, not when this process has decided on it: until then the tab works, Esc cancels and
// leaving asks.
func TestARunIsOverWhenItsEndIsStored(t *testing.T) {
	d := newDriver(t, 160, 44)
	id := d.id()
	d.enter("go")
	d.f.stream(id, "the answer")
	d.tell(id, trace.StateData{State: string(runtime.StateSucceeded)})
	d.tell(id, trace.ErrorData{Message: "not saved", Why: "the disk is full", Code: "not_saved", Todo: "again in 2 s; this tab waits"})
	if s := d.status(); !strings.Contains(s, "saving") || !strings.Contains(s, "Esc cancel") || strings.Contains(s, "done") {
		t.Errorf("while the end is not stored the status is %q", s)
	}
	d.sees("NOT SAVED")
	if row := d.grid()[0]; !strings.ContainsAny(row, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		t.Errorf("the tab does not work: %q", row)
	}
	d.press("ctrl+x", "q")
	d.sees("QUIT", "a run is on")
	d.press("esc")
	d.f.answer(id)
	d.tell(id, trace.StateData{State: string(runtime.StateSucceeded)})
	if s := d.status(); !strings.Contains(s, "✓ done") || d.m.page().busy() {
		t.Errorf("after the end: %q", s)
	}
}

// What is told of a run after its end changes nothing: events that a page kept while it was read may be older.
func TestATaleOfAnEndedRun(t *testing.T) {
	d := newDriver(t, 160, 44)
	id := d.id()
	d.enter("go")
	run := d.f.sessions[id].run.ID
	d.f.answer(id)
	d.short()
	d.m.page().event(trace.Event{TS: d.sim.Now(), SessionID: id, RunID: run, Name: trace.State, Data: trace.StateData{State: string(runtime.StateWaitingModel)}})
	if d.m.page().busy() {
		t.Error("a run that has ended goes on")
	}
}

// A run that the store would not take any more is over too; the tab closed over it does not keep the program.
func TestARunThatIsLost(t *testing.T) {
	d := newDriver(t, 160, 44)
	id := d.id()
	d.enter("go")
	d.press("ctrl+x", "n")
	d.short()
	d.press("alt+1", "ctrl+x", "w", "w")
	d.short()
	if len(d.m.running()) != 1 {
		t.Fatalf("running: %q", d.m.running())
	}
	d.tell(id, trace.StateData{State: string(runtime.StateFailed), Reason: string(runtime.ReasonStore)})
	if len(d.m.running()) != 0 {
		t.Errorf("running: %q", d.m.running())
	}
	d = newDriver(t, 160, 44)
	id = d.id()
	d.enter("go")
	d.tell(id, trace.StateData{State: string(runtime.StateFailed), Reason: string(runtime.ReasonStore)})
	if d.m.page().busy() || !strings.Contains(d.status(), "✗ failed") {
		t.Errorf("a lost run: %q", d.status())
	}
}

// A run of an earlier process that goes on is a run like any other: it turns, counts its own time, asks before leaving, and
// Esc cancels it.
func TestWholeProgramResumeThenEscape(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	p := newWhole(t, path, start)
	p.typed("stream 500 tokens")
	p.press("enter")
	p.pass(time.Second)
	p.press("ctrl+x", "q", "l")
	p.pass(2 * time.Second)
	p.m.Close()
	p.sim.Run(func() { _ = p.st.Close(context.Background()) })

	p = newWhole(t, path, start.Add(72*time.Hour))
	p.sees("INTERRUPTED", "3 d ago")
	p.pass(time.Second)
	p.answer("y")
	p.pass(time.Second)
	s := p.status()
	for _, want := range []string{"streaming", "step 1 of 8", "1.0 s", "tokens", "Esc cancel"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in %q", want, s)
		}
	}
	if row := p.grid()[0]; !strings.ContainsAny(row, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		t.Errorf("the tab does not work: %q", row)
	}
	p.press("ctrl+x", "q")
	p.sees("QUIT", "a run is on")
	p.press("esc", "esc")
	p.pass(time.Second)
	if p.m.page().busy() || !strings.Contains(p.status(), "/ stopped") {
		t.Errorf("Esc does not cancel it: %q", p.status())
	}
	p.leave()
}
