package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

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
