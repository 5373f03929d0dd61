package store

import (
	"fmt"
	"strconv"
	"strings"

	"vitrine/runtime"
)

// recentBound is how many transactions of a session are remembered for Applied.
const recentBound = 16

// recent are the last transactions of a session as its row keeps them: a line each, the newest first, of what the transaction
// was given and its id. They stand in the row that each transaction writes anyway; a table of their own would be a statement and
// a page more.
type recent string

// with puts a transaction in front, and lets the oldest go when there are too many.
func (r recent) with(id string, c runtime.Committed, events int) recent {
	if strings.Count(string(r), "\n") >= recentBound-1 {
		r = r[:strings.LastIndexByte(string(r), '\n')]
	}
	line := make([]byte, 0, 96+len(r))
	for _, n := range [...]int64{c.FirstN, c.LastN, c.FirstSeq, int64(events), int64(c.Turn)} {
		line = append(strconv.AppendInt(line, n, 10), ' ')
	}
	line = append(line, id...)
	if r != "" {
		line = append(append(line, '\n'), r...)
	}
	return recent(line)
}

// find gives what the transaction of this id was given, and how many events it stored.
func (r recent) find(id string) (c runtime.Committed, events int, ok bool, err error) {
	for line := range strings.SplitSeq(string(r), "\n") {
		if !strings.HasSuffix(line, " "+id) {
			continue
		}
		var got string
		if _, err := fmt.Sscan(line, &c.FirstN, &c.LastN, &c.FirstSeq, &events, &c.Turn, &got); err != nil {
			return runtime.Committed{}, 0, false, fmt.Errorf("read the transaction %q: %w", line, err)
		}
		return c, events, true, nil
	}
	return runtime.Committed{}, 0, false, nil
}

// checkTxID refuses an id that does not make one word of a line.
func checkTxID(id string) error {
	if id == "" || strings.ContainsAny(id, " \t\r\n") {
		return constraint("a transaction needs an id of one word, not %q", id)
	}
	return nil
}
