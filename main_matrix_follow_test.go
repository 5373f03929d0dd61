//go:build unix

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// follower is the screen in a process of its own, on the session that the frozen process holds.
func (f *frozen) follower(tr *trial) *tty {
	f.t.Helper()
	y := startOnTTY(f.t, vitrine(tr.dir, "--session", "s").with(crewEnviron(tr.ledger.dir)...).command(f.t), 160, 50)
	y.wait("READ ONLY  open in process "+fmt.Sprint(f.cmd.Process.Pid), "followed live")
	return y
}

// die kills the process, reads what it had printed to the end, and takes that as acknowledged.
func (f *frozen) die(tr *trial) {
	f.t.Helper()
	if err := f.cmd.Process.Kill(); err != nil {
		f.t.Fatal(err)
	}
	if r := waitFor(f.t, f.cmd, &f.out, &f.errs); r.code != -1 {
		f.t.Fatalf("it ended by itself: %+v", r)
	}
	tr.acked, tr.known, tr.agains = map[int64]told{}, map[string]int{}, map[string]int{}
	lines := f.out.String()
	lines = lines[:strings.LastIndexByte(lines, '\n')+1] // half a line says nothing
	if err := tr.listen(strings.NewReader(lines), blow{}, nil, func() {}); err != nil {
		f.t.Fatal(err)
	}
	if len(tr.acked) == 0 {
		f.t.Fatal("it had printed nothing")
	}
}

// takeOver takes the session on the screen, answers what is asked by what is true, and waits for the end of the turn. Then nothing
// of before is lost, and in the world outside all was done once.
func (tr *trial) takeOver(t *testing.T, y *tty) {
	t.Helper()
	before, err := look(tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.promised(before); err != nil {
		t.Fatal(err)
	}
	y.wait("FREE  process", "has left it; Enter takes it")
	y.send("\r")
	y.wait("? INTERRUPTED  turn 1")
	if strings.Contains(y.screen(), "READ ONLY") || strings.Contains(y.screen(), "FREE  process") {
		t.Errorf("it is still held:\n%s", y.screen())
	}
	now, err := look(tr.dir)
	if err := errors.Join(err, now.follows(before)); err != nil {
		t.Error(err)
	}
	if !now.unfinished() || len(now.messages) != len(before.messages) {
		t.Errorf("taking the session over goes on with the turn by itself: %s", now.state)
	}
	word := "y"
	for id, c := range now.calls {
		if had, err := tr.ledger.has(id); err != nil || c.status == "started" && c.effect == "side_effect" && !had {
			if word = "r"; err != nil { // it did not run: once more
				t.Fatal(err)
			}
		}
	}
	time.Sleep(seen)
	y.send("\t") // to the question
	y.send(word)
	y.wait("All done: ", "✓ done")
	if tr.last, err = look(tr.dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tr.last.follows(before), tr.last.valid(), tr.promised(tr.last), tr.judge()); err != nil {
		t.Error(err)
	}
}

// A session is followed in another process while its holder works, and the holder is killed in the middle of a tool: the follower
// has seen all that was stored up to then, says that the session is free, takes it over when asked to, offers the unfinished turn,
// and goes on with it. Nothing is lost, and nothing is done twice.
func TestHolderDiesWhileFollowed(t *testing.T) {
	tr := newMatrix(t).trial(askThree, unharmed)
	f := freeze(t, tr, "chunk:2")
	y := f.follower(tr)
	y.wait(askThree)
	if strings.Contains(y.screen(), "hold") {
		t.Errorf("there is more than was stored:\n%s", y.screen())
	}
	if err := f.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	y.wait("peek", "hold") // live
	y.until("the effect", func() bool {
		all, err := tr.ledger.read("effects")
		return err == nil && slices.ContainsFunc(all, func(d deed) bool { return d.tool == "hold" })
	})
	if s := y.screen(); !strings.Contains(s, "READ ONLY") || strings.Contains(s, "INTERRUPTED") {
		t.Errorf("while the holder lives:\n%s", s)
	}
	f.die(tr)
	tr.takeOver(t, y)
	if all, err := tr.ledger.read("attempts"); err != nil || len(slices.DeleteFunc(all, func(d deed) bool { return d.tool != "hold" })) != 1 {
		t.Errorf("attempts %v, %v", all, err)
	}
}

// The same, killed as it stood still at a place of its turn: in a stream, between transactions and publications, before and after
// tools of each effect class. A holder that stands still is not displaced.
func TestHolderDiesAtAPointWhileFollowed(t *testing.T) {
	m := newMatrix(t)
	points := stopPoints()
	if !m.full {
		points = []string{"chunk:40", "publish.before:3", "effect.before:6", "effect.after:6"}
	}
	if testing.Short() {
		points = points[:2]
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			tr := m.trial(askAll, unharmed)
			f := freeze(t, tr, point)
			y := f.follower(tr)
			y.wait(askAll)
			y.send("may I?\r")
			y.wait("❯ may I?") // it stays there, the session stays the other's
			y.send("\x03")
			y.until("an empty input", func() bool { return y.input() == "❯" })
			f.die(tr)
			tr.takeOver(t, y)
		})
	}
}
