//go:build linux || darwin

package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"vitrine/llm"
	"vitrine/llm/llmtest"
)

// marked are secrets of every place that one comes from; each holds the mark, which no file or output may.
const (
	keyMark    = "Zq7MARKEDx9"
	markedKey  = "sk-" + keyMark + "-0123456789/+abc"
	routerKey  = "sk-or-" + keyMark + "-router"
	queryKey   = "q" + keyMark + "query"
	markedUser = "u" + keyMark + "user"
	markedPass = "p" + keyMark + "pass"
	headerKey  = "h" + keyMark + "header"
	paramKey   = "v" + keyMark + "param"
)

// leak tells where one of the marked secrets stands in a text, in any way to write it; empty when nowhere.
func leak(text string) string {
	for _, secret := range []string{markedKey, routerKey, queryKey, markedUser, markedPass, headerKey, paramKey, keyMark} {
		for _, form := range append(llm.SecretForms(secret), base64.StdEncoding.EncodeToString([]byte("Bearer "+secret)), strings.ToUpper(secret), fmt.Sprintf("%x", secret)) {
			if i := strings.Index(text, form); i >= 0 {
				return fmt.Sprintf("%q in …%.160q", form, text[max(0, i-80):])
			}
		}
	}
	return ""
}

// keyholder is a folder in which the program is run with marked secrets.
type keyholder struct {
	t   *testing.T
	dir string
	srv *llmtest.Server
}

// run runs the program once and looks at all that it wrote.
func (k keyholder) run(code int, env []string, args ...string) result {
	k.t.Helper()
	base := []string{"OPENAI_API_KEY=" + markedKey, "OPENROUTER_API_KEY=" + routerKey, "OPENAI_BASE_URL=" + k.srv.URL() + "?code=" + queryKey,
		"LLM_RETRY_BASE_DELAY=0.001", "LLM_RETRIES=1"}
	r := vitrine(k.dir, args...).with(append(base, env...)...).run(k.t)
	if r.code != code {
		k.t.Errorf("vitrine %v: exit code %d, want %d\n%s%s", args, r.code, code, r.stdout, r.stderr)
	}
	k.look(fmt.Sprintf("vitrine %v", args), r.stdout, r.stderr)
	return r
}

// look searches texts and every file under the folder.
func (k keyholder) look(what string, texts ...string) {
	k.t.Helper()
	for _, text := range texts {
		if l := leak(text); l != "" {
			k.t.Fatalf("%s: %s", what, l)
		}
	}
	files, err := filesIn(k.dir)
	if err != nil {
		k.t.Fatal(err)
	}
	for path, data := range files {
		if l := leak(data); l != "" && !strings.HasSuffix(path, "config.toml") {
			k.t.Fatalf("%s: %s: %s", what, strings.TrimPrefix(path, k.dir), l)
		}
	}
}

func newKeyholder(t *testing.T) keyholder {
	k := keyholder{t: t, dir: t.TempDir(), srv: llmtest.NewServer()}
	t.Cleanup(k.srv.Close)
	return k
}

// gateway writes a configuration whose profile has secrets in a header and in the query.
func (k keyholder) gateway() {
	k.t.Helper()
	conf := filepath.Join(k.dir, ".config", "vitrine")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		k.t.Fatal(err)
	}
	text := "[profile.gw]\nendpoints = ['127.0.0.1']\nheaders = { X-Team = '" + headerKey + "', X-Flag = 'true' }\nquery = { sig = '" + paramKey + "' }\n"
	if err := os.WriteFile(filepath.Join(conf, "config.toml"), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// repeats are answers that tell the secrets back in every way that servers fail.
func repeats(r llmtest.Request) map[string]llmtest.Reply {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	words := "bad key " + key + " in Bearer " + key + " at /v1?code=" + queryKey + " = " + base64.StdEncoding.EncodeToString([]byte(key)) +
		" = " + strings.NewReplacer("/", "%2F", "+", "%2B").Replace(key) + " for " + r.Header.Get("X-Team") + " sig=" + r.Query.Get("sig")
	object := fmt.Sprintf(`{"error":{"message":%q,"code":%q}}`, words, key)
	return map[string]llmtest.Reply{
		"401":      llmtest.Refuse(401, object),
		"404":      llmtest.Refuse(404, object),
		"500":      llmtest.Refuse(500, object),
		"429":      llmtest.Refuse(429, object).RetryAfter("0"),
		"page":     llmtest.Page(502, "text/html", "<html><h1>"+words+"</h1></html>"),
		"redirect": llmtest.Page(302, "text/plain", words).Header("Location", "http://127.0.0.1:1/"+key+"?code="+queryKey),
		"stream":   llmtest.Stream(llmtest.Text("It is "), llmtest.Event(object)),
		"headers":  llmtest.Answer("fine").Header("Set-Cookie", "k="+key).Header("X-Echo", key).Header("Server", headerKey),
		"odd":      llmtest.Page(200, "application/json", object),
		"text":     llmtest.Page(200, "text/plain", words),
	}
}

// A key goes to its endpoint and nowhere else: whatever the server does with it, no output, no file of ours, no recording and
// no screen holds it, plain, escaped, in base64 or in hexadecimal (B112).
func TestKeysStayWhereTheyBelong(t *testing.T) {
	k := newKeyholder(t)
	k.gateway()
	var now atomic.Value // the name of what the server does
	var sent atomic.Int64
	k.srv.Handle(func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(r.Header.Get("Authorization"), markedKey) && r.Header.Get("X-Team") == headerKey && r.Query.Get("sig") == paramKey {
			sent.Add(1)
		}
		return repeats(r)[now.Load().(string)]
	})
	names := []string{"401", "redirect", "headers", "404", "500", "429", "page", "stream", "odd", "text"}
	if testing.Short() {
		names = names[:3]
	}
	for _, name := range names {
		now.Store(name)
		code := 1
		if name == "headers" {
			code = 0
		}
		k.run(code, nil, "run", "--session", name, "--record-model", "traffic-"+name+".jsonl", "hello")
		k.run(code, nil, "run", "--session", name, "--json", "hello again")
		k.run(code, []string{"AGENT_DB_PATH=replay/" + name + ".db", "AGENT_TRACE_PATH=replay/" + name + ".jsonl"}, "run", "--replay-model", "traffic-"+name+".jsonl", "hello")
		k.run(0, nil, "trace", name)
		k.run(0, nil, "trace", "--json", name)
		k.run(0, nil, "sessions", "show", name)
		k.srv.SetModels(repeats(llmtest.Request{Header: map[string][]string{"Authorization": {"Bearer " + markedKey}, "X-Team": {headerKey}},
			Query: map[string][]string{"sig": {paramKey}}})[name])
		for _, args := range [][]string{{"doctor", "--check"}, {"models"}, {"models", "--json"}} {
			r := vitrine(k.dir, args...).with("OPENAI_API_KEY="+markedKey, "OPENAI_BASE_URL="+k.srv.URL()+"?code="+queryKey).run(t)
			k.look(strings.Join(args, " "), r.stdout, r.stderr)
		}
	}
	if sent.Load() == 0 {
		t.Error("the key never reached the server, so the test shows nothing")
	}
}

// What is wrong with a setting is told without its secret, wherever it stands; so is a server that is not there.
func TestKeysInWrongSettings(t *testing.T) {
	k := newKeyholder(t)
	k.run(2, []string{"OPENAI_API_KEY=" + markedKey + " behind a space"}, "run", "hello")
	k.run(2, []string{"OPENAI_API_KEY=" + markedKey + "\x01"}, "doctor")
	k.run(2, []string{"OPENAI_BASE_URL=http://" + markedUser + ":" + markedPass + "@127.0.0.1:1/v1"}, "run", "hello")
	k.run(2, []string{"OPENAI_BASE_URL=http://" + markedUser + "@127.0.0.1:1/v1"}, "doctor")
	k.run(2, []string{"OPENAI_BASE_URL=ftp://h/v1?code=" + queryKey}, "doctor")
	k.run(2, []string{"OPENAI_BASE_URL=http://127.0.0.1:99999/v1?code=" + queryKey}, "run", "x")
	k.run(1, []string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1?code=" + queryKey}, "run", "hello")
	k.run(1, []string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1?code=" + queryKey}, "run", "--record-model", "down.jsonl", "hello")
	k.run(1, []string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1?code=" + queryKey}, "doctor", "--check")
	k.run(1, []string{"OPENAI_BASE_URL=http://no-such-host.invalid/v1?code=" + queryKey}, "run", "hello")
	k.run(0, nil, "doctor", "--sample-config")
	k.run(0, nil, "doctor")
	conf := filepath.Join(k.dir, ".config", "vitrine")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{
		"[openai]\napi_key = [\"" + markedKey + "\"]\n",
		"[openai]\napi_key = \"" + markedKey + " x\"\n",
		"[openai]\napi_key = \"" + markedKey + "\nbase_url = 1\n",
		"[openai]\napi_kei = \"" + markedKey + "\"\n",
		"openai = \"" + markedKey + "\"\n",
	} {
		if err := os.WriteFile(filepath.Join(conf, "config.toml"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r := vitrine(k.dir, "doctor").with("XDG_CONFIG_HOME=" + filepath.Join(k.dir, ".config")).run(t)
		k.look(content, r.stdout, r.stderr)
		if r.code != 2 {
			t.Errorf("%q is taken: %s", content, r.stdout)
		}
	}
}

// A key is in no log of a panic and in nothing that a killed program leaves.
func TestKeysAfterCrashes(t *testing.T) {
	k := newKeyholder(t)
	k.srv.Handle(calculates)
	k.run(0, nil, "run", "--session", "s", "what is (17+5)*3?")
	k.run(-1, []string{"VITRINE_FAULT=commit.after:3:kill"}, "run", "--session", "s", "--record-model", "killed.jsonl", "what is 6*7?")
	k.run(0, nil, "run", "--session", "s", "what is 6*7?")
	k.run(1, []string{brokenEnv + "=1"}, "run", "hello")
	log, err := os.ReadFile(filepath.Join(k.dir, "data", "vitrine.log"))
	if err != nil || !strings.Contains(string(log), "the list is broken") {
		t.Errorf("no panic in the log: %v", err)
	}
}

// A key is never on the screen: in no frame of it, also when the server refuses it aloud.
func TestKeysOnTheScreen(t *testing.T) {
	k := newKeyholder(t)
	k.srv.Handle(func(r llmtest.Request) llmtest.Reply { return repeats(r)["401"] })
	y := startTTY(t, vitrine(k.dir, "--record-model", "screen.jsonl").with("OPENAI_API_KEY="+markedKey, "OPENAI_BASE_URL="+k.srv.URL()+"?code="+queryKey), 160, 40)
	y.wait("gpt-4o-mini", "TRY")
	y.send("hello")
	y.wait("hello")
	y.send("\r")
	y.wait("refused the key")
	y.send("\x03")
	y.send("\x03")
	y.exit()
	k.look("screen", y.output(0))
}
