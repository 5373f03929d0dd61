package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// heapRoom is how many bytes may always be allocated between two collections, heapPercent by how much of what is live a heap may grow
	// where that is more. A screen of some MB is not collected ten times a second; a thousand sessions take a fifth less than at Go's 100.
	heapRoom    = 12 << 20
	heapPercent = 50
	// leastHeap is the heap that Go lets grow to at 100 percent before it collects first.
	leastHeap = 4 << 20
)

// TendHeap sets how far the heap of the process grows between collections, anew after each of them. GOGC of the environment goes first.
func TendHeap(getenv func(string) string) {
	if getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * heapRoom / leastHeap)
	tendHeap()
}

// tendHeap has the next collection set the percentage, and so on.
func tendHeap() {
	runtime.AddCleanup(new([64]byte), func(struct{}) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 {
			debug.SetGCPercent(heapGrowth(live[0].Value.Uint64()))
		}
		tendHeap()
	}, struct{}{})
}

// heapGrowth is by how many percent a heap of live bytes may grow.
func heapGrowth(live uint64) int {
	return int(max(heapPercent, 100*heapRoom/max(live, leastHeap)))
}
