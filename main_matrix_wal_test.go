//go:build unix

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sizes of SQLite's log: a header, then frames of a header and a page each.
const (
	walHeader   = 32
	frameHeader = 24
)

// wal is what a log's bytes hold.
type wal struct {
	path    string
	size    int64
	frame   int64   // bytes of one frame
	commits []int64 // the ends of its transactions
}

// readWAL finds the transactions of the log of dir. A log that is not there has none.
func readWAL(dir string) (wal, error) {
	w := wal{path: filepath.Join(dir, "data", dbFiles[1])}
	data, err := os.ReadFile(w.path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) < walHeader {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	w.size = int64(len(data))
	w.frame = frameHeader + int64(binary.BigEndian.Uint32(data[8:]))
	salts := string(data[16:24])
	for at := int64(walHeader); at+w.frame <= w.size; at += w.frame {
		head := data[at : at+frameHeader]
		if string(head[8:16]) != salts {
			break // left from before the log began anew
		}
		if binary.BigEndian.Uint32(head[4:]) != 0 {
			w.commits = append(w.commits, at+w.frame)
		}
	}
	return w, nil
}

// end is that of the i-th transaction from behind, from 0.
func (w wal) end(i int) int64 {
	if i >= len(w.commits) {
		return walHeader
	}
	return w.commits[len(w.commits)-1-i]
}

// damage cuts the log as the trial says. What is left must be the beginning of what was there; what was acknowledged and cut
// off is the disk's fault and not the program's.
func (tr *trial) damage(before *found) (*found, error) {
	if done, err := tr.cut(tr); err != nil || !done {
		return before, err
	}
	tr.tally.add(cutsMade(tr.lying))
	now, err := look(tr.dir)
	if err != nil {
		return nil, fmt.Errorf("after the cut: %w", err)
	}
	if err := errors.Join(before.follows(&found{messages: now.messages, events: now.events}), now.valid()); err != nil {
		return nil, fmt.Errorf("after the cut: what is left is no beginning of what was there: %w", err)
	}
	if gone := len(before.events) - len(now.events); gone > 0 {
		tr.tally.add("logs cut with stored events in what was lost")
	} else {
		tr.tally.add("logs cut without a loss")
	}
	if !tr.lying {
		return now, nil
	}
	// From here on only what is left was promised.
	tr.last = &found{}
	for seq := range tr.acked {
		if _, ok := now.events[seq]; !ok {
			delete(tr.acked, seq)
		}
	}
	effects, err := tr.ledger.read("effects")
	if err != nil {
		return nil, err
	}
	tr.forgot, tr.forgotten = map[string]bool{}, map[string]int{}
	for _, d := range effects {
		if c := now.calls[d.key]; c.status == "" || c.status == "pending" {
			tr.forgot[d.key] = true
			tr.forgotten[d.tool+" "+d.text]++
		}
	}
	for key := range tr.known {
		if c, ok := now.calls[key]; !ok || !c.known {
			delete(tr.known, key)
		}
	}
	return now, nil
}

// cutsMade counts the cuts of a kind.
func cutsMade(lying bool) string {
	if lying {
		return "logs cut, anywhere"
	}
	return "logs cut, in their last transaction"
}

// truncate cuts the log at a place before its end. It says whether it did: it is shorter now.
func (w wal) truncate(at int64) (bool, error) {
	if err := os.Truncate(w.path, at); err != nil {
		return false, err
	}
	info, err := os.Stat(w.path)
	if err != nil {
		return false, err
	}
	return info.Size() == at && at < w.size, nil
}

// cutTail cuts within the last transaction: what a machine leaves that stops while it writes it, before anybody was told. There may be
// nothing to cut.
func cutTail(tr *trial) (bool, error) {
	w, err := readWAL(tr.dir)
	if err != nil {
		return false, err
	}
	from, to := w.end(1), w.end(0)
	if to <= from {
		return false, nil // nothing is in the log
	}
	return w.truncate(from + tr.rng.Int64N(to-from))
}

// cutAnywhere cuts at a random place, at the end of a frame, in a frame's head, or in the log's own: what a disk leaves that
// said it had written and had not.
func cutAnywhere(tr *trial) (bool, error) {
	w, err := readWAL(tr.dir)
	if err != nil || w.size == 0 {
		return false, err
	}
	frames := (w.size - walHeader) / w.frame
	at, kind := tr.rng.Int64N(w.size), "anywhere"
	if frames > 0 {
		frame := walHeader + tr.rng.Int64N(frames)*w.frame
		switch tr.rng.IntN(5) {
		case 0:
			at, kind = frame, "between frames"
		case 1:
			at, kind = frame+1+tr.rng.Int64N(frameHeader-1), "in a frame's head"
		case 2:
			at, kind = frame+frameHeader+tr.rng.Int64N(w.frame-frameHeader), "in a page"
		case 3:
			at, kind = tr.rng.Int64N(walHeader), "in the log's head"
		}
	}
	tr.tally.add("  cut " + kind)
	return w.truncate(at)
}

// The log is cut after a kill. In its last transaction, before anybody was told of it: everything holds as after a kill. And at
// any place, as by a disk that had not written what it said it had: then the program starts all the same, what is left is a
// valid beginning, what is in it is kept, and the turn goes on or is asked again, to the same answer; an effect happens again
// only when its intent was cut off.
func TestCrashMatrixLog(t *testing.T) {
	m := newMatrix(t)
	rng := rand.New(rand.NewPCG(m.seed, 0))
	var commits, all []string
	for _, p := range m.counted(askAll)[0] {
		if strings.HasPrefix(p, "commit.after:") {
			commits = append(commits, p)
		}
		if !strings.HasPrefix(p, "open.") && !strings.HasPrefix(p, "jsonl.") {
			all = append(all, p)
		}
	}
	want := m.amount(8, 100) // of each kind
	for tries, lying := 0, false; tries < 8*want && !t.Failed(); tries++ {
		if lying = !lying; m.cuts(lying) >= want {
			if lying = !lying; m.cuts(lying) >= want {
				break
			}
		}
		from, cut := commits, cutTail
		if lying {
			from, cut = all, cutAnywhere
		}
		point := from[rng.IntN(len(from))]
		tr := m.trial(askAll, func(n int) blow {
			if n == 0 {
				return blow{fault: point}
			}
			return blow{}
		})
		tr.cut, tr.lying = cut, lying
		m.try("a cut after "+point, tr)
	}
	m.end()
	for _, lying := range []bool{false, true} {
		if got := m.cuts(lying); got < want && !t.Failed() {
			t.Errorf("%d %s, want %d", got, cutsMade(lying), want)
		}
	}
}

// cuts is how many logs were cut so far.
func (m *matrix) cuts(lying bool) int {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	return m.tally.n[cutsMade(lying)]
}
