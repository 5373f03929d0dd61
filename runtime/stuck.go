package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// Guards is what the guards of a run have counted. It is stored with each commit of the run, so that a restart does not make them
// start anew. It is never changed once it is made.
type Guards struct {
	// Rejections are answers that went back, Repairs empty replies, Unknown the unknown tools in a row.
	Rejections int `json:",omitempty"`
	Repairs    int `json:",omitempty"`
	Unknown    int `json:",omitempty"`
	// Misshapen says that an answer did not have the schema.
	Misshapen bool `json:",omitempty"`
	// Unavailable are failures in a row for want of a service, by tool.
	Unavailable map[string]int `json:",omitempty"`
	// Judged is how many calls of the step were judged, Stuck what came of those and all before them.
	Judged int   `json:",omitempty"`
	Stuck  stuck `json:",omitzero"`
}

// guards is what the run's guards have counted until now.
func (r *run) guards() *Guards {
	g := &Guards{
		Rejections: r.rejections, Repairs: r.repairs, Unknown: r.unknown, Misshapen: r.misshapen,
		Judged: r.judged, Stuck: r.stuck,
	}
	g.Stuck.Keys = slices.Clone(r.stuck.Keys)
	for tool, n := range r.unavailable {
		if n > 0 {
			if g.Unavailable == nil {
				g.Unavailable = map[string]int{}
			}
			g.Unavailable[tool] = n
		}
	}
	return g
}

// restoreGuards takes up what an earlier process counted.
func (r *run) restoreGuards() {
	g := r.row.Usage.Guards
	if g == nil {
		return // nothing, or stored by a build that kept no counts
	}
	r.rejections, r.repairs, r.unknown, r.misshapen, r.judged = g.Rejections, g.Repairs, g.Unknown, g.Misshapen, g.Judged
	maps.Copy(r.unavailable, g.Unavailable)
	r.stuck = g.Stuck
	r.stuck.Keys = slices.Clone(g.Stuck.Keys)
}

// How often something has to repeat before the run counts as going in circles, and in how many further replies the model may do so
// after the one notice.
const (
	stuckEqual  = 3 // equal results of equal calls in a row
	stuckPairs  = 4 // A B A B
	stuckCodes  = 5 // results in a row with one error code
	stuckGrace  = 2 // replies after the notice; the last of them ends the run
	stuckMemory = 8
)

// stuck finds runs that go in circles. A result that differs from the one before it under the same call resets the count,
// so polling something that changes, or reading again after an edit, is never an alarm. The model cannot heed a notice in the
// middle of its reply: within one at most the notice is earned, and what counts after it are whole replies. It is pure state
// without a clock; the fields are stored with the run.
type stuck struct {
	Keys  []string `json:",omitempty"` // hash of name, canonical arguments and result, newest last
	Code  string   `json:",omitempty"`
	Codes int      `json:",omitempty"`
	// Due is a notice that is earned and that the model has not got yet.
	Due bool `json:",omitempty"`
	// Told says that the model got the notice about the circle that is on; Grace is how many replies may still go on with it.
	Told  bool `json:",omitempty"`
	Grace int  `json:",omitempty"`
}

// observe takes in one result in call order.
func (d *stuck) observe(name, args, result, code string) {
	h := sha256.New()
	for _, s := range []string{name, args, result} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	d.Keys = append(d.Keys, hex.EncodeToString(h.Sum(nil)[:16]))
	if len(d.Keys) > stuckMemory {
		d.Keys = d.Keys[1:]
	}
	if code != "" && code == d.Code {
		d.Codes++
	} else {
		d.Code, d.Codes = code, 1
	}
	switch {
	case !d.circling():
		d.Told, d.Grace = false, 0
	case !d.Told:
		d.Due = true
	}
}

// replied takes in that a reply has all its results, and says whether the run has to end.
func (d *stuck) replied() (stop bool) {
	if !d.Told {
		return false
	}
	d.Grace--
	return d.Grace <= 0
}

// notified takes in that the notice is handed over. When the circle was broken meanwhile the next one earns its own.
func (d *stuck) notified() {
	d.Due, d.Told, d.Grace = false, d.circling(), stuckGrace
}

func (d *stuck) circling() bool {
	return d.equal() || d.pairs() || d.Code != "" && d.Codes >= stuckCodes
}

func (d *stuck) equal() bool {
	n := len(d.Keys)
	if n < stuckEqual {
		return false
	}
	for i := n - stuckEqual; i < n-1; i++ {
		if d.Keys[i] != d.Keys[n-1] {
			return false
		}
	}
	return true
}

func (d *stuck) pairs() bool {
	n := len(d.Keys)
	if n < stuckPairs || d.Keys[n-1] == d.Keys[n-2] {
		return false
	}
	for i := n - stuckPairs; i < n-2; i++ {
		if d.Keys[i] != d.Keys[i+2] {
			return false
		}
	}
	return true
}
