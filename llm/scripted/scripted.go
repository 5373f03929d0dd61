// Package scripted is a model client that plays a script: the model of tests and of demos.
//
// A script is a list of steps, each one reply: text, tool calls, an error, a stream that breaks or falls silent. It is
// written in Go (New with Text, Calls, Fail and the like) or in a TOML file (Load). Steps are played in order; one with a
// "when" waits for a request whose last user message contains that text, so that one script serves several sessions. All
// waiting goes through the clock, so that a script plays in no time under a simulated one.
//
// The client records what it was asked (Requests) and can refuse a history that a strict server would refuse (Strict).
package scripted

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"vitrine/llm"
	"vitrine/runtime/clock"
)

// Client plays a script. It is safe for concurrent use; which of several requests gets a step is decided by who iterates
// first.
type Client struct {
	clk clock.Clock

	mu       sync.Mutex
	steps    []Step
	played   []int // how often each step was played
	plays    int   // how many replies were begun
	requests []llm.Request
	check    func(llm.Request) error
}

// New makes a client that plays steps.
func New(clk clock.Clock, steps ...Step) *Client {
	return &Client{clk: clk, steps: slices.Clone(steps), played: make([]int, len(steps))}
}

// Strict makes the client answer 400 to a request whose history is not valid, and returns it.
func (c *Client) Strict() *Client { return c.Check(CheckHistory) }

// Check makes the client answer 400, with the error's text, to every request that f refuses, and returns the client. A
// refused request uses up no step.
func (c *Client) Check(f func(llm.Request) error) *Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check = f
	return c
}

// Add appends steps to the script.
func (c *Client) Add(steps ...Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, steps...)
	c.played = append(c.played, make([]int, len(steps))...)
}

// Requests gives copies of all requests so far, refused ones included, in the order of their arrival.
func (c *Client) Requests() []llm.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]llm.Request, len(c.requests))
	for i, r := range c.requests {
		out[i] = cloneRequest(r)
	}
	return out
}

// Left is how many steps were never played; those without end count until their first time.
func (c *Client) Left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for i, s := range c.steps {
		if s.times < 0 {
			if c.played[i] == 0 {
				n++
			}
			continue
		}
		n += max(1, s.times) - c.played[i]
	}
	return n
}

// Stream plays the next step that fits the request, or ends with an error of kind exhausted when there is none. Iterating
// the result again is another request.
func (c *Client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		step, at, play, err := c.take(req)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		ended := true
		defer func() {
			if !ended { // the program that asked died in the middle: the one after it asks again
				c.giveBack(at)
			}
		}()
		if step.build != nil {
			step = step.build(cloneRequest(req))
			if step.build != nil {
				yield(llm.Chunk{}, &llm.Error{Kind: llm.ErrProtocol, Message: "a scripted function made another function"})
				return
			}
		}
		ended = false
		c.play(ctx, req, step, play, yield)
		ended = true
	}
}

// Move makes the client go by another clock from the next request on: the one of a program that was started again.
func (c *Client) Move(clk clock.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clk = clk
}

func (c *Client) clock() clock.Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clk
}

// giveBack makes the i-th step one that was played once less.
func (c *Client) giveBack(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.played[i]--
}

// take records the request and chooses its step: the one at that place, with the number of the reply.
func (c *Client) take(req llm.Request) (s Step, at, play int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, cloneRequest(req))
	if c.check != nil {
		if err := c.check(req); err != nil {
			return Step{}, 0, 0, &llm.Error{Kind: llm.ErrRejected, Status: 400, Message: err.Error(), Err: err}
		}
	}
	asked := lastUser(req)
	for i, s := range c.steps {
		usedUp := s.times >= 0 && c.played[i] >= max(1, s.times)
		if usedUp || !strings.Contains(asked, s.when) {
			continue
		}
		c.played[i]++
		c.plays++
		return s, i, c.plays - 1, nil
	}
	return Step{}, 0, 0, &llm.Error{
		Kind:    llm.ErrExhausted,
		Message: fmt.Sprintf("the script has no step for request %d", len(c.requests)),
	}
}

// play yields the step's chunks in their time.
func (c *Client) play(ctx context.Context, req llm.Request, s Step, play int, yield func(llm.Chunk, error) bool) {
	if !c.wait(ctx, s, 0, yield) {
		return
	}
	chunks := s.chunks()
	for i, ch := range chunks {
		if s.stop != stopNone && i >= s.stopAfter {
			c.end(ctx, s, yield)
			return
		}
		if i > 0 && !c.wait(ctx, s, i, yield) {
			return
		}
		if !yield(ch, nil) {
			return
		}
	}
	if s.stop != stopNone {
		c.end(ctx, s, yield)
		return
	}
	if len(chunks) > 0 && !c.wait(ctx, s, len(chunks), yield) {
		return
	}
	yield(s.done(play, req), nil)
}

// wait waits for the time of chunk i; false means that the request was cancelled, which has been told.
func (c *Client) wait(ctx context.Context, s Step, i int, yield func(llm.Chunk, error) bool) bool {
	d := s.pace
	if i == 0 {
		d = s.delay
	}
	if d > 0 {
		if err := c.clock().Sleep(ctx, d); err != nil {
			yield(llm.Chunk{}, cancelled(ctx, err))
			return false
		}
	}
	if err := ctx.Err(); err != nil {
		yield(llm.Chunk{}, err)
		return false
	}
	return true
}

// end plays the end that comes before the reply's.
func (c *Client) end(ctx context.Context, s Step, yield func(llm.Chunk, error) bool) {
	switch s.stop {
	case stopError:
		err := *s.err
		yield(llm.Chunk{}, &err)
	case stopHang:
		// A latch that nobody opens: unlike a long sleep it lets a simulated clock see that nothing will happen.
		err := clock.NewLatch(c.clock()).Wait(ctx)
		yield(llm.Chunk{}, cancelled(ctx, err))
	}
}

// cancelled is ctx's own error where there is one, so that callers can compare it.
func cancelled(ctx context.Context, err error) error {
	if e := ctx.Err(); e != nil {
		return e
	}
	return err
}

// lastUser is the text of the last message that a user wrote; notices of the runtime are none.
func lastUser(req llm.Request) string {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == llm.RoleUser && m.Kind != llm.KindNotice {
			return m.Content
		}
	}
	return ""
}

// cloneRequest copies everything that a caller could change later.
func cloneRequest(r llm.Request) llm.Request {
	r.Messages = slices.Clone(r.Messages)
	for i, m := range r.Messages {
		m.Extra = slices.Clone(m.Extra)
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Extra = slices.Clone(m.ToolCalls[j].Extra)
		}
		r.Messages[i] = m
	}
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		r.Tools[i].Schema = slices.Clone(r.Tools[i].Schema)
	}
	if r.Temperature != nil {
		t := *r.Temperature
		r.Temperature = &t
	}
	return r
}
