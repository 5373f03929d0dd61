package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

// limitedServer answers after a while, at most so many requests in a window of time; the others get 429.
type limitedServer struct {
	clk       clock.Clock
	max       int
	window    time.Duration
	takes     time.Duration
	after     time.Duration // Retry-After
	mu        sync.Mutex
	arrived   []time.Duration // of all requests, since start
	order     []string
	refused   int
	refusedAt []time.Duration
	recent    []time.Time
}

func (s *limitedServer) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if !s.take(req.Model) {
			yield(llm.Chunk{}, rate(s.after))
			return
		}
		if s.clk.Sleep(ctx, s.takes) != nil {
			yield(llm.Chunk{}, ctx.Err())
			return
		}
		if yield(llm.Chunk{Text: req.Model}, nil) {
			yield(llm.Chunk{Done: &llm.Done{Finish: llm.FinishStop}}, nil)
		}
	}
}

func (s *limitedServer) take(who string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clk.Now()
	s.arrived = append(s.arrived, now.Sub(start))
	s.order = append(s.order, who)
	s.recent = slices.DeleteFunc(s.recent, func(t time.Time) bool { return now.Sub(t) >= s.window })
	if len(s.recent) >= s.max {
		s.refused++
		s.refusedAt = append(s.refusedAt, now.Sub(start))
		return false
	}
	s.recent = append(s.recent, now)
	return true
}

func limiterOf(clk clock.Clock) *llm.Limiter {
	return llm.NewLimiter(llm.LimitConfig{Base: time.Second, Clock: clk})
}

// tab asks once and tells how it went.
func tab(ctx context.Context, c llm.Client, name string) (llm.Reply, error) {
	return llm.Collect(c.Stream(ctx, llm.Request{Model: name}))
}

// After the refusal of one tab the others wait without asking, and then go on in the order in which they came.
func TestTabsWaitTogether(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		srv := &limitedServer{clk: sim, max: 1, window: 10 * time.Second, takes: 100 * time.Millisecond, after: 10 * time.Second}
		limiter := limiterOf(sim)
		group := clock.NewGroup(sim)
		replies := make([]llm.Reply, 5)
		for i := range replies {
			group.Go(func() {
				_ = sim.Sleep(t.Context(), time.Duration(i)*time.Second)
				c := llm.Retry(limiter.For("h", srv), llm.RetryConfig{Max: 9, Base: time.Second, Clock: sim})
				var err error
				if replies[i], err = tab(t.Context(), c, fmt.Sprint(i)); err != nil {
					t.Errorf("tab %d: %v", i, err)
				}
			})
		}
		if err := group.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		// 0 is served, 1 refused at 1 s. 2, 3, 4 ask nobody until 11 s, then one by one; 1 waits behind them.
		if d := cmp.Diff([]string{"0", "1", "2"}, srv.order[:3]); d != "" || srv.arrived[2] != 11*time.Second {
			t.Errorf("asked at %v (-want +got):\n%s", srv.arrived, d)
		}
		if srv.refused > 8 {
			t.Errorf("%d refusals in %v %v", srv.refused, srv.order, srv.arrived)
		}
		w := replies[2].Retries[0]
		if w.Attempt != 0 || w.Max != 10 || w.Wait != 9*time.Second || w.Status != 429 || w.Cause != "HTTP 429: slow down" || !w.Shared {
			t.Errorf("tab 2 was told %+v", w)
		}
	})
}

// A failed attempt is told once, by the tab whose it is: when two were refused at once and one is refused again, the other waits on
// for that, which is no attempt of its own.
func TestSharedWaitIsNoFailedAttempt(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		srv := &limitedServer{clk: sim, max: 1, window: 10 * time.Second, takes: 100 * time.Millisecond}
		limiter := llm.NewLimiter(llm.LimitConfig{Base: time.Second, Clock: sim})
		group := clock.NewGroup(sim)
		shared := 0
		for i := range 4 {
			group.Go(func() {
				c := llm.Retry(limiter.For("h", srv), llm.RetryConfig{Max: 19, Base: time.Second, Clock: sim})
				r, err := tab(t.Context(), c, fmt.Sprint(i))
				if err != nil {
					t.Errorf("tab %d: %v", i, err)
				}
				failed := 0
				for _, w := range r.Retries {
					switch {
					case w.Cause != rate(0).Error():
						t.Errorf("tab %d: cause %q", i, w.Cause)
					case w.Shared && w.Attempt != failed:
						t.Errorf("tab %d: %+v after %d attempts", i, w, failed)
					case w.Shared:
						shared++
					default:
						if failed++; w.Attempt != failed {
							t.Errorf("tab %d: %+v is told as attempt %d", i, w, failed)
						}
					}
				}
			})
		}
		if err := group.Wait(t.Context()); err != nil || shared == 0 {
			t.Fatal(shared, err)
		}
	})
}

// What only shows that the connection lives is no answer: a refusal behind it closes the gate as one at once does, and it does
// not widen it.
func TestCommentIsNoAnswer(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		var asked []time.Duration
		srv := chunks(func(ctx context.Context, yield func(llm.Chunk, error) bool) {
			asked = append(asked, sim.Now().Sub(start))
			if !yield(llm.Chunk{}, nil) {
				return
			}
			if len(asked) == 1 {
				yield(llm.Chunk{}, rate(10*time.Second))
				return
			}
			_ = sim.Sleep(ctx, time.Second)
			yield(llm.Chunk{Done: &llm.Done{Finish: llm.FinishStop}}, nil)
		})
		c := limiterOf(sim).For("h", srv)
		if _, err := tab(t.Context(), c, "0"); err == nil || err.(*llm.Error).Pause != 10*time.Second {
			t.Fatalf("%v", err)
		}
		group := clock.NewGroup(sim)
		for range 2 {
			group.Go(func() {
				if _, err := tab(t.Context(), c, "x"); err != nil {
					t.Error(err)
				}
			})
		}
		if err := group.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]time.Duration{0, 10 * time.Second, 11 * time.Second}, asked); d != "" {
			t.Errorf("asked (-want +got):\n%s", d)
		}
	})
}

// chunks is a client of one function.
type chunks func(ctx context.Context, yield func(llm.Chunk, error) bool)

func (c chunks) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) { c(ctx, yield) }
}

// Without a limit of its own the server sees all that wait at once again after one was answered, not a rush before.
func TestGateWidens(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		const tabs = 15
		down := true
		srv := &limitedServer{clk: sim, max: 1 << 20, window: time.Hour, takes: time.Second}
		flaky := clientFunc(func(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
			if down {
				return func(yield func(llm.Chunk, error) bool) {
					down = false
					yield(llm.Chunk{}, &llm.Error{Kind: llm.ErrServer, Status: 503, Message: "down", Retryable: true})
				}
			}
			return srv.Stream(ctx, req)
		})
		limiter := limiterOf(sim)
		if _, err := tab(t.Context(), limiter.For("h", flaky), "first"); err == nil {
			t.Error("no error")
		}
		group := clock.NewGroup(sim)
		for i := range tabs {
			group.Go(func() {
				if _, err := tab(t.Context(), limiter.For("h", flaky), fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			})
		}
		_ = group.Wait(t.Context())
		want := []time.Duration{1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4}
		for i := range want {
			want[i] *= time.Second
		}
		if d := cmp.Diff(want, srv.arrived); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		for i, who := range srv.order {
			if who != fmt.Sprint(i) {
				t.Errorf("out of order: %v", srv.order)
				break
			}
		}
		// It is wide open again.
		began := sim.Now()
		if _, err := tab(t.Context(), limiter.For("h", flaky), "last"); err != nil || sim.Now().Sub(began) != time.Second {
			t.Errorf("the last one took %s, %v", sim.Now().Sub(began), err)
		}
	})
}

type clientFunc func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error]

func (f clientFunc) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return f(ctx, req)
}

// Esc ends a wait at once, and whoever was behind moves up.
func TestGateWaitIsCancelled(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		srv := &limitedServer{clk: sim, max: 0, window: time.Hour, after: 30 * time.Second}
		limiter := limiterOf(sim)
		_, _ = tab(t.Context(), limiter.For("h", srv), "closer")
		srv.max = 1
		ctx, cancel := sim.WithCancel(t.Context())
		group := clock.NewGroup(sim)
		group.Go(func() {
			if _, err := tab(ctx, limiter.For("h", srv), "gone"); !errors.Is(err, context.Canceled) || sim.Now().Sub(start) != 5*time.Second {
				t.Errorf("%v after %s", err, sim.Now().Sub(start))
			}
		})
		group.Go(func() {
			_ = sim.Sleep(t.Context(), time.Second)
			if _, err := tab(t.Context(), limiter.For("h", srv), "behind"); err != nil || sim.Now().Sub(start) != 30*time.Second {
				t.Errorf("%v after %s", err, sim.Now().Sub(start))
			}
		})
		_ = sim.Sleep(t.Context(), 5*time.Second)
		cancel()
		_ = group.Wait(t.Context())
		if d := cmp.Diff([]string{"closer", "behind"}, srv.order); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// A consumer that leaves while it is told of the wait, or in the middle of a reply, gives its place free.
func TestGateConsumerLeaves(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		srv := &limitedServer{clk: sim, max: 0, window: time.Hour}
		limiter := limiterOf(sim)
		_, _ = tab(t.Context(), limiter.For("h", srv), "closer")
		srv.max = 10
		for c := range limiter.For("h", srv).Stream(t.Context(), llm.Request{Model: "leaves"}) {
			if c.Retry == nil {
				t.Errorf("got %+v", c)
			}
			break
		}
		_ = sim.Sleep(t.Context(), time.Second)
		for c := range limiter.For("h", srv).Stream(t.Context(), llm.Request{Model: "half"}) {
			if c.Text != "half" {
				t.Errorf("got %+v", c)
			}
			break
		}
		if r, err := tab(t.Context(), limiter.For("h", srv), "well"); err != nil || len(r.Retries) != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A request that ends without a word keeps no place in a narrow gate.
func TestGateSilentEnd(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		silent := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){
			fails(rate(0)), func(context.Context, func(llm.Chunk, error) bool) {}, says("ok"),
		}}
		limiter := limiterOf(sim)
		for i, want := range []string{"", "", "ok"} {
			if r, _ := tab(t.Context(), limiter.For("h", silent), "a"); r.Text != want || i == 2 && len(r.Retries) > 0 {
				t.Errorf("%d: %+v", i, r)
			}
		}
	})
}

// What closes the gate and what does not.
func TestWhatClosesTheGate(t *testing.T) {
	for name, c := range map[string]struct {
		err  *llm.Error
		wait time.Duration
	}{
		"rate":            {rate(3 * time.Second), 3 * time.Second},
		"rate, no time":   {rate(0), time.Second},
		"503":             {&llm.Error{Kind: llm.ErrServer, Status: 503}, time.Second},
		"529":             {&llm.Error{Kind: llm.ErrServer, Status: 529, RetryAfter: 2 * time.Second}, 2 * time.Second},
		"500":             {&llm.Error{Kind: llm.ErrServer, Status: 500}, 0},
		"quota":           {&llm.Error{Kind: llm.ErrQuota, Status: 429, RetryAfter: time.Hour}, 0},
		"beyond the cap":  {rate(2 * time.Minute), 0},
		"context":         {&llm.Error{Kind: llm.ErrContext, Status: 400}, 0},
		"no connection":   {&llm.Error{Kind: llm.ErrConnect}, 0},
		"within a stream": {&llm.Error{Kind: llm.ErrRate}, time.Second},
	} {
		inSim(func(sim *clock.Sim) {
			limiter := limiterOf(sim)
			f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){fails(c.err), says("ok")}}
			told := *c.err
			told.Pause = c.wait
			_, err := tab(t.Context(), limiter.For("h", f), "a")
			if d := cmp.Diff(error(&told), err); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
			if _, err := tab(t.Context(), limiter.For("other", f), "b"); err != nil || sim.Now() != start {
				t.Errorf("%s: another endpoint waits", name)
			}
			r, err := tab(t.Context(), limiter.For("h", f), "b")
			if took := sim.Now().Sub(start); err != nil || took != c.wait || (len(r.Retries) > 0) != (c.wait > 0) {
				t.Errorf("%s: waited %s, told %v, %v", name, took, r.Retries, err)
			}
		})
	}
}

// Refusals in a row make the wait longer, up to the cap; those of requests that were on their way count once.
func TestGateBacksOff(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		srv := &limitedServer{clk: sim, max: 0, window: time.Hour}
		limiter := limiterOf(sim)
		var waits []time.Duration
		for range 9 {
			r, _ := tab(t.Context(), limiter.For("h", srv), "a")
			for _, w := range r.Retries {
				waits = append(waits, w.Wait/time.Second)
			}
		}
		if d := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, waits); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
	inSim(func(sim *clock.Sim) {
		slow := clientFunc(func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				_ = sim.Sleep(ctx, time.Second)
				yield(llm.Chunk{}, rate(0))
			}
		})
		limiter := limiterOf(sim)
		group := clock.NewGroup(sim)
		for range 8 {
			group.Go(func() { _, _ = tab(t.Context(), limiter.For("h", slow), "a") })
		}
		_ = group.Wait(t.Context())
		f := &fake{replies: []func(context.Context, func(llm.Chunk, error) bool){says("ok")}}
		if r, err := tab(t.Context(), limiter.For("h", f), "b"); err != nil || len(r.Retries) != 1 || r.Retries[0].Wait != time.Second {
			t.Errorf("%+v, %v", r.Retries, err)
		}
	})
}

// A wait that grows while others wait is told to them again.
func TestGateTellsAgain(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		srv := &limitedServer{clk: sim, max: 0, window: time.Hour, after: 5 * time.Second}
		limiter := limiterOf(sim)
		_, _ = tab(t.Context(), limiter.For("h", srv), "closer")
		group := clock.NewGroup(sim)
		group.Go(func() { _, _ = tab(t.Context(), limiter.For("h", srv), "first") })
		group.Go(func() {
			_ = sim.Sleep(t.Context(), time.Second)
			r, err := tab(t.Context(), limiter.For("h", srv), "second")
			if err == nil || len(r.Retries) != 2 || r.Retries[0].Wait != 4*time.Second || r.Retries[1].Wait != 5*time.Second {
				t.Errorf("%+v, %v", r.Retries, err)
			}
		})
		_ = group.Wait(t.Context())
	})
}

// Whatever comes, everybody gets an end, and no request is sent while the gate is closed.
func TestGateProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inSim(func(sim *clock.Sim) {
			srv := &limitedServer{clk: sim, max: rapid.IntRange(1, 4).Draw(rt, "max"), window: time.Duration(rapid.IntRange(1, 5).Draw(rt, "window")) * time.Second,
				takes: time.Duration(rapid.IntRange(0, 1500).Draw(rt, "takes")) * time.Millisecond, after: time.Duration(rapid.IntRange(0, 3).Draw(rt, "after")) * time.Second}
			limiter := limiterOf(sim)
			group := clock.NewGroup(sim)
			for i := range rapid.IntRange(1, 12).Draw(rt, "tabs") {
				begin := time.Duration(rapid.IntRange(0, 4000).Draw(rt, "begin")) * time.Millisecond
				patience := time.Duration(rapid.IntRange(0, 20).Draw(rt, "patience")) * time.Second
				group.Go(func() {
					_ = sim.Sleep(t.Context(), begin)
					ctx, cancel := t.Context(), func() {}
					if patience > 10*time.Second {
						var c context.CancelFunc
						ctx, c = sim.WithTimeout(ctx, patience-10*time.Second)
						cancel = c
					}
					defer cancel()
					c := llm.Retry(limiter.For("h", srv), llm.RetryConfig{Max: 50, Base: time.Second, Clock: sim})
					if _, err := tab(ctx, c, fmt.Sprint(i)); err != nil && ctx.Err() == nil {
						rt.Errorf("tab %d: %v", i, err)
					}
				})
			}
			_ = group.Wait(t.Context())
			if _, err := tab(t.Context(), llm.Retry(limiter.For("h", srv), llm.RetryConfig{Max: 50, Base: time.Second, Clock: sim}), "last"); err != nil {
				rt.Fatalf("the last one: %v", err)
			}
			for _, from := range srv.refusedAt {
				for _, at := range srv.arrived {
					if at > from && at < from+srv.after {
						rt.Fatalf("asked at %s, though refused at %s for %s", at, from, srv.after)
					}
				}
			}
		})
	})
}

// A request that stands in line after the wait says so, and when it goes out.
func TestGateTellsOfTheQueue(t *testing.T) {
	inSim(func(sim *clock.Sim) {
		srv := &limitedServer{clk: sim, max: 1, window: time.Second, takes: 5 * time.Second, after: 10 * time.Second}
		limiter := limiterOf(sim)
		var mu sync.Mutex
		told := map[string][]string{}
		ask := func(name string) {
			for c, err := range limiter.For("host", srv).Stream(context.Background(), llm.Request{Model: name}) {
				word := string(c.Queue)
				switch {
				case err != nil:
					word = "refused"
				case c.Retry != nil:
					word = "wait " + c.Retry.Wait.String()
				case c.Text != "":
					word = "answer"
				}
				if word != "" {
					mu.Lock()
					told[name] = append(told[name], fmt.Sprintf("%v %s", sim.Now().Sub(start), word))
					mu.Unlock()
				}
			}
		}
		group := clock.NewGroup(sim)
		for i, name := range []string{"first", "refused", "b", "c", "d"} {
			group.Go(func() {
				_ = sim.Sleep(context.Background(), time.Duration(i)*100*time.Millisecond)
				ask(name)
			})
		}
		if err := group.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		want := map[string][]string{
			"first": {"5s answer"}, "refused": {"100ms refused"},
			"b": {"200ms wait 9.9s", "10.1s sent", "15.1s answer"},
			"c": {"300ms wait 9.8s", "10.1s queued", "15.1s sent", "20.1s answer"},
			"d": {"400ms wait 9.7s", "10.1s queued", "15.1s sent", "15.1s refused"},
		}
		if d := cmp.Diff(want, told); d != "" {
			t.Error(d)
		}
	})
}
