package endpoint

import (
	"strings"
	"testing"

	"vitrine/llm/llmtest"
	"vitrine/llm/openai"
	"vitrine/runtime/clock"
)

// The endpoint is asked for its models where there is one, and only then; that it cannot say is told beside what this machine has.
func TestList(t *testing.T) {
	server := llmtest.NewServer()
	defer server.Close()
	server.SetModels(llmtest.Models("one", "two"))
	wire := openai.Config{BaseURL: server.URL(), Key: "sk-test", Memory: openai.NewMemory("")}
	l := List(t.Context(), clock.Real(), wire, true)
	if l.Err != nil || len(l.Models) != 2 || l.Models[0].ID != "one" {
		t.Errorf("%+v", l)
	}
	if l := List(t.Context(), clock.Real(), wire, false); l.Err != nil || len(l.Models) != 0 {
		t.Errorf("an endpoint that is not set was asked: %+v", l)
	}
	server.SetModels(llmtest.Refuse(500, "broken"))
	if l := List(t.Context(), clock.Real(), wire, true); l.Err == nil || !strings.Contains(l.Err.Error(), "500") {
		t.Errorf("%+v", l)
	}
}
