package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"vitrine/runtime/clock"
)

// Config sets up an Executor. The zero value is usable.
type Config struct {
	// Deadline bounds one attempt of a tool that has none of its own; 0 is 60 s.
	Deadline time.Duration
	// Retries is how often a transient error is tried again; 0 is 2, negative never.
	Retries int
	// RetryWait is the wait before the first retry, doubled before each further one; 0 is 250 ms.
	RetryWait time.Duration
	// PreviewDeadline bounds what a tool takes to say beforehand what a call would do; 0 is 5 s.
	PreviewDeadline time.Duration
	// Grace is how long a cancelled or late tool may take to say how far it came; 0 is 50 ms, so that Esc ends a run within 100.
	Grace time.Duration
	// MaxOutput bounds a result's data in bytes; 0 is 4 MiB.
	MaxOutput int
	// MaxProgress is how many progress texts of one call are passed on; 0 is 1000.
	MaxProgress int
	// Slow is how much longer than it does a tool takes, for demos, in which the tools of this program would take no time at all; nil:
	// no longer.
	Slow func(tool string) time.Duration
	// OnPanic is told of a tool that panicked, for the log; the model never sees value or stack. It may be nil, and is called
	// from the goroutine of the tool.
	OnPanic func(tool string, value any, stack []byte)
}

// What a call did to the world outside, as tool_calls keeps it.
const (
	EffectNone      = "none"
	EffectCommitted = "committed"
	EffectUnknown   = "unknown"
)

// Outcome is what became of a call.
type Outcome struct {
	Result Result
	// Output is the tool's own output; its Changes are to be committed with the result. Zero when it failed.
	Output Output
	// Duration is from the call of Execute to its return; Attempts counts the runs of the tool, 0 when it did not start.
	Duration time.Duration
	Attempts int
	// SideEffect is EffectNone, EffectCommitted or EffectUnknown.
	SideEffect string
}

// Executor runs calls within their deadlines. It has no state of its own and is safe for concurrent use.
type Executor struct {
	clk clock.Clock
	reg *Registry
	cfg Config
}

// NewExecutor makes an executor of the registry's tools.
func NewExecutor(clk clock.Clock, reg *Registry, cfg Config) *Executor {
	set := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&cfg.Deadline, 60*time.Second)
	set(&cfg.RetryWait, 250*time.Millisecond)
	set(&cfg.PreviewDeadline, 5*time.Second)
	set(&cfg.Grace, 50*time.Millisecond)
	if cfg.Retries == 0 {
		cfg.Retries = 2
	}
	if cfg.MaxOutput <= 0 {
		cfg.MaxOutput = 4 << 20
	}
	if cfg.MaxProgress <= 0 {
		cfg.MaxProgress = 1000
	}
	return &Executor{clk: clk, reg: reg, cfg: cfg}
}

// Registry gives the tools that the executor was made with.
func (e *Executor) Registry() *Registry { return e.reg }

// Execute runs a call and returns when the tool is done, its time is up or ctx is done; it never fails, every failure is a
// result. args are as Prepare gives them.
//
// Transient errors (Retryable, or CodeUnavailable) of tools that may run again are tried again after a wait. A panic becomes
// CodeInternal. When ctx ends before the tool has started the code is CodeNotRun, later it is CodeInterrupted, and what the
// tool did is unknown unless its effect excludes it. Data that a tool returns beside an error is kept in the result.
//
// A tool that ignores its context is left behind after Config.Grace: it goes on in its own goroutine until it ends, and what
// it says then (progress, result, changes) is dropped.
func (e *Executor) Execute(ctx context.Context, tool Tool, call Call, args json.RawMessage) Outcome {
	start := e.clk.Now()
	o := e.execute(ctx, tool, call, args)
	o.Duration = e.clk.Now().Sub(start)
	return o
}

func (e *Executor) execute(ctx context.Context, tool Tool, call Call, args json.RawMessage) Outcome {
	prog := &progress{to: call.Progress, left: e.cfg.MaxProgress}
	defer prog.close()
	call.Progress = prog.tell
	retries := e.retries(tool)
	for attempt := 1; ; attempt++ {
		if ctx.Err() != nil {
			if attempt == 1 {
				return Outcome{SideEffect: EffectNone,
					Result: ErrorResult(&Error{Code: CodeNotRun, Message: "cancelled before the tool started"})}
			}
			return e.failed(tool, attempt-1, interrupted(tool))
		}
		out, err := e.attempt(ctx, tool, call, args)
		if err == nil {
			return e.succeeded(tool, attempt, out)
		}
		if attempt > retries || !transient(err) {
			if retries > 0 && transient(err) {
				// It has been tried again already; the model should do something else.
				c := *err
				c.Retryable = false
				c.Message = fmt.Sprintf("%s (after %d attempts)", c.Message, attempt)
				err = &c
			}
			return e.partial(e.failed(tool, attempt, err), out)
		}
		wait := e.cfg.RetryWait << (attempt - 1)
		if call.Wait != nil {
			call.Wait(Wait{Attempt: attempt, Max: retries + 1, For: wait, Cause: CleanLine(err.Message, 200)})
		}
		if e.clk.Sleep(ctx, wait) != nil {
			return e.failed(tool, attempt, interrupted(tool))
		}
	}
}

// retries is how often the tool may be tried again.
func (e *Executor) retries(tool Tool) int {
	switch tool.Effect() {
	case ReadOnly, Idempotent, OwnData: // the changes of OwnData are only returned
	default:
		return 0
	}
	n := e.cfg.Retries
	if t, ok := tool.(interface{ retries() *int }); ok && t.retries() != nil {
		n = *t.retries()
	}
	return min(max(n, 0), 10)
}

func transient(err *Error) bool { return err.Retryable || err.Code == CodeUnavailable }

// attempt runs the tool once.
func (e *Executor) attempt(ctx context.Context, tool Tool, call Call, args json.RawMessage) (Output, *Error) {
	deadline := e.deadline(tool)
	actx, cancel := e.clk.WithTimeout(ctx, deadline)
	defer cancel()
	out, done, err := within(ctx, actx, e, tool, func() (Output, error) {
		if e.cfg.Slow != nil {
			if err := e.clk.Sleep(actx, e.cfg.Slow(tool.Name())); err != nil {
				return Output{}, err
			}
		}
		return tool.Run(actx, call, args)
	})
	var te *Error
	switch {
	case !done:
		return Output{}, e.ended(ctx, tool, deadline)
	case err == nil:
		return out, nil
	case errors.As(err, &te) && te != nil:
		return out, te
	case actx.Err() != nil:
		return out, e.ended(ctx, tool, deadline)
	}
	return Output{}, asError(err)
}

func (e *Executor) deadline(tool Tool) time.Duration {
	if d := tool.Deadline(); d > 0 {
		return d
	}
	return e.cfg.Deadline
}

// within runs a tool's function f, which has limited as its context, and waits for it until limited has ended, and the grace after
// that. done is false when it has not returned by then; it goes on in its own goroutine.
func within[T any](ctx, limited context.Context, e *Executor, tool Tool, f func() (T, error)) (out T, done bool, err error) {
	end := clock.NewLatch(e.clk)
	b := &box[T]{}
	e.clk.Go(func() {
		defer end.Open()
		guarded(e, tool, b, f)
	})
	if end.Wait(limited) != nil && !end.IsOpen() {
		gctx, stop := e.clk.WithTimeout(context.WithoutCancel(ctx), e.cfg.Grace)
		defer stop()
		if end.Wait(gctx) != nil && !end.IsOpen() {
			return out, false, nil
		}
	}
	out, err = b.get()
	return out, true, err
}

// guarded runs f so that neither a panic nor an exit of its goroutine harms anyone else.
func guarded[T any](e *Executor, tool Tool, b *box[T], f func() (T, error)) {
	var none T
	b.set(none, &Error{Code: CodeInternal, Message: "the tool ended without a result"})
	defer func() {
		if v := recover(); v != nil {
			b.set(none, &Error{Code: CodeInternal, Message: "the tool failed inside (panic); this is a fault of the program, not of the arguments"})
			if e.cfg.OnPanic != nil {
				e.cfg.OnPanic(tool.Name(), v, debug.Stack())
			}
		}
	}()
	b.set(f())
}

// ended says why an attempt ended that did not say so itself.
func (e *Executor) ended(ctx context.Context, tool Tool, deadline time.Duration) *Error {
	if ctx.Err() != nil {
		return interrupted(tool)
	}
	return &Error{Code: CodeTimeout, Message: fmt.Sprintf("no result within %s%s", deadline, mayHave(tool))}
}

func interrupted(tool Tool) *Error {
	return &Error{Code: CodeInterrupted, Message: "interrupted while the tool was running" + mayHave(tool)}
}

func mayHave(tool Tool) string {
	switch tool.Effect() {
	case ReadOnly, OwnData:
		return "; nothing was changed"
	}
	return "; it may have had effects"
}

// succeeded makes the outcome of an output.
func (e *Executor) succeeded(tool Tool, attempt int, out Output) Outcome {
	effect := tool.Effect()
	if len(out.Changes) > 0 && effect != OwnData {
		return e.failed(tool, attempt, &Error{Code: CodeInternal, Message: "the tool returned changes that its declared effect excludes"})
	}
	o := Outcome{Output: out, Attempts: attempt, SideEffect: EffectCommitted}
	o.Output.Summary = CleanLine(out.Summary, 200)
	if effect == ReadOnly || effect == OwnData {
		o.SideEffect = EffectNone
	}
	o.Result = bound(NewResult(out, nil), e.cfg.MaxOutput)
	if !o.Result.OK {
		// The tool has run, but its data could not be written: without a result its changes must not happen.
		o.Output = Output{}
	}
	return o
}

// failed makes the outcome of an error.
func (e *Executor) failed(tool Tool, attempt int, err *Error) Outcome {
	o := Outcome{Result: ErrorResult(err), Attempts: attempt, SideEffect: EffectNone}
	switch tool.Effect() {
	case ReadOnly, OwnData:
		return o
	}
	switch err.Code {
	case CodeTimeout, CodeInterrupted, CodeUnavailable, CodeInternal, CodeOutcomeUnknown:
		o.SideEffect = EffectUnknown
	}
	return o
}

// partial keeps the data that a tool returned beside its error, such as the output up to the interruption. Changes do not happen.
func (e *Executor) partial(o Outcome, out Output) Outcome {
	if r := bound(NewResult(out, nil), e.cfg.MaxOutput); r.OK {
		o.Result.Data, o.Result.Truncated = r.Data, r.Truncated
	}
	return o
}

// box hands the result of an attempt over; a straggler writes into one that nobody reads.
type box[T any] struct {
	mu  sync.Mutex
	out T
	err error
}

func (b *box[T]) set(out T, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out, b.err = out, err
}

func (b *box[T]) get() (T, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out, b.err
}

// progress passes a tool's texts on while its call lasts.
type progress struct {
	mu   sync.Mutex
	to   func(string)
	left int
}

func (p *progress) tell(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil || p.left <= 0 {
		return
	}
	if text = CleanLine(text, 500); text == "" {
		return
	}
	p.left--
	p.to(text)
}

// close ends it: what a straggler says later is dropped.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = nil
}
