package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"vitrine/llm"
	"vitrine/llm/profile"
)

// originField names, within Message.Extra, the family that a reply came from. It never reaches the wire: it says to
// whom the other fields may be sent back.
const originField = "vitrine_origin"

// wireMessages turns messages into what every server accepts: one system message in front, no two neighbours of role user or
// of role assistant, answers of tools right behind their calls, and ids that are unique in the whole history.
func wireMessages(messages []llm.Message, d dialect, tools map[string]bool) []wireMessage {
	b := builder{dialect: d, tools: tools, ids: map[string]string{}, used: map[string]bool{}}
	for _, m := range inOrder(messages) {
		b.add(m)
	}
	return b.messages()
}

// inOrder puts answers of tools right behind the message that asked for them, in the order of its calls. A history that
// is so already is handed back as it is.
func inOrder(messages []llm.Message) []llm.Message {
	if ordered(messages) {
		return messages
	}
	out := make([]llm.Message, 0, len(messages))
	taken := make([]bool, len(messages))
	for i, m := range messages {
		if taken[i] {
			continue
		}
		out = append(out, m)
		for _, c := range m.ToolCalls {
			if j := answer(messages, taken, i, c.ID); j > 0 {
				taken[j] = true
				out = append(out, messages[j])
			}
		}
	}
	return out
}

func ordered(messages []llm.Message) bool {
	for i, m := range messages {
		if i+len(m.ToolCalls) >= len(messages) && len(m.ToolCalls) > 0 {
			return false
		}
		for k, c := range m.ToolCalls {
			if next := messages[i+1+k]; next.Role != llm.RoleTool || next.ToolCallID != c.ID {
				return false
			}
		}
	}
	return true
}

// answer finds the answer to a call of message i, before a later message asks with the same id; 0 when there is none.
func answer(messages []llm.Message, taken []bool, i int, id string) int {
	for j := i + 1; j < len(messages); j++ {
		switch m := messages[j]; {
		case m.Role == llm.RoleTool && m.ToolCallID == id && !taken[j]:
			return j
		case slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.ID == id }):
			return 0
		}
	}
	return 0
}

// builder makes wire messages, one after the other.
type builder struct {
	dialect dialect
	tools   map[string]bool
	system  []string
	out     []wireMessage
	ids     map[string]string // the ids of the latest calls, as they are on the wire
	used    map[string]bool
}

func (b *builder) messages() []wireMessage {
	if len(b.system) == 0 {
		return b.out
	}
	all := strings.Join(b.system, "\n\n")
	if b.systemRole() == llm.RoleUser && len(b.out) > 0 && b.out[0].Role == llm.RoleUser {
		all += "\n\n" + *b.out[0].Content
		b.out[0].Content = &all
		return b.out
	}
	return append([]wireMessage{{Role: b.systemRole(), Content: &all}}, b.out...)
}

func (b *builder) systemRole() llm.Role { return llm.Role(b.dialect.systemRole()) }

func (b *builder) add(m llm.Message) {
	text := m.Content
	switch m.Role {
	case llm.RoleSystem:
		switch {
		case text == "":
		case b.dialect.LateSystem && len(b.out) > 0:
			b.merge(wireMessage{Role: b.systemRole(), Content: &text})
		default:
			b.system = append(b.system, text)
		}
	case llm.RoleUser:
		if n := len(b.out); n > 0 && b.out[n-1].Role == llm.RoleTool && !b.dialect.UserAfterTool {
			b.merge(wireMessage{Role: llm.RoleAssistant, Content: new(betweenToolAndUser)})
		}
		b.merge(wireMessage{Role: m.Role, Content: &text})
	case llm.RoleTool:
		id, ok := b.ids[m.ToolCallID]
		if !ok {
			id = b.form(m.ToolCallID)
		}
		b.out = append(b.out, wireMessage{Role: m.Role, Content: &text, ToolCallID: id})
	case llm.RoleAssistant:
		b.assistant(m)
	}
}

// betweenToolAndUser stands in for a reply of the model where a server insists on one.
const betweenToolAndUser = "Noted."

// merge appends m, or adds its text to a neighbour that speaks for the same side.
func (b *builder) merge(m wireMessage) {
	if n := len(b.out); n > 0 && b.out[n-1].Role == m.Role && len(b.out[n-1].ToolCalls) == 0 {
		last := &b.out[n-1]
		if m.Content != nil && *m.Content != "" {
			both := *m.Content
			if *last.Content != "" {
				both = *last.Content + "\n\n" + both
			}
			last.Content = &both
		}
		last.ToolCalls, last.extra = m.ToolCalls, m.extra
		return
	}
	b.out = append(b.out, m)
}

func (b *builder) assistant(m llm.Message) {
	if m.Content == "" && len(m.ToolCalls) == 0 {
		return // refused by some servers, and it says nothing
	}
	w := wireMessage{Role: m.Role}
	switch {
	case m.Content != "":
		w.Content = &m.Content
	case b.dialect.EmptyContent == profile.ContentEmpty:
		w.Content = new(string)
	case b.dialect.EmptyContent == profile.ContentOmit:
		w.omit = true
	}
	var mine bool
	w.extra, mine = b.extra(m.Extra)
	if len(m.ToolCalls) > 0 {
		clear(b.ids)
	}
	for i, c := range m.ToolCalls {
		call := wireCall{ID: b.id(c.ID)}
		call.Function = wireCallFunction{Name: b.name(c.Name), Arguments: arguments(c.Arguments)}
		if mine {
			call.extra = fieldsOf(c.Extra, "id", "type", "function", "index")
		}
		if i == 0 && len(call.extra) == 0 {
			call.extra = b.dialect.CallExtra // one for all calls of a reply, as servers sign them
		}
		w.ToolCalls = append(w.ToolCalls, call)
	}
	b.merge(w)
}

// extra gives the fields of a reply to send back, and whether it came from this family. Reasoning goes back only where
// the profile says so or a server insisted on it; others refuse it.
func (b *builder) extra(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	fields, mine := ownFields(raw, b.dialect.Family, "role", "content", "tool_calls", "tool_call_id")
	if _, told := fields[originField]; !told && mine && b.dialect.reasoning() != profile.ReasoningFill {
		return fields, true // whoever made it knows what it is for
	}
	delete(fields, originField)
	var thought json.RawMessage
	name := b.dialect.ReasoningField
	for _, f := range []string{"reasoning", "reasoning_content"} {
		if fields[f] == nil {
			continue
		}
		thought = fields[f]
		if name == "" {
			name = f
		}
		delete(fields, f)
	}
	if name == "" {
		name = "reasoning_content"
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	switch b.dialect.reasoning() {
	case profile.ReasoningFill:
		if thought == nil {
			thought = json.RawMessage(`""`)
		}
		fields[name] = thought
	case profile.ReasoningReply:
		if thought != nil {
			fields[name] = thought
		}
	}
	return fields, mine
}

// ownFields reads the extra fields of a reply. It gives none of a reply that came from another family.
func ownFields(raw json.RawMessage, family string, reserved ...string) (fields map[string]json.RawMessage, mine bool) {
	fields = fieldsOf(raw, reserved...)
	from, ok := fields[originField]
	if !ok {
		return fields, true
	}
	var s string
	if json.Unmarshal(from, &s) != nil || s != family {
		return nil, false
	}
	return fields, true
}

// fieldsOf reads an object of extra fields without those that are ours to write.
func fieldsOf(raw json.RawMessage, reserved ...string) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	for _, name := range reserved {
		delete(fields, name)
	}
	for name, value := range fields {
		fields[name] = tidy(value)
	}
	return fields
}

// maxID is the longest id that OpenAI takes.
const maxID = 40

// id gives the wire id of a call: its own, unless an earlier call had that one or it is too long.
func (b *builder) id(id string) string {
	w := b.form(id)
	for n := 2; b.used[w]; n++ {
		w = b.form(id + "_" + strconv.Itoa(n))
	}
	b.used[w] = true
	b.ids[id] = w
	return w
}

// form gives an id the form that the server wants, the same one each time.
func (b *builder) form(id string) string {
	if b.dialect.callIDs() == profile.IDsAlnum9 {
		return alnum9(id)
	}
	return wireID(id)
}

// alnum9 makes nine letters and digits of an id that is not so already.
func alnum9(id string) string {
	if len(id) == 9 && !strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	out := make([]byte, 9)
	for i := range out {
		out[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(out)
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func wireID(id string) string {
	switch id = strings.ToValidUTF8(id, "\uFFFD"); {
	case id == "":
		return "call"
	case len(id) > maxID:
		sum := sha256.Sum256([]byte(id))
		return "call_" + hex.EncodeToString(sum[:16])
	}
	return id
}

// maxName is the longest name of a function that OpenAI takes.
const maxName = 64

// name gives a name that a server accepts. Names of the tools go as they are; a name that the model made up is stored as
// it came, and must not make every later request fail.
func (b *builder) name(s string) string {
	if b.tools[s] {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s[:min(len(s), maxName)])
	if len(s) > maxName {
		s = s[:maxName]
	}
	if s == "" {
		return "unknown"
	}
	return s
}

// arguments gives text that is a JSON object for certain; what is none was never executed and goes as an empty one.
func arguments(s string) string {
	trimmed := strings.TrimSpace(s)
	if !strings.HasPrefix(trimmed, "{") || !json.Valid([]byte(trimmed)) {
		return "{}"
	}
	return string(tidy(json.RawMessage(strings.ToValidUTF8(trimmed, "\uFFFD"))))
}
