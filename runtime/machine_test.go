package runtime_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"vitrine/runtime"
)

// Every state with every input either has its move or is an IllegalMoveError that leaves the state alone.
func TestTableIsWhole(t *testing.T) {
	legal := 0
	for _, s := range runtime.States() {
		for _, in := range runtime.Inputs() {
			next, effects, err := runtime.Next(s, in)
			var illegal *runtime.IllegalMoveError
			switch {
			case errors.As(err, &illegal):
				if next != s || effects != nil || illegal.State != s || illegal.Input != in || illegal.Error() == "" {
					t.Errorf("%s + %s: %v %v %v", s, in, next, effects, err)
				}
			case err != nil:
				t.Errorf("%s + %s: %v", s, in, err)
			default:
				legal++
				if s.Terminal() {
					t.Errorf("%s + %s leaves a terminal state", s, in)
				}
				if len(effects) > 1 {
					t.Errorf("%s + %s has %d effects; the engine performs one at a time", s, in, len(effects))
				}
				closes := len(effects) == 1 && effects[0] == runtime.DoClose
				if next.Terminal() != closes {
					t.Errorf("%s + %s: terminal %v, closes %v", s, in, next.Terminal(), closes)
				}
			}
		}
		if !s.Terminal() {
			for _, in := range []runtime.Input{runtime.InCancel, runtime.InGiveUp, runtime.InBroken} {
				if next, _, err := runtime.Next(s, in); err != nil || !next.Terminal() {
					t.Errorf("%s cannot be ended by %s", s, in)
				}
			}
		}
	}
	if legal < 60 {
		t.Errorf("only %d legal moves", legal)
	}
}

// Only the states of the design are stored, and each of them can be resumed or is terminal.
func TestStoredStates(t *testing.T) {
	stored := map[runtime.State]bool{
		runtime.StateCreated: true, runtime.StateWaitingModel: true, runtime.StateWaitingApproval: true,
		runtime.StateExecuting: true, runtime.StateReconciling: true, runtime.StateVerifying: true,
		runtime.StateSucceeded: true, runtime.StateFailed: true, runtime.StateCancelled: true, runtime.StateExhausted: true,
	}
	for _, s := range runtime.States() {
		if !stored[s.Stored()] {
			t.Errorf("%s is stored as %s", s, s.Stored())
		}
		if s.Stored().Terminal() {
			continue
		}
		if _, _, err := runtime.Next(s.Stored(), runtime.InResume); err != nil {
			t.Errorf("a run stored as %s cannot be resumed: %v", s.Stored(), err)
		}
	}
}

func TestRandomInputsStayInTheTable(t *testing.T) {
	known := map[runtime.State]bool{}
	for _, s := range runtime.States() {
		known[s] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		s := runtime.StateCreated
		for range 50 {
			s, _, _ = runtime.Next(s, rapid.SampledFrom(runtime.Inputs()).Draw(t, "input"))
			if !known[s] {
				t.Fatalf("left the table for %q", s)
			}
		}
	})
}
