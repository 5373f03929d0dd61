//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vitrine/llm/llmtest"
	"vitrine/ui/record"
)

// A demo plays in the terminal and leaves it as it was: at its end, by a key, and by a signal. What is typed meanwhile does not show.
func TestTerminalDemo(t *testing.T) {
	t.Parallel()
	y := startTTY(t, vitrine(t.TempDir(), "demo", "tools", "--speed", "20"), 120, 36)
	y.wait("Several things in one message")
	y.send("zzzz")
	y.wait("Every call can be opened")
	if strings.Contains(y.screen(), "zzzz") {
		t.Errorf("typed keys show:\n%s", y.screen())
	}
	if code := y.exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, y.last())
	}
	y.clean()
	for name, leave := range map[string]func(y *tty) int{
		"q":       func(y *tty) int { y.send("q"); return 0 },
		"Ctrl+C":  func(y *tty) int { y.send("\x03"); return 0 },
		"SIGTERM": func(y *tty) int { y.signal(syscall.SIGTERM); return 130 },
	} {
		y := startTTY(t, vitrine(t.TempDir(), "demo"), 140, 40)
		y.wait("1. The model asks")
		want := leave(y)
		if code := y.exit(); code != want {
			t.Errorf("%s: exit code %d:\n%s", name, code, y.last())
		}
		y.clean()
	}
	y = startTTY(t, vitrine(t.TempDir(), "demo"), 80, 24)
	if code := y.exit(); code != 2 || !strings.Contains(y.last(), "needs a terminal of 120x36, and this one has 80x24") {
		t.Errorf("exit code %d: %s", code, y.last())
	}
}

// A recording of the screen can be played up to the moment in which the program is killed, and holds no key.
func TestTerminalRecording(t *testing.T) {
	t.Parallel()
	const secret = "sk-this-is-a-secret-key-0123456789"
	server := strictServer(t, func(llmtest.Request) llmtest.Reply { return llmtest.Answer("an answer") })
	dir := t.TempDir()
	y := startTTY(t, vitrine(dir).with("OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY="+secret), 100, 30)
	y.wait("ready")
	y.send("\x18v")
	y.wait("REC 0:0")
	y.send("my key is " + secret + "\r")
	y.wait("an answer")
	at := y.rows()[0]
	y.until("a later frame, before which that of the answer was recorded", func() bool { return y.rows()[0] != at && strings.Contains(y.rows()[0], "REC") })
	at = y.rows()[0]
	y.until("one more", func() bool { return y.rows()[0] != at && strings.Contains(y.rows()[0], "REC") })
	y.signal(syscall.SIGKILL)
	y.exit()
	casts, _ := filepath.Glob(filepath.Join(dir, "vitrine-*.cast"))
	if len(casts) != 1 {
		t.Fatalf("recordings: %v", casts)
	}
	data, err := os.ReadFile(casts[0])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), secret) || strings.Contains(string(data), secret[:20]) {
		t.Error("the recording holds the key")
	}
	text := filepath.Join(dir, "out.txt")
	if err := record.Export(t.Context(), casts[0], record.Files{Text: text}, record.Look{}); err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile(text)
	if err != nil || !strings.Contains(string(shown), "an answer") || !strings.Contains(string(shown), "my key is ") {
		t.Errorf("%v\n%s", err, shown)
	}
}

// Only a script that says live is played with the user's endpoint and key.
func TestLiveDemo(t *testing.T) {
	server := llmtest.NewServer()
	t.Cleanup(server.Close)
	server.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Answer("from the server")
	})
	file := filepath.Join(t.TempDir(), "live.toml")
	const steps = "[[step]]\nenter = \"hi\"\n[[step]]\nwait = { state = \"succeeded\" }\n[[step]]\nexpect = { answer = \"from the server\" }\n"
	for _, model := range []string{"live", "offline"} {
		if err := os.WriteFile(file, []byte("model = \""+model+"\"\n"+steps), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := len(server.Requests())
		c := vitrine(t.TempDir(), "demo", file, "--check").with("OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY=sk-live-0123456789")
		res := c.run(t)
		code, errs := res.code, res.stderr
		requests := server.Requests()[asked:]
		if live := model == "live"; (code == 0) != live || live != (len(requests) > 0) ||
			live && requests[0].Header.Get("Authorization") != "Bearer sk-live-0123456789" {
			t.Errorf("%s: exit code %d, %d requests\n%s", model, code, len(requests), errs)
		}
	}
	// B191: the screen of a step that fails goes into logs; the key is not on it.
	server.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Answer("your key is sk-live-0123456789 then") })
	if err := os.WriteFile(file, []byte("model = \"live\"\n"+steps), 0o600); err != nil {
		t.Fatal(err)
	}
	failing := vitrine(t.TempDir(), "demo", file, "--check").with("OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY=sk-live-0123456789")
	if res := failing.run(t); res.code != 1 || !strings.Contains(res.stderr, "your key is ***") || strings.Contains(res.stderr, "01234567") {
		t.Errorf("a failed step: exit code %d\n%s", res.code, res.stderr)
	}
	dir := t.TempDir()
	told := strings.Replace("model = \"live\"\n"+steps, "from the server", "your key is", 1)
	if err := os.WriteFile(file, []byte(told), 0o600); err != nil {
		t.Fatal(err)
	}
	recording := vitrine(dir, "demo", file, "--record", "out.cast", "--record", "out.txt").with("OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY=sk-live-0123456789")
	if res := recording.run(t); res.code != 0 || !strings.Contains(res.stderr, "out.txt; look at it before you share it") {
		t.Errorf("a recording: exit code %d\n%s", res.code, res.stderr)
	}
	for _, name := range []string{"out.cast", "out.txt"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(data), "your key is") || strings.Contains(string(data), "01234567") {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
	c := vitrine(t.TempDir(), "demo", file, "--check")
	if err := os.WriteFile(file, []byte("model = \"live\"\n"+steps), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := c.run(t); res.code != 2 || !strings.Contains(res.stderr, "no endpoint is set") {
		t.Errorf("without an endpoint: exit code %d, %s", res.code, res.stderr)
	}
}
