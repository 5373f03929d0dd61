//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/trace/rotate"
)

// fullTrace makes a trace file that has no room for another line.
func fullTrace(t *testing.T, path string) []byte {
	t.Helper()
	line := `{"ts":"2026-01-01T00:00:00.000000Z","seq":1,"session_id":"old","run_id":null,"turn":0,"event":"session","step":0,"data":{"action":"created"}}` + "\n"
	full := []byte(strings.Repeat(line, trace.DefaultMaxBytes/len(line)))
	if err := os.WriteFile(path, full, 0o600); err != nil {
		t.Fatal(err)
	}
	return full
}

// sessionSeqs gives what the trace has of a session, across the files, and the number of gaps.
func sessionSeqs(t *testing.T, path, session string) (seqs []int64, gaps int) {
	t.Helper()
	in, err := trace.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	for e, err := range (trace.Reader{OnBad: func(b trace.BadLine) { t.Error(b) }}).Events(in) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Name == trace.Gap:
			gaps++
		case e.SessionID == session && e.Seq > 0:
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs, gaps
}

// B181: the program renames a full trace and goes on; the session is there from its first event to its last. A rotation that
// fails does not stop the agent: the answer comes, the code is 0, what is wrong is said in one line, and the file is as it was.
func TestFullTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("reads files of the largest size again and again")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "data", "traces.jsonl")
	vitrine(dir, "run", "--session", "s", "1+1").ok(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	full := fullTrace(t, path)
	for _, name := range []string{"traces.1.jsonl", "traces.2.jsonl"} { // a folder that is not empty cannot be replaced
		if err := os.MkdirAll(filepath.Join(dir, "data", name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := vitrine(dir, "run", "--session", "s", "2+2").run(t)
	if r.code != 0 || !strings.Contains(r.stdout, "4") || strings.Count(r.stderr, "the trace file is not written: rotate trace:") != 1 {
		t.Errorf("%+v", r)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, full) {
		t.Errorf("the full file changed: %d bytes, then %d, %v", len(full), len(now), err)
	}
	for _, name := range []string{"traces.1.jsonl", "traces.2.jsonl"} {
		if err := os.RemoveAll(filepath.Join(dir, "data", name)); err != nil {
			t.Fatal(err)
		}
	}
	vitrine(dir, "run", "--session", "new", "3+3").ok(t)
	vitrine(dir, "run", "--session", "new", "4+4").ok(t)
	if moved, err := os.ReadFile(filepath.Join(dir, "data", "traces.1.jsonl")); err != nil || !bytes.Equal(moved, full) {
		t.Errorf("%d bytes were moved of %d, %v", len(moved), len(full), err)
	}
	seqs, gaps := sessionSeqs(t, path, "new")
	var want []int64
	for line := range strings.Lines(vitrine(dir, "trace", "new", "--json").ok(t)) {
		var e trace.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		want = append(want, e.Seq)
	}
	if len(seqs) < 6 || len(seqs) != len(want) || seqs[0] != want[0] || seqs[len(seqs)-1] != want[len(want)-1] || gaps != 0 {
		t.Errorf("the trace has %v of %v, %d gaps", seqs, want, gaps)
	}
	if old, _ := sessionSeqs(t, path, "old"); len(old) != bytes.Count(full, []byte("\n")) {
		t.Errorf("%d of the old lines", len(old))
	}
	if doctor := vitrine(dir, "doctor").ok(t); !strings.Contains(doctor, "MB in 2 files, at most 3 of 10 MB") {
		t.Error(doctor)
	}
}

// B181: killed in the middle of a rotation, the program goes on with the files that it finds.
func TestKilledInARotation(t *testing.T) {
	if testing.Short() {
		t.Skip("reads files of the largest size again and again")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "data", "traces.jsonl")
	vitrine(dir, "run", "--session", "s", "1+1").ok(t)
	first, _ := sessionSeqs(t, path, "s")
	if err := os.Rename(path, filepath.Join(dir, "data", "traces.1.jsonl")); err != nil {
		t.Fatal(err)
	}
	full := fullTrace(t, path)
	r := vitrine(dir, "run", "--session", "s", "2+2").with("VITRINE_FAULT=jsonl.rotate:1:kill").run(t)
	if r.code == 0 {
		t.Errorf("it was not killed: %+v", r)
	}
	vitrine(dir, "run", "--session", "after", "3+3").ok(t)
	if seqs, _ := sessionSeqs(t, path, "after"); len(seqs) < 3 {
		t.Errorf("%v", seqs)
	}
	if seqs, _ := sessionSeqs(t, path, "s"); len(seqs) < len(first) || seqs[0] != first[0] {
		t.Errorf("of the oldest file %v is left of %v", seqs, first)
	}
	if seqs, _ := sessionSeqs(t, path, "old"); len(seqs) != bytes.Count(full, []byte("\n")) {
		t.Errorf("%d of the full file", len(seqs))
	}
}

// Sessions that another process holds are not pruned, and while it has the database open the space is not given back: the
// command names that process. When it is gone the space is given back.
func TestPruneBesideAnotherProcess(t *testing.T) {
	server, arrived := held(t)
	dir := t.TempDir()
	env := []string{"OPENAI_BASE_URL=" + server.URL(), "AGENT_MAX_CTX_TOKENS=100000"}
	vitrine(dir, "run", "--session", "large", strings.Repeat("a long story ", 5000)).with(env...).ok(t)
	wait, signal := background(t, vitrine(dir, "run", "--session", "held", "please wait").with(env...), arrived)
	out := vitrine(dir, "sessions", "prune", "--keep", "0", "--yes").ok(t)
	if !strings.Contains(out, "1 session (2 messages) is deleted; 1 more session stays, in use by a process or a tab; ") ||
		!strings.Contains(out, " KB in the database are free and not given back: process ") {
		t.Error(out)
	}
	if doctor := vitrine(dir, "doctor").ok(t); !strings.Contains(doctor, "  sessions   1\n") {
		t.Error(doctor)
	}
	signal(syscall.SIGTERM)
	if r := wait(); r.code != 130 {
		t.Errorf("%+v", r)
	}
	before, err := os.Stat(filepath.Join(dir, "data", "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	out = vitrine(dir, "sessions", "prune", "--keep", "1").ok(t)
	after, err := os.Stat(filepath.Join(dir, "data", "sessions.db"))
	if err != nil || after.Size() >= before.Size()-30_000 || !strings.Contains(out, " KB smaller") {
		t.Errorf("%d bytes, then %d: %s %v", before.Size(), after.Size(), out, err)
	}
	if closings := checkTurns(t, messages(t, dir, "held")); len(closings) != 1 {
		t.Errorf("closings %q", closings)
	}
}

// B181: the log of panics too is renamed when it is full, and no entry is cut.
func TestFullLog(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Config{DBPath: filepath.Join(dir, "sessions.db")}
	full := bytes.Repeat([]byte("an old line\n"), rotate.LogMaxBytes/12)
	for range 2 {
		if err := os.WriteFile(filepath.Join(dir, "vitrine.log"), full, 0o600); err != nil {
			t.Fatal(err)
		}
		logPanic(cfg, clock.Real(), "a turn", "the cause", []byte("the stack"))
	}
	data, err := os.ReadFile(filepath.Join(dir, "vitrine.log"))
	if err != nil || !strings.HasSuffix(string(data), "panic in a turn: the cause\nthe stack\n") || len(data) > 200 {
		t.Errorf("%d bytes: %.300s %v", len(data), data, err)
	}
	if old, err := os.ReadFile(filepath.Join(dir, "vitrine.1.log")); err != nil || !bytes.Equal(old, full) {
		t.Errorf("%d bytes of the old log, %v", len(old), err)
	}
	if files, size, err := rotate.LogSize(filepath.Join(dir, "vitrine.log")); err != nil || files != 2 || size > 2<<20 {
		t.Errorf("%d files, %d bytes, %v", files, size, err)
	}
}
