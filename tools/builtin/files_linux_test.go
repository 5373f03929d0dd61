package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"vitrine/tools"
)

// asNobody runs f as another user than root, whose rights this thread has only until then; it skips where that cannot be.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	set := func(call uintptr, id int) { // of this thread alone; with the user go the rights over files
		_, _, _ = syscall.RawSyscall(call, uintptr(id), 0, 0)
	}
	set(syscall.SYS_SETFSGID, nobody)
	set(syscall.SYS_SETFSUID, nobody)
	defer func() { set(syscall.SYS_SETFSUID, 0); set(syscall.SYS_SETFSGID, 0) }()
	if now, _, _ := syscall.RawSyscall(syscall.SYS_SETFSUID, ^uintptr(0), 0, 0); now != nobody {
		t.Skip("another user cannot be taken on here")
	}
	f()
}

// B146: a folder without permission is one note, the rest is listed. Also as root, who would read it.
func TestClosedFolderB146(t *testing.T) {
	b := newBench(t, openToAll(t))
	for _, d := range []string{"closed", "empty", "open"} {
		if err := os.Mkdir(filepath.Join(b.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.put("open/file", "x\n")
	b.put("closed/file", "x\n")
	b.put("secret", "x\n")
	for name, mode := range map[string]os.FileMode{"closed": 0, "secret": 0o200} {
		if err := os.Chmod(filepath.Join(b.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = os.Chmod(filepath.Join(b.dir, "closed"), 0o755) }() // it is to be removed
	asNobody(t, func() {
		got := b.must("list_dir", "depth", 2)
		if fmt.Sprint(got["names"]) != "[closed/ (cannot be read: permission denied) empty/ open/ open/file secret]" {
			t.Error(got)
		}
		for name, pairs := range map[string][]any{"list_dir": {"path", "closed"}, "read_file": {"path", "closed/file"}, "write_file": {"path", "closed/file", "content", "y"}} {
			if e := b.refused(tools.CodeDenied, name, pairs...); !strings.Contains(e.Message, "may not be opened") {
				t.Error(e)
			}
		}
		b.refused(tools.CodeDenied, "read_file", "path", "secret")
	})
}

// openToAll is a folder that everybody may come to and write in.
func openToAll(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vitrine-test") // those of the test are closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// B143: why a file is not written is told as it is: its owner that cannot be kept, its folder that takes no new file. Nothing is
// left beside it, and the file is as it was.
func TestUnwrittenB143(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
	}
	b := newBench(t, openToAll(t))
	b.put("root's", "old\n")
	b.put("closed/file", "old\n")
	for name, mode := range map[string]os.FileMode{"root's": 0o666, "closed/file": 0o666} {
		if err := os.Chmod(filepath.Join(b.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	asNobody(t, func() {
		for name, want := range map[string]string{
			"root's":      "not written: it has another owner or group, and a file in its place cannot be given to them: permission denied",
			"closed/file": "not written: no file can be made in its folder: permission denied",
		} {
			b.must("read_file", "path", name)
			if e := b.refused(tools.CodeDenied, "write_file", "path", name, "content", "new\n"); !strings.Contains(e.Message, want) || strings.Contains(e.Message, "opened") {
				t.Errorf("%s: %s", name, e)
			}
			if b.get(name) != "old\n" {
				t.Errorf("%s was written", name)
			}
		}
		if e := b.refused(tools.CodeDenied, "write_file", "path", "closed/new/file", "content", "x"); !strings.Contains(e.Message, "its folder cannot be made: permission denied") {
			t.Error(e)
		}
	})
	b.clean()
}

// The same for folders that are mounted a second time. It needs the right to mount.
func TestPrivateMounted(t *testing.T) {
	runtime.LockOSThread() // which has its own view of the mounts from here on, and ends with the test
	if err := syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_FS); err != nil {
		t.Skip("no view of the mounts of our own: ", err)
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skip("no view of the mounts of our own: ", err)
	}
	base := t.TempDir()
	dir, own := filepath.Join(base, "w"), filepath.Join(base, "own")
	for _, d := range []string{filepath.Join(dir, "data", "deep"), filepath.Join(dir, "again"), filepath.Join(dir, "other"), own} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, dir, filepath.Join(dir, "data"), filepath.Join(own, "s.*"))
	b.put("data/sessions.db", "secret\n")
	b.put("data/deep/x", "secret\n")
	b.put("file", "")
	for _, name := range []string{"s.db", "fine"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte("text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{filepath.Join(dir, "data"): "again", own: "other", filepath.Join(own, "s.db"): "file"} {
		at := filepath.Join(dir, to)
		if err := syscall.Mount(from, at, "", syscall.MS_BIND, ""); err != nil {
			t.Skip("nothing can be mounted here: ", err)
		}
		defer func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) }()
	}
	for _, p := range []string{"again", "again/sessions.db", "again/deep", "again/deep/x", "again/new", "other/s.db", "other/s.db-wal", "other/s.new/x"} {
		b.everywhere(p, tools.CodeInvalidArgument)
	}
	b.refused(tools.CodeInvalidArgument, "read_file", "path", "file")
	b.refused(tools.CodeInvalidArgument, "write_file", "path", "file", "content", "x\n")
	b.must("read_file", "path", "other/fine")
	if got := fmt.Sprint(b.must("list_dir", "depth", 3)["names"]); strings.Contains(got, "sessions.db") || !strings.Contains(got, "again/ (the program's own)") || !strings.Contains(got, "other/fine") {
		t.Error(got)
	}
}
