// Package prompt builds what a model is sent: the system prompt, the memory block and the window, in this order, and counts
// its tokens.
//
// Build is pure: the same stored messages give the same request, so that request N is a prefix of request N+1 for as long as
// nothing before its end changes. It never fails: a history that lacks results or holds empty messages is put right in the
// request, whatever happened to the store. Counter turns estimates into the one number that meter, trigger and trace show.
package prompt

import (
	"encoding/json"
	"strings"

	"vitrine/llm"
)

// Entry is one stored message as the prompt needs it.
type Entry struct {
	N       int64
	Message llm.Message
	// Tokens is the estimate of the message, taken when it was stored.
	Tokens int
}

// Missing is the content of a result that the history lacks. It says the truth: nobody knows.
const Missing = `{"ok":false,"error":{"code":"outcome_unknown","message":"the result of this call was lost; it may have had effects","retryable":false}}`

// Build makes the messages of a request. memory is the memory block's text, empty for none.
func Build(system, memory string, window []Entry) []llm.Message {
	return Extend(head(make([]llm.Message, 0, len(window)+2), system, memory), window)
}

// Head is Build without a window.
func Head(system, memory string) []llm.Message { return head(nil, system, memory) }

func head(out []llm.Message, system, memory string) []llm.Message {
	out = append(out, llm.Message{Role: llm.RoleSystem, Kind: llm.KindSystem, Content: system})
	if memory != "" {
		out = append(out, llm.Message{Role: llm.RoleSystem, Kind: llm.KindMemory, Content: memory})
	}
	return out
}

// Extend goes on with a request: out is what Build or Extend made of the messages before window, whose first is of role user or
// assistant. Those of out are changed by it, as messages of one role in a row become one.
func Extend(out []llm.Message, window []Entry) []llm.Message {
	for i := 0; i < len(window); i++ {
		m := window[i].Message
		switch m.Role {
		case llm.RoleAssistant:
			if strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 {
				continue
			}
			out = appendAssistant(out, wireCalls(m))
			if len(m.ToolCalls) > 0 {
				var used int
				out, used = appendResults(out, m.ToolCalls, window[i+1:])
				i += used
			}
		case llm.RoleTool:
			// A result whose call is not in front of it answers nothing.
		case llm.RoleUser:
			out = appendUser(out, m)
		}
	}
	return out
}

// appendAssistant adds an assistant message, merged with one without calls before it: an answer that was stored before it was
// checked may have a closing behind it.
func appendAssistant(out []llm.Message, m llm.Message) []llm.Message {
	if last := &out[len(out)-1]; last.Role == llm.RoleAssistant && len(last.ToolCalls) == 0 {
		last.Content = strings.TrimSpace(last.Content + "\n\n" + m.Content)
		last.ToolCalls = m.ToolCalls
		return out
	}
	return append(out, m)
}

// appendUser adds a user message, merged with the one before it: strict servers refuse two in a row.
func appendUser(out []llm.Message, m llm.Message) []llm.Message {
	if last := &out[len(out)-1]; last.Role == llm.RoleUser {
		last.Content += "\n\n" + m.Content
		return out
	}
	return append(out, m)
}

// appendResults adds exactly one result for each call, in call order, from the tool messages at the front of rest, and says
// how many of rest it used.
func appendResults(out []llm.Message, calls []llm.ToolCall, rest []Entry) ([]llm.Message, int) {
	used := 0
	for used < len(rest) && rest[used].Message.Role == llm.RoleTool {
		used++
	}
	for _, c := range calls {
		result := llm.Message{Role: llm.RoleTool, Kind: llm.KindTool, ToolCallID: c.ID, Name: c.Name, Content: Missing}
		for _, e := range rest[:used] {
			if e.Message.ToolCallID == c.ID {
				result = e.Message
				break
			}
		}
		out = append(out, result)
	}
	return out, used
}

// wireCalls makes sure that each call's arguments are a JSON object; what was not executed was stored as an empty one.
func wireCalls(m llm.Message) llm.Message {
	for i, c := range m.ToolCalls {
		if t := strings.TrimSpace(c.Arguments); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
			continue
		}
		calls := append([]llm.ToolCall(nil), m.ToolCalls...)
		for j := i; j < len(calls); j++ {
			if t := strings.TrimSpace(calls[j].Arguments); !strings.HasPrefix(t, "{") || !json.Valid([]byte(t)) {
				calls[j].Arguments = "{}"
			}
		}
		m.ToolCalls = calls
		break
	}
	return m
}
