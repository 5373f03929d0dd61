package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// rig is a store with what it told.
type rig struct {
	*Store
	mu      sync.Mutex
	events  []trace.Event
	notices []string
	txs     atomic.Int64
}

func (r *rig) published() []trace.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]trace.Event(nil), r.events...)
}

func (r *rig) noticed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.notices...)
}

// ids counts, so that each id of a test is known and new.
func ids(prefix string) func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("%s-%06d", prefix, n.Add(1)) }
}

var rigs atomic.Int64

func open(t testing.TB, path string, change ...func(*Config)) *rig {
	t.Helper()
	r, err := tryOpen(path, change...)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { r.close(t) })
	return r
}

func tryOpen(path string, change ...func(*Config)) (*rig, error) {
	r := &rig{}
	cfg := Config{
		Path:  path,
		Clock: clock.Real(),
		NewID: ids(fmt.Sprintf("p%d-%d", os.Getpid(), rigs.Add(1))),
		Publish: func(events ...trace.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, events...)
		},
		OnNotice: func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.notices = append(r.notices, text)
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	r.Store, err = Open(context.Background(), cfg)
	return r, err
}

func (r *rig) close(t testing.TB) {
	t.Helper()
	if err := r.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "data", "sessions.db") }

func (r *rig) openSession(t testing.TB, id string) runtime.SessionRow {
	t.Helper()
	row, err := r.OpenSession(t.Context(), id, "ann", true)
	if err != nil {
		t.Fatalf("open session: %v", err)
	}
	return row
}

// tx is a transaction of a session with an id of its own.
func (r *rig) tx(row runtime.SessionRow) runtime.Tx {
	return runtime.Tx{ID: fmt.Sprintf("tx-%d", r.txs.Add(1)), SessionID: row.ID, Fence: row.Fence, At: at(1)}
}

func (r *rig) say(t testing.TB, row runtime.SessionRow, text string) runtime.Committed {
	t.Helper()
	tx := r.tx(row)
	tx.NewTurn = true
	tx.Messages = []runtime.MessageRow{user(text)}
	tx.Events = []trace.Event{{Data: trace.RunStartData{Input: text}}}
	return r.commit(t, tx)
}

func (r *rig) commit(t testing.TB, tx runtime.Tx) runtime.Committed {
	t.Helper()
	c, err := r.Commit(t.Context(), tx)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return c
}

func (r *rig) texts(t testing.TB, id string) []string {
	t.Helper()
	rows, err := r.Window(t.Context(), id)
	if err != nil {
		t.Fatalf("window: %v", err)
	}
	var out []string
	for _, m := range rows {
		out = append(out, m.Content)
	}
	return out
}

func user(text string) runtime.MessageRow {
	return runtime.MessageRow{Kind: llm.KindUser, Role: llm.RoleUser, Content: text}
}

func at(sec int) time.Time { return time.Date(2026, 1, 2, 3, 4, sec, 5000, time.UTC) }

func ptr[T any](v T) *T { return &v }

func diff(t testing.TB, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
}

func TestCommitStoresEverything(t *testing.T) {
	r := open(t, dbPath(t))
	ctx := t.Context()
	row := r.openSession(t, "s1")
	diff(t, runtime.Fence{Holder: r.holderID, Epoch: 1}, row.Fence)

	run := runtime.RunRow{ID: "run-1", SessionID: "s1", Agent: "main", Turn: 1, State: runtime.StateExecuting, Step: 1,
		Usage: runtime.RunUsage{Steps: 1, Prompt: 12, Cost: ptr(0.25)}, Budget: runtime.Budget{Steps: 8, Deadline: time.Minute},
		Versions: runtime.Versions{Model: "offline", Prompt: "p", Tools: "t"}, StartedAt: at(2)}
	call := runtime.CallRow{ID: "call-1", RunID: "run-1", SessionID: "s1", Step: 1, Reply: 0, Ord: 0, CallID: "c0", Name: "todo",
		Arguments: `{"a":1}`, RawArguments: "{a", Effect: tools.OwnData, Status: runtime.CallStarted, SideEffect: "none", StartedAt: ptr(at(3))}
	messages := []runtime.MessageRow{
		{ID: "m1", SessionID: "s1", N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: "héllo 世界", RunID: "run-1", Tokens: 3, CreatedAt: at(2)},
		{ID: "m2", SessionID: "s1", N: 2, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "x", PromptContent: ptr("short"),
			ToolCalls: []llm.ToolCall{{ID: "c0", Name: "todo", Arguments: `{"a":1}`}}, RunID: "run-1", Step: 1, Partial: true, Fixed: true,
			Extra: []byte(`{"k":[1]}`), CreatedAt: at(3)},
	}
	tx := r.tx(row)
	tx.Run, tx.Messages, tx.Calls, tx.NewTurn = &run, messages, []runtime.CallRow{call}, true
	tx.Todos = []runtime.TodoChange{{Action: "added", ID: "t1", Text: "report", CreatedAt: at(4)}, {Action: "added", ID: "t2", Text: "rest"}}
	tx.Artifacts = []runtime.ArtifactRow{{Handle: "a1", SessionID: "s1", RunID: "run-1", CallID: "call-1", Tool: "todo", Content: "long", CreatedAt: at(4)}}
	tx.InboxAdd = []runtime.InboxRow{{ID: "i1", SessionID: "s1", Text: "next", CreatedAt: at(5)}, {ID: "i2", SessionID: "s1", Text: "after", CreatedAt: at(6)}}
	tx.Title, tx.Model, tx.Settings = ptr("A title"), ptr("offline"), []byte(`{"x":true}`)
	tx.Events = []trace.Event{
		{TS: at(3), RunID: "run-1", Data: trace.RunStartData{Input: "héllo 世界", Model: "offline"}},
		{RunID: "run-1", Step: 1, Data: trace.ToolCallData{ID: "call-1", Tool: "todo", Arguments: []byte(`{"a":1}`)}},
	}
	c := r.commit(t, tx)
	diff(t, runtime.Committed{FirstN: 1, LastN: 2, FirstSeq: 1, Turn: 1}, c)

	got, err := r.Window(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, messages, got)
	gotRun, calls, err := r.Unfinished(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, run, gotRun)
	diff(t, []runtime.CallRow{call}, calls)
	todos, err := r.Todos(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []tools.Todo{{ID: "t1", Text: "report", CreatedAt: at(4)}, {ID: "t2", Text: "rest", CreatedAt: at(1)}}, todos)
	inbox, err := r.Inbox(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, tx.InboxAdd, inbox)
	art, err := r.Artifact(ctx, "s1", "a1")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, tx.Artifacts[0], art)
	events, err := r.Events(ctx, "s1", "", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []trace.Event{
		{TS: at(3), Seq: 1, SessionID: "s1", RunID: "run-1", Turn: 1, Name: trace.RunStart,
			Data: trace.RunStartData{Input: "héllo 世界", Model: "offline", N: 2}},
		{TS: at(1), Seq: 2, SessionID: "s1", RunID: "run-1", Turn: 1, Step: 1, Name: trace.ToolCall,
			Data: trace.ToolCallData{ID: "call-1", Tool: "todo", Arguments: []byte(`{"a":1}`)}},
	}, events)
	diff(t, events, r.published())
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

var _ = errors.Is
