// Package llmtest holds what tests of model clients share: one suite that every llm.Client passes, and a server that
// speaks the chat completions protocol and misbehaves on demand.
//
// The suite (Suite) describes what the model shall do as a Scenario, in no protocol's words; each client's tests turn it
// into their own script. For an HTTP client that is a Server, which plays Replies: streams made of Steps, or plain
// answers, that may be slow, split at any byte, broken off or held open. A Server can also stand behind the built program
// in tests of the whole. ValidHistory says what a strict server would refuse.
package llmtest

import (
	"encoding/json"

	"vitrine/llm"
)

// Scenario is what the model shall do, one Play for each request, in order.
type Scenario struct {
	Plays []Play
	// Repeat lets the last Play answer every later request too.
	Repeat bool
}

// Play is one reply. Its parts come in the order of the fields.
type Play struct {
	// Reasoning and Text are deltas.
	Reasoning []string
	Text      []string
	// Calls are asked for in the same reply; an empty ID means that the server sends none.
	Calls []llm.ToolCall
	// Usage is reported at the end, as far as it is known.
	Usage llm.Usage
	// Finish is the reason; empty means tool_calls with calls and stop without.
	Finish llm.Finish
	// End says how the reply ends.
	End Ending
	// Status is the HTTP status of EndFail.
	Status int
}

// Ending is how a reply ends.
type Ending int

// The endings.
const (
	EndDone Ending = iota // properly
	EndFail               // with an error of Play.Status, before anything came
	EndCut                // the stream breaks after what the Play has, before the reason
	EndHang               // nothing more comes until the request is cancelled
)

// finish is the reason that the play ends with.
func (p Play) finish() llm.Finish {
	switch {
	case p.Finish != "":
		return p.Finish
	case len(p.Calls) > 0:
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

// ReplyTo turns a play into what a Server sends.
func ReplyTo(p Play) Reply {
	if p.End == EndFail {
		return Refuse(p.Status, "")
	}
	var steps []Step
	for _, s := range p.Reasoning {
		steps = append(steps, Reasoning(s))
	}
	for _, s := range p.Text {
		steps = append(steps, Text(s))
	}
	for i, c := range p.Calls {
		steps = append(steps, CallHead(i, c.ID, c.Name))
		for _, part := range cut(c.Arguments, 7) {
			steps = append(steps, CallArguments(i, part))
		}
	}
	switch p.End {
	case EndCut:
		return Stream(steps...).Cut(Reset)
	case EndHang:
		return Stream(steps...).Hold()
	}
	steps = append(steps, Finish(string(p.finish())))
	if p.Usage != (llm.Usage{}) {
		steps = append(steps, usage(p.Usage))
	}
	return Stream(append(steps, DoneMark())...)
}

// Serve makes a server that plays a scenario.
func (s Scenario) Serve(srv *Server) {
	for i, p := range s.Plays {
		r := ReplyTo(p)
		if s.Repeat && i == len(s.Plays)-1 {
			srv.Handle(func(Request) Reply { return r })
			return
		}
		srv.Push(r)
	}
}

// cut cuts s into pieces of n runes.
func cut(s string, n int) []string {
	var out []string
	for r := []rune(s); len(r) > 0; {
		k := min(n, len(r))
		out = append(out, string(r[:k]))
		r = r[k:]
	}
	return out
}

// compactJSON encodes v, which the caller knows can be encoded.
func compactJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("llmtest: " + err.Error())
	}
	return string(b)
}
