package rotate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"vitrine/runtime/clock"
)

// The child processes of the tests are this test binary again, told by these variables what to write where.
const (
	childPath = "VITRINE_ROTATE_PATH"
	childName = "VITRINE_ROTATE_NAME"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := child(path, os.Getenv(childName)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// childLines is what each child writes; with childBytes a file they rotate about every tenth line.
const (
	childLines = 400
	childBytes = 500
	childFiles = 1000
)

// child writes its lines once its parent says so, one by one and in small batches.
func child(path, name string) error {
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	f := File{Path: path, What: "file", MaxBytes: childBytes, Files: childFiles, Clock: clock.Real()}
	var batch [][]byte
	for i := range childLines {
		batch = append(batch, fmt.Appendf(nil, "%s %04d %s\n", name, i, strings.Repeat(name, i%60)))
		if len(batch) <= i%3 {
			continue
		}
		if _, err := f.Append(context.Background(), batch); err != nil {
			return err
		}
		batch = nil
	}
	_, err := f.Append(context.Background(), batch)
	return err
}

func lines(text ...string) (out [][]byte) {
	for _, t := range text {
		out = append(out, []byte(t+"\n"))
	}
	return out
}

func newFile(t testing.TB, maxBytes int64, files int) File {
	return File{Path: filepath.Join(t.TempDir(), "t.jsonl"), What: "file", MaxBytes: maxBytes, Files: files, Clock: clock.Real()}
}

func add(t testing.TB, f File, text ...string) {
	t.Helper()
	if _, err := f.Append(context.Background(), lines(text...)); err != nil {
		t.Fatal(err)
	}
}

// read gives the lines of the whole set.
func read(t testing.TB, f File) []string {
	t.Helper()
	in, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil {
		t.Fatal(err)
	}
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func equal(t testing.TB, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func TestNamesAndOrder(t *testing.T) {
	f := newFile(t, 4, 3)
	for i := range 5 {
		add(t, f, fmt.Sprint("l", i))
	}
	equal(t, read(t, f), []string{"l2", "l3", "l4"})
	for name, want := range map[string]string{"t.jsonl": "l4\n", "t.1.jsonl": "l3\n", "t.2.jsonl": "l2\n"} {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(f.Path), name))
		if err != nil || string(b) != want {
			t.Errorf("%s: %q %v", name, b, err)
		}
		if info, err := os.Stat(filepath.Join(filepath.Dir(f.Path), name)); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(f.Path), "t.3.jsonl")); err == nil {
		t.Error("a fourth file")
	}
	files, size, err := f.Size()
	equal(t, []any{files, size, err}, []any{3, int64(9), nil})
	equal(t, numbered("/a/vitrine.log", 1), "/a/vitrine.1.log")
	equal(t, numbered("/a.b/trace", 2), "/a.b/trace.2")
}

// B181: the total is at most the limit and one line, no line is lost or cut. For any lines, batches, halves of lines that a
// crash left, and moves that fail.
func TestAnyLinesStayWithinTheLimit(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		const limit, files, longest = 100, 4, 40
		bounded := File{Path: filepath.Join(dir, fmt.Sprint(n), "a.jsonl"), What: "file", MaxBytes: limit, Files: files, Clock: clock.Real()}
		kept := bounded
		kept.Path, kept.Files = filepath.Join(dir, fmt.Sprint(n), "b.jsonl"), 200
		broken := false
		fault := func() error {
			if broken {
				return fs.ErrPermission
			}
			return nil
		}
		bounded.Fault, kept.Fault = fault, fault
		var want []string
		wait := [2][][]byte{}
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			broken = rapid.IntRange(0, 3).Draw(t, "broken") == 0
			var batch [][]byte
			for i := range rapid.IntRange(0, 5).Draw(t, "lines") {
				text := fmt.Sprintf("%d.%d %s", step, i, strings.Repeat("x", rapid.IntRange(0, longest-8).Draw(t, "length")))
				batch = append(batch, []byte(text+"\n"))
				want = append(want, text)
			}
			for i, f := range []File{bounded, kept} {
				wait[i] = append(wait[i], batch...)
				w, err := f.Append(context.Background(), wait[i])
				if (err != nil) && !broken {
					t.Fatal(err)
				}
				for len(wait[i]) > 0 && w >= len(wait[i][0]) {
					w -= len(wait[i][0])
					wait[i] = wait[i][1:]
				}
				if w != 0 || err == nil && len(wait[i]) > 0 {
					t.Fatalf("%d bytes of a line are in, %d lines wait", w, len(wait[i]))
				}
			}
			if _, size, err := bounded.Size(); err != nil || size > limit*files {
				t.Fatalf("%d bytes, %v", size, err)
			}
		}
		broken = false
		for i, f := range []File{bounded, kept} {
			if _, err := f.Append(context.Background(), wait[i]); err != nil {
				t.Fatal(err)
			}
		}
		in, err := kept.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		_ = in.Close()
		if all := strings.Join(append(want, ""), "\n"); err != nil || string(b) != all {
			t.Fatalf("%v\n%s\nwant\n%s", err, b, all)
		}
		// Of the bounded set the newest are there, each whole.
		if in, err = bounded.Open(); err != nil {
			t.Fatal(err)
		}
		tail, _ := io.ReadAll(in)
		_ = in.Close()
		if !bytes.HasSuffix(b, tail) || len(b) > limit*files && len(tail) < (files-1)*(limit-longest) {
			t.Fatalf("%s\nis not the end of\n%s", tail, b)
		}
	})
}

// B181: two processes rotate at the same time. Each line is there once and whole, those of a process in their order.
func TestProcessesRotateTogether(t *testing.T) {
	f := newFile(t, childBytes, childFiles)
	var done sync.WaitGroup
	var start []io.WriteCloser
	names := []string{"a", "b", "c"}
	for _, name := range names {
		c := osexec.Command(os.Args[0])
		c.Env = append(os.Environ(), childPath+"="+f.Path, childName+"="+name)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		c.Stderr = &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		start = append(start, in)
		done.Go(func() {
			if err := c.Wait(); err != nil {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
	for _, in := range start {
		_, _ = io.WriteString(in, "go\n")
		_ = in.Close()
	}
	done.Wait()
	got := map[string]int{}
	for _, l := range read(t, f) {
		name, rest, _ := strings.Cut(l, " ")
		number, tail, _ := strings.Cut(rest, " ")
		i, err := strconv.Atoi(number)
		if err != nil || i != got[name] || tail != strings.Repeat(name, i%60) {
			t.Fatalf("%q where line %d of %s was expected", l, got[name], name)
		}
		got[name]++
	}
	equal(t, got, map[string]int{"a": childLines, "b": childLines, "c": childLines})
	files, _, _ := f.Size()
	if files < 20 {
		t.Errorf("only %d files", files)
	}
	for i := range files {
		if info, err := os.Stat(numbered(f.Path, i)); err != nil || info.Size() > childBytes || info.Size() == 0 {
			t.Errorf("file %d: %v %v", i, info, err)
		}
	}
}

// follower reads a file by its path as tail -F does: what is left of the old one, then the new one from its beginning.
type follower struct {
	path string
	in   *os.File
	got  strings.Builder
}

func (w *follower) look(t *testing.T) {
	t.Helper()
	if w.in != nil {
		if _, err := io.Copy(&w.got, w.in); err != nil {
			t.Fatal(err)
		}
		if at(w.in, w.path) {
			return
		}
		_ = w.in.Close()
	}
	var err error
	if w.in, err = os.Open(w.path); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&w.got, w.in); err != nil {
		t.Fatal(err)
	}
}

// B181: a reader that follows the path sees every line once, whole.
func TestFollower(t *testing.T) {
	f := newFile(t, 100, 3)
	w := &follower{path: f.Path}
	want := ""
	for i := range 300 {
		text := fmt.Sprintf("line %d %s", i, strings.Repeat("x", i%20))
		add(t, f, text)
		w.look(t)
		if want += text + "\n"; w.got.String() != want {
			t.Fatalf("after line %d: %q", i, w.got.String())
		}
	}
	_ = w.in.Close()
}

// B181: the same with the program that everybody has.
func TestTail(t *testing.T) {
	tail, err := osexec.LookPath("tail")
	if err != nil {
		t.Skip(err)
	}
	f := newFile(t, 60, 3)
	add(t, f, "line 0")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c := osexec.CommandContext(ctx, tail, "-n", "+1", "-F", f.Path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	for i := range 20 { // a file every seven lines; where tail has to poll, each takes it a second
		if i > 0 {
			add(t, f, fmt.Sprint("line ", i))
		}
		got, err := in.ReadString('\n')
		if err != nil || got != fmt.Sprintf("line %d\n", i) {
			t.Fatalf("line %d: %q %v", i, got, err)
		}
	}
	if files, _, _ := f.Size(); files != 3 {
		t.Errorf("%d files", files)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
}

// B181: a move that fails is a failure of the write; nothing that was there changes, the bound holds, what was written before
// is told, and it goes on when it can.
func TestMoveFails(t *testing.T) {
	f := newFile(t, 10, 3)
	add(t, f, "one", "two") // 8 bytes
	dir := filepath.Dir(f.Path)
	// A folder with something in it cannot be replaced, whoever tries.
	for _, name := range []string{"t.1.jsonl", "t.2.jsonl"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	n, err := f.Append(context.Background(), lines("a", "b", "c"))
	if n != 2 || err == nil || !strings.HasPrefix(err.Error(), "rotate file: rename ") {
		t.Errorf("%d bytes, %v", n, err)
	}
	b, _ := os.ReadFile(f.Path)
	equal(t, string(b), "one\ntwo\na\n")
	if n, err = f.Append(context.Background(), lines("b", "c")); n != 0 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	equal(t, must(os.ReadFile(f.Path)), b)
	if err := os.RemoveAll(filepath.Join(dir, "t.2.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "t.1.jsonl")); err != nil {
		t.Fatal(err)
	}
	add(t, f, "b", "c")
	equal(t, read(t, f), []string{"one", "two", "a", "b", "c"})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// A process that dies between two moves leaves a number free. Readers pass over it, and it is filled before anything goes.
func TestMoveIsCut(t *testing.T) {
	f := newFile(t, 4, 3)
	add(t, f, "l0", "l1")
	f.Fault = func() error { return errors.New("killed") }
	_, err := f.Append(context.Background(), lines("l2"))
	if err == nil || err.Error() != "rotate file: killed" {
		t.Error(err)
	}
	if _, err := os.Stat(numbered(f.Path, 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	equal(t, read(t, f), []string{"l0", "l1"})
	f.Fault = nil
	add(t, f, "l2")
	equal(t, read(t, f), []string{"l0", "l1", "l2"})
	// The newest one may be the one that is missing.
	if err := os.Rename(f.Path, numbered(f.Path, 5)); err != nil {
		t.Fatal(err)
	}
	equal(t, read(t, f), []string{"l0", "l1"})
}

func TestHalfLineIsEndedBeforeTheMove(t *testing.T) {
	f := newFile(t, 20, 3)
	if err := os.WriteFile(f.Path, []byte("whole\n{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, f, "too long for that file")
	add(t, f, "next")
	equal(t, read(t, f), []string{"whole", "{half", "too long for that file", "next"})
	files, _, _ := f.Size()
	equal(t, files, 3)
}

func TestOneFile(t *testing.T) {
	f := newFile(t, 6, 1)
	add(t, f, "l0", "l1", "l2", "l3")
	equal(t, read(t, f), []string{"l2", "l3"})
	f.Fault = func() error { return errors.New("no") }
	if n, err := f.Append(context.Background(), lines("l4")); n != 0 || err == nil {
		t.Errorf("%d %v", n, err)
	}
	free := newFile(t, 0, 0) // without a bound
	for range 100 {
		add(t, free, strings.Repeat("x", 100))
	}
	files, size, err := free.Size()
	equal(t, []any{files, size, err}, []any{1, int64(10100), nil})
}

// The process waited for the lock while another one moved the file: its lines go to the new one.
func TestMovedWhileWaiting(t *testing.T) {
	f := newFile(t, 100, 3)
	sim := clock.NewSim(time.Unix(0, 0))
	f.Clock = sim
	add(t, f, "old")
	l := flock.New(f.Path + ".lock")
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	sim.Go(func() {
		if _, err := f.Append(context.Background(), lines("new")); err != nil {
			t.Error(err)
		}
	})
	sim.Settle()
	if err := f.move(f.Path); err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock()
	sim.Advance(time.Second)
	equal(t, string(must(os.ReadFile(f.Path))), "new\n")
	equal(t, read(t, f), []string{"old", "new"})
	// What stands there after the wait may be no file any more.
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	var refused error
	sim.Go(func() { _, refused = f.Append(context.Background(), lines("no")) })
	sim.Settle()
	if err := errors.Join(f.move(f.Path), os.Mkdir(f.Path, 0o700)); err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock()
	sim.Advance(time.Second)
	if refused == nil || !strings.HasPrefix(refused.Error(), "open file: ") {
		t.Error(refused)
	}
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	// A lock that is never free is a failure, and so is a wait that is ended.
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	var errs []error
	ctx, cancel := sim.WithCancel(context.Background())
	for _, ctx := range []context.Context{context.Background(), ctx} {
		sim.Go(func() {
			_, err := f.Append(ctx, lines("never"))
			errs = append(errs, err)
		})
	}
	sim.Settle()
	cancel()
	sim.Advance(3 * time.Second)
	_ = l.Unlock()
	if len(errs) != 2 || !errors.Is(errs[0], context.Canceled) || !strings.Contains(errs[1].Error(), "another process holds it") {
		t.Error(errs)
	}
	sim.Halt()
}

// Readers get one unbroken part of the lines, whatever is moved while they open the files.
func TestReadersMeanwhile(t *testing.T) {
	f := newFile(t, 40, 5)
	add(t, f, "000000")
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		defer close(stop)
		for i := 1; i < 2000; i++ {
			if _, err := f.Append(context.Background(), lines(fmt.Sprintf("%06d", i))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for {
		got := read(t, f)
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%q", got)
		}
		first, _ := strconv.Atoi(got[0])
		if last, _ := strconv.Atoi(got[len(got)-1]); last != first+len(got)-1 {
			t.Fatalf("%q", got)
		}
		select {
		case <-stop:
			done.Wait()
			return
		default:
		}
	}
}

func TestLinks(t *testing.T) {
	f := newFile(t, 4, 3)
	dir := t.TempDir()
	real := f
	for i, path := range []string{filepath.Join(dir, "absolute.jsonl"), filepath.Join(dir, "relative.jsonl"), filepath.Join(dir, "twice.jsonl")} {
		to := []string{f.Path, must1(filepath.Rel(dir, f.Path)), "absolute.jsonl"}[i]
		if err := os.Symlink(to, path); err != nil {
			t.Skip(err)
		}
		f.Path = path
		add(t, f, fmt.Sprint("l", i))
		if to2, err := os.Readlink(path); err != nil || to2 != to {
			t.Errorf("%s is no link any more: %v", path, err)
		}
	}
	equal(t, read(t, real), []string{"l0", "l1", "l2"})
	equal(t, read(t, f), []string{"l0", "l1", "l2"})
	// Links that lead round and round, or nowhere.
	round := filepath.Join(dir, "round")
	_ = os.Symlink("round", round)
	f.Path = round
	if _, err := f.Append(context.Background(), lines("x")); err == nil {
		t.Error("written to a link that leads to itself")
	}
	if _, _, err := f.Size(); err == nil {
		t.Error("the size of a link that leads to itself")
	}
	if _, err := f.Open(); err == nil {
		t.Error("opened a link that leads to itself")
	}
	equal(t, target(filepath.Join(dir, "missing", "x")), filepath.Join(dir, "missing", "x"))
}

func must1(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

// TestFolderIsMade with what keeps it out of the user's commits; a folder that is there is left alone.
func TestFolderIsMade(t *testing.T) {
	f := newFile(t, 4, 3)
	dir := filepath.Dir(f.Path)
	f.Path = filepath.Join(dir, "a", "b", "t.jsonl")
	add(t, f, "x")
	equal(t, string(must(os.ReadFile(filepath.Join(dir, "a", "b", ".gitignore")))), "*\n")
	if _, err := os.Stat(filepath.Join(dir, ".gitignore")); err == nil {
		t.Error("the user's folder was written to")
	}
}

func TestWhatIsNoFile(t *testing.T) {
	f := newFile(t, 4, 3)
	if _, err := f.Open(); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "open file: open "+f.Path) {
		t.Error(err)
	}
	f.Path = "/dev/null"
	if n, err := f.Append(context.Background(), lines("long enough")); n != 12 || err != nil {
		t.Error(n, err)
	}
	f.Path = "/dev/full"
	if _, err := os.Stat(f.Path); err == nil { // only Linux has it
		if n, err := f.Append(context.Background(), lines("x")); n != 0 || err == nil || !strings.HasPrefix(err.Error(), "write file: ") {
			t.Error(n, err)
		}
	}
	for _, bad := range []string{"/dev/null.lock", "/dev/full.lock"} {
		if _, err := os.Stat(bad); err == nil {
			t.Errorf("%s was made", bad)
		}
	}
	f.Path = t.TempDir()
	if _, err := f.Append(context.Background(), lines("x")); err == nil || !strings.HasPrefix(err.Error(), "open file: ") {
		t.Error(err)
	}
	// The lock's name is taken by a folder, and the folder's by a file.
	f = newFile(t, 4, 3)
	if err := os.Mkdir(f.Path+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Append(context.Background(), lines("x")); err == nil || !strings.HasPrefix(err.Error(), "lock file: ") {
		t.Error(err)
	}
	f.Path = filepath.Join(f.Path, "deeper", "t.jsonl")
	if _, err := f.Append(context.Background(), lines("x")); err == nil {
		t.Error("written below a file")
	}
}
