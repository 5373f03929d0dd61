package runtime

import (
	"fmt"
	goruntime "runtime"
	"time"

	"vitrine/llm"
	"vitrine/tools"
	"vitrine/trace"
)

// StepRecord is what one step did.
type StepRecord struct {
	Index      int
	Commentary string
	Calls      []CallRecord
	// Answer is the turn's closing text when the step ended the run.
	Answer  string
	State   State
	Reason  Reason
	Usage   llm.Usage
	Latency time.Duration
	TTFT    time.Duration
}

// CallRecord is one call of a step with its result.
type CallRecord struct {
	Row    CallRow
	Result tools.Result
	Took   time.Duration
}

// done is what a pause tells of the record.
func (rec StepRecord) done() *trace.StepDone {
	d := &trace.StepDone{Step: rec.Index, Calls: len(rec.Calls), ModelMS: rec.Latency.Milliseconds(), FirstMS: rec.TTFT.Milliseconds()}
	if p, c := rec.Usage.Prompt, rec.Usage.Completion; p != nil && c != nil {
		d.Tokens = *p + *c
	}
	for _, c := range rec.Calls {
		if !c.Result.OK {
			d.Failed++
		}
	}
	return d
}

// Step goes on to the end of the step: one model decision and the tool calls that it asked for. An error means that the run
// cannot be stored any further.
func (r *run) Step() (rec StepRecord, err error) {
	rec = StepRecord{Index: r.row.Step + 1}
	r.record = &rec
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 16<<10)
			err = &PanicError{Value: p, Stack: string(buf[:goruntime.Stack(buf, false)])}
		}
		rec.State, rec.Reason = r.state, r.reason
	}()
	for !r.over() {
		in, err := r.perform(r.todo)
		if err != nil || r.left {
			if in == InUnknownOutcome && err == nil {
				err = r.advance(in)
			}
			return rec, err
		}
		if in == "" { // closed
			r.todo = ""
			return rec, nil
		}
		if err := r.advance(in); err != nil {
			return rec, err
		}
		if r.todo == DoBuild {
			return rec, nil
		}
	}
	return rec, nil
}

// PanicError is a panic in a run's goroutine.
type PanicError struct {
	Value any
	Stack string
}

// Error gives the panic's value.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
