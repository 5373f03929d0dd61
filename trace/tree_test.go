package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// script makes the events of a session, each at its time.
type script struct {
	run    string
	turn   int
	step   int
	seq    int64
	events []Event
}

// at adds an event ms milliseconds after the start; data of transient names get no seq.
func (s *script) at(ms int, d Data) *script {
	e := Event{TS: start.Add(time.Duration(ms) * time.Millisecond), SessionID: "s", RunID: s.run, Turn: s.turn, Step: s.step, Name: d.EventName(), Data: d}
	switch d := d.(type) {
	case StateData, DeltaData, RetryData, ProgressData:
	case ErrorData:
		if d.Stored {
			s.seq++
			e.Seq = s.seq
		}
	default:
		s.seq++
		e.Seq = s.seq
	}
	s.events = append(s.events, e)
	return s
}

func (s *script) in(step int) *script {
	s.step = step
	return s
}

func ms(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }

// twoSteps is a whole run: a model call with one retry and two tools, and a second model call.
func twoSteps() *script {
	s := &script{run: "run-1", turn: 7}
	return s.at(0, RunStartData{Input: "What do 12 workers cost?", Model: "gpt-4o-mini", N: 1}).
		at(0, StateData{State: "building_context"}).
		in(1).at(8, StateData{State: "waiting_model", Meter: &Meter{System: 900, Window: 2100}}).
		at(200, DeltaData{Kind: "text", Text: "half a reply"}).
		at(300, RetryData{Attempt: 1, Max: 2, WaitMS: 500, Cause: "503 overloaded"}).
		at(300, DeltaData{Kind: "text", Reset: true}).
		at(388, DeltaData{Kind: "text", Text: "I look up the price."}).
		at(400, DeltaData{Kind: "call", ID: "search_mock", Text: `{"query":`}).
		at(1908, LLMCallData{
			Model: "gpt-4o-mini", LatencyMS: 1900, TTFTMS: ptr(int64(380)), PromptTokens: ptr(2900), CompletionTokens: ptr(100), CachedTokens: ptr(2209),
			Estimate: 3100, ToolCallCount: 2, FinishReason: "tool_calls", Attempts: 2, Text: "I look up the price.", StartedAt: ms(8),
		}).
		at(1908, ToolCallData{ID: "c1", CallID: "call_a", Tool: "search_mock", Arguments: json.RawMessage(`{"query":"price"}`), Status: "started"}).
		at(1908, ToolCallData{ID: "c2", CallID: "call_b", Tool: "calculator", Ord: 1, Arguments: json.RawMessage(`{"expression":"12*"}`), Status: "pending"}).
		at(1920, ProgressData{ID: "c1", Text: "half way"}).
		at(1930, DeltaData{Kind: "tool_output", ID: "c1", Text: "12345"}).
		at(1949, ToolResultData{ID: "c1", CallID: "call_a", Tool: "search_mock", Status: "done", OK: true, DurationMS: 41, Summary: "3 hits"}).
		at(1950, ToolCallData{ID: "c2", CallID: "call_b", Tool: "calculator", Ord: 1, Arguments: json.RawMessage(`{"expression":"12*"}`), Status: "started"}).
		at(1953, ToolResultData{ID: "c2", CallID: "call_b", Tool: "calculator", Status: "done", Code: "invalid_argument", DurationMS: 3}).
		at(1953, StateData{State: "building_context"}).
		in(2).at(1960, StateData{State: "waiting_model", Meter: &Meter{Window: 3300}}).
		at(2100, DeltaData{Kind: "text", Text: "Twelve workers"}).
		at(4400, LLMCallData{Model: "gpt-4o-mini", LatencyMS: 2440, Estimate: 3300, FinishReason: "stop", Attempts: 1, Text: "Twelve workers cost $42.34.", StartedAt: ms(1960)}).
		at(4400, AnswerData{Text: "Twelve workers cost $42.34.", N: 6}).
		at(4400, RunEndData{State: "succeeded", Steps: 2, Calls: 2, Tokens: 6307, DurationMS: 4400}).
		at(4400, StateData{State: "succeeded"})
}

func treeOf(events ...Event) *Tree {
	t := &Tree{}
	for _, e := range events {
		t.Apply(e)
	}
	return t
}

func printed(t *testing.T, tree *Tree) string {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, tree); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func lines(s ...string) string { return strings.Join(s, "\n") + "\n" }

// What a call cost stands with it, and with its run what the calls cost of which it is known.
func TestTreeOfCosts(t *testing.T) {
	call := func(reasoning *int, cost *float64) LLMCallData {
		return LLMCallData{Model: "m", PromptTokens: ptr(1000), CompletionTokens: ptr(100), ReasoningTokens: reasoning, Cost: cost, FinishReason: "stop", Attempts: 1, StartedAt: ms(0)}
	}
	tree := treeOf((&script{run: "r", turn: 1}).at(0, RunStartData{Input: "go", Model: "m", N: 1}).
		in(1).at(10, call(ptr(90), ptr(0.25))).in(2).at(20, call(nil, nil)).in(3).at(30, call(nil, ptr(1.5))).events...)
	got := printed(t, tree)
	for _, want := range []string{"90 reasoning  $0.2500", "$1.50", "3.3k  $1.75"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	run := tree.Roots[0]
	equal(t, *run.Tokens.Cost, 1.75)
	equal(t, run.Tokens.Reasoning, 90)
}

func TestTreeOfARun(t *testing.T) {
	tree := treeOf(twoSteps().events...)
	equal(t, printed(t, tree), lines(
		"✓ turn 7           4.4 s  ~6.3k  succeeded  What do 12 workers cost?",
		"  ✓ context         8 ms",
		"  ✓ step 1         1.9 s   3.0k",
		"    ✓ gpt-4o-mini  1.9 s   3.0k  first token 380 ms  2.2k cached  attempt 2  tool_calls",
		`    ✓ search_mock  41 ms         {"query":"price"}  3 hits`,
		`    ✗ calculator    3 ms         {"expression":"12*"}  invalid_argument`,
		"  ✓ step 2         2.4 s  ~3.3k",
		"    ✓ gpt-4o-mini  2.4 s  ~3.3k  stop",
	))
	run := tree.Run("run-1")
	equal(t, len(run.Events), 3) // run_start, answer, run_end
	model := tree.Node("run-1/1/model1")
	equal(t, model.Parent.ID, "run-1/1")
	equal(t, model.FirstToken, ms(388))
	equal(t, []Name{model.Events[0].Name, model.Events[1].Name}, []Name{Retry, LLMCall})
	equal(t, model.Tokens, Tokens{Prompt: 2900, Completion: 100, Cached: 2209})
	tool := tree.Node("call/c1")
	equal(t, len(tool.Events), 2)
	equal(t, tool.Start, ms(1908))
	equal(t, tool.End, ms(1949))
	equal(t, tool.Duration(ms(9999)), 41*time.Millisecond)
	equal(t, tree.Node("nothing") == nil, true)
}

func TestTreeWhileItHappens(t *testing.T) {
	all := twoSteps().events
	tree := &Tree{}
	shown := func(upTo Name, nth int) string {
		for len(all) > 0 {
			e := all[0]
			all = all[1:]
			before := tree.Version
			tree.Apply(e)
			if tree.Version < before {
				t.Error("the version went back")
			}
			if e.Name == upTo {
				if nth--; nth == 0 {
					break
				}
			}
		}
		return printed(t, tree)
	}
	equal(t, shown(State, 1), lines("… turn 7     0 ms    What do 12 workers cost?  not ended: run run-1", "  … context  0 ms"))
	equal(t, shown(Delta, 1), lines(
		"… turn 7           200 ms  ~3.0k  What do 12 workers cost?  not ended: run run-1",
		"  ✓ context          8 ms",
		"  … step 1         192 ms  ~3.0k",
		"    … gpt-4o-mini  192 ms  ~3.0k  first token 192 ms",
	))
	m := tree.Node("run-1/1/model1")
	equal(t, m.Streamed, len("half a reply"))
	shown(Delta, 1)
	equal(t, m.Streamed, 0)
	equal(t, m.FirstToken.IsZero(), true)
	equal(t, m.Attempts, 2)
	equal(t, m.Outcome, "503 overloaded")
	shown(Delta, 1)
	equal(t, m.FirstToken, ms(388))
	shown(ToolCall, 2)
	c1, c2 := tree.Node("call/c1"), tree.Node("call/c2")
	equal(t, []Status{c1.Status, c2.Status, c1.Parent.Status}, []Status{Running, Waiting, Running})
	shown(Delta, 1)
	equal(t, c1.Progress, "half way")
	equal(t, c1.Streamed, 5)
	before := c1.Parent.Version
	shown(ToolResult, 1)
	equal(t, c1.Progress, "")
	if c1.Parent.Version == before {
		t.Error("a change below does not show in the version")
	}
	shown(ToolResult, 1)
	equal(t, c1.Parent.Status, OK)
	equal(t, c1.Parent.End, ms(1953))
	equal(t, c1.Parent.Open(), false)
}

// TestStoredEventsMakeTheWholeTree: the tree of a run that ended is the same with and without the transient events (but for
// the retry and the texts of what streamed), in one go or one by one, and however often events come again.
func TestStoredEventsMakeTheWholeTree(t *testing.T) {
	all := twoSteps().events
	whole := printed(t, treeOf(all...))
	rapid.Check(t, func(t *rapid.T) {
		tree := &Tree{}
		for i, e := range all {
			if e.Seq > 0 || rapid.Bool().Draw(t, "transient comes through") {
				tree.Apply(e)
			}
			for range rapid.IntRange(0, 2).Draw(t, "again") {
				if e := all[rapid.IntRange(0, i).Draw(t, "which")]; e.Seq > 0 {
					tree.Apply(e)
				}
			}
		}
		var b bytes.Buffer
		if err := Print(&b, tree); err != nil {
			t.Fatal(err)
		}
		if b.String() != whole {
			t.Fatalf("got\n%s\nwant\n%s", b.String(), whole)
		}
	})
}

func TestTreeOfUnhappyRuns(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *script
		want string
	}{
		{
			"model fails",
			(&script{run: "r", turn: 1}).at(0, RunStartData{Input: "hi", Model: "m"}).
				in(1).at(50, LLMCallData{Model: "m", LatencyMS: 40, Attempts: 3, Error: "401 wrong key", StartedAt: ms(10)}).
				at(60, ErrorData{Message: "the model did not answer", Why: "401 wrong key", Stored: true}).
				at(60, RunEndData{State: "failed", Reason: "model"}),
			lines(
				"✗ turn 1     60 ms    failed: model  hi",
				"  ✓ context  10 ms",
				"  ✗ step 1   40 ms",
				"    ✗ m      40 ms    attempt 3  401 wrong key",
				"  ✗ error             the model did not answer  401 wrong key",
			),
		},
		{
			"cancelled in a stream and in a tool",
			(&script{run: "r", turn: 1}).at(0, RunStartData{Input: "hi", Model: "m"}).
				in(1).at(5, LLMCallData{Model: "m", LatencyMS: 5, PromptTokens: ptr(10), CompletionTokens: ptr(2), StartedAt: ms(0), PrefixBreak: "pin"}).
				at(5, ToolCallData{ID: "a", Tool: "slow", Status: "started"}).
				at(5, ToolCallData{ID: "b", Tool: "never", Status: "pending"}).
				at(10, ToolResultData{ID: "a", Tool: "slow", Status: "interrupted", DurationMS: 5}).
				in(2).at(12, StateData{State: "waiting_model"}).
				at(15, DeltaData{Kind: "text", Text: "abcdefgh"}).
				at(1015, RunEndData{State: "cancelled"}),
			lines(
				"■ turn 1     1.0 s  ~14  cancelled  hi",
				"  ✓ context   0 ms",
				"  ■ step 1   1.0 s   12",
				"    ✓ m       5 ms   12  prefix broken: pin",
				"    ■ slow    5 ms       interrupted",
				"    ■ never  1.0 s",
				"  ■ step 2   1.0 s   ~2",
				"    ■ m      1.0 s   ~2  first token 3 ms",
			),
		},
		{
			"an approval, denied",
			(&script{run: "r", turn: 1}).in(1).at(0, ToolCallData{ID: "a", CallID: "x", Tool: "rm", Arguments: json.RawMessage(`{}`), RawArguments: "{bad", Status: "pending"}).
				at(1, ApprovalData{Phase: "asked", CallID: "x", Tool: "rm"}).
				at(1, StateData{State: "waiting_approval"}),
			lines("? turn 1    1 ms    not ended: run r", "  … step 1  1 ms", "    ? rm    1 ms    {bad  waits for you"),
		},
	} {
		t.Run(c.name, func(t *testing.T) { equal(t, printed(t, treeOf(c.s.events...)), c.want) })
	}
}

func TestApprovalIsFollowed(t *testing.T) {
	s := (&script{run: "r", turn: 1}).in(1).at(0, ToolCallData{ID: "a", CallID: "x", Tool: "rm", Status: "pending"}).
		at(1, ApprovalData{Phase: "asked", CallID: "x"}).at(1, StateData{State: "waiting_approval"}).
		at(2, ApprovalData{Phase: "decided", CallID: "a", Answer: "deny"}).at(2, StateData{State: "executing"}).
		at(3, ApprovalData{Phase: "asked", CallID: "unknown"})
	tree := treeOf(s.events...)
	n := tree.Node("call/a")
	equal(t, n.Outcome, "denied")
	equal(t, tree.Run("r").Status, Running)
	equal(t, len(tree.Run("r").Events), 1)
	s.at(3, ToolResultData{ID: "a", CallID: "x", Tool: "rm", Status: "denied", Code: "denied"})
	tree = treeOf(s.events...)
	equal(t, tree.Node("call/a").Status, Stopped)
	equal(t, tree.Node("call/a").Outcome, "denied")
}

func TestRepairAndResume(t *testing.T) {
	// Two replies in one step, then tools whose calls were never heard of, as after missing events.
	s := (&script{run: "r", turn: 1}).at(0, RunStartData{Model: "m"}).in(1).
		at(10, LLMCallData{Model: "m", LatencyMS: 5, StartedAt: ms(5), FinishReason: "length"}).
		at(30, LLMCallData{Model: "m", LatencyMS: 10, StartedAt: ms(20), FinishReason: "stop"}).
		at(31, HistoryRepairedData{Calls: []string{"x"}}).
		at(40, ToolResultData{ID: "x", Tool: "t", Status: "unknown", DurationMS: 4})
	tree := treeOf(s.events...)
	equal(t, printed(t, tree), lines(
		"… turn 1     40 ms    not ended: run r",
		"  ✓ context   5 ms",
		"  ✓ step 1   35 ms",
		"    ✓ m       5 ms    length",
		"    ✓ m      10 ms    stop",
		"    ■ t       4 ms    unknown",
	))
	equal(t, len(tree.Run("r").Events), 2)
}

// A run that a process left stands still; the time until it goes on, or is given up, is not its own.
func TestHaltedRuns(t *testing.T) {
	left := func() *script {
		return (&script{run: "r", turn: 1}).at(0, RunStartData{Model: "m"}).in(1).
			at(30, LLMCallData{Model: "m", LatencyMS: 20, StartedAt: ms(10), FinishReason: "tool_calls"}).
			at(40, ToolCallData{ID: "a", CallID: "x", Tool: "slow", Status: "started"})
	}
	tree := treeOf(left().events...)
	tree.Halt("nothing")
	tree.Halt("r")
	run := tree.Run("r")
	equal(t, run.Status, Stopped)
	equal(t, tree.Node("call/a").Status, Stopped)
	equal(t, run.Duration(ms(100_000)), 40*time.Millisecond)

	given := left().at(90_000, ToolResultData{ID: "a", CallID: "x", Tool: "slow", Status: "interrupted"}).
		at(90_000, RunEndData{State: "cancelled", Reason: "interrupted"})
	for _, e := range given.events[3:] {
		tree.Apply(e)
	}
	equal(t, run.Status, Stopped)
	equal(t, run.Duration(ms(100_000)), 40*time.Millisecond)

	tree = treeOf(left().events...)
	tree.Halt("r")
	on := left().at(90_000, StateData{State: "reconciling"})
	tree.Apply(on.events[3])
	run = tree.Run("r")
	equal(t, run.Status, Running)
	on.at(90_050, ToolResultData{ID: "a", CallID: "x", Tool: "slow", Status: "done", OK: true}).
		at(90_060, RunEndData{State: "succeeded", DurationMS: 100})
	for _, e := range on.events[4:] {
		tree.Apply(e)
	}
	equal(t, run.Status, OK)
	equal(t, run.Duration(ms(100_000)), 100*time.Millisecond)
	equal(t, tree.Node("call/a").Duration(ms(100_000)), 0*time.Millisecond)

	// One that the store would not take has no other end.
	tree = treeOf(left().at(50, StateData{State: "failed", Reason: "store"}).events...)
	equal(t, tree.Run("r").Status, Failed)
	equal(t, tree.Node("call/a").Status, Stopped)
}

func TestFolds(t *testing.T) {
	in := (&script{run: "r", turn: 2}).at(0, RunStartData{Model: "m"}).
		at(1, CompactData{Phase: "started", Reason: "tokens"}).
		at(5, CompactData{Phase: "committed", TokensBefore: 6300, TokensAfter: 2900}).
		at(6, CompactData{Phase: "started", Reason: "turns"}).
		at(7, CompactData{Phase: "failed", Detail: "no summary"})
	out := &script{seq: in.seq}
	out.at(20, CompactData{Phase: "started", Reason: "asked"}).at(25, CompactData{Phase: "refused", Detail: "not smaller"}).at(30, CompactData{Phase: "undone"})
	tree := treeOf(append(in.events, out.events...)...)
	want := lines(
		"… turn 2  7 ms    not ended: run r",
		"  ✓ fold  4 ms    tokens  6.3k to 2.9k",
		"  ✗ fold  1 ms    turns  no summary",
		"",
		"■ fold  5 ms    asked  not smaller",
		"",
		"✓ fold  0 ms    undone",
	)
	equal(t, printed(t, tree), want)
	for _, e := range out.events {
		tree.Apply(e)
	}
	equal(t, printed(t, tree), want)
	tree.Apply(Event{Name: Pin, Seq: 99, Data: PinData{}})
	equal(t, len(tree.Roots), 3)
}

// What the summary took counts in its turn, once.
func TestTokensOfAFold(t *testing.T) {
	prompt, completion := 1000, 100
	s := (&script{run: "r", turn: 2}).at(0, RunStartData{Model: "m"}).
		at(1, CompactData{ID: "f", Phase: "started", Reason: "tokens"}).
		at(5, CompactData{ID: "f", Phase: "summarised", Tokens: 500}).
		at(6, CompactData{ID: "f", Phase: "committed", TokensBefore: 6300, TokensAfter: 2900, Tokens: 500}).
		in(1).at(30, LLMCallData{Model: "m", LatencyMS: 20, StartedAt: ms(10), PromptTokens: &prompt, CompletionTokens: &completion})
	tree := treeOf(s.events...)
	equal(t, tree.Run("r").Tokens.Total(), 1600)
}

// The phases of a fold come as they happen and again when they are stored: that is one fold.
func TestFoldToldTwice(t *testing.T) {
	run := (&script{run: "r", turn: 2}).at(0, RunStartData{Model: "m"}).
		at(1, CompactData{ID: "f", Phase: "started", Reason: "turns"}).at(2, CompactData{ID: "f", Phase: "merged"}).
		at(1, CompactData{ID: "f", Phase: "started", Reason: "turns"}).at(2, CompactData{ID: "f", Phase: "merged"}).
		at(3, CompactData{ID: "f", Phase: "committed", TokensBefore: 6300, TokensAfter: 2900}).
		at(4, CompactData{ID: "g", Phase: "started", Reason: "turns"}).at(5, CompactData{ID: "g", Phase: "refused", Detail: "no"}).
		at(4, CompactData{ID: "g", Phase: "started", Reason: "turns"}).at(5, CompactData{ID: "g", Phase: "refused", Detail: "no"})
	top := &script{seq: run.seq}
	for range 2 {
		top.at(20, CompactData{ID: "h", Phase: "started", Reason: "asked"}).at(25, CompactData{ID: "h", Phase: "committed", TokensBefore: 600, TokensAfter: 200})
	}
	top.at(30, CompactData{ID: "h", Phase: "undone", TokensBefore: 200, TokensAfter: 600})
	equal(t, printed(t, treeOf(append(run.events, top.events...)...)), lines(
		"… turn 2  5 ms    not ended: run r",
		"  ✓ fold  2 ms    turns  6.3k to 2.9k",
		"  ■ fold  1 ms    turns  no",
		"",
		"✓ fold  5 ms    asked  600 to 200",
		"",
		"✓ fold  0 ms    200 to 600",
	))
}

func TestRootsAreInOrderAndBounded(t *testing.T) {
	tree := &Tree{Keep: 2}
	for _, i := range []int{3, 1, 2, 4} {
		s := &script{run: fmt.Sprint("r", i), turn: i}
		s.at(i*1000, RunStartData{Model: "m"}).in(1).at(i*1000+5, LLMCallData{Model: "m", StartedAt: ms(i * 1000)})
		for _, e := range s.events {
			tree.Apply(e)
		}
	}
	equal(t, []string{tree.Roots[0].ID, tree.Roots[1].ID}, []string{"r3", "r4"})
	equal(t, len(tree.byID), 2*4)
	// What trails behind a run that is not there makes none; a state does, as when one begins to look in the middle.
	tree = &Tree{}
	tree.Apply(Event{TS: start, RunID: "x", Name: Delta, Data: DeltaData{Text: "a"}})
	equal(t, len(tree.Roots), 0)
	tree.Apply(Event{TS: start, RunID: "x", Turn: 4, Step: 2, Name: State, Data: StateData{State: "waiting_model"}})
	equal(t, tree.Run("x").Title, "turn 4")
	tree.Apply(Event{TS: start, RunID: "x", Turn: 4, Step: 2, Name: Delta, Data: DeltaData{Kind: "text", Text: "abcd"}})
	tree.Apply(Event{TS: start, RunID: "x", Turn: 4, Step: 2, Name: Delta, Data: DeltaData{Kind: "summary", Text: "abcd"}})
	equal(t, tree.Run("x").Tokens, Tokens{Completion: 1, Estimated: true})
	tree.Apply(Event{TS: start, RunID: "x", Turn: 4, Step: 2, Name: State, Data: StateData{Meter: &Meter{System: 1, Memory: 2, Window: 7}}})
	equal(t, tree.Run("x").Tokens.Total(), 11)
}

func TestUnsavedErrorsAreShown(t *testing.T) {
	tree := treeOf((&script{run: "r", turn: 1}).at(0, RunStartData{}).at(1, ErrorData{Message: "may not be saved"}).at(2, ErrorData{Message: "saved again"}).events...)
	equal(t, printed(t, tree), lines("… turn 1   2 ms    not ended: run r", "  ✗ error          may not be saved", "  ✗ error          saved again"))
}

// TestAnyEventsMakeATree: whatever comes, in whatever order, nothing breaks, and each node can be found.
func TestAnyEventsMakeATree(t *testing.T) {
	pool := append(twoSteps().events, samples()...)
	rapid.Check(t, func(t *rapid.T) {
		tree := &Tree{Keep: 3}
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			e := rapid.SampledFrom(pool).Draw(t, "event")
			e.RunID = rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "run")
			e.Seq = int64(rapid.IntRange(0, 50).Draw(t, "seq"))
			tree.Apply(e)
		}
		count := 0
		var walk func(n *Node)
		walk = func(n *Node) {
			count++
			if tree.Node(n.ID) != n {
				t.Fatalf("%s is not found by its id", n.ID)
			}
			if n.Open() != n.End.IsZero() {
				t.Fatalf("%s is %s and ends at %v", n.ID, n.Status, n.End)
			}
			for _, c := range n.Children {
				if c.Parent != n {
					t.Fatalf("%s has another parent", c.ID)
				}
				walk(c)
			}
		}
		for _, r := range tree.Roots {
			walk(r)
		}
		if count != len(tree.byID) || len(tree.Roots) > 3 {
			t.Fatalf("%d nodes, %d known, %d roots", count, len(tree.byID), len(tree.Roots))
		}
		if err := Print(&bytes.Buffer{}, tree); err != nil {
			t.Fatal(err)
		}
	})
}

// hostile is text that would drive a terminal: a title, a clipboard write, colours, a hidden link, in both forms.
const hostile = "a\x1b]0;title\x07\x1b]52;c;eA==\x1b\\\x1b[31mb\u009b31mc\u009d52;c;eA==\u009cd\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\\u202ee\x00\rf\ng\x7f\u200bh\x1bPq\x1b\\\x9bi"

// B016: text of models, tools and users is printed without any control sequence.
func TestPrintShowsNoControlSequence(t *testing.T) {
	s := (&script{run: "r", turn: 1}).at(0, RunStartData{Input: hostile, Model: hostile}).in(1).
		at(1, LLMCallData{Model: hostile, Error: hostile, FinishReason: hostile, PrefixBreak: hostile}).
		at(2, ToolCallData{ID: hostile, Tool: hostile, RawArguments: hostile, Status: "not_run"}).
		at(3, ToolResultData{ID: hostile, Summary: hostile, Code: hostile, Status: hostile}).
		at(4, ErrorData{Message: hostile, Why: hostile, Stored: true}).
		at(5, CompactData{Phase: hostile, Reason: hostile, Detail: hostile}).
		at(6, RunEndData{State: hostile, Reason: hostile})
	out := printed(t, treeOf(s.events...))
	for _, r := range out {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("%U is printed", r)
		}
	}
	equal(t, strings.Count(out, "\n"), 7)
	if strings.Contains(out, "evil.example") || strings.Contains(out, "eA==") || !strings.Contains(out, "abcdsafe.examplee f gh") {
		t.Error(out)
	}
}

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"  a \t\n b\u2028c ", 10, "a b c"},
		{"abcdef", 4, "abc…"},
		{"abc👨\u200d👩\u200d👧", 5, "abc…"},
		{"\xff\xfe", 5, "\uFFFD"},
		{strings.Repeat("界", 1000), 5, "界界界界…"},
		{"\x1b[", 5, ""},
		{"", 5, ""},
	} {
		equal(t, oneLine(c.in, c.limit), c.want)
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add(hostile)
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range oneLine(in, 20) {
			if unicode.IsControl(r) || steers(r) {
				t.Errorf("%U is left of %q", r, in)
			}
		}
	})
}

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 999 * time.Microsecond: "0 ms", 8 * time.Millisecond: "8 ms", 999 * time.Millisecond: "999 ms", time.Second: "1.0 s", 59_990 * time.Millisecond: "59.9 s",
		time.Minute: "1 m 00 s", 123 * time.Second: "2 m 03 s", 25*time.Hour + 90*time.Second: "25 h 01 m",
	} {
		equal(t, FormatDuration(d), want)
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1.0k", 3112: "3.1k", 99_949: "99.9k", 99_950: "100k", 128_000: "128k", 999_499: "999k", 999_500: "1.0M", 2_500_000: "2.5M"} {
		equal(t, FormatTokens(n), want)
	}
}

func TestPrintTellsOfAFailedWrite(t *testing.T) {
	broken := errors.New("closed")
	if err := Print(failingWriter{broken}, treeOf(twoSteps().events...)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A tool's retry belongs to its call, not to a model call.
func TestToolRetryInTheTree(t *testing.T) {
	s := &script{run: "run-1", turn: 1}
	s.at(0, RunStartData{Input: "go"}).in(1).
		at(0, LLMCallData{Model: "m", LatencyMS: 0, Estimate: 1, FinishReason: "tool_calls", Attempts: 1, StartedAt: ms(0)}).
		at(1, ToolCallData{ID: "c1", Tool: "fetch", Arguments: json.RawMessage(`{}`), Status: "started"}).
		at(2, RetryData{Attempt: 1, Max: 3, WaitMS: 250, Cause: "no connection", Call: "c1", Tool: "fetch"})
	tree := treeOf(s.events...)
	if n := tree.byID[callNode("c1")]; n.Attempts != 2 || n.Outcome != "no connection" {
		t.Errorf("%d attempts, outcome %q", n.Attempts, n.Outcome)
	}
	tree.Apply(Event{RunID: "run-1", Step: 1, Name: Retry, Data: RetryData{Attempt: 1, Cause: "x", Call: "nothing"}})
}

// What a run waits for the user, or for another process, is no part of its rows: the call that the debugger holds begins when it
// goes on, and the request before it took what it took.
func TestPauseInTheTree(t *testing.T) {
	s := &script{run: "run-1", turn: 1}
	s.at(0, RunStartData{Input: "go", Model: "m"}).at(0, StateData{State: "building_context"}).in(1).
		at(5, StateData{State: "waiting_model"}).
		at(5, StateData{State: "waiting_model", Reason: "paused", Pause: &Pause{Step: 1}})
	tree := treeOf(s.events...)
	run := tree.Run("run-1")
	m := tree.openModel(run)
	if m == nil || m.Status != Waiting || m.Outcome != "paused" || run.Status != Waiting {
		t.Fatalf("while it stands still: run %s, call %+v", run.Status, m)
	}
	begun := len(s.events)
	s.at(60_000, StateData{State: "waiting_model"})
	tree.Apply(s.events[begun])
	if m.Status != Running || m.Outcome != "" || run.Status != Running || !m.Start.Equal(ms(60_000)) {
		t.Fatalf("after it went on: run %s, call %+v", run.Status, m)
	}
	s.at(61_000, LLMCallData{Model: "m", LatencyMS: 1000, Estimate: 9, FinishReason: "stop", Attempts: 1, StartedAt: ms(60_000), ContextMS: ptr(int64(5))})
	for _, tree := range []*Tree{tree, treeOf(s.events[0], s.events[len(s.events)-1])} {
		if len(tree.Run("run-1").Children) == 0 {
			t.Fatal("no rows")
		}
		tree.Apply(s.events[len(s.events)-1])
		for _, n := range tree.Run("run-1").Children {
			if want := map[Kind]time.Duration{KindContext: 5 * time.Millisecond, KindStep: time.Second}[n.Kind]; n.Duration(ms(99_000)) != want {
				t.Errorf("%s took %s, want %s", n.Title, n.Duration(ms(99_000)), want)
			}
		}
	}
}

// The row of a call whose arguments the user changed ends; the call that took its place has one of its own.
func TestEditInTheTree(t *testing.T) {
	s := &script{run: "run-1", turn: 1}
	s.at(0, RunStartData{Input: "go"}).in(1).
		at(0, LLMCallData{Model: "m", Estimate: 1, FinishReason: "tool_calls", Attempts: 1, StartedAt: ms(0)}).
		at(1, ApprovalData{Phase: "asked", ID: "c1", CallID: "w", Tool: "save", Arguments: json.RawMessage(`{"a":1}`)}).
		at(9, ApprovalData{Phase: "decided", ID: "c1", CallID: "w", Tool: "save", Answer: "edit"}).
		at(9, ApprovalData{Phase: "asked", ID: "c2", CallID: "w", Tool: "save", Arguments: json.RawMessage(`{"a":2}`)})
	tree := treeOf(s.events...)
	old, now := tree.byID[callNode("c1")], tree.byID[callNode("c2")]
	equal(t, tree.Run("run-1").Status, Waiting)
	if old.Duration(ms(99)) != 0 { // it only waited
		t.Errorf("the call that was replaced took %v", old.Duration(ms(99)))
	}
	if old.Status != Stopped || old.Outcome != "arguments changed" || now == nil || now.Status != Waiting || !strings.Contains(now.Detail, "2") {
		t.Errorf("old %+v, now %+v", old, now)
	}
}

// What a step waited for the user is not in its time, nor in that of a run that goes on: two questions at once, one answered after
// the other, then a call that runs; a pause before the model call; a cancel while one waits.
func TestWaitsAreNotInTheTimeOfAStep(t *testing.T) {
	asked := func(id string) ApprovalData { return ApprovalData{Phase: "asked", ID: id, CallID: id, Tool: "save"} }
	said := func(id string) ApprovalData {
		return ApprovalData{Phase: "decided", ID: id, CallID: id, Tool: "save", Answer: "allow"}
	}
	check := func(what string, tree *Tree, now, step, run int) {
		t.Helper()
		if got := tree.Node("r/1").Duration(ms(now)); got != time.Duration(step)*time.Millisecond {
			t.Errorf("%s: the step took %v, want %d ms", what, got, step)
		}
		if got := tree.Run("r").Duration(ms(now)); got != time.Duration(run)*time.Millisecond {
			t.Errorf("%s: the run took %v, want %d ms", what, got, run)
		}
	}
	s := (&script{run: "r", turn: 1}).at(0, RunStartData{Input: "x"}).in(1).at(10, LLMCallData{StartedAt: ms(10), LatencyMS: 20}).
		at(30, asked("a")).at(30, asked("b")).at(31, asked("a"))
	check("asked", treeOf(s.events...), 5000, 20, 30)
	s.at(1030, said("a"))
	check("one is decided", treeOf(s.events...), 5000, 20, 30)
	s.at(2030, said("b")).at(2030, ToolCallData{ID: "a", CallID: "a", Tool: "save", Status: "started"})
	check("it runs", treeOf(s.events...), 2040, 30, 40)
	ended := s.at(2050, ToolResultData{ID: "a", CallID: "a", Tool: "save", Status: "done", OK: true, DurationMS: 20}).
		at(2060, ToolResultData{ID: "b", CallID: "b", Tool: "save", Status: "done", OK: true, DurationMS: 10}).
		at(2070, RunEndData{State: "succeeded", DurationMS: 66})
	check("it has ended", treeOf(ended.events...), 9000, 50, 66)

	s = (&script{run: "r", turn: 1}).at(0, RunStartData{Input: "x"}).in(1).at(10, StateData{State: "waiting_model", Pause: &Pause{}})
	check("paused", treeOf(s.events...), 5000, 0, 10)
	s.at(4000, StateData{State: "waiting_model"})
	check("it goes on", treeOf(s.events...), 4005, 5, 15)
	s.at(4020, LLMCallData{StartedAt: ms(4001), LatencyMS: 19})
	check("it has answered", treeOf(s.events...), 4025, 19, 35)

	s = (&script{run: "r", turn: 1}).at(0, RunStartData{Input: "x"}).in(1).at(10, StateData{State: "waiting_model", Pause: &Pause{}}).
		at(172_800_000, RunEndData{State: "cancelled", DurationMS: 10})
	tree := treeOf(s.events...)
	check("stopped in a pause of two days", tree, 172_800_000, 0, 10)
	equal(t, tree.Node("r/1/model1").Duration(ms(172_800_000)), 0*time.Millisecond)

	s = (&script{run: "r", turn: 1}).at(0, RunStartData{Input: "x"}).in(1).at(10, LLMCallData{StartedAt: ms(10), LatencyMS: 20}).at(30, asked("a")).
		at(3000, ToolResultData{ID: "a", CallID: "a", Tool: "save", Status: "not_run"}).at(3000, RunEndData{State: "cancelled", DurationMS: 33})
	check("cancelled", treeOf(s.events...), 9000, 20, 33)
}

// When a run waited is told by its events: by what was asked and decided, by a pause, by who left it and who took it up. Where these
// are not stored its own word on its time tells how much of the gaps between its parts it was.
func TestWaitsOfARun(t *testing.T) {
	asked, said := ApprovalData{Phase: "asked", ID: "a", CallID: "a", Tool: "save"}, ApprovalData{Phase: "decided", ID: "a", CallID: "a", Tool: "save", Answer: "allow"}
	first := func() *script {
		return (&script{run: "r", turn: 1}).at(0, RunStartData{Input: "x"}).in(1).at(30, LLMCallData{StartedAt: ms(10), LatencyMS: 20})
	}
	waits := func(tree *Tree, want ...int) {
		t.Helper()
		var got []int
		for _, w := range tree.Run("r").Waits() {
			got = append(got, int(w.From.Sub(start)/time.Millisecond), int(w.To.Sub(start)/time.Millisecond))
		}
		equal(t, got, want)
	}
	s := first().at(30, asked)
	waits(treeOf(s.events...)) // nothing is behind it yet
	s.at(180_000, said).at(180_000, ToolCallData{ID: "a", CallID: "a", Tool: "save", Status: "started"})
	waits(treeOf(s.events...), 30, 180_000)
	s.at(180_500, ToolResultData{ID: "a", CallID: "a", Tool: "save", Status: "done", OK: true, DurationMS: 500}).in(2)
	paused := (&script{run: "r", turn: 1, events: slices.Clone(s.events)}).in(2).at(180_510, StateData{State: "waiting_model", Pause: &Pause{}}).at(240_000, StateData{State: "waiting_model"})
	waits(treeOf(paused.events...), 30, 180_000, 180_510, 240_000)
	s.at(241_000, LLMCallData{StartedAt: ms(240_000), LatencyMS: 1000}).at(241_000, RunEndData{State: "succeeded", DurationMS: 1540})
	waits(treeOf(s.events...), 30, 180_000, 180_510, 240_000) // the pause is not stored
	tree := treeOf(first().events...)
	tree.Halt("r")
	on := first().at(90_000, StateData{State: "waiting_model"})
	tree.Apply(on.events[2])
	waits(tree, 30, 90_000)
	equal(t, tree.Run("r").Duration(ms(90_010)), 40*time.Millisecond)
}

// What is shown of a call is what runs, or ran; what the model wrote only where nothing of it could be run.
func TestArgumentsShown(t *testing.T) {
	for _, c := range []struct {
		d    ToolCallData
		want string
	}{
		{ToolCallData{Arguments: json.RawMessage(`{"a":2}`), RawArguments: `{"a":1}`, Status: "started"}, `{"a":2}`},
		{ToolCallData{Arguments: json.RawMessage(`{"a":2}`), RawArguments: `{"a":1}`, Status: "denied"}, `{"a":2}`},
		{ToolCallData{Arguments: json.RawMessage(`{"a":2}`), RawArguments: `{"a":1}`, Status: "not_run"}, `{"a":2}`},
		{ToolCallData{Arguments: json.RawMessage(`{}`), RawArguments: `{"a":1}`, Status: "started"}, `{}`},
		{ToolCallData{Arguments: json.RawMessage(`{}`), RawArguments: `{"a":1}`, Status: "denied"}, `{}`},
		{ToolCallData{Arguments: json.RawMessage(`{}`), RawArguments: `{bad`, Status: "not_run"}, `{bad`},
		{ToolCallData{Arguments: json.RawMessage(`{"a":1}`), Status: "not_run"}, `{"a":1}`},
	} {
		s := (&script{run: "r", turn: 1}).in(1).at(0, c.d)
		c.d.ID = "c"
		s.events[0].Data = c.d
		if got := treeOf(s.events...).Node("call/c").Detail; got != c.want {
			t.Errorf("%+v is shown as %s, want %s", c.d, got, c.want)
		}
	}
}

// A run that waits for the user does so after the process that asked is gone too, at the length that it had; what else was open has
// stopped. It goes on, or is given up, as one that is asked now.
func TestAHaltedRunThatWaits(t *testing.T) {
	left := func() *script {
		return (&script{run: "r", turn: 1}).at(0, RunStartData{Model: "m"}).in(1).
			at(30, LLMCallData{Model: "m", LatencyMS: 20, StartedAt: ms(10), FinishReason: "tool_calls"}).
			at(40, ApprovalData{Phase: "asked", ID: "a", CallID: "x", Tool: "shell", Arguments: json.RawMessage(`{}`)}).
			at(40, ToolCallData{ID: "b", CallID: "y", Tool: "look", Status: "started"})
	}
	halted := func() (*Tree, *script) {
		s := left()
		tree := treeOf(s.events...)
		tree.Halt("r")
		return tree, s
	}
	tree, _ := halted()
	run, call := tree.Run("r"), tree.Node("call/a")
	equal(t, []Status{run.Status, tree.Node("r/1").Status, call.Status, tree.Node("call/b").Status}, []Status{Waiting, Running, Waiting, Stopped})
	equal(t, []time.Duration{run.Duration(ms(99_000)), tree.Node("r/1").Duration(ms(99_000)), call.Duration(ms(99_000))},
		[]time.Duration{40 * time.Millisecond, 30 * time.Millisecond, 0})
	equal(t, run.Until(ms(99_000)), ms(40))

	tree, s := halted()
	s.at(90_000, ApprovalData{Phase: "decided", ID: "a", CallID: "x", Tool: "shell", Answer: "allow"}).at(90_000, StateData{State: "executing"}).
		at(90_010, ToolResultData{ID: "a", CallID: "x", Tool: "shell", Status: "done", OK: true, DurationMS: 10}).at(90_020, RunEndData{State: "succeeded"})
	for _, e := range s.events[4:] {
		tree.Apply(e)
	}
	equal(t, []Status{tree.Run("r").Status, tree.Node("call/a").Status}, []Status{OK, OK})
	equal(t, tree.Run("r").Duration(ms(99_000)), 60*time.Millisecond)

	tree, s = halted()
	s.at(90_000, ToolResultData{ID: "a", CallID: "x", Tool: "shell", Status: "not_run"}).at(90_000, RunEndData{State: "cancelled", Reason: "interrupted"})
	for _, e := range s.events[4:] {
		tree.Apply(e)
	}
	equal(t, []Status{tree.Run("r").Status, tree.Node("call/a").Status}, []Status{Stopped, Stopped})
	equal(t, tree.Run("r").Duration(ms(99_000)), 40*time.Millisecond)

	tree, s = halted() // an end without the result of what was asked
	s.at(90_000, RunEndData{State: "cancelled"})
	tree.Apply(s.events[4])
	equal(t, []Status{tree.Run("r").Status, tree.Node("call/a").Status, tree.Node("r/1").Status}, []Status{Stopped, Stopped, Stopped})
}

// A call about whose outcome the user is asked waits, and runs again by their word.
func TestAnUnknownOutcomeInTheTree(t *testing.T) {
	s := (&script{run: "r", turn: 1}).at(0, RunStartData{Model: "m"}).in(1).
		at(30, LLMCallData{Model: "m", LatencyMS: 20, StartedAt: ms(10), FinishReason: "tool_calls"}).
		at(40, ToolCallData{ID: "a", CallID: "x", Tool: "shell", Status: "started"})
	tree := treeOf(s.events...)
	tree.Halt("r", "a", "nobody")
	run, call := tree.Run("r"), tree.Node("call/a")
	equal(t, []Status{run.Status, call.Status}, []Status{Waiting, Waiting})
	equal(t, call.Outcome, "outcome unknown")
	s.at(90_000, ApprovalData{Phase: "decided", ID: "a", CallID: "x", Tool: "shell", Answer: "again"}).at(90_000, StateData{State: "reconciling"}).
		at(90_000, ToolCallData{ID: "a", CallID: "x", Tool: "shell", Status: "started"})
	for _, e := range s.events[3:] {
		tree.Apply(e)
	}
	equal(t, []Status{run.Status, call.Status}, []Status{Running, Running})
	equal(t, call.Word(), "run it again")
	equal(t, []bool{run.Asks(), call.Asks()}, []bool{false, false})
	equal(t, run.Duration(ms(90_007)), 47*time.Millisecond)

	tree = treeOf(s.events[:3]...) // the word came with the going on
	tree.Halt("r", "a")
	for _, e := range s.events[4:] {
		tree.Apply(e)
	}
	equal(t, tree.Run("r").Duration(ms(90_007)), 47*time.Millisecond)
}

// What the user said on a call is told; that it holds from then on too, also by vitrine trace.
func TestTheWordOnACall(t *testing.T) {
	for want, d := range map[string]ApprovalData{
		"":                     {Answer: "allow", Cause: "break"},
		"allowed once":         {Answer: "allow"},
		"allowed, always here": {Answer: "allow", Always: true},
		"denied: not today":    {Answer: "deny", Reason: "not today"},
		"answered by hand":     {Answer: "answer"},
		"it ran":               {Answer: "happened"},
	} {
		d.Phase, d.ID, d.CallID, d.Tool = "decided", "a", "x", "shell"
		s := (&script{run: "r", turn: 1}).in(1).at(0, ApprovalData{Phase: "asked", ID: "a", CallID: "x", Tool: "shell"}).at(5, d)
		tree := treeOf(s.events...)
		equal(t, tree.Node("call/a").Word(), want)
		if got := printed(t, tree); strings.Contains(got, "always here") != d.Always {
			t.Errorf("%q is printed as\n%s", want, got)
		}
	}
}

// A model call that was cancelled has ended neither well nor badly, and its step with it.
func TestACancelledModelCallIsStopped(t *testing.T) {
	s := &script{run: "run-1", turn: 1}
	s.at(0, RunStartData{Input: "go", Model: "m"}).in(1).at(5, StateData{State: "waiting_model"}).at(900, LLMCallData{Model: "m", FinishReason: "cancelled", StartedAt: ms(5)})
	step := firstOf(treeOf(s.events...).Run("run-1"), KindStep)
	if step == nil || step.Status != Stopped || step.Children[0].Status != Stopped {
		t.Errorf("the step is %+v", step)
	}
}
