package chat

import (
	"slices"
	"strings"
	"time"

	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// run is the turn that is going on.
type run struct {
	id       string
	turn     int
	step     int
	text     *textBlock      // of this step, while it may grow or be replaced
	thought  *thoughtBlock   // that goes on
	thoughts []*thoughtBlock // of this step's attempt
	open     []block         // what moves: running calls, a live thought
	told     bool            // an error says what to do
}

func (v *View) common(at Ref) common { return common{look: v.look, view: v, at: at} }

func (v *View) opened(b block) { v.run.open = append(v.run.open, b) }

func (v *View) closed(b block) {
	v.run.open = slices.DeleteFunc(v.run.open, func(o block) bool { return o == b })
	b.touch()
}

// Apply takes in one event of the session.
func (v *View) Apply(e trace.Event) {
	switch d := e.Data.(type) {
	case trace.RunStartData:
		v.startRun(e, d)
	case trace.DeltaData:
		v.delta(e, d)
	case trace.LLMCallData:
		v.modelCall(e, d)
	case trace.ToolCallData:
		v.toolCall(e, d)
	case trace.ToolResultData:
		v.toolResult(e, d)
	case trace.ProgressData:
		if t := v.calls[d.ID]; t != nil && !t.over() {
			t.progress = paint.CleanLine(d.Text)
			t.touch()
		}
	case trace.AnswerData:
		v.answer(e, d)
	case trace.RunEndData:
		v.endRun(e, d)
	case trace.ErrorData:
		if d.Stored {
			v.dropRetry()
			v.run.told = v.run.told || d.Todo != ""
			v.add(v.errorBlock(Ref{Turn: e.Turn, Step: e.Step}, d))
		}
	case trace.RetryData:
		if d.Call == "" { // a tool's row runs on; the wait shows in the status line and in the trace
			v.retrying(e, d)
		}
	case trace.StateData:
		v.state(d)
	case trace.ApprovalData:
		v.approval(e, d)
	case trace.InputQueuedData:
		v.queue(d)
	case trace.CompactData:
		v.compact(e, d)
	case trace.NoticeData:
		v.add(v.noticeBlock(Ref{Turn: e.Turn, Step: e.Step}, d))
	case trace.HistoryRepairedData:
		v.add(&noteBlock{common: v.common(Ref{Turn: e.Turn}), kind: "repaired", role: theme.Warn,
			text: v.look.th.N(len(d.Calls), "%d call of an unfinished turn closed", "%d calls of an unfinished turn closed", len(d.Calls)), right: v.look.th.Tell(readable(d.Reason))})
	}
}

func (v *View) startRun(e trace.Event, d trace.RunStartData) {
	v.finish(e.TS)
	v.turn = max(v.turn, e.Turn)
	if v.firstTurn == 0 {
		v.firstTurn = e.Turn
	}
	if v.oldest == 0 {
		v.oldest = d.N
	}
	v.run = run{id: e.RunID, turn: e.Turn}
	v.folds.turns[d.N] = e.Turn
	v.add(v.userBlock(e.Turn, d.N, d.Input))
}

// finish closes what the run left open.
func (v *View) finish(at time.Time) {
	v.dropRetry()
	v.stopFolds(false)
	v.endThought(at)
	if v.run.text != nil {
		v.run.text.md.Finish()
		v.run.text.touch()
		v.run.text = nil
	}
	for _, b := range v.run.open {
		b.touch()
	}
	v.run.open = nil
}

// enter notes the step that an event belongs to: the text of the step before does not grow any more.
func (v *View) enter(e trace.Event) {
	if e.RunID != "" && e.RunID != v.run.id {
		v.finish(e.TS)
		v.run = run{id: e.RunID, turn: e.Turn, step: e.Step}
		return
	}
	if e.Step > v.run.step {
		v.endThought(e.TS)
		v.run.thoughts = nil // they stand
		if v.run.text != nil {
			v.run.text.md.Finish()
			v.run.text.touch()
			v.run.text = nil
		}
		v.run.step = e.Step
	}
}

func (v *View) delta(e trace.Event, d trace.DeltaData) {
	switch d.Kind {
	case "text":
		v.enter(e)
		if d.Reset {
			v.void()
		}
		if d.Text == "" && d.Dropped == 0 {
			return
		}
		v.dropRetry()
		v.endThought(e.TS)
		b := v.stepText(e)
		if d.Dropped > 0 {
			b.md.Append(" " + v.look.th.Glyphs.Cut + " ")
		}
		b.md.Append(d.Text)
		b.touch()
	case "reasoning":
		v.enter(e)
		v.dropRetry()
		v.think(e, d)
	case "summary":
		v.summaryDelta(d)
	case "tool_output":
		if t := v.calls[d.ID]; t != nil && !t.over() {
			if line := lastLine(d.Text); line != "" {
				t.progress = line
				t.touch()
			}
		}
	}
}

// void takes back what streamed in this step: its attempt failed. The row that tells of the retry stays.
func (v *View) void() {
	if v.run.text != nil {
		v.run.text.md.Reset()
		v.run.text.touch()
	}
	v.dropThoughts()
}

// stepText gives the block that the step's text streams into.
func (v *View) stepText(e trace.Event) *textBlock {
	if v.run.text == nil {
		v.run.text = &textBlock{common: v.common(Ref{Turn: e.Turn, Step: e.Step})}
		v.add(v.run.text)
	}
	return v.run.text
}

// lastLine is the last line with text, clean.
func lastLine(s string) string {
	s = strings.TrimSpace(paint.Clean(s))
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// modelCall ends a step's text: what the store has replaces what streamed.
func (v *View) modelCall(e trace.Event, d trace.LLMCallData) {
	v.enter(e)
	v.dropRetry()
	v.endThought(e.TS)
	v.run.thoughts = nil
	if d.ToolCallCount == 0 || d.Text == "" {
		return
	}
	v.stepText(e).set(d.Text)
	v.run.text = nil // what comes later in this step, such as a closing text, is another
}

func (v *View) toolCall(e trace.Event, d trace.ToolCallData) {
	v.enter(e)
	v.dropRetry()
	v.endThought(e.TS)
	if b := v.run.text; b != nil {
		b.md.Finish()
		b.touch()
		v.run.text = nil
	}
	t := v.calls[d.ID]
	if t == nil {
		t = v.toolBlock(Ref{Turn: e.Turn, Step: e.Step, Call: d.ID}, d.Tool, d.Shown())
		t.callID = d.CallID
		v.calls[d.ID] = t
		v.add(t)
	}
	v.status(t, d.Status, e.TS)
}

// replace lets a call take the row of the one whose arguments the user changed; false when there is none.
func (v *View) replace(d trace.ApprovalData, at time.Time) bool {
	for id, t := range v.calls {
		if t.edited && t.callID == d.CallID {
			delete(v.calls, id)
			v.calls[d.ID] = t
			t.edited, t.status, t.at.Call = false, "pending", d.ID
			t.ran(d.Arguments)
			v.status(t, "waiting_approval", at)
			return true
		}
	}
	return false
}

func (v *View) toolBlock(at Ref, name string, args []byte) *toolBlock {
	return &toolBlock{common: v.common(at), name: name, args: args, brief: brief(args), status: "pending", took: -1}
}

// status changes how a call stands, and whether it moves.
func (v *View) status(t *toolBlock, status string, at time.Time) {
	if status == "" || t.over() {
		return
	}
	if status == "started" && t.status != "started" {
		t.started = at
		v.opened(t)
	}
	t.status = status
	t.touch()
}

func (v *View) toolResult(e trace.Event, d trace.ToolResultData) {
	v.enter(e)
	t := v.calls[d.ID]
	if t == nil {
		t = v.toolBlock(Ref{Turn: e.Turn, Step: e.Step, Call: d.ID}, d.Tool, nil)
		v.calls[d.ID] = t
		v.add(t)
	}
	finishTool(t, d)
	v.closed(t)
}

func finishTool(t *toolBlock, d trace.ToolResultData) {
	t.takeResult(d.Result)
	t.status, t.ok = d.Status, d.OK
	if d.Status == "" {
		t.status = "done"
	}
	if d.Code != "" {
		t.code = d.Code
	}
	t.summary = paint.CleanLine(d.Summary)
	if t.summary == "" && d.Bytes > 0 {
		t.summary = theme.Bytes(int64(d.Bytes))
	}
	if t.status == "done" || d.DurationMS > 0 {
		t.took = time.Duration(d.DurationMS) * time.Millisecond
	}
	t.touch()
}

func (v *View) answer(e trace.Event, d trace.AnswerData) {
	v.enter(e)
	v.dropRetry()
	v.endThought(e.TS)
	if d.Fixed && saidByFoot(d.Text) {
		v.run.text = nil
		return
	}
	b := v.stepText(e)
	b.answer, b.fixed = true, d.Fixed
	b.set(shownOf(d.Text, d.Partial))
	v.run.text = nil
}

func (v *View) endRun(e trace.Event, d trace.RunEndData) {
	v.finish(e.TS)
	for _, t := range v.calls {
		if !t.over() {
			t.status = "not_run"
			t.touch()
		}
	}
	clear(v.calls) // a later run has calls of its own
	v.add(v.foot(Ref{Turn: e.Turn}, d, v.run.told))
	v.run = run{}
}

// foot ends a turn. told says that an error above it says what to do.
func (v *View) foot(at Ref, d trace.RunEndData, told bool) *footBlock {
	b, th := &footBlock{common: v.common(at)}, v.look.th
	interrupted := runtime.Reason(d.Reason) == runtime.ReasonInterrupted
	if d.DurationMS > 0 || !interrupted { // how long a run took that a crash ended nobody knows
		b.facts = append(b.facts, th.Duration(time.Duration(d.DurationMS)*time.Millisecond))
	}
	if d.Steps > 0 {
		b.facts = append(b.facts, th.N(d.Steps, "%d step", "%d steps", d.Steps))
	}
	if d.Tokens > 0 {
		b.facts = append(b.facts, th.T("%s tokens", theme.Tokens(d.Tokens, d.Estimated)))
	}
	if d.Cost != nil {
		b.facts = append(b.facts, theme.Money(d.Cost))
	}
	reason := th.Tell(readable(d.Reason))
	switch runtime.State(d.State) {
	case runtime.StateCancelled:
		b.glyph, b.role, b.state = "stopped", theme.Warn, th.T("stopped")
		if interrupted {
			b.state = th.T("interrupted")
		}
	case runtime.StateExhausted:
		b.glyph, b.role, b.state = "failed", theme.Error, th.T("exhausted: %s", reason)
		b.hint = th.T("The model was not asked again. /retry gives a new budget.")
	case runtime.StateFailed:
		b.glyph, b.role, b.state = "failed", theme.Error, th.T("failed")
		if reason != "" {
			b.state = th.T("%s: %s", b.state, reason)
		}
		b.hint = th.T("/retry sends the input again.")
	}
	if told {
		b.hint = ""
	}
	return b
}

// shownOf is what people see of an answer: the mark behind one that was cut, which the model reads, says what the end of its turn says.
func shownOf(text string, partial bool) string {
	if partial {
		return strings.TrimSuffix(text, runtime.PartialEnd)
	}
	return text
}

// saidByFoot says that a closing text, which the model reads, tells people only what the end of its turn tells them too.
func saidByFoot(closing string) bool {
	switch closing {
	case runtime.MarkCancelled, runtime.MarkInterrupted, runtime.MarkFailed:
		return true
	}
	return false
}

// readable makes a typed reason so.
func readable(reason string) string { return strings.ReplaceAll(paint.CleanLine(reason), "_", " ") }

func (v *View) errorBlock(at Ref, d trace.ErrorData) *noteBlock {
	return v.toldBlock(&noteBlock{common: v.common(at), kind: "error", role: theme.Error}, d.Message, d.Why, d.Todo)
}

func (v *View) noticeBlock(at Ref, d trace.NoticeData) *noteBlock {
	return v.toldBlock(&noteBlock{common: v.common(at), kind: "notice", role: theme.Warn}, d.Message, d.Why, d.Todo)
}

// toldBlock puts what happened into a note, with why and what to do, where that is known.
func (v *View) toldBlock(b *noteBlock, message, why, todo string) *noteBlock {
	b.text = paint.Clean(v.look.th.Tell(message))
	for _, more := range []string{why, todo} {
		if more != "" {
			b.more = append(b.more, paint.Clean(v.look.th.Tell(more)))
		}
	}
	return b
}

func (v *View) retrying(e trace.Event, d trace.RetryData) {
	v.enter(e)
	v.dropRetry()
	v.retry = &retryBlock{common: v.common(Ref{Turn: e.Turn, Step: e.Step}), cause: Cause(d).String(), attempt: d.Attempt, max: d.Max,
		until: e.TS.Add(time.Duration(d.WaitMS) * time.Millisecond)}
	v.list.Insert(v.list.Len()-v.tail, v.retry)
	v.tail++
}

func (v *View) dropRetry() {
	if v.retry != nil {
		v.remove(v.retry)
		v.retry = nil
		v.tail--
	}
}

func (v *View) state(d trace.StateData) {
	if d.Meter != nil {
		v.folds.meter = *d.Meter
	}
	if d.State == "" {
		v.stopFolds(true)
	}
	if v.retry != nil && runtime.State(d.State) != runtime.StateRetryingModel {
		v.dropRetry()
	}
}

func (v *View) approval(e trace.Event, d trace.ApprovalData) {
	t := v.calls[d.ID]
	switch {
	case d.Phase == "asked" && t == nil && v.replace(d, e.TS):
	case d.Phase == "asked" && t == nil: // it is asked about before it is started
		v.toolCall(e, trace.ToolCallData{ID: d.ID, CallID: d.CallID, Tool: d.Tool, Arguments: d.Arguments, Status: "waiting_approval"})
	case t == nil:
	case d.Phase == "asked":
		v.status(t, "waiting_approval", e.TS)
	case d.Answer == "deny":
		v.status(t, "denied", e.TS)
	case d.Answer == string(runtime.OutcomeHappened), d.Answer == string(runtime.OutcomeNot), d.Answer == string(runtime.OutcomeAgain):
		// it counts when the run goes on
	case d.Answer == "edit": // another call takes its place
		v.status(t, "not_run", e.TS)
		t.edited = true
	default:
		v.status(t, "pending", e.TS)
	}
}

// queue shows input that waits at the very end, until its turn starts or it is taken back.
func (v *View) queue(d trace.InputQueuedData) {
	for i, q := range v.queued {
		if q.id == d.ID {
			v.remove(q)
			v.queued = slices.Delete(v.queued, i, i+1)
			v.tail--
			break
		}
	}
	if d.Action == "queued" {
		v.addQueued(d.ID, d.Text)
	}
}

func (v *View) addQueued(id, text string) {
	q := &queuedBlock{common: v.common(Ref{}), id: id, text: paint.CleanSource(attach.Text(text))}
	v.queued = append(v.queued, q)
	v.list.Append(q)
	v.tail++
}
