package runtime

// State is where a run stands.
type State string

// The states. Those that are stored: created, waiting_model, waiting_approval, executing, reconciling, verifying, and the
// terminal four.
const (
	StateCreated         State = "created"
	StateBuilding        State = "building_context"
	StateWaitingModel    State = "waiting_model"
	StateRepairing       State = "repairing_output"
	StateRetryingModel   State = "retrying_model"
	StateValidating      State = "validating"
	StateWaitingApproval State = "waiting_approval"
	StateExecuting       State = "executing"
	StateRetryingTool    State = "retrying_tool"
	StateReconciling     State = "reconciling"
	StateObserving       State = "observing"
	StateCheckpointing   State = "checkpointing"
	StateVerifying       State = "verifying"
	StateSucceeded       State = "succeeded"
	StateFailed          State = "failed"
	StateCancelled       State = "cancelled"
	StateExhausted       State = "exhausted"
)

// Terminal says that the run is over.
func (s State) Terminal() bool {
	switch s {
	case StateSucceeded, StateFailed, StateCancelled, StateExhausted:
		return true
	}
	return false
}

// Reason is why a run is in its state.
type Reason string

// The reasons.
const (
	ReasonNone        Reason = ""
	ReasonNoProgress  Reason = "no_progress"
	ReasonContext     Reason = "context"
	ReasonSteps       Reason = "steps"
	ReasonCalls       Reason = "calls"
	ReasonTokens      Reason = "tokens"
	ReasonCost        Reason = "cost"
	ReasonDeadline    Reason = "deadline"
	ReasonInterrupted Reason = "interrupted"
	ReasonPaused      Reason = "paused"
	ReasonBreak       Reason = "break" // the debugger holds it
	ReasonUser        Reason = "user"
	ReasonModel       Reason = "model"
	ReasonEmpty       Reason = "empty_reply"
	ReasonUnknownTool Reason = "unknown_tool"
	ReasonCheck       Reason = "check"
	ReasonSuperseded  Reason = "superseded"
	ReasonStore       Reason = "store"
	ReasonOutcome     Reason = "outcome_unknown"
	ReasonGivenUp     Reason = "given_up"
	ReasonInternal    Reason = "internal"
)

// setting names what sets the limit that ended a run for this reason; empty when none does.
func (r Reason) setting() string {
	switch r {
	case ReasonSteps:
		return "AGENT_MAX_TOOL_ITERS"
	case ReasonCalls:
		return "AGENT_MAX_TOOL_CALLS"
	case ReasonTokens:
		return "AGENT_MAX_RUN_TOKENS"
	case ReasonCost:
		return "AGENT_MAX_RUN_COST"
	case ReasonDeadline:
		return "AGENT_RUN_DEADLINE_SECONDS"
	case ReasonContext:
		return "AGENT_MAX_CTX_TOKENS"
	}
	return ""
}
