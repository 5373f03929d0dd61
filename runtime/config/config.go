// Package config is the program's configuration: where each value comes from, what it may be, and what holds when nobody
// said anything.
//
// One table (table.go) lists every variable with its type, its bounds, its default and its meaning. Load walks it: a flag
// wins over the environment, that over the file, that over the default. Everything wrong is told at once, each error naming
// the variable, its value and what is allowed. Each value remembers its source, for `vitrine doctor`. The sample of the file
// and of the environment are written from the same table, so that they cannot differ from it.
//
// The package is pure but for ReadFile: it looks at what it is given, not at the process.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"vitrine/llm/price"
	"vitrine/llm/profile"
)

// Notify is a way to tell the user of a tab that is not seen.
type Notify string

// The ways: the terminal's bell, and two kinds of notification of the desktop.
const (
	NotifyBell   Notify = "bell"
	NotifyOSC9   Notify = "osc9"
	NotifyOSC777 Notify = "osc777"
)

// Lang is a language of the program's texts, or auto.
type Lang string

// The languages.
const (
	LangAuto    Lang = "auto"
	LangEnglish Lang = "en"
	LangChinese Lang = "zh"
)

// Look is a set of colours of the screen, or auto: by the terminal's background.
type Look string

// The looks.
const (
	LookAuto     Look = "auto"
	LookDark     Look = "dark"
	LookLight    Look = "light"
	LookContrast Look = "contrast"
	LookSixteen  Look = "16"
)

// CompactMode is when the context is folded.
type CompactMode string

// The modes.
const (
	CompactAuto CompactMode = "auto"
	CompactAsk  CompactMode = "ask"
	CompactOff  CompactMode = "off"
)

// The protocols: how a model is told of tools and says what it calls.
const (
	ProtocolNative = "native" // tool calls of the endpoint
	ProtocolJSON   = "json"   // as text, one JSON object a reply
	ProtocolReAct  = "react"  // as text, in lines that start with Thought, Action and Final Answer
)

// Config is what holds. Load makes it; its fields are checked.
type Config struct {
	// User is whose sessions are meant.
	User string

	OpenAIKey       Secret
	OpenAIBaseURL   string // empty when nobody named one
	Model           string // empty when nobody named one
	OpenRouterKey   Secret
	OpenRouterModel string // empty when nobody named one

	// Profile names how the endpoint is spoken to; empty lets its address choose. Profiles are those of the file over the
	// known ones; the zero Set stands for the known ones.
	Profile  string
	Profiles profile.Set
	// Prices are what the file says that models cost, by their names.
	Prices map[string]price.Price
	// LLMTimeout is the silence within a stream that ends it.
	LLMTimeout        time.Duration
	LLMRetries        int
	LLMRetryBaseDelay time.Duration
	LLMTemperature    float64
	LLMMaxTokens      int // 0: the server's own limit
	// Protocol is empty where the profile says it.
	Protocol string

	MaxToolIters int
	MaxToolCalls int
	MaxRunTokens int
	MaxRunCost   *float64      // US dollars; nil: no limit
	RunDeadline  time.Duration // 0: no limit

	MaxRawTurns  int
	MaxCtxTokens int
	Compact      CompactMode
	// Lang is the language of the program's texts; auto lets the locale choose.
	Lang Lang
	// Look is the screen's colours, Still asks for a screen on which nothing moves but what changes.
	Look  Look
	Still bool
	// Notify is how the screen tells of hidden tabs; nil: not at all.
	Notify []Notify
	// Keys are the keys of the screen that the file changes, in its order.
	Keys []KeyBinding
	// ToolPolicy is the rule (auto, ask, deny) of tools and effects by name; nil when nobody set one.
	ToolPolicy map[string]string

	DBPath          string
	TracePath       string
	TraceMaxPayload int // characters

	LiveTests bool

	// modelFlag says that --model named the model.
	modelFlag bool
	values    []Value
}

// Flags are the command line's part; empty means not given.
type Flags struct {
	Model    string
	User     string
	Protocol string
}

// Inputs are all that Load looks at.
type Inputs struct {
	Flags Flags
	// Environ is the environment as os.Environ gives it; of a variable named twice the last one holds.
	Environ []string
	// File is the configuration file's content, FilePath its name for messages.
	File     []byte
	FilePath string
	// Home replaces a leading ~/ in paths; when it is empty such a path is refused.
	Home string
	// Login is the login name: the user when nobody named one.
	Login string
	// RuleNames gives the tools and effects that AGENT_TOOL_POLICY may name; it is asked only when rules are set. Nil: any name.
	RuleNames func() []string
}

// SourceKind is one of the four places that a value may come from.
type SourceKind string

// The sources, the strongest first.
const (
	FromFlag        SourceKind = "flag"
	FromEnvironment SourceKind = "environment"
	FromFile        SourceKind = "file"
	FromDefault     SourceKind = "default"
)

// Source is where a value came from.
type Source struct {
	Kind SourceKind
	// Place is the flag, the variable, or file:line:column; empty for a default.
	Place string
}

// String is the kind and the place.
func (s Source) String() string {
	if s.Place == "" {
		return string(s.Kind)
	}
	return string(s.Kind) + " " + s.Place
}

// Value is one variable as it holds.
type Value struct {
	Name string
	// Text is the value as shown: secrets masked, "-" when not set.
	Text   string
	Source Source
}

// Error is one wrong value.
type Error struct {
	// Name is the variable (or the flag, or the file's key), Place where it stood.
	Name  string
	Place string
	// Value is what was given; empty for secrets.
	Value string
	// Allowed says what would be right, or what is wrong.
	Allowed string
}

// Error names the variable, the value, what is allowed and where it stood.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Name)
	if e.Value != "" {
		fmt.Fprintf(&b, "=%s", quoteShort(e.Value))
	}
	b.WriteString(": ")
	b.WriteString(e.Allowed)
	if e.Place != "" && e.Place != e.Name {
		fmt.Fprintf(&b, " (%s)", e.Place)
	}
	return b.String()
}

// quoteShort quotes what could hide something and cuts what is long.
func quoteShort(s string) string {
	const most = 80
	r := []rune(s)
	if len(r) > most {
		s = string(r[:most]) + "..."
	}
	q := fmt.Sprintf("%q", s)
	if q[1:len(q)-1] == s && !strings.ContainsRune(s, ' ') {
		return s
	}
	return q
}

// FilePath is where the configuration file lies in the user's configuration folder.
func FilePath(userConfigDir string) string {
	return filepath.Join(userConfigDir, "vitrine", "config.toml")
}

// ReadFile reads the configuration file; one that is not there is empty, also where a file stands in the place of a folder
// above it, as with HOME=/dev/null.
func ReadFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	return data, nil
}

// Load finds and checks every value. The error joins one *Error for each wrong value, and tells of a file that is no TOML.
func Load(in Inputs) (Config, error) {
	var cfg Config
	env := lookup(in.Environ)
	inFile, keys, errs := parseFile(in.File, in.FilePath)
	cfg.Keys = keys
	for _, s := range table() {
		text, src, err := s.find(in.Flags, env, inFile)
		if err == nil && text != "" {
			text, err = s.apply(&cfg, text, src, in.Home)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		cfg.values = append(cfg.values, Value{Name: s.name, Text: s.show(text), Source: src})
		if s.name == "MODEL" {
			cfg.modelFlag = src.Kind == FromFlag
		}
	}
	errs = append(errs, setProfiles(&cfg, in)...)
	errs = append(errs, setPrices(&cfg, in)...)
	errs = append(errs, checkRules(&cfg, in)...)
	if err := setUser(&cfg, in); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 && cfg.DBPath == cfg.TracePath {
		errs = append(errs, &Error{Name: "AGENT_TRACE_PATH", Value: cfg.TracePath,
			Allowed: "must be another file than AGENT_DB_PATH"})
	}
	if len(errs) > 0 {
		return Config{}, errors.Join(errs...)
	}
	return cfg, nil
}

// LangOf finds the language that in asks for, whatever else in it is wrong: errors are told in it too. What is no language
// is auto.
func LangOf(in Inputs) Lang {
	var cfg Config
	inFile, _, _ := parseFile(in.File, in.FilePath)
	s := langSetting()
	text, _, err := s.find(in.Flags, lookup(in.Environ), inFile)
	if err != nil || s.parse(&cfg, text) != nil {
		return LangAuto
	}
	return cfg.Lang
}

// Values tells what holds and where it came from, in the table's order. A profile that nobody named is the one that the
// endpoint chooses.
func (c Config) Values() []Value {
	values := append([]Value(nil), c.values...)
	end := c.Endpoint()
	for i, v := range values {
		if v.Name == "LLM_PROFILE" && c.Profile == "" && end.Kind != Offline {
			chosen := c.profiles().Choose("", end.BaseURL, end.Model)
			values[i].Text, values[i].Source.Place = chosen.Name, chosen.Why
		}
	}
	return values
}

// UserName cleans a login name into a user: the part behind a domain, without characters that a session id may not hold.
func UserName(login string) string {
	if i := strings.LastIndexAny(login, `\/`); i >= 0 {
		login = login[i+1:]
	}
	var b strings.Builder
	for _, r := range login {
		if userRune(r) {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "user"
	}
	return b.String()
}

func setUser(cfg *Config, in Inputs) error {
	src := Source{Kind: FromDefault}
	cfg.User = UserName(in.Login)
	if in.Flags.User != "" {
		src = Source{Kind: FromFlag, Place: "--user"}
		cfg.User = in.Flags.User
		if err := checkName(in.Flags.User); err != nil {
			return &Error{Name: "--user", Value: in.Flags.User, Allowed: err.Error()}
		}
	}
	cfg.values = append(cfg.values, Value{Name: "user", Text: cfg.User, Source: src})
	return nil
}

// lookup gives the last value of each variable.
func lookup(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	return env
}
