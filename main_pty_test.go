//go:build linux || darwin

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/ui/cli"
	"vitrine/ui/paint/termtest"
)

// The program with a broken part, for what cannot be broken from outside. The process is this test binary, started anew.
func init() {
	if os.Getenv(brokenEnv) == "" {
		return
	}
	prog := wiring{}.program()
	open := prog.Open
	prog.Open = func(ctx context.Context, cfg config.Config, clk clock.Clock, o cli.OpenOptions) (*cli.App, error) {
		app, err := open(ctx, cfg, clk, o)
		if err == nil {
			fail := func() { panic("the list is broken\x1b[31m\nin two lines") }
			if os.Getenv(brokenEnv) == inGoroutine {
				app.Library = brokenLibrary{app.Library, func() { clk.Go(fail) }}
			} else {
				app.Library = brokenLibrary{app.Library, fail}
			}
		}
		return app, err
	}
	os.Exit(prog.Execute(context.Background(), cli.FromOS()))
}

const (
	brokenEnv   = "VITRINE_TEST_BROKEN"
	inGoroutine = "goroutine"
)

// brokenLibrary fails when sessions are listed and a user is there to see it.
type brokenLibrary struct {
	runtime.Library
	fail func()
}

func (l brokenLibrary) Sessions(ctx context.Context, user string) ([]runtime.SessionInfo, error) {
	list, err := l.Library.Sessions(ctx, user)
	if len(list) > 0 && list[0].TurnCount > 0 {
		l.fail()
	}
	return list, err
}

// tty is the program in a pseudo terminal, with an emulator as its screen. The test keeps the terminal open, so that what
// the program leaves of it can be looked at.
type tty struct {
	t      *testing.T
	cmd    *exec.Cmd
	p, end *os.File // the emulator's side and the program's
	before *term.State
	done   chan struct{} // closed when the process has ended
	read   chan struct{} // closed when its output has ended
	// answered is closed when the emulator answers no more.
	answered chan struct{}

	mu  sync.Mutex
	emu *vt.Emulator
	raw bytes.Buffer
}

func startTTY(t *testing.T, c call, w, h int) *tty {
	t.Helper()
	c.args = append([]string{"--user", "ann"}, c.args...)
	return startOnTTY(t, c.command(t), w, h)
}

// startOnTTY starts a command as the leader of a pseudo terminal.
func startOnTTY(t *testing.T, cmd *exec.Cmd, w, h int) *tty {
	t.Helper()
	p, end, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	y := &tty{t: t, cmd: cmd, p: p, end: end, done: make(chan struct{}), read: make(chan struct{}), answered: make(chan struct{}), emu: vt.NewEmulator(w, h)}
	if err := pty.Setsize(p, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
		t.Fatal(err)
	}
	if y.before, err = term.GetState(end.Fd()); err != nil {
		t.Fatal(err)
	}
	y.cmd.Stdin, y.cmd.Stdout, y.cmd.Stderr = end, end, end
	y.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := y.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = y.cmd.Wait() // the state says it
		close(y.done)
	}()
	go y.watch()
	go func() { // what the terminal answers
		defer close(y.answered)
		buf := make([]byte, 256)
		for {
			n, err := y.emu.Read(buf)
			if err != nil {
				return
			}
			_, _ = p.Write(buf[:n])
		}
	}()
	t.Cleanup(y.close)
	return y
}

// watch feeds the program's output to the emulator.
func (y *tty) watch() {
	defer close(y.read)
	buf := make([]byte, 32<<10)
	for {
		n, err := y.p.Read(buf)
		y.mu.Lock()
		y.raw.Write(buf[:n])
		_, _ = y.emu.Write(buf[:n])
		y.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (y *tty) close() {
	select {
	case <-y.done:
	default:
		_ = y.cmd.Process.Kill()
		<-y.done
	}
	_ = y.end.Close()
	_ = y.p.Close()
	<-y.read
	_ = y.emu.InputPipe().(io.Closer).Close() // the emulator's own Close races with its Read
	<-y.answered
}

// messagesOfAnn reads a session that the program in the terminal wrote.
func messagesOfAnn(t *testing.T, dir, session string) []message {
	t.Helper()
	return decode[message](t, vitrine(dir, "sessions", "show", session, "--json", "--user", "ann").ok(t))
}

// ttyLimit is far above what anything takes.
const ttyLimit = 90 * time.Second

// until looks again and again until something is so.
func (y *tty) until(what string, ok func() bool) {
	y.t.Helper()
	for end := time.Now().Add(ttyLimit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			y.t.Fatalf("%s does not come:\n%s", what, y.screen())
		}
	}
}

func (y *tty) wait(texts ...string) {
	y.t.Helper()
	for _, text := range texts {
		y.until(fmt.Sprintf("%q", text), func() bool { return strings.Contains(y.screen(), text) })
	}
}

// ended waits for a run that ended well, with these texts on the screen: Ctrl+C, which quits then, would stop the run before.
func (y *tty) ended(texts ...string) {
	y.t.Helper()
	y.wait(texts...)
	y.until("the end of the run", func() bool { return strings.HasPrefix(y.status(), " ✓ done") })
}

func (y *tty) screen() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var b strings.Builder
	for row := range strings.Lines(y.emu.String()) {
		b.WriteString(strings.TrimRight(row, " \r\n") + "\n")
	}
	return b.String()
}

// rows are the rows of the screen.
func (y *tty) rows() []string { return strings.Split(strings.TrimSuffix(y.screen(), "\n"), "\n") }

func (y *tty) status() string { r := y.rows(); return r[len(r)-1] }

// input is the first row of the input.
func (y *tty) input() string {
	r := y.rows()
	for i := len(r) - 1; i > 2; i-- {
		if strings.HasPrefix(r[i], "❯") {
			return r[i]
		}
	}
	return ""
}

// output is all that the program wrote since a place in it.
func (y *tty) output(from int) string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.raw.String()[from:]
}

func (y *tty) send(s string) {
	y.t.Helper()
	if _, err := y.p.WriteString(s); err != nil {
		y.t.Fatal(err)
	}
}

func (y *tty) resize(w, h int) {
	y.t.Helper()
	y.mu.Lock()
	y.emu.Resize(w, h)
	y.mu.Unlock()
	if err := pty.Setsize(y.p, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
		y.t.Fatal(err)
	}
}

func (y *tty) signal(s os.Signal) {
	y.t.Helper()
	if err := y.cmd.Process.Signal(s); err != nil {
		y.t.Fatal(err)
	}
}

// exit waits for the end of the process and of its output, and gives the exit code.
func (y *tty) exit() int {
	y.t.Helper()
	select {
	case <-y.done:
	case <-time.After(ttyLimit):
		y.t.Fatalf("it does not end:\n%s", y.screen())
	}
	const mark = "\x1b]9;all read\x1b\\" // what was written before it has then been read
	_, _ = y.end.WriteString(mark)
	y.until("the end of the output", func() bool { return strings.HasSuffix(y.output(0), mark) })
	y.mu.Lock()
	y.raw.Truncate(y.raw.Len() - len(mark))
	y.mu.Unlock()
	return y.cmd.ProcessState.ExitCode()
}

// clean wants the terminal as it was: the main screen, the cursor shown, every mode back, the line discipline too.
func (y *tty) clean() {
	y.t.Helper()
	if left := leftovers(y.output(0)); len(left) > 0 {
		y.t.Errorf("left on the terminal: %v", left)
	}
	after, err := term.GetState(y.end.Fd())
	if err != nil || fmt.Sprint(*after) != fmt.Sprint(*y.before) {
		y.t.Errorf("the line discipline is not what it was: %v %v, %v", y.before, after, err)
	}
	if y.emu.IsAltScreen() || y.emu.ScrollbackLen() > 0 || y.emu.CursorHidden() {
		y.t.Errorf("alternate screen %v, %d rows in the scrollback, cursor hidden %v", y.emu.IsAltScreen(), y.emu.ScrollbackLen(), y.emu.CursorHidden())
	}
}

// last is the text that stands on the main screen after the program.
func (y *tty) last() string { return strings.TrimSpace(y.screen()) }

// leftovers plays the output through and names what is not as it was before it: modes, keyboard, cursor, colours, links, title.
func leftovers(out string) []string {
	emu := termtest.New(termtest.Config{W: 200, H: 60})
	_, _ = emu.Write([]byte(out))
	return emu.Left()
}

// What a person does first: start, ask, read the answer, leave by Ctrl+C twice. Every mode of the terminal was used and is
// back, and one line stays.
func TestTerminalFirstUse(t *testing.T) {
	dir := t.TempDir()
	y := startTTY(t, vitrine(dir), 120, 34)
	y.wait("OFFLINE MODEL", "ready")
	y.send("what is (17+5)*3?")
	y.wait("❯ what is (17+5)*3?")
	y.send("\r")
	y.wait("(17+5)*3 = 66", "✓ done")
	if left := leftovers(y.output(0)); len(left) < 5 {
		t.Errorf("modes in use are %v: this test does not show that they are taken back", left)
	}
	// Pasted text is text, whatever is in it; only the real end of a paste ends it.
	y.send("\x1b[200~two\nlines \x1b[31mred\x1b[201~")
	y.wait("❯ two", "lines red")
	y.send("\x03")
	y.until("the empty input", func() bool { return y.input() == "❯" })
	y.send("\x03")
	y.wait("press Ctrl+C again to quit")
	y.send("\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	y.clean()
	if got := y.last(); got != "1 tab kept: vitrine --continue" {
		t.Errorf("what stays is %q", got)
	}
	z := startTTY(t, vitrine(dir, "--continue"), 100, 30)
	z.wait("(17+5)*3 = 66", "❯1 what is (17+5)*3?")
}

// A signal ends the program in the middle of a run: the terminal is clean, the exit code says it, the run is there to be
// resumed.
func TestTerminalSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			y := startTTY(t, vitrine(dir), 90, 24)
			y.wait("ready")
			y.send("stream 3000 tokens\r")
			y.wait("streaming")
			y.signal(s)
			if code := y.exit(); code != cli.ExitInterrupted {
				t.Errorf("exit code %d", code)
			}
			y.clean()
			if got := y.last(); !strings.Contains(got, "1 tab kept") || strings.Contains(got, "goroutine") {
				t.Errorf("what stays is %q", got)
			}
			z := startTTY(t, vitrine(dir), 90, 24)
			z.wait("? INTERRUPTED  turn 1")
		})
	}
}

// A terminal that goes away ends the program; nothing of it stays behind.
func TestTerminalGoesAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, end, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	cmd := vitrine(dir, "--user", "ann").command(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = end, end, end
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = end.Close()
	var seen []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(seen, []byte("ready")) {
		n, err := p.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, buf[:n]...)
	}
	_, _ = p.WriteString("stream 3000 tokens\r")
	// Of a word that changes in place only what differs is written: this one is new as a whole.
	for seen = nil; !bytes.Contains(seen, []byte("long answer")); {
		n, err := p.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, buf[:n]...)
	}
	_ = p.Close()
	var out, errs strings.Builder
	if r := waitFor(t, cmd, &out, &errs); r.code == 0 {
		t.Errorf("exit code %d", r.code)
	}
	if list := vitrine(dir, "sessions", "--user", "ann").ok(t); !strings.Contains(list, "interrupted") {
		t.Errorf("the run is not there to be resumed: %s", list)
	}
}

// B037: a panic leaves the terminal clean and one line that names the log; the code is not zero, the stack is in the log,
// what was stored is there.
func TestTerminalPanic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	y := startTTY(t, vitrine(dir).with(brokenEnv+"=1"), 180, 30)
	y.wait("ready")
	y.send("what is (17+5)*3?\r")
	y.wait("66", "✓ done")
	y.send("\x18s")
	if code := y.exit(); code == 0 {
		t.Error("exit code 0")
	}
	y.clean()
	got := strings.Join(strings.Fields(y.last()), " ")
	log := filepath.Join(dir, "data", "vitrine.log")
	if !strings.Contains(got, "vitrine.log") || strings.Contains(got, "goroutine") || !strings.HasPrefix(got, "vitrine: ") || strings.Count(got, "vitrine: ") != 1 {
		t.Errorf("what stays is %q", got)
	}
	data, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(data), "the list is broken") || !strings.Contains(string(data), "main_pty_test.go") {
		t.Errorf("the log: %v\n%s", err, data)
	}
	list := messagesOfAnn(t, dir, "ann-window-1")
	if closings := checkTurns(t, list); len(closings) != 1 || !strings.Contains(closings[0], "66") {
		t.Errorf("what was stored: %q", closings)
	}
}

// B037: a panic in a goroutine of the background, in the middle of a run: the terminal is clean, one line names the log, the
// code is 1, and the run is there to be resumed.
func TestTerminalPanicInAGoroutine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	y := startTTY(t, vitrine(dir).with(brokenEnv+"="+inGoroutine), 180, 30)
	y.wait("ready")
	y.send("stream 3000 tokens\r")
	y.wait("streaming")
	y.send("\x18s")
	began := time.Now()
	if code := y.exit(); code != cli.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v to end", took)
	}
	y.clean()
	got := strings.Join(strings.Fields(y.last()), " ")
	if !strings.Contains(got, "vitrine.log") || strings.Contains(got, "goroutine ") || !strings.HasPrefix(got, "vitrine: ") || strings.Count(got, "vitrine: ") != 1 {
		t.Errorf("what stays is %q", got)
	}
	data, err := os.ReadFile(filepath.Join(dir, "data", "vitrine.log"))
	if err != nil || !strings.Contains(string(data), "the list is broken") || !strings.Contains(string(data), "main_pty_test.go") {
		t.Errorf("the log: %v\n%s", err, data)
	}
	z := startTTY(t, vitrine(dir), 120, 30)
	z.wait("? INTERRUPTED  turn 1")
}

// seen is how long a question has to stand there before it takes a key.
const seen = 600 * time.Millisecond

// Killed in the middle of a stream, and in a tool, and started again at once: the session opens, asks about the turn, and
// the next question is answered.
func TestTerminalKilled(t *testing.T) {
	for name, c := range map[string]struct{ question, fault string }{
		"stream": {"stream 3000 tokens", ""},
		"tool":   {"what is (17+5)*3?", "VITRINE_FAULT=effect.after:1:kill"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			y := startTTY(t, vitrine(dir).with(c.fault), 120, 30)
			y.wait("ready")
			y.send(c.question + "\r")
			if c.fault == "" {
				y.wait("streaming")
				y.signal(syscall.SIGKILL)
			}
			if code := y.exit(); code != -1 {
				t.Fatalf("not killed: exit code %d", code)
			}
			z := startTTY(t, vitrine(dir), 120, 30)
			z.wait("? INTERRUPTED  turn 1")
			time.Sleep(seen)
			z.send("\tx") // the question has the focus after Tab
			z.wait("/ interrupted")
			z.send("what is 2+2?\r")
			z.wait("2+2 = 4", "✓ done")
			z.send("\x03\x03")
			if code := z.exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if closings := checkTurns(t, messagesOfAnn(t, dir, "ann-window-1")); len(closings) != 2 {
				t.Errorf("closings %q", closings)
			}
		})
	}
}

// B032: with NO_COLOR no colour is sent, though bold and reverse may be; and the screen works.
func TestTerminalNoColor(t *testing.T) {
	t.Parallel()
	y := startTTY(t, vitrine(t.TempDir()).with("NO_COLOR=1", "TERM=xterm-256color", "COLORTERM=truecolor"), 120, 30)
	y.wait("ready")
	y.send("what is (17+5)*3?\r")
	y.wait("(17+5)*3 = 66", "✓ done")
	y.send("?")
	y.wait("KEYS")
	y.send("\x1b")
	y.until("the closed help", func() bool { return !strings.Contains(y.screen(), "KEYS") })
	y.send("\x03\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, sgr := range regexp.MustCompile(`\x1b\[([0-9;:]*)m`).FindAllStringSubmatch(y.output(0), -1) {
		for _, p := range strings.FieldsFunc(sgr[1], func(r rune) bool { return r == ';' || r == ':' }) {
			var n int
			if _, err := fmt.Sscan(p, &n); err == nil && (n >= 30 && n <= 49 || n >= 90 && n <= 107) {
				t.Fatalf("a colour is sent: %q", sgr[0])
			}
		}
	}
	y.clean()
}

// B034: an answer that comes byte by byte, 20 ms apart, between letters that are typed, is no input, and takes no letter along.
func TestTerminalAnswersByteByByte(t *testing.T) {
	t.Parallel()
	y := startTTY(t, vitrine(t.TempDir()), 100, 30)
	y.wait("ready")
	for _, a := range []string{"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", "\x1b[?2027;2$y", "\x1b[12;40R", "\x1b[?62;22c"} {
		// This machine may hold the writer or the program up for longer than a terminal would: one time in which neither was is enough.
		right, wrong, got := false, 0, ""
		for tries := 0; tries < 20 && !right; tries++ {
			y.send("a")
			last, longest := time.Now(), time.Duration(0)
			for i := range len(a) {
				y.send(a[i : i+1])
				longest, last = max(longest, time.Since(last)), time.Now()
				time.Sleep(20 * time.Millisecond)
			}
			y.send("bc")
			y.until("the letters", func() bool { return strings.HasSuffix(y.input(), "c") })
			if got = y.input(); got == "❯ abc" {
				right = true
			} else if longest < 40*time.Millisecond {
				wrong++
			}
			y.send("\x03")
			y.until("no text", func() bool { return y.input() == "❯" })
		}
		switch {
		case !right && wrong >= 5:
			t.Errorf("with %q the input holds %q", a, got)
		case !right:
			t.Logf("%q could not be written in time", a)
		}
	}
	y.send("?")
	y.wait("KEYS")
	y.send("\x1b") // alone it is the Esc key
	y.until("the closed help", func() bool { return !strings.Contains(y.screen(), "KEYS") })
	y.send("\x18q") // a second Ctrl+C could come when the terminal is the shell's again
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// What a terminal answers late, or in pieces, is no input (B034, as far as the reader of keys goes); after the end nothing of
// it reaches the shell.
func TestTerminalAnswersLate(t *testing.T) {
	t.Parallel()
	answers := []string{"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", "\x1b[?2027;2$y", "\x1b[?2026;2$y", "\x1b[12;40R", "\x1b[?62;22c", "\x1b[?1u", "\x1bP>|XTerm(388)\x1b\\", "\x1b[I", "\x1b[O"}
	y := startTTY(t, vitrine(t.TempDir()), 100, 30)
	y.wait("ready")
	for i, a := range answers {
		y.send("abc"[i%3 : i%3+1])
		y.send(a)
	}
	y.until("what was typed", func() bool { return y.input() == "❯ abcabcabc" })
	// In pieces, each of which was read before the next one comes: the letter after it shows that.
	y.send("\x1b]11;rgb:1e1e/1e")
	y.send("1e/2e2e\x1b\\x")
	y.until("the letter after an answer in two pieces", func() bool { return strings.HasPrefix(y.input(), "❯ abcabcabc") && strings.HasSuffix(y.input(), "x") })
	if got := y.input(); got != "❯ abcabcabcx" {
		t.Errorf("the input holds %q", got)
	}
	y.send("\x03\x03" + strings.Join(answers, "") + "\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	y.clean()
}

// prefill stores a session of n turns, under simulated time.
func prefill(t *testing.T, dir, session string, n int) {
	t.Helper()
	clk := clock.NewSim(time.Now().Add(-time.Hour))
	cfg, err := config.Load(config.Inputs{Flags: config.Flags{User: "ann"}, Environ: []string{
		"AGENT_DB_PATH=" + filepath.Join(dir, "data", "sessions.db"), "AGENT_TRACE_PATH=" + filepath.Join(dir, "data", "traces.jsonl"), "AGENT_MAX_CTX_TOKENS=100000"}})
	if err != nil {
		t.Fatal(err)
	}
	clk.Run(func() {
		ctx := context.Background()
		app, err := wiring{}.open(ctx, cfg, clk, cli.OpenOptions{Headless: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Agent.Open(ctx, session, true); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := app.Agent.Submit(ctx, session, fmt.Sprintf("hello %d 部署", i)); err != nil {
				t.Fatal(err)
			}
			for {
				runs, err := app.Library.Runs(ctx, session, 1)
				if err != nil {
					t.Fatal(err)
				}
				if runs[0].State.Terminal() {
					break
				}
				_ = clk.Sleep(ctx, time.Millisecond)
			}
		}
		if err := app.Close(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// B019: a session of 200 messages, a hundred sizes in a second while text comes: the screen is painted anew a bounded number
// of times, it ends as a fresh one, no text is lost, and nothing is left in the scrollback.
func TestTerminalResizedOften(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prefill(t, dir, "s", 100)
	y := startTTY(t, vitrine(dir, "--session", "s").with("AGENT_MAX_CTX_TOKENS=100000", "AGENT_MAX_RAW_TURNS=200"), 120, 40)
	y.wait("hello 99", "✓ done")
	y.send("stream 80 tokens\r")
	y.wait("streaming")
	from, began := len(y.output(0)), time.Now()
	for i := range 100 {
		if i%2 == 0 {
			y.resize(80, 24)
		} else {
			y.resize(120, 40)
		}
		time.Sleep(10 * time.Millisecond) // the pace of the signals
	}
	// Every 66 ms one size is let through, and paints twice: at this pace some thirty, more only where the signals come more slowly.
	most := max(40, 2*int(time.Since(began)/(66*time.Millisecond))+6)
	y.until("the end of the answer", func() bool { return strings.HasPrefix(y.status(), " ✓ done") && strings.Contains(y.screen(), "80") })
	out := y.output(from)
	if n := strings.Count(out, "\x1b[2J") + strings.Count(out, "\x1b[H\x1b[J"); n > most {
		t.Errorf("100 sizes painted the screen anew %d times", n)
	}
	ended := y.settled()
	y.resize(80, 24)
	y.until("the smaller screen", func() bool {
		return len(y.rows()) == 24 && strings.HasPrefix(y.status(), " ✓ done") && !strings.Contains(y.screen(), "TRACE")
	})
	y.resize(120, 40)
	y.until("the larger screen again", func() bool { return y.screen() == ended })
	y.send("\x03\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	y.clean()
	if got := y.last(); got != "1 tab kept: vitrine --continue" {
		t.Errorf("on the main screen stays %q", got)
	}
	if got := checkTurns(t, messagesOfAnn(t, dir, "s")); len(got) != 101 {
		t.Errorf("%d turns", len(got))
	}
}

// settled is the screen once it has not changed for a while.
func (y *tty) settled() string {
	last, since := "", time.Now()
	y.until("a screen that stays", func() bool {
		if s := y.screen(); s != last {
			last, since = s, time.Now()
		}
		return time.Since(since) > time.Second
	})
	return last
}

// The user's own editor gets the terminal as it was before the program, and gives its text back: to the input and to a dialog,
// without control characters. Ctrl+C in it is its own; one that fails changes nothing; no file stays.
func TestTerminalEditor(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), t.TempDir()
	editor := filepath.Join(dir, "ed")
	script := `#!/bin/sh
trap 'echo caught it' INT
clear
stty -a | grep -q ' icanon' && echo "cooked, $(ls -l "$2" | cut -c1-10), $(cat "$2" | tr -d '\n '), $1"
until read -r line; do :; done
[ "$line" = fail ] && exit 4
printf '%s\n' "$line" > "$2"
`
	if err := os.WriteFile(editor, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	y := startTTY(t, vitrine(dir).with("TMPDIR="+tmp, "VISUAL="+editor+" -w", "AGENT_TOOL_POLICY=calculator=ask"), 100, 30)
	y.wait("ready")
	y.send("half")
	y.wait("❯ half")
	y.send("\x07")
	y.wait("cooked, -rw-------, half, -w")
	if y.emu.IsAltScreen() {
		t.Error("the editor is on the program's screen")
	}
	if left := leftovers(y.output(0)); len(left) > 0 {
		t.Errorf("the editor has a terminal with %v", left)
	}
	y.send("\x03")
	y.wait("caught it")
	y.send("what is \x1b[31m6*7?\n")
	y.until("the text", func() bool { return y.input() == "❯ what is 6*7?" })
	if !y.emu.IsAltScreen() {
		t.Error("the program is not on its screen")
	}
	y.send("\r")
	y.wait("APPROVE  calculator", "6*7")
	time.Sleep(seen)
	y.send("\te")
	y.wait("EDIT  arguments of calculator", `"6*7"`)
	y.send("\x07")
	y.wait(`cooked, -rw-------, {"expression":"6*7"}, -w`)
	y.send("fail\n")
	y.wait("the text is as it was: ed: exit status 4", `"6*7"`)
	y.send("\x07")
	y.wait("cooked")
	y.send(`{"expression":"6*8"}` + "\n")
	y.wait("EDIT  arguments of calculator", `{"expression":"6*8"}`)
	y.send("\r")
	y.wait("APPROVE  calculator", "expression  6*8")
	time.Sleep(seen)
	y.send("y\r")
	y.wait("48")
	y.ended()
	y.send("\x03\x03")
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d: the Ctrl+C of the editor counts", code)
	}
	y.clean()
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
		t.Errorf("there is still %v, %v", left, err)
	}
}
