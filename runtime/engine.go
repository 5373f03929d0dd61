package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"vitrine/llm"
	"vitrine/runtime/clock"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

// Limits bounds what a run may use and what a prompt may hold.
type Limits struct {
	Budget Budget
	// ContextTokens bounds a request, schemas and the reply's reserve included; RawTurns is how many turns stay unfolded.
	ContextTokens, RawTurns int
	// ResultChars bounds a tool result in the prompt; the rest is an artifact.
	ResultChars int
	Temperature *float64
	// ReplyTokens bounds a reply at the server; 0 leaves it to that. It is kept free beside the prompt.
	ReplyTokens int
	// Headless says that nobody can answer a question: a run that needs a word is left where it is.
	Headless bool
	// Fold says who starts a fold; the zero value is auto.
	Fold FoldMode
	// ParkLimit ends a commit that keeps failing; 0 goes on until it succeeds or the engine shuts down.
	ParkLimit time.Duration
}

// Publisher takes events that are not stored. trace.Bus is one; it never blocks.
type Publisher interface {
	Publish(events ...trace.Event)
}

// Dispatch is a model call or a tool call that is about to happen.
type Dispatch struct {
	SessionID, RunID string
	Step             int
	// Request is set for a model call, Call for a tool call.
	Request *llm.Request
	Call    *CallRow
}

// Ruling is a Gate's word on a dispatch.
type Ruling struct {
	// Deny keeps a tool call from running; Reason goes to the model.
	Deny   bool
	Reason string
}

// Gate stands before each dispatch. It may wait; ctx ends with the run.
type Gate interface {
	Before(ctx context.Context, d Dispatch) (Ruling, error)
}

// EngineConfig is what an Engine is made of. All fields but Owns, Memory, Gate, Policy, Serves, Checks, Faults and OnPanic are needed.
type EngineConfig struct {
	Store Store
	// Owns says with ErrFenced that a session is not under the fence any more; it is asked before each tool that changes something
	// outside, so that a process that stood still meanwhile does not act. Nil is never.
	Owns func(ctx context.Context, sessionID string, f Fence) error
	// Memory is where folds are kept; nil is a store that cannot fold.
	Memory Memory
	// Model routes by Request.Model.
	Model        llm.Client
	DefaultModel string
	Registry     *tools.Registry
	Executor     *tools.Executor
	Bus          Publisher
	Clock        clock.Clock
	// NewID gives UUIDv7.
	NewID  func() string
	Limits Limits
	// System is the system prompt, the same bytes for the life of the engine.
	System string
	// Summarize is the system prompt of a fold's model call.
	Summarize string
	User      string
	Gate      Gate
	// Policy decides which calls need the user's word; nil lets everything run.
	Policy *Policy
	// Serves says why a model cannot be reached here, if so; nil takes every one.
	Serves func(model string) error
	// Checks are what the answers of the runs that this engine starts have to pass; nil is nothing.
	Checks *Checks
	Faults *Faults
	// OnPanic is told of a panic that failed a turn, for the log; it may be nil.
	OnPanic func(*PanicError)
}

// Engine runs sessions. Each open session has a goroutine of its own that takes requests one by one, and one more while a
// run is on. It implements Agent and is safe for concurrent use.
type Engine struct {
	cfg            EngineConfig
	specs          []llm.ToolSpec
	fixed, schemas int // estimate of system prompt and schemas, and of schemas alone, in tokens
	moves          moves

	mu       sync.Mutex
	sessions map[string]*session
	closed   bool
	done     *clock.Group
}

var _ Agent = (*Engine)(nil)

// NewEngine makes an engine; nothing runs until a session is opened.
func NewEngine(cfg EngineConfig) *Engine {
	e := &Engine{cfg: cfg, specs: cfg.Registry.Specs(), sessions: map[string]*session{}, done: clock.NewGroup(cfg.Clock),
		moves: allMoves()}
	e.schemas = prompt.EstimateTools(e.specs)
	e.fixed = prompt.EstimateMessage(llm.Message{Content: cfg.System}) + e.schemas
	return e
}

// TooLargeError is an input that does not fit into the context whatever is folded.
type TooLargeError struct{ Tokens, Fixed, Limit int }

// Error gives the numbers.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the message is about %d tokens; with %d for system prompt, tools and reply it does not fit into %d (AGENT_MAX_CTX_TOKENS)",
		e.Tokens, e.Fixed, e.Limit)
}

// ErrEmptyInput is an input without text.
var ErrEmptyInput = errors.New("the message is empty")

// CheckSessionID says whether id may name a session: 1 to 128 printable characters without spaces or slashes.
func CheckSessionID(id string) error {
	if id == "" || len(id) > 128 {
		return fmt.Errorf("session id must have 1 to 128 bytes, it has %d", len(id))
	}
	for _, r := range id {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) || unicode.IsSpace(r) || r == '/' || r == '\\' {
			return fmt.Errorf("session id %q may not hold %q", id, r)
		}
	}
	return nil
}

// Open implements Agent.
func (e *Engine) Open(ctx context.Context, id string, create bool) (Snapshot, error) {
	if err := CheckSessionID(id); err != nil {
		return Snapshot{}, err
	}
	s, err := e.obtain(id)
	if err != nil {
		return Snapshot{}, err
	}
	var snap Snapshot
	err = s.do(ctx, func() error {
		var err error
		snap, err = s.open(create)
		return err
	})
	if err != nil {
		var held *HeldError
		if errors.As(err, &held) {
			snap.HeldBy = held.PID
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return Snapshot{}, err
		}
		e.drop(s)
		return snap, err
	}
	return snap, nil
}

// obtain gives the session's actor, starting it when there is none.
func (e *Engine) obtain(id string) (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if s, ok := e.sessions[id]; ok {
		return s, nil
	}
	s := newSession(e, id)
	e.sessions[id] = s
	e.done.Go(s.loop)
	return s, nil
}

// drop ends the actor of a session that is not open.
func (e *Engine) drop(s *session) {
	e.mu.Lock()
	if e.sessions[s.id] == s && !s.isOpen() {
		delete(e.sessions, s.id)
		s.mailbox.Close()
	}
	e.mu.Unlock()
}

func (e *Engine) find(id string) (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	s, ok := e.sessions[id]
	if !ok {
		return nil, fmt.Errorf("session %s is not open: %w", id, ErrNotFound)
	}
	return s, nil
}

// Submit implements Agent.
func (e *Engine) Submit(ctx context.Context, id, text string) error {
	s, err := e.find(id)
	if err != nil {
		return err
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return ErrEmptyInput
	}
	said := e.cfg.Clock.Now()
	return s.do(ctx, func() error { return s.submit(text, said) })
}

// Cancel implements Agent.
func (e *Engine) Cancel(id string) {
	if s, err := e.find(id); err == nil {
		s.stopRun(ReasonUser)
	}
}

// Withdraw implements Agent.
func (e *Engine) Withdraw(ctx context.Context, id, inboxID string) (string, error) {
	s, err := e.find(id)
	if err != nil {
		return "", err
	}
	var text string
	err = s.do(ctx, func() error {
		var err error
		text, err = s.withdraw(inboxID)
		return err
	})
	return text, err
}

// Set implements Agent.
func (e *Engine) Set(ctx context.Context, id string, change Setting) error {
	s, err := e.find(id)
	if err != nil {
		return err
	}
	return s.do(ctx, func() error { return s.set(change) })
}

// Close implements Agent.
func (e *Engine) Close(ctx context.Context, id string) error {
	s, err := e.find(id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.closeIdle(ctx); err != nil {
		return err
	}
	e.drop(s)
	return nil
}

// Shutdown implements Agent. It returns when every goroutine of the engine has ended or ctx is done.
func (e *Engine) Shutdown(ctx context.Context, leave bool) error {
	e.mu.Lock()
	e.closed = true
	all := make([]*session, 0, len(e.sessions))
	for _, s := range e.sessions {
		all = append(all, s)
	}
	e.mu.Unlock()
	reason := ReasonUser
	if leave {
		reason = ReasonPaused
	}
	for _, s := range all {
		s.shut(reason)
	}
	if err := e.done.Wait(ctx); err != nil {
		return fmt.Errorf("wait for running sessions to end: %w", err)
	}
	return nil
}

// storeContext is what writes run under: a run's cancel never ends a commit.
func (e *Engine) storeContext() (context.Context, context.CancelFunc) {
	return e.cfg.Clock.WithTimeout(context.Background(), commitDeadline)
}

// commitDeadline bounds one attempt of a commit.
const commitDeadline = 30 * time.Second
