package trace

import (
	"fmt"
	"strings"
	"time"

	"vitrine/llm/attach"
)

func (t *Tree) startRun(run *Node, e Event, d RunStartData) {
	run.Detail, run.Start, run.Turn, run.model = attach.Text(d.Input), e.TS, e.Turn, d.Model
	run.Title = fmt.Sprintf("turn %d", e.Turn)
	t.keep(run, e)
}

// state follows the run's state: it alone tells what is under way.
func (t *Tree) state(run *Node, e Event, d StateData) {
	if d.Meter != nil {
		run.sent = d.Meter.Used()
		if m := t.openModel(run); m != nil {
			m.Tokens.Prompt, m.Tokens.Estimated = run.sent, true
			t.sum(m)
		}
	}
	if run.halted && d.State != "" && d.State != "cancelled" {
		if run.waits == 0 { // else it waited for the user since then
			run.waitedFrom(run.End, e.TS)
		}
		run.halted, run.Status, run.End = false, Running, time.Time{}
		t.touch(run)
	}
	if !run.Open() {
		return
	}
	if d.State == "failed" && d.Reason == "store" { // no end of it will be stored
		t.waitNoMore(run, e.TS)
		t.stopBelow(run, e.TS)
		t.end(run, e.TS, Failed)
		return
	}
	switch d.State {
	case "building_context":
		if lastOf(run, KindStep) == nil {
			t.context(run, run.Start)
		}
	case "waiting_model":
		m := t.openModel(run)
		if m == nil {
			m = t.startModel(run, e.Step, e.TS)
		}
		if t.paused(run, m, e, d.Pause != nil) {
			return
		}
	case "waiting_approval":
		run.Status = Waiting
		t.touch(run)
		return
	}
	if d.State != "" && run.Status != Running {
		run.Status = Running
		t.touch(run)
	}
}

// paused follows a model call that the debugger holds: it waits, and begins when it goes on.
func (t *Tree) paused(run, m *Node, e Event, on bool) bool {
	switch {
	case on:
		run.Status, m.Status, m.Outcome = Waiting, Waiting, "paused"
		m.waitsFor(true, e.TS)
	case m.Status == Waiting:
		m.Status, m.Outcome, m.Start = Running, "", e.TS
		m.waitsFor(false, e.TS)
	default:
		return false
	}
	t.touch(m)
	return on
}

// context is the node of the work before the first model call.
func (t *Tree) context(run *Node, start time.Time) *Node {
	if c := lastOf(run, KindContext); c != nil {
		return c
	}
	return t.add(run, &Node{Kind: KindContext, ID: run.ID + "/context", Title: "context", Status: Running, Start: start})
}

func (t *Tree) step(run *Node, number int, start time.Time) *Node {
	id := fmt.Sprintf("%s/%d", run.ID, number)
	if n := t.byID[id]; n != nil {
		return n
	}
	return t.add(run, &Node{Kind: KindStep, ID: id, Step: number, Title: fmt.Sprintf("step %d", number), Status: Running, Start: start})
}

func (t *Tree) startModel(run *Node, number int, start time.Time) *Node {
	if lastOf(run, KindStep) == nil {
		t.end(t.context(run, run.Start), start, OK)
	}
	s := t.step(run, number, start)
	calls := 0
	for _, c := range s.Children {
		if c.Kind == KindModel {
			calls++
		}
	}
	m := t.add(s, &Node{
		Kind: KindModel, ID: fmt.Sprintf("%s/model%d", s.ID, calls+1), Title: run.model, Status: Running, Start: start, Attempts: 1,
		Tokens: Tokens{Prompt: run.sent, Estimated: true},
	})
	if s.Status != Running {
		s.Status, s.End = Running, time.Time{}
	}
	t.sum(m)
	return m
}

// openModel is the model call that runs, or nil.
func (t *Tree) openModel(run *Node) *Node {
	if s := lastOf(run, KindStep); s != nil {
		if m := lastOf(s, KindModel); m != nil && m.Open() {
			return m
		}
	}
	return nil
}

func (t *Tree) delta(run *Node, e Event, d DeltaData) {
	if d.Kind == "tool_output" {
		if n := t.byID[callNode(d.ID)]; n != nil && n.Open() {
			n.Streamed += len(d.Text) + d.Dropped
			t.touch(n)
		}
		return
	}
	m := t.openModel(run)
	if m == nil || d.Kind == "summary" {
		return
	}
	if d.Reset {
		m.Streamed, m.FirstToken = 0, time.Time{}
	}
	if len(d.Text)+d.Dropped > 0 {
		if m.FirstToken.IsZero() {
			m.FirstToken = e.TS
		}
		m.Streamed += len(d.Text) + d.Dropped
	}
	// Some four bytes are a token, in most scripts; the provider's count replaces this.
	m.Tokens.Completion = (m.Streamed + 3) / 4
	t.sum(m)
}

func (t *Tree) retry(run *Node, e Event, d RetryData) {
	m := t.openModel(run)
	if d.Call != "" {
		m = t.byID[callNode(d.Call)]
	}
	if m == nil || !m.Open() {
		return
	}
	m.Attempts = d.Attempt + 1
	m.Outcome = d.Text()
	t.keep(m, e)
}

func (t *Tree) modelCall(run *Node, e Event, d LLMCallData) {
	m := t.openModel(run)
	if m == nil || m.Step != e.Step {
		m = t.startModel(run, e.Step, d.StartedAt)
	}
	m.Title, m.Attempts, m.Outcome = d.Model, d.Attempts, d.FinishReason
	m.Start = d.StartedAt.UTC()
	m.FirstToken = time.Time{}
	if d.TTFTMS != nil {
		m.FirstToken = m.Start.Add(time.Duration(*d.TTFTMS) * time.Millisecond)
	}
	if c := lastOf(run, KindContext); c != nil && m.Parent == firstOf(run, KindStep) && m == m.Parent.Children[0] {
		c.End = m.Start
		if d.ContextMS != nil { // without what the run waited, for the user or for another process
			c.Start = c.End.Add(-time.Duration(*d.ContextMS) * time.Millisecond)
		}
	}
	m.waitsFor(false, m.Start)
	if m == m.Parent.Children[0] {
		m.Parent.Start, m.Parent.waitFor = m.Start, 0 // what it waited was before
	}
	m.Tokens = d.tokens()
	m.Streamed = len(d.Text)
	status := OK
	switch {
	case d.Error != "":
		status, m.Outcome = Failed, d.Error
	case d.FinishReason == "cancelled":
		status = Stopped
	}
	m.Detail = d.PrefixBreak
	t.keep(m, e)
	t.end(m, m.Start.Add(time.Duration(d.LatencyMS)*time.Millisecond), status)
	t.sum(m)
	t.closeStep(m.Parent)
}

// tokens is what was reported, with the estimate where nothing was.
func (d LLMCallData) tokens() Tokens {
	k := Tokens{Prompt: d.Estimate, Completion: (len(d.Text) + 3) / 4}
	if d.PromptTokens != nil {
		k.Prompt = *d.PromptTokens
	}
	if d.CompletionTokens != nil {
		k.Completion = *d.CompletionTokens
	}
	if d.CachedTokens != nil {
		k.Cached = *d.CachedTokens
	}
	if d.ReasoningTokens != nil {
		k.Reasoning = *d.ReasoningTokens
	}
	k.Cost = d.Cost
	k.Estimated = d.PromptTokens == nil || d.CompletionTokens == nil
	return k
}

func firstOf(n *Node, k Kind) *Node {
	for _, c := range n.Children {
		if c.Kind == k {
			return c
		}
	}
	return nil
}

func (t *Tree) toolCall(run *Node, e Event, d ToolCallData) {
	n := t.byID[callNode(d.ID)]
	if n == nil {
		s := t.step(run, e.Step, e.TS)
		n = t.add(s, &Node{Kind: KindTool, ID: callNode(d.ID), callID: d.CallID, Title: d.Tool, Start: e.TS})
	}
	n.Detail = string(d.Shown())
	n.Status, n.End = Waiting, time.Time{}
	if d.Status == "started" {
		n.Status, n.Start = Running, e.TS
		n.waitsFor(false, e.TS) // it is run again by the user's word
	}
	t.keep(n, e)
	t.closeStep(n.Parent)
}

func (t *Tree) toolResult(run *Node, e Event, d ToolResultData) {
	n := t.byID[callNode(d.ID)]
	if n == nil {
		n = t.add(t.step(run, e.Step, e.TS), &Node{Kind: KindTool, ID: callNode(d.ID), callID: d.CallID, Title: d.Tool, Start: e.TS})
	}
	if took := time.Duration(d.DurationMS) * time.Millisecond; took > 0 || n.Status == Waiting || d.Status == "done" {
		n.Start = e.TS.Add(-took)
	}
	status := Stopped
	switch {
	case d.Status == "done" && d.OK:
		status = OK
	case d.Status == "done":
		status = Failed
	}
	switch {
	case d.Status == "denied" && strings.HasPrefix(n.Outcome, deniedWord): // with the reason
	case d.Summary != "":
		n.Outcome = d.Summary
	case d.Code != "":
		n.Outcome = d.Code
	case status == Stopped:
		n.Outcome = d.Status
	}
	n.Progress = ""
	n.waitsFor(false, e.TS) // unless it was decided
	t.keep(n, e)
	t.end(n, e.TS, status)
	t.closeStep(n.Parent)
}

// closeStep ends a step all of whose parts have ended, and takes it up again when one has not.
func (t *Tree) closeStep(s *Node) {
	status, end := OK, s.Start
	for _, c := range s.Children {
		if c.Open() {
			s.Status, s.End = Running, time.Time{}
			t.touch(s)
			return
		}
		if c.End.After(end) {
			end = c.End
		}
		if c.Kind == KindModel {
			status = c.Status // the last one's word; a tool's failure is data for the model
		}
	}
	t.end(s, end, status)
}

// sum brings the tokens of the nodes above n up to date.
func (t *Tree) sum(n *Node) {
	t.touch(n)
	for p := n.Parent; p != nil; p = p.Parent {
		p.Tokens = Tokens{}
		for _, c := range p.Children {
			p.Tokens = p.Tokens.plus(c.Tokens)
		}
	}
}

// fold adds a phase to the fold of the run that is under way.
func (t *Tree) fold(run *Node, e Event, d CompactData) {
	n := lastOf(run, KindFold)
	id := fmt.Sprintf("%s/fold%d", run.ID, e.Seq)
	if d.ID != "" {
		// A fold's phases are told as they happen and once more when they are stored.
		id = run.ID + "/fold/" + d.ID
		n = t.byID[id]
	}
	if n == nil || !n.Open() && d.ID == "" {
		n = t.add(run, &Node{Kind: KindFold, ID: id, Title: "fold", Status: Running, Start: e.TS})
	}
	if !n.Open() && !d.last() {
		t.keep(n, e)
		return
	}
	t.phase(n, e, d)
}

// last says that no phase comes after this one.
func (d CompactData) last() bool {
	return d.Phase == "committed" || d.Phase == "refused" || d.Phase == "failed" || d.Phase == "undone"
}

func (t *Tree) foldAtTop(e Event, d CompactData) {
	var n *Node
	for i := len(t.Roots) - 1; i >= 0 && n == nil; i-- {
		if t.Roots[i].Kind == KindFold {
			n = t.Roots[i]
		}
	}
	if n != nil && e.Seq > 0 && e.Seq <= n.lastSeq {
		return
	}
	id := fmt.Sprintf("fold/%d", e.Seq)
	if d.ID != "" {
		if id = "fold/" + d.ID; d.Phase == "undone" {
			id += "/undone"
		}
		if n = t.byID[id]; n != nil && !n.Open() && !d.last() {
			n.lastSeq = max(n.lastSeq, e.Seq)
			t.keep(n, e)
			return
		}
	}
	if n == nil || !n.Open() && d.ID == "" {
		n = t.addRoot(&Node{Kind: KindFold, ID: id, Title: "fold", Status: Running, Start: e.TS})
		if t.byID[n.ID] == nil {
			return // older than all that are kept
		}
	}
	n.lastSeq = e.Seq
	t.phase(n, e, d)
}

func (t *Tree) phase(n *Node, e Event, d CompactData) {
	if d.Reason != "" {
		n.Detail = d.Reason
	}
	n.Outcome = d.Phase
	if d.Detail != "" {
		n.Outcome = d.Detail
	}
	if d.TokensBefore > 0 && d.TokensAfter > 0 {
		n.Outcome = fmt.Sprintf("%s to %s", FormatTokens(d.TokensBefore), FormatTokens(d.TokensAfter))
	}
	t.keep(n, e)
	if d.Tokens > n.Tokens.Prompt { // told once when the summary is there, and again at the end
		n.Tokens.Prompt = d.Tokens
		t.sum(n)
	}
	switch d.Phase {
	case "committed", "undone":
		t.end(n, e.TS, OK)
	case "refused":
		t.end(n, e.TS, Stopped)
	case "failed":
		t.end(n, e.TS, Failed)
	}
}

// failure adds an error as a node of its own; one that was not stored is shown too, for nothing else tells of it.
func (t *Tree) failure(run *Node, e Event, d ErrorData) {
	id := fmt.Sprintf("%s/error%d", run.ID, e.Seq)
	if e.Seq == 0 {
		id = fmt.Sprintf("%s/unsaved%d", run.ID, len(run.Children))
	}
	n := t.add(run, &Node{
		Kind: KindError, ID: id, Step: e.Step, Title: "error", Detail: d.Message, Outcome: d.Why,
		Status: Failed, Start: e.TS, End: e.TS,
	})
	t.keep(n, e)
}

func (t *Tree) endRun(run *Node, e Event, d RunEndData) {
	status := Stopped
	switch d.State {
	case "succeeded":
		status = OK
	case "failed":
		status = Failed
	}
	run.Outcome = d.State
	if d.Reason != "" {
		run.Outcome = d.State + ": " + d.Reason
	}
	t.keep(run, e)
	at := e.TS
	if run.halted { // given up: the time since it was left does not count
		at = run.End
	}
	run.halted, run.took = false, time.Duration(d.DurationMS)*time.Millisecond
	t.waitNoMore(run, at)
	t.stopBelow(run, at)
	t.end(run, at, status)
}

// stopBelow ends what a run left open, but for what waits for the user.
func (t *Tree) stopBelow(n *Node, at time.Time) {
	for _, c := range n.Children {
		t.stopBelow(c, at)
		if c.Open() && !c.Asks() {
			t.end(c, at, Stopped)
		}
	}
}
