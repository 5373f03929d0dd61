package builtin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"vitrine/llm/attach"
)

// workFolder makes a folder of files; a name that ends in / is a folder.
func workFolder(t *testing.T, files map[string]string, private ...string) (*WorkFiles, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	for i, p := range private {
		private[i] = filepath.Join(dir, p)
	}
	return NewWorkFiles(root, private), dir
}

func TestNamesLeaveOutWhatIsIgnored(t *testing.T) {
	w, dir := workFolder(t, map[string]string{
		"a.txt": "", "笔记 一.md": "", "src/main.go": "", "src/deep/x.go": "", "src/deep/x.o": "", "keep.o": "", ".git/config": "", "node_modules/x/i.js": "",
		"out/bin": "", "src/out/ok.txt": "", "logs/today.log": "", "logs/keep.log": "", "doc/api/v1/gen.md": "", "doc/x.md": "", "data/sessions.db": "", "bad\nname": "",
		".gitignore":      "*.o\n!keep.o\n/out/\n# a comment\n*.log\ndoc/**/gen.md\n",
		"logs/.gitignore": "!keep.log\n", "secret.txt": "",
	}, "data", "secret.txt")
	must(t, os.Symlink("a.txt", filepath.Join(dir, "link.txt")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "outside.txt")))
	must(t, os.Symlink("secret.txt", filepath.Join(dir, "sneaky.txt")))
	must(t, os.Symlink(".", filepath.Join(dir, "round")))
	names, partial, err := w.Names(context.Background())
	if err != nil || partial {
		t.Fatal(err, partial)
	}
	want := []string{".gitignore", "a.txt", "keep.o", "link.txt", "笔记 一.md", "doc/x.md", "logs/.gitignore", "logs/keep.log", "src/main.go", "src/deep/x.go", "src/out/ok.txt"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := w.Names(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a walk that was cancelled gave %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadForAMessage(t *testing.T) {
	long := strings.Repeat("一行字\n", 100)
	w, dir := workFolder(t, map[string]string{
		"a.txt": "hello\r\n", "笔记 一.md": "你好", "long.txt": long, "one-line.txt": strings.Repeat("长", 200), "bin": "a\x00b", "latin": "caf\xe9", "empty": "",
		"sub/x": "x", "secret.txt": "s",
	}, "secret.txt")
	must(t, os.Symlink("../a.txt", filepath.Join(dir, "sub", "link")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "outside")))
	must(t, os.Symlink("secret.txt", filepath.Join(dir, "sneaky")))
	must(t, os.Truncate(filepath.Join(dir, "empty"), 0))
	big, err := os.Create(filepath.Join(dir, "big"))
	must(t, err)
	must(t, big.Truncate(maxAttached+1))
	must(t, big.Close())
	for _, c := range []struct {
		name string
		want attach.File
	}{
		{"a.txt", attach.File{Name: "a.txt", Bytes: 7, Text: "hello\r\n"}},
		{"./sub/../a.txt", attach.File{Name: "a.txt", Bytes: 7, Text: "hello\r\n"}},
		{"sub/link", attach.File{Name: "a.txt", Bytes: 7, Text: "hello\r\n"}},
		{"笔记 一.md", attach.File{Name: "笔记 一.md", Bytes: 6, Text: "你好"}},
		{"empty", attach.File{Name: "empty"}},
		{"bin", attach.File{Name: "bin", Bytes: 3, Refused: attach.Binary}},
		{"latin", attach.File{Name: "latin", Bytes: 4, Refused: attach.Binary}},
		{"sub", attach.File{Name: "sub", Refused: attach.Folder}},
		{"nothing", attach.File{Name: "nothing", Refused: attach.Gone}},
		{"../a.txt", attach.File{Name: "../a.txt", Refused: attach.Outside}},
		{"/etc/passwd", attach.File{Name: "/etc/passwd", Refused: attach.Outside}},
		{"outside", attach.File{Name: "outside", Refused: attach.Outside}},
		{"secret.txt", attach.File{Name: "secret.txt", Refused: attach.Unreadable}},
		{"sneaky", attach.File{Name: "sneaky", Refused: attach.Unreadable}},
		{"big", attach.File{Name: "big", Bytes: maxAttached + 1, Refused: attach.TooLarge}},
	} {
		if diff := cmp.Diff(c.want, w.Read(context.Background(), c.name, 600)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if f := w.Read(context.Background(), "long.txt", 107); f.Text != strings.Repeat("一行字\n", 10) || f.Bytes != 1000 || !f.Cut() {
		t.Errorf("cut to %q of %d", f.Text, f.Bytes)
	}
	if f := w.Read(context.Background(), "one-line.txt", 100); f.Text != strings.Repeat("长", 33) || !utf8.ValidString(f.Text) {
		t.Errorf("cut to %q", f.Text)
	}
}
