package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pelletier/go-toml/v2"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

// Script is a script read from a file.
type Script struct {
	// Strict is whether the client should check each history.
	Strict bool
	Steps  []Step
}

// Client makes a client that plays the script.
func (s Script) Client(clk clock.Clock) *Client {
	c := New(clk, s.Steps...)
	if s.Strict {
		c.Strict()
	}
	return c
}

// ParseError is a fault of a script file. Line and Column count from 1, in bytes.
type ParseError struct {
	File         string
	Line, Column int
	Message      string
}

// Error is "file:line:column: message".
func (e *ParseError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Load reads a script file.
func Load(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a script; name is the file's name for errors, which are *ParseError.
func Parse(name string, data []byte) (Script, error) {
	var f scriptFile
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Script{}, DecodeError(name, err)
	}
	out := Script{Strict: f.Strict}
	for i, fs := range f.Step {
		step, key, err := fs.Step()
		if err != nil {
			line, column := Position(data, i, "step", key)
			return Script{}, &ParseError{File: name, Line: line, Column: column, Message: err.Error()}
		}
		out.Steps = append(out.Steps, step)
	}
	return out, nil
}

// scriptFile is the file as written.
type scriptFile struct {
	Strict bool       `toml:"strict"`
	Step   []FileStep `toml:"step"`
}

// FileStep is one step as a file has it; other scripts hold such steps among their own tables.
type FileStep struct {
	When      string     `toml:"when,omitempty"`
	Times     *int       `toml:"times,omitempty"`
	Forever   bool       `toml:"forever,omitempty"`
	Reasoning string     `toml:"reasoning,multiline,omitempty"`
	Text      string     `toml:"text,multiline,omitempty"`
	Deltas    []string   `toml:"deltas,omitempty"`
	Calls     []FileCall `toml:"calls,omitempty"`
	ChunkSize *int       `toml:"chunk_size,omitempty"`
	Delay     Duration   `toml:"delay,omitempty"`
	Pace      Duration   `toml:"pace,omitempty"`
	Finish    string     `toml:"finish,omitempty"`
	Usage     *FileUsage `toml:"usage,omitempty"`
	Model     string     `toml:"model,omitempty"`
	Fail      *FileError `toml:"fail,omitempty"`
	FailAfter *int       `toml:"fail_after,omitempty"`
	CutAfter  *int       `toml:"cut_after,omitempty"`
	HangAfter *int       `toml:"hang_after,omitempty"`
}

// FileCall is a call of a step.
type FileCall struct {
	ID   string `toml:"id,omitempty"`
	Name string `toml:"name"`
	// Args is a table, or a string that is sent as it is.
	Args any `toml:"args"`
}

// FileUsage is what a step says that it used.
type FileUsage struct {
	Prompt     *int `toml:"prompt,omitempty"`
	Completion *int `toml:"completion,omitempty"`
	Cached     *int `toml:"cached,omitempty"`
	Reasoning  *int `toml:"reasoning,omitempty"`
}

// FileError is what a step fails with.
type FileError struct {
	Kind       string   `toml:"kind"`
	Status     int      `toml:"status,omitempty"`
	Host       string   `toml:"host,omitempty"`
	Message    string   `toml:"message"`
	RetryAfter Duration `toml:"retry_after,omitempty"`
	Retryable  bool     `toml:"retryable,omitempty"`
}

// Duration is written as Go writes it: "200ms".
type Duration string

// long is how long it is; nothing is no time.
func (d Duration) long() (time.Duration, error) {
	if d == "" {
		return 0, nil
	}
	v, err := time.ParseDuration(string(d))
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%q is no duration such as \"200ms\"", string(d))
	}
	return v, nil
}

// errorKinds are the kinds that package llm knows.
func errorKinds() []llm.ErrorKind {
	return []llm.ErrorKind{llm.ErrConnect, llm.ErrTimeout, llm.ErrCut, llm.ErrRate, llm.ErrQuota, llm.ErrAuth,
		llm.ErrNotFound, llm.ErrContext, llm.ErrNoTools, llm.ErrRejected, llm.ErrServer, llm.ErrProtocol, llm.ErrTooLarge, llm.ErrExhausted}
}

// KnownError says that a script may fail with that kind.
func KnownError(k llm.ErrorKind) bool { return slices.Contains(errorKinds(), k) }

// Step gives the step, or what is wrong with it and under which key.
func (f FileStep) Step() (s Step, key string, err error) {
	if key, err := f.conflict(); err != nil {
		return Step{}, key, err
	}
	s = Step{when: f.When, reasoning: f.Reasoning, text: f.Text, deltas: f.Deltas, finish: llm.Finish(f.Finish), model: f.Model}
	if s.delay, err = f.Delay.long(); err != nil {
		return Step{}, "delay", err
	}
	if s.pace, err = f.Pace.long(); err != nil {
		return Step{}, "pace", err
	}
	if f.Times != nil {
		s.times = *f.Times
	}
	if f.Forever {
		s.times = -1
	}
	if f.ChunkSize != nil {
		s = s.ChunkSize(*f.ChunkSize)
	}
	if f.Usage != nil {
		s.usage = llm.Usage{Prompt: f.Usage.Prompt, Completion: f.Usage.Completion, Cached: f.Usage.Cached, Reasoning: f.Usage.Reasoning}
	}
	for _, c := range f.Calls {
		call, err := c.call()
		if err != nil {
			return Step{}, "calls", err
		}
		s.calls = append(s.calls, call)
	}
	switch {
	case f.Fail != nil:
		after := 0
		if f.FailAfter != nil {
			after = *f.FailAfter
		}
		wait, err := f.Fail.RetryAfter.long()
		if err != nil {
			return Step{}, "fail", err
		}
		s = s.FailAfter(after, &llm.Error{Kind: llm.ErrorKind(f.Fail.Kind), Status: f.Fail.Status, Host: f.Fail.Host,
			Message: f.Fail.Message, RetryAfter: wait, Retryable: f.Fail.Retryable})
	case f.CutAfter != nil:
		s = s.Cut(*f.CutAfter)
	case f.HangAfter != nil:
		s = s.HangAfter(*f.HangAfter)
	}
	return s, "", nil
}

// conflict finds keys that contradict each other or hold a value without meaning.
func (f FileStep) conflict() (key string, err error) {
	for _, c := range []struct {
		key string
		n   *int
		min int
	}{{"times", f.Times, 1}, {"fail_after", f.FailAfter, 0}, {"cut_after", f.CutAfter, 0}, {"hang_after", f.HangAfter, 0}, {"chunk_size", f.ChunkSize, 0}} {
		if c.n != nil && *c.n < c.min {
			return c.key, fmt.Errorf("%s is %d; at least %d is allowed", c.key, *c.n, c.min)
		}
	}
	ends := 0
	for _, set := range []bool{f.Fail != nil, f.CutAfter != nil, f.HangAfter != nil} {
		if set {
			ends++
		}
	}
	switch {
	case f.Text != "" && f.Deltas != nil:
		return "deltas", errors.New("a step has either text or deltas")
	case f.Times != nil && f.Forever:
		return "forever", errors.New("a step has either times or forever")
	case ends > 1:
		return "", errors.New("a step has one of fail, cut_after and hang_after")
	case f.FailAfter != nil && f.Fail == nil:
		return "fail_after", errors.New("fail_after needs fail")
	case f.Fail != nil && !KnownError(llm.ErrorKind(f.Fail.Kind)):
		return "fail", fmt.Errorf("%q is no kind of error; known are %v", f.Fail.Kind, errorKinds())
	}
	return "", nil
}

func (c FileCall) call() (Call, error) {
	out := Call{ID: c.ID, Name: c.Name}
	if c.Name == "" {
		return Call{}, errors.New("a call needs a name")
	}
	switch a := c.Args.(type) {
	case nil:
		out.Args = "{}"
	case string:
		out.Args = a
	default:
		b, err := json.Marshal(a)
		if err != nil {
			return Call{}, fmt.Errorf("args of %s: %w", c.Name, err)
		}
		out.Args = string(b)
	}
	return out, nil
}
