package chat

import (
	"strings"
	"testing"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
)

// What to do after a failure is said once: by the error, or by the end of the turn where no error says it.
func TestTheHintOfAFailureStandsOnce(t *testing.T) {
	for _, c := range []struct {
		todo string
		want int
	}{{"/retry sends it again", 0}, {"", 1}} {
		fail := trace.ErrorData{Message: "the model did not answer", Why: "HTTP 500", Todo: c.todo, Stored: true}
		end := trace.RunEndData{State: "failed", Reason: "model", Steps: 1}
		live := newView(70, 20)
		f := &feed{v: live, at: t0}
		f.start(1, "hello")
		f.send(fail)
		f.send(trace.AnswerData{Text: "[no answer]", Fixed: true})
		f.send(end)
		loaded := newView(70, 20)
		loaded.Load(runtime.Snapshot{Session: runtime.SessionRow{TurnCount: 1}, Messages: []runtime.MessageRow{
			{N: 1, Kind: llm.KindUser, RunID: "r", Content: "hello"}, {N: 2, Kind: llm.KindClosing, RunID: "r", Content: "[no answer]", Fixed: true},
		}}, []trace.Event{{RunID: "r", Name: trace.Error, Data: fail}, {RunID: "r", Name: trace.RunEnd, Data: end}})
		for name, v := range map[string]*View{"live": live, "loaded": loaded} {
			s := screen(v)
			if n := strings.Count(s, "/retry sends the input again."); n != c.want || strings.Count(s, "/retry") != 1 {
				t.Errorf("%s, todo %q: %d hints of the turn\n%s", name, c.todo, n, s)
			}
		}
	}
}

// The row of a retry has room for what happened, not for where.
func TestRetrySaysTheCause(t *testing.T) {
	for cause, want := range map[string]string{
		"127.0.0.1:18080: HTTP 500: overloaded":                                "RETRYING  HTTP 500: overloaded  ",
		"127.0.0.1:18080: connect: connection refused":                         "RETRYING  no connection: connection",
		"api.example.com: cut: the stream ended before the reply was complete": "RETRYING  cut off: the stream",
		"api.example.com: timeout: no data for 1m0s":                           "RETRYING  no answer: no data",
		"timeout":          "RETRYING  no answer",
		"something: else":  "RETRYING  else",
		"some thing: else": "RETRYING  some thing: else",
	} {
		v := newView(55, 12)
		f := &feed{v: v, at: t0}
		f.start(1, "hello")
		f.send(trace.RetryData{Attempt: 1, Max: 3, WaitMS: 3000, Cause: cause})
		if s := screen(v); !strings.Contains(s, want) || !strings.Contains(s, "again in 3 s") {
			t.Errorf("%q:\n%s", cause, s)
		}
	}
}

// What the end of a turn says is not said by the closing text too, which is for the model: live and loaded. Other closings are shown.
func TestTheEndOfATurnIsSaidOnce(t *testing.T) {
	for closing, want := range map[string]int{
		"[cancelled]": 0, "[interrupted]": 0, "[no answer] The turn failed before the model answered.": 0,
		"[no answer] The model's reply was empty twice.": 1, "half of it\n\n[interrupted]": 0,
	} {
		half, _, partial := strings.Cut(closing, "\n")
		end := trace.RunEndData{State: "cancelled", Steps: 1}
		live, loaded := newView(90, 20), newView(90, 20)
		f := &feed{v: live, at: t0}
		f.start(1, "hello")
		f.send(trace.AnswerData{Text: closing, Fixed: !partial, Partial: partial})
		f.send(end)
		loaded.Load(runtime.Snapshot{Session: runtime.SessionRow{TurnCount: 1}, Messages: []runtime.MessageRow{
			{N: 1, Kind: llm.KindUser, RunID: "r", Content: "hello"}, {N: 2, Kind: llm.KindClosing, RunID: "r", Content: closing, Fixed: !partial, Partial: partial},
		}}, []trace.Event{{RunID: "r", Name: trace.RunEnd, Data: end}})
		for name, v := range map[string]*View{"live": live, "loaded": loaded} {
			if s := screen(v); partial && (strings.Contains(s, "[interrupted]") || !strings.Contains(s, half)) || strings.Count(s, closing) != want || !strings.Contains(s, "/ stopped") {
				t.Errorf("%s: %q stands %d times, not %d:\n%s", name, closing, strings.Count(s, closing), want, s)
			}
		}
	}
}

// A row names the file, not what goes into it: a value of several lines leaves the row to the others.
func TestACallIsNamedByItsShortValues(t *testing.T) {
	for args, want := range map[string]string{
		`{"path":"deploy/relay.yaml","content":"replicas: 8\nwindow: 14\n"}`: "deploy/relay.yaml",
		`{"content":"a\nb","path":"x"}`:                                      "a b, x",
		`{"path":"a.txt","content":"one line"}`:                              "a.txt: one line",
		`{"path":"a.txt","content":"one line\n"}`:                            "a.txt: one line",
	} {
		if got := brief([]byte(args)); strings.TrimSpace(got) != want {
			t.Errorf("%s is %q, not %q", args, got, want)
		}
	}
}
