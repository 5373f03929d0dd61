package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"vitrine/trace"
)

// A thought is one dimmed row with its time while it goes on: the end of what it says now. It stays folded when the answer comes, opens
// and closes, and a session that is read again has none and no hole in its place.
func TestAThought(t *testing.T) {
	v := newView(50, 30)
	f := &feed{v: v, at: t0}
	f.start(1, "think")
	f.send(trace.DeltaData{Kind: "reasoning", Text: "First the region.\nThe window is on Friday, so the rollout starts at "})
	f.send(trace.DeltaData{Kind: "reasoning", Text: "14:20 at the latest"})
	v.Tick(3, f.at.Add(2500*time.Millisecond))
	got := screen(v)
	if !strings.Contains(got, "thinking   ⋯ ") || !strings.Contains(got, "at the latest") || !strings.Contains(got, " s\n") || strings.Contains(got, "region") {
		t.Errorf("while it goes on:\n%s", got)
	}
	v.SelectPrev()
	v.Toggle()
	if got = screen(v); !strings.Contains(got, "    First the region.\n") || !strings.Contains(got, "starts at 14:20") && !strings.Contains(got, "at the latest\n") {
		t.Errorf("open:\n%s", got)
	}
	v.Toggle()
	f.at = t0.Add(12 * time.Second)
	f.say("At 14:20.")
	if got = screen(v); !strings.Contains(got, "▸ thought   First the region.") || !strings.Contains(got, "12.0 s\n") && !strings.Contains(got, "11.9 s\n") || strings.Contains(got, "14:20 at") || !strings.Contains(got, "At 14:20.") {
		t.Errorf("the answer comes:\n%s", got)
	}
	v.Toggle()
	if got = screen(v); !strings.Contains(got, "▾ thought") || !strings.Contains(got, "Friday") {
		t.Errorf("open afterwards:\n%s", got)
	}
	v.Toggle()
	f.send(trace.AnswerData{Text: "At 14:20.", N: 2})
	f.send(trace.RunEndData{State: "succeeded", Steps: 1, DurationMS: 100})
	v.Deselect()
	var rows []string
	for _, r := range strings.Split(screen(v), "\n") {
		if !strings.Contains(r, "thought") {
			rows = append(rows, r)
		}
	}
	again := newView(50, 30)
	g := &feed{v: again, at: t0}
	g.start(1, "think")
	g.send(trace.AnswerData{Text: "At 14:20.", N: 2})
	g.send(trace.RunEndData{State: "succeeded", Steps: 1, DurationMS: 100})
	if want := strings.Join(rows, "\n"); strings.TrimRight(screen(again), "\n") != strings.TrimRight(want, "\n") {
		t.Errorf("read again:\n%s\nwith the thought:\n%s", screen(again), screen(v))
	}
}

// An open thought follows what comes: its newest rows are shown, and that there is more above them.
func TestAnOpenThoughtFollows(t *testing.T) {
	v := newView(60, 20)
	f := &feed{v: v, at: t0}
	f.start(1, "think")
	f.send(trace.DeltaData{Kind: "reasoning", Text: "line 0\n"})
	v.SelectPrev()
	v.Toggle()
	v.End()
	for i := 1; i < 200; i++ {
		f.send(trace.DeltaData{Kind: "reasoning", Text: fmt.Sprintf("line %d\n", i)})
	}
	b := v.run.thought
	rows := b.Render(60, false)
	if len(rows) != 1+mostOpened || !strings.Contains(ansi.Strip(rows[1]), "⋯ line 140") || !strings.Contains(ansi.Strip(rows[mostOpened]), "line 199") {
		t.Errorf("%d rows, from %q to %q", len(rows), ansi.Strip(rows[1]), ansi.Strip(rows[len(rows)-1]))
	}
	f.say("Done.")
	rows = b.Render(60, false)
	if !strings.Contains(ansi.Strip(rows[1]), "line 0") || !strings.Contains(ansi.Strip(rows[len(rows)-1]), "140 more rows") {
		t.Errorf("afterwards from %q to %q", ansi.Strip(rows[1]), ansi.Strip(rows[len(rows)-1]))
	}
}

// B016, B017: what is kept of a thought is bounded and its newest; it is cut between characters, and every row is as wide as the pane.
func TestALongThought(t *testing.T) {
	for _, part := range []string{"想一想，部署的窗口是星期五。", "all on one line " + hostileText, "部署\n"} {
		v := newView(41, 20)
		f := &feed{v: v, at: t0}
		f.start(1, "think")
		for range 3 * mostThinking / len(part) / 50 {
			f.send(trace.DeltaData{Kind: "reasoning", Text: strings.Repeat(part, 50)})
		}
		b := v.run.thought
		check := func(when string) {
			t.Helper()
			for _, open := range []bool{false, true} {
				b.open = open
				for _, w := range []int{1, 2, 5, 11, 20, 41, 200} {
					for _, r := range b.Render(w, false) {
						if v.look.m.Width(r) != w || !utf8.ValidString(r) || strings.ContainsRune(r, utf8.RuneError) || strings.Contains(r, "[2J") {
							t.Fatalf("%s, %d wide: %q", when, w, r)
						}
					}
				}
			}
		}
		check("live")
		if n := len(b.source()); n > mostThinking || n < mostThinking/2-10 || !utf8.ValidString(b.source()) || !b.lost {
			t.Errorf("%d bytes are kept", n)
		}
		f.say("done")
		check("over")
		if rows := b.Render(41, false); !strings.Contains(ansi.Strip(rows[1]), "⋯ ") {
			t.Errorf("it does not say that the beginning is gone: %q", ansi.Strip(rows[1]))
		}
	}
}

// What was thought in an attempt that failed goes with it, also where words had followed; what was thought in the step before stays.
func TestThoughtsOfAFailedAttempt(t *testing.T) {
	v := newView(60, 30)
	f := &feed{v: v, at: t0}
	f.start(1, "think")
	f.send(trace.DeltaData{Kind: "reasoning", Text: "of step one"})
	f.send(trace.LLMCallData{ToolCallCount: 1})
	f.send(trace.DeltaData{Kind: "reasoning", Text: "of the first attempt"})
	f.say("words of it")
	f.send(trace.DeltaData{Kind: "reasoning", Text: "and more"})
	f.send(trace.RetryData{Attempt: 1, Max: 3, WaitMS: 3000, Cause: "h: HTTP 503"})
	f.send(trace.DeltaData{Kind: "text", Reset: true})
	f.send(trace.DeltaData{Kind: "reasoning", Text: "of the second attempt"})
	got := screen(v)
	for text, want := range map[string]bool{"of step one": true, "first attempt": false, "words of it": false, "and more": false, "second attempt": true} {
		if strings.Contains(got, text) != want {
			t.Errorf("%q is %v there:\n%s", text, !want, got)
		}
	}
}
