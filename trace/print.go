package trace

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// printedChars is how much of an input, of arguments or of an outcome one row of Print shows.
const printedChars = 72

// Print writes the tree as text, a row a node: what it is, how it ended, how long it took, tokens, and what it was about.
// Text of models, tools and users is shown without control sequences, on one row. Spans that are open are marked so; their
// length is counted to the last event of their run.
func Print(w io.Writer, t *Tree) error {
	return PrintTold(w, t, func(text string) string { return text })
}

// PrintTold is Print with what the tree says itself, and no data, put into another language by tell.
func PrintTold(w io.Writer, t *Tree, tell func(string) string) error {
	out := bufio.NewWriter(w)
	for i, root := range t.Roots {
		if i > 0 {
			_ = out.WriteByte('\n') // the error stays and comes with Flush
		}
		printRoot(out, root, tell)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("print trace: %w", err)
	}
	return nil
}

type row struct{ label, took, tokens, about string }

func printRoot(out io.Writer, root *Node, tell func(string) string) {
	now := lastTime(root)
	rows := appendRows(nil, root, 0, now, tell)
	width, took, tokens := 0, 0, 0
	for _, r := range rows {
		width, took, tokens = max(width, ansi.StringWidth(r.label)), max(took, ansi.StringWidth(r.took)), max(tokens, len(r.tokens))
	}
	for _, r := range rows {
		pad := strings.Repeat(" ", width-ansi.StringWidth(r.label))
		line := fmt.Sprintf("%s%s  %s%s  %*s  %s", r.label, pad, strings.Repeat(" ", took-ansi.StringWidth(r.took)), r.took, tokens, r.tokens, r.about)
		_, _ = fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

func lastTime(n *Node) time.Time {
	at := n.End
	if n.FirstToken.After(at) {
		at = n.FirstToken
	}
	for _, e := range n.Events {
		if e.TS.After(at) {
			at = e.TS
		}
	}
	for _, c := range n.Children {
		if x := lastTime(c); x.After(at) {
			at = x
		}
	}
	if at.IsZero() {
		return n.Start
	}
	return at
}

func appendRows(rows []row, n *Node, depth int, now time.Time, tell func(string) string) []row {
	title := n.Title
	if n.Kind != KindTool && n.Kind != KindModel { // which have names
		title = tell(title)
	}
	r := row{label: strings.Repeat("  ", depth) + mark(n.Status) + " " + oneLine(title, printedChars), about: about(n, tell)}
	if n.Kind != KindError {
		r.took = tell(FormatDuration(n.Duration(now)))
	}
	if total := n.Tokens.Total(); total > 0 {
		r.tokens = FormatTokens(total)
		if n.Tokens.Estimated {
			r.tokens = "~" + r.tokens
		}
	}
	rows = append(rows, r)
	for _, c := range n.Children {
		rows = appendRows(rows, c, depth+1, now, tell)
	}
	return rows
}

func mark(s Status) string {
	switch s {
	case OK:
		return "✓"
	case Failed:
		return "✗"
	case Stopped:
		return "■"
	case Waiting:
		return "?"
	}
	return "…"
}

func about(n *Node, tell func(string) string) string {
	var parts []string
	say := func(s string) {
		if s = oneLine(s, printedChars); s != "" {
			parts = append(parts, s)
		}
	}
	ours := func(s string) { say(tell(s)) }
	switch n.Kind {
	case KindModel:
		if !n.FirstToken.IsZero() {
			ours("first token " + FormatDuration(n.FirstToken.Sub(n.Start)))
		}
		if n.Tokens.Cached > 0 {
			ours(FormatTokens(n.Tokens.Cached) + " cached")
		}
		if n.Tokens.Reasoning > 0 {
			ours(FormatTokens(n.Tokens.Reasoning) + " reasoning")
		}
		if n.Tokens.Cost != nil {
			say(FormatMoney(*n.Tokens.Cost))
		}
		if n.Attempts > 1 {
			ours(fmt.Sprintf("attempt %d", n.Attempts))
		}
		if n.Detail != "" {
			ours("prefix broken: " + n.Detail)
		}
		ours(n.Outcome)
	case KindRun:
		if n.Tokens.Cost != nil {
			say(FormatMoney(*n.Tokens.Cost))
		}
		ours(used(n))
		ours(n.Outcome)
		say(n.Detail)
	default:
		say(n.Detail)
		ours(n.Outcome)
		if word := n.Word(); strings.HasSuffix(word, "always here") {
			ours(word)
		}
	}
	switch {
	case n.Kind == KindRun && n.Open():
		ours("not ended: run " + n.ID)
	case n.Status == Waiting && n.Outcome == "":
		ours("waits")
	}
	return strings.Join(parts, "  ")
}

// FormatDuration is d for people: "8 ms", "1.9 s", "2 m 03 s".
func FormatDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d m", int(d.Hours()), int(d.Minutes())%60)
}

// FormatTokens is a number of tokens for people: "612", "3.1k", "128k".
func FormatTokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 99_950:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

var sequences = regexp.MustCompile(`(?s)(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` + // CSI
	`|(?:\x1b[\]PX^_]|[\x{9d}\x{90}\x{98}\x{9e}\x{9f}]).*?(?:\x07|\x1b\\|\x{9c})` + // OSC and the other strings
	`|\x1b[ -/]*[0-~]`)

// oneLine makes foreign text fit to be shown in a row: without control sequences, control, direction and other unseen
// characters, white space folded, cut to limit characters on a grapheme.
func oneLine(s string, limit int) string {
	if most := 16 * limit; len(s) > most { // what is cut anyway needs no cleaning
		s = s[:most]
	}
	s = sequences.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case r == '\u200d', r == '\u200c': // joiners are part of writing
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	short, left := cutText(s, limit)
	if left == 0 {
		return s
	}
	for utf8.RuneCountInString(short) >= limit {
		_, n := utf8.DecodeLastRuneInString(short)
		short = short[:len(short)-n]
	}
	return short + "…"
}

// FormatMoney is US dollars for people: "$0.0042", "$12.30".
func FormatMoney(f float64) string {
	if f >= 0.99995 || f <= -0.99995 {
		return "$" + strconv.FormatFloat(f, 'f', 2, 64)
	}
	return "$" + strconv.FormatFloat(f, 'f', 4, 64)
}
