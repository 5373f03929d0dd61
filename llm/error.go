package llm

import (
	"fmt"
	"time"
)

// ErrorKind is what went wrong with a model call, as far as the runtime acts on it.
type ErrorKind string

// The kinds.
const (
	ErrConnect   ErrorKind = "connect"   // no connection, or it broke before the first byte
	ErrTimeout   ErrorKind = "timeout"   // no first byte, or silence within the stream
	ErrCut       ErrorKind = "cut"       // the stream ended before the reply did
	ErrRate      ErrorKind = "rate"      // 429 that time cures
	ErrQuota     ErrorKind = "quota"     // 402, or 429 that means no more for hours
	ErrAuth      ErrorKind = "auth"      // 401, 403
	ErrNotFound  ErrorKind = "not_found" // 404: no such model or path
	ErrContext   ErrorKind = "context"   // the prompt is too long for the model
	ErrNoTools   ErrorKind = "no_tools"  // the model cannot be given tools here
	ErrRejected  ErrorKind = "rejected"  // any other 4xx
	ErrServer    ErrorKind = "server"    // 5xx, or an error inside a stream
	ErrProtocol  ErrorKind = "protocol"  // an answer that is no chat completion
	ErrTooLarge  ErrorKind = "too_large" // an answer beyond our limits
	ErrExhausted ErrorKind = "exhausted" // a scripted client has no more steps
)

// Error is a failed model call. Its texts are clean: one line, no control characters, no key, at most 300 characters of
// what the server said.
type Error struct {
	Kind   ErrorKind
	Status int
	// Host is where the request went, without user info or query.
	Host string
	// Message is what the server said, or what happened.
	Message string
	// Hint is what can be changed at this server; empty when that is not known.
	Hint string
	// RetryAfter is what the server asked for; 0 is unknown.
	RetryAfter time.Duration
	// Silent says that a stream had begun and then brought nothing for too long.
	Silent bool
	// Retryable says whether the same request may succeed later.
	Retryable bool
	// Err is the cause, if any; it takes no part in Error() so that it cannot leak.
	Err error
	// Pause is how long a Limiter lets all requests wait because of this error; 0 is not at all. Retry waits as long, so that there
	// is one wait.
	Pause time.Duration
}

// Error says what happened, where, what the server said and what can be changed.
func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Status != 0 {
		s = fmt.Sprintf("HTTP %d", e.Status)
	}
	if e.Host != "" {
		s = e.Host + ": " + s
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
