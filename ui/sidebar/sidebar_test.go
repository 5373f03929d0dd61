package sidebar_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/sidebar"
	"vitrine/ui/theme"
)

func view(w, h int, todos ...tools.Todo) *sidebar.View {
	v := sidebar.New(theme.New(theme.Options{Profile: colorprofile.TrueColor}), paint.Metrics{Grapheme: true})
	v.SetSize(w, h)
	v.Load(runtime.Snapshot{Session: runtime.SessionRow{TurnCount: 3}, Todos: todos})
	return v
}

func plain(v *sidebar.View) string {
	var b strings.Builder
	for _, r := range v.Rows() {
		b.WriteString(strings.TrimRight(ansi.Strip(r), " ") + "\n")
	}
	return b.String()
}

func TestRows(t *testing.T) {
	v := view(25, 14, tools.Todo{ID: "1", Text: "list the regions", Completed: true}, tools.Todo{ID: "2", Text: "confirm the window with ops"}, tools.Todo{ID: "3", Text: "提交报告"})
	v.SetUsage(runtime.RunUsage{Prompt: 32400, Completion: 2100, Cached: new(0)})
	v.SetFocus(true)
	v.Move(1)
	want := ` TODOS            1 of 3

 ✓ list the regions
❯◦ confirm the window
   with ops
 ◦ 提交报告

 SESSION

 turns                 3
 tokens in         32.4k
   cached              0
 tokens out         2.1k
 cost                  -
`
	if got := plain(v); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if a, b := v.Rows(), v.Rows(); &a[0] != &b[0] {
		t.Error("unchanged rows are made anew")
	}
}

// A todo that a tool added stands there with its event; B016: without any control sequence of its own.
func TestEvents(t *testing.T) {
	v := view(30, 10)
	if !strings.Contains(plain(v), "none yet") {
		t.Error("an empty list says nothing")
	}
	apply := func(d trace.TodoData) { v.Apply(trace.Event{Name: trace.Todo, Data: d}) }
	apply(trace.TodoData{ID: "a", Text: "evil \x1b]52;c;eA==\x07 \u009b31m todo", Action: "added"})
	if s := plain(v); !strings.Contains(s, "◦ evil") || strings.Contains(s, "52;c") {
		t.Error(s)
	}
	apply(trace.TodoData{ID: "a", Completed: true, Action: "completed"})
	if done, all := v.Counts(); done != 1 || all != 1 {
		t.Errorf("%d of %d", done, all)
	}
	if id, ok := v.Selected(); !ok || id != "a" {
		t.Errorf("selected %q %v", id, ok)
	}
	apply(trace.TodoData{ID: "a", Action: "removed"})
	apply(trace.TodoData{ID: "a", Action: "removed"})
	if _, ok := v.Selected(); ok {
		t.Error("a removed todo is selected")
	}
	v.SetUsage(runtime.RunUsage{Prompt: 100, Completion: 7})
	v.Apply(trace.Event{Name: trace.RunStart, Turn: 9, Data: trace.RunStartData{}})
	v.Apply(trace.Event{Name: trace.RunEnd, Data: trace.RunEndData{Tokens: 55, PromptTokens: 50, CompletionTokens: 5, CachedTokens: new(40), ReasoningTokens: new(2), Cost: new(0.5), Estimated: true}})
	v.SetSize(30, 14)
	for _, want := range []string{
		"turns                      9", "tokens in               ~150", "  cached                  40", "tokens out               ~12", "  reasoning                2", "cost                 $0.5000",
	} {
		if s := plain(v); !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
}

// What a session used is unknown until something was reported; unknown is never 0.
func TestUnknownUse(t *testing.T) {
	for _, known := range []bool{false, true} {
		v := view(25, 14)
		if known {
			v.SetUsage(runtime.RunUsage{})
			v.Apply(trace.Event{Name: trace.RunEnd, Data: trace.RunEndData{Tokens: 70}}) // told as a sum only
		}
		want := "turns                 3\n tokens in             -\n   cached              -\n tokens out            -\n cost                  -\n"
		if s := plain(v); !strings.Contains(s, want) {
			t.Error(s)
		}
	}
}

func TestScroll(t *testing.T) {
	var todos []tools.Todo
	for i := range 40 {
		todos = append(todos, tools.Todo{ID: fmt.Sprint(i), Text: fmt.Sprintf("todo %d", i)})
	}
	v := view(20, 10, todos...)
	v.SetFocus(true)
	v.Bottom()
	if s := plain(v); !strings.Contains(s, "❯◦ todo 39") {
		t.Error(s)
	}
	v.Top()
	if s := plain(v); !strings.Contains(s, "❯◦ todo 0") {
		t.Error(s)
	}
	v.Page(1)
	v.Scroll(1000)
	if s := plain(v); !strings.Contains(s, "cost") {
		t.Error(s)
	}
	v.Scroll(-1000)
	if s := plain(v); !strings.Contains(s, "todo 0\n") {
		t.Error(s)
	}
}

// B017: at any size there are exactly as many rows as asked for, each exactly as wide.
func TestEverySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := view(0, 0, tools.Todo{ID: "1", Text: rapid.String().Draw(t, "text")}, tools.Todo{ID: "2", Text: "部署 👨‍👩‍👧‍👦 🇵🇱", Completed: true})
		m := paint.Metrics{Grapheme: rapid.Bool().Draw(t, "grapheme")}
		v.SetMetrics(m)
		v.SetFocus(rapid.Bool().Draw(t, "focus"))
		if rapid.Bool().Draw(t, "light") {
			v.SetTheme(theme.New(theme.Options{Name: theme.Light, ASCII: true}))
		}
		v.SetPins([]sidebar.Pin{{ID: "p", Text: rapid.String().Draw(t, "pin"), Turn: 3}})
		for range 4 {
			w, h := rapid.IntRange(-1, 40).Draw(t, "w"), rapid.IntRange(-1, 20).Draw(t, "h")
			v.SetSize(w, h)
			v.Move(rapid.IntRange(-2, 2).Draw(t, "move"))
			rows := v.Rows()
			if len(rows) != max(0, h) {
				t.Fatalf("%d rows of %d", len(rows), h)
			}
			for _, r := range rows {
				if got := m.Width(r); got != max(0, w) {
					t.Fatalf("row %q is %d wide, not %d", r, got, w)
				}
			}
		}
	})
}

// Pins stand between todos and session; folds are counted while they stand.
func TestPinsAndFolds(t *testing.T) {
	v := view(25, 24, tools.Todo{ID: "1", Text: "list the regions"})
	v.SetPins([]sidebar.Pin{{ID: "p1", Text: "never after 15:00", Turn: 3}, {ID: "p2", Text: "write in\nBritish English, always and everywhere"}})
	s := plain(v)
	for _, text := range []string{"PINS                  2", " ⚑ never after 15:00\n   turn 3", " ⚑ write in British", "   English, always and"} {
		if !strings.Contains(s, text) {
			t.Errorf("%q is not in\n%s", text, s)
		}
	}
	if strings.Contains(s, "folds") {
		t.Errorf("there is no fold yet:\n%s", s)
	}
	for _, e := range []trace.Event{
		{Data: trace.CompactData{ID: "f", Phase: "committed"}}, // not stored yet
		{Seq: 1, Data: trace.CompactData{ID: "g", Phase: "committed"}}, {Seq: 1, Data: trace.CompactData{ID: "g", Phase: "committed"}},
		{Seq: 2, Data: trace.CompactData{ID: "h", Phase: "committed"}}, {Seq: 3, Data: trace.CompactData{ID: "i", Phase: "refused"}},
	} {
		v.Apply(e)
	}
	if s = plain(v); !strings.Contains(s, "folds                 2") {
		t.Error(s)
	}
	v.Apply(trace.Event{Seq: 4, Data: trace.CompactData{ID: "h", Phase: "undone"}})
	v.Pin(sidebar.Pin{ID: "p1"}, false)
	v.Pin(sidebar.Pin{ID: "p2", Text: "again"}, true)
	if s = plain(v); !strings.Contains(s, "folds                 1") || strings.Contains(s, "15:00") || strings.Count(s, "⚑") != 1 {
		t.Error(s)
	}
	v.Load(runtime.Snapshot{Folds: []runtime.FoldRow{{}, {UndoneAt: new(time.Time)}}})
	if s = plain(v); !strings.Contains(s, "folds                 1") {
		t.Error(s)
	}
}
