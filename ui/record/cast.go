package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// The size of a terminal that a recording may have, in cells.
const (
	maxWidth  = 1000
	maxHeight = 400
)

// Header is the first line of a cast: asciicast, version 2.
type Header struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp,omitempty"`
	Idle      float64           `json:"idle_time_limit,omitempty"` // seconds
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// Code says what an Event is.
type Code string

// The events that a cast of ours holds. Input is never recorded.
const (
	Output Code = "o"
	Resize Code = "r" // Data is WIDTHxHEIGHT
	Mark   Code = "m" // Data is the mark's name
)

// Event is a line of a cast.
type Event struct {
	At   time.Duration // since the start
	Code Code
	Data string
}

// CastWriter writes a cast, a line with each call of the writer below it. Times never decrease: one that lies before the last is
// taken for the last.
type CastWriter struct {
	w    io.Writer
	last time.Duration
	buf  bytes.Buffer
}

// NewCastWriter writes the header. Version and a missing TERM are filled in; of Env only TERM is written.
func NewCastWriter(w io.Writer, h Header) (*CastWriter, error) {
	if err := checkSize(h.Width, h.Height); err != nil {
		return nil, err
	}
	h.Version = castVersion
	term := h.Env["TERM"]
	if term == "" {
		term = "xterm-256color"
	}
	h.Env = map[string]string{"TERM": term}
	c := &CastWriter{w: w}
	if err := c.line(h); err != nil {
		return nil, err
	}
	return c, nil
}

const castVersion = 2

func checkSize(w, h int) error {
	if w < 1 || h < 1 || w > maxWidth || h > maxHeight {
		return fmt.Errorf("a terminal of %dx%d cells cannot be recorded: 1x1 to %dx%d can", w, h, maxWidth, maxHeight)
	}
	return nil
}

// Event writes one event.
func (c *CastWriter) Event(e Event) error {
	c.last = max(c.last, e.At)
	return c.line([]any{json.RawMessage(strconv.FormatFloat(c.last.Seconds(), 'f', 6, 64)), e.Code, e.Data})
}

// line writes a value as a line of JSON.
func (c *CastWriter) line(v any) error {
	c.buf.Reset()
	enc := json.NewEncoder(&c.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write a line of the cast: %w", err)
	}
	_, err := c.w.Write(c.buf.Bytes())
	return err
}
