// Bench measures the built binary in a pseudo terminal, as its user meets it, and prints JSON.
//
// Times are compared within one run, by turns, and given as medians: machines differ and are noisy, ratios are not. It
// builds the program and the minimal one beside it (minimal/) itself:
//
//	go run ./ui/bench [-runs 15]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"time"
)

// report is what the bench prints. Times are in milliseconds, memory in MB.
type report struct {
	Machine string `json:"machine"`
	Runs    int    `json:"runs"`

	MinimalStart float64 `json:"minimal_start_ms"`
	Start        float64 `json:"start_ms"`
	StartRatio   float64 `json:"start_ratio"`

	OpenEmpty  float64 `json:"open_empty_ms"`
	OpenFilled float64 `json:"open_100_sessions_ms"`
	OpenRatio  float64 `json:"open_ratio"`

	RSSFiveTabs  float64 `json:"rss_five_tabs_mb"`
	RSSAfter5000 float64 `json:"rss_after_5000_tokens_mb"`
	Peak         float64 `json:"rss_peak_mb"`
	LastToken    float64 `json:"last_of_5000_tokens_ms"`

	Screen []screenReport `json:"screen"`
}

func main() {
	runs := flag.Int("runs", 15, "how often each start is measured")
	list := flag.String("renderers", "own", "who paints, by turns: own, stock")
	flag.Parse()
	if err := run(context.Background(), *runs, strings.FieldsFunc(*list, func(r rune) bool { return r == ',' }), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, runs int, renderers []string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "vitrine-bench-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	b, err := build(ctx, dir)
	if err != nil {
		return err
	}
	r := report{Machine: machine(), Runs: runs}
	if err := b.starts(ctx, &r, runs); err != nil {
		return err
	}
	if err := b.memory(ctx, &r); err != nil {
		return err
	}
	for _, renderer := range renderers {
		s, err := b.screen(ctx, renderer)
		if err == nil {
			err = b.tabs(ctx, &s, renderer)
		}
		if err == nil && renderer == "own" {
			err = b.long(ctx, &s, renderer, runs)
		}
		if err != nil {
			return fmt.Errorf("renderer %s: %w", renderer, err)
		}
		r.Screen = append(r.Screen, s)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// programs are the built binaries and where they keep their data.
type programs struct{ dir, vitrine, minimal string }

func build(ctx context.Context, dir string) (programs, error) {
	b := programs{dir: dir, vitrine: filepath.Join(dir, "vitrine"), minimal: filepath.Join(dir, "minimal")}
	for bin, pkg := range map[string]string{b.vitrine: "vitrine", b.minimal: "vitrine/ui/bench/minimal"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return b, fmt.Errorf("build %s: %w\n%s", pkg, err, text)
		}
	}
	return b, nil
}

// starts measures process start to the first frame, by turns: minimal, empty store, filled store.
func (b programs) starts(ctx context.Context, r *report, runs int) error {
	empty, filled := filepath.Join(b.dir, "empty"), filepath.Join(b.dir, "filled")
	for _, d := range []string{empty, filled} {
		// The first start makes the store and is not counted.
		if _, err := b.start(ctx, b.vitrine, d); err != nil {
			return err
		}
	}
	if err := fill(ctx, filepath.Join(filled, "sessions.db"), 100, 200, 5); err != nil {
		return err
	}
	var minimal, open, full []float64
	for range runs {
		for _, m := range []struct {
			bin, dir string
			to       *[]float64
		}{{b.minimal, empty, &minimal}, {b.vitrine, empty, &open}, {b.vitrine, filled, &full}} {
			ms, err := b.start(ctx, m.bin, m.dir)
			if err != nil {
				return err
			}
			*m.to = append(*m.to, ms)
		}
	}
	r.MinimalStart, r.Start = median(minimal), median(open)
	r.OpenEmpty, r.OpenFilled = median(open), median(full)
	r.StartRatio, r.OpenRatio = round(r.Start/r.MinimalStart), round(r.OpenFilled/r.OpenEmpty)
	return nil
}

// start gives the milliseconds from the start of bin to its input line.
func (b programs) start(ctx context.Context, bin, dir string) (float64, error) {
	var args []string
	if bin == b.vitrine {
		args = []string{"--user", "bench"}
	}
	t, err := open(ctx, bin, dir, nil, args...)
	if err != nil {
		return 0, err
	}
	at, err := t.await("❯", 20*time.Second)
	if closeErr := t.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", filepath.Base(bin), err)
	}
	return round(float64(at.Sub(t.began).Microseconds()) / 1000), nil
}

// memory measures five tabs of 200 messages, then a reply of 5,000 tokens sent at once.
func (b programs) memory(ctx context.Context, r *report) error {
	dir := filepath.Join(b.dir, "tabs")
	if _, err := b.start(ctx, b.vitrine, dir); err != nil {
		return err
	}
	if err := fill(ctx, filepath.Join(dir, "sessions.db"), 5, 200, 5); err != nil {
		return err
	}
	srv := newServer()
	defer srv.close()
	t, err := open(ctx, b.vitrine, dir, []string{"OPENAI_BASE_URL=" + srv.url(), "MODEL=bench", "AGENT_MAX_CTX_TOKENS=200000", "AGENT_MAX_RUN_TOKENS=1000000"}, "--user", "bench", "--continue")
	if err != nil {
		return err
	}
	defer t.close()
	if _, err := t.await("❯", 20*time.Second); err != nil {
		return err
	}
	if _, err := t.await("question-99-of-session-4", 20*time.Second); err != nil {
		return err
	}
	if r.RSSFiveTabs, _, err = resident(t.cmd.Process.Pid); err != nil {
		return err
	}
	if err := t.send("burst 5000\r"); err != nil {
		return err
	}
	at, err := t.await(lastWord(5000), 60*time.Second)
	if err != nil {
		return err
	}
	if sent := srv.lastSent(); !sent.IsZero() {
		r.LastToken = round(float64(at.Sub(sent).Microseconds()) / 1000)
	}
	r.RSSAfter5000, r.Peak, err = resident(t.cmd.Process.Pid)
	return err
}

func machine() string {
	name := goruntime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.SplitSeq(string(b), "\n") {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				name = strings.TrimSpace(v)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s", name, goruntime.NumCPU(), goruntime.GOOS, goruntime.Version())
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return round(s[len(s)/2])
}

func round(f float64) float64 { return float64(int(f*100+0.5)) / 100 }
