package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// The step debugger: where a run stands still for the developer, and what they do then. A call that it holds is stored as one
// that waits for the user, so that it stands there again after a restart. Before a model call nothing of it has happened yet;
// that the run stands there is stored for other processes, which follow it.

// Break says where the runs of a session stand still, so that a developer can look at what is sent or run next. Runs without a
// screen do not stop.
type Break struct {
	// Next stops before the next model call or tool call, whichever comes first.
	Next bool `json:"next,omitempty"`
	// Model stops before the next model call.
	Model bool `json:"model,omitempty"`
	// Tool stops before the next call of that tool.
	Tool string `json:"tool,omitempty"`
}

// On says that there is such a place.
func (b Break) On() bool { return b.Next || b.Model || b.Tool != "" }

// stopsAt says that calls of the tool are held.
func (b Break) stopsAt(tool string) bool { return b.Next || b.Tool != "" && b.Tool == tool }

// name is how an event tells it.
func (b Break) name() string {
	switch {
	case b.Next:
		return "next"
	case b.Model:
		return "model"
	}
	return b.Tool
}

// Step lets a run go on that stands still.
type Step struct {
	// Call is the row's id of the call that it stands before; empty is a model call.
	Call string
	// Then is where it stands still next.
	Then Break
}

// breaks is where the run stands still; nowhere when nobody looks.
func (r *run) breaks() Break {
	if r.s.eng.cfg.Limits.Headless {
		return Break{}
	}
	return r.s.settings().Break
}

// hold makes the first call of a batch that the debugger stops at wait. It says whether one waits.
func (r *run) hold(from, to int) bool {
	b := r.breaks()
	if !b.Next && b.Tool == "" {
		return false
	}
	for i := from; i < to; i++ {
		c := &r.calls[i]
		if c.ready || c.approved || c.row.Status != CallPending && c.row.Status != CallWaiting || !b.stopsAt(c.row.Name) {
			continue
		}
		c.row.Status, c.held = CallWaiting, true
		return true
	}
	return false
}

// cause says who stopped a call that waits: the debugger, or the policy.
func (c *call) cause() string {
	if c.held {
		return "break"
	}
	return ""
}

// heldOnly says that calls wait, and all of them because of the debugger.
func (r *run) heldOnly() bool {
	waiting := r.waitingCalls()
	return len(waiting) > 0 && !slices.ContainsFunc(waiting, func(c *call) bool { return !c.held })
}

// releaseHeld lets calls go that only the debugger held; one that the policy of now asks about waits on.
func (r *run) releaseHeld() {
	for _, c := range r.waitingCalls() {
		if c.held {
			c.held = false
			if r.s.rule(c.row.Name, c.row.Effect) != RuleAsk {
				c.row.Status, c.approved = CallPending, true
			}
		}
	}
}

// waitingRows gives the rows of the calls that wait.
func (r *run) waitingRows() []CallRow {
	var rows []CallRow
	for _, c := range r.waitingCalls() {
		rows = append(rows, c.row)
	}
	return rows
}

// standing is where a run stands still for the user, and what it shows meanwhile.
type standing struct {
	calls []CallRow
	pause *trace.Pause
	view  ContextView
	// superseded says that a new input ends the run: the policy asked, and the user said something else.
	superseded bool
	since      time.Time
}

// seenAfter is how long a question has to stand until an input is taken for what the user says in place of an answer. One that was
// on its way when the question came is queued.
const seenAfter = 500 * time.Millisecond

// stand waits for the user's word; the time until then is not the run's.
func (r *run) stand() (word, error) {
	r.wall.stop()
	defer r.wall.start()
	return r.words.Get(r.ctx)
}

func (r *run) setStanding(at *standing) {
	r.mu.Lock()
	r.stands = at
	r.mu.Unlock()
}

// standsAsked tells which calls wait, as they are now: also while the word on another one is being stored, which may take long.
func (r *run) standsAsked() {
	at := &standing{calls: r.waitingRows(), since: r.s.eng.cfg.Clock.Now()}
	if len(at.calls) == 0 {
		r.setStanding(nil)
		return
	}
	for _, c := range r.waitingCalls() {
		at.superseded = at.superseded || !c.held
	}
	if was := r.standsAt(); was != nil {
		at.view = was.view
		if was.superseded {
			at.since = was.since // they were asked together
		}
	} else {
		at.view = r.s.context()
	}
	r.setStanding(at)
}

// superseded says that an input of a moment ends the run: the policy asked, and the user says something else.
func (r *run) superseded(said time.Time) bool {
	at := r.standsAt()
	return at != nil && at.superseded && said.Sub(at.since) >= seenAfter
}

// standsAt is where the run stands still now; nil when it does not.
func (r *run) standsAt() *standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stands
}

// standsBefore gives the calls that wait for the user.
func (r *run) standsBefore() []CallRow {
	if at := r.standsAt(); at != nil {
		return at.calls
	}
	return nil
}

// pauseModel stands still before a model call where the debugger says so. It gives an input when the run ended meanwhile.
func (r *run) pauseModel() (Input, error) {
	if r.pass {
		r.pass = false
		return "", nil
	}
	if b := r.breaks(); !b.Next && !b.Model {
		return "", nil
	}
	pause := &trace.Pause{Step: r.row.Step, Model: r.row.Versions.Model, Messages: len(r.request), New: r.fresh, Tokens: r.s.tokens(r.estimate), Last: r.before}
	r.setStanding(&standing{pause: pause, view: r.s.context()})
	defer r.setStanding(nil)
	r.tell(trace.StateData{State: string(r.state), Reason: string(ReasonPaused), Pause: pause})
	if err := r.storePause(ReasonBreak); err != nil {
		return "", err
	}
	for {
		w, err := r.stand()
		if err != nil {
			r.untake()
			return r.interruptedOrLeft(), nil
		}
		if w.goOn && w.Call == "" {
			r.tell(trace.StateData{State: string(r.state)})
			return "", r.storePause(ReasonNone)
		}
	}
}

// untake takes back that the step which is about to begin was taken.
func (r *run) untake() {
	r.row.Step--
	r.row.Usage.Steps--
}

// storePause stores that the run stands still before a model call, or none that it does not any more. The step of that call is not
// taken yet.
func (r *run) storePause(reason Reason) error {
	taken, steps := r.row.Step, r.row.Usage.Steps
	r.untake()
	r.reason = reason
	err := r.commit(r.s.tx())
	r.reason, r.row.Step, r.row.Usage.Steps = ReasonNone, taken, steps
	return err
}

// StandsBeforeModel says that the debugger holds the run before a model call, in the process that works on it.
func (r RunRow) StandsBeforeModel() bool {
	return r.State == StateWaitingModel && r.Reason == ReasonBreak
}

// Pause is what a run stands before that has that many messages; it is not known how many tokens they are.
func (r RunRow) Pause(messages int) *trace.Pause {
	return &trace.Pause{Step: r.Step + 1, Model: r.Versions.Model, Messages: messages}
}

// setBreak says where the session's runs stand still from now on.
func (s *session) setBreak(b Break) error {
	if b.Tool != "" {
		if _, unknown := s.eng.cfg.Registry.Get(b.Tool); unknown != nil {
			return unknown
		}
	}
	if s.settings().Break == b {
		return nil
	}
	tx := s.tx()
	tx.Events = []trace.Event{s.event(trace.SessionData{Action: "break", Title: b.name(), Tool: b.Tool})}
	_, err := s.commitSettings(tx, func(v *settings) { v.Break = b })
	return err
}

// step lets the run go on that stands still.
func (s *session) step(st Step) error {
	r := s.running()
	if r == nil || r.standsAt() == nil {
		return fmt.Errorf("no run of session %s stands still: %w", s.id, ErrNotFound)
	}
	if err := s.setBreak(st.Then); err != nil {
		return err
	}
	if !r.words.TryPut(word{Decision: Decision{Call: st.Call}, goOn: true}) {
		return errors.New("the run has too many words to take first")
	}
	return nil
}

// Step lets a run that stands still go on to the end of its step, one model call and the tool calls that it asks for, and gives
// the record of it. Then the run stands before the next model call, or is over, which the record's state tells. It waits for
// the user where a call needs their word. ErrNotFound when no run of the session stands still.
func (e *Engine) Step(ctx context.Context, sessionID string) (StepRecord, error) {
	s, err := e.find(sessionID)
	if err != nil {
		return StepRecord{}, err
	}
	records := clock.NewQueue[StepRecord](e.cfg.Clock, 1)
	err = s.do(ctx, func() error {
		r := s.running()
		if r == nil {
			return fmt.Errorf("no run of session %s stands still: %w", s.id, ErrNotFound)
		}
		st := Step{Then: Break{Model: true}}
		if calls := r.standsBefore(); len(calls) > 0 {
			st.Call = calls[0].ID
		}
		r.watch(records)
		err := s.step(st)
		if err != nil {
			r.watch(nil)
		}
		return err
	})
	if err != nil {
		return StepRecord{}, err
	}
	rec, err := records.Get(ctx)
	if err != nil {
		return StepRecord{}, fmt.Errorf("wait for the step of session %s: %w", sessionID, err)
	}
	return rec, nil
}

// watch tells records of the step that is on, when it ends.
func (r *run) watch(records *clock.Queue[StepRecord]) {
	r.mu.Lock()
	r.watcher = records
	r.mu.Unlock()
}

// recorded hands the record of a step that has ended to who waits for it.
func (r *run) recorded(rec StepRecord) {
	r.mu.Lock()
	to := r.watcher
	r.watcher = nil
	r.mu.Unlock()
	if to != nil {
		to.TryPut(rec)
	}
}

// pauseOf is what an unfinished run of an earlier process stands before; nil when the debugger does not stop there.
func (s *session) pauseOf(row RunRow) *trace.Pause {
	if b := s.settings().Break; !b.Next && !b.Model || row.State != StateWaitingModel && row.State != StateCreated {
		return nil
	}
	p := row.Pause(len(s.messages()))
	p.Tokens = s.measure().Used()
	return p
}

// edit puts another row in the place of call i, with the user's arguments; it waits and is asked about by itself. Nothing
// changes where the tool refuses them.
func (r *run) edit(i int, arguments string) bool {
	old := r.calls[i]
	prepared, bad := r.s.eng.cfg.Registry.Prepare(old.row.Name, arguments)
	if bad != nil {
		return false
	}
	row := old.row
	row.ID, row.Reply = r.s.eng.cfg.NewID(), old.row.Reply+1
	row.Arguments = string(prepared.Args)
	if old.row.Reply == 0 && row.RawArguments == "" {
		row.RawArguments = old.row.Arguments // what the model wrote
	}
	c := call{row: row, tool: prepared.Tool, held: old.held}
	c.kept.status = row.Status
	r.calls[i] = c
	return true
}

// replaced is the row of a call after the user's edit took its place.
func (row CallRow) replaced(now time.Time) CallRow {
	row.Status, row.FinishedAt = CallNotRun, &now
	row.Result = tools.EncodeResult(tools.ErrorResult(&tools.Error{Code: tools.CodeNotRun, Message: "not run: the user changed the arguments"}))
	return row
}

// Notices that tell the model what the user did with a call.
const (
	noticeEdited   = "The user changed the arguments of this call before it ran: "
	noticeAnswered = "The user gave this result; the tool did not run."
)

// answerByHand takes the user's own result. It is not stored as finished: that is told with the tool message.
func (c *call) answerByHand(text string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var data any = text
	if json.Valid([]byte(text)) {
		data = json.RawMessage(text)
	}
	res := tools.NewResult(tools.Output{Data: data}, nil)
	res.Notice = noticeAnswered
	c.answer(res, CallDone)
	c.output.Summary = "answered by you"
	c.row.Result = tools.EncodeResult(res)
}

// register keeps how to stop one call that runs.
func (r *run) register(id string, stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stops == nil {
		r.stops = map[string]func(){}
	}
	if stop == nil {
		delete(r.stops, id)
		return
	}
	r.stops[id] = stop
}

// stopCall stops one call that runs; the others of its batch go on.
func (s *session) stopCall(id string) error {
	if r := s.running(); r != nil {
		r.mu.Lock()
		stop := r.stops[id]
		r.mu.Unlock()
		if stop != nil {
			stop()
			return nil
		}
	}
	return fmt.Errorf("call %s does not run: %w", id, ErrNotFound)
}
