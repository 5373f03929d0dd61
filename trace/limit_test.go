package trace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vitrine/runtime/clock"
)

// ofSession gives the seqs of a session in the whole set, and how many gaps are marked.
func ofSession(t *testing.T, path, session string) (seqs []int64, gaps int) {
	t.Helper()
	in, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	for e, err := range (Reader{OnBad: func(b BadLine) { t.Error(b) }}).Events(in) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Name == Gap:
			gaps++
		case e.SessionID == session:
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs, gaps
}

// upTo is the numbers from first to last.
func upTo(first, last int64) (out []int64) {
	for n := first; n <= last; n++ {
		out = append(out, n)
	}
	return out
}

// B181: with the limit of 10 MB x 3 and 100 MB of events the files never hold more than that, no line is lost or cut at a
// rotation, and the session is read across the files.
func TestTraceStaysWithinItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	const size, count = 200 << 10, 512
	text := strings.Repeat("x", size)
	b := NewBus(clock.Real())
	sub := b.SubscribeKept(10)
	w := NewWriter(WriterConfig{Path: path, Clock: clock.Real()})
	written := int64(0)
	for n := int64(1); n <= count; n++ {
		e := Event{TS: start, SessionID: "s", Seq: n, Name: Answer, Data: AnswerData{Text: text}}
		b.Publish(e)
		batch, _ := sub.TryNext()
		w.take(batch)
		written += int64(w.bytes)
		w.flush(context.Background())
		files, total, err := FileSize(path)
		if err != nil || files > 3 || total > 30<<20 {
			t.Fatalf("after event %d: %d files, %d bytes, %v", n, files, total, err)
		}
	}
	sub.Close()
	b.Close()
	if written < 100<<20 {
		t.Fatalf("only %d bytes were written", written)
	}
	seqs, gaps := ofSession(t, path, "s")
	equal(t, gaps, 0)
	equal(t, seqs, upTo(count-int64(len(seqs))+1, count)) // the newest, none missing between the files
	if _, total, _ := FileSize(path); len(seqs) < 100 || total < 20<<20 {
		t.Errorf("%d events, %d bytes are left", len(seqs), total)
	}
}

// B181: two writers with files of their own open rotate at the same time.
func TestTwoWritersRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	var done sync.WaitGroup
	for _, session := range []string{"a", "b"} {
		done.Go(func() {
			b := NewBus(clock.Real())
			sub := b.SubscribeKept(1000)
			var run sync.WaitGroup
			run.Go(func() {
				NewWriter(WriterConfig{Path: path, Clock: clock.Real(), MaxBytes: 2000, Files: DefaultFiles}).Run(context.Background(), sub)
			})
			for n := range int64(300) {
				b.Publish(stored(session, n+1))
			}
			b.Close()
			run.Wait()
		})
	}
	done.Wait()
	if files, total, err := FileSize(path); err != nil || files != 3 || total > 6000 {
		t.Errorf("%d files, %d bytes, %v", files, total, err)
	}
	kept := 0
	for _, session := range []string{"a", "b"} {
		seqs, gaps := ofSession(t, path, session)
		equal(t, gaps, 0)
		if len(seqs) > 0 { // the other one may have been the last by far
			equal(t, seqs, upTo(301-int64(len(seqs)), 300))
		}
		kept += len(seqs)
	}
	if kept < 15 {
		t.Errorf("%d events are left", kept)
	}
}

// B181: a rotation that fails stops nothing: it is told once, the files stay within the limit, events go on being taken, and
// when it is mended all of them are there, behind a mark.
func TestFailedRotationLosesNothing(t *testing.T) {
	f := newFailing(t)
	cfg := f.config()
	cfg.Read = f.read
	cfg.MaxBytes, cfg.Files = 2000, DefaultFiles
	var broken error
	cfg.Fault = func(point string) error {
		if point == "jsonl.rotate" {
			return broken
		}
		return nil
	}
	cancel := f.start(cfg, 20)
	const before, meanwhile, after = 5, 200, 5
	n := int64(0)
	publish := func(count int) {
		for range count {
			n++
			f.publish(stored("s", n))
			f.sim.Settle()
		}
	}
	publish(before)
	broken = syscall.EACCES
	publish(meanwhile)
	f.sim.Advance(time.Minute)
	if files, total, err := FileSize(f.path); err != nil || files != 1 || total > 2000 {
		t.Errorf("%d files, %d bytes, %v", files, total, err)
	}
	in, gaps := ofSession(t, f.path, "s")
	if gaps != 0 || len(in) < before || !slices.Equal(in, upTo(1, int64(len(in)))) {
		t.Errorf("%d gaps, %v", gaps, in)
	}
	equal(t, len(f.states), 1)
	if !strings.Contains(f.states[0], "rotate trace: permission denied") {
		t.Error(f.states)
	}
	// All that waited is more than the files hold: the newest of it stay.
	broken = nil
	f.sim.Advance(time.Minute)
	publish(after)
	cancel()
	f.sim.Settle()
	equal(t, len(f.states), 2)
	if _, total, _ := FileSize(f.path); total > 6000 {
		t.Errorf("%d bytes", total)
	}
	in, _ = ofSession(t, f.path, "s")
	equal(t, in, upTo(n-int64(len(in))+1, n))
	if len(in) < 20 {
		t.Errorf("%d events are left", len(in))
	}
}

// B181: what was held back by a failed rotation is in the files from the first to the last where they have room for it.
func TestFailedRotationIsMarked(t *testing.T) {
	f := newFailing(t)
	cfg := f.config()
	cfg.MaxBytes, cfg.Files = 2000, DefaultFiles
	var broken error
	cfg.Fault = func(point string) error {
		if point == "jsonl.rotate" {
			return broken
		}
		return nil
	}
	cancel := f.start(cfg, 50)
	broken = syscall.EACCES
	for n := range int64(25) {
		f.publish(stored("s", n+1))
		f.sim.Settle()
	}
	broken = nil
	f.sim.Advance(time.Minute)
	cancel()
	f.sim.Settle()
	in, gaps := ofSession(t, f.path, "s")
	equal(t, in, upTo(1, 25))
	equal(t, gaps, 1)
	equal(t, len(f.states), 2)
}

// A line that fits into no file would break its limit; the event is told of without its data.
func TestLineThatFitsIntoNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	b := NewBus(clock.Real())
	sub := b.SubscribeKept(10)
	b.Publish(Event{TS: start, SessionID: "s", Seq: 1, Name: Answer, Data: AnswerData{Text: strings.Repeat("x", 5000)}}, stored("s", 2))
	b.Close()
	NewWriter(WriterConfig{Path: path, Clock: clock.Real(), MaxBytes: 1000}).Run(context.Background(), sub)
	seqs, _ := ofSession(t, path, "s")
	equal(t, seqs, []int64{1, 2})
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), `"left_out":"`) || len(data) > 1000 {
		t.Errorf("%s %v", data, err)
	}
	if _, err := OpenFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
