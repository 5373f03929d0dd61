package ui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
)

// left quits and leaves the run as it is.
func (p *whole) left() {
	p.t.Helper()
	p.press("ctrl+x", "q", "l")
	p.pass(2 * time.Second)
	if !p.quit {
		p.t.Fatalf("it does not leave:\n%s", p.screen())
	}
	p.m.Close()
	p.sim.Run(func() { _ = p.st.Close(context.Background()) })
}

// printedTrace is what `vitrine trace` prints of the session on the screen.
func (p *whole) printedTrace() string {
	p.t.Helper()
	var out strings.Builder
	p.sim.Run(func() {
		events, err := p.st.Events(context.Background(), p.m.page().id, "", 0, 1000)
		if err != nil {
			p.t.Error(err)
		}
		tree := &trace.Tree{}
		for _, e := range events {
			tree.Apply(e)
		}
		_ = trace.Print(&out, tree)
	})
	return out.String()
}

// chatRow is the row of the chat that holds a word.
func (p *whole) chatRow(word string) string {
	for _, r := range p.m.page().columns.chat.Rows() {
		if strings.Contains(r, word) {
			return r
		}
	}
	return ""
}

// What the chat, the trace and `vitrine trace` show of a call whose arguments the user changed is what runs: while it waits, after
// a restart in which it waits, when it has run, and after the next restart.
func TestEditedArgumentsAreShown(t *testing.T) {
	var ran []string
	path := filepath.Join(t.TempDir(), "s.db")
	p := newAsking(t, path, 160, 44, &ran, scripted.Calls(shellCall("first")).When("go"))
	p.enter("go")
	p.pass(2 * time.Second)
	p.sees("APPROVE", "first")
	p.answer("e")
	p.press("ctrl+end", "up", "end", "left")
	p.typed("-changed")
	p.press("enter")
	p.pass(time.Second)
	check := func(when, word string) {
		t.Helper()
		row := p.chatRow("shell")
		if !strings.Contains(row, "first-changed") || !strings.Contains(row, word) {
			t.Errorf("%s the chat says %q, want %q", when, row, word)
		}
		lines := strings.Split(p.printedTrace(), "\n")
		for i, l := range lines { // the call that was replaced is there too
			if strings.Contains(l, "shell") && strings.Contains(l, `"first"`) && !strings.Contains(l, "arguments changed") {
				t.Errorf("%s the trace says %q", when, lines[i])
			}
		}
		if !strings.Contains(strings.Join(lines, "\n"), "first-changed") {
			t.Errorf("%s the trace lacks what runs:\n%s", when, strings.Join(lines, "\n"))
		}
	}
	check("while it waits", "waits for you")
	p.left()

	p = newAskingAt(t, start.Add(time.Hour), path, 160, 44, &ran, scripted.Text("done").When("go"))
	p.pass(time.Second)
	p.sees("APPROVE", "first-changed")
	check("after a restart", "waits for you")
	p.sees("? turn 1 ", "? step 1", "result        waits for you", "result        waits for you")
	p.press("ctrl+x", "a")
	p.pass(calmAfter)
	p.press("y")
	p.pass(2 * time.Second)
	p.sees("done")
	check("when it has run", "4 B")
	if d := cmp.Diff([]string{"first-changed"}, ran); d != "" {
		t.Fatal(d)
	}
	p.leave()

	p = newAskingAt(t, start.Add(2*time.Hour), path, 160, 44, &ran)
	p.pass(time.Second)
	check("after the next restart", "4 B")
	p.leave()
}

// After a restart the trace shows a run that stands before a model call, or of which an outcome is asked, as one that waits.
func TestTheTraceOfWhatWaitsAfterARestart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *fakeSession)
		want   []string
	}{
		"pause":   {func(s *fakeSession) { s.pause = &trace.Pause{Step: 2, Model: "m"} }, []string{"? turn 1", "? step 2", "? model"}},
		"outcome": {func(s *fakeSession) { s.run.State = runtime.StateReconciling }, []string{"? turn 1", "? pay"}},
		"neither": {func(s *fakeSession) { s.rows = nil }, []string{"/ turn 1", "/ pay"}},
	} {
		d := newDriver(t, 160, 44, func(o *Options, f *fake) {
			s := f.session("s")
			o.Session = "s"
			s.run = &runtime.RunRow{ID: "r", Turn: 1, Step: 1, State: runtime.StateWaitingModel, StartedAt: start}
			s.rows = []runtime.CallRow{{ID: "c1", RunID: "r", Name: "pay", Arguments: `{}`, Effect: tools.SideEffect, Status: runtime.CallStarted}}
			if name == "pause" {
				s.rows = nil
			}
			c.change(s)
			for i, d := range []trace.Data{trace.RunStartData{Input: "go"}, trace.LLMCallData{Model: "m", StartedAt: start}, trace.ToolCallData{ID: "c1", Tool: "pay", Status: "started"}} {
				s.row.NextSeq++
				s.events = append(s.events, trace.Event{TS: start, Seq: int64(i + 1), SessionID: "s", RunID: "r", Turn: 1, Step: min(i, 1), Name: d.EventName(), Data: d})
			}
			if name == "pause" {
				d := trace.ToolResultData{ID: "c1", Tool: "pay", Status: "done", OK: true}
				s.row.NextSeq++
				s.events = append(s.events, trace.Event{TS: start, Seq: 4, SessionID: "s", RunID: "r", Turn: 1, Step: 1, Name: d.EventName(), Data: d})
			}
		})
		d.pass(time.Hour)
		rows := strings.Join(d.m.page().columns.trace.Rows(), "\n")
		for _, want := range c.want {
			if !strings.Contains(ansi.Strip(rows), want) {
				t.Errorf("%s: no %q in\n%s", name, want, ansi.Strip(rows))
			}
		}
		if strings.Contains(ansi.Strip(rows), "1 h") {
			t.Errorf("%s: the time since then counts:\n%s", name, ansi.Strip(rows))
		}
	}
}
