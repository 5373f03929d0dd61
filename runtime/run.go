package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"vitrine/llm"
	"vitrine/runtime/clock"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

// run executes one turn. All of it belongs to its own goroutine but for what mu guards.
type run struct {
	s     *session
	row   RunRow
	state State
	todo  Effect // the effect to perform next

	ctx    context.Context
	cancel context.CancelFunc
	ended  *clock.Latch

	request  []llm.Message
	estimate int    // of the request, schemas included
	reply    reply  // what the model said last
	calls    []call // of the step that is on
	batch    span   // which of them run now
	text     string // partial text of the stream that is on
	events   []trace.Event
	taken    []trace.Event // by the commit that is on
	outdated []CallRow     // rows that edits took the place of and that are not stored as such
	repairs  int
	why      string            // a fold that has to come before the next request
	warned   bool              // that the context fills up
	sent     trace.LLMCallData // what the request that is on had of the one before
	refolded bool              // the provider's word on the context was followed once
	unknown  int               // unknown tools in a row
	judged   int               // calls of the step whose results were judged
	stuck    stuck
	notice   string // for the last result of the step
	// unavailable counts failures in a row for want of a tool's service.
	unavailable map[string]int
	used        map[string]bool // tools that succeeded in this run
	rejected    string          // why the answer did not pass its checks
	misshapen   bool            // an answer did not have the schema
	// rejections counts answers that went back; answerN is the stored answer that the run may end with.
	rejections int
	answerN    int64
	failure    *trace.ErrorData
	reason     Reason
	record     *StepRecord
	before     *trace.StepDone // the last step that had calls
	wall       *wall
	shared     *account // what its budget has to pay for
	left       bool     // stopped where it was, to be resumed
	broken     error    // the store would not take it; what is stored is the truth

	built time.Duration // how long the request took to make
	fresh int           // messages of the request that the one before did not have
	pass  bool          // the next model call goes by the debugger
	words *clock.Queue[word]

	mu      sync.Mutex
	stopped Reason
	expired bool              // the wall time is used up
	stands  *standing         // where it stands still for the user; nil when it does not
	stops   map[string]func() // ends one call that runs, by the row's id
	watcher *clock.Queue[StepRecord]
}

// reply is one whole model reply.
type reply struct {
	text     string
	reasoned bool // it came with reasoning
	done     llm.Done
	stored   bool // its message is committed
}

// call is one tool call of the current step.
type call struct {
	row      CallRow
	tool     tools.Tool
	ready    bool // its result is known
	result   tools.Result
	encoded  json.RawMessage // the result, see wire
	shown    tools.Result    // what the model gets of it, once it is saved
	sent     json.RawMessage // shown, encoded; nil when an earlier process saved it
	output   tools.Output
	took     time.Duration
	approved bool // the user's word is stored
	held     bool // it waits because of the debugger, not of the policy
	before   bool // started by an earlier process, and nothing is known of it yet
	absent   bool // its probe says that it did not take effect
	tried    bool // its tool was called; by an earlier process too, where the user said to run it again
	saved    bool // the call's row holds the result
	message  bool // the tool message is stored
	// preview is what the tool said that the call would do, once previewed is set; while the user was asked last.
	preview   string
	previewed bool
	// kept is what the last commit that went through left: of status and start as long as there is no result.
	kept struct {
		saved, message bool
		status         CallStatus
		started        *time.Time
	}
}

// span is a range of calls, to exclusive.
type span struct{ from, to int }

func newRun(s *session, row RunRow) *run {
	r := &run{
		s: s, row: row, state: row.State, ended: clock.NewLatch(s.eng.cfg.Clock),
		used: map[string]bool{}, unavailable: map[string]int{}, words: clock.NewQueue[word](s.eng.cfg.Clock, wordBound),
	}
	r.shared = s.accountOf(row)
	r.wall = &wall{clk: s.eng.cfg.Clock, limit: row.Budget.Deadline, used: row.Usage.Active, expire: r.expire}
	r.ctx, r.cancel = s.eng.cfg.Clock.WithCancel(context.Background())
	return r
}

// expire ends the run because its wall time is used up.
func (r *run) expire() {
	r.mu.Lock()
	r.expired = r.stopped == ReasonNone
	r.mu.Unlock()
	r.cancel()
}

// stop ends the run: the stream, the tools, every wait. The first reason counts, but leaving the program to resume later
// gives way to nothing.
func (r *run) stop(reason Reason) {
	r.mu.Lock()
	if r.stopped == ReasonNone {
		r.stopped = reason
	}
	r.mu.Unlock()
	r.cancel()
}

func (r *run) stopReason() Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// interrupted is the input of a run whose context has ended.
func (r *run) interrupted() Input {
	r.mu.Lock()
	late := r.expired && r.stopped == ReasonNone
	r.mu.Unlock()
	if late {
		r.reason = ReasonDeadline
		return InBudgetUsed
	}
	return InCancel
}

// drive runs steps until the run is over.
func (r *run) drive(in Input) {
	defer r.cancel()
	r.wall.start()
	defer r.wall.stop()
	err := r.advance(in)
	for err == nil && !r.over() {
		var rec StepRecord
		if rec, err = r.Step(); rec.State != "" && len(rec.Calls) > 0 {
			r.before = rec.done()
		}
		r.recorded(rec)
	}
	switch {
	case r.left:
	case errors.Is(err, ErrNotStored) || errors.Is(err, ErrFenced) || errors.Is(err, ErrClosed):
		r.broken = err
		r.lost(err)
	case err != nil:
		r.broken = r.collapse(err)
	}
}

// over says that nothing is left to do.
func (r *run) over() bool { return r.left || r.todo == "" }

// advance moves the state by the table and tells about it.
func (r *run) advance(in Input) error {
	next, effects, err := r.s.eng.moves.next(r.state, in)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.row.ID, err)
	}
	r.state = next
	r.todo = ""
	if len(effects) > 0 {
		r.todo = effects[0]
	}
	r.tell(trace.StateData{State: string(next), Reason: string(r.reason)})
	return nil
}

// perform does one effect and gives what came of it.
func (r *run) perform(do Effect) (Input, error) {
	if do != DoClose && r.ctx.Err() != nil {
		if r.stopReason() == ReasonPaused {
			r.left = true
			return "", r.keepKnown()
		}
		return r.interrupted(), nil
	}
	switch do {
	case DoBuild:
		return r.build()
	case DoCallModel:
		return r.callModel()
	case DoRepair:
		return r.repair()
	case DoValidate:
		return r.validate()
	case DoExecute:
		return r.execute()
	case DoObserve:
		return r.observe(), nil
	case DoCheckpoint:
		return r.checkpoint()
	case DoReconcile:
		return r.reconcile()
	case DoAsk:
		return r.askUser()
	case DoVerify:
		return r.verify()
	case DoClose:
		return "", r.close()
	}
	return "", fmt.Errorf("run %s: nothing performs effect %s", r.row.ID, do)
}

// event makes an event of this run.
func (r *run) event(data trace.Data) trace.Event {
	ev := r.s.event(data)
	ev.RunID, ev.Turn, ev.Step = r.row.ID, r.row.Turn, r.row.Step
	return ev
}

// tell publishes a transient event of this run.
func (r *run) tell(data trace.Data) { r.s.eng.cfg.Bus.Publish(r.event(data)) }

// build checks the budgets and makes the request.
func (r *run) build() (Input, error) {
	if b := r.row.Budget.Steps; b > 0 && r.use().Steps >= b {
		r.reason = ReasonSteps
	} else {
		r.reason = r.spent()
	}
	if r.reason != ReasonNone {
		return InBudgetUsed, nil
	}
	began := r.s.eng.cfg.Clock.Now()
	ok, err := r.makeRoom()
	switch {
	case err != nil:
		return "", err
	case r.ctx.Err() != nil:
		return r.interruptedOrLeft(), nil
	case !ok:
		r.reason = ReasonContext
		return InContextFull, nil
	}
	window := 0
	r.fresh = 0
	for i := range r.s.window {
		m := &r.s.window[i]
		window += m.Tokens
		if m.N > r.s.sentTo {
			r.fresh++
		}
	}
	r.request = r.s.messages()
	r.estimate = r.s.eng.fixed + r.s.memoryTokens + window
	r.s.sentTo, r.s.sentMemory = lastN(r.s.window), r.s.memory
	r.row.Step++
	r.row.Usage.Steps++
	r.calls, r.judged, r.text, r.notice = nil, 0, "", ""
	r.reply = reply{}
	if r.record != nil {
		r.record.Index = r.row.Step
	}
	m := r.s.measure()
	r.tell(trace.StateData{State: string(r.state), Meter: &m})
	r.warnFull(m)
	if m.Used()+r.s.reserve() > r.s.eng.cfg.Limits.ContextTokens {
		r.reason = ReasonContext
		r.row.Step--
		r.row.Usage.Steps--
		return InContextFull, nil
	}
	r.built = r.s.eng.cfg.Clock.Now().Sub(began)
	return InBuilt, nil
}

// spent is the cap on tokens, cost or wall time that is reached; none otherwise.
func (r *run) spent() Reason {
	b, u := r.row.Budget, r.use()
	switch {
	case b.Tokens > 0 && u.Prompt+u.Completion >= b.Tokens:
		return ReasonTokens
	case b.Cost != nil && u.Cost != nil && *u.Cost >= *b.Cost:
		return ReasonCost
	case b.Deadline > 0 && r.active() >= b.Deadline:
		return ReasonDeadline
	}
	return ReasonNone
}

func lastN(window []MessageRow) int64 {
	if len(window) == 0 {
		return 0
	}
	return window[len(window)-1].N
}

// wireMessage gives a stored message as the prompt holds it.
func wireMessage(m MessageRow) llm.Message {
	content := m.Content
	if m.PromptContent != nil {
		content = *m.PromptContent
	}
	return llm.Message{
		Role: m.Role, Kind: m.Kind, Content: content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, Name: m.ToolName, Extra: m.Extra,
	}
}

// newMessage makes a message of this run with its estimate.
func (r *run) newMessage(kind llm.Kind, role llm.Role, content string) MessageRow {
	m := MessageRow{
		ID: r.s.eng.cfg.NewID(), SessionID: r.s.id, Kind: kind, Role: role, Content: content, RunID: r.row.ID, Step: r.row.Step,
		CreatedAt: r.s.eng.cfg.Clock.Now(),
	}
	m.Tokens = prompt.EstimateMessage(llm.Message{Content: content})
	return m
}

// active is how long the run has been executed, by this process and those before it.
func (r *run) active() time.Duration { return r.wall.elapsed() }

// takeEvents gives the events that wait for the next commit.
func (r *run) takeEvents() []trace.Event {
	r.taken, r.events = r.events, nil
	return slices.Clone(r.taken)
}

// repair stores a request to do better, once.
func (r *run) repair() (Input, error) {
	if r.rejected != "" {
		return r.sendBack()
	}
	if r.repairs >= 1 {
		r.reason = ReasonEmpty
		r.failure = emptyFailure(r.reply)
		return InModelFailed, nil
	}
	r.repairs++
	m := r.newMessage(llm.KindNotice, llm.RoleUser, "[RUNTIME] Your last reply was empty. Answer the user, or call a tool.")
	tx := r.s.tx()
	tx.Messages = []MessageRow{m}
	tx.Events = r.takeEvents()
	if err := r.commit(tx); err != nil {
		return "", err
	}
	r.s.sent.moved(breakRepair)
	return InRepaired, nil
}

// lost tells that the run could not be stored; whatever is stored stays the truth.
func (r *run) lost(err error) {
	r.tell(trace.ErrorData{Message: "the turn could not be stored", Why: oneLine(err), Code: "not_saved",
		Todo: "what was stored before is safe; send the message again when the fault is gone"})
	r.tell(trace.StateData{State: string(StateFailed), Reason: string(ReasonStore)})
}

// collapse ends a run after a defect of our own, as far as the store lets it.
func (r *run) collapse(err error) error {
	var p *PanicError
	if errors.As(err, &p) && r.s.eng.cfg.OnPanic != nil {
		r.s.eng.cfg.OnPanic(p)
	}
	r.reason = ReasonInternal
	r.failure = &trace.ErrorData{Message: "the turn failed inside the program", Why: oneLine(err), Code: "internal",
		Todo: "the session is intact; /retry asks again"}
	if !r.state.Terminal() {
		if moveErr := r.advance(InBroken); moveErr != nil {
			return errors.Join(err, moveErr)
		}
	}
	if closeErr := r.close(); closeErr != nil {
		r.lost(closeErr)
		return errors.Join(err, closeErr)
	}
	return nil
}

// emptyObject stands for arguments that were not executed.
var emptyObject = json.RawMessage(`{}`)
