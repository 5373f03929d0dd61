package trace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vitrine/runtime/clock"
)

func delta(session, kind, text string) Event {
	return Event{TS: start, SessionID: session, RunID: "r", Step: 1, Name: Delta, Data: DeltaData{Kind: kind, Text: text}}
}

func stored(session string, seq int64) Event {
	return Event{TS: start, SessionID: session, RunID: "r", Seq: seq, Name: Todo, Data: TodoData{ID: fmt.Sprint(seq)}}
}

// told puts a batch into words.
func told(b Batch) []string {
	var out []string
	for _, e := range b.Events {
		switch d := e.Data.(type) {
		case DeltaData:
			s := fmt.Sprintf("%s %s %q", e.SessionID, d.Kind, d.Text)
			if d.Reset {
				s += " reset"
			}
			if d.Dropped > 0 {
				s += fmt.Sprintf(" after %d dropped", d.Dropped)
			}
			out = append(out, s)
		default:
			out = append(out, fmt.Sprintf("%s %s %d", e.SessionID, e.Name, e.Seq))
		}
	}
	for s, n := range b.Missed {
		out = append(out, fmt.Sprintf("%s missed after %d", s, n))
	}
	return out
}

func taken(t *testing.T, s *Subscription) []string {
	t.Helper()
	b, _ := s.TryNext()
	return told(b)
}

func TestDeltasOfOneStreamAreMerged(t *testing.T) {
	b := NewBus(clock.Real())
	s := b.Subscribe(10)
	b.Publish(delta("a", "text", "one "), delta("a", "text", "two "))
	b.Publish(delta("b", "text", "other "))
	b.Publish(delta("a", "text", "three"))
	b.Publish(delta("b", "text", "session"))
	b.Publish(delta("a", "reasoning", "hm"))
	b.Publish(delta("a", "text", "four"))
	b.Publish(stored("a", 1))
	b.Publish(delta("a", "text", "five"))
	other := delta("a", "text", "next step")
	other.Step = 2
	b.Publish(other)
	equal(t, taken(t, s), []string{
		`a text "one two three"`, `b text "other session"`, `a reasoning "hm"`, `a text "four"`, "a todo 1", `a text "five"`, `a text "next step"`,
	})
	b.Publish(delta("a", "text", "x"))
	void := delta("a", "text", "y")
	void.Data = DeltaData{Kind: "text", Text: "y", Reset: true}
	b.Publish(void, delta("a", "text", "z"))
	equal(t, taken(t, s), []string{`a text "yz" reset`})
	_, ok := s.TryNext()
	equal(t, ok, false)
}

func TestFullDropsTransientAndCounts(t *testing.T) {
	b := NewBus(clock.Real())
	s := b.Subscribe(2)
	b.Publish(stored("a", 1), stored("a", 2))
	b.Publish(delta("a", "text", "lost"), delta("a", "text", "!"), delta("a", "reasoning", "gone"))
	b.Publish(Event{SessionID: "a", Name: State, Data: StateData{}})
	batch, _ := s.TryNext()
	equal(t, told(batch), []string{"a todo 1", "a todo 2"})
	equal(t, batch.Dropped, 4)
	b.Publish(delta("a", "text", "here"), delta("a", "text", " on"))
	equal(t, taken(t, s), []string{`a text "here on" after 5 dropped`})
	b.Publish(delta("a", "text", "again"))
	b.Publish(delta("a", "reasoning", "r"))
	equal(t, taken(t, s), []string{`a text "again"`, `a reasoning "r" after 4 dropped`})
}

func TestLostResetIsMadeUpFor(t *testing.T) {
	b := NewBus(clock.Real())
	s := b.Subscribe(1)
	reset := delta("a", "text", "")
	reset.Data = DeltaData{Kind: "text", Reset: true}
	b.Publish(stored("a", 1))
	b.Publish(delta("a", "text", "void"), reset, delta("a", "text", "lost"))
	equal(t, taken(t, s), []string{"a todo 1"})
	b.Publish(delta("a", "text", "new"))
	equal(t, taken(t, s), []string{`a text "new" reset after 4 dropped`})
	// A reset that comes through makes what was lost before it void.
	b.Publish(stored("a", 2))
	b.Publish(delta("a", "text", "void"))
	equal(t, taken(t, s), []string{"a todo 2"})
	b.Publish(reset)
	equal(t, taken(t, s), []string{`a text "" reset`})
}

func TestStoredEventsPushOutTransientOnes(t *testing.T) {
	b := NewBus(clock.Real())
	s := b.Subscribe(3)
	b.Publish(delta("a", "text", "x"), Event{SessionID: "a", Name: Retry, Data: RetryData{}}, delta("a", "reasoning", "y"))
	b.Publish(stored("a", 1), stored("b", 1))
	batch, _ := s.TryNext()
	equal(t, told(batch), []string{"a retry 0", "a todo 1", "b todo 1"})
	equal(t, batch.Dropped, 2)
	b.Publish(delta("a", "text", "z"))
	equal(t, taken(t, s), []string{`a text "z" after 1 dropped`})
}

func TestMissedIsMarkedFromTheFirst(t *testing.T) {
	b := NewBus(clock.Real())
	s := b.Subscribe(2)
	b.Publish(stored("a", 1), stored("a", 2), stored("a", 3), stored("b", 7), stored("a", 4), delta("a", "text", "lost"))
	batch, _ := s.TryNext()
	equal(t, told(Batch{Events: batch.Events}), []string{"a todo 1", "a todo 2"})
	equal(t, batch.Missed, map[string]int64{"a": 2, "b": 6})
	b.Publish(stored("a", 5))
	equal(t, taken(t, s), []string{"a todo 5"})
}

func TestWaitingBytesAreBounded(t *testing.T) {
	b := NewBus(clock.Real())
	s := b.Subscribe(1000)
	big := strings.Repeat("x", 3<<20)
	for range 5 {
		b.Publish(delta("a", "text", big))
	}
	b.Publish(Event{SessionID: "a", Seq: 1, Name: Answer, Data: AnswerData{Text: big}})
	b.Publish(Event{SessionID: "a", Seq: 2, Name: Answer, Data: AnswerData{Text: big + big}})
	if s.bytes > bufferBytes {
		t.Errorf("%d bytes wait", s.bytes)
	}
	batch, _ := s.TryNext()
	equal(t, len(batch.Events), 1) // the answer pushed out the deltas, the second did not fit
	equal(t, batch.Missed, map[string]int64{"a": 1})
	// One that is larger than all the room still comes through alone.
	b.Publish(Event{SessionID: "a", Seq: 3, Name: ToolResult, Data: ToolResultData{Result: []byte(big + big + big)}})
	batch, _ = s.TryNext()
	equal(t, len(batch.Events), 1)
	for i := range 200 {
		b.Publish(stored("a", int64(4+i)))
		lost := delta(fmt.Sprint(i), "text", "lost")
		s.mu.Lock()
		s.drop(lost)
		s.mu.Unlock()
	}
	equal(t, len(s.gaps), maxGaps)
}

func TestTextBytesKnowsEveryText(t *testing.T) {
	for _, e := range samples() {
		n := textBytes(e.Data)
		long := strings.Count(string(EncodeData(e.Data)), "text") // each string was filled with four letters
		if n > 5*long+20 {
			t.Errorf("%s: %d bytes for %d texts", e.Name, n, long)
		}
	}
	equal(t, textBytes(AnswerData{Text: "four"}), 4)
	equal(t, textBytes(ApprovalData{Arguments: []byte("{}"), Preview: "four"}), 6)
}

func TestKeptSubscriptionLeavesTheRestOut(t *testing.T) {
	b := NewBus(clock.Real())
	s := b.SubscribeKept(2)
	for range 10 {
		b.Publish(delta("a", "text", "x"), Event{SessionID: "a", Name: State, Data: StateData{}})
	}
	_, ok := s.TryNext()
	equal(t, ok, false)
	b.Publish(Event{SessionID: "a", Name: Retry, Data: RetryData{}}, stored("a", 1))
	equal(t, taken(t, s), []string{"a retry 0", "a todo 1"})
}

func TestNextWaitsAndEnds(t *testing.T) {
	sim := clock.NewSim(start)
	defer sim.Halt()
	bg := context.Background()
	b := NewBus(sim)
	sim.Run(func() {
		s := b.Subscribe(0) // at least one fits
		sim.AfterFunc(time.Second, func() { b.Publish(stored("a", 1)) })
		batch, err := s.Next(bg)
		equal(t, err, error(nil))
		equal(t, told(batch), []string{"a todo 1"})
		equal(t, sim.Now(), start.Add(time.Second))

		ctx, cancel := sim.WithTimeout(bg, time.Second)
		defer cancel()
		if _, err = s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		b.Publish(stored("a", 2))
		if _, err = s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		b.Close()
		b.Close()
		b.Publish(stored("a", 3))
		batch, err = s.Next(bg)
		equal(t, err, error(nil))
		equal(t, told(batch), []string{"a todo 2"})
		if _, err = s.Next(bg); !errors.Is(err, clock.ErrClosed) {
			t.Error(err)
		}
		if _, err = b.Subscribe(1).Next(bg); !errors.Is(err, clock.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestClosedSubscriptionGetsNothingMore(t *testing.T) {
	b := NewBus(clock.Real())
	s, other := b.Subscribe(5), b.Subscribe(5)
	b.Publish(stored("a", 1))
	s.Close()
	s.Close()
	b.Publish(stored("a", 2))
	batch, err := s.Next(context.Background())
	equal(t, err, error(nil))
	equal(t, told(batch), []string{"a todo 1"})
	if _, err := s.Next(context.Background()); !errors.Is(err, clock.ErrClosed) {
		t.Error(err)
	}
	equal(t, taken(t, other), []string{"a todo 1", "a todo 2"})
}

// TestReaderCanAlwaysCatchUp: for any sequence of events and reads, what a reader took, with what it read from the store
// when told to, is every stored event in order; and of each stream the bytes it got and the bytes it was told of, or the
// stream's void, add up.
func TestReaderCanAlwaysCatchUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBus(clock.Real())
		s := b.Subscribe(rapid.IntRange(1, 6).Draw(t, "buffer"))
		store := map[string][]int64{}
		got := map[string][]int64{}
		sent, received := map[string]int{}, map[string]int{}
		read := func() {
			batch, ok := s.TryNext()
			if !ok {
				return
			}
			for _, e := range batch.Events {
				if d, ok := e.Data.(DeltaData); ok {
					key := e.SessionID + d.Kind
					if d.Reset {
						received[key] = 0
					}
					received[key] += len(d.Text) + d.Dropped
				} else if seen := got[e.SessionID]; len(seen) == 0 || e.Seq > seen[len(seen)-1] {
					got[e.SessionID] = append(seen, e.Seq)
				}
			}
			for session, after := range batch.Missed {
				if seen := got[session]; int64(len(seen)) < after {
					t.Fatalf("missed after %d, but only %v came", after, seen)
				}
				got[session] = append(got[session], store[session][len(got[session]):]...)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			session := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				seq := int64(len(store[session]) + 1)
				store[session] = append(store[session], seq)
				b.Publish(stored(session, seq))
			case 2, 3, 4:
				kind := rapid.SampledFrom([]string{"text", "reasoning"}).Draw(t, "kind")
				e := delta(session, kind, strings.Repeat("x", rapid.IntRange(1, 5).Draw(t, "length")))
				sent[session+kind] += len(e.Data.(DeltaData).Text)
				b.Publish(e)
			case 5:
				read()
			}
		}
		read()
		for _, key := range []string{"a", "b"} {
			for _, kind := range []string{"text", "reasoning"} {
				b.Publish(delta(key, kind, "!"))
				sent[key+kind]++
				read()
			}
			if fmt.Sprint(got[key]) != fmt.Sprint(store[key]) {
				t.Errorf("%s: got %v of %v", key, got[key], store[key])
			}
		}
		if fmt.Sprint(sent) != fmt.Sprint(received) {
			t.Errorf("sent %v, accounted for %v", sent, received)
		}
	})
}
