// Package endpoint makes the client of one OpenAI-compatible endpoint of its parts, in the one order that is right: the wire
// format, over it the watchdog that ends what fell silent, over it the protocol that gives tools to models without tool calls,
// over it the gate at which all sessions wait after a refusal, over it the retries, and outermost the cost of what was reported.
package endpoint

import (
	"context"
	"iter"
	"time"

	"vitrine/llm"
	"vitrine/llm/openai"
	"vitrine/llm/price"
	"vitrine/llm/profile"
	"vitrine/llm/protocol"
	"vitrine/runtime/clock"
)

// Config says where the endpoint is and how to talk to it.
type Config struct {
	// Wire is the endpoint itself.
	Wire openai.Config
	// Protocol is how models call tools; empty: as the profile of each says.
	Protocol profile.Protocol
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
	client = llm.Watchdog(wire, llm.WatchdogConfig{Silence: cfg.Silence, Host: wire.Host(), Clock: cfg.Clock})
	client = spoken{
		of: func(model string) profile.Protocol {
			if cfg.Protocol != "" {
				return cfg.Protocol
			}
			return Describe(cfg.Wire, model).Choice.Protocol
		},
		native: client, json: protocol.New(client, protocol.JSON), react: protocol.New(client, protocol.ReAct),
	}
	limiter := llm.NewLimiter(llm.LimitConfig{Base: cfg.RetryBase, Clock: cfg.Clock, Rand: cfg.Rand})
	client = limiter.For(cfg.Wire.BaseURL, client)
	client = llm.Retry(client, llm.RetryConfig{Max: cfg.Retries, Base: cfg.RetryBase, Clock: cfg.Clock, Rand: cfg.Rand})
	return price.Client(client, hostOf(cfg.Wire.BaseURL), price.Table{Own: cfg.Prices}), wire.Close
}

// spoken has each model call tools in its way.
type spoken struct {
	of                  func(model string) profile.Protocol
	native, json, react llm.Client
}

// Stream implements llm.Client.
func (s spoken) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	switch s.of(req.Model) {
	case profile.ProtocolJSON:
		return s.json.Stream(ctx, req)
	case profile.ProtocolReAct:
		return s.react.Stream(ctx, req)
	}
	return s.native.Stream(ctx, req)
}
