package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// Decision is the user's word on a call that waits for approval. It is bound to the call's row, and so to its arguments: a
// row's arguments never change.
type Decision struct {
	// Call is the row's id.
	Call  string
	Allow bool
	// Always lets the tool run in this session from now on, its calls that wait included; a word on one of these given at the same
	// time goes first.
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
	// Question is the hash of the tool's name and arguments; of a word on an outcome also of the start that it is about.
	Question string
	// Answer is "allow", "deny", "answer" or "edit".
	Answer, Reason string
	AskedAt        time.Time
	DecidedAt      *time.Time
}

// previewLimit bounds what a tool shows before it runs, in bytes.
const previewLimit = 16 << 10

// wordBound is how many words of the user may wait for a run: more than a reply has calls.
const wordBound = 1024

// word is what the user says to a run that stands still: on a call, or to go on.
type word struct {
	Decision
	// goOn is set for a step of the debugger; Call names what it stands before.
	goOn bool
}

// rule applies the policy to the calls of a batch that are still to run: what it forbids does not run, whatever was said or begun
// before; what it asks about waits unless it was approved. waiting says that the user has to be asked first.
func (r *run) rule(from, to int) (waiting bool) {
	for i := from; i < to; i++ {
		c := &r.calls[i]
		if c.ready {
			continue
		}
		open := c.row.Status == CallPending || c.row.Status == CallWaiting
		switch r.s.rule(c.row.Name, c.row.Effect) {
		case RuleDeny:
			if c.approved || !open {
				r.events = append(r.events, r.forbid(c))
			} else {
				c.deny(r.s.whyDenied(c))
			}
		case RuleAsk:
			if open && !c.approved {
				c.row.Status, c.held = CallWaiting, false
				waiting = true
			}
		}
	}
	return waiting
}

// recheck puts the calls that wait, or that were let run, under the policy of now, which may be another one than that which asked:
// for what it forbids no word is taken.
func (r *run) recheck() error {
	var forbidden []trace.Event
	tx := r.s.tx()
	for i := range r.calls {
		c := &r.calls[i]
		if c.ready || c.row.Status != CallWaiting && (c.row.Status != CallPending || !c.approved) {
			continue
		}
		if r.s.rule(c.row.Name, c.row.Effect) == RuleDeny {
			forbidden = append(forbidden, r.forbid(c))
			r.decided(&tx, c, "deny", r.s.whyDenied(c))
		}
	}
	if tx.Events = append(tx.Events, forbidden...); len(tx.Events) == 0 {
		return nil
	}
	return r.commitWord(tx, nil)
}

// forbid keeps a call from running that the user was asked about, let run, or that had been started before a crash. The event tells
// the user.
func (r *run) forbid(c *call) trace.Event {
	why := r.s.whyDenied(c)
	note := trace.NoticeData{Code: "policy_denies", Message: c.row.Name + " does not run, and no word of yours is taken for it", Why: why}
	if c.row.Status == CallStarted && !c.absent {
		note.Message = c.row.Name + " had been started before the program stopped and is not run again"
		c.lost()
		c.result.Error.Message += "; it is not run again: " + why
	} else {
		c.deny(why)
	}
	return r.event(note)
}

// ruleAll applies policy and debugger to the batch; when the user has to be asked by the policy, all questions of the reply
// stand at once.
func (r *run) ruleAll() (waiting bool) {
	if r.rule(r.batch.from, r.batch.to) {
		r.rule(r.batch.to, len(r.calls))
		return true
	}
	return r.hold(r.batch.from, r.batch.to)
}

// asksAt says that the batch from a call on does not start at once: a call of it is asked about, and its tool first for what it would
// do, or the gate may wait.
func (r *run) asksAt(from int) bool {
	if r.s.eng.cfg.Gate != nil {
		return true
	}
	to, b := r.batchEnd(from), r.breaks()
	for i := from; i < to; i++ {
		c := &r.calls[i]
		if c.ready || c.approved || c.row.Status != CallPending && c.row.Status != CallWaiting {
			continue
		}
		if r.s.rule(c.row.Name, c.row.Effect) == RuleAsk || b.stopsAt(c.row.Name) {
			return true
		}
	}
	return false
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

// askEvents tells the questions of the waiting calls, with what their tools say now.
func (r *run) askEvents() []trace.Event {
	for _, c := range r.waitingCalls() {
		c.previewed = false
	}
	return r.askAgain()
}

// askAgain is askEvents with the previews that there are: a tool is asked only about a call that has none yet.
func (r *run) askAgain() []trace.Event {
	r.previews()
	var evs []trace.Event
	all := r.waitingCalls()
	for i, c := range all {
		evs = append(evs, r.event(trace.ApprovalData{
			Phase: "asked", ID: c.row.ID, CallID: c.row.CallID, Tool: c.row.Name, Effect: string(c.row.Effect),
			Arguments: json.RawMessage(c.row.Arguments), Preview: c.preview, Place: i + 1, Of: len(all), Cause: c.cause(),
		}))
	}
	return evs
}

// previews asks the tools of the waiting calls what they would do, all at once: one that takes its time holds up no other one's
// question.
func (r *run) previews() {
	group := clock.NewGroup(r.s.eng.cfg.Clock)
	for _, c := range r.waitingCalls() {
		if !c.previewed {
			group.Go(func() { c.preview, c.previewed = r.previewOf(c), true })
		}
	}
	_ = group.Wait(context.Background()) // the executor bounds each of them
}

// previewOf is what the tool says that it would do; empty when it cannot tell.
func (r *run) previewOf(c *call) string {
	text, bad := r.s.eng.cfg.Executor.Preview(r.ctx, c.tool, tools.Call{
		Key: c.row.ID, SessionID: r.s.id, RunID: r.row.ID, Progress: func(string) {},
	}, json.RawMessage(c.row.Arguments))
	switch {
	case bad == nil:
		return cutPreview(text)
	case bad.Code == tools.CodeInternal || bad.Code == tools.CodeTimeout || bad.Code == tools.CodeInterrupted:
		return "what it would do cannot be shown: " + oneLine(errors.New(bad.Message))
	}
	return "it would fail: " + oneLine(bad)
}

// cutPreview keeps whole lines of a long preview, and says what is left out: nobody allows what they think is all.
func cutPreview(text string) string {
	if len(text) <= previewLimit {
		return text
	}
	kept := strings.ToValidUTF8(text[:previewLimit], "")
	if i := strings.LastIndexByte(kept, '\n'); i > 0 {
		kept = kept[:i+1]
	}
	rest := text[len(kept):]
	return fmt.Sprintf("%s... %d more lines, %d bytes, are not shown here\n", kept, strings.Count(strings.TrimSuffix(rest, "\n"), "\n")+1, len(rest))
}

// askUser waits until every waiting call is decided. Each word is committed when it comes, before anything runs. Where nobody
// can answer the run is left as it is.
func (r *run) askUser() (Input, error) {
	r.standsAsked()
	defer r.setStanding(nil)
	if err := r.recheck(); err != nil {
		return "", err
	}
	if r.s.eng.cfg.Limits.Headless {
		r.releaseHeld()
	}
	for told := false; len(r.waitingCalls()) > 0; {
		w, ok := r.words.TryGet()
		if !ok {
			if !told { // who looks only now sees the questions too that the words which came along left open
				told = true
				r.s.eng.cfg.Bus.Publish(r.askEvents()...)
			}
			if r.s.eng.cfg.Limits.Headless {
				r.left = true
				r.tell(trace.StateData{State: string(r.state), Reason: string(ReasonPaused)})
				return "", nil
			}
			var err error
			if w, err = r.stand(); err != nil {
				return r.interruptedOrLeft(), nil
			}
		}
		if err := r.decide(w); err != nil {
			return "", err
		}
	}
	tx := r.s.tx()
	if err := r.admit(&tx, r.nextCall()); err != nil {
		return r.admitFailed(err)
	}
	if len(r.waitingCalls()) > 0 { // the debugger holds another one of the batch
		return InAsk, r.commitWord(tx, nil)
	}
	if err := r.commitAs(tx, StateExecuting); err != nil {
		return "", err
	}
	if r.reason != ReasonNone {
		return InBudgetUsed, nil
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

// decide commits one word. A word on a call that does not wait, or not any more, changes nothing; nor does one on a call that the
// session's rules have forbidden meanwhile.
func (r *run) decide(w word) error {
	if err := r.recheck(); err != nil {
		return err
	}
	for i := range r.calls {
		c := &r.calls[i]
		if c.ready || c.row.Status != CallWaiting || c.row.ID != w.Call {
			continue
		}
		tx := r.s.tx()
		if w.goOn && c.held && r.s.rule(c.row.Name, c.row.Effect) == RuleAsk {
			c.held = false // the policy of now asks
			tx.Events = r.askEvents()
			return r.commitWord(tx, nil)
		}
		if w.goOn && !c.held {
			return nil // a step of the debugger is no approval
		}
		switch {
		case w.Arguments != "":
			return r.decideEdit(i, w)
		case w.Result != nil:
			c.answerByHand(*w.Result)
			r.decided(&tx, c, "answer", w.Reason)
		case w.Allow && w.Always:
			return r.decideAlways(c.row.Name)
		case w.Allow || w.goOn:
			c.row.Status, c.approved = CallPending, true
			r.decided(&tx, c, "allow", w.Reason)
		default:
			c.deny(w.Reason)
			r.decided(&tx, c, "deny", w.Reason)
		}
		return r.commitWord(tx, nil)
	}
	return nil
}

// commitWord stores what was decided, with a change of the session's settings or nil. Which calls still wait is told before: while it
// is being stored the user may speak on.
func (r *run) commitWord(tx Tx, change func(*settings)) error {
	r.standsAsked()
	return r.commitWith(tx, StateWaitingApproval, change)
}

// decided puts a word on call c into tx, with the call as it is by that word.
func (r *run) decided(tx *Tx, c *call, answer, reason string) {
	tx.Calls = append(tx.Calls, c.row)
	tx.Approvals = append(tx.Approvals, ApprovalRow{
		ID: r.s.eng.cfg.NewID(), RunID: r.row.ID, CallID: c.row.ID, Question: c.question(), Answer: answer, Reason: reason, AskedAt: tx.At, DecidedAt: &tx.At,
	})
	tx.Events = append(tx.Events, r.event(trace.ApprovalData{
		Phase: "decided", ID: c.row.ID, CallID: c.row.CallID, Tool: c.row.Name, Answer: answer, Reason: reason, Cause: c.cause(),
	}))
}

// decideAlways lets a tool run in this session from now on, with all its calls that wait: rule and words are stored together, so
// that no crash finds calls that wait although the tool may run.
func (r *run) decideAlways(tool string) error {
	tx := r.s.tx()
	for _, c := range r.waitingCalls() {
		if c.row.Name == tool {
			c.row.Status, c.approved = CallPending, true
			r.decided(&tx, c, "allow", "")
		}
	}
	for i := range tx.Events {
		if d, ok := tx.Events[i].Data.(trace.ApprovalData); ok {
			d.Always = true
			tx.Events[i].Data = d
		}
	}
	return r.commitWord(tx, ToolRule{Tool: tool, Rule: RuleAuto}.in)
}

// decideEdit puts the call with the user's arguments in the place of call i.
func (r *run) decideEdit(i int, w word) error {
	asked := r.calls[i]
	if !r.edit(i, w.Arguments) {
		return nil // it was checked when it was taken
	}
	r.standsAsked() // from now on the old row takes no word: the preview of the new one may take its time
	tx := r.s.tx()
	old := asked
	old.row = asked.row.replaced(tx.At)
	r.decided(&tx, &old, "edit", w.Reason)
	tx.Calls = append(tx.Calls, r.calls[i].row)
	tx.Events = append(tx.Events, r.askAgain()...)
	if err := r.commitWord(tx, nil); err != nil {
		r.calls[i] = asked // the other one was never stored
		return err
	}
	return nil
}

// decideCalls hands words to the run that waits for them, after those that can be wrong were checked: an error is the user's
// to read, and nothing of the words is taken.
func (s *session) decideCalls(words []Decision) error {
	r := s.running()
	if r == nil {
		return fmt.Errorf("no call of session %s waits for a word: %w", s.id, ErrNotFound)
	}
	return s.giveWords(r, r.standsBefore(), words)
}

// giveWords checks the words on the calls that wait and puts them where the run takes them.
func (s *session) giveWords(r *run, open []CallRow, words []Decision) error {
	at := func(id string) *CallRow {
		for i := range open {
			if open[i].ID == id {
				return &open[i]
			}
		}
		return nil
	}
	for _, d := range words {
		if d.Arguments == "" {
			continue
		}
		c := at(d.Call)
		if c == nil {
			return fmt.Errorf("call %s does not wait any more: %w", d.Call, ErrNotFound)
		}
		if _, bad := s.eng.cfg.Registry.Prepare(c.Name, d.Arguments); bad != nil {
			return bad
		}
	}
	if free := wordBound - r.words.Len(); len(words) > free { // only this actor adds some
		return fmt.Errorf("%d words at once are too many: %d more can wait until the run takes them; none was taken", len(words), free)
	}
	for _, always := range []bool{false, true} { // a word on one call goes before one on all
		for _, d := range words {
			if (d.Allow && d.Always) == always {
				r.words.TryPut(word{Decision: d})
			}
		}
	}
	return nil
}

// restoreApprovals takes up words that were given before a crash.
func (r *run) restoreApprovals(ctx context.Context) error {
	var rows []ApprovalRow
	if mem := r.s.eng.cfg.Memory; mem != nil {
		var err error
		if rows, err = mem.Approvals(ctx, r.row.ID); err != nil {
			return fmt.Errorf("read the approvals of run %s: %w", r.row.ID, err)
		}
	}
	for i := range r.calls {
		c := &r.calls[i]
		c.held = c.row.Status == CallWaiting && r.row.Reason == ReasonBreak
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
