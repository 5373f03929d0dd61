package llm

import (
	"encoding/json"
	"iter"
	"strings"
)

// Reply is a reply as a whole.
type Reply struct {
	Text      string
	Reasoning string
	ToolCalls []ToolCall
	// Finish is empty when the reply is incomplete, and when the server gave no reason.
	Finish Finish
	Usage  Usage
	Model  string
	Extra  json.RawMessage
	Notes  []Note
	// Retries are the waits that came before, in order.
	Retries []RetryWait
}

// Message is the reply as the assistant message of a later request.
func (r Reply) Message() Message {
	return Message{Role: RoleAssistant, Kind: KindAssistant, Content: r.Text, ToolCalls: r.ToolCalls, Extra: r.Extra}
}

// Collect folds a stream into a reply. With an error the reply holds what had come until then, without calls. A stream
// that ends without Done and without an error gives an *Error of kind ErrCut.
func Collect(chunks iter.Seq2[Chunk, error]) (Reply, error) {
	var r Reply
	var text, reasoning strings.Builder
	whole := func() Reply {
		r.Text, r.Reasoning = text.String(), reasoning.String()
		return r
	}
	for c, err := range chunks {
		switch {
		case err != nil:
			return whole(), err
		case c.Retry != nil:
			text.Reset()
			reasoning.Reset()
			r.Retries = append(r.Retries, *c.Retry)
			continue
		}
		if c.Void {
			reasoning.WriteString(text.String())
			text.Reset()
		}
		text.WriteString(c.Text)
		reasoning.WriteString(c.Reasoning)
		if d := c.Done; d != nil {
			r.ToolCalls, r.Finish, r.Usage, r.Model, r.Extra, r.Notes = d.ToolCalls, d.Finish, d.Usage, d.Model, d.Extra, d.Notes
			return whole(), nil
		}
	}
	return whole(), errNoEnd()
}
