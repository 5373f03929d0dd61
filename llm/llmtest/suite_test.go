package llmtest

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"vitrine/llm"
)

// player is the smallest client that keeps the contract: it plays a scenario from memory.
type player struct {
	mu sync.Mutex
	s  Scenario
}

func (p *player) next() Play {
	p.mu.Lock()
	defer p.mu.Unlock()
	play := p.s.Plays[0]
	if len(p.s.Plays) > 1 || !p.s.Repeat {
		p.s.Plays = p.s.Plays[1:]
	}
	return play
}

// Stream implements llm.Client.
func (p *player) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(llm.Chunk{}, ctx.Err())
			return
		}
		play := p.next()
		if play.End == EndFail {
			kinds := map[int]llm.ErrorKind{401: llm.ErrAuth, 403: llm.ErrAuth, 402: llm.ErrQuota, 404: llm.ErrNotFound, 429: llm.ErrRate, 500: llm.ErrServer, 503: llm.ErrServer}
			kind := kinds[play.Status]
			if kind == "" {
				kind = llm.ErrRejected
			}
			yield(llm.Chunk{}, &llm.Error{Kind: kind, Status: play.Status, Message: "m", Retryable: play.Status == 429 || play.Status >= 500})
			return
		}
		for _, s := range play.Reasoning {
			if !yield(llm.Chunk{Reasoning: s}, nil) {
				return
			}
		}
		for _, s := range play.Text {
			if !yield(llm.Chunk{Text: s}, nil) {
				return
			}
		}
		switch play.End {
		case EndCut:
			yield(llm.Chunk{}, &llm.Error{Kind: llm.ErrCut, Message: "m", Retryable: true})
			return
		case EndHang:
			<-ctx.Done()
			yield(llm.Chunk{}, ctx.Err())
			return
		}
		calls := slices.Clone(play.Calls)
		for i := range calls {
			if calls[i].ID == "" {
				calls[i].ID = fmt.Sprint("made-up-", i)
			}
		}
		yield(llm.Chunk{Done: &llm.Done{Finish: play.finish(), ToolCalls: calls, Usage: play.Usage}}, nil)
	}
}

// rules is the smallest client with rules of its own: it calls what is offered, once, and then answers.
type rules struct{}

// Stream implements llm.Client.
func (rules) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(llm.Chunk{}, ctx.Err())
			return
		}
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
			if yield(llm.Chunk{Text: "66"}, nil) {
				yield(llm.Chunk{Done: &llm.Done{Finish: llm.FinishStop}}, nil)
			}
			return
		}
		yield(llm.Chunk{Done: &llm.Done{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{{ID: "1", Name: req.Tools[0].Name, Arguments: "{}"}}}}, nil)
	}
}

func TestSuite(t *testing.T) {
	t.Run("script", func(t *testing.T) {
		Suite(t, func(_ *testing.T, s Scenario) llm.Client { return &player{s: s} })
	})
	t.Run("less", func(t *testing.T) {
		Suite(t, func(_ *testing.T, s Scenario) llm.Client { return &player{s: s} }, NoFaults, NoReasoning, NoUsage)
	})
	t.Run("own rules", func(t *testing.T) {
		Suite(t, func(*testing.T, Scenario) llm.Client { return rules{} }, NoScript)
	})
}

// wrong changes what a client does in one way.
type wrong struct {
	llm.Client
	how string
	mu  *sync.Mutex
	n   *int
}

// Stream implements llm.Client.
func (w wrong) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		w.mu.Lock()
		*w.n++
		n := *w.n
		w.mu.Unlock()
		switch w.how {
		case "deaf":
			ctx = context.WithoutCancel(ctx)
		case "changes":
			req.Messages[0].Content = "changed"
		case "silent":
			return
		case "moody":
			if yield(llm.Chunk{Text: fmt.Sprint(n)}, nil) {
				yield(llm.Chunk{Done: &llm.Done{Finish: llm.FinishStop}}, nil)
			}
			return
		case "fails":
			yield(llm.Chunk{}, &llm.Error{Kind: llm.ErrServer, Message: "m"})
			return
		case "endless":
			yield(llm.Chunk{Done: &llm.Done{ToolCalls: []llm.ToolCall{{ID: "1", Name: "other", Arguments: "no"}}}}, nil)
			return
		case "mute":
			yield(llm.Chunk{Done: &llm.Done{}}, nil)
			return
		}
		for c, err := range w.Client.Stream(ctx, req) {
			if w.how == "swallows" && err != nil {
				yield(llm.Chunk{Done: &llm.Done{Finish: "stop", ToolCalls: []llm.ToolCall{{ID: "1"}}}}, nil)
				return
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// TestBrokenClients runs the suite on clients that break one promise each, in a process of its own, where it must fail.
func TestBrokenClients(t *testing.T) {
	if how, own, ok := strings.Cut(os.Getenv("LLMTEST_BROKEN"), "/"); ok {
		factory := func(_ *testing.T, s Scenario) llm.Client {
			w := wrong{&player{s: s}, how, &sync.Mutex{}, new(int)}
			if own != "" {
				w.Client = rules{}
			}
			return w
		}
		if own != "" {
			Suite(t, factory, NoScript)
			return
		}
		Suite(t, factory)
		return
	}
	for _, how := range []string{"changes/", "silent/", "moody/", "fails/", "swallows/", "silent/own", "moody/own", "fails/own", "endless/own", "mute/own", "deaf/own"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			args := []string{"-test.run=^TestBrokenClients$"}
			if dir := os.Getenv("GOCOVERDIR"); dir != "" {
				args = append(args, "-test.gocoverdir="+dir)
			}
			cmd := exec.Command(os.Args[0], args...)
			cmd.Env = append(os.Environ(), "LLMTEST_BROKEN="+how)
			out, err := cmd.CombinedOutput()
			if err == nil || strings.Contains(string(out), "panic") {
				t.Errorf("the suite passes, or breaks: %v\n%s", err, out)
			}
		})
	}
}
