package cli

import (
	"strings"
	"testing"
	"time"

	"vitrine/runtime/clock"
)

// stamped keeps when what was written.
type stamped struct {
	clk  clock.Clock
	from time.Time
	all  []string
}

func (s *stamped) Write(p []byte) (int, error) {
	s.all = append(s.all, string(p)+"@"+s.clk.Now().Sub(s.from).String())
	return len(p), nil
}

// B185: a play in the terminal keeps to the longest pause and to the speed, whatever the times of its frames; once left it writes
// nothing more.
func TestPacerB185(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		speed float64
		idle  time.Duration
		want  string
	}{
		"as it is": {1, 0, "a@0s b@500ms c@30.5s back@30.5s together@30.5s end@31s"},
		"capped":   {1, 2 * time.Second, "a@0s b@500ms c@2.5s back@2.5s together@2.5s end@3s"},
		"fast":     {2, 2 * time.Second, "a@0s b@250ms c@1.25s back@1.25s together@1.25s end@1.5s"},
	} {
		sim := clock.NewSim(start)
		out := &stamped{clk: sim, from: start}
		ctx, leave := sim.WithCancel(t.Context())
		sim.Go(func() {
			p := &pacer{ctx: ctx, clk: sim, out: out, speed: c.speed, idle: c.idle}
			for _, f := range []struct {
				at   time.Duration
				text string
			}{{0, "a"}, {500, "b"}, {30_500, "c"}, {30_400, "back"}, {30_500, "together"}, {31_000, "end"}} {
				p.write(start.Add(f.at*time.Millisecond), f.text)
			}
			leave()
			p.write(start.Add(time.Hour), "after")
		})
		sim.Advance(time.Minute)
		if got := strings.Join(out.all, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A speed that is no number, and a pause that is less than none, are refused before anything is read, by both who have the flags.
func TestPacesThatAreNone(t *testing.T) {
	for flags, want := range map[string]string{
		"--speed=NaN": "--speed NaN is not from 0.1 to 100", "--speed=0": "--speed 0 is not from", "--speed=101": "--speed 101 is not from", "--idle=-1ms": "--idle is less than no time",
	} {
		for _, args := range [][]string{{"demo", "nothing"}, {"demo", "export", "nothing.cast", "--gif", "x.gif"}} {
			if got := newBench(t).run(append(args, flags)...); got.code != ExitUsage || !strings.Contains(got.err, want) {
				t.Errorf("%q %s: %+v", args, flags, got)
			}
		}
	}
}
