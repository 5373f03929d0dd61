package chat

import (
	"strings"
	"time"

	"vitrine/trace"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

const (
	// sinkTime is how long each row takes to sink.
	sinkTime = 60 * time.Millisecond
	// dwell is how long a fold that was committed stays to be read before it sinks.
	dwell = 3 * time.Second
	// roomyHeight is the height from which all parts of a fold stand open together.
	roomyHeight = 28
	// barCells is the length of both meters.
	barCells = 20
	// mostStream bounds what is kept of a summary that streams.
	mostStream = 64 << 10
)

// stage is how far a fold has come.
type stage int

const (
	stageLeaving stage = iota
	stageSummary
	stageMerge
	stageDone
)

// liveBlock is a fold while it runs: what leaves and why, the summary as it streams, the merge, the meter before and after.
type liveBlock struct {
	common
	*account
	runID   string
	meter   trace.Meter // before the fold
	began   time.Time
	doneAt  time.Time // of the commit
	stage   stage
	valid   bool // the summary was checked
	asking  bool
	again   bool // the next text is of another reply
	asked   int  // replies so far
	text    strings.Builder
	targets []block // that dim while the rows sink
}

func (b *liveBlock) source() string   { return b.whole(b.look.th.Lang(), b.view.turnAt) }
func (b *liveBlock) Estimate(int) int { return 8 }

// done says that the fold is stored; it is only there to be read.
func (b *liveBlock) done() bool { return !b.doneAt.IsZero() }

// stream takes a piece of the summary.
func (b *liveBlock) stream(d trace.DeltaData) {
	if b.again || d.Reset {
		b.text.Reset()
		b.again = false
	}
	if b.text.Len() < mostStream {
		b.text.WriteString(d.Text)
	}
	b.stage = max(b.stage, stageSummary)
}

// sunk is how many of n rows have sunk at a time.
func (b *liveBlock) sunk(n int, now time.Time) int {
	if b.look.th.Reduced() || b.done() {
		return n
	}
	return min(max(int(now.Sub(b.began)/sinkTime), 0), n)
}

// gone is how many rows have sunk since the fold was read.
func (b *liveBlock) gone(now time.Time) int {
	if !b.done() || now.Sub(b.doneAt) < dwell {
		return 0
	}
	if b.look.th.Reduced() {
		return 1000
	}
	return 1 + int((now.Sub(b.doneAt)-dwell)/sinkTime)
}

// sliding says that rows sink at a time.
func (b *liveBlock) sliding(now time.Time) bool {
	if b.look.th.Reduced() {
		return false
	}
	return b.gone(now) > 0 || !b.done() && b.sunk(mostLeaving, now) < mostLeaving
}

// over says that nothing of the block is left.
func (b *liveBlock) over(now time.Time) bool { return b.gone(now) > mostLive }

// mostLeaving bounds the rows of what leaves, mostLive all rows.
const (
	mostLeaving = 8
	mostLive    = 40
)

func (b *liveBlock) Render(w int, selected bool) []string {
	roomy := b.view.h >= roomyHeight
	var rows []string
	rows = append(rows, b.leavingRows(w, selected, roomy || b.stage == stageLeaving || b.stage == stageSummary && b.text.Len() == 0)...)
	if b.stage >= stageSummary && b.last > 0 {
		rows = append(rows, b.summaryRows(w, roomy || b.stage == stageSummary)...)
	}
	if b.stage >= stageMerge {
		rows = append(rows, b.mergeRows(w)...)
	}
	return rows[:max(0, min(len(rows), mostLive)-b.gone(b.look.now))]
}

// head is the first row of a part.
func (b *liveBlock) head(w int, sign string, busy, question bool, name, fact string, n int) string {
	glyph := say(theme.Text, b.look.th.Glyphs.Done)
	switch {
	case question:
		glyph = say(theme.Warn, b.look.th.Glyphs.Question)
	case busy:
		glyph = say(theme.Accent, b.look.th.Spinner(b.look.phase))
	}
	return b.row(w, sign, []span{glyph.quiet(), {role: theme.Strong, bold: true, text: " " + name}, say(theme.Text, "  "+fact)}, say(theme.Faint, " "+b.look.th.T("%d of 3", n)))
}

// leavingRow is a row of what leaves: a message, or a turn of many.
type leavingRow struct {
	turn   int
	title  string
	tokens int
	user   bool
	more   bool // it stands for all that have no row
}

// leavingList is what leaves in at most most rows: message by message, else turn by turn.
func (b *liveBlock) leavingList(most int) []leavingRow {
	var list []leavingRow
	for _, m := range b.leaving {
		title := m.Title
		if m.Kind == "tool" {
			title = b.look.th.T("%s, its result", title)
		}
		list = append(list, leavingRow{turn: m.Turn, title: title, tokens: m.Tokens, user: m.Kind == "user"})
	}
	if len(list) > most {
		list = byTurn(list)
	}
	rest := b.count - len(b.leaving)
	if len(list) <= most && rest <= 0 {
		return list
	}
	shown := min(len(list), most-1)
	more := leavingRow{more: true}
	for _, r := range list[shown:] {
		more.tokens += r.tokens
	}
	l := b.look.th.Lang()
	turns := len(list) - shown
	more.title = l.N(turns, "%d more turn", "%d more turns", turns)
	if rest > 0 {
		messages := l.N(rest, "%s more message", "%s more messages", theme.Count(rest))
		if turns > 0 {
			messages = more.title + l.T(", ##between facts") + messages
		}
		more.title = messages
	}
	return append(list[:shown:shown], more)
}

// byTurn joins the messages of each turn under its question.
func byTurn(list []leavingRow) []leavingRow {
	var out []leavingRow
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].turn == r.turn {
			out[n-1].tokens += r.tokens
			continue
		}
		out = append(out, r)
	}
	return out
}

// leavingRows tells why the fold runs and what leaves; rows that have left lie flat.
func (b *liveBlock) leavingRows(w int, selected, open bool) []string {
	list := b.leavingList(min(max(b.view.h/3, 3), mostLeaving))
	sunk := b.sunk(len(list), b.look.now)
	sign, _ := b.lead(selected, 0)
	fact := theme.Tokens(b.before, false)
	if b.limit > 0 {
		fact = b.look.th.T("%s of %s", fact, theme.Tokens(b.limit, false))
	}
	if why := b.why(b.look.th.Lang()); why != "" {
		fact = b.look.th.T("%s: %s", fact, why)
	}
	busy := b.stage == stageLeaving
	name := b.look.th.T("FOLDING")
	if b.done() {
		name = b.look.th.T("FOLDED")
	}
	rows := []string{b.head(w, sign, busy, false, name, b.look.line(fact), 1)}
	if !open {
		return rows
	}
	g := b.look.th.Glyphs
	turnW := 0
	for _, r := range list {
		turnW = max(turnW, b.look.m.Width(b.look.th.T("turn %d", r.turn)))
	}
	out := 0
	for i, r := range list {
		out += r.tokens
		role, glyph := theme.Text, say(theme.Text, "  "+g.MeterWin)
		if !r.user {
			role = theme.Faint
		}
		if i < sunk {
			role, glyph = theme.Faint, say(theme.Rule, "  "+g.MeterFree)
		}
		label := " " + b.look.m.Pad(b.look.th.T("turn %d", r.turn), turnW) + "  "
		if r.more {
			label = " "
		}
		var right []span
		if r.tokens > 0 {
			right = []span{say(role, " "+theme.Tokens(r.tokens, false))}
		}
		rows = append(rows, b.row(w, "", []span{glyph, say(theme.Faint, label), say(role, b.look.line(r.title))}, right...))
	}
	if n := len(b.shortened); n > 0 {
		rows = append(rows, b.row(w, "", []span{say(theme.Faint, "  "+g.MeterFree+" "+b.look.th.N(n, "%d long result shortened", "%d long results shortened", n))}))
	}
	stays := ""
	if b.before > out && b.count == len(b.leaving) {
		stays = " " + theme.Tokens(b.before-out, false)
	}
	return append(rows, b.row(w, "", []span{say(theme.Faint, "    "+b.staying())}, say(theme.Faint, stays)))
}

// staying names what does not leave.
func (b *liveBlock) staying() string {
	from := b.view.turn
	if n := len(b.leaving); n > 0 && b.count == n {
		from = min(b.leaving[n-1].Turn+1, b.view.turn)
	}
	if b.last == 0 {
		return b.look.th.T("all messages, system and memory stay")
	}
	return b.look.th.T("%s, system and memory stay", turnsWord(b.look.th.Lang(), from, max(b.view.turn, from)))
}

// summaryRows shows the summary as it streams.
func (b *liveBlock) summaryRows(w int, open bool) []string {
	name, fact := b.look.th.T("SUMMARISING"), b.look.th.N(b.count, "%s message", "%s messages", theme.Count(b.count))
	if took := b.look.now.Sub(b.began); b.stage == stageSummary && took > 0 {
		fact += "   " + b.look.th.Duration(took)
	}
	if b.stage > stageSummary {
		name = b.look.th.T("SUMMARISED")
		if w < 60 && b.tokens > 0 {
			fact = ""
		}
		if b.took > 0 && b.done() {
			fact += "   " + b.look.th.Duration(b.took)
		}
		if b.tokens > 0 {
			fact += "   " + b.look.th.T("%s tokens", theme.Tokens(b.tokens, false))
		}
	}
	if b.asked > 1 {
		fact += "   " + b.look.th.T("asked again")
	}
	rows := []string{b.head(w, "", b.stage == stageSummary, false, name, strings.TrimLeft(fact, " "), 2)}
	if !open {
		return rows
	}
	body := b.streamRows(w)
	if most := max(b.view.h/3, 3); len(body) > most {
		body = body[len(body)-most:]
	}
	return append(rows, body...)
}

// streamRows are the fields of the summary, or its text while it is none.
func (b *liveBlock) streamRows(w int) []string {
	const name = 12
	fields, open, ok := partial(b.text.String())
	if !ok {
		return b.details(w, lastLine(b.text.String()))
	}
	room := w - 3 - 2 - name
	if b.stage > stageSummary {
		open = false
	}
	var rows []string
	var rest []string
	for _, f := range fieldNames() {
		list := entriesOf(fields, f)
		if len(list) == 0 {
			rest = append(rest, b.look.th.Tell(f))
			continue
		}
		here := len(fields) > 0 && fields[len(fields)-1].name == f
		for i, e := range list {
			label := ""
			if i == 0 {
				label = b.look.th.Tell(f)
			}
			if open && here && i == len(list)-1 {
				e += "_"
			}
			for j, part := range b.look.m.Wrap(b.look.m.Safe(e), max(room, 8)) {
				if j > 0 {
					label = ""
				}
				rows = append(rows, b.row(w, "", []span{say(theme.Faint, "  "+b.look.m.Pad(label, name)), say(theme.Text, part)}))
			}
		}
	}
	if len(rest) > 0 && b.stage == stageSummary {
		rows = append(rows, b.row(w, "", []span{say(theme.Faint, "  "+strings.Join(rest, b.look.th.T(", ##between facts")))}))
	}
	return rows
}

// mergeRows tells what the merge did and what the fold is worth.
func (b *liveBlock) mergeRows(w int) []string {
	name, fact := b.look.th.T("MERGED"), b.look.th.T("valid")
	if b.last == 0 {
		fact = b.look.th.T("results shortened")
	}
	switch {
	case b.asking:
		name, fact = b.look.th.T("READY"), b.look.th.T("waits for your word")
	case b.done():
		name = b.look.th.T("COMMITTED")
		if b.after < b.before {
			fact += b.look.th.T(", %s tokens less", theme.Tokens(b.before-b.after, false))
		}
	case b.stage >= stageDone:
		name = b.look.th.T("COMMITTING")
	case b.after == 0:
		name = b.look.th.T("CHECKED")
	}
	rows := []string{b.head(w, "", !b.done(), b.asking, name, fact, 3)}
	for _, text := range b.flow(b.merge(b.look.th.Lang()), w-3-2) {
		rows = append(rows, b.row(w, "", []span{say(theme.Text, "  "+text)}))
	}
	for i, p := range b.pinned {
		if i == 3 {
			break
		}
		rows = append(rows, b.row(w, "", []span{say(theme.Text, "  "+b.look.th.Glyphs.Pin+" "+b.look.line(p))}))
	}
	if b.after == 0 {
		return rows
	}
	return append(rows, b.bar(w, b.look.th.T("before"), b.before, false), b.bar(w, b.look.th.T("now##the context"), b.after, true))
}

// flow lays pieces into rows of a width.
func (b *liveBlock) flow(parts []string, w int) []string { return flow(b.look.m, parts, w) }

func flow(m paint.Metrics, parts []string, w int) []string {
	var rows []string
	for _, p := range parts {
		p = m.Safe(p)
		if n := len(rows); n > 0 && m.Width(rows[n-1])+3+m.Width(p) <= w {
			rows[n-1] += "   " + p
			continue
		}
		rows = append(rows, p)
	}
	return rows
}

// bar is a meter of the whole prompt.
func (b *liveBlock) bar(w int, name string, used int, now bool) string {
	g := b.look.th.Glyphs
	system := min(b.meter.System, used)
	memory := min(b.meter.Memory, max(used-system, 0))
	if now && b.count == len(b.leaving) {
		left := 0
		for _, m := range b.leaving {
			left += m.Tokens
		}
		if len(b.shortened) == 0 {
			memory = min(max(b.after-b.before+left+b.meter.Memory, 0), max(used-system, 0))
		}
	}
	cells := min(barCells, max(w-26, 5))
	limit := max(b.limit, b.meter.Limit)
	part := line.Divide(cells, max(limit, used), system, memory, used-system-memory)
	spans := []span{say(theme.Faint, "  "+b.look.m.Pad(name, 6)+"  ")}
	role, over := theme.Text, " "
	if limit > 0 && used > limit {
		role, over = theme.Error, "!"
	}
	free := cells
	for i, glyph := range []string{g.MeterFixed, g.MeterMem, g.MeterWin} {
		spans = append(spans, say(role, strings.Repeat(glyph, part[i])))
		free -= part[i]
	}
	spans = append(spans, say(theme.Rule, strings.Repeat(g.MeterFree, max(free, 0))), say(role, over))
	return b.row(w, "", spans, say(theme.Text, theme.Tokens(used, false)))
}
