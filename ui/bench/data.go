package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the bench fills a store as fast as it can, past the program
)

// fill puts sessions of that many messages each into a store that the program made, and opens the first five as tabs.
func fill(ctx context.Context, path string, sessions, messages int) (err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("fill %s: %w", path, err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `DELETE FROM tabs`); err != nil {
		return fmt.Errorf("fill %s: %w", path, err)
	}
	now := time.Now().UnixMicro()
	for s := range sessions {
		id := fmt.Sprintf("filled-%d", s+1)
		if _, err := tx.ExecContext(ctx, `INSERT INTO sessions (id, user_id, title, turn_count, next_n, created_at, updated_at)
			VALUES (?, 'bench', ?, ?, ?, ?, ?)`, id, fmt.Sprintf("session %d", s+1), messages/2, messages+1, now, now+int64(s)); err != nil {
			return fmt.Errorf("fill %s: %w", path, err)
		}
		for n := range messages {
			kind, text := "user", fmt.Sprintf("question-%d-of-session-%d", n/2, s)
			if n%2 == 1 {
				kind, text = "assistant", "**Answer.** "+strings.Repeat("some words and `code` for it, ", 8)+"\n\n- one\n- two 部署计划\n"
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO messages (id, session_id, n, kind, role, content, tokens, created_at, key)
				SELECT ?, id, ?, ?, ?, ?, ?, ?, num << 32 | ? FROM sessions WHERE id = ?`,
				fmt.Sprintf("%s-%d", id, n), n+1, kind, kind, text, len(text)/4, now, n+1, id); err != nil {
				return fmt.Errorf("fill %s: %w", path, err)
			}
		}
		if s < 5 {
			if _, err := tx.ExecContext(ctx, `INSERT INTO tabs (user_id, pos, session_id, active) VALUES ('bench', ?, ?, ?)`, s, id, s/4); err != nil {
				return fmt.Errorf("fill %s: %w", path, err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("fill %s: %w", path, err)
	}
	return nil
}

// lastWord ends the reply of the server.
const lastWord = "zyzzyva"

// server streams a reply of so many tokens at once.
type server struct {
	srv  *httptest.Server
	mu   sync.Mutex
	last time.Time
}

func newServer(tokens int) *server {
	s := &server{}
	var body strings.Builder
	for i := range tokens - 1 {
		word := "word "
		if i%12 == 11 {
			word = "line.\\n\\n"
		}
		fmt.Fprintf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n", word)
	}
	fmt.Fprintf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", lastWord)
	s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(body.String()))
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		s.mu.Lock()
		s.last = time.Now()
		s.mu.Unlock()
	}))
	return s
}

func (s *server) url() string { return s.srv.URL + "/v1" }

func (s *server) lastSent() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *server) close() { s.srv.Close() }
