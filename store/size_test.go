package store

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// state is the bytes and times of all files under dir.
func state(t *testing.T, dir string) map[string][2]any {
	t.Helper()
	out := map[string][2]any{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = [2]any{sha256.Sum256(b), info.ModTime().Format(time.RFC3339Nano)}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Measure counts everything and changes nothing, whoever has the database open.
func TestMeasure(t *testing.T) {
	path := dbPath(t)
	ctx := t.Context()
	if got, err := Measure(ctx, path); err != nil || got != (Size{}) {
		t.Errorf("nothing there: %+v %v", got, err)
	}
	filled(t, path, 10, "a", "b")
	before := state(t, filepath.Dir(path))
	got, err := Measure(ctx, path)
	want := Size{Sessions: 2, Messages: 20, Artifacts: 2, ArtifactBytes: 6000, File: fileSize(t, path), Free: got.Free}
	if err != nil {
		t.Fatal(err)
	}
	diff(t, want, got)
	diff(t, before, state(t, filepath.Dir(path)))

	// While it is open what is only in the log counts too.
	r := open(t, path)
	r.say(t, r.openSession(t, "c"), "hello")
	before = state(t, filepath.Dir(path))
	if got, err = Measure(ctx, path); err != nil || got.Sessions != 3 || got.Messages != 21 || got.Events != 1 || got.Log == 0 || got.Partial {
		t.Errorf("%+v %v", got, err)
	}
	after := state(t, filepath.Dir(path))
	for name := range before {
		if filepath.Base(name) != "sessions.db-shm" && before[name] != after[name] {
			t.Errorf("%s changed", name)
		}
	}
	r.say(t, r.openSession(t, "c"), "still there")

	// A crash left the log: it is told of, and left.
	crashed := filepath.Join(t.TempDir(), "s.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if err = errors.Join(err, os.WriteFile(crashed+end, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	before = state(t, filepath.Dir(crashed))
	if got, err = Measure(ctx, crashed); err != nil || got.Sessions != 2 || !got.Partial || got.Log == 0 {
		t.Errorf("%+v %v", got, err)
	}
	diff(t, before, state(t, filepath.Dir(crashed)))
}

func TestMeasureManyArtifacts(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	row := r.openSession(t, "s")
	const count = 2*sizePage + 1
	exec(t, r, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO artifacts (handle, session_id, content, created_at) SELECT 'h' || i, ?, 'é', 0 FROM n`, count, row.ID)
	got, err := Measure(t.Context(), path)
	if err != nil || got.Artifacts != count || got.ArtifactBytes != 2*count {
		t.Errorf("%+v %v", got, err)
	}
}

func TestMeasureWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	letter := filepath.Join(dir, "letter")
	if err := os.WriteFile(letter, []byte("Dear reader, this is a letter and no database at all, however long."), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Measure(t.Context(), letter); err == nil || got.File == 0 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := Measure(t.Context(), filepath.Join(letter, "s.db")); err == nil {
		t.Error("measured below a file")
	}
	if got, err := Measure(t.Context(), dir); err == nil {
		t.Errorf("measured a folder: %+v", got)
	}
}
