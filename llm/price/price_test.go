package price

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
)

func ptr[T any](v T) *T { return &v }

func TestCost(t *testing.T) {
	p := Price{Input: 2, Cached: ptr(0.5), Output: 8}
	for _, c := range []struct {
		name  string
		price Price
		usage llm.Usage
		want  *float64
	}{
		{"plain", p, llm.Usage{Prompt: ptr(1000), Completion: ptr(100)}, ptr(0.0028)},
		{"cached", p, llm.Usage{Prompt: ptr(1000), Completion: ptr(100), Cached: ptr(600)}, ptr(0.0019)},
		{"none cached", p, llm.Usage{Prompt: ptr(1000), Completion: ptr(100), Cached: ptr(0)}, ptr(0.0028)},
		{"more cached than sent", p, llm.Usage{Prompt: ptr(1000), Completion: ptr(100), Cached: ptr(5000)}, ptr(0.0013)},
		{"reasoning is part of the completion", p, llm.Usage{Prompt: ptr(1000), Completion: ptr(100), Reasoning: ptr(90)}, ptr(0.0028)},
		{"no price of cached ones", Price{Input: 2, Output: 8}, llm.Usage{Prompt: ptr(1000), Completion: ptr(100), Cached: ptr(600)}, ptr(0.0028)},
		{"free", Price{}, llm.Usage{Prompt: ptr(1000), Completion: ptr(100)}, ptr(0.0)},
		{"no prompt reported", p, llm.Usage{Completion: ptr(100)}, nil},
		{"no completion reported", p, llm.Usage{Prompt: ptr(1000)}, nil},
		{"zeros are no report", p, llm.Usage{Prompt: ptr(0), Completion: ptr(0)}, nil},
	} {
		got := c.price.Cost(c.usage)
		if (got == nil) != (c.want == nil) || got != nil && math.Abs(*got-*c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	own := Table{Own: map[string]Price{"gpt-4o": {Input: 1}, "Local": {Output: 3}, "gpt-4o-2024": {Input: 7}}}
	for _, c := range []struct {
		table       Table
		host, model string
		input       float64
		found       bool
	}{
		{Table{}, openAI, "gpt-4o", 2.5, true},
		{Table{}, openAI, "gpt-4o-mini", 0.15, true},
		{Table{}, "API.openai.com", "GPT-4o-Mini-2024-07-18", 0.15, true},
		{Table{}, openAI, "gpt-4o-audio-preview", 0, false},
		{Table{}, openAI, "gpt-4oo", 0, false},
		{Table{}, openAI, "gpt-5-1", 0, false},
		{Table{}, openAI, "gpt-5.1", 0, false},
		{Table{}, openAI, "", 0, false},
		{Table{}, "localhost", "gpt-4o", 0, false},
		{Table{}, mistral, "mistral-small-2503", 0.10, true},
		{Table{}, mistral, "mistral-small-latest", 0.10, true},
		{Table{}, gemini, "models/gemini-2.5-flash", 0.30, true},
		{Table{}, gemini, "gemini-2.5-flash-lite", 0.10, true},
		{own, openAI, "gpt-4o", 1, true},
		{own, "anywhere", "gpt-4o-2024-08-06", 7, true},
		{own, "anywhere", "local", 0, true},
		{own, openAI, "gpt-4o-mini", 0.15, true},
	} {
		p, ok := c.table.Find(c.host, c.model)
		if ok != c.found || p.Input != c.input {
			t.Errorf("%s at %s: %+v, %v", c.model, c.host, p, ok)
		}
	}
}

// The table itself: what was cached is never dearer, output never cheaper, each entry has a month and is found as itself.
func TestList(t *testing.T) {
	for _, e := range list() {
		if e.input <= 0 || e.cached > e.input || e.output < e.input || e.model != strings.ToLower(e.model) {
			t.Errorf("%+v", e)
		}
		if _, err := time.Parse("2006-01", e.asOf); err != nil {
			t.Error(err)
		}
		if p, ok := (Table{}).Find(e.host, e.model); !ok || p.Input != e.input || p.Output != e.output || *p.Cached != e.cached || p.AsOf != e.asOf {
			t.Errorf("%s is found as %+v", e.model, p)
		}
	}
}

// plays gives chunks and an error.
type plays struct {
	chunks []llm.Chunk
	err    error
}

func (p plays) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for _, c := range p.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if p.err != nil {
			yield(llm.Chunk{}, p.err)
		}
	}
}

func TestClient(t *testing.T) {
	usage := llm.Usage{Prompt: ptr(1000), Completion: ptr(100)}
	for _, c := range []struct {
		name, asked string
		done        llm.Done
		want        *float64
	}{
		{"as asked", "gpt-4o", llm.Done{Usage: usage}, ptr(0.0035)},
		{"as answered", "auto", llm.Done{Usage: usage, Model: "gpt-4o-mini-2024-07-18"}, ptr(0.00021)},
		{"the answer's name counts first", "gpt-4o", llm.Done{Usage: usage, Model: "gpt-4o-mini"}, ptr(0.00021)},
		{"reported", "gpt-4o", llm.Done{Usage: llm.Usage{Prompt: ptr(1), Completion: ptr(1), Cost: ptr(0.5)}}, ptr(0.5)},
		{"unknown", "llama", llm.Done{Usage: usage}, nil},
		{"nothing reported", "gpt-4o", llm.Done{}, nil},
	} {
		sent := c.done
		var got *llm.Done
		text := ""
		for chunk, err := range Client(plays{chunks: []llm.Chunk{{Text: "hi"}, {Done: &sent}}}, openAI, Table{}).Stream(t.Context(), llm.Request{Model: c.asked}) {
			if err != nil {
				t.Fatal(err)
			}
			text += chunk.Text
			if chunk.Done != nil {
				got = chunk.Done
			}
		}
		cost := got.Usage.Cost
		if text != "hi" || (cost == nil) != (c.want == nil) || cost != nil && math.Abs(*cost-*c.want) > 1e-12 {
			t.Errorf("%s: %q, %v, want %v", c.name, text, cost, c.want)
		}
		if c.done.Usage.Cost == nil && sent.Usage.Cost != nil {
			t.Errorf("%s: what next sent was changed", c.name)
		}
	}
	want := errors.New("cut")
	for _, err := range Client(plays{err: want}, openAI, Table{}).Stream(t.Context(), llm.Request{}) {
		if !errors.Is(err, want) {
			t.Error(err)
		}
	}
	for range Client(plays{chunks: []llm.Chunk{{Text: "a"}, {Text: "b"}}}, openAI, Table{}).Stream(t.Context(), llm.Request{}) {
		break // a consumer that leaves
	}
}
