package runtime_test

import (
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/runtime"
	"vitrine/trace"
)

// B071, as a session really makes such histories: a tool is denied, a turn cancelled, two inputs come one behind the other, the
// server fails, the context is folded, the tools' rule and the model change. A strict server takes every request: one system
// message, in front, turns that alternate, the user or a tool last.
func TestB071ThroughTheEngine(t *testing.T) {
	call := func(id string) llmtest.Reply {
		return llmtest.Ask(llm.ToolCall{ID: id, Name: "hold", Arguments: `{"text":"second"}`})
	}
	b, srv, evs := served(t, runtime.DefaultPolicy())
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	until := func(what string, match func(trace.Event) bool) {
		t.Helper()
		for {
			select {
			case ev := <-evs:
				if match(ev) {
					return
				}
			case <-t.Context().Done():
				t.Fatalf("no %s", what)
			}
		}
	}
	ended := func(ev trace.Event) bool { return ev.Name == trace.RunEnd }
	ask := func(text string, replies ...llmtest.Reply) {
		t.Helper()
		srv.Push(replies...)
		do(b.eng.Submit(t.Context(), "s", text))
	}
	turn := func(text string, replies ...llmtest.Reply) {
		t.Helper()
		ask(text, replies...)
		until("end of "+text, ended)
	}

	ask("deny this "+strings.Repeat("long words ", 300), call("c1"), llmtest.Answer("as you wish"))
	asked := ""
	until("question", func(ev trace.Event) bool {
		d, ok := ev.Data.(trace.ApprovalData)
		if ok && d.Phase == "asked" {
			asked = d.ID
		}
		return asked != ""
	})
	do(b.eng.Set(t.Context(), "s", runtime.Setting{Decide: []runtime.Decision{{Call: asked, Allow: false, Reason: "no"}}}))
	until("end of the denied", ended)

	ask("cancel this", llmtest.Stream(llmtest.Text("half a")).Hold())
	until("text", func(ev trace.Event) bool { d, ok := ev.Data.(trace.DeltaData); return ok && d.Text == "half a" })
	b.eng.Cancel("s")
	until("end of the cancelled", ended)

	ask("one", llmtest.Answer("first").After(50*time.Millisecond), llmtest.Answer("second"))
	do(b.eng.Submit(t.Context(), "s", "two")) // it waits
	until("end of one", ended)
	until("end of two", ended)
	turn("fails", llmtest.Refuse(401, ""))

	srv.Push(llmtest.Answer("I have to sum it up.\n</think>\n\n" + fact("much was said"))) // B107: what it thinks is no part of a summary either
	do(b.eng.Set(t.Context(), "s", runtime.Setting{Compact: true}))
	until("fold", func(ev trace.Event) bool { d, ok := ev.Data.(trace.CompactData); return ok && d.Phase == "committed" })
	turn("after the fold", llmtest.Answer("I remember"))

	do(b.eng.Set(t.Context(), "s", runtime.Setting{ToolRule: &runtime.ToolRule{Tool: "hold", Rule: runtime.RuleAuto}}))
	model := "another"
	do(b.eng.Set(t.Context(), "s", runtime.Setting{Model: &model}))
	turn("now run it", call("c2"), llmtest.Answer("done"))

	for i, r := range srv.Requests() {
		if r.Problem != nil {
			t.Errorf("request %d: %v", i+1, r.Problem)
		}
		last := r.Messages[len(r.Messages)-1].Role
		if last != "user" && last != "tool" {
			t.Errorf("request %d ends with %s", i+1, last)
		}
		for k, m := range r.Messages {
			if (m.Role == "system") != (k == 0) {
				t.Errorf("request %d: message %d is of %s", i+1, k, m.Role)
			}
		}
	}
	requests := srv.Requests()
	if body := string(requests[len(requests)-1].Body); len(requests) != 10 || !strings.Contains(body, "much was said") || srv.Left() != 0 {
		t.Errorf("%d requests, %d replies left; the last: %s", len(requests), srv.Left(), body)
	}
	b.checkHistory("s")
}
