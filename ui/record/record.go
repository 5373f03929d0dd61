// Package record keeps what a terminal showed: as a cast (asciicast v2), and from that as a GIF, as an SVG that moves, and as text.
//
// A Recorder is given what is written to a terminal, with the times; Close makes all files that were asked for, each complete or
// not there. Export does the same from a cast. What a cast holds is read back into cells by the terminal emulator of the plays
// (ui/emulator), and the pictures are drawn from those cells with embedded fonts, so that they are the same on every machine.
// Keys that were pressed are not recorded, and secrets are masked in the cells before they are written (mask.go).
package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Config says what is recorded and to where. Width, Height and at least one path are needed.
type Config struct {
	// Width and Height are the terminal's size at the start, in cells.
	Width, Height int
	// Title is shown by players; it may be empty.
	Title string
	// Term is the terminal's type; empty is xterm-256color.
	Term string
	// Start is the time that events are counted from. When it is zero they are counted from the first, and the cast does not say
	// when it was made.
	Start time.Time
	// Secrets are texts that nobody may see; they are masked.
	Secrets []string
	// Cast, GIF, SVG and Text are the files to write; an empty one is not wanted.
	Cast, GIF, SVG, Text string
	// Live makes the cast a new file that grows line by line and can be played when the program is killed. Without it files take
	// their places when they are complete.
	Live bool
	Look
}

// Look says how a recording is shown.
type Look struct {
	// Idle is the longest pause; zero is as long as it was, or as the cast says.
	Idle time.Duration
	// Speed makes it faster, pauses of Idle too; zero is 1.
	Speed float64
	// Hold is how long the last picture stays before it begins again; zero is two seconds, less than zero is no time.
	Hold time.Duration
	// Theme is the colours of what the terminal draws in no colour of its own. The zero value is dark.
	Theme Theme
	// Masked are texts that nobody may see in what is made of a cast that somebody else recorded. A Recorder masks its own.
	Masked []string
	// NoFrame leaves the window around the picture out.
	NoFrame bool
	// Progress is told how far the making of a file is, from 0 to 1. It may be nil.
	Progress func(path string, done float64)
	// Missing is told once which characters no font has, each with its code points; a frame stands for them. It may be nil.
	Missing func(characters string)

	// Disk is put between each file and what is written to it; nil is nothing.
	Disk Disk
}

// Recorder writes a recording. It belongs to one goroutine.
type Recorder struct {
	cfg    Config
	cast   *CastWriter
	draft  *draft   // of the cast
	live   *growing // of a cast that grows
	join   joiner
	censor *censor // nil when there are no secrets
	w, h   int
	start  time.Time
	at     time.Duration // of the last event
	speed  float64       // of the cast
	err    error
	closed bool
}

// New begins a recording. It fails when a file cannot be written where it is wanted.
func New(cfg Config) (*Recorder, error) {
	speed := cmp.Or(cfg.Speed, 1)
	cfg.Idle, cfg.Speed = quicker(cfg.Idle, speed), 1 // the cast is as fast as it is to be, and so is what is made of it
	r := &Recorder{cfg: cfg, w: cfg.Width, h: cfg.Height, start: cfg.Start, speed: speed, censor: newCensor(cfg.Secrets, cfg.Width, cfg.Height)}
	first := cmp.Or(cfg.Cast, cfg.GIF, cfg.SVG, cfg.Text)
	if first == "" {
		return nil, errors.New("record: no file is asked for")
	}
	if err := checkSize(cfg.Width, cfg.Height); err != nil {
		return nil, err
	}
	for _, path := range []string{cfg.GIF, cfg.SVG, cfg.Text} { // to know before an hour is recorded
		if path == "" {
			continue
		}
		d, err := newDraft(path, cfg.Disk)
		if err != nil {
			return nil, err
		}
		d.drop()
	}
	var to io.Writer
	if cfg.Live && cfg.Cast != "" {
		g, err := newGrowing(cfg.Cast, cfg.Disk)
		if err != nil {
			return nil, err
		}
		r.live, to = g, g
	} else {
		d, err := newDraft(first, cfg.Disk)
		if err != nil {
			return nil, err
		}
		r.draft, to = d, d
	}
	h := Header{Width: cfg.Width, Height: cfg.Height, Idle: cfg.Idle.Seconds(), Title: r.masked(oneLine(cfg.Title)), Env: map[string]string{"TERM": cfg.Term}}
	if !cfg.Start.IsZero() {
		h.Timestamp = cfg.Start.Unix()
	}
	var err error
	if r.cast, err = NewCastWriter(to, h); err != nil {
		r.Abort()
		return nil, err
	}
	return r, nil
}

// Frame records what was written to the terminal. An error is told by Err and Close.
func (r *Recorder) Frame(at time.Time, out string) {
	out = r.join.take(out)
	if out != "" && r.censor != nil {
		out = r.censor.frame(out)
	}
	if out != "" {
		r.event(at, Output, out)
	}
}

// Resize records that the terminal has another size, in cells. It comes before what is drawn for that size.
func (r *Recorder) Resize(at time.Time, w, h int) {
	w, h = min(max(w, 1), maxWidth), min(max(h, 1), maxHeight)
	if w == r.w && h == r.h {
		return
	}
	r.w, r.h = w, h
	if r.censor != nil {
		r.censor.resize(w, h)
	}
	r.event(at, Resize, strconv.Itoa(w)+"x"+strconv.Itoa(h))
}

// Mark records that something was seen at this moment. The text file has the screen of each mark.
func (r *Recorder) Mark(at time.Time, name string) { r.event(at, Mark, r.masked(oneLine(name))) }

// masked is a text without secrets.
func (r *Recorder) masked(s string) string {
	if r.censor == nil {
		return s
	}
	return r.censor.mask.string(s)
}

// Until makes the recording last until then.
func (r *Recorder) Until(at time.Time) { r.event(at, Output, "") }

// Err is the first thing that went wrong; nothing was recorded after it.
func (r *Recorder) Err() error { return r.err }

func (r *Recorder) event(at time.Time, code Code, data string) {
	if r.err != nil || r.closed {
		return
	}
	if r.start.IsZero() {
		r.start = at
	}
	r.at = max(r.at, at.Sub(r.start))
	r.err = r.cast.Event(Event{At: quicker(r.at, r.speed), Code: code, Data: data})
}

// quicker is how long a time takes at a speed.
func quicker(d time.Duration, speed float64) time.Duration {
	if speed == 1 {
		return d
	}
	return time.Duration(float64(d) / speed)
}

// Close ends the recording and makes the files. When it fails, or ctx ends, none is there that was not before; a cast that grew stays.
func (r *Recorder) Close(ctx context.Context) error {
	if r.closed {
		return r.err
	}
	if rest := r.join.rest(); rest != "" {
		r.event(r.start.Add(r.at), Output, rest)
	}
	r.closed = true
	if r.live != nil {
		if err := r.live.close(); r.err == nil {
			r.err = err
		}
	} else if r.err == nil {
		r.err = r.draft.finish()
	}
	if r.err != nil {
		r.drop()
		return r.err
	}
	r.err = r.make(ctx)
	return r.err
}

// make renders the files from the cast and gives all their names.
func (r *Recorder) make(ctx context.Context) error {
	if r.draft != nil {
		defer r.draft.drop()
	}
	source := r.cfg.Cast
	if r.draft != nil {
		source = r.draft.file.Name()
	}
	files, err := render(ctx, source, "the recording", Files{GIF: r.cfg.GIF, SVG: r.cfg.SVG, Text: r.cfg.Text}, r.cfg.Look)
	defer func() { drop(files) }()
	if err != nil {
		return err
	}
	if r.draft != nil && r.cfg.Cast != "" {
		files = append(files, r.draft)
	}
	return place(ctx, files)
}

// place gives the files their names, unless ctx has ended.
func place(ctx context.Context, files []*draft) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	for _, f := range files {
		if err := f.place(); err != nil {
			return err
		}
	}
	return nil
}

// Abort ends the recording and leaves nothing; a cast that grew stays.
func (r *Recorder) Abort() {
	if r.closed {
		return
	}
	r.closed = true
	if r.live != nil {
		_ = r.live.close() // what it holds is whole
	}
	r.drop()
}

func (r *Recorder) drop() {
	if r.draft != nil {
		r.draft.drop()
	}
}
