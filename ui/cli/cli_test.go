package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui"
	"vitrine/ui/words"
)

// Every error has its exit code and says what happened, why, and what to do.
func TestErrors(t *testing.T) {
	_, bad := config.Load(config.Inputs{Environ: []string{"AGENT_MAX_TOOL_ITERS=abc", "LLM_RETRIES=x"}})
	for _, c := range []struct {
		err  error
		code int
		want []string
	}{
		{nil, 0, nil},
		{errors.New("boom"), 1, []string{"boom"}},
		{&UsageError{"no such thing", "use another"}, 2, []string{"no such thing; use another"}},
		{bad, 2, []string{"LLM_RETRIES=x: must be a whole number from 0 to 20", "AGENT_MAX_TOOL_ITERS=abc: must be a whole number from 1 to 1000"}},
		{&configFileError{errors.New("read the configuration file: denied")}, 2, []string{"read the configuration file: denied"}},
		{fmt.Errorf("open session s: %w", &runtime.HeldError{SessionID: "s", PID: 4711}), 2,
			[]string{"session s is open in process 4711; close it there, or name another one with --session"}},
		{fmt.Errorf("open session s: %w", runtime.ErrOtherUser), 2,
			[]string{"open session s: session belongs to another user; name another session, or the right user with --user"}},
		{fmt.Errorf("session x: %w", runtime.ErrNotFound), 2, []string{"session x: not found"}},
		{runtime.ErrEmptyInput, 2, []string{"the message is empty"}},
		{&runtime.TooLargeError{Tokens: 9, Fixed: 1, Limit: 5}, 2, []string{(&runtime.TooLargeError{Tokens: 9, Fixed: 1, Limit: 5}).Error()}},
		{fmt.Errorf("the prompt was not sent: %w", runtime.ErrNotStored), 1,
			[]string{"the prompt was not sent: could not be stored; what was stored before is safe; mend that and ask again"}},
		{&StoreError{Err: errors.New("cannot open database /x: it is not a file"), Configuration: true}, 2,
			[]string{"cannot open database /x: it is not a file; the path comes from AGENT_DB_PATH"}},
		{&StoreError{Err: errors.New("set AGENT_DB_PATH"), Configuration: true}, 2, []string{"set AGENT_DB_PATH"}},
		{&StoreError{Err: errors.New("disk full")}, 1, []string{"disk full"}},
		{errInterrupted, 130, []string{"interrupted"}},
		{fmt.Errorf("wait: %w", context.Canceled), 130, []string{"interrupted"}},
		{&RunError{State: runtime.StateFailed, Reason: runtime.ReasonModel, Told: true}, 1, nil},
		{&RunError{State: runtime.StateFailed, Reason: runtime.ReasonModel}, 1, []string{"the run failed (model)"}},
		{&RunError{State: runtime.StateFailed}, 1, []string{"the run failed"}},
		{&RunError{State: runtime.StateSucceeded}, 0, []string{"the run failed"}},
		{&RunError{State: runtime.StateExhausted, Reason: runtime.ReasonSteps}, 4,
			[]string{"the run ended because a budget ran out (steps); the model was not asked again"}},
		{&RunError{State: runtime.StateExhausted, Told: true}, 4, nil},
		{&RunError{State: runtime.StateCancelled, SessionID: "s"}, 130, []string{"interrupted; what was done so far is stored; session s"}},
		{&RunError{State: runtime.StateWaitingApproval, SessionID: "s"}, 3, []string{"the run waits for your word; open it with vitrine --session s"}},
		{&RunError{State: runtime.StateReconciling, SessionID: "s"}, 3, []string{"the run waits for your word; open it with vitrine --session s"}},
		{&OutputError{Err: fmt.Errorf("write: %w", syscall.ENOSPC), Do: "look there"}, 1,
			[]string{"cannot write to standard output: no space left on device; look there"}},
	} {
		if got := exitCode(c.err); got != c.code {
			t.Errorf("%v: code %d, want %d", c.err, got, c.code)
		}
		if c.err == nil {
			continue
		}
		got := describe(c.err)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestEventAdvice(t *testing.T) {
	for _, c := range []struct {
		d    trace.ErrorData
		want string
	}{
		{trace.ErrorData{Message: "no connection", Why: "h: refused", Todo: "check OPENAI_BASE_URL; /retry sends it again"}, "no connection: h: refused; check OPENAI_BASE_URL"},
		{trace.ErrorData{Message: "stopped", Todo: "The model was not asked again. /retry gives a new budget."}, "stopped; the model was not asked again"},
		{trace.ErrorData{Message: "stopped", Todo: "MODEL names another. é stays. /retry"}, "stopped; MODEL names another; é stays"},
		{trace.ErrorData{Message: "stopped", Todo: "/retry"}, "stopped"},
	} {
		if got := describeEvent(words.English, c.d); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	d := trace.ErrorData{Message: "gw.example refused a part of the request; from now on temperature is left out", Why: "it says no; from now on", Todo: "/x; the disk is full"}
	if got, want := describeEvent(words.Chinese, d), "gw.example 拒绝了请求的一部分；此后不再发送 temperature：it says no; from now on；磁盘已满"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// B029: the answer and a line end, nothing else; no ESC byte; notes on standard error.
func TestRunPrintsTheAnswer(t *testing.T) {
	b := newBench(t)
	b.f.onSubmit = answers("a\tb\n\x1b[31mred\x1b[0m\u009b2J\n\n")
	b.f.notices = []string{"the trace file is not written"}
	got := b.run("run", "hi")
	if got.code != 0 || got.out != "a\tb\nred\n" {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"offline model", "session ada-window-1", "trace file"} {
		if !strings.Contains(got.err, want) {
			t.Errorf("standard error lacks %q: %s", want, got.err)
		}
	}
	if strings.ContainsRune(got.out+got.err, 0x1b) {
		t.Error("ESC in the output")
	}
	if b.f.closed != 1 || !b.f.options[0].Headless || b.f.submitted[0] != "hi" {
		t.Errorf("%+v", b.f)
	}
}

// With --json the stored events of the run and retries, in order, whole, from run_start to run_end; nothing of others.
func TestRunJSON(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("x", 10_000) + "<&>\u009b\u202e"
	b.f.onSubmit = func(f *fake, s, text string) error {
		f.publish(s, "", trace.SessionData{Action: "renamed"})
		f.publish("other", "run-0", trace.RunStartData{})
		f.publish(s, "old", trace.HistoryRepairedData{}, trace.RunEndData{State: "cancelled"})
		f.publish(s, "run-1", trace.RunStartData{Input: text}, trace.StateData{State: "waiting_model"}, trace.RetryData{Attempt: 1, Max: 3, Cause: "cut"},
			trace.DeltaData{Kind: "text", Text: "x"}, trace.AnswerData{Text: long}, trace.RunEndData{State: "succeeded"})
		f.publish(s, "run-2", trace.RunStartData{})
		return nil
	}
	got := b.run("run", "--json", "--session", "s", "hi")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	var names []string
	for line := range strings.Lines(got.out) {
		var e trace.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if e.RunID != "run-1" {
			t.Errorf("run %q", e.RunID)
		}
		if d, ok := e.Data.(trace.AnswerData); ok && d.Text != long {
			t.Error("the answer is not whole")
		}
		names = append(names, string(e.Name))
	}
	if want := []string{"run_start", "retry", "answer", "run_end"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if strings.ContainsAny(got.out, "\x1b\u009b\u202e") || !strings.Contains(got.out, "<&>") {
		t.Error("strings are not written as they should be")
	}
}

// What the subscription lost is read from the store, in order and once.
func TestRunRereadsMissedEvents(t *testing.T) {
	b := newBench(t)
	const n = 3 * followBuffer
	b.f.onSubmit = func(f *fake, s, text string) error {
		f.publish(s, "run-1", trace.RunStartData{Input: text})
		for i := range n {
			f.publish(s, "run-1", trace.TodoData{ID: fmt.Sprint(i)})
		}
		f.publish(s, "run-1", trace.AnswerData{Text: "ok"}, trace.RunEndData{State: "succeeded"})
		return nil
	}
	got := b.run("run", "--json", "--session", "s", "hi")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if len(lines) != n+3 {
		t.Fatalf("%d lines, want %d", len(lines), n+3)
	}
	for i, line := range lines {
		var e trace.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != int64(i+1) {
			t.Fatalf("line %d has seq %d (%v)", i, e.Seq, err)
		}
	}
	// A gap in the middle of what is delivered is closed too.
	b = newBench(t)
	b.f.onSubmit = func(f *fake, s, text string) error {
		f.publish(s, "run-1", trace.RunStartData{Input: text})
		f.store(s, "run-1", trace.TodoData{ID: "lost"})
		f.publish(s, "run-1", trace.AnswerData{Text: "ok"}, trace.RunEndData{State: "succeeded"})
		return nil
	}
	if got := b.run("run", "--json", "--session", "s", "hi"); strings.Count(got.out, "\n") != 4 || !strings.Contains(got.out, "lost") {
		t.Errorf("%+v", got)
	}
}

func TestRunOutcomes(t *testing.T) {
	start := trace.RunStartData{}
	for _, c := range []struct {
		name string
		data []trace.Data
		code int
		out  string
		err  string
	}{
		{"failed", []trace.Data{start, trace.ErrorData{Message: "no connection", Why: "refused"}, trace.AnswerData{Text: "[no answer]", Fixed: true}, trace.RunEndData{State: "failed", Reason: "model"}},
			1, "", "vitrine: no connection: refused\n"},
		{"exhausted", []trace.Data{start, trace.AnswerData{Text: "[stopped]", Fixed: true}, trace.RunEndData{State: "exhausted", Reason: "steps"}}, 4, "", "a budget ran out (steps)"},
		{"cancelled", []trace.Data{start, trace.AnswerData{Text: "It beg\n\n[interrupted]", Partial: true}, trace.RunEndData{State: "cancelled"}}, 130, "", "It beg\n\n[interrupted]\nvitrine: interrupted"},
		{"approval", []trace.Data{start, trace.StateData{State: "waiting_approval"}, trace.StateData{State: "waiting_approval", Reason: "paused"}}, 3, "", "waits for your word"},
		{"unknown outcome", []trace.Data{start, trace.StateData{State: "reconciling"}, trace.StateData{State: "reconciling", Reason: "outcome_unknown"}}, 3, "", "waits for your word"},
		{"store", []trace.Data{start, trace.ErrorData{Message: "the turn could not be stored", Code: "not_saved"}, trace.StateData{State: "failed", Reason: "store"}}, 1, "", "could not be stored"},
		{"notice", []trace.Data{start, trace.NoticeData{Message: "the server cuts prompts", Why: "it counted 10 of 20 tokens"}, trace.AnswerData{Text: "ok"}, trace.RunEndData{State: "succeeded"}}, 0, "ok\n", "vitrine: the server cuts prompts: it counted 10 of 20 tokens\n"},
		{"cut by length", []trace.Data{start, trace.AnswerData{Text: "half", Partial: true}, trace.RunEndData{State: "succeeded"}}, 0, "half\n", ""},
		{"gate", []trace.Data{start, trace.RetryData{Max: 3, WaitMS: 900, Cause: "h: HTTP 503", Shared: true}, trace.AnswerData{Text: "ok"}, trace.RunEndData{State: "succeeded"}}, 0, "ok\n", "h: HTTP 503; all requests to this server wait; waiting for 0.9 s\n"},
		{"gate between attempts", []trace.Data{start, trace.RetryData{Attempt: 1, Max: 3, WaitMS: 900, Cause: "h: HTTP 503", Shared: true}, trace.AnswerData{Text: "ok"}, trace.RunEndData{State: "succeeded"}}, 0, "ok\n", "h: HTTP 503; all requests to this server wait; attempt 2 of 3 in 0.9 s\n"},
		{"gate, not the first", []trace.Data{start, trace.RetryData{Max: 3, Cause: "h: HTTP 503", Shared: true}, trace.AnswerData{Text: "ok"}, trace.RunEndData{State: "succeeded"}}, 0, "ok\n", "h: HTTP 503; all requests to this server wait; others go first\n"},
		{"retry", []trace.Data{start, trace.RetryData{Attempt: 1, Max: 3, WaitMS: 500, Cause: "h: HTTP 503"}, trace.AnswerData{Text: "ok"}, trace.RunEndData{State: "succeeded"}}, 0, "ok\n", "h: HTTP 503; attempt 1 of 3 failed, again in 0.5 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.f.onSubmit = func(f *fake, s, _ string) error { f.publish(s, "run-1", c.data...); return nil }
			got := b.run("run", "--model", "offline", "--session", "s", "hi")
			b.want(got, c.code, c.out, c.err)
			if got.out != c.out {
				t.Errorf("standard output %q", got.out)
			}
		})
	}
}

// A person who waits sees the tools; a pipe does not.
func TestRunTellsAPersonOfTools(t *testing.T) {
	b := newBench(t)
	b.proc.Err = Terminal
	b.f.onSubmit = func(f *fake, s, _ string) error {
		f.publish(s, "run-1", trace.RunStartData{}, trace.ToolResultData{Tool: "calculator", OK: true, Summary: "66"}, trace.ToolResultData{Tool: "todo", OK: true},
			trace.ToolResultData{Tool: "x", Code: "timeout"}, trace.ToolResultData{Tool: "y", Status: "denied"}, trace.AnswerData{Text: "ok"}, trace.RunEndData{State: "succeeded"})
		return nil
	}
	b.want(b.run("run", "hi"), 0, "ok\n", "calculator   66\ntodo   done\nx   timeout\ny   denied\n")
}

// Input that waited in the session has its turns first; ours is the one after.
func TestRunBehindAQueue(t *testing.T) {
	queue := runtime.Snapshot{Inbox: []runtime.InboxRow{{ID: "1", Text: "earlier"}}, Run: &runtime.RunRow{Turn: 3}}
	b := newBench(t)
	b.f.snaps["s"] = queue
	b.f.onSubmit = func(f *fake, s, text string) error {
		f.publish(s, "run-1", trace.RunStartData{Input: "earlier"}, trace.AnswerData{Text: "no"}, trace.RunEndData{State: "succeeded"})
		f.publish(s, "run-2", trace.RunStartData{Input: text}, trace.AnswerData{Text: "yes"}, trace.RunEndData{State: "succeeded"})
		return nil
	}
	got := b.run("run", "--session", "s", "hi")
	b.want(got, 0, "yes\n", "turn 3 of this session was interrupted")
	if got.out != "yes\n" || !strings.Contains(got.err, "runs first: earlier") {
		t.Errorf("%+v", got)
	}
	b = newBench(t)
	b.f.snaps["s"] = queue
	b.f.onSubmit = func(f *fake, s, _ string) error {
		f.publish(s, "run-1", trace.RunStartData{Input: "earlier"}, trace.ErrorData{Message: "no connection"}, trace.RunEndData{State: "failed", Reason: "model"})
		return nil
	}
	b.want(b.run("run", "--session", "s", "hi"), 1, "", "stays queued in session s")
}

// Without --session a name is taken that nobody has, whoever else takes names at the same time.
func TestFreshSession(t *testing.T) {
	b := newBench(t)
	b.f.rows = []runtime.SessionInfo{{ID: "ada-window-1"}, {ID: "ada-window-3"}}
	b.f.openErr["ada-window-2"] = &runtime.HeldError{SessionID: "ada-window-2", PID: 1}
	b.f.openErr["ada-window-4"] = runtime.ErrOtherUser
	b.f.snaps["ada-window-5"] = runtime.Snapshot{Session: runtime.SessionRow{TurnCount: 1}}
	b.f.onSubmit = answers("ok")
	b.want(b.run("run", "hi"), 0, "ok\n", "session ada-window-6\n")

	b = newBench(t)
	b.f.openErr["ada-window-1"] = errors.New("disk full")
	b.want(b.run("run", "hi"), 1, "", "disk full")
	b = newBench(t)
	b.f.loadErr = errors.New("unreadable")
	b.want(b.run("run", "hi"), 1, "", "list the sessions: unreadable")
	b = newBench(t)
	for i := range freshTries {
		b.f.openErr[fmt.Sprintf("ada-window-%d", i+1)] = runtime.ErrOtherUser
	}
	b.want(b.run("run", "hi"), 2, "", "no session name is free")
}

func TestRunModel(t *testing.T) {
	b := newBench(t)
	b.f.snaps["s"] = runtime.Snapshot{Session: runtime.SessionRow{Model: "old"}}
	b.f.onSubmit = answers("ok")
	b.want(b.run("run", "--model", "offline", "--session", "s", "hi"), 0, "ok\n", "")
	if len(b.f.set) != 1 || *b.f.set[0].Model != "offline" {
		t.Errorf("%+v", b.f.set)
	}
	b.proc.Environ = append(b.proc.Environ, "MODEL=gpt-5")
	b.want(b.run("run", "--session", "s", "hi"), 0, "ok\n", "MODEL names gpt-5, but no endpoint is set")
	if len(b.f.set) != 1 {
		t.Error("MODEL changes a session's model")
	}
}

// B031: standard input is read for - and, when there is no prompt, if it is data; in no other case.
func TestStandardInput(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		in    Stream
		stdin string // read must be true
		read  bool
		want  string
		code  int
	}{
		{name: "argument, pipe", args: []string{"hi"}, in: Data, want: "hi"},
		{name: "argument, terminal", args: []string{"hi"}, in: Terminal, want: "hi"},
		{name: "words", args: []string{"hi", "there"}, in: NoStream, want: "hi there"},
		{name: "dash, pipe", args: []string{"-"}, in: Data, read: true, stdin: "a\nb\n", want: "a\nb"},
		{name: "dash, terminal", args: []string{"-"}, in: Terminal, read: true, stdin: "typed\n", want: "typed"},
		{name: "nothing, pipe", in: Data, read: true, stdin: "piped", want: "piped"},
		{name: "nothing, terminal", in: Terminal, code: 2},
		{name: "nothing, closed", in: NoStream, code: 2},
		{name: "empty pipe", in: Data, read: true, code: 2},
		{name: "blank argument", args: []string{" "}, in: Data, code: 2},
		{name: "too much", in: Data, read: true, stdin: strings.Repeat("x", inputLimit+1), code: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.f.onSubmit = answers("ok")
			b.proc.In, b.proc.Stdin = c.in, never{t}
			if c.read {
				b.proc.Stdin = strings.NewReader(c.stdin)
			}
			got := b.run(append([]string{"run", "--model", "offline"}, c.args...)...)
			if got.code != c.code {
				t.Fatalf("%+v", got)
			}
			if c.code == 0 && b.f.submitted[0] != c.want {
				t.Errorf("%q, want %q", b.f.submitted[0], c.want)
			}
			if c.code != 0 && len(b.f.options) > 0 {
				t.Error("the program was opened")
			}
		})
	}
	b := newBench(t)
	b.proc.In, b.proc.Stdin = Data, iotestErr{errors.New("broken")}
	b.want(b.run("run"), 1, "", "read standard input: broken")
}

type iotestErr struct{ err error }

func (e iotestErr) Read([]byte) (int, error) { return 0, e.err }

// waiting is standard input that a signal comes in the middle of.
type waiting struct {
	clk clock.Clock
	f   func()
}

func (w waiting) Read([]byte) (int, error) {
	w.f()
	_ = w.clk.Sleep(context.Background(), time.Hour)
	return 0, io.EOF
}

// The first signal cancels the run, which then ends properly; the second one ends the waiting; one that comes while standard
// input is read ends the program.
func TestSignals(t *testing.T) {
	b := newBench(t)
	var cancelled []string
	b.f.onSubmit = func(f *fake, s, _ string) error {
		f.publish(s, "run-1", trace.RunStartData{})
		b.sig(Interrupt)
		return nil
	}
	b.f.onCancel = func(f *fake, s string) {
		if len(cancelled) == 0 {
			f.publish(s, "run-1", trace.AnswerData{Text: "[cancelled]", Fixed: true}, trace.RunEndData{State: "cancelled"})
		}
		cancelled = append(cancelled, s)
	}
	b.want(b.run("run", "--session", "s", "hi"), 130, "", "interrupted; what was done so far is stored; session s")
	if len(cancelled) == 0 || b.f.closed != 1 {
		t.Errorf("cancelled %v, closed %d", cancelled, b.f.closed)
	}

	b = newBench(t)
	b.f.onSubmit = func(f *fake, s, _ string) error {
		f.publish(s, "run-1", trace.RunStartData{})
		b.sig(Interrupt)
		b.sig(Interrupt)
		return nil
	}
	b.want(b.run("run", "hi"), 130, "", "interrupted")
	if b.f.closed != 1 {
		t.Error("not closed")
	}

	b = newBench(t)
	b.proc.In = Data
	b.proc.Stdin = waiting{b.sim, func() { b.sig(Terminate) }}
	b.want(b.run("run"), 130, "", "interrupted")
	b.proc.In = Terminal
	b.f.rows = []runtime.SessionInfo{{ID: "s"}}
	b.want(b.run("sessions", "delete", "s"), 130, "", "interrupted")
	if len(b.f.deleted) > 0 {
		t.Error("deleted without a word")
	}
}

// A reader that is gone is its own choice: the run ends, nothing is said. A full disk is told of, with where the answer is.
func TestOutputFails(t *testing.T) {
	for _, args := range [][]string{{"run", "--session", "s", "hi"}, {"run", "--json", "--session", "s", "hi"}} {
		b := newBench(t)
		b.f.onSubmit = answers("ok")
		b.proc.Stdout = &failing{err: syscall.EPIPE}
		got := b.run(append(args, "--model", "offline")...)
		if got.code != 0 || got.err != "" {
			t.Errorf("%v: %+v", args, got)
		}
		b.proc.Stdout = &failing{room: 1, err: syscall.ENOSPC}
		got = b.run(append(args, "--model", "offline")...)
		if got.code != 1 || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, "cannot write to standard output: no space left on device") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	b := newBench(t)
	b.proc.Stdout = &failing{err: syscall.ENOSPC}
	b.want(b.run("--version"), 1, "", "cannot write to standard output")
	b.f.onSubmit = answers("ok")
	b.want(b.run("run", "--session", "s", "hi"), 1, "", "the answer is stored: vitrine sessions show s")
	b.f.onSubmit = func(f *fake, s, _ string) error {
		f.publish(s, "run-1", trace.RunStartData{}, trace.AnswerData{Text: "x", Fixed: true}, trace.RunEndData{State: "exhausted", Reason: "steps"})
		return nil
	}
	b.want(b.run("run", "--json", "--session", "s", "hi"), 4, "", "budget")
}

func TestUnsent(t *testing.T) {
	b := newBench(t)
	b.f.onSubmit = func(*fake, string, string) error { return runtime.ErrNotStored }
	b.want(b.run("run", "--session", "s", "hi"), 1, "", "the prompt was not sent: could not be stored")
	b = newBench(t)
	b.f.openErr["s"] = &runtime.HeldError{SessionID: "s", PID: 4711}
	b.want(b.run("run", "--session", "s", "hi"), 2, "", "process 4711")
	if b.f.closed != 1 {
		t.Error("not closed")
	}
}

// B032: the screen needs a terminal that can place the cursor, and says what to use instead.
func TestScreenIsRefused(t *testing.T) {
	b := newBench(t)
	b.f.screen = func(context.Context, ScreenOptions) error { return nil }
	b.proc.NeedsTerm = true
	for _, c := range []struct {
		in, out Stream
		term    string
		code    int
	}{
		{Terminal, Terminal, "xterm", 0}, {Terminal, Terminal, "dumb", 2}, {Terminal, Terminal, "", 2}, {Data, Terminal, "xterm", 2},
		{Terminal, Data, "xterm", 2}, {NoStream, NoStream, "xterm", 2},
	} {
		b.proc.In, b.proc.Out, b.proc.Environ = c.in, c.out, []string{"TERM=" + c.term}
		want := "vitrine run"
		if c.code == 0 {
			want = ""
		}
		b.want(b.run(), c.code, "", want)
	}
	b.proc.In, b.proc.Out, b.proc.Environ, b.proc.NeedsTerm = Terminal, Terminal, nil, false
	b.want(b.run(), 0, "", "")
}

func TestScreen(t *testing.T) {
	b := newBench(t)
	b.proc.In, b.proc.Out = Terminal, Terminal
	var got ScreenOptions
	b.f.screen = func(_ context.Context, o ScreenOptions) error { got = o; return nil }
	b.want(b.run("--session", "s"), 0, "", "")
	if got.Session != "s" || got.Continue || b.f.closed != 1 || b.f.options[0].Headless {
		t.Errorf("%+v", got)
	}
	b.want(b.run("--continue", "--model", "gpt-5"), 0, "", "--model names gpt-5")
	if got.Session != "" || !got.Continue {
		t.Errorf("%+v", got)
	}
	// A first signal is the screen's to see to, a second one ends it.
	b.f.screen = func(ctx context.Context, _ ScreenOptions) error {
		b.sig(Hangup)
		if ctx.Err() != nil {
			t.Error("the first signal cuts the screen off")
		}
		return nil
	}
	b.want(b.run(), 130, "", "interrupted")
	b.f.screen = func(ctx context.Context, _ ScreenOptions) error {
		b.sig(Hangup)
		b.sig(Hangup)
		return context.Cause(ctx)
	}
	b.want(b.run(), 130, "", "interrupted")
}

// B037: the stack of a panic goes to a file that one line names; the app is closed.
func TestPanic(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	b.proc.In, b.proc.Out = Terminal, Terminal
	b.proc.Environ = append(b.proc.Environ, "AGENT_DB_PATH="+filepath.Join(dir, "s.db"))
	b.f.screen = func(context.Context, ScreenOptions) error { panic("lost \x1b[31mcolour") }
	got := b.run()
	path := filepath.Join(dir, "vitrine.log")
	b.want(got, 1, "", "the stack is in "+path)
	if strings.Count(got.err, "\n") != 1 || strings.ContainsRune(got.err, 0x1b) || b.f.closed != 1 {
		t.Errorf("%+v, closed %d", got, b.f.closed)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "TestPanic") {
		t.Errorf("%s %v", data, err)
	}
	// Where the log cannot be written it goes to the temporary folder.
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	b.proc.Environ = append(b.proc.Environ, "AGENT_DB_PATH="+filepath.Join(dir, "none", "s.db"))
	b.want(b.run(), 1, "", "vitrine.log")
	t.Setenv("TMPDIR", filepath.Join(tmp, "none"))
	b.want(b.run(), 1, "", "could not be logged")
}

func TestSessionsList(t *testing.T) {
	b := newBench(t)
	now := b.sim.Now()
	b.want(b.run("sessions"), 0, "", "ada has no sessions in data/sessions.db")
	b.f.rows = []runtime.SessionInfo{
		{ID: "s-1", Title: "部署计划", TurnCount: 3, Messages: 9, RunState: "succeeded", UpdatedAt: now},
		{ID: "evil", Title: "\x1b]0;x\x07a\u202eb\u009b31m\n", RunState: "cancelled", RunReason: "user", UpdatedAt: now.Add(-5 * time.Minute)},
		{ID: "c", RunState: "waiting_model", UpdatedAt: now.Add(-3 * time.Hour)},
		{ID: "d", RunState: "waiting_approval", UpdatedAt: now.Add(-72 * time.Hour)},
		{ID: "o", RunState: "reconciling", Waits: true, UpdatedAt: now.Add(-72 * time.Hour)},
		{ID: "e", HeldBy: 4711, RunState: "executing", UpdatedAt: now},
		{ID: "f", UpdatedAt: now},
		{ID: "g", RunState: "cancelled", UpdatedAt: now},
	}
	number := func(n int) *int { return &n }
	dollars := func(f float64) *float64 { return &f }
	b.f.runs = []runtime.RunRow{
		{SessionID: "s-1", Usage: runtime.RunUsage{Prompt: 3000, Completion: 200, Cached: number(1000), Reasoning: number(50), Cost: dollars(0.002)}},
		{SessionID: "s-1", Usage: runtime.RunUsage{Prompt: 2000, Completion: 21, Cached: number(0), Cost: dollars(0.0005)}},
		{SessionID: "s-1", ParentRun: "r", Usage: runtime.RunUsage{Prompt: 9000, Cost: dollars(9)}},
		{SessionID: "c", Usage: runtime.RunUsage{Prompt: 100, Completion: 20, Estimated: true}},
	}
	got := b.run("sessions", "list")
	want := `SESSION  TITLE     TURNS  MESSAGES  STATE            CHANGED  IN    CACHED  OUT  REASONING  COST
s-1      部署计划  3      9         done             now      5.0k  1.0k    221  50         $0.0025
evil     ab        0      0         cancelled: user  5 m ago  0     -       0    -          -
c                  0      0         interrupted      3 h ago  ~100  -       ~20  -          -
d                  0      0         needs you        3 d ago  0     -       0    -          -
o                  0      0         needs you        3 d ago  0     -       0    -          -
e                  0      0         in process 4711  now      0     -       0    -          -
f                  0      0         empty            now      0     -       0    -          -
g                  0      0         cancelled        now      0     -       0    -          -
`
	if got.out != want {
		t.Errorf("got\n%s\nwant\n%s", got.out, want)
	}
	got = b.run("sessions", "--json")
	if strings.Count(got.out, "\n") != len(b.f.rows) || strings.ContainsAny(got.out, "\x1b\u009b\u202e") {
		t.Errorf("%q", got.out)
	}
	for _, want := range []string{`"prompt_tokens":5000,"completion_tokens":221,"cached_tokens":1000,"reasoning_tokens":50,"cost":0.0025}`,
		`"prompt_tokens":100,"completion_tokens":20,"cached_tokens":null,"reasoning_tokens":null,"estimated":true,"cost":null}`} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %s in %s", want, got.out)
		}
	}
	b.f.loadErr = errors.New("unreadable")
	b.want(b.run("sessions"), 1, "", "list the sessions: unreadable")
}

// Whatever the number of messages, each is shown once and in order.
func TestEachMessage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(pageSize-2, pageSize+2), rapid.IntRange(0, 4*pageSize)).Draw(rt, "n")
		f := &fake{}
		for i := range n {
			f.msgs = append(f.msgs, runtime.MessageRow{N: int64(i + 1)})
		}
		want := int64(1)
		c := &command{}
		if err := c.eachMessage(context.Background(), &App{Library: f}, "s", func(m runtime.MessageRow) error {
			if m.N != want {
				rt.Fatalf("message %d, want %d", m.N, want)
			}
			want++
			return nil
		}); err != nil || want != int64(n+1) {
			rt.Fatalf("%d of %d messages: %v", want-1, n, err)
		}
	})
}

func TestSessionsShow(t *testing.T) {
	b := newBench(t)
	b.f.rows = []runtime.SessionInfo{{ID: "deploy", Title: "plan", TurnCount: 1, RunState: "succeeded"}}
	at := b.sim.Now()
	b.f.msgs = []runtime.MessageRow{
		{N: 1, Kind: llm.KindUser, Role: llm.RoleUser, Content: "hi\x1b[2J\nthere", CreatedAt: at},
		{N: 2, Kind: llm.KindAssistant, Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{Name: "todo", Arguments: `{"a":1}`}}, CreatedAt: at},
		{N: 3, Kind: llm.KindTool, Role: llm.RoleTool, ToolName: "todo", Content: "{}", CreatedAt: at},
		{N: 4, Kind: llm.KindClosing, Role: llm.RoleAssistant, Content: "[interrupted]", Fixed: true, CreatedAt: at},
		{N: 5, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: "cu", Partial: true, CreatedAt: at},
	}
	got := b.run("sessions", "show", "deploy")
	want := `deploy   plan   1 turn   done

1   user   2026-01-02 03:04:05
  hi
  there

2   assistant   2026-01-02 03:04:05
  calls todo {"a":1}

3   tool todo   2026-01-02 03:04:05
  {}

4   closing   by the program   2026-01-02 03:04:05
  [interrupted]

5   assistant   cut   2026-01-02 03:04:05
  cu
`
	if got.out != want {
		t.Errorf("got\n%s\nwant\n%s", got.out, want)
	}
	if got := b.run("sessions", "show", "deploy", "--json"); strings.Count(got.out, "\n") != 5 {
		t.Errorf("%+v", got)
	}
	b.want(b.run("sessions", "show", "deplyo"), 2, "", "did you mean deploy?")
	b.want(b.run("sessions", "show", "unrelated-name"), 2, "", "vitrine sessions lists them")
}

func TestSessionsDelete(t *testing.T) {
	b := newBench(t)
	b.f.rows = []runtime.SessionInfo{{ID: "s", Title: "plan", Messages: 3}}
	b.proc.In = Terminal
	for answer, deleted := range map[string]bool{"y\n": true, "YES\nmore": true, "n\n": false, "\n": false, "": false, strings.Repeat("y", 2000): false} {
		b.f.deleted = nil
		b.proc.Stdin = strings.NewReader(answer)
		got := b.run("sessions", "delete", "s")
		b.want(got, 0, "", "Delete session s (plan, 3 messages) for good? [y/N] ")
		if (len(b.f.deleted) == 1) != deleted {
			t.Errorf("%.10q: deleted %v", answer, b.f.deleted)
		}
	}
	b.proc.In, b.proc.Stdin = Data, never{t}
	b.want(b.run("sessions", "delete", "s"), 2, "", "--yes answers it")
	b.want(b.run("sessions", "delete", "s", "--yes"), 0, "", "session s is deleted")
	b.f.rows = []runtime.SessionInfo{{ID: "s"}}
	b.want(b.run("sessions", "delete", "s"), 2, "", "Delete session s (0 messages) for good?")
	b.f.rows[0].Messages = 1
	b.want(b.run("sessions", "delete", "s"), 2, "", "Delete session s (1 message) for good?")
	b.want(b.run("sessions", "delete", "t", "--yes"), 2, "", "no session t")
	if o := b.f.options[len(b.f.options)-1]; !o.StoreOnly {
		t.Error("an engine was made to delete, and a store that was not there would be")
	}
}

func TestTrace(t *testing.T) {
	b := newBench(t)
	b.want(b.run("trace"), 2, "", "ada has no runs")
	b.f.rows = []runtime.SessionInfo{{ID: "new"}, {ID: "s"}}
	b.f.runs = []runtime.RunRow{{ID: "aaaa-2", SessionID: "s"}, {ID: "aaaa-1", SessionID: "s"}, {ID: "bbbb-1", SessionID: "s"}}
	for i, run := range []string{"bbbb-1", "aaaa-1", "aaaa-2"} {
		b.f.store("s", run, trace.RunStartData{Input: fmt.Sprint("question ", i)})
		b.f.store("s", run, trace.ToolCallData{ID: run, Tool: "calculator\x1b[1m"})
		b.f.store("s", run, trace.RunEndData{State: "succeeded"})
	}
	b.want(b.run("trace"), 0, "question 2", "")
	got := b.run("trace", "s")
	for _, want := range []string{"session s", "question 0", "question 1", "question 2", "calculator"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q lacks %q", got.out, want)
		}
	}
	if strings.ContainsRune(got.out, 0x1b) {
		t.Error("ESC in the tree")
	}
	b.want(b.run("trace", "bbbb"), 0, "question 0", "")
	b.want(b.run("trace", "aaaa-1"), 0, "question 1", "")
	b.want(b.run("trace", "s", "--run", "aaaa-2"), 0, "question 2", "")
	b.want(b.run("trace", "--run", "bbbb-1"), 0, "question 0", "")
	b.want(b.run("trace", "aaaa"), 2, "", "2 runs start with aaaa; give more of the id")
	b.want(b.run("trace", "aaa"), 2, "", "neither a session nor a run")
	b.want(b.run("trace", "q", "--run", "bbbb-1"), 2, "", "no session q")
	if got := b.run("trace", "aaaa-1", "--json"); strings.Count(got.out, "\n") != 3 || strings.Contains(got.out, "question 0") {
		t.Errorf("%+v", got)
	}
	b.proc.Stdout = &failing{room: 10, err: syscall.EPIPE}
	b.want(b.run("trace", "s", "--json"), 0, "", "")
	b.want(b.run("trace", "s"), 0, "", "")
}

func TestDoctor(t *testing.T) {
	b := newBench(t)
	const key = "sk-very-secret-0123456789"
	b.proc.Environ = []string{"TERM=xterm\x1b[1m", "OPENAI_API_KEY=" + key, "AGENT_MAX_TOOL_ITER=3", "AGENT_OF_ANOTHER_PROGRAM=1", "LLM_RETRIES=1"}
	b.proc.Columns, b.proc.Rows, b.proc.Out = 120, 40, Terminal
	got := b.run("doctor")
	for _, want := range []string{
		"version   v1", "configuration  none: no home", "data           /w/data/sessions.db   5 KB", "trace          /w/data/traces.jsonl", "log            /w/data/vitrine.log",
		"state  version 1", "gpt-4o-mini", "https://api.openai.com/v1", "set, 25 characters", "120 x 40", "AGENT_MAX_TOOL_ITER is set and is none of ours; did you mean AGENT_MAX_TOOL_ITERS?",
		"environment LLM_RETRIES", "profile   generic (nothing fits better)", "price     unknown",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("doctor lacks %q:\n%s", want, got.out)
		}
	}
	if got.code != 0 || strings.Contains(got.out+got.err, "very-secret") || strings.ContainsRune(got.out, 0x1b) || strings.Contains(got.out, "ANOTHER") || strings.Contains(got.out, "it answers") {
		t.Errorf("%+v", got)
	}
	b.want(b.run("doctor", "--check"), 0, "it answers", "")
	b.prog.Reach = func(context.Context, config.Config) (string, error) { return "", errors.New("h: refused") }
	b.want(b.run("doctor", "--check"), 1, "no: h: refused", "the endpoint did not answer as it should: h: refused")
	b.prog.Inspect = func(context.Context, config.Config) StoreState {
		return StoreState{Path: "/w/x.db", Err: &StoreError{Err: errors.New("no database"), Configuration: true}, Text: "no database"}
	}
	b.proc.Environ = []string{"MODEL=gpt-5"}
	b.proc.ConfigDirErr, b.proc.ConfigDir = nil, t.TempDir()
	got = b.run("doctor", "--check")
	b.want(got, 2, "nothing to check", "no database")
	for _, want := range []string{"not there yet", "config.toml   not there", "note      MODEL names gpt-5"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("doctor lacks %q:\n%s", want, got.out)
		}
	}
	if got := b.run("doctor", "--sample-config"); got.out != config.SampleTOML()+ui.SampleKeys() {
		t.Errorf("%+v", got)
	}
	// A configuration file that cannot be read.
	if err := os.MkdirAll(config.FilePath(b.proc.ConfigDir), 0o755); err != nil {
		t.Fatal(err)
	}
	b.want(b.run("doctor"), 2, "", "read the configuration file")
}

func TestUsage(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		args string
		err  string
	}{
		{"--bogus-flag-name", "unknown flag --bogus-flag-name; vitrine --help lists the flags"},
		{"run --jsno x", "did you mean --json?"},
		{"run -5", "unknown flag -5; vitrine run --help lists the flags; a prompt that starts with - goes behind --"},
		{"--session a --continue", "exclude each other"},
		{"rnu x", "did you mean run?"},
		{"hello", "to ask something use vitrine run"},
		{"sessions nonsense", "use delete, export, list, prune, search, show"},
	} {
		b.want(b.run(strings.Fields(c.args)...), 2, "", c.err)
	}
	b.want(b.run("--help"), 0, "Exit codes", "")
	b.want(b.run("--version"), 0, "vitrine v1\n", "")
	if len(b.f.options) > 0 {
		t.Error("the program was opened")
	}
	b.prog.Open = func(context.Context, config.Config, clock.Clock, OpenOptions) (*App, error) {
		return nil, &StoreError{Err: errors.New("it is no database"), Configuration: true}
	}
	b.proc.In, b.proc.Out = Terminal, Terminal
	for _, args := range []string{"run hi", "sessions", "sessions show x", "sessions delete x", "trace", ""} {
		b.want(b.run(strings.Fields(args)...), 2, "", "it is no database; the path comes from AGENT_DB_PATH")
	}
	b.prog.Open = func(context.Context, config.Config, clock.Clock, OpenOptions) (*App, error) {
		return nil, os.ErrNotExist
	}
	b.want(b.run("sessions", "delete", "x"), 2, "", "no session x")
	b.want(b.run("trace"), 2, "", "does not exist yet")
	b.proc.Environ = []string{"AGENT_COMPACT=x"}
	for _, args := range []string{"run hi", "sessions", "sessions show x", "sessions delete x", "trace", "doctor", ""} {
		b.want(b.run(strings.Fields(args)...), 2, "", "AGENT_COMPACT=x")
	}
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{"a": "a", " a\nb": "a...", strings.Repeat("x", 70): strings.Repeat("x", 60) + "...",
		strings.Repeat("x", 58) + "👩\u200d👩\u200d👧y": strings.Repeat("x", 58) + "...", strings.Repeat("x", 59) + "e\u0301": strings.Repeat("x", 59) + "..."} {
		if got := firstLine(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
