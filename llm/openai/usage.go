package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"vitrine/llm"
)

// count is a number of tokens. What is no whole number from 0 on is unknown.
type count struct{ n *int }

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(raw []byte) error {
	var f float64
	if json.Unmarshal(raw, &f) == nil && string(raw) != "null" && f >= 0 && f < 1<<40 {
		n := int(f)
		c.n = &n
	}
	return nil
}

// money is an amount in US dollars. What is no number from 0 on is unknown.
type money struct{ usd *float64 }

// UnmarshalJSON never fails.
func (m *money) UnmarshalJSON(raw []byte) error {
	var f float64
	if json.Unmarshal(raw, &f) == nil && string(raw) != "null" && f >= 0 {
		m.usd = &f
	}
	return nil
}

// wireUsage is what servers report, in the spellings that they have.
type wireUsage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Cached     count `json:"cached_tokens"`
	CacheHit   count `json:"prompt_cache_hit_tokens"`
	PromptMore struct {
		Cached count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionMore struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// Input and the others are the native counts of Anthropic, whose input leaves out what the cache gave.
	Input       count `json:"input_tokens"`
	Output      count `json:"output_tokens"`
	CacheRead   count `json:"cache_read_input_tokens"`
	CacheCreate count `json:"cache_creation_input_tokens"`
	Cost        money `json:"cost"` // OpenRouter
	raw         json.RawMessage
}

// UnmarshalJSON keeps the report as it came, for the places that a profile names. A field of another type than expected is
// left out.
func (w *wireUsage) UnmarshalJSON(raw []byte) error {
	type plain wireUsage
	_ = json.Unmarshal(raw, (*plain)(w)) // see above
	w.raw = slices.Clone(raw)
	return nil
}

// at reads the count at a dotted place.
func (w *wireUsage) at(place string) *int {
	switch place {
	case "prompt_tokens_details.cached_tokens":
		return w.PromptMore.Cached.n
	case "prompt_cache_hit_tokens":
		return w.CacheHit.n
	case "cached_tokens":
		return w.Cached.n
	case "cache_read_input_tokens":
		return w.CacheRead.n
	}
	value := w.raw
	for name := range strings.SplitSeq(place, ".") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(value, &fields) != nil || fields[name] == nil {
			return nil
		}
		value = fields[name]
	}
	var c count
	_ = c.UnmarshalJSON(value) // never fails
	return c.n
}

// cached gives the count of cached tokens from the first place that has one.
func (w *wireUsage) cached(places []string) *int {
	for _, place := range places {
		if n := w.at(place); n != nil {
			return n
		}
	}
	return nil
}

// use notes a report. Reports grow, so that the latest of each count holds; they are never added up.
func (d *decoder) use(w *wireUsage) {
	if w == nil {
		return
	}
	if w.Cost.usd != nil {
		d.usage.Cost = w.Cost.usd
	}
	prompt := w.Prompt.n
	if prompt == nil && w.Input.n != nil {
		sum := *w.Input.n
		for _, c := range []count{w.CacheRead, w.CacheCreate} {
			if c.n != nil {
				sum += *c.n
			}
		}
		prompt = &sum
	}
	cached := w.cached(d.dialect.CachedTokens)
	if d.dialect.CachedApart && w.Prompt.n != nil && cached != nil {
		sum := *w.Prompt.n + *cached
		prompt = &sum
	}
	for _, f := range []struct {
		to   **int
		from []*int
	}{
		{&d.usage.Prompt, []*int{prompt}},
		{&d.usage.Completion, []*int{w.Completion.n, w.Output.n}},
		{&d.usage.Cached, []*int{cached}},
		{&d.usage.Reasoning, []*int{w.CompletionMore.Reasoning.n}},
	} {
		for _, n := range f.from {
			if n != nil {
				*f.to = n
				break
			}
		}
	}
}

// known gives u, or nothing when the server reported zeros: no request has a prompt of no tokens.
func known(u llm.Usage) llm.Usage {
	if u.Prompt != nil && *u.Prompt == 0 {
		return llm.Usage{}
	}
	return u
}
