package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/store"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui"
)

// testStage is a program with a scripted model and one tool that takes a second.
type testStage struct {
	model *scripted.Client
	n     int
	opens int
	fail  error
}

func (s *testStage) Open(ctx context.Context, clk *clock.Sim, dir string, again bool) (Program, error) {
	if s.opens++; s.fail != nil {
		return Program{}, s.fail
	}
	id := func() string { s.n++; return fmt.Sprintf("id-%04d", s.n) }
	bus := trace.NewBus(clk)
	st, err := store.Open(ctx, store.Config{Path: filepath.Join(dir, "s.db"), Clock: clk, NewID: id, Publish: bus.Publish})
	if err != nil {
		return Program{}, err
	}
	s.model.Move(clk)
	registry := tools.NewRegistry(tools.New("look", "looks", tools.ReadOnly, func(ctx context.Context, _ tools.Call, _ struct{}) (tools.Output, error) {
		return tools.Output{Data: "seen"}, clk.Sleep(ctx, time.Second)
	}))
	engine := runtime.NewEngine(runtime.EngineConfig{
		Store: st, Model: s.model, DefaultModel: "mock", Registry: registry, Executor: tools.NewExecutor(clk, registry, tools.Config{}),
		Bus: bus, Clock: clk, NewID: id, Limits: runtime.Limits{ContextTokens: 6000, RawTurns: 20, ResultChars: 2000}, System: "You help.", User: "ann",
	})
	return Program{
		Options: ui.Options{Agent: engine, Library: st, Drafts: st, Feed: bus, User: "ann", Model: "mock", Continue: again},
		Close: func(ctx context.Context) error {
			err := errors.Join(engine.Shutdown(ctx, false), st.Close(ctx))
			bus.Close()
			return err
		},
	}, nil
}

// played is what a play gave.
type played struct {
	out   strings.Builder
	sizes []string
	met   []string
	told  []string
	begin time.Time
	end   time.Time
	last  Screen
}

// playOf plays a script; steps are TOML.
func playOf(t *testing.T, ctx context.Context, stage *testStage, steps string, change func(*Play)) (*played, error) {
	t.Helper()
	script, err := ParseScript("test.toml", []byte(steps))
	if err != nil {
		t.Fatal(err)
	}
	if stage.model == nil {
		stage.model = scripted.New(nil, script.Replies...)
	}
	script.Name = "test"
	p := &played{}
	play := Play{
		Script: script, Stage: stage, Dir: t.TempDir(),
		Output: func(at time.Time, out string) {
			if p.begin.IsZero() {
				p.begin = at
			}
			if at.Before(p.end) {
				t.Errorf("time goes back to %v", at)
			}
			p.end = at
			p.out.WriteString(out)
		},
		Resized:  func(at time.Time, w, h int) { p.sizes = append(p.sizes, fmt.Sprintf("%dx%d", w, h)) },
		Met:      func(_ time.Time, name string, s Screen) { p.met, p.last = append(p.met, name), s },
		Progress: func(i, n int) { p.told = append(p.told, fmt.Sprintf("%d/%d", i, n)) },
	}
	if change != nil {
		change(&play)
	}
	return p, play.Run(ctx)
}

const onePlay = `
[[reply]]
calls = [ { name = "look", args = {} } ]
[[reply]]
text = "Seen it all."
pace = "10ms"
[[step]]
caption = "A caption 说明"
for = "700ms"
[[step]]
enter = "look"
[[step]]
wait = { state = "running", event = "tool_call" }
[[step]]
wait = { state = "succeeded" }
[[step]]
expect = { answer = "Seen it all.", turns = 1, text = "Seen it", pane = "chat" }
[[step]]
resize = "60x20"
[[step]]
expect = { text = "A caption 说明" }
[[step]]
pause = "2s"
`

func TestPlay(t *testing.T) {
	p, err := playOf(t, t.Context(), &testStage{}, onePlay, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.sizes, " "); got != "100x30 60x20" {
		t.Errorf("sizes %s", got)
	}
	if len(p.met) != 2 || !strings.Contains(p.met[0], `an answer with "Seen it all."`) {
		t.Errorf("met %q", p.met)
	}
	if p.told[0] != "1/9" || p.told[len(p.told)-1] != "9/9" {
		t.Errorf("progress %q", p.told)
	}
	// The caption stands under the program, on the last row.
	if w, h := p.last.Size(); w != 60 || h != 20 || !strings.HasPrefix(p.last.Row(19), " A caption 说明") || !strings.Contains(p.last.Row(18), "done") {
		t.Errorf("the last screen:\n%s", p.last)
	}
	// A person types, a tool takes a second, and the pauses count: all of it in the time of the play.
	if took := p.end.Sub(p.begin); took < 4*time.Second || took > 6*time.Second {
		t.Errorf("it took %v", took)
	}
}

// The same script gives the same bytes at the same times; another name types at another pace.
func TestPlaysAreTheSame(t *testing.T) {
	one, err := playOf(t, t.Context(), &testStage{}, onePlay, nil)
	two, err2 := playOf(t, t.Context(), &testStage{}, onePlay, nil)
	if err != nil || err2 != nil || one.out.String() != two.out.String() || one.end != two.end {
		t.Errorf("%v, %v; %d and %d bytes, %v and %v", err, err2, one.out.Len(), two.out.Len(), one.end, two.end)
	}
	other, err := playOf(t, t.Context(), &testStage{}, onePlay, func(p *Play) { p.Script.Name = "other" })
	if err != nil || other.end == one.end {
		t.Errorf("%v, %v", err, other.end)
	}
}

// The first step that fails ends the play, with its place, what was expected, and the screen.
func TestPlaysThatFail(t *testing.T) {
	for _, c := range []struct{ steps, what string }{
		{"[[step]]\nenter = \"hi\"\n[[step]]\nwait = { state = \"succeeded\" }\n[[step]]\nexpect = { answer = \"Goodbye\" }", "test.toml:11:3: step 4: expected an answer with \"Goodbye\""},
		{"[[step]]\nenter = \"hi\"\n[[step]]\nwait = { text = \"never\" }\nwithin = \"3s\"", "test.toml:9:3: step 3: the text \"never\" did not come within 3s"},
		{"[[step]]\nenter = \"hi\"\n[[step]]\nwait = { text = \"Hello\", pane = \"chat\" }\n[[step]]\nexpect = { text = \"Hello\", not = true }", "step 4: expected no more the text \"Hello\""},
		{"[[step]]\nkey = \"ctrl+c ctrl+c\"\n[[step]]\npause = \"5s\"\n[[step]]\ntype = \"x\"", "step 3: the screen was left before this step"},
	} {
		_, err := playOf(t, t.Context(), &testStage{}, "[[reply]]\ntext = \"Hello.\"\n\n\n\n\n"+c.steps, nil)
		var failed *StepError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.what) || !strings.Contains(err.Error(), "the screen shows:\n") ||
			strings.Contains(failed.Headline(), "\n") {
			t.Errorf("%v\nwant %s", err, c.what)
		}
		if c.what[0] == 't' && !strings.Contains(err.Error(), "Hello.") {
			t.Errorf("the screen is not shown: %v", err)
		}
	}
	broken := errors.New("no such store")
	if _, err := playOf(t, t.Context(), &testStage{fail: broken}, onePlay, nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// Cancelling ends a play soon, and closes the program.
func TestPlayIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := playOf(t, ctx, &testStage{}, onePlay, func(p *Play) {
		p.Progress = func(i, _ int) {
			if i == 4 {
				cancel()
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

const twoLives = `
[[reply]]
calls = [ { name = "look", args = {} } ]
[[reply]]
text = "Seen."
[[reply]]
text = "Again."
[[step]]
enter = "look"
[[step]]
wait = { event = "tool_call" }
[[step]]
HOW = true
[[step]]
THEN
[[step]]
wait = { state = "succeeded" }
[[step]]
expect = { text = "Seen.", pane = "chat", answer = "Seen." }
[[step]]
enter = "and?"
[[step]]
wait = { state = "succeeded" }
[[step]]
expect = { text = "Again.", pane = "chat", turns = 2 }
`

// After a crash the program starts on what is on the disk, and goes on; after a restart too, where the run had been waited for.
func TestLives(t *testing.T) {
	crash := strings.NewReplacer("HOW", "crash", "THEN", `wait = { text = "INTERRUPTED" }`+"\n[[step]]\nkey = \"tab y\"").Replace(twoLives)
	stage := &testStage{}
	p, err := playOf(t, t.Context(), stage, crash, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out := p.out.String(); stage.opens != 2 || !strings.Contains(out, "Killed\r\n$ vitrine --continue") {
		t.Errorf("%d lives", stage.opens)
	}
	restart := strings.NewReplacer("HOW = true\n[[step]]\nTHEN", "wait = { state = \"succeeded\" }\n[[step]]\nrestart = true").Replace(twoLives)
	restart = strings.Replace(restart, "[[step]]\nwait = { state = \"succeeded\" }\n[[step]]\nexpect = { text = \"Seen.\"", "[[step]]\nwait = { text = \"Seen.\" }\n[[step]]\nexpect = { text = \"Seen.\"", 1)
	stage = &testStage{}
	if p, err = playOf(t, t.Context(), stage, restart, nil); err != nil {
		t.Fatal(err)
	}
	if out := p.out.String(); stage.opens != 2 || !strings.Contains(out, "1 tab kept: vitrine --continue\r\n$ vitrine --continue") {
		t.Errorf("%d lives", stage.opens)
	}
}

// What keeps the program from starting after a crash is told: the one that was crashed is not asked to end in order.
func TestCrashesThatFail(t *testing.T) {
	const crash = "[[reply]]\ntext = \"x\"\n[[step]]\npause = \"10ms\"\n[[step]]\ncrash = true"
	broken := errors.New("no room")
	stage := &testStage{}
	_, err := playOf(t, t.Context(), stage, crash, func(p *Play) { p.Progress = func(int, int) { stage.fail = broken } })
	var failed *StepError
	if !errors.Is(err, broken) || !errors.As(err, &failed) || failed.Step != 2 {
		t.Errorf("the start fails: %v", err)
	}
	_, err = playOf(t, t.Context(), &testStage{}, crash, func(p *Play) {
		if err := os.MkdirAll(filepath.Join(p.Dir, "data-2", "s.db"), 0o700); err != nil {
			t.Fatal(err)
		}
	})
	if !errors.As(err, &failed) || failed.Step != 2 || !strings.Contains(err.Error(), "copy what the crash left") {
		t.Errorf("the copy fails: %v", err)
	}
}

// A caption never changes the size of the program's rows, and a terminal of one row has none.
func TestCaptionRow(t *testing.T) {
	for _, c := range []struct {
		content, caption string
		w, h             int
		want             string
	}{
		{"a\nb", "", 4, 3, "a\nb\n    "},
		{"a", "hi", 5, 3, "a\n\n\x1b[1;7m hi  \x1b[0m"},
		{"a\nb\nc", "中文字", 5, 3, "a\nb\n\x1b[1;7m 中文\x1b[0m"},
		{"a", "hi", 5, 1, "a"},
	} {
		if got := withCaption(c.content, c.caption, c.w, c.h); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
