package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"vitrine/runtime"
	"vitrine/trace"
)

const eventColumns = "session_id, seq, run_id, turn, step, name, at, data"

// Queries whose plans matter.
const (
	eventsQuery = "SELECT " + eventColumns + " FROM events WHERE key > " + keyBefore + " + ? AND key < " + keyBehind +
		" ORDER BY key LIMIT ?"
	runEventsQuery     = "SELECT s.num, r.first_seq, r.last_seq FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.id = ?"
	eventsOfRunQuery   = "SELECT " + eventColumns + " FROM events WHERE key > ? AND key <= ? AND run_id = ? ORDER BY key LIMIT ?"
	insertEventCommand = "INSERT INTO events (" + eventColumns + ", key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	nextEvent          = ", (?, ?, ?, ?, ?, ?, ?, ?, ?)" // behind insertEventCommand
	runReachCommand    = `UPDATE runs SET first_seq = CASE first_seq WHEN 0 THEN ? ELSE first_seq END, last_seq = ?
		WHERE id = ? AND session_id = ?`
)

const (
	eventParams = 9
	// eventsAtOnce is how many events one statement stores; a transaction of a step has up to three.
	eventsAtOnce = 4
)

// addEvents gives the transaction's events their places, stores them and notes them for publication.
func (t *txn) addEvents(tx runtime.Tx, c runtime.Committed) error {
	rows := make([]any, 0, eventsAtOnce*eventParams)
	for i, e := range tx.Events {
		if e.Data == nil {
			return constraint("event %d (%s) has no data", i, e.Name)
		}
		if e.SessionID != "" && e.SessionID != tx.SessionID {
			return constraint("event of session %s in a transaction of session %s", e.SessionID, tx.SessionID)
		}
		e.SessionID, e.Seq, e.Name = tx.SessionID, c.FirstSeq+int64(i), e.Data.EventName()
		if e.Turn == 0 {
			e.Turn = c.Turn
		}
		// Published and stored must be equal, so the time loses here what the column cannot hold.
		e.TS = fromMicros(micros(either(e.TS, tx.At)))
		e.Data = placed(e.Data, c.LastN)
		if rows = append(rows, t.eventRow(&e)...); len(rows) == eventsAtOnce*eventParams {
			if err := t.addRows(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
		if e.RunID != "" && (tx.Run == nil || tx.Run.ID != e.RunID) { // else the run's row, which is written, tells how far they reach
			if _, err := t.exec(runReachCommand, e.Seq, e.Seq, clean(e.RunID), e.SessionID); err != nil {
				return sqlError("note an event of a run", err)
			}
		}
		t.publish(e)
	}
	return t.addRows(rows)
}

// eventRow makes the parameters of an event's row.
func (t *txn) eventRow(e *trace.Event) []any {
	data := trace.EncodeData(e.Data)
	if bytes.Contains(data, []byte(`\ufffd`)) {
		// The encoder replaced what is no UTF-8: what is published has it replaced too.
		e.Data = trace.DecodeData(e.Name, data)
	}
	return []any{e.SessionID, e.Seq, clean(e.RunID), e.Turn, e.Step, string(e.Name), micros(e.TS), clean(string(data)),
		keyOf(t.heads[e.SessionID].num, e.Seq)}
}

// addRows stores up to eventsAtOnce events in one statement.
func (t *txn) addRows(rows []any) error {
	query := insertEventCommand
	switch len(rows) / eventParams {
	case 0:
		return nil
	case 2:
		query += nextEvent
	case 3:
		query += nextEvent + nextEvent
	case eventsAtOnce:
		query += nextEvent + nextEvent + nextEvent
	}
	if _, err := t.exec(query, rows...); err != nil {
		return sqlError("add events", err)
	}
	return nil
}

// placed fills the place of the message that an event tells of, when it is open.
func placed(d trace.Data, n int64) trace.Data {
	switch v := d.(type) {
	case trace.RunStartData:
		if v.N == 0 {
			v.N = n
		}
		return v
	case trace.AnswerData:
		if v.N == 0 {
			v.N = n
		}
		return v
	}
	return d
}

func scanEvent(from row) (trace.Event, error) {
	var e trace.Event
	var at int64
	var data string
	if err := from.Scan(&e.SessionID, &e.Seq, &e.RunID, &e.Turn, &e.Step, &e.Name, &at, &data); err != nil {
		return e, err
	}
	e.TS, e.Data = fromMicros(at), trace.DecodeData(e.Name, json.RawMessage(data))
	return e, nil
}

// events reads back what a transaction stored.
func (t *txn) events(sessionID string, first int64, count int) (out []trace.Event, err error) {
	err = t.query(eventsQuery, eventsArgs(sessionID, first-1, count), func(from row) error {
		e, err := scanEvent(from)
		out = append(out, e)
		return err
	})
	return out, err
}

// eventsArgs are those of eventsQuery, for up to limit events after seq.
func eventsArgs(sessionID string, seq int64, limit int) []any {
	return []any{sessionID, withinKeys(seq), sessionID, limit}
}

// Events implements runtime.Library. With a runID, sessionID may be empty.
func (s *Store) Events(ctx context.Context, sessionID, runID string, after int64, limit int) ([]trace.Event, error) {
	if runID != "" {
		out, err := s.eventsOfRun(ctx, runID, after, limit)
		return out, readingRun("events", runID, err)
	}
	out, err := pages(ctx, s, scanEvent, limit, func(last *trace.Event, limit int) (string, []any) {
		if last != nil {
			after = last.Seq
		}
		return eventsQuery, eventsArgs(sessionID, after, limit)
	})
	return out, reading("events", sessionID, err)
}

// eventsOfRun reads them from the part of the session's events in which they lie; there are hardly any others.
func (s *Store) eventsOfRun(ctx context.Context, runID string, after int64, limit int) ([]trace.Event, error) {
	var num, first, last int64
	err := s.row(ctx, runEventsQuery, []any{runID}, &num, &first, &last)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	after = max(withinKeys(after), first-1)
	return pages(ctx, s, scanEvent, limit, func(prev *trace.Event, limit int) (string, []any) {
		if prev != nil {
			after = prev.Seq
		}
		return eventsOfRunQuery, []any{keyOf(num, after), keyOf(num, last), runID, limit}
	})
}
