package paint_test

import (
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"vitrine/runtime/clock"
	"vitrine/ui/paint"
	"vitrine/ui/paint/termtest"
)

// A terminal that takes nothing, as after Ctrl+S or over a line that is stuck, holds up nobody who shows frames, sizes, copies or what
// the terminal can do; of what waits only the newest frame is kept; and when it takes again, that one comes.
func TestATerminalThatIsStuck(t *testing.T) {
	defer goleak.VerifyNone(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	term := paint.NewTerminal(paint.TerminalConfig{Out: w, Clock: clock.Real(), Painter: paint.PainterConfig{Profile: colorprofile.TrueColor}, Env: func(string) string { return "" }})
	if err := term.Start(); err != nil {
		t.Fatal(err)
	}
	term.Filter(tea.WindowSizeMsg{Width: 200, Height: 50})
	frame := func(i int) tea.View {
		return tea.NewView(strings.Repeat(strings.Repeat(string(rune('a'+i%26)), 200)+"\n", 49) + "the last row")
	}
	for i := range 100 { // far more than a pipe holds
		term.Show(frame(i), true)
		time.Sleep(time.Millisecond)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	frames, blob := 20000, strings.Repeat("eA==", 100_000)
	if testing.Short() {
		frames, blob = 2000, "eA=="
	}
	began := time.Now()
	for i := range frames {
		term.Show(frame(i), i%2 == 0)
		if i%100 == 0 {
			term.Filter(tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset})
			term.Filter(tea.WindowSizeMsg{Width: 200, Height: 50})
			term.Filter(tea.BackgroundColorMsg{})
			term.Filter(tea.RawMsg{Msg: "\x1b]52;c;" + blob + "\a"})
		}
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("%d frames for a stuck terminal take %v", frames, took)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("%d MB wait for a stuck terminal", grown>>20)
	}
	term.Show(tea.NewView("NOW"), true)
	emu := termtest.New(termtest.Config{W: 200, H: 50})
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(emu, r)
	}()
	for end := time.Now().Add(90 * time.Second); !strings.HasPrefix(emu.Screen(), "NOW\n"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the newest frame does not come:\n%s", emu.Screen())
		}
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	_ = w.Close()
	<-read
	if left := emu.Left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// One that stays stuck is given up after a second; what of the line discipline is ours is given back even then.
func TestATerminalThatStaysStuck(t *testing.T) {
	clk := clock.Real()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	term := paint.NewTerminal(paint.TerminalConfig{Out: w, Clock: clk, Painter: paint.PainterConfig{}, Env: func(string) string { return "" }})
	if err := term.Start(); err != nil {
		t.Fatal(err)
	}
	term.Filter(tea.WindowSizeMsg{Width: 400, Height: 200})
	for i := range 10 {
		term.Show(tea.NewView(strings.Repeat(strings.Repeat(string(rune('a'+i)), 400)+"\n", 200)), true)
		time.Sleep(5 * time.Millisecond)
	}
	began := time.Now()
	if err := term.Close(); err == nil || !strings.Contains(err.Error(), "takes nothing any more") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it takes %v to give up", took)
	}
	_, _ = r.Close(), w.Close()
}

// B035: what an old terminal is written is what it knows, from the start to the end; a modern one is asked nothing that some show as
// text (DCS, APC). Either is left as it was.
func TestStartAndQuit(t *testing.T) {
	for _, old := range []bool{false, true} {
		for _, shows := range []bool{false, true} {
			emu := termtest.New(termtest.Config{W: 80, H: 24, Old: old, Shows: shows, Wc: old})
			_, _ = emu.Write([]byte("shell$ vitrine\r\n"))
			before := emu.Screen()
			term := paint.NewTerminal(paint.TerminalConfig{Out: emu, Clock: clock.Real(), Painter: paint.PainterConfig{Profile: colorprofile.ANSI, Old: old}, Env: func(string) string { return "" }})
			if err := term.Start(); err != nil {
				t.Fatal(err)
			}
			term.Filter(tea.WindowSizeMsg{Width: 80, Height: 24})
			v := tea.NewView("hello \x1b[31mred\x1b[m 部署")
			v.WindowTitle, v.MouseMode, v.Cursor = "vitrine: 部署", tea.MouseModeCellMotion, tea.NewCursor(3, 3)
			term.Show(v, true)
			term.Filter(tea.RawMsg{Msg: ansi.SetSystemClipboard("copied")})
			for !strings.Contains(emu.Screen(), "hello red 部署") {
				runtime.Gosched()
			}
			if got := emu.Rows()[0]; got != "hello red 部署" {
				t.Errorf("old %v: the first row is %q", old, got)
			}
			if err := term.Close(); err != nil {
				t.Error(err)
			}
			if left := emu.Left(); len(left) > 0 {
				t.Errorf("old %v: left: %v", old, left)
			}
			if u := emu.Unknown(); len(u) > 0 {
				t.Errorf("old %v: the terminal does not know %v", old, u)
			}
			if q := emu.Queries(); old && len(q) > 0 {
				t.Errorf("an old terminal is asked %v", q)
			}
			after := emu.Screen()
			if !old && after != before || old && strings.TrimSpace(after) != "" {
				t.Errorf("old %v: the screen after the end is\n%s", old, after)
			}
		}
	}
}
