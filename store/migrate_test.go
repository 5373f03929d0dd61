package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/trace"
)

// older makes a database of version 3, with a session that was deleted between others, a ring of transactions that has gone
// round, and runs whose events lie among others.
func older(t *testing.T, path string, sessions, rows int) {
	t.Helper()
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSteps(path, steps[:3])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	const numbers = "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < %d) "
	each := func(insert string, n int) string {
		return strings.Replace(insert, "SELECT", fmt.Sprintf(numbers, n)+"SELECT", 1)
	}
	rawDB(t, path,
		each("INSERT INTO sessions (id, user_id, next_n, next_seq, tx_count, created_at, updated_at) SELECT 's' || (1000 - i), 'ann', 0, 0, 37, i, i FROM k", sessions+1),
		"DELETE FROM sessions WHERE rowid = 2",
		fmt.Sprintf("UPDATE sessions SET next_n = %d, next_seq = %d", rows+1, rows+1),
		// Of 37 transactions the last 16, each where its number modulo 16 says.
		each("INSERT INTO txs SELECT s.id, (21 + i) % 16, s.id || '-' || (21 + i), i, i + 1, 100 + i, 2, 3 FROM k, sessions s ORDER BY i * 7 % 16", 16),
		each(`INSERT INTO messages (id, session_id, n, kind, role, content, prompt_content, extra, created_at)
			SELECT 'm' || i || s.id, s.id, i, 'user', 'user', 'content ' || i, iif(i % 2, NULL, ''), NULL, i FROM k, sessions s ORDER BY -i`, rows),
		`INSERT INTO runs (id, session_id, parent_run, turn, state, started_at, finished_at) SELECT 'r' || r || id, id, '', r, 'succeeded', 1, 2
			FROM sessions, (SELECT 1 AS r UNION SELECT 2 UNION SELECT 3)`,
		each(`INSERT INTO events (session_id, seq, run_id, name, at, data) SELECT s.id, i,
			CASE i % 5 WHEN 0 THEN '' WHEN 1 THEN 'gone' ELSE 'r' || iif(i < 20, 1, 2) || s.id END, 'todo', i, '{"id":"' || i || '"}' FROM k, sessions s ORDER BY -i`, rows),
		each(`INSERT INTO tool_calls (id, run_id, session_id, step, reply, ord, name, status, result) SELECT 'c' || i || id, id, session_id, i / 3, 0, i % 3,
			'x', 'done', iif(i % 2, NULL, '{"ok":true}') FROM k, runs ORDER BY -i`, 9))
}

// contents are the rows of the tables as version 3 had them.
func contents(t *testing.T, path string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	db := rawOpen(t, path)
	defer db.Close()
	for _, q := range []string{
		"SELECT id || created_at || tx_count || next_n FROM sessions ORDER BY id",
		`SELECT json_array(id, session_id, n, kind, role, content, prompt_content, tool_calls, tool_call_id, tool_name, run_id, step, partial, fixed,
			tokens, extra, created_at) FROM messages ORDER BY session_id, n`,
		"SELECT json_array(session_id, seq, run_id, turn, step, name, at, data) FROM events ORDER BY session_id, seq",
		`SELECT json_array(id, run_id, session_id, step, reply, ord, call_id, name, arguments, raw_arguments, effect, status, side_effect, result,
			started_at, finished_at) FROM tool_calls ORDER BY id`,
		"SELECT json_array(id, session_id, turn, state, started_at, finished_at) FROM runs ORDER BY id",
	} {
		rows, err := db.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			out[q] = append(out[q], text)
		}
		if err := closing(rows, rows.Err()); err != nil {
			t.Fatal(err)
		}
		if len(out[q]) == 0 {
			t.Fatalf("nothing: %s", q)
		}
	}
	return out
}

// A database of the version before has all that it had: rows, order, the transactions that a commit may still ask for, and the
// events of each run; its sessions go on as they were.
func TestMigrationKeepsAll(t *testing.T) {
	path := dbPath(t)
	const rows = 40
	older(t, path, 4, rows)
	before := contents(t, path)
	r := open(t, path)
	diff(t, before, contents(t, path))
	for _, id := range []string{"s999", "s997", "s995"} { // the first, one behind the gap, the last
		for i := range 40 {
			c, in, err := r.Applied(t.Context(), id, fmt.Sprint(id, "-", i))
			n := int64(i - 21)
			want := runtime.Committed{FirstN: n, LastN: n + 1, FirstSeq: 100 + n, Turn: 3}
			if err != nil || in != (i > 21 && i <= 37) || in && c != want {
				t.Errorf("transaction %d of %s: %v, %v, %v", i, id, c, in, err)
			}
		}
		for run, want := range map[string]int{"r1" + id: 12, "r2" + id: 12, "r3" + id: 0} {
			events, err := r.Events(t.Context(), "", run, 0, 100)
			if err != nil || len(events) != want {
				t.Errorf("%d events of %s, want %d, %v", len(events), run, want, err)
			}
			for _, e := range events {
				if e.RunID != run || e.SessionID != id {
					t.Errorf("an event of %s, %s", e.RunID, e.SessionID)
				}
			}
		}
		if got := r.texts(t, id); len(got) != rows || got[0] != "content 1" || got[rows-1] != fmt.Sprint("content ", rows) {
			t.Errorf("messages of %s: %q", id, got)
		}
		row := r.openSession(t, id)
		tx := r.tx(row)
		tx.Messages, tx.Events = []runtime.MessageRow{user("on")}, []trace.Event{{Data: trace.TodoData{}}}
		diff(t, runtime.Committed{FirstN: rows + 1, LastN: rows + 1, FirstSeq: rows + 1}, r.commit(t, tx))
		// The newest of before is still known, the oldest has gone.
		for i, want := range map[int]bool{22: false, 23: true, 37: true} {
			if _, in, err := r.Applied(t.Context(), id, fmt.Sprint(id, "-", i)); err != nil || in != want {
				t.Errorf("transaction %d of %s after another one: %v, %v", i, id, in, err)
			}
		}
	}
	r.say(t, r.openSession(t, "new"), "new")
	diff(t, []string{"new"}, r.texts(t, "new"))
	if err := r.DeleteSession(t.Context(), "s999", "ann"); err != nil {
		t.Fatal(err)
	}
	if got := r.texts(t, "s997"); len(got) != rows+1 {
		t.Errorf("%d messages", len(got))
	}
	exec(t, r, "PRAGMA integrity_check")
}

// A database of 100 sessions with 200 messages and events each is migrated in a second or two; the bound is for a busy machine.
func TestMigrationIsQuick(t *testing.T) {
	path, sessions := dbPath(t), 100
	if testing.Short() {
		sessions = 10
	}
	older(t, path, sessions, 200)
	start := time.Now()
	r, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	r.close(t)
	t.Logf("migrated in %s", took)
	if took > 2*time.Minute {
		t.Errorf("migrating took %s", took)
	}
}

// Names of models on this machine from before they began with local: are written anew, in sessions and in runs that go on, so that what
// was kept here does not go to an endpoint. A session that an endpoint of such a name answered stays as it is; so do names of later.
func TestMigrationKeepsLocalModels(t *testing.T) {
	path := dbPath(t)
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSteps(path, steps[:5])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	answered := func(session, model, more string) string {
		return fmt.Sprintf(`INSERT INTO events (session_id, seq, name, at, data, key) SELECT id, 1, 'llm_call', 1, '{"model":"%s"%s}', num << 32 | 1 FROM sessions WHERE id = '%s'`, model, more, session)
	}
	run := func(id, session, model, finished string) string {
		return fmt.Sprintf(`INSERT INTO runs (id, session_id, parent_run, turn, state, started_at, finished_at, versions) VALUES ('%s', '%s', '', 1, 'waiting_model', 1, %s, '%s')`, id, session, finished, model)
	}
	var inserts []string
	for id, model := range map[string]string{"a": "ollama/x", "b": "llama.cpp//models/y.gguf", "c": "lmstudio/a/b", "d": "ollama/x", "e": "ollama/x", "f": "ollama/x", "g": "gpt-4o",
		"h": "ollama/", "i": "openai/ollama/x", "j": "local:ollama/x", "k": "", "l": "OLLAMA/x", "m": "ollama/x"} {
		inserts = append(inserts, fmt.Sprintf("INSERT INTO sessions (id, user_id, model, next_n, next_seq, created_at, updated_at) VALUES ('%s', 'ann', '%s', 1, 9, 1, 1)", id, model))
	}
	rawDB(t, path, append(inserts,
		answered("a", "x", `,"finish_reason":"stop"`),                // as a server here names it
		answered("d", "ollama/x", `,"finish_reason":"stop"`),         // a gateway
		answered("e", "ollama/x", `,"finish_reason":"cancelled"`),    // nobody answered
		answered("f", "ollama/x", `,"error":"no connection"`),        // nobody answered
		answered("m", "other", `,"finish_reason":"stop","error":""`), // of another model
		run("r1", "a", `{"Model":"ollama/x","Prompt":"p"}`, "NULL"), run("r2", "a", `{"Model":"ollama/x"}`, "7"), run("r3", "d", `{"Model":"ollama/x"}`, "NULL"),
		run("r4", "g", `{"Model":"lmstudio/z"}`, "NULL"), run("r5", "b", `no JSON`, "NULL"), run("r6", "k", "", "NULL"))...)
	r := open(t, path)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := rawOpen(t, path)
	defer db.Close()
	got := map[string]string{}
	for _, q := range []string{"SELECT id, model FROM sessions", "SELECT id, versions FROM runs"} {
		rows, err := db.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, text string
			if err := rows.Scan(&id, &text); err != nil {
				t.Fatal(err)
			}
			got[id] = text
		}
		if err := closing(rows, rows.Err()); err != nil {
			t.Fatal(err)
		}
	}
	diff(t, map[string]string{
		"a": "local:ollama/x", "b": "local:llama.cpp//models/y.gguf", "c": "local:lmstudio/a/b", "d": "ollama/x", "e": "local:ollama/x", "f": "local:ollama/x", "g": "gpt-4o",
		"h": "ollama/", "i": "openai/ollama/x", "j": "local:ollama/x", "k": "", "l": "OLLAMA/x", "m": "local:ollama/x",
		"r1": `{"Model":"local:ollama/x","Prompt":"p"}`, "r2": `{"Model":"ollama/x"}`, "r3": `{"Model":"ollama/x"}`, "r4": `{"Model":"local:lmstudio/z"}`, "r5": "no JSON", "r6": "",
	}, got)
	rawDB(t, path, "UPDATE sessions SET model = 'ollama/x' WHERE id = 'a'") // chosen after that, of an endpoint
	again := open(t, path)
	if row := again.openSession(t, "a"); row.Model != "ollama/x" {
		t.Errorf("a later choice became %q", row.Model)
	}
}

// B118: the database of the first version, with sessions without a title or a model, contents that are empty and one of a megabyte, goes
// through each version, one at a time, and from each of them to the last at once: all rows are there, every session opens and goes on.
func TestB118StepByStepAndAtOnce(t *testing.T) {
	fixture, err := os.ReadFile(filepath.Join("..", "testdata", "store-v1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	path := dbPath(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	rawDB(t, path, string(fixture))
	db := rawOpen(t, path)
	held := func(db *sql.DB) (out []string) {
		t.Helper()
		for _, q := range []string{
			"SELECT count(*) || ' sessions, ' || sum(title = '') || ' without title, ' || sum(model = '') || ' without model' FROM sessions",
			"SELECT count(*) || ' messages of ' || sum(length(content)) || ', the longest ' || max(length(content)) || ', empty ' || sum(content = '') FROM messages",
			"SELECT count(*) || ' calls' FROM tool_calls", "SELECT count(*) || ' runs' FROM runs", "SELECT count(*) || ' events' FROM events", "SELECT count(*) || ' todos' FROM todos",
		} {
			var text sql.NullString
			if err := db.QueryRow(q).Scan(&text); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			out = append(out, text.String)
		}
		return out
	}
	before := held(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for to := 1; to <= len(steps); to++ {
		if to > 1 {
			one, err := openSteps(path, steps[:to])
			if err != nil {
				t.Fatalf("to version %d: %v", to, err)
			}
			if err := one.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		once := dbPath(t)
		if err := errors.Join(os.MkdirAll(filepath.Dir(once), 0o700), os.WriteFile(once, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		r := open(t, once)
		now := rawOpen(t, once)
		if got := held(now); !slices.Equal(got, before) {
			t.Errorf("from version %d: %q, was %q", to, got, before)
		}
		list, err := r.Sessions(t.Context(), "ann")
		if err != nil || len(list) != 7 {
			t.Errorf("from version %d: %d sessions are listed, %v", to, len(list), err)
		}
		for _, s := range list {
			row, err := r.OpenSession(t.Context(), s.ID, "ann", false)
			if err != nil {
				t.Fatalf("from version %d: open %s: %v", to, s.ID, err)
			}
			n := len(r.texts(t, s.ID))
			r.say(t, row, "on")
			if got := r.texts(t, s.ID); len(got) != n+1 {
				t.Errorf("from version %d: %s has %d messages, had %d", to, s.ID, len(got), n)
			}
		}
		if err := now.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(before[0], "7 sessions") || !strings.Contains(before[1], "longest 1") || strings.HasSuffix(before[1], "empty 0") || strings.Contains(before[0], " 0 without") {
		t.Errorf("the fixture holds %q", before)
	}
}
