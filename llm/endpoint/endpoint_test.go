package endpoint

import (
	"math"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/openai"
	"vitrine/llm/price"
	"vitrine/runtime/clock"
)

// The parts work together: what a server failed at once is tried again, and the answer has its cost.
func TestParts(t *testing.T) {
	server := llmtest.NewServer()
	defer server.Close()
	server.Push(llmtest.Refuse(503, ""), llmtest.Answer("hello"))
	client, closeIt := New(Config{
		Wire: openai.Config{BaseURL: server.URL(), Key: "sk-test"}, Silence: time.Minute, Retries: 1, Clock: clock.Real(),
		Rand: func() float64 { return 0 }, Prices: map[string]price.Price{"m": {Input: 1e6, Output: 0}},
	})
	defer closeIt()
	var done *llm.Done
	text := ""
	for chunk, err := range client.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		text += chunk.Text
		done = chunk.Done
	}
	if text != "hello" || done == nil || done.Usage.Cost == nil || done.Usage.Prompt == nil ||
		math.Abs(*done.Usage.Cost-float64(*done.Usage.Prompt)) > 1e-9 {
		t.Errorf("%q %+v", text, done)
	}
}
