package runtime_test

import (
	"strings"
	"testing"

	"vitrine/llm/llmtest"
	"vitrine/trace"
)

// B106: a call that the server left in the text runs nothing; the user is told, once, in the trace and on the screen, and what
// to change. Code in fences is an answer.
func TestB106CallsInTheText(t *testing.T) {
	const leak = `<tool_call>{"name":"hold","arguments":{"text":"no"}}</tool_call>`
	b, _, evs := served(t, nil, llmtest.Answer("I will: "+leak), llmtest.Answer("so:\n```json\n{\"name\":\"hold\"}\n```"))
	for i, want := range []int{1, 0} {
		if err := b.eng.Submit(t.Context(), "s", "go"); err != nil {
			t.Fatal(err)
		}
		notices, calls := 0, 0
		for ev := range evs {
			switch d := ev.Data.(type) {
			case trace.ToolCallData:
				calls++
			case trace.NoticeData:
				if notices++; d.Code != "tool_text" || !strings.Contains(d.Message, "tool call as text") || d.Todo == "" || ev.Seq == 0 {
					t.Errorf("notice %+v", d)
				}
			}
			if ev.Name == trace.RunEnd {
				if d := ev.Data.(trace.RunEndData); d.State != "succeeded" {
					t.Errorf("%+v", d)
				}
				break
			}
		}
		if notices != want || calls != 0 {
			t.Errorf("turn %d: %d notices, %d calls", i, notices, calls)
		}
	}
}
