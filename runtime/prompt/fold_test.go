package prompt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/prompt"
)

func TestParseSummary(t *testing.T) {
	good := `{"goals":["ship"],"facts":["a","  b\nc ", ""],"todos":[],"unresolved":[]}`
	for _, text := range []string{good, "```json\n" + good + "\n```", " \n" + good + "\n"} {
		s, err := prompt.ParseSummary(text)
		if err != nil || len(s.Facts) != 2 || s.Facts[1] != "b c" || s.Goals[0] != "ship" {
			t.Errorf("%q: %+v %v", text, s, err)
		}
	}
	// B058: raw tool-call markup, reasoning alone or nothing is no summary.
	for _, text := range []string{
		"", "   ", "Here is the summary.", `<tool_call>{"name":"shell"}</tool_call>`, "<think>long</think>", "[]", "null", `"x"`,
		`{"goals":"x","facts":[],"todos":[],"unresolved":[]}`, `{"goals":[1],"facts":[],"todos":[],"unresolved":[]}`,
		`{"goals":[],"facts":[],"todos":[],"unresolved":[]}`, `{"goals":["a"],"facts":[]}`, `{"name":"shell","arguments":{}}`,
		good + good, good + " and more", `{"goals":["a"]`,
	} {
		if _, err := prompt.ParseSummary(text); !errors.Is(err, prompt.ErrBadSummary) {
			t.Errorf("%q: %v", text, err)
		}
	}
	long, err := prompt.ParseSummary(`{"goals":[],"facts":["` + strings.Repeat("长", 5000) + `"],"todos":[],"unresolved":[]}`)
	if err != nil || len([]rune(long.Facts[0])) > prompt.MaxEntry {
		t.Errorf("a long entry: %d %v", len([]rune(long.Facts[0])), err)
	}
}

var at = time.Date(2026, 5, 6, 7, 8, 9, 123, time.UTC)

func TestMerge(t *testing.T) {
	old := prompt.Summary{Facts: []string{"a", "b", "c", "d"}, Goals: []string{"Ship it."}}
	next := prompt.Summary{Facts: []string{"x", "B", "y"}, Goals: []string{"ship  it"}}
	got, changes := prompt.Merge(old, next, at)
	want := prompt.Summary{Facts: []string{"x", "B", "y", "a", "c"}, Goals: []string{"ship  it"}, UpdatedAt: at.Truncate(time.Second)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	facts := changes[1]
	if d := cmp.Diff(prompt.Change{Field: "facts", Added: []string{"x", "y"}, Kept: []string{"B", "a", "c"}, Dropped: []string{"d"}}, facts); d != "" {
		t.Error(d)
	}
}

func TestMergeKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.StringMatching(`[a-d]{1,2}`), 0, 8)
		a, b := prompt.Summary{Facts: gen.Draw(t, "old")}, prompt.Summary{Facts: gen.Draw(t, "new")}
		got, changes := prompt.Merge(a, b, at)
		seen := map[string]bool{}
		for _, f := range got.Facts {
			if seen[f] {
				t.Fatalf("%q stands twice in %v", f, got.Facts)
			}
			seen[f] = true
		}
		if len(got.Facts) > prompt.SummaryEntries {
			t.Fatalf("%d entries", len(got.Facts))
		}
		if len(b.Facts) > 0 && got.Facts[0] != b.Facts[0] {
			t.Fatal("the new entries do not come first")
		}
		c := changes[1]
		if len(c.Added)+len(c.Kept) != len(got.Facts) {
			t.Fatalf("the account is wrong: %+v for %v", c, got.Facts)
		}
		for _, d := range c.Dropped {
			if seen[d] {
				t.Fatalf("%q is told as dropped and stands there", d)
			}
		}
	})
}

func TestBlock(t *testing.T) {
	if prompt.Block(nil, prompt.Summary{}) != "" {
		t.Error("nothing to remember makes a block")
	}
	s := prompt.Summary{Facts: []string{"<部署> on Friday & more"}, UpdatedAt: at}
	b := prompt.Block([]string{"never after 15:00"}, s)
	head, body, _ := strings.Cut(b, "\n")
	line, body, _ := strings.Cut(body, "\n")
	if head != "[RUNTIME CONTEXT]" || !strings.Contains(line, "not a message of the user") {
		t.Errorf("block = %s", b)
	}
	want := `{"pinned":["never after 15:00"],"goals":[],"facts":["<部署> on Friday & more"],"todos":[],"unresolved":[],"updated_at":"2026-05-06T07:08:09Z"}`
	if body != want || !json.Valid([]byte(body)) {
		t.Errorf("body = %s", body)
	}
	if prompt.Block([]string{"never after 15:00"}, s) != b {
		t.Error("the same memory gives other bytes")
	}
}

func TestRules(t *testing.T) {
	tests := map[string][]string{
		"Never touch vendor/. Answer in French. Port is 8443.": {"Never touch vendor/.", "Answer in French.", "Port is 8443."}, // B085
		"Use tabs. You must not push! Is it always so?":        {"Use tabs.", "You must not push!"},
		"请部署到测试环境。不要在周五下午三点之后上线！端口是 8443。":                     {"不要在周五下午三点之后上线！"},
		"请务必先备份；然后再升级":                                         {"请务必先备份；"},
		"The lonely mustard is commonly eaten":                 nil,
		"The port is 8443. Never deploy on Friday.":            {"Never deploy on Friday."},
		"Answer in French. The port is 8443.":                  nil,
		"用中文回答。不要缩写。端口是 8443。":                                 {"用中文回答。", "不要缩写。", "端口是 8443。"},
		"Only answer with numbers":                             {"Only answer with numbers"},
		"```\nnever in code\n```\nVersion 1.2 must stay":       {"Version 1.2 must stay"},
		"":                                 nil,
		strings.Repeat("x", 300) + " must": nil,
		"You don't deploy on Fridays.":     {"You don't deploy on Fridays."},
	}
	for text, want := range tests {
		if d := cmp.Diff(want, prompt.Rules(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
	if n := len(prompt.Rules(strings.Repeat("You must. ", 100))); n > 8 {
		t.Errorf("%d rules of one message", n)
	}
}

// history makes a window of turns; each is a user message, steps of call and result, and an answer.
func history(turns, steps, tokens int) []prompt.Item {
	var out []prompt.Item
	add := func(role llm.Role, kind llm.Kind, n, short int) {
		out = append(out, prompt.Item{N: int64(len(out) + 1), Role: role, Kind: kind, Tokens: n, Short: short})
	}
	for range turns {
		add(llm.RoleUser, llm.KindUser, 20, 20)
		for range steps {
			add(llm.RoleAssistant, llm.KindAssistant, 30, 30)
			add(llm.RoleTool, llm.KindTool, tokens, min(tokens, prompt.ShortTokens))
		}
		add(llm.RoleAssistant, llm.KindAssistant, 50, 50)
	}
	return out
}

func TestDue(t *testing.T) {
	room := prompt.Room{Fixed: 100, Limit: 6000, RawTurns: 20}
	for turns, want := range map[int]bool{20: false, 25: false, 26: true} {
		if got, _ := prompt.Due(history(turns, 0, 0), room); got != want {
			t.Errorf("%d turns of 20: due %v", turns, got)
		}
	}
	room.RawTurns = 2
	if got, _ := prompt.Due(history(3, 0, 0), room); !got {
		t.Error("3 turns of 2 are not due")
	}
	if _, got := prompt.Due(history(1, 1, 7000), room); !got {
		t.Error("too many tokens are not due")
	}
}

func TestPlanForTurns(t *testing.T) {
	w := history(3, 0, 0)
	p := prompt.Make(w, prompt.Room{Fixed: 100, Limit: 6000, RawTurns: 2, Memory: 200}, false)
	want := prompt.Plan{Turns: true, First: 1, Last: 2, From: 3, Before: 210, After: 140, Fits: true}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	if p := prompt.Make(history(2, 0, 0), prompt.Room{Fixed: 100, Limit: 6000, RawTurns: 2}, false); !p.Nothing() {
		t.Errorf("nothing is due: %+v", p)
	}
	if p := prompt.Make(history(2, 0, 0), prompt.Room{Fixed: 100, Limit: 6000, RawTurns: 20}, true); p.Last != 2 {
		t.Errorf("a fold that was asked for: %+v", p)
	}
	if p := prompt.Make(history(1, 2, 9), prompt.Room{Fixed: 100, Limit: 6000, RawTurns: 20}, true); !p.Nothing() {
		t.Errorf("the only turn leaves: %+v", p)
	}
}

func TestPlanUnderPressure(t *testing.T) {
	t.Run("shortening is enough", func(t *testing.T) {
		p := prompt.Make(history(2, 1, 1500), prompt.Room{Fixed: 500, Limit: 3000, RawTurns: 20, Memory: 200}, false)
		if len(p.Shorten) == 0 || p.Last != 0 || !p.Fits {
			t.Errorf("%+v", p)
		}
	})
	t.Run("whole turns", func(t *testing.T) {
		p := prompt.Make(history(10, 1, 300), prompt.Room{Fixed: 500, Limit: 3000, RawTurns: 20, Memory: 200}, false)
		if p.Last == 0 || p.Keep != 0 || !p.Fits || 500+200+p.After > 1500 {
			t.Errorf("%+v", p)
		}
	})
	t.Run("steps of the current turn", func(t *testing.T) {
		w := history(1, 20, 110)
		w = w[:len(w)-1] // no answer yet
		p := prompt.Make(w, prompt.Room{Fixed: 300, Limit: 1500, RawTurns: 20, Memory: 200}, false)
		if p.Keep != 1 || p.From != w[len(w)-2].N || p.Last != w[len(w)-3].N || p.First != 2 || !p.Fits {
			t.Errorf("%+v", p)
		}
	})
	t.Run("nothing helps", func(t *testing.T) {
		p := prompt.Make(history(1, 0, 0), prompt.Room{Fixed: 5000, Limit: 1500, RawTurns: 20}, false)
		if !p.Nothing() || p.Fits {
			t.Errorf("%+v", p)
		}
	})
}

// B055: whatever the window and the numbers, a plan cuts in front of a user message or of the newest step, and what is left
// is a valid history.
func TestPlansCutWhereTheyMay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := history(rapid.IntRange(1, 12).Draw(t, "turns"), rapid.IntRange(0, 4).Draw(t, "steps"), rapid.IntRange(1, 900).Draw(t, "tokens"))
		if rapid.Bool().Draw(t, "running") {
			w = w[:len(w)-1]
		}
		room := prompt.Room{
			Fixed: rapid.IntRange(0, 2000).Draw(t, "fixed"), Limit: rapid.IntRange(500, 6000).Draw(t, "limit"),
			RawTurns: rapid.IntRange(1, 8).Draw(t, "raw"), Memory: 200,
		}
		p := prompt.Make(w, room, rapid.Bool().Draw(t, "asked"))
		if p.Last == 0 {
			return
		}
		byN := map[int64]prompt.Item{}
		for _, it := range w {
			byN[it.N] = it
		}
		switch {
		case p.Keep == 0 && byN[p.From].Kind != llm.KindUser:
			t.Fatalf("the window begins with %+v", byN[p.From])
		case p.Keep != 0 && (byN[p.From].Role != llm.RoleAssistant || byN[p.Keep].Kind != llm.KindUser):
			t.Fatalf("kept %+v, then %+v", byN[p.Keep], byN[p.From])
		case p.After > p.Before:
			t.Fatalf("%d tokens became %d", p.Before, p.After)
		case p.From <= p.Last || p.First > p.Last:
			t.Fatalf("range %+v", p)
		}
		for _, n := range p.Shorten {
			if n <= p.Last {
				t.Fatalf("result %d is shortened and leaves", n)
			}
		}
		turns := 0
		for _, it := range w {
			if it.N >= p.From && it.Kind == llm.KindUser || it.N == p.Keep {
				turns++
			}
		}
		if turns == 0 {
			t.Fatal("the current task left the window: " + fmt.Sprint(p))
		}
	})
}

// B055: three turns of a question, two calls with their results, and an answer; whatever is kept, for every budget and number of
// turns, the request of what a plan leaves is a valid history, groups whole.
func TestEveryCutIsValid(t *testing.T) {
	var window []prompt.Entry
	add := func(m llm.Message) {
		window = append(window, prompt.Entry{N: int64(len(window) + 1), Message: m, Tokens: 100})
	}
	for i := range 3 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		add(llm.Message{Role: llm.RoleUser, Kind: llm.KindUser, Content: "q"})
		add(llm.Message{Role: llm.RoleAssistant, Kind: llm.KindAssistant, ToolCalls: []llm.ToolCall{{ID: a, Name: "x", Arguments: "{}"}, {ID: b, Name: "x", Arguments: "{}"}}})
		add(llm.Message{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: a, Name: "x", Content: "ra"})
		add(llm.Message{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: b, Name: "x", Content: "rb"})
		add(llm.Message{Role: llm.RoleAssistant, Kind: llm.KindAssistant, Content: "done"})
	}
	cuts := map[int64]bool{}
	for end := 1; end <= len(window); end++ { // also in the middle of the last turn
		for raw := 1; raw <= 15; raw++ {
			for limit := 100; limit <= 2000; limit += 100 {
				var items []prompt.Item
				for _, e := range window[:end] {
					items = append(items, prompt.Item{N: e.N, Role: e.Message.Role, Kind: e.Message.Kind, Tokens: e.Tokens, Short: e.Tokens})
				}
				p := prompt.Make(items, prompt.Room{Limit: limit, RawTurns: raw}, false)
				var left []prompt.Entry
				for _, e := range window[:end] {
					if p.Last == 0 || e.N >= p.From || e.N == p.Keep {
						left = append(left, e)
					}
				}
				cuts[p.From] = true
				if last := left[len(left)-1].Message; last.Role == llm.RoleAssistant && len(last.ToolCalls) == 0 {
					left = append(left, prompt.Entry{Message: llm.Message{Role: llm.RoleUser, Kind: llm.KindUser, Content: "next"}})
				}
				msgs := prompt.Build("sys", "mem", left)
				if err := scripted.CheckHistory(llm.Request{Messages: msgs}); err != nil {
					t.Fatalf("%d messages, %d turns, limit %d, %+v: %v", end, raw, limit, p, err)
				}
				for _, m := range msgs {
					if m.Content == prompt.Missing && end%5 == 0 {
						t.Fatalf("a group was torn apart: %+v", p)
					}
				}
			}
		}
	}
	if len(cuts) < 3 {
		t.Errorf("only %d cuts", len(cuts))
	}
}
