package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// longModel is a model that calls tools and answers at random, and checks every request that it gets.
type longModel struct {
	t     *testing.T
	rnd   *rand.Rand
	limit int // of a request, the reply's reserve left out
	rate  float64

	before    *llm.Request
	expected  string // the cause of a break that the next request may have; set by the events
	repair    bool   // the last reply was empty
	requests  int
	folds     int
	calls     int
	same, all int
	breaks    map[string]int
	problems  int
	squeezed  int // requests that left a reply less than its reserve

	cancel func() // ends the run that is on
	wait   func(ctx context.Context) error
}

func (m *longModel) fail(format string, args ...any) {
	if m.problems++; m.problems < 10 {
		m.t.Errorf(format, args...)
	}
}

// contextLimit is the default of the test's engine, in tokens.
const contextLimit = 6000

// size of a request by our own count.
func estimate(r llm.Request) int {
	n := prompt.EstimateTools(r.Tools)
	for _, msg := range r.Messages {
		n += prompt.EstimateMessage(msg)
	}
	return n
}

func (m *longModel) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if asksSummary(req) {
			m.folds++
			m.reply(yield, req, m.summary(req))
			return
		}
		m.check(req)
		if m.rnd.IntN(500) == 0 {
			yield(llm.Chunk{}, &llm.Error{Kind: llm.ErrServer, Status: 500, Message: "now and then"})
			return
		}
		if m.rnd.IntN(300) == 0 {
			if m.rnd.IntN(2) == 0 && !yield(llm.Chunk{Text: "It begins"}, nil) {
				return
			}
			m.cancel()
			yield(llm.Chunk{}, m.wait(ctx))
			return
		}
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleUser && m.rnd.IntN(3) == 0 || last.Role == llm.RoleTool && m.rnd.IntN(3) == 0 {
			done := &llm.Done{Finish: llm.FinishToolCalls, Usage: m.usage(req, 20)}
			for range 1 + m.rnd.IntN(2) {
				m.calls++
				name := []string{"read", "big", "put", "nothing"}[m.rnd.IntN(4)]
				args, err := json.Marshal(map[string]string{"text": fmt.Sprint(m.calls, " ", words(m.rnd, 30))})
				if err != nil {
					m.fail("%v", err)
				}
				done.ToolCalls = append(done.ToolCalls, llm.ToolCall{ID: fmt.Sprint("c", m.calls), Name: name, Arguments: string(args)})
			}
			yield(llm.Chunk{Done: done}, nil)
			return
		}
		if m.rnd.IntN(200) == 0 {
			m.repair = true
			m.reply(yield, req, "") // asked again once
			return
		}
		m.reply(yield, req, "The answer: "+words(m.rnd, 150))
	}
}

func (m *longModel) reply(yield func(llm.Chunk, error) bool, req llm.Request, text string) {
	if text == "" || yield(llm.Chunk{Text: text}, nil) {
		yield(llm.Chunk{Done: &llm.Done{Finish: llm.FinishStop, Usage: m.usage(req, prompt.Estimate(text))}}, nil)
	}
}

// usage is what the server counts: some more than we do, nothing now and then, and nonsense sometimes.
func (m *longModel) usage(req llm.Request, completion int) llm.Usage {
	if m.rate == 0 || m.rnd.IntN(10) == 0 {
		return llm.Usage{}
	}
	n := int(float64(estimate(req)) * m.rate)
	if m.rnd.IntN(50) == 0 {
		n = m.rnd.IntN(3 * n)
	}
	return llm.Usage{Prompt: &n, Completion: &completion}
}

// summary is good in most cases.
func (m *longModel) summary(req llm.Request) string {
	switch m.rnd.IntN(12) {
	case 0:
		return "I am sorry, I cannot do that."
	case 1:
		return `<tool_call>{"name":"read"}</tool_call>`
	}
	s := prompt.Summary{Goals: []string{}, Facts: []string{}, Todos: []string{}, Unresolved: []string{}}
	for i := range 1 + m.rnd.IntN(5) {
		s.Facts = append(s.Facts, fmt.Sprintf("fact %d of fold %d: %s", i, m.folds, words(m.rnd, 12)))
	}
	if m.rnd.IntN(2) == 0 {
		s.Goals = append(s.Goals, "reach "+words(m.rnd, 5))
	}
	b, err := json.Marshal(map[string]any{"goals": s.Goals, "facts": s.Facts, "todos": s.Todos, "unresolved": s.Unresolved})
	if err != nil {
		m.fail("%v", err)
	}
	return string(b)
}

// check wants a valid history within the budget that begins with what was sent before, but for the breaks that are allowed.
func (m *longModel) check(req llm.Request) {
	m.requests++
	if err := scripted.CheckHistory(req); err != nil {
		m.fail("request %d: %v", m.requests, err)
	}
	size := float64(estimate(req))
	if m.rate > 0 {
		size *= m.rate
	}
	// The server's count is known up to the last report; the estimate is exact.
	most := float64(m.limit)
	if m.rate > 0 {
		most *= 1.03
	}
	if size > most {
		m.squeezed++
	}
	// A wrong report that lies near the truth is believed until the next one: it may cost the reply's reserve, never more.
	if m.rate > 0 {
		most = float64(contextLimit)
	}
	if size > most {
		m.fail("request %d has %.0f tokens, the limit is %.0f", m.requests, size, most)
	}
	if m.before != nil {
		at := 0
		for at < min(len(req.Messages), len(m.before.Messages)) && equalMessage(&req.Messages[at], &m.before.Messages[at]) {
			at++
		}
		for i := range req.Messages {
			n := len(req.Messages[i].Content)
			m.all += n
			if i < at {
				m.same += n
			}
		}
		if at < len(m.before.Messages) {
			if m.repair && m.expected == "" && at == len(m.before.Messages)-1 {
				m.expected = "repair"
			}
			if m.expected == "" {
				m.fail("request %d differs at message %d for no cause: %q was %q", m.requests, at+1, head(req.Messages, at), head(m.before.Messages, at))
			}
			m.breaks[m.expected]++
		}
	}
	m.expected, m.repair = "", false
	m.before = &req
}

func head(all []llm.Message, i int) string {
	if i >= len(all) {
		return "(nothing)"
	}
	return fmt.Sprintf("%s %.60s", all[i].Role, all[i].Content)
}

func equalMessage(a, b *llm.Message) bool {
	if a.Role != b.Role || a.Content != b.Content || a.ToolCallID != b.ToolCallID || a.Name != b.Name || len(a.ToolCalls) != len(b.ToolCalls) {
		return false
	}
	for i := range a.ToolCalls {
		if a.ToolCalls[i].ID != b.ToolCalls[i].ID || a.ToolCalls[i].Name != b.ToolCalls[i].Name || a.ToolCalls[i].Arguments != b.ToolCalls[i].Arguments {
			return false
		}
	}
	return true
}

// words gives up to n words, in one of some scripts, of very different lengths.
func words(rnd *rand.Rand, n int) string {
	list := [][]string{{"the", "deploy", "of", "service-42", "waits", "for"}, {"部署", "在周五", "之后", "再说"}, {"{\"k\":", "1234567,", "}", "0xdeadbeef"}}[rnd.IntN(3)]
	var b strings.Builder
	for range 1 + rnd.IntN(1+rnd.IntN(n)) {
		b.WriteString(list[rnd.IntN(len(list))])
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// longRun is one session of many turns.
type longRun struct {
	b      *bed
	m      *longModel
	ends   *clock.Queue[trace.RunEndData]
	states map[string]int
	folded int            // committed folds
	told   map[string]int // the causes that the stored model calls name
}

// Publish takes the events of the session: ends for the driver, and what they tell of breaks.
func (l *longRun) Publish(evs ...trace.Event) {
	for _, ev := range evs {
		switch d := ev.Data.(type) {
		case trace.RunEndData:
			l.ends.TryPut(d)
		case trace.LLMCallData:
			if d.PrefixBreak != "" {
				l.told[d.PrefixBreak]++
			}
		case trace.CompactData:
			if ev.Seq == 0 {
				continue
			}
			switch d.Phase {
			case "committed":
				l.folded++
				l.m.expected = "fold"
				if d.TokensAfter >= d.TokensBefore {
					l.m.fail("a fold without progress: %d to %d", d.TokensBefore, d.TokensAfter)
				}
			case "undone":
				l.m.expected = "undo"
			}
		case trace.PinData:
			if ev.RunID == "" {
				l.m.expected = "pin"
			}
		}
	}
}

func startLong(t *testing.T, seed uint64, rate float64) *longRun {
	l := &longRun{b: newBed(t), states: map[string]int{}, told: map[string]int{}}
	l.m = &longModel{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), limit: contextLimit - contextLimit/8, rate: rate, breaks: map[string]int{}}
	l.ends = clock.NewQueue[trace.RunEndData](l.b.clk, 16)
	l.m.wait = func(ctx context.Context) error { return l.b.clk.Sleep(ctx, time.Hour) }
	l.b.store.publish, l.b.store.light = l.Publish, true
	l.b.cfg.Bus, l.b.cfg.Model = l, l.m
	l.b.cfg.Limits.Budget = runtime.Budget{Steps: 8, Calls: 20}
	return l
}

// start opens the session with a new engine.
func (l *longRun) start(ctx context.Context) {
	l.b.eng = runtime.NewEngine(l.b.cfg)
	l.m.cancel = func() { l.b.eng.Cancel("s") }
	if _, err := l.b.eng.Open(ctx, "s", true); err != nil {
		l.b.t.Fatal(err)
	}
}

// turn asks one thing, and now and then does something else between turns.
func (l *longRun) turn(ctx context.Context, i int) {
	t, rnd := l.b.t, l.m.rnd
	var refused *runtime.RefusedError
	set := func(c runtime.Setting) {
		if err := l.b.eng.Set(ctx, "s", c); err != nil && !errors.As(err, &refused) && !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("turn %d: %v", i, err)
		}
		if err := l.b.clk.Sleep(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	switch rnd.IntN(200) {
	case 0:
		set(runtime.Setting{UndoFold: true})
	case 1:
		set(runtime.Setting{Compact: true})
	case 2:
		set(runtime.Setting{Pin: fmt.Sprintf("note %d", i%7)})
	case 3:
		set(runtime.Setting{Unpin: "1"})
	case 4:
		if err := l.b.eng.Shutdown(ctx, true); err != nil {
			t.Fatal(err)
		}
		l.start(ctx)
	}
	text := fmt.Sprintf("turn %d: %s", i, words(rnd, 200))
	if rnd.IntN(20) == 0 {
		text += fmt.Sprintf(". You must never say %d.", i)
	}
	if rnd.IntN(100) == 0 {
		text += strings.Repeat(" and the long text goes on", 200)
	}
	if err := l.b.eng.Submit(ctx, "s", text); err != nil {
		t.Fatalf("turn %d: %v", i, err)
	}
	end, err := l.ends.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l.states[end.State+" "+end.Reason]++
}

// 10,000 turns in one session with tools and random sizes, failing summaries, wrong reports, cancels, restarts, undone folds and pins: every
// request is a valid history within its budget and begins with the one before it, but where a fold, an undo, a pin or a repair
// came between; no fold is without progress.
func TestTenThousandTurns(t *testing.T) {
	for _, tt := range []struct {
		name  string
		turns int
		rate  float64
	}{{"with reports", 10_000, 1.15}, {"without reports", 3_000, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := startLong(t, 42, tt.rate)
			l.b.run(func(ctx context.Context) {
				l.start(ctx)
				for i := range tt.turns {
					l.turn(ctx, i)
				}
			})
			m, sum := l.m, func(counts map[string]int) (n int) {
				for _, c := range counts {
					n += c
				}
				return n
			}
			if l.told["other"]+l.told["system"]+l.told["tools"]+l.told["model"] > 0 || sum(l.told) != sum(m.breaks) {
				t.Errorf("breaks %v, told %v", m.breaks, l.told)
			}
			if m.squeezed > m.requests/1000 {
				t.Errorf("%d of %d requests leave a reply less than its reserve", m.squeezed, m.requests)
			}
			if n := l.states["succeeded "]; n < tt.turns*97/100 || l.states["exhausted context"] > tt.turns*3/200 {
				t.Errorf("ends: %v", l.states)
			}
			if l.folded < tt.turns/25 || l.folded > tt.turns/4 || m.calls < tt.turns/2 {
				t.Errorf("%d folds, %d calls", l.folded, m.calls)
			}
			t.Logf("%d requests, %d calls, %d folds; breaks %v, told %v; %v; %.1f%% repeated",
				l.m.requests, l.m.calls, l.folded, l.m.breaks, l.told, l.states, 100*float64(l.m.same)/float64(l.m.all))
		})
	}
}
