package chat

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"vitrine/runtime/find"
)

// mostHits bounds the hits that are shown of a block on the screen.
const mostHits = 500

// SetQuery has the words of a query shown in reverse wherever they stand on the screen; the zero Query ends that.
func (v *View) SetQuery(q find.Query) {
	v.query, v.rows = q, nil
}

// highlight shows the hits in the rows of the screen. A phrase may go on in the next row of its block.
func (v *View) highlight(rows []string) {
	if on, _ := v.look.th.Reverse(); v.query.Empty() || on == "" {
		return
	}
	for y := 0; y < len(rows); {
		item, _, ok := v.list.At(y)
		end := y + 1
		for ok && end < len(rows) {
			if next, _, same := v.list.At(end); !same || next != item {
				break
			}
			end++
		}
		if ok {
			v.highlightBlock(rows[y:end])
		}
		y = end
	}
}

func (v *View) highlightBlock(rows []string) {
	var text strings.Builder
	starts := make([]int, len(rows)+1)
	for i, r := range rows {
		text.WriteString(ansi.Strip(r))
		text.WriteByte('\n')
		starts[i+1] = text.Len()
	}
	spans, _ := v.query.Spans(text.String(), mostHits)
	if len(spans) == 0 {
		return
	}
	for i, r := range rows {
		var in []find.Span
		for _, s := range spans {
			if from, to := max(s.From, starts[i]), min(s.To, starts[i+1]-1); from < to {
				in = append(in, find.Span{From: from - starts[i], To: to - starts[i]})
			}
		}
		if len(in) > 0 {
			rows[i] = v.reversed(r, in)
		}
	}
}

// reversed shows stretches of a row in reverse; they are in bytes of its text without sequences.
func (v *View) reversed(row string, spans []find.Span) string {
	reverseOn, reverseOff := v.look.th.Reverse()
	var b strings.Builder
	at, on := 0, false // in the text
	var state byte
	for len(row) > 0 {
		seq, width, n, next := ansi.DecodeSequence(row, state, nil)
		state = next
		control := width == 0 && (seq[0] == 0x1b || seq[0] < 0x20 || seq[0] == 0x7f)
		if !control {
			for len(spans) > 0 && at >= spans[0].To {
				spans = spans[1:]
			}
			if inside := len(spans) > 0 && at >= spans[0].From; inside != on {
				on = inside
				if on {
					b.WriteString(reverseOn)
				} else {
					b.WriteString(reverseOff)
				}
			}
			at += n
		}
		b.WriteString(seq)
		if control && on {
			b.WriteString(reverseOn) // a new style begins with none
		}
		row = row[n:]
	}
	if on {
		b.WriteString(reverseOff)
	}
	return b.String()
}

// hitRow is the first row of a block in which a hit begins, -1 when none of its rows shows one.
func (v *View) hitRow(i int, q find.Query) int {
	if q.Empty() {
		return -1
	}
	var text strings.Builder
	var starts []int
	for _, r := range v.list.RowsOf(i) {
		starts = append(starts, text.Len())
		text.WriteString(ansi.Strip(r))
		text.WriteByte('\n')
	}
	spans, _ := q.Spans(text.String(), 1)
	if len(spans) == 0 {
		return -1
	}
	row := 0
	for y, s := range starts {
		if s <= spans[0].From {
			row = y
		}
	}
	return row
}
