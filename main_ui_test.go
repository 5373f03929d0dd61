package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui"
	"vitrine/ui/cli"
	"vitrine/ui/demo"
)

// playStart is when every play begins.
var playStart = time.Date(2026, 3, 6, 14, 2, 0, 0, time.UTC)

// play is the whole program under simulated time: the real store, engine, bus, trace file and screen, on the offline model
// or a scripted one.
type play struct {
	*demo.Driver
	t     testing.TB
	clk   *clock.Sim
	dir   string
	cfg   config.Config
	app   *cli.App
	model *recorder
	out   strings.Builder // all that was written to the terminal
	ended bool
}

// stage is how a play is set up; the zero value is the offline model at 140x36 with a terminal that counts code points.
type stage struct {
	w, h     int
	grapheme bool
	at       time.Time
	session  string
	// model takes the place of the offline one.
	model func(clk clock.Clock) llm.Client
	tools func(clk clock.Clock) []tools.Tool
	env   []string
	// ids takes the place of the program's random ones.
	ids func() string
	// lockWait is how long another program that has the database locked is waited for, in real time; 0 is the program's.
	lockWait time.Duration
}

// recorder keeps what the model was asked.
type recorder struct {
	inner    llm.Client
	mu       sync.Mutex
	requests []llm.Request
}

func (r *recorder) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	r.mu.Lock()
	r.requests = append(r.requests, req)
	r.mu.Unlock()
	return r.inner.Stream(ctx, req)
}

// asked is the text of the newest request, all messages joined.
func (r *recorder) asked() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.requests) == 0 {
		return ""
	}
	var b strings.Builder
	for _, m := range r.requests[len(r.requests)-1].Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// users are the texts that the user sent, as the model was asked them last by each request, without repeats.
func (r *recorder) users() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, req := range r.requests {
		last := ""
		for _, m := range req.Messages {
			if m.Role == llm.RoleUser && m.Kind != llm.KindNotice {
				last = m.Content
			}
		}
		if len(all) == 0 || all[len(all)-1] != last {
			all = append(all, last)
		}
	}
	return all
}

func startPlay(t testing.TB, dir string, s stage) *play {
	t.Helper()
	if s.w == 0 {
		s.w, s.h = 140, 36
	}
	if s.at.IsZero() {
		s.at = playStart
	}
	p := &play{t: t, dir: dir, clk: clock.NewSim(s.at)}
	env := append([]string{"AGENT_DB_PATH=" + filepath.Join(dir, "sessions.db"), "AGENT_TRACE_PATH=" + filepath.Join(dir, "traces.jsonl")}, s.env...)
	var err error
	if p.cfg, err = config.Load(config.Inputs{Environ: env, Flags: config.Flags{User: "ann"}}); err != nil {
		t.Fatal(err)
	}
	var opts ui.Options
	show := func(_ context.Context, o ui.Options) error {
		opts = o
		return nil
	}
	w := wiring{ids: s.ids, lockWait: s.lockWait, show: show, client: func(c llm.Client) llm.Client {
		if s.model != nil {
			c = s.model(p.clk)
		}
		p.model = &recorder{inner: c}
		return p.model
	}}
	if s.tools != nil {
		w.tools = s.tools(p.clk)
	}
	p.clk.Run(func() { p.app, err = w.open(context.Background(), p.cfg, p.clk, cli.OpenOptions{}) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.app.Screen(context.Background(), cli.ScreenOptions{Session: s.session}); err != nil {
		t.Fatal(err)
	}
	opts.Folder, opts.Models, opts.Offer = "~/work", append(opts.Models, "mock-2"), nil
	p.Driver = demo.New(demo.Config{
		Clock: p.clk, Options: opts, Width: s.w, Height: s.h, Grapheme: s.grapheme,
		Output: func(_ time.Time, frame string) { p.out.WriteString(frame) },
	})
	t.Cleanup(p.end)
	p.until("the opened session", func(s demo.Screen) bool {
		row := status(s)
		return row != "" && !strings.Contains(row, "opening")
	})
	return p
}

// end closes the program in order.
func (p *play) end() {
	if p.ended {
		return
	}
	p.ended = true
	p.Close()
	p.clk.Run(func() {
		if err := p.app.Close(context.Background()); err != nil {
			p.t.Errorf("close: %v", err)
		}
	})
}

// quit leaves by Ctrl+C twice.
func (p *play) quit() {
	p.t.Helper()
	p.Press("ctrl+c", "ctrl+c")
	p.Advance(10 * time.Second)
	if !p.Ended() {
		p.t.Fatalf("two Ctrl+C do not leave:\n%s", p.Screen())
	}
	p.end()
}

// crash ends the program as kill -9 does, and gives a folder with what is left on the disk. The files are copied because
// the dead program's locks live as long as this test does.
func (p *play) crash() string {
	p.t.Helper()
	p.clk.Halt()
	p.ended = true
	to := p.t.TempDir()
	files, err := filesIn(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for path, data := range files {
		rel, _ := filepath.Rel(p.dir, path)
		if strings.HasSuffix(path, "-shm") { // the memory of the dead
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o700); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, rel), []byte(data), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	return to
}

// patience is far above what anything takes in simulated time.
const patience = 2 * time.Minute

func (p *play) wait(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if err := p.Wait(patience, text); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *play) until(what string, ok func(demo.Screen) bool) {
	p.t.Helper()
	if err := p.WaitFor(patience, what, ok); err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) sees(texts ...string) {
	p.t.Helper()
	s := p.Screen()
	for _, text := range texts {
		if !s.Has(text) {
			p.t.Fatalf("the screen does not show %q:\n%s", text, s)
		}
	}
}

func (p *play) seesNot(texts ...string) {
	p.t.Helper()
	s := p.Screen()
	for _, text := range texts {
		if s.Has(text) {
			p.t.Fatalf("the screen shows %q:\n%s", text, s)
		}
	}
}

// status is the last row.
func status(s demo.Screen) string {
	_, h := s.Size()
	return s.Row(h - 1)
}

// done waits for the end of the run in the active tab.
func (p *play) done() {
	p.t.Helper()
	p.until("the end of the run", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " ✓ done") })
}

// ask sends a text and waits for the end of its run.
func (p *play) ask(text string) {
	p.t.Helper()
	p.Enter(text)
	p.until("the start of the run", func(s demo.Screen) bool {
		return !strings.Contains(status(s), "ready") && !strings.Contains(status(s), "done")
	})
	p.done()
}

// stored reads something from the library, as a participant.
func stored[T any](p *play, read func(ctx context.Context) (T, error)) T {
	p.t.Helper()
	var (
		v   T
		err error
	)
	p.clk.Run(func() { v, err = read(context.Background()) })
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// script is a stage on a scripted model that refuses histories that are not valid.
func script(steps ...scripted.Step) stage {
	return stage{model: func(clk clock.Clock) llm.Client { return scripted.New(clk, steps...).Strict() }}
}

// slowly is a reply that takes about d.
func slowly(text string, d time.Duration) scripted.Step {
	n := max(len([]rune(text))/4, 1)
	return scripted.Text(text).ChunkSize(4).Pace(d / time.Duration(n))
}

// turns reads a session's messages and checks that they are whole turns.
func (p *play) turns(session string) []message {
	p.t.Helper()
	rows := stored(p, func(ctx context.Context) ([]runtime.MessageRow, error) {
		return p.app.Library.Messages(ctx, session, 0, 1000)
	})
	var list []message
	for _, r := range rows {
		m := message{N: r.N, Kind: string(r.Kind), Role: string(r.Role), Content: r.Content, CallID: r.ToolCallID}
		for _, c := range r.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, struct{ ID string }{c.ID})
		}
		list = append(list, m)
	}
	if t, ok := p.t.(*testing.T); ok {
		checkTurns(t, list)
	}
	return list
}

// said are the user's messages of a session.
func (p *play) said(session string) []string {
	var texts []string
	for _, m := range p.turns(session) {
		if m.Kind == "user" {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// fact is something to tell, and how it is asked for.
type fact struct{ tell, ask, value string }

// drawFact draws a fact, English or Chinese.
func drawFact(rng *rand.Rand) fact {
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	if rng.IntN(2) == 0 {
		what := pick("release branch", "code word", "wifi password", "team motto", "server address")
		value := fmt.Sprintf("%s-%d", pick("falcon", "teal", "heron", "ficus"), rng.IntN(9000)+1000)
		return fact{fmt.Sprintf("remember that the %s is %s", what, value), fmt.Sprintf("what is the %s?", what), value}
	}
	what := pick("数据库密码", "项目代号", "幸运数字", "会议室", "团队口号")
	value := pick("猎鹰", "蓝色", "勇往直前", "阿黄") + fmt.Sprint(rng.IntN(9000)+1000)
	return fact{"请记住：" + what + "是" + value, what + "是什么？", value}
}

// Two tabs: what is told in the first is known there, through the request to the model, and not in the second.
func TestTabsDoNotShare(t *testing.T) {
	facts := []fact{{"remember that the deploy is on Friday", "when is the deploy?", "Friday"}}
	rng := rand.New(rand.NewPCG(5, 6))
	more := 7
	if testing.Short() {
		more = 1
	}
	for range more {
		facts = append(facts, drawFact(rng))
	}
	for _, f := range facts {
		t.Run(f.tell, func(t *testing.T) {
			p := startPlay(t, t.TempDir(), stage{})
			p.ask(f.tell)
			p.ask("what is 12*7?")
			p.ask(f.ask)
			if !strings.Contains(p.model.asked(), f.value) {
				t.Errorf("the request of the first tab does not hold the fact:\n%s", p.model.asked())
			}
			list := p.turns("ann-window-1")
			if last := list[len(list)-1].Content; !strings.Contains(last, f.value) {
				t.Errorf("the first tab answers %q", last)
			}
			p.sees(f.value)
			p.Press("ctrl+x", "n")
			p.until("a second tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "2 new") && s.Has("TRY") })
			p.ask(f.ask)
			if strings.Contains(p.model.asked(), f.value) {
				t.Errorf("the request of the second tab holds the fact:\n%s", p.model.asked())
			}
			for _, m := range p.turns("ann-window-2") {
				if strings.Contains(m.Content, f.value) {
					t.Errorf("the second tab knows it: %q", m.Content)
				}
			}
			if s := p.Screen(); strings.Contains(strings.SplitN(s.String(), "\n", 2)[1], f.value) { // the tab bar may name it
				t.Errorf("the second tab shows %q:\n%s", f.value, s)
			}
			p.Press("alt+1")
			p.sees(f.value)
		})
	}
}

// After a restart both tabs, their messages, todos, traces and the active one are back.
func TestTabsComeBack(t *testing.T) {
	dir := t.TempDir()
	p := startPlay(t, dir, stage{w: 160, h: 44})
	p.ask("what is (17+5)*3?")
	p.ask("add a todo: submit the report")
	p.Press("ctrl+x", "n")
	p.until("a second tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "2 new") && s.Has("TRY") })
	p.ask("添加待办：给客户写邮件")
	p.Enter("/rename 客户 mail")
	p.wait("2 客户 mail")
	p.Press("ctrl+x", "n")
	p.until("a third tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "3 new") })
	p.ask("hello")
	p.Press("alt+2")
	p.Advance(time.Second)
	before := p.Screen()
	p.quit()
	if got := p.Farewell(); got != "3 tabs kept: vitrine --continue" {
		t.Errorf("farewell %q", got)
	}

	file := fileEvents(t, dir)
	q := startPlay(t, dir, stage{w: 160, h: 44, at: playStart.Add(time.Hour)})
	for n := range 3 {
		q.tracesAgree(t, file, fmt.Sprintf("ann-window-%d", n+1))
	}
	q.Advance(time.Second)
	after := q.Screen()
	for y := range 44 {
		if y == 1 {
			continue // what was counted is an estimate again, until the model counts
		}
		if a, b := before.Row(y), after.Row(y); a != b {
			t.Errorf("row %d was and is\n%s\n%s", y, a, b)
		}
	}
	q.sees("❯2 客户 mail", "◦ 给客户写邮件", "TRACE  turn 1")
	q.Press("alt+1")
	q.sees("66", "◦ submit the report", "calculator", "turn 2")
	q.Press("tab", "tab") // chat, then trace
	q.Press("down", "enter")
	q.Press("esc", "esc")
	q.ask("list my todos")
	q.sees("submit the report")
	q.seesNot("给客户写邮件")
	if got := q.said("ann-window-1"); !slices.Equal(got, []string{"what is (17+5)*3?", "add a todo: submit the report", "list my todos"}) {
		t.Errorf("messages of the first tab: %q", got)
	}
	q.Press("alt+3")
	q.sees("hello")
	q.Press("alt+9") // there is none
	q.sees("hello")
}

// A todo stands in the sidebar before the answer has ended.
func TestTodoBeforeTheAnswer(t *testing.T) {
	for _, s := range []stage{{}, {w: 150, h: 30, grapheme: true}} {
		p := startPlay(t, t.TempDir(), s)
		p.Enter("add a todo: submit the report")
		p.until("the todo in the sidebar", func(s demo.Screen) bool { return s.Has("◦ submit the report") })
		if row := status(p.Screen()); !strings.Contains(row, "streaming") && !strings.Contains(row, "waiting") {
			t.Errorf("the run is not on any more: %s", row)
		}
		for _, m := range stored(p, func(ctx context.Context) ([]runtime.MessageRow, error) {
			return p.app.Library.Messages(ctx, "ann-window-1", 0, 100)
		}) {
			if m.Role == llm.RoleAssistant && len(m.ToolCalls) == 0 {
				t.Errorf("the answer has ended: %q", m.Content)
			}
		}
		p.done()
		p.sees("◦ submit the report")
		p.Enter("/todo 1")
		p.wait("✓ submit the report")
	}
}

// Several tabs run at once; a hidden one gets its mark when it is done.
func TestTabsRunAtOnce(t *testing.T) {
	p := startPlay(t, t.TempDir(), script(
		slowly("The first answer is long, and ends here.", 3*time.Second).When("first"),
		slowly("The second one is done sooner.", time.Second).When("second")))
	p.Enter("the first question")
	p.wait("⠶")
	p.Press("ctrl+x", "n")
	p.until("a second tab", func(s demo.Screen) bool {
		return strings.Contains(s.Row(0), "2 new") && s.Has("TRACE") && !s.Has("The first")
	})
	p.Enter("the second question")
	p.wait("The second")
	p.until("both at work", func(s demo.Screen) bool {
		row := s.Row(0)
		spins := 0
		for _, g := range "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" {
			spins += strings.Count(row, string(g))
		}
		return spins == 2
	})
	p.done()
	p.sees("The second one is done sooner.")
	p.seesNot("The first")
	p.until("the mark of the hidden tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "✓") })
	p.Press("alt+1")
	p.sees("The first answer is long, and ends here.")
	if row := p.Screen().Row(0); strings.Contains(row, "✓") {
		t.Errorf("the mark of a tab that was looked at stays: %s", row)
	}
}

// B044 a, b, c: what is queued during a turn is sent once, in order, when the turn ends well; it stays, to be sent with the
// user's next word, when the model fails; and after a cancel.
func TestQueuedInput(t *testing.T) {
	answers := []scripted.Step{slowly("the second answer", 100*time.Millisecond).When("second"), slowly("the third answer", 100*time.Millisecond).When("third"),
		slowly("the fourth answer", 100*time.Millisecond).When("fourth")}
	refused := scripted.Text("starting on it").ChunkSize(1).Pace(100*time.Millisecond).FailAfter(10, &llm.Error{Kind: llm.ErrServer, Status: 500, Message: "overloaded"})
	for name, c := range map[string]struct {
		first scripted.Step
		end   func(p *play)
	}{
		"finish": {slowly("the first answer", 2*time.Second), func(*play) {}},
		"fail": {refused, func(p *play) {
			p.until("the error", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " ✗") })
			p.Advance(5 * time.Second)
			p.sees("◦ second", "◦ third") // shown, not lost
			p.Enter("fourth")
		}},
		"cancel": {slowly("the first answer", 20*time.Second), func(p *play) { p.Press("esc") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlay(t, t.TempDir(), script(append([]scripted.Step{c.first.When("first")}, answers...)...))
			p.Enter("first")
			p.wait("streaming")
			p.Enter("second")
			p.Enter("third")
			p.wait("◦ second", "◦ third", "queued")
			c.end(p)
			want := []string{"first", "second", "third"}
			last := "the third answer"
			if name == "fail" {
				want, last = append(want, "fourth"), "the fourth answer"
			}
			p.wait(last)
			p.done()
			p.seesNot("queued")
			if got := p.said("ann-window-1"); !slices.Equal(got, want) {
				t.Errorf("sent %q, want %q", got, want)
			}
			if got := p.model.users(); !slices.Equal(got, want) {
				t.Errorf("the model was asked %q", got)
			}
		})
	}
}

// B044, killed: with two inputs queued the program dies; after a restart they are offered again and sent once, in order.
func TestQueuedInputSurvivesAKill(t *testing.T) {
	for _, key := range []string{"x", "y"} {
		p := startPlay(t, t.TempDir(), script(slowly("the first answer", 20*time.Second)))
		p.Enter("first")
		p.wait("streaming")
		p.Enter("second")
		p.Enter("third")
		p.wait("◦ second", "◦ third")
		q := startPlay(t, p.crash(), script(slowly("one", 100*time.Millisecond).When("first"), slowly("two", 100*time.Millisecond).When("second"),
			slowly("three", 100*time.Millisecond).When("third")))
		q.wait("INTERRUPTED", "◦ second", "◦ third")
		q.Advance(5 * time.Second)
		q.sees("INTERRUPTED", "◦ second", "◦ third") // nothing is sent by itself
		if got := q.model.users(); len(got) > 0 {
			t.Errorf("sent without being asked: %q", got)
		}
		q.Press(key, "enter")
		q.wait("three")
		q.done()
		q.seesNot("queued", "INTERRUPTED")
		want := []string{"first", "second", "third"}
		if got := q.said("ann-window-1"); !slices.Equal(got, want) {
			t.Errorf("%s: said %q", key, got)
		}
		if key == "x" {
			want = want[1:]
		}
		if got := q.model.users(); !slices.Equal(got, want) {
			t.Errorf("%s: the model was asked %q, want %q", key, got, want)
		}
	}
}

// A run can be cancelled; an error of the model can be retried; the input of before comes back with Up.
func TestCancelAndRetry(t *testing.T) {
	p := startPlay(t, t.TempDir(), script(
		slowly("this will never be whole, since it is cancelled", 20*time.Second),
		scripted.Fail(&llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "wrong key"}),
		scripted.Text("Now it works.")))
	p.Enter("do something long")
	p.wait("this will")
	p.Press("esc")
	p.until("the end", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " / stopped") })
	p.sees("this will ne", "/ stopped")
	p.seesNot("[interrupted]")
	p.Enter("again please")
	p.until("the error", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " ✗") })
	p.sees("401")
	p.Press("up")
	if row := inputRow(p.Screen()); !strings.Contains(row, "again please") {
		t.Errorf("Up brings %q", row)
	}
	p.Press("ctrl+c")
	p.Enter("/retry")
	p.wait("Now it works.")
	p.done()
	if got := p.said("ann-window-1"); !slices.Equal(got, []string{"do something long", "again please", "again please"}) {
		t.Errorf("said %q", got)
	}
}

// inputRow is the first row of the input.
func inputRow(s demo.Screen) string {
	_, h := s.Size()
	for y := h - 1; y > 2; y-- {
		if s.Cell(0, y) == "❯" {
			return s.Row(y)
		}
	}
	return ""
}

// The model of a session is changed, its title too; a stored session is opened from the picker.
func TestModelTitleAndPicker(t *testing.T) {
	p := startPlay(t, t.TempDir(), script(scripted.Text("hello to you").Times(-1)))
	p.ask("hello")
	p.Enter("/model mock-2")
	p.until("the other model", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "mock-2") })
	p.ask("and now?")
	p.model.mu.Lock()
	if r := p.model.requests; len(r) != 2 || r[0].Model != "offline" || r[1].Model != "mock-2" {
		t.Errorf("the models asked for are wrong: %d requests", len(r))
	}
	p.model.mu.Unlock()
	p.Enter("/rename Grüße 部署")
	p.until("the title", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "❯1 Grüße 部署") })
	if !strings.Contains(p.out.String(), "vitrine: Grüße 部署") {
		t.Error("the window has not the title")
	}
	p.Press("ctrl+x", "n")
	p.until("a second tab", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "2 new") && s.Has("TRY") })
	p.Press("alt+1")
	p.Enter("/close")
	p.until("one tab less", func(s demo.Screen) bool { return !strings.Contains(s.Row(0), "Grüße") })
	p.Press("ctrl+x", "s")
	p.wait("SESSIONS", "Grüße 部署")
	p.sees("2 turns")
	p.Type("部署")
	p.Press("enter")
	p.until("the session in a tab", func(s demo.Screen) bool {
		return strings.Contains(s.Row(0), "❯2 Grüße 部署") && s.Has("and now?")
	})
	if row := p.Screen().Row(0); !strings.Contains(row, "mock-2") {
		t.Errorf("the model of the session is lost: %s", row)
	}
}

// The program dies at many moments of a turn and is started again on what is on the disk: the session opens, an interrupted
// turn is asked about, goes on or is given up, and the next question is answered.
func TestKilledAndAskedAbout(t *testing.T) {
	resumed, given := 0, 0
	for i, at := range []time.Duration{0, 4, 12, 21, 30, 45, 60, 75, 90, 120} {
		at *= time.Millisecond
		p := startPlay(t, t.TempDir(), stage{})
		p.Type("what is (17+5)*3?")
		p.Press("enter")
		p.Advance(at)
		q := startPlay(t, p.crash(), stage{at: playStart.Add(time.Hour)})
		if strings.Contains(status(q.Screen()), "interrupted") {
			q.sees("? INTERRUPTED  turn 1")
			q.Type("xylophone") // a question takes no key of what is being typed
			q.sees("INTERRUPTED")
			q.Press("ctrl+c")
			q.Advance(600 * time.Millisecond)
			if i%2 == 0 {
				resumed++
				q.Press("y", "enter")
				q.done()
				q.sees("66")
			} else {
				given++
				q.Press("x", "enter")
				q.until("the end of the question", func(s demo.Screen) bool { return !s.Has("INTERRUPTED") })
				q.wait("/ interrupted")
			}
		}
		q.ask("what is 2+2?")
		q.sees("2+2 = 4")
		q.turns("ann-window-1")
		q.end()
	}
	if resumed == 0 || given == 0 {
		t.Errorf("%d were resumed, %d given up: the moments are badly chosen", resumed, given)
	}
}

// New input gives an interrupted turn up.
func TestNewInputGivesUp(t *testing.T) {
	p := startPlay(t, t.TempDir(), stage{})
	p.Enter("stream 40 tokens")
	p.wait("streaming")
	q := startPlay(t, p.crash(), stage{at: playStart.Add(26 * time.Hour)})
	q.wait("INTERRUPTED")
	q.sees("1 d ago")
	q.Advance(time.Second) // it can have been seen
	q.Enter("what is 2+2?")
	q.wait("2+2 = 4")
	q.done()
	q.seesNot("INTERRUPTED")
	q.turns("ann-window-1")
}

// nap is a tool that takes its time.
func nap(clk clock.Clock) []tools.Tool {
	type none struct{}
	return []tools.Tool{tools.New("nap", "sleeps", tools.ReadOnly, func(ctx context.Context, _ tools.Call, _ none) (tools.Output, error) {
		return tools.Output{Data: "slept"}, clk.Sleep(ctx, 20*time.Second)
	})}
}

// B040: Ctrl+C cancels a turn, a tool; closes a dialog; clears the input, which Up brings back; warns; leaves when it
// comes twice within two seconds; and does not when it comes once, and once more three seconds later.
func TestCtrlC(t *testing.T) {
	s := script(slowly("a long answer that goes on and on", 20*time.Second), scripted.Calls(scripted.Call{Name: "nap", Args: "{}"}))
	s.tools = nap
	p := startPlay(t, t.TempDir(), s)
	p.Enter("talk")
	p.wait("a long")
	p.Press("ctrl+c")
	p.until("the cancelled turn", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " / stopped") })
	p.Enter("use the tool")
	p.until("the tool at work", func(s demo.Screen) bool { return s.Has("nap") && strings.Contains(status(s), "running") })
	p.Press("ctrl+c")
	p.until("the cancelled tool", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " / stopped") })
	p.turns("ann-window-1")
	p.Press("ctrl+p")
	p.wait("COMMANDS")
	p.Press("ctrl+c")
	p.seesNot("COMMANDS", "again to quit")
	p.Type("some text")
	p.Press("ctrl+c")
	if row := inputRow(p.Screen()); row != "❯" {
		t.Errorf("the input holds %q", row)
	}
	p.Press("up")
	if row := inputRow(p.Screen()); row != "❯ some text" {
		t.Errorf("Up brings %q", row)
	}
	p.Press("ctrl+c")
	p.Press("ctrl+c")
	p.sees("press Ctrl+C again to quit")
	p.Advance(3 * time.Second)
	p.seesNot("again to quit")
	p.Press("ctrl+c")
	p.Advance(100 * time.Millisecond)
	if p.Ended() {
		t.Fatal("left after one Ctrl+C, three seconds later")
	}
	p.sees("press Ctrl+C again to quit")
	p.Press("ctrl+c")
	p.Advance(time.Second)
	if !p.Ended() {
		t.Fatal("two Ctrl+C within two seconds do not leave")
	}
}

// B004: Chinese that streams in one character at a time, while the spinner turns, stands on the screen whole; at every frame
// what is visible is the beginning of it, never less than before, and at most one frame of text behind.
func TestChineseOneByOne(t *testing.T) {
	const whole = "你好世界"
	for _, grapheme := range []bool{false, true} {
		s := script(scripted.Text("").Deltas("你", "好", "世", "界").Delay(100 * time.Millisecond).Pace(30 * time.Millisecond).Times(1))
		s.grapheme = grapheme
		p := startPlay(t, t.TempDir(), s)
		p.Type("hi")
		p.Press("enter")
		seen, frames := 0, 0
		begun := time.Time{}
		for !strings.HasPrefix(status(p.Screen()), " ✓ done") {
			p.Advance(demo.FrameTime)
			row := ""
			scr := p.Screen()
			if x, y, ok := scr.Find("你"); ok {
				row = strings.TrimSpace(scr.Text(x, x+12, y))
			}
			if !strings.HasPrefix(whole, row) {
				t.Fatalf("visible is %q", row)
			}
			n := len([]rune(row))
			if n < seen {
				t.Fatalf("%d characters after %d:\n%s", n, seen, scr)
			}
			if n > 0 && begun.IsZero() {
				begun = p.Now()
			}
			if !begun.IsZero() {
				if came := int(p.Now().Sub(begun)/(30*time.Millisecond)) + 1; n < min(came, 4)-2 {
					t.Fatalf("%d characters are visible, %d came", n, came)
				}
			}
			if frames++; frames > 1000 {
				t.Fatalf("it does not end:\n%s", scr)
			}
			seen = n
		}
		p.sees(whole)
		if d := p.Screen().Diff(p.Repaint()); d != "" {
			t.Error(d)
		}
	}
}

// fileEvents counts the stored events of each session in the trace file, by seq; one told twice is an error.
func fileEvents(t *testing.T, dir string) map[string]map[int64]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "traces.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[int64]string{}
	for line := range strings.Lines(string(data)) {
		var e struct {
			Session string `json:"session_id"`
			Seq     *int64 `json:"seq"`
			Event   string `json:"event"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if e.Seq == nil {
			continue
		}
		if all[e.Session] == nil {
			all[e.Session] = map[int64]string{}
		}
		if was := all[e.Session][*e.Seq]; was != "" {
			t.Errorf("event %d of %s is told twice: %s, %s", *e.Seq, e.Session, was, e.Event)
		}
		all[e.Session][*e.Seq] = e.Event
	}
	return all
}

// tracesAgree wants every stored event of a session in the trace file, once.
func (p *play) tracesAgree(t *testing.T, file map[string]map[int64]string, session string) {
	t.Helper()
	events := stored(p, func(ctx context.Context) ([]trace.Event, error) {
		return p.app.Library.Events(ctx, session, "", 0, 10000)
	})
	for _, e := range events {
		if got := file[session][e.Seq]; got != string(e.Name) {
			t.Errorf("event %d of %s is %q in the file, %q in the store", e.Seq, session, got, e.Name)
		}
	}
	if len(events) == 0 || len(events) != len(file[session]) {
		t.Errorf("%s has %d events in the store, %d in the file", session, len(events), len(file[session]))
	}
}

// A store that does not take a commit: the screen says so, nothing is lost, the run goes on when it can.
func TestNotSavedForAWhile(t *testing.T) {
	t.Setenv(runtime.FaultEnv, "commit.before:4:enospc,commit.before:5:enospc,commit.after:7:eio")
	p := startPlay(t, t.TempDir(), stage{})
	p.Enter("what is (17+5)*3?")
	p.wait("NOT SAVED")
	p.Type("typed meanwhile")
	p.Advance(20 * time.Second)
	p.done()
	p.seesNot("NOT SAVED")
	p.sees("(17+5)*3 = 66")
	if row := inputRow(p.Screen()); row != "❯ typed meanwhile" {
		t.Errorf("the input holds %q", row)
	}
	if got := p.turns("ann-window-1"); len(got) != 4 {
		t.Errorf("%d messages", len(got))
	}
	p.Press("ctrl+c")
	p.quit()
}

// Waits for another attempt are told of, with a countdown; Esc ends them; what streamed before a cut is void.
func TestRetryIsTold(t *testing.T) {
	retried := func(steps ...scripted.Step) stage {
		return stage{model: func(clk clock.Clock) llm.Client {
			return llm.Retry(scripted.New(clk, steps...), llm.RetryConfig{Max: 2, Base: 3 * time.Second, Clock: clk, Rand: func() float64 { return 0.5 }})
		}}
	}
	p := startPlay(t, t.TempDir(), retried(scripted.Fail(nil), scripted.Text("halfway there").ChunkSize(1).Pace(50*time.Millisecond).Cut(5), scripted.Text("fine now")))
	p.Enter("hi")
	p.wait("SERVER ERROR", "again in 3 s", "again in 2 s", "again in 1 s", "half")
	p.wait("fine now")
	p.done()
	p.seesNot("half", "again in")
	if got := p.turns("ann-window-1"); len(got) != 2 || got[1].Content != "fine now" {
		t.Errorf("stored is %+v", got)
	}
	q := startPlay(t, t.TempDir(), retried(scripted.Fail(nil).Times(-1)))
	q.Enter("hi")
	q.wait("again in 3 s")
	q.Press("esc")
	q.until("the end", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " / stopped") })
	q.seesNot("again in")
}

// Two programs on one file: a session that the first one holds is read only in the second, which follows it; when the first
// one leaves, it is the second one's.
func TestTwoPrograms(t *testing.T) {
	dir := t.TempDir()
	p := startPlay(t, dir, stage{})
	p.ask("hello")
	q := startPlay(t, dir, stage{session: "ann-window-1"})
	q.wait("READ ONLY", "turn 1")
	q.Enter("may I?")
	q.wait("read only")
	if row := inputRow(q.Screen()); row != "❯ may I?" {
		t.Errorf("the input holds %q", row)
	}
	p.ask("what is (17+5)*3?")
	q.wait("(17+5)*3 = 66", "turn 2")
	p.quit()
	q.Press("enter")
	q.until("the session to be free", func(s demo.Screen) bool { return !s.Has("READ ONLY") })
	q.Press("ctrl+c")
	q.Enter("what is 2+2?")
	q.wait("2+2 = 4")
	q.done()
	if got := q.said("ann-window-1"); !slices.Equal(got, []string{"hello", "what is (17+5)*3?", "what is 2+2?"}) {
		t.Errorf("said %q", got)
	}
}

// When another program holds all tabs that were kept, there is a new one to work in.
func TestAllTabsHeld(t *testing.T) {
	dir := t.TempDir()
	p := startPlay(t, dir, stage{})
	p.ask("hello")
	q := startPlay(t, dir, stage{})
	q.until("a tab to work in", func(s demo.Screen) bool { return strings.Contains(s.Row(0), "2 new") })
	q.Press("alt+2")
	q.ask("what is 2+2?")
	q.sees("2+2 = 4")
	q.Press("alt+1")
	q.wait("READ ONLY")
	q.quit()
	p.ask("still here?")
}
