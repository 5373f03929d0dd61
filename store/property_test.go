package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// model is what the store should hold of one session, in plain Go.
type model struct {
	row      runtime.SessionRow
	held     bool
	messages []string
	todos    []tools.Todo
	inbox    []string
	run      string // the unfinished one
	events   []string
	turns    int
	epoch    int64
	done     map[string]runtime.Committed
	order    []string // of done
}

func (m *model) clone() *model {
	c := *m
	c.messages, c.todos, c.inbox = slices.Clone(m.messages), slices.Clone(m.todos), slices.Clone(m.inbox)
	c.events, c.done, c.order = slices.Clone(m.events), maps.Clone(m.done), slices.Clone(m.order)
	return &c
}

// apply does to the model what the store should do; an error leaves it as it was.
func (m *model) apply(tx runtime.Tx) (out *model, c runtime.Committed, err error) {
	if c, ok := m.done[tx.ID]; ok && slices.Contains(m.order[max(0, len(m.order)-recentBound):], tx.ID) {
		return m, c, nil
	}
	if !m.held || tx.Fence != m.row.Fence {
		return m, c, runtime.ErrFenced
	}
	out = m.clone()
	if tx.NewTurn {
		out.turns++
	}
	c.Turn = out.turns
	if tx.Run != nil {
		if out.run != "" && out.run != tx.Run.ID && !tx.Run.State.Terminal() {
			return m, c, runtime.ErrConstraint
		}
		switch {
		case !tx.Run.State.Terminal():
			out.run = tx.Run.ID
		case out.run == tx.Run.ID:
			out.run = ""
		}
	}
	if len(tx.Messages) > 0 {
		c.FirstN, c.LastN = int64(len(out.messages)+1), int64(len(out.messages)+len(tx.Messages))
		for _, msg := range tx.Messages {
			out.messages = append(out.messages, msg.Content)
		}
	}
	for _, ch := range tx.Todos {
		if !out.change(ch) {
			return m, c, runtime.ErrConstraint
		}
	}
	for _, in := range tx.InboxAdd {
		out.inbox = append(out.inbox, in.Text)
	}
	for _, id := range tx.InboxRemove {
		i := slices.Index(out.inbox, id)
		if i < 0 {
			return m, c, runtime.ErrConstraint
		}
		out.inbox = slices.Delete(out.inbox, i, i+1)
	}
	if len(tx.Events) > 0 {
		c.FirstSeq = int64(len(out.events) + 1)
		for _, e := range tx.Events {
			out.events = append(out.events, e.Data.(trace.TodoData).ID)
		}
	}
	out.done[tx.ID], out.order = c, append(out.order, tx.ID)
	return out, c, nil
}

func (m *model) change(ch runtime.TodoChange) bool {
	i := slices.IndexFunc(m.todos, func(t tools.Todo) bool { return t.ID == ch.ID })
	if ch.Action == "added" {
		if i < 0 {
			m.todos = append(m.todos, tools.Todo{ID: ch.ID, Text: ch.Text, CreatedAt: at(1)})
		}
		return i < 0
	}
	if i < 0 {
		return false
	}
	switch ch.Action {
	case "completed":
		m.todos[i].Completed, m.todos[i].CompletedAt = true, ptr(at(1))
	case "reopened":
		m.todos[i].Completed, m.todos[i].CompletedAt = false, nil
	case "removed":
		m.todos = slices.Delete(m.todos, i, i+1)
	}
	return true
}

// drawTx makes a transaction, often a good one.
func drawTx(t *rapid.T, m *model, session, id string) runtime.Tx {
	tx := runtime.Tx{ID: id, SessionID: session, Fence: m.row.Fence, At: at(1), NewTurn: rapid.Bool().Draw(t, "turn")}
	if len(m.order) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		tx.ID = rapid.SampledFrom(m.order[max(0, len(m.order)-recentBound):]).Draw(t, "old id")
	}
	if rapid.IntRange(0, 9).Draw(t, "stale") == 0 {
		tx.Fence.Epoch--
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "messages") {
		tx.Messages = append(tx.Messages, runtime.MessageRow{Kind: llm.KindUser, Role: llm.RoleUser, Content: fmt.Sprint(id, "-", i)})
	}
	for range rapid.IntRange(0, 2).Draw(t, "todos") {
		tx.Todos = append(tx.Todos, runtime.TodoChange{
			Action: rapid.SampledFrom([]string{"added", "added", "completed", "reopened", "removed"}).Draw(t, "action"),
			ID:     session + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "todo"), Text: id,
		})
	}
	if rapid.Bool().Draw(t, "queue") {
		tx.InboxAdd = []runtime.InboxRow{{ID: "in" + id, Text: "in" + id}}
	}
	if len(m.inbox) > 0 && rapid.Bool().Draw(t, "take") {
		tx.InboxRemove = []string{rapid.SampledFrom(append(slices.Clone(m.inbox), "nowhere")).Draw(t, "taken")}
	}
	switch rapid.IntRange(0, 4).Draw(t, "run") {
	case 0:
		tx.Run = &runtime.RunRow{ID: "run" + id, State: runtime.StateExecuting}
	case 1, 2:
		if m.run != "" {
			tx.Run = &runtime.RunRow{ID: m.run, State: rapid.SampledFrom([]runtime.State{runtime.StateVerifying, runtime.StateSucceeded}).Draw(t, "state")}
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "events") {
		tx.Events = append(tx.Events, trace.Event{Data: trace.TodoData{ID: fmt.Sprint(id, "-", i)}})
	}
	return tx
}

// Random transactions do to the store what they do to a model in memory.
func TestCommitsAgainstModel(t *testing.T) {
	f := &faults{}
	r := open(t, dbPath(t), withFaults(f))
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		ctx := context.Background()
		published := len(r.published())
		models := map[string]*model{}
		sessions := []string{fmt.Sprint("a", count), fmt.Sprint("b", count)}
		for _, id := range sessions {
			models[id] = &model{done: map[string]runtime.Committed{}}
		}
		for i := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			id := rapid.SampledFrom(sessions).Draw(rt, "session")
			m := models[id]
			if !m.held || rapid.IntRange(0, 7).Draw(rt, "release") == 0 {
				if m.held {
					if err := r.ReleaseSession(ctx, id, m.row.Fence); err != nil {
						rt.Fatal(err)
					}
				}
				row, err := r.OpenSession(ctx, id, "ann", true)
				if err != nil {
					rt.Fatal(err)
				}
				if m.epoch++; row.Fence.Epoch != m.epoch {
					rt.Fatalf("epoch %d, want %d", row.Fence.Epoch, m.epoch)
				}
				m.row, m.held = row, true
			}
			tx := drawTx(rt, m, id, fmt.Sprint("t", count, "-", i))
			if rapid.IntRange(0, 5).Draw(rt, "fault") == 0 {
				f.set(rapid.SampledFrom([]string{"commit.before", "commit.after"}).Draw(rt, "point"), errors.New("made on purpose"), 1)
			}
			got, err := commitSurely(ctx, r, tx)
			f.set("", errNone, 0)
			next, want, wantErr := m.apply(tx)
			if !errors.Is(err, wantErr) || (err == nil) != (wantErr == nil) {
				rt.Fatalf("step %d: %v, want %v", i, err, wantErr)
			}
			if err == nil && got != want {
				rt.Fatalf("step %d: %+v, want %+v", i, got, want)
			}
			models[id] = next
		}
		for id, m := range models {
			compare(rt, r, id, m)
		}
		want := len(models[sessions[0]].events) + len(models[sessions[1]].events)
		if got := len(r.published()) - published; got != want {
			rt.Errorf("%d events published, want %d", got, want)
		}
	})
}

// errNone stands for no error where an error must be stored.
var errNone = errors.New("none")

// commitSurely commits as the engine does: until the outcome is known.
func commitSurely(ctx context.Context, r *rig, tx runtime.Tx) (runtime.Committed, error) {
	for {
		c, err := r.Commit(ctx, tx)
		var unknown *CommitError
		if !errors.As(err, &unknown) {
			return c, err
		}
		c, in, err := r.Applied(ctx, tx.SessionID, tx.ID)
		if err == nil && in {
			return c, nil
		}
	}
}

func compare(t *rapid.T, r *rig, id string, m *model) {
	ctx := context.Background()
	if !m.held {
		return
	}
	messages, err := r.Window(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i, msg := range messages {
		if msg.N != int64(i+1) {
			t.Errorf("message %d has number %d", i, msg.N)
		}
		texts = append(texts, msg.Content)
	}
	todos, err := r.Todos(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := r.Inbox(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var queued []string
	for _, in := range inbox {
		queued = append(queued, in.Text)
	}
	events, err := r.Events(ctx, id, "", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has seq %d", i, e.Seq)
		}
		told = append(told, e.Data.(trace.TodoData).ID)
	}
	run, _, err := r.Unfinished(ctx, id)
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		t.Fatal(err)
	}
	row, err := r.OpenSession(ctx, id, "ann", false)
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]any{"messages": {m.messages, texts}, "inbox": {m.inbox, queued}, "events": {m.events, told},
		"run": {m.run, run.ID}, "turns": {m.turns, row.TurnCount}, "todos": {m.todos, todos}} {
		if a, b := fmt.Sprintf("%+v", printable(pair[0])), fmt.Sprintf("%+v", printable(pair[1])); a != b {
			t.Errorf("%s of %s: %s, want %s", what, id, b, a)
		}
	}
}

// printable shows todos by value.
func printable(v any) any {
	list, ok := v.([]tools.Todo)
	if !ok {
		return v
	}
	var out []string
	for _, t := range list {
		out = append(out, fmt.Sprint(t.ID, t.Text, t.Completed, t.CreatedAt, t.CompletedAt != nil))
	}
	return out
}

// image is the database's files at a moment at which the writer stood still, which is what a crash at that moment leaves.
type image struct {
	path  string
	acked map[string]int64
}

// A crash at any point keeps every transaction that was acknowledged, and each session is the beginning of what was sent; so
// it is when the end of the log is lost too.
func TestCrashKeepsWhatWasAcknowledged(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "s.db")
	var mu sync.Mutex
	var images []image
	acked := map[string]int64{}
	hits := 0
	hook := func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if hits++; hits%7 != 0 {
			return nil
		}
		to := filepath.Join(base, fmt.Sprint(len(images)), "s.db")
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		for _, ext := range []string{"", "-wal"} {
			if err := copyFile(path+ext, to+ext, func(string) error { return nil }); err != nil {
				return err
			}
		}
		images = append(images, image{path: to, acked: maps.Clone(acked)})
		return nil
	}
	r, err := tryOpen(path, func(c *Config) { c.Faults = runtime.NewFaults(hook) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.conns.write.ExecContext(t.Context(), "PRAGMA wal_autocheckpoint = 20"); err != nil {
		t.Fatal(err) // often, so that crashes meet it
	}
	g := clock.NewGroup(clock.Real())
	const sessions, each = 4, 40
	for s := range sessions {
		id := fmt.Sprint("s", s)
		row := r.openSession(t, id)
		g.Go(func() {
			for i := range int64(each) {
				tx := runtime.Tx{ID: fmt.Sprint(i), SessionID: id, Fence: row.Fence, Messages: []runtime.MessageRow{user(fmt.Sprint(i))},
					Events: []trace.Event{{Data: trace.TodoData{}}}}
				if _, err := r.Commit(context.Background(), tx); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acked[id] = i + 1
				mu.Unlock()
			}
		})
	}
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.close(t)
	if len(images) < 10 {
		t.Errorf("%d images only", len(images))
	}
	for i, im := range images {
		checkImage(t, im, sessions)
		// The same image with a torn log: less may be in, but always a beginning.
		if i%3 == 0 {
			torn := image{path: filepath.Join(base, fmt.Sprint("torn", i), "s.db")}
			tear(t, im.path, torn.path, i)
			checkImage(t, torn, sessions)
		}
	}
}

// tear copies an image and cuts its log somewhere.
func tear(t *testing.T, from, to string, seed int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(from, to, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(from + "-wal")
	if err != nil {
		return // opening the image has moved the log into the database
	}
	write(t, to+"-wal", string(log[:len(log)*(seed%10)/10]))
}

func checkImage(t *testing.T, im image, sessions int) {
	t.Helper()
	r, err := tryOpen(im.path)
	if err != nil {
		t.Errorf("after a crash: %v", err)
		return
	}
	defer r.close(t)
	var whole string
	if err := r.row(t.Context(), "PRAGMA integrity_check", nil, &whole); err != nil || whole != "ok" {
		t.Errorf("integrity: %s, %v", whole, err)
	}
	for s := range sessions {
		id := fmt.Sprint("s", s)
		rows, err := r.Messages(t.Context(), id, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(rows)) < im.acked[id] {
			t.Errorf("%s has %d messages, %d were acknowledged", id, len(rows), im.acked[id])
		}
		for i, m := range rows {
			if m.N != int64(i+1) || m.Content != fmt.Sprint(i) {
				t.Fatalf("message %d of %s is %d %q", i, id, m.N, m.Content)
			}
		}
		events, err := r.Events(t.Context(), id, "", 0, 1000)
		if err != nil || len(events) != len(rows) {
			t.Errorf("%d events beside %d messages, %v", len(events), len(rows), err)
		}
	}
}
