package chat

import (
	"strings"

	"vitrine/ui/markdown"
)

// toggler is a block that can be opened.
type toggler interface {
	toggle()
	isOpen() bool
}

// SelectNext and SelectPrev move the selection by a block; without one they start at the edge of the screen that is nearer.
// They tell whether there is a selection.
func (v *View) SelectNext() bool { return v.selectBy(1) }

// SelectPrev is SelectNext upwards.
func (v *View) SelectPrev() bool { return v.selectBy(-1) }

func (v *View) selectBy(step int) bool {
	v.Unselect()
	i := v.list.Selected()
	if i < 0 {
		first, last, ok := v.list.Visible()
		if !ok {
			return false
		}
		if step > 0 {
			i = first - 1
		} else {
			i = last + 1
		}
	}
	for i += step; i >= 0 && i < v.list.Len(); i += step {
		if v.selectable(i) {
			v.list.Select(i)
			v.pick()
			return true
		}
	}
	return v.list.Selected() >= 0
}

// SelectMore begins a selection of several blocks at the one that is selected, or ends it; what moves the selection then takes in
// what lies between. It tells whether one is on.
func (v *View) SelectMore() bool {
	v.Unselect()
	if v.anchor >= 0 || v.list.Selected() < 0 && !v.SelectPrev() {
		v.anchor = -1
	} else {
		v.anchor = v.list.Selected()
	}
	v.pick()
	return v.anchor >= 0
}

// Several says that a selection of several blocks is on.
func (v *View) Several() bool { return v.anchor >= 0 }

// pick marks the blocks between the two ends of the selection.
func (v *View) pick() {
	from, to := v.picked()
	for i := range v.list.Len() {
		v.block(i).pick(v.anchor >= 0 && i >= from && i <= to)
	}
}

// picked gives the ends of the selection.
func (v *View) picked() (from, to int) {
	at := v.list.Selected()
	if v.anchor < 0 || at < 0 {
		return at, at
	}
	return min(v.anchor, at), max(v.anchor, at)
}

func (v *View) selectable(i int) bool {
	switch b := v.block(i).(type) {
	case *footBlock:
		return false
	case *textBlock:
		return !b.md.Empty()
	}
	return true
}

// Deselect takes the selection away; it tells whether there was one.
func (v *View) Deselect() bool {
	if v.anchor >= 0 {
		v.anchor = -1
		v.pick()
	}
	if v.list.Selected() < 0 {
		return false
	}
	v.list.Select(-1)
	return true
}

// Selected says what the selected block belongs to; ok is false when none is selected.
func (v *View) Selected() (at Ref, ok bool) {
	if i := v.list.Selected(); i >= 0 {
		return v.block(i).ref(), true
	}
	return Ref{}, false
}

// Toggle opens or closes the selected block: the details of a call, or a thought. It tells whether there was something to open.
func (v *View) Toggle() bool {
	i := v.list.Selected()
	if i < 0 {
		return false
	}
	t, ok := v.block(i).(toggler)
	if ok {
		t.toggle()
		v.list.Show(i)
	}
	return ok
}

// Open opens the selected block (on) or closes it; it tells whether it is one that can be opened.
func (v *View) Open(on bool) bool {
	i := v.list.Selected()
	if i < 0 {
		return false
	}
	t, ok := v.block(i).(toggler)
	if ok && t.isOpen() != on {
		t.toggle()
		v.list.Show(i)
	}
	return ok
}

// Mark points at the blocks that a row of the trace stands for; the zero Ref marks none.
func (v *View) Mark(at Ref) {
	if at == v.mark {
		return
	}
	v.mark = at
	for i := range v.list.Len() {
		b := v.block(i)
		b.marked(matches(at, b.ref()))
	}
}

// matches says that a block is part of what at stands for.
func matches(at, block Ref) bool {
	switch {
	case at == Ref{} || at.Turn != block.Turn:
		return false
	case at.Call != "":
		return at.Call == block.Call
	case at.Step != 0:
		return at.Step == block.Step
	}
	return true
}

// ShowRef brings the first block of a turn, a step or a call on the screen; it tells whether there is one.
func (v *View) ShowRef(at Ref) bool {
	for i := range v.list.Len() {
		if matches(at, v.block(i).ref()) {
			v.list.Show(i)
			return true
		}
	}
	return false
}

// TurnAt is the turn of the block on a row of the screen, 0 when there is none.
func (v *View) TurnAt(y int) int {
	i, _, ok := v.list.At(y)
	if !ok {
		return 0
	}
	return v.block(i).ref().Turn
}

// JumpTurn goes to the user's input of the turn after (1) or before (-1) the one at the top of the screen, or the selected
// one, and selects it. It tells whether there is one.
func (v *View) JumpTurn(step int) bool {
	v.Unselect()
	from := v.list.Selected()
	if from < 0 {
		first, _, ok := v.list.Visible()
		if !ok {
			return false
		}
		from = first
		if step > 0 {
			from--
		}
	}
	for i := from + step; i >= 0 && i < v.list.Len(); i += step {
		if _, ok := v.block(i).(*userBlock); ok {
			v.list.Select(i)
			v.list.ToTop(i)
			return true
		}
	}
	return false
}

// Find selects the next block (dir 1) or the one before (dir -1) that holds a text, whatever its case, going round at the
// end. It tells whether there is one.
func (v *View) Find(text string, dir int) bool {
	n := v.list.Len()
	text = strings.ToLower(strings.TrimSpace(text))
	if n == 0 || text == "" {
		return false
	}
	from := v.list.Selected()
	if from < 0 {
		from = n
		if dir > 0 {
			from = -1
		}
	}
	for k := 1; k <= n; k++ {
		i := ((from+k*dir)%n + n) % n
		if from == n && dir < 0 {
			i = n - k
		}
		if v.selectable(i) && strings.Contains(strings.ToLower(v.block(i).source()), text) {
			v.list.Select(i)
			return true
		}
	}
	return false
}

// CopyAnswer gives the source of the newest answer, or of what streams; empty when there is none.
func (v *View) CopyAnswer() string {
	for i := v.list.Len() - 1; i >= 0; i-- {
		if b, ok := v.block(i).(*textBlock); ok && !b.md.Empty() {
			return strings.TrimRight(b.md.Source(), "\n")
		}
	}
	return ""
}

// CopyCode gives the newest code block: of the selected text, else of the newest text that has one; empty when there is none.
func (v *View) CopyCode() string {
	if i := v.list.Selected(); i >= 0 {
		if b, ok := v.block(i).(*textBlock); ok {
			if code, ok := lastCode(&b.md); ok {
				return code
			}
		}
	}
	for i := v.list.Len() - 1; i >= 0; i-- {
		if b, ok := v.block(i).(*textBlock); ok {
			if code, ok := lastCode(&b.md); ok {
				return code
			}
		}
	}
	return ""
}

func lastCode(s *markdown.Stream) (string, bool) {
	blocks := s.Blocks()
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Code {
			return strings.TrimSuffix(blocks[i].Text, "\n"), true
		}
	}
	return "", false
}

// CopySelected gives the source of the selected blocks; empty when none is selected.
func (v *View) CopySelected() string {
	from, to := v.picked()
	if from < 0 {
		return ""
	}
	var parts []string
	for i := from; i <= min(to, v.list.Len()-1); i++ {
		if v.selectable(i) {
			parts = append(parts, strings.TrimRight(v.block(i).source(), "\n"))
		}
	}
	return strings.Join(parts, "\n\n")
}

// UserMessage gives the number of the selected input, for editing it in a new tab; with newest of the newest one when nothing is
// selected. ok is false when it is no input.
func (v *View) UserMessage(newest bool) (n int64, ok bool) {
	i := v.list.Selected()
	if i < 0 && newest {
		for i = v.list.Len() - 1; i >= 0; i-- {
			if _, ok := v.block(i).(*userBlock); ok {
				break
			}
		}
	}
	if i < 0 {
		return 0, false
	}
	b, ok := v.block(i).(*userBlock)
	if !ok || b.n == 0 {
		return 0, false
	}
	return b.n, true
}
