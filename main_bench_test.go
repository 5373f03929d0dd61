package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/cli"
)

// crowdEnv asks the test binary to be the process whose memory is measured: so many sessions for so many seconds.
const crowdEnv = "VITRINE_TEST_CROWD"

// crowdDirEnv names the folder that several such processes share; without it each has its own.
const crowdDirEnv = "VITRINE_TEST_CROWD_DIR"

// crowd is what that process tells of itself.
type crowd struct {
	PeakMB                  float64
	Slowest, Median, Steps  int
	Turns, Failed, Sessions int
	// Each is the steps of each session, in order of size.
	Each []int
}

// counting is a model for many sessions: it streams sixteen pieces, half a second a reply, asks for a calculation in each of three
// steps and then answers. It counts the replies by the user's words, which name the session.
type counting struct {
	clk clock.Clock

	mu    sync.Mutex
	steps map[string]int
}

// Stream implements llm.Client.
func (m *counting) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		user, done := "", 0
		for _, msg := range slices.Backward(req.Messages) {
			if msg.Role == llm.RoleUser {
				user = msg.Content
				break
			}
			if msg.Role == llm.RoleTool {
				done++
			}
		}
		for range 16 {
			if err := m.clk.Sleep(ctx, 30*time.Millisecond); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			if !yield(llm.Chunk{Text: "some words "}, nil) {
				return
			}
		}
		prompt, words := 500+50*len(req.Messages), 40
		end := llm.Done{Finish: llm.FinishStop, Usage: llm.Usage{Prompt: &prompt, Completion: &words}}
		if done < 3 {
			end.Finish = llm.FinishToolCalls
			end.ToolCalls = []llm.ToolCall{{ID: fmt.Sprint("c", done), Name: "calculator", Arguments: fmt.Sprintf(`{"expression":"%d*%d"}`, len(req.Messages), done+7)}}
		}
		m.mu.Lock()
		m.steps[user]++
		m.mu.Unlock()
		yield(llm.Chunk{Done: &end}, nil)
	}
}

// TestCrowdProcess is no test: it is the process that BenchmarkSessions starts, the whole program without a screen.
func TestCrowdProcess(t *testing.T) {
	n, seconds, ok := strings.Cut(os.Getenv(crowdEnv), "x")
	if !ok {
		t.Skip("it is started by BenchmarkSessions")
	}
	sessions, err := strconv.Atoi(n)
	if err != nil {
		t.Fatal(err)
	}
	length, err := time.ParseDuration(seconds)
	if err != nil {
		t.Fatal(err)
	}
	cli.TendHeap(os.Getenv) // as the program does
	dir, clk, prefix := os.Getenv(crowdDirEnv), clock.Real(), fmt.Sprintf("s%d-", os.Getpid())
	if dir == "" {
		dir = t.TempDir()
	}
	cfg, err := config.Load(config.Inputs{Flags: config.Flags{User: "ann"}, Environ: []string{
		"AGENT_DB_PATH=" + filepath.Join(dir, "sessions.db"), "AGENT_TRACE_PATH=" + filepath.Join(dir, "traces.jsonl")}})
	if err != nil {
		t.Fatal(err)
	}
	model := &counting{clk: clk, steps: map[string]int{}}
	ctx := context.Background()
	app, err := wiring{client: func(llm.Client) llm.Client { return model }}.open(ctx, cfg, clk, cli.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sub := app.Feed.Subscribe(1 << 16)
	var submits sync.WaitGroup
	submit := func(id string) {
		submits.Go(func() {
			if err := app.Agent.Submit(ctx, id, "calculate something in "+id); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range sessions {
		if _, err := app.Agent.Open(ctx, fmt.Sprint(prefix, i), true); err != nil {
			t.Fatal(err)
		}
	}
	got := crowd{Sessions: sessions}
	until, cancel := clk.WithTimeout(ctx, length)
	defer cancel()
	for i := range sessions {
		submit(fmt.Sprint(prefix, i))
	}
	for {
		batch, err := sub.Next(until)
		if err != nil {
			break
		}
		for _, ev := range batch.Events {
			d, ok := ev.Data.(trace.RunEndData)
			if !ok {
				continue
			}
			got.Turns++
			if d.State != "succeeded" {
				got.Failed++
			}
			submit(ev.SessionID)
		}
	}
	got.PeakMB = peakMB(t)
	model.mu.Lock()
	var all []int
	for _, steps := range model.steps {
		all = append(all, steps)
		got.Steps += steps
	}
	model.mu.Unlock()
	slices.Sort(all)
	if got.Each = all; len(all) == sessions {
		got.Slowest, got.Median = all[0], all[len(all)/2]
	}
	submits.Wait()
	if err := app.Close(ctx); err != nil {
		t.Error(err)
	}
	line, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\ncrowd %s\n", line)
}

// peakMB is the most memory that this process has had at once, as the system counts it; 0 where it does not tell.
func peakMB(t *testing.T) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Error(err)
	}
	return float64(kb) / 1024
}

// crowded starts the process and gives what it tells.
func crowded(t testing.TB, what string, env ...string) crowd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrowdProcess$", "-test.timeout=5m")
	cmd.Env = append(append(os.Environ(), crowdEnv+"="+what), env...)
	out, err := cmd.CombinedOutput()
	_, rest, ok := bytes.Cut(out, []byte("\ncrowd "))
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, out)
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	var got crowd
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// BenchmarkSessions lets 1,000 sessions work at once, turn after turn with calls, for twenty seconds in a process of their own:
// under 150 MB, and the slowest makes at least 80 % of the median's steps.
func BenchmarkSessions(b *testing.B) {
	for b.Loop() {
		got := crowded(b, "1000x20s")
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(got.PeakMB, "peak-MB")
		b.ReportMetric(float64(got.Median), "median-steps")
		b.ReportMetric(float64(got.Slowest), "slowest-steps")
		b.ReportMetric(float64(got.Slowest)/float64(max(got.Median, 1)), "slowest/median")
		b.ReportMetric(float64(got.Steps)/20, "steps/s")
		if got.Failed > 0 || got.PeakMB >= 150 || got.Slowest*10 < got.Median*8 || got.Median == 0 {
			b.Errorf("%+v", got)
		}
	}
}

// BenchmarkSessionsOfTwo lets two processes work on one database, 500 sessions each, for twenty seconds: how far the slowest session of
// all is behind the median, and the slower process behind the other.
func BenchmarkSessionsOfTwo(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		var two [2]crowd
		var both sync.WaitGroup
		for i := range two {
			both.Go(func() { two[i] = crowded(b, "500x20s", crowdDirEnv+"="+dir) })
		}
		both.Wait()
		all := slices.Sorted(slices.Values(slices.Concat(two[0].Each, two[1].Each)))
		if len(all) == 0 {
			b.FailNow()
		}
		slower, faster := min(two[0].Steps, two[1].Steps), max(two[0].Steps, two[1].Steps)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(all[len(all)/2]), "median-steps")
		b.ReportMetric(float64(all[0]), "slowest-steps")
		b.ReportMetric(float64(all[0])/float64(max(all[len(all)/2], 1)), "slowest/median")
		b.ReportMetric(float64(slower)/float64(max(faster, 1)), "slower/faster")
		b.ReportMetric(float64(slower+faster)/20, "steps/s")
		b.ReportMetric(max(two[0].PeakMB, two[1].PeakMB), "peak-MB")
		if two[0].Failed+two[1].Failed > 0 || len(all) != 1000 || slower*10 < faster*8 {
			b.Errorf("%d sessions, %d and %d steps, failed %d and %d", len(all), two[0].Steps, two[1].Steps, two[0].Failed, two[1].Failed)
		}
	}
}

// The process that is measured does what it is measured for, with fewer sessions.
func TestCrowd(t *testing.T) {
	length := "3s"
	if testing.Short() {
		length = "1s"
	}
	if got := crowded(t, "10x"+length); got.Sessions != 10 || got.Failed > 0 || got.Steps < 1 {
		t.Errorf("%+v", got)
	}
}
