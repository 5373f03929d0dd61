package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strings"
	"time"

	"vitrine/runtime/clock"
)

// Defaults of RetryConfig.
const (
	DefaultRetryBase = 500 * time.Millisecond
	DefaultRetryCap  = time.Minute
)

// RetryConfig says how Retry waits.
type RetryConfig struct {
	// Max is the number of retries after the first attempt; 0 never retries.
	Max int
	// Base is the first wait, doubled each time; 0 is DefaultRetryBase.
	Base time.Duration
	// Cap bounds every wait, the server's wish included: a server that asks for more is not waited for. 0 is
	// DefaultRetryCap.
	Cap time.Duration
	// Clock gives the waits; it must be set.
	Clock clock.Clock
	// Rand gives numbers in [0,1) for the jitter and is safe for concurrent use; nil waits without jitter.
	Rand func() float64
}

// Retry makes a Client that asks next again when an error is one that time cures. It is meant to be the only place that
// does so, and the outermost decorator.
//
// Each wait is told by a chunk with Retry; what was yielded before it is void, because a reply that was cut is asked for
// anew. Errors that time does not cure, the last one, and one whose Retry-After is longer than the cap are handed on at
// once; the latter then says when to come back. Cancelling ctx ends a wait.
func Retry(next Client, cfg RetryConfig) Client {
	if cfg.Base <= 0 {
		cfg.Base = DefaultRetryBase
	}
	if cfg.Cap <= 0 {
		cfg.Cap = DefaultRetryCap
	}
	return &retry{next: next, cfg: cfg}
}

type retry struct {
	next Client
	cfg  RetryConfig
}

// Stream implements Client.
func (r *retry) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for attempt := 1; ; attempt++ {
			ended, err := r.once(ctx, req, attempt, yield)
			if ended {
				return
			}
			if ctx.Err() != nil {
				yield(Chunk{}, ctx.Err())
				return
			}
			wait, fault := r.plan(attempt, err)
			if fault != nil {
				yield(Chunk{}, fault)
				return
			}
			if !yield(Chunk{Retry: r.announce(attempt, wait, err)}, nil) {
				return
			}
			if r.cfg.Clock.Sleep(ctx, wait) != nil {
				yield(Chunk{}, ctx.Err())
				return
			}
		}
	}
}

// once plays one attempt. It reports whether the stream is over for the consumer, or else why the attempt failed.
func (r *retry) once(ctx context.Context, req Request, attempt int, yield func(Chunk, error) bool) (ended bool, err error) {
	for c, err := range r.next.Stream(ctx, req) {
		if err != nil {
			return false, err
		}
		if c.Retry != nil && c.Retry.Max == 0 { // a wait below, which knows nothing of attempts
			if attempt > 1 && c.Retry.Wait <= 0 {
				continue // others go first; that this one waits was told
			}
			w := *c.Retry
			w.Attempt, w.Max = attempt-1, r.cfg.Max+1
			c.Retry = &w
		}
		if !yield(c, nil) || c.Done != nil {
			return true, nil
		}
	}
	return false, errNoEnd()
}

// errNoEnd is what a stream without Done and without an error amounts to.
func errNoEnd() *Error {
	return &Error{Kind: ErrCut, Message: "the reply ended before it was complete", Retryable: true}
}

// plan gives the wait before the next attempt, or the error that ends the stream.
func (r *retry) plan(attempt int, err error) (time.Duration, error) {
	var e *Error
	if !errors.As(err, &e) {
		return 0, err
	}
	if e.RetryAfter > 0 && (e.RetryAfter > r.cfg.Cap || e.Kind == ErrQuota) {
		return 0, r.comeBack(e)
	}
	if attempt > r.cfg.Max || !curable(e) {
		return 0, err
	}
	if wait := max(e.RetryAfter, e.Pause); wait > 0 {
		return wait, nil
	}
	return r.backoff(attempt), nil
}

// curable says whether the same request may succeed later. The kinds have the last word over Retryable: no client can
// make a wrong key or a prompt that is too long right by waiting.
func curable(e *Error) bool {
	switch e.Kind {
	case ErrQuota, ErrAuth, ErrNotFound, ErrContext, ErrNoTools, ErrTooLarge, ErrExhausted:
		return false
	case ErrRejected:
		return e.Retryable && (e.Status == http.StatusConflict || e.Status == http.StatusTooEarly)
	}
	return e.Retryable
}

// backoff is base*2^(attempt-1), at most the cap, give or take a fifth.
func (r *retry) backoff(attempt int) time.Duration {
	d := math.Min(float64(r.cfg.Base)*math.Pow(2, float64(attempt-1)), float64(r.cfg.Cap))
	if r.cfg.Rand != nil {
		d *= 0.8 + 0.4*r.cfg.Rand()
	}
	return time.Duration(math.Min(d, float64(r.cfg.Cap)))
}

// comeBack copies e with a message that says when to try again.
func (r *retry) comeBack(e *Error) *Error {
	told := *e
	wait := e.RetryAfter.Round(time.Second)
	at := r.cfg.Clock.Now().Add(e.RetryAfter).UTC().Format("2006-01-02 15:04 UTC")
	hint := fmt.Sprintf("try again in %s (%s)", wait, at)
	told.Message = strings.TrimPrefix(cutRunes(e.Message, MaxErrorText-len(hint)-2)+"; "+hint, "; ")
	return &told
}

func (r *retry) announce(attempt int, wait time.Duration, err error) *RetryWait {
	w := &RetryWait{Attempt: attempt, Max: r.cfg.Max + 1, Wait: wait, Cause: CleanText(err.Error())}
	var e *Error
	if errors.As(err, &e) {
		w.Status = e.Status
	}
	return w
}
