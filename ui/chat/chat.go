// Package chat shows what was said in a session: the user's inputs, answers as Markdown, tool calls, and how turns ended.
//
// A View is folded from a snapshot and then from events. Each thing that is shown is a block of package list, which renders
// those on the screen once for a state; while an answer streams only its open part is made again. Everything that came from
// outside is cleaned where it enters. A View has no locks, does no input or output and knows the time from Tick only; the
// page that owns it turns keys into its methods.
package chat

import (
	"time"

	"vitrine/runtime/find"
	"vitrine/ui/list"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
)

const (
	// compactHeight is the height up to which blocks stand without blank rows between them.
	compactHeight = 8
	// labelWidth is the width from which turns are labelled at the right, summaryWidth that of a tool's result.
	labelWidth   = 48
	summaryWidth = 48
)

// look is what blocks need to render themselves. Blocks share one, owned by the View.
type look struct {
	th    *theme.Theme
	m     paint.Metrics
	phase int
	now   time.Time
}

// View is the chat of one session. Make it with New.
type View struct {
	look *look
	list *list.List
	w, h int

	turn      int // of the newest user message
	firstTurn int // of the oldest that is loaded
	oldest    int64
	run       run
	calls     map[string]*toolBlock // by the id of their row
	orphans   map[string]*toolBlock // results whose call is on an older page, by callKey
	tail      int                   // blocks that stay at the end: a retry, queued inputs
	retry     *retryBlock
	queued    []*queuedBlock
	folds     folds
	dim       *look // of what left the window
	focused   bool
	mark      Ref
	query     find.Query // shown where it stands
	anchor    int        // the other end of a selection of several blocks, -1: there is none
	stretch   bool       // a part of a session that is not its end
	last, end int64      // the last message of a stretch, and of its session

	telling bool // blocks are asked for their lines, which go to told
	told    []paint.Line
	sel     selection

	rows     []string
	base     []string // the list's rows that rows were made of
	baseNote string
}

// New makes an empty chat.
func New(th *theme.Theme, m paint.Metrics) *View {
	v := &View{look: &look{th: th, m: m}, dim: &look{th: dimmed(th), m: m}}
	v.list = list.New(v.gap)
	v.clear()
	return v
}

// dimmed is a theme for what left the window.
func dimmed(th *theme.Theme) *theme.Theme {
	o := th.Options()
	o.Dim = true
	return theme.New(o)
}

func (v *View) clear() {
	v.list.Clear()
	v.turn, v.firstTurn, v.oldest, v.tail = 0, 0, 0, 0
	v.sel = selection{}
	v.run, v.retry, v.queued, v.mark = run{}, nil, nil, Ref{}
	v.anchor, v.stretch, v.last, v.end = -1, false, 0, 0
	v.folds = newFolds()
	v.calls, v.orphans = map[string]*toolBlock{}, map[string]*toolBlock{}
}

// SetSize sets the cells that Rows fills; negative is 0.
func (v *View) SetSize(w, h int) {
	w, h = max(w, 0), max(h, 0)
	if w == v.w && h == v.h {
		return
	}
	if (h <= compactHeight) != (v.h <= compactHeight) {
		v.list.Invalidate()
	}
	if h != v.h {
		for _, b := range v.folds.live {
			b.touch()
		}
	}
	if w != v.w {
		v.sel.texts = nil
	}
	v.w, v.h, v.rows = w, h, nil
	v.list.SetSize(w, h)
}

// SetTheme changes the look.
func (v *View) SetTheme(th *theme.Theme) {
	if th != v.look.th {
		v.look.th, v.dim.th, v.rows, v.sel.texts = th, dimmed(th), nil, nil
		v.list.Invalidate()
	}
}

// SetMetrics changes how the terminal counts.
func (v *View) SetMetrics(m paint.Metrics) {
	if m != v.look.m {
		v.look.m, v.dim.m, v.rows, v.sel.texts = m, m, nil, nil
		v.list.Invalidate()
	}
}

// SetFocus tells whether keys go to the chat: the selection shows only then.
func (v *View) SetFocus(on bool) {
	if on == v.focused {
		return
	}
	v.focused = on
	if i := v.list.Selected(); i >= 0 {
		v.block(i).touch()
	}
}

// Tick moves the spinners to a phase and running clocks to now. Nothing is rendered again when nothing moves.
func (v *View) Tick(phase int, now time.Time) {
	if phase == v.look.phase && now.Equal(v.look.now) {
		return
	}
	still := v.look.th.Reduced() && now.Sub(v.look.now) < time.Second && now.Sub(v.look.now) >= 0
	if still {
		return
	}
	v.look.phase, v.look.now = phase, now
	v.dim.phase, v.dim.now = phase, now
	for _, b := range v.run.open {
		b.touch()
	}
	if v.retry != nil {
		v.retry.touch()
	}
	v.tickFolds()
}

// Moving says that something turns or counts, so that Tick should be called at 10 Hz.
func (v *View) Moving() bool { return len(v.run.open) > 0 || v.retry != nil || len(v.folds.live) > 0 }

// Empty says that nothing was said yet.
func (v *View) Empty() bool { return v.list.Len() == 0 }

// Rows gives exactly the height's number of rows, each exactly the width. The slice is the same as before when nothing
// changed; it must not be changed.
func (v *View) Rows() []string {
	base := v.list.View()
	note := v.indicator()
	if v.rows != nil && note == v.baseNote && same(base, v.base) {
		return v.rows
	}
	v.base, v.baseNote = base, note
	rows := make([]string, v.h)
	blank := v.look.paint(theme.Text, false, paint.Spaces(v.w))
	for y := range rows {
		switch {
		case y < len(base) && base[y] != "":
			rows[y] = base[y]
		default:
			rows[y] = blank
		}
	}
	v.highlight(rows)
	v.showSelection(rows)
	if n := v.look.m.Width(note); note != "" && v.h > 0 && n < v.w {
		row := v.look.m.Cut(rows[v.h-1], v.w-n, "")
		fill := v.look.paint(theme.Text, false, paint.Spaces(v.w-n-v.look.m.Width(row)))
		rows[v.h-1] = row + fill + v.look.th.Paint(theme.Accent, theme.OnRaised, false, note)
	}
	v.rows = rows
	return rows
}

func same(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// indicator says what is below the screen.
func (v *View) indicator() string {
	if v.list.Following() && !v.stretch {
		return ""
	}
	sign := " " + v.look.th.Glyphs.Open + " "
	if n := v.list.New(); n > 0 && !v.stretch {
		return sign + v.look.th.N(n, "%d new", "%d new##messages", n) + " "
	}
	if v.stretch {
		return sign + v.look.th.T("G: the newest") + " "
	}
	n := v.list.PagesUp()
	return sign + v.look.th.N(n, "%d page below", "%d pages below", n) + " "
}

// ScrollRows, ScrollPages and ScrollHalf move the text, down when positive; at the end new output is followed.
func (v *View) ScrollRows(n int) { v.list.ScrollRows(n) }

// ScrollPages moves by screens.
func (v *View) ScrollPages(n int) { v.list.ScrollPages(n) }

// ScrollHalf moves by half screens.
func (v *View) ScrollHalf(n int) { v.list.ScrollHalf(n) }

// Home goes to the oldest row that is loaded.
func (v *View) Home() { v.list.Home() }

// End goes to the newest row and follows.
func (v *View) End() { v.list.End() }

// Following says that new output is shown as it comes.
func (v *View) Following() bool { return v.list.Following() }

// New counts the blocks that came since the end was last seen.
func (v *View) New() int { return v.list.New() }

// WantsOlder says that the oldest loaded row is on the screen and older messages exist: those with n below Oldest.
func (v *View) WantsOlder() bool { return v.oldest > 1 && v.list.AtTop() && v.list.Len() > 0 }

// Oldest is the n of the oldest message that is loaded, 0 when none is.
func (v *View) Oldest() int64 { return v.oldest }

// paint styles text on the chat's ground.
func (l *look) paint(role theme.Role, bold bool, s string) string {
	return l.th.Paint(role, theme.OnBase, bold, s)
}

// line makes text from outside fit for one row.
func (l *look) line(s string) string { return l.m.Safe(paint.CleanLine(s)) }

// gap is the number of blank rows between two blocks: none between like ones, and between what belongs together.
func (v *View) gap(above, below list.Item) int {
	if v.h <= compactHeight {
		return 0
	}
	return v.gapOf(above, below)
}

// gapOf is gap where there is room.
func (v *View) gapOf(above, below list.Item) int {
	switch b := below.(type) {
	case *footBlock:
		return 0
	case *toolBlock:
		switch above.(type) {
		case *toolBlock, *textBlock, *thoughtBlock:
			return 0
		}
	case *textBlock:
		if _, ok := above.(*thoughtBlock); ok {
			return 0
		}
	case *queuedBlock:
		if _, ok := above.(*queuedBlock); ok {
			return 0
		}
	case *noteBlock:
		if a, ok := above.(*noteBlock); ok && a.kind == b.kind {
			return 0
		}
	}
	return 1
}

func (v *View) block(i int) block { return v.list.Item(i).(block) }

// add puts a block before those that stay at the end.
func (v *View) add(b block) { v.list.Insert(v.list.Len()-v.tail, b) }

// remove takes a block away.
func (v *View) remove(b block) {
	for i := v.list.Len() - 1; i >= 0; i-- {
		if v.block(i) == b {
			v.list.Remove(i)
			return
		}
	}
}
