package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// B037: a panic in a goroutine. Without a screen the log gets the stack, standard error one line, and the code is 1. An open
// screen is told and given time; the app is not waited for.
func TestPanicInTheBackground(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "vitrine.log")
	b.proc.In, b.proc.Out = Terminal, Terminal
	b.proc.Environ = append(b.proc.Environ, "AGENT_DB_PATH="+filepath.Join(dir, "s.db"))
	sim := b.sim
	var codes []int
	b.prog.Crash = &Crash{Exit: func(code int) { codes = append(codes, code) }}
	var got Fault
	b.f.screen = func(ctx context.Context, o ScreenOptions) error {
		sim.Go(func() { b.prog.Crash.Caught("one", []byte("stack one")) })
		var err error
		if got, err = o.Faults(ctx); err != nil {
			t.Error(err)
		}
		return context.DeadlineExceeded
	}
	r := b.run()
	if got.Value != "one" || string(got.Stack) != "stack one" || len(codes) != 0 || r.code != 1 || b.f.closed != 0 {
		t.Errorf("the screen got %+v; codes %v; %+v; closed %d", got, codes, r, b.f.closed)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the log is the screen's to write")
	}
	// The process did not end: it does now.
	sim.Advance(crashGrace)
	sim.Settle()
	if len(codes) != 1 || codes[0] != ExitFailed {
		t.Errorf("codes %v", codes)
	}
	sim.Run(func() { b.prog.Crash.Caught("two\x1b[31m", []byte("stack two")) })
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "stack one") || !strings.Contains(string(data), "stack two") {
		t.Errorf("%s %v", data, err)
	}
}

func TestPanicWithoutAScreen(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	b.proc.Environ = append(b.proc.Environ, "AGENT_DB_PATH="+filepath.Join(dir, "s.db"))
	code := 0
	b.prog.Crash = &Crash{Exit: func(c int) { code = c }}
	b.f.onSubmit = func(f *fake, session, _ string) error {
		b.prog.Crash.Caught("lost \x1b[31mcolour", []byte("the stack"))
		return context.Canceled
	}
	r := b.run("run", "hello")
	if code != ExitFailed || strings.Count(r.err, "the program failed inside") != 1 || strings.ContainsRune(r.err, 0x1b) || b.f.closed != 0 {
		t.Errorf("code %d, %+v, closed %d", code, r, b.f.closed)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "vitrine.log")); err != nil || !strings.Contains(string(data), "the stack") {
		t.Errorf("%s %v", data, err)
	}
}
