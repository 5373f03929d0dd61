package endpoint

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/openai"
	"vitrine/llm/profile"
	"vitrine/runtime/clock"
)

// What an endpoint answers to the sign of life is told in a line, and the key in none.
func TestReachTells(t *testing.T) {
	server := llmtest.NewServer()
	defer server.Close()
	wire := openai.Config{BaseURL: server.URL(), Key: "sk-marked"}
	for _, c := range []struct {
		reply llmtest.Reply
		want  string
		fails bool
	}{
		{llmtest.Models("a", "b"), "answers with a list of 2 models; profile ", false},
		{llmtest.Page(200, "application/json", `{"error":"Unexpected endpoint or method. (GET /models)"}`), "Unexpected endpoint or method", true},
		{llmtest.Page(200, "text/html", "<html><h1>Free WiFi</h1><p>Sign in, sk-marked</p></html>"), "the answer is no list of models: Free WiFi Sign in", true},
		{llmtest.Page(302, "text/html", "<a>login</a>").Header("Location", "https://login.example/in?k=sk-marked"), "HTTP 302: the server redirects to https://login.example/in?k=***; set the base URL", true},
		{llmtest.Page(200, "application/json", `{"status":"ok"}`), "the answer is no list of models", true},
		{llmtest.Refuse(401, ""), "refused the key (HTTP 401)", true},
		{llmtest.Page(404, "text/plain", "404 page not found"), "HTTP 404: the answer is no list of models: 404 page not found", true},
		{llmtest.Page(405, "text/html", "<html><h1>405</h1><p>sk-marked</p></html>"), "HTTP 405: the answer is no list of models: 405", true},
		{llmtest.Page(404, "text/plain", ""), "HTTP 404: the answer is no list of models: not found", true},
		{llmtest.Refuse(500, "sk-marked"), "HTTP 500", true},
	} {
		server.SetModels(c.reply)
		got, err := Reach(t.Context(), wire, "m")
		if err != nil {
			got = err.Error()
		}
		if (err != nil) != c.fails || !strings.Contains(got, c.want) || strings.Contains(got, "sk-marked") {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
	// Whether a server has no list or there is nothing at that path, a request without messages tells.
	for _, c := range []struct {
		list, reply llmtest.Reply
		want        string
		fails       bool
	}{
		{llmtest.Refuse(404, ""), llmtest.Refuse(400, `{"error":{"message":"messages is required"}}`), "answers, but lists no models (HTTP 404); profile ", false},
		{llmtest.Refuse(405, `{"detail":"Method Not Allowed"}`), llmtest.Refuse(422, `{"detail":[{"msg":"Field required"}]}`), "answers, but lists no models (HTTP 405); profile ", false},
		{llmtest.Refuse(404, ""), llmtest.Refuse(429, ""), "answers, but lists no models (HTTP 404); profile ", false},
		{llmtest.Refuse(404, ""), llmtest.Page(200, "application/json", `{"error":{"message":"messages is required"}}`), "answers, but lists no models (HTTP 404); profile ", false},
		{llmtest.Refuse(404, `{"detail":"Not Found"}`), llmtest.Refuse(404, `{"detail":"Not Found"}`), "lists no models (HTTP 404) and makes no replies there; the path of the base URL may be wrong", true},
		{llmtest.Refuse(404, ""), llmtest.Refuse(405, `{"detail":"Method Not Allowed"}`), "makes no replies there", true},
		{llmtest.Refuse(404, ""), llmtest.Page(404, "text/plain", "404 page not found"), "makes no replies there", true},
		{llmtest.Refuse(404, ""), llmtest.Page(200, "text/html", "<html>sk-marked</html>"), "makes no replies there", true},
		{llmtest.Refuse(404, ""), llmtest.Page(200, "application/json", `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`), "makes no replies there", true},
		{llmtest.Refuse(404, ""), llmtest.Refuse(401, "sk-marked"), "refused the key (HTTP 401)", true},
		{llmtest.Refuse(404, ""), llmtest.Refuse(502, "sk-marked"), "lists no models (HTTP 404); asked for a reply: 127.0.0.1:", true},
		{llmtest.Refuse(404, ""), llmtest.Page(302, "text/html", "x").Header("Location", "https://login.example/?k=sk-marked"), "redirects to https://login.example/?k=***", true},
	} {
		server.SetModels(c.list)
		server.Push(c.reply)
		got, err := Reach(t.Context(), wire, "m")
		if err != nil {
			got = err.Error()
		}
		sent := server.Requests()
		if last := sent[len(sent)-1]; string(last.Body) != "{}" {
			t.Errorf("sent %s", last.Body)
		}
		if (err != nil) != c.fails || !strings.Contains(got, c.want) || strings.Contains(got, "sk-marked") {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
	server.SetModels(llmtest.Refuse(404, ""))
	root := openai.Config{BaseURL: strings.TrimSuffix(server.URL(), "/v1"), Key: "sk-marked"}
	if got, err := Reach(t.Context(), root, "m"); err == nil || !strings.Contains(err.Error(), "lists no models") && !strings.Contains(err.Error(), "no list of models") ||
		!strings.Contains(err.Error(), "; the base URL of most servers ends in /v1") {
		t.Errorf("without its /v1: %q, %v", got, err)
	}
	for _, base := range []string{"http://127.0.0.1:1/v1", "::"} {
		if got, err := Reach(t.Context(), openai.Config{BaseURL: base, Key: "sk-marked"}, "m"); err == nil || strings.Contains(err.Error(), "sk-marked") {
			t.Errorf("%s: %q, %v", base, got, err)
		}
	}
	set, err := profile.Parse([]byte("[profile.mine]\nendpoints = ['127.0.0.1']\nauth = 'api-key'\nquery = { v = '1' }\nheaders = { X-Team = 't' }\n"))
	if err != nil {
		t.Fatal(err)
	}
	wire.Profiles = set
	server.SetModels(llmtest.Models("a"))
	if got, err := Reach(t.Context(), wire, "m"); err != nil || !strings.Contains(got, "profile mine") {
		t.Errorf("%q, %v", got, err)
	}
}

// What passes to and from servers on this machine is recorded too, each request once, and played; a recording into which nothing
// went says so.
func TestTrafficOfLocals(t *testing.T) {
	server := llmtest.NewServer()
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	server.Push(llmtest.Answer("hello"))
	file := filepath.Join(t.TempDir(), "traffic.jsonl")
	ask := func(traffic *Traffic) string {
		t.Helper()
		wire := traffic.Through(openai.Config{BaseURL: "http://far.example/v1", Key: "sk-marked", Header: http.Header{"X-Team": {"t"}}, Transport: &redirected{to: server}})
		locals := NewLocals(Config{Wire: wire, Silence: time.Minute, Clock: clock.Real(), Rand: func() float64 { return 0 }})
		defer locals.Close()
		reply, err := llm.Collect(Routes{Local: locals}.Stream(t.Context(), llm.Request{Model: "local:ollama/llama3:1b", Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}))
		if err != nil {
			t.Fatal(err)
		}
		return reply.Text
	}
	recording, err := OpenTraffic(TrafficConfig{Record: file, Clock: clock.Real()})
	if err != nil {
		t.Fatal(err)
	}
	if said := recording.Tell(); !strings.Contains(said, file) || !strings.Contains(said, "nothing was recorded") {
		t.Errorf("of an empty recording it tells %q", said)
	}
	if got := ask(recording); got != "hello" || recording.Tell() != "" || recording.Close() != nil {
		t.Errorf("%q, %q", got, recording.Tell())
	}
	data, err := os.ReadFile(file)
	if err != nil || strings.Count(string(data), "\n") != 1 || !strings.Contains(string(data), "127.0.0.1:11434") || strings.Contains(string(data), "sk-marked") {
		t.Errorf("%v, %s", err, data)
	}
	if r := server.Requests()[0]; r.Header.Get("X-Team") != "" || r.Header.Get("Authorization") != "" {
		t.Errorf("a server on this machine got %v", r.Header)
	}
	playing, err := OpenTraffic(TrafficConfig{Replay: file, Clock: clock.Real()})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(playing); got != "hello" || len(server.Requests()) != 1 {
		t.Errorf("%q after %d requests", got, len(server.Requests()))
	}
}

// What passes is recorded and answers again, without the server and without the key.
func TestTrafficThere(t *testing.T) {
	server := llmtest.NewServer()
	server.Push(llmtest.Answer("hello"))
	file := filepath.Join(t.TempDir(), "traffic.jsonl")
	ask := func(traffic *Traffic) string {
		t.Helper()
		wire := traffic.Through(openai.Config{BaseURL: server.URL(), Key: "sk-marked"})
		client, closeIt := New(Config{Wire: wire, Silence: time.Minute, Clock: clock.Real(), Rand: func() float64 { return 0 }})
		defer closeIt()
		text := ""
		for c, err := range client.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}) {
			if err != nil {
				t.Fatal(err)
			}
			text += c.Text
		}
		return text
	}
	cfg := TrafficConfig{Record: file, Clock: clock.Real(), Secrets: []string{"sk-marked"}, Addresses: []string{server.URL()}}
	recording, err := OpenTraffic(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(recording); got != "hello" || recording.Tell() != "" {
		t.Errorf("%q", got)
	}
	if err := recording.Close(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "sk-marked") || len(data) == 0 {
		t.Errorf("%v, %s", err, data)
	}
	if _, err := OpenTraffic(cfg); err == nil {
		t.Error("a recording was written over")
	}
	playing, err := OpenTraffic(TrafficConfig{Replay: file, Clock: clock.Real()})
	if err != nil {
		t.Fatal(err)
	}
	if said := playing.Tell(); !strings.HasSuffix(said, "that were not asked for: 1") {
		t.Errorf("told %q", said)
	}
	if got := ask(playing); got != "hello" || playing.Tell() != "" || playing.Close() != nil {
		t.Errorf("%q, %q", got, playing.Tell())
	}
	var none *Traffic
	if none.Close() != nil || none.Tell() != "" || none.Through(openai.Config{Key: "k"}).Key != "k" {
		t.Error("no traffic is something")
	}
}
