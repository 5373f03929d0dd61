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
	"vitrine/llm/profile"
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
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
}

// decoder assembles one reply from a stream.
type decoder struct {
	tell    func(llm.Chunk) bool
	onEnd   func() // called once, when the reason for the end has come and only usage may follow
	dialect *dialect
	request *llm.Request
	clean   func(string) string
	window  func(model string) int // as the server lists it, 0 when that is not known; nil knows none
	slow    bool                   // take no short way, for the tests that compare
	short   int                    // events that took it

	text, reasoning joiner
	tags            tags
	leaks           leakFinder
	thoughts        strings.Builder
	forgot          bool // the reasoning is too long to be kept
	said, deltas    int  // bytes of text; pieces of a reply
	details         details
	scan            scanner
	form            form
	field           string // the field that brings the reasoning
	calls           *calls
	growth          func(llm.CallDelta) error
	extra           map[string]json.RawMessage
	usage           llm.Usage
	model           string
	finish          string
	size            int
	seen            bool // a chunk was decoded
	told            bool // something was told since the event began
	choiceAt        int  // the number of the choice that is read
	chosen          bool // it is known
	stray           []byte
	multi           bool // stray is more than one line
	alien           bool // there was JSON that belongs to no event
}

// decode reads src to the end of the reply and gives its last chunk. Errors are *llm.Error, errStopped, or those of src
// wrapped in *readError.
func (d *decoder) decode(src io.Reader) (*llm.Done, error) {
	d.begin()
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

// begin sets what a decoder needs.
func (d *decoder) begin() {
	d.calls = newCalls()
	d.growth = func(c llm.CallDelta) error { return d.out(llm.Chunk{CallDelta: &c}) }
	if d.dialect == nil {
		d.dialect = &dialect{}
	}
	if d.request == nil {
		d.request = &llm.Request{}
	}
	d.tags.off, d.tags.early, d.tags.may = !d.dialect.ThinkTags, d.dialect.StartsThinking, d.dialect.MayThink
	if d.tags.opens = d.request.Openings; d.request.Schema != nil {
		d.tags.opens = jsonOpens
	}
	d.leaks.parse = d.dialect.TextCalls == profile.TextCallsParse && len(d.request.Tools) > 0
	d.leaks.bare = len(d.request.Tools) > 0 && d.request.Schema == nil
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
	if fr.name == "" {
		if taken, err := d.quick(data); taken {
			return err
		}
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
