package runtime

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// stream is what one model call has brought so far.
type stream struct {
	started  time.Time
	first    time.Time
	text     strings.Builder
	reasoned bool
	attempts int
	done     *llm.Done
	err      error
}

// maxReplyBytes bounds the text of one reply; what comes after it is a fault of the server.
const maxReplyBytes = 8 << 20

// callModel sends the request and takes the reply in.
func (r *run) callModel() (Input, error) {
	req := llm.Request{
		Model: r.row.Versions.Model, Messages: r.request, Tools: r.s.eng.specs, Temperature: r.s.eng.cfg.Limits.Temperature, Schema: r.shape(),
		MaxTokens: min(r.s.eng.cfg.Limits.ReplyTokens, r.s.reserve()), // with more the whole may not fit, however short the prompt
	}
	if g := r.s.eng.cfg.Gate; g != nil {
		if _, err := g.Before(r.ctx, Dispatch{SessionID: r.s.id, RunID: r.row.ID, Step: r.row.Step, Request: &req}); err != nil {
			if r.ctx.Err() != nil {
				return r.interruptedOrLeft(), nil
			}
			return "", err
		}
	}
	if in, err := r.pauseModel(); in != "" || err != nil {
		return in, err
	}
	r.sent = trace.LLMCallData{}
	r.s.sent.next(req, &r.sent)
	st := r.consume(req)
	return r.judge(st)
}

// interruptedOrLeft is interrupted for a place that was waiting.
func (r *run) interruptedOrLeft() Input {
	if r.stopReason() == ReasonPaused {
		r.left = true
	}
	return r.interrupted()
}

// consume reads the stream to its end, telling what comes.
func (r *run) consume(req llm.Request) *stream {
	clk := r.s.eng.cfg.Clock
	st := &stream{started: clk.Now(), attempts: 1}
	for chunk, err := range r.s.eng.cfg.Model.Stream(r.ctx, req) {
		if err != nil {
			st.err = err
			break
		}
		if err := r.s.eng.cfg.Faults.Hit("chunk"); err != nil {
			st.err = err
			break
		}
		if chunk.Retry != nil {
			r.retrying(st, *chunk.Retry)
			continue
		}
		if chunk.Queue != "" {
			r.tell(trace.DeltaData{Kind: string(chunk.Queue)})
			continue
		}
		if r.state == StateRetryingModel {
			if err := r.advance(InModelAgain); err != nil {
				st.err = err
				break
			}
		}
		if st.first.IsZero() && (chunk.Text != "" || chunk.Reasoning != "" || chunk.CallDelta != nil) {
			st.first = clk.Now()
		}
		r.deliver(st, chunk)
		if st.text.Len() > maxReplyBytes {
			st.err = &llm.Error{Kind: llm.ErrTooLarge, Message: "the reply is longer than 8 MiB"}
			break
		}
		if chunk.Done != nil {
			st.done = chunk.Done
			break
		}
	}
	if st.err != nil && r.state == StateRetryingModel && r.ctx.Err() == nil {
		if err := r.advance(InModelAgain); err != nil {
			st.err = err
		}
	}
	if st.err == nil && st.done == nil {
		st.err = &llm.Error{Kind: llm.ErrCut, Message: "the stream ended without a reply"}
		if r.ctx.Err() != nil {
			st.err = context.Cause(r.ctx)
		}
	}
	return st
}

// retrying tells of a wait; what streamed before it is void.
func (r *run) retrying(st *stream, w llm.RetryWait) {
	st.attempts = w.Attempt + 1
	st.text.Reset()
	st.first, st.reasoned = time.Time{}, false
	r.text = ""
	r.tell(trace.RetryData{Attempt: w.Attempt, Max: w.Max, WaitMS: w.Wait.Milliseconds(), Cause: w.Cause, Status: w.Status, Shared: w.Shared})
	r.tell(trace.DeltaData{Kind: "text", Reset: true})
	if err := r.advance(InModelWait); err != nil && st.err == nil {
		st.err = err
	}
}

func (r *run) deliver(st *stream, c llm.Chunk) {
	switch {
	case c.Text != "":
		st.text.WriteString(c.Text)
		r.text = st.text.String()
		r.tell(trace.DeltaData{Kind: "text", Text: c.Text})
	case c.Void:
		thought := st.text.String()
		st.text.Reset()
		r.text = ""
		r.tell(trace.DeltaData{Kind: "text", Reset: true})
		r.tell(trace.DeltaData{Kind: "reasoning", Text: thought})
		st.reasoned = true
	case c.Reasoning != "":
		st.reasoned = true
		r.tell(trace.DeltaData{Kind: "reasoning", Text: c.Reasoning})
	case c.CallDelta != nil:
		r.tell(trace.DeltaData{Kind: "call", ID: c.CallDelta.Name, Text: c.CallDelta.Arguments})
	case c.Empty():
		r.tell(trace.DeltaData{Kind: "alive"})
	}
}

// judge turns the end of a stream into an input of the table.
func (r *run) judge(st *stream) (Input, error) {
	clk := r.s.eng.cfg.Clock
	data := trace.LLMCallData{
		Model: r.row.Versions.Model, StartedAt: st.started.UTC(), LatencyMS: clk.Now().Sub(st.started).Milliseconds(),
		Attempts: st.attempts, Estimate: r.estimate, PrefixBreak: r.sent.PrefixBreak, PrefixAt: r.sent.PrefixAt,
		PromptBytes: r.sent.PromptBytes, PrefixBytes: r.sent.PrefixBytes, PrefixTokens: r.sent.PrefixTokens,
		PrefixID: r.sent.PrefixID,
	}
	built := r.built.Milliseconds()
	data.ContextMS = &built
	if !st.first.IsZero() {
		ttft := st.first.Sub(st.started).Milliseconds()
		data.TTFTMS = &ttft
	}
	r.text = st.text.String()
	if r.record != nil {
		r.record.Latency = clk.Now().Sub(st.started)
		if !st.first.IsZero() {
			r.record.TTFT = st.first.Sub(st.started)
		}
	}
	if st.done == nil {
		return r.noReply(st, data)
	}
	r.reply = reply{text: r.text, reasoned: st.reasoned, done: *st.done}
	r.account(st.done.Usage, len(st.done.ToolCalls) > 0)
	u := st.done.Usage
	r.warnCost(u)
	data.PromptTokens, data.CompletionTokens, data.CachedTokens, data.ReasoningTokens = u.Prompt, u.Completion, u.Cached, u.Reasoning
	data.Cost = u.Cost
	data.ToolCallCount, data.FinishReason, data.Text = len(st.done.ToolCalls), string(st.done.Finish), r.text
	if st.done.Model != "" {
		data.Model = st.done.Model
	}
	r.events = append(r.events, r.event(data))
	for _, n := range st.done.Notes {
		r.events = append(r.events, r.event(trace.NoticeData{Code: n.Code, Message: n.Message, Why: n.Why, Todo: n.Todo}))
	}
	if r.record != nil {
		r.record.Usage = u
	}
	switch {
	case len(st.done.ToolCalls) > 0:
		return InReplyCalls, nil
	case strings.TrimSpace(r.text) == "":
		return InReplyBad, nil
	}
	return InReplyText, nil
}

// account adds a reply, with calls or without, to the run's use and to the meter.
func (r *run) account(u llm.Usage, calls bool) {
	use := &r.row.Usage
	if u.Prompt != nil && *u.Prompt <= 0 {
		u = llm.Usage{} // zeros are no report: no request has a prompt of no tokens
	}
	if u.Prompt != nil {
		use.Prompt += *u.Prompt
		r.s.counter.Report(*u.Prompt, r.estimate)
		if note := r.s.cut.watch(u, r.estimate, r.s.eng.schemas, calls); note != nil {
			r.events = append(r.events, r.event(*note))
		}
	} else {
		use.Prompt += r.estimate
		use.Estimated = true
	}
	use.pay(u.Cost)
	if u.Completion != nil {
		use.Completion += *u.Completion
	} else {
		use.Completion += prompt.Estimate(r.text)
		use.Estimated = true
	}
	use.Reasoning, use.Cached = both(use.Reasoning, u.Reasoning), both(use.Cached, u.Cached)
	var share *float64
	if u.Cached != nil {
		if u.Prompt != nil && *u.Prompt > 0 {
			v := float64(*u.Cached) / float64(*u.Prompt)
			share = &v
		}
	}
	r.s.mu.Lock()
	r.s.meter.Cached = share
	r.s.mu.Unlock()
}

// noReply ends a call that brought no whole reply.
func (r *run) noReply(st *stream, data trace.LLMCallData) (Input, error) {
	if !st.first.IsZero() {
		r.account(llm.Usage{}, false) // it was sent and begun: somebody pays for it
	}
	if r.ctx.Err() != nil {
		data.FinishReason = "cancelled"
		data.Text = r.text
		r.events = append(r.events, r.event(data))
		return r.interruptedOrLeft(), nil
	}
	var e *llm.Error
	if !errors.As(st.err, &e) {
		e = &llm.Error{Kind: llm.ErrProtocol, Message: oneLine(st.err), Err: st.err}
	}
	data.Error = oneLine(e)
	r.events = append(r.events, r.event(data))
	r.row.Error = data.Error
	if e.Kind == llm.ErrContext {
		r.s.cut.refused(r.s.tokens(r.estimate))
		r.failure = &trace.ErrorData{Message: "the model refused the prompt as too long", Why: oneLine(e), Code: "context",
			Todo: "/new starts an empty session; AGENT_MAX_CTX_TOKENS below the model's window folds earlier"}
		if r.s.eng.cfg.Limits.ReplyTokens > 0 && aboutReply(e) {
			r.failure.Todo += "; a smaller LLM_MAX_TOKENS leaves it more room"
		}
		if !r.refolded && r.s.eng.cfg.Memory != nil && r.s.eng.cfg.Limits.Fold != FoldOff {
			r.refolded, r.why = true, foldContext
			return InReplan, nil
		}
		r.reason = ReasonContext
		return InContextFull, nil
	}
	r.reason = ReasonModel
	r.failure = modelFailure(e)
	return InModelFailed, nil
}

// emptyFailure says why there is no answer, as far as the last reply tells.
func emptyFailure(last reply) *trace.ErrorData {
	f := &trace.ErrorData{
		Message: "the model gave no answer", Why: "its reply was empty twice in a row", Code: "empty_reply",
		Todo: "/retry asks again, /model changes the model",
	}
	switch finish := last.done.Finish; {
	case finish == llm.FinishLength:
		f.Why = "its reply was cut at the server's limit of a reply's length before it said anything, twice in a row"
		if last.reasoned {
			f.Why = "its reasoning took all of the server's limit of a reply's length, twice in a row"
		}
		f.Todo = "set LLM_MAX_TOKENS if the server allows more; " + f.Todo
	case finish == llm.FinishContentFilter:
		f.Why = "the server's filter held its reply back, twice in a row"
		f.Todo = "ask in another way; " + f.Todo
	case last.reasoned:
		f.Why = "it reasoned and then said nothing, twice in a row"
	case finish != llm.FinishStop && finish != llm.FinishToolCalls && finish != "":
		f.Why += "; the server gave " + strconv.Quote(llm.CleanText(string(finish))) + " as the reason for the end"
	}
	return f
}

// aboutReply says whether a refusal speaks of how long the reply may be.
func aboutReply(e *llm.Error) bool {
	words := strings.ToLower(e.Message)
	for _, w := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "in the completion", "output tokens", "for the completion"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// modelFailure says what happened, why, and what to do.
func modelFailure(e *llm.Error) *trace.ErrorData {
	f := &trace.ErrorData{Message: "the model did not answer", Why: oneLine(e), Code: string(e.Kind), Todo: "/retry sends it again"}
	switch e.Kind {
	case llm.ErrConnect:
		f.Message, f.Todo = "no connection to the model", "check that the server runs and OPENAI_BASE_URL; /retry sends it again"
		if e.Hint != "" {
			f.Todo = "/retry sends it again" // the hint says what to change
		}
	case llm.ErrTimeout:
		f.Message, f.Todo = "the model did not begin to answer", "look whether the server is busy or still loads the model; /retry sends it again"
		if e.Silent {
			f.Message, f.Todo = "the model fell silent", "/retry sends it again; LLM_TIMEOUT_SECONDS sets the patience"
		}
	case llm.ErrCut:
		f.Message = "the connection broke in the middle of the reply"
	case llm.ErrAuth:
		f.Message, f.Todo = "the server refused the key", "check OPENAI_API_KEY or OPENROUTER_API_KEY; vitrine doctor shows which one is used"
		if e.Status == http.StatusForbidden { // the key may be a good one
			f.Message = "the server forbids this request"
			f.Todo = "the key may not be allowed to do this, or a firewall refuses; vitrine doctor shows which key is used; /model changes the model"
		}
	case llm.ErrQuota, llm.ErrRate:
		f.Message, f.Todo = "the server's limit is reached", "wait, or /model changes the model; /retry sends it again"
	case llm.ErrNotFound:
		f.Message, f.Todo = "the server does not know this model or path", "/model changes the model; check OPENAI_BASE_URL"
	case llm.ErrNoTools:
		f.Message = "this model cannot be given tools there"
		f.Todo = "--protocol json or react (AGENT_PROTOCOL) gives it the tools as text; /model changes the model"
	case llm.ErrRejected:
		f.Message = "the server refused the request"
		switch {
		case e.Retryable:
		case e.Status < http.StatusBadRequest && e.Status > 0, e.Status == http.StatusMethodNotAllowed: // it never reached a model
			f.Todo = "check OPENAI_BASE_URL"
		case e.Status == http.StatusProxyAuthRequired:
			f.Message, f.Todo = "the proxy refused the request", "HTTPS_PROXY and HTTP_PROXY name the proxy, NO_PROXY what goes past it"
		default: // as it is it is refused again
			f.Todo = "LLM_PROFILE changes how the server is spoken to, --protocol how tools are called; /model changes the model"
			if aboutReply(e) {
				f.Todo = "LLM_MAX_TOKENS sets how long a reply may be, max_tokens to the server; " + f.Todo
			}
		}
	}
	return f
}
