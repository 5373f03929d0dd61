package record

import (
	"context"
	"errors"
)

// Files are what is made from a cast; an empty path is not wanted.
type Files struct{ GIF, SVG, Text string }

// render makes the files from the cast at source, complete but without their names yet. What was made is returned with an error
// too.
func render(ctx context.Context, source string, files Files, look Look) ([]*draft, error) {
	if files != (Files{}) {
		return nil, errors.New("only a cast can be written yet")
	}
	return nil, nil
}
