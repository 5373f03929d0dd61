package openai

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/profile"
)

func without(field string) lesson { return lesson{habits: habits{}.without(field)} }

// B110: what a server refused is known after a restart, for that endpoint alone, and the file holds no secret.
func TestMemoryOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoints.json")
	srv := llmtest.NewServer()
	defer srv.Close()
	srv.Handle(func(r llmtest.Request) llmtest.Reply {
		if r.Fields["stream_options"] != nil {
			return llmtest.Refuse(400, `{"error":{"message":"Unknown parameter: stream_options `+testKey+`"}}`)
		}
		return llmtest.Answer("ok")
	})
	open := func() *Client {
		return New(Config{BaseURL: strings.Replace(srv.URL(), "http://", "http://user:hunter22@", 1) + "?key=query-secret", Key: testKey, Memory: NewMemory(path)})
	}
	for n, want := range []int{2, 3, 4} {
		c := open()
		reply, err := ask(t, c)
		c.Close()
		if got := len(srv.Requests()); err != nil || got != want {
			t.Fatalf("start %d: %v after %d requests, want %d", n, err, got, want)
		}
		if noted := len(reply.Notes) == 1 && reply.Notes[0].Code == "refused" && strings.Contains(reply.Notes[0].Message, "stream_options is left out"); noted != (n == 0) {
			t.Errorf("start %d: notes %+v", n, reply.Notes)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{testKey, "hunter22", "query-secret", "Unknown"} {
		if strings.Contains(string(b), secret) {
			t.Errorf("%q is in %s", secret, b)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	list := NewMemory(path).List()
	if len(list) != 1 || list[0].Endpoint != srv.URL() || list[0].Model != "" || cmp.Diff([]string{"stream_options is left out"}, list[0].What) != "" {
		t.Errorf("listed %+v", list)
	}
	other := dialect{profile.Profile{StreamUsage: true}, NewMemory(path).of("http://elsewhere/v1", "m")}
	if !other.sends("stream_options") {
		t.Error("another endpoint is spoken to in the same way")
	}
}

// A refusal is told even when the request that met it failed for another reason.
func TestRefusalIsToldLater(t *testing.T) {
	srv, c := serve(t, llmtest.Refuse(400, `{"error":{"message":"Unknown parameter: stream_options"}}`), llmtest.Refuse(429, ""), llmtest.Answer("ok"), llmtest.Answer("ok"))
	failure(t, c)
	for _, want := range []int{1, 0} {
		if reply, err := ask(t, c); err != nil || len(reply.Notes) != want {
			t.Errorf("%+v, %v, want %d notes", reply.Notes, err, want)
		}
	}
	if srv.Left() != 0 {
		t.Errorf("%d left", srv.Left())
	}
}

func TestMemoryKeepsToBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoints.json")
	m := NewMemory(path)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m.now = func() time.Time { at = at.Add(time.Second); return at }
	for i := range maxEndpoints + 3 {
		m.learn(fmt.Sprintf("http://h%02d", i), "m", without("f"))
	}
	for i := range maxModels + 3 {
		m.learn("http://many", fmt.Sprintf("m%02d", i), without("f"))
	}
	for i := range maxDropped + 3 {
		m.learn("http://many", "all", without(fmt.Sprintf("f%02d", i)))
	}
	if len(m.all) != maxEndpoints || m.all["http://h00"] != nil || m.all[fmt.Sprintf("http://h%02d", maxEndpoints+2)] == nil {
		t.Errorf("%d endpoints, the oldest is kept: %v", len(m.all), m.all["http://h00"] != nil)
	}
	if models := m.all["http://many"]; len(models) != maxModels || len(models["all"].Dropped) != maxDropped {
		t.Errorf("%d models, %d fields", len(models), len(models["all"].Dropped))
	}
	again := &Memory{path: path, now: m.now}
	all, _, err := again.read()
	if d := cmp.Diff(m.all, all, cmp.AllowUnexported(learnedEntry{})); err != nil || d != "" {
		t.Errorf("read back: %v\n%s", err, d)
	}
	at = at.Add(keepHabits)
	if all, _, err := again.read(); err != nil || len(all) != 0 {
		t.Errorf("after a month %d endpoints are known, %v", len(all), err)
	}
}

// Two processes share the file: what one learns does not undo what the other did.
func TestMemoryIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoints.json")
	a, b := NewMemory(path), NewMemory(path)
	a.learn("http://a", "m", without("x"))
	b.learn("http://b", "", lesson{habits: habits{Role: profile.RoleSystem, Reasoning: profile.ReasoningFill, Settled: true, Limit: profile.LimitNone}})
	a.learn("http://a", "m", without("w"))
	got := NewMemory(path)
	if d := cmp.Diff(habits{Dropped: []string{"w", "x"}}, got.of("http://a", "m")); d != "" {
		t.Errorf("a:\n%s", d)
	}
	if d := cmp.Diff(habits{Role: "system", Reasoning: "fill", Settled: true, Limit: "none"}, got.of("http://b", "any model")); d != "" {
		t.Errorf("b:\n%s", d)
	}
	want := []string{"instructions have the role system", "limit of a reply: none", "reasoning: fill"}
	if d := cmp.Diff(want, got.List()[1].What); d != "" {
		t.Errorf("listed:\n%s", d)
	}
	left, err := filepath.Glob(path + ".*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file that is none of ours, or cannot be written, costs no more than a refusal that is met again.
func TestMemoryWithoutFile(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"no JSON": "{", "other version": `{"version":2,"endpoints":{"http://a":{"":{"dropped":["x"],"at":"2999-01-01T00:00:00Z"}}}}`, "huge": strings.Repeat(" ", maxMemory+1),
		"odd names": `{"version":1,"endpoints":{"http://a":{"":{"dropped":["a b","\u001b[31m"],"at":"` + time.Now().UTC().Format(time.RFC3339) + `"}}}}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		m := NewMemory(path)
		if len(m.all) != 0 {
			t.Errorf("%s: knows %v", name, m.all)
		}
		m.learn("http://a", "m", without("y"))
		if got := m.of("http://a", "m"); len(got.Dropped) != 1 {
			t.Errorf("%s: after a lesson %+v", name, got)
		}
		now, err := os.ReadFile(path)
		if ours := name == "odd names"; err != nil || ours == (string(now) == content) {
			t.Errorf("%s: the file holds %.80s, %v", name, now, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none", "endpoints.json")} {
		m := NewMemory(path)
		m.learn("http://a", "m", without("y"))
		if got := m.of("http://a", "m"); len(got.Dropped) != 1 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if b, err := json.Marshal(memoryFile{Version: 1}); err != nil || string(b) != `{"version":1,"endpoints":null}` {
		t.Errorf("%s %v", b, err)
	}
}

// A refusal is met once, whatever field a profile adds: B110, and rule 28.
func TestAddedFieldsAreDropped(t *testing.T) {
	set, err := profile.Parse([]byte("[profile.mine]\nbody = { parallel_tool_calls = false, tool_choice = 'required', seed = 7 }\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.NewServer()
	defer srv.Close()
	c := New(Config{BaseURL: srv.URL(), Profiles: set, Profile: "mine"})
	defer c.Close()
	srv.Handle(func(r llmtest.Request) llmtest.Reply {
		for f, said := range map[string]string{"parallel_tool_calls": "Parallel tool calls are not supported", "tool_choice": "tool_choice is not supported"} {
			if r.Fields[f] != nil {
				return llmtest.Refuse(400, `{"error":{"message":"`+said+`"}}`)
			}
		}
		return llmtest.Answer("ok")
	})
	for _, want := range []int{3, 4} {
		reply, err := ask(t, c)
		if n := len(srv.Requests()); err != nil || n != want {
			t.Fatalf("%v after %d requests, want %d", err, n, want)
		}
		if want == 3 && (len(reply.Notes) != 2 || reply.Notes[0].Code != noteRefused) {
			t.Errorf("notes %+v", reply.Notes)
		}
	}
	requests := srv.Requests()
	if string(requests[0].Fields["parallel_tool_calls"]) != "false" || string(requests[3].Fields["seed"]) != "7" || requests[3].Fields["tool_choice"] != nil {
		t.Errorf("sent %s, then %s", requests[0].Body, requests[3].Body)
	}
}

// A message that names a field by chance drops nothing, and a field whose name holds another word is not taken for that.
func TestWhichFieldIsMeant(t *testing.T) {
	set, err := profile.Parse([]byte("[profile.mine]\nbody = { user = 'u', reasoning_effort = 'low' }\n"))
	if err != nil {
		t.Fatal(err)
	}
	for message, want := range map[string]string{
		"the last message must be from the user":     "",
		"user: not supported":                        "user is left out",
		"unknown field 'user'":                       "user is left out",
		"unknown role superuser":                     "",
		"reasoning_effort is not supported here":     "reasoning_effort is left out",
		"Unrecognized request argument: users_query": "",
		"bad value|user":                             "user is left out",
		"bad value|user.name":                        "user is left out",
		"bad value|users":                            "",
	} {
		message, param, _ := strings.Cut(message, "|")
		srv := llmtest.NewServer()
		c := New(Config{BaseURL: srv.URL(), Profiles: set, Profile: "mine"})
		refusal, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "param": param}})
		srv.Push(llmtest.Refuse(400, string(refusal)), llmtest.Answer("ok"))
		_, err := ask(t, c)
		got := ""
		for _, l := range c.memory.List() {
			got += strings.Join(l.What, ", ")
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: learned %q, want %q (%v)", message, got, want, err)
		}
		c.Close()
		srv.Close()
	}
}

// Rule 31: how long a context may be is known from the server's own list too, over restarts, and a prompt beyond it is told.
func TestProvider31FromTheList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoints.json")
	srv := llmtest.NewServer()
	defer srv.Close()
	srv.SetModels(llmtest.Page(200, "application/json", `{"data":[{"id":"m","max_model_len":100},{"id":"`+strings.Repeat("x", 200)+`","max_model_len":5},{"id":"other"}]}`))
	before := NewMemory(path)
	lister := New(Config{BaseURL: srv.URL(), Memory: NewMemory(path)})
	defer lister.Close()
	if _, err := lister.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	before.learn(endpointOf(lister.base), "m", without("f")) // another process does not lose them
	c := New(Config{BaseURL: srv.URL(), Memory: NewMemory(path)})
	defer c.Close()
	for model, want := range map[string]int{"m": 1, "other": 0} {
		srv.Push(llmtest.Stream(llmtest.Text("ok"), llmtest.Finish("stop"), llmtest.Usage(101, 1, -1), llmtest.DoneMark()))
		req := llmtest.SuiteRequest()
		req.Model = model
		reply, err := llmtest.Record(t, c.Stream(t.Context(), req))
		if err != nil || len(reply.Notes) != want || want == 1 && reply.Notes[0].Code != noteOverflow {
			t.Errorf("%s: %+v, %v", model, reply.Notes, err)
		}
	}
	// Servers take any name for the one model that they have, and say which it is.
	srv.Push(llmtest.Stream(llmtest.Raw(`data: {"model":"m","choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":101,"completion_tokens":1}}`+"\n\n"), llmtest.DoneMark()))
	other := New(Config{BaseURL: srv.URL(), Memory: NewMemory(path)})
	defer other.Close()
	req := llmtest.SuiteRequest()
	req.Model = "any"
	if reply, err := llmtest.Record(t, other.Stream(t.Context(), req)); err != nil || len(reply.Notes) != 1 || reply.Notes[0].Code != noteOverflow {
		t.Errorf("by another name: %+v, %v", reply.Notes, err)
	}
	m := NewMemory("")
	var many []llm.ModelInfo
	for i := range maxWindows + 9 {
		many = append(many, llm.ModelInfo{ID: fmt.Sprint(i), Context: 1 + i})
	}
	for i := range maxWindowed + 2 {
		m.Sized(fmt.Sprintf("http://h%d/v1", i), many)
	}
	if len(m.windows) != maxWindowed || len(m.windows["http://h17/v1"].Models) != maxWindows {
		t.Errorf("%d endpoints, %d models", len(m.windows), len(m.windows["http://h17/v1"].Models))
	}
}

// A list is believed for a week, here and in the file; the same list read again makes it young, another one or one without sizes takes
// its place at once. What another process listed later counts.
func TestWindowsAge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoints.json")
	const base = "http://h/v1"
	now := time.Now()
	memory := func() *Memory {
		m := NewMemory("")
		m.now, m.path = func() time.Time { return now }, path
		m.all, m.windows, _ = m.read()
		return m
	}
	size := func(n int) []llm.ModelInfo { return []llm.ModelInfo{{ID: "m", Context: n}, {ID: "n"}} }
	held := memory()
	held.Sized(base, []llm.ModelInfo{{ID: "m"}})
	if _, err := os.Stat(path); err == nil {
		t.Error("a file is made though nothing is known")
	}
	check := func(what string, want int) {
		t.Helper()
		if got := held.window(base, "m"); got != want {
			t.Errorf("%s: %d in the program", what, got)
		}
		if got := memory().window(base, "m"); got != want {
			t.Errorf("%s: %d from the file", what, got)
		}
	}
	held.Sized(base, size(100))
	check("at once", 100)
	now = now.Add(keepWindows - time.Minute)
	check("within a week", 100)
	held.Sized(base, size(100))
	now = now.Add(time.Hour)
	check("the same list again", 100)
	now = now.Add(keepWindows)
	check("after a week", 0)
	held.Sized(base, size(100))
	now = now.Add(-2 * keepWindows)
	check("the clock went back", 0)
	now = now.Add(2 * keepWindows)
	held.Sized(base, size(50))
	check("another list", 50)
	now = now.Add(time.Minute)
	memory().Sized(base, size(70))
	held.learn(base, "m", without("f")) // which reads the file
	check("another process", 70)
	held.Sized(base, nil)
	check("a list without sizes", 0)
	held.learn(base, "m", without("g"))
	check("and it does not come back", 0)
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	held.Sized(base, size(90))
	held.Sized(base, size(90))
	after, _ := os.ReadFile(path)
	now = now.Add(time.Minute)
	held.Sized(base, size(90))
	if again, _ := os.ReadFile(path); string(before) == string(after) || string(again) != string(after) {
		t.Error("the file is written for nothing")
	}
}

// One file has one memory, whatever its name is written like; nil makes one each time.
func TestMemoriesAreShared(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var all Memories
	a := all.At("e.json")
	if b := all.At(filepath.Join(dir, "e.json")); a != b {
		t.Error("two memories of one file")
	}
	if all.At("f.json") == a || (*Memories)(nil).At("e.json") == a {
		t.Error("one memory of two files")
	}
}
