package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vitrine/runtime"
	"vitrine/runtime/clock"
	"vitrine/runtime/config"
	"vitrine/trace"
	"vitrine/trace/rotate"
)

// pruneBench has sessions of several ages, newest first.
func pruneBench(t *testing.T) *bench {
	b := newBench(t)
	ago := func(days float64) time.Time {
		return b.sim.Now().Add(-time.Duration(days * 24 * float64(time.Hour)))
	}
	b.f.rows = []runtime.SessionInfo{
		{ID: "today", UpdatedAt: ago(0), Messages: 1, RunState: "succeeded"},
		{ID: "week", UpdatedAt: ago(7), Messages: 2, RunState: "succeeded"},
		{ID: "tab", UpdatedAt: ago(40), Messages: 4},
		{ID: "held", UpdatedAt: ago(41), Messages: 8, HeldBy: 7},
		{ID: "own", UpdatedAt: ago(42), Messages: 16, Own: true},
		{ID: "month", UpdatedAt: ago(43), Messages: 32, RunState: "executing"},
		{ID: "year", UpdatedAt: ago(400), Messages: 64, RunState: "failed"},
	}
	b.f.tabs = runtime.Tabs{Sessions: []string{"other", "tab"}}
	return b
}

func (b *bench) wentWith(args ...string) (ids []string, o outcome) {
	b.f.pruned = nil
	o = b.run(append([]string{"sessions", "prune"}, args...)...)
	for _, s := range b.f.pruned {
		ids = append(ids, s.ID)
	}
	return ids, o
}

// Both flags alone and together, at their edges; what is in use always stays.
func TestPruneChooses(t *testing.T) {
	b := pruneBench(t)
	for _, c := range []struct {
		args string
		want string
		out  string
	}{
		{"--older-than 30", "month year", "2 sessions (96 messages) are deleted; 3 more sessions stay, in use by a process or a tab; the trace file still tells of them\n"},
		{"--older-than 7", "week month year", "3 sessions (98 messages) are deleted; 3 more"},
		{"--older-than 8", "month year", "2 sessions"},
		{"--older-than 399", "year", "1 session (64 messages) is deleted; the trace file still tells of them\n"},
		{"--older-than 401", "", "no session of ada was to be deleted\n"},
		{"--keep 0", "today week month year", "4 sessions (99 messages)"},
		{"--keep 1", "week month year", "3 sessions"},
		{"--keep 3", "month year", "2 sessions (96 messages) are deleted; 2 more sessions stay"},
		{"--keep 4", "month year", "1 more session stays, in use"},
		{"--keep 7", "", "no session of ada"},
		{"--keep 700", "", "no session of ada"},
		{"--keep 6 --older-than 30", "year", "1 session (64"},
		{"--keep 1 --older-than 30", "month year", "2 sessions"},
	} {
		ids, got := b.wentWith(append(strings.Fields(c.args), "--yes")...)
		if got.code != 0 || !strings.HasPrefix(got.out, c.out) && !strings.Contains(got.out, c.out) || strings.Join(ids, " ") != c.want {
			t.Errorf("%s: %v %+v", c.args, ids, got)
		}
	}
	if o := b.f.options[0]; !o.StoreOnly {
		t.Error("an engine was made")
	}
}

// What has a star stays, and is told of.
func TestPruneLeavesStars(t *testing.T) {
	b := pruneBench(t)
	for i := range b.f.rows {
		b.f.rows[i].Starred = b.f.rows[i].ID == "year"
	}
	ids, got := b.wentWith("--keep", "0", "--yes")
	if strings.Join(ids, " ") != "today week month" || !strings.Contains(got.out, "1 session with a star left alone") {
		t.Errorf("%v %+v", ids, got)
	}
	if got := b.run("sessions", "--json"); strings.Count(got.out, `"starred":true`) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestPruneAsks(t *testing.T) {
	b := pruneBench(t)
	b.proc.In, b.proc.Stdin = Terminal, strings.NewReader("n\n")
	ids, got := b.wentWith("--older-than", "30")
	b.want(got, 0, "", "Delete 2 sessions (96 messages) of ada for good? 1 of them stands in the middle of a turn that could be resumed. [y/N] nothing was deleted\n")
	if ids != nil || got.out != "" {
		t.Errorf("%v %+v", ids, got)
	}
	b.proc.Stdin = strings.NewReader("y\n")
	if ids, got = b.wentWith("--older-than", "30"); len(ids) != 2 || got.code != 0 {
		t.Errorf("%v %+v", ids, got)
	}
	b.f.rows = b.f.rows[5:6]
	b.proc.Stdin = strings.NewReader("")
	_, got = b.wentWith("--keep", "0")
	b.want(got, 0, "", "Delete 1 session (32 messages) of ada for good? It stands in the middle")
	b.f.rows = append(b.f.rows, b.f.rows[0])
	b.proc.Stdin = strings.NewReader("")
	_, got = b.wentWith("--keep", "0")
	b.want(got, 0, "", "2 of them stand in the middle")
	b.proc.In, b.proc.Stdin = Data, never{t}
	_, got = b.wentWith("--keep", "0")
	b.want(got, 2, "", "--yes answers it")
	// Nothing to delete is nothing to ask.
	_, got = b.wentWith("--keep", "2")
	b.want(got, 0, "no session of ada was to be deleted\n", "")
}

func TestPruneTellsOfSpace(t *testing.T) {
	b := pruneBench(t)
	b.f.space = Space{Freed: 3 << 20}
	_, got := b.wentWith("--keep", "6", "--yes")
	b.want(got, 0, "1 session (64 messages) is deleted; the database is 3 MB smaller; the trace file still tells of them\n", "")
	_, got = b.wentWith("--keep", "6", "--yes", "--json")
	b.want(got, 0, `{"sessions":1,"messages":64,"bytes":3145728,"free_bytes":0,"in_use":0}`+"\n", "")
	b.f.space = Space{Left: 1500, Why: "process 7 (vitrine) has it open"}
	_, got = b.wentWith("--keep", "7")
	b.want(got, 0, "no session of ada was to be deleted; 2 KB in the database are free and not given back: process 7 (vitrine) has it open\n", "")
	// Taken into use while it was asked.
	b.f.rows[6].ID = "busy"
	_, got = b.wentWith("--keep", "5", "--yes", "--json")
	b.want(got, 0, `{"sessions":1,"messages":32,"bytes":0,"free_bytes":1500,"why":"process 7 (vitrine) has it open","in_use":1}`+"\n", "")
	b.f.shrinkErr = errors.New("no")
	_, got = b.wentWith("--keep", "5", "--yes")
	b.want(got, 1, "1 session (32 messages) is deleted", "vitrine: no\n")
	b.f.pruneErr = errors.New("the disk is full")
	_, got = b.wentWith("--keep", "5", "--yes")
	b.want(got, 1, "", "1 session (32 messages) is deleted before it failed\nvitrine: the disk is full\n")
	if b.f.closed != len(b.f.options) {
		t.Errorf("opened %d times, closed %d times", len(b.f.options), b.f.closed)
	}
}

func TestPruneUsage(t *testing.T) {
	b := pruneBench(t)
	for _, c := range []struct{ args, err string }{
		{"", "needs to know what may go; give --older-than DAYS, --keep N, or both"},
		{"--yes", "needs to know what may go"},
		{"--older-than 0 --yes", "--older-than 0: must be a whole number of days from 1 to 80000"},
		{"--older-than 80001 --yes", "--older-than 80001"},
		{"--older-than -1 --yes", "--older-than -1"},
		{"--older-than x --yes", "older-than"},
		{"--keep -1 --yes", "--keep -1: must be a whole number from 0"},
		{"--keep 1 word", `takes no argument "word"`},
		{"--kep 1", "did you mean --keep?"},
	} {
		ids, got := b.wentWith(strings.Fields(c.args)...)
		b.want(got, 2, "", c.err)
		if ids != nil || len(b.f.options) > 0 {
			t.Errorf("%s: %v", c.args, ids)
		}
	}
	b.f.loadErr = errors.New("cannot be read")
	_, got := b.wentWith("--keep", "1")
	b.want(got, 1, "", "list the sessions: cannot be read")
	b.prog.Open = func(context.Context, config.Config, clock.Clock, OpenOptions) (*App, error) {
		return nil, os.ErrNotExist
	}
	_, got = b.wentWith("--keep", "1")
	b.want(got, 0, "no session of ada was to be deleted\n", "")
	b.proc.Environ = []string{"AGENT_COMPACT=x"}
	_, got = b.wentWith("--keep", "1")
	b.want(got, 2, "", "AGENT_COMPACT=x")
}

func TestDoctorTellsWhatTheStoreHolds(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	b.proc.Environ = append(b.proc.Environ, "AGENT_DB_PATH="+filepath.Join(dir, "s.db"), "AGENT_TRACE_PATH="+filepath.Join(dir, "t.jsonl"))
	state := StoreState{Path: filepath.Join(dir, "s.db"), Exists: true, Bytes: 5 << 19, Text: "version 1",
		Holds: &StoreSize{Sessions: 3, Messages: 40, Events: 500, Artifacts: 6, ArtifactBytes: 70_000}}
	b.prog.Inspect = func(context.Context, config.Config) StoreState { return state }
	wants := func(lines ...string) {
		t.Helper()
		got := b.run("doctor")
		for _, l := range lines {
			if !slices.Contains(strings.Split(got.out, "\n"), l) {
				t.Errorf("doctor lacks %q:\n%s", l, got.out)
			}
		}
	}
	wants("  sessions   3", "  messages   40", "  events     500", "  artifacts  6   69 KB", "  database   2.5 MB",
		"  trace      none, at most 3 of 10 MB", "  log        none, at most 2 of 1 MB")
	for name, size := range map[string]int{"t.jsonl": 2 << 20, "t.1.jsonl": 10 << 20, "vitrine.log": 1} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state.Holds.FreeBytes, state.Holds.LogBytes, state.Holds.Partial = 1<<20, 4096, true
	wants("  database   2.5 MB   1 MB of it free   4 KB of log beside it, which is counted when the store is opened next",
		"  trace      12 MB in 2 files, at most 3 of 10 MB", "  log        1 KB in 1 file, at most 2 of 1 MB")
	state.Holds, state.Uncounted = nil, "it is locked"
	wants("  sessions  not counted: it is locked")
	b.proc.Environ = append(b.proc.Environ, "AGENT_TRACE_PATH="+filepath.Join(dir, "t.jsonl", "x"))
	wants("  trace     unknown: not a directory, at most 3 of 10 MB")
	if trace.DefaultMaxBytes*trace.DefaultFiles != 30<<20 || rotate.LogMaxBytes*rotate.LogFiles != 2<<20 {
		t.Error("other limits than the README's")
	}
}

func TestBytesWord(t *testing.T) {
	for n, want := range map[int64]string{0: "0 KB", 1: "1 KB", 1024: "1 KB", 1025: "2 KB", 1<<20 - 1: "1024 KB", 1 << 20: "1 MB", 3 << 19: "1.5 MB",
		1 << 30: "1 GB", 5 << 29: "2.5 GB"} {
		if got := bytesWord(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
