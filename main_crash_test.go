//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vitrine/llm/llmtest"
)

// message is a line of `vitrine sessions show --json`.
type message struct {
	N         int64
	Kind      string
	Role      string
	Content   string
	ToolCalls []struct{ ID string } `json:"tool_calls"`
	CallID    string                `json:"tool_call_id"`
}

func messages(t *testing.T, dir, session string, env ...string) []message {
	t.Helper()
	return decode[message](t, vitrine(dir, "sessions", "show", session, "--json").with(env...).ok(t))
}

func decode[T any](t *testing.T, lines string) []T {
	t.Helper()
	var all []T
	for line := range strings.Lines(lines) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, v)
	}
	return all
}

// checkTurns wants every question to be followed by what belongs to it and exactly one closing message, every call to be
// answered once, directly after its message, and n to rise by one. It gives the closing messages.
func checkTurns(t *testing.T, list []message) []string {
	t.Helper()
	closings, problems := turnsOf(list, false)
	for _, p := range problems {
		t.Error(p)
	}
	return closings
}

// turnsOf gives the closing messages of a session and what is wrong with it, as checkTurns says. With unfinished the last turn
// may be open: some of its last calls have no answers yet, or its closing message is missing.
func turnsOf(list []message, unfinished bool) (closings, problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	var open []string
	turn := false
	for i, m := range list {
		if m.N != int64(i+1) {
			bad("message %d has n %d", i+1, m.N)
		}
		if m.Role == "tool" {
			if len(open) == 0 || m.CallID != open[0] {
				bad("message %d answers %q, open are %v", m.N, m.CallID, open)
				continue
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			bad("message %d comes before the results of %v", m.N, open)
			open = nil
		}
		switch {
		case m.Kind == "user":
			if turn {
				bad("message %d opens a turn in a turn", m.N)
			}
			turn = true
		case m.Role == "assistant" && len(m.ToolCalls) > 0:
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		case m.Role == "assistant":
			if !turn {
				bad("message %d closes no turn", m.N)
			}
			turn = false
			closings = append(closings, m.Content)
		}
	}
	if (turn || len(open) > 0) && !unfinished {
		bad("the last turn is open (calls %v)", open)
	}
	return closings, problems
}

// strictServer is a server that refuses every history that is not valid, and a check that it never had to.
func strictServer(t *testing.T, handle func(llmtest.Request) llmtest.Reply) *llmtest.Server {
	t.Helper()
	s := llmtest.NewServer().Strict()
	s.Handle(handle)
	t.Cleanup(func() {
		for _, r := range s.Requests() {
			if r.Problem != nil {
				t.Errorf("a history that is not valid was sent: %v", r.Problem)
			}
		}
		s.Close()
	})
	return s
}

// faultPoints runs a turn that counts the fault points it passes.
func faultPoints(t *testing.T, server *llmtest.Server) []string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "points")
	vitrine(dir, "run", "--session", "s", "what is (17+5)*3?").with("OPENAI_BASE_URL="+server.URL(), "VITRINE_FAULT=list:"+file).ok(t)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	hits := map[string]int{}
	var points []string
	for name := range strings.Lines(string(data)) {
		name = strings.TrimSpace(name)
		hits[name]++
		points = append(points, name+":"+strconv.Itoa(hits[name]))
	}
	return points
}

// Killed at any point of a turn (in the stream, in a tool, before and after each commit, while publishing and writing the
// trace) and started again at once: the session opens, its history is valid, a turn that was cut says that it was
// interrupted, and the next question is answered.
func TestKilledAtEveryPoint(t *testing.T) {
	server := strictServer(t, calculates)
	points := faultPoints(t, server)
	for _, kind := range []string{"chunk", "effect.before", "effect.after", "commit.before", "commit.after"} {
		if !slices.ContainsFunc(points, func(p string) bool { return strings.HasPrefix(p, kind+":") }) {
			t.Errorf("no point %s among %v", kind, points)
		}
	}
	if testing.Short() {
		points = points[:min(3, len(points))]
	}
	for _, p := range thin(points) {
		t.Run(p, func(t *testing.T) {
			t.Parallel()
			killAt(t, server, p)
		})
	}
}

// thin keeps every point but of chunks, of which the first, some in the middle and the last say it all.
func thin(points []string) []string {
	var out, chunks []string
	for _, p := range points {
		if strings.HasPrefix(p, "jsonl.") && !strings.HasSuffix(p, ":1") {
			continue // how many events one write of the trace file holds is a matter of timing; the first is always there
		}
		if strings.HasPrefix(p, "chunk:") {
			chunks = append(chunks, p)
		} else {
			out = append(out, p)
		}
	}
	for i, p := range chunks {
		if i == 0 || i == len(chunks)-1 || i%4 == 2 {
			out = append(out, p)
		}
	}
	return out
}

func killAt(t *testing.T, server *llmtest.Server, point string) {
	dir := t.TempDir()
	ask := func(q string) call {
		return vitrine(dir, "run", "--session", "s", q).with("OPENAI_BASE_URL=" + server.URL())
	}
	first := ask("what is (17+5)*3?").with("VITRINE_FAULT=" + point + ":kill").run(t)
	if first.code != -1 {
		t.Fatalf("not killed: exit code %d\n%s", first.code, first.stderr)
	}
	second := ask("what is 2+2?").run(t)
	if second.code != 0 || !strings.Contains(second.stdout, "4") {
		t.Fatalf("the next question: exit code %d\n%s%s", second.code, second.stdout, second.stderr)
	}
	closings := checkTurns(t, messages(t, dir, "s"))
	told := strings.Contains(second.stderr, "was interrupted")
	switch len(closings) {
	case 1: // the first question had not been stored; whoever sent it knows, the call failed
		if told {
			t.Errorf("a turn is said to be interrupted that was never stored")
		}
	case 2:
		if cut := strings.Contains(closings[0], "[interrupted]"); cut != told {
			t.Errorf("closing %q, told %v: %s", closings[0], told, second.stderr)
		}
		if !strings.Contains(closings[0], "66") && !told {
			t.Errorf("the first turn has neither an answer nor a mark: %q", closings[0])
		}
	default:
		t.Errorf("%d turns", len(closings))
	}
	checkTraceFile(t, filepath.Join(dir, "data", "traces.jsonl"), vitrine(dir, "trace", "s", "--json").ok(t))
}

// checkTraceFile wants whole lines, and no event that the store does not have.
func checkTraceFile(t *testing.T, path, stored string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Seq   *int64
		Event string
		RunID *string `json:"run_id"`
	}
	key := func(l line) string {
		run := ""
		if l.RunID != nil {
			run = *l.RunID
		}
		return fmt.Sprint(*l.Seq, l.Event, run)
	}
	known := map[string]bool{}
	for _, l := range decode[line](t, stored) {
		known[key(l)] = true
	}
	for _, raw := range bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n")) {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			continue // a line that a kill cut; the next one starts on a line of its own
		}
		if l.Seq != nil && !known[key(l)] {
			t.Errorf("the trace file invents %s", raw)
		}
	}
}

// held is a server that sends the beginning of an answer and keeps the stream open; arrived is closed at the first request.
func held(t *testing.T) (s *llmtest.Server, arrived chan struct{}) {
	t.Helper()
	arrived = make(chan struct{}, 16)
	s = strictServer(t, func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(r.Last("user"), "wait") {
			arrived <- struct{}{}
			return llmtest.Stream(llmtest.Text("It begins")).Hold()
		}
		return llmtest.Answer("hello")
	})
	return s, arrived
}

// background starts a call and waits until its request has arrived.
func background(t *testing.T, c call, arrived chan struct{}) (wait func() result, signal func(syscall.Signal)) {
	t.Helper()
	cmd := c.command(t)
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Start(); e != nil {
		t.Fatal(e)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	select {
	case <-arrived:
	case <-time.After(hangLimit):
		t.Fatalf("no request came: %s", err.String())
	}
	return func() result { return waitFor(t, cmd, &out, &err) },
		func(s syscall.Signal) {
			if e := cmd.Process.Signal(s); e != nil && !errors.Is(e, os.ErrProcessDone) {
				t.Error(e)
			}
		}
}

// Killed from outside in the middle of a stream, and started again at once.
func TestKilledInAStream(t *testing.T) {
	server, arrived := held(t)
	dir := t.TempDir()
	env := "OPENAI_BASE_URL=" + server.URL()
	wait, signal := background(t, vitrine(dir, "run", "--session", "s", "please wait").with(env), arrived)
	signal(syscall.SIGKILL)
	if r := wait(); r.code != -1 || r.stdout != "" {
		t.Errorf("killed: %+v", r)
	}
	r := vitrine(dir, "run", "--session", "s", "hi").with(env).run(t)
	if r.code != 0 || r.stdout != "hello\n" || !strings.Contains(r.stderr, "turn 1 of this session was interrupted") {
		t.Errorf("%+v", r)
	}
	if closings := checkTurns(t, messages(t, dir, "s")); !slices.Equal(closings, []string{"[interrupted]", "hello"}) {
		t.Errorf("closings %q", closings)
	}
	list := vitrine(dir, "sessions").ok(t)
	if !strings.Contains(list, "done") {
		t.Errorf("sessions: %s", list)
	}
}

// A signal ends a run properly: exit code 130, nothing on standard output, the turn closed, what was written kept.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			server, arrived := held(t)
			dir := t.TempDir()
			env := "OPENAI_BASE_URL=" + server.URL()
			wait, signal := background(t, vitrine(dir, "run", "--session", "s", "please wait").with(env), arrived)
			signal(sig)
			r := wait()
			if r.code != 130 || r.stdout != "" || !strings.Contains(r.stderr, "interrupted") {
				t.Errorf("%+v", r)
			}
			closings := checkTurns(t, messages(t, dir, "s"))
			if len(closings) != 1 || !strings.Contains(closings[0], "[interrupted]") && !strings.Contains(closings[0], "[cancelled]") {
				t.Errorf("closings %q", closings)
			}
			if out := vitrine(dir, "run", "--session", "s", "hi").with(env).ok(t); out != "hello\n" {
				t.Errorf("afterwards: %q", out)
			}
		})
	}
}

// A session that another living process holds is refused with code 2 and the process's number, also while that process is
// stopped, and is free as soon as it ends. Reading goes on meanwhile.
func TestHeldElsewhere(t *testing.T) {
	server, arrived := held(t)
	dir := t.TempDir()
	env := "OPENAI_BASE_URL=" + server.URL()
	cmdWait, signal := background(t, vitrine(dir, "run", "--session", "s", "please wait").with(env), arrived)
	refused := func() {
		t.Helper()
		r := vitrine(dir, "run", "--session", "s", "hi").with(env).run(t)
		if r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, "session s is open in process ") {
			t.Errorf("%+v", r)
		}
	}
	refused()
	if r := vitrine(dir, "sessions", "delete", "s", "--yes").run(t); r.code != 2 || !strings.Contains(r.stderr, "process ") {
		t.Errorf("delete: %+v", r)
	}
	if list := vitrine(dir, "sessions").ok(t); !strings.Contains(list, "in process ") {
		t.Errorf("sessions: %s", list)
	}
	signal(syscall.SIGSTOP)
	refused()
	if out := vitrine(dir, "run", "--session", "another", "hi").with(env).ok(t); out != "hello\n" {
		t.Errorf("another session: %q", out)
	}
	signal(syscall.SIGCONT)
	signal(syscall.SIGINT)
	if r := cmdWait(); r.code != 130 {
		t.Errorf("%+v", r)
	}
	if out := vitrine(dir, "run", "--session", "s", "hi").with(env).ok(t); out != "hello\n" {
		t.Errorf("afterwards: %q", out)
	}
}
