package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the configuration forbids by the time of the answer does not run, whatever was said: the user and the model are told. The same
// question under the policy that asked is answered, and only what still waits is named.
func TestAnAnswerUnderAnotherPolicy(t *testing.T) {
	for _, deny := range []bool{true, false} {
		dir := t.TempDir()
		r := vitrine(dir, "run", "--session", "a", "write a file notes.txt with hello").run(t)
		if r.code != 3 {
			t.Fatalf("%+v", r)
		}
		then := vitrine(dir, "run", "--session", "a", "--approve", waitingCall(t, r.stderr))
		if deny {
			then = then.with("AGENT_TOOL_POLICY=write_file=deny")
		}
		r = then.run(t)
		_, err := os.Stat(filepath.Join(dir, "notes.txt"))
		if r.code != 0 || deny != errors.Is(err, fs.ErrNotExist) || deny != strings.Contains(r.stderr, "write_file does not run, and no word of yours is taken for it: the configuration forbids this tool") {
			t.Errorf("deny %v: %+v, %v", deny, r, err)
		}
		if strings.Contains(r.stderr, "waits for your word") {
			t.Errorf("deny %v: a call that was decided is named: %s", deny, r.stderr)
		}
	}
}

// A misspelt name in a rule ends the program before anything is opened, with what was meant; the names of the program's tools and of
// the effects are taken.
func TestNamesInThePolicy(t *testing.T) {
	for policy, want := range map[string]string{
		"write_fil=deny":  "AGENT_TOOL_POLICY=write_fil=deny: there is no tool and no effect of that name; did you mean write_file?",
		"sideeffect=deny": "did you mean side_effect?",
		"write_file=deny,list_dir=ask,todo=auto,artifact=auto,calculator=auto,search_mock=ask,probeable=ask,own_data=auto": "",
	} {
		dir := t.TempDir()
		r := vitrine(dir, "run", "hi").with("AGENT_TOOL_POLICY=" + policy).run(t)
		if want == "" && r.code != 0 || want != "" && (r.code != 2 || !strings.Contains(r.stderr, want)) {
			t.Errorf("%s: %+v", policy, r)
		}
		if _, err := os.Stat(filepath.Join(dir, "data")); want != "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something was opened: %v", policy, err)
		}
	}
}
