package cli

import (
	"strings"
	"testing"

	"vitrine/runtime"
	"vitrine/trace"
)

// B163 without a screen: what somebody is to say yes to stands there as it would run, with what hides in it spelled out, and with
// what the tool says it would change.
func TestQuestionHidesNothing(t *testing.T) {
	b := newBench(t)
	b.f.onSubmit = func(f *fake, s, _ string) error {
		f.publish(s, "run-1", trace.RunStartData{}, trace.ApprovalData{Phase: "asked", ID: "c-1", Tool: "write_file",
			Arguments: []byte("{\"path\":\"b\u202etxt.exe\",\"content\":\"x\u200b y          z\",\"raw\":\"\\u001b[8m\"}"),
			Preview:   " 1   kept\n 2 - old \u202e\n 2 + new\n"},
			trace.StateData{State: "waiting_approval", Reason: "paused"})
		return nil
	}
	got := b.run("run", "--model", "offline", "--session", "s", "hi")
	want := `vitrine: write_file waits for your word: {"path":"b<U+202E>txt.exe","content":"x<U+200B> y<10 spaces>z","raw":"\u001b[8m"}
   1   kept
   2 - old <U+202E>
   2 + new
vitrine: vitrine run --session s --approve c-1 | --deny c-1
`
	if !strings.Contains(got.err, want) || got.code != ExitWaits {
		t.Errorf("%d\n%s\nwant\n%s", got.code, got.err, want)
	}
	lines := strings.Join(describeOutcomes(&runtime.OutcomeError{Calls: []runtime.CallRow{{ID: "c", RunID: "r-7", Name: "rm", Arguments: "{\"path\":\"a\u202eb\"}"}}}, ""), "\n")
	for _, part := range []string{"<U+202E>", "vitrine run --resume r-7 --outcome CALL=happened"} {
		if !strings.Contains(lines, part) {
			t.Errorf("no %s in %s", part, lines)
		}
	}
}

// Flags that a call of run would not heed are refused, not forgotten.
func TestFlagsThatWouldNotCount(t *testing.T) {
	for args, want := range map[string]string{
		"run --outcome x=again hi":                             "--outcome needs the run",
		"run --session s --outcome x=again":                    "--outcome needs the run",
		"run --reason no hi":                                   "--reason belongs to --deny",
		"run --session s --approve c --reason no":              "--reason belongs to --deny",
		"run --resume r --expect-tool calculator":              "has its own checks",
		"run --session s --approve c --expect-regexp x":        "has its own checks",
		"run --session s --approve c --expect-no-open-todo":    "has its own checks",
		"run --resume r --reason because --outcome c=happened": "--reason belongs to --deny",
	} {
		b := newBench(t)
		got := b.run(strings.Fields(args)...)
		if got.code != ExitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v, want %s", args, got, want)
		}
	}
}
