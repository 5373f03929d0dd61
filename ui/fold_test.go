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

// slowStore holds commits of folds back until its latch opens.
type slowStore struct {
	*store.Store
	hold *clock.Latch
}

func (s *slowStore) Commit(ctx context.Context, tx runtime.Tx) (runtime.Committed, error) {
	if tx.Fold != nil && !tx.Fold.Undo && s.hold != nil {
		if err := s.hold.Wait(ctx); err != nil {
			return runtime.Committed{}, err
		}
	}
	return s.Store.Commit(ctx, tx)
}

// folding is the program with a small window.
type folding struct {
	*whole
	slow *slowStore
}

func newFolding(t *testing.T, path string, at time.Time, w, h int, mode runtime.FoldMode, hold bool) *folding {
	t.Helper()
	sim := clock.NewSim(at)
	n := 0
	newID := func() string { n++; return fmt.Sprintf("%d-%06d", at.Unix(), n) }
	bus := trace.NewBus(sim)
	p := &folding{whole: &whole{}}
	sim.Run(func() {
		var err error
		p.st, err = store.Open(t.Context(), store.Config{Path: path, Clock: sim, NewID: newID, Publish: bus.Publish})
		if err != nil {
			t.Fatal(err)
		}
	})
	p.slow = &slowStore{Store: p.st}
	if hold {
		p.slow.hold = clock.NewLatch(sim)
	}
	registry := tools.NewRegistry(builtin.All(builtin.Deps{Corpus: assets.Corpus(), Todos: p.st, Artifacts: p.st, NewID: newID})...)
	p.engine = runtime.NewEngine(runtime.EngineConfig{
		Store: p.slow, Memory: p.st, Model: offline.New(offline.Config{Clock: sim, Pace: 20 * time.Millisecond}), DefaultModel: "offline", Registry: registry,
		Executor: tools.NewExecutor(sim, registry, tools.Config{}), Bus: bus, Clock: sim, NewID: newID, User: "ann", System: assets.SystemPrompt(),
		Summarize: assets.SummarizePrompt(),
		Limits: runtime.Limits{Budget: runtime.Budget{Steps: 8, Calls: 20, Tokens: 100000}, ContextTokens: 6000, RawTurns: 2, ResultChars: 2000, Fold: mode},
	})
	opts := Options{Agent: p.engine, Library: p.st, Feed: bus, Clock: sim, User: "ann", Model: "offline", Limits: Limits{Steps: 8, Calls: 20, Tokens: 100000}}
	p.driver = drive(t, sim, opts, w, h)
	p.frames = p.straight
	p.pass(100 * time.Millisecond)
	return p
}

// Two turns fill the window; the third folds the first.
var (
	firstWords  = "Remember that the deploy is on Friday. Never deploy after 15:00. The region is eu-west and twelve workers move forty thousand messages an hour there."
	secondWords = "my favourite colour is teal"
	thirdWords  = "when is the deploy?"
)

func (p *folding) fill() {
	p.t.Helper()
	p.ask(firstWords)
	p.ask(secondWords)
	p.typed(thirdWords)
	p.press("enter")
}

// until lets time go by in small steps until the screen shows the text.
func (p *folding) until(text string) {
	p.t.Helper()
	for range 1000 {
		if strings.Contains(p.screen(), text) {
			return
		}
		p.pass(5 * time.Millisecond)
	}
	p.t.Fatalf("the screen never shows %q:\n%s", text, p.screen())
}

func TestFoldIsSeen(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 120, 36, runtime.FoldAuto, false)
	p.fill()
	p.until("COMMITTED")
	p.sees("▸ folded turn 1")
	p.pass(8 * time.Second)
	p.seesNot("COMMITTED")
	p.sees("▸ folded turn 1", "Friday")
	p.leave()
}

func TestFoldAsks(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 120, 36, runtime.FoldAsk, false)
	p.fill()
	p.until("y fold")
	p.pass(time.Second)
	p.press("v")
	p.sees("MEMORY, before and after")
	p.press("esc")
	p.pass(time.Second)
	p.press("y")
	p.until("COMMITTED")
	p.sees("▸ folded turn 1")
	p.pass(8 * time.Second)
	p.seesNot("COMMITTED")
	p.sees("▸ folded turn 1", "Friday")
	p.leave()
}
