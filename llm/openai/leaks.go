package openai

import (
	"encoding/json"
	"strings"

	"vitrine/llm"
)

// leaks are the openings of calls that servers leave in the text when they have no parser for the model's way to call.
// Code in fences is none: it is a part of many answers.
var leaks = []string{"<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<function=", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<｜tool▁calls▁begin｜>"}

const (
	longestLeak = 32
	maxLeak     = 1 << 20 // bytes of text that may turn out to be a call
)

// leakFinder looks for calls in text. It only tells of them; with parse it holds back what begins as one and reads it at
// the end of the reply.
type leakFinder struct {
	parse bool
	found string          // the opening that was found
	tail  string          // what may be the beginning of an opening
	held  strings.Builder // with parse, what follows an opening
	gave  bool            // too much was held
}

// add takes in text and gives what of it to show.
func (f *leakFinder) add(s string) string {
	if f.found != "" {
		return f.hold(s)
	}
	if f.tail == "" && strings.IndexByte(s, '<') < 0 && strings.IndexByte(s, '[') < 0 {
		return s
	}
	joined := f.tail + s
	at := -1
	for _, l := range leaks {
		if i := strings.Index(joined, l); i >= 0 && (at < 0 || i < at) {
			at, f.found = i, l
		}
	}
	if !f.parse {
		f.tail = ""
		if at < 0 {
			f.tail = joined[len(joined)-opening(joined):]
		}
		return s
	}
	if at >= 0 {
		f.tail = ""
		return joined[:at] + f.hold(joined[at:])
	}
	keep := opening(joined)
	f.tail = joined[len(joined)-keep:]
	return joined[:len(joined)-keep]
}

// opening says how many bytes at the end of s may begin an opening.
func opening(s string) (most int) {
	for _, l := range leaks {
		most = max(most, partOf(s, l))
	}
	return most
}

func (f *leakFinder) hold(s string) string {
	if !f.parse || f.gave {
		return s
	}
	if f.held.Len()+len(s) > maxLeak {
		f.gave = true
		s = f.held.String() + s
		f.held.Reset()
		return s
	}
	f.held.WriteString(s)
	return ""
}

// drop forgets all that came, since it was reasoning, and gives what of it was held back.
func (f *leakFinder) drop() (held string) {
	if f.parse {
		held = f.held.String() + f.tail
	}
	*f = leakFinder{parse: f.parse}
	return held
}

// finish gives the calls that were held back, or the text when it is none.
func (f *leakFinder) finish(tools []llm.ToolSpec) (found []piece, text string) {
	text = f.held.String()
	if !f.parse {
		return nil, ""
	}
	if text == "" {
		return nil, f.tail
	}
	if found = readLeak(text, tools); len(found) == 0 {
		return nil, text
	}
	return found, ""
}

// readLeak reads calls out of text that begins with an opening. All of it must be calls of tools that were offered, or it
// counts as text: what a model only writes about is not to be run.
func readLeak(text string, tools []llm.ToolSpec) (found []piece) {
	known := map[string]bool{}
	for _, t := range tools {
		known[t.Name] = true
	}
	take := func(name string, args json.RawMessage) bool {
		if !known[name] || !strings.HasPrefix(strings.TrimSpace(string(args)), "{") {
			return false
		}
		found = append(found, piece{name: name, args: string(compact(args)), whole: true})
		return true
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name := ""
		switch {
		case strings.HasPrefix(text, "<tool_call>"), strings.HasPrefix(text, "[TOOL_CALLS]"), strings.HasPrefix(text, "<|python_tag|>"):
			text = text[strings.IndexAny(text, ">]")+1:]
		case strings.HasPrefix(text, "<function="):
			head, rest, ok := strings.Cut(text[len("<function="):], ">")
			if !ok {
				return nil
			}
			name, text = head, rest
		default:
			return nil
		}
		dec := json.NewDecoder(strings.NewReader(text))
		var value json.RawMessage
		if dec.Decode(&value) != nil || !takeLeak(name, value, take) {
			return nil
		}
		text = strings.TrimSpace(text[dec.InputOffset():])
		for _, closing := range []string{"</tool_call>", "</function>", "<|eom_id|>", "<|eot_id|>"} {
			text = strings.TrimPrefix(text, closing)
		}
	}
	return found
}

// takeLeak reads one value: the arguments of a call whose name is known, a call, or a list of calls.
func takeLeak(name string, value json.RawMessage, take func(string, json.RawMessage) bool) bool {
	if name != "" {
		return take(name, value)
	}
	list := []json.RawMessage{value}
	if value[0] == '[' && json.Unmarshal(value, &list) != nil {
		return false
	}
	for _, entry := range list {
		var c struct {
			Name       string          `json:"name"`
			Arguments  json.RawMessage `json:"arguments"`
			Parameters json.RawMessage `json:"parameters"`
		}
		if json.Unmarshal(entry, &c) != nil {
			return false
		}
		args := c.Arguments
		if args == nil {
			args = c.Parameters
		}
		if !take(c.Name, args) {
			return false
		}
	}
	return len(list) > 0
}
