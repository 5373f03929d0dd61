package runtime

// Break says where the runs of a session stand still, so that a developer can look at what is sent or run next. Runs without a
// screen do not stop.
type Break struct {
	// Next stops before the next model call or tool call, whichever comes first.
	Next bool `json:"next,omitempty"`
	// Tool stops before the next call of that tool.
	Tool string `json:"tool,omitempty"`
}

// On says that there is such a place.
func (b Break) On() bool { return b.Next || b.Tool != "" }

// Step lets a run go on that stands still.
type Step struct {
	// Call is the row's id of the call that it stands before; empty is a model call.
	Call string
	// Then is where it stands still next.
	Then Break
}
