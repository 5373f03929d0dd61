package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
)

// A call whose arguments the user changed keeps its row, which shows what runs; opened it shows what the model wrote too.
func TestEditKeepsTheRow(t *testing.T) {
	v := newView(70, 12)
	f := &feed{v: v, at: t0}
	f.start(1, "go")
	asked := func(id, args string) trace.ApprovalData {
		return trace.ApprovalData{Phase: "asked", ID: id, CallID: "w", Tool: "save", Arguments: json.RawMessage(args)}
	}
	f.send(asked("c1", `{"path":"first"}`))
	for i, path := range []string{"second", "third"} {
		f.send(trace.ApprovalData{Phase: "decided", ID: []string{"c1", "c2"}[i], CallID: "w", Tool: "save", Answer: "edit"})
		f.send(asked([]string{"c2", "c3"}[i], `{"path":"`+path+`"}`))
	}
	if got := screen(v); strings.Count(got, "save") != 1 || !strings.Contains(got, "? save          third") || !strings.Contains(got, "waits for you") {
		t.Fatalf("while it waits:\n%s", got)
	}
	f.send(trace.ToolCallData{ID: "c3", CallID: "w", Tool: "save", Arguments: json.RawMessage(`{"path":"third"}`), RawArguments: `{"path":"first"}`, Status: "started"})
	f.send(trace.ToolResultData{ID: "c3", CallID: "w", Tool: "save", Status: "done", OK: true, Summary: "saved"})
	v.SetFocus(true)
	v.SelectPrev()
	v.Toggle()
	got := screen(v)
	if !strings.Contains(got, "✓ save          third") || !strings.Contains(got, "saved") || !strings.Contains(got, "changed by you; the model wrote") ||
		!strings.Contains(got, `"path": "first"`) {
		t.Errorf("when it has run:\n%s", got)
	}
	// Back to what the model wrote is no change.
	f.send(trace.RunEndData{State: "succeeded"})
	f.start(2, "again")
	f.send(asked("d1", `{"path": "first"}`))
	f.send(trace.ApprovalData{Phase: "decided", ID: "d1", CallID: "w", Tool: "save", Answer: "edit"})
	f.send(asked("d2", `{"path":"other"}`))
	f.send(trace.ApprovalData{Phase: "decided", ID: "d2", CallID: "w", Tool: "save", Answer: "edit"})
	f.send(asked("d3", `{"path":"first"}`))
	if b := v.calls["d3"]; b == nil || b.wrote != nil || len(v.calls) != 1 {
		t.Errorf("after an edit that was taken back: %+v", b)
	}
}

// What ran is told by the tool message where no events are at hand: in a page of older messages, also when the page parts the call
// from its result. What was not run shows what the model wrote.
func TestEditedCallsAsStored(t *testing.T) {
	call := func(n int64, id string) runtime.MessageRow {
		return runtime.MessageRow{N: n, Kind: llm.KindAssistant, RunID: "r", ToolCalls: []llm.ToolCall{{ID: id, Name: "save", Arguments: `{"path":"first"}`}}}
	}
	result := func(n int64, id string) runtime.MessageRow {
		content := `{"ok":true,"data":1,"notice":"The user changed the arguments of this call before it ran: {\"path\":\"second\"} More is told."}`
		return runtime.MessageRow{N: n, Kind: llm.KindTool, RunID: "r", ToolCallID: id, ToolName: "save", Content: content}
	}
	rows := []runtime.MessageRow{{N: 1, Kind: llm.KindUser, RunID: "r", Content: "go"}, call(2, "a"), result(3, "a"), call(4, "b"), result(5, "b")}
	for cut := range rows {
		v := newView(70, 12)
		v.Load(runtime.Snapshot{Session: runtime.SessionRow{TurnCount: 1}, Messages: rows[cut:]}, nil)
		v.Prepend(rows[:cut])
		if got := screen(v); strings.Count(got, "✓ save          second") != 2 || strings.Contains(got, "first") {
			t.Errorf("cut at %d:\n%s", cut, got)
		}
		for i := range v.list.Len() {
			if b, ok := v.block(i).(*toolBlock); ok && string(b.wrote) != `{"path":"first"}` {
				t.Errorf("cut at %d: the model wrote %s", cut, b.wrote)
			}
		}
	}
	v := newView(70, 12)
	bad := runtime.MessageRow{N: 2, Kind: llm.KindAssistant, RunID: "r", Step: 1, ToolCalls: []llm.ToolCall{{ID: "a", Name: "save", Arguments: `{}`}}}
	v.Load(runtime.Snapshot{Session: runtime.SessionRow{TurnCount: 1}, Messages: []runtime.MessageRow{rows[0], bad}}, []trace.Event{
		{RunID: "r", Turn: 1, Step: 1, Data: trace.ToolCallData{ID: "x", CallID: "a", Tool: "save", Arguments: json.RawMessage(`{}`), RawArguments: `{"path":`, Status: "not_run"}},
	})
	if got := screen(v); !strings.Contains(got, `{"path":`) {
		t.Errorf("what was not run:\n%s", got)
	}
}

// After a restart the row is that of the call which took the place of another, in whatever order they are read.
func TestEditedCallWaitsAsStored(t *testing.T) {
	s := stored()
	s.Running = false
	s.Messages[8].ToolCalls[0].Arguments = `{"expression":"1+1"}`
	calls := []runtime.CallRow{
		{ID: "row1", RunID: "r3", Step: 1, CallID: "c1", Name: "calculator", Arguments: `{"expression":"1+1"}`, Status: runtime.CallNotRun},
		{ID: "row2", RunID: "r3", Step: 1, CallID: "c1", Reply: 1, Name: "calculator", Arguments: `{"expression":"2+2"}`, RawArguments: `{"expression":"1+1"}`, Status: runtime.CallWaiting},
	}
	for _, order := range [][]runtime.CallRow{calls, {calls[1], calls[0]}} {
		v := newView(70, 24)
		s.Calls = order
		v.Load(s, nil)
		if got := screen(v); !strings.Contains(got, "? calculator    2+2") || strings.Contains(got, "not run") || strings.Contains(got, "1+1") {
			t.Errorf("%s first:\n%s", order[0].ID, got)
		}
	}
}

// Servers count their ids from zero in every reply, and only those in the window are made unique: each call keeps its own result.
func TestRepeatedCallIDs(t *testing.T) {
	rows := []runtime.MessageRow{{N: 1, Kind: llm.KindUser, RunID: "r", Content: "go"}}
	var events []trace.Event
	for step, path := range []string{"first", "second"} {
		args, row := `{"path":"`+path+`"}`, "row-"+path
		rows = append(rows,
			runtime.MessageRow{N: int64(len(rows) + 1), Kind: llm.KindAssistant, RunID: "r", Step: step + 1, ToolCalls: []llm.ToolCall{{ID: "call_0", Name: "save", Arguments: args}}},
			runtime.MessageRow{N: int64(len(rows) + 2), Kind: llm.KindTool, RunID: "r", Step: step + 1, ToolCallID: "call_0", ToolName: "save", Content: `{"ok":true,"data":1}`})
		events = append(events,
			trace.Event{RunID: "r", Turn: 1, Step: step + 1, Data: trace.ToolCallData{ID: row, CallID: "call_0", Tool: "save", Arguments: json.RawMessage(args), Status: "started"}},
			trace.Event{RunID: "r", Turn: 1, Step: step + 1, Data: trace.ToolResultData{ID: row, CallID: "call_0", Tool: "save", Status: "done", OK: true, Summary: "wrote " + path}})
	}
	for _, evs := range [][]trace.Event{events, nil} {
		v := newView(70, 12)
		v.Load(runtime.Snapshot{Session: runtime.SessionRow{TurnCount: 1}, Messages: rows}, evs)
		got := screen(v)
		for _, path := range []string{"first", "second"} {
			if strings.Count(got, "✓ save          "+path) != 1 || evs != nil && !strings.Contains(got, "wrote "+path) {
				t.Errorf("with %d events:\n%s", len(evs), got)
			}
		}
	}
}
