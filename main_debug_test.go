package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/ui/demo"
)

// ledger is a file outside of the program in which tools note what they did: a line each.
type ledger struct {
	t    testing.TB
	path string
}

func newLedger(t testing.TB) *ledger { return &ledger{t, filepath.Join(t.TempDir(), "ledger")} }

func (l *ledger) note(line string) error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.ReplaceAll(line, "\n", "\\n") + "\n")
	return errors.Join(err, f.Close())
}

// has wants the notes to be these, in order.
func (l *ledger) has(want ...string) {
	l.t.Helper()
	data, err := os.ReadFile(l.path)
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	var got []string
	if s := strings.TrimSuffix(string(data), "\n"); s != "" {
		got = strings.Split(s, "\n")
	}
	if d := cmp.Diff(want, got); d != "" {
		l.t.Errorf("what ran (-want +got):\n%s", d)
	}
}

type command struct {
	Command string `json:"command"`
}

// tools are look, which only reads, and shell, which has effects; both note their command.
func (l *ledger) tools(clock.Clock) []tools.Tool {
	run := func(name string, effect tools.Effect) tools.Tool {
		return tools.New(name, "runs a command", effect, func(_ context.Context, _ tools.Call, in command) (tools.Output, error) {
			return tools.Output{Data: "did " + in.Command}, l.note(name + " " + in.Command)
		})
	}
	return []tools.Tool{run("look", tools.ReadOnly), run("shell", tools.SideEffect)}
}

func callOf(tool, text string) scripted.Call {
	return scripted.Call{Name: tool, Args: scripted.Args(command{text})}
}

// bench is a stage with the ledger's tools on a script that refuses histories that are not valid.
func (l *ledger) bench(steps ...scripted.Step) stage {
	s := script(steps...)
	s.tools = l.tools
	return s
}

// went waits for the question to go.
func (p *play) went(text string) {
	p.t.Helper()
	p.until("the end of "+text, func(s demo.Screen) bool { return !s.Has(text) })
}

// rest is long enough for a question to take letters.
const rest = time.Second

// press is a letter for a question that has rested; one that went to the input as it had no focus by the user is confirmed.
func (p *play) press(letters ...string) {
	p.t.Helper()
	for _, l := range letters {
		p.Advance(rest)
		p.Press(l)
		if inputRow(p.Screen()) == "❯ "+l {
			p.Press("enter")
		}
		p.Advance(rest)
	}
}

// The run stands still before each model call and each tool call; it is taken on step by step, until a tool, and freely.
func TestDebuggerSteps(t *testing.T) {
	l := newLedger(t)
	p := startPlay(t, t.TempDir(), l.bench(
		scripted.Calls(callOf("look", "a"), callOf("look", "b")).When("go"), scripted.Calls(callOf("look", "c")).When("go"),
		scripted.Calls(callOf("shell", "d"), callOf("look", "e")).When("go"), scripted.Text("all done").When("go")))
	p.Press("ctrl+x", "b")
	p.wait("break: next call")
	p.Enter("go")
	p.wait("PAUSED  before the model call", "step 1", "sent   2 messages", "s step", "c run on", "u run until")
	if got := len(p.model.requests); got != 0 {
		t.Errorf("%d requests were sent", got)
	}
	if row := p.Screen().Row(0); !strings.Contains(row, "?") {
		t.Errorf("the tab is not marked: %s", row)
	}
	p.until("the state", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " ? paused") })
	p.Advance(rest)
	p.Press("enter") // the whole request
	p.wait("CONTEXT", "system prompt")
	p.Press("esc")
	p.press("s")
	p.wait("PAUSED  before look", "only reads", "command  a", "e edit", "a answer")
	l.has()
	p.press("s")
	p.wait("command  b")
	l.has("look a")
	p.press("s")
	p.wait("PAUSED  before the model call", "step 2", "new    3 messages")
	p.press("u")
	p.wait("RUN UNTIL", "shell")
	p.Type("shel")
	p.Press("enter")
	p.wait("APPROVE  shell has effects", "break: shell") // the policy asks about it anyway
	l.has("look a", "look b", "look c")
	p.press("y")
	p.done()
	p.sees("all done")
	l.has("look a", "look b", "look c", "shell d", "look e")
	p.turns("ann-window-1")
	p.Press("ctrl+x", "b")
	p.went("break: shell")
	p.quit()
}

// While a run is on the key arms and disarms; a break at a tool stops there only; a run goes on freely with c.
func TestDebuggerArmedInARun(t *testing.T) {
	l := newLedger(t)
	p := startPlay(t, t.TempDir(), l.bench(
		slowly("thinking", 4*time.Second).When("talk"),
		scripted.Calls(callOf("look", "a")).When("go"), scripted.Calls(callOf("shell", "b")).When("go"), scripted.Text("end").When("go")))
	p.Enter("talk")
	p.wait("streaming")
	p.Press("ctrl+x", "b")
	p.wait("break: next call")
	p.Press("ctrl+x", "b")
	p.went("break: next call")
	p.done()
	p.Enter("/break nothing")
	p.wait("unknown")
	p.Enter("/break look")
	p.wait("break: look")
	p.Enter("go")
	p.wait("PAUSED  before look")
	p.press("esc")
	p.seesNot("PAUSED")
	p.until("the mark", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " ? paused") })
	p.Press("ctrl+x", "a")
	p.wait("PAUSED  before look")
	p.press("c")
	p.wait("APPROVE  shell")
	p.seesNot("break: look")
	p.press("y")
	p.done()
	l.has("look a", "shell b")
}

// Arguments are edited, also of an approval; what the schema refuses is said where one edits, with the text kept; the edited
// call is asked about by itself, runs with what was shown, and the model is told.
func TestDebuggerEdits(t *testing.T) {
	l := newLedger(t)
	p := startPlay(t, t.TempDir(), l.bench(
		scripted.Calls(callOf("shell", "rm a\u202e")).When("go"), scripted.Text("fine").When("go")))
	p.Enter("go")
	p.wait("APPROVE  shell", "rm a<U+202E>", "e edit")
	p.press("e")
	p.wait("EDIT", "arguments of shell", `"command": "rm a\u202e"`, "Ctrl+J new line")
	p.Press("ctrl+end", "backspace", "enter")
	p.wait("row 3, column 1: unexpected end")
	p.Type("}")
	p.Press("ctrl+home", "down", "end")
	p.Type(",")
	p.Press("ctrl+j")
	p.Type(`"force": true`)
	p.Press("enter")
	p.wait("force") // the schema knows no such field
	p.until("the reason", func(s demo.Screen) bool { return s.Has("EDIT") && s.Has("✗") })
	p.Press("esc")
	p.wait("kept", "rm a<U+202E>")
	l.has()
	p.press("e")
	p.wait(`"force": true`)
	p.Press("ctrl+home", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k")
	p.Paste("{\n\"command\": \"ls\"\n}")
	p.Press("enter")
	p.went("EDIT")
	p.wait("APPROVE  shell", "command  ls")
	p.sees("? shell         ls")
	p.went("shell         rm a") // the call's row shows what waits
	p.press("y")
	p.done()
	l.has("shell ls")
	if got := p.model.asked(); !strings.Contains(got, "changed the arguments") {
		t.Errorf("the model was told:\n%s", got)
	}
	p.turns("ann-window-1")
}

// A call is answered by hand: the tool does not run, the model gets the user's text.
func TestDebuggerAnswers(t *testing.T) {
	l := newLedger(t)
	p := startPlay(t, t.TempDir(), l.bench(
		scripted.Calls(callOf("look", "a"), callOf("look", "b")).When("go"), scripted.Text("fine").When("go")))
	p.Enter("/break look")
	p.wait("break: look")
	p.Enter("go")
	p.wait("PAUSED  before look")
	p.press("a")
	p.wait("ANSWER", "for look")
	p.Press("enter")
	p.wait("what should the model be told?")
	p.Type("nothing there")
	p.Press("ctrl+j")
	p.Type("at all")
	p.Press("esc")
	p.wait("kept")
	p.press("a")
	p.wait("nothing there")
	p.Press("enter")
	p.wait("command  b")
	p.press("c")
	p.done()
	l.has("look b")
	if got := p.model.asked(); !strings.Contains(got, `nothing there\nat all`) {
		t.Errorf("the model was told:\n%s", got)
	}
	p.turns("ann-window-1")
}

// x stops the run that stands still; nothing runs, the history is valid.
func TestDebuggerStops(t *testing.T) {
	for _, at := range []string{"before the model call", "before look"} {
		l := newLedger(t)
		p := startPlay(t, t.TempDir(), l.bench(scripted.Calls(callOf("look", "a")).When("go"), scripted.Text("fine").When("again")))
		p.Press("ctrl+x", "b")
		p.wait("break: next call")
		p.Enter("go")
		p.wait("PAUSED  before the model call")
		if at == "before look" {
			p.press("s")
			p.wait("PAUSED  before look")
		}
		p.press("x")
		p.until("the end", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " / stopped") })
		p.seesNot("PAUSED")
		p.Press("ctrl+x", "b")
		p.went("break: next call")
		p.ask("again")
		l.has()
		p.turns("ann-window-1")
	}
}

// A run that stands still before a model call, or a tool call, stands there again after a kill; each word works there.
func TestDebuggerSurvives(t *testing.T) {
	for _, c := range []struct{ before, key string }{
		{"the model call", "s"}, {"the model call", "c"}, {"the model call", "x"},
		{"look", "s"}, {"look", "c"}, {"look", "x"}, {"look", "e"}, {"look", "a"},
	} {
		t.Run(c.before+" "+c.key, func(t *testing.T) { debuggerSurvives(t, c.before, c.key) })
	}
}

func debuggerSurvives(t *testing.T, before, key string) {
	l := newLedger(t)
	s := l.bench(scripted.Calls(callOf("look", "a")).When("go"), scripted.Text("the end").When("go"))
	p := startPlay(t, t.TempDir(), s)
	p.Press("ctrl+x", "b")
	p.wait("break: next call")
	p.Enter("go")
	p.wait("PAUSED  before the model call")
	if before == "look" {
		p.press("s")
		p.wait("PAUSED  before look")
		s = l.bench(scripted.Text("the end").When("go"))
	}
	s.at = playStart.Add(72 * time.Hour)
	q := startPlay(t, p.crash(), s)
	q.wait("PAUSED  before "+before, "break: next call")
	if row := q.Screen().Row(0); !strings.Contains(row, "?") {
		t.Errorf("the tab is not marked: %s", row)
	}
	l.has()
	q.press(key)
	switch key {
	case "x":
		q.wait("/ interrupted")
		q.seesNot("PAUSED")
		l.has()
		q.turns("ann-window-1")
		return
	case "e":
		q.wait(`"command": "a"`)
		q.Press("ctrl+home", "down", "end", "left", "backspace")
		q.Type("z")
		q.Press("enter")
		q.wait("command  z")
		q.press("c")
	case "a":
		q.wait("ANSWER")
		q.Type("by hand")
		q.Press("enter")
	case "s":
		if before != "look" {
			q.wait("PAUSED  before look")
			q.press("s")
		}
		q.wait("PAUSED  before the model call", "step 2")
		q.press("c")
	}
	if key == "a" {
		q.wait("PAUSED  before the model call")
		q.press("c")
	}
	q.done()
	q.sees("the end")
	switch key {
	case "e":
		l.has("look z")
	case "a":
		l.has()
	default:
		l.has("look a")
	}
	q.turns("ann-window-1")
}

// A pause on a hidden tab marks that tab, and blocks no other one.
func TestDebuggerOnAHiddenTab(t *testing.T) {
	l := newLedger(t)
	p := startPlay(t, t.TempDir(), l.bench(scripted.Text("never").When("go"), scripted.Text("here").When("other")))
	p.Press("ctrl+x", "b")
	p.wait("break: next call")
	p.Enter("go")
	p.wait("PAUSED")
	p.Press("ctrl+x", "n")
	p.until("the new tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "❯2") })
	p.seesNot("PAUSED")
	p.ask("other")
	p.sees("here")
	if row := p.Screen().Row(0); !strings.Contains(row, "1 go ?") {
		t.Errorf("the hidden tab is not marked: %s", row)
	}
	p.Press("ctrl+x", "a")
	p.wait("PAUSED")
	p.press("c")
	p.wait("never")
}

// One running call of several is stopped from the trace; the other goes on. What a long call says of itself stands there.
func TestStopOneCall(t *testing.T) {
	type none struct{}
	s := script(scripted.Calls(scripted.Call{Name: "long", Args: "{}"}, scripted.Call{Name: "other", Args: "{}"}).When("go"), scripted.Text("both came back").When("go"))
	s.tools = func(clk clock.Clock) []tools.Tool {
		slow := func(name string, d time.Duration) tools.Tool {
			return tools.New(name, "takes its time", tools.ReadOnly, func(ctx context.Context, c tools.Call, _ none) (tools.Output, error) {
				c.Progress("page 1 of 9 of " + name)
				if err := clk.Sleep(ctx, d/2); err != nil {
					return tools.Output{}, err
				}
				c.Progress("page 5 of 9 of " + name)
				return tools.Output{Data: "all of " + name}, clk.Sleep(ctx, d/2)
			})
		}
		return []tools.Tool{slow("long", 40*time.Second), slow("other", 10*time.Second)}
	}
	p := startPlay(t, t.TempDir(), s)
	p.Enter("go")
	p.wait("TOOL CALL  other", "page 1 of 9 of other", "x: stop it")
	p.Advance(6 * time.Second)
	p.sees("page 5 of 9 of other")
	p.Press("tab", "tab", "k")
	p.wait("TOOL CALL  long", "page 1 of 9 of long")
	p.Press("x")
	p.until("the stopped call", func(s demo.Screen) bool { return s.Has("/ long") })
	if strings.HasPrefix(status(p.Screen()), " / stopped") {
		t.Error("the whole run was stopped")
	}
	p.Press("x")
	p.wait("x stops a tool call that runs")
	p.done()
	p.sees("both came back")
	rows := p.turns("ann-window-1")
	if got := rows[2].Content + rows[3].Content; !strings.Contains(got, "interrupted") || !strings.Contains(got, "all of other") {
		t.Errorf("the model got %s", got)
	}
}

// The status line counts against the caps on time and cost.
func TestBudgetsInTheStatusLine(t *testing.T) {
	s := script(slowly("a long answer", 8*time.Second))
	s.w, s.h = 200, 50
	s.env = []string{"AGENT_MAX_RUN_COST=0.5", "AGENT_RUN_DEADLINE_SECONDS=60"}
	p := startPlay(t, t.TempDir(), s)
	p.Enter("go")
	p.wait("streaming")
	p.Advance(2 * time.Second)
	for _, want := range []string{"step 1 of 8", "calls  0 of 20", " s of 1 m 00 s", "of 100k tokens", "cost - of $0.5000"} {
		if !strings.Contains(status(p.Screen()), want) {
			t.Errorf("no %q in %q", want, status(p.Screen()))
		}
	}
	p.done()
}
