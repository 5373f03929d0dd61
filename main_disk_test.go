//go:build unix

package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/demo"
)

// shots counts what the tool fire did in the world outside.
type shots struct {
	mu   sync.Mutex
	done []string
}

func (s *shots) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.done)
}

// tools is one tool, whose effect nobody can take back. It takes a second of the clock's.
func (s *shots) tools(clk clock.Clock) []tools.Tool {
	type in struct {
		Text string `json:"text"`
	}
	return []tools.Tool{tools.New("fire", "does something that nobody can take back", tools.SideEffect,
		func(ctx context.Context, _ tools.Call, in in) (tools.Output, error) {
			s.mu.Lock()
			s.done = append(s.done, in.Text)
			s.mu.Unlock()
			return tools.Output{Data: in.Text}, clk.Sleep(ctx, time.Second)
		})}
}

// fires is a stage whose model lets the tool fire once for each question, and then gives long answers.
func fires(s *shots, answer string) stage {
	st := stage{tools: s.tools, lockWait: 5 * time.Millisecond, env: []string{"AGENT_TOOL_POLICY=side_effect=auto", "AGENT_MAX_CTX_TOKENS=1000000",
		"AGENT_MAX_RUN_TOKENS=1000000"}}
	st.model = func(clk clock.Clock) llm.Client {
		return scripted.New(clk, scripted.Func(func(req llm.Request) scripted.Step {
			last := req.Messages[len(req.Messages)-1]
			if last.Role == llm.RoleTool {
				return scripted.Text("Fired " + last.Content[:12] + ". " + answer).Delay(time.Second)
			}
			return scripted.TextAndCalls("Now.", scripted.Call{Name: "fire", Args: scripted.Args(map[string]string{"text": last.Content})}).Delay(time.Second)
		}).Times(-1)).Strict()
	}
	return st
}

// lockDB takes the database's write lock as another program would, and gives it back with free.
func lockDB(t testing.TB, path string) (free func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// parked wants the screen to say that it is not saved and why, and the text in the input to stay while time goes by.
func (p *play) parked(reason string, d time.Duration) {
	p.t.Helper()
	p.wait("NOT SAVED")
	p.until("the reason", func(s demo.Screen) bool { return s.Has(reason) })
	p.Type("typed meanwhile")
	end := p.clk.Now().Add(d)
	for p.clk.Now().Before(end) {
		p.Advance(time.Second)
		p.sees("NOT SAVED", reason, "this tab waits, text and input stay here until they are stored")
	}
}

// unparked wants a run that goes on to its end, and what was typed meanwhile in the input.
func (p *play) unparked() {
	p.t.Helper()
	p.until("saving", func(s demo.Screen) bool { return !s.Has("NOT SAVED") })
	p.done()
	p.seesNot("NOT SAVED", "may not be saved")
	if row := inputRow(p.Screen()); row != "❯ typed meanwhile" {
		p.t.Errorf("the input holds %q", row)
	}
	p.Press("ctrl+c")
}

// stands wants the program, started anew on what is stored, to have the questions, each of them whole and its effect once.
func (s *shots) stands(t *testing.T, p *play, again stage, questions ...string) {
	t.Helper()
	p.quit()
	if got := s.all(); !slices.Equal(got, questions) {
		t.Errorf("fired %q, asked %q", got, questions)
	}
	q := startPlay(t, p.dir, again)
	if got := q.said("ann-window-1"); !slices.Equal(got, questions) {
		t.Errorf("stored are %q, asked were %q", got, questions)
	}
	if got := q.turns("ann-window-1"); len(got) != 4*len(questions) {
		t.Errorf("%d messages for %d questions: %+v", len(got), len(questions), got)
	}
	q.seesNot("NOT SAVED", "interrupted")
	q.tracesAgree(t, fileEvents(t, p.dir), "ann-window-1")
	q.quit()
}

// Another program has the database locked for half a minute, at any point of a turn: the tab waits and says why, nothing is
// dispatched that is not stored, and when the lock is gone the turn goes on.
func TestLockedForAWhile(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after time.Duration // of Enter
		fired int           // while it is locked
	}{{"before the input", -1, 0}, {"in the first reply", 500 * time.Millisecond, 0}, {"in the tool", 1500 * time.Millisecond, 1}, {"in the answer", 2500 * time.Millisecond, 1}} {
		if testing.Short() && tc.fired > 0 {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			var s shots
			st := fires(&s, "Fine.")
			p := startPlay(t, t.TempDir(), st)
			p.Type("one")
			var free func()
			if tc.after >= 0 {
				p.Press("enter")
				p.Advance(tc.after)
				free = lockDB(t, p.cfg.DBPath)
			} else {
				free = lockDB(t, p.cfg.DBPath)
				p.Press("enter")
			}
			p.parked("database is locked", 30*time.Second)
			if got := s.all(); len(got) != tc.fired {
				t.Errorf("fired %q while it was locked", got)
			}
			free()
			p.unparked()
			s.stands(t, p, st, "one")
		})
	}
}

// The screen is opened while another program has the database locked: it says so, and works when the lock is gone.
func TestOpenedWhileLocked(t *testing.T) {
	dir := t.TempDir()
	var s shots
	st := fires(&s, "Fine.")
	p := startPlay(t, dir, st)
	p.ask("one")
	p.quit()
	free := lockDB(t, p.cfg.DBPath)
	q := startPlay(t, dir, st)
	q.sees("cannot open: open session ann-window-1: commit to ", "database is locked", "Enter tries again")
	q.Enter("two")
	q.wait("cannot open")
	free()
	q.Press("enter")
	q.wait("Fired")
	if row := inputRow(q.Screen()); row != "❯ two" {
		t.Errorf("the input holds %q", row)
	}
	q.ask("")
	s.stands(t, q, st, "one", "two")
}

// A commit of a turn fails for a while, or says so although it is in (a sync that failed): whichever commit it is, the tab says
// why, keeps what was typed, and the turn ends as if nothing had been; each effect is there once.
func TestFailsInARun(t *testing.T) {
	faults := []string{"commit.before:%d:enospc,commit.before:%d:enospc", "commit.before:%d:eio,commit.after:%d:eio"}
	reasons := []string{"no space left on device", "input/output error"}
	commits := [][]int{{2, 4}, {3, 5}}
	for i, fault := range faults {
		for _, n := range commits[i] {
			t.Run(fmt.Sprintf(fault, n, n+1), func(t *testing.T) {
				t.Setenv(runtime.FaultEnv, fmt.Sprintf(fault, n, n+1))
				var s shots
				st := fires(&s, "Fine.")
				p := startPlay(t, t.TempDir(), st)
				p.Enter("one")
				p.wait("NOT SAVED", reasons[i])
				p.Type("typed meanwhile")
				p.unparked()
				t.Setenv(runtime.FaultEnv, "")
				s.stands(t, p, st, "one")
			})
		}
	}
}

// mount does what mount does; without the right to, the test is skipped.
func mount(t *testing.T, args ...string) {
	t.Helper()
	if goruntime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("to mount needs root on Linux")
	}
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Skipf("mount %q: %s", args, out)
	}
}

// readOnly puts the folder under a mount that is read-only, and takes it away with back. Open files stay writable.
func readOnly(t *testing.T, dir string) (back func()) {
	t.Helper()
	mount(t, "--bind", dir, dir)
	back = sync.OnceFunc(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	t.Cleanup(back)
	mount(t, "-o", "remount,bind,ro", dir)
	return back
}

// The folder becomes read-only in the middle of a run. What is open could still be written; but after a failure all is opened
// anew, and only for reading. The trace file, too, is opened for each write. The tab waits for both.
func TestReadOnlyForAWhile(t *testing.T) {
	t.Setenv(runtime.FaultEnv, "commit.before:5:eio")
	var s shots
	st := fires(&s, "Fine.")
	p := startPlay(t, t.TempDir(), st)
	p.Enter("one")
	p.Advance(500 * time.Millisecond)
	back := readOnly(t, p.dir)
	p.wait("the trace file is not written", "read-only file system")
	p.parked("readonly database", 30*time.Second)
	p.Press("pgup", "pgdown", "tab", "tab", "tab") // reading goes on
	back()
	p.unparked()
	p.until("the trace to be written", func(s demo.Screen) bool { return !s.Has("the trace file is not written") })
	t.Setenv(runtime.FaultEnv, "")
	p.quit()
	_, gaps := sessionSeqs(t, p.cfg.TracePath, "ann-window-1")
	if gaps == 0 {
		t.Error("the trace file does not say that it was interrupted")
	}
	s.stands(t, p, st, "one")
}

// B121: the disk is full for three turns and has room again for three more. Meanwhile the tab says so and keeps what it cannot
// store; afterwards all of it is stored, in order, each effect once. The trace file goes on at the start of a line and marks
// the gap.
func TestB121DiskFullForAWhile(t *testing.T) {
	dir := smallDisk(t, "size=10m")
	var s shots
	st := fires(&s, strings.Repeat("word ", 4_000))
	p := startPlay(t, dir, st)
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	p.Enter("one")
	p.wait("NOT SAVED", "disk is full")
	p.Enter("two")
	p.Enter("three")
	for range 30 {
		p.Advance(time.Second)
		p.sees("NOT SAVED", "disk is full", "this tab waits, text and input stay here until they are stored")
	}
	if got := s.all(); len(got) > 1 {
		t.Errorf("fired %q although the disk was full", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.until("saving", func(s demo.Screen) bool { return !s.Has("NOT SAVED") })
	p.until("the third turn", func(demo.Screen) bool { return len(s.all()) == 3 })
	p.done()
	for _, text := range []string{"four", "five", "six"} {
		p.ask(text)
	}
	p.seesNot("NOT SAVED", "the trace file is not written")
	s.stands(t, p, st, "one", "two", "three", "four", "five", "six")
	wholeLines(t, p.cfg.TracePath)
}

// wholeLines wants a file of JSON lines. A line that a full disk cut stays; the next one is the mark of the gap, which begins on
// a line of its own.
func wholeLines(t *testing.T, path string) (seqs []int64, gaps int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := false
	for line := range strings.Lines(string(data)) {
		var e struct {
			Seq   *int64
			Event string
		}
		bad := json.Unmarshal([]byte(line), &e) != nil
		if !strings.HasSuffix(line, "\n") || bad && cut || cut && e.Event != string(trace.Gap) {
			t.Errorf("not a line, or one that a cut line hides: %.200q", line)
		}
		switch cut = bad; {
		case e.Event == string(trace.Gap):
			gaps++
		case e.Seq != nil:
			seqs = append(seqs, *e.Seq)
		}
	}
	return seqs, gaps
}

// B121: only the disk with the trace file is full. No turn is disturbed; the screen says that the file is not written until it is
// again; the file then goes on at the start of a line, marks the gap and has what it lacked from the store.
func TestB121TraceDiskFullForAWhile(t *testing.T) {
	disk := smallDisk(t, "size=64k")
	path := filepath.Join(disk, "traces.jsonl")
	var s shots
	st := fires(&s, "Fine.")
	st.env = append(st.env, "AGENT_TRACE_PATH="+path)
	p := startPlay(t, t.TempDir(), st)
	p.ask("one")
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	for _, text := range []string{"two", "three", "four", "five", "six", "seven"} { // the file's last block has room for some
		p.ask(text)
	}
	p.wait("the trace file is not written", "no space left on")
	p.seesNot("NOT SAVED")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.ask("eight")
	p.until("the trace to be written", func(s demo.Screen) bool { return !s.Has("the trace file is not written") })
	p.ask("nine")
	events := stored(p, func(ctx context.Context) ([]trace.Event, error) {
		return p.app.Library.Events(ctx, "ann-window-1", "", 0, 10000)
	})
	p.quit()
	seqs, gaps := wholeLines(t, path)
	for i, e := range events {
		if i >= len(seqs) || seqs[i] != e.Seq {
			t.Fatalf("the file has %v of %d events", seqs, len(events))
		}
	}
	if gaps != 1 {
		t.Errorf("%d gaps are marked", gaps)
	}
}

// onText is a writer that calls do, once, when what was written has the text.
type onText struct {
	all  strings.Builder
	text string
	do   func()
}

func (w *onText) Write(p []byte) (int, error) {
	n, err := w.all.Write(p)
	if w.do != nil && strings.Contains(w.all.String(), w.text) {
		w.do()
		w.do = nil
	}
	return n, err
}

// asks is a server whose model adds up once and then gives a long answer. do happens while it answers first, or second.
func asks(t *testing.T, second bool, do func()) string {
	t.Helper()
	once := sync.OnceFunc(do)
	server := strictServer(t, func(r llmtest.Request) llmtest.Reply {
		answers := r.Messages[len(r.Messages)-1].Role == "tool"
		if answers == second {
			once()
		}
		if answers {
			return llmtest.Answer("The sum is 66. " + strings.Repeat("word ", 20_000))
		}
		return llmtest.Ask(llm.ToolCall{ID: "c1", Name: "calculator", Arguments: `{"expression":"(17+5)*3"}`})
	})
	return "OPENAI_BASE_URL=" + server.URL()
}

// waits runs a turn of the real program without a screen. breaks happens in the middle of it and mends once the program has
// said reason: then it goes on to its answer, all of it is stored, and nothing that it told of is lost.
func waits(t *testing.T, dir string, second bool, breaks func(pid int), reason string, mends func(), env ...string) {
	t.Helper()
	pid := make(chan int, 1)
	c := vitrine(dir, "run", "--session", "s", "--json", "add up")
	c = c.with(asks(t, second, func() { breaks(<-pid) })).with(env...)
	cmd := c.command(t)
	var out strings.Builder
	said := &onText{text: reason, do: mends}
	cmd.Stdout, cmd.Stderr = &out, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid <- cmd.Process.Pid
	r := waitFor(t, cmd, &out, &strings.Builder{})
	if text := said.all.String(); r.code != 0 || !strings.Contains(text, "not saved: ") || !strings.Contains(text, reason) ||
		!second && !strings.Contains(text, "saved again") {
		t.Errorf("exit code %d, not through %q: %s", r.code, reason, text)
	}
	type event struct {
		Seq   *int64
		Event string
	}
	told, stored := 0, map[int64]string{}
	for _, e := range decode[event](t, vitrine(dir, "trace", "s", "--json").ok(t)) {
		stored[*e.Seq] = e.Event
	}
	for _, e := range decode[event](t, r.stdout) {
		if e.Seq == nil {
			continue
		}
		if told++; stored[*e.Seq] != e.Event {
			t.Errorf("event %d was %s, stored is %q", *e.Seq, e.Event, stored[*e.Seq])
		}
	}
	if told < 6 || len(stored) < told {
		t.Errorf("told of %d events, %d are stored:\n%.2000s", told, len(stored), r.stdout)
	}
	if closings := checkTurns(t, messages(t, dir, "s")); len(closings) != 1 || !strings.HasPrefix(closings[0], "The sum is 66.") {
		t.Errorf("closings %.100q", closings)
	}
}

// The real program without a screen, on a disk that is full in the middle of its run, in a folder that is read-only then, and
// on a disk that fails to sync: it waits, says so, and goes on when it can.
func TestHeadlessWaitsForTheDisk(t *testing.T) {
	for _, second := range []bool{false, true} {
		t.Run(fmt.Sprintf("full %v", second), func(t *testing.T) {
			t.Parallel()
			dir := smallDisk(t, "size=3m")
			filler := filepath.Join(dir, "filler")
			waits(t, dir, second, func(int) { fill(t, filler) }, "disk is full", func() {
				if err := os.Remove(filler); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		readOnly(t, dir)() // or skip here, not within the run
		back := func() {}
		waits(t, dir, false, func(int) { back = readOnly(t, dir) }, "readonly database", func() { back() }, "VITRINE_FAULT=commit.before:4:eio")
	})
	for _, second := range []bool{false, true} {
		t.Run(fmt.Sprintf("no sync %v", second), func(t *testing.T) {
			t.Parallel()
			stop := func() {}
			needsStrace(t)
			waits(t, t.TempDir(), second, func(pid int) { stop = failSyncs(t, pid) }, "disk I/O error", func() { stop() })
		})
	}
}

// Without a screen, and the database locked by another program for longer than a run waits: it ends with code 1 and says why;
// when the lock is gone the session goes on.
func TestHeadlessGivesUpOnALock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "data", "sessions.db")
	free := func() {}
	w := wiring{park: 300 * time.Millisecond, lockWait: 5 * time.Millisecond, client: func(llm.Client) llm.Client {
		return before{scripted.New(clock.Real(), scripted.Text("never")), func() { free = lockDB(t, path) }}
	}}
	r := inProcess(t, w, dir, "run", "--session", "s", "one")
	free()
	for _, text := range []string{"not saved: database is locked", "the turn could not be stored", "what was stored before is safe"} {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("%q is not said in %s", text, r.stderr)
		}
	}
	if r.code != 1 || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	vitrine(dir, "run", "--session", "s", "1+1").ok(t)
	if closings := checkTurns(t, messages(t, dir, "s")); len(closings) != 2 || closings[0] != "[interrupted]" {
		t.Errorf("closings %q", closings)
	}
}

// needsStrace skips the test where no system call can be made to fail.
func needsStrace(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("strace", "-o", os.DevNull, "-e", "inject=fsync:error=EIO", "true").CombinedOutput(); err != nil {
		t.Skipf("strace, which lets a sync fail, does not work here: %v %s", err, out)
	}
}

// failSyncs lets every sync of a process fail until stop is called.
func failSyncs(t *testing.T, pid int) (stop func()) {
	t.Helper()
	cmd := exec.Command("strace", "-f", "-o", os.DevNull, "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO", "-p", fmt.Sprint(pid))
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Error(err)
		return func() {}
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return func() {}
	}
	if line, err := bufio.NewReader(pipe).ReadString('\n'); err != nil || !strings.Contains(line, "attached") {
		t.Errorf("strace: %q, %v", line, err)
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it lets the process go
		_ = cmd.Wait()
	}
}
