package endpoint

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/openai"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
)

// redirected sends all requests to another address and notes where they were to go, and what key they carried.
type redirected struct {
	to  *llmtest.Server
	was []string
}

func (r *redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	r.was = append(r.was, req.URL.Host+" "+req.Header.Get("Authorization"))
	req = req.Clone(req.Context())
	req.URL.Host = strings.TrimSuffix(strings.TrimPrefix(r.to.URL(), "http://"), "/v1")
	return http.DefaultTransport.RoundTrip(req)
}

// Each model is at its client, a local one under its own name and without the endpoint's key.
func TestRoutes(t *testing.T) {
	server := llmtest.NewServer()
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	server.Handle(func(r llmtest.Request) llmtest.Reply { return llmtest.Answer("local " + r.Model) })
	there := &redirected{to: server}
	clk := clock.Real()
	cfg := Config{Wire: openai.Config{BaseURL: "http://far.example/v1", Key: "sk-marked", Transport: there}, Silence: time.Minute, Clock: clk, Rand: func() float64 { return 0 }}
	r := Routes{Builtin: scripted.New(clk, scripted.Text("built in").Times(-1)), BuiltinName: "offline", Local: NewLocals(cfg),
		Missing: func(model string) string { return "no endpoint for " + model }}
	defer r.Local.Close()
	ask := func(model string) (string, error) {
		text := ""
		for c, err := range r.Stream(t.Context(), llm.Request{Model: model, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}) {
			if err != nil {
				return text, err
			}
			text += c.Text
		}
		return text, nil
	}
	for model, want := range map[string]string{"offline": "built in", "local:ollama/llama3.2:1b": "local llama3.2:1b", "local:lmstudio/a/b": "local a/b"} {
		if got, err := ask(model); err != nil || got != want {
			t.Errorf("%s: %q, %v", model, got, err)
		}
	}
	for _, was := range there.was {
		if was != "127.0.0.1:11434 " && was != "127.0.0.1:1234 " {
			t.Errorf("a request went to %q", was)
		}
	}
	var e *llm.Error
	if _, err := ask("gpt-4o"); !errors.As(err, &e) || e.Message != "no endpoint for gpt-4o" {
		t.Errorf("%v", err)
	}
	r.Remote = scripted.New(clk, scripted.Text("far").Times(-1))
	for _, model := range []string{"gpt-4o", "ollama/llama3", "local:ollama/", "local:x/y", "openai/gpt-4o"} { // gateways have such names
		if got, err := ask(model); err != nil || got != "far" {
			t.Errorf("%s: %q, %v", model, got, err)
		}
	}
}
