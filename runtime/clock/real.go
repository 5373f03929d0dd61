package clock

import (
	"context"
	"runtime/debug"
	"time"
)

// Real is the clock of the machine: package time, package context and goroutines as they are.
func Real() Clock { return real{} }

// NewReal is Real for a program that has something to put in order before a panic ends it: a panic of a function started
// with Go or AfterFunc is given to onPanic, in its goroutine and with its stack, and does not end the process by itself.
func NewReal(onPanic func(value any, stack []byte)) Clock { return real{onPanic} }

type real struct{ onPanic func(value any, stack []byte) }

func (real) Now() time.Time { return time.Now() }

func (real) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	done := ctx.Done()
	if done == nil {
		time.Sleep(d)
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-done:
		return context.Cause(ctx)
	}
}

func (r real) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, r.guarded(f)) }

func (real) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(parent)
}

func (real) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, d)
}

func (r real) Go(f func()) { go r.guarded(f)() }

// guarded is f with its panics given to onPanic, if there is one.
func (r real) guarded(f func()) func() {
	if r.onPanic == nil {
		return f
	}
	return func() {
		defer func() {
			if v := recover(); v != nil {
				r.onPanic(v, debug.Stack())
			}
		}()
		f()
	}
}

func (real) newParker(string, time.Time) parker { return make(realParker, 1) }

// realParker has room for the one wake, so that wake never blocks and may come before park.
type realParker chan struct{}

func (p realParker) park(ctx context.Context) error {
	select {
	case <-p:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p realParker) wake() { p <- struct{}{} }
