//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/creack/pty"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/ui/cli"
)

// says is a server that answers every question with text.
func says(t *testing.T, text string) (env string, s *llmtest.Server) {
	t.Helper()
	s = strictServer(t, func(llmtest.Request) llmtest.Reply { return llmtest.Answer(text) })
	return "OPENAI_BASE_URL=" + s.URL(), s
}

// controls finds characters that a terminal could take for an order.
func controls(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	})
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%q", s[max(0, i-20):min(len(s), i+20)])
}

// B029: whatever the output is redirected to, it holds the answer and a line end: no ESC, no spinner; what else there is to
// say goes to standard error, without ESC either.
func TestRedirectedOutput(t *testing.T) {
	env, _ := says(t, "hello")
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := vitrine(dir, "run", "hi").with(env)
	c.stdout = f
	r := c.run(t)
	data, err := os.ReadFile(f.Name())
	if err != nil || r.code != 0 || string(data) != "hello\n" || controls(r.stderr) != "" {
		t.Errorf("file %q, %+v, %v", data, r, err)
	}
	// B032: nothing in the environment brings colour into a pipe.
	for _, extra := range []string{"NO_COLOR=1", "TERM=dumb", "TERM=", "CLICOLOR_FORCE=1", "FORCE_COLOR=1"} {
		r := vitrine(dir, "run", "hi").with(env, extra).run(t)
		if r.code != 0 || r.stdout != "hello\n" || controls(r.stderr) != "" {
			t.Errorf("%s: %+v", extra, r)
		}
		if list := vitrine(dir, "sessions").with(extra).ok(t); controls(list) != "" {
			t.Errorf("%s: %s", extra, controls(list))
		}
	}
}

// B031: with the prompt as an argument nothing waits for standard input, whatever it is, and no time is burnt.
func TestStandardInputIsNotWaitedFor(t *testing.T) {
	env, server := says(t, "hello")
	open := map[string]func(t *testing.T) *os.File{
		"an idle pipe": func(t *testing.T) *os.File {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = r.Close(), w.Close() }) // nobody writes until the program is gone
			return r
		},
		"the null device": func(t *testing.T) *os.File {
			f, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() })
			return f
		},
		"a terminal": func(t *testing.T) *os.File {
			p, tty, err := pty.Open()
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { _, _ = p.Close(), tty.Close() })
			return tty
		},
	}
	for name, f := range open {
		t.Run(name, func(t *testing.T) {
			before := len(server.Requests())
			c := vitrine(t.TempDir(), "run", "hi").with(env)
			c.stdin = f(t)
			r := c.run(t)
			if r.code != 0 || r.stdout != "hello\n" || len(server.Requests()) != before+1 {
				t.Errorf("%+v", r)
			}
			if cpu := r.state.UserTime() + r.state.SystemTime(); cpu > time.Second {
				t.Errorf("%s of CPU time", cpu)
			}
			if strings.Contains(r.stderr, "?") {
				t.Errorf("it asks: %q", r.stderr)
			}
		})
	}
	t.Run("closed", func(t *testing.T) {
		if _, err := exec.LookPath("sh"); err != nil {
			t.Skip(err)
		}
		c := vitrine(t.TempDir()).with(env).command(t)
		c.Args = []string{"sh", "-c", `exec "$0" run hi <&-`, c.Path}
		c.Path, _ = exec.LookPath("sh")
		out, err := c.Output()
		if err != nil || string(out) != "hello\n" {
			t.Errorf("%q %v", out, err)
		}
	})
	t.Run("nothing said", func(t *testing.T) {
		c := vitrine(t.TempDir(), "run").with(env)
		c.stdin = open["a terminal"](t)
		if r := c.run(t); r.code != 2 || !strings.Contains(r.stderr, "there is no prompt") {
			t.Errorf("%+v", r)
		}
	})
}

// B032: a terminal that cannot place the cursor is refused with words, and gets no control sequence at all.
func TestDumbTerminal(t *testing.T) {
	for _, term := range []string{"TERM=dumb", "TERM="} {
		cmd := vitrine(t.TempDir()).with(term).command(t)
		p, err := pty.Start(cmd)
		if err != nil {
			t.Skip(err)
		}
		out, _ := io.ReadAll(p) // the end of a terminal is an error on some systems
		_ = cmd.Wait()
		_ = p.Close()
		text := strings.ReplaceAll(string(out), "\r\n", "\n")
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(text, "vitrine run") || controls(text) != "" {
			t.Errorf("%s: code %d, %q", term, code, text)
		}
	}
}

// A reader that closed its end gets no complaint, and the run is stored whole; a full device is told of.
func TestOutputEnds(t *testing.T) {
	env, _ := says(t, "hello")
	dir := t.TempDir()
	for _, args := range [][]string{{"run", "--session", "s", "hi"}, {"run", "--json", "--session", "s", "hi"}, {"sessions"}, {"trace", "s"}, {"doctor"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		c := vitrine(dir, args...).with(env)
		c.stdout = w
		if got := c.run(t); got.code != 0 || strings.Contains(got.stderr, "pipe") || strings.Contains(got.stderr, "write") {
			t.Errorf("%v: %+v", args, got)
		}
		_ = w.Close()
	}
	if closings := checkTurns(t, messages(t, dir, "s")); !slices.Equal(closings, []string{"hello", "hello"}) {
		t.Errorf("closings %q", closings)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	c := vitrine(dir, "run", "--session", "s", "hi").with(env)
	c.stdout = full
	got := c.run(t)
	if got.code != 1 || !strings.Contains(got.stderr, "no space left on device; the answer is stored: vitrine sessions show s") {
		t.Errorf("%+v", got)
	}
}

// B016: nothing that came from a model, a server, a user or a tool brings a control sequence to standard output or error.
func TestNoForeignControlSequences(t *testing.T) {
	const evil = "a\x1b[31mb\x1b]52;c;eA==\x07c\u009b31md\u009d52;c;eA==\u009ce\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\f\u202eg\rh\x7f"
	reply := func(r llmtest.Request) llmtest.Reply {
		switch last := r.Messages[len(r.Messages)-1]; {
		case strings.Contains(last.Text(), "break"):
			return llmtest.Refuse(400, evil)
		case last.Role == "user":
			args, _ := json.Marshal(map[string]string{"action": "add", "text": evil})
			bad, _ := json.Marshal(map[string]string{evil: evil})
			return llmtest.Ask(llm.ToolCall{ID: "1", Name: "todo", Arguments: string(args)}, llm.ToolCall{ID: "2", Name: "todo", Arguments: string(bad)})
		}
		return llmtest.Answer(evil)
	}
	s := llmtest.NewServer()
	defer s.Close()
	s.Handle(reply)
	dir := t.TempDir()
	env := []string{"OPENAI_BASE_URL=" + s.URL()}
	for _, args := range [][]string{
		{"run", "--session", "s", evil + " hi"}, {"run", "--session", "s", "--json", evil}, {"run", "--session", "s", "break"},
		{"run", "--session", "s", "--json", "break"},
		{"sessions"}, {"sessions", "--json"}, {"sessions", "show", "s"}, {"sessions", "show", "s", "--json"}, {"trace", "s"}, {"trace", "s", "--json"},
		{"sessions", "show", evil}, {"trace", evil}, {"run", "--session", evil, "hi"}, {evil}, {"--" + evil}, {"run", "--model", evil, "hi"}, {"doctor"},
	} {
		r := vitrine(dir, args...).with(env...).run(t)
		if c := controls(r.stdout); c != "" {
			t.Errorf("%.20q: standard output: %s", args, c)
		}
		if c := controls(r.stderr); c != "" {
			t.Errorf("%.20q: standard error: %s", args, c)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "data", "traces.jsonl"))
	if err != nil || controls(string(data)) != "" {
		t.Errorf("trace file: %s %v", controls(string(data)), err)
	}
	r := vitrine(dir, "run", "--session", "s", "hi").with(env...).run(t)
	if want := "abcdesafe.examplefg\nh\n"; r.stdout != want {
		t.Errorf("answer %q, want %q", r.stdout, want)
	}
}

// A command that only looks, or takes something away, makes no store where there is none.
func TestLookingMakesNoStore(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"sessions"}, {"sessions", "show", "s"}, {"sessions", "delete", "s", "--yes"}, {"sessions", "prune", "--keep", "1", "--yes"}, {"sessions", "search", "x"},
		{"sessions", "export", "s"}, {"demo", "from", "s"}, {"trace"}, {"doctor"},
	} {
		r := vitrine(dir, args...).run(t)
		if _, err := os.Stat(filepath.Join(dir, "data")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%q made a store (%v): %+v", args, err, r)
		}
	}
}

// B119: a database of a newer program is refused at once, with both versions and the path, and not a byte of it changes; also
// when a program that knows it has it open.
func TestNewerDatabase(t *testing.T) {
	dir := t.TempDir()
	vitrine(dir, "run", "--session", "s", "1+1").ok(t)
	path := filepath.Join(dir, "data", "sessions.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"PRAGMA wal_checkpoint(TRUNCATE)", "ALTER TABLE sessions ADD COLUMN of_the_future TEXT", "CREATE TABLE future (x)", "PRAGMA user_version = 4711"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	refused := func() {
		t.Helper()
		before := checksum(t, path)
		for _, args := range [][]string{{"run", "--session", "s", "hi"}, {"sessions"}, {"trace", "s"}, {"doctor"}} {
			began := time.Now()
			r := vitrine(dir, args...).run(t)
			if r.code != 2 || !strings.Contains(r.stderr, "4711") || !strings.Contains(r.stderr, "knows versions up to ") || !strings.Contains(r.stderr, path) || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("%v: %+v", args, r)
			}
			if cpu := r.state.UserTime() + r.state.SystemTime(); cpu > time.Second {
				t.Errorf("%v: it took %s of CPU time, %s in all", args, cpu, time.Since(began))
			}
		}
		if checksum(t, path) != before {
			t.Error("the file was changed")
		}
	}
	refused() // while it is open here, as in a newer program
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refused()
}

func checksum(t *testing.T, path string) [32]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(data)
}

// B050, B052, B053, from end to end: what cannot be meant is not run, the model is told what was wrong, and the turn ends.
func TestBadCallsFromAServer(t *testing.T) {
	for _, c := range []struct {
		name string
		call llm.ToolCall
		ok   bool
		want []string
	}{
		{"cut", llm.ToolCall{Name: "calculator", Arguments: `{"expression": "1+1", `}, false, []string{"invalid JSON", "expression"}},    // B050
		{"no JSON", llm.ToolCall{Name: "search_mock", Arguments: `not json`}, false, []string{"invalid JSON", "query"}},                  // B050
		{"list", llm.ToolCall{Name: "calculator", Arguments: `[1,2]`}, false, []string{"object", "array"}},                               // B052
		{"null", llm.ToolCall{Name: "calculator", Arguments: `null`}, false, []string{"object", "null"}},                                 // B052
		{"true", llm.ToolCall{Name: "calculator", Arguments: `true`}, false, []string{"object", "boolean"}},                              // B052
		{"text", llm.ToolCall{Name: "calculator", Arguments: `"\"x\""`}, false, []string{"object", "string"}},                            // B052
		{"twice", llm.ToolCall{Name: "calculator", Arguments: `"{\"expression\":\"1+1\"}"`}, true, []string{`"2"`}},                      // B052
		{"unknown", llm.ToolCall{Name: "execute_python", Arguments: `{}`}, false, []string{"unknown_tool", "calculator", "search_mock"}}, // B053
		{"long name", llm.ToolCall{Name: strings.Repeat("x", 5000), Arguments: `{}`}, false, []string{"unknown_tool", "calculator"}},     // B053
		{"strange name", llm.ToolCall{Name: "a\x1b[31m", Arguments: `{}`}, false, []string{"unknown_tool", "calculator"}},                // B053
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var told string
			s := strictServer(t, func(r llmtest.Request) llmtest.Reply {
				if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
					told = last.Text()
					return llmtest.Answer("done")
				}
				c.call.ID = "1"
				return llmtest.Ask(c.call)
			})
			dir := t.TempDir()
			out := vitrine(dir, "run", "--session", "s", "go").with("OPENAI_BASE_URL=" + s.URL()).ok(t)
			if out != "done\n" {
				t.Errorf("%q", out)
			}
			var result struct{ OK bool }
			if err := json.Unmarshal([]byte(told), &result); err != nil || result.OK != c.ok {
				t.Errorf("%s %v", told, err)
			}
			for _, want := range c.want {
				if !strings.Contains(told, want) {
					t.Errorf("%s lacks %q", told, want)
				}
			}
			if len(told) > 2500 || controls(told) != "" {
				t.Errorf("%d bytes, %s", len(told), controls(told))
			}
		})
	}
}

// B053: three calls in a row of tools that do not exist end the turn with a word.
func TestUnknownToolsEndTheRun(t *testing.T) {
	n := 0
	s := strictServer(t, func(llmtest.Request) llmtest.Reply {
		n++
		return llmtest.Ask(llm.ToolCall{ID: fmt.Sprint(n), Name: fmt.Sprint("nothing_", n), Arguments: "{}"})
	})
	r := vitrine(t.TempDir(), "run", "go").with("OPENAI_BASE_URL=" + s.URL()).run(t)
	if r.code != 1 || n != 3 || r.stdout != "" || !strings.Contains(r.stderr, "tools that do not exist: 3 unknown tools in a row") {
		t.Errorf("after %d requests: %+v", n, r)
	}
}

// inProcess runs the program in this process, with other parts than the real ones.
func inProcess(t *testing.T, w wiring, dir string, args ...string) result {
	t.Helper()
	return inProcessWith(t, w, dir, nil, args...)
}

func inProcessWith(t *testing.T, w wiring, dir string, env []string, args ...string) result {
	t.Helper()
	t.Chdir(dir)
	var out, errs bytes.Buffer
	code := w.program().Execute(context.Background(), cli.Process{
		Args: args, Environ: env, ConfigDirErr: errors.New("none"), Login: cli.FromOS().Login, Folder: dir,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Version: "test",
	})
	return result{stdout: out.String(), stderr: errs.String(), code: code}
}

// crash is a model client that panics in the middle of its stream.
type crash struct{ llm.Client }

func (c crash) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if yield(llm.Chunk{Text: "It beg"}, nil) {
			panic("the stream broke")
		}
	}
}

// B037: a panic in a tool fails that call, one in the stream that run; the program goes on, its log has the stack, and the
// session holds all messages up to there.
func TestPanics(t *testing.T) {
	type none struct{}
	boom := tools.New("boom", "panics", tools.ReadOnly, func(context.Context, tools.Call, none) (tools.Output, error) { panic("the tool broke") })
	script := func(steps ...scripted.Step) wiring {
		return wiring{tools: []tools.Tool{boom}, client: func(llm.Client) llm.Client { return scripted.New(clock.Real(), steps...) }}
	}
	dir := t.TempDir()
	r := inProcess(t, script(scripted.Calls(scripted.Call{Name: "boom", Args: "{}"}), scripted.Text("it broke")), dir, "run", "--session", "s", "go")
	if r.code != 0 || r.stdout != "it broke\n" {
		t.Errorf("tool: %+v", r)
	}
	log, err := os.ReadFile(filepath.Join(dir, "data", "vitrine.log"))
	if err != nil || !strings.Contains(string(log), "the tool broke") || !strings.Contains(string(log), "main_cli_test.go") {
		t.Errorf("log: %s %v", log, err)
	}
	broken := wiring{client: func(c llm.Client) llm.Client { return crash{c} }}
	r = inProcess(t, broken, dir, "run", "--session", "s", "again")
	if r.code != 1 || r.stdout != "" || strings.Contains(r.stderr, "goroutine") || !strings.Contains(r.stderr, "failed inside") {
		t.Errorf("stream: %+v", r)
	}
	closings := checkTurns(t, messages(t, dir, "s"))
	if len(closings) != 2 || closings[0] != "it broke" {
		t.Errorf("closings %q", closings)
	}
}

// What a project says to agents stands in the system prompt of every request; a long text is cut at the end of a line, and
// what is no file, or lies outside, is not read.
func TestProjectNotes(t *testing.T) {
	var (
		mu   sync.Mutex
		last string
	)
	server := strictServer(t, func(r llmtest.Request) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		last = r.Messages[0].Text()
		return llmtest.Answer("done")
	})
	sent := func() string {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
	env := "OPENAI_BASE_URL=" + server.URL()
	ask := func(notes string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte(notes), 0o600); err != nil {
			t.Fatal(err)
		}
		vitrine(dir, "run", "hi").with(env).ok(t)
	}
	ask("")
	plain := sent()
	ask("Use tabs.\nNever \xff push.\n")
	if want := plain + "\n\nWhat this project says to agents (AGENTS.md):\nUse tabs.\nNever  push.\n"; sent() != want {
		t.Errorf("%q", sent())
	}
	line := "Use tabs. 用制表符。\n"
	ask(strings.Repeat(line, 1000))
	kept := 8192 / len(line)
	want := fmt.Sprintf("%s\n\nWhat this project says to agents (AGENTS.md, the first %d of %d bytes):\n%s",
		plain, kept*len(line)-1, 1000*len(line), strings.TrimSuffix(strings.Repeat(line, kept), "\n"))
	if sent() != want {
		t.Errorf("%.200q", sent()[len(plain):])
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]string{secret: plain, "CLAUDE.md": plain + "\n\nWhat this project says to agents (AGENTS.md):\nUse tabs."} {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "CLAUDE.md"), []byte("Use tabs."), 0o600), os.Symlink(link, filepath.Join(dir, "AGENTS.md"))); err != nil {
			t.Skip(err)
		}
		vitrine(dir, "run", "hi").with(env).ok(t)
		if sent() != want {
			t.Errorf("AGENTS.md is a link to %s: %q", link, strings.TrimPrefix(sent(), plain))
		}
	}
	dir := t.TempDir()
	if out, err := exec.Command("mkfifo", filepath.Join(dir, "AGENTS.md")).CombinedOutput(); err != nil {
		t.Skipf("no pipe: %s", out)
	}
	vitrine(dir, "run", "hi").with(env).ok(t)
	if sent() != plain {
		t.Errorf("%q", sent())
	}
}

// B122: without a home folder, or with one that does not exist, the program works in the folder where it stands; a path that
// needs a home folder is refused with one line that names both variables.
func TestNoHome(t *testing.T) {
	const none = "/dev/null/home" // even root cannot make it
	for _, env := range [][]string{{"HOME="}, {"HOME=" + none}, {"HOME=" + none, "XDG_CONFIG_HOME=" + none + "/c", "XDG_DATA_HOME=" + none + "/d"}} {
		dir := t.TempDir()
		if out := vitrine(dir, "run", "1+1").with(env...).ok(t); !strings.Contains(out, "2") {
			t.Errorf("%v: %q", env, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "data", "sessions.db")); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
	r := vitrine(t.TempDir(), "run", "hi").with("HOME=", "AGENT_DB_PATH=~/s.db").run(t)
	if r.code != 2 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "AGENT_DB_PATH=~/s.db") || !strings.Contains(r.stderr, "HOME is not set") {
		t.Errorf("%+v", r)
	}
	r = vitrine(t.TempDir(), "run", "hi").with("HOME="+none, "AGENT_DB_PATH=~/s.db").run(t)
	if r.code != 2 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, none) || !strings.Contains(r.stderr, "AGENT_DB_PATH") {
		t.Errorf("%+v", r)
	}
}

// Random expressions come out right, with the offline model and with an endpoint.
func TestRandomExpressions(t *testing.T) {
	dir := t.TempDir()
	server := strictServer(t, calculates)
	rnd := rand.New(rand.NewPCG(uint64(os.Getpid()), 0))
	t.Log("seed", os.Getpid())
	for range 6 {
		v := [3]int64{rnd.Int64N(1000), rnd.Int64N(1000), 1 + rnd.Int64N(99)}
		q := fmt.Sprintf("what is (%d+%d)*%d?", v[0], v[1], v[2])
		want := new(big.Int).Mul(big.NewInt(v[0]+v[1]), big.NewInt(v[2])).String()
		for _, env := range []string{"OPENAI_BASE_URL=", "OPENAI_BASE_URL=" + server.URL()} {
			if out := vitrine(dir, "run", q).with(env).ok(t); !strings.Contains(out, want) {
				t.Errorf("%s %s: %q, want %s", env, q, out, want)
			}
		}
	}
}

// A full disk: what cannot be opened is refused; a run in the middle says that it was not saved, ends, and what was stored
// before is there when space comes back.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "size=3m")
	script := func(steps ...scripted.Step) wiring {
		return wiring{park: 300 * time.Millisecond, client: func(llm.Client) llm.Client { return scripted.New(clock.Real(), steps...) }}
	}
	if r := inProcess(t, script(scripted.Text("first")), dir, "run", "--session", "s", "one"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	filler := filepath.Join(dir, "filler")
	eats := script(scripted.Text(strings.Repeat("second ", 50_000)))
	inner := eats.client
	eats.client = func(c llm.Client) llm.Client { return before{inner(c), func() { fill(t, filler) }} }
	r := inProcess(t, eats, dir, "run", "--session", "s", "two")
	if r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "disk full") || strings.Contains(r.stderr, "goroutine") {
		t.Errorf("full: %+v", r)
	}
	if err := os.MkdirAll(filepath.Join(dir, "new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := vitrine(dir, "run", "hi").with("AGENT_DB_PATH=new/sessions.db").run(t); r.code == 0 || strings.Contains(r.stderr, "goroutine") || !strings.Contains(r.stderr, "new/sessions.db") {
		t.Errorf("a new store on a full disk: %+v", r)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	r = inProcess(t, script(scripted.Text("third")), dir, "run", "--session", "s", "three")
	if r.code != 0 || r.stdout != "third\n" {
		t.Errorf("space again: %+v", r)
	}
	closings := checkTurns(t, messages(t, dir, "s"))
	if closings[0] != "first" || closings[len(closings)-1] != "third" {
		t.Errorf("closings %q", closings)
	}
}

// B122: a file system that is mounted read-only is refused with one line that names path and variable.
func TestReadOnlyMount(t *testing.T) {
	dir := smallDisk(t, "size=3m")
	vitrine(dir, "run", "--session", "s", "1+1").ok(t)
	if out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot be made read-only: %s", out)
	}
	home := t.TempDir()
	for _, path := range []string{"data/sessions.db", "new/sessions.db", "sessions.db"} {
		c := vitrine(home, "run", "hi").with("AGENT_DB_PATH="+filepath.Join(dir, path), "AGENT_TRACE_PATH="+filepath.Join(home, "t.jsonl"))
		r := c.run(t)
		if r.code != 2 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, dir) || !strings.Contains(r.stderr, "AGENT_DB_PATH") || !strings.Contains(r.stderr, "read-only") {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// smallDisk mounts a file system of its own.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	if goruntime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("a small file system of its own needs root on Linux")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no tmpfs: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return dir
}

// before is a model client that does something before it answers.
type before struct {
	llm.Client
	do func()
}

func (b before) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	b.do()
	return b.Client.Stream(ctx, req)
}

// fill writes until nothing more goes in.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; size /= 2 {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
}
