package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/trace"
)

func TestParseFaults(t *testing.T) {
	for _, bad := range []string{"x", "a:b", "a:0:kill", "a:x:kill", "a:1:explode", ":1:kill", "list:", "a:1:eio,b"} {
		if _, err := runtime.ParseFaults(bad); err == nil || !strings.Contains(err.Error(), runtime.FaultEnv) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	f, err := runtime.ParseFaults("a:2:eio,b:1+:enospc")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, syscall.EIO, nil} {
		if err := f.Hit("a"); !errors.Is(err, want) {
			t.Errorf("hit %d of a: %v", i+1, err)
		}
	}
	for range 3 {
		if err := f.Hit("b"); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "fault at b") {
			t.Errorf("hit of b: %v", err)
		}
	}
	var none *runtime.Faults
	if none, err = runtime.ParseFaults(""); none != nil || err != nil || none.Hit("a") != nil {
		t.Error("no fault is not nothing")
	}
	file := filepath.Join(t.TempDir(), "points")
	f, err = runtime.ParseFaults("list:" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"a", "b", "a"} {
		if err := f.Hit(p); err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "a\nb\na\n" {
		t.Errorf("list: %q %v", b, err)
	}
	f, _ = runtime.ParseFaults("list:" + t.TempDir())
	if err := f.Hit("a"); err == nil {
		t.Error("a list that cannot be written is silent")
	}
}

// A fault at a chunk fails the turn, one at an effect fails the call; neither is fatal.
func TestFaultsInARun(t *testing.T) {
	for _, point := range []string{"chunk", "effect.before", "effect.after"} {
		t.Run(point, func(t *testing.T) {
			b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"x"}`}), scripted.Text("done"))
			f, err := runtime.ParseFaults(point + ":1:eio")
			if err != nil {
				t.Fatal(err)
			}
			b.cfg.Faults = f
			b.run(func(ctx context.Context) {
				end := b.ask(ctx, "s", "go")
				if want := map[bool]string{true: "failed", false: "succeeded"}[point == "chunk"]; end.State != want {
					t.Errorf("end = %+v", end)
				}
			})
			b.checkHistory("s")
		})
	}
}

// The program stops at the n-th point of a run, for every n, and starts again: the history is valid, nothing that was
// acknowledged is lost, a tool with effects never runs a second time by itself, and both giving up and resuming lead on.
func TestCrashAtEveryPoint(t *testing.T) {
	script := func(clk clock.Clock) *scripted.Client {
		return scripted.New(clk, scripted.Func(func(r llm.Request) scripted.Step {
			for _, m := range r.Messages {
				if m.Role == "tool" {
					return scripted.Text("done")
				}
			}
			return scripted.Calls(
				scripted.Call{Name: "read", Args: `{"text":"r"}`}, scripted.Call{Name: "note", Args: `{"text":"n"}`},
				scripted.Call{Name: "fire", Args: `{"text":"f"}`})
		}).Times(-1)).Strict()
	}
	for _, resume := range []bool{false, true} {
		for n := 1; ; n++ {
			if !crashOnce(t, n, resume, script) {
				if n < 20 {
					t.Fatalf("the run has only %d points", n)
				}
				break
			}
		}
	}
}

func crashOnce(t *testing.T, n int, resume bool, script func(clock.Clock) *scripted.Client) (crashed bool) {
	t.Helper()
	b := newBed(t)
	b.model = script(b.clk)
	b.cfg.Model = b.model
	hits, at := 0, ""
	stop := func(point string) error {
		if hits++; hits == n {
			at, crashed = point, true
			return clock.NewLatch(b.clk).Wait(context.Background()) // for ever: Halt ends it
		}
		return nil
	}
	b.cfg.Faults = runtime.NewFaults(stop)
	b.store.fail = func(_ runtime.Tx, after bool) error { return stop(fmt.Sprintf("commit after=%v", after)) }
	acknowledged := false
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			panic(err)
		}
		if err := b.eng.Submit(ctx, "s", "go"); err != nil {
			panic(err)
		}
		acknowledged = true
	})
	b.clk.Advance(time.Minute)
	b.clk.Halt()
	if !crashed {
		return false
	}
	b.clk = clock.NewSim(t0.Add(72 * time.Hour))
	b.cfg.Clock, b.cfg.Faults, b.store.fail = b.clk, nil, nil
	b.model = script(b.clk)
	b.cfg.Model = b.model
	b.cfg.Registry = registryOf(b)
	b.cfg.Executor = executorOf(b)
	name := fmt.Sprintf("point %d (%s), resume %v", n, at, resume)
	b.run(func(ctx context.Context) {
		snap, err := b.eng.Open(ctx, "s", true)
		if err != nil {
			t.Fatalf("%s: open: %v", name, err)
		}
		if acknowledged && len(snap.Messages) == 0 {
			t.Errorf("%s: acknowledged input is lost", name)
		}
		if resume && snap.Run != nil {
			ended := b.count(trace.RunEnd)
			if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &resume}); err != nil {
				if !strings.Contains(err.Error(), "fire") {
					t.Errorf("%s: resume: %v", name, err)
				}
			} else if end := b.await(ctx, ended); end.State != "succeeded" {
				t.Errorf("%s: resumed run: %+v", name, end)
			}
		}
		if end := b.ask(ctx, "s", "next"); end.State != "succeeded" {
			t.Errorf("%s: next turn: %+v", name, end)
		}
	})
	b.checkHistory("s")
	fired := 0
	for _, r := range b.ran {
		if r == "fire:f" {
			fired++
		}
	}
	calls := 0
	for _, c := range b.store.sessions["s"].calls {
		if c.Name == "fire" {
			calls++
		}
	}
	if fired > calls {
		t.Errorf("%s: %d effects of %d calls", name, fired, calls)
	}
	seen := map[string]bool{}
	for _, todo := range b.store.sessions["s"].todos {
		if seen[todo.ID] {
			t.Errorf("%s: todo %s was added twice", name, todo.ID)
		}
		seen[todo.ID] = true
	}
	return true
}
