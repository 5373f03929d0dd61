package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Sizes and marks of SQLite's write-ahead log.
const (
	walHeaderSize  = 32
	walFrameSize   = 24 // before each page
	walMagicLittle = 0x377f0682
	walMagicBig    = 0x377f0683
	// pageHeadSize is the part of the first page that says what the database is.
	pageHeadSize = 100
)

// walPageOne reads the newest committed head of the first page from a log, nil when the log has none. What a database says
// of itself may stand there only; SQLite itself cannot look without writing beside the file.
func walPageOne(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	head, err := readWAL(bufio.NewReaderSize(f, 1<<16))
	return head, errors.Join(err, f.Close())
}

// readWAL goes through the frames as recovery does: up to the first whose salt or checksum is wrong, of which those up to the
// last commit count.
func readWAL(r io.Reader) (committed []byte, err error) {
	head := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, tornEnd(err)
	}
	var order binary.ByteOrder
	switch binary.BigEndian.Uint32(head) {
	case walMagicLittle:
		order = binary.LittleEndian
	case walMagicBig:
		order = binary.BigEndian
	default:
		return nil, nil
	}
	size := binary.BigEndian.Uint32(head[8:])
	sum := walSum{order: order}
	sum.add(head[:24])
	if size < 512 || size > 65536 || size&(size-1) != 0 || !sum.is(head[24:]) {
		return nil, nil
	}
	frame := make([]byte, walFrameSize+int(size))
	var pending []byte
	for {
		if _, err := io.ReadFull(r, frame); err != nil {
			return committed, tornEnd(err)
		}
		sum.add(frame[:8])
		sum.add(frame[walFrameSize:])
		if string(frame[8:16]) != string(head[16:24]) || !sum.is(frame[16:24]) {
			return committed, nil
		}
		if binary.BigEndian.Uint32(frame) == 1 {
			pending = append([]byte(nil), frame[walFrameSize:walFrameSize+pageHeadSize]...)
		}
		if binary.BigEndian.Uint32(frame[4:]) != 0 && pending != nil {
			committed = pending
		}
	}
}

// tornEnd is nil for a log that ends, in the middle of a frame or not.
func tornEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("read log: %w", err)
}

// walSum is the running checksum of a log.
type walSum struct {
	order binary.ByteOrder
	a, b  uint32
}

func (s *walSum) add(p []byte) {
	for i := 0; i+8 <= len(p); i += 8 {
		s.a += s.order.Uint32(p[i:]) + s.b
		s.b += s.order.Uint32(p[i+4:]) + s.a
	}
}

func (s *walSum) is(p []byte) bool {
	return s.a == binary.BigEndian.Uint32(p) && s.b == binary.BigEndian.Uint32(p[4:])
}
