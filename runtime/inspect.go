package runtime

import (
	"context"
	"fmt"

	"vitrine/llm"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// Fate is what the next fold would do to a part of the context.
type Fate string

// The fates.
const (
	FateStays     Fate = "stays"
	FateRebuilt   Fate = "rebuilt"
	FateLeaves    Fate = "leaves"
	FateShortened Fate = "shortened"
)

// ContextPart is one part of the next request.
type ContextPart struct {
	// Kind is "system", "tools", "memory", or the message's kind.
	Kind string
	// N is the message's number, 0 for what is no stored message; Turn is the turn it belongs to, 0 for none.
	N    int64
	Turn int
	// Title is a few clean words: the tool's name, the beginning of a text.
	Title  string
	Tokens int
	// Sent says that the part stood in the last request as it is, so that the provider is expected to have it cached.
	Sent bool
	Fate Fate
	// Content is what the model gets, whole.
	Content string
}

// ContextView is what the next request of a session would hold, before the user's next words.
type ContextView struct {
	Model string
	Meter trace.Meter
	// Reserve is kept for the reply, in tokens.
	Reserve int
	Parts   []ContextPart
	Pins    []PinRow
	// Tools are the tools with what holds for them in this session.
	Tools []ToolInfo
	// FoldAuto says that the runtime folds by itself; FoldAfter is how many turns are left until it does for their number.
	FoldAuto  bool
	FoldAfter int
	// Running says that a turn is running, which shows in its trace what was sent: only Tools are there.
	Running bool
}

// Context implements Agent.
func (e *Engine) Context(ctx context.Context, id string) (ContextView, error) {
	s, err := e.find(id)
	if err != nil {
		return ContextView{}, err
	}
	var v ContextView
	err = s.do(ctx, func() error {
		if r := s.running(); r != nil {
			if at := r.standsAt(); at != nil {
				v = at.view
				v.Tools = s.toolInfos()
				return nil
			}
		}
		if s.busy() {
			v = ContextView{Running: true, Tools: s.toolInfos()}
			return nil
		}
		v = s.context()
		return nil
	})
	return v, err
}

// context lists the parts in the order in which they are sent.
func (s *session) context() ContextView {
	l := s.eng.cfg.Limits
	v := ContextView{
		Model: s.model(), Meter: s.measure(), Reserve: s.reserve(), Pins: append([]PinRow(nil), s.pins...),
		FoldAuto: s.eng.cfg.Memory != nil && l.Fold != FoldOff,
	}
	v.Tools = s.toolInfos()
	sent := s.sentTo > 0
	system := prompt.EstimateMessage(llm.Message{Content: s.eng.cfg.System})
	v.Parts = append(v.Parts,
		ContextPart{Kind: "system", Title: "system prompt", Tokens: s.tokensOf(system), Sent: sent, Fate: FateStays, Content: s.eng.cfg.System},
		ContextPart{Kind: "tools", Title: counted(len(s.eng.specs), "tool", "tools"), Tokens: s.tokensOf(s.eng.fixed - system), Sent: sent, Fate: FateStays, Content: toolsText(s.eng.specs)})
	if s.memory != "" {
		v.Parts = append(v.Parts, ContextPart{
			Kind: "memory", Title: "memory: " + counted(len(s.pins), "pin", "pins") + ", " + counted(s.summary.Entries(), "entry", "entries"), Tokens: s.tokensOf(s.memoryTokens),
			Sent: sent && s.sentMemory == s.memory, Fate: FateRebuilt, Content: s.memory,
		})
	}
	plan := prompt.Make(s.items(), s.room(), true)
	leaves, shortened := map[int64]bool{}, map[int64]bool{}
	for _, n := range plan.Shorten {
		shortened[n] = true
	}
	turns, turn := 0, s.row.TurnCount
	for _, m := range s.window {
		if plan.Last > 0 && m.N >= plan.First && m.N <= plan.Last && m.N != plan.Keep {
			leaves[m.N] = true
		}
		if m.Kind == llm.KindUser {
			turns++
			turn--
		}
	}
	v.FoldAfter = max(0, l.RawTurns+l.RawTurns/4-turns)
	for _, m := range s.window {
		if m.Kind == llm.KindUser {
			turn++
		}
		p := ContextPart{
			Kind: string(m.Kind), N: m.N, Turn: turn, Title: titleOfMessage(m), Tokens: s.tokensOf(m.Tokens), Fate: FateStays,
			Sent: sent && s.sentMemory == s.memory && m.N <= s.sentTo, Content: wireMessage(m).Content,
		}
		for _, c := range m.ToolCalls {
			p.Content += fmt.Sprintf("\n[call %s %s]", c.Name, c.Arguments)
		}
		switch {
		case leaves[m.N]:
			p.Fate = FateLeaves
		case shortened[m.N]:
			p.Fate = FateShortened
		}
		v.Parts = append(v.Parts, p)
	}
	return v
}

// tokensOf is a part's share of the one number that the meter shows.
func (s *session) tokensOf(estimate int) int { return int(float64(estimate)*s.counter.Factor() + 0.5) }

func toolsText(specs []llm.ToolSpec) string {
	text := ""
	for _, t := range specs {
		text += t.Name + ": " + t.Description + "\n" + string(t.Schema) + "\n\n"
	}
	return text
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
