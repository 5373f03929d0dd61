package trace

import (
	"fmt"
	"slices"
	"time"
)

// Kind is what a node of the tree stands for.
type Kind string

// The kinds. A run holds its context, steps and folds; a step its model calls and tool calls.
const (
	KindRun     Kind = "run"
	KindContext Kind = "context"
	KindStep    Kind = "step"
	KindModel   Kind = "model"
	KindTool    Kind = "tool"
	KindFold    Kind = "fold"
	KindError   Kind = "error"
)

// Status is how a node stands.
type Status string

// The statuses. Stopped is an end that is neither success nor failure: cancelled, denied, out of budget, refused.
const (
	Waiting Status = "waiting"
	Running Status = "running"
	OK      Status = "ok"
	Failed  Status = "failed"
	Stopped Status = "stopped"
)

// Node is a span of the tree. Its fields are to be read only, and change with Tree.Apply.
type Node struct {
	Kind   Kind
	ID     string // unique in the tree and the same each time
	Parent *Node  // nil for what stands at the top
	Turn   int
	Step   int
	// Title is the tool or model by name, "turn 7", "step 1".
	Title string
	// Detail is what it was given: the input, the arguments, a reason.
	Detail string
	// Outcome is what came of it in a few words: a summary, a finish reason, an error.
	Outcome string
	Status  Status
	// Start and End bound the span; End is zero while it is open.
	Start, End time.Time
	// FirstToken is when a model call began to answer; zero is not yet, or not known.
	FirstToken time.Time
	// Tokens is what a model call was sent and what came back. Nodes above have the sums.
	Tokens Tokens
	// Attempts counts the tries of a model call, from 1.
	Attempts int
	// Streamed is how many bytes of text came so far.
	Streamed int
	// Progress is the last word of a running tool call.
	Progress string
	// Events are those that the node was made of, in order, transient ones but retry left out.
	Events   []Event
	Children []*Node
	// Version grows with each change of the node or of one below it.
	Version int

	callID  string
	lastSeq int64         // of runs and folds at the top: events up to it were applied
	last    time.Time     // of runs: when the last stored event happened
	took    time.Duration // of runs that have ended: the time they were worked on, if that is known
	halted  bool          // of runs: left unfinished by a process that is gone
	sent    int           // of runs: the meter's last word on the prompt
	model   string        // of runs

	asked   bool          // of calls: the user's word on it is waited for
	waits   int           // of steps and runs: how many of the calls below wait for the user
	since   time.Time     // when it, or they, began to
	waitFor time.Duration // how long they did before
	waited  []Span        // of runs: when they did
}

// Span is a time from an instant to another.
type Span struct{ From, To time.Time }

// Tokens counts what a model call, or several, used. Estimated marks that the provider reported less than all.
type Tokens struct {
	Prompt, Completion, Cached, Reasoning int
	Estimated                             bool
	// Cost is in US dollars, of what is known; nil: nothing is.
	Cost *float64
}

// Total is prompt and completion together.
func (t Tokens) Total() int { return t.Prompt + t.Completion }

func (t Tokens) plus(o Tokens) Tokens {
	sum := Tokens{t.Prompt + o.Prompt, t.Completion + o.Completion, t.Cached + o.Cached, t.Reasoning + o.Reasoning, t.Estimated || o.Estimated, t.Cost}
	switch {
	case sum.Cost == nil:
		sum.Cost = o.Cost
	case o.Cost != nil:
		cost := *t.Cost + *o.Cost
		sum.Cost = &cost
	}
	return sum
}

// Duration is how long the span lasted, or has lasted at now. For a run that has ended it is what its end said. What a step or a
// run waited for the user is not in it.
func (n *Node) Duration(now time.Time) time.Duration {
	if n.took > 0 && !n.Open() {
		return n.took
	}
	return max(n.Until(now).Sub(n.Start)-n.waitFor, 0)
}

// Until is when the span ended, or else how far it has come: to where it waits for the user, or now.
func (n *Node) Until(now time.Time) time.Time {
	switch {
	case n.Asks():
		return n.since
	case n.End.IsZero():
		return now
	}
	return n.End
}

// Open reports whether the span has not ended.
func (n *Node) Open() bool { return n.Status == Running || n.Status == Waiting }

// Tree is the events of a session as spans. The stored events alone make the whole tree; transient ones show what is under
// way, until the stored event that ends it takes their place. The same events make the same tree.
// It is used by one goroutine at a time. The zero value is an empty tree.
type Tree struct {
	// Roots are the runs, and the folds that happened between them, by time.
	Roots []*Node
	// Keep is how many roots are kept, the newest; 0 is all.
	Keep int
	// Version grows with each change.
	Version int

	byID map[string]*Node
}

// Node gives the node of that id, or nil.
func (t *Tree) Node(id string) *Node { return t.byID[id] }

// Run gives the node of a run, or nil.
func (t *Tree) Run(runID string) *Node { return t.byID[runID] }

// Apply adds an event. Stored events may come again, which changes nothing.
func (t *Tree) Apply(e Event) {
	if t.byID == nil {
		t.byID = map[string]*Node{}
	}
	if e.RunID == "" {
		if d, ok := e.Data.(CompactData); ok {
			t.foldAtTop(e, d)
		}
		return
	}
	run := t.byID[e.RunID]
	if run == nil {
		if e.Seq == 0 && e.Name != State {
			return // the tail of something that is not shown
		}
		run = t.addRoot(&Node{Kind: KindRun, ID: e.RunID, Title: fmt.Sprintf("turn %d", e.Turn), Turn: e.Turn, Status: Running, Start: e.TS})
		if t.byID[run.ID] == nil {
			return // older than all that are kept
		}
	}
	if e.Seq > 0 {
		if e.Seq <= run.lastSeq {
			return
		}
		run.lastSeq, run.last = e.Seq, e.TS
	}
	t.apply(run, e)
}

// outcomeUnknown is said of a call on whose outcome the user's word is waited for.
const outcomeUnknown = "outcome unknown"

// Halt says that nobody works on a run that has no end: the process that did is gone. What waits for the user waits on, the calls
// whose outcome is not known too, by their rows' ids; other open spans end with the last thing that is known of the run, until a state
// tells that it goes on.
func (t *Tree) Halt(runID string, unknown ...string) {
	run := t.byID[runID]
	if run == nil || !run.Open() {
		return
	}
	at := run.Start
	if run.last.After(at) {
		at = run.last
	}
	for _, id := range unknown {
		if n := t.byID[callNode(id)]; n != nil && n.Open() {
			n.Status, n.Outcome = Waiting, outcomeUnknown
			n.waitsFor(true, at)
			t.touch(n)
		}
	}
	t.stopBelow(run, at)
	if run.Asks() {
		run.Status = Waiting
		t.touch(run)
		return
	}
	run.halted = true
	t.end(run, at, Stopped)
}

func (t *Tree) apply(run *Node, e Event) {
	switch d := e.Data.(type) {
	case RunStartData:
		t.startRun(run, e, d)
	case StateData:
		t.state(run, e, d)
	case DeltaData:
		t.delta(run, e, d)
	case RetryData:
		t.retry(run, e, d)
	case ProgressData:
		if n := t.byID[callNode(d.ID)]; n != nil && n.Open() {
			n.Progress = d.Text
			t.touch(n)
		}
	case LLMCallData:
		t.modelCall(run, e, d)
	case ToolCallData:
		t.toolCall(run, e, d)
	case ToolResultData:
		t.toolResult(run, e, d)
	case ApprovalData:
		t.approval(run, e, d)
	case CompactData:
		t.fold(run, e, d)
	case ErrorData:
		t.failure(run, e, d)
	case RunEndData:
		t.endRun(run, e, d)
	default:
		if e.Seq > 0 {
			t.keep(run, e)
		}
	}
}

// addRoot puts a run or a fold in its place by time, and forgets the oldest if there are too many.
func (t *Tree) addRoot(n *Node) *Node {
	i := len(t.Roots)
	for i > 0 && t.Roots[i-1].Start.After(n.Start) {
		i--
	}
	t.Roots = slices.Insert(t.Roots, i, n)
	t.byID[n.ID] = n
	if t.Keep > 0 && len(t.Roots) > t.Keep {
		t.forget(t.Roots[0])
		t.Roots = slices.Delete(t.Roots, 0, 1)
	}
	t.touch(n)
	return n
}

func (t *Tree) forget(n *Node) {
	delete(t.byID, n.ID)
	for _, c := range n.Children {
		t.forget(c)
	}
}

// add puts a new node last under its parent.
func (t *Tree) add(parent, n *Node) *Node {
	n.Parent, n.Turn = parent, parent.Turn
	if n.Step == 0 {
		n.Step = parent.Step
	}
	parent.Children = append(parent.Children, n)
	t.byID[n.ID] = n
	t.touch(n)
	return n
}

// touch marks a change of n.
func (t *Tree) touch(n *Node) {
	t.Version++
	for ; n != nil; n = n.Parent {
		n.Version++
	}
}

// keep hangs an event on n.
func (t *Tree) keep(n *Node, e Event) {
	n.Events = append(n.Events, e)
	t.touch(n)
}

// end closes a span that is open.
func (t *Tree) end(n *Node, at time.Time, s Status) {
	n.Status, n.End = s, at
	t.touch(n)
}

// lastOf is the newest child of n of a kind, or nil.
func lastOf(n *Node, k Kind) *Node {
	for _, c := range slices.Backward(n.Children) {
		if c.Kind == k {
			return c
		}
	}
	return nil
}

// callNode is the node's id of a tool call's row.
func callNode(id string) string { return "call/" + id }
