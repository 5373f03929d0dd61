package endpoint

import (
	"context"
	"time"

	"vitrine/llm"
	"vitrine/llm/discover"
	"vitrine/llm/openai"
	"vitrine/runtime/clock"
)

// ReachLimit bounds what an endpoint is asked beside replies.
const ReachLimit = 15 * time.Second

// Listing is what models there are.
type Listing struct {
	// Models are the endpoint's; Err says why they are not known.
	Models []llm.ModelInfo
	Err    error
	// Local are the servers of this machine that answered.
	Local []discover.Found
}

// List asks the endpoint, where there is one, and this machine for their models. How long contexts may be is noted in the memory of
// wire, which clients that are at work share.
func List(ctx context.Context, clk clock.Clock, wire openai.Config, remote bool) (l Listing) {
	if remote {
		l.Models, l.Err = listed(ctx, clk, wire)
	}
	l.Local = discover.Local(ctx, clk, llm.LocalServers())
	for _, f := range l.Local {
		if wire.Memory != nil {
			wire.Memory.Sized(f.BaseURL(), f.Models)
		}
	}
	return l
}

func listed(ctx context.Context, clk clock.Clock, wire openai.Config) ([]llm.ModelInfo, error) {
	ctx, cancel := clk.WithTimeout(ctx, ReachLimit)
	defer cancel()
	c := openai.New(wire)
	defer c.Close()
	return c.Models(ctx)
}
