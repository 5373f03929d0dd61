package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// errLong is a line or an event beyond the limit.
var errLong = errors.New("line too long")

// lines splits a byte stream at LF, CR or CRLF. Memory is bounded by max and the read buffer.
type lines struct {
	src    io.Reader
	buf    []byte
	rest   []byte // what of buf has not been handed out
	held   []byte // the start of a line that goes on in the next read
	max    int
	skipLF bool
	err    error
}

const (
	readSize = 32 << 10
	keepHeld = 1 << 20
)

func newLines(src io.Reader, max int) *lines {
	return &lines{src: src, buf: make([]byte, readSize), max: max}
}

// next gives the next line without its end, valid until the next call. With part, a read brought more of a line but not
// its end. A last line without an end is given before the error that ended the stream.
func (l *lines) next() (line []byte, part bool, err error) {
	for {
		l.skip()
		if i := lineEnd(l.rest); i >= 0 {
			l.skipLF = l.rest[i] == '\r'
			line, l.rest = l.rest[:i], l.rest[i+1:]
			return l.release(line)
		}
		if err := l.hold(); err != nil {
			return nil, false, err
		}
		if l.err != nil {
			if len(l.held) > 0 {
				return l.release(nil)
			}
			return nil, false, l.err
		}
		var n int
		n, l.err = l.src.Read(l.buf)
		l.rest = l.buf[:n]
		l.skip()
		if n > 0 && lineEnd(l.rest) < 0 && l.err == nil {
			return nil, true, l.hold()
		}
	}
}

// skip drops the LF of a CRLF whose CR has ended a line already.
func (l *lines) skip() {
	if l.skipLF && len(l.rest) > 0 {
		l.rest = bytes.TrimPrefix(l.rest, []byte("\n"))
		l.skipLF = false
	}
}

// hold keeps the start of a line whose end has not come.
func (l *lines) hold() error {
	if len(l.held)+len(l.rest) > l.max {
		return errLong
	}
	l.held = append(l.held, l.rest...)
	l.rest = nil
	return nil
}

// release joins the held start with the end of a line.
func (l *lines) release(end []byte) ([]byte, bool, error) {
	if len(l.held) == 0 {
		return end, false, nil
	}
	if len(l.held)+len(end) > l.max {
		return nil, false, errLong
	}
	whole := append(l.held, end...)
	if l.held = whole[:0]; cap(whole) > keepHeld {
		l.held = nil
	}
	return whole, false, nil
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	head := b
	if lf >= 0 {
		head = b[:lf]
	}
	if cr := bytes.IndexByte(head, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// frame is what the framing hands to the decoder: an event, a line that belongs to no event, or only a sign of life.
type frame struct {
	name string // of the event
	data []byte // valid until the next call
	bare bool   // a line that is no field
	last bool   // the stream ended before the event did
}

func (f frame) alive() bool { return f.data == nil }

// frames reads server-sent events. It is more lenient than the standard where servers are known to differ: an event may
// lack the blank line after it, also at the end of the stream, and lines without a field name are handed on, because some
// of them carry an error.
type frames struct {
	lines *lines
	name  string
	data  []byte
	out   []byte // what was handed out last; swapped with data, so that the buffers are used again
	begun bool   // an event has data
	first bool   // no line was read yet
	err   error
}

func newFrames(src io.Reader, max int) *frames {
	return &frames{lines: newLines(src, max), first: true}
}

var doneMark = []byte("[DONE]")

// next gives the next frame.
func (f *frames) next() (frame, error) {
	for {
		if f.begun && bytes.Equal(bytes.TrimSpace(f.data), doneMark) {
			return f.dispatch(false), nil // nothing is worth waiting for
		}
		if f.err != nil {
			return frame{}, f.err
		}
		line, part, err := f.lines.next()
		if err != nil {
			f.err = err
			if f.begun && !errors.Is(err, errLong) {
				return f.dispatch(true), nil
			}
			continue
		}
		if part {
			return frame{}, nil
		}
		if f.first {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
			f.first = false
		}
		fr, ok, err := f.line(line)
		if err != nil {
			f.err = err
			continue
		}
		if ok {
			return fr, nil
		}
	}
}

// line takes one line in and tells whether a frame is complete.
func (f *frames) line(line []byte) (frame, bool, error) {
	if len(line) == 0 {
		if !f.begun {
			f.name = ""
			return frame{}, false, nil
		}
		return f.dispatch(false), true, nil
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "": // a comment
		return frame{}, true, nil
	case "data":
		return f.add(value)
	case "event":
		f.name = string(value)
		return frame{}, false, nil
	case "id", "retry":
		return frame{}, false, nil
	}
	return frame{bare: true, data: line}, true, nil
}

// add takes in a data line. When what the event has is complete already, the blank line was left out.
func (f *frames) add(value []byte) (frame, bool, error) {
	if !f.begun {
		f.data, f.begun = append(f.data[:0], value...), true
		return frame{}, false, nil
	}
	if json.Valid(f.data) {
		fr := f.dispatch(false)
		f.data, f.begun = append(f.data[:0], value...), true
		return fr, true, nil
	}
	if len(f.data)+len(value) >= f.lines.max {
		return frame{}, false, errLong
	}
	f.data = append(append(f.data, '\n'), value...)
	return frame{}, false, nil
}

func (f *frames) dispatch(last bool) frame {
	fr := frame{name: f.name, data: f.data, last: last}
	f.data, f.out = f.out[:0], f.data
	f.name, f.begun = "", false
	if fr.data == nil {
		fr.data = []byte{}
	}
	return fr
}
