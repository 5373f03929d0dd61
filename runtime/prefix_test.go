package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
)

// llmCalls gives what the stored model calls said of themselves.
func (b *bed) llmCalls() []trace.LLMCallData {
	var out []trace.LLMCallData
	for _, ev := range b.named(trace.LLMCall) {
		out = append(out, ev.Data.(trace.LLMCallData))
	}
	return out
}

// wireBytes is a part of a request as it goes over the wire.
func wireBytes(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// repeated gives how many bytes of a request, serialized, stood in front in the one before, how many it has, and the first
// message that differs, from 1 (0: the tools or the model; -1: none).
func repeated(t testing.TB, before, now llm.Request) (same, all, differs int) {
	t.Helper()
	differs = -1
	tools := wireBytes(t, now.Tools)
	all = len(tools)
	if before.Model != now.Model || wireBytes(t, before.Tools) != tools {
		differs = 0
	} else {
		same = len(tools)
	}
	for i, m := range now.Messages {
		text := wireBytes(t, m)
		all += len(text)
		if differs < 0 && i < len(before.Messages) && wireBytes(t, before.Messages[i]) != text {
			differs = i + 1
		}
		if differs < 0 && i < len(before.Messages) {
			same += len(text)
		}
	}
	if differs < 0 && len(now.Messages) < len(before.Messages) {
		differs = len(now.Messages) + 1
	}
	return same, all, differs
}

// Every cause of a break is named, with the first message that differs; all else goes on where the last request ended.
func TestPrefixBreaks(t *testing.T) {
	empty := true
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		if last := r.Messages[len(r.Messages)-1]; last.Content == "say nothing" && empty {
			empty = false
			return scripted.Text("")
		}
		if last := r.Messages[len(r.Messages)-1]; last.Content == "use a tool" {
			return scripted.Calls(scripted.Call{Name: "read", Args: `{"text":"x"}`})
		}
		return scripted.Text("ok " + strings.Repeat("words ", 30))
	}, func(n int) string { return fact(fmt.Sprint("remembered ", n)) }))
	b.run(func(ctx context.Context) {
		set := func(c runtime.Setting) {
			t.Helper()
			if err := b.eng.Set(ctx, "s", c); err != nil {
				t.Fatal(err)
			}
			if err := b.clk.Sleep(ctx, time.Second); err != nil {
				t.Fatal(err)
			}
		}
		model := "other"
		for _, step := range []func(){
			func() { b.ask(ctx, "s", "one") },
			func() { b.ask(ctx, "s", "use a tool") },
			func() { b.ask(ctx, "s", "say nothing") }, // 4, and 5 after the repair
			func() { set(runtime.Setting{Pin: "the port is 8443"}); b.ask(ctx, "s", "pinned") },
			func() { set(runtime.Setting{Compact: true}); b.ask(ctx, "s", "folded") },
			func() { set(runtime.Setting{UndoFold: true}); b.ask(ctx, "s", "undone") },
			func() { set(runtime.Setting{Model: &model}); b.ask(ctx, "s", "another model") },
			func() { b.ask(ctx, "s", "the same again") },
		} {
			step()
		}
	})
	want := []struct {
		cause string
		at    int
	}{{"", 0}, {"", 0}, {"", 0}, {"", 0}, {"repair", 8}, {"pin", 2}, {"fold", 2}, {"undo", 2}, {"model", 0}, {"", 0}}
	calls := b.llmCalls()
	if len(calls) != len(want) {
		t.Fatalf("%d calls", len(calls))
	}
	var reqs []llm.Request
	for _, r := range b.model.Requests() {
		if !asksSummary(r) {
			reqs = append(reqs, r)
		}
	}
	for i, c := range calls {
		if c.PrefixBreak != want[i].cause || c.PrefixAt != want[i].at {
			t.Errorf("call %d: %q at %d, want %+v", i, c.PrefixBreak, c.PrefixAt, want[i])
		}
		if i == 0 {
			if c.PrefixBytes != 0 || c.PromptBytes == 0 {
				t.Errorf("the first call repeats %d of %d bytes", c.PrefixBytes, c.PromptBytes)
			}
			continue
		}
		same, all, differs := repeated(t, reqs[i-1], reqs[i])
		if (differs >= 0) != (want[i].cause != "") || differs > 0 && differs != want[i].at {
			t.Errorf("call %d really differs at %d", i, differs)
		}
		got, truth := float64(c.PrefixBytes)/float64(c.PromptBytes), float64(same)/float64(all)
		if got-truth > 0.08 || truth-got > 0.08 || c.PrefixTokens > c.Estimate {
			t.Errorf("call %d says that %.2f is repeated, it is %.2f", i, got, truth)
		}
	}
}

// Over 50 turns at the default limits, with tools, nine tenths of what is sent was sent before, byte for byte.
func TestPrefixShare(t *testing.T) {
	b := newBed(t, foldModel(func(r llm.Request) scripted.Step {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == llm.RoleTool {
			return scripted.Text("The answer to this is 42, as the library says in its second part.")
		}
		if strings.HasSuffix(last.Content, "0") {
			return scripted.Calls(scripted.Call{Name: "big", Args: fmt.Sprintf(`{"text":"%d"}`, len(r.Messages))})
		}
		return scripted.Calls(scripted.Call{Name: "read", Args: fmt.Sprintf(`{"text":"look up number %d"}`, len(r.Messages))})
	}, func(n int) string {
		return fact(fmt.Sprintf("what was looked up up to fold %d", n))
	}))
	b.run(func(ctx context.Context) {
		for i := range 50 {
			b.ask(ctx, "s", fmt.Sprintf("please look up what the library says of number %d", i))
		}
	})
	var before *llm.Request
	same, all, breaks := 0, 0, 0
	for _, r := range b.model.Requests() {
		if asksSummary(r) {
			continue
		}
		if before != nil {
			s, a, differs := repeated(t, *before, r)
			same, all = same+s, all+a
			if differs >= 0 {
				breaks++
			}
		}
		before = &r
	}
	folds := len(b.store.sessions["s"].folds)
	if breaks != folds {
		t.Errorf("%d breaks, %d folds", breaks, folds)
	}
	if share := float64(same) / float64(all); share < 0.9 {
		t.Errorf("%.1f%% of the bytes were repeated", 100*share)
	} else {
		t.Logf("%.1f%% of %d bytes were repeated, %d folds", 100*share, all, folds)
	}
	if folds == 0 {
		t.Error("nothing was folded")
	}
}

// The comparison goes on over a restart of the program: what was sent by the process before is known by its name in the store.
func TestPrefixOverRestarts(t *testing.T) {
	b := newBed(t, foldModel(func(llm.Request) scripted.Step { return scripted.Text("ok " + strings.Repeat("words ", 30)) },
		func(n int) string { return fact(fmt.Sprint("remembered ", n)) }))
	set := func(c runtime.Setting) func(ctx context.Context) {
		return func(ctx context.Context) {
			if _, err := b.eng.Open(ctx, "s", true); err != nil {
				t.Fatal(err)
			}
			if err := b.eng.Set(ctx, "s", c); err != nil {
				t.Fatal(err)
			}
			if err := b.clk.Sleep(ctx, time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	model := "other"
	for i, tt := range []struct {
		before func(ctx context.Context) // in a process of its own, in front of the turn
		change func()
		cause  string
	}{
		{cause: ""}, {cause: ""}, {cause: ""},
		{before: set(runtime.Setting{Pin: "the port is 8443"}), cause: "pin"},
		{before: set(runtime.Setting{Compact: true}), cause: "fold"},
		{before: set(runtime.Setting{UndoFold: true}), cause: "undo"},
		{before: set(runtime.Setting{Model: &model}), cause: "model"},
		{change: func() { b.cfg.System += " And more." }, cause: "system"},
		{change: func() {
			b.cfg.Registry = tools.NewRegistry(b.tools()[1:]...)
			b.cfg.Executor = executorOf(b)
		}, cause: "tools"},
		{cause: ""},
	} {
		if tt.before != nil {
			b.run(tt.before)
		}
		if tt.change != nil {
			tt.change()
		}
		b.run(func(ctx context.Context) { b.ask(ctx, "s", fmt.Sprint("question ", i)) })
		calls := b.llmCalls()
		last := calls[len(calls)-1]
		if last.PrefixBreak != tt.cause || (last.PrefixBytes > 0) == (i == 0 || tt.cause == "model") {
			t.Errorf("turn %d: %q, %d of %d bytes repeated; want %q", i, last.PrefixBreak, last.PrefixBytes, last.PromptBytes, tt.cause)
		}
	}
}
