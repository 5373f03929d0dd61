package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm/llmtest"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/cli"
)

// anew is what differs from one run to the next although the same happened: ids, times and how long something took.
var anew = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.]+Z|_ms":\d+`)

// playedTurns asks a session's questions one after another in one process and gives all that was told of them.
func playedTurns(t *testing.T, base, model string, traffic cli.Traffic, questions ...string) (told []string) {
	t.Helper()
	dir := t.TempDir()
	cfg, err := config.Load(config.Inputs{Flags: config.Flags{User: "ann"}, Environ: []string{
		"AGENT_DB_PATH=" + filepath.Join(dir, "sessions.db"), "AGENT_TRACE_PATH=" + filepath.Join(dir, "traces.jsonl"),
		"OPENAI_BASE_URL=" + base, "OPENAI_API_KEY=sk-marked-0123456789", "MODEL=" + model, "LLM_RETRY_BASE_DELAY=0.001",
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	app, err := wiring{}.open(ctx, cfg, clock.NewReal(nil), cli.OpenOptions{Headless: true, Traffic: traffic})
	if err != nil {
		t.Fatal(err)
	}
	sub := app.Feed.Subscribe(1 << 12)
	if _, err := app.Agent.Open(ctx, "s", true); err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		if err := app.Agent.Submit(ctx, "s", q); err != nil {
			t.Fatal(err)
		}
		for ended := false; !ended; {
			batch, err := sub.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range batch.Events {
				data, err := json.Marshal(ev.Data)
				if err != nil {
					t.Fatal(err)
				}
				if _, last := ev.Data.(trace.RunEndData); last {
					ended = true
				}
				if ev.Seq == 0 && ev.Name != "retry" || ev.Name == "input_queued" {
					continue // how deltas are merged, and whether a question was early, is a matter of time
				}
				told = append(told, string(ev.Name)+" "+anew.ReplaceAllString(string(data), "*"))
			}
		}
	}
	if err := app.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, n := range app.Notices() {
		t.Errorf("notice: %s", n)
	}
	return told
}

// A session of three turns, with a refusal, a connection that breaks and an error of the server on the way, gives the same
// events when its recording is played, without the server.
func TestReplayOfASession(t *testing.T) {
	srv := llmtest.NewServer()
	srv.Handle(calculates)
	srv.Push(llmtest.Refuse(429, "").RetryAfter("0.001"), llmtest.Stream(llmtest.Text("Let me ")).Cut(llmtest.Reset))
	file := filepath.Join(t.TempDir(), "traffic.jsonl")
	questions := []string{"what is (17+5)*3?", "what is 6*7?", "what is 2^(?"}
	recorded := playedTurns(t, srv.URL(), "m", cli.Traffic{Record: file}, questions...)
	base := srv.URL()
	srv.Close()
	if all := strings.Join(recorded, "\n"); strings.Count(all, "run_end ") != 3 || strings.Count(all, "retry ") != 2 || !strings.Contains(all, "42") {
		t.Fatalf("recorded:\n%s", all)
	}
	replayed := playedTurns(t, base, "m", cli.Traffic{Replay: file}, questions...)
	if d := cmp.Diff(recorded, replayed); d != "" {
		t.Errorf("-recorded +replayed:\n%s", d)
	}
	files, err := filesIn(file)
	if err != nil || strings.Contains(files[file], "marked") {
		t.Errorf("the key is in the recording, or %v", err)
	}
}
