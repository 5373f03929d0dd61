package cli

import (
	"fmt"
	"strings"
	"testing"

	"vitrine/runtime"
	"vitrine/trace"
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

// What is printed to be copied names the user that the command was given for.
func TestHintsNameTheUser(t *testing.T) {
	b := newBench(t)
	b.f.onSubmit = func(f *fake, s, _ string) error {
		f.publish(s, "run-1", trace.RunStartData{}, trace.ApprovalData{Phase: "asked", ID: "c-1", Tool: "write_file", Arguments: []byte(`{}`)},
			trace.StateData{State: "waiting_approval", Reason: "paused"})
		return nil
	}
	for user, want := range map[string]string{"": "", "ann": " --user ann", "ann@home.org": " --user ann@home.org"} {
		args := []string{"run", "--model", "offline", "--session", "s", "hi"}
		if user != "" {
			args = append(args, "--user", user)
		}
		got := b.run(args...)
		for _, line := range []string{"vitrine run" + want + " --session s --approve c-1 | --deny c-1\n", "open it with vitrine --session s" + want + "\n"} {
			if !strings.Contains(got.err, line) {
				t.Errorf("%q: no %q in\n%s", user, line, got.err)
			}
		}
		err := &userError{&runtime.OutcomeError{Calls: []runtime.CallRow{{ID: "c", RunID: "r-7"}}}, user}
		if text := strings.Join(describe(err), "\n"); !strings.Contains(text, "vitrine run"+want+" --resume r-7 --outcome") || exitCode(err) != ExitWaits {
			t.Errorf("%q: %s", user, text)
		}
	}
}

// A word on what does not wait is refused with what does, and a session that is not there with where the others are.
func TestWordsOnTheWrongCalls(t *testing.T) {
	b := newBench(t)
	run := runtime.RunRow{ID: "r", SessionID: "s", State: runtime.StateWaitingApproval}
	b.f.snaps["s"] = runtime.Snapshot{Run: &run, Calls: []runtime.CallRow{
		{ID: "c-1", Name: "write_file", Status: runtime.CallWaiting}, {ID: "c-2", Name: "fire", Status: runtime.CallWaiting},
		{ID: "c-3", Name: "sign", Status: runtime.CallUnknown}, {ID: "c-4", Name: "peek", Status: runtime.CallDone, Result: []byte(`{}`)},
	}}
	b.f.evs = []trace.Event{{RunID: "r", Seq: 1}}
	b.f.openErr["nope"] = fmt.Errorf("open session nope: %w", runtime.ErrNotFound)
	for args, want := range map[string][]string{
		"--session s --approve wrong":                  {`no call "wrong" waits`, "c-1 (write_file), c-2 (fire)"},
		"--session s --deny c-4":                       {`no call "c-4" waits`, "c-1 (write_file), c-2 (fire)"},
		"--session s --approve c-1 --outcome c-9=not":  {`of no call "c-9" the outcome is unknown`, "--outcome can name c-3 (sign)"},
		"--session empty --approve c-1":                {"nothing waits in session empty", "vitrine sessions show empty"},
		"--session nope --approve c-1":                 {"there is no session nope of", "vitrine sessions lists them"},
		"--session nope --approve c-1 --user somebody": {"there is no session nope of somebody"},
	} {
		got := b.run(append([]string{"run", "--model", "offline"}, strings.Fields(args)...)...)
		for _, part := range want {
			if got.code != ExitUsage || !strings.Contains(got.err, part) {
				t.Errorf("%s: %d %s, want %q", args, got.code, got.err, part)
			}
		}
	}
	if len(b.f.set) != 0 {
		t.Errorf("words were given: %+v", b.f.set)
	}
	for words, want := range map[string]string{"c-3": "", "c-1": "--outcome can name c-3 (sign)", "c-4": `of no call "c-4" the outcome is unknown`, "x": "can name c-3"} {
		err := known(map[string]runtime.Outcome{words: runtime.OutcomeNot}, b.f.snaps["s"].Calls)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", words, err)
		}
	}
}
