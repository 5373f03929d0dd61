package prompt_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime/prompt"
)

// The samples were written for this test (the JSON and the UUIDs by a program, the code is a file of this project); the
// counts are those of the o200k_base encoding.
func TestEstimateIsNearTheTruth(t *testing.T) {
	truth := map[string]int{"en": 91, "zh": 108, "ja": 80, "ko": 62, "json": 2322, "uuid": 964, "code": 657}
	for name, want := range truth {
		b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		got := prompt.Estimate(string(b))
		if r := float64(got) / float64(want); r < 0.85 || r > 1.15 {
			t.Errorf("%s: estimated %d, true %d (%+.0f%%)", name, got, want, 100*(r-1))
		}
	}
}

func TestEstimateTakesAnything(t *testing.T) {
	for _, s := range []string{"", " ", "\n\n", "\xff\xfe", "😀👨‍👩‍👧‍👦", "ß€", "\t\t", "　。", strings.Repeat("a", 100)} {
		if n := prompt.Estimate(s); n < 0 || s != "" && n > 12*len(s) {
			t.Errorf("%q: %d", s, n)
		}
	}
	if n := testing.AllocsPerRun(10, func() { prompt.Estimate("some words 和一些字 12345 {}") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if prompt.EstimateTools([]llm.ToolSpec{{Name: "a", Description: "b", Schema: []byte(`{"type":"object"}`)}}) < 10 {
		t.Error("schemas cost nothing")
	}
	if prompt.EstimateMessage(llm.Message{ToolCalls: []llm.ToolCall{{Name: "a", Arguments: `{"x":1}`}}}) < 10 {
		t.Error("calls cost nothing")
	}
}

func TestCounter(t *testing.T) {
	var c prompt.Counter
	if n, est := c.Count(1000); n != 1000 || !est {
		t.Errorf("without reports: %d %v", n, est)
	}
	if !c.Report(1200, 1000) {
		t.Error("a report within bounds is not believed")
	}
	if n, est := c.Count(1100); n != 1320 || est {
		t.Errorf("after a report: %d %v", n, est)
	}
	for _, bad := range [][2]int{{4096, 15000}, {90000, 1000}, {0, 100}, {100, 0}} {
		if c.Report(bad[0], bad[1]) {
			t.Errorf("report %v is believed", bad)
		}
	}
	if n, _ := c.Count(1100); n != 1320 {
		t.Errorf("a wrong report moved the count to %d", n)
	}
	if !c.Report(1100, 1100) {
		t.Error("the next report is not believed")
	}
	if n, est := c.Count(900); n >= 1100 || est {
		t.Errorf("after a smaller prompt: %d", n)
	}
	c.Drop(false)
	if n, est := c.Count(1000); !est || n <= 1000 {
		t.Errorf("a fold drops the anchor and keeps the ratio: %d %v", n, est)
	}
	c.Drop(true)
	if n, est := c.Count(1000); n != 1000 || !est {
		t.Errorf("another model: %d %v", n, est)
	}
}

// A server that counts some 20% more than we do, of whose reports one in fifty is wrong by any factor: the number on the meter
// stays within 15% of the truth from the second report on, and follows when what is counted changes for good.
func TestCounterIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var c prompt.Counter
		estimate := 1000
		rate := 1.2
		for i := range 1000 {
			if i == 500 {
				rate = 0.9
			}
			estimate += 20 + rnd.IntN(200)
			if rnd.IntN(30) == 0 { // folded
				estimate = 1000 + rnd.IntN(500)
				c.Drop(false)
			}
			truth := float64(estimate) * rate * (0.97 + rnd.Float64()*0.06)
			if n, _ := c.Count(estimate); i > 2 && (i < 500 || i > 504) && (float64(n) < truth*0.85 || float64(n) > truth*1.15) {
				t.Fatalf("report %d: counted %d, true %.0f", i, n, truth)
			}
			report := int(truth)
			if i%50 == 25 {
				report = int(truth * []float64{0, 0.1, 0.3, 0.5, 0.7, 1.4, 1.6, 2, 10}[rnd.IntN(9)])
			}
			c.Report(report, estimate)
		}
	})
}

func user(s string) prompt.Entry {
	return prompt.Entry{Message: llm.Message{Role: llm.RoleUser, Kind: llm.KindUser, Content: s}}
}

func TestBuild(t *testing.T) {
	calls := []llm.ToolCall{{ID: "a", Name: "x", Arguments: `{}`}, {ID: "b", Name: "y", Arguments: `not json`}}
	window := []prompt.Entry{
		user("one"), user("two"),
		{Message: llm.Message{Role: llm.RoleAssistant, ToolCalls: calls}},
		{Message: llm.Message{Role: llm.RoleTool, ToolCallID: "b", Content: "rb"}},
		{Message: llm.Message{Role: llm.RoleAssistant}},
		{Message: llm.Message{Role: llm.RoleAssistant, Content: " "}},
		{Message: llm.Message{Role: llm.RoleAssistant, Content: "\n"}},
		{Message: llm.Message{Role: llm.RoleTool, ToolCallID: "stray", Content: "?"}},
		{Message: llm.Message{Role: llm.RoleAssistant, Content: "done"}},
		user("three"),
	}
	got := prompt.Build("sys", "mem", window)
	var rows []string
	for _, m := range got {
		rows = append(rows, fmt.Sprintf("%s %s %d", m.Role, m.Content, len(m.ToolCalls)))
	}
	want := []string{"system sys 0", "system mem 0", "user one\n\ntwo 0", "assistant  2", "tool " + prompt.Missing + " 0", "tool rb 0", "assistant done 0", "user three 0"}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	if got[3].ToolCalls[1].Arguments != "{}" || calls[1].Arguments != "not json" {
		t.Error("bad arguments are sent, or the stored ones were changed")
	}
}

// Whatever the window holds, the request is valid; and a longer window's request begins with the shorter one's as long as no
// message is merged into its end.
func TestBuildIsAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := []prompt.Entry{user("the first")} // folds cut in front of a user message only
		ids := 0
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0, 1:
				window = append(window, user(rapid.StringN(1, 20, 60).Draw(t, "text")))
			case 2:
				window = append(window, prompt.Entry{Message: llm.Message{Role: llm.RoleAssistant, Content: rapid.StringN(0, 20, 60).Draw(t, "text")}})
			case 3:
				m := llm.Message{Role: llm.RoleAssistant}
				var results []prompt.Entry
				for range rapid.IntRange(1, 4).Draw(t, "calls") {
					ids++
					id := fmt.Sprintf("c%d", ids)
					m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "x", Arguments: rapid.SampledFrom([]string{`{}`, `{"a":1}`, `[]`, ``, `{`}).Draw(t, "args")})
					if rapid.IntRange(0, 3).Draw(t, "lost") > 0 {
						results = append(results, prompt.Entry{Message: llm.Message{Role: llm.RoleTool, ToolCallID: id, Content: "r"}})
					}
				}
				window = append(window, prompt.Entry{Message: m})
				rand.New(rand.NewPCG(1, 2)).Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
				window = append(window, results...)
			case 4:
				window = append(window, prompt.Entry{Message: llm.Message{Role: llm.RoleTool, ToolCallID: "stray", Content: "r"}})
			}
		}
		window = append(window, user("the end"))
		req := llm.Request{Messages: prompt.Build("sys", "", window)}
		if err := scripted.CheckHistory(req); err != nil {
			t.Fatalf("%v\n%+v", err, req.Messages)
		}
		again := prompt.Build("sys", "", window)
		if d := cmp.Diff(req.Messages, again); d != "" {
			t.Fatalf("two builds differ: %s", d)
		}
		longer := append(window[:len(window):len(window)], prompt.Entry{Message: llm.Message{Role: llm.RoleAssistant, Content: "a"}}, user("q"))
		next := prompt.Build("sys", "", longer)
		if d := cmp.Diff(req.Messages, next[:len(req.Messages)]); d != "" {
			t.Fatalf("the next request does not begin with this one: %s", d)
		}
	})
}

// Counting a text takes a few times what looking at each of its characters does, in the same run; the benchmark says how long it is.
func TestEstimateIsFast(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "en.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat(string(b), 5<<20/len(b))
	best, plain, letters := time.Hour, time.Hour, 0
	for range 9 {
		start := time.Now()
		prompt.Estimate(text)
		best = min(best, time.Since(start))
		start = time.Now()
		for _, r := range text {
			if unicode.IsLetter(r) {
				letters++
			}
		}
		plain = min(plain, time.Since(start))
	}
	t.Logf("%d bytes: %s, a look at each character %s", len(text), best, plain)
	if letters == 0 || best > 8*plain {
		t.Errorf("%d bytes took %s, a look at each character %s", len(text), best, plain)
	}
}

func BenchmarkEstimate(b *testing.B) {
	var all []byte
	for _, name := range []string{"en", "zh", "json", "code"} {
		s, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, s...)
	}
	text := strings.Repeat(string(all), 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		prompt.Estimate(text)
	}
}
