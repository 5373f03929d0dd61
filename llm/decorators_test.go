package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// inSim runs f as a participant of a simulated clock.
func inSim(f func(*clock.Sim)) {
	sim := clock.NewSim(start)
	sim.Run(func() { f(sim) })
}

// fake answers each attempt with the next function, the last one for ever.
type fake struct {
	attempts int
	replies  []func(ctx context.Context, yield func(llm.Chunk, error) bool)
}

func (f *fake) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		i := min(f.attempts, len(f.replies)-1)
		f.attempts++
		f.replies[i](ctx, yield)
	}
}

func fails(e error) func(context.Context, func(llm.Chunk, error) bool) {
	return func(_ context.Context, yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, e) }
}

func says(text string) func(context.Context, func(llm.Chunk, error) bool) {
	return func(_ context.Context, yield func(llm.Chunk, error) bool) {
		if yield(llm.Chunk{Text: text}, nil) {
			yield(llm.Chunk{Done: &llm.Done{Finish: llm.FinishStop}}, nil)
		}
	}
}

func rate(after time.Duration) *llm.Error {
	return &llm.Error{Kind: llm.ErrRate, Status: 429, Message: "slow down", RetryAfter: after, Retryable: true}
}

func TestRetryWaits(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){
			fails(rate(0)),
			fails(&llm.Error{Kind: llm.ErrServer, Status: 503, Message: "overloaded", Retryable: true}),
			fails(rate(7 * time.Second)),
			says("at last"),
		}}
		c := llm.Retry(f, llm.RetryConfig{Max: 3, Base: time.Second, Clock: sim})
		began := sim.Now()
		reply, err := llm.Collect(c.Stream(t.Context(), llm.Request{}))
		if err != nil || reply.Text != "at last" {
			t.Errorf("got %q, %v", reply.Text, err)
		}
		want := []llm.RetryWait{
			{Attempt: 1, Max: 4, Wait: time.Second, Cause: "HTTP 429: slow down", Status: 429},
			{Attempt: 2, Max: 4, Wait: 2 * time.Second, Cause: "HTTP 503: overloaded", Status: 503},
			{Attempt: 3, Max: 4, Wait: 7 * time.Second, Cause: "HTTP 429: slow down", Status: 429},
		}
		if d := cmp.Diff(want, reply.Retries); d != "" {
			t.Errorf("waits (-want +got):\n%s", d)
		}
		if took := sim.Now().Sub(began); took != 10*time.Second {
			t.Errorf("took %s, want the sum of the waits", took)
		}
	})
}

func TestRetryGivesUp(t *testing.T) {
	retryable := func(k llm.ErrorKind, status int) *llm.Error {
		return &llm.Error{Kind: k, Status: status, Message: "m", Retryable: true}
	}
	for name, c := range map[string]struct {
		err      error
		attempts int
	}{
		"server":             {retryable(llm.ErrServer, 500), 3},
		"connect":            {retryable(llm.ErrConnect, 0), 3},
		"timeout":            {retryable(llm.ErrTimeout, 408), 3},
		"cut":                {retryable(llm.ErrCut, 0), 3},
		"rate":               {rate(0), 3},
		"rate, short wish":   {rate(time.Second), 3},
		"conflict":           {retryable(llm.ErrRejected, 409), 3},
		"too early":          {retryable(llm.ErrRejected, 425), 3},
		"not retryable":      {&llm.Error{Kind: llm.ErrConnect, Message: "certificate"}, 1},
		"rejected":           {retryable(llm.ErrRejected, 400), 1},
		"auth":               {retryable(llm.ErrAuth, 401), 1},
		"not found":          {retryable(llm.ErrNotFound, 404), 1},
		"quota":              {retryable(llm.ErrQuota, 429), 1},
		"context":            {retryable(llm.ErrContext, 500), 1},
		"too large":          {retryable(llm.ErrTooLarge, 0), 1},
		"exhausted":          {retryable(llm.ErrExhausted, 0), 1},
		"wish over the cap":  {rate(2 * time.Minute), 1},
		"no error of ours":   {errors.New("odd"), 1},
		"wrapped":            {fmt.Errorf("ask: %w", retryable(llm.ErrServer, 500)), 3},
		"silence of clients": {nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(func(sim *clock.Sim) {
				f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){func(_ context.Context, yield func(llm.Chunk, error) bool) {
					if c.err != nil {
						yield(llm.Chunk{}, c.err)
					}
				}}}
				_, err := llm.Collect(llm.Retry(f, llm.RetryConfig{Max: 2, Clock: sim}).Stream(t.Context(), llm.Request{}))
				if err == nil || f.attempts != c.attempts {
					t.Errorf("%d attempts, error %v, want %d", f.attempts, err, c.attempts)
				}
			})
		})
	}
}

func TestRetrySaysWhenToComeBack(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		for _, e := range []*llm.Error{
			rate(12*time.Hour + 34*time.Minute + 16*time.Second),
			{Kind: llm.ErrQuota, Status: 429, Message: strings.Repeat("long ", 60), RetryAfter: 12*time.Hour + 34*time.Minute + 16*time.Second},
			{Kind: llm.ErrQuota, Status: 429, RetryAfter: 12*time.Hour + 34*time.Minute + 16*time.Second},
		} {
			before := *e
			f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){fails(e)}}
			_, err := llm.Collect(llm.Retry(f, llm.RetryConfig{Max: 2, Clock: sim}).Stream(t.Context(), llm.Request{}))
			var got *llm.Error
			if !errors.As(err, &got) || !strings.HasSuffix(got.Message, "try again in 12h34m16s (2026-01-01 12:34 UTC)") {
				t.Errorf("error %v", err)
			}
			if n := len([]rune(got.Message)); n > llm.MaxErrorText || strings.HasPrefix(got.Message, ";") {
				t.Errorf("%d characters: %s", n, got.Message)
			}
			if d := cmp.Diff(before, *e); d != "" {
				t.Errorf("the client's error was changed:\n%s", d)
			}
			if !sim.Now().Equal(start) || f.attempts != 1 {
				t.Errorf("it waited: %s, %d attempts", sim.Now().Sub(start), f.attempts)
			}
		}
	})
}

// B098: what came before a cut is void and not doubled; tools of a cut reply are not run.
func TestRetryAfterCut(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		script := scripted.New(sim,
			scripted.Text("half an answer").ChunkSize(3).Cut(2),
			scripted.Calls(scripted.Call{Name: "todo", Args: "{}"}).Cut(9),
			scripted.Text("the whole answer"))
		reply, err := llm.Collect(llm.Retry(script, llm.RetryConfig{Max: 2, Clock: sim}).Stream(t.Context(), llm.Request{}))
		if err != nil || reply.Text != "the whole answer" || len(reply.ToolCalls) != 0 || len(reply.Retries) != 2 {
			t.Errorf("got %+v, %v", reply, err)
		}
	})
}

func TestRetryCancel(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		ctx, cancel := sim.WithCancel(context.Background())
		defer cancel()
		sim.AfterFunc(1500*time.Millisecond, cancel)
		f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){fails(rate(30 * time.Second))}}
		_, err := llm.Collect(llm.Retry(f, llm.RetryConfig{Max: 9, Clock: sim}).Stream(ctx, llm.Request{}))
		if !errors.Is(err, context.Canceled) || sim.Now().Sub(start) != 1500*time.Millisecond || f.attempts != 1 {
			t.Errorf("error %v after %s, %d attempts", err, sim.Now().Sub(start), f.attempts)
		}
	})
	inSim(func(sim *clock.Sim) { // in the stream
		ctx, cancel := sim.WithCancel(context.Background())
		defer cancel()
		sim.AfterFunc(time.Second, cancel)
		_, err := llm.Collect(llm.Retry(scripted.New(sim, scripted.Hang()), llm.RetryConfig{Max: 9, Clock: sim}).Stream(ctx, llm.Request{}))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestRetryStop(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){fails(rate(0)), says("x")}}
		c := llm.Retry(f, llm.RetryConfig{Max: 2, Clock: sim})
		for range c.Stream(t.Context(), llm.Request{}) {
			break // at the wait
		}
		for range c.Stream(t.Context(), llm.Request{}) {
			break // at the text
		}
		if f.attempts != 2 {
			t.Errorf("%d attempts", f.attempts)
		}
	})
}

// The waits lie within a fifth of base*2^n and never above the cap.
func TestRetryBackoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(1, int64(10*time.Second)).Draw(t, "base"))
		top := time.Duration(rapid.Int64Range(int64(base), int64(time.Hour)).Draw(t, "cap"))
		n := rapid.IntRange(1, 70).Draw(t, "max")
		inSim(func(sim *clock.Sim) {
			f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){fails(rate(0))}}
			c := llm.Retry(f, llm.RetryConfig{Max: n, Base: base, Cap: top, Clock: sim, Rand: func() float64 {
				return rapid.Float64Range(0, 0.999).Draw(t, "jitter")
			}})
			reply, _ := llm.Collect(c.Stream(context.Background(), llm.Request{}))
			if len(reply.Retries) != n {
				t.Fatalf("%d waits, want %d", len(reply.Retries), n)
			}
			want := float64(base)
			for i, w := range reply.Retries {
				middle := min(want, float64(top))
				if float64(w.Wait) < 0.8*middle-1 || float64(w.Wait) > min(1.2*middle, float64(top))+1 {
					t.Fatalf("wait %d is %s, base %s, cap %s", i, w.Wait, base, top)
				}
				want *= 2
			}
		})
	})
}

func TestWatchdog(t *testing.T) {
	cfg := func(sim *clock.Sim) llm.WatchdogConfig {
		return llm.WatchdogConfig{Silence: 60 * time.Second, Host: "h", Clock: sim}
	}
	for name, c := range map[string]struct {
		step scripted.Step
		kind llm.ErrorKind
		text string
		took time.Duration
	}{
		"alive for long":     {scripted.Text("0123456789").ChunkSize(1).Pace(59 * time.Second), "", "0123456789", 0},
		"slow first byte":    {scripted.Text("x").Delay(299 * time.Second), "", "x", 299 * time.Second},
		"silent in the text": {scripted.Text("abcdef").ChunkSize(3).HangAfter(1), llm.ErrTimeout, "abc", 60 * time.Second},
		"slow failure":       {scripted.Fail(&llm.Error{Kind: llm.ErrServer, Message: "m"}).Delay(200 * time.Second), llm.ErrServer, "", 200 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(func(sim *clock.Sim) {
				reply, err := llm.Collect(llm.Watchdog(scripted.New(sim, c.step), cfg(sim)).Stream(t.Context(), llm.Request{}))
				var e *llm.Error
				if errors.As(err, &e); (e == nil) != (c.kind == "") || e != nil && (e.Kind != c.kind || e.Silent && e.Host != "h" || e.Silent != (c.kind == llm.ErrTimeout)) {
					t.Errorf("error %v, want kind %q", err, c.kind)
				}
				if reply.Text != c.text || c.took > 0 && sim.Now().Sub(start) != c.took {
					t.Errorf("text %q after %s", reply.Text, sim.Now().Sub(start))
				}
			})
		})
	}
}

func TestWatchdogUnderRetry(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		script := scripted.New(sim, scripted.Text("abcdef").ChunkSize(3).HangAfter(1), scripted.Text("whole"))
		c := llm.Retry(llm.Watchdog(script, llm.WatchdogConfig{Silence: time.Minute, Clock: sim}), llm.RetryConfig{Max: 1, Base: time.Second, Clock: sim})
		reply, err := llm.Collect(c.Stream(t.Context(), llm.Request{}))
		if err != nil || reply.Text != "whole" || sim.Now().Sub(start) != 61*time.Second {
			t.Errorf("got %+v, %v after %s", reply, err, sim.Now().Sub(start))
		}
		if reply.Retries[0].Cause != "timeout: no data for 1m0s" {
			t.Errorf("cause %q", reply.Retries[0].Cause)
		}
	})
}

// Signs of life count and are handed on, one a second at most; waits of a Retry below are no silence; slow consumers are no silence.
func TestWatchdogCounts(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		wait := func(ctx context.Context, d time.Duration) { _ = sim.Sleep(ctx, d) }
		f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){func(ctx context.Context, yield func(llm.Chunk, error) bool) {
			for i := range 25 { // five in each tenth of a second, then silence for eight
				wait(ctx, []time.Duration{8 * time.Second, 0, 0, 0, 0}[i%5]+20*time.Millisecond)
				if !yield(llm.Chunk{}, nil) {
					return
				}
			}
			if !yield(llm.Chunk{Retry: &llm.RetryWait{Wait: time.Minute}}, nil) {
				return
			}
			wait(ctx, 65*time.Second)
			if yield(llm.Chunk{Text: "x"}, nil) {
				yield(llm.Chunk{Done: &llm.Done{}}, nil)
			}
		}}}
		chunks := 0
		c := llm.Watchdog(f, llm.WatchdogConfig{Silence: 10 * time.Second, Clock: sim})
		for ch, err := range c.Stream(t.Context(), llm.Request{}) {
			if err != nil {
				t.Errorf("chunk %+v, error %v", ch, err)
			}
			chunks++
			if ch.Text != "" {
				wait(t.Context(), time.Hour)
			}
		}
		if chunks != 8 {
			t.Errorf("%d chunks, want five signs of life, the wait, the text and Done", chunks)
		}
	})
}

func TestWatchdogEnds(t *testing.T) {
	stubborn := func(sim *clock.Sim) *fake { // does not care for its context
		return &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){func(_ context.Context, yield func(llm.Chunk, error) bool) {
			for sim.Sleep(context.Background(), 20*time.Second) == nil && yield(llm.Chunk{Text: "x"}, nil) {
			}
		}}}
	}
	inSim(func(sim *clock.Sim) {
		_, err := llm.Collect(llm.Watchdog(stubborn(sim), llm.WatchdogConfig{Silence: 10 * time.Second, Clock: sim}).Stream(t.Context(), llm.Request{}))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrTimeout || !e.Retryable {
			t.Errorf("error %v", err)
		}
	})
	inSim(func(sim *clock.Sim) { // the consumer stops
		for range llm.Watchdog(stubborn(sim), llm.WatchdogConfig{Silence: time.Hour, Clock: sim}).Stream(t.Context(), llm.Request{}) {
			break
		}
		if _, pending := sim.Next(); pending {
			t.Error("a timer is left")
		}
	})
	inSim(func(sim *clock.Sim) { // the caller cancels
		ctx, cancel := sim.WithCancel(context.Background())
		defer cancel()
		sim.AfterFunc(time.Second, cancel)
		_, err := llm.Collect(llm.Watchdog(scripted.New(sim, scripted.Hang()), llm.WatchdogConfig{Silence: time.Hour, Clock: sim}).Stream(ctx, llm.Request{}))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	inSim(func(sim *clock.Sim) { // next forgets Done
		f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){func(context.Context, func(llm.Chunk, error) bool) {}}}
		_, err := llm.Collect(llm.Watchdog(f, llm.WatchdogConfig{Clock: sim}).Stream(t.Context(), llm.Request{}))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrCut {
			t.Errorf("error %v", err)
		}
	})
	inSim(func(sim *clock.Sim) { // the host is named, whatever the client says when it is cancelled
		f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){func(ctx context.Context, yield func(llm.Chunk, error) bool) {
			yield(llm.Chunk{Text: "x"}, nil)
			_ = sim.Sleep(ctx, time.Hour)
			yield(llm.Chunk{}, ctx.Err())
		}}}
		_, err := llm.Collect(llm.Watchdog(f, llm.WatchdogConfig{Silence: time.Second, Host: "h", Clock: sim}).Stream(t.Context(), llm.Request{}))
		if err == nil || err.Error() != "h: timeout: no data for 1s" {
			t.Errorf("error %v", err)
		}
	})
}

func TestCollect(t *testing.T) {
	stream := func(chunks ...llm.Chunk) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			for _, c := range chunks {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
	calls := []llm.ToolCall{{ID: "1", Name: "n", Arguments: "{}"}}
	reply, err := llm.Collect(stream(
		llm.Chunk{Text: "void"}, llm.Chunk{Reasoning: "void"}, llm.Chunk{Retry: &llm.RetryWait{Attempt: 1}}, llm.Chunk{},
		llm.Chunk{Reasoning: "r"}, llm.Chunk{Text: "a"}, llm.Chunk{CallDelta: &llm.CallDelta{Name: "n"}}, llm.Chunk{Text: "b"},
		llm.Chunk{Done: &llm.Done{Finish: "stop", ToolCalls: calls, Model: "m", Extra: []byte(`{"x":1}`)}},
	))
	want := llm.Reply{Text: "ab", Reasoning: "r", ToolCalls: calls, Finish: "stop", Model: "m", Extra: []byte(`{"x":1}`), Retries: []llm.RetryWait{{Attempt: 1}}}
	if d := cmp.Diff(want, reply); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	message := llm.Message{Role: llm.RoleAssistant, Kind: llm.KindAssistant, Content: "ab", ToolCalls: calls, Extra: []byte(`{"x":1}`)}
	if d := cmp.Diff(message, reply.Message()); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
	reply, err = llm.Collect(stream(llm.Chunk{Text: "a"}))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrCut || reply.Text != "a" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestErrorText(t *testing.T) {
	cause := errors.New("secret cause")
	for _, c := range []struct {
		e    llm.Error
		want string
	}{
		{llm.Error{Kind: llm.ErrConnect, Host: "h:1", Message: "refused", Err: cause}, "h:1: connect: refused"},
		{llm.Error{Kind: llm.ErrRate, Status: 429, Host: "h", Message: "slow"}, "h: HTTP 429: slow"},
		{llm.Error{Kind: llm.ErrCut}, "cut"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if e := (&llm.Error{Err: cause}); !errors.Is(e, cause) {
		t.Error("the cause is not there")
	}
}
