//go:build unix

package main

import (
	"strings"
	"testing"
)

// A run that was killed goes on in another process to the answer that it would have given, and a run that is over, or none,
// is refused.
func TestResumeHeadless(t *testing.T) {
	for _, point := range []string{"chunk:1", "effect.before:1", "effect.after:1", "commit.after:2", "commit.before:3", "commit.after:3"} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			first := vitrine(dir, "run", "--session", "s", "what is (17+5)*3?").with("VITRINE_FAULT=" + point + ":kill").run(t)
			if first.code != -1 {
				t.Fatalf("not killed: exit code %d\n%s", first.code, first.stderr)
			}
			type event struct {
				RunID string `json:"run_id"`
				Event string
			}
			run := ""
			for _, ev := range decode[event](t, vitrine(dir, "trace", "s", "--json").ok(t)) {
				if ev.RunID != "" {
					run = ev.RunID
				}
			}
			if run == "" {
				t.Fatal("the run is not stored at this point")
			}
			second := vitrine(dir, "run", "--resume", run).run(t)
			if second.code != 0 || second.stdout != "(17+5)*3 = 66\n" {
				t.Fatalf("resume: exit code %d\n%s%s", second.code, second.stdout, second.stderr)
			}
			closings := checkTurns(t, messages(t, dir, "s"))
			if len(closings) != 1 || !strings.Contains(closings[0], "66") {
				t.Errorf("closings %q", closings)
			}
			for args, want := range map[string]string{run: "is over", "nothing": "there is no run"} {
				if r := vitrine(dir, "run", "--resume", args).run(t); r.code != 2 || !strings.Contains(r.stderr, want) {
					t.Errorf("resume of %s: exit code %d, %s", args, r.code, r.stderr)
				}
			}
		})
	}
}
