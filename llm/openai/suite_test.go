package openai

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve makes a server and a client of it, both closed at the end of the test.
func serve(t testing.TB, replies ...llmtest.Reply) (*llmtest.Server, *Client) {
	t.Helper()
	srv := llmtest.NewServer()
	c := New(Config{BaseURL: srv.URL(), Key: "sk-test-1234567890"})
	t.Cleanup(func() {
		c.Close()
		srv.Close()
	})
	srv.Push(replies...)
	return srv, c
}

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(t *testing.T, s llmtest.Scenario) llm.Client {
		srv, c := serve(t)
		s.Serve(srv.Strict())
		return c
	})
}

// seasoned puts a history before each request that servers are known to be particular about: an id that is too long, calls
// without text, a result that is followed by the user, reasoning of this and of another family, a late system message.
type seasoned struct {
	*Client
	model string
}

func (s seasoned) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	half := 0.5
	req.Temperature, req.MaxTokens = &half, 50
	if s.model != "" {
		req.Model = s.model
	}
	family, err := json.Marshal(s.profiles.of(req.Model).Family)
	if err != nil {
		panic(err)
	}
	id := "call_" + strings.Repeat("x", 45)
	mine := said("I think so.")
	mine.Extra = json.RawMessage(`{"reasoning_content":"hm","vitrine_origin":` + string(family) + `}`)
	foreign := said("", llm.ToolCall{ID: id, Name: "calculator", Arguments: "{}", Extra: json.RawMessage(`{"signature":"x"}`)})
	foreign.Extra = json.RawMessage(`{"reasoning_content":"foreign","vitrine_origin":"elsewhere"}`)
	before := []llm.Message{user("before"), foreign, result(id, "r"), notice("and"), said("between"), user("more"), mine, memo("remember")}
	messages := slices.Clone(req.Messages[:1])
	req.Messages = append(append(messages, before...), req.Messages[1:]...)
	return s.Client.Stream(ctx, req)
}

// The suite passes with each profile, against a server that refuses what the real one does, and no request is refused: the
// profile knows. Of a server that nobody knows it is learned.
func TestSuiteOfProfiles(t *testing.T) {
	models := map[string]string{"openai": "gpt-5-mini"}
	names := profile.Builtin().Names()
	for _, file := range append(names, "generic-hostile") {
		t.Run(file, func(t *testing.T) {
			name, _, _ := strings.Cut(file, "-hostile")
			llmtest.Suite(t, func(t *testing.T, s llmtest.Scenario) llm.Client {
				script, err := llmtest.LoadScript("testdata/servers/" + file + ".txt")
				if err != nil {
					t.Fatal(err)
				}
				srv := llmtest.NewServer().Strict()
				s.Serve(srv)
				script.Guard(srv)
				c := New(Config{BaseURL: srv.URL(), Key: testKey, Profile: name})
				t.Cleanup(func() {
					c.Close()
					srv.Close()
					if p := script.Problems(); len(p) > 0 {
						t.Errorf("not met: %v", p)
					}
					if known := len(c.memory.List()) == 0; known != (name != profile.Generic) && len(srv.Requests()) > 0 {
						t.Errorf("learned %+v", c.memory.List())
					}
				})
				return seasoned{c, models[name]}
			})
		})
	}
}
