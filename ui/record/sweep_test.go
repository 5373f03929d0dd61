package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// kill leaves of a draft what a killed process leaves: the file, and no lock.
func kill(d *draft) {
	_ = d.flush()
	_ = d.file.Close()
	d.unlock()
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// B190: what a killed process left beside a file is taken away by the next one that writes the file, and nothing else is.
func TestLeftBehindB190(t *testing.T) {
	if !hasLocks {
		t.Skip("there are no locks here")
	}
	dir := t.TempDir()
	to := filepath.Join(dir, "a.gif")
	for range 3 {
		d, err := newDraft(to, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer kill(d)
		if strings.Count(names(t, dir), draftEnd) != 1 {
			t.Fatalf("there are %s", names(t, dir))
		}
		if _, err := d.Write([]byte("half")); err != nil {
			t.Fatal(err)
		}
		kill(d)
	}
	others := []string{".a.gif-.part", ".a.gif-1", ".a.gif-1x.part", ".a.gif-b.gif-1.part", ".b.gif-1.part", "a.gif-1.part", ".a.gif-2.part", ".a.gif-3.part"}
	for _, name := range others[:6] {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, others[6]), 0o700), os.Symlink("a.gif-1.part", filepath.Join(dir, others[7]))); err != nil {
		t.Fatal(err)
	}
	if err := Export(t.Context(), castFile(t, head+"[0,\"o\",\"a\"]\n"), Files{GIF: to}, Look{}); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), ".a.gif-.part .a.gif-1 .a.gif-1x.part .a.gif-2.part .a.gif-3.part .a.gif-b.gif-1.part .b.gif-1.part a.gif a.gif-1.part"; got != want {
		t.Errorf("there are %s, not %s", got, want)
	}
}

// What a living process writes stays, from its beginning until it has its place, whoever writes the same file meanwhile.
func TestLivingDraftsStay(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "a.gif")
	first, err := newDraft(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.drop()
	if _, err := first.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	second, err := newDraft(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.finish(); err != nil { // its file is closed, and has to wait for others
		t.Fatal(err)
	}
	third, err := newDraft(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	second.drop()
	third.drop()
	if err := first.place(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "a.gif" || read(t, to) != "first" {
		t.Errorf("there are %s", got)
	}

	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				d, err := newDraft(to, nil)
				if err == nil {
					err = errors.Join(d.finish(), d.place())
					d.drop()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := names(t, dir); got != "a.gif" {
		t.Errorf("there are %s", got)
	}
}
