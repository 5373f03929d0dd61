package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

// settle decides on an interrupted run by the user's word; without one it starts what is queued.
func (s *session) settle(c Setting) error {
	if s.busy() {
		return errors.New("a turn is running")
	}
	if s.unfinished == nil {
		return s.startQueued()
	}
	if *c.Resume {
		return s.resume(c)
	}
	if err := s.abandon(ReasonInterrupted); err != nil {
		return err
	}
	return s.startQueued()
}

// Outcome is the user's word on a call whose outcome nobody knows.
type Outcome string

// The words.
const (
	OutcomeHappened Outcome = "happened" // it took effect; its result is lost
	OutcomeNot      Outcome = "not"      // it did not take effect
	OutcomeAgain    Outcome = "again"    // run it again, with the same key
)

// OutcomeError names calls of which nobody can tell whether they took effect: the user has to say.
type OutcomeError struct{ Calls []CallRow }

// Error names the tools.
func (e *OutcomeError) Error() string {
	var names []string
	for _, c := range e.Calls {
		names = append(names, c.Name+" ("+c.ID+")")
	}
	return "nobody can tell whether these calls took effect before the program stopped: " + strings.Join(names, ", ")
}

// UnknownCalls gives those of an unfinished run's calls that wait for the user's word.
func UnknownCalls(calls []CallRow) []CallRow {
	var out []CallRow
	for _, c := range calls {
		if c.Result == nil && (c.Status == CallUnknown || c.Status == CallStarted && c.Effect == tools.SideEffect) {
			out = append(out, c)
		}
	}
	return out
}

// resume goes on with the unfinished run in this process.
func (s *session) resume(say Setting) error {
	u := s.unfinished
	if err := s.runnable(u); err != nil {
		return err
	}
	words, open, err := s.outcomes(u, say.Outcomes)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return &OutcomeError{Calls: open}
	}
	r := newRun(s, u.row)
	r.restore(u.calls)
	for i := range r.calls {
		if w, ok := words[r.calls[i].row.ID]; ok && !r.calls[i].ready {
			r.calls[i].settle(w, s.eng.cfg.Clock.Now())
		}
	}
	if r.state == StateVerifying {
		if err := r.restoreAnswer(); err != nil {
			return err
		}
	}
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	if err := errors.Join(r.restoreApprovals(ctx), r.restoreAccount(ctx)); err != nil {
		return err
	}
	if err := s.giveWords(r, r.waitingRows(), say.Decide); err != nil {
		return err
	}
	if st := say.Step; st != nil {
		if err := s.setBreak(st.Then); err != nil {
			return err
		}
		if r.pass = st.Call == ""; !r.pass {
			r.words.TryPut(word{Decision: Decision{Call: st.Call}, goOn: true})
		}
	}
	s.unfinished = nil
	s.launch(r, InResume)
	return nil
}

// settle takes the user's word on a call.
func (c *call) settle(w Outcome, now time.Time) {
	c.before = false
	switch w {
	case OutcomeHappened:
		c.answer(tools.NewResult(tools.Output{Data: map[string]string{
			"note": "the program stopped while this call ran; the user says that it took effect, its output is lost",
		}}, nil), CallDone)
		c.row.SideEffect = tools.EffectCommitted
	case OutcomeNot:
		c.answer(tools.ErrorResult(&tools.Error{Code: tools.CodeNotRun, Message: "the program stopped; the user says that this call did not take effect"}), CallNotRun)
		c.row.SideEffect = tools.EffectNone
	case OutcomeAgain:
		c.again(now)
		c.tried = true
	}
}

// restore takes the stored calls of the last step up again.
func (r *run) restore(rows []CallRow) {
	r.reply.stored = true
	r.restoreGuards()
	stored := map[string]bool{}
	for _, m := range r.s.window {
		if m.Role == llm.RoleTool && m.RunID == r.row.ID {
			stored[m.ToolCallID] = true
		}
	}
	newest := newestOf(rows)
	for _, row := range rows {
		var done tools.Result
		if row.Result != nil && json.Unmarshal(row.Result, &done) == nil && done.OK {
			r.used[row.Name] = true
		}
		if row.Reply < newest[place{row.Step, row.Ord}] {
			if row.FinishedAt == nil {
				r.outdated = append(r.outdated, row.replaced(r.s.eng.cfg.Clock.Now()))
			}
			continue
		}
		if row.Step != r.row.Step {
			continue
		}
		c := call{row: row, message: stored[row.CallID], before: row.Status == CallStarted && row.Result == nil}
		if t, bad := r.s.eng.cfg.Registry.Get(row.Name); bad == nil {
			c.tool = t
			if row.Result == nil && (row.Status == CallPending || row.Status == CallWaiting) {
				c.row.Effect = t.Effect() // as it is when it runs: the policy goes by it, and what is known after a crash
			}
		}
		switch {
		case row.Result != nil:
			c.ready, c.saved = true, row.FinishedAt != nil // what the user gave is told with its message
			if err := json.Unmarshal(row.Result, &c.result); err != nil {
				c.result = tools.ErrorResult(&tools.Error{Code: tools.CodeInternal, Message: "the stored result cannot be read"})
			}
		case row.Status == CallDenied: // decided, not yet told to the model
			c.deny("")
		case c.tool == nil && !c.before:
			c.answer(tools.ErrorResult(&tools.Error{Code: tools.CodeUnknownTool, Message: "the tool is not here any more"}), CallNotRun)
		}
		c.shown = c.result
		c.kept.saved, c.kept.message, c.kept.status, c.kept.started = c.saved, c.message, row.Status, row.StartedAt
		r.calls = append(r.calls, c)
	}
	slices.SortStableFunc(r.calls, func(a, b call) int { return a.row.Ord - b.row.Ord })
}

// place is where the model asked for a call in its run; an edit leaves it where it was.
type place struct{ step, ord int }

// newestOf gives the reply of the row that counts at each place.
func newestOf(rows []CallRow) map[place]int {
	newest := map[place]int{}
	for _, row := range rows {
		at := place{row.Step, row.Ord}
		newest[at] = max(newest[at], row.Reply)
	}
	return newest
}

// asTheyAre gives calls as they are: one that an edit took the place of does not wait, though an older build left its row so.
func asTheyAre(rows []CallRow) []CallRow {
	newest := newestOf(rows)
	for i, row := range rows {
		if row.FinishedAt == nil && row.Reply < newest[place{row.Step, row.Ord}] {
			rows[i] = row.replaced(time.Time{})
			rows[i].FinishedAt = nil // nobody knows
		}
	}
	return rows
}

// VersionError says why a run cannot go on under the model and the tools of today. It can be given up.
type VersionError struct{ Reasons []string }

// Error gives the reasons.
func (e *VersionError) Error() string {
	return "the run cannot go on as things are today: " + strings.Join(e.Reasons, "; ")
}

// runnable says why an unfinished run cannot go on here, if so: its model is not reached, or a call that had been started was
// made for a tool that is not there any more, or that is another one now. Calls that were not started get an error as their
// result when their tool is gone; another prompt or other schemas are no hindrance, and the trace tells the break.
func (s *session) runnable(u *unfinishedRun) error {
	var why []string
	if serves := s.eng.cfg.Serves; serves != nil {
		if err := serves(u.row.Versions.Model); err != nil {
			why = append(why, oneLine(err))
		}
	}
	for _, c := range u.calls {
		if c.Result != nil || c.Status != CallStarted && c.Status != CallUnknown {
			continue
		}
		t, unknown := s.eng.cfg.Registry.Get(c.Name)
		switch {
		case unknown != nil:
			why = append(why, fmt.Sprintf("a call of %s had been started, and that tool is not here any more", c.Name))
		case t.Effect() != c.Effect:
			why = append(why, fmt.Sprintf("a call of %s had been started when its effect was %s; it is %s now", c.Name, c.Effect, t.Effect()))
		default:
			if _, bad := s.eng.cfg.Registry.Prepare(c.Name, c.Arguments); bad != nil {
				why = append(why, fmt.Sprintf("a call of %s had been started with arguments that it does not take any more: %s", c.Name, bad.Message))
			}
		}
	}
	if len(why) > 0 {
		return &VersionError{Reasons: why}
	}
	return nil
}

// reconcile gives every started call a known outcome: what can be probed is asked, what may run again runs again with the same
// key.
func (r *run) reconcile() (Input, error) {
	tx := r.s.tx()
	unknown := false
	for i := range r.calls {
		c := &r.calls[i]
		if c.ready && c.row.StartedAt != nil {
			r.save(&tx, i) // the user's word, which may not be asked for again
		}
		if c.ready || !c.before || c.row.Effect != tools.Probeable {
			continue
		}
		out, ran, ok, err := r.s.eng.cfg.Executor.Probe(r.ctx, c.tool, tools.Call{
			Key: c.row.ID, SessionID: r.s.id, RunID: r.row.ID, Progress: func(string) {},
		}, json.RawMessage(c.row.Arguments))
		if err != nil || !ok {
			c.row.Status, c.row.SideEffect = CallUnknown, tools.EffectUnknown
			tx.Calls, unknown = append(tx.Calls, c.row), true
			continue
		}
		c.absent = !ran
		if ran {
			c.output = out
			c.answer(tools.NewResult(out, nil), CallDone)
			c.row.SideEffect = tools.EffectCommitted
		}
	}
	if unknown && r.ctx.Err() != nil { // then no probe could answer
		r.refused(tx)
		return r.interruptedOrLeft(), nil
	}
	if unknown {
		return r.awaitOutcome(tx)
	}
	first := r.nextCall()
	if first == len(r.calls) {
		return InStepDone, nil
	}
	if len(tx.Calls) > 0 && r.asksAt(first) {
		if err := r.commitAs(tx, StateReconciling); err != nil {
			return "", err
		}
		tx = r.s.tx()
	}
	if err := r.admit(&tx, first); err != nil {
		return r.admitFailed(err)
	}
	if err := r.commitAs(tx, StateExecuting); err != nil {
		return "", err
	}
	if r.reason != ReasonNone { // told after what had been started before
		r.reason = ReasonNone
		r.batch.to = max(r.batch.from, r.batch.to)
	}
	return InReconciled, nil
}

// awaitOutcome leaves the run where it is: the user has to say what became of a call.
func (r *run) awaitOutcome(tx Tx) (Input, error) {
	r.reason = ReasonOutcome
	if err := r.commitAs(tx, StateReconciling); err != nil {
		return "", err
	}
	r.left = true
	return InUnknownOutcome, nil
}

// abandon gives an unfinished run up: its dangling calls get results, the turn its closing message, in one transaction.
func (s *session) abandon(reason Reason) error {
	u := s.unfinished
	r := newRun(s, u.row)
	r.cancel()
	r.restore(u.calls)
	r.state, r.reason = u.row.State, ReasonInterrupted
	if err := r.advance(InGiveUp); err != nil {
		return err
	}
	tx := s.tx()
	repaired := trace.HistoryRepairedData{Reason: string(reason)}
	var results []trace.Event
	for i := range r.calls {
		c := &r.calls[i]
		if c.message {
			continue
		}
		if !c.ready {
			c.lost()
		}
		repaired.Calls = append(repaired.Calls, c.row.CallID)
		r.save(&tx, i)
	}
	results, tx.Events = tx.Events, nil
	if len(repaired.Calls) > 0 {
		tx.Events = append(tx.Events, r.event(repaired))
	}
	tx.Events = append(tx.Events, results...)
	r.handOver(&tx)
	now := s.eng.cfg.Clock.Now()
	msg := MessageRow{
		ID: s.eng.cfg.NewID(), SessionID: s.id, Kind: llm.KindClosing, Role: llm.RoleAssistant, Content: MarkInterrupted, RunID: r.row.ID,
		Step: r.row.Step, Fixed: true, CreatedAt: now, Tokens: prompt.EstimateMessage(llm.Message{Content: MarkInterrupted}),
	}
	tx.Messages = append(tx.Messages, msg)
	r.row.FinishedAt = &now
	use := r.row.Usage
	tx.Events = append(tx.Events,
		r.event(trace.AnswerData{Text: MarkInterrupted, Fixed: true}),
		r.event(trace.RunEndData{State: string(StateCancelled), Reason: string(ReasonInterrupted), Steps: use.Steps, Calls: use.Calls,
			Tokens: use.Prompt + use.Completion, Estimated: use.Estimated, DurationMS: u.row.Usage.Active.Milliseconds(), PromptTokens: use.Prompt,
			CompletionTokens: use.Completion, CachedTokens: use.Cached, ReasoningTokens: use.Reasoning, Cost: use.Cost})) // up to its last commit
	if err := r.commit(tx); err != nil {
		return err
	}
	s.unfinished = nil
	m := s.measure()
	r.tell(trace.StateData{State: string(StateCancelled), Reason: string(ReasonInterrupted), Meter: &m})
	return nil
}

// lost answers a call whose result nobody has with what is known of it.
func (c *call) lost() {
	res := tools.ErrorResult(dangling(c))
	c.answer(res, statusOf(res))
	if c.row.Status == CallUnknown {
		c.row.SideEffect = tools.EffectUnknown
	}
}

// dangling says what is known of a call that a crash left without a result.
func dangling(c *call) *tools.Error {
	switch {
	case c.row.Status == CallWaiting:
		return &tools.Error{Code: tools.CodeNotRun, Message: "not run: it waited for the user, who did something else"}
	case c.row.Status != CallStarted && c.row.Status != CallUnknown:
		return &tools.Error{Code: tools.CodeNotRun, Message: "not run: the program stopped before"}
	case c.row.Effect == tools.ReadOnly || c.row.Effect == tools.OwnData:
		return &tools.Error{Code: tools.CodeInterrupted, Message: "interrupted: the program stopped while this call ran; it changed nothing"}
	}
	return &tools.Error{Code: tools.CodeOutcomeUnknown, Message: "the program stopped while this call ran; whether it took effect is not known"}
}
