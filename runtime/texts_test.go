package runtime_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// Whatever kind of failure: the user reads what happened, why, and what to do; the history holds none of it.
func TestModelFailuresAreExplained(t *testing.T) {
	tests := map[llm.ErrorKind][2]string{
		llm.ErrConnect:  {"no connection", "OPENAI_BASE_URL"},
		llm.ErrTimeout:  {"did not begin to answer", "still loads the model"},
		llm.ErrCut:      {"broke", "/retry"},
		llm.ErrAuth:     {"key", "OPENAI_API_KEY"},
		llm.ErrQuota:    {"limit", "/model"},
		llm.ErrRate:     {"limit", "/retry"},
		llm.ErrNotFound: {"model", "/model"},
		llm.ErrRejected: {"refused the request", "LLM_PROFILE"},
		llm.ErrNoTools:  {"cannot be given tools", "--protocol json or react"},
		llm.ErrServer:   {"did not answer", "/retry"},
	}
	for kind, want := range tests {
		b := newBed(t, scripted.Fail(&llm.Error{Kind: kind, Status: 500, Host: "example.test", Message: "what the server\x1b[31m said"}))
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		d := b.named(trace.Error)[0].Data.(trace.ErrorData)
		if !strings.Contains(d.Message, want[0]) || !strings.Contains(d.Todo, want[1]) || !strings.Contains(d.Why, "what the server") {
			t.Errorf("%s: %+v", kind, d)
		}
		if never := kind == llm.ErrRejected || kind == llm.ErrNoTools; never && strings.Contains(d.Todo, "/retry") {
			t.Errorf("%s: it says to send again what is refused again: %s", kind, d.Todo)
		}
		if strings.ContainsRune(d.Why, 0x1b) {
			t.Errorf("%s: control characters in %q", kind, d.Why)
		}
		for _, m := range b.messages("s") {
			if strings.Contains(m.Content, "what the server") {
				t.Errorf("%s: the history holds the error", kind)
			}
		}
	}
}

// What never reached a model says what to change there, and nothing of profiles and models; a hint stands in for looking at the address.
func TestFailuresBeforeTheModel(t *testing.T) {
	for todo, e := range map[string]llm.Error{
		"check OPENAI_BASE_URL":                 {Kind: llm.ErrRejected, Status: 308},
		"check OPENAI_BASE_URL\x00":             {Kind: llm.ErrRejected, Status: 405},
		"HTTPS_PROXY and HTTP_PROXY name the p": {Kind: llm.ErrRejected, Status: 407},
		"/retry sends it again":                 {Kind: llm.ErrConnect, Hint: "HTTPS_PROXY names it"},
		"check that the server runs and OPENAI": {Kind: llm.ErrConnect},
		"LLM_PROFILE changes how":               {Kind: llm.ErrRejected, Status: 400},
		"the key may not be allowed to do this": {Kind: llm.ErrAuth, Status: 403},
		"check OPENAI_API_KEY":                  {Kind: llm.ErrAuth, Status: 401},
	} {
		b := newBed(t, scripted.Fail(&e))
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		d := b.named(trace.Error)[0].Data.(trace.ErrorData)
		if want := strings.TrimRight(todo, "\x00"); !strings.HasPrefix(d.Todo, want) || e.Status != 400 && strings.Contains(d.Todo, "LLM_PROFILE") {
			t.Errorf("%+v: %q", e, d.Todo)
		}
	}
}

// A model that only reasoned, or whose room was used up by that, is told apart from one that said nothing at all.
func TestEmptyRepliesAreExplained(t *testing.T) {
	thought := scripted.Text("").Reasoning("let me see")
	for why, step := range map[string]scripted.Step{
		"its reply was empty twice in a row":                        scripted.Text(""),
		"it reasoned and then said nothing":                         thought,
		"its reasoning took all of the server's limit":              thought.Finish(llm.FinishLength),
		"its reply was cut at the server's limit":                   scripted.Text("").Finish(llm.FinishLength),
		"the server's filter held its reply back":                   scripted.Text("").Finish(llm.FinishContentFilter),
		`; the server gave "malformed_function_call" as the reason`: scripted.Text("").Finish("malformed_function_call"),
	} {
		b := newBed(t, step, step)
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		d := b.named(trace.Error)[0].Data.(trace.ErrorData)
		if d.Code != "empty_reply" || !strings.Contains(d.Why, why) || strings.Contains(d.Todo, "LLM_MAX_TOKENS") != strings.Contains(why, "limit") {
			t.Errorf("%s: %+v", why, d)
		}
	}
}

// Only of a stream that fell silent LLM_TIMEOUT_SECONDS is said to be the limit: it is none of the first byte's.
func TestSilenceIsToldApart(t *testing.T) {
	for _, silent := range []bool{true, false} {
		b := newBed(t, scripted.Fail(&llm.Error{Kind: llm.ErrTimeout, Host: "h", Message: "no data for 1s", Silent: silent}))
		b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
		d := b.named(trace.Error)[0].Data.(trace.ErrorData)
		if strings.Contains(d.Message, "fell silent") != silent || strings.Contains(d.Todo, "LLM_TIMEOUT_SECONDS") != silent {
			t.Errorf("%+v", d)
		}
	}
}

// B107: thinking that only its end tells of is no part of the answer of a model that thinks: not of what is stored, nor of what is shown
// last. The answer of another one, which speaks of the tag, is whole.
func TestB107ThinkingWithoutBeginning(t *testing.T) {
	const said = "I should add 1 and 1.\n</think>\n\nIt is 2."
	for model, want := range map[string][2]string{"qwen3:8b": {"It is 2.", "I should add 1 and 1.\n"}, "llama3.2:1b": {said, ""}} {
		b, _, evs := served(t, nil, llmtest.Answer(said))
		if err := b.eng.Set(t.Context(), "s", runtime.Setting{Model: &model}); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Submit(t.Context(), "s", "go"); err != nil {
			t.Fatal(err)
		}
		text, thought := "", ""
		for ev := range evs {
			switch d := ev.Data.(type) {
			case trace.DeltaData:
				switch {
				case d.Kind == "reasoning":
					thought += d.Text
				case d.Kind == "text" && d.Reset:
					text = ""
				case d.Kind == "text":
					text += d.Text
				}
			case trace.AnswerData:
				if d.Text != want[0] {
					t.Errorf("%s: the answer is %q", model, d.Text)
				}
			case trace.LLMCallData:
				if d.Text != want[0] {
					t.Errorf("%s: the trace has %q", model, d.Text)
				}
			}
			if ev.Name == trace.RunEnd {
				break
			}
		}
		if text != want[0] || thought != want[1] {
			t.Errorf("%s: shown %q, thought %q", model, text, thought)
		}
		if m := b.messages("s"); m[len(m)-1].Content != want[0] {
			t.Errorf("%s: the history has %q", model, m[len(m)-1].Content)
		}
	}
}

// A sign of life is told as it comes, and is no part of the reply.
func TestSignsOfLife(t *testing.T) {
	b, _, evs := served(t, nil, llmtest.Stream(llmtest.Comment("keep-alive"), llmtest.Text("hello"), llmtest.Finish("stop"), llmtest.DoneMark()))
	if err := b.eng.Submit(t.Context(), "s", "go"); err != nil {
		t.Fatal(err)
	}
	alive := 0
	for ev := range evs {
		switch d := ev.Data.(type) {
		case trace.DeltaData:
			if d.Kind == "alive" {
				if alive++; d.Text != "" || ev.Seq != 0 {
					t.Errorf("%+v", ev)
				}
			}
		case trace.AnswerData:
			if d.Text != "hello" {
				t.Errorf("%+v", d)
			}
		}
		if ev.Name == trace.RunEnd {
			break
		}
	}
	if alive == 0 {
		t.Error("no sign of life was told")
	}
}

func TestTitles(t *testing.T) {
	tests := map[string]string{
		"hi":                "hi",
		"\n  \n what is it": "what is it",
		"a very long first line that goes on and on, and on, and on": "a very long first line that goes on and",
		"部署计划在周五下午三点之前完成，然后通知运维团队并更新文档，再检查一遍所有的配置文件和日志输出内容":          "部署计划在周五下午三点之前完成，然后通知运维团队并更新文档，再检查一遍所有的配置文件",
		"\x1b[31mred":              "[31mred",
		"\u200b":                   "untitled",
		"first 👨\u200d👩\u200d👧 部署": "first 👨\u200d👩\u200d👧 部署",
	}
	// B182: a cut falls between clusters.
	family := strings.Repeat("👨\u200d👩\u200d👧\u200d👦", 9)
	tests[family] = family
	for in, want := range tests {
		b := newBed(t, scripted.Text("ok"))
		b.run(func(ctx context.Context) { b.ask(ctx, "s", in) })
		got := b.store.sessions["s"].row.Title
		if in == family && !strings.HasSuffix(got, "👦") {
			t.Errorf("a title ends inside a cluster: %q", got)
		}
		if len([]rune(got)) > 40 || !strings.HasPrefix(want, got) {
			t.Errorf("%q: title %q, want %q", in, got, want)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	if s := (&runtime.HeldError{SessionID: "s", PID: 7}).Error(); !strings.Contains(s, "7") || !strings.Contains(s, "s") {
		t.Error(s)
	}
	if s := (&runtime.TooLargeError{Tokens: 9000, Fixed: 100, Limit: 6000}).Error(); !strings.Contains(s, "9000") || !strings.Contains(s, "AGENT_MAX_CTX_TOKENS") {
		t.Error(s)
	}
}

// Everything that streams is told as it comes, and never stored: reasoning, calls, text, progress.
func TestDeltas(t *testing.T) {
	b := newBed(t,
		scripted.TextAndCalls("look", scripted.Call{Name: "read", Args: `{"text":"a"}`}).Reasoning("hmm"),
		scripted.Text("hello").ChunkSize(2).Pace(time.Millisecond))
	b.run(func(ctx context.Context) { b.ask(ctx, "s", "go") })
	got := map[string]string{}
	for _, ev := range b.named(trace.Delta) {
		d := ev.Data.(trace.DeltaData)
		if ev.Seq != 0 {
			t.Errorf("a delta has seq %d", ev.Seq)
		}
		got[d.Kind] += d.Text
	}
	if d := cmp.Diff(map[string]string{"text": "lookhello", "reasoning": "hmm", "call": `{"text":"a"}`}, got); d != "" {
		t.Error(d)
	}
	if b.count(trace.Progress) != 1 {
		t.Error("no progress")
	}
	for _, ev := range b.store.sessions["s"].events {
		if ev.Name == trace.Delta || ev.Name == trace.Progress || ev.Name == trace.State {
			t.Errorf("%s is stored", ev.Name)
		}
	}
}

// The meter is told at every request and follows the reports.
func TestMeter(t *testing.T) {
	b := newBed(t, scripted.Text("ok").Usage(400, 3, 100), scripted.Text("ok"))
	b.run(func(ctx context.Context) {
		snap, err := b.eng.Open(ctx, "s", true)
		if err != nil {
			t.Fatal(err)
		}
		fixed := snap.Meter.System
		if !snap.Meter.Estimated || fixed < 100 || snap.Meter.Limit != 6000 || snap.Meter.MaxTurns != 20 {
			t.Errorf("meter = %+v", snap.Meter)
		}
		b.model = scripted.New(b.clk)
		b.ask(ctx, "s", "one")
		snap, err = b.eng.Open(ctx, "s", true)
		if err != nil {
			t.Fatal(err)
		}
		if m := snap.Meter; m.Turns != 1 || m.Cached == nil || *m.Cached != 0.25 {
			t.Errorf("meter = %+v", m)
		}
	})
}

func TestLostSessionIsLookedUpAgain(t *testing.T) {
	b := newBed(t, scripted.Text("ok").Times(-1))
	b.run(func(ctx context.Context) {
		b.ask(ctx, "s", "one")
		b.store.sessions["s"].row.Fence.Epoch++
		if err := b.eng.Submit(ctx, "s", "two"); err == nil {
			t.Fatal("a fenced session takes input")
		}
		if end := b.ask(ctx, "s", "three"); end.State != "succeeded" {
			t.Errorf("end = %+v", end)
		}
	})
	b.checkHistory("s")
}
