// Package clock gives every part of the program its time, its goroutines and its hand-offs, so that the whole of it runs
// either in real time or, simulated, deterministically and in a fraction of the time.
//
// The real clock is thin over the standard library. The simulated one (Sim) lets exactly one participant run at a time:
// it starts or wakes one, waits until that one blocks in this package or ends, goes on to the next in order of readiness,
// and moves time only when nobody is ready, firing timers one by one by (time, sequence). A participant is a function
// started with Go, a fired AfterFunc, or the function given to Sim.Run. A call into a library counts as busy until it
// returns.
//
// Whoever waits does so through this package: Sleep, Queue.Get, Queue.Put, Latch.Wait, Group.Wait. Contexts that are to
// wake such waits come from WithCancel and WithTimeout.
package clock

import (
	"context"
	"errors"
	"time"
)

// ErrClosed is what a closed Queue answers.
var ErrClosed = errors.New("queue closed")

// Clock is time and concurrency. It is sealed: Real and Sim are its implementations. All methods are safe for concurrent
// use.
type Clock interface {
	// Now is the current time; its wall clock and monotonic reading both move with the clock.
	Now() time.Time
	// Sleep waits for d or until ctx is done, whose cause it then returns.
	Sleep(ctx context.Context, d time.Duration) error
	// AfterFunc runs f in a goroutine of its own after d.
	AfterFunc(d time.Duration, f func()) Timer
	// WithCancel and WithTimeout are those of package context; waits in this package that use the context end with it.
	WithCancel(parent context.Context) (context.Context, context.CancelFunc)
	WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Go starts f as a participant.
	Go(f func())

	// newParker makes a waiting place; what says in a few words what is waited for, until (or zero) how long.
	newParker(what string, until time.Time) parker
}

// Timer is a pending AfterFunc.
type Timer interface {
	// Stop reports whether it prevented the function from running.
	Stop() bool
}

// parker is one waiting place, used by one goroutine, woken at most once.
type parker interface {
	// park waits for wake or for ctx; nil means woken.
	park(ctx context.Context) error
	// wake lets park return; it never blocks.
	wake()
}
