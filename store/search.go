package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"vitrine/runtime"
	"vitrine/runtime/find"
)

// What is said is not read when it is stored: that would cost each step. Whoever searches reads first what was said since, outside of
// the transaction, and adds its words in small ones of their own, in which it is seen whether another process was there before.

const (
	// readRows and readBytes bound what one transaction adds, so that a run waits for it no longer than for another run.
	readRows  = 50
	readBytes = 32 << 10
	// mostRead bounds what of one message is looked through.
	mostRead = 256 << 10
	// mostSessions bounds how many sessions a search gives hits of.
	mostSessions = 1000
)

var _ runtime.Finder = (*Store)(nil)

// match is a query as FTS5 takes it: words in quotes, which have letters and digits only.
func match(q find.Query) string {
	var parts []string
	for _, p := range q.Phrases {
		text := `"` + strings.Join(p.Words, " ") + `"`
		if p.Open {
			text += " *"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " AND ")
}

// behind is a session of which something was not read.
type behind struct {
	id      string
	num     int64
	created int64
	upto    int64
	last    int64
}

func scanBehind(from row) (behind, error) {
	var b behind
	err := from.Scan(&b.id, &b.num, &b.created, &b.upto, &b.last)
	return b, err
}

const behindQuery = `SELECT s.id, s.num, s.created_at, coalesce(w.upto, 0), s.next_n - 1 FROM sessions s LEFT JOIN searched w ON w.num = s.num
	WHERE s.user_id = ? AND (? = '' OR s.id = ?) AND s.next_n - 1 > coalesce(w.upto, 0) ORDER BY s.updated_at DESC`

// fewMissing is how many messages are read rather than looked at first.
const fewMissing = 4 * readRows

// upToDate brings the index up to date as far as patience goes, and looks at what it has not: first, when that is much. It gives the
// sessions of which something is not in the index.
func (s *Store) upToDate(ctx context.Context, q runtime.Search, query find.Query, sessionID string) (left []behind, past beyond, err error) {
	if left, err = all(ctx, s, scanBehind, behindQuery, q.User, sessionID, sessionID); err != nil {
		return nil, past, err
	}
	if q.Patience > 0 && missing(left) > fewMissing {
		if past, err = s.look(ctx, q, query, sessionID, left); err != nil || past.unread > 0 && !past.full {
			return left, past, err
		}
	}
	if left, err = s.read(ctx, q, left); err != nil {
		return nil, past, err
	}
	past, err = s.look(ctx, q, query, sessionID, left)
	return left, past, err
}

// read adds the words of what was said since the last search until patience ends, and gives the sessions of which something is left.
func (s *Store) read(ctx context.Context, q runtime.Search, sessions []behind) (left []behind, err error) {
	start, some := s.cfg.Clock.Now(), false
	for _, b := range sessions {
		for b.upto < b.last {
			if some && q.Patience > 0 && s.cfg.Clock.Now().Sub(start) > q.Patience {
				left = append(left, b)
				break
			}
			if b.upto, err = s.readSome(ctx, b); err != nil {
				return nil, fmt.Errorf("read session %s: %w", b.id, err)
			}
			some = true
		}
	}
	return left, nil
}

// missing is how many messages of sessions are not in the index.
func missing(sessions []behind) (n int64) {
	for _, b := range sessions {
		n += b.last - b.upto
	}
	return n
}

// wordsOf are the words of a message.
type wordsOf struct {
	key   int64
	words string
}

const unreadQuery = `SELECT key, kind, content, tool_calls, tool_name FROM messages WHERE key > ? AND key <= ? ORDER BY key LIMIT ?`

func scanUnread(from row) (wordsOf, error) {
	var w wordsOf
	m, key, err := scanSearched(from)
	if err != nil {
		return w, err
	}
	w.key, w.words = key, find.Words(looked(m))
	return w, nil
}

// scanSearched reads a message as far as a search needs it, and what the query has behind that.
func scanSearched(from row, more ...any) (m runtime.MessageRow, key int64, err error) {
	var calls sql.NullString
	if err := from.Scan(append([]any{&key, &m.Kind, &m.Content, &calls, &m.ToolName}, more...)...); err != nil {
		return m, key, err
	}
	if calls.Valid {
		if err := json.Unmarshal([]byte(calls.String), &m.ToolCalls); err != nil {
			return m, key, fmt.Errorf("calls of message %d: %w", key&noKeyAbove, err)
		}
	}
	return m, key, nil
}

// looked is what of a message is looked through.
func looked(m runtime.MessageRow) string {
	text := runtime.SearchText(m)
	if len(text) > mostRead {
		text = strings.ToValidUTF8(text[:mostRead], "")
	}
	return text
}

// readSome adds the words of the next messages, and says up to which all are in: another process may have been there.
func (s *Store) readSome(ctx context.Context, b behind) (upto int64, err error) {
	rows, _, err := list(ctx, s, scanUnread, unreadQuery, keyOf(b.num, b.upto), keyOf(b.num, b.last), readRows)
	if err != nil {
		return 0, err
	}
	size, n := 0, 0
	for n < len(rows) && (n == 0 || size+len(rows[n].words) <= readBytes) {
		size += len(rows[n].words)
		n++
	}
	to := b.last // what is not there any more has no words
	if n > 0 {
		to = rows[n-1].key & noKeyAbove
	}
	err = s.do(ctx, func(t *txn) error {
		var is int64
		err := t.row(`SELECT coalesce((SELECT upto FROM searched w WHERE w.num = s.num), 0) FROM sessions s WHERE id = ? AND num = ? AND created_at = ?`,
			[]any{b.id, b.num, b.created}, &is)
		if err != nil {
			if errors.Is(found(err), runtime.ErrNotFound) {
				upto = b.last // it was deleted
				return nil
			}
			return err
		}
		if is != b.upto {
			upto = is
			return nil
		}
		for _, r := range rows[:n] {
			if r.words == "" {
				continue
			}
			if _, err := t.exec("INSERT INTO words (rowid, text) VALUES (?, ?)", r.key, r.words); err != nil {
				return sqlError("note words", err)
			}
		}
		upto = to
		_, err = t.exec("INSERT INTO searched (num, upto) VALUES (?, ?) ON CONFLICT (num) DO UPDATE SET upto = excluded.upto", b.num, to)
		return err
	})
	return upto, err
}

// countRow is how much was found in a session.
type countRow struct {
	num, count int64
	id, title  string
	starred    bool
}

func scanCount(from row) (countRow, error) {
	var c countRow
	err := from.Scan(&c.num, &c.count, &c.id, &c.title, &c.starred)
	return c, err
}

const (
	// countsQuery goes through the hits once, which CROSS JOIN has SQLite do first: it would count them anew for each session. The
	// sessions of others fall out behind it.
	countsQuery = `SELECT h.num, h.hits, s.id, s.title, EXISTS (SELECT 1 FROM stars WHERE session_id = s.id)
		FROM (SELECT rowid >> 32 AS num, count(*) AS hits FROM words WHERE words MATCH ? GROUP BY rowid >> 32) h
		CROSS JOIN sessions s ON s.num = h.num WHERE s.user_id = ? ORDER BY s.updated_at DESC, s.num DESC`
	hitsQuery = `SELECT m.key, m.kind, m.content, m.tool_calls, m.tool_name, m.n, m.created_at, coalesce(r.turn, 0)
		FROM (SELECT rowid AS key FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?) h
		JOIN messages m ON m.key = h.key LEFT JOIN runs r ON r.id = m.run_id ORDER BY m.key DESC`
	// pastQuery gives messages by their keys.
	pastQuery = `SELECT m.key, m.kind, m.content, m.tool_calls, m.tool_name, m.n, m.created_at, coalesce(r.turn, 0)
		FROM messages m LEFT JOIN runs r ON r.id = m.run_id WHERE m.key IN (SELECT value FROM json_each(?)) ORDER BY m.key DESC`
	// sortedQuery gives all sessions of a user as countsQuery does.
	sortedQuery = `SELECT s.num, 0, s.id, s.title, EXISTS (SELECT 1 FROM stars WHERE session_id = s.id)
		FROM sessions s WHERE s.user_id = ? ORDER BY s.updated_at DESC, s.num DESC`
	placesQuery = `SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid`
)

// Search implements runtime.Finder.
func (s *Store) Search(ctx context.Context, q runtime.Search) (out runtime.Found, err error) {
	query := q.Query()
	if query.Empty() {
		return out, nil
	}
	left, past, err := s.upToDate(ctx, q, query, "")
	if err != nil {
		return out, fmt.Errorf("search: %w", err)
	}
	out.Unread, out.Behind = past.unread, missing(left)
	counts, err := s.counts(ctx, query, q.User, past)
	if err != nil {
		return out, fmt.Errorf("search: %w", err)
	}
	out.Sessions = len(counts)
	limit, each := bound(q.Limit), bound(q.Each)
	for i, c := range counts {
		out.Messages += c.count
		if limit <= 0 || i >= mostSessions {
			continue
		}
		hits, err := s.hits(ctx, query, c.num, past.keys[c.num], min(limit, each))
		if err != nil {
			return out, fmt.Errorf("search session %s: %w", c.id, err)
		}
		for j := range hits {
			hits[j].SessionID, hits[j].Title, hits[j].Starred = c.id, c.title, c.starred
		}
		if n := len(hits); n > 0 {
			hits[n-1].More = c.count - int64(n)
		}
		out.Hits = append(out.Hits, hits...)
		limit -= len(hits)
	}
	return out, nil
}

// hits gives the newest of a session: first those past the index, by their keys.
func (s *Store) hits(ctx context.Context, query find.Query, num int64, past []int64, most int) (out []runtime.Hit, err error) {
	most = min(most, pageRows)
	if past = past[max(0, len(past)-most):]; len(past) > 0 {
		keys, err := json.Marshal(past)
		if err != nil {
			return nil, err
		}
		if out, _, err = list(ctx, s, scanHit, pastQuery, string(keys)); err != nil {
			return nil, err
		}
	}
	behind := int64(noKeyAbove)
	if n := len(out); n > 0 {
		behind = out[n-1].N - 1
	}
	if most -= len(out); most <= 0 {
		return out, nil
	}
	rest, _, err := list(ctx, s, scanHit, hitsQuery, match(query), keyOf(num, 0), keyOf(num, behind), most)
	return append(out, rest...), err
}

func bound(limit int) int {
	if limit <= 0 {
		return noLimit
	}
	return limit
}

// counts says how much of a user's sessions fits, in the index and past it. What another process reads into the index just now may be
// counted twice, until one asks again.
func (s *Store) counts(ctx context.Context, q find.Query, user string, past beyond) (out []countRow, err error) {
	err = s.whole(ctx, func(from row) error {
		c, err := scanCount(from)
		out = append(out, c)
		return err
	}, countsQuery, match(q), user)
	if err != nil || len(past.keys) == 0 {
		return out, err
	}
	indexed := make(map[int64]int64, len(out))
	for _, c := range out {
		indexed[c.num] = c.count
	}
	out = nil
	err = s.whole(ctx, func(from row) error {
		c, err := scanCount(from)
		if c.count = indexed[c.num] + int64(len(past.keys[c.num])); c.count > 0 {
			out = append(out, c)
		}
		return err
	}, sortedQuery, user)
	return out, err
}

// whole reads all rows of a query on words with one cursor: each one that went on behind another would have SQLite look all words
// up again, which takes longer than the rows.
func (s *Store) whole(ctx context.Context, each func(row) error, query string, args ...any) error {
	db, err := s.reader()
	if err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			return closing(rows, err)
		}
	}
	return closing(rows, rows.Err())
}

func scanHit(from row) (h runtime.Hit, err error) {
	var at int64
	m, _, err := scanSearched(from, &h.N, &at, &h.Turn)
	h.Kind, h.Tool, h.Text, h.At = m.Kind, m.ToolName, looked(m), fromMicros(at)
	return h, err
}

// Places implements runtime.Finder. Beyond the limit the newest are given.
func (s *Store) Places(ctx context.Context, q runtime.Search, sessionID string) (out runtime.Places, err error) {
	query := q.Query()
	if query.Empty() {
		return out, nil
	}
	var num int64
	if err = s.row(ctx, "SELECT num FROM sessions WHERE id = ? AND user_id = ?", []any{sessionID, q.User}, &num); err != nil {
		return out, reading("place", sessionID, err)
	}
	left, past, err := s.upToDate(ctx, q, query, sessionID)
	if err != nil {
		return out, fmt.Errorf("search session %s: %w", sessionID, err)
	}
	out.Unread, out.Behind, out.From = past.unread, missing(left), past.low+1
	err = s.whole(ctx, func(from row) error {
		key, err := scanKey(from)
		out.Ns = append(out.Ns, key&noKeyAbove)
		return err
	}, placesQuery, match(query), keyOf(num, 0), keyOf(num, noKeyAbove))
	for _, key := range past.keys[num] {
		out.Ns = append(out.Ns, key&noKeyAbove)
	}
	if len(past.keys[num]) > 0 { // another process may have read some of them meanwhile
		slices.Sort(out.Ns)
		out.Ns = slices.Compact(out.Ns)
	}
	out.All = int64(len(out.Ns))
	out.Ns = out.Ns[max(0, len(out.Ns)-bound(q.Limit)):] // backwards SQLite takes twice as long
	return out, reading("words", sessionID, err)
}

func scanKey(from row) (key int64, err error) {
	err = from.Scan(&key)
	return key, err
}

// Around implements runtime.Finder.
func (s *Store) Around(ctx context.Context, sessionID string, n int64, before, after int) (out runtime.Stretch, err error) {
	n = withinKeys(max(n, 1))
	if before > 0 && n > 1 {
		if out.Messages, err = s.Messages(ctx, sessionID, n, before); err != nil {
			return out, err
		}
	}
	rest, err := pages(ctx, s, scanMessage, after, func(last *runtime.MessageRow, limit int) (string, []any) {
		from := n
		if last != nil {
			from = last.N + 1
		}
		return windowQuery, windowArgs(sessionID, from, limit)
	})
	if err != nil {
		return out, reading("messages", sessionID, err)
	}
	if out.Messages = append(out.Messages, rest...); len(out.Messages) > 0 {
		if out.Turn, err = s.turnOf(ctx, out.Messages[0]); err != nil {
			return out, reading("turn", sessionID, err)
		}
	}
	err = s.row(ctx, "SELECT next_n - 1 FROM sessions WHERE id = ?", []any{sessionID}, &out.Newest)
	return out, reading("end", sessionID, err)
}

// turnOf is the turn that a message belongs to: its run's, or where it has none by counting.
func (s *Store) turnOf(ctx context.Context, m runtime.MessageRow) (turn int, err error) {
	if m.RunID != "" {
		err := s.row(ctx, "SELECT turn FROM runs WHERE id = ?", []any{m.RunID}, &turn)
		if err == nil && turn > 0 || err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return turn, err
		}
	}
	err = s.row(ctx, "SELECT count(*) FROM messages WHERE key > "+keyBefore+" AND key <= "+keyBefore+" + ? AND kind = 'user'",
		[]any{m.SessionID, m.SessionID, withinKeys(m.N)}, &turn)
	return turn, err
}

const turnStartQuery = `SELECT json_extract(e.data, '$.n') FROM runs r JOIN sessions s ON s.id = r.session_id
	JOIN events e ON e.key BETWEEN s.num << 32 | r.first_seq AND s.num << 32 | r.last_seq
	WHERE r.session_id = ? AND r.turn = ? AND r.parent_run = '' AND r.first_seq > 0 AND e.name = 'run_start' ORDER BY r.ord, e.key LIMIT 1`

// TurnStart implements runtime.Finder.
func (s *Store) TurnStart(ctx context.Context, sessionID string, turn int) (n int64, err error) {
	err = s.row(ctx, turnStartQuery, []any{sessionID, turn}, &n)
	if errors.Is(err, runtime.ErrNotFound) { // a turn that was copied has no run here
		err = s.row(ctx, "SELECT json_extract(data, '$.n') FROM events WHERE key > "+keyBefore+" AND key < "+keyBehind+
			" AND turn = ? AND name = 'run_start' ORDER BY key LIMIT 1", []any{sessionID, sessionID, turn}, &n)
	}
	return n, reading("turn", sessionID, err)
}

// TurnSeqs implements runtime.Finder.
func (s *Store) TurnSeqs(ctx context.Context, sessionID string, turn int) (first, last int64, err error) {
	err = s.row(ctx, `SELECT min(first_seq), max(last_seq) FROM runs WHERE session_id = ? AND turn = ? AND parent_run = '' AND first_seq > 0
		HAVING count(*) > 0`, []any{sessionID, turn}, &first, &last)
	if errors.Is(err, runtime.ErrNotFound) {
		err = s.row(ctx, "SELECT min(seq), max(seq) FROM events WHERE key > "+keyBefore+" AND key < "+keyBehind+
			" AND turn = ? AND run_id <> '' HAVING count(*) > 0", []any{sessionID, sessionID, turn}, &first, &last)
	}
	return first, last, reading("turn", sessionID, err)
}

func scanID(from row) (id string, err error) {
	err = from.Scan(&id)
	return id, err
}

// Stars implements runtime.Finder.
func (s *Store) Stars(ctx context.Context, user string) ([]string, error) {
	ids, err := all(ctx, s, scanID, "SELECT s.id FROM stars k JOIN sessions s ON s.id = k.session_id WHERE s.user_id = ? ORDER BY k.at, s.id", user)
	if err != nil {
		return nil, fmt.Errorf("list the starred sessions of %s: %w", user, err)
	}
	return ids, nil
}

// Star implements runtime.Finder.
func (s *Store) Star(ctx context.Context, id, user string, on bool) error {
	err := s.do(ctx, func(t *txn) error {
		row, err := t.session(id)
		if err != nil {
			return err
		}
		if row.UserID != user {
			return runtime.ErrOtherUser
		}
		if on {
			_, err = t.exec("INSERT OR IGNORE INTO stars (session_id, at) VALUES (?, ?)", id, micros(s.cfg.Clock.Now()))
		} else {
			_, err = t.exec("DELETE FROM stars WHERE session_id = ?", id)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("star session %s: %w", id, err)
	}
	return nil
}
