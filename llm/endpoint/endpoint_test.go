package endpoint

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/openai"
	"vitrine/llm/price"
	"vitrine/llm/profile"
	"vitrine/runtime/clock"
)

// The parts work together: what a server failed at once is tried again, and the answer has its cost.
func TestParts(t *testing.T) {
	server := llmtest.NewServer()
	defer server.Close()
	server.Push(llmtest.Refuse(503, ""), llmtest.Answer("hello"))
	client, closeIt := New(Config{
		Wire: openai.Config{BaseURL: server.URL(), Key: "sk-test"}, Silence: time.Minute, Retries: 1, Clock: clock.Real(),
		Rand: func() float64 { return 0 }, Prices: map[string]price.Price{"m": {Input: 1e6, Output: 0}},
	})
	defer closeIt()
	var done *llm.Done
	text := ""
	for chunk, err := range client.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		text += chunk.Text
		done = chunk.Done
	}
	if text != "hello" || done == nil || done.Usage.Cost == nil || done.Usage.Prompt == nil ||
		math.Abs(*done.Usage.Cost-float64(*done.Usage.Prompt)) > 1e-9 {
		t.Errorf("%q %+v", text, done)
	}
}

// All that use the client wait together.
func TestTabsShareTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.NewPipeServer()
		defer server.Close()
		clk := clock.Real()
		client, closeIt := New(Config{Wire: openai.Config{BaseURL: server.URL(), Transport: server.Transport()}, Retries: 3, RetryBase: time.Second, Clock: clk})
		defer closeIt()
		server.Push(llmtest.Refuse(503, ""), llmtest.Answer("a"), llmtest.Answer("b"))
		var replies [2]llm.Reply
		began := time.Now()
		group := clock.NewGroup(clk)
		for i := range replies {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				var err error
				replies[i], err = llm.Collect(client.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}))
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := group.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(replies[0].Retries) == 0 || len(server.Requests()) != 3 || time.Since(began) < time.Second {
			t.Errorf("%+v after %d requests and %s", replies[0], len(server.Requests()), time.Since(began))
		}
		if w := replies[1].Retries; len(w) == 0 || w[0].Attempt != 0 || w[0].Max != 4 || w[0].Wait != 900*time.Millisecond {
			t.Errorf("the other tab was told %+v", w)
		}
	})
}

// B076: each refusal is waited for once and told once, with its attempt, whatever the parts beneath have to say; jitter or not.
func TestB076OneWaitForAnAttempt(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{"429": llmtest.Refuse(429, ""), "503": llmtest.Refuse(503, ""), "named": llmtest.Refuse(429, "").RetryAfter("3"), "500": llmtest.Refuse(500, "")} {
		synctest.Test(t, func(t *testing.T) {
			server := llmtest.NewPipeServer()
			defer server.Close()
			server.Push(reply, reply, reply, reply, reply, llmtest.Answer("at last"))
			draws := 0
			client, closeIt := New(Config{Wire: openai.Config{BaseURL: server.URL(), Transport: server.Transport()}, Retries: 5, RetryBase: time.Second, Clock: clock.Real(),
				Rand: func() float64 { draws++; return float64(draws*37%100) / 100 }})
			defer closeIt()
			began := time.Now()
			r, err := llm.Collect(client.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}))
			if err != nil || r.Text != "at last" || len(r.Retries) != 5 {
				t.Fatalf("%s: %v, %+v", name, err, r)
			}
			sum := time.Duration(0)
			for i, w := range r.Retries {
				sum += w.Wait
				if w.Attempt != i+1 || w.Max != 6 || w.Wait <= 0 || w.Status == 0 || w.Cause == "" {
					t.Errorf("%s: %+v", name, w)
				}
			}
			if took := time.Since(began); took != sum {
				t.Errorf("%s: waited %s, told %s", name, took, sum)
			}
		})
	}
}

// Rule 38: the client bounds the time to the first byte, whatever the patience within a stream; both errors name the host, and only
// the one of the silence says that it was one. Bytes that are no event yet end the first wait too.
func TestProvider38InTheWhole(t *testing.T) {
	for name, c := range map[string]struct {
		reply  llmtest.Reply
		took   time.Duration
		silent bool
		want   string
	}{
		"no first byte": {llmtest.Silent(), openai.DefaultFirstByteTimeout, false, "pipe.test: timeout: no answer within 5m0s"},
		"header only":   {llmtest.Stream().Hold(), openai.DefaultFirstByteTimeout, false, "pipe.test: timeout: no answer within 5m0s"},
		"half an event": {llmtest.Stream(llmtest.Raw("data: {")).Hold(), 15 * time.Minute, true, "pipe.test: timeout: no data for 15m0s"},
		"half a reply":  {llmtest.Stream(llmtest.Text("ha")).Hold(), 15 * time.Minute, true, "pipe.test: timeout: no data for 15m0s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := llmtest.NewPipeServer()
			defer server.Close()
			server.Push(c.reply)
			client, closeIt := New(Config{Wire: openai.Config{BaseURL: server.URL(), Transport: server.Transport()}, Silence: 15 * time.Minute, Clock: clock.Real()})
			defer closeIt()
			began := time.Now()
			_, err := llm.Collect(client.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}))
			var e *llm.Error
			if !errors.As(err, &e) || e.Error() != c.want || e.Silent != c.silent || time.Since(began) != c.took {
				t.Errorf("%s: %v after %s", name, err, time.Since(began))
			}
		})
	}
}

// A sign of life goes out as the profile says, and what was learned is told.
func TestReach(t *testing.T) {
	server := llmtest.NewServer()
	defer server.Close()
	memory := openai.NewMemory("")
	wire := openai.Config{BaseURL: server.URL(), Key: "sk-test-123", Profile: "azure", Memory: memory}
	c := openai.New(wire)
	defer c.Close()
	server.Push(llmtest.Refuse(400, `{"error":{"message":"Unknown parameter: stream_options"}}`), llmtest.Answer("x"))
	if _, err := llm.Collect(c.Stream(t.Context(), llm.Request{Model: "m"})); err != nil {
		t.Fatal(err)
	}
	text, err := Reach(t.Context(), wire, "m")
	want := " answers with a list of 1 model; profile azure (chosen by name); since " + time.Now().UTC().Format(time.DateOnly) + " stream_options is left out"
	if err != nil || !strings.HasSuffix(text, want) || strings.Contains(text, "sk-test") {
		t.Errorf("%q, %v, want ...%q", text, err, want)
	}
	if r := server.Requests()[0]; r.Header.Get("Api-Key") != "sk-test-123" || r.Query.Get("api-version") == "" {
		t.Errorf("sent %v %v", r.Header, r.Query)
	}
	var seen *http.Request
	probe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer probe.Close()
	for name, header := range map[string]string{"azure": "Api-Key", "openai": "Authorization"} {
		_, err := Reach(t.Context(), openai.Config{BaseURL: probe.URL + "/v1", Key: "sk-test-123", Profile: name}, "m")
		if err == nil || seen.Header.Get(header) == "" || (seen.URL.Query().Get("api-version") != "") != (name == "azure") || seen.URL.Path != "/v1/models" {
			t.Errorf("%s: %v, %s %v", name, err, seen.URL, seen.Header)
		}
	}
	if d := Describe(openai.Config{BaseURL: "http://localhost:11434/v1"}, "m"); d.String() != "profile ollama (by the endpoint :11434)" {
		t.Errorf("got %s", d)
	}
}

// Doctor tells how a model is spoken to, what the endpoint refused before, and what the model costs by whose word.
func TestFacts(t *testing.T) {
	facts := func(base, model string, own map[string]price.Price) string {
		text := ""
		for _, f := range Describe(openai.Config{BaseURL: base}, model).Facts(own) {
			text += f[0] + ": " + f[1] + "\n"
		}
		return text
	}
	for _, c := range []struct{ base, model, want string }{
		{"https://api.deepseek.com/v1", "deepseek-chat", "price: $0.28 in, $0.028 cached, $0.42 out for a million tokens, list price of 2025-12"},
		{"https://api.deepseek.com/v1", "deepseek-chat", "profile: deepseek ("},
		{"http://127.0.0.1:9/v1", "x", "price: unknown; [price.MODEL] in the configuration file sets it"},
		{"http://127.0.0.1:9/v1", "mine", "price: $2 in, $2 cached, $3 out for a million tokens, from the configuration file"},
		{"::", "x", "price: unknown"},
	} {
		if got := facts(c.base, c.model, map[string]price.Price{"mine": {Input: 2, Output: 3}}); !strings.Contains(got, c.want) {
			t.Errorf("%s at %s: %s, want %s", c.model, c.base, got, c.want)
		}
	}
}

// How tools are called is chosen for each model by its profile, unless the configuration says it for all.
func TestProtocolOfProfile(t *testing.T) {
	set, err := profile.Parse([]byte("[profile.mine]\nendpoints = ['127.0.0.1']\n[[profile.mine.model]]\nmatch = ['plain*']\nprotocol = 'json'\n[[profile.mine.model]]\nmatch = ['lines*']\nprotocol = 'react'\n"))
	if err != nil {
		t.Fatal(err)
	}
	server := llmtest.NewServer()
	defer server.Close()
	asks := func(client llm.Client, model string) string {
		server.Push(llmtest.Answer("Final Answer: x"))
		req := llm.Request{Model: model, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}},
			Tools: []llm.ToolSpec{{Name: "look", Description: "looks", Schema: []byte(`{"type":"object"}`)}}}
		for _, err := range client.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
		}
		reqs := server.Requests()
		body := string(reqs[len(reqs)-1].Body)
		switch {
		case strings.Contains(body, `"tools"`):
			return "native"
		case strings.Contains(body, "tool_args"):
			return "json"
		case strings.Contains(body, "Action Input"):
			return "react"
		}
		return body
	}
	for said, want := range map[profile.Protocol][]string{"": {"native", "json", "react"}, "native": {"native", "native", "native"}, "react": {"react", "react", "react"}} {
		client, closeIt := New(Config{Wire: openai.Config{BaseURL: server.URL(), Profiles: set}, Protocol: said, Silence: time.Minute, Clock: clock.Real(), Rand: func() float64 { return 0 }})
		for i, model := range []string{"other", "plain-7b", "lines-7b"} {
			if got := asks(client, model); got != want[i] {
				t.Errorf("with %q %s is spoken to as %s, want %s", said, model, got, want[i])
			}
		}
		closeIt()
	}
	if _, err := profile.Parse([]byte("[profile.mine]\nprotocol = 'xml'\n")); err == nil {
		t.Error("an unknown protocol is taken")
	}
	text := ""
	for _, f := range Describe(openai.Config{BaseURL: server.URL(), Profiles: set}, "plain-7b").Facts(nil) {
		text += f[0] + ": " + f[1] + "\n"
	}
	if !strings.Contains(text, "protocol: json, by the profile") {
		t.Error(text)
	}
}
