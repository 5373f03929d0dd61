package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// What may keep a request from beginning with the one before it.
const (
	breakModel  = "model"
	breakTools  = "tools"
	breakSystem = "system"
	breakFold   = "fold"
	breakUndo   = "undo"
	breakPin    = "pin"
	breakRepair = "repair"
	breakOther  = "other" // nothing known: a change by another process, or a defect of ours
)

// prefixLog is what a session sent last, as a sequence of model, tools and messages, so that each request can be compared with
// the one before, also with that of another process. It belongs to who owns the session's window.
type prefixLog struct {
	parts []sentPart
	sent  []llm.Message  // of the parts, to know them again without hashing; shorter, or nil, where only the sums are known
	id    string         // of the sequence, as the stored event has it
	cause string         // what has moved the messages since then
	specs []llm.ToolSpec // whose part stands in tools
	tools sentPart
}

// sentPart is one part of a request that was sent. A sum of 0 is a part of which nothing more is known.
type sentPart struct {
	sum           uint64
	bytes, tokens int
}

// The places of the parts in front of the messages, and of the first message.
const (
	partModel = iota
	partTools
	partMessages
)

// moved notes why what was sent before will not stand there again. The first cause counts: it moved the most.
func (p *prefixLog) moved(cause string) {
	if p.cause == "" || p.cause == breakRepair {
		p.cause = cause
	}
}

// next compares a request with the one before, puts what comes of it into data, and keeps it for the next.
func (p *prefixLog) next(req llm.Request, data *trace.LLMCallData) {
	parts := p.sequence(req)
	differs := 0
	for differs < min(len(parts), len(p.parts)) && parts[differs].sum == p.parts[differs].sum {
		differs++
	}
	for i, part := range parts {
		data.PromptBytes += part.bytes
		if i < differs {
			data.PrefixBytes += part.bytes
			data.PrefixTokens += part.tokens
		}
	}
	if differs < len(p.parts) {
		data.PrefixBreak = p.why(differs, req)
		data.PrefixAt = max(0, differs-partMessages+1)
	}
	p.parts, p.sent, p.cause = parts, req.Messages, ""
	p.id = idOf(parts)
	data.PrefixID = p.id
}

// sequence gives the parts of a request. What stands where it stood before is not counted again.
func (p *prefixLog) sequence(req llm.Request) []sentPart {
	parts := make([]sentPart, 0, len(req.Messages)+partMessages)
	h := partHash{Hash: sha256.New()}
	h.add(req.Model)
	parts = append(parts, h.part(), p.ofTools(&h, req.Tools))
	same := true
	for i := range req.Messages {
		at := len(parts)
		if same && i < len(p.sent) && sameMessage(&p.sent[i], &req.Messages[i]) {
			parts = append(parts, p.parts[at])
			continue
		}
		part := ofMessage(&h, &req.Messages[i])
		if same = same && at < len(p.parts) && p.parts[at].sum == part.sum; same {
			part.tokens = p.parts[at].tokens
		} else {
			part.tokens = prompt.EstimateMessage(req.Messages[i])
		}
		parts = append(parts, part)
	}
	return parts
}

// why names the cause of a break at a part.
func (p *prefixLog) why(at int, req llm.Request) string {
	switch {
	case at == partModel:
		return breakModel
	case at == partTools:
		return breakTools
	case at == partMessages && len(req.Messages) > 0 && req.Messages[0].Kind == llm.KindSystem:
		return breakSystem
	case p.cause != "":
		return p.cause
	}
	return breakOther
}

// resume takes up what another process sent last, named by id: now is the request that the session would make of all that it
// has. When that does not begin with what was sent, cause says why, unless it is model, tools or system prompt.
func (p *prefixLog) resume(id string, now llm.Request, cause string) {
	parts := (&prefixLog{}).sequence(now)
	*p = prefixLog{id: id, specs: p.specs, tools: p.tools}
	heads := strings.Split(id, "-")
	if len(heads) != partMessages+2 {
		return // of another version
	}
	for n := len(parts); n > partMessages; n-- {
		if idOf(parts[:n]) == id {
			p.parts = parts[:n:n]
			return
		}
	}
	for i := 0; i <= partMessages && i < len(parts) && string(parts[i].short(nil)) == heads[i]; i++ {
		p.parts = append(p.parts, parts[i])
	}
	p.parts = append(p.parts, sentPart{})
	p.cause = cause
}

// idOf names a sequence of parts: its first parts by themselves, then all in one.
func idOf(parts []sentPart) string {
	id := make([]byte, 0, (partMessages+1)*9+16)
	for _, part := range parts[:min(len(parts), partMessages+1)] {
		id = append(part.short(id), '-')
	}
	all := make([]byte, 0, 8*len(parts))
	for _, part := range parts {
		all = binary.LittleEndian.AppendUint64(all, part.sum)
	}
	sum := sha256.Sum256(all)
	return string(hex.AppendEncode(id, sum[:8]))
}

// short appends the end of the sum to b, in eight digits.
func (p sentPart) short(b []byte) []byte {
	return hex.AppendEncode(b, binary.BigEndian.AppendUint32(nil, uint32(p.sum)))
}

// ofTools gives the part of the tools. An engine has the same list for its life, which is not gone through for each request.
func (p *prefixLog) ofTools(h *partHash, specs []llm.ToolSpec) sentPart {
	if len(specs) == len(p.specs) && (len(specs) == 0 || &specs[0] == &p.specs[0]) && p.tools.sum != 0 {
		return p.tools
	}
	for _, t := range specs {
		h.add(t.Name)
		h.add(t.Description)
		h.add(string(t.Schema))
	}
	part := h.part()
	part.tokens = prompt.EstimateTools(specs)
	p.specs, p.tools = specs, part
	return part
}

func ofMessage(h *partHash, m *llm.Message) sentPart {
	h.add(string(m.Role))
	h.add(m.Content)
	h.add(m.ToolCallID)
	h.add(m.Name)
	h.add(string(m.Extra))
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		h.add(c.ID)
		h.add(c.Name)
		h.add(c.Arguments)
		h.add(string(c.Extra))
	}
	return h.part()
}

// sameMessage compares what ofMessage hashes. Strings that are the same in memory, as those of a session's window are, are
// compared at once.
func sameMessage(a, b *llm.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.ToolCallID == b.ToolCallID && a.Name == b.Name && bytes.Equal(a.Extra, b.Extra) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(a, b llm.ToolCall) bool {
			return a.ID == b.ID && a.Name == b.Name && a.Arguments == b.Arguments && bytes.Equal(a.Extra, b.Extra)
		})
}

// partHash hashes fields with their lengths, so that text does not move from one into the next unseen, and counts bytes.
type partHash struct {
	hash.Hash
	bytes int
	buf   []byte
	out   [sha256.Size]byte
}

func (h *partHash) add(s string) {
	h.buf = binary.LittleEndian.AppendUint64(h.buf[:0], uint64(len(s)))
	h.buf = append(h.buf, s...)
	_, _ = h.Write(h.buf) // a hash takes all
	h.bytes += len(h.buf)
}

// part gives what was added, and begins anew.
func (h *partHash) part() sentPart {
	p := sentPart{sum: max(1, binary.LittleEndian.Uint64(h.Sum(h.out[:0]))), bytes: h.bytes}
	h.Reset()
	h.bytes = 0
	return p
}

// loadSent takes up what was sent last, by this process or another one.
func (s *session) loadSent(ctx context.Context) error {
	mem := s.eng.cfg.Memory
	if mem == nil {
		return nil
	}
	id, at, err := mem.LastSent(ctx, s.id)
	if errors.Is(err, ErrNotFound) || err == nil && id == s.sent.id {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the last request of session %s: %w", s.id, err)
	}
	folds, err := mem.Folds(ctx, s.id, 1)
	if err != nil {
		return fmt.Errorf("read the folds of session %s: %w", s.id, err)
	}
	s.sent.resume(id, llm.Request{Model: s.model(), Tools: s.eng.specs, Messages: s.messages()}, movedSince(at, folds, s.pins))
	return nil
}

// movedSince says what moved the messages after a request.
func movedSince(at time.Time, folds []FoldRow, pins []PinRow) string {
	for _, f := range folds {
		switch {
		case f.UndoneAt != nil && !f.UndoneAt.Before(at):
			return breakUndo
		case !f.CreatedAt.Before(at) && f.UndoneAt == nil:
			return breakFold
		}
	}
	for _, p := range pins {
		if !p.CreatedAt.Before(at) {
			return breakPin
		}
	}
	return breakOther
}

// madeRequest is how far the messages of a session's requests are made. Rows of a window never change where they lie: a fold, an
// undo and a load make a new window, and else rows are only appended. So what stood before is not made again.
type madeRequest struct {
	window *MessageRow // the first row; the pointer keeps its place from being given to another window
	memory string
	rows   int           // so many rows are in out for good: up to the last of role user or assistant
	out    []llm.Message // never handed out: the next rows may change its end
}

// messages makes the messages of a request of all that the window holds.
func (s *session) messages() []llm.Message {
	made := &s.made
	if len(s.window) == 0 {
		return prompt.Head(s.eng.cfg.System, s.memory)
	}
	if made.window != &s.window[0] || made.memory != s.memory || made.rows > len(s.window) {
		*made = madeRequest{window: &s.window[0], memory: s.memory, out: prompt.Head(s.eng.cfg.System, s.memory)}
	}
	last := len(s.window) - 1
	for last > made.rows && s.window[last].Role != llm.RoleUser && s.window[last].Role != llm.RoleAssistant {
		last--
	}
	if last > made.rows {
		made.out = prompt.Extend(made.out, entriesOf(s.window[made.rows:last]))
		made.rows = last
	}
	out := make([]llm.Message, len(made.out), len(made.out)+len(s.window)-made.rows)
	copy(out, made.out)
	return prompt.Extend(out, entriesOf(s.window[made.rows:]))
}

func entriesOf(rows []MessageRow) []prompt.Entry {
	entries := make([]prompt.Entry, len(rows))
	for i, m := range rows {
		entries[i] = prompt.Entry{N: m.N, Message: wireMessage(m), Tokens: m.Tokens}
	}
	return entries
}
