package llm

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"vitrine/runtime/clock"
)

// WatchdogConfig says how long a stream may be silent.
type WatchdogConfig struct {
	// Silence is the longest time between two chunks; 0 sets no limit. What the consumer does with a chunk does not count, nor does
	// the time to the first one, which the client bounds that knows of bytes.
	Silence time.Duration
	// Host is where requests go, for errors.
	Host string
	// Clock measures; it must be set.
	Clock clock.Clock
}

// lifeEvery is how often signs of life are handed on.
const lifeEvery = time.Second

// Watchdog makes a Client that ends a stream of next that fell silent with ErrTimeout, which Retry may cure. It never
// limits how long a stream lasts that is alive. Of empty chunks, the signs of life of a client whose connection is alive while
// the model says nothing, it hands one on each second at most. Put it under Retry, so that waits between attempts are not silence.
func Watchdog(next Client, cfg WatchdogConfig) Client {
	return &watchdog{next: next, cfg: cfg}
}

type watchdog struct {
	next Client
	cfg  WatchdogConfig
}

// Stream implements Client.
func (w *watchdog) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		inner, cancel := w.cfg.Clock.WithCancel(ctx)
		defer cancel()
		a := &alarm{clock: w.cfg.Clock, cancel: cancel, host: w.cfg.Host}
		defer a.stop()
		var alive time.Time
		for c, err := range w.next.Stream(inner, req) {
			a.stop()
			switch {
			case err != nil:
				yield(Chunk{}, a.explain(ctx, err))
				return
			case c.Done != nil:
				yield(c, nil)
				return
			case a.rang.Load():
				yield(Chunk{}, a.explain(ctx, nil))
				return
			case c.Empty():
				if now := w.cfg.Clock.Now(); now.Sub(alive) >= lifeEvery {
					alive = now
					if !yield(c, nil) {
						return
					}
				}
			case !yield(c, nil):
				return
			}
			if c.Retry == nil { // behind a wait comes another first chunk
				a.set(w.cfg.Silence)
			}
		}
		a.stop()
		yield(Chunk{}, a.explain(ctx, errNoEnd()))
	}
}

// alarm cancels a stream unless it is stopped in time. Only its rang is touched by another goroutine.
type alarm struct {
	clock  clock.Clock
	cancel context.CancelFunc
	timer  clock.Timer
	limit  time.Duration
	host   string
	rang   atomic.Bool
}

func (a *alarm) set(d time.Duration) {
	if d <= 0 {
		return
	}
	a.limit = d
	a.timer = a.clock.AfterFunc(d, func() {
		a.rang.Store(true)
		a.cancel()
	})
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// explain tells the end of the stream by the alarm from an end by ctx, and both from one that next had of itself.
func (a *alarm) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !a.rang.Load() {
		return err
	}
	return &Error{Kind: ErrTimeout, Host: a.host, Message: fmt.Sprintf("no data for %s", a.limit), Silent: true, Retryable: true, Err: err}
}
