//go:build linux || darwin

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A flood of mouse motion, some reports torn between ESC and [ or within a number, with a gap as over a slow line: what is typed in
// between is all that the input gets, keys show at once, and motion that changes nothing writes nothing (B041).
func TestTerminalMouseFlood(t *testing.T) {
	y := startTTY(t, vitrine(t.TempDir()), 100, 30)
	y.wait("ready")
	const events, keys = 5000, 10
	motion := func(i int) string { return fmt.Sprintf("\x1b[<35;%d;%dM", 1+i%97, 1+i%29) }
	y.settled()
	var took []time.Duration
	typed := ""
	key := func() time.Duration {
		from, start := len(y.output(0)), time.Now()
		y.send("q")
		typed += "q"
		y.until("the key", func() bool { return strings.Contains(y.output(from), "q") })
		return time.Since(start)
	}
	alone := time.Duration(0)
	for range 5 {
		alone = max(alone, key())
	}
	for i := range events {
		y.send(motion(i))
		switch {
		case i%500 == 250: // torn
			m := motion(i)
			at := 1 // between ESC and [
			if i%1000 == 250 {
				at = strings.IndexByte(m, ';') + 2 // within a number
			}
			y.send(m[:at])
			time.Sleep(60 * time.Millisecond)
			y.send(m[at:])
		case i%500 == 499:
			took = append(took, key())
		}
	}
	y.until("the keys in the input", func() bool { return y.input() == "❯ "+typed })
	if slices.Sort(took); len(took) != keys || took[keys/2] > 100*time.Millisecond && took[keys/2] > 10*alone {
		t.Errorf("keys show after %v, without motion after %v", took, alone)
	}
	y.settled()
	if got := y.input(); got != "❯ "+typed {
		t.Errorf("the input holds %q", got)
	}
	from := len(y.output(0))
	for i := range events {
		y.send(motion(i))
	}
	y.send("z")
	y.until("the last key", func() bool { return strings.HasSuffix(y.input(), "qz") })
	y.settled()
	if out := y.output(from); len(out) > 300 { // the key's frame
		t.Errorf("%d motions and a key wrote %d bytes: %.200q", events, len(out), out)
	}
}
