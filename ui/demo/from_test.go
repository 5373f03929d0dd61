package demo

import (
	"strings"
	"testing"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// A stored session becomes a script that plays as the session did: answers, failures, cancels and words on questions.
func TestStory(t *testing.T) {
	s := NewStory(`a "title" 标题`)
	turn := func(run, input, state string, events []trace.Data, messages ...runtime.MessageRow) {
		s.Event(trace.Event{RunID: run, Data: trace.RunStartData{Input: input}})
		for _, d := range events {
			s.Event(trace.Event{RunID: run, Data: d})
		}
		s.Event(trace.Event{RunID: run, Data: trace.RunEndData{State: state}})
		for _, m := range messages {
			m.RunID = run
			s.Message(m)
		}
	}
	say := func(text string, calls ...llm.ToolCall) runtime.MessageRow {
		return runtime.MessageRow{Kind: llm.KindAssistant, Content: text, ToolCalls: calls}
	}
	turn("r1", "look\nat two lines", "succeeded", []trace.Data{trace.AnswerData{Text: "Seen \"it\" all 都看到.\nmore"}},
		runtime.MessageRow{Kind: llm.KindUser, Content: "look"},
		say("I look.", llm.ToolCall{ID: "c1", Name: "look", Arguments: `{}`}), say("Seen \"it\" all 都看到.\nmore"))
	turn("r2", "fail", "failed", []trace.Data{trace.ErrorData{Message: "the server refused", Why: "why not"}}, runtime.MessageRow{Kind: llm.KindClosing, Fixed: true, Content: "Closed."})
	turn("r3", "stop", "cancelled", nil, runtime.MessageRow{Kind: llm.KindAssistant, Content: "half a", Partial: true})
	turn("r4", "stop sooner", "cancelled", nil)
	turn("r5", "bad calls", "succeeded", []trace.Data{trace.AnswerData{Text: "Done."}}, say("", llm.ToolCall{ID: "c2", Name: "nope", Arguments: `{`}), say("Done."))
	s.Message(runtime.MessageRow{RunID: "unknown", Kind: llm.KindAssistant, Content: "x"})
	if s.Turns() != 5 {
		t.Errorf("%d turns", s.Turns())
	}
	text, err := s.Script()
	if err != nil {
		t.Fatal(err)
	}
	script, err := ParseScript("story.toml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if script.Title != `a "title" 标题` || script.Captions || len(script.Replies) != 7 {
		t.Errorf("%q, %d replies\n%s", script.Title, len(script.Replies), text)
	}
	p, err := playOf(t, t.Context(), &testStage{model: scripted.New(nil, script.Replies...)}, string(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(p.met) != 5 || !strings.Contains(p.met[0], `Seen \"it\" all 都看到.`) {
		t.Errorf("met %q", p.met)
	}

	s = NewStory("asks")
	turn("r1", "write it", "succeeded", []trace.Data{
		trace.ApprovalData{Phase: "asked"}, trace.ApprovalData{Phase: "decided", Answer: "allow"},
		trace.ApprovalData{Phase: "decided", Answer: "deny"}, trace.ApprovalData{Phase: "decided", Answer: "allow", Cause: "break"},
	}, say("ok"))
	if text, err = s.Script(); err != nil || strings.Count(string(text), "'tab y'") != 1 || strings.Count(string(text), "'tab n'") != 1 {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := NewStory("empty").Script(); err == nil {
		t.Error("a session without turns has a script")
	}
}
