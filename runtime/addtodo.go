package runtime

import (
	"errors"
	"fmt"
	"strings"

	"vitrine/trace"
)

// The bounds of a todo that the user adds; the model's tool has the same.
const (
	maxTodoText  = 500 // characters
	maxOpenTodos = 200
)

// addTodo puts the user's own entry on the list, without a turn.
func (s *session) addTodo(text string) error {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), unprintable), " ")
	switch n := len([]rune(text)); {
	case n == 0:
		return errors.New("a todo needs a text")
	case n > maxTodoText:
		return fmt.Errorf("a todo has at most %d characters, not %d", maxTodoText, n)
	}
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	todos, err := s.eng.cfg.Store.Todos(ctx, s.id)
	if err != nil {
		return fmt.Errorf("read the todos of session %s: %w", s.id, err)
	}
	open := 0
	for _, t := range todos {
		if t.Completed {
			continue
		}
		if open++; t.Text == text {
			return errors.New("it is on the list already")
		}
	}
	if open >= maxOpenTodos {
		return fmt.Errorf("the list is full: %d entries are open", open)
	}
	tx := s.tx()
	id := s.eng.cfg.NewID()
	tx.Todos = []TodoChange{{Action: "added", ID: id, Text: text, CreatedAt: tx.At}}
	tx.Events = []trace.Event{s.event(trace.TodoData{ID: id, Text: text, Action: "added"})}
	_, err = s.commit(tx)
	return err
}
