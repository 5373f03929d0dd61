package traceview_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/traceview"
	"vitrine/ui/words"
)

var t0 = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func num(n int) *int { return &n }

// script makes a turn's events: one step with two tools, then an answer, at real times.
func script(turn int, start time.Time) []trace.Event {
	run := fmt.Sprintf("run-%d", turn)
	ttft := int64(380)
	var evs []trace.Event
	add := func(ms int, step int, d trace.Data) {
		evs = append(evs, trace.Event{
			TS: start.Add(time.Duration(ms) * time.Millisecond), Seq: int64(turn*100 + len(evs)), SessionID: "s", RunID: run, Turn: turn,
			Step: step, Name: d.EventName(), Data: d,
		})
	}
	add(0, 0, trace.RunStartData{Input: "what do 12 workers cost?", Model: "m"})
	add(1900, 1, trace.LLMCallData{Model: "gpt-4o-mini", LatencyMS: 1892, TTFTMS: &ttft, PromptTokens: num(2900), CompletionTokens: num(100),
		CachedTokens: num(2209), ToolCallCount: 2, FinishReason: "tool_calls", Attempts: 1, StartedAt: start.Add(8 * time.Millisecond)})
	add(1901, 1, trace.ToolCallData{ID: "a" + run, Tool: "search_mock", Arguments: json.RawMessage(`{"query":"price"}`), Status: "started"})
	add(1942, 1, trace.ToolResultData{ID: "a" + run, Tool: "search_mock", Status: "done", OK: true, DurationMS: 41, Summary: "3 hits"})
	add(1943, 1, trace.ToolCallData{ID: "b" + run, Tool: "calculator", Arguments: json.RawMessage(`{"expression":"12*7"}`), Status: "started"})
	add(1946, 1, trace.ToolResultData{ID: "b" + run, Tool: "calculator", Status: "done", OK: false, Code: "invalid_argument", DurationMS: 3})
	add(4400, 2, trace.LLMCallData{Model: "gpt-4o-mini", LatencyMS: 2450, TTFTMS: &ttft, PromptTokens: num(3112), CompletionTokens: num(166),
		FinishReason: "stop", Attempts: 2, StartedAt: start.Add(1950 * time.Millisecond)})
	add(4400, 2, trace.AnswerData{Text: "done"})
	add(4400, 2, trace.RunEndData{State: "succeeded", Steps: 2, Calls: 2, Tokens: 6278, DurationMS: 4400})
	return evs
}

func view(w, h int) *traceview.View {
	v := traceview.New(theme.New(theme.Options{Profile: colorprofile.TrueColor}), paint.Metrics{Grapheme: true})
	v.SetSize(w, h)
	v.SetFocus(true)
	return v
}

func plain(v *traceview.View) string {
	var b strings.Builder
	for _, r := range v.Rows() {
		b.WriteString(strings.TrimRight(ansi.Strip(r), " ") + "\n")
	}
	return b.String()
}

func TestTree(t *testing.T) {
	v := view(51, 20)
	v.Load(append(script(6, t0), script(7, t0.Add(time.Minute))...))
	got := plain(v)
	want := ` TRACE  turn 7      0     2.2  4.4 s   time tokens

 ▸ turn 6                             4.4 s   6.3k
 ▾ turn 7           ⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶  4.4 s   6.3k
   ✓ context        ⠂                  8 ms
   ▾ step 1         ⠶⠶⠶⠶⠶⠶⠶⠆          1.9 s     3k
     ✓ model        ⠒⠿⠿⠿⠿⠿⠿           1.9 s     3k
     ✓ search_mock        ⠰⠆          41 ms
     ✗ calculator          ⠂           3 ms
   ▾ step 2                ⠶⠶⠶⠶⠶⠶⠶⠶⠶  2.5 s   3.3k
❯    ✓ model try 2         ⠒⠿⠿⠿⠿⠿⠿⠿⠿  2.5 s   3.3k
`
	if d := cmp.Diff(want, strings.Join(strings.SplitAfter(got, "\n")[:11], "")); d != "" {
		t.Errorf("%s\n%s", d, got)
	}
	for _, s := range []string{"MODEL CALL  step 2", "Enter: JSON", "3,112 tokens", "380 ms", "166 tokens", "a second", "attempt       2"} {
		if !strings.Contains(got, s) {
			t.Errorf("the facts lack %q:\n%s", s, got)
		}
	}
	if a, b := v.Rows(), v.Rows(); &a[0] != &b[0] {
		t.Error("unchanged rows are made anew")
	}
}

// The narrower the pane the less is shown, but a tool keeps its name, its bar has four cells, and a blank parts the two.
func TestNarrow(t *testing.T) {
	for w, want := range map[int]string{36: "search_mock  ⠂ ", 44: "search_mock     ⠆", 51: "search_mock        ⠰⠆"} {
		v := view(w, 20)
		v.Load(script(7, t0))
		s := plain(v)
		if !strings.Contains(s, want) || !strings.Contains(s, "41 ms") || !strings.Contains(s, "model try 2 ") {
			t.Errorf("at %d:\n%s", w, s)
		}
		for _, row := range strings.Split(s, "\n")[2:10] {
			cells := []rune(row)
			for i := 1; i < len(cells); i++ {
				if bar := strings.ContainsRune("⠒⠿⠶⠂⠐⠰", cells[i]); bar && cells[i-1] > ' ' && cells[i-1] < 0x7f {
					t.Errorf("at %d no blank before the bar of %q", w, row)
				}
			}
		}
	}
}

// A fact that has no room behind another gets a row of its own; none is broken over two.
// In Chinese too, whose units are wider, there are bars at 120 columns (where the pane has 36), and whatever a turn took has a blank before it
// and is whole, but for the unit that goes without saying.
func TestBarsInChinese(t *testing.T) {
	v := traceview.New(theme.New(theme.Options{Profile: colorprofile.TrueColor, Lang: words.Chinese}), paint.Metrics{Grapheme: true})
	v.SetSize(36, 20)
	v.Load(script(7, t0))
	got := plain(v)
	for _, want := range []string{" 轨迹  第 7 轮          用时 tokens", " ▾ 第 7 轮       ⠶⠶⠶   4.4秒   6.3k", "   ✓ search_mock  ⠂   41毫秒", "❯  ✓ 模型 第2次   ⠿⠿   2.5秒   3.3k"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for d, want := range map[time.Duration]string{
		3 * time.Millisecond: "3毫秒", 499 * time.Millisecond: "499毫秒", 59 * time.Second: "59.0秒", 125 * time.Second: "2分05秒", 754 * time.Second: "12分34",
		3599 * time.Second: "59分59", 2*time.Hour + 3*time.Minute: "2时03分", 23*time.Hour + 59*time.Minute: "23时59", 400 * 24 * time.Hour: "400天",
	} {
		v.Load([]trace.Event{{TS: t0, Seq: 1, SessionID: "s", RunID: "r", Turn: 1, Name: "run_start", Data: trace.RunStartData{}},
			{TS: t0.Add(d), Seq: 2, SessionID: "s", RunID: "r", Turn: 1, Name: "run_end", Data: trace.RunEndData{State: "succeeded", DurationMS: d.Milliseconds()}}})
		row := strings.Split(plain(v), "\n")[2]
		if !strings.HasSuffix(row, " "+want) {
			t.Errorf("%v reads %q, not %q", d, row, want)
		}
	}
}

func TestFactsInANarrowPane(t *testing.T) {
	for w, want := range map[int][]string{
		36: {"sent          2,900 tokens\n", "cached        2,209 tokens\n", "received      100 tokens\n", "speed         66 a second\n"},
		44: {"sent          2,900 tokens   2,209 cached\n", "received      100 tokens   66 a second\n"},
	} {
		v := view(w, 24)
		v.Load(script(7, t0))
		v.Top()
		v.Move(3)
		s := plain(v)
		for _, row := range want {
			if !strings.Contains(s, " "+row) {
				t.Errorf("at %d no %q:\n%s", w, row, s)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	v := view(60, 30)
	v.Load(append(script(6, t0), script(7, t0.Add(time.Minute))...))
	if !v.Following() {
		t.Error("it does not follow at first")
	}
	v.Fold() // a leaf: to its step
	if n := v.Selected(); n.Title != "step 2" || v.Following() {
		t.Errorf("selected %q", n.Title)
	}
	v.Fold()
	if s := plain(v); strings.Contains(s, "try 2") || !strings.Contains(s, "▸ step 2") {
		t.Error(s)
	}
	v.Unfold()
	v.Unfold()
	if n := v.Selected(); n.Kind != trace.KindModel {
		t.Errorf("selected %q", n.Title)
	}
	v.TurnBefore()
	v.TurnBefore()
	if n := v.Selected(); n.Title != "turn 6" || v.Turn() != 6 {
		t.Errorf("selected %q", n.Title)
	}
	v.Toggle()
	if s := plain(v); strings.Count(s, "search_mock") != 2 {
		t.Error(s)
	}
	v.TurnAfter()
	if v.Turn() != 7 {
		t.Errorf("turn %d", v.Turn())
	}
	if v.SelectRef(5, 0, "") || !v.SelectRef(6, 0, "") || v.Turn() != 6 {
		t.Error("a turn cannot be selected")
	}
	v.Top()
	v.Move(3)
	v.HalfPage(1)
	v.Page(-1)
	v.Bottom()
	if !v.Following() {
		t.Error("it does not follow at the bottom")
	}
	var events []map[string]any
	v.Move(-100)
	if err := json.Unmarshal([]byte(v.JSON()), &events); err != nil || events[0]["event"] != "run_start" {
		t.Errorf("%v in %s", err, v.JSON())
	}
}

// What is under way shows live: the spinner turns, the bar grows, the first token makes it thick.
func TestLive(t *testing.T) {
	v := view(60, 30)
	ev := func(ms, step int, d trace.Data) {
		v.Apply(trace.Event{TS: t0.Add(time.Duration(ms) * time.Millisecond), SessionID: "s", RunID: "r", Turn: 1, Step: step, Name: d.EventName(), Data: d})
	}
	start := trace.RunStartData{Input: "hi"}
	v.Apply(trace.Event{TS: t0, Seq: 1, SessionID: "s", RunID: "r", Turn: 1, Name: trace.RunStart, Data: start})
	ev(1, 0, trace.StateData{State: "building_context"})
	ev(5, 1, trace.StateData{State: "waiting_model"})
	if !v.Running() {
		t.Fatal("it does not run")
	}
	v.Tick(t0.Add(time.Second), 3)
	if s := plain(v); !strings.Contains(s, "⠒⠒⠒") || strings.Contains(s, "⠿") {
		t.Errorf("waiting:\n%s", s)
	}
	ev(1000, 1, trace.DeltaData{Kind: "text", Text: "some text that streams"})
	v.Tick(t0.Add(2*time.Second), 4)
	if s := plain(v); !strings.Contains(s, "⠒") || !strings.Contains(s, "⠿") || !strings.Contains(s, "~") {
		t.Errorf("streaming:\n%s", s)
	}
	rows := v.Rows()
	v.Tick(t0.Add(2*time.Second), 5)
	if &rows[0] == &v.Rows()[0] {
		t.Error("the spinner stands")
	}
	v.Apply(trace.Event{TS: t0.Add(3 * time.Second), Seq: 2, SessionID: "s", RunID: "r", Turn: 1, Step: 1, Name: trace.Error,
		Data: trace.ErrorData{Message: "no connection \x1b[31m"}})
	v.Apply(trace.Event{TS: t0.Add(3 * time.Second), Seq: 3, SessionID: "s", RunID: "r", Turn: 1, Step: 1, Name: trace.RunEnd,
		Data: trace.RunEndData{State: "failed", Reason: "model"}})
	if v.Running() {
		t.Error("it still runs")
	}
	rows = v.Rows()
	v.Tick(t0.Add(9*time.Second), 6)
	if &rows[0] != &v.Rows()[0] {
		t.Error("rows are made anew although nothing runs")
	}
	if s := plain(v); !strings.Contains(s, "✗") {
		t.Error(s)
	}
}

// Minutes of waiting for the user do not press the bars together: the scale is what was worked.
func TestTheScaleLeavesWaitsOut(t *testing.T) {
	v := view(60, 30)
	seq, first := int64(0), int64(1000)
	ev := func(ms, step int, d trace.Data) {
		seq++
		v.Apply(trace.Event{TS: t0.Add(time.Duration(ms) * time.Millisecond), Seq: seq, SessionID: "s", RunID: "r", Turn: 1, Step: step, Name: d.EventName(), Data: d})
	}
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	ev(0, 0, trace.RunStartData{Input: "go"})
	ev(2000, 1, trace.LLMCallData{StartedAt: t0, LatencyMS: 2000, TTFTMS: &first})
	ev(2000, 1, trace.ApprovalData{Phase: "asked", ID: "a", CallID: "a", Tool: "save"})
	row := func(name string) string {
		for _, r := range strings.Split(plain(v), "\n") {
			if strings.Contains(r, name) {
				return r
			}
		}
		t.Fatalf("no row %q:\n%s", name, plain(v))
		return ""
	}
	bar := func(name string) (at, cells int) {
		r := []rune(row(name))
		for i, c := range r {
			if strings.ContainsRune("⠒⠿⠶⠆⠰⠐⠸⠇⠂", c) {
				if cells++; cells == 1 {
					at = i
				}
			}
		}
		return at, cells
	}
	for _, now := range []int{2500, 300_000} {
		v.Tick(at(now), 0)
		if _, n := bar("model"); n < 8 || !strings.Contains(row("TRACE"), " 2.0 s") {
			t.Errorf("after %d ms of it:\n%s", now-2000, plain(v))
		}
	}
	ev(300_000, 1, trace.ApprovalData{Phase: "decided", ID: "a", CallID: "a", Tool: "save", Answer: "allow"})
	ev(300_000, 1, trace.ToolCallData{ID: "a", CallID: "a", Tool: "save", Status: "started"})
	ev(302_000, 1, trace.ToolResultData{ID: "a", CallID: "a", Tool: "save", Status: "done", OK: true, DurationMS: 2000})
	ev(306_000, 2, trace.LLMCallData{StartedAt: at(302_000), LatencyMS: 4000, TTFTMS: &first})
	for range 2 {
		v.Tick(at(306_000), 0)
		model, n := bar("model")
		tool, m := bar("save")
		if !strings.Contains(row("TRACE"), " 8.0 s") || tool-model < n-1 || n < 2 || m < 2 || m > n+1 {
			t.Errorf("the bars (%d cells at %d, %d at %d):\n%s", n, model, m, tool, plain(v))
		}
		ev(306_000, 0, trace.RunEndData{State: "succeeded", DurationMS: 8000})
	}
}

func TestEmpty(t *testing.T) {
	v := view(30, 8)
	v.Move(1)
	v.Bottom()
	v.Fold()
	v.Unfold()
	v.Toggle()
	v.TurnAfter()
	v.Scroll(3)
	if v.Selected() != nil || v.JSON() != "" || v.Turn() != 0 || !strings.Contains(plain(v), "nothing yet") {
		t.Error(plain(v))
	}
}

// B016, B017: at any size there are exactly as many rows as asked for, each exactly as wide, whatever the text.
func TestEverySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := view(0, 0)
		m := paint.Metrics{Grapheme: rapid.Bool().Draw(t, "grapheme")}
		v.SetMetrics(m)
		if rapid.Bool().Draw(t, "ascii") {
			v.SetTheme(theme.New(theme.Options{Name: theme.Light, ASCII: true}))
		}
		evs := script(1, t0)
		evs = append(evs, script(2, t0.Add(time.Hour))...)
		for i := range evs {
			switch d := evs[i].Data.(type) {
			case trace.ToolCallData:
				d.Tool = rapid.String().Draw(t, "tool")
				d.Arguments = json.RawMessage(rapid.String().Draw(t, "args"))
				evs[i].Data = d
			case trace.ToolResultData:
				d.Summary = "部署 👨‍👩‍👧‍👦 \x1b]52;c;eA==\x07 \u009b31m"
				evs[i].Data = d
			}
		}
		v.Load(evs[:rapid.IntRange(0, len(evs)).Draw(t, "events")])
		for range 5 {
			w, h := rapid.IntRange(-1, 120).Draw(t, "w"), rapid.IntRange(-1, 40).Draw(t, "h")
			v.SetSize(w, h)
			switch rapid.IntRange(0, 3).Draw(t, "act") {
			case 0:
				v.Move(rapid.IntRange(-5, 5).Draw(t, "move"))
			case 1:
				v.Toggle()
			case 2:
				v.Scroll(rapid.IntRange(-9, 9).Draw(t, "scroll"))
			}
			rows := v.Rows()
			if len(rows) != max(0, h) {
				t.Fatalf("%d rows of %d", len(rows), h)
			}
			for _, r := range rows {
				if got := m.Width(r); got != max(0, w) {
					t.Fatalf("row %q is %d wide, not %d", r, got, w)
				}
				if s := ansi.Strip(r); strings.ContainsAny(s, "\x1b\u009b\x07") || strings.Contains(r, "52;c") {
					t.Fatalf("control sequence in %q", r)
				}
			}
		}
	})
}

// A fold tells in the detail what its phases told, each once.
func TestFoldDetail(t *testing.T) {
	v := view(60, 30)
	evs := []trace.Event{{TS: t0, Seq: 1, RunID: "r", Turn: 4, Name: trace.RunStart, Data: trace.RunStartData{Input: "x"}}}
	add := func(ms int, d trace.CompactData) {
		d.ID, d.Reason = "f", "tokens"
		evs = append(evs, trace.Event{TS: t0.Add(time.Duration(ms) * time.Millisecond), RunID: "r", Turn: 4, Name: trace.Compact, Data: d})
	}
	add(1, trace.CompactData{Phase: "started", FirstN: 3, LastN: 11, LeavingCount: 9, TokensBefore: 6300, Limit: 6000})
	add(1500, trace.CompactData{Phase: "summarised", Tokens: 4100})
	add(1501, trace.CompactData{Phase: "merged", TokensBefore: 6300, TokensAfter: 2900, Pinned: []string{"never after 15:00"},
		Changes: []trace.CompactChange{{Field: "facts", Added: []string{"a", "b"}, Kept: []string{"c"}, Dropped: []string{"d"}}}})
	for _, e := range evs {
		v.Apply(e)
	}
	v.Bottom()
	for _, text := range []string{"FOLD ", "why           tokens", "prompt        6,300 to 2,900 tokens of 6k", "left          9 messages, 3 to 11",
		"memory        2 added, 1 kept, 1 dropped", "pinned        never after 15:00", "4,100 tokens"} {
		if s := plain(v); !strings.Contains(s, text) {
			t.Errorf("%q is not in\n%s", text, s)
		}
	}
	add(1600, trace.CompactData{Phase: "failed", Detail: "no summary", DurationMS: 1600})
	for i, e := range evs {
		e.Seq = int64(i + 1)
		v.Apply(e)
	}
	v.SetSize(60, 34)
	if s := plain(v); strings.Count(s, "fold") != 1 {
		t.Errorf("the fold is not there once:\n%s", s)
	}
	v.Apply(trace.Event{TS: t0.Add(time.Minute), Seq: 99, Name: trace.Compact, Data: trace.CompactData{ID: "f", Phase: "undone", TokensBefore: 2900, TokensAfter: 6300}})
	v.Top()
	v.Move(1)
	if s := plain(v); !strings.Contains(s, "✓ fold undone") || !strings.Contains(s, "FOLD UNDONE") || !strings.Contains(s, "2,900 to 6,300") {
		t.Errorf("after undo:\n%s", s)
	} else if strings.Contains(s, "summary") || strings.Contains(s, "phase") {
		t.Errorf("an undo has no summary:\n%s", s)
	}
}

// What waits for the user has not begun: no time is told of it, and the state once; a call of the model that is held has no last try.
func TestWhatWaitsHasNoTime(t *testing.T) {
	for name, c := range map[string]struct {
		tell []trace.Data
		want []string
	}{
		"a tool": {[]trace.Data{trace.LLMCallData{Model: "m", ToolCallCount: 1, LatencyMS: 40, StartedAt: t0},
			trace.ToolCallData{ID: "1", Tool: "write_file", Arguments: json.RawMessage(`{"path":"a"}`), Status: "pending"},
			trace.ApprovalData{Phase: "asked", ID: "1", Tool: "write_file"}}, []string{"result        waits for you"}},
		"a model call": {[]trace.Data{trace.StateData{State: "waiting_model", Reason: "paused", Pause: &trace.Pause{Step: 1}}}, []string{"state         paused"}},
	} {
		v := view(60, 30)
		v.Apply(trace.Event{TS: t0, Seq: 1, SessionID: "s", RunID: "r", Turn: 1, Name: trace.RunStart, Data: trace.RunStartData{Input: "hi"}})
		for i, d := range append([]trace.Data{trace.StateData{State: "waiting_model"}}, c.tell...) {
			v.Apply(trace.Event{TS: t0.Add(time.Duration(i) * time.Second), Seq: int64(i + 2), SessionID: "s", RunID: "r", Turn: 1, Step: 1, Name: d.EventName(), Data: d})
		}
		v.Tick(t0.Add(time.Minute), 1)
		s := plain(v)
		for _, w := range c.want {
			if !strings.Contains(s, w) {
				t.Errorf("%s: no %q:\n%s", name, w, s)
			}
		}
		for _, no := range []string{"took", "state         waiting", "last try", "⠂   0 ms"} {
			if strings.Contains(s, no) {
				t.Errorf("%s: %q:\n%s", name, no, s)
			}
		}
	}
}
