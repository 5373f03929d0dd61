package clock

import (
	"container/heap"
	"time"
)

// simTimer is a pending event of the simulated clock.
type simTimer struct {
	s     *Sim
	at    time.Time
	seq   int64
	index int    // in the heap; -1 when fired or stopped
	fire  func() // called with the clock's mutex held
}

// AfterFunc makes f ready to run as a participant when d has gone by.
func (s *Sim) AfterFunc(d time.Duration, f func()) Timer {
	s.mu.Lock()
	defer s.mu.Unlock()
	origin := here()
	return s.schedule(d, func() { s.spawn(f, origin) })
}

// schedule adds a timer; after Halt it stays out of the heap and never fires.
func (s *Sim) schedule(d time.Duration, fire func()) *simTimer {
	s.seq++
	t := &simTimer{s: s, at: s.now.Add(max(d, 0)), seq: s.seq, index: -1, fire: fire}
	if !s.halted {
		heap.Push(&s.timers, t)
	}
	return t
}

// fire moves time to the next timer and fires that one only.
func (s *Sim) fire() {
	t := heap.Pop(&s.timers).(*simTimer)
	if t.at.After(s.now) {
		s.now = t.at
	}
	t.fire()
}

// Stop takes the timer back; it reports false when it fired or was stopped before.
func (t *simTimer) Stop() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.stopLocked()
}

func (t *simTimer) stopLocked() bool {
	if t.index < 0 || t.s.halted {
		return false
	}
	heap.Remove(&t.s.timers, t.index)
	return true
}

// timerHeap orders timers by time, those of one time by the order in which they were set.
type timerHeap []*simTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*simTimer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}
