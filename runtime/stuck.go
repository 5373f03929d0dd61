package runtime

import (
	"crypto/sha256"
	"encoding/hex"
)

// How often something has to repeat before the run counts as going in circles, and how many results the model gets after
// the one notice.
const (
	stuckEqual  = 3 // equal results of equal calls in a row
	stuckPairs  = 4 // A B A B
	stuckCodes  = 5 // results in a row with one error code
	stuckGrace  = 2 // results after the notice
	stuckMemory = 8
)

// Verdict is what the detector says of the newest result.
type Verdict string

// The verdicts.
const (
	GoOn   Verdict = ""
	Notice Verdict = "notice"
	Stop   Verdict = "stop"
)

// stuck finds runs that go in circles. A result that differs from the one before it under the same call resets the count,
// so polling something that changes, or reading again after an edit, is never an alarm. It is pure state without a clock.
type stuck struct {
	keys    []string // hash of name, canonical arguments and result, newest last
	code    string
	codes   int
	noticed bool
	grace   int
}

// observe takes in one result in call order.
func (d *stuck) observe(name, args, result, code string) Verdict {
	h := sha256.New()
	for _, s := range []string{name, args, result} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	d.keys = append(d.keys, hex.EncodeToString(h.Sum(nil)))
	if len(d.keys) > stuckMemory {
		d.keys = d.keys[1:]
	}
	if code != "" && code == d.code {
		d.codes++
	} else {
		d.code, d.codes = code, 1
	}
	if !d.circling() {
		d.noticed, d.grace = false, 0
		return GoOn
	}
	if !d.noticed {
		d.noticed, d.grace = true, stuckGrace
		return Notice
	}
	if d.grace--; d.grace > 0 {
		return GoOn
	}
	return Stop
}

func (d *stuck) circling() bool {
	return d.equal() || d.pairs() || d.code != "" && d.codes >= stuckCodes
}

func (d *stuck) equal() bool {
	n := len(d.keys)
	if n < stuckEqual {
		return false
	}
	for i := n - stuckEqual; i < n-1; i++ {
		if d.keys[i] != d.keys[n-1] {
			return false
		}
	}
	return true
}

func (d *stuck) pairs() bool {
	n := len(d.keys)
	if n < stuckPairs || d.keys[n-1] == d.keys[n-2] {
		return false
	}
	for i := n - stuckPairs; i < n-2; i++ {
		if d.keys[i] != d.keys[i+2] {
			return false
		}
	}
	return true
}
