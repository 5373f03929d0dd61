// Package llm defines what the runtime says to a model and what a model answers, whatever protocol lies between.
//
// A Client streams one reply as chunks. Decorators add one duty each: Retry owns every retry, a Limiter lets the requests
// to one endpoint wait together, Watchdog ends a stream that fell silent. The subfolders hold the clients: openai (chat completions over HTTP), scripted (plays a script) and
// offline (the built-in rules). llmtest holds the one suite that all of them pass.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Role is who a message is from, as on the wire.
type Role string

// The roles of a request.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Kind says more about a message than its role: what put it there. It never reaches the wire.
type Kind string

// The kinds of a message in a request.
const (
	KindSystem    Kind = "system"
	KindMemory    Kind = "memory"
	KindUser      Kind = "user"
	KindAssistant Kind = "assistant"
	KindTool      Kind = "tool"
	KindNotice    Kind = "notice"
	KindClosing   Kind = "closing"
)

// Message is one message of a request or one reply.
type Message struct {
	Role    Role   `json:"role"`
	Kind    Kind   `json:"kind,omitempty"`
	Content string `json:"content"`
	// ToolCalls are the calls that an assistant message asks for, in order.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID and Name say which call a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	Name       string `json:"name,omitempty"`
	// Extra holds provider fields to send back unchanged (reasoning content, signatures), as one JSON object.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// ToolCall is one call that a model asked for.
type ToolCall struct {
	// ID is the provider's id: wire data only, unique within a reply, never empty (made up when the provider sent none).
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the raw text as the model wrote it. It may be no JSON; who executes checks.
	Arguments string `json:"arguments"`
	// Extra holds unknown provider fields of the call, to send back unchanged.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// ToolSpec describes one tool to the model.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Request is one request to a model. A Client never changes it.
type Request struct {
	Model    string
	Messages []Message
	// Tools are sorted by name.
	Tools []ToolSpec
	// Temperature is left out when nil.
	Temperature *float64
	// MaxTokens bounds the reply; 0 leaves it to the server.
	MaxTokens int
	// Schema is the shape that the reply's text shall have, as far as the server can see to it: whoever asks checks the reply.
	// Nil is any text.
	Schema *Schema
	// Openings are how a reply in a form that was asked for in words begins, in whatever case; none is any way.
	Openings []string
}

// Schema is a JSON schema with a name of letters, digits, - and _.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Usage is what the provider reported, in tokens; nil is unknown, never zero in its place.
type Usage struct {
	Prompt     *int `json:"prompt_tokens"`
	Completion *int `json:"completion_tokens"`
	Cached     *int `json:"cached_tokens"`
	Reasoning  *int `json:"reasoning_tokens"`
	// Cost is in US dollars, as the provider reports it or by its prices.
	Cost *float64 `json:"cost,omitempty"`
}

// Finish is why a reply ended.
type Finish string

// The reasons that the runtime tells apart; others are passed on as they came.
const (
	FinishStop          Finish = "stop"
	FinishToolCalls     Finish = "tool_calls"
	FinishLength        Finish = "length"
	FinishContentFilter Finish = "content_filter"
)

// Chunk is one piece of a streamed reply. At most one of its parts is set, but for the last one. A chunk with none is a
// sign of life from a connection on which no part of the reply came; it tells that one is waited for no longer than since then.
type Chunk struct {
	// Text and Reasoning are deltas, valid UTF-8.
	Text      string
	Reasoning string
	// Void tells that what was yielded as text before was reasoning, which only turned out now.
	Void bool
	// CallDelta tells that a call grew, for the screen only; the calls to run are in Done.
	CallDelta *CallDelta
	// Retry tells that the client waits before it tries again. What was yielded before it is void.
	Retry *RetryWait
	// Queue tells where a request is that waits with others, for the screen only.
	Queue QueuePlace
	// Done is the last chunk of every reply that ended properly. A stream that ends without Done and without an error
	// is a fault of the Client.
	Done *Done
}

// Empty says whether the chunk is only a sign of life.
func (c Chunk) Empty() bool { return c == Chunk{} }

// CallDelta is the growth of one call.
type CallDelta struct {
	Index     int
	Name      string
	Arguments string // the delta
}

// Done closes a reply.
type Done struct {
	Finish    Finish
	ToolCalls []ToolCall
	Usage     Usage
	// Model is the model that answered, as the server named it; empty when it did not.
	Model string
	// Extra goes into the assistant message, to be sent back (see Message.Extra).
	Extra json.RawMessage
	// Notes tell what the server did that its user may want to change.
	Notes []Note
}

// NoteToolText is the code of a note on a call that was left in the text of a reply.
const NoteToolText = "tool_text"

// Note is something that a server did and that went well all the same. Its texts are clean, one line each.
type Note struct {
	// Code is one word for programs.
	Code string
	// Message is what happened, Why what it follows from, Todo what can be changed.
	Message, Why, Todo string
}

// RetryWait is one wait of Retry or of a Limiter.
type RetryWait struct {
	// Attempt is the attempt that failed, from 1; 0 is a wait before the first one. Max is how many there are at most; 0
	// is a wait of which Retry has not told yet.
	Attempt, Max int
	Wait         time.Duration
	// Cause is one clean line without a key.
	Cause string
	// Status is the HTTP status, 0 when there was none.
	Status int
	// Shared says that the refusal which Cause tells of was another request's too: all requests to the server wait, and no attempt of
	// this one failed anew.
	Shared bool
}

// QueuePlace is where a request is whose wait with others was told.
type QueuePlace string

const (
	// Queued is a request that may go out, but for others that came before it.
	Queued QueuePlace = "queued"
	// Sent is one that goes out now.
	Sent QueuePlace = "sent"
)

// Client talks to one endpoint.
type Client interface {
	// Stream yields chunks until the reply ends: either a chunk with Done is the last, or an error is. It is safe for
	// concurrent use. Cancelling ctx closes the connection and ends the stream with ctx's error. Errors are *Error but for
	// that of ctx.
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}
