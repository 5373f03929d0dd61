package ui

import (
	"time"

	"vitrine/runtime"
	"vitrine/trace"
)

// runState is what the status line and the tab's mark tell of a session's last run, folded from its events.
type runState struct {
	id        string
	active    bool
	state     runtime.State
	reason    string
	turn      int
	step      int
	calls     int
	tokens    int
	estimated bool
	streaming bool
	streamed  int // bytes of this step's stream, for an estimate until the count is reported
	tool      string
	cost      *float64
	began     time.Time
	ended     time.Time
	took      time.Duration // of a run that has ended, when that was told
	over      bool          // its end is stored: nothing that is told of it later counts
	retry     *retryState
	seenCalls map[string]bool
}

// retryState is one wait before another attempt.
type retryState struct {
	data  trace.RetryData
	until time.Time
}

// bytesPerToken is a rough measure for a count that moves while text streams; the report replaces it.
const bytesPerToken = 4

// apply folds one event in.
func (r *runState) apply(e trace.Event) {
	if e.RunID != "" && e.RunID != r.id && e.Name == trace.RunStart {
		*r = runState{id: e.RunID, active: true, state: runtime.StateCreated, turn: e.Turn, began: e.TS, seenCalls: map[string]bool{}}
	}
	if e.RunID == "" || e.RunID != r.id {
		return
	}
	if e.Step > r.step {
		r.step = e.Step
	}
	switch d := e.Data.(type) {
	case trace.StateData:
		r.setState(runtime.State(d.State), d.Reason, e.TS)
	case trace.DeltaData:
		r.delta(d)
	case trace.LLMCallData:
		r.streaming, r.streamed, r.retry = false, 0, nil
		r.count(d)
	case trace.ToolCallData:
		r.retry = nil
		if !r.seenCalls[d.ID] {
			r.seenCalls[d.ID] = true
			r.calls++
		}
		if d.Status == string(runtime.CallStarted) {
			r.tool = d.Tool
		}
	case trace.RetryData:
		r.streaming, r.streamed = false, 0
		r.retry = &retryState{data: d, until: e.TS.Add(time.Duration(d.WaitMS) * time.Millisecond)}
	case trace.RunEndData:
		r.finish(d, e.TS)
	}
}

// setState follows what this process tells of its run. The run is over when its end is stored, which run_end tells: a
// terminal state before that is only on its way there, but for one that the store would not take any more.
func (r *runState) setState(s runtime.State, reason string, at time.Time) {
	switch {
	case r.over || s == "":
		return
	case s.Terminal() && reason == string(runtime.ReasonStore):
		r.active, r.ended = false, at
	case s.Terminal():
		s, reason = runtime.StateCheckpointing, ""
	case !r.active: // it was left unfinished and goes on; the time between does not count
		r.active, r.began, r.ended = true, at, time.Time{}
	}
	r.state, r.reason = s, reason
	if s != runtime.StateRetryingModel && s != runtime.StateWaitingModel && s != runtime.StateRetryingTool {
		r.retry = nil
	}
	if s != runtime.StateWaitingModel {
		r.streaming = false
	}
}

func (r *runState) delta(d trace.DeltaData) {
	switch d.Kind {
	case "tool_output":
		return
	case "summary":
		r.retry = nil
		return
	}
	if d.Reset {
		r.streamed = 0
	}
	if d.Text != "" || !d.Reset {
		r.streaming, r.retry = true, nil
	}
	r.streamed += len(d.Text)
}

func (r *runState) count(d trace.LLMCallData) {
	if d.Cost != nil {
		sum := *d.Cost
		if r.cost != nil {
			sum += *r.cost
		}
		r.cost = &sum
	}
	prompt, completion := d.PromptTokens, d.CompletionTokens
	if prompt == nil {
		r.estimated = true
		r.tokens += d.Estimate
	} else {
		r.tokens += *prompt
	}
	if completion == nil {
		r.estimated = true
		r.tokens += len(d.Text) / bytesPerToken
	} else {
		r.tokens += *completion
	}
}

func (r *runState) finish(d trace.RunEndData, at time.Time) {
	r.active, r.streaming, r.streamed, r.retry, r.tool = false, false, 0, nil, ""
	r.state, r.reason = runtime.State(d.State), d.Reason
	r.step, r.calls, r.tokens, r.estimated, r.cost = d.Steps, d.Calls, d.Tokens, d.Estimated, d.Cost
	r.ended, r.over = at, true
	r.took = time.Duration(d.DurationMS) * time.Millisecond
}

// resume puts the state of a stored run in, for a session that was opened while it runs or after it was interrupted.
func (r *runState) resume(row runtime.RunRow, running bool) {
	if r.id != row.ID {
		*r = runState{id: row.ID, turn: row.Turn, began: row.StartedAt, seenCalls: map[string]bool{}}
	}
	r.active, r.state, r.reason = running, row.State, string(row.Reason)
	r.step = max(r.step, row.Step)
	r.calls = max(r.calls, row.Usage.Calls)
	r.tokens = max(r.tokens, row.Usage.Prompt+row.Usage.Completion)
	r.estimated = r.estimated || row.Usage.Estimated
	if row.Usage.Cost != nil && (r.cost == nil || *r.cost < *row.Usage.Cost) {
		r.cost = row.Usage.Cost
	}
}

// used is the tokens so far, and whether a part of them is an estimate.
func (r *runState) used() (tokens int, estimated bool) {
	return r.tokens + r.streamed/bytesPerToken, r.estimated || r.streamed > 0
}

// elapsed is how long the run took, or takes.
func (r *runState) elapsed(now time.Time) time.Duration {
	switch {
	case r.began.IsZero():
		return 0
	case r.took > 0:
		return r.took
	case !r.ended.IsZero():
		return r.ended.Sub(r.began)
	}
	return max(now.Sub(r.began), 0)
}

// word says in a few words what the run does.
func (r *runState) word() string {
	switch r.state {
	case runtime.StateCreated:
		return "starting"
	case runtime.StateBuilding:
		return "reading the context"
	case runtime.StateWaitingModel:
		if r.streaming {
			return "streaming"
		}
		return "waiting for the model"
	case runtime.StateRepairing:
		return "asking for a repair"
	case runtime.StateRetryingModel:
		return "trying again"
	case runtime.StateValidating:
		return "checking the calls"
	case runtime.StateWaitingApproval:
		return "needs you"
	case runtime.StateExecuting, runtime.StateRetryingTool:
		if r.tool != "" {
			return "running " + r.tool
		}
		return "running tools"
	case runtime.StateReconciling:
		return "checking what ran"
	case runtime.StateObserving:
		return "reading the results"
	case runtime.StateCheckpointing:
		return "saving"
	case runtime.StateVerifying:
		return "verifying"
	case runtime.StateSucceeded:
		return "done"
	case runtime.StateFailed:
		return "failed"
	case runtime.StateCancelled:
		return "stopped"
	case runtime.StateExhausted:
		return "budget used up"
	}
	return "ready"
}
