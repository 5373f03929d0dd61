package store

import (
	"bytes"
	"context"
	"encoding/json"

	"vitrine/runtime"
	"vitrine/trace"
)

const eventColumns = "session_id, seq, run_id, turn, step, name, at, data"

// Queries whose plans matter.
const (
	eventsQuery        = "SELECT " + eventColumns + " FROM events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"
	eventsOfRunQuery   = "SELECT " + eventColumns + " FROM events WHERE run_id = ? AND run_id <> '' AND seq > ? ORDER BY seq LIMIT ?"
	insertEventCommand = "INSERT INTO events (" + eventColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)

// addEvents gives the transaction's events their places, stores them and notes them for publication.
func (t *txn) addEvents(tx runtime.Tx, c runtime.Committed) error {
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
		if err := t.addEvent(&e); err != nil {
			return err
		}
		t.publish(e)
	}
	return nil
}

func (t *txn) addEvent(e *trace.Event) error {
	data := trace.EncodeData(e.Data)
	if bytes.Contains(data, []byte(`\ufffd`)) {
		// The encoder replaced what is no UTF-8: what is published has it replaced too.
		e.Data = trace.DecodeData(e.Name, data)
	}
	_, err := t.exec(insertEventCommand, e.SessionID, e.Seq, clean(e.RunID), e.Turn, e.Step, string(e.Name), micros(e.TS), clean(string(data)))
	if err != nil {
		return sqlError("add event", err)
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
	err = t.query(eventsQuery, []any{sessionID, first - 1, count}, func(from row) error {
		e, err := scanEvent(from)
		out = append(out, e)
		return err
	})
	return out, err
}

// Events implements runtime.Library. With a runID, sessionID may be empty.
func (s *Store) Events(ctx context.Context, sessionID, runID string, after int64, limit int) ([]trace.Event, error) {
	out, err := pages(ctx, s, scanEvent, limit, func(last *trace.Event, limit int) (string, []any) {
		if last != nil {
			after = last.Seq
		}
		if runID != "" {
			return eventsOfRunQuery, []any{runID, after, limit}
		}
		return eventsQuery, []any{sessionID, after, limit}
	})
	return out, reading("events", sessionID, err)
}
