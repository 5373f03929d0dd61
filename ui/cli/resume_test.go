package cli

import (
	"fmt"
	"strings"
	"testing"

	"vitrine/runtime"
)

// What waits for the user's word is named with the way to give it, and the exit code says that it waits.
func TestUnknownOutcomesAreNamed(t *testing.T) {
	err := fmt.Errorf("resume run r: %w", &runtime.OutcomeError{Calls: []runtime.CallRow{{ID: "c-1", Name: "deploy", Arguments: `{"to":"x"}`}}})
	if code := exitCode(err); code != ExitWaits {
		t.Errorf("exit code %d", code)
	}
	text := strings.Join(describe(err), "\n")
	for _, want := range []string{"c-1", "deploy", `{"to":"x"}`, "--outcome"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}

func TestOutcomeFlags(t *testing.T) {
	got, err := outcomes([]string{"a=happened", "b=not", "c=again"})
	if err != nil || got["a"] != runtime.OutcomeHappened || got["b"] != runtime.OutcomeNot || got["c"] != runtime.OutcomeAgain {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "a", "=not", "a=maybe"} {
		if _, err := outcomes([]string{bad}); exitCode(err) != ExitUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A run that cannot go on as things are says why and what to do: wrong usage, not a failure of the run.
func TestVersionErrors(t *testing.T) {
	err := fmt.Errorf("resume run r: %w", &runtime.VersionError{Reasons: []string{"a call of deploy had been started, and that tool is not here any more"}})
	if code := exitCode(err); code != ExitUsage {
		t.Errorf("exit code %d", code)
	}
	text := strings.Join(describe(err), "\n")
	for _, want := range []string{"deploy", "not here any more", "give the run up"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}
