package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/trace"
)

// What is asked here is asked of the server and of us, not of the model's wit: that requests are taken, replies end and are counted, calls
// come as calls, and their results are taken back. What only a better model would do is told and skipped.

// liveLimit is how long a run may take: a model on one's own machine without an accelerator reads some 20 tokens a second.
const liveLimit = 20 * time.Minute

// live is a run against the endpoint of the environment, for tests that are asked for with RUN_LIVE_TESTS=1; without that they are
// skipped. Replies have a bound, since small models repeat themselves without end; those that reason need some room.
func live(t *testing.T, dir string, args ...string) call {
	t.Helper()
	if os.Getenv("RUN_LIVE_TESTS") != "1" {
		t.Skip("RUN_LIVE_TESTS is not 1")
	}
	c := vitrine(dir, args...)
	c.limit = liveLimit
	c.env = []string{"LLM_MAX_TOKENS=" + cmp.Or(os.Getenv("LLM_MAX_TOKENS"), "4000")}
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "MODEL", "OPENROUTER_API_KEY", "OPENROUTER_MODEL", "AGENT_PROTOCOL", "LLM_PROFILE", "LLM_TEMPERATURE"} {
		c.env = append(c.env, name+"="+os.Getenv(name))
	}
	return c
}

// served wants a turn whose model calls were all answered: the run ended by what the model said, and each call was counted.
func served(t *testing.T, c call) string {
	t.Helper()
	r := c.run(t)
	if r.code != 0 && r.code != 4 {
		t.Fatalf("%v: exit code %d\n%s%s", c.args, r.code, r.stdout, r.stderr)
	}
	calls := 0
	for _, e := range decode[trace.Event](t, vitrine(c.dir, "trace", "s", "--json").ok(t)) {
		if d, ok := e.Data.(trace.LLMCallData); ok && d.FinishReason != "cancelled" {
			if calls++; d.FinishReason == "" || d.TTFTMS == nil {
				t.Errorf("a reply without an end or a beginning: %+v", d)
			}
			if d.PromptTokens == nil || d.CompletionTokens == nil {
				t.Logf("the server does not count: %+v", d)
			}
		}
	}
	if calls == 0 || strings.Contains(r.stderr, "HTTP ") {
		t.Errorf("%d model calls, %s", calls, r.stderr)
	}
	return r.stdout
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

// A real model is offered the calculator, and says what it gave.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	out := served(t, live(t, dir, "run", "--session", "s", "Use the calculator tool: what is (17+5)*3?"))
	switch _, calls := ended(t, dir, "s", "calculator"); {
	case calls == 0:
		t.Skipf("the model did not take the calculator: %q", out)
	case !strings.Contains(out, "66"):
		t.Skipf("the model took the calculator and said something else: %q", out)
	}
}

// A todo of one turn is known in the next, in another process: the history with its call and result is taken.
func TestLiveTodo(t *testing.T) {
	dir := t.TempDir()
	served(t, live(t, dir, "run", "--session", "s", "Use the todo tool to add this todo: call Marianne about the greenhouse"))
	out := served(t, live(t, dir, "run", "--session", "s", "--record-model", "second", "What is on my todo list? Name each entry."))
	sent, err := os.ReadFile(filepath.Join(dir, "second"))
	if err != nil || !strings.Contains(string(sent), "Marianne") {
		t.Errorf("the second turn does not know the first: %v", err)
	}
	switch _, calls := ended(t, dir, "s", "todo"); {
	case calls == 0:
		t.Skipf("the model did not take the todo tool: %q", out)
	case !strings.Contains(strings.ToLower(out), "marianne"):
		t.Skipf("the model does not tell its list: %q", out)
	}
}

// A run that is interrupted while the model writes ends at once, as cancelled, and the session goes on.
func TestLiveCancel(t *testing.T) {
	dir := t.TempDir()
	c := live(t, dir, "run", "--session", "s", "--json", "Count from 1 to 2000 in words, one number a line, without a tool.").with("LLM_MAX_TOKENS=")
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
	served(t, live(t, dir, "run", "--session", "s", "Say the single word: hello"))
}

// More than a context holds is folded or refused with words; it is never a mystery.
func TestLiveTooLong(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, "line %d of a very long list\n", i)
	}
	c := live(t, dir, "run", "--session", "s", "-").with("AGENT_MAX_CTX_TOKENS=1000000", "AGENT_MAX_RUN_TOKENS=100000000")
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
