package ui

import (
	"fmt"
	"strings"
	"time"

	"vitrine/llm"
	"vitrine/ui/chat"
	"vitrine/ui/line"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// addRow puts a row into the dock.
type addRow func(left []line.Span, right ...line.Span)

// banner is one of the things that may stand between the panes and the input: conditions, the question, the completion. It adds no
// row where there is nothing to tell.
type banner struct {
	name string
	rows func(p *page, notices []Notice, add addRow)
}

// banners are all of them, the most urgent last, which is the lowest: when there is no room the upper ones go.
func banners() []banner {
	return []banner{
		{"notice", (*page).noticeRows},
		{"held", func(p *page, _ []Notice, add addRow) { p.heldRow(add) }},
		{"unsaved", func(p *page, _ []Notice, add addRow) { p.unsavedRows(add) }},
		{"storing", func(p *page, _ []Notice, add addRow) { p.storingRow(add) }},
		{"question", func(p *page, _ []Notice, add addRow) { p.questionRows(add) }},
		{"completion", func(p *page, _ []Notice, add addRow) { p.completionRows(add) }},
		{"attached", func(p *page, _ []Notice, add addRow) { p.attachedRows(add) }},
		{"files", func(p *page, _ []Notice, add addRow) { p.fileRows(add) }},
	}
}

// dockRows draws the banners.
func (p *page) dockRows(w int, notices []Notice) []string {
	var rows []string
	add := func(left []line.Span, right ...line.Span) {
		rows = append(rows, p.env.style.Row(theme.OnRaised, w, left, right...))
	}
	for _, b := range banners() {
		b.rows(p, notices, add)
	}
	return rows
}

// noticeRows tell of what the program as a whole has to say.
func (p *page) noticeRows(notices []Notice, add addRow) {
	s := p.env.style
	for _, n := range notices {
		add([]line.Span{line.Say(theme.Warn, " "+s.Theme.Glyphs.Question+" "), line.Say(theme.Text, s.Tell(n.Text))})
	}
}

// unsavedRows say that what is shown may not be saved.
func (p *page) unsavedRows(add addRow) {
	s, u := p.env.style, p.unsaved
	if u == nil {
		return
	}
	when, todo := againAt(u.Todo)
	var right []line.Span
	if when != "" {
		right = append(right, line.Say(theme.Faint, "  "+s.Tell(when)+" "))
	}
	add([]line.Span{line.Say(theme.Error, " "+s.Theme.Spinner(s.Phase)+" "), line.Bold(theme.Strong, strings.ToUpper(s.Tell(u.Message))+"  "), line.Say(theme.Text, s.Tell(u.Why))}, right...)
	if todo != "" {
		add([]line.Span{line.Say(theme.Faint, "   "+s.Tell(todo))})
	}
}

// againAt takes when the next attempt comes off the front of what is told of it.
func againAt(todo string) (when, rest string) {
	head, rest, _ := strings.Cut(todo, "; ")
	if !strings.HasPrefix(head, "again in ") {
		return "", todo
	}
	return head, rest
}

// retryTexts tell of a wait before another attempt, at length and shorter. Once the wait is over it counts how long the new
// attempt has been out.
func (r *runState) retryTexts(s line.Style, now time.Time) []string {
	d, out := r.retry.data, now.Sub(r.retry.until)
	when, short := s.T("trying again"), s.T("again##tries")
	switch {
	case out < 0:
		short = seconds(s.Theme.Lang(), -out)
		when = s.T("again in %s", short)
	case r.retry.queued && out >= noticed:
		when = s.T("queued %s", passed(s.Theme.Lang(), out))
		short = when
	case r.retry.queued:
		when = s.T("queued")
		short = when
	case out >= noticed:
		when = s.T("waiting %s", passed(s.Theme.Lang(), out))
		short = when
	}
	place, tight := "", ""
	if d.Max > 0 {
		place, tight = s.T(", %d of %d", d.Attempt+1, d.Max), s.T(", %d/%d", d.Attempt+1, d.Max)
	}
	if d.Tool != "" {
		head := s.T("TOOL FAILED") + "  " + d.Tool + " " + when + place
		return []string{strings.TrimRight(head+"  "+s.Theme.Tell(d.Cause), " "), head, d.Tool + " " + short + tight, short + tight + "  " + d.Tool}
	}
	f := chat.Cause(d)
	word, what := retryWord(s, d.Status, f.Kind), f.Text
	if d.Status != 0 {
		what = strings.TrimPrefix(strings.TrimPrefix(what, fmt.Sprintf("HTTP %d", d.Status)), ": ")
	}
	switch {
	case f.Host != "" && f.Kind == llm.ErrConnect:
		what = strings.TrimSuffix(f.Host+": "+what, ": ")
	case what == "":
		what = f.Host
	}
	what = s.Theme.Tell(what)
	head := word + "  " + when + place
	texts := []string{strings.TrimRight(head+"  "+what, " ")}
	if f.All {
		texts = []string{strings.TrimRight(head+"  "+s.T("all tabs wait")+"  "+what, " "), head + "  " + s.T("all tabs wait")}
	}
	return append(texts, head, word+" "+short+tight, short+tight+"  "+word)
}

// passed is a time that has passed, in whole seconds.
func passed(l words.Lang, d time.Duration) string { return seconds(l, d.Truncate(time.Second)) }

// retryWord names what went wrong by the status of the answer, or by its kind when there was none.
func retryWord(s line.Style, status int, kind llm.ErrorKind) string {
	switch {
	case status == 429:
		return s.T("429 RATE LIMIT")
	case kind == llm.ErrRate:
		return s.T("RATE LIMIT")
	case status == 503 || status == 529:
		return s.T("%d OVERLOADED", status)
	case status >= 500:
		return s.T("%d SERVER ERROR", status)
	case kind == llm.ErrServer:
		return s.T("SERVER ERROR")
	case status != 0:
		return fmt.Sprintf("HTTP %d", status)
	case kind == llm.ErrCut:
		return s.T("CUT OFF")
	case kind == llm.ErrTimeout:
		return s.T("NO ANSWER")
	case kind == llm.ErrProtocol:
		return s.T("BAD ANSWER")
	}
	return s.T("NO CONNECTION")
}

// seconds counts down at 1 Hz: the last second is 1.
func seconds(l words.Lang, d time.Duration) string {
	n := int((d + time.Second - 1) / time.Second)
	if n >= 60 {
		return l.Duration(time.Duration(n) * time.Second)
	}
	return l.T("%d s", n)
}

func (p *page) questionRows(add func([]line.Span, ...line.Span)) {
	s := p.env.style
	mark := " "
	if p.focus == paneQuestion {
		mark = s.Theme.Glyphs.Here
	}
	switch p.question() {
	case noQuestion:
		return
	case questionFold:
		p.foldRows(add, mark)
		return
	case questionApprove, questionHeld:
		p.approveRows(add, mark)
		return
	case questionPause:
		p.pauseRows(add, mark)
		return
	}
	r := p.interrupted
	when := ""
	if !r.StartedAt.IsZero() {
		if when = s.Theme.Ago(p.env.now.Sub(r.StartedAt)); p.env.now.Sub(r.StartedAt) >= time.Minute {
			when = s.T("%s ago", when)
		}
	}
	fact := s.T("turn %d", r.Turn)
	if r.Step > 0 {
		fact = s.T("turn %d, step %d", r.Turn, r.Step)
	}
	add([]line.Span{line.Say(theme.Accent, mark), line.Say(theme.Warn, s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, s.T("INTERRUPTED")+"  "), line.Say(theme.Text, fact)}, line.Say(theme.Faint, when+" "))
	if p.question() == questionOutcome {
		p.outcomeRow(add)
		return
	}
	lead := "  " + s.T("Go on where it stopped?") + "  "
	if p.lay.w < 60 {
		lead = "  " + s.T("Go on?") + "  "
	}
	for i, k := range p.keyRows(lead) {
		if i == 0 && p.lay.w >= 72 {
			k = append(k, line.Say(theme.Faint, " "+s.T("new input gives it up too")))
		}
		add(k)
	}
}

// mostPreview bounds the rows of what a fold would remember.
const mostPreview = 4

// foldRows ask whether the context is to be folded: what goes, what is remembered instead, what it saves.
func (p *page) foldRows(add func([]line.Span, ...line.Span), mark string) {
	s, d := p.env.style, p.asking
	fact, kept := foldPreview(s, d)
	add([]line.Span{line.Say(theme.Accent, mark), line.Say(theme.Warn, s.Theme.Glyphs.Question+" "), line.Bold(theme.Strong, s.T("FOLD")+"  "),
		line.Say(theme.Text, p.columns.chat.Leaving())}, line.Say(theme.Text, fact+" "))
	for i, e := range kept {
		if i == mostPreview-1 && len(kept) > mostPreview {
			add([]line.Span{line.Say(theme.Faint, "   "+s.T("%d more", len(kept)-i))})
			break
		}
		add([]line.Span{line.Say(theme.Faint, "   "+s.Text(e))})
	}
	for i, text := range d.Pinned {
		if i == 2 {
			break
		}
		add([]line.Span{line.Say(theme.Text, "   "+s.Theme.Glyphs.Pin+" "+s.Text(text))}, line.Say(theme.Faint, s.T("pinned")+" "))
	}
	for _, k := range p.keyRows("  ") {
		add(k)
	}
}

// mostListed is how many rows a list above the input may have, so that the chosen one is on the screen.
func (p *page) mostListed() int {
	return max(min(max(mostMatches, p.lay.h/3-1), dockRoom(p.lay.h, p.edit.Height())), 1)
}

func (p *page) completionRows(add func([]line.Span, ...line.Span)) {
	s := p.env.style
	c := &p.complete
	most := p.mostListed()
	first := min(max(c.at-most+1, 0), c.at)
	for i := first; i < min(len(c.matches), first+most); i++ {
		m := c.matches[i]
		mark, role := " ", theme.Text
		if i == c.at {
			mark, role = s.Theme.Glyphs.Here, theme.Strong
		}
		name := "/" + m.slash
		if m.arg != "" {
			name += " " + s.T(m.arg)
		}
		right := ""
		if i == c.at {
			if right = s.T("Enter run   Tab fill in") + " "; len(c.matches) > most {
				right = s.T("%d of %d", i+1, len(c.matches)) + "   " + right
			}
		}
		add([]line.Span{line.Say(theme.Accent, mark), line.Weight(role, i == c.at, s.Metrics.Fit(name, 24)), line.Say(theme.Faint, "  "+s.T(m.title))}, line.Say(theme.Faint, right))
	}
}

// suggestion is something to try in an empty session.
type suggestion struct {
	text  string
	shows string
}

// suggestions are in the user's language, as what is said to a model is.
func suggestions(l words.Lang) []suggestion {
	return []suggestion{
		{l.T("what is (17+5)*3?"), l.T("a tool, step by step")},
		{l.T("remember that the deploy is on Friday"), l.T("memory")},
		{l.T("add a todo: submit the report"), l.T("sidebar")},
	}
}

// emptyRows fills the chat of an empty session: the banner, and what one can try.
func (p *page) emptyRows(w, h int) []string {
	s := p.env.style
	width := min(w, 76)
	var body []string
	row := func(left []line.Span, right ...line.Span) {
		body = append(body, s.Row(theme.OnBase, width, left, right...)+s.Blank(theme.OnBase, w-width))
	}
	for i, text := range p.env.opts.Banner {
		for _, part := range s.Metrics.Wrap(s.Tell(text), max(width-2, 1)) {
			row([]line.Span{line.Weight(bannerRole(i), i == 0, " "+part)})
		}
	}
	if len(body) > 0 {
		row(nil)
	}
	row([]line.Span{line.Bold(theme.Strong, " "+s.T("TRY"))}, line.Say(theme.Faint, s.T("Down, Enter")+" "))
	for i, t := range suggestions(p.env.opts.Lang) {
		mark, role := " ", theme.Text
		if i == p.try {
			mark, role = s.Theme.Glyphs.Here, theme.Strong
		}
		shows := t.shows + " "
		if s.Metrics.Width(mark+t.text+" "+shows) > width { // what it says is more than what it shows
			shows = ""
		}
		row([]line.Span{line.Say(theme.Accent, mark), line.Weight(role, i == p.try, t.text)}, line.Say(theme.Faint, shows))
	}
	if over := len(body) - h; over > 0 {
		body = body[over:]
	}
	rows := make([]string, 0, h)
	for len(rows)+len(body) < h {
		rows = append(rows, s.Blank(theme.OnBase, w))
	}
	rows = append(rows, body...)
	for len(rows) < h {
		rows = append(rows, s.Blank(theme.OnBase, w))
	}
	return rows
}

func bannerRole(i int) theme.Role {
	if i == 0 {
		return theme.Strong
	}
	return theme.Faint
}

// noteRows fills the chat while there is no session to show.
func noteRows(s line.Style, w, h int, text string) []string {
	rows := make([]string, 0, h)
	for _, part := range s.Metrics.Wrap(s.Tell(text), max(w-3, 1)) {
		rows = append(rows, s.Theme.Paint(theme.Faint, theme.OnBase, false, s.Metrics.Fit("  "+part, w)))
	}
	for len(rows) < h {
		rows = append(rows, s.Theme.Paint(theme.Text, theme.OnBase, false, paint.Spaces(w)))
	}
	return rows[:h]
}
