package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// fake stands for engine, store and bus: sessions in memory, runs played by hand. Its methods are those of the ports, and
// below them the test's.
type fake struct {
	mu       sync.Mutex
	clk      clock.Clock
	bus      *trace.Bus
	sessions map[string]*fakeSession
	tabs     runtime.Tabs
	order    []string // calls worth looking at
	fail     map[string]error
	park     *clock.Latch // when set, Submit waits for it
	shut     int
	left     bool
	settings []runtime.Setting
	drafts   map[string]runtime.Draft
	saves    int // of drafts
	asides   int
	own      map[string]bool // sessions of which this one kept something aside
	parkOpen *clock.Latch    // what makes sessions waits for it
	slow     time.Duration   // how long SaveDraft takes
	ui       atomic.Bool     // Update or View is at work: nothing may be asked then
	view     runtime.ContextView
	noView   bool
	ids      int
	starred  map[string]bool
	unread   int // how often a search says that it has not read all
}

type fakeSession struct {
	window  int // how many of the newest messages are opened; 0: all
	row     runtime.SessionRow
	msgs    []runtime.MessageRow
	todos   []tools.Todo
	inbox   []runtime.InboxRow
	events  []trace.Event
	run     *runtime.RunRow
	running bool
	held    int
	meter   trace.Meter
	rows    []runtime.CallRow
	brk     runtime.Break
	pause   *trace.Pause
	notice  string
	waits   bool
	words   map[string]runtime.Outcome
	steps   int
	calls   int
	text    string
}

func newFake(c clock.Clock) *fake {
	return &fake{clk: c, bus: trace.NewBus(c), sessions: map[string]*fakeSession{}, fail: map[string]error{}, drafts: map[string]runtime.Draft{}, starred: map[string]bool{}}
}

// beside fails when it is asked from within Update or View: what the store or the engine does may take as long as a disk, or
// another program, likes.
func (f *fake) beside() {
	if f.ui.Load() {
		panic("Update or View asks the engine or the store")
	}
}

func (f *fake) Subscribe(buffer int) *trace.Subscription { return f.bus.Subscribe(buffer) }

func (f *fake) note(format string, args ...any) {
	f.order = append(f.order, fmt.Sprintf(format, args...))
}

// session makes a session by hand.
func (f *fake) session(id string) *fakeSession {
	s := f.sessions[id]
	if s == nil {
		s = &fakeSession{row: runtime.SessionRow{ID: id, UserID: "ann", NextN: 1, NextSeq: 1, CreatedAt: f.clk.Now(), UpdatedAt: f.clk.Now()},
			meter: trace.Meter{System: 900, Limit: 6000, MaxTurns: 20, Estimated: true}}
		f.sessions[id] = s
	}
	return s
}

func (f *fake) Open(ctx context.Context, id string, create bool) (runtime.Snapshot, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("open %s", id)
	if l := f.parkOpen; l != nil && create {
		f.mu.Unlock()
		err := l.Wait(ctx)
		f.mu.Lock()
		if err != nil {
			return runtime.Snapshot{}, err
		}
	}
	if err := cmp.Or(f.fail["open"], f.fail["held "+id]); err != nil {
		return runtime.Snapshot{}, err
	}
	s := f.sessions[id]
	if s == nil {
		if !create {
			return runtime.Snapshot{}, fmt.Errorf("open session %s: %w", id, runtime.ErrNotFound)
		}
		s = f.session(id)
	}
	snap := runtime.Snapshot{
		Session: s.row, Messages: slices.Clone(s.msgs), Todos: slices.Clone(s.todos), Inbox: slices.Clone(s.inbox),
		Running: s.running, Meter: s.meter, Seq: s.row.NextSeq - 1, HeldBy: s.held, Notice: s.notice,
		Calls: slices.Clone(s.rows), Break: s.brk, Pause: s.pause, Outcomes: maps.Clone(s.words),
	}
	if s.window > 0 {
		snap.Messages = snap.Messages[max(len(snap.Messages)-s.window, 0):]
	}
	if s.run != nil {
		r := *s.run
		snap.Run = &r
	}
	if s.held != 0 {
		return snap, &runtime.HeldError{SessionID: id, PID: s.held}
	}
	return snap, nil
}

func (f *fake) Close(_ context.Context, id string) error {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("close %s", id)
	return f.fail["close"]
}

func (f *fake) Submit(ctx context.Context, id, text string) error {
	f.beside()
	if f.park != nil {
		if err := f.park.Wait(ctx); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("submit %s %q", id, text)
	if err := f.fail["submit"]; err != nil {
		return err
	}
	s := f.sessions[id]
	if s.running {
		f.ids++
		row := runtime.InboxRow{ID: fmt.Sprintf("in%d", f.ids), SessionID: id, Text: text, CreatedAt: f.clk.Now()}
		s.inbox = append(s.inbox, row)
		f.emit(id, true, trace.InputQueuedData{ID: row.ID, Text: text, Action: "queued"})
		return nil
	}
	f.begin(id, text)
	return nil
}

func (f *fake) Cancel(id string) {
	f.beside()
	f.mu.Lock()
	s := f.sessions[id]
	f.note("cancel %s", id)
	running := s != nil && s.running
	f.mu.Unlock()
	if running {
		f.end(id, "cancelled", "user", "[cancelled]")
	}
}

func (f *fake) Withdraw(_ context.Context, id, inboxID string) (string, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	for i, r := range s.inbox {
		if r.ID == inboxID {
			s.inbox = slices.Delete(s.inbox, i, i+1)
			f.emit(id, true, trace.InputQueuedData{ID: r.ID, Text: r.Text, Action: "withdrawn"})
			return r.Text, nil
		}
	}
	return "", fmt.Errorf("withdraw: %w", runtime.ErrNotFound)
}

func (f *fake) Set(_ context.Context, id string, c runtime.Setting) error {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail["set"]; err != nil {
		return err
	}
	s := f.sessions[id]
	f.settings = append(f.settings, c)
	switch {
	case c.Break != nil:
		s.brk = *c.Break
		name := c.Break.Tool
		if c.Break.Next {
			name = "next"
		}
		f.emit(id, true, trace.SessionData{Action: "break", Title: name})
	case c.Title != nil:
		s.row.Title = *c.Title
		f.emit(id, true, trace.SessionData{Action: "renamed", Title: *c.Title})
	case c.Model != nil:
		s.row.Model = *c.Model
		f.emit(id, true, trace.SessionData{Action: "model", Model: *c.Model})
	case c.ToggleTodo != "":
		for i := range s.todos {
			if t := &s.todos[i]; t.ID == c.ToggleTodo {
				t.Completed = !t.Completed
				action := map[bool]string{true: "completed", false: "reopened"}[t.Completed]
				f.emit(id, true, trace.TodoData{ID: t.ID, Text: t.Text, Completed: t.Completed, Action: action})
			}
		}
	case c.AddTodo != "":
		f.ids++
		t := tools.Todo{ID: fmt.Sprintf("todo%d", f.ids), Text: c.AddTodo, CreatedAt: f.clk.Now()}
		s.todos = append(s.todos, t)
		f.emit(id, true, trace.TodoData{ID: t.ID, Text: t.Text, Action: "added"})
	case c.Leave:
		f.note("leave %s", id)
		s.running = false
	case c.Resume == nil && len(c.Outcomes) > 0:
		if s.words == nil {
			s.words = map[string]runtime.Outcome{}
		}
		maps.Copy(s.words, c.Outcomes)
	case c.Resume != nil:
		f.note("resume %s %v", id, *c.Resume)
		if *c.Resume {
			s.running = true
			f.emit(id, false, trace.StateData{State: "waiting_model"})
		} else {
			s.run = nil
		}
	}
	return nil
}

func (f *fake) Shutdown(_ context.Context, leave bool) error {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("shutdown leave=%v", leave)
	f.shut++
	f.left = leave
	return f.fail["shutdown"]
}

func (f *fake) Sessions(context.Context, string) ([]runtime.SessionInfo, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []runtime.SessionInfo
	for id, s := range f.sessions {
		info := runtime.SessionInfo{ID: id, UserID: "ann", Title: s.row.Title, TurnCount: s.row.TurnCount, UpdatedAt: s.row.UpdatedAt, HeldBy: s.held, Waits: s.waits, Starred: f.starred[id]}
		if s.run != nil {
			info.RunState = string(s.run.State)
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b runtime.SessionInfo) int { return compare(a.ID, b.ID) })
	return out, f.fail["sessions"]
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (f *fake) Messages(_ context.Context, id string, before int64, limit int) ([]runtime.MessageRow, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []runtime.MessageRow
	for _, m := range f.sessions[id].msgs {
		if before == 0 || m.N < before {
			out = append(out, m)
		}
	}
	return out[max(len(out)-limit, 0):], nil
}

func (f *fake) Events(_ context.Context, id, _ string, after int64, limit int) ([]trace.Event, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	if s == nil {
		return nil, nil
	}
	var out []trace.Event
	for _, e := range s.events {
		if e.Seq > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

// Runs gives the unfinished run, as a session that is followed has it.
func (f *fake) Runs(_ context.Context, id string, _ int) ([]runtime.RunRow, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[id]; s != nil && s.run != nil {
		return []runtime.RunRow{*s.run}, f.fail["runs"]
	}
	return nil, f.fail["runs"]
}

func (f *fake) Draft(_ context.Context, id string) (runtime.Draft, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.drafts[id]
	d.Aside = slices.Clone(d.Aside)
	for i := range d.Aside {
		d.Aside[i].Own = f.own[id]
	}
	return d, f.fail["draft"]
}

func (f *fake) SaveDraft(ctx context.Context, id string, d runtime.Draft) error {
	f.beside()
	if f.slow > 0 {
		if err := f.clk.Sleep(ctx, f.slow); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saves++
	if err := f.fail["savedraft"]; err != nil {
		return err
	}
	f.drafts[id] = d
	return nil
}

func (f *fake) KeepAside(_ context.Context, id string, a runtime.Aside) error {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail["aside"]; err != nil {
		return err
	}
	d := f.drafts[id]
	if d.Aside = []runtime.Aside{a}; len(a.Texts) == 0 {
		d.Aside = nil
	}
	if f.own == nil {
		f.own = map[string]bool{}
	}
	f.drafts[id], f.own[id] = d, true
	f.asides++
	return nil
}

func (f *fake) Todos(_ context.Context, id string) ([]tools.Todo, error) {
	f.beside()
	return f.sessions[id].todos, nil
}

func (f *fake) DeleteSession(_ context.Context, id, _ string) error {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("delete %s", id)
	delete(f.sessions, id)
	return f.fail["delete"]
}

func (f *fake) Tabs(context.Context, string) (runtime.Tabs, error) {
	f.beside()
	return f.tabs, f.fail["tabs"]
}

func (f *fake) SaveTabs(_ context.Context, _ string, t runtime.Tabs) error {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tabs = runtime.Tabs{Sessions: slices.Clone(t.Sessions), Active: t.Active, Panes: t.Panes}
	return f.fail["savetabs"]
}

// emit publishes an event of the current run, with a seq when it is stored. The mutex is held.
func (f *fake) emit(id string, stored bool, d trace.Data) {
	s := f.sessions[id]
	e := trace.Event{TS: f.clk.Now(), SessionID: id, Name: d.EventName(), Data: d, Turn: s.row.TurnCount, Step: s.steps}
	if s.run != nil {
		e.RunID = s.run.ID
	}
	if stored {
		e.Seq = s.row.NextSeq
		s.row.NextSeq++
		s.events = append(s.events, e)
	}
	f.bus.Publish(e)
}

func (f *fake) message(id string, m runtime.MessageRow) int64 {
	s := f.sessions[id]
	m.SessionID, m.N, m.CreatedAt = id, s.row.NextN, f.clk.Now()
	s.row.NextN++
	if s.run != nil {
		m.RunID = s.run.ID
	}
	s.msgs = append(s.msgs, m)
	return m.N
}

// fakeBudget is what the runs of the fake may use, as newDriver is told.
func fakeBudget() runtime.Budget { return runtime.Budget{Steps: 8, Calls: 20, Tokens: 100000} }

// begin starts a run. The mutex is held.
func (f *fake) begin(id, text string) {
	s := f.sessions[id]
	f.ids++
	s.row.TurnCount++
	s.steps, s.calls = 0, 0
	s.run = &runtime.RunRow{ID: fmt.Sprintf("run%d", f.ids), SessionID: id, Turn: s.row.TurnCount, State: runtime.StateCreated, StartedAt: f.clk.Now(),
		Budget: fakeBudget()}
	s.running = true
	if s.row.Title == "" {
		s.row.Title = text
		f.emit(id, true, trace.SessionData{Action: "renamed", Title: text})
	}
	n := f.message(id, runtime.MessageRow{Kind: llm.KindUser, Role: llm.RoleUser, Content: text})
	f.emit(id, true, trace.RunStartData{Input: text, Model: "mock", N: n})
	s.steps = 1
	meter := s.meter
	meter.Window, meter.Turns = 40*s.row.TurnCount, s.row.TurnCount
	s.meter = meter
	f.emit(id, false, trace.StateData{State: string(runtime.StateWaitingModel), Meter: &meter})
}

// stream adds text to the reply.
func (f *fake) stream(id, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[id].text += text
	f.emit(id, false, trace.DeltaData{Kind: "text", Text: text})
}

// tool ends the model call with one call, and runs it.
func (f *fake) tool(id, name, args, result, summary string) {
	f.toolStart(id, name, args)
	f.toolEnd(id, name, result, summary)
}

func (f *fake) toolStart(id, name, args string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	f.modelDone(id, 1, "tool_calls")
	s.calls++
	call := fmt.Sprintf("%s-call%d", s.run.ID, s.calls)
	f.message(id, runtime.MessageRow{Kind: llm.KindAssistant, Role: llm.RoleAssistant, Step: s.steps, Content: s.text,
		ToolCalls: []llm.ToolCall{{ID: call, Name: name, Arguments: args}}})
	s.text = ""
	f.emit(id, true, trace.ToolCallData{ID: call, CallID: call, Tool: name, Effect: "read_only", Arguments: json.RawMessage(args), Status: "started"})
	f.emit(id, false, trace.StateData{State: string(runtime.StateExecuting)})
}

func (f *fake) toolEnd(id, name, result, summary string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	call := fmt.Sprintf("%s-call%d", s.run.ID, s.calls)
	f.message(id, runtime.MessageRow{Kind: llm.KindTool, Role: llm.RoleTool, ToolCallID: call, ToolName: name, Step: s.steps, Content: result})
	f.emit(id, true, trace.ToolResultData{ID: call, CallID: call, Tool: name, Status: "done", OK: true, Result: json.RawMessage(result), DurationMS: 41, Bytes: len(result), Summary: summary})
	s.steps++
	f.emit(id, false, trace.StateData{State: string(runtime.StateWaitingModel)})
}

// todo adds a todo.
func (f *fake) todo(id, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	f.ids++
	t := tools.Todo{ID: fmt.Sprintf("todo%d", f.ids), Text: text, CreatedAt: f.clk.Now()}
	s.todos = append(s.todos, t)
	f.emit(id, true, trace.TodoData{ID: t.ID, Text: text, Action: "added"})
}

func (f *fake) modelDone(id string, calls int, finish string) {
	s := f.sessions[id]
	prompt, completion, cached, ttft := 3112, 166, 2209, int64(380)
	f.emit(id, true, trace.LLMCallData{Model: "mock", LatencyMS: 1900, TTFTMS: &ttft, PromptTokens: &prompt, CompletionTokens: &completion, CachedTokens: &cached,
		ToolCallCount: calls, FinishReason: finish, Attempts: 1, Text: s.text, StartedAt: f.clk.Now().Add(-1900 * 1e6)})
}

// answer ends the run with what was streamed.
func (f *fake) answer(id string) {
	f.mu.Lock()
	text := f.sessions[id].text
	f.modelDone(id, 0, "stop")
	f.mu.Unlock()
	f.end(id, "succeeded", "", text)
}

// end closes the run, and starts the next input that waits.
func (f *fake) end(id, state, reason, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	n := f.message(id, runtime.MessageRow{Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: text, Step: s.steps})
	f.emit(id, true, trace.AnswerData{Text: text, N: n, Fixed: state != "succeeded"})
	if state == "failed" {
		f.emit(id, true, trace.ErrorData{Message: "the model failed", Why: "HTTP 500", Todo: "/retry sends it again", Stored: true})
	}
	f.emit(id, true, trace.RunEndData{State: state, Reason: reason, Steps: s.steps, Calls: s.calls, Tokens: 3278, PromptTokens: 3112, CompletionTokens: 166, CachedTokens: new(2209), DurationMS: 2300})
	s.run, s.running, s.text = nil, false, ""
	if len(s.inbox) > 0 {
		next := s.inbox[0]
		s.inbox = s.inbox[1:]
		f.emit(id, true, trace.InputQueuedData{ID: next.ID, Text: next.Text, Action: "taken"})
		f.begin(id, next.Text)
	}
}

// park makes Submit wait until the latch opens.
func (d *driver) park() *clock.Latch {
	d.f.park = clock.NewLatch(d.sim)
	return d.f.park
}

func (f *fake) Context(context.Context, string) (runtime.ContextView, error) {
	f.beside()
	if f.noView || f.view.Tools == nil {
		return runtime.ContextView{}, runtime.ErrNotFound
	}
	return f.view, nil
}
