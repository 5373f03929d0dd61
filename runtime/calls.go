package runtime

import (
	"encoding/json"
	"fmt"
	"strings"

	"vitrine/llm"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

// unavailableMost is how often in a row a tool may fail for want of its service before it is switched off for the run.
const unavailableMost = 3

// unknownToolsMost is how many unknown tools in a row end a run.
const unknownToolsMost = 3

// validate decides on every call of the reply, then stores the reply with its calls: those of the first batch as started,
// the rest as pending.
func (r *run) validate() (Input, error) {
	r.calls = make([]call, 0, len(r.reply.done.ToolCalls))
	msg := r.newMessage(llm.KindAssistant, llm.RoleAssistant, r.reply.text)
	msg.Extra = r.reply.done.Extra
	for i, tc := range r.reply.done.ToolCalls {
		tc.ID = uniqueID(tc.ID, r.row.Turn, r.row.Step, i, r.usesCallID)
		c := r.prepare(i, tc)
		r.calls = append(r.calls, c)
		msg.ToolCalls = append(msg.ToolCalls, llm.ToolCall{ID: tc.ID, Name: c.row.Name, Arguments: c.row.Arguments, Extra: tc.Extra})
	}
	msg.Tokens = prompt.EstimateMessage(llm.Message{Content: msg.Content, ToolCalls: msg.ToolCalls})
	if r.record != nil {
		r.record.Commentary = r.reply.text
	}
	tx := r.s.tx()
	tx.Messages = []MessageRow{msg}
	tx.Events = r.takeEvents()
	if err := r.admit(&tx, 0); err != nil {
		return r.admitFailed(err)
	}
	tx.Calls = nil
	for i := range r.calls {
		tx.Calls = append(tx.Calls, r.calls[i].row)
	}
	waiting := len(r.waitingCalls()) > 0
	state := StateExecuting
	if waiting {
		state = StateWaitingApproval
	}
	if err := r.commitAs(tx, state); err != nil {
		r.calls = nil // of a message that is not stored
		return "", err
	}
	r.reply.stored, r.text = true, ""
	switch {
	case r.reason != ReasonNone:
		return InBudgetUsed, nil
	case waiting:
		return InAsk, nil
	}
	return InValidated, nil
}

// admitFailed tells a cancelled gate from a broken one.
func (r *run) admitFailed(err error) (Input, error) {
	if r.ctx.Err() != nil {
		return r.interruptedOrLeft(), nil
	}
	return "", fmt.Errorf("run %s: gate before a tool: %w", r.row.ID, err)
}

// usesCallID says that a call of the window, or one of this reply that was prepared already, has the wire id.
func (r *run) usesCallID(id string) bool {
	for i := range r.calls {
		if r.calls[i].row.CallID == id {
			return true
		}
	}
	for i := range r.s.window {
		for j := range r.s.window[i].ToolCalls {
			if r.s.window[i].ToolCalls[j].ID == id {
				return true
			}
		}
	}
	return false
}

// uniqueID keeps the provider's id unless it is empty or used: some servers count from zero in every reply.
func uniqueID(id string, turn, step, ord int, used func(string) bool) string {
	if id == "" {
		id = "call"
	}
	out := id
	for n := 0; used(out); n++ {
		out = fmt.Sprintf("%s_%d_%d_%d", id, turn, step, ord)
		if n > 0 {
			out = fmt.Sprintf("%s_%d", out, n)
		}
	}
	return out
}

// prepare checks one call. What cannot run is answered at once.
func (r *run) prepare(ord int, tc llm.ToolCall) call {
	c := call{row: CallRow{
		ID: r.s.eng.cfg.NewID(), RunID: r.row.ID, SessionID: r.s.id, Step: r.row.Step, Ord: ord, CallID: tc.ID,
		Status: CallPending, SideEffect: tools.EffectNone,
	}}
	c.kept.status = CallPending
	raw := strings.ToValidUTF8(tc.Arguments, "\uFFFD")
	prepared, bad := r.s.eng.cfg.Registry.Prepare(tc.Name, tc.Arguments)
	if fin := r.reply.done.Finish; fin == llm.FinishLength || fin == llm.FinishContentFilter {
		if bad == nil || bad.Code != tools.CodeUnknownTool {
			bad = &tools.Error{Code: tools.CodeTruncatedArguments, Field: "arguments", Expected: "one complete JSON object",
				Message: fmt.Sprintf("the reply was cut (finish reason %s), so this call was not run", fin)}
		}
	}
	c.tool = prepared.Tool
	if c.tool != nil {
		c.row.Name, c.row.Effect = c.tool.Name(), c.tool.Effect()
	} else {
		c.row.Name, c.row.Effect = wireName(tc.Name), tools.ReadOnly
	}
	if bad == nil && r.unavailable[c.row.Name] >= unavailableMost {
		bad = &tools.Error{Code: tools.CodeUnavailable, Message: fmt.Sprintf(
			"%s failed %d times in a row because its service is not there; it is switched off for this run: do without it", c.row.Name, unavailableMost)}
	}
	if bad != nil {
		res := tools.ErrorResult(bad)
		c.answer(res, CallNotRun)
		c.row.Result = tools.EncodeResult(res) // so that a restart does not take it for one to run
		c.row.Arguments, c.row.RawArguments = string(emptyObject), raw
		return c
	}
	c.row.Arguments = string(prepared.Args)
	if raw != c.row.Arguments {
		c.row.RawArguments = raw
	}
	return c
}

// wireName makes a name that every server takes back from one that no tool has.
func wireName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if b.Len() >= 64 {
			break
		}
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()
}

// answer gives a call its result.
func (c *call) answer(res tools.Result, status CallStatus) {
	c.ready, c.result, c.encoded = true, res, nil
	c.row.Status = status
}

// wire is the whole result as the model would get it. It is made once: who changes the result takes encoded away.
func (c *call) wire() json.RawMessage {
	if c.encoded == nil {
		c.encoded = tools.EncodeResult(c.result)
	}
	return c.encoded
}

// batchEnd is where the calls that run together with call from end: read-only calls and those that are answered already run
// side by side, any other call alone. While the debugger looks every call runs alone.
func (r *run) batchEnd(from int) int {
	to := from
	alone := r.breaks().On()
	for to < len(r.calls) {
		c := &r.calls[to]
		if !c.ready && (alone || c.row.Effect != tools.ReadOnly) {
			if to == from || r.allReady(from, to) {
				to++
			}
			break
		}
		to++
	}
	return to
}

func (r *run) allReady(from, to int) bool {
	for i := from; i < to; i++ {
		if !r.calls[i].ready {
			return false
		}
	}
	return true
}

// admit asks the gate about the calls of the next batch, checks the cap and marks them as started in tx.
func (r *run) admit(tx *Tx, from int) error {
	to := r.batchEnd(from)
	r.batch = span{from, to}
	if r.ruleAll() {
		for _, c := range r.waitingCalls() {
			tx.Calls = append(tx.Calls, c.row)
		}
		tx.Events = append(tx.Events, r.askEvents()...)
		return nil
	}
	now := r.s.eng.cfg.Clock.Now()
	for i := from; i < to; i++ {
		c := &r.calls[i]
		if !c.ready && c.row.Status == CallPending { // what was started before a crash was counted then
			if r.reason = r.spent(); r.reason == ReasonNone && r.row.Budget.Calls > 0 && r.use().Calls >= r.row.Budget.Calls {
				r.reason = ReasonCalls
			}
			if r.reason != ReasonNone {
				if r.batch.to = i; i > from {
					r.reason = ReasonNone // told when those before it have run
				}
				return nil
			}
			if err := r.ask(c); err != nil {
				return err
			}
		}
		if !c.ready && c.row.Status == CallPending {
			c.row.Status, c.row.StartedAt = CallStarted, &now
			r.row.Usage.Calls++
		}
		tx.Calls = append(tx.Calls, c.row)
		tx.Events = append(tx.Events, r.event(callData(c)))
	}
	return nil
}

func callData(c *call) trace.ToolCallData {
	return trace.ToolCallData{
		ID: c.row.ID, CallID: c.row.CallID, Tool: c.row.Name, Effect: string(c.row.Effect), Ord: c.row.Ord,
		Arguments: json.RawMessage(c.row.Arguments), RawArguments: c.row.RawArguments, Status: string(c.row.Status),
	}
}

// ask puts the call before the gate.
func (r *run) ask(c *call) error {
	g := r.s.eng.cfg.Gate
	if g == nil {
		return nil
	}
	row := c.row
	ruling, err := g.Before(r.ctx, Dispatch{SessionID: r.s.id, RunID: r.row.ID, Step: r.row.Step, Call: &row})
	if err != nil {
		return err
	}
	if ruling.Deny {
		c.deny(ruling.Reason)
	}
	return nil
}

// noticeStuck is what a model is told that goes in circles.
const noticeStuck = "You repeat yourself: the last results brought nothing new. Do something else, or answer with what you have."

// observe judges the results up to the end of the batch in call order, each once: of a batch that a crash cut some may have been
// handed over and not judged, or judged and not handed over.
func (r *run) observe() Input {
	whole := r.judged < len(r.calls) && r.batch.to == len(r.calls)
	for ; r.judged < r.batch.to; r.judged++ {
		i := r.judged
		c := &r.calls[i]
		code := ""
		if c.result.Error != nil {
			code = string(c.result.Error.Code)
		}
		if code == string(tools.CodeUnknownTool) {
			r.unknown++
		} else {
			r.unknown = 0
		}
		if c.row.Status != CallNotRun {
			if code == string(tools.CodeUnavailable) || code == string(tools.CodeTimeout) {
				r.unavailable[c.row.Name]++
			} else {
				r.unavailable[c.row.Name] = 0
			}
		}
		args := c.row.Arguments
		if c.row.Status == CallNotRun {
			args = c.row.RawArguments
		} else {
			args = string(tools.Canonical(json.RawMessage(args)))
		}
		r.stuck.observe(c.row.Name, args, string(c.wire()), code)
	}
	if whole && r.stuck.replied() {
		r.reason = ReasonNoProgress
		return InNoProgress
	}
	if r.unknown >= unknownToolsMost {
		r.reason = ReasonUnknownTool
		r.failure = &trace.ErrorData{Message: "the model keeps calling tools that do not exist", Code: "unknown_tool",
			Why:  fmt.Sprintf("%d unknown tools in a row", r.unknown),
			Todo: "/retry asks again, /model changes the model"}
		return InUnknownTools
	}
	return InObserved
}

// checkpoint stores the results that are left with what comes next: the intent of the next batch, or the next model call.
func (r *run) checkpoint() (Input, error) {
	tx := r.s.tx()
	for i := r.batch.from; i < r.batch.to; i++ {
		r.save(&tx, i)
	}
	next := r.batch.to
	more := next < len(r.calls)
	if !more {
		r.warnBudget()
	}
	r.handOver(&tx)
	if !more {
		if err := r.commitAs(tx, StateWaitingModel); err != nil {
			return "", err
		}
		return InStepDone, nil
	}
	if r.asksAt(next) { // what is known is stored before anybody is asked, which may take long
		if err := r.commitAs(tx, StateExecuting); err != nil {
			return "", err
		}
		tx = r.s.tx()
	}
	if err := r.admit(&tx, next); err != nil {
		in, err := r.admitFailed(err)
		if err != nil {
			return "", err
		}
		return in, r.commitAs(tx, StateExecuting)
	}
	state := StateExecuting
	if len(r.waitingCalls()) > 0 {
		state = StateWaitingApproval
	}
	if err := r.commitAs(tx, state); err != nil {
		return "", err
	}
	if r.reason != ReasonNone {
		return InBudgetUsed, nil
	}
	return InMoreCalls, nil
}

// warnBudget tells the model that its next reply is the last one.
func (r *run) warnBudget() {
	if b := r.row.Budget.Steps; b > 0 && r.use().Steps == b-1 && !r.stuck.Due {
		r.notice = "This run has one step left: answer now with what you have, further calls will not run."
	}
}

// save puts the result of call i into tx, once.
func (r *run) save(tx *Tx, i int) {
	c := &r.calls[i]
	if c.saved {
		return
	}
	c.saved = true
	if c.result.OK {
		r.used[c.row.Name] = true
	}
	if c.row.Reply > 0 && c.row.StartedAt != nil {
		c.result.Notice, c.encoded = noticeEdited+c.row.Arguments, nil
	}
	now := r.s.eng.cfg.Clock.Now()
	c.row.FinishedAt = &now
	handle := "a-" + c.row.ID
	short, full, cut := tools.Limit(c.result, r.s.eng.cfg.Limits.ResultChars, handle)
	c.shown = short // the whole stays: a commit that is refused keeps no artifact
	encoded := c.wire()
	if cut {
		encoded = tools.EncodeResult(short)
	}
	c.row.Result, c.sent = encoded, encoded
	tx.Calls = append(tx.Calls, c.row)
	data := trace.ToolResultData{
		ID: c.row.ID, CallID: c.row.CallID, Tool: c.row.Name, Status: string(c.row.Status), OK: short.OK, Result: encoded,
		DurationMS: c.took.Milliseconds(), Bytes: len(full), Truncated: short.Truncated, Summary: c.output.Summary,
	}
	if c.result.Error != nil {
		data.Code = string(c.result.Error.Code)
	}
	if cut {
		data.Artifact = handle
		tx.Artifacts = append(tx.Artifacts, ArtifactRow{
			Handle: handle, SessionID: r.s.id, RunID: r.row.ID, CallID: c.row.ID, Tool: c.row.Name, Content: full, CreatedAt: now,
		})
	}
	tx.Events = append(tx.Events, r.event(data))
	if cut {
		tx.Events = append(tx.Events, r.event(trace.ArtifactData{Handle: handle, Tool: c.row.Name, Bytes: len(full)}))
	}
	r.applyChanges(tx, c.output.Changes)
}

// applyChanges turns what a tool returned into changes of tx.
func (r *run) applyChanges(tx *Tx, changes []tools.Change) {
	var known map[string]string
	for _, ch := range changes {
		switch ch := ch.(type) {
		case tools.TodoAdd:
			tx.Todos = append(tx.Todos, TodoChange{Action: "added", ID: ch.ID, Text: ch.Text, CreatedAt: tx.At})
			tx.Events = append(tx.Events, r.event(trace.TodoData{ID: ch.ID, Text: ch.Text, Action: "added"}))
		case tools.TodoSet:
			if known == nil {
				known = r.todoTexts()
			}
			action := "reopened"
			if ch.Completed {
				action = "completed"
			}
			tx.Todos = append(tx.Todos, TodoChange{Action: action, ID: ch.ID, CreatedAt: tx.At})
			tx.Events = append(tx.Events, r.event(trace.TodoData{ID: ch.ID, Text: known[ch.ID], Completed: ch.Completed, Action: action}))
		}
	}
}

// todoTexts gives the session's todos by id, for the events; without them an event has no text.
func (r *run) todoTexts() map[string]string {
	ctx, cancel := r.s.eng.storeContext()
	defer cancel()
	texts := map[string]string{}
	todos, err := r.s.eng.cfg.Store.Todos(ctx, r.s.id)
	if err != nil {
		return texts
	}
	for _, t := range todos {
		texts[t.ID] = t.Text
	}
	return texts
}

// handOver appends the tool messages whose turn it is: in call order, each directly after the one before it.
func (r *run) handOver(tx *Tx) {
	for i := range r.calls {
		c := &r.calls[i]
		if c.message {
			continue
		}
		if !c.ready || !c.saved {
			return
		}
		content, res := c.sent, c.shown
		if i == len(r.calls)-1 && r.stuck.Due {
			r.notice = noticeStuck
			r.stuck.notified()
		}
		if i == len(r.calls)-1 && r.notice != "" {
			res.Notice = strings.TrimSpace(res.Notice + " " + r.notice)
			r.notice, content = "", nil
		}
		if content == nil {
			content = tools.EncodeResult(res)
		}
		m := r.newMessage(llm.KindTool, llm.RoleTool, string(content))
		m.ToolCallID, m.ToolName = c.row.CallID, c.row.Name
		tx.Messages = append(tx.Messages, m)
		c.message = true
	}
}
