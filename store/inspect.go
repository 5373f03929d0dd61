package store

import (
	"context"
	"fmt"
	"os"
)

// Info is what Inspect finds at a path.
type Info struct {
	// Path is absolute, links followed.
	Path   string
	Exists bool
	Bytes  int64
	// Version is the database's, Newest the one that this program knows.
	Version, Newest int
}

// Inspect looks at a database without opening it for use, and changes nothing. It fails as Open would.
func Inspect(ctx context.Context, path string) (Info, error) {
	steps, err := migrations()
	if err != nil {
		return Info{}, fmt.Errorf("read migrations: %w", err)
	}
	s := &Store{cfg: Config{DetectFS: detectFS}, steps: steps}
	found := Info{Newest: len(steps)}
	if found.Path, err = s.resolve(path); err != nil {
		return found, err
	}
	info, err := os.Stat(found.Path)
	if err != nil {
		return found, nil // resolve has seen to it that it can be made
	}
	found.Exists, found.Bytes = true, info.Size()
	if err := s.inspect(ctx, found.Path); err != nil || found.Bytes == 0 {
		return found, err
	}
	h, err := probe(ctx, found.Path)
	if err != nil {
		return found, openFailed(found.Path, err)
	}
	found.Version = h.version
	return found, nil
}
