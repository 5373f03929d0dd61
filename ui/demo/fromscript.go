package demo

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"vitrine/llm/scripted"
	"vitrine/runtime"
	"vitrine/tools"
	"vitrine/ui/mention"
)

// storyReply is a reply with what is known of it beside.
type storyReply struct {
	scripted.FileStep
	step, calls int // of the run; how many tools it called
}

type storyFile struct {
	Title  string              `toml:"title"`
	About  string              `toml:"about"`
	Size   string              `toml:"size"`
	Config map[string]string   `toml:"config"`
	Files  map[string]string   `toml:"files,omitempty"`
	Reply  []scripted.FileStep `toml:"reply"`
	Step   []map[string]any    `toml:"step"`
}

// step adds a step that does one thing.
func (f *storyFile) step(what string, value any) {
	f.Step = append(f.Step, map[string]any{what: value})
}

// wait adds a wait that has as long as a long reply takes.
func (f *storyFile) wait(find map[string]any) {
	f.Step = append(f.Step, map[string]any{"wait": find, "within": "10m"})
}

const (
	// longInput is from where on an input is pasted, not typed, in bytes.
	longInput = 300
	// mostTime is how long a scripted reply takes at most; shorter ones come at the pace of the offline model.
	mostTime  = 10 * time.Second
	storyPace = 20 * time.Millisecond
	// lookTime is how long a person looks at a question before the answer.
	lookTime = "600ms"
)

// Script writes the story as a demo script.
func (s *Story) Script() ([]byte, error) {
	slices.SortStableFunc(s.turns, func(a, b *storyTurn) int { return cmp.Compare(a.at, b.at) })
	f := &storyFile{
		Title: s.title, About: "made of a stored session: its replies are scripted, its tools run again", Size: "120x36",
		Config: s.config(), Files: s.files.table(s.hide),
	}
	for i, t := range s.turns {
		f.turn(t, i+1, i+1 == len(s.turns))
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

// config is what the session's turns had of settings, as far as events tell; what they do not tell is out of the way.
func (s *Story) config() map[string]string {
	c := map[string]string{"AGENT_COMPACT": "off", "AGENT_MAX_CTX_TOKENS": "1000000", "AGENT_MAX_RUN_TOKENS": "1000000000"}
	if s.caps.Steps > 0 {
		c["AGENT_MAX_TOOL_ITERS"] = strconv.Itoa(s.caps.Steps)
	}
	if s.caps.Calls > 0 {
		c["AGENT_MAX_TOOL_CALLS"] = strconv.Itoa(s.caps.Calls)
	}
	var rules []string
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		t := s.tools[name]
		harmless := t.effect == string(tools.ReadOnly) || t.effect == string(tools.OwnData)
		switch {
		case t.asked && (harmless || s.unknown):
			rules = append(rules, name+"="+string(runtime.RuleAsk))
		case t.never:
			rules = append(rules, name+"="+string(runtime.RuleDeny))
		case t.ran && !t.asked && !harmless:
			rules = append(rules, name+"="+string(runtime.RuleAuto))
		}
	}
	if s.unknown {
		for _, effect := range []tools.Effect{tools.Idempotent, tools.Probeable, tools.SideEffect} {
			rules = append(rules, string(effect)+"="+string(runtime.RuleAuto))
		}
	}
	if len(rules) > 0 {
		c["AGENT_TOOL_POLICY"] = strings.Join(rules, ",")
	}
	return c
}

// turn adds the replies and the steps of the n-th turn.
func (f *storyFile) turn(t *storyTurn, n int, last bool) {
	f.Reply = append(f.Reply, t.script()...)
	switch input := t.input; {
	case strings.HasPrefix(input, "/"): // with a blank before it, it is no command
		f.step("paste", " "+input)
		f.step("key", "enter")
	case strings.ContainsAny(input, "\n\t") || strings.HasPrefix(input, "?") || len(input) > longInput:
		f.step("paste", input)
		f.step("key", "enter")
	case namesAtEnd(input): // with a blank behind it Enter takes no file that is offered
		f.step("enter", input+" ")
	default:
		f.step("enter", input)
	}
	for _, w := range t.words {
		f.word(w)
	}
	switch {
	case len(t.open) > 0: // the next input, if there is one, answers it
		f.wait(map[string]any{"state": StateWaits})
		f.step("pause", lookTime)
		if !last {
			return
		}
	case t.state == "":
		f.wait(map[string]any{"state": StateRunning})
		f.step("pause", "1s")
	case t.state == runtime.StateCancelled:
		f.wait(map[string]any{"state": StateRunning})
		f.step("pause", "1s")
		f.step("key", "esc")
		f.wait(map[string]any{"state": string(t.state)})
	case t.ends():
		f.wait(map[string]any{"state": string(t.state)})
	default:
		f.wait(map[string]any{"state": StateIdle, "turns": n})
	}
	expect := map[string]any{"turns": n}
	if line := firstLine(t.answer); line != "" && t.ends() {
		expect["answer"] = line
	}
	f.step("expect", expect)
}

// namesAtEnd says that a text ends in what names a file.
func namesAtEnd(text string) bool {
	_, ok := mention.At(text, len(text))
	return ok
}

// word answers a question.
func (f *storyFile) word(w storyWord) {
	f.wait(map[string]any{"state": StateWaits})
	f.step("pause", lookTime)
	f.step("key", "tab "+w.key)
	switch w.key {
	case keyNo:
		if w.reason != "" {
			f.step("type", w.reason)
		}
		f.step("key", "enter")
	case keyEdit:
		f.step("key", "ctrl+end"+strings.Repeat(" ctrl+u backspace", w.rows))
		f.step("paste", w.edited)
		f.step("key", "enter")
	}
}

// ends says that the turn's end comes by itself, and the same again.
func (t *storyTurn) ends() bool {
	switch runtime.Reason(t.reason) {
	case runtime.ReasonCheck, runtime.ReasonStore, runtime.ReasonOutcome, runtime.ReasonInternal, runtime.ReasonContext:
		return false
	}
	return t.state == runtime.StateSucceeded || t.state == runtime.StateFailed
}

// script gives the turn's replies, with one that ends it where none is stored.
func (t *storyTurn) script() []scripted.FileStep {
	last := len(t.replies) - 1
	var all []scripted.FileStep
	for i, r := range t.replies {
		if i < last && r.calls == 0 && r.Text != "" && r.Finish == "" {
			continue // an answer that was sent back by a check, which is not made here
		}
		all = append(all, r.FileStep)
	}
	open := last < 0 || t.replies[last].calls > 0
	switch {
	case t.state == runtime.StateFailed && last < 0:
		all = append(all, scripted.FileStep{Fail: failOf(t.code, t.failure)})
	case open && len(t.open) == 0 && (t.state == runtime.StateCancelled || t.state == ""):
		n := 0
		all = append(all, scripted.FileStep{Deltas: []string{"..."}, HangAfter: &n})
	}
	for i := range all {
		r := &all[i]
		r.When = firstLine(t.input)
		if r.Fail == nil && r.HangAfter == nil {
			pace := max(time.Millisecond, min(storyPace, mostTime/time.Duration(len(r.Text)/8+1)))
			r.Pace = scripted.Duration(pace.String())
		}
	}
	return all
}

// firstLine is the beginning of a text, as far as it stands in one line.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 60 {
		line = string(r[:60])
	}
	return strings.TrimSpace(line)
}
