package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"vitrine/llm"
	"vitrine/llm/attach"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// Why a fold runs.
const (
	foldTurns   = "turns"   // more turns than stay
	foldTokens  = "tokens"  // over the budget
	foldContext = "context" // the provider said so
	foldAsked   = "asked"   // the user
)

// phaseSummarised is the phase that may come more than once.
const phaseSummarised = "summarised"

// foldLimit is what the memory block is expected to grow by in a fold, in tokens.
const foldLimit = 300

// RefusedError is a fold that did not happen: everything stays as it was.
type RefusedError struct{ Why string }

// Error says why.
func (e *RefusedError) Error() string { return e.Why }

// folder does one fold: in front of a request of run r, or between turns when r is nil.
type folder struct {
	s       *session
	r       *run
	ctx     context.Context
	model   string
	id      string
	why     string
	started time.Time
	events  []trace.Event
	use     RunUsage
	short   map[int64]shortForm // of the results that can be shortened
}

// shortForm is a result with less in it.
type shortForm struct {
	Shortened
	whole *ArtifactRow // to keep, for one that was whole until now
}

func (f *folder) event(d trace.Data) trace.Event {
	if f.r != nil {
		return f.r.event(d)
	}
	return f.s.event(d)
}

// emit shows a phase at once and keeps it for the transaction.
func (f *folder) emit(d trace.CompactData) {
	f.s.eng.cfg.Bus.Publish(f.keep(d))
}

// keep keeps a phase for the transaction; it is shown when that is stored. Of several summaries, one a chunk, the last stays.
func (f *folder) keep(d trace.CompactData) trace.Event {
	d.ID, d.Reason = f.id, f.why
	ev := f.event(d)
	if n := len(f.events); d.Phase == phaseSummarised && n > 0 {
		if last, ok := f.events[n-1].Data.(trace.CompactData); ok && last.Phase == phaseSummarised {
			f.events = f.events[:n-1]
		}
	}
	f.events = append(f.events, ev)
	return ev
}

// items is the window as the planner sees it; what a shortened result costs is a guess.
func (s *session) items() []prompt.Item {
	out := make([]prompt.Item, len(s.window))
	for i, m := range s.window {
		out[i] = prompt.Item{N: m.N, Role: m.Role, Kind: m.Kind, Tokens: m.Tokens, Short: m.Tokens}
		if m.Role == llm.RoleTool && m.PromptContent == nil && m.Tokens > prompt.ShortTokens {
			out[i].Short = prompt.ShortTokens
		}
	}
	return out
}

// room is what the window has to fit into, in our own estimate's tokens.
func (s *session) room() prompt.Room {
	l := s.eng.cfg.Limits
	return prompt.Room{
		Fixed: s.eng.fixed + s.memoryTokens + s.reserve(), Limit: s.counter.Estimated(s.limit()), RawTurns: l.RawTurns,
		Memory: max(0, foldLimit-s.memoryTokens),
	}
}

// foldDue says whether the runtime itself would fold in front of the next request, and why.
func (s *session) foldDue() (why string, due bool) {
	if s.eng.cfg.Memory == nil || s.eng.cfg.Limits.Fold == FoldOff || s.foldRefused == s.row.TurnCount {
		return "", false
	}
	turns, tokens := prompt.Due(s.items(), s.room())
	switch {
	case tokens:
		return foldTokens, true
	case turns && s.row.TurnCount > s.foldHold:
		return foldTurns, true
	}
	return "", false
}

// fold runs the phases. *RefusedError means that all stays as it was; another error is ctx's or the store's.
func (f *folder) fold() error {
	f.started = f.s.eng.cfg.Clock.Now()
	room := f.s.room()
	if f.why == foldContext {
		// The provider counts more than we do, or has less room than we were told.
		used := room.Fixed
		for _, m := range f.s.window {
			used += m.Tokens
		}
		room.Limit = min(room.Limit, used*3/4)
	}
	plan := prompt.Make(f.items(), room, f.why == foldAsked || f.why == foldContext)
	if plan.Nothing() {
		return &RefusedError{Why: "there is nothing to fold: only the newest turn is in the window"}
	}
	before := f.s.eng.fixed + f.s.memoryTokens + plan.Before
	start := trace.CompactData{Phase: "started", FirstN: plan.First, LastN: plan.Last, TokensBefore: f.s.tokens(before), Limit: f.s.limit()}
	start.Leaving, start.Shortened, start.LeavingCount = f.s.describe(plan)
	f.emit(start)
	mem, err := f.remember(plan)
	if err != nil {
		return f.fail(err)
	}
	after := f.s.eng.fixed + memoryTokens(prompt.Block(pinTexts(mem.pins), mem.summary)) + plan.After
	// The frame of the memory block is there once and for all; what counts is what it says against what left.
	was, is := memorySize(f.s.summary, f.s.pins)+plan.Before, memorySize(mem.summary, mem.pins)+plan.After
	if is >= was {
		return f.refuse(fmt.Sprintf("it would not make the prompt smaller: %d tokens before, %d after", was, is))
	}
	merged := trace.CompactData{
		Phase: "merged", TokensBefore: f.s.tokens(before), TokensAfter: f.s.tokens(after), Changes: changesOf(mem.changes),
		Pinned: pinTexts(mem.added), Unpinned: pinTexts(mem.removed), Before: encodeSummary(f.s.summary), After: encodeSummary(mem.summary),
	}
	f.emit(merged)
	if err := f.askUser(merged); err != nil {
		return err
	}
	return f.commit(plan, mem, before, after)
}

// recollection is the memory as a fold would leave it.
type recollection struct {
	summary prompt.Summary
	changes []prompt.Change
	// pins is all of them, added and removed what differs.
	pins, added, removed []PinRow
}

// remember makes the new summary of what leaves, and the pins of its rules. A fold that only shortens keeps the memory.
func (f *folder) remember(plan prompt.Plan) (recollection, error) {
	mem := recollection{summary: f.s.summary, pins: f.s.pins}
	leaving := f.s.leaving(plan)
	if len(leaving) == 0 {
		return mem, nil
	}
	next, err := f.summarise(leaving)
	if err != nil {
		return mem, err
	}
	f.emit(trace.CompactData{Phase: "checked", After: encodeSummary(next)})
	mem.summary, mem.changes = prompt.Merge(f.s.summary, next, f.s.eng.cfg.Clock.Now())
	mem.fit(f.s.limit() / memoryShare)
	mem.pin(f.s.rulesOf(leaving), f.s.limit()/memoryShare)
	return mem, nil
}

// memoryShare is the part of the context that pinned rules may take, and the summary as much again: a fourth.
const memoryShare = 4

// fit lets the oldest entries of the longest list go until the summary costs at most room.
func (m *recollection) fit(room int) {
	for memorySize(m.summary, nil) > room {
		field := m.summary.Longest(prompt.Estimate)
		entry := m.summary.DropLast(field)
		for i := range m.changes {
			if c := &m.changes[i]; c.Field == field {
				gone := func(e string) bool { return e == entry }
				if slices.ContainsFunc(c.Kept, gone) {
					c.Dropped = append(c.Dropped, entry)
				}
				c.Added, c.Kept = slices.DeleteFunc(c.Added, gone), slices.DeleteFunc(c.Kept, gone)
			}
		}
	}
}

// pin adds rules. Where all pins together would cost more than room, the oldest rules give way; what the user pinned by hand
// stays.
func (m *recollection) pin(rules []PinRow, room int) {
	all := append(m.pins[:len(m.pins):len(m.pins)], rules...)
	cost := memorySize(prompt.Summary{}, all)
	old := len(m.pins)
	m.pins, m.added = nil, nil
	for i, p := range all {
		if cost > room && p.Source == "rule" {
			cost -= memorySize(prompt.Summary{}, []PinRow{p})
			if i < old {
				m.removed = append(m.removed, p)
			}
			continue
		}
		m.pins = append(m.pins, p)
		if i >= old {
			m.added = append(m.added, p)
		}
	}
}

// leaving is the messages that a plan takes out of the window.
func (s *session) leaving(plan prompt.Plan) []MessageRow {
	var out []MessageRow
	for _, m := range s.window {
		if plan.Last > 0 && m.N <= plan.Last && m.N >= plan.First && m.N != plan.Keep {
			out = append(out, m)
		}
	}
	return out
}

// rulesOf makes pins of the rules that the user stated in messages, each once.
func (s *session) rulesOf(messages []MessageRow) []PinRow {
	known := map[string]bool{}
	for _, p := range s.pins {
		known[p.Text] = true
	}
	var out []PinRow
	for _, m := range messages {
		if m.Kind != llm.KindUser {
			continue
		}
		for _, text := range prompt.Rules(attach.Text(m.Content)) {
			if !known[text] {
				known[text] = true
				out = append(out, PinRow{ID: s.eng.cfg.NewID(), SessionID: s.id, Text: text, Source: "rule", N: m.N, CreatedAt: s.eng.cfg.Clock.Now()})
			}
		}
	}
	return out
}

// askUser waits for the user's word where it is wanted.
func (f *folder) askUser(merged trace.CompactData) error {
	if f.s.eng.cfg.Limits.Fold != FoldAsk || f.why == foldAsked {
		return nil
	}
	merged.Phase = "asked"
	f.emit(merged)
	for {
		if _, ok := f.s.foldWord.TryGet(); !ok {
			break // words from before the question
		}
	}
	if f.r != nil { // what it waits is not the run's
		f.r.wall.stop()
		defer f.r.wall.start()
	}
	yes, err := f.s.foldWord.Get(f.ctx)
	if err != nil {
		return f.fail(fmt.Errorf("wait for the user's word on a fold: %w", err))
	}
	if !yes {
		return f.refuse("you said no; this turn goes on without it")
	}
	return nil
}

// fail ends a fold whose summary could not be had.
func (f *folder) fail(err error) error {
	if f.ctx.Err() != nil {
		f.emit(trace.CompactData{Phase: "failed", Detail: "stopped", DurationMS: f.took()})
		return err
	}
	f.emit(trace.CompactData{Phase: "failed", Detail: oneLine(err), DurationMS: f.took()})
	return &RefusedError{Why: oneLine(err)}
}

func (f *folder) refuse(why string) error {
	f.emit(trace.CompactData{Phase: "refused", Detail: why, DurationMS: f.took()})
	return &RefusedError{Why: why}
}

func (f *folder) took() int64 { return f.s.eng.cfg.Clock.Now().Sub(f.started).Milliseconds() }

// commit stores the fold in one transaction and takes it into the session.
func (f *folder) commit(plan prompt.Plan, mem recollection, before, after int) error {
	s := f.s
	row := Fold{
		ID: f.id, Reason: f.why, FirstN: plan.First, LastN: plan.Last, From: s.row.WindowFrom, Keep: s.row.KeepN,
		WasFrom: s.row.WindowFrom, WasKeep: s.row.KeepN, LastFold: s.lastFold, TokensBefore: s.tokens(before), TokensAfter: s.tokens(after),
		SummaryBefore: encodeSummary(s.summary), SummaryAfter: encodeSummary(mem.summary),
	}
	if plan.Last > 0 {
		row.From, row.Keep = plan.From, plan.Keep
	}
	if f.r != nil {
		row.RunID = f.r.row.ID
	}
	tx := s.tx()
	tx.Fold, tx.PinsAdd = &row, mem.added
	for _, n := range plan.Shorten {
		row.Shorten = append(row.Shorten, f.short[n].Shortened)
		if whole := f.short[n].whole; whole != nil {
			tx.Artifacts = append(tx.Artifacts, *whole)
		}
	}
	f.keep(trace.CompactData{
		Phase: "committed", FirstN: plan.First, LastN: plan.Last, TokensBefore: row.TokensBefore, TokensAfter: row.TokensAfter,
		DurationMS: f.took(), Tokens: f.use.Prompt + f.use.Completion, Pinned: pinTexts(mem.added), Unpinned: pinTexts(mem.removed), Before: row.SummaryBefore, After: row.SummaryAfter,
	})
	f.slim()
	tx.Events = slices.Clone(f.events)
	for _, p := range mem.added {
		tx.Events = append(tx.Events, f.event(trace.PinData{ID: p.ID, Text: p.Text, N: p.N, Action: "added"}))
	}
	for _, p := range mem.removed {
		tx.PinsRemove = append(tx.PinsRemove, p.ID)
		tx.Events = append(tx.Events, f.event(trace.PinData{ID: p.ID, Text: p.Text, Action: "removed"}))
	}
	if _, err := s.commit(tx); err != nil {
		f.events = f.events[:len(f.events)-1] // all but committed
		if errors.Is(err, ErrStale) {
			return f.refuse(oneLine(err))
		}
		return err
	}
	f.events = nil
	s.pins = mem.pins
	s.lastFold = f.id
	s.take(row, mem.summary)
	return nil
}

// slim takes the summaries out of the phases before the commit: the commit's own event has them, and they may be long.
func (f *folder) slim() {
	for i := range f.events {
		if d, ok := f.events[i].Data.(trace.CompactData); ok && d.Phase != "committed" {
			d.Before, d.After = nil, nil
			f.events[i].Data = d
		}
	}
}

// take brings the session's memory and window to where a fold left them.
func (s *session) take(row Fold, summary prompt.Summary) {
	s.mu.Lock()
	s.row.WindowFrom, s.row.KeepN, s.row.Summary = row.From, row.Keep, row.SummaryAfter
	s.mu.Unlock()
	s.sent.moved(breakFold)
	s.remember(summary)
	short := map[int64]Shortened{}
	for _, sh := range row.Shorten {
		short[sh.N] = sh
	}
	window := s.window[:0:0]
	for _, m := range s.window {
		if m.N < row.From && m.N != row.Keep {
			continue
		}
		if sh, ok := short[m.N]; ok {
			m.PromptContent, m.Tokens = sh.Content, sh.Tokens
		}
		window = append(window, m)
	}
	s.window = window
	s.counter.Drop(false)
}

// remember sets the summary and the memory block that follows from it and the pins.
func (s *session) remember(summary prompt.Summary) {
	s.summary = summary
	s.memory = prompt.Block(pinTexts(s.pins), summary)
	s.memoryTokens = memoryTokens(s.memory)
}

func memoryTokens(block string) int {
	if block == "" {
		return 0
	}
	return prompt.EstimateMessage(llm.Message{Content: block})
}

// memorySize is what the entries of a memory cost without their frame, in tokens.
func memorySize(s prompt.Summary, pins []PinRow) int {
	n := 0
	for _, list := range [][]string{s.Goals, s.Facts, s.Todos, s.Unresolved, pinTexts(pins)} {
		for _, e := range list {
			n += 2 + prompt.Estimate(e)
		}
	}
	return n
}

func pinTexts(pins []PinRow) []string {
	var out []string
	for _, p := range pins {
		out = append(out, p.Text)
	}
	return out
}

func encodeSummary(s prompt.Summary) json.RawMessage {
	if s.Empty() {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil // lists of strings and a time always encode
	}
	return b
}

func changesOf(changes []prompt.Change) []trace.CompactChange {
	var out []trace.CompactChange
	for _, c := range changes {
		out = append(out, trace.CompactChange(c))
	}
	return out
}

// tokens is an estimate as the meter shows it.
func (s *session) tokens(estimate int) int {
	n, _ := s.counter.Count(estimate)
	return n
}
