package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
)

// Story makes a script of a stored session: its inputs are typed, its model's replies are scripted, and its answers are expected. The
// tools run again. It is fed the session's events first, then its messages, both in order.
type Story struct {
	title string
	turns []*storyTurn
	byRun map[string]*storyTurn
}

// storyTurn is what is known of one turn.
type storyTurn struct {
	input   string
	replies []storyReply
	words   []string // y or n, for each question of the policy
	state   runtime.State
	failure string
	answer  string
}

type storyReply struct {
	Text      string      `toml:"text,multiline,omitempty"`
	Deltas    []string    `toml:"deltas,omitempty"`
	Calls     []storyCall `toml:"calls,omitempty"`
	HangAfter *int        `toml:"hang_after,omitempty"`
	Fail      *storyFail  `toml:"fail,omitempty"`
	Pace      string      `toml:"pace,omitempty"`
}

type storyCall struct {
	ID   string `toml:"id,omitempty"`
	Name string `toml:"name"`
	Args string `toml:"args"`
}

type storyFail struct {
	Kind    string `toml:"kind"`
	Message string `toml:"message"`
}

type storyFile struct {
	Title  string            `toml:"title"`
	About  string            `toml:"about"`
	Size   string            `toml:"size"`
	Config map[string]string `toml:"config"`
	Reply  []storyReply      `toml:"reply"`
	Step   []map[string]any  `toml:"step"`
}

// NewStory begins the story of a session.
func NewStory(title string) *Story { return &Story{title: title, byRun: map[string]*storyTurn{}} }

// Event takes one of the session's stored events.
func (s *Story) Event(e trace.Event) {
	switch d := e.Data.(type) {
	case trace.RunStartData:
		t := &storyTurn{input: d.Input}
		s.turns, s.byRun[e.RunID] = append(s.turns, t), t
	case trace.ApprovalData:
		if t := s.byRun[e.RunID]; t != nil && d.Phase == "decided" && d.Cause == "" {
			t.words = append(t.words, map[bool]string{true: "y", false: "n"}[d.Answer == "allow"])
		}
	case trace.ErrorData:
		if t := s.byRun[e.RunID]; t != nil {
			t.failure = strings.TrimSpace(d.Message + " " + d.Why)
		}
	case trace.AnswerData:
		if t := s.byRun[e.RunID]; t != nil && !d.Fixed {
			t.answer = d.Text
		}
	case trace.RunEndData:
		if t := s.byRun[e.RunID]; t != nil {
			t.state = runtime.State(d.State)
		}
	}
}

// storyPace is how fast scripted replies come: at the pace of the offline model.
const storyPace = "20ms"

// Message takes one of the session's stored messages.
func (s *Story) Message(m runtime.MessageRow) {
	t := s.byRun[m.RunID]
	if t == nil || m.Kind != llm.KindAssistant {
		return
	}
	r := storyReply{Text: m.Content, Pace: storyPace}
	for _, c := range m.ToolCalls {
		args := c.Arguments
		if !json.Valid([]byte(args)) {
			args = "{}"
		}
		r.Calls = append(r.Calls, storyCall{ID: c.ID, Name: c.Name, Args: args})
	}
	if m.Partial {
		n := 1
		r = storyReply{Deltas: []string{m.Content}, HangAfter: &n}
	}
	t.replies = append(t.replies, r)
}

// Turns is how many turns it has.
func (s *Story) Turns() int { return len(s.turns) }

// Script writes the story as a demo script.
func (s *Story) Script() ([]byte, error) {
	f := storyFile{
		Title: s.title, About: "made of a stored session: its replies are scripted, its tools run again", Size: "120x36",
		Config: map[string]string{"AGENT_COMPACT": "off", "AGENT_MAX_CTX_TOKENS": "1000000"},
	}
	step := func(what string, value any) { f.Step = append(f.Step, map[string]any{what: value}) }
	for i, t := range s.turns {
		f.Reply = append(f.Reply, t.ending()...)
		if strings.Contains(t.input, "\n") || len(t.input) > longInput {
			step("paste", t.input)
			step("key", "enter")
		} else {
			step("enter", t.input)
		}
		for _, w := range t.words {
			step("wait", map[string]any{"state": StateWaits})
			step("pause", "600ms")
			step("key", "tab "+w)
		}
		switch t.state {
		case runtime.StateCancelled:
			step("wait", map[string]any{"state": StateRunning})
			step("pause", "1s")
			step("key", "esc")
			step("wait", map[string]any{"state": string(t.state)})
		case runtime.StateSucceeded, runtime.StateFailed:
			step("wait", map[string]any{"state": string(t.state)})
		default:
			step("wait", map[string]any{"state": StateIdle, "turns": i + 1})
		}
		expect := map[string]any{"turns": i + 1}
		if line := firstLine(t.answer); line != "" && t.state == runtime.StateSucceeded {
			expect["answer"] = line
		}
		step("expect", expect)
	}
	if len(f.Reply) == 0 {
		return nil, fmt.Errorf("the session %q has no turn that a script could play", s.title)
	}
	var b bytes.Buffer
	enc := toml.NewEncoder(&b)
	enc.SetIndentTables(false)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("write the script: %w", err)
	}
	return b.Bytes(), nil
}

// longInput is from where on an input is pasted, not typed, in bytes.
const longInput = 300

// ending is the turn's replies with the one that ends it, where none is stored.
func (t *storyTurn) ending() []storyReply {
	last := len(t.replies) - 1
	open := last < 0 || len(t.replies[last].Calls) > 0
	switch {
	case t.state == runtime.StateFailed:
		return append(t.replies, storyReply{Fail: &storyFail{Kind: string(llm.ErrRejected), Message: t.failure}})
	case t.state == runtime.StateCancelled && open:
		n := 0
		return append(t.replies, storyReply{Deltas: []string{"..."}, HangAfter: &n})
	}
	return t.replies
}

// firstLine is the beginning of a text, as far as it stands in one line.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 60 {
		line = string(r[:60])
	}
	return strings.TrimSpace(line)
}
