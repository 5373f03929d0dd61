package ui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
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

// seesStatus looks for facts in the status line.
func (d *driver) seesStatus(when string, facts ...string) {
	d.t.Helper()
	for _, want := range facts {
		if s := d.status(); !strings.Contains(s, want) {
			d.t.Errorf("%s: no %q in %q", when, want, s)
		}
	}
}

// The time that the status line counts is what the run has used of its own budget, whatever this process is told to allow: not
// what it waited for the user, also when the page is read again meanwhile, and with what an earlier process used of it.
func TestTheTimeAndTheCapsAreTheRuns(t *testing.T) {
	var ran []string
	path := filepath.Join(t.TempDir(), "s.db")
	budget := runtime.Budget{Steps: 8, Calls: 20, Tokens: 100000, Deadline: time.Minute}
	sim := clock.NewSim(start)
	p := newWithin(t, sim, path, scripted.New(sim, scripted.Calls(shellCall("one")).Delay(20*time.Second).When("go")),
		budget, Limits{Steps: 8, Calls: 20, Tokens: 100000, Deadline: time.Minute}, shellTool(&ran))
	p.enter("go")
	p.pass(21 * time.Second)
	p.sees("APPROVE")
	p.pass(10 * time.Minute)
	p.seesStatus("while it waits", "needs you", "20.0 s of 1 m 00 s", "step 1 of 8")
	p.run(p.m.page().reload())
	p.pass(time.Minute)
	p.seesStatus("read again", "needs you", "20.0 s of 1 m 00 s", "step 1 of 8")
	p.left()

	sim = clock.NewSim(start.Add(72 * time.Hour))
	p = newWithin(t, sim, path, scripted.New(sim, scripted.Text("done").Delay(15*time.Second).When("go"), scripted.Text("more").Delay(9*time.Second).When("another")),
		runtime.Budget{Steps: 15, Calls: 3, Tokens: 5000, Deadline: 20 * time.Second}, Limits{Steps: 15, Calls: 3, Tokens: 5000, Deadline: 20 * time.Second}, shellTool(&ran))
	p.pass(time.Minute)
	p.press("ctrl+x", "a")
	p.pass(calmAfter)
	p.press("y")
	p.pass(2 * time.Second)
	p.seesStatus("after a restart", "22.0 s of 1 m 00 s")
	p.run(p.m.page().reload())
	p.pass(3 * time.Second)
	p.seesStatus("after a restart", "25.0 s of 1 m 00 s", "step 2 of 8", "calls  1 of 20", "of 100k tokens")
	p.pass(12 * time.Second)
	p.seesStatus("at the end", "done", "35.0 s of 1 m 00 s", "step 2 of 8", "calls  1 of 20", "of 100k tokens")
	p.enter("and another")
	p.pass(time.Second)
	p.seesStatus("a new one", " s of 20.0 s", "of 15", "of 3", "of 5k tokens")
	p.pass(10 * time.Second)
	p.leave()

	sim = clock.NewSim(start.Add(96 * time.Hour))
	p = newWithin(t, sim, path, scripted.New(sim), budget, Limits{Steps: 2, Calls: 2, Tokens: 200, Deadline: 2 * time.Second}, shellTool(&ran))
	p.pass(time.Minute)
	p.seesStatus("the last one, later", "done", "9.0 s of 20.0 s", "step  1 of 15", "calls 0 of 3", "of 5k tokens")
	p.leave()
}

// The time that a fold waits for the user's word is not the run's either.
func TestAFoldThatWaitsTakesNoTime(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 120, 36, runtime.FoldAsk, false)
	p.ask(firstWords)
	p.ask(secondWords)
	p.say(thirdWords)
	p.until("y fold")
	p.pass(10 * time.Minute)
	p.answer("y")
	p.pass(10 * time.Second)
	if took := p.m.page().run.elapsed(p.m.env.now); p.m.page().busy() || took == 0 || took > time.Minute {
		t.Errorf("the run took %v: %q", took, p.status())
	}
	p.leave()
}

// Of a run elsewhere the time and the caps are those that are stored; none are told as long as they are not known.
func TestTheTimeAndTheCapsOfARunElsewhere(t *testing.T) {
	cost := 2.5
	d := newDriver(t, 160, 44, func(o *Options, f *fake) {
		s := f.session("s")
		o.Session = "s"
		s.held = 4711
	})
	id := "s"
	d.f.mu.Lock()
	d.f.begin(id, "go")
	run := *d.f.sessions[id].run
	d.f.sessions[id].run = nil
	d.f.mu.Unlock()
	d.pass(time.Second)
	if s := d.status(); strings.Contains(s, " of ") {
		t.Errorf("caps that nobody knows: %q", s)
	}
	d.f.mu.Lock()
	run.State, run.Step = runtime.StateWaitingModel, 1
	run.Usage.Active = 40 * time.Second
	run.Budget = runtime.Budget{Steps: 5, Calls: 6, Tokens: 7000, Cost: &cost, Deadline: 2 * time.Minute}
	d.f.sessions[id].run = &run
	d.f.emit(id, true, trace.LLMCallData{Model: "m"})
	d.f.mu.Unlock()
	d.pass(3 * time.Second)
	d.seesStatus("as stored", " of 5", "calls 0 of 6", "of 7k tokens", "of $2.50", "43.0 s of 2 m 00 s")
}
