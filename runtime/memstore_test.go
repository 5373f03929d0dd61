package runtime_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

// memStore is a Store in memory: the real one has tests of its own, this one lets the engine's tests fail commits at will.
type memStore struct {
	mu       sync.Mutex
	sessions map[string]*memSession
	publish  func(...trace.Event)
	commits  []runtime.Tx
	// fail is asked before and after each commit; what it returns is the commit's error.
	fail func(tx runtime.Tx, after bool) error
	held map[string]bool
	// lastSent is of the newest model call of each session.
	lastSent map[string]sentID
	// light keeps no record of commits and events, for sessions of many thousand turns.
	light bool
	// published says whose events were told.
	published map[string]bool
}

type sentID struct {
	id string
	at time.Time
}

type memSession struct {
	row       runtime.SessionRow
	messages  []runtime.MessageRow
	todos     []tools.Todo
	inbox     []runtime.InboxRow
	runs      map[string]runtime.RunRow
	calls     map[string]runtime.CallRow
	order     []string
	events    []trace.Event
	artifacts []runtime.ArtifactRow
	applied   map[string]runtime.Committed
	pins      []runtime.PinRow
	approvals []runtime.ApprovalRow
	folds     []runtime.FoldRow // newest last
}

func newMemStore() *memStore {
	return &memStore{sessions: map[string]*memSession{}, held: map[string]bool{}, lastSent: map[string]sentID{}, published: map[string]bool{}, publish: func(...trace.Event) {}}
}

var errDisk = errors.New("disk I/O error")

func (m *memStore) OpenSession(_ context.Context, id, user string, create bool) (runtime.SessionRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		if !create {
			return runtime.SessionRow{}, runtime.ErrNotFound
		}
		s = &memSession{
			row:  runtime.SessionRow{ID: id, UserID: user, NextN: 1, NextSeq: 1, WindowFrom: 1},
			runs: map[string]runtime.RunRow{}, calls: map[string]runtime.CallRow{}, applied: map[string]runtime.Committed{},
		}
		m.sessions[id] = s
	}
	if s.row.UserID != user {
		return runtime.SessionRow{}, runtime.ErrOtherUser
	}
	if m.held[id] {
		return s.row, &runtime.HeldError{SessionID: id, PID: 4711}
	}
	s.row.Fence = runtime.Fence{Holder: "me", Epoch: s.row.Fence.Epoch + 1}
	return s.row, nil
}

func (m *memStore) ReleaseSession(_ context.Context, id string, f runtime.Fence) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[id].row.Fence != f {
		return runtime.ErrFenced
	}
	return nil
}

func (m *memStore) Commit(_ context.Context, tx runtime.Tx) (runtime.Committed, error) {
	if m.fail != nil {
		if err := m.fail(tx, false); err != nil {
			return runtime.Committed{}, err
		}
	}
	got, err := m.commit(&tx)
	if err != nil {
		return got, err
	}
	if m.fail != nil {
		if err := m.fail(tx, true); err != nil {
			return runtime.Committed{}, err
		}
	}
	m.published[tx.ID] = true
	m.publish(tx.Events...)
	return got, nil
}

func (m *memStore) commit(tx *runtime.Tx) (runtime.Committed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[tx.SessionID]
	if s.row.Fence != tx.Fence {
		return runtime.Committed{}, runtime.ErrFenced
	}
	got, err := s.apply(tx)
	if err != nil {
		return got, err
	}
	for _, ev := range tx.Events {
		if d, ok := ev.Data.(trace.LLMCallData); ok {
			m.lastSent[tx.SessionID] = sentID{d.PrefixID, ev.TS}
		}
	}
	if m.light {
		s.events, s.applied = nil, map[string]runtime.Committed{tx.ID: got}
		return got, nil
	}
	m.commits = append(m.commits, *tx)
	return got, nil
}

func (s *memSession) apply(tx *runtime.Tx) (runtime.Committed, error) {
	for _, id := range tx.InboxRemove {
		if !s.removeInbox(id) {
			return runtime.Committed{}, runtime.ErrConstraint
		}
	}
	if tx.NewTurn {
		s.row.TurnCount++
	}
	if tx.Run != nil {
		if _, ok := s.runs[tx.Run.ID]; !ok {
			s.order = append(s.order, tx.Run.ID)
		}
		s.runs[tx.Run.ID] = *tx.Run
	}
	if tx.Fold != nil {
		if err := s.fold(*tx.Fold, tx.At); err != nil {
			return runtime.Committed{}, err
		}
	}
	s.pins = append(s.pins, tx.PinsAdd...)
	s.approvals = append(s.approvals, tx.Approvals...)
	if tx.Settings != nil {
		s.row.Settings = tx.Settings
	}
	for _, id := range tx.PinsRemove {
		s.pins = slices.DeleteFunc(s.pins, func(p runtime.PinRow) bool { return p.ID == id })
	}
	got := runtime.Committed{FirstN: s.row.NextN, FirstSeq: s.row.NextSeq, Turn: s.row.TurnCount}
	for _, msg := range tx.Messages {
		msg.N = s.row.NextN
		s.row.NextN++
		got.LastN = msg.N
		s.messages = append(s.messages, msg)
	}
	for _, c := range tx.Calls {
		s.calls[c.ID] = c
	}
	for _, t := range tx.Todos {
		s.todo(t)
	}
	s.artifacts = append(s.artifacts, tx.Artifacts...)
	s.inbox = append(s.inbox, tx.InboxAdd...)
	if tx.Title != nil {
		s.row.Title = *tx.Title
	}
	if tx.Model != nil {
		s.row.Model = *tx.Model
	}
	for i := range tx.Events {
		tx.Events[i].Seq = s.row.NextSeq
		s.row.NextSeq++
	}
	s.events = append(s.events, tx.Events...)
	s.applied[tx.ID] = got
	return got, nil
}

func (s *memSession) fold(f runtime.Fold, at time.Time) error {
	last := ""
	for _, row := range s.folds {
		if row.UndoneAt == nil {
			last = row.ID
		}
	}
	if last != f.LastFold || s.row.WindowFrom != f.WasFrom {
		return runtime.ErrStale
	}
	s.row.WindowFrom, s.row.KeepN, s.row.Summary = f.From, f.Keep, f.SummaryAfter
	for _, sh := range f.Shorten {
		msg := &s.messages[sh.N-1] // n has no gaps
		msg.PromptContent, msg.Tokens = sh.Content, sh.Tokens
	}
	if f.Undo {
		for i := range s.folds {
			if s.folds[i].ID == f.ID {
				s.folds[i].UndoneAt = &at
			}
		}
		return nil
	}
	s.folds = append(s.folds, runtime.FoldRow{Fold: f, CreatedAt: at})
	return nil
}

func (m *memStore) Pins(_ context.Context, id string) ([]runtime.PinRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.sessions[id].pins), nil
}

func (m *memStore) Approvals(_ context.Context, run string) ([]runtime.ApprovalRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []runtime.ApprovalRow
	for _, s := range m.sessions {
		for _, a := range s.approvals {
			if a.RunID == run {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

func (m *memStore) Started(_ context.Context, run string) ([]runtime.RunRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []runtime.RunRow
	for _, s := range m.sessions {
		for _, r := range s.runs {
			if r.ParentRun == run {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

func (m *memStore) Folds(_ context.Context, id string, limit int) ([]runtime.FoldRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := slices.Clone(m.sessions[id].folds)
	slices.Reverse(rows)
	return rows[:min(limit, len(rows))], nil
}

func (m *memStore) Folded(_ context.Context, id string, first, last int64) ([]runtime.MessageRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []runtime.MessageRow
	all := m.sessions[id].messages
	if first, last = max(first, 1), min(last, int64(len(all))); first <= last {
		out = append(out, all[first-1:last]...)
	}
	return out, nil
}

func (m *memStore) LastSent(_ context.Context, id string) (string, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lastSent[id].id == "" {
		return "", time.Time{}, runtime.ErrNotFound
	}
	return m.lastSent[id].id, m.lastSent[id].at, nil
}

func (m *memStore) Artifact(_ context.Context, id, handle string) (runtime.ArtifactRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.sessions[id].artifacts {
		if a.Handle == handle {
			return a, nil
		}
	}
	return runtime.ArtifactRow{}, runtime.ErrNotFound
}

func (s *memSession) removeInbox(id string) bool {
	for i, r := range s.inbox {
		if r.ID == id {
			s.inbox = append(s.inbox[:i:i], s.inbox[i+1:]...)
			return true
		}
	}
	return false
}

func (s *memSession) todo(t runtime.TodoChange) {
	if t.Action == "added" {
		s.todos = append(s.todos, tools.Todo{ID: t.ID, Text: t.Text, CreatedAt: t.CreatedAt})
		return
	}
	for i := range s.todos {
		if s.todos[i].ID == t.ID {
			s.todos[i].Completed = t.Action == "completed"
		}
	}
}

func (m *memStore) Applied(_ context.Context, session, tx string) (runtime.Committed, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	got, ok := m.sessions[session].applied[tx]
	if ok && !m.published[tx] {
		for _, c := range m.commits {
			if c.ID == tx {
				m.published[tx] = true
				m.publish(c.Events...)
			}
		}
	}
	return got, ok, nil
}

func (m *memStore) Window(_ context.Context, id string) ([]runtime.MessageRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	var out []runtime.MessageRow
	if keep := s.row.KeepN; keep > 0 && keep < s.row.WindowFrom {
		out = append(out, s.messages[keep-1])
	}
	if from := s.row.WindowFrom; from <= int64(len(s.messages)) {
		out = append(out, s.messages[from-1:]...)
	}
	return out, nil
}

func (m *memStore) Unfinished(_ context.Context, id string) (runtime.RunRow, []runtime.CallRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	for _, rid := range s.order {
		if r := s.runs[rid]; r.ParentRun == "" && !r.State.Terminal() {
			var calls []runtime.CallRow
			for step := 0; step <= r.Step; step++ {
				for _, c := range s.calls {
					if c.RunID == rid && c.Step == step {
						calls = append(calls, c)
					}
				}
			}
			slices.SortFunc(calls, func(a, b runtime.CallRow) int { // as the real one has them
				return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Reply, b.Reply), cmp.Compare(a.Ord, b.Ord))
			})
			return r, calls, nil
		}
	}
	return runtime.RunRow{}, nil, runtime.ErrNotFound
}

func (m *memStore) Inbox(_ context.Context, id string) ([]runtime.InboxRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]runtime.InboxRow(nil), m.sessions[id].inbox...), nil
}

func (m *memStore) Todos(_ context.Context, id string) ([]tools.Todo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[id] == nil {
		return nil, runtime.ErrNotFound
	}
	return append([]tools.Todo(nil), m.sessions[id].todos...), nil
}

// bed is an engine under a simulated clock with a scripted model and tools that record what they did.
type bed struct {
	t      *testing.T
	clk    *clock.Sim
	store  *memStore
	model  *scripted.Client
	eng    *runtime.Engine
	cfg    runtime.EngineConfig
	mu     sync.Mutex
	events []trace.Event
	ran    []string
	ids    int
}

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type echoArgs struct {
	Text string `json:"text"`
	Wait int    `json:"wait_ms,omitempty"`
}

func newBed(t *testing.T, steps ...scripted.Step) *bed {
	b := &bed{t: t, clk: clock.NewSim(t0), store: newMemStore()}
	b.model = scripted.New(b.clk, steps...).Strict()
	b.store.publish = func(evs ...trace.Event) { b.Publish(evs...) }
	b.cfg = runtime.EngineConfig{
		Store: b.store, Model: b.model, DefaultModel: "scripted", Bus: b, Clock: b.clk, System: "You are a test.", User: "u",
		Summarize: "[SUMMARIZE]\nMake the memory.",
		NewID: func() string {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.ids++
			return fmt.Sprintf("id-%04d", b.ids)
		},
		Limits: runtime.Limits{
			Budget: runtime.Budget{Steps: 8, Calls: 20, Tokens: 100000}, ContextTokens: 6000, RawTurns: 20, ResultChars: 2000,
		},
	}
	b.cfg.Memory = b.store
	b.cfg.Registry = tools.NewRegistry(b.tools()...)
	b.cfg.Executor = tools.NewExecutor(b.clk, b.cfg.Registry, tools.Config{})
	return b
}

func (b *bed) tools() []tools.Tool {
	act := func(name string) func(context.Context, tools.Call, echoArgs) (tools.Output, error) {
		return func(ctx context.Context, call tools.Call, in echoArgs) (tools.Output, error) {
			call.Progress("working on " + in.Text)
			if in.Wait > 0 {
				if err := b.clk.Sleep(ctx, time.Duration(in.Wait)*time.Millisecond); err != nil {
					return tools.Output{}, err
				}
			}
			if in.Text == "panic" {
				panic("tool panic")
			}
			if in.Text == "down" {
				return tools.Output{}, &tools.Error{Code: tools.CodeUnavailable, Message: "no connection"}
			}
			if in.Text == "fail" {
				return tools.Output{}, &tools.Error{Code: tools.CodeNotFound, Message: "no such thing"}
			}
			b.mu.Lock()
			b.ran = append(b.ran, name+":"+in.Text)
			b.mu.Unlock()
			out := tools.Output{Data: map[string]any{"echo": in.Text}, Summary: in.Text}
			if name == "big" {
				out.Data = strings.Repeat("words of "+in.Text+" ", 150)
			}
			if name == "note" {
				out.Changes = []tools.Change{tools.TodoAdd{ID: call.Key, Text: in.Text}}
			}
			if name == "tick" {
				out.Changes = []tools.Change{tools.TodoSet{ID: in.Text, Completed: true}}
			}
			return out, nil
		}
	}
	return []tools.Tool{
		tools.New("read", "reads", tools.ReadOnly, act("read")),
		tools.New("big", "much output", tools.ReadOnly, act("big")),
		tools.New("note", "adds a todo", tools.OwnData, act("note")),
		tools.New("tick", "completes a todo", tools.OwnData, act("tick")),
		tools.New("put", "may run again", tools.Idempotent, act("put")),
		tools.New("fire", "has an effect", tools.SideEffect, act("fire")),
		tools.New("save", "can be asked", tools.Probeable, act("save"),
			tools.WithProbe(func(_ context.Context, _ tools.Call, in echoArgs) (tools.Output, bool, error) {
				switch in.Text {
				case "happened":
					return tools.Output{Data: map[string]any{"probed": true}}, true, nil
				case "unsure":
					return tools.Output{}, false, errors.New("cannot tell")
				}
				return tools.Output{}, false, nil
			})),
	}
}

// Publish records events, also those of the store.
func (b *bed) Publish(evs ...trace.Event) {
	b.mu.Lock()
	b.events = append(b.events, evs...)
	b.mu.Unlock()
}

// run drives f with a fresh engine over the same store and shuts it down.
func (b *bed) run(f func(ctx context.Context)) {
	b.t.Helper()
	b.clk.Run(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		f(ctx)
		if err := b.eng.Shutdown(ctx, true); err != nil {
			b.t.Errorf("shutdown: %v", err)
		}
	})
}

// ask submits text and waits for the end of its run.
func (b *bed) ask(ctx context.Context, id, text string) trace.RunEndData {
	b.t.Helper()
	if _, err := b.eng.Open(ctx, id, true); err != nil {
		b.t.Fatalf("open: %v", err)
	}
	if err := b.eng.Submit(ctx, id, text); err != nil {
		b.t.Fatalf("submit: %v", err)
	}
	turn := b.store.sessions[id].row.TurnCount
	for range 100000 {
		for _, ev := range b.named(trace.RunEnd) {
			if ev.SessionID == id && ev.Turn == turn {
				return ev.Data.(trace.RunEndData)
			}
		}
		if err := b.clk.Sleep(ctx, 10*time.Millisecond); err != nil {
			b.t.Fatal(err)
		}
	}
	b.t.Fatal("the run does not end")
	return trace.RunEndData{}
}

// await waits for one more run_end than before.
func (b *bed) await(ctx context.Context, before int) trace.RunEndData {
	b.t.Helper()
	for i := 0; b.count(trace.RunEnd) <= before; i++ {
		if i > 100000 {
			b.t.Fatal("the run does not end")
		}
		if err := b.clk.Sleep(ctx, 10*time.Millisecond); err != nil {
			b.t.Fatal(err)
		}
	}
	evs := b.named(trace.RunEnd)
	return evs[len(evs)-1].Data.(trace.RunEndData)
}

func (b *bed) named(name trace.Name) []trace.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []trace.Event
	for _, ev := range b.events {
		if ev.Name == name {
			out = append(out, ev)
		}
	}
	return out
}

func (b *bed) count(name trace.Name) int { return len(b.named(name)) }

// stored gives the names of the stored events of a session, in order.
func (b *bed) stored(id string) []trace.Name {
	var out []trace.Name
	for _, ev := range b.store.sessions[id].events {
		out = append(out, ev.Name)
	}
	return out
}

func (b *bed) messages(id string) []runtime.MessageRow { return b.store.sessions[id].messages }

// last gives the newest message of a session.
func (b *bed) last(id string) runtime.MessageRow {
	m := b.messages(id)
	return m[len(m)-1]
}

// checkHistory fails when the stored messages of a session are no valid history with a closing message at the end.
func (b *bed) checkHistory(id string) {
	b.t.Helper()
	var window []prompt.Entry
	for _, m := range b.messages(id) {
		window = append(window, prompt.Entry{N: m.N, Message: llm.Message{
			Role: m.Role, Kind: m.Kind, Content: m.Content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, Name: m.ToolName,
		}})
	}
	if last := window[len(window)-1].Message; last.Role != llm.RoleAssistant || len(last.ToolCalls) > 0 {
		b.t.Errorf("the turn does not end with an assistant message without calls: %+v", last)
	}
	window = append(window, prompt.Entry{Message: llm.Message{Role: llm.RoleUser, Content: "next"}})
	req := llm.Request{Messages: prompt.Build("system", "", window)}
	for _, m := range req.Messages {
		if m.Content == prompt.Missing {
			b.t.Error("a result is missing in the store")
		}
	}
	if err := scripted.CheckHistory(req); err != nil {
		b.t.Errorf("stored history: %v", err)
	}
}

func registryOf(b *bed) *tools.Registry { return tools.NewRegistry(b.tools()...) }

func executorOf(b *bed) *tools.Executor {
	return tools.NewExecutor(b.cfg.Clock, b.cfg.Registry, tools.Config{})
}

func latchFor(b *bed) *clock.Latch { return clock.NewLatch(b.clk) }
