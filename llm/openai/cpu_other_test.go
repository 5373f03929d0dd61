//go:build !unix

package openai

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
