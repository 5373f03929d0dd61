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
	"vitrine/trace"
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
	diff(t, runtime.Branched{Text: "three", Turns: 2, LeftTurns: 2}, got) // they have no events
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

// eventful is a session of turns with runs, events and costs: each with a large output, the second with a fold, the third with a pin
// outside of a run; the first fold is undone in the fourth.
func eventful(t *testing.T, turns int) *rig {
	t.Helper()
	r := open(t, dbPath(t))
	row := r.openSession(t, "s")
	cost, prompt := 0.25, 100
	for i := 1; i <= turns; i++ {
		run := runtime.RunRow{ID: fmt.Sprint("run", i), State: runtime.StateSucceeded, StartedAt: at(10 * i), Usage: runtime.RunUsage{Steps: 1, Prompt: 100, Cost: &cost}}
		tx := r.tx(row)
		tx.At, tx.NewTurn, tx.Run = at(10*i), true, &run
		handle := fmt.Sprintf("a-out%d", i)
		m := user(fmt.Sprint("question ", i))
		m.RunID = run.ID
		tx.Messages = []runtime.MessageRow{m, {Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "see " + handle, RunID: run.ID}}
		tx.Artifacts = []runtime.ArtifactRow{{Handle: handle, RunID: run.ID, Content: "all of it", CreatedAt: at(10 * i)}}
		tx.Events = []trace.Event{
			{RunID: run.ID, Data: trace.RunStartData{Input: m.Content, N: int64(2*i - 1)}},
			{RunID: run.ID, Step: 1, Data: trace.LLMCallData{Model: "m", PromptTokens: &prompt, Cost: &cost}},
			{RunID: run.ID, Step: 1, Data: trace.ToolResultData{ID: "call", Result: json.RawMessage(`{"ok":true,"data":{"handle":"` + handle + `"}}`)}},
			{RunID: run.ID, Data: trace.AnswerData{Text: "see", N: int64(2 * i)}},
			{RunID: run.ID, Data: trace.RunEndData{State: "succeeded", Tokens: 100, Cost: &cost}},
			{Data: trace.SessionData{Action: "renamed", Title: "another"}},
		}
		r.commit(t, tx)
		if i == 2 {
			tx := r.tx(row)
			tx.At = at(25)
			tx.Fold = &runtime.Fold{ID: "f1", FirstN: 1, LastN: 2, From: 3, WasFrom: 1, SummaryAfter: json.RawMessage(`{"facts":["x"]}`)}
			tx.Events = []trace.Event{{Data: trace.CompactData{ID: "f1", Phase: "committed", FirstN: 1, LastN: 2}}}
			r.commit(t, tx)
		}
		if i == 4 {
			tx := r.tx(row)
			tx.At = at(45)
			tx.Fold = &runtime.Fold{ID: "f1", Undo: true, From: 1, WasFrom: 3, LastFold: "f1"}
			tx.Events = []trace.Event{{Data: trace.CompactData{ID: "f1", Phase: "undone"}}}
			r.commit(t, tx)
		}
	}
	return r
}

func (r *rig) allEvents(t *testing.T, id string) []trace.Event {
	t.Helper()
	events, err := r.Events(t.Context(), id, "", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// A branch tells of the copied turns what the session tells of them, with the ids of its own folds and outputs; nothing of it is
// published again, and what they cost counts once over all sessions. It goes on behind it, and can be branched again.
func TestBranchEvents(t *testing.T) {
	r := eventful(t, 4)
	ctx := t.Context()
	published := len(r.published())
	out, err := r.Branch(ctx, branchOf("s", "b", 5))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, runtime.Branched{Text: "question 3", Turns: 2}, out)
	if n := len(r.published()); n != published {
		t.Errorf("%d events were published again", n-published)
	}
	var want, got []string
	for _, e := range r.allEvents(t, "s") {
		if e.Turn <= 2 && e.Name != trace.Session {
			want = append(want, fmt.Sprint(e.RunID, e.Turn, e.Step, e.Name, e.TS))
		}
	}
	folds, err := r.Folds(ctx, "b", 9)
	if err != nil || len(folds) != 1 {
		t.Fatalf("%v %v", folds, err)
	}
	for i, e := range r.allEvents(t, "b") {
		got = append(got, fmt.Sprint(e.RunID, e.Turn, e.Step, e.Name, e.TS))
		if e.SessionID != "b" || e.Seq != int64(i+1) {
			t.Errorf("event %d is %s %d", i, e.SessionID, e.Seq)
		}
		switch d := e.Data.(type) {
		case trace.CompactData:
			if d.ID != folds[0].ID {
				t.Errorf("the fold is %s, in its event %s", folds[0].ID, d.ID)
			}
		case trace.ToolResultData:
			var res struct{ Data struct{ Handle string } }
			if err := json.Unmarshal(d.Result, &res); err != nil {
				t.Fatal(err)
			}
			if a, err := r.Artifact(ctx, "b", res.Data.Handle); err != nil || a.Content != "all of it" {
				t.Errorf("the output %s of the event: %v", res.Data.Handle, err)
			}
		}
	}
	diff(t, want, got)
	if len(got) != 11 {
		t.Errorf("%d events", len(got))
	}
	if n, err := r.TurnStart(ctx, "b", 2); err != nil || n != 3 {
		t.Errorf("turn 2 starts at message %d: %v", n, err)
	}
	if first, last, err := r.TurnSeqs(ctx, "b", 2); err != nil || first != 6 || last != 10 {
		t.Errorf("turn 2 has the events %d to %d: %v", first, last, err)
	}
	if _, _, err := r.TurnSeqs(ctx, "b", 3); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("a turn that is not there: %v", err)
	}
	row, err := r.OpenSession(ctx, "b", "ann", false)
	if err != nil {
		t.Fatal(err)
	}
	tx := r.tx(row)
	cost := 1.0
	m := user("question 3, again")
	m.RunID = "fresh"
	tx.NewTurn, tx.Messages = true, []runtime.MessageRow{m}
	tx.Run = &runtime.RunRow{ID: "fresh", State: runtime.StateSucceeded, Usage: runtime.RunUsage{Cost: &cost}}
	tx.Events = []trace.Event{{RunID: "fresh", Data: trace.RunStartData{Input: "again", N: 5}}}
	if c := r.commit(t, tx); c.FirstSeq != 12 || c.Turn != 3 {
		t.Errorf("it goes on with event %d in turn %d", c.FirstSeq, c.Turn)
	}
	sum := runtime.RunUsage{}
	for _, id := range []string{"s", "b"} {
		runs, err := r.Runs(ctx, id, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			sum.Add(run.Usage)
		}
	}
	if *sum.Cost != 4*0.25+1 || sum.Prompt != 400 {
		t.Errorf("both sessions cost %v and took %d tokens", *sum.Cost, sum.Prompt)
	}
	for n, want := range map[int64]int{3: 5, 5: 11} { // before a copied input, and before its own
		to := fmt.Sprint("b", n)
		out, err := r.Branch(ctx, branchOf("b", to, n))
		if err != nil || out.LeftTurns != 0 {
			t.Errorf("before %d of the branch: %+v %v", n, out, err)
		}
		if got := len(r.allEvents(t, to)); got != want {
			t.Errorf("before %d of the branch: %d events, not %d", n, got, want)
		}
	}
	if err := r.DeleteSession(ctx, "s", "ann"); err != nil {
		t.Fatal(err)
	}
	if n := len(r.allEvents(t, "b")); n != 12 {
		t.Errorf("%d events are left without the session before", n)
	}
}

// What a session that was branched before events were copied does not have of its turns is said to be missing; so is what is too much.
func TestBranchLeavesEvents(t *testing.T) {
	r := eventful(t, 4)
	ctx := t.Context()
	if err := r.do(ctx, func(tx *txn) error {
		_, err := tx.exec("DELETE FROM events WHERE session_id = 's' AND run_id IN ('run1', 'run2')")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int64]int{1: 0, 3: 1, 5: 2, 7: 2} {
		if out, err := r.Branch(ctx, branchOf("s", fmt.Sprint("b", n), n)); err != nil || out.LeftTurns != want {
			t.Errorf("before %d: %+v %v", n, out, err)
		}
	}
	r = eventful(t, 4) // of whose second turn the last events would have room
	if err := r.do(ctx, func(tx *txn) error {
		if _, err := tx.exec("UPDATE events SET key = key + 49989, seq = seq + 49989 WHERE key > (SELECT num << 32 FROM sessions WHERE id = 's') + 13"); err != nil {
			return err
		}
		_, err := tx.exec("UPDATE runs SET first_seq = first_seq + 49989, last_seq = last_seq + 49989 WHERE turn > 2")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	out, err := r.Branch(ctx, branchOf("s", "far", 7))
	if err != nil || out.LeftTurns != 2 || len(r.allEvents(t, "far")) != 5 {
		t.Errorf("%+v %v, %d events", out, err, len(r.allEvents(t, "far")))
	}
}
