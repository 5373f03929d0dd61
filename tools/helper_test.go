package tools

import (
	"context"
	"encoding/json"
	"testing"
)

type pathIn struct {
	Path    string `json:"path" jsonschema:"where" minlen:"1" maxlen:"50"`
	Content string `json:"content,omitempty"`
}

type itemIn struct {
	Text string `json:"text"`
}

type wideIn struct {
	ID    int            `json:"id" min:"-5" max:"100"`
	Done  bool           `json:"done,omitempty"`
	Ratio float64        `json:"ratio,omitzero"`
	Kind  string         `json:"kind,omitempty" enum:"red,green"`
	Level int            `json:"level,omitempty" enum:"1,2"`
	Items []itemIn       `json:"items,omitempty" minitems:"1" maxitems:"3"`
	Tags  map[string]int `json:"tags,omitempty"`
	Any   any            `json:"any,omitempty"`
	Note  *string        `json:"note,omitempty"`
	Pair  [2]int         `json:"pair,omitempty"`
	Byte  uint8          `json:"byte,omitempty"`
	Skip  string         `json:"-"`
}

// echo returns what it got.
func echo[In any](name string, effect Effect, opts ...Option) Tool {
	return New(name, "gives back its arguments", effect, func(_ context.Context, _ Call, in In) (Output, error) {
		return Output{Data: in, Summary: "done"}, nil
	}, opts...)
}

type noIn struct{}

func runTool(t *testing.T, tool Tool, args string) (Output, *Error) {
	t.Helper()
	out, err := tool.Run(t.Context(), Call{}, json.RawMessage(args))
	if err == nil {
		return out, nil
	}
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("error of type %T", err)
	}
	return out, e
}
