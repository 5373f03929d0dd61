package chat

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

var update = flag.Bool("update", false, "write the golden files")

func dark() *theme.Theme { return theme.New(theme.Options{Profile: colorprofile.TrueColor}) }

var t0 = time.Date(2026, 10, 8, 14, 2, 0, 0, time.UTC)

func newView(w, h int) *View {
	v := New(dark(), paint.Metrics{})
	v.SetSize(w, h)
	v.Tick(2, t0)
	return v
}

func screen(v *View) string {
	var b strings.Builder
	for _, r := range v.Rows() {
		b.WriteString(strings.TrimRight(ansi.Strip(r), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

// feed makes events of one turn.
type feed struct {
	v    *View
	run  string
	turn int
	step int
	seq  int64
	at   time.Time
}

func (f *feed) send(d trace.Data) {
	f.seq++
	f.v.Apply(trace.Event{TS: f.at, Seq: f.seq, RunID: f.run, Turn: f.turn, Step: f.step, Name: d.EventName(), Data: d})
}

func (f *feed) start(turn int, text string) {
	f.turn, f.step, f.run = turn, 0, fmt.Sprint("run", turn)
	f.send(trace.RunStartData{Input: text, N: int64(turn * 10)})
	f.step = 1
}

func (f *feed) say(text string) { f.send(trace.DeltaData{Kind: "text", Text: text}) }

func (f *feed) call(id, tool, args, summary string, ms int64) {
	f.send(trace.ToolCallData{ID: id, CallID: "c" + id, Tool: tool, Arguments: json.RawMessage(args), Status: "started"})
	f.send(trace.ToolResultData{ID: id, CallID: "c" + id, Tool: tool, Status: "done", OK: true, Result: json.RawMessage(`{"ok":true}`), Summary: summary, DurationMS: ms})
}

// mockup plays the turns of the design's picture.
func mockup(v *View) *feed {
	cost := 0.0011
	f := &feed{v: v, at: t0}
	f.start(5, "Remember that the deploy is on Friday.")
	f.send(trace.AnswerData{Text: "Noted: the deploy is on Friday. Your rule from turn 3 is pinned and stands: never after 15:00.", N: 51})
	f.send(trace.RunEndData{State: "succeeded", Steps: 1, Tokens: 1980, DurationMS: 900})
	f.start(6, "Read limits.yaml. What may a worker use?")
	f.call("a", "read_file", `{"path":"limits.yaml","lines":"1-38"}`, "1.2 KB", 6)
	f.step = 2
	f.send(trace.AnswerData{Text: "| resource | request | limit |\n|---|---|---|\n| cpu | 250m | 1 |\n| memory | 192 MiB | 256 MiB |\n| disk | 1 GiB | 2 GiB |\n\nA worker that passes its memory limit is restarted.", N: 61})
	f.send(trace.RunEndData{State: "succeeded", Steps: 2, Calls: 1, Tokens: 4560, DurationMS: 2300, Cost: &cost})
	f.start(7, "What do 12 workers cost in a week, and does Friday still hold?")
	f.say("I look up the price first, then calculate.")
	f.send(trace.LLMCallData{ToolCallCount: 3, Text: "I look up the price first, then calculate."})
	f.call("b", "search_mock", `{"query":"price of a worker hour"}`, "3 hits", 41)
	f.call("c", "calculator", `{"expression":"12 * 7 * 24 * 0.021"}`, "42.336", 3)
	f.call("d", "todo", `{"action":"add","text":"confirm the window with ops"}`, "added", 2)
	f.step = 2
	f.say("Twelve workers cost $42.34 a week:\n\n    12 workers * 7 days * 24 h * $0.021 = $42.336\n\nFriday holds, on the condition that you set: nothing goes out after 15:00. The rollout takes about 40 minutes, so start before 14:20 and leave")
	f.v.Apply(trace.Event{Data: trace.InputQueuedData{ID: "q1", Text: "Then add the price per day.", Action: "queued"}})
	return f
}

func TestMockup(t *testing.T) {
	for _, size := range [][2]int{{82, 39}, {55, 26}, {80, 19}, {40, 8}, {24, 12}} {
		v := newView(size[0], size[1])
		mockup(v)
		golden(t, fmt.Sprintf("mockup-%dx%d", size[0], size[1]), screen(v))
	}
	v := newView(60, 12)
	mockup(v)
	golden(t, "mockup-styled", strings.Join(v.Rows(), "\n")+"\n")
	a := newView(55, 26)
	a.SetTheme(theme.New(theme.Options{ASCII: true}))
	a.SetMetrics(paint.Metrics{Mark: "$"})
	mockup(a)
	golden(t, "mockup-ascii", screen(a))
	for _, r := range a.Rows() {
		for _, c := range r {
			if c < ' ' || c > '~' {
				t.Fatalf("%q in %q", c, r)
			}
		}
	}
}

func TestStates(t *testing.T) {
	v := newView(70, 30)
	f := &feed{v: v, at: t0}
	f.start(1, "do many things")
	f.send(trace.DeltaData{Kind: "reasoning", Text: "first I think\nthen I act"})
	golden(t, "thinking", screen(v))
	f.say("Working on it.")
	f.send(trace.LLMCallData{ToolCallCount: 5, Text: "Working on it."})
	f.send(trace.ToolCallData{ID: "1", Tool: "read_file", Arguments: json.RawMessage(`{"path":"a"}`), Status: "started"})
	f.send(trace.ToolCallData{ID: "2", Tool: "write_file_with_a_long_name", Arguments: json.RawMessage(`{"path":"b"}`), Status: "pending"})
	f.send(trace.ToolCallData{ID: "3", Tool: "bad", RawArguments: `{"x":`, Status: "pending"})
	f.send(trace.ToolResultData{ID: "3", Tool: "bad", Status: "done", Code: "malformed_arguments", Result: json.RawMessage(`{"ok":false,"error":{"code":"malformed_arguments","message":"x"}}`)})
	f.send(trace.ToolCallData{ID: "4", Tool: "denied", Arguments: json.RawMessage(`{}`), Status: "pending"})
	f.send(trace.ToolResultData{ID: "4", Tool: "denied", Status: "denied"})
	f.send(trace.ToolCallData{ID: "5", Tool: "ask", Arguments: json.RawMessage(`[1]`), Status: "pending"})
	f.send(trace.ApprovalData{Phase: "asked", ID: "5", CallID: "5", Tool: "ask"})
	f.send(trace.ProgressData{ID: "1", Text: "line 7"})
	v.Tick(3, t0.Add(1500*time.Millisecond))
	golden(t, "running", screen(v))
	f.send(trace.ToolResultData{ID: "1", Tool: "read_file", Status: "unknown"})
	f.send(trace.ToolResultData{ID: "2", Tool: "write_file_with_a_long_name", Status: "interrupted", DurationMS: 1200})
	f.send(trace.RetryData{Attempt: 1, Max: 3, WaitMS: 3000, Cause: "localhost:11434: HTTP 503: overloaded"})
	f.send(trace.DeltaData{Kind: "text", Reset: true})
	golden(t, "retrying", screen(v))
	if !v.Moving() {
		t.Error("a retry moves")
	}
	f.send(trace.StateData{State: "waiting_model"})
	f.send(trace.HistoryRepairedData{Calls: []string{"1"}, Reason: "given_up"})
	f.send(trace.ErrorData{Message: "the model answered 401", Why: "the key is wrong", Todo: "set OPENAI_API_KEY", Stored: true})
	f.send(trace.AnswerData{Text: "The model could not be reached.", Fixed: true})
	f.send(trace.RunEndData{State: "failed", Reason: "model", Steps: 1, DurationMS: 61_000, Tokens: 1200, Estimated: true})
	golden(t, "failed", screen(v))
	if v.Moving() {
		t.Error("nothing moves any more")
	}
	f.start(2, "again")
	f.send(trace.AnswerData{Text: "half of it [cancelled]", Partial: true})
	f.send(trace.RunEndData{State: "cancelled", Steps: 1, DurationMS: 500})
	f.start(3, "and again")
	f.send(trace.AnswerData{Text: "Stopped.", Fixed: true})
	f.send(trace.RunEndData{State: "exhausted", Reason: "steps", Steps: 8, DurationMS: 5000})
	golden(t, "ended", screen(v))
	f.start(4, "crashed")
	f.send(trace.AnswerData{Text: "[interrupted]", Fixed: true})
	f.send(trace.RunEndData{State: "cancelled", Reason: "interrupted", Steps: 1})
	if s := screen(v); !strings.Contains(s, "/ interrupted") || strings.Contains(s, "0 ms   1 step") {
		t.Errorf("after a crash:\n%s", s)
	}
}

func TestFinalTextReplacesStreamed(t *testing.T) {
	v := newView(60, 12)
	f := &feed{v: v, at: t0}
	f.start(1, "hi")
	f.say("wro")
	f.send(trace.DeltaData{Kind: "text", Reset: true})
	f.say("the streamed te")
	if !strings.Contains(screen(v), "the streamed te") || strings.Contains(screen(v), "wro") {
		t.Fatal(screen(v))
	}
	f.send(trace.AnswerData{Text: "the stored text"})
	f.send(trace.RunEndData{State: "succeeded", Steps: 1, DurationMS: 10})
	if s := screen(v); strings.Contains(s, "streamed") || strings.Count(s, "the stored text") != 1 {
		t.Fatal(s)
	}
	if got := v.CopyAnswer(); got != "the stored text" {
		t.Errorf("CopyAnswer = %q", got)
	}
}

func TestHanStream(t *testing.T) { // B004
	v := newView(40, 10)
	f := &feed{v: v, at: t0}
	f.start(1, "说")
	want := ""
	for i, c := range []string{"你", "好", "世", "界"} {
		want += c
		f.say(c)
		v.Tick(i+10, t0.Add(time.Duration(i)*80*time.Millisecond))
		if got := onEmulator(t, v, 40, 10); !strings.Contains(got, "  "+want+" ") {
			t.Fatalf("after %q the screen is\n%s", want, got)
		}
	}
}

// onEmulator paints the rows on a terminal and gives its text.
func onEmulator(t interface{ Fatalf(string, ...any) }, v *View, w, h int) string {
	e := vt.NewEmulator(w, h)
	defer e.Close()
	_, _ = e.WriteString(strings.Join(v.Rows(), "\r\n") + "\x1b[m")
	var b strings.Builder
	for y := range h {
		for x := 0; x < w; {
			c := e.CellAt(x, y)
			if c == nil || c.Width == 0 {
				b.WriteByte(' ')
				x++
				continue
			}
			b.WriteString(c.Content)
			x += c.Width
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const hostileText = "\x1b]8;;http://evil.example\x1b\\safe.example\x1b]8;;\x1b\\ \u009b31mred \u009d52;c;eA==\u009c \x1b[2J\x1b[H\x07\r\x00 \u202Eabc\u2066"

func TestHostileText(t *testing.T) { // B016
	v := newView(70, 60)
	f := &feed{v: v, at: t0}
	js, _ := json.Marshal(map[string]string{"q": hostileText})
	f.start(1, hostileText)
	f.send(trace.DeltaData{Kind: "reasoning", Text: hostileText})
	f.say(hostileText)
	f.send(trace.LLMCallData{ToolCallCount: 1, Text: hostileText})
	f.send(trace.ToolCallData{ID: "1", Tool: hostileText, Arguments: js, Status: "started"})
	f.send(trace.ProgressData{ID: "1", Text: hostileText})
	f.send(trace.DeltaData{Kind: "tool_output", ID: "1", Text: hostileText})
	check := func() {
		t.Helper()
		for _, r := range v.Rows() {
			rest := stripSGR(r)
			if strings.ContainsAny(rest, "\x1b\x07\r\x00\u009b\u009d\u009c\u202e\u2066") {
				t.Fatalf("a control character of the text is shown: %q", r)
			}
		}
	}
	check()
	f.send(trace.ToolResultData{ID: "1", Tool: hostileText, Status: "done", OK: true, Result: js, Summary: hostileText})
	f.send(trace.RetryData{Cause: hostileText, Attempt: 1, Max: 2})
	f.send(trace.ErrorData{Message: hostileText, Why: hostileText, Todo: hostileText, Stored: true})
	f.send(trace.CompactData{Phase: "failed", Detail: hostileText, Reason: hostileText})
	f.send(trace.HistoryRepairedData{Reason: hostileText})
	f.send(trace.InputQueuedData{ID: "q", Text: hostileText, Action: "queued"})
	v.SetFocus(true)
	for range 20 {
		v.SelectPrev()
		v.Toggle()
		check()
	}
	f.send(trace.AnswerData{Text: hostileText})
	f.send(trace.RunEndData{State: "failed", Reason: hostileText})
	check()
	v.Load(runtime.Snapshot{Messages: []runtime.MessageRow{
		{N: 1, Kind: llm.KindUser, Content: hostileText},
		{N: 2, Kind: llm.KindAssistant, Content: hostileText, ToolCalls: []llm.ToolCall{{ID: "x", Name: hostileText, Arguments: hostileText}}},
		{N: 3, Kind: llm.KindTool, Content: hostileText, ToolCallID: "x", ToolName: hostileText},
	}, Inbox: []runtime.InboxRow{{ID: "i", Text: hostileText}}}, nil)
	check()
}

// stripSGR takes away what the application writes itself: styles.
func stripSGR(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], "\x1b[") {
			j := i + 2
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == ';') {
				j++
			}
			if j < len(s) && s[j] == 'm' {
				i = j + 1
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

func TestWidthsOfEmoji(t *testing.T) { // B001
	lines := []string{"\U0001F399\uFE0F mic", "\U0001F485\U0001F3FB nails", "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466 family", "\U0001F1F5\U0001F1F1 flag", "e\u0301-acute"}
	for _, grapheme := range []bool{false, true} {
		v := newView(40, 14)
		v.SetMetrics(paint.Metrics{Grapheme: grapheme})
		f := &feed{v: v, at: t0}
		f.start(1, strings.Join(lines, "\n"))
		f.say(strings.Join(lines, "  \n"))
		for y, r := range v.Rows() {
			e := vt.NewEmulator(60, 1)
			_, _ = e.WriteString(r + "|\x1b[m")
			if c := e.CellAt(40, 0); c == nil || c.Content != "|" {
				t.Errorf("grapheme %v: the border of row %d is out of line: %q", grapheme, y, r)
			}
			e.Close()
			if w := ansi.StringWidthWc(r); !grapheme && w != 40 {
				t.Errorf("by code point row %d takes %d: %q", y, w, r)
			}
		}
	}
}

func TestTinySizes(t *testing.T) { // B017
	v := newView(80, 24)
	mockup(v)
	for _, size := range [][2]int{{0, 0}, {1, 1}, {3, 2}, {20, 5}, {5, 60}, {2, 1}, {-4, -4}, {80, 24}} {
		v.SetSize(size[0], size[1])
		checkRows(t, v, max(0, size[0]), max(0, size[1]))
	}
	fresh := newView(80, 24)
	mockup(fresh)
	if d := cmp.Diff(screen(fresh), screen(v)); d != "" {
		t.Errorf("after the resizes the screen is not that of a fresh view: %s", d)
	}
}

func checkRows(t interface {
	Helper()
	Fatalf(string, ...any)
}, v *View, w, h int) {
	t.Helper()
	rows := v.Rows()
	if len(rows) != h {
		t.Fatalf("%d rows, want %d", len(rows), h)
	}
	for _, r := range rows {
		if n := v.look.m.Width(r); n != w {
			t.Fatalf("%q takes %d, want %d", r, n, w)
		}
		if n := ansi.StringWidth(r); n != w {
			t.Fatalf("by cluster %q takes %d, want %d", r, n, w)
		}
		if n := ansi.StringWidthWc(r); !v.look.m.Grapheme && n != w {
			t.Fatalf("by code point %q takes %d, want %d", r, n, w)
		}
	}
}

func TestAnyEvents(t *testing.T) { // B017
	text := rapid.SampledFrom([]string{"", "plain words", "你好，世界。", "👩‍👩‍👧", "⚠️", "🇵🇱", "e\u0301", "\u0301", "क\u094dष", "**bold", "| a | b |\n|---|---|\n| 1 | 2 |\n", "```go\nfunc", "\n\n", "- item\n", "\x1b[31m", "\u202e", strings.Repeat("long ", 40), strings.Repeat("x", 90)})
	rapid.Check(t, func(t *rapid.T) {
		v := New(dark(), paint.Metrics{Grapheme: rapid.Bool().Draw(t, "grapheme")})
		f := &feed{v: v, at: t0, run: "r"}
		w, h := 40, 10
		v.SetSize(w, h)
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			s := text.Draw(t, "text")
			id := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "id")
			args, _ := json.Marshal(map[string]string{"a": s})
			switch rapid.IntRange(0, 21).Draw(t, "kind") {
			case 0:
				f.start(f.turn+1, s)
			case 1, 2, 3:
				f.say(s)
			case 4:
				f.send(trace.DeltaData{Kind: "reasoning", Text: s})
			case 5:
				f.send(trace.DeltaData{Kind: "text", Text: s, Reset: true})
			case 6:
				f.send(trace.LLMCallData{ToolCallCount: 1, Text: s})
			case 7:
				f.send(trace.ToolCallData{ID: id, Tool: "t" + s, Arguments: args, Status: rapid.SampledFrom([]string{"pending", "started"}).Draw(t, "st")})
			case 8:
				f.send(trace.ToolResultData{ID: id, Tool: s, Status: rapid.SampledFrom([]string{"done", "denied", "unknown", ""}).Draw(t, "st"), OK: true, Result: args, Summary: s})
			case 9:
				f.send(trace.AnswerData{Text: s})
			case 10:
				f.send(trace.RunEndData{State: rapid.SampledFrom([]string{"succeeded", "failed", "cancelled", "exhausted"}).Draw(t, "st"), Reason: s, Tokens: 5})
			case 11:
				f.send(trace.RetryData{Cause: s, Attempt: 1, Max: 3, WaitMS: 100})
			case 12:
				f.send(trace.InputQueuedData{ID: id, Text: s, Action: rapid.SampledFrom([]string{"queued", "taken"}).Draw(t, "st")})
			case 13:
				f.send(trace.ErrorData{Message: s, Todo: s, Stored: true})
			case 14:
				w, h = rapid.IntRange(0, 90).Draw(t, "w"), rapid.IntRange(0, 30).Draw(t, "h")
				v.SetSize(w, h)
			case 15:
				v.ScrollRows(rapid.IntRange(-20, 20).Draw(t, "n"))
			case 16:
				v.SelectPrev()
				v.Toggle()
			case 17:
				v.SetFocus(rapid.Bool().Draw(t, "f"))
				v.Mark(Ref{Turn: 1})
			case 18:
				v.Prepend([]runtime.MessageRow{{N: 1, Kind: llm.KindUser, Content: s}, {N: 2, Kind: llm.KindAssistant, Content: s, RunID: "old"}})
			case 19:
				f.step++
			case 20:
				v.Find("o", 1)
				v.JumpTurn(-1)
				v.Press(rapid.IntRange(0, w).Draw(t, "x"), 3, rapid.IntRange(1, 3).Draw(t, "n"))
				v.Drag(rapid.IntRange(-2, w+2).Draw(t, "to x"), rapid.IntRange(-2, 30).Draw(t, "to y"))
				v.SelectedText()
				v.Release()
			case 21:
				f.send(trace.CompactData{Phase: rapid.SampledFrom([]string{"started", "merged", "committed", "refused"}).Draw(t, "st"), Detail: s})
			}
			v.Tick(f.step, t0.Add(time.Duration(f.seq)*time.Second))
			checkRows(t, v, w, h)
		}
	})
}

func TestRowsUnchanged(t *testing.T) {
	v := newView(80, 24)
	mockup(v)
	a, b := v.Rows(), v.Rows()
	if &a[0] != &b[0] {
		t.Error("nothing changed, yet other rows")
	}
	v.Tick(3, t0.Add(time.Second))
	if c := v.Rows(); &a[0] != &c[0] {
		t.Error("nothing on the screen turns, yet other rows")
	}
}

func TestScrolledBack(t *testing.T) {
	v := newView(82, 12)
	f := mockup(v)
	v.ScrollPages(-1)
	before := screen(v)
	f.say(" room for a check.\n\nA new paragraph that is below the screen.")
	after := screen(v)
	if v.Following() || strings.Split(before, "\n")[0] != strings.Split(after, "\n")[0] {
		t.Errorf("the text moved:\n%s\n%s", before, after)
	}
	f.send(trace.AnswerData{Text: "done"})
	f.send(trace.RunEndData{State: "succeeded"})
	if v.New() == 0 || !strings.Contains(screen(v), "new") {
		t.Errorf("nothing says that there is more:\n%s", screen(v))
	}
	v.End()
	if !v.Following() || v.New() != 0 {
		t.Error("End does not follow")
	}
}

func TestHanScroll(t *testing.T) { // B026
	v := newView(33, 3)
	f := &feed{v: v, at: t0}
	f.start(1, "x")
	f.send(trace.AnswerData{Text: strings.Repeat("汉", 99) + "尾"})
	v.End()
	if !strings.Contains(screen(v), "尾") {
		t.Errorf("End does not show the last character:\n%s", screen(v))
	}
	v.Home()
	if !strings.Contains(screen(v), strings.Repeat("汉", 15)+"\n") {
		t.Errorf("Home:\n%s", screen(v))
	}
	v.SetSize(33, 20)
	var rows []int
	for _, l := range strings.Split(screen(v), "\n") {
		if n := strings.Count(l, "汉") + strings.Count(l, "尾"); n > 0 {
			rows = append(rows, n)
		}
	}
	if d := cmp.Diff([]int{15, 15, 15, 15, 15, 15, 10}, rows); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	// A closing mark takes the character before it along to its row.
	f.send(trace.RunEndData{State: "succeeded"})
	f.start(2, "x")
	f.send(trace.AnswerData{Text: strings.Repeat("汉", 15) + "。" + strings.Repeat("字", 14) + "，完"})
	for _, l := range strings.Split(screen(v), "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "。") || strings.HasPrefix(strings.TrimSpace(l), "，") {
			t.Errorf("a row begins with a closing mark: %q", l)
		}
	}
}

func stored() runtime.Snapshot {
	run := runtime.RunRow{ID: "r3", Turn: 3, State: runtime.StateExecuting, Step: 1}
	return runtime.Snapshot{
		Session: runtime.SessionRow{TurnCount: 3},
		Messages: []runtime.MessageRow{
			{N: 4, Kind: llm.KindTool, RunID: "r1", ToolCallID: "lost", ToolName: "read_file", Content: `{"ok":true,"data":1}`},
			{N: 5, Kind: llm.KindAssistant, RunID: "r1", Content: "Answer one."},
			{N: 6, Kind: llm.KindUser, RunID: "r2", Content: "second question"},
			{N: 7, Kind: llm.KindAssistant, RunID: "r2", Step: 1, Content: "I look.", ToolCalls: []llm.ToolCall{{ID: "c1", Name: "search_mock", Arguments: `{"query":"x y"}`}}},
			{N: 8, Kind: llm.KindTool, RunID: "r2", Step: 1, ToolCallID: "c1", ToolName: "search_mock", Content: `{"ok":false,"error":{"code":"timeout","message":"m","retryable":true}}`},
			{N: 9, Kind: llm.KindNotice, Role: llm.RoleUser, RunID: "r2", Content: "not shown"},
			{N: 10, Kind: llm.KindClosing, RunID: "r2", Fixed: true, Content: "Closed."},
			{N: 11, Kind: llm.KindUser, RunID: "r3", Content: "third question"},
			{N: 12, Kind: llm.KindAssistant, RunID: "r3", Step: 1, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "calculator", Arguments: `{"expression":"1+1"}`}}},
		},
		Run: &run, Running: true,
		Calls: []runtime.CallRow{{ID: "row1", RunID: "r3", Step: 1, CallID: "c1", Name: "calculator", Status: runtime.CallStarted, StartedAt: &t0}},
		Inbox: []runtime.InboxRow{{ID: "q", Text: "next one"}},
	}
}

func TestLoad(t *testing.T) {
	v := newView(70, 24)
	v.Load(stored(), []trace.Event{
		{RunID: "r2", Data: trace.ErrorData{Message: "it went wrong", Stored: true}},
		{RunID: "r2", Data: trace.RunEndData{State: "failed", Reason: "model", Steps: 1, DurationMS: 1500}},
	})
	golden(t, "loaded", screen(v))
	if v.Oldest() != 4 || !v.WantsOlder() {
		t.Errorf("oldest %d, wants older %v", v.Oldest(), v.WantsOlder())
	}
	v.Prepend([]runtime.MessageRow{
		{N: 1, Kind: llm.KindUser, RunID: "r1", Content: "first question"},
		{N: 2, Kind: llm.KindAssistant, RunID: "r1", ToolCalls: []llm.ToolCall{{ID: "lost", Name: "read_file", Arguments: `{"path":"found.txt"}`}}},
	})
	v.Home()
	golden(t, "loaded-older", screen(v))
	if v.WantsOlder() {
		t.Error("there is nothing older")
	}
	// The events go on where the snapshot ended.
	v.Apply(trace.Event{RunID: "r3", Turn: 3, Step: 1, Data: trace.ToolResultData{ID: "row1", CallID: "c1", Tool: "calculator", Status: "done", OK: true, Summary: "2"}})
	v.Apply(trace.Event{RunID: "r3", Turn: 3, Step: 2, Data: trace.AnswerData{Text: "It is 2."}})
	v.Apply(trace.Event{RunID: "r3", Turn: 3, Data: trace.RunEndData{State: "succeeded", Steps: 2}})
	v.Apply(trace.Event{Data: trace.InputQueuedData{ID: "q", Action: "taken"}})
	v.End()
	golden(t, "loaded-then-events", screen(v))

	s := stored()
	s.Running = false
	v.Load(s, nil)
	if !strings.Contains(screen(v), "unknown") {
		t.Errorf("the interrupted call is not told:\n%s", screen(v))
	}
	// The process that holds the session runs it.
	s.HeldBy = 4711
	v.Load(s, nil)
	if strings.Contains(screen(v), "unknown") {
		t.Errorf("a call that another process runs is said to be unknown:\n%s", screen(v))
	}
	// Its result is stored, and no message yet: it has ended, and well.
	s.HeldBy, s.Calls[0].Status = 0, runtime.CallDone
	result := trace.ToolResultData{ID: "row1", CallID: "c1", Tool: "calculator", Status: "done", OK: true, Summary: "it is two"}
	v.Load(s, []trace.Event{{RunID: "r3", Step: 1, Data: result}})
	if got := screen(v); !strings.Contains(got, "✓ calculator") || !strings.Contains(got, "it is two") {
		t.Errorf("a result that is stored is not shown:\n%s", got)
	}
	// A result of the call that an edit replaced is not the new one's.
	result.ID, s.Calls[0].Status = "row0", runtime.CallStarted
	v.Load(s, []trace.Event{{RunID: "r3", Step: 1, Data: result}})
	if got := screen(v); strings.Contains(got, "it is two") {
		t.Errorf("the result of another row is shown:\n%s", got)
	}
}

func TestPrependKeepsPlace(t *testing.T) {
	v := newView(60, 10)
	v.Load(stored(), nil)
	v.Home()
	want := screen(v)
	var page []runtime.MessageRow
	for i := range 30 {
		page = append(page, runtime.MessageRow{N: int64(i + 1), Kind: llm.KindUser, RunID: fmt.Sprint("o", i), Content: fmt.Sprint("old ", i)})
	}
	v.Prepend(page)
	if d := cmp.Diff(strings.Split(want, "\n")[0], strings.Split(screen(v), "\n")[0]); d != "" {
		t.Errorf("the text moved: %s", d)
	}
}

func TestSelectAndCopy(t *testing.T) {
	v := newView(82, 20)
	f := mockup(v)
	v.SetFocus(true)
	f.send(trace.AnswerData{Text: "Here:\n\n```go\nx := 1\n\ty()\n```\n\nand\n\n```sh\nls\n```\nend"})
	f.send(trace.RunEndData{State: "succeeded"})
	if got := v.CopyCode(); got != "ls" {
		t.Errorf("CopyCode = %q", got)
	}
	if got := v.CopyAnswer(); !strings.HasPrefix(got, "Here:\n\n```go\nx := 1\n\ty()") {
		t.Errorf("CopyAnswer = %q", got)
	}
	if !v.SelectPrev() {
		t.Fatal("nothing to select")
	}
	if got := v.CopySelected(); got != "Then add the price per day." {
		t.Errorf("CopySelected = %q", got)
	}
	v.SelectPrev()
	if at, ok := v.Selected(); !ok || at.Turn != 7 || at.Step != 2 || !strings.Contains(screen(v), "❯") {
		t.Errorf("selected %+v %v", at, ok)
	}
	for !strings.HasPrefix(v.CopySelected(), "todo") {
		v.SelectPrev()
	}
	if !v.Toggle() || !strings.Contains(screen(v), `"action": "add"`) {
		t.Errorf("the call is not opened:\n%s", screen(v))
	}
	v.Toggle()
	if !v.JumpTurn(-1) || !strings.Contains(v.CopySelected(), "12 workers") {
		t.Errorf("JumpTurn: %q", v.CopySelected())
	}
	if n, ok := v.UserMessage(false); !ok || n == 0 {
		t.Errorf("UserMessage = %d", n)
	}
	if !v.Find("LIMITS.yaml", -1) {
		t.Error("Find finds nothing")
	}
	if v.Find("nowhere to be found", 1) {
		t.Error("Find finds what is not there")
	}
	if !v.Deselect() || v.Deselect() {
		t.Error("Deselect")
	}
	v.Mark(Ref{Turn: 6, Step: 1, Call: "a"})
	if !v.ShowRef(Ref{Turn: 6, Step: 1, Call: "a"}) || !strings.Contains(screen(v), "⡇ ✓ read_file") {
		t.Errorf("the mark is not shown:\n%s", screen(v))
	}
	v.Mark(Ref{})
	if strings.Contains(screen(v), "⡇ ✓ read_file") {
		t.Error("the mark stays")
	}
	for y := range 20 {
		if v.TurnAt(y) == 6 {
			v.Press(4, y, 1)
			v.Release()
		}
	}
	v.NoteAway(t0)
	v.End()
	if !strings.Contains(screen(v), "new since 14:02") {
		t.Errorf("the place where one left is not shown:\n%s", screen(v))
	}
}

func BenchmarkRowsUnchanged(b *testing.B) {
	v := newView(120, 40)
	mockup(v)
	v.Rows()
	b.ReportAllocs()
	for range b.N {
		v.Rows()
	}
}

// BenchmarkDelta is one batch of tokens at the end of an answer of about 20,000 tokens.
func BenchmarkDelta(b *testing.B) {
	v := newView(120, 40)
	f := &feed{v: v, at: t0}
	f.start(1, "tell me everything")
	for range 700 {
		f.say("Twelve workers cost **$42.34** a week, and `limits.yaml` says that each of them may use one core; nothing more.\n\n")
	}
	v.Rows()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		f.say("and more ")
		if i%20 == 19 {
			f.say("\n\n")
		}
		v.Rows()
	}
}
