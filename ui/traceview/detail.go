package traceview

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// The facts below the tree take this many rows, when the pane is at least that high.
const (
	detailRows = 8
	detailFrom = 18
)

func (v *View) detailHeight() int {
	if v.h < detailFrom {
		return 0
	}
	return detailRows
}

// fact is one row of the detail.
type fact struct{ name, value string }

// detail draws what is known of the selected node in exactly h rows, the first of them blank.
func (v *View) detail(at, h int) []string {
	rows := []string{v.blank()}
	if at >= 0 {
		n := v.lines[at].node
		title, facts := v.facts(n)
		var hints []string
		if v.RunningCall() != "" {
			hints = append(hints, v.th.T("x: stop it"))
		}
		if len(n.Events) > 0 {
			hints = append(hints, v.th.T("Enter: JSON"))
		}
		rows = append(rows, v.detailTitle(title, hints))
		for _, f := range facts {
			rows = append(rows, v.detailFact(f)...)
		}
	}
	for len(rows) < h {
		rows = append(rows, v.blank())
	}
	return rows[:h]
}

func (v *View) detailTitle(title string, hints []string) string {
	room := max(0, v.w-2)
	hint := strings.Join(hints, "   ")
	for v.m.Width(title)+1+v.m.Width(hint) > room && hint != "" { // the title is worth more
		hints = hints[:len(hints)-1]
		hint = strings.Join(hints, "   ")
	}
	return v.text(v.m.Fit(" ", min(1, v.w)), theme.Text, false) +
		v.text(v.m.Fit(v.m.Safe(title), room-v.m.Width(hint)), theme.Strong, true) +
		v.text(hint, theme.Faint, false) + v.text(paint.Spaces(v.w-1-room), theme.Text, false)
}

// factName is the room of a fact's name.
const factName = 14

// factRoom is the room of a fact's value in a row.
func (v *View) factRoom() int { return v.w - 1 - factName - 1 }

// detailFact draws a fact, its value on two rows at most.
func (v *View) detailFact(f fact) []string {
	room := v.factRoom()
	value := v.m.Safe(paint.CleanLine(f.value))
	if room < 8 {
		return []string{v.plain(f.name+" "+value, theme.Text)}
	}
	lines := v.m.Wrap(value, room)
	if len(lines) > 2 {
		lines = []string{lines[0], v.m.Fit(strings.Join(lines[1:], " "), room)}
	}
	var rows []string
	for i, l := range lines {
		label := f.name
		if i > 0 {
			label = ""
		}
		rows = append(rows, v.text(v.m.Fit(" "+label, 1+factName), theme.Faint, false)+v.text(v.m.Fit(l, room)+" ", theme.Text, false))
	}
	return rows
}

func (v *View) facts(n *trace.Node) (string, []fact) {
	switch n.Kind {
	case trace.KindModel:
		return v.th.T("MODEL CALL  step %d", n.Step), v.modelFacts(n)
	case trace.KindTool:
		return v.th.T("TOOL CALL  %s", paint.CleanLine(n.Title)), v.toolFacts(n)
	case trace.KindRun:
		return strings.ToUpper(v.th.Tell(n.Title)), v.runFacts(n)
	case trace.KindFold:
		title := v.th.T("FOLD")
		if takenBack(n) {
			title = v.th.T("FOLD UNDONE")
		}
		return title, v.foldFacts(n)
	}
	facts := []fact{}
	v.put(&facts, "state", v.th.Tell(string(n.Status)))
	v.put(&facts, "what", v.th.Tell(n.Detail))
	if n.Kind == trace.KindError {
		v.put(&facts, "why", v.th.Tell(n.Outcome))
	} else {
		v.put(&facts, "outcome", v.th.Tell(n.Outcome))
	}
	return strings.ToUpper(v.th.Tell(paint.CleanLine(n.Title))), facts
}

func (v *View) put(facts *[]fact, name words.Text, value string) {
	if value != "" {
		*facts = append(*facts, fact{v.th.T(name), value})
	}
}

// modelFacts tells of a model call, what matters most first: there may be room for six rows.
func (v *View) modelFacts(n *trace.Node) []fact {
	var facts []fact
	if n.Status == trace.Failed {
		v.put(&facts, "error", v.th.Tell(n.Outcome))
	}
	if t := n.Tokens; t.Prompt > 0 {
		cached := ""
		if t.Cached > 0 {
			cached = theme.Count(t.Cached)
		}
		v.addPair(&facts, "sent", v.th.T("%s tokens", approx(t)+theme.Count(t.Prompt)), "cached", cached, "%s tokens", "%s cached")
	}
	if !n.FirstToken.IsZero() {
		v.put(&facts, "first token", v.th.Duration(n.FirstToken.Sub(n.Start)))
	}
	if t := n.Tokens; t.Completion > 0 {
		end := n.End
		if end.IsZero() {
			end = v.clock(n)
		}
		speed := ""
		if d := end.Sub(n.FirstToken); !n.FirstToken.IsZero() && d > 50*time.Millisecond {
			speed = fmt.Sprintf("%.0f", float64(t.Completion)/d.Seconds())
		}
		v.addPair(&facts, "received", v.th.T("%s tokens", approx(t)+theme.Count(t.Completion)), "speed", speed, "%s a second", "%s a second")
	}
	if n.Tokens.Reasoning > 0 {
		v.put(&facts, "reasoning", v.th.T("%s tokens", theme.Count(n.Tokens.Reasoning)))
	}
	if n.Tokens.Cost != nil {
		v.put(&facts, "cost", theme.Money(n.Tokens.Cost))
	}
	if n.Attempts > 1 {
		v.put(&facts, "attempt", fmt.Sprint(n.Attempts))
	}
	switch {
	case n.Status == trace.Waiting:
		v.put(&facts, "state", v.th.Tell(n.Outcome))
	case n.Open():
		v.put(&facts, "last try", v.th.Tell(n.Outcome))
	case n.Status != trace.Failed:
		v.put(&facts, "ended", v.th.Tell(n.Outcome))
	}
	v.put(&facts, "prefix", v.th.Tell(n.Detail))
	v.put(&facts, "model", map[bool]string{true: n.Title}[n.Title != "model"])
	return facts
}

// addPair adds a fact with a second one behind it, or in a row of its own where both have no room in one.
func (v *View) addPair(facts *[]fact, name words.Text, value string, second words.Text, count string, alone, beside words.Text) {
	if count == "" {
		v.put(facts, name, value)
		return
	}
	if both := value + "   " + v.th.T(beside, count); v.m.Width(both) <= v.factRoom() {
		v.put(facts, name, both)
		return
	}
	v.put(facts, name, value)
	v.put(facts, second, v.th.T(alone, count))
}

func approx(t trace.Tokens) string {
	if t.Estimated {
		return "~"
	}
	return ""
}

func (v *View) toolFacts(n *trace.Node) []fact {
	var facts []fact
	v.put(&facts, "arguments", paint.Reveal(n.Detail)) // what was, or would be, run
	v.put(&facts, "result", v.th.Tell(n.Outcome))
	v.put(&facts, "your word", v.th.Tell(n.Word()))
	if n.Open() {
		v.put(&facts, "progress", n.Progress)
	}
	if n.Attempts > 1 {
		v.put(&facts, "attempt", fmt.Sprint(n.Attempts))
	}
	if n.Status != trace.Waiting { // it has not begun, and its result says what it waits for
		v.put(&facts, "took", v.th.Duration(n.Duration(v.clock(n))))
	}
	if n.Status != trace.OK && n.Status != trace.Waiting {
		v.put(&facts, "state", v.th.Tell(string(n.Status)))
	}
	return facts
}

// foldFacts are what the phases of a fold told, the most important first.
func (v *View) foldFacts(n *trace.Node) []fact {
	var all trace.CompactData
	for _, e := range n.Events {
		d, ok := e.Data.(trace.CompactData)
		if !ok {
			continue
		}
		all.Phase = d.Phase
		if d.LeavingCount > 0 {
			all.LeavingCount, all.FirstN, all.LastN = d.LeavingCount, d.FirstN, d.LastN
		}
		if len(d.Changes) > 0 {
			all.Changes = d.Changes
		}
		if len(d.Pinned) > 0 {
			all.Pinned = d.Pinned
		}
		if d.Detail != "" {
			all.Detail = d.Detail
		}
		all.TokensBefore, all.TokensAfter = cmp.Or(d.TokensBefore, all.TokensBefore), cmp.Or(d.TokensAfter, all.TokensAfter)
		all.Tokens, all.DurationMS, all.Limit = cmp.Or(d.Tokens, all.Tokens), cmp.Or(d.DurationMS, all.DurationMS), cmp.Or(d.Limit, all.Limit)
	}
	var facts []fact
	v.put(&facts, "why", v.th.Tell(n.Detail))
	prompt := ""
	if all.TokensBefore > 0 {
		prompt = theme.Count(all.TokensBefore)
		if all.TokensAfter > 0 {
			prompt = v.th.T("%s to %s", prompt, theme.Count(all.TokensAfter))
		}
		if prompt = v.th.T("%s tokens", prompt); all.Limit > 0 {
			prompt = v.th.T("%s of %s", prompt, theme.Tokens(all.Limit, false))
		}
	}
	v.put(&facts, "prompt", prompt)
	if all.LeavingCount > 0 {
		v.put(&facts, "left", v.th.T("%d messages, %d to %d", all.LeavingCount, all.FirstN, all.LastN))
	}
	v.put(&facts, "memory", v.merged(all.Changes))
	v.put(&facts, "pinned", strings.Join(all.Pinned, "; "))
	if takenBack(n) {
		return facts // nothing was summarised
	}
	took := v.th.Duration(n.Duration(v.clock(n)))
	if all.DurationMS > 0 {
		took = v.th.Duration(time.Duration(all.DurationMS) * time.Millisecond)
	}
	if all.Tokens > 0 {
		took = v.th.T("%s, %s tokens", took, theme.Count(all.Tokens))
	}
	v.put(&facts, "summary", took)
	v.put(&facts, map[bool]words.Text{true: "not folded", false: "phase"}[all.Detail != ""], v.th.Tell(cmp.Or(all.Detail, all.Phase)))
	return facts
}

// merged sums up what a merge did.
func (v *View) merged(changes []trace.CompactChange) string {
	added, kept, dropped := 0, 0, 0
	for _, c := range changes {
		added, kept, dropped = added+len(c.Added), kept+len(c.Kept), dropped+len(c.Dropped)
	}
	if added+kept+dropped == 0 {
		return ""
	}
	return v.th.T("%d added, %d kept, %d dropped", added, kept, dropped)
}

func (v *View) runFacts(n *trace.Node) []fact {
	var facts []fact
	v.put(&facts, "input", n.Detail)
	steps := 0
	for _, c := range n.Children {
		if c.Kind == trace.KindStep {
			steps++
		}
	}
	v.put(&facts, "steps", fmt.Sprint(steps))
	if t := n.Tokens.Total(); t > 0 {
		v.put(&facts, "tokens", approx(n.Tokens)+theme.Count(t))
	}
	if n.Tokens.Cost != nil {
		v.put(&facts, "cost", theme.Money(n.Tokens.Cost))
	}
	v.put(&facts, "took", v.th.Duration(n.Duration(v.clock(n))))
	v.put(&facts, "ended", v.th.Tell(n.Outcome))
	return facts
}
