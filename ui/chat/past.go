package chat

import (
	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/runtime/find"
)

// A View can show a stretch of a session that is far from what is loaded: a place that was looked for, or an old turn. It is
// loaded from messages alone, grows at both ends and is kept short by whole turns; nothing that happens now is applied to it.

// mostPast bounds the blocks of a stretch.
const mostPast = 2000

// LoadStretch replaces everything with a part of a session.
func (v *View) LoadStretch(s runtime.Stretch) {
	v.clear()
	v.rows, v.stretch = nil, true
	if len(s.Messages) == 0 {
		return
	}
	turn := s.Turn
	if s.Messages[0].Kind == llm.KindUser {
		turn--
	}
	v.oldest, v.firstTurn = s.Messages[0].N, turn+1
	v.turn = turn
	v.Extend(s)
	v.list.End()
}

// Extend puts what comes after it behind a stretch. What is on the screen stays.
func (v *View) Extend(s runtime.Stretch) {
	if len(s.Messages) == 0 {
		return
	}
	at := v.list.Len() > 0
	b := builder{view: v, turn: v.turn, older: true}
	for _, m := range s.Messages {
		b.message(m)
	}
	b.endRun()
	v.turn, v.last, v.end = b.turn, s.Messages[len(s.Messages)-1].N, s.Newest
	if at {
		v.list.Hold()
	}
	v.list.Append(items(b.out)...)
	if v.list.Len() <= mostPast {
		return
	}
	for i := v.list.Len() - mostPast; i < v.list.Len()-mostPast/2; i++ {
		if u, ok := v.block(i).(*userBlock); ok {
			for range i {
				v.list.Remove(0)
			}
			v.oldest, v.firstTurn = u.n, u.at.Turn
			return
		}
	}
}

// shorten takes turns away at the end of a stretch that grew in front.
func (v *View) shorten() {
	if !v.stretch || v.list.Len() <= mostPast {
		return
	}
	for i := mostPast; i > mostPast/2; i-- {
		if u, ok := v.block(i).(*userBlock); ok {
			for v.list.Len() > i {
				v.list.Remove(v.list.Len() - 1)
			}
			v.last, v.turn = u.n-1, u.at.Turn-1
			return
		}
	}
}

// Stretch says that it shows a part of a session that is not its end.
func (v *View) Stretch() bool { return v.stretch }

// WantsNewer says that the last loaded row is on the screen and newer messages exist: those with n above Last.
func (v *View) WantsNewer() bool {
	return v.stretch && v.last < v.end && v.list.AtEnd()
}

// Last is the n of the newest message of a stretch.
func (v *View) Last() int64 { return v.last }

// Holds says that a message is among those that are loaded.
func (v *View) Holds(n int64) bool {
	return v.oldest > 0 && n >= v.oldest && (!v.stretch || n <= v.last)
}

// SeenN is the number of the message at the top of the screen, 0 when it is not known.
func (v *View) SeenN() int64 {
	first, last, ok := v.list.Visible()
	if !ok {
		return 0
	}
	for i := first; i <= last; i++ {
		if n := v.block(i).number(); n > 0 {
			return n
		}
	}
	for i := first; i >= 0; i-- {
		if n := v.block(i).number(); n > 0 {
			return n
		}
	}
	return 0
}

// BottomN is the number of the last message on the screen; while the end is followed it is behind all.
func (v *View) BottomN() int64 {
	_, last, ok := v.list.Visible()
	if !ok || v.list.Following() && !v.stretch {
		return 1<<62 - 1
	}
	for i := last; i >= 0; i-- {
		if n := v.block(i).number(); n > 0 {
			return n
		}
	}
	return 0
}

// ShowMessage selects a message that is loaded and brings it on the screen, where the query stands in it if it does; what hides
// that is opened. It tells whether the message is there.
func (v *View) ShowMessage(n int64, q find.Query) bool {
	from, to := v.blocksOf(n)
	at := -1
	for i := from; i <= to; i++ {
		if !v.selectable(i) {
			continue
		}
		if at < 0 {
			at = i
		}
		if hits, _ := q.Spans(v.block(i).source(), 1); len(hits) > 0 {
			at = i
			break
		}
	}
	if at < 0 {
		return false
	}
	v.list.Select(at)
	row := v.hitRow(at, q)
	if t, ok := v.block(at).(toggler); ok && row < 0 && !t.isOpen() && !q.Empty() {
		t.toggle()
		row = v.hitRow(at, q)
	}
	v.list.ShowRow(at, max(row, 0))
	return true
}

// blocksOf gives the first and the last block that a message can be shown by; from is -1 when there is none. What streamed has no
// number of its own: it stands behind the message before it.
func (v *View) blocksOf(n int64) (from, to int) {
	from, to = -1, -1
	before := -1
	for i := range v.list.Len() {
		b := v.block(i)
		switch m := b.number(); {
		case m == n, b.resultNumber() == n:
			if from < 0 {
				from = i
			}
			to = i
		case m > 0 && m < n:
			before = i
		case m > n && from < 0:
			return before, i - 1
		}
	}
	if from < 0 && before >= 0 {
		return before, v.list.Len() - 1
	}
	return from, to
}

// Place is where a reader stands.
type Place struct {
	follow        bool
	top, selected block
	row           int
	n             int64
}

// Place notes where the reader stands.
func (v *View) Place() Place {
	p := Place{follow: v.list.Following(), n: v.SeenN()}
	var item int
	if item, p.row = v.list.Top(); item < v.list.Len() {
		p.top = v.block(item)
	}
	if i := v.list.Selected(); i >= 0 {
		p.selected = v.block(i)
	}
	return p
}

// GoTo goes back to a place.
func (v *View) GoTo(p Place) {
	v.Deselect()
	found := false
	for i := range v.list.Len() {
		if v.block(i) == p.top {
			v.list.SetTop(i, p.row)
			found = true
		}
		if v.block(i) == p.selected {
			v.list.Mark(i)
		}
	}
	switch {
	case p.follow:
		v.list.End()
	case !found: // it was loaded again
		v.ShowMessage(p.n, find.Query{})
		v.Deselect()
	}
}

// Len is how many blocks there are.
func (v *View) Len() int { return v.list.Len() }

// AtEnd says that the last row is on the screen.
func (v *View) AtEnd() bool { return v.list.AtEnd() }

// AtTop says that the first row that is loaded is on the screen, and nothing comes before it.
func (v *View) AtTop() bool { return v.list.AtTop() && !v.WantsOlder() }

// SelectRef selects the first block of a turn, a step or a call and brings it on the screen; it tells whether there is one.
func (v *View) SelectRef(at Ref) bool {
	v.Unselect()
	for i := range v.list.Len() {
		if matches(at, v.block(i).ref()) && v.selectable(i) {
			v.Deselect()
			v.list.Select(i)
			return true
		}
	}
	return false
}
