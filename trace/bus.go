package trace

import (
	"slices"
	"sync"

	"vitrine/runtime/clock"
)

// Bus carries events from those who make them to those who show or write them. Publishing never waits for a subscriber,
// and all subscribers see events in the same order. It is safe for concurrent use.
type Bus struct {
	clock clock.Clock

	mu     sync.Mutex
	subs   []*Subscription
	closed bool
}

// NewBus makes a bus without subscribers.
func NewBus(c clock.Clock) *Bus { return &Bus{clock: c} }

// Publish hands events to every subscriber. It never waits; what a slow subscriber cannot hold is merged, dropped and
// counted, or marked as missed (see Subscription). After Close it does nothing. Data must not be changed afterwards.
func (b *Bus) Publish(events ...Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
		s.offer(events)
	}
}

// Subscribe delivers all events from now on; up to buffer (at least 1) of them wait for the subscriber.
func (b *Bus) Subscribe(buffer int) *Subscription { return b.subscribe(buffer, false) }

// SubscribeKept is Subscribe for what the JSONL file holds: events with a sequence number, and retry.
func (b *Bus) SubscribeKept(buffer int) *Subscription { return b.subscribe(buffer, true) }

func (b *Bus) subscribe(buffer int, keptOnly bool) *Subscription {
	s := newSubscription(b, max(buffer, 1), keptOnly)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		s.signal.Close()
		return s
	}
	b.subs = append(b.subs, s)
	return s
}

// Close ends all subscriptions: their readers still get what waits, then clock.ErrClosed.
func (b *Bus) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.subs {
		s.signal.Close()
	}
	b.subs = nil
}

func (b *Bus) remove(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.subs, s); i >= 0 {
		b.subs = slices.Delete(b.subs, i, i+1)
	}
}

// kept reports whether the JSONL file holds e.
func kept(e Event) bool { return e.Seq > 0 || e.Name == Retry }
