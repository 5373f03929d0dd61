package ui

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vitrine/assets"
	"vitrine/llm"
	"vitrine/llm/offline"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/store"
	"vitrine/tools"
	"vitrine/tools/builtin"
	"vitrine/trace"
	"vitrine/ui/input"
	"vitrine/ui/theme"
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

func newFolding(t *testing.T, path string, at time.Time, w, h int, mode runtime.FoldMode, hold bool, change ...func(*Options)) *folding {
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
		Store: p.slow, Memory: p.st, Model: pausing{offline.New(offline.Config{Clock: sim, Pace: 20 * time.Millisecond}), sim}, DefaultModel: "offline", Registry: registry,
		Executor: tools.NewExecutor(sim, registry, tools.Config{}), Bus: bus, Clock: sim, NewID: newID, User: "ann", System: assets.SystemPrompt(),
		Summarize: assets.SummarizePrompt(),
		Limits:    runtime.Limits{Budget: runtime.Budget{Steps: 8, Calls: 20, Tokens: 100000}, ContextTokens: 6000, RawTurns: 2, ResultChars: 2000, Fold: mode},
	})
	opts := Options{Agent: p.engine, Library: p.st, Feed: bus, Clock: sim, User: "ann", Model: "offline", Limits: Limits{Steps: 8, Calls: 20, Tokens: 100000}}
	for _, c := range change {
		c(&opts)
	}
	p.driver = drive(t, sim, opts, w, h)
	p.frames = p.straight
	p.pass(100 * time.Millisecond)
	return p
}

// pausing waits before a summary begins, so that the rows that leave can be seen to sink.
type pausing struct {
	llm.Client
	clk clock.Clock
}

func (p pausing) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if req.Messages[0].Content == assets.SummarizePrompt() {
			if err := p.clk.Sleep(ctx, 400*time.Millisecond); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
		}
		for c, err := range p.Client.Stream(ctx, req) {
			if !yield(c, err) {
				return
			}
		}
	}
}

// What is said: the third turn folds the first, the fourth the second, with its tool.
const (
	firstWords  = "Remember that the deploy is on Friday. Never deploy after 15:00. The region is eu-west and twelve workers move forty thousand messages an hour there."
	secondWords = "look up what an agent loop is"
	thirdWords  = "my favourite colour is teal"
	fourthWords = "when is the deploy?"
)

func (p *folding) say(text string) {
	p.t.Helper()
	p.typed(text)
	p.press("enter")
}

// fold says three turns and begins the fourth.
func (p *folding) fold() {
	p.t.Helper()
	p.ask(firstWords)
	p.ask(secondWords)
	p.ask(thirdWords)
	p.pass(8 * time.Second)
	p.say(fourthWords)
}

// until lets time go by in small steps until the screen shows the text.
func (p *folding) until(text string) {
	p.t.Helper()
	text = p.m.env.opts.Lang.Kept(text)
	for range 2000 {
		if strings.Contains(p.screen(), text) {
			return
		}
		p.pass(5 * time.Millisecond)
	}
	p.t.Fatalf("the screen never shows %q:\n%s", text, p.screen())
}

// dimCells counts the cells of the rows with a text whose colour is that of hints.
func (p *folding) faint(text string) bool {
	p.t.Helper()
	rows := strings.Split(p.m.View().Content, "\n")
	for y, r := range p.grid() {
		if strings.Contains(r, text) {
			// A dimmed row has no bold and no text in the colour of what is read.
			strong, _ := p.m.env.style.Theme.Style(theme.Strong, theme.OnBase, true)
			plain, _ := p.m.env.style.Theme.Style(theme.Text, theme.OnBase, false)
			at := strings.Index(rows[y], strings.Fields(text)[0])
			before := rows[y][:max(at, 0)]
			return !strings.HasSuffix(before, strong) && !strings.HasSuffix(before, plain)
		}
	}
	p.t.Fatalf("the screen does not show %q:\n%s", text, p.screen())
	return false
}

// The question of a fold, answered each way.
func TestFoldAsks(t *testing.T) {
	sizes := [][2]int{{200, 50}, {120, 36}, {80, 24}}
	if testing.Short() {
		sizes = sizes[2:]
	}
	for _, size := range sizes {
		p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, size[0], size[1], runtime.FoldAsk, false)
		p.ask(firstWords)
		p.ask(secondWords)
		p.say(thirdWords)
		p.until("y fold")
		p.sees("?", "needs you")
		if p.m.page().mark() != markNeedsYou {
			t.Error("the tab does not say that it needs the user")
		}
		p.press("y") // too early: the question has stood for less than half a second
		if p.m.page().asking == nil {
			t.Fatal("a key that was on its way answered")
		}
		p.press("backspace")
		p.pass(time.Second)
		p.answer("v")
		p.sees("MEMORY, before and after", "Never deploy after 15:00.")
		p.press("esc")
		p.pass(time.Second)
		p.answer("y")
		p.until("COMMITTED")
		p.pass(8 * time.Second)
		p.seesNot("COMMITTED", "y fold")
		p.say(fourthWords)
		p.until("y fold")
		p.pass(time.Second)
		p.press("tab", "n")
		p.pass(3 * time.Second)
		p.sees("not folded: you said no", "Friday")
		if p.m.page().focus != paneInput {
			t.Error("the focus stays on a question that is gone")
		}
		p.leave()
	}
}

// Esc stops a fold that waits; nothing of it stays but a line.
func TestFoldIsStopped(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 120, 36, runtime.FoldAsk, false)
	p.ask(firstWords)
	p.ask(secondWords)
	p.say(thirdWords)
	p.until("y fold")
	p.press("esc")
	p.pass(2 * time.Second)
	p.seesNot("y fold", "READY")
	p.sees("not folded: stopped; everything stays", "/ stopped")
	p.leave()
}

// After a restart the line stands at the boundary with the folded messages above it, dimmed; undo takes it away.
func TestFoldAfterRestartAndUndo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	p := newFolding(t, path, start, 120, 44, runtime.FoldAuto, false)
	p.fold()
	p.pass(15 * time.Second)
	p.sees("▸ folded turn 1", "▸ folded turn 2", "⚑ Never deploy", "turn 1", "folds")
	p.leave()

	p = newFolding(t, path, start.Add(time.Hour), 120, 44, runtime.FoldAuto, false)
	p.sees("▸ folded turn 1", "▸ folded turn 2", "⚑ Never deploy", "folds             2")
	if !p.faint("look up what an agent loop is") || p.faint("my favourite colour is teal") {
		t.Errorf("dim: turn 2 %v, turn 3 %v", p.faint("look up what an agent loop is"), p.faint("my favourite colour is teal"))
	}
	rows := p.grid()
	line, turn3, turn2 := indexOf(rows, "▸ folded turn 2"), indexOf(rows, "my favourite colour"), indexOf(rows, "look up what")
	if !(turn2 < line && line < turn3) {
		t.Errorf("rows: turn 2 at %d, the line at %d, turn 3 at %d", turn2, line, turn3)
	}
	p.press("ctrl+x", "u")
	p.pass(time.Second)
	p.sees("taken back: turn 2", "▸ folded turn 1", "folds             1")
	p.seesNot("▸ folded turn 2")
	if p.faint("look up what an agent loop is") {
		t.Error("what is in the window again is still dim")
	}
	p.enter("/compact undo")
	p.pass(time.Second)
	p.seesNot("▸ folded")
	p.enter("/compact undo")
	p.pass(100 * time.Millisecond)
	p.sees("there is no fold to take back")
	p.pass(10 * time.Second)
	p.enter("/compact")
	p.until("COMMITTED")
	p.pass(8 * time.Second)
	p.sees("▸ folded turns 1-2")
	p.leave()
}

func indexOf(rows []string, text string) int {
	return slices.IndexFunc(rows, func(r string) bool { return strings.Contains(r, text) })
}

// Pins by hand, from the inspector, and away again.
func TestPins(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 160, 44, runtime.FoldAuto, false)
	p.enter("/unpin")
	p.sees("nothing is pinned")
	p.enter("/pin write in British English")
	p.pass(100 * time.Millisecond)
	p.sees("PINS", "⚑ write in British", "pinned: write in British English")
	p.ask(firstWords)
	p.press("ctrl+x", "c")
	p.pass(50 * time.Millisecond)
	p.sees("CONTEXT", "memory: 1 pin", "p pin")
	p.press("p")
	p.pass(100 * time.Millisecond)
	p.sees("⚑ Remember that the deploy", "memory: 2 pins")
	p.press("o")
	p.sees(`"Parts"`)
	p.press("esc")
	p.sees("CONTEXT")
	p.press("enter")
	p.sees("exactly as it is sent", "twelve workers")
	p.press("esc", "f")
	p.pass(time.Second)
	p.sees("not folded: there is nothing to fold")
	p.enter("/unpin")
	p.sees("UNPIN", "1  write in British English")
	p.press("enter")
	p.pass(100 * time.Millisecond)
	p.seesNot("⚑ write in British")
	p.enter("/unpin nothing")
	p.pass(50 * time.Millisecond)
	p.sees("there is no pin nothing")
	p.enter("/unpin 9")
	p.pass(50 * time.Millisecond)
	p.sees("there is no pin 9")
	p.say("what is 1+1?")
	p.press("ctrl+x", "c")
	p.pass(20 * time.Millisecond)
	p.sees("the context changes while a turn runs")
	p.pass(5 * time.Second)
	p.leave()
}

// No row of a fold is too wide at any size; p.frames checks each frame.
func TestFoldAtAnySize(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 120, 36, runtime.FoldAuto, false)
	p.fold()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		p.resize(1+rng.IntN(200), 1+rng.IntN(60))
		p.settle()
		p.straight(p.m.View().Content)
		p.pass(10 * time.Millisecond)
	}
	p.resize(100, 30)
	p.pass(8 * time.Second)
	p.press("tab", "k", "k", "k", "enter", "v")
	for range 100 {
		p.resize(1+rng.IntN(200), 1+rng.IntN(60))
		p.settle()
		p.straight(p.m.View().Content)
	}
	p.resize(100, 30)
	p.press("esc", "esc")
	p.leave()
}

// What is typed shows in the meter before it is sent; commands do not.
func TestDraftInTheMeter(t *testing.T) {
	d := newDriver(t, 100, 30)
	before := d.grid()[1]
	d.typed("/help")
	if d.grid()[1] != before {
		t.Error("a command counts")
	}
	d.press("ctrl+c")
	d.send(tea.PasteMsg{Content: strings.Repeat("many words to be counted ", 200)})
	d.settle()
	d.sees("~1.9k of 6k")
	d.press("ctrl+c")
	if d.grid()[1] != before {
		t.Errorf("%q after the input was cleared, %q before", d.grid()[1], before)
	}
}

// The meter shrinks in 400 ms, and at once without motion.
func TestMeterShrinks(t *testing.T) {
	var g gauge
	g.set(trace.Meter{System: 1000, Window: 5000, Limit: 6000}, start)
	if got := g.at(start, false).Used(); got != 6000 {
		t.Fatalf("%d", got)
	}
	g.set(trace.Meter{System: 1000, Window: 1000, Limit: 6000}, start)
	last := 6001
	for ms := 0; ms <= 400; ms += 50 {
		got := g.at(start.Add(time.Duration(ms)*time.Millisecond), false).Used()
		if got >= last {
			t.Errorf("%d at %d ms after %d", got, ms, last)
		}
		last = got
	}
	if last != 2000 || g.shrinking(start.Add(400*time.Millisecond)) || g.at(start, true).Used() != 2000 {
		t.Errorf("ends at %d", last)
	}
}

// B080: a message that does not fit is refused with its size before it is sent, and stays in the input.
func TestMessageThatDoesNotFit(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 120, 36, runtime.FoldAuto, false)
	text := strings.Repeat("a specification of many words ", 3400)
	p.send(tea.PasteMsg{Content: text})
	p.settle()
	p.press("enter")
	p.pass(100 * time.Millisecond)
	p.sees("not sent", "of 6k")
	if got := input.Plain(p.m.page().edit.Text()); got != text {
		t.Errorf("%d of %d bytes are left in the input", len(got), len(text))
	}
	p.press("ctrl+c")
	p.leave()
}

// B083: right after a fold the meter shows the new size.
func TestMeterAfterAFold(t *testing.T) {
	p := newFolding(t, filepath.Join(t.TempDir(), "sessions.db"), start, 160, 44, runtime.FoldAuto, false)
	p.ask(firstWords)
	p.ask(secondWords)
	p.ask(thirdWords)
	p.pass(8 * time.Second)
	before := p.m.page().gauge.now.Used()
	p.enter("/compact")
	p.until("COMMITTED")
	p.pass(500 * time.Millisecond)
	after := p.m.page().gauge.now.Used()
	if after >= before || p.m.page().gauge.shrinking(p.sim.Now()) {
		t.Errorf("%d before, %d after", before, after)
	}
	p.sees("~" + theme.Tokens(after, false) + " of 6k")
	p.pass(8 * time.Second)
	if p.m.page().moves() {
		t.Error("something moves though nothing works")
	}
	p.leave()
}

// What was folded last is read with the window, so that the boundary has something above it; a gap of folded steps is filled.
func TestFoldedMessagesAreRead(t *testing.T) {
	d := newDriver(t, 100, 30, func(_ *Options, f *fake) {
		s := f.session("ann-window-1")
		for n := range int64(300) {
			s.msgs = append(s.msgs, runtime.MessageRow{N: n + 1, Kind: llm.KindUser, Content: fmt.Sprint("message ", n+1)})
		}
	})
	all := d.f.sessions["ann-window-1"].msgs
	for name, c := range map[string]struct {
		from        int64
		window      []runtime.MessageRow
		first, rows int64
	}{
		"no fold":                {1, all[:5], 1, 5},
		"a short window":         {291, all[290:], 191, 110},
		"a long window":          {201, all[200:], 201, 100},
		"a question before gaps": {281, append([]runtime.MessageRow{all[260]}, all[280:]...), 181, 120},
		"nothing":                {291, nil, 0, 0},
	} {
		got, err := d.m.env.withOlder("ann-window-1", runtime.Snapshot{Session: runtime.SessionRow{WindowFrom: c.from}, Messages: c.window})
		if err != nil || int64(len(got)) != c.rows || c.rows > 0 && got[0].N != c.first {
			t.Errorf("%s: %d messages, %v", name, len(got), err)
			continue
		}
		for i := 1; i < len(got); i++ {
			if got[i].N != got[i-1].N+1 {
				t.Errorf("%s: %d after %d", name, got[i].N, got[i-1].N)
			}
		}
	}
}
