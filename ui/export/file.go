package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"vitrine/runtime"
	"vitrine/ui/words"
)

// pageSize is how many messages are read at a time.
const pageSize = 500

// Write writes a stored session with all its messages, folded ones too.
func Write(ctx context.Context, w io.Writer, f Format, lib runtime.Library, info runtime.SessionInfo, lang words.Lang) error {
	out := NewWriter(w, f, Session{
		ID: info.ID, Title: info.Title, Model: info.Model, Turns: info.TurnCount, CreatedAt: info.CreatedAt.UTC(), UpdatedAt: info.UpdatedAt.UTC(), Lang: lang,
	})
	if err := Messages(ctx, lib, info.ID, out.Message); err != nil {
		return err
	}
	return out.Close()
}

// Messages goes over all messages of a session in order. The library reads from the newest back, so the pages are found first.
func Messages(ctx context.Context, lib runtime.Library, id string, f func(runtime.MessageRow) error) error {
	newest, err := lib.Messages(ctx, id, 0, 1)
	if err != nil {
		return fmt.Errorf("read the messages of session %s: %w", id, err)
	}
	if len(newest) == 0 {
		return nil
	}
	last := newest[0].N
	for before := int64(pageSize + 1); ; before += pageSize {
		page, err := lib.Messages(ctx, id, min(before, last+1), pageSize)
		if err != nil {
			return fmt.Errorf("read the messages of session %s: %w", id, err)
		}
		for _, m := range page {
			// The last page reaches back into the one before it.
			if m.N <= before-pageSize-1 {
				continue
			}
			if err := f(m); err != nil {
				return err
			}
		}
		if before > last {
			return nil
		}
	}
}

// NewFile makes a file that was not there, for its owner only, whole or not at all. An error that is fs.ErrExist says that there is one.
func NewFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	return errors.Join(write(f), f.Sync(), f.Close())
}
