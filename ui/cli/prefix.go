package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vitrine/trace"
)

// prefixLine is one request as `trace --prefix --json` prints it. What is null is not known.
type prefixLine struct {
	Request      int    `json:"request"`
	Turn         int    `json:"turn"`
	Step         int    `json:"step"`
	Model        string `json:"model"`
	PromptBytes  int    `json:"prompt_bytes"`
	PrefixBytes  int    `json:"prefix_bytes"`
	PrefixTokens int    `json:"prefix_tokens"`
	CachedTokens *int   `json:"cached_tokens"`
	Break        string `json:"break,omitempty"`
	At           int    `json:"at,omitempty"`
}

// printPrefix prints request by request how much of it stood in the one before, and what broke that.
func (c *command) printPrefix(ctx context.Context, app *App, t target, asJSON bool) error {
	rows := [][]string{c.heads("REQUEST", "TURN", "STEP", "SENT", "REPEATED", "", "CACHED", "WHAT BROKE IT")}
	n, same, all := 0, 0, 0
	breaks := map[string]int{}
	err := c.eachEvent(ctx, app, t, func(ev trace.Event) error {
		d, ok := ev.Data.(trace.LLMCallData)
		if !ok || d.PromptBytes == 0 {
			return nil
		}
		n++
		if asJSON {
			return c.jsonLine(prefixLine{Request: n, Turn: ev.Turn, Step: ev.Step, Model: d.Model, PromptBytes: d.PromptBytes, PrefixBytes: d.PrefixBytes,
				PrefixTokens: d.PrefixTokens, CachedTokens: d.CachedTokens, Break: d.PrefixBreak, At: d.PrefixAt})
		}
		if !firstSent(d) {
			same, all = same+d.PrefixBytes, all+d.PromptBytes
		}
		if d.PrefixBreak != "" {
			breaks[d.PrefixBreak]++
		}
		rows = append(rows, []string{strconv.Itoa(n), strconv.Itoa(ev.Turn), strconv.Itoa(ev.Step), byteSize(d.PromptBytes), byteSize(d.PrefixBytes),
			percent(d.PrefixBytes, d.PromptBytes), cachedWord(d.CachedTokens), c.brokeWord(d)})
		return nil
	})
	if err != nil || asJSON {
		return err
	}
	c.out.line("session %s", t.session)
	if n == 0 {
		c.out.line("no request has been sent")
		return nil
	}
	c.out.table(rows)
	c.out.line("%s", c.prefixSum(n, same, all, breaks))
	return nil
}

// prefixSum is the last line. all leaves out a first request, which has none before it.
func (c *command) prefixSum(n, same, all int, breaks map[string]int) string {
	requests := c.lang.N(n, "%d request", "%d requests", n)
	if all == 0 {
		return requests
	}
	var causes []string
	for cause := range breaks {
		causes = append(causes, cause)
	}
	slices.SortFunc(causes, func(a, b string) int {
		if breaks[a] != breaks[b] {
			return breaks[b] - breaks[a]
		}
		return strings.Compare(a, b)
	})
	for i, cause := range causes {
		causes[i] = fmt.Sprintf("%s %d", c.lang.Tell(cause), breaks[cause])
	}
	broke := c.T("nothing broke it")
	if len(causes) > 0 {
		broke = c.T("broken by %s", strings.Join(causes, c.T(", ##between facts")))
	}
	return c.T("%s; %s of %s repeated the request before; %s", requests, percent(same, all), byteSize(all), broke)
}

func percent(part, whole int) string {
	if whole == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// byteSize writes a size in few characters.
func byteSize(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n) + " B"
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func cachedWord(n *int) string {
	if n == nil {
		return "?"
	}
	return trace.FormatTokens(*n)
}

// firstSent says that nothing is known of a request before this one.
func firstSent(d trace.LLMCallData) bool { return d.PrefixBreak == "" && d.PrefixBytes == 0 }

func (c *command) brokeWord(d trace.LLMCallData) string {
	switch {
	case firstSent(d):
		return c.T("first request")
	case d.PrefixBreak == "":
		return ""
	case d.PrefixAt == 0:
		return c.lang.Tell(d.PrefixBreak)
	}
	return c.T("%s, at message %d", c.lang.Tell(d.PrefixBreak), d.PrefixAt)
}
