//go:build unix

package paint_test

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"vitrine/runtime/clock"
	"vitrine/ui/paint"
)

const ms = time.Millisecond

var start = time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)

// sink takes what a terminal gets, as long as it has no error.
type sink struct {
	mu  sync.Mutex
	buf bytes.Buffer
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	return s.buf.Write(b)
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func terminal(t *testing.T, out *sink) *paint.Terminal {
	t.Helper()
	term := paint.NewTerminal(paint.TerminalConfig{Out: out, Clock: clock.Real(), Painter: paint.PainterConfig{Profile: colorprofile.TrueColor}, Env: func(string) string { return "" }})
	if err := term.Start(); err != nil {
		t.Fatal(err)
	}
	return term
}

// What is given back and taken again is entered and left as often as it was entered, whoever did it: by Ctrl+Z, by an editor, or by
// a process that stopped us. Nothing is painted in between, and nothing after the end.
func TestTakenAndGivenBack(t *testing.T) {
	defer goleak.VerifyNone(t)
	out := &sink{}
	term := terminal(t, out)
	show := func(text string) {
		term.Filter(tea.WindowSizeMsg{Width: 20, Height: 2})
		term.Show(tea.NewView(text), true)
		for !strings.Contains(out.text(), text) {
			runtime.Gosched()
		}
	}
	show("first")
	if err := term.Restore(); err != nil { // as after a stop by somebody else
		t.Fatal(err)
	}
	show("second")
	if err := term.Release(); err != nil {
		t.Fatal(err)
	}
	before := out.text()
	term.Show(tea.NewView("hidden"), true)
	if err := term.Restore(); err != nil {
		t.Fatal(err)
	}
	show("third")
	if strings.Contains(before, "hidden") {
		t.Error("it paints while the terminal is given back")
	}
	term.Filter(tea.RawMsg{Msg: "\x1b]52;c;eA==\a"})
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	end := out.text()
	if err := term.Restore(); err != nil || out.text() != end {
		t.Errorf("after the end %q is written, %v", out.text()[len(end):], err)
	}
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[>1u": "\x1b[<1u", "\x1b[?2004h": "\x1b[?2004l"} {
		if n, m := strings.Count(end, on), strings.Count(end, off); n != 3 || m != 3 {
			t.Errorf("%q %d times, %q %d times", on, n, off, m)
		}
	}
	if !strings.Contains(end, "\x1b]52;c;eA==\a") {
		t.Error("a copy just before the end is lost")
	}
}

// A terminal that is gone is told of at the end, and does not hold up who shows frames.
func TestATerminalThatIsGone(t *testing.T) {
	clk := clock.NewSim(start)
	out := &sink{}
	clk.Run(func() {
		term := paint.NewTerminal(paint.TerminalConfig{Out: out, Clock: clk, Painter: paint.PainterConfig{}, Env: func(string) string { return "" }})
		if err := term.Start(); err != nil {
			t.Error(err)
		}
		out.err = errors.New("the line is cut")
		term.Filter(tea.WindowSizeMsg{Width: 20, Height: 2})
		for range 100 {
			term.Show(tea.NewView("x"), false)
		}
		if err := term.Close(); err == nil || !strings.Contains(err.Error(), "the line is cut") {
			t.Errorf("got %v", err)
		}
	})
}

// Frames that nobody waits for come at most every 8 ms, the newest only; one that a key led to comes at once.
func TestPaceOfFrames(t *testing.T) {
	clk := clock.NewSim(start)
	out := &sink{}
	clk.Run(func() {
		term := paint.NewTerminal(paint.TerminalConfig{Out: out, Clock: clk, Painter: paint.PainterConfig{}, Env: func(string) string { return "" }})
		if err := term.Start(); err != nil {
			t.Error(err)
		}
		term.Filter(tea.WindowSizeMsg{Width: 20, Height: 1})
		frames := 0
		last := ""
		for i := range 80 {
			term.Show(tea.NewView(strings.Repeat(string(rune('a'+i%26)), 5)), false)
			if err := clk.Sleep(t.Context(), ms); err != nil {
				t.Error(err)
			}
			if now := out.text(); now != last {
				frames, last = frames+1, now
			}
		}
		if frames < 8 || frames > 12 {
			t.Errorf("%d frames in 80 ms", frames)
		}
		from := clk.Now()
		term.Show(tea.NewView("KEY"), true)
		for !strings.Contains(out.text(), "KEY") {
			if err := clk.Sleep(t.Context(), ms/10); err != nil {
				t.Error(err)
			}
		}
		if took := clk.Now().Sub(from); took > ms {
			t.Errorf("a key is shown after %v", took)
		}
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Links go to terminals that are known to open them, and to none within tmux or screen.
func TestWhoKnowsLinks(t *testing.T) {
	for env, want := range map[string]bool{
		"TERM=xterm-kitty": true, "TERM=foot": true, "TERM_PROGRAM=iTerm.app": true, "TERM_PROGRAM=Apple_Terminal": false, "VTE_VERSION=7003": true, "WT_SESSION=x": true,
		"TERM=linux": false, "TERM=xterm-256color": false, "TERM=vt220": false, "TERM=xterm-kitty TMUX=x": false, "VTE_VERSION=7003 STY=x": false,
	} {
		vars := map[string]string{}
		for v := range strings.FieldsSeq(env) {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
		if got := paint.KnowsLinks(func(name string) string { return vars[name] }); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}

// B034: what the terminal answers only after the last key was read, when the program leaves, is waited for and dropped: the shell reads
// nothing of it. A program that was on for longer, or was answered, does not wait.
func TestLateAnswersReachNoShell(t *testing.T) {
	for _, c := range []struct {
		name     string
		on       time.Duration
		answered bool
		waits    bool
	}{{"at once", 0, false, true}, {"answered", 0, true, false}, {"long ago", time.Minute, false, false}} {
		t.Run(c.name, func(t *testing.T) {
			master, tty, err := pty.Open()
			if err != nil {
				t.Skip(err)
			}
			defer func() { _, _ = master.Close(), tty.Close() }()
			if _, err := term.MakeRaw(tty.Fd()); err != nil { // the shell's own mode: so each byte could be read
				t.Fatal(err)
			}
			clk := clock.NewSim(start)
			on := paint.NewTerminal(paint.TerminalConfig{In: tty, Out: &sink{}, Clock: clk, Painter: paint.PainterConfig{Profile: colorprofile.TrueColor}, Env: func(string) string { return "" }})
			ended := false
			clk.Go(func() {
				if err := on.Start(); err != nil {
					t.Error(err)
				}
				if c.answered {
					on.Filter(tea.BackgroundColorMsg{})
					on.Filter(tea.ModeReportMsg{})
					on.Filter(tea.ModeReportMsg{})
				}
				_ = clk.Sleep(t.Context(), c.on)
				if err := on.Close(); err != nil {
					t.Error(err)
				}
				ended = true
			})
			clk.Settle()
			clk.Advance(c.on)
			if ended == c.waits {
				t.Fatalf("it has ended: %v", ended)
			}
			if !c.waits {
				return
			}
			if _, err := master.WriteString("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[?2027;2$y\x1b[12;40R\x1b[?62;22c"); err != nil {
				t.Fatal(err)
			}
			for n := 0; n == 0; { // they have come to the tty
				if n, err = unix.Poll([]unix.PollFd{{Fd: int32(tty.Fd()), Events: unix.POLLIN}}, 1000); err != nil && err != unix.EINTR {
					t.Fatal(err)
				}
			}
			clk.Advance(time.Second)
			if !ended {
				t.Fatal("it does not end")
			}
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(tty.Fd()), Events: unix.POLLIN}}, 0); err != nil || n > 0 {
				t.Errorf("there is something to read for the shell: %d, %v", n, err)
			}
		})
	}
}
