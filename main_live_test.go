package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/trace"
)

// liveEnv is the endpoint of the environment, for tests that are asked for with RUN_LIVE_TESTS=1; without that they are skipped.
func liveEnv(t *testing.T) []string {
	t.Helper()
	if os.Getenv("RUN_LIVE_TESTS") != "1" {
		t.Skip("RUN_LIVE_TESTS is not 1")
	}
	var env []string
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "MODEL", "OPENROUTER_API_KEY", "OPENROUTER_MODEL", "AGENT_PROTOCOL", "LLM_PROFILE"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env
}

// ended gives the ends of a session's runs and how many calls of a tool each had by then.
func ended(t *testing.T, dir, session, tool string) (ends []trace.RunEndData, calls int) {
	t.Helper()
	for _, e := range decode[trace.Event](t, vitrine(dir, "trace", session, "--json").ok(t)) {
		switch d := e.Data.(type) {
		case trace.RunEndData:
			ends = append(ends, d)
		case trace.ToolResultData:
			if d.Tool == tool && d.OK {
				calls++
			}
		}
	}
	return ends, calls
}

// A real model takes the calculator and says what it gave.
func TestLive(t *testing.T) {
	env, dir := liveEnv(t), t.TempDir()
	out := vitrine(dir, "run", "--session", "s", "--expect-tool", "calculator", "Use the calculator tool: what is (17+5)*3?").with(env...).ok(t)
	if _, calls := ended(t, dir, "s", "calculator"); !strings.Contains(out, "66") || calls == 0 {
		t.Errorf("%d calls of the calculator, %q", calls, out)
	}
}

// A todo of one turn is known in the next, in another process.
func TestLiveTodo(t *testing.T) {
	env, dir := liveEnv(t), t.TempDir()
	vitrine(dir, "run", "--session", "s", "--expect-tool", "todo", "Use the todo tool to add this todo: call Marianne about the greenhouse").with(env...).ok(t)
	out := vitrine(dir, "run", "--session", "s", "What is on my todo list? Name each entry.").with(env...).ok(t)
	if !strings.Contains(strings.ToLower(out), "marianne") {
		t.Errorf("%q", out)
	}
}

// A run that is interrupted while the model writes ends at once, as cancelled, and the session goes on.
func TestLiveCancel(t *testing.T) {
	env, dir := liveEnv(t), t.TempDir()
	c := vitrine(dir, "run", "--session", "s", "--json", "Count from 1 to 2000 in words, one number a line, without a tool.").with(env...)
	cmd := c.command(t)
	var out, stderr strings.Builder
	began := make(chan struct{})
	cmd.Stdout, cmd.Stderr = &onText{text: "run_start", do: func() { close(began) }}, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-began
	time.Sleep(2 * time.Second) // a real model has no clock of ours
	at := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r := waitFor(t, cmd, &out, &stderr)
	if took := time.Since(at); r.code != 130 || took > 5*time.Second {
		t.Errorf("exit code %d %s after the signal: %s", r.code, took, stderr.String())
	}
	if ends, _ := ended(t, dir, "s", ""); len(ends) != 1 || ends[0].State != "cancelled" {
		t.Errorf("%+v", ends)
	}
	vitrine(dir, "run", "--session", "s", "Say the single word: hello").with(env...).ok(t)
}

// More than a context holds is folded or refused with words; it is never a mystery.
func TestLiveTooLong(t *testing.T) {
	env, dir := liveEnv(t), t.TempDir()
	env = append(env, "AGENT_MAX_CTX_TOKENS=1000000", "AGENT_MAX_RUN_TOKENS=100000000")
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, "line %d of a very long list\n", i)
	}
	c := vitrine(dir, "run", "--session", "s", "-").with(env...)
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, []byte(text.String()+"How many lines were that?"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(long)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	c.stdin = in
	r := c.run(t)
	switch ends, _ := ended(t, dir, "s", ""); {
	case len(ends) != 1:
		t.Errorf("%+v", r)
	case ends[0].State == "succeeded": // a model with room for it, or a server that cuts; the program warns of the latter
	case ends[0].Reason != "context" && !strings.Contains(r.stderr, "context"):
		t.Errorf("%+v, %s", ends[0], r.stderr)
	}
}
