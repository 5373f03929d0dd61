package trace

import (
	"cmp"
	"slices"
	"time"
)

// What waits for the user in a tree, and the words that they gave.

// Asks says that the user's word is waited for: on a call, or on one below.
func (n *Node) Asks() bool { return n.asked || n.waits > 0 }

// waitsFor notes that a call begins or ends to wait for the user; its step and its run do nothing meanwhile.
func (n *Node) waitsFor(on bool, at time.Time) {
	if n.asked == on {
		return
	}
	if n.asked = on; on {
		n.since = at
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if on {
			if p.waits++; p.waits == 1 {
				p.since = at
			}
		} else if p.waits--; p.waits == 0 {
			p.waitedFrom(p.since, at)
		}
	}
}

// waitedFrom notes a time in which a step or a run did nothing.
func (n *Node) waitedFrom(from, to time.Time) {
	if !to.After(from) {
		return
	}
	n.waitFor += to.Sub(from)
	if n.Parent == nil {
		n.waited = append(n.waited, Span{from, to})
	}
}

// shortGap is what may pass between two parts of a run without being a wait: commits, mostly.
const shortGap = 500 * time.Millisecond

// Waits is when a run waited, for the user or for somebody to take it up again, in order and apart from each other. Of one that has
// ended its own word on its time says how much that was, should the waits themselves not be in the events.
func (n *Node) Waits() []Span {
	out := slices.Clone(n.waited)
	if n.Open() || n.took == 0 {
		return out
	}
	rest := n.End.Sub(n.Start) - n.took
	for _, w := range out {
		rest -= w.To.Sub(w.From)
	}
	if rest < shortGap {
		return out
	}
	gaps := n.gaps(out)
	slices.SortStableFunc(gaps, func(a, b Span) int { return cmp.Compare(b.To.Sub(b.From), a.To.Sub(a.From)) })
	for _, g := range gaps {
		length := min(g.To.Sub(g.From), rest)
		if length < shortGap {
			break
		}
		rest -= length
		out = append(out, Span{g.To.Add(-length), g.To})
	}
	slices.SortFunc(out, func(a, b Span) int { return a.From.Compare(b.From) })
	return out
}

// gaps is when no part of a run was at work, beside what is known already.
func (n *Node) gaps(known []Span) []Span {
	busy := slices.Clone(known)
	var parts func(n *Node)
	parts = func(n *Node) {
		if len(n.Children) == 0 && n.Parent != nil {
			busy = append(busy, Span{n.Start, n.Until(n.Start)})
		}
		for _, c := range n.Children {
			parts(c)
		}
	}
	parts(n)
	slices.SortFunc(busy, func(a, b Span) int { return a.From.Compare(b.From) })
	var out []Span
	at := n.Start
	for _, b := range append(busy, Span{n.End, n.End}) {
		if b.From.Sub(at) >= shortGap {
			out = append(out, Span{at, b.From})
		}
		if b.To.After(at) {
			at = b.To
		}
	}
	return out
}

func (t *Tree) approval(run *Node, e Event, d ApprovalData) {
	n := t.byID[callNode(d.ID)]
	if n == nil {
		if n = t.callOf(run, d.CallID); n != nil && !n.Open() && d.ID != "" && d.Phase == "asked" {
			n = nil // the user changed that call's arguments: this one takes its place
		}
	}
	if n == nil && d.ID != "" && d.Tool != "" && d.Phase == "asked" { // it is asked about before it is started
		n = t.add(t.step(run, e.Step, e.TS), &Node{
			Kind: KindTool, ID: callNode(d.ID), callID: d.CallID, Title: d.Tool, Detail: string(d.Arguments), Status: Waiting, Start: e.TS,
		})
		t.closeStep(n.Parent)
	}
	if n == nil {
		t.keep(run, e)
		return
	}
	if d.Phase != "asked" {
		n.waitsFor(false, e.TS)
	}
	if d.Phase == "asked" && n.Open() {
		n.Status, n.Outcome = Waiting, "waits for you"
		n.waitsFor(true, e.TS)
	} else if n.Open() {
		if n.Outcome = ""; d.Answer == "deny" {
			n.Outcome = denied(d.Reason)
		}
	}
	switch { // the run's own word on it is transient
	case run.Open() && run.Asks():
		run.Status = Waiting
	case run.Status == Waiting:
		run.Status = Running
	}
	t.keep(n, e)
	if d.Phase == "decided" && d.Answer == "edit" && n.Open() { // another call takes its place; this one only waited
		n.Outcome, n.Start = "arguments changed", e.TS
		t.end(n, e.TS, Stopped)
		t.closeStep(n.Parent)
	}
}

// Word is what the user said on a call last; empty when they were not asked.
func (n *Node) Word() string {
	for _, e := range slices.Backward(n.Events) {
		d, ok := e.Data.(ApprovalData)
		if !ok || d.Phase != "decided" {
			continue
		}
		switch word := map[string]string{"allow": "allowed", "answer": "answered by hand", "edit": "other arguments", "deny": denied(d.Reason),
			"happened": "it ran", "not": "it did not run", "again": "run it again"}[d.Answer]; {
		case d.Always:
			return word + ", always here"
		case d.Answer == "allow" && d.Cause != "": // a step of the debugger is no word on the call
			return ""
		case d.Answer == "allow":
			return word + " once"
		default:
			return word
		}
	}
	return ""
}

// deniedWord is what a denied call came to.
const deniedWord = "denied"

func denied(reason string) string {
	if reason == "" {
		return deniedWord
	}
	return deniedWord + ": " + reason
}

// callOf finds the newest call of a run by its row or by the provider's id.
func (t *Tree) callOf(run *Node, id string) *Node {
	if n := t.byID[callNode(id)]; n != nil {
		return n
	}
	for i := len(run.Children) - 1; i >= 0; i-- {
		s := run.Children[i]
		for j := len(s.Children) - 1; j >= 0; j-- {
			if c := s.Children[j]; c.Kind == KindTool && c.callID == id {
				return c
			}
		}
	}
	return nil
}

// waitNoMore ends the waits for the user in a run that is over.
func (t *Tree) waitNoMore(n *Node, at time.Time) {
	if n.asked && n.Kind == KindModel { // it never began
		n.Start = at
	}
	n.waitsFor(false, at)
	for _, c := range n.Children {
		t.waitNoMore(c, at)
	}
}
