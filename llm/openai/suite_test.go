package openai

import (
	"testing"

	"go.uber.org/goleak"

	"vitrine/llm"
	"vitrine/llm/llmtest"
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
