package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
)

func BenchmarkCommit(b *testing.B) {
	for _, workers := range []int{1, 16} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			r := open(b, dbPath(b))
			row := r.openSession(b, "s1")
			var n atomic.Int64
			b.SetParallelism(workers)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					tx := runtime.Tx{ID: fmt.Sprint(n.Add(1)), SessionID: "s1", Fence: row.Fence, At: at(1),
						Messages: []runtime.MessageRow{user("a message of ordinary length, as people type them")},
						Events:   []trace.Event{{RunID: "run", Data: trace.LLMCallData{Model: "offline", FinishReason: "stop", Attempts: 1}}}}
					if _, err := r.Commit(context.Background(), tx); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// fill makes a store of sessions with 200 messages each.
func fill(b testing.TB, path string, sessions int) {
	b.Helper()
	r, err := tryOpen(path)
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("words of an answer ", 20)
	for s := range sessions {
		row := r.openSession(b, fmt.Sprint("s", s))
		tx := r.tx(row)
		for i := range 200 {
			m := user(text)
			if i%2 == 1 {
				m.Kind, m.Role = llm.KindAssistant, llm.RoleAssistant
			}
			tx.Messages = append(tx.Messages, m)
			tx.Events = append(tx.Events, trace.Event{RunID: "run", Data: trace.AnswerData{Text: text}})
		}
		r.commit(b, tx)
	}
	r.close(b)
}

// BenchmarkOpen opens a store with much in it, and one with nothing: there must be little between them.
func BenchmarkOpen(b *testing.B) {
	for _, sessions := range []int{0, 100} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "sessions.db")
			fill(b, path, sessions)
			for b.Loop() {
				r, err := tryOpen(path)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				r.close(b)
				b.StartTimer()
			}
		})
	}
}

func BenchmarkWindow(b *testing.B) {
	path := filepath.Join(b.TempDir(), "sessions.db")
	fill(b, path, 5)
	r := open(b, path)
	for b.Loop() {
		if rows, err := r.Window(b.Context(), "s3"); err != nil || len(rows) != 200 {
			b.Fatal(len(rows), err)
		}
	}
}

func BenchmarkSessions(b *testing.B) {
	path := filepath.Join(b.TempDir(), "sessions.db")
	fill(b, path, 100)
	r := open(b, path)
	for b.Loop() {
		if rows, err := r.Sessions(b.Context(), "ann"); err != nil || len(rows) != 100 {
			b.Fatal(len(rows), err)
		}
	}
}

// BenchmarkStepRows writes what a step with one call writes, the two transactions of runtime's BenchmarkStep, through SQLite
// alone: the same statements and rows on the same schema without waiting for the disk, but no engine, queue, locks, encoding or
// events. So it says how much of a step's time is SQLite's.
func BenchmarkStepRows(b *testing.B) {
	path := dbPath(b)
	r := open(b, path)
	row := r.openSession(b, "s0")
	tx := r.tx(row)
	tx.Run = &runtime.RunRow{ID: uuid(1), State: runtime.StateExecuting}
	r.commit(b, tx)
	c, err := openConns(b.Context(), path, time.Second)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.close() })
	if _, err := c.write.ExecContext(b.Context(), "PRAGMA synchronous = OFF"); err != nil {
		b.Fatal(err)
	}
	err = c.write.Raw(func(conn any) error {
		w := &stepRows{t: &txn{ctx: b.Context(), conn: conn.(driver.Conn), stmts: c.stmts}, row: row, n: 1, seq: 1, txs: 1}
		w.last = recent("").with(tx.ID, runtime.Committed{}, 0)
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			if err := w.step(); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e6, "ms/step")
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// uuid is an id as long as the real ones.
func uuid(n int64) string { return fmt.Sprintf("0192f0c1-9d2a-7000-8000-%012d", n) }

// stepRows is where the rows of BenchmarkStepRows stand.
type stepRows struct {
	t           *txn
	row         runtime.SessionRow
	n, seq, txs int64
	ids         int64
	last        recent
}

// What a step's rows hold, about as long as in runtime's BenchmarkStep.
var (
	stepUsage  = `{"Steps":5,"Calls":4,"Prompt":4100,"Completion":80,"Estimated":false,"Cached":null,"Reasoning":null,"Cost":null,"Active":1234567,"Guards":{"Judged":1,"Stuck":{"Keys":["0123456789abcdef","0123456789abcdef","0123456789abcdef","0123456789abcdef"]}}}`
	stepResult = `{"ok":true,"data":{"found":"` + strings.Repeat("words about look up some things 4 ", 10) + `"}}`
	stepEvents = [...]string{
		`{"model":"m","latency_ms":0,"ttft_ms":0,"context_ms":0,"prompt_tokens":1200,"completion_tokens":20,"estimate":1234,"tool_call_count":1,"finish_reason":"tool_calls","attempts":1,"text":"I look this up for you, one moment.","started_at":"2026-01-01T00:00:00.000000Z","prompt_bytes":4000,"prefix_bytes":3500,"prefix_tokens":1100,"prefix_id":"01234567-01234567-01234567-0123456789abcdef"}`,
		`{"id":"0192f0c1-9d2a-7000-8000-000000000001","call_id":"c4","tool":"look","effect":"read_only","ord":0,"arguments":{"text":"look up some things 4"},"status":"started"}`,
		`{"id":"0192f0c1-9d2a-7000-8000-000000000001","call_id":"c4","tool":"look","status":"done","ok":true,"result":` + stepResult + `,"duration_ms":0,"bytes":360,"summary":"1 hit"}`,
	}
)

// step writes the two transactions.
func (w *stepRows) step() error {
	w.ids++
	call, at := uuid(w.ids), int64(1_750_000_000_000_000)
	reply := []any{w.id(), "s0", w.n, "assistant", "assistant", "I look this up for you, one moment.", nil,
		`[{"ID":"c4","Name":"look","Arguments":"{\"text\":\"look up some things 4\"}","Extra":null}]`, "", "", uuid(1), w.ids, false, false, 30, nil, at, keyOf(1, w.n)}
	err := w.commit(reply, w.events(stepEvents[0], stepEvents[1]), insertCallCommand, []any{call, uuid(1), "s0", w.ids, 0, 0, "c4", "look",
		`{"text":"look up some things 4"}`, "", "read_only", "started", "none", nil, at, nil})
	if err != nil {
		return err
	}
	result := []any{w.id(), "s0", w.n, "tool", "tool", stepResult, nil, nil, "c4", "look", uuid(1), w.ids, false, false, 120, nil, at, keyOf(1, w.n)}
	return w.commit(result, w.events(stepEvents[2]), endCallCommand, []any{"done", "read_only", "none", stepResult, at, at, uuid(1), w.ids, 0, 0, call, "s0"})
}

func (w *stepRows) id() string { return uuid(1_000_000 + w.txs) }

// events makes the rows of events.
func (w *stepRows) events(data ...string) (rows [][]any) {
	for i, d := range data {
		rows = append(rows, []any{"s0", w.seq + int64(i), uuid(1), 1, w.ids, "tool_call", int64(1_750_000_000_000_000), d, keyOf(1, w.seq+int64(i))})
	}
	return rows
}

// commit writes one transaction in the order in which the store does it.
func (w *stepRows) commit(message []any, events [][]any, call string, callArgs []any) error {
	id := uuid(2_000_000 + w.txs)
	last := w.last.with(id, runtime.Committed{FirstN: w.n, LastN: w.n, FirstSeq: w.seq, Turn: 1}, len(events))
	rows := []struct {
		query string
		args  []any
	}{
		{"BEGIN IMMEDIATE", nil},
		{advanceCommand + advanceWhere, []any{w.n + 1, w.seq + int64(len(events)), 0, w.txs + 1, string(last),
			"s0", 1, w.row.Fence.Holder, w.row.Fence.Epoch, w.txs, w.n, w.seq, 0}},
		{updateRunCommand + unfinishedWhere, []any{"executing", "", w.ids, stepUsage, w.seq + int64(len(events)) - 1, uuid(1), "s0"}},
		{insertMessageCommand, message},
		{call, callArgs},
	}
	for i, r := range rows {
		if ok, err := w.t.execOne(r.query, r.args...); err != nil || i > 0 && !ok {
			return fmt.Errorf("%s: changed a row: %v, %w", r.query, ok, err)
		}
	}
	if err := w.t.addRows(slices.Concat(events...)); err != nil {
		return err
	}
	w.n, w.seq, w.txs, w.last = w.n+1, w.seq+int64(len(events)), w.txs+1, last
	_, err := w.t.exec("COMMIT")
	return err
}
