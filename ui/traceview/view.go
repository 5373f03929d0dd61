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
	for _, ev := range events {
		v.tree.Apply(ev)
	}
	v.changed()
}

// Halt says that nobody works on a run that has no end; unknown are the rows of calls about whose outcome the user is asked.
func (v *View) Halt(runID string, unknown ...string) {
	v.tree.Halt(runID, unknown...)
	v.changed()
}

// Apply takes in an event of the session.
func (v *View) Apply(ev trace.Event) {
	if ev.TS.After(v.now) {
		v.now = ev.TS
	}
	before := v.tree.Version
	v.tree.Apply(ev)
	if v.tree.Version != before {
		v.changed()
	}
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
	v.lines = v.lines[:0]
	for _, r := range v.tree.Roots {
		v.add(r, 0)
	}
	if len(v.lines) == 0 {
		v.selected = ""
		return
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
	if len(v.lines) == 0 {
		return
	}
	i := max(0, min(len(v.lines)-1, v.index()+n))
	v.selectLine(i)
}

func (v *View) selectLine(i int) {
	v.selected = v.lines[i].node.ID
	v.follow = i == len(v.lines)-1
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
	v.follow, v.rows = true, nil
	v.selected = v.newest().ID
}

// Page moves by n screens.
func (v *View) Page(n int) { v.Move(n * max(1, v.room()-1)) }

// HalfPage moves by n half screens.
func (v *View) HalfPage(n int) { v.Move(n * max(1, v.room()/2)) }

// Scroll moves what is shown by n rows and leaves the selection where it is.
func (v *View) Scroll(n int) {
	v.flatten()
	v.offset = max(0, min(v.offset+n, len(v.lines)-v.room()))
	v.follow = v.offset >= len(v.lines)-v.room() && v.index() == len(v.lines)-1
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
func (v *View) Toggle() {
	if n := v.Selected(); n != nil && len(n.Children) > 0 {
		v.set(n, !v.isOpen(n))
	}
}

func (v *View) set(n *trace.Node, open bool) {
	v.open[n.ID] = open
	v.follow = false
	v.changed()
	v.flatten()
	v.reveal()
}

// SelectTurn selects a turn and opens it; false when the pane does not hold it.
func (v *View) SelectTurn(turn int) bool {
	for _, r := range v.tree.Roots {
		if r.Turn != turn || r.Kind != trace.KindRun {
			continue
		}
		v.open[r.ID] = true
		v.follow = false
		v.changed()
		v.flatten()
		v.selected = r.ID
		v.reveal()
		return true
	}
	return false
}

// TurnBefore and TurnAfter select the neighbouring turn.
func (v *View) TurnBefore() { v.stepTurn(-1) }

// TurnAfter selects the next turn.
func (v *View) TurnAfter() { v.stepTurn(1) }

func (v *View) stepTurn(d int) {
	v.flatten()
	for i := v.index() + d; i >= 0 && i < len(v.lines); i += d {
		if v.lines[i].depth == 0 {
			v.selectLine(i)
			return
		}
	}
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
