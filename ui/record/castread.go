package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"vitrine/ui/paint"
)

// maxLine bounds a line of a cast, in bytes.
const maxLine = 16 << 20

// maxTime is the latest time of an event: thirty days.
const maxTime = 30 * 24 * time.Hour

// CastError is a cast that cannot be read. Line counts from 1.
type CastError struct {
	Line int
	What string
}

// Error names the line.
func (e *CastError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// CastReader reads a cast line by line; of a long one no more than a line is in memory. Times that go back are taken for the
// last one.
type CastReader struct {
	in     *bufio.Reader
	header Header
	line   int
	last   time.Duration
	cut    bool
}

// NewCastReader reads the header. The error is a *CastError, or one of r.
func NewCastReader(r io.Reader) (*CastReader, error) {
	c := &CastReader{in: bufio.NewReaderSize(r, 64<<10)}
	line, err := c.read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, &CastError{1, "the cast is empty"}
	case err != nil:
		return nil, err
	}
	var probe struct {
		Version json.Number `json:"version"`
	}
	if err := json.Unmarshal(line, &probe); err != nil || probe.Version == "" {
		return nil, c.wrong("this is no asciicast: its first line is a JSON object with a version, a width and a height")
	}
	if probe.Version.String() != strconv.Itoa(castVersion) {
		return nil, c.wrong("asciicast version " + probe.Version.String() + " cannot be read, only version 2")
	}
	if err := json.Unmarshal(line, &c.header); err != nil {
		return nil, c.wrong("the header is wrong: " + oneLine(err.Error()))
	}
	if err := checkSize(c.header.Width, c.header.Height); err != nil {
		return nil, c.wrong(err.Error())
	}
	if c.header.Idle < 0 || c.header.Idle > maxTime.Seconds() {
		return nil, c.wrong("idle_time_limit is " + strconv.FormatFloat(c.header.Idle, 'g', -1, 64))
	}
	return c, nil
}

// Header is the first line.
func (c *CastReader) Header() Header { return c.header }

// Cut says that the last line was not whole and left out: the program that wrote it was killed.
func (c *CastReader) Cut() bool { return c.cut }

// Next gives the next event; of codes that are not ours Data is not read further. The error is io.EOF at the end, else a
// *CastError or one of the reader.
func (c *CastReader) Next() (Event, error) {
	for {
		line, err := c.read()
		if err != nil {
			return Event{}, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, what := parseEvent(line)
		switch {
		case what != "" && line[len(line)-1] != '\n':
			c.cut = true
			return Event{}, io.EOF
		case what != "":
			return Event{}, c.wrong(what)
		}
		c.last = max(c.last, e.At)
		e.At = c.last
		return e, nil
	}
}

// parseEvent says what is wrong with a line, if anything.
func parseEvent(line []byte) (e Event, what string) {
	var parts []json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil {
		return e, "this is no JSON array: " + oneLine(err.Error())
	}
	if len(parts) != 3 {
		return e, fmt.Sprintf("an event has 3 parts, this one %d", len(parts))
	}
	var at float64
	if err := json.Unmarshal(parts[0], &at); err != nil || at < 0 || math.IsNaN(at) || at > maxTime.Seconds() {
		return e, "the time of the event is no number of seconds: " + cutText(string(parts[0]))
	}
	// The time is rounded: a sum of floats lies a little below what was meant.
	e.At = time.Duration(math.Round(at*1e6)) * time.Microsecond
	if err := json.Unmarshal(parts[1], &e.Code); err != nil {
		return e, "the kind of the event is no text: " + cutText(string(parts[1]))
	}
	if err := json.Unmarshal(parts[2], &e.Data); err != nil {
		return e, "the data of the event is no text: " + cutText(string(parts[2]))
	}
	if e.Code == Resize {
		if _, _, err := parseSize(e.Data); err != nil {
			return e, err.Error()
		}
	}
	return e, ""
}

// parseSize reads WIDTHxHEIGHT.
func parseSize(s string) (w, h int, err error) {
	a, b, ok := strings.Cut(s, "x")
	w, errW := strconv.Atoi(a)
	h, errH := strconv.Atoi(b)
	if !ok || errW != nil || errH != nil {
		return 0, 0, fmt.Errorf("a size is WIDTHxHEIGHT, not %s", cutText(s))
	}
	return w, h, checkSize(w, h)
}

// cutText is the beginning of a text, safe to show.
func cutText(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "..."
	}
	return paint.CleanLine(s)
}

// read gives the next line with its line feed; the bytes hold until the next call.
func (c *CastReader) read() ([]byte, error) {
	c.line++
	line, err := c.in.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	whole := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(whole) > maxLine {
			return nil, c.wrong("the line is longer than 16 MB")
		}
		line, err = c.in.ReadSlice('\n')
		whole = append(whole, line...)
	}
	switch {
	case err == nil, errors.Is(err, io.EOF) && len(whole) > 0:
		return whole, nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	}
	return nil, fmt.Errorf("read line %d of the cast: %w", c.line, err)
}

func (c *CastReader) wrong(what string) error { return &CastError{c.line, what} }
