//go:build unix

package cli

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

func TestStreams(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	shut, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	_ = shut.Close()
	for name, c := range map[string]struct {
		f    *os.File
		want Stream
	}{"pipe": {r, Data}, "file": {file, Data}, "null device": {null, NoStream}, "closed": {shut, NoStream}} {
		if got := streamOf(c.f); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	_ = file.Close()
	p, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer p.Close()
	defer tty.Close()
	if got := streamOf(tty); got != Terminal {
		t.Errorf("terminal: %v", got)
	}
}

func TestFromOS(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/c")
	p := FromOS()
	if p.ConfigDirErr == nil && !strings.Contains(p.ConfigDir, "c") || p.Login() == "" || p.Folder == "" || !strings.Contains(p.Version, "go1.") || !p.NeedsTerm {
		t.Errorf("%+v", p)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	if p := FromOS(); p.ConfigDirErr == nil || p.Home != "" {
		t.Errorf("without a home: %+v", p)
	}
}

// Each signal that asks to stop is passed on, once, and no more after stop; a broken pipe is not one of them.
func TestOSSignals(t *testing.T) {
	hup := make(chan os.Signal, 8)
	signal.Notify(hup, syscall.SIGHUP) // whoever runs the tests may ignore it
	defer signal.Stop(hup)
	got := make(chan Signal, 8)
	stop := OSSignals(func(s Signal) { got <- s })
	for _, c := range []struct {
		sig  syscall.Signal
		want Signal
	}{{syscall.SIGINT, Interrupt}, {syscall.SIGTERM, Terminate}, {syscall.SIGHUP, Hangup}} {
		if err := syscall.Kill(os.Getpid(), syscall.SIGPIPE); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(os.Getpid(), c.sig); err != nil {
			t.Fatal(err)
		}
		if s := <-got; s != c.want {
			t.Errorf("%v gives %s, want %s", c.sig, s, c.want)
		}
	}
	stop()
	if len(got) > 0 {
		t.Errorf("%d signals too many", len(got))
	}
}
