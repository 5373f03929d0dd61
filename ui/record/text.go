package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// writeText writes the screen at each mark, and the last one, as text. Marks of one moment that show the same screen have it once.
func writeText(ctx context.Context, src *source, w io.Writer, look Look, progress func(float64)) error {
	f, err := src.film(look, progress)
	if err != nil {
		return err
	}
	t := &textWriter{w: w, width: f.w}
	for {
		e, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Code != Mark {
			f.show(e)
			continue
		}
		if err := t.screen(e.At, f.name(e.Data), f.term.Screen().String()); err != nil {
			return err
		}
	}
	if !f.seen {
		return &CastError{1, "nothing is shown in it"}
	}
	return t.screen(f.at, "end", f.term.Screen().String())
}

// textWriter writes screens with a line above each.
type textWriter struct {
	w     io.Writer
	width int
	n     int
	last  string
}

func (t *textWriter) screen(at time.Duration, name, screen string) error {
	line := fmt.Sprintf("--- %d:%06.3f %s ", int(at/time.Minute), (at % time.Minute).Seconds(), name)
	line += strings.Repeat("-", max(3, t.width-len([]rune(line))))
	if t.n++; t.n > 1 && screen != t.last {
		line = "\n" + line
	}
	if screen == t.last && t.n > 1 {
		screen = "" // the one above
	} else {
		t.last = screen
	}
	_, err := fmt.Fprintf(t.w, "%s\n%s", line, screen)
	return err
}
