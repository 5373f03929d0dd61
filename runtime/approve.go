package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"vitrine/tools"
	"vitrine/trace"
)

// Decision is the user's word on a call that waits for approval. It is bound to the call's row, and so to its arguments: a
// row's arguments never change.
type Decision struct {
	// Call is the row's id.
	Call  string
	Allow bool
	// Always lets the tool run in this session from now on.
	Always bool
	// Reason of a denial goes to the model.
	Reason string
	// Arguments, one JSON object, take the place of the call's: it becomes another row, that is asked about again. What the
	// tool's schema refuses is an error, and nothing changes.
	Arguments string
	// Result is the user's own answer in the tool's place, which does not run: JSON, or any text.
	Result *string
}

// ApprovalRow is one question with its answer, as stored.
type ApprovalRow struct {
	ID, RunID, CallID string
	// Question is the hash of the tool's name and arguments.
	Question string
	// Answer is "", "allow" or "deny".
	Answer, Reason string
	AskedAt        time.Time
	DecidedAt      *time.Time
}

// previewLimit bounds what a tool shows before it runs, in bytes.
const previewLimit = 16 << 10

// decisionBound is how many decisions may wait for a run.
const decisionBound = 64

// rule applies the policy to the calls of a batch that are not decided yet. waiting says that the user has to be asked first.
func (r *run) rule(from, to int) (waiting bool) {
	for i := from; i < to; i++ {
		c := &r.calls[i]
		if c.ready || c.approved || c.row.Status != CallPending && c.row.Status != CallWaiting {
			continue
		}
		switch r.s.rule(c.row.Name, c.row.Effect) {
		case RuleDeny:
			c.deny("the configuration forbids this tool")
		case RuleAsk:
			c.row.Status = CallWaiting
			waiting = true
		}
	}
	return waiting
}

func (c *call) deny(reason string) {
	if reason == "" {
		reason = "no reason given"
	}
	c.answer(tools.ErrorResult(&tools.Error{Code: tools.CodeDenied, Message: "denied, not run: " + reason}), CallDenied)
}

// question binds an approval to what would run.
func (c *call) question() string { return digest(c.row.Name, c.row.Arguments) }

// waitingCalls gives the calls that wait for the user's word.
func (r *run) waitingCalls() []*call {
	var out []*call
	for i := range r.calls {
		if c := &r.calls[i]; !c.ready && c.row.Status == CallWaiting {
			out = append(out, c)
		}
	}
	return out
}

// askEvents tells the questions of the waiting calls.
func (r *run) askEvents() []trace.Event {
	var evs []trace.Event
	all := r.waitingCalls()
	for i, c := range all {
		evs = append(evs, r.event(trace.ApprovalData{
			Phase: "asked", ID: c.row.ID, CallID: c.row.CallID, Tool: c.row.Name, Effect: string(c.row.Effect),
			Arguments: json.RawMessage(c.row.Arguments), Preview: r.preview(c), Place: i + 1, Of: len(all),
		}))
	}
	return evs
}

// preview is what the tool says that it would do; empty when it cannot tell.
func (r *run) preview(c *call) string {
	p, ok := c.tool.(tools.Previewer)
	if !ok {
		return ""
	}
	text, err := p.Preview(r.ctx, tools.Call{Key: c.row.ID, SessionID: r.s.id, RunID: r.row.ID, Progress: func(string) {}}, json.RawMessage(c.row.Arguments))
	if err != nil {
		return "it would fail: " + oneLine(err)
	}
	if len(text) > previewLimit {
		text = text[:previewLimit]
	}
	return text
}

// askUser waits until every waiting call is decided. Each word is committed when it comes, before anything runs. Where nobody
// can answer the run is left as it is.
func (r *run) askUser() (Input, error) {
	for _, ev := range r.askEvents() {
		r.s.eng.cfg.Bus.Publish(ev) // who looks only now sees the question too
	}
	for len(r.waitingCalls()) > 0 {
		d, ok := r.decisions.TryGet()
		if !ok {
			if r.s.eng.cfg.Limits.Headless {
				r.left = true
				return "", nil
			}
			r.setWaiting(true)
			var err error
			d, err = r.decisions.Get(r.ctx)
			r.setWaiting(false)
			if err != nil {
				return r.interruptedOrLeft(), nil
			}
		}
		if err := r.decide(d); err != nil {
			return "", err
		}
	}
	tx := r.s.tx()
	if err := r.admit(&tx, r.nextCall()); err != nil {
		return r.admitFailed(err)
	}
	if err := r.commitAs(tx, StateExecuting); err != nil {
		return "", err
	}
	return InDecided, nil
}

// nextCall is the first call of the step without a message: there the batch begins.
func (r *run) nextCall() int {
	i := 0
	for i < len(r.calls) && r.calls[i].message {
		i++
	}
	return i
}

// decide commits one word. A word on a call that does not wait, or not any more, changes nothing.
func (r *run) decide(d Decision) error {
	for _, c := range r.waitingCalls() {
		if c.row.ID != d.Call {
			continue
		}
		now := r.s.eng.cfg.Clock.Now()
		row := ApprovalRow{ID: r.s.eng.cfg.NewID(), RunID: r.row.ID, CallID: c.row.ID, Question: c.question(), Answer: "deny", Reason: d.Reason, AskedAt: now, DecidedAt: &now}
		if d.Allow {
			row.Answer = "allow"
			c.row.Status, c.approved = CallPending, true
		} else {
			c.deny(d.Reason)
		}
		tx := r.s.tx()
		tx.Calls, tx.Approvals = []CallRow{c.row}, []ApprovalRow{row}
		tx.Events = []trace.Event{r.event(trace.ApprovalData{
			Phase: "decided", ID: c.row.ID, CallID: c.row.CallID, Tool: c.row.Name, Answer: row.Answer, Reason: d.Reason,
		})}
		return r.commitAs(tx, StateWaitingApproval)
	}
	return nil
}

// setWaiting tells the actor that the run stands still for the user.
func (r *run) setWaiting(on bool) {
	r.mu.Lock()
	r.waits = on
	r.mu.Unlock()
}

// isWaiting says that the run stands still for the user's word.
func (r *run) isWaiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waits
}

// decideCalls hands words to the run that waits for them.
func (s *session) decideCalls(words []Decision) error {
	r := s.running()
	if r == nil {
		return fmt.Errorf("no call of session %s waits for a word: %w", s.id, ErrNotFound)
	}
	for _, d := range words {
		if d.Allow && d.Always {
			if err := s.allowTool(r, d.Call); err != nil {
				return err
			}
		}
		r.decisions.TryPut(d)
	}
	return nil
}

// allowTool lets the tool of a call run in this session from now on.
func (s *session) allowTool(_ *run, call string) error {
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	_, calls, err := s.eng.cfg.Store.Unfinished(ctx, s.id)
	if err != nil {
		return fmt.Errorf("read the calls of session %s: %w", s.id, err)
	}
	for _, c := range calls {
		if c.ID == call {
			return s.setRule(ToolRule{Tool: c.Name, Rule: RuleAuto})
		}
	}
	return fmt.Errorf("call %s: %w", call, ErrNotFound)
}

// restoreApprovals takes up words that were given before a crash.
func (r *run) restoreApprovals(ctx context.Context) error {
	mem := r.s.eng.cfg.Memory
	if mem == nil {
		return nil
	}
	rows, err := mem.Approvals(ctx, r.row.ID)
	if err != nil {
		return fmt.Errorf("read the approvals of run %s: %w", r.row.ID, err)
	}
	for i := range r.calls {
		c := &r.calls[i]
		for _, a := range rows {
			if a.CallID == c.row.ID && a.Answer == "allow" && a.Question == c.question() && c.row.Status == CallPending {
				c.approved = true
			}
			if a.CallID == c.row.ID && a.Answer == "deny" && c.row.Status == CallDenied && !c.saved {
				c.deny(a.Reason)
			}
		}
	}
	return nil
}
