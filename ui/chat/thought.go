package chat

import (
	"strings"
	"time"

	"vitrine/trace"
	"vitrine/ui/theme"
)

// mostThinking bounds, in bytes, what is kept of a thought: the newest.
const mostThinking = 256 << 10

// thoughtBlock is what the model thinks before it speaks: one dimmed row, which can be opened. It is not stored, so that a session
// that is opened again has none.
type thoughtBlock struct {
	common
	text  strings.Builder
	began time.Time
	took  time.Duration // of one that is over
	lost  bool          // its beginning is not kept any more
	live  bool
	open  bool
}

// mostOpened bounds the rows of an opened thought, and of a tool call's details.
const mostOpened = 60

func (b *thoughtBlock) source() string   { return b.text.String() }
func (b *thoughtBlock) Estimate(int) int { return 1 }
func (b *thoughtBlock) toggle()          { b.open = !b.open; b.touch() }
func (b *thoughtBlock) isOpen() bool     { return b.open }

// append takes what came. When it gets too long the older half goes.
func (b *thoughtBlock) append(text string) {
	b.text.WriteString(text)
	if all := b.text.String(); len(all) > mostThinking {
		b.text, b.lost = strings.Builder{}, true
		b.text.WriteString(strings.ToValidUTF8(all[len(all)-mostThinking/2:], ""))
	}
	b.touch()
}

// Render gives the row of the thought, with how long it took: the end of it while it goes on, its beginning afterwards; and when it
// is open what it says. That follows what comes.
func (b *thoughtBlock) Render(w int, selected bool) []string {
	g := b.look.th.Glyphs
	sign, _ := b.lead(selected, 0)
	text := strings.TrimSpace(b.text.String())
	if !b.live {
		glyph := g.Closed
		if b.open {
			glyph = g.Open
		}
		first, _, _ := strings.Cut(text, "\n")
		label := glyph + " " + b.look.th.T("thought") + "   "
		rows := []string{b.row(w, sign, []span{say(theme.Faint, label+b.look.line(short(first))).behind(b.look.m.Width(label))}, say(theme.Faint, " "+b.look.th.Duration(b.took)))}
		if b.open {
			if b.lost {
				text = g.Cut + " " + text
			}
			rows = append(rows, b.details(w, text)...)
		}
		return rows
	}
	took := " " + b.look.th.Duration(b.look.now.Sub(b.began))
	word := " " + b.look.th.T("thinking") + "   "
	ml, mr := margins(w)
	room := w - ml - mr - 1 - b.look.m.Width(word) - b.look.m.Width(took) - 1
	rows := []string{b.row(w, sign, []span{say(theme.Accent, b.look.th.Spinner(b.look.phase)).quiet(), say(theme.Faint, word+b.ending(text, room)).behind(b.look.m.Width(word))}, say(theme.Faint, took))}
	if b.open {
		rows = append(rows, b.newest(w, text)...)
	}
	return rows
}

// ending is as much of the end of the last line as has room.
func (b *thoughtBlock) ending(text string, room int) string {
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if len(text) > mostShort {
		text = strings.ToValidUTF8(text[len(text)-mostShort:], "")
	}
	text = b.look.line(text)
	if room <= 2 || b.look.m.Width(text) <= room {
		return text
	}
	rows := b.look.m.Wrap(text, room-2) // whole words, where there are words
	last := rows[len(rows)-1]
	for i := len(rows) - 2; i >= 0 && b.look.m.Width(rows[i])+b.look.m.Width(last)+1 <= room-2; i-- {
		last = rows[i] + " " + last
	}
	return b.look.th.Glyphs.Cut + " " + last
}

// newest are the rows of an open thought that goes on: the last ones, and how many are above them at least.
func (b *thoughtBlock) newest(w int, text string) []string {
	cut := b.lost
	if most := mostOpened * max(w, 1) * 4; len(text) > most { // more cannot be in them
		text, cut = strings.ToValidUTF8(text[len(text)-most:], ""), true
	}
	ml, mr := margins(w)
	all := b.wrapped(max(1, w-2), text)
	if len(all) > mostOpened {
		all, cut = all[len(all)-mostOpened:], true
	}
	var rows []string
	if cut {
		all[0] = wrappedRow{text: b.look.th.Glyphs.Cut + " " + b.look.m.Fit(all[0].text, max(w-ml-mr-4, 0))}
	}
	for i, t := range all {
		sign := ""
		if b.mark {
			sign, _ = b.lead(false, i+1)
		}
		rows = append(rows, b.row(w, sign, []span{t.in(say(theme.Faint, ""), 2)}))
	}
	return rows
}

// think takes a piece of a thought.
func (v *View) think(e trace.Event, d trace.DeltaData) {
	if d.Reset {
		v.dropThoughts()
	}
	if d.Text == "" {
		return
	}
	t := v.run.thought
	if t == nil {
		t = &thoughtBlock{common: v.common(Ref{Turn: e.Turn, Step: e.Step}), live: true, began: e.TS}
		v.run.thought = t
		v.run.thoughts = append(v.run.thoughts, t)
		v.add(t)
		v.opened(t)
	}
	t.append(d.Text)
}

// endThought closes the thought that goes on: something else came.
func (v *View) endThought(at time.Time) {
	if t := v.run.thought; t != nil {
		t.live, t.took = false, max(at.Sub(t.began), 0)
		v.closed(t)
		v.run.thought = nil
	}
}

// dropThoughts takes back what was thought in an attempt that failed.
func (v *View) dropThoughts() {
	for _, t := range v.run.thoughts {
		v.closed(t)
		v.remove(t)
	}
	v.run.thought, v.run.thoughts = nil, nil
}
