package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vitrine/llm"
)

// choice takes in one choice. Only one alternative is asked for, and the first that comes is read, whatever its number.
func (d *decoder) choice(c *wireChoice) error {
	if !d.chosen {
		d.choiceAt, d.chosen = c.Index, true
	}
	if c.Index != d.choiceAt {
		return nil
	}
	if meansError(c.Error) {
		return d.fault(parseFault(c.Error))
	}
	d.use(c.Usage)
	for _, delta := range []*wireDelta{&c.Delta, &c.Message} {
		if err := d.delta(delta); err != nil {
			return err
		}
	}
	if err := d.say(c.Text.text); err != nil {
		return err
	}
	if brokeOff(c.Finish) {
		f := fault{message: "the server broke the reply off"}
		if c.Finish != "error" {
			f.message = fmt.Sprintf("the server broke the reply off, with the reason %s", c.Finish)
		}
		return d.fault(f)
	}
	d.reason(c.Finish)
	return nil
}

// reason notes why the reply ended. A reason that forbids running the calls is not overruled by a later one.
func (d *decoder) reason(s string) {
	if s == "" {
		return
	}
	first := d.finish == ""
	if f := llm.Finish(d.finish); f != llm.FinishLength && f != llm.FinishContentFilter {
		d.finish = string(finishOf(s))
	}
	if first {
		d.onEnd()
	}
}

// brokeOff says whether a reason means that the server failed and the same request may succeed: of OpenRouter, of vLLM and SGLang, of
// DeepSeek, of Z.ai.
func brokeOff(reason string) bool {
	switch strings.ToLower(reason) {
	case "error", "abort", "aborted", "insufficient_system_resource", "network_error":
		return true
	}
	return false
}

// finishOf maps the spellings of the reasons that the runtime must not miss.
func finishOf(s string) llm.Finish {
	switch strings.ToLower(s) {
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return llm.FinishLength
	case "content_filter", "safety", "content_filtered", "sensitive", "recitation", "prohibited_content", "blocklist", "spii":
		return llm.FinishContentFilter
	case "stop":
		return llm.FinishStop
	case "tool_calls":
		return llm.FinishToolCalls
	}
	return llm.Finish(strings.ToValidUTF8(s, "\uFFFD"))
}

func (d *decoder) delta(w *wireDelta) error {
	if err := d.think(w); err != nil {
		return err
	}
	if w.Content.text != "" {
		d.deltas++
	}
	if err := d.say(w.Content.text + w.Refusal.text); err != nil {
		return err
	}
	d.details.add(w.ReasoningDetails)
	if len(w.ExtraContent) > 0 && string(w.ExtraContent) != "null" {
		d.keep("extra_content", w.ExtraContent)
	}
	list := w.ToolCalls
	if p, ok := parsePiece(w.FunctionCall, true); ok {
		list = append(list, p)
	}
	if len(list) == 0 {
		return nil
	}
	d.deltas++
	for _, p := range list {
		if err := d.grow(len(p.args) + len(p.name) + len(p.id)); err != nil {
			return err
		}
	}
	return d.calls.add(list, d.growth)
}

// think takes in reasoning. Some servers send the same text in two fields; the first one seen counts.
func (d *decoder) think(w *wireDelta) error {
	text := w.Content.reasoning
	if text != "" && d.field == "" {
		d.field = "content"
	}
	for _, f := range []struct {
		name string
		c    content
	}{{"reasoning_content", w.ReasoningContent}, {"reasoning", w.Reasoning}} {
		if f.c.text == "" {
			continue
		}
		if d.field == "" {
			d.field = f.name
		}
		if d.field == f.name {
			text = f.c.text
		}
	}
	return d.thought(text)
}

// maxKept bounds the reasoning that is kept to be sent back, in bytes.
const maxKept = 64 << 10

// thought takes in reasoning.
func (d *decoder) thought(s string) error {
	text := d.reasoning.add(s)
	if text == "" {
		return nil
	}
	d.tags.over = true // who tells them apart leaves no end of reasoning in the text
	if d.tags.state == tagStart {
		d.tags.early = false
	}
	if err := d.grow(len(text)); err != nil {
		return err
	}
	if d.thoughts.Len()+len(text) > maxKept {
		d.forgot = true
	}
	if !d.forgot {
		d.thoughts.WriteString(text)
	}
	return d.out(llm.Chunk{Reasoning: text})
}

// say takes in text, of which a part may turn out to be reasoning or a call.
func (d *decoder) say(s string) error {
	text := d.text.add(s)
	if text == "" {
		return nil
	}
	if err := d.grow(len(text)); err != nil {
		return err
	}
	return d.sort(d.tags.add(text))
}

// sort tells reasoning and text that were told apart.
func (d *decoder) sort(reasoning, text string) error {
	if d.tags.void {
		d.tags.void, d.said = false, 0
		reasoning = d.leaks.drop() + reasoning
		if err := d.out(llm.Chunk{Void: true}); err != nil {
			return err
		}
	}
	if reasoning != "" {
		if err := d.out(llm.Chunk{Reasoning: reasoning}); err != nil {
			return err
		}
	}
	if text = d.leaks.add(text); text == "" {
		return nil
	}
	d.said += len(text)
	return d.out(llm.Chunk{Text: text})
}

func (d *decoder) grow(n int) error {
	if d.size += n; d.size > maxReply {
		return &llm.Error{Kind: llm.ErrTooLarge, Message: fmt.Sprintf("the reply is longer than %d MiB", maxReply>>20)}
	}
	return nil
}

func (d *decoder) keep(name string, raw json.RawMessage) {
	if d.extra == nil {
		d.extra = map[string]json.RawMessage{}
	}
	d.extra[name] = tidy(raw)
}

func (d *decoder) fault(f fault) error {
	f.wait(f.status, nil, time.Now())
	return f.err(0, d.clean)
}

// done closes the reply.
func (d *decoder) done() (*llm.Done, error) {
	if rest := d.reasoning.flush(); rest != "" {
		if !d.forgot {
			d.thoughts.WriteString(rest)
		}
		if err := d.out(llm.Chunk{Reasoning: rest}); err != nil {
			return nil, err
		}
	}
	if err := d.rest(); err != nil {
		return nil, err
	}
	list, err := d.calls.finish()
	if err != nil {
		return nil, err
	}
	if err := d.overflowed(list); err != nil {
		return nil, err
	}
	if d.thoughts.Len() > 0 && d.field != "content" && !d.forgot {
		if raw, err := marshal(d.thoughts.String()); err == nil {
			d.keep(d.field, raw)
		}
	}
	if raw := d.details.encode(); raw != nil {
		d.keep("reasoning_details", raw)
	}
	d.forgot = d.forgot || d.details.forgot
	if raw, err := marshal(d.dialect.Family); err == nil && (len(d.extra) > 0 || signed(list)) {
		d.keep(originField, raw)
	}
	return &llm.Done{Finish: llm.Finish(d.finish), ToolCalls: list, Usage: known(d.usage), Model: d.model, Extra: encodeExtra(d.extra),
		Notes: d.notes(list)}, nil
}

// signed says whether a call has fields that only its family may get back.
func signed(list []llm.ToolCall) bool {
	return slices.ContainsFunc(list, func(c llm.ToolCall) bool { return len(c.Extra) > 0 })
}

// rest tells what was held back of the text: half a character, the beginning of a tag, a call that a server left in it.
func (d *decoder) rest() error {
	reasoning, text := d.tags.add(d.text.flush())
	more, end := d.tags.flush(llm.Finish(d.finish) != llm.FinishLength, len(d.calls.list) > 0)
	if err := d.sort(reasoning+more, text+end); err != nil {
		return err
	}
	found, text := d.leaks.finish(d.request.Tools)
	if text != "" {
		d.said += len(text)
		if err := d.out(llm.Chunk{Text: text}); err != nil {
			return err
		}
	}
	for i, p := range found {
		p.id = "text_" + strconv.Itoa(i)
		if err := d.calls.add([]piece{p}, d.growth); err != nil {
			return err
		}
	}
	return nil
}

// overflowed tells of a reply that ended before it began for want of room, though the server speaks of a whole reply.
func (d *decoder) overflowed(list []llm.ToolCall) error {
	none := d.usage.Completion != nil && *d.usage.Completion == 0
	if llm.Finish(d.finish) != llm.FinishLength || d.said > 0 || len(list) > 0 || d.thoughts.Len() > 0 || d.forgot || !none {
		return nil
	}
	return &llm.Error{Kind: llm.ErrContext, Message: "the server had no room for a reply: the prompt fills the model's window"}
}
