// Package traceview shows a session's trace: a tree of turns, steps, model calls and tool calls with their durations and
// tokens, a bar for each on the turn's common time scale, and what is known of the selected one below.
//
// A View is folded from events; trace.Tree does the folding, this package the looking: which nodes are open, which one is
// selected, which rows are seen (view.go), and how a row (row.go, bar.go) and the facts below (detail.go) are drawn. Rows are
// made anew only when the tree, the selection or the clock of a running turn moved. It has no locks and does no input or
// output.
package traceview

import (
	"encoding/json"
	"time"

	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// keptTurns is how many turns the pane holds; older ones are in the store.
const keptTurns = 500

// line is one row of the tree that could be seen.
type line struct {
	node  *trace.Node
	depth int
}

// View is the trace pane of one session.
type View struct {
	th *theme.Theme
	m  paint.Metrics

	w, h    int
	focused bool
	now     time.Time
	phase   int

	tree     trace.Tree
	open     map[string]bool // what the user opened or closed, by node
	lines    []line
	version  int // of the tree that lines were made of
	selected string
	follow   bool // the selection goes with what happens
	offset   int

	// low and high are the first and last seq that were read; past is set for a stretch that is not the end.
	low, high int64
	past      bool
	sought    int  // pages that were read for the filter
	scrolled  bool // it was moved without the selection since that moved
	filter    filter
	found     int
	halted    struct {
		run     string
		unknown []string
	}

	rows []string
}

// New makes an empty trace pane.
func New(th *theme.Theme, m paint.Metrics) *View {
	return &View{th: th, m: m, tree: trace.Tree{Keep: keptTurns}, open: map[string]bool{}, follow: true, version: -1}
}

// SetSize sets the cells that Rows fills.
func (v *View) SetSize(w, h int) {
	if w != v.w || h != v.h {
		v.w, v.h, v.rows = max(0, w), max(0, h), nil
	}
}

// SetTheme changes the look.
func (v *View) SetTheme(th *theme.Theme) {
	if th != v.th {
		v.th, v.rows = th, nil
	}
}

// SetMetrics changes how the terminal counts.
func (v *View) SetMetrics(m paint.Metrics) {
	if m != v.m {
		v.m, v.rows = m, nil
	}
}

// SetFocus tells whether keys come here.
func (v *View) SetFocus(on bool) {
	if on != v.focused {
		v.focused, v.rows = on, nil
	}
}

// Load replaces everything with stored events, in order.
func (v *View) Load(events []trace.Event) {
	v.tree = trace.Tree{Keep: keptTurns}
	v.low, v.high, v.halted.run = 0, 0, ""
	for _, ev := range events {
		v.tree.Apply(ev)
		if v.low == 0 {
			v.low = ev.Seq
		}
		v.high = max(v.high, ev.Seq)
	}
	v.changed()
}

// Halt says that nobody works on a run that has no end; unknown are the rows of calls about whose outcome the user is asked.
func (v *View) Halt(runID string, unknown ...string) {
	v.halted.run, v.halted.unknown = runID, unknown
	v.tree.Halt(runID, unknown...)
	v.changed()
}

// Apply takes in an event of the session.
func (v *View) Apply(ev trace.Event) {
	if ev.TS.After(v.now) {
		v.now = ev.TS
	}
	before, first := v.tree.Version, v.first()
	v.tree.Apply(ev)
	v.high = max(v.high, ev.Seq)
	if v.low == 0 {
		v.low = ev.Seq
	}
	if first != nil && v.first() != first { // it was forgotten for a new one
		v.low, _ = v.first().Seqs()
	}
	if ev.RunID == v.halted.run {
		v.halted.run = "" // somebody works on it again
	}
	if v.tree.Version != before {
		v.changed()
	}
}

// first is the oldest turn that is held, nil for none.
func (v *View) first() *trace.Node {
	if len(v.tree.Roots) == 0 {
		return nil
	}
	return v.tree.Roots[0]
}

func (v *View) changed() {
	v.version, v.rows = -1, nil
}

// Tick moves the clock and the spinners; it changes nothing while no turn runs.
func (v *View) Tick(now time.Time, phase int) {
	if !v.Running() {
		v.now = now
		return
	}
	v.now, v.phase, v.rows = now, phase, nil
}

// Running says that a turn is under way.
func (v *View) Running() bool {
	n := len(v.tree.Roots)
	return n > 0 && v.tree.Roots[n-1].Open()
}

// isOpen says whether a node shows its children: the newest turn does, and steps do, unless the user said otherwise.
func (v *View) isOpen(n *trace.Node) bool {
	if open, ok := v.open[n.ID]; ok {
		return open
	}
	return n.Parent != nil || n == v.tree.Roots[len(v.tree.Roots)-1]
}

// flatten lists the rows that could be seen.
func (v *View) flatten() {
	if v.version == v.tree.Version {
		return
	}
	v.version = v.tree.Version
	v.lines, v.found = v.lines[:0], 0
	for _, r := range v.tree.Roots {
		if v.filter.on() {
			v.sift(r, 0)
		} else {
			v.add(r, 0)
		}
	}
	if len(v.lines) == 0 {
		v.selected = ""
		return
	}
	for n := v.tree.Node(v.selected); !v.follow && v.index() < 0 && n != nil; n = n.Parent {
		v.selected = n.ID // what it is in was closed
	}
	if v.follow || v.index() < 0 {
		v.selected = v.newest().ID
	}
}

func (v *View) add(n *trace.Node, depth int) {
	v.lines = append(v.lines, line{n, depth})
	if !v.isOpen(n) {
		return
	}
	for _, c := range n.Children {
		v.add(c, depth+1)
	}
}

// newest is the node in which something happens, or happened last.
func (v *View) newest() *trace.Node {
	last := v.lines[len(v.lines)-1].node
	for i := len(v.lines) - 1; i >= 0; i-- {
		if n := v.lines[i].node; n.Open() && (len(n.Children) == 0 || !v.isOpen(n)) {
			return n
		}
	}
	return last
}

// index is the selected row of lines, -1 for none.
func (v *View) index() int {
	for i, l := range v.lines {
		if l.node.ID == v.selected {
			return i
		}
	}
	return -1
}

// Selected is the selected node, nil while there is none.
func (v *View) Selected() *trace.Node {
	v.flatten()
	if i := v.index(); i >= 0 {
		return v.lines[i].node
	}
	return nil
}

// RunningCall is the row's id of the selected tool call, empty when it is none or does not run.
func (v *View) RunningCall() string {
	n := v.Selected()
	if n == nil || n.Kind != trace.KindTool || n.Status != trace.Running {
		return ""
	}
	for _, e := range n.Events {
		if d, ok := e.Data.(trace.ToolCallData); ok {
			return d.ID
		}
	}
	return ""
}

// Turn is the turn of the selected node, 0 for none.
func (v *View) Turn() int {
	if n := v.Selected(); n != nil {
		return n.Turn
	}
	return 0
}

// JSON gives the events of the selected node, whole and indented; empty when nothing is selected or it has none.
func (v *View) JSON() string {
	n := v.Selected()
	if n == nil || len(n.Events) == 0 {
		return ""
	}
	var what any = n.Events
	if len(n.Events) == 1 {
		what = n.Events[0]
	}
	b, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return v.th.T("the event cannot be shown: %s", err.Error())
	}
	return string(b)
}

// Move moves the selection by n rows. At the last row it follows again.
func (v *View) Move(n int) {
	v.flatten()
	v.sought = 0
	if len(v.lines) == 0 {
		return
	}
	i := max(0, min(len(v.lines)-1, v.index()+n))
	v.selectLine(i)
}

func (v *View) selectLine(i int) {
	v.selected = v.lines[i].node.ID
	v.follow, v.scrolled = i == len(v.lines)-1 && !v.past, false
	v.rows = nil
	room := v.room()
	v.offset = max(min(v.offset, i), i-room+1)
}

// Top selects the first row.
func (v *View) Top() {
	v.flatten()
	v.Move(-len(v.lines))
}

// Bottom selects what happens now, and follows it.
func (v *View) Bottom() {
	v.flatten()
	if len(v.lines) == 0 {
		return
	}
	v.follow, v.rows, v.scrolled = !v.past, nil, false
	v.selected = v.newest().ID
	v.reveal()
}

// Page moves by n screens.
func (v *View) Page(n int) { v.Move(n * max(1, v.room()-1)) }

// HalfPage moves by n half screens.
func (v *View) HalfPage(n int) { v.Move(n * max(1, v.room()/2)) }

// Scroll moves what is shown by n rows and leaves the selection where it is.
func (v *View) Scroll(n int) {
	v.flatten()
	v.sought = 0
	v.offset = max(0, min(v.offset+n, len(v.lines)-v.room()))
	v.follow = v.offset >= len(v.lines)-v.room() && v.index() == len(v.lines)-1 && !v.past
	v.scrolled = true
	v.rows = nil
}

// Following says that the pane goes with what happens.
func (v *View) Following() bool { return v.follow }

// Unfold opens the selected node; on an open one it goes to the first child.
func (v *View) Unfold() {
	n := v.Selected()
	if n == nil || len(n.Children) == 0 {
		return
	}
	if v.isOpen(n) {
		v.Move(1)
		return
	}
	v.set(n, true)
}

// Fold closes the selected node; on a closed one, or a leaf, it goes to the parent.
func (v *View) Fold() {
	n := v.Selected()
	switch {
	case n == nil:
	case len(n.Children) > 0 && v.isOpen(n):
		v.set(n, false)
	case n.Parent != nil:
		v.selected, v.follow, v.rows = n.Parent.ID, false, nil
		v.reveal()
	}
}

// Toggle opens or closes the selected node.
func (v *View) Toggle() bool {
	n := v.Selected()
	if n == nil || len(n.Children) == 0 {
		return false
	}
	v.set(n, !v.isOpen(n))
	return true
}

func (v *View) set(n *trace.Node, open bool) {
	v.open[n.ID] = open
	v.follow = false
	v.changed()
	v.flatten()
	v.reveal()
}

// SelectRef selects what stands for a tool call, a step's model call or a turn, and opens what it is in; a filter that hides it
// ends. It is false when the pane does not hold the turn.
func (v *View) SelectRef(turn, step int, call string) bool {
	var at *trace.Node
	for _, r := range v.tree.Roots {
		if r.Turn == turn && r.Kind == trace.KindRun {
			at = r
		}
	}
	if at == nil {
		return false
	}
	at = within(at, step, call)
	v.filter = filter{}
	for n := at; n != nil; n = n.Parent {
		if n != at || n.Parent == nil {
			v.open[n.ID] = true
		}
	}
	v.follow, v.scrolled = false, false
	v.changed()
	v.flatten()
	v.selected = at.ID
	v.reveal()
	return true
}

// within is the node of a run that stands for a call, or else for what the model did in a step.
func within(run *trace.Node, step int, call string) *trace.Node {
	at := run
	var walk func(n *trace.Node)
	walk = func(n *trace.Node) {
		for _, c := range n.Children {
			switch {
			case call != "" && isCall(c, call):
				at = c
				return
			case step > 0 && c.Step == step && (c.Kind == trace.KindStep && at == run || c.Kind == trace.KindModel && call == ""):
				at = c
			}
			walk(c)
			if call != "" && isCall(at, call) {
				return
			}
		}
	}
	walk(run)
	return at
}

// isCall says that a node is that of a call's row.
func isCall(n *trace.Node, call string) bool {
	if n.Kind != trace.KindTool {
		return false
	}
	for _, e := range n.Events {
		if d, ok := e.Data.(trace.ToolCallData); ok && d.ID == call {
			return true
		}
	}
	return false
}

// TurnBefore and TurnAfter select the neighbouring turn; they tell whether there is one.
func (v *View) TurnBefore() bool { return v.stepTurn(-1) }

// TurnAfter selects the next turn.
func (v *View) TurnAfter() bool { return v.stepTurn(1) }

// Click selects the row at y of the pane, and opens or closes it, which it tells, when it was selected before.
func (v *View) Click(y int) bool {
	v.flatten()
	i := v.offset + y - header
	if y < header || y >= header+v.room() || i < 0 || i >= len(v.lines) {
		return false
	}
	if v.lines[i].node.ID == v.selected {
		return v.Toggle()
	}
	v.selectLine(i)
	return false
}

func (v *View) stepTurn(d int) bool {
	v.flatten()
	for i := v.index() + d; i >= 0 && i < len(v.lines); i += d {
		if v.lines[i].depth == 0 {
			v.selectLine(i)
			return true
		}
	}
	return false
}

// reveal scrolls to the selected row.
func (v *View) reveal() {
	if i := v.index(); i >= 0 {
		v.offset = max(min(v.offset, i), i-v.room()+1)
	}
	v.rows = nil
}

// header is the rows above the tree.
const header = 2

// room is how many rows of the tree are seen.
func (v *View) room() int { return max(1, v.h-header-v.detailHeight()) }
