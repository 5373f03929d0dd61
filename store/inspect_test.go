package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"vitrine/runtime/clock"
)

// Inspect tells what stands at a path and makes nothing.
func TestInspect(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "data", "s.db")
	info, err := Inspect(ctx, path)
	if err != nil || info.Exists || info.Path == "" || info.Newest < 1 {
		t.Errorf("nothing there: %+v %v", info, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a folder was made")
	}
	n := 0
	s, err := Open(ctx, Config{Path: path, Clock: clock.Real(), NewID: func() string { n++; return string(rune('a' + n)) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	info, err = Inspect(ctx, path)
	if err != nil || !info.Exists || info.Bytes == 0 || info.Version != info.Newest {
		t.Errorf("ours: %+v %v", info, err)
	}
	empty := filepath.Join(dir, "empty")
	letter := filepath.Join(dir, "letter")
	if err := errors.Join(os.WriteFile(empty, nil, 0o600), os.WriteFile(letter, []byte("Dear reader, this is a letter and no database at all, however long."), 0o600)); err != nil {
		t.Fatal(err)
	}
	if info, err = Inspect(ctx, empty); err != nil || !info.Exists || info.Version != 0 {
		t.Errorf("empty: %+v %v", info, err)
	}
	var refused *OpenError
	if info, err = Inspect(ctx, letter); !errors.As(err, &refused) || info.Bytes == 0 {
		t.Errorf("no database: %+v %v", info, err)
	}
	if _, err = Inspect(ctx, ""); !errors.As(err, &refused) {
		t.Errorf("no path: %v", err)
	}
}
