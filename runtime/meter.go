package runtime

import (
	"fmt"

	"vitrine/llm"
	"vitrine/runtime/config"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// measure works the context meter out from what is in memory and publishes nothing. It is the one number of the context's
// size: the trigger of a fold and the trace use the same.
func (s *session) measure() trace.Meter {
	window, turns := 0, 0
	for i := range s.window { // rows are too large to be copied for each request
		m := &s.window[i]
		window += m.Tokens
		if m.Kind == llm.KindUser {
			turns++
		}
	}
	fixed, memory := s.eng.fixed, s.memoryTokens
	all := fixed + memory + window
	total, estimated := s.counter.Count(all)
	m := trace.Meter{Limit: s.shownLimit(), Turns: turns, MaxTurns: s.eng.cfg.Limits.RawTurns, Estimated: estimated}
	if all > 0 {
		m.System = total * fixed / all
		m.Memory = total * memory / all
	}
	m.Window = total - m.System - m.Memory
	s.mu.Lock()
	m.Cached = s.meter.Cached
	s.meter = m
	s.mu.Unlock()
	return m
}

// shownLimit is limit for the meter, which believes the first report of a cut already.
func (s *session) shownLimit() int {
	if s.cut.at > 0 {
		return min(s.cut.at, s.eng.cfg.Limits.ContextTokens)
	}
	return s.limit()
}

// limit is what a request has to fit into, in tokens: what was configured, or less where the server cuts prompts.
func (s *session) limit() int {
	limit := s.eng.cfg.Limits.ContextTokens
	if s.cut.sure {
		limit = min(limit, s.cut.at)
	}
	return limit
}

// reserve is what a reply is given within the limit, in tokens.
func (s *session) reserve() int { return s.reserveOf(s.limit()) }

// reserveOf is what the server is told that a reply may have, at most half of all, or a share that most replies keep to.
func (s *session) reserveOf(limit int) int {
	return max(min(1024, limit/8), min(s.eng.cfg.Limits.ReplyTokens, limit/2))
}

// serverCut is a server's own window as its reports betray it: some servers cut a prompt silently, and the model forgets its
// instructions. The zero value is a server of which nothing of the kind was seen.
type serverCut struct {
	at int // to how many tokens
	// took and of are the last report and what we estimated for it.
	took, of int
	sure     bool // two reports in a row said so; one alone may be wrong
	told     bool
	// bare says that the server leaves the tools out of the prompt, as those do whose template for the model knows none.
	bare, bareTold bool
	knows          bool // a tool was called, so they are there and only not counted
}

// leastCut is the smallest window that a server is believed to have: fewer tokens are no count of a prompt.
const leastCut = 512

// leastBare is the smallest count of a prompt without its tools.
const leastBare = 50

// leastGrowth is what part of an estimate the next one has to be larger by, for an equal report to say that something was cut.
const leastGrowth = 20

// watch takes in what the server counted for a request that we estimated, and of which tools are a part; calls says that the model
// called some. It gives what to tell the user, once.
func (c *serverCut) watch(u llm.Usage, estimate, tools int, calls bool) *trace.NoticeData {
	took := *u.Prompt
	if u.Cached != nil && *u.Cached >= took {
		took += *u.Cached // some servers leave out what came from their cache
	}
	c.weigh(took, estimate, tools, calls)
	if c.bare {
		whole := estimate
		if estimate -= tools; !c.bareTold && !c.knows {
			c.bareTold = true
			c.took, c.of = took, estimate
			return &trace.NoticeData{
				Code:    "tools_left_out",
				Message: "the server seems to leave the tools out of the prompt",
				Why:     fmt.Sprintf("about %s were sent, %s of them tools, and it counted %d", trace.FormatTokens(whole), trace.FormatTokens(tools), took),
				Todo:    "take a model whose chat template knows tools, or give it the tools as text with --protocol json",
			}
		}
	}
	same := took == c.took && estimate >= c.of+c.of/leastGrowth
	c.took, c.of = took, estimate
	if same && took >= leastCut && took*10 <= estimate*9 { // more was sent, and the very same number came: no estimate is so wrong
		c.at, c.sure = took, true
		return c.tell(took, estimate)
	}
	if took < leastCut || took*2 >= estimate {
		if took > c.at || !c.sure {
			c.at, c.sure = 0, false // it took more, or the one report was wrong
		}
		return nil
	}
	c.sure = c.at > 0 && took*20 >= c.at*19 && took*20 <= c.at*21
	c.at = took
	return c.tell(took, estimate)
}

// weigh finds out whether the tools are left out: the count is far from the whole and near to what else was sent.
func (c *serverCut) weigh(took, estimate, tools int, calls bool) {
	c.knows = c.knows || calls
	switch rest := estimate - tools; {
	case took*10 > rest*14:
		c.bare = false
	case tools > 0 && c.at == 0 && took >= leastBare && took*2 < estimate && took*10 >= rest*6:
		c.bare = true
	}
}

// tell makes the notice, once.
func (c *serverCut) tell(took, estimate int) *trace.NoticeData {
	if c.told {
		return nil
	}
	c.told = true
	return &trace.NoticeData{
		Code:    "server_cuts",
		Message: fmt.Sprintf("the server seems to cut prompts at about %s tokens", trace.FormatTokens(took)),
		Why:     fmt.Sprintf("about %s were sent, it counted %d; the beginning, with the instructions, may be lost", trace.FormatTokens(estimate), took),
		Todo:    "give the server a larger context window (with Ollama: OLLAMA_CONTEXT_LENGTH); the context is kept within what it takes meanwhile",
	}
}

// refused takes in that the server refused a request of that many tokens as too long: the next ones stay below it with room
// for the reply.
func (c *serverCut) refused(tokens int) {
	if tokens >= leastCut {
		c.at, c.sure, c.told = tokens, true, true
	}
}

// fits says whether an input can be sent at all: whatever is folded, it stands beside what is fixed.
func (s *session) fits(text string) error {
	limit := s.eng.cfg.Limits.ContextTokens
	reserve := s.reserveOf(limit)
	tokens, fixed := prompt.EstimateMessage(llm.Message{Content: text}), s.eng.fixed
	if !s.busy() {
		// Otherwise a run has these, and they may change until the input's turn comes.
		tokens, fixed = s.tokensOf(tokens), s.tokensOf(fixed+s.memoryTokens)
	}
	if tokens+fixed+reserve > limit {
		return &TooLargeError{Tokens: tokens, Fixed: fixed + reserve, Limit: limit}
	}
	return nil
}

// nearlyFull is the share of the context from which a session that never folds says what is coming, in percent.
const nearlyFull = 80

// warnFull says early what will happen when the context is full and nothing is folded, once a turn.
func (r *run) warnFull(m trace.Meter) {
	used, limit := m.Used()+r.s.reserve(), r.s.eng.cfg.Limits.ContextTokens
	if r.s.eng.cfg.Limits.Fold != FoldOff || r.warned || used*100 < limit*nearlyFull {
		return
	}
	r.warned = true
	r.events = append(r.events, r.event(trace.NoticeData{
		Code:    "context_soon",
		Message: fmt.Sprintf("the context is %d%% full and folding is off", used*100/max(1, limit)),
		Why:     fmt.Sprintf("%d of %d tokens, the reply's %d included (AGENT_COMPACT=off); when it is full, turns end without an answer", used, limit, r.s.reserve()),
		Todo:    "/compact folds now; /new starts an empty session; AGENT_COMPACT=auto folds by itself",
	}))
}

// warnCost says once a run that its cap on the cost cannot hold, because nobody knows what a reply cost. The offline model is free.
func (r *run) warnCost(u llm.Usage) {
	limit, model := r.row.Budget.Cost, r.row.Versions.Model
	if limit == nil || u.Cost != nil || r.row.Usage.Unpriced || model == config.OfflineModel {
		return
	}
	r.row.Usage.Unpriced = true
	digits := 4
	if *limit < 0.0001 {
		digits = 6 // the least that can be set
	}
	note := trace.NoticeData{
		Code:    "cost_unknown",
		Message: fmt.Sprintf("the cost of %s is unknown, so AGENT_MAX_RUN_COST (%.*f) cannot hold", model, digits, *limit),
		Why:     "the server did not report it, and no price of that model is known",
		Todo:    "[price.MODEL] in the configuration file sets it",
	}
	if u.Prompt == nil || u.Completion == nil || *u.Prompt <= 0 {
		note.Why, note.Todo = "the server did not report what the reply used", "AGENT_MAX_RUN_TOKENS holds, by an estimate"
	}
	r.events = append(r.events, r.event(note))
}
