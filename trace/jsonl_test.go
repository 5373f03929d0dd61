package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gofrs/flock"
	"pgregory.net/rapid"

	"vitrine/runtime/clock"
)

// line is a good line of the file.
func line(seq int64) string {
	b, _ := stored("s", seq).MarshalJSON()
	return string(b) + "\n"
}

// readAll gives the seqs of the events in text (0 for those without, negative for gaps), and the bad lines.
func readAll(t *testing.T, r io.Reader) (seqs []int64, bad []BadLine) {
	t.Helper()
	for e, err := range (Reader{OnBad: func(b BadLine) { bad = append(bad, b) }}).Events(r) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == Gap {
			e.Seq = -1
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs, bad
}

func readFile(t *testing.T, path string) ([]int64, []BadLine) {
	t.Helper()
	return readAll(t, bytes.NewReader(readSet(t, path)))
}

// readSet gives the bytes of the file and of those that it was renamed to.
func readSet(t *testing.T, path string) []byte {
	t.Helper()
	in, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write has a writer write events to path, under the real clock.
func write(path string, events ...Event) {
	b := NewBus(clock.Real())
	s := b.SubscribeKept(1000)
	b.Publish(events...)
	b.Close()
	NewWriter(WriterConfig{Path: path, Clock: clock.Real(), MaxChars: 100}).Run(context.Background(), s)
}

// B178: after a crash the last line is cut; what is written next stands on a line of its own.
func TestTornLineIsNotGluedToTheNext(t *testing.T) {
	good := line(1) + line(2) + line(3)
	for _, c := range []struct {
		name, tail string
		seqs       []int64
		bad        []BadLine
	}{
		{"nothing", "", []int64{1, 2, 3, 5}, nil},
		{"cut line", `{"seq":4,"msg":"ab`, []int64{1, 2, 3, 5}, []BadLine{{4, 18, "decode event: unexpected end of JSON input"}}},
		{"cut character", `{"seq":4,"msg":"` + "\xe4\xb8", []int64{1, 2, 3, 5}, []BadLine{{4, 18, "unexpected end of JSON input"}}},
		{"whole line", strings.TrimSuffix(line(4), "\n"), []int64{1, 2, 3, 4, 5}, nil},
		{"NUL bytes", strings.Repeat("\x00", 4096), []int64{1, 2, 3, 5}, []BadLine{{4, 4096, "NUL bytes"}}},
		{"NUL bytes and a line", strings.Repeat("\x00", 10) + strings.TrimSuffix(line(4), "\n"), []int64{1, 2, 3, 4, 5}, []BadLine{{4, 10 + int64(len(line(4))) - 1, "NUL bytes"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			if err := os.WriteFile(path, []byte(good+c.tail), 0o600); err != nil {
				t.Fatal(err)
			}
			write(path, stored("s", 5))
			seqs, bad := readFile(t, path)
			equal(t, seqs, c.seqs)
			for i := range bad {
				bad[i].Reason = strings.TrimPrefix(bad[i].Reason, "decode event: ")
			}
			for i := range c.bad {
				c.bad[i].Reason = strings.TrimPrefix(c.bad[i].Reason, "decode event: ")
			}
			equal(t, bad, c.bad)
			after, _ := os.ReadFile(path)
			if !bytes.HasPrefix(after, []byte(good+c.tail)) { // never truncated
				t.Error("what was in the file changed")
			}
		})
	}
}

// B179: bad lines in the middle hide nothing of the rest and are told of with their numbers.
func TestBadLinesHideNothing(t *testing.T) {
	parts := make([]io.Reader, 0, 10_000)
	for n := int64(1); n <= 10_000; n++ {
		text := line(n)
		switch n {
		case 5_000:
			text = strings.Repeat("\x00", 4096) + "\n"
		case 6_000:
			text = "{bad\n"
		case 7_000:
			parts = append(parts, io.LimitReader(xs{}, 40<<20))
			text = "\n"
		case 8_000:
			text = "[1, 2]\n"
		case 9_000:
			text = `{"ts":"2026-01-01T00:00:00Z","seq":9000,"session_id":"s","event":"from_tomorrow","data":{"a":1}}` + "\n"
		}
		parts = append(parts, strings.NewReader(text))
	}
	var bad []BadLine
	count, unknown := 0, 0
	for e, err := range (Reader{OnBad: func(b BadLine) { bad = append(bad, b) }}).Events(io.MultiReader(parts...)) {
		if err != nil {
			t.Fatal(err)
		}
		count++
		if u, ok := e.Data.(*Unknown); ok {
			unknown++
			equal(t, u, &Unknown{Name: "from_tomorrow", Raw: json.RawMessage(`{"a":1}`)})
		}
	}
	equal(t, count, 9_996)
	equal(t, unknown, 1)
	equal(t, bad, []BadLine{
		{5_000, 4096, "NUL bytes"},
		{6_000, 4, "invalid character 'b' looking for beginning of object key string"},
		{7_000, 40 << 20, "longer than 33554432 bytes"},
		{8_000, 6, "no JSON object"},
	})
	equal(t, bad[3].String(), "line 8000 (6 bytes): no JSON object")
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReaderEdges(t *testing.T) {
	for _, c := range []struct {
		in   string
		seqs []int64
		bad  []string
	}{
		{"", nil, nil},
		{"\n\n  \n\t\r\n", nil, nil},
		{"\xEF\xBB\xBF" + strings.TrimSuffix(line(1), "\n") + "\r\n" + line(2), []int64{1, 2}, nil},
		{strings.TrimSuffix(line(1), "\n"), []int64{1}, nil},
		{line(1) + `{"seq":`, []int64{1}, []string{"line 2 (7 bytes): ends in the middle"}},
		{"7\n" + line(1) + `{"event":"x"} {}` + "\n", []int64{1}, []string{"line 1 (1 bytes): no JSON object", "line 3 (16 bytes): invalid character '{' after top-level value"}},
		{`{"event":"x"}`, nil, []string{"line 1 (13 bytes): ends in the middle"}},
		{"\x00{\x00}\n", nil, []string{"line 1 (4 bytes): NUL bytes"}},
	} {
		seqs, bad := readAll(t, strings.NewReader(c.in))
		equal(t, seqs, c.seqs)
		var told []string
		for _, b := range bad {
			told = append(told, b.String())
		}
		equal(t, told, c.bad)
	}
	// It stops when asked to, needs no OnBad, and gives the error of a failed read.
	for range (Reader{}).Events(strings.NewReader("bad\n" + line(1) + line(2))) {
		break
	}
	broken := errors.New("broken")
	var err error
	for _, err = range (Reader{}).Events(io.MultiReader(strings.NewReader(line(1)), iotest.ErrReader(broken))) {
	}
	if !errors.Is(err, broken) || err.Error() != "read trace, line 2: broken" {
		t.Error(err)
	}
	// Long lines in short reads.
	var bad []BadLine
	n := 0
	for range (Reader{MaxLine: len(line(1)) + 5, OnBad: func(b BadLine) { bad = append(bad, b) }}).Events(
		iotest.OneByteReader(strings.NewReader(strings.Repeat("y", 200_000) + "\n" + line(1)))) {
		n++
	}
	equal(t, n, 1)
	equal(t, bad[0].Bytes, int64(200_000))
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(line(1) + "{bad\n" + line(2)))
	f.Add([]byte("\x00\x00{\"event\":\"state\",\"ts\":\"2026-01-01T00:00:00Z\"}\n[]\n\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		events, bad := 0, 0
		for e, err := range (Reader{MaxLine: 1000, OnBad: func(BadLine) { bad++ }}).Events(bytes.NewReader(in)) {
			if err != nil {
				t.Fatal(err)
			}
			events++
			if err := strict(must(e.MarshalJSON())); err != nil {
				t.Error(err)
			}
		}
		if lines := bytes.Count(in, newline) + 1; events > lines || bad > lines {
			t.Errorf("%d events and %d bad lines of %d lines", events, bad, lines)
		}
	})
}

func TestWriterKeepsWhatReadersNeed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	path := filepath.Join(dir, "t.jsonl")
	write(path,
		Event{TS: start, Seq: 1, SessionID: "s", RunID: "r", Turn: 1, Name: RunStart, Data: RunStartData{Input: strings.Repeat("长", 150)}},
		Event{TS: start, SessionID: "s", RunID: "r", Turn: 1, Name: Retry, Step: 1, Data: RetryData{Attempt: 1, Max: 2, WaitMS: 500, Cause: "503"}},
		delta("s", "text", "not kept"),
		Event{TS: start, Seq: 2, SessionID: "s", RunID: "r", Turn: 1, Name: ToolResult, Data: ToolResultData{Result: json.RawMessage(`{"n":12,"deep":["` + strings.Repeat("é", 120) + `"]}`)}},
	)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	equal(t, strings.Count(text, "\n"), 3)
	for _, want := range []string{strings.Repeat("长", 100) + "… [+50 characters]", `{"n":12,"deep":["` + strings.Repeat("é", 100) + `… [+20 characters]"]}`, `"event":"retry"`, `"seq":null`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "not kept") {
		t.Error("a delta is in the file")
	}
	info, _ := os.Stat(path)
	equal(t, info.Mode().Perm(), os.FileMode(0o600))
	ignore, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	equal(t, err, error(nil))
	equal(t, string(ignore), "*\n")
	info, _ = os.Stat(dir)
	equal(t, info.Mode().Perm(), os.FileMode(0o700))
}

// B182: the file is valid whatever a tool gave, and a cut falls between graphemes.
func TestFileIsValidWhateverComesIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	var events []Event
	for i, in := range []string{"\xed\xa0\x80", "\xff\xfe", "\xf0\x9f", `{"a":"\ud83d"}`, strings.Repeat("x", 99) + "😀y", strings.Repeat("x", 98) + "👨\u200d👩\u200d👧", "name\xff"} {
		events = append(events, Event{TS: start, Seq: int64(i + 1), SessionID: "s", Name: ToolResult, Data: ToolResultData{Result: json.RawMessage(in), Summary: in}})
	}
	write(path, events...)
	b, _ := os.ReadFile(path)
	for l := range bytes.Lines(b) {
		if err := strict(bytes.TrimSuffix(l, newline)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(string(b), strings.Repeat("x", 99)+"😀… [+1 characters]") || !strings.Contains(string(b), strings.Repeat("x", 98)+"… [+5 characters]") {
		t.Error("a cut is not between graphemes")
	}
	seqs, bad := readFile(t, path)
	equal(t, len(seqs), len(events))
	equal(t, len(bad), 0)
}

// failing is a store and a file that can be made to fail, under the simulated clock.
type failing struct {
	sim    *clock.Sim
	bus    *Bus
	path   string
	err    error // of writes
	store  []Event
	reads  error
	states []string
}

func newFailing(t *testing.T) *failing {
	f := &failing{sim: clock.NewSim(start), path: filepath.Join(t.TempDir(), "t.jsonl")}
	f.bus = NewBus(f.sim)
	t.Cleanup(f.sim.Halt)
	return f
}

func (f *failing) config() WriterConfig {
	return WriterConfig{
		Path: f.path, Clock: f.sim,
		OnState: func(stopped bool, err error) {
			f.states = append(f.states, fmt.Sprintf("%v stopped %v: %v", f.sim.Now().Sub(start), stopped, err))
		},
		Fault: func(point string) error {
			if point == "jsonl.before" {
				return f.err
			}
			return nil
		},
	}
}

func (f *failing) read(_ context.Context, session string, after int64, limit int) ([]Event, error) {
	if f.reads != nil {
		return nil, f.reads
	}
	var out []Event
	for _, e := range f.store {
		if e.SessionID == session && e.Seq > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *failing) publish(events ...Event) {
	for _, e := range events {
		if e.Seq > 0 {
			f.store = append(f.store, e)
		}
	}
	f.bus.Publish(events...)
}

func (f *failing) start(cfg WriterConfig, buffer int) context.CancelFunc {
	ctx, cancel := f.sim.WithCancel(context.Background())
	sub := f.bus.SubscribeKept(buffer)
	f.sim.Go(func() { NewWriter(cfg).Run(ctx, sub) })
	f.sim.Settle()
	return cancel
}

func TestWriterGoesOnWhenItCan(t *testing.T) {
	f := newFailing(t)
	cancel := f.start(f.config(), 100)
	f.publish(stored("s", 1))
	f.sim.Settle()
	f.err = syscall.ENOSPC
	f.publish(stored("s", 2))
	f.sim.Settle()
	f.publish(stored("s", 3))
	f.sim.Advance(20 * time.Second) // tried again after 1, 2, 4 and 8 s
	f.publish(stored("s", 4))
	f.err = nil
	f.sim.Advance(20 * time.Second)
	f.publish(stored("s", 5))
	f.sim.Settle()
	cancel()
	f.sim.Settle()
	equal(t, f.states, []string{
		"0s stopped true: write trace " + f.path + ": no space left on device", "31s stopped false: <nil>",
	})
	seqs, bad := readFile(t, f.path)
	equal(t, seqs, []int64{1, -1, 2, 3, 4, 5})
	equal(t, len(bad), 0)
	b, _ := os.ReadFile(f.path)
	var gap Event
	if err := json.Unmarshal(bytes.Split(b, newline)[1], &gap); err != nil {
		t.Fatal(err)
	}
	since := start
	equal(t, gap, Event{TS: start.Add(31 * time.Second), Name: Gap, Data: GapData{Cause: "write trace " + f.path + ": no space left on device", Since: &since}})
}

func TestWaitBetweenTriesIsBounded(t *testing.T) {
	f := newFailing(t)
	f.err = syscall.EIO
	tries := 0
	cfg := f.config()
	fault := cfg.Fault
	cfg.Fault = func(p string) error { tries++; return fault(p) }
	cancel := f.start(cfg, 100)
	f.publish(stored("s", 1))
	f.sim.Advance(time.Hour)
	if tries < 120 || tries > 130 {
		t.Errorf("%d tries in an hour", tries)
	}
	cancel()
	f.sim.Settle()
	equal(t, f.sim.Idle(), true)
	_, err := os.Stat(f.path)
	equal(t, errors.Is(err, os.ErrNotExist), true)
}

func TestWhatDoesNotFitIsReadAgain(t *testing.T) {
	f := newFailing(t)
	cfg := f.config()
	cfg.Read = f.read
	cancel := f.start(cfg, 3)
	// More than the subscription holds.
	for i := range 1200 {
		f.publish(stored("s", int64(i+1)))
	}
	f.publish(stored("other", 1))
	f.sim.Settle()
	f.publish(stored("s", 1201))
	f.sim.Settle()
	// More than the writer holds while the disk is full.
	f.err = syscall.ENOSPC
	big := strings.Repeat("x", 1<<20)
	for i := range 10 {
		f.publish(Event{TS: start, SessionID: "s", Seq: int64(1202 + i), Name: Answer, Data: AnswerData{Text: big}})
		f.sim.Settle()
	}
	f.err = nil
	f.sim.Advance(time.Minute)
	f.publish(stored("s", 1212))
	cancel()
	f.sim.Settle()
	seqs, bad := readFile(t, f.path)
	equal(t, len(bad), 0)
	var of []int64
	gaps, other := 0, 0
	b := readSet(t, f.path)
	for e := range (Reader{}).Events(bytes.NewReader(b)) {
		switch {
		case e.Name == Gap:
			gaps++
			equal(t, e.Data.(GapData).Lost, 0)
		case e.SessionID == "s":
			of = append(of, e.Seq)
		default:
			other++
		}
	}
	equal(t, gaps, 1)
	equal(t, other, 1)
	equal(t, len(seqs), 1212+2)
	want := make([]int64, 1212)
	for i := range want {
		want[i] = int64(i + 1)
	}
	equal(t, of, want)
}

func TestFailureWhileReadingAgain(t *testing.T) {
	f := newFailing(t)
	cfg := f.config()
	cfg.Read = func(ctx context.Context, session string, after int64, limit int) ([]Event, error) {
		if after == 502 {
			f.err = syscall.EIO // the second page cannot be written
		}
		return f.read(ctx, session, after, limit)
	}
	cancel := f.start(cfg, 2)
	for i := range 1200 {
		f.publish(stored("s", int64(i+1)))
	}
	f.sim.Settle()
	f.publish(stored("s", 1201)) // comes again from the store later
	f.err = nil
	cfg.Fault = nil
	f.sim.Advance(time.Second / 2)
	f.err = nil
	f.sim.Advance(time.Minute)
	cancel()
	f.sim.Settle()
	seqs, _ := readFile(t, f.path)
	gaps := slices.DeleteFunc(slices.Clone(seqs), func(n int64) bool { return n >= 0 })
	seqs = slices.DeleteFunc(seqs, func(n int64) bool { return n < 0 })
	equal(t, len(gaps), 1)
	equal(t, len(seqs), 1201)
	equal(t, slices.IsSorted(seqs), true)
	equal(t, len(f.states), 2)
}

func TestGapsAreMarkedWhereNothingCanBeReadAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		read bool
		want GapData
	}{
		{"without a store", false, GapData{Cause: "the writer could not keep up with s", After: 2}},
		{"store fails", true, GapData{Cause: "events of s could not be read again: no store", After: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFailing(t)
			cfg := f.config()
			f.reads = errors.New("no store")
			if c.read {
				cfg.Read = f.read
			}
			cancel := f.start(cfg, 2)
			f.publish(stored("s", 1), stored("s", 2), stored("s", 3), stored("s", 4))
			f.sim.Settle()
			f.publish(stored("s", 5))
			cancel()
			f.sim.Settle()
			b, _ := os.ReadFile(f.path)
			var got []GapData
			var seqs []int64
			for e := range (Reader{}).Events(bytes.NewReader(b)) {
				if d, ok := e.Data.(GapData); ok {
					got = append(got, d)
				} else {
					seqs = append(seqs, e.Seq)
				}
			}
			equal(t, seqs, []int64{1, 2, 5})
			equal(t, got, []GapData{c.want})
			equal(t, f.states, []string(nil))
		})
	}
}

func TestLostIsCounted(t *testing.T) {
	f := newFailing(t)
	f.err = syscall.EIO
	cancel := f.start(f.config(), 100)
	big := strings.Repeat("x", 1<<20)
	for i := range 10 {
		f.publish(Event{TS: start, SessionID: "s", Seq: int64(1 + i), Name: Answer, Data: AnswerData{Text: big}})
		f.sim.Settle()
	}
	f.err = nil
	cancel() // what waits is tried once more at the end
	f.sim.Settle()
	b, _ := os.ReadFile(f.path)
	seqs, _ := readFile(t, f.path)
	equal(t, seqs, []int64{-1, 1, 2, 3})
	var gap Event
	_ = json.Unmarshal(bytes.Split(b, newline)[0], &gap)
	equal(t, gap.Data.(GapData).Lost, 7)
	equal(t, len(f.states), 2)
}

func TestALineIsNeverTooLongForReaders(t *testing.T) {
	w := NewWriter(WriterConfig{})
	l := w.encode(Event{Name: Answer, Data: AnswerData{Text: strings.Repeat("x", longestLine)}})
	if !strings.Contains(string(l), `"data":{"left_out":"16777`) || len(l) > 300 {
		t.Errorf("%d bytes: %.300s", len(l), l)
	}
}

func TestHalfWrittenLinesComeAgainWhole(t *testing.T) {
	w := NewWriter(WriterConfig{Clock: clock.Real()})
	for i := range int64(3) {
		w.add(stored("s", i+1))
	}
	w.forget(len(line(1)) + 5)
	equal(t, len(w.lines), 2)
	equal(t, w.bytes, len(line(2))+len(line(3)))
}

func TestLockOfAnotherProcess(t *testing.T) {
	f := newFailing(t)
	lock := flock.New(f.path + ".lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	cancel := f.start(f.config(), 10)
	f.publish(stored("s", 1))
	f.sim.AfterFunc(time.Second, func() { _ = lock.Unlock() })
	f.sim.Advance(1100 * time.Millisecond)
	seqs, _ := readFile(t, f.path)
	equal(t, seqs, []int64{1})
	equal(t, f.states, []string(nil))

	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	f.publish(stored("s", 2))
	f.sim.Advance(2500 * time.Millisecond)
	equal(t, len(f.states), 1)
	if !strings.Contains(f.states[0], "another process holds it") {
		t.Error(f.states)
	}
	_ = lock.Unlock()
	f.sim.Advance(time.Minute)
	seqs, _ = readFile(t, f.path)
	equal(t, seqs, []int64{1, -1, 2})
	cancel()
	f.sim.Settle()
}

func TestFilesThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{dir, "open trace: open " + dir},
		{filepath.Join(file, "t.jsonl"), "open trace"},
		{"/dev/full", "write trace: write /dev/full: no space left on device"},
	} {
		if _, err := os.Stat("/dev/full"); err != nil && c.path == "/dev/full" {
			continue // only Linux has it
		}
		var told error
		b := NewBus(clock.Real())
		s := b.SubscribeKept(10)
		b.Publish(stored("s", 1))
		b.Close()
		NewWriter(WriterConfig{Path: c.path, Clock: clock.Real(), OnState: func(_ bool, err error) { told = err }}).Run(context.Background(), s)
		if told == nil || !strings.HasPrefix(told.Error(), c.want) {
			t.Errorf("%s: %v", c.path, told)
		}
	}
	write("/dev/null", stored("s", 1))
	if _, err := os.Stat("/dev/null.lock"); err == nil {
		t.Error("a device has got a lock file")
	}
}

// TestFolderOfTheUserIsLeftAlone: a dangling link makes the file seem to lack its folder.
func TestFolderOfTheUserIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	ignore := filepath.Join(dir, ".gitignore")
	if err := os.WriteFile(ignore, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "t.jsonl")
	if err := os.Symlink(filepath.Join(dir, "missing", "t.jsonl"), path); err != nil {
		t.Fatal(err)
	}
	write(path, stored("s", 1))
	b, _ := os.ReadFile(ignore)
	equal(t, string(b), "mine\n")
}

// TestWritersOfTwoProcesses has two writers share a file that one who knows no lock and no line feed also writes to.
func TestWritersOfTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	var done sync.WaitGroup
	for _, session := range []string{"a", "b"} {
		done.Go(func() {
			for i := range 50 {
				write(path, stored(session, int64(i+1)))
			}
		})
	}
	done.Wait()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]int64{}
	for e, err := range (Reader{OnBad: func(b BadLine) { t.Error(b) }}).Events(bytes.NewReader(b)) {
		if err != nil {
			t.Fatal(err)
		}
		got[e.SessionID] = append(got[e.SessionID], e.Seq)
	}
	for _, s := range []string{"a", "b"} {
		equal(t, len(got[s]), 50)
		equal(t, slices.IsSorted(got[s]), true)
	}
}

// TestAnotherWritersHalfLine: the end of the file is looked at before each write, not only at the first.
func TestAnotherWritersHalfLine(t *testing.T) {
	f := newFailing(t)
	cancel := f.start(f.config(), 10)
	f.publish(stored("s", 1))
	f.sim.Settle()
	other, err := os.OpenFile(f.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = other.WriteString(`{"half`)
	_ = other.Close()
	f.publish(stored("s", 2))
	cancel()
	f.sim.Settle()
	seqs, bad := readFile(t, f.path)
	equal(t, seqs, []int64{1, 2})
	equal(t, len(bad), 1)
}

// TestMovedFileIsMadeAnew as by a program that rotates logs.
func TestMovedFileIsMadeAnew(t *testing.T) {
	f := newFailing(t)
	cancel := f.start(f.config(), 10)
	f.publish(stored("s", 1))
	f.sim.Settle()
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		t.Fatal(err)
	}
	f.publish(stored("s", 2))
	cancel()
	f.sim.Settle()
	old, _ := readFile(t, f.path+".1")
	now, _ := readFile(t, f.path)
	equal(t, old, []int64{1})
	equal(t, now, []int64{2})
}

// TestFileHoldsAllWhateverFails: for any sequence of events and failures of disk and store, the file has every event that
// it does not mark as missing, once and in order, and no other.
func TestFileHoldsAllWhateverFails(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		f := &failing{sim: clock.NewSim(start), path: filepath.Join(dir, fmt.Sprint(n))}
		f.bus = NewBus(f.sim)
		defer f.sim.Halt()
		cfg := f.config()
		cfg.Read = f.read
		cancel := f.start(cfg, rapid.IntRange(1, 4).Draw(t, "buffer"))
		next := map[string]int64{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				f.sim.Settle()
			case 1:
				f.sim.Advance(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
			case 2:
				f.err = syscall.EIO
			case 3:
				f.err = nil
			default:
				s := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session")
				next[s]++
				f.publish(stored(s, next[s]))
			}
		}
		f.err = nil
		f.sim.Advance(time.Minute)
		cancel()
		f.sim.Settle()
		b, err := os.ReadFile(f.path)
		if err != nil && len(next) > 0 {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for e := range (Reader{OnBad: func(b BadLine) { t.Error(b) }}).Events(bytes.NewReader(b)) {
			if e.Name == Gap {
				continue
			}
			if e.Seq != got[e.SessionID]+1 {
				t.Fatalf("%s: %d after %d", e.SessionID, e.Seq, got[e.SessionID])
			}
			got[e.SessionID] = e.Seq
		}
		if fmt.Sprint(got) != fmt.Sprint(next) {
			t.Fatalf("the file has %v of %v", got, next)
		}
	})
}

// B043: many events from many goroutines while the reader of the screen quits: publishers never wait, the program ends, and
// what the screen dropped is still in the file.
func TestQuittingReaderDisturbsNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	c := clock.Real()
	bg := context.Background()
	b := NewBus(c)
	screen, file := b.Subscribe(16), b.SubscribeKept(64)
	var mu sync.Mutex
	store := map[string][]Event{}
	read := func(_ context.Context, session string, after int64, limit int) ([]Event, error) {
		mu.Lock()
		defer mu.Unlock()
		all := store[session]
		return slices.Clone(all[min(int(after), len(all)):min(int(after)+limit, len(all))]), nil
	}
	all, readers := clock.NewGroup(c), clock.NewGroup(c)
	readers.Go(func() { NewWriter(WriterConfig{Path: path, Clock: c, Read: read}).Run(bg, file) })
	readers.Go(func() {
		for range 3 { // takes a few and quits
			if _, err := screen.Next(bg); err != nil {
				return
			}
			b.Publish(delta("screen", "text", "from within the reader"))
		}
		screen.Close()
	})
	for p := range 8 {
		session := fmt.Sprint("p", p)
		all.Go(func() {
			for i := range 1250 {
				e := stored(session, int64(i+1))
				mu.Lock()
				store[session] = append(store[session], e)
				mu.Unlock()
				b.Publish(e, delta(session, "text", "x"))
			}
		})
	}
	if err := all.Wait(bg); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if err := readers.Wait(bg); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for e := range (Reader{OnBad: func(b BadLine) { t.Error(b) }}).Events(bytes.NewReader(data)) {
		if e.Seq != got[e.SessionID]+1 {
			t.Fatalf("%s: %d after %d", e.SessionID, e.Seq, got[e.SessionID])
		}
		got[e.SessionID] = e.Seq
	}
	for p := range 8 {
		equal(t, got[fmt.Sprint("p", p)], int64(1250))
	}
}
