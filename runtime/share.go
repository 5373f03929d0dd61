package runtime

import "vitrine/trace"

// caps is how an event tells a budget.
func (b Budget) caps() *trace.Caps {
	return &trace.Caps{Steps: b.Steps, Calls: b.Calls, Tokens: b.Tokens, Cost: b.Cost, DeadlineMS: b.Deadline.Milliseconds()}
}
