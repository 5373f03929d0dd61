package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"vitrine/llm"
)

// CheckHistory says what a strict server would find wrong with a request, naming the message by its index. Valid is: system
// messages in front only; then a user message first; every call answered exactly once, directly after its message and in
// call order; ids and names present, ids unique in the history; arguments that are one JSON object; no assistant message
// without text and calls; no two messages of the user in a row (a notice of the runtime beside one is merged on the wire);
// the last message one to be answered; valid UTF-8; tools sorted by name.
func CheckHistory(req llm.Request) error {
	for i := 1; i < len(req.Tools); i++ {
		if req.Tools[i-1].Name >= req.Tools[i].Name {
			return fmt.Errorf("tools: %s stands in front of %s", req.Tools[i-1].Name, req.Tools[i].Name)
		}
	}
	h := history{seen: map[string]bool{}}
	for i, m := range req.Messages {
		if err := h.add(m); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		h.prev = m
	}
	switch {
	case len(h.open) > 0:
		return fmt.Errorf("call %s has no answer", h.open[0].ID)
	case h.prev.Role != llm.RoleUser && h.prev.Role != llm.RoleTool:
		return fmt.Errorf("the last message is from %q", h.prev.Role)
	}
	return nil
}

// history is the part of a request that was checked already.
type history struct {
	started bool            // a message other than system was there
	open    []llm.ToolCall  // calls still to be answered, in order
	seen    map[string]bool // ids of all calls
	prev    llm.Message
}

func (h *history) add(m llm.Message) error {
	if !utf8.ValidString(m.Content) {
		return fmt.Errorf("content is no valid UTF-8")
	}
	if len(h.open) > 0 && m.Role != llm.RoleTool {
		return fmt.Errorf("a message from %q, where call %s waits for its answer", m.Role, h.open[0].ID)
	}
	switch m.Role {
	case llm.RoleSystem:
		if h.started {
			return fmt.Errorf("a system message after the start")
		}
		return nil
	case llm.RoleUser:
		if h.prev.Role == llm.RoleUser && m.Kind != llm.KindNotice && h.prev.Kind != llm.KindNotice {
			return fmt.Errorf("two user messages in a row")
		}
	case llm.RoleAssistant:
		if !h.started {
			return fmt.Errorf("the first message is from the assistant")
		}
		if m.Content == "" && len(m.ToolCalls) == 0 {
			return fmt.Errorf("an assistant message without text and calls")
		}
		if err := h.addCalls(m.ToolCalls); err != nil {
			return err
		}
	case llm.RoleTool:
		if len(h.open) == 0 {
			return fmt.Errorf("an answer to call %q, which is not open", m.ToolCallID)
		}
		if m.ToolCallID != h.open[0].ID {
			return fmt.Errorf("an answer to call %q, where call %q is next", m.ToolCallID, h.open[0].ID)
		}
		h.open = h.open[1:]
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	h.started = true
	return nil
}

func (h *history) addCalls(calls []llm.ToolCall) error {
	for _, c := range calls {
		switch {
		case c.ID == "" || c.Name == "":
			return fmt.Errorf("a call without id or name")
		case h.seen[c.ID]:
			return fmt.Errorf("call id %q is there twice", c.ID)
		}
		h.seen[c.ID] = true
		args := bytes.TrimSpace([]byte(c.Arguments))
		if !json.Valid(args) || args[0] != '{' || !utf8.Valid(args) {
			return fmt.Errorf("arguments of call %s are no JSON object", c.ID)
		}
		h.open = append(h.open, c)
	}
	return nil
}
