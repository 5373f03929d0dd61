package demo

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"vitrine/llm/scripted"
	"vitrine/trace"
	"vitrine/ui"
)

// Models that a script may ask for.
const (
	ModelOffline  = "offline"
	ModelScripted = "scripted"
	ModelLive     = "live"
)

// Script is a demo as it is written in a TOML file: what is set up, and the steps that are played in order.
type Script struct {
	// Name is that of the built-in demo, or the file's without its ending; File is the file as it was named, for errors.
	Name, File string
	Title      string
	// About is one line that says what the demo shows.
	About string
	// Width and Height are the terminal's size, in cells, the row of captions included.
	Width, Height int
	// Model is ModelOffline, ModelScripted, whose Replies are in the file, or ModelLive, which is what the user's configuration says.
	Model   string
	Replies []scripted.Step
	// Config holds settings by the names of their variables, such as AGENT_MAX_CTX_TOKENS.
	Config map[string]string
	// Slow is how much longer tools take than they do, so that there is something to see.
	Slow map[string]time.Duration
	// Files are the texts of the files that lie in the demo's folder, by their paths in it, with slashes; a name that ends in one is a folder.
	Files map[string]string
	Steps []Step
	// Captions says that a row at the bottom is kept for them.
	Captions bool

	source []byte
}

// Wrong is an error of the setting or of the tool of that name in the table [config] or [slow].
func (s Script) Wrong(table, name, what string) error {
	line, column := scripted.Position(s.source, -1, table, name)
	return &scripted.ParseError{File: s.File, Line: line, Column: column, Message: what}
}

// Step is one thing that a script does; Do says which.
type Step struct {
	Do Action
	// Text is what is typed, pasted or shown as a caption. For a size and a key it is as written.
	Text string
	Keys []string
	// Find is set for wait and expect.
	Find *Find
	// Limit bounds a wait; For is how long a pause or a caption stands.
	Limit, For    time.Duration
	Width, Height int
	// Line and Column are where the step begins in its file.
	Line, Column int
}

// Action is what a step does.
type Action string

// The actions.
const (
	DoType    Action = "type"
	DoPaste   Action = "paste"
	DoKey     Action = "key"
	DoWait    Action = "wait"
	DoExpect  Action = "expect"
	DoCaption Action = "caption"
	DoPause   Action = "pause"
	DoResize  Action = "resize"
	DoRestart Action = "restart"
	DoCrash   Action = "crash"
)

// Find is what a wait or an expect looks for; all that is set has to hold at once.
type Find struct {
	// Text stands in the pane, or on the screen; Not reverses it. Regexp likewise, over the rows joined by line feeds.
	Text   string
	Regexp *regexp.Regexp
	Not    bool
	Pane   string
	// State is that of the run in the tab in front: idle, running, waits, or a final state of runs.
	State string
	// Event is a stored or transient event of the play or, for a wait, one behind that which the wait for an event before it found,
	// with fields equal to those in Fields: as text, at paths such as "result.ok" of its JSON.
	Event  trace.Name
	Fields map[string]string
	// Answer is part of the last answer, Todo the text of a todo, Done what its box says, Turns how many turns have begun in the
	// tab in front.
	Answer string
	Todo   string
	Done   *bool
	Turns  *int
}

// fileScript is the file as written.
type fileScript struct {
	Title    string              `toml:"title"`
	About    string              `toml:"about"`
	Size     string              `toml:"size"`
	Model    string              `toml:"model"`
	Config   map[string]string   `toml:"config"`
	Slow     map[string]duration `toml:"slow"`
	Files    map[string]string   `toml:"files"`
	Reply    []scripted.FileStep `toml:"reply"`
	Step     []fileStep          `toml:"step"`
	Captions *bool               `toml:"captions"`
}

type fileStep struct {
	Type    *string   `toml:"type"`
	Enter   *string   `toml:"enter"`
	Paste   *string   `toml:"paste"`
	Key     *string   `toml:"key"`
	Wait    *fileFind `toml:"wait"`
	Expect  *fileFind `toml:"expect"`
	Caption *string   `toml:"caption"`
	Pause   *duration `toml:"pause"`
	Resize  *string   `toml:"resize"`
	Restart *bool     `toml:"restart"`
	Crash   *bool     `toml:"crash"`
	For     *duration `toml:"for"`
	Within  *duration `toml:"within"`
}

type fileFind struct {
	Text   string            `toml:"text"`
	Regexp string            `toml:"regexp"`
	Not    bool              `toml:"not"`
	Pane   string            `toml:"pane"`
	State  string            `toml:"state"`
	Event  string            `toml:"event"`
	Fields map[string]string `toml:"fields"`
	Answer string            `toml:"answer"`
	Todo   string            `toml:"todo"`
	Done   *bool             `toml:"done"`
	Turns  *int              `toml:"turns"`
}

// duration is written as Go writes it: "1.5s".
type duration string

// long is how long it is: not negative, and at most an hour.
func (d duration) long() (time.Duration, error) {
	v, err := time.ParseDuration(string(d))
	if err != nil || v < 0 || v > time.Hour {
		return 0, fmt.Errorf("%q is no time from 0s to 1h, such as 1.5s", string(d))
	}
	return v, nil
}

const (
	defaultWidth, defaultHeight = 100, 30
	// defaultLimit is how long a wait waits, in the time of the play.
	defaultLimit = 30 * time.Second
	// captionTime is how long a caption is left to read before the next step.
	captionTime = 1500 * time.Millisecond
	mostCells   = 300
	mostSteps   = 10_000
)

// States that Find knows beside the final ones of runs.
const (
	StateIdle    = "idle"
	StateRunning = "running"
	StateWaits   = "waits"
)

var errOneAction = errors.New("a step does one thing: type, enter, paste, key, wait, expect, caption, pause, resize, restart or crash")

// ParseScript reads a script; name is the file's name for errors, which are *scripted.ParseError and tell line and column.
func ParseScript(name string, data []byte) (Script, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors put it there
	var f fileScript
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&f); err != nil {
		return Script{}, scripted.DecodeError(name, err)
	}
	fail := func(line, column int, err error) (Script, error) {
		return Script{}, &scripted.ParseError{File: name, Line: line, Column: column, Message: err.Error()}
	}
	s := Script{File: name, source: data, Title: f.Title, About: f.About, Width: defaultWidth, Height: defaultHeight, Model: f.Model, Config: f.Config, Files: f.Files}
	for _, tool := range slices.Sorted(maps.Keys(f.Slow)) {
		long, err := f.Slow[tool].long()
		if err != nil {
			line, column := scripted.Position(data, -1, "slow", tool)
			return fail(line, column, err)
		}
		if s.Slow == nil {
			s.Slow = map[string]time.Duration{}
		}
		s.Slow[tool] = long
	}
	if f.Size != "" {
		var err error
		if s.Width, s.Height, err = size(f.Size); err != nil {
			line, column := scripted.Position(data, -1, "size")
			return fail(line, column, err)
		}
	}
	if err := s.model(f); err != nil {
		line, column := scripted.Position(data, -1, "model")
		return fail(line, column, err)
	}
	if name, err := s.settings(); err != nil {
		line, column := scripted.Position(data, -1, "config", name)
		return fail(line, column, err)
	}
	if name, err := s.checkFiles(); err != nil {
		line, column := scripted.Position(data, -1, "files", name)
		return fail(line, column, err)
	}
	for i, r := range f.Reply {
		step, key, err := r.Step()
		if err != nil {
			line, column := scripted.Position(data, i, "reply", key)
			return fail(line, column, err)
		}
		s.Replies = append(s.Replies, step)
	}
	if len(f.Step) == 0 || len(f.Step) > mostSteps {
		return fail(1, 1, fmt.Errorf("a script has 1 to %d [[step]] tables, this one has %d", mostSteps, len(f.Step)))
	}
	for i, fs := range f.Step {
		step, key, err := fs.steps()
		if err != nil {
			line, column := scripted.Position(data, i, append([]string{"step"}, strings.Split(key, ".")...)...)
			return fail(line, column, err)
		}
		line, column := scripted.Position(data, i, "step")
		for j := range step {
			step[j].Line, step[j].Column = line, column
			s.Captions = s.Captions || step[j].Do == DoCaption
		}
		s.Steps = append(s.Steps, step...)
	}
	if f.Captions != nil {
		s.Captions = *f.Captions
	}
	return s, nil
}

// model checks which model the file asks for.
func (s *Script) model(f fileScript) error {
	switch {
	case s.Model == "" && len(f.Reply) > 0:
		s.Model = ModelScripted
	case s.Model == "":
		s.Model = ModelOffline
	}
	switch s.Model {
	case ModelScripted:
		if len(f.Reply) == 0 {
			return errors.New("the model is scripted, and there is no [[reply]]")
		}
	case ModelOffline, ModelLive:
		if len(f.Reply) > 0 {
			return fmt.Errorf("the model is %s, and there are [[reply]] tables, which a scripted one plays", s.Model)
		}
	default:
		return fmt.Errorf("model %q is none of offline, scripted, live", s.Model)
	}
	return nil
}

// size reads "120x36".
func size(text string) (w, h int, err error) {
	a, b, ok := strings.Cut(text, "x")
	w, errW := strconv.Atoi(a)
	h, errH := strconv.Atoi(b)
	if !ok || errW != nil || errH != nil || w < 1 || h < 1 || w > mostCells || h > mostCells {
		return 0, 0, fmt.Errorf("%q is no size in cells from 1x1 to %dx%d, such as 100x30", text, mostCells, mostCells)
	}
	return w, h, nil
}

// steps gives the step, two for enter, or what is wrong with it and under which key.
func (f fileStep) steps() (steps []Step, key string, err error) {
	one := func(s Step) { steps = append(steps, s) }
	if f.Type != nil {
		one(Step{Do: DoType, Text: *f.Type})
	}
	if f.Enter != nil {
		one(Step{Do: DoType, Text: *f.Enter})
	}
	if f.Paste != nil {
		one(Step{Do: DoPaste, Text: *f.Paste})
	}
	if f.Key != nil {
		keys := strings.Fields(*f.Key)
		for _, k := range keys {
			if _, err := Key(k); err != nil {
				return nil, "key", err
			}
		}
		if len(keys) == 0 {
			return nil, "key", errors.New("no key is named")
		}
		one(Step{Do: DoKey, Text: *f.Key, Keys: keys})
	}
	for _, x := range []struct {
		do   Action
		find *fileFind
	}{{DoWait, f.Wait}, {DoExpect, f.Expect}} {
		if x.find == nil {
			continue
		}
		found, at, err := x.find.find()
		if err != nil {
			return nil, string(x.do) + "." + at, err
		}
		one(Step{Do: x.do, Find: found, Limit: defaultLimit})
	}
	if f.Caption != nil {
		one(Step{Do: DoCaption, Text: *f.Caption, For: captionTime})
	}
	if f.Pause != nil {
		long, err := f.Pause.long()
		if err != nil {
			return nil, "pause", err
		}
		one(Step{Do: DoPause, For: long})
	}
	if f.Resize != nil {
		w, h, err := size(*f.Resize)
		if err != nil {
			return nil, "resize", err
		}
		one(Step{Do: DoResize, Text: *f.Resize, Width: w, Height: h})
	}
	for _, x := range []struct {
		do  Action
		set *bool
	}{{DoRestart, f.Restart}, {DoCrash, f.Crash}} {
		if x.set != nil && !*x.set {
			return nil, string(x.do), fmt.Errorf("%s is true, or not there", x.do)
		}
		if x.set != nil {
			one(Step{Do: x.do})
		}
	}
	if len(steps) != 1 {
		return nil, "", errOneAction
	}
	if key, err := f.modify(&steps[0]); err != nil {
		return nil, key, err
	}
	if f.Enter != nil {
		one(Step{Do: DoKey, Text: "enter", Keys: []string{"enter"}})
	}
	return steps, "", nil
}

// modify takes the keys that change a step.
func (f fileStep) modify(s *Step) (key string, err error) {
	if f.Within != nil {
		if s.Do != DoWait {
			return "within", errors.New("within belongs to wait")
		}
		if s.Limit, err = f.Within.long(); err != nil {
			return "within", err
		}
	}
	if f.For != nil {
		if s.Do != DoCaption {
			return "for", errors.New("for belongs to caption")
		}
		if s.For, err = f.For.long(); err != nil {
			return "for", err
		}
	}
	return "", nil
}

// find checks what is looked for, or says what is wrong and at which key.
func (f fileFind) find() (found *Find, key string, err error) {
	out := &Find{Text: f.Text, Not: f.Not, Pane: f.Pane, State: f.State, Event: trace.Name(f.Event), Fields: f.Fields, Answer: f.Answer,
		Todo: f.Todo, Done: f.Done, Turns: f.Turns}
	if f.Regexp != "" {
		re, err := regexp.Compile(f.Regexp)
		if err != nil {
			return nil, "regexp", fmt.Errorf("regexp: %w", err)
		}
		out.Regexp = re
	}
	onScreen := f.Text != "" || f.Regexp != ""
	switch {
	case !onScreen && f.State == "" && f.Event == "" && f.Answer == "" && f.Todo == "" && f.Turns == nil:
		return nil, "", errors.New("it looks for nothing: text, regexp, state, event, answer, todo or turns")
	case !onScreen && f.Not:
		return nil, "not", errors.New("not and pane belong to text or regexp")
	case !onScreen && f.Pane != "":
		return nil, "pane", errors.New("not and pane belong to text or regexp")
	case f.Pane != "" && !isPane(f.Pane):
		return nil, "pane", fmt.Errorf("pane %q is none of %s", f.Pane, strings.Join(ui.PaneNames(), ", "))
	case f.Event == "" && len(f.Fields) > 0:
		return nil, "fields", errors.New("fields belong to event")
	case f.Event != "" && !knownEvent(trace.Name(f.Event)):
		return nil, "event", fmt.Errorf("there is no event %q", f.Event)
	case f.Todo == "" && f.Done != nil:
		return nil, "done", errors.New("done belongs to todo")
	case f.State != "" && !knownState(f.State):
		return nil, "state", fmt.Errorf("state %q is none of %s", f.State, strings.Join(stateNames(), ", "))
	case f.Turns != nil && *f.Turns < 0:
		return nil, "turns", fmt.Errorf("turns is %d; at least 0 is allowed", *f.Turns)
	}
	return out, "", nil
}
