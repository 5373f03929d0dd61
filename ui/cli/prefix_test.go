package cli

import (
	"strings"
	"testing"

	"vitrine/runtime"
	"vitrine/trace"
)

func TestTracePrefix(t *testing.T) {
	b := newBench(t)
	b.f.rows = []runtime.SessionInfo{{ID: "s", UserID: "ada", Title: "t"}, {ID: "none", UserID: "ada"}}
	cached := 900
	for _, d := range []trace.Data{
		trace.LLMCallData{Model: "m", PromptBytes: 950},
		trace.LLMCallData{Model: "m"}, // of an older version
		trace.AnswerData{Text: "a"},
		trace.LLMCallData{Model: "m", PromptBytes: 4000, PrefixBytes: 950, PrefixTokens: 200, CachedTokens: &cached},
		trace.LLMCallData{Model: "m", PromptBytes: 2_000_000, PrefixBytes: 1000, PrefixBreak: "fold", PrefixAt: 2},
		trace.LLMCallData{Model: "\x1b[31mred", PromptBytes: 4000, PrefixBreak: "model\x1b[2J"},
		trace.LLMCallData{Model: "m", PromptBytes: 4000, PrefixBytes: 100, PrefixBreak: "fold", PrefixAt: 2},
	} {
		b.f.store("s", "run-1", d)
	}
	got := b.run("trace", "--prefix", "s")
	if got.code != 0 || strings.Contains(got.out, "\x1b") {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{
		"950 B", "first request", "23.8%", "900", "2.0 MB", "fold, at message 2",
		"5 requests; 0.1% of 2.0 MB repeated the request before; broken by fold 2, model",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
	if lines := strings.Count(b.run("trace", "--prefix", "s", "--json").out, "\n"); lines != 5 {
		t.Errorf("%d lines of JSON", lines)
	}
	if got := b.run("trace", "--prefix", "none"); got.code != 0 || !strings.Contains(got.out, "no request") {
		t.Errorf("%+v", got)
	}
	if s := (&command{}).prefixSum(1, 0, 0, nil); s != "1 request" {
		t.Error(s)
	}
	if s := (&command{}).prefixSum(2, 9, 10, nil); s != "2 requests; 90.0% of 10 B repeated the request before; nothing broke it" {
		t.Error(s)
	}
	if percent(1, 0) != "0%" {
		t.Error("a part of nothing")
	}
}
