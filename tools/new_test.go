package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	reference "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func TestSchema(t *testing.T) {
	got := string(echo[wideIn]("wide", ReadOnly).Schema())
	want := `{"type":"object","properties":{` +
		`"id":{"type":"integer","minimum":-5,"maximum":100},"done":{"type":"boolean"},"ratio":{"type":"number"},` +
		`"kind":{"type":"string","enum":["red","green"]},"level":{"type":"integer","enum":[1,2]},` +
		`"items":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false},"minItems":1,"maxItems":3},` +
		`"tags":{"type":"object","additionalProperties":{"type":"integer"}},"any":true,"note":{"type":"string"},` +
		`"pair":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},"byte":{"type":"integer","minimum":0,"maximum":255}},` +
		`"required":["id"],"additionalProperties":false}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := string(echo[noIn]("none", ReadOnly).Schema()); got != `{"type":"object","additionalProperties":false}` {
		t.Errorf("no arguments: %s", got)
	}
	if got := string(echo[pathIn]("p", ReadOnly).Schema()); !strings.Contains(got, `"description":"where"`) {
		t.Errorf("no description in %s", got)
	}
	tool := echo[pathIn]("p", ReadOnly)
	tool.Schema()[0] = 'X'
	if tool.Schema()[0] != '{' {
		t.Error("a caller changed the schema")
	}
}

func TestNewPanics(t *testing.T) {
	type cyclic struct {
		Next *cyclic `json:"next,omitempty"`
	}
	for name, f := range map[string]func(){
		"no struct": func() { echo[string]("x", ReadOnly) },
		"cycle":     func() { echo[cyclic]("x", ReadOnly) },
		"channel":   func() { echo[struct{ C chan int }]("x", ReadOnly) },
		"bytes":     func() { echo[struct{ B []byte }]("x", ReadOnly) },
		"raw":       func() { echo[struct{ M map[string]json.RawMessage }]("x", ReadOnly) },
		"string option": func() {
			echo[struct {
				I int `json:"i,string"`
			}]("x", ReadOnly)
		},
		"bad limit": func() {
			echo[struct {
				I int `min:"x"`
			}]("x", ReadOnly)
		},
		"limit for other": func() {
			echo[struct {
				S string `min:"1"`
			}]("x", ReadOnly)
		},
		"length of int": func() {
			echo[struct {
				I int `maxlen:"1"`
			}]("x", ReadOnly)
		},
		"enum of bool": func() {
			echo[struct {
				B bool `enum:"true"`
			}]("x", ReadOnly)
		},
		"enum no number": func() {
			echo[struct {
				I int `enum:"one"`
			}]("x", ReadOnly)
		},
		"nested":      func() { echo[struct{ A []struct{ B []byte } }]("x", ReadOnly) },
		"name":        func() { echo[noIn]("a b", ReadOnly) },
		"no name":     func() { echo[noIn]("", ReadOnly) },
		"effect":      func() { echo[noIn]("x", "maybe") },
		"no probe":    func() { echo[noIn]("x", Probeable) },
		"no function": func() { New[noIn]("x", "", ReadOnly, nil) },
		"other probe": func() {
			echo[noIn]("x", ReadOnly, WithProbe(func(context.Context, Call, pathIn) (Output, bool, error) { return Output{}, false, nil }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if v := recover(); v == nil || !strings.HasPrefix(fmt.Sprint(v), "tool ") {
					t.Errorf("panic: %v", v)
				}
			}()
			f()
		})
	}
}

func TestCheck(t *testing.T) {
	tool := echo[wideIn]("wide", ReadOnly)
	for _, tt := range []struct{ args, want string }{
		{`{"id":1}`, `{"id":1}`},
		{`{"done":true,"id":1}`, `{"done":true,"id":1}`},
		// B089: coercion only where nothing is lost.
		{`{"id":1,"done":"true"}`, `{"done":true,"id":1}`},
		{`{"id":1,"done":"false"}`, `{"done":false,"id":1}`},
		{`{"id":"1"}`, `{"id":1}`},
		{`{"id":"-1"}`, `{"id":-1}`},
		{`{"id":1.0}`, `{"id":1}`},
		{`{"id":1e2}`, `{"id":100}`},
		{`{"id":"1.0"}`, `{"id":1}`},
		{`{"id":1,"ratio":"2.5"}`, `{"id":1,"ratio":2.5}`},
		{`{"id":1,"ratio":3}`, `{"id":1,"ratio":3}`},
		{`{"id":1,"note":null,"kind":null}`, `{"id":1}`},
		{`{"id":1,"level":2.0}`, `{"id":1,"level":2}`},
		// B052: a string for an array field.
		{`{"id":1,"items":"[{\"text\":\"a\"}]"}`, `{"id":1,"items":[{"text":"a"}]}`},
		{`{"id":1,"any":"[1]"}`, `{"id":1,"any":"[1]"}`},
		{`{"id":1,"note":"[1]"}`, `{"id":1,"note":"[1]"}`},
		{`{"id":1,"note":"12"}`, `{"id":1,"note":"12"}`},
		{`{"id":1,"any":null}`, `{"id":1,"any":null}`},
		{`{"id":1,"any":{"x":[1.0]}}`, `{"id":1,"any":{"x":[1.0]}}`},
		{`{"id":1,"tags":{"a":"1"}}`, `{"id":1,"tags":{"a":1}}`},
	} {
		got, err := Check(tool, json.RawMessage(tt.args))
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.args, got, tt.want)
		}
		if _, err := runTool(t, tool, tt.args); err != nil {
			t.Errorf("%s does not run: %v", tt.args, err)
		}
		if again, err := Check(tool, got); err != nil || string(again) != string(got) {
			t.Errorf("%s is not stable: %s %v", got, again, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	tool := echo[wideIn]("wide", ReadOnly)
	for _, tt := range []struct {
		args, field, expected string
		message               []string
	}{
		{`{}`, "id", "integer", []string{`field "id" is required (integer) and missing`}}, // B046
		{`{"id":null}`, "id", "integer", []string{`expected integer, received null`}},     // B089
		{`{"id":"x"}`, "id", "integer", []string{`received "x"`}},
		{`{"id":" 1"}`, "id", "integer", nil},
		{`{"id":""}`, "id", "integer", nil},
		{`{"id":"0x10"}`, "id", "integer", nil},
		{`{"id":1.5}`, "id", "integer", []string{"received 1.5"}},
		{`{"id":"1.5"}`, "id", "integer", nil},
		{`{"id":1.00000000000000000001}`, "id", "integer", nil},
		{`{"id":1e400}`, "id", "integer", nil},
		{`{"id":1e99999999999}`, "id", "integer", nil},
		{`{"id":0.` + strings.Repeat("0", 200) + `}`, "id", "integer", nil},
		{`{"id":true}`, "id", "integer", []string{"received true"}},
		{`{"id":1,"ratio":1e999}`, "ratio", "", []string{"64-bit"}},
		{`{"id":1,"done":"yes"}`, "done", "boolean", []string{`received "yes"`}},
		{`{"id":1,"done":1}`, "done", "boolean", nil},
		{`{"id":-6}`, "id", "at least -5", nil},
		{`{"id":101}`, "id", "at most 100", nil},
		{`{"id":1,"kind":"blue"}`, "kind", `one of "red", "green"`, []string{`received "blue"`}},
		{`{"id":1,"level":3}`, "level", "one of 1, 2", nil},
		{`{"id":1,"kind":12}`, "kind", "string", nil},
		// B052
		{`{"id":1,"items":"[{\"text\":\"a\"}"}`, "items", "array", []string{"received"}},
		{`{"id":1,"items":"{\"text\":\"a\"}"}`, "items", "array", nil},
		{`{"id":1,"items":"a"}`, "items", "array", nil},
		{`{"id":1,"items":{"text":"a"}}`, "items", "array", []string{"an object of 1 fields"}},
		{`{"id":1,"items":[]}`, "items", "at least 1 items", nil},
		{`{"id":1,"items":[{"text":"a"},{"text":"b"},{"text":"c"},{"text":"d"}]}`, "items", "at most 3 items", nil},
		{`{"id":1,"items":[{"text":"a"},{"text":7}]}`, "items[1].text", "string", []string{`"items[1].text"`}},
		{`{"id":1,"items":[null]}`, "items[0]", "object", nil},
		{`{"id":1,"items":[{"text":null}]}`, "items[0].text", "string", nil},
		{`{"id":1,"pair":[1]}`, "pair", "at least 2 items", nil},
		{`{"id":1,"tags":{"a":[1,2]}}`, "tags.a", "integer", []string{"an array of 2 items"}},
		{`{"id":1,"byte":256}`, "byte", "at most 255", nil},
		{`{"id":1,"color":"red","shape":1}`, "color", "", []string{`field "color" is unknown; the fields are id, done, ratio`, `"shape"`}},
		{`{"ID":1}`, "id", "integer", []string{`"ID" is unknown`}},
		// All problems are told, and the text stays safe.
		{`{"id":"x","done":5,"kind":"blue"}`, "done", "boolean", []string{`"id"`, `"done"`, `"kind"`}},
		{`{"id":1,"\u001b[31mevil\u202e":1}`, "evil", "", []string{`"evil"`}},
	} {
		_, err := Check(tool, json.RawMessage(tt.args))
		if err == nil {
			t.Errorf("%s accepted", tt.args)
			continue
		}
		if err.Code != CodeInvalidArgument || err.Field != tt.field || tt.expected != "" && err.Expected != tt.expected {
			t.Errorf("%s: %+v", tt.args, err)
		}
		for _, m := range tt.message {
			if !strings.Contains(err.Message, m) {
				t.Errorf("%s: message %q lacks %q", tt.args, err.Message, m)
			}
		}
		if _, e := runTool(t, tool, tt.args); e == nil || e.Code != CodeInvalidArgument {
			t.Errorf("%s runs: %v", tt.args, e)
		}
	}
	if _, err := Check(tool, json.RawMessage(`{`)); err == nil || err.Code != CodeMalformedArguments {
		t.Errorf("broken JSON: %v", err)
	}
	if _, err := Check(tool, json.RawMessage(`[]`)); err == nil || !strings.Contains(err.Message, "the arguments: expected object") {
		t.Errorf("no object: %v", err)
	}
	many := `{"id":1` + strings.Repeat(`,"x%d":1`, 0)
	for i := range 30 {
		many += fmt.Sprintf(`,"x%d":1`, i)
	}
	if _, err := Check(tool, json.RawMessage(many+"}")); err == nil || !strings.Contains(err.Message, "and 22 more") {
		t.Errorf("many problems: %v", err)
	}
	if _, err := Check(echo[noIn]("none", ReadOnly), json.RawMessage(`{"a":1}`)); err == nil || !strings.Contains(err.Message, "no fields are taken") {
		t.Errorf("no fields: %v", err)
	}
}

// What a field of any type holds is its own affair, at any depth.
func TestAnythingAtAnyDepth(t *testing.T) {
	for _, args := range []string{`{"id":1,"any":{"":{"":0}}}`, `{"id":1,"any":[{"a":{"b":{"c":[]}}}]}`} {
		if got, err := Check(echo[wideIn]("wide", ReadOnly), json.RawMessage(args)); err != nil || string(got) != args {
			t.Errorf("%s: %s %v", args, got, err)
		}
	}
}

func TestNumbersThatDoNotFit(t *testing.T) {
	type in struct {
		N int64     `json:"n"`
		T time.Time `json:"t,omitzero"`
	}
	tool := echo[in]("n", ReadOnly)
	_, err := runTool(t, tool, `{"n":9223372036854775808}`)
	if err == nil || err.Code != CodeInvalidArgument || err.Field != "n" {
		t.Errorf("out of range: %v", err)
	}
	_, err = runTool(t, tool, `{"n":1,"t":"noon"}`)
	if err == nil || err.Code != CodeInvalidArgument {
		t.Errorf("no time: %v", err)
	}
	if _, err := runTool(t, tool, `{"n":9223372036854775807,"t":"2024-05-06T07:08:09Z"}`); err != nil {
		t.Error(err)
	}
}

// Where our checker accepts a value as it is, the reference does, and the other way round.
func TestCheckAgreesWithReference(t *testing.T) {
	tool := echo[wideIn]("wide", ReadOnly)
	doc, err := reference.UnmarshalJSON(bytes.NewReader(tool.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := reference.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	ref, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	names := rapid.SampledFrom([]string{"id", "done", "ratio", "kind", "level", "items", "tags", "any", "note", "pair", "byte", "other"})
	value := rapid.OneOf(
		rapid.SampledFrom([]any{"red", "green", "", 1, 2, 3, 300, -7, true, false, []any{1, 2}, []any{map[string]any{"text": "a"}}, map[string]any{"a": 1}, 1.5}),
		jsonValue(2))
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.MapOfN(names, value, 0, 6).Draw(rt, "args")
		if rapid.Bool().Draw(rt, "with id") {
			v["id"] = 5
		}
		text, err := json.Marshal(v)
		if err != nil {
			rt.Fatal(err)
		}
		inst, err := reference.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			rt.Fatal(err)
		}
		refErr := ref.Validate(inst)
		got, e := Check(tool, text)
		switch {
		case e != nil && refErr == nil:
			rt.Fatalf("%s: only we refuse: %v", text, e)
		case e == nil && refErr != nil && bytes.Equal(got, text):
			rt.Fatalf("%s: only the reference refuses: %v", text, refErr)
		case e == nil:
			// What was put in another spelling satisfies the reference too.
			inst, err := reference.UnmarshalJSON(bytes.NewReader(got))
			if err != nil {
				rt.Fatal(err)
			}
			if err := ref.Validate(inst); err != nil {
				rt.Fatalf("%s became %s: %v", text, got, err)
			}
		}
	})
}

func TestRunErrors(t *testing.T) {
	boom := &Error{Code: CodeNotFound, Message: "gone"}
	for _, tt := range []struct {
		name string
		give error
		want error
	}{
		{"none", nil, nil},
		{"own", boom, boom},
		{"wrapped", fmt.Errorf("look: %w", boom), boom},
		{"nil in an interface", (*Error)(nil), nil},
		{"other", errors.New("disk\x1b[31m on\nfire"), &Error{Code: CodeInternal, Message: "disk on fire"}},
		{"cancel without cause", context.Canceled, &Error{Code: CodeInternal, Message: "context canceled"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := New("x", "", ReadOnly, func(context.Context, Call, noIn) (Output, error) { return Output{}, tt.give })
			_, err := tool.Run(t.Context(), Call{}, json.RawMessage("{}"))
			if diff := cmp.Diff(tt.want, err); diff != "" {
				t.Error(diff)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tool := New("x", "", ReadOnly, func(ctx context.Context, c Call, _ noIn) (Output, error) {
		c.Progress("is never nil")
		return Output{}, fmt.Errorf("read: %w", ctx.Err())
	})
	if _, err := tool.Run(ctx, Call{}, json.RawMessage("{}")); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

func TestProbe(t *testing.T) {
	tool := echo[pathIn]("p", Probeable, WithDeadline(time.Second), WithProbe(func(_ context.Context, c Call, in pathIn) (Output, bool, error) {
		c.Progress("looking")
		return Output{Data: in.Path}, in.Path == "there", nil
	}))
	if tool.Deadline() != time.Second || tool.Effect() != Probeable || tool.Name() != "p" || tool.Description() == "" {
		t.Error("the options are lost")
	}
	for _, tt := range []struct {
		args    string
		ran, ok bool
	}{{`{"path":"there"}`, true, true}, {`{"path":"x"}`, false, true}, {`{}`, false, true}} {
		_, ran, ok, err := tool.Probe(t.Context(), Call{}, json.RawMessage(tt.args))
		if ran != tt.ran || ok != tt.ok || err != nil {
			t.Errorf("%s: %v %v %v", tt.args, ran, ok, err)
		}
	}
	if _, _, ok, _ := echo[noIn]("x", SideEffect).Probe(t.Context(), Call{}, nil); ok {
		t.Error("a tool without a probe can tell")
	}
}

// foreignTool implements Tool by itself, as a tool of another protocol would.
type foreignTool struct{ Tool }

func (foreignTool) Name() string            { return "foreign" }
func (foreignTool) Schema() json.RawMessage { return json.RawMessage(`{"required":["a\u001b[1m"]}`) }

func TestForeignTool(t *testing.T) {
	f := foreignTool{echo[noIn]("x", ReadOnly)}
	if got, err := Check(f, json.RawMessage(`{"a":1}`)); err != nil || string(got) != `{"a":1}` {
		t.Errorf("%s %v", got, err)
	}
	if got := Takes(f); got != `one JSON object with the required keys "a"` {
		t.Error(got)
	}
	if got := Takes(echo[noIn]("x", ReadOnly)); got != "one JSON object, no required keys" {
		t.Error(got)
	}
}

func TestPreview(t *testing.T) {
	tool := echo[pathIn]("p", SideEffect, WithPreview(func(_ context.Context, call Call, in pathIn) (string, error) {
		call.Progress("looking")
		if in.Content == "no" {
			return "", errors.New("disk on fire")
		}
		return "+ " + in.Path, nil
	}))
	show := func(tool Tool, args string) (string, error) {
		return tool.(Previewer).Preview(t.Context(), Call{}, json.RawMessage(args))
	}
	if got, err := show(tool, `{"path":"a"}`); got != "+ a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for args, code := range map[string]Code{`{}`: CodeInvalidArgument, `{"path":"a","content":"no"}`: CodeInternal} {
		var e *Error
		if _, err := show(tool, args); !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v", args, err)
		}
	}
	if got, err := show(echo[pathIn]("q", ReadOnly), `{"path":"a"}`); got != "" || err != nil {
		t.Errorf("without a preview: %q, %v", got, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a preview of other arguments is taken")
		}
	}()
	echo[pathIn]("r", ReadOnly, WithPreview(func(context.Context, Call, noIn) (string, error) { return "", nil }))
}
