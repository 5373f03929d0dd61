package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vitrine/llm"
	"vitrine/llm/llmtest"
	"vitrine/llm/scripted"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/ui/cli"
	"vitrine/ui/demo"
)

// described is what doctor says of how a model is spoken to.
func described(t *testing.T, cfg config.Config) string {
	t.Helper()
	text := ""
	for _, f := range (wiring{}).describe(cfg) {
		text += strings.Join(f, ": ") + "\n"
	}
	return text
}

// Doctor asks for a model of this machine by the name that its server knows, and says of LLM_PROFILE what requests do with it: it
// is the endpoint's, and this machine's only when there is no endpoint.
func TestDescribeLocal(t *testing.T) {
	cfg := config.Config{Model: "local:ollama/x", DBPath: filepath.Join(t.TempDir(), "sessions.db"), Profile: "mistral"}
	memory := `{"version":1,"endpoints":{"http://127.0.0.1:11434/v1":{"x":{"dropped":["temperature"],"at":"` + time.Now().UTC().Format(time.RFC3339) + `"}}}}`
	if err := os.WriteFile(learnedPath(cfg), []byte(memory), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := described(t, cfg); !strings.Contains(got, "temperature is left out") || !strings.Contains(got, "profile: mistral (chosen by name)") {
		t.Error(got)
	}
	cfg.OpenAIBaseURL = "http://h.example/v1"
	if got := described(t, cfg); !strings.Contains(got, "temperature is left out") || !strings.Contains(got, "profile: ollama (by the endpoint :11434)") {
		t.Error(got)
	}
	cfg.Model = "ollama/x"
	if got := described(t, cfg); strings.Contains(got, "temperature") || !strings.Contains(got, "profile: mistral") {
		t.Error(got)
	}
}

// The models of a real endpoint are listed for `vitrine models` and /model, whatever shape the list has; why there is none is told.
func TestModelsOfAnEndpoint(t *testing.T) {
	srv := llmtest.NewServer()
	defer srv.Close()
	cfg := config.Config{OpenAIBaseURL: srv.URL(), OpenAIKey: "sk-marked-key", Model: "b", DBPath: filepath.Join(t.TempDir(), "sessions.db")}
	for _, list := range []llmtest.Reply{
		llmtest.Page(200, "application/json", `{"data":[{"id":"a","max_model_len":8192},{"id":"b"}]}`),
		llmtest.Page(200, "application/json", `[{"id":"a","context_length":8192},{"id":"b"}]`),
	} {
		srv.SetModels(list)
		if got := (wiring{}).models(t.Context(), cfg); got.Err != nil || len(got.Models) != 2 || got.Models[0] != (llm.ModelInfo{ID: "a", Context: 8192}) || got.Models[1].ID != "b" {
			t.Errorf("%+v", got)
		}
		offered, err := (wiring{}).offers(t.Context(), cfg)
		if err != nil || len(offered) < 3 || offered[0].Name != "a" || offered[0].Context != 8192 || !strings.HasPrefix(offered[0].At, "127.0.0.1:") || offered[len(offered)-1].Name != "offline" {
			t.Errorf("%+v, %v", offered, err)
		}
	}
	srv.SetModels(llmtest.Refuse(401, `{"error":{"message":"no sk-marked-key here"}}`))
	offered, err := (wiring{}).offers(t.Context(), cfg)
	if err == nil || strings.Contains(err.Error(), "marked") || len(offered) < 2 || offered[0].Name != "b" {
		t.Errorf("%+v, %v", offered, err)
	}
}

// B074: a quota that is gone is told with its time, and the input stays usable: what is typed stands there, and the prompt goes out
// again when the user says so.
func TestB074PromptIsSentAgain(t *testing.T) {
	for _, e := range []*llm.Error{
		{Kind: llm.ErrQuota, Status: 429, Message: "quota exhausted; try again in 12h34m16s (2026-01-02 00:34 UTC)"},
		{Kind: llm.ErrQuota, Status: 402, Message: "insufficient credits"},
	} {
		p := startPlay(t, t.TempDir(), script(scripted.Fail(e), scripted.Text("Now it works.")))
		p.Enter("do it")
		p.until("the error", func(s demo.Screen) bool { return strings.HasPrefix(status(s), " ✗") })
		p.sees("limit is reached", e.Message[:20])
		p.Type("something else")
		if row := inputRow(p.Screen()); !strings.Contains(row, "something else") {
			t.Errorf("the input takes nothing: %q", row)
		}
		p.Press("ctrl+c")
		p.Enter("/retry")
		p.wait("Now it works.")
		p.done()
		if got := p.said("ann-window-1"); !slices.Equal(got, []string{"do it", "do it"}) {
			t.Errorf("said %q", got)
		}
	}
}

// The message of a model that nobody serves says how to reach the one on this machine.
func TestServesShortName(t *testing.T) {
	if err := serves(config.Config{})("ollama/x"); err == nil || !strings.HasSuffix(err.Error(), "; local:ollama/x is the one on this machine") {
		t.Errorf("%v", err)
	}
	for _, model := range []string{"local:ollama/x", "offline"} {
		if err := serves(config.Config{})(model); err != nil {
			t.Errorf("%s: %v", model, err)
		}
	}
}

// What /model lists of contexts reaches the client that is at work, at once: a prompt beyond it is told. Another data folder knows nothing
// of it.
func TestListedWindowsReachTheClient(t *testing.T) {
	srv := llmtest.NewServer()
	defer srv.Close()
	srv.SetModels(llmtest.Page(200, "application/json", `{"data":[{"id":"m","max_model_len":100}]}`))
	srv.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Stream(llmtest.Text("ok"), llmtest.Finish("stop"), llmtest.Usage(1500, 1, -1), llmtest.DoneMark())
	})
	prog := wiring{}.program()
	begin := func() (cfg config.Config, turn func() string) {
		dir := t.TempDir()
		cfg, err := config.Load(config.Inputs{Flags: config.Flags{User: "ann"}, Environ: []string{"OPENAI_BASE_URL=" + srv.URL(), "MODEL=m",
			"AGENT_DB_PATH=" + filepath.Join(dir, "sessions.db"), "AGENT_TRACE_PATH=" + filepath.Join(dir, "traces.jsonl")}})
		if err != nil {
			t.Fatal(err)
		}
		app, err := prog.Open(t.Context(), cfg, clock.Real(), cli.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := app.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		sub := app.Feed.Subscribe(1 << 10)
		if _, err := app.Agent.Open(t.Context(), "s", true); err != nil {
			t.Fatal(err)
		}
		return cfg, func() (told string) {
			if err := app.Agent.Submit(t.Context(), "s", "hello"); err != nil {
				t.Fatal(err)
			}
			for {
				batch, err := sub.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, ev := range batch.Events {
					switch d := ev.Data.(type) {
					case trace.NoticeData:
						told += d.Message
					case trace.RunEndData:
						return told
					}
				}
			}
		}
	}
	cfg, turn := begin()
	_, elsewhere := begin()
	if told := turn(); strings.Contains(told, "window") {
		t.Errorf("before anything is listed: %q", told)
	}
	if offer := prog.Models(t.Context(), cfg); offer.Err != nil || len(offer.Models) != 1 {
		t.Fatalf("%+v", offer)
	}
	if told := turn(); !strings.Contains(told, "the model's window has 100") {
		t.Errorf("told %q", told)
	}
	if told := elsewhere(); strings.Contains(told, "window has") {
		t.Errorf("another folder: %q", told)
	}
}
