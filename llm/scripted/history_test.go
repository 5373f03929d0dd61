package scripted

import (
	"errors"
	"strings"
	"testing"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

func TestCheckHistory(t *testing.T) {
	sys := llm.Message{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: "rules"}
	mem := llm.Message{Role: llm.RoleSystem, Kind: llm.KindMemory, Content: "memory"}
	usr := llm.Message{Role: llm.RoleUser, Kind: llm.KindUser, Content: "hi"}
	note := llm.Message{Role: llm.RoleUser, Kind: llm.KindNotice, Content: "again"}
	ans := llm.Message{Role: llm.RoleAssistant, Content: "yes"}
	call := func(args string, ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleAssistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "a", Arguments: args})
		}
		return m
	}
	tool := func(id string) llm.Message { return llm.Message{Role: llm.RoleTool, ToolCallID: id, Content: "{}"} }
	for _, tc := range []struct {
		name string
		msgs []llm.Message
		want string // "" is valid
	}{
		{"plain", []llm.Message{sys, usr}, ""},
		{"memory", []llm.Message{sys, mem, usr}, ""},
		{"calls", []llm.Message{sys, usr, call("{}", "1", "2"), tool("1"), tool("2")}, ""},
		{"two turns", []llm.Message{sys, usr, ans, usr}, ""},
		{"notice", []llm.Message{sys, usr, ans, note, usr}, ""},
		{"notice after", []llm.Message{sys, usr, note}, ""},
		{"empty", nil, "the last message"},
		{"no user", []llm.Message{sys}, "the last message"},
		{"assistant last", []llm.Message{usr, ans}, "the last message"},
		{"assistant first", []llm.Message{sys, ans, usr}, "first message"},
		{"late system", []llm.Message{usr, ans, sys, usr}, "system message after"},
		{"two users", []llm.Message{usr, usr}, "two user messages"},
		{"empty assistant", []llm.Message{usr, {Role: llm.RoleAssistant}, usr}, "without text and calls"},
		{"unknown role", []llm.Message{{Role: "developer"}}, "unknown role"},
		{"bad bytes", []llm.Message{{Role: llm.RoleUser, Content: "\xff"}}, "UTF-8"},
		{"unanswered", []llm.Message{usr, call("{}", "1")}, "call 1 has no answer"},
		{"half answered", []llm.Message{usr, call("{}", "1", "2"), tool("1"), usr}, "waits for its answer"},
		{"wrong order", []llm.Message{usr, call("{}", "1", "2"), tool("2"), tool("1")}, "is next"},
		{"twice answered", []llm.Message{usr, call("{}", "1"), tool("1"), tool("1")}, "not open"},
		{"same id", []llm.Message{usr, call("{}", "1"), tool("1"), call("{}", "1"), tool("1")}, "there twice"},
		{"no id", []llm.Message{usr, call("{}", "")}, "without id"},
		{"bad arguments", []llm.Message{usr, call(`{"a":`, "1")}, "no JSON object"},
		{"no arguments", []llm.Message{usr, call("", "1")}, "no JSON object"},
		{"array", []llm.Message{usr, call("[]", "1")}, "no JSON object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := CheckHistory(llm.Request{Messages: tc.msgs})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	err := CheckHistory(llm.Request{Messages: []llm.Message{usr}, Tools: []llm.ToolSpec{{Name: "b"}, {Name: "a"}}})
	if err == nil {
		t.Error("unsorted tools were taken")
	}
}

func TestStrict(t *testing.T) {
	sim(func(clk *clock.Sim) {
		c := New(clk, Text("fine")).Strict()
		bad := user("hi")
		bad.Messages = append(bad.Messages, llm.Message{Role: llm.RoleAssistant, Content: "last"})
		r := ask(t.Context(), clk, c, bad)
		var e *llm.Error
		if !errors.As(r.Err, &e) || e.Kind != llm.ErrRejected || e.Status != 400 || e.Retryable {
			t.Errorf("bad history: %v", r.Err)
		}
		if r = ask(t.Context(), clk, c, user("hi")); r.Text != "fine" {
			t.Errorf("good history: %+v", r)
		}
		if len(c.Requests()) != 2 {
			t.Error("the refused request was not recorded")
		}
	})
}
