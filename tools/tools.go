// Package tools defines what an agent can call: typed tools, the registry that describes them to the model, the structured
// result that goes back, and the executor that runs a call within its deadline.
//
// A call goes through them in this order: Registry.Prepare finds the tool, reads the arguments that the model wrote
// (ParseArguments) and checks them against the schema (Check); Executor.Execute runs it; Limit shortens the result for the
// prompt and EncodeResult writes it. Each step gives an Error that the model can act on instead of going on with a guess.
//
// A tool never writes the program's own data. It returns Changes, and the engine commits them in the same transaction as
// the result, so that they happen exactly once.
package tools

import (
	"context"
	"encoding/json"
	"time"
)

// Effect is what running a tool may change, and so what may be done after a crash.
type Effect string

// The effects.
const (
	ReadOnly   Effect = "read_only"   // may run again, and beside others
	OwnData    Effect = "own_data"    // returns Changes that the engine commits
	Idempotent Effect = "idempotent"  // may run again with the same key
	Probeable  Effect = "probeable"   // can be asked what happened
	SideEffect Effect = "side_effect" // neither; an unknown outcome is the user's to judge
)

// Code is a machine-readable failure.
type Code string

// The codes.
const (
	CodeUnknownTool        Code = "unknown_tool"
	CodeMalformedArguments Code = "malformed_arguments"
	CodeTruncatedArguments Code = "truncated_arguments"
	CodeInvalidArgument    Code = "invalid_argument"
	CodeNotFound           Code = "not_found"
	CodeConflict           Code = "conflict"
	CodeDenied             Code = "denied"
	CodeNotRun             Code = "not_run"
	CodeInterrupted        Code = "interrupted"
	CodeTimeout            Code = "timeout"
	CodeUnavailable        Code = "unavailable"
	CodeOutcomeUnknown     Code = "outcome_unknown"
	CodeInternal           Code = "internal"
)

// Error is a tool's failure as data for the model. A tool function returns it as its error; any other error becomes
// CodeInternal.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Field is the argument at fault, as a path.
	Field     string `json:"field,omitempty"`
	Expected  string `json:"expected,omitempty"`
	Retryable bool   `json:"retryable"`
}

// Error gives code and message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Result is what goes back to the model, always in this shape.
type Result struct {
	OK        bool            `json:"ok"`
	Data      json.RawMessage `json:"data,omitempty"`
	Error     *Error          `json:"error,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	// Notice is the runtime's word to the model.
	Notice string `json:"notice,omitempty"`
}

// Call is one call as a tool sees it.
type Call struct {
	// Key is the idempotency key: the id of the call's row, the same on every attempt.
	Key       string
	SessionID string
	RunID     string
	// Progress tells how far a long call is; it never blocks. It is never nil.
	Progress func(text string)
	// Wait is told of each wait before another attempt, by the executor; nil is nobody.
	Wait func(Wait)
}

// Wait is one failed attempt of a call and the wait after it.
type Wait struct {
	// Attempt has failed, of Max at most; the next one comes after For.
	Attempt, Max int
	For          time.Duration
	Cause        string
}

// Output is what a tool function returns.
type Output struct {
	// Data is marshalled as the result's data.
	Data any
	// Summary is a few words for one row of a screen, such as "3 hits".
	Summary string
	Changes []Change
}

// Change is a change to the program's own data, committed by the engine with the result.
type Change interface{ change() }

// TodoAdd adds a todo.
type TodoAdd struct{ ID, Text string }

// TodoSet completes or reopens a todo.
type TodoSet struct {
	ID        string
	Completed bool
}

func (TodoAdd) change() {}
func (TodoSet) change() {}

// Todo is one entry of a session's list.
type Todo struct {
	ID          string     `json:"id"`
	Text        string     `json:"text"`
	Completed   bool       `json:"completed"`
	CreatedAt   time.Time  `json:"created_at"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
}

// TodoReader gives a session's todos in the order of their making. The store implements it.
type TodoReader interface {
	Todos(ctx context.Context, sessionID string) ([]Todo, error)
}

// Artifact names a large output that is kept outside the prompt.
type Artifact struct {
	// Handle is what the model calls it by, Tool is whose output it is.
	Handle, Tool string
	Bytes        int
}

// ArtifactReader gives the large outputs of a session, of no other one. The store implements it.
type ArtifactReader interface {
	// ReadArtifact gives an artifact with the whole of it; ok is false when the session has none of that handle.
	ReadArtifact(ctx context.Context, sessionID, handle string) (a Artifact, content string, ok bool, err error)
	// ListArtifacts gives up to limit artifacts, the newest first.
	ListArtifacts(ctx context.Context, sessionID string, limit int) ([]Artifact, error)
}

// ResultReader gives what tools have given in a session before, in this process and those before it. The store implements it.
type ResultReader interface {
	// Results gives up to limit stored results, each a Result as JSON, of calls of the named tools in this session that
	// succeeded, the newest first.
	Results(ctx context.Context, sessionID string, names []string, limit int) ([]json.RawMessage, error)
}

// Tool is one tool. New makes it.
type Tool interface {
	Name() string
	Description() string
	// Schema is the JSON Schema of the arguments.
	Schema() json.RawMessage
	Effect() Effect
	// Deadline bounds one attempt; 0 is the executor's default.
	Deadline() time.Duration
	// Run checks the arguments against the schema and runs the tool. args is one JSON object. The error is nil, *Error or
	// ctx's.
	Run(ctx context.Context, call Call, args json.RawMessage) (Output, error)
	// Probe tells what became of a started call; ok is false for tools that cannot tell.
	Probe(ctx context.Context, call Call, args json.RawMessage) (out Output, ran, ok bool, err error)
}

// Previewer is what a tool may be besides: one that can say beforehand what a call would do, as text for the user who is asked
// whether it may run. Tools that New makes are, with WithPreview or without.
type Previewer interface {
	// Preview gives some lines, such as a unified diff, in which nothing is hidden: characters that do not show are spelled out.
	// It changes nothing, is empty when there is nothing to show, and gives the *Error that Run would when the call would be
	// refused.
	Preview(ctx context.Context, call Call, args json.RawMessage) (string, error)
}
