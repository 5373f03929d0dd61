package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// longSession makes a session of n messages of the given size.
func longSession(t testing.TB, r *rig, id string, n, size int) runtime.SessionRow {
	t.Helper()
	row := r.openSession(t, id)
	text := strings.Repeat("ten bytes ", size/10)
	for n > 0 {
		tx := r.tx(row)
		for range min(n, 1000) {
			m := user(text)
			if n%2 == 1 {
				m.Kind, m.Role = llm.KindAssistant, llm.RoleAssistant
			}
			m.Tokens = size / 4
			tx.Messages = append(tx.Messages, m)
			n--
		}
		r.commit(t, tx)
	}
	return row
}

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// emptyLog moves the log into the database and makes the file empty, so that its size says what was written since.
func emptyLog(t testing.TB, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var busy, frames, moved int
	err = db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	if err = errors.Join(err, db.Close()); err != nil || busy != 0 || fileSize(t, path+"-wal") != 0 {
		t.Fatalf("empty the log: %v, busy %d", err, busy)
	}
}

// foldTx is a fold as the engine commits it: five phases with as many messages named as they name at most, summaries, a pin.
func foldTx(r *rig, row runtime.SessionRow, id, last string, from, was int64) runtime.Tx {
	summary := json.RawMessage(`{"goals":["` + strings.Repeat("a goal ", 30) + `"],"facts":["` + strings.Repeat("a fact ", 40) + `"],"todos":[],"unresolved":[]}`)
	tx := r.tx(row)
	tx.Fold = &runtime.Fold{ID: id, RunID: "r", Reason: "turns", FirstN: was, LastN: from - 1, From: from, WasFrom: was, LastFold: last,
		TokensBefore: 5000, TokensAfter: 2000, SummaryAfter: summary}
	tx.PinsAdd = []runtime.PinRow{{ID: "p-" + id, Text: "never after 15:00", Source: "rule", N: 1}}
	started := trace.CompactData{ID: id, Phase: "started", FirstN: was, LastN: from - 1, LeavingCount: int(from - was)}
	for i := range 40 {
		started.Leaving = append(started.Leaving, trace.CompactMessage{N: int64(i), Turn: i, Kind: "user", Title: "forty characters of a message's beginning", Tokens: 500})
	}
	for _, d := range []trace.CompactData{
		started, {ID: id, Phase: "summarised"}, {ID: id, Phase: "checked"}, {ID: id, Phase: "merged"},
		{ID: id, Phase: "committed", Before: summary, After: summary},
	} {
		tx.Events = append(tx.Events, trace.Event{RunID: "r", Turn: 1, Data: d})
	}
	return tx
}

// A fold of 10,000 messages of 2 KB is a range and a row: it writes less than 64 KB and takes less than 10 ms, or where the disk is busy
// no more than some small commits. (B083)
func TestFoldCosts(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	from := int64(10_001)
	if testing.Short() {
		from = 1001
	}
	row := longSession(t, r, "s", int(from)+99, 2000)
	best, small := time.Hour, time.Hour
	last := ""
	for i := range 5 {
		emptyLog(t, path)
		before := fileSize(t, path+"-wal")
		id := fmt.Sprint("f", i)
		tx := foldTx(r, row, id, last, from, 1)
		start := time.Now()
		r.commit(t, tx)
		best = min(best, time.Since(start))
		if grown := fileSize(t, path+"-wal") - before; grown >= 64<<10 || grown == 0 {
			t.Errorf("the log grew by %d bytes", grown)
		}
		if window, err := r.Window(t.Context(), "s"); err != nil || len(window) != 100 {
			t.Fatalf("the window has %d messages, %v", len(window), err)
		}
		undo := r.tx(row)
		undo.Fold = &runtime.Fold{ID: id, Undo: true, From: 1, WasFrom: from, LastFold: id}
		undo.PinsRemove = []string{"p-" + id}
		start = time.Now()
		r.commit(t, undo)
		small = min(small, time.Since(start))
	}
	t.Logf("a fold took %s, a small commit %s", best, small)
	if best >= 10*time.Millisecond && best >= 20*small {
		t.Errorf("a fold takes %s, a small commit %s", best, small)
	}
}

// requestOf reads a session's window and makes a request of it, as after a start of the program.
func requestOf(t testing.TB, r *rig, id string) []llm.Message {
	rows, err := r.Window(t.Context(), id)
	if err != nil || len(rows) != 50 {
		t.Fatalf("%d messages, %v", len(rows), err)
	}
	window := make([]prompt.Entry, len(rows))
	for i, m := range rows {
		window[i] = prompt.Entry{N: m.N, Message: llm.Message{Role: m.Role, Kind: m.Kind, Content: m.Content}, Tokens: m.Tokens}
	}
	return prompt.Build("system", "", window)
}

// requests makes a store with a short and a long session, both with 50 messages in the window.
func requests(t testing.TB) *rig {
	r, long := open(t, filepath.Join(t.TempDir(), "data", "sessions.db")), 100_000
	if testing.Short() {
		long = 10_000
	}
	for id, n := range map[string]int{"short": 100, "long": long} {
		row := longSession(t, r, id, n, 100)
		r.commit(t, foldTx(r, row, id, "", int64(n-49), 1))
	}
	return r
}

// Reading the window of a session and making a request of it costs the same at 100,000 stored messages as at 100.
func TestRequestCosts(t *testing.T) {
	r := requests(t)
	short := testing.AllocsPerRun(20, func() { requestOf(t, r, "short") })
	long := testing.AllocsPerRun(20, func() { requestOf(t, r, "long") })
	if long > short*1.1 {
		t.Errorf("%v allocations at 100 messages, %v at 100,000", short, long)
	}
	best := map[string]time.Duration{"short": time.Hour, "long": time.Hour}
	for range 60 {
		for id := range best {
			start := time.Now()
			requestOf(t, r, id)
			best[id] = min(best[id], time.Since(start))
		}
	}
	t.Logf("%s at 100 messages, %s at 100,000", best["short"], best["long"])
	if best["long"] > best["short"]*4 {
		t.Errorf("%s at 100 messages, %s at 100,000", best["short"], best["long"])
	}
}

func BenchmarkRequest(b *testing.B) {
	r := requests(b)
	for _, id := range []string{"short", "long"} {
		b.Run(id, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				requestOf(b, r, id)
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	r := open(b, dbPath(b))
	row := longSession(b, r, "s", 10_100, 2000)
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint("f", i)
		r.commit(b, foldTx(r, row, id, "", 10_001, 1))
		b.StopTimer()
		undo := r.tx(row)
		undo.Fold = &runtime.Fold{ID: id, Undo: true, From: 1, WasFrom: 10_001, LastFold: id}
		undo.PinsRemove = []string{"p-" + id}
		r.commit(b, undo)
		b.StartTimer()
	}
}
