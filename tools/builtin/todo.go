package builtin

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"vitrine/tools"
)

const (
	maxTodoText = 500 // characters
	// maxTodos bounds the open entries of a session.
	maxTodos = 200
	// maxNamed is how many entries an error lists.
	maxNamed = 10
)

type todoIn struct {
	Action string `json:"action" enum:"add,list,complete" jsonschema:"what to do"`
	Text   string `json:"text,omitempty" jsonschema:"for add: the new entry; for complete: its id, its text or a unique part of the text"`
}

type todoEntry struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Completed bool   `json:"completed"`
}

type todoOut struct {
	Todo  *todoEntry   `json:"todo,omitempty"`
	Todos *[]todoEntry `json:"todos,omitempty"`
	Note  string       `json:"note,omitempty"`
}

// Todo makes the tool for the session's todo list. It reads the list and returns what is to change; the engine commits that
// with the result. newID gives the id of a new entry.
func Todo(list tools.TodoReader, newID func() string) tools.Tool {
	t := &todo{list: list, newID: newID}
	return tools.New("todo", fmt.Sprintf("The todo list of this session, which the user sees. add puts an entry on it (text up to %d characters), "+
		"list gives all entries, complete ticks one off, named by its id, its text or a unique part of it.", maxTodoText), tools.OwnData, t.run)
}

type todo struct {
	list  tools.TodoReader
	newID func() string
}

func (t *todo) run(ctx context.Context, call tools.Call, in todoIn) (tools.Output, error) {
	all, err := t.list.Todos(ctx, call.SessionID)
	if err != nil {
		return tools.Output{}, fmt.Errorf("read the todos: %w", err)
	}
	if in.Action == "list" {
		return listed(all), nil
	}
	text := tools.CleanLine(in.Text, len(in.Text)+1)
	if text == "" {
		return tools.Output{}, &tools.Error{Code: tools.CodeInvalidArgument, Field: "text", Expected: "a text",
			Message: in.Action + " needs a text that is not empty"}
	}
	if in.Action == "add" {
		return t.add(all, text)
	}
	return complete(all, text)
}

func listed(all []tools.Todo) tools.Output {
	entries := make([]todoEntry, len(all))
	open := 0
	for i, td := range all {
		entries[i] = entryOf(td)
		if !td.Completed {
			open++
		}
	}
	return tools.Output{Data: todoOut{Todos: &entries}, Summary: fmt.Sprintf("%d open, %d done", open, len(all)-open)}
}

func entryOf(td tools.Todo) todoEntry {
	return todoEntry{ID: td.ID, Text: td.Text, Completed: td.Completed}
}

func (t *todo) add(all []tools.Todo, text string) (tools.Output, error) {
	if n := utf8.RuneCountInString(text); n > maxTodoText {
		return tools.Output{}, &tools.Error{Code: tools.CodeInvalidArgument, Field: "text", Expected: fmt.Sprintf("at most %d characters", maxTodoText),
			Message: fmt.Sprintf("the text has %d characters, at most %d are taken", n, maxTodoText)}
	}
	open := 0
	for _, td := range all {
		if td.Completed {
			continue
		}
		if open++; td.Text == text {
			e := entryOf(td)
			return tools.Output{Data: todoOut{Todo: &e, Note: "it was on the list already"}, Summary: "already there"}, nil
		}
	}
	if open >= maxTodos {
		return tools.Output{}, &tools.Error{Code: tools.CodeConflict, Message: fmt.Sprintf("the list is full: %d entries are open", open)}
	}
	e := todoEntry{ID: t.newID(), Text: text}
	return tools.Output{Data: todoOut{Todo: &e}, Summary: "added", Changes: []tools.Change{tools.TodoAdd{ID: e.ID, Text: text}}}, nil
}

// complete finds the entry that is meant: by id, else by its exact text, else by a part of the text, in any case of letters,
// that one entry alone has. Open entries are looked at first; one that is done already stays as it is.
func complete(all []tools.Todo, text string) (tools.Output, error) {
	matches := []func(tools.Todo) bool{
		func(td tools.Todo) bool { return td.ID == text },
		func(td tools.Todo) bool { return td.Text == text },
		func(td tools.Todo) bool { return strings.Contains(strings.ToLower(td.Text), strings.ToLower(text)) },
	}
	for _, match := range matches {
		open, done := pick(all, match)
		found := open
		if len(open) == 0 {
			found = done
		}
		if len(found) > 1 && found[0].Completed {
			return tools.Output{}, ambiguous("are done already", text, found)
		}
		if len(found) > 1 {
			return tools.Output{}, ambiguous("match; name one by its id", text, found)
		}
		if len(found) == 1 {
			return completed(found[0]), nil
		}
	}
	open, _ := pick(all, func(tools.Todo) bool { return true })
	message := fmt.Sprintf("no todo matches %q", tools.CleanLine(text, 100))
	if len(open) > 0 {
		message += "; open are " + nameAll(open)
	} else {
		message += "; none is open"
	}
	return tools.Output{}, &tools.Error{Code: tools.CodeNotFound, Field: "text", Message: message}
}

func completed(td tools.Todo) tools.Output {
	e := entryOf(td)
	if td.Completed {
		return tools.Output{Data: todoOut{Todo: &e, Note: "it was done already"}, Summary: "already done"}
	}
	e.Completed = true
	return tools.Output{Data: todoOut{Todo: &e}, Summary: "completed", Changes: []tools.Change{tools.TodoSet{ID: td.ID, Completed: true}}}
}

func pick(all []tools.Todo, match func(tools.Todo) bool) (open, done []tools.Todo) {
	for _, td := range all {
		switch {
		case !match(td):
		case td.Completed:
			done = append(done, td)
		default:
			open = append(open, td)
		}
	}
	return open, done
}

func ambiguous(what, text string, found []tools.Todo) error {
	return &tools.Error{Code: tools.CodeConflict, Field: "text", Expected: "an id",
		Message: fmt.Sprintf("%q is not unique: %s %s", tools.CleanLine(text, 100), nameAll(found), what)}
}

// nameAll lists entries with their ids.
func nameAll(list []tools.Todo) string {
	var parts []string
	for i, td := range list {
		if i == maxNamed {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %q", tools.CleanLine(td.ID, 64), tools.CleanLine(td.Text, 60)))
	}
	return strings.Join(parts, ", ")
}
