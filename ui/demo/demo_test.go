package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/store"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui"
	"vitrine/ui/emulator"
)

// What a crash in a play leaves open is the dead program's, as with a real one.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"))
}

var start = time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)

// drive starts a Driver on an engine with a scripted model.
func drive(t *testing.T, change func(*Config), steps ...scripted.Step) *Driver {
	t.Helper()
	clk := clock.NewSim(start)
	n := 0
	id := func() string { n++; return fmt.Sprintf("id-%04d", n) }
	bus := trace.NewBus(clk)
	var (
		st     *store.Store
		engine *runtime.Engine
		err    error
	)
	clk.Run(func() {
		st, err = store.Open(context.Background(), store.Config{Path: filepath.Join(t.TempDir(), "s.db"), Clock: clk, NewID: id, Publish: bus.Publish})
		if err != nil {
			return
		}
		registry := tools.NewRegistry()
		engine = runtime.NewEngine(runtime.EngineConfig{
			Store: st, Model: scripted.New(clk, steps...), DefaultModel: "mock", Registry: registry, Executor: tools.NewExecutor(clk, registry, tools.Config{}),
			Bus: bus, Clock: clk, NewID: id, Limits: runtime.Limits{ContextTokens: 6000, RawTurns: 20, ResultChars: 2000}, System: "You help.", User: "ann",
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Clock: clk, Width: 120, Height: 30, Options: ui.Options{Agent: engine, Library: st, Feed: bus, User: "ann", Model: "mock"}}
	if change != nil {
		change(&cfg)
	}
	d := New(cfg)
	t.Cleanup(func() {
		d.Close()
		clk.Run(func() {
			if err := errors.Join(engine.Shutdown(context.Background(), false), st.Close(context.Background())); err != nil {
				t.Error(err)
			}
			bus.Close()
		})
	})
	return d
}

func wait(t *testing.T, d *Driver, text string) {
	t.Helper()
	if err := d.Wait(time.Minute, text); err != nil {
		t.Fatal(err)
	}
}

func TestTypesAndReads(t *testing.T) {
	d := drive(t, nil, scripted.Text("Hello to you.").Pace(100*time.Millisecond))
	wait(t, d, "ready")
	d.Type("hi 你好\n👨‍👩‍👧 x")
	s := d.Screen()
	if !s.Has("❯ hi 你好") || !s.Has("  ") {
		t.Errorf("the input is not there:\n%s", s)
	}
	x, y, ok := s.Cursor()
	if _, row, _ := s.Find("❯ hi"); !ok || y != row+1 || x < 4 {
		t.Errorf("the cursor stands at %d,%d %v", x, y, ok)
	}
	d.Press("enter")
	before := d.Now()
	wait(t, d, "Hello to you.")
	if took := d.Now().Sub(before); took <= 0 || took > time.Second {
		t.Errorf("it took %v", took)
	}
	d.Press("ctrl+x", "y")
	d.Advance(time.Second)
	if got := d.Clipboard(); got != "Hello to you." {
		t.Errorf("copied %q", got)
	}
	if !strings.Contains(d.View(), "Hello") {
		t.Error("the frame of now lacks the answer")
	}
}

func TestWaitsOnlySoLong(t *testing.T) {
	d := drive(t, nil)
	before := d.Now()
	err := d.Wait(3*time.Second, "never there")
	var late *TimeoutError
	if !errors.As(err, &late) || late.Ended || !strings.Contains(err.Error(), "did not come within 3s") || !strings.Contains(err.Error(), "ready") {
		t.Errorf("%v", err)
	}
	if took := d.Now().Sub(before); took != 3*time.Second {
		t.Errorf("it waited %v", took)
	}
	d.Press("ctrl+c", "ctrl+c")
	d.Advance(time.Second)
	if !d.Ended() || d.Farewell() != "1 tab kept: vitrine --continue" {
		t.Errorf("ended %v, %q", d.Ended(), d.Farewell())
	}
	if err := d.Wait(time.Hour, "never there"); !errors.As(err, &late) || !late.Ended || !strings.Contains(err.Error(), "before the screen was left") {
		t.Errorf("%v", err)
	}
	d.Send(tea.WindowSizeMsg{Width: 10, Height: 3}) // nobody hears it
}

// Frames come at most 120 times a second, each told with its time, and together they are all that the terminal got.
func TestFramesAreCounted(t *testing.T) {
	var times []time.Time
	var all strings.Builder
	text := strings.Repeat("word ", 40)
	d := drive(t, func(c *Config) {
		c.Output = func(at time.Time, frame string) {
			times = append(times, at)
			all.WriteString(frame)
		}
	}, scripted.Text(text).ChunkSize(5).Pace(time.Millisecond))
	wait(t, d, "ready")
	d.Send(keyOf(t, "h"), keyOf(t, "i"), keyOf(t, "enter"))
	wait(t, d, "done")
	d.Show()
	for i := 1; i < len(times); i++ {
		if gap := times[i].Sub(times[i-1]); gap < FrameTime {
			t.Errorf("frame %d comes %v after the one before", i, gap)
		}
	}
	again := emulator.New(120, 30, ansi.WcWidth)
	again.Write(all.String())
	if diff := again.Screen().Diff(d.Screen()); diff != "" {
		t.Error(diff)
	}
	if diff := d.Repaint().Diff(d.Screen()); diff != "" {
		t.Error(diff)
	}
	if i := strings.Index(all.String(), ansi.SetModeAltScreenSaveCursor); i < 0 || i > 20 {
		t.Errorf("it begins with %q", all.String()[:40])
	}
}

func keyOf(t *testing.T, name string) tea.KeyPressMsg {
	t.Helper()
	k, err := Key(name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSizes(t *testing.T) {
	d := drive(t, nil)
	for _, size := range [][2]int{{60, 20}, {0, 0}, {1, 1}, {-3, 5}, {200, 60}, {20, 5}, {100, 30}} {
		d.Resize(size[0], size[1])
		d.Show()
		if w, h := d.Screen().Size(); w != max(size[0], 1) || h != max(size[1], 1) {
			t.Errorf("the terminal of %v is %dx%d", size, w, h)
		}
		if size[0] > 0 && size[1] > 0 {
			if diff := d.Screen().Diff(d.Repaint()); diff != "" {
				t.Errorf("%v: %s", size, diff)
			}
		}
	}
}

func TestLook(t *testing.T) {
	for _, c := range []struct {
		profile  colorprofile.Profile
		light    bool
		grapheme bool
		want     string // in what is written
	}{
		{0, false, false, "48;2;16;20;23"},
		{colorprofile.TrueColor, true, true, "48;2;251;250;246"},
		{colorprofile.ANSI256, false, false, "38;5;"},
	} {
		var out strings.Builder
		d := drive(t, func(cfg *Config) {
			cfg.Profile, cfg.Light, cfg.Grapheme = c.profile, c.light, c.grapheme
			cfg.Output = func(_ time.Time, frame string) { out.WriteString(frame) }
		})
		d.Advance(time.Second)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%+v: no %q", c, c.want)
		}
		if bg := d.Screen().Style(3, 6).Bg; c.light && bg == nil {
			t.Error("no background")
		}
	}
}

func TestKeys(t *testing.T) {
	for name, want := range map[string]tea.KeyPressMsg{
		"a":             {Code: 'a', Text: "a"},
		"A":             {Code: 'A', Text: "A"},
		"+":             {Code: '+', Text: "+"},
		"ctrl+x":        {Code: 'x', Mod: tea.ModCtrl},
		"alt+,":         {Code: ',', Mod: tea.ModAlt},
		"ctrl+alt+down": {Code: tea.KeyDown, Mod: tea.ModCtrl | tea.ModAlt},
		"shift+tab":     {Code: tea.KeyTab, Mod: tea.ModShift},
		"space":         {Code: tea.KeySpace, Text: " "},
		"ctrl+space":    {Code: tea.KeySpace, Mod: tea.ModCtrl},
	} {
		if got := keyOf(t, name); got != want || name != "+" && name != "A" && got.String() != name {
			t.Errorf("%s: %+v, written %s", name, got, got)
		}
	}
	for _, name := range strings.Fields("enter esc backspace delete up left right home end pgup pgdown") {
		if got := keyOf(t, name).String(); got != name {
			t.Errorf("%s is %s", name, got)
		}
	}
	for _, name := range []string{"hyper+x", "entre", "", "ctrl+"} {
		if k, err := Key(name); err == nil {
			t.Errorf("%q is %v", name, k)
		}
	}
	d := drive(t, nil)
	defer func() {
		if recover() == nil {
			t.Error("a key that is none is pressed")
		}
	}()
	d.Press("entre")
}

// What commands bring is handed over as Bubble Tea does it: batches side by side, sequences one after the other.
func TestCommands(t *testing.T) {
	d := drive(t, nil, scripted.Fail(&llm.Error{Kind: llm.ErrAuth, Status: 401}))
	say := func(s string) tea.Cmd { return func() tea.Msg { return tea.PasteMsg{Content: s} } }
	d.run(tea.Sequence(say("one "), nil, tea.Batch(say("two "), nil), say("three ")))
	d.run(nil)
	d.settle()
	d.Paste("four")
	if got := d.Screen(); !got.Has("❯ one") || !got.Has("two") || !got.Has("three") || !got.Has("four") {
		t.Errorf("the input holds something else:\n%s", got)
	}
}
