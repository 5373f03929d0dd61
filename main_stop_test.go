//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// frozen is a process that has stopped itself at a fault point of its run.
type frozen struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  strings.Builder
	errs strings.Builder
}

// freeze starts a turn that stops at a point.
func freeze(t *testing.T, tr *trial, point string) *frozen {
	t.Helper()
	f := &frozen{t: t, cmd: vitrine(tr.dir, "run", "--session", "s", "--json", tr.prompt).
		with(crewEnviron(tr.ledger.dir)...).with("VITRINE_FAULT=" + point + ":stop").command(t)}
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.errs
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.cmd.Process.Kill() })
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(f.cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("it does not stop at %s: %v %v %s", point, ws, err, f.errs.String())
	}
	return f
}

// thaw lets it go on, to its end.
func (f *frozen) thaw() result {
	f.t.Helper()
	if err := f.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		f.t.Fatal(err)
	}
	return waitFor(f.t, f.cmd, &f.out, &f.errs)
}

// stopPoints are places of a turn outside of transactions: in a stream, in publications, before and after tools of each effect
// class.
func stopPoints() []string {
	return []string{"chunk:3", "publish.before:3", "chunk:40", "effect.before:1", "effect.before:4", "effect.before:5", "effect.before:6",
		"effect.before:8", "effect.after:6", "publish.after:9"}
}

// A process that is stopped holds its session: every way to it is refused with 2 and names the process, and the database is
// free for others at once. When it goes on it ends as if nothing had been.
func TestStoppedHolderIsNotDisplaced(t *testing.T) {
	m := newMatrix(t)
	points := stopPoints()
	if !m.full {
		points = points[:4]
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			tr := m.trial(askAll, unharmed)
			f := freeze(t, tr, point)
			before, err := look(tr.dir)
			if err != nil || before.run == "" {
				t.Fatalf("%+v %v", before, err)
			}
			for _, args := range [][]string{
				{"run", "--resume", before.run}, {"run", "--session", "s", "hello"}, {"run", "--session", "s", "--approve", "x"}, {"sessions", "delete", "s", "--yes"},
			} {
				r := vitrine(tr.dir, args...).with(crewEnviron(tr.ledger.dir)...).run(t)
				if r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, "process "+strconv.Itoa(f.cmd.Process.Pid)) {
					t.Errorf("%v: %+v", args, r)
				}
			}
			vitrine(tr.dir, "run", "--session", "other", "hello").with(crewEnviron(tr.ledger.dir)...).ok(t)
			now, err := look(tr.dir)
			if err != nil || !reflect.DeepEqual(now, before) {
				t.Errorf("the session changed while its holder was stopped: %v", err)
			}
			if r := f.thaw(); r.code != 0 {
				t.Errorf("afterwards: %+v", r)
			}
			if err := tr.play(); err != nil {
				t.Error(err)
			}
		})
	}
}

// loseLock takes a process's lock on its life away, as when somebody clears the folder of the locks or the system forgets them.
func loseLock(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "data", "holders")); err != nil {
		t.Fatal(err)
	}
}

// A process that was stopped while another one took its session over, in order, because its lock was gone, does nothing in it
// when it goes on: it writes nothing, runs no tool that changes something, and says that it lost the session.
func TestDisplacedHolderActsNoMore(t *testing.T) {
	m := newMatrix(t)
	points := stopPoints()
	if !m.full {
		points = points[2:8]
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			tr := m.trial(askAll, unharmed)
			f := freeze(t, tr, point)
			loseLock(t, tr.dir)
			if err := tr.play(); err != nil {
				t.Fatal(err)
			}
			files := map[string][]deed{}
			for _, name := range []string{"attempts", "effects"} {
				var err error
				if files[name], err = tr.ledger.read(name); err != nil {
					t.Fatal(err)
				}
			}
			r := f.thaw()
			if r.code != 1 || !strings.Contains(r.stderr, "taken over by another process") {
				t.Errorf("it goes on: %+v", r)
			}
			now, err := look(tr.dir)
			if err != nil || !reflect.DeepEqual(now, tr.last) {
				t.Errorf("it wrote into the session of another process: %v", err)
			}
			for name, was := range files {
				if is, err := tr.ledger.read(name); err != nil || !reflect.DeepEqual(unread(is), unread(was)) {
					t.Errorf("it acted, %s: %v, then %v, %v", name, was, is, err)
				}
			}
		})
	}
}

// unread leaves out what only looks.
func unread(all []deed) (out []deed) {
	for _, d := range all {
		if d.tool != "peek" && d.tool != "note" {
			out = append(out, d)
		}
	}
	return out
}
