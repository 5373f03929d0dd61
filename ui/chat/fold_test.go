package chat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/theme"
)

// folder plays a fold as the runtime tells of it: each phase as it happens, all of them again when they are stored.
type folder struct {
	*feed
	id     string
	phases []trace.CompactData
}

func (f *folder) phase(d trace.CompactData) {
	d.ID, d.Reason = f.id, "tokens"
	f.phases = append(f.phases, d)
	f.v.Apply(trace.Event{TS: f.at, RunID: f.run, Turn: f.turn, Step: f.step, Name: trace.Compact, Data: d})
}

func (f *folder) delta(text string) {
	f.v.Apply(trace.Event{TS: f.at, RunID: f.run, Turn: f.turn, Name: trace.Delta, Data: trace.DeltaData{Kind: "summary", ID: f.id, Text: text}})
}

func (f *folder) pass(d time.Duration) {
	f.at = f.at.Add(d)
	f.v.Tick(2, f.at)
}

func (f *folder) store() {
	for _, d := range f.phases {
		f.send(d)
	}
}

const (
	oldSummary = `{"goals":["deploy the relay on Friday"],"facts":["region eu-west","the night rate is unknown","twelve workers"],"todos":[],"unresolved":["who approves"]}`
	newSummary = `{"goals":["use the night rate","deploy the relay on Friday"],"facts":["the night rate is 0.021 an hour","region eu-west","twelve workers"],"todos":["tell ops","book the room"],"unresolved":["who approves"]}`
)

func startedData() trace.CompactData {
	return trace.CompactData{Phase: "started", FirstN: 20, LastN: 49, TokensBefore: 6300, Limit: 6000, LeavingCount: 3, Leaving: []trace.CompactMessage{
		{N: 20, Turn: 2, Kind: "tool", Title: "read_file rates.csv", Tokens: 2100},
		{N: 30, Turn: 3, Kind: "user", Title: "Never deploy after 15:00.", Tokens: 200},
		{N: 40, Turn: 4, Kind: "user", Title: "Which rate applies at night?", Tokens: 1400},
	}}
}

func mergedData() trace.CompactData {
	return trace.CompactData{
		Phase: "merged", TokensBefore: 6300, TokensAfter: 2900, Before: json.RawMessage(oldSummary), After: json.RawMessage(newSummary),
		Pinned: []string{"Never deploy after 15:00."}, Changes: []trace.CompactChange{
			{Field: "goals", Added: []string{"a"}, Kept: []string{"b"}}, {Field: "facts", Added: []string{"a", "b", "c"}, Kept: []string{"d", "e"}, Dropped: []string{"f"}},
			{Field: "todos", Added: []string{"a", "b"}}, {Field: "unresolved", Kept: []string{"a"}},
		},
	}
}

// said makes four turns and begins the fifth.
func said(w, h int) *folder {
	v := newView(w, h)
	f := &feed{v: v, at: t0}
	for turn, text := range []string{"hello", "Read rates.csv.", "Never deploy after 15:00.", "Which rate applies at night?"} {
		f.start(turn+1, text)
		f.send(trace.AnswerData{Text: "answer " + fmt.Sprint(turn+1), N: int64(turn*10 + 11)})
		f.send(trace.RunEndData{State: "succeeded", Steps: 1, DurationMS: 900})
	}
	f.start(5, "And by day?")
	v.SetMeter(trace.Meter{System: 900, Memory: 400, Window: 5000, Limit: 6000})
	v.Tick(2, f.at)
	return &folder{feed: f, id: "f1"}
}

func (f *folder) dim(text string) bool {
	for i := range f.v.list.Len() {
		if strings.Contains(f.v.block(i).source(), text) {
			return f.v.block(i).dimmed()
		}
	}
	return false
}

// The fold of the design's picture.
func TestFoldMockup(t *testing.T) {
	f := said(52, 40)
	f.phase(startedData())
	f.pass(130 * time.Millisecond)
	golden(t, "fold-started", screen(f.v))
	if moves, fast := f.v.Sliding(f.at); !moves || !fast || !f.v.Folding() {
		t.Error("rows sink faster than spinners turn")
	}
	if !f.dim("hello") || f.dim("answer 4") || f.dim("And by day?") {
		t.Error("the blocks do not dim with the rows")
	}
	if got := f.v.Leaving(); got != "turns 2-4 leave, 3 messages" {
		t.Error(got)
	}
	f.pass(time.Second)
	f.delta(`{"goals":["deploy the relay on Friday"],"facts":["region eu-west","night rate is 0.021 an ho`)
	f.delta(`ur`)
	golden(t, "fold-summarising", screen(f.v))
	f.phase(trace.CompactData{Phase: "summarised", Tokens: 4100, DurationMS: 1130})
	f.phase(trace.CompactData{Phase: "checked"})
	f.phase(mergedData())
	golden(t, "fold-merged", screen(f.v))
	f.phase(trace.CompactData{Phase: "committed", FirstN: 20, LastN: 49, TokensBefore: 6300, TokensAfter: 2900, DurationMS: 1900, Tokens: 4100,
		Before: json.RawMessage(oldSummary), After: json.RawMessage(newSummary)})
	if strings.Contains(screen(f.v), "COMMITTED") {
		t.Error("a fold is committed when it is stored, not before")
	}
	f.store()
	f.pass(0)
	golden(t, "fold-committed", screen(f.v))
	if n := strings.Count(screen(f.v), "folded turns 2-4"); n != 1 {
		t.Errorf("the fold has %d lines", n)
	}
	f.pass(dwell + 3*sinkTime)
	if s := screen(f.v); !strings.Contains(s, "FOLDED") || strings.Contains(s, "now     ") {
		t.Errorf("it does not sink from its end:\n%s", s)
	}
	f.pass(5 * time.Second)
	if f.v.Moving() || strings.Contains(screen(f.v), "FOLDED") {
		t.Errorf("it is not over:\n%s", screen(f.v))
	}
	golden(t, "fold-closed", screen(f.v))
	for f.v.SelectPrev() {
		if _, ok := f.v.Whole(); ok {
			break
		}
	}
	for range 2 {
		if !f.v.Open(true) {
			t.Fatal("the line does not open")
		}
	}
	golden(t, "fold-opened", screen(f.v))
	text, _ := f.v.Whole()
	golden(t, "fold-whole", text+"\n")
	f.v.Open(false)
	golden(t, "fold-closed-again", screen(f.v))
	for _, text := range []string{"hello", "Which rate", "answer 4"} {
		if !f.dim(text) {
			t.Errorf("%q is not dim", text)
		}
	}
	// A second telling changes nothing.
	before := screen(f.v)
	f.store()
	if d := cmp.Diff(before, screen(f.v)); d != "" {
		t.Error(d)
	}
	f.send(trace.CompactData{ID: "f1", Phase: "undone", FirstN: 20, LastN: 49, TokensBefore: 2900, TokensAfter: 6300})
	if s := screen(f.v); strings.Contains(s, "folded turns") || !strings.Contains(s, "taken back: turns 2-4") || f.dim("hello") {
		t.Errorf("after undo:\n%s", s)
	}
}

func TestFoldsThatFail(t *testing.T) {
	for name, end := range map[string]func(f *folder){
		"refused: not smaller": func(f *folder) { f.phase(trace.CompactData{Phase: "refused", Detail: "not smaller"}) },
		"failed: no summary":   func(f *folder) { f.phase(trace.CompactData{Phase: "failed", Detail: "no summary"}) },
		"stopped": func(f *folder) {
			f.send(trace.RunEndData{State: "cancelled"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := said(60, 40)
			f.phase(startedData())
			f.pass(time.Second)
			if !f.dim("hello") {
				t.Fatal("nothing dims")
			}
			end(f)
			f.store()
			f.pass(0)
			_, why, _ := strings.Cut(name, ": ")
			if s := screen(f.v); strings.Count(s, "not folded") != 1 || !strings.Contains(s, why) || !strings.Contains(s, "everything stays") || strings.Contains(s, "FOLDING") {
				t.Errorf("the screen shows\n%s", s)
			}
			if f.dim("hello") || f.v.Folding() {
				t.Error("it goes on")
			}
		})
	}
	// Between turns there is no run whose end would tell.
	f := said(60, 40)
	f.send(trace.RunEndData{State: "succeeded"})
	f.run = ""
	f.phase(startedData())
	f.v.Apply(trace.Event{Data: trace.StateData{Meter: &trace.Meter{}}})
	if f.v.Folding() {
		t.Error("a fold that was stopped between turns goes on")
	}
	f.id = "f2"
	f.v.Apply(trace.Event{TS: f.at, Data: trace.CompactData{ID: "f2", Phase: "refused", Detail: "nothing to fold"}})
	if s := screen(f.v); !strings.Contains(s, "not folded: nothing to fold") {
		t.Error(s)
	}
}

// Steps of the turn that runs leave too: its question stays, and the line stands before the newest step.
func TestFoldOfSteps(t *testing.T) {
	f := said(60, 60)
	f.call("a", "read_file", `{"path":"a"}`, "1 KB", 1)
	f.step = 2
	f.call("b", "read_file", `{"path":"b"}`, "1 KB", 1)
	f.step = 3
	f.call("c", "read_file", `{"path":"c"}`, "1 KB", 1)
	started := startedData()
	started.FirstN, started.LastN = 51, 54
	started.Leaving = []trace.CompactMessage{{N: 51, Turn: 5, Kind: "assistant", Title: "read_file"}, {N: 52, Turn: 5, Kind: "tool", Title: "read_file"}}
	started.LeavingCount = 2
	f.phase(started)
	f.phase(mergedData())
	f.phase(trace.CompactData{Phase: "committed", FirstN: 51, LastN: 54, TokensBefore: 6300, TokensAfter: 2900})
	f.store()
	f.pass(20 * time.Second)
	s := screen(f.v)
	b, line, c := strings.Index(s, "read_file     b"), strings.Index(s, "folded steps of turn 5"), strings.Index(s, "read_file     c")
	if !(0 < b && b < line && line < c) {
		t.Errorf("b at %d, the line at %d, c at %d:\n%s", b, line, c, s)
	}
	if f.dim("And by day?") || !f.dim(`{"path":"b"}`) || f.dim(`{"path":"c"}`) || !f.dim("hello") {
		t.Error("the wrong blocks are dim")
	}
}

// A fold may only shorten results: nothing leaves.
func TestFoldThatShortens(t *testing.T) {
	f := said(60, 60)
	f.phase(trace.CompactData{Phase: "started", TokensBefore: 6300, Limit: 6000, Shortened: []trace.CompactMessage{{N: 21, Turn: 2, Title: "read_file", Tokens: 2000}}})
	if !strings.Contains(f.v.Leaving(), "1 long result") {
		t.Error(f.v.Leaving())
	}
	f.phase(trace.CompactData{Phase: "merged", TokensBefore: 6300, TokensAfter: 4900})
	golden(t, "fold-shortens", screen(f.v))
	f.phase(trace.CompactData{Phase: "committed", TokensBefore: 6300, TokensAfter: 4900})
	f.store()
	f.pass(20 * time.Second)
	if s := screen(f.v); !strings.Contains(s, "▸ shortened 1 result") || f.dim("hello") {
		t.Error(s)
	}
}

// Of a fold of which only what is stored is known, no turn is told that is not known.
func TestShortenedOfAnUnknownTurn(t *testing.T) {
	v := newView(80, 40)
	v.Load(runtime.Snapshot{
		Messages: []runtime.MessageRow{{N: 30, Kind: llm.KindUser, RunID: "r", Content: "hi", CreatedAt: t0}},
		Session:  runtime.SessionRow{TurnCount: 7},
		Folds:    []runtime.FoldRow{{Fold: runtime.Fold{ID: "a", Reason: "tokens", Shorten: []runtime.Shortened{{N: 21, Tokens: 100}}}, CreatedAt: t0.Add(-1)}},
	}, nil)
	v.Prepend([]runtime.MessageRow{{N: 20, Kind: llm.KindUser, RunID: "q", Content: "before", CreatedAt: t0.Add(-2)}})
	for v.SelectPrev() {
		if _, ok := v.Whole(); ok {
			break
		}
	}
	if text, ok := v.Whole(); !ok || !strings.Contains(text, "a tool's result") || strings.Contains(text, "turn 0") {
		t.Errorf("%v %q", ok, text)
	}
}

// What was stored comes back: lines at their places, folded messages dim, older ones when they are paged in.
func TestFoldsAreLoaded(t *testing.T) {
	user := func(n int64, text string) runtime.MessageRow {
		return runtime.MessageRow{N: n, Kind: llm.KindUser, RunID: "r" + text, Content: text, CreatedAt: t0}
	}
	fold := func(id string, first, last, keep int64) runtime.FoldRow {
		return runtime.FoldRow{Fold: runtime.Fold{ID: id, Reason: "turns", FirstN: first, LastN: last, From: last + 1, Keep: keep, TokensBefore: 6300, TokensAfter: 2900,
			SummaryAfter: json.RawMessage(newSummary)}, CreatedAt: t0}
	}
	undone := t0
	gone := fold("gone", 5, 6, 0)
	gone.UndoneAt = &undone
	s := runtime.Snapshot{
		Session:  runtime.SessionRow{TurnCount: 6, WindowFrom: 5},
		Messages: []runtime.MessageRow{user(5, "fifth"), user(6, "sixth")},
		Folds:    []runtime.FoldRow{gone, fold("b", 3, 4, 0), fold("a", 1, 2, 0)},
	}
	v := newView(80, 40)
	v.Load(s, []trace.Event{{RunID: "x", Turn: 1, Data: trace.RunStartData{N: 1}}, {Data: trace.CompactData{ID: "b", Phase: "committed", DurationMS: 1900, Tokens: 4100}}})
	if got := screen(v); strings.Count(got, "folded turns 1-4") != 0 || strings.Count(got, "▸ folded") != 1 {
		t.Errorf("loaded:\n%s", got)
	}
	v.Prepend([]runtime.MessageRow{user(1, "first"), user(2, "second"), user(3, "third"), user(4, "fourth")})
	got := screen(v)
	for _, text := range []string{"▸ folded turns 1-2   2 messages", "▸ folded turns 3-4   2 messages"} {
		if strings.Count(got, text) != 1 {
			t.Errorf("%q is not there once:\n%s", text, got)
		}
	}
	at := func(text string) int { return strings.Index(got, text) }
	if !(at("second") < at("turns 1-2") && at("turns 1-2") < at("third") && at("fourth") < at("turns 3-4") && at("turns 3-4") < at("fifth")) {
		t.Errorf("the order is\n%s", got)
	}
	f := &folder{feed: &feed{v: v}}
	if !f.dim("first") || !f.dim("fourth") || f.dim("fifth") {
		t.Error("the wrong blocks are dim")
	}
	for v.SelectPrev() {
		if text, ok := v.Whole(); ok && strings.Contains(text, "turns 3-4") {
			break
		}
	}
	if text, ok := v.Whole(); !ok || !strings.Contains(text, "1.9 s") || !strings.Contains(text, "+ facts: the night rate is 0.021") {
		t.Errorf("the account is %q", text)
	}
	// The question of the turn that runs is kept while its steps left.
	s.Messages = []runtime.MessageRow{user(5, "fifth"), user(6, "sixth"), {N: 7, Kind: llm.KindAssistant, RunID: "rsixth", Content: "step one"}, {N: 8, Kind: llm.KindAssistant, RunID: "rsixth", Content: "step two"}}
	s.Folds = []runtime.FoldRow{fold("c", 7, 7, 6)}
	v.Load(s, nil)
	if !f.dim("step one") || !f.dim("fifth") || f.dim("sixth") || f.dim("step two") {
		t.Errorf("steps: the wrong blocks are dim:\n%s", screen(v))
	}
	// A fold that runs goes on when the page is read again.
	v.Apply(trace.Event{TS: t0, RunID: "run", Turn: 6, Data: trace.CompactData{ID: "d", Phase: "started", FirstN: 8, LastN: 8, LeavingCount: 1, Leaving: []trace.CompactMessage{{N: 8}}}})
	s.Running = true
	v.Load(s, nil)
	if !v.Folding() {
		t.Error("the fold that runs is lost")
	}
}

// Whatever is told in whatever order, rows are straight and nothing is lost that stands.
func TestFoldRowsAreStraight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		f := said(1+rng.IntN(150), 1+rng.IntN(50))
		if rng.IntN(2) == 0 {
			f.v.SetTheme(theme.New(theme.Options{Reduced: rng.IntN(2) == 0, ASCII: rng.IntN(2) == 0}))
		}
		for range 25 {
			d := startedData()
			switch rng.IntN(9) {
			case 0:
				f.delta(strings.Repeat(`{"facts":["部署 👩‍👩‍👧 `, rng.IntN(3)))
			case 1:
				f.pass(time.Duration(rng.IntN(4000)) * time.Millisecond)
			case 2:
				f.v.SetSize(1+rng.IntN(150), 1+rng.IntN(50))
			case 3:
				f.store()
			case 4:
				f.id = fmt.Sprint("f", rng.IntN(3))
			default:
				d = mergedData()
				d.Phase = []string{"started", "summarised", "checked", "merged", "asked", "committed", "refused", "failed", "undone"}[rng.IntN(9)]
				if d.Phase == "started" {
					d = startedData()
				}
				f.phase(d)
			}
			w, h := f.v.w, f.v.h
			rows := f.v.Rows()
			if len(rows) != h {
				t.Fatalf("%d rows of %d", len(rows), h)
			}
			for _, r := range rows {
				if n := f.v.look.m.Width(ansi.Strip(r)); n != w {
					t.Fatalf("a row of %d cells in %d: %q", n, w, ansi.Strip(r))
				}
			}
		}
	})
}

func TestPartialSummary(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"```json\n{":                            "",
		`{"go`:                                  "",
		`{"goals":`:                             "",
		`{"goals":[`:                            "goals",
		`{"goals":["a\"b`:                       `goals a"b_`,
		`{"goals":["a"`:                         "goals a",
		`{"goals":["a","b\u00`:                  "goals a|b_",
		`{"goals":[],"facts":["x"],"u`:          "goals;facts x",
		`{"updated_at":"2026","facts":["x"]}`:   "facts x",
		`{"goals":{"a":1}}`:                     "none",
		"I cannot do that":                      "none",
		`{"goals":["a"],"facts":[1]}`:           "none",
		`{"goals":["line` + "\x1b[31m" + ` x"]`: "goals line x",
	} {
		fields, open, ok := partial(text)
		var parts []string
		for _, f := range fields {
			part := f.name
			if len(f.list) > 0 {
				part += " " + strings.Join(f.list, "|")
			}
			parts = append(parts, part)
		}
		got := strings.Join(parts, ";")
		if open {
			got += "_"
		}
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// FuzzPartialSummary: any beginning of a summary gives beginnings of its entries, and nothing makes it fail.
func FuzzPartialSummary(f *testing.F) {
	f.Add(newSummary, 40)
	f.Add(oldSummary, 1000)
	f.Add(`{"goals":["\ud83d\udc69"]}`, 14)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		whole, _, ok := partial(text)
		if !ok || !json.Valid([]byte(text)) {
			return
		}
		part, _, _ := partial(text[:min(max(cut, 0), len(text))])
		if len(part) > len(whole) {
			t.Fatalf("%d fields of %d", len(part), len(whole))
		}
		for i, p := range part {
			if p.name != whole[i].name || len(p.list) > len(whole[i].list) {
				t.Fatalf("%v is no beginning of %v", part, whole)
			}
		}
	})
}

// B091: what the user should know of the context is told in the chat.
func TestNoticeIsSeen(t *testing.T) {
	f := said(60, 60)
	f.send(trace.NoticeData{Code: "server_cuts", Message: "the server seems to cut prompts at about 4.1k tokens", Why: "about 15k were sent", Todo: "give it a larger window"})
	if s := screen(f.v); !strings.Contains(s, "  ? the server seems to cut prompts at about 4.1k tokens") || !strings.Contains(s, "    give it a larger window") {
		t.Error(s)
	}
}
