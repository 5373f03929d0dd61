package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Option changes a tool that New makes.
type Option func(*settings)

type settings struct {
	deadline time.Duration
	retries  *int
	// probe is a func(context.Context, Call, In) (Output, bool, error); In is not known here.
	probe any
	// preview is a func(context.Context, Call, In) (string, error).
	preview any
}

// WithDeadline bounds one attempt; the executor's default holds otherwise.
func WithDeadline(d time.Duration) Option { return func(s *settings) { s.deadline = d } }

// WithRetry says how many times the executor tries again after a transient error, 0 never. It has a meaning only for effects
// that may run again.
func WithRetry(n int) Option { return func(s *settings) { s.retries = &n } }

// WithProbe gives the tool a function that finds out what became of a call: ran is false when it has had no effect, else out
// is its output. In must be the tool's.
func WithProbe[In any](probe func(ctx context.Context, call Call, in In) (out Output, ran bool, err error)) Option {
	return func(s *settings) { s.probe = probe }
}

// WithPreview gives the tool a function that says what a call would do without doing it, as Previewer describes. In must be the
// tool's.
func WithPreview[In any](preview func(ctx context.Context, call Call, in In) (string, error)) Option {
	return func(s *settings) { s.preview = preview }
}

// New makes a tool from a typed function. The JSON Schema of the arguments comes from In, a struct: names and optional fields
// (omitempty, omitzero) from its json tags, the description of a field from its jsonschema tag, and limits from the tags
// enum:"a,b", min, max, minlen, maxlen, minitems and maxitems; fields that are not declared are refused. New panics when In
// has no usable schema, because no program can go on without one of its tools.
//
// fn gets checked arguments. It may be called at the same time from several goroutines, honours ctx, and returns *Error for a
// failure that the model should act on; any other error becomes CodeInternal.
func New[In any](name, description string, effect Effect, fn func(context.Context, Call, In) (Output, error), opts ...Option) Tool {
	t := &typed[In]{name: name, description: description, effect: effect, fn: fn}
	for _, o := range opts {
		o(&t.settings)
	}
	fail := func(format string, args ...any) {
		panic("tool " + name + ": " + fmt.Sprintf(format, args...))
	}
	switch effect {
	case ReadOnly, OwnData, Idempotent, Probeable, SideEffect:
	default:
		fail("unknown effect %q", effect)
	}
	if !validName(name) {
		fail("a name is 1 to 64 of a-z A-Z 0-9 _ -")
	}
	if fn == nil {
		fail("no function")
	}
	if t.settings.probe != nil {
		var ok bool
		if t.probe, ok = t.settings.probe.(func(context.Context, Call, In) (Output, bool, error)); !ok {
			fail("the probe takes other arguments: %T", t.settings.probe)
		}
	}
	if t.settings.preview != nil {
		var ok bool
		if t.preview, ok = t.settings.preview.(func(context.Context, Call, In) (string, error)); !ok {
			fail("the preview takes other arguments: %T", t.settings.preview)
		}
	}
	if effect == Probeable && t.probe == nil {
		fail("a probeable tool needs WithProbe")
	}
	var err error
	if t.schema, t.root, err = schemaOf(reflect.TypeFor[In]()); err != nil {
		fail("%v", err)
	}
	return t
}

// typed is what New makes.
type typed[In any] struct {
	name, description string
	effect            Effect
	fn                func(context.Context, Call, In) (Output, error)
	probe             func(context.Context, Call, In) (Output, bool, error)
	preview           func(context.Context, Call, In) (string, error)
	settings          settings
	schema            json.RawMessage
	root              *node
}

func (t *typed[In]) Name() string            { return t.name }
func (t *typed[In]) Description() string     { return t.description }
func (t *typed[In]) Schema() json.RawMessage { return append(json.RawMessage(nil), t.schema...) }
func (t *typed[In]) Effect() Effect          { return t.effect }
func (t *typed[In]) Deadline() time.Duration { return t.settings.deadline }
func (t *typed[In]) retries() *int           { return t.settings.retries }

// check compares args with the schema and gives them in the spelling that the schema has.
func (t *typed[In]) check(args json.RawMessage) (json.RawMessage, *Error) {
	v, err := decodeJSON(args)
	if err != nil {
		return nil, &Error{Code: CodeMalformedArguments, Message: "invalid JSON arguments: " + CleanLine(err.Error(), 200)}
	}
	var c checker
	v = c.check(t.root, v, "")
	if e := c.err(); e != nil {
		return nil, e
	}
	if !c.changed {
		return args, nil
	}
	b, err := encodeJSON(v)
	if err != nil {
		return nil, &Error{Code: CodeInternal, Message: CleanLine(err.Error(), 200)}
	}
	return b, nil
}

// arguments gives the checked arguments as In.
func (t *typed[In]) arguments(args json.RawMessage) (in In, _ *Error) {
	args, e := t.check(args)
	if e != nil {
		return in, e
	}
	err := json.Unmarshal(args, &in)
	var ut *json.UnmarshalTypeError
	if errors.As(err, &ut) {
		return in, &Error{Code: CodeInvalidArgument, Field: CleanLine(ut.Field, 200), Expected: ut.Type.String(),
			Message: fmt.Sprintf("%s: %s does not fit into %s", place(ut.Field), CleanLine(ut.Value, 60), ut.Type)}
	}
	if err != nil {
		return in, &Error{Code: CodeInvalidArgument, Message: CleanLine(err.Error(), 200)}
	}
	return in, nil
}

// Run is described at Tool.
func (t *typed[In]) Run(ctx context.Context, call Call, args json.RawMessage) (Output, error) {
	in, e := t.arguments(args)
	if e != nil {
		return Output{}, e
	}
	if call.Progress == nil {
		call.Progress = func(string) {}
	}
	out, err := t.fn(ctx, call, in)
	return out, foreign(ctx, err)
}

// Probe is described at Tool.
func (t *typed[In]) Probe(ctx context.Context, call Call, args json.RawMessage) (out Output, ran, ok bool, err error) {
	if t.probe == nil {
		return Output{}, false, false, nil
	}
	in, e := t.arguments(args)
	if e != nil {
		// Arguments that the tool refuses have never run.
		return Output{}, false, true, nil
	}
	if call.Progress == nil {
		call.Progress = func(string) {}
	}
	out, ran, err = t.probe(ctx, call, in)
	return out, ran, true, foreign(ctx, err)
}

// Preview is described at Previewer.
func (t *typed[In]) Preview(ctx context.Context, call Call, args json.RawMessage) (string, error) {
	in, e := t.arguments(args)
	if e != nil {
		return "", e
	}
	if t.preview == nil {
		return "", nil
	}
	if call.Progress == nil {
		call.Progress = func(string) {}
	}
	text, err := t.preview(ctx, call, in)
	return text, foreign(ctx, err)
}

// foreign gives the error of a tool's function as Tool.Run promises it.
func foreign(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if e == nil {
			return nil // a nil *Error in an error variable
		}
		return e
	}
	if cause := ctx.Err(); cause != nil && errors.Is(err, cause) {
		return cause
	}
	return &Error{Code: CodeInternal, Message: CleanLine(err.Error(), maxMessage)}
}

// Check compares arguments with the tool's schema without running it and gives them as they will run: the same bytes, or the
// schema's spelling where the model wrote a number, a boolean or an array as a string, or 1.0 for 1, or null for a field that
// may be left out. An array is taken from a string only when the string is one JSON array. Run does the same by itself;
// Check is for storing and showing beforehand what will run.
func Check(t Tool, args json.RawMessage) (json.RawMessage, *Error) {
	c, ok := t.(interface {
		check(json.RawMessage) (json.RawMessage, *Error)
	})
	if !ok {
		return args, nil
	}
	checked, e := c.check(args)
	if e != nil {
		return nil, e
	}
	return checked, nil
}

// Takes says in one line what arguments a tool takes, for errors about arguments that could not be read.
func Takes(t Tool) string {
	var s struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(t.Schema(), &s); err != nil {
		return "one JSON object"
	}
	if len(s.Required) == 0 {
		return "one JSON object, no required keys"
	}
	quoted := make([]string, len(s.Required))
	for i, k := range s.Required {
		quoted[i] = fmt.Sprintf("%q", CleanLine(k, 60))
	}
	return CleanLine("one JSON object with the required keys "+strings.Join(quoted, ", "), 400)
}
