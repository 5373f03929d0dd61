// Package runtime executes turns: a bounded loop over an explicit state table.
//
// Next (machine.go) is the whole control flow as a pure table: a state and an input give the next state and what is to be
// done. Engine runs sessions; each open session is an actor (session.go) that takes requests one by one, and one more
// goroutine (run.go) while a turn is on. A run performs the table's effects and feeds what came of them back:
//
//	build the request (run.go, prompt/) -> call the model (model.go) -> validate, execute, observe, checkpoint the calls
//	(calls.go) -> again, or verify the answer (check.go) and close the turn (closing.go)
//
// What is known is what is committed. commit.go holds the one way to the store: a transaction is told as data (Tx), its
// events are published by the store after the commit, and an error means that the outcome is unknown, so that the session
// parks and tries again. The intent to run a tool is stored before the tool runs, and its result with what comes next; so
// resume.go can tell, after a crash at any point, what happened, what did not and what nobody knows.
//
// The state table, made from Next by a test:
//
//	created
//	  --> building_context (build): start, resume
//	building_context
//	  --> waiting_model (call_model): built
//	  --> exhausted (close): context_full, budget_used
//	waiting_model
//	  --> building_context (build): resume, replan
//	  --> exhausted (close): context_full, budget_used
//	  --> validating (validate): reply_calls
//	  --> verifying (verify): reply_text
//	  --> repairing_output (repair): reply_bad
//	  --> retrying_model: model_wait
//	  --> failed (close): model_failed
//	repairing_output
//	  --> failed (close): model_failed
//	  --> building_context (build): repaired
//	retrying_model
//	  --> exhausted (close): budget_used
//	  --> retrying_model: model_wait
//	  --> waiting_model: model_again
//	  --> failed (close): model_failed
//	validating
//	  --> exhausted (close): budget_used
//	  --> executing (execute): validated
//	  --> waiting_approval (ask): ask
//	waiting_approval
//	  --> waiting_approval (ask): resume, ask
//	  --> exhausted (close): budget_used
//	  --> executing (execute): decided
//	executing
//	  --> reconciling (reconcile): resume
//	  --> exhausted (close): budget_used
//	  --> waiting_approval (ask): ask
//	  --> retrying_tool: tool_wait
//	  --> observing (observe): executed
//	retrying_tool
//	  --> exhausted (close): budget_used
//	  --> retrying_tool: tool_wait
//	  --> executing: tool_again
//	  --> observing (observe): executed
//	reconciling
//	  --> reconciling (reconcile): resume
//	  --> building_context (build): step_done
//	  --> executing (execute): reconciled
//	  --> reconciling: unknown_outcome
//	observing
//	  --> checkpointing (checkpoint): observed
//	  --> exhausted (close): no_progress
//	  --> failed (close): unknown_tools
//	checkpointing
//	  --> exhausted (close): budget_used
//	  --> executing (execute): more_calls
//	  --> building_context (build): step_done
//	verifying
//	  --> verifying (verify): resume
//	  --> succeeded (close): verified
//	  --> repairing_output (repair): rejected
//
// From every state that is not terminal cancel and give_up lead to cancelled, broken leads to failed, each closing the turn.
//
// A run stands still where the policy asks the user (approve.go, policy.go) or where the developer wants to look (debug.go);
// what it waits for is stored, so that it stands there again in another process.
//
// fold.go, summarise.go and recollect.go keep the context within its bounds (see package prompt for the pure half).
//
// ports.go declares what the engine needs of the disk (Store) and what screens and commands get (Agent, Library, Feed).
// None of it names a database.
package runtime
