package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"vitrine/llm"
)

// Limits of one reply.
const (
	maxEvent = 16 << 20 // a line or an event
	maxReply = 64 << 20 // text, reasoning and arguments together
	maxStray = 64 << 10 // lines that belong to no event
)

// errStopped ends decoding because the consumer wants no more.
var errStopped = errors.New("stopped")

// wireChunk is one event of a stream, or a whole completion. Decoding takes what fits: a field of another type than
// expected is left out.
type wireChunk struct {
	Object  string          `json:"object"`
	Type    string          `json:"type"`
	Model   string          `json:"model"`
	Choices *[]wireChoice   `json:"choices"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    struct {
		Usage *wireUsage      `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
}

type wireChoice struct {
	Index   int             `json:"index"`
	Delta   wireDelta       `json:"delta"`
	Message wireDelta       `json:"message"` // of a server that does not stream
	Text    content         `json:"text"`
	Finish  string          `json:"finish_reason"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type wireDelta struct {
	Content          content         `json:"content"`
	Refusal          content         `json:"refusal"`
	Reasoning        content         `json:"reasoning"`
	ReasoningContent content         `json:"reasoning_content"`
	ToolCalls        pieces          `json:"tool_calls"`
	FunctionCall     json.RawMessage `json:"function_call"`
	ExtraContent     json.RawMessage `json:"extra_content"`
}

// decoder assembles one reply from a stream.
type decoder struct {
	tell   func(llm.Chunk) bool
	onEnd  func() // called once, when the reason for the end has come and only usage may follow
	origin string // where the reply is from, kept with what only that place may get back
	clean  func(string) string

	text, reasoning joiner
	thoughts        strings.Builder
	field           string // the field that brings the reasoning
	calls           *calls
	extra           map[string]json.RawMessage
	usage           llm.Usage
	model           string
	finish          string
	size            int
	seen            bool // a chunk was decoded
	told            bool // something was told since the event began
	stray           []byte
	multi           bool // stray is more than one line
	alien           bool // there was JSON that belongs to no event
}

// decode reads src to the end of the reply and gives its last chunk. Errors are *llm.Error, errStopped, or those of src
// wrapped in *readError.
func (d *decoder) decode(src io.Reader) (*llm.Done, error) {
	d.calls = newCalls()
	fs := newFrames(src, maxEvent)
	for {
		fr, err := fs.next()
		if err != nil {
			return d.end(err)
		}
		switch {
		case fr.alive():
			err = d.out(llm.Chunk{})
		case fr.bare:
			err = d.bare(fr.data)
		case bytes.Equal(bytes.TrimSpace(fr.data), doneMark):
			if !d.seen {
				return nil, &llm.Error{Kind: llm.ErrCut, Message: "the stream ended before the reply began", Retryable: true}
			}
			return d.done()
		default:
			d.told = false
			if err = d.event(fr); err == nil && !d.told {
				err = d.out(llm.Chunk{}) // it said nothing, but it came
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

func (d *decoder) out(c llm.Chunk) error {
	d.told = true
	if !d.tell(c) {
		return errStopped
	}
	return nil
}

// readError is a failure of the connection, as opposed to one of what it carried.
type readError struct{ err error }

func (e *readError) Error() string { return "read the stream: " + e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// end decides what a stream amounts to that ended without [DONE].
func (d *decoder) end(err error) (*llm.Done, error) {
	if errors.Is(err, errLong) {
		return nil, &llm.Error{Kind: llm.ErrTooLarge, Message: fmt.Sprintf("a line of the stream is longer than %d MiB", maxEvent>>20)}
	}
	if !d.seen && d.finish == "" && len(d.stray) > 0 {
		if d.multi && json.Valid(d.stray) {
			d.alien = true
			if err := d.chunk("", d.stray); err != nil {
				return nil, err
			}
		} else {
			return nil, d.foreign()
		}
	}
	if d.finish != "" {
		return d.done()
	}
	if err != io.EOF {
		return nil, &readError{err}
	}
	if !d.seen && d.alien {
		return nil, alien("")
	}
	return nil, &llm.Error{Kind: llm.ErrCut, Message: "the stream ended before the reply was complete", Retryable: true}
}

func notJSON() error {
	return &llm.Error{Kind: llm.ErrProtocol, Message: "the server sent an event that is no JSON", Retryable: true}
}

// foreign tells of an answer that is neither a stream nor JSON, such as the page of a proxy. JSON is not quoted, because
// it may hold reasoning.
func (d *decoder) foreign() error {
	if d.stray[0] == '{' || d.stray[0] == '[' {
		return alien("")
	}
	return alien(d.clean(string(d.stray)))
}

func alien(said string) error {
	if said != "" {
		said = ": " + said
	}
	return &llm.Error{Kind: llm.ErrProtocol, Message: "the answer is no chat completion" + said}
}

// bare takes in a line that belongs to no event: JSON of its own, or a part of an answer that is no stream at all.
func (d *decoder) bare(line []byte) error {
	if trimmed := bytes.TrimSpace(line); len(trimmed) > 1 && (trimmed[0] == '{' || d.seen && trimmed[0] == '[') && json.Valid(trimmed) {
		d.alien = true
		return d.chunk("", trimmed)
	}
	if d.seen {
		return nil
	}
	limit := maxStray
	if len(d.stray) > 0 && (d.stray[0] == '{' || d.stray[0] == '[') {
		limit = maxEvent // a whole completion over several lines
	}
	if len(d.stray) == 0 {
		if line = bytes.TrimLeft(line, " \t"); bytes.HasPrefix(line, []byte("<")) {
			d.onEnd() // a page; its end is not worth a long wait
		}
	}
	if len(d.stray)+len(line) < limit {
		d.multi = len(d.stray) > 0 || bytes.HasPrefix(line, []byte("["))
		d.stray = append(append(d.stray, line...), '\n')
	}
	return nil
}

// event takes in one event. One that is no JSON and was cut short is dropped, since the end of the stream tells more.
func (d *decoder) event(fr frame) error {
	data := bytes.TrimSpace(fr.data)
	if len(data) == 0 {
		return nil
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if !json.Valid(data) {
		if fr.name == "error" {
			return d.fault(parseFault(data))
		}
		if fr.last {
			return nil
		}
		return d.broken(data)
	}
	return d.chunk(fr.name, data)
}

// broken tells of an event that is no JSON. What it holds is quoted only where it cannot be a part of a reply.
func (d *decoder) broken(data []byte) error {
	if d.seen || data[0] == '{' || data[0] == '[' {
		return notJSON()
	}
	return alien(d.clean(string(data[:min(len(data), maxStray)])))
}

// chunk takes in one JSON value.
func (d *decoder) chunk(name string, data []byte) error {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	var c wireChunk
	var mistyped *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &c); err != nil && !errors.As(err, &mistyped) {
		return notJSON()
	}
	switch {
	case name == "error", c.Object == "error", c.Type == "error", meansError(c.Error):
		return d.fault(parseFault(data))
	case meansError(c.Groq.Error):
		return d.fault(parseFault(c.Groq.Error))
	case string(data) == "null":
		return nil
	case data[0] != '{': // a bare string or a list around an error
		if f := parseFault(data); f.told || data[0] == '"' {
			return d.fault(f)
		}
		return alien("")
	case c.Choices == nil && c.Usage == nil && c.Model == "":
		if f := parseFault(data); f.message != "" && f.told {
			return d.fault(f)
		}
		return nil
	}
	d.seen = true
	if c.Model != "" {
		d.model = strings.ToValidUTF8(c.Model, "\uFFFD")
	}
	d.use(c.Usage)
	d.use(c.Groq.Usage)
	if c.Choices == nil {
		return nil
	}
	for i := range *c.Choices {
		if err := d.choice(&(*c.Choices)[i]); err != nil {
			return err
		}
	}
	return nil
}

// choice takes in one choice. Only the first alternative is asked for and read.
func (d *decoder) choice(c *wireChoice) error {
	if c.Index != 0 {
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
	if c.Finish == "error" {
		return d.fault(fault{message: "the server broke the reply off"})
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

// finishOf maps the spellings of the reasons that the runtime must not miss.
func finishOf(s string) llm.Finish {
	switch strings.ToLower(s) {
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return llm.FinishLength
	case "content_filter", "safety", "content_filtered":
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
	if err := d.say(w.Content.text + w.Refusal.text); err != nil {
		return err
	}
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
	for _, p := range list {
		if err := d.grow(len(p.args) + len(p.name) + len(p.id)); err != nil {
			return err
		}
	}
	return d.calls.add(list, func(c llm.CallDelta) error { return d.out(llm.Chunk{CallDelta: &c}) })
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
	if text = d.reasoning.add(text); text == "" {
		return nil
	}
	if err := d.grow(len(text)); err != nil {
		return err
	}
	d.thoughts.WriteString(text)
	return d.out(llm.Chunk{Reasoning: text})
}

func (d *decoder) say(s string) error {
	text := d.text.add(s)
	if text == "" {
		return nil
	}
	if err := d.grow(len(text)); err != nil {
		return err
	}
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
	return f.err(0, d.clean)
}

// done closes the reply.
func (d *decoder) done() (*llm.Done, error) {
	if rest := d.reasoning.flush(); rest != "" {
		d.thoughts.WriteString(rest)
		if err := d.out(llm.Chunk{Reasoning: rest}); err != nil {
			return nil, err
		}
	}
	if rest := d.text.flush(); rest != "" {
		if err := d.out(llm.Chunk{Text: rest}); err != nil {
			return nil, err
		}
	}
	list, err := d.calls.finish()
	if err != nil {
		return nil, err
	}
	if d.thoughts.Len() > 0 && d.field != "content" {
		if raw, err := marshal(d.thoughts.String()); err == nil {
			d.keep(d.field, raw)
		}
	}
	if raw, err := marshal(d.origin); err == nil && len(d.extra) > 0 {
		d.keep(originField, raw)
	}
	return &llm.Done{Finish: llm.Finish(d.finish), ToolCalls: list, Usage: known(d.usage), Model: d.model, Extra: encodeExtra(d.extra)}, nil
}
