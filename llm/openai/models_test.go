package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
)

func TestReadModels(t *testing.T) {
	body := `{"object":"list","data":[
		{"id":"plain"},{"id":"openrouter","context_length":128000,"top_provider":{"context_length":64000}},{"id":"vllm","max_model_len":8192},
		{"id":"groq","context_window":32768},{"id":"mistral","max_context_length":131072},
		{"id":"lmstudio","max_context_length":131072,"loaded_context_length":4096},{"id":"llama","meta":{"n_ctx_train":2048}},{"id":"llama -c","meta":{"n_ctx":512,"n_ctx_train":2048}},
		{"id":"litellm","max_input_tokens":4096.0},{"id":"odd","context_length":"128k","max_model_len":7,"meta":null},{"id":"huge","context_length":1e300},{"id":"","context_length":1},{"id":7},3,null]}`
	got, ok := readModels([]byte(body))
	want := []llm.ModelInfo{{ID: "plain"}, {ID: "openrouter", Context: 128000}, {ID: "vllm", Context: 8192}, {ID: "groq", Context: 32768},
		{ID: "mistral", Context: 131072}, {ID: "lmstudio", Context: 4096}, {ID: "llama", Context: 2048}, {ID: "llama -c", Context: 512}, {ID: "litellm", Context: 4096}, {ID: "odd", Context: 7}, {ID: "huge"}}
	if d := cmp.Diff(want, got); !ok || d != "" {
		t.Error(d)
	}
	got, ok = readModels([]byte(`[{"id":"meta-llama/a","context_length":131072,"object":"model"},{"id":"b"}]`)) // Together
	if d := cmp.Diff([]llm.ModelInfo{{ID: "meta-llama/a", Context: 131072}, {ID: "b"}}, got); !ok || d != "" {
		t.Error(d)
	}
	if got, ok := readModels([]byte(`{"data":[]}`)); !ok || len(got) != 0 {
		t.Errorf("an empty list is %v", got)
	}
	for _, bad := range []string{"", "[]", "[3]", `[{"error":"x"}]`, `{"data":[{"name":"x"}]}`, `{"data":null}`, `{"data":{}}`, "<html>"} {
		if got, ok := readModels([]byte(bad)); ok {
			t.Errorf("%q gives %v", bad, got)
		}
	}
}
