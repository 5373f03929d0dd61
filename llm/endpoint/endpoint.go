// Package endpoint makes the client of one OpenAI-compatible endpoint of its parts, in the one order that is right: the wire
// format, over it the watchdog that ends what fell silent, over it the protocol that gives tools to models without tool calls,
// over it the gate at which all sessions wait after a refusal, over it the retries, and outermost the cost of what was reported.
package endpoint

import (
	"time"

	"vitrine/llm"
	"vitrine/llm/openai"
	"vitrine/llm/price"
	"vitrine/llm/protocol"
	"vitrine/runtime/clock"
)

// Config says where the endpoint is and how to talk to it.
type Config struct {
	// Wire is the endpoint itself.
	Wire openai.Config
	// Form is how tools are written for a model without tool calls; empty for one that has them.
	Form protocol.Form
	// Silence within a stream ends it; 0 never.
	Silence time.Duration
	// Retries is how often a request that failed is sent again, RetryBase the first wait.
	Retries   int
	RetryBase time.Duration
	// Prices are what the user says that models cost; they come before the list prices.
	Prices map[string]price.Price
	Clock  clock.Clock
	// Rand gives numbers in [0,1) and is safe for concurrent use.
	Rand func() float64
}

// New makes the client. closeIt ends its idle connections.
func New(cfg Config) (client llm.Client, closeIt func()) {
	wire := openai.New(cfg.Wire)
	client = llm.Watchdog(wire, llm.WatchdogConfig{Silence: cfg.Silence, FirstByte: openai.DefaultFirstByteTimeout, Clock: cfg.Clock})
	if cfg.Form != "" {
		client = protocol.New(client, cfg.Form)
	}
	limiter := llm.NewLimiter(llm.LimitConfig{Base: cfg.RetryBase, Clock: cfg.Clock, Rand: cfg.Rand})
	client = limiter.For(cfg.Wire.BaseURL, client)
	client = llm.Retry(client, llm.RetryConfig{Max: cfg.Retries, Base: cfg.RetryBase, Clock: cfg.Clock, Rand: cfg.Rand})
	return price.Client(client, hostOf(cfg.Wire.BaseURL), price.Table{Own: cfg.Prices}), wire.Close
}
