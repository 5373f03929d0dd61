package openai

import (
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/profile"
	"vitrine/runtime/clock"
)

// What servers say when a model cannot have tools is one kind of error, whatever status it has, and asked for once.
func TestNoTools(t *testing.T) {
	for said, status := range map[string]int{
		`{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error"}}`:                                                       400,
		`{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs","code":404}}`:        404,
		`{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`:                                                                  500,
		`{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`: 400,
		`{"error":{"message":"'tools' is not supported with this model"}}`:                                                                                            400,
		`{"error":{"message":"This model does not support function calling"}}`:                                                                                        422,
		`{"error":{"message":"Tool calling is not supported with this model"}}`:                                                                                       400,
		`{"error":{"message":"Unrecognized request argument supplied: tools","param":"tools","code":"unknown_parameter"}}`:                                            400,
	} {
		srv, c := serve(t, llmtest.Refuse(status, said), llmtest.Refuse(status, said))
		req := llmtest.SuiteRequest()
		var e *llm.Error
		_, err := llmtest.Record(t, llm.Retry(c, llm.RetryConfig{Max: 2, Base: time.Millisecond, Clock: clock.Real()}).Stream(t.Context(), req))
		if e = asError(err); e == nil || e.Kind != llm.ErrNoTools || len(srv.Requests()) != 1 {
			t.Errorf("%s: %v after %d requests", said, err, len(srv.Requests()))
		}
		req.Tools = nil // then it is about something else
		if _, err := llmtest.Record(t, c.Stream(t.Context(), req)); asError(err) == nil || asError(err).Kind == llm.ErrNoTools {
			t.Errorf("%s without tools: %v", said, err)
		}
	}
	for _, said := range []string{"unsupported parameter: parallel_tool_calls", "this model does not support tool_choice=required", "Parallel tool calls are not supported", "the model does not support parallel tool calls", "the tool message must follow its call",
		"parallel function calling is not supported", "temperature is not supported beside tools", "messages with role 'tool' must be a response to a preceding message"} {
		_, c := serve(t, llmtest.Refuse(400, `{"error":{"message":"`+said+`"}}`))
		if _, err := llmtest.Record(t, c.Stream(t.Context(), llmtest.SuiteRequest())); asError(err) == nil || asError(err).Kind != llm.ErrRejected {
			t.Errorf("%s: %v", said, err)
		}
	}
	_, c := serve(t)
	c.profiles.name = "llama.cpp"
	x := &exchange{client: c, dialect: dialect{Profile: c.profiles.of("m")}}
	e := &llm.Error{Kind: llm.ErrNoTools}
	if x.sign(e); !strings.Contains(e.Hint, "--jinja") {
		t.Errorf("hint %q", e.Hint)
	}
}

func asError(err error) *llm.Error {
	e, _ := err.(*llm.Error)
	return e
}

// Rule 33: a wait that the server names makes it a rate, whatever it calls it, unless its code says that the money is gone. Gemini
// names it in the text and in the details.
func TestNamedWaitIsARate(t *testing.T) {
	const said = `"You exceeded your current quota, please check your plan and billing details. `
	for name, c := range map[string]struct {
		reply llmtest.Reply
		kind  llm.ErrorKind
		wait  time.Duration
	}{
		"in the text":    {llmtest.Refuse(429, `{"error":{"code":429,"message":`+said+`Please retry in 2.4s.","status":"RESOURCE_EXHAUSTED"}}`), llm.ErrRate, 2400 * time.Millisecond},
		"in the details": {llmtest.Refuse(429, `[{"error":{"code":429,"message":`+said+`","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]}}]`), llm.ErrRate, 3 * time.Second},
		"in the header":  {llmtest.Refuse(429, `{"error":{"message":`+said+`"}}`).RetryAfter("7"), llm.ErrRate, 7 * time.Second},
		"header first":   {llmtest.Refuse(429, `{"error":{"message":"slow down","details":[{"retryDelay":"3s"}]}}`).RetryAfter("7"), llm.ErrRate, 7 * time.Second},
		"no wait":        {llmtest.Refuse(429, `{"error":{"message":`+said+`"}}`), llm.ErrQuota, 0},
		"no money":       {llmtest.Refuse(429, `{"error":{"message":`+said+`","code":"insufficient_quota"}}`).RetryAfter("7"), llm.ErrQuota, 7 * time.Second},
		"for hours":      {llmtest.Refuse(429, `{"error":{"message":`+said+`Please retry in 5h2m."}}`), llm.ErrQuota, 5*time.Hour + 2*time.Minute},
		"odd details":    {llmtest.Refuse(429, `{"error":{"message":"slow down","details":[3,{"retryDelay":"soon"},{"retryDelay":4}]}}`), llm.ErrRate, 0},
	} {
		_, client := serve(t, c.reply)
		if e := failure(t, client); e.Kind != c.kind || e.RetryAfter != c.wait {
			t.Errorf("%s: %s, %s, want %s, %s", name, e.Kind, e.RetryAfter, c.kind, c.wait)
		}
	}
}

// Words count more than the status: what is too long stays so, what was refused for the day passes, and where one lives is no key.
func TestWordsOverStatus(t *testing.T) {
	for said, c := range map[string]struct {
		status int
		kind   llm.ErrorKind
		again  bool
	}{
		"Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 31234. The input or output tokens must be reduced.": {429, llm.ErrContext, false},
		"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500. Please try again in 1s.":                               {429, llm.ErrRate, true},
		"Too many tokens, please wait before trying again.":         {400, llm.ErrRate, true},
		"Too many tokens per day, please wait before trying again.": {400, llm.ErrQuota, false},
		"Country, region, or territory not supported":               {403, llm.ErrRejected, false},
		"Your account may not use this":                             {403, llm.ErrAuth, false},
	} {
		_, client := serve(t, llmtest.Refuse(c.status, `{"error":{"message":"`+said+`"}}`))
		if e := failure(t, client); e.Kind != c.kind || e.Retryable != c.again {
			t.Errorf("%d %s: %s, retryable %v", c.status, said, e.Kind, e.Retryable)
		}
	}
}

// Rule 9: that ids must have nine letters is learned too, for servers that nobody knows as Mistral's.
func TestProvider09IsLearned(t *testing.T) {
	with(t, "09-learned", providerTest{history: []llm.Message{user("u"), said("", toolCall("call_abc123", "{}")), result("call_abc123", "r")}}, func(k *talk) {
		k.says(k.ask(), "one", "refused")
		k.says(k.ask(), "two")
		if what := k.c.memory.List()[0].What; len(what) != 1 || what[0] != "ids of calls: nine letters and digits" {
			t.Errorf("learned %q", what)
		}
	})
}

// A field that a server does not take is learned from a 500 too, when it says which; other errors of that status teach nothing.
func TestLearnedFrom500(t *testing.T) {
	ask := func(said string, shaped bool) (*llmtest.Server, llm.Reply, error) {
		srv, c := serve(t, llmtest.Refuse(500, `{"error":{"code":500,"message":"`+said+`","type":"server_error"}}`), llmtest.Answer("ok"))
		req := llmtest.SuiteRequest()
		if shaped {
			req.Schema = &llm.Schema{Name: "answer", JSON: []byte(`{"type":"object"}`)}
		}
		reply, err := llmtest.Record(t, c.Stream(t.Context(), req))
		return srv, reply, err
	}
	for _, said := range []string{"Cannot use custom grammar constraints with tools.", "response_format is not supported here"} {
		srv, reply, err := ask(said, true)
		if err != nil || reply.Text != "ok" || len(srv.Requests()) != 2 || len(reply.Notes) != 1 {
			t.Errorf("%s: %+v, %v", said, reply, err)
		}
	}
	if _, reply, err := ask("unknown field: stream_options", false); err != nil || reply.Text != "ok" {
		t.Errorf("%+v, %v", reply, err)
	}
	for _, said := range []string{"the reasoning engine crashed", "out of memory while making the grammar", "Internal Server Error"} {
		if _, _, err := ask(said, true); asError(err) == nil || asError(err).Kind != llm.ErrServer || !asError(err).Retryable {
			t.Errorf("%s: %v", said, err)
		}
	}
}

// The first choice that comes is the reply, whatever number it has; others are left alone.
func TestChoiceOfAnyIndex(t *testing.T) {
	one := func(index, text string) string {
		return `{"model":"m","choices":[{"index":` + index + `,"delta":{"content":"` + text + `"}}]}`
	}
	for name, events := range map[string][]string{
		"only 1": {one("1", "he"), one("1", "ll"), one("1", "o"), `{"model":"m","choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`},
		"0 too":  {one("0", "he"), one("1", "XX"), one("0", "ll"), one("0", "o"), `{"model":"m","choices":[{"index":1,"finish_reason":"length"},{"index":0,"finish_reason":"stop"}]}`},
		"1 first": {one("1", "he"), one("0", "XX"), one("0", "XX"), one("1", "ll"), one("0", "XX"), one("1", "o"),
			`{"model":"m","choices":[{"index":0,"finish_reason":"length"},{"index":1,"finish_reason":"stop"}]}`},
	} {
		for _, slow := range []bool{false, true} {
			reply, err := playIn(t, generic(habits{}), llm.Request{}, slow, strings.NewReader(data(append(events, end)...)))
			if err != nil || reply.Text != "hello" || reply.Finish != llm.FinishStop {
				t.Errorf("%s (slow %v): %q, %s, %v", name, slow, reply.Text, reply.Finish, err)
			}
		}
	}
}

// Rule 21: what stands before an end of thinking that has no beginning is no answer (B107). It was shown as one by then, so it is
// taken back; a profile that knows its model shows it as thinking from the start.
func TestThinkingWithoutBeginning(t *testing.T) {
	set, err := profile.Parse([]byte("[profile.mine]\nstarts_thinking = true\n"))
	if err != nil {
		t.Fatal(err)
	}
	thinker := generic(habits{})
	thinker.MayThink = true
	mine := dialect{Profile: set.Choose("mine", "http://h/v1", "m").Profile}
	for _, size := range []int{1, 3, 1000} {
		var events []string
		for text := "I should add.</think>\n\nIt is 2."; text != ""; {
			n := min(size, len(text))
			events = append(events, `{"choices":[{"delta":{"content":"`+strings.ReplaceAll(text[:n], "\n", `\n`)+`"}}]}`)
			text = text[n:]
		}
		events = append(events, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, end)
		reply, err := playIn(t, thinker, llm.Request{}, false, strings.NewReader(data(events...)))
		if err != nil || reply.Text != "It is 2." || len(reply.Notes) != 1 || reply.Notes[0].Code != noteThinkText || !strings.Contains(reply.Notes[0].Todo, "starts_thinking") {
			t.Errorf("pieces of %d: %q, %+v, %v", size, reply.Text, reply.Notes, err)
		}
		reply, err = playIn(t, mine, llm.Request{}, false, strings.NewReader(data(events...)))
		if err != nil || reply.Text != "It is 2." || reply.Reasoning != "I should add." || len(reply.Notes) != 0 {
			t.Errorf("with the profile, pieces of %d: %q, %q, %+v, %v", size, reply.Text, reply.Reasoning, reply.Notes, err)
		}
	}
}
