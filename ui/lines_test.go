//go:build unix

package ui

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vitrine/ui/paint/termtest"
)

// emulated is the child on an emulated terminal, at the end of a line that takes its time.
type emulated struct {
	*inTerminal
	emu *termtest.Terminal
}

// line is how long a word takes each way; a terminal that does not answer is one that never does.
type slowLine struct {
	latency time.Duration
	silent  bool
}

func startEmulated(t *testing.T, cfg termtest.Config, l slowLine, env ...string) *emulated {
	t.Helper()
	e := &emulated{emu: termtest.New(cfg)}
	var mu sync.Mutex
	var coming []byte // on its way to the terminal
	e.inTerminal = startChildOn(t, "ok", cfg.W, cfg.H, func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		coming = append(coming, b...)
		n := len(b)
		time.AfterFunc(l.latency, func() {
			mu.Lock()
			defer mu.Unlock()
			_, _ = e.emu.Write(coming[:n])
			coming = coming[n:]
			answers := e.emu.Answers()
			if len(answers) > 0 && !l.silent {
				time.AfterFunc(l.latency, func() { e.press(string(answers)) })
			}
		})
	}, env...)
	return e
}

// shows waits until the terminal shows a text.
func (e *emulated) shows(text string) {
	e.t.Helper()
	e.until(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

// until looks at the terminal until its screen is as wanted.
func (e *emulated) until(what string, ok func(screen string) bool) {
	e.t.Helper()
	for end := time.Now().Add(waitLimit); !ok(e.emu.Screen()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			e.t.Fatalf("%s does not come:\n%s", what, e.emu.Screen())
		}
	}
}

// row is the row that begins with a sign.
func (e *emulated) row(sign string) string {
	for _, r := range slices.Backward(e.emu.Rows()) {
		if strings.HasPrefix(r, sign) {
			return r
		}
	}
	return ""
}

// B035: on a terminal like the VT220, in ASCII, all that is written is known to it, from the start to the end; nothing is asked; it
// shows what is typed, answered and opened, and is left as it was.
func TestOldTerminal(t *testing.T) {
	for _, shows := range []bool{false, true} {
		e := startEmulated(t, termtest.Config{W: 80, H: 24, Old: true, Shows: shows, Wc: true}, slowLine{}, "TERM=vt220", "LC_ALL=C")
		e.shows("ready")
		e.press("what is new?")
		e.shows("> what is new?")
		e.press("\x1b[D\x1b[D\x7f") // Left, Left, Backspace
		e.shows("> what is nw?")
		e.press("\r")
		e.shows("| what is nw?")
		e.press("\x18")
		e.shows("Esc back")
		e.press("h")
		e.shows("KEYS")
		for _, r := range e.emu.Rows() {
			for _, c := range r {
				if c > '~' {
					t.Errorf("%q is not ASCII", r)
				}
			}
		}
		e.press("\x1b")
		e.until("the closed help", func(screen string) bool { return !strings.Contains(screen, "KEYS") })
		e.press("\x18q")
		e.shows("QUIT")
		e.press("l")
		if code := e.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		e.shows("1 tab kept: vitrine --continue")
		if left := e.emu.Left(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if u := e.emu.Unknown(); !slices.Equal(u, []string{`"OSC 9;all read"`}) {
			t.Errorf("the terminal does not know %v", u)
		}
		if q := e.emu.Queries(); len(q) > 0 {
			t.Errorf("it is asked %v", q)
		}
	}
}

// B034: over a line of 100 ms the first frame waits for no answer; keys that were typed before it are kept, and the answers are none,
// however they are cut; the terminal's ways are used once they are known. One that never answers is no worse off.
func TestSlowLine(t *testing.T) {
	for name, l := range map[string]slowLine{"100 ms": {latency: 100 * time.Millisecond}, "never": {silent: true}, "both": {latency: 100 * time.Millisecond, silent: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startEmulated(t, termtest.Config{W: 100, H: 30}, l)
			e.press("early ")
			e.shows("ready")
			e.shows("❯ early")
			e.press("and late")
			e.shows("❯ early and late")
			if !l.silent {
				e.wait("\x1b[?2026h") // it has come to be used
				e.wait("\x1b[?2027h")
			}
			// Once more, byte by byte. A busy machine may be slower than any line, and an escape alone is a key: one time in five is enough.
			want, got := "❯ early and late.", ""
			for tries := 0; tries < 5 && got != want; tries++ {
				if tries > 0 {
					e.press("\x15early and late") // Ctrl+U
				}
				for _, c := range []byte("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[?2027;2$y\x1b[12;40R\x1b[?62;22c") {
					e.press(string(c))
					time.Sleep(time.Millisecond)
				}
				e.press(".")
				e.until("the last key", func(string) bool { got = strings.TrimSpace(e.row("❯")); return strings.HasSuffix(got, ".") })
			}
			if got != want {
				t.Errorf("the input holds %q", got)
			}
			e.press("\x03\x03\x03")
			began := time.Now()
			if code := e.exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it takes %v to end", took)
			}
			e.shows("1 tab kept")
			if left := e.emu.Left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
