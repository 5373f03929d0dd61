package runtime

import (
	"encoding/binary"
	"hash/maphash"

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
	breakOther  = "other" // a defect of ours
)

// prefixLog is what a session sent last, as a sequence of model, tools and messages, so that each request can be compared with
// the one before. It belongs to who owns the session's window.
type prefixLog struct {
	seed  maphash.Seed
	parts []sentPart
	cause string // what has moved the messages since then
}

// sentPart is one part of a request that was sent.
type sentPart struct {
	sum           uint64
	bytes, tokens int
}

func newPrefixLog() prefixLog { return prefixLog{seed: maphash.MakeSeed()} }

// The places of the parts in front of the messages.
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
	parts := make([]sentPart, 0, len(req.Messages)+partMessages)
	parts = append(parts, sentPart{sum: maphash.String(p.seed, req.Model)}, p.ofTools(req.Tools))
	same := true
	for i := range req.Messages {
		part := p.ofMessage(&req.Messages[i])
		at := len(parts)
		if same = same && at < len(p.parts) && p.parts[at].sum == part.sum; same {
			part.tokens = p.parts[at].tokens
		} else {
			part.tokens = prompt.EstimateMessage(req.Messages[i])
		}
		parts = append(parts, part)
	}
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
	p.parts, p.cause = parts, ""
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

func (p *prefixLog) ofTools(specs []llm.ToolSpec) sentPart {
	var h partHash
	h.SetSeed(p.seed)
	for _, t := range specs {
		h.add(t.Name)
		h.add(t.Description)
		h.addBytes(t.Schema)
	}
	return sentPart{sum: h.Sum64(), bytes: h.bytes, tokens: prompt.EstimateTools(specs)}
}

func (p *prefixLog) ofMessage(m *llm.Message) sentPart {
	var h partHash
	h.SetSeed(p.seed)
	h.add(string(m.Role))
	h.add(m.Content)
	h.add(m.ToolCallID)
	h.add(m.Name)
	h.addBytes(m.Extra)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		h.add(c.ID)
		h.add(c.Name)
		h.add(c.Arguments)
		h.addBytes(c.Extra)
	}
	return sentPart{sum: h.Sum64(), bytes: h.bytes}
}

// partHash hashes fields with their lengths, so that text does not move from one into the next unseen, and counts bytes.
type partHash struct {
	maphash.Hash
	bytes int
}

func (h *partHash) length(n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	_, _ = h.Write(b[:]) // a hash takes all
	h.bytes += n
}

func (h *partHash) add(s string) {
	h.length(len(s))
	_, _ = h.WriteString(s)
}

func (h *partHash) addBytes(b []byte) {
	h.length(len(b))
	_, _ = h.Write(b)
}
