package trace

import "slices"

// Edge says which events are to be read to put older ones in front: all below it. First is the lowest seq that was applied. A run
// whose beginning was not among the events is read again as a whole.
func (t *Tree) Edge(first int64) int64 {
	if len(t.Roots) == 0 {
		return first
	}
	r := t.Roots[0]
	if r.Kind != KindRun || slices.ContainsFunc(r.Events, func(e Event) bool { return e.Name == RunStart }) {
		return first
	}
	return r.lastSeq + 1
}

// Before puts the spans of older events in front: all those below Edge, from some on. Keep does not count them.
func (t *Tree) Before(events []Event) {
	var older Tree
	for _, e := range events {
		older.Apply(e)
	}
	if t.byID == nil {
		t.byID = map[string]*Node{}
	}
	for _, r := range older.Roots {
		if was := t.byID[r.ID]; was != nil { // of which only the end was known
			if was.halted {
				older.Halt(r.ID)
			}
			t.forget(was)
			t.Roots = slices.DeleteFunc(t.Roots, func(n *Node) bool { return n == was })
		}
	}
	for id, n := range older.byID {
		t.byID[id] = n
	}
	t.Roots = append(older.Roots, t.Roots...)
	t.Version++
}

// DropFirst and DropLast take roots away at one end.
func (t *Tree) DropFirst(n int) {
	for _, r := range t.Roots[:n] {
		t.forget(r)
	}
	t.Roots = slices.Delete(t.Roots, 0, n)
	t.Version++
}

// DropLast takes the newest n roots away.
func (t *Tree) DropLast(n int) {
	at := len(t.Roots) - n
	for _, r := range t.Roots[at:] {
		t.forget(r)
	}
	t.Roots = t.Roots[:at:at]
	t.Version++
}

// Seqs gives the lowest and the highest seq of the events that a node and those below it were made of; 0 for none.
func (n *Node) Seqs() (low, high int64) {
	for _, e := range n.Events {
		if e.Seq > 0 {
			if low == 0 || e.Seq < low {
				low = e.Seq
			}
			high = max(high, e.Seq)
		}
	}
	for _, c := range n.Children {
		l, h := c.Seqs()
		if l > 0 && (low == 0 || l < low) {
			low = l
		}
		high = max(high, h)
	}
	return low, high
}
