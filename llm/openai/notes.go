package openai

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vitrine/llm"
)

// The codes of notes; a profile has a hint for each.
const (
	noteRefused   = "refused"    // the server refused a field of the request
	noteThinkText = "think_text" // it left reasoning in the text
	noteBuffered  = "buffered"   // something between collects the stream
	noteTruncated = "truncated"  // the arguments of a call end in the middle, though the server says otherwise
	noteOverflow  = "overflow"   // it took a prompt beyond the model's window
	noteLost      = "lost"       // reasoning that the server may want back was too long to keep
)

// note makes a note with the profile's hint for its code.
func (d dialect) note(code, message, why string) llm.Note {
	return llm.Note{Code: code, Message: message, Why: why, Todo: llm.CleanText(d.Hints[code])}
}

// noteLearned tells of a refusal that taught something.
func noteLearned(host string, l lesson, refused *llm.Error) llm.Note {
	return llm.Note{
		Code:    noteRefused,
		Message: fmt.Sprintf("%s refused a part of the request; from now on %s", host, l.what),
		Why:     refused.Message,
		Todo:    "vitrine doctor shows what was learned of endpoints",
	}
}

// lasting are the notes on how a server is set up: they hold for every reply and are told once.
var lasting = []string{noteThinkText, noteBuffered, noteOverflow}

// maxPending bounds the notes that wait for a reply.
const maxPending = 8

// pend keeps a note until there is a reply to tell it with, which may be that of a later request.
func (c *Client) pend(n llm.Note) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) < maxPending {
		c.pending = append(c.pending, n)
	}
}

// fresh gives the notes that wait and those of a reply that were not told before.
func (c *Client) fresh(notes []llm.Note) []llm.Note {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes = append(c.pending, notes...)
	c.pending = nil
	return slices.DeleteFunc(notes, func(n llm.Note) bool {
		if !slices.Contains(lasting, n.Code) {
			return false
		}
		before := c.told[n.Code]
		if c.told == nil {
			c.told = map[string]bool{}
		}
		c.told[n.Code] = true
		return before
	})
}

// sawThink notes that a model thinks in its text: a reply of it that has only the end of it does so too.
func (c *Client) sawThink(model string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.thinks == nil {
		c.thinks = map[string]bool{}
	}
	if len(c.thinks) < maxFound {
		c.thinks[model] = true
	}
}

func (c *Client) thought(model string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.thinks[model]
}

// What makes a stream that something collected: it is long enough to have taken a while to make, it was waited for, and
// then came all at once.
const (
	collectedDeltas = 32
	collectedWait   = 2 * time.Second
	collectedSpan   = 50 * time.Millisecond
)

// buffered tells of a reply that came all at once.
func (x *exchange) buffered(d *decoder) []llm.Note {
	if d.deltas < collectedDeltas || x.last.IsZero() || x.first.Sub(x.began) < collectedWait || x.last.Sub(x.first) > collectedSpan {
		return nil
	}
	return []llm.Note{x.dialect.note(noteBuffered, "the whole reply came at once, after "+x.first.Sub(x.began).Round(time.Second/10).String(),
		"something between the server and here collects the stream, so that nothing is seen while it is made")}
}

// notes tells what the server did with a reply that is whole.
func (d *decoder) notes(calls []llm.ToolCall) (out []llm.Note) {
	if found := d.leaks.found; found != "" {
		message := "the server returned a tool call as text; it was not run"
		if d.leaks.parse && len(calls) > 0 {
			message = "the server returned a tool call as text; it was read out of it"
		}
		n := d.dialect.note(llm.NoteToolText, message, "the text holds "+found+", which the server should have taken out")
		if d.leaks.parse { // that is done already
			n.Todo, _, _ = strings.Cut(n.Todo, ", or set text_calls")
		}
		out = append(out, n)
	}
	if d.tags.split || d.tags.stray || d.tags.told {
		n := d.dialect.note(noteThinkText, "the server returned reasoning as text", "the text holds "+thinkOpen+" or "+thinkClose)
		switch {
		case d.tags.stray:
			n.Todo = strings.TrimPrefix(n.Todo+"; or set starts_thinking = true in this endpoint's profile", "; ")
		case !d.tags.split: // it may be an answer that speaks of the tags
			n.Message = "the server may have returned reasoning as text"
			n.Todo = strings.TrimPrefix(n.Todo+"; or, if the model reasons, set may_think = true in this endpoint's profile", "; ")
		}
		out = append(out, n)
	}
	if f := llm.Finish(d.finish); f != llm.FinishLength {
		for _, c := range calls {
			if unfinished(c.Arguments) {
				out = append(out, d.dialect.note(noteTruncated, "the arguments of "+llm.CleanText(c.Name)+" end in the middle",
					fmt.Sprintf("the server gave %q as the reason for the end, yet the reply was cut", llm.CleanText(d.finish))))
				break
			}
		}
	}
	window, took := d.dialect.ContextTokens, d.usage.Prompt
	if window == 0 && d.window != nil {
		window = d.window(d.model) // the name that was asked for may be another one for it
	}
	if window > 0 && took != nil && *took > window {
		out = append(out, d.dialect.note(noteOverflow, fmt.Sprintf("the server took a prompt of %d tokens though the model's window has %d", *took, window),
			"its beginning, with the instructions, may be lost"))
	}
	if d.forgot {
		out = append(out, llm.Note{Code: noteLost, Message: "the reasoning of this reply is too long to be sent back",
			Why: fmt.Sprintf("it has more than %d KiB", maxKept>>10), Todo: "/retry, should the server miss it"})
	}
	return out
}

// unfinished says whether text is the beginning of a JSON object.
func unfinished(s string) bool {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") {
		return false
	}
	var o object
	o.feed([]byte(s))
	return !o.over
}
