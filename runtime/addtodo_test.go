package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// A todo of the user's own is one commit with its event, no turn, and within the bounds of the model's tool.
func TestAddTodo(t *testing.T) {
	b := newBed(t, scripted.Text("hello"))
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "hi")
		commits := len(b.store.commits)
		set := func(text string) error { return b.eng.Set(ctx, "s", runtime.Setting{AddTodo: text}) }
		if err := set(" buy\x1b milk\n and bread "); err != nil {
			t.Fatal(err)
		}
		todos, _ := b.store.Todos(ctx, "s")
		if len(todos) != 1 || todos[0].Text != "buy milk and bread" || todos[0].ID == "" {
			t.Errorf("%+v", todos)
		}
		if tx := b.store.commits[commits]; len(b.store.commits) != commits+1 || len(tx.Messages) != 0 || tx.Run != nil {
			t.Errorf("%+v", b.store.commits[commits:])
		}
		if got := b.named(trace.Todo); len(got) != 1 || got[0].RunID != "" || got[0].Data.(trace.TodoData).Action != "added" {
			t.Errorf("%+v", got)
		}
		for text, want := range map[string]string{
			"buy milk and bread": "on the list already", " \x1b ": "needs a text", strings.Repeat("部", 501): "at most 500",
		} {
			if err := set(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.20q: %v", text, err)
			}
		}
		for i := range 199 {
			if err := set(fmt.Sprint("entry ", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := set("one too many"); err == nil || !strings.Contains(err.Error(), "200 entries are open") {
			t.Errorf("%v", err)
		}
	})
}
