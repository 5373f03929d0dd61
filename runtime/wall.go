package runtime

import (
	"sync"
	"time"

	"vitrine/runtime/clock"
)

// wall counts how long a run is executed, over all processes that do so and without what it waits for the user, and calls
// expire when that passes the limit. It is safe for concurrent use.
type wall struct {
	clk    clock.Clock
	limit  time.Duration // 0 is none
	expire func()

	mu    sync.Mutex
	used  time.Duration // before the stretch that is on
	since time.Time
	on    bool
	timer clock.Timer
}

// start begins a stretch.
func (w *wall) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.on {
		return
	}
	w.on, w.since = true, w.clk.Now()
	if w.limit > 0 {
		w.timer = w.clk.AfterFunc(max(w.limit-w.used, 0), w.expire)
	}
}

// stop ends it.
func (w *wall) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on {
		return
	}
	w.on = false
	w.used += w.clk.Now().Sub(w.since)
	if w.timer != nil {
		w.timer.Stop()
	}
}

// elapsed is the time so far.
func (w *wall) elapsed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on {
		return w.used
	}
	return w.used + w.clk.Now().Sub(w.since)
}
