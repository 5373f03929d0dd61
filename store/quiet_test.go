package store

import (
	"context"
	"errors"
	"testing"

	"vitrine/runtime"
)

// Between two transactions, and while nobody reads, another connection can do what it likes: write, and move the whole log.
func TestQuiet(t *testing.T) {
	r := open(t, dbPath(t))
	row := r.openSession(t, "s1")
	r.say(t, row, "one")
	other := open(t, r.Path())
	called := 0
	err := r.Quiet(t.Context(), func() {
		called++
		if n := r.conns.read.Stats().InUse; n != readers {
			t.Errorf("%d of %d readers are held", n, readers)
		}
		other.openSession(t, "s2")
		var busy, frames, moved int
		if err := other.conns.write.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil || busy != 0 {
			t.Errorf("somebody reads: %d, %v", busy, err)
		}
	})
	if err != nil || called != 1 {
		t.Errorf("called %d times, %v", called, err)
	}
	r.say(t, row, "two")
	diff(t, []string{"one", "two"}, r.texts(t, "s1"))
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := r.Quiet(t.Context(), func() { called++ }); !errors.Is(err, runtime.ErrClosed) || called != 1 {
		t.Errorf("closed: %v, called %d times", err, called)
	}
}
