package openai

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/profile"
	"vitrine/runtime/clock"
)

// talk is a conversation with a server that misbehaves as a script of testdata/providers says. The server is strict beside
// that: it refuses every history that is not valid.
type talk struct {
	t      *testing.T
	srv    *llmtest.Server
	script *llmtest.Script
	c      *Client
	via    llm.Client // the client, or what a test put around it
	req    llm.Request
}

// providerTest says how a talk begins.
type providerTest struct {
	profile  string // empty is generic
	own      string // profiles of a configuration
	model    string
	lenient  bool // the server does not check histories by itself
	history  []llm.Message
	tools    []string
	limit    int
	heat     *float64
	patience time.Duration // of retries and of the watchdog; 0 puts nothing around the client
	silence  time.Duration
}

// with plays a script in simulated time.
func with(t *testing.T, file string, p providerTest, f func(*talk)) {
	t.Helper()
	script, err := llmtest.LoadScript(filepath.Join("testdata", "providers", file+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := profile.Parse([]byte(p.own))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		srv := llmtest.NewPipeServer()
		if !p.lenient {
			srv.Strict()
		}
		script.Serve(srv)
		if p.profile == "" {
			p.profile = profile.Generic
		}
		c := New(Config{BaseURL: srv.URL(), Key: testKey, Transport: srv.Transport(), Profiles: set, Profile: p.profile})
		defer func() {
			c.Close()
			srv.Close()
		}()
		k := &talk{t: t, srv: srv, script: script, c: c, via: c, req: llmtest.SuiteRequest()}
		if p.model != "" {
			k.req.Model = p.model
		}
		if p.history != nil {
			k.req.Messages = append(k.req.Messages[:1], p.history...)
		}
		for _, name := range p.tools {
			k.req.Tools = append(k.req.Tools, llm.ToolSpec{Name: name})
		}
		k.req.MaxTokens, k.req.Temperature = p.limit, p.heat
		if p.silence > 0 {
			k.via = llm.Watchdog(k.via, llm.WatchdogConfig{Silence: p.silence, Clock: clock.Real()})
		}
		if p.patience > 0 {
			k.via = llm.Retry(k.via, llm.RetryConfig{Max: 3, Cap: p.patience, Clock: clock.Real()})
		}
		f(k)
		if left, problems := script.Left(), script.Problems(); left > 0 || len(problems) > 0 {
			t.Errorf("%d replies were not asked for; not met: %v", left, problems)
		}
	})
}

// ask asks, wants a reply, and answers it: each call with a result, text with another question.
func (k *talk) ask() llm.Reply {
	k.t.Helper()
	reply, err := llmtest.Record(k.t, k.via.Stream(k.t.Context(), k.req))
	if err != nil {
		k.t.Fatalf("error %v", err)
	}
	k.req.Messages = append(k.req.Messages, reply.Message())
	for _, c := range reply.ToolCalls {
		k.req.Messages = append(k.req.Messages, result(c.ID, "done"))
	}
	if len(reply.ToolCalls) == 0 {
		k.req.Messages = append(k.req.Messages, user("go on"))
	}
	return reply
}

// fail asks and wants an error of a kind whose text holds some words.
func (k *talk) fail(kind llm.ErrorKind, words string) *llm.Error {
	k.t.Helper()
	reply, err := llmtest.Record(k.t, k.via.Stream(k.t.Context(), k.req))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Error(), words) {
		k.t.Fatalf("error %v, want %s with %q", err, kind, words)
	}
	if len(reply.ToolCalls) > 0 {
		k.t.Errorf("calls beside an error: %+v", reply.ToolCalls)
	}
	return e
}

// calls wants these, each as "id name arguments".
func (k *talk) calls(reply llm.Reply, want ...string) {
	k.t.Helper()
	var got []string
	for _, c := range reply.ToolCalls {
		got = append(got, c.ID+" "+c.Name+" "+c.Arguments)
	}
	if d := cmp.Diff(want, got); d != "" {
		k.t.Errorf("calls (-want +got):\n%s", d)
	}
}

// says wants the reply to have this text and these notes.
func (k *talk) says(reply llm.Reply, text string, notes ...string) {
	k.t.Helper()
	var got []string
	for _, n := range reply.Notes {
		got = append(got, n.Code)
		if n.Message == "" || n.Why == "" || n.Todo == "" {
			k.t.Errorf("a note that says too little: %+v", n)
		}
	}
	if d := cmp.Diff(notes, got); reply.Text != text || d != "" {
		k.t.Errorf("text %q, want %q; notes (-want +got):\n%s", reply.Text, text, d)
	}
}

const (
	sum  = `calculator {"expression":"1+1"}`
	list = `todo {"action":"list"}`
)

func TestProvider01(t *testing.T) {
	with(t, "01-every-index-0", providerTest{profile: "ollama"}, func(k *talk) { k.calls(k.ask(), "c1 "+sum, "c2 "+list) })
}

func TestProvider02(t *testing.T) {
	for _, p := range []string{"gemini", "mistral"} {
		with(t, "02-no-index", providerTest{profile: p}, func(k *talk) { k.calls(k.ask(), "c1 "+sum, "c2 "+list) })
	}
}

func TestProvider03(t *testing.T) {
	with(t, "03-head-0-tail-1", providerTest{profile: "deepseek"}, func(k *talk) {
		k.calls(k.ask(), "c1 "+sum, "c2 "+list)
		k.fail(llm.ErrProtocol, "a piece of a tool call that may belong to two calls")
	})
}

func TestProvider04(t *testing.T) {
	with(t, "04-one-call-three-times", providerTest{}, func(k *talk) { k.calls(k.ask(), "c1 "+sum) })
}

func TestProvider05(t *testing.T) {
	with(t, "05-arguments-first", providerTest{profile: "sglang"}, func(k *talk) { k.calls(k.ask(), "c1 "+sum) })
}

func TestProvider06(t *testing.T) {
	with(t, "06-several-and-fragments", providerTest{}, func(k *talk) { k.calls(k.ask(), "c1 "+sum, "c2 "+list) })
}

func TestProvider07(t *testing.T) {
	with(t, "07-object-arguments", providerTest{profile: "mistral"}, func(k *talk) { k.calls(k.ask(), "c1 "+sum) })
}

func TestProvider08(t *testing.T) {
	with(t, "08-ids", providerTest{}, func(k *talk) {
		k.calls(k.ask(), "call_0 calculator {}", "call_1 calculator {}")
		k.calls(k.ask(), `c1 calculator {"expression":"1"}`, `call_1 calculator {"expression":"2"}`)
		k.calls(k.ask(), `c1 calculator {"expression":"3"}`)
		k.says(k.ask(), "six")
	})
}

func TestProvider09(t *testing.T) {
	with(t, "09-nine-letters", providerTest{profile: "mistral"}, func(k *talk) {
		k.ask()
		k.ask()
		k.says(k.ask(), "done")
	})
	if a, b := alnum9("call_made_up"), alnum9("call_made_up_2"); a == b || len(a) != 9 || a != alnum9("call_made_up") {
		t.Errorf("made %s and %s", a, b)
	}
}

func TestProvider10(t *testing.T) {
	for _, p := range []string{"gemini", "openai"} {
		with(t, "10-stop-with-calls", providerTest{profile: p}, func(k *talk) { k.calls(k.ask(), "c1 "+sum) })
	}
}

func TestProvider11(t *testing.T) {
	with(t, "11-length-rewritten", providerTest{profile: "openrouter", tools: []string{"write_file"}}, func(k *talk) {
		reply := k.ask()
		k.calls(reply, `c1 write_file {"path":"a","content":"half of`) // who executes sees that it is no JSON
		k.says(reply, "", "truncated")
	})
}

func TestProvider12(t *testing.T) {
	with(t, "12-no-finish", providerTest{}, func(k *talk) {
		if e := k.fail(llm.ErrCut, "ended before the reply was complete"); !e.Retryable {
			t.Error("it is not tried again")
		}
		k.says(k.ask(), "whole")
	})
}

func TestProvider13(t *testing.T) {
	with(t, "13-error-inside", providerTest{profile: "vllm"}, func(k *talk) {
		k.fail(llm.ErrServer, "The server had an error")
		k.fail(llm.ErrRejected, "bad prompt")
		k.fail(llm.ErrServer, "overloaded")
	})
}

func TestProvider14(t *testing.T) {
	with(t, "14-comments", providerTest{profile: "openrouter", silence: time.Minute}, func(k *talk) {
		began := time.Now()
		k.says(k.ask(), "at last")
		if took := time.Since(began); took != 200*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestProvider15(t *testing.T) {
	with(t, "15-empty-choices", providerTest{profile: "azure"}, func(k *talk) {
		reply := k.ask()
		k.says(reply, "hello")
		if reply.Usage.Prompt == nil || *reply.Usage.Prompt != 9 || reply.Model != "gpt-4o" {
			t.Errorf("got %+v", reply)
		}
	})
}

func TestProvider16(t *testing.T) {
	with(t, "16-lines", providerTest{tools: []string{"write_file"}}, func(k *talk) {
		reply := k.ask()
		k.says(reply, "ab")
		k.calls(reply, `c1 write_file {"content":"`+strings.Repeat("ten bytes.", 7000)+`"}`)
	})
}

func TestProvider17(t *testing.T) {
	with(t, "17-split-characters", providerTest{}, func(k *talk) { k.says(k.ask(), "世界 👩‍👩‍👧\uFFFD!") })
}

func TestProvider18(t *testing.T) {
	with(t, "18-two-names", providerTest{}, func(k *talk) {
		for _, want := range []string{`{"reasoning_content":"hm","vitrine_origin":"pipe.test"}`, `{"reasoning":"so","vitrine_origin":"pipe.test"}`, ""} {
			if reply := k.ask(); string(reply.Extra) != want || strings.Contains(reply.Text, reply.Reasoning) && want != "" {
				t.Errorf("extra %s, want %s", reply.Extra, want)
			}
		}
	})
}

// B107: the profile says that it goes back, also in messages that have none; to the same family only.
func TestProvider19(t *testing.T) {
	with(t, "19-reasoning-back", providerTest{profile: "deepseek"}, func(k *talk) {
		k.ask()
		k.says(k.ask(), "2")
		k.says(k.ask(), "3")
		if n := len(k.srv.Requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
	// Without a profile it is learned.
	with(t, "19-reasoning-back", providerTest{}, func(k *talk) {
		k.ask()
		k.says(k.ask(), "2", "refused")
		k.says(k.ask(), "3", "refused")
		if n := len(k.srv.Requests()); n != 5 {
			t.Errorf("%d requests", n)
		}
	})
	with(t, "19-reasoning-refused", providerTest{own: "[profile.mine]\nreasoning = 'reply'\n", profile: "mine"}, func(k *talk) {
		k.says(k.ask(), "1")
		k.says(k.ask(), "2", "refused")
		if n := len(k.srv.Requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
	other := said("1")
	other.Extra = json.RawMessage(`{"reasoning_content":"of another family","vitrine_origin":"moonshot"}`)
	for _, p := range profile.Builtin().Names() {
		with(t, "19-reasoning-refused", providerTest{profile: p, lenient: true, history: []llm.Message{user("u"), other, user("v")}}, func(k *talk) {
			if p == "deepseek" || p == "moonshot" {
				k.req.Messages = k.req.Messages[:2] // they get it, or an empty one
			}
			k.ask()
			k.req.Messages = k.req.Messages[:2]
			k.ask()
			for _, r := range k.srv.Requests() {
				if strings.Contains(string(r.Body), "another family") {
					t.Errorf("%s: sent %s", p, r.Body)
				}
			}
		})
	}
}

func TestProvider20(t *testing.T) {
	with(t, "20-signatures", providerTest{profile: "gemini"}, func(k *talk) {
		k.ask()
		k.says(k.ask(), "ok")
	})
	call := toolCall("c1", "{}")
	call.Extra = json.RawMessage(`{"extra_content":{"google":{"thought_signature":"of another family"}}}`)
	m := said("", call)
	m.Extra = json.RawMessage(`{"vitrine_origin":"elsewhere"}`)
	with(t, "20-signatures-of-others", providerTest{profile: "gemini", history: []llm.Message{user("u"), m, result("c1", "r")}}, func(k *talk) { k.says(k.ask(), "ok") })
}

// B106: nothing is run out of a text, and the user is told what to change; a profile may say otherwise.
func TestProvider21(t *testing.T) {
	const leak = `<tool_call>{"name":"calculator","arguments":{"expression":"1+1"}}</tool_call>`
	with(t, "21-leaks", providerTest{profile: "vllm"}, func(k *talk) {
		reply := k.ask()
		k.calls(reply)
		k.says(reply, "Let me see. "+leak, "tool_text")
		if n := reply.Notes[0]; !strings.Contains(n.Message, "as text; it was not run") || !strings.Contains(n.Todo, "--tool-call-parser") {
			t.Errorf("note %+v", n)
		}
		reply = k.ask()
		k.says(reply, "It is 2.", "think_text")
		if reply.Reasoning != "I should add." || !strings.Contains(reply.Notes[0].Todo, "--reasoning-parser") {
			t.Errorf("got %+v", reply)
		}
		reply = k.ask()
		k.says(reply, "It is 2.") // it was told once
		if reply.Reasoning != "I should add." {
			t.Errorf("got %+v", reply)
		}
	})
	with(t, "21-leaks", providerTest{own: "[profile.vllm]\ntext_calls = 'parse'\nthink_tags = false\n", profile: "vllm"}, func(k *talk) {
		reply := k.ask()
		k.calls(reply, "text_0 "+sum)
		k.says(reply, "Let me see. ", "tool_text")
		k.says(k.ask(), "<think>I should add.</think>\n\nIt is 2.")
		k.ask()
	})
}

// B106: all forms of calls are told of, also JSON that is all of the reply, and what cannot be read is not said to be read by a setting that
// is on already. Code that speaks of them is none.
func TestLeaksInAllForms(t *testing.T) {
	request := llm.Request{Tools: []llm.ToolSpec{{Name: "calculator"}}}
	const args = `{"expression":"1"}`
	for text, c := range map[string]struct{ leak, call bool }{
		`{"name":"calculator","parameters":` + args + `}`: {true, true}, "\n{\"name\":\"calculator\",\"arguments\":" + args + "}\n": {true, true},
		`<function=calculator><parameter=expression>1</parameter></function>`: {true, true}, "So: [TOOL_CALLS]calculator[ARGS]" + args: {true, true},
		"<tool_call>calculator and so on": {true, false}, `{"name":"Ada","arguments":{}}`: {}, `{"a":1}`: {}, "Write `<tool_call>` so.": {},
		"```json\n{\"name\":\"calculator\",\"arguments\":" + args + "}\n```": {}, "{" + strings.Repeat(" ", maxLeak) + "x": {},
	} {
		for _, parse := range []bool{false, true} {
			for _, at := range []int{len(text), len(text) / 2, 1} {
				how := generic(habits{})
				how.Hints = map[string]string{"tool_text": "look, or set text_calls = x"}
				if parse {
					how.TextCalls = profile.TextCallsParse
				}
				reply, err := playIn(t, how, request, false, strings.NewReader(stream(llmtest.Text(text[:at]), llmtest.Text(text[at:]), llmtest.Finish("stop"))))
				ran := len(reply.ToolCalls) == 1 && reply.ToolCalls[0].Arguments == args && reply.ToolCalls[0].Name == "calculator"
				told := len(reply.Notes) == 1 && reply.Notes[0].Code == llm.NoteToolText
				if err != nil || ran != (c.call && parse) || len(reply.ToolCalls) > 0 != ran || told != c.leak || !ran && reply.Text != text {
					t.Errorf("%.60q at %d, parse %v: %v, ran %v, told %v, text %.60q", text, at, parse, err, reply.ToolCalls, reply.Notes, reply.Text)
				}
				if told && strings.Contains(reply.Notes[0].Todo, "text_calls") == parse {
					t.Errorf("%.60q, parse %v: it says %q", text, parse, reply.Notes[0].Todo)
				}
			}
		}
	}
	how := generic(habits{})
	request.Schema = &llm.Schema{Name: "s"}
	if reply, err := playIn(t, how, request, false, strings.NewReader(stream(llmtest.Text(`{"name":"calculator","arguments":{}}`), llmtest.Finish("stop")))); err != nil || len(reply.Notes) > 0 {
		t.Errorf("a reply in the form that was asked for is told of: %v, %v", reply.Notes, err)
	}
}

func TestProvider22(t *testing.T) {
	with(t, "22-content-beside-calls", providerTest{}, func(k *talk) {
		k.ask()
		k.says(k.ask(), "ok")
	})
}

func TestProvider23(t *testing.T) {
	with(t, "23-empty-replies", providerTest{profile: "mistral", history: []llm.Message{user("one"), said(""), user("two")}}, func(k *talk) { k.says(k.ask(), "ok") })
}

func TestProvider24(t *testing.T) {
	with(t, "24-parts", providerTest{profile: "vllm"}, func(k *talk) { k.says(k.ask(), "Hello") })
}

func TestProvider25(t *testing.T) {
	for _, p := range []string{"vllm", "sglang", "llama.cpp"} {
		with(t, "25-late-system", providerTest{profile: p, history: []llm.Message{memo("remember this"), user("u"), sys("and this")}}, func(k *talk) { k.says(k.ask(), "ok") })
	}
}

func TestProvider26(t *testing.T) {
	with(t, "26-developer", providerTest{profile: "sglang"}, func(k *talk) {
		k.says(k.ask(), "ok")
		k.says(k.ask(), "ok")
	})
	with(t, "26-developer", providerTest{own: "[profile.mine]\nsystem_role = 'developer'\n", profile: "mine", lenient: true}, func(k *talk) {
		k.says(k.ask(), "ok", "refused")
		k.says(k.ask(), "ok")
		if n := len(k.srv.Requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}

// Rule 26: a server that does not know the role developer may know system, and only one that does not know that either gets instructions with
// the first message.
func TestInstructionsFallBackInOrder(t *testing.T) {
	for role, want := range map[profile.Role]profile.Role{profile.RoleDeveloper: profile.RoleSystem, profile.RoleSystem: profile.RoleUser, profile.RoleUser: ""} {
		how := generic(habits{Role: role})
		l, _ := how.adapt(&llm.Error{Kind: llm.ErrRejected, Status: 400}, fault{message: string(role) + " role not supported"}, llm.Request{})
		if l.habits.Role != want {
			t.Errorf("%s becomes %q", role, l.habits.Role)
		}
	}
}

func TestProvider27(t *testing.T) {
	half := 0.5
	with(t, "27-limit-ollama", providerTest{profile: "ollama", limit: 100}, func(k *talk) { k.says(k.ask(), "ok") })
	with(t, "27-limit-openai", providerTest{profile: "openai", model: "gpt-5-mini", limit: 100, heat: &half, lenient: true}, func(k *talk) {
		k.says(k.ask(), "ok")
		k.says(k.ask(), "ok")
		if r := k.srv.Requests()[0]; r.Messages[0].Role != "developer" {
			t.Errorf("sent %s", r.Body)
		}
	})
	with(t, "27-limit-openai", providerTest{limit: 100, heat: &half}, func(k *talk) {
		k.says(k.ask(), "ok", "refused", "refused")
		k.says(k.ask(), "ok")
	})
}

func TestProvider28(t *testing.T) {
	with(t, "28-tool-choice", providerTest{own: "[profile.moonshot]\nbody = { tool_choice = 'required', parallel_tool_calls = false }\n", profile: "moonshot"}, func(k *talk) {
		k.says(k.ask(), "ok", "refused", "refused")
		k.says(k.ask(), "ok")
		if n := len(k.srv.Requests()); n != 4 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestProvider29(t *testing.T) {
	history := []llm.Message{user("u"), said("", toolCall("c1", "{}"), toolCall("c2", "{}")), user("meanwhile"), result("c2", "2"), result("c1", "1")}
	with(t, "29-answers-follow", providerTest{profile: "moonshot", history: history}, func(k *talk) { k.says(k.ask(), "ok") })
}

func TestProvider30(t *testing.T) {
	with(t, "30-too-long", providerTest{profile: "llama.cpp"}, func(k *talk) {
		for _, server := range []string{"anthropic", "vllm", "openrouter", "gemini", "llama.cpp"} {
			k.req.Messages[1].Content = server
			if e := k.fail(llm.ErrContext, "start llama-server with a larger -c"); e.Retryable {
				t.Errorf("%s: it would be sent again unchanged", server)
			}
		}
		k.req.Messages[1].Content = "bedrock"
		if e := k.fail(llm.ErrRate, "please wait"); !e.Retryable {
			t.Error("throttling is not waited for")
		}
	})
	// Cerebras says nothing at all; a small request that is refused so is not too long.
	for _, c := range []struct {
		status, size int
		kind         llm.ErrorKind
	}{{413, 10, llm.ErrContext}, {400, 20 << 10, llm.ErrContext}, {400, 10, llm.ErrRejected}} {
		_, client := serve(t, llmtest.Page(c.status, "text/plain", " "))
		req := llmtest.SuiteRequest()
		req.Messages[1].Content = strings.Repeat("x", c.size)
		var e *llm.Error
		if _, err := llmtest.Record(t, client.Stream(t.Context(), req)); !errors.As(err, &e) || e.Kind != c.kind {
			t.Errorf("%d for %d bytes: %v", c.status, c.size, err)
		}
	}
}

func TestProvider31(t *testing.T) {
	with(t, "31-no-room", providerTest{own: "[profile.mine]\ncontext_tokens = 131072\n", profile: "mine"}, func(k *talk) {
		k.fail(llm.ErrContext, "the prompt fills the model's window")
		k.says(k.ask(), "ok", "overflow")
	})
}

func TestProvider32(t *testing.T) {
	with(t, "32-silent-cut", providerTest{profile: "ollama"}, func(k *talk) {
		if reply := k.ask(); *reply.Usage.Prompt != 4096 { // the runtime compares it with its estimate
			t.Errorf("usage %+v", reply.Usage)
		}
		k.fail(llm.ErrContext, "OLLAMA_CONTEXT_LENGTH")
	})
}

func TestProvider33(t *testing.T) {
	with(t, "33-retry-after", providerTest{patience: time.Minute}, func(k *talk) {
		began := time.Now()
		reply := k.ask()
		var waits []time.Duration
		for _, w := range reply.Retries {
			waits = append(waits, w.Wait)
		}
		// The one in the past says nothing, so that the third wait is our own.
		if d := cmp.Diff([]time.Duration{20 * time.Second, 30 * time.Second, 2 * time.Second}, waits); d != "" || time.Since(began) != 52*time.Second {
			t.Errorf("after %s (-want +got):\n%s", time.Since(began), d)
		}
		began = time.Now()
		k.fail(llm.ErrQuota, "try again in 1h0m0s")
		if time.Since(began) != 0 {
			t.Errorf("waited %s", time.Since(began))
		}
	})
}

func TestProvider34(t *testing.T) {
	with(t, "34-overloaded", providerTest{}, func(k *talk) {
		limiter := llm.NewLimiter(llm.LimitConfig{Base: time.Second, Clock: clock.Real()})
		tabs := func() llm.Client {
			return llm.Retry(limiter.For("h", k.c), llm.RetryConfig{Max: 5, Base: time.Second, Clock: clock.Real()})
		}
		began := time.Now()
		group := clock.NewGroup(clock.Real())
		for i := range 3 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				if _, err := llm.Collect(tabs().Stream(k.t.Context(), llmtest.SuiteRequest())); err != nil {
					k.t.Error(err)
				}
			})
		}
		_ = group.Wait(k.t.Context())
		// One is refused, one asks after a second and is refused; nobody else asks until all may.
		if n := len(k.srv.Requests()); n != 5 || time.Since(began) < 3*time.Second {
			t.Errorf("%d requests in %s", n, time.Since(began))
		}
		k.via = tabs()
		k.fail(llm.ErrContext, "exceeds the available context size")
	})
}

func TestProvider35(t *testing.T) {
	with(t, "35-cache", providerTest{}, func(k *talk) {
		for i, want := range []int{64, 65, -1, 900} {
			u := k.ask().Usage
			if (u.Cached == nil) != (want < 0) || u.Cached != nil && *u.Cached != want {
				t.Errorf("%d: cached %v", i, u.Cached)
			}
			if prompt := []int{100, 100, 100, 1050}[i]; *u.Prompt != prompt {
				t.Errorf("%d: prompt %d", i, *u.Prompt)
			}
		}
	})
	// A profile may name places of its own, and say that the prompt's count leaves them out.
	how := generic(habits{})
	how.CachedTokens, how.CachedApart = []string{"cache.read", "cached_tokens"}, true
	for in, want := range map[string][2]int{`{"prompt_tokens":5,"cache":{"read":7},"cached_tokens":3}`: {12, 7}, `{"prompt_tokens":5,"cache":7,"cached_tokens":3}`: {8, 3}} {
		reply, err := playIn(t, how, llm.Request{}, false, strings.NewReader(data(`{"choices":[],"usage":`+in+`}`, end)))
		if err != nil || *reply.Usage.Prompt != want[0] || *reply.Usage.Cached != want[1] {
			t.Errorf("%s: %+v, %v", in, reply.Usage, err)
		}
	}
}

func TestProvider36(t *testing.T) {
	with(t, "36-odd-errors", providerTest{profile: "lmstudio"}, func(k *talk) {
		k.fail(llm.ErrRejected, "Unknown field: temprature")
		k.fail(llm.ErrNotFound, "the base URL of LM Studio ends in /v1")
	})
}

func TestProvider37(t *testing.T) {
	with(t, "37-buffered", providerTest{}, func(k *talk) {
		k.says(k.ask(), strings.Repeat(" word", 50))
		reply := k.ask()
		k.says(reply, strings.Repeat(" word", 50), "buffered")
		if n := reply.Notes[0]; !strings.Contains(n.Message, "at once, after 9s") || !strings.Contains(n.Todo, "proxy_buffering") {
			t.Errorf("note %+v", n)
		}
	})
}

func TestProvider38(t *testing.T) {
	with(t, "38-slow", providerTest{silence: time.Minute}, func(k *talk) {
		k.says(k.ask(), "slowly")
		began := time.Now()
		k.fail(llm.ErrTimeout, "no answer within 5m0s")
		if took := time.Since(began); took != DefaultFirstByteTimeout {
			t.Errorf("took %s", took)
		}
		began = time.Now()
		k.fail(llm.ErrTimeout, "no data for 1m0s")
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

func TestProvider39(t *testing.T) {
	with(t, "39-reset", providerTest{patience: time.Minute}, func(k *talk) {
		reply := k.ask()
		k.calls(reply)
		k.says(reply, "whole")
		if len(reply.Retries) != 1 || !strings.Contains(reply.Retries[0].Cause, "the connection broke") {
			t.Errorf("retries %+v", reply.Retries)
		}
	})
}
