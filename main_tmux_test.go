//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// tmux is a server of its own with the program in its one window.
type tmux struct {
	t    *testing.T
	sock string
}

func (m tmux) run(args ...string) string {
	m.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", m.sock, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// cells is what tmux shows, colours included; of a blank cell only its ground is seen.
func (m tmux) cells() string {
	rows := strings.Split(m.run("capture-pane", "-p", "-e", "-N", "-t", "v"), "\n")
	var b strings.Builder
	var pen uv.Style
	for _, row := range rows {
		for _, line := range uv.NewStyledString(pen.String() + row).Lines(ansi.WcWidth) {
			var last uv.Style
			for _, c := range line {
				style := c.Style
				if c.Content == " " {
					style = uv.Style{Bg: style.Bg}
				}
				if pen = c.Style; !style.Equal(&last) {
					b.WriteString(style.String()[1:])
					last = style
				}
				b.WriteString(c.Content)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (m tmux) text() string { return m.run("capture-pane", "-p", "-t", "v") }

func (m tmux) wait(text string) {
	m.t.Helper()
	for end := time.Now().Add(ttyLimit); !strings.Contains(m.text(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("%q does not come:\n%s", text, m.text())
		}
	}
}

// still waits until nothing changes any more.
func (m tmux) still() string {
	last, since := m.cells(), time.Now()
	for end := time.Now().Add(ttyLimit); time.Since(since) < 400*time.Millisecond && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if now := m.cells(); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}

// In a real tmux, with Chinese, emoji and combining characters, scrolling, a dialog, other tabs and new sizes: what stands there after
// many small changes is what painting it whole gives. The pane is the shell's again after the end.
func TestInTmux(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skipf("no tmux: %v", err)
	}
	if testing.Short() {
		t.Skip("a program under another one takes seconds")
	}
	m := tmux{t, filepath.Join(t.TempDir(), "s")}
	cmd := vitrine(t.TempDir(), "--user", "ann").command(t)
	var env []string
	for _, v := range cmd.Env {
		if !strings.HasPrefix(v, "TERM=") && !strings.HasPrefix(v, "PATH=") {
			env = append(env, fmt.Sprintf("'%s'", v))
		}
	}
	m.run("-u", "new-session", "-d", "-s", "v", "-x", "120", "-y", "36", "sh")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", m.sock, "kill-server").Run() }) // it may be gone
	m.run("send-keys", "-t", "v", "-l", "PS1='shell> '; cd "+cmd.Dir)
	m.run("send-keys", "-t", "v", "Enter")
	m.wait("shell>")
	m.run("send-keys", "-t", "v", "-l", "clear; sh -c 'echo $$ >pid; exec env \"$@\"' sh "+strings.Join(env, " ")+" '"+cmd.Path+"' "+strings.Join(cmd.Args[1:], " "))
	m.run("send-keys", "-t", "v", "Enter")
	m.wait("ready")
	number, err := os.ReadFile(filepath.Join(cmd.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(number)))
	if err != nil {
		t.Fatal(err)
	}
	whole := func(when string) {
		t.Helper()
		painted := m.still()
		m.run("clear-history", "-t", "v")
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil { // as after a stop: it paints all of it
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if again := m.still(); again != painted {
			t.Errorf("%s (-bit by bit +whole):\n%s", when, cmp.Diff(strings.Split(painted, "\n"), strings.Split(again, "\n")))
		}
	}
	type step struct {
		when string
		keys []string
	}
	for _, s := range []step{
		{"typed", []string{"-l", "remember 部署 👨‍👩‍👧 🇩🇪 e\u0301 ❤️ 한글 …“引号”→①"}},
		{"answered", []string{"Enter"}},
		{"a long answer", []string{"-l", "stream 400 tokens"}},
		{"streamed", []string{"Enter"}},
		{"scrolled", []string{"PageUp", "PageUp", "PageDown"}},
		{"other sizes", nil},
		{"a dialog", []string{"C-p"}},
		{"and without", []string{"Escape"}},
		{"another tab", []string{"C-x", "n"}},
		{"and back", []string{"C-x", "1"}},
	} {
		if s.keys == nil {
			m.run("resize-window", "-t", "v", "-x", "101", "-y", "30")
			m.still()
			m.run("resize-window", "-t", "v", "-x", "120", "-y", "36")
			whole(s.when)
			continue
		}
		m.run(append([]string{"send-keys", "-t", "v"}, s.keys...)...)
		if s.when == "streamed" {
			time.Sleep(300 * time.Millisecond)
			m.wait("done")
		}
		whole(s.when)
	}
	m.run("send-keys", "-t", "v", "C-c")
	time.Sleep(100 * time.Millisecond)
	m.run("send-keys", "-t", "v", "C-c")
	m.wait("2 tabs kept: vitrine --continue")
	m.run("send-keys", "-t", "v", "-l", "echo al''ive")
	m.run("send-keys", "-t", "v", "Enter")
	m.wait("alive")
	for name, want := range map[string]string{"alternate_on": "0", "cursor_flag": "1", "mouse_any_flag": "0", "mouse_button_flag": "0", "keypad_cursor_flag": "0", "wrap_flag": "1"} {
		if got := strings.TrimSpace(m.run("display-message", "-p", "-t", "v", "#{"+name+"}")); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
}
