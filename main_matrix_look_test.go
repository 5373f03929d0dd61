//go:build unix

package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"vitrine/runtime"
)

// found is what a copy of the database holds of session s, read past the program: without its code, and without touching the
// files that the program will open next.
type found struct {
	messages  []message
	events    map[int64]told
	run       string // the last run
	state     runtime.State
	calls     map[string]foundCall
	todos     []string
	approvals map[string][]string // words by call
}

// told is an event as the store keeps it or as the program printed it.
type told struct {
	run, name string
	data      any
}

type foundCall struct {
	name, status, effect string
	known                bool // it has a result
}

func (f *found) unfinished() bool { return f.run != "" && !f.state.Terminal() }

// dbFiles are the files that make up a database on the disk; the index of the log is the memory of the dead.
var dbFiles = []string{"sessions.db", "sessions.db-wal"}

// copyDB copies the database of dir into a folder of its own; there may be none.
func copyDB(dir, to string) (ok bool, err error) {
	for _, name := range dbFiles {
		data, err := os.ReadFile(filepath.Join(dir, "data", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			return false, err
		}
		ok = ok || name == dbFiles[0] && len(data) > 0
	}
	return ok, nil
}

// look reads the database of dir.
func look(dir string) (f *found, err error) {
	tmp, err := os.MkdirTemp(dir, "look")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	f = &found{events: map[int64]told{}, calls: map[string]foundCall{}, approvals: map[string][]string{}}
	if ok, err := copyDB(dir, tmp); err != nil || !ok {
		return f, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.Join(tmp, dbFiles[0])}).EscapedPath())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables == 0 {
		return f, err
	}
	return f, f.read(db)
}

func (f *found) read(db *sql.DB) error {
	var health string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&health); err != nil || health != "ok" {
		return errors.Join(fmt.Errorf("the database is damaged: %s", health), err)
	}
	if orphan := ""; db.QueryRow("PRAGMA foreign_key_check").Scan(&orphan) == nil {
		return fmt.Errorf("a row of %s belongs to nothing", orphan)
	}
	return errors.Join(
		each(db, "SELECT n, kind, role, content, coalesce(tool_calls, '[]'), tool_call_id FROM messages WHERE session_id = 's' ORDER BY n", func(row scan) error {
			var m message
			var calls string
			if err := row(&m.N, &m.Kind, &m.Role, &m.Content, &calls, &m.CallID); err != nil {
				return err
			}
			f.messages = append(f.messages, m)
			return json.Unmarshal([]byte(calls), &f.messages[len(f.messages)-1].ToolCalls)
		}),
		each(db, "SELECT seq, run_id, name, data FROM events WHERE session_id = 's'", func(row scan) error {
			var seq int64
			var e told
			var data string
			if err := row(&seq, &e.run, &e.name, &data); err != nil {
				return err
			}
			err := json.Unmarshal([]byte(data), &e.data)
			f.events[seq] = e
			return err
		}),
		each(db, "SELECT id, state FROM runs WHERE session_id = 's' ORDER BY ord", func(row scan) error { return row(&f.run, &f.state) }),
		each(db, "SELECT id, name, status, effect, result IS NOT NULL FROM tool_calls WHERE session_id = 's'", func(row scan) error {
			var id string
			var c foundCall
			err := row(&id, &c.name, &c.status, &c.effect, &c.known)
			f.calls[id] = c
			return err
		}),
		each(db, "SELECT text FROM todos WHERE session_id = 's' ORDER BY ord", func(row scan) error {
			var text string
			err := row(&text)
			f.todos = append(f.todos, text)
			return err
		}),
		each(db, "SELECT call_id, answer FROM approvals WHERE session_id = 's' ORDER BY ord", func(row scan) error {
			var call, answer string
			err := row(&call, &answer)
			f.approvals[call] = append(f.approvals[call], answer)
			return err
		}),
	)
}

type scan func(dest ...any) error

// each reads all rows of a query.
func each(db *sql.DB, query string, f func(scan) error) error {
	rows, err := db.Query(query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	for rows.Next() && err == nil {
		err = f(rows.Scan)
	}
	return errors.Join(err, rows.Close(), rows.Err())
}

// follows says what is wrong with f as the state after before, when nothing may have been lost.
func (f *found) follows(before *found) error {
	if len(f.messages) < len(before.messages) {
		return fmt.Errorf("lost: %d messages were stored, %d are there", len(before.messages), len(f.messages))
	}
	for i, m := range before.messages {
		if !reflect.DeepEqual(m, f.messages[i]) {
			return fmt.Errorf("changed: message %d was %+v, is %+v", i+1, m, f.messages[i])
		}
	}
	for seq, e := range before.events {
		if !reflect.DeepEqual(e, f.events[seq]) {
			return fmt.Errorf("lost: event %d was %+v, is %+v", seq, e, f.events[seq])
		}
	}
	for id, c := range before.calls {
		if c.known && f.calls[id] != c {
			return fmt.Errorf("lost: call %s was %+v, is %+v", id, c, f.calls[id])
		}
	}
	return nil
}

// valid says what is wrong with the history. The last turn may be open as long as its run is.
func (f *found) valid() error {
	_, problems := turnsOf(f.messages, f.unfinished())
	if len(problems) > 0 {
		return fmt.Errorf("the history is not valid: %s", strings.Join(problems, "; "))
	}
	var seqs []int64
	for seq := range f.events {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	for i, seq := range seqs {
		if seq != int64(i+1) {
			return fmt.Errorf("event %d is the %d. of the session", seq, i+1)
		}
	}
	return nil
}
