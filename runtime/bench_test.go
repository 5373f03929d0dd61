package runtime_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/store"
	"vitrine/tools"
	"vitrine/trace"
)

// rig is an engine on the real store.
type rig struct {
	t     testing.TB
	clk   clock.Clock
	store *store.Store
	eng   *runtime.Engine
	// told is asked at every event, those of the store included; it may be nil.
	told func(trace.Event)
}

// Publish implements runtime.Publisher.
func (r *rig) Publish(evs ...trace.Event) {
	if r.told == nil {
		return
	}
	for _, ev := range evs {
		r.told(ev)
	}
}

// unsynced is the name of a database that is written without waiting for the disk. The program has no such switch: a hook of
// the driver turns it off by the name.
const unsynced = "unsynced.db"

var switchSyncOff = sync.OnceFunc(func() {
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, name string) error {
		if !strings.Contains(name, unsynced) {
			return nil
		}
		_, err := c.ExecContext(context.Background(), "PRAGMA synchronous = OFF", nil)
		return err
	})
})

// newRig makes an engine whose database has this name in dir. Faults may be nil.
func newRig(t testing.TB, clk clock.Clock, dir, name string, faults *runtime.Faults, model llm.Client, more ...tools.Tool) *rig {
	t.Helper()
	switchSyncOff()
	r := &rig{t: t, clk: clk}
	var n atomic.Int64
	ids := func() string { return fmt.Sprintf("0192f0c1-9d2a-7000-8000-%012d", n.Add(1)) } // as long as the real ones
	var err error
	r.store, err = store.Open(context.Background(), store.Config{
		Path: filepath.Join(dir, name), Clock: clk, NewID: ids, Publish: func(evs ...trace.Event) { r.Publish(evs...) }, Faults: faults,
	})
	if err != nil {
		t.Fatal(err)
	}
	reg := tools.NewRegistry(append([]tools.Tool{lookTool()}, more...)...)
	r.eng = runtime.NewEngine(runtime.EngineConfig{
		Store: r.store, Memory: r.store, Model: model, DefaultModel: "m", Registry: reg, Executor: tools.NewExecutor(clk, reg, tools.Config{}),
		Bus: r, Clock: clk, NewID: ids, System: strings.Repeat("You are a test of ordinary length. ", 60), User: "u", Summarize: "s",
		Limits: runtime.Limits{ContextTokens: 100_000, RawTurns: 20, ResultChars: 2000},
	})
	return r
}

// close ends engine and store; for a simulated clock it is called within Run.
func (r *rig) close() {
	ctx := context.Background()
	if err := r.eng.Shutdown(ctx, true); err != nil {
		r.t.Error(err)
	}
	if err := r.store.Close(ctx); err != nil {
		r.t.Error(err)
	}
}

// lookTool reads something, at once.
func lookTool() tools.Tool {
	return tools.New("look", "looks something up", tools.ReadOnly, func(_ context.Context, _ tools.Call, in echoArgs) (tools.Output, error) {
		return tools.Output{Data: map[string]string{"found": strings.Repeat("words about "+in.Text+" ", 10)}, Summary: "1 hit"}, nil
	})
}

// stepper is a model that streams some pieces of text and asks for one call in each of so many steps, then answers. It asks
// nothing twice, so that no run goes in circles. pace is the wait before each piece.
type stepper struct {
	clk   clock.Clock
	steps int
	pace  time.Duration
	tool  string
	// asked is told of each request as it comes, with the last words of the user; it may be nil.
	asked func(user string)
}

// Stream implements llm.Client.
func (m *stepper) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
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
		if m.asked != nil {
			m.asked(user)
		}
		for _, piece := range []string{"I look ", "this up ", "for you, ", "one moment."} {
			if m.pace > 0 {
				if err := m.clk.Sleep(ctx, m.pace); err != nil {
					yield(llm.Chunk{}, err)
					return
				}
			}
			if !yield(llm.Chunk{Text: piece}, nil) {
				return
			}
		}
		prompt, words := 300+100*len(req.Messages), 20
		end := llm.Done{Finish: llm.FinishStop, Usage: llm.Usage{Prompt: &prompt, Completion: &words}}
		if done < m.steps {
			name := m.tool
			if name == "" {
				name = "look"
			}
			end.Finish = llm.FinishToolCalls
			end.ToolCalls = []llm.ToolCall{{ID: fmt.Sprint("c", done), Name: name, Arguments: fmt.Sprintf(`{"text":"%s %d"}`, user, done)}}
		}
		yield(llm.Chunk{Done: &end}, nil)
	}
}

// A step with one call is two transactions of the database, whatever the step; beside them there are only the submit, the
// opening of the session and the end. Counted in the store itself, not in the engine.
func TestStepIsTwoTransactions(t *testing.T) {
	count := func(steps int) int {
		clk := clock.NewSim(t0)
		n := 0
		faults := runtime.NewFaults(func(point string) error {
			if point == "commit.after" {
				n++
			}
			return nil
		})
		clk.Run(func() {
			ctx := context.Background()
			r := newRig(t, clk, t.TempDir(), unsynced, faults, &stepper{clk: clk, steps: steps})
			defer r.close()
			ended := clock.NewLatch(clk)
			r.told = func(ev trace.Event) {
				if ev.Name == trace.RunEnd {
					ended.Open()
				}
			}
			if _, err := r.eng.Open(ctx, "s", true); err != nil {
				t.Fatal(err)
			}
			n = 0
			if err := r.eng.Submit(ctx, "s", "go"); err != nil {
				t.Fatal(err)
			}
			if err := ended.Wait(ctx); err != nil {
				t.Fatal(err)
			}
		})
		return n
	}
	const others = 2 + 2 // submit and end; closing gives the session up, engine and store each in a transaction
	for _, steps := range []int{0, 1, 2, 7, 20} {
		if got, want := count(steps), 2*steps+others; got > want {
			t.Errorf("%d steps with a call took %d transactions, want at most %d", steps, got, want)
		}
	}
}

// percentile gives the p-th hundredth of durations, in milliseconds.
func percentile(ds []time.Duration, p int) float64 {
	ds = slices.Clone(ds)
	slices.Sort(ds)
	return float64(ds[min(len(ds)-1, len(ds)*p/100)].Nanoseconds()) / 1e6
}

// yardstick measures what one fdatasync costs here and now: of a write as large as a step's commit into a file that is there
// already, as the log is most of the time.
type yardstick struct {
	f     *os.File
	at    int64
	took  []time.Duration
	block []byte
}

const yardSize = 4 << 20

func newYardstick(b *testing.B, dir string) *yardstick {
	f, err := os.Create(filepath.Join(dir, "yardstick"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	y := &yardstick{f: f, block: make([]byte, 24<<10)}
	if _, err := f.Write(make([]byte, yardSize)); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	return y
}

func (y *yardstick) measure(b *testing.B) {
	if y.at+int64(len(y.block)) > yardSize {
		y.at = 0
	}
	y.block[0]++
	if _, err := y.f.WriteAt(y.block, y.at); err != nil {
		b.Fatal(err)
	}
	y.at += int64(len(y.block))
	start := time.Now()
	if err := dataSync(y.f); err != nil {
		b.Fatal(err)
	}
	y.took = append(y.took, time.Since(start))
}

// BenchmarkStep measures steps with one call: from one request to the next, the model and the tool being there at once. With
// sync=off that is our own time, to be under 0.5 ms; with sync=full at most two fdatasync of the same run and 1 ms.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{unsynced, "full.db"} {
		kind := map[bool]string{true: "sync=off", false: "sync=full"}[name == unsynced]
		b.Run(kind, func(b *testing.B) {
			dir := b.TempDir()
			yard := newYardstick(b, dir)
			var steps []time.Duration
			var last time.Time
			model := &stepper{clk: clock.Real(), steps: 8, asked: func(string) {
				now := time.Now()
				if !last.IsZero() {
					steps = append(steps, now.Sub(last))
				}
				last = now
			}}
			r := newRig(b, clock.Real(), dir, name, nil, model)
			defer r.close()
			ends := make(chan trace.RunEndData, 1)
			r.told = func(ev trace.Event) {
				if d, ok := ev.Data.(trace.RunEndData); ok {
					ends <- d
				}
			}
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprint("s", i/5) // five turns each
				if _, err := r.eng.Open(b.Context(), id, true); err != nil {
					b.Fatal(err)
				}
				last = time.Time{}
				if err := r.eng.Submit(b.Context(), id, "look up some things"); err != nil {
					b.Fatal(err)
				}
				if end := <-ends; end.State != "succeeded" || end.Calls != model.steps {
					b.Fatalf("%+v", end)
				}
				for range 2 {
					yard.measure(b)
				}
			}
			median, disk := percentile(steps, 50), percentile(yard.took, 50)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median, "ms/step")
			b.ReportMetric(percentile(steps, 95), "p95-ms/step")
			b.ReportMetric(disk, "fdatasync-ms")
			if kind == "sync=full" {
				b.ReportMetric(median/disk, "fdatasyncs/step")
				b.ReportMetric(median-2*disk, "ms-over-2-fdatasyncs")
			}
			if len(steps) < 400 {
				return // the trial runs are short
			}
			if kind == "sync=off" && median >= 0.5 {
				b.Errorf("a step takes %.3f ms of our own", median)
			}
			if kind == "sync=full" && median > 2*disk+1 {
				b.Errorf("a step takes %.3f ms where a fdatasync takes %.3f ms", median, disk)
			}
		})
	}
}
