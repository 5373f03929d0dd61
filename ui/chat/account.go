package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"vitrine/runtime"
	"vitrine/trace"
	"vitrine/ui/paint"
	"vitrine/ui/theme"
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
			a.shortened = append(a.shortened, trace.CompactMessage{N: s.N, Kind: "tool", Title: "a tool's result", Tokens: s.Tokens})
		}
	}
	a.was, a.is = readSummary(json.RawMessage(f.SummaryBefore)), readSummary(json.RawMessage(f.SummaryAfter))
}

// why says in words what a fold is for.
func (a *account) why() string {
	switch a.reason {
	case "turns":
		return "too many turns"
	case "tokens":
		return "over budget"
	case "context":
		return "too long for the provider"
	case "asked":
		return "you asked"
	}
	return words(a.reason)
}

// name says what was folded. turnAt gives the turn of a message, 0 where it is not known.
func (a *account) name(turnAt func(n int64) int) string {
	if a.last == 0 {
		return "shortened " + plural(len(a.shortened), "result")
	}
	from, to := turnAt(a.first), turnAt(a.last)
	if len(a.leaving) > 0 {
		from = a.leaving[0].Turn
		if len(a.leaving) == a.count {
			to = a.leaving[len(a.leaving)-1].Turn
		}
	}
	switch {
	case from == 0 || to == 0:
		return "folded"
	case a.keep > 0 && from == to:
		return fmt.Sprintf("folded steps of turn %d", to)
	}
	return "folded " + turnsWord(from, to)
}

func turnsWord(from, to int) string {
	if from == to {
		return fmt.Sprintf("turn %d", from)
	}
	return fmt.Sprintf("turns %d-%d", from, to)
}

// sizes says what the fold did to the prompt.
func (a *account) sizes() string {
	return theme.Tokens(a.before, false) + " to " + theme.Tokens(a.after, false)
}

// facts are what the fold took.
func (a *account) facts() string {
	facts := []string{}
	if w := a.why(); w != "" {
		facts = append(facts, w)
	}
	if a.took > 0 {
		facts = append(facts, theme.Duration(a.took))
	}
	if a.tokens > 0 {
		facts = append(facts, theme.Tokens(a.tokens, false)+" tokens for the summary")
	}
	return strings.Join(append(facts, "cost "+theme.Unknown), "   ")
}

// merge tells what the merge did, field by field.
func (a *account) merge() []string {
	var out []string
	for _, c := range a.changes {
		var parts []string
		for _, p := range []struct {
			n    int
			word string
		}{{len(c.Added), "new"}, {len(c.Kept), "kept"}, {len(c.Dropped), "out"}} {
			if p.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
			}
		}
		if len(parts) > 0 {
			out = append(out, paint.CleanLine(c.Field)+" "+strings.Join(parts, ", "))
		}
	}
	if len(a.pinned) > 0 {
		out = append(out, fmt.Sprintf("pinned %d", len(a.pinned)))
	}
	if len(a.unpinned) > 0 {
		out = append(out, fmt.Sprintf("unpinned %d", len(a.unpinned)))
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
func (a *account) whole(turnAt func(n int64) int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s   %s   %s\n%s\n", a.name(turnAt), plural(a.count, "message"), a.sizes(), a.facts())
	part := func(title string) { fmt.Fprintf(&b, "\n%s\n", title) }
	if d := a.diff(); len(d) > 0 {
		part("MEMORY, before and after")
		for _, c := range d {
			fmt.Fprintf(&b, "%s %s: %s\n", c.sign, c.field, c.text)
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
			fmt.Fprintf(&b, "turn %d  %-9s  %5s  %s\n", m.Turn, m.Kind, theme.Tokens(m.Tokens, false), m.Title)
		}
		if n := a.count - len(a.leaving); n > 0 && len(a.leaving) > 0 {
			fmt.Fprintf(&b, "and %s\n", plural(n, "more message"))
		} else if n > 0 {
			fmt.Fprintf(&b, "%s, from number %d to %d\n", plural(n, "message"), a.first, a.last)
		}
	}
	if len(a.shortened) > 0 {
		part("SHORTENED")
		for _, m := range a.shortened {
			fmt.Fprintf(&b, "turn %d  %5s  %s\n", m.Turn, theme.Tokens(m.Tokens, false), m.Title)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
