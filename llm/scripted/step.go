package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"vitrine/llm"
)

// defaultChunk is how many runes a delta has when a step does not say.
const defaultChunk = 8

// Call is one tool call of a step.
type Call struct {
	// ID is made up from the place in the script when it is empty.
	ID   string
	Name string
	// Args is the raw text of the arguments. It may be no JSON, to play a model that writes badly.
	Args string
}

// Args gives v as the raw text of a call's arguments. It panics when v cannot be JSON: a script is written by hand.
func Args(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("scripted: arguments: %v", err))
	}
	return string(b)
}

// Step is one reply of a script. It is a value: the methods return a changed copy, so that steps can be built in one
// expression and shared.
type Step struct {
	when      string
	times     int // how often it may be played; 0 is once, negative without end
	reasoning string
	text      string
	deltas    []string // the text in given pieces; text is then empty
	calls     []Call
	chunk     int
	delay     time.Duration
	pace      time.Duration
	finish    llm.Finish
	usage     llm.Usage
	model     string
	extra     json.RawMessage
	stop      stop
	stopAfter int
	err       *llm.Error
	build     func(llm.Request) Step
}

// stop is how a reply ends before its time.
type stop int

const (
	stopNone stop = iota
	stopError
	stopHang
	stopSilent // ends without Done and without an error: a fault of a client, for testing who consumes
)

// Text answers with s.
func Text(s string) Step { return Step{text: s} }

// Calls asks for tool calls.
func Calls(calls ...Call) Step { return Step{calls: calls} }

// TextAndCalls says s and asks for tool calls in the same reply.
func TextAndCalls(s string, calls ...Call) Step { return Step{text: s, calls: calls} }

// Fail ends with err before the first chunk. A nil err is a server error that may be retried.
func Fail(err *llm.Error) Step { return Step{}.FailAfter(0, err) }

// Hang says nothing until the request is cancelled.
func Hang() Step { return Step{}.HangAfter(0) }

// Func makes the step from the request when it is played. The made step may not be a Func itself; its When and Times are
// without meaning.
func Func(f func(llm.Request) Step) Step { return Step{build: f} }

// When restricts the step to requests whose last user message contains s.
func (s Step) When(text string) Step { s.when = text; return s }

// Times lets the step be played n times before it is used up; n < 0 is without end.
func (s Step) Times(n int) Step { s.times = n; return s }

// Reasoning is thought aloud before the text.
func (s Step) Reasoning(text string) Step { s.reasoning = text; return s }

// Delay waits before the first chunk (or the failure).
func (s Step) Delay(d time.Duration) Step { s.delay = d; return s }

// Pace waits before each chunk but the first.
func (s Step) Pace(d time.Duration) Step { s.pace = d; return s }

// ChunkSize cuts reasoning, text and arguments into deltas of n runes (default 8; n < 1: one delta each).
func (s Step) ChunkSize(n int) Step {
	if n < 1 {
		n = -1
	}
	s.chunk = n
	return s
}

// Deltas gives the text in exactly these pieces.
func (s Step) Deltas(pieces ...string) Step { s.text, s.deltas = "", pieces; return s }

// Finish overrides the reason, which otherwise follows from whether there are calls.
func (s Step) Finish(f llm.Finish) Step { s.finish = f; return s }

// Usage reports tokens; what is negative stays unknown.
func (s Step) Usage(prompt, completion, cached int) Step {
	s.usage.Prompt, s.usage.Completion, s.usage.Cached = known(prompt), known(completion), known(cached)
	return s
}

// Cost reports what the call cost, in US dollars.
func (s Step) Cost(usd float64) Step { s.usage.Cost = &usd; return s }

// ReasoningTokens reports how many of the completion's tokens were reasoning.
func (s Step) ReasoningTokens(n int) Step { s.usage.Reasoning = known(n); return s }

// Model is the name of the model that answered.
func (s Step) Model(name string) Step { s.model = name; return s }

// Extra is sent along to be given back with the message.
func (s Step) Extra(raw json.RawMessage) Step { s.extra = raw; return s }

// Cut breaks the connection after n chunks; a reply that has no more than n ends in front of its last chunk, Done.
func (s Step) Cut(n int) Step {
	return s.FailAfter(n, &llm.Error{Kind: llm.ErrCut, Message: "the stream ended before the reply did", Retryable: true})
}

// FailAfter ends with err after n chunks, at the latest in front of Done.
func (s Step) FailAfter(n int, err *llm.Error) Step {
	if err == nil {
		err = &llm.Error{Kind: llm.ErrServer, Status: 500, Message: "scripted failure", Retryable: true}
	}
	s.stop, s.stopAfter, s.err = stopError, n, err
	return s
}

// HangAfter falls silent after n chunks, at the latest in front of Done, until the request is cancelled.
func (s Step) HangAfter(n int) Step { s.stop, s.stopAfter = stopHang, n; return s }

// NoDone ends the stream after n chunks without Done and without an error. No client may do that; it is for testing those
// who must notice.
func (s Step) NoDone(n int) Step { s.stop, s.stopAfter = stopSilent, n; return s }

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// chunks gives the deltas of the reply in order, without Done.
func (s Step) chunks() []llm.Chunk {
	var out []llm.Chunk
	for _, d := range pieces(s.reasoning, s.chunk) {
		out = append(out, llm.Chunk{Reasoning: d})
	}
	text := s.deltas
	if text == nil {
		text = pieces(s.text, s.chunk)
	}
	for _, d := range text {
		out = append(out, llm.Chunk{Text: d})
	}
	for i, c := range s.calls {
		args := pieces(c.Args, s.chunk)
		if len(args) == 0 {
			args = []string{""}
		}
		for j, d := range args {
			delta := &llm.CallDelta{Index: i, Arguments: d}
			if j == 0 {
				delta.Name = c.Name
			}
			out = append(out, llm.Chunk{CallDelta: delta})
		}
	}
	return out
}

// done gives the last chunk. play is how many replies were played before it in this client. Made-up ids are none of those that
// req holds, which may be from before a restart.
func (s Step) done(play int, req llm.Request) llm.Chunk {
	d := &llm.Done{Finish: s.finish, Usage: s.usage, Model: s.model, Extra: s.extra}
	for i, c := range s.calls {
		id := c.ID
		for n := play + 1; id == "" || c.ID == "" && used(req, id); n++ {
			id = fmt.Sprintf("call_%d_%d", n, i+1)
		}
		d.ToolCalls = append(d.ToolCalls, llm.ToolCall{ID: id, Name: c.Name, Arguments: c.Args})
	}
	if d.Finish == "" {
		d.Finish = llm.FinishStop
		if len(d.ToolCalls) > 0 {
			d.Finish = llm.FinishToolCalls
		}
	}
	return llm.Chunk{Done: d}
}

// used reports whether a call of the history has the id.
func used(req llm.Request, id string) bool {
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.ID == id })
	})
}

// pieces cuts s after every n runes.
func pieces(s string, n int) []string {
	if n == 0 {
		n = defaultChunk
	}
	if s == "" {
		return nil
	}
	if n < 0 {
		return []string{s}
	}
	var out []string
	start, count := 0, 0
	for i := range s {
		if count == n {
			out = append(out, s[start:i])
			start, count = i, 0
		}
		count++
	}
	return append(out, s[start:])
}
