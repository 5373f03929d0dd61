package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vitrine/llm"
	"vitrine/runtime"
	"vitrine/ui/words"
)

const longSearch words.Text = `Look for words in all that was said in your sessions, folded or not.

A message is found when it has all the words: in any case, with or without accents, by their beginnings; Chinese, Japanese and
Korean by any part of a sentence. No sign means anything. The sessions that changed last come first.`

// The excerpt's length, in characters, and what is shown of a session at most unless it is asked for.
const (
	excerptSize   = 90
	searchDefault = 50
)

// searchCommand looks through all sessions.
func (c *command) searchCommand(o *options) *cobra.Command {
	limit := searchDefault
	cmd := &cobra.Command{
		Use: "search WORDS", Short: c.T("Look for words in all sessions"), Long: c.T(longSearch),
		Args: func(cmd *cobra.Command, args []string) error {
			if (runtime.Search{Text: strings.Join(args, " ")}).Query().Empty() {
				return &UsageError{What: cmd.CommandPath() + " needs a word to look for: letters or digits"}
			}
			if limit < 1 {
				return &UsageError{What: fmt.Sprintf("--limit %d: must be a whole number from 1", limit)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.search(cmd.Context(), o, strings.Join(args, " "), limit)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, c.T("print JSON lines"))
	cmd.Flags().IntVar(&limit, "limit", searchDefault, c.T("show at most `N` messages"))
	return cmd
}

// hitLine is one message as `sessions search --json` prints it.
type hitLine struct {
	Session string    `json:"session"`
	Title   string    `json:"title"`
	Turn    int       `json:"turn"`
	N       int64     `json:"n"`
	Kind    llm.Kind  `json:"kind"`
	Tool    string    `json:"tool,omitempty"`
	At      time.Time `json:"at"`
	Excerpt string    `json:"excerpt"`
	// Hits are where in the excerpt the words stand, in bytes: from, and up to.
	Hits [][2]int `json:"hits"`
}

// readFor is how long a search reads, for those to come, and looks before it tells how far it is; tellAfter how long a person waits
// without a word.
const (
	readFor   = 500 * time.Millisecond
	tellAfter = 2 * time.Second
)

// lookFor asks until all was looked at, and tells a person on the way how much is left.
func (c *command) lookFor(ctx context.Context, app *App, q runtime.Search) (runtime.Found, error) {
	q.Patience = readFor
	for told := c.prog.Clock.Now(); ; {
		found, err := app.Finder.Search(ctx, q)
		if err != nil || found.Unread == 0 {
			return found, err
		}
		if now := c.prog.Clock.Now(); c.proc.Err == Terminal && now.Sub(told) > tellAfter {
			c.err.line("%s to look at", c.messages(found.Unread))
			told = now
		}
	}
}

func (c *command) search(ctx context.Context, o *options, text string, limit int) (err error) {
	cfg, app, err := c.openLibrary(ctx, o)
	if err != nil {
		return err
	}
	var found runtime.Found
	q := runtime.Search{User: cfg.User, Text: text, Limit: limit}
	if app != nil {
		defer func() { err = c.closeApp(app, err) }()
		if found, err = c.lookFor(ctx, app, q); err != nil {
			return fmt.Errorf("look for %q: %w", text, err)
		}
	}
	rows := [][]string{c.heads("SESSION", "TITLE", "TURN", "WHO", "WHEN", "TEXT")}
	for _, h := range found.Hits {
		line, spans := q.Query().Excerpt(h.Text, excerptSize, "...")
		if !o.json {
			who := c.lang.Tell(string(h.Kind))
			if h.Tool != "" {
				who = h.Tool
			}
			rows = append(rows, []string{h.SessionID, h.Title, strconv.Itoa(h.Turn), who, c.ago(c.prog.Clock.Now().Sub(h.At)), line})
			continue
		}
		hits := make([][2]int, 0, len(spans))
		for _, s := range spans {
			hits = append(hits, [2]int{s.From, s.To})
		}
		if err := c.jsonLine(hitLine{h.SessionID, h.Title, h.Turn, h.N, h.Kind, h.Tool, h.At.UTC(), line, hits}); err != nil {
			return err
		}
	}
	switch {
	case o.json:
	case found.Messages == 0:
		c.err.line("nothing of %s has that in %s", cfg.User, cfg.DBPath)
	default:
		c.out.table(rows)
		if left := found.Messages - int64(len(found.Hits)); left > 0 {
			c.err.line("%s in %s, %d of them shown; --limit shows more", c.messages(found.Messages), c.sessions(found.Sessions), len(found.Hits))
		}
	}
	return nil
}
