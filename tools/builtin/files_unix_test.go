//go:build unix

package builtin

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"vitrine/tools"
)

// within fails when f has not ended after a time that nothing here comes near: it would wait for ever.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not end", what)
	}
}

// inTime fails when f takes longer than bound, by the quickest of some tries: a stall of the machine hits one, not all. Where even
// plain, work of the same kind in which nothing can wait, is slow, f may take many times that.
func inTime(t *testing.T, what string, bound time.Duration, plain, f func()) {
	t.Helper()
	const tries, many = 4, 20
	quickest := func(f func()) time.Duration {
		best := time.Duration(math.MaxInt64)
		for range tries {
			began := time.Now()
			within(t, what, f)
			if best = min(best, time.Since(began)); best < bound {
				break
			}
		}
		return best
	}
	if took := quickest(f); took >= bound {
		if base := quickest(plain); took >= many*base {
			t.Errorf("%s takes %s, plain work of its kind %s; the bound is %s", what, took, base, bound)
		}
	}
}

// B136: links that lead out are refused for reading, listing and writing, and nothing appears outside; links that stay inside
// work, and so does a root that is a link itself.
func TestLinksB136(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "w"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(dir, "sub"), outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("/etc/passwd", "out")
	link(outside, "d")
	link(filepath.Join(outside, "not-yet"), "new")
	link("b", "a")
	link("../..", "b")
	link("loop2", "loop1")
	link("loop1", "loop2")
	link("x", "in")
	link("sub", "insub")
	link(filepath.Join(dir, "x"), "absolute-in")
	b := newBench(t, dir)
	b.put("x", "inside\n")
	b.put("sub/y", "below\n")
	for _, p := range []string{"out", "d", "d/x", "new", "a", "a/x", "b", "loop1", "insub/../../outside"} {
		b.everywhere(p, tools.CodeInvalidArgument)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside: %v %v", entries, err)
	}
	for p, want := range map[string]string{"in": "inside", "absolute-in": "inside", "insub/y": "below"} {
		if got := b.must("read_file", "path", p); !strings.Contains(got["text"].(string), want) {
			t.Errorf("%s: %v", p, got)
		}
	}
	b.must("list_dir", "path", "insub")

	through := filepath.Join(base, "through")
	if err := os.Symlink(dir, through); err != nil {
		t.Fatal(err)
	}
	c := newBench(t, through)
	for _, p := range []string{"x", through + "/x"} {
		if got := c.must("read_file", "path", p); got["text"] != "1\tinside\n" {
			t.Errorf("through a link: %v", got)
		}
	}
	c.must("write_file", "path", "sub/new", "content", "x\n")
	c.everywhere("out", tools.CodeInvalidArgument)
}

// B136: a folder that becomes a link between check and opening leads nowhere outside either.
func TestLinkRaceB136(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "w"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(dir, "plain"), outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("outside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, dir)
	b.put("plain/f", "inside\n")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		swap, plain, aside := filepath.Join(dir, "swap"), filepath.Join(dir, "swap-plain"), filepath.Join(dir, "swap-link")
		_ = os.Rename(filepath.Join(dir, "plain"), swap)
		_ = os.Symlink(outside, aside)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(swap, plain)
			_ = os.Rename(aside, swap)
			_ = os.Rename(swap, aside)
			_ = os.Rename(plain, swap)
		}
	}()
	for i := range 300 {
		if got, err := b.do("read_file", "path", "swap/f"); err == nil && got["text"] != "1\tinside\n" && !strings.HasPrefix(got["text"].(string), "1\tw") {
			t.Errorf("read outside: %v", got)
			break
		}
		_, _ = b.do("write_file", "path", fmt.Sprintf("swap/new%d", i%7), "content", fmt.Sprint("w", i)) // refused or inside
		if got, err := b.do("list_dir", "path", "swap"); err == nil && fmt.Sprint(got["names"]) == "[f]" && i > 20 {
			break // the listing of outside would hold f alone; that of inside has new files by then
		}
	}
	close(stop)
	<-done
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside: %v %v", entries, err)
	}
	if got, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(got) != "outside\n" {
		t.Errorf("outside: %q %v", got, err)
	}
}

// B139: what a reading takes of memory and of the prompt is bounded, whatever the size of the file or of a line.
func TestLargeFilesB139(t *testing.T) {
	b := newBench(t, t.TempDir())
	long := "begin" + strings.Repeat("x", 5_000_000)
	b.put("long", long)
	var lines strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&lines, "line %d\n", i+1)
	}
	b.put("many", lines.String())
	sparse := filepath.Join(b.dir, "sparse")
	if err := os.WriteFile(sparse, []byte(strings.Repeat("text\n", 4000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 2<<30); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	used := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := used(func() {
		got := b.must("read_file", "path", "long")
		text := got["text"].(string)
		if !strings.Contains(text, "begin") || !strings.Contains(text, "the line has 5000005 bytes") || got["lines"] != "1-1 of 1" {
			t.Errorf("%.200v", got)
		}
	}); n > 2<<20 {
		t.Errorf("a line of 5 MB took %d bytes", n)
	}
	if n := used(func() {
		got := b.must("read_file", "path", "many", "offset", 190_000)
		if !strings.HasPrefix(got["text"].(string), "190000\tline 190000\n") || !strings.Contains(got["lines"].(string), "of 200000, use offset=190") {
			t.Errorf("%.200v", got)
		}
	}); n > 2<<20 {
		t.Errorf("200,000 lines took %d bytes", n)
	}
	// The end of a sparse file is zeros without an end: what is asked for comes, the rest is not counted.
	if n := used(func() {
		got := b.must("read_file", "path", "sparse", "offset", 3999)
		if !strings.HasPrefix(got["text"].(string), "3999\ttext\n4000\ttext\n") || !strings.Contains(got["lines"].(string), "more than 4000") || got["version"] != nil {
			t.Errorf("%.200v", got)
		}
	}); n > 4<<20 {
		t.Errorf("a file of 2 GiB took %d bytes", n)
	}
	if e := b.refused(tools.CodeInvalidArgument, "read_file", "path", "many", "offset", 200_001); !strings.Contains(e.Message, "200000 lines") {
		t.Error(e)
	}
	for _, bad := range [][]any{{"offset", -1}, {"limit", 0}, {"offset", 0}} {
		if e := b.refused(tools.CodeInvalidArgument, "read_file", append([]any{"path", "many"}, bad...)...); e.Field != bad[0] {
			t.Error(e)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.tools["read_file"].Run(ctx, b.call("s"), args("path", "many")); err == nil {
		t.Error("a cancelled reading goes on to the end")
	}
}

// plainWork looks at a folder without any tool.
func plainWork(t *testing.T, dir string) func() {
	return func() {
		if _, err := os.ReadDir(dir); err != nil {
			t.Error(err)
		}
	}
}

// specialBound is B140's bound on the refusal of what is no regular file, listBound B146's on a listing.
const (
	specialBound = 200 * time.Millisecond
	listBound    = 2 * time.Second
)

// B140: what is no regular file is named within 200 ms, never waited for, and no goroutine stays behind.
func TestSpecialFilesB140(t *testing.T) {
	b := newBench(t, t.TempDir())
	if err := syscall.Mkfifo(filepath.Join(b.dir, "p"), 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	sock, err := net.Listen("unix", filepath.Join(b.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sock.Close() }()
	b.put("plain", "x\n")
	before := runtime.NumGoroutine()
	plain := plainWork(t, b.dir)
	for _, c := range []struct{ name, path, want string }{
		{"read_file", "p", "pipe"}, {"read_file", "s", "socket"}, {"read_file", ".", "folder"},
		{"list_dir", "p", "pipe"}, {"list_dir", "s", "socket"}, {"write_file", "p", "pipe"}, {"write_file", "s", "socket"},
	} {
		pairs := []any{"path", c.path}
		if c.name == "write_file" {
			pairs = append(pairs, "content", "x")
		}
		inTime(t, c.name+" of a "+c.want, specialBound, plain, func() {
			if e := b.refused(tools.CodeInvalidArgument, c.name, pairs...); !strings.Contains(e.Message, c.want) {
				t.Errorf("%s %s: %s", c.name, c.path, e)
			}
		})
	}
	inTime(t, "listing special files", specialBound, plain, func() {
		if got := fmt.Sprint(b.must("list_dir")["names"]); got != "[p (pipe (FIFO)) plain s (socket)]" {
			t.Error(got)
		}
	})
	if n := runtime.NumGoroutine(); n > before+1 { // within has one
		t.Errorf("%d goroutines before, %d after", before, n)
	}
	dev, err := os.Stat("/dev/zero")
	if err != nil || dev.Mode()&os.ModeCharDevice == 0 {
		t.Skip("no /dev/zero here")
	}
	d := newBench(t, "/dev")
	for _, p := range []string{"zero", "tty", "null"} {
		inTime(t, "reading a device", specialBound, plain, func() {
			if _, err := d.do("read_file", "path", p); err == nil {
				t.Errorf("/dev/%s is read", p)
			}
		})
		inTime(t, "writing a device", specialBound, plain, func() {
			if _, err := d.do("write_file", "path", p, "content", "x"); err == nil {
				t.Errorf("/dev/%s is written", p)
			}
		})
	}
}

// B143: mode, owner and links stay; of several hard links the others keep the old content, as the description says.
func TestModesAndLinksB143(t *testing.T) {
	b := newBench(t, t.TempDir())
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for name, mode := range map[string]os.FileMode{"script": 0o755, "secret": 0o600, "odd": 0o640 | os.ModeSticky} {
		b.put(name, "old\n")
		path := filepath.Join(b.dir, name)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		was, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		b.must("read_file", "path", name)
		b.must("write_file", "path", name, "content", "new\n")
		now, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		a, c := was.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
		if now.Mode() != was.Mode() || a.Uid != c.Uid || a.Gid != c.Gid || b.get(name) != "new\n" {
			t.Errorf("%s: %s %d:%d, was %s %d:%d", name, now.Mode(), c.Uid, c.Gid, was.Mode(), a.Uid, a.Gid)
		}
	}
	b.must("write_file", "path", "fresh", "content", "x\n")
	if info, err := os.Stat(filepath.Join(b.dir, "fresh")); err != nil || info.Mode() != 0o600 {
		t.Errorf("a new file does not follow the umask: %v %v", info.Mode(), err)
	}
	b.put("target", "old\n")
	if err := os.Symlink("target", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	b.must("read_file", "path", "target")
	b.must("write_file", "path", "link", "content", "new\n")
	if info, err := os.Lstat(filepath.Join(b.dir, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 || b.get("target") != "new\n" {
		t.Errorf("the link: %v %v, its target %q", info.Mode(), err, b.get("target"))
	}
	b.put("one", "old\n")
	if err := os.Link(filepath.Join(b.dir, "one"), filepath.Join(b.dir, "two")); err != nil {
		t.Fatal(err)
	}
	b.must("read_file", "path", "one")
	b.must("write_file", "path", "one", "content", "new\n")
	if b.get("one") != "new\n" || b.get("two") != "old\n" || !strings.Contains(b.tools["write_file"].Description(), "hard") {
		t.Errorf("hard links: %q %q", b.get("one"), b.get("two"))
	}
	if os.Getuid() == 0 {
		if err := os.Chown(filepath.Join(b.dir, "one"), 12345, 54321); err != nil {
			t.Fatal(err)
		}
		b.must("write_file", "path", "one", "content", "newer\n")
		info, err := os.Stat(filepath.Join(b.dir, "one"))
		if err != nil {
			t.Fatal(err)
		}
		if c := info.Sys().(*syscall.Stat_t); c.Uid != 12345 || c.Gid != 54321 {
			t.Errorf("owner %d:%d", c.Uid, c.Gid)
		}
	}
	b.clean()
}

// B146: listing ends, whatever links and sizes there are; names are one line each, the order is always the same.
func TestListingB146(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.put("a/file", "x")
	if err := os.Symlink("..", filepath.Join(b.dir, "a", "loop")); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 255)
	for _, name := range []string{"line\nbreak", "esc\x1b[31m", "bad\xff", long} {
		if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o600); err != nil {
			t.Skip("no such names here: ", err)
		}
	}
	first := b.must("list_dir", "depth", 8)
	names := fmt.Sprint(first["names"])
	for _, want := range []string{"a/ ", "a/file", "a/loop -> ..", "line<U+000A>break", "esc<U+001B>[31m", "bad<0xFF>", long} {
		if !strings.Contains(names, want) {
			t.Errorf("%q is not in %s", want, names)
		}
	}
	if strings.ContainsAny(names, "\n\x1b") || strings.Count(names, "loop") != 1 {
		t.Error(names)
	}
	for range 3 {
		if again := fmt.Sprint(b.must("list_dir", "depth", 8)["names"]); again != names {
			t.Errorf("another order: %s", again)
		}
	}
	deep := b.dir
	for i := range 500 {
		deep = filepath.Join(deep, "d")
		if err := os.Mkdir(deep, 0o700); err != nil {
			t.Logf("tree of %d", i)
			break
		}
	}
	inTime(t, "listing a deep tree", listBound, plainWork(t, b.dir), func() { b.must("list_dir", "path", "d", "depth", 8) })
	inTime(t, "listing a loop", listBound, plainWork(t, b.dir), func() { b.must("list_dir", "depth", 8) })
	b.refused(tools.CodeInvalidArgument, "list_dir", "path", "a", "offset", 2)
	b.refused(tools.CodeNotFound, "list_dir", "path", "nothing")
	if e := b.refused(tools.CodeInvalidArgument, "list_dir", "path", "a/file"); !strings.Contains(e.Message, "read_file") {
		t.Error(e)
	}
	if err := os.Mkdir(filepath.Join(b.dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := b.must("list_dir", "path", "empty"); got["entries"] != "none: the folder is empty" {
		t.Error(got)
	}
}

// B146: a folder of 100,000 files is listed in part within 2 s, with the number of all; what that takes is a few times what reading the
// names alone does.
func TestLargeFolderB146(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "vitrine-test") // so many files take a disk long
	if err != nil {
		dir = t.TempDir()
	} else {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	b := newBench(t, dir)
	for i := range 100_000 {
		f, err := os.OpenFile(filepath.Join(b.dir, fmt.Sprintf("f%06d", i)), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Skip("no room for so many files: ", err)
		}
		_ = f.Close()
	}
	read := func() {
		if all, err := os.ReadDir(dir); err != nil || len(all) != 100_000 {
			t.Error(len(all), err)
		}
	}
	var got map[string]any
	inTime(t, "listing 100,000 files", listBound, read, func() { got = b.must("list_dir") })
	cost := func(f func()) uint64 { before := allocated(); f(); return allocated() - before }
	if list, names := cost(func() { b.must("list_dir") }), cost(read); list > 6*names {
		t.Errorf("a listing takes %d bytes, reading the names %d", list, names)
	}
	if !strings.HasPrefix(got["entries"].(string), "1-") || !strings.Contains(got["entries"].(string), "of 100000, use offset=") {
		t.Error(got["entries"])
	}
	last := b.must("list_dir", "offset", 99_999)
	if fmt.Sprint(last["names"]) != "[f099999]" || last["entries"] != "100000-100000 of 100000" {
		t.Error(last)
	}
}

// What a killed process had prepared in a folder goes with the next write there; what a living one prepares does not, nor does
// what only looks like it.
func TestLeftBehind(t *testing.T) {
	b := newBench(t, t.TempDir())
	left := tempOf("sub/file", "a call of a killed process")
	b.put(left, "half")
	b.put(tempOf("elsewhere", "another folder's"), "half")
	id := versionOf([32]byte{1})
	others := []string{"sub/.vitrine-" + id + ".tmp", "sub/.vitrine-" + id + "-00000000.tmp", "sub/.vitrine-x.tmp", "sub/vitrine-" + id + "-" + tempMark(id) + ".tmp",
		"sub/.vitrine-" + id + "-" + tempMark(id) + ".tmp.txt"}
	for _, name := range others {
		b.put(name, "the user's")
	}
	living, folder := tempOf("sub/file", "a call of a living process"), tempOf("sub/file", "a folder")
	b.put(living, "half")
	if err := os.Mkdir(filepath.Join(b.dir, folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Base(others[0]), filepath.Join(b.dir, tempOf("sub/file", "a link"))); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(filepath.Join(b.dir, living))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if err := tryLock(held); err != nil {
		t.Skip("no locks here: ", err)
	}
	is := func(name string) bool {
		_, err := os.Lstat(filepath.Join(b.dir, name))
		return err == nil
	}
	b.must("write_file", "path", "sub/new", "content", "x\n")
	if is(left) {
		t.Error("what was left behind is there")
	}
	for _, name := range append(others, living, folder, tempOf("sub/file", "a link"), tempOf("elsewhere", "another folder's")) {
		if !is(name) {
			t.Errorf("%s is gone", name)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	b.must("write_file", "path", "sub/new2", "content", "x\n")
	if is(living) {
		t.Error("its process ended, and it is there")
	}
}

// Two processes that write in one folder do not sweep away what the other one prepares.
func TestSweepWhileWriting(t *testing.T) {
	b := newBench(t, t.TempDir())
	c := newBench(t, b.dir)
	c.calls = 1000 // keys of its own
	for _, point := range []string{"write.made", "write.half", "write.before"} {
		name := "by-" + point
		once := false
		b.fault = func(at string) error {
			if at == point && !once {
				once = true
				c.must("write_file", "path", name+"-other", "content", "x\n")
			}
			return nil
		}
		b.must("write_file", "path", name, "content", "whole\n")
		if b.get(name) != "whole\n" {
			t.Errorf("%s: %q", point, b.get(name))
		}
	}
	b.clean()
}

// A write that fails at any point leaves the old file whole and nothing beside it, or the new one, and says which.
func TestWriteFails(t *testing.T) {
	for _, point := range []string{"write.made", "write.half", "write.before", "write.after"} {
		b := newBench(t, t.TempDir())
		b.put("f", "old\n")
		b.must("read_file", "path", "f")
		b.fault = func(at string) error {
			if at == point {
				return syscall.ENOSPC
			}
			return nil
		}
		_, err := b.do("write_file", "path", "f", "content", "new\n")
		want, told := "old\n", err != nil && strings.Contains(err.Error(), "f is not written: ") && strings.Contains(err.Error(), "no space left")
		if point == "write.after" {
			want, told = "new\n", err != nil && !strings.Contains(err.Error(), "not written")
		}
		if got := b.get("f"); got != want || !told {
			t.Errorf("%s: %q, %v", point, got, err)
		}
		b.clean()
	}
}
