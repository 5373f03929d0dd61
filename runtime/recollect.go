package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"vitrine/runtime/clock"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// loadMemory reads what is remembered of a session.
func (s *session) loadMemory(ctx context.Context) error {
	s.summary = prompt.Summary{}
	if len(s.row.Summary) > 0 {
		if err := json.Unmarshal(s.row.Summary, &s.summary); err != nil {
			return fmt.Errorf("read the summary of session %s: %w", s.id, err)
		}
	}
	s.pins, s.lastFold = nil, ""
	if mem := s.eng.cfg.Memory; mem != nil {
		var err error
		if s.pins, err = mem.Pins(ctx, s.id); err != nil {
			return fmt.Errorf("read the pins of session %s: %w", s.id, err)
		}
		folds, err := mem.Folds(ctx, s.id, maxUndo)
		if err != nil {
			return fmt.Errorf("read the folds of session %s: %w", s.id, err)
		}
		if f := newestFold(folds); f != nil {
			s.lastFold = f.ID
		}
	}
	s.remember(s.summary)
	return nil
}

// snapshotFolds bounds the folds that a page is told of.
const snapshotFolds = 200

// recall puts pins and folds into a snapshot.
func (s *session) recall(ctx context.Context, snap *Snapshot) error {
	mem := s.eng.cfg.Memory
	if mem == nil {
		return nil
	}
	var err error
	if snap.Pins, err = mem.Pins(ctx, s.id); err != nil {
		return fmt.Errorf("read the pins of session %s: %w", s.id, err)
	}
	if snap.Folds, err = mem.Folds(ctx, s.id, snapshotFolds); err != nil {
		return fmt.Errorf("read the folds of session %s: %w", s.id, err)
	}
	return nil
}

// maxUndo is how many folds back one looks for one that was not undone.
const maxUndo = 64

func newestFold(folds []FoldRow) *FoldRow {
	for i := range folds {
		if folds[i].UndoneAt == nil {
			return &folds[i]
		}
	}
	return nil
}

// makeRoom folds in front of a request when it is due. A fold that fails or is refused leaves all as it was, and the run goes
// on; only a store that will not take it ends the run. ok is false when the provider refused the prompt as too long and
// nothing made it smaller: the same request is never sent again.
func (r *run) makeRoom() (ok bool, err error) {
	s := r.s
	why := r.why
	r.why = ""
	if why == "" {
		var due bool
		if why, due = s.foldDue(); !due {
			return true, nil
		}
	}
	f := &folder{s: s, r: r, ctx: r.ctx, model: r.row.Versions.Model, id: s.eng.cfg.NewID(), why: why}
	err = f.fold()
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		s.foldRefused = s.row.TurnCount
		r.events = append(r.events, f.events...)
		return why != foldContext, nil
	case err != nil && r.ctx.Err() != nil:
		r.events = append(r.events, f.events...)
		return true, nil
	case err != nil:
		return false, err
	}
	if why == foldContext {
		r.failure = nil
	}
	m := s.measure()
	r.tell(trace.StateData{State: string(r.state), Meter: &m})
	return true, nil
}

// foldNow folds between turns by the user's wish, in a goroutine of its own; input that comes meanwhile is queued.
func (s *session) foldNow() error {
	if s.eng.cfg.Memory == nil {
		return errors.New("this store cannot fold")
	}
	if s.busy() {
		return errors.New("a turn is running; fold when it has ended")
	}
	ctx, cancel := s.eng.cfg.Clock.WithCancel(s.patience)
	f := &folder{s: s, ctx: ctx, model: s.model(), id: s.eng.cfg.NewID(), why: foldAsked}
	s.mu.Lock()
	s.folding = true
	s.stopFold = cancel
	ended := clock.NewLatch(s.eng.cfg.Clock)
	s.foldEnded = ended
	s.mu.Unlock()
	s.eng.done.Go(func() {
		defer ended.Open()
		defer cancel()
		err := f.fold()
		end := func() { s.folded(f, err) }
		if s.mailbox.Put(context.Background(), end) != nil {
			return // the session is gone; nothing was written
		}
	})
	return nil
}

// folded follows a fold between turns.
func (s *session) folded(f *folder, err error) {
	s.mu.Lock()
	s.folding, s.stopFold = false, nil
	s.mu.Unlock()
	var refused *RefusedError
	if errors.As(err, &refused) && len(f.events) == 0 {
		s.publish(trace.CompactData{ID: f.id, Phase: "refused", Reason: f.why, Detail: refused.Why})
	}
	if err != nil && refused == nil && !errors.Is(err, context.Canceled) {
		s.tell(err)
	}
	if len(f.events) > 0 {
		tx := s.tx()
		tx.Events = f.events
		if _, err := s.commit(tx); err != nil {
			s.tell(err)
		}
	}
	m := s.measure()
	s.publish(trace.StateData{Meter: &m})
	s.mu.Lock()
	hold := s.closing || s.shutting || s.lost
	s.mu.Unlock()
	if hold || s.unfinished != nil {
		return
	}
	if err := s.startQueued(); err != nil {
		s.tell(err)
	}
}

func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cur != nil || s.folding
}

func (s *session) model() string {
	if s.row.Model == "" {
		return s.eng.cfg.DefaultModel
	}
	return s.row.Model
}

// undoFold takes the newest fold back: its messages are in the window again, the summary is what it was.
func (s *session) undoFold() error {
	if s.eng.cfg.Memory == nil || s.busy() {
		return errors.New("a turn is running; the fold can be taken back when it has ended")
	}
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	folds, err := s.eng.cfg.Memory.Folds(ctx, s.id, maxUndo)
	if err != nil {
		return fmt.Errorf("read the folds of session %s: %w", s.id, err)
	}
	last := newestFold(folds)
	if last == nil {
		return &RefusedError{Why: "there is no fold to take back"}
	}
	var old prompt.Summary
	if len(last.SummaryBefore) > 0 {
		if err := json.Unmarshal(last.SummaryBefore, &old); err != nil {
			return fmt.Errorf("read the summary before the fold: %w", err)
		}
	}
	back, restore, err := s.unfolded(ctx, last)
	if err != nil {
		return err
	}
	used := s.eng.fixed + memoryTokens(prompt.Block(pinTexts(s.pins), old)) + s.reserve()
	for _, m := range back {
		used += m.Tokens
	}
	// The anchor says nothing of another window: what decides is the ratio alone, as after the undo.
	if s.tokensOf(used) > s.limit() {
		return &RefusedError{Why: fmt.Sprintf("the unfolded context would be about %d tokens, more than the %d of AGENT_MAX_CTX_TOKENS", s.tokensOf(used), s.limit())}
	}
	tx := s.tx()
	tx.Fold = &Fold{
		ID: last.ID, Undo: true, From: last.WasFrom, Keep: last.WasKeep, WasFrom: s.row.WindowFrom, WasKeep: s.row.KeepN, LastFold: last.ID,
		SummaryBefore: last.SummaryAfter, SummaryAfter: last.SummaryBefore, Shorten: restore,
	}
	tx.Events = []trace.Event{s.event(trace.CompactData{
		ID: last.ID, Phase: "undone", FirstN: last.FirstN, LastN: last.LastN, TokensBefore: last.TokensAfter, TokensAfter: s.tokens(used - s.reserve()),
	})}
	if _, err := s.commit(tx); err != nil {
		return err
	}
	s.mu.Lock()
	s.row.WindowFrom, s.row.KeepN, s.row.Summary = last.WasFrom, last.WasKeep, last.SummaryBefore
	s.mu.Unlock()
	s.window, s.lastFold = back, ""
	for _, f := range folds {
		if f.UndoneAt == nil && f.ID != last.ID {
			s.lastFold = f.ID
			break
		}
	}
	s.remember(old)
	s.counter.Drop(false)
	s.sent.moved(breakUndo)
	s.foldHold = s.row.TurnCount + 1
	m := s.measure()
	s.publish(trace.StateData{Meter: &m})
	return nil
}

// unfolded gives the window as it was before a fold, with what came since, and the results to restore.
func (s *session) unfolded(ctx context.Context, last *FoldRow) ([]MessageRow, []Shortened, error) {
	var restore []Shortened
	short := map[int64]bool{}
	for _, sh := range last.Shorten {
		short[sh.N] = true
	}
	var back []MessageRow
	seen := map[int64]bool{}
	add := func(m MessageRow) {
		if seen[m.N] || m.N < last.WasFrom && m.N != last.WasKeep {
			return
		}
		seen[m.N] = true
		if short[m.N] && m.PromptContent != nil {
			m.PromptContent = nil
			m.Tokens = prompt.EstimateMessage(wireMessage(m))
			restore = append(restore, Shortened{N: m.N, Tokens: m.Tokens})
		}
		back = append(back, m)
	}
	if last.LastN > 0 {
		rows, err := s.eng.cfg.Memory.Folded(ctx, s.id, last.FirstN, last.LastN)
		if err != nil {
			return nil, nil, fmt.Errorf("read the folded messages of session %s: %w", s.id, err)
		}
		for _, m := range rows {
			add(m)
		}
	}
	for _, m := range s.window {
		add(m)
	}
	slices.SortFunc(back, func(a, b MessageRow) int { return cmp.Compare(a.N, b.N) })
	return back, restore, nil
}

// maxPin bounds a pin in characters, maxPins how many a session may have by hand.
const (
	maxPin  = 500
	maxPins = 50
)

// pin pins a sentence by the user's wish.
func (s *session) pin(text string) error {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), unprintable), " ")
	switch {
	case text == "":
		return errors.New("there is nothing to pin")
	case len([]rune(text)) > maxPin:
		return fmt.Errorf("a pin has at most %d characters", maxPin)
	case s.pinnedByHand() >= maxPins:
		return fmt.Errorf("%d sentences are pinned already; /unpin one first", s.pinnedByHand())
	case s.busy():
		return errors.New("a turn is running; pin when it has ended")
	}
	for _, p := range s.pins {
		if p.Text == text {
			return nil
		}
	}
	p := PinRow{ID: s.eng.cfg.NewID(), SessionID: s.id, Text: text, Source: "user", CreatedAt: s.eng.cfg.Clock.Now()}
	tx := s.tx()
	tx.PinsAdd = []PinRow{p}
	tx.Events = []trace.Event{s.event(trace.PinData{ID: p.ID, Text: p.Text, Action: "added"})}
	if _, err := s.commit(tx); err != nil {
		return err
	}
	s.pins = append(s.pins, p)
	s.repinned()
	return nil
}

func (s *session) pinnedByHand() int {
	n := 0
	for _, p := range s.pins {
		if p.Source == "user" {
			n++
		}
	}
	return n
}

// unpin takes a pin away, named by its id, its text or its number from 1.
func (s *session) unpin(which string) error {
	if s.busy() {
		return errors.New("a turn is running; unpin when it has ended")
	}
	which = strings.TrimSpace(which)
	for i, p := range s.pins {
		if p.ID != which && p.Text != which && fmt.Sprint(i+1) != which {
			continue
		}
		tx := s.tx()
		tx.PinsRemove = []string{p.ID}
		tx.Events = []trace.Event{s.event(trace.PinData{ID: p.ID, Text: p.Text, Action: "removed"})}
		if _, err := s.commit(tx); err != nil {
			return err
		}
		s.pins = append(s.pins[:i:i], s.pins[i+1:]...)
		s.repinned()
		return nil
	}
	return fmt.Errorf("pin %q: %w", which, ErrNotFound)
}

func (s *session) repinned() {
	s.sent.moved(breakPin)
	s.remember(s.summary)
	m := s.measure()
	s.publish(trace.StateData{Meter: &m})
}
