//go:build !unix

package cli

import (
	"context"

	"vitrine/runtime/clock"
	"vitrine/runtime/config"
)

// OpenFunc makes the parts of a configuration.
type OpenFunc func(ctx context.Context, cfg config.Config, clk clock.Clock, o OpenOptions) (*App, error)

// Suspendable is open: nothing stops a process here.
func Suspendable(open OpenFunc) OpenFunc { return open }
