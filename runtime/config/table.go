package config

import (
	"fmt"
	"strings"
	"time"

	"vitrine/llm/profile"
)

// kind is how a value is written.
type kind int

const (
	text kind = iota
	integer
	number
	boolean
)

// setting is one variable.
type setting struct {
	// name is the environment variable. In the file its first word is the table and the rest the key, in lower case.
	name string
	kind kind
	// def is the default as one would write it; empty means not set.
	def string
	// doc says what it is for, in one line; note is one more line for the samples.
	doc, note string
	// example is what the samples show in place of an empty default.
	example string
	secret  bool
	// envOnly keeps it out of the file.
	envOnly bool
	flag    string
	// parse checks the text and stores the value; its error says what is allowed.
	parse func(c *Config, s string) error
	path  bool
}

// DefaultBaseURL and the default models hold where an endpoint was selected without naming them.
const (
	DefaultBaseURL         = "https://api.openai.com/v1"
	DefaultModel           = "gpt-4o-mini"
	OpenRouterBaseURL      = "https://openrouter.ai/api/v1"
	DefaultOpenRouterModel = "openai/gpt-4o-mini"
)

// table is every variable, in the order in which they are shown.
func table() []setting {
	return append(append(endpointTable(), modelTable()...), agentTable()...)
}

func endpointTable() []setting {
	return []setting{
		{name: "OPENAI_API_KEY", secret: true, example: "sk-...",
			doc:   "Key of the OpenAI-compatible endpoint; a local server needs none.",
			parse: func(c *Config, s string) error { c.OpenAIKey = Secret(s); return checkKey(s) }},
		{name: "OPENAI_BASE_URL", example: DefaultBaseURL,
			doc:  "Where the endpoint is: all that comes before /chat/completions.",
			note: "With a key alone it is " + DefaultBaseURL + ".",
			parse: func(c *Config, s string) (err error) {
				c.OpenAIBaseURL, err = parseBaseURL(s)
				return err
			}},
		{name: "MODEL", flag: "--model", example: DefaultModel,
			doc:   "Name of the model; offline is the built-in one.",
			note:  "Without one it is " + DefaultModel + ", with OpenRouter " + DefaultOpenRouterModel + ".",
			parse: func(c *Config, s string) error { c.Model = s; return checkModel(s) }},
		{name: "OPENROUTER_API_KEY", secret: true, example: "sk-or-...",
			doc:   "Key of OpenRouter, used when neither OPENAI_API_KEY nor OPENAI_BASE_URL is set.",
			parse: func(c *Config, s string) error { c.OpenRouterKey = Secret(s); return checkKey(s) }},
		{name: "OPENROUTER_MODEL", example: DefaultOpenRouterModel,
			doc:   "Name of the model at OpenRouter; it wins over MODEL there, --model wins over both.",
			parse: func(c *Config, s string) error { c.OpenRouterModel = s; return checkModel(s) }},
	}
}

func modelTable() []setting {
	return []setting{
		{name: "LLM_PROFILE", example: profile.Generic,
			doc:  "How the endpoint is spoken to, by the name of a profile.",
			note: "Without one the endpoint's address and the model choose it; [profile.NAME] in the file changes one or adds another.",
			parse: func(c *Config, s string) error {
				c.Profile = s
				return nil // which names there are is known when the file was read
			}},
		{name: "LLM_TIMEOUT_SECONDS", kind: number, def: "60",
			doc:  "Seconds of silence within a stream after which it is given up; a stream that goes on may take any time.",
			note: "Connecting has 10 seconds, the first byte 300.",
			parse: func(c *Config, s string) (err error) {
				c.LLMTimeout, err = parseSeconds(s, 0.001, 86400)
				return err
			}},
		{name: "LLM_RETRIES", kind: integer, def: "2",
			doc: "How often a failed request is tried again.",
			parse: func(c *Config, s string) (err error) {
				c.LLMRetries, err = parseInt(s, 0, 20)
				return err
			}},
		{name: "LLM_RETRY_BASE_DELAY", kind: number, def: "0.5",
			doc: "Seconds before the first retry; each further wait is twice as long.",
			parse: func(c *Config, s string) (err error) {
				c.LLMRetryBaseDelay, err = parseSeconds(s, 0, 300)
				return err
			}},
		{name: "LLM_TEMPERATURE", kind: number, def: "0",
			doc: "Sampling temperature; left out where a server refuses it.",
			parse: func(c *Config, s string) (err error) {
				c.LLMTemperature, err = parseNumber(s, 0, 2)
				return err
			}},
		{name: "LLM_MAX_TOKENS", kind: integer, example: "4096",
			doc: "Most tokens of a reply, its reasoning included, at most half of AGENT_MAX_CTX_TOKENS; not set: the server's own limit.",
			parse: func(c *Config, s string) (err error) {
				c.LLMMaxTokens, err = parseInt(s, 1, 1_000_000)
				return err
			}},
	}
}

func agentTable() []setting {
	return append([]setting{
		{name: "AGENT_PROTOCOL", flag: "--protocol", example: ProtocolNative,
			doc:   "How the model calls tools: native, or as text for models without tool calls: json or react.",
			note:  "Without it the profile says it; native is usual.",
			parse: func(c *Config, s string) error { c.Protocol = s; return checkProtocol(s) }},
		intSetting("AGENT_MAX_TOOL_ITERS", "8", 1, 1000, "Most steps (model calls that may ask for tools) of one run.",
			func(c *Config) *int { return &c.MaxToolIters }),
		intSetting("AGENT_MAX_TOOL_CALLS", "20", 1, 10_000, "Most tool calls of one run.",
			func(c *Config) *int { return &c.MaxToolCalls }),
		intSetting("AGENT_MAX_RUN_TOKENS", "100000", 1, 1_000_000_000, "Most tokens of one run, prompts and replies together.",
			func(c *Config) *int { return &c.MaxRunTokens }),
		{name: "AGENT_MAX_RUN_COST", kind: number, example: "0.50",
			doc: "Most US dollars of one run; not set: no limit.",
			parse: func(c *Config, s string) error {
				v, err := parseNumber(s, 0.000001, 1_000_000)
				c.MaxRunCost = &v
				return err
			}},
		{name: "AGENT_RUN_DEADLINE_SECONDS", kind: number, example: "600",
			doc: "Most seconds of one run; not set: no limit.",
			parse: func(c *Config, s string) (err error) {
				c.RunDeadline, err = parseSeconds(s, 0.001, 604_800)
				return err
			}},
		intSetting("AGENT_MAX_RAW_TURNS", "20", 1, 10_000, "How many turns stay in the window word for word.",
			func(c *Config) *int { return &c.MaxRawTurns }),
		intSetting("AGENT_MAX_CTX_TOKENS", "6000", 100, 10_000_000,
			"Tokens that the context may hold, schemas and the reply's reserve counted in.",
			func(c *Config) *int { return &c.MaxCtxTokens }),
		{name: "AGENT_COMPACT", def: string(CompactAuto),
			doc:   "When the context is folded: auto, ask, or off.",
			parse: func(c *Config, s string) error { c.Compact = CompactMode(s); return checkCompact(s) }},
		{name: "AGENT_TOOL_POLICY", example: "write_file=auto,side_effect=deny",
			doc:  "What may run unasked: a tool or an effect with auto, ask or deny, separated by commas.",
			note: "Not set: what changes nothing outside runs, everything else asks. Effects: read_only, own_data, idempotent, probeable, side_effect.",
			parse: func(c *Config, s string) (err error) {
				c.ToolPolicy, err = parsePolicy(s)
				return err
			}},
	}, fileTable()...)
}

func fileTable() []setting {
	return []setting{
		{name: "AGENT_NOTIFY", def: string(NotifyBell),
			doc:  "How a tab that is not seen tells that it has ended or asks: bell, osc9, osc777, several of them with commas, or off.",
			note: "osc9 and osc777 are notifications of the desktop, in terminals that know them.",
			parse: func(c *Config, s string) (err error) {
				c.Notify, err = parseNotify(s)
				return err
			}},
		langSetting(),
		{name: "AGENT_LOOK", def: string(LookAuto),
			doc: "The screen's colours: auto (by the terminal's background), dark, light, contrast, or 16 (the terminal's own sixteen).",
			parse: func(c *Config, s string) (err error) {
				c.Look, err = parseLook(s)
				return err
			}},
		{name: "AGENT_MOTION", def: motionFull,
			doc: "How much moves on the screen: full, or reduced: no spinners that turn, nothing that slides.",
			parse: func(c *Config, s string) (err error) {
				c.Still, err = parseMotion(s)
				return err
			}},
		{name: "AGENT_DB_PATH", def: "data/sessions.db", path: true,
			doc:   "The database; a relative path starts at the folder where one works, so sessions belong to it.",
			parse: func(c *Config, s string) error { c.DBPath = s; return checkPath(s) }},
		{name: "AGENT_TRACE_PATH", def: "data/traces.jsonl", path: true,
			doc:   "The trace as JSON lines, for readers outside.",
			parse: func(c *Config, s string) error { c.TracePath = s; return checkPath(s) }},
		intSetting("AGENT_TRACE_MAX_PAYLOAD_CHARS", "2000", 1, 100_000_000, "Longest string in the trace file; longer ones are cut and say so.",
			func(c *Config) *int { return &c.TraceMaxPayload }),
		{name: "RUN_LIVE_TESTS", kind: boolean, envOnly: true, example: "1",
			doc: "1 with an endpoint runs the tests that reach it.",
			parse: func(c *Config, s string) (err error) {
				c.LiveTests, err = parseBool(s)
				return err
			}},
	}
}

func langSetting() setting {
	return setting{name: "AGENT_LANG", def: string(LangAuto),
		doc:  "The language of screen and commands: auto (by LC_ALL, LC_MESSAGES, LANG), en, or zh (Simplified Chinese).",
		note: "What the model reads, traces and JSON stay as they are.",
		parse: func(c *Config, s string) (err error) {
			c.Lang, err = parseLang(s)
			return err
		}}
}

func intSetting(name, def string, lo, hi int, doc string, field func(*Config) *int) setting {
	return setting{name: name, kind: integer, def: def, doc: doc, parse: func(c *Config, s string) (err error) {
		*field(c), err = parseInt(s, lo, hi)
		return err
	}}
}

// key is the setting's key in the file.
func (s setting) key() string {
	group, rest, ok := strings.Cut(strings.ToLower(s.name), "_")
	if !ok {
		return group
	}
	return group + "." + rest
}

// find gives the text of the strongest source. An empty variable counts as not set.
func (s setting) find(flags Flags, env map[string]string, file map[string]fileValue) (string, Source, error) {
	if s.flag == "--model" && flags.Model != "" {
		return flags.Model, Source{FromFlag, s.flag}, nil
	}
	if s.flag == "--protocol" && flags.Protocol != "" {
		return flags.Protocol, Source{FromFlag, s.flag}, nil
	}
	if v := strings.TrimSpace(env[s.name]); v != "" {
		return v, Source{FromEnvironment, s.name}, nil
	}
	if v, ok := file[s.key()]; ok && !s.envOnly {
		src := Source{FromFile, v.place}
		if err := v.fits(s); err != nil {
			return "", src, err
		}
		if t := strings.TrimSpace(v.text); t != "" {
			return t, src, nil
		}
	}
	return s.def, Source{Kind: FromDefault}, nil
}

// apply checks and stores the text and gives it as it holds.
func (s setting) apply(c *Config, given string, src Source, home string) (string, error) {
	name := s.name
	switch src.Kind {
	case FromFlag:
		name = s.flag
	case FromFile:
		name = s.key()
	}
	bad := func(err error) error {
		e := &Error{Name: name, Place: src.Place, Value: given, Allowed: err.Error()}
		switch {
		case s.secret:
			e.Value = ""
		case s.name == "OPENAI_BASE_URL":
			e.Value = ShownURL(given)
		}
		return e
	}
	value := given
	if s.path && strings.HasPrefix(value, "~/") {
		if home == "" {
			return "", bad(fmt.Errorf("must not start with ~/ when there is no home folder (HOME is not set)"))
		}
		value = strings.TrimSuffix(home, "/") + value[1:]
	}
	if err := s.parse(c, value); err != nil {
		return "", bad(err)
	}
	return value, nil
}

// show is the value for people.
func (s setting) show(t string) string {
	switch {
	case s.secret:
		return Secret(t).String()
	case t == "":
		return "-"
	case s.name == "OPENAI_BASE_URL":
		return ShownURL(t)
	}
	return t
}

// seconds makes a duration of a number of seconds.
func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
