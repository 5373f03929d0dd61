package store

import (
	"context"
	"testing"

	"vitrine/runtime"
	"vitrine/runtime/clock"
)

// A change that panics takes only its own transaction with it: the caller gets the panic, and the turn to write is given on.
func TestPanicGivesTheTurnOn(t *testing.T) {
	path := dbPath(t)
	r, other := open(t, path), open(t, path)
	row := r.openSession(t, "s1")
	func() {
		defer func() {
			if v := recover(); v != "broken" {
				t.Errorf("recovered %v", v)
			}
		}()
		_ = r.do(t.Context(), func(tx *txn) error {
			if _, err := tx.exec("UPDATE sessions SET title = 'lost'"); err != nil {
				t.Error(err)
			}
			panic("broken")
		})
	}()
	tx := r.tx(row)
	tx.Messages = []runtime.MessageRow{user("on")}
	if _, err := r.Commit(t.Context(), tx); err != nil { // the first one may find the connection of before
		r.commit(t, tx)
	}
	diff(t, []string{"on"}, r.texts(t, "s1"))
	if list, err := r.Sessions(t.Context(), "ann"); err != nil || list[0].Title != "" {
		t.Errorf("sessions %+v, %v", list, err)
	}
	other.say(t, other.openSession(t, "s2"), "another process writes too")
}

// The turn is one: jobs of callers and of the writer goroutine never run at the same time, none is lost, and none is done after
// the store was closed.
func TestOneWriterAtATime(t *testing.T) {
	r, err := tryOpen(dbPath(t))
	if err != nil {
		t.Fatal(err)
	}
	c := clock.Real()
	g := clock.NewGroup(c)
	writing, done := 0, 0 // the race detector looks at them too
	for range 8 {
		g.Go(func() {
			for range 50 {
				err := r.do(context.Background(), func(*txn) error {
					if writing++; writing != 1 {
						t.Errorf("%d write", writing)
					}
					done++
					writing--
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done != 400 {
		t.Errorf("%d jobs were done", done)
	}
	r.close(t)
	if err := r.do(t.Context(), func(*txn) error { done++; return nil }); err != runtime.ErrClosed || done != 400 {
		t.Errorf("after the end: %v, %d jobs", err, done)
	}
}
