package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The file of known profiles has no key that is none, and passes the checks of a configuration.
func TestBuiltin(t *testing.T) {
	var strict struct {
		Profile map[string]spec `toml:"profile"`
	}
	var lines []string
	for line := range strings.Lines(builtin) {
		for _, open := range []string{"[[", "["} {
			if rest, ok := strings.CutPrefix(line, open); ok {
				line = open + "profile." + rest
				break
			}
		}
		lines = append(lines, line)
	}
	if errs := decode([]byte(strings.Join(lines, "")), &strict); len(errs) > 0 {
		t.Fatal(errors.Join(errs...))
	}
	own := Set{own: strict.Profile}
	if errs := own.check(); len(errs) > 0 {
		t.Error(errors.Join(errs...))
	}
	want := strings.Fields("azure azure-v1 deepseek gemini generic llama.cpp lmstudio mistral moonshot ollama openai openrouter sglang vllm")
	if d := cmp.Diff(want, Builtin().Names()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, name := range want {
		p := Builtin().Choose(name, "http://h/v1", "m").Profile
		if p.SystemRole == "" || p.TokenLimit == "" || p.CallIDs == "" || p.Reasoning == "" || p.EmptyContent == "" || p.Auth == "" ||
			p.Family == "" || len(p.CachedTokens) == 0 || p.TextCalls == "" || p.Hints["tool_text"] == "" {
			t.Errorf("%s leaves something open: %+v", name, p)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ base, model, name, family string }{
		{"https://api.openai.com/v1", "gpt-4o-mini", "openai", "openai"},
		{"https://eu.api.openai.com/v1", "gpt-4o-mini", "openai", "openai"},
		{"https://API.DeepSeek.com", "deepseek-chat", "deepseek", "deepseek"},
		{"https://openrouter.ai/api/v1", "anthropic/claude-x", "openrouter", "openrouter/anthropic"},
		{"https://openrouter.ai/api/v1", "deepseek/deepseek-v4", "openrouter", "deepseek"},
		{"http://localhost:11434/v1", "qwen3:8b", "ollama", "localhost:11434"},
		{"http://10.0.0.7:8080/v1", "m", "llama.cpp", "10.0.0.7:8080"},
		{"http://gpu:8000/v1", "m", "vllm", "gpu:8000"},
		{"http://[::1]:30000/v1", "m", "sglang", "[::1]:30000"},
		{"http://127.0.0.1:1234/v1", "m", "lmstudio", "127.0.0.1:1234"},
		{"https://api.mistral.ai/v1", "mistral-large", "mistral", "mistral"},
		{"https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro", "gemini", "gemini"},
		{"https://x.openai.azure.com/openai/deployments/d", "d", "azure", "openai"},
		{"https://x.openai.azure.com/openai/v1", "d", "azure-v1", "openai"},
		{"https://x.openai.azure.com/openai/v1beta", "d", "azure", "openai"},
		{"https://api.moonshot.cn/v1", "kimi-k2", "moonshot", "moonshot"},
		{"https://openai.com.evil.example/v1", "m", "generic", "openai.com.evil.example"},
		{"https://gateway.example/v1", "m", "generic", "gateway.example"},
		{":", "m", "generic", ""},
	} {
		got := Builtin().Choose("", c.base, c.model)
		if got.Name != c.name || got.Family != c.family || got.Why == "" {
			t.Errorf("%s %s: got %s of family %q (%s), want %s of %q", c.base, c.model, got.Name, got.Family, got.Why, c.name, c.family)
		}
	}
	if got := Builtin().Choose("vllm", "https://api.openai.com/v1", "m"); got.Name != "vllm" || got.Why != "chosen by name" {
		t.Errorf("by name: %+v", got)
	}
	if got := Builtin().Choose("nobody", "https://api.openai.com/v1", "m"); got.Name != Generic {
		t.Errorf("an unknown name: %+v", got)
	}
}

// What the profiles say where it matters.
func TestRules(t *testing.T) {
	get := func(name, model string) Profile { return Builtin().Choose(name, "https://h/v1", model).Profile }
	if p := get("openai", "gpt-5-mini"); p.TokenLimit != LimitMaxCompletionTokens || p.Temperature || p.SystemRole != RoleDeveloper {
		t.Errorf("openai, reasoning: %+v", p)
	}
	if p := get("openai", "gpt-4o"); p.TokenLimit != LimitMaxCompletionTokens || !p.Temperature || p.SystemRole != RoleSystem {
		t.Errorf("openai: %+v", p)
	}
	if p := get("ollama", "x"); p.TokenLimit != LimitMaxTokens || !strings.Contains(p.Hints["overflow"], "OLLAMA_CONTEXT_LENGTH") || p.Hints["buffered"] == "" {
		t.Errorf("ollama: %+v", p)
	}
	if p := get("mistral", "x"); p.CallIDs != IDsAlnum9 || p.UserAfterTool || p.StreamUsage {
		t.Errorf("mistral: %+v", p)
	}
	if p := get("deepseek", "deepseek-chat"); p.Reasoning != ReasoningFill || p.ReasoningField != "reasoning_content" || p.CachedTokens[0] != "prompt_cache_hit_tokens" {
		t.Errorf("deepseek: %+v", p)
	}
	if p := get("moonshot", "kimi-k2-thinking"); p.Reasoning != ReasoningReply || get("moonshot", "kimi-k2").Reasoning != ReasoningDrop {
		t.Errorf("moonshot: %+v", p)
	}
	if p := get("azure", "d"); p.Auth != AuthAPIKey || p.Query["api-version"] == "" || len(get("azure-v1", "d").Query) != 0 {
		t.Errorf("azure: %+v", p)
	}
	if p := get("gemini", "x"); string(p.CallExtra["extra_content"]) != `{"google":{"thought_signature":"skip_thought_signature_validator"}}` {
		t.Errorf("gemini: %s", p.CallExtra)
	}
	if p := get("openrouter", "x"); string(p.Body["usage"]) != `{"include":true}` {
		t.Errorf("openrouter: %s", p.Body)
	}
}

func TestParse(t *testing.T) {
	set, err := Parse([]byte(`
model = "x"
[profile.ollama]
token_limit = "none"
hints = { overflow = "ask Ada" }
[profile.gateway]
base = "mistral"
endpoints = ["gw.example:8443/llm", ":11434"]
body = { parallel_tool_calls = false, seed = 7 }
[[profile.gateway.model]]
match = ["qwen*"]
context_tokens = 32768
text_calls = "parse"
[agent]
unknown_elsewhere = 1
`))
	if err != nil {
		t.Fatal(err)
	}
	p := set.Choose("", "https://gw.example:8443/llm/v1", "Qwen3").Profile
	want := map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage("false"), "seed": json.RawMessage("7")}
	if p.Name != "gateway" || p.CallIDs != IDsAlnum9 || p.ContextTokens != 32768 || p.TextCalls != TextCallsParse || cmp.Diff(want, p.Body) != "" {
		t.Errorf("got %+v", p)
	}
	if p := set.Choose("", "https://gw.example:8443/other", "m").Profile; p.Name != Generic {
		t.Errorf("another path: %+v", p)
	}
	// A configuration wins over what is known, and changes only what it names.
	if p := set.Choose("", "http://localhost:11434/v1", "m").Profile; p.Name != "gateway" || p.ContextTokens != 0 {
		t.Errorf("the same endpoint: %+v", p)
	}
	o := set.Choose("ollama", "", "m").Profile
	if o.TokenLimit != LimitNone || o.Hints["overflow"] != "ask Ada" || !strings.Contains(o.Hints["tool_text"], "ollama show") || o.SystemRole != RoleSystem {
		t.Errorf("ollama: %+v", o)
	}
	if p := Builtin().Choose("ollama", "", "m").Profile; p.TokenLimit != LimitMaxTokens {
		t.Error("the known profile was changed")
	}
	if set, err := Parse([]byte("model = 1\n")); err != nil || len(set.own) != 0 {
		t.Errorf("a file without profiles: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		"[profile.a]\nendpont = []\n":                            `2:1 profile.a.endpont: is no key of a profile`,
		"[profile.a]\n[[profile.a.model]]\nmatch=['x']\nx = 1\n": `4:1 profile.a.model.x: is no key of a profile`,
		"[profile.a]\nauth = 'basic'\n":                          `"basic" is not one of bearer, api-key`,
		"[profile.a]\ncall_ids = 'x'\n":                          `"x" is not one of any, alnum9`,
		"[profile.a]\nsystem_role = 'x'\n":                       `"x" is not one of system, developer`,
		"[profile.a]\ntoken_limit = 'x'\n":                       `"x" is not one of max_tokens, max_completion_tokens, none`,
		"[profile.a]\nreasoning = 'x'\n":                         `"x" is not one of drop, reply, fill`,
		"[profile.a]\nempty_content = 'x'\n":                     `"x" is not one of null, empty, omit`,
		"[profile.a]\ntext_calls = 'x'\n":                        `"x" is not one of tell, parse`,
		"[profile.a]\ntemperature = 'yes'\n":                     `2:15 profile.a.temperature: `,
		"[profile.'A b']\n":                                      `profile.A b: a name is made of`,
		"[profile.a]\nbase = 'nobody'\n":                         `profile.a.base: "nobody" is no profile; known are a, azure`,
		"[profile.a]\nbase = 'b'\n[profile.b]\nbase = 'a'\n":     `profile.a.base: it is its own base`,
		"[profile.a]\nendpoints = ['https://h']\n":               `profile.a.endpoints: "https://h" must be HOST`,
		"[profile.a]\nbody = { messages = [] }\n":                `profile.a.body: "messages" cannot be set here`,
		"[profile.a]\nheaders = { Content-Type = 'x' }\n":        `profile.a.headers: "Content-Type" cannot be set here`,
		"[profile.a]\nheaders = { X = \"a\\nb\" }\n":             `profile.a.headers: "X" must be visible ASCII`,
		"[profile.a]\ncontext_tokens = -1\n":                     `profile.a.context_tokens: must be a whole number from 0 on`,
		"[profile.a]\nreasoning_field = 'a b'\n":                 `profile.a.reasoning_field: must be the name of a field`,
		"[[profile.a.model]]\nauth = 'bearer'\n":                 `profile.a.model: match is missing`,
		strings.Repeat("x", 0) + manyProfiles():                  `profile: at most 64 profiles`,
		"[profile.a]\nreasoning = 'drop'\nreasoning = 'reply'\n": `3:1 reasoning: key reasoning is already defined`,
		"profile = 1\n":                                          `profile`,
		"[profile.a]\nquery = { api-version = 1 }\n":             `2:`,
	} {
		_, err := Parse([]byte(in))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q gives %v", in, err)
			continue
		}
		told := err.Error()
		if e.Line > 0 {
			told = strings.Join([]string{itoa(e.Line), ":", itoa(e.Column), " ", told}, "")
		}
		if !strings.Contains(told, want) {
			t.Errorf("%q gives %q, want %q", in, told, want)
		}
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func manyProfiles() string {
	var b strings.Builder
	for i := range maxProfiles + 1 {
		b.WriteString("[profile.p" + itoa(i) + "]\n")
	}
	return b.String()
}

// Headers and queries may be secret: printing a set shows neither.
func TestSecrets(t *testing.T) {
	set, err := Parse([]byte("[profile.gw]\nheaders = { X-Gateway-Key = 'secret-1' }\nquery = { key = 'secret-2' }\n[[profile.gw.model]]\nmatch = ['*']\nheaders = { Other = 'secret-3', X-Team = 'user' }\nquery = { api-version = '2024-10-21' }\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := set.Secrets()
	slices.Sort(got)
	if d := cmp.Diff([]string{"secret-1", "secret-2", "secret-3"}, got); d != "" {
		t.Error(d)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if s := fmt.Sprintf(verb, set) + fmt.Sprintf(verb, &set) + fmt.Sprintf(verb, struct{ S Set }{set}); strings.Contains(s, "secret") {
			t.Errorf("%s: %s", verb, s)
		}
	}
	if h := set.Choose("gw", "", "m").Headers; len(h) != 3 || h["X-Gateway-Key"] != "secret-1" {
		t.Errorf("headers %v", h)
	}
}

func TestGlob(t *testing.T) {
	for in, want := range map[[2]string]bool{
		{"a", "A"}: true, {"a", "ab"}: false, {"a*", "ab"}: true, {"*b", "ab"}: true, {"a*c*e", "abcde"}: true, {"a*c*e", "abde"}: false,
		{"*", ""}: true, {"ab*b", "ab"}: false, {"*/x*", "v/xy"}: true, {"*/x*", "xy"}: false,
	} {
		if got := glob(in[0], in[1]); got != want {
			t.Errorf("%v: %v", in, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-c/]{0,8}`).Draw(t, "name")
		i := rapid.IntRange(0, len(name)).Draw(t, "i")
		j := rapid.IntRange(i, len(name)).Draw(t, "j")
		if p := name[:i] + "*" + name[j:]; !glob(p, name) {
			t.Fatalf("%s does not match %s", p, name)
		}
	})
}

// Whatever a file says, it is either a set in which every profile can be chosen, or an error.
func FuzzParse(f *testing.F) {
	f.Add("[profile.a]\nbase = 'ollama'\nbody = { x = 1979-05-27 }\n[[profile.a.model]]\nmatch = ['*']\n")
	f.Add("[profile.a]\nbase = 'a'\n")
	f.Add("profile.a.endpoints = ['*.x:1/y']")
	f.Add("[profilela]\nbody = { x = 1979-05 27 }") // no TOML, which is for who reads the whole file to tell
	f.Fuzz(func(t *testing.T, in string) {
		set, err := Parse([]byte(in))
		if err != nil {
			return
		}
		for _, name := range set.Names() {
			p := set.Choose(name, "http://h:1/y", "m")
			if p.SystemRole == "" || p.Auth == "" {
				t.Fatalf("%s leaves something open", name)
			}
			if _, err := json.Marshal(p.Body); err != nil {
				t.Fatal(err)
			}
		}
	})
}
