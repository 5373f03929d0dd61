package llmtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"vitrine/llm"
)

// Reply is one answer of a Server. It is a value: its methods return a changed copy. Reply{} is an empty stream.
type Reply struct {
	status int
	header http.Header
	body   string // instead of a stream
	steps  []Step
	split  []int
	delay  time.Duration
	end    ending
	left   func()
}

// ending is how the connection ends.
type ending int

const (
	endProper ending = iota
	endFIN           // closed in the middle of the body
	endReset         // reset
	endHold          // open until the client leaves
	endSilent        // as endHold, without even a header
)

// Breakage is how a connection breaks.
type Breakage int

// The breakages: closed before the end of the body was announced, or reset.
const (
	Close Breakage = iota
	Reset
)

// Step is a piece of a stream: bytes, sent at once after a wait.
type Step struct {
	data string
	wait time.Duration
}

// Stream answers 200 with server-sent events. Without more it ends properly after the last step.
func Stream(steps ...Step) Reply { return Reply{status: http.StatusOK, steps: steps} }

// Answer is a whole reply of text, in deltas of a few characters, with usage.
func Answer(text string) Reply {
	var steps []Step
	for _, s := range cut(text, 5) {
		steps = append(steps, Text(s))
	}
	return Stream(append(steps, Finish("stop"), Usage(10, len(steps), -1), DoneMark())...)
}

// Ask is a whole reply that asks for calls, their arguments in deltas.
func Ask(calls ...llm.ToolCall) Reply { return ReplyTo(Play{Calls: calls}) }

// Refuse answers with a status and a body; an empty body becomes the error object of OpenAI.
func Refuse(status int, body string) Reply {
	if body == "" {
		body = compactJSON(map[string]any{"error": map[string]any{"message": http.StatusText(status), "type": "test"}})
	}
	return Page(status, "application/json", body)
}

// Page answers with any body at all.
func Page(status int, contentType, body string) Reply {
	return Reply{status: status, body: body, header: http.Header{"Content-Type": {contentType}}}
}

// Silent answers nothing, not even a header, until the client leaves.
func Silent() Reply { return Reply{end: endSilent} }

// After waits before the header.
func (r Reply) After(d time.Duration) Reply { r.delay = d; return r }

// Header sets a header of the answer.
func (r Reply) Header(name, value string) Reply {
	if r.header = r.header.Clone(); r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(name, value)
	return r
}

// RetryAfter sets that header, in seconds or as a date.
func (r Reply) RetryAfter(v string) Reply { return r.Header("Retry-After", v) }

// SplitAt sends the stream in writes that end at these bytes of it, whatever the steps are. Waits of steps are left out.
func (r Reply) SplitAt(at ...int) Reply { r.split = slices.Clone(at); return r }

// Cut breaks the connection after the last step.
func (r Reply) Cut(how Breakage) Reply {
	r.end = endFIN
	if how == Reset {
		r.end = endReset
	}
	return r
}

// Hold keeps the connection open after the last step until the client leaves.
func (r Reply) Hold() Reply { r.end = endHold; return r }

// Status answers with another status than 200.
func (r Reply) Status(code int) Reply { r.status = code; return r }

// OnLeave calls f when the reply is over, because it was sent, broken off, or left by the client.
func (r Reply) OnLeave(f func()) Reply { r.left = f; return r }

// Bytes is the stream as a whole.
func (r Reply) Bytes() []byte {
	var b []byte
	for _, s := range r.steps {
		b = append(b, s.data...)
	}
	return b
}

// Raw sends bytes as they are.
func Raw(s string) Step { return Step{data: s} }

// After waits before the step.
func (s Step) After(d time.Duration) Step { s.wait = d; return s }

// Event sends one event with v encoded as its data, or with v itself when it is a string or raw JSON.
func Event(v any) Step {
	switch v := v.(type) {
	case string:
		return Raw("data: " + v + "\n\n")
	case json.RawMessage:
		return Raw("data: " + string(v) + "\n\n")
	}
	return Raw("data: " + compactJSON(v) + "\n\n")
}

// DoneMark ends a stream.
func DoneMark() Step { return Event("[DONE]") }

// Comment sends a line that every reader skips.
func Comment(s string) Step { return Raw(": " + s + "\n\n") }

func choice(fields map[string]any) Step {
	fields["index"] = 0
	return Event(map[string]any{
		"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1, "model": "test-model",
		"choices": []any{fields},
	})
}

// Delta sends a chunk with any delta.
func Delta(delta any) Step { return choice(map[string]any{"delta": delta, "finish_reason": nil}) }

// Text sends a delta of text.
func Text(s string) Step { return Delta(map[string]any{"content": s}) }

// Reasoning sends a delta of reasoning.
func Reasoning(s string) Step { return Delta(map[string]any{"reasoning_content": s}) }

// Finish sends the reason for the end.
func Finish(reason string) Step {
	return choice(map[string]any{"delta": map[string]any{}, "finish_reason": reason})
}

// CallHead opens a call. An empty id is left out.
func CallHead(index int, id, name string) Step {
	call := map[string]any{"index": index, "type": "function", "function": map[string]any{"name": name, "arguments": ""}}
	if id != "" {
		call["id"] = id
	}
	return Calls(call)
}

// CallArguments sends more of a call's arguments.
func CallArguments(index int, s string) Step {
	return Calls(map[string]any{"index": index, "function": map[string]any{"arguments": s}})
}

// Calls sends any entries of tool_calls in one delta.
func Calls(entries ...any) Step { return Delta(map[string]any{"tool_calls": entries}) }

// Usage reports tokens; what is negative is left out.
func Usage(prompt, completion, cached int) Step {
	known := func(n int) *int {
		if n < 0 {
			return nil
		}
		return &n
	}
	return usage(llm.Usage{Prompt: known(prompt), Completion: known(completion), Cached: known(cached)})
}

func usage(u llm.Usage) Step {
	report := map[string]any{}
	set := func(m map[string]any, key string, n *int) {
		if n != nil {
			m[key] = *n
		}
	}
	set(report, "prompt_tokens", u.Prompt)
	set(report, "completion_tokens", u.Completion)
	if u.Cached != nil {
		report["prompt_tokens_details"] = map[string]any{"cached_tokens": *u.Cached}
	}
	if u.Reasoning != nil {
		report["completion_tokens_details"] = map[string]any{"reasoning_tokens": *u.Reasoning}
	}
	return Event(map[string]any{"object": "chat.completion.chunk", "model": "test-model", "choices": []any{}, "usage": report})
}

// Models is the answer to a request for the list of models.
func Models(ids ...string) Reply {
	data := make([]any, 0, len(ids))
	for _, id := range ids {
		data = append(data, map[string]any{"id": id, "object": "model"})
	}
	return Page(http.StatusOK, "application/json", compactJSON(map[string]any{"object": "list", "data": data}))
}
