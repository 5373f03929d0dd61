package demo

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"vitrine/llm"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/record"
)

// A stored session becomes a script that plays as the session did: answers, failures, cancels and words on questions.
func TestStory(t *testing.T) {
	s := NewStory(`a "title" 标题`, nil)
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

	s = NewStory("asks", nil)
	turn("r1", "write it", "succeeded", []trace.Data{
		trace.ApprovalData{Phase: "asked"}, trace.ApprovalData{Phase: "decided", Answer: "allow"},
		trace.ApprovalData{Phase: "decided", Answer: "deny"}, trace.ApprovalData{Phase: "decided", Answer: "allow", Cause: "break"},
	}, say("ok"))
	if text, err = s.Script(); err != nil || strings.Count(string(text), "'tab y'") != 1 || strings.Count(string(text), "'tab n'") != 1 {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := NewStory("empty", nil).Script(); err == nil {
		t.Error("a session without turns has a script")
	}
}

// A session that was branched off has messages without events: they are turns too, in their places, and nobody is asked in them.
func TestStoryOfABranch(t *testing.T) {
	s := NewStory("branch", nil)
	s.Event(trace.Event{RunID: "own", Data: trace.RunStartData{Input: "mine", N: 6}})
	s.Event(trace.Event{RunID: "own", Step: 1, Data: trace.LLMCallData{Text: "Own.", FinishReason: "stop"}})
	s.Event(trace.Event{RunID: "own", Data: trace.AnswerData{Text: "Own."}})
	s.Event(trace.Event{RunID: "own", Data: trace.RunEndData{State: "succeeded"}})
	for i, m := range []runtime.MessageRow{
		{Kind: llm.KindUser, RunID: "old", Content: "before"},
		{Kind: llm.KindAssistant, RunID: "old", Step: 1, Content: "I look.", ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look", Arguments: `{}`}}},
		{Kind: llm.KindTool, RunID: "old", Step: 1, Content: "seen"},
		{Kind: llm.KindAssistant, RunID: "old", Step: 2, Content: "Looked."},
		{Kind: llm.KindUser, RunID: "older", Content: "again"},
		{Kind: llm.KindUser, RunID: "own", Content: "mine"},
		{Kind: llm.KindAssistant, RunID: "own", Step: 1, Content: "Own."},
	} {
		if m.N = int64(i + 1); m.Content == "again" {
			m.Content = "stopped"
			s.Message(m)
			m.Kind, m.Content, m.Partial = llm.KindClosing, "half\n\n[interrupted]", true
		}
		s.Message(m)
	}
	text, err := s.Script()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "side_effect=auto") {
		t.Errorf("a call is asked about:\n%s", text)
	}
	script, err := ParseScript("branch.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := playOf(t, t.Context(), &testStage{model: scripted.New(nil, script.Replies...)}, string(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := strings.Join(p.met, "; "); !strings.Contains(got, `"Looked.", the turn count 1; the turn count 2; an answer with "Own.", the turn count 3`) || !p.last.Has("half") {
		t.Errorf("met %s\n%s", got, p.last)
	}
}

// B191: what nobody may see is in no part of the script, and what is masked is the same in all of them, so that it plays.
func TestStoryMasksB191(t *testing.T) {
	const key = "sk-story-0123456789abcdef"
	s := NewStory("about "+key, record.Hider([]string{key}))
	for _, e := range []struct {
		step int
		data trace.Data
	}{
		{0, trace.RunStartData{Input: "my key is " + key}},
		{1, trace.LLMCallData{ToolCallCount: 1, Text: "I use " + key}},
		{1, trace.ApprovalData{Phase: "asked", ID: "q", Tool: "look", Arguments: []byte(`{"a":"` + key + `"}`)}},
		{1, trace.ApprovalData{Phase: "decided", ID: "q", Tool: "look", Answer: "edit"}},
		{1, trace.ApprovalData{Phase: "asked", ID: "r", Tool: "look", Arguments: []byte(`{"b":"` + key + `"}`)}},
		{1, trace.ApprovalData{Phase: "decided", ID: "r", Tool: "look", Answer: "deny", Reason: "not " + key}},
		{1, trace.ToolCallData{CallID: "c", Tool: "look", Status: "not_run", RawArguments: `{"raw":"` + key}},
		{2, trace.LLMCallData{FinishReason: "cancelled", Text: "half " + key}},
		{3, trace.LLMCallData{Error: "server: HTTP 400: bad " + key}},
		{0, trace.ErrorData{Message: "failed " + key, Code: "rejected"}},
		{0, trace.AnswerData{Text: key + " is it"}},
		{0, trace.RunEndData{State: "succeeded"}},
	} {
		s.Event(trace.Event{RunID: "r1", Step: e.step, Data: e.data})
	}
	s.Message(runtime.MessageRow{RunID: "r1", Step: 1, Kind: llm.KindAssistant, ToolCalls: []llm.ToolCall{{ID: "c", Name: "look", Arguments: "{}"}}})
	s.Message(runtime.MessageRow{RunID: "r0", Kind: llm.KindUser, Content: "older " + key})
	s.Message(runtime.MessageRow{RunID: "r0", Kind: llm.KindAssistant, Content: "old " + key})
	text, err := s.Script()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "story") || strings.Contains(string(text), "0123") || strings.Count(string(text), "*****") < 14 {
		t.Errorf("%s", text)
	}
	if _, err := ParseScript("masked.toml", text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// Any texts come back from the script as they were stored.
func TestStoryKeepsTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.Custom(func(t *rapid.T) string { return rapid.StringN(1, 40, -1).Draw(t, "text") })
		input, reply, args := texts.Draw(t, "input"), texts.Draw(t, "reply"), texts.Draw(t, "args")
		s := NewStory("texts", nil)
		s.Event(trace.Event{RunID: "r", Data: trace.RunStartData{Input: input}})
		s.Event(trace.Event{RunID: "r", Step: 1, Data: trace.LLMCallData{Text: reply, ToolCallCount: 1}})
		s.Message(runtime.MessageRow{RunID: "r", Step: 1, Kind: llm.KindAssistant, ToolCalls: []llm.ToolCall{{Name: "n", Arguments: args}}})
		text, err := s.Script()
		if err != nil {
			t.Fatal(err)
		}
		var f storyFile
		if err := toml.Unmarshal(text, &f); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		typed, _ := f.Step[0]["enter"].(string)
		if typed == "" {
			typed, _ = f.Step[0]["paste"].(string)
		}
		if r := f.Reply[0]; r.Text != reply || r.Calls[0].Args != args || strings.Trim(typed, " ") != strings.Trim(input, " ") {
			t.Fatalf("%q %q %q became %q %q %q\n%s", input, reply, args, typed, r.Text, r.Calls[0].Args, text)
		}
		if _, err := ParseScript("t", text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
