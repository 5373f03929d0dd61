package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// peerEnv names the script llmock of the npm package @copilotkit/aimock: a server that others wrote, which .ci/run installs where it
// can.
const peerEnv = "VITRINE_PEER"

// startPeer starts the server and gives its base URL.
func startPeer(t *testing.T) string {
	t.Helper()
	script := os.Getenv(peerEnv)
	if script == "" {
		t.Skip(peerEnv + " names no server; .ci/run installs one")
	}
	cmd := exec.Command("node", script, "--port", "0", "--chunk-size", "3", "--fixtures", filepath.Join("testdata", "peer.json"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	overdue := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer overdue.Stop()
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			return strings.TrimSpace(url) + "/v1"
		}
	}
	t.Fatalf("the server did not start: %s", said.String())
	return ""
}

// The real program against a server that others wrote: text with reasoning before it, two calls at once, and a 429 that says when to
// come back.
func TestPeer(t *testing.T) {
	env := []string{"OPENAI_BASE_URL=" + startPeer(t), "OPENAI_API_KEY=sk-peer", "MODEL=gpt-4o-mini", "LLM_RETRY_BASE_DELAY=30"}
	ask := func(text string) (answer, trace, stderr string) {
		t.Helper()
		dir := t.TempDir()
		r := vitrine(dir, "run", "--session", "s", text).with(env...).run(t)
		if r.code != 0 {
			t.Fatalf("%s: %+v", text, r)
		}
		return strings.TrimSpace(r.stdout), vitrine(dir, "trace", "s", "--json").ok(t), r.stderr
	}
	answer, trace, _ := ask("plain text")
	if answer != "Hello from the peer: 你好, and 😀." || strings.Contains(trace, "I think first") {
		t.Errorf("%q, %s", answer, trace)
	}
	if strings.Contains(trace, `"prompt_tokens":null`) || !strings.Contains(trace, `"cost":null`) {
		t.Errorf("what it reports, and no price for an address that is not the provider's, is not in %s", trace)
	}
	answer, trace, _ = ask("two sums")
	if answer != "They are 2 and 40." || strings.Count(trace, `"event":"tool_result"`) != 2 ||
		!strings.Contains(trace, `"expression":"1+1"`) || !strings.Contains(trace, `"expression":"20*2"`) || !strings.Contains(trace, `"tool_call_count":2`) {
		t.Errorf("%q, %s", answer, trace)
	}
	// It asks for a second of patience; our own wait would be thirty, and the run would not end in time.
	answer, trace, said := ask("limit me")
	if answer != "After the wait." || !strings.Contains(said, "429") || !strings.Contains(trace, `"attempts":2`) {
		t.Errorf("%q, %s, %s", answer, said, trace)
	}
}
