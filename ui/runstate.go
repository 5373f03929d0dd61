package ui

import (
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/theme"
	"vitrine/ui/words"
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
	spent     runtime.RunUsage // of the calls that have ended; what was not reported of them is estimated
	sum       int              // tokens that were not told apart
	streaming bool
	streamed  int // bytes of this step's stream, for an estimate until the count is reported
	tool      string
	heard     time.Time       // when the model was asked, or the last byte of its reply came; zero: not known
	alive     time.Time       // when the server last sent something that is no part of a reply
	budget    *runtime.Budget // its own; nil: not known
	before    time.Duration   // what it had taken when it began, here: another process, or this one before the page was read again
	began     time.Time
	ended     time.Time
	last      time.Time     // of what is told of it in the store
	took      time.Duration // of a run that has ended, when that was told
	stood     time.Time     // since when it stands still for the user; zero: it does not
	waited    time.Duration // how long it stood still before
	over      bool          // its end is stored: nothing that is told of it later counts
	retry     *retryState
	seenCalls map[string]bool
}

// retryState is one wait before another attempt.
type retryState struct {
	data   trace.RetryData
	until  time.Time // or when it went out
	queued bool      // others go first
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
	if e.Seq > 0 {
		r.last = e.TS
	}
	switch d := e.Data.(type) {
	case trace.RunStartData:
		if c := d.Caps; c != nil {
			r.budget = &runtime.Budget{Steps: c.Steps, Calls: c.Calls, Tokens: c.Tokens, Cost: c.Cost, Deadline: time.Duration(c.DeadlineMS) * time.Millisecond}
		}
	case trace.StateData:
		r.setState(runtime.State(d.State), d.Reason, e.TS)
	case trace.DeltaData:
		r.delta(d, e.TS)
	case trace.LLMCallData:
		r.streaming, r.streamed, r.retry, r.heard = false, 0, nil, time.Time{}
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
		r.active, r.ended = true, time.Time{}
		r.clock(r.before, at)
	}
	r.state, r.reason = s, reason
	if s == runtime.StateWaitingModel {
		r.heard = at
	}
	if s != runtime.StateRetryingModel && s != runtime.StateWaitingModel && s != runtime.StateRetryingTool {
		r.retry = nil
	}
	if s != runtime.StateWaitingModel {
		r.streaming = false
	}
}

func (r *runState) delta(d trace.DeltaData, at time.Time) {
	switch d.Kind {
	case "tool_output":
		return
	case "summary":
		r.retry = nil
		return
	case "alive":
		r.retry, r.alive = nil, at
		return
	case string(llm.Queued):
		if r.retry != nil {
			r.retry.queued = true
		}
		return
	case string(llm.Sent):
		if r.retry != nil {
			r.retry.queued, r.retry.until = false, at
		}
		return
	}
	if d.Reset {
		r.streamed = 0
	}
	if d.Text != "" || !d.Reset {
		r.streaming, r.retry, r.heard = true, nil, at
	}
	r.streamed += len(d.Text)
}

// count adds what a call used. Zeros are no report: no request has a prompt of no tokens.
func (r *runState) count(d trace.LLMCallData) {
	u := runtime.RunUsage{Prompt: d.Estimate, Completion: len(d.Text) / bytesPerToken, Estimated: true, Cost: d.Cost}
	if in := d.PromptTokens; in == nil || *in > 0 {
		u.Estimated, u.Cached, u.Reasoning = in == nil || d.CompletionTokens == nil, d.CachedTokens, d.ReasoningTokens
		if in != nil {
			u.Prompt = *in
		}
		if d.CompletionTokens != nil {
			u.Completion = *d.CompletionTokens
		}
	}
	r.spent.Add(u)
}

func (r *runState) finish(d trace.RunEndData, at time.Time) {
	r.active, r.streaming, r.streamed, r.retry, r.tool = false, false, 0, nil, ""
	r.state, r.reason = runtime.State(d.State), d.Reason
	r.step, r.calls = d.Steps, d.Calls
	r.spent = runtime.RunUsage{Prompt: d.PromptTokens, Completion: d.CompletionTokens, Estimated: d.Estimated, Cached: d.CachedTokens,
		Reasoning: d.ReasoningTokens, Cost: d.Cost}
	r.sum = max(d.Tokens-d.PromptTokens-d.CompletionTokens, 0) // versions of old told only the sum
	r.ended, r.over = at, true
	r.took = time.Duration(d.DurationMS) * time.Millisecond
}

// clock counts the run's time on, from what it had used at a moment.
func (r *runState) clock(used time.Duration, at time.Time) {
	r.before, r.began, r.waited = used, at, 0
	if !r.stood.IsZero() {
		r.stood = at
	}
}

// caps is what the run may use: its own budget, or else, of a run that began here, that of new runs.
func (r *runState) caps(here Limits, elsewhere bool) Limits {
	switch b := r.budget; {
	case b != nil:
		return Limits{Steps: b.Steps, Calls: b.Calls, Tokens: b.Tokens, Deadline: b.Deadline, Cost: b.Cost}
	case elsewhere:
		return Limits{}
	}
	return here
}

// resume puts the state of a stored run in, for a session that was opened while it runs or after it was interrupted; at is when it
// had used what the row says.
func (r *runState) resume(row runtime.RunRow, running bool, at time.Time) {
	if r.id != row.ID {
		*r = runState{id: row.ID, turn: row.Turn, seenCalls: map[string]bool{}}
	}
	r.budget = &row.Budget
	r.clock(row.Usage.Active, at)
	r.active, r.state, r.reason = running, row.State, string(row.Reason)
	r.step = max(r.step, row.Step)
	if running && (r.state == runtime.StateCreated || r.state == runtime.StateWaitingModel) {
		r.state, r.step = runtime.StateWaitingModel, row.Step+1 // a reply is what is stored next
	}
	r.calls = max(r.calls, row.Usage.Calls)
	if u := row.Usage; u.Prompt+u.Completion >= r.spent.Prompt+r.spent.Completion+r.sum {
		r.spent, r.sum = u, 0
	}
}

// stored takes the run as another process has stored it.
func (r *runState) stored(row runtime.RunRow) {
	if row.ID != r.id || r.over || row.State.Terminal() {
		return // its end is told by an event
	}
	active := r.active
	r.resume(row, true, r.last)
	r.active = active
}

// used is the tokens so far, and whether a part of them is an estimate.
func (r *runState) used() (tokens int, estimated bool) {
	return r.spent.Prompt + r.spent.Completion + r.sum + r.streamed/bytesPerToken, r.spent.Estimated || r.streamed > 0
}

// apart is what went in and what came out; what nobody knows yet has its sign, so that the others stay where they are. room is for
// what came out of a cache too.
func (r *runState) apart(s line.Style, room bool) []string {
	l, u := s.Theme.Lang(), r.spent
	in, out, cached := theme.Unknown, theme.Unknown, theme.Unknown
	if u.Prompt > 0 {
		in = theme.Tokens(u.Prompt, u.Estimated)
	}
	if n := u.Completion + r.streamed/bytesPerToken; n > 0 {
		out = theme.Tokens(n, u.Estimated || r.streamed > 0)
	}
	if u.Cached != nil {
		cached = theme.Tokens(*u.Cached, false)
	}
	facts := []string{l.T("%s in", set(s, in, tokensSlot))}
	if room {
		facts = append(facts, l.T("%s cached", set(s, cached, tokensSlot)))
	}
	return append(facts, l.T("%s out", set(s, out, tokensSlot)))
}

// noticed is how long nothing may come before it is told.
const noticed = 2 * time.Second

// silence is how long nothing has come from a model that was asked; ok says that it is worth telling.
func (r *runState) silence(now time.Time) (since time.Duration, ok bool) {
	if r.heard.IsZero() || !r.active || r.state != runtime.StateWaitingModel {
		return 0, false
	}
	since = now.Sub(r.heard)
	return since, since >= noticed
}

// elapsed is how long the run took, or takes.
func (r *runState) elapsed(now time.Time) time.Duration {
	switch {
	case r.began.IsZero():
		return r.before
	case r.took > 0:
		return r.took
	case !r.ended.IsZero():
		now = r.ended
	case !r.stood.IsZero():
		now = r.stood
	}
	return r.before + max(now.Sub(r.began)-r.waited, 0)
}

// stand follows whether the run stands still for the user.
func (r *runState) stand(stands bool, now time.Time) {
	switch {
	case stands && r.stood.IsZero():
		r.stood = now
	case !stands && !r.stood.IsZero():
		r.waited += now.Sub(r.stood)
		r.stood = time.Time{}
	}
}

// quiet is silence that is worth telling: for how long nothing has come, and whether the server has shown since that it is alive. Once it
// shows nothing any more either, it is counted from its last sign.
func (r *runState) quiet(now time.Time) (since time.Duration, alive, ok bool) {
	since, ok = r.silence(now)
	if dead := now.Sub(r.alive); r.alive.After(r.heard) {
		if dead >= noticed {
			return dead, false, ok
		}
		return since, true, ok
	}
	return since, false, ok
}

// word says in a word what the run does; each fits the room that the status line keeps for it.
func (r *runState) word(l words.Lang, now time.Time) string {
	switch r.state {
	case runtime.StateCreated:
		return l.T("starting")
	case runtime.StateBuilding:
		return l.T("preparing")
	case runtime.StateWaitingModel:
		switch _, alive, ok := r.quiet(now); {
		case ok && !alive && (r.streaming || r.alive.After(r.heard)):
			return l.T("no data")
		case ok && r.streaming:
			return l.T("no text")
		case r.streaming:
			return l.T("streaming")
		}
		return l.T("waiting")
	case runtime.StateRepairing:
		return l.T("repairing")
	case runtime.StateRetryingModel:
		return l.T("retrying")
	case runtime.StateValidating:
		return l.T("checking")
	case runtime.StateWaitingApproval:
		return l.T("needs you")
	case runtime.StateExecuting, runtime.StateRetryingTool:
		return l.T("running")
	case runtime.StateReconciling:
		return l.T("checking")
	case runtime.StateObserving:
		return l.T("reading##results")
	case runtime.StateCheckpointing:
		return l.T("saving")
	case runtime.StateVerifying:
		return l.T("verifying")
	case runtime.StateSucceeded:
		return l.T("done")
	case runtime.StateFailed:
		return l.T("failed")
	case runtime.StateCancelled:
		return l.T("stopped")
	case runtime.StateExhausted:
		return l.T("budget used up")
	}
	return l.T("ready")
}
