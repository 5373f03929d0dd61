package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vitrine/ui/emulator"
	"vitrine/ui/paint"
)

// frameTime is the least time between two pictures: GIF players take shorter ones for much longer ones.
const frameTime = 40 * time.Millisecond

// film plays a cast on an emulator, in the times of the pictures: pauses are cut, and it is as fast as it is to be.
type film struct {
	in    *CastReader
	term  *emulator.Terminal
	join  joiner
	mask  *censor // nil when nothing is to be masked
	idle  time.Duration
	speed float64
	w, h  int
	seen  bool          // something was shown
	left  string        // what leaves the screen, until something is shown after it
	raw   time.Duration // of the last event, in the cast
	at    time.Duration // the same, in the film
}

func newFilm(r io.Reader, look Look) (*film, error) {
	in, err := NewCastReader(r)
	if err != nil {
		return nil, err
	}
	h := in.Header()
	f := &film{in: in, w: h.Width, h: h.Height, term: emulator.New(h.Width, h.Height, ansi.WcWidth), mask: newCensor(look.Masked, h.Width, h.Height), idle: look.Idle, speed: look.Speed}
	if f.idle == 0 {
		f.idle = time.Duration(h.Idle * float64(time.Second))
	}
	if f.speed == 0 {
		f.speed = 1
	}
	return f, nil
}

// next reads an event and gives it its time in the film. It is not shown yet.
func (f *film) next() (Event, error) {
	e, err := f.in.Next()
	if err != nil {
		return e, err
	}
	pause := e.At - f.raw
	f.raw = e.At
	if f.idle > 0 {
		pause = min(pause, f.idle)
	}
	f.at += time.Duration(float64(pause) / f.speed)
	e.At = f.at
	return e, nil
}

// show brings an event onto the screen.
func (f *film) show(e Event) {
	switch e.Code {
	case Output:
		f.seen = true
		out := f.join.take(e.Data)
		if f.mask != nil {
			out = f.mask.frame(out)
		}
		// A program that leaves its screen wipes it. When that is the end, its last picture is what is to be seen.
		if out == "" {
			return
		}
		feed(f.term, f.left)
		if f.left = ""; strings.Contains(out, ansi.ResetModeAltScreenSaveCursor) {
			f.left = out
			return
		}
		feed(f.term, out)
	case Resize:
		f.w, f.h, _ = parseSize(e.Data) // it was checked when it was read
		f.term.Resize(f.w, f.h)
		if f.mask != nil {
			f.mask.resize(f.w, f.h)
		}
	}
}

// name is that of a mark, in one row and without secrets.
func (f *film) name(s string) string {
	s = paint.CleanLine(oneLine(s))
	if f.mask != nil {
		s = f.mask.mask.string(s)
	}
	return s
}

// pictures stops for the screens, at most one for each frameTime, with their times; several may look the same. It returns the time
// of the last event.
func (f *film) pictures(ctx context.Context, each func(at time.Duration) error) (end time.Duration, err error) {
	due := time.Duration(0) // when the screen as it stands is shown
	for {
		e, err := f.next()
		if errors.Is(err, io.EOF) && f.seen {
			return f.at, each(due)
		}
		if errors.Is(err, io.EOF) {
			err = &CastError{1, "nothing is shown in it"}
		}
		if err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if e.Code != Output && e.Code != Resize || e.Code == Output && e.Data == "" {
			continue
		}
		if at := (e.At + frameTime - 1) / frameTime * frameTime; at > due {
			if err := each(due); err != nil {
				return 0, err
			}
			due = at
		}
		f.show(e)
	}
}

// source is a cast on the disk that can be played more than once.
type source struct {
	name string // for errors
	file *os.File
	size int64
}

func openSource(path, name string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the cast: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(name + " is no file")
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("read the cast: %w", err)
	}
	return &source{name: name, file: f, size: info.Size()}, nil
}

func (s *source) close() { _ = s.file.Close() } // nothing was written

// film plays the cast from its start; progress is told how much of it was read, from 0 to 1.
func (s *source) film(look Look, progress func(float64)) (*film, error) {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the cast: %w", err)
	}
	return newFilm(&counted{r: s.file, size: s.size, tell: progress}, look)
}

// counted tells how much was read.
type counted struct {
	r          io.Reader
	size, read int64
	tell       func(float64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read += int64(n)
	if c.tell != nil && c.size > 0 {
		c.tell(min(1, float64(c.read)/float64(c.size)))
	}
	return n, err
}
