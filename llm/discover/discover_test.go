package discover

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers paths with texts and everything else with 404.
func serve(t *testing.T, prefix string, pages map[string]string) llm.LocalServer {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(srv.Close)
	return llm.LocalServer{Prefix: prefix, Name: prefix, Root: srv.URL}
}

func TestLocal(t *testing.T) {
	ollama := map[string]string{
		"/api/tags": `{"models":[{"name":"llama3.2:1b","size":1},{"name":"qwen3:8b"}]}`,
		"/api/ps":   `{"models":[{"name":"qwen3:8b","context_length":4096}]}`,
	}
	for _, c := range []struct {
		name, prefix string
		pages        map[string]string
		want         []llm.ModelInfo
		found        bool
	}{
		{"ollama", "ollama", ollama, []llm.ModelInfo{{ID: "llama3.2:1b"}, {ID: "qwen3:8b", Context: 4096}}, true},
		{"ollama, nothing loaded, no list of it", "ollama", map[string]string{"/api/tags": `{"models":[{"name":"a"}]}`}, []llm.ModelInfo{{ID: "a"}}, true},
		{"ollama without a model", "ollama", map[string]string{"/api/tags": `{"models":[]}`}, nil, true},
		{"llama.cpp", "llama.cpp", map[string]string{"/props": `{"default_generation_settings":{"n_ctx":8192},"total_slots":4}`,
			"/v1/models": `{"data":[{"id":"smol.gguf"}]}`}, []llm.ModelInfo{{ID: "smol.gguf", Context: 8192}}, true},
		{"lm studio", "lmstudio", map[string]string{"/api/v0/models": `{"data":[{"id":"e","type":"embeddings"},{"id":"big","type":"llm","max_context_length":131072},
			{"id":"on","type":"vlm","max_context_length":32768,"loaded_context_length":4096}]}`},
			[]llm.ModelInfo{{ID: "big", Context: 131072}, {ID: "on", Context: 4096}}, true},
		{"another program", "ollama", map[string]string{"/": "hello", "/api/tags": `{"tags":[]}`}, nil, false},
		{"another program", "llama.cpp", map[string]string{"/props": `{}`, "/v1/models": `{"data":[{"id":"x"}]}`}, nil, false},
		{"another program", "lmstudio", ollama, nil, false},
		{"no JSON", "ollama", map[string]string{"/api/tags": "<html>"}, nil, false},
	} {
		got := Local(t.Context(), clock.Real(), []llm.LocalServer{serve(t, c.prefix, c.pages)})
		if len(got) != map[bool]int{true: 1}[c.found] {
			t.Errorf("%s (%s): found %+v", c.name, c.prefix, got)
			continue
		}
		if c.found {
			if d := cmp.Diff(c.want, got[0].Models); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
		}
	}
}

// Several are asked at once; who does not answer is left out and holds nobody up when the caller leaves.
func TestLocalLeaves(t *testing.T) {
	left := make(chan struct{})
	deaf := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(left)
		<-r.Context().Done()
	}))
	defer deaf.Close()
	moved := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	defer moved.Close()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"models":[{"name":"a"}]}`))
		if asked == 2 { // the list and what is loaded
			<-left
			clock.Real().Go(cancel)
		}
	}))
	defer here.Close()
	servers := []llm.LocalServer{{Prefix: "lmstudio", Root: deaf.URL}, {Prefix: "lmstudio", Root: moved.URL}, {Prefix: "ollama", Root: here.URL}}
	got := Local(ctx, clock.Real(), servers)
	if len(got) != 1 || got[0].Prefix != "ollama" {
		t.Errorf("found %+v", got)
	}
	if got := Local(ctx, clock.Real(), servers[:0]); got != nil {
		t.Error(got)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"local:ollama/llama3.2:1b": "ollama llama3.2:1b", "local:lmstudio/meta/llama": "lmstudio meta/llama", "local:llama.cpp/x": "llama.cpp x",
		"local:ollama/": "", "local:ollama": "", "local:": "", "ollama/llama3.2:1b": "", "xlocal:ollama/y": "", "openai/gpt-4o": "", "": "",
	} {
		got := ""
		if s, id, ok := llm.LocalModel(name); ok {
			got = s.Prefix + " " + id
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, s := range llm.LocalServers() {
		if _, id, ok := llm.LocalModel(s.Model("a/b")); !ok || id != "a/b" || s.BaseURL() != s.Root+"/v1" || s.Name == "" {
			t.Errorf("%+v", s)
		}
	}
}
