package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"vitrine/llm"
)

// Reporter is the part of testing.TB that Record needs; those of property tests have it too.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Record plays a stream to its end and checks the contract on the way: valid UTF-8 in every chunk, at most one part in a
// chunk, Done last and once, calls with names and with ids that are unique and not empty, nothing after an error.
func Record(t Reporter, stream func(func(llm.Chunk, error) bool)) (llm.Reply, error) {
	t.Helper()
	var c contract
	reply, err := llm.Collect(func(yield func(llm.Chunk, error) bool) {
		goOn := true
		stream(func(ch llm.Chunk, err error) bool {
			for _, broken := range c.chunk(ch, err) {
				t.Errorf("contract: %s", broken)
			}
			if goOn {
				goOn = yield(ch, err)
			}
			return true
		})
	})
	for _, broken := range c.close(err) {
		t.Errorf("contract: %s", broken)
	}
	return reply, err
}

// contract notes what a stream did.
type contract struct {
	ended, done bool
}

func (c *contract) chunk(ch llm.Chunk, err error) (broken []string) {
	if c.ended {
		broken = append(broken, "something follows the end")
	}
	if err != nil {
		if ch != (llm.Chunk{}) {
			broken = append(broken, "a chunk beside an error")
		}
		c.ended = true
		return append(broken, errorContract(err)...)
	}
	if !utf8.ValidString(ch.Text) || !utf8.ValidString(ch.Reasoning) {
		broken = append(broken, "a delta is no valid UTF-8")
	}
	parts := 0
	for _, set := range []bool{ch.Text != "", ch.Reasoning != "", ch.CallDelta != nil, ch.Retry != nil} {
		if set {
			parts++
		}
	}
	if parts > 1 {
		broken = append(broken, "a chunk has several parts")
	}
	if d := ch.CallDelta; d != nil {
		if !utf8.ValidString(d.Name) || !utf8.ValidString(d.Arguments) || d.Index < 0 {
			broken = append(broken, "a call delta is no valid UTF-8 or has a negative index")
		}
	}
	if ch.Done != nil {
		c.ended, c.done = true, true
		broken = append(broken, doneContract(ch.Done)...)
	}
	return broken
}

// errorContract checks that an error is one that the runtime can act on and show.
func errorContract(err error) (broken []string) {
	var e *llm.Error
	if !errors.As(err, &e) {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			broken = append(broken, "an error is neither *llm.Error nor that of the context: "+err.Error())
		}
		return broken
	}
	if e.Kind == "" {
		broken = append(broken, "an error has no kind")
	}
	if unclean(e.Message) {
		broken = append(broken, "the message of an error is not clean: "+e.Message)
	}
	return broken
}

// unclean says whether a message is more than a line to read: 300 characters of a server and a few words around them.
func unclean(s string) bool {
	return !utf8.ValidString(s) || utf8.RuneCountInString(s) > llm.MaxErrorText+100 ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
}

func doneContract(d *llm.Done) (broken []string) {
	ids := map[string]bool{}
	for _, call := range d.ToolCalls {
		if call.ID == "" || ids[call.ID] {
			broken = append(broken, "the id of a call is empty or there twice: "+call.ID)
		}
		ids[call.ID] = true
		if !utf8.ValidString(call.Name) || !utf8.ValidString(call.Arguments) || !utf8.ValidString(call.ID) {
			broken = append(broken, "a call is no valid UTF-8")
		}
		if len(call.Extra) > 0 && !json.Valid(call.Extra) {
			broken = append(broken, "the extra fields of a call are no JSON")
		}
	}
	if len(d.Extra) > 0 && !json.Valid(d.Extra) {
		broken = append(broken, "the extra fields are no JSON")
	}
	for _, n := range d.Notes {
		if n.Code == "" || n.Message == "" || unclean(n.Message) || unclean(n.Why) || unclean(n.Todo) {
			broken = append(broken, "a note says nothing or is not clean: "+n.Message)
		}
	}
	for _, n := range []*int{d.Usage.Prompt, d.Usage.Completion, d.Usage.Cached, d.Usage.Reasoning} {
		if n != nil && *n < 0 {
			broken = append(broken, "a negative number of tokens")
		}
	}
	return broken
}

func (c *contract) close(err error) (broken []string) {
	if !c.done && !c.ended {
		broken = append(broken, "the stream ended without Done and without an error")
	}
	if err == nil && !c.done {
		broken = append(broken, "a reply without Done")
	}
	return broken
}
