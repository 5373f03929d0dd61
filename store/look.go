package store

import (
	"context"
	"slices"
	"sync"

	"vitrine/runtime"
	"vitrine/runtime/find"
)

// What a search has not read into the index, for want of patience, it looks at itself, the newest messages first: that takes a small
// part of the time. What was found so is remembered for those who ask again.

const (
	// mostLooks bounds the searches of which something is remembered, mostLooked the messages that were found for one.
	mostLooks  = 8
	mostLooked = 20_000
)

// looks are the searches that look past the index, the one that was asked last at the end.
type looks struct {
	mu   sync.Mutex // around memory only
	list []*lookout
	most int // in place of mostLooked; 0: that
}

// lookout is what one search has looked at.
type lookout struct {
	what  string
	parts map[int64]*lookedPart // by the session's number
	found int
}

// lookedPart are the messages of a session from behind low up to high, and from behind at up to next, of those that were said since; at
// is 0 when those are not begun. Keys are those that were found.
type lookedPart struct {
	id        string
	created   int64
	low, high int64
	at, next  int64
	keys      []int64
}

// take gives what is known of a search, which belongs to the caller until it is put back.
func (l *looks) take(what string) *lookout {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, o := range l.list {
		if o.what == what {
			l.list = slices.Delete(l.list, i, i+1)
			return o
		}
	}
	return &lookout{what: what, parts: map[int64]*lookedPart{}}
}

func (l *looks) put(o *lookout) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list = append(l.list, o); len(l.list) > mostLooks {
		l.list = slices.Delete(l.list, 0, 1)
	}
}

// beyond is what was found past the index.
type beyond struct {
	keys   map[int64][]int64 // by the session's number, ascending
	low    int64             // of the last session: all above was looked at
	unread int64
	full   bool // no more can be remembered: the rest is to be read
}

// look looks at what the sessions have past the index, as long as patience goes.
func (s *Store) look(ctx context.Context, q runtime.Search, query find.Query, sessionID string, sessions []behind) (out beyond, err error) {
	out.keys = map[int64][]int64{}
	if len(sessions) == 0 {
		return out, nil
	}
	o := s.looks.take(q.User + "\x00" + sessionID + "\x00" + q.Text)
	defer s.looks.put(o)
	most := mostLooked
	if s.looks.most > 0 {
		most = s.looks.most
	}
	start, some := s.cfg.Clock.Now(), false
	goOn := func() bool {
		if o.found >= most {
			out.full = true
			return false
		}
		if some && s.cfg.Clock.Now().Sub(start) > q.Patience {
			return false
		}
		some = true
		return true
	}
	for _, b := range sessions {
		p := o.parts[b.num]
		if p == nil || p.id != b.id || p.created != b.created {
			p = &lookedPart{id: b.id, created: b.created, low: b.last, high: b.last}
			o.parts[b.num] = p
		}
		if p.at == 0 && b.upto > p.high { // it was read meanwhile
			p.low, p.high = b.upto, b.upto
		}
		for p.high < b.last && goOn() { // what was said since
			if p.at == 0 {
				p.at, p.next = b.last, b.last
			}
			if p.at, err = s.lookSome(ctx, query, o, p, b.num, p.high, p.at); err != nil {
				return out, reading("messages", b.id, err)
			}
			if p.at <= p.high {
				p.high, p.at, p.next = p.next, 0, 0
			}
		}
		for p.high == b.last && p.low > b.upto && goOn() {
			if p.low, err = s.lookSome(ctx, query, o, p, b.num, b.upto, p.low); err != nil {
				return out, reading("messages", b.id, err)
			}
		}
		out.unread += max(p.low-b.upto, 0) + b.last - p.high - (p.next - p.at)
		if out.low = p.low; p.high < b.last {
			out.low = b.last
		}
		slices.Sort(p.keys)
		p.keys = slices.Compact(p.keys)
		i, _ := slices.BinarySearch(p.keys, keyOf(b.num, b.upto)+1)
		if keys := p.keys[i:]; len(keys) > 0 {
			out.keys[b.num] = slices.Clone(keys)
		}
	}
	return out, nil
}

// lookQuery reads messages backwards.
const lookQuery = `SELECT key, kind, content, tool_calls, tool_name FROM messages WHERE key > ? AND key <= ? ORDER BY key DESC LIMIT ?`

// lookSome looks at the next messages from to downwards, above from, and gives up to where.
func (s *Store) lookSome(ctx context.Context, query find.Query, o *lookout, p *lookedPart, num, from, to int64) (int64, error) {
	seen, cut, err := list(ctx, s, func(r row) (int64, error) {
		m, key, err := scanSearched(r)
		if err != nil {
			return 0, err
		}
		if _, all := query.Spans(looked(m), 1); all {
			p.keys = append(p.keys, key)
			o.found++
		}
		return key, nil
	}, lookQuery, keyOf(num, from), keyOf(num, to), pageRows)
	if err != nil {
		return to, err
	}
	if !cut && len(seen) < pageRows {
		return from, nil
	}
	return seen[len(seen)-1]&noKeyAbove - 1, nil
}
