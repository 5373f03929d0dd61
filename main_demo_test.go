package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image/gif"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"vitrine/assets"
	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/ui/cli"
	"vitrine/ui/record"
)

// demoCommand runs `vitrine demo` in this process, with nothing of the machine's but a folder for its data.
func demoCommand(t testing.TB, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	proc := cli.Process{
		Args: append([]string{"demo"}, args...), Environ: []string{"OPENAI_API_KEY=never-used", "AGENT_DB_PATH=/nowhere/at/all.db"}, Stdin: strings.NewReader(""),
		Stdout: &stdout, Stderr: &stderr, Login: func() string { return "somebody" }, ConfigDir: filepath.Join(t.TempDir(), "none"), Version: "test",
	}
	code = wiring{}.program().Execute(context.Background(), proc)
	return code, stdout.String(), stderr.String()
}

func demoNames(t testing.TB) (names []string) {
	t.Helper()
	all, err := fs.Glob(assets.Demos(), "*.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		names = append(names, strings.TrimSuffix(name, ".toml"))
	}
	return names
}

// All built-in demos play, and every expect is met.
func TestDemos(t *testing.T) {
	names := demoNames(t)
	if got := strings.Join(names, " "); got != "acceptance compaction crash tabs tools unicode" {
		t.Errorf("the built-in demos are %s", got)
	}
	for _, name := range names {
		if testing.Short() && name != "acceptance" && name != "tabs" {
			continue
		}
		code, out, errs := demoCommand(t, name, "--check")
		if code != cli.ExitOK || !strings.HasPrefix(out, name+": ") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errs)
		}
	}
	code, out, _ := demoCommand(t, "--list")
	for _, name := range names {
		if code != 0 || !strings.Contains(out, name+" ") {
			t.Errorf("--list, exit code %d:\n%s", code, out)
		}
	}
}

// recorded is the hash of the cast of a demo.
func recorded(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.cast")
	if code, _, errs := demoCommand(t, name, "--record", path); code != 0 {
		t.Fatalf("%s: exit code %d\n%s", name, code, errs)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// The same demo gives the same bytes, however many processors there are, while others work too.
func TestDemosGiveTheSameBytes(t *testing.T) {
	times := 1
	if n, err := strconv.Atoi(os.Getenv("VITRINE_DEMO_TIMES")); err == nil { // a longer look, by hand
		times = n
	}
	procs := []int{1, 8}
	if times > 1 {
		procs = []int{1, 2, 8}
	}
	if testing.Short() {
		procs = []int{8}
	}
	before := goruntime.GOMAXPROCS(0)
	defer goruntime.GOMAXPROCS(before)
	stop := make(chan struct{})
	defer close(stop)
	go func() { // load
		for i := 0; !testing.Short(); i++ {
			select {
			case <-stop:
				return
			default:
				_ = sha256.Sum256([]byte(fmt.Sprint(i)))
			}
		}
	}()
	names := demoNames(t)
	if testing.Short() {
		names = []string{"unicode"}
	}
	for _, name := range names {
		want := recorded(t, name)
		for _, n := range procs {
			goruntime.GOMAXPROCS(n)
			for range times {
				if got := recorded(t, name); got != want {
					t.Errorf("%s with %d processors gives other bytes", name, n)
				}
			}
		}
	}
}

// A changed expect fails with the place, what was expected, and the screen; nothing is recorded.
func TestDemosThatFail(t *testing.T) {
	data, err := fs.ReadFile(assets.Demos(), "acceptance.toml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.toml")
	cast := filepath.Join(dir, "mine.cast")
	changed := strings.Replace(string(data), `answer = "66"`, `answer = "67"`, 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{file, "--check"}, {file, "--record", cast}} {
		code, _, errs := demoCommand(t, args...)
		if code != cli.ExitFailed || !strings.Contains(errs, `mine.toml:20:3: step 5: expected an answer with "67"; the screen shows:`) || !strings.Contains(errs, "(17+5)*3 = 66") {
			t.Errorf("%v: exit code %d\n%s", args, code, errs)
		}
	}
	if _, err := os.Stat(cast); err == nil {
		t.Error("a demo that failed left a recording")
	}
	const header = "{\"version\":2,\"width\":9,\"height\":2}\n[0,\"o\",\"x\"]\n"
	made, link, script := filepath.Join(dir, "made.cast"), filepath.Join(dir, "link.svg"), filepath.Join(dir, "script.txt")
	if err := errors.Join(os.WriteFile(made, []byte(header), 0o600), os.Symlink(made, link), os.WriteFile(script, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nope"}, "there is no demo and no file"},
		{[]string{"tools", "--check", "--record", cast}, "exclude each other"},
		{[]string{"tools", "--record", filepath.Join(dir, "a.mp3")}, "use .cast, .gif, .svg or .txt"},
		{[]string{"tools", "--record", cast, "--record", cast}, "one file of a kind"},
		{[]string{dir, "--check"}, "cannot read " + dir + ": is a directory"},
		{[]string{script, "--record", script}, "script.txt would be written over " + script},
		{[]string{"export", made, "--gif", made}, "made.cast would be written over " + made},
		{[]string{"export", made, "--svg", link}, "link.svg would be written over " + made},
		{[]string{"export", made, "--svg", cast, "--txt", dir + "/./mine.cast"}, "/./mine.cast would be written over " + cast},
		{[]string{"tools", "--speed", "0"}, "not from 0.1 to 100"},
		{[]string{"tools"}, "use --check or --record"},
		{[]string{"a", "b"}, "one demo at a time"},
	} {
		if code, _, errs := demoCommand(t, c.args...); code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, errs)
		}
	}
	if now, err := os.ReadFile(made); err != nil || string(now) != header {
		t.Errorf("the recording is %q, %v", now, err)
	}
	if err := os.WriteFile(file, []byte("title = \"x\"\n[[step]]\nentr = \"x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := demoCommand(t, file); code != cli.ExitUsage || !strings.Contains(errs, `mine.toml:3:1: unknown key "entr"`) {
		t.Errorf("exit code %d, %s", code, errs)
	}
	for text, want := range map[string]string{ // what only the program knows
		"[slow]\nspoon = \"2s\"\n":                              `mine.toml:2:1: there is no tool "spoon"`,
		"[config]\nAGENT_TOOL_POLICY = \"spoon=auto\"\n":        "mine.toml:2:1: AGENT_TOOL_POLICY=spoon=auto: there is no tool and no effect of that name\n",
		"model = \"live\"\n[config]\nOPENAI_BASE_URL = \"x\"\n": "mine.toml:3:1: a script names no endpoint and no key",
	} {
		if err := os.WriteFile(file, []byte(text+"[[step]]\nenter = \"x\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := demoCommand(t, file, "--check"); code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, %s, want %s", code, errs, want)
		}
	}
}

// A demo leaves nothing behind, and reads neither the user's data nor their key.
func TestDemoFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if code, _, errs := demoCommand(t, "crash", "--check"); code != 0 {
		t.Fatal(errs)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A stored session becomes a script that plays as the session did.
func TestDemoOfASession(t *testing.T) {
	dir := t.TempDir()
	command := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := wiring{}.program().Execute(context.Background(), cli.Process{
			Args: args, Environ: []string{"AGENT_DB_PATH=" + filepath.Join(dir, "s.db"), "AGENT_TRACE_PATH=" + filepath.Join(dir, "t.jsonl")}, Stdin: strings.NewReader(""),
			Stdout: &out, Stderr: &errs, Login: func() string { return "ann" }, ConfigDir: filepath.Join(dir, "none"), Version: "test",
		})
		return code, out.String() + errs.String()
	}
	for _, text := range []string{"what is (17+5)*3?", "remember that the deploy is on Friday", "when is the deploy? and add a todo: pack"} {
		if code, out := command("run", "--session", "s", text); code != 0 {
			t.Fatal(out)
		}
	}
	file := filepath.Join(dir, "story.toml")
	if code, out := command("demo", "from", "s", "--output", file); code != 0 || !strings.Contains(out, "wrote "+file) {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if code, out := command("demo", file, "--check"); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out := command("demo", "from", "s", "--output", file); code != cli.ExitUsage || !strings.Contains(out, "is there already") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out := command("demo", "from", "nobody"); code != cli.ExitUsage {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out := command("demo", "from", "s"); code != 0 || !strings.Contains(out, "[[reply.calls]]") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// Sessions in which things went wrong or somebody was asked become scripts that play to the same chat, and no key is in them (B191).
func TestDemosOfDifficultSessionsB191(t *testing.T) {
	const key = "sk-of-the-demo-0123456789"
	server := llmtest.NewServer()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	command := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		wiring{}.program().Execute(context.Background(), cli.Process{
			Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Login: func() string { return "ann" }, ConfigDir: filepath.Join(dir, "none"), Version: "test",
			Environ: []string{"AGENT_DB_PATH=" + filepath.Join(dir, "s.db"), "AGENT_TRACE_PATH=" + filepath.Join(dir, "t.jsonl"), "OPENAI_BASE_URL=" + server.URL(),
				"OPENAI_API_KEY=" + key, "LLM_RETRIES=0", "LLM_PROFILE=generic", "AGENT_MAX_TOOL_ITERS=3"},
		})
		return out.String() + errs.String()
	}
	write := llm.ToolCall{ID: "w", Name: "write_file", Arguments: `{"path":"a.txt","content":"hello"}`}
	sum := llm.ToolCall{ID: "s", Name: "calculator", Arguments: `{"expression":"1+1"}`}
	asked := func(session, flag string, more ...string) {
		_, call, _ := strings.Cut(command("run", "--session", session, "write it"), "--approve ")
		call, _, _ = strings.Cut(call, " ")
		command(append([]string{"run", "--session", session, flag, call}, more...)...)
	}
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("docs", 0o700), os.WriteFile("docs/a.md", []byte("x"), 0o600), os.WriteFile("old.txt", []byte("one\r\ntwo\r\nthree\r\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		name    string
		replies []llmtest.Reply
		say     []string
		do      func()
		want    []string // what the last screen of the play shows
	}{
		{"cut at its length", []llmtest.Reply{llmtest.ReplyTo(llmtest.Play{Text: []string{"部分 half"}, Finish: llm.FinishLength}), llmtest.Answer("more")}, []string{"long", "go on"}, nil,
			[]string{"部分 half", "more"}},
		{"refused", []llmtest.Reply{llmtest.Refuse(400, `{"error":{"message":"no such thing"}}`), llmtest.Answer("now")}, []string{"one", "two"}, nil,
			[]string{"the server refused the request", "HTTP 400: no such thing", "now"}},
		{"empty", []llmtest.Reply{llmtest.Answer(""), llmtest.Answer(""), llmtest.Answer("now")}, []string{"one", "two"}, nil, []string{"the model gave no answer", "now"}},
		{"malformed", []llmtest.Reply{llmtest.Ask(llm.ToolCall{ID: "c", Name: "calculator", Arguments: `{"expression":`}), llmtest.Answer("so be it")}, []string{"bad"}, nil,
			[]string{"calculator", "so be it"}},
		{"no tool", []llmtest.Reply{llmtest.Ask(llm.ToolCall{ID: "c", Name: "nope", Arguments: "{}"}), llmtest.Answer("so be it")}, []string{"bad"}, nil, []string{"nope", "so be it"}},
		{"todo by its id", []llmtest.Reply{llmtest.Ask(llm.ToolCall{ID: "t", Name: "todo", Arguments: `{"action":"add","text":"买 \"milk\""}`}), llmtest.Answer("on it")}, []string{"add it"}, func() {
			id := regexp.MustCompile(`"id":"([^"]+)","text":`).FindStringSubmatch(command("trace", "todo-by-its-id", "--json"))
			if id == nil {
				id = []string{"", "none"}
			}
			server.Push(llmtest.Ask(llm.ToolCall{ID: "u", Name: "todo", Arguments: `{"action":"complete","text":"` + id[1] + `"}`}), llmtest.Answer("off it"))
			command("run", "--session", "todo-by-its-id", "complete it")
		}, []string{"1 of 1", "off it"}},
		{"out of steps", []llmtest.Reply{llmtest.Ask(sum), llmtest.Ask(sum), llmtest.Ask(sum), llmtest.Answer("now")}, []string{"one", "two"}, nil, []string{"3 of 3 steps", "now"}},
		{"like a command", []llmtest.Reply{llmtest.Answer("first"), llmtest.Answer("second"), llmtest.Answer("third")}, []string{"/help", "?what", "y\nand\tz"}, nil,
			[]string{"/help", "?what", "third"}},
		{"allowed", []llmtest.Reply{llmtest.Ask(write), llmtest.Answer("written")}, nil, func() { asked("allowed", "--approve") }, []string{"a.txt", "written"}},
		{"denied", []llmtest.Reply{llmtest.Ask(write), llmtest.Answer("well then")}, nil, func() { asked("denied", "--deny", "--reason", "不要 now") }, []string{"denied: 不要 now", "well then"}},
		{"with files", []llmtest.Reply{
			llmtest.Ask(llm.ToolCall{ID: "l", Name: "list_dir", Arguments: `{"path":"docs"}`}, llm.ToolCall{ID: "r", Name: "read_file", Arguments: `{"path":"old.txt"}`}),
			llmtest.Ask(llm.ToolCall{ID: "w", Name: "write_file", Arguments: `{"path":"old.txt","content":"one\n2\nthree\n"}`}), llmtest.Answer("written")},
			nil, func() { asked("with-files", "--approve") }, []string{"1 entry", "1-3 of 3   17 B", "+1 -1", "written"}},
		{"waiting", []llmtest.Reply{llmtest.Ask(write)}, []string{"write it"}, nil, []string{"APPROVE", "a.txt"}},
		{"given up", []llmtest.Reply{llmtest.Ask(write), llmtest.Answer("else")}, []string{"write it", "something else"}, nil, []string{"not run", "else"}},
		{"secret", []llmtest.Reply{llmtest.Answer("you said " + key + ".")}, []string{"my key is " + key + " and that is that"}, nil, []string{"you said ****"}},
	} {
		if testing.Short() && i%4 > 0 {
			continue
		}
		session := strings.ReplaceAll(c.name, " ", "-")
		server.Push(c.replies...)
		for _, text := range c.say {
			command("run", "--session", session, text)
		}
		if c.do != nil {
			c.do()
		}
		if n := server.Left(); n > 0 {
			t.Fatalf("%s: %d replies are left", c.name, n)
		}
		file, shown := filepath.Join(dir, session+".toml"), filepath.Join(dir, session+".txt")
		if out := command("demo", "from", session, "--output", file); !strings.Contains(out, "look at it before you share it") {
			t.Errorf("%s: %s", c.name, out)
		}
		script, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(script), "of-the-demo") || strings.Contains(string(script), "01234567") {
			t.Errorf("%s: %v\n%s", c.name, err, script)
		}
		if code, _, errs := demoCommand(t, file, "--record", shown); code != 0 {
			t.Errorf("%s: exit code %d: %s\n%s", c.name, code, errs, script)
			continue
		}
		text, err := os.ReadFile(shown)
		if err != nil {
			t.Fatal(err)
		}
		screens := strings.Split(string(text), "\n--- ")
		for _, want := range c.want {
			if last := screens[len(screens)-2]; !strings.Contains(last, want) {
				t.Errorf("%s: there is no %q in\n%s", c.name, want, last)
			}
		}
	}
}

// The demo acceptance gives its recordings in one go, with their progress on a terminal: a GIF under 3 MB whose pictures hold only what
// changed, and a text with the screen of each expect (README's test has the SVG). The longest pause is that of --idle in each of them (B185).
func TestAcceptanceRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("draws a long recording")
	}
	dir := t.TempDir()
	path := func(ending string) string { return filepath.Join(dir, "a"+ending) }
	var stderr bytes.Buffer
	code := wiring{}.program().Execute(context.Background(), cli.Process{
		Args:  []string{"demo", "acceptance", "--record", path(".cast"), "--record", path(".gif"), "--record", path(".txt"), "--idle", "1s"},
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr, Err: cli.Terminal, Login: func() string { return "x" }, ConfigDir: filepath.Join(dir, "none"), Version: "test",
	})
	if code != 0 {
		t.Fatal(stderr.String())
	}
	for _, ending := range []string{".gif", ".txt"} {
		if told := stderr.String(); strings.Count(told, "\r"+path(ending)+" ") < 3 || !strings.Contains(told, path(ending)+" 100%") || !strings.Contains(told, "wrote "+path(ending)) {
			t.Errorf("%s: %q", ending, told)
		}
	}
	data, err := os.ReadFile(path(".gif"))
	if err != nil || len(data) >= 3_000_000 {
		t.Fatalf("the GIF has %d bytes: %v", len(data), err)
	}
	g, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	whole, parts, longest := g.Config.Width*g.Config.Height, 0, 0
	for i, m := range g.Image {
		if i > 0 {
			parts += m.Rect.Dx() * m.Rect.Dy()
		}
		longest = max(longest, g.Delay[i])
	}
	if n := len(g.Image); n < 100 || parts > whole*n/4 || longest > 210 { // the last stays two seconds
		t.Errorf("%d pictures of %d pixels hold %d of them; the longest stays %d", n, whole, parts, longest)
	}
	h, all := castEvents(t, path(".cast"))
	if h.Idle != 1 || h.Width != 120 || h.Height != 36 {
		t.Errorf("%+v", h)
	}
	marks := 0
	for _, e := range all {
		if e.Code == record.Mark {
			marks++
		}
	}
	if text, err := os.ReadFile(path(".txt")); err != nil || marks < 10 || strings.Count(string(text), "--- 0:") != marks+1 {
		t.Errorf("%d expects, and the text has %d screens: %v", marks, strings.Count(string(text), "--- 0:"), err)
	}
}
