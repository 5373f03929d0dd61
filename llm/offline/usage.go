package offline

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"vitrine/llm"
)

// Fixed costs of a request, in tokens.
const (
	messageCost = 4
	callCost    = 8
	toolCost    = 10
)

// pieces cuts s into the deltas of a stream: words with the space behind them, and single characters of scripts without
// spaces. No cut is within a grapheme.
func pieces(s string) []string {
	var out []string
	start := 0
	closed := false // whether the piece is complete but for space
	end := 0
	for g := graphemes.FromString(s); g.Next(); {
		v := g.Value()
		r, _ := utf8.DecodeRuneInString(v)
		single := isCJK(r) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF || r >= 0x1F000
		space := unicode.IsSpace(r)
		if end > start && !space && (closed || single) {
			out = append(out, s[start:end])
			start, closed = end, false
		}
		closed = closed || space || single
		end += len(v)
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// tokensOf counts s in tokens as real tokenizers roughly do: a word is one and one more for every four letters beyond seven, so is
// a run of three digits or signs, and a character of a script without spaces.
func tokensOf(s string) int {
	n, letters, digits := 0, 0, 0
	flush := func() {
		if letters > 0 {
			n++
		}
		if letters > 7 {
			n += (letters - 4) / 4
		}
		n += (digits + 2) / 3
		letters, digits = 0, 0
	}
	signs := 0
	for _, r := range s {
		switch {
		case isCJK(r):
			flush()
			n++
			signs = 0
		case unicode.IsLetter(r), unicode.IsMark(r):
			if digits > 0 {
				flush()
			}
			letters++
			signs = 0
		case unicode.IsDigit(r):
			if letters > 0 {
				flush()
			}
			digits++
			signs = 0
		case unicode.IsSpace(r):
			flush()
			signs = 0
		default:
			flush()
			if signs%3 == 0 {
				n++
			}
			signs++
		}
	}
	flush()
	return n
}

// maxCached bounds how many requests the cache remembers.
const maxCached = 1024

// promptCache knows which requests were answered, as a server with a prompt cache does. The zero value is ready.
type promptCache struct {
	mu    sync.Mutex
	seen  map[uint64]bool
	order []uint64 // as a ring, once it is full
	next  int
}

// promptUsage counts the prompt, and how much of it an earlier request was word for word. What is shared with other conversations
// only, such as the system prompt, does not count.
func (p *promptCache) promptUsage(req llm.Request) llm.Usage {
	h := fnv.New64a()
	total := 0
	mix(h, req.Model)
	for _, t := range req.Tools {
		mix(h, t.Name, t.Description, string(t.Schema))
		total += toolCost + tokensOf(t.Name) + tokensOf(t.Description) + tokensOf(string(t.Schema))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	cached := 0
	for i, m := range req.Messages {
		mix(h, string(m.Role), m.Content, m.ToolCallID)
		total += messageCost + tokensOf(m.Content)
		for _, c := range m.ToolCalls {
			mix(h, c.ID, c.Name, c.Arguments)
			total += callCost + tokensOf(c.Name) + tokensOf(c.Arguments)
		}
		// The request itself does not count, so that it gets the same answer however often it is sent.
		if i < len(req.Messages)-1 && p.seen[h.Sum64()] {
			cached = total
		}
	}
	p.add(h.Sum64())
	return llm.Usage{Prompt: &total, Cached: &cached}
}

func (p *promptCache) add(sum uint64) {
	if p.seen[sum] {
		return
	}
	if p.seen == nil {
		p.seen = make(map[uint64]bool)
	}
	p.seen[sum] = true
	if len(p.order) < maxCached {
		p.order = append(p.order, sum)
		return
	}
	delete(p.seen, p.order[p.next])
	p.order[p.next] = sum
	p.next = (p.next + 1) % maxCached
}

// mix adds strings to the hash with their lengths, so that no two rows of them are alike.
func mix(h hash.Hash64, parts ...string) {
	var n [8]byte
	for _, s := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = h.Write(n[:]) // a hash never fails
		_, _ = h.Write([]byte(s))
	}
}
