package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
	return runtime.Tx{ID: fmt.Sprintf("%s-tx-%d", r.holderID, r.txs.Add(1)), SessionID: row.ID, Fence: row.Fence, At: at(1)}
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
	named, err := r.ListArtifacts(ctx, "s1", 10)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []tools.Artifact{{Handle: "a1", Tool: "todo", Bytes: 4}}, named)
	if a, text, ok, err := r.ReadArtifact(ctx, "s1", "a1"); err != nil || !ok || text != "long" || a != named[0] {
		t.Errorf("read: %+v %q %v %v", a, text, ok, err)
	}
	if _, _, ok, err := r.ReadArtifact(ctx, "s2", "a1"); ok || err != nil {
		t.Errorf("another session reads it: %v %v", ok, err)
	}
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

func TestReadersAfterClose(t *testing.T) {
	r, err := tryOpen(dbPath(t))
	if err != nil {
		t.Fatal(err)
	}
	row := r.openSession(t, "s1")
	r.close(t)
	r.close(t) // closing twice is harmless
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Commit":         func() error { _, err := r.Commit(ctx, r.tx(row)); return err },
		"Applied":        func() error { _, _, err := r.Applied(ctx, "s1", "x"); return err },
		"OpenSession":    func() error { _, err := r.OpenSession(ctx, "s1", "ann", true); return err },
		"ReleaseSession": func() error { return r.ReleaseSession(ctx, "s1", row.Fence) },
		"DeleteSession":  func() error { return r.DeleteSession(ctx, "s1", "ann") },
		"SaveTabs":       func() error { return r.SaveTabs(ctx, "ann", runtime.Tabs{}) },
		"Tabs":           func() error { _, err := r.Tabs(ctx, "ann"); return err },
		"Window":         func() error { _, err := r.Window(ctx, "s1"); return err },
		"Messages":       func() error { _, err := r.Messages(ctx, "s1", 0, 10); return err },
		"Events":         func() error { _, err := r.Events(ctx, "s1", "", 0, 10); return err },
		"Runs":           func() error { _, err := r.Runs(ctx, "s1", 10); return err },
		"Calls":          func() error { _, err := r.Calls(ctx, "r"); return err },
		"Unfinished":     func() error { _, _, err := r.Unfinished(ctx, "s1"); return err },
		"Inbox":          func() error { _, err := r.Inbox(ctx, "s1"); return err },
		"Todos":          func() error { _, err := r.Todos(ctx, "s1"); return err },
		"Sessions":       func() error { _, err := r.Sessions(ctx, "ann"); return err },
		"Artifact":       func() error { _, err := r.Artifact(ctx, "s1", "a"); return err },
		"LastSent":       func() error { _, _, err := r.LastSent(ctx, "s1"); return err },
		"ReadArtifact":   func() error { _, _, _, err := r.ReadArtifact(ctx, "s1", "a"); return err },
		"ListArtifacts":  func() error { _, err := r.ListArtifacts(ctx, "s1", 1); return err },
	} {
		if err := call(); !errors.Is(err, runtime.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
}

func TestReadersHonourContext(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s1")
	r.say(t, row, "hello")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"Window":     func() error { _, err := r.Window(ctx, "s1"); return err },
		"Messages":   func() error { _, err := r.Messages(ctx, "s1", 0, 10); return err },
		"Events":     func() error { _, err := r.Events(ctx, "s1", "", 0, 10); return err },
		"Unfinished": func() error { _, _, err := r.Unfinished(ctx, "s1"); return err },
		"Todos":      func() error { _, err := r.Todos(ctx, "s1"); return err },
		"Sessions":   func() error { _, err := r.Sessions(ctx, "ann"); return err },
		"Tabs":       func() error { _, err := r.Tabs(ctx, "ann"); return err },
		"Calls":      func() error { _, err := r.Calls(ctx, "x"); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want Canceled", name, err)
		}
	}
}

func TestSessionIsOpenedOnceAndKept(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	ctx := t.Context()
	if _, err := r.OpenSession(ctx, "s1", "ann", false); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("open of a missing session: %v", err)
	}
	row := r.openSession(t, "s1")
	again := r.openSession(t, "s1")
	diff(t, row, again)
	if _, err := r.OpenSession(ctx, "s1", "bob", true); !errors.Is(err, runtime.ErrOtherUser) {
		t.Errorf("open by another user: %v", err)
	}
	for _, bad := range []string{"", "a\xffb"} {
		if _, err := r.OpenSession(ctx, bad, "ann", true); !errors.Is(err, runtime.ErrConstraint) {
			t.Errorf("open of %q: %v", bad, err)
		}
	}
	if err := r.ReleaseSession(ctx, "s1", row.Fence); err != nil {
		t.Fatal(err)
	}
	if err := r.ReleaseSession(ctx, "s1", row.Fence); !errors.Is(err, runtime.ErrFenced) {
		t.Errorf("release twice: %v", err)
	}
	if err := r.ReleaseSession(ctx, "nope", row.Fence); !errors.Is(err, runtime.ErrFenced) || !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("release of a missing session: %v", err)
	}
	if _, err := r.Commit(ctx, r.tx(row)); !errors.Is(err, runtime.ErrFenced) {
		t.Errorf("commit after release: %v", err)
	}
	tx := r.tx(row)
	tx.Fence = runtime.Fence{}
	if _, err := r.Commit(ctx, tx); !errors.Is(err, runtime.ErrFenced) {
		t.Errorf("commit without a fence: %v", err)
	}
	back := r.openSession(t, "s1")
	if back.Fence.Epoch != row.Fence.Epoch+1 || back.TakenOver {
		t.Errorf("reopened: %+v", back)
	}
}

func TestCommitRefusesWhatContradicts(t *testing.T) {
	r := open(t, dbPath(t))
	row, other := r.openSession(t, "s1"), r.openSession(t, "s2")
	run := func(id string, s runtime.State) *runtime.RunRow { return &runtime.RunRow{ID: id, State: s} }
	tx := r.tx(other)
	tx.Run = run("theirs", runtime.StateExecuting)
	tx.Calls = []runtime.CallRow{{ID: "their-call", RunID: "theirs", Name: "x", Status: runtime.CallStarted}}
	r.commit(t, tx)
	tx = r.tx(row)
	tx.Run = run("mine", runtime.StateExecuting)
	tx.Todos = []runtime.TodoChange{{Action: "added", ID: "t", Text: "a"}}
	tx.InboxAdd = []runtime.InboxRow{{ID: "i", Text: "x"}}
	tx.Calls = []runtime.CallRow{{ID: "c", RunID: "mine", Name: "x", Status: runtime.CallStarted}}
	tx.Artifacts = []runtime.ArtifactRow{{Handle: "a"}}
	tx.Messages = []runtime.MessageRow{{ID: "m", Kind: llm.KindUser, Role: llm.RoleUser}}
	tx.Events = []trace.Event{{Data: trace.TodoData{}}}
	r.commit(t, tx)
	before := dump(t, r)

	for name, change := range map[string]func(*runtime.Tx){
		"a second unfinished run": func(tx *runtime.Tx) { tx.Run = run("second", runtime.StateCreated) },
		"another session's run":   func(tx *runtime.Tx) { tx.Run = run("theirs", runtime.StateSucceeded) },
		"run of another session": func(tx *runtime.Tx) {
			tx.Run = run("mine", runtime.StateSucceeded)
			tx.Run.SessionID = "s2"
		},
		"a run that cannot be encoded": func(tx *runtime.Tx) {
			tx.Run = run("mine", runtime.StateSucceeded)
			tx.Run.Usage.Cost = ptr(math.NaN())
		},
		"another run's call":      func(tx *runtime.Tx) { tx.Calls = []runtime.CallRow{{ID: "their-call", RunID: "mine"}} },
		"a call of no run":        func(tx *runtime.Tx) { tx.Calls = []runtime.CallRow{{ID: "new", RunID: "nope"}} },
		"a call's place twice":    func(tx *runtime.Tx) { tx.Calls = []runtime.CallRow{{ID: "c2", RunID: "mine"}} },
		"call of another session": func(tx *runtime.Tx) { tx.Calls = []runtime.CallRow{{ID: "c3", RunID: "mine", SessionID: "s2"}} },
		"a result that is no JSON": func(tx *runtime.Tx) {
			tx.Calls = []runtime.CallRow{{ID: "c", RunID: "mine", Result: []byte("{")}}
		},
		"a message out of order":     func(tx *runtime.Tx) { tx.Messages = []runtime.MessageRow{{N: 7}} },
		"message of another session": func(tx *runtime.Tx) { tx.Messages = []runtime.MessageRow{{SessionID: "s2"}} },
		"extra that is no JSON":      func(tx *runtime.Tx) { tx.Messages = []runtime.MessageRow{{Extra: []byte("x")}} },
		"a call's extra that is no JSON": func(tx *runtime.Tx) {
			tx.Messages = []runtime.MessageRow{{ToolCalls: []llm.ToolCall{{Extra: []byte("x")}}}}
		},
		"settings that are no JSON": func(tx *runtime.Tx) { tx.Settings = []byte("{,}") },
		"a todo twice":              func(tx *runtime.Tx) { tx.Todos = []runtime.TodoChange{{Action: "added", ID: "t"}} },
		"a missing todo":            func(tx *runtime.Tx) { tx.Todos = []runtime.TodoChange{{Action: "completed", ID: "no"}} },
		"an unknown todo action":    func(tx *runtime.Tx) { tx.Todos = []runtime.TodoChange{{Action: "eat", ID: "t"}} },
		"an inbox row twice":        func(tx *runtime.Tx) { tx.InboxAdd = []runtime.InboxRow{{ID: "i"}} },
		"a missing inbox row":       func(tx *runtime.Tx) { tx.InboxRemove = []string{"no"} },
		"an artifact twice":         func(tx *runtime.Tx) { tx.Artifacts = []runtime.ArtifactRow{{Handle: "a"}} },
		"an event without data":     func(tx *runtime.Tx) { tx.Events = []trace.Event{{Name: trace.Todo}} },
		"event of another session": func(tx *runtime.Tx) {
			tx.Events = []trace.Event{{SessionID: "s2", Data: trace.TodoData{}}}
		},
		"no id":        func(tx *runtime.Tx) { tx.ID = "" },
		"an id of two": func(tx *runtime.Tx) { tx.ID = "a\n1 1 1 1 1 b" },
		"no session":   func(tx *runtime.Tx) { tx.SessionID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			tx := r.tx(row)
			tx.NewTurn, tx.Title = true, ptr("must not stay")
			change(&tx)
			if _, err := r.Commit(t.Context(), tx); !errors.Is(err, runtime.ErrConstraint) {
				t.Errorf("got %v, want ErrConstraint", err)
			}
			diff(t, before, dump(t, r))
		})
	}
}

// dump is the whole database as text, table by table.
func dump(t testing.TB, r *rig) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	db, err := r.reader()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := all(t.Context(), r.Store, scanText, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		rows, err := db.Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for i, v := range values {
				fmt.Fprintf(&b, "%s=%v ", columns[i], *v.(*any))
			}
			out[table] = append(out[table], b.String())
		}
		if err := closing(rows, rows.Err()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func scanText(from row) (s string, err error) { err = from.Scan(&s); return s, err }

func TestCommitUpdates(t *testing.T) {
	r := open(t, dbPath(t))
	ctx := t.Context()
	row := r.openSession(t, "s1")
	tx := r.tx(row)
	tx.NewTurn = true
	tx.Run = &runtime.RunRow{ID: "run", State: runtime.StateWaitingModel}
	tx.Calls = []runtime.CallRow{{ID: "c1", RunID: "run", Step: 1, Name: "a", Arguments: "{}", Effect: tools.ReadOnly, Status: runtime.CallStarted, StartedAt: ptr(at(1))},
		{ID: "c2", RunID: "run", Step: 1, Ord: 1, Name: "b", Arguments: "{}", Status: runtime.CallPending}}
	tx.Todos = []runtime.TodoChange{{Action: "added", ID: "t1", Text: "one"}, {Action: "added", ID: "t2", Text: "two"}}
	tx.InboxAdd = []runtime.InboxRow{{ID: "i1", Text: "one"}, {ID: "i2", Text: "two"}}
	r.commit(t, tx)

	tx = r.tx(row)
	tx.At = at(9)
	tx.Run = &runtime.RunRow{ID: "run", State: runtime.StateFailed, Reason: runtime.ReasonModel, Error: "gone", FinishedAt: ptr(at(9))}
	tx.Calls = []runtime.CallRow{{ID: "c1", RunID: "run", Step: 1, Arguments: "other", Effect: tools.SideEffect, Status: runtime.CallDone, SideEffect: "none",
		Result: []byte(`{"ok":true}`), FinishedAt: ptr(at(8))}}
	tx.Todos = []runtime.TodoChange{{Action: "completed", ID: "t1"}, {Action: "removed", ID: "t2"}}
	tx.InboxRemove = []string{"i1"}
	r.commit(t, tx)

	if _, _, err := r.Unfinished(ctx, "s1"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("unfinished after the end: %v", err)
	}
	runs, err := r.Runs(ctx, "s1", 5)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []runtime.RunRow{{ID: "run", SessionID: "s1", Turn: 1, State: runtime.StateFailed, Reason: runtime.ReasonModel, Error: "gone",
		StartedAt: at(1), FinishedAt: ptr(at(9))}}, runs)
	calls, err := r.Calls(ctx, "run")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []runtime.CallRow{
		{ID: "c1", RunID: "run", SessionID: "s1", Step: 1, Name: "a", Arguments: "{}", Effect: tools.SideEffect, Status: runtime.CallDone, SideEffect: "none",
			Result: []byte(`{"ok":true}`), StartedAt: ptr(at(1)), FinishedAt: ptr(at(8))},
		{ID: "c2", RunID: "run", SessionID: "s1", Step: 1, Ord: 1, Name: "b", Arguments: "{}", Status: runtime.CallPending},
	}, calls)
	todos, err := r.Todos(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []tools.Todo{{ID: "t1", Text: "one", Completed: true, CreatedAt: at(1), CompletedAt: ptr(at(9))}}, todos)
	inbox, err := r.Inbox(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []runtime.InboxRow{{ID: "i2", SessionID: "s1", Text: "two", CreatedAt: at(1)}}, inbox)

	tx = r.tx(row)
	tx.Todos = []runtime.TodoChange{{Action: "reopened", ID: "t1"}}
	tx.Run = &runtime.RunRow{ID: "run-2", Turn: 1, State: runtime.StateCreated}
	r.commit(t, tx)
	if todos, err = r.Todos(ctx, "s1"); err != nil || todos[0].Completed || todos[0].CompletedAt != nil {
		t.Errorf("reopened todo: %+v, %v", todos, err)
	}
	if runs, err = r.Runs(ctx, "s1", 1); err != nil || len(runs) != 1 || runs[0].ID != "run-2" {
		t.Errorf("newest run: %+v, %v", runs, err)
	}
	if runs, err = r.Runs(ctx, "s1", 0); err != nil || len(runs) != 0 {
		t.Errorf("no runs asked for: %+v, %v", runs, err)
	}
	if _, err := r.Artifact(ctx, "s1", "nope"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("missing artifact: %v", err)
	}
	if _, err := r.Window(ctx, "nope"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("window of a missing session: %v", err)
	}
}

func TestPaging(t *testing.T) {
	r := open(t, dbPath(t))
	ctx := t.Context()
	row := r.openSession(t, "s1")
	const count = 600 // more than two pages
	tx := r.tx(row)
	tx.Run = &runtime.RunRow{ID: "run", State: runtime.StateExecuting}
	r.commit(t, tx)
	tx = r.tx(row)
	for i := range count {
		tx.Messages = append(tx.Messages, user(fmt.Sprint(i+1)))
		tx.Events = append(tx.Events, trace.Event{RunID: []string{"", "run"}[i%2], Data: trace.TodoData{ID: fmt.Sprint(i + 1)}})
		tx.Todos = append(tx.Todos, runtime.TodoChange{Action: "added", ID: fmt.Sprint(i + 1)})
	}
	r.commit(t, tx)
	numbers := func(before int64, limit int) (out []int64) {
		rows, err := r.Messages(ctx, "s1", before, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range rows {
			out = append(out, m.N)
		}
		return out
	}
	diff(t, span(1, count), numbers(0, 1000))
	diff(t, span(count-1, count), numbers(0, 2))
	diff(t, span(97, 99), numbers(100, 3))
	diff(t, span(1, 2), numbers(3, 10))
	diff(t, []int64(nil), numbers(1, 10))
	diff(t, []int64(nil), numbers(0, 0))
	if got := r.texts(t, "s1"); len(got) != count || got[599] != "600" {
		t.Errorf("window of %d messages", len(got))
	}
	seqs := func(session, run string, after int64, limit int) (out []int64) {
		events, err := r.Events(ctx, session, run, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			out = append(out, e.Seq)
		}
		return out
	}
	diff(t, span(1, count), seqs("s1", "", 0, 1000))
	diff(t, span(300, 302), seqs("s1", "", 299, 3))
	diff(t, []int64{2, 4, 6}, seqs("s1", "run", 0, 3))
	diff(t, []int64{598, 600}, seqs("", "run", 596, 10))
	todos, err := r.Todos(ctx, "s1")
	if err != nil || len(todos) != count || todos[599].ID != "600" {
		t.Errorf("%d todos, %v", len(todos), err)
	}
	// The window of a folded session: the kept user message, then all from the bound on.
	exec(t, r, "UPDATE sessions SET window_from = 598, keep_n = 10")
	diff(t, []string{"10", "598", "599", "600"}, r.texts(t, "s1"))
}

func span(from, to int64) (out []int64) {
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	return out
}

// exec changes the database as no method does.
func exec(t testing.TB, r *rig, query string, args ...any) {
	t.Helper()
	err := r.do(context.Background(), func(tx *txn) error {
		_, err := tx.exec(query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stepping is a real clock whose time moves by a second each time it is asked: every cursor has been open for too long.
type stepping struct {
	clock.Clock
	n *atomic.Int64
}

func (c stepping) Now() time.Time { return at(0).Add(time.Duration(c.n.Add(1)) * time.Second) }

func TestNoCursorStaysOpenForLong(t *testing.T) {
	r := open(t, dbPath(t), func(c *Config) { c.Clock = stepping{clock.Real(), new(atomic.Int64)} })
	row := r.openSession(t, "s1")
	tx := r.tx(row)
	for i := range 5 {
		tx.Messages = append(tx.Messages, user(fmt.Sprint(i)))
		tx.Todos = append(tx.Todos, runtime.TodoChange{Action: "added", ID: fmt.Sprint(i)})
	}
	r.commit(t, tx)
	rows, cut, err := list(t.Context(), r.Store, scanMessage, windowQuery, windowArgs("s1", 1, 10)...)
	if err != nil || !cut || len(rows) != 1 {
		t.Errorf("a cursor that was open too long gave %d rows, cut %v, %v", len(rows), cut, err)
	}
	diff(t, []string{"0", "1", "2", "3", "4"}, r.texts(t, "s1"))
	if todos, err := r.Todos(t.Context(), "s1"); err != nil || len(todos) != 5 {
		t.Errorf("%d todos, %v", len(todos), err)
	}
}

func TestLibrary(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	ctx := t.Context()
	for i, id := range []string{"old", "mid", "new"} {
		row := r.openSession(t, id)
		tx := r.tx(row)
		tx.At = time.Now().Add(time.Duration(i+1) * time.Hour)
		tx.NewTurn, tx.Title = true, ptr("about "+id)
		tx.Messages = []runtime.MessageRow{user("x"), user("y")}
		tx.Run = &runtime.RunRow{ID: "run-" + id, State: runtime.StateExecuting, Reason: runtime.ReasonPaused}
		r.commit(t, tx)
		if id == "old" {
			if err := r.ReleaseSession(ctx, id, row.Fence); err != nil {
				t.Fatal(err)
			}
		}
	}
	bob, err := r.OpenSession(ctx, "bobs", "bob", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ReleaseSession(ctx, "bobs", bob.Fence); err != nil {
		t.Fatal(err)
	}
	list, err := r.Sessions(ctx, "ann")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s %q %d turns %d messages %s/%s held=%v own=%v", s.ID, s.Title, s.TurnCount, s.Messages,
			s.RunState, s.RunReason, s.HeldBy == os.Getpid(), s.Own))
	}
	diff(t, []string{
		`new "about new" 1 turns 2 messages executing/paused held=true own=true`,
		`mid "about mid" 1 turns 2 messages executing/paused held=true own=true`,
		`old "about old" 1 turns 2 messages executing/paused held=false own=false`,
	}, got)

	// Tabs belong to a user; those of a deleted session go with it.
	tabs := runtime.Tabs{Sessions: []string{"old", "new", "unborn"}, Active: 1}
	if err := r.SaveTabs(ctx, "ann", tabs); err != nil {
		t.Fatal(err)
	}
	if err := r.SaveTabs(ctx, "bob", runtime.Tabs{Sessions: []string{"bobs"}}); err != nil {
		t.Fatal(err)
	}
	readTabs := func(user string) runtime.Tabs {
		got, err := r.Tabs(ctx, user)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	diff(t, tabs, readTabs("ann"))
	diff(t, runtime.Tabs{Sessions: []string{"bobs"}}, readTabs("bob"))
	diff(t, runtime.Tabs{}, readTabs("eve"))

	if err := r.DeleteSession(ctx, "bobs", "ann"); !errors.Is(err, runtime.ErrOtherUser) {
		t.Errorf("delete another user's session: %v", err)
	}
	if err := r.DeleteSession(ctx, "nope", "ann"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("delete a missing session: %v", err)
	}
	if err := r.DeleteSession(ctx, "new", "ann"); err != nil {
		t.Fatal(err)
	}
	diff(t, runtime.Tabs{Sessions: []string{"old", "unborn"}}, readTabs("ann"))
	for table, rows := range dump(t, r) {
		for _, row := range rows {
			if strings.Contains(row, "session_id=new ") || strings.Contains(row, " id=new ") {
				t.Errorf("%s still has %s", table, row)
			}
		}
	}
	if list, err = r.Sessions(ctx, "ann"); err != nil || len(list) != 2 {
		t.Errorf("sessions after delete: %v, %v", list, err)
	}
}

func TestEventsTellWhereAndWhen(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s1")
	r.say(t, row, "one")
	tx := r.tx(row)
	tx.NewTurn = true
	tx.Messages = []runtime.MessageRow{user("two"), {Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "answer"}}
	tx.Events = []trace.Event{
		{Data: trace.RunStartData{Input: "two", N: 2}},
		{TS: at(5).Add(123 * time.Nanosecond), Data: trace.AnswerData{Text: "answer"}},
		{Turn: 7, Data: &trace.Unknown{Name: "later", Raw: []byte(`{"a":1}`)}},
	}
	r.commit(t, tx)
	tx.ID = "other"
	tx.Messages = nil
	tx.Events = []trace.Event{{Data: trace.AnswerData{Text: "x", N: 2}}}
	r.commit(t, tx)
	got, err := r.Events(t.Context(), "s1", "", 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Event{
		{TS: at(1), Seq: 2, SessionID: "s1", Turn: 2, Name: trace.RunStart, Data: trace.RunStartData{Input: "two", N: 2}},
		{TS: at(5), Seq: 3, SessionID: "s1", Turn: 2, Name: trace.Answer, Data: trace.AnswerData{Text: "answer", N: 3}},
		{TS: at(1), Seq: 4, SessionID: "s1", Turn: 7, Name: "later", Data: &trace.Unknown{Name: "later", Raw: []byte(`{"a":1}`)}},
		{TS: at(1), Seq: 5, SessionID: "s1", Turn: 3, Name: trace.Answer, Data: trace.AnswerData{Text: "x", N: 2}},
	}
	diff(t, want, got)
	diff(t, want, r.published()[1:])
}

// B182, the database's part: whatever bytes come in, the database holds valid UTF-8 and valid JSON, and what is published is
// what is stored.
func TestInvalidTextIsMadeValid(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s1")
	bad := []string{"\xed\xa0\x80", "\xff\xfe", "\xf0\x9f", "file\xff.txt", "cut \xf0\x9f\x98", "👩\u200d\xf0", "nul\x00byte"}
	jsons := []string{`{"a":"\ud83d"}`, `{"a":"\uDE00 \ud83d\ude00"}`, "{\"a\":\"\xff\xfe\"}"}
	for i, text := range bad {
		raw := json.RawMessage(jsons[i%len(jsons)])
		name := fmt.Sprint(i)
		tx := r.tx(row)
		tx.Run = &runtime.RunRow{ID: "run-" + name, State: runtime.StateFailed, Agent: text, Error: text, Versions: runtime.Versions{Model: text}}
		tx.Messages = []runtime.MessageRow{{Kind: llm.KindTool, Role: llm.RoleTool, Content: text, PromptContent: &text, ToolCallID: text,
			ToolName: text, Extra: raw, ToolCalls: []llm.ToolCall{{ID: text, Name: text, Arguments: text, Extra: raw}}}}
		tx.Calls = []runtime.CallRow{{ID: "call-" + name, RunID: "run-" + name, CallID: text, Name: text, Arguments: text, RawArguments: text,
			Status: runtime.CallDone, Result: raw}}
		tx.Todos = []runtime.TodoChange{{Action: "added", ID: name, Text: text}}
		tx.Artifacts = []runtime.ArtifactRow{{Handle: name, Tool: text, Content: text}}
		tx.InboxAdd = []runtime.InboxRow{{ID: name, Text: text}}
		tx.Title, tx.Model, tx.Settings = &text, &text, raw
		tx.Events = []trace.Event{{Data: trace.AnswerData{Text: text}}, {Data: trace.ToolResultData{Tool: text, Result: raw}},
			{Data: trace.ToolCallData{RawArguments: text, Arguments: raw}}}
		r.commit(t, tx)
	}
	checkValid(t, r)
	stored, err := r.Events(t.Context(), "s1", "", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, stored, r.published())
	// The session goes on as if nothing had been.
	if got := r.texts(t, "s1"); got[6] != "nul\x00byte" || got[1] != "\uFFFD" {
		t.Errorf("read back %q", got)
	}
	r.say(t, row, "fine")
}

// checkValid looks at every text of the database.
func checkValid(t *testing.T, r *rig) {
	t.Helper()
	jsonColumns := map[string]bool{"settings": true, "summary": true, "tool_calls": true, "extra": true, "usage": true,
		"budget": true, "versions": true, "result": true, "data": true}
	db, err := r.reader()
	if err != nil {
		t.Fatal(err)
	}
	for table := range dump(t, r) {
		rows, err := db.Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				text, ok := (*v.(*any)).(string)
				if !ok {
					continue
				}
				if !utf8.ValidString(text) {
					t.Errorf("%s.%s is no UTF-8: %q", table, columns[i], text)
				}
				if !jsonColumns[columns[i]] {
					continue
				}
				if !json.Valid([]byte(text)) {
					t.Errorf("%s.%s is no JSON: %q", table, columns[i], text)
				}
				if strings.Contains(text, `"\ud83d"`) || strings.Contains(text, `"\uDE00`) {
					t.Errorf("%s.%s has half a character: %q", table, columns[i], text)
				}
			}
		}
		if err := closing(rows, rows.Err()); err != nil {
			t.Fatal(err)
		}
	}
}

// The plans of the queries that run often: each goes straight to its rows, in order, without sorting or scanning.
func TestQueryPlans(t *testing.T) {
	r := open(t, dbPath(t))
	db, err := r.reader()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, query, index string
		args               []any
	}{
		{"window", windowQuery, "messages USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", windowArgs("s", 1, 1)},
		{"messages page", messagesQuery, "messages USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", []any{"s", "s", 1, 1}},
		{"events", eventsQuery, "events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", eventsArgs("s", 1, 1)},
		{"events of a run", eventsOfRunQuery, "events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", []any{1, 2, "r", 1}},
		{"unfinished run", unfinishedQuery, "runs_unfinished (session_id=?)", []any{"s"}},
		{"runs", runsQuery, "runs_session (session_id=?)", []any{"s", 1}},
		{"calls", callsQuery, "tool_calls USING PRIMARY KEY (run_id=? AND (step,reply,ord)>(?,?,?))", []any{"r", 0, 0, 0, 1}},
		{"todos", todosQuery, "todos_session (session_id=?)", []any{"s"}},
		{"inbox", inboxQuery, "inbox_session (session_id=?)", []any{"s"}},
		{"pins", pinsQuery, "pins_session (session_id=?)", []any{"s"}},
		{"folds", foldsQuery, "compactions_session (session_id=? AND rowid<?)", []any{"s", "", 1}},
		{"last fold", lastFoldQuery, "compactions_session (session_id=?)", []any{"s"}},
		{"shorten", shortenQuery, "messages USING INTEGER PRIMARY KEY (rowid=?)", []any{nil, 1, "s", 1}},
		{"last sent", lastSentQuery, "events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", []any{"s", "s"}},
		{"artifacts", artifactsQuery, "artifacts_session (session_id=?)", []any{"s", 1}},
		{"sessions", sessionsQuery, "sessions_user (user_id=? AND updated_at<?)", []any{"u", 1, 1, 1}},
		{"held sessions", "UPDATE sessions SET holder = '' WHERE holder = 'x' AND holder <> ''", "sessions_holder (holder=?)", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := db.Query("EXPLAIN QUERY PLAN "+c.query, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var detail string
				if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
					t.Fatal(err)
				}
				plan = append(plan, detail)
			}
			if err := closing(rows, rows.Err()); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(plan, "\n")
			if !strings.Contains(text, c.index) || strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") {
				t.Errorf("plan, wanted %s:\n%s", c.index, text)
			}
		})
	}
}

// The events of a run are found whatever stands between them: those of other runs and of the session, told with the run or by the
// way, before and after its end.
func TestEventsOfARun(t *testing.T) {
	r := open(t, dbPath(t))
	rows := []runtime.SessionRow{r.openSession(t, "s0"), r.openSession(t, "s1")}
	trial := 0
	rapid.Check(t, func(rt *rapid.T) {
		trial++
		want := map[string][]string{}
		run := func(s, k int) string { return fmt.Sprint("run-", trial, "-", s, "-", k) }
		made, ended := map[string]bool{}, map[string]bool{}
		for i := range rapid.IntRange(1, 12).Draw(rt, "transactions") {
			s := rapid.IntRange(0, 1).Draw(rt, "session")
			tx := r.tx(rows[s])
			if k := rapid.IntRange(0, 2).Draw(rt, "run"); k > 0 && !ended[run(s, k)] {
				tx.Run = &runtime.RunRow{ID: run(s, k), ParentRun: "p", State: runtime.StateExecuting}
				if rapid.IntRange(0, 3).Draw(rt, "ends") == 0 {
					tx.Run.State, ended[run(s, k)] = runtime.StateSucceeded, true
				}
				made[run(s, k)] = true
			}
			for j := range rapid.IntRange(0, 3).Draw(rt, "events") {
				e := trace.Event{Data: trace.TodoData{ID: fmt.Sprint(i, "-", j)}}
				if id := run(s, rapid.IntRange(1, 2).Draw(rt, "of")); made[id] {
					e.RunID = id
					want[id] = append(want[id], fmt.Sprint(i, "-", j))
				}
				tx.Events = append(tx.Events, e)
			}
			r.commit(t, tx)
		}
		for id, ids := range want {
			for _, limit := range []int{2, 100} {
				var got []string
				for after := int64(0); ; {
					page, err := r.Events(t.Context(), "", id, after, limit)
					if err != nil {
						rt.Fatal(err)
					}
					for _, e := range page {
						got, after = append(got, e.Data.(trace.TodoData).ID), e.Seq
					}
					if len(page) < limit {
						break
					}
				}
				if !slices.Equal(got, ids) {
					rt.Fatalf("events of %s, %d at a time: %v, want %v", id, limit, got, ids)
				}
			}
		}
	})
	if got, err := r.Events(t.Context(), "", "nobody", 0, 10); err != nil || len(got) > 0 {
		t.Errorf("of no run: %v, %v", got, err)
	}
}

// Whatever number a caller gives, it leads to no rows of another session.
func TestKeysStayWithinASession(t *testing.T) {
	r := open(t, dbPath(t))
	for _, id := range []string{"s1", "s2", "s3"} {
		r.say(t, r.openSession(t, id), id)
	}
	for _, n := range []int64{math.MinInt64, -1 << 40, -1 << 32, -1, 0, 1, 2, 1<<32 - 1, 1 << 32, 1 << 40, math.MaxInt64} {
		messages, err := r.Messages(t.Context(), "s2", n, 10)
		if err != nil {
			t.Fatal(err)
		}
		folded, err := r.Folded(t.Context(), "s2", n, min(n, math.MaxInt64-100)+100)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range append(messages, folded...) {
			if m.SessionID != "s2" {
				t.Errorf("%d: a message of %s", n, m.SessionID)
			}
		}
		events, err := r.Events(t.Context(), "s2", "", n, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.SessionID != "s2" {
				t.Errorf("%d: an event of %s", n, e.SessionID)
			}
		}
	}
	if got, err := r.Messages(t.Context(), "nobody", 0, 10); err != nil || len(got) > 0 {
		t.Errorf("of no session: %v, %v", got, err)
	}
	// What is deleted takes its own rows with it, and its number leads to nothing for the next session.
	for _, id := range []string{"s3", "s2"} {
		if err := r.DeleteSession(t.Context(), id, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	r.say(t, r.openSession(t, "s4"), "new")
	diff(t, []string{"new"}, r.texts(t, "s4"))
	diff(t, []string{"s1"}, r.texts(t, "s1"))
	left := dump(t, r)
	if len(left["messages"]) != 2 || len(left["events"]) != 2 {
		t.Errorf("left: %d messages, %d events", len(left["messages"]), len(left["events"]))
	}
}

// Results are those of one session, of the named tools, that succeeded, the newest first.
func TestResults(t *testing.T) {
	r := open(t, dbPath(t))
	for _, id := range []string{"s1", "s2"} {
		tx := r.tx(r.openSession(t, id))
		tx.Run = &runtime.RunRow{ID: "run-" + id, State: runtime.StateExecuting}
		for i, c := range []struct{ name, status, result string }{
			{"read", "done", `{"ok":true,"data":1}`}, {"read", "done", `{"ok":false}`}, {"read", "interrupted", `{"ok":true}`}, {"other", "done", `{"ok":true}`},
			{"write", "done", `{"ok":true,"data":2}`}, {"read", "started", ""}, {"read", "done", `{"ok":true,"data":3}`},
		} {
			at := time.Unix(int64(1000+i/2), 0)
			row := runtime.CallRow{ID: fmt.Sprint(id, i), RunID: "run-" + id, Ord: i, Name: c.name, Status: runtime.CallStatus(c.status), FinishedAt: &at}
			if c.result != "" {
				row.Result = json.RawMessage(c.result)
			}
			tx.Calls = append(tx.Calls, row)
		}
		r.commit(t, tx)
	}
	for _, c := range []struct {
		names []string
		limit int
		want  string
	}{
		{[]string{"read", "write"}, 9, `[{"ok":true,"data":3} {"ok":true,"data":2} {"ok":true,"data":1}]`},
		{[]string{"read"}, 1, `[{"ok":true,"data":3}]`},
		{[]string{"nothing"}, 9, `[]`},
		{nil, 9, `[]`},
		{[]string{"read"}, 0, `[]`},
	} {
		got, err := r.Results(t.Context(), "s1", c.names, c.limit)
		if text := fmt.Sprintf("%s", got); err != nil || text != c.want {
			t.Errorf("%v: %s %v", c.names, text, err)
		}
	}
}
