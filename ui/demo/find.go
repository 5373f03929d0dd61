package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui"
)

// mostEvents bounds what a play remembers of what happened; deltas are not kept.
const mostEvents = 20_000

// history is what has happened in the play so far.
type history struct {
	events []trace.Event
	waited int               // the last wait for an event found one before here
	answer map[string]string // the last of each session
}

func (h *history) add(events []trace.Event) {
	for _, e := range events {
		switch d := e.Data.(type) {
		case trace.DeltaData:
			continue
		case trace.AnswerData:
			if h.answer == nil {
				h.answer = map[string]string{}
			}
			h.answer[e.SessionID] = d.Text
		}
		h.events = append(h.events, e)
	}
	if over := len(h.events) - mostEvents; over > 0 {
		h.events, h.waited = slices.Delete(h.events, 0, over), max(h.waited-over, 0)
	}
}

// find gives the place behind the first event from a place on that is looked for; 0 when there is none.
func (h *history) find(f *Find, from int) int {
	for i := from; i < len(h.events); i++ {
		if e := h.events[i]; e.Name == f.Event && hasFields(e, f.Fields) {
			return i + 1
		}
	}
	return 0
}

// hasFields compares fields of an event's JSON, as text.
func hasFields(e trace.Event, want map[string]string) bool {
	if len(want) == 0 {
		return true
	}
	var data any
	if json.Unmarshal(trace.EncodeData(e.Data), &data) != nil {
		return false
	}
	for path, text := range want {
		got, ok := fieldAt(data, path)
		if !ok || got != text {
			return false
		}
	}
	return true
}

// fieldAt is what stands at a path such as "result.data.value", as text.
func fieldAt(data any, path string) (string, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch at := data.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return "", false
			}
			data = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return "", false
			}
			data = at[i]
		default:
			return "", false
		}
	}
	if text, ok := data.(string); ok {
		return text, true
	}
	out, err := json.Marshal(data)
	return string(out), err == nil
}

// view is what a find looks at.
type view struct {
	screen Screen
	front  ui.Front
	past   *history
	from   int // the first event that counts
}

// clause is one thing that a find looks for.
type clause struct {
	set   bool
	name  string
	holds func(view) bool
}

func (f *Find) clauses() []clause {
	text, match, where := "the text ", "a match of ", ""
	if f.Not {
		text, match = "no more the text ", "no more a match of "
	}
	if f.Pane != "" {
		where = " in the pane " + f.Pane
	}
	return []clause{
		{f.Text != "", text + strconv.Quote(f.Text) + where, func(v view) bool { return f.shows(v) != f.Not }},
		{f.Regexp != nil, match + f.pattern() + where, func(v view) bool { return f.matches(v) != f.Not }},
		{f.State != "", "the state " + f.State, func(v view) bool { return f.inState(v.front) }},
		{f.Event != "", f.eventName(), func(v view) bool { return v.past.find(f, v.from) > 0 }},
		{f.Answer != "", "an answer with " + strconv.Quote(f.Answer), func(v view) bool { return strings.Contains(v.past.answer[v.front.Session], f.Answer) }},
		{f.Todo != "", "the todo " + strconv.Quote(f.Todo), func(v view) bool { return f.hasTodo(v.front) }},
		{f.Turns != nil, "the turn count " + number(f.Turns), func(v view) bool { return v.front.Turns == *f.Turns }},
	}
}

func (f *Find) pattern() string {
	if f.Regexp == nil {
		return ""
	}
	return f.Regexp.String()
}

// met says whether all of f holds; missing names the first thing that does not.
func (f *Find) met(v view) (missing string, ok bool) {
	for _, c := range f.clauses() {
		if c.set && !c.holds(v) {
			return c.name, false
		}
	}
	return "", true
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// what names what is looked for.
func (f *Find) what() string {
	var names []string
	for _, c := range f.clauses() {
		if c.set {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ", ")
}

func (f *Find) eventName() string {
	name := "the event " + string(f.Event)
	for _, k := range slices.Sorted(maps.Keys(f.Fields)) {
		name += fmt.Sprintf(" %s=%q", k, f.Fields[k])
	}
	return name
}

// regions are the parts of the screen that count: the pane's, or the whole and each part of it.
func (f *Find) regions(v view) []string {
	if f.Pane != "" {
		at, ok := v.front.Panes[f.Pane]
		if !ok {
			return nil
		}
		return []string{v.screen.Region(at.X, at.Y, at.W, at.H)}
	}
	out := []string{v.screen.String()}
	for _, name := range ui.PaneNames() {
		if at, ok := v.front.Panes[name]; ok {
			out = append(out, v.screen.Region(at.X, at.Y, at.W, at.H))
		}
	}
	return out
}

// shows says that the text stands in a row, or wrapped over rows of one part of the screen.
func (f *Find) shows(v view) bool {
	regions := f.regions(v)
	for i, r := range regions {
		for row := range strings.SplitSeq(r, "\n") {
			if strings.Contains(row, f.Text) {
				return true
			}
		}
		if (i > 0 || f.Pane != "") && strings.Contains(unspaced(r), unspaced(f.Text)) {
			return true
		}
	}
	return false
}

func (f *Find) matches(v view) bool {
	return slices.ContainsFunc(f.regions(v), f.Regexp.MatchString)
}

// unspaced leaves all blanks out: a wrapped text has others than the one that was written.
func unspaced(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '⡇' {
			return -1
		}
		return r
	}, s)
}

func (f *Find) inState(front ui.Front) bool {
	switch f.State {
	case StateIdle:
		return !front.Running && !front.Waits
	case StateRunning:
		return front.Running
	case StateWaits:
		return front.Waits
	}
	return !front.Running && string(front.State) == f.State
}

func (f *Find) hasTodo(front ui.Front) bool {
	for _, t := range front.Todos {
		if strings.Contains(t.Text, f.Todo) && (f.Done == nil || *f.Done == t.Completed) {
			return true
		}
	}
	return false
}

func isPane(name string) bool { return slices.Contains(ui.PaneNames(), name) }

// knownEvent says that there are events of that name.
func knownEvent(name trace.Name) bool {
	return slices.Contains([]trace.Name{
		trace.RunStart, trace.LLMCall, trace.ToolCall, trace.ToolResult, trace.Compact, trace.Answer, trace.Error, trace.RunEnd, trace.Approval,
		trace.HistoryRepaired, trace.Pin, trace.Todo, trace.Session, trace.InputQueued, trace.Artifact, trace.Notice, trace.State, trace.Retry, trace.Progress,
	}, name)
}

func stateNames() []string {
	return []string{StateIdle, StateRunning, StateWaits, string(runtime.StateSucceeded), string(runtime.StateFailed), string(runtime.StateCancelled), string(runtime.StateExhausted)}
}

func knownState(name string) bool { return slices.Contains(stateNames(), name) }
