package tools

import (
	"context"
	"encoding/json"
	"fmt"
)

// What the executor asks of a tool beside running a call, within the same bounds: it has the answer when the tool gives it, when the
// time for it is up, or when ctx is done, at the latest after Config.Grace, and a panic is an error. A tool that is deaf to its
// context is left behind.

// Preview says what a call would do, as Previewer does; it is empty for tools that are none. An error of the codes CodeInternal,
// CodeTimeout and CodeInterrupted means that nothing can be told, any other one that the call would be refused.
func (e *Executor) Preview(ctx context.Context, tool Tool, call Call, args json.RawMessage) (string, *Error) {
	p, ok := tool.(Previewer)
	if !ok {
		return "", nil
	}
	limited, cancel := e.clk.WithTimeout(ctx, e.cfg.PreviewDeadline)
	defer cancel()
	text, done, err := within(ctx, limited, e, tool, func() (string, error) { return p.Preview(limited, call, args) })
	switch {
	case ctx.Err() != nil:
		return "", &Error{Code: CodeInterrupted, Message: "interrupted"}
	case !done || err != nil && limited.Err() != nil:
		return "", &Error{Code: CodeTimeout, Message: fmt.Sprintf("the tool did not say it within %s", e.cfg.PreviewDeadline)}
	case err != nil:
		return "", asError(err)
	}
	return text, nil
}

// Probe tells what became of a started call, as Tool.Probe does. An error, or a false ok, means that nobody can tell.
func (e *Executor) Probe(ctx context.Context, tool Tool, call Call, args json.RawMessage) (out Output, ran, ok bool, err error) {
	type answer struct {
		out     Output
		ran, ok bool
	}
	limited, cancel := e.clk.WithTimeout(ctx, e.deadline(tool))
	defer cancel()
	got, done, err := within(ctx, limited, e, tool, func() (a answer, err error) {
		a.out, a.ran, a.ok, err = tool.Probe(limited, call, args)
		return a, err
	})
	if !done {
		return Output{}, false, false, fmt.Errorf("probe a call of %s: no answer within %s", tool.Name(), e.deadline(tool))
	}
	if err != nil {
		return Output{}, false, false, fmt.Errorf("probe a call of %s: %w", tool.Name(), err)
	}
	return got.out, got.ran, got.ok, nil
}
