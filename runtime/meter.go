package runtime

import (
	"vitrine/llm"
	"vitrine/trace"
)

// measure works the context meter out from what is in memory and publishes nothing. It is the one number of the context's
// size: the trigger of a fold and the trace use the same.
func (s *session) measure() trace.Meter {
	window, turns := 0, 0
	for _, m := range s.window {
		window += m.Tokens
		if m.Kind == llm.KindUser {
			turns++
		}
	}
	fixed, memory := s.eng.fixed, s.memoryTokens
	all := fixed + memory + window
	total, estimated := s.counter.Count(all)
	m := trace.Meter{Limit: s.eng.cfg.Limits.ContextTokens, Turns: turns, MaxTurns: s.eng.cfg.Limits.RawTurns, Estimated: estimated}
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
