package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// execute runs the batch. Results that come while others still run are stored at once; the last one is left to the
// checkpoint, which stores it together with what comes next.
func (r *run) execute() (Input, error) {
	if len(r.waitingCalls()) > 0 {
		return InAsk, nil
	}
	open := make([]int, 0, 8)
	for i := r.batch.from; i < r.batch.to; i++ {
		if !r.calls[i].ready {
			open = append(open, i)
			r.calls[i].tried = true
		}
	}
	var err error
	switch {
	case len(open) == 1:
		err = r.executeOne(open[0])
	case len(open) > 1:
		err = r.executeSide(open)
	}
	if err != nil {
		return "", err
	}
	if r.ctx.Err() != nil {
		return r.stopBatch()
	}
	return InExecuted, nil
}

// executeOne runs the only call of a batch, in the run's own goroutine: handing it to another one would cost more than most of the
// step. The executor tells of waits from here too.
func (r *run) executeOne(i int) (err error) {
	r.invoke(&r.calls[i], func(w tools.Wait) { err = errors.Join(err, r.waits(callNews{call: i, wait: &w})) })
	r.calls[i].ready = true
	return err
}

// executeSide runs calls side by side.
func (r *run) executeSide(calls []int) error {
	clk := r.s.eng.cfg.Clock
	news := clock.NewQueue[callNews](clk, (len(r.calls)+1)*newsMost)
	group := clock.NewGroup(clk)
	open := len(calls)
	for _, i := range calls {
		group.Go(func() {
			r.invoke(&r.calls[i], func(w tools.Wait) { news.TryPut(callNews{call: i, wait: &w}) })
			news.TryPut(callNews{call: i})
		})
	}
	var err error
	for open > 0 {
		n, getErr := news.Get(context.Background())
		if getErr != nil {
			return fmt.Errorf("run %s: wait for tools: %w", r.row.ID, getErr)
		}
		if n.wait != nil {
			err = errors.Join(err, r.waits(n))
			continue
		}
		i := n.call
		open--
		r.calls[i].ready = true
		if r.state == StateRetryingTool && open > 0 {
			err = errors.Join(err, r.advance(InToolAgain))
		}
		if open > 0 && err == nil && r.ctx.Err() == nil {
			tx := r.s.tx()
			r.save(&tx, i)
			r.handOver(&tx)
			err = r.commitAs(tx, StateExecuting)
		}
	}
	if waitErr := group.Wait(context.Background()); waitErr != nil && err == nil {
		err = fmt.Errorf("run %s: wait for tools: %w", r.row.ID, waitErr)
	}
	return err
}

// newsMost bounds what is told of one call: its waits, the end.
const newsMost = 12

// callNews is a wait of a call before another attempt, or its end.
type callNews struct {
	call int
	wait *tools.Wait // nil at the end
}

// waits tells that a call is tried again after a while. The run counts as retrying until the next result.
func (r *run) waits(n callNews) error {
	c := &r.calls[n.call]
	r.tell(trace.RetryData{Attempt: n.wait.Attempt, Max: n.wait.Max, WaitMS: n.wait.For.Milliseconds(), Cause: n.wait.Cause, Call: c.row.ID, Tool: c.row.Name})
	return r.advance(InToolWait)
}

// stopBatch ends a batch whose context has ended. A run that is left keeps what is known and leaves the rest to the resume.
func (r *run) stopBatch() (Input, error) {
	in := r.interruptedOrLeft()
	if !r.left {
		return in, nil
	}
	return in, r.keepKnown()
}

// keepKnown stores the results that are known of the batch of a run that is left.
func (r *run) keepKnown() error {
	tx := r.s.tx()
	for i := r.batch.from; i < min(r.batch.to, len(r.calls)); i++ {
		c := &r.calls[i]
		if c.ready && !c.saved && c.row.StartedAt != nil && c.row.Status != CallInterrupted && c.row.Status != CallNotRun {
			r.save(&tx, i)
		}
		if !c.ready && c.row.Status == CallStarted && !c.tried && !c.before { // no more than its intent was stored
			c.row.Status = CallPending
			r.row.Usage.Calls--
			tx.Calls = append(tx.Calls, c.row)
		}
	}
	if len(tx.Calls) == 0 {
		return nil
	}
	return r.commitAs(tx, StateExecuting)
}

// mayAct says whether the session still is this process's, as far as a tool of this effect has to know: after the intent was
// stored the process may have been stopped for long. A store that cannot be read now does not keep back what it has the intent of.
func (r *run) mayAct(effect tools.Effect) bool {
	owns := r.s.eng.cfg.Owns
	if owns == nil || effect == tools.ReadOnly || effect == tools.OwnData {
		return true
	}
	ctx, cancel := r.s.eng.storeContext()
	defer cancel()
	return !errors.Is(owns(ctx, r.s.id, r.s.row.Fence), ErrFenced)
}

// invoke runs one call; it is the only place where a tool has an effect.
func (r *run) invoke(c *call, waits func(tools.Wait)) {
	e := r.s.eng
	id := c.row.ID
	if err := e.cfg.Faults.Hit("effect.before"); err != nil {
		c.result, c.encoded = tools.ErrorResult(&tools.Error{Code: tools.CodeUnavailable, Message: oneLine(err)}), nil
		c.row.Status = CallDone
		return
	}
	if !r.mayAct(c.tool.Effect()) {
		c.result, c.encoded = tools.ErrorResult(&tools.Error{Code: tools.CodeNotRun, Message: "not run: another process took the session over"}), nil
		c.row.Status = CallNotRun
		return
	}
	ctx, cancel := e.cfg.Clock.WithCancel(r.ctx)
	defer cancel()
	r.register(id, cancel)
	defer r.register(id, nil)
	out := e.cfg.Executor.Execute(ctx, c.tool, tools.Call{
		Key: id, SessionID: r.s.id, RunID: r.row.ID, Wait: waits,
		Progress: func(text string) { r.tell(trace.ProgressData{ID: id, Text: text}) },
	}, json.RawMessage(c.row.Arguments))
	if err := e.cfg.Faults.Hit("effect.after"); err != nil {
		out.Result = tools.ErrorResult(&tools.Error{Code: tools.CodeUnavailable, Message: oneLine(err)})
	}
	if ctx.Err() != nil && r.ctx.Err() == nil && out.Result.Error != nil {
		out.Result.Error.Message = "the user stopped this call alone: " + out.Result.Error.Message
	}
	c.result, c.encoded, c.output, c.took = out.Result, nil, out.Output, out.Duration
	c.row.SideEffect = out.SideEffect
	c.row.Status = statusOf(out.Result)
	if c.before && out.Attempts == 0 {
		c.row.Status = CallStarted // not this time, but an earlier process had started it
		c.lost()
	}
}

func statusOf(res tools.Result) CallStatus {
	if res.Error == nil {
		return CallDone
	}
	switch res.Error.Code {
	case tools.CodeNotRun:
		return CallNotRun
	case tools.CodeInterrupted:
		return CallInterrupted
	case tools.CodeOutcomeUnknown:
		return CallUnknown
	}
	return CallDone
}
