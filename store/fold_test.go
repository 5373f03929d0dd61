package store

import (
	"encoding/json"
	"errors"
	"testing"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
)

var _ runtime.Memory = (*Store)(nil)

// A fold moves the window, keeps what it must, shortens results, notes both summaries; its undo brings all of it back.
func TestFoldAndUndo(t *testing.T) {
	r := open(t, dbPath(t))
	ctx := t.Context()
	row := r.openSession(t, "s")
	for _, text := range []string{"one", "two", "three"} {
		r.say(t, row, text)
	}
	tool := runtime.MessageRow{Kind: llm.KindTool, Role: llm.RoleTool, Content: "a long result", Tokens: 90}
	tx := r.tx(row)
	tx.Messages = []runtime.MessageRow{tool}
	r.commit(t, tx)

	fold := runtime.Fold{
		ID: "f1", RunID: "r", Reason: "turns", FirstN: 1, LastN: 2, From: 3, Keep: 1, WasFrom: 1, TokensBefore: 300, TokensAfter: 100,
		SummaryAfter: json.RawMessage(`{"facts":["x"]}`), Shorten: []runtime.Shortened{{N: 4, Content: ptr("short"), Tokens: 5}},
	}
	tx = r.tx(row)
	tx.Fold = &fold
	tx.PinsAdd = []runtime.PinRow{{ID: "p1", Text: "never", Source: "rule", N: 1, CreatedAt: at(1)}, {ID: "p2", Text: "always", Source: "user", CreatedAt: at(2)}}
	r.commit(t, tx)
	diff(t, []string{"one", "three", "a long result"}, r.texts(t, "s"))
	window, err := r.Window(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if m := window[2]; m.PromptContent == nil || *m.PromptContent != "short" || m.Tokens != 5 || m.Content != "a long result" {
		t.Errorf("shortened: %+v", m)
	}
	pins, err := r.Pins(ctx, "s")
	if err != nil || len(pins) != 2 || pins[0].Text != "never" || pins[0].N != 1 || pins[1].Source != "user" {
		t.Errorf("pins = %+v, %v", pins, err)
	}
	folds, err := r.Folds(ctx, "s", 10)
	if err != nil || len(folds) != 1 || folds[0].UndoneAt != nil {
		t.Fatalf("folds = %+v, %v", folds, err)
	}
	diff(t, fold, folds[0].Fold)
	folded, err := r.Folded(ctx, "s", 1, 2)
	if err != nil || len(folded) != 2 || folded[1].Content != "two" {
		t.Errorf("folded = %+v, %v", folded, err)
	}

	tx = r.tx(row)
	tx.Fold = &runtime.Fold{ID: "f1", Undo: true, From: 1, WasFrom: 3, WasKeep: 1, LastFold: "f1", Shorten: []runtime.Shortened{{N: 4, Tokens: 90}}}
	tx.PinsRemove = []string{"p2", "nothing"}
	r.commit(t, tx)
	diff(t, []string{"one", "two", "three", "a long result"}, r.texts(t, "s"))
	if window, err = r.Window(ctx, "s"); err != nil || window[3].PromptContent != nil || window[3].Tokens != 90 {
		t.Errorf("restored: %+v, %v", window[3], err)
	}
	if folds, err = r.Folds(ctx, "s", 10); err != nil || folds[0].UndoneAt == nil {
		t.Errorf("folds = %+v, %v", folds, err)
	}
	if pins, err = r.Pins(ctx, "s"); err != nil || len(pins) != 1 {
		t.Errorf("pins = %+v, %v", pins, err)
	}
	again, err := r.OpenSession(ctx, "s", "u", false)
	if err == nil && again.Summary != nil {
		t.Errorf("the summary stayed: %s", again.Summary)
	}
}

// A fold that was planned for another window, or for another last fold, changes nothing. It is refused by itself: no commit failed, so
// that what shares its transaction is stored and the connections stay.
func TestFoldIsCompareAndSet(t *testing.T) {
	r := open(t, dbPath(t))
	alone := func(name string, err error) {
		t.Helper()
		var failed *CommitError
		if !errors.Is(err, runtime.ErrStale) || errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	row := r.openSession(t, "s")
	for _, text := range []string{"one", "two", "three"} {
		r.say(t, row, text)
	}
	good := runtime.Fold{ID: "f1", Reason: "turns", FirstN: 1, LastN: 1, From: 2, WasFrom: 1}
	for name, f := range map[string]runtime.Fold{
		"another window":  {ID: "f", FirstN: 1, LastN: 2, From: 3, WasFrom: 2},
		"another fold":    {ID: "f", FirstN: 1, LastN: 2, From: 3, WasFrom: 1, LastFold: "x"},
		"undo of nothing": {ID: "x", Undo: true, From: 1, WasFrom: 1},
	} {
		tx := r.tx(row)
		tx.Fold = &f
		tx.Messages = []runtime.MessageRow{user("not in")}
		_, err := r.Commit(t.Context(), tx)
		alone(name, err)
	}
	tx := r.tx(row)
	tx.Fold = &good
	r.commit(t, tx)
	tx = r.tx(row)
	second := good
	second.ID, second.From, second.WasFrom = "f2", 3, 1 // planned before the first
	tx.Fold = &second
	_, err := r.Commit(t.Context(), tx)
	alone("a second fold of the same window", err)
	diff(t, []string{"two", "three"}, r.texts(t, "s"))
}

// What was sent last is known by the newest model call, of that session alone.
func TestLastSent(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s")
	if _, _, err := r.LastSent(t.Context(), "s"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("nothing was sent: %v", err)
	}
	for i, id := range []string{"one", "two", ""} {
		tx := r.tx(row)
		tx.Events = []trace.Event{{TS: at(i), Data: trace.LLMCallData{PrefixID: id}}, {TS: at(i), Data: trace.AnswerData{Text: "llm_call"}}}
		r.commit(t, tx)
		if got, when, err := r.LastSent(t.Context(), "s"); err != nil || got != id || !when.Equal(at(i)) {
			t.Errorf("%q at %s, %v", got, when, err)
		}
	}
	r.openSession(t, "other")
	if _, _, err := r.LastSent(t.Context(), "other"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("another session: %v", err)
	}
}
