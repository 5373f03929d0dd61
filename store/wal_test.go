package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// logWith is the log of a database whose version was set step by step, not yet moved into the database.
func logWith(t testing.TB, versions ...string) []byte {
	t.Helper()
	path := dbPath(t)
	r := open(t, path)
	for _, v := range versions {
		exec(t, r, "PRAGMA user_version = "+v)
	}
	body, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func version(head []byte) int {
	if head == nil {
		return -1
	}
	return int(binary.BigEndian.Uint32(head[60:]))
}

func TestLogTellsTheVersion(t *testing.T) {
	log := logWith(t, "7", "8")
	const frame = walFrameSize + 4096
	for name, c := range map[string]struct {
		log  []byte
		want int
	}{
		"whole":              {log, 8},
		"torn last frame":    {log[:len(log)-1], 7},
		"without the last":   {log[:len(log)-frame], 7},
		"header only":        {log[:walHeaderSize], -1},
		"torn header":        {log[:walHeaderSize-1], -1},
		"empty":              {nil, -1},
		"no log":             {[]byte("this is a text and by no means a log of a database"), -1},
		"bad header sum":     {flip(log, 25), -1},
		"bad page size":      {flip(log, 11), -1},
		"bad frame":          {flip(log, len(log)-100), 7},
		"other salt":         {flip(log, len(log)-frame+9), 7},
		"bad first frame":    {flip(log, walHeaderSize+50), -1},
		"bad frame checksum": {flip(log, len(log)-frame+17), 7},
	} {
		head, err := readWAL(bytes.NewReader(c.log))
		if err != nil || version(head) != c.want {
			t.Errorf("%s: version %d, want %d (%v)", name, version(head), c.want, err)
		}
	}
	broken := errors.New("broken disk")
	for _, n := range []int{0, walHeaderSize} {
		r := bytes.NewReader(log[:n])
		if _, err := readWAL(readers2{r, iotest.ErrReader(broken)}); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	if head, err := walPageOne(filepath.Join(t.TempDir(), "none")); head != nil || err != nil {
		t.Errorf("no log: %v, %v", head, err)
	}
	if _, err := walPageOne(t.TempDir()); err == nil {
		t.Error("a folder passed as a log")
	}
}

// B121: moving the log into the database stops after any page, because the disk is full or the process dies: the log still has
// all of it, so the database opens with everything in it, although the file alone looks damaged.
func TestLogMovedInPart(t *testing.T) {
	path := dbPath(t)
	r := open(t, path)
	row := r.openSession(t, "s1")
	var want []string
	for range 40 {
		text := strings.Repeat("some text ", 500)
		r.say(t, row, text)
		want = append(want, text)
	}
	before, log := read(t, path), read(t, path+"-wal")
	rawDB(t, path, "PRAGMA wal_checkpoint(PASSIVE)")
	after := read(t, path)
	if len(after) < 10*4096 || len(before) >= len(after) {
		t.Fatalf("the file grew from %d to %d bytes", len(before), len(after))
	}
	for _, n := range []int{0, 1, 4096, 4097, 2 * 4096, 10 * 4096, len(after) - 1, len(after)} {
		body := after[:n]
		if n < len(before) {
			body = append(bytes.Clone(body), before[n:]...)
		}
		part := dbPath(t)
		write(t, part, string(body))
		write(t, part+"-wal", string(log))
		if info, err := Inspect(t.Context(), part); err != nil || info.Version != info.Newest {
			t.Errorf("%d bytes moved: %+v, %v", n, info, err)
		}
		q, err := tryOpen(part)
		if err != nil {
			t.Errorf("%d bytes moved: %v", n, err)
			continue
		}
		diff(t, want, q.texts(t, "s1"))
		q.say(t, q.openSession(t, "s1"), "and on")
		q.close(t)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// readers2 reads a to its end and then b.
type readers2 struct {
	a, b interface{ Read([]byte) (int, error) }
}

func (r readers2) Read(p []byte) (int, error) {
	if n, _ := r.a.Read(p); n > 0 {
		return n, nil
	}
	return r.b.Read(p)
}

func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 0x55
	return b
}

func FuzzReadWAL(f *testing.F) {
	log := logWith(f, "7")
	f.Add(log[:walHeaderSize+2*(walFrameSize+4096)])
	f.Add(log[:walHeaderSize])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if head, err := readWAL(bytes.NewReader(b)); err != nil || head != nil && len(head) != pageHeadSize {
			t.Errorf("%d bytes, %v", len(head), err)
		}
	})
}
