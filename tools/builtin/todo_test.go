package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vitrine/tools"
)

// lists is a store of todos that the test changes as the engine would.
type lists map[string][]tools.Todo

func (l lists) Todos(_ context.Context, session string) ([]tools.Todo, error) {
	if session == "broken" {
		return nil, errors.New("disk on fire")
	}
	return append([]tools.Todo(nil), l[session]...), nil
}

func (l lists) apply(session string, changes []tools.Change) {
	for _, c := range changes {
		switch c := c.(type) {
		case tools.TodoAdd:
			l[session] = append(l[session], tools.Todo{ID: c.ID, Text: c.Text})
		case tools.TodoSet:
			for i := range l[session] {
				if l[session][i].ID == c.ID {
					l[session][i].Completed = c.Completed
				}
			}
		}
	}
}

// call runs the tool once and commits what it returns.
func (l lists) call(t *testing.T, session, action, text string) (tools.Output, *tools.Error) {
	t.Helper()
	n := len(l["a"]) + len(l["b"])
	tool := Todo(l, func() string { return fmt.Sprintf("id%d", n+1) })
	args, err := json.Marshal(todoIn{Action: action, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	out, err := tool.Run(t.Context(), tools.Call{SessionID: session}, args)
	if err != nil {
		var e *tools.Error
		if !errors.As(err, &e) || len(out.Changes) > 0 {
			t.Fatalf("%v, changes %v", err, out.Changes)
		}
		return out, e
	}
	l.apply(session, out.Changes)
	return out, nil
}

func TestTodo(t *testing.T) {
	l := lists{}
	for _, tt := range []struct {
		session, action, text string
		code                  tools.Code
		words                 string // of the summary or the message
		changes               []tools.Change
	}{
		{"a", "list", "", "", "0 open, 0 done", nil},
		{"a", "add", "submit the report", "", "added", []tools.Change{tools.TodoAdd{ID: "id1", Text: "submit the report"}}},
		{"a", "add", " submit  the report\x1b[31m\n", "", "added", []tools.Change{tools.TodoAdd{ID: "id2", Text: "submit  the report"}}}, // B016
		{"a", "add", "submit the report", "", "already there", nil},
		{"a", "add", "买牛奶", "", "added", []tools.Change{tools.TodoAdd{ID: "id3", Text: "买牛奶"}}},
		{"a", "add", "", tools.CodeInvalidArgument, "not empty", nil},
		{"a", "add", "\x00\x1b[2J ", tools.CodeInvalidArgument, "not empty", nil},
		{"a", "complete", "", tools.CodeInvalidArgument, "not empty", nil},
		{"a", "add", strings.Repeat("长", 500), "", "added", []tools.Change{tools.TodoAdd{ID: "id4", Text: strings.Repeat("长", 500)}}},
		{"a", "add", strings.Repeat("长", 501), tools.CodeInvalidArgument, "501 characters, at most 500", nil},
		{"b", "list", "", "", "0 open, 0 done", nil}, // another session sees nothing
		{"b", "complete", "id1", tools.CodeNotFound, "none is open", nil},
		{"a", "complete", "report", tools.CodeConflict, `id1 "submit the report", id2 "submit  the report" match`, nil},
		{"a", "complete", "holiday", tools.CodeNotFound, `no todo matches "holiday"; open are id1 "submit the report"`, nil},
		{"a", "complete", "submit the report", "", "completed", []tools.Change{tools.TodoSet{ID: "id1", Completed: true}}},
		{"a", "complete", "id1", "", "already done", nil},
		{"a", "complete", "SUBMIT", "", "completed", []tools.Change{tools.TodoSet{ID: "id2", Completed: true}}},
		{"a", "complete", "submit", tools.CodeConflict, "are done already", nil},
		{"a", "complete", "牛奶", "", "completed", []tools.Change{tools.TodoSet{ID: "id3", Completed: true}}},
		{"a", "complete", "牛奶", "", "already done", nil},
		{"a", "add", "买牛奶", "", "added", []tools.Change{tools.TodoAdd{ID: "id5", Text: "买牛奶"}}}, // the old one is done
		{"a", "complete", "id5", "", "completed", []tools.Change{tools.TodoSet{ID: "id5", Completed: true}}},
		{"a", "list", "", "", "1 open, 4 done", nil},
		{"broken", "list", "", tools.CodeInternal, "read the todos: disk on fire", nil},
		{"a", "remove", "x", tools.CodeInvalidArgument, `one of "add", "list", "complete"`, nil},
	} {
		name := fmt.Sprintf("%s %s %q", tt.session, tt.action, tools.CleanLine(tt.text, 20))
		out, err := l.call(t, tt.session, tt.action, tt.text)
		got := out.Summary
		var code tools.Code
		if err != nil {
			got, code = err.Message, err.Code
		}
		if code != tt.code || !strings.Contains(got, tt.words) {
			t.Errorf("%s: %s %q", name, code, got)
		}
		if diff := cmp.Diff(tt.changes, out.Changes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTodoData(t *testing.T) {
	l := lists{}
	want := []string{
		`{"todos":[]}`,
		`{"todo":{"id":"id1","text":"a","completed":false}}`,
		`{"todo":{"id":"id1","text":"a","completed":false},"note":"it was on the list already"}`,
		`{"todo":{"id":"id1","text":"a","completed":true}}`,
		`{"todo":{"id":"id1","text":"a","completed":true},"note":"it was done already"}`,
		`{"todos":[{"id":"id1","text":"a","completed":true}]}`,
	}
	for i, c := range [][2]string{{"list"}, {"add", "a"}, {"add", "a"}, {"complete", "a"}, {"complete", "a"}, {"list"}} {
		out, err := l.call(t, "a", c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], string(tools.NewResult(out, nil).Data)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTodoBounds(t *testing.T) {
	l := lists{}
	for i := range maxTodos {
		l["a"] = append(l["a"], tools.Todo{ID: fmt.Sprintf("t%03d", i), Text: fmt.Sprintf("entry number %d", i)})
	}
	if _, err := l.call(t, "a", "add", "one more"); err == nil || err.Code != tools.CodeConflict {
		t.Errorf("a full list: %v", err)
	}
	_, err := l.call(t, "a", "complete", "entry")
	if err == nil || !strings.Contains(err.Message, "and 190 more") || len(err.Message) > 1000 {
		t.Errorf("many candidates: %v", err)
	}
	if tool := Todo(l, nil); tool.Effect() != tools.OwnData || tool.Name() != "todo" {
		t.Error("effect or name")
	}
}
