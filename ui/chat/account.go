package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
	"vitrine/ui/words"
)

// How a fold ended.
const (
	endCommitted = "committed"
	endRefused   = "refused"
	endFailed    = "failed"
	endStopped   = "stopped"
)

// account is all that is known of one fold.
type account struct {
	id, reason        string
	first, last, keep int64
	leaving           []trace.CompactMessage
	shortened         []trace.CompactMessage
	count             int // of the messages that left
	before, after     int
	limit             int
	changes           []trace.CompactChange
	pinned, unpinned  []string
	was, is           []entries
	took              time.Duration
	tokens            int
	detail            string
	end               string
	storedAt          time.Time
}

// take adds what a phase tells.
func (a *account) take(d trace.CompactData) {
	a.id = d.ID
	if d.Reason != "" {
		a.reason = d.Reason
	}
	if d.LastN > 0 {
		a.first, a.last = d.FirstN, d.LastN
		if a.count == 0 {
			a.count = int(d.LastN - d.FirstN + 1)
		}
	}
	if len(d.Leaving) > 0 || len(d.Shortened) > 0 {
		a.leaving, a.shortened = cleanMessages(d.Leaving), cleanMessages(d.Shortened)
		a.count = max(d.LeavingCount, len(d.Leaving))
	}
	setInt(&a.before, d.TokensBefore)
	setInt(&a.after, d.TokensAfter)
	setInt(&a.limit, d.Limit)
	setInt(&a.tokens, d.Tokens)
	if d.DurationMS > 0 {
		a.took = time.Duration(d.DurationMS) * time.Millisecond
	}
	if len(d.Changes) > 0 {
		a.changes = d.Changes
	}
	if len(d.Pinned) > 0 {
		a.pinned = cleanLines(d.Pinned)
	}
	if len(d.Unpinned) > 0 {
		a.unpinned = cleanLines(d.Unpinned)
	}
	if d.Phase == "merged" || d.Phase == "asked" || d.Phase == endCommitted {
		if s := readSummary(d.Before); s != nil {
			a.was = s
		}
		if s := readSummary(d.After); s != nil {
			a.is = s
		}
	}
	if d.Detail != "" {
		a.detail = paint.CleanLine(d.Detail)
	}
}

func setInt(to *int, n int) {
	if n != 0 {
		*to = n
	}
}

func cleanMessages(in []trace.CompactMessage) []trace.CompactMessage {
	out := slices.Clone(in)
	for i := range out {
		out[i].Title, out[i].Kind = paint.CleanLine(out[i].Title), paint.CleanLine(out[i].Kind)
	}
	return out
}

func cleanLines(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		out = append(out, paint.CleanLine(s))
	}
	return out
}

// stored adds what the store has of the fold.
func (a *account) stored(f runtime.FoldRow) {
	a.id, a.reason, a.end, a.storedAt = f.ID, f.Reason, endCommitted, f.CreatedAt
	a.first, a.last, a.before, a.after = f.FirstN, f.LastN, f.TokensBefore, f.TokensAfter
	if f.Keep > 0 && f.LastN > 0 && f.Keep < f.From {
		a.keep = f.Keep
	}
	if a.count == 0 && f.LastN > 0 {
		a.count = int(f.LastN - f.FirstN + 1)
		if f.Keep >= f.FirstN && f.Keep <= f.LastN {
			a.count--
		}
	}
	if a.shortened == nil {
		for _, s := range f.Shorten {
			a.shortened = append(a.shortened, trace.CompactMessage{N: s.N, Kind: "tool", Title: toolResult, Tokens: s.Tokens})
		}
	}
	a.was, a.is = readSummary(json.RawMessage(f.SummaryBefore)), readSummary(json.RawMessage(f.SummaryAfter))
}

// why says in words what a fold is for.
func (a *account) why(l words.Lang) string {
	switch a.reason {
	case "turns":
		return l.T("too many turns")
	case "tokens":
		return l.T("over budget")
	case "context":
		return l.T("too long for the provider")
	case "asked":
		return l.T("you asked")
	}
	return l.Tell(readable(a.reason))
}

// toolResult is the title of a shortened message of which nothing else is known.
const toolResult = string(words.Text("a tool's result"))

// name says what was folded. turnAt gives the turn of a message, 0 where it is not known.
func (a *account) name(l words.Lang, turnAt func(n int64) int) string {
	if a.last == 0 {
		return l.N(len(a.shortened), "shortened %d result", "shortened %d results", len(a.shortened))
	}
	if what, _ := a.turns(l, turnAt); what != "" {
		return l.T("folded %s", what)
	}
	return l.T("folded")
}

// what says what was folded, as a part of a sentence; empty when that is not known.
func (a *account) what(l words.Lang, turnAt func(n int64) int) string {
	if a.last == 0 {
		return a.name(l, turnAt)
	}
	what, _ := a.turns(l, turnAt)
	return what
}

// turns says which turns leave, and whether that is a whole one; empty when it is not known.
func (a *account) turns(l words.Lang, turnAt func(n int64) int) (what string, one bool) {
	from, to := turnAt(a.first), turnAt(a.last)
	if len(a.leaving) > 0 {
		from = a.leaving[0].Turn
		if len(a.leaving) == a.count {
			to = a.leaving[len(a.leaving)-1].Turn
		}
	}
	switch {
	case from == 0 || to == 0:
		return "", false
	case a.keep > 0 && from == to:
		return l.T("steps of turn %d", to), false
	}
	return turnsWord(l, from, to), from == to
}

func turnsWord(l words.Lang, from, to int) string {
	if from == to {
		return l.T("turn %d", from)
	}
	return l.T("turns %d-%d", from, to)
}

// sizes says what the fold did to the prompt.
func (a *account) sizes(l words.Lang) string {
	return l.T("%s to %s", theme.Tokens(a.before, false), theme.Tokens(a.after, false))
}

// facts are what the fold took.
func (a *account) facts(l words.Lang) string {
	facts := []string{}
	if w := a.why(l); w != "" {
		facts = append(facts, w)
	}
	if a.took > 0 {
		facts = append(facts, l.Duration(a.took))
	}
	if a.tokens > 0 {
		facts = append(facts, l.T("%s tokens for the summary", theme.Tokens(a.tokens, false)))
	}
	return strings.Join(append(facts, l.T("cost %s", theme.Unknown)), "   ")
}

// merge tells what the merge did, field by field.
func (a *account) merge(l words.Lang) []string {
	var out []string
	for _, c := range a.changes {
		var parts []string
		for _, p := range []struct {
			n    int
			text words.Text
		}{{len(c.Added), "%d new"}, {len(c.Kept), "%d kept"}, {len(c.Dropped), "%d out"}} {
			if p.n > 0 {
				parts = append(parts, l.T(p.text, p.n))
			}
		}
		if len(parts) > 0 {
			out = append(out, l.Tell(paint.CleanLine(c.Field))+" "+strings.Join(parts, l.T(", ##between facts")))
		}
	}
	if len(a.pinned) > 0 {
		out = append(out, l.T("pinned %d", len(a.pinned)))
	}
	if len(a.unpinned) > 0 {
		out = append(out, l.T("unpinned %d", len(a.unpinned)))
	}
	return out
}

// change is one line of the difference between two summaries; sign is -, + or a blank.
type change struct{ sign, field, text string }

// diff compares the summaries.
func (a *account) diff() []change {
	var out []change
	for _, name := range fieldNames() {
		was, is := entriesOf(a.was, name), entriesOf(a.is, name)
		for _, e := range was {
			if !slices.Contains(is, e) {
				out = append(out, change{"-", name, e})
			}
		}
		for _, e := range is {
			if slices.Contains(was, e) {
				out = append(out, change{" ", name, e})
			} else {
				out = append(out, change{"+", name, e})
			}
		}
	}
	return out
}

// whole is the account as a text to read.
func (a *account) whole(l words.Lang, turnAt func(n int64) int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s   %s   %s\n%s\n", a.name(l, turnAt), l.N(a.count, "%s message", "%s messages", theme.Count(a.count)), a.sizes(l), a.facts(l))
	part := func(title words.Text) { fmt.Fprintf(&b, "\n%s\n", l.T(title)) }
	if d := a.diff(); len(d) > 0 {
		part("MEMORY, before and after")
		for _, c := range d {
			fmt.Fprintf(&b, "%s %s\n", c.sign, l.T("%s: %s", l.Tell(c.field), c.text))
		}
	}
	if len(a.pinned)+len(a.unpinned) > 0 {
		part("PINS")
		for _, p := range a.pinned {
			fmt.Fprintf(&b, "+ %s\n", p)
		}
		for _, p := range a.unpinned {
			fmt.Fprintf(&b, "- %s\n", p)
		}
	}
	if a.last > 0 {
		part("OUT OF THE WINDOW; they stay in the store")
		for _, m := range a.leaving {
			fmt.Fprintf(&b, "%s  %s  %5s  %s\n", l.T("turn %d", m.Turn), pad(l.Tell(m.Kind), 9), theme.Tokens(m.Tokens, false), m.Title)
		}
		if n := a.count - len(a.leaving); n > 0 && len(a.leaving) > 0 {
			b.WriteString(l.N(n, "and %d more message", "and %d more messages", n) + "\n")
		} else if n > 0 {
			b.WriteString(l.N(n, "%d message, from number %d to %d", "%d messages, from number %d to %d", n, a.first, a.last) + "\n")
		}
	}
	if len(a.shortened) > 0 {
		part("SHORTENED")
		for _, m := range a.shortened {
			if turn := cmp.Or(m.Turn, turnAt(m.N)); turn > 0 {
				b.WriteString(l.T("turn %d", turn) + "  ")
			}
			fmt.Fprintf(&b, "%5s  %s\n", theme.Tokens(m.Tokens, false), l.Kept(m.Title))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// pad fills a word of ours up to a number of cells.
func pad(word string, cells int) string { return paint.Metrics{}.Pad(word, cells) }
