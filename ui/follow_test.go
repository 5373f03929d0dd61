package ui

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/runtime"
	"vitrine/trace"
)

// following opens a session in which another process works on a run; it is seen to when moves is set.
func following(t *testing.T, state runtime.State, moves bool) *driver {
	t.Helper()
	d := newDriver(t, 160, 30, func(o *Options, f *fake) {
		s := f.session("c")
		f.begin("c", "a question elsewhere")
		s.held, s.running, s.run.State = 4711, false, state
		s.notice = "turn 1 was interrupted"
		o.Session = "c"
	})
	if moves {
		d.f.mu.Lock()
		d.f.emit("c", true, trace.LLMCallData{Model: "mock", LatencyMS: 100, StartedAt: d.sim.Now()})
		d.f.mu.Unlock()
		d.pass(1500 * time.Millisecond)
	}
	return d
}

// Who follows a session sees what its holder does there, as it is stored, and never that it is interrupted while that works.
func TestFollowersSeeWhatTheHolderDoes(t *testing.T) {
	d := following(t, runtime.StateExecuting, false)
	if s := d.status(); !strings.HasPrefix(s, " as stored: running") {
		t.Errorf("before it is known whether it works: %q", s)
	}
	for state, want := range map[runtime.State]string{
		runtime.StateCreated: "⠋ waiting        step 1 of 8", runtime.StateWaitingModel: "⠋ waiting", runtime.StateExecuting: "⠋ running",
		runtime.StateWaitingApproval: "? waits for an answer there", runtime.StateVerifying: "⠋ verifying",
	} {
		d := following(t, state, true)
		d.sees("READ ONLY", "open in process 4711")
		s := d.status()
		if i := strings.IndexAny(s, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"); i > 0 {
			s = s[:i] + "⠋" + s[i+len("⠋"):]
		}
		if !strings.HasPrefix(s, " "+want) {
			t.Errorf("%s: %q", state, s)
		}
	}
	// It follows what is stored.
	d = following(t, runtime.StateWaitingModel, true)
	d.f.mu.Lock()
	d.f.sessions["c"].run.State = runtime.StateExecuting
	d.f.emit("c", true, trace.ToolCallData{ID: "c1", CallID: "c1", Tool: "shell", Arguments: json.RawMessage(`{}`), Status: "started"})
	d.f.mu.Unlock()
	d.pass(1500 * time.Millisecond)
	if s := d.status(); !strings.Contains(s, "running        step") {
		t.Errorf("%q", s)
	}
	d.f.mu.Lock()
	d.f.sessions["c"].run.State = runtime.StateReconciling
	d.f.sessions["c"].run.Reason = runtime.ReasonOutcome
	d.f.mu.Unlock()
	d.pass(1500 * time.Millisecond)
	if s := d.status(); !strings.HasPrefix(s, " ? waits for an answer there") {
		t.Errorf("%q", s)
	}
	d.f.fail["runs"] = errors.New("the disk is away")
	d.pass(1500 * time.Millisecond)
	d.sees("read the session: the disk is away")
	delete(d.f.fail, "runs")
	d.f.mu.Lock()
	d.f.sessions["c"].held = 0
	d.f.mu.Unlock()
	d.pass(10 * time.Second)
	d.sees("FREE")
	if s := d.status(); !strings.HasPrefix(s, " interrupted") {
		t.Errorf("nobody works on it any more: %q", s)
	}
	// A change of the session itself says nothing of its run.
	d = following(t, runtime.StateExecuting, false)
	d.f.mu.Lock()
	run := d.f.sessions["c"].run
	d.f.sessions["c"].run = nil
	d.f.emit("c", true, trace.SessionData{Action: "renamed", Title: "another"})
	d.f.sessions["c"].run = run
	d.f.mu.Unlock()
	d.pass(1500 * time.Millisecond)
	if d.m.page().busy() {
		t.Error("a rename counts as work on the run")
	}
}

// Who follows a session sees that the debugger holds its run there, and that it goes on; nobody is asked here, and nothing moves.
func TestFollowersSeeThatTheDebuggerHoldsTheRun(t *testing.T) {
	d := following(t, runtime.StateWaitingModel, true)
	s := d.f.sessions["c"]
	run := s.run
	store := func(reason runtime.Reason, step int, replies ...int) { // as another process does: only the store knows
		d.f.mu.Lock()
		for _, n := range replies {
			data := trace.LLMCallData{Model: "mock", LatencyMS: 100, FinishReason: "tool_calls", StartedAt: d.sim.Now()}
			s.events = append(s.events, trace.Event{TS: d.sim.Now(), SessionID: "c", RunID: run.ID, Turn: run.Turn, Step: n, Seq: s.row.NextSeq,
				Name: data.EventName(), Data: data})
			s.row.NextSeq++
		}
		run.Reason, run.Step = reason, step
		d.f.mu.Unlock()
		d.pass(time.Second)
	}
	store(runtime.ReasonBreak, 1)
	d.sees("READ ONLY", "open in process 4711, where the debugger holds it", "? paused there")
	d.seesNot("PAUSED", "s step")
	p := d.m.page()
	if p.mark() != markNeedsYou || p.moves() || p.question() != noQuestion {
		t.Errorf("mark %v, moves %v, question %v", p.mark(), p.moves(), p.question())
	}
	run.Usage.Active = 7 * time.Second
	d.pass(time.Minute)
	if took := p.run.elapsed(p.env.now); took != 7*time.Second {
		t.Errorf("the time that it stands still counts: %v", took)
	}
	models := func() (n int) {
		for row := range strings.Lines(d.screen()) {
			if strings.Contains(row, "model ") && strings.ContainsAny(row, "✓?⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
				n++
			}
		}
		return n
	}
	d.press("tab", "tab")
	if n := models(); n != 2 {
		t.Errorf("%d model calls in the trace:\n%s", n, d.screen())
	}
	// It goes on and stands before the next one, which is noticed at once.
	store(runtime.ReasonBreak, 2, 2)
	d.sees("? paused there")
	if n := models(); n != 3 || p.debug.pause.Step != 3 {
		t.Errorf("%d model calls in the trace, paused before step %d:\n%s", n, p.debug.pause.Step, d.screen())
	}
	store(runtime.ReasonNone, 2)
	d.seesNot("paused there", "debugger")
	if !p.moves() || p.mark() != markRunning {
		t.Error("it does not go on")
	}
	// The end of its model call was read, the run as it stood before that.
	store(runtime.ReasonBreak, 2, 3)
	d.seesNot("paused there", "debugger")
	if n := models(); n != 3 {
		t.Errorf("%d model calls in the trace:\n%s", n, d.screen())
	}
	d.pass(1500 * time.Millisecond)
	d.sees("? paused there")
	d.f.mu.Lock()
	d.f.sessions["c"].held = 0
	d.f.mu.Unlock()
	d.pass(10 * time.Second)
	d.sees("FREE", "interrupted", "/ turn 1")
	d.seesNot("paused")

	// So it is for one that is opened meanwhile.
	d = newDriver(t, 160, 30, func(o *Options, f *fake) {
		s := f.session("c")
		f.begin("c", "a question elsewhere")
		s.held, s.running, s.run.State, s.run.Reason = 4711, false, runtime.StateWaitingModel, runtime.ReasonBreak
		s.pause = s.run.Pause(1)
		o.Session = "c"
	})
	d.sees("READ ONLY", "where the debugger holds it", "? paused there")
	d.pass(5 * time.Second)
	d.sees("? paused there")
}

// A reading that another one has taken the place of counts nothing: it may say what held before.
func TestReadingsThatComeLate(t *testing.T) {
	d := following(t, runtime.StateExecuting, true)
	p := d.m.page()
	d.send(followedMsg{id: "c", gen: p.followGen - 1, looked: true})
	d.seesNot("FREE")
	if !p.busy() {
		t.Error("the run is halted")
	}
	d.send(followedMsg{id: "c", gen: p.followGen, looked: true})
	d.sees("FREE")
}

// A run goes on while its process holds the session, whenever that was asked; one that has ended is not stopped by the end of the
// process.
func TestHolderLooksAreNoEnd(t *testing.T) {
	d := following(t, runtime.StateExecuting, true)
	d.pass(time.Minute)
	if !d.m.page().busy() {
		t.Error("the run of a living holder is halted")
	}
	d.press("tab", "tab")
	d.seesNot("/ turn 1")
	d.f.mu.Lock()
	d.f.sessions["c"].held = 0
	d.f.mu.Unlock()
	d.pass(10 * time.Second)
	d.sees("FREE", "/ turn 1")

	d = following(t, runtime.StateExecuting, false) // nothing was seen of its work
	d.seesNot("/ turn 1")
	d.f.mu.Lock()
	d.f.sessions["c"].held = 0
	d.f.mu.Unlock()
	d.pass(10 * time.Second)
	d.sees("FREE", "/ turn 1")

	d = following(t, runtime.StateExecuting, true)
	d.f.answer("c")
	d.pass(3 * time.Second)
	d.f.mu.Lock()
	d.f.sessions["c"].held = 0
	d.f.mu.Unlock()
	d.pass(10 * time.Second)
	d.sees("FREE", "✓ done")
	d.seesNot("/ turn 1")
}

// An unfinished run of a tab that is open is asked about there, and is not among those that are offered.
func TestOfferLeavesOutWhatIsOpen(t *testing.T) {
	unfinished := func(f *fake, id string) {
		f.session(id).run = &runtime.RunRow{ID: "r" + id, State: runtime.StateWaitingModel}
	}
	d := newDriver(t, 120, 30, func(o *Options, f *fake) { unfinished(f, "a"); o.Session = "a" })
	d.sees("INTERRUPTED")
	d.seesNot("UNFINISHED")
	d = newDriver(t, 120, 30, func(o *Options, f *fake) { unfinished(f, "a"); unfinished(f, "b"); o.Session = "a" })
	d.sees("UNFINISHED  1 other session has a run to go on with")
}

// An answer by hand is not blank: the model would be told nothing.
func TestBlankAnswerIsRefused(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.enter("go")
	d.f.asked(d.id(), trace.ApprovalData{ID: "c1", Tool: "look", Cause: causeBreak, Arguments: json.RawMessage(`{}`)})
	d.short()
	for _, blank := range []string{"", "   ", " \n\t "} {
		d.pass(calmAfter)
		d.press("tab", "a")
		d.sees("ANSWER")
		d.clearEditor()
		d.send(tea.PasteMsg{Content: blank})
		d.press("enter")
		d.short()
		d.sees("ANSWER", "what should the model be told?")
		if len(d.f.settings) != 0 {
			t.Fatalf("%q was given: %+v", blank, d.f.settings)
		}
		d.press("esc", "i")
	}
}

// The tools to run until are listed for who still asks: not over another dialog, and not when the run has gone on.
func TestToolsToRunUntilComeLate(t *testing.T) {
	open := func() *driver {
		d := newDriver(t, 100, 30)
		d.f.view.Tools = []runtime.ToolInfo{{Name: "shell"}}
		d.enter("go")
		d.f.paused(d.id(), &trace.Pause{Step: 1, Model: "m"})
		d.short()
		return d
	}
	late := func(d *driver) untilMsg { return untilMsg{id: d.id(), list: d.f.view.Tools} }
	d := open()
	d.press("ctrl+p")
	d.send(late(d))
	d.sees("COMMANDS")
	d.seesNot("RUN UNTIL")
	d = open()
	d.f.paused(d.id(), nil)
	d.short()
	d.send(late(d))
	d.seesNot("RUN UNTIL")
	d = open()
	d.send(late(d))
	d.sees("RUN UNTIL")
}

// A reason that was typed for a call which has gone meanwhile denies nothing, and is not lost.
func TestReasonForACallThatHasGone(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("go")
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "look", Arguments: json.RawMessage(`{}`)})
	d.short()
	d.pass(calmAfter)
	d.press("tab", "n")
	d.typed("not on a Friday")
	d.f.mu.Lock()
	d.f.emit(id, true, trace.ApprovalData{Phase: "allowed", ID: "c1"})
	d.f.mu.Unlock()
	d.short()
	d.press("enter")
	d.short()
	d.sees("does not wait any more; Up in the input brings the text back")
	d.seesNot("DENY")
	if len(d.f.settings) != 0 {
		t.Errorf("it was said: %+v", d.f.settings)
	}
	d.press("up")
	if got := d.m.page().edit.Text(); got != "not on a Friday" {
		t.Errorf("Up brings %q", got)
	}
}
