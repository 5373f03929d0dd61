package chat

import (
	"slices"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

// folds is what a View knows of the session's compactions.
type folds struct {
	accounts map[string]*account // by id
	live     []*liveBlock        // those that run, or stand to be read
	pending  []*account          // whose messages are on older pages
	turns    map[int64]int       // of user messages, by n
	meter    trace.Meter
}

func newFolds() folds { return folds{accounts: map[string]*account{}, turns: map[int64]int{}} }

// splitFacts takes apart what was joined for one row.
func splitFacts(s string) []string { return strings.Split(s, "   ") }

// turnAt is the turn of a message, 0 when it is not known: the inputs before and after it have to be those of two turns in a
// row.
func (v *View) turnAt(n int64) int {
	var before, after int64
	for at := range v.folds.turns {
		switch {
		case at <= n && at > before:
			before = at
		case at > n && (after == 0 || at < after):
			after = at
		}
	}
	turn := v.folds.turns[before]
	if after > 0 && v.folds.turns[after] != turn+1 {
		return 0
	}
	return turn
}

// TurnOf is the turn that a message belongs to, as far as it is known; else 0.
func (v *View) TurnOf(n int64) int { return v.turnAt(n) }

// SetMeter tells how full the context is.
func (v *View) SetMeter(m trace.Meter) { v.folds.meter = m }

// newest is the line of the newest fold that stands.
func (v *View) newest() *lineBlock {
	for i := v.list.Len() - 1; i >= 0; i-- {
		if b, ok := v.block(i).(*lineBlock); ok {
			return b
		}
	}
	return nil
}

// liveFold gives the fold of an id that is shown live.
func (v *View) liveFold(id string) *liveBlock {
	for _, b := range v.folds.live {
		if b.id == id {
			return b
		}
	}
	return nil
}

// Folding says that a fold is under way.
func (v *View) Folding() bool {
	return slices.ContainsFunc(v.folds.live, func(b *liveBlock) bool { return !b.done() })
}

// Sliding says whether something of a fold moves at a time, and whether it does so faster than spinners turn.
func (v *View) Sliding(now time.Time) (moves, fast bool) {
	for _, b := range v.folds.live {
		moves = moves || !b.over(now)
		fast = fast || b.sliding(now) && !b.over(now)
	}
	return moves, fast
}

// compact takes in a phase of a fold. Each comes as it happens, without a seq, and once more when it is stored.
func (v *View) compact(e trace.Event, d trace.CompactData) {
	if d.Phase == "undone" {
		v.undone(e, d)
		return
	}
	a := v.folds.accounts[d.ID]
	if a == nil {
		a = &account{}
		v.folds.accounts[d.ID] = a
	}
	if a.end != "" && !(a.end == endStopped && e.Seq > 0 && d.Phase == endCommitted) {
		return // told already
	}
	a.take(d)
	b := v.liveFold(d.ID)
	if b == nil && (d.Phase != endRefused && d.Phase != endFailed) {
		for _, old := range v.folds.live {
			if old.done() && e.TS.Sub(old.doneAt) < dwell {
				old.doneAt = e.TS.Add(-dwell) // it was there to be read until the next one
			}
		}
		b = &liveBlock{common: v.common(Ref{Turn: e.Turn, Step: e.Step}), account: a, runID: e.RunID, began: e.TS, meter: v.folds.meter}
		v.folds.live = append(v.folds.live, b)
		v.add(b)
	}
	switch d.Phase {
	case "started":
		if b.targets == nil {
			b.targets = v.leavingBlocks(a)
		}
	case "summarised":
		if e.Seq == 0 {
			b.again = true
			b.asked++
		}
	case "checked":
		b.stage, b.valid = max(b.stage, stageMerge), true
	case "merged":
		b.stage = max(b.stage, stageMerge)
	case "asked":
		b.stage, b.asking = max(b.stage, stageMerge), e.Seq == 0
	case endCommitted:
		b.stage, b.asking = stageDone, false
		if e.Seq > 0 {
			v.committed(b, e)
		}
	case endRefused, endFailed:
		v.notFolded(b, a, d.Phase, e)
		return
	}
	v.sink(b)
	b.touch()
}

// committed puts the line of a fold to its place; the live block stays a while to be read.
func (v *View) committed(b *liveBlock, e trace.Event) {
	b.end, b.doneAt, b.storedAt = endCommitted, e.TS, e.TS
	if b.last == 0 {
		v.insertBefore(b, &lineBlock{common: v.common(Ref{Turn: e.Turn}), account: b.account})
		return
	}
	if n, ok := v.lastInput(); ok && b.last > n {
		b.keep = n
	}
	line := &lineBlock{common: v.common(Ref{}), account: b.account}
	v.list.Insert(v.boundary(b.account), line)
	v.redim()
}

func (v *View) insertBefore(at, b block) {
	for i := range v.list.Len() {
		if v.block(i) == at {
			v.list.Insert(i, b)
			return
		}
	}
	v.add(b)
}

// lastInput is the n of the newest input.
func (v *View) lastInput() (int64, bool) {
	for i := v.list.Len() - 1; i >= 0; i-- {
		if b, ok := v.block(i).(*userBlock); ok {
			return b.n, true
		}
	}
	return 0, false
}

// boundary is the place of the first block that stays in the window: an input, or the newest step of the turn that runs.
func (v *View) boundary(a *account) int {
	input := v.list.Len() - v.tail
	for i := range v.list.Len() {
		b, ok := v.block(i).(*userBlock)
		if !ok {
			continue
		}
		if b.n > a.last {
			return i
		}
		input = i
	}
	turn, step := 0, 0
	for i := input; i < v.list.Len()-v.tail; i++ {
		if r := v.block(i).ref(); r.Step > 0 && !isFold(v.block(i)) {
			turn, step = r.Turn, max(step, r.Step)
		}
	}
	for i := input + 1; i < v.list.Len()-v.tail; i++ {
		if r := v.block(i).ref(); step > 0 && r.Turn == turn && r.Step == step && !isFold(v.block(i)) {
			return i
		}
	}
	return min(input+1, v.list.Len()-v.tail)
}

func isFold(b block) bool {
	switch b.(type) {
	case *liveBlock, *lineBlock:
		return true
	}
	return false
}

// leavingBlocks are the blocks that a fold takes out of the window, as far as they are loaded and not dim yet.
func (v *View) leavingBlocks(a *account) []block {
	if a.last == 0 {
		return nil
	}
	var out []block
	keep, _ := v.lastInput()
	for i := range v.boundary(a) {
		b := v.block(i)
		if u, ok := b.(*userBlock); ok && u.n == keep && a.last > keep {
			continue
		}
		if !b.dimmed() && !isFold(b) {
			out = append(out, b)
		}
	}
	return out
}

// sink dims the real blocks in step with the rows of the live one.
func (v *View) sink(b *liveBlock) {
	if len(b.targets) == 0 || b.end != "" {
		return
	}
	rows := len(b.leavingList(min(max(v.h/3, 3), mostLeaving)))
	n := len(b.targets) * b.sunk(rows, v.look.now) / max(rows, 1)
	for _, t := range b.targets[:n] {
		t.setDim(true)
	}
}

// redim dims what is out of the window: all above the line of the newest fold.
func (v *View) redim() {
	at, keep := -1, int64(0)
	for i := v.list.Len() - 1; i >= 0 && at < 0; i-- {
		if b, ok := v.block(i).(*lineBlock); ok && b.last > 0 {
			at, keep = i, b.keep
		}
	}
	for i := range v.list.Len() {
		b := v.block(i)
		if _, line := b.(*lineBlock); line {
			b.touch() // it may know its turns now
		}
		u, input := b.(*userBlock)
		b.setDim(i < at && !(input && keep > 0 && u.n == keep))
	}
}

// notFolded ends a fold that did not happen in one quiet line.
func (v *View) notFolded(b *liveBlock, a *account, how string, e trace.Event) {
	a.end = how
	note := v.refusedNote(Ref{Turn: e.Turn}, how, a.detail)
	if b != nil {
		v.insertBefore(b, note)
		v.dropLive(b)
	} else {
		v.add(note)
	}
	v.redim()
}

func (v *View) refusedNote(at Ref, how, detail string) *noteBlock {
	th := v.look.th
	text := th.T("not folded")
	if detail != "" {
		text = th.T("%s: %s", text, th.Tell(detail))
	}
	if how != endStopped {
		text += th.T("; everything stays")
	}
	return &noteBlock{common: v.common(at), kind: "repaired", role: theme.Faint, text: paint.CleanLine(text)}
}

func (v *View) dropLive(b *liveBlock) {
	v.remove(b)
	v.folds.live = slices.DeleteFunc(v.folds.live, func(o *liveBlock) bool { return o == b })
}

// stopFolds ends the folds that nothing more will be told of; between says those outside of runs.
func (v *View) stopFolds(between bool) {
	for _, b := range slices.Clone(v.folds.live) {
		if b.end == "" && (b.runID == "") == between {
			b.detail = v.look.th.T("stopped; everything stays")
			v.notFolded(b, b.account, endStopped, trace.Event{Turn: b.ref().Turn})
		}
	}
}

// undone takes the line of a fold away: its messages are in the window again.
func (v *View) undone(e trace.Event, d trace.CompactData) {
	a := v.folds.accounts[d.ID]
	if a == nil {
		a = &account{id: d.ID, first: d.FirstN, last: d.LastN}
	}
	for i := v.list.Len() - 1; i >= 0; i-- {
		if b, ok := v.block(i).(*lineBlock); ok && b.id == d.ID {
			a = b.account
			v.list.Remove(i)
		}
	}
	if b := v.liveFold(d.ID); b != nil {
		v.dropLive(b)
	}
	v.folds.pending = slices.DeleteFunc(v.folds.pending, func(p *account) bool { return p.id == d.ID })
	delete(v.folds.accounts, d.ID)
	v.redim()
	th := v.look.th
	what := a.what(th.Lang(), v.turnAt)
	if what == "" {
		what = th.T("the last fold")
	}
	v.add(&noteBlock{common: v.common(Ref{Turn: e.Turn}), kind: "repaired", role: theme.Faint,
		text:  th.T("taken back: %s, in the window again", what),
		right: th.T("%s to %s", theme.Tokens(d.TokensBefore, false), theme.Tokens(d.TokensAfter, false))})
}

// tickFolds moves what sinks.
func (v *View) tickFolds() {
	for _, b := range slices.Clone(v.folds.live) {
		if b.over(v.look.now) {
			v.dropLive(b)
			continue
		}
		v.sink(b)
		b.touch()
	}
}

// summaryDelta streams into the fold that makes it.
func (v *View) summaryDelta(d trace.DeltaData) {
	v.dropRetry()
	if b := v.liveFold(d.ID); b != nil && !b.done() {
		b.stream(d)
		b.touch()
	}
}

// loadFolds takes the folds of a snapshot, and what events say of them.
func (v *View) loadFolds(s runtime.Snapshot, events []trace.Event) {
	v.folds.meter = s.Meter
	for _, e := range events {
		switch d := e.Data.(type) {
		case trace.RunStartData:
			if d.N > 0 {
				v.folds.turns[d.N] = e.Turn
			}
		case trace.CompactData:
			a := v.folds.accounts[d.ID]
			if a == nil {
				a = &account{}
				v.folds.accounts[d.ID] = a
			}
			if d.Phase != "undone" {
				a.take(d)
			}
			if d.Phase == endRefused || d.Phase == endFailed {
				a.end = d.Phase
			}
		}
	}
	for i := len(s.Folds) - 1; i >= 0; i-- {
		f := s.Folds[i]
		a := v.folds.accounts[f.ID]
		if f.UndoneAt != nil {
			delete(v.folds.accounts, f.ID)
			continue
		}
		if a == nil {
			a = &account{}
			v.folds.accounts[f.ID] = a
		}
		a.stored(f)
		v.folds.pending = append(v.folds.pending, a)
	}
}

// foldsBefore takes the lines that stand in front of a message whose predecessor is the one before.
func (b *builder) foldsBefore(m runtime.MessageRow) {
	v := b.view
	v.folds.pending = slices.DeleteFunc(v.folds.pending, func(a *account) bool {
		here := a.last > 0 && a.last < m.N && (a.last >= b.prev && b.prev > 0 || a.last == m.N-1)
		if a.last == 0 {
			here = b.prev > 0 && !a.storedAt.After(m.CreatedAt)
		}
		if here {
			b.add(&lineBlock{common: v.common(Ref{}), account: a})
		}
		return here
	})
	b.prev = m.N
	if m.Kind == llm.KindUser {
		v.folds.turns[m.N] = b.turn + 1
	}
}

// rest adds the lines of folds after the last message.
func (b *builder) rest() {
	v := b.view
	v.folds.pending = slices.DeleteFunc(v.folds.pending, func(a *account) bool {
		here := a.last == 0 && b.prev > 0 || a.last > 0 && a.last == b.prev
		if here {
			b.add(&lineBlock{common: v.common(Ref{}), account: a})
		}
		return here
	})
}

// resumeFolds shows again what ran before the view was loaded anew and goes on.
func (v *View) resumeFolds(live []*liveBlock, s runtime.Snapshot) {
	for _, b := range live {
		if a := v.folds.accounts[b.id]; b.end != "" || a != nil && a.end != "" || b.runID != "" && !s.Running {
			continue
		}
		v.folds.accounts[b.id] = b.account
		v.folds.live = append(v.folds.live, b)
		b.targets = v.leavingBlocks(b.account)
		v.add(b)
	}
}

// Whole gives the selected fold as a text to read; ok is false when none is selected.
func (v *View) Whole() (text string, ok bool) {
	if i := v.list.Selected(); i >= 0 {
		if b := v.block(i); isFold(b) {
			return b.source(), true
		}
	}
	return "", false
}

// Leaving says in a few words what the fold under way takes out of the window.
func (v *View) Leaving() string {
	th := v.look.th
	for _, b := range v.folds.live {
		if b.done() {
			continue
		}
		if b.last == 0 {
			return th.N(len(b.shortened), "%d long result gets shorter", "%d long results get shorter", len(b.shortened))
		}
		what, one := b.turns(th.Lang(), v.turnAt)
		switch {
		case what == "":
			return th.N(b.count, "%d message leaves", "%d messages leave", b.count)
		case one:
			return th.N(b.count, "%s leaves, %d message", "%s leaves, %d messages", what, b.count)
		}
		return th.N(b.count, "%s leave, %d message", "%s leave, %d messages", what, b.count)
	}
	return th.T("the oldest turns leave")
}

// WholeLive gives the fold that is under way as a text to read.
func (v *View) WholeLive() (text string, ok bool) {
	for _, b := range v.folds.live {
		if !b.done() {
			return b.source(), true
		}
	}
	return "", false
}
