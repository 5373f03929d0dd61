package runtime_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"vitrine/llm"
	"vitrine/llm/scripted"
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

const (
	yardSize = 4 << 20
	// stepBytes is what a commit of a step adds to the log: 10 to 12 pages and their headers.
	stepBytes = 11 * (4096 + 24)
)

func newYardstick(b *testing.B, dir string) *yardstick {
	f, err := os.Create(filepath.Join(dir, "yardstick"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	y := &yardstick{f: f, block: make([]byte, stepBytes)}
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
				b.Errorf("a step takes %.3f ms of our own, one in twenty more than %.3f ms", median, percentile(steps, 95))
			}
			if kind == "sync=full" && median > 2*disk+1 {
				b.Errorf("a step takes %.3f ms where a fdatasync takes %.3f ms: %.3f ms over two of them", median, disk, median-2*disk)
			}
		})
	}
}

// A hundred sessions at once on one store whose disk takes its time: each comes as far as the others, counted in steps, not in
// time. The clock is simulated, so it is the same at every run.
func TestSessionsAreServedFairly(t *testing.T) {
	const sessions = 100
	clk := clock.NewSim(t0)
	faults := runtime.NewFaults(func(point string) error {
		if point == "commit.before" {
			return clk.Sleep(context.Background(), 4*time.Millisecond)
		}
		return nil
	})
	steps := map[string]int{}
	model := &stepper{clk: clk, steps: 4, pace: 20 * time.Millisecond}
	clk.Run(func() {
		ctx := context.Background()
		r := newRig(t, clk, t.TempDir(), unsynced, faults, model)
		defer r.close()
		again := clock.NewQueue[string](clk, sessions)
		r.told = func(ev trace.Event) {
			switch ev.Name {
			case trace.LLMCall:
				steps[ev.SessionID]++
			case trace.RunEnd:
				again.TryPut(ev.SessionID)
			}
		}
		for i := range sessions {
			id := fmt.Sprint("s", i)
			if _, err := r.eng.Open(ctx, id, true); err != nil {
				t.Fatal(err)
			}
			again.TryPut(id)
		}
		until, cancel := clk.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		for {
			id, err := again.Get(until)
			if err != nil {
				break
			}
			// Each from its own goroutine: a session waits for its own commits only.
			clk.Go(func() { _ = r.eng.Submit(ctx, id, "look at "+id) })
		}
	})
	var all []int
	for _, n := range steps {
		all = append(all, n)
	}
	slices.Sort(all)
	if len(all) != sessions || all[0] < 10 {
		t.Fatalf("%d sessions made steps, the slowest %d", len(all), all[0])
	}
	if median := all[len(all)/2]; all[0]*10 < median*8 {
		t.Errorf("the slowest made %d steps, the median %d", all[0], median)
	}
}

// stubborn are tools by how they take Esc. Each says that it has begun, and ends at the latest when it is let go.
func stubborn(t testing.TB, kind string, begun, letGo chan struct{}) tools.Tool {
	run := map[string]func(context.Context) (tools.Output, error){
		"listening": func(ctx context.Context) (tools.Output, error) {
			close(begun)
			<-ctx.Done()
			return tools.Output{Data: "half"}, ctx.Err()
		},
		"deaf": func(context.Context) (tools.Output, error) {
			close(begun)
			<-letGo
			return tools.Output{Data: "late"}, nil
		},
		"spinning": func(context.Context) (tools.Output, error) {
			close(begun)
			for n := 0; ; n++ {
				select {
				case <-letGo:
					return tools.Output{Data: n}, nil
				default:
				}
			}
		},
		// The shell dies with the context, its child lives on and holds the pipe that is read to its end.
		"children": func(ctx context.Context) (tools.Output, error) {
			cmd := exec.CommandContext(ctx, "sh", "-c", "sleep 1000 & echo $!; wait")
			out, err := cmd.StdoutPipe()
			if err = errors.Join(err, cmd.Start()); err != nil {
				return tools.Output{}, err
			}
			lines := bufio.NewReader(out)
			pid, err := lines.ReadString('\n')
			if err != nil {
				t.Error(err)
			}
			close(begun)
			clock.Real().Go(func() {
				<-letGo
				if err := exec.Command("kill", strings.TrimSpace(pid)).Run(); err != nil {
					t.Error(err)
				}
			})
			_, err = io.Copy(io.Discard, lines)
			return tools.Output{Data: "late"}, errors.Join(err, cmd.Wait())
		},
	}[kind]
	return tools.New("hold", "takes its time", tools.SideEffect, func(ctx context.Context, _ tools.Call, _ echoArgs) (tools.Output, error) { return run(ctx) })
}

// esc lets a turn run into a tool of the kind, cancels it, and gives the time until its end was told. Only behind that the tool is
// let go: where the end waited for the tool it would not come.
func esc(t testing.TB, kind string) time.Duration {
	t.Helper()
	if _, err := exec.LookPath("sh"); kind == "children" && err != nil {
		t.Skip("there is no shell")
	}
	begun, letGo := make(chan struct{}), make(chan struct{})
	r := newRig(t, clock.Real(), t.TempDir(), "esc.db", nil, &stepper{clk: clock.Real(), steps: 1, tool: "hold"}, stubborn(t, kind, begun, letGo))
	ended := make(chan trace.RunEndData, 1)
	r.told = func(ev trace.Event) {
		if d, ok := ev.Data.(trace.RunEndData); ok {
			ended <- d
		}
	}
	ctx := context.Background()
	if _, err := r.eng.Open(ctx, "s", true); err != nil {
		t.Fatal(err)
	}
	if err := r.eng.Submit(ctx, "s", "go"); err != nil {
		t.Fatal(err)
	}
	<-begun
	start := time.Now()
	r.eng.Cancel("s")
	end := <-ended
	took := time.Since(start)
	if end.State != "cancelled" || end.Calls != 1 {
		t.Errorf("%s: %+v", kind, end)
	}
	close(letGo)
	r.close()
	return took
}

// Esc ends a run whatever its tool does, and the tool's goroutine is gone when the tool ends (see TestMain).
func TestEscWaitsForNoTool(t *testing.T) {
	for _, kind := range []string{"listening", "deaf", "spinning", "children"} {
		t.Logf("%s: %s", kind, esc(t, kind))
	}
}

// The same in simulated time: a tool that never returns holds the end up for the grace only, and neither the next turn nor the
// shutdown waits for it. What it says later is dropped.
func TestEscInSimulatedTime(t *testing.T) {
	for _, effect := range []tools.Effect{tools.ReadOnly, tools.OwnData, tools.Idempotent, tools.SideEffect} {
		b := newBed(t, scripted.Calls(scripted.Call{Name: "hold", Args: `{"text":"x"}`}).When("go"), scripted.Text("fine").Times(-1))
		letGo, late := clock.NewLatch(b.clk), false
		b.cfg.Registry = tools.NewRegistry(tools.New("hold", "never ends", effect, func(_ context.Context, call tools.Call, _ echoArgs) (tools.Output, error) {
			err := letGo.Wait(context.Background())
			call.Progress("too late")
			late = true
			return tools.Output{Data: "late"}, err
		}))
		b.cfg.Executor = executorOf(b)
		b.run(func(ctx context.Context) {
			b.begin(ctx, "go", time.Second)
			var at time.Time
			start := b.clk.Now()
			b.eng.Cancel("s")
			for at.IsZero() && b.clk.Now().Sub(start) < time.Minute {
				if b.count(trace.RunEnd) > 0 {
					at = b.clk.Now()
				} else if err := b.clk.Sleep(ctx, time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			if d := at.Sub(start); at.IsZero() || d >= 100*time.Millisecond {
				t.Errorf("%s: the end came after %s", effect, d)
			}
			if end := b.ask(ctx, "s", "next"); end.State != "succeeded" || late {
				t.Errorf("%s: %+v, the tool ended: %v", effect, end, late)
			}
		})
		stored := len(b.messages("s"))
		letGo.Open()
		b.clk.Settle()
		if !late || len(b.messages("s")) != stored || b.count(trace.Progress) > 0 || !b.clk.Idle() {
			t.Errorf("%s: the straggler: ended %v, %d messages more, %d texts", effect, late, len(b.messages("s"))-stored, b.count(trace.Progress))
		}
		b.checkHistory("s")
	}
}

// BenchmarkEsc measures from Esc to the end of the run being told.
func BenchmarkEsc(b *testing.B) {
	for _, kind := range []string{"listening", "deaf", "spinning", "children"} {
		b.Run(kind, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				took = append(took, esc(b, kind))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(percentile(took, 50), "ms")
			b.ReportMetric(percentile(took, 100), "max-ms")
			if worst := percentile(took, 100); worst >= 100 {
				b.Errorf("a run ended %.1f ms after Esc", worst)
			}
		})
	}
}
