package input

import "github.com/clipperhouse/uax29/v2/graphemes"

// Here the text is pointed at: cells of the rows shown last, and bytes of the raw text.

// At is the cluster that a cell of the rows shown last belongs to, in bytes of the raw text; behind the end of a row it is empty.
func (e *Editor) At(x, y int) (from, to int) {
	spans := e.layout()
	s := spans[min(max(e.top+y, 0), len(spans)-1)]
	off, n := s.start, 0
	for g := graphemes.FromString(e.text[s.start:s.end]); g.Next(); {
		_, w := e.cell(g.Value())
		if x < n+w {
			return off, off + len(g.Value())
		}
		n += w
		off += len(g.Value())
	}
	return s.end, s.end
}

// Columns is where a row shown last shows bytes of the raw text; both are 0 where it shows none of them.
func (e *Editor) Columns(y, from, to int) (a, b int) {
	spans := e.layout()
	if y += e.top; y < 0 || y >= len(spans) {
		return 0, 0
	}
	s := spans[y]
	if from, to = max(from, s.start), min(to, s.end); from >= to {
		return 0, 0
	}
	return min(e.columns(e.text[s.start:from]), e.width), min(e.columns(e.text[s.start:to]), e.width)
}

// Slice is a part of the raw text with the pastes that are in it.
func (e *Editor) Slice(from, to int) string { return Plain(e.marked(e.text[from:to])) }
