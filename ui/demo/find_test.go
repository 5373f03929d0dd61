package demo

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/trace"
	"vitrine/ui"
	"vitrine/ui/emulator"
)

func TestFind(t *testing.T) {
	term := emulator.New(30, 4, ansi.GraphemeWidth)
	term.Write("left words here⡇ trace of it\r\nthat go on     ⡇ 42 tokens\r\n中文在这里     ⡇\r\n> typed")
	front := ui.Front{
		Session: "s", State: runtime.StateSucceeded, Turns: 2,
		Todos: []tools.Todo{{Text: "buy bread", Completed: true}, {Text: "sell it"}},
		Panes: map[string]ui.Place{"chat": {X: 0, Y: 0, W: 15, H: 3}, "trace": {X: 16, Y: 0, W: 14, H: 3}, "input": {X: 0, Y: 3, W: 30, H: 1}},
	}
	past := &history{}
	past.add([]trace.Event{
		{SessionID: "other", Name: trace.Answer, Data: trace.AnswerData{Text: "not mine"}},
		{SessionID: "s", Name: trace.ToolResult, Data: trace.ToolResultData{Tool: "calculator", OK: true, Result: json.RawMessage(`{"ok":true,"data":{"value":[66]}}`)}},
		{SessionID: "s", Name: trace.Delta, Data: trace.DeltaData{Text: "x"}},
		{SessionID: "s", Name: trace.Answer, Data: trace.AnswerData{Text: "it is 66"}},
	})
	if len(past.events) != 3 {
		t.Errorf("%d events are kept", len(past.events))
	}
	yes, no, two, three := true, false, 2, 3
	running, waits := front, front
	running.Running = true
	waits.Waits, waits.Running = true, true
	for _, c := range []struct {
		find  Find
		front ui.Front
		want  bool
	}{
		{Find{Text: "left words"}, front, true},
		{Find{Text: "words here that go"}, front, true},                  // wrapped in its pane
		{Find{Text: "words here that go", Pane: "trace"}, front, false},  // in another one
		{Find{Text: "here⡇"}, front, true},                               // as the whole row shows it
		{Find{Text: "42 tokens", Pane: "chat"}, front, false},            //
		{Find{Text: "42 tokens", Pane: "chat", Not: true}, front, true},  //
		{Find{Text: "left", Not: true}, front, false},                    //
		{Find{Text: "中文在这", Pane: "chat"}, front, true},                  //
		{Find{Text: "x", Pane: "todos"}, front, false},                   // a pane that is not shown
		{Find{Regexp: regexp.MustCompile(`4\d tok`)}, front, true},       //
		{Find{Regexp: regexp.MustCompile(`(?m)^> typed$`)}, front, true}, //
		{Find{Regexp: regexp.MustCompile(`5\d tok`)}, front, false},      //
		{Find{State: "succeeded"}, front, true},                          //
		{Find{State: "succeeded"}, running, false},                       //
		{Find{State: StateIdle}, front, true},                            //
		{Find{State: StateIdle}, running, false},                         //
		{Find{State: StateIdle}, waits, false},                           //
		{Find{State: StateRunning}, running, true},                       //
		{Find{State: StateWaits}, waits, true},                           //
		{Find{State: StateWaits}, running, false},                        //
		{Find{Event: trace.ToolResult}, front, true},                     //
		{Find{Event: trace.ToolCall}, front, false},                      //
		{Find{Event: trace.ToolResult, Fields: map[string]string{"tool": "calculator", "ok": "true", "result.data.value.0": "66"}}, front, true},
		{Find{Event: trace.ToolResult, Fields: map[string]string{"result.data.value.1": "66"}}, front, false},
		{Find{Event: trace.ToolResult, Fields: map[string]string{"tool.deeper": "66"}}, front, false},
		{Find{Event: trace.ToolResult, Fields: map[string]string{"tool": "todo"}}, front, false},
		{Find{Answer: "66"}, front, true},
		{Find{Answer: "not mine"}, front, false},
		{Find{Todo: "bread", Done: &yes}, front, true},
		{Find{Todo: "bread", Done: &no}, front, false},
		{Find{Todo: "sell"}, front, true},
		{Find{Todo: "keep"}, front, false},
		{Find{Turns: &two}, front, true},
		{Find{Turns: &three}, front, false},
		{Find{Text: "left", Answer: "67"}, front, false}, // all of it has to hold
	} {
		missing, ok := c.find.met(view{screen: term.Screen(), front: c.front, past: past})
		if ok != c.want || ok != (missing == "") || c.find.what() == "" {
			t.Errorf("%s: %v, missing %q", c.find.what(), ok, missing)
		}
	}
	if got := (&Find{Text: "a", Pane: "chat", Not: true}).what(); got != `no more the text "a" in the pane chat` {
		t.Errorf("it is called %q", got)
	}
}

// What a play remembers is bounded, and a wait goes on behind the event that the one before it found.
func TestHistory(t *testing.T) {
	h := &history{}
	one := []trace.Event{{Name: trace.Notice, Data: trace.NoticeData{Message: "n"}}}
	for range mostEvents + 5 {
		h.add(one)
	}
	if len(h.events) != mostEvents {
		t.Errorf("%d events", len(h.events))
	}
	f := &Find{Event: trace.Notice}
	if n := h.find(f, 7); n != 8 {
		t.Errorf("found before %d", n)
	}
	h.waited = mostEvents
	h.add(one)
	if h.waited != mostEvents-1 || h.find(f, h.waited) != mostEvents {
		t.Errorf("it waits from %d", h.waited)
	}
	if !strings.Contains(strings.Join(stateNames(), " "), "waits") {
		t.Error("states")
	}
}
