package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzExport makes all files of any cast: it is refused with a line, or all files are there and hold what they should.
func FuzzExport(f *testing.F) {
	for _, body := range []string{
		`[0,"o","hello"]`,
		"[0,\"o\",\"\\u001b[?1049h\\u001b[2J\\u001b[1;31m中\\u001b[m😀\"]\n[1,\"r\",\"30x9\"]\n[2,\"m\",\"x\"]\n[3,\"o\",\"\\u001b[5;3H\\u001b[K\\u001b[3X\"]",
		"[0,\"o\",\"\\u001b[?2027h👨‍👩‍👧\\u001b[?2027l👨‍👩‍👧\"]\n[0,\"o\",\"\\u001b]0;t\\u0007\\u001bP+q\\u001b\\\\\\u001b[c\"]",
		"[0,\"o\",\"\\u001b[2;3r\\u001b[999L\\u001b[9M\\u001b[99@\\u001b[9P\\u001b[9S\\u001b[9T\\u001bM\\u001bD\\t\\u001b[9Z\\u001b[99b\"]",
		"[0,\"o\",\"a\"]\n[1,\"r\",\"1x1\"]\n[1,\"o\",\"中b\"]\n[2,\"r\",\"40x2\"]",
		`[1e3,"o","`,
		`[0,"x",""]`,
	} {
		f.Add(head + body + "\n")
		f.Add(head + body)
	}
	f.Fuzz(func(t *testing.T, cast string) {
		dir := t.TempDir()
		in := filepath.Join(dir, "in.cast")
		if err := os.WriteFile(in, []byte(cast), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := NewCastReader(strings.NewReader(cast))
		if err == nil && r.Header().Width*r.Header().Height > 5000 {
			t.Skip("slow")
		}
		for err == nil { // large sizes are slow too
			var e Event
			if e, err = r.Next(); err == nil && e.Code == Resize {
				if w, h, _ := parseSize(e.Data); w*h > 5000 {
					t.Skip("slow")
				}
			}
		}
		files := Files{GIF: filepath.Join(dir, "out.gif"), SVG: filepath.Join(dir, "out.svg"), Text: filepath.Join(dir, "out.txt")}
		err = Export(t.Context(), in, files, Look{NoFrame: true, Idle: 10_000_000_000})
		left, _ := os.ReadDir(dir)
		if err != nil {
			var wrong *CastError
			if !errors.As(err, &wrong) || len(left) != 1 || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v leaves %v", err, left)
			}
			return
		}
		if len(left) != 4 {
			t.Fatalf("there are %v", left)
		}
		decode(t, files.GIF)
	})
}
