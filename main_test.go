package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/ui/paint"
)

// TestMain puts the program into the PATH of all tests: a copy of this test binary that runs main when it is called vitrine.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "vitrine" {
		// Whoever runs the tests may ignore the hangup (nohup does), and children inherit that; ours have to get it.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Main(m, map[string]func(){"vitrine": main})
}

// raceOptions keep a program that was built with the race detector from sleeping for a second at its end.
const raceOptions = "atexit_sleep_ms=0"

// TestScript plays the scripts of testdata/script. Each has a folder of its own and an environment without any variable of
// the program.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TERM", "xterm")
			env.Setenv("GORACE", raceOptions)
			env.Values[playing{}] = new(playing)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     cmdExits,
			"oneline":   cmdOneLine,
			"straight":  cmdStraight,
			"jsonlines": cmdJSONLines,
			"events":    cmdEvents,
			"runof":     cmdRunOf,
			"callof":    cmdCallOf,
			"server":    cmdServer,
			"played":    cmdPlayed,
			"without":   cmdWithout,
			"count":     cmdCount,
		},
	})
}

// exits CODE COMMAND... wants the exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ee *exec.ExitError
	switch {
	case errors.As(err, &ee):
		got = ee.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if (got == want) == neg {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// oneline FILE wants one line, and no trace of a panic.
func cmdOneLine(ts *testscript.TestScript, _ bool, args []string) {
	s := ts.ReadFile(args[0])
	if strings.Count(s, "\n") != 1 || strings.Contains(s, "goroutine") {
		ts.Fatalf("%s is not one line: %q", args[0], s)
	}
}

// straight FILE HEAD CELL wants CELL to start in the same column as HEAD in every line after the first.
func cmdStraight(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
	column := func(line, word string) int {
		i := strings.LastIndex(line, word)
		if i < 0 {
			ts.Fatalf("%q has no %q", line, word)
		}
		return paint.Metrics{}.Width(line[:i])
	}
	want := column(lines[0], args[1])
	for _, line := range lines[1:] {
		if got := column(line, args[2]); got != want {
			ts.Fatalf("%q starts %s in column %d, not %d", line, args[2], got, want)
		}
	}
}

func decodeLines(ts *testscript.TestScript, file string) []map[string]json.RawMessage {
	var all []map[string]json.RawMessage
	for line := range strings.Lines(ts.ReadFile(file)) {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			ts.Fatalf("%s: %v in %q", file, err, line)
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		ts.Fatalf("%s is empty", file)
	}
	return all
}

// jsonlines FILE KEY... wants one JSON object a line, each with all keys.
func cmdJSONLines(ts *testscript.TestScript, _ bool, args []string) {
	for _, m := range decodeLines(ts, args[0]) {
		for _, k := range args[1:] {
			if _, ok := m[k]; !ok {
				ts.Fatalf("%v lacks %s", m, k)
			}
		}
	}
}

func field(m map[string]json.RawMessage, key string) string {
	var s string
	_ = json.Unmarshal(m[key], &s) // another type gives ""
	return s
}

// events FILE NAME... wants these events in this order, others between them allowed, all with one run_id and rising seq, the
// first name first and the last one last.
func cmdEvents(ts *testscript.TestScript, _ bool, args []string) {
	lines := decodeLines(ts, args[0])
	want := args[1:]
	run, last := field(lines[0], "run_id"), int64(0)
	var names []string
	for _, m := range lines {
		names = append(names, field(m, "event"))
		if got := field(m, "run_id"); got != run || run == "" {
			ts.Fatalf("run_id %q beside %q", got, run)
		}
		var seq *int64
		ts.Check(json.Unmarshal(m["seq"], &seq))
		if seq != nil {
			if *seq <= last {
				ts.Fatalf("seq %d after %d", *seq, last)
			}
			last = *seq
		}
	}
	if names[0] != want[0] || names[len(names)-1] != want[len(want)-1] {
		ts.Fatalf("events go from %s to %s", names[0], names[len(names)-1])
	}
	i := 0
	for _, n := range names {
		if i < len(want) && n == want[i] {
			i++
		}
	}
	if i < len(want) {
		ts.Fatalf("%v has not %v in order", names, want)
	}
}

// runof FILE VAR puts the run_id of the first line into a variable.
func cmdRunOf(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[1], field(decodeLines(ts, args[0])[0], "run_id"))
}

// without TEXT FILE... wants the text in none of the files; folders are searched through.
func cmdWithout(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args[1:] {
		if name == "stdout" || name == "stderr" {
			if strings.Contains(ts.ReadFile(name), args[0]) {
				ts.Fatalf("%s holds %q", name, args[0])
			}
			continue
		}
		files, err := filesIn(ts.MkAbs(name))
		ts.Check(err)
		for path, data := range files {
			if strings.Contains(data, args[0]) {
				ts.Fatalf("%s holds %q", path, args[0])
			}
		}
	}
}

// count N TEXT FILE wants the text so often in the file.
func cmdCount(ts *testscript.TestScript, _ bool, args []string) {
	if got := strings.Count(ts.ReadFile(args[2]), args[1]); strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s has %q %d times, want %s", args[2], args[1], got, args[0])
	}
}

// playing is the script that the last server plays.
type playing struct{ script *llmtest.Script }

// played wants all of the server's script to have been asked for, and all that it requires to have been met.
func cmdPlayed(ts *testscript.TestScript, _ bool, _ []string) {
	s := ts.Value(playing{}).(*playing).script
	if left, problems := s.Left(), s.Problems(); left > 0 || len(problems) > 0 {
		ts.Fatalf("%d replies were not asked for; not met: %q", left, problems)
	}
}

// server KIND starts a server that speaks the chat completions protocol and names it in OPENAI_BASE_URL.
func cmdServer(ts *testscript.TestScript, _ bool, args []string) {
	s := llmtest.NewServer().Strict()
	ts.Defer(s.Close)
	switch args[0] {
	case "calculates":
		s.Handle(calculates)
	case "says":
		s.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Answer(args[1]) })
	case "shapes":
		s.Handle(shapes)
	case "script":
		script, err := llmtest.LoadScript(ts.MkAbs(args[1]))
		ts.Check(err)
		ts.Value(playing{}).(*playing).script = script
		script.Serve(s)
	case "writes":
		s.Handle(inWords(args[1]))
	case "refuses":
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		s.Handle(func(r llmtest.Request) llmtest.Reply {
			// Some servers repeat the key.
			return llmtest.Refuse(status, fmt.Sprintf(`{"error":{"message":"bad key %s"}}`, r.Header.Get("Authorization")))
		})
		s.SetModels(llmtest.Refuse(status, ""))
	default:
		ts.Fatalf("no server %q", args[0])
	}
	ts.Setenv("OPENAI_BASE_URL", s.URL())
	ts.Setenv("SERVER_ROOT", strings.TrimSuffix(s.URL(), "/v1"))
}

// calculates is a model that gives an expression in the last question to the calculator, and answers with its result.
func calculates(r llmtest.Request) llmtest.Reply {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == "tool" {
		return llmtest.Answer("The tool says " + last.Text())
	}
	q := strings.TrimPrefix(strings.TrimSuffix(last.Text(), "?"), "what is ")
	args, err := json.Marshal(map[string]string{"expression": q})
	if err != nil {
		return llmtest.Answer(err.Error())
	}
	return llmtest.Ask(llm.ToolCall{ID: fmt.Sprintf("call_%d", len(r.Messages)), Name: "calculator", Arguments: string(args)})
}

// filesIn reads all files under a folder, or the one file.
func filesIn(root string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	return files, err
}

// call is one call of the program outside of a script.
type call struct {
	dir    string
	env    []string
	args   []string
	stdout io.Writer     // nil: kept
	stdin  *os.File      // nil: the null device
	limit  time.Duration // 0: hangLimit
}

// result is what became of a call.
type result struct {
	stdout, stderr string
	code           int // -1: killed by a signal
	state          *os.ProcessState
}

func vitrine(dir string, args ...string) call { return call{dir: dir, args: args} }

func (c call) with(env ...string) call {
	c.env = append(slices.Clone(c.env), env...)
	return c
}

// command is the program with an environment of its own: nothing of the developer's reaches it.
func (c call) command(t testing.TB) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("vitrine")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "TMPDIR=" + t.TempDir(), "TERM=xterm", "GORACE=" + raceOptions,
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR")},
		c.env...)
	if c.stdin != nil {
		cmd.Stdin = c.stdin
	}
	return cmd
}

// run waits for the end of the call.
func (c call) run(t testing.TB) result {
	t.Helper()
	cmd := c.command(t)
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	if c.stdout != nil {
		cmd.Stdout = c.stdout
	}
	if e := cmd.Start(); e != nil {
		t.Fatal(e)
	}
	return waitWithin(t, cmp.Or(c.limit, hangLimit), cmd, &out, &err)
}

// waitFor waits for the end of a started command; one that hangs is killed and fails the test.
func waitFor(t testing.TB, cmd *exec.Cmd, out, err *strings.Builder) result {
	t.Helper()
	return waitWithin(t, hangLimit, cmd, out, err)
}

func waitWithin(t testing.TB, limit time.Duration, cmd *exec.Cmd, out, err *strings.Builder) result {
	t.Helper()
	watch := time.AfterFunc(limit, func() {
		t.Errorf("%v hangs", cmd.Args)
		_ = cmd.Process.Kill()
	})
	defer watch.Stop()
	_ = cmd.Wait() // the code says it
	return result{stdout: out.String(), stderr: err.String(), code: cmd.ProcessState.ExitCode(), state: cmd.ProcessState}
}

// hangLimit is far above what any call takes.
const hangLimit = 60 * time.Second

// ok wants a call that succeeded, and gives its standard output.
func (c call) ok(t testing.TB) string {
	t.Helper()
	r := c.run(t)
	if r.code != 0 {
		t.Fatalf("vitrine %v: exit code %d\n%s%s", c.args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}
