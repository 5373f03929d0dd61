package builtin

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"vitrine/assets"
	"vitrine/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func search(t testing.TB, tool tools.Tool, query string) (tools.Output, []searchHit, error) {
	t.Helper()
	args, err := json.Marshal(searchIn{Query: query})
	if err != nil {
		t.Fatal(err)
	}
	out, err := tool.Run(t.Context(), tools.Call{}, args)
	if err != nil {
		return out, nil, err
	}
	return out, out.Data.(searchOut).Hits, nil
}

func TestCorpus(t *testing.T) {
	idx, err := newIndex(assets.Corpus())
	if err != nil {
		t.Fatal(err)
	}
	langs := map[string]int{}
	titles := map[string]bool{}
	for _, d := range idx.docs {
		langs[d.lang]++
		if titles[d.title] {
			t.Errorf("%s: the title %q is taken", d.id, d.title)
		}
		titles[d.title] = true
		n, low, high := len(strings.Fields(d.body)), 50, 160
		if d.lang == "zh" {
			n, low, high = 0, 90, 300
			for _, r := range d.body {
				if unicode.Is(unicode.Han, r) {
					n++
				}
			}
		}
		if n < low || n > high || len(d.tags) < 3 || (d.lang == "zh") != strings.HasPrefix(d.id, "zh-") {
			t.Errorf("%s: %d words, tags %q, language %s", d.id, n, d.tags, d.lang)
		}
		if !utf8.ValidString(d.body) || strings.ContainsRune(d.body, utf8.RuneError) {
			t.Errorf("%s: invalid UTF-8", d.id)
		}
	}
	if langs["en"] < 22 || langs["zh"] < 14 || len(langs) != 2 {
		t.Errorf("languages: %v", langs)
	}
}

func TestSearchExpectations(t *testing.T) {
	tool := SearchMock(assets.Corpus())
	for _, tt := range []struct{ query, first string }{
		{"context window", "agent-context-window"},
		{"what is a context window?", "agent-context-window"},
		{"How do tool calls work", "agent-tool-calls"},
		{"compaction", "agent-compaction"},
		{"how does compaction of old messages work", "agent-compaction"},
		{"prompt caching", "agent-prompt-caching"},
		{"cached prefix", "agent-prompt-caching"},
		{"retry with exponential backoff", "agent-retries"},
		{"rate limits 429", "agent-retries"},
		{"token budget", "agent-budgets"},
		{"approval before side effects", "agent-approvals"},
		{"sub-agents", "agent-sub-agents"},
		{"evaluate an agent pass@k", "agent-evaluation"},
		{"MCP", "agent-mcp"},
		{"model context protocol", "agent-mcp"},
		{"tracing spans", "agent-tracing"},
		{"streaming deltas", "agent-streaming"},
		{"prompt injection", "agent-prompt-injection"},
		{"idempotency key crash", "agent-idempotency"},
		{"goroutine", "go-goroutines"},
		{"goroutines", "go-goroutines"},
		{"go channels", "go-channels"},
		{"select statement on channels", "go-channels"},
		{"context.WithTimeout deadline", "go-context"},
		{"nil interface trap", "go-interfaces"},
		{"generics type parameters", "go-generics"},
		{"wrapping errors with %w", "go-errors"},
		{"go.mod dependencies", "go-modules"},
		{"table tests", "go-testing"},
		{"data race", "go-race-detector"},
		{"append to a slice", "go-slices"},
		{"iteration order of a map", "go-maps"},
		{"defer and recover", "go-defer"},
		{"embed files into the binary", "go-embed"},
		{"benchmark allocations", "go-benchmarks"},
		{"how do I open a new tab", "vitrine-tabs"},
		{"trace pane", "vitrine-trace-pane"},
		{"todo list", "vitrine-todos"},
		{"resume a session after a restart", "vitrine-sessions"},
		{"how does memory work", "vitrine-memory"},
		{"offline model", "vitrine-offline-model"},
		{"keyboard shortcuts", "vitrine-keys"},
		{"slash commands", "vitrine-keys"},
		{"environment variables", "vitrine-configuration"},
		{"exit code of vitrine run", "vitrine-run-command"},
		{"上下文窗口", "zh-agent-context-window"},
		{"什么是上下文窗口？", "zh-agent-context-window"},
		{"工具调用是怎么工作的", "zh-agent-tool-calls"},
		{"对话压缩", "zh-agent-compaction"},
		{"提示缓存", "zh-agent-prompt-caching"},
		{"重试和退避", "zh-agent-retries"},
		{"预算用完了怎么办", "zh-agent-budgets"},
		{"用户审批", "zh-agent-approvals"},
		{"子智能体", "zh-agent-sub-agents"},
		{"流式输出", "zh-agent-streaming"},
		{"Go 协程", "zh-go-goroutines"},
		{"goroutine 泄漏", "zh-go-goroutines"},
		{"通道", "zh-go-channels"},
		{"接口和 nil", "zh-go-interfaces"},
		{"错误处理", "zh-go-errors"},
		{"切片的容量", "zh-go-slices"},
		{"标签页", "zh-vitrine-tabs"},
		{"追踪面板", "zh-vitrine-trace-pane"},
		{"待办清单", "zh-vitrine-todos"},
		{"重启之后恢复会话", "zh-vitrine-sessions"},
		{"离线模型", "zh-vitrine-offline-model"},
		{"环境变量 配置", "zh-vitrine-configuration"},
	} {
		out, hits, err := search(t, tool, tt.query)
		if err != nil {
			t.Errorf("%s: %v", tt.query, err)
			continue
		}
		if len(hits) == 0 || hits[0].ID != tt.first {
			t.Errorf("%s: got %+v, want %s", tt.query, hits, tt.first)
			continue
		}
		if len(hits) > 3 || !strings.Contains(out.Summary, "hit") {
			t.Errorf("%s: %d hits, %q", tt.query, len(hits), out.Summary)
		}
		for i, h := range hits {
			if h.Title == "" || h.Snippet == "" || utf8.RuneCountInString(h.Snippet) > maxSnippet || h.Score <= 0 || h.Lang != "en" && h.Lang != "zh" {
				t.Errorf("%s: %+v", tt.query, h)
			}
			if i > 0 && h.Score > hits[i-1].Score {
				t.Errorf("%s: not sorted", tt.query)
			}
		}
		// The excerpt is about the question.
		words := terms(tt.query)
		if have := strings.Join(terms(hits[0].Snippet), " "); !containsAny(have, words) && !containsAny(strings.Join(terms(hits[0].Title), " "), words) {
			t.Errorf("%s: excerpt %q", tt.query, hits[0].Snippet)
		}
		if n := len(tools.NewResult(out, nil).Data); n > tools.MaxResultChars {
			t.Errorf("%s: a result of %d bytes would be cut", tt.query, n)
		}
	}
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func TestSearchEdges(t *testing.T) {
	tool := SearchMock(assets.Corpus())
	out, hits, err := search(t, tool, "zyzzyva quux")
	if err != nil || len(hits) != 0 || out.Summary != "no hits" || string(tools.NewResult(out, nil).Data) != `{"hits":[]}` {
		t.Errorf("%+v %+v %v", out, hits, err)
	}
	if out, hits, _ := search(t, tool, "benchstat"); len(hits) != 1 || out.Summary != "1 hit" || !strings.Contains(hits[0].Snippet, "benchstat") {
		t.Errorf("%+v", hits)
	}
	for _, q := range []string{"", "   ", "?!", "what is the", "什么", strings.Repeat("x", 501)} {
		if _, _, err := search(t, tool, q); err == nil || !strings.Contains(err.Error(), string(tools.CodeInvalidArgument)) {
			t.Errorf("%q: %v", q, err)
		}
	}
	if tool.Effect() != tools.ReadOnly || tool.Name() != "search_mock" {
		t.Error("effect or name")
	}
	// The order is the same for every executor, and between executions.
	again := SearchMock(assets.Corpus())
	for _, q := range []string{"go", "agent model", "智能体", "vitrine"} {
		_, a, errA := search(t, tool, q)
		_, b, errB := search(t, again, q)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if diff := cmp.Diff(a, b); diff != "" || len(a) != 3 {
			t.Errorf("%s: %d hits %s", q, len(a), diff)
		}
	}
}

func TestSearchProperties(t *testing.T) {
	tool := SearchMock(assets.Corpus())
	rapid.Check(t, func(rt *rapid.T) {
		q := rapid.StringN(1, 60, -1).Draw(rt, "query")
		_, hits, err := search(t, tool, q)
		if err != nil {
			return
		}
		for _, h := range hits {
			if !utf8.ValidString(h.Snippet) || h.Score <= 0 {
				rt.Fatalf("%q: %+v", q, h)
			}
		}
	})
}

func TestSearchBrokenCorpus(t *testing.T) {
	const good = "---\ntitle: T\nlang: en\ntags: a\n---\n\nSome text. More text"
	for name, corpus := range map[string]fstest.MapFS{
		"empty":           {},
		"no front matter": {"a.md": {Data: []byte("text")}},
		"no end":          {"a.md": {Data: []byte("---\ntitle: T\n")}},
		"unknown key":     {"a.md": {Data: []byte("---\nauthor: x\n---\nt")}},
		"no title":        {"a.md": {Data: []byte("---\nlang: en\n---\ntext")}},
		"one of two":      {"a.md": {Data: []byte(good)}, "b.md": {Data: []byte("")}},
		"a folder":        {"a.md": {Mode: fs.ModeDir | 0o755}},
	} {
		if _, _, err := search(t, SearchMock(corpus), "text"); err == nil || !strings.Contains(err.Error(), string(tools.CodeInternal)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, hits, err := search(t, SearchMock(fstest.MapFS{"a.md": {Data: []byte(strings.ReplaceAll(good, "\n", "\r\n"))}}), "more")
	if err != nil || len(hits) != 1 || hits[0].Snippet != "More text" {
		t.Errorf("%+v %v", hits, err)
	}
	if _, _, err := search(t, SearchMock(brokenFS{}), "x"); err == nil {
		t.Error("a folder that cannot be listed is accepted")
	}
}

// brokenFS cannot list its root; fs.Glob hides that, so there are no documents.
type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

func TestTerms(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"Retries, retry & RETRIED!", []string{"retry", "retry", "retri"}},
		{"caching caches cached cache", []string{"cach", "cach", "cach", "cach"}},
		{"cancelled cancel", []string{"cancel", "cancel"}},
		{"classes status bus this is", []string{"class", "status", "bus"}},
		{"上下文 x 窗 Go语言", []string{"上下", "下文", "x", "窗", "go", "语言"}},
		{"go1.26 v2", []string{"go1", "26", "v2"}},
		{"Ünïcode naïves", []string{"ünïcode", "naïves"}},
		{"", nil},
	} {
		if diff := cmp.Diff(tt.want, terms(tt.in)); diff != "" {
			t.Errorf("%s: %s", tt.in, diff)
		}
	}
}

func TestAll(t *testing.T) {
	r := tools.NewRegistry(All(Deps{Corpus: assets.Corpus(), Todos: lists{}, Artifacts: shelf{}, NewID: func() string { return "id" }})...)
	if diff := cmp.Diff([]string{"artifact", "calculator", "search_mock", "todo"}, r.Names()); diff != "" {
		t.Error(diff)
	}
	for _, s := range r.Specs() {
		if s.Description == "" || !json.Valid(s.Schema) {
			t.Errorf("%+v", s)
		}
	}
}
