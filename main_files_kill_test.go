//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// killedWrite is a session in which the offline model writes one file, in a folder of its own, and whose process is killed.
type killedWrite struct {
	t    *testing.T
	dir  string
	name string
	old  string // what the file holds before; empty: there is none
}

const killedText = "the new line, long enough to be cut in two"

var writeUnasked = []string{"AGENT_TOOL_POLICY=write_file=auto"}

func newKilledWrite(t *testing.T, name, old string) *killedWrite {
	k := &killedWrite{t: t, dir: t.TempDir(), name: name, old: old}
	if old == "" {
		return k
	}
	if err := os.WriteFile(filepath.Join(k.dir, name), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// start sends the request; the process lives or dies as fault says.
func (k *killedWrite) start(fault string) result {
	k.t.Helper()
	return vitrine(k.dir, "run", "--session", "s", "write "+k.name+" with "+killedText).with(append(writeUnasked, "VITRINE_FAULT="+fault)...).run(k.t)
}

// holds gives the file's content, empty when there is none.
func (k *killedWrite) holds() (string, fs.FileInfo) {
	k.t.Helper()
	path := filepath.Join(k.dir, k.name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		k.t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(data), info
}

// prepared are the files that a write left beside its own.
func (k *killedWrite) prepared() []string {
	k.t.Helper()
	list, err := filepath.Glob(filepath.Join(k.dir, filepath.Dir(k.name), ".vitrine-*"))
	if err != nil {
		k.t.Fatal(err)
	}
	return list
}

// points are the fault points from the start of the write's effect to the commit of its result, as a process that lives passes
// them.
func (k *killedWrite) points() (points []string) {
	k.t.Helper()
	list := filepath.Join(k.t.TempDir(), "points")
	if r := k.start("list:" + list); r.code != 0 {
		k.t.Fatalf("%+v", r)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		k.t.Fatal(err)
	}
	hits, names, made := map[string]int{}, []string{}, -1
	for _, name := range strings.Fields(string(data)) {
		if hits[name]++; name == "write.made" {
			made = len(names)
		}
		names = append(names, fmt.Sprintf("%s:%d", name, hits[name]))
	}
	if made < 0 {
		k.t.Fatalf("no write among %v", names)
	}
	from := made - 1
	for !strings.HasPrefix(names[from], "effect.before") {
		from--
	}
	to := made + slices.IndexFunc(names[made:], func(n string) bool { return strings.HasPrefix(n, "commit.after") })
	for _, name := range names[from : to+1] {
		if !strings.HasPrefix(name, "jsonl") { // of another goroutine
			points = append(points, name)
		}
	}
	return points
}

// check wants the file old or new whole after the kill, the run to go on to the truth, and nothing to be written twice.
func (k *killedWrite) check(point string) {
	k.t.Helper()
	if r := k.start(point + ":kill"); r.code != -1 {
		k.t.Fatalf("%s: exit code %d\n%s", point, r.code, r.stderr)
	}
	fresh := killedText + "\n"
	after := strings.HasPrefix(point, "write.after") || strings.HasPrefix(point, "effect.after") || strings.HasPrefix(point, "commit.")
	want, stored := k.old, strings.HasPrefix(point, "commit.after")
	if after {
		want = fresh
	}
	got, killed := k.holds()
	if got != want {
		k.t.Fatalf("%s: the file holds %q after the kill", point, got)
	}
	if left := len(k.prepared()); left > 1 || after && left > 0 {
		k.t.Errorf("%s: %d prepared files are left", point, left)
	}
	f, err := look(k.dir)
	if err != nil || !f.unfinished() {
		k.t.Fatalf("%s: %v, the run is %s", point, err, f.state)
	}
	r := vitrine(k.dir, "run", "--resume", f.run).with(writeUnasked...).run(k.t)
	told := "new file, +1"
	if k.old != "" {
		told = "+1 -1"
	}
	if after && !stored {
		told = "written. (found written after the program had stopped)"
	}
	if r.code != 0 || !strings.Contains(r.stdout, "Wrote "+k.name+": "+told) {
		k.t.Errorf("%s: exit code %d, told %q, want %q\n%s", point, r.code, r.stdout, told, r.stderr)
	}
	got, now := k.holds()
	if got != fresh {
		k.t.Errorf("%s: the file holds %q in the end", point, got)
	}
	if after && !os.SameFile(killed, now) {
		k.t.Errorf("%s: the file was written twice", point)
	}
	if left := k.prepared(); len(left) > 0 {
		k.t.Errorf("%s: %v is left", point, left)
	}
	if f, err = look(k.dir); err != nil || f.unfinished() {
		k.t.Errorf("%s: %v, the run is %s", point, err, f.state)
	}
	checkTurns(k.t, messages(k.t, k.dir, "s"))
}

// SIGKILL at each point of a write, in the real program: before the file is prepared and in the middle of it, on both sides of the
// rename, and of the commit of the result.
func TestWriteKilled(t *testing.T) {
	for name, old := range map[string]string{"notes.txt": "the old line\n", "deep/er/notes.txt": ""} {
		if testing.Short() && old != "" {
			continue
		}
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			points := newKilledWrite(t, name, old).points()
			for _, kind := range []string{"effect.before", "write.made", "write.half", "write.before", "write.after", "effect.after", "commit.before", "commit.after"} {
				if !slices.ContainsFunc(points, func(p string) bool { return strings.HasPrefix(p, kind+":") }) {
					t.Errorf("no point %s among %v", kind, points)
				}
			}
			for i, point := range points {
				if testing.Short() && i%2 > 0 {
					continue
				}
				newKilledWrite(t, name, old).check(point)
			}
		})
	}
}

// A run that is given up asks nothing of what its killed write prepared: the next write in the folder takes it away.
func TestWriteKilledAndGivenUp(t *testing.T) {
	k := newKilledWrite(t, "notes.txt", "the old line\n")
	if r := k.start("write.half:1:kill"); r.code != -1 {
		t.Fatalf("%+v", r)
	}
	if left := k.prepared(); len(left) != 1 {
		t.Fatalf("prepared: %v", left)
	}
	if out := vitrine(k.dir, "run", "--session", "s", "write other.txt with something").with(writeUnasked...).ok(t); !strings.Contains(out, "Wrote other.txt") {
		t.Errorf("%q", out)
	}
	if left := k.prepared(); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	if got, _ := k.holds(); got != k.old {
		t.Errorf("the file holds %q", got)
	}
	checkTurns(t, messages(t, k.dir, "s"))
}
