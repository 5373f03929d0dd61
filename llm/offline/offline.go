// Package offline is the built-in demo model: deterministic rules in place of a model, so that the program is whole without
// a key, a network or a cost. It is not AI and says so.
//
// It understands English and Chinese. Arithmetic goes to the calculator tool, look-ups to search_mock, reminders to todo, files
// to read_file, list_dir and write_file; the answer is then made from the results in the history. What it was told it finds again
// in the messages of the request or in the runtime's memory block, and it says plainly when it was not told. It writes summaries
// for the runtime, and long answers to try the screen with.
//
// A reply is a pure function of the request (respond): a message about a file is understood as a whole (files.go), another one is
// cut into clauses (clause.go), each becomes an intent (intent.go, with todo.go, arith.go and lex.go), statements become facts
// (fact.go), questions are matched with facts by shared keywords (keywords.go, recall.go). The Client only streams the reply at
// its pace.
package offline

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

// ModelName is what the model calls itself.
const ModelName = "offline"

// Config is how a Client is made.
type Config struct {
	// Clock measures the pace. It may be nil when Pace is 0.
	Clock clock.Clock
	// Pace is the time between two deltas; 0 gives the whole reply at once, still in deltas.
	Pace time.Duration
}

// Client is the offline model. It is safe for concurrent use.
type Client struct {
	cfg   Config
	cache promptCache
}

// New makes a Client.
func New(cfg Config) *Client { return &Client{cfg: cfg} }

// Stream answers the request. The only error is that of ctx.
func (c *Client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		r := respond(req)
		done := llm.Done{Finish: llm.FinishStop, Model: ModelName, Usage: c.cache.promptUsage(req)}
		spent := 0
		for _, piece := range pieces(r.text) {
			n := tokensOf(piece)
			if req.MaxTokens > 0 && spent+n > req.MaxTokens {
				done.Finish = llm.FinishLength
				break
			}
			spent += n
			if !c.send(ctx, llm.Chunk{Text: piece}, yield) {
				return
			}
		}
		next := nextCallID(req)
		for i, call := range r.calls {
			n := tokensOf(call.Name) + tokensOf(call.Arguments)
			if done.Finish == llm.FinishLength || req.MaxTokens > 0 && spent+n > req.MaxTokens {
				done.Finish, done.ToolCalls = llm.FinishLength, nil
				break
			}
			spent += n
			call.ID = "call_" + strconv.Itoa(next+i)
			done.Finish, done.ToolCalls = llm.FinishToolCalls, append(done.ToolCalls, call)
			if !c.send(ctx, llm.Chunk{CallDelta: &llm.CallDelta{Index: i, Name: call.Name, Arguments: call.Arguments}}, yield) {
				return
			}
		}
		done.Usage.Completion = &spent
		c.send(ctx, llm.Chunk{Done: &done}, yield)
	}
}

// send waits for the pace and yields ch; false means that the stream is over.
func (c *Client) send(ctx context.Context, ch llm.Chunk, yield func(llm.Chunk, error) bool) bool {
	err := ctx.Err()
	if err == nil && c.cfg.Pace > 0 && ch.Done == nil {
		if err = c.cfg.Clock.Sleep(ctx, c.cfg.Pace); err != nil && ctx.Err() != nil {
			err = ctx.Err() // the context's own error, for those who compare
		}
	}
	if err != nil {
		yield(llm.Chunk{}, err)
		return false
	}
	return yield(ch, nil)
}

// nextCallID is one more than the highest number among the ids of the history, so that ids stay unique in it, also when a part
// of it was folded away.
func nextCallID(req llm.Request) int {
	highest := 0
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			if n, err := strconv.Atoi(strings.TrimPrefix(c.ID, "call_")); err == nil && n < 1<<40 {
				highest = max(highest, n)
			}
		}
	}
	return highest + 1
}
