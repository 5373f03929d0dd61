package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/tools"
	"vitrine/trace"
)

// life is a session in which everything is drawn from bytes: what the model says, what tools do, what the user does and when,
// what the disk refuses, when the program stops. When the bytes are used up all is well behaved.
type life struct {
	*bed
	data   []byte
	faults int             // commits that may still fail
	seen   map[string]int  // how often a call of a tool with effects ran, by its row
	again  map[string]bool // the user had it run again
	acked  []string        // inputs that were taken
	wrong  []string        // what must never be
	turns  int
}

// draw gives a number below n.
func (l *life) draw(n int) int {
	if len(l.data) == 0 {
		return 0
	}
	v := int(l.data[0]) % n
	l.data = l.data[1:]
	return v
}

func (l *life) problem(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// Stream implements llm.Client. Under the simulated clock one participant runs at a time, so drawing needs no lock.
func (l *life) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if err := scripted.CheckHistory(req); err != nil {
			l.problem("a request is no valid history: %v", err)
		}
		one := scripted.New(l.clk, l.reply())
		for ch, err := range one.Stream(ctx, req) {
			if !yield(ch, err) {
				return
			}
		}
	}
}

// lifeCalls are calls as models write them, good and bad; %d is a number.
var lifeCalls = []scripted.Call{
	{Name: "read", Args: `{"text":"%d"}`}, {Name: "fire", Args: `{"text":"%d"}`}, {Name: "put", Args: `{"text":"%d"}`}, {Name: "save", Args: `{"text":"%d"}`},
	{Name: "note", Args: `{"text":"n%d"}`}, {Name: "big", Args: `{"text":"%d"}`}, {Name: "nope", Args: `{"text":"%d"}`}, {Name: "read", Args: `{"text":%d}`},
	{Name: "fire", Args: `{"text":"%d`}, {Name: "read", Args: `{"other":"%d"}`}, {Name: "", Args: `%d`}, {Name: "read", Args: ""}, {ID: "same", Name: "fire", Args: `{"text":"%d"}`},
	{Name: "tick", Args: `{"text":"no%d"}`}, {Name: "save", Args: `{"text":"unsure"}`}, {Name: "save", Args: `{"text":"happened"}`},
}

func (l *life) reply() scripted.Step {
	switch l.draw(16) {
	case 0, 1:
		return scripted.Text("fine")
	case 2:
		return scripted.Text("some words of a text").ChunkSize(3).Pace(40 * time.Millisecond)
	case 3:
		return scripted.Text([]string{"", "  ", "\n"}[l.draw(3)])
	case 4:
		return scripted.Text("cut here").ChunkSize(2).Cut(l.draw(4))
	case 5:
		kinds := []llm.ErrorKind{llm.ErrServer, llm.ErrConnect, llm.ErrRate, llm.ErrAuth, llm.ErrContext, llm.ErrRejected, llm.ErrTimeout}
		kind := kinds[l.draw(len(kinds))]
		return scripted.Fail(&llm.Error{Kind: kind, Status: 500, Message: "as drawn", Retryable: kind == llm.ErrServer || kind == llm.ErrConnect || kind == llm.ErrRate})
	case 6:
		return scripted.Text("half").NoDone(l.draw(2))
	case 7:
		return scripted.Text("what is missing").Finish(llm.FinishLength)
	case 8:
		return scripted.Text("a long wait").Delay(20 * time.Second)
	}
	var calls []scripted.Call
	for range 1 + l.draw(4) {
		c := lifeCalls[l.draw(len(lifeCalls))]
		if strings.Contains(c.Args, "%d") {
			c.Args = fmt.Sprintf(c.Args, l.draw(3))
		}
		calls = append(calls, c)
	}
	step := scripted.TextAndCalls([]string{"", "I look"}[l.draw(2)], calls...)
	switch l.draw(10) {
	case 8:
		return step.Finish(llm.FinishLength)
	case 9:
		return step.Pace(50 * time.Millisecond).Cut(l.draw(6))
	}
	return step
}

// lifeTools behave as is drawn.
func (l *life) tools() []tools.Tool {
	clk := l.clk
	act := func(name string, effect tools.Effect) func(context.Context, tools.Call, echoArgs) (tools.Output, error) {
		return func(ctx context.Context, call tools.Call, in echoArgs) (tools.Output, error) {
			call.Progress("at it")
			how := l.draw(12)
			if effect == tools.SideEffect {
				if l.seen[call.Key]++; l.seen[call.Key] > 1 && !l.again[call.Key] {
					l.problem("call %s of %s ran %d times", call.Key, name, l.seen[call.Key])
				}
			}
			out := tools.Output{Data: map[string]any{"of": name, "text": in.Text, "n": l.draw(2)}}
			if name == "note" {
				out.Changes = []tools.Change{tools.TodoAdd{ID: call.Key, Text: in.Text}}
			}
			switch how {
			case 0, 1, 2, 3:
				return out, nil
			case 4:
				return out, clk.Sleep(ctx, 3*time.Second)
			case 5:
				return out, clk.Sleep(ctx, 2*time.Minute) // over its time
			case 6:
				return out, clk.Sleep(context.Background(), 90*time.Second) // and deaf
			case 7:
				panic("a tool's panic")
			case 8:
				return out, &tools.Error{Code: tools.CodeUnavailable, Message: "no connection"}
			case 9:
				return out, &tools.Error{Code: tools.CodeNotFound, Message: "no such thing"}
			case 10:
				return out, errors.New("no reason")
			}
			return tools.Output{Data: strings.Repeat("much ", 1000)}, nil
		}
	}
	probe := tools.WithProbe(func(_ context.Context, _ tools.Call, in echoArgs) (tools.Output, bool, error) {
		if in.Text == "unsure" || l.draw(4) == 3 {
			return tools.Output{}, false, errors.New("cannot tell")
		}
		return tools.Output{Data: "probed"}, l.draw(2) == 1, nil
	})
	return []tools.Tool{
		tools.New("read", "reads", tools.ReadOnly, act("read", tools.ReadOnly)), tools.New("big", "much", tools.ReadOnly, act("big", tools.ReadOnly)),
		tools.New("note", "adds a todo", tools.OwnData, act("note", tools.OwnData)), tools.New("put", "may run again", tools.Idempotent, act("put", tools.Idempotent)),
		tools.New("fire", "has an effect", tools.SideEffect, act("fire", tools.SideEffect)),
		tools.New("save", "can be asked", tools.Probeable, act("save", tools.Probeable), probe),
		tools.New("tick", "completes", tools.OwnData, func(_ context.Context, _ tools.Call, in echoArgs) (tools.Output, error) {
			return tools.Output{Changes: []tools.Change{tools.TodoSet{ID: in.Text, Completed: true}}}, nil
		}),
	}
}

// fail is the disk's word on a commit.
func (l *life) fail(_ runtime.Tx, after bool) error {
	if l.faults == 0 || l.draw(8) != 7 {
		return nil
	}
	l.faults--
	if !after && l.draw(8) == 7 {
		return runtime.ErrConstraint
	}
	return errDisk
}

// process makes a fresh engine with its own clock on what is stored.
func (l *life) process(model llm.Client) {
	l.clk = clock.NewSim(l.clk.Now().Add(time.Hour))
	l.cfg.Clock, l.cfg.Model = l.clk, llm.Retry(model, llm.RetryConfig{Max: 2, Base: time.Second, Clock: l.clk})
	l.cfg.Registry = tools.NewRegistry(l.tools()...)
	l.cfg.Executor = tools.NewExecutor(l.clk, l.cfg.Registry, tools.Config{})
	l.eng = runtime.NewEngine(l.cfg)
}

// act is one thing that the user does. What is refused is refused.
func (l *life) act(ctx context.Context) {
	yes, no := true, false
	set := func(c runtime.Setting) error { return l.eng.Set(ctx, "s", c) }
	switch l.draw(16) {
	case 0, 1, 2:
		l.turns++
		text := fmt.Sprint("input ", l.turns)
		if l.eng.Submit(ctx, "s", text) == nil {
			l.acked = append(l.acked, text)
		}
	case 3:
		l.eng.Cancel("s")
		if l.draw(2) == 1 {
			l.eng.Cancel("s")
		}
	case 4, 5, 6, 7:
		l.answer(ctx)
	case 8:
		_ = set(runtime.Setting{Leave: true})
	case 9:
		l.resume(ctx)
	case 10:
		_ = set(runtime.Setting{Resume: &no})
	case 11:
		if box := l.store.sessions["s"].inbox; len(box) > 0 {
			_, _ = l.eng.Withdraw(ctx, "s", box[l.draw(len(box))].ID) // what is stored of it counts
		}
	case 12:
		rule := []runtime.Rule{runtime.RuleAuto, runtime.RuleAsk, runtime.RuleDeny, ""}[l.draw(4)]
		_ = set(runtime.Setting{ToolRule: &runtime.ToolRule{Tool: []string{"fire", "read", "put"}[l.draw(3)], Rule: rule}})
	case 13:
		_ = set([]runtime.Setting{{Compact: true}, {UndoFold: true}, {Pin: "never on Friday"}, {AddTodo: "a todo"}, {Fold: &yes}}[l.draw(5)])
	case 14:
		_ = set(runtime.Setting{Break: &runtime.Break{Next: l.draw(2) == 1, Tool: []string{"", "fire"}[l.draw(2)]}})
	case 15:
		calls := l.open()
		step := runtime.Step{Then: runtime.Break{Next: l.draw(2) == 1}}
		if len(calls) > 0 {
			c := calls[l.draw(len(calls))]
			step.Call = c.ID
			if l.draw(3) == 2 {
				_ = set(runtime.Setting{StopCall: c.ID})
				return
			}
		}
		_ = set(runtime.Setting{Step: &step})
	}
}

// open gives the calls of the unfinished run that have no result yet.
func (l *life) open() []runtime.CallRow {
	_, calls, err := l.store.Unfinished(context.Background(), "s")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(calls, func(c runtime.CallRow) bool { return c.Result != nil })
}

// answer gives the user's word on a call.
func (l *life) answer(ctx context.Context) {
	calls := l.open()
	if len(calls) == 0 {
		return
	}
	d := runtime.Decision{Call: calls[l.draw(len(calls))].ID}
	switch l.draw(8) {
	case 0, 1, 2:
		d.Allow = true
	case 3:
		d.Allow, d.Always = true, true
	case 4:
		d.Arguments = []string{`{"text":"edited"}`, `{"no":1}`, `[`}[l.draw(3)]
	case 5:
		text := []string{`{"by":"hand"}`, "plain words"}[l.draw(2)]
		d.Result = &text
	default:
		d.Reason = "no"
	}
	_ = l.eng.Set(ctx, "s", runtime.Setting{Decide: []runtime.Decision{d}})
}

// resume goes on with the interrupted run, with a word on what nobody knows.
func (l *life) resume(ctx context.Context) {
	yes := true
	words := map[string]runtime.Outcome{}
	for _, c := range runtime.UnknownCalls(l.open()) {
		words[c.ID] = []runtime.Outcome{runtime.OutcomeHappened, runtime.OutcomeNot, runtime.OutcomeAgain}[l.draw(3)]
		if words[c.ID] == runtime.OutcomeAgain {
			l.again[c.ID] = true
		}
	}
	_ = l.eng.Set(ctx, "s", runtime.Setting{Resume: &yes, Outcomes: words})
}

// liveOnce lets one process live for a while: it is shut down, leaves its run, or dies.
func (l *life) liveOnce() {
	l.process(l)
	end := l.draw(4)
	ctx := context.Background()
	user := func() {
		for range 2 + l.draw(12) {
			if _, err := l.eng.Open(ctx, "s", true); err == nil {
				l.act(ctx)
			}
			if err := l.clk.Sleep(ctx, []time.Duration{0, 20, 150, 700, 4000, 70_000}[l.draw(6)]*time.Millisecond); err != nil {
				return
			}
			if l.faults > 0 && l.draw(40) == 39 { // somebody else takes the session over
				l.store.sessions["s"].row.Fence.Epoch++
			}
		}
		if end == 2 {
			return // it dies as it stands
		}
		if err := l.eng.Shutdown(ctx, end != 1); err != nil {
			l.problem("shutdown: %v", err)
		}
	}
	if end == 2 {
		l.clk.Go(user)
		l.clk.Advance(time.Duration(l.draw(120)) * 250 * time.Millisecond)
	} else {
		l.clk.Run(user)
	}
	l.clk.Halt()
}

// settled is the last process: nothing fails any more, and a plain message has to be answered.
func (l *life) settled() {
	l.faults = 0
	l.store.fail = nil
	unfinished := l.draw(3)
	l.data = nil
	began := l.clk.Now()
	l.process(l)
	ctx := context.Background()
	l.clk.Run(func() {
		if _, err := l.eng.Open(ctx, "s", true); err != nil {
			l.problem("open: %v", err)
			return
		}
		_ = l.eng.Set(ctx, "s", runtime.Setting{Break: &runtime.Break{}})
		no := false
		switch unfinished {
		case 0:
			l.resume(ctx)
			_ = l.clk.Sleep(ctx, 10*time.Minute)
			if slices.ContainsFunc(l.named(trace.Approval), func(ev trace.Event) bool {
				d, ok := ev.Data.(trace.ApprovalData)
				return ok && d.Cause == "break" && ev.TS.After(began)
			}) {
				l.eng.Cancel("s") // what the debugger holds is let go by the user alone
				_ = l.clk.Sleep(ctx, time.Minute)
			}
		case 1:
			_ = l.eng.Set(ctx, "s", runtime.Setting{Resume: &no})
			_ = l.clk.Sleep(ctx, 10*time.Minute)
		}
		if err := l.eng.Submit(ctx, "s", "a plain message"); err != nil {
			l.problem("a plain message is not taken: %v", err)
		}
		_ = l.clk.Sleep(ctx, time.Hour)
		if err := l.eng.Shutdown(ctx, true); err != nil {
			l.problem("shutdown: %v", err)
		}
	})
	l.clk.Halt()
	last := l.last("s")
	asked := slices.IndexFunc(l.messages("s"), func(m runtime.MessageRow) bool { return m.Content == "a plain message" })
	if asked < 0 || last.Content != "fine" || len(l.store.sessions["s"].inbox) > 0 {
		l.problem("the session is stuck: asked as message %d, the last is %q, %d queued", asked+1, last.Content, len(l.store.sessions["s"].inbox))
	}
}

// judge looks at what is stored and at what was told.
func (l *life) judge() {
	s := l.store.sessions["s"]
	l.checkHistory("s")
	for _, ev := range append(l.named(trace.Error), s.events...) {
		if d, ok := ev.Data.(trace.ErrorData); ok && strings.Contains(d.Why, "has no move for input") {
			l.problem("the table was left: %s", d.Why)
		}
	}
	back := map[string]bool{}
	for i, ev := range s.events {
		if d, ok := ev.Data.(trace.InputQueuedData); ok && d.Action == "withdrawn" {
			back[d.Text] = true
		}
		if ev.Seq != int64(i+1) {
			l.problem("event %d has seq %d", i+1, ev.Seq)
			break
		}
	}
	answers := map[string]int{}
	said := map[string]int{}
	for _, m := range s.messages {
		if m.Role == llm.RoleAssistant && len(m.ToolCalls) == 0 {
			answers[m.RunID]++
		}
		if m.Kind == llm.KindUser {
			said[m.Content]++
		}
	}
	for _, id := range s.order {
		if r := s.runs[id]; !r.State.Terminal() {
			l.problem("run %s of turn %d is still %s", id, r.Turn, r.State)
		} else if answers[id] != 1 {
			l.problem("turn %d (%s) has %d closing messages", r.Turn, r.State, answers[id])
		}
	}
	for _, text := range l.acked {
		if n := said[text]; n != 1 && !(n == 0 && back[text]) {
			l.problem("%q was sent %d times", text, n)
		}
	}
	for id, c := range s.calls {
		if c.Result == nil {
			l.problem("call %s of %s (%s) has no result", id, c.Name, c.Status)
		}
	}
}

// unfinishedAtMostOne watches every commit for a second unfinished run.
func (l *life) watch() {
	inner := l.fail
	l.store.fail = func(tx runtime.Tx, after bool) error {
		if after {
			open := 0
			for _, r := range l.store.sessions["s"].runs {
				if !r.State.Terminal() {
					open++
				}
			}
			if open > 1 {
				l.problem("%d unfinished runs at once", open)
			}
		}
		return inner(tx, after)
	}
}

// runLife plays a life and gives what went wrong in it.
func runLife(t *testing.T, data []byte) []string {
	l := &life{bed: newBed(t), data: data, faults: 12, seen: map[string]int{}, again: map[string]bool{}}
	l.cfg.OnPanic = func(p *runtime.PanicError) { l.problem("%v\n%s", p, p.Stack) }
	l.cfg.Limits.Budget.Steps = 5 + l.draw(4)
	if l.draw(2) == 1 {
		l.cfg.Policy = runtime.DefaultPolicy()
	}
	if _, err := l.store.OpenSession(context.Background(), "s", "u", true); err != nil {
		t.Fatal(err)
	}
	l.watch()
	for range 1 + l.draw(4) {
		l.liveOnce()
	}
	l.settled()
	l.judge()
	return l.wrong
}

// Whatever model, tools, disk and user do, and wherever the program stops: the engine never leaves its table, the history is
// valid, there is one unfinished run at most, each turn ends with one message without calls, no input is lost or sent twice,
// no tool with effects runs twice unasked, and a further plain message is answered.
func FuzzEngine(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a plain life"))
	f.Add([]byte{1, 1, 2, 0, 10, 9, 3, 1, 0, 4, 0, 5, 4, 1, 3, 2, 7, 9, 0})
	f.Add([]byte{3, 1, 3, 2, 8, 0, 2, 11, 2, 1, 1, 0, 1, 12, 0, 4, 4, 0, 0, 3, 9, 1, 0, 2, 2, 30, 9, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1024 {
			t.Skip("longer lives show nothing new")
		}
		for _, w := range runLife(t, data) {
			t.Error(w)
		}
	})
}

// The same with other data at every test.
func TestRandomEngine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		if wrong := runLife(t, rapid.SliceOfN(rapid.Byte(), 150, 500).Draw(rt, "life")); len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}
