package runtime

import (
	"fmt"
	"strings"

	"vitrine/llm"
	"vitrine/tools"
	"vitrine/trace"
)

// Marks that stand in a closing message; the model reads them too. MarkFailed stands for an answer where there is no better word.
const (
	MarkInterrupted = "[interrupted]"
	MarkCancelled   = "[cancelled]"
	MarkFailed      = "[no answer] The turn failed before the model answered."
	// PartialEnd is put behind what there is of an answer.
	PartialEnd = "\n\n" + MarkInterrupted
)

// close stores the end of the turn in one transaction: results that calls still lack, one assistant message without calls,
// and the run's end.
func (r *run) close() error {
	tx := r.s.tx()
	tx.Events = r.takeEvents()
	r.closeCalls(&tx)
	msg := r.closing()
	if r.answerN == 0 {
		tx.Messages = append(tx.Messages, msg)
	}
	now := r.s.eng.cfg.Clock.Now()
	r.row.FinishedAt = &now
	if r.reason == ReasonNone && r.state == StateCancelled {
		r.reason = r.stopReason()
	}
	if r.failure == nil && r.state == StateExhausted {
		r.failure = r.exhausted()
	}
	if r.failure != nil {
		f := *r.failure
		f.Stored = true
		tx.Events = append(tx.Events, r.event(f))
	}
	if note := r.cutNote(msg); note != nil {
		tx.Events = append(tx.Events, r.event(*note))
	}
	u := r.row.Usage
	tx.Events = append(tx.Events,
		r.event(trace.AnswerData{Text: msg.Content, Fixed: msg.Fixed, Partial: msg.Partial, N: r.answerN}),
		r.event(trace.RunEndData{
			State: string(r.state), Reason: string(r.reason), Steps: u.Steps, Calls: u.Calls, Tokens: u.Prompt + u.Completion,
			Estimated: u.Estimated, DurationMS: r.active().Milliseconds(), PromptTokens: u.Prompt, CompletionTokens: u.Completion,
			CachedTokens: u.Cached, ReasoningTokens: u.Reasoning, Cost: u.Cost,
		}))
	if r.record != nil {
		r.record.Answer = msg.Content
	}
	if err := r.commit(tx); err != nil {
		return err
	}
	m := r.s.measure()
	r.tell(trace.StateData{State: string(r.state), Reason: string(r.reason), Meter: &m})
	return nil
}

// closeCalls answers every call of the step that has no message yet.
func (r *run) closeCalls(tx *Tx) {
	for i := range r.calls {
		c := &r.calls[i]
		if c.message {
			continue
		}
		switch {
		case c.ready:
		case c.row.Status == CallStarted && !c.tried && (c.absent || !c.before): // the intent is stored, and no more came of it
			if !c.before {
				r.row.Usage.Calls--
			}
			c.answer(tools.ErrorResult(&tools.Error{Code: tools.CodeNotRun, Message: r.whyNotRun()}), CallNotRun)
		case c.row.Status == CallStarted || c.row.Status == CallUnknown:
			c.lost()
		default:
			c.answer(tools.ErrorResult(&tools.Error{Code: tools.CodeNotRun, Message: r.whyNotRun()}), CallNotRun)
		}
		if !c.saved {
			if c.row.StartedAt == nil {
				tx.Events = append(tx.Events, r.event(callData(c)))
			}
			r.save(tx, i)
		}
	}
	r.handOver(tx)
}

func (r *run) whyNotRun() string {
	switch r.state {
	case StateExhausted:
		return "not run: the run's budget is used up"
	case StateCancelled:
		if r.stopReason() == ReasonSuperseded {
			return "not run: the user sent a new message instead of an answer"
		}
		return "not run: the user cancelled"
	}
	return "not run: the run ended"
}

// closing makes the turn's last message.
func (r *run) closing() MessageRow {
	if r.state == StateSucceeded || r.answerN > 0 {
		m := r.newMessage(llm.KindAssistant, llm.RoleAssistant, r.reply.text)
		m.Extra = r.reply.done.Extra
		m.Partial = r.reply.done.Finish == llm.FinishLength || r.reply.done.Finish == llm.FinishContentFilter
		return m
	}
	text, fixed := r.closingText()
	m := r.newMessage(llm.KindClosing, llm.RoleAssistant, text)
	m.Fixed, m.Partial = fixed, !fixed
	return m
}

// cutNote tells of an answer that the server ended before the model did.
func (r *run) cutNote(msg MessageRow) *trace.NoticeData {
	switch {
	case !msg.Partial || msg.Kind != llm.KindAssistant:
		return nil
	case r.reply.done.Finish == llm.FinishContentFilter:
		return &trace.NoticeData{Code: "reply_cut", Message: "the server's filter cut the answer off", Todo: "ask in another way"}
	case r.s.eng.cfg.Limits.ReplyTokens > 0:
		return &trace.NoticeData{Code: "reply_cut", Message: "the answer was cut off at the limit of a reply's length",
			Todo: "ask the model to go on, or let LLM_MAX_TOKENS allow more"}
	}
	return &trace.NoticeData{Code: "reply_cut", Message: "the answer was cut off at the server's limit of a reply's length",
		Todo: "ask the model to go on, or set LLM_MAX_TOKENS if the server allows more"}
}

// closingText is the partial text with a mark, or a fixed text.
func (r *run) closingText() (text string, fixed bool) {
	if !r.reply.stored && strings.TrimSpace(r.text) != "" {
		text = strings.TrimRight(r.text, " \n") + PartialEnd
		if r.state == StateExhausted {
			text += " " + r.exhaustedBy()
		}
		return text, false
	}
	switch r.state {
	case StateCancelled:
		if r.reason == ReasonInterrupted || r.reason == ReasonGivenUp {
			return MarkInterrupted, true
		}
		return MarkCancelled, true
	case StateExhausted:
		return "[stopped] " + r.exhaustedBy() + " The model was not asked again.", true
	}
	switch r.reason {
	case ReasonEmpty:
		return "[no answer] The model's reply was empty twice.", true
	case ReasonUnknownTool:
		return "[no answer] The model kept calling tools that do not exist.", true
	}
	return MarkFailed, true
}

// exhaustedBy is the sentence on the budget that ran out, with the setting that is its limit.
func (r *run) exhaustedBy() string {
	what := r.exhausted().Message
	if name := r.reason.setting(); name != "" {
		what += " (" + name + ")"
	}
	return what + "."
}

// exhausted says which budget ran out and what to do.
func (r *run) exhausted() *trace.ErrorData {
	b, u := r.row.Budget, r.use()
	f := &trace.ErrorData{Code: string(r.reason), Todo: "The model was not asked again. /retry gives a new budget."}
	limit := r.reason.setting() + " is the limit"
	switch r.reason {
	case ReasonSteps:
		f.Message, f.Why = fmt.Sprintf("budget used up: %d of %d steps", u.Steps, b.Steps), limit
	case ReasonCalls:
		f.Message, f.Why = fmt.Sprintf("budget used up: %d of %d tool calls", u.Calls, b.Calls), limit
	case ReasonTokens:
		f.Message, f.Why = fmt.Sprintf("budget used up: %d of %d tokens", u.Prompt+u.Completion, b.Tokens), limit
	case ReasonCost:
		f.Message, f.Why = fmt.Sprintf("budget used up: $%.4f of $%.4f", *u.Cost, *b.Cost), limit
	case ReasonDeadline:
		f.Message, f.Why = fmt.Sprintf("budget used up: %s of wall time", b.Deadline), limit
	case ReasonNoProgress:
		f.Message, f.Why = "no progress: the same results came again and again", "the model was told once and went on"
		f.Todo = "The model was not asked again. Say what it should do differently, or /retry."
	case ReasonContext:
		m := r.s.measure()
		f.Message = fmt.Sprintf("the context is full: %d of %d tokens", m.Used(), m.Limit)
		f.Why = fmt.Sprintf("system prompt and tools %d, messages %d, kept for the reply %d (%s)", m.System, m.Window, r.s.reserve(), r.reason.setting())
		f.Todo = fmt.Sprintf("/new starts an empty session; a larger %s gives this one more room.", r.reason.setting())
	default:
		f.Message = "the run's budget is used up"
	}
	return f
}
