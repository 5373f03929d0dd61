package rotate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vitrine/runtime/clock"
)

// B181: the log stays within 1 MB x 2, and what was logged last is whole.
func TestLogStaysWithinItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vitrine.log")
	stack := strings.Repeat("a frame of the stack\n", 2000)
	for i := range 100 {
		if err := AppendLog(clock.Real(), path, fmt.Sprintf("panic %d\n%s", i, stack)); err != nil {
			t.Fatal(err)
		}
		if files, size, err := LogSize(path); err != nil || files > LogFiles || size > LogFiles*LogMaxBytes {
			t.Fatalf("%d files, %d bytes, %v", files, size, err)
		}
	}
	text := strings.Join(read(t, logFile(nil, path)), "\n") + "\n"
	if !strings.HasSuffix(text, "panic 98\n"+stack+"panic 99\n"+stack) || !strings.HasPrefix(text, "panic ") {
		t.Errorf("it has %.40q ... %.40q", text, text[max(0, len(text)-40):])
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestLogOfWhatFitsNowhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vitrine.log")
	for range 3 {
		if err := AppendLog(clock.Real(), path, strings.Repeat("长", LogMaxBytes)); err != nil {
			t.Fatal(err)
		}
	}
	b := must(os.ReadFile(path))
	if len(b) > LogMaxBytes || len(b) < LogMaxBytes-20 || strings.ToValidUTF8(string(b), "") != string(b) || !strings.HasSuffix(string(b), "长\n[cut]\n") {
		t.Errorf("%d bytes, %q", len(b), b[len(b)-20:])
	}
	if err := AppendLog(clock.Real(), path, "no line feed"); err != nil {
		t.Fatal(err)
	}
	equal(t, string(must(os.ReadFile(path))), "no line feed\n")
	missing := filepath.Join(filepath.Dir(path), "missing")
	if err := AppendLog(clock.Real(), filepath.Join(missing, "vitrine.log"), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the folder was made")
	}
}
