package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxLine is the longest line that a Reader takes by default, in bytes.
const MaxLine = 32 << 20

// BadLine is a line of a JSONL file that holds no event.
type BadLine struct {
	Line   int   // from 1
	Bytes  int64 // its length without the line feed
	Reason string
}

func (b BadLine) String() string {
	return fmt.Sprintf("line %d (%d bytes): %s", b.Line, b.Bytes, b.Reason)
}

// Reader reads a JSONL file line by line in bounded memory. Bad lines are told of and passed over; events of names that
// this version does not know are kept.
type Reader struct {
	// MaxLine is the longest line in bytes; 0 is the constant of that name.
	MaxLine int
	// OnBad is told of each bad line, in order; it may be nil.
	OnBad func(BadLine)
}

// Events yields the events of r in order. It ends with r, or yields the error of a failed read as its last.
func (d Reader) Events(r io.Reader) iter.Seq2[Event, error] {
	limit := d.MaxLine
	if limit <= 0 {
		limit = MaxLine
	}
	return func(yield func(Event, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var buf []byte
		for number := 1; ; number++ {
			line, size, err := readLine(in, buf[:0], limit)
			buf = line
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Event{}, fmt.Errorf("read trace, line %d: %w", number, err))
				return
			}
			if size > 0 {
				e, ok, reason := parseLine(line, size, limit, err == nil)
				if reason != "" && d.OnBad != nil {
					d.OnBad(BadLine{Line: number, Bytes: size, Reason: reason})
				}
				if ok && !yield(e, nil) {
					return
				}
			}
			if err != nil {
				return
			}
			if cap(buf) > 1<<20 {
				buf = nil // one long line should not hold its memory
			}
		}
	}
}

// readLine appends a line to buf, of which it keeps at most limit bytes, and gives its whole length. io.EOF comes with a
// line that has no line feed.
func readLine(in *bufio.Reader, buf []byte, limit int) (line []byte, size int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		size += int64(len(part))
		buf = append(buf, part[:min(len(part), limit-len(buf))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, size, err
		}
	}
}

// parseLine gives the event of a line, and what is wrong with the line. Both may be there: an event among NUL bytes.
func parseLine(line []byte, size int64, limit int, ended bool) (e Event, ok bool, reason string) {
	if size > int64(limit) {
		return e, false, fmt.Sprintf("longer than %d bytes", limit)
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF")))
	if bytes.IndexByte(text, 0) >= 0 {
		reason = "NUL bytes"
		text = bytes.TrimSpace(bytes.Trim(text, "\x00"))
	}
	if len(text) == 0 {
		return e, false, reason
	}
	err := json.Unmarshal(text, &e)
	switch {
	case err == nil:
		return e, true, reason
	case reason != "":
	case text[0] != '{':
		reason = "no JSON object"
	case !ended:
		reason = "ends in the middle"
	default:
		reason = err.Error()
	}
	return Event{}, false, reason
}
