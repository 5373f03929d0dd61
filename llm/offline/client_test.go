package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"vitrine/assets"
	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/tools/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(*testing.T, llmtest.Scenario) llm.Client { return New(Config{}) }, llmtest.NoScript)
}

// desk is a session with the real tools: the smallest loop around the model.
type desk struct {
	t       testing.TB
	client  *Client
	req     llm.Request
	tools   map[string]tools.Tool
	todos   []tools.Todo
	dir     string            // of the file tools
	results []json.RawMessage // the newest first
	// fail, if set, answers calls in place of the tools.
	fail func(llm.ToolCall) *tools.Result
	// calls are those of the last question.
	calls []llm.ToolCall
	said  string // beside the calls
}

// Results implements tools.ResultReader.
func (d *desk) Results(context.Context, string, []string, int) ([]json.RawMessage, error) {
	return d.results, nil
}

// Todos implements tools.TodoReader.
func (d *desk) Todos(context.Context, string) ([]tools.Todo, error) { return d.todos, nil }

func newDesk(t testing.TB) *desk {
	d := &desk{t: t, client: New(Config{}), tools: map[string]tools.Tool{}}
	n := 0
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	d.dir = root.Name()
	defer func() {
		slices.SortFunc(d.req.Tools, func(a, b llm.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
	}()
	deps := builtin.Deps{Corpus: assets.Corpus(), Todos: d, NewID: func() string { n++; return fmt.Sprint("todo-", n) }, Root: root, Results: d}
	for _, tool := range builtin.All(deps) {
		d.tools[tool.Name()] = tool
		d.req.Tools = append(d.req.Tools, llm.ToolSpec{Name: tool.Name(), Description: tool.Description(), Schema: tool.Schema()})
	}
	d.req.Messages = []llm.Message{{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: "You are a helpful agent."}}
	return d
}

func (d *desk) run(call llm.ToolCall) tools.Result {
	if d.fail != nil {
		if r := d.fail(call); r != nil {
			return *r
		}
	}
	tool := d.tools[call.Name]
	if tool == nil {
		d.t.Fatalf("a call of %q, which is not there", call.Name)
	}
	out, err := tool.Run(d.t.Context(), tools.Call{Progress: func(string) {}}, json.RawMessage(call.Arguments))
	var te *tools.Error
	if errors.As(err, &te) {
		return tools.Result{Error: te}
	} else if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range out.Changes {
		switch c := c.(type) {
		case tools.TodoAdd:
			d.todos = append(d.todos, tools.Todo{ID: c.ID, Text: c.Text})
		case tools.TodoSet:
			for i := range d.todos {
				if d.todos[i].ID == c.ID {
					d.todos[i].Completed = c.Completed
				}
			}
		}
	}
	res := tools.NewResult(out, nil)
	d.results = append([]json.RawMessage{tools.EncodeResult(res)}, d.results...)
	return res
}

// ask plays one turn and gives the answer.
func (d *desk) ask(text string) string {
	d.req.Messages = append(d.req.Messages, llm.Message{Role: llm.RoleUser, Kind: llm.KindUser, Content: text})
	d.calls, d.said = nil, ""
	for range 3 {
		if err := scripted.CheckHistory(d.req); err != nil {
			d.t.Fatalf("history: %v", err)
		}
		reply, err := llmtest.Record(d.t, d.client.Stream(d.t.Context(), d.req))
		if err != nil {
			d.t.Fatal(err)
		}
		d.req.Messages = append(d.req.Messages, reply.Message())
		if len(reply.ToolCalls) == 0 {
			return reply.Text
		}
		d.calls, d.said = append(d.calls, reply.ToolCalls...), d.said+reply.Text
		for _, call := range reply.ToolCalls {
			b, err := json.Marshal(d.run(call))
			if err != nil {
				d.t.Fatal(err)
			}
			d.req.Messages = append(d.req.Messages, llm.Message{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: call.ID, Name: call.Name, Content: string(b)})
		}
	}
	d.t.Fatalf("no answer to %q", text)
	return ""
}

func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q lacks %q", got, w)
		}
	}
}

func TestCalculates(t *testing.T) {
	d := newDesk(t)
	if got := d.ask("what is (17+5)*3?"); got != "(17+5)*3 = 66" || d.said != "" {
		t.Errorf("got %q, commentary %q", got, d.said)
	}
	want := []llm.ToolCall{{ID: "call_1", Name: "calculator", Arguments: `{"expression":"(17+5)*3"}`}}
	if diff := cmp.Diff(want, d.calls); diff != "" {
		t.Error(diff)
	}
	contains(t, d.ask("计算 10 除以 4"), "10 / 4 = 2.5")
	contains(t, d.ask("what is 1/3"), "0.333", "exactly 1/3")
	contains(t, d.ask("7 除以 3 等于多少"), "精确值 7/3")
	contains(t, d.ask("what is 2*3*4"), "`2*3*4 = 24`")
	contains(t, d.ask("what is 1/0?"), "Calculating 1/0 did not work", "zero")
	contains(t, d.ask("计算 1/0"), "没有成功")
	contains(t, d.ask("calculate (3+4"), "did not work")
	if got := d.ask("2+3 and then 4*5"); !strings.Contains(got, "2+3 = 5") || !strings.Contains(got, "4*5 = 20") || len(d.calls) != 2 {
		t.Errorf("two: %q", got)
	}
	contains(t, d.ask("3*3"), "3*3 = 9")
}

func TestLooksUp(t *testing.T) {
	d := newDesk(t)
	contains(t, d.ask("what is a context window"), "The context window", "1. **")
	contains(t, d.ask("查一下上下文窗口"), "上下文窗口", "文档中关于", "1. **")
	contains(t, d.ask("search for zzyzzyx"), "nothing about “zzyzzyx”")
	got := d.ask("what is the context window?")
	contains(t, got, "You have not told me about that", "The context window")
	d.ask("remember that the context window is 6000 tokens")
	if got := d.ask("what is the context window?"); !strings.Contains(got, "6000") || d.calls != nil {
		t.Errorf("told: %q", got)
	}
	contains(t, d.ask("tell me about prompt caching"), "Prompt caching")
	contains(t, d.ask("上下文窗口是什么"), "上下文窗口")
}

func TestKeepsTodos(t *testing.T) {
	d := newDesk(t)
	contains(t, d.ask("list my todos"), "no todos")
	contains(t, d.ask("add a todo: submit the report"), "Added the todo “submit the report”")
	if len(d.todos) != 1 || d.todos[0].Text != "submit the report" {
		t.Fatalf("todos: %+v", d.todos)
	}
	contains(t, d.ask("add a todo: submit the report"), "already")
	contains(t, d.ask("提醒我交房租"), "已添加待办：“交房租”")
	contains(t, d.ask("complete todo report"), "Completed the todo “submit the report”")
	contains(t, d.ask("list my todos"), "- [x] submit the report", "- [ ] 交房租")
	contains(t, d.ask("完成待办 房租"), "已完成待办：“交房租”")
	contains(t, d.ask("complete todo dragons"), "did not work", "dragons")
	contains(t, d.ask("when do I submit the report?"), "You asked me to note this todo: submit the report")
}

func TestSeveralAtOnce(t *testing.T) {
	d := newDesk(t)
	got := d.ask("what is 12*7 and add a todo: pay the bill")
	contains(t, got, "12*7 = 84", "pay the bill")
	contains(t, d.said, "I will calculate 12*7 and add the todo “pay the bill”.")
	if len(d.calls) != 2 || d.calls[0].ID == d.calls[1].ID {
		t.Errorf("calls %+v", d.calls)
	}
	got = d.ask("请记住：密码是abc，然后计算 3*4，并添加待办：付款，再查一下协程")
	contains(t, got, "记下了：密码是abc", "3*4 = 12", "付款", "协程")
	contains(t, d.said, "我来计算 3*4，然后添加待办“付款”，然后查“协程”。")
	contains(t, d.ask("密码是什么，列出待办"), "abc", "- [ ] 付款")
	contains(t, d.ask("list my todos and complete todo 付款"), "Your todos", "Completed")
	got = d.ask(strings.Repeat("what is 2*3? ", 30))
	if len(d.calls) != maxCalls {
		t.Errorf("%d calls, answer %q", len(d.calls), got)
	}
}

func TestToolsMissing(t *testing.T) {
	d := newDesk(t)
	d.req.Tools = nil
	contains(t, d.ask("what is 1+1"), "tool calculator", "not available")
	contains(t, d.ask("查一下协程"), "search_mock", "不可用")
	contains(t, d.ask("add a todo: x"), "tool todo")
	contains(t, d.ask("what is compaction"), "You have not told me")
	d = newDesk(t)
	d.req.Tools = d.req.Tools[1:2] // the calculator
	contains(t, d.ask("what is 1+1 and add a todo: x"), "1+1 = 2", "tool todo")
}

func TestToolFailures(t *testing.T) {
	for _, tc := range []struct {
		err      tools.Error
		ask      string
		contains []string
	}{
		{tools.Error{Code: tools.CodeDenied}, "what is 1+1", []string{"Calculating 1+1 did not work: it was denied."}},
		{tools.Error{Code: tools.CodeTimeout, Message: "5s are over."}, "what is 1+1", []string{"it took too long (5s are over)."}},
		{tools.Error{Code: tools.CodeOutcomeUnknown}, "计算 1+1", []string{"结果未知"}},
		{tools.Error{Code: tools.CodeTimeout, Message: "5s"}, "计算 1+1", []string{"超时了（5s）"}},
		{tools.Error{Code: "odd"}, "search for x", []string{"The search for “x” did not work: odd."}},
		{tools.Error{Code: tools.CodeNotFound, Message: "no such thing"}, "complete todo y", []string{"the todo “y” did not work: no such thing."}},
		{tools.Error{Code: tools.CodeInternal}, "列出待办", []string{"工具出错了", "list"}},
		{tools.Error{Code: tools.CodeUnavailable}, "what is compaction", []string{"is not available now"}},
	} {
		d := newDesk(t)
		d.fail = func(llm.ToolCall) *tools.Result { return &tools.Result{Error: &tc.err} }
		contains(t, d.ask(tc.ask), tc.contains...)
	}
}

// TestOddResults: results of other shapes, of other tools and with notices end in an answer, never in another call.
func TestOddResults(t *testing.T) {
	ask := func(text string, call llm.ToolCall, result string) reply {
		return respond(llm.Request{Tools: newDesk(t).req.Tools, Messages: []llm.Message{
			{Role: llm.RoleUser, Content: text},
			{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{call}},
			{Role: llm.RoleTool, ToolCallID: call.ID, Content: result},
		}})
	}
	calc := llm.ToolCall{ID: "1", Name: "calculator", Arguments: `{"expression":"1+1"}`}
	for _, tc := range []struct {
		call         llm.ToolCall
		result, want string
	}{
		{calc, `{"ok":true,"data":{"result":2},"notice":"You asked this before. Answer now."}`, "1+1 = 2"},
		{calc, `{"ok":true,"data":"2"}`, "1+1 = 2"},
		{calc, `{"ok":true,"data":2}`, "1+1 = 2"},
		{calc, `two`, "two"},
		{calc, `{}`, "{}"},
		{calc, `{"ok":true}`, "1+1 = "},
		{llm.ToolCall{ID: "1", Name: "calculator", Arguments: `{"exp`}, `{"ok":true,"data":{"result":"2"}}`, "= 2"},
		{llm.ToolCall{ID: "1", Name: "other", Arguments: `{}`}, `{"ok":true,"data":{"x":"y\u001b[31m"}}`, `{"x":"y\u001b[31m"}`},
		{llm.ToolCall{ID: "1", Name: "other", Arguments: `{}`}, `{"ok":false,"error":{"code":"denied","message":""}}`, "other did not work: it was denied."},
		{llm.ToolCall{ID: "1", Name: "search_mock", Arguments: `{"query":"q"}`}, `{"ok":true,"data":{"hits":[{"title":"A\u001b[31m\nB","text":"c"}]}}`, "1. **A[31m B**: c"},
		{llm.ToolCall{ID: "1", Name: "search_mock", Arguments: `{"query":"q"}`}, `{"ok":true,"data":[]}`, "nothing about “q”"},
	} {
		r := ask("what is 1+1?", tc.call, tc.result)
		if len(r.calls) > 0 || !strings.Contains(r.text, tc.want) || strings.ContainsRune(r.text, 0x1B) {
			t.Errorf("%s %s: %q, %d calls", tc.call.Name, tc.result, r.text, len(r.calls))
		}
	}
	// A tool message that answers nothing is none.
	r := respond(llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "hello"}, {Role: llm.RoleTool, ToolCallID: "9", Content: `{"ok":true}`}}})
	if !strings.HasPrefix(r.text, "Hello!") {
		t.Errorf("stray result: %q", r.text)
	}
	// A notice in the user's role is no question.
	r = respond(llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "hello"}, {Role: llm.RoleAssistant, Content: "?"}, {Role: llm.RoleUser, Kind: llm.KindNotice, Content: "what is 1+1?"}}})
	if !strings.HasPrefix(r.text, "Hello!") {
		t.Errorf("notice: %q", r.text)
	}
	if r = respond(llm.Request{}); r.text != enTexts.unknown {
		t.Errorf("empty request: %q", r.text)
	}
}

func TestTalk(t *testing.T) {
	c := newChat()
	contains(t, c.say("hello"), "offline demo model")
	contains(t, c.say("你好"), "离线演示模型")
	contains(t, c.say("help"), "fixed rules, not AI", "OPENAI_API_KEY", "OPENAI_BASE_URL")
	contains(t, c.say("帮助"), "固定规则", "OPENAI_API_KEY", "OPENAI_BASE_URL")
	contains(t, c.say("thanks"), "welcome")
	contains(t, c.say("再见"), "再见")
	contains(t, c.say("flurb the gnarl"), "fits none of them")
	contains(t, c.say("哦豁"), "不在其中")
	contains(t, c.say("3*"), "不在其中") // the language of the last message that shows one
	contains(t, newChat().say("?!"), "fits none of them")
	contains(t, c.say("what did I tell you?"), "not told me anything")
	c.say("the flag is red")
	c.say("I like tea. My dog is called Rex.")
	contains(t, c.say("what did I tell you?"), "- the flag is red", "- you like tea", "- your dog is called Rex")
	contains(t, c.say("what do you know about the flag?"), "You told me that the flag is red.")
	contains(t, c.say("is the flag blue?"), "the flag is red")
	contains(t, c.say("The motto is Go. What is the motto?"), "Noted: the motto is Go.", "You told me that the motto is Go.")
	contains(t, c.say("remember: gate 7 left"), "Noted: gate 7 left.")
	contains(t, c.say("which gate?"), "You told me: gate 7 left.")
}

func TestLongText(t *testing.T) {
	for _, l := range []lang{english, chinese} {
		for _, n := range []int{1, 7, 100, 601, 5000} {
			s := longText(l, n)
			if got := tokensOf(s); got != n {
				t.Errorf("language %d: %d tokens, want %d", l, got, n)
			}
			if n >= 601 {
				contains(t, s, "\n## ", "\n|---|", "```go", "\n- ", "\n> ", "\n1. ")
			}
		}
	}
	d := newDesk(t)
	if got := d.ask("stream 300 tokens"); tokensOf(got) != 300 {
		t.Errorf("%d tokens", tokensOf(got))
	}
	contains(t, d.ask("写一个长一点的回答"), "# 一个长回答", "```go")
}

// TestPace: each delta comes after the pace, under the clock, and a cancel ends the reply at once.
func TestPace(t *testing.T) {
	sim := clock.NewSim(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	sim.Run(func() {
		c := New(Config{Clock: sim, Pace: 20 * time.Millisecond})
		req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "stream 40 tokens"}}}
		began, n := sim.Now(), 0
		for ch, err := range c.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if ch.Done == nil {
				n++
			}
			if got := sim.Now().Sub(began); got != time.Duration(n)*20*time.Millisecond {
				t.Fatalf("delta %d came after %v", n, got)
			}
		}
		if n < 30 {
			t.Errorf("only %d deltas", n)
		}
		ctx, cancel := sim.WithTimeout(t.Context(), 110*time.Millisecond)
		defer cancel()
		reply, err := llm.Collect(c.Stream(ctx, req))
		if !errors.Is(err, context.DeadlineExceeded) || len(pieces(reply.Text)) != 5 {
			t.Errorf("cancelled: %q, %v", reply.Text, err)
		}
	})
}

func TestCancelBetweenDeltas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range New(Config{}).Stream(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "help"}}}) {
		if n++; n == 2 {
			cancel()
		}
		if n == 3 && !errors.Is(err, context.Canceled) {
			t.Errorf("third: %v", err)
		}
	}
	if n != 3 {
		t.Errorf("%d chunks", n)
	}
}

func TestMaxTokens(t *testing.T) {
	req := llm.Request{MaxTokens: 10, Messages: []llm.Message{{Role: llm.RoleUser, Content: "help"}}}
	reply, err := llm.Collect(New(Config{}).Stream(t.Context(), req))
	if err != nil || reply.Finish != llm.FinishLength || tokensOf(reply.Text) > 10 || reply.Text == "" || *reply.Usage.Completion > 10 {
		t.Errorf("%+v, %v", reply, err)
	}
	d := newDesk(t)
	d.req.MaxTokens = 2
	d.req.Messages = append(d.req.Messages, llm.Message{Role: llm.RoleUser, Content: "what is 1+1"})
	reply, err = llm.Collect(d.client.Stream(t.Context(), d.req))
	if err != nil || reply.Finish != llm.FinishLength || len(reply.ToolCalls) > 0 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestUsage: the cached part is what an earlier request of the conversation held, and nothing after a change in front.
func TestUsage(t *testing.T) {
	d := newDesk(t)
	usage := func() llm.Usage {
		reply, err := llm.Collect(d.client.Stream(t.Context(), d.req))
		if err != nil || reply.Model != ModelName {
			t.Fatal(reply.Model, err)
		}
		d.req.Messages = append(d.req.Messages, reply.Message(), llm.Message{Role: llm.RoleUser, Content: "and now?"})
		return reply.Usage
	}
	d.req.Messages = append(d.req.Messages, llm.Message{Role: llm.RoleUser, Content: "hello"})
	first := usage()
	if *first.Prompt < 50 || *first.Completion < 10 || *first.Cached != 0 || first.Reasoning != nil {
		t.Errorf("first: %d %d %d", *first.Prompt, *first.Completion, *first.Cached)
	}
	second := usage()
	if *second.Cached != *first.Prompt || *second.Prompt <= *first.Prompt {
		t.Errorf("second: %d cached of %d, the first had %d", *second.Cached, *second.Prompt, *first.Prompt)
	}
	d.req.Messages[0].Content += " Changed."
	if third := usage(); *third.Cached != 0 {
		t.Errorf("third: %d cached", *third.Cached)
	}
	var p promptCache
	for i := range 3 * maxCached {
		p.add(uint64(i))
	}
	if len(p.seen) != maxCached || len(p.order) != maxCached || !p.seen[3*maxCached-1] || p.seen[0] {
		t.Errorf("the cache holds %d", len(p.seen))
	}
}

// TestCallIDs: ids stay unique in a history of which the beginning was folded away.
func TestCallIDs(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{{ToolCalls: []llm.ToolCall{{ID: "call_7"}, {ID: "other"}, {ID: "call_x"}, {ID: "call_999999999999999999"}}}}}
	if got := nextCallID(req); got != 8 {
		t.Errorf("got %d", got)
	}
}

func TestPieces(t *testing.T) {
	got := pieces("Hello, big  world!\n\n你好，世界 👩‍👩‍👧ok e\u0301x")
	want := []string{"Hello, ", "big  ", "world!\n\n", "你", "好", "，", "世", "界 ", "👩‍👩‍👧", "ok ", "e\u0301x"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		if strings.Join(pieces(s), "") != s {
			t.Fatalf("%q", pieces(s))
		}
	})
}

func TestFold(t *testing.T) {
	if utf8.RuneCountInString(traditional) != utf8.RuneCountInString(simplified) || len(traditional) != len(simplified) {
		t.Fatal("the tables of characters differ in length")
	}
	if got := fold("ＡＢ（１）什麼時候？“x”"); got != "ab(1)什么时候?\"x\"" {
		t.Errorf("got %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := clean(rapid.String().Draw(t, "s"))
		if utf8.RuneCountInString(fold(s)) != utf8.RuneCountInString(s) {
			t.Fatalf("%q has another length when folded: %q", s, fold(s))
		}
		p := newPhrase(s)
		for i := range p.f {
			a, b := p.at(i)
			if a.s+b.s != s || fold(a.s) != a.f || fold(b.s) != b.f {
				t.Fatalf("%q cut at %d: %q, %q", s, i, a, b)
			}
		}
	})
}

func TestDetect(t *testing.T) {
	for in, want := range map[string]lang{
		"hello": english, "你好": chinese, "remember that 小明 likes tea": english, "Vitrine 是什么": chinese, "deploy 在周五": chinese, "search for 上下文窗口": english, "计算 2+2": chinese,
		"3+4": english, "": english, "my name is 陈大文豪杰": english, "陈大文 Kubernetes": chinese, "Kubernetes Berlin 山": english,
	} {
		if got, _ := detect(in); got != want {
			t.Errorf("%q: %d", in, got)
		}
	}
}

// checkReply checks what holds for every reply.
func checkReply(t *testing.T, r reply, req llm.Request) {
	t.Helper()
	if r.text == "" && len(r.calls) == 0 {
		t.Error("an empty reply")
	}
	texts := []string{r.text}
	for _, c := range r.calls {
		var args map[string]string
		if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil || len(args) == 0 {
			t.Errorf("arguments %q: %v", c.Arguments, err)
		}
		offered := false
		for _, tool := range req.Tools {
			offered = offered || tool.Name == c.Name
		}
		if !offered {
			t.Errorf("a call of %q, which is not offered", c.Name)
		}
		for _, v := range args {
			texts = append(texts, v)
		}
	}
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
		}) {
			t.Errorf("not clean: %q", s)
		}
	}
}

// FuzzRespond: any message, any memory and any result get a clean reply, the same each time.
func FuzzRespond(f *testing.F) {
	for _, s := range []string{"what is (17+5)*3?", "计算１２×７，并添加待办：付款", "remember that \x1b[31mthe deploy is on Friday\u202e", "what did I tell you about 部署?", "\xff\xfe", "把", "add todos: a, b; c",
		"stream 10 tokens", "1. 2) - * 3", strings.Repeat("(", 300) + "1+1", strings.Repeat("1+", 300), "the : is = is", "'s 's 's", "i'm i'm", "İ is ı", "2的次方", "%of", "x3x3x", "write a.txt with `x`",
		"list the files in ‘a’", "把 \u202e 写入 a/b", "read \"a\x00\"", "写入 a.b，内容：\xff"} {
		f.Add(s, s, `{"pinned":[],"facts":["`+s+`"]}`, `{"ok":true,"data":{"result":1}}`)
	}
	specs := []llm.ToolSpec{{Name: "calculator"}, {Name: "search_mock"}, {Name: "todo"}, {Name: toolList}, {Name: toolRead}, {Name: toolWrite}}
	f.Fuzz(func(t *testing.T, told, asked, memory, result string) {
		req := llm.Request{Tools: specs, Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: "x"},
			{Role: llm.RoleSystem, Kind: llm.KindMemory, Content: memoryMark + "\n" + memory},
			{Role: llm.RoleUser, Content: told}, {Role: llm.RoleAssistant, Content: "ok"},
			{Role: llm.RoleUser, Content: asked},
		}}
		r := respond(req)
		checkReply(t, r, req)
		if again := respond(req); cmp.Diff(r.text, again.text) != "" || len(r.calls) != len(again.calls) {
			t.Errorf("two replies: %q, %q", r.text, again.text)
		}
		for round := 0; len(r.calls) > 0; round++ {
			if round == 1 && (len(r.calls) > 1 || r.calls[0].Name != toolWrite) || round > 1 { // a file is read before it is written
				t.Fatalf("calls after results: %+v", r.calls)
			}
			for i := range r.calls {
				r.calls[i].ID = fmt.Sprint(round, "-", i)
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, ToolCalls: r.calls})
			for _, c := range r.calls {
				req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, ToolCallID: c.ID, Content: result})
			}
			r = respond(req)
			checkReply(t, r, req)
		}
	})
}

// TestLongPaste: a request in front of a long paste or behind it is understood; both ends are.
func TestLongPaste(t *testing.T) {
	paste := strings.Repeat("lorem ipsum dolor 你好 ", 20_000)
	d := newDesk(t)
	contains(t, d.ask("what is 2*3?\n"+paste), "2*3 = 6")
	contains(t, d.ask(paste+"\nwhat is 4*5?"), "4*5 = 20")
}
