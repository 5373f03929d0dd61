package ui

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/assets"
	"vitrine/llm/offline"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/store"
	"vitrine/tools"
	"vitrine/tools/builtin"
	"vitrine/trace"
)

// whole is the program without a terminal: store, engine, offline model and screen under one simulated clock.
type whole struct {
	*driver
	st     *store.Store
	engine *runtime.Engine
}

func newWhole(t *testing.T, path string, at time.Time, change ...func(*Options)) *whole {
	t.Helper()
	sim := clock.NewSim(at)
	n := 0
	newID := func() string { n++; return fmt.Sprintf("%d-%06d", at.Unix(), n) }
	bus := trace.NewBus(sim)
	p := &whole{}
	sim.Run(func() {
		var err error
		p.st, err = store.Open(t.Context(), store.Config{Path: path, Clock: sim, NewID: newID, Publish: bus.Publish})
		if err != nil {
			t.Fatal(err)
		}
	})
	registry := tools.NewRegistry(builtin.All(builtin.Deps{Corpus: assets.Corpus(), Todos: p.st, NewID: newID})...)
	p.engine = runtime.NewEngine(runtime.EngineConfig{
		Store: p.st, Model: offline.New(offline.Config{Clock: sim, Pace: 20 * time.Millisecond}), DefaultModel: "offline", Registry: registry,
		Executor: tools.NewExecutor(sim, registry, tools.Config{}), Bus: bus, Clock: sim, NewID: newID, User: "ann", System: assets.SystemPrompt(),
		Limits: runtime.Limits{Budget: runtime.Budget{Steps: 8, Calls: 20, Tokens: 100000}, ContextTokens: 6000, RawTurns: 20, ResultChars: 2000},
	})
	opts := Options{Agent: p.engine, Library: p.st, Drafts: p.st, Feed: bus, Clock: sim, User: "ann", Model: "offline", Limits: Limits{Steps: 8, Calls: 20, Tokens: 100000}}
	for _, c := range change {
		c(&opts)
	}
	p.driver = drive(t, sim, opts, 160, 44)
	p.frames = p.straight
	p.pass(100 * time.Millisecond)
	return p
}

// leave quits as a user does, and closes what is behind the screen.
func (p *whole) leave() {
	p.t.Helper()
	p.press("ctrl+x", "q")
	p.pass(time.Second)
	if !p.quit {
		p.t.Fatalf("it does not leave:\n%s", p.screen())
	}
	p.m.Close()
	p.sim.Run(func() {
		if err := p.st.Close(context.Background()); err != nil {
			p.t.Error(err)
		}
	})
}

func (p *whole) ask(text string) {
	p.t.Helper()
	p.typed(text)
	p.press("enter")
	p.pass(8 * time.Second)
}

// Two tabs know nothing of each other; a todo is in the sidebar before the answer has ended; after a restart all is back.
func TestWholeProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	p := newWhole(t, path, start)
	p.ask("what is (17+5)*3?")
	p.sees("66", "calculator", "✓ done")
	p.ask("remember that the deploy is on Friday")
	p.ask("when is the deploy?")
	p.sees("Friday")
	p.typed("add a todo: submit the report")
	p.press("enter")
	for range 200 {
		p.pass(10 * time.Millisecond)
		if strings.Contains(p.screen(), "◦ submit the report") {
			break
		}
	}
	if !p.m.page().busy() {
		t.Error("the answer had ended before the todo was in the sidebar")
	}
	p.sees("◦ submit the report", "0 of 1")
	p.pass(5 * time.Second)
	p.press("tab", "tab", "tab", "space")
	p.pass(time.Second)
	p.sees("✓ submit the report", "1 of 1")
	p.press("esc", "ctrl+x", "n")
	p.pass(time.Second)
	p.seesNot("✓ submit the report")
	p.ask("when is the deploy?")
	if s := p.screen(); strings.Contains(s, "Friday") {
		t.Errorf("the second tab knows what only the first was told:\n%s", s)
	}
	p.leave()

	p = newWhole(t, path, start.Add(time.Hour))
	if len(p.m.pages) != 2 || p.m.active != 1 {
		t.Fatalf("tabs %q, active %d", p.m.open(), p.m.active)
	}
	p.sees("when is the deploy?")
	p.press("alt+1")
	p.sees("✓ submit the report", "1 of 1", "add a todo: submit the report")
	p.press("up", "up")
	if got := p.m.page().edit.Text(); got != "when is the deploy?" {
		t.Errorf("the history gives %q", got)
	}
	p.press("ctrl+c")
	p.ask("when is the deploy?")
	p.sees("Friday")
	p.leave()
}

// B040, B044: cancel and queue against the real engine.
func TestWholeProgramCancelAndQueue(t *testing.T) {
	p := newWhole(t, filepath.Join(t.TempDir(), "sessions.db"), start)
	p.typed("look up what an agent loop is")
	p.press("enter")
	p.pass(300 * time.Millisecond)
	if !p.m.page().busy() {
		t.Fatalf("nothing runs:\n%s", p.screen())
	}
	p.typed("what is 1+1?")
	p.press("enter")
	p.typed("what is 2+3?")
	p.press("enter")
	p.pass(100 * time.Millisecond)
	if n := len(p.m.page().inbox); n != 2 {
		t.Fatalf("%d are queued", n)
	}
	p.press("up")
	p.pass(50 * time.Millisecond)
	if got := p.m.page().edit.Text(); got != "what is 2+3?" {
		t.Errorf("Up gives %q", got)
	}
	p.press("ctrl+c") // the run, not the text
	p.pass(5 * time.Second)
	if got := p.m.page().edit.Text(); got != "what is 2+3?" {
		t.Errorf("Ctrl+C during a run left %q", got)
	}
	p.sees("/ stopped", "1+1 = 2")
	if len(p.m.page().inbox) != 0 {
		t.Error("the queue is not empty")
	}
	p.press("enter")
	p.pass(5 * time.Second)
	p.sees("2+3 = 5")
	p.leave()
}

// A run that is left as it is asks at the next start whether to go on.
func TestWholeProgramLeaveAndResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	p := newWhole(t, path, start)
	p.typed("look up what an agent loop is")
	p.press("enter")
	p.pass(300 * time.Millisecond)
	p.press("ctrl+x", "q", "l")
	p.pass(2 * time.Second)
	if !p.quit {
		t.Fatalf("it does not leave:\n%s", p.screen())
	}
	p.m.Close()
	p.sim.Run(func() { _ = p.st.Close(context.Background()) })

	p = newWhole(t, path, start.Add(time.Hour))
	p.sees("INTERRUPTED", "y resume", "1 h ago")
	p.pass(time.Second)
	p.answer("y")
	p.pass(10 * time.Second)
	p.seesNot("INTERRUPTED")
	p.sees("agent loop", "✓ done")
	p.leave()
}
