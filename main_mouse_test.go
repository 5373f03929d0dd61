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
	for tries := 1; ; tries++ {
		f := flood{tty: startTTY(t, vitrine(t.TempDir()), 100, 30)}
		f.play()
		f.rest()
		switch got := f.input(); {
		case got == "❯ "+f.typed && f.quick():
			f.motionless()
			return
		case f.late: // no line is that slow: the machine held the sender up
			if tries == 5 {
				t.Logf("no report came in time: the input holds %q", got)
				return
			}
			f.send("\x18q")
			_ = f.exit()
		default:
			t.Fatalf("the input holds %q; keys show after %v, without motion after %v", got, f.took, f.alone)
		}
	}
}

// flood is a terminal whose mouse moves all the time.
type flood struct {
	*tty
	typed string
	took  []time.Duration // until a key that is typed meanwhile is shown
	alone time.Duration   // the same without motion, the slowest of some
	late  bool            // a gap was longer than it should have been
}

const floodEvents = 5000

// play moves the mouse, and types now and then.
func (f *flood) play() {
	f.wait("ready")
	f.settled()
	for range 5 {
		f.alone = max(f.alone, f.key())
	}
	for i := range floodEvents {
		f.send(f.motion(i))
		switch {
		case i%500 == 250: // torn
			m := f.motion(i)
			at := 1 // between ESC and [
			if i%1000 == 250 {
				at = strings.IndexByte(m, ';') + 2 // within a number
			}
			f.send(m[:at])
			began := time.Now()
			time.Sleep(60 * time.Millisecond)
			f.send(m[at:])
			f.late = f.late || time.Since(began) > 100*time.Millisecond
		case i%500 == 499:
			f.took = append(f.took, f.key())
		}
	}
}

func (f *flood) motion(i int) string { return fmt.Sprintf("\x1b[<35;%d;%dM", 1+i%97, 1+i%29) }

// key types one and returns how long it takes to be shown.
func (f *flood) key() time.Duration {
	from, start := len(f.output(0)), time.Now()
	f.send("q")
	f.typed += "q"
	f.until("the key", func() bool { return strings.Contains(f.output(from), "q") })
	return time.Since(start)
}

// rest waits until the input does not change any more.
func (f *flood) rest() {
	f.until("a key in the input", func() bool { return strings.HasSuffix(f.input(), "q") })
	f.settled()
}

// quick says whether keys show in a tenth of a second, or where the machine is busy as soon as without motion or nearly so.
func (f *flood) quick() bool {
	slices.Sort(f.took)
	median := f.took[len(f.took)/2]
	return median < 100*time.Millisecond || median < 10*f.alone
}

// motionless moves the mouse once more and looks at what is written.
func (f *flood) motionless() {
	from := len(f.output(0))
	for i := range floodEvents {
		f.send(f.motion(i))
	}
	f.send("z")
	f.until("the last key", func() bool { return strings.HasSuffix(f.input(), "qz") })
	f.settled()
	if out := f.output(from); len(out) > 300 { // the key's frame
		f.t.Errorf("%d motions and a key wrote %d bytes: %.200q", floodEvents, len(out), out)
	}
}
