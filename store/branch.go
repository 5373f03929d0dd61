package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime"
	"vitrine/runtime/prompt"
)

// handlePrefix begins the handles of large outputs.
const handlePrefix = "a-"

// mostBranched bounds the artifacts that a branch takes along, the newest ones: each is looked for in all of its messages.
const mostBranched = 200

// Branch implements runtime.Brancher. All of it is one transaction.
func (s *Store) Branch(ctx context.Context, b runtime.Branch) (runtime.Branched, error) {
	var out runtime.Branched
	err := s.do(ctx, func(t *txn) error {
		var err error
		out, err = s.branch(t, b)
		return err
	})
	if err != nil {
		return runtime.Branched{}, fmt.Errorf("branch session %s before message %d: %w", b.From, b.N, err)
	}
	return out, nil
}

// brancher copies a session up to a message.
type brancher struct {
	*txn
	runtime.Branch
	from, to runtime.SessionRow
	runID    string // of the message
	at       int64  // when it was stored
	newID    func() string
	renamed  *renames
}

// renames is what has another id in the branch: old, new, old, new.
type renames struct{ pairs []string }

func (r *renames) add(old, fresh string) string {
	r.pairs = append(r.pairs, old, fresh)
	return fresh
}

func (s *Store) branch(t *txn, b runtime.Branch) (out runtime.Branched, err error) {
	c := brancher{txn: t, Branch: b, newID: s.cfg.NewID, renamed: &renames{}}
	if c.from, err = t.session(b.From); err != nil {
		return out, err
	}
	if c.from.UserID != b.User {
		return out, runtime.ErrOtherUser
	}
	var kind string
	err = t.row("SELECT kind, content, run_id, created_at FROM messages WHERE key = "+keyBefore+" + ?", []any{b.From, withinKeys(b.N)}, &kind, &out.Text, &c.runID, &c.at)
	if err != nil {
		return out, found(err)
	}
	if llm.Kind(kind) != llm.KindUser {
		return out, constraint("message %d is no input", b.N)
	}
	if _, err := t.session(b.To); !errors.Is(err, runtime.ErrNotFound) {
		if err == nil {
			err = constraint("there is a session %s", b.To)
		}
		return out, err
	}
	if c.to, err = s.openSession(t, b.To, b.User, true); err != nil {
		return out, err
	}
	out.Text = attach.Text(out.Text)
	steps := []func() error{c.copyMessages, c.copyFolds, c.copyPins, c.copyTodos, func() error { return c.copyArtifacts(&out) }, func() error { return c.settle(&out) }, func() error { return c.copyEvents(&out) }}
	for _, step := range steps {
		if err := step(); err != nil {
			return out, err
		}
	}
	delete(t.heads, b.To)
	return out, nil
}

func (c brancher) copyMessages() error {
	_, err := c.exec("INSERT INTO messages ("+messageColumns+", key) SELECT id, ?, n, kind, role, content, prompt_content, tool_calls, tool_call_id, tool_name, run_id, "+
		"step, partial, fixed, tokens, extra, created_at, "+keyBefore+" + n FROM messages WHERE key > "+keyBefore+" AND key < "+keyBefore+" + ? ORDER BY key",
		c.To, c.To, c.From, c.From, withinKeys(c.N))
	if err != nil {
		return sqlError("copy messages", err)
	}
	return nil
}

// copyFolds takes along the folds that stood when the message came, and gives messages that later ones shortened their text back.
func (c brancher) copyFolds() error {
	folds, err := c.allFolds()
	if err != nil {
		return err
	}
	from, keep, summary := int64(1), int64(0), sql.NullString{}
	touched, short := map[int64]bool{}, map[int64]runtime.Shortened{}
	for _, f := range folds {
		var list []runtime.Shortened
		if err := json.Unmarshal([]byte(f.shortened), &list); err != nil {
			return fmt.Errorf("what fold %s shortened: %w", f.id, err)
		}
		stood := f.created <= c.at && f.runID != c.runID && (!f.undone.Valid || f.undone.Int64 > c.at)
		for _, sh := range list {
			touched[sh.N] = true
			if stood {
				short[sh.N] = sh
			}
		}
		if !stood {
			continue
		}
		from, keep, summary = f.from, f.keep, f.after
		_, err := c.exec(`INSERT INTO compactions (id, session_id, run_id, reason, first_n, last_n, window_from, keep_n, was_from, was_keep, shortened,
				tokens_before, tokens_after, summary_before, summary_after, created_at)
			SELECT ?, ?, run_id, reason, first_n, last_n, window_from, keep_n, was_from, was_keep, shortened, tokens_before, tokens_after,
				summary_before, summary_after, created_at FROM compactions WHERE id = ?`, c.renamed.add(f.id, c.newID()), c.To, f.id)
		if err != nil {
			return sqlError("copy a fold", err)
		}
	}
	for n := range touched {
		if err := c.unshorten(n, short); err != nil {
			return err
		}
	}
	if _, err := c.exec("UPDATE sessions SET window_from = ?, keep_n = ?, summary = ? WHERE id = ?", from, keep, summary, c.To); err != nil {
		return sqlError("set the window", err)
	}
	return nil
}

// branchFold is a fold of the session that is branched.
type branchFold struct {
	id, runID, shortened string
	from, keep, created  int64
	after                sql.NullString
	undone               sql.NullInt64
}

func (c brancher) allFolds() (out []branchFold, err error) {
	last := int64(0)
	for {
		var f branchFold
		err := c.row(`SELECT ord, id, run_id, shortened, window_from, keep_n, created_at, summary_after, undone_at FROM compactions
			WHERE session_id = ? AND ord > ? ORDER BY ord LIMIT 1`, []any{c.From, last}, &last, &f.id, &f.runID, &f.shortened, &f.from, &f.keep, &f.created, &f.after, &f.undone)
		if errors.Is(err, sql.ErrNoRows) {
			return out, nil
		}
		if err != nil {
			return nil, sqlError("read folds", err)
		}
		out = append(out, f)
	}
}

// unshorten sets what the prompt holds of a copied message to what it was.
func (c brancher) unshorten(n int64, short map[int64]runtime.Shortened) error {
	if n >= c.N {
		return nil
	}
	sh, ok := short[n]
	if !ok {
		var content, callID, name string
		err := c.row("SELECT content, tool_call_id, tool_name FROM messages WHERE key = "+keyBefore+" + ?", []any{c.To, withinKeys(n)}, &content, &callID, &name)
		if err != nil {
			return sqlError("read a result", err)
		}
		sh.Tokens = prompt.EstimateMessage(llm.Message{Role: llm.RoleTool, Kind: llm.KindTool, Content: content, ToolCallID: callID, Name: name})
	}
	if _, err := c.exec(shortenQuery, cleanOrNull(sh.Content), sh.Tokens, c.To, withinKeys(n)); err != nil {
		return sqlError("give a result its text back", err)
	}
	return nil
}

// copyPins takes along the pins that there were, but for those that were taken away since.
func (c brancher) copyPins() error {
	return c.each("pins", "created_at <= ? AND n < ?", []any{c.at, c.N}, func(ord int64) error {
		_, err := c.exec("INSERT INTO pins (id, session_id, text, source, n, created_at) SELECT ?, ?, text, source, n, created_at FROM pins WHERE ord = ?", c.newID(), c.To, ord)
		return err
	})
}

// copyTodos takes along the todos that there were, done when they were done by then, but for those that were removed since.
func (c brancher) copyTodos() error {
	return c.each("todos", "created_at <= ?", []any{c.at}, func(ord int64) error {
		_, err := c.exec(`INSERT INTO todos (id, session_id, text, completed, created_at, completed_at)
			SELECT ?, ?, text, completed AND coalesce(completed_at, 0) <= ?, created_at, CASE WHEN completed_at <= ? THEN completed_at END FROM todos WHERE ord = ?`,
			c.newID(), c.To, c.at, c.at, ord)
		return err
	})
}

// each calls f for the rows of a table of the session, in order.
func (c brancher) each(table, where string, args []any, f func(ord int64) error) error {
	last := int64(0)
	for {
		err := c.row("SELECT ord FROM "+table+" WHERE session_id = ? AND ord > ? AND "+where+" ORDER BY ord LIMIT 1", append([]any{c.From, last}, args...), &last)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = f(last)
		}
		if err != nil {
			return sqlError("copy "+table, err)
		}
	}
}

// copyArtifacts takes along the newest large outputs under handles of their own, which the copied messages name.
func (c brancher) copyArtifacts(out *runtime.Branched) error {
	last := int64(1<<63 - 1)
	for n := 0; ; n++ {
		var handle string
		err := c.row("SELECT rowid, handle FROM artifacts WHERE session_id = ? AND created_at <= ? AND rowid < ? ORDER BY rowid DESC LIMIT 1", []any{c.From, c.at, last}, &last, &handle)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return sqlError("read artifacts", err)
		}
		if n >= mostBranched {
			out.LeftArtifacts++
			continue
		}
		fresh := c.renamed.add(handle, handlePrefix+c.newID())
		_, err = c.exec(`INSERT INTO artifacts (handle, session_id, run_id, call_id, tool, content, created_at)
			SELECT ?, ?, run_id, call_id, tool, content, created_at FROM artifacts WHERE handle = ?`, fresh, c.To, handle)
		if err == nil {
			_, err = c.exec(`UPDATE messages SET content = replace(content, ?, ?), prompt_content = replace(prompt_content, ?, ?), tool_calls = replace(tool_calls, ?, ?)
				WHERE key > `+keyBefore+" AND key < "+keyBehind+" AND (instr(content, ?) OR instr(prompt_content, ?) OR instr(tool_calls, ?))",
				handle, fresh, handle, fresh, handle, fresh, c.To, c.To, handle, handle, handle)
		}
		if err != nil {
			return sqlError("copy an artifact", err)
		}
	}
}

// settle makes the session stand where it was before the message, with the input as its draft.
func (c brancher) settle(out *runtime.Branched) error {
	if err := c.row("SELECT count(*) FROM messages WHERE key > "+keyBefore+" AND key < "+keyBehind+" AND kind = 'user'", []any{c.To, c.To}, &out.Turns); err != nil {
		return sqlError("count turns", err)
	}
	title := clean(c.Title(c.from.Title, out.Turns+1))
	settings, err := cleanJSON(c.from.Settings)
	if err != nil {
		return err
	}
	_, err = c.exec("UPDATE sessions SET title = ?, model = ?, settings = ?, turn_count = ?, next_n = ? WHERE id = ?",
		title, c.from.Model, settings, out.Turns, c.N, c.To)
	if err == nil {
		_, err = c.exec("INSERT INTO drafts (session_id, text, at) VALUES (?, ?, ?)", c.To, clean(out.Text), micros(c.At))
	}
	if err != nil {
		return sqlError("set the session up", err)
	}
	return nil
}
