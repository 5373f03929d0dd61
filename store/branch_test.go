package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
)

var _ runtime.Brancher = (*Store)(nil)

// branchStory is a session of four turns: the second has a result that a fold of the fourth shortened, the first two were folded before
// the third, and after that pins, todos and an artifact came and changed.
func branchStory(t *testing.T) (*rig, runtime.SessionRow) {
	t.Helper()
	r := open(t, dbPath(t))
	row := r.openSession(t, "s")
	turn := func(sec int, text string, more ...runtime.MessageRow) runtime.Tx {
		tx := r.tx(row)
		tx.At, tx.NewTurn = at(sec), true
		tx.Messages = []runtime.MessageRow{user(text)}
		tx.Messages = append(tx.Messages, more...)
		tx.Messages = append(tx.Messages, runtime.MessageRow{Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "re " + text})
		for i := range tx.Messages {
			tx.Messages[i].RunID = fmt.Sprint("run", sec)
		}
		return tx
	}
	first := turn(1, "one")
	first.Todos = []runtime.TodoChange{{Action: "added", ID: "t1", Text: "early"}, {Action: "added", ID: "t2", Text: "done early"}, {Action: "completed", ID: "t2"}}
	first.PinsAdd = []runtime.PinRow{{ID: "p1", Text: "never", N: 1, CreatedAt: at(1)}}
	first.Title, first.Model, first.Settings = ptr("deploy plan"), ptr("m"), json.RawMessage(`{"x":1}`)
	r.commit(t, first)
	second := turn(2, "two", runtime.MessageRow{Kind: llm.KindAssistant, Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c", Name: "read_file", Arguments: "{}"}}},
		runtime.MessageRow{Kind: llm.KindTool, Role: llm.RoleTool, Content: "a long result, see a-old", ToolCallID: "c", ToolName: "read_file", Tokens: 90})
	second.Artifacts = []runtime.ArtifactRow{{Handle: "a-old", Content: "all of it", CreatedAt: at(2)}}
	r.commit(t, second)
	fold := r.tx(row)
	fold.At = at(3)
	fold.Fold = &runtime.Fold{ID: "f1", FirstN: 1, LastN: 2, From: 3, WasFrom: 1, SummaryAfter: json.RawMessage(`{"facts":["x"]}`)}
	r.commit(t, fold)
	third := attach.Compose("three", []attach.File{{Name: "a", Bytes: 1, Text: "A"}})
	r.commit(t, turn(4, third)) // n 7, 8
	fold = r.tx(row)
	fold.At = at(5)
	fold.Fold = &runtime.Fold{ID: "f2", FirstN: 3, LastN: 6, From: 7, WasFrom: 3, LastFold: "f1", SummaryAfter: json.RawMessage(`{"facts":["y"]}`),
		Shorten: []runtime.Shortened{{N: 5, Content: ptr("short"), Tokens: 5}}}
	fold.Todos = []runtime.TodoChange{{Action: "added", ID: "t3", Text: "late"}, {Action: "completed", ID: "t1"}}
	fold.PinsAdd = []runtime.PinRow{{ID: "p2", Text: "later", N: 7, CreatedAt: at(5)}}
	r.commit(t, fold)
	r.commit(t, turn(6, "four"))
	return r, row
}

func branchOf(from, to string, n int64) runtime.Branch {
	return runtime.Branch{From: from, User: "ann", To: to, N: n, At: at(9), Title: func(title string, turn int) string { return fmt.Sprintf("%s, from turn %d", title, turn) }}
}

// A branch has what the session had when the input came: messages, window, summary, the text of what was shortened since, pins, todos;
// the session itself stays as it is.
func TestBranch(t *testing.T) {
	r, _ := branchStory(t)
	ctx := t.Context()
	before, err := r.Messages(ctx, "s", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Branch(ctx, branchOf("s", "b", 7))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, runtime.Branched{Text: "three", Turns: 2}, got)
	row, err := r.OpenSession(ctx, "b", "ann", false)
	if err != nil {
		t.Fatal(err)
	}
	if row.Title != "deploy plan, from turn 3" || row.Model != "m" || string(row.Settings) != `{"x":1}` || row.TurnCount != 2 || row.NextN != 7 || row.NextSeq != 1 ||
		row.WindowFrom != 3 || row.KeepN != 0 || string(row.Summary) != `{"facts":["x"]}` {
		t.Errorf("%+v", row)
	}
	window, err := r.Window(ctx, "b")
	if err != nil || len(window) != 4 {
		t.Fatalf("%v %v", window, err)
	}
	result := window[2]
	if result.PromptContent != nil || result.Tokens < 6 || !strings.HasPrefix(result.Content, "a long result, see a-") || strings.Contains(result.Content, "a-old") {
		t.Errorf("the result that was shortened later: %+v", result)
	}
	handle := strings.TrimPrefix(result.Content, "a long result, see ")
	if a, err := r.Artifact(ctx, "b", handle); err != nil || a.Content != "all of it" {
		t.Errorf("artifact %q: %v %v", handle, a, err)
	}
	all, err := r.Messages(ctx, "b", 0, 100)
	if err != nil || len(all) != 6 || all[0].Content != "one" || all[5].Content != "re two" || all[0].N != 1 {
		t.Errorf("%v %v", all, err)
	}
	todos, err := r.Todos(ctx, "b")
	if err != nil || len(todos) != 2 || todos[0].Text != "early" || todos[0].Completed || !todos[1].Completed {
		t.Errorf("todos %+v %v", todos, err)
	}
	pins, err := r.Pins(ctx, "b")
	if err != nil || len(pins) != 1 || pins[0].Text != "never" {
		t.Errorf("pins %+v %v", pins, err)
	}
	folds, err := r.Folds(ctx, "b", 9)
	if err != nil || len(folds) != 1 || folds[0].ID == "f1" || folds[0].LastN != 2 {
		t.Errorf("folds %+v %v", folds, err)
	}
	if d, err := r.Draft(ctx, "b"); err != nil || d.Text != "three" {
		t.Errorf("draft %+v %v", d, err)
	}
	// It goes on like any other session, and an undo of its fold leaves the other's alone.
	tx := r.tx(row)
	tx.Fold = &runtime.Fold{ID: folds[0].ID, Undo: true, From: 1, WasFrom: 3, LastFold: folds[0].ID}
	tx.NewTurn, tx.Messages = true, []runtime.MessageRow{user("three, again")}
	if c := r.commit(t, tx); c.FirstN != 7 || c.Turn != 3 {
		t.Errorf("%+v", c)
	}
	after, err := r.Messages(ctx, "s", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, before, after)
	if old, err := r.Folds(ctx, "s", 9); err != nil || len(old) != 2 || old[1].UndoneAt != nil {
		t.Errorf("the old session's folds %+v %v", old, err)
	}
	if err := r.DeleteSession(ctx, "b", "ann"); err != nil {
		t.Fatal(err)
	}
	if a, err := r.Artifact(ctx, "s", "a-old"); err != nil || a.Content != "all of it" {
		t.Errorf("the old session's artifact: %v", err)
	}
}

// An input of a folded turn, and the first one, can be branched before too; what is no input, or another user's, is refused and leaves
// nothing behind.
func TestBranchElsewhere(t *testing.T) {
	r, _ := branchStory(t)
	ctx := t.Context()
	for n, want := range map[int64]int{1: 0, 3: 1, 9: 3} {
		to := fmt.Sprint("b", n)
		got, err := r.Branch(ctx, branchOf("s", to, n))
		if err != nil || got.Turns != want {
			t.Errorf("before %d: %+v %v", n, got, err)
		}
		row, err := r.OpenSession(ctx, to, "ann", false)
		window := map[int64]int64{1: 1, 3: 1, 9: 7}[n]
		if err != nil || row.WindowFrom != window || row.NextN != n {
			t.Errorf("before %d: window from %d, next %d, %v", n, row.WindowFrom, row.NextN, err)
		}
	}
	w, err := r.Window(ctx, "b9")
	if err != nil || len(w) != 2 {
		t.Errorf("%v %v", w, err)
	}
	for name, c := range map[string]struct {
		b    runtime.Branch
		want error
	}{
		"no input":       {branchOf("s", "x", 2), runtime.ErrConstraint},
		"no message":     {branchOf("s", "x", 99), runtime.ErrNotFound},
		"no session":     {branchOf("nobody", "x", 1), runtime.ErrNotFound},
		"a taken id":     {branchOf("s", "b1", 1), runtime.ErrConstraint},
		"another's":      {runtime.Branch{From: "s", User: "bob", To: "x", N: 1, Title: branchOf("", "", 0).Title}, runtime.ErrOtherUser},
		"another number": {branchOf("s", "x", -5), runtime.ErrNotFound},
	} {
		if _, err := r.Branch(ctx, c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.OpenSession(ctx, "x", "ann", false); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("a branch that was refused left a session: %v", err)
	}
}
