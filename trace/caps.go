package trace

import (
	"fmt"
	"strings"
)

// Caps are what a run may use; what is left out has no limit.
type Caps struct {
	Steps  int `json:"steps,omitempty"`
	Calls  int `json:"calls,omitempty"`
	Tokens int `json:"tokens,omitempty"`
	// Cost is in US dollars.
	Cost *float64 `json:"cost,omitempty"`
	// DeadlineMS bounds the time in which the run is executed, without what it waits for the user.
	DeadlineMS int64 `json:"deadline_ms,omitempty"`
}

// used says what a run that has ended used of its caps.
func used(run *Node) string {
	var (
		caps *Caps
		end  *RunEndData
	)
	for _, e := range run.Events {
		switch d := e.Data.(type) {
		case RunStartData:
			caps = d.Caps
		case RunEndData:
			end = &d
		}
	}
	if caps == nil || end == nil {
		return ""
	}
	var parts []string
	say := func(limit int, used int, unit string, text func(int) string) {
		if limit > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s %s", text(used), text(limit), unit))
		}
	}
	plain := func(n int) string { return fmt.Sprint(n) }
	say(caps.Steps, end.Steps, "steps", plain)
	say(caps.Calls, end.Calls, "calls", plain)
	say(caps.Tokens, end.Tokens, "tokens", FormatTokens)
	return strings.Join(parts, ", ")
}
