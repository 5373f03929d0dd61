package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

// notices gives the stored notices of a code.
func (b *bed) notices(code string) []trace.NoticeData {
	var out []trace.NoticeData
	for _, ev := range b.named(trace.Notice) {
		if d := ev.Data.(trace.NoticeData); d.Code == code && ev.Seq > 0 {
			out = append(out, d)
		}
	}
	return out
}

// meter is the last meter that was told.
func (b *bed) meter() trace.Meter {
	var m trace.Meter
	for _, ev := range b.named(trace.State) {
		if d := ev.Data.(trace.StateData); d.Meter != nil {
			m = *d.Meter
		}
	}
	return m
}

// B091: a server that cuts the prompt silently to 4,096 (or 2,051) tokens is told of once, the meter uses what it takes, and the
// next turn folds to it. A ratio within 2, or a cache that explains the count, is no alarm.
func TestServerCutsThePrompt(t *testing.T) {
	for _, tt := range []struct {
		name             string
		reported, cached int
		cut              bool
	}{
		{"4096", 4096, -1, true}, {"2051", 2051, -1, true}, {"with a cached part", 4096, 4000, true},
		{"within 2", 11000, -1, false}, {"the cache explains it", 4000, 11000, false}, {"no count of a prompt", 12, -1, false}, {"nothing", -1, -1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := 0
			b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
				reported := tt.reported
				if turn++; !tt.cut && reported > 100 {
					reported += turn // the same count for more text would be a sign
				}
				return scripted.Text("ok").Usage(reported, 5, tt.cached)
			}, func(int) string { return fact("it was long") }))
			b.cfg.Limits.ContextTokens = 32768
			b.cfg.Limits.Budget.Tokens = 0
			b.run(func(ctx context.Context) {
				for i := range 5 {
					if end := b.ask(ctx, "s", fmt.Sprintf("question %d %s", i, strings.Repeat("these are words ", 1300))); end.State != "succeeded" {
						t.Errorf("turn %d: %+v", i, end)
					}
				}
			})
			notes := b.notices("server_cuts")
			limit := b.meter().Limit
			switch {
			case !tt.cut && (len(notes) > 0 || limit != 32768):
				t.Errorf("a false warning: %+v, limit %d", notes, limit)
			case tt.cut && (len(notes) != 1 || limit != tt.reported):
				t.Errorf("%d warnings, limit %d", len(notes), limit)
			case tt.cut:
				if n := notes[0]; !strings.Contains(n.Message, trace.FormatTokens(tt.reported)) || n.Todo == "" {
					t.Errorf("the warning: %+v", n)
				}
				if len(b.store.sessions["s"].folds) == 0 {
					t.Error("the context is not kept within what the server takes")
				}
			}
		})
	}
}

// With our limit and a server's window near each other no single report can tell of a cut. The same number twice, though clearly more
// was sent, can: no estimate is so wrong.
func TestEqualReportsTellOfACut(t *testing.T) {
	for name, tt := range map[string]struct {
		reports []int
		cut     bool
	}{
		"cut":              {[]int{1500, 2563, 3686, 4096, 4096, 4096}, true},
		"grows":            {[]int{1500, 2563, 3686, 4096, 4700, 5200}, false},
		"equal, but small": {[]int{400, 400, 400, 400, 400, 400}, false},
	} {
		i := 0
		b := newBed(t, scripted.Func(func(llm.Request) scripted.Step {
			i++
			return scripted.Text("ok").Usage(tt.reports[min(i, len(tt.reports))-1], 5, -1)
		}).Times(-1))
		b.cfg.Limits.ContextTokens, b.cfg.Limits.Fold = 12000, runtime.FoldOff
		b.cfg.Limits.Budget.Tokens = 0
		b.run(func(ctx context.Context) {
			for i := range tt.reports {
				b.ask(ctx, "s", fmt.Sprintf("question %d %s", i, strings.Repeat("these are words ", 400)))
			}
		})
		notes := b.notices("server_cuts")
		if tt.cut != (len(notes) == 1) || len(notes) > 1 || tt.cut != (b.meter().Limit == 4096) {
			t.Errorf("%s: %+v, limit %d", name, notes, b.meter().Limit)
		}
		if tt.cut && (!strings.Contains(notes[0].Todo, "OLLAMA_CONTEXT_LENGTH") || strings.Contains(notes[0].Todo, "num_ctx")) {
			t.Errorf("it says %q", notes[0].Todo)
		}
	}
}

// A server whose template for a model knows no tools takes them and leaves them out: its count is near to what else was sent. The user is
// told so once, and it is not taken for a server that cuts, however long the conversation gets; one that cuts as well still is.
func TestServerLeavesToolsOut(t *testing.T) {
	for name, tt := range map[string]struct {
		counts     func(all, tools int, calls bool) int
		calls      bool
		left, cuts int
	}{
		"left out":           {func(all, tools int, _ bool) int { return all - tools }, false, 1, 0},
		"counted otherwise":  {func(all, tools int, _ bool) int { return (all - tools) * 8 / 10 }, false, 1, 0},
		"counted":            {func(all, _ int, _ bool) int { return all }, false, 0, 0},
		"counted low":        {func(all, _ int, _ bool) int { return all * 6 / 10 }, false, 0, 0},
		"no count":           {func(int, int, bool) int { return 12 }, false, 0, 0},
		"calls all the same": {func(all, tools int, _ bool) int { return all - tools }, true, 0, 0},
		"left out and cut":   {func(all, tools int, _ bool) int { return min(all-tools, 2048) }, false, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
				all := prompt.EstimateTools(r.Tools)
				for _, m := range r.Messages {
					all += prompt.EstimateMessage(m)
				}
				step := scripted.Text("ok")
				if tt.calls && r.Messages[len(r.Messages)-1].Role == llm.RoleUser {
					step = scripted.Calls(scripted.Call{ID: "c", Name: "wide", Args: "{\"text\":\"x\"}"})
				}
				return step.Usage(tt.counts(all, prompt.EstimateTools(r.Tools), tt.calls), 5, -1)
			}).Times(-1))
			b.cfg.Registry = tools.NewRegistry(tools.New("wide", strings.Repeat("what a tool does in many words ", 160), tools.ReadOnly,
				func(context.Context, tools.Call, echoArgs) (tools.Output, error) {
					return tools.Output{Data: "done"}, nil
				}))
			b.cfg.Executor = tools.NewExecutor(b.clk, b.cfg.Registry, tools.Config{})
			b.cfg.System = strings.Repeat("You are a test. ", 50)
			b.cfg.Limits.ContextTokens, b.cfg.Limits.Fold = 32768, runtime.FoldOff
			b.cfg.Limits.Budget.Tokens = 0
			b.run(func(ctx context.Context) {
				for i := range 12 {
					b.ask(ctx, "s", fmt.Sprintf("question %d %s", i, strings.Repeat("these are words ", 30*i*i)))
				}
			})
			left, cuts := b.notices("tools_left_out"), b.notices("server_cuts")
			if len(left) != tt.left || len(cuts) != tt.cuts {
				t.Errorf("%+v, %+v", left, cuts)
			}
			if limit := b.meter().Limit; (limit == 32768) != (tt.cuts == 0) {
				t.Errorf("limit %d", limit)
			}
			if tt.left > 0 && (!strings.Contains(left[0].Todo, "--protocol json") || !strings.Contains(left[0].Why, "of them tools")) {
				t.Errorf("told %+v", left[0])
			}
		})
	}
}

// Another model is another server: what the one before took says nothing of it.
func TestCutIsForgottenWithTheModel(t *testing.T) {
	b := newBed(t, scripted.Text("ok").Usage(2051, 5, -1).Times(-1))
	b.cfg.Limits.ContextTokens = 32768
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", strings.Repeat("these are words ", 2000))
		if b.meter().Limit != 2051 {
			t.Errorf("limit %d", b.meter().Limit)
		}
		model := "other"
		if err := b.eng.Set(ctx, "s", runtime.Setting{Model: &model}); err != nil {
			t.Fatal(err)
		}
		if b.meter().Limit != 32768 {
			t.Errorf("limit %d after the change", b.meter().Limit)
		}
	})
}

// B109: servers that report nothing, zeros, or a total only: the meter shows an estimate and says so, the run's use is not
// nothing, and folds come by the estimate.
func TestNoUsage(t *testing.T) {
	for name, report := range map[string][2]int{"missing": {-1, -1}, "zero": {0, 0}, "completion only": {-1, 7}} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
				return scripted.Text(strings.Repeat("long answer ", 150)).Usage(report[0], report[1], -1)
			}, func(int) string { return fact("it was long") }))
			b.cfg.Limits.ContextTokens = 3000
			b.run(func(ctx context.Context) {
				for i := range 10 {
					end := b.ask(ctx, "s", fmt.Sprintf("q%d", i))
					if end.State != "succeeded" || end.Tokens < 100 || !end.Estimated {
						t.Errorf("end = %+v", end)
					}
					if m := b.meter(); !m.Estimated || m.Used() == 0 {
						t.Errorf("meter = %+v", m)
					}
				}
			})
			if n := len(b.store.sessions["s"].folds); n == 0 {
				t.Error("nothing was folded")
			}
		})
	}
}

// With folding off the user hears of it from 80% on, once a turn, before anything fails.
func TestFoldOffSaysEarlyWhatComes(t *testing.T) {
	b := newBed(t, scripted.Func(func(r llm.Request) scripted.Step {
		if last := r.Messages[len(r.Messages)-1]; last.Role == llm.RoleUser {
			return scripted.Calls(scripted.Call{Name: "read", Args: fmt.Sprintf(`{"text":"%d"}`, len(r.Messages))})
		}
		return scripted.Text(strings.Repeat("word ", 120))
	}).Times(-1))
	b.cfg.Limits.Fold, b.cfg.Limits.ContextTokens = runtime.FoldOff, 3000
	failed := false
	b.run(func(ctx context.Context) {
		for i := range 30 {
			before := len(b.notices("context_soon"))
			end := b.ask(ctx, "s", fmt.Sprintf("q%d", i))
			told := len(b.notices("context_soon")) - before
			used := b.meter().Used() + 3000/8
			switch {
			case end.State != "succeeded":
				failed = true
				if before == 0 {
					t.Error("the context was full without a warning")
				}
			case used < 3000*80/100 && told > 0:
				t.Errorf("turn %d: told at %d of 3000", i, used)
			case told > 1:
				t.Errorf("turn %d: told %d times", i, told)
			}
			if failed {
				break
			}
		}
	})
	notes := b.notices("context_soon")
	if !failed || len(notes) < 2 {
		t.Fatalf("failed %v, %d warnings", failed, len(notes))
	}
	if n := notes[0]; !strings.Contains(n.Why, "AGENT_COMPACT=off") || !strings.Contains(n.Why, "end without an answer") || !strings.Contains(n.Todo, "/compact") {
		t.Errorf("the warning: %+v", n)
	}
	if len(b.store.sessions["s"].folds) != 0 {
		t.Error("something was folded")
	}
}

// B080: a result larger than the context is cut when it is stored, with its size and the handle under which the whole is; the
// next request fits. A result that a fold shortens later gets a handle too, and keeps the one it has.
func TestLargeResults(t *testing.T) {
	n := 0
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		if n++; n <= 10 {
			name := "big"
			if n%2 == 0 {
				name = "read"
			}
			return scripted.Calls(scripted.Call{Name: name, Args: fmt.Sprintf(`{"text":"%d %s"}`, n, strings.Repeat("and on ", 100))})
		}
		return scripted.Text("done")
	}, func(int) string { return fact("steps were done") }))
	b.cfg.Limits.ContextTokens = 3000
	b.cfg.Limits.Budget = runtime.Budget{Steps: 40, Calls: 40}
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "do it"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
		if end := b.ask(ctx, "s", "hi"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	s := b.store.sessions["s"]
	kept := map[string]string{}
	for _, a := range s.artifacts {
		kept[a.Handle] = a.Content
	}
	shortened, cut := 0, 0
	for _, m := range s.messages {
		if m.Role != llm.RoleTool {
			continue
		}
		if len([]rune(m.Content)) > 2200 {
			t.Errorf("a result of %d characters is in the prompt", len([]rune(m.Content)))
		}
		if m.ToolName == "big" {
			cut++
			if !strings.Contains(m.Content, `"bytes":`) || !strings.Contains(m.Content, "the tool artifact reads the rest") {
				t.Errorf("the cut does not say where the rest is: %s", m.Content)
			}
		}
		if m.PromptContent == nil {
			continue
		}
		shortened++
		found := false
		for h, text := range kept {
			if strings.Contains(*m.PromptContent, `"artifact":"`+h+`"`) {
				found = len(text) > 600
			}
		}
		if !found || !strings.Contains(*m.PromptContent, "the tool artifact reads the rest") {
			t.Errorf("the whole of a shortened result cannot be read: %s", *m.PromptContent)
		}
		if m.Tokens > 200 || m.Content == *m.PromptContent {
			t.Errorf("shortened to %d tokens", m.Tokens)
		}
	}
	if shortened < 2 || cut == 0 {
		t.Errorf("%d cut, %d shortened", cut, shortened)
	}
}

// B080: a user message that cannot fit is refused before it is sent, with its size; nothing of it is stored, nobody is asked,
// and the session goes on. B086: one that fits stays whole while tool results are shortened; the store keeps everything.
func TestLongUserMessages(t *testing.T) {
	n := 0
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		if n++; n%2 == 1 {
			return scripted.Calls(scripted.Call{Name: "big", Args: fmt.Sprintf(`{"text":"%d"}`, n)})
		}
		return scripted.Text("ok")
	}, func(int) string { return fact("much was read") }))
	b.cfg.Limits.ContextTokens, b.cfg.Limits.RawTurns = 16000, 100
	spec := "The specification. " + strings.Repeat("Every part of it has words. ", 1000)
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "hi")
		var big *runtime.TooLargeError
		if err := b.eng.Submit(ctx, "s", strings.Repeat("too long ", 11000)); !errors.As(err, &big) || big.Tokens < 15000 || big.Limit != 16000 {
			t.Errorf("submit: %v", err)
		}
		if len(b.messages("s")) != 4 || b.store.sessions["s"].row.TurnCount != 1 {
			t.Error("something of it was stored")
		}
		b.ask(ctx, "s", spec)
		for i := range 30 {
			if end := b.ask(ctx, "s", fmt.Sprintf("part %d", i)); end.State != "succeeded" {
				t.Errorf("end = %+v", end)
			}
		}
	})
	whole := 0
	for _, m := range b.messages("s") {
		if m.Content == spec && m.PromptContent == nil {
			whole++
		}
	}
	folds := b.store.sessions["s"].folds
	if whole != 1 || len(folds) == 0 || len(folds[0].Shorten) == 0 || folds[0].LastN != 0 {
		t.Errorf("the specification is whole %d times; folds %+v", whole, folds)
	}
}

// The system prompt that a project gives is in every request, however often was folded. (B085)
func TestSystemPromptSurvivesFolds(t *testing.T) {
	b := newBed(t, foldModel(nil, func(n int) string { return fact(fmt.Sprint("fold ", n)) }))
	b.cfg.Limits.RawTurns = 2
	b.cfg.System = "You are a test.\n\nWhat this project says to agents (AGENTS.md):\nUse tabs."
	b.run(func(ctx context.Context) {
		for i := range 8 {
			b.ask(ctx, "s", fmt.Sprintf("q%d", i))
		}
	})
	for i, r := range b.model.Requests() {
		if !asksSummary(r) && r.Messages[0].Content != b.cfg.System {
			t.Errorf("request %d begins with %q", i, r.Messages[0].Content)
		}
	}
}

// Rules without end: the newest stay within a fourth of the context, what was pinned by hand stays, the user is told what went.
func TestRulesAreBounded(t *testing.T) {
	b := newBed(t, foldModel(nil, func(n int) string { return fact(fmt.Sprint("fold ", n)) }))
	b.cfg.Limits.RawTurns, b.cfg.Limits.ContextTokens = 2, 2000
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "hi")
		if err := b.eng.Set(ctx, "s", runtime.Setting{Pin: "by hand"}); err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			if end := b.ask(ctx, "s", fmt.Sprintf("You must never use the word number %d in any of the texts.", i)); end.State != "succeeded" {
				t.Fatalf("turn %d: %+v", i, end)
			}
		}
	})
	pins := b.store.sessions["s"].pins
	if len(pins) < 5 || len(pins) > 50 || pins[0].Text != "by hand" || !strings.Contains(pins[len(pins)-1].Text, "5") {
		t.Errorf("%d pins: %+v", len(pins), pins)
	}
	removed := 0
	for _, ev := range b.named(trace.Pin) {
		if ev.Data.(trace.PinData).Action == "removed" {
			removed++
		}
	}
	unpinned := 0
	for _, ev := range b.named(trace.Compact) {
		if d := ev.Data.(trace.CompactData); d.Phase == "committed" && ev.Seq > 0 {
			unpinned += len(d.Unpinned)
		}
	}
	if removed == 0 || unpinned != removed {
		t.Errorf("%d pins went, %d were told", removed, unpinned)
	}
}

// B079: the room for the answer counts. A server that refuses a prompt with its reply above 10,000 refuses once; the fold comes
// before the next request, error texts never enter the history, and what was learned holds for the turns that follow.
func TestRoomForTheReply(t *testing.T) {
	for _, reply := range []int{0, 4000} {
		roomForTheReply(t, reply)
	}
}

// roomForTheReply plays it with a limit of replies. One that is told is kept free, so that nothing is refused at all.
func roomForTheReply(t *testing.T, reply int) {
	t.Helper()
	refused := 0
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		if r.MaxTokens != reply {
			t.Errorf("a reply of %d tokens is asked for, want %d", r.MaxTokens, reply)
		}
		if estimate(r)+4000 > 10_000 {
			refused++
			return scripted.Fail(&llm.Error{Kind: llm.ErrContext, Status: 400, Message: "maximum context length is 10000 tokens, you asked for more"})
		}
		return scripted.Text(strings.Repeat("an answer of words ", 90))
	}, func(int) string { return fact("much was said") }))
	b.cfg.Limits.ContextTokens, b.cfg.Limits.RawTurns, b.cfg.Limits.ReplyTokens = 10_000, 100, reply
	b.cfg.Limits.Budget.Tokens = 0
	b.run(func(ctx context.Context) {
		for i := range 40 {
			if end := b.ask(ctx, "s", fmt.Sprintf("question %d %s", i, strings.Repeat("with words ", 100))); end.State != "succeeded" {
				t.Errorf("turn %d: %+v", i, end)
			}
		}
	})
	want := 1
	if reply > 0 {
		want = 0
	}
	if refused != want || len(b.store.sessions["s"].folds) < 2 {
		t.Errorf("refused %d times, %d folds", refused, len(b.store.sessions["s"].folds))
	}
	for _, r := range b.model.Requests() {
		if strings.Contains(fmt.Sprint(r.Messages), "maximum context length") {
			t.Error("an error text is in the history")
		}
	}
	b.checkHistory("s")
}

// No more is asked for than is kept free: a reply that may be longer than half of the context would make a server with a window of
// that size refuse every request. A refusal that is about it names the setting.
func TestReplyWithinTheContext(t *testing.T) {
	refusal := &llm.Error{}
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		if r.MaxTokens != 3000 {
			t.Errorf("a reply of %d tokens is asked for, want 3000", r.MaxTokens)
		}
		if refusal.Kind != "" {
			return scripted.Fail(refusal)
		}
		return scripted.Text("ok")
	}, func(int) string { return fact("x") }))
	b.cfg.Limits.ContextTokens, b.cfg.Limits.ReplyTokens, b.cfg.Limits.Fold = 6000, 4096, runtime.FoldOff
	b.run(func(ctx context.Context) {
		if end := b.ask(ctx, "s", "go"); end.State != "succeeded" {
			t.Errorf("%+v", end)
		}
		for i, e := range []llm.Error{
			{Kind: llm.ErrRejected, Status: 400, Message: "max_tokens must be at most 2048"},
			{Kind: llm.ErrContext, Status: 400, Message: "maximum context length is 4096 tokens, you asked for 4200 (1200 in the messages, 3000 in the completion)"},
			{Kind: llm.ErrRejected, Status: 400, Message: "bad schema"},
		} {
			*refusal = e
			b.ask(ctx, "s", "again")
			errs := b.named(trace.Error)
			if d := errs[len(errs)-1].Data.(trace.ErrorData); len(errs) != i+1 || strings.Contains(d.Todo, "LLM_MAX_TOKENS") != (i < 2) {
				t.Errorf("%s: %+v", e.Message, d)
			}
		}
	})
}

// B082: schemas alone are above the limit: the input is refused with the size of what is fixed, nobody is asked, nothing is
// folded, however often.
func TestSchemasTooLarge(t *testing.T) {
	b := newBed(t, foldModel(nil, func(int) string { return fact("x") }))
	var many []tools.Tool
	for i := range 40 {
		many = append(many, tools.New(fmt.Sprint("tool", i), strings.Repeat("does something with words ", 24), tools.ReadOnly,
			func(context.Context, tools.Call, echoArgs) (tools.Output, error) { return tools.Output{}, nil }))
	}
	b.cfg.Limits.ContextTokens = 4096
	b.run(func(ctx context.Context) { // a session with history, from when the tools were fewer
		for i := range 3 {
			b.ask(ctx, "s", fmt.Sprintf("q%d", i))
		}
	})
	asked := len(b.model.Requests())
	b.cfg.Registry = tools.NewRegistry(many...)
	b.cfg.Executor = executorOf(b)
	b.run(func(ctx context.Context) {
		if _, err := b.eng.Open(ctx, "s", true); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			var big *runtime.TooLargeError
			if err := b.eng.Submit(ctx, "s", "hi"); !errors.As(err, &big) || big.Fixed < 5000 || !strings.Contains(err.Error(), "system prompt, tools") {
				t.Errorf("submit: %v", err)
			}
		}
	})
	if n := len(b.model.Requests()) - asked; n != 0 || len(b.store.sessions["s"].folds) != 0 {
		t.Errorf("%d requests, %d folds", n, len(b.store.sessions["s"].folds))
	}
}

// B083: a reply that filled 95% of the context leads to one fold; the meter shows the new size at once, and the number of before
// starts no second one.
func TestOldUsageStartsNoSecondFold(t *testing.T) {
	turn := 0
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		if turn++; turn == 13 {
			return scripted.Text("short").Usage(11400, 2, -1)
		}
		return scripted.Text(strings.Repeat("an answer of words ", 180))
	}, func(int) string { return fact("much was said") }))
	b.cfg.Limits.ContextTokens = 12000
	b.run(func(ctx context.Context) {
		for i := range 13 {
			b.ask(ctx, "s", fmt.Sprintf("question %d", i))
		}
		before := b.meter()
		if before.Used() < 11400 {
			t.Fatalf("before: %+v", before)
		}
		b.ask(ctx, "s", "next")
		b.ask(ctx, "s", "and next")
		shown := 0
		for _, ev := range b.named(trace.State) {
			d := ev.Data.(trace.StateData)
			if ev.Turn == 14 && d.Meter != nil {
				shown = d.Meter.Used()
				break
			}
		}
		if shown == 0 || shown > before.Used()*3/4 {
			t.Errorf("the first meter after the fold shows %d, before it was %d", shown, before.Used())
		}
	})
	asked := 0
	for _, r := range b.model.Requests() {
		if asksSummary(r) {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("%d summaries were asked for", asked)
	}
}

// B056: two calls, the first of whose results is most of the window: the fold comes before the next request, which holds the
// task, both results, and is valid (the model is strict).
func TestFoldBetweenCallsAndReply(t *testing.T) {
	var after *llm.Request
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case last.Role == llm.RoleTool:
			after = &r
		case last.Content == "the pending task":
			return scripted.Calls(scripted.Call{Name: "big", Args: `{"text":"` + strings.Repeat("more ", 20) + `"}`}, scripted.Call{Name: "read", Args: `{"text":"the second result"}`})
		}
		return scripted.Text(strings.Repeat("an answer of words ", 40))
	}, func(int) string { return fact("much was said") }))
	b.cfg.Limits.ContextTokens, b.cfg.Limits.ResultChars = 3000, 8000
	b.run(func(ctx context.Context) {
		for i := range 4 {
			b.ask(ctx, "s", fmt.Sprintf("question %d", i))
		}
		if end := b.ask(ctx, "s", "the pending task"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	if len(b.store.sessions["s"].folds) == 0 || after == nil {
		t.Fatal("nothing was folded")
	}
	text := fmt.Sprint(after.Messages)
	for _, want := range []string{"the pending task", "the second result", "words of more"} {
		if !strings.Contains(text, want) {
			t.Errorf("the request after the fold lacks %q", want)
		}
	}
	if strings.Contains(text, "question 0") {
		t.Error("nothing left the window")
	}
}
