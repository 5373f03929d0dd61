package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Message is a message on the wire.
type Message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

// Text is the content, empty when it is null.
func (m Message) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// ToolCall is a call on the wire.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// ValidHistory says what is wrong with the messages of a request, given as they are on the wire; nil means nothing. Valid
// is: one system (or developer) message, in front; every tool message answers a call of the assistant message before its group; every
// call is answered exactly once before the next message of another role and before the end; ids are unique in the whole
// history; arguments are strings that hold a JSON object; an assistant message has text or calls; no two user messages in
// a row; valid UTF-8, escaped halves of characters included.
func ValidHistory(messages []byte) error {
	if !utf8.Valid(messages) {
		return errors.New("the messages are no valid UTF-8")
	}
	if s := loneSurrogate(string(messages)); s != "" {
		return fmt.Errorf("the messages hold half a character: %s", s)
	}
	var list []Message
	if err := json.Unmarshal(messages, &list); err != nil {
		return fmt.Errorf("the messages are no list of messages: %w", err)
	}
	if len(list) == 0 {
		return errors.New("no messages")
	}
	c := checker{ids: map[string]bool{}, open: map[string]bool{}}
	for i, m := range list {
		if err := c.add(i, m); err != nil {
			return fmt.Errorf("messages[%d] (%s): %w", i, m.Role, err)
		}
		c.before = m.Role
	}
	return c.unanswered()
}

// checker is what was seen so far.
type checker struct {
	ids    map[string]bool
	open   map[string]bool
	group  []string // the ids of the latest calls, in order
	before string
}

func (c *checker) unanswered() error {
	for _, id := range c.group {
		if c.open[id] {
			return fmt.Errorf("call %s is not answered", id)
		}
	}
	return nil
}

func (c *checker) add(i int, m Message) error {
	if (i == 0) != (m.Role == "system" || m.Role == "developer") {
		return errors.New("there must be one system message, in front")
	}
	if m.Role != "tool" {
		if err := c.unanswered(); err != nil {
			return err
		}
	}
	if m.Content == nil && (m.Role != "assistant" || len(m.ToolCalls) == 0) {
		return errors.New("no content")
	}
	switch m.Role {
	case "system", "developer": // newer models call it so
	case "user":
		if c.before == "user" {
			return errors.New("two user messages in a row")
		}
		c.group = nil
	case "assistant":
		return c.assistant(m)
	case "tool":
		if !c.open[m.ToolCallID] {
			return fmt.Errorf("it answers %q, which is not open", m.ToolCallID)
		}
		delete(c.open, m.ToolCallID)
	default:
		return errors.New("unknown role")
	}
	return nil
}

func (c *checker) assistant(m Message) error {
	if m.Text() == "" && len(m.ToolCalls) == 0 {
		return errors.New("neither text nor calls")
	}
	c.group = nil
	for _, call := range m.ToolCalls {
		switch args := call.Function.Arguments; {
		case call.ID == "" || c.ids[call.ID]:
			return fmt.Errorf("the id %q of a call is empty or used twice", call.ID)
		case call.Function.Name == "":
			return fmt.Errorf("call %s has no name", call.ID)
		case !isObject(args):
			return fmt.Errorf("the arguments of call %s are no JSON object", call.ID)
		case loneSurrogate(args) != "":
			return fmt.Errorf("the arguments of call %s hold half a character", call.ID)
		}
		c.ids[call.ID], c.open[call.ID] = true, true
		c.group = append(c.group, call.ID)
	}
	return nil
}

func isObject(s string) bool {
	b := bytes.TrimSpace([]byte(s))
	return bytes.HasPrefix(b, []byte("{")) && json.Valid(b)
}

// escaped finds escapes in JSON text; pairs of backslashes are consumed so that they escape nothing.
var escaped = regexp.MustCompile(`\\(?:u([0-9a-fA-F]{4})|.)`)

// loneSurrogate gives the first escape in JSON text that is half a character, empty when there is none.
func loneSurrogate(s string) string {
	if !strings.Contains(s, `\u`) {
		return ""
	}
	high, end := "", -1
	for _, m := range escaped.FindAllStringSubmatchIndex(s, -1) {
		var r rune
		if m[2] >= 0 {
			n, err := strconv.ParseUint(s[m[2]:m[3]], 16, 32)
			if err == nil {
				r = rune(n)
			}
		}
		low := r >= 0xDC00 && r < 0xE000
		switch {
		case high != "" && !(low && m[0] == end):
			return high
		case high != "":
			high = ""
			continue
		case low:
			return s[m[0]:m[1]]
		}
		if utf16.IsSurrogate(r) {
			high, end = s[m[0]:m[1]], m[1]
		}
	}
	return high
}

// strict is ValidHistory, and what strict chat templates want beside it.
func strict(messages []byte) error {
	if err := ValidHistory(messages); err != nil {
		return err
	}
	var list []Message
	if err := json.Unmarshal(messages, &list); err != nil {
		return fmt.Errorf("the messages are no list of messages: %w", err)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Role == "assistant" && list[i-1].Role == "assistant" {
			return fmt.Errorf("messages[%d]: two assistant messages in a row", i)
		}
	}
	if last := list[len(list)-1].Role; last != "user" && last != "tool" {
		return fmt.Errorf("the last message is from %q", last)
	}
	return nil
}
