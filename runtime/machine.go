package runtime

import "fmt"

// Input is what happened to a run, as far as the state table cares.
type Input string

// The inputs.
const (
	InStart          Input = "start"           // the run begins
	InResume         Input = "resume"          // a stored run goes on in this process
	InBuilt          Input = "built"           // the request is ready and within its budget
	InContextFull    Input = "context_full"    // the request does not fit, or the provider says so
	InReplan         Input = "replan"          // the request has to be made smaller and built again
	InBudgetUsed     Input = "budget_used"     // a cap of the run is reached
	InReplyCalls     Input = "reply_calls"     // the model asked for tools
	InReplyText      Input = "reply_text"      // the model answered
	InReplyBad       Input = "reply_bad"       // the reply was empty or unusable and may be asked for again
	InModelWait      Input = "model_wait"      // the client waits before another attempt
	InModelAgain     Input = "model_again"     // the next attempt runs
	InModelFailed    Input = "model_failed"    // no attempt is left, or none would help
	InRepaired       Input = "repaired"        // the request to repair is stored
	InValidated      Input = "validated"       // every call is decided on: to run, or answered already
	InAsk            Input = "ask"             // a call needs the user's word
	InDecided        Input = "decided"         // the user's word is stored
	InToolWait       Input = "tool_wait"       // the executor waits before another attempt
	InToolAgain      Input = "tool_again"      // the next attempt runs
	InExecuted       Input = "executed"        // a call has its result
	InObserved       Input = "observed"        // the result is judged
	InMoreCalls      Input = "more_calls"      // the result is stored, calls of this step are left
	InStepDone       Input = "step_done"       // the step's last result is stored
	InReconciled     Input = "reconciled"      // every started call has a known outcome again
	InUnknownOutcome Input = "unknown_outcome" // a call's outcome is the user's to judge
	InVerified       Input = "verified"        // the answer passed its checks
	InRejected       Input = "rejected"        // the answer failed a check
	InNoProgress     Input = "no_progress"     // the run goes in circles
	InUnknownTools   Input = "unknown_tools"   // three unknown tools in a row
	InCancel         Input = "cancel"          // the user stopped it
	InGiveUp         Input = "give_up"         // an unfinished run will not go on
	InBroken         Input = "broken"          // infrastructure failed
)

// Inputs is every input, in the order of the constants.
func Inputs() []Input {
	return []Input{
		InStart, InResume, InBuilt, InContextFull, InReplan, InBudgetUsed, InReplyCalls, InReplyText, InReplyBad, InModelWait,
		InModelAgain, InModelFailed, InRepaired, InValidated, InAsk, InDecided, InToolWait, InToolAgain, InExecuted,
		InObserved, InMoreCalls, InStepDone, InReconciled, InUnknownOutcome, InVerified, InRejected, InNoProgress,
		InUnknownTools, InCancel, InGiveUp, InBroken,
	}
}

// States is every state, in the order of the constants.
func States() []State {
	return []State{
		StateCreated, StateBuilding, StateWaitingModel, StateRepairing, StateRetryingModel, StateValidating,
		StateWaitingApproval, StateExecuting, StateRetryingTool, StateReconciling, StateObserving, StateCheckpointing,
		StateVerifying, StateSucceeded, StateFailed, StateCancelled, StateExhausted,
	}
}

// Effect is what the engine has to do on a transition.
type Effect string

// The effects.
const (
	DoBuild      Effect = "build"      // make the request and check the budgets
	DoCallModel  Effect = "call_model" // send it
	DoRepair     Effect = "repair"     // store the request to repair
	DoValidate   Effect = "validate"   // check arguments, tools, policy
	DoAsk        Effect = "ask"        // put the approval before the user
	DoExecute    Effect = "execute"    // run the next calls
	DoObserve    Effect = "observe"    // judge a result
	DoCheckpoint Effect = "checkpoint" // store it with the next state
	DoReconcile  Effect = "reconcile"  // find out what became of started calls
	DoVerify     Effect = "verify"     // check the answer
	DoClose      Effect = "close"      // store the turn's closing message and the end of the run
)

type move struct {
	to      State
	effects []Effect
}

// IllegalMoveError is an input that a state has no place for: a defect of the engine, never of a model or a user.
type IllegalMoveError struct {
	State State
	Input Input
}

// Error names both.
func (e *IllegalMoveError) Error() string {
	return fmt.Sprintf("run state %s has no move for input %s", e.State, e.Input)
}

// Next is the whole control flow of a run: where input in leads from state s, and what is to be done on the way. It is pure.
func Next(s State, in Input) (State, []Effect, error) {
	if m, ok := moveFrom(s, in); ok {
		return m.to, m.effects, nil
	}
	if m, ok := moveAnywhere(s, in); ok {
		return m.to, m.effects, nil
	}
	return s, nil, &IllegalMoveError{State: s, Input: in}
}

// moves are all that Next allows, so that a run need not make the rows of the table again with each move.
type moves map[movesKey]move

type movesKey struct {
	from State
	in   Input
}

func allMoves() moves {
	all := moves{}
	for _, s := range States() {
		for _, in := range Inputs() {
			if next, effects, err := Next(s, in); err == nil {
				all[movesKey{s, in}] = move{next, effects}
			}
		}
	}
	return all
}

// next is Next.
func (m moves) next(s State, in Input) (State, []Effect, error) {
	if mv, ok := m[movesKey{s, in}]; ok {
		return mv.to, mv.effects, nil
	}
	return Next(s, in)
}

// moveAnywhere holds the moves that every state which is not terminal has.
func moveAnywhere(s State, in Input) (move, bool) {
	if s.Terminal() {
		return move{}, false
	}
	switch in {
	case InCancel, InGiveUp:
		return to(StateCancelled, DoClose), true
	case InBroken:
		return to(StateFailed, DoClose), true
	}
	return move{}, false
}

func to(s State, effects ...Effect) move { return move{to: s, effects: effects} }

func moveFrom(s State, in Input) (move, bool) {
	var row map[Input]move
	switch s {
	case StateCreated:
		row = map[Input]move{InStart: to(StateBuilding, DoBuild), InResume: to(StateBuilding, DoBuild)}
	case StateBuilding:
		row = map[Input]move{
			InBuilt:       to(StateWaitingModel, DoCallModel),
			InContextFull: to(StateExhausted, DoClose),
			InBudgetUsed:  to(StateExhausted, DoClose),
		}
	case StateWaitingModel:
		row = map[Input]move{
			InReplyCalls:  to(StateValidating, DoValidate),
			InReplyText:   to(StateVerifying, DoVerify),
			InReplyBad:    to(StateRepairing, DoRepair),
			InModelWait:   to(StateRetryingModel),
			InModelFailed: to(StateFailed, DoClose),
			InContextFull: to(StateExhausted, DoClose),
			InReplan:      to(StateBuilding, DoBuild),
			InBudgetUsed:  to(StateExhausted, DoClose),
			InResume:      to(StateBuilding, DoBuild),
		}
	case StateRetryingModel:
		row = map[Input]move{
			InModelAgain:  to(StateWaitingModel),
			InModelWait:   to(StateRetryingModel),
			InModelFailed: to(StateFailed, DoClose),
			InBudgetUsed:  to(StateExhausted, DoClose),
		}
	case StateRepairing:
		row = map[Input]move{InRepaired: to(StateBuilding, DoBuild), InModelFailed: to(StateFailed, DoClose)}
	case StateValidating:
		row = map[Input]move{
			InValidated:  to(StateExecuting, DoExecute),
			InAsk:        to(StateWaitingApproval, DoAsk),
			InBudgetUsed: to(StateExhausted, DoClose),
		}
	case StateWaitingApproval:
		row = map[Input]move{
			InDecided:    to(StateExecuting, DoExecute),
			InAsk:        to(StateWaitingApproval, DoAsk),
			InBudgetUsed: to(StateExhausted, DoClose),
			InResume:     to(StateWaitingApproval, DoAsk),
		}
	default:
		return moveLate(s, in)
	}
	m, ok := row[in]
	return m, ok
}

// moveLate holds the second half of the table: from execution on.
func moveLate(s State, in Input) (move, bool) {
	var row map[Input]move
	switch s {
	case StateExecuting:
		row = map[Input]move{
			InExecuted:   to(StateObserving, DoObserve),
			InToolWait:   to(StateRetryingTool),
			InAsk:        to(StateWaitingApproval, DoAsk),
			InBudgetUsed: to(StateExhausted, DoClose),
			InResume:     to(StateReconciling, DoReconcile),
		}
	case StateRetryingTool:
		row = map[Input]move{
			InToolAgain:  to(StateExecuting),
			InToolWait:   to(StateRetryingTool),
			InExecuted:   to(StateObserving, DoObserve),
			InBudgetUsed: to(StateExhausted, DoClose),
		}
	case StateReconciling:
		row = map[Input]move{
			InReconciled:     to(StateExecuting, DoExecute),
			InStepDone:       to(StateBuilding, DoBuild),
			InUnknownOutcome: to(StateReconciling),
			InResume:         to(StateReconciling, DoReconcile),
		}
	case StateObserving:
		row = map[Input]move{
			InObserved:     to(StateCheckpointing, DoCheckpoint),
			InNoProgress:   to(StateExhausted, DoClose),
			InUnknownTools: to(StateFailed, DoClose),
		}
	case StateCheckpointing:
		row = map[Input]move{
			InMoreCalls:  to(StateExecuting, DoExecute),
			InStepDone:   to(StateBuilding, DoBuild),
			InBudgetUsed: to(StateExhausted, DoClose),
		}
	case StateVerifying:
		row = map[Input]move{
			InVerified: to(StateSucceeded, DoClose),
			InRejected: to(StateRepairing, DoRepair),
			InResume:   to(StateVerifying, DoVerify),
		}
	}
	m, ok := row[in]
	return m, ok
}

// Stored is the state that stands in the database for s: only some are worth a row, the others lie between two commits.
func (s State) Stored() State {
	switch s {
	case StateBuilding, StateRetryingModel, StateRepairing:
		return StateWaitingModel
	case StateValidating:
		return StateWaitingModel
	case StateRetryingTool, StateObserving, StateCheckpointing:
		return StateExecuting
	}
	return s
}
