// Package runtime executes turns: a bounded loop over an explicit state table.
//
// Next (machine.go) is the whole control flow as a pure table: a state and an input give the next state and what is to be
// done. Engine runs sessions; each open session is an actor (session.go) that takes requests one by one, and one more
// goroutine (run.go) while a turn is on. A run performs the table's effects and feeds what came of them back:
//
//	build the request (run.go, prompt/) -> call the model (model.go) -> validate, execute, observe, checkpoint the calls
//	(calls.go) -> again, or close the turn (closing.go)
//
// What is known is what is committed. commit.go holds the one way to the store: a transaction is told as data (Tx), its
// events are published by the store after the commit, and an error means that the outcome is unknown, so that the session
// parks and tries again. The intent to run a tool is stored before the tool runs, and its result with what comes next; so
// resume.go can tell, after a crash at any point, what happened, what did not and what nobody knows.
//
// ports.go declares what the engine needs of the disk (Store) and what screens and commands get (Agent, Library, Feed).
// None of it names a database.
package runtime
