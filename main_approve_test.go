package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/demo"
)

// B164: three calls of one message and one in a second tab, each with a decision of its own, in call order, with sizes that
// change and a tab out of sight meanwhile; no one waits without a question or a mark.
func TestB164SeveralApprovals(t *testing.T) {
	l := newLedger(t)
	steps := []scripted.Step{
		scripted.Calls(callOf("shell", "one"), callOf("shell", "two"), callOf("shell", "three")).When("first"), scripted.Text("first is over").When("first"),
		scripted.Calls(callOf("shell", "four")).When("second"), scripted.Text("second is over").When("second"),
	}
	p := startPlay(t, t.TempDir(), l.bench(steps...))
	p.Enter("first")
	p.wait("APPROVE  shell", "1 of 3", "command  one")
	p.Press("ctrl+x", "n")
	p.until("the new tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "❯2") })
	p.seesNot("APPROVE")
	p.marked("1 first ?")
	p.Enter("second")
	p.wait("APPROVE  shell", "command  four")
	p.seesNot("1 of 1")
	p.Press("ctrl+x", "a") // over the tabs
	p.wait("1 of 3", "command  one")
	p.marked("2 second ?")
	for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 50}, {100, 30}, {140, 36}} {
		p.Resize(size[0], size[1])
		p.Advance(100 * time.Millisecond)
		p.sees("APPROVE", "1 of 3", "one")
		sameAsNew(t, p, "with a question")
	}
	p.press("y")
	p.wait("2 of 3", "command  two")
	p.press("n")
	p.wait("DENY")
	p.Type("not that one")
	p.Resize(80, 24)
	p.Press("enter")
	p.wait("3 of 3", "command  three")
	l.has() // nothing of a batch runs before all of it is decided
	p.Press("ctrl+x", "a")
	p.wait("command  four")
	p.marked("1 first ?")
	p.press("y")
	p.wait("second is over")
	l.has("shell four")
	p.Press("alt+1")
	p.press("y")
	p.wait("first is over")
	l.has("shell four", "shell one", "shell three")
	rows := p.turns("ann-window-1")
	var got []string
	for _, r := range rows {
		if r.Kind == "tool" {
			got = append(got, r.Content)
		}
	}
	for i, want := range []string{"did one", "not that one", "did three"} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Errorf("result %d is not %q: %q", i, want, got)
		}
	}
}

// marked wants the tab bar to hold a text.
func (p *play) marked(text string) {
	p.t.Helper()
	if row := p.Screen().Row(0); !strings.Contains(row, text) {
		p.t.Errorf("no %q in the tabs: %s", text, row)
	}
}

// B164: a dialog that asks about leaving takes no decision away, and answers nothing; the first is denied while the others wait,
// which are still asked.
func TestB164QuitDialogAndDenyFirst(t *testing.T) {
	l := newLedger(t)
	p := startPlay(t, t.TempDir(), l.bench(
		scripted.Calls(callOf("shell", "one"), callOf("shell", "two"), callOf("shell", "three")).When("go"), scripted.Text("over").When("go")))
	p.Enter("go")
	p.wait("1 of 3")
	p.press("n")
	p.wait("DENY")
	p.Press("enter")
	p.wait("2 of 3", "command  two")
	p.Press("ctrl+x", "q")
	p.wait("QUIT")
	p.Press("y", "n", "esc")
	p.went("QUIT")
	p.sees("2 of 3", "command  two")
	p.press("y")
	p.wait("3 of 3", "command  three")
	p.press("y")
	p.done()
	l.has("shell two", "shell three")
	p.turns("ann-window-1")
}

// What begins a message answers nothing, however long the question has stood there and at whatever pace one types; a letter
// alone answers with Enter, or with Tab before it.
func TestFirstLettersAnswerNothing(t *testing.T) {
	ask := func() (*play, *ledger) {
		l := newLedger(t)
		p := startPlay(t, t.TempDir(), l.bench(scripted.Calls(callOf("shell", "rm")).When("go"), scripted.Text("over").When("go")))
		p.Enter("go")
		p.wait("APPROVE")
		return p, l
	}
	texts := []string{"yes", "no, rather", "always", "every one", "very"}
	if testing.Short() {
		texts = texts[:1]
	}
	for n, text := range texts {
		for i, waits := range []time.Duration{0, 400 * time.Millisecond, 600 * time.Millisecond, 5 * time.Second} {
			for j, pace := range []time.Duration{0, 250 * time.Millisecond, 310 * time.Millisecond, 4 * time.Second} {
				if (n+i+j)%4 > 0 && (testing.Short() || n > 0) { // the letters do not differ but in what they answer
					continue
				}
				p, l := ask()
				p.Advance(waits)
				for _, r := range text {
					p.Type(string(r))
					p.Advance(pace)
				}
				p.Advance(3 * time.Second)
				if row := inputRow(p.Screen()); row != "❯ "+text {
					t.Fatalf("after %v, at a pace of %v, the input holds %q:\n%s", waits, pace, row, p.Screen())
				}
				p.sees("APPROVE  shell")
				p.seesNot("DENY", "EDIT")
				l.has()
				p.end()
			}
		}
	}
	p, l := ask()
	if _, _, in := p.Screen().Cursor(); !in {
		t.Error("the cursor left the input at once")
	}
	p.Advance(rest)
	if _, _, in := p.Screen().Cursor(); in || !p.Screen().Has("❯? APPROVE") {
		t.Errorf("the question does not show that it takes keys:\n%s", p.Screen())
	}
	p.Press("y")
	p.Advance(time.Minute)
	p.sees("❯ y", "Enter once  Esc takes it back  or type on")
	l.has()
	p.Press("enter")
	p.done()
	l.has("shell rm")
	p, l = ask()
	p.Advance(rest)
	p.Press("tab", "y")
	p.done()
	l.has("shell rm")
}

// A question that comes while one reads or types leaves the keys where they are.
func TestQuestionLeavesTheKeys(t *testing.T) {
	l := newLedger(t)
	p := startPlay(t, t.TempDir(), l.bench(
		slowly(strings.Repeat("many words ", 300), 2*time.Second).When("talk"),
		scripted.Calls(callOf("shell", "rm")).Delay(2*time.Second).When("go"), scripted.Text("over").When("go")))
	p.ask("talk")
	p.Enter("go")
	p.Type("half a mess")
	p.wait("APPROVE")
	p.Advance(5 * time.Second)
	p.Type("age")
	if row := inputRow(p.Screen()); row != "❯ half a message" {
		t.Errorf("the input holds %q", row)
	}
	p.Press("ctrl+u")
	for range 10 { // reading
		p.Press("pgup")
		p.Advance(400 * time.Millisecond)
		if p.Screen().Has("❯? APPROVE") {
			t.Fatal("the question took the focus from somebody who reads")
		}
	}
	p.Press("pgdown", "tab", "tab") // the chat
	p.Advance(5 * time.Second)
	p.Press("y") // copies
	p.Advance(rest)
	p.sees("APPROVE")
	l.has()
	p.Press("shift+tab", "y")
	p.done()
	l.has("shell rm")
}

// A run that waits for approval waits through a kill: the questions stand there again, in order, each is answered, and what was
// decided before is not asked again.
func TestApprovalsSurvive(t *testing.T) {
	l := newLedger(t)
	p := startPlay(t, t.TempDir(), l.bench(scripted.Calls(callOf("shell", "one"), callOf("shell", "two"), callOf("shell", "three")).When("go")))
	p.Enter("go")
	p.wait("1 of 3")
	p.press("y")
	p.wait("2 of 3")
	s := l.bench(scripted.Text("over").When("go"))
	s.at = playStart.Add(3 * 24 * time.Hour)
	q := startPlay(t, p.crash(), s)
	q.wait("APPROVE  shell", "command  two", "1 of 2")
	q.marked("?")
	l.has()
	q.press("n")
	q.wait("DENY")
	q.Type("too late")
	q.Press("enter")
	q.wait("command  three")
	q.press("y")
	q.done()
	q.sees("over")
	l.has("shell one", "shell three")
	q.turns("ann-window-1")
}

// B070: a message instead of an answer, at once and from a session that was resumed: the call was not run, the result says so
// and stands in front of the message, the question is gone.
func TestB070MessageInsteadOfAnAnswer(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		l := newLedger(t)
		s := l.bench(scripted.Calls(callOf("shell", "c1")).When("go"), scripted.Text("doing X").When("actually"))
		p := startPlay(t, t.TempDir(), s)
		p.Enter("go")
		p.wait("APPROVE")
		if resumed {
			s = l.bench(scripted.Text("doing X").When("actually"))
			s.at = playStart.Add(time.Hour)
			p = startPlay(t, p.crash(), s)
			p.wait("APPROVE")
		}
		p.Advance(rest)
		p.Press("esc")
		p.went("APPROVE")
		p.Enter("actually do X")
		p.wait("doing X")
		p.done()
		p.seesNot("APPROVE")
		l.has()
		rows := p.turns("ann-window-1")
		at := slices.IndexFunc(rows, func(m message) bool { return m.Content == "actually do X" })
		result := slices.IndexFunc(rows, func(m message) bool { return m.Kind == "tool" })
		if result < 0 || at < result || !strings.Contains(rows[result].Content, "not run") && !strings.Contains(rows[result].Content, "not_run") {
			t.Errorf("resumed %v: the result is at %d, the message at %d: %+v", resumed, result, at, rows)
		}
	}
}

// B163: what would not show is spelled out; what runs is byte for byte what was stored and shown.
func TestB163HiddenCharacters(t *testing.T) {
	for hidden, shown := range map[string]string{
		"a\u202eb": "a<U+202E>b", "a\u2066b": "a<U+2066>b", "a\u200bb": "a<U+200B>b", "a\U000e0100b": "a<U+E0100>b", "a\u00a0b": "a<U+00A0>b",
		"a" + strings.Repeat(" ", 200) + "; rm x": "a<200 spaces>; rm x", "echo safe\rrm -rf x": "echo safe<U+000D>rm -rf x",
		"ls \x1b[8m; rm x\x1b[0m": "ls <U+001B>[8m; rm x<U+001B>[0m", "c\u0430t x": "c<U+0430>t x", "列出 文件": "列出 文件",
	} {
		if testing.Short() && !strings.HasPrefix(hidden, "a\u202e") && !strings.HasPrefix(hidden, "ls") {
			continue
		}
		l := newLedger(t)
		p := startPlay(t, t.TempDir(), l.bench(scripted.Calls(callOf("shell", hidden)).When("go"), scripted.Text("over").When("go")))
		p.Enter("go")
		p.wait("APPROVE")
		p.sees("command  " + shown)
		p.press("v")
		p.wait("APPROVE  shell")
		p.sees(shown)
		p.Press("esc")
		waiting := stored(p, func(ctx context.Context) ([]trace.Event, error) {
			return p.app.Library.Events(ctx, "ann-window-1", "", 0, 1000)
		})
		var asked command
		for _, e := range waiting {
			if d, ok := e.Data.(trace.ApprovalData); ok {
				if err := json.Unmarshal(d.Arguments, &asked); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.press("e") // the editor changes nothing by itself
		p.wait("EDIT")
		p.Press("enter")
		p.went("EDIT")
		p.press("y")
		p.done()
		data, err := os.ReadFile(l.path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{hidden, hidden}, []string{asked.Command, strings.TrimSuffix(strings.TrimPrefix(string(data), "shell "), "\n")}); d != "" {
			t.Errorf("%q: asked and run (-want +got):\n%s", hidden, d)
		}
	}
}

// What a tool says that it would do is shown, in part where there is little room and whole with v.
func TestPreviews(t *testing.T) {
	var ran []string
	s := script(scripted.Calls(callOf("deploy", "all")).When("go"), scripted.Text("over").When("go"))
	s.w, s.h = 80, 24
	s.tools = func(clock.Clock) []tools.Tool {
		return []tools.Tool{tools.New("deploy", "deploys", tools.SideEffect, func(_ context.Context, _ tools.Call, in command) (tools.Output, error) {
			ran = append(ran, in.Command)
			return tools.Output{Data: "ok"}, nil
		}, tools.WithPreview(func(context.Context, tools.Call, command) (string, error) {
			var b strings.Builder
			for i := range 30 {
				fmt.Fprintf(&b, "%2d + host-%d\n", i, i)
			}
			return b.String(), nil
		}))}
	}
	p := startPlay(t, t.TempDir(), s)
	p.Enter("go")
	p.wait("APPROVE  deploy", "host-0", "more rows: v shows all")
	p.seesNot("host-29")
	p.press("v")
	p.wait("What it would do")
	p.Press("G")
	p.sees("host-29")
	p.Press("esc")
	p.press("y")
	p.done()
	if d := cmp.Diff([]string{"all"}, ran); d != "" {
		t.Error(d)
	}
}

// A call with effects that was under way at a kill: the user says what became of it, each word once.
func TestUnknownOutcomes(t *testing.T) {
	for key, want := range map[string][]string{"y": {"shell rm"}, "n": {"shell rm"}, "r": {"shell rm", "shell rm"}, "x": {"shell rm"}} {
		l := newLedger(t)
		s := script(scripted.Calls(callOf("shell", "rm")).When("go"), scripted.Text("over").When("go"))
		s.env = []string{"AGENT_TOOL_POLICY=side_effect=auto"}
		slow := func(clk clock.Clock) []tools.Tool {
			return []tools.Tool{tools.New("shell", "runs", tools.SideEffect, func(ctx context.Context, _ tools.Call, in command) (tools.Output, error) {
				if err := l.note("shell " + in.Command); err != nil {
					return tools.Output{}, err
				}
				return tools.Output{Data: "did it"}, clk.Sleep(ctx, 10*time.Second)
			})}
		}
		s.tools = slow
		p := startPlay(t, t.TempDir(), s)
		p.Enter("go")
		p.wait(" running ")
		p.Advance(time.Second)
		s = script(scripted.Text("over").When("go"))
		s.at, s.tools, s.env = playStart.Add(time.Hour), slow, []string{"AGENT_TOOL_POLICY=side_effect=auto"}
		q := startPlay(t, p.crash(), s)
		q.wait("INTERRUPTED", "shell ran, perhaps: did it?", "y it ran", "n it did not", "r run it again", "x give up")
		q.marked("?")
		q.Type("yes and more") // a message's first letter says nothing about it
		q.Advance(rest)
		q.sees("shell ran, perhaps")
		q.Press("ctrl+c")
		q.press(key)
		if key == "x" {
			q.wait("/ interrupted")
		} else {
			q.done()
			q.sees("over")
		}
		l.has(want...)
		q.turns("ann-window-1")
		q.end()
	}
}

// At the start runs that nobody holds are told of once: that of the session in front by its own question, those of others by a
// line with the key that shows them on top of the list.
func TestUnfinishedRunsAreOffered(t *testing.T) {
	dir := t.TempDir()
	l := newLedger(t)
	p := startPlay(t, dir, l.bench(
		scripted.Calls(callOf("shell", "one")).When("first"), scripted.Calls(callOf("shell", "two")).When("second"), scripted.Text("fine").When("third")))
	p.Enter("first")
	p.wait("command  one")
	p.Press("ctrl+x", "n")
	p.until("the new tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "❯2") })
	p.Enter("second")
	p.wait("command  two")
	p.Press("ctrl+x", "n")
	p.until("the new tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "❯3") })
	p.ask("third")
	p.clk.Run(func() { // only the third is a tab at the next start
		if err := p.app.Library.SaveTabs(context.Background(), "ann", runtime.Tabs{Sessions: []string{"ann-window-3"}}); err != nil {
			t.Error(err)
		}
	})
	dir = p.crash()
	s := l.bench(scripted.Text("over").When("first"))
	s.at = playStart.Add(time.Hour)
	q := startPlay(t, dir, s)
	q.wait("UNFINISHED  2 other sessions have a run to go on with", "Ctrl+X S")
	q.Press("ctrl+x", "s")
	q.wait("SESSIONS", "needs you")
	_, y1, _ := q.Screen().Find("needs you")
	if _, y3, ok := q.Screen().Find("third                                1 turn"); !ok || y3 < y1 {
		t.Errorf("what waits is not on top:\n%s", q.Screen())
	}
	q.Press("esc")
	q.seesNot("UNFINISHED") // it was seen
	q.Enter("/sessions first")
	q.wait("needs you")
	q.Press("enter")
	q.wait("command  one")
	q.press("y")
	q.wait("over")
	l.has("shell one")
	q.end()

	s = stage{}
	s.at = playStart.Add(2 * time.Hour)
	r := startPlay(t, dir, s)
	r.wait("UNFINISHED  1 other session has a run to go on with")
	r.Press("esc")
	r.seesNot("UNFINISHED")
	r.Advance(time.Minute)
	r.seesNot("UNFINISHED")
}

// A session that another program holds is followed as it stores events; when that program leaves the page says so, and Enter
// takes it.
func TestFollowedLive(t *testing.T) {
	dir := t.TempDir()
	l := newLedger(t)
	p := startPlay(t, dir, l.bench(scripted.Text("hello").When("hi"), scripted.Calls(callOf("look", "a"), callOf("shell", "b")).When("go"), scripted.Text("all over").When("go")))
	p.ask("hi")
	s := l.bench(scripted.Text("mine now").When("and you"))
	s.session = "ann-window-1"
	q := startPlay(t, dir, s)
	q.wait("READ ONLY  open in process", fmt.Sprint(os.Getpid()), "followed live")
	p.Enter("go")
	p.wait("APPROVE  shell")
	q.wait("⡇ go", "look", "shell", "where it waits for an answer")
	q.seesNot("APPROVE")
	p.press("y")
	p.done()
	q.wait("all over", "turn 2")
	q.Advance(30 * time.Second)
	q.sees("READ ONLY")
	p.quit()
	q.wait("FREE  process", "has left it; Enter takes it")
	q.Press("enter")
	q.went("FREE  process")
	q.ask("and you")
	q.sees("mine now")
	l.has("look a", "shell b")
}
