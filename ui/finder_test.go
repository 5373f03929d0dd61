package ui

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
)

// The fake as runtime.Finder: it looks at every message.

func (f *fake) Search(_ context.Context, q runtime.Search) (out runtime.Found, err error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("search %q", q.Text)
	for _, id := range slices.Sorted(maps.Keys(f.sessions)) {
		s := f.sessions[id]
		ns := f.matching(s, q)
		if len(ns) == 0 {
			continue
		}
		out.Sessions++
		out.Messages += int64(len(ns))
		n := 0
		for _, at := range slices.Backward(ns) {
			if n++; n > q.Each {
				break
			}
			m := s.msgs[at-1]
			h := runtime.Hit{SessionID: id, Title: s.row.Title, Starred: f.starred[id], N: m.N, Turn: f.turnAt(s, m.N), Kind: m.Kind, Tool: m.ToolName,
				At: s.row.UpdatedAt, Text: runtime.SearchText(m)}
			if n == min(q.Each, len(ns)) {
				h.More = int64(len(ns) - n)
			}
			out.Hits = append(out.Hits, h)
		}
	}
	if f.unread > 0 {
		f.unread--
		out.Unread = int64(f.unread)
	}
	return out, f.fail["search"]
}

func (f *fake) matching(s *fakeSession, q runtime.Search) (ns []int64) {
	for _, m := range s.msgs {
		if _, all := q.Query().Spans(runtime.SearchText(m), 1); all {
			ns = append(ns, m.N)
		}
	}
	return ns
}

func (f *fake) turnAt(s *fakeSession, n int64) (turn int) {
	for _, m := range s.msgs {
		if m.Kind == llm.KindUser && m.N <= n {
			turn++
		}
	}
	return turn
}

func (f *fake) Places(_ context.Context, q runtime.Search, id string) (runtime.Places, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	out := runtime.Places{Ns: f.matching(f.sessions[id], q)}
	out.All = int64(len(out.Ns))
	if f.unread > 0 {
		f.unread--
		out.Unread = int64(f.unread)
	}
	return out, f.fail["search"]
}

func (f *fake) Around(_ context.Context, id string, n int64, before, after int) (out runtime.Stretch, err error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("around %d", n)
	s := f.sessions[id]
	out.Newest = int64(len(s.msgs))
	from, to := max(n-int64(before), 1), min(n-1+int64(after), out.Newest)
	if from <= to {
		out.Messages = slices.Clone(s.msgs[from-1 : to])
		out.Turn = f.turnAt(s, from)
	}
	return out, f.fail["around"]
}

func (f *fake) TurnStart(_ context.Context, id string, turn int) (int64, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	for _, m := range s.msgs {
		if m.Kind == llm.KindUser && f.turnAt(s, m.N) == turn {
			return m.N, nil
		}
	}
	return 0, runtime.ErrNotFound
}

func (f *fake) TurnSeqs(_ context.Context, id string, turn int) (first, last int64, err error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.sessions[id].events {
		if e.Turn == turn && e.RunID != "" {
			if first == 0 {
				first = e.Seq
			}
			last = e.Seq
		}
	}
	if first == 0 {
		return 0, 0, runtime.ErrNotFound
	}
	return first, last, nil
}

func (f *fake) Stars(context.Context, string) ([]string, error) {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.starred)), f.fail["stars"]
}

func (f *fake) Star(_ context.Context, id, _ string, on bool) error {
	f.beside()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail["star"]; err != nil {
		return err
	}
	if on {
		f.starred[id] = true
	} else {
		delete(f.starred, id)
	}
	return nil
}

// long makes a session of many turns of which the newest messages are opened. Every hundredth question and the answer 30 have a word
// of their own; turn 40 fails.
func (f *fake) long(id string, turns, window int) *fakeSession {
	s := f.session(id)
	s.window = window
	add := func(turn, step int, d trace.Data) {
		s.events = append(s.events, trace.Event{TS: f.clk.Now().Add(time.Duration(turn) * time.Second), Seq: int64(len(s.events) + 1), SessionID: id,
			RunID: fmt.Sprint("run-", turn), Turn: turn, Step: step, Name: d.EventName(), Data: d})
	}
	for t := 1; t <= turns; t++ {
		question, answer := fmt.Sprintf("question %d", t), fmt.Sprintf("answer %d", t)
		if t%100 == 0 {
			question += " 部署窗口"
		}
		if t == 30 {
			answer += " needle"
		}
		n := int64(len(s.msgs) + 1)
		run := fmt.Sprint("run-", t)
		s.msgs = append(s.msgs, runtime.MessageRow{N: n, Kind: llm.KindUser, Role: llm.RoleUser, Content: question, RunID: run},
			runtime.MessageRow{N: n + 1, Kind: llm.KindAssistant, Role: llm.RoleAssistant, Content: answer, RunID: run, Step: 1})
		add(t, 0, trace.RunStartData{Input: question, Model: "m", N: n})
		add(t, 1, trace.LLMCallData{Model: "m", LatencyMS: 10, FinishReason: "stop", Attempts: 1})
		add(t, 1, trace.AnswerData{Text: answer, N: n + 1})
		state := "succeeded"
		if t == 40 {
			state = "failed"
		}
		add(t, 1, trace.RunEndData{State: state, Steps: 1, DurationMS: 20})
	}
	s.row.NextN, s.row.NextSeq, s.row.TurnCount = int64(len(s.msgs)+1), int64(len(s.events)+1), turns
	return s
}
