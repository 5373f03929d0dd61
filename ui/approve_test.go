package ui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	sim := clock.NewSim(start)
	n := 0
	newID := func() string {
		n++
		return start.Format("x") + string(rune('a'+n/676%26)) + string(rune('a'+n/26%26)) + string(rune('a'+n%26))
	}
	bus := trace.NewBus(sim)
	p := &whole{}
	sim.Run(func() {
		var err error
		if p.st, err = store.Open(t.Context(), store.Config{Path: path, Clock: sim, NewID: newID, Publish: bus.Publish}); err != nil {
			t.Fatal(err)
		}
	})
	shell := tools.New("shell", "run a command", tools.SideEffect, func(_ context.Context, _ tools.Call, in shellInput) (tools.Output, error) {
		*ran = append(*ran, in.Command)
		return tools.Output{Data: "ok"}, nil
	})
	registry := tools.NewRegistry(shell)
	p.engine = runtime.NewEngine(runtime.EngineConfig{
		Store: p.st, Memory: p.st, Model: scripted.New(sim, steps...), DefaultModel: "m", Registry: registry, Policy: runtime.DefaultPolicy(),
		Executor: tools.NewExecutor(sim, registry, tools.Config{}), Bus: bus, Clock: sim, NewID: newID, User: "ann", System: "s",
		Limits: runtime.Limits{Budget: runtime.Budget{Steps: 8, Calls: 20, Tokens: 100000}, ContextTokens: 6000, RawTurns: 20, ResultChars: 2000},
	})
	p.driver = drive(t, sim, Options{Agent: p.engine, Library: p.st, Feed: bus, Clock: sim, User: "ann", Model: "m"}, w, h)
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
	p.sees("TOOLS", "shell", "side_effect", "auto", "own")
	p.press("enter")
	p.short()
	p.sees("ask")
	p.press("esc")
	p.leave()
}
