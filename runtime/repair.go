package runtime

import (
	"vitrine/llm"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// repair adds to tx what the last turn lacks when a program that knew no runs left it in its calls: their results, and its
// closing message. Where a run is unfinished that is abandon's part.
func (s *session) repair(tx *Tx) {
	at := len(s.window)
	answered := map[string]bool{}
	for at > 0 && s.window[at-1].Role == llm.RoleTool {
		at--
		answered[s.window[at].ToolCallID] = true
	}
	if at == 0 || len(s.window[at-1].ToolCalls) == 0 {
		return
	}
	calls := s.window[at-1]
	add := func(m MessageRow) {
		m.ID, m.SessionID, m.CreatedAt, m.RunID, m.Step = s.eng.cfg.NewID(), s.id, tx.At, calls.RunID, calls.Step
		m.Tokens = prompt.EstimateMessage(llm.Message{Content: m.Content})
		tx.Messages = append(tx.Messages, m)
	}
	repaired := trace.HistoryRepairedData{Reason: string(ReasonInterrupted)}
	for _, c := range calls.ToolCalls {
		if !answered[c.ID] {
			repaired.Calls = append(repaired.Calls, c.ID)
			add(MessageRow{Kind: llm.KindTool, Role: llm.RoleTool, Content: prompt.Missing, ToolCallID: c.ID, ToolName: c.Name})
		}
	}
	add(MessageRow{Kind: llm.KindClosing, Role: llm.RoleAssistant, Content: MarkInterrupted, Fixed: true})
	tx.Events = append(tx.Events, s.event(repaired))
}
