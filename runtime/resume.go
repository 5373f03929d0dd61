package runtime

import (
	"encoding/json"
	"errors"
	"fmt"

	"vitrine/llm"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

// settle decides on an interrupted run by the user's word; without one it starts what is queued.
func (s *session) settle(resume bool) error {
	if s.busy() {
		return errors.New("a turn is running")
	}
	if s.unfinished == nil {
		return s.startQueued()
	}
	if resume {
		return s.resume()
	}
	if err := s.abandon(ReasonInterrupted); err != nil {
		return err
	}
	return s.startQueued()
}

// resume goes on with the unfinished run in this process.
func (s *session) resume() error {
	u := s.unfinished
	r := newRun(s, u.row)
	r.restore(u.calls)
	if tool := r.unknowable(); tool != "" {
		return fmt.Errorf("nobody can tell whether %s took effect before the program stopped: give the turn up, check, and ask again", tool)
	}
	if r.state == StateVerifying {
		if err := r.restoreAnswer(); err != nil {
			return err
		}
	}
	s.unfinished = nil
	s.launch(r, InResume)
	return nil
}

// restore takes the stored calls of the last step up again.
func (r *run) restore(rows []CallRow) {
	r.reply.stored = true
	stored := map[string]bool{}
	for _, m := range r.s.window {
		if m.Role == llm.RoleTool && m.RunID == r.row.ID {
			stored[m.ToolCallID] = true
		}
	}
	for _, row := range rows {
		var done tools.Result
		if row.Result != nil && json.Unmarshal(row.Result, &done) == nil && done.OK {
			r.used[row.Name] = true
		}
		if row.Step != r.row.Step {
			continue
		}
		c := call{row: row, message: stored[row.CallID], before: row.Status == CallStarted && row.Result == nil}
		if t, bad := r.s.eng.cfg.Registry.Get(row.Name); bad == nil {
			c.tool = t
		}
		switch {
		case row.Result != nil:
			c.ready, c.saved = true, true
			if err := json.Unmarshal(row.Result, &c.result); err != nil {
				c.result = tools.ErrorResult(&tools.Error{Code: tools.CodeInternal, Message: "the stored result cannot be read"})
			}
		case c.tool == nil:
			c.answer(tools.ErrorResult(&tools.Error{Code: tools.CodeUnknownTool, Message: "the tool is not here any more"}), CallNotRun)
		}
		r.calls = append(r.calls, c)
	}
}

// unknowable names a tool whose started call may have had effects that cannot be found out or repeated.
func (r *run) unknowable() string {
	for i := range r.calls {
		if c := &r.calls[i]; !c.ready && c.row.Status == CallStarted && c.row.Effect == tools.SideEffect {
			return c.row.Name
		}
	}
	return ""
}

// reconcile gives every started call a known outcome: what can be probed is asked, what may run again runs again with the same
// key.
func (r *run) reconcile() (Input, error) {
	tx := r.s.tx()
	for i := range r.calls {
		c := &r.calls[i]
		if c.ready || c.row.Status != CallStarted || c.row.Effect != tools.Probeable {
			continue
		}
		out, ran, ok, err := c.tool.Probe(r.ctx, tools.Call{
			Key: c.row.ID, SessionID: r.s.id, RunID: r.row.ID, Progress: func(string) {},
		}, json.RawMessage(c.row.Arguments))
		if err != nil || !ok {
			c.answer(tools.ErrorResult(&tools.Error{Code: tools.CodeOutcomeUnknown,
				Message: "the program stopped while this call ran, and it could not be found out whether it took effect"}), CallUnknown)
			c.row.SideEffect = tools.EffectUnknown
			continue
		}
		if ran {
			c.output = out
			c.answer(tools.NewResult(out, nil), CallDone)
			c.row.SideEffect = tools.EffectCommitted
		}
	}
	first := 0
	for first < len(r.calls) && r.calls[first].message {
		first++
	}
	if first == len(r.calls) {
		return InStepDone, nil
	}
	if err := r.admit(&tx, first); err != nil {
		return r.admitFailed(err)
	}
	if err := r.commitAs(tx, StateExecuting); err != nil {
		return "", err
	}
	if r.reason == ReasonCalls {
		r.reason = ReasonNone
		r.batch.to = max(r.batch.from, r.batch.to)
	}
	return InReconciled, nil
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
		ID: s.eng.cfg.NewID(), SessionID: s.id, Kind: llm.KindClosing, Role: llm.RoleAssistant, Content: markInterrupted, RunID: r.row.ID,
		Step: r.row.Step, Fixed: true, CreatedAt: now, Tokens: prompt.EstimateMessage(llm.Message{Content: markInterrupted}),
	}
	tx.Messages = append(tx.Messages, msg)
	r.row.FinishedAt = &now
	use := r.row.Usage
	tx.Events = append(tx.Events,
		r.event(trace.AnswerData{Text: markInterrupted, Fixed: true}),
		r.event(trace.RunEndData{State: string(StateCancelled), Reason: string(ReasonInterrupted), Steps: use.Steps, Calls: use.Calls,
			Tokens: use.Prompt + use.Completion, Estimated: use.Estimated, DurationMS: u.row.Usage.Active.Milliseconds(), Cost: use.Cost})) // up to its last commit
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
	case c.row.Status != CallStarted:
		return &tools.Error{Code: tools.CodeNotRun, Message: "not run: the program stopped before"}
	case c.row.Effect == tools.ReadOnly || c.row.Effect == tools.OwnData:
		return &tools.Error{Code: tools.CodeInterrupted, Message: "interrupted: the program stopped while this call ran; it changed nothing"}
	}
	return &tools.Error{Code: tools.CodeOutcomeUnknown, Message: "the program stopped while this call ran; whether it took effect is not known"}
}
