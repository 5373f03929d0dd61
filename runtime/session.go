package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vitrine/llm"
	"vitrine/runtime/clock"
	"vitrine/runtime/prompt"
	"vitrine/trace"
)

// mailboxBound is how many requests may wait for a session's actor.
const mailboxBound = 256

// session is the actor of one open session. Its loop runs requests one by one; fields without a lock belong to the loop,
// and while a run is on, window, counter and row belong to the run.
type session struct {
	eng     *Engine
	id      string
	mailbox *clock.Queue[func()]
	// writing is the one place in which a commit may stand: a full queue of one.
	writing *clock.Queue[struct{}]
	// patience ends when the engine shuts down: a commit that fails then is not tried for ever.
	patience context.Context
	giveUp   context.CancelFunc

	row     SessionRow
	window  []MessageRow
	counter prompt.Counter
	sent    prefixLog
	made    madeRequest
	cut     serverCut
	inbox   []InboxRow
	// What is remembered of what left the window: pins, summary, and the block that the prompt holds of them.
	pins         []PinRow
	summary      prompt.Summary
	memory       string
	memoryTokens int
	lastFold     string // the newest fold that was not undone
	foldHold     int    // no fold for too many turns up to this turn
	foldRefused  int    // no fold at all in this turn
	foldWord     *clock.Queue[bool]
	// The last request held messages up to sentTo and this memory block.
	sentTo     int64
	sentMemory string
	// unfinished is a run of an earlier process that waits to be resumed or given up.
	unfinished *unfinishedRun
	// askedAt is when a run was left here for the user's word on a call.
	askedAt time.Time

	mu       sync.Mutex
	opened   bool
	lost     bool // fenced: another process has the session
	closing  bool // no further turn starts
	folding  bool // a fold between turns is on
	shutting bool
	cur      *run
	stopFold context.CancelFunc // ends the fold that is on between turns
	// foldEnded opens when the last fold between turns has ended and told so; nil when there was none.
	foldEnded *clock.Latch
	meter     trace.Meter
	seq       int64 // of the newest event that is known to be stored
}

type unfinishedRun struct {
	row   RunRow
	calls []CallRow
}

func newSession(e *Engine, id string) *session {
	s := &session{
		eng: e, id: id,
		mailbox: clock.NewQueue[func()](e.cfg.Clock, mailboxBound),
		writing: clock.NewQueue[struct{}](e.cfg.Clock, 1), foldWord: clock.NewQueue[bool](e.cfg.Clock, 8), foldRefused: -1,
	}
	s.patience, s.giveUp = e.cfg.Clock.WithCancel(context.Background())
	return s
}

func (s *session) loop() {
	defer s.giveUp()
	for {
		f, err := s.mailbox.Get(context.Background())
		if err != nil {
			return
		}
		f()
	}
}

// do runs f in the actor and waits for it. When ctx ends before the actor took f, f never runs.
func (s *session) do(ctx context.Context, f func() error) error {
	var (
		mu        sync.Mutex
		abandoned bool
		result    error
	)
	done := clock.NewLatch(s.eng.cfg.Clock)
	job := func() {
		mu.Lock()
		skip := abandoned
		mu.Unlock()
		if skip {
			return
		}
		err := f()
		mu.Lock()
		result = err
		mu.Unlock()
		done.Open()
	}
	if err := s.mailbox.Put(ctx, job); err != nil {
		if errors.Is(err, clock.ErrClosed) {
			return ErrClosed
		}
		return fmt.Errorf("reach session %s: %w", s.id, err)
	}
	err := done.Wait(ctx)
	mu.Lock()
	defer mu.Unlock()
	if err != nil {
		abandoned = true
		return fmt.Errorf("wait for session %s: %w", s.id, err)
	}
	return result
}

func (s *session) isOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// running gives the run that is on, nil for none.
func (s *session) running() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cur
}

func (s *session) open(create bool) (Snapshot, error) {
	ctx, cancel := s.eng.storeContext()
	defer cancel()
	if s.isOpen() && s.writable() == nil {
		return s.snapshot(ctx)
	}
	if r := s.running(); r != nil {
		// Lost to another process in the middle of a turn, which may not go on under a new fence as if nothing had been.
		r.stop(ReasonStore)
		return Snapshot{}, fmt.Errorf("the turn of session %s that was on is still ending: %w", s.id, ErrFenced)
	}
	// Closed, or lost to another process: what it holds now is looked up again.
	row, err := s.eng.cfg.Store.OpenSession(ctx, s.id, s.eng.cfg.User, create)
	if errors.Is(err, ErrHeld) {
		s.row = row
		snap, snapErr := s.snapshot(ctx)
		if snapErr != nil {
			return Snapshot{}, err
		}
		return snap, err
	}
	if err != nil {
		return Snapshot{}, err // which names the session
	}
	s.row = row
	if err := s.load(ctx); err != nil {
		_ = s.eng.cfg.Store.ReleaseSession(ctx, s.id, row.Fence) // the session stays ours until the process ends otherwise
		return Snapshot{}, err
	}
	s.mu.Lock()
	s.opened, s.lost, s.closing = true, false, false
	s.mu.Unlock()
	s.measure()
	return s.snapshot(ctx)
}

// load reads what a run needs: the window, the queue and an unfinished run.
func (s *session) load(ctx context.Context) error {
	var err error
	if s.window, err = s.eng.cfg.Store.Window(ctx, s.id); err != nil {
		return fmt.Errorf("read the messages of session %s: %w", s.id, err)
	}
	if s.inbox, err = s.eng.cfg.Store.Inbox(ctx, s.id); err != nil {
		return fmt.Errorf("read the queued input of session %s: %w", s.id, err)
	}
	row, calls, err := s.eng.cfg.Store.Unfinished(ctx, s.id)
	switch {
	case errors.Is(err, ErrNotFound):
		s.unfinished = nil
	case err != nil:
		return fmt.Errorf("read the unfinished run of session %s: %w", s.id, err)
	default:
		s.unfinished = &unfinishedRun{row: row, calls: calls}
	}
	if err := s.loadMemory(ctx); err != nil {
		return err
	}
	return s.loadSent(ctx)
}

// snapshotMessages bounds what a page gets at once; older messages are paged in.
const snapshotMessages = 200

func (s *session) snapshot(ctx context.Context) (Snapshot, error) {
	store := s.eng.cfg.Store
	s.mu.Lock()
	// Read before the rest: an event that comes meanwhile is told twice rather than never.
	snap := Snapshot{Session: s.row, Seq: max(s.seq, s.row.NextSeq-1)}
	s.mu.Unlock()
	var err error
	if snap.Messages, err = store.Window(ctx, s.id); err != nil {
		return Snapshot{}, fmt.Errorf("read the messages of session %s: %w", s.id, err)
	}
	if n := len(snap.Messages); n > snapshotMessages {
		snap.Messages = snap.Messages[n-snapshotMessages:]
	}
	if snap.Todos, err = store.Todos(ctx, s.id); err != nil {
		return Snapshot{}, fmt.Errorf("read the todos of session %s: %w", s.id, err)
	}
	if snap.Inbox, err = store.Inbox(ctx, s.id); err != nil {
		return Snapshot{}, fmt.Errorf("read the queued input of session %s: %w", s.id, err)
	}
	row, calls, err := store.Unfinished(ctx, s.id)
	switch {
	case err == nil:
		snap.Run, snap.Calls = &row, asTheyAre(calls)
	case !errors.Is(err, ErrNotFound):
		return Snapshot{}, fmt.Errorf("read the unfinished run of session %s: %w", s.id, err)
	}
	if err := s.recall(ctx, &snap); err != nil {
		return Snapshot{}, err
	}
	s.mu.Lock()
	cur := s.cur
	if snap.Running = cur != nil; snap.Running && snap.Run != nil {
		snap.Run.Usage.Active = cur.active() // the row has it as of the last commit
	}
	snap.Meter = s.meter
	s.mu.Unlock()
	snap.Break = s.settings().Break
	switch {
	case snap.Run == nil:
	case !s.isOpen():
		if row.StandsBeforeModel() {
			snap.Pause = row.Pause(len(snap.Messages))
		}
	case cur == nil:
		snap.Pause = s.pauseOf(row)
	default:
		if at := cur.standsAt(); at != nil {
			snap.Pause = at.pause
		}
	}
	if snap.Run != nil && !snap.Running {
		if snap.Outcomes, err = s.notedOutcomes(ctx, row.ID, calls); err != nil {
			return Snapshot{}, err
		}
	}
	if snap.Run != nil && !snap.Running && s.isOpen() { // what runs elsewhere is not known here
		snap.Notice = fmt.Sprintf("turn %d was interrupted", row.Turn)
	}
	return snap, nil
}

// submit starts a turn or queues the input that was given at a moment.
func (s *session) submit(text string, said time.Time) error {
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.fits(text); err != nil {
		return err
	}
	if r := s.running(); r != nil && r.superseded(said) {
		// The user went on without answering: the calls that wait are answered as not run, then this is the next turn.
		r.stop(ReasonSuperseded)
	}
	if s.busy() || s.unfinished != nil && said.Sub(s.askedAt) < seenAfter {
		return s.queue(text)
	}
	if s.unfinished != nil {
		if err := s.abandon(ReasonGivenUp); err != nil {
			return err
		}
	}
	if len(s.inbox) > 0 {
		if err := s.queue(text); err != nil {
			return err
		}
		return s.startQueued()
	}
	return s.start(text, nil)
}

// writable says why nothing may be written, if so.
func (s *session) writable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.lost:
		return fmt.Errorf("session %s: %w", s.id, ErrFenced)
	case s.shutting:
		return ErrClosed
	case !s.opened:
		return fmt.Errorf("session %s is not open: %w", s.id, ErrNotFound)
	}
	return nil
}

func (s *session) queue(text string) error {
	row := InboxRow{ID: s.eng.cfg.NewID(), SessionID: s.id, Text: text, CreatedAt: s.eng.cfg.Clock.Now()}
	tx := s.tx()
	tx.InboxAdd = []InboxRow{row}
	tx.Events = []trace.Event{s.event(trace.InputQueuedData{ID: row.ID, Text: text, Action: "queued"})}
	if _, err := s.commit(tx); err != nil {
		return err
	}
	s.inbox = append(s.inbox, row)
	return nil
}

func (s *session) withdraw(id string) (string, error) {
	if err := s.writable(); err != nil {
		return "", err
	}
	for i, row := range s.inbox {
		if row.ID != id {
			continue
		}
		tx := s.tx()
		tx.InboxRemove = []string{id}
		tx.Events = []trace.Event{s.event(trace.InputQueuedData{ID: id, Text: row.Text, Action: "withdrawn"})}
		if _, err := s.commit(tx); err != nil {
			return "", err
		}
		s.inbox = append(s.inbox[:i:i], s.inbox[i+1:]...)
		return row.Text, nil
	}
	return "", fmt.Errorf("queued input %s: %w", id, ErrNotFound)
}

// startQueued starts the turn of the oldest queued input.
func (s *session) startQueued() error {
	if len(s.inbox) == 0 {
		return nil
	}
	head := s.inbox[0]
	if err := s.start(head.Text, &head); err != nil {
		return err
	}
	s.inbox = s.inbox[1:]
	return nil
}

// start commits the user message and the run, then lets the run go.
func (s *session) start(text string, from *InboxRow) error {
	e := s.eng
	now := e.cfg.Clock.Now()
	model := s.model()
	turn := s.row.TurnCount + 1
	row := RunRow{
		ID: e.cfg.NewID(), SessionID: s.id, Turn: turn, State: StateCreated, Budget: e.cfg.Limits.Budget, StartedAt: now,
		Versions: Versions{Model: model, Prompt: digest(e.cfg.System), Tools: e.cfg.Registry.Version(), Checks: e.cfg.Checks},
	}
	msg := MessageRow{
		ID: e.cfg.NewID(), SessionID: s.id, Kind: llm.KindUser, Role: llm.RoleUser, Content: text, RunID: row.ID, CreatedAt: now,
		Tokens: prompt.EstimateMessage(llm.Message{Content: text}),
	}
	tx := s.tx()
	tx.Run, tx.NewTurn = &row, true
	s.repair(&tx)
	tx.Messages = append(tx.Messages, msg)
	if from != nil {
		tx.InboxRemove = []string{from.ID}
		tx.Events = append(tx.Events, s.event(trace.InputQueuedData{ID: from.ID, Text: from.Text, Action: "taken"}))
	}
	if s.row.Title == "" {
		title := titleOf(text)
		tx.Title = &title
		tx.Events = append(tx.Events, s.event(trace.SessionData{Action: "renamed", Title: title}))
	}
	started := s.event(trace.RunStartData{Input: text, Model: model, Caps: row.Budget.caps()})
	started.RunID, started.Turn = row.ID, turn
	tx.Events = append(tx.Events, started)
	got, err := s.commit(tx)
	if err != nil {
		return err
	}
	s.row.TurnCount = turn
	if tx.Title != nil {
		s.row.Title = *tx.Title
	}
	for i, m := range tx.Messages {
		m.N = got.FirstN + int64(i)
		s.window = append(s.window, m)
	}
	s.launch(newRun(s, row), InStart)
	return nil
}

// launch starts the run's goroutine.
func (s *session) launch(r *run, in Input) {
	s.mu.Lock()
	s.cur = r
	shutting := s.shutting
	s.mu.Unlock()
	if shutting {
		r.stop(ReasonPaused)
	}
	s.eng.done.Go(func() {
		r.drive(in)
		post := func() { s.finished(r) }
		if err := s.mailbox.Put(context.Background(), post); err != nil {
			s.clear(r)
		}
	})
}

func (s *session) clear(r *run) {
	s.mu.Lock()
	if s.cur == r {
		s.cur = nil
	}
	s.mu.Unlock()
	r.ended.Open()
}

// finished follows the end of a run: the next queued input, or the end of the session.
func (s *session) finished(r *run) {
	s.clear(r)
	if r.left || r.broken != nil {
		ctx, cancel := s.eng.storeContext()
		defer cancel()
		// What is stored is the truth now; a failure here shows up at the next request.
		if row, err := s.eng.cfg.Store.OpenSession(ctx, s.id, s.eng.cfg.User, false); err == nil {
			s.row = row
		}
		_ = s.load(ctx)
	}
	if r.left && r.reason == ReasonOutcome {
		s.askedAt = s.eng.cfg.Clock.Now()
	}
	s.mu.Lock()
	hold := s.closing || s.shutting || s.lost
	s.mu.Unlock()
	if hold || r.left || r.broken != nil || s.unfinished != nil {
		return
	}
	// A dead endpoint must not eat the queue one by one: it waits for the user's next word.
	if r.row.State == StateFailed && (r.row.Reason == ReasonModel || r.row.Reason == ReasonStore) {
		return
	}
	if err := s.startQueued(); err != nil {
		s.tell(err)
	}
}

// stopRun ends the run that is on, if any.
func (s *session) stopRun(reason Reason) {
	s.mu.Lock()
	stopFold := s.stopFold
	s.mu.Unlock()
	if stopFold != nil {
		stopFold()
	}
	if r := s.running(); r != nil {
		r.stop(reason)
	}
}
