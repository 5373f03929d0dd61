package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
)

func scriptOf(steps ...scripted.Step) wiring {
	return wiring{client: func(llm.Client) llm.Client { return scripted.New(clock.Real(), steps...) }}
}

// waitingCall finds the call that a run without a screen says it waits for.
func waitingCall(t *testing.T, stderr string) string {
	t.Helper()
	m := regexp.MustCompile(`--approve (\S+)`).FindStringSubmatch(stderr)
	if m == nil {
		t.Fatalf("no call is named:\n%s", stderr)
	}
	return m[1]
}

// callof VARIABLE takes the id of the call that the last command said it waits for.
func cmdCallOf(ts *testscript.TestScript, neg bool, args []string) {
	m := regexp.MustCompile(`--approve (\S+)`).FindStringSubmatch(ts.ReadFile("stderr"))
	if neg || len(args) != 1 || m == nil {
		ts.Fatalf("usage: callof VARIABLE, after a run that waits")
	}
	ts.Setenv(args[0], m[1])
}

// A file is read, its change is asked about, and the word is given in another process, which knows what was read from the
// store. What was denied is not written, and what somebody changed meanwhile stays (B145, after resume).
func TestFilesAndApprovals(t *testing.T) {
	write := scripted.Call{Name: "write_file", Args: `{"path":"notes.txt","content":"one\ntwo\n"}`}
	for name, c := range map[string]struct {
		word    []string
		between string // what somebody writes before the word
		want    string
		told    string
	}{
		"approved":          {[]string{"--approve"}, "", "one\ntwo\n", `"change":"+1 -0"`},
		"denied":            {[]string{"--deny"}, "", "one\n", "denied"},
		"changed meanwhile": {[]string{"--approve"}, "somebody else's\n", "somebody else's\n", "conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "notes.txt")
			if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := inProcess(t, scriptOf(scripted.Calls(scripted.Call{Name: "read_file", Args: `{"path":"notes.txt"}`}), scripted.Calls(write)), dir, "run", "--session", "s", "go")
			if r.code != 3 || !strings.Contains(r.stderr, "write_file") {
				t.Fatalf("%+v", r)
			}
			if c.between != "" {
				if err := os.WriteFile(file, []byte(c.between), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r = inProcess(t, scriptOf(scripted.Text("done")), dir, append([]string{"run", "--session", "s"}, append(c.word, waitingCall(t, r.stderr))...)...)
			if r.code != 0 || r.stdout != "done\n" {
				t.Fatalf("%+v", r)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
				t.Errorf("the file holds %q, %v", got, err)
			}
			list := messages(t, dir, "s")
			checkTurns(t, list)
			told := list[len(list)-2]
			if raw, err := json.Marshal(told); err != nil || !strings.Contains(strings.ReplaceAll(string(raw), `\"`, `"`), c.told) {
				t.Errorf("the model is told %s", raw)
			}
		})
	}
}

// The tools leave the program's own data alone, in its default place and in others.
func TestFilesLeaveOurDataAlone(t *testing.T) {
	for name, env := range map[string][]string{
		"default":   nil,
		"elsewhere": {"AGENT_DB_PATH=own/s.db", "AGENT_TRACE_PATH=logs/t.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			paths := []string{"data/sessions.db", "data/traces.jsonl", "data/traces.1.jsonl", "data/vitrine.log"}
			if env != nil {
				paths = []string{"own/s.db", "own/s.db-wal", "own/vitrine.log", "own/holders", "logs/t.jsonl", "logs/t.1.jsonl"}
			}
			var calls []scripted.Call
			for _, p := range paths {
				calls = append(calls, scripted.Call{Name: "read_file", Args: fmt.Sprintf(`{"path":%q}`, p)})
			}
			r := inProcessWith(t, scriptOf(scripted.Calls(calls...), scripted.Text("done")), dir, env, "run", "--session", "s", "go")
			if r.code != 0 {
				t.Fatalf("%+v", r)
			}
			raw := fmt.Sprint(messages(t, dir, "s", env...))
			if n := strings.Count(raw, "is the program's own data"); n != len(paths) {
				t.Errorf("%d of %d are refused:\n%s", n, len(paths), raw)
			}
		})
	}
}

// B073: calls of one reply that change something run in their order, each time.
func TestFileOrderB073(t *testing.T) {
	dir := t.TempDir()
	calls := scripted.Calls(
		scripted.Call{Name: "write_file", Args: `{"path":"w/b.txt","content":"1"}`}, scripted.Call{Name: "list_dir", Args: `{"path":"w"}`},
		scripted.Call{Name: "write_file", Args: `{"path":"w/c.txt","content":"2"}`}, scripted.Call{Name: "list_dir", Args: `{"path":"w"}`})
	var steps []scripted.Step
	const times = 30
	for range times {
		steps = append(steps, calls, scripted.Text("done"))
	}
	model := scripted.New(clock.Real(), steps...)
	w := wiring{client: func(llm.Client) llm.Client { return model }}
	for i := range times {
		if err := os.RemoveAll(filepath.Join(dir, "w")); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("s", i)
		if r := inProcessWith(t, w, dir, []string{"AGENT_TOOL_POLICY=write_file=auto"}, "run", "--session", id, "go"); r.code != 0 {
			t.Fatalf("%+v", r)
		}
		reqs := model.Requests()
		var names []string
		for _, m := range reqs[len(reqs)-1].Messages {
			if strings.Contains(m.Content, `"names"`) {
				_, after, _ := strings.Cut(m.Content, `"names":`)
				names = append(names, strings.TrimRight(after, "}"))
			}
		}
		if got := strings.Join(names, " "); got != `["b.txt"] ["b.txt","c.txt"]` {
			t.Fatalf("time %d: %s", i, got)
		}
	}
}
