package ui

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/store"
	"vitrine/tools"
	"vitrine/trace"
)

type shellInput struct {
	Command string `json:"command"`
}

// newAsking is the program with a tool that has effects, a model that follows a script, and a policy that asks.
func newAsking(t *testing.T, path string, w, h int, ran *[]string, steps ...scripted.Step) *whole {
	t.Helper()
	return newAskingAt(t, start, path, w, h, ran, steps...)
}

// newAskingAt is newAsking at another time, as after a restart.
func newAskingAt(t *testing.T, at time.Time, path string, w, h int, ran *[]string, steps ...scripted.Step) *whole {
	t.Helper()
	sim := clock.NewSim(at)
	p := newOver(t, sim, path, scripted.New(sim, steps...), shellTool(ran))
	p.resize(w, h)
	return p
}

// shellTool has effects, and notes what it was asked to do.
func shellTool(ran *[]string) tools.Tool {
	return tools.New("shell", "run a command", tools.SideEffect, func(_ context.Context, _ tools.Call, in shellInput) (tools.Output, error) {
		*ran = append(*ran, in.Command)
		return tools.Output{Data: "ok"}, nil
	})
}

// newOver is the program over any model and tools.
func newOver(t *testing.T, sim *clock.Sim, path string, model llm.Client, list ...tools.Tool) *whole {
	t.Helper()
	return newWithin(t, sim, path, model, runtime.Budget{Steps: 8, Calls: 20, Tokens: 100000}, Limits{}, list...)
}

// newWithin is newOver where new runs have a budget and the screen counts against limits.
func newWithin(t *testing.T, sim *clock.Sim, path string, model llm.Client, budget runtime.Budget, limits Limits, list ...tools.Tool) *whole {
	t.Helper()
	n, begun := 0, strings.TrimPrefix(sim.Now().Sub(start).String(), "0s")
	newID := func() string {
		n++
		return start.Format("x") + begun + string(rune('a'+n/676%26)) + string(rune('a'+n/26%26)) + string(rune('a'+n%26))
	}
	bus := trace.NewBus(sim)
	p := &whole{}
	sim.Run(func() {
		var err error
		if p.st, err = store.Open(t.Context(), store.Config{Path: path, Clock: sim, NewID: newID, Publish: bus.Publish}); err != nil {
			t.Fatal(err)
		}
	})
	registry := tools.NewRegistry(list...)
	policy := runtime.DefaultPolicy()
	policy.Tools = map[string]runtime.Rule{"forbidden": runtime.RuleDeny}
	p.engine = runtime.NewEngine(runtime.EngineConfig{
		Store: p.st, Memory: p.st, Model: model, DefaultModel: "m", Registry: registry, Policy: policy,
		Executor: tools.NewExecutor(sim, registry, tools.Config{}), Bus: bus, Clock: sim, NewID: newID, User: "ann", System: "s",
		Limits: runtime.Limits{Budget: budget, ContextTokens: 6000, RawTurns: 20, ResultChars: 2000},
	})
	p.driver = drive(t, sim, Options{Agent: p.engine, Library: p.st, Feed: bus, Clock: sim, User: "ann", Model: "m", Limits: limits}, 160, 44)
	p.frames = p.straight
	p.pass(100 * time.Millisecond)
	return p
}

func shellCall(command string) scripted.Call {
	return scripted.Call{Name: "shell", Args: scripted.Args(shellInput{command})}
}

// answer presses a letter at a question that has lit by itself, and confirms it.
func (d *driver) answer(letter string) { d.press(letter, "enter") }

// B164, B163: three questions of one reply stand in call order and are answered each by itself; what runs is what was shown.
func TestApprovalQuestions(t *testing.T) {
	var ran []string
	hidden := "c\u0430t x\u202e" + strings.Repeat(" ", 200) + "; rm x"
	p := newAsking(t, filepath.Join(t.TempDir(), "s.db"), 160, 44, &ran,
		scripted.Calls(shellCall(hidden), shellCall("two"), shellCall("three")).When("go"), scripted.Text("done").When("go"))
	p.enter("go")
	p.pass(2 * time.Second)
	p.sees("APPROVE", "shell", "1 of 3", "c<U+0430>t x<U+202E><200 spaces>; rm x", "a always here", "waits for you")
	if p.m.page().mark() != markNeedsYou {
		t.Error("the tab has no mark")
	}
	for _, s := range [][2]int{{160, 44}, {100, 30}, {80, 24}, {40, 12}} {
		p.resize(s[0], s[1])
		p.sees("APPROVE", "y once", "n deny", "Esc")
	}
	p.resize(160, 44)
	p.answer("n")
	p.enter("not today")
	p.pass(time.Second)
	p.sees("2 of 3", "two")
	p.press("esc") // later
	p.seesNot("APPROVE")
	if p.m.page().mark() != markNeedsYou {
		t.Error("the tab has no mark while the question is put aside")
	}
	p.press("ctrl+x", "a")
	p.sees("2 of 3")
	p.pass(calmAfter)
	p.press("y")
	p.pass(time.Second)
	p.sees("3 of 3", "three")
	p.press("ctrl+c") // B040: denies, and cancels nothing
	p.pass(2 * time.Second)
	p.seesNot("APPROVE")
	p.sees("done", "denied: not today")
	if d := cmp.Diff([]string{"two"}, ran); d != "" {
		t.Error(d)
	}
	p.leave()
}

// B070: a message instead of an answer; the question goes. B163: what runs equals the bytes that were shown.
func TestMessageInsteadOfAnswer(t *testing.T) {
	var ran []string
	p := newAsking(t, filepath.Join(t.TempDir(), "s.db"), 100, 30, &ran,
		scripted.Calls(shellCall("one")).When("go"), scripted.Text("fine").When("actually"), scripted.Calls(shellCall("a\u202eb")).When("again"), scripted.Text("end").When("again"))
	p.enter("go")
	p.pass(time.Second)
	p.sees("APPROVE")
	p.press("esc")
	p.enter("actually do X")
	p.pass(2 * time.Second)
	p.seesNot("APPROVE")
	p.sees("fine", "not run")
	p.enter("again")
	p.pass(time.Second)
	p.press("a") // the first letter of a message allows nothing for ever
	p.pass(time.Second)
	p.sees("APPROVE")
	if len(ran) != 0 {
		t.Errorf("ran %q", ran)
	}
	p.press("backspace", "ctrl+x", "a", "a")
	p.pass(time.Second)
	p.sees("end")
	if d := cmp.Diff([]string{"a\u202eb"}, ran); d != "" {
		t.Error(d)
	}
	p.enter("/tools")
	p.sees("TOOLS", "shell", "cannot be taken back", "auto", "own")
	p.press("enter")
	p.short()
	p.sees("ask")
	p.press("esc")
	p.leave()
}

// A question that is asked again shows what holds now; one that comes after another was put aside is not put aside with it.
func TestAskedAgain(t *testing.T) {
	d := newDriver(t, 100, 30)
	id := d.id()
	d.enter("go")
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "look", Arguments: json.RawMessage(`{"x":"before"}`)})
	d.short()
	d.f.asked(id, trace.ApprovalData{ID: "c1", Tool: "look", Arguments: json.RawMessage(`{"x":"after"}`)})
	d.short()
	d.sees("x  after")
	d.press("esc")
	d.seesNot("APPROVE")
	d.f.asked(id, trace.ApprovalData{ID: "c2", Tool: "other", Arguments: json.RawMessage(`{}`)})
	d.short()
	d.seesNot("APPROVE") // it waits behind the one that was put aside
	d.f.mu.Lock()
	for _, call := range []string{"c1", "c2"} {
		d.f.emit(id, true, trace.ApprovalData{Phase: "denied", ID: call})
	}
	d.f.mu.Unlock()
	d.f.asked(id, trace.ApprovalData{ID: "c3", Tool: "third", Arguments: json.RawMessage(`{}`)})
	d.short()
	d.sees("APPROVE  third")
}

// What waits in a session as stored: calls without a result, each with what was told when it was asked about; in one that another
// process holds it is said to wait there.
func TestWaitingAsStored(t *testing.T) {
	result := json.RawMessage(`{"ok":true}`)
	for _, held := range []int{0, 4711} {
		d := newDriver(t, 120, 30, func(o *Options, f *fake) {
			s := f.session("s")
			o.Session = "s"
			s.run, s.held = &runtime.RunRow{ID: "r", Turn: 1, Step: 1, State: runtime.StateWaitingApproval, StartedAt: start}, held
			s.rows = []runtime.CallRow{
				{ID: "c0", RunID: "r", Name: "zero", Arguments: `{}`, Status: runtime.CallWaiting, Result: result},
				{ID: "c1", RunID: "r", Name: "one", Arguments: `{"x":1}`, Status: runtime.CallWaiting},
				{ID: "c2", RunID: "r", Name: "two", Arguments: `{}`, Status: runtime.CallStarted, Effect: tools.SideEffect},
			}
			f.emit("s", true, trace.ApprovalData{Phase: "asked", ID: "c1", Tool: "one", Preview: "it would do that"})
			f.emit("s", true, trace.ApprovalData{Phase: "noted", ID: "c1", Tool: "one"})
		})
		if held != 0 {
			d.sees("READ ONLY", "where it waits for an answer")
			d.press("ctrl+x", "a")
			d.sees("nothing waits for you")
			continue
		}
		d.sees("two ran, perhaps")
		d.m.page().approve.unknown = nil // it was answered
		d.press("pgup")
		d.sees("APPROVE  one", "it would do that")
		d.seesNot("1 of")
	}
}
