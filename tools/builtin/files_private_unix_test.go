//go:build unix

package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vitrine/tools"
)

// What is the program's own stays so under any other name: a hard link, a link to a folder of it, a name in another spelling, also
// when the store lies outside of the folder.
func TestPrivateByIdentity(t *testing.T) {
	base := t.TempDir()
	dir, away := filepath.Join(base, "w"), filepath.Join(base, "away")
	for _, d := range []string{filepath.Join(dir, "data", "holders"), away, filepath.Join(dir, "sub")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, dir, filepath.Join(dir, "data"), filepath.Join(away, "s.*"), filepath.Join(away, "exact"), base, dir)
	b.put("data/sessions.db", "secret\n")
	b.put("data/holders/one", "secret\n")
	b.put("sub/fine", "fine\n")
	for _, name := range []string{"s.db", "other", "exact"} {
		if err := os.WriteFile(filepath.Join(away, name), []byte("secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hard := func(from, to string) {
		t.Helper()
		if err := os.Link(from, filepath.Join(dir, to)); err != nil {
			t.Skip("no hard links here: ", err)
		}
	}
	hard(filepath.Join(dir, "data/sessions.db"), "one")
	hard(filepath.Join(dir, "data/holders/one"), "sub/two")
	hard(filepath.Join(away, "s.db"), "three")
	hard(filepath.Join(away, "exact"), "six")
	hard(filepath.Join(away, "other"), "four")
	hard(filepath.Join(dir, "sub/fine"), "five")
	for _, p := range []string{"one", "sub/two", "three", "six", "./sub/../one"} {
		b.refused(tools.CodeInvalidArgument, "write_file", "path", p, "content", "x\n")
		if e := b.refused(tools.CodeInvalidArgument, "read_file", "path", p); !strings.Contains(e.Message, "program's own") {
			t.Errorf("%s: %s", p, e)
		}
	}
	for _, p := range []string{"four", "five", "sub/fine"} { // neither is ours
		b.must("read_file", "path", p)
		b.must("write_file", "path", p, "content", "new\n")
	}
	if got := b.get("data/sessions.db") + b.get("data/holders/one"); got != "secret\nsecret\n" {
		t.Errorf("%q", got)
	}
}
