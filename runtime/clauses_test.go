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
	"vitrine/llm/llmtest"
	"vitrine/llm/openai"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// A transaction that the store refuses takes no result with it: what it held of the step's calls is stored with the run's end.
func TestRefusedCommitLosesNoResult(t *testing.T) {
	for refused := 3; refused <= 4; refused++ { // the first of two results, then both
		b := newBed(t, scripted.Calls(
			scripted.Call{Name: "note", Args: `{"text":"a"}`}, scripted.Call{Name: "note", Args: `{"text":"b"}`}).When("go"), scripted.Text("fine"))
		n := 0
		b.store.fail = func(_ runtime.Tx, after bool) error {
			if !after {
				n++
			}
			if n == refused && !after {
				return runtime.ErrConstraint
			}
			return nil
		}
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "failed" || end.Reason != "internal" {
				t.Errorf("end = %+v", end)
			}
			b.ask(ctx, "s", "next")
		})
		for _, c := range b.store.sessions["s"].calls {
			if c.Result == nil {
				t.Errorf("commit %d refused: %s %s has no result", refused, c.Name, c.Arguments)
			}
		}
		if got := len(b.store.sessions["s"].todos); got != len(b.ran) {
			t.Errorf("commit %d refused: %d of %d todos are stored", refused, got, len(b.ran))
		}
		b.checkHistory("s")
	}
}

// A session that was lost in the middle of a turn and is opened again: the turn of before ends, and writes nothing more. It is
// told of as interrupted, and a further message works.
func TestLostInTheMiddleOfATurn(t *testing.T) {
	b := newBed(t, scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"slow","wait_ms":5000}`}).When("go"), scripted.Text("fine"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		s := b.store.sessions["s"]
		s.row.Fence.Epoch++
		if err := b.eng.Submit(ctx, "s", "queued"); !errors.Is(err, runtime.ErrFenced) {
			t.Fatalf("submit: %v", err)
		}
		commits := len(b.store.commits)
		if _, err := b.eng.Open(ctx, "s", false); !errors.Is(err, runtime.ErrFenced) {
			t.Errorf("opened while the turn of before is on: %v", err)
		}
		if err := b.clk.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if len(b.store.commits) != commits {
			t.Error("the turn that was lost wrote on")
		}
		snap, err := b.eng.Open(ctx, "s", false)
		if err != nil || snap.Running || snap.Run == nil || !strings.Contains(snap.Notice, "interrupted") {
			t.Fatalf("%+v %v", snap.Run, err)
		}
		if end := b.ask(ctx, "s", "next"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	closings := 0
	for _, m := range b.messages("s") {
		if m.Kind == llm.KindClosing {
			closings++
		}
	}
	if closings != 1 {
		t.Errorf("%d closing messages", closings)
	}
	b.checkHistory("s")
}

// told gives the places of results, from 1, that carry the notice of going in circles.
func (b *bed) told() []int {
	var out []int
	for i, m := range b.results() {
		if strings.Contains(m, "You repeat yourself") {
			out = append(out, i+1)
		}
	}
	return out
}

// reading asks for one reading in each reply, args by how many requests came before, while the last words of the user are go.
func reading(args func(n int) string) scripted.Step {
	n := -1
	return scripted.Func(func(llm.Request) scripted.Step {
		n++
		return scripted.Calls(scripted.Call{Name: "read", Args: args(n)})
	}).When("go").Times(-1)
}

// B059, the other side: what looks alike and is none. Polling whose result changes, the same reading after an edit, the same
// effect asked for many times with other arguments, few repetitions: no notice, no end.
func TestB059NoFalseAlarm(t *testing.T) {
	tests := map[string]struct {
		calls func(n int) scripted.Call
		data  func(n int) string // what poll says the n-th time
		steps int
	}{
		"polling that changes": {func(int) scripted.Call { return scripted.Call{Name: "poll", Args: `{"text":"job"}`} },
			func(n int) string { return fmt.Sprint(n, " of 20 done") }, 20},
		"polling that changes at times": {func(int) scripted.Call { return scripted.Call{Name: "poll", Args: `{"text":"job"}`} },
			func(n int) string { return fmt.Sprint(n/2, " of 20 done") }, 20},
		"reading after each edit": {func(n int) scripted.Call {
			if n%2 == 0 {
				return scripted.Call{Name: "poll", Args: `{"text":"the file"}`}
			}
			return scripted.Call{Name: "fire", Args: fmt.Sprintf(`{"text":"edit %d"}`, n)}
		}, func(n int) string { return fmt.Sprint("version ", n) }, 20},
		"reading what an edit left alone": {func(n int) scripted.Call {
			if n%2 == 0 {
				return scripted.Call{Name: "read", Args: `{"text":"other file"}`}
			}
			return scripted.Call{Name: "fire", Args: fmt.Sprintf(`{"text":"edit %d"}`, n)}
		}, nil, 20},
		"one of each": {func(n int) scripted.Call {
			return scripted.Call{Name: "put", Args: fmt.Sprintf(`{"text":"row %d"}`, n)}
		}, nil, 20},
		"twice": {func(n int) scripted.Call { return scripted.Call{Name: "read", Args: fmt.Sprintf(`{"text":"%d"}`, n/2)} }, nil, 20},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			n, polled := -1, 0
			b := newBed(t, scripted.Func(func(llm.Request) scripted.Step {
				if n++; n == tc.steps {
					return scripted.Text("done")
				}
				return scripted.Calls(tc.calls(n))
			}).Times(-1))
			b.cfg.Limits.Budget = runtime.Budget{}
			b.cfg.Registry = tools.NewRegistry(append(b.tools(), tools.New("poll", "looks how far it is", tools.ReadOnly,
				func(context.Context, tools.Call, echoArgs) (tools.Output, error) {
					polled++
					return tools.Output{Data: tc.data(polled)}, nil
				}))...)
			b.cfg.Executor = executorOf(b)
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "go"); end.State != "succeeded" || end.Calls != tc.steps || len(b.told()) > 0 {
					t.Errorf("end = %+v, told at %v", end, b.told())
				}
			})
		})
	}
}

func served(t *testing.T, policy *runtime.Policy, replies ...llmtest.Reply) (*bed, *llmtest.Server, chan trace.Event) {
	b := newBed(t)
	srv := llmtest.NewServer().Strict()
	t.Cleanup(srv.Close)
	srv.Push(replies...)
	client := openai.New(openai.Config{BaseURL: srv.URL()})
	t.Cleanup(client.Close)
	evs := make(chan trace.Event, 4096)
	b.cfg.Clock, b.cfg.Model, b.cfg.Policy = clock.Real(), client, policy
	b.cfg.Bus = publisher(func(all ...trace.Event) {
		b.Publish(all...)
		for _, ev := range all {
			evs <- ev
		}
	})
	b.store.publish = b.cfg.Bus.Publish
	b.cfg.Registry = tools.NewRegistry(append(b.tools(), tools.New("hold", "ends with its context", tools.SideEffect,
		func(ctx context.Context, call tools.Call, in echoArgs) (tools.Output, error) {
			call.Progress("started " + in.Text)
			if in.Text == "first" {
				<-ctx.Done()
				return tools.Output{Data: "half of it"}, ctx.Err()
			}
			return tools.Output{Data: in.Text}, nil
		}))...)
	b.cfg.Executor = executorOf(b)
	b.eng = runtime.NewEngine(b.cfg)
	t.Cleanup(func() {
		if err := b.eng.Shutdown(context.Background(), false); err != nil {
			t.Error(err)
		}
	})
	if _, err := b.eng.Open(t.Context(), "s", true); err != nil {
		t.Fatal(err)
	}
	return b, srv, evs
}

type publisher func(...trace.Event)

func (p publisher) Publish(evs ...trace.Event) { p(evs...) }

// B064: Esc while the first of three calls runs, between the first and the second, while arguments stream, and while the user is
// asked; then "continue". The strict server takes the history: each call has one result; what had streamed is kept and marked.
func TestB064EscThenContinue(t *testing.T) {
	three := func(first string) llmtest.Reply {
		return llmtest.Ask(llm.ToolCall{ID: "a", Name: "hold", Arguments: `{"text":"` + first + `"}`},
			llm.ToolCall{ID: "b", Name: "hold", Arguments: `{"text":"second"}`}, llm.ToolCall{ID: "c", Name: "hold", Arguments: `{"text":"third"}`})
	}
	tests := map[string]struct {
		reply   llmtest.Reply
		policy  *runtime.Policy
		at      func(trace.Event) bool // the moment of the Esc
		results []string
		closing string
	}{
		"in the first": {three("first"), nil, func(ev trace.Event) bool { return ev.Name == trace.Progress },
			[]string{`"interrupted"`, `"not_run"`, `"not_run"`}, "[cancelled]"},
		"between the first and the second": {three("quick"), nil, func(ev trace.Event) bool { return ev.Name == trace.ToolResult },
			[]string{`"ok":true`, `not_run`, `"not_run"`}, "[cancelled]"},
		"arguments stream": {llmtest.Stream(llmtest.Text("I will look"), llmtest.CallHead(0, "a", "hold"), llmtest.CallArguments(0, `{"te`)).Hold(), nil,
			func(ev trace.Event) bool { d, ok := ev.Data.(trace.DeltaData); return ok && d.Kind == "call" },
			nil, "I will look\n\n[interrupted]"},
		"asked": {three("quick"), runtime.DefaultPolicy(), func(ev trace.Event) bool { return ev.Name == trace.Approval },
			[]string{`"not_run"`, `"not_run"`, `"not_run"`}, "[cancelled]"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b, srv, evs := served(t, tc.policy, tc.reply, llmtest.Answer("going on"))
			between := name == "between the first and the second"
			if between { // within the commit of the first result, which starts the second: it must not be skipped past
				b.store.fail = func(tx runtime.Tx, after bool) error {
					for _, c := range tx.Calls {
						if !after && c.Result != nil && c.Status == runtime.CallDone {
							b.eng.Cancel("s")
						}
					}
					return nil
				}
			}
			next := func(match func(trace.Event) bool) {
				for {
					select {
					case ev := <-evs:
						if match(ev) {
							return
						}
					case <-t.Context().Done():
						t.Fatal("nothing comes")
					}
				}
			}
			ended := func(ev trace.Event) bool { return ev.Name == trace.RunEnd }
			if err := b.eng.Submit(t.Context(), "s", "go"); err != nil {
				t.Fatal(err)
			}
			next(tc.at)
			b.eng.Cancel("s")
			next(ended)
			b.store.fail = nil
			if got := b.last("s"); got.Content != tc.closing || got.Partial != strings.Contains(tc.closing, "interrupted") {
				t.Errorf("closing = %+v", got)
			}
			if got := b.results(); len(got) != len(tc.results) {
				t.Errorf("%d results: %v", len(got), got)
			} else {
				for i, want := range tc.results {
					if between && i == 1 {
						// Its intent was in that commit: it may have been about to start.
						if !strings.Contains(got[i], "not_run") && !strings.Contains(got[i], "outcome_unknown") && !strings.Contains(got[i], "interrupted") {
							t.Errorf("result 2 = %s", got[i])
						}
						continue
					}
					if !strings.Contains(got[i], want) {
						t.Errorf("result %d = %s, want %s", i+1, got[i], want)
					}
				}
			}
			if name == "in the first" && !strings.Contains(b.results()[0], "half of it") {
				t.Errorf("the partial output is lost: %s", b.results()[0])
			}
			if err := b.eng.Submit(t.Context(), "s", "continue"); err != nil {
				t.Fatal(err)
			}
			next(ended)
			if d := b.named(trace.RunEnd)[1].Data.(trace.RunEndData); d.State != "succeeded" {
				t.Errorf("continue: %+v", d)
			}
			reqs := srv.Requests()
			for i, r := range reqs {
				if r.Problem != nil {
					t.Errorf("request %d: %v", i+1, r.Problem)
				}
			}
			if len(reqs) != 2 || !strings.Contains(string(reqs[1].Body), strings.Split(tc.closing, "\n")[0]) {
				t.Errorf("%d requests; the last: %s", len(reqs), reqs[len(reqs)-1].Body)
			}
			b.checkHistory("s")
		})
	}
}

// B065: a call that Esc interrupted and one that the user denied read differently, in the store and for the model: the first was
// started, may have had effects, and keeps what it had said; the second did not run.
func TestB065DeniedIsNotInterrupted(t *testing.T) {
	one := func(denied bool) (runtime.CallRow, string) {
		b := asking(t, scripted.Calls(scripted.Call{Name: "hold", Args: `{"text":"x"}`}).When("go"), scripted.Text("fine"))
		b.cfg.Registry = tools.NewRegistry(append(b.tools(), tools.New("hold", "runs long", tools.SideEffect,
			func(ctx context.Context, _ tools.Call, in echoArgs) (tools.Output, error) {
				b.ran = append(b.ran, in.Text)
				return tools.Output{Data: "line 1 of 2"}, b.clk.Sleep(ctx, time.Minute)
			}))...)
		b.cfg.Executor = executorOf(b)
		b.run(func(ctx context.Context) {
			b.begin(ctx, "go", time.Second)
			b.decide(ctx, runtime.Decision{Call: b.questions()[0].ID, Allow: !denied, Reason: "too long"})
			if !denied {
				b.eng.Cancel("s")
			}
			b.await(ctx, 0)
		})
		if ran := len(b.ran) > 0; ran == denied {
			t.Errorf("denied %v, ran %v", denied, ran)
		}
		b.checkHistory("s")
		for _, c := range b.store.sessions["s"].calls {
			return c, b.results()[0]
		}
		return runtime.CallRow{}, ""
	}
	no, said := one(true)
	if no.Status != runtime.CallDenied || no.SideEffect != "none" || no.StartedAt != nil || !strings.Contains(said, `"denied"`) || !strings.Contains(said, "not run: too long") {
		t.Errorf("denied: %+v %s", no, said)
	}
	cut, said := one(false)
	if cut.Status != runtime.CallInterrupted || cut.SideEffect != "unknown" || cut.StartedAt == nil || !strings.Contains(said, `"interrupted"`) ||
		!strings.Contains(said, "may have had effects") || !strings.Contains(said, "line 1 of 2") || !strings.Contains(string(cut.Result), "line 1 of 2") {
		t.Errorf("interrupted: %+v %s", cut, said)
	}
}

// dying starts the turn "go" in a process that stops when at says so after a commit, and leaves the bed for the next process.
func (b *bed) dying(at func(tx runtime.Tx) bool, next ...scripted.Step) {
	b.store.fail = func(tx runtime.Tx, after bool) error {
		if after && at(tx) {
			return clock.NewLatch(b.clk).Wait(context.Background()) // for ever: the process ends here
		}
		return nil
	}
	b.crash(time.Minute)
	b.store.fail = nil
	b.model = scripted.New(b.clk, next...).Strict()
	b.cfg.Model = b.model
}

// B067, what the engine has in it: the program dies after the reply is stored, in the second of three calls, between the result
// and the next request. "go on" is answered; results that lack are written once, and opening again adds nothing.
func TestB067CrashBetweenCallAndResult(t *testing.T) {
	three := scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"1"}`}, scripted.Call{Name: "fire", Args: `{"text":"2","wait_ms":30}`}, scripted.Call{Name: "fire", Args: `{"text":"3"}`})
	count := func(tx runtime.Tx, want int) bool {
		return len(tx.Messages) > 0 && tx.Messages[0].Role == llm.RoleTool && len(tx.Calls) == want
	}
	tests := map[string]struct {
		at       func(tx runtime.Tx) bool
		results  []string
		repaired int
	}{
		"after the reply": {func(tx runtime.Tx) bool { return len(tx.Calls) == 3 && tx.Run.State == runtime.StateExecuting }, []string{"outcome_unknown", "not_run", "not_run"}, 1},
		"in the second":   {func(tx runtime.Tx) bool { return count(tx, 2) }, []string{`"ok":true`, "outcome_unknown", "not_run"}, 1},
		"before the next request": {func(tx runtime.Tx) bool { return count(tx, 1) && tx.Run.State == runtime.StateWaitingModel },
			[]string{`"ok":true`, `"ok":true`, `"ok":true`}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, three)
			b.dying(tc.at, scripted.Text("fine").Times(-1))
			for range 2 { // opened and left: nothing is written
				b.run(func(ctx context.Context) {
					before := len(b.store.commits)
					if snap, err := b.eng.Open(ctx, "s", false); err != nil || snap.Run == nil {
						t.Fatal(err)
					}
					if len(b.store.commits) != before {
						t.Error("opening writes")
					}
				})
			}
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "go on"); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			b.run(func(ctx context.Context) {
				if end := b.ask(ctx, "s", "and again"); end.State != "succeeded" {
					t.Errorf("end = %+v", end)
				}
			})
			got := b.results()
			if len(got) != 3 {
				t.Fatalf("%d results: %v", len(got), got)
			}
			for i, want := range tc.results {
				if !strings.Contains(got[i], want) {
					t.Errorf("result %d = %s, want %s", i+1, got[i], want)
				}
			}
			if n := b.count(trace.HistoryRepaired); n != tc.repaired {
				t.Errorf("%d times repaired, want %d", n, tc.repaired)
			}
			b.checkHistory("s")
		})
	}
}

// B067: a session of an older build that holds a call without a result, and no run that it belongs to, goes on too.
func TestB067DanglingCallOfAnOlderBuild(t *testing.T) {
	b := newBed(t, scripted.Text("fine").Times(-1))
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			t.Fatal(err)
		}
	})
	s := b.store.sessions["s"]
	s.messages = []runtime.MessageRow{
		{N: 1, SessionID: "s", Kind: llm.KindUser, Role: llm.RoleUser, Content: "go"},
		{N: 2, SessionID: "s", Kind: llm.KindAssistant, Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "fire", Arguments: `{"text":"x"}`}}},
	}
	s.row.NextN = 3
	for range 2 {
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go on"); end.State != "succeeded" {
				t.Errorf("end = %+v", end) // the model is strict
			}
		})
	}
	if len(b.ran) > 0 {
		t.Errorf("ran %v", b.ran)
	}
}

// B070: a message in place of an answer, in the process that asked and in a resumed one: the call is answered as not run before the
// message, and a word that comes later finds nothing that waits.
func TestB070MessageDuringApproval(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"), scripted.Text("fine"))
		ends := 0
		if resumed {
			b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Second) })
		}
		b.run(func(ctx context.Context) {
			if !resumed {
				b.begin(ctx, "go", time.Second)
			} else {
				yes := true
				snap, err := b.eng.Open(ctx, "s", false)
				if err != nil || snap.Run == nil || snap.Run.State != runtime.StateWaitingApproval {
					t.Fatalf("%+v %v", snap.Run, err)
				}
				if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
					t.Fatal(err)
				}
				if err := b.clk.Sleep(ctx, time.Second); err != nil {
					t.Fatal(err)
				}
			}
			ends = b.count(trace.RunEnd)
			if err := b.eng.Submit(ctx, "s", "actually do X"); err != nil {
				t.Fatal(err)
			}
			if end := b.await(ctx, ends+1); end.State != "succeeded" {
				t.Errorf("resumed %v: %+v", resumed, end)
			}
			word := runtime.Decision{Call: b.questions()[0].ID, Allow: true}
			if err := b.eng.Set(ctx, "s", runtime.Setting{Decide: []runtime.Decision{word}}); !errors.Is(err, runtime.ErrNotFound) {
				t.Errorf("a word on a call that waits no more: %v", err)
			}
			if snap, err := b.eng.Open(ctx, "s", false); err != nil || snap.Run != nil || len(snap.Calls) > 0 {
				t.Errorf("the question still stands: %+v %v", snap.Run, err)
			}
		})
		if len(b.ran) != 0 || !strings.Contains(b.messages("s")[2].Content, "the user sent a new message") {
			t.Errorf("resumed %v: ran %v; %s", resumed, b.ran, b.messages("s")[2].Content)
		}
		var kinds []string
		for _, m := range b.messages("s") {
			kinds = append(kinds, string(m.Kind))
		}
		if d := cmp.Diff([]string{"user", "assistant", "tool", "closing", "user", "assistant"}, kinds); d != "" {
			t.Error(d)
		}
		b.checkHistory("s")
	}
}

// B073: write, list, remove and list in one reply, 100 times with other times of running: the first list has what was written, the
// second has not, and the results stand in call order.
func TestB073OrderWithinAReply(t *testing.T) {
	for i := range 100 {
		b := newBed(t, scripted.Calls(
			scripted.Call{Name: "write", Args: `{"text":"b.txt"}`}, scripted.Call{Name: "list", Args: `{"text":"."}`},
			scripted.Call{Name: "remove", Args: `{"text":"b.txt"}`}, scripted.Call{Name: "list", Args: `{"text":". "}`}, scripted.Call{Name: "list", Args: `{"text":"./"}`}),
			scripted.Text("done"))
		files := map[string]bool{}
		act := func(name string, effect tools.Effect, wait int) tools.Tool {
			return tools.New(name, name, effect, func(ctx context.Context, _ tools.Call, in echoArgs) (tools.Output, error) {
				if err := b.clk.Sleep(ctx, time.Duration(wait%7)*time.Millisecond); err != nil {
					return tools.Output{}, err
				}
				if name != "list" {
					files[in.Text] = name == "write"
				}
				return tools.Output{Data: fmt.Sprintf("%s %q: b.txt is %v", name, in.Text, files["b.txt"])}, nil
			})
		}
		b.cfg.Registry = tools.NewRegistry(act("write", tools.SideEffect, i), act("list", tools.ReadOnly, i/2), act("remove", tools.SideEffect, i/3))
		b.cfg.Executor = executorOf(b)
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		got := b.results()
		for j, want := range []string{"write", `\".\": b.txt is true`, "remove", `\". \": b.txt is false`, `\"./\": b.txt is false`} {
			if j >= len(got) || !strings.Contains(got[j], want) {
				t.Fatalf("run %d, result %d: %v, want %s", i, j+1, got, want)
			}
		}
	}
}

// B088: at the limit of five steps, with a tool that works and one that refuses every call, the turn ends with a notice that names
// the limit and its setting; all five calls and results are stored; "continue" goes on from there.
func TestB088LimitKeepsTheWork(t *testing.T) {
	for _, args := range []func(int) string{
		func(n int) string { return fmt.Sprintf(`{"text":"%d"}`, n) },
		func(n int) string { return fmt.Sprintf(`{"text":{"no":%d}}`, n) }, // never what the schema wants
	} {
		b := newBed(t, reading(args), scripted.Text("fine"))
		b.cfg.Limits.Budget = runtime.Budget{Steps: 5}
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "exhausted" || end.Reason != "steps" || end.Steps != 5 {
				t.Errorf("end = %+v", end)
			}
			d := b.named(trace.Error)[0].Data.(trace.ErrorData)
			if !strings.Contains(d.Message, "5 of 5 steps") || !strings.Contains(d.Why, "AGENT_MAX_TOOL_ITERS") || !d.Stored {
				t.Errorf("notice = %+v", d)
			}
			if closing := b.last("s"); closing.Content != "[stopped] budget used up: 5 of 5 steps (AGENT_MAX_TOOL_ITERS). The model was not asked again." {
				t.Errorf("closing = %q", closing.Content)
			}
			if got := len(b.results()); got != 5 {
				t.Errorf("%d results in the history", got)
			}
			withResult := 0
			for _, c := range b.store.sessions["s"].calls {
				if c.Result != nil {
					withResult++
				}
			}
			if withResult != 5 {
				t.Errorf("%d of 5 calls are stored with their results", withResult)
			}
			stored := len(b.messages("s"))
			if end := b.ask(ctx, "s", "continue"); end.State != "succeeded" || end.Steps != 1 {
				t.Errorf("continue: %+v", end)
			}
			reqs := b.model.Requests() // strict
			if got := len(reqs[len(reqs)-1].Messages); got != 1+stored+1 {
				t.Errorf("continue was sent with %d messages of %d", got, stored)
			}
		})
		b.checkHistory("s")
	}
}

// B089: the same wrong argument, asked 20 times: the error names field, what is expected and what came; told once, then the end.
// What loses nothing is taken as it is meant.
func TestB089SameValidationError(t *testing.T) {
	type item struct {
		ID   int  `json:"id"`
		Done bool `json:"done,omitempty"`
	}
	tests := []struct {
		args string
		bad  []string // in the error; nil: it runs
	}{
		{`{"id":1,"done":"true"}`, nil}, {`{"id":"1"}`, nil}, {`{"id":1.0}`, nil},
		{`{"id":null}`, []string{`"field":"id"`, "integer", "null"}},
		{`{"id":1,"done":"maybe"}`, []string{`"field":"done"`, "boolean", "maybe"}},
		{`{"id":1.5}`, []string{`"field":"id"`, "integer", "1.5"}},
	}
	for _, tc := range tests {
		ran := 0
		b := newBed(t, scripted.Calls(scripted.Call{Name: "item", Args: tc.args}).When("go").Times(20), scripted.Text("fine"))
		b.cfg.Limits.Budget = runtime.Budget{}
		b.cfg.Registry = tools.NewRegistry(tools.New("item", "an item", tools.ReadOnly, func(_ context.Context, _ tools.Call, in item) (tools.Output, error) {
			if in.ID != 1 || in.Done != strings.Contains(tc.args, "true") {
				t.Errorf("%s is taken as %+v", tc.args, in)
			}
			ran++
			return tools.Output{Data: ran}, nil // it changes: no circle
		}))
		b.cfg.Executor = executorOf(b)
		b.run(func(ctx context.Context) {
			end := b.ask(ctx, "s", "go")
			if tc.bad == nil {
				if ran != 20 {
					t.Errorf("%s ran %d times", tc.args, ran)
				}
				return
			}
			if ran != 0 || end.State != "exhausted" || end.Reason != "no_progress" || len(b.results()) != 5 {
				t.Errorf("%s: %+v, ran %d times, %d results", tc.args, end, ran, len(b.results()))
			}
			for _, want := range tc.bad {
				if !strings.Contains(b.results()[0], want) {
					t.Errorf("%s: %s lacks %s", tc.args, b.results()[0], want)
				}
			}
			if d := cmp.Diff([]int{3}, b.told()); d != "" {
				t.Errorf("%s: told at %s", tc.args, d)
			}
		})
		b.checkHistory("s")
	}
}

// A denial that was stored before the program died is one in the next process, with its reason; what was not answered is asked, and
// what was allowed for good is not asked again there, also in a later turn.
func TestWordsSurviveTheCrash(t *testing.T) {
	both := scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}, scripted.Call{Name: "put", Args: `{"text":"b"}`})
	b := asking(t, both.When("go"))
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		b.begin(ctx, "go", time.Second)
		q := b.questions()
		b.decide(ctx, runtime.Decision{Call: q[0].ID, Reason: "not on a Friday"})
	})
	b.crashNow(10 * time.Second)
	b.model = scripted.New(b.clk, scripted.Text("done").When("go"), scripted.Calls(scripted.Call{Name: "put", Args: `{"text":"c"}`}).When("more"), scripted.Text("fine").Times(-1)).Strict()
	b.cfg.Model = b.model
	b.events = nil
	b.run(func(ctx context.Context) {
		snap, err := b.eng.Open(ctx, "s", false)
		if err != nil || snap.Run == nil {
			t.Fatal(err)
		}
		yes := true
		if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
			t.Fatal(err)
		}
		if err := b.clk.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		q := b.questions()
		if len(q) != 1 || q[0].Tool != "put" {
			t.Fatalf("asked about %+v", q)
		}
		b.decide(ctx, runtime.Decision{Call: q[0].ID, Allow: true, Always: true})
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if got := b.results(); !strings.Contains(got[0], `"denied"`) || !strings.Contains(got[0], "not on a Friday") || !strings.Contains(got[1], `"echo":"b"`) {
		t.Errorf("results = %v", got)
	}
	for _, c := range b.store.sessions["s"].calls {
		if c.Name == "fire" && c.Status != runtime.CallDenied {
			t.Errorf("the denied call is %s", c.Status)
		}
	}
	asked := len(b.store.sessions["s"].approvals)
	b.run(func(ctx context.Context) { // another process
		if end := b.ask(ctx, "s", "more"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if d := cmp.Diff([]string{"put:b", "put:c"}, b.ran); d != "" || len(b.store.sessions["s"].approvals) != asked {
		t.Errorf("ran %s; %d more questions", d, len(b.store.sessions["s"].approvals)-asked)
	}
	b.checkHistory("s")
}

// The program dies right behind the commit of the only denial: the run has not gone on, and the next process tells the model.
func TestDenialSurvivesTheCrash(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).When("go"))
	b.store.fail = func(tx runtime.Tx, after bool) error {
		if after && len(tx.Approvals) > 0 && tx.Approvals[0].Answer == "deny" {
			return clock.NewLatch(b.clk).Wait(context.Background())
		}
		return nil
	}
	b.clk.Go(func() {
		b.eng = runtime.NewEngine(b.cfg)
		ctx := context.Background()
		b.begin(ctx, "go", time.Second)
		b.decide(ctx, runtime.Decision{Call: b.questions()[0].ID, Reason: "never"})
	})
	b.crashNow(10 * time.Second)
	b.store.fail = nil
	b.events = nil
	yes := true
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", false); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Set(ctx, "s", runtime.Setting{Resume: &yes}); err != nil {
			t.Fatal(err)
		}
		if end := b.await(ctx, 0); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if got := b.results(); len(b.ran) > 0 || len(b.questions()) > 0 || len(got) != 1 || !strings.Contains(got[0], "denied, not run: never") {
		t.Errorf("ran %v, asked %v, results %v", b.ran, b.questions(), got)
	}
	b.checkHistory("s")
}
