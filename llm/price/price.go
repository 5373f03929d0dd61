// Package price knows what tokens cost. A table holds the list prices of endpoints that do not report the cost themselves, each
// with the month in which it was looked up; the configuration puts its own in front of them. Client adds the cost to what a model
// reports. Unknown stays unknown: no price, or no report of the tokens, is no cost, never 0.
package price

import (
	"context"
	"iter"
	"strings"

	"vitrine/llm"
)

// Price is what a model's tokens cost, in US dollars for a million of them.
type Price struct {
	Input, Output float64
	// Cached is for tokens of the prompt that the provider had in its cache; nil: as Input.
	Cached *float64
	// AsOf is the month in which the price was looked up, like 2025-12; empty for one from the configuration.
	AsOf string
}

// Cost is what a reply cost, nil when the provider did not report its tokens. Tokens of reasoning are part of the completion.
func (p Price) Cost(u llm.Usage) *float64 {
	if u.Prompt == nil || u.Completion == nil || *u.Prompt <= 0 {
		return nil
	}
	fresh, cached, rate := *u.Prompt, 0, p.Input
	if u.Cached != nil && p.Cached != nil {
		cached, rate = min(*u.Cached, *u.Prompt), *p.Cached
		fresh -= cached
	}
	sum := (float64(fresh)*p.Input + float64(cached)*rate + float64(*u.Completion)*p.Output) / 1e6
	return &sum
}

// Table finds prices. The zero Table is the embedded one alone.
type Table struct {
	// Own are prices by model, whatever the endpoint. A name counts for its dated versions too, as in the embedded table.
	Own map[string]Price
}

// Find gives the price of a model at the endpoint of this host.
func (t Table) Find(host, model string) (Price, bool) {
	model = strings.ToLower(strings.TrimPrefix(model, "models/"))
	best := ""
	for name := range t.Own {
		if names(strings.ToLower(name), model) && len(name) > len(best) {
			best = name
		}
	}
	if best != "" {
		return t.Own[best], true
	}
	var found *entry
	entries := list()
	for i := range entries {
		e := &entries[i]
		if strings.EqualFold(e.host, host) && names(e.model, model) && (found == nil || len(e.model) > len(found.model)) {
			found = e
		}
	}
	if found == nil {
		return Price{}, false
	}
	return Price{Input: found.input, Cached: &found.cached, Output: found.output, AsOf: found.asOf}, true
}

// names says whether a model is the one of this name, or a version of it: gpt-4o-2024-08-06 is gpt-4o, gpt-4o-mini is not.
func names(name, model string) bool {
	version, ok := strings.CutPrefix(model, name)
	if !ok || version == "" {
		return ok
	}
	if version == "-latest" {
		return true
	}
	digits := 0
	for _, r := range version[1:] {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r != '-':
			return false
		}
	}
	return version[0] == '-' && digits >= 3 // gpt-5-1 would be another model, mistral-small-2503 is none
}

// Client makes a Client that adds the cost to what next reports, where next did not and the table knows the model as the endpoint
// of this host names it, or as it was asked for.
func Client(next llm.Client, host string, table Table) llm.Client {
	return &client{next: next, host: host, table: table}
}

type client struct {
	next  llm.Client
	host  string
	table Table
}

// Stream implements llm.Client.
func (c *client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for chunk, err := range c.next.Stream(ctx, req) {
			if chunk.Done != nil && chunk.Done.Usage.Cost == nil {
				done := *chunk.Done
				done.Usage.Cost = c.cost(req.Model, done)
				chunk.Done = &done
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func (c *client) cost(asked string, done llm.Done) *float64 {
	for _, model := range []string{done.Model, asked} {
		if p, ok := c.table.Find(c.host, model); model != "" && ok {
			return p.Cost(done.Usage)
		}
	}
	return nil
}
