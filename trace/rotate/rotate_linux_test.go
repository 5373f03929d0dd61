package rotate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody runs f with the rights of nobody on files, which root's tests need to be refused anything.
func asNobody(t *testing.T, f func()) {
	if os.Geteuid() != 0 {
		f()
		return
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	const nobody = 65534
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		t.Skip(err)
	}
	defer func() { _, _ = unix.SetfsuidRetUid(0) }()
	f()
}

// B181: the folder is read-only at rotation, the file in it is not.
func TestFolderIsReadOnlyAtRotation(t *testing.T) {
	f := newFile(t, 8, 3)
	add(t, f, "one")
	dir := filepath.Dir(f.Path)
	for _, path := range []string{f.Path, f.Path + ".lock"} {
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // only root's tests need it
		t.Fatal(err)
	}
	asNobody(t, func() {
		if n, err := f.Append(context.Background(), lines("two", "no")); n != 4 || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	equal(t, read(t, f), []string{"one", "two"})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	add(t, f, "three")
	equal(t, read(t, f), []string{"one", "two", "three"})
}
