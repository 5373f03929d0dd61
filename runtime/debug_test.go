package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// arm opens s with the debugger on.
func (b *bed) arm(ctx context.Context, at runtime.Break) {
	b.t.Helper()
	if _, err := b.eng.Open(ctx, "s", true); err != nil {
		b.t.Fatal(err)
	}
	b.set(ctx, runtime.Setting{Break: &at})
}

// set changes s and lets what follows happen.
func (b *bed) set(ctx context.Context, c runtime.Setting) {
	b.t.Helper()
	if err := b.eng.Set(ctx, "s", c); err != nil {
		b.t.Fatal(err)
	}
	if err := b.clk.Sleep(ctx, time.Second); err != nil {
		b.t.Fatal(err)
	}
}

// snap is s as it is now.
func (b *bed) snap(ctx context.Context) runtime.Snapshot {
	b.t.Helper()
	s, err := b.eng.Open(ctx, "s", false)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// standing says what s stands still before.
func (b *bed) standing(ctx context.Context) string {
	b.t.Helper()
	s := b.snap(ctx)
	if s.Pause != nil {
		return fmt.Sprintf("model %d", s.Pause.Step)
	}
	var waits []string
	for _, c := range s.Calls {
		if c.Status == runtime.CallWaiting {
			waits = append(waits, c.Name+" "+c.Arguments)
		}
	}
	return strings.Join(waits, ", ")
}

// waiting is the row of the call that waits.
func (b *bed) waiting(ctx context.Context) string {
	b.t.Helper()
	for _, c := range b.snap(ctx).Calls {
		if c.Status == runtime.CallWaiting {
			return c.ID
		}
	}
	b.t.Fatal("no call waits")
	return ""
}

// goOn is one word to the debugger.
func (b *bed) goOn(ctx context.Context, then runtime.Break) {
	b.t.Helper()
	st := runtime.Step{Then: then}
	if s := b.snap(ctx); s.Pause == nil {
		st.Call = b.waiting(ctx)
	}
	b.set(ctx, runtime.Setting{Step: &st})
}

var next = runtime.Break{Next: true}

func twoReads() []scripted.Step {
	return []scripted.Step{
		scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"a"}`}, scripted.Call{Name: "fire", Args: `{"text":"b"}`}, scripted.Call{Name: "read", Args: `{"text":"c"}`}),
		scripted.Text("done"),
	}
}

// Each model call and each tool call is stood before, one by one, and nothing of it has happened by then.
func TestDebuggerSteps(t *testing.T) {
	b := newBed(t, twoReads()...)
	b.run(func(ctx context.Context) {
		b.arm(ctx, next)
		b.begin(ctx, "go", time.Second)
		steps := []struct {
			at       string
			requests int
			ran      []string
		}{
			{"model 1", 0, nil},
			{`read {"text":"a"}`, 1, nil},
			{`fire {"text":"b"}`, 1, []string{"read:a"}},
			{`read {"text":"c"}`, 1, []string{"read:a", "fire:b"}},
			{"model 2", 1, []string{"read:a", "fire:b", "read:c"}},
		}
		for _, s := range steps {
			if at := b.standing(ctx); at != s.at || len(b.model.Requests()) != s.requests {
				t.Fatalf("stands before %q with %d requests, want %q", at, len(b.model.Requests()), s.at)
			}
			if d := cmp.Diff(s.ran, b.ran); d != "" {
				t.Fatalf("at %s: %s", s.at, d)
			}
			b.goOn(ctx, next)
		}
		if end := b.await(ctx, 0); end.State != "succeeded" || end.Steps != 2 || end.Calls != 3 {
			t.Errorf("end = %+v", end)
		}
		if s := b.snap(ctx); !s.Break.Next || s.Pause != nil {
			t.Errorf("after the run: %+v %+v", s.Break, s.Pause)
		}
	})
	for _, ev := range b.named(trace.Approval) {
		if d := ev.Data.(trace.ApprovalData); d.Cause != "break" {
			t.Errorf("a question of the debugger says %+v", d)
		}
	}
	pauses := 0
	for _, ev := range b.named(trace.State) {
		if p := ev.Data.(trace.StateData).Pause; p != nil {
			pauses++
			if p.Messages == 0 || p.New == 0 || p.Tokens == 0 || p.Model != "scripted" || ev.Data.(trace.StateData).Reason != "paused" {
				t.Errorf("pause = %+v", p)
			}
		}
	}
	if pauses != 2 {
		t.Errorf("%d pauses before a model call", pauses)
	}
	b.checkHistory("s")
}

// That the debugger holds a run before a model call is stored, with the step not taken, for other processes; and that it goes on is,
// before the model is asked.
func TestDebuggerPausesAreStored(t *testing.T) {
	b := newBed(t, scripted.Text("done").Delay(time.Minute))
	b.run(func(ctx context.Context) {
		b.arm(ctx, next)
		b.begin(ctx, "go", time.Hour)
		row := b.snap(ctx).Run
		if !row.StandsBeforeModel() || row.Step != 0 || row.Usage.Steps != 0 || row.Usage.Active > time.Minute {
			t.Errorf("stored while it stands: %+v", row)
		}
		if p := row.Pause(1); p.Step != 1 || p.Model != "scripted" {
			t.Errorf("told of it: %+v", p)
		}
		b.goOn(ctx, runtime.Break{})
		if row := b.snap(ctx).Run; row == nil || row.StandsBeforeModel() || row.Reason != runtime.ReasonNone || row.Step != 0 {
			t.Errorf("stored while the model is called: %+v", row)
		}
		if end := b.await(ctx, 0); end.Steps != 1 || end.State != "succeeded" || end.Reason != "" {
			t.Errorf("end = %+v", end)
		}
	})
	b.checkHistory("s")
}

// The whole request can be looked at while the run stands before it, and at no other time of a run.
func TestDebuggerShowsTheRequest(t *testing.T) {
	b := newBed(t, scripted.Text("done").Delay(time.Minute))
	b.run(func(ctx context.Context) {
		b.arm(ctx, next)
		b.begin(ctx, "the user's words", time.Second)
		v, err := b.eng.Context(ctx, "s")
		if err != nil || v.Parts[len(v.Parts)-1].Content != "the user's words" || len(v.Tools) == 0 {
			t.Errorf("view = %+v, %v", v, err)
		}
		b.goOn(ctx, runtime.Break{})
		if v, err := b.eng.Context(ctx, "s"); err != nil || !v.Running || len(v.Parts) != 0 || len(v.Tools) == 0 {
			t.Errorf("while the model is called: %+v, %v", v, err)
		}
		b.await(ctx, 0)
	})
}

func TestDebuggerRunsOn(t *testing.T) {
	tests := map[string]struct {
		then runtime.Break
		at   string
		ran  []string
	}{
		"to the end":        {runtime.Break{}, "", []string{"read:a", "fire:b", "read:c"}},
		"to a named tool":   {runtime.Break{Tool: "fire"}, `fire {"text":"b"}`, []string{"read:a"}},
		"to one that's not": {runtime.Break{Tool: "put"}, "", []string{"read:a", "fire:b", "read:c"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, twoReads()...)
			b.run(func(ctx context.Context) {
				b.arm(ctx, next)
				b.begin(ctx, "go", time.Second)
				b.goOn(ctx, tc.then)
				if at := b.standing(ctx); at != tc.at {
					t.Errorf("stands before %q, want %q", at, tc.at)
				}
				if d := cmp.Diff(tc.ran, b.ran); d != "" {
					t.Error(d)
				}
				if tc.at != "" {
					b.goOn(ctx, runtime.Break{})
				}
				if end := b.await(ctx, 0); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			b.checkHistory("s")
		})
	}
}

// What stands still is cancelled like anything else, waits for no queued input, and takes no time of the run's.
func TestDebuggerWaits(t *testing.T) {
	for _, at := range []string{"model", "call"} {
		t.Run(at, func(t *testing.T) {
			b := newBed(t, append([]scripted.Step{twoReads()[0].When("go")}, scripted.Text("fine").Times(-1))...)
			b.cfg.Limits.Budget.Deadline = 30 * time.Second
			b.run(func(ctx context.Context) {
				b.arm(ctx, next)
				b.begin(ctx, "go", time.Hour)
				if at == "call" {
					b.goOn(ctx, next)
					if err := b.clk.Sleep(ctx, time.Hour); err != nil {
						t.Fatal(err)
					}
				}
				if err := b.eng.Submit(ctx, "s", "later"); err != nil {
					t.Fatal(err)
				}
				if s := b.snap(ctx); len(s.Inbox) != 1 || !s.Running {
					t.Fatalf("a message to a run that stands still is not queued: %+v", s)
				}
				b.set(ctx, runtime.Setting{Break: &runtime.Break{}})
				b.eng.Cancel("s")
				b.await(ctx, 1)
				end := b.named(trace.RunEnd)[0].Data.(trace.RunEndData)
				if at == "model" && (end.Steps != 0 || end.DurationMS > 60_000) || end.State != "cancelled" {
					t.Errorf("end = %+v", end)
				}
			})
			if len(b.ran) != 0 {
				t.Errorf("ran %v", b.ran)
			}
			b.checkHistory("s")
		})
	}
}

// A paused run survives a restart: it stands where it stood, and goes on from there by a word.
func TestDebuggerOverRestarts(t *testing.T) {
	for at := range 5 {
		t.Run(fmt.Sprint("stop ", at), func(t *testing.T) {
			b := newBed(t, twoReads()...)
			var stood string
			b.run(func(ctx context.Context) {
				b.arm(ctx, next)
				b.begin(ctx, "go", time.Second)
				for range at {
					b.goOn(ctx, next)
				}
				stood = b.standing(ctx)
			})
			ran := len(b.ran)
			b.run(func(ctx context.Context) {
				s := b.snap(ctx)
				if s.Running || s.Run == nil || !s.Break.Next {
					t.Fatalf("after the restart: %+v", s)
				}
				if got := b.standing(ctx); got != stood || len(b.ran) != ran {
					t.Fatalf("stood before %q, now before %q; ran %v", stood, got, b.ran)
				}
				yes := true
				st := runtime.Step{Then: next}
				if s.Pause == nil {
					st.Call = b.waiting(ctx)
				}
				b.set(ctx, runtime.Setting{Resume: &yes, Step: &st})
				for i := at + 1; i < 5; i++ {
					b.goOn(ctx, next)
				}
				if end := b.await(ctx, 0); end.State != "succeeded" || end.Steps != 2 || end.Calls != 3 {
					t.Errorf("end = %+v", end)
				}
			})
			if d := cmp.Diff([]string{"read:a", "fire:b", "read:c"}, b.ran); d != "" {
				t.Error(d)
			}
			b.checkHistory("s")
		})
	}
}

// Step goes on by whole steps and gives what each of them did.
func TestStepRecords(t *testing.T) {
	b := newBed(t,
		scripted.TextAndCalls("I look.", scripted.Call{Name: "read", Args: `{"text":"a","wait_ms":200}`}, scripted.Call{Name: "read", Args: `{"text":"fail"}`}).Usage(50, 7, 0).Delay(300*time.Millisecond),
		scripted.Text("done").Usage(70, 2, 40))
	b.run(func(ctx context.Context) {
		b.arm(ctx, runtime.Break{Model: true})
		if _, err := b.eng.Step(ctx, "s"); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("a step of no run: %v", err)
		}
		b.begin(ctx, "go", time.Second)
		one, err := b.eng.Step(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		if one.Index != 1 || one.Commentary != "I look." || len(one.Calls) != 2 || one.Answer != "" || one.State.Terminal() ||
			*one.Usage.Prompt != 50 || *one.Usage.Completion != 7 || one.TTFT != 300*time.Millisecond || one.Latency < one.TTFT {
			t.Errorf("first step: %+v", one)
		}
		for _, c := range one.Calls {
			failed := strings.Contains(c.Row.Arguments, "fail")
			if c.Result.OK == failed || !failed && c.Took != 200*time.Millisecond {
				t.Errorf("call %+v", c)
			}
		}
		if err := b.clk.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if at := b.standing(ctx); at != "model 2" {
			t.Errorf("after a step it stands before %q", at)
		}
		want := &trace.StepDone{Step: 1, Calls: 2, Failed: 1, Tokens: 57, ModelMS: one.Latency.Milliseconds(), FirstMS: 300}
		if d := cmp.Diff(want, b.snap(ctx).Pause.Last); d != "" {
			t.Errorf("what the debugger shows of the step before: %s", d)
		}
		two, err := b.eng.Step(ctx, "s")
		if err != nil || two.Index != 2 || two.Answer != "done" || two.State != runtime.StateSucceeded || len(two.Calls) != 0 || *two.Usage.Cached != 40 {
			t.Errorf("second step: %+v, %v", two, err)
		}
		if _, err := b.eng.Step(ctx, "nope"); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("a step of no session: %v", err)
		}
	})
	b.checkHistory("s")
}

// A run without a screen does not stand still: nobody could say go on.
func TestDebuggerHeadless(t *testing.T) {
	b := newBed(t, twoReads()...)
	b.run(func(ctx context.Context) {
		b.arm(ctx, runtime.Break{Tool: "fire"})
		b.begin(ctx, "go", time.Second)
		if at := b.standing(ctx); !strings.HasPrefix(at, "fire") {
			t.Fatalf("stands before %q", at)
		}
	})
	b.cfg.Limits.Headless = true
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	b.checkHistory("s")
}

// The debugger's word is no approval, and what the policy asks about is asked beside it.
func TestDebuggerIsNoApproval(t *testing.T) {
	b := asking(t, twoReads()...)
	b.run(func(ctx context.Context) {
		b.arm(ctx, next)
		b.begin(ctx, "go", time.Second)
		b.goOn(ctx, next) // the model
		b.goOn(ctx, next) // read a
		b.goOn(ctx, next) // fire b: not taken
		if at := b.standing(ctx); !strings.HasPrefix(at, "fire") || len(b.ran) != 1 {
			t.Fatalf("stands before %q, ran %v", at, b.ran)
		}
		if q := b.questions(); len(q) != 1 || q[0].Cause != "" {
			t.Fatalf("questions = %+v", q)
		}
		b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Allow: true})
		b.goOn(ctx, runtime.Break{}) // read c
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	b.checkHistory("s")
}

func TestBadWords(t *testing.T) {
	b := newBed(t, twoReads()...)
	b.run(func(ctx context.Context) {
		b.arm(ctx, next)
		for name, c := range map[string]runtime.Setting{
			"break at no tool":  {Break: &runtime.Break{Tool: "nope"}},
			"step of no run":    {Step: &runtime.Step{}},
			"stop of no call":   {StopCall: "nope"},
			"a word to no call": {Decide: []runtime.Decision{{Call: "nope"}}},
		} {
			if err := b.eng.Set(ctx, "s", c); err == nil {
				t.Errorf("%s is taken", name)
			}
		}
		b.begin(ctx, "go", time.Second)
		b.set(ctx, runtime.Setting{Step: &runtime.Step{Call: "nope", Then: next}})
		if at := b.standing(ctx); at != "model 1" {
			t.Errorf("a step of another call moves it to %q", at)
		}
		b.goOn(ctx, next)
		id := b.waiting(ctx)
		for args, want := range map[string]string{`{"text":5}`: "text", `{"text":`: "", `{"wait_ms":1}`: "text"} {
			err := b.eng.Set(ctx, "s", runtime.Setting{Decide: []runtime.Decision{{Call: id, Arguments: args}}})
			var bad *tools.Error
			if !errors.As(err, &bad) || !strings.Contains(bad.Field, want) {
				t.Errorf("arguments %s: %v", args, err)
			}
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Decide: []runtime.Decision{{Call: "nope", Arguments: `{}`}}}); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("arguments of a call that does not wait: %v", err)
		}
		if b.waiting(ctx) != id {
			t.Error("a refused edit changed the call")
		}
	})
}

// Edited arguments make another row, which is asked about by itself; what ran is what is stored, and the model is told.
func TestEditedArguments(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, debugger := range []bool{false, true} {
			t.Run(fmt.Sprintf("restart %v debugger %v", restart, debugger), func(t *testing.T) {
				b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "read", Args: `{"text":"r"}`}), scripted.Text("done"))
				if debugger {
					b.cfg.Policy = nil
				}
				edit := func(ctx context.Context, args string) {
					old := b.waiting(ctx)
					b.decide(ctx, runtime.Decision{Call: old, Arguments: args})
					if now := b.waiting(ctx); now == old {
						t.Fatal("the edited call has the old row")
					}
				}
				b.run(func(ctx context.Context) {
					if debugger {
						b.arm(ctx, runtime.Break{Tool: "fire"})
					}
					b.begin(ctx, "go", time.Second)
					edit(ctx, `{"text":"edited once"}`)
					edit(ctx, `{"text":"b"}`)
					if len(b.ran) != 0 {
						t.Fatalf("ran %v", b.ran)
					}
					if restart {
						return
					}
					b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Allow: true})
					b.await(ctx, 0)
				})
				if restart {
					yes := true
					b.run(func(ctx context.Context) {
						b.snap(ctx)
						b.set(ctx, runtime.Setting{Resume: &yes, Decide: []runtime.Decision{{Call: b.waiting(ctx), Allow: true}}})
						b.await(ctx, 0)
					})
				}
				if d := cmp.Diff([]string{"fire:b", "read:r"}, b.ran); d != "" {
					t.Error(d)
				}
				var rows []string
				for _, c := range b.store.sessions["s"].calls {
					if c.Name == "fire" {
						rows = append(rows, fmt.Sprintf("%d %s %s %s", c.Reply, c.Status, c.Arguments, c.RawArguments))
					}
				}
				slices.Sort(rows)
				want := []string{`0 not_run {"text":"a"} `, `1 not_run {"text":"edited once"} {"text":"a"}`, `2 done {"text":"b"} {"text":"a"}`}
				if d := cmp.Diff(want, rows); d != "" {
					t.Error(d)
				}
				told := b.messages("s")[2].Content
				if !strings.Contains(told, `changed the arguments of this call before it ran: {\"text\":\"b\"}`) {
					t.Errorf("the model is told %s", told)
				}
				if n := b.count(trace.ToolCall); n != 2 {
					t.Errorf("%d tool_call events, want one a call that ran", n)
				}
				if n := len(b.store.sessions["s"].approvals); n != 3 {
					t.Errorf("%d approvals stored, want two edits and the word", n)
				}
				b.checkHistory("s")
			})
		}
	}
}

// The user may answer in a tool's place: the model gets that, is told so, and the tool does not run; also when the program
// stops in between.
func TestAnswerByHand(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for text, want := range map[string]string{`{"found":3}`: `"data":{"found":3}`, "it is \"raining\"": `"data":"it is \"raining\""`} {
			b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "fire", Args: `{"text":"b"}`}), scripted.Text("done"))
			b.run(func(ctx context.Context) {
				b.begin(ctx, "go", time.Second)
				b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Result: &text})
				if restart {
					return
				}
				b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Allow: true})
				b.await(ctx, 0)
			})
			if restart {
				yes := true
				b.run(func(ctx context.Context) {
					b.snap(ctx)
					b.set(ctx, runtime.Setting{Resume: &yes, Decide: []runtime.Decision{{Call: b.waiting(ctx), Allow: true}}})
					b.await(ctx, 0)
				})
			}
			if d := cmp.Diff([]string{"fire:b"}, b.ran); d != "" {
				t.Error(d)
			}
			if m := b.messages("s")[2].Content; !strings.Contains(m, want) || !strings.Contains(m, "The user gave this result") {
				t.Errorf("result = %s", m)
			}
			if b.count(trace.ToolCall) != 2 || b.count(trace.ToolResult) != 2 {
				t.Errorf("%d tool_call and %d tool_result events", b.count(trace.ToolCall), b.count(trace.ToolResult))
			}
			var c runtime.CallRow
			for _, row := range b.store.sessions["s"].calls {
				if row.Ord == 0 {
					c = row
				}
			}
			if c.Status != runtime.CallDone || c.SideEffect != tools.EffectNone || c.FinishedAt == nil || c.StartedAt != nil {
				t.Errorf("row = %+v", c)
			}
			b.checkHistory("s")
		}
	}
}

// One of several calls that run is stopped alone; the others and the run go on.
func TestStopOneCall(t *testing.T) {
	b := newBed(t, scripted.Calls(
		scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":60000}`},
		scripted.Call{Name: "read", Args: `{"text":"other","wait_ms":5000}`}), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		id := ""
		for _, c := range b.snap(ctx).Calls {
			if strings.Contains(c.Arguments, "slow") {
				id = c.ID
			}
		}
		b.set(ctx, runtime.Setting{StopCall: id})
		if end := b.await(ctx, 0); end.State != "succeeded" || end.DurationMS > 10_000 {
			t.Errorf("end = %+v", end)
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{StopCall: id}); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("a call that has ended is stopped: %v", err)
		}
	})
	if d := cmp.Diff([]string{"read:other"}, b.ran); d != "" {
		t.Error(d)
	}
	m := b.messages("s")
	if !strings.Contains(m[2].Content, "interrupted") || !strings.Contains(m[2].Content, "the user stopped this call alone") || !strings.Contains(m[3].Content, "other") {
		t.Errorf("results: %s; %s", m[2].Content, m[3].Content)
	}
	b.checkHistory("s")
}

// Allowing a tool for the session lets its other calls that wait run too, and no other tool's.
func TestAlwaysReleasesTheSameTool(t *testing.T) {
	b := asking(t, scripted.Calls(
		scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "put", Args: `{"text":"p"}`}, scripted.Call{Name: "fire", Args: `{"text":"b"}`}), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Allow: true, Always: true})
		if at := b.standing(ctx); at != `put {"text":"p"}` {
			t.Fatalf("waits: %s", at)
		}
		b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Allow: true})
		b.await(ctx, 0)
	})
	if d := cmp.Diff([]string{"fire:a", "put:p", "fire:b"}, b.ran); d != "" {
		t.Error(d)
	}
}

// A run says why it cannot go on under what is there today, and can be given up.
func TestVersions(t *testing.T) {
	without := func(b *bed, name string, instead ...tools.Tool) {
		var list []tools.Tool
		for _, tool := range b.tools() {
			if tool.Name() != name {
				list = append(list, tool)
			}
		}
		b.cfg.Registry = tools.NewRegistry(append(list, instead...)...)
		b.cfg.Executor = executorOf(b)
	}
	type other struct {
		Path string `json:"path"`
	}
	made := func(e tools.Effect) tools.Tool {
		return tools.New("put", "another", e, func(context.Context, tools.Call, echoArgs) (tools.Output, error) { return tools.Output{}, nil })
	}
	tests := map[string]struct {
		change func(b *bed)
		why    string
	}{
		"the tool is gone": {func(b *bed) { without(b, "put") }, "not here any more"},
		"another effect":   {func(b *bed) { without(b, "put", made(tools.SideEffect)) }, "its effect was idempotent; it is side_effect now"},
		"other arguments": {func(b *bed) {
			without(b, "put", tools.New("put", "another", tools.Idempotent, func(context.Context, tools.Call, other) (tools.Output, error) { return tools.Output{}, nil }))
		}, "does not take any more"},
		"the model is not here": {func(b *bed) { b.cfg.Serves = func(m string) error { return errors.New("no endpoint has " + m) } }, "no endpoint has scripted"},
		"another tool is gone":  {func(b *bed) { without(b, "big") }, ""},
		"another prompt":        {func(b *bed) { b.cfg.System = "You are another test." }, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := crashBed(t, "put", "x")
			b.crash(500 * time.Millisecond)
			tc.change(b)
			yes := true
			b.run(func(ctx context.Context) {
				b.snap(ctx)
				err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes})
				if tc.why == "" {
					if err != nil {
						t.Fatal(err)
					}
					if end := b.await(ctx, 0); end.State != "succeeded" {
						t.Errorf("end = %+v", end)
					}
					return
				}
				var cannot *runtime.VersionError
				if !errors.As(err, &cannot) || !strings.Contains(err.Error(), tc.why) {
					t.Fatalf("error = %v, want %q", err, tc.why)
				}
				b.cfg.Serves = nil
				if end := b.ask(ctx, "s", "next"); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
				if m := b.messages("s")[2].Content; !strings.Contains(m, "outcome_unknown") {
					t.Errorf("a call that had been started is closed as %s", m)
				}
			})
			b.checkHistory("s")
		})
	}
}

// A call that had not been started answers itself when its tool is gone; the run goes on.
func TestWaitingCallWithoutItsTool(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("done"))
	b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Second) })
	var list []tools.Tool
	for _, tool := range b.tools() {
		if tool.Name() != "fire" {
			list = append(list, tool)
		}
	}
	b.cfg.Registry = tools.NewRegistry(list...)
	b.cfg.Executor = executorOf(b)
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes})
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if m := b.messages("s")[2]; m.Role != llm.RoleTool || !strings.Contains(m.Content, "unknown_tool") {
		t.Errorf("result = %s", m.Content)
	}
	b.checkHistory("s")
}

// The wall time is the run's over all its processes, without what it waits for the user.
func TestWallTime(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).Delay(20*time.Second), scripted.Text("late").Delay(20*time.Second).Times(2))
	b.cfg.Limits.Budget.Deadline = 30 * time.Second
	b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Hour) })
	yes := true
	b.run(func(ctx context.Context) {
		b.snap(ctx)
		b.set(ctx, runtime.Setting{Resume: &yes, Decide: []runtime.Decision{{Call: b.waiting(ctx), Allow: true}}})
		end := b.await(ctx, 0)
		if end.State != "exhausted" || end.Reason != "deadline" || end.DurationMS < 29_900 || end.DurationMS > 30_100 {
			t.Errorf("end = %+v", end)
		}
	})
	if len(b.ran) != 1 {
		t.Errorf("ran %v", b.ran)
	}
	b.checkHistory("s")
}
