package trace

import (
	"context"
	"maps"
	"strings"
	"sync"

	"vitrine/runtime/clock"
)

const (
	// bufferBytes bounds what waits in one subscription, whatever the number of events.
	bufferBytes = 8 << 20
	// eventBytes is counted for an event beside its texts.
	eventBytes = 256
	// maxGaps bounds the streams whose dropped bytes are remembered.
	maxGaps = 64
)

// Batch is what came since the last one.
type Batch struct {
	// Events are in the order in which they were published.
	Events []Event
	// Missed names sessions of which stored events did not fit: all with a sequence number above the given one must be read
	// from the store, after Events were taken. Later batches may repeat some of what is read there.
	Missed map[string]int64
	// Dropped is how many transient events did not fit.
	Dropped int
}

// Subscription is one reader's view of a bus. Next is for one goroutine at a time, the rest may be used from any.
//
// What waits is bounded. Deltas of one stream that follow each other in their session are merged. When it is full,
// transient events are dropped; of text that was dropped the next delta of that stream says how much (DeltaData.Dropped).
// Stored events push out transient ones, and when even that makes no room their session is marked as missed.
type Subscription struct {
	bus      *Bus
	keptOnly bool
	buffer   int
	maxBytes int
	signal   *clock.Queue[struct{}]

	mu      sync.Mutex
	items   []item
	last    map[string]int // the place of a session's last item
	bytes   int
	missed  map[string]int64
	dropped int
	gaps    []gap
}

// item is an event that waits; the text of merged deltas grows beside it.
type item struct {
	event Event
	text  *strings.Builder // nil for all but deltas that were merged
	bytes int
}

// stream names a stream of deltas.
type stream struct {
	session, run string
	step         int
	kind, id     string
}

// gap is what a stream lost since its last delta that came through.
type gap struct {
	stream
	bytes int
	// reset marks that a Reset was lost; it then stands for all streams of the step and kind and id are empty.
	reset bool
}

func newSubscription(b *Bus, buffer int, keptOnly bool) *Subscription {
	return &Subscription{
		bus: b, keptOnly: keptOnly, buffer: buffer, maxBytes: bufferBytes,
		signal: clock.NewQueue[struct{}](b.clock, 1), last: map[string]int{}, missed: map[string]int64{},
	}
}

// Next waits until something is there. It returns the cause of ctx when that is done, and clock.ErrClosed when the
// subscription or the bus was closed and everything was taken.
func (s *Subscription) Next(ctx context.Context) (Batch, error) {
	if ctx.Err() != nil {
		return Batch{}, context.Cause(ctx)
	}
	for {
		if b, ok := s.TryNext(); ok {
			return b, nil
		}
		if _, err := s.signal.Get(ctx); err != nil {
			// Something may have come between the look above and the close.
			if b, ok := s.TryNext(); ok && ctx.Err() == nil {
				return b, nil
			}
			return Batch{}, err
		}
	}
}

// TryNext takes what is there; it reports false when that is nothing.
func (s *Subscription) TryNext() (Batch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.items) == 0 && len(s.missed) == 0 && s.dropped == 0 {
		return Batch{}, false
	}
	b := Batch{Events: make([]Event, len(s.items)), Dropped: s.dropped}
	for i, it := range s.items {
		b.Events[i] = it.whole()
	}
	if len(s.missed) > 0 {
		b.Missed = maps.Clone(s.missed)
	}
	clear(s.items)
	s.items, s.bytes, s.dropped = s.items[:0], 0, 0
	clear(s.last)
	clear(s.missed)
	return b, true
}

// Close ends the subscription. It does not wait, and closing twice does nothing.
func (s *Subscription) Close() {
	s.bus.remove(s)
	s.signal.Close()
}

func (s *Subscription) offer(events []Event) {
	s.mu.Lock()
	for _, e := range events {
		if !s.keptOnly || kept(e) {
			s.add(e)
		}
	}
	s.mu.Unlock()
	s.signal.TryPut(struct{}{})
}

func (s *Subscription) add(e Event) {
	delta, isDelta := e.Data.(DeltaData)
	if _, behind := s.missed[e.SessionID]; behind {
		// The reader gets all that is stored from the store; what streams between would come out of order.
		if e.Seq == 0 {
			s.drop(e)
		}
		return
	}
	if isDelta {
		delta = s.settle(e, delta)
		e.Data = delta
		if s.merge(e, delta) {
			return
		}
	}
	size := eventBytes + textBytes(e.Data)
	if !s.fits(size) && e.Seq > 0 {
		s.evict()
	}
	switch {
	case s.fits(size):
		s.last[e.SessionID] = len(s.items)
		s.items = append(s.items, item{event: e, bytes: size})
		s.bytes += size
	case e.Seq > 0:
		s.missed[e.SessionID] = e.Seq - 1
	default:
		s.drop(e)
	}
}

// fits reports whether one more event of that size may wait. A single event always may, however large.
func (s *Subscription) fits(size int) bool {
	return len(s.items) == 0 || len(s.items) < s.buffer && s.bytes+size <= s.maxBytes
}

// settle lets a delta tell of what its stream lost before it.
func (s *Subscription) settle(e Event, d DeltaData) DeltaData {
	of := stream{e.SessionID, e.RunID, e.Step, d.Kind, d.ID}
	voids := d.Reset
	left := s.gaps[:0]
	for _, g := range s.gaps {
		switch {
		case voids && g.step == of.step && g.run == of.run && g.session == of.session:
			// What was lost is void.
		case g.reset && g.stream == of.wholeStep():
			d.Reset = true
		case g.stream == of:
			d.Dropped += g.bytes
		default:
			left = append(left, g)
		}
	}
	s.gaps = left
	return d
}

func (s stream) wholeStep() stream { return stream{session: s.session, run: s.run, step: s.step} }

// merge adds a delta to the last event of its session if that is one of the same stream.
func (s *Subscription) merge(e Event, d DeltaData) bool {
	i, ok := s.last[e.SessionID]
	if !ok {
		return false
	}
	it := &s.items[i]
	prev, ok := it.event.Data.(DeltaData)
	if !ok || it.event.RunID != e.RunID || it.event.Step != e.Step || prev.Kind != d.Kind || prev.ID != d.ID {
		return false
	}
	if d.Reset {
		// All that waited of this stream is void.
		s.bytes += len(d.Text) + eventBytes - it.bytes
		*it = item{event: e, bytes: len(d.Text) + eventBytes}
		return true
	}
	if d.Dropped > 0 || s.bytes+len(d.Text) > s.maxBytes {
		return false
	}
	if it.text == nil {
		it.text = &strings.Builder{}
		it.text.WriteString(prev.Text)
	}
	it.text.WriteString(d.Text)
	it.bytes += len(d.Text)
	s.bytes += len(d.Text)
	return true
}

// whole is the event with its merged text.
func (it item) whole() Event {
	if it.text != nil {
		d := it.event.Data.(DeltaData)
		d.Text = it.text.String()
		it.event.Data = d
	}
	return it.event
}

// evict drops the transient events that wait, except retry, which the JSONL file holds.
func (s *Subscription) evict() {
	left := s.items[:0]
	clear(s.last)
	for _, it := range s.items {
		if !kept(it.event) {
			s.bytes -= it.bytes
			s.drop(it.whole())
			continue
		}
		s.last[it.event.SessionID] = len(left)
		left = append(left, it)
	}
	clear(s.items[len(left):])
	s.items = left
}

// drop counts a transient event that does not fit.
func (s *Subscription) drop(e Event) {
	s.dropped++
	d, ok := e.Data.(DeltaData)
	if !ok {
		return
	}
	of := stream{e.SessionID, e.RunID, e.Step, d.Kind, d.ID}
	if d.Reset {
		s.settle(e, d)
		s.remember(gap{stream: of.wholeStep(), reset: true})
	}
	if n := len(d.Text) + d.Dropped; n > 0 {
		s.remember(gap{stream: of, bytes: n})
	}
}

func (s *Subscription) remember(lost gap) {
	for i, g := range s.gaps {
		if g.stream == lost.stream && g.reset == lost.reset {
			s.gaps[i].bytes += lost.bytes
			return
		}
	}
	if len(s.gaps) == maxGaps {
		s.gaps = append(s.gaps[:0], s.gaps[1:]...)
	}
	s.gaps = append(s.gaps, lost)
}

// textBytes is about how much the texts of d hold.
func textBytes(d Data) int {
	switch d := d.(type) {
	case RunStartData:
		return len(d.Input)
	case LLMCallData:
		return len(d.Text) + len(d.Error)
	case ToolCallData:
		return len(d.Arguments) + len(d.RawArguments)
	case ToolResultData:
		return len(d.Result) + len(d.Summary)
	case ApprovalData:
		return len(d.Arguments) + len(d.Preview) + len(d.Reason)
	case CompactData:
		return len(d.Detail) + len(d.Before) + len(d.After)
	case AnswerData:
		return len(d.Text)
	case ErrorData:
		return len(d.Message) + len(d.Why) + len(d.Todo)
	case NoticeData:
		return len(d.Message) + len(d.Why) + len(d.Todo)
	case InputQueuedData:
		return len(d.Text)
	case PinData:
		return len(d.Text)
	case TodoData:
		return len(d.Text)
	case DeltaData:
		return len(d.Text)
	case ProgressData:
		return len(d.Text)
	case *Unknown:
		return len(d.Raw)
	}
	return 0
}
