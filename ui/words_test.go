package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/theme"
)

// A session that another process works on: nothing here stops it, and no hint says so. When it is taken over, what was said
// of that goes away, and the turn that was left stands still.
func TestTakenOverFromAnotherProcess(t *testing.T) {
	d := newDriver(t, 160, 30, func(o *Options, f *fake) {
		s := f.session("c")
		f.begin("c", "a question elsewhere")
		s.held, s.meter = 4711, trace.Meter{}
		o.Session = "c"
	})
	d.sees("READ ONLY")
	if row := d.grid()[1]; !strings.Contains(row, "- of -") {
		t.Errorf("the meter of what nobody measured: %q", row)
	}
	d.pass(1500 * time.Millisecond)
	d.f.mu.Lock()
	d.f.emit("c", true, trace.LLMCallData{Model: "mock", LatencyMS: 100, StartedAt: d.sim.Now()})
	d.f.mu.Unlock()
	d.pass(1500 * time.Millisecond)
	if !d.m.page().busy() || strings.Contains(d.status(), "Esc") {
		t.Errorf("busy %v, status %q", d.m.page().busy(), d.status())
	}
	order := len(d.f.order)
	d.press("esc")
	if d.f.order = d.f.order[order:]; d.did("cancel c") {
		t.Error("Esc cancels the run of another process")
	}
	d.enter("hello")
	if s := d.status(); !strings.Contains(s, "read only") || strings.Contains(s, "asking") {
		t.Errorf("still held: %q", s)
	}
	d.f.mu.Lock()
	s := d.f.sessions["c"]
	s.held, s.running = 0, false
	d.f.mu.Unlock()
	d.press("enter")
	d.short()
	d.seesNot("read only", "READ ONLY")
	d.sees("INTERRUPTED")
	root := ""
	for _, row := range d.grid() {
		if strings.Contains(row, "⡇ / turn 1  ") {
			root = row
		}
	}
	before := d.screen()
	d.pass(3 * time.Second)
	if root == "" || d.screen() != before {
		t.Errorf("the turn that was left: %q\n%s", root, d.screen())
	}
}

func TestClearedTextIsBack(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.typed("some words")
	d.press("ctrl+c")
	d.sees("cleared; Up brings it back")
	d.press("up")
	d.seesNot("cleared;")
	if got := d.m.page().edit.Text(); got != "some words" {
		t.Errorf("Up brings %q", got)
	}
}

// Status, chat and trace tell the same time of a turn, and of a call that took none.
func TestOneTimeForATurn(t *testing.T) {
	d := newDriver(t, 160, 44)
	id := d.id()
	d.enter("go")
	d.f.toolStart(id, "calculator", `{"expression":"1+1"}`)
	d.pass(20 * time.Millisecond)
	d.f.mu.Lock()
	call := d.f.sessions[id].run.ID + "-call1"
	d.f.emit(id, true, trace.ToolResultData{ID: call, CallID: call, Tool: "calculator", Status: "done", OK: true, Summary: "2"})
	d.f.emit(id, true, trace.RunEndData{State: "succeeded", Steps: 2, Calls: 1, Tokens: 10, DurationMS: 87})
	d.f.mu.Unlock()
	d.short()
	if n := strings.Count(d.screen(), "87 ms"); n != 3 {
		t.Errorf("87 ms stands %d times:\n%s", n, d.screen())
	}
	for _, row := range d.grid() {
		if i := strings.LastIndex(row, "calculator"); i >= 0 && !strings.Contains(row[i:], " 0 ms") && !strings.Contains(row, "TOOL CALL") {
			t.Errorf("%q", row)
		}
	}
}

// At 100 columns hiding the todos brings back what they covered.
func TestHidingBringsBackWhatWasCovered(t *testing.T) {
	d := newDriver(t, 100, 30)
	d.sees("TRACE")
	d.press("ctrl+x", "o")
	d.sees("TODOS")
	d.seesNot("TRACE")
	d.press("ctrl+x", "o")
	d.sees("TRACE")
	d.enter("/todo")
	d.sees("TODOS")
	d.press("esc", "ctrl+x", "o")
	d.sees("TRACE")
	d.press("ctrl+x", "t")
	d.seesNot("TRACE", "TODOS")
	d.press("ctrl+x", "o", "ctrl+x", "o")
	d.seesNot("TRACE", "TODOS")
}

func TestMeterInTheSlack(t *testing.T) {
	s := line.Style{Theme: theme.New(theme.Options{})}
	for turns, want := range map[int]string{3: " 3 of 20 turns ", 20: " 20 of 20 turns ", 24: " 24 turns, 20 stay "} {
		if row := meterRow(s, 120, trace.Meter{System: 900, Limit: 6000, Turns: turns, MaxTurns: 20}, 0, ""); !strings.Contains(row, want) {
			t.Errorf("%d: %q", turns, row)
		}
	}
}

// The banner of the offline model stands in one row beside the trace at 100 columns.
func TestBannerFits(t *testing.T) {
	cfg, err := config.Load(config.Inputs{Login: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(t, 100, 30, func(o *Options, _ *fake) { o.Banner = cfg.Endpoint().Banner })
	d.sees(cfg.Endpoint().Banner[0])
	if !strings.Contains(cfg.Endpoint().Banner[0], "OFFLINE MODEL") {
		t.Errorf("%q", cfg.Endpoint().Banner)
	}
}

// The end of a turn that was killed in its first call counts no steps.
func TestNoStepsAreNotCounted(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		s := f.session("s")
		s.msgs = []runtime.MessageRow{{N: 1, RunID: "r", Kind: llm.KindUser, Role: llm.RoleUser, Content: "hello"}}
		s.events = []trace.Event{{Seq: 1, SessionID: "s", RunID: "r", Turn: 1, Name: trace.RunEnd,
			Data: trace.RunEndData{State: "cancelled", Reason: "interrupted"}}}
		s.row.NextN, s.row.NextSeq, s.row.TurnCount = 2, 2, 1
		o.Session = "s"
	})
	d.sees("/ interrupted")
	d.seesNot("0 steps")
}

// An answer that could not be done leaves the question open, with the reason.
func TestAnswerThatFails(t *testing.T) {
	d := newDriver(t, 100, 30, func(o *Options, f *fake) {
		s := f.session("s")
		s.run = &runtime.RunRow{ID: "r", Turn: 4, Step: 2, State: runtime.StateExecuting, StartedAt: start}
		f.fail["set"] = errors.New("nobody can tell whether write_file took effect")
		o.Session = "s"
	})
	d.pass(time.Second)
	d.answer("y")
	d.short()
	d.sees("? INTERRUPTED  turn 4, step 2", "x give up", "nobody can tell whether write_file took effect")
}
