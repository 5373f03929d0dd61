package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vitrine/runtime/clock"
	"vitrine/trace/rotate"
)

// Fault is a panic of a goroutine in the background.
type Fault struct {
	Value any
	Stack []byte
}

// Crash ends the program after a panic in the background, which no caller could recover: Caught is for clock.NewReal. While
// the screen is open it is told, so that it gives the terminal back, writes the log and names it; otherwise the Crash does
// the last two itself. Nothing else is put in order: the part that is gone may be what others wait for, and the store
// survives the end of the process. A nil Crash does nothing.
type Crash struct {
	// Exit ends the process.
	Exit func(code int)

	mu     sync.Mutex
	clk    clock.Clock
	err    io.Writer
	log    string
	seen   bool
	faults *clock.Queue[Fault] // to the screen, nil while there is none
}

// crashGrace is how long the screen has for giving the terminal back.
const crashGrace = 5 * time.Second

// start gives it what it tells with.
func (c *Crash) start(clk clock.Clock, err io.Writer) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clk, c.err = clk, err
}

// logTo names the log, which is known once the configuration is.
func (c *Crash) logTo(path string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = path
}

// happened says that there was a panic: the process is about to end.
func (c *Crash) happened() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// screen says that the screen takes faults from now on, until closed is called.
func (c *Crash) screen() (faults func(context.Context) (Fault, error), closed func()) {
	if c == nil {
		return nil, func() {}
	}
	q := clock.NewQueue[Fault](c.clk, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = q
	return q.Get, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults = nil
	}
}

// Caught takes a panic in its goroutine. It returns only when Exit does.
func (c *Crash) Caught(value any, stack []byte) {
	c.mu.Lock()
	first, faults, clk, log, err := !c.seen, c.faults, c.clk, c.log, c.err
	c.seen = true
	c.mu.Unlock()
	if faults != nil && first {
		faults.TryPut(Fault{value, stack})
	}
	if faults != nil || !first {
		// The screen, or who came first, ends the process.
		_ = clk.Sleep(context.Background(), crashGrace)
	}
	tellPanic(clk, newOutput(err), log, value, stack)
	c.Exit(ExitFailed)
}

// tellPanic logs a panic and tells of it in one line.
func tellPanic(clk clock.Clock, out *output, path string, v any, stack []byte) {
	text := fmt.Sprintf("%s panic: %v\n%s\n", clk.Now().UTC().Format(time.RFC3339), v, stack)
	err := errors.New("no log is known yet")
	if path != "" {
		err = rotate.AppendLog(clk, path, text)
	}
	if err != nil {
		path = filepath.Join(os.TempDir(), "vitrine.log")
		err = rotate.AppendLog(clk, path, text)
	}
	where := out.lang.T("the stack is in %s", path)
	if err != nil {
		where = out.lang.T("the stack could not be logged: %s", out.lang.Tell(err.Error()))
	}
	out.line("vitrine: the program failed inside: %v; %s; what was stored is safe", v, where)
}
