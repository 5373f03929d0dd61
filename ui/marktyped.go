package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"vitrine/ui/chat"
)

// Here the mouse puts the cursor into the input and selects what was typed. The selection is of the text itself, and lasts until that or
// the cursor changes.

// typedMark is what is selected of the input: bytes of its raw text.
type typedMark struct {
	down, on      bool
	times         int
	x, y          int // where it was pressed
	fixed, moving [2]int
	text          string
	cursor        int
}

// pressInput is the button over the input: the cursor goes there, or a word or a line is selected.
func (p *page) pressInput(e tea.Mouse) tea.Cmd {
	k := typedMark{down: true, times: p.pressed(e), x: e.X, y: e.Y}
	k.text, _ = p.edit.Raw()
	p.inputMark = k
	p.inputMark.fixed = p.typedAt(e)
	if k.times > 1 {
		p.markTyped(e)
	} else {
		p.edit.Go(p.inputMark.fixed[0])
	}
	return p.mentioned()
}

// typedAt is what a cell of the input stands for, by how often the button was pressed.
func (p *page) typedAt(e tea.Mouse) [2]int {
	r := p.lay.input
	from, to := p.edit.At(max(e.X-r.x-inputIndent, 0), min(max(e.Y-r.y, 0), r.h-1))
	text, _ := p.edit.Raw()
	switch p.inputMark.times {
	case 2:
		from, to = chat.WordAt(text, from, to)
	case 3:
		from = strings.LastIndexByte(text[:from], '\n') + 1
		if i := strings.IndexByte(text[to:], '\n'); i >= 0 {
			to += i
		} else {
			to = len(text)
		}
	}
	return [2]int{from, to}
}

// markTyped takes the selection to the pointer, and the cursor with it.
func (p *page) markTyped(e tea.Mouse) {
	k := &p.inputMark
	if !k.on && k.times == 1 && e.X == k.x && e.Y == k.y {
		return
	}
	if text, _ := p.edit.Raw(); text != k.text { // it was changed while the button is down
		*k = typedMark{}
		return
	}
	k.on, k.moving = true, p.typedAt(e)
	if k.moving[0] < k.fixed[0] {
		p.edit.Go(k.moving[0])
	} else {
		p.edit.Go(k.moving[1])
	}
	k.text, k.cursor = p.edit.Raw()
}

// typedRange is the selected bytes of the input; a selection of what is not there any more ends.
func (p *page) typedRange() (from, to int) {
	k := &p.inputMark
	if text, at := p.edit.Raw(); k.on && (text != k.text || at != k.cursor) {
		*k = typedMark{}
	}
	if !k.on {
		return 0, 0
	}
	return min(k.fixed[0], k.moving[0]), max(k.fixed[1], k.moving[1])
}

// typedText is what is selected of the input.
func (p *page) typedText() string {
	from, to := p.typedRange()
	return p.edit.Slice(from, to)
}

// showTyped shows in reverse what is selected of the input.
func (p *page) showTyped(rows []string) []string {
	from, to := p.typedRange()
	on, off := p.env.style.Theme.Reverse()
	if from >= to || on == "" {
		return rows
	}
	for y := range rows {
		if a, b := p.edit.Columns(y, from, to); a < b {
			rows[y] = p.env.style.Metrics.Between(rows[y], inputIndent+a, inputIndent+b, on, off)
		}
	}
	return rows
}
