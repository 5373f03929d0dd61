package builtin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode/utf8"

	"vitrine/tools"
)

const (
	// maxLine is how many bytes of a line are shown, maxLineCost what they take at most as JSON: a control character takes six.
	maxLine     = 500
	maxLineCost = 700
	// maxScan bounds how much of a file is looked at for the number of its lines and for its version.
	maxScan   = 256 << 20
	scanBlock = 64 << 10
	// binaryHead is how much of a file is searched for zero bytes, which no text has.
	binaryHead = 8000
)

type readIn struct {
	Path   string `json:"path" jsonschema:"the file, relative to the folder"`
	Offset int    `json:"offset,omitempty" min:"1" jsonschema:"the first line, from 1; 1 when left out"`
	Limit  int    `json:"limit,omitempty" min:"1" jsonschema:"how many lines at most; as many as fit when left out"`
}

type readOut struct {
	// Path is without links; Version names the whole content.
	Path    string `json:"path"`
	Version string `json:"version,omitempty"`
	// Lines says which lines these are of how many, and how to go on.
	Lines string `json:"lines"`
	// Form tells what the text does not show: a byte order mark, line ends that are not line feeds, or one that is missing.
	Form string `json:"form,omitempty"`
	// Text has each line behind its number.
	Text string `json:"text"`
}

func (f *folder) readFile() tools.Tool {
	return tools.New(toolReadFile, "Reads lines of a text file of the project, numbered. The result says which lines of how many it has, and the offset "+
		"to go on at. Bytes that are no text are written as <0xFF>.", tools.ReadOnly, f.read)
}

func (f *folder) read(ctx context.Context, _ tools.Call, in readIn) (tools.Output, error) {
	to, err := f.resolve(in.Path)
	if err != nil {
		return tools.Output{}, err
	}
	file, info, err := f.open(in.Path, to)
	if err != nil {
		return tools.Output{}, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if err := ordinary(in.Path, file); err != nil {
		return tools.Output{}, err
	}
	s := scan{from: max(in.Offset, 1), most: in.Limit, left: min(maxFilesData-300, maxFilesData-costOf(to))}
	if err := s.run(ctx, file, in.Path); err != nil {
		if _, told := errors.AsType[*tools.Error](err); told || ctx.Err() != nil {
			return tools.Output{}, err
		}
		return tools.Output{}, f.failed(in.Path, err)
	}
	total := fmt.Sprint(s.lines)
	if s.partial {
		total = "more than " + total
	}
	if s.from > s.lines && s.lines > 0 || s.from > 1 && s.lines == 0 {
		return tools.Output{}, &tools.Error{Code: tools.CodeInvalidArgument, Field: "offset", Expected: "1 to " + fmt.Sprint(max(s.lines, 1)),
			Message: fmt.Sprintf("line %d is past the end: %s has %s lines", s.from, shownName(in.Path), total)}
	}
	out := readOut{Path: to, Text: s.text.String(), Form: s.form(), Lines: "no lines: the file is empty"}
	if !s.partial {
		out.Version = versionOf(s.sum())
	}
	last := s.from + s.taken - 1
	if s.lines > 0 {
		out.Lines = fmt.Sprintf("%d-%d of %s", s.from, last, total)
		if last < s.lines {
			out.Lines += fmt.Sprintf(", use offset=%d for the next", last+1)
		}
	}
	return tools.Output{Data: out, Summary: fmt.Sprintf("%d-%d of %s   %s", min(s.from, last), last, total, sizeText(info.Size()))}, nil
}

// scan goes through a file once: it takes the lines that are asked for, and counts and hashes the rest.
type scan struct {
	from, most, left int

	text    bytes.Buffer
	lines   int // seen so far
	taken   int
	full    bool // no further line fits
	partial bool // the end was not reached
	marked  bool
	crlf    int
	alien   bool // some bytes are no text

	cut    []byte // the beginning of a character that is on
	line   []byte // the beginning of the line that is on
	length int    // of it, in bytes
	// ended says of the line that was taken last that it has a line end, returned that a carriage return came last.
	ended, returned bool
	hash            interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func (s *scan) sum() (out [sha256.Size]byte) {
	copy(out[:], s.hash.Sum(nil))
	return out
}

func (s *scan) form() string {
	var has []string
	if s.marked {
		has = append(has, "byte order mark")
	}
	switch {
	case s.crlf > 0 && s.crlf < s.lines:
		has = append(has, fmt.Sprintf("CRLF in %d lines only", s.crlf))
	case s.crlf > 0:
		has = append(has, "CRLF line ends")
	}
	if s.lines > 0 && !s.ended && !s.partial {
		has = append(has, "no line end after the last line")
	}
	if s.alien {
		has = append(has, "bytes that are no UTF-8, so write_file leaves it alone")
	}
	return strings.Join(has, "; ")
}

func (s *scan) run(ctx context.Context, file *os.File, name string) error {
	s.hash = sha256.New()
	r := bufio.NewReaderSize(file, scanBlock)
	head, err := r.Peek(binaryHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return &tools.Error{Code: tools.CodeInvalidArgument, Field: "path", Expected: "a text file",
			Message: shownName(name) + " is no text: it holds zero bytes"}
	}
	if s.marked = bytes.HasPrefix(head, []byte(bom)); s.marked {
		_, _ = s.hash.Write([]byte(bom))
		if _, err := r.Discard(len(bom)); err != nil {
			return err
		}
	}
	for read := 0; ; {
		piece, err := r.ReadSlice('\n')
		_, _ = s.hash.Write(piece)
		s.take(piece)
		if read += len(piece); read > maxScan {
			s.partial = true
			return nil
		}
		switch {
		case errors.Is(err, io.EOF):
			s.alien = s.alien || len(s.cut) > 0
			if s.length > 0 {
				s.end()
			}
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// judge looks for bytes that are no text; a character may begin in one piece and end in the next.
func (s *scan) judge(piece []byte) {
	s.alien = s.alien || bytes.IndexByte(piece, 0) >= 0
	for len(s.cut) > 0 && len(piece) > 0 {
		s.cut, piece = append(s.cut, piece[0]), piece[1:]
		if utf8.FullRune(s.cut) {
			s.alien = s.alien || !utf8.Valid(s.cut)
			s.cut = s.cut[:0]
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(piece); n++ {
		if tail := piece[len(piece)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				s.cut, piece = append(s.cut, tail...), piece[:len(piece)-n]
			}
			break
		}
	}
	s.alien = s.alien || !utf8.Valid(piece)
}

// take goes on with a line.
func (s *scan) take(piece []byte) {
	s.judge(piece)
	if room := maxLine + utf8.UTFMax - len(s.line); room > 0 {
		s.line = append(s.line, piece[:min(room, len(piece))]...)
	}
	s.length += len(piece)
	if len(piece) == 0 {
		return
	}
	if s.ended = piece[len(piece)-1] == '\n'; s.ended {
		if bytes.HasSuffix(piece, []byte("\r\n")) || len(piece) == 1 && s.returned {
			s.crlf++
		}
		s.end()
	}
	s.returned = piece[len(piece)-1] == '\r'
}

// end takes the line, when it was asked for and fits.
func (s *scan) end() {
	s.lines++
	line, length := s.line, s.length
	if s.ended {
		line = bytes.TrimRight(line, "\r\n")
	}
	if s.lines >= s.from && !s.full && (s.most == 0 || s.taken < s.most) {
		row := fmt.Sprintf("%d\t%s\n", s.lines, clip(line, length))
		if size := costOf(row); size <= s.left || s.taken == 0 {
			s.left -= size
			s.taken++
			s.text.WriteString(row)
		} else {
			s.full = true
		}
	}
	s.line, s.length = s.line[:0], 0
}

// clip gives a line as the model reads it, or its beginning with its length when it is too long, in itself or as JSON.
func clip(line []byte, length int) string {
	var b strings.Builder
	end, cost := 0, 0
	for end < len(line) {
		_, n := utf8.DecodeRune(line[end:])
		piece := readable(string(line[end : end+n]))
		if cost += costOf(piece); cost > maxLineCost || end+n > maxLine {
			return fmt.Sprintf("%s [the line has %d bytes; the first %d are shown]", b.String(), length, end)
		}
		b.WriteString(piece)
		end += n
	}
	return b.String()
}

// costOf is how many characters s takes as JSON.
func costOf(s string) int {
	_, cost := tools.Fit(s, math.MaxInt)
	return cost
}

// sizeText is a size in few words.
func sizeText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
