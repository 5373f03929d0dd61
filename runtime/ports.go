package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/tools"
	"vitrine/trace"
)

// Errors that callers tell apart. Everything else is an infrastructure failure that says what was being done.
var (
	// ErrNotFound: no such session, run, message or todo.
	ErrNotFound = errors.New("not found")
	// ErrHeld: another living process holds the session. It is wrapped by *HeldError.
	ErrHeld = errors.New("session is held by another process")
	// ErrFenced: this process lost the session to another one; nothing was written.
	ErrFenced = errors.New("session was taken over by another process")
	// ErrConstraint: the transaction contradicts what is stored; trying again cannot help.
	ErrConstraint = errors.New("transaction refused")
	// ErrOtherUser: the session belongs to another user.
	ErrOtherUser = errors.New("session belongs to another user")
	// ErrNotStored: a commit kept failing until nobody wanted to wait any longer; nothing is known to be stored.
	ErrNotStored = errors.New("could not be stored")
	// ErrClosed: the engine or the store has been closed.
	ErrClosed = errors.New("closed")
)

// HeldError names who holds a session.
type HeldError struct {
	SessionID string
	PID       int
	Holder    string
}

// Fence is the right to write a session: every write of it names the holder and epoch under which it was opened.
type Fence struct {
	Holder string
	Epoch  int64
}

// SessionRow is one session as stored.
type SessionRow struct {
	ID        string
	UserID    string
	Title     string
	Model     string
	Settings  json.RawMessage
	Summary   json.RawMessage
	TurnCount int
	// NextN and NextSeq are what the next message and event get; both start at 1.
	NextN, NextSeq int64
	// WindowFrom is the n of the first message of the window; KeepN is a user message before it that stays verbatim (0: none).
	WindowFrom, KeepN    int64
	Fence                Fence
	CreatedAt, UpdatedAt time.Time
	// TakenOver is set by OpenSession when the session had been left by a process that died.
	TakenOver bool
}

// SessionInfo is a row of the session list.
type SessionInfo struct {
	ID, UserID, Title, Model string
	TurnCount                int
	Messages                 int64
	CreatedAt, UpdatedAt     time.Time
	// RunState is the state of the unfinished run, or of the last one; empty when there was none.
	RunState, RunReason string
	// HeldBy is the pid of the living process that holds it, 0 when none does; Own says that it is this process.
	HeldBy int
	Own    bool
	// Waits says that the last run is unfinished and wants the user's word: whether a call may run, or what became of one.
	Waits bool
	// Starred says that its user marked it; such a one is not pruned.
	Starred bool
}

// MessageRow is one message as stored. Content is never updated; PromptContent is what the prompt holds in its place when it
// is not nil.
type MessageRow struct {
	ID        string
	SessionID string
	// N gives the order, from 1, without gaps. 0 in a transaction: the store gives the next one.
	N             int64
	Kind          llm.Kind
	Role          llm.Role
	Content       string
	PromptContent *string
	ToolCalls     []llm.ToolCall
	ToolCallID    string
	ToolName      string
	RunID         string
	Step          int
	// Partial marks text that was cut by a cancel or a crash.
	Partial bool
	// Fixed marks a closing text of ours.
	Fixed     bool
	Tokens    int
	Extra     json.RawMessage
	CreatedAt time.Time
}

// RunRow is one run as stored.
type RunRow struct {
	ID, SessionID, ParentRun, Agent string
	Turn                            int
	State                           State
	Reason                          Reason
	Step                            int
	Usage                           RunUsage
	Budget                          Budget
	Versions                        Versions
	Error                           string
	StartedAt                       time.Time
	FinishedAt                      *time.Time
}

// RunUsage is what a run has used.
type RunUsage struct {
	Steps, Calls int
	// Prompt and Completion are tokens; Estimated says that some were not reported.
	Prompt, Completion int
	Estimated          bool
	// Cached are those of the prompts that came out of a cache, Reasoning those of the completions that nobody reads; nil: never
	// reported. Cost is in US dollars, nil: unknown.
	Cached, Reasoning *int
	Cost              *float64
	// Unpriced says that the cost of a reply was not known, so that no cap on it holds.
	Unpriced bool `json:",omitempty"`
	// Active is how long the run was executed; the time between a crash and the resume is not in it.
	Active time.Duration
	// Guards is what an unfinished run has used up of our patience; nil is nothing, as for a run that has ended.
	Guards *Guards `json:",omitempty"`
}

// Add adds what another one used.
func (u *RunUsage) Add(o RunUsage) {
	u.Steps, u.Calls, u.Prompt, u.Completion = u.Steps+o.Steps, u.Calls+o.Calls, u.Prompt+o.Prompt, u.Completion+o.Completion
	u.Estimated, u.Active = u.Estimated || o.Estimated, u.Active+o.Active
	u.Unpriced = u.Unpriced || o.Unpriced
	u.Cached, u.Reasoning, u.Cost = both(u.Cached, o.Cached), both(u.Reasoning, o.Reasoning), both(u.Cost, o.Cost)
}

// pay adds what a call cost; what is not reported is not known.
func (u *RunUsage) pay(cost *float64) { u.Cost = both(u.Cost, cost) }

// both is the sum of what is known.
func both[T int | float64](a, b *T) *T {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a + *b
	return &sum
}

// Budget is what a run may use; 0 and nil are no limit.
type Budget struct {
	Steps, Calls, Tokens int
	Cost                 *float64
	Deadline             time.Duration
}

// Versions is what a run was started under.
type Versions struct {
	Model, Prompt, Tools string
	// Checks are what the answer has to pass; nil is nothing.
	Checks *Checks `json:",omitempty"`
}

// CallStatus is where a call stands.
type CallStatus string

// The statuses.
const (
	CallPending     CallStatus = "pending"
	CallWaiting     CallStatus = "waiting_approval"
	CallStarted     CallStatus = "started"
	CallDone        CallStatus = "done"
	CallDenied      CallStatus = "denied"
	CallNotRun      CallStatus = "not_run"
	CallInterrupted CallStatus = "interrupted"
	CallUnknown     CallStatus = "unknown"
)

// CallRow is one tool call as stored. (RunID, Step, Reply, Ord) is its identity, ID its idempotency key.
type CallRow struct {
	ID, RunID, SessionID  string
	Step, Reply, Ord      int
	CallID                string
	Name                  string
	Arguments             string // what runs: one JSON object
	RawArguments          string // the model's text, when it differs
	Effect                tools.Effect
	Status                CallStatus
	SideEffect            string // none committed unknown
	Result                json.RawMessage
	StartedAt, FinishedAt *time.Time
}

// InboxRow is input that waits for its turn.
type InboxRow struct {
	ID, SessionID, Text string
	CreatedAt           time.Time
}

// ArtifactRow is a large output kept outside the prompt.
type ArtifactRow struct {
	Handle, SessionID, RunID, CallID, Tool string
	Content                                string
	CreatedAt                              time.Time
}

// TodoChange is a change of one todo. Text is for Add only.
type TodoChange struct {
	Action    string // added completed reopened removed
	ID, Text  string
	CreatedAt time.Time
}

// Tx is one transaction on one session, told as what changes. Its parts are applied in the order of the fields. It is fenced:
// it fails with ErrFenced when (Holder, Epoch) is not the session's.
type Tx struct {
	// ID is unique; Applied asks for it after a commit error.
	ID string
	// Fresh promises that no transaction of this ID was tried before, so that the store need not look for it.
	Fresh     bool
	SessionID string
	Fence     Fence
	At        time.Time

	Run       *RunRow      // inserted or, by id, updated
	Messages  []MessageRow // appended; N and ID are given by the store when empty
	Calls     []CallRow    // inserted or, by id, updated
	Todos     []TodoChange
	Artifacts []ArtifactRow
	InboxAdd  []InboxRow
	// InboxRemove names rows; a row that is not there makes the transaction fail with ErrConstraint (sent exactly once).
	InboxRemove []string

	Title     *string
	Model     *string
	Settings  json.RawMessage // nil: unchanged
	Fold      *Fold
	PinsAdd   []PinRow
	Approvals []ApprovalRow
	// PinsRemove names rows; one that is not there does no harm.
	PinsRemove []string
	NewTurn    bool // turn_count+1

	// Events get their seq from the store, in order, and are published after the commit. An event's data that names a
	// message's n or the turn (RunStartData.N, AnswerData.N) is filled by the store when it is 0, from the last message of
	// the transaction.
	Events []trace.Event
}

// Committed is what a transaction was given.
type Committed struct {
	// FirstN is the n of the first appended message, LastN of the last.
	FirstN, LastN int64
	FirstSeq      int64
	Turn          int
}

// Store is what the engine needs of the disk. All methods are safe for concurrent use. Commit does not use ctx's deadline of a
// run: callers give it a context that the run's cancel does not end.
type Store interface {
	// OpenSession takes the session, creating it when create is set, for this process. *HeldError when another living process
	// holds it, ErrOtherUser, ErrNotFound. Opening what this process holds already gives the same fence.
	OpenSession(ctx context.Context, id, user string, create bool) (SessionRow, error)
	// ReleaseSession gives it up for others; the fence must be current.
	ReleaseSession(ctx context.Context, id string, f Fence) error
	// Commit applies tx in one transaction. An error other than ErrFenced, ErrConstraint, ErrStale, ErrClosed means: outcome unknown.
	Commit(ctx context.Context, tx Tx) (Committed, error)
	// Applied says whether the transaction is in, after the connections were opened anew. When it is and its commit had
	// failed here, its events are published now.
	Applied(ctx context.Context, sessionID, txID string) (Committed, bool, error)
	// Window gives the messages of the prompt: the kept user message and all from window_from on, in order.
	Window(ctx context.Context, sessionID string) ([]MessageRow, error)
	// Unfinished gives the unfinished top-level run of a session with its calls; ErrNotFound when there is none.
	Unfinished(ctx context.Context, sessionID string) (RunRow, []CallRow, error)
	// Inbox gives what is queued, in order.
	Inbox(ctx context.Context, sessionID string) ([]InboxRow, error)
	// Todos is tools.TodoReader.
	Todos(ctx context.Context, sessionID string) ([]tools.Todo, error)
}

// Library is what screens and commands read of the store.
type Library interface {
	Sessions(ctx context.Context, user string) ([]SessionInfo, error)
	// Messages gives up to limit messages with n < before (0: the newest), in ascending order.
	Messages(ctx context.Context, sessionID string, before int64, limit int) ([]MessageRow, error)
	// Events gives up to limit stored events with seq > after, in order; runID "" is all.
	Events(ctx context.Context, sessionID, runID string, after int64, limit int) ([]trace.Event, error)
	// Runs gives the newest runs of a session, newest first.
	Runs(ctx context.Context, sessionID string, limit int) ([]RunRow, error)
	Todos(ctx context.Context, sessionID string) ([]tools.Todo, error)
	DeleteSession(ctx context.Context, id, user string) error
	// Tabs and SaveTabs keep which sessions a user has open, in order, and which one is active.
	Tabs(ctx context.Context, user string) (Tabs, error)
	SaveTabs(ctx context.Context, user string, t Tabs) error
}

// Drafts keeps what users type, for the screen. Its methods are safe for concurrent use.
type Drafts interface {
	// Draft gives what was typed in a session and not sent; the zero Draft when there is none.
	Draft(ctx context.Context, sessionID string) (Draft, error)
	// SaveDraft keeps one in place of the one before, and of what was kept aside; an empty text is none. ErrFenced when this process
	// does not hold the session.
	SaveDraft(ctx context.Context, sessionID string, d Draft) error
	// KeepAside keeps what cannot be stored now so that it survives the end of the process, in place of what this process kept aside
	// of the session before; without texts there is nothing any more. The session need not be there yet. It does not wait for the store.
	KeepAside(ctx context.Context, sessionID string, a Aside) error
}

// Brancher makes a session of a part of another one.
type Brancher interface {
	// Branch copies a session up to an input, which is not in the copy but its draft, in one transaction; the session itself stays as
	// it is. Folds, summary and window are as they stood when the input came; so are pins and todos, but for those that were taken
	// away since and for the state of a todo that changed more than once, which nobody knows any more. Settings and model are those
	// of now. The newest of the copied turns have their events too, under the ids of their runs, which are not copied and not published
	// again: what they took and cost counts for the old session alone. ErrNotFound when there is no such
	// session or message, ErrOtherUser, ErrConstraint when the message is no input or the new id is taken.
	Branch(ctx context.Context, b Branch) (Branched, error)
}

// Branch is what is copied: the messages of From before the input N, to the new session To.
type Branch struct {
	From, User, To string
	N              int64
	At             time.Time
	// Title makes the new title of the old one and the turn of the input.
	Title func(title string, turn int) string
}

// Branched is what came of it.
type Branched struct {
	// Text is the input's, without its files; Turns is how many turns the copy has.
	Text  string
	Turns int
	// LeftArtifacts are large outputs that are not in the copy.
	LeftArtifacts int
	// LeftTurns are the first turns, whose events are not in the copy.
	LeftTurns int
}

// WorkFiles is the working folder, for inputs that name files of it. It is safe for concurrent use.
type WorkFiles interface {
	// Names lists its files by their paths inside it, bounded; partial says that there are more.
	Names(ctx context.Context) (names []string, partial bool, err error)
	// Read gives the text of one, at most limit bytes of its beginning, or why there is none. Nothing outside of the folder is read.
	Read(ctx context.Context, name string, limit int) attach.File
}

// Draft is a text that was typed and not sent, as it was at a time.
type Draft struct {
	Text string
	At   time.Time
	// Aside is what processes that are gone had typed or entered and could not store, the oldest first.
	Aside []Aside
}

// Aside is what was typed and entered in a session while it could not be stored.
type Aside struct {
	// Texts are those that were entered, in order, and what was in the input.
	Texts []string  `json:"texts"`
	At    time.Time `json:"at"`
	// Whole says that what had been kept before, as a draft or aside, was known then: what is left of it is in Texts.
	Whole bool `json:"whole"`
	// Own says that this process kept it.
	Own bool `json:"-"`
}

// Tabs is the open tabs of a user.
type Tabs struct {
	Sessions []string
	Active   int
	// Panes is which panes the screen shows, as it writes it; empty: nothing was kept.
	Panes string
}

// Agent is what the screen and the commands ask of the engine. Calls answer at once unless they say otherwise; what comes of
// them is told in events.
type Agent interface {
	// Open takes the session (creating it when create is set) and gives what a page shows first. *HeldError comes with a
	// snapshot that can be read.
	Open(ctx context.Context, sessionID string, create bool) (Snapshot, error)
	// Close gives the session up. A running run goes on to its end first unless it was cancelled.
	Close(ctx context.Context, sessionID string) error
	// Submit starts a turn, or queues the input when the session is busy. It returns after the input is stored: an error
	// means that it was not. An input in place of the user's word on a call ends the run that waits for it, unless it was given
	// before the question can have been seen: then it is queued.
	Submit(ctx context.Context, sessionID, text string) error
	// Cancel stops the run; it does nothing when none runs.
	Cancel(sessionID string)
	// Withdraw takes a queued input back and returns its text; ErrNotFound when it was sent meanwhile.
	Withdraw(ctx context.Context, sessionID, inboxID string) (string, error)
	// Set changes the session by itself: title, model, a todo.
	Set(ctx context.Context, sessionID string, change Setting) error
	// Context shows what the session's next request would hold, and its tools; while a turn runs the tools alone, but for where it
	// stands still before a model call.
	Context(ctx context.Context, sessionID string) (ContextView, error)
	// Shutdown ends the engine: running runs are cancelled, or left to be resumed when leave is set.
	Shutdown(ctx context.Context, leave bool) error
}

// Setting is a change by the user. Exactly one field is set.
type Setting struct {
	Title *string
	Model *string
	// ToggleTodo is a todo's id; AddTodo is the text of a new one.
	ToggleTodo, AddTodo string
	// Compact folds now, between turns; UndoFold takes the newest fold back. Both tell what came of it in events.
	Compact, UndoFold bool
	// Decide answers calls that wait for approval.
	Decide []Decision
	// ToolRule changes what a tool may do in this session.
	ToolRule *ToolRule
	// Break says where this session's runs stand still; it is kept with the session and releases nothing.
	Break *Break
	// Step goes on from where a run stands still, and says where it stands still next. With Resume it takes an interrupted run
	// up that would stand still at once.
	Step *Step
	// StopCall is the row's id of a call that runs: it alone is stopped.
	StopCall string
	// Fold answers a fold that waits for the user's word.
	Fold *bool
	// Pin pins a sentence, Unpin takes the pin with that id or text away.
	Pin, Unpin string
	// Leave stops the run where it is; it stays unfinished, to be resumed or given up later.
	Leave bool
	// Resume goes on with the interrupted run (true) or gives it up (false). Outcomes comes with it: the user's word on
	// calls whose outcome nobody knows, by the row's id; *OutcomeError names those that still want one. Alone, Outcomes keeps words
	// until the run is resumed.
	Resume   *bool
	Outcomes map[string]Outcome
}

// Snapshot is a session at a moment; events with a seq above Seq come after it.
type Snapshot struct {
	Session SessionRow
	// Messages are the newest, ascending; older ones are paged in through Library.
	Messages []MessageRow
	Todos    []tools.Todo
	Inbox    []InboxRow
	// Run is the unfinished run; nil when there is none.
	Run *RunRow
	// Running says that this engine is executing it now; else it waits to be resumed or given up.
	Running bool
	Calls   []CallRow
	// Pins are in the order of their making, Folds the newest ones, newest first, undone ones included.
	Pins  []PinRow
	Folds []FoldRow
	Meter trace.Meter
	Seq   int64
	// Break is where the session's runs stand still; Pause is set when the unfinished run stands before a model call, also when
	// it stood there in an earlier process.
	Break Break
	Pause *trace.Pause
	// Outcomes are the user's words that are kept on calls of an interrupted run whose outcome nobody knows.
	Outcomes map[string]Outcome
	// HeldBy is the pid of the holder when it is another process.
	HeldBy int
	// Notice is something to tell the user at opening, such as that the last turn was interrupted.
	Notice string
}

// Feed is where events come from.
type Feed interface {
	// Subscribe delivers events of all sessions from now on.
	Subscribe(buffer int) *trace.Subscription
}

// Error names the session and the process.
func (e *HeldError) Error() string {
	return fmt.Sprintf("session %s is open in process %d", e.SessionID, e.PID)
}

// Unwrap is ErrHeld.
func (e *HeldError) Unwrap() error { return ErrHeld }
