package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxSnippet bounds what an answer quotes of one document, in runes.
const maxSnippet = 240

// data is the data of a result, of any of our tools.
type data struct {
	Result any `json:"result"`
	Exact  any `json:"exact"`
	Hits   []struct {
		Title   string `json:"title"`
		Snippet string `json:"snippet"`
		Text    string `json:"text"`
	} `json:"hits"`
	Todo  *todoEntry  `json:"todo"`
	Todos []todoEntry `json:"todos"`
	Note  string      `json:"note"`
	raw   string
}

type todoEntry struct {
	Text      string `json:"text"`
	Completed bool   `json:"completed"`
}

// decode reads the data of a result. What has another shape is kept as text.
func decode(raw json.RawMessage) data {
	var d data
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&d) != nil {
		d = data{}
	}
	d.raw = string(raw)
	var s string
	if json.Unmarshal(raw, &s) == nil {
		d.raw = s
	}
	return d
}

// number is the value that the calculator gave.
func (a answerer) number(d data) string {
	v := clip(d.raw, maxEcho)
	if d.Result != nil {
		v = clip(fmt.Sprint(d.Result), maxEcho)
	}
	if d.Exact != nil && fmt.Sprint(d.Exact) != "" {
		v = fmt.Sprintf(a.t.exact, v, clip(fmt.Sprint(d.Exact), maxEcho))
	}
	return v
}

// documents lists what a search found.
func (a answerer) documents(query string, d data) string {
	if len(d.Hits) == 0 {
		return fmt.Sprintf(a.t.none, clip(query, 200))
	}
	lines := []string{fmt.Sprintf(a.t.hits, clip(query, 200)), ""}
	for i, h := range d.Hits {
		text := h.Snippet
		if text == "" {
			text = h.Text
		}
		line := fmt.Sprintf("%d. **%s**", i+1, oneLine(h.Title))
		if text = clip(oneLine(text), maxSnippet); text != "" {
			line += ": " + text
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// todoDone says what was done to the todos.
func (a answerer) todoDone(action, text string, d data) string {
	if d.Todo != nil {
		text = d.Todo.Text
	}
	text = clip(oneLine(text), maxEcho)
	switch action {
	case todoAdd:
		return noted(fmt.Sprintf(a.t.added, text), d.Note)
	case todoComplete:
		return noted(fmt.Sprintf(a.t.completed, text), d.Note)
	}
	if len(d.Todos) == 0 {
		return a.t.noTodos
	}
	lines := []string{a.t.todos, ""}
	for _, e := range d.Todos {
		box := "[ ]"
		if e.Completed {
			box = "[x]"
		}
		lines = append(lines, "- "+box+" "+clip(oneLine(e.Text), maxEcho))
	}
	return strings.Join(lines, "\n")
}

// noted adds a tool's remark.
func noted(s, note string) string {
	if note == "" {
		return s
	}
	return s + " (" + oneLine(note) + ")"
}
