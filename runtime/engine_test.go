package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

func TestAnswer(t *testing.T) {
	b := newBed(t, scripted.Text("hello there").Usage(50, 2, 10))
	b.run(func(ctx context.Context) {
		end := b.ask(ctx, "s", "hi")
		if end.State != "succeeded" || end.Steps != 1 || end.Tokens != 52 {
			t.Errorf("end = %+v", end)
		}
	})
	want := []trace.Name{trace.Session, trace.RunStart, trace.LLMCall, trace.Answer, trace.RunEnd}
	if d := cmp.Diff(want, b.stored("s")); d != "" {
		t.Error(d)
	}
	if got := b.last("s"); got.Content != "hello there" || got.Kind != llm.KindAssistant {
		t.Errorf("answer = %+v", got)
	}
	if n := len(b.store.commits); n != 2 {
		t.Errorf("an answer without tools took %d commits, want 2", n)
	}
	if got := b.store.sessions["s"].row.Title; got != "hi" {
		t.Errorf("title = %q", got)
	}
	b.checkHistory("s")
}

func TestStepIsTwoCommits(t *testing.T) {
	b := newBed(t,
		scripted.TextAndCalls("I look.", scripted.Call{Name: "read", Args: `{"text":"a"}`}),
		scripted.Text("done"))
	b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
	// submit, {message + call}, {result + next state}, end
	if n := len(b.store.commits); n != 4 {
		t.Errorf("%d commits, want 4", n)
	}
	if st := b.store.commits[1].Calls[0].Status; st != runtime.CallStarted {
		t.Errorf("the intent is stored as %s", st)
	}
	if st := b.store.commits[2].Run.State; st != runtime.StateWaitingModel {
		t.Errorf("the result is stored with state %s", st)
	}
	want := []trace.Name{trace.Session, trace.RunStart, trace.LLMCall, trace.ToolCall, trace.ToolResult, trace.LLMCall, trace.Answer, trace.RunEnd}
	if d := cmp.Diff(want, b.stored("s")); d != "" {
		t.Error(d)
	}
	if ev := b.named(trace.LLMCall)[0].Data.(trace.LLMCallData); ev.Text != "I look." || ev.ToolCallCount != 1 {
		t.Errorf("commentary: %+v", ev)
	}
	b.checkHistory("s")
}

// Read-only calls of one reply run side by side, others in order, and results are handed over in call order.
func TestCallOrder(t *testing.T) {
	b := newBed(t,
		scripted.Calls(
			scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":300}`},
			scripted.Call{Name: "read", Args: `{"text":"quick","wait_ms":100}`},
			scripted.Call{Name: "fire", Args: `{"text":"x","wait_ms":50}`},
			scripted.Call{Name: "fire", Args: `{"text":"y"}`},
			scripted.Call{Name: "read", Args: `{"text":"z"}`}),
		scripted.Text("ok"))
	var took time.Duration
	b.run(func(ctx context.Context) {
		start := b.clk.Now()
		b.ask(ctx, "s", "go")
		took = b.clk.Now().Sub(start)
	})
	if d := cmp.Diff([]string{"read:quick", "read:slow", "fire:x", "fire:y", "read:z"}, b.ran); d != "" {
		t.Error(d)
	}
	if took > 400*time.Millisecond {
		t.Errorf("the read-only calls did not run side by side: %v", took)
	}
	var got []string
	for _, m := range b.messages("s") {
		if m.Role == llm.RoleTool {
			got = append(got, m.Content)
		}
	}
	for i, want := range []string{"slow", "quick", "x", "y", "z"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("result %d = %s, want %s", i, got[i], want)
		}
	}
	b.checkHistory("s")
}

// A result that is there early is stored before the slow ones end.
func TestEarlyResultIsStored(t *testing.T) {
	b := newBed(t, scripted.Calls(
		scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":5000}`},
		scripted.Call{Name: "read", Args: `{"text":"quick","wait_ms":10}`}), scripted.Text("ok"))
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Submit(ctx, "s", "go"); err != nil {
			t.Fatal(err)
		}
		if err := b.clk.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, c := range b.store.sessions["s"].calls {
			if c.Status == runtime.CallDone && strings.Contains(string(c.Result), "quick") {
				done++
			}
		}
		if done != 1 {
			t.Errorf("the quick result is not stored while the slow call runs")
		}
		b.await(ctx, 0)
	})
	b.checkHistory("s")
}

func TestTodoChangesAreCommittedWithTheResult(t *testing.T) {
	b := newBed(t,
		scripted.Calls(scripted.Call{Name: "note", Args: `{"text":"pay"}`}),
		scripted.Func(func(r llm.Request) scripted.Step { return scripted.Text("added").Delay(time.Second) }),
		scripted.Func(func(r llm.Request) scripted.Step {
			return scripted.Calls(scripted.Call{Name: "tick", Args: fmt.Sprintf(`{"text":%q}`, b0todo)})
		}),
		scripted.Text("ticked"))
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "add pay")
		todos, _ := b.store.Todos(ctx, "s")
		if len(todos) != 1 || todos[0].Text != "pay" {
			t.Fatalf("todos = %+v", todos)
		}
		b0todo = todos[0].ID
		b.ask(ctx, "s", "tick it")
		todos, _ = b.store.Todos(ctx, "s")
		if !todos[0].Completed {
			t.Error("the todo is not completed")
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{ToggleTodo: todos[0].ID}); err != nil {
			t.Error(err)
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{ToggleTodo: "nothing"}); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("toggle of nothing: %v", err)
		}
	})
	for _, tx := range b.store.commits {
		if len(tx.Todos) > 0 && tx.Todos[0].Action == "added" && (len(tx.Messages) != 1 || tx.Messages[0].Role != llm.RoleTool) {
			t.Errorf("the todo came without its result: %+v", tx)
		}
	}
	var acts []string
	for _, ev := range b.named(trace.Todo) {
		d := ev.Data.(trace.TodoData)
		acts = append(acts, d.Action+" "+d.Text)
	}
	if d := cmp.Diff([]string{"added pay", "completed pay", "reopened pay"}, acts); d != "" {
		t.Error(d)
	}
}

var b0todo string

func dollars(v float64) *float64 { return &v }

func TestBudgets(t *testing.T) {
	call := scripted.Call{Name: "read", Args: `{"text":"a"}`}
	again := func(n int) scripted.Step {
		return scripted.Func(func(r llm.Request) scripted.Step {
			return scripted.Calls(scripted.Call{Name: "read", Args: fmt.Sprintf(`{"text":"%d"}`, len(r.Messages))})
		}).Times(n)
	}
	tests := map[string]struct {
		set    func(*runtime.Limits)
		steps  []scripted.Step
		reason string
		text   string
	}{
		"steps": {func(l *runtime.Limits) { l.Budget.Steps = 3 }, []scripted.Step{again(9)}, "steps", "3 of 3 steps"},
		"calls": {func(l *runtime.Limits) { l.Budget.Calls = 2 },
			[]scripted.Step{scripted.Calls(call, scripted.Call{Name: "note", Args: `{"text":"n"}`}, scripted.Call{Name: "fire", Args: `{"text":"f"}`}), again(9)}, "calls", "2 of 2 tool calls"},
		"calls at once": {func(l *runtime.Limits) { l.Budget.Calls = 1 },
			[]scripted.Step{again(1), scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"f"}`})}, "calls", "1 of 1 tool calls"},
		"tokens": {func(l *runtime.Limits) { l.Budget.Tokens = 100 },
			[]scripted.Step{scripted.Calls(call).Usage(90, 20, 0), again(9)}, "tokens", "110 of 100 tokens"},
		"cost": {func(l *runtime.Limits) { l.Budget.Cost = dollars(0.01) },
			[]scripted.Step{scripted.Calls(call).Cost(0.004), scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"f"}`}).Cost(0.007), again(9)}, "cost", "$0.0110 of $0.0100"},
		"cost to the cent": {func(l *runtime.Limits) { l.Budget.Cost = dollars(0.25) },
			[]scripted.Step{scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"f"}`}).Cost(0.25), again(9)}, "cost", "$0.2500 of $0.2500"},
		"deadline": {func(l *runtime.Limits) { l.Budget.Deadline = time.Second },
			[]scripted.Step{scripted.Text("a b c d e f").ChunkSize(1).Pace(300 * time.Millisecond)}, "deadline", "[interrupted] budget used up: 1s of wall time"},
		"deadline in a tool": {func(l *runtime.Limits) { l.Budget.Deadline = time.Second },
			[]scripted.Step{scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"x","wait_ms":9000}`})}, "deadline", "1s of wall time"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range tc.steps {
				tc.steps[i] = tc.steps[i].When("go")
			}
			b := newBed(t, tc.steps...)
			tc.set(&b.cfg.Limits)
			b.run(func(ctx context.Context) {
				end := b.ask(ctx, "s", "go")
				if end.State != "exhausted" || end.Reason != tc.reason {
					t.Errorf("end = %+v", end)
				}
				if tc.reason == "cost" && (end.Cost == nil || *end.Cost < 0.0109) {
					t.Errorf("cost = %v", end.Cost)
				}
				if tc.reason == "tokens" && len(b.ran) != 0 || name == "cost" && len(b.ran) != 1 || name == "cost to the cent" && len(b.ran) != 0 {
					t.Errorf("past the cap %v ran", b.ran)
				}
				asked := len(b.model.Requests())
				b.model.Add(scripted.Text("fine").When("next"))
				if end := b.ask(ctx, "s", "next"); end.State != "succeeded" {
					t.Errorf("the next turn: %+v", end)
				}
				if n := len(b.model.Requests()); n != asked+1 {
					t.Errorf("the model was asked %d times after the cap", n-asked)
				}
			})
			closing := ""
			for _, m := range b.messages("s") {
				if m.Kind == llm.KindClosing {
					closing = m.Content
				}
			}
			if !strings.Contains(closing, tc.text) {
				t.Errorf("closing = %q, want %q", closing, tc.text)
			}
			if setting := settingOf[tc.reason]; !strings.Contains(closing, "("+setting+").") { // B088
				t.Errorf("closing = %q does not name %s", closing, setting)
			}
			b.checkHistory("s")
		})
	}
}

// settingOf is the setting that a limit has, by the reason of a run that it ended.
var settingOf = map[string]string{
	"steps": "AGENT_MAX_TOOL_ITERS", "calls": "AGENT_MAX_TOOL_CALLS", "tokens": "AGENT_MAX_RUN_TOKENS", "cost": "AGENT_MAX_RUN_COST",
	"deadline": "AGENT_RUN_DEADLINE_SECONDS", "context": "AGENT_MAX_CTX_TOKENS",
}

// The trace tells a run's caps beside its use.
func TestBudgetsInTheTrace(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"a"}`}), scripted.Text("ok"))
	b.cfg.Limits.Budget = runtime.Budget{Steps: 5, Calls: 7, Tokens: 9000, Cost: dollars(0.5), Deadline: 90 * time.Second}
	b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
	want := &trace.Caps{Steps: 5, Calls: 7, Tokens: 9000, Cost: dollars(0.5), DeadlineMS: 90_000}
	if d := cmp.Diff(want, b.named(trace.RunStart)[0].Data.(trace.RunStartData).Caps); d != "" {
		t.Error(d)
	}
	tree := &trace.Tree{}
	for _, ev := range b.store.sessions["s"].events {
		tree.Apply(ev)
	}
	var out strings.Builder
	if err := trace.Print(&out, tree); err != nil || !strings.Contains(out.String(), "2 of 5 steps, 1 of 7 calls, ") || !strings.Contains(out.String(), " of 9.0k tokens") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestStepWarning(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"a"}`}), scripted.Text("ok"))
	b.cfg.Limits.Budget.Steps = 2
	b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
	reqs := b.model.Requests()
	if last := reqs[1].Messages[len(reqs[1].Messages)-1]; !strings.Contains(last.Content, "one step left") {
		t.Errorf("no warning in %s", last.Content)
	}
}

func TestBadReplies(t *testing.T) {
	tests := map[string]struct {
		steps  []scripted.Step
		state  string
		reason string
		check  func(t *testing.T, b *bed)
	}{
		"empty once": {[]scripted.Step{scripted.Text(""), scripted.Text("now")}, "succeeded", "", func(t *testing.T, b *bed) {
			if m := b.messages("s")[1]; m.Kind != llm.KindNotice || m.Role != llm.RoleUser {
				t.Errorf("no request to repair: %+v", m)
			}
		}},
		"empty twice": {[]scripted.Step{scripted.Text(""), scripted.Text("  ")}, "failed", "empty_reply", func(t *testing.T, b *bed) {
			if !b.last("s").Fixed {
				t.Error("the closing is not fixed")
			}
		}},
		// B104: "tool_calls" without a call is an empty response.
		"finish tool_calls without calls": {[]scripted.Step{scripted.Text("").Finish("tool_calls"), scripted.Text("x")}, "succeeded", "", nil},
		"cut by length": {[]scripted.Step{
			scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"x"}`}).Finish(llm.FinishLength), scripted.Text("x")}, "succeeded", "", func(t *testing.T, b *bed) {
			if len(b.ran) > 0 {
				t.Errorf("a truncated call ran: %v", b.ran)
			}
			for _, c := range b.store.sessions["s"].calls {
				if c.Arguments != "{}" || c.RawArguments != `{"text":"x"}` || !strings.Contains(string(c.Result), "truncated_arguments") {
					t.Errorf("stored call: %+v", c)
				}
			}
		}},
		"text cut by length": {[]scripted.Step{scripted.Text("half of").Finish(llm.FinishLength)}, "succeeded", "", func(t *testing.T, b *bed) {
			if !b.last("s").Partial {
				t.Error("the answer is not marked as partial")
			}
		}},
		"unknown tools": {[]scripted.Step{scripted.Calls(scripted.Call{Name: "nope", Args: `{}`}).Times(5)}, "failed", "unknown_tool", nil},
		"model error": {[]scripted.Step{scripted.Fail(&llm.Error{Kind: llm.ErrRejected, Status: 400, Message: "bad schema"})}, "failed", "model", func(t *testing.T, b *bed) {
			if strings.Contains(b.last("s").Content, "bad schema") {
				t.Error("an error text entered the history") // B079
			}
			ev := b.named(trace.Error)[0].Data.(trace.ErrorData)
			if !strings.Contains(ev.Why, "bad schema") || ev.Todo == "" {
				t.Errorf("error = %+v", ev)
			}
		}},
		"cut stream": {[]scripted.Step{scripted.Text("part one two").ChunkSize(1).Cut(6)}, "failed", "model", func(t *testing.T, b *bed) {
			if m := b.last("s"); !m.Partial || !strings.Contains(m.Content, "[interrupted]") || !strings.HasPrefix(m.Content, "part") {
				t.Errorf("the partial text is lost: %+v", m)
			}
		}},
		"no done":          {[]scripted.Step{scripted.Text("abc").NoDone(1)}, "failed", "model", nil},
		"context too long": {[]scripted.Step{scripted.Fail(&llm.Error{Kind: llm.ErrContext, Status: 400, Message: "maximum context length"})}, "exhausted", "context", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, tc.steps...)
			b.run(func(ctx context.Context) {
				end := b.ask(ctx, "s", "go")
				if end.State != tc.state || end.Reason != tc.reason {
					t.Errorf("end = %+v", end)
				}
			})
			if tc.check != nil {
				tc.check(t, b)
			}
			b.checkHistory("s")
		})
	}
}

// B046 B047 B049 B050 B052 B053: what the model wrote is either run as it means or answered with an error; the turn goes on
// and the history stays valid.
func TestArguments(t *testing.T) {
	tests := []struct {
		name, args string
		ran        string
		code       string
		says       []string
	}{
		{"read", `{"text":"a"}`, "read:a", "", nil},
		{"read", "```json\n{\"text\":\"b\"}\n```", "read:b", "", nil},
		{"read", `"{\"text\":\"c\"}"`, "read:c", "", nil},
		{"read", ``, "", "invalid_argument", []string{"text"}},
		{"read", `   `, "", "invalid_argument", []string{"text"}},
		{"read", `{"{"tagIds":[1]}`, "", "malformed_arguments", []string{"invalid JSON", "text"}},
		{"read", `{"text":1}}`, "", "malformed_arguments", []string{"invalid JSON"}},
		{"read", `{"text":"a"}{"b":2}`, "", "malformed_arguments", []string{"invalid JSON"}},
		{"read", `{text:1}`, "", "malformed_arguments", []string{"invalid JSON"}},
		{"read", `{"text":"a",}`, "", "malformed_arguments", []string{"invalid JSON"}},
		{"read", `{"text":Infinity}`, "", "malformed_arguments", []string{"invalid JSON"}},
		{"fire", `{"text":"app/page.tsx"`, "", "truncated_arguments", []string{"text"}},
		{"fire", `{"text":"rm -rf build", `, "", "truncated_arguments", []string{"text"}},
		{"read", `not json`, "", "malformed_arguments", []string{"invalid JSON", "text"}},
		{"read", `[1,2]`, "", "malformed_arguments", []string{"array", "object"}},
		{"read", `null`, "", "malformed_arguments", []string{"null", "object"}},
		{"READ", `{"text":"d"}`, "read:d", "", nil},
		{"functions.read", `{"text":"e"}`, "read:e", "", nil},
		{"read ", `{"text":"f"}`, "read:f", "", nil},
		{"execute_python", `{}`, "", "unknown_tool", []string{"read", "fire"}},
		{"", `{}`, "", "unknown_tool", []string{"read"}},
		{strings.Repeat("n", 5000), `{}`, "", "unknown_tool", nil},
		{"a\x1b[31m", `{}`, "", "unknown_tool", nil},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprintf("%.20q %.20q", tc.name, tc.args), func(t *testing.T) {
			b := newBed(t, scripted.Calls(scripted.Call{Name: tc.name, Args: tc.args}), scripted.Text("done"))
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			if got := strings.Join(b.ran, ","); got != tc.ran {
				t.Errorf("ran %q, want %q", got, tc.ran)
			}
			res := b.messages("s")[2].Content
			if tc.code != "" && !strings.Contains(res, `"code":"`+tc.code+`"`) {
				t.Errorf("result %s, want code %s", res, tc.code)
			}
			for _, s := range tc.says {
				if !strings.Contains(res, s) {
					t.Errorf("result %s does not say %q", res, s)
				}
			}
			if len(res) > 3000 || strings.ContainsRune(res, 0x1b) || strings.Contains(res, `\u001b`) {
				t.Errorf("unbounded or unclean result: %.200q", res)
			}
			if sent := b.model.Requests()[1].Messages[2].ToolCalls[0]; tc.ran == "" && sent.Arguments != "{}" {
				t.Errorf("sent back arguments %q", sent.Arguments) // B046
			} else if strings.ContainsRune(sent.Name, 0x1b) || len(sent.Name) > 64 || sent.Name == "" {
				t.Errorf("sent back name %q", sent.Name)
			}
			b.checkHistory("s")
		})
	}
}

// Reused provider ids become unique: identity is ours, the id is wire data.
func TestReusedCallIDs(t *testing.T) {
	b := newBed(t,
		scripted.Calls(scripted.Call{ID: "c1", Name: "read", Args: `{"text":"a"}`}),
		scripted.Calls(scripted.Call{ID: "c1", Name: "read", Args: `{"text":"b"}`}),
		scripted.Text("done"))
	b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
	b.checkHistory("s")
	if len(b.ran) != 2 {
		t.Errorf("ran %v", b.ran)
	}
}

func TestTooLargeInput(t *testing.T) {
	b := newBed(t, scripted.Text("ok"))
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			t.Fatal(err)
		}
		var big *runtime.TooLargeError
		if err := b.eng.Submit(ctx, "s", strings.Repeat("word ", 20000)); !errors.As(err, &big) {
			t.Errorf("submit of 100,000 characters: %v", err)
		}
		if err := b.eng.Submit(ctx, "s", " \n"); !errors.Is(err, runtime.ErrEmptyInput) {
			t.Errorf("submit of nothing: %v", err)
		}
		if n := len(b.store.commits); n != 0 {
			t.Errorf("%d commits", n)
		}
		if end := b.ask(ctx, "s", "hi"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
}

func TestContextFull(t *testing.T) {
	b := newBed(t, scripted.Text(strings.Repeat("word ", 900)).Times(-1))
	b.cfg.Limits.ContextTokens = 2300
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "one")
		b.ask(ctx, "s", "two")
		end := b.ask(ctx, "s", "three")
		if end.State != "exhausted" || end.Reason != "context" || end.Steps != 0 {
			t.Errorf("end = %+v", end)
		}
		ev := b.named(trace.Error)[0].Data.(trace.ErrorData)
		if !strings.Contains(ev.Message, "context is full") || !strings.Contains(ev.Why, "system prompt and tools") {
			t.Errorf("error = %+v", ev)
		}
		if closing := b.last("s").Content; !strings.Contains(closing, "(AGENT_MAX_CTX_TOKENS).") { // B088
			t.Errorf("closing = %q", closing)
		}
	})
	b.checkHistory("s")
}

// Large results are cut, and kept whole as an artifact.
func TestArtifact(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"` + strings.Repeat("0123456789", 900) + `"}`}), scripted.Text("ok"))
	b.cfg.Limits.ContextTokens = 100000
	b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
	arts := b.store.sessions["s"].artifacts
	if len(arts) != 1 || len(arts[0].Content) < 9000 {
		t.Fatalf("artifacts: %d", len(arts))
	}
	m := b.messages("s")[2]
	if n := len([]rune(m.Content)); n > 2200 || !strings.Contains(m.Content, arts[0].Handle) || !strings.Contains(m.Content, `"truncated":true`) {
		t.Errorf("message of %d characters: %.200s", n, m.Content)
	}
	if b.count(trace.Artifact) != 1 {
		t.Error("no artifact event")
	}
}

func TestSessionsDoNotMix(t *testing.T) {
	b := newBed(t, scripted.Text("A").When("alpha").Pace(10*time.Millisecond), scripted.Text("B").When("beta"))
	b.run(func(ctx context.Context) {
		for _, id := range []string{"a", "b"} {
			if _, err := b.eng.Open(ctx, id, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.eng.Submit(ctx, "a", "alpha"); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Submit(ctx, "b", "beta"); err != nil {
			t.Fatal(err)
		}
		b.await(ctx, 1)
	})
	for _, req := range b.model.Requests() {
		text := fmt.Sprint(req.Messages)
		if strings.Contains(text, "alpha") && strings.Contains(text, "beta") {
			t.Error("one session sees the other")
		}
	}
}

func TestSettings(t *testing.T) {
	b := newBed(t, scripted.Text("ok").Times(-1))
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "hi\nthere")
		title, model := "  a   new\x07title ", "other"
		if err := b.eng.Set(ctx, "s", runtime.Setting{Title: &title}); err != nil {
			t.Error(err)
		}
		empty := "  "
		if err := b.eng.Set(ctx, "s", runtime.Setting{Title: &empty}); err == nil {
			t.Error("an empty title is taken")
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Model: &model}); err != nil {
			t.Error(err)
		}
		b.ask(ctx, "s", "again")
		if err := b.eng.Set(ctx, "nobody", runtime.Setting{}); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("set on a closed session: %v", err)
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{}); err != nil {
			t.Error(err)
		}
		if err := b.eng.Close(ctx, "s"); err != nil {
			t.Error(err)
		}
		if err := b.eng.Close(ctx, "s"); err != nil {
			t.Error(err)
		}
		if err := b.eng.Submit(ctx, "s", "x"); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("submit to a closed session: %v", err)
		}
		snap, err := b.eng.Open(ctx, "s", false)
		if err != nil || len(snap.Messages) != 4 || snap.Session.TurnCount != 2 {
			t.Errorf("snapshot = %+v, %v", snap, err)
		}
	})
	reqs := b.model.Requests()
	if reqs[0].Model != "scripted" || reqs[1].Model != "other" {
		t.Errorf("models %q %q", reqs[0].Model, reqs[1].Model)
	}
	if got := b.store.sessions["s"].row.Title; got != "a new title" {
		t.Errorf("title = %q", got)
	}
}

func TestOpenErrors(t *testing.T) {
	b := newBed(t, scripted.Text("ok"))
	b.run(func(ctx context.Context) {
		for _, id := range []string{"", "a b", "a/b", strings.Repeat("x", 200), "a\x00", "\xff"} {
			if _, err := b.eng.Open(ctx, id, true); err == nil {
				t.Errorf("open %q succeeded", id)
			}
		}
		if _, err := b.eng.Open(ctx, "missing", false); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("open of nothing: %v", err)
		}
		b.ask(ctx, "s", "hi")
		if err := b.eng.Close(ctx, "s"); err != nil {
			t.Fatal(err)
		}
		b.store.held["s"] = true
		snap, err := b.eng.Open(ctx, "s", true)
		var held *runtime.HeldError
		if !errors.As(err, &held) || snap.HeldBy != 4711 || len(snap.Messages) != 2 {
			t.Errorf("held: %v %+v", err, snap)
		}
		if err := b.eng.Submit(ctx, "s", "x"); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("submit to a held session: %v", err)
		}
	})
	if err := b.eng.Submit(context.Background(), "s", "x"); !errors.Is(err, runtime.ErrClosed) {
		t.Errorf("submit after shutdown: %v", err)
	}
	if _, err := b.eng.Open(context.Background(), "s", true); !errors.Is(err, runtime.ErrClosed) {
		t.Errorf("open after shutdown: %v", err)
	}
}

// A tool that fails three times in a row for want of its service is switched off for the run, and the model is told.
func TestToolIsSwitchedOff(t *testing.T) {
	n := 0
	b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
		if n++; n > 5 {
			return scripted.Text("done")
		}
		return scripted.Calls(scripted.Call{Name: "fire", Args: fmt.Sprintf(`{"text":"down","wait_ms":%d}`, n)})
	}).Times(-1))
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "go"); end.State != "succeeded" || end.Calls != 3 {
			t.Errorf("end = %+v", end)
		}
	})
	off := 0
	for _, m := range b.messages("s") {
		if strings.Contains(m.Content, "switched off for this run") {
			off++
		}
	}
	if off != 2 {
		t.Errorf("told %d times", off)
	}
	b.checkHistory("s")
}

// A tool that is tried again says so each time, with its wait, and the run counts as retrying meanwhile; other calls go on.
func TestToolRetriesAreTold(t *testing.T) {
	b := newBed(t, scripted.Calls(
		scripted.Call{Name: "read", Args: `{"text":"down"}`},
		scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":400}`}), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	var told []string
	for _, ev := range b.named(trace.Retry) {
		d := ev.Data.(trace.RetryData)
		if d.Call == "" || ev.RunID == "" {
			t.Errorf("retry of nothing: %+v", d)
		}
		told = append(told, fmt.Sprintf("%s %d of %d in %d ms: %s", d.Tool, d.Attempt, d.Max, d.WaitMS, d.Cause))
	}
	want := []string{"read 1 of 3 in 250 ms: no connection", "read 2 of 3 in 500 ms: no connection"}
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
	var states []string
	for _, ev := range b.named(trace.State) {
		if s := ev.Data.(trace.StateData).State; s == "executing" || s == "retrying_tool" || s == "observing" {
			states = append(states, s)
		}
	}
	if d := cmp.Diff([]string{"executing", "retrying_tool", "retrying_tool", "executing", "observing"}, states); d != "" {
		t.Error(d)
	}
	b.checkHistory("s")
}

// What a run used is summed up of what was reported: what never was is unknown, not 0.
func TestRunUsage(t *testing.T) {
	call := scripted.Call{Name: "echo", Args: `{"text":"x"}`}
	number := func(n *int) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	for name, c := range map[string]struct {
		steps []scripted.Step
		want  string
	}{
		"all": {[]scripted.Step{scripted.Calls(call).Usage(100, 10, 60).ReasoningTokens(4).Cost(0.25), scripted.Text("done").Usage(200, 20, 100).ReasoningTokens(5).Cost(0.5)},
			"300 30 160 9 0.75"},
		"some":    {[]scripted.Step{scripted.Calls(call).Usage(100, 10, 60), scripted.Text("done").Usage(200, 20, -1).ReasoningTokens(5)}, "300 30 60 5 -"},
		"nothing": {[]scripted.Step{scripted.Calls(call).Usage(100, 10, -1), scripted.Text("done").Usage(200, 20, -1)}, "300 30 - - -"},
	} {
		b := newBed(t, c.steps...)
		b.run(func(ctx context.Context) {
			end := b.ask(ctx, "s", "go")
			cost := "-"
			if end.Cost != nil {
				cost = fmt.Sprint(*end.Cost)
			}
			got := fmt.Sprintln(end.PromptTokens, end.CompletionTokens, number(end.CachedTokens), number(end.ReasoningTokens), cost)
			if strings.TrimSpace(got) != c.want {
				t.Errorf("%s: the end says %s, want %s", name, got, c.want)
			}
		})
	}
}
