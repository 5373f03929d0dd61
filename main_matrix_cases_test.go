//go:build unix

package main

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vitrine/llm/scripted"
	"vitrine/ui/demo"
)

// openOlder makes the database of testdata that an older build wrote, and gives a connection to it.
func openOlder(t *testing.T, path string) *sql.DB {
	t.Helper()
	script, err := os.ReadFile("testdata/store-v1.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(string(script)); err != nil {
		t.Fatal(err)
	}
	return db
}

// rowsOf are the rows of a query as text, in order, without the keys that version 4 of the schema put behind them.
func rowsOf(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	cells, to := make([]any, len(names)), make([]any, len(names))
	shown := cells
	if names[len(names)-1] == "key" {
		shown = cells[:len(names)-1]
	}
	for i := range cells {
		to[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%v", shown))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// olderTables are those whose rows nothing may change or take away.
var olderTables = []string{"messages", "tool_calls", "events", "todos"}

// B118, B067: a database of an older build, with sessions without a title, a model, contents or messages, one with a megabyte in a
// message, one that was killed in its calls and one with a call and no run. Each opens, on the screen and without it, opening
// twice adds nothing, and each can be continued: its request is valid, and all rows of before are there unchanged.
func TestB118B067DatabaseOfAnOlderBuild(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions.db")
	db := openOlder(t, path)
	if _, err := db.Exec("UPDATE sessions SET title = NULL"); err == nil {
		t.Error("a title can be NULL in this schema: the fixture should have one")
	}
	before := map[string][]string{}
	for _, table := range olderTables {
		before[table] = rowsOf(t, db, "SELECT * FROM "+table+" ORDER BY 1, 2")
	}
	sessions := rowsOf(t, db, "SELECT id FROM sessions ORDER BY id")
	if len(sessions) != 7 || len(before["messages"]) != 17 {
		t.Fatalf("%d sessions, %d messages", len(sessions), len(before["messages"]))
	}
	again := script(scripted.Text("fine").Times(-1))
	again.env = []string{"AGENT_MAX_CTX_TOKENS=1000000"}
	open := func(id string) *play {
		again.session = id
		p := startPlay(t, dir, again)
		p.until("the session", func(s demo.Screen) bool { return !s.Has("READ ONLY") && !strings.Contains(status(s), "✗") })
		return p
	}
	times := 2
	if testing.Short() {
		times = 1
	}
	for range times {
		for _, id := range sessions {
			p := open(strings.Trim(id, "[]"))
			p.Advance(5 * time.Second)
			p.quit()
		}
		for _, table := range olderTables {
			if now := rowsOf(t, db, "SELECT * FROM "+table+" ORDER BY 1, 2"); !reflect.DeepEqual(now, before[table]) {
				t.Errorf("opening changed %s: %d rows, then %d", table, len(before[table]), len(now))
			}
		}
	}
	outside := world{t.TempDir()}
	for _, id := range sessions {
		id = strings.Trim(id, "[]")
		t.Run(id, func(t *testing.T) {
			p := open(id)
			p.t = t
			p.Advance(time.Second) // a question may stand, and be seen
			p.Enter("go on")
			p.wait("fine")
			p.done()
			p.quit()
			c := vitrine(dir, "run", "--user", "ann", "--session", id, "and on").with(crewEnviron(outside.dir)...)
			c = c.with("AGENT_DB_PATH="+path, "AGENT_TRACE_PATH="+filepath.Join(dir, "traces.jsonl"), "AGENT_MAX_CTX_TOKENS=1000000")
			if out := c.ok(t); out != "You said: and on\n" {
				t.Errorf("answer %q", out)
			}
		})
	}
	for _, table := range olderTables {
		now := map[string]bool{}
		for _, row := range rowsOf(t, db, "SELECT * FROM "+table) {
			now[row] = true
		}
		for _, row := range before[table] {
			if ended := table == "tool_calls" && strings.HasPrefix(row, "[dangling-c"); !now[row] && !ended {
				t.Errorf("%s: %.200s is gone or changed", table, row)
			}
		}
	}
	// The question of each turn, its answer, and the results that were missing, once.
	if got := len(rowsOf(t, db, "SELECT 1 FROM messages")); got != len(before["messages"])+4*len(sessions)+missingResults {
		t.Errorf("%d messages", got)
	}
	if got := rowsOf(t, db, "SELECT content FROM messages WHERE session_id = 'orphan' AND kind = 'tool'"); len(got) != 1 || !strings.Contains(got[0], `"outcome_unknown"`) {
		t.Errorf("results of orphan: %q", got)
	}
	for _, q := range []string{"SELECT id FROM sessions ORDER BY id", "SELECT id FROM sessions WHERE next_n = 1 + (SELECT count(*) FROM messages WHERE session_id = sessions.id) ORDER BY id"} {
		if got := rowsOf(t, db, q); !slices.Equal(got, sessions) {
			t.Errorf("%s: %v", q, got)
		}
	}
	if all, err := outside.read("attempts"); err != nil || len(all) > 0 {
		t.Errorf("ran %v, %v", all, err)
	}
}

// missingResults are those of the fixture: two of dangling, one of orphan, and the closing messages of both.
const missingResults = 5

// results are the tool messages of a session.
func results(list []message) (out []string) {
	for _, m := range list {
		if m.Role == "tool" {
			out = append(out, m.Content)
		}
	}
	return out
}

// B067: killed after the reply with its calls is stored, in the second of three calls, and between the result and the next
// request. Reopened on the screen and left, twice, nothing is added; "go on" is answered, on a history that a strict model
// accepts; results that lack are stored once.
func TestB067KilledBetweenCallAndResult(t *testing.T) {
	for name, c := range map[string]struct {
		prompt, fault string // no fault: killed while the tool hold is at work
		results       []string
		repaired      int
	}{
		"after the reply":  {askThree, "effect.before:1", []string{`"interrupted"`, `"not_run"`, `"not_run"`}, 1},
		"in the second":    {askThree, "", []string{`"ok":true`, `"outcome_unknown"`, `"not_run"`}, 1},
		"before a request": {askAll, "commit.after:5", []string{`"ok":true`, `"ok":true`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newMatrix(t).trial(c.prompt, unharmed)
			ask := func(text string) call {
				return vitrine(tr.dir, "run", "--user", "ann", "--session", "s", text).with(crewEnviron(tr.ledger.dir)...)
			}
			if c.fault != "" {
				if r := ask(c.prompt).with("VITRINE_FAULT=" + c.fault + ":kill").run(t); r.code != -1 {
					t.Fatalf("not killed: %+v", r)
				}
			} else {
				killIn(t, tr, ask(c.prompt), "hold")
			}
			before, err := look(tr.dir)
			if err != nil || !before.unfinished() {
				t.Fatalf("%+v %v", before, err)
			}
			for range 2 {
				p := startPlay(t, filepath.Join(tr.dir, "data"), stage{session: "s"})
				p.wait("INTERRUPTED")
				p.end()
				now, err := look(tr.dir)
				if err != nil || !reflect.DeepEqual(now, before) {
					t.Errorf("opening changed the session: %v", err)
				}
			}
			for _, text := range []string{"go on", "and on"} {
				if out := ask(text).ok(t); out != "You said: "+text+"\n" {
					t.Errorf("answer %q", out)
				}
			}
			now, err := look(tr.dir)
			if err != nil {
				t.Fatal(err)
			}
			checkTurns(t, now.messages)
			got := results(now.messages)
			if len(got) != len(c.results) {
				t.Fatalf("results %q", got)
			}
			for i, want := range c.results {
				if !strings.Contains(got[i], want) {
					t.Errorf("result %d is %s, want %s", i+1, got[i], want)
				}
			}
			repaired := 0
			for _, e := range now.events {
				if e.name == "history_repaired" {
					repaired++
				}
			}
			if repaired != c.repaired {
				t.Errorf("repaired %d times", repaired)
			}
		})
	}
}

// B068: killed while a tool whose effect cannot be taken back is at work. Resumed, it is not run again: the user is asked, and
// when nobody answers and the user goes on, its result says that the outcome is unknown. The effect is there once.
func TestB068EffectIsNotRepeated(t *testing.T) {
	tr := newMatrix(t).trial(askThree, unharmed)
	killIn(t, tr, vitrine(tr.dir, "run", "--session", "s", askThree).with(crewEnviron(tr.ledger.dir)...), "hold")
	before, err := look(tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	effects := func() []deed {
		all, err := tr.ledger.read("effects")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	did := effects()
	if len(did) != 1 {
		t.Fatalf("effects %v", did)
	}
	for range 2 {
		r := vitrine(tr.dir, "run", "--resume", before.run).with(crewEnviron(tr.ledger.dir)...).run(t)
		if r.code != 3 || r.stdout != "" || !strings.Contains(r.stderr, did[0].key+"  hold") || !strings.Contains(r.stderr, "--outcome") {
			t.Errorf("resumed: %+v", r)
		}
	}
	vitrine(tr.dir, "run", "--session", "s", "go on").with(crewEnviron(tr.ledger.dir)...).ok(t)
	got := results(messages(t, tr.dir, "s"))
	if len(got) != 3 || !strings.Contains(got[1], `"outcome_unknown"`) {
		t.Errorf("results %q", got)
	}
	if now := effects(); !slices.Equal(now, did) {
		t.Errorf("effects %v, then %v", did, now)
	}
}

// killIn starts the program and kills it when a tool has had its effect and is at work still.
func killIn(t *testing.T, tr *trial, c call, tool string) {
	t.Helper()
	cmd := c.command(t)
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for end := time.Now().Add(hangLimit); ; time.Sleep(time.Millisecond) {
		all, err := tr.ledger.read("effects")
		if err == nil && slices.ContainsFunc(all, func(d deed) bool { return d.tool == tool }) {
			break
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("%s does not begin: %v %s", tool, err, errs.String())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
}
