package runtime_test

import (
	"context"
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

// reads is a reply that reads each text.
func reads(texts ...string) scripted.Step {
	var calls []scripted.Call
	for _, s := range texts {
		calls = append(calls, scripted.Call{Name: "read", Args: fmt.Sprintf(`{"text":%q}`, s)})
	}
	return scripted.Calls(calls...)
}

// The cap falls among calls that run side by side: those that fit in run and have their results, the others read as not run. None
// reads as one that was interrupted.
func TestCapAmongCallsSideBySide(t *testing.T) {
	for most := 1; most <= 2; most++ {
		b := newBed(t, reads("a", "b", "c"))
		b.cfg.Limits.Budget.Calls = most
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "exhausted" || end.Reason != "calls" || end.Calls != most {
				t.Errorf("cap %d: %+v", most, end)
			}
		})
		if len(b.ran) != most {
			t.Errorf("cap %d: ran %v", most, b.ran)
		}
		if calls, results := b.count(trace.ToolCall), b.count(trace.ToolResult); calls != 3 || results != 3 {
			t.Errorf("cap %d: %d calls and %d results are told", most, calls, results)
		}
		for i, r := range b.results() {
			if want := map[bool]string{true: `"ok":true`, false: `"not_run"`}[i < most]; !strings.Contains(r, want) {
				t.Errorf("cap %d, result %d: %s", most, i+1, r)
			}
		}
		b.checkHistory("s")
	}
}

// What counts in a row is reset by what lies between: failures for want of a service, unknown tools, circles.
func TestCountsInARowAreReset(t *testing.T) {
	nope := scripted.Calls(scripted.Call{Name: "nope", Args: `{}`})
	tests := map[string]struct {
		steps   []scripted.Step
		ran     int
		notices int
	}{
		"unavailable": {[]scripted.Step{reads("down"), reads("down"), reads("a"), reads("down"), reads("down"), reads("b"), scripted.Text("done")}, 2, 0},
		"unknown":     {[]scripted.Step{nope, nope, reads("a"), nope, nope, reads("b"), scripted.Text("done")}, 2, 0},
		"circle": {[]scripted.Step{reads("a"), reads("a"), reads("a"), reads("b"), reads("a"), reads("a"), reads("a"), reads("a"), scripted.Text("done")},
			8, 2},
	}
	for name, tc := range tests {
		b := newBed(t, tc.steps...)
		b.cfg.Limits.Budget.Steps = 20
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
				t.Errorf("%s: %+v", name, end)
			}
		})
		if n := strings.Count(strings.Join(b.results(), " "), "You repeat yourself"); n != tc.notices || len(b.ran) != tc.ran {
			t.Errorf("%s: %d notices, ran %v", name, n, b.ran)
		}
	}
}

// Calls of a reply that was cut by a filter are not run, as little as those of one that was too long.
func TestCutRepliesRunNothing(t *testing.T) {
	for _, fin := range []llm.Finish{llm.FinishContentFilter, llm.FinishLength} {
		b := newBed(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).Finish(fin), scripted.Text("done"))
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		if got := b.results(); len(b.ran) > 0 || len(got) != 1 || !strings.Contains(got[0], "truncated_arguments") || !strings.Contains(got[0], string(fin)) {
			t.Errorf("%s: ran %v, %v", fin, b.ran, got)
		}
	}
}

// An answer that the server ended is told to be cut, with what to change, and stays a part of the turn; a whole one is not.
func TestCutAnswersAreTold(t *testing.T) {
	for _, tt := range []struct {
		fin   llm.Finish
		limit int
		want  string
	}{
		{llm.FinishLength, 0, "cut off at the server's limit|set LLM_MAX_TOKENS"}, {llm.FinishLength, 60, "cut off at the limit|let LLM_MAX_TOKENS allow more"},
		{llm.FinishContentFilter, 60, "filter cut|another way"}, {llm.FinishStop, 60, ""},
	} {
		b := newBed(t, scripted.Text("half of").Finish(tt.fin))
		b.cfg.Limits.ReplyTokens = tt.limit
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
				t.Errorf("%+v", end)
			}
		})
		notes := b.notices("reply_cut")
		message, todo, cut := strings.Cut(tt.want, "|")
		if cut != (len(notes) == 1) || cut && (!strings.Contains(notes[0].Message, message) || !strings.Contains(notes[0].Todo, todo)) {
			t.Errorf("%s with a limit of %d: %+v", tt.fin, tt.limit, notes)
		}
		if b.last("s").Content != "half of" || b.last("s").Partial != cut {
			t.Errorf("%+v", b.last("s"))
		}
	}
}

// While the debugger looks, calls that would run side by side run one by one.
func TestDebuggerTakesReadsOneByOne(t *testing.T) {
	b := newBed(t, reads("a", "b"), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		b.arm(ctx, next)
		b.begin(ctx, "go", time.Second)
		b.goOn(ctx, next)
		b.goOn(ctx, next)
		if at := b.standing(ctx); at != `read {"text":"b"}` || len(b.ran) != 1 {
			t.Errorf("it stands before %s, ran %v", at, b.ran)
		}
		b.goOn(ctx, runtime.Break{})
		b.await(ctx, 0)
	})
}

// A call whose arguments the user changed, and which they denied then, is not told as one that ran with them.
func TestEditedThenDenied(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}), scripted.Text("done"))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Second)
		b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Arguments: `{"text":"b"}`})
		b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Reason: "no after all"})
		b.await(ctx, 0)
	})
	if got := b.results(); len(got) != 1 || strings.Contains(got[0], "before it ran") || !strings.Contains(got[0], "no after all") {
		t.Errorf("results %v", got)
	}
}

// The time of a run is that before and after it stood still, not the time that the user took.
func TestTimeAroundAWait(t *testing.T) {
	b := asking(t, scripted.Calls(scripted.Call{Name: "fire", Args: `{"text":"a"}`}).Delay(10*time.Second), scripted.Text("done").Delay(10*time.Second))
	b.run(func(ctx context.Context) {
		b.begin(ctx, "go", time.Hour)
		b.decide(ctx, runtime.Decision{Call: b.waiting(ctx), Allow: true})
		if end := b.await(ctx, 0); end.DurationMS != 20_000 {
			t.Errorf("end = %+v", end)
		}
	})
}

// Checks hold over a restart: a tool that was called before it counts, an answer that was stored and not yet verified stands once,
// and a turn that fails after an answer was sent back still ends with a closing message.
func TestChecksOverARestart(t *testing.T) {
	yes := true
	t.Run("tool", func(t *testing.T) {
		b := newBed(t, reads("a").When("go"), scripted.Text("done").Delay(time.Hour).When("go"), scripted.Text("done").When("go"))
		b.cfg.Checks = &runtime.Checks{Tool: "read"}
		b.run(func(ctx context.Context) { b.begin(ctx, "go", time.Second) })
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, runtime.Setting{Resume: &yes})
			if end := b.await(ctx, 0); end.State != "succeeded" || end.Steps != 2 {
				t.Errorf("end = %+v", end)
			}
		})
	})
	t.Run("answer", func(t *testing.T) {
		b := newBed(t, scripted.Text("12"))
		b.cfg.Checks = &runtime.Checks{Regexp: `^\d+$`}
		b.dying(func(tx runtime.Tx) bool { return tx.Run != nil && tx.Run.State == runtime.StateVerifying })
		b.run(func(ctx context.Context) {
			b.snap(ctx)
			b.set(ctx, runtime.Setting{Resume: &yes})
			if end := b.await(ctx, 0); end.State != "succeeded" {
				t.Errorf("end = %+v", end)
			}
		})
		if got := len(b.messages("s")); got != 2 {
			t.Errorf("%d messages", got)
		}
		b.checkHistory("s")
	})
	t.Run("closing", func(t *testing.T) {
		b := newBed(t, scripted.Text("about 12"), scripted.Fail(&llm.Error{Kind: llm.ErrAuth, Message: "no"}))
		b.cfg.Checks = &runtime.Checks{Regexp: `^\d+$`}
		b.run(func(ctx context.Context) {
			if end := b.ask(ctx, "s", "go"); end.State != "failed" || end.Reason != "model" {
				t.Errorf("end = %+v", end)
			}
		})
		if last := b.last("s"); last.Kind != llm.KindClosing {
			t.Errorf("the turn ends with %+v", last)
		}
		b.checkHistory("s")
	})
}

// A turn that a program without runs left in its calls is repaired by the next message: only the results that lack are written, in
// one place, with an event that names them, and a closing message.
func TestRepairOfAnOlderTurn(t *testing.T) {
	b := newBed(t, scripted.Text("fine"))
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			t.Fatal(err)
		}
	})
	s := b.store.sessions["s"]
	for i, m := range []runtime.MessageRow{
		{Kind: llm.KindUser, Role: llm.RoleUser, Content: "old"},
		{Kind: llm.KindAssistant, Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "read", Arguments: "{}"}, {ID: "c2", Name: "fire", Arguments: "{}"}}},
		{Kind: llm.KindTool, Role: llm.RoleTool, Content: `{"ok":true}`, ToolCallID: "c1", ToolName: "read"},
	} {
		m.ID, m.SessionID, m.N = fmt.Sprint("old", i), "s", int64(i+1)
		s.messages = append(s.messages, m)
		s.row.NextN = m.N + 1
	}
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "next"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	var got []string
	for _, m := range s.messages {
		got = append(got, string(m.Kind)+" "+m.ToolCallID)
	}
	if d := cmp.Diff([]string{"user ", "assistant ", "tool c1", "tool c2", "closing ", "user ", "assistant "}, got); d != "" {
		t.Error(d)
	}
	evs := b.named(trace.HistoryRepaired)
	if len(evs) != 1 || cmp.Diff([]string{"c2"}, evs[0].Data.(trace.HistoryRepairedData).Calls) != "" {
		t.Errorf("events %+v", evs)
	}
}
