// Package trace is the one vocabulary of what happens: events, the bus that carries them, the JSONL file that readers
// outside follow, and the tree of spans that the trace pane and `vitrine trace` show.
//
// Events with a sequence number are stored with the change that they tell of and published after its commit; events
// without one are transient: they may be merged or dropped on the way and are never needed to know what is true.
package trace

import (
	"encoding/json"
	"time"
)

// Name is the name of an event.
type Name string

// Stored events. Readers outside rely on run_start, llm_call, tool_call, tool_result, compact, answer, error and run_end.
const (
	RunStart        Name = "run_start"
	LLMCall         Name = "llm_call"
	ToolCall        Name = "tool_call"
	ToolResult      Name = "tool_result"
	Compact         Name = "compact"
	Answer          Name = "answer"
	Error           Name = "error"
	RunEnd          Name = "run_end"
	Approval        Name = "approval"
	HistoryRepaired Name = "history_repaired"
	Pin             Name = "pin"
	Todo            Name = "todo"
	Session         Name = "session"
	InputQueued     Name = "input_queued"
	Artifact        Name = "artifact"
	Notice          Name = "notice"
)

// Transient events.
const (
	State    Name = "state"
	Delta    Name = "delta"
	Retry    Name = "retry"
	Progress Name = "progress"
)

// Gap stands only in the JSONL file, where events are missing.
const Gap Name = "gap"

// Event is one thing that happened.
type Event struct {
	// TS is UTC; it is written with microseconds.
	TS time.Time
	// Seq is the place in the session's order, from 1; 0 marks a transient event (null in JSON).
	Seq       int64
	SessionID string
	// RunID is empty outside runs (null in JSON).
	RunID string
	Turn  int
	Name  Name
	Step  int
	// Data is the typed struct of the name; *Unknown for names of a newer version.
	Data Data
}

// Data is what an event carries: one struct type for each name.
type Data interface{ EventName() Name }

// RunStartData opens a run.
type RunStartData struct {
	Input string `json:"input"` // the user's text
	Model string `json:"model"`
	N     int64  `json:"n"` // the user message's place in the session
	// Caps are what the run may use; nil in traces of before they were told.
	Caps *Caps `json:"caps,omitempty"`
}

// LLMCallData is one model call that ended, well or not. What the provider did not report is null.
type LLMCallData struct {
	Model            string `json:"model"`
	LatencyMS        int64  `json:"latency_ms"`
	TTFTMS           *int64 `json:"ttft_ms"`
	PromptTokens     *int   `json:"prompt_tokens"`
	CompletionTokens *int   `json:"completion_tokens"`
	CachedTokens     *int   `json:"cached_tokens"`
	ReasoningTokens  *int   `json:"reasoning_tokens"`
	// Cost is in US dollars, as the provider reports it or by the list prices; null when unknown.
	Cost *float64 `json:"cost"`
	// Estimate is our own count of the prompt, in tokens.
	Estimate      int    `json:"estimate"`
	ToolCallCount int    `json:"tool_call_count"`
	FinishReason  string `json:"finish_reason"`
	Attempts      int    `json:"attempts"`
	// Text is the commentary beside calls, or the answer.
	Text string `json:"text,omitempty"`
	// Error is set when the call failed for good.
	Error string `json:"error,omitempty"`
	// PrefixBreak says why this request does not begin with the one before: model tools system fold undo pin repair other; empty
	// when it does, and for the first request since the session was opened (then PrefixBytes is 0).
	PrefixBreak string `json:"prefix_break,omitempty"`
	// PrefixAt is the place of the first message that differs, from 1; 0 when model or tools differ, or nothing.
	PrefixAt int `json:"prefix_at,omitempty"`
	// PromptBytes is the size of the request (tools and messages), PrefixBytes how much of its beginning was sent before, and
	// PrefixTokens our estimate of that.
	PromptBytes  int `json:"prompt_bytes,omitempty"`
	PrefixBytes  int `json:"prefix_bytes,omitempty"`
	PrefixTokens int `json:"prefix_tokens,omitempty"`
	// PrefixID names the sequence that was sent, for comparing the next request with it, also in another process.
	PrefixID string `json:"prefix_id,omitempty"`
	// ContextMS is how long the request took to make, folds included; nil in traces of old.
	ContextMS *int64 `json:"context_ms,omitempty"`
	// StartedAt is when the call began.
	StartedAt time.Time `json:"started_at"`
}

// ToolCallData is a call that was dispatched or queued.
type ToolCallData struct {
	ID        string          `json:"id"` // the call's row, also the idempotency key
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool"`
	Effect    string          `json:"effect"`
	Ord       int             `json:"ord"`
	Arguments json.RawMessage `json:"arguments"`
	// RawArguments is the model's text when it was not executed as written.
	RawArguments string `json:"raw_arguments,omitempty"`
	Status       string `json:"status"` // pending or started, or how a call ended that was not run
}

// Shown is what there is to show as the arguments of a call: what runs or would run, and what the model wrote only where nothing of
// that could be run.
func (d ToolCallData) Shown() json.RawMessage {
	nothing := len(d.Arguments) == 0 || string(d.Arguments) == "{}"
	if d.RawArguments != "" && nothing && d.Status != "started" && d.Status != "denied" {
		return json.RawMessage(d.RawArguments)
	}
	return d.Arguments
}

// ToolResultData is the end of a call.
type ToolResultData struct {
	ID         string          `json:"id"`
	CallID     string          `json:"call_id"`
	Tool       string          `json:"tool"`
	Status     string          `json:"status"` // done denied not_run interrupted unknown
	OK         bool            `json:"ok"`
	Code       string          `json:"code,omitempty"`
	Result     json.RawMessage `json:"result"`
	DurationMS int64           `json:"duration_ms"`
	Bytes      int             `json:"bytes"`
	Truncated  bool            `json:"truncated,omitempty"`
	Artifact   string          `json:"artifact,omitempty"`
	// Summary is a few words for one row of a screen: "3 hits", "42.336".
	Summary string `json:"summary,omitempty"`
}

// CompactData is one phase of a fold. What a phase does not know is left out.
type CompactData struct {
	// ID is the fold's, the same in all phases.
	ID     string `json:"id,omitempty"`
	Phase  string `json:"phase"`            // started summarised checked merged asked committed refused failed undone
	Reason string `json:"reason,omitempty"` // turns tokens context asked
	// FirstN to LastN leave the window; Leaving names the first of them, Shortened those that stay with less, both up to a
	// bound. LeavingCount is how many leave.
	FirstN    int64            `json:"first_n,omitempty"`
	LastN     int64            `json:"last_n,omitempty"`
	Leaving   []CompactMessage `json:"leaving,omitempty"`
	Shortened []CompactMessage `json:"shortened,omitempty"`

	LeavingCount int `json:"leaving_count,omitempty"`
	// TokensBefore and TokensAfter are of the whole request, Limit is what it has to fit into.
	TokensBefore int `json:"tokens_before,omitempty"`
	TokensAfter  int `json:"tokens_after,omitempty"`
	Limit        int `json:"limit,omitempty"`
	// Changes tells what the merge did to each field; Pinned are the sentences that were pinned.
	Changes []CompactChange `json:"changes,omitempty"`
	Pinned  []string        `json:"pinned,omitempty"`
	// Unpinned are the oldest rules, which gave way because there was no room for more.
	Unpinned []string `json:"unpinned,omitempty"`
	// Before and After are the summaries.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// DurationMS and Tokens are what the summary took.
	DurationMS int64  `json:"duration_ms,omitempty"`
	Tokens     int    `json:"tokens,omitempty"`
	Detail     string `json:"detail,omitempty"`
}

// CompactMessage is one message of a fold in a few words.
type CompactMessage struct {
	N      int64  `json:"n"`
	Turn   int    `json:"turn,omitempty"`
	Kind   string `json:"kind"`
	Title  string `json:"title"`
	Tokens int    `json:"tokens"`
}

// CompactChange is what a merge did to one field of the summary.
type CompactChange struct {
	Field   string   `json:"field"`
	Added   []string `json:"added,omitempty"`
	Kept    []string `json:"kept,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
}

// AnswerData is the assistant message that closed a turn.
type AnswerData struct {
	Text string `json:"text"`
	// Fixed marks a closing text that is ours, not the model's.
	Fixed bool  `json:"fixed,omitempty"`
	N     int64 `json:"n"`
	// Partial marks an answer that was cut by a cancel or a crash.
	Partial bool `json:"partial,omitempty"`
}

// ErrorData is a failure that the user is told of.
type ErrorData struct {
	Message string `json:"message"`        // what happened
	Why     string `json:"why,omitempty"`  // why, as far as known
	Todo    string `json:"todo,omitempty"` // what to do
	Code    string `json:"code,omitempty"`
	// Stored is false for an error that could not be stored; such an event is transient.
	Stored bool `json:"stored"`
}

// NoticeData is something that the user should know; nothing failed.
type NoticeData struct {
	Code    string `json:"code"`           // context_soon server_cuts tools_left_out reply_cut policy_denies cost_unknown, or that of a note of the model's client
	Message string `json:"message"`        // what is so
	Why     string `json:"why,omitempty"`  // what it follows from
	Todo    string `json:"todo,omitempty"` // what can be done
}

// RunEndData closes a run.
type RunEndData struct {
	State      string `json:"state"`  // succeeded failed cancelled exhausted
	Reason     string `json:"reason"` // typed reason, empty for succeeded
	Steps      int    `json:"steps"`
	Calls      int    `json:"calls"`
	Tokens     int    `json:"tokens"` // prompt and completion, all steps; estimates where nothing was reported
	Estimated  bool   `json:"estimated,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	// PromptTokens and CompletionTokens are what Tokens is the sum of; CachedTokens and ReasoningTokens are parts of them, null when
	// never reported.
	PromptTokens     int  `json:"prompt_tokens,omitempty"`
	CompletionTokens int  `json:"completion_tokens,omitempty"`
	CachedTokens     *int `json:"cached_tokens,omitempty"`
	ReasoningTokens  *int `json:"reasoning_tokens,omitempty"`
	// Cost is in US dollars, null when unknown.
	Cost *float64 `json:"cost"`
}

// ApprovalData is a question to the user, or its answer.
type ApprovalData struct {
	Phase string `json:"phase"` // asked decided
	// ID is the call's row; CallID is the provider's.
	ID     string `json:"id"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	Effect string `json:"effect,omitempty"`
	// Arguments are what would run, Preview what the tool says that it would do.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Preview   string          `json:"preview,omitempty"`
	// Place and Of number the questions that stand at once.
	Place int `json:"place,omitempty"`
	Of    int `json:"of,omitempty"`
	// Cause is break for a call that the debugger holds and the policy would let run; empty when the policy asks.
	Cause string `json:"cause,omitempty"`
	// Answer is allow, deny, answer (the user's own result; the tool does not run) or edit (another call with other arguments
	// takes its place and is asked about by itself); or, of a call whose outcome nobody knew, happened, not or again.
	Answer string `json:"answer,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Always is set when the user let the tool run in this session from then on.
	Always bool `json:"always,omitempty"`
}

// HistoryRepairedData tells that dangling calls of a run that was given up were closed.
type HistoryRepairedData struct {
	Calls  []string `json:"calls"`
	Reason string   `json:"reason"`
}

// PinData is a pin that came or went.
type PinData struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// N is the message that the sentence stands in, 0 for none.
	N      int64  `json:"n,omitempty"`
	Action string `json:"action"` // added removed
}

// TodoData is a change of a todo.
type TodoData struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Completed bool   `json:"completed"`
	Action    string `json:"action"` // added completed reopened removed
}

// SessionData is a change of the session itself.
type SessionData struct {
	Action string `json:"action"` // created renamed model held taken_over deleted break
	// Title is the session's; of a break it is where runs stand still: next, model, or the tool that Tool names.
	Title  string `json:"title,omitempty"`
	Model  string `json:"model,omitempty"`
	Holder string `json:"holder,omitempty"`
	Tool   string `json:"tool,omitempty"`
}

// InputQueuedData is input to a busy session.
type InputQueuedData struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Action string `json:"action"` // queued taken withdrawn
}

// ArtifactData is a large output that was kept outside the prompt.
type ArtifactData struct {
	Handle string `json:"handle"`
	Tool   string `json:"tool"`
	Bytes  int    `json:"bytes"`
}

// StateData is a change of the run's state.
type StateData struct {
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Meter is the context's use at this moment; nil says nothing of it.
	Meter *Meter `json:"meter,omitempty"`
	// Pause is set while the run stands still before a model call; the next state event without it tells that it went on.
	Pause *Pause `json:"pause,omitempty"`
}

// Pause is what a run stands before that the debugger holds.
type Pause struct {
	// Step is the step that the call would begin.
	Step  int    `json:"step"`
	Model string `json:"model"`
	// Messages is how many would be sent, New how many of them were not in the request before; Tokens estimates all of it.
	Messages int `json:"messages"`
	New      int `json:"new"`
	Tokens   int `json:"tokens"`
	// Last is the step before; nil when there was none in this process.
	Last *StepDone `json:"last,omitempty"`
}

// StepDone is what the record of a step says in short.
type StepDone struct {
	Step   int `json:"step"`
	Calls  int `json:"calls,omitempty"`
	Failed int `json:"failed,omitempty"` // of the calls
	// Tokens is what the step's model call took and gave together; zero when the server did not say.
	Tokens int `json:"tokens,omitempty"`
	// ModelMS is how long the model call took, FirstMS how long its first token.
	ModelMS int64 `json:"model_ms"`
	FirstMS int64 `json:"first_ms,omitempty"`
}

// Meter is the context's use, in tokens.
type Meter struct {
	System    int  `json:"system"` // system prompt, schemas and pins
	Memory    int  `json:"memory"`
	Window    int  `json:"window"`
	Limit     int  `json:"limit"`
	Turns     int  `json:"turns"`     // raw turns in the window
	MaxTurns  int  `json:"max_turns"` // AGENT_MAX_RAW_TURNS
	Estimated bool `json:"estimated"`
	// Cached is the share of the last request that the provider reported as cached, 0 to 1; nil is unknown.
	Cached *float64 `json:"cached"`
}

// Used is the sum of the parts.
func (m Meter) Used() int { return m.System + m.Memory + m.Window }

// DeltaData is a piece of something that streams.
type DeltaData struct {
	Kind string `json:"kind"`         // text reasoning tool_output summary call; alive: a byte came that is no part of a reply; queued sent: after a wait with others
	ID   string `json:"id,omitempty"` // the tool call's row for tool_output
	Text string `json:"text"`
	// Reset voids what streamed before in this step (a retried stream).
	Reset bool `json:"reset,omitempty"`
	// Dropped counts bytes that were left out before this delta because the subscriber was slow.
	Dropped int `json:"dropped,omitempty"`
}

// RetryData is one failed attempt and the wait after it. It has no seq, yet the JSONL file holds it.
type RetryData struct {
	Attempt int    `json:"attempt"`
	Max     int    `json:"max"`
	WaitMS  int64  `json:"wait_ms"`
	Cause   string `json:"cause"`
	Status  int    `json:"status,omitempty"`
	// Shared says that all requests to the server wait for the refusal in Cause: no attempt of this one failed anew.
	Shared bool `json:"shared,omitempty"`
	// Call is the row's id of a tool call that is tried again, Tool its tool; both are empty for a model call.
	Call string `json:"call,omitempty"`
	Tool string `json:"tool,omitempty"`
}

// Text is the cause in a line, with whom it holds for.
func (d RetryData) Text() string {
	if d.Shared {
		return d.Cause + "; all requests to this server wait"
	}
	return d.Cause
}

// ProgressData is what a long tool call says of itself.
type ProgressData struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// GapData says why and since when the JSONL file lacks events.
type GapData struct {
	Cause string `json:"cause"`
	// Lost counts the events that are known to be missing; there may be more.
	Lost int `json:"lost"`
	// Since is when writing stopped; null when only reading fell behind.
	Since *time.Time `json:"since"`
	// After is the sequence number after which events of the session are missing, 0 when it is not one session's.
	After int64 `json:"after,omitempty"`
}

// Unknown is the data of an event whose name this version does not know, kept as it was.
type Unknown struct {
	Name Name
	Raw  json.RawMessage
}

func (RunStartData) EventName() Name        { return RunStart }
func (LLMCallData) EventName() Name         { return LLMCall }
func (ToolCallData) EventName() Name        { return ToolCall }
func (ToolResultData) EventName() Name      { return ToolResult }
func (CompactData) EventName() Name         { return Compact }
func (AnswerData) EventName() Name          { return Answer }
func (ErrorData) EventName() Name           { return Error }
func (NoticeData) EventName() Name          { return Notice }
func (RunEndData) EventName() Name          { return RunEnd }
func (ApprovalData) EventName() Name        { return Approval }
func (HistoryRepairedData) EventName() Name { return HistoryRepaired }
func (PinData) EventName() Name             { return Pin }
func (TodoData) EventName() Name            { return Todo }
func (SessionData) EventName() Name         { return Session }
func (InputQueuedData) EventName() Name     { return InputQueued }
func (ArtifactData) EventName() Name        { return Artifact }
func (StateData) EventName() Name           { return State }
func (DeltaData) EventName() Name           { return Delta }
func (RetryData) EventName() Name           { return Retry }
func (ProgressData) EventName() Name        { return Progress }
func (GapData) EventName() Name             { return Gap }
func (u Unknown) EventName() Name           { return u.Name }
