package main

import (
	goruntime "runtime"
	"runtime/debug"
	"testing"
	"time"
)

// A start collects nothing of what it only just made; from the first collection on the heap grows by half. The environment's word goes first.
func TestLean(t *testing.T) {
	read := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	defer debug.SetGCPercent(read())
	t.Setenv("GOGC", "77")
	before := read()
	lean()
	if got := read(); got != before {
		t.Errorf("GOGC of the environment is overruled: %d", got)
	}
	t.Setenv("GOGC", "")
	lean()
	deadline := time.Now().Add(10 * time.Second)
	for read() != gcPercent && time.Now().Before(deadline) {
		goruntime.GC()
		goruntime.Gosched()
	}
	if got := read(); got != gcPercent {
		t.Errorf("the heap still grows by %d%% after collections", got)
	}
}
