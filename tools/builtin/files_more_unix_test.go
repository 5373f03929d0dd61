//go:build unix

package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vitrine/tools"
)

// B140: a file that the kernel makes says that it is regular, and is waited for for ever all the same.
func TestKernelFilesB140(t *testing.T) {
	if _, err := os.Stat("/proc/version"); err != nil {
		t.Skip("no /proc here: ", err)
	}
	d := newBench(t, "/proc")
	inTime(t, "reading kernel files", specialBound, plainWork(t, d.dir), func() {
		for _, p := range []string{"kmsg", "version"} {
			if _, err := os.Lstat("/proc/" + p); err != nil {
				continue
			}
			for _, name := range []string{"read_file", "write_file"} {
				pairs := []any{"path", p}
				if name == "write_file" {
					pairs = append(pairs, "content", "x")
				}
				if _, err := d.do(name, pairs...); err == nil || !strings.Contains(err.Error(), "kernel makes") && !strings.Contains(err.Error(), "denied") {
					t.Errorf("%s /proc/%s: %v", name, p, err)
				}
			}
		}
	})
}

// B136: the listing of a folder that becomes a link meanwhile never shows what is outside.
func TestListRaceB136(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "w"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(dir, "swap"), outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(dir, "swap", "inside"), filepath.Join(outside, "secret")} {
		if err := os.WriteFile(f, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "aside")); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, dir)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		at := func(name string) string { return filepath.Join(dir, name) }
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(at("swap"), at("plain"))
			_ = os.Rename(at("aside"), at("swap"))
			_ = os.Rename(at("swap"), at("aside"))
			_ = os.Rename(at("plain"), at("swap"))
		}
	}()
	for range 1000 {
		if got, err := b.do("list_dir", "path", "swap"); err == nil && strings.Contains(fmt.Sprint(got["names"]), "secret") {
			t.Errorf("listed outside: %v", got)
			break
		}
	}
	close(stop)
	<-done
}

// What is being written is for the eyes of those only who may read the old file; B143.
func TestPreparedIsPrivateB143(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.put("secret", "old\n")
	path := filepath.Join(b.dir, "secret")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	b.must("read_file", "path", "secret")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			found, _ := filepath.Glob(filepath.Join(b.dir, ".vitrine-*"))
			for _, f := range found {
				if info, err := os.Stat(f); err == nil && info.Mode().Perm() != 0o600 {
					t.Errorf("the prepared file has the mode %s", info.Mode())
					return
				}
			}
		}
	}()
	for i := range 30 {
		b.must("write_file", "path", "secret", "content", strings.Repeat(fmt.Sprint("secret ", i, "\n"), 1000))
	}
	close(stop)
	<-done
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	if e := b.refused(tools.CodeDenied, "write_file", "path", "secret", "content", "x\n"); !strings.Contains(e.Message, "read-only") {
		t.Error(e)
	}
	b.clean()
}
