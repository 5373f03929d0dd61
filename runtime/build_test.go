package runtime

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"time"

	"vitrine/llm"
	"vitrine/runtime/clock"
	"vitrine/runtime/prompt"
	"vitrine/tools"
	"vitrine/trace"
)

type nowhere struct{}

func (nowhere) Publish(...trace.Event) {}

// building makes a run whose session has so many messages stored, and the same window whatever they are.
func building(stored int) *run {
	clk := clock.NewSim(time.Unix(0, 0))
	ids := 0
	e := NewEngine(EngineConfig{
		DefaultModel: "m", Registry: tools.NewRegistry(), Bus: nowhere{}, Clock: clk, System: strings.Repeat("You are a test. ", 100),
		NewID:  func() string { ids++; return fmt.Sprint("id-", ids) },
		Limits: Limits{ContextTokens: 6000, RawTurns: 20, ResultChars: 2000},
	})
	s := newSession(e, "s")
	text := strings.Repeat("words of a message ", 20)
	for i := range 50 {
		m := MessageRow{N: int64(stored - 49 + i), Kind: llm.KindUser, Role: llm.RoleUser, Content: fmt.Sprint(i, " ", text)}
		if i%2 == 1 {
			m.Kind, m.Role = llm.KindAssistant, llm.RoleAssistant
		}
		m.Tokens = prompt.EstimateMessage(wireMessage(m))
		s.window = append(s.window, m)
	}
	s.row.TurnCount = stored / 2
	return newRun(s, RunRow{ID: "r", State: StateBuilding})
}

// buildOnce builds a request and compares it with the one before, as before each model call.
func buildOnce(t testing.TB, r *run) {
	r.state = StateBuilding
	in, err := r.build()
	if err != nil || in != InBuilt {
		t.Fatalf("%s, %v", in, err)
	}
	r.s.sent.next(llm.Request{Model: "m", Messages: r.request}, &trace.LLMCallData{})
}

// A request costs what its window holds, not what the session holds: at 100,000 messages the same as at 100, far below a
// millisecond.
func TestBuildCosts(t *testing.T) {
	cost := func(stored int) (allocs float64, best time.Duration) {
		r := building(stored)
		allocs = testing.AllocsPerRun(20, func() { buildOnce(t, r) })
		best = time.Hour
		for range 50 {
			start := time.Now()
			buildOnce(t, r)
			best = min(best, time.Since(start))
		}
		return allocs, best
	}
	few, fast := cost(100)
	many, slow := cost(100_000)
	if many > few || few > 100 {
		t.Errorf("%v allocations at 100 messages, %v at 100,000", few, many)
	}
	if slow > time.Millisecond && slow > 5*fast {
		t.Errorf("%s at 100 messages, %s at 100,000", fast, slow)
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, stored := range []int{100, 100_000} {
		b.Run(fmt.Sprint("stored=", stored), func(b *testing.B) {
			r := building(stored)
			b.ReportAllocs()
			for b.Loop() {
				buildOnce(b, r)
			}
		})
	}
}

// A request is what Build makes of the whole window, however often requests were made before, and none that was handed out changes.
func TestMessagesAreBuiltAsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &session{eng: &Engine{cfg: EngineConfig{System: "system"}}}
		var n int64
		var handed, copies [][]llm.Message
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				s.memory = rapid.SampledFrom([]string{"", "memory", "other"}).Draw(t, "memory")
			case 1: // a fold, or an undo
				from := rapid.IntRange(0, len(s.window)).Draw(t, "from")
				window := append(s.window[:0:0], s.window[from:]...)
				if len(window) > 0 && rapid.Bool().Draw(t, "shortened") {
					text := "short"
					window[0].PromptContent = &text
				}
				s.window = window
			default:
				n++
				m := MessageRow{N: n, Content: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "content")}
				switch rapid.IntRange(0, 2).Draw(t, "role") {
				case 0:
					m.Role = llm.RoleUser
				case 1:
					m.Role = llm.RoleAssistant
					for range rapid.IntRange(0, 2).Draw(t, "calls") {
						m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "call"), Arguments: rapid.SampledFrom([]string{"", "{}"}).Draw(t, "args")})
					}
				case 2:
					m.Role, m.ToolCallID = llm.RoleTool, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "answers")
				}
				s.window = append(s.window, m)
			}
			if rapid.IntRange(0, 2).Draw(t, "asked") > 0 {
				got := s.messages()
				want := prompt.Build("system", s.memory, entriesOf(s.window))
				if d := cmp.Diff(want, got); d != "" {
					t.Fatal(d)
				}
				handed, copies = append(handed, got), append(copies, want)
			}
		}
		if d := cmp.Diff(copies, handed); d != "" {
			t.Fatalf("a request changed later:\n%s", d)
		}
	})
}
