package store

import (
	"context"
	"database/sql"

	"vitrine/runtime"
	"vitrine/tools"
)

// changeTodos makes the transaction's changes of the list. A change of a todo that is not there refuses the transaction.
func (t *txn) changeTodos(tx runtime.Tx) error {
	for _, c := range tx.Todos {
		ok, err := t.changeTodo(tx, c)
		if err != nil {
			return sqlError("change a todo", err)
		}
		if !ok {
			return constraint("todo %s (%s): %w", c.ID, c.Action, runtime.ErrNotFound)
		}
	}
	return nil
}

func (t *txn) changeTodo(tx runtime.Tx, c runtime.TodoChange) (bool, error) {
	switch c.Action {
	case "added":
		return t.execOne("INSERT INTO todos (id, session_id, text, created_at) VALUES (?, ?, ?, ?)",
			c.ID, tx.SessionID, clean(c.Text), micros(either(c.CreatedAt, tx.At)))
	case "completed":
		return t.execOne("UPDATE todos SET completed = 1, completed_at = coalesce(completed_at, ?) WHERE id = ? AND session_id = ?",
			micros(tx.At), c.ID, tx.SessionID)
	case "reopened":
		return t.execOne("UPDATE todos SET completed = 0, completed_at = NULL WHERE id = ? AND session_id = ?", c.ID, tx.SessionID)
	case "removed":
		return t.execOne("DELETE FROM todos WHERE id = ? AND session_id = ?", c.ID, tx.SessionID)
	}
	return false, constraint("todo %s: unknown action %q", c.ID, c.Action)
}

const todosQuery = "SELECT id, text, completed, created_at, completed_at FROM todos WHERE session_id = ? ORDER BY ord"

func scanTodo(from row) (tools.Todo, error) {
	var t tools.Todo
	var created int64
	var completed sql.NullInt64
	err := from.Scan(&t.ID, &t.Text, &t.Completed, &created, &completed)
	t.CreatedAt, t.CompletedAt = fromMicros(created), fromMicrosOrNull(completed)
	return t, err
}

// Todos implements tools.TodoReader.
func (s *Store) Todos(ctx context.Context, sessionID string) ([]tools.Todo, error) {
	out, err := all(ctx, s, scanTodo, todosQuery, sessionID)
	return out, reading("todos", sessionID, err)
}
