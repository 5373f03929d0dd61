//go:build unix

package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"vitrine/runtime/clock"
	"vitrine/ui/paint/termtest"
)

// childVariable makes the test binary play the program itself, in a terminal of its own.
const childVariable = "VITRINE_UI_TEST_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(childVariable); how != "" {
		os.Exit(child(how))
	}
	os.Exit(m.Run())
}

// child runs the screen over the fake and fails as it is told when ! is pressed.
func child(how string) int {
	clk := clock.Real()
	f := newFake(clk)
	opts := Options{Agent: f, Library: f, Feed: f, Clock: clk, User: "ann", Model: "mock", LogPath: os.Getenv("VITRINE_UI_TEST_LOG")}
	err := run(context.Background(), opts, func(m tea.Model) tea.Model { return &failing{Model: m, how: how} })
	fmt.Fprintf(os.Stderr, "shutdowns %d, left %v\n", f.shut, f.left)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// failing is a model with a fault.
type failing struct {
	tea.Model
	how  string
	view bool
}

func (f *failing) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || k.Text != "!" {
		var cmd tea.Cmd
		f.Model, cmd = f.Model.Update(msg)
		return f, cmd
	}
	switch f.how {
	case "update":
		panic("a fault\nin Update")
	case "view":
		f.view = true
	case "command":
		return f, tea.Batch(func() tea.Msg { panic("a fault in a command") }, nil, func() tea.Msg { return nil })
	}
	return f, nil
}

func (f *failing) View() tea.View {
	if f.view {
		panic("a fault in View")
	}
	return f.Model.View()
}

// inTerminal is the child in a pty.
type inTerminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	tty    *os.File // the slave, held open to look at its state
	master *os.File
	mu     sync.Mutex
	out    bytes.Buffer
	stderr bytes.Buffer
	log    string
	before *term.State
}

func startChild(t *testing.T, how string, env ...string) *inTerminal {
	t.Helper()
	return startChildOn(t, how, 100, 30, func([]byte) {}, env...)
}

// startChildOn gives the child a terminal of a size; take gets what it writes.
func startChildOn(t *testing.T, how string, w, h int, take func([]byte), env ...string) *inTerminal {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pty: %v", err)
	}
	_ = pty.Setsize(master, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
	c := &inTerminal{t: t, tty: tty, master: master, log: filepath.Join(t.TempDir(), "vitrine.log")}
	if c.before, err = term.GetState(tty.Fd()); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(exe)
	c.cmd.Env = append([]string{childVariable + "=" + how, "VITRINE_UI_TEST_LOG=" + c.log, "TERM=xterm-256color", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + t.TempDir()}, env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			c.mu.Lock()
			c.out.Write(buf[:n])
			c.mu.Unlock()
			take(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = tty.Close()
		_ = master.Close()
	})
	return c
}

func (c *inTerminal) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

func (c *inTerminal) wait(text string) {
	c.t.Helper()
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(c.output(), text) {
			return
		}
	}
	c.t.Fatalf("%q does not come:\n%q", text, c.output())
}

func (c *inTerminal) press(keys string) { _, _ = io.WriteString(c.master, keys) }

// exit waits for the end and checks that the terminal is as it was.
func (c *inTerminal) exit() int {
	c.t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(waitLimit):
		c.t.Fatalf("it does not end:\n%q\n%s", c.output(), c.stderr.String())
	}
	after, err := term.GetState(c.tty.Fd())
	if err != nil {
		c.t.Fatal(err)
	}
	if fmt.Sprint(*after) != fmt.Sprint(*c.before) {
		c.t.Errorf("the terminal's state changed: %+v, was %+v", *after, *c.before)
	}
	const mark = "\x1b]9;all read\x1b\\" // what was written before it has then been read
	_, _ = c.tty.WriteString(mark)
	c.wait(mark)
	emu := termtest.New(termtest.Config{W: 100, H: 30})
	_, _ = emu.Write([]byte(c.output()))
	if left := emu.Left(); len(left) > 0 {
		c.t.Errorf("left on the terminal: %v", left)
	}
	if u := emu.Unknown(); len(u) > 0 {
		c.t.Errorf("no terminal knows %v", u)
	}
	return c.cmd.ProcessState.ExitCode()
}

// B037: a fault of ours restores the terminal, puts its stack in the log, and says where that is in one line.
func TestFaultsLeaveTheTerminalClean(t *testing.T) {
	for _, how := range []string{"update", "view", "command"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := startChild(t, how)
			c.wait("ready")
			c.press("!")
			if code := c.exit(); code == 0 {
				t.Error("the exit code is 0")
			}
			lines := strings.Split(strings.TrimSpace(c.stderr.String()), "\n")
			if len(lines) != 2 || lines[0] != "shutdowns 1, left true" || !strings.Contains(lines[1], c.log) || !strings.Contains(lines[1], "a fault") {
				t.Errorf("standard error: %q", lines)
			}
			log, err := os.ReadFile(c.log)
			if err != nil || !strings.Contains(string(log), "goroutine") || !strings.Contains(string(log), "failing") && how != "command" {
				t.Errorf("the log: %v\n%s", err, log)
			}
		})
	}
}

func TestSignalsAndQuitLeaveTheTerminalClean(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(c *inTerminal)
		want string
	}{
		{"SIGTERM", func(c *inTerminal) { _ = c.cmd.Process.Signal(syscall.SIGTERM) }, "shutdowns 1, left true"},
		{"SIGHUP", func(c *inTerminal) { _ = c.cmd.Process.Signal(syscall.SIGHUP) }, "shutdowns 1, left true"},
		{"Ctrl+C twice", func(c *inTerminal) {
			c.press("\x03")
			c.wait("again to quit")
			c.press("\x03")
		}, "shutdowns 1, left false"},
		{"/quit", func(c *inTerminal) { c.press("/quit\r") }, "shutdowns 1, left false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := startChild(t, "ok")
			in.wait("ready")
			c.do(in)
			if code := in.exit(); code != 0 {
				t.Errorf("exit code %d: %s", code, in.stderr.String())
			}
			if got := strings.TrimSpace(in.stderr.String()); got != c.want {
				t.Errorf("standard error %q, want %q", got, c.want)
			}
			in.wait("1 tab kept: vitrine --continue")
		})
	}
}

// B032: NO_COLOR in a terminal: no sequence sets a colour.
func TestNoColourInATerminal(t *testing.T) {
	c := startChild(t, "ok", "NO_COLOR=1", "COLORTERM=truecolor")
	c.wait("ready")
	c.press("hello **world**\r")
	c.wait("turn 1")
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	c.exit()
	if m := colourSequence.FindString(c.output()); m != "" {
		t.Errorf("a colour is set: %+q", m)
	}
}
