package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"vitrine/llm/profile"
)

func load(t *testing.T, in Inputs) Config {
	t.Helper()
	cfg, err := Load(in)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return cfg
}

func TestDefaults(t *testing.T) {
	cfg := load(t, Inputs{Login: "ada"})
	cfg.values = nil
	want := Config{
		User:              "ada",
		LLMTimeout:        time.Minute,
		LLMRetries:        2,
		LLMRetryBaseDelay: 500 * time.Millisecond,
		MaxToolIters:      8,
		MaxToolCalls:      20,
		MaxRunTokens:      100000,
		MaxRawTurns:       20,
		MaxCtxTokens:      6000,
		Compact:           CompactAuto,
		Lang:              LangAuto, Look: LookAuto, Notify: []Notify{NotifyBell},
		DBPath:          "data/sessions.db",
		TracePath:       "data/traces.jsonl",
		TraceMaxPayload: 2000,
	}
	if d := cmp.Diff(want, cfg, cmp.AllowUnexported(Config{})); d != "" {
		t.Error(d)
	}
}

// Flag over environment over file over default, and each value knows its source.
func TestPrecedence(t *testing.T) {
	file := "model = \"from-file\"\n[agent]\nmax_tool_iters = 3\nmax_raw_turns = 4\n[llm]\nretries = 1\n"
	cfg := load(t, Inputs{
		Flags:    Flags{Model: "from-flag", User: "bob"},
		Environ:  []string{"MODEL=from-env", "AGENT_MAX_TOOL_ITERS=2", "AGENT_MAX_TOOL_ITERS=5", "LLM_RETRIES=", "AGENT_MAX_RUN_COST= 0.5 ", "NOISE"},
		File:     []byte(file),
		FilePath: "/c/config.toml",
	})
	if cfg.Model != "from-flag" || cfg.MaxToolIters != 5 || cfg.MaxRawTurns != 4 || cfg.LLMRetries != 1 || cfg.User != "bob" {
		t.Errorf("got %+v", cfg)
	}
	if cfg.MaxRunCost == nil || *cfg.MaxRunCost != 0.5 {
		t.Errorf("cost %v", cfg.MaxRunCost)
	}
	got := map[string]string{}
	for _, v := range cfg.Values() {
		got[v.Name] = v.Text + " | " + v.Source.String()
	}
	for name, want := range map[string]string{
		"MODEL":                      "from-flag | flag --model",
		"AGENT_MAX_TOOL_ITERS":       "5 | environment AGENT_MAX_TOOL_ITERS",
		"AGENT_MAX_RAW_TURNS":        "4 | file /c/config.toml:4:17",
		"LLM_RETRIES":                "1 | file /c/config.toml:6:11",
		"AGENT_MAX_RUN_COST":         "0.5 | environment AGENT_MAX_RUN_COST",
		"AGENT_DB_PATH":              "data/sessions.db | default",
		"AGENT_RUN_DEADLINE_SECONDS": "- | default",
		"OPENAI_API_KEY":             "not set | default",
		"user":                       "bob | flag --user",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// Every variable can come from the environment and, but for RUN_LIVE_TESTS, from the file.
func TestEveryVariable(t *testing.T) {
	sample := map[string]string{
		"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://localhost:1/v1/", "MODEL": "m", "OPENROUTER_API_KEY": "or-1",
		"OPENROUTER_MODEL": "a/b", "LLM_PROFILE": "vllm", "LLM_TIMEOUT_SECONDS": "1.5", "LLM_RETRIES": "0", "LLM_RETRY_BASE_DELAY": "0",
		"LLM_TEMPERATURE": "0.7", "LLM_MAX_TOKENS": "900", "AGENT_PROTOCOL": "react", "AGENT_MAX_TOOL_ITERS": "1", "AGENT_MAX_TOOL_CALLS": "2", "AGENT_MAX_RUN_TOKENS": "3",
		"AGENT_MAX_RUN_COST": "0.25", "AGENT_RUN_DEADLINE_SECONDS": "4", "AGENT_MAX_RAW_TURNS": "5", "AGENT_MAX_CTX_TOKENS": "600",
		"AGENT_COMPACT": "ask", "AGENT_TOOL_POLICY": "write_file=auto, side_effect=deny", "AGENT_NOTIFY": "osc9, bell,osc9", "AGENT_LANG": "zh_CN.UTF-8", "AGENT_LOOK": "contrast", "AGENT_MOTION": "reduced", "AGENT_DB_PATH": "a.db", "AGENT_TRACE_PATH": "~/t.jsonl", "AGENT_TRACE_MAX_PAYLOAD_CHARS": "7",
		"RUN_LIVE_TESTS": "true",
	}
	cost := 0.25
	want := Config{
		User: "user", OpenAIKey: "sk-1", OpenAIBaseURL: "http://localhost:1/v1", Model: "m", OpenRouterKey: "or-1", OpenRouterModel: "a/b",
		Profile: "vllm", LLMTimeout: 1500 * time.Millisecond, LLMTemperature: 0.7, LLMMaxTokens: 900, Protocol: "react", MaxToolIters: 1, MaxToolCalls: 2, MaxRunTokens: 3,
		MaxRunCost: &cost, RunDeadline: 4 * time.Second, MaxRawTurns: 5, MaxCtxTokens: 600, Compact: CompactAsk, Notify: []Notify{NotifyOSC9, NotifyBell}, Lang: LangChinese, Look: LookContrast, Still: true,
		ToolPolicy: map[string]string{"write_file": "auto", "side_effect": "deny"}, DBPath: "a.db", TracePath: "/home/x/t.jsonl", TraceMaxPayload: 7,
	}
	var env []string
	tree := map[string]any{}
	for _, s := range table() {
		v, ok := sample[s.name]
		if !ok {
			t.Fatalf("no sample for %s", s.name)
		}
		env = append(env, s.name+"="+v)
		if s.envOnly {
			continue
		}
		group, key, ok := strings.Cut(s.key(), ".")
		node := tree
		if !ok {
			key = group
		} else {
			if tree[group] == nil {
				tree[group] = map[string]any{}
			}
			node = tree[group].(map[string]any)
		}
		var val any = v
		switch s.kind {
		case integer:
			var n int64
			_, _ = fmt.Sscan(v, &n)
			val = n
		case number:
			var n float64
			_, _ = fmt.Sscan(v, &n)
			val = n
		}
		node[key] = val
	}
	data, err := toml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]Inputs{
		"environment": {Environ: env, Home: "/home/x/"},
		"file":        {File: data, FilePath: "f", Home: "/home/x"},
	} {
		cfg := load(t, in)
		w := want
		w.LiveTests = name == "environment"
		cfg.values = nil
		if d := cmp.Diff(w, cfg, cmp.AllowUnexported(Config{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestWrongValues(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"AGENT_MAX_TOOL_ITERS=abc", "AGENT_MAX_TOOL_ITERS=abc: must be a whole number from 1 to 1000"},
		{"AGENT_MAX_TOOL_ITERS=0", "AGENT_MAX_TOOL_ITERS=0: must be a whole number from 1 to 1000"},
		{"AGENT_MAX_TOOL_ITERS=8.5", "whole number"},
		{"AGENT_MAX_TOOL_ITERS=99999999999999999999", "whole number"},
		{"AGENT_MAX_CTX_TOKENS=-1", "AGENT_MAX_CTX_TOKENS=-1: must be a whole number from 100"},
		{"LLM_TIMEOUT_SECONDS=0", "LLM_TIMEOUT_SECONDS=0: must be a number of seconds from 0.001 to 86400"},
		{"LLM_TIMEOUT_SECONDS=NaN", "LLM_TIMEOUT_SECONDS=NaN"},
		{"LLM_TIMEOUT_SECONDS=Inf", "LLM_TIMEOUT_SECONDS=Inf"},
		{"LLM_TIMEOUT_SECONDS=60s", "LLM_TIMEOUT_SECONDS=60s"},
		{"LLM_RETRIES=-1", "LLM_RETRIES=-1: must be a whole number from 0 to 20"},
		{"AGENT_PROTOCOL=xml", "AGENT_PROTOCOL=xml: must be native, json or react"},
		{"LLM_TEMPERATURE=3", "LLM_TEMPERATURE=3: must be a number from 0 to 2"},
		{"AGENT_MAX_RUN_COST=free", "AGENT_MAX_RUN_COST=free: must be a number from 0.000001 to 1000000"},
		{"AGENT_COMPACT=Auto", "AGENT_COMPACT=Auto: must be auto, ask or off"},
		{"AGENT_LANG=fr", "AGENT_LANG=fr: must be auto, en or zh"},
		{"AGENT_LOOK=blue", "AGENT_LOOK=blue: must be auto, dark, light, contrast or 16"},
		{"AGENT_MOTION=none", "AGENT_MOTION=none: must be full or reduced"},
		{"AGENT_NOTIFY=bell,loud", "AGENT_NOTIFY=bell,loud: must be bell, osc9, osc777"},
		{"AGENT_TOOL_POLICY=write_file", "AGENT_TOOL_POLICY=write_file: must be tool or effect = auto, ask or deny"},
		{"AGENT_TOOL_POLICY=a=auto,b=maybe", "AGENT_TOOL_POLICY=a=auto,b=maybe: must be tool or effect"},
		{"OPENAI_BASE_URL=localhost:11434", "OPENAI_BASE_URL=localhost:11434: must be a URL such as"},
		{"OPENAI_BASE_URL=ftp://x/v1", "must be a URL such as"},
		{"OPENAI_BASE_URL=http://", "must be a URL such as"},
		{"OPENAI_BASE_URL=http://h:99999/v1", "port from 1 to 65535"},
		{"OPENAI_BASE_URL=http://h/v1#x", "without #"},
		{"OPENAI_BASE_URL=http://h/v1/chat/completions", "without /chat/completions"},
		{"OPENAI_BASE_URL=http://h/%zz", "must be a URL such as"},
		{"MODEL=a b", `MODEL="a b": must be a model's name`},
		{"AGENT_DB_PATH=a\x01b", `AGENT_DB_PATH="a\x01b": must be a path`},
		{"AGENT_DB_PATH=~/x.db", "HOME is not set"},
		{"RUN_LIVE_TESTS=yes", "RUN_LIVE_TESTS=yes: must be 1 or 0"},
		{"AGENT_TRACE_PATH=data/sessions.db", "must be another file than AGENT_DB_PATH"},
		{"MODEL=" + strings.Repeat("m", 300), "..."},
	} {
		_, err := Load(Inputs{Environ: []string{c.env}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.env, err, c.want)
		}
		var ce *Error
		if !errors.As(err, &ce) {
			t.Errorf("%q: no *Error", c.env)
		}
	}
}

func TestAllWrongValuesAtOnce(t *testing.T) {
	_, err := Load(Inputs{Environ: []string{"LLM_RETRIES=x", "AGENT_COMPACT=y"}, Flags: Flags{User: "a b", Model: "a b"}})
	for _, want := range []string{"LLM_RETRIES=x", "AGENT_COMPACT=y", `--user="a b"`, `--model="a b"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"[agent]\nmax_tool_iter = 8\n", "agent.max_tool_iter: is not a key of this file; did you mean agent.max_tool_iters? (c.toml:2:1)"},
		{"max_tool_iters = 8\n", "did you mean agent.max_tool_iters? (c.toml:1:1)"},
		{"\n\n[agnt]\nx = 1\n", "[agnt]: is not a key"},
		{"[[agent]]\nmax_tool_iters = 8\n", "[agent]: is not a key"},
		{"xyzzy = 8\n", "xyzzy: is not a key of this file; vitrine doctor --sample-config lists them (c.toml:1:1)"},
		{"run_live_tests = true\n", "is not a key"},
		{"[agent]\n  max_tool_iters = \"8\"\n", "agent.max_tool_iters=8: must be a whole number without quotes (c.toml:2:20)"},
		{"[agent]\nmax_tool_iters = 0\n", "agent.max_tool_iters=0: must be a whole number from 1 to 1000 (c.toml:2:18)"},
		{"[agent]\ncompact = true\n", "agent.compact=true: must be a text in quotes"},
		{"[llm]\ntemperature = \"hot\"\n", "llm.temperature=hot: must be a number without quotes"},
		{"[openai]\napi_key = 12345\n", "openai.api_key: must be a text in quotes"},
		{"[agent]\nmax_tool_iters = \n", "c.toml:2:"},
		{"model = \"a\"\nmodel = \"b\"\n", "c.toml"},
		{"agent = { max_tool_iters = 8, nope = 1 }\n", "agent.nope: is not a key"},
		{"agent = 3\n", "agent: is not a key"},
	} {
		_, err := Load(Inputs{File: []byte(c.file), FilePath: "c.toml"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.file, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "12345") {
			t.Errorf("the key is told: %v", err)
		}
	}
}

func TestInlineAndDottedKeys(t *testing.T) {
	cfg := load(t, Inputs{File: []byte("agent = { max_tool_iters = 3 }\nllm.retries = 1\n'model' = 'm'\n"), FilePath: "f"})
	if cfg.MaxToolIters != 3 || cfg.LLMRetries != 1 || cfg.Model != "m" {
		t.Errorf("%+v", cfg)
	}
}

// The sample is a valid file that changes nothing, and stays valid and complete with its comments taken off.
func TestSample(t *testing.T) {
	sample := SampleTOML()
	a, b := load(t, Inputs{}), load(t, Inputs{File: []byte(sample), FilePath: "f"})
	if d := cmp.Diff(a, b, cmp.AllowUnexported(Config{})); d != "" {
		t.Error(d)
	}
	var live strings.Builder
	for _, line := range strings.Split(sample, "\n") {
		if body := strings.TrimPrefix(line, "# "); strings.Contains(body, " = ") || strings.HasPrefix(body, "[profile.") || strings.HasPrefix(body, "[price.") {
			line = body
		}
		live.WriteString(line + "\n")
	}
	cfg := load(t, Inputs{File: []byte(live.String()), FilePath: "f"})
	for _, v := range cfg.Values() {
		if want := v.Name != "RUN_LIVE_TESTS" && v.Name != "user"; want != (v.Source.Kind == FromFile) {
			t.Errorf("%s comes from %s", v.Name, v.Source)
		}
	}
}

// Profiles of the file change what is known of endpoints; their faults name the place.
func TestProfiles(t *testing.T) {
	file := "model = 'm'\n[profile.mine]\nendpoints = [':9']\ncontext_tokens = 5\n[[profile.mine.model]]\nmatch = ['a*']\ncontext_tokens = 6\n[agent]\nmax_raw_turns = 4\n"
	cfg := load(t, Inputs{File: []byte(file), FilePath: "f", Environ: []string{"LLM_PROFILE=mine"}})
	if p := cfg.Profiles.Choose(cfg.Profile, "http://h/v1", "abc"); p.Name != "mine" || p.ContextTokens != 6 || cfg.MaxRawTurns != 4 || cfg.Model != "m" {
		t.Errorf("got %+v", p)
	}
	if p := cfg.Profiles.Choose("", "http://h:9/v1", "b"); p.Name != "mine" || p.ContextTokens != 5 {
		t.Errorf("got %+v", p)
	}
	if cfg := load(t, Inputs{File: []byte("# profile\n"), FilePath: "f"}); !cfg.Profiles.Equal(profile.Set{}) {
		t.Error("a file without profiles changes them")
	}
	if cfg := load(t, Inputs{File: []byte("profile.x.context_tokens = 7\n"), FilePath: "f"}); cfg.Profiles.Choose("x", "", "").ContextTokens != 7 {
		t.Error("a dotted key was not read")
	}
	for in, want := range map[string]string{
		"[profile.a]\nx = 1\n":                 "profile.a.x: is no key of a profile (f:2:1)",
		"[profile.a]\nauth = 'x'\n":            `profile.a.auth: "x" is not one of bearer, api-key (f)`,
		"[profile.a]\ntemperature = 1\n":       "profile.a.temperature: ",
		"[profiles.a]\nx = 1\n":                "[profiles.a]: is not a key of this file",
		"[agent]\nprofile.a.auth = 'bearer'\n": "agent.profile.a.auth: is not a key of this file",
	} {
		if _, err := Load(Inputs{File: []byte(in), FilePath: "f"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
	_, err := Load(Inputs{File: []byte("[llm]\nprofile = 'nobody'\n"), FilePath: "f"})
	if err == nil || !strings.Contains(err.Error(), "LLM_PROFILE=nobody: must be one of azure, azure-v1, deepseek,") || !strings.Contains(err.Error(), "(f:2:11)") {
		t.Errorf("got %v", err)
	}
}

// What is shown of a profile that nobody named is the one that the endpoint chooses.
func TestProfileShown(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, "- default"},
		{[]string{"OPENAI_BASE_URL=http://localhost:11434/v1"}, "ollama default by the endpoint :11434"},
		{[]string{"OPENAI_BASE_URL=http://localhost:11434/v1", "LLM_PROFILE=vllm"}, "vllm environment LLM_PROFILE"},
		{[]string{"OPENAI_API_KEY=sk-1"}, "openai default by the endpoint api.openai.com"},
		{[]string{"OPENAI_BASE_URL=http://h/v1"}, "generic default no profile knows this endpoint"},
	} {
		for _, v := range load(t, Inputs{Environ: c.env}).Values() {
			if got := v.Text + " " + v.Source.String(); v.Name == "LLM_PROFILE" && got != c.want {
				t.Errorf("%v: %q, want %q", c.env, got, c.want)
			}
		}
	}
}

func TestEnvExampleIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", ".env.example")
	if os.Getenv("VITRINE_UPDATE_SAMPLES") != "" {
		if err := os.WriteFile(path, []byte(EnvExample()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(EnvExample(), string(got)); d != "" {
		t.Errorf("run with VITRINE_UPDATE_SAMPLES=1 to write it anew: %s", d)
	}
}

func TestEndpoint(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     []string
		flag    string
		want    Endpoint
		warning string
	}{
		{name: "nothing", want: Endpoint{Kind: Offline, Model: "offline"}},
		{name: "key", env: []string{"OPENAI_API_KEY=k"}, want: Endpoint{Kind: OpenAI, Key: "k", BaseURL: DefaultBaseURL, Model: "gpt-4o-mini"}},
		{name: "local", env: []string{"OPENAI_BASE_URL=http://localhost:11434/v1/", "MODEL=qwen3"},
			want: Endpoint{Kind: OpenAI, BaseURL: "http://localhost:11434/v1", Model: "qwen3"}},
		{name: "openai first", env: []string{"OPENAI_API_KEY=k", "OPENROUTER_API_KEY=o", "OPENROUTER_MODEL=x/y"},
			want: Endpoint{Kind: OpenAI, Key: "k", BaseURL: DefaultBaseURL, Model: "gpt-4o-mini"}},
		{name: "openrouter", env: []string{"OPENROUTER_API_KEY=o"}, want: Endpoint{Kind: OpenRouter, Key: "o", BaseURL: OpenRouterBaseURL, Model: "openai/gpt-4o-mini"}},
		{name: "openrouter model", env: []string{"OPENROUTER_API_KEY=o", "OPENROUTER_MODEL=x/y", "MODEL=m"},
			want: Endpoint{Kind: OpenRouter, Key: "o", BaseURL: OpenRouterBaseURL, Model: "x/y"}},
		{name: "openrouter, MODEL", env: []string{"OPENROUTER_API_KEY=o", "MODEL=m"},
			want: Endpoint{Kind: OpenRouter, Key: "o", BaseURL: OpenRouterBaseURL, Model: "m"}},
		{name: "openrouter, flag", env: []string{"OPENROUTER_API_KEY=o", "OPENROUTER_MODEL=x/y"}, flag: "f",
			want: Endpoint{Kind: OpenRouter, Key: "o", BaseURL: OpenRouterBaseURL, Model: "f"}},
		{name: "openrouter, offline", env: []string{"OPENROUTER_API_KEY=o", "OPENROUTER_MODEL=offline"},
			want: Endpoint{Kind: Offline, Model: "offline", Chosen: true}},
		{name: "offline by flag", env: []string{"OPENAI_API_KEY=k"}, flag: "offline", want: Endpoint{Kind: Offline, Model: "offline", Chosen: true}},
		{name: "offline by variable", env: []string{"OPENAI_API_KEY=k", "MODEL=offline"}, want: Endpoint{Kind: Offline, Model: "offline", Chosen: true}},
		{name: "MODEL alone", env: []string{"MODEL=gpt-5"}, want: Endpoint{Kind: Offline, Model: "offline"},
			warning: "MODEL names gpt-5, but no endpoint is set, so it is not used; set OPENAI_API_KEY or OPENAI_BASE_URL"},
		{name: "--model alone", flag: "gpt-5", want: Endpoint{Kind: Offline, Model: "offline"},
			warning: "--model names gpt-5, but no endpoint is set, so it is not used; set OPENAI_API_KEY or OPENAI_BASE_URL"},
		{name: "OPENROUTER_MODEL alone", env: []string{"OPENROUTER_MODEL=x/y"}, want: Endpoint{Kind: Offline, Model: "offline"},
			warning: "OPENROUTER_MODEL names x/y, but no endpoint is set, so it is not used; set OPENROUTER_API_KEY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := load(t, Inputs{Environ: c.env, Flags: Flags{Model: c.flag}}).Endpoint()
			banner := got.Banner
			got.Banner = nil
			c.want.Warning = c.warning
			if d := cmp.Diff(c.want, got, cmp.Comparer(func(a, b Secret) bool { return a == b })); d != "" {
				t.Error(d)
			}
			all := strings.Join(banner, "\n")
			if (got.Kind == Offline) != strings.Contains(all, "OFFLINE MODEL") || !strings.Contains(all, c.warning) {
				t.Errorf("banner %q", all)
			}
			if got.Kind == Offline && !strings.Contains(all, "OPENAI_BASE_URL or OPENAI_API_KEY") {
				t.Errorf("banner does not say how to connect a model: %q", all)
			}
		})
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	cfg := load(t, Inputs{Environ: []string{"OPENAI_API_KEY=" + key, "OPENROUTER_API_KEY=" + key}})
	if cfg.OpenAIKey.Reveal() != key {
		t.Fatal("the key is lost")
	}
	j, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", cfg.OpenAIKey, "cfg", cfg)
	texts := []string{string(j), log.String(), fmt.Sprint(cfg.Values()), fmt.Sprint(cfg.Endpoint())}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%U"} {
		texts = append(texts, fmt.Sprintf(verb, cfg), fmt.Sprintf(verb, cfg.OpenAIKey), fmt.Sprintf(verb, &cfg.OpenAIKey))
	}
	for _, s := range texts {
		for _, form := range []string{key, "very-secret", fmt.Sprintf("%x", key), fmt.Sprintf("%X", key)} {
			if strings.Contains(s, form) {
				t.Errorf("the key is in %q", s)
			}
		}
	}
	_, err = Load(Inputs{Environ: []string{"OPENAI_API_KEY=very secret"}})
	if err == nil || strings.Contains(err.Error(), "very") || !strings.Contains(err.Error(), "OPENAI_API_KEY: must be visible ASCII") {
		t.Errorf("%v", err)
	}
	_, err = Load(Inputs{Environ: []string{"OPENAI_BASE_URL=http://me:very-secret@h/v1"}})
	if err == nil || strings.Contains(err.Error(), "very") {
		t.Errorf("the password of a URL is told: %v", err)
	}
	cfg = load(t, Inputs{Environ: []string{"OPENAI_BASE_URL=http://h/v1/?api-version=1&code=very-secret"}})
	if cfg.OpenAIBaseURL != "http://h/v1?api-version=1&code=very-secret" {
		t.Errorf("a query is not kept: %q", cfg.OpenAIBaseURL)
	}
	if got := fmt.Sprint(cfg.Values()); strings.Contains(got, "very") || !strings.Contains(got, "http://h/v1/?api-version=***&code=***") {
		t.Errorf("a query's value is told: %s", got)
	}
	if got := Secret("").String(); got != "not set" {
		t.Error(got)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	if data, err := ReadFile(filepath.Join(dir, "none")); err != nil || data != nil {
		t.Errorf("%q %v", data, err)
	}
	path := filepath.Join(dir, "c")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(filepath.Join(path, "vitrine", "config.toml")); err != nil || data != nil {
		t.Errorf("below a file: %q, %v", data, err)
	}
	if data, err := ReadFile(path); err != nil || string(data) != "x" {
		t.Errorf("%q %v", data, err)
	}
	var pe *fs.PathError
	if _, err := ReadFile(dir); !errors.As(err, &pe) {
		t.Errorf("a folder is read: %v", err)
	}
	if got := FilePath("/c"); got != filepath.Join("/c", "vitrine", "config.toml") {
		t.Error(got)
	}
}

func TestUserName(t *testing.T) {
	for in, want := range map[string]string{
		"ada": "ada", `CORP\ada`: "ada", "a b": "ab", "": "user", "\x1b[31m": "31m", "李雷": "李雷", "///": "user",
	} {
		if got := UserName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"run", "sessions", "trace", "doctor", "agent.max_tool_iters"}
	for in, want := range map[string]string{"rnu": "run", "session": "sessions", "doktor": "doctor", "zzzzzz": "", "MAX_TOOL_ITERS": "",
		"max_tool_iters": "agent.max_tool_iters"} {
		if got := Suggest(in, known); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// The distance of words is a metric but for the triangle (a swap of neighbours counts one).
func TestDistance(t *testing.T) {
	word := rapid.StringMatching(`[a-c]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("%q %q: %d", a, b, d)
		}
	})
	if distance(strings.Repeat("a", 200), "b") != 200 {
		t.Error("long words are compared")
	}
}

// Whatever the file and the environment hold, loading ends without a panic, and a wrong number is never taken.
func FuzzLoad(f *testing.F) {
	f.Add("[agent]\nmax_tool_iters = 8\n", "8")
	f.Add("model = 'x'\n[[a]]\n[b.c]\nd = {e = [1, {f = 2}]}", "abc")
	f.Add("a.b.c = 1979-05-27T07:32:00Z\n\"\" = 1", "-0")
	f.Add(SampleTOML(), "1e3")
	f.Fuzz(func(t *testing.T, file, iters string) {
		cfg, err := Load(Inputs{File: []byte(file), FilePath: "f", Environ: []string{"AGENT_MAX_TOOL_ITERS=" + iters}})
		if err == nil && (cfg.MaxToolIters < 1 || cfg.MaxToolIters > 1000) {
			t.Fatalf("%q gives %d", iters, cfg.MaxToolIters)
		}
	})
}

// A model of this machine goes there, whatever else is set; other models still go to the endpoint, and its key stays there.
func TestLocalModel(t *testing.T) {
	for name, c := range map[string]struct {
		cfg          Config
		kind, remote EndpointKind
	}{
		"alone":            {Config{Model: "local:ollama/llama3.2:1b"}, Local, Offline},
		"beside a key":     {Config{Model: "local:ollama/llama3.2:1b", OpenAIKey: "sk-x"}, Local, OpenAI},
		"beside another":   {Config{Model: "local:lmstudio/x", OpenRouterKey: "sk-x"}, Local, OpenRouter},
		"of a gateway":     {Config{Model: "ollama/llama3", OpenAIBaseURL: "http://h.example/v1"}, OpenAI, OpenAI},
		"of OpenRouter":    {Config{Model: "lmstudio/x", OpenRouterKey: "sk-x"}, OpenRouter, OpenRouter},
		"no such server":   {Config{Model: "local:x/y", OpenAIKey: "sk-x"}, OpenAI, OpenAI},
		"not a local name": {Config{Model: "openai/gpt-4o", OpenAIKey: "sk-x"}, OpenAI, OpenAI},
		"offline":          {Config{Model: "offline", OpenAIKey: "sk-x"}, Offline, Offline},
	} {
		end, remote := c.cfg.Endpoint(), c.cfg.Remote()
		if end.Kind != c.kind || remote.Kind != c.remote || end.Model != c.cfg.Model {
			t.Errorf("%s: %+v, %+v", name, end, remote)
		}
		if end.Kind == Local && (end.Key != "" || end.Warning != "" || !strings.HasPrefix(end.BaseURL, "http://127.0.0.1:")) {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

// Where no endpoint could be meant the short name will do; what is stored is the whole one, so that an endpoint that is set later
// does not get the conversation.
func TestLocalModelInShort(t *testing.T) {
	c := Config{Model: "ollama/llama3.2:1b", Profile: "x"}
	end := c.Endpoint()
	if end.Kind != Local || end.Model != "local:ollama/llama3.2:1b" || end.ModelID() != "llama3.2:1b" || c.Remote().Kind != Offline {
		t.Errorf("%+v, %+v", end, c.Remote())
	}
	if id := (Endpoint{Model: "ollama/x"}).ModelID(); id != "ollama/x" {
		t.Errorf("the endpoint's own name becomes %s", id)
	}
}

// A rule for what is neither a tool nor an effect would do nothing: each such name is an error with its place.
func TestNamesOfRules(t *testing.T) {
	known := func() []string { return []string{"calculator", "read_only", "side_effect", "write_file"} }
	for _, c := range []struct{ env, file, want string }{
		{"write_file=deny, side_effect=auto", "", ""},
		{"", "", ""},
		{"write_fil=deny", "", "AGENT_TOOL_POLICY=write_fil=deny: there is no tool and no effect of that name; did you mean write_file?"},
		{"Write_File=deny", "", "AGENT_TOOL_POLICY=Write_File=deny: there is no tool and no effect of that name; did you mean write_file?"},
		{"side_efect=ask,write_file=ask,zzzzzzzzzz=auto", "", "AGENT_TOOL_POLICY=side_efect=ask: there is no tool and no effect of that name; did you mean side_effect?\nAGENT_TOOL_POLICY=zzzzzzzzzz=auto: there is no tool and no effect of that name"},
		{"", "[agent]\ntool_policy = \"calulator=ask\"\n", "agent.tool_policy=calulator=ask: there is no tool and no effect of that name; did you mean calculator? (c.toml:2:15)"},
	} {
		in := Inputs{File: []byte(c.file), FilePath: "c.toml", Login: "ann", RuleNames: known}
		if c.env != "" {
			in.Environ = []string{"AGENT_TOOL_POLICY=" + c.env}
		}
		got := ""
		if _, err := Load(in); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s%s:\n%s\nwant\n%s", c.env, c.file, got, c.want)
		}
	}
}
