package llm

import (
	"context"
	"errors"
	"iter"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"vitrine/runtime/clock"
)

// statusOverloaded is what some servers answer in the place of 503.
const statusOverloaded = 529

// LimitConfig says how a Limiter waits.
type LimitConfig struct {
	// Base is the first wait where the server names none, doubled with each refusal in a row; 0 is DefaultRetryBase.
	Base time.Duration
	// Cap bounds every wait. A server that asks for more stops nobody but the request that it told so; 0 is
	// DefaultRetryCap.
	Cap time.Duration
	// Clock gives the waits; it must be set.
	Clock clock.Clock
	// Rand gives numbers in [0,1) for the jitter and is safe for concurrent use; nil waits without jitter.
	Rand func() float64
}

// Limiter lets the requests of all sessions to one endpoint wait together: what one of them was refused for (429, 503,
// 529), the others need not be refused for too. It is safe for concurrent use.
type Limiter struct {
	cfg LimitConfig

	mu    sync.Mutex
	gates map[string]*gate
}

// NewLimiter makes a limiter of which no endpoint waits.
func NewLimiter(cfg LimitConfig) *Limiter {
	if cfg.Base <= 0 {
		cfg.Base = DefaultRetryBase
	}
	if cfg.Cap <= 0 {
		cfg.Cap = DefaultRetryCap
	}
	return &Limiter{cfg: cfg, gates: map[string]*gate{}}
}

// For makes a Client of next whose requests wait with all others of that endpoint. Put it under Retry, which asks again
// after a refusal, and over Watchdog, so that waiting is not silence.
//
// After a refusal requests wait as long as the server asked for, or a growing time. Then they go on in the order in which
// they came: one, and two for each that the server begins to answer. Each wait is told by a chunk with
// Retry whose Max is 0, and what comes after it by chunks with Queue. Cancelling ctx ends a wait.
func (l *Limiter) For(endpoint string, next Client) Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.gates[endpoint]
	if g == nil {
		g = &gate{cfg: l.cfg}
		l.gates[endpoint] = g
	}
	return &limited{next: next, gate: g}
}

type limited struct {
	next Client
	gate *gate
}

// Stream implements Client.
func (c *limited) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		p, err := c.gate.enter(ctx, func(chunk Chunk) bool { return yield(chunk, nil) })
		if err != nil {
			if !errors.Is(err, errLeft) {
				yield(Chunk{}, err)
			}
			return
		}
		defer p.over(nil) // it was left early, or panicked
		answered := false
		for chunk, err := range c.next.Stream(ctx, req) {
			if err != nil {
				yield(Chunk{}, paused(err, p.over(err)))
				return
			}
			if chunk.Retry == nil && !chunk.Empty() && !answered { // a comment is no answer: a refusal may follow it
				answered = true
				p.answered()
			}
			if !yield(chunk, nil) || chunk.Done != nil {
				return
			}
		}
	}
}

// paused notes in a copy of an error how long all requests wait for it.
func paused(err error, wait time.Duration) error {
	var e *Error
	if wait <= 0 || !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Pause = wait
	return &told
}

// errLeft says that the consumer wants no more.
var errLeft = errors.New("left")

// gate is what the requests to one endpoint share. It is open until one is refused. Then it is closed until a time, and
// after that narrow: so many requests at once go through as its width says.
type gate struct {
	cfg LimitConfig

	mu       sync.Mutex
	narrow   bool // closed, or not wide open again
	until    time.Time
	width    int
	out      int // requests that went through a narrow gate and have no answer yet
	refusals int // in a row
	round    int // counts the closings
	cause    string
	status   int
	queue    []*waiter
	timer    clock.Timer
}

// waiter is a request in front of the gate. Its fields are guarded by the gate's mutex.
type waiter struct {
	woken *clock.Latch // it may go, or the wait changed
	pass  *pass
}

// pass is a request that went through.
type pass struct {
	gate   *gate
	round  int
	narrow bool
	ended  bool
}

// enter waits until the request may go, and tells of it.
func (g *gate) enter(ctx context.Context, tell func(Chunk) bool) (*pass, error) {
	g.mu.Lock()
	if !g.narrow || len(g.queue) == 0 && g.out < g.width && !g.cfg.Clock.Now().Before(g.until) {
		defer g.mu.Unlock()
		return g.let(), nil
	}
	w := &waiter{woken: clock.NewLatch(g.cfg.Clock)}
	g.queue = append(g.queue, w)
	g.turn()
	for first := true; ; first = false {
		wait := RetryWait{Wait: max(0, g.until.Sub(g.cfg.Clock.Now())), Cause: g.cause, Status: g.status, Shared: true}
		woken, passed := w.woken, w.pass != nil
		g.mu.Unlock()
		told := true
		if first || wait.Wait > 0 {
			told = tell(Chunk{Retry: &wait})
		}
		if told && wait.Wait == 0 && !passed { // others go first
			told = tell(Chunk{Queue: Queued})
		}
		var err error
		if told {
			err = woken.Wait(ctx)
		}
		g.mu.Lock()
		switch {
		case w.pass != nil && told: // also when ctx ended at that moment: the stream tells
			p := w.pass
			g.mu.Unlock()
			if !tell(Chunk{Queue: Sent}) {
				p.over(nil)
				return nil, errLeft
			}
			return p, nil
		case !told || err != nil:
			g.leave(w)
			g.mu.Unlock()
			if !told {
				return nil, errLeft
			}
			return nil, err
		}
		w.woken = clock.NewLatch(g.cfg.Clock)
	}
}

// let makes a pass.
func (g *gate) let() *pass {
	if g.narrow {
		g.out++
	}
	return &pass{gate: g, round: g.round, narrow: g.narrow}
}

// leave takes a waiter out that wants no more.
func (g *gate) leave(w *waiter) {
	if w.pass != nil {
		g.ended(w.pass)
		return
	}
	g.queue = slices.DeleteFunc(g.queue, func(o *waiter) bool { return o == w })
	g.turn()
}

// turn lets as many go as may, and sees to it that somebody comes back when the time is over.
func (g *gate) turn() {
	if !g.narrow {
		return
	}
	if rest := g.until.Sub(g.cfg.Clock.Now()); rest > 0 {
		if g.timer == nil && len(g.queue) > 0 {
			g.timer = g.cfg.Clock.AfterFunc(rest, g.ring)
		}
		return
	}
	for len(g.queue) > 0 && g.out < g.width {
		w := g.queue[0]
		g.queue = g.queue[1:]
		w.pass = g.let()
		w.woken.Open()
	}
	if len(g.queue) == 0 && g.out == 0 && g.refusals == 0 {
		g.narrow = false
	}
}

func (g *gate) ring() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = nil
	g.turn()
	for _, w := range g.queue {
		w.woken.Open() // they tell that they wait for others now
	}
}

// answered notes that the server answers.
func (p *pass) answered() {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.widen(p)
	g.ended(p)
}

// widen lets more through, unless the request was sent before the gate closed and says nothing of what is now.
func (g *gate) widen(p *pass) {
	if !p.ended && p.round == g.round {
		g.refusals, g.width = 0, min(g.width+1, 1<<10)
	}
}

// over notes the end of a request that got no answer. It gives how long all wait for it.
func (p *pass) over(err error) (wait time.Duration) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.ended {
		return 0
	}
	var e *Error
	switch {
	case !errors.As(err, &e):
	case !limiting(e) && e.Status > 0:
		g.widen(p) // it refuses this request, not all of them
	case limiting(e) && e.RetryAfter <= g.cfg.Cap:
		g.close(p, e)
		wait = g.until.Sub(g.cfg.Clock.Now())
	}
	g.ended(p)
	return wait
}

// ended gives the place of a pass free.
func (g *gate) ended(p *pass) {
	if p.ended {
		return
	}
	p.ended = true
	if p.narrow {
		g.out--
	}
	g.turn()
}

// limiting says whether an error concerns all requests to the endpoint, and passes.
func limiting(e *Error) bool {
	return e.Kind == ErrRate || e.Kind == ErrServer && (e.Status == http.StatusServiceUnavailable || e.Status == statusOverloaded)
}

// close closes the gate after a refusal. Refusals of requests that were sent before the last one closed it only make the
// wait longer when the server asks for it.
func (g *gate) close(p *pass, e *Error) {
	wait := e.RetryAfter
	if p.round == g.round {
		g.round++
		g.refusals++
		g.width = 1
		if wait == 0 {
			wait = g.backoff()
		}
	}
	until := g.cfg.Clock.Now().Add(wait)
	if !until.After(g.until) && g.narrow {
		return
	}
	g.narrow, g.until, g.status = true, until, e.Status
	g.cause = CleanText(e.Error())
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	for _, w := range g.queue {
		w.woken.Open() // they tell the new wait
	}
}

// backoff is base*2^(refusals-1), at most the cap, give or take a fifth.
func (g *gate) backoff() time.Duration {
	d := math.Min(float64(g.cfg.Base)*math.Pow(2, float64(g.refusals-1)), float64(g.cfg.Cap))
	if g.cfg.Rand != nil {
		d *= 0.8 + 0.4*g.cfg.Rand()
	}
	return time.Duration(math.Min(d, float64(g.cfg.Cap)))
}
