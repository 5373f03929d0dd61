package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"vitrine/runtime/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

type run func(ctx context.Context, c Call) (Output, error)

func tool(effect Effect, f run, opts ...Option) Tool {
	if effect == Probeable {
		opts = append(opts, WithProbe(func(context.Context, Call, noIn) (Output, bool, error) { return Output{}, false, nil }))
	}
	return New("tool", "for tests", effect, func(ctx context.Context, c Call, _ noIn) (Output, error) { return f(ctx, c) }, opts...)
}

// play runs f under a simulated clock with an executor.
func play(t *testing.T, cfg Config, f func(clk clock.Clock, e *Executor)) {
	t.Helper()
	sim := clock.NewSim(start)
	sim.Run(func() { f(sim, NewExecutor(sim, NewRegistry(), cfg)) })
	sim.Halt()
}

var noArgs = json.RawMessage("{}")

func TestExecuteSucceeds(t *testing.T) {
	for _, tt := range []struct {
		effect Effect
		side   string
	}{{ReadOnly, EffectNone}, {OwnData, EffectNone}, {Idempotent, EffectCommitted}, {Probeable, EffectCommitted}, {SideEffect, EffectCommitted}} {
		play(t, Config{}, func(clk clock.Clock, e *Executor) {
			var said []string
			tl := tool(tt.effect, func(ctx context.Context, c Call) (Output, error) {
				c.Progress("half\x1b[31m way\n")
				c.Progress("\x1b[0m")
				if err := clk.Sleep(ctx, 3*time.Second); err != nil {
					return Output{}, err
				}
				return Output{Data: c.Key, Summary: "ok\x1b[2J\nnow"}, nil
			})
			o := e.Execute(context.Background(), tl, Call{Key: "k1", Progress: func(s string) { said = append(said, s) }}, noArgs)
			want := Outcome{Result: Result{OK: true, Data: json.RawMessage(`"k1"`)}, Output: Output{Data: "k1", Summary: "ok now"},
				Duration: 3 * time.Second, Attempts: 1, SideEffect: tt.side}
			if diff := cmp.Diff(want, o); diff != "" {
				t.Errorf("%s: %s", tt.effect, diff)
			}
			if diff := cmp.Diff([]string{"half way"}, said); diff != "" {
				t.Error(diff)
			}
			if e.Registry() == nil {
				t.Error("no registry")
			}
		})
	}
}

func TestExecuteDeadline(t *testing.T) {
	for _, tt := range []struct {
		name   string
		effect Effect
		opts   []Option
		wait   time.Duration
		side   string
		words  string
	}{
		{"default", ReadOnly, nil, 60 * time.Second, EffectNone, "within 1m0s; nothing was changed"},
		{"own", SideEffect, []Option{WithDeadline(time.Second)}, time.Second, EffectUnknown, "within 1s; it may have had effects"},
		{"idempotent", Idempotent, []Option{WithDeadline(time.Second)}, time.Second, EffectUnknown, "may have had effects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, Config{}, func(clk clock.Clock, e *Executor) {
				polite := tool(tt.effect, func(ctx context.Context, _ Call) (Output, error) {
					return Output{}, fmt.Errorf("wait: %w", clk.Sleep(ctx, time.Hour))
				}, tt.opts...)
				o := e.Execute(context.Background(), polite, Call{}, noArgs)
				if o.Result.Error.Code != CodeTimeout || !strings.Contains(o.Result.Error.Message, tt.words) || o.Duration != tt.wait || o.Attempts != 1 || o.SideEffect != tt.side {
					t.Errorf("%+v %+v", o, o.Result.Error)
				}
				// A tool that does not listen costs the grace and no more.
				deaf := tool(tt.effect, func(context.Context, Call) (Output, error) {
					return Output{Data: "late"}, clk.Sleep(context.Background(), time.Hour)
				}, tt.opts...)
				o = e.Execute(context.Background(), deaf, Call{}, noArgs)
				if o.Result.Error.Code != CodeTimeout || o.Duration != tt.wait+50*time.Millisecond || o.SideEffect != tt.side {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

// B065: what an interrupted tool had said by then is kept; changes that it returned do not happen.
func TestB065PartialOutputIsKept(t *testing.T) {
	for _, code := range []error{nil, &Error{Code: CodeInterrupted, Message: "stopped in line 2"}} {
		play(t, Config{}, func(clk clock.Clock, e *Executor) {
			ctx, cancel := clk.WithCancel(context.Background())
			clk.AfterFunc(time.Second, cancel)
			o := e.Execute(ctx, tool(SideEffect, func(ctx context.Context, _ Call) (Output, error) {
				err := clk.Sleep(ctx, time.Hour)
				if code != nil {
					err = code
				}
				return Output{Data: "line 1", Changes: []Change{TodoAdd{ID: "a", Text: "b"}}}, err
			}), Call{}, noArgs)
			if o.Result.OK || o.Result.Error.Code != CodeInterrupted || string(o.Result.Data) != `"line 1"` || len(o.Output.Changes) > 0 || o.SideEffect != EffectUnknown {
				t.Errorf("%+v %+v", o, o.Result.Error)
			}
			if got := string(EncodeResult(o.Result)); !strings.Contains(got, `"data":"line 1"`) {
				t.Error(got)
			}
		})
	}
}

func TestExecuteCancel(t *testing.T) {
	play(t, Config{}, func(clk clock.Clock, e *Executor) {
		ctx, cancel := clk.WithCancel(context.Background())
		cancel()
		ran := false
		o := e.Execute(ctx, tool(SideEffect, func(context.Context, Call) (Output, error) { ran = true; return Output{}, nil }), Call{}, noArgs)
		if ran || o.Result.Error.Code != CodeNotRun || o.Attempts != 0 || o.SideEffect != EffectNone {
			t.Errorf("cancelled before: %+v", o)
		}
	})
	for _, tt := range []struct {
		effect Effect
		side   string
	}{{ReadOnly, EffectNone}, {OwnData, EffectNone}, {SideEffect, EffectUnknown}, {Probeable, EffectUnknown}} {
		play(t, Config{}, func(clk clock.Clock, e *Executor) {
			late, after := 0, 0
			deaf := tool(tt.effect, func(_ context.Context, c Call) (Output, error) {
				err := clk.Sleep(context.Background(), time.Minute)
				c.Progress("still here")
				late++
				return Output{Data: "late"}, err
			})
			ctx, cancel := clk.WithCancel(context.Background())
			clk.AfterFunc(5*time.Second, cancel)
			o := e.Execute(ctx, deaf, Call{Progress: func(string) { after++ }}, noArgs)
			if o.Result.Error.Code != CodeInterrupted || o.Duration != 5050*time.Millisecond || o.SideEffect != tt.side || late != 0 {
				t.Errorf("%s: %+v", tt.effect, o)
			}
			// The straggler ends by itself and is not heard.
			if err := clk.Sleep(context.Background(), 2*time.Minute); err != nil || late != 1 || after != 0 {
				t.Errorf("straggler: ended %d, heard %d, %v", late, after, err)
			}
		})
	}
	// A tool that says within the grace how far it came is believed.
	play(t, Config{}, func(clk clock.Clock, e *Executor) {
		ctx, cancel := clk.WithCancel(context.Background())
		clk.AfterFunc(time.Second, cancel)
		careful := tool(SideEffect, func(ctx context.Context, _ Call) (Output, error) {
			if clk.Sleep(ctx, time.Hour) != nil {
				return Output{Data: "half"}, clk.Sleep(context.Background(), 10*time.Millisecond)
			}
			return Output{}, nil
		})
		if o := e.Execute(ctx, careful, Call{}, noArgs); !o.Result.OK || string(o.Result.Data) != `"half"` || o.SideEffect != EffectCommitted {
			t.Errorf("%+v", o)
		}
	})
}

func TestExecuteRetries(t *testing.T) {
	busy := &Error{Code: CodeUnavailable, Message: "busy"}
	again := &Error{Code: CodeConflict, Message: "again", Retryable: true}
	never := &Error{Code: CodeConflict, Message: "no"}
	for _, tt := range []struct {
		name     string
		effect   Effect
		errs     []error
		opts     []Option
		cfg      Config
		attempts int
		took     time.Duration
		ok       bool
		words    string
	}{
		{"once", ReadOnly, []error{busy, nil}, nil, Config{}, 2, 250 * time.Millisecond, true, ""},
		{"twice", Idempotent, []error{again, busy, nil}, nil, Config{}, 3, 750 * time.Millisecond, true, ""},
		{"own data", OwnData, []error{busy, nil}, nil, Config{}, 2, 250 * time.Millisecond, true, ""},
		{"too often", ReadOnly, []error{busy, busy, again, nil}, nil, Config{}, 3, 750 * time.Millisecond, false, "again (after 3 attempts)"},
		{"not transient", ReadOnly, []error{never}, nil, Config{}, 1, 0, false, "no"},
		{"effects", SideEffect, []error{busy, nil}, nil, Config{}, 1, 0, false, "busy"},
		{"probeable", Probeable, []error{busy, nil}, nil, Config{}, 1, 0, false, "busy"},
		{"own number", ReadOnly, []error{busy, busy, busy, nil}, []Option{WithRetry(3)}, Config{}, 4, 1750 * time.Millisecond, true, ""},
		{"never", ReadOnly, []error{busy, nil}, []Option{WithRetry(0)}, Config{}, 1, 0, false, "busy"},
		{"never by configuration", ReadOnly, []error{busy, nil}, nil, Config{Retries: -1}, 1, 0, false, "busy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.cfg, func(_ clock.Clock, e *Executor) {
				n := 0
				tl := tool(tt.effect, func(context.Context, Call) (Output, error) { n++; return Output{Data: n}, tt.errs[n-1] }, tt.opts...)
				o := e.Execute(context.Background(), tl, Call{}, noArgs)
				if o.Attempts != tt.attempts || n != tt.attempts || o.Duration != tt.took || o.Result.OK != tt.ok {
					t.Errorf("%+v", o)
				}
				if !tt.ok && o.Result.Error.Message != tt.words {
					t.Errorf("message %q", o.Result.Error.Message)
				}
				if tt.attempts > 1 && !tt.ok && o.Result.Error.Retryable {
					t.Error("the model is told to try what has been tried")
				}
			})
		})
	}
	if busy.Message != "busy" || !again.Retryable {
		t.Error("a tool's error was changed")
	}
	play(t, Config{}, func(clk clock.Clock, e *Executor) {
		ctx, cancel := clk.WithCancel(context.Background())
		clk.AfterFunc(100*time.Millisecond, cancel)
		o := e.Execute(ctx, tool(Idempotent, func(context.Context, Call) (Output, error) { return Output{}, busy }), Call{}, noArgs)
		if o.Result.Error.Code != CodeInterrupted || o.Duration != 100*time.Millisecond || o.Attempts != 1 || o.SideEffect != EffectUnknown {
			t.Errorf("cancelled in a wait: %+v", o)
		}
		ctx, cancel = clk.WithCancel(context.Background())
		o = e.Execute(ctx, tool(ReadOnly, func(context.Context, Call) (Output, error) { cancel(); return Output{}, busy }), Call{}, noArgs)
		if o.Result.Error.Code != CodeInterrupted || o.Duration != 0 {
			t.Errorf("cancelled in an attempt: %+v", o)
		}
	})
}

func TestExecutePanic(t *testing.T) {
	var name, stack string
	var value any
	cfg := Config{OnPanic: func(n string, v any, s []byte) { name, value, stack = n, v, string(s) }}
	for _, effect := range []Effect{ReadOnly, SideEffect} {
		play(t, cfg, func(_ clock.Clock, e *Executor) {
			o := e.Execute(context.Background(), tool(effect, func(context.Context, Call) (Output, error) { panic("secret value") }), Call{}, noArgs)
			text := string(EncodeResult(o.Result))
			if o.Result.Error.Code != CodeInternal || strings.Contains(text, "secret") || strings.Contains(text, "goroutine") {
				t.Errorf("%s", text)
			}
			if name != "tool" || value != "secret value" || !strings.Contains(stack, "TestExecutePanic") {
				t.Errorf("%s %v %s", name, value, stack)
			}
		})
	}
	play(t, Config{}, func(_ clock.Clock, e *Executor) {
		o := e.Execute(context.Background(), tool(ReadOnly, func(context.Context, Call) (Output, error) { panic(errors.New("x")) }), Call{}, noArgs)
		if o.Result.Error.Code != CodeInternal {
			t.Errorf("%+v", o)
		}
	})
	// A goroutine that is ended by runtime.Goexit leaves no one waiting.
	e := NewExecutor(clock.Real(), NewRegistry(), Config{})
	o := e.Execute(context.Background(), tool(ReadOnly, func(context.Context, Call) (Output, error) { goruntime.Goexit(); return Output{}, nil }), Call{}, noArgs)
	if o.Result.Error == nil || o.Result.Error.Code != CodeInternal {
		t.Errorf("%+v", o)
	}
}

func TestExecuteOutputs(t *testing.T) {
	play(t, Config{MaxOutput: 4000, MaxProgress: 3}, func(_ clock.Clock, e *Executor) {
		said := 0
		o := e.Execute(context.Background(), tool(ReadOnly, func(_ context.Context, c Call) (Output, error) {
			for range 100 {
				c.Progress(strings.Repeat("x", 10_000))
			}
			return Output{Data: strings.Repeat("y", 100_000), Summary: strings.Repeat("s", 1000)}, nil
		}), Call{Progress: func(s string) {
			said++
			if len([]rune(s)) > 500 {
				t.Errorf("%d characters at once", len(s))
			}
		}}, noArgs)
		if said != 3 || len(o.Result.Data) > 4000 || !o.Result.Truncated || len([]rune(o.Output.Summary)) != 200 {
			t.Errorf("said %d, %d bytes, summary %d", said, len(o.Result.Data), len(o.Output.Summary))
		}
		add := []Change{TodoAdd{ID: "1", Text: "x"}, TodoSet{ID: "1"}}
		for _, c := range add {
			c.change()
		}
		if o := e.Execute(context.Background(), tool(OwnData, func(context.Context, Call) (Output, error) { return Output{Changes: add}, nil }), Call{}, noArgs); !o.Result.OK || len(o.Output.Changes) != 2 {
			t.Errorf("own data: %+v", o)
		}
		o = e.Execute(context.Background(), tool(ReadOnly, func(context.Context, Call) (Output, error) { return Output{Changes: add}, nil }), Call{}, noArgs)
		if o.Result.OK || o.Result.Error.Code != CodeInternal || o.Output.Changes != nil {
			t.Errorf("changes of a read-only tool: %+v", o)
		}
		o = e.Execute(context.Background(), tool(OwnData, func(context.Context, Call) (Output, error) { return Output{Data: func() {}, Changes: add}, nil }), Call{}, noArgs)
		if o.Result.OK || o.Output.Changes != nil {
			t.Errorf("changes without a result: %+v", o)
		}
		o = e.Execute(context.Background(), echo[pathIn]("p", SideEffect), Call{}, noArgs)
		if o.Result.Error.Code != CodeInvalidArgument || o.SideEffect != EffectNone {
			t.Errorf("bad arguments: %+v", o)
		}
	})
}

// A tool of another kind than New makes may break the promise about its errors.
type rude struct {
	Tool
	err error
}

func (r rude) Run(context.Context, Call, json.RawMessage) (Output, error) { return Output{}, r.err }

func TestExecuteForeignErrors(t *testing.T) {
	play(t, Config{}, func(_ clock.Clock, e *Executor) {
		for err, code := range map[error]Code{errors.New("x"): CodeInternal, context.Canceled: CodeInterrupted, context.DeadlineExceeded: CodeTimeout} {
			if o := e.Execute(context.Background(), rude{echo[noIn]("x", ReadOnly), err}, Call{}, noArgs); o.Result.Error == nil || o.Result.Error.Code != code {
				t.Errorf("%v: %+v", err, o)
			}
		}
	})
}

// Many calls at once share an executor, in real time.
func TestExecuteSideBySide(t *testing.T) {
	e := NewExecutor(clock.Real(), NewRegistry(), Config{})
	tl := tool(ReadOnly, func(_ context.Context, c Call) (Output, error) {
		c.Progress("x")
		return Output{Data: c.Key}, nil
	})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			key := fmt.Sprint(i)
			if o := e.Execute(t.Context(), tl, Call{Key: key}, noArgs); string(o.Result.Data) != `"`+key+`"` {
				t.Errorf("%+v", o)
			}
		}()
	}
	wg.Wait()
}
