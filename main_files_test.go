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
	"vitrine/ui/cli"
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

// B073: calls of one reply that change something run in their order, each of a hundred times.
func TestFileOrderB073(t *testing.T) {
	times := 100
	if testing.Short() {
		times = 10
	}
	var steps []scripted.Step
	for i := range times {
		call := func(tool, args string) scripted.Call {
			return scripted.Call{Name: tool, Args: strings.ReplaceAll(args, "w", fmt.Sprint("w", i))}
		}
		steps = append(steps, scripted.Calls(call("write_file", `{"path":"w/b.txt","content":"1"}`), call("list_dir", `{"path":"w"}`),
			call("write_file", `{"path":"w/c.txt","content":"2"}`), call("list_dir", `{"path":"w"}`)))
	}
	model := scripted.New(clock.Real(), append(steps, scripted.Text("done"))...)
	env := []string{"AGENT_TOOL_POLICY=write_file=auto", "AGENT_MAX_TOOL_ITERS=200", "AGENT_MAX_TOOL_CALLS=1000", "AGENT_MAX_RUN_TOKENS=100000000", "AGENT_MAX_CTX_TOKENS=10000000"}
	r := inProcessWith(t, wiring{client: func(llm.Client) llm.Client { return model }}, t.TempDir(), env, "run", "go")
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	reqs := model.Requests()
	var names []string
	for _, m := range reqs[len(reqs)-1].Messages {
		if _, after, ok := strings.Cut(m.Content, `"names":`); ok {
			names = append(names, strings.TrimRight(after, "}"))
		}
	}
	if len(names) != 2*times {
		t.Fatalf("%d listings", len(names))
	}
	for i := range times {
		if got := names[2*i] + " " + names[2*i+1]; got != `["b.txt"] ["b.txt","c.txt"]` {
			t.Errorf("time %d: %s", i, got)
		}
	}
}

// B061: the tool that writes files, each time with another path outside of the folder: after five refusals in a row the model is told,
// after two more the run ends with the reason, and nothing was written. It is not asked about what cannot be.
func TestB061PathsOutside(t *testing.T) {
	dir := t.TempDir()
	n := 0
	model := scripted.New(clock.Real(), scripted.Func(func(llm.Request) scripted.Step {
		n++
		return scripted.Calls(scripted.Call{Name: "write_file", Args: fmt.Sprintf(`{"path":"../outside-%d.txt","content":"x"}`, n)})
	}).Times(26))
	env := []string{"AGENT_TOOL_POLICY=write_file=auto", "AGENT_MAX_TOOL_ITERS=30", "AGENT_MAX_TOOL_CALLS=30"}
	r := inProcessWith(t, wiring{client: func(llm.Client) llm.Client { return model }}, dir, env, "run", "go")
	if r.code != cli.ExitBudget || !strings.Contains(r.stderr, "no progress") || n != 7 {
		t.Errorf("%d calls: %+v", n, r)
	}
	told := -1
	results := 0
	reqs := model.Requests()
	for _, m := range reqs[len(reqs)-1].Messages {
		if m.Role != llm.RoleTool {
			continue
		}
		if results++; strings.Contains(m.Content, "You repeat yourself") && told < 0 {
			told = results
		}
	}
	if told != 5 {
		t.Errorf("the model is told in result %d of %d", told, results)
	}
	if out, err := filepath.Glob(filepath.Join(dir, "..", "outside-*")); err != nil || len(out) > 0 {
		t.Errorf("written: %q, %v", out, err)
	}
}
