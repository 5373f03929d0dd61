package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the bench fills a store as fast as it can, past the program
)

// window is how many messages of a long session are not folded.
const window = 200

// fill puts sessions of that many messages each into a store that the program made, and opens the first ones as tabs, the last of
// them in front.
func fill(ctx context.Context, path string, sessions, messages, tabs int) (err error) {
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
		if _, err := tx.ExecContext(ctx, `INSERT INTO sessions (id, user_id, title, turn_count, next_n, window_from, created_at, updated_at)
			VALUES (?, 'bench', ?, ?, ?, ?, ?, ?)`, id, fmt.Sprintf("session %d", s+1), messages/2, messages+1, max(1, messages-window+1), now, now+int64(s)); err != nil {
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
		if s < tabs {
			if _, err := tx.ExecContext(ctx, `INSERT INTO tabs (user_id, pos, session_id, active) VALUES ('bench', ?, ?, ?)`, s, id, (s+1)/tabs); err != nil {
				return fmt.Errorf("fill %s: %w", path, err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("fill %s: %w", path, err)
	}
	return nil
}

// lastWord ends the reply of n tokens: that of the reply before may be painted again.
func lastWord(n int) string { return fmt.Sprintf("zyzzyva%d", n) }

// server answers as the last message asks: "burst N" is a reply of N tokens at once, "pace N en" or "pace N zh" one of N tokens, a
// hundred a second.
type server struct {
	srv           *httptest.Server
	mu            sync.Mutex
	arrived, last time.Time
}

var asked = regexp.MustCompile(`(burst|pace) (\d+)(?: (en|zh))?"`)

func newServer() *server {
	s := &server{}
	s.srv = httptest.NewServer(http.HandlerFunc(s.answer))
	return s
}

func (s *server) answer(w http.ResponseWriter, req *http.Request) {
	now := time.Now()
	s.mu.Lock()
	s.arrived = now
	s.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	all := asked.FindAllSubmatch(body, -1)
	if err != nil || len(all) == 0 {
		http.Error(w, "nothing is asked", http.StatusBadRequest)
		return
	}
	ask := all[len(all)-1]
	n, _ := strconv.Atoi(string(ask[2])) // digits
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	var burst strings.Builder
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range n {
		event := token(i, n, string(ask[3]) == "zh")
		if string(ask[1]) == "burst" {
			burst.WriteString(event)
			continue
		}
		if _, err := io.WriteString(w, event); err != nil || out.Flush() != nil {
			return
		}
		<-tick.C
	}
	// What is sent at once is on its way from here on: the program may have painted it before this goroutine runs again.
	s.mu.Lock()
	s.last = time.Now()
	s.mu.Unlock()
	_, _ = io.WriteString(w, burst.String()+"data: [DONE]\n\n")
	_ = out.Flush()
}

// token is one event of a reply of n.
func token(i, n int, chinese bool) string {
	word, end := "word ", ""
	switch {
	case i == n-1:
		word, end = lastWord(n), `,"finish_reason":"stop"`
	case i%12 == 11:
		word = "line.\\n\\n"
	case chinese:
		word = "部署"
	}
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}%s}]}\n\n", word, end)
}

func (s *server) url() string { return s.srv.URL + "/v1" }

// lastSent is when the rest of the last reply was sent, came when the last request arrived.
func (s *server) lastSent() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *server) came() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived
}

func (s *server) close() { s.srv.Close() }
