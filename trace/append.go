package trace

import (
	"context"
	"fmt"
	"io"

	"vitrine/trace/rotate"
)

// appendLines adds lines to the file, under its lock, whole, and moves it when it is full. It says how many bytes of lines are
// in. The file is opened each time, so that one that was moved away is made anew.
func (w *Writer) appendLines(ctx context.Context, lines [][]byte) (n int, err error) {
	if w.cfg.Fault != nil {
		if err := w.cfg.Fault("jsonl.before"); err != nil {
			return 0, fmt.Errorf("write trace %s: %w", w.cfg.Path, err)
		}
	}
	if n, err = w.file.Append(ctx, lines); err != nil {
		return n, err
	}
	if w.cfg.Fault != nil {
		_ = w.cfg.Fault("jsonl.after") // the lines are in; failing now would write them twice
	}
	return n, nil
}

// OpenFile opens the trace at path with the files that it was renamed to, as one stream for a Reader, the oldest first. It
// fails with fs.ErrNotExist when there is none.
func OpenFile(path string) (io.ReadCloser, error) {
	return rotate.File{Path: path, What: "trace", Files: DefaultFiles}.Open()
}

// FileSize is how many files the trace at path has, and their bytes.
func FileSize(path string) (files int, bytes int64, err error) {
	return rotate.File{Path: path, What: "trace", Files: DefaultFiles}.Size()
}
