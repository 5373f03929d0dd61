package tools

import (
	"context"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"vitrine/runtime/clock"
)

// faultsOf are ways in which a tool's preview or probe may go wrong, and what the executor makes of each within how long.
func faultsOf(clk clock.Clock) map[string]struct {
	f     func(ctx context.Context) error
	code  Code
	words string
	took  time.Duration
} {
	type fault = struct {
		f     func(ctx context.Context) error
		code  Code
		words string
		took  time.Duration
	}
	return map[string]fault{
		"refuses": {func(context.Context) error { return &Error{Code: CodeConflict, Message: "has changed"} }, CodeConflict, "has changed", 0},
		"fails":   {func(context.Context) error { return errors.New("disk") }, CodeInternal, "disk", 0},
		"panics":  {func(context.Context) error { panic("secret") }, CodeInternal, "failed inside (panic)", 0},
		"exits":   {func(context.Context) error { goruntime.Goexit(); return nil }, CodeInternal, "without a result", 0},
		"listens": {func(ctx context.Context) error { return clk.Sleep(ctx, time.Hour) }, CodeTimeout, "within 2s", 2 * time.Second},
		"deaf": {func(context.Context) error { return clk.Sleep(context.Background(), time.Hour) }, CodeTimeout, "within 2s",
			2*time.Second + 50*time.Millisecond},
	}
}

// "Panics become results": a preview ends within its bounds whatever the tool does, and says why there is none.
func TestPreviewWithinBounds(t *testing.T) {
	play(t, Config{}, func(clk clock.Clock, _ *Executor) {
		for name, tt := range faultsOf(clk) {
			panics := 0
			e := NewExecutor(clk, NewRegistry(), Config{PreviewDeadline: 2 * time.Second, OnPanic: func(string, any, []byte) { panics++ }})
			tl := tool(SideEffect, func(context.Context, Call) (Output, error) { return Output{}, nil },
				WithPreview(func(ctx context.Context, _ Call, _ noIn) (string, error) { return "lost", tt.f(ctx) }))
			began := clk.Now()
			text, bad := e.Preview(context.Background(), tl, Call{}, noArgs)
			if took := clk.Now().Sub(began); bad == nil || bad.Code != tt.code || !strings.Contains(bad.Message, tt.words) || text != "" || took != tt.took {
				t.Errorf("%s: %q, %v after %v", name, text, bad, took)
			}
			if strings.Contains(bad.Message, "secret") || panics > 1 || (panics == 1) != (name == "panics") {
				t.Errorf("%s: %v, %d panics told", name, bad, panics)
			}
		}
		e := NewExecutor(clk, NewRegistry(), Config{})
		tl := tool(SideEffect, func(context.Context, Call) (Output, error) { return Output{}, nil },
			WithPreview(func(context.Context, Call, noIn) (string, error) { return "+1", nil }))
		if text, bad := e.Preview(context.Background(), tl, Call{}, noArgs); text != "+1" || bad != nil {
			t.Errorf("%q, %v", text, bad)
		}
		if text, bad := e.Preview(context.Background(), nil, Call{}, noArgs); text != "" || bad != nil {
			t.Errorf("no tool: %q, %v", text, bad)
		}
	})
}

// A probe that goes wrong in any way cannot tell; it says so within the tool's deadline.
func TestProbeWithinBounds(t *testing.T) {
	play(t, Config{}, func(clk clock.Clock, e *Executor) {
		probing := func(f func(ctx context.Context) error) Tool {
			return New("tool", "for tests", Probeable, func(context.Context, Call, noIn) (Output, error) { return Output{}, nil }, WithDeadline(2*time.Second),
				WithProbe(func(ctx context.Context, _ Call, _ noIn) (Output, bool, error) { return Output{Data: 1}, true, f(ctx) }))
		}
		for name, tt := range faultsOf(clk) {
			began := clk.Now()
			out, ran, ok, err := e.Probe(context.Background(), probing(tt.f), Call{}, noArgs)
			if took := clk.Now().Sub(began); err == nil || ran || ok || out.Data != nil || took != tt.took {
				t.Errorf("%s: %v %v %v, %v after %v", name, out, ran, ok, err, took)
			}
		}
		out, ran, ok, err := e.Probe(context.Background(), probing(func(context.Context) error { return nil }), Call{}, noArgs)
		if !ran || !ok || err != nil || out.Data != 1 {
			t.Errorf("%v %v %v %v", out, ran, ok, err)
		}
		if _, _, ok, err := e.Probe(context.Background(), tool(SideEffect, ranNow), Call{}, noArgs); ok || err != nil {
			t.Errorf("a tool that cannot be probed: %v %v", ok, err)
		}
	})
}

func ranNow(context.Context, Call) (Output, error) { return Output{}, nil }

// Esc ends both within the grace, also when the tool is deaf.
func TestCancelOfPreviewAndProbe(t *testing.T) {
	play(t, Config{}, func(clk clock.Clock, e *Executor) {
		deaf := New("tool", "for tests", Probeable, func(context.Context, Call, noIn) (Output, error) { return Output{}, nil },
			WithPreview(func(context.Context, Call, noIn) (string, error) {
				return "late", clk.Sleep(context.Background(), time.Hour)
			}),
			WithProbe(func(context.Context, Call, noIn) (Output, bool, error) {
				return Output{}, true, clk.Sleep(context.Background(), time.Hour)
			}))
		for name, ask := range map[string]func(ctx context.Context) error{
			"preview": func(ctx context.Context) error {
				_, bad := e.Preview(ctx, deaf, Call{}, noArgs)
				if bad == nil || bad.Code != CodeInterrupted {
					t.Errorf("%v", bad)
				}
				return bad
			},
			"probe": func(ctx context.Context) error { _, _, _, err := e.Probe(ctx, deaf, Call{}, noArgs); return err },
		} {
			ctx, cancel := clk.WithCancel(context.Background())
			began := clk.Now()
			clk.AfterFunc(time.Second, cancel)
			err := ask(ctx)
			if took := clk.Now().Sub(began); err == nil || took != time.Second+50*time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		}
	})
}
