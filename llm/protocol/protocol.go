// Package protocol gives tools to models that have no tool calls of their own: what they are offered, what they called and
// what came of it is written into the text of the request, and their calls are read out of the text of the reply.
//
// Two forms are known. JSON has the model write one object a step, with thought, action, tool_name, tool_args and
// final_answer; ReAct has it write lines that start with Thought, Action, Action Input and Final Answer, and answers with an
// Observation. New puts either before a client (client.go). The history is rewritten for it (history.go), so that a server
// sees the roles system, user and assistant only, in turn. One parser reads both forms (parser.go, frame.go, label.go), since
// models mix them: what is left of the form never reaches the reader, a thought becomes reasoning, the answer streams as it
// comes, and what has neither form is an answer as it stands. Calls in the form that a model was trained on are read as well (own.go).
//
// Nothing is asked again here and nothing is guessed: a call whose arguments are broken or whose tool does not exist is handed
// on as it is, and the runtime answers it with an error that the model can act on. A reply that breaks off in the form before
// it says anything is empty, which the runtime asks for again. What a model writes behind its own call, such as a result that
// it made up, ends the reply.
package protocol

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"

	"vitrine/llm"
)

// Form is how calls are written as text.
type Form string

// The forms.
const (
	JSON  Form = "json"
	ReAct Form = "react"
)

// New makes a client that speaks form with next. It is meant to stand under llm.Retry. A request without tools and without
// calls in its history goes through as it is.
func New(next llm.Client, form Form) llm.Client { return &client{next: next, form: form} }

type client struct {
	next llm.Client
	form Form
}

// Stream implements llm.Client.
func (c *client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	if !concerns(req) {
		return c.next.Stream(ctx, req)
	}
	return func(yield func(llm.Chunk, error) bool) {
		p := newParser(req.Tools)
		for ch, err := range c.next.Stream(ctx, rewrite(req, c.form)) {
			if err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			text, done := ch.Text, ch.Done
			if ch.Retry != nil || ch.Void {
				p = newParser(req.Tools)
			}
			if ch.Text, ch.Done = "", nil; text == "" && done == nil {
				if !yield(ch, nil) {
					return
				}
				continue
			}
			p.write(text)
			if done != nil {
				p.end()
			}
			for _, piece := range p.take() {
				if !yield(piece, nil) {
					return
				}
			}
			switch {
			case p.err != nil:
				yield(llm.Chunk{}, p.err)
				return
			case done != nil:
				yield(llm.Chunk{Done: p.done(*done)}, nil)
				return
			case p.mode == stopped:
				yield(llm.Chunk{Done: p.done(llm.Done{Finish: llm.FinishStop})}, nil)
				return
			}
		}
	}
}

// concerns says whether a request has anything that needs the form.
func concerns(req llm.Request) bool {
	if len(req.Tools) > 0 {
		return true
	}
	for _, m := range req.Messages {
		if m.Role == llm.RoleTool || len(m.ToolCalls) > 0 {
			return true
		}
	}
	return false
}

// Fields of Message.Extra. The origin keeps them from every endpoint: they are for the history as text only.
const (
	originField  = "vitrine_origin"
	originText   = "text"
	thoughtField = "vitrine_thought"
)

// maxKeptThought bounds what of a thought is shown to the model again, in bytes.
const maxKeptThought = 2 << 10

// done is the end of a reply with the calls that were in its text.
func (p *parser) done(d llm.Done) *llm.Done {
	d.Notes = p.notes(d.Notes)
	if len(p.calls) > 0 {
		d.ToolCalls = append(append([]llm.ToolCall(nil), d.ToolCalls...), p.calls...)
		if d.Finish == llm.FinishStop || d.Finish == "" {
			d.Finish = llm.FinishToolCalls
		}
	}
	if t := p.thoughts.String(); t != "" && len(d.Extra) == 0 {
		t = strings.ToValidUTF8(t[:min(len(t), maxKeptThought)], "")
		if b, err := json.Marshal(map[string]string{originField: originText, thoughtField: t}); err == nil {
			d.Extra = b
		}
	}
	return &d
}

// sink collects text that may come byte by byte and gives it in whole characters, without space at its ends.
type sink struct {
	space []byte // held until something follows
	out   []byte
	any   bool
}

func (s *sink) WriteByte(b byte) error {
	if isSpace(b) {
		if s.any && len(s.space) < maxSpace {
			s.space = append(s.space, b)
		}
		return nil
	}
	s.out, s.space, s.any = append(append(s.out, s.space...), b), s.space[:0], true
	return nil
}

func (s *sink) WriteString(t string) {
	for i := range len(t) {
		_ = s.WriteByte(t[i]) // it never fails
	}
}

// maxSpace bounds the space that is held back.
const maxSpace = 64 << 10

// take gives the whole characters that are there.
func (s *sink) take() string {
	n := len(s.out)
	for back := 1; back <= min(utf8.UTFMax-1, n); back++ {
		if b := s.out[n-back]; utf8.RuneStart(b) {
			if !utf8.FullRune(s.out[n-back:]) {
				n -= back
			}
			break
		}
	}
	t := string([]rune(string(s.out[:n]))) // each byte that is no character becomes U+FFFD, wherever the pieces are cut
	s.out = append(s.out[:0], s.out[n:]...)
	return t
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }
