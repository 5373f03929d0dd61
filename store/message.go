package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"vitrine/llm"
	"vitrine/runtime"
)

const messageColumns = `id, session_id, n, kind, role, content, prompt_content, tool_calls, tool_call_id, tool_name, run_id,
	step, partial, fixed, tokens, extra, created_at`

// Queries whose plans matter.
const (
	windowQuery = "SELECT " + messageColumns + " FROM messages WHERE key >= " + keyBefore + " + ? AND key < " + keyBehind +
		" ORDER BY key LIMIT ?"
	messagesQuery = "SELECT " + messageColumns + " FROM messages WHERE key > " + keyBefore + " AND key < " + keyBefore +
		" + ? ORDER BY key DESC LIMIT ?"

	insertMessageCommand = "INSERT INTO messages (" + messageColumns + ", key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

// addMessages appends the transaction's messages from n on.
func (t *txn) addMessages(tx runtime.Tx, n int64, newID func() string) error {
	for _, m := range tx.Messages {
		if m.N != 0 && m.N != n {
			return constraint("message %d of session %s would be number %d", m.N, tx.SessionID, n)
		}
		if m.SessionID != "" && m.SessionID != tx.SessionID {
			return constraint("message of session %s in a transaction of session %s", m.SessionID, tx.SessionID)
		}
		if m.ID == "" {
			m.ID = newID()
		}
		m.N, m.SessionID, m.CreatedAt = n, tx.SessionID, either(m.CreatedAt, tx.At)
		if err := t.addMessage(m); err != nil {
			return err
		}
		n++
	}
	return nil
}

func (t *txn) addMessage(m runtime.MessageRow) error {
	calls, err := encodeCalls(m.ToolCalls)
	if err != nil {
		return err
	}
	extra, err := cleanJSON(m.Extra)
	if err != nil {
		return fmt.Errorf("extra of message %d: %w", m.N, err)
	}
	_, err = t.exec(insertMessageCommand,
		m.ID, m.SessionID, m.N, string(m.Kind), string(m.Role), clean(m.Content), cleanOrNull(m.PromptContent), calls,
		clean(m.ToolCallID), clean(m.ToolName), m.RunID, m.Step, m.Partial, m.Fixed, m.Tokens, extra, micros(m.CreatedAt),
		keyOf(t.heads[m.SessionID].num, m.N))
	if err != nil {
		return sqlError("add message", err)
	}
	return nil
}

// encodeCalls makes a message's calls a column, NULL for none.
func encodeCalls(calls []llm.ToolCall) (any, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	calls = slices.Clone(calls)
	for i := range calls {
		extra, err := cleanJSON(calls[i].Extra)
		if err != nil {
			return nil, fmt.Errorf("extra of call %s: %w", calls[i].ID, err)
		}
		calls[i].Extra = rawJSON(extra)
		calls[i].ID, calls[i].Name, calls[i].Arguments = clean(calls[i].ID), clean(calls[i].Name), clean(calls[i].Arguments)
	}
	return toJSON(calls)
}

func scanMessage(from row) (runtime.MessageRow, error) {
	var m runtime.MessageRow
	var prompt, calls, extra sql.NullString
	var at int64
	err := from.Scan(&m.ID, &m.SessionID, &m.N, &m.Kind, &m.Role, &m.Content, &prompt, &calls, &m.ToolCallID, &m.ToolName,
		&m.RunID, &m.Step, &m.Partial, &m.Fixed, &m.Tokens, &extra, &at)
	if err != nil {
		return m, err
	}
	if prompt.Valid {
		m.PromptContent = &prompt.String
	}
	if calls.Valid {
		if err := json.Unmarshal([]byte(calls.String), &m.ToolCalls); err != nil {
			return m, fmt.Errorf("calls of message %d: %w", m.N, err)
		}
	}
	m.Extra, m.CreatedAt = rawJSON(extra), fromMicros(at)
	return m, nil
}

// Window implements runtime.Store. The bound is read first: a fold that comes between moves it, and takes no message away.
func (s *Store) Window(ctx context.Context, sessionID string) ([]runtime.MessageRow, error) {
	var from, keep int64
	err := s.row(ctx, "SELECT window_from, keep_n FROM sessions WHERE id = ?", []any{sessionID}, &from, &keep)
	if err != nil {
		return nil, reading("window", sessionID, err)
	}
	var kept []runtime.MessageRow
	if keep > 0 && keep < from {
		if kept, _, err = list(ctx, s, scanMessage, windowQuery, windowArgs(sessionID, keep, 1)...); err != nil {
			return nil, reading("window", sessionID, err)
		}
	}
	rest, err := pages(ctx, s, scanMessage, noLimit, func(last *runtime.MessageRow, limit int) (string, []any) {
		if last != nil {
			from = last.N + 1
		}
		return windowQuery, windowArgs(sessionID, from, limit)
	})
	return append(kept, rest...), reading("window", sessionID, err)
}

// windowArgs are those of windowQuery, for up to limit messages from n on.
func windowArgs(sessionID string, n int64, limit int) []any {
	return []any{sessionID, withinKeys(n), sessionID, limit}
}

// Messages implements runtime.Library.
func (s *Store) Messages(ctx context.Context, sessionID string, before int64, limit int) ([]runtime.MessageRow, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	out, err := pages(ctx, s, scanMessage, limit, func(last *runtime.MessageRow, limit int) (string, []any) {
		if last != nil {
			before = last.N
		}
		return messagesQuery, []any{sessionID, sessionID, withinKeys(before), limit}
	})
	slices.Reverse(out)
	return out, reading("messages", sessionID, err)
}
