package demo

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/trace"
)

// Story makes a script of a stored session: its inputs are typed, its model's replies are scripted, and its answers are expected. The
// tools run again. It is fed the session's events first, then its messages, both in order. A session that was branched off has the
// messages of before, and no events of them.
type Story struct {
	title string
	hide  func(string) string
	turns []*storyTurn
	byRun map[string]*storyTurn
	tools map[string]*storyTool
	todos map[string]string // the texts by id: in a play they have other ids
	caps  trace.Caps
	// unknown is set when it is not known what was asked before some calls.
	unknown bool
	user    *storyTurn // of the last input, while the messages are told
	files   storyFiles
}

// storyTurn is what is known of one turn.
type storyTurn struct {
	at      int64 // the place of its input
	input   string
	replies []storyReply
	words   []storyWord    // on the questions of the policy, in order
	open    map[string]int // the questions without a word, with the rows of the arguments
	state   runtime.State
	reason  string
	failure string
	code    string // of the failure
	answer  string
	told    bool              // the model's calls are known by events
	before  bool              // of the session that this one was branched off: there are no events
	raw     map[string]string // what the model wrote as the arguments of a call that did not run as written
}

// storyWord is what the user said to a question.
type storyWord struct {
	key    string
	reason string // of n
	edited string // of e: the arguments that were put in the place of those that had so many rows
	rows   int
}

// The keys that answer a question.
const (
	keyYes, keyNo, keyAlways, keyEdit = "y", "n", "a", "e"
)

// storyTool is how a session treated a tool.
type storyTool struct {
	effect            string
	asked, ran, never bool
}

// NewStory begins the story of a session. Hide takes out of a text what nobody may see; it may be nil.
func NewStory(title string, hide func(string) string) *Story {
	if hide == nil {
		hide = func(s string) string { return s }
	}
	return &Story{title: hide(title), hide: hide, byRun: map[string]*storyTurn{}, tools: map[string]*storyTool{}, todos: map[string]string{},
		files: storyFiles{all: map[string]*oldFile{}, args: map[string]json.RawMessage{}}}
}

// Event takes one of the session's stored events.
func (s *Story) Event(e trace.Event) {
	if d, ok := e.Data.(trace.RunStartData); ok {
		s.begin(e.RunID, &storyTurn{at: d.N, input: s.hide(attach.Text(d.Input))})
		if d.Caps != nil {
			s.caps.Steps, s.caps.Calls = max(s.caps.Steps, d.Caps.Steps), max(s.caps.Calls, d.Caps.Calls)
		}
		return
	}
	if d, ok := e.Data.(trace.TodoData); ok && d.ID != "" {
		s.todos[d.ID] = d.Text
		return
	}
	t := s.byRun[e.RunID]
	if t == nil {
		return
	}
	switch d := e.Data.(type) {
	case trace.LLMCallData:
		t.told, t.replies = true, append(t.replies, s.reply(e.Step, d))
	case trace.ApprovalData:
		s.approval(t, d)
	case trace.ToolCallData:
		if d.Status == "not_run" && d.RawArguments != "" {
			t.raw[d.CallID] = d.RawArguments
		}
		tool := s.tool(d.Tool, d.Effect)
		tool.ran = tool.ran || d.Status == "started"
	case trace.ToolResultData:
		if tool := s.tools[d.Tool]; tool != nil && d.Status == "denied" && !tool.asked {
			tool.never = true
		}
	case trace.ErrorData:
		t.failure = s.hide(strings.TrimSpace(d.Message + " " + d.Why))
		t.code = d.Code
		if n := len(t.replies); n > 0 && t.replies[n-1].Fail != nil {
			t.replies[n-1].Fail.Kind = failKind(d.Code)
		}
	case trace.AnswerData:
		t.answer = s.hide(d.Text)
	case trace.RunEndData:
		t.state, t.reason = runtime.State(d.State), d.Reason
	}
}

func (s *Story) begin(run string, t *storyTurn) {
	t.raw, t.open = map[string]string{}, map[string]int{}
	s.turns = append(s.turns, t)
	if run != "" {
		s.byRun[run] = t
	}
}

func (s *Story) tool(name, effect string) *storyTool {
	t := s.tools[name]
	if t == nil {
		t = &storyTool{effect: effect}
		s.tools[name] = t
	}
	return t
}

// reply is what a model call brought; the calls of tools stand in messages.
func (s *Story) reply(step int, d trace.LLMCallData) storyReply {
	r := storyReply{FileStep: scripted.FileStep{Text: s.hide(d.Text)}, step: step, calls: d.ToolCallCount}
	if d.PromptTokens != nil || d.CompletionTokens != nil {
		r.Usage = &scripted.FileUsage{Prompt: d.PromptTokens, Completion: d.CompletionTokens, Cached: d.CachedTokens, Reasoning: d.ReasoningTokens}
	}
	switch none := 0; {
	case d.FinishReason == finishCancelled && d.Text == "":
		r.Deltas, r.HangAfter = []string{"..."}, &none
	case d.FinishReason == finishCancelled:
		n := 1
		r.Text, r.Deltas, r.HangAfter = "", []string{r.Text}, &n
	case d.Error != "":
		r.Text, r.Fail = "", failOf("", s.hide(d.Error))
	case d.FinishReason == string(llm.FinishLength), d.FinishReason == string(llm.FinishContentFilter):
		r.Finish = d.FinishReason
	}
	return r
}

// finishCancelled is what a call is told to have ended with that the user stopped.
const finishCancelled = "cancelled"

// refused is how an error names the server and what it said.
var refused = regexp.MustCompile(`^(\S+): HTTP (\d{3}): (.+)$`)

// failOf is the failure of a model that was told so.
func failOf(code, told string) *scripted.FileError {
	f := &scripted.FileError{Kind: failKind(code), Message: told}
	if m := refused.FindStringSubmatch(told); m != nil {
		f.Host, f.Message = m[1], m[3]
		f.Status, _ = strconv.Atoi(m[2])
	}
	return f
}

// failKind is the kind of a model's error with that code of the error that was told.
func failKind(code string) string {
	if scripted.KnownError(llm.ErrorKind(code)) {
		return code
	}
	return string(llm.ErrRejected)
}

// approval takes a question of the policy, or the word on it.
func (s *Story) approval(t *storyTurn, d trace.ApprovalData) {
	if d.Cause != "" {
		return // the debugger's
	}
	if d.Phase == "asked" {
		s.tool(d.Tool, d.Effect).asked = true
		if n := len(t.words); n > 0 && t.words[n-1].key == keyEdit && t.words[n-1].edited == "" {
			t.words[n-1].edited = s.hide(string(d.Arguments))
		}
		var rows bytes.Buffer
		_ = json.Indent(&rows, d.Arguments, "", " ") // what is no JSON is shown as it is
		t.open[d.ID] = bytes.Count(rows.Bytes(), []byte("\n")) + 1
		return
	}
	w := storyWord{reason: s.hide(strings.Join(strings.Fields(d.Reason), " ")), rows: t.open[d.ID]}
	delete(t.open, d.ID)
	switch {
	case d.Answer == "allow" && d.Always:
		if n := len(t.words); n > 0 && t.words[n-1].key == keyAlways {
			return // one word for all that waited
		}
		w.key = keyAlways
	case d.Answer == "allow":
		w.key = keyYes
	case d.Answer == "deny":
		w.key = keyNo
	case d.Answer == "edit":
		w.key = keyEdit
	default:
		return // what became of a call of before a crash, which does not come here
	}
	t.words = append(t.words, w)
}

// Message takes one of the session's stored messages.
func (s *Story) Message(m runtime.MessageRow) {
	s.files.message(m)
	t := s.byRun[m.RunID]
	switch {
	case m.Kind == llm.KindUser && t == nil: // of a session that this one was branched off
		t = &storyTurn{at: m.N, input: s.hide(attach.Text(m.Content)), state: runtime.StateSucceeded, before: true}
		s.begin(m.RunID, t)
		s.user = t
		return
	case m.Kind == llm.KindUser:
		s.user = t
		return
	case t == nil && s.user != nil && s.user.before:
		t = s.user
	}
	switch {
	case t == nil || m.Kind != llm.KindAssistant && m.Kind != llm.KindClosing:
		return
	case !t.told:
		t.take(m, s.hide)
	}
	for i := range t.replies {
		if r := &t.replies[i]; r.step == m.Step && len(m.ToolCalls) > 0 && len(r.Calls) == 0 {
			r.Calls = s.calls(t, m.ToolCalls)
			return
		}
	}
}

// take makes a reply of a message of a turn whose model calls no event tells.
func (t *storyTurn) take(m runtime.MessageRow, hide func(string) string) {
	text, state := hide(m.Content), t.state
	add := func(r scripted.FileStep, calls int) { t.replies = append(t.replies, storyReply{r, m.Step, calls}) }
	switch {
	case m.Partial:
		n := 1
		state = runtime.StateCancelled
		add(scripted.FileStep{Deltas: []string{strings.TrimSuffix(text, runtime.PartialEnd) + " "}, HangAfter: &n}, 0)
	case m.Kind == llm.KindClosing && t.before:
		state = runtime.StateFailed
		add(scripted.FileStep{Fail: failOf("", text)}, 0)
	case m.Kind == llm.KindAssistant:
		add(scripted.FileStep{Text: text}, len(m.ToolCalls))
	}
	if t.before {
		t.state, t.answer = state, text
	}
}

func (s *Story) calls(t *storyTurn, stored []llm.ToolCall) (calls []scripted.FileCall) {
	for _, c := range stored {
		args := c.Arguments
		if raw, ok := t.raw[c.ID]; ok {
			args = raw
		}
		if c.Name == todoTool {
			args = s.byText(args)
		}
		if t.before {
			s.unknown = true
			if tool := s.tools[c.Name]; tool != nil && tool.asked {
				t.words = append(t.words, storyWord{key: keyYes})
			}
		}
		calls = append(calls, scripted.FileCall{ID: c.ID, Name: c.Name, Args: s.hide(args)})
	}
	return calls
}

// todoTool is the tool that takes the id of a todo, or its text.
const todoTool = "todo"

// byText names todos by their texts in the arguments of a call.
func (s *Story) byText(args string) string {
	for _, id := range slices.Sorted(maps.Keys(s.todos)) {
		if quoted, err := json.Marshal(s.todos[id]); err == nil {
			args = strings.ReplaceAll(args, `"`+id+`"`, string(quoted))
		}
	}
	return args
}

// Turns is how many turns it has.
func (s *Story) Turns() int { return len(s.turns) }
