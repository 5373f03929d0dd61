package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
)

var pointSchema = json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`)

func TestChecks(t *testing.T) {
	call := scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"a"}`})
	failing := scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"fail"}`})
	tests := map[string]struct {
		checks runtime.Checks
		steps  []scripted.Step
		state  string
		answer string
		asked  int
		says   string // in the request that sends the answer back
	}{
		"schema passes":       {runtime.Checks{Schema: pointSchema}, []scripted.Step{scripted.Text(`{"x":1}`)}, "succeeded", `{"x":1}`, 1, ""},
		"schema in a fence":   {runtime.Checks{Schema: pointSchema}, []scripted.Step{scripted.Text("```json\n{\"x\":1}\n```")}, "succeeded", "```json\n{\"x\":1}\n```", 1, ""},
		"schema then passes":  {runtime.Checks{Schema: pointSchema}, []scripted.Step{scripted.Text(`{"x":"1"}`), scripted.Text(`{"x":2}`)}, "succeeded", `{"x":2}`, 2, "JSON schema"},
		"no JSON":             {runtime.Checks{Schema: pointSchema}, []scripted.Step{scripted.Text("the answer is 1"), scripted.Text(`{"x":2}`)}, "succeeded", `{"x":2}`, 2, "one JSON value"},
		"regexp":              {runtime.Checks{Regexp: `^\d+$`}, []scripted.Step{scripted.Text("about 12"), scripted.Text("12")}, "succeeded", "12", 2, `^\d+$`},
		"never passes":        {runtime.Checks{Regexp: `^\d+$`}, []scripted.Step{scripted.Text("no").Times(9)}, "failed", "no", 4, `^\d+$`},
		"tool was called":     {runtime.Checks{Tool: "read"}, []scripted.Step{call, scripted.Text("done")}, "succeeded", "done", 2, ""},
		"tool was not called": {runtime.Checks{Tool: "read"}, []scripted.Step{scripted.Text("done"), call, scripted.Text("now done")}, "succeeded", "now done", 3, "read has to be called"},
		"tool only failed":    {runtime.Checks{Tool: "read"}, []scripted.Step{failing, scripted.Text("done"), call, scripted.Text("now done")}, "succeeded", "now done", 4, "read has to be called"},
		"todo is open":        {runtime.Checks{NoOpenTodo: true}, []scripted.Step{scripted.Calls(scripted.Call{Name: "note", Args: `{"text":"pay"}`}), scripted.Text("done").Times(9)}, "failed", "done", 5, `"pay" is still open`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, tc.steps...)
			b.cfg.Checks = &tc.checks
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "go"); end.State != tc.state || tc.state == "failed" && end.Reason != "check" {
					t.Errorf("end = %+v", end)
				}
			})
			evs := b.named(trace.Answer)
			if d := evs[0].Data.(trace.AnswerData); len(evs) != 1 || d.Text != tc.answer || d.Fixed {
				t.Errorf("answers: %+v", evs)
			}
			if m := b.last("s"); m.Content != tc.answer || m.N != evs[0].Data.(trace.AnswerData).N && evs[0].Data.(trace.AnswerData).N != 0 {
				t.Errorf("the turn ends with %+v", m)
			}
			reqs := b.model.Requests()
			if len(reqs) != tc.asked {
				t.Errorf("asked %d times, want %d", len(reqs), tc.asked)
			}
			if text := fmt.Sprint(reqs[len(reqs)-1].Messages); tc.says != "" && !strings.Contains(text, tc.says) {
				t.Errorf("the model was not told %q", tc.says)
			}
			if n := b.store.sessions["s"].row.TurnCount; n != 1 {
				t.Errorf("%d turns: a request to repair counts as one", n)
			}
			b.checkHistory("s")
		})
	}
}

// The server is asked for the schema when nothing stands against it: at once in a run without tools, and with tools only after
// an answer that did not have it, and not for one that lacked something else.
func TestSchemaIsAskedOfTheServer(t *testing.T) {
	for name, tc := range map[string]struct {
		tools  bool
		checks runtime.Checks
		steps  []scripted.Step
		want   []bool
	}{
		"without tools": {false, runtime.Checks{Schema: pointSchema}, []scripted.Step{scripted.Text(`{"x":1}`)}, []bool{true}},
		"with tools":    {true, runtime.Checks{Schema: pointSchema}, []scripted.Step{scripted.Text(`{"x":1}`)}, []bool{false}},
		"misshapen": {true, runtime.Checks{Schema: pointSchema}, []scripted.Step{scripted.Text("one"), scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"a"}`}), scripted.Text(`{"x":1}`)},
			[]bool{false, true, true}},
		"another check": {true, runtime.Checks{Schema: pointSchema, Regexp: "7"}, []scripted.Step{scripted.Text(`{"x":1}`), scripted.Text(`{"x":7}`)}, []bool{false, false}},
		"no schema":     {false, runtime.Checks{Regexp: "7"}, []scripted.Step{scripted.Text("1"), scripted.Text("7")}, []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, tc.steps...)
			b.cfg.Checks = &tc.checks
			if !tc.tools {
				b.cfg.Registry = tools.NewRegistry()
			}
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			var got []bool
			for _, r := range b.model.Requests() {
				if got = append(got, r.Schema != nil); r.Schema != nil && (r.Schema.Name != "answer" || string(r.Schema.JSON) != string(pointSchema)) {
					t.Errorf("schema %+v", r.Schema)
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBadChecksAreRefused(t *testing.T) {
	for _, c := range []runtime.Checks{{Schema: json.RawMessage(`{"type":5}`)}, {Schema: json.RawMessage(`no`)}, {Regexp: "("}} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	for schema, want := range map[string]string{
		`"x"`: "it is a string", `5`: "it is a number", `null`: "it is null", `[{}]`: "it is an array", `{"properties":5}`: "JSON schema", `{"required":{"a":1}}`: "JSON schema",
		`{"type":5}`: "JSON schema", ``: "", `true`: "", `{}`: "",
	} {
		err := (&runtime.Checks{Schema: json.RawMessage(schema)}).Validate()
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", schema, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 250 || strings.Contains(err.Error(), "struct") {
			t.Errorf("%s: %v", schema, err)
		}
	}
	var none *runtime.Checks
	if err := none.Validate(); err != nil {
		t.Error(err)
	}
	if err := (&runtime.Checks{Schema: pointSchema, Regexp: "a"}).Validate(); err != nil {
		t.Error(err)
	}
}

// A crash between the answer and its verification: resumed, it is verified; given up, the answer stays.
func TestCrashBeforeVerification(t *testing.T) {
	for _, resume := range []bool{true, false} {
		b := newBed(t, scripted.Text("12").When("go"))
		b.cfg.Checks = &runtime.Checks{Regexp: `\d`}
		n := 0
		b.store.fail = func(tx runtime.Tx, after bool) error {
			if after && tx.Run != nil && tx.Run.State == runtime.StateVerifying {
				n++
				return latchFor(b).Wait(context.Background())
			}
			return nil
		}
		b.crash(time.Minute)
		b.store.fail = nil
		if n != 1 {
			t.Fatal("the answer was not stored before it was verified")
		}
		b.run(func(ctx context.Context) {
			if _, err := b.eng.Open(ctx, "s", false); err != nil {
				t.Fatal(err)
			}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &resume}); err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{true: "succeeded", false: "cancelled"}[resume]
			if end := b.await(ctx, 0); end.State != want {
				t.Errorf("resume %v: %+v", resume, end)
			}
			if resume && b.last("s").Content != "12" {
				t.Errorf("the turn ends with %+v", b.last("s"))
			}
			b.ask(ctx, "s", "next: write 1")
		})
		b.checkHistory("s")
		for _, m := range b.messages("s") {
			if m.Role == llm.RoleAssistant && m.Content == "" {
				t.Error("an empty message")
			}
		}
	}
}
