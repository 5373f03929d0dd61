package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// A start collects nothing of what it only just made; a small heap always has room, a large one grows by half. The environment's word goes first.
func TestTendHeap(t *testing.T) {
	for live, want := range map[uint64]int{0: 300, 4 << 20: 300, 8 << 20: 150, 12 << 20: 100, 24 << 20: 50, 1 << 30: 50} {
		if got := heapGrowth(live); got != want {
			t.Errorf("%d MB live may grow by %d%%, want %d%%", live>>20, got, want)
		}
	}
	read := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before := read()
	TendHeap(func(string) string { return "77" })
	if got := read(); got != before {
		t.Errorf("GOGC of the environment is overruled: %d", got)
	}
	kept := make([]byte, 100<<20) // the sum of what lives is large now
	TendHeap(func(string) string { return "" })
	deadline := time.Now().Add(time.Minute)
	for read() != heapPercent && time.Now().Before(deadline) {
		runtime.GC()
		runtime.Gosched()
	}
	if got := read(); got != heapPercent {
		t.Errorf("a large heap still grows by %d%%", got)
	}
	runtime.KeepAlive(kept)
}
