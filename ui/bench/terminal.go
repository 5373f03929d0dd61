package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
)

// terminal is a program in a pseudo terminal of 120x40.
type terminal struct {
	cmd   *exec.Cmd
	tty   *os.File
	began time.Time

	mu   sync.Mutex
	out  bytes.Buffer
	last time.Time // when something came
	// forgot is how many bytes were forgotten.
	forgot int64
	seen   chan struct{}
	gone   chan struct{}
}

func open(ctx context.Context, bin, dir string, env []string, args ...string) (*terminal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	t := &terminal{cmd: exec.CommandContext(ctx, bin, args...), seen: make(chan struct{}, 1), gone: make(chan struct{})}
	t.cmd.Dir = dir
	t.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color", "LANG=C.UTF-8", "USER=bench",
		"AGENT_DB_PATH=" + dir + "/sessions.db", "AGENT_TRACE_PATH=" + dir + "/traces.jsonl",
	}, env...)
	t.began = time.Now()
	tty, err := pty.StartWithSize(t.cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", bin, err)
	}
	t.tty = tty
	go t.read()
	return t, nil
}

// read keeps what the program writes. A pseudo terminal ends with an error when the program does.
func (t *terminal) read() {
	defer close(t.gone)
	buf := make([]byte, 64<<10)
	for {
		n, err := t.tty.Read(buf)
		t.mu.Lock()
		t.out.Write(buf[:n])
		t.last = time.Now()
		t.mu.Unlock()
		select {
		case t.seen <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// await waits until text was written since the last await and gives the time at which it was seen.
func (t *terminal) await(text string, limit time.Duration) (time.Time, error) {
	deadline := time.After(limit)
	for {
		t.mu.Lock()
		found := bytes.Contains(t.out.Bytes(), []byte(text))
		now := time.Now()
		t.mu.Unlock()
		if found {
			return now, nil
		}
		select {
		case <-t.seen:
		case <-t.gone:
			return now, fmt.Errorf("the program ended before %q: %.300q", text, t.out.String())
		case <-deadline:
			return now, fmt.Errorf("no %q within %s", text, limit)
		}
	}
}

// forget lets await see only what is written from now on.
func (t *terminal) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgot += int64(t.out.Len())
	t.out.Reset()
}

// written is how many bytes came so far.
func (t *terminal) written() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.forgot + int64(t.out.Len())
}

// quiet waits until bytes came after from, and then none for a while, and gives the time of the last.
func (t *terminal) quiet(from int64) time.Time {
	for {
		t.mu.Lock()
		n, last := t.forgot+int64(t.out.Len()), t.last
		t.mu.Unlock()
		if n > from && time.Since(last) > quietTime || time.Since(last) > 20*time.Second {
			return last
		}
		time.Sleep(time.Millisecond)
	}
}

func (t *terminal) send(text string) error {
	if _, err := t.tty.WriteString(text); err != nil {
		return fmt.Errorf("type: %w", err)
	}
	return nil
}

// close ends the program.
func (t *terminal) close() error {
	err := t.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	_ = t.cmd.Wait() // it was killed
	_ = t.tty.Close()
	<-t.gone
	return err
}

// resident gives the memory that a process holds and the most that it held, in MB.
func resident(pid int) (now, peak float64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kb, convErr := strconv.ParseFloat(fields[1], 64)
		switch {
		case convErr != nil:
		case fields[0] == "VmRSS:":
			now = round(kb / 1024)
		case fields[0] == "VmHWM:":
			peak = round(kb / 1024)
		}
	}
	return now, peak, nil
}
